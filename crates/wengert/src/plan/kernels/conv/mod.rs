//! Convolution, and the positions of the extremes of windows.
//!
//! There are three forms of convolution, and a *cost model* that counts multiplications, copies and stores chooses between
//! them when the kernel is prepared:
//!
//! - [`positions`]: neighbouring places of the result side by side in a vector. For images, whatever their channels; a
//!   1x1 convolution is a plain product without copies in it, a depthwise one a few shifted sums.
//! - [`channels`]: neighbouring output channels side by side. For results of few places: gradients with respect to the
//!   kernel, deep layers with small images, dense layers.
//! - [`taps`]: neighbouring taps side by side. For large windows, few places and one output channel a group: gradients with
//!   respect to a depthwise kernel.
//!
//! All read x where it lies, or from a small copy with zeros around if windows reach outside; there is no matrix of
//! windows ("im2col"), neither in memory nor in work. The first two take every stride, padding, dilation and grouping ([`classes`]
//! says how input dilation disappears), the third wants neighbouring taps to meet neighbours in x. If zeros around x would meet an entry of the kernel that is not finite, another
//! form, [`direct`], does the work without them.
//!
//! # Agreement with the definition
//!
//! The definition sums products in double precision and rounds once. Here a result of k products is summed in its own
//! precision, in an order that depends on the shapes alone: the error is at most `(k + 1) eps sum |x w|`, where eps is
//! half a unit in the last place of 1, plus the definition's own; fused multiply-adds round less often. NaN and
//! infinities are in the same places, unless a partial sum overflows single precision. The bits do not depend on the
//! number of threads; they depend on the level of the instruction set.

mod channels;
mod classes;
mod direct;
mod number;
mod positions;
mod taps;
#[cfg(test)]
mod tests;
mod window;

use std::marker::PhantomData;

use wengert_kernels::Pool;
use wengert_kernels::arena::{Line, typed_mut};

use self::channels::Channels;
use self::classes::Geometry;
use self::direct::DirectConv;
use self::number::ConvNumber;
use self::positions::Positions;
use self::taps::Taps;
use crate::array::{DType, Type};
use crate::error::Misfit;
use crate::plan::kernel::{Kernel, KernelCall};
use crate::primitives::Conv;
pub(crate) use classes::Planes;
pub(crate) use window::window_arg;

/// Bytes of a line.
const LINE_BYTES: usize = size_of::<Line>();

/// The number rounded up to whole cache lines.
fn whole_lines<T>(count: usize) -> usize {
    count.next_multiple_of(LINE_BYTES / size_of::<T>())
}

/// The kernel of a convolution of operands of these types, whose planes lie in these places.
///
/// The operation has to have been inferred for them: `out` is the type of its result.
pub(crate) fn conv(op: &Conv, args: &[&Type], places: [Planes; 2], out: &Type) -> Box<dyn Kernel> {
    match out.dtype {
        DType::F32 => Box::new(Convolution::<f32>::new(op, args, places, out)),
        DType::F64 => Box::new(Convolution::<f64>::new(op, args, places, out)),
        DType::Bool | DType::I64 => unreachable!("a convolution is of real numbers"),
    }
}

/// A convolution, prepared.
#[derive(Debug)]
struct Convolution<T> {
    geometry: Geometry,
    form: ConvForm,
    /// For kernels that are not finite, where windows reach outside x.
    direct: Option<DirectConv>,
    number: PhantomData<T>,
}

/// How the work is done.
#[derive(Debug)]
enum ConvForm {
    /// Nothing is summed.
    Zero,
    Positions(Positions),
    Channels(Channels),
    Taps(Taps),
}

impl<T: ConvNumber> Convolution<T> {
    fn new(op: &Conv, args: &[&Type], places: [Planes; 2], out: &Type) -> Self {
        let geometry = Geometry::new(op, [&args[0].shape, &args[1].shape, &out.shape], places);
        let direct = geometry.has_padding().then(|| DirectConv::new(&geometry));
        if out.shape.contains(&0) || geometry.operations() == 0 {
            return Convolution { geometry, form: ConvForm::Zero, direct: None, number: PhantomData };
        }
        let (positions, channels) = (Positions::new::<T>(&geometry), Channels::new::<T>(&geometry));
        let costs = [positions.cost::<T>(&geometry), channels.cost::<T>(&geometry)];
        let taps = Taps::new::<T>(&geometry).filter(|taps| costs.iter().all(|&cost| taps.cost(&geometry) < cost));
        let form = match taps {
            Some(taps) => ConvForm::Taps(taps),
            None if costs[0] <= costs[1] => ConvForm::Positions(positions),
            None => ConvForm::Channels(channels),
        };
        Convolution { geometry, form, direct, number: PhantomData }
    }

    /// On operands of the right type.
    fn compute(&self, operands: [&[T]; 2], out: &mut [T], workspace: &mut [Line], pool: &Pool) {
        let count = workspace.len() * LINE_BYTES / size_of::<T>();
        let workspace = typed_mut::<T>(workspace, count);
        let done = match &self.form {
            ConvForm::Zero => {
                out.fill(T::default());
                true
            }
            ConvForm::Positions(positions) => positions.run(&self.geometry, operands, out, workspace, pool),
            ConvForm::Channels(channels) => channels.run(&self.geometry, operands, out, workspace, pool),
            ConvForm::Taps(taps) => taps.run(&self.geometry, operands, out, workspace, pool),
        };
        if !done {
            let direct = self.direct.as_ref().expect("only what has padding is refused");
            direct.run(&self.geometry, operands, out, pool);
        }
    }
}

impl<T: ConvNumber> Kernel for Convolution<T> {
    fn name(&self) -> String {
        match self.form {
            ConvForm::Zero => "conv (zero)",
            ConvForm::Positions(_) => "conv (positions)",
            ConvForm::Channels(_) => "conv (channels)",
            ConvForm::Taps(_) => "conv (taps)",
        }
        .into()
    }

    fn workspace(&self, threads: usize) -> usize {
        match &self.form {
            ConvForm::Zero => 0,
            ConvForm::Positions(positions) => positions.workspace::<T>(threads),
            ConvForm::Channels(channels) => channels.workspace::<T>(&self.geometry, threads),
            ConvForm::Taps(taps) => taps.workspace::<T>(threads),
        }
    }

    fn operations(&self) -> usize {
        self.geometry.operations()
    }

    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let [x, w] = call.args else { unreachable!("a convolution has two operands") };
        let out = T::result(&mut call.outs[0]);
        if out.is_empty() {
            return Ok(());
        }
        // A view of nothing may begin behind the end.
        let [x_at, w_at] = self.geometry.places.map(|planes| planes.offset);
        let operands = [T::operand(x).get(x_at..).unwrap_or(&[]), T::operand(w).get(w_at..).unwrap_or(&[])];
        self.compute(operands, out, call.workspace, call.pool);
        Ok(())
    }
}
