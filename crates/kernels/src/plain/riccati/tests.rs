//! Tests of what is private here.

use super::*;

#[test]
fn scalar_equations_have_the_known_solutions() {
    // 2 a x - g x^2 + q = 0: x = (a + sqrt(a^2 + g q)) / g.
    for (a, g, q) in [(1.0, 2.0, 3.0), (-2.0, 1.0, 0.5), (0.0, 1.0, 1.0), (30.0, 0.1, 5.0)] {
        let x = riccati(MatrixEquation::Continuous, &[a], &[g], &[q], 1).expect("it has a solution")[0];
        let wanted = (a + f64::sqrt(a * a + g * q)) / g;
        assert!((x / wanted - 1.0).abs() < 1e-14, "{x} instead of {wanted}");
    }
    // x = a^2 x / (1 + g x) + q.
    for (a, g, q) in [(0.5, 2.0, 3.0), (2.0, 1.0, 0.5), (0.0, 1.0, 1.0)] {
        let x = riccati(MatrixEquation::Discrete, &[a], &[g], &[q], 1).expect("it has a solution")[0];
        assert!((a * a * x / (1.0 + g * x) + q - x).abs() < 1e-14 * x, "{x}");
        assert!((a / (1.0 + g * x)).abs() < 1.0);
    }
    // Unstable, and nothing acts on it.
    assert_eq!(riccati(MatrixEquation::Continuous, &[1.0], &[0.0], &[1.0], 1), None);
    assert_eq!(riccati(MatrixEquation::Discrete, &[2.0], &[0.0], &[1.0], 1), None);
}
