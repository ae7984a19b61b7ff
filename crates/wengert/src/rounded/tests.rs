//! Tests of what is private here.

use super::*;
use crate::dual::Dual;
use crate::real::Real;

/// The error of a cancelling sum is bounded from below by what happens and from above by a
/// small multiple of the magnitudes; through a dual the tangent has a bound too.
#[test]
fn errors_grow_where_digits_cancel() {
    let x = Dual::variable(Rounded::displaced(1.0));
    let y = (x + 1e8) - 1e8;
    assert!(y.re().error() >= UNIT * 1e8 && y.re().error() < 3.0 * UNIT * 1e8, "{y:?}");
    assert!(y.tangent().error() < 4.0 * UNIT);
    let y = (x.sin() * x.sin() + x.cos() * x.cos()).tangent();
    assert!(y.value().abs() <= y.error() && y.error() < 100.0 * UNIT, "{y:?}");
}
