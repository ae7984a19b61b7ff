//! Fusion of padding and concatenation into regions, which read the elements in place.
//!
//! A padded or concatenated array is a value of a region like any elementwise result, but it takes its
//! elements from other positions than its own: its operands must be in memory before the region runs. So the gradient of a
//! stencil, a sum of arrays that are each padded on another side, is one pass over memory, and so is a stencil on a torus.

use wengert_kernels::region::{Block, Blocks, Granularity};

use super::flatten::Flat;
use super::kernel::kind;
use super::region::bits;
use super::view::View;
use crate::primitives::{Concat, Op, Pad};
use crate::program::Value;

/// Whether a padded array is a block inside of numbers. `is_number` says of an operand that it is one number everywhere.
pub(super) fn pads(pad: &Pad, shape: &[usize], is_number: [bool; 2]) -> bool {
    let kept = |axis: usize| kept(pad, shape, axis).is_some_and(|(_, length)| length > 0);
    is_number == [false, true]
        && pad.interior.iter().all(|&count| count == 0)
        && shape.len() <= Blocks::MAX_AXES
        && (0..shape.len()).all(kept)
}

/// Of the operand of a padding, along an axis: the first index that is kept, and how many are.
fn kept(pad: &Pad, shape: &[usize], axis: usize) -> Option<(usize, usize)> {
    let cut = |count: i64| usize::try_from(-count.min(0)).ok();
    let (first, last) = (cut(pad.low[axis])?, cut(pad.high[axis])?);
    Some((first, shape[axis].saturating_sub(first).saturating_sub(last)))
}

/// Whether an equation of a flattened Program is assembled from blocks.
pub(super) fn is_blocks(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    let is_number = |arg: Value| flat.literals[arg.index()].is_some();
    match &eqn.op {
        Op::Pad(pad) => {
            let [x, fill] = [eqn.args[0], eqn.args[1]];
            pads(pad, &flat.program.ty(x).shape, [x, fill].map(is_number))
        }
        Op::Concat(_) => {
            let fits = |&arg: &Value| !is_number(arg) && flat.program.ty(arg).size() > 0;
            eqn.args.len() <= Blocks::MAX_BLOCKS
                && flat.program.ty(eqn.first).shape.len() <= Blocks::MAX_AXES
                && eqn.args.iter().all(fits)
        }
        _ => false,
    }
}

/// Whether such an equation on its own is better a kernel: joining copies larger pieces than the chunks of a region.
pub(super) fn copies(flat: &Flat, k: usize) -> bool {
    matches!(flat.program.eqns()[k].op, Op::Concat(_))
}

/// The blocks of such an equation; `operand` gives the number of a stored value that the region reads.
pub(super) fn blocks(flat: &Flat, k: usize, level: Granularity, operand: impl FnMut(Value) -> u16) -> Blocks {
    let eqn = &flat.program.eqns()[k];
    let ty = flat.program.ty(eqn.first);
    let views = || eqn.args.iter().map(|arg| &flat.views[arg.index()]);
    let (fill, blocks) = match &eqn.op {
        Op::Pad(pad) => {
            let fill = flat.literals[eqn.args[1].index()].expect("what is around a block is a number");
            (Some(bits(fill)), vec![padded(pad, &flat.views[eqn.args[0].index()], operand)])
        }
        Op::Concat(concat) => (None, joined(*concat, views(), operand)),
        op => unreachable!("`{op:?}` is not put together of blocks"),
    };
    Blocks::new(kind(ty.dtype), level, &ty.shape, fill, blocks).expect("padding and joining fit their results")
}

fn padded(pad: &Pad, view: &View, mut operand: impl FnMut(Value) -> u16) -> Block {
    let (mut offset, mut low, mut lengths) = (view.offset.cast_signed(), Vec::new(), Vec::new());
    for axis in 0..view.shape.len() {
        let (first, length) = kept(pad, &view.shape, axis).expect("a padding of an array that exists");
        offset += first.cast_signed() * view.strides[axis];
        low.push(usize::try_from(pad.low[axis]).unwrap_or(0));
        lengths.push(length);
    }
    Block { operand: operand(view.base), low, lengths, offset: offset.cast_unsigned(), strides: view.strides.to_vec() }
}

fn joined<'v>(
    concat: Concat,
    views: impl Iterator<Item = &'v View>,
    mut operand: impl FnMut(Value) -> u16,
) -> Vec<Block> {
    let mut at = 0;
    let block = |view: &View| {
        let mut low = vec![0; view.shape.len()];
        low[concat.axis] = at;
        at += view.shape[concat.axis];
        Block {
            operand: operand(view.base),
            low,
            lengths: view.shape.to_vec(),
            offset: view.offset,
            strides: view.strides.to_vec(),
        }
    };
    views.map(block).collect()
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use std::borrow::Cow;

    use crate::array::{Array, DType, Type};
    use crate::plan::{Options, Plan};
    use crate::program::Program;

    fn numbers(ty: &Type) -> Array {
        let all = (0..ty.size()).map(|k| ((k * k + 3 * k) % 101) as f64 * 0.37 - 7.0);
        match ty.dtype {
            DType::F64 => Array::new(&ty.shape, all.collect::<Vec<f64>>()),
            DType::F32 => Array::new(&ty.shape, all.map(|x| x as f32).collect::<Vec<f32>>()),
            DType::I64 => Array::new(&ty.shape, all.map(|x| x as i64).collect::<Vec<i64>>()),
            DType::Bool => Array::new(&ty.shape, all.map(|x| x > 0.0).collect::<Vec<bool>>()),
        }
    }

    /// Checks results against the definition: exactly, or within the error of functions and of sums in another order.
    #[track_caller]
    fn compare(found: &[Array], wanted: &[Array], text: &str) {
        assert_eq!(found.len(), wanted.len());
        for (found, wanted) in found.iter().zip(wanted) {
            assert_eq!(found.ty(), wanted.ty());
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || y != 0.0 && (x - y).abs() <= 1e-12 * y.abs();
            let (found, wanted) = (found.to_f64(), wanted.to_f64());
            let wrong = (0..found.len()).find(|&k| !same(found[k], wanted[k]));
            assert_eq!(wrong.map(|k| (k, found[k], wanted[k])), None, "{text}");
        }
    }

    /// Plans a Program, compares its results with the definition, and gives the number of steps.
    #[track_caller]
    fn steps(text: &str) -> usize {
        let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
        let inputs: Vec<Array> = program.input_types().iter().map(numbers).collect();
        let wanted = program.run_reference(&inputs).unwrap();
        let mut count = None;
        for threads in [1, 3] {
            let plan = Plan::new(&program, &Options { threads, ..Options::default() }).unwrap();
            compare(&plan.eval(&inputs).unwrap(), &wanted, text);
            assert_eq!(*count.get_or_insert(plan.step_count()), plan.step_count());
        }
        count.unwrap()
    }

    #[test]
    fn a_sum_of_padded_arrays_is_one_step() {
        let text = "program(v0: f64[70,90]) {
            v1: f64[] = constant[value=0.0f64];
            v2: f64[72,92] = pad[low=[0,1], high=[2,1], interior=[0,0]] v0 v1;
            v3: f64[72,92] = pad[low=[2,1], high=[0,1], interior=[0,0]] v0 v1;
            v4: f64[72,92] = pad[low=[1,2], high=[1,0], interior=[0,0]] v0 v1;
            v5: f64[72,92] = add v2 v3;
            v6: f64[72,92] = add v5 v4;
            v7: f64[] = sum[axes=[0,1]] v6;
            return v6 v7
        }";
        assert_eq!(steps(text), 1);
    }

    #[test]
    fn what_is_turned_around_a_torus_is_read_where_it_lies() {
        let text = "program(v0: f32[50,61]) {
            v1: f32[1,61] = slice[start=[49,0], limit=[50,61], stride=[1,1]] v0;
            v2: f32[49,61] = slice[start=[0,0], limit=[49,61], stride=[1,1]] v0;
            v3: f32[50,61] = concat[axis=0] v1 v2;
            v4: f32[50,60] = slice[start=[0,1], limit=[50,61], stride=[1,1]] v0;
            v5: f32[50,1] = slice[start=[0,0], limit=[50,1], stride=[1,1]] v0;
            v6: f32[50,61] = concat[axis=1] v4 v5;
            v7: f32[50,61] = sub v3 v6;
            v8: f32[50,61] = mul v7 v0;
            return v8
        }";
        assert_eq!(steps(text), 1);
    }

    #[test]
    fn what_is_computed_is_in_memory_before_it_is_put_together() {
        // A shift keeps the shape, but an element of the padded value does not come from its own position.
        let shifted = |first: &str| {
            format!(
                "program(v0: f64[40]) {{
                v1: f64[40] = {first} v0;
                v2: f64[] = constant[value=-0.0f64];
                v3: f64[40] = pad[low=[1], high=[-1], interior=[0]] v1 v2;
                v4: f64[40] = add v3 v1;
                return v4
            }}"
            )
        };
        assert_eq!(steps(&shifted("sin")), 2);
        assert_eq!(steps(&shifted("neg")), 2, "a cheap value is not computed in the region that puts it together");
        let joined = "program(v0: f64[3,20], v1: f64[2,20]) {
            v2: f64[3,20] = exp v0;
            v3: f64[5,20] = concat[axis=0] v2 v1;
            v4: f64[5] = sum[axes=[1]] v3;
            v5: f64[5,20] = broadcast[shape=[5,20], axes=[0]] v4;
            v6: f64[5,20] = div v3 v5;
            return v6
        }";
        assert_eq!(steps(joined), 2);
    }

    #[test]
    fn numbers_of_rows_are_put_together_too() {
        let text = "program(v0: f64[31], v1: f64[33,70]) {
            v2: f64[] = constant[value=2.5f64];
            v3: f64[33] = pad[low=[2], high=[0], interior=[0]] v0 v2;
            v4: f64[33] = sin v3;
            v5: f64[33,70] = broadcast[shape=[33,70], axes=[0]] v4;
            v6: f64[33,70] = mul v5 v1;
            return v6
        }";
        assert_eq!(steps(text), 1);
    }

    #[test]
    fn every_type_and_any_view_is_put_together() {
        for (ty, fill, op) in [("i64", "7i64", "add"), ("bool", "true", "and"), ("f32", "-0.0f32", "mul")] {
            let text = format!(
                "program(v0: {ty}[6,8], v1: {ty}[6]) {{
                v2: {ty}[] = constant[value={fill}];
                v3: {ty}[8,6] = permute[order=[1,0]] v0;
                v4: {ty}[8,6] = reverse[axes=[0]] v3;
                v5: {ty}[9,5] = pad[low=[-1,1], high=[2,-2], interior=[0,0]] v4 v2;
                v6: {ty}[5,6] = broadcast[shape=[5,6], axes=[1]] v1;
                v7: {ty}[4,6] = slice[start=[0,0], limit=[8,6], stride=[2,1]] v4;
                v8: {ty}[9,6] = concat[axis=0] v6 v7;
                v9: {ty}[9,5] = slice[start=[0,1], limit=[9,6], stride=[1,1]] v8;
                v10: {ty}[9,5] = {op} v5 v9;
                return v10
            }}"
            );
            assert_eq!(steps(&text), 2, "what is joined is read as a view");
        }
    }

    #[test]
    fn what_is_read_elsewhere_is_not_overwritten() {
        let text = "program(v0: f64[500]) {
            v1: f64[] = constant[value=0.0f64];
            v2: f64[500] = pad[low=[1], high=[-1], interior=[0]] v0 v1;
            v3: f64[500] = add v0 v2;
            return v3
        }";
        let program: Program = text.parse().unwrap();
        let inputs: Vec<Array> = program.input_types().iter().map(numbers).collect();
        let plan = Plan::donating(Cow::Borrowed(&program), &Options::default(), &[true], None).unwrap();
        compare(&plan.eval(&inputs).unwrap(), &program.run_reference(&inputs).unwrap(), text);
    }
}
