//! Sparse Jacobians of random Programs, by every method, against the dense one column by column.

use wengert::primitives::Call;
use wengert::sparsity::{Method, Sparse, SparseOptions};
use wengert::{Array, Builder, DType, Error, Program, Tensor, Type, Value};

use super::generate::{Generated, generate};
use crate::support::caught;
use crate::support::caught::Checked;
use crate::support::nightly::seeds;

/// Up to this number of columns and rows a Jacobian is compared.
const MOST: usize = 48;

/// The real results of a Program by its real inputs, which come first.
fn real(case: &Generated) -> (Program, Vec<Array>, Vec<Array>) {
    let mut b = Builder::new();
    let types = case.program.input_types();
    let is_real = |ty: &Type| ty.dtype.is_float();
    let order: Vec<usize> = (0..types.len())
        .filter(|&k| is_real(&types[k]))
        .chain((0..types.len()).filter(|&k| !is_real(&types[k])))
        .collect();
    let mut args: Vec<Option<Value>> = vec![None; types.len()];
    for &k in &order {
        args[k] = Some(b.input("", types[k].clone()));
    }
    let args: Vec<Value> = args.into_iter().flatten().collect();
    let outs = b.emit(Call::new(case.program.clone()), &args).expect("its own operands fit");
    let outs: Vec<Value> = outs.into_iter().filter(|&out| is_real(b.ty(out))).collect();
    let (point, others) = order.iter().map(|&k| case.args[k].clone()).partition(|arg| is_real(arg.ty()));
    (b.finish(&outs), point, others)
}

/// The Jacobian, one tangent after the other.
fn dense(program: &Program, point: &[Array], others: &[Array]) -> Result<Vec<Vec<f64>>, Error> {
    let active: Vec<bool> = (0..program.input_types().len()).map(|k| k < point.len()).collect();
    let jvp = program.jvp(&active)?;
    let mut columns = Vec::new();
    for (leaf, array) in point.iter().enumerate() {
        for element in 0..array.size() {
            let seed = |(k, array): (usize, &Array)| {
                let mut numbers = vec![0.0; array.size()];
                if k == leaf {
                    numbers[element] = 1.0;
                }
                match array.dtype() {
                    DType::F32 => Array::new(array.shape(), numbers.into_iter().map(|x| x as f32).collect()),
                    _ => Array::new(array.shape(), numbers),
                }
            };
            let seeds: Vec<Array> = point.iter().enumerate().map(seed).collect();
            let results = jvp.run(&[point, others, &seeds].concat())?;
            columns.push(results[program.outputs().len()..].iter().flat_map(Array::to_f64).collect());
        }
    }
    Ok(columns)
}

fn check(case: &Generated, compared: &mut [usize; 5]) -> Checked {
    let text = |error: Error| error.to_string();
    let (program, point, others) = real(case);
    let cols: usize = point.iter().map(Array::size).sum();
    let rows: usize = program.output_types().iter().map(Type::size).sum();
    if cols > MOST || rows > MOST {
        return Ok(());
    }
    let columns = dense(&program, &point, &others).map_err(text)?;
    let finite = columns.iter().flatten().all(|x| x.is_finite());
    let largest = columns.iter().flatten().fold(1.0, |most: f64, x| most.max(x.abs()));
    if !finite || largest > 1e6 {
        return Ok(());
    }
    let is_single = |ty: &Type| ty.dtype == DType::F32;
    let single = program.to_string().contains("f32") || point.iter().any(|array| is_single(array.ty()));
    let bound = if single { 2e-4 } else { 1e-12 } * largest;
    let tensors: Vec<Tensor> = point.iter().cloned().map(Tensor::from_array).collect();
    let ways = [None, Some(Method::Columns), Some(Method::Rows), Some(Method::Bidirectional), Some(Method::Dense)];
    for (k, way) in ways.into_iter().enumerate() {
        let options = way.map_or(SparseOptions::default(), |method| Sparse::options().method(method));
        let sparse = options.program(&program, &others).map_err(text)?;
        let mut values = vec![f64::NAN; sparse.pattern().nnz()];
        sparse.evaluate(&tensors, &mut values).map_err(text)?;
        let mut left = columns.clone();
        for ((row, col), value) in sparse.pattern().entries().zip(values) {
            let expected = std::mem::take(&mut left[col][row]);
            if (value - expected).abs() > bound || value.is_nan() {
                return Err(format!("({row}, {col}) by {} is {value} and not {expected}", sparse.method()));
            }
        }
        if let Some(col) = left.iter().position(|column| column.iter().any(|&x| x != 0.0)) {
            return Err(format!("the pattern of {} lacks an entry of column {col}", sparse.method()));
        }
        compared[k] += 1;
    }
    Ok(())
}

#[test]
fn sparse_jacobians_of_random_programs_are_the_dense_ones() {
    let seeds = seeds(300, 10_000);
    let (mut compared, mut failures) = ([0; 5], Vec::new());
    for seed in seeds.clone() {
        let steps = 3 + seed as usize % 8;
        let case = generate(seed, steps);
        match caught::caught("a sparse Jacobian", || check(&case, &mut compared)) {
            Ok(Ok(())) => {}
            Ok(Err(why)) | Err(why) => failures.push(format!("seed {seed}, {steps} steps: {why}\n{}", case.program)),
        }
        if failures.len() == 4 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(compared.iter().all(|&count| count > seeds.clone().count() / 4), "compared by each method: {compared:?}");
}
