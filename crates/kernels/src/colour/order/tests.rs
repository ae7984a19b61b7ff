//! Tests of what is private here.

use super::*;

/// A path 0 - 1 - 2 - 3 with 4 and 5 at vertex 3, and vertex 6 alone.
fn tree() -> Pattern {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5)];
    let both = edges.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]);
    Pattern::from_entries(7, 7, both.chain((0..6).map(|i| (i, i)))).unwrap()
}

/// For each vertex in its turn, how many of its neighbours are among those for which `counts` answers yes of their turns and its
/// own; and the same for all that could have been taken instead.
fn choices(pattern: &Pattern, order: &[u32], counts: fn(usize, usize) -> bool) -> Vec<(usize, Vec<usize>)> {
    let turn = |vertex: u32| order.iter().position(|&other| other == vertex).unwrap();
    let number = |vertex: u32, now: usize| {
        let others = pattern.row(vertex as usize).iter().filter(|&&other| other != vertex);
        others.filter(|&&other| counts(turn(other), now)).count()
    };
    let choice =
        |now: usize| (number(order[now], now), order[now..].iter().map(|&vertex| number(vertex, now)).collect());
    (0..order.len()).map(choice).collect()
}

#[test]
fn orders_are_those_of_their_definitions() {
    let tree = tree();
    let natural = vertices(Graph::Symmetric(&tree), Order::Natural);
    assert_eq!(natural, [0, 1, 2, 3, 4, 5]);
    assert_eq!(vertices(Graph::Symmetric(&tree), Order::LargestFirst), [3, 1, 2, 0, 4, 5]);
    let far: Vec<(usize, usize)> = (0..40).flat_map(|i| [(i, i * i % 23), (i * i % 23, i), (i, 7), (7, i)]).collect();
    for pattern in [tree, Pattern::from_entries(40, 40, far).unwrap()] {
        let order = |order| vertices(Graph::Symmetric(&pattern), order);
        for (own, all) in choices(&pattern, &order(Order::IncidenceDegree), |other, now| other < now) {
            assert_eq!(Some(&own), all.iter().max());
        }
        for (own, all) in choices(&pattern, &order(Order::DynamicLargestFirst), |other, now| other >= now) {
            assert_eq!(Some(&own), all.iter().max());
        }
        let mut last = order(Order::SmallestLast);
        last.reverse();
        for (own, all) in choices(&pattern, &last, |other, now| other >= now) {
            assert_eq!(Some(&own), all.iter().min());
        }
        let mut random = order(Order::Random(7));
        assert_ne!(random, order(Order::Random(8)));
        random.sort_unstable();
        assert_eq!(random, order(Order::Natural));
    }
}

#[test]
fn columns_that_share_several_rows_are_one_neighbour() {
    let pattern = Pattern::from_entries(3, 4, [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]).unwrap();
    let transposed = pattern.transposed();
    assert_eq!(Graph::Shared(&pattern, &transposed).degrees(), [2, 2, 2, 0]);
    assert_eq!(vertices(Graph::Shared(&pattern, &transposed), Order::SmallestLast).len(), 3);
}
