//! Tests of what is private here.

use super::*;

#[test]
fn values_that_live_together_do_not_overlap() {
    let mut state = 1u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    for _ in 0..50 {
        let lives: Vec<Life> = (0..40)
            .map(|_| {
                let first = next(30) as usize;
                Life { lines: next(20) as usize, first, last: first + next(8) as usize }
            })
            .collect();
        for (places, total) in [by_size(&lives), by_step(&lives)] {
            check(&lives, &places, total);
        }
    }
}

fn check(lives: &[Life], places: &[usize], total: usize) {
    for (a, x) in lives.iter().enumerate() {
        assert!(places[a] + x.lines <= total);
        for (b, y) in lives.iter().enumerate().filter(|(b, _)| *b != a) {
            let together = x.first <= y.last && y.first <= x.last;
            let apart = places[a] + x.lines <= places[b] || places[b] + y.lines <= places[a];
            assert!(!together || apart || x.lines == 0 || y.lines == 0);
        }
    }
}

#[test]
fn many_values_take_no_more_than_they_have_to() {
    // Residuals that live until their step backwards, and what lives for a step or two, of several sizes.
    let steps = 1000;
    let mut lives = Vec::new();
    for k in 0..steps {
        lives.push(Life { lines: 3 + k % 4, first: k, last: 2 * steps - k });
        lives.push(Life { lines: 1 + k % 7, first: k, last: k + 1 });
        lives.push(Life { lines: 5, first: 2 * steps - k, last: 2 * steps - k + 2 });
    }
    let (places, total) = place(&lives);
    check(&lives, &places, total);
    let alive = |step: usize| lives.iter().filter(move |life| life.first <= step && step <= life.last);
    let least = (0..2 * steps).map(|step| alive(step).map(|life| life.lines).sum::<usize>()).max();
    let least = least.expect("there are steps");
    assert!(total as f64 <= 1.02 * least as f64, "{total} lines where {least} are alive at a time");
    assert!(place(&lives[..FEW]).1 <= by_step(&lives[..FEW]).1);
}

#[test]
fn memory_is_used_again() {
    let chain: Vec<Life> = (0..10).map(|k| Life { lines: 4, first: k, last: k + 1 }).collect();
    assert_eq!(place(&chain).1, 8);
}
