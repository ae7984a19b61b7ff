//! Tests of what is private here.

use super::super::work::counted;
use super::*;

/// What every step needs, directly or not, by its definition.
fn closure(needs: &[Vec<usize>], step: usize) -> Vec<bool> {
    let mut found = vec![false; needs.len()];
    let mut open = needs[step].clone();
    while let Some(next) = open.pop() {
        if !std::mem::replace(&mut found[next], true) {
            open.extend(&needs[next]);
        }
    }
    found
}

fn rename(needs: &mut [Vec<usize>], one: usize, two: usize) {
    let moved = std::mem::take(&mut needs[two]);
    needs[one].extend(moved);
    for list in needs.iter_mut() {
        list.iter_mut().filter(|need| **need == two).for_each(|need| *need = one);
    }
    needs[one].retain(|&need| need != one);
}

#[test]
fn circles_are_refused_and_nothing_else() {
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let (mut refused, mut done) = (0, 0);
    for _ in 0..200 {
        let mut order = Precedence::default();
        let mut needs: Vec<Vec<usize>> = Vec::new();
        let mut alive: Vec<usize> = Vec::new();
        for _ in 0..60 {
            let own = order.push();
            needs.push(Vec::new());
            for _ in 0..below(3).min(alive.len()) {
                let need = alive[below(alive.len())];
                order.link(need, own);
                needs[own].push(need);
            }
            alive.push(own);
            if alive.len() < 2 {
                continue;
            }
            let (a, b) = (alive[below(alive.len())], alive[below(alive.len())]);
            if a == b {
                continue;
            }
            let fits = if below(2) == 0 {
                let fits = !closure(&needs, a)[b];
                assert_eq!(order.put_before(a, b), fits);
                if fits {
                    order.link(a, b);
                    needs[b].push(a);
                }
                fits
            } else {
                let middle = |from: usize, to: usize| {
                    let mut others = needs[to].iter().filter(|&&need| need != from);
                    others.any(|&need| closure(&needs, need)[from])
                };
                let fits = !middle(a, b) && !middle(b, a);
                assert_eq!(order.merge(a, b), fits);
                if fits {
                    rename(&mut needs, a, b);
                    alive.retain(|&step| step != b);
                }
                fits
            };
            done += usize::from(fits);
            refused += usize::from(!fits);
            for &step in &alive {
                let mut wanted = needs[step].clone();
                wanted.sort_unstable();
                wanted.dedup();
                assert_eq!(order.needs(step)[..], wanted);
                assert!(wanted.iter().all(|&need| order.nodes[need].place < order.nodes[step].place));
            }
        }
    }
    assert!(done > 1000 && refused > 1000, "{done} {refused}");
}

#[test]
fn a_search_that_is_too_long_is_given_up() {
    for (count, fits) in [(MOST_EDGES / 2 - 1, true), (2 * MOST_EDGES, false)] {
        // What needs the first one and what the last one needs are apart, and stand between the two in turn.
        let mut order = Precedence::default();
        let first = order.push();
        let mut needed = Vec::new();
        for _ in 0..count {
            let reader = order.push();
            order.link(first, reader);
            needed.push(order.push());
        }
        let last = order.push();
        needed.into_iter().for_each(|need| order.link(need, last));
        let before = counted();
        assert_eq!(order.put_before(last, first), fits);
        assert!(counted() - before <= MOST_EDGES + 1, "{}", counted() - before);
    }
}
