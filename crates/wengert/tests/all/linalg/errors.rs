//! Bad input: every error names the operation, what does not fit, the matrix of the batch, and the line.

use wengert::linalg::{
    Factor, Side, Triangle, TriangularSolve, try_circulant, try_lyapunov_discrete, try_matmul_circulant,
    try_matmul_toeplitz, try_multi_dot, try_riccati, try_solve_circulant, try_solve_toeplitz, try_sylvester,
    try_toeplitz,
};
use wengert::prelude::*;
use wengert::{Compile, Error, Grad};

use crate::nn::support::close;

#[track_caller]
fn refused<T>(result: Result<T, Error>, words: &[&str]) {
    let Err(why) = result else { panic!("it has to be refused because {words:?}") };
    let why = why.to_string();
    for word in words.iter().chain(&["errors.rs:"]) {
        assert!(why.contains(word), "`{word}` is not in: {why}");
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let (wide, square) = (Tensor::zeros(&[2, 3]), Tensor::eye(3));
    for result in [wide.try_cholesky(), wide.try_det(), wide.try_inv(), wide.try_expm(), wide.try_matrix_power(2)] {
        refused(result, &["of f64[2,3]", "the matrix is 2 by 3, and has to be square"]);
    }
    refused(wide.try_eigh(), &["`eigh` of f64[2,3]", "has to be square"]);
    refused(wide.try_schur(), &["`schur` of f64[2,3]", "has to be square"]);
    refused(Tensor::zeros(&[3]).try_svd(), &["`svd` of f64[3]", "at least two axes are needed"]);
    refused(square.to_i64().try_qr(), &["`qr` of i64[3,3]", "real numbers"]);
    refused(square.try_solve(&Tensor::zeros(&[2])), &["`solve`", "has 3 rows, and the right-hand side 2"]);
    refused(square.try_solve(&Tensor::from(1.0)), &["is a single number"]);
    refused(square.try_solve(&Tensor::zeros(&[3]).to_f32()), &["the element types differ"]);
    let batch = Tensor::zeros(&[2, 3, 3]);
    refused(batch.try_solve(&Tensor::zeros(&[4, 3, 1])), &["do not broadcast"]);
    refused(wide.try_spectral_norm().and(Tensor::zeros(&[0, 2]).try_spectral_norm()), &["has no singular values"]);
    refused(square.try_lstsq_damped(&Tensor::zeros(&[3]), &Tensor::zeros(&[2])), &["the damping is f64[2]"]);
    refused(square.try_cholesky_update(&Tensor::zeros(&[2])), &["the vector is f64[2]"]);
    refused(try_multi_dot(&[]), &["takes 1 to 50 matrices"]);
    refused(try_multi_dot(&[&square, &Tensor::zeros(&[3]), &square]), &["operand 1 has 1 axes"]);
    refused(try_toeplitz(&Tensor::zeros(&[2]), &Tensor::zeros(&[0])), &["the row is empty"]);
    refused(try_circulant(&square), &["it takes vectors"]);
    let (two, three) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0, 2.0, 4.0]));
    refused(try_solve_circulant(&two, &three), &["`solve_circulant` of f64[2] and f64[3]", "has 2 columns"]);
    refused(try_matmul_circulant(&two, &two.to_f32()), &["`matmul_circulant`", "the element types differ"]);
    refused(try_matmul_toeplitz(&two, &three, &two), &["`matmul_toeplitz`", "has 3 columns"]);
    refused(
        try_solve_toeplitz(&two, &three, &two),
        &["`solve_toeplitz`", "the matrix is 2 by 3, and has to be square"],
    );
    refused(try_solve_toeplitz(&Tensor::ones(&[2]), &Tensor::ones(&[2]), &two), &["singular: pivot 1 is 0"]);
    // A constant is in the null space of the second differences.
    let differences = Tensor::from([2.0, -1.0, 0.0, 0.0, -1.0]);
    let why = ["`solve_circulant`", "the matrix is singular but for rounding", "of its eigenvalues go from"];
    refused(try_solve_circulant(&differences, &Tensor::ones(&[5])), &why);
    refused(try_solve_circulant(&Tensor::zeros(&[3]), &three), &why);
    let factor = Factor::cholesky(&Tensor::eye(2));
    let tall = Tensor::stack(&[&two, &(&two * 0.1)], 1);
    refused(factor.try_downdate(&tall), &["`Factor::downdate`", "the result is not positive definite"]);
    refused(factor.try_update(&three), &["the vector is f64[3]"]);
    refused(Factor::lu(&square).try_update(&three), &["`Factor::update`", "it takes a Cholesky factor"]);
}

#[test]
fn values_that_do_not_fit() {
    let bad = Tensor::from([[1.0, 2.0], [2.0, 1.0]]);
    let batch = Tensor::stack(&[&Tensor::eye(2), &bad], 0);
    refused(batch.try_cholesky(), &["`cholesky`", "its leading minor of order 2 is not positive (matrix [1])"]);
    refused(batch.try_solve_spd(&Tensor::ones(&[2])), &["`solve_spd`", "not positive definite", "(matrix [1])"]);
    let singular = Tensor::stack(&[&bad, &Tensor::ones(&[2, 2])], 0);
    refused(singular.try_solve(&Tensor::ones(&[2])), &["`solve`", "the matrix is singular: pivot 1 is 0 (matrix [1])"]);
    refused(singular.try_inv(), &["`inv`", "singular"]);
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    let zero = Tensor::from([[1.0, 0.0], [1.0, 0.0]]);
    refused(zero.try_solve_triangular(&Tensor::ones(&[2]), lower), &["pivot 1 is 0"]);
    refused(Tensor::ones(&[3, 2]).try_lstsq(&Tensor::ones(&[3])), &["`lstsq`", "the rank is missing"]);
    let nan = Tensor::from([[1.0, 0.0], [f64::NAN, 1.0]]);
    let why = ["the element [1, 0] is NaN"];
    refused(nan.try_cholesky(), &why);
    refused(nan.try_eigh(), &why);
    refused(nan.try_svd(), &why);
    refused(nan.try_schur(), &["`schur` of f64[2,2]", "the element [1, 0] is NaN"]);
    refused(nan.try_lu(), &why);
    refused(nan.try_qr(), &why);
    refused(nan.try_det(), &why);
    refused(nan.try_expm(), &["`expm` of f64[2,2]", "the element [1, 0] is NaN"]);
    refused((nan * f64::INFINITY).try_expm(), &["`expm`", "the element [0, 0] is inf"]);
    // Behind the first entries that are looked at together.
    let far = Tensor::from((0..1600).map(|k| if k == 31 * 40 + 7 { f64::NAN } else { 0.0 }).collect::<Vec<f64>>());
    let far = far.reshape(&[40, 40]);
    refused(far.try_expm(), &["`expm` of f64[40,40]", "the element [31, 7] is NaN"]);
    let batch = Tensor::stack(&[&Tensor::eye(2), &Tensor::from([[1.0, f64::NEG_INFINITY], [0.0, 1.0]])], 0);
    refused(batch.to_f32().try_expm(), &["`expm` of f32[2,2,2]", "the element [0, 1] is -inf (matrix [1])"]);
    let slope = Compile::new().function(|a: Tensor| grad(&a, |a| a.expm().sum()));
    refused(slope.try_call(&batch).map(drop), &["`expm`", "the element [0, 1] is -inf (matrix [1])"]);
}

#[test]
fn right_hand_sides_that_are_not_finite() {
    let a = Tensor::from([[4.0, 1.0], [1.0, 3.0]]);
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    for bad in [f64::NAN, f64::INFINITY] {
        // Systems are solved without loops that end when numbers are small: what is not finite stays in its column.
        let b = Tensor::from([[1.0, 2.0, 1.0], [1.0, bad, 2.0]]);
        let good = Tensor::from([[1.0, 1.0], [1.0, 2.0]]);
        let solutions: [&dyn Fn(&Tensor) -> Tensor; 6] = [
            &|b| a.solve(b),
            &|b| a.solve_spd(b),
            &|b| a.solve_triangular(b, lower),
            &|b| a.lstsq(b),
            &|b| a.lstsq_damped(b, &Tensor::from(0.1)),
            &|b| Factor::qr(&a).solve(b),
        ];
        for (k, solve) in solutions.iter().enumerate() {
            let x = solve(&b);
            assert!(!x.slice((1, 1)).item().is_finite(), "{k}: {x}");
            let others = Tensor::stack(&[&x.slice((.., 0)), &x.slice((.., 2))], 1);
            close(&others.to_vec(), &solve(&good).to_vec(), 8.0);
        }
        // The equations of matrices go by Schur forms, and ask for finite numbers everywhere.
        let (eye, b) = (Tensor::eye(2), Tensor::from([[1.0, 0.0], [bad, 1.0]]));
        let entry = format!("the element [1, 0] of the right-hand side is {bad}");
        refused(try_sylvester(&a, &eye, &b), &["`sylvester`", &entry]);
        refused(try_lyapunov_discrete(&a, &b), &["`lyapunov_discrete`", &entry]);
        refused(try_sylvester(&a, &b, &eye), &["`sylvester`", &format!("the element [1, 0] of B is {bad}")]);
        refused(try_riccati(&a, &eye, &b, &eye), &["`riccati`", &format!("the element [1, 0] of Q is {bad}")]);
        refused(try_riccati(&a, &eye, &eye, &b), &["`riccati`", &format!("the element [1, 0] is {bad}")]);
    }
}

#[test]
fn a_logarithm_of_a_determinant_that_is_zero() {
    let singular = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    let batch = Tensor::stack(&[&Tensor::eye(2), &singular], 0);
    assert_eq!(singular.slogdet().1.item(), f64::NEG_INFINITY);
    assert_eq!(batch.slogdet().1.to_vec(), [0.0, f64::NEG_INFINITY]);
    // There is no derivative, and none that looks like one; the sign is flat.
    assert!(grad(&singular, |a| a.slogdet().1).to_vec().iter().any(|x| !x.is_finite()));
    assert_eq!(grad(&singular, |a| a.slogdet().0).to_vec(), [0.0; 4]);
}

#[test]
fn memory_that_is_not_allowed() {
    let f = Compile::new().memory(100).function(|a: Tensor| a.inv());
    let a = Tensor::eye(20);
    refused(f.try_call(&a), &["`plan` at ", "100 are allowed"]);
    refused(f.plan(&a).map(drop), &["`plan` at ", "100 are allowed"]);
    let why = Grad::of(|a: Tensor| a.inv().sum()).memory(100).at(&a).unwrap_err();
    assert!(why.to_string().contains("linalg/errors.rs:"), "{why}");
    let why = Grad::of(|x: Vec<Var>| x[0] * x[1]).memory(1).at(vec![1.0, 2.0]).unwrap_err();
    assert!(why.to_string().contains("linalg/errors.rs:"), "{why}");
}

#[test]
fn compiled_functions_tell_the_line() {
    let bad = Tensor::from([[1.0, 2.0], [2.0, 1.0]]);
    let why = Compile::new().function(|a: Tensor| a.cholesky().sum()).try_call(&bad).map(drop);
    refused(why, &["`cholesky` of f64[2,2]", "leading minor of order 2"]);
}

#[test]
fn equations_without_a_solution() {
    let (eye, zero) = (Tensor::eye(2), Tensor::zeros(&[2, 2]));
    refused(try_sylvester(&eye, &-&eye, &eye), &["`sylvester`", "an eigenvalue of A and one of -B are the same"]);
    refused(try_lyapunov_discrete(&eye, &eye), &["`lyapunov_discrete`", "an eigenvalue of A times one of B is 1"]);
    refused(try_riccati(&eye, &zero, &eye, &eye), &["`riccati`", "no solution that makes the closed loop stable"]);
    refused(try_riccati(&eye, &eye, &eye, &-&eye), &["`riccati`", "not positive definite"]);
    refused(try_riccati(&eye, &Tensor::zeros(&[3, 1]), &eye, &eye), &["A is 2 by 2, and B has 3 rows"]);
    refused(try_sylvester(&eye, &eye, &Tensor::zeros(&[3, 2])), &["the right-hand side is 3 by 2"]);
}
