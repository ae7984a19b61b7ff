//! Loops, one step after the other: what their Programs give when they are run by hand.

use wengert::primitives::{Op, Scan, Unwind, While};
use wengert::{Array, DType, Element, Program, Type};

/// What runs the Programs of a loop.
pub(crate) type Run<'a> = dyn FnMut(&Program, &[Array]) -> Result<Vec<Array>, String> + 'a;

/// The results of a loop whose Programs are run by `run`; `None` for what is no loop.
pub(crate) fn by_hand(op: &Op, operands: &[Array], run: &mut Run<'_>) -> Option<Result<Vec<Array>, String>> {
    match op {
        Op::Scan(scan) => Some(scanned(scan, operands, run)),
        Op::While(repeat) => Some(repeated(repeat, operands, run)),
        Op::Unwind(unwind) => Some(unwound(unwind, operands, run)),
        _ => None,
    }
}

fn scanned(scan: &Scan, operands: &[Array], run: &mut Run<'_>) -> Result<Vec<Array>, String> {
    let (before, rows) = operands.split_at(operands.len() - scan.rows);
    let (invariants, start) = before.split_at(before.len() - scan.carry);
    let (mut carry, mut given) = (start.to_vec(), vec![Vec::new(); scan.length]);
    let order: Vec<usize> = if scan.reverse { (0..scan.length).rev().collect() } else { (0..scan.length).collect() };
    for t in order {
        let of_step: Vec<Array> = rows.iter().map(|rows| row(rows, t)).collect();
        let mut outs = run(&scan.body, &[invariants, &carry, &of_step].concat())?;
        given[t] = outs.split_off(scan.carry);
        carry = outs;
    }
    let types = scan.body.output_types().split_off(scan.carry);
    carry.extend(types.iter().enumerate().map(|(k, ty)| stack(ty, given.iter().map(|outs| &outs[k]))));
    Ok(carry)
}

/// The carries before each step, and after the last one.
fn steps(
    [condition, body]: [&Program; 2],
    invariants: &[Array],
    start: &[Array],
    run: &mut Run<'_>,
) -> Result<Vec<Vec<Array>>, String> {
    let mut carries = vec![start.to_vec()];
    loop {
        let operands = [invariants, &carries[carries.len() - 1]].concat();
        if !run(condition, &operands)?[0].elements::<bool>().expect("a condition")[0] {
            return Ok(carries);
        }
        carries.push(run(body, &operands)?);
    }
}

fn given(marks: &[bool], values: Vec<Array>) -> Vec<Array> {
    values.into_iter().zip(marks).filter(|(_, mark)| **mark).map(|(value, _)| value).collect()
}

fn repeated(repeat: &While, operands: &[Array], run: &mut Run<'_>) -> Result<Vec<Array>, String> {
    let (invariants, start) = operands.split_at(operands.len() - repeat.given.len());
    let mut carries = steps([&repeat.condition, &repeat.body], invariants, start, run)?;
    Ok(given(&repeat.given, carries.pop().expect("the first one")))
}

fn unwound(unwind: &Unwind, operands: &[Array], run: &mut Run<'_>) -> Result<Vec<Array>, String> {
    let (before, back) = operands.split_at(operands.len() - (unwind.given.len() - unwind.carry));
    let (invariants, start) = before.split_at(before.len() - unwind.carry);
    let mut carries = steps([&unwind.condition, &unwind.first], invariants, start, run)?;
    let mut after = carries.pop().expect("the first one");
    let mut back = back.to_vec();
    for carry in carries.iter().rev() {
        back = run(&unwind.second, &[invariants, carry, &back].concat())?;
    }
    after.append(&mut back);
    Ok(given(&unwind.given, after))
}

/// Row `t` along the first axis.
fn row(array: &Array, t: usize) -> Array {
    fn of<T: Element>(array: &Array, t: usize) -> Array {
        let shape = &array.shape()[1..];
        let size: usize = shape.iter().product();
        let all = array.elements::<T>().expect("its own type");
        Array::new(shape, all[t * size..(t + 1) * size].to_vec())
    }
    match array.dtype() {
        DType::Bool => of::<bool>(array, t),
        DType::I64 => of::<i64>(array, t),
        DType::F32 => of::<f32>(array, t),
        DType::F64 => of::<f64>(array, t),
    }
}

/// Rows of this type, along a new first axis.
fn stack<'a>(ty: &Type, rows: impl Iterator<Item = &'a Array>) -> Array {
    fn of<'a, T: Element>(ty: &Type, rows: impl Iterator<Item = &'a Array>) -> Array {
        let (mut length, mut all) = (0, Vec::new());
        for row in rows {
            length += 1;
            all.extend_from_slice(row.elements::<T>().expect("its own type"));
        }
        Array::new(&[&[length], &ty.shape[..]].concat(), all)
    }
    match ty.dtype {
        DType::Bool => of::<bool>(ty, rows),
        DType::I64 => of::<i64>(ty, rows),
        DType::F32 => of::<f32>(ty, rows),
        DType::F64 => of::<f64>(ty, rows),
    }
}
