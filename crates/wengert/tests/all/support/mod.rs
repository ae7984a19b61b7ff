//! What the tests of array Programs share: random numbers, arithmetic on arrays, comparisons.

pub(crate) mod caught;
pub(crate) mod engine;
pub(crate) mod executors;
pub(crate) mod loops;
pub(crate) mod nightly;
pub(crate) mod process;
pub(crate) mod slices;

use std::sync::Arc;

use wengert::primitives::{Convert, Literal, Op};
use wengert::{Array, Builder, DType, Program, Type, Value};

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast splittable pseudorandom number
/// generators*, 2014): the same numbers in every run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A number in `[-1, -1/4]` or `[1/4, 1]`, a multiple of 2^-12: never so small that its operand
    /// is left out, and exact in single precision.
    pub(crate) fn direction(&mut self) -> f64 {
        let size = (1024 + self.below(3073)) as f64 / 4096.0;
        if self.below(2) == 0 { size } else { -size }
    }

    /// Such numbers in an array; zeros if its elements are not real.
    pub(crate) fn directions(&mut self, ty: &Type) -> Array {
        let elements = (0..ty.size()).map(|_| if ty.dtype.is_float() { self.direction() } else { 0.0 });
        array(ty, &elements.collect::<Vec<f64>>())
    }
}

/// The rounding unit of an element type; 0 where arithmetic is exact.
pub(crate) fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::Bool | DType::I64 => 0.0,
        DType::F32 => f64::from(f32::EPSILON),
        DType::F64 => f64::EPSILON,
    }
}

/// The coarsest rounding unit among the values of a Program.
pub(crate) fn coarsest(program: &Program) -> f64 {
    let results = program.eqns().iter().flat_map(|eqn| eqn.outs()).map(|out| program.ty(out).dtype);
    let all = program.input_types().iter().map(|ty| ty.dtype).chain(results);
    let inside = program.eqns().iter().flat_map(|eqn| inner_programs(&eqn.op)).map(|inner| coarsest(&inner));
    all.map(epsilon).chain(inside).fold(f64::EPSILON, f64::max)
}

/// The Programs that an operation holds.
pub(crate) fn inner_programs(op: &Op) -> Vec<Program> {
    op.primitive().programs().into_iter().map(|program| Program::clone(program)).collect()
}

/// An array of this type with these numbers, rounded to its elements.
pub(crate) fn array(ty: &Type, elements: &[f64]) -> Array {
    match ty.dtype {
        DType::Bool => Array::new(&ty.shape, elements.iter().map(|&x| x != 0.0).collect::<Vec<bool>>()),
        DType::I64 => Array::new(&ty.shape, elements.iter().map(|&x| x as i64).collect::<Vec<i64>>()),
        DType::F32 => Array::new(&ty.shape, elements.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(&ty.shape, elements.to_vec()),
    }
}

/// `a x + b y`, rounded once.
pub(crate) fn combine(a: f64, x: &Array, b: f64, y: &Array) -> Array {
    let sums = x.to_f64().into_iter().zip(y.to_f64()).map(|(x, y)| a * x + b * y);
    array(x.ty(), &sums.collect::<Vec<f64>>())
}

/// `a x`
pub(crate) fn scaled(a: f64, x: &Array) -> Array {
    array(x.ty(), &x.to_f64().into_iter().map(|x| a * x).collect::<Vec<f64>>())
}

/// The numbers of several arrays, one array after the other.
pub(crate) fn flat(arrays: &[Array]) -> Vec<f64> {
    arrays.iter().flat_map(Array::to_f64).collect()
}

/// The Program of one operation with operands of these types.
pub(crate) fn program_of(op: &Op, types: &[&Type]) -> Result<Program, String> {
    let mut b = Builder::new();
    let args: Vec<Value> = types.iter().map(|&ty| b.input("", ty.clone())).collect();
    let outs = b.emit(op.clone(), &args).map_err(|error| error.to_string())?;
    Ok(b.finish(&outs))
}

/// The same computation in double precision throughout; `None` if an operation insists on single
/// precision.
pub(crate) fn widened(program: &Program) -> Option<Program> {
    let wide = |ty: &Type| if ty.dtype == DType::F32 { ty.with_dtype(DType::F64) } else { ty.clone() };
    let mut b = Builder::new();
    let mut values: Vec<Value> = program.input_types().iter().map(|ty| b.input("", wide(ty))).collect();
    let names: Vec<Value> = program.inputs().chain(program.eqns().iter().flat_map(|eqn| eqn.outs())).collect();
    let place = |value: &Value| names.iter().position(|name| name == value).expect("every value is defined");
    for eqn in program.eqns() {
        let op = match &eqn.op {
            Op::Literal(Literal::F32(x)) => Literal::F64(f64::from(*x)).into(),
            Op::Convert(Convert(DType::F32)) => Convert(DType::F64).into(),
            op if op.programs().is_empty() => op.clone(),
            op => {
                let inner = op.programs().into_iter().map(|inner| widened(inner).map(Arc::new));
                op.with_programs(inner.collect::<Option<_>>()?)
            }
        };
        let args: Vec<Value> = eqn.args.iter().map(|arg| values[place(arg)]).collect();
        values.extend(b.emit(op, &args).ok()?);
    }
    let outputs: Vec<Value> = program.outputs().iter().map(|output| values[place(output)]).collect();
    Some(b.finish(&outputs))
}

/// The same numbers in double precision.
pub(crate) fn widened_array(x: &Array) -> Array {
    if x.dtype() == DType::F32 { array(&x.ty().with_dtype(DType::F64), &x.to_f64()) } else { x.clone() }
}

/// Whether `got` is within `tolerance` of `wanted`. NaN never is.
pub(crate) fn close(got: f64, wanted: f64, tolerance: f64) -> bool {
    (got - wanted).abs() <= tolerance
}

/// The first place where numbers differ by more than a bound of their own.
pub(crate) fn compare(what: &str, got: &[f64], wanted: &[f64], tolerance: impl Fn(usize) -> f64) -> Result<(), String> {
    if got.len() != wanted.len() {
        return Err(format!("{what}: {} numbers instead of {}", got.len(), wanted.len()));
    }
    match (0..got.len()).find(|&k| !close(got[k], wanted[k], tolerance(k))) {
        Some(k) => Err(format!(
            "{what}: number {k} is {:e} instead of {:e}, off by {:e} of {:e} allowed",
            got[k],
            wanted[k],
            (got[k] - wanted[k]).abs(),
            tolerance(k)
        )),
        None => Ok(()),
    }
}

/// Whether two arrays are the same to the bit, all NaN counted as one.
pub(crate) fn same(x: &Array, y: &Array) -> bool {
    let alike = |(x, y): (f64, f64)| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    x.same_bits(y) || (x.ty() == y.ty() && x.dtype().is_float() && x.to_f64().into_iter().zip(y.to_f64()).all(alike))
}

/// Arrays of one type, one after the other along a new axis in front.
pub(crate) fn stack(ty: &Type, arrays: &[Array]) -> Array {
    let shape: Vec<usize> = [&[arrays.len()], &ty.shape[..]].concat();
    match ty.dtype {
        DType::Bool => stack_of::<bool>(&shape, arrays),
        DType::I64 => stack_of::<i64>(&shape, arrays),
        DType::F32 => stack_of::<f32>(&shape, arrays),
        DType::F64 => stack_of::<f64>(&shape, arrays),
    }
}

fn stack_of<T: wengert::Element>(shape: &[usize], arrays: &[Array]) -> Array {
    let elements = arrays.iter().flat_map(|array| array.elements::<T>().expect("of one type").iter().copied());
    Array::new(shape, elements.collect::<Vec<T>>())
}
