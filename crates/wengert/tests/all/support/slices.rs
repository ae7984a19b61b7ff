//! One more axis: the batched Program gives the results of its slices.

use wengert::{Array, Program};

use super::caught::{Checked, caught};
use super::nightly::nightly;
use super::{Random, array, same, stack};

/// The batched Program gives the results of its slices, for 0, 1 and 3 slices. At night every subset of the operands is batched,
/// and by day those of [`subsets`].
pub(crate) fn check_batched(program: &Program, args: &[Array]) -> Checked {
    for length in [0, 1, 3] {
        for subset in subsets(args.len(), length) {
            let batched: Vec<bool> = (0..args.len()).map(|k| subset >> k & 1 == 1).collect();
            let what = || format!("{length} slices of {batched:?}");
            caught(&what(), || check_slices(program, args, &batched, length))?
                .map_err(|why| format!("{}: {why}", what()))?;
        }
    }
    Ok(())
}

/// Subsets of `count` operands, a bit for each operand.
///
/// How axes are put together depends on which operands are batched, and hardly on how many slices there are: with 3 of them every
/// subset of up to four operands is tried, and of more operands those that have or lack at most one, and eight others. With 0 and
/// 1 slices it is none, one and all.
fn subsets(count: usize, length: usize) -> Vec<u32> {
    let all = (1 << count) - 1;
    if nightly() || (length == 3 && count <= 4) {
        return (0..=all).collect();
    }
    let one = (0..count).map(|k| 1 << k);
    let mut chosen: Vec<u32> = [0, all].into_iter().chain(one.clone()).collect();
    if length == 3 {
        let mut random = Random::new(count as u64);
        chosen.extend(one.map(|bit| all ^ bit));
        chosen.extend((0..8).map(|_| random.below(all as usize) as u32));
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

pub(crate) fn check_slices(program: &Program, args: &[Array], batched: &[bool], length: usize) -> Checked {
    let error = |error: wengert::Error| error.to_string();
    let lane = |lane: usize| -> Vec<Array> {
        args.iter().zip(batched).map(|(arg, batched)| if *batched { another(arg, lane) } else { arg.clone() }).collect()
    };
    let lanes: Vec<Vec<Array>> = (0..length).map(lane).collect();
    let operand = |k: usize| {
        let column: Vec<Array> = lanes.iter().map(|lane| lane[k].clone()).collect();
        if batched[k] { stack(args[k].ty(), &column) } else { args[k].clone() }
    };
    let operands: Vec<Array> = (0..args.len()).map(operand).collect();
    let together = program.vmap(batched, length).map_err(error)?.run_reference(&operands).map_err(error)?;
    let alone: Result<Vec<Vec<Array>>, String> =
        lanes.iter().map(|lane| program.run_reference(lane).map_err(error)).collect();
    let alone = alone?;
    for (k, ty) in program.output_types().iter().enumerate() {
        let column: Vec<Array> = alone.iter().map(|results| results[k].clone()).collect();
        let wanted = stack(ty, &column);
        if !same(&together[k], &wanted) {
            return Err(format!("result {k} is {:?} instead of {wanted:?}", together[k]));
        }
    }
    Ok(())
}

/// Another operand for another slice: a little larger, or with the rows of what is not real turned
/// around, so that an index stays an index.
pub(crate) fn another(arg: &Array, lane: usize) -> Array {
    let mut elements = arg.to_f64();
    if arg.dtype().is_float() {
        let factor = 1.0 + lane as f64 / 64.0;
        elements.iter_mut().for_each(|x| *x *= factor);
    } else if !elements.is_empty() {
        let row = if arg.ty().rank() < 2 { 1 } else { arg.shape()[arg.ty().rank() - 1] };
        let turn = lane * row % elements.len();
        elements.rotate_left(turn);
    }
    array(arg.ty(), &elements)
}
