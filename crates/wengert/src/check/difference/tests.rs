//! Tests of what is private here.

use super::*;

#[test]
fn the_estimated_error_covers_the_true_one_and_is_small() {
    type Case = (&'static str, fn(f64) -> f64, f64);
    let cases: &[Case] = &[
        ("exp", |h| (0.3 + h).exp(), 0.3f64.exp()),
        ("fast sine", |h| (1e4 * h).sin(), 1e4),
        ("near a pole", |h| (1e-3 + h).recip(), -1e6),
        ("near a domain edge", |h| (1e-3 + h).ln(), 1e3),
        ("cubic", |h| (2.0 + h).powi(3), 12.0),
        ("constant", |_| 5.0, 0.0),
    ];
    for &(name, phi, exact) in cases {
        let noise = 8.0 * UNIT * phi(0.0).abs().max(1.0);
        let estimate = central(noise, |h| phi(h) - phi(0.0)).best().expect("finite near the point");
        assert!((estimate.value - exact).abs() <= estimate.error, "{name}: {estimate:?}");
        assert!(estimate.error <= 1e-9 * exact.abs().max(1.0), "{name}: {estimate:?}");
    }
}

#[test]
fn noise_widens_the_estimate() {
    // A number that changes in the ninth digit from one argument to the next.
    let rough = |h: f64| (0.3 + h).exp() - 0.3f64.exp() + 1e-9 * (h * 1e15).sin();
    let estimate = central(1e-9, rough).best().expect("finite");
    assert!((estimate.value - 0.3f64.exp()).abs() <= estimate.error, "{estimate:?}");
    assert!(estimate.error > 1e-8 && estimate.error < 1e-5 && estimate.step > 1e-4, "{estimate:?}");
}

#[test]
fn a_function_that_is_nowhere_finite_has_no_estimate() {
    assert!(central(0.0, |h| (h.abs() - 1e9).ln()).best().is_none());
}

#[test]
fn a_narrow_branch_is_looked_at_more_closely() {
    for width in [1e-1, 1e-2, 1e-4, 1e-6] {
        let phi = |h: f64| if h.abs() < width { 2.0 * h + h * h } else { h };
        let differences = central(4.0 * UNIT, phi);
        let judge = |stated: f64| differences.of(stated, 0.0, 4.0).expect("finite");
        let near = judge(2.0);
        assert!((near.value - 2.0).abs() <= 4.0 * near.error && near.error < 1e-6, "{width}: {near:?}");
        // A wrong derivative is still refused, also one that is nearly right.
        for wrong in [3.0, 1.5, 2.001] {
            let near = judge(wrong);
            assert!((near.value - wrong).abs() > 4.0 * near.error, "{width}: {wrong} {near:?}");
        }
    }
}
