//! nalgebra: decompositions run over `Var` and `Dual`, matrices as points and results.

use nalgebra::{
    Cholesky, DMatrix, DVector, Dyn, Matrix2, Matrix2x3, Matrix3, OMatrix, RealField, RowDVector, SMatrix,
    SymmetricEigen, U3, UnitQuaternion, Vector2, Vector3,
};
use wengert::prelude::*;

use super::check;

/// A matrix whose first pivot must be exchanged, and right-hand side and weights for a solve.
fn system() -> (DMatrix<f64>, DVector<f64>, DVector<f64>) {
    let a = DMatrix::from_row_slice(
        4,
        4,
        &[
            0.0, 2.0, -1.0, 0.5, //
            3.0, 1.0, 0.25, -2.0, //
            -1.0, 0.5, 2.5, 1.0, //
            0.75, -1.5, 1.0, 4.0,
        ],
    );
    (a, DVector::from_vec(vec![1.0, -2.0, 0.5, 3.0]), DVector::from_vec(vec![0.5, 1.5, -1.0, 2.0]))
}

/// The relative error of numbers that come out of two solves with `a`, one after the other: each
/// is backward stable, so loses at most a small multiple of `n κ ε` (N. Higham, *Accuracy and
/// Stability of Numerical Algorithms*, 2002, chapter 9); the multiple allowed is 8.
fn bound(a: &DMatrix<f64>) -> f64 {
    let inverse = a.clone().try_inverse().expect("regular");
    8.0 * a.nrows() as f64 * a.norm() * inverse.norm() * f64::EPSILON
}

fn constants<const R: usize, const C: usize>(a: &SMatrix<f64, R, C>) -> SMatrix<Var, R, C> {
    a.map(lift)
}

#[test]
fn a_gradient_through_an_lu_solve_is_minus_the_adjoint_times_the_solution() {
    // c . A^-1 b: by b it is A^-T c, by A it is -(A^-T c) x^T
    let (a, b, c) = system();
    let (by_a, by_b) = grad((a.clone(), b.clone()), |(a, b)| a.lu().solve(&b).expect("regular").dot(&c.map(lift)));
    let x = a.clone().lu().solve(&b).expect("regular");
    let adjoint = a.transpose().lu().solve(&c).expect("regular");
    check(&by_b, &adjoint, bound(&a));
    check(&by_a, &-(&adjoint * x.transpose()), bound(&a));
}

#[test]
fn a_solve_of_known_size_does_the_same() {
    let a = Matrix3::new(0.0, 2.0, -1.0, 3.0, 1.0, 0.25, -1.0, 0.5, 2.5);
    let (b, c) = (Vector3::new(1.0, -2.0, 0.5), Vector3::new(0.5, 1.5, -1.0));
    let solve = |(a, b): (Matrix3<Var>, Vector3<Var>)| a.lu().solve(&b).expect("regular").dot(&constants(&c));
    let (by_a, by_b): (Matrix3<f64>, Vector3<f64>) = grad((a, b), solve);
    let x = a.lu().solve(&b).expect("regular");
    let adjoint = a.transpose().lu().solve(&c).expect("regular");
    let bound = bound(&DMatrix::from_column_slice(3, 3, a.as_slice()));
    check(&by_b, &adjoint, bound);
    check(&by_a, &-(adjoint * x.transpose()), bound);
}

#[test]
fn duals_give_the_tangent_of_a_solve() {
    // x' = -A^-1 A' x, in two directions at once
    let (a, b, _) = system();
    let directions = [(0, 1), (2, 3)];
    let seeded = DMatrix::from_fn(4, 4, |i, j| {
        let place = directions.iter().position(|&direction| direction == (i, j));
        Dual::<f64, 2>::seed(a[(i, j)], place.unwrap_or(2))
    });
    let x = seeded.lu().solve(&b.map(Dual::lift)).expect("regular");
    let lu = a.clone().lu();
    let plain = lu.solve(&b).expect("regular");
    check(&x.map(Dual::re), &plain, 0.0);
    for (k, (i, j)) in directions.into_iter().enumerate() {
        let mut right = DVector::zeros(4);
        right[i] = -plain[j];
        let wanted = lu.solve(&right).expect("regular");
        check(&x.map(|dual| dual.tangents()[k]), &wanted, bound(&a));
    }
}

#[test]
fn duals_nest_over_each_other_and_over_variables() {
    // [[x, 1], [1, 2]] y = (1, 1) has the first component y = 1/(2x - 1)
    fn first<T: RealField + Copy>(x: T) -> T {
        let one = T::one();
        let two = one + one;
        Matrix2::new(x, one, one, two).lu().solve(&Vector2::new(one, one)).expect("regular").x
    }
    let x = 3.0;
    let (second, third) = (8.0 / 125.0, -48.0 / 625.0);
    let nested = first(Dual::new(Dual::variable(x), Dual::constant(1.0))).tangent().tangent();
    let over = grad(x, |x| first(Dual::variable(x)).tangent());
    let both = hessian(x, |x| first(Dual::variable(x)).tangent());
    check(&[nested, over, both], &[second, second, third], 1e-14);
}

#[test]
fn the_gradient_of_a_determinant_is_the_cofactor_matrix() {
    let (a, ..) = system();
    let g = grad(&a, |a| a.determinant());
    let wanted = a.clone().try_inverse().expect("regular").transpose() * a.determinant();
    check(&g, &wanted, bound(&a));
    let h = hessian(Matrix2::new(1.0, 2.0, 3.0, 5.0), |a| a.determinant());
    let wanted = Matrix2::new(
        Matrix2::new(0.0, 0.0, 0.0, 1.0),
        Matrix2::new(0.0, 0.0, -1.0, 0.0),
        Matrix2::new(0.0, -1.0, 0.0, 0.0),
        Matrix2::new(1.0, 0.0, 0.0, 0.0),
    );
    assert_eq!(h, wanted);
}

#[test]
fn a_cholesky_solve_and_its_log_determinant() {
    // A = B B^T + 1: c . A^-1 c has the gradient -2 y y^T B with y = A^-1 c, ln det A has 2 A^-1 B
    let (b, c, _) = system();
    let a = &b * b.transpose() + DMatrix::identity(4, 4);
    let factor = |b: DMatrix<Var>| {
        let a = &b * b.transpose() + DMatrix::identity(4, 4);
        Cholesky::new(a).expect("positive definite")
    };
    let y = Cholesky::new(a.clone()).expect("positive definite").solve(&c);
    let of_solve = grad(&b, |b| factor(b).solve(&c.map(lift)).dot(&c.map(lift)));
    check(&of_solve, &(&y * y.transpose() * &b * -2.0), bound(&a));
    let of_determinant = grad(&b, |b| factor(b).ln_determinant());
    check(&of_determinant, &(a.clone().try_inverse().expect("regular") * &b * 2.0), bound(&a));
}

#[test]
fn norms_products_and_traces() {
    let (a, b, c) = system();
    let rounding = 16.0 * f64::EPSILON;
    check(&grad(&b, |b| b.norm()), &(&b / b.norm()), rounding);
    check(&grad(&a, |a| a.norm_squared()), &(&a * 2.0), rounding);
    // c^T A b: by A it is c b^T
    let bilinear = grad(&a, |a| (c.map(lift).transpose() * &a * b.map(lift))[(0, 0)]);
    check(&bilinear, &(&c * b.transpose()), rounding);
    // tr(A^T A A): by A it is 2 sym
    let g = grad(&a, |a| (a.transpose() * &a * &a).trace());
    check(&g, &(&a * (&a + a.transpose()) + a.transpose() * &a), 64.0 * f64::EPSILON);
    check(&grad(&a, |a| (a * lift(3.0)).sum()), &DMatrix::from_element(4, 4, 3.0), 0.0);
}

#[test]
fn orthogonal_decompositions() {
    // an eigenvalue of a symmetric matrix has the gradient v v^T; the sum of the singular values U V^T
    let (b, c, _) = system();
    let s = &b + b.transpose();
    let eigen = SymmetricEigen::new(s.clone());
    let (k, largest) = eigen.eigenvalues.argmax();
    let g = grad(&s, |s| {
        let values = SymmetricEigen::new(s).eigenvalues;
        values.iter().copied().reduce(|x, y| if x > y { x } else { y }).expect("four")
    });
    let vector = eigen.eigenvectors.column(k);
    // The derivative of a similarity is spoilt by at most ε |S| over the gap between eigenvalues.
    let gap = eigen.eigenvalues.iter().filter(|&&value| value != largest).map(|value| largest - value);
    let gap = gap.fold(f64::INFINITY, f64::min);
    check(&((&g + g.transpose()) * 0.5), &(vector * vector.transpose()), 64.0 * s.norm() / gap * f64::EPSILON);

    let svd = b.clone().svd(true, true);
    let wanted = svd.u.expect("asked for") * svd.v_t.expect("asked for");
    check(&grad(&b, |b| b.singular_values().sum()), &wanted, 8.0 * bound(&b));

    let by_qr = grad(&b, |b| b.qr().solve(&c.map(lift)).expect("regular").sum());
    let by_lu = grad(&b, |b| b.lu().solve(&c.map(lift)).expect("regular").sum());
    check(&by_qr, &by_lu, 2.0 * bound(&b));
}

#[test]
fn the_matrix_exponential_chooses_its_degree_by_the_value() {
    // The trace of e^A has the gradient e^(A^T). Over duals, which have no recording to take a number out of.
    let a = Matrix3::new(0.1, 0.2, -0.1, 0.3, 0.1, 0.25, -0.1, 0.5, 0.2);
    for (a, scale) in [(a, 1.0), (a * 20.0, 20.0)] {
        let seeded = Matrix3::from_fn(|i, j| Dual::<f64, 9>::seed(a[(i, j)], 3 * i + j));
        let slopes = seeded.exp().trace().tangents();
        let gradient = Matrix3::from_fn(|i, j| slopes[3 * i + j]);
        check(&gradient, &a.exp().transpose(), 64.0 * scale * f64::EPSILON);
    }
}

#[test]
#[should_panic(expected = "or say `detach()` first if that is meant")]
fn in_a_driver_the_matrix_exponential_may_not_take_the_value() {
    grad(Matrix2::new(0.1, 0.2, 0.3, 0.4), |a| a.exp().trace());
}

#[test]
#[should_panic(expected = "takes a number out of a recorded function")]
fn in_a_recording_the_matrix_exponential_may_not_take_the_value() {
    record(Matrix2::new(0.1, 0.2, 0.3, 0.4), |a| a.exp().trace());
}

#[test]
fn a_recorded_solve_notices_another_pivot() {
    let (_, b, c) = system();
    let (b, c) = (b.rows(0, 2).clone_owned(), c.rows(0, 2).clone_owned());
    let solve = |a: DMatrix<Var>| a.lu().solve(&b.map(lift)).expect("regular").dot(&c.map(lift));
    let first = DMatrix::from_row_slice(2, 2, &[4.0, 1.0, 2.0, 3.0]);
    let recorded = record(first.clone(), solve);
    let same_pivot = DMatrix::from_row_slice(2, 2, &[5.0, 1.0, 2.0, -3.0]);
    let other_pivot = DMatrix::from_row_slice(2, 2, &[0.0, 1.0, 2.0, 3.0]);
    for (a, recordings) in [(&first, 1), (&same_pivot, 1), (&other_pivot, 2)] {
        check(&recorded.grad(a), &grad(a, solve), bound(a));
        assert_eq!(recorded.recordings(), recordings);
    }
    let strict = record(first, solve).strict();
    assert!(strict.try_grad(&same_pivot).is_ok());
    assert!(strict.try_grad(&other_pivot).is_err());
}

#[test]
fn rotations_differentiate_near_the_identity() {
    // R(v) p = p + v x p + O(v^2), so the Jacobian at v = 0 is minus the matrix of p x
    let p = Vector3::new(1.0, 2.0, 3.0);
    let rotate = |v: Vector3<Var>| UnitQuaternion::from_scaled_axis(v) * constants(&p);
    let wanted = [[0.0, 3.0, -2.0], [-3.0, 0.0, 1.0], [2.0, -1.0, 0.0]];
    let near: [[f64; 3]; 3] = jacobian(Vector3::new(0.0, 0.0, 1e-12), rotate).map(|row| row.into()).into();
    check(near.as_flattened(), wanted.as_flattened(), 1e-11);
}

#[test]
fn every_kind_of_matrix_is_a_tree() {
    // Leaves go column by column.
    let a = Matrix2x3::new(1.0, 2.0, 3.0, 4.0, 5.0, 6.0);
    let mut order = Vec::new();
    a.for_each_leaf(&mut |x| order.push(x));
    assert_eq!(order, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(grad(a, |a| a.map(|x| x * x).sum()), a * 2.0);
    let rows = RowDVector::from_vec(vec![1.0, 2.0]);
    assert_eq!(grad(rows, |x| x[0] * x[1]), RowDVector::from_vec(vec![2.0, 1.0]));
    let wide = OMatrix::<f64, U3, Dyn>::from_column_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(grad(&wide, |x| x.norm_squared()), &wide * 2.0);
    let tall = OMatrix::<f64, Dyn, U3>::from_column_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(grad(&tall, |x| x.norm_squared()), &tall * 2.0);
    // A Jacobian has a gradient in the place of every result, whatever the types of both.
    let j: DVector<Vector2<f64>> = jacobian(Vector2::new(2.0, 3.0), |v| DVector::from_vec(vec![v.x * v.y, v.y]));
    assert_eq!(j, DVector::from_vec(vec![Vector2::new(3.0, 2.0), Vector2::new(0.0, 1.0)]));
    let j: DVector<DMatrix<f64>> = jacobian(DMatrix::from_element(1, 2, 3.0), |a| a.column_sum() * lift(2.0));
    assert_eq!(j, DVector::from_vec(vec![DMatrix::from_element(1, 2, 2.0)]));
}
