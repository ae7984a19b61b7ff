//! Products with sparse matrices, and products at the entries of a pattern.
//!
//! They are computed in the element type, while the definitions compute in double precision and round; every sum is in the order
//! of the definition.

use std::ops::{AddAssign, Mul};

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::{Cell, GRAIN, Kernel, KernelCall};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{SharedPattern, SparseOuter, SparseProduct, SparseUnit};

/// Real numbers.
trait Real: Cell + Mul<Output = Self> + AddAssign + Sync + Send {}

impl Real for f32 {}
impl Real for f64 {}

/// A product with a batch of sparse matrices, or with the transposed ones.
#[derive(Debug)]
pub(super) struct ProductKernel {
    pattern: SharedPattern,
    transpose: bool,
    kind: Kind,
    /// Matrices of the batch, and columns of the other operand.
    count: usize,
    columns: usize,
}

impl ProductKernel {
    pub(super) fn new(op: &SparseProduct, args: &[&Type]) -> Self {
        let [lead @ .., _, columns] = &args[1].shape[..] else { unreachable!("inference asks for a matrix") };
        let (pattern, transpose) = (op.pattern.clone(), op.transpose);
        ProductKernel { pattern, transpose, kind: kind(args[0].dtype), count: lead.iter().product(), columns: *columns }
    }

    fn sizes(&self) -> [usize; 2] {
        let (rows, cols) = (self.pattern.rows(), self.pattern.cols());
        if self.transpose { [cols, rows] } else { [rows, cols] }
    }

    fn multiply<T: Real>(&self, call: KernelCall<'_, '_>) {
        let ([given, taken], columns, count) = (self.sizes(), self.columns, self.pattern.nnz());
        let (values, x) = (T::of(&call.args[0]), T::of(&call.args[1]));
        // The entries of each row of the result, and where their numbers are.
        let (pattern, order) = match self.transpose {
            false => (&*self.pattern, None),
            true => (&self.pattern.by_columns().pattern, Some(&self.pattern.by_columns().entries[..])),
        };
        let row = |values: &[T], x: &[T], row: usize, y: &mut [T]| {
            y.fill(T::default());
            for place in pattern.starts()[row]..pattern.starts()[row + 1] {
                let value = values[order.map_or(place, |order| order[place])];
                let x = &x[pattern.columns()[place] as usize * columns..][..columns];
                y.iter_mut().zip(x).for_each(|(y, x)| *y += value * *x);
            }
        };
        let rows = GRAIN.div_ceil(columns * (1 + count / given.max(1)).max(1)).max(1);
        for matrix in 0..self.count {
            let (values, x) = (&values[matrix * count..][..count], &x[matrix * taken * columns..][..taken * columns]);
            let y = &mut T::of_mut(&mut call.outs[0])[matrix * given * columns..][..given * columns];
            for_chunks(call.pool, y, rows * columns, |part, y| {
                y.chunks_exact_mut(columns).enumerate().for_each(|(k, y)| row(values, x, part * rows + k, y));
            });
        }
    }
}

impl Kernel for ProductKernel {
    fn name(&self) -> String {
        "sparse_product".to_owned()
    }
    fn operations(&self) -> usize {
        let rows = self.sizes()[0];
        self.count.saturating_mul(self.columns).saturating_mul(2 * self.pattern.nnz() + rows)
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if self.columns > 0 {
            if self.kind == Kind::F32 { self.multiply::<f32>(call) } else { self.multiply::<f64>(call) }
        }
        Ok(())
    }
}

/// Products of the rows of two matrices, one for each entry.
#[derive(Debug)]
pub(super) struct OuterKernel {
    pattern: SharedPattern,
    kind: Kind,
    count: usize,
    columns: usize,
}

impl OuterKernel {
    pub(super) fn new(op: &SparseOuter, args: &[&Type]) -> Self {
        let [lead @ .., _, columns] = &args[0].shape[..] else { unreachable!("inference asks for a matrix") };
        let (pattern, kind) = (op.pattern.clone(), kind(args[0].dtype));
        OuterKernel { pattern, kind, count: lead.iter().product(), columns: *columns }
    }

    fn multiply<T: Real>(&self, call: KernelCall<'_, '_>) {
        let (pattern, columns, count) = (&self.pattern, self.columns, self.pattern.nnz());
        let (u, v) = (T::of(&call.args[0]), T::of(&call.args[1]));
        let part_size = GRAIN.div_ceil(columns.max(1));
        for matrix in 0..self.count {
            let u = &u[matrix * pattern.rows() * columns..][..pattern.rows() * columns];
            let v = &v[matrix * pattern.cols() * columns..][..pattern.cols() * columns];
            let out = &mut T::of_mut(&mut call.outs[0])[matrix * count..][..count];
            for_chunks(call.pool, out, part_size, |part, out| {
                let first = part * part_size;
                let mut row = pattern.starts().partition_point(|&start| start <= first) - 1;
                for (k, out) in out.iter_mut().enumerate() {
                    while pattern.starts()[row + 1] <= first + k {
                        row += 1;
                    }
                    let u = &u[row * columns..][..columns];
                    let v = &v[pattern.columns()[first + k] as usize * columns..][..columns];
                    *out = T::default();
                    u.iter().zip(v).for_each(|(u, v)| *out += *u * *v);
                }
            });
        }
    }
}

impl Kernel for OuterKernel {
    fn name(&self) -> String {
        "sparse_outer".to_owned()
    }
    fn operations(&self) -> usize {
        self.count.saturating_mul(self.pattern.nnz()).saturating_mul(2 * self.columns + 1)
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if self.kind == Kind::F32 {
            self.multiply::<f32>(call)
        } else {
            self.multiply::<f64>(call)
        }
        Ok(())
    }
}

/// Values of a regular matrix.
#[derive(Debug)]
pub(super) struct UnitKernel {
    pattern: SharedPattern,
}

impl UnitKernel {
    pub(super) fn new(op: &SparseUnit) -> Self {
        UnitKernel { pattern: op.pattern.clone() }
    }
}

impl Kernel for UnitKernel {
    fn name(&self) -> String {
        "sparse_unit".to_owned()
    }
    fn operations(&self) -> usize {
        self.pattern.nnz()
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let values = i64::of_mut(&mut call.outs[0]);
        values.fill(0);
        self.pattern.transversal()?.iter().for_each(|&entry| values[entry] = 1);
        Ok(())
    }
}
