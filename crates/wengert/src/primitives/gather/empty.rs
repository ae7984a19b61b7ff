//! Gathers and scatters on an empty axis, in lanes that may not count.

use super::{Gather, OutOfBounds};
use crate::ops::Logic;
use crate::primitives::{Batched, Ensure, Op};
use crate::program::{Builder, Value};

/// The batched form, within the lanes of a mask, of what fails at every index because an axis is empty: no index is harmless, so
/// that nothing is read or written, and each lane that counts fails by itself. `None` if there are indices that exist, or none
/// at all.
pub(in crate::primitives) fn batched_on_empty<S: Into<Op>>(
    places: &Gather,
    at: impl Fn(Gather) -> S,
    b: &mut Builder,
    args: &[Value],
    batched: &[bool],
    (length, mask): (usize, Value),
) -> Option<Batched> {
    let own = |k: usize| &b.shape(args[k])[usize::from(batched[k])..];
    let (x, indices) = (own(0), own(1));
    let is_empty = places.axes.iter().any(|&axis| x[axis] == 0);
    if places.mode != OutOfBounds::Error || !is_empty || indices.contains(&0) {
        return None;
    }
    let op: Op = at(Gather { mode: OutOfBounds::Fill, ..places.clone() }).into();
    let ensure = Ensure::new(&op.name(), "no index exists on an axis that is 0 long");
    let outs = match batched.contains(&true) {
        true => op.batch(b, args, batched, length),
        false => Ok(vec![(b.op(op, args), false)]),
    };
    Some(outs.map(|outs| {
        let guarded = outs.into_iter().map(|(out, has_axis)| {
            let counts = if has_axis { mask } else { b.any(mask, &[0]) };
            let holds = b.op(Logic::Not, &[counts]);
            (b.op(ensure.clone(), &[out, holds]), has_axis)
        });
        guarded.collect()
    }))
}
