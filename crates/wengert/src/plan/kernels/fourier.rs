//! Fourier transforms along axes, one axis after another.
//!
//! They are computed in the element type, while the definition sums in double precision and rounds: the results agree up to a
//! few units, times the logarithm of the length, of the root of the mean square.

use std::ops::Range;

use wengert_kernels::arena::{Carver, Line, lines_for, typed, typed_mut};
use wengert_kernels::fourier::{self, Number, Plan, Transform, Weights};
use wengert_kernels::region::{Slice, SliceMut};

use super::{Cell, Kernel, KernelCall};
use crate::array::{DType, Type};
use crate::error::Misfit;
use crate::primitives::{Fft, FftKind, HalfWeights, Primitive};

/// A transform, with the factors of each axis.
#[derive(Debug)]
pub(super) enum FourierKernel {
    /// In single precision.
    F32(Stages<f32>),
    /// In double precision.
    F64(Stages<f64>),
}

impl FourierKernel {
    pub(super) fn new(op: &Fft, x: &Type) -> Self {
        match x.dtype {
            DType::F32 => FourierKernel::F32(Stages::new(op, x)),
            DType::F64 => FourierKernel::F64(Stages::new(op, x)),
            DType::Bool | DType::I64 => unreachable!("inference asks for real numbers"),
        }
    }
}

/// The axes in their order.
#[derive(Debug)]
pub(super) struct Stages<T> {
    name: String,
    stages: Vec<Stage<T>>,
    /// Elements of the largest array between two axes that is kept in the workspace; how many of them there are.
    between: [usize; 2],
    size: usize,
}

/// The transform along one axis.
#[derive(Debug)]
struct Stage<T> {
    plan: Plan<T>,
    /// Elements before and behind the axis.
    around: [usize; 2],
    /// Of one part of what goes out.
    size: usize,
    /// Whether there is an imaginary part of what comes in, and of what goes out.
    complex: [bool; 2],
    from: Home,
    to: Home,
}

/// Where a pair of arrays lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Operands,
    /// In the workspace, one of two places.
    Between(usize),
    Results,
}

impl<T: Number + Cell> Stages<T> {
    fn new(op: &Fft, x: &Type) -> Self {
        let order: Vec<usize> = op.in_order().collect();
        let mut shape = x.shape.clone();
        let (mut stages, mut from, mut between) = (Vec::with_capacity(order.len()), Home::Operands, [0; 2]);
        for (place, &k) in order.iter().enumerate() {
            let (axis, n, given) = (op.axes[k], op.lengths[k], op.counts[k]);
            let is_last = k + 1 == op.axes.len();
            let kind = match op.kind {
                FftKind::RealToHalf(weights) if is_last => fourier::Kind::RealToHalf(weights_of(weights)),
                FftKind::HalfToReal(weights) if is_last => fourier::Kind::HalfToReal(weights_of(weights)),
                FftKind::Complex | FftKind::RealToHalf(_) | FftKind::HalfToReal(_) => fourier::Kind::Complex,
            };
            let scale = if place + 1 == order.len() { op.factor() } else { 1.0 };
            let around = [&shape[..axis], &shape[axis + 1..]].map(|axes| axes.iter().product());
            let plan = Plan::new(Transform { n, taken: shape[axis], given, kind, inverse: op.inverse, scale }, around);
            shape[axis] = given;
            let size = shape.iter().product();
            // In the place of the results, if the axes that follow keep the shape and the kind.
            let keeps = |&k: &usize| op.counts[k] == shape[op.axes[k]];
            let stays = place + 1 == order.len()
                || order[place + 1..].iter().all(keeps) && !matches!(op.kind, FftKind::HalfToReal(_));
            let to = match from {
                _ if stays => Home::Results,
                Home::Between(0) => Home::Between(1),
                Home::Operands | Home::Between(_) | Home::Results => Home::Between(0),
            };
            if let Home::Between(place) = to {
                between = [between[0].max(size), between[1].max(place + 1)];
            }
            let complex =
                [!matches!(kind, fourier::Kind::RealToHalf(_)), !matches!(kind, fourier::Kind::HalfToReal(_))];
            stages.push(Stage { plan, around, size, complex, from, to });
            from = to;
        }
        let name = op.name().into_owned();
        Stages { name, stages, between, size: x.size().max(shape.iter().product()) }
    }

    /// The lines of both parts of an array between two axes.
    fn places(&self, place: usize) -> [Range<usize>; 2] {
        let lines = lines_for::<T>(self.between[0]);
        [2 * place, 2 * place + 1].map(|part| part * lines..(part + 1) * lines)
    }

    fn workspace(&self, threads: usize) -> usize {
        let own = self.stages.iter().map(|stage| stage.plan.workspace(threads)).max().unwrap_or(0);
        2 * self.between[1] * lines_for::<T>(self.between[0]) * size_of::<Line>() + own
    }

    fn operations(&self) -> usize {
        let one = |stage: &Stage<T>| {
            let n = stage.plan.transform().n;
            stage.around.iter().product::<usize>().saturating_mul(n).saturating_mul(4 * (n.max(2).ilog2() as usize + 1))
        };
        self.stages.iter().map(one).fold(self.size, usize::saturating_add)
    }

    fn run(&self, call: KernelCall<'_, '_>) {
        let KernelCall { args, outs, workspace, pool, .. } = call;
        let kept = 2 * self.between[1] * lines_for::<T>(self.between[0]);
        let (between, scratch) = workspace.split_at_mut(kept);
        if self.stages.is_empty() {
            // No axes: every entry is its own transform.
            for (out, x) in outs.iter_mut().zip(args) {
                T::of_mut(out).copy_from_slice(T::of(x));
            }
        }
        let mut size = 0;
        for stage in &self.stages {
            let [re, im] = parts::<T>(args);
            let Stage { plan, complex, .. } = stage;
            let mut carver = Carver::new(between);
            match (stage.from, stage.to) {
                (Home::Operands, Home::Results) => plan.run([re, im], parts_mut(outs), scratch, pool),
                (Home::Operands, Home::Between(to)) => {
                    let y = self.places(to).map(|lines| typed_mut::<T>(carver.take(lines), stage.size));
                    plan.run([re, im], y, scratch, pool);
                }
                (Home::Between(0), Home::Between(_)) => {
                    let x = self.places(0).map(|lines| &*typed_mut::<T>(carver.take(lines), size));
                    let y = self.places(1).map(|lines| typed_mut::<T>(carver.take(lines), stage.size));
                    plan.run(x, y, scratch, pool);
                }
                (Home::Between(_), Home::Between(_)) => {
                    let y = self.places(0).map(|lines| typed_mut::<T>(carver.take(lines), stage.size));
                    let x = self.places(1).map(|lines| &*typed_mut::<T>(carver.take(lines), size));
                    plan.run(x, y, scratch, pool);
                }
                (Home::Between(from), Home::Results) => {
                    let x = self.places(from).map(|lines| typed::<T>(&between[lines], size));
                    plan.run(x, parts_mut(outs), scratch, pool);
                }
                (Home::Results, Home::Results) if complex == &[true; 2] => {
                    plan.run_in_place(parts_mut(outs), scratch, pool);
                }
                (from, to) => unreachable!("from {from:?} to {to:?}"),
            }
            size = stage.size;
        }
    }
}

fn weights_of(weights: HalfWeights) -> Weights {
    match weights {
        HalfWeights::Plain => Weights::Plain,
        HalfWeights::Doubled => Weights::Doubled,
    }
}

/// Real and imaginary part, which may be missing.
fn parts<'a, T: Cell>(args: &[Slice<'a>]) -> [&'a [T]; 2] {
    [T::of(&args[0]), args.get(1).map_or(&[], T::of)]
}

/// The same of results.
fn parts_mut<'a, T: Cell>(outs: &'a mut [SliceMut<'_>]) -> [&'a mut [T]; 2] {
    let (first, rest) = outs.split_first_mut().expect("there is a real part");
    [T::of_mut(first), rest.first_mut().map_or(&mut [], T::of_mut)]
}

impl Kernel for FourierKernel {
    fn name(&self) -> String {
        match self {
            FourierKernel::F32(stages) => stages.name.clone(),
            FourierKernel::F64(stages) => stages.name.clone(),
        }
    }
    fn workspace(&self, threads: usize) -> usize {
        match self {
            FourierKernel::F32(stages) => stages.workspace(threads),
            FourierKernel::F64(stages) => stages.workspace(threads),
        }
    }
    fn operations(&self) -> usize {
        match self {
            FourierKernel::F32(stages) => stages.operations(),
            FourierKernel::F64(stages) => stages.operations(),
        }
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        match self {
            FourierKernel::F32(stages) => stages.run(call),
            FourierKernel::F64(stages) => stages.run(call),
        }
        Ok(())
    }
}
