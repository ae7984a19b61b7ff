//! Patterns that tests are run on.

use wengert::sparsity::Pattern;

/// Numbers that follow from a seed (SplitMix64).
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// How a grid ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Edge {
    Open,
    Periodic,
}

/// Points of a grid of these lengths, the last axis first in memory, each with the points at these offsets.
pub(crate) fn grid(lengths: &[usize], offsets: &[&[isize]], edge: Edge) -> Pattern {
    let size: usize = lengths.iter().product();
    let mut entries = Vec::new();
    for point in 0..size {
        'offsets: for offset in offsets {
            let (mut rest, mut stride, mut other) = (point, 1, 0);
            for (&length, &step) in lengths.iter().zip(*offset).rev() {
                let at = (rest % length) as isize + step;
                if edge == Edge::Open && !(0..length as isize).contains(&at) {
                    continue 'offsets;
                }
                other += at.rem_euclid(length as isize) as usize * stride;
                rest /= length;
                stride *= length;
            }
            entries.push((point, other));
        }
    }
    Pattern::from_entries(size, size, entries).unwrap()
}

pub(crate) const FIVE_POINTS: [&[isize]; 5] = [&[0, 0], &[0, 1], &[0, -1], &[1, 0], &[-1, 0]];
pub(crate) const SEVEN_POINTS: [&[isize]; 7] =
    [&[0, 0, 0], &[0, 0, 1], &[0, 0, -1], &[0, 1, 0], &[0, -1, 0], &[1, 0, 0], &[-1, 0, 0]];

pub(crate) fn nine_points(lengths: &[usize; 2], edge: Edge) -> Pattern {
    let offsets: Vec<[isize; 2]> = (-1..=1).flat_map(|dy| (-1..=1).map(move |dx| [dy, dx])).collect();
    grid(lengths, &offsets.iter().map(|offset| &offset[..]).collect::<Vec<_>>(), edge)
}

/// Two numbers at each point of a periodic grid, first all of one kind: each has its neighbours, and the other number.
pub(crate) fn brusselator(m: usize) -> Pattern {
    let one = grid(&[m, m], &FIVE_POINTS, Edge::Periodic);
    let points = m * m;
    let own = one.entries().flat_map(|(row, col)| [(row, col), (points + row, points + col)]);
    let other = (0..points).flat_map(|point| [(point, points + point), (points + point, point)]);
    Pattern::from_entries(2 * points, 2 * points, own.chain(other)).unwrap()
}

pub(crate) fn banded(size: usize, below: usize, above: usize) -> Pattern {
    let row = |row: usize| (row.saturating_sub(below)..size.min(row + above + 1)).map(move |col| (row, col));
    Pattern::from_entries(size, size, (0..size).flat_map(row)).unwrap()
}

pub(crate) fn blocks(count: usize, size: usize) -> Pattern {
    let block = |block: usize| (0..size * size).map(move |at| (block * size + at / size, block * size + at % size));
    Pattern::from_entries(count * size, count * size, (0..count).flat_map(block)).unwrap()
}

pub(crate) fn arrow(size: usize) -> Pattern {
    Pattern::from_entries(size, size, (0..size).flat_map(|i| [(0, i), (i, 0), (i, i)])).unwrap()
}

/// A random pattern of one of several kinds: sparse or dense, with long rows and columns, with empty ones, of any shape.
pub(crate) fn random(random: &mut Random) -> Pattern {
    let (rows, cols) = (random.below(14), random.below(14));
    let mut entries = Vec::new();
    if rows * cols > 0 {
        let most = [2, rows + cols, 3 * (rows + cols), rows * cols + 1][random.below(4)];
        let count = random.below(most);
        entries.extend((0..count).map(|_| (random.below(rows), random.below(cols))));
        for _ in 0..random.below(3) {
            let (row, col) = (random.below(rows), random.below(cols));
            if random.below(2) == 0 {
                entries.extend((0..cols).filter(|_| random.below(4) > 0).map(|col| (row, col)));
            } else {
                entries.extend((0..rows).filter(|_| random.below(4) > 0).map(|row| (row, col)));
            }
        }
    }
    Pattern::from_entries(rows, cols, entries).unwrap()
}

/// The same for symmetric patterns, with the diagonal, without it, or with some of it.
pub(crate) fn random_symmetric(random: &mut Random) -> Pattern {
    let half = self::random(random);
    let size = half.rows().max(half.cols());
    let diagonal = random.below(3);
    let mut entries: Vec<(usize, usize)> = half.entries().filter(|(row, col)| diagonal > 0 || row != col).collect();
    entries.extend(half.entries().filter(|(row, col)| row != col).map(|(row, col)| (col, row)));
    if diagonal == 2 {
        entries.extend((0..size).map(|i| (i, i)));
    }
    Pattern::from_entries(size, size, entries).unwrap()
}
