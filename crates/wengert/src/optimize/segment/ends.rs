//! Loops whose stacks are read in parts: the steps of each part become a loop of their own.
//!
//! The first or the last step of a loop backwards may stand apart, because it has other cotangents. Then the stacks are read as
//! slices: of one step, and of the others.

use std::ops::Range;

use super::{Made, readers, scan_of};
use crate::primitives::{Concat, Op, Scan, Slice};
use crate::program::{Builder, Program, Value};

/// More parts than this are not made.
const MOST_PARTS: usize = 4;

/// The Program with such loops in parts.
pub(super) fn apart(program: Program) -> Program {
    let parts: Vec<Option<Vec<Range<usize>>>> = (0..program.eqns().len()).map(|k| parts_of(&program, k)).collect();
    if parts.iter().all(Option::is_none) {
        return program;
    }
    let mut made = Made::of(&program);
    let mut slices: Vec<Option<Vec<Value>>> = vec![None; program.types.len()];
    for (k, eqn) in program.eqns().iter().enumerate() {
        let args = made.values(&eqn.args);
        made.b.line = eqn.line;
        let results = match (&eqn.op, &parts[k]) {
            (Op::Scan(scan), Some(parts)) => {
                let pieces = in_parts(&mut made.b, scan, &args, parts);
                for (out, pieces) in eqn.outs().skip(scan.carry).zip(&pieces.stacked) {
                    slices[out.index()] = Some(pieces.clone());
                }
                let joined = pieces.stacked.iter().map(|pieces| made.b.op(Concat { axis: 0 }, pieces));
                pieces.carry.iter().copied().chain(joined.collect::<Vec<Value>>()).collect()
            }
            (Op::Slice(slice), _) => match whole_piece(&made.b, slice, slices[eqn.args[0].index()].as_deref()) {
                Some(piece) => vec![piece],
                None => made.b.ops(eqn.op.clone(), &args),
            },
            _ => made.b.ops(eqn.op.clone(), &args),
        };
        made.extend(results.into_iter().map(Some));
    }
    made.finish(&program)
}

/// Which rows the loop is cut into: where some of its stacks is read by slices of rows, and by loops.
fn parts_of(program: &Program, k: usize) -> Option<Vec<Range<usize>>> {
    let scan = scan_of(program, k)?;
    let readers = readers(program);
    let mut cuts = vec![0, scan.length];
    for out in program.eqns()[k].outs().skip(scan.carry) {
        let mut own = Vec::new();
        let mut whole = true;
        for &(reader, _) in &readers[out.index()] {
            match program.eqns().get(reader).map(|eqn| &eqn.op) {
                Some(Op::Slice(slice)) => match rows_of(slice, program.types[out.index()].shape.as_slice()) {
                    Some(rows) => own.extend([rows.start, rows.end]),
                    None => whole = false,
                },
                _ => whole = false,
            }
        }
        if whole {
            cuts.extend(own);
        }
    }
    cuts.sort_unstable();
    cuts.dedup();
    let parts: Vec<Range<usize>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
    (parts.len() > 1 && parts.len() <= MOST_PARTS).then_some(parts)
}

/// The rows that a slice takes, if it takes whole ones.
fn rows_of(slice: &Slice, shape: &[usize]) -> Option<Range<usize>> {
    let whole = (1..shape.len()).all(|axis| slice.start[axis] == 0 && slice.limit[axis] == shape[axis]);
    let dense = slice.stride.iter().all(|&stride| stride == 1);
    (whole && dense && slice.start[0] < slice.limit[0]).then(|| slice.start[0]..slice.limit[0])
}

/// The piece that is exactly these rows.
fn whole_piece(b: &Builder, slice: &Slice, pieces: Option<&[Value]>) -> Option<Value> {
    let pieces = pieces?;
    let shape = b.shape(pieces[0]);
    let rows: usize = pieces.iter().map(|&piece| b.shape(piece)[0]).sum();
    let wanted = rows_of(slice, &[&[rows], &shape[1..]].concat())?;
    let mut start = 0;
    for &piece in pieces {
        let length = b.shape(piece)[0];
        if (start..start + length) == wanted {
            return Some(piece);
        }
        start += length;
    }
    None
}

struct Pieces {
    carry: Vec<Value>,
    /// For each stack its pieces, in the order of rows.
    stacked: Vec<Vec<Value>>,
}

/// The loop as one for each part of its rows.
fn in_parts(b: &mut Builder, scan: &Scan, args: &[Value], parts: &[Range<usize>]) -> Pieces {
    let [_, carry, rows] = scan.roles();
    let mut state = args[carry.clone()].to_vec();
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); scan.body.outputs().len() - scan.carry];
    let order: Vec<&Range<usize>> = if scan.reverse { parts.iter().rev().collect() } else { parts.iter().collect() };
    for part in order {
        let mut operands = [&args[..carry.start], &state].concat();
        operands.extend(args[rows.clone()].iter().map(|&array| rows_between(b, array, part.clone())));
        state = b.ops(Scan { length: part.len(), ..scan.clone() }, &operands);
        let given = state.split_off(scan.carry);
        stacked.iter_mut().zip(given).for_each(|(stacked, piece)| stacked.push(piece));
    }
    if scan.reverse {
        stacked.iter_mut().for_each(|pieces| pieces.reverse());
    }
    Pieces { carry: state, stacked }
}

/// Rows of an array; all of them are the array itself.
pub(super) fn rows_between(b: &mut Builder, array: Value, rows: Range<usize>) -> Value {
    let shape = b.shape(array).to_vec();
    if rows == (0..shape[0]) {
        return array;
    }
    b.op(Slice::along(&shape, 0, rows.start, rows.end), &[array])
}
