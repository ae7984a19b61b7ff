//! Colourings: each is checked by what its products can tell apart, without the algorithms that made it.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::patterns::{
    Edge, FIVE_POINTS, Random, SEVEN_POINTS, arrow, banded, blocks, brusselator, grid, nine_points, random,
    random_symmetric,
};
use crate::support::nightly::nightly;
use wengert::sparsity::{Colouring, NO_COLOUR, Order, Partition, Pattern};

const ORDERS: [Order; 8] = [
    Order::Natural,
    Order::LargestFirst,
    Order::SmallestLast,
    Order::IncidenceDegree,
    Order::DynamicLargestFirst,
    Order::Random(3),
    Order::Random(4),
    Order::Best,
];

/// Whether every entry can be told from the products, from the definition: each element of a product is an equation, the sum of
/// some entries; entries that are alone in one are known, and with substitution those that are alone among unknown ones, until
/// nothing more follows.
fn is_recoverable(pattern: &Pattern, colouring: &Colouring) -> bool {
    let symmetric = matches!(colouring.partition(), Partition::Star | Partition::Acyclic);
    let name = |row: usize, col: usize| if symmetric { (row.min(col), row.max(col)) } else { (row, col) };
    let mut equations: HashMap<(bool, usize, u32), Vec<(usize, usize)>> = HashMap::new();
    for (row, col) in pattern.entries() {
        if let Some(&colour) = colouring.column_colours().get(col).filter(|&&colour| colour != NO_COLOUR) {
            equations.entry((false, row, colour)).or_default().push(name(row, col));
        }
        if let Some(&colour) = colouring.row_colours().get(row).filter(|&&colour| colour != NO_COLOUR) {
            equations.entry((true, col, colour)).or_default().push(name(row, col));
        }
    }
    let mut unknown: Vec<(usize, usize)> = pattern.entries().map(|(row, col)| name(row, col)).collect();
    loop {
        let alone: Vec<(usize, usize)> = equations.values().filter(|sum| sum.len() == 1).map(|sum| sum[0]).collect();
        let before = unknown.len();
        unknown.retain(|entry| !alone.contains(entry));
        if colouring.partition() != Partition::Acyclic || unknown.is_empty() || unknown.len() == before {
            return unknown.is_empty();
        }
        equations.values_mut().for_each(|sum| sum.retain(|entry| !alone.contains(entry)));
    }
}

/// The partitions that this pattern can have, coloured in this order.
fn colourings(pattern: &Pattern, order: Order, symmetric: bool) -> Vec<Colouring> {
    let mut all = vec![
        Colouring::columns(pattern, order),
        Colouring::rows(pattern, order),
        Colouring::bidirectional(pattern, order),
    ];
    if symmetric {
        all.extend([Colouring::star(pattern, order).unwrap(), Colouring::acyclic(pattern, order).unwrap()]);
    }
    all
}

/// Products of a matrix of this pattern with the seeds of a colouring, from the definition.
fn compressed(pattern: &Pattern, values: &[f64], colouring: &Colouring) -> Vec<f64> {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    let mut products = vec![0.0; colouring.column_count() * rows + colouring.row_count() * cols];
    for ((row, col), value) in pattern.entries().zip(values) {
        if let Some(&colour) = colouring.column_colours().get(col).filter(|&&colour| colour != NO_COLOUR) {
            products[colour as usize * rows + row] += value;
        }
        if let Some(&colour) = colouring.row_colours().get(row).filter(|&&colour| colour != NO_COLOUR) {
            products[colouring.column_count() * rows + colour as usize * cols + col] += value;
        }
    }
    products
}

/// Values of a matrix of this pattern: integers, so that sums are exact.
fn values(pattern: &Pattern, symmetric: bool) -> Vec<f64> {
    let value = |row: usize, col: usize| (((row * 131 + col * 31 + 7) * 2_654_435_761) % 1009) as f64 - 500.0;
    let own = |(row, col): (usize, usize)| if symmetric { value(row.min(col), row.max(col)) } else { value(row, col) };
    pattern.entries().map(own).collect()
}

/// A colouring tells all entries apart, numbers its colours without gaps, and its recovery finds them.
fn check(pattern: &Pattern, colouring: &Colouring) {
    let what = || format!("{pattern:?} {:?}: {colouring:?}", pattern.entries().collect::<Vec<_>>());
    assert!(is_recoverable(pattern, colouring), "{}", what());
    for (colours, count) in
        [(colouring.column_colours(), colouring.column_count()), (colouring.row_colours(), colouring.row_count())]
    {
        let used = |colour: usize| colours.contains(&(colour as u32));
        assert!((0..count).all(used) && colours.iter().all(|&own| own == NO_COLOUR || (own as usize) < count));
    }
    let symmetric = matches!(colouring.partition(), Partition::Star | Partition::Acyclic);
    let expected = values(pattern, symmetric);
    let recovery = colouring.recovery(pattern).unwrap_or_else(|error| panic!("{error}: {}", what()));
    let mut found = vec![f64::NAN; pattern.nnz()];
    recovery.apply(&compressed(pattern, &expected, colouring), &mut found);
    assert_eq!(found, expected, "{}", what());
    if symmetric {
        let recovery = colouring.recovery_of_lower(pattern).unwrap();
        let below = pattern.entries().zip(&expected).filter(|((row, col), _)| col <= row).map(|(_, &value)| value);
        let mut found = vec![f64::NAN; recovery.nnz()];
        recovery.apply(&compressed(pattern, &expected, colouring), &mut found);
        assert_eq!(found, below.collect::<Vec<_>>(), "{}", what());
    }
}

#[test]
fn random_patterns_in_all_orders() {
    let mut numbers = Random(1);
    for _ in 0..if nightly() { 10_000 } else { 200 } {
        let pattern = random(&mut numbers);
        for order in ORDERS {
            colourings(&pattern, order, false).iter().for_each(|colouring| check(&pattern, colouring));
        }
        let pattern = random_symmetric(&mut numbers);
        for order in ORDERS {
            colourings(&pattern, order, true).iter().for_each(|colouring| check(&pattern, colouring));
        }
    }
}

/// A star colouring recovers directly what an acyclic one recovers by substitution, and columns' colours recover both: more
/// freedom never needs more colours in the best of several orders, and the bounds hold.
#[test]
fn bounds_of_the_numbers_of_colours() {
    let mut numbers = Random(2);
    for _ in 0..300 {
        let pattern = random(&mut numbers);
        let longest = |pattern: &Pattern| (0..pattern.rows()).map(|row| pattern.row(row).len()).max().unwrap_or(0);
        let columns = Colouring::columns(&pattern, Order::Best).count();
        let rows = Colouring::rows(&pattern, Order::Best).count();
        assert!(columns >= longest(&pattern) && rows >= longest(&pattern.transposed()));
        let both = Colouring::bidirectional(&pattern, Order::Best).count();
        assert!(
            both <= columns.min(rows),
            "{both} of {columns} and {rows}: {:?}",
            pattern.entries().collect::<Vec<_>>()
        );
        for order in ORDERS {
            assert!(Colouring::columns(&pattern, order).count() >= columns);
        }
    }
}

/// The recovery accepts exactly those colours that tell all entries apart, however they were chosen.
#[test]
fn colours_that_tell_nothing_apart_are_refused() {
    let mut numbers = Random(5);
    let (mut good, mut bad) = ([0; 5], [0; 5]);
    for round in 0..6000 {
        let symmetric = round % 5 >= 3;
        let pattern = if symmetric { random_symmetric(&mut numbers) } else { random(&mut numbers) };
        let most = 1 + numbers.below(pattern.rows().max(pattern.cols()).max(1));
        let mut any = |len: usize| -> Vec<u32> {
            let colour = |numbers: &mut Random| match numbers.below(12) {
                0 => NO_COLOUR,
                _ => numbers.below(most.min(len.max(1))) as u32,
            };
            (0..len).map(|_| colour(&mut numbers)).collect()
        };
        let (columns, rows) = (any(pattern.cols()), any(pattern.rows()));
        let (kind, colouring) = match round % 5 {
            0 => (Partition::Columns, Colouring::new(Partition::Columns, columns, vec![])),
            1 => (Partition::Rows, Colouring::new(Partition::Rows, vec![], rows)),
            2 => (Partition::Bidirectional, Colouring::new(Partition::Bidirectional, columns, rows)),
            3 => (Partition::Star, Colouring::new(Partition::Star, columns, vec![])),
            _ => (Partition::Acyclic, Colouring::new(Partition::Acyclic, columns, vec![])),
        };
        let colouring = colouring.unwrap();
        let expected = is_recoverable(&pattern, &colouring);
        let recovery = colouring.recovery(&pattern);
        assert_eq!(recovery.is_ok(), expected, "{kind:?} {:?}: {colouring:?}", pattern.entries().collect::<Vec<_>>());
        if expected {
            let symmetric = matches!(kind, Partition::Star | Partition::Acyclic);
            let (expected, mut found) = (values(&pattern, symmetric), vec![0.0; pattern.nnz()]);
            recovery.unwrap().apply(&compressed(&pattern, &expected, &colouring), &mut found);
            assert_eq!(found, expected);
        }
        let seen = if expected { &mut good } else { &mut bad };
        seen[round % 5] += 1;
    }
    assert!(good.iter().chain(&bad).all(|&seen| seen > 50), "{good:?} {bad:?}");
}

/// Two columns of one row never share a colour: a colouring that is broken at one place is refused.
#[test]
fn one_wrong_colour_is_found() {
    let mut numbers = Random(9);
    let mut broken = 0;
    for _ in 0..500 {
        let pattern = random(&mut numbers);
        let colouring = Colouring::columns(&pattern, Order::Natural);
        let Some(row) = (0..pattern.rows()).find(|&row| pattern.row(row).len() > 1) else { continue };
        let mut columns = colouring.column_colours().to_vec();
        columns[pattern.row(row)[1] as usize] = columns[pattern.row(row)[0] as usize];
        let wrong = Colouring::new(Partition::Columns, columns, vec![]).unwrap();
        assert!(!is_recoverable(&pattern, &wrong));
        let message = wrong.recovery(&pattern).unwrap_err().to_string();
        assert!(message.contains("share colour"), "{message}");
        broken += 1;
    }
    assert!(broken > 200);
}

#[track_caller]
fn check_columns(pattern: &Pattern, expected: usize) {
    let colouring = Colouring::columns(pattern, Order::Best);
    colouring.recovery(pattern).unwrap();
    assert_eq!(colouring.count(), expected);
}

#[test]
fn grids_bands_and_blocks_need_as_many_colours_as_their_rows_are_long() {
    check_columns(&grid(&[30, 40], &FIVE_POINTS, Edge::Open), 5);
    check_columns(&grid(&[37, 41], &FIVE_POINTS, Edge::Open), 5);
    check_columns(&grid(&[30, 40], &FIVE_POINTS, Edge::Periodic), 5);
    check_columns(&nine_points(&[23, 31], Edge::Open), 9);
    check_columns(&nine_points(&[30, 33], Edge::Periodic), 9);
    check_columns(&grid(&[11, 12, 13], &SEVEN_POINTS, Edge::Open), 7);
    check_columns(&grid(&[14, 7, 21], &SEVEN_POINTS, Edge::Periodic), 7);
    check_columns(&banded(1000, 5, 1), 7);
    check_columns(&blocks(100, 7), 7);
    check_columns(&grid(&[50], &[&[-7], &[-2], &[0], &[3]], Edge::Open), 4);
}

/// Several numbers at each point of a grid, one after the other; and shared parameters before or behind a grid.
#[test]
fn several_unknowns_and_parameters() {
    let points = grid(&[13, 17], &FIVE_POINTS, Edge::Open);
    let dense = points.entries().flat_map(|(row, col)| (0..9).map(move |at| (3 * row + at / 3, 3 * col + at % 3)));
    check_columns(&Pattern::from_entries(39 * 17, 39 * 17, dense).unwrap(), 15);
    let size = points.rows();
    for first in [0, 4] {
        let moved = points.entries().map(|(row, col)| (row, col + first));
        let parameters = (0..size).flat_map(|row| (0..4).map(move |at| (row, if first > 0 { at } else { size + at })));
        check_columns(&Pattern::from_entries(size, size + 4, moved.chain(parameters)).unwrap(), 9);
    }
}

/// Periodic grids whose lengths no multiple of the colours divides need more than their rows are long.
#[test]
fn periodic_grids() {
    let cyclic = |size: usize| grid(&[size], &[&[-1], &[0], &[1]], Edge::Periodic);
    for size in 4..60 {
        // The fewest colours of a circle where any three in a row differ.
        check_columns(&cyclic(size), size.div_ceil(size / 3));
    }
    check_columns(&brusselator(3), 9);
    check_columns(&brusselator(6), 6);
}

#[test]
fn arrows_need_three_colours_in_both_directions() {
    for size in [3, 5, 12, 15, 40] {
        let pattern = arrow(size);
        check_columns(&pattern, size);
        let colouring = Colouring::bidirectional(&pattern, Order::Best);
        assert_eq!(colouring.count(), 3);
        check(&pattern, &colouring);
        for order in ORDERS {
            assert_eq!(Colouring::bidirectional(&pattern, order).count(), 3, "{order:?}");
            let (star, acyclic) =
                (Colouring::star(&pattern, order).unwrap(), Colouring::acyclic(&pattern, order).unwrap());
            assert_eq!((star.count(), acyclic.count()), (2, 2), "{order:?}");
        }
    }
}

/// A matrix with a long row, and an arrow of the same size with several long rows and columns.
#[test]
fn long_rows_and_columns() {
    let size = 60;
    let wide = (0..size).flat_map(|i| [(i, i), (0, i), (1, i), (i, 0), (i, 1), (i, 2)]);
    let pattern = Pattern::from_entries(size, size, wide).unwrap();
    let colouring = Colouring::bidirectional(&pattern, Order::Best);
    check(&pattern, &colouring);
    assert_eq!((colouring.column_count(), colouring.row_count()), (4, 2));
    // One block is a row, the other a column: a product each.
    let corner = Pattern::from_entries(41, 41, (0..40).flat_map(|i| [(0, i), (1 + i, 40)])).unwrap();
    assert_eq!(Colouring::bidirectional(&corner, Order::Best).count(), 2);
}

#[test]
fn symmetric_matrices() {
    let star = |pattern: &Pattern| Colouring::star(pattern, Order::Best).unwrap();
    let acyclic = |pattern: &Pattern| Colouring::acyclic(pattern, Order::Best).unwrap();
    let counts = |pattern: &Pattern| {
        [star(pattern), acyclic(pattern)].iter().for_each(|colouring| check(pattern, colouring));
        (star(pattern).count(), acyclic(pattern).count())
    };
    assert_eq!(counts(&banded(30, 1, 1)), (3, 2));
    assert_eq!(counts(&Pattern::diagonal(9)), (1, 1));
    assert_eq!(counts(&blocks(4, 3)), (3, 3));
    assert_eq!(counts(&Pattern::empty(3, 3)), (0, 0));
    assert_eq!(counts(&Pattern::empty(0, 0)), (0, 0));
    let (star, acyclic) = counts(&grid(&[8, 9], &FIVE_POINTS, Edge::Open));
    assert!(star <= 5 && acyclic <= 3, "{star} {acyclic}");
    // Formulas that tell neighbours apart and have cycles of two colours are refused.
    for edge in [Edge::Open, Edge::Periodic] {
        let most = if edge == Edge::Open { (9, 6) } else { (12, 7) };
        let (star, acyclic) = counts(&nine_points(&[8, 12], edge));
        assert!(star <= most.0 && acyclic <= most.1, "{edge:?}: {star} {acyclic}");
        let (star, acyclic) = counts(&grid(&[4, 5, 6], &SEVEN_POINTS, edge));
        assert!(star <= most.0 && acyclic <= most.1, "{edge:?}: {star} {acyclic}");
    }
    // Without a diagonal the hub of a star needs no product of its own.
    let hub = Pattern::from_entries(6, 6, (1..6).flat_map(|i| [(0, i), (i, 0)])).unwrap();
    assert_eq!(counts(&hub), (1, 1));
}

/// The vertex that all others touch must not make the time quadratic.
#[test]
fn long_rows_do_not_take_quadratic_time() {
    let start = Instant::now();
    let pattern = arrow(200_000);
    assert_eq!(Colouring::star(&pattern, Order::Best).unwrap().count(), 2);
    assert_eq!(Colouring::acyclic(&pattern, Order::Best).unwrap().count(), 2);
    assert_eq!(Colouring::bidirectional(&pattern, Order::Best).count(), 3);
    assert_eq!(Colouring::columns(&pattern, Order::Best).count(), 200_000);
    // All columns but one in a row: no two of them differ from it.
    let most =
        Pattern::from_entries(3, 50_000, (0..49_000).map(|c| (0, c)).chain((1000..50_000).map(|c| (1, c)))).unwrap();
    assert_eq!(Colouring::columns(&most, Order::Best).count(), 49_000);
    // Quadratic time is hours.
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_search_within_a_time_limit_is_never_worse() {
    let mut numbers = Random(12);
    for _ in 0..5 {
        let entries = (0..120).map(|_| (numbers.below(60), numbers.below(40))).collect::<Vec<_>>();
        let pattern = Pattern::from_entries(60, 40, entries).unwrap();
        let natural = Colouring::columns(&pattern, Order::Natural);
        let timed = Colouring::columns(&pattern, Order::BestWithin(Duration::from_millis(5)));
        check(&pattern, &timed);
        assert!(timed.count() <= natural.count());
        assert_eq!(Colouring::columns(&pattern, Order::Best), Colouring::columns(&pattern, Order::Best));
        check(&pattern, &Colouring::columns(&pattern, Order::BestWithin(Duration::ZERO)));
        let start = Instant::now();
        let both = Colouring::bidirectional(&pattern, Order::BestWithin(Duration::from_millis(30)));
        check(&pattern, &both);
        assert!(both.count() <= Colouring::bidirectional(&pattern, Order::Best).count());
        // One limit holds for all parts; the rest is for slow machines.
        assert!(start.elapsed() < Duration::from_secs(20));
    }
    Colouring::columns(&Pattern::diagonal(3), Order::BestWithin(Duration::MAX));
}

#[test]
fn what_makes_no_colouring_is_named() {
    let refused = |message: String, part: &str| assert!(message.contains(part), "{message}");
    let of = |columns: Vec<u32>| Colouring::new(Partition::Columns, columns, vec![]);
    refused(of(vec![0, 7]).unwrap_err().to_string(), "column 1 has colour 7");
    refused(Colouring::new(Partition::Rows, vec![0], vec![]).unwrap_err().to_string(), "1 columns");
    let square = Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 1)]).unwrap();
    refused(
        of(vec![0]).unwrap().recovery(&square).unwrap_err().to_string(),
        "colours of 1 columns, and the pattern has 2",
    );
    refused(
        of(vec![0, 0]).unwrap().recovery(&square).unwrap_err().to_string(),
        "columns 0 and 1 share colour 0 and row 0",
    );
    refused(of(vec![0, NO_COLOUR]).unwrap().recovery(&square).unwrap_err().to_string(), "column 1 has no colour");
    refused(Colouring::star(&square, Order::Best).unwrap_err().to_string(), "it has (0, 1), not (1, 0)");
    refused(Colouring::acyclic(&Pattern::empty(2, 3), Order::Best).unwrap_err().to_string(), "2 x 3");
    // An empty list is no colours at all.
    refused(of(vec![]).unwrap().recovery(&square).unwrap_err().to_string(), "column 0 has no colour");
    let lower = Colouring::columns(&square, Order::Best).recovery_of_lower(&square);
    refused(lower.unwrap_err().to_string(), "not symmetric");
}
