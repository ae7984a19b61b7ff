//! Sparse systems and products: values against full matrices, derivatives, lanes, masks, bad input.

use wengert::linalg::Factor;
use wengert::prelude::*;
use wengert::primitives::{Op, samples};
use wengert::sparse::{self, SharedPattern};
use wengert::sparsity::Pattern;
use wengert::{Array, Compile, DType, Error, Type};

use crate::nn::support::{check_derivatives, check_single, close, noise, points};
use crate::support::program_of;

/// Entries without a pattern, with those of a permutation, so that most matrices are regular.
fn scattered(seed: u64, n: usize) -> SharedPattern {
    let shift = 1 + seed as usize % n.max(1);
    let mut entries: Vec<(usize, usize)> = (0..n).map(|row| (row, (row + shift) % n)).collect();
    let places = noise(seed, 2 * n);
    let place = |x: f64| ((x + 1.0) / 2.0 * n as f64) as usize;
    entries.extend(places.chunks(2).map(|pair| (place(pair[0]), place(pair[1]))));
    Pattern::from_entries(n, n, entries).unwrap().into()
}

/// Values with larger ones at the entries of the permutation.
fn values(seed: u64, pattern: &Pattern) -> Tensor {
    let n = pattern.rows();
    let shift = 1 + seed as usize % n.max(1);
    let large = pattern.entries().map(|(row, col)| f64::from(u8::from((row + shift) % n == col)) * 3.0);
    points(seed + 7, &[pattern.nnz()]) + Tensor::from_vec(&[pattern.nnz()], large.collect())
}

/// The points of a square with their neighbours.
fn five_points(side: usize) -> SharedPattern {
    let place = |i: usize, j: usize| i * side + j;
    let near = |i: usize, j: usize| {
        let mut near = vec![place(i, j)];
        near.extend((i > 0).then(|| place(i - 1, j)));
        near.extend((j > 0).then(|| place(i, j - 1)));
        near.extend((j + 1 < side).then(|| place(i, j + 1)));
        near.extend((i + 1 < side).then(|| place(i + 1, j)));
        near
    };
    let entries = (0..side * side).flat_map(|row| near(row / side, row % side).into_iter().map(move |col| (row, col)));
    Pattern::from_entries(side * side, side * side, entries).unwrap().into()
}

/// Positive definite values: the diagonal is above what stands beside it.
fn positive(seed: u64, pattern: &Pattern) -> Tensor {
    let on = pattern.entries().map(|(row, col)| if row == col { pattern.row(row).len() as f64 } else { 0.0 });
    points(seed, &[pattern.nnz()]) + Tensor::from_vec(&[pattern.nnz()], on.collect())
}

/// The full matrix.
fn full(pattern: &Pattern, values: &Tensor) -> Tensor {
    sparse::multiply(pattern, values, &Tensor::eye(pattern.cols()))
}

#[test]
fn solutions_are_those_of_full_matrices() {
    for n in [1, 2, 5, 17, 60] {
        let pattern = scattered(n as u64, n);
        let (values, b) = (values(n as u64, &pattern), points(3, &[n, 2]));
        let matrix = full(&pattern, &values);
        close(&sparse::solve(&pattern, &values, &b).to_vec(), &matrix.solve(&b).to_vec(), 1e4);
        let back = matrix.t().solve(&b.slice((.., 1)));
        close(&sparse::solve_transposed(&pattern, &values, &b.slice((.., 1))).to_vec(), &back.to_vec(), 1e4);
    }
    for side in [1, 3, 8] {
        let pattern = five_points(side);
        let (values, b) = (positive(1, &pattern), points(2, &[side * side]));
        let matrix = full(&pattern, &values);
        close(&sparse::solve_spd(&pattern, &values, &b).to_vec(), &matrix.solve_spd(&b).to_vec(), 1e3);
    }
    let none: SharedPattern = Pattern::empty(0, 0).into();
    assert_eq!(sparse::solve(&none, &Tensor::zeros(&[0]), &Tensor::zeros(&[0, 3])).shape(), [0, 3]);
}

#[test]
fn derivatives_agree_with_differences() {
    let pattern = scattered(4, 6);
    let numbers = values(4, &pattern);
    for shape in [&[6][..], &[6, 3], &[2, 6, 1]] {
        let x = [numbers.clone(), points(5, shape)];
        check_derivatives(&x, |x| sparse::solve(&pattern, &x[0], &x[1]));
        check_derivatives(&x, |x| sparse::solve_transposed(&pattern, &x[0], &x[1]));
        check_derivatives(&x, |x| sparse::multiply(&pattern, &x[0], &x[1]));
        check_derivatives(&x, |x| sparse::multiply_transposed(&pattern, &x[0], &x[1]));
    }
    let batch = Tensor::stack(&[&numbers, &(&numbers * 1.5)], 0);
    check_derivatives(&[batch, points(6, &[6])], |x| sparse::solve(&pattern, &x[0], &x[1]));
    check_derivatives(&[points(7, &[6, 2]), points(8, &[6, 2])], |x| sparse::outer(&pattern, &x[0], &x[1]));
    let square = five_points(3);
    check_derivatives(&[positive(9, &square), points(10, &[9, 2])], |x| sparse::solve_spd(&square, &x[0], &x[1]));
    // Newton's method in one function: the matrix depends on what it is solved for.
    check_derivatives(&[positive(11, &square), points(12, &[9])], |x| {
        let step = sparse::solve(&square, &x[0], &x[1]);
        let bent = &x[0] + sparse::outer(&square, &step, &step) * 0.1;
        sparse::solve(&square, &bent, &(&x[1] + &step))
    });
}

#[test]
fn single_precision_gives_single_precision() {
    let (pattern, square) = (scattered(4, 6), five_points(3));
    check_single(&[values(4, &pattern), points(5, &[6, 2])], 64.0, |x| sparse::solve(&pattern, &x[0], &x[1]));
    check_single(&[positive(9, &square), points(5, &[9])], 64.0, |x| sparse::solve_spd(&square, &x[0], &x[1]));
    check_single(&[points(7, &[6, 2]), points(8, &[6, 2])], 8.0, |x| sparse::outer(&pattern, &x[0], &x[1]));
}

#[test]
fn the_third_derivative_along_a_line_is_that_of_the_series() {
    // `(A + t D)^-1 b` is `sum_k (-t A^-1 D)^k A^-1 b`.
    let pattern = scattered(5, 7);
    let (a, d, b) = (values(5, &pattern), points(1, &[pattern.nnz()]), points(2, &[7]));
    let along = |t: &Tensor| sparse::solve(&pattern, &(&a + &d * t), &b).dot(&b);
    let one = || Tensor::from(1.0);
    let first = |t: &Tensor| jvp(t.clone(), one(), |t| along(&t)).1;
    let second = |t: &Tensor| jvp(t.clone(), one(), |t| first(&t)).1;
    let third = jvp(Tensor::from(0.0), one(), |t| second(&t)).1.item();
    let backward = grad(Tensor::from(0.0), |t| second(&t)).item();
    let mut term = sparse::solve(&pattern, &a, &b);
    for _ in 0..3 {
        term = -sparse::solve(&pattern, &a, &sparse::multiply(&pattern, &d, &term));
    }
    close(&[third, backward], &[6.0 * term.dot(&b).item(); 2], 1e3);
}

#[test]
fn gradients_have_the_pattern_and_are_those_of_full_matrices() {
    let pattern = scattered(6, 8);
    let (numbers, b) = (values(6, &pattern), points(4, &[8]));
    let slope = grad(&numbers, |v| sparse::solve(&pattern, &v, &b).square().sum());
    let wanted = grad(full(&pattern, &numbers), |a| a.solve(&b).square().sum());
    let at: Vec<f64> = pattern.entries().map(|(row, col)| wanted.to_vec()[row * 8 + col]).collect();
    assert_eq!(slope.shape(), [pattern.nnz()]);
    close(&slope.to_vec(), &at, 1e4);
    // Of a symmetric matrix it is symmetric, and that of the mean of both triangles.
    let square = five_points(3);
    let (numbers, b) = (positive(3, &square), points(4, &[9]));
    let slope = grad(&numbers, |v| sparse::solve_spd(&square, &v, &b).square().sum()).to_vec();
    let wanted = grad(full(&square, &numbers), |a| a.solve_spd(&b).square().sum()).to_vec();
    let at: Vec<f64> = square.entries().map(|(row, col)| wanted[row * 9 + col]).collect();
    close(&slope, &at, 1e3);
}

#[test]
fn the_transposed_system_is_the_transpose() {
    let pattern = scattered(7, 30);
    let (numbers, b, c) = (values(7, &pattern), points(1, &[30]), points(2, &[30]));
    let one = sparse::solve(&pattern, &numbers, &b).dot(&c).item();
    let other = sparse::solve_transposed(&pattern, &numbers, &c).dot(&b).item();
    close(&[one], &[other], 1e4);
    let pulled = grad(&b, |b| sparse::solve(&pattern, &numbers, &b).dot(&c));
    assert_eq!(pulled.to_vec(), sparse::solve_transposed(&pattern, &numbers, &c).to_vec());
}

#[test]
fn lanes_are_what_one_after_the_other_gives() {
    let (pattern, square) = (scattered(8, 5), five_points(2));
    let check = |pattern: &SharedPattern, of: &dyn Fn(u64) -> Tensor, f: &dyn Fn(&Tensor, &Tensor) -> Tensor| {
        for lanes in [1, 3] {
            let many: Vec<Tensor> = (0..lanes).map(|lane| of(lane as u64)).collect();
            let many = Tensor::stack(&many.iter().collect::<Vec<&Tensor>>(), 0);
            let right = points(9, &[lanes, pattern.rows(), 2]);
            let slopes = |v: &Tensor, b: &Tensor| grad((v, b), |(v, b)| f(&v, &b).square().sum());
            let one: Vec<_> = (0..lanes as isize).map(|k| slopes(&many.slice(k), &right.slice(k))).collect();
            let (by_values, by_right) = vmap((&many, &right), |(v, b)| slopes(&v, &b));
            for (lane, (values, right)) in one.iter().enumerate() {
                close(&by_values.slice(lane as isize).to_vec(), &values.to_vec(), 1e3);
                close(&by_right.slice(lane as isize).to_vec(), &right.to_vec(), 1e3);
            }
            let (first, b) = (many.slice(0), right.slice(0));
            let shared = vmap(&right, |b| f(&first, &b));
            let matrices = vmap(&many, |v| f(&v, &b));
            for lane in 0..lanes as isize {
                close(&shared.slice(lane).to_vec(), &f(&first, &right.slice(lane)).to_vec(), 64.0);
                close(&matrices.slice(lane).to_vec(), &f(&many.slice(lane), &b).to_vec(), 64.0);
            }
            // Lanes of lanes.
            let both = vmap(&many, |v| vmap(&right, |b| f(&v, &b)));
            close(&both.slice(0).to_vec(), &shared.to_vec(), 64.0);
        }
    };
    let general = |lane: u64| values(8, &pattern) + points(lane, &[pattern.nnz()]) * 0.1;
    check(&pattern, &general, &|v, b| sparse::solve(&pattern, v, b));
    check(&pattern, &general, &|v, b| sparse::multiply_transposed(&pattern, v, b));
    check(&square, &|lane| positive(lane, &square), &|v, b| sparse::solve_spd(&square, v, b));
    assert_eq!(vmap(Tensor::zeros(&[0, 5]), |b| sparse::solve(&pattern, &general(1), &b)).shape(), [0, 5]);
}

#[test]
fn axes_before_stretch_to_each_other() {
    let pattern = scattered(8, 5);
    let one = values(8, &pattern);
    let many = Tensor::stack(&[&one, &(&one * 2.0)], 0);
    let b = points(1, &[3, 2, 5, 1]);
    let x = sparse::solve(&pattern, &many, &b);
    assert_eq!(x.shape(), [3, 2, 5, 1]);
    let alone = sparse::solve(&pattern, &(&one * 2.0), &b.slice(2).slice(1));
    close(&x.slice(2).slice(1).to_vec(), &alone.to_vec(), 64.0);
    assert_eq!(sparse::solve(&pattern, &many, &points(2, &[5])).shape(), [2, 5]);
    let flat = sparse::solve(&pattern, &one, &b);
    close(&flat.slice(2).slice(0).to_vec(), &x.slice(2).slice(0).to_vec(), 64.0);
    assert_eq!(sparse::outer(&pattern, &points(3, &[2, 5, 4]), &points(4, &[5, 4])).shape(), [2, pattern.nnz()]);
}

#[test]
fn lanes_and_branches_that_do_not_count_may_be_anything() {
    // No diagonal, so that nothing but a permutation is harmless.
    let pattern: SharedPattern = Pattern::from_entries(2, 2, [(0, 1), (1, 0)]).unwrap().into();
    let square: SharedPattern = Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]).unwrap().into();
    let b = Tensor::from([1.0, 2.0]);
    let general = |v: &Tensor| sparse::solve(&pattern, v, &b).square().sum();
    let positive = |v: &Tensor| sparse::solve_spd(&square, v, &b).square().sum();
    let check = |f: &dyn Fn(&Tensor) -> Tensor, good: Tensor, bad: Tensor| {
        let alone = value_and_grad(&good, |v| f(&v));
        let (both, flags) = (Tensor::stack(&[&good, &bad], 0), Tensor::from([true, false]));
        let pick = |flag: &Tensor, v: &Tensor| cond(flag, v, |v| f(&v), |_| Tensor::from(7.0));
        let (values, slope) = vmap((&flags, &both), |(flag, v)| value_and_grad(v, |v| pick(&flag, &v)));
        close(&values.to_vec(), &[alone.0.item(), 7.0], 4.0);
        close(&slope.slice(0).to_vec(), &alone.1.to_vec(), 64.0);
        assert_eq!(slope.slice(1).to_vec(), vec![0.0; bad.size()]);
        let slope = grad(&both, |both| vmap((&flags, &both), |(flag, v)| pick(&flag, &v)).sum());
        assert_eq!(slope.slice(1).to_vec(), vec![0.0; bad.size()]);
        // A matrix of all lanes that counts in none of them.
        let none = vmap(Tensor::from([false, false]), |flag| pick(&flag, &bad));
        assert_eq!(none.to_vec(), [7.0, 7.0]);
        assert_eq!(grad(&bad, |v| pick(&Tensor::from(false), &v)).to_vec(), vec![0.0; bad.size()]);
    };
    for bad in [[0.0, 1.0], [f64::NAN, 1.0], [1.0, f64::INFINITY]] {
        check(&general, Tensor::from([2.0, 3.0]), Tensor::from(bad));
    }
    for bad in [[1.0, 1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 1.0], [f64::NAN, 0.0, 0.0, 1.0]] {
        check(&positive, Tensor::from([3.0, 0.5, 0.5, 2.0]), Tensor::from(bad));
    }
}

#[test]
fn what_is_masked_meets_no_infinite_derivative() {
    // The values depend on a root at 0, whose derivative is infinite.
    let pattern: SharedPattern = Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]).unwrap().into();
    let functions: [fn(&SharedPattern, &Tensor, &Tensor) -> Tensor; 3] =
        [|p, v, b| sparse::solve(p, v, b), |p, v, b| sparse::solve_spd(p, v, b), |p, v, b| sparse::multiply(p, v, b)];
    for f in functions {
        let loss = |x: &Tensor| {
            let root = x.sqrt() * Tensor::from([0.0, 1.0, 1.0, 0.0]);
            let y = f(&pattern, &(root + Tensor::from([3.0, 0.5, 0.5, 2.0])), &Tensor::from([1.0, 2.0])).sum();
            Tensor::from(false).where_(y, x * 3.0)
        };
        assert_eq!(grad(Tensor::from(0.0), |x| loss(&x)).item(), 3.0);
    }
}

#[test]
fn close_to_a_singular_matrix_the_digits_are_those_of_elimination() {
    // [[1, 1], [1, 1 + d]] with inverse [[1 + d, -1], [-1, 1]] / d: every step is exact.
    let pattern: SharedPattern = Pattern::from_entries(2, 2, [(0, 0), (0, 1), (1, 0), (1, 1)]).unwrap().into();
    let d = 2f64.powi(-40);
    let values = Tensor::from([1.0, 1.0, 1.0, 1.0 + d]);
    let b = Tensor::from([2.0, 2.0 + d]);
    assert_eq!(sparse::solve(&pattern, &values, &b).to_vec(), [1.0, 1.0]);
    let slope = grad(&values, |v| sparse::solve(&pattern, &v, &b).slice(1));
    assert_eq!(slope.to_vec(), [1.0 / d, 1.0 / d, -1.0 / d, -1.0 / d]);
    assert_eq!(
        hvp(&values, Tensor::from([0.0, 0.0, 0.0, 1.0]), |v| sparse::solve(&pattern, &v, &b).slice(1)).to_vec()[3],
        2.0 / d / d
    );
}

#[test]
fn steps_of_a_loop_are_those_by_hand() {
    // Implicit steps of a diffusion whose matrix is the same in all of them.
    let square = five_points(4);
    let (numbers, start) = (positive(2, &square), points(3, &[16]));
    let looped = |v: &Tensor| {
        let step = |_: Tensor, x: Tensor, v: &Tensor| sparse::solve(&square, v, &x);
        fori(0..5, start.clone(), |k, x| step(k, x, v)).square().sum()
    };
    let by_hand = |v: &Tensor| (0..5).fold(start.clone(), |x, _| sparse::solve(&square, v, &x)).square().sum();
    let ((value, slope), (wanted, by_hand)) =
        (value_and_grad(&numbers, |v| looped(&v)), value_and_grad(&numbers, |v| by_hand(&v)));
    close(&[value.item()], &[wanted.item()], 64.0);
    close(&slope.to_vec(), &by_hand.to_vec(), 1e3);
}

#[track_caller]
fn refused<T>(result: Result<T, Error>, words: &[&str]) {
    let Err(why) = result else { panic!("it has to be refused because {words:?}") };
    let why = why.to_string();
    for word in words.iter().chain(&["sparse_solve.rs:"]) {
        assert!(why.contains(word), "`{word}` is not in: {why}");
    }
}

#[test]
fn what_does_not_fit_is_named() {
    let pattern = five_points(2);
    let (v, b) = (positive(1, &pattern), Tensor::ones(&[4]));
    refused(
        sparse::try_solve(&pattern, &Tensor::ones(&[5]), &b),
        &["`sparse::solve` of f64[5] and f64[4]", "the pattern has 12 entries, and there are 5 values"],
    );
    refused(sparse::try_solve(&pattern, &v, &Tensor::ones(&[3])), &["has 4 rows, and the operand 3 rows"]);
    refused(sparse::try_solve(&pattern, &v, &Tensor::from(1.0)), &["an operand is a single number"]);
    refused(sparse::try_solve(&pattern, &Tensor::from(1.0), &b), &["the values are a single number"]);
    refused(sparse::try_solve(&pattern, &v, &b.to_f32()), &["the element types have to be the same"]);
    refused(sparse::try_solve(&pattern, &v, &b.to_i64()), &["real numbers"]);
    let many = Tensor::ones(&[2, 12]);
    refused(sparse::try_solve(&pattern, &many, &Tensor::ones(&[3, 4, 1])), &["do not broadcast"]);
    let wide = Pattern::from_entries(2, 3, [(0, 0), (1, 1)]).unwrap();
    refused(sparse::try_solve(&wide, &b.slice(0..2), &b.slice(0..2)), &["the matrix is 2 by 3, and has to be square"]);
    refused(sparse::try_multiply(&wide, &b.slice(0..2), &b), &["has 3 columns, and the operand 4 rows"]);
    refused(sparse::try_multiply_transposed(&wide, &b.slice(0..2), &b), &["has 2 rows, and the operand 4 rows"]);
    refused(sparse::try_outer(&wide, &b.slice(0..2), &b), &["`sparse::outer`", "has 3 columns"]);
    refused(sparse::try_outer(&pattern, &Tensor::ones(&[4, 2]), &b), &["2 and 1 columns"]);
    let lower = Pattern::from_entries(2, 2, [(0, 0), (1, 0), (1, 1)]).unwrap();
    refused(
        sparse::try_solve_spd(&lower, &b.slice(0..3), &b.slice(0..2)),
        &["`sparse::solve_spd`", "(1, 0) and not (0, 1)"],
    );
    let empty = Pattern::from_entries(3, 3, [(0, 0), (1, 1), (1, 2)]).unwrap();
    refused(
        sparse::try_solve(&empty, &b.slice(0..3), &b.slice(0..3)),
        &["singular whatever its values are: row 2 has no"],
    );
}

#[test]
fn values_without_a_solution_are_named() {
    let pattern = five_points(3);
    let b = Tensor::ones(&[9]);
    let mut numbers = positive(1, &pattern).to_vec();
    // Two rows with the same single entry.
    let rows = [4, 5].map(|row| pattern.starts()[row]..pattern.starts()[row + 1]);
    let mut singular = numbers.clone();
    rows.iter().for_each(|row| singular[row.clone()].fill(0.0));
    let at = |row: usize, col: u32| pattern.starts()[row] + pattern.row(row).iter().position(|&c| c == col).unwrap();
    singular[at(4, 4)] = 2.0;
    singular[at(5, 4)] = 3.0;
    let singular = Tensor::from_vec(&[pattern.nnz()], singular);
    let good = Tensor::from_vec(&[pattern.nnz()], numbers.clone());
    let why = ["the matrix is singular: row", "is a combination of other rows"];
    refused(sparse::try_solve(&pattern, &singular, &b), &why);
    refused(sparse::try_solve_transposed(&pattern, &singular, &b), &["`sparse::solve_transposed`", "singular"]);
    let batch = Tensor::stack(&[&good, &singular], 0);
    refused(sparse::try_solve(&pattern, &batch, &b), &["singular", "(matrix [1])"]);
    let compiled = Compile::new().function(|v: Tensor| sparse::solve(&pattern, &v, &Tensor::ones(&[9])).sum());
    refused(compiled.try_call(&singular).map(drop), &why);
    assert!(compiled.try_call(&good).is_ok());
    numbers[at(4, 4)] = -3.0;
    let indefinite = Tensor::from_vec(&[pattern.nnz()], numbers.clone());
    refused(sparse::try_solve_spd(&pattern, &indefinite, &b), &["the matrix is not positive definite"]);
    numbers[at(4, 3)] = f64::NAN;
    let nan = Tensor::from_vec(&[pattern.nnz()], numbers);
    for result in [sparse::try_solve(&pattern, &nan, &b), sparse::try_solve_spd(&pattern, &nan, &b)] {
        refused(result, &["the element [4, 3] is NaN"]);
    }
    // What is not finite on the right is no error, and reaches its own column only.
    let mut right = vec![1.0; 18];
    right[7] = f64::INFINITY;
    let right = Tensor::from_vec(&[9, 2], right);
    let x = sparse::solve(&pattern, &good, &right);
    assert!(x.slice((.., 0)).to_array().is_finite() && x.slice((.., 1)).to_vec().iter().all(|x| x.is_nan()));
    let tiny = good * 1e-300;
    refused(sparse::try_solve(&pattern, &tiny, &(b * 1e100)), &["the solution is too large"]);
}

#[test]
fn a_large_system_has_the_gradient_of_differences() {
    let square = five_points(40);
    let n = 1600;
    // Conductivity around each point, a Laplacian with more on the diagonal.
    let laplacian: Vec<f64> = square.entries().map(|(row, col)| if row == col { 4.1 } else { -1.0 }).collect();
    let laplacian = Tensor::from_vec(&[square.nnz()], laplacian);
    let (b, goal) = (points(1, &[n]), points(2, &[n]));
    for spd in [false, true] {
        let solve = |v: &Tensor| if spd { sparse::solve_spd(&square, v, &b) } else { sparse::solve(&square, v, &b) };
        let loss = |v: &Tensor| (solve(v) - &goal).square().sum();
        let direction = points(3, &[square.nnz()]) * 0.1;
        let slope = grad(&laplacian, |v| loss(&v)).dot(&direction).item();
        let h = 1e-4;
        let at = |h: f64| loss(&(&laplacian + &direction * h)).item();
        let wanted = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        // Rounding in the loss, of some thousand, over the step; the error of the formula is smaller.
        assert!((slope - wanted).abs() <= 1e-6 * wanted.abs(), "{slope} and {wanted}");
    }
}

#[test]
fn factors_of_the_full_matrix_give_the_same() {
    let pattern = scattered(11, 40);
    let (numbers, b) = (values(11, &pattern), points(1, &[40]));
    let factor = Factor::qr(&full(&pattern, &numbers));
    close(&sparse::solve(&pattern, &numbers, &b).to_vec(), &factor.solve(&b).to_vec(), 1e5);
}

#[test]
fn what_is_reached_is_what_tangents_reach() {
    for sample in samples().into_iter().filter(|sample| sample.op.name().starts_with("sparse_")) {
        let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
        if types.is_empty() || types[0].dtype != DType::F64 {
            continue;
        }
        let program = program_of(&sample.op, &types).unwrap();
        let pattern = program.jacobian_pattern(&[true; 2]).unwrap().remove(0);
        let jvp = program.jvp(&[true; 2]).unwrap();
        let mut reached = Vec::new();
        let sizes = [types[0].size(), types[1].size()];
        for moving in 0..sizes[0] + sizes[1] {
            let unit = |first: usize, ty: &Type| {
                Array::new(
                    &ty.shape,
                    (0..ty.size()).map(|k| f64::from(u8::from(first + k == moving))).collect::<Vec<f64>>(),
                )
            };
            let tangents = [unit(0, types[0]), unit(sizes[0], types[1])];
            let out = jvp.run_reference(&[&sample.args[..], &tangents].concat()).unwrap().remove(1).to_f64();
            reached.extend(out.iter().enumerate().filter(|(_, x)| **x != 0.0).map(|(row, _)| (row, moving)));
        }
        let wanted = Pattern::from_entries(pattern.rows(), pattern.cols(), reached).unwrap();
        assert_eq!(pattern.cols(), sizes[0] + sizes[1]);
        // The inverse of a matrix in blocks has parts that are zero, and counts as full.
        let is_exact = !is_in_blocks(&sample.op);
        let equal = pattern.entries().eq(wanted.entries());
        assert!(wanted.entries().all(|(row, col)| pattern.contains(row, col)), "{:?}", sample.op);
        assert!(equal == is_exact, "{:?}: {pattern:?}, reached {wanted:?}", sample.op);
    }
}

/// Whether it is a system that is several independent ones.
fn is_in_blocks(op: &Op) -> bool {
    matches!(op, Op::SparseSolve(solve) if solve.pattern.rows() > 1 && solve.pattern.nnz() == solve.pattern.rows())
}
