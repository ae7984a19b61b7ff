//! The order in which steps run.

use std::collections::BinaryHeap;

use super::cluster::Clusters;

/// The steps in an order in which each has what it needs: as early as the program has them.
pub(super) fn order(clusters: &mut Clusters) -> Vec<usize> {
    let count = clusters.list.len();
    let needs = clusters.needs();
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (k, needs) in needs.into_iter().enumerate() {
        needs.into_iter().for_each(|other| after[other].push(k));
    }
    let key = |k: usize| std::cmp::Reverse((clusters.list[k].eqns.last().copied().unwrap_or(0), k));
    let mut ready: BinaryHeap<_> = (0..count).filter(|&k| missing[k] == 0).map(key).collect();
    let mut order = Vec::with_capacity(count);
    while let Some(std::cmp::Reverse((_, k))) = ready.pop() {
        if !clusters.list[k].eqns.is_empty() {
            order.push(k);
        }
        for &next in &after[k] {
            missing[next] -= 1;
            if missing[next] == 0 {
                ready.push(key(next));
            }
        }
    }
    let live = clusters.list.iter().filter(|cluster| !cluster.eqns.is_empty()).count();
    assert!(order.len() == live, "the steps of a plan wait for each other in a circle");
    order
}
