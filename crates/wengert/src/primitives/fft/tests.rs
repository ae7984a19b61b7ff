//! Tests of what is private here.

use super::*;

fn refused(op: &Fft, shape: &[usize], operands: usize) -> String {
    let ty = Type::new(DType::F64, shape);
    op.infer(&vec![&ty; operands]).expect_err("it does not fit").0
}

#[test]
fn factors_are_exact_where_they_can_be() {
    for n in 1..200 {
        for m in 0..n {
            let [cos, sin] = turned(m, n);
            let angle = 2.0 * std::f64::consts::PI * m as f64 / n as f64;
            assert!((cos - angle.cos()).abs() < 2e-15 && (sin - angle.sin()).abs() < 2e-15, "{m} of {n}");
            let [other_cos, other_sin] = turned((n - m) % n, n);
            assert_eq!((cos, sin + other_sin), (other_cos, 0.0), "{m} of {n} is the conjugate of {}", n - m);
        }
    }
    assert_eq!([0, 1, 2, 3].map(|m| turned(m, 4)), [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]);
    assert_eq!(turned(1, 8), [FRAC_1_SQRT_2; 2]);
    assert_eq!(turned(usize::MAX / 8 * 2, usize::MAX / 8 * 8), [0.0, 1.0]);
}

#[test]
fn largest_factors_are_found_up_to_the_bound() {
    let found = [1, 2, 12, 35, 10_007, 1_000_003, 2 * 1_000_003, 1 << 40].map(largest_factor);
    let wanted = [None, Some(2), Some(3), Some(7), Some(10_007), Some(1_000_003), Some(1_000_003), Some(2)];
    assert_eq!(found, wanted);
    assert!(largest_factor(1_000_003 * 1_000_033).is_some_and(|factor| factor > LARGEST_FACTOR));
}

#[test]
fn lengths_that_do_not_fit_are_refused_with_a_reason() {
    let half = |n: usize| Fft::new(&[0], &[n]).kind(FftKind::HalfToReal(HalfWeights::Doubled));
    let cases = [
        (Fft::new(&[0], &[0]), 2, "a transform of length 0 along axis 0 does not exist: it takes at least one entry"),
        (
            Fft::new(&[0], &[2_000_006]),
            2,
            "the length 2000006 along axis 0 has the prime factor 1000003, and factors above 1000000 are refused: \
             pad to a length with smaller ones",
        ),
        (Fft::new(&[0], &[3]), 2, "axis 0 is 4 long, and a transform of length 3 takes at most 3 entries there"),
        (
            half(5),
            2,
            "axis 0 is 4 long, and a transform of length 5 takes at most 3 entries of the half spectrum there",
        ),
        (half(6).counts(&[7]), 2, "a transform of length 6 has 6 entries along axis 0, and 7 are asked for"),
        (Fft::new(&[], &[]), 2, "it has 0 axes, 0 lengths and 0 counts: it takes one or more, of each as many"),
        (Fft::new(&[0], &[4]), 1, "it takes 2 operands, and got 1"),
    ];
    for (op, operands, why) in cases {
        assert_eq!(refused(&op, &[4], operands), why);
    }
}
