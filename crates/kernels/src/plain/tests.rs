//! What the tests have in common.

/// Numbers without a pattern in `[-2, 2]`.
pub(super) fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let number = |k: usize| {
        let turn = (k as f64 + 1.0).mul_add(0.618_033_988_749_895, seed as f64 * 0.377);
        4.0 * (turn - turn.floor()) - 2.0
    };
    (0..count).map(number).collect()
}
