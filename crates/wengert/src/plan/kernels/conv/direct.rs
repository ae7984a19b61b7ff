//! Convolution tap by tap, without a multiplication by what is outside x.
//!
//! The other forms put zeros there, and a zero times an infinite or NaN entry of the kernel is NaN. This one skips them as
//! the definition does; it runs only when such an entry is found.

use wengert_kernels::Pool;
use wengert_kernels::parallel::for_chunks;

use super::classes::{AxisClass, Geometry};
use super::number::ConvNumber;

/// A convolution in this form, prepared: for every class the taps' numbers in the kernel and the elements of x that they
/// meet first.
#[derive(Clone, Debug)]
pub(super) struct DirectConv {
    taps: Vec<Vec<(usize, Vec<i64>)>>,
}

impl DirectConv {
    /// Prepares it.
    pub(super) fn new(geometry: &Geometry) -> DirectConv {
        DirectConv { taps: geometry.classes.iter().map(|class| class.taps(&geometry.lengths[1])).collect() }
    }

    /// Computes the result, a plane at a time.
    pub(super) fn run<T: ConvNumber>(&self, geometry: &Geometry, [x, w]: [&[T]; 2], out: &mut [T], pool: &Pool) {
        let [x_area, w_area, out_area] = geometry.areas;
        let lengths = &geometry.lengths[2];
        for_chunks(pool, out, out_area, |plane, out| {
            out.fill(T::default());
            let outputs = geometry.groups * geometry.outputs;
            let (image, output) = (plane / outputs, plane % outputs);
            let x = &x[geometry.x_at(image, output / geometry.outputs)..];
            for channel in 0..geometry.inner {
                let x = &x[channel * geometry.places[0].strides[1]..][..x_area];
                let w = &w[geometry.w_at(output, channel)..][..w_area];
                for (class, taps) in geometry.classes.iter().zip(&self.taps) {
                    for (place, starts) in taps {
                        add_tap(&class.axes, starts, lengths, x, w[*place], out);
                    }
                }
            }
        });
    }
}

/// `out += weight * x` at all places that meet x.
fn add_tap<T: ConvNumber>(axes: &[AxisClass], starts: &[i64], lengths: &[usize], x: &[T], weight: T, out: &mut [T]) {
    let (&[ref axis, ref axes @ ..], &[start, ref starts @ ..], &[length, ref lengths @ ..]) = (axes, starts, lengths)
    else {
        out[0] = out[0] + x[0] * weight;
        return;
    };
    let (x_row, out_row) = (x.len() / axis.length, out.len() / length);
    for j in 0..axis.count {
        let place = start + (j * axis.step) as i64;
        let Some(place) = usize::try_from(place).ok().filter(|&place| place < axis.length) else { continue };
        let x = &x[place * x_row..][..x_row];
        let out = &mut out[(axis.out + j * axis.out_step) * out_row..][..out_row];
        add_tap(axes, starts, lengths, x, weight, out);
    }
}
