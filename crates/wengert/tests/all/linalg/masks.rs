//! What does not count reaches nothing: the ignored half, lanes and branches not taken, other matrices of a batch.

use wengert::linalg::{Side, Triangle, TriangularSolve, lyapunov, riccati};
use wengert::prelude::*;

use crate::nn::support::close;

const NAN: f64 = f64::NAN;

#[test]
fn nan_in_the_half_that_is_not_read_reaches_nothing() {
    let b = Tensor::from([1.0, 2.0]);
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    for (t, options) in [
        (Tensor::from([[2.0, NAN], [1.0, 4.0]]), lower),
        (Tensor::from([[2.0, 1.0], [NAN, 4.0]]), TriangularSolve { triangle: Triangle::Upper, ..lower }),
        (Tensor::from([[NAN, NAN], [1.0, NAN]]), TriangularSolve { unit: true, ..lower }),
        (Tensor::from([[2.0, NAN], [1.0, 4.0]]), TriangularSolve { side: Side::Right, transpose: true, ..lower }),
    ] {
        let loss = |t: &Tensor| t.solve_triangular(&b, options).square().sum();
        let (value, slope) = value_and_grad(&t, |t| loss(&t));
        let bent = hvp(&t, Tensor::ones(&[2, 2]), |t| loss(&t));
        let (_, forward) = jvp(&t, Tensor::ones(&[2, 2]), |t| loss(&t));
        assert!(value.item().is_finite() && forward.item().is_finite());
        for (k, x) in t.to_vec().into_iter().enumerate() {
            let (slope, bent) = (slope.to_vec()[k], bent.to_vec()[k]);
            assert!(slope.is_finite() && bent.is_finite(), "{slope} and {bent} at {k} of {options:?}");
            assert!(!x.is_nan() || (slope == 0.0 && bent == 0.0), "{slope} and {bent} at {k} of {options:?}");
        }
    }
}

/// A function with its name.
type Named = (&'static str, fn(&Tensor) -> Tensor);

/// Functions of a positive definite matrix of two rows.
fn functions() -> Vec<Named> {
    vec![
        ("cholesky", |a| a.cholesky().sum()),
        ("lu", |a| a.lu().1.sum()),
        ("qr", |a| a.qr().1.sum()),
        ("eigvalsh", |a| a.eigvalsh().slice(0)),
        ("eigh", |a| a.eigh().1.sum()),
        ("svd", |a| a.svd().0.sum()),
        ("singular_values", |a| a.singular_values().sum()),
        ("solve", |a| a.solve(&Tensor::from([1.0, 2.0])).sum()),
        ("solve_spd", |a| a.solve_spd(&Tensor::from([1.0, 2.0])).sum()),
        ("det", |a| a.det()),
        ("slogdet", |a| a.slogdet().1),
        ("logdet_spd", |a| a.logdet_spd()),
        ("inv", |a| a.inv().sum()),
        ("expm", |a| a.expm().sum()),
        ("eig", |a| a.eig()[0].slice(0)),
        ("schur", |a| a.schur().0.sum() + a.schur().1.sum()),
        ("lyapunov", |a| lyapunov(a, &Tensor::eye(2)).sum()),
        ("riccati", |a| riccati(a, &Tensor::eye(2), &Tensor::eye(2), &Tensor::eye(2)).sum()),
        ("lstsq", |a| a.lstsq(&Tensor::from([1.0, 2.0])).sum()),
    ]
}

#[test]
fn what_is_masked_meets_no_infinite_derivative() {
    // The matrix depends on a root at 0, whose derivative is infinite.
    for (name, f) in functions() {
        let loss = |x: &Tensor| {
            let root = x.sqrt() * Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
            let y = f(&(root + Tensor::from([[3.0, 0.5], [0.5, 2.0]])));
            Tensor::from(false).where_(y, x * 3.0)
        };
        assert_eq!(grad(Tensor::from(0.0), |x| loss(&x)).item(), 3.0, "{name}");
    }
}

#[test]
fn lanes_that_do_not_count_may_be_anything() {
    let good = Tensor::from([[3.0, 0.5], [0.5, 2.0]]);
    // Indefinite and singular, without elements that count, and with repeated values.
    let bad = [
        Tensor::from([[1.0, 1.0], [1.0, 1.0]]),
        Tensor::from([[0.0, 0.0], [0.0, 0.0]]),
        Tensor::from([[-1.0, 2.0], [2.0, -1.0]]),
        Tensor::from([[NAN, 0.0], [f64::INFINITY, 1.0]]),
        Tensor::eye(2),
    ];
    let flags = Tensor::from([true, false]);
    for (name, f) in functions() {
        let alone = value_and_grad(&good, |a| f(&a));
        for bad in &bad {
            let both = Tensor::stack(&[&good, bad], 0);
            let pick = |flag: &Tensor, a: &Tensor| cond(flag, a, |a| f(&a), |_| Tensor::from(7.0));
            let (values, slope) = vmap((&flags, &both), |(flag, a)| value_and_grad(a, |a| pick(&flag, &a)));
            close(&values.to_vec(), &[alone.0.item(), 7.0], 4.0);
            close(&slope.slice(0).to_vec(), &alone.1.to_vec(), 64.0);
            assert_eq!(slope.slice(1).to_vec(), [0.0; 4], "{name}");
            // A gradient through all lanes at once.
            let slope = grad(&both, |both| vmap((&flags, &both), |(flag, a)| pick(&flag, &a)).sum());
            assert_eq!(slope.slice(1).to_vec(), [0.0; 4], "{name}");
        }
    }
}

#[test]
fn a_branch_that_is_not_taken_may_be_anything() {
    let singular = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    for (name, f) in functions() {
        let loss = |a: &Tensor| cond(a.det().gt(0.5), a, |a| f(&a), |a| a.square().sum());
        let slope = grad(&singular, |a| loss(&a));
        assert_eq!(slope.to_vec(), [2.0, 4.0, 4.0, 8.0], "{name}");
    }
}

#[test]
fn repeated_values_in_a_lane_that_is_masked_afterwards_do_not_count() {
    let apart = Tensor::from([[3.0, 0.5], [0.5, 2.0]]);
    let both = Tensor::stack(&[&apart, &Tensor::eye(2)], 0);
    let flags = Tensor::from([true, false]);
    let slope = grad(&both, |both| flags.where_(both.eigh().1.sum_over([1, 2]), 0.0).sum());
    close(&slope.slice(0).to_vec(), &grad(&apart, |a| a.eigh().1.sum()).to_vec(), 16.0);
    assert_eq!(slope.slice(1).to_vec(), [0.0; 4]);
}

/// Functions that have a value at every matrix of two rows, and not always a derivative.
fn everywhere() -> Vec<Named> {
    vec![
        ("lu", |a| a.lu().1.sum()),
        ("qr", |a| a.qr().1.sum()),
        ("slogdet", |a| a.slogdet().1),
        ("det", |a| a.det()),
        ("eigvalsh", |a| a.eigvalsh().slice(0)),
        ("eigh", |a| a.eigh().1.sum()),
        ("svd", |a| a.svd().0.sum()),
        ("singular_values", |a| a.singular_values().sum()),
        ("schur", |a| a.schur().0.sum() + a.schur().1.sum()),
        ("complex schur", |a| {
            let (t, u) = Complex::new(a.clone(), Tensor::zeros(&[2, 2])).schur();
            t.re.square().sum() + u.re.sum()
        }),
        ("complex qr", |a| Complex::new(a.clone(), Tensor::zeros(&[2, 2])).qr().1.re.sum()),
        ("complex lu", |a| Complex::new(a.clone(), Tensor::zeros(&[2, 2])).lu().1.re.sum()),
        ("eig", |a| {
            let [values, _, vectors, _] = a.eig();
            values.square().sum() + vectors.sum()
        }),
        ("expm", |a| a.expm().sum()),
    ]
}

#[test]
fn a_lane_that_is_left_out_afterwards_has_no_derivative_to_miss() {
    let good = Tensor::from([[3.0, 0.5], [0.25, 2.0]]);
    let bad = [[[1.0, 1.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]].map(Tensor::from);
    let flags = Tensor::from([true, false]);
    for (name, f) in everywhere() {
        let alone = grad(&good, |a| f(&a)).to_vec();
        for bad in &bad {
            let both = Tensor::stack(&[&good, bad], 0);
            let slope = grad(&both, |both| flags.where_(vmap(both, |a| f(&a)), 0.0).sum());
            close(&slope.slice(0).to_vec(), &alone, 64.0);
            assert_eq!(slope.slice(1).to_vec(), [0.0; 4], "{name} at {bad}");
        }
    }
}

#[test]
fn nan_in_a_triangle_reaches_only_what_depends_on_it() {
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    let (good, b) = (Tensor::from([[2.0, 0.5], [1.0, 4.0]]), Tensor::from([[1.0, 2.0], [3.0, -1.0]]));
    let flags = Tensor::from([true, false]);
    let sides = [(Side::Left, false), (Side::Left, true), (Side::Right, false), (Side::Right, true)];
    for (side, transpose) in sides {
        for (triangle, unit) in [Triangle::Lower, Triangle::Upper].into_iter().flat_map(|t| [(t, false), (t, true)]) {
            let options = TriangularSolve { side, transpose, triangle, unit };
            let loss = |t: &Tensor, b: &Tensor| t.solve_triangular(b, options).sum_over([-2, -1]);
            let (by_t, by_b) = grad((&good, &b), |(t, b)| loss(&t, &b));
            for bad in [NAN, f64::INFINITY] {
                let bad = Tensor::from([[3.0, bad], [bad, 5.0]]);
                let (two, right) = (Tensor::stack(&[&good, &bad], 0), Tensor::stack(&[&b, &b], 0));
                let (lanes_t, lanes_b) = grad((&two, &right), |(t, b)| flags.where_(loss(&t, &b), 0.0).sum());
                close(&lanes_t.slice(0).to_vec(), &by_t.to_vec(), 16.0);
                close(&lanes_b.slice(0).to_vec(), &by_b.to_vec(), 16.0);
                assert_eq!(lanes_t.slice(1).to_vec(), [0.0; 4], "{options:?}");
                assert_eq!(lanes_b.slice(1).to_vec(), [0.0; 4], "{options:?}");
            }
        }
    }
    // The first unknown does not read the second row.
    let t = Tensor::from([[2.0, 0.0], [NAN, 3.0]]);
    let slope = grad(Tensor::from([1.0, 2.0]), |b| flags.where_(t.solve_triangular(&b, lower), 0.0).sum());
    assert_eq!(slope.to_vec(), [0.5, 0.0]);
    // A column that counts beside one that does not.
    let keep = Tensor::from([[true, true], [false, true]]);
    let t = Tensor::from([[2.0, 0.0], [1.0, 3.0]]);
    let slope = grad(Tensor::ones(&[2, 2]), |b| keep.where_(t.solve_triangular(&b, lower), 0.0).sum());
    close(&slope.to_vec(), &[0.5, 0.5 - 1.0 / 6.0, 0.0, 1.0 / 3.0], 4.0);
    // Complex triangles.
    let complex =
        Complex::new(Tensor::stack(&[&good, &Tensor::from([[3.0, 0.0], [NAN, 5.0]])], 0), Tensor::ones(&[2, 2, 2]));
    let right = Complex::new(Tensor::ones(&[2, 2, 1]), Tensor::zeros(&[2, 2, 1]));
    let slope = grad(&right, |right| {
        let solved = complex.solve_triangular(&right, Triangle::Lower);
        flags.where_(solved.norm_sqr().sum_over([1, 2]), 0.0).sum()
    });
    for part in [slope.re, slope.im] {
        assert!(part.slice(0).to_vec().iter().all(|x| x.is_finite()));
        assert_eq!(part.slice(1).to_vec(), [0.0; 2]);
    }
}

#[test]
fn exponentials_do_not_see_their_batch() {
    let small = Tensor::from([[0.3, 0.5], [0.2, -0.4]]);
    let direction = Tensor::from([[0.7, -0.1], [0.4, 0.9]]);
    let loss = |a: &Tensor| (a.expm() * &direction).sum_over([-2, -1]);
    let slope = |a: &Tensor| grad(a, |a| loss(&a).sum());
    let curvature = |a: &Tensor| hvp(a, &(Tensor::zeros(a.shape()) + &direction), |a| loss(&a).sum());
    for size in [1.0, 1e4, 1e8, 1e20, 1e200] {
        let other = Tensor::from([[-1.0, 0.0], [0.0, -2.0]]) * size;
        for both in [Tensor::stack(&[&small, &other], 0), Tensor::stack(&[&other, &small, &other], 0)] {
            let place = usize::from(both.shape()[0] == 3) as isize;
            close(&both.expm().slice(place).to_vec(), &small.expm().to_vec(), 4.0);
            close(&vmap(&both, |a| a.expm()).slice(place).to_vec(), &small.expm().to_vec(), 4.0);
            close(&slope(&both).slice(place).to_vec(), &slope(&small).to_vec(), 16.0);
            close(&curvature(&both).slice(place).to_vec(), &curvature(&small).to_vec(), 32.0);
        }
    }
}
