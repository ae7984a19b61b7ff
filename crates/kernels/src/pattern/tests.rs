//! Patterns in short form against sets of columns, row by row.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Boxes, Pattern, PatternError, Places, Preceding, Reach, Runs};

type Sets = Vec<BTreeSet<u32>>;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

const COLUMNS: usize = 40;

/// Rows of intervals that stay, move, cross or are anywhere, so that runs of every kind occur.
fn random_sets(random: &mut Random, rows: usize) -> Sets {
    let mut sets: Sets = Vec::new();
    while sets.len() < rows {
        let count = (1 + random.below(6)).min(rows - sets.len());
        let spans: Vec<(i64, i64, i64)> = (0..random.below(4))
            .map(|_| (random.below(COLUMNS) as i64, random.below(5) as i64, random.below(5) as i64 - 2))
            .collect();
        sets.extend((0..count as i64).map(|row| {
            let of = |&(first, width, step): &(i64, i64, i64)| (0..width).map(move |k| first + k + step * row);
            spans.iter().flat_map(of).filter(|col| (0..COLUMNS as i64).contains(col)).map(|col| col as u32).collect()
        }));
    }
    sets
}

/// The short form of rows, made of unions so that spans of different steps stand in one run.
fn runs(sets: &Sets) -> Runs {
    let mut parts = Vec::new();
    for parity in [0, 1] {
        let mut part = Runs::new();
        for set in sets {
            let mut intervals: Vec<(u32, u32)> =
                set.iter().filter(|&&col| col / 3 % 2 == parity).map(|&col| (col, col + 1)).collect();
            super::runs::tidy(&mut intervals);
            part.push_row(&intervals);
        }
        parts.push(part);
    }
    parts[0].union(&parts[1])
}

fn sets(runs: &Runs) -> Sets {
    let pattern = runs.to_pattern(COLUMNS).expect("it is small");
    assert_eq!(pattern.nnz() as u64, runs.nnz());
    (0..pattern.rows()).map(|row| pattern.row(row).iter().copied().collect()).collect()
}

fn joined<'a>(rows: impl IntoIterator<Item = &'a BTreeSet<u32>>) -> BTreeSet<u32> {
    rows.into_iter().flatten().copied().collect()
}

fn through(reach: &Reach, source: &Runs, rows: usize) -> Sets {
    reach.through(&Arc::new(source.clone()), rows).map_or(vec![BTreeSet::new(); rows], |runs| sets(&runs))
}

#[test]
fn rows_come_back_and_unions_are_those_of_sets() {
    let mut random = Random(1);
    for _ in 0..300 {
        let rows = random.below(40);
        let (a, b) = (random_sets(&mut random, rows), random_sets(&mut random, rows));
        let (short, other) = (runs(&a), runs(&b));
        assert_eq!(sets(&short), a);
        let union: Sets = a.iter().zip(&b).map(|(a, b)| a | b).collect();
        assert_eq!(sets(&short.union(&other)), union);
        assert!(short.union(&other).same(&other.union(&short)));
        assert_eq!(short.same(&other), a == b);
    }
}

#[test]
fn reaches_are_those_of_sets() {
    let mut random = Random(2);
    for _ in 0..300 {
        let shape = [1 + random.below(3), 1 + random.below(5), 1 + random.below(4)];
        let strides = [shape[1] * shape[2], shape[2], 1];
        let rows = shape.iter().product();
        let a = random_sets(&mut random, rows);
        let source = runs(&a);

        let places: Vec<Option<usize>> = (0..random.below(30))
            .scan(0, |last, _| {
                *last = if random.below(3) > 0 { (*last + 1) % rows } else { random.below(rows) };
                Some((random.below(8) > 0).then_some(*last))
            })
            .collect();
        let picked: Sets =
            places.iter().map(|place| place.map_or_else(BTreeSet::new, |place| a[place].clone())).collect();
        assert_eq!(through(&Reach::Picked(Places::of(places.clone())), &source, places.len()), picked);

        // A box along some axes at each place of the others, and along a new axis.
        let inner: Vec<usize> = (0..3).filter(|_| random.below(2) == 0).collect();
        let outer: Vec<usize> = (0..3).filter(|axis| !inner.contains(axis)).collect();
        let repeated = 1 + random.below(3);
        let boxes = Boxes {
            of: None,
            out: outer.iter().map(|&axis| shape[axis]).chain([repeated]).collect(),
            out_strides: outer.iter().map(|&axis| strides[axis]).chain([0]).collect(),
            shape: inner.iter().map(|&axis| shape[axis]).collect(),
            strides: inner.iter().map(|&axis| strides[axis]).collect(),
        };
        let index = |place: usize| [place / strides[0], place / strides[1] % shape[1], place % shape[2]];
        let count = boxes.out.iter().product();
        let wanted: Sets = (0..count)
            .map(|place| {
                let mut left = place / repeated;
                let mut fixed = [None; 3];
                for &axis in outer.iter().rev() {
                    fixed[axis] = Some(left % shape[axis]);
                    left /= shape[axis];
                }
                let meets =
                    |place: &usize| (0..3).all(|axis| fixed[axis].is_none_or(|fixed| fixed == index(*place)[axis]));
                joined((0..rows).filter(meets).map(|place| &a[place]))
            })
            .collect();
        assert_eq!(through(&Reach::Boxes(boxes), &source, count), wanted);

        let reverse = random.below(2) == 0;
        let preceding = Preceding { before: shape[0], length: shape[1], after: shape[2], reverse };
        let wanted: Sets = (0..rows)
            .map(|place| {
                let own = index(place);
                let before = |other: &usize| {
                    let other = index(*other);
                    let is_before = if reverse { other[1] >= own[1] } else { other[1] <= own[1] };
                    is_before && (other[0], other[2]) == (own[0], own[2])
                };
                joined((0..rows).filter(before).map(|place| &a[place]))
            })
            .collect();
        assert_eq!(through(&Reach::Preceding(preceding), &source, rows), wanted);

        let size = 1 + random.below(6);
        let places: Vec<Option<usize>> = (0..rows).map(|_| (random.below(5) > 0).then(|| random.below(size))).collect();
        let wanted: Sets =
            (0..size).map(|own| joined((0..rows).filter(|&k| places[k] == Some(own)).map(|k| &a[k]))).collect();
        assert_eq!(through(&Reach::Added(places), &source, size), wanted);

        assert_eq!(through(&Reach::All, &source, 3), vec![joined(&a); 3]);
        assert_eq!(through(&Reach::Nothing, &source, 3), vec![BTreeSet::new(); 3]);
    }
}

/// What repeats is short: a stencil on a grid has a few runs for each of its rows, and a sum is one interval however long.
#[test]
fn what_repeats_is_short() {
    let n = 1_000_000;
    let x = Arc::new(Runs::identity(n, 0));
    let sum = Reach::All.through(&x, 1).expect("it depends on all");
    assert_eq!((sum.nnz(), sum.count()), (n as u64, 1));
    let everywhere = Reach::All.through(&sum, n).expect("it depends on all");
    let product = everywhere.union(&x);
    assert_eq!((product.nnz(), product.count()), ((n * n) as u64, 1));
    let columns = Boxes { of: None, out: vec![1000], out_strides: vec![1], shape: vec![1000], strides: vec![1000] };
    let sums = Reach::Boxes(columns).through(&x, 1000).expect("it depends on a column");
    assert_eq!((sums.nnz(), sums.count()), (n as u64, 1));
    let moved =
        Reach::Picked(Places::of((0..n).map(|k| (k % 1000 > 0).then(|| k - 1)))).through(&x, n).expect("it moves");
    assert_eq!(x.union(&moved).count(), 2000);
}

#[test]
fn entries_come_back_sorted_and_once() {
    let pattern = Pattern::from_entries(3, 2, [(2, 1), (0, 0), (2, 0), (2, 1)]).unwrap();
    assert_eq!(pattern.entries().collect::<Vec<_>>(), [(0, 0), (2, 0), (2, 1)]);
    assert_eq!(pattern.transposed().entries().collect::<Vec<_>>(), [(0, 0), (0, 2), (1, 2)]);
    assert_eq!(pattern.transposed().transposed(), pattern);
    assert!(pattern.contains(2, 1) && !pattern.contains(1, 1) && !pattern.contains(0, 1 << 40));
}

#[test]
fn what_makes_no_pattern_is_named() {
    let check = |made: Result<Pattern, PatternError>, part: &str| {
        let message = made.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    };
    check(Pattern::from_entries(2, 2, [(0, 2)]), "(0, 2) is outside a matrix of 2 x 2");
    check(Pattern::from_entries(0, (1 << 32) + 1, []), "2^32 at most");
    check(Pattern::from_entries(usize::MAX, 1, []), "rows, and a pattern has 2^32 at most");
    check(Pattern::try_empty(usize::MAX, 1), "there is no memory for a pattern of 18446744073709551615 rows");
    check(Pattern::try_empty(1 << 61, 1), "there is no memory for a pattern");
    check(Pattern::try_empty(1, 1 << 33), "2^32 at most");
    assert_eq!(Pattern::try_empty(3, 2).unwrap(), Pattern::empty(3, 2));
    check(Pattern::from_rows(2, vec![], vec![]), "from 0 to 0");
    check(Pattern::from_rows(2, vec![0, 1], vec![]), "from 0 to 0");
    check(Pattern::from_rows(2, vec![0, 2, 1, 2], vec![0, 1]), "row 1 starts behind");
    check(Pattern::from_rows(2, vec![0, 2], vec![1, 1]), "in row 0 column 1 stands behind column 1");
    check(Pattern::from_rows(2, vec![0, 1], vec![2]), "row 0 has column 2");
    assert_eq!(Pattern::empty(0, 0).transposed(), Pattern::empty(0, 0));
}
