//! Sparse derivatives of functions of tensors: every method against the dense matrix.

use wengert::prelude::*;
use wengert::signal::{Convolved, fft_convolve};
use wengert::sparsity::{Method, Pattern, Sparse, sparse_hessian, sparse_hessian_of_lagrangian, sparse_jacobian};
use wengert::{DType, cond, hessian, jacobian, scan, vmap};

/// The entries of a dense matrix of the same size, and whether it is zero elsewhere.
fn check_values(what: &str, sparse: &Sparse, values: &[f64], dense: &Tensor, tolerance: f64) {
    let (dense, pattern) = (dense.to_f64().to_vec(), sparse.pattern());
    let largest = dense.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut seen = vec![false; dense.len()];
    for ((row, col), &value) in pattern.entries().zip(values) {
        let expected = dense[row * pattern.cols() + col];
        let error = (value - expected).abs();
        assert!(
            error <= tolerance * largest,
            "{what}: ({row}, {col}) is {value}, and has to be {expected}\n{}",
            sparse.explain()
        );
        seen[row * pattern.cols() + col] = true;
    }
    for (k, (&expected, seen)) in dense.iter().zip(seen).enumerate() {
        let (row, col) = (k / pattern.cols(), k % pattern.cols());
        assert!(seen || expected == 0.0, "{what}: ({row}, {col}) is {expected}, and the pattern lacks it");
    }
}

/// The largest difference that rounding may make, of the largest entry.
fn tolerance(dense: &Tensor) -> f64 {
    if dense.dtype() == DType::F32 { 1e-5 } else { 1e-13 }
}

/// The Jacobian by every method; gives the one that was chosen.
fn check_jacobian<T, O>(what: &str, f: impl Fn(T::Vars) -> O, x: &T) -> Sparse
where
    T: Tree<Leaf = Tensor> + Clone,
    O: Tree<Leaf = Tensor>,
{
    let dense = jacobian((x.clone(),), |(x,)| f(x)).dense();
    let tolerance = tolerance(&dense);
    let check = |sparse: &Sparse| {
        let mut values = vec![f64::NAN; sparse.pattern().nnz()];
        sparse.evaluate(x, &mut values).unwrap();
        check_values(&format!("{what} by {}", sparse.method()), sparse, &values, &dense, tolerance);
    };
    let chosen = Sparse::jacobian(&f, x).unwrap();
    check(&chosen);
    for method in [Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
        let forced = Sparse::options().pattern(chosen.pattern().clone()).method(method).jacobian(&f, x).unwrap();
        assert_eq!(forced.method(), method);
        check(&forced);
        check(&Sparse::options().memory(1).method(method).jacobian(&f, x).unwrap());
    }
    chosen
}

/// The Hessian by every method; gives the one that was chosen.
fn check_hessian<T: Tree<Leaf = Tensor> + Clone>(what: &str, f: impl Fn(T::Vars) -> Tensor, x: &T) -> Sparse {
    let dense = hessian((x.clone(),), |(x,)| f(x)).dense();
    let check = |sparse: &Sparse| {
        let mut values = vec![f64::NAN; sparse.pattern().nnz()];
        sparse.evaluate(x, &mut values).unwrap();
        check_values(&format!("{what} by {}", sparse.method()), sparse, &values, &dense, 1e-13);
    };
    let chosen = Sparse::hessian(&f, x).unwrap();
    check(&chosen);
    for method in [Method::Star, Method::Acyclic, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
        check(&Sparse::options().pattern(chosen.pattern().clone()).method(method).hessian(&f, x).unwrap());
    }
    let lower = Sparse::options().lower().hessian(&f, x).unwrap();
    let mut values = vec![f64::NAN; lower.pattern().nnz()];
    lower.evaluate(x, &mut values).unwrap();
    for ((row, col), value) in lower.pattern().entries().zip(values) {
        assert!(col <= row);
        assert!((value - dense.to_vec()[row * lower.pattern().cols() + col]).abs() <= 1e-12, "{what}: lower");
    }
    chosen
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 0.7).sin() + 1.3).collect()
}

fn vector(count: usize) -> Tensor {
    Tensor::from(numbers(count))
}

fn matrix(rows: usize, cols: usize) -> Tensor {
    vector(rows * cols).reshape(&[rows as isize, cols as isize])
}

/// A five-point nonlinear Laplacian with zeros around.
fn laplacian(u: Tensor) -> Tensor {
    let (n, m) = (u.shape()[0] as isize, u.shape()[1] as isize);
    let padded = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
    let at =
        |di: isize, dj: isize| padded.slice((wengert::span(1 + di, 1 + di + n), wengert::span(1 + dj, 1 + dj + m)));
    at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * &u + 0.1 * u.exp()
}

#[test]
fn stencils_need_no_colours() {
    let sparse = check_jacobian("laplacian", laplacian, &matrix(5, 6));
    assert_eq!((sparse.method(), sparse.colours()), (Method::Direct, 5));
    assert_eq!(sparse.pattern().nnz(), 5 * 30 - 2 * 5 - 2 * 6);
    let hessian = check_hessian("laplacian", |u| laplacian(u).square().sum(), &matrix(4, 5));
    assert_eq!(hessian.method(), Method::Direct);
    check_jacobian("roll", |x: Tensor| x.roll(1, 0) * &x - x.roll(-2, 0).sin(), &vector(7));
}

#[test]
fn neighbours_that_meet_twice_are_added() {
    // The last number has itself as neighbour.
    let f = |x: Tensor| {
        let next = Tensor::from([1i64, 2, 3, 4, 4]);
        x.square() * x.take(&next, 0)
    };
    let sparse = check_jacobian("clamped", f, &vector(5));
    assert_eq!((sparse.method(), sparse.pattern().nnz()), (Method::Direct, 9));
}

#[test]
fn entries_of_many_rows_are_found_on_any_number_of_threads() {
    let n = 10_000;
    // Some rows meet themselves once or twice, or one other number twice.
    let once: Vec<usize> = (0..n).map(|k| if k % 3 == 0 { k } else { k * 7919 % n }).collect();
    let twice: Vec<usize> = (0..n).map(|k| if k % 7 == 0 { once[k] } else { (n - 1) - k }).collect();
    let weights = Tensor::from((0..n).map(|k| 1.5 + k as f64 / 7.0).collect::<Vec<f64>>());
    let indices = |of: &[usize]| Tensor::from(of.iter().map(|&k| k as i64).collect::<Vec<i64>>());
    let (first, second, factors) = (indices(&once), indices(&twice), weights.clone());
    // Rows of no entry stand before the others.
    let f = move |x: Tensor| {
        let sum = x.sin() + &factors * x.take(&first, 0) + x.take(&second, 0) / &factors;
        (Tensor::zeros(&[5]), sum, 2.0 * x.slice(..3))
    };
    let x = vector(n);
    let mut expected: Vec<(usize, usize, f64)> = Vec::new();
    for (row, (x, w)) in x.to_vec().into_iter().zip(weights.to_vec()).enumerate() {
        let mut entries: Vec<(usize, f64)> = Vec::new();
        for (col, number) in [(row, x.cos()), (once[row], w), (twice[row], 1.0 / w)] {
            match entries.iter_mut().find(|(own, _)| *own == col) {
                Some((_, sum)) => *sum += number,
                None => entries.push((col, number)),
            }
        }
        entries.sort_by_key(|&(col, _)| col);
        expected.extend(entries.into_iter().map(|(col, number)| (5 + row, col, number)));
    }
    expected.extend((0..3).map(|k| (5 + n + k, k, 2.0)));
    for threads in [1, 2, 3, 7] {
        wengert::set_threads(threads);
        let sparse = Sparse::jacobian(&f, &x).unwrap();
        assert_eq!(sparse.method(), Method::Direct);
        let mut values = vec![f64::NAN; sparse.pattern().nnz()];
        sparse.evaluate(&x, &mut values).unwrap();
        let found: Vec<(usize, usize)> = sparse.pattern().entries().collect();
        assert!(found.iter().copied().eq(expected.iter().map(|&(row, col, _)| (row, col))), "{threads} threads");
        for ((value, &(row, col, number)), found) in values.iter().zip(&expected).zip(&found) {
            assert!(
                (value - number).abs() <= 1e-14 * number.abs(),
                "{threads} threads: {found:?} is {value}, not {number} at ({row}, {col})"
            );
        }
    }
}

#[test]
fn what_is_mapped_is_differentiated_block_by_block() {
    // Observations that each pick a row of two tables.
    let (from, to) = (Tensor::from([0i64, 1, 2, 0, 3, 1]), Tensor::from([1i64, 1, 0, 2, 2, 0]));
    let f = |(a, b): (Tensor, Tensor)| {
        vmap((from.clone(), to.clone()), |(i, j): (Tensor, Tensor)| {
            let (p, q) = (a.take(&i, 0), b.take(&j, 0));
            let scale = (&p * &p).sum();
            q * scale.sqrt() + p.sum()
        })
    };
    let sparse = check_jacobian("blocks", f, &(matrix(4, 3), matrix(3, 2)));
    assert_eq!(sparse.method(), Method::Direct);
    assert!((0..sparse.pattern().rows()).all(|row| sparse.pattern().row(row).len() == 4));
    check_hessian("blocks", |x| f(x).square().sum(), &(matrix(4, 3), matrix(3, 2)));
}

/// Every coordinate by the sum of squares of all: three entries a row, of which one has two terms.
fn scaled(x: Tensor) -> Tensor {
    let sums = x.square().sum_over(-1).expand_dims(-1);
    x * sums
}

#[test]
fn layers_that_meet_are_one() {
    let holds = |sparse: &Sparse, count: usize| {
        let text = sparse.explain();
        assert!(text.contains(&format!(": {count} vectors hold all entries")), "{text}");
    };
    holds(&check_jacobian("rows", scaled, &matrix(5, 3)), 3);
    holds(&check_jacobian("single precision", scaled, &matrix(5, 3).convert(DType::F32)), 3);
    let columns = |x: Tensor| &x * x.square().sum_over(0);
    holds(&check_jacobian("columns", columns, &matrix(3, 20)), 3);
    holds(&check_jacobian("two places", |x: Tensor| x.flip(1) * scaled(x), &matrix(4, 3)), 3);
    // Two results, one with rows of other lengths, and leaves in another order than the columns of a row.
    let several = |(a, b): (Tensor, Tensor)| {
        let wide = Tensor::concat(&[&scaled(b.clone()), &(2.0 * b.slice((.., 0..1)).square())], 1);
        (scaled(b.clone()) * a.square() + scaled(a), wide, b.slice(0).sin())
    };
    check_jacobian("several", several, &(matrix(4, 3), matrix(4, 3)));
    check_hessian("rows", |x| scaled(x).square().sum(), &matrix(4, 3));
    // Inside of another driver, with a product by the entries.
    let x = matrix(4, 3);
    let weights = |count: usize| vector(count).cos();
    let through = grad(x.clone(), |x| (sparse_jacobian(x, scaled).values().square() * weights(36)).sum());
    let step = 1e-5;
    let direction = matrix(4, 3).sin();
    let value = |x: Tensor| (sparse_jacobian(x, scaled).values().square() * weights(36)).sum().item();
    let difference = (value(&x + &direction * step) - value(&x - &direction * step)) / (2.0 * step);
    let slope = (through * direction).sum().item();
    assert!((slope - difference).abs() < 1e-8 * slope.abs(), "{slope} and {difference}");
}

#[test]
fn results_as_long_as_a_power_of_two_are_read_apart() {
    check_jacobian("two of 64", |x: Tensor| (x.exp(), x.sin()), &vector(64));
    check_jacobian("sums of 64", |x: Tensor| x.sum_over(-1), &matrix(3, 64));
    let scalars = |x: Tensor| (0..70).map(|k| x.slice(k).exp()).collect::<Vec<Tensor>>();
    check_jacobian("70 numbers", scalars, &vector(70));
    // A pattern of one's own with entries that nothing computes.
    let pattern = Pattern::from_entries(64, 64, (0..64).flat_map(|k| [(k, k), (k, (k + 1) % 64)])).unwrap();
    let sparse = Sparse::options().pattern(pattern).jacobian(|x: Tensor| x.exp(), &vector(64)).unwrap();
    let mut values = vec![f64::NAN; 128];
    sparse.evaluate(&vector(64), &mut values).unwrap();
    assert_eq!(values.iter().filter(|&&value| value == 0.0).count(), 64);
}

#[test]
fn factors_without_a_seed_are_not_read() {
    // The last column of the padded array depends on nothing, and is multiplied by infinity.
    let weights = Tensor::from([[1.0, 2.0, f64::INFINITY], [3.0, 4.0, f64::INFINITY]]);
    let f = |x: Tensor| x.pad(&[(0, 0, 0), (0, 1, 0)], 0.0) * &weights + x.sum_over(1).expand_dims(1);
    let x = matrix(2, 2);
    let sparse = Sparse::jacobian(f, &x).unwrap();
    let mut values = vec![f64::NAN; sparse.pattern().nnz()];
    sparse.evaluate(&x, &mut values).unwrap();
    assert_eq!(values, [2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 4.0, 1.0, 1.0, 5.0, 1.0, 1.0]);
}

#[test]
fn rows_of_layers_are_written_on_any_number_of_threads() {
    let n = 40_001;
    let x = Tensor::from((0..3 * n).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>()).reshape(&[n as isize, 3]);
    let f = |x: Tensor| (x.slice((.., 0)).exp(), scaled(x));
    let mut expected = Vec::new();
    let numbers = x.to_vec();
    expected.extend(numbers.chunks_exact(3).map(|row| row[0].exp()));
    for row in numbers.chunks_exact(3) {
        let sum = row.iter().map(|x| x * x).sum::<f64>();
        expected.extend((0..9).map(|k| 2.0 * row[k / 3] * row[k % 3] + if k / 3 == k % 3 { sum } else { 0.0 }));
    }
    let mut before: Option<Vec<f64>> = None;
    for threads in [1, 2, 3, 7] {
        wengert::set_threads(threads);
        let sparse = Sparse::jacobian(f, &x).unwrap();
        let mut values = vec![f64::NAN; sparse.pattern().nnz()];
        sparse.evaluate(&x, &mut values).unwrap();
        assert_eq!(values.len(), expected.len());
        assert!(*before.get_or_insert_with(|| values.clone()) == values, "{threads} threads");
        for (k, (value, expected)) in values.iter().zip(&expected).enumerate() {
            assert!((value - expected).abs() <= 1e-14 * 8.0, "{threads} threads: entry {k} is {value}, not {expected}");
        }
    }
}

#[test]
fn what_mixes_has_colours() {
    let weights = matrix(40, 3);
    let f = |x: Tensor| (x.reshape(&[3, 40]).matmul(&weights)).tanh();
    check_jacobian("matmul", f, &vector(120));
    let sums = |x: Tensor| {
        let rows = x.reshape(&[3, 70]);
        (rows.square().sum_over(1), rows.slice((1, ..)).exp() / rows.slice((1, ..)).exp().sum())
    };
    check_jacobian("sums", sums, &vector(210));
    check_hessian("sums", |x: Tensor| x.reshape(&[2, 70]).exp().sum_over(1).ln().sum(), &vector(140));
    check_jacobian("cumulative", |x: Tensor| x.reshape(&[2, 5]).cumsum(1).sin(), &vector(10));
}

#[test]
fn control_flow_and_choices_are_followed() {
    let f = |x: Tensor| {
        let (_, ys) = scan(Tensor::from(0.3), x.clone(), |c: Tensor, row: Tensor| {
            let c = (c + row).sin();
            (c.clone(), c)
        });
        ys * cond(x.sum().gt(0.0), x.clone(), |x: Tensor| x.square(), |x: Tensor| x.exp())
    };
    check_jacobian("scan and cond", f, &vector(6));
    check_jacobian("select", |x: Tensor| x.gt(1.2).where_(x.square(), x.flip(0).exp()), &vector(6));
}

#[test]
fn leaves_are_numbered_one_after_the_other() {
    let f = |(a, [b, c]): (Tensor, [Tensor; 2])| (a.sin() * &b, [c.clone() * b.sum(), c.square()]);
    let x = (Tensor::from(0.7), [vector(3), matrix(2, 2)]);
    let sparse = check_jacobian("tree", f, &x);
    assert_eq!((sparse.pattern().rows(), sparse.pattern().cols()), (11, 8));
    let single = Tensor::from([0.5f32, 1.5, 2.5]);
    check_jacobian("f32", |x: Tensor| x.square() * x.flip(0), &single);
    check_jacobian("f32", |x: Tensor| x.sum() * x.flip(0), &single);
    check_jacobian("empty", |x: Tensor| x.square(), &Tensor::zeros(&[0]));
    check_jacobian("no rows", |x: Tensor| x.slice(0..0), &vector(3));
    check_jacobian("scalar", |x: Tensor| x.sin(), &Tensor::from(0.5));
    check_jacobian("constant", |x: Tensor| x.detach() + 1.0, &vector(2));
    check_hessian("linear", |x: Tensor| x.sum(), &vector(3));
}

#[test]
fn parts_of_a_matrix_are_computed_alone() {
    let x = vector(6);
    let f = |x: Tensor| x.square() * x.flip(0) + x.slice(2);
    let dense = jacobian(x.clone(), f);
    for method in [None, Some(Method::Columns), Some(Method::Rows)] {
        let options = || method.map_or(Sparse::options(), |method| Sparse::options().method(method));
        for sparse in [options().rows([4, 1]).jacobian(f, &x).unwrap(), options().columns([2]).jacobian(f, &x).unwrap()]
        {
            let mut values = vec![f64::NAN; sparse.pattern().nnz()];
            sparse.evaluate(&x, &mut values).unwrap();
            for ((row, col), value) in sparse.pattern().entries().zip(values) {
                assert!((value - dense.to_vec()[row * 6 + col]).abs() < 1e-14);
            }
        }
    }
    let rows = Sparse::options().rows([4, 1]).jacobian(f, &x).unwrap();
    assert!(rows.pattern().row(0).is_empty() && !rows.pattern().row(1).is_empty());
}

/// What is left of a Hessian: rows, columns, or a triangle, with every way and without one.
#[test]
fn parts_of_a_hessian_are_those_of_the_whole() {
    let x = vector(7);
    let (a, b) = (Tensor::from([0i64, 1, 2, 3, 4, 5]), Tensor::from([1i64, 2, 3, 4, 5, 6]));
    let neighbours = |x: Tensor| (x.take(&a, 0) * x.take(&b, 0)).sum() + x.powi(3).sum();
    let arrow = |x: Tensor| (x.slice(0) * x.square().sum()).sin() + x.exp().sum();
    let dense = |x: Tensor| x.sin().cumsum(0).square().sum();
    part_of_hessian("neighbours", neighbours, &x);
    part_of_hessian("arrow", arrow, &x);
    part_of_hessian("dense", dense, &x);
}

fn part_of_hessian(name: &str, f: impl Fn(Tensor) -> Tensor + Copy, x: &Tensor) {
    let whole = hessian(x.clone(), f).to_vec();
    let n = x.shape()[0];
    let ways = [Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense, Method::Star, Method::Acyclic];
    for method in [None].into_iter().chain(ways.map(Some)) {
        for (part, local) in (0..16).map(|part| (part % 8, part >= 8)) {
            let mut options = method.map_or(Sparse::options(), |method| Sparse::options().method(method));
            options = if local { options.local() } else { options };
            options = if part & 1 != 0 { options.lower() } else { options };
            options = if part & 2 != 0 { options.rows([3, 1]) } else { options };
            options = if part & 4 != 0 { options.columns([5, 0, 3]) } else { options };
            let what = format!("{name}, {method:?}, part {part}, local {local}");
            let sparse = match options.hessian(f, x) {
                Ok(sparse) => sparse,
                Err(refused) => {
                    assert!(matches!(method, Some(Method::Star | Method::Acyclic)) && part > 1, "{what}: {refused}");
                    continue;
                }
            };
            let mut values = vec![f64::NAN; sparse.pattern().nnz()];
            sparse.evaluate(x, &mut values).unwrap();
            let mut left = vec![0.0; n * n];
            for ((row, col), value) in sparse.pattern().entries().zip(values) {
                left[row * n + col] = value;
            }
            for (place, (left, whole)) in left.iter().zip(&whole).enumerate() {
                let (row, col) = (place / n, place % n);
                let is_wanted = (part & 1 == 0 || col <= row)
                    && (part & 2 == 0 || [1, 3].contains(&row))
                    && (part & 4 == 0 || [0, 3, 5].contains(&col));
                let wanted = if is_wanted { *whole } else { 0.0 };
                assert!(
                    (left - wanted).abs() < 1e-12 * (1.0 + wanted.abs()),
                    "{what}, ({row}, {col}): {left}, not {wanted}"
                );
            }
            sparse.verify(x).unwrap_or_else(|why| panic!("{what}: {why}"));
            assert!(sparse.explain().contains("taken"), "{}", sparse.explain());
        }
    }
}

#[test]
fn a_lagrangian_takes_its_factors() {
    let x = vector(5);
    let f = |x: Tensor| (x.slice(0..4).square().sum() * x.slice(4), [x.square() * x.flip(0), x.exp()]);
    let sparse = Sparse::hessian_of_lagrangian(f, &x).unwrap();
    let (sigma, lambda) = (0.7, numbers(10));
    let weighted = |x: Tensor| {
        let (objective, [one, two]) = f(x);
        let (u, v) = (Tensor::from(lambda[..5].to_vec()), Tensor::from(lambda[5..].to_vec()));
        objective * sigma + (one * u).sum() + (two * v).sum()
    };
    let dense = hessian(x.clone(), weighted);
    let mut values = vec![0.0; sparse.pattern().nnz()];
    sparse.evaluate_lagrangian(&x, sigma, &lambda, &mut values).unwrap();
    check_values("lagrangian", &sparse, &values, &dense, 1e-13);
    let error = sparse.evaluate_lagrangian(&x, sigma, &lambda[1..], &mut values).unwrap_err().to_string();
    assert!(error.contains("9 factors for 10 constraints") && error.contains("sparsity/arrays.rs"), "{error}");
    assert!(sparse.evaluate(&x, &mut values).unwrap_err().to_string().contains("evaluate_lagrangian"));
}

#[test]
fn many_points_one_after_the_other() {
    let points = [vector(4), vector(4) * 2.0];
    let f = |x: Tensor| x.square() * x.flip(0);
    let sparse = Sparse::jacobian(f, &points[0]).unwrap();
    let nnz = sparse.pattern().nnz();
    let mut values = vec![0.0; 2 * nnz];
    sparse.evaluate_many(&points, &mut values).unwrap();
    for (x, own) in points.iter().zip(values.chunks(nnz)) {
        check_values("points", &sparse, own, &jacobian(x.clone(), f), 1e-13);
    }
    assert!(sparse.evaluate_many(&points, &mut values[1..]).is_err());
}

#[test]
fn mistakes_are_named() {
    let x = vector(3);
    let f = |x: Tensor| x.square() * x.flip(0);
    let check = |error: wengert::Error, part: &str| {
        let text = error.to_string();
        assert!(text.contains(part) && text.contains("sparsity/arrays.rs"), "{text}");
    };
    let sparse = Sparse::jacobian(f, &x).unwrap();
    check(sparse.evaluate(&x, &mut [0.0; 2]).unwrap_err(), "2 values for 5 entries");
    check(
        sparse.evaluate(&vector(4), &mut [0.0; 5]).unwrap_err(),
        "leaf 0 of the point is f64[4], and has to be f64[3]",
    );
    let diagonal = || Sparse::options().pattern(Pattern::diagonal(3));
    check(diagonal().check(true).jacobian(f, &x).unwrap_err(), "lacks the entry (0, 2)");
    check(Sparse::options().pattern(Pattern::diagonal(2)).jacobian(f, &x).unwrap_err(), "of 2 x 2");
    check(Sparse::options().lower().jacobian(f, &x).unwrap_err(), "triangle");
    check(Sparse::options().rows([3]).jacobian(f, &x).unwrap_err(), "row 3 is wanted, and there are 3");
    check(Sparse::options().method(Method::Star).jacobian(f, &x).unwrap_err(), "symmetric");
    check(Sparse::options().method(Method::EdgePushing).jacobian(f, &x).unwrap_err(), "recorded functions of numbers");
    let mixed = |x: Tensor| x.exp().sum() * &x;
    check(Sparse::options().method(Method::Direct).jacobian(mixed, &vector(100)).unwrap_err(), "choose another method");
    let (whole, truths) = (Tensor::from([1i64]), Tensor::from([true]));
    for point in [&whole, &truths] {
        check(Sparse::jacobian(|x: Tensor| x.to_f64(), point).unwrap_err(), "no derivative by integers");
        check(
            Sparse::options().rows([0]).jacobian(|x: Tensor| x.to_f64(), point).unwrap_err(),
            "no derivative by integers",
        );
        check(Sparse::hessian(|x: Tensor| x.to_f64().sum(), point).unwrap_err(), "no derivative by integers");
    }
    check(Sparse::hessian(|x: Tensor| x, &vector(2)).unwrap_err(), "has to be a single real number");
    let nested = std::panic::catch_unwind(|| {
        grad(&x, |y| {
            let sparse = Sparse::jacobian(|x: Tensor| x * &y, &Tensor::from([1.0, 2.0, 3.0]));
            assert!(sparse.unwrap_err().to_string().contains("recording under way"));
            y.sum()
        })
    });
    assert!(nested.is_ok());
}

#[test]
fn a_product_finds_what_a_pattern_lacks() {
    let x = vector(6);
    let f = |x: Tensor| x.square() * x.flip(0) + x.slice(2);
    Sparse::jacobian(f, &x).unwrap().verify(&x).unwrap();
    for method in [Method::Columns, Method::Rows, Method::Bidirectional] {
        let wrong = Sparse::options().method(method).pattern(Pattern::diagonal(6)).jacobian(f, &x).unwrap();
        let text = wrong.verify(&x).unwrap_err().to_string();
        assert!(
            text.contains("row 0") && text.contains("lacks an entry") && text.contains("sparsity/arrays.rs"),
            "{text}"
        );
    }
    let g = |x: Tensor| f(x).square().sum();
    for options in
        [Sparse::options(), Sparse::options().lower(), Sparse::options().rows([1, 3]), Sparse::options().columns([0])]
    {
        options.hessian(g, &x).unwrap().verify(&x).unwrap();
    }
    // Of a triangle without some rows or columns too, in what is compared of it.
    let lower = || Sparse::options().lower().method(Method::Columns);
    for options in [lower(), lower().rows([2, 4]), lower().columns([1, 3]), lower().rows([4]).columns([1, 4])] {
        options.clone().hessian(g, &x).unwrap().verify(&x).unwrap();
        let wrong = options.pattern(Pattern::diagonal(6)).hessian(g, &x).unwrap();
        assert!(wrong.verify(&x).is_err(), "{}", wrong.explain());
    }
    let single = Tensor::from([0.5f32, 1.5, 2.5]);
    // Rows whose terms cancel have roundings of the others.
    let x = Tensor::from([1.0, 2.0, 4.0]);
    let smooth = |x: Tensor| fft_convolve(&x, &Tensor::from([1.0, -0.5]), Convolved::Same);
    Sparse::options().columns([1]).jacobian(smooth, &x).unwrap().verify(&x).unwrap();
    let a = Tensor::from([[2.0, 1.0, 0.3], [0.5, 3.0, -1.0], [0.1, 0.7, 1.5]]);
    let cancels = |x: Tensor| Tensor::concat([x.clone() * 2.0, a.inv().matmul(&a.matmul(&x.sin())) - x.sin()], 0);
    Sparse::jacobian(cancels, &x).unwrap().verify(&x).unwrap();
    Sparse::jacobian(|x: Tensor| x.exp() * x.sum(), &single).unwrap().verify(&single).unwrap();
}

#[test]
fn drivers_give_entries_that_others_differentiate() {
    let x = vector(5);
    let f = |x: Tensor| x.square() * x.flip(0) + x.cumsum(0).sin();
    let dense = jacobian(x.clone(), f);
    let sparse = sparse_jacobian(x.clone(), f);
    assert_eq!(sparse.pattern().nnz(), sparse.values().ty().size());
    for ((row, col), value) in sparse.pattern().entries().zip(sparse.values().to_vec()) {
        assert!((value - dense.to_vec()[row * 5 + col]).abs() < 1e-13);
    }
    // The derivative of the entries' squares, inside another driver, with its point captured and given.
    let layers = |x: Tensor| x.square() * x.slice(0..5).flip(0);
    for f in [f as fn(Tensor) -> Tensor, layers] {
        let through = grad(x.clone(), |x| sparse_jacobian(x, f).values().square().sum());
        let direct = grad(x.clone(), |x| jacobian(x, f).square().sum());
        for (a, b) in through.to_vec().iter().zip(direct.to_vec()) {
            assert!((a - b).abs() <= 1e-11 * b.abs().max(1.0), "{a} and {b}");
        }
    }
    let captured =
        grad(Tensor::from(0.5), |a| sparse_jacobian(x.clone(), |x| x.square() * &a * a.exp()).values().sum());
    let expected = 2.0 * x.sum().item() * 1.5 * 0.5f64.exp();
    assert!((captured.item() - expected).abs() < 1e-12 * expected);
    // Entries that are one number, which is a variable.
    let one =
        |h: &Tensor| sparse_jacobian(x.clone(), |x| (x.slice(1..) - x.slice(..-1)) * h.exp()).values().square().sum();
    let slope = grad(Tensor::from(0.5), |h| one(&h)).item();
    let second = grad(Tensor::from(0.5), |h| grad(&h, |h| one(&h))).item();
    assert!((slope - 16.0 * 1f64.exp()).abs() < 1e-13 * slope && (second - 2.0 * slope).abs() < 1e-13 * second);
    let hessian = sparse_hessian(x.clone(), |x| x.slice(0..4).square().sum() * x.slice(4));
    assert_eq!(hessian.to_csr().nnz(), 12);
    let single = sparse_jacobian(Tensor::from([0.5f32, 1.5]), |x| x.exp());
    assert_eq!((single.values().dtype(), single.to_csr().nnz()), (DType::F32, 2));
    let lagrangian =
        sparse_hessian_of_lagrangian(x.clone(), 2.0, &[1.0, 0.5], |x| (x.square().sum(), x.slice(0..2).exp()));
    assert!((lagrangian.to_csr().values()[1] - (4.0 + 0.5 * x.to_vec()[1].exp())).abs() < 1e-12);
    let numbers = sparse_hessian_of_lagrangian([1.0, 2.0], 0.5, &[3.0], |[x, y]| (x * x, [x * y]));
    assert_eq!(numbers.to_dense(), [[1.0, 3.0], [3.0, 0.0]]);
}

#[test]
fn the_planner_says_what_it_took_and_why() {
    let weights = matrix(40, 3);
    let f = |x: Tensor| (x.reshape(&[3, 40]).matmul(&weights)).tanh();
    let x = vector(120);
    let text = Sparse::jacobian(f, &x).unwrap().explain();
    // Three rows of sums over a long axis: backwards each is a repetition, or three colours of rows.
    assert!(text.starts_with("sparse_jacobian of 9 x 120, 360 entries\n"), "{text}");
    for way in ["dense", "columns", "rows", "bidirectional", "direct", "edge pushing"] {
        assert!(text.contains(&format!(" {way} ")), "{way}: {text}");
    }
    assert_eq!(text.matches("->").count(), 1, "{text}");
    let forced = Sparse::options().method(Method::Columns).jacobian(f, &x).unwrap();
    let text = forced.explain();
    assert!(text.contains("-> columns") && text.contains("taken: columns, because it was asked for"), "{text}");
    assert_eq!(forced.colours(), 40);
}
