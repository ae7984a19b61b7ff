//! When a computed array counts as equal to a stored one.

/// `|got - want| <= atol + rtol max(|want|, m)` for every element, where `m` is the largest finite
/// `|want|` of the array; NaN matches NaN, infinities match by sign, and the sign of zero does not
/// matter. The error names the first element that differs.
pub(crate) fn compare(what: &str, got: &[f64], want: &[f64], rtol: f64, atol: f64) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{what} has {} numbers instead of {}", got.len(), want.len()));
    }
    let largest = want.iter().map(|want| want.abs()).filter(|want| want.is_finite()).fold(0.0, f64::max);
    let agrees = |got: f64, want: f64| {
        if want.is_nan() {
            got.is_nan()
        } else if want.is_infinite() || got.is_infinite() {
            got == want
        } else {
            (got - want).abs() <= atol + rtol * want.abs().max(largest)
        }
    };
    match got.iter().zip(want).position(|(&got, &want)| !agrees(got, want)) {
        None => Ok(()),
        Some(k) => Err(format!(
            "{what}[{k}] is {:e} instead of {:e} (difference {:e}, rtol {rtol:e}, atol {atol:e}, largest {largest:e})",
            got[k],
            want[k],
            got[k] - want[k],
        )),
    }
}

/// As [`compare`], with the shapes.
pub(crate) fn compare_shaped(
    what: &str,
    (got_shape, got): (&[usize], &[f64]),
    (want_shape, want): (&[usize], &[f64]),
    rtol: f64,
    atol: f64,
) -> Result<(), String> {
    if got_shape == want_shape {
        compare(what, got, want, rtol, atol)
    } else {
        Err(format!("{what} has shape {got_shape:?} instead of {want_shape:?}"))
    }
}
