//! Holomorphic derivatives that cancel.

use wengert::prelude::*;
use wengert::{holomorphic_grad, try_holomorphic_grad};

use super::tensor;

/// Derivatives that cancel are zero up to rounding errors of the value, which is no reason to refuse them; small ones of functions
/// that are not holomorphic are.
#[test]
fn derivatives_that_cancel_are_holomorphic() {
    let z = Complex::new(0.7, -1.3);
    assert!(holomorphic_grad(z, |z| z / z).abs() < 1e-14);
    assert!(holomorphic_grad(z, |z| z.sin() * z.sin() + z.cos() * z.cos()).abs() < 1e-14);
    assert!(holomorphic_grad(z, |z| z.exp() * (-z).exp()).abs() < 1e-14);
    assert!(holomorphic_grad(z, |z| holomorphic_grad(z, |z| (z.recip()).recip())).abs() < 1e-13);
    let both = tensor(&[z, Complex::new(2.0, 0.3)]);
    let slope = holomorphic_grad(both.clone(), |z| z.sin() * z.sin() + z.cos() * z.cos());
    assert!(slope.re.abs().max().item() < 1e-13);
    let refused = |small: f64| try_holomorphic_grad(z, |z| z.conj() * small + 1.0).is_err();
    assert!(refused(1.0) && refused(1e-6) && refused(1e-12));
    assert!(try_holomorphic_grad(both, |z| z.conj() * 1e-6 + 1.0).is_err());
}
