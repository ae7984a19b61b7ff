//! Values and derivatives of every function: against differences, forward against backward, to order 3.

use wengert::linalg::{
    Factor, Side, Triangle, TriangularSolve, circulant, lyapunov, lyapunov_discrete, matmul_circulant, matmul_toeplitz,
    multi_dot, riccati, riccati_discrete, solve_circulant, solve_toeplitz, sylvester, toeplitz,
};
use wengert::plan::{Detail, Options, Plan};
use wengert::prelude::*;
use wengert::{Program, to_program};

use super::{dominant, largest, orthogonal, positive};
use crate::nn::support::{check_derivatives, check_single, close, points};

const LOWER: TriangularSolve =
    TriangularSolve { side: Side::Left, triangle: Triangle::Lower, transpose: false, unit: false };

#[test]
fn factors_multiply_to_the_matrix() {
    for (seed, [m, n]) in [[4, 4], [5, 3], [3, 5], [1, 1], [1, 4], [4, 1]].into_iter().enumerate() {
        let a = points(seed as u64 + 1, &[m, n]);
        let (l, u, p) = a.lu();
        close(&l.matmul(&u).to_vec(), &a.take(&p, 0).to_vec(), 16.0);
        assert!(largest(&l) <= 1.0);
        let (q, r) = a.qr();
        close(&q.matmul(&r).to_vec(), &a.to_vec(), 32.0);
        assert!(largest(&(q.t().matmul(&q) - Tensor::eye(m.min(n)))) < 1e-14);
        assert!(r.diagonal(0).to_vec().iter().all(|x| *x >= 0.0));
        let (u, s, vt) = a.svd();
        close(&(&u * &s).matmul(&vt).to_vec(), &a.to_vec(), 32.0);
        assert!(s.to_vec().is_sorted_by(|x, y| x >= y) && u.to_vec()[..m.min(n)].iter().all(|x| *x > 0.0));
    }
    let a = positive(7, 5);
    let (w, v) = a.eigh();
    close(&(&v * &w).matmul(&v.t()).to_vec(), &a.to_vec(), 32.0);
    assert!(w.to_vec().is_sorted() && v.to_vec()[..5].iter().all(|x| *x > 0.0));
    let l = a.cholesky();
    close(&l.matmul(&l.t()).to_vec(), &a.to_vec(), 16.0);
}

#[test]
fn empty_matrices_have_factors() {
    let a = Tensor::zeros(&[0, 0]);
    assert_eq!((a.det().item(), a.slogdet().0.item(), a.slogdet().1.item()), (1.0, 1.0, 0.0));
    assert_eq!(a.solve(&Tensor::zeros(&[0, 2])).shape(), [0, 2]);
    assert_eq!((a.expm().shape(), a.inv().shape(), a.cholesky().shape()), (&[0, 0][..], &[0, 0][..], &[0, 0][..]));
    assert_eq!(Tensor::zeros(&[3, 0]).svd().1.shape(), [0]);
    assert_eq!(Tensor::zeros(&[0, 2, 2]).inv().shape(), [0, 2, 2]);
}

#[test]
fn derivatives_of_factors() {
    check_derivatives(&[positive(1, 3)], |x| x[0].cholesky());
    for shape in [[3, 3], [4, 2], [2, 4]] {
        check_derivatives(&[points(2, &shape)], |x| {
            let (l, u, _) = x[0].lu();
            Tensor::concat(&[&l.flatten(), &u.flatten()], 0)
        });
        check_derivatives(&[points(3, &shape)], |x| {
            let (q, r) = x[0].qr();
            Tensor::concat(&[&q.flatten(), &r.flatten()], 0)
        });
        check_derivatives(&[points(4, &shape)], |x| {
            let (u, s, vt) = x[0].svd();
            Tensor::concat(&[&u.flatten(), &s, &vt.flatten()], 0)
        });
    }
    check_derivatives(&[positive(5, 3)], |x| {
        let (w, v) = x[0].eigh();
        Tensor::concat(&[&w, &v.flatten()], 0)
    });
}

#[test]
fn derivatives_of_systems() {
    let (a, b) = (dominant(1, 3), points(2, &[3, 2]));
    check_derivatives(&[a.clone(), b.clone()], |x| x[0].solve(&x[1]));
    check_derivatives(&[a.clone(), points(3, &[3])], |x| x[0].solve(&x[1]));
    check_derivatives(&[positive(4, 3), b.clone()], |x| x[0].solve_spd(&x[1]));
    check_derivatives(&[a.clone(), b.clone()], |x| x[0].solve_triangular(&x[1], LOWER));
    check_derivatives(&[a.clone(), points(5, &[3])], |x| {
        x[0].solve_triangular(&x[1], TriangularSolve { side: Side::Right, transpose: true, unit: true, ..LOWER })
    });
    check_derivatives(std::slice::from_ref(&a), |x| x[0].inv());
    // One matrix for a batch of right-hand sides, and the other way round.
    check_derivatives(&[a.clone(), points(6, &[2, 3, 1])], |x| x[0].solve(&x[1]));
    let batch = Tensor::stack(&[&a, &dominant(7, 3)], 0);
    check_derivatives(&[batch, points(8, &[3])], |x| x[0].solve(&x[1]));
    check_single(&[a, b], 64.0, |x| x[0].solve(&x[1]));
}

#[test]
fn derivatives_of_least_squares() {
    for shape in [[4, 2], [2, 4], [3, 3]] {
        let (a, b) = (points(1, &shape), points(2, &[shape[0], 2]));
        check_derivatives(&[a.clone(), b.clone()], |x| x[0].lstsq(&x[1]));
        check_derivatives(&[a, b, Tensor::from(0.5)], |x| x[0].lstsq_damped(&x[1], &x[2]));
    }
    // The normal equations and the shortest solution.
    let (a, b) = (points(3, &[5, 2]), points(4, &[5]));
    let rest = a.matmul(&a.lstsq(&b)) - &b;
    assert!(largest(&a.t().matmul(&rest)) < 1e-14);
    let (a, b) = (points(5, &[2, 5]), points(6, &[2]));
    let x = a.lstsq(&b);
    assert!(largest(&(a.matmul(&x) - &b)) < 1e-14);
    let multipliers = a.matmul(&a.t()).solve(&b);
    assert!(largest(&(a.t().matmul(&multipliers) - x)) < 1e-13);
}

#[test]
fn derivatives_of_numbers_of_a_matrix() {
    let a = points(1, &[3, 3]);
    check_derivatives(std::slice::from_ref(&a), |x| x[0].det());
    check_derivatives(std::slice::from_ref(&a), |x| x[0].slogdet().1);
    check_derivatives(&[positive(2, 3)], |x| x[0].logdet_spd());
    check_derivatives(&[points(3, &[3, 2])], |x| x[0].spectral_norm());
    check_derivatives(&[points(3, &[2, 3])], |x| x[0].cond_number());
    check_derivatives(&[points(4, &[2, 3])], |x| x[0].frobenius_norm());
    // No singular values have the sum 0, not -0.
    assert_eq!(wengert::linalg::nuclear_norm(&Tensor::zeros(&[0, 0])).item().to_bits(), 0);
    let (sign, slope) = value_and_grad(&a, |a| a.slogdet().0);
    assert_eq!((sign.item().abs(), largest(&slope)), (1.0, 0.0));
    close(&[a.det().item()], &[sign.item() * a.slogdet().1.exp().item()], 16.0);
    assert_eq!(a.matrix_rank().to_array().to_f64(), [3.0]);
    assert_eq!((points(5, &[4, 2]).matmul(&points(6, &[2, 3]))).matrix_rank().to_array().to_f64(), [2.0]);
}

#[test]
fn determinants_of_singular_matrices_have_cofactors() {
    // Rank 2 of 3: the gradient is that of differences. Rank 1: it is 0, and the Hessian is not.
    let two = points(1, &[3, 2]).matmul(&points(2, &[2, 3]));
    check_derivatives(&[two], |x| x[0].det());
    let one = points(3, &[3, 1]).matmul(&points(4, &[1, 3]));
    check_derivatives(std::slice::from_ref(&one), |x| x[0].det());
    assert!(largest(&grad(&one, |a| a.det())) < 1e-15);
    let bent = hvp(&one, Tensor::eye(3), |a| a.det());
    // det is cubic: along the identity the Hessian is tr(A) I - A^T.
    let wanted = Tensor::eye(3) * one.trace() - one.t();
    assert!(largest(&(bent - wanted)) < 1e-14);
    check_derivatives(&[Tensor::zeros(&[2, 2])], |x| x[0].det());
}

#[test]
fn derivatives_of_functions_and_products() {
    // Each degree of the approximant, and squarings.
    for size in [0.003, 0.05, 0.3, 1.0, 2.0, 12.0] {
        let a = points(1, &[3, 3]);
        let a = &a * (size / largest(&a.abs().sum_over(0)));
        check_derivatives(&[a], |x| x[0].expm() * (-size).exp());
    }
    check_derivatives(&[dominant(2, 3)], |x| x[0].matrix_power(-2));
    check_derivatives(&[points(3, &[3, 3])], |x| x[0].matrix_power(5));
    assert_eq!(points(3, &[2, 2]).matrix_power(0).to_vec(), [1.0, 0.0, 0.0, 1.0]);
    check_derivatives(&[points(4, &[2, 3]), points(5, &[2, 2])], |x| x[0].kron(&x[1]));
    check_derivatives(&[points(4, &[2]), points(5, &[2, 3]), points(6, &[3, 2])], |x| {
        multi_dot(&[&x[0], &x[1], &x[2]])
    });
    check_derivatives(&[points(7, &[3]), points(8, &[2])], |x| toeplitz(&x[0], &x[1]));
    check_derivatives(&[points(7, &[3])], |x| circulant(&x[0]));
}

#[test]
fn structured_systems_are_those_of_the_full_matrix() {
    for n in [1, 2, 3, 4, 7, 8, 30] {
        let (c, r) = (points(n as u64, &[n]), points(40 + n as u64, &[n]));
        for own in [vec![n], vec![n, 2], vec![2, n, 3]] {
            let b = points(80 + n as u64, &own);
            let apart = &c + Tensor::from_vec(&[n], (0..n).map(|k| if k == 0 { n as f64 } else { 0.0 }).collect());
            close(&solve_circulant(&apart, &b).to_vec(), &circulant(&apart).solve(&b).to_vec(), 256.0);
            close(&matmul_circulant(&c, &b).to_vec(), &circulant(&c).matmul(&b).to_vec(), 256.0);
            close(&solve_toeplitz(&apart, &r, &b).to_vec(), &toeplitz(&apart, &r).solve(&b).to_vec(), 0.0);
            for m in [1, n, n + 3] {
                let c = points(9, &[m]);
                close(&matmul_toeplitz(&c, &r, &b).to_vec(), &toeplitz(&c, &r).matmul(&b).to_vec(), 256.0);
            }
        }
    }
    // Rows of the first half are 0: no leading minor but the last two is not 0.
    let (c, r) = (Tensor::from([0.0, 0.0, 3.0]), Tensor::from([0.0, 2.0, 0.0]));
    let b = points(3, &[3]);
    close(&toeplitz(&c, &r).matmul(&solve_toeplitz(&c, &r, &b)).to_vec(), &b.to_vec(), 8.0);
    // Far from 1 nothing overflows or vanishes.
    for size in [1e-200, 1e200] {
        let c = Tensor::from([3.0, 1.0, 0.5]) * size;
        close(&matmul_circulant(&c, &solve_circulant(&c, &b)).to_vec(), &b.to_vec(), 32.0);
    }
    assert_eq!(matmul_toeplitz(&Tensor::zeros(&[0]), &r, &b).shape(), [0]);
    let none = Tensor::zeros(&[0, 2]);
    assert_eq!(solve_circulant(&Tensor::zeros(&[0]), &none).shape(), [0, 2]);
    assert_eq!(matmul_circulant(&Tensor::zeros(&[0]), &none).shape(), [0, 2]);
    let single = solve_circulant(&Tensor::from([3.0f32, 1.0, 0.0]), &Tensor::from([4.0f32, 4.0, 4.0]))
        .convert(wengert::DType::F64);
    assert!(largest(&(single - 1.0)) < 1e-6);
    let c = Tensor::from([4.0, 1.0, -0.5, 0.3]);
    for own in [vec![4], vec![4, 2]] {
        let x = [c.clone(), points(2, &[4]), points(3, &own)];
        check_derivatives(&x, |x| solve_circulant(&x[0], &x[2]));
        check_derivatives(&x, |x| matmul_circulant(&x[0], &x[2]));
        check_derivatives(&x, |x| solve_toeplitz(&x[0], &x[1], &x[2]));
        check_derivatives(&x, |x| matmul_toeplitz(&x[0].slice(0..3), &x[1], &x[2]));
    }
    let batch = points(5, &[3, 4]);
    let mapped = vmap(&batch, |b| solve_circulant(&c, &b));
    for k in 0..3 {
        close(&mapped.slice(k as isize).to_vec(), &solve_circulant(&c, &batch.slice(k as isize)).to_vec(), 4.0);
    }
}

#[test]
fn exponentials_are_right_at_every_norm() {
    for angle in [1e-9, 1e-3, 0.1, 0.5, 1.5, 3.0, 10.0, 100.0, 1000.0] {
        let turn = Tensor::from([[0.0, -angle], [angle, 0.0]]).expm().to_vec();
        // Squaring loses a digit with every power of ten of the norm.
        let tolerance = 8.0 * f64::EPSILON * (1.0 + angle);
        assert!((turn[0] - angle.cos()).abs() < tolerance && (turn[2] - angle.sin()).abs() < tolerance, "{angle}");
    }
    let nilpotent = Tensor::from([[0.0, 1.0, 2.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]);
    close(&nilpotent.expm().to_vec(), &[1.0, 1.0, 3.5, 0.0, 1.0, 3.0, 0.0, 0.0, 1.0], 4.0);
}

#[test]
fn factors_of_a_changed_matrix() {
    let (a, v) = (positive(1, 4), points(2, &[4]));
    let l = a.cholesky();
    close(&l.cholesky_update(&v).to_vec(), &(&a + v.outer(&v)).cholesky().to_vec(), 32.0);
    let back = l.cholesky_update(&v).cholesky_downdate(&v);
    close(&back.to_vec(), &l.to_vec(), 64.0);
    check_derivatives(&[l.clone(), v.clone()], |x| x[0].tril(0).cholesky_update(&x[1]));
    check_derivatives(&[l.clone(), &v * 0.3], |x| x[0].tril(0).cholesky_downdate(&x[1]));
    // By several columns, none among them.
    for k in [0, 1, 3] {
        let v = points(4, &[4, k]) * 0.3;
        let (more, less) = (&a + v.matmul(&v.t()), &a - v.matmul(&v.t()));
        close(&l.cholesky_update(&v).to_vec(), &more.cholesky().to_vec(), 64.0);
        close(&l.cholesky_downdate(&v).to_vec(), &less.cholesky().to_vec(), 64.0);
        let b = points(5, &[4, 2]);
        let factor = Factor::cholesky(&a);
        close(&factor.update(&v).solve(&b).to_vec(), &more.solve(&b).to_vec(), 128.0);
        close(&factor.downdate(&v).solve(&b).to_vec(), &less.solve(&b).to_vec(), 128.0);
        close(&factor.downdate(&v).matrix().to_vec(), &less.to_vec(), 4.0);
        if k > 0 {
            check_derivatives(&[l.clone(), v.clone()], |x| x[0].tril(0).cholesky_update(&x[1]));
            check_derivatives(&[l.clone(), v.clone()], |x| x[0].tril(0).cholesky_downdate(&x[1]));
            check_derivatives(&[a.clone(), v, b], |x| Factor::cholesky(&x[0]).update(&x[1]).solve(&x[2]));
        }
    }
    let why = l.try_cholesky_downdate(&(&v * 10.0));
    assert!(why.is_err_and(|why| why.to_string().contains("the result is not positive definite")));
}

#[test]
fn plans_say_what_stays_on_one_thread() {
    let told = |n: usize, equation: &str| {
        let text =
            format!("program(v0: f64[{n},{n}]) {{ {equation} v0; return v1 }}").replace("VEC", &format!("f64[{n}]"));
        let program: Program = text.replace("MAT", &format!("f64[{n},{n}]")).parse().expect("it is a program");
        Plan::new(&program, &Options::default()).expect("it has a plan").explain(Detail::Steps)
    };
    let (eigh, eig) = ("v1: VEC, v2: MAT = eigh", "v1: VEC, v2: VEC, v3: MAT, v4: MAT = eig");
    assert!(told(9, eigh).contains("each matrix on one thread"), "{}", told(9, eigh));
    assert!(told(64, eigh).contains("brought to tridiagonal form on one thread"), "{}", told(64, eigh));
    assert!(told(9, eig).contains("on one thread"), "{}", told(9, eig));
    assert!(!told(8, eigh).contains("on one thread"));
    assert!(!told(9, "v1: MAT = cholesky").contains("on one thread"));
}

#[test]
fn a_matrix_is_factored_once() {
    let (a, b) = (dominant(1, 3), points(2, &[3]));
    let twice = |a: &Tensor, b: &Tensor| {
        let factor = Factor::lu(a);
        factor.solve(&factor.solve(b)).sum()
    };
    check_derivatives(&[a.clone(), b.clone()], |x| twice(&x[0], &x[1]));
    check_derivatives(&[positive(3, 3), b.clone()], |x| Factor::cholesky(&x[0]).solve(&x[1]));
    check_derivatives(&[points(4, &[4, 3]), points(5, &[4])], |x| Factor::qr(&x[0]).solve(&x[1]));
    let (program, _) = to_program((&a, &b), |(a, b)| twice(&a, &b));
    let gradient = program.vjp(&[true, true]).expect("it has one").written_out().optimize();
    let count = gradient.eqns().iter().filter(|eqn| eqn.op.name() == "lu").count();
    assert_eq!(count, 1, "{gradient}");
    // Of numbers, the factors are kept.
    let factor = Factor::lu(&a);
    close(&a.matmul(&factor.solve(&b)).to_vec(), &b.to_vec(), 16.0);
    let slope = grad(&b, |b| factor.solve(&b).sum());
    close(&slope.to_vec(), &a.t().solve(&Tensor::ones(&[3])).to_vec(), 16.0);
}

/// A vector stands for every matrix of a batch, also where the batch is as long as it.
#[test]
fn factors_of_a_batch_solve_for_a_vector() {
    for (count, n) in [(2, 2), (3, 3), (3, 2), (1, 4)] {
        let square = (0..count).map(|k| positive(7 + k as u64, n)).collect::<Vec<Tensor>>();
        let tall = (0..count).map(|k| points(9 + k as u64, &[n + 1, n])).collect::<Vec<Tensor>>();
        let (a, tall) = (Tensor::stack(&square, 0), Tensor::stack(&tall, 0));
        let (b, longer) = (points(5, &[n]), points(6, &[n + 1]));
        for (factor, a, b) in [
            (Factor::lu(&a), &a, &b),
            (Factor::cholesky(&a), &a, &b),
            (Factor::qr(&a), &a, &b),
            (Factor::qr(&tall), &tall, &longer),
        ] {
            let matrix = factor.matrix().clone();
            let wanted: Vec<f64> = (0..count).flat_map(|k| Factor::qr(&matrix.slice(k)).solve(b).to_vec()).collect();
            let solved = factor.solve(b);
            assert_eq!(solved.shape(), [count, n], "{}", a.ty());
            close(&solved.to_vec(), &wanted, 512.0);
            let slope = grad(b, |b| factor.solve(&b).square().sum());
            let each = grad(b, |b| {
                (0..count)
                    .map(|k| Factor::qr(&matrix.slice(k)).solve(&b).square().sum())
                    .reduce(|x, y| x + y)
                    .expect("some")
            });
            close(&slope.to_vec(), &each.to_vec(), 2048.0);
        }
        check_derivatives(&[a, b], |x| Factor::cholesky(&x[0]).solve(&x[1]));
        check_derivatives(&[tall, longer], |x| Factor::qr(&x[0]).solve(&x[1]));
    }
}

#[test]
fn general_spectra_of_any_size_are_found() {
    for size in [1e-300, 1e-160, 1e200, 1e300] {
        let near = points(3, &[4, 4]);
        let far = &near * size;
        let scaled = |x: &Tensor| x.to_vec().iter().map(|x| x / size).collect::<Vec<f64>>();
        let ([re, im, ..], [far_re, far_im, ..]) = (near.eig(), far.eig());
        close(&scaled(&far_re), &re.to_vec(), 64.0);
        close(&scaled(&far_im), &im.to_vec(), 64.0);
        close(&scaled(&far.schur().0), &near.schur().0.to_vec(), 64.0);
    }
}

#[test]
fn value_and_derivative_of_an_exponential_share_their_powers() {
    let a = points(1, &[3, 3]);
    let (value, _) = to_program(&a, |a| a.expm());
    let work = |program: &Program| {
        let text = program.written_out().optimize().to_string();
        // Five degrees, of which each has a branch.
        [text.matches("= lu ").count(), text.matches("= einsum").count()]
    };
    let [factors, products] = work(&value);
    assert_eq!(factors, 5, "one for each degree");
    for both in [value.jvp(&[true]), value.vjp(&[true])] {
        let both = both.expect("it has one");
        let [of_both, all] = work(&both);
        assert_eq!(of_both, factors, "{}", both.written_out().optimize());
        // Two for each of the value, one for the system of each degree, and the squares on the way of the derivative.
        let most = products + 2 * products + 5 + 1;
        assert!(all <= most, "{all} products, of which the value has {products}");
    }
}

#[test]
fn ill_conditioned_systems_have_small_backward_errors() {
    let n = 6;
    let spread = Tensor::from((0..n).map(|k| 10f64.powi(-2 * k)).collect::<Vec<f64>>());
    let a = (orthogonal(1, n as usize) * &spread).matmul(&orthogonal(2, n as usize));
    let b = points(3, &[n as usize]);
    let rest = |a: &Tensor, x: &Tensor, b: &Tensor| largest(&(a.matmul(x) - b)) / (largest(a) * largest(x));
    assert!(a.cond_number().item() > 1e9);
    let x = a.solve(&b);
    assert!(rest(&a, &x, &b) < 100.0 * f64::EPSILON);
    // The gradient by the right-hand side is a system too.
    let y = grad(&b, |right| a.solve(&right).dot(&b));
    assert!(rest(&a.t(), &y, &b) < 100.0 * f64::EPSILON);
    let normal = a.matmul(&a.t());
    let _ = normal.try_solve_spd(&b).map(|x| assert!(rest(&normal, &x, &b) < 100.0 * f64::EPSILON));
}

/// Eigenvectors do not depend on the size of a matrix, and their derivatives are over it.
#[test]
fn derivatives_of_eigenvectors_of_any_size() {
    let a = Tensor::from([[3.0, 1.0, 0.5], [0.4, 2.0, -2.0], [-0.3, 2.5, 1.0]]);
    let seen = |a: &Tensor| {
        let [re, im, v, u] = a.eig();
        let of_vectors = (&v * points(1, &[3, 3]) + &u * points(2, &[3, 3])).sum();
        let sizes = grad(a, |a| {
            let [re, im, ..] = a.eig();
            (re * points(3, &[3]) + im * points(4, &[3])).sum()
        });
        let slope = grad(a, |a| {
            let [.., v, u] = a.eig();
            (v * points(1, &[3, 3]) + u * points(2, &[3, 3])).sum()
        });
        (of_vectors.item(), slope, sizes, [re, im])
    };
    let (value, slope, sizes, _) = seen(&a);
    for scale in [1e-290, 1e-200, 1e-155, 1e-20, 1e20, 1e155, 1e200, 1e290] {
        let (own_value, own_slope, own_sizes, _) = seen(&(&a * scale));
        assert!((own_value - value).abs() < 1e-13, "{scale}");
        assert!(largest(&(own_slope * scale - &slope)) < 1e-12, "{scale}");
        assert!(largest(&(own_sizes - &sizes)) < 1e-12, "{scale}");
    }
    let single = grad(&(&a * 1e-20).to_f32(), |a| {
        let [.., v, u] = a.eig();
        (v * points(1, &[3, 3]).to_f32() + u * points(2, &[3, 3]).to_f32()).sum()
    });
    assert!(largest(&(single.to_f64() * 1e-20 - &slope)) < 1e-4);
}

/// Near multiples of the identity, where products of entries have no digit of what they differ by.
#[test]
fn equations_near_multiples_of_the_identity() {
    for (seed, n, power) in
        (1..7).flat_map(|seed| [3, 5, 8].into_iter().flat_map(move |n| [7, 9, 11, 13].map(|power| (seed, n, power))))
    {
        let a = Tensor::eye(n) + points(seed, &[n, n]) * 10f64.powi(-power);
        let [re, im, ..] = a.eig();
        assert!(largest(&(re - 1.0)) < 10f64.powi(1 - power) && largest(&im) < 10f64.powi(1 - power));
        let right = points(seed + 20, &[n, n]);
        let x = wengert::linalg::sylvester(&a, &a, &right);
        assert!(largest(&(x - &right * 0.5)) < 10f64.powi(2 - power), "seed {seed}, order {n}, 1e-{power}");
        let eye = Tensor::eye(n);
        let x = wengert::linalg::riccati(&a, &eye, &eye, &eye);
        assert!(
            largest(&(x - &eye * (1.0 + 2f64.sqrt()))) < 10f64.powi(2 - power),
            "seed {seed}, order {n}, 1e-{power}"
        );
    }
}

/// The third derivative along a line against differences of the second.
fn check_third(f: impl Fn(&Tensor) -> Tensor, a: &Tensor, direction: &Tensor) {
    let loss = |t: &Tensor| {
        let y = f(&(a + direction * t));
        (&y * points(5, y.shape())).sum()
    };
    let one = Tensor::from(1.0);
    let first = |t: &Tensor| jvp(t, &one, |t| loss(&t)).1;
    let second = |t: &Tensor| jvp(t, &one, |t| first(&t)).1;
    let third = grad(Tensor::from(0.0), |t| second(&t)).item();
    let at = |t: f64| second(&Tensor::from(t)).item();
    let central = |h: f64| (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
    let (wide, narrow) = (central(1e-2), central(5e-3));
    let allowed = (wide - narrow).abs() + 1e-9 * (1.0 + narrow.abs());
    assert!((third - narrow).abs() <= allowed, "third order {third}, differences {narrow} up to {allowed}");
    assert!(allowed < 1e-3 * (1.0 + narrow.abs()), "differences that show nothing: {allowed}");
}

#[test]
fn third_derivatives_agree_with_differences() {
    let (a, v) = (positive(1, 3), points(2, &[3, 3]) * 0.3);
    check_third(|a| a.cholesky(), &a, &v);
    check_third(|a| a.eigh().1, &a, &v);
    check_third(|a| a.eigvalsh(), &a, &v);
    check_third(|a| a.svd().0, &a, &v);
    check_third(|a| a.qr().0, &a, &v);
    check_third(|a| a.lu().1, &a, &v);
    check_third(|a| a.inv(), &a, &v);
    check_third(|a| a.det(), &a, &v);
    // By its singular values.
    check_third(|a| a.det(), &(&a * Tensor::from([[1.0], [0.1], [1e-5]])), &v);
    check_third(|a| a.expm(), &a, &v);
}

#[test]
fn derivatives_of_matrix_equations() {
    let (a, b) = (dominant(1, 3), dominant(2, 2));
    let (c, q) = (points(3, &[3, 2]), points(4, &[3, 3]));
    let x = sylvester(&a, &b, &c);
    assert!(largest(&(a.matmul(&x) + x.matmul(&b) - &c)) < 1e-14);
    check_derivatives(&[a.clone(), b, c], |x| sylvester(&x[0], &x[1], &x[2]));
    check_derivatives(&[a.clone(), q.clone()], |x| lyapunov(&x[0], &x[1]));
    check_derivatives(&[points(5, &[3, 3]) * 0.3, q], |x| lyapunov_discrete(&x[0], &x[1]));
    let (a, b) = (points(6, &[3, 3]), points(7, &[3, 2]));
    let (q, r) = (positive(8, 3), positive(9, 2));
    let x = riccati(&a, &b, &q, &r);
    let half = x.matmul(&a);
    let rest = &half + half.t() - x.matmul(&b).matmul(&r.solve(&b.t().matmul(&x))) + &q;
    assert!(largest(&rest) < 1e-13);
    let x = riccati_discrete(&a, &b, &q, &r);
    let seen = b.t().matmul(&x).matmul(&a);
    let gain = (&r + b.t().matmul(&x).matmul(&b)).solve(&seen);
    let rest = a.t().matmul(&x).matmul(&a) - seen.t().matmul(&gain) + &q - &x;
    assert!(largest(&rest) < 1e-13);
    let all = [a, b, q, r];
    check_derivatives(&all, |x| riccati(&x[0], &x[1], &x[2], &x[3]));
    check_derivatives(&all, |x| riccati_discrete(&x[0], &x[1], &x[2], &x[3]));
}

#[test]
fn derivatives_of_general_eigenvalues() {
    for seed in [1, 2, 5] {
        let a = points(seed, &[4, 4]);
        let [re, im, v, u] = a.eig();
        let rest = a.matmul(&v) - (&v * &re - &u * &im);
        assert!(largest(&rest) < 1e-14 && largest(&((v.square() + u.square()).sum_over(0) - 1.0)) < 1e-14);
        check_derivatives(&[a], |x| {
            let [re, im, v, u] = x[0].eig();
            Tensor::concat(&[&re, &im, &v.flatten(), &u.flatten()], 0)
        });
    }
}

/// That T and Q are the Schur form of a matrix, in its order and with the bases that are chosen.
#[track_caller]
fn is_schur_form(a: &Tensor, t: &Tensor, q: &Tensor) {
    let n = a.shape()[0];
    let size = 1.0 + largest(a);
    assert!(largest(&(q.matmul(t).matmul(&q.t()) - a)) < 1e-13 * size * (1.0 + n as f64));
    assert!(largest(&(q.t().matmul(q) - Tensor::eye(n))) < 1e-13);
    let below = |k: usize| t.slice((k, k - 1)).item();
    assert_eq!(largest(&t.tril(-2)), 0.0, "{t}");
    let mut values = Vec::new();
    let mut k = 0;
    while k < n {
        let pair = k + 1 < n && below(k + 1) != 0.0;
        let first = q.slice((.., k)).to_vec().into_iter().position(|x| x.abs() > 1e-9).expect("a unit vector");
        assert!(q.slice((first, k)).item() > 0.0);
        let mut value = t.slice((k, k)).item();
        if pair {
            assert!(k + 2 >= n || below(k + 2) == 0.0, "blocks of two rows: {t}");
            assert!(t.slice((k, k + 1)).item() > 0.0 && q.slice((first, k + 1)).item() == 0.0);
            value = 0.5 * (value + t.slice((k + 1, k + 1)).item());
            let half = 0.5 * (t.slice((k, k)).item() - t.slice((k + 1, k + 1)).item());
            assert!(half * half + t.slice((k, k + 1)).item() * below(k + 1) < 0.0, "a pair: {t}");
        }
        values.push(value);
        k += if pair { 2 } else { 1 };
    }
    assert!(values.windows(2).all(|two| two[0] < two[1] + 1e-9 * size), "{values:?}");
}

#[test]
fn schur_forms_are_those_of_the_matrix() {
    for n in [1, 2, 3, 4, 6, 9, 17] {
        for seed in 0..4 {
            let a = points(seed + 10 * n as u64, &[n, n]) * 3.0;
            let (t, q) = a.schur();
            is_schur_form(&a, &t, &q);
            // Eigenvalues on the diagonal: those of `eig`, in the order of its real parts.
            let [re, ..] = a.eig();
            assert!((t.diagonal(0).sum() - re.sum()).abs().item() < 1e-12 * n as f64);
        }
    }
    // Rotations, repeated values, a defective matrix, symmetric ones, zeros.
    let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]);
    let cyclic = Tensor::from([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    let defective = Tensor::from([[2.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 2.0]]);
    for a in [turn, cyclic, defective, positive(3, 5), orthogonal(4, 4), Tensor::zeros(&[3, 3]), Tensor::eye(4)] {
        let (t, q) = a.schur();
        is_schur_form(&a, &t, &q);
    }
    // A form that is already one stays as it is, and comes back from any similar matrix with the same basis.
    let t = Tensor::from([[-2.0, 1.0, 3.0, 0.5], [0.0, 1.0, 2.0, -1.0], [0.0, -3.0, 1.5, 0.25], [0.0, 0.0, 0.0, 4.0]]);
    let (own, basis) = t.schur();
    close(&own.to_vec(), &t.to_vec(), 64.0);
    close(&basis.to_vec(), &Tensor::eye(4).to_vec(), 64.0);
    let (first, _) = Tensor::zeros(&[0, 0]).schur();
    assert_eq!(first.shape(), [0, 0]);
    let many = points(3, &[2, 3, 4, 4]);
    let (t, q) = many.schur();
    let (one, basis) = many.slice((1, 2)).schur();
    assert_eq!((t.slice((1, 2)).to_vec(), q.slice((1, 2)).to_vec()), (one.to_vec(), basis.to_vec()));
}

#[test]
fn derivatives_of_schur_forms() {
    let both = |a: &Tensor| {
        let (t, q) = a.schur();
        Tensor::concat(&[&t.flatten(), &q.flatten()], 0)
    };
    for (seed, n) in [(1, 1), (1, 2), (2, 2), (3, 3), (4, 3), (1, 4), (2, 4), (5, 4), (6, 5), (8, 6)] {
        check_derivatives(&[points(seed, &[n, n])], |x| both(&x[0]));
    }
    check_derivatives(&[points(7, &[2, 3, 3])], |x| both(&x[0]));
    // A rotation, seen from elsewhere: its block is normal, and the basis of the pair is chosen all the same.
    let (turn, basis) = (Tensor::from([[0.1, -1.0, 0.0], [1.0, 0.1, 0.0], [0.0, 0.0, 2.0]]), orthogonal(4, 3));
    check_derivatives(&[basis.matmul(&turn).matmul(&basis.t())], |x| both(&x[0]));
    check_third(|a| a.schur().0, &points(2, &[3, 3]), &(points(3, &[3, 3]) * 0.3));
    check_third(|a| a.schur().1, &points(4, &[3, 3]), &(points(3, &[3, 3]) * 0.3));
    // The projector on the two values that are smallest: what any basis of their space gives.
    let a = points(11, &[4, 4]);
    let by_schur = |a: &Tensor| {
        let q = a.schur().1.slice((.., 0..2));
        (q.matmul(&q.t()) * points(5, &[4, 4])).sum()
    };
    let symmetric = |a: &Tensor| (a + a.t()) * 0.5;
    let by_vectors = |a: &Tensor| {
        let v = a.eigh().1.slice((.., 0..2));
        (v.matmul(&v.t()) * points(5, &[4, 4])).sum()
    };
    let (one, other) = (grad(&a, |a| by_schur(&symmetric(&a))), grad(&a, |a| by_vectors(&symmetric(&a))));
    assert!(largest(&(one - other)) < 1e-11);
}
