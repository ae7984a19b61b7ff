//! Tests of what is private here.

use super::*;

/// What contracting these costs at least, by trying all pairs.
fn least(labels: &[u64], out: u64, size: &impl Fn(u64) -> f64, first: bool) -> f64 {
    if labels.len() == 1 {
        return 0.0;
    }
    let mut best = f64::INFINITY;
    for second in 1..labels.len() {
        for one in 0..second {
            let mut others = labels.to_vec();
            let (y, x) = (others.remove(second), others.remove(one));
            let kept = (x | y) & others.iter().fold(out, |needed, own| needed | own);
            others.push(kept);
            best = best.min(size(x | y) + size(kept) + least(&others, out, size, false));
        }
    }
    assert!(first || best.is_finite());
    best
}

/// What an order costs.
fn cost(labels: &[u64], out: u64, size: &impl Fn(u64) -> f64, parts: &[usize], set: usize) -> (u64, f64) {
    if set.is_power_of_two() {
        return (labels[set.trailing_zeros() as usize], 0.0);
    }
    let [x, y] = [parts[set], set & !parts[set]].map(|part| cost(labels, out, size, parts, part));
    let others = (0..labels.len()).filter(|k| set >> k & 1 == 0).fold(out, |needed, k| needed | labels[k]);
    let kept = (x.0 | y.0) & others;
    (kept, x.1 + y.1 + size(x.0 | y.0) + size(kept))
}

#[test]
fn no_order_of_contraction_is_cheaper() {
    let mut state = 5u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let lengths: Vec<u64> = (0..7).map(|_| 1 + next(40)).collect();
        let size = |set: u64| (0..7).filter(|bit| set >> bit & 1 == 1).map(|bit| lengths[bit] as f64).product();
        let labels: Vec<u64> = (0..2 + next(4)).map(|_| 1 + next(127)).collect();
        let out = labels.iter().fold(0, |all, own| all | own) & next(128);
        let parts = order(&labels, out, size);
        let (_, found) = cost(&labels, out, &size, &parts, (1 << labels.len()) - 1);
        let wanted = least(&labels, out, &size, true);
        assert!((found - wanted).abs() <= 1e-9 * wanted, "{labels:?} {out} {lengths:?}: {found} {wanted}");
    }
}
