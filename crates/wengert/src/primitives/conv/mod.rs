//! Convolution, closed under transposition; and the positions of the extremes of windows.

mod reach;
#[cfg(test)]
mod tests;
mod window;

use std::borrow::Cow;

use super::einsum::{rounded, widened};
use super::sample::{numbers, numbers_f32};
use super::{
    Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Reach, Reaches, Reverse,
    Sample, Site, arity, check_float,
};
use crate::array::{Array, DType, Type, for_each_index, row_major};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::program::{Builder, Value};
pub use window::WindowArg;

/// Convolution of `x [N, C, spatial..]` with a kernel `w [O, C / groups, spatial..]`, as in neural
/// networks: the kernel is not flipped.
///
/// `out[n, o, p] = sum over i, k of xp[n, g I + i, p stride + k kernel_dilation] w[o, i, k]` with
/// `I = C / groups` and `g = o / (O / groups)`, where xp is x with `input_dilation - 1` zeros between
/// neighbours and then `padding` zeros before and after, or elements taken away where that is
/// negative. What is outside x does not count at all: no infinity of the kernel meets a zero there.
///
/// With `batch_groups = B`, the n of x is `o / (O / B) * (N / B) + n` and the result's axis 0 is
/// `N / B` long: the kernel's gradient for groups has this form. Only one of the two kinds of groups
/// may be more than 1. Both are XLA's `feature_group_count` and `batch_group_count`.
///
/// The result is empty along an axis on which the kernel is longer than the padded input. Single
/// precision is summed in double precision and rounded once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Conv {
    /// How far the kernel moves at a time along each spatial axis.
    pub stride: Vec<usize>,
    /// How many zeros are put before and after; negative where elements are taken away.
    pub padding: Vec<(i64, i64)>,
    /// The distance of neighbours of x.
    pub input_dilation: Vec<usize>,
    /// The distance of neighbours of the kernel.
    pub kernel_dilation: Vec<usize>,
    /// Groups of channels that do not meet.
    pub groups: usize,
    /// Groups of the batch, each for its own part of the output channels.
    pub batch_groups: usize,
}

/// Lengths in padded coordinates are below this, so that their sums do not overflow.
const LIMIT: i64 = 1 << 60;

/// From the first to the last of some elements at this distance; 0 for none.
fn reach(length: usize, dilation: usize) -> Option<i64> {
    let Some(gaps) = length.checked_sub(1) else { return Some(0) };
    let last = i64::try_from(gaps.checked_mul(dilation)?).ok()?;
    (last < LIMIT).then_some(last + 1)
}

/// How often a window fits: the length of the result.
fn positions(padded: i64, window: i64, stride: usize) -> usize {
    usize::try_from(padded - window).map_or(0, |room| room / stride + 1)
}

/// The places of one axis at which one tap of the kernel meets x: an arithmetic progression, in
/// steps through the elements of both arrays.
#[derive(Clone, Copy)]
struct TapRun {
    count: usize,
    out: usize,
    out_step: usize,
    x: usize,
    x_step: usize,
}

/// `out += weight * x` along runs of all axes.
fn add_tap(axes: &[TapRun], out: &mut [f64], x: &[f64], weight: f64) {
    match axes {
        [] => out[0] += x[0] * weight,
        [run] if run.out_step == 1 && run.x_step == 1 => {
            let out = &mut out[run.out..run.out + run.count];
            let x = &x[run.x..run.x + run.count];
            out.iter_mut().zip(x).for_each(|(out, x)| *out += x * weight);
        }
        [run] => {
            let out = out[run.out..].iter_mut().step_by(run.out_step);
            let x = x[run.x..].iter().step_by(run.x_step);
            out.zip(x).take(run.count).for_each(|(out, x)| *out += x * weight);
        }
        [run, inner @ ..] => {
            for k in 0..run.count {
                let out = &mut out[run.out + k * run.out_step..];
                add_tap(inner, out, &x[run.x + k * run.x_step..], weight);
            }
        }
    }
}

impl Conv {
    /// Over this many spatial axes, one step at a time, without padding, dilation or groups.
    pub fn new(spatial: usize) -> Self {
        Conv {
            stride: vec![1; spatial],
            padding: vec![(0, 0); spatial],
            input_dilation: vec![1; spatial],
            kernel_dilation: vec![1; spatial],
            groups: 1,
            batch_groups: 1,
        }
    }

    /// Checks that the options are there for every spatial axis and count from 1.
    fn check_options(&self, spatial: usize) -> Result<(), Misfit> {
        let counts = [
            ("stride", &self.stride),
            ("input_dilation", &self.input_dilation),
            ("kernel_dilation", &self.kernel_dilation),
        ];
        for (name, values) in counts {
            if values.len() != spatial {
                misfit!("{name} has {} entries for {spatial} spatial axes", values.len());
            }
            if let Some(axis) = values.iter().position(|&value| value == 0) {
                misfit!("{name} of spatial axis {axis} is 0");
            }
        }
        if self.padding.len() != spatial {
            misfit!("padding has {} entries for {spatial} spatial axes", self.padding.len());
        }
        if self.groups == 0 || self.batch_groups == 0 {
            misfit!("there is at least one group, and one batch group");
        }
        if self.groups > 1 && self.batch_groups > 1 {
            misfit!("it has {} groups and {} batch groups; one has to be 1", self.groups, self.batch_groups);
        }
        Ok(())
    }

    /// Checks the axes 0 and 1 of both operands.
    fn check_channels(&self, x: &Type, w: &Type) -> Result<(), Misfit> {
        let (batch, channels, outputs) = (x.shape[0], x.shape[1], w.shape[0]);
        if !channels.is_multiple_of(self.groups) {
            misfit!("{channels} channels of the input cannot be divided into {} groups", self.groups);
        }
        if w.shape[1] != channels / self.groups {
            misfit!("the kernel takes {} channels, and the input has {channels} in {} groups", w.shape[1], self.groups);
        }
        for (groups, kind) in [(self.groups, "groups"), (self.batch_groups, "batch groups")] {
            if !outputs.is_multiple_of(groups) {
                misfit!("{outputs} output channels cannot be divided into {groups} {kind}");
            }
        }
        if !batch.is_multiple_of(self.batch_groups) {
            misfit!("a batch of {batch} cannot be divided into {} batch groups", self.batch_groups);
        }
        Ok(())
    }

    /// The length of a spatial axis of the result.
    fn length(&self, axis: usize, x: usize, w: usize) -> Result<usize, Misfit> {
        if w == 0 {
            misfit!("spatial axis {axis} of the kernel is empty");
        }
        let (low, high) = self.padding[axis];
        let reaches = reach(x, self.input_dilation[axis]).zip(reach(w, self.kernel_dilation[axis]));
        match reaches {
            Some((dilated, window)) if low.abs_diff(0).max(high.abs_diff(0)) < LIMIT as u64 => {
                Ok(positions(dilated + low + high, window, self.stride[axis]))
            }
            _ => misfit!("spatial axis {axis} is too long with its dilation and padding"),
        }
    }

    /// Where tap `k` of an axis meets x.
    fn run(&self, axis: usize, k: usize, x: usize, out: usize, x_stride: usize, out_stride: usize) -> TapRun {
        let dilation = self.input_dilation[axis];
        let offset = (k * self.kernel_dilation[axis]) as i64 - self.padding[axis].0;
        let place = |p: usize| {
            let place = usize::try_from((p * self.stride[axis]) as i64 + offset).ok()?;
            (place % dilation == 0 && place / dilation < x).then_some((p, place / dilation))
        };
        let mut hits = (0..out).filter_map(place);
        let Some(first) = hits.next() else {
            return TapRun { count: 0, out: 0, out_step: 0, x: 0, x_step: 0 };
        };
        let second = hits.next();
        let step = second.map_or((1, 1), |second| (second.0 - first.0, second.1 - first.1));
        let count = 1 + usize::from(second.is_some()) + hits.count();
        TapRun {
            count,
            out: first.0 * out_stride,
            out_step: step.0 * out_stride,
            x: first.1 * x_stride,
            x_step: step.1 * x_stride,
        }
    }

    /// The taps of the kernel that meet x anywhere: their place in the kernel and their runs.
    fn taps(&self, x: &[usize], w: &[usize], out: &[usize]) -> Vec<(usize, Vec<TapRun>)> {
        let (x_strides, out_strides) = (row_major(x), row_major(out));
        let runs = |axis: usize| -> Vec<TapRun> {
            (0..w[axis]).map(|k| self.run(axis, k, x[axis], out[axis], x_strides[axis], out_strides[axis])).collect()
        };
        let runs: Vec<Vec<TapRun>> = (0..w.len()).map(runs).collect();
        let (mut taps, mut place) = (Vec::new(), 0);
        for_each_index(w, |index| {
            let tap: Vec<TapRun> = index.iter().enumerate().map(|(axis, &k)| runs[axis][k]).collect();
            if tap.iter().all(|run| run.count > 0) {
                taps.push((place, tap));
            }
            place += 1;
        });
        taps
    }

    /// The definition: for every image and output channel the sum over input channels and taps.
    fn sums(&self, shapes: [&[usize]; 3], x: &[f64], w: &[f64]) -> Vec<f64> {
        let [x_shape, w_shape, out_shape] = shapes;
        let [x_area, w_area, out_area] = shapes.map(|shape| shape[2..].iter().product::<usize>());
        let (channels, inner) = (x_shape[1], w_shape[1]);
        let (batch, outputs) = (out_shape[0], out_shape[1]);
        let taps = self.taps(&x_shape[2..], &w_shape[2..], &out_shape[2..]);
        let mut out = vec![0.0; batch * outputs * out_area];
        for (n, o) in (0..batch).flat_map(|n| (0..outputs).map(move |o| (n, o))) {
            let out = &mut out[(n * outputs + o) * out_area..][..out_area];
            let image = o / (outputs / self.batch_groups) * batch + n;
            let first = image * channels + o / (outputs / self.groups) * inner;
            for i in 0..inner {
                let x = &x[(first + i) * x_area..][..x_area];
                let w = &w[(o * inner + i) * w_area..][..w_area];
                for (place, runs) in &taps {
                    add_tap(runs, out, x, w[*place]);
                }
            }
        }
        out
    }

    /// Appends it, if its numbers are not beyond all bounds.
    fn emit(self, b: &mut Builder, x: Value, w: Value) -> Result<Value, Misfit> {
        self.infer(&[b.ty(x), b.ty(w)])?;
        Ok(b.op(self, &[x, w]))
    }

    /// Where an operand meets a place of the result that is marked, if the other operand is 1: one
    /// channel stands for all that the operand meets alike. `None` where there are groups, in which
    /// it does not.
    fn met_at(&self, b: &mut Builder, mask: Value, operand: usize, types: &[Type; 2]) -> Option<Value> {
        let [x, w] = types;
        let ty = types[operand].with_dtype(DType::Bool);
        if [&x.shape, &w.shape].iter().any(|shape| shape.contains(&0)) || b.ty(mask).size() == 0 {
            return Some(b.full(0.0, &ty));
        }
        if self.groups * self.batch_groups != 1 {
            return None;
        }
        let one_channel = |shape: &[usize], axes: &[usize]| {
            let length = |(axis, &length): (usize, &usize)| if axes.contains(&axis) { 1 } else { length };
            Type::new(DType::F64, &shape.iter().enumerate().map(length).collect::<Vec<usize>>())
        };
        let count = if operand == 0 {
            let out = one_channel(b.shape(mask), &[1]);
            let any = b.any(mask, &[1]);
            let any = b.reshape(any, &out.shape);
            let (any, ones) = (b.convert(any, DType::F64), b.full(1.0, &one_channel(&w.shape, &[0, 1])));
            self.pull_x(b, any, &one_channel(&x.shape, &[1]), ones).ok()?
        } else {
            let (count, ones) = (b.convert(mask, DType::F64), b.full(1.0, &one_channel(&x.shape, &[1])));
            self.pull_w(b, count, ones, &one_channel(&w.shape, &[1])).ok()?
        };
        let zero = b.zeros_like(count);
        let met = b.op(Compare::Gt, &[count, zero]);
        // The channels of the input are axis 1 of both.
        let shape: Vec<usize> = [&ty.shape[..1], &ty.shape[2..]].concat();
        let met = b.reshape(met, &shape);
        Some(b.spread(met, &ty.shape, &[1]))
    }

    /// The cotangent of x: the cotangent of the result, its elements as far from each other as the
    /// kernel moved, convolved with the flipped kernel, whose channels are exchanged within groups.
    /// (Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning", section 4.)
    ///
    /// The result at p met x at j through tap k where `p stride + k kernel_dilation - low = j
    /// input_dilation`. With `k' = K - 1 - k` that is position j of the convolution by tap k', if
    /// its low padding is `(K - 1) kernel_dilation - low`; the high padding makes it as long as x.
    fn pull_x(&self, b: &mut Builder, ct: Value, x: &Type, w: Value) -> Result<Value, Misfit> {
        let (w_shape, ct_shape) = (b.shape(w).to_vec(), b.shape(ct).to_vec());
        let padding = (0..self.stride.len()).map(|axis| {
            let window = reach(w_shape[axis + 2], self.kernel_dilation[axis])?;
            let dilated = reach(x.shape[axis + 2], self.input_dilation[axis])?;
            let spread = reach(ct_shape[axis + 2], self.stride[axis])?;
            let low = self.padding[axis].0;
            Some((window - 1 - low, dilated - spread + low))
        });
        let back = Conv {
            stride: self.input_dilation.clone(),
            padding: padding.collect::<Option<_>>().expect("inferred before"),
            input_dilation: self.stride.clone(),
            kernel_dilation: self.kernel_dilation.clone(),
            groups: self.groups * self.batch_groups,
            batch_groups: 1,
        };
        let (groups, outputs, inner) = (back.groups, w_shape[0], w_shape[1]);
        let flipped = match w_shape.len() {
            2 => w,
            rank => b.op(Reverse::new(&(2..rank).collect::<Vec<usize>>()), &[w]),
        };
        let split = [groups, outputs / groups, inner];
        let kernel = rearrange(b, flipped, 2, &split, &[0, 2, 1], &[groups * inner, outputs / groups]);
        let bar = back.emit(b, ct, kernel)?;
        if self.batch_groups == 1 {
            return Ok(bar);
        }
        // The images of a group came out as channels.
        Ok(rearrange(b, bar, 2, &[ct_shape[0], groups, inner], &[1, 0, 2], &x.shape[..2]))
    }

    /// The cotangent of w: x, whose images are now the channels, convolved with the cotangent of the
    /// result as a kernel that is as dilated as the kernel moved. What were groups of channels are
    /// groups of the batch, and the other way round.
    fn pull_w(&self, b: &mut Builder, ct: Value, x: Value, w: &Type) -> Result<Value, Misfit> {
        let (x_shape, ct_shape) = (b.shape(x).to_vec(), b.shape(ct).to_vec());
        let padding = (0..self.stride.len()).map(|axis| {
            let window = reach(w.shape[axis + 2], self.kernel_dilation[axis])?;
            let dilated = reach(x_shape[axis + 2], self.input_dilation[axis])?;
            let spread = reach(ct_shape[axis + 2], self.stride[axis])?;
            let low = self.padding[axis].0;
            // As high as it has to be for a result as long as the kernel: a remainder of the stride
            // is not touched.
            Some((low, window - 1 + spread - dilated - low))
        });
        let back = Conv {
            stride: self.kernel_dilation.clone(),
            padding: padding.collect::<Option<_>>().expect("inferred before"),
            input_dilation: self.input_dilation.clone(),
            kernel_dilation: self.stride.clone(),
            groups: self.batch_groups,
            batch_groups: self.groups,
        };
        let (images, kernel) = (b.move_axis(x, 1, 0), b.move_axis(ct, 1, 0));
        let bar = back.emit(b, images, kernel)?;
        Ok(b.move_axis(bar, 1, 0))
    }
}

/// The first axes of a value divided into others, brought into an order and merged.
fn rearrange(b: &mut Builder, x: Value, front: usize, split: &[usize], order: &[usize], merged: &[usize]) -> Value {
    let rest = b.shape(x)[front..].to_vec();
    let x = b.reshape(x, &[split, &rest].concat());
    let order: Vec<usize> = order.iter().copied().chain(split.len()..split.len() + rest.len()).collect();
    let x = b.permute(x, &order);
    b.reshape(x, &[merged, &rest].concat())
}

impl Primitive for Conv {
    fn name(&self) -> Cow<'static, str> {
        "conv".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (x, w) = (args[0], args[1]);
        check_float(x)?;
        if x.dtype != w.dtype {
            misfit!("the element types differ; convert one of them first");
        }
        if x.rank() < 2 || x.rank() != w.rank() {
            misfit!(
                "input and kernel have {} and {} axes; it takes two and the spatial ones in both",
                x.rank(),
                w.rank()
            );
        }
        self.check_options(x.rank() - 2)?;
        self.check_channels(x, w)?;
        let mut shape = vec![x.shape[0] / self.batch_groups, w.shape[0]];
        for axis in 0..x.rank() - 2 {
            shape.push(self.length(axis, x.shape[axis + 2], w.shape[axis + 2])?);
        }
        Ok(vec![x.with_shape(shape)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (x, w) = (args[0], args[1]);
        let out = self.infer(&[x.ty(), w.ty()])?.swap_remove(0);
        if out.shape.contains(&0) {
            return Ok(vec![Array::zeros(&out)]);
        }
        let sums = self.sums([x.shape(), w.shape(), &out.shape], &widened(x), &widened(w));
        Ok(vec![rounded(out.dtype, &out.shape, sums)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reach(&self, site: &Site) -> Reaches {
        Ok(vec![self.windows(site)?.map(Reach::Boxes).to_vec()])
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("at the edges parts of the kernel are outside the input")
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0], vec![1]]
    }
    fn masks(&self) -> Masks {
        Masks::Contracted
    }
    fn met(&self, b: &mut Builder, mask: Value, operand: usize, types: &[Type; 2]) -> Option<Value> {
        self.met_at(b, mask, operand, types)
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let (x, w) = (args[0].ty(b), args[1].ty(b));
        // Where there is nothing to sum, nothing is pulled back; a kernel could not be empty.
        let has_elements = |shape: &[usize]| !shape.contains(&0);
        let ct = cotangents[0].filter(|&ct| [&x.shape, &w.shape, b.shape(ct)].into_iter().all(has_elements));
        let Some(ct) = ct else { return Ok(vec![None; 2]) };
        if args[0].is_linear() {
            return Ok(vec![Some(self.pull_x(b, ct, &x, args[1].known())?), None]);
        }
        Ok(vec![None, Some(self.pull_w(b, ct, args[0].known(), &w)?)])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let (x, w) = (args[0], args[1]);
        let out = match (batched[0], batched[1]) {
            (false, false) => return Ok(vec![(b.op(self.clone(), args), false)]),
            (true, false) => self.batch_x(b, x, w, length),
            (false, true) => self.batch_w(b, x, w, length),
            (true, true) => self.batch_both(b, x, w, length)?,
        };
        Ok(vec![(out, true)])
    }
    fn attributes(&self) -> Attributes {
        let padding: Vec<Vec<i64>> = self.padding.iter().map(|&(low, high)| vec![low, high]).collect();
        let attributes = Attributes::default().with("stride", &self.stride[..]).with("padding", padding);
        let attributes = attributes.with("input_dilation", &self.input_dilation[..]);
        let attributes = attributes.with("kernel_dilation", &self.kernel_dilation[..]);
        attributes.with("groups", self.groups).with("batch_groups", self.batch_groups)
    }
}

/// Batched forms: the batch axis is merged into an axis that is there.
impl Conv {
    /// Lanes of x are more images, within their batch group.
    fn batch_x(&self, b: &mut Builder, x: Value, w: Value, length: usize) -> Value {
        let (images, channels) = (b.shape(x)[1], b.shape(x)[2]);
        let batch = images / self.batch_groups;
        let split = [length, self.batch_groups, batch, channels];
        let x = rearrange(b, x, 3, &split, &[1, 0, 2, 3], &[length * images, channels]);
        let out = b.op(self.clone(), &[x, w]);
        let outputs = b.shape(out)[1];
        rearrange(b, out, 2, &[length, batch, outputs], &[0, 1, 2], &[length, batch, outputs])
    }

    /// Lanes of w are more output channels, within their group.
    fn batch_w(&self, b: &mut Builder, x: Value, w: Value, length: usize) -> Value {
        let (outputs, inner) = (b.shape(w)[1], b.shape(w)[2]);
        let groups = self.groups * self.batch_groups;
        let split = [length, groups, outputs / groups, inner];
        let w = rearrange(b, w, 3, &split, &[1, 0, 2, 3], &[length * outputs, inner]);
        let out = b.op(self.clone(), &[x, w]);
        let batch = b.shape(out)[0];
        let split = [batch, groups, length, outputs / groups];
        rearrange(b, out, 2, &split, &[2, 0, 1, 3], &[length, batch, outputs])
    }

    /// Lanes of both are more groups.
    fn batch_both(&self, b: &mut Builder, x: Value, w: Value, length: usize) -> Result<Value, Misfit> {
        let (images, channels) = (b.shape(x)[1], b.shape(x)[2]);
        let (outputs, inner) = (b.shape(w)[1], b.shape(w)[2]);
        if length == 0 {
            // There is no convolution with no groups.
            let lane = |ty: &Type| ty.with_shape(ty.shape[1..].to_vec());
            let out = self.infer(&[&lane(b.ty(x)), &lane(b.ty(w))])?.swap_remove(0);
            return Ok(b.full(0.0, &out.with_shape([&[0], &out.shape[..]].concat())));
        }
        // Batch groups are groups of channels whose images stand beside each other.
        let batch = images / self.batch_groups;
        let split = [length, self.batch_groups, batch, channels];
        let x = rearrange(b, x, 3, &split, &[2, 0, 1, 3], &[batch, length * self.batch_groups * channels]);
        let w = rearrange(b, w, 3, &[length, outputs, inner], &[0, 1, 2], &[length * outputs, inner]);
        let groups = length * self.groups * self.batch_groups;
        let out = b.op(Conv { groups, batch_groups: 1, ..self.clone() }, &[x, w]);
        Ok(rearrange(b, out, 2, &[batch, length, outputs], &[1, 0, 2], &[length, batch, outputs]))
    }
}

impl Family for Conv {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "conv").then(|| {
            Ok(Conv {
                stride: fields.integers("stride")?,
                padding: fields.pairs("padding")?,
                input_dilation: fields.integers("input_dilation")?,
                kernel_dilation: fields.integers("kernel_dilation")?,
                groups: fields.integer("groups")?,
                batch_groups: fields.integer("batch_groups")?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let one = |stride, padding, input_dilation, kernel_dilation, groups, batch_groups| Conv {
            stride: vec![stride],
            padding: vec![padding],
            input_dilation: vec![input_dilation],
            kernel_dilation: vec![kernel_dilation],
            groups,
            batch_groups,
        };
        let two = Conv {
            stride: vec![2, 1],
            padding: vec![(1, 0), (-1, 2)],
            input_dilation: vec![1, 2],
            kernel_dilation: vec![1, 2],
            ..Conv::new(2)
        };
        let case = |op: Conv, x: &[usize], w: &[usize]| Sample::new(op, &[numbers(1, x), numbers(2, w)]);
        vec![
            case(Conv::new(1), &[1, 1, 4], &[1, 1, 2]),
            case(one(2, (1, 1), 1, 1, 1, 1), &[2, 2, 5], &[3, 2, 2]),
            case(one(1, (2, 0), 2, 1, 1, 1), &[1, 2, 3], &[2, 2, 3]),
            case(one(3, (0, 1), 1, 2, 1, 1), &[1, 1, 8], &[1, 1, 3]),
            case(one(1, (-1, -1), 1, 1, 2, 1), &[1, 4, 5], &[2, 2, 2]),
            case(one(2, (1, 0), 2, 1, 1, 2), &[4, 2, 3], &[2, 2, 2]),
            case(one(1, (0, 0), 1, 1, 1, 1), &[1, 1, 2], &[1, 1, 3]),
            case(one(1, (0, 0), 1, 1, 1, 1), &[0, 2, 3], &[2, 2, 2]),
            case(one(1, (0, 0), 1, 1, 1, 1), &[2, 0, 3], &[2, 0, 2]),
            case(two.clone(), &[1, 2, 4, 3], &[2, 2, 2, 2]),
            case(Conv { groups: 2, ..two }, &[2, 2, 3, 3], &[4, 1, 1, 2]),
            case(Conv::new(0), &[2, 3], &[2, 3]),
            case(Conv::new(3), &[1, 1, 2, 3, 2], &[1, 1, 2, 1, 2]),
            Sample::new(one(2, (1, 1), 1, 1, 2, 1), &[numbers_f32(3, &[1, 2, 5]), numbers_f32(4, &[2, 1, 3])]),
            Sample::new(Conv::new(2), &[numbers_f32(5, &[1, 2, 3, 3]), numbers_f32(6, &[1, 2, 2, 2])]),
        ]
    }
}
