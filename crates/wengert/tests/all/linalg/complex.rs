//! Factorisations of complex matrices: what they are, their derivatives, repeated values, masks, bad input.

use wengert::linalg::Triangle;
use wengert::prelude::*;

use super::largest;
use crate::nn::support::points;
use crate::support::caught::caught;

type Z = Complex<Tensor>;

fn matrix(seed: u64, m: usize, n: usize) -> Z {
    Complex::new(points(seed, &[m, n]), points(seed + 1000, &[m, n]))
}

/// Well-conditioned, with values that are apart.
fn dominant(seed: u64, n: usize) -> Z {
    let spread = Tensor::linspace(1.0, 4.0 * n as f64, n).diag_embed(0);
    matrix(seed, n, n) + spread
}

fn adjoint(z: &Z) -> Z {
    z.each_part(|x| x.t()).conj()
}

#[track_caller]
fn near(x: &Z, y: &Z, bound: f64) {
    let off = (x - y).norm_sqr();
    assert!(off.size() == 0 || off.max().item().sqrt() < bound, "off by {}", off.max().item().sqrt());
}

fn eye(n: usize) -> Z {
    Complex::from(Tensor::eye(n))
}

#[test]
fn factors_make_up_their_matrix() {
    for (seed, [m, n]) in [[1, 1], [2, 2], [5, 5], [9, 9], [6, 3], [3, 6]].into_iter().enumerate() {
        let a = matrix(seed as u64, m, n);
        let (l, u, p) = a.lu();
        near(&l.matmul(&u), &a.each_part(|x| x.take(&p, 0)), 1e-13);
        let (q, r) = a.qr();
        near(&q.matmul(&r), &a, 1e-13);
        near(&adjoint(&q).matmul(&q), &eye(m.min(n)), 1e-13);
        let (u, s, vh) = a.svd();
        near(&(&u * &s).matmul(&vh), &a, 1e-13);
        near(&adjoint(&u).matmul(&u), &eye(m.min(n)), 1e-13);
        near(&vh.matmul(adjoint(&vh)), &eye(m.min(n)), 1e-13);
        if m != n {
            continue;
        }
        let (w, v) = (&a + &adjoint(&a)).eigh();
        near(&(&a + &adjoint(&a)).matmul(&v), &(&v * &w), 1e-12);
        let (w, v) = a.eig();
        near(&a.matmul(&v), &(&v * &w), 1e-12);
        let (t, u) = a.schur();
        near(&u.matmul(&t).matmul(adjoint(&u)), &a, 1e-12);
        near(&adjoint(&u).matmul(&u), &eye(n), 1e-13);
        near(&t, &t.each_part(|x| x.triu(0)), 1e-300);
        // Near each other in the real part, the order of two may be another one.
        near(&t.each_part(|x| x.diagonal(0)), &w, 1e-11);
        let positive = a.matmul(adjoint(&a)) + Tensor::eye(n);
        let l = positive.cholesky();
        near(&l.matmul(adjoint(&l)), &positive, 1e-12);
        let b = matrix(77, n, 2);
        let a = dominant(seed as u64, n);
        near(&a.matmul(a.solve(&b)), &b, 1e-12);
        near(&a.matmul(a.inv()), &eye(n), 1e-12);
        near(&l.matmul(l.solve_triangular(&b, Triangle::Lower)), &b, 1e-11);
        let upper = adjoint(&l);
        near(&upper.matmul(upper.solve_triangular(&b, Triangle::Upper)), &b, 1e-11);
    }
}

/// Numbers in which every part of a complex array has a weight of its own.
fn weighed(seed: u64, z: &Z) -> Tensor {
    let weights = [points(seed, z.shape()), points(seed + 1, z.shape())];
    (&z.re * &weights[0]).sum() + (&z.im * &weights[1]).sum()
}

type Loss = Box<dyn Fn(&Z) -> Tensor>;

/// A loss of every result of every factorisation, for a matrix with these sides.
fn losses(m: usize, n: usize) -> Vec<(&'static str, Loss)> {
    let mut all: Vec<(&'static str, Loss)> = vec![
        (
            "lu",
            Box::new(|a| {
                let (l, u, _) = a.lu();
                weighed(1, &l) + weighed(2, &u)
            }),
        ),
        (
            "qr",
            Box::new(|a| {
                let (q, r) = a.qr();
                weighed(3, &q) + weighed(4, &r)
            }),
        ),
        (
            "svd",
            Box::new(|a| {
                let (u, s, vh) = a.svd();
                weighed(5, &u) + (&s * points(6, s.shape())).sum() + weighed(7, &vh)
            }),
        ),
        (
            "singular_values",
            Box::new(|a| {
                let s = a.singular_values();
                (&s * points(8, s.shape())).sum()
            }),
        ),
    ];
    if m == n {
        let square: Vec<(&'static str, Loss)> = vec![
            ("cholesky", Box::new(|a| weighed(9, &a.matmul(adjoint(a)).cholesky()))),
            (
                "eigh",
                Box::new(|a| {
                    let (w, v) = a.eigh();
                    (&w * points(10, w.shape())).sum() + weighed(11, &v)
                }),
            ),
            (
                "eig",
                Box::new(|a| {
                    let (w, v) = a.eig();
                    weighed(12, &w) + weighed(13, &v)
                }),
            ),
            (
                "schur",
                Box::new(|a| {
                    let (t, u) = a.schur();
                    weighed(22, &t) + weighed(23, &u)
                }),
            ),
            ("solve", Box::new(move |a| weighed(14, &a.solve(matrix(15, n, 2))))),
            (
                "solve_triangular",
                Box::new(move |a| {
                    weighed(16, &a.solve_triangular(matrix(17, n, 2), Triangle::Lower))
                        + weighed(18, &a.solve_triangular(matrix(19, n, 1), Triangle::Upper))
                }),
            ),
            ("inv", Box::new(|a| weighed(20, &a.inv()))),
            // The matrix is a right-hand side too.
            ("itself", Box::new(|a| weighed(21, &a.solve(adjoint(a))))),
        ];
        all.extend(square);
    }
    all
}

fn dot(x: &Z, y: &Z) -> f64 {
    ((&x.re * &y.re).sum() + (&x.im * &y.im).sum()).item()
}

#[test]
fn derivatives_agree_with_differences() {
    for [m, n] in [[1, 1], [2, 2], [4, 4], [5, 3], [3, 5]] {
        for seed in 0..3 {
            let spread = Tensor::linspace(2.0, 4.0 * m.min(n) as f64, m.min(n)).diag_embed(0);
            let spread = spread.pad(&[(0, m - m.min(n)), (0, n - m.min(n))], 0.0);
            let a = matrix(seed, m, n) + spread;
            let t = matrix(seed + 40, m, n);
            for (name, loss) in losses(m, n) {
                let slope = grad(&a, |a| loss(&a));
                let h = 1e-4;
                let at = |step: f64| loss(&(&a + &(&t * step))).item();
                let difference = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                let along = dot(&slope, &t);
                let scale = 1.0 + along.abs();
                assert!((along - difference).abs() < 1e-7 * scale, "{name} {m} {n}: {along} instead of {difference}");
                let (_, forward) = jvp(&a, t.clone(), |a| loss(&a));
                assert!((forward.item() - along).abs() < 1e-10 * scale, "{name}: forward and reverse");
                // Second order: the gradient along a direction.
                let bent = hvp(&a, t.clone(), |a| loss(&a));
                let slope_at = |step: f64| dot(&grad(&(&a + &(&t * step)), |a| loss(&a)), &t);
                let difference =
                    (8.0 * (slope_at(h) - slope_at(-h)) - (slope_at(2.0 * h) - slope_at(-2.0 * h))) / (12.0 * h);
                let along = dot(&bent, &t);
                let scale = 1.0 + along.abs();
                assert!((along - difference).abs() < 1e-6 * scale, "{name} {m} {n}: {along} instead of {difference}");
            }
        }
    }
}

/// A real matrix has the factors of a real one, and their derivatives by its real part.
#[test]
fn real_matrices_are_a_special_case() {
    let real = points(3, &[4, 4]) + Tensor::linspace(2.0, 14.0, 4).diag_embed(0);
    let symmetric = &real + real.t();
    let zero = |a: &Tensor| Complex::from(a.clone());
    let w = points(5, &[4, 4]);
    type Both<'a> = (&'static str, &'a dyn Fn(&Tensor) -> Tensor, &'a dyn Fn(&Z) -> Tensor);
    let pairs: [Both<'_>; 6] = [
        ("cholesky", &|a| (a.cholesky() * &w).sum(), &|a| (a.cholesky().re * &w).sum()),
        ("lu", &|a| (a.lu().1 * &w).sum(), &|a| (a.lu().1.re * &w).sum()),
        ("qr", &|a| (a.qr().0 * &w).sum(), &|a| (a.qr().0.re * &w).sum()),
        ("eigh", &|a| (a.eigh().1 * &w).sum(), &|a| (a.eigh().1.re * &w).sum()),
        ("svd", &|a| (a.svd().2 * &w).sum(), &|a| (a.svd().2.re * &w).sum()),
        ("solve", &|a| (a.solve(&w) * &w).sum(), &|a| (a.solve(&w).re * &w).sum()),
    ];
    for (name, plain, complex) in pairs {
        let (value, slope) = value_and_grad(&symmetric, |a| plain(&a));
        let (other, both) = value_and_grad(&zero(&symmetric), |a| complex(&a));
        assert!((value - other).abs().item() < 1e-13, "{name}");
        assert!(largest(&(slope - both.re)) < 1e-12, "{name}");
    }
}

/// A system with `re A + i im A` is a real one of twice the order.
#[test]
fn systems_agree_with_real_ones_of_twice_the_order() {
    let (a, b) = (dominant(2, 4), matrix(3, 4, 2));
    let twice = |a: &Z| {
        let upper = Tensor::concat([&a.re, &-&a.im], 1);
        Tensor::concat([&upper, &Tensor::concat([&a.im, &a.re], 1)], 0)
    };
    let other = |a: &Z| twice(a).solve(&Tensor::concat([&b.re, &b.im], 0)).square().sum();
    let own = |a: &Z| a.solve(&b).norm_sqr().sum();
    let (value, slope) = value_and_grad(&a, |a| own(&a));
    let (wanted, wanted_slope) = value_and_grad(&a, |a| other(&a));
    assert!((value - wanted).abs().item() < 1e-13);
    near(&slope, &wanted_slope, 1e-13);
}

#[test]
fn batches_and_mapped_functions_agree_with_one_by_one() {
    let batch: Vec<Z> = (0..3).map(|seed| dominant(seed, 3)).collect();
    let stacked = Complex::new(
        Tensor::stack(batch.iter().map(|z| &z.re).collect::<Vec<_>>(), 0),
        Tensor::stack(batch.iter().map(|z| &z.im).collect::<Vec<_>>(), 0),
    );
    for (name, loss) in losses(3, 3) {
        let mapped = vmap(&stacked, |z| grad(&z, |z| loss(&z)));
        for (k, z) in batch.iter().enumerate() {
            let one = grad(z, |z| loss(&z));
            let own = Complex::new(mapped.re.slice(k), mapped.im.slice(k));
            assert!(largest(&(&own.re - &one.re)) < 1e-11 && largest(&(&own.im - &one.im)) < 1e-11, "{name}");
        }
    }
    // One right-hand side for all of a batch.
    let b = matrix(9, 3, 1);
    let x = stacked.solve(&b);
    near(&Complex::new(x.re.slice(1), x.im.slice(1)), &batch[1].solve(&b), 1e-14);
}

/// What is the same for vectors up to a phase does not depend on the choice; a loss that does has the derivative of the choice.
#[test]
fn a_projector_does_not_depend_on_phases() {
    let a = dominant(4, 4);
    let a = &a + &adjoint(&a);
    let projector = |a: &Z| {
        let v = a.eigh().1.each_part(|x| x.slice((.., 0..2)));
        v.matmul(adjoint(&v))
    };
    let slope = grad(&a, |a| weighed(1, &projector(&a)));
    // Turned by phases that are functions of the matrix.
    let turned = |a: &Z| {
        let angles = Tensor::stack([&a.re.sum(), &a.im.square().sum()], 0);
        let v = a.eigh().1.each_part(|x| x.slice((.., 0..2)));
        let v = v * Complex::polar(&Tensor::ones(&[2]), &angles);
        v.matmul(adjoint(&v))
    };
    near(&slope, &grad(&a, |a| weighed(1, &turned(&a))), 1e-11);
}

#[track_caller]
fn refused<R>(call: impl FnOnce() -> R, words: &[&str]) {
    let why = caught("", call).map(drop).expect_err("it is refused");
    assert!(words.iter().all(|word| why.contains(word)), "{why}");
}

#[test]
fn repeated_values_are_refused_or_right() {
    // 1, 1 and 4, turned by a unitary matrix.
    let q = matrix(5, 3, 3).qr().0;
    let a = (&q * &Tensor::from([1.0, 1.0, 4.0])).matmul(adjoint(&q));
    let vectors = |columns: std::ops::Range<usize>| {
        move |a: &Z| weighed(2, &a.eigh().1.each_part(|x| x.slice((.., columns.clone()))))
    };
    refused(|| grad(&a, |a| vectors(0..2)(&a)), &["`eigh`", "apart", "repeated"]);
    refused(|| grad(&a, |a| (a.eigh().0 * Tensor::from([1.0, 2.0, 3.0])).sum()), &["`eigh`", "repeated"]);
    refused(|| jvp(&a, matrix(1, 3, 3), |a| a.eigh().0), &["`eigh`", "repeated"]);
    // The vector of the value that stands apart, and a sum over those that do not.
    for loss in [Box::new(vectors(2..3)) as Loss, Box::new(|a: &Z| (a.eigh().0 * Tensor::from([2.0, 2.0, 5.0])).sum())]
    {
        let t = matrix(6, 3, 3);
        let at = |step: f64| loss(&(&a + &(&t * step))).item();
        let along = dot(&grad(&a, |a| loss(&a)), &t);
        let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
        assert!((along - difference).abs() < 1e-6 * (1.0 + along.abs()), "{along} instead of {difference}");
    }
    refused(|| grad(&a, |a| a.svd().1.slice(0..2).square().sum() + a.svd().1.slice(1)), &["`svd`", "repeated"]);
    refused(|| grad(&eye(2), |a| a.eig().0.re.sum()), &["`eig`", "apart"]);
    refused(|| grad(&eye(2), |a| a.schur().0.re.sum()), &["`schur`", "apart", "repeated"]);
    // A singular value of 0 ties no phases.
    let flat = Complex::from(Tensor::from([[1.0, 0.0], [0.0, 0.0]]));
    refused(|| grad(&flat, |a| weighed(1, &a.svd().2)), &["`svd`", "0"]);
}

#[test]
fn what_does_not_count_reaches_nothing() {
    let good = dominant(1, 3);
    let nan = Complex::new(Tensor::full(&[3, 3], f64::NAN), Tensor::zeros(&[3, 3]));
    let zero = Complex::zeros(&[3, 3]);
    for (name, loss) in losses(3, 3) {
        for bad in [&nan, &zero] {
            let both = Complex::new(Tensor::stack([&good.re, &bad.re], 0), Tensor::stack([&good.im, &bad.im], 0));
            let flags = Tensor::from([true, false]);
            let slope = grad(&both, |z| {
                vmap((z, flags.clone()), |(z, flag)| cond(&flag, z.clone(), |z| loss(&z), |z| z.re.sum() * 0.0 + 1.0))
                    .sum()
            });
            let one = grad(&good, |z| loss(&z));
            let own = Complex::new(slope.re.slice(0), slope.im.slice(0));
            assert!(largest(&(own.re - one.re)) < 1e-11 && largest(&(own.im - one.im)) < 1e-11, "{name}");
        }
    }
    let t = Complex::new(Tensor::from([[2.0, f64::NAN], [1.0, 4.0]]), Tensor::from([[1.0, f64::NAN], [1.0, 0.0]]));
    let loss = |t: &Z| t.solve_triangular(Tensor::from([1.0, 2.0]), Triangle::Lower).norm_sqr().sum();
    let slope = grad(&t, |t| loss(&t));
    assert!(slope.re.to_vec().iter().chain(&slope.im.to_vec()).all(|x| x.is_finite()));
    assert_eq!((slope.re.to_vec()[1], slope.im.to_vec()[1]), (0.0, 0.0));
}

#[test]
fn bad_matrices_are_named() {
    let wide = matrix(1, 2, 3);
    let calls: [fn(&Z); 5] =
        [|a| drop(a.cholesky()), |a| drop(a.eigh()), |a| drop(a.eig()), |a| drop(a.schur()), |a| drop(a.inv())];
    for call in calls {
        refused(|| call(&wide), &["f64[2,3]", "the matrix is 2 by 3, and has to be square"]);
    }
    let one = Complex::new(Tensor::from([[1.0, 2.0], [0.0, 2.0]]), Tensor::from([[1.0, 0.0], [2.0, 2.0]]));
    refused(|| one.solve(Tensor::from([1.0, 2.0])), &["`solve`", "the matrix is singular: pivot 1 is 0"]);
    refused(|| eye(2).solve(Tensor::ones(&[3])), &["`solve`", "the matrix has 2 rows, and the right-hand side 3"]);
    refused(|| (eye(3) * -1.0).cholesky(), &["`cholesky`", "leading minor of order 1"]);
    let nan = Complex::new(Tensor::eye(2), Tensor::from([[0.0, f64::NAN], [0.0, 0.0]]));
    let calls: [fn(&Z); 5] =
        [|a| drop(a.lu()), |a| drop(a.qr()), |a| drop(a.svd()), |a| drop(a.eigh()), |a| drop(a.schur())];
    for call in calls {
        refused(|| call(&nan), &["the element [0, 1] of the imaginary part is NaN"]);
    }
    let batch = Complex::from(Tensor::stack([&Tensor::eye(2), &Tensor::zeros(&[2, 2])], 0));
    refused(|| batch.inv(), &["`inv`", "pivot 0 is 0 (matrix [1])"]);
}

/// Single precision is computed in double precision and rounded once.
#[test]
fn single_precision() {
    let a = dominant(3, 4);
    let single = a.each_part(|x| x.to_f32());
    let (x, y) = (a.solve(matrix(1, 4, 1)), single.solve(matrix(1, 4, 1).each_part(|x| x.to_f32())));
    assert_eq!(y.re.dtype(), wengert::DType::F32);
    near(&x, &y.each_part(|x| x.to_f64()), 1e-5);
    let slope = grad(&single, |z| z.svd().1.slice(0));
    near(&slope.each_part(|x| x.to_f64()), &grad(&a, |z| z.svd().1.slice(0)), 1e-5);
}
