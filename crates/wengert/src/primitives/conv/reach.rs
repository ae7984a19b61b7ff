//! Which elements of its operands a convolution reaches.

use super::Conv;
use crate::array::{Array, row_major};
use crate::error::Misfit;
use crate::primitives::{Boxes, Pad, Places, Primitive, Site};

impl Conv {
    /// Of the input the channels of the group at every place of the window, of the kernel all that belongs to the output
    /// channel: boxes in a padded input and in the kernel.
    pub(super) fn windows(&self, site: &Site) -> Result<[Boxes; 2], Misfit> {
        let [x, w] = [0, 1].map(|k| &site.args[k].shape);
        if site.outs[0].size() == 0 {
            return Ok([x, w].map(|operand| site.boxes(operand, &site.outs[0].shape, &vec![None; x.len()])));
        }
        let (padded, of) = self.padded(x)?;
        let (x_strides, w_strides) = (row_major(&padded), row_major(w));
        // Only one kind of groups may be more than one. The result's channels are an axis of groups, and one within them.
        let (groups, result) = (self.groups * self.batch_groups, &site.outs[0].shape);
        let (batch, outputs, window) = (result[0], result[1] / groups, &w[2..]);
        let out = [&[batch, groups, outputs], &result[2..]].concat();
        let next = match self.batch_groups {
            1 => x[1] / groups * x_strides[1],
            _ => batch * x_strides[0],
        };
        let spatial = 0..window.len();
        let moves = spatial.clone().map(|axis| self.stride[axis] * x_strides[axis + 2]);
        let taps = spatial.map(|axis| self.kernel_dilation[axis] * x_strides[axis + 2]);
        let of_input = Boxes {
            of: Some(of),
            out: out.clone(),
            out_strides: [x_strides[0], next, 0].into_iter().chain(moves).collect(),
            shape: w[1..].to_vec(),
            strides: std::iter::once(x_strides[1]).chain(taps).collect(),
        };
        let of_kernel = Boxes {
            of: None,
            out_strides: [&[0, outputs * w_strides[0], w_strides[0]], &vec![0; window.len()][..]].concat(),
            out,
            shape: w[1..].to_vec(),
            strides: w_strides[1..].to_vec(),
        };
        Ok([of_input, of_kernel])
    }

    /// The shape of the input with what is put around it and between, and where its elements come from.
    fn padded(&self, x: &[usize]) -> Result<(Vec<usize>, Places), Misfit> {
        let around = |end: fn(&(i64, i64)) -> i64| [0, 0].into_iter().chain(self.padding.iter().map(end)).collect();
        let between = self.input_dilation.iter().map(|dilation| dilation - 1);
        let pad = Pad {
            low: around(|padding| padding.0),
            high: around(|padding| padding.1),
            interior: [0, 0].into_iter().chain(between).collect(),
        };
        let count: usize = x.iter().product();
        let named = Array::new(x, (1..=count as i64).collect());
        let padded = pad.eval(&[&named, &Array::scalar(0i64)])?.remove(0);
        let place = |name: &i64| (*name > 0).then(|| (name - 1) as usize);
        Ok((padded.shape().to_vec(), Places::of(padded.known::<i64>().iter().map(place))))
    }
}
