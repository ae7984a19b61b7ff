//! Sparse derivatives at points of tensors, as tensors: run at once, or recorded where another driver is under way.

use std::panic::Location;
use std::sync::Arc;

use super::super::arrays::Source;
use super::super::gather::Gathering;
use super::super::planner::entries;
use super::super::prepared::{Kind, lagrangian};
use super::super::{Csr, Pattern};
use super::SparseLeaf;
use crate::array::{Array, DType, Type};
use crate::drive::{FrozenLeaf, record_loss_with, record_with};
use crate::error::{Error, Line, OrRaise};
use crate::primitives::{Concat, Gather, OutOfBounds, Scatter, Slice, Write};
use crate::program::{Builder, Program, Value, inline, same_inputs};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed};
use crate::tree::{Tree, leaves};

/// A sparse matrix whose entries are a tensor: numbers, or values of a recording under way.
///
/// The entries are those of the pattern, row by row, so that pattern and values are what
/// a sparse solver takes.
#[derive(Clone, Debug)]
pub struct SparseTensor {
    pattern: Arc<Pattern>,
    values: Tensor,
}

impl SparseTensor {
    /// Which entries there are.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The entries, row by row.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// The matrix as numbers; those in single precision are widened.
    ///
    /// # Panics
    /// Inside a driver, if a derivative flows to the entries.
    #[track_caller]
    pub fn to_csr(&self) -> Csr {
        Csr::new(self.pattern.clone(), self.values.to_array().to_f64()).expect("a value for each entry")
    }
}

impl SparseLeaf for Tensor {
    type Matrix = SparseTensor;

    fn sparse_jacobian<T, O>(x: &T, f: impl Fn(T::Vars) -> O) -> SparseTensor
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        let (_, point, closed) = record_with(FrozenLeaf::Severed, "sparse_jacobian", x, f, |output| leaves(output));
        matrix(Kind::Jacobian, &closed, &point, &[], Location::caller()).or_raise()
    }

    fn sparse_hessian<T: Tree<Leaf = Tensor>>(x: &T, f: impl Fn(T::Vars) -> Tensor) -> SparseTensor {
        let (point, closed) = record_loss_with(FrozenLeaf::Severed, "sparse_hessian", x, f);
        matrix(Kind::Hessian, &closed, &point, &[], Location::caller()).or_raise()
    }

    fn sparse_hessian_of_lagrangian<T, O>(
        x: &T,
        sigma: f64,
        lambda: &[f64],
        f: impl Fn(T::Vars) -> (Tensor, O),
    ) -> SparseTensor
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        let (closed, factors) = lagrangian(x, f, line).or_raise();
        let factors = factors.numbers(sigma, lambda, "sparse_hessian_of_lagrangian", line).or_raise();
        let factors: Vec<Tensor> = factors.into_iter().map(Tensor::from_array).collect();
        matrix(Kind::Lagrangian, &closed, &leaves(x), &factors, line).or_raise()
    }
}

/// The matrix of a closed recording at a point and factors.
#[track_caller]
fn matrix(
    kind: Kind,
    closed: &Closed,
    point: &[Tensor],
    factors: &[Tensor],
    line: Line,
) -> Result<SparseTensor, Error> {
    let mut source = Source::recorded(closed, point.len(), line);
    if kind.is_symmetric() {
        source = source.differentiated()?;
    }
    let found = entries(kind, &source)?;
    let (program, places) = with_entries(&found.made.program, &found.gathering, &found.made.lengths());
    let more = found.numbers.into_iter().chain(found.made.tables).chain(places);
    let more: Vec<Tensor> = more.map(Tensor::from_array).collect();
    let operands: Vec<&Tensor> = point.iter().chain(factors).chain(&closed.captures).chain(&more).collect();
    let mut values = graph::apply_program(kind.driver(), &program, &operands).map_err(|error| error.at(Some(line)))?;
    Ok(SparseTensor { pattern: found.pattern, values: values.remove(0) })
}

/// The Program that gives the entries one after the other, and the indices that it takes behind its other inputs.
fn with_entries(program: &Program, gathering: &Gathering, lengths: &[usize]) -> (Program, Vec<Array>) {
    let (sources, more) = gathering.flat(lengths);
    let count = sources.len();
    // Entries that follow each other where they are computed are a slice.
    let follow = sources.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let begin = sources.first().filter(|_| follow).map(|&begin| begin as usize);
    let column = |indices: Vec<i64>| Array::new(&[indices.len(), 1], indices);
    let mut places = Vec::new();
    if begin.is_none() {
        places.push(column(sources));
    }
    let mut b = Builder::new();
    let mut args = same_inputs(&mut b, program);
    if !more.is_empty() {
        places.push(column(more.iter().map(|&(_, source)| source).collect()));
        places.push(column(more.iter().map(|&(entry, _)| entry).collect()));
    }
    let indices: Vec<Value> = places.iter().map(|place| b.input("", place.ty().clone())).collect();
    args.truncate(program.input_types().len());
    let parts = inline(&mut b, program, &args);
    let is_single = !parts.is_empty() && parts.iter().all(|&part| b.dtype(part) == DType::F32);
    let dtype = if is_single { DType::F32 } else { DType::F64 };
    let flat = |b: &mut Builder, part: &Value| {
        let size = b.ty(*part).size();
        let part = b.reshape(*part, &[size]);
        b.convert(part, dtype)
    };
    let mut flat: Vec<Value> = parts.iter().map(|part| flat(&mut b, part)).collect();
    // The source of what nothing computes.
    flat.push(b.full(0.0, &Type::new(dtype, &[1])));
    let all = if flat.len() == 1 { flat[0] } else { b.op(Concat { axis: 0 }, &flat) };
    let pick = Gather::new(&[0], OutOfBounds::Error);
    let mut values = match begin {
        Some(begin) => b.op(Slice::along(&[b.ty(all).size()], 0, begin, begin + count), &[all]),
        None => b.op(pick.clone(), &[all, indices[0]]),
    };
    if let ([.., sources, entries], false) = (&indices[..], more.is_empty()) {
        let added = b.op(pick, &[all, *sources]);
        values = b.op(Scatter::new(&[0], OutOfBounds::Error, Write::Add), &[values, *entries, added]);
    }
    (b.finish(&[values]), places)
}
