//! Loops and branches over tensors: a step or a branch is recorded once, and one operation holds it.

mod batches;
mod branches;
mod prefixes;

use std::ops::Range;

use super::{Carry, Control, Map, Rows, Run, Scan, StepRows, While};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Line};
use crate::optimize::choices_in_place;
use crate::primitives;
use crate::program::{Builder, Program, Value, inline};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Structure, Tree, leaves};

impl Control for Tensor {
    type Truth = Tensor;
    type Index = Tensor;
}

impl Run for Tensor {
    fn scan<C, X, Y>(
        scan: &Scan,
        line: Line,
        init: C,
        xs: X,
        f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y),
    ) -> Result<(C::Vars, Y::Stacked), Error>
    where
        C: Carry<Active = Tensor>,
        X: Rows<Tensor>,
        Y: StepRows<Tensor>,
    {
        let (start, mut rows) = (own_leaves(&init), all_rows(&xs));
        let length = xs.count().map_err(|why| misfit_of("scan", why, &rows, line))?;
        let level = ArrayLevel::open("scan", Reading::Step);
        let carry = inputs(&level, &start);
        let mut sliced = rows.iter();
        let row = xs.row(&mut || level.input(sliced.next().expect("one per leaf"), &Mapped::Slice(0)));
        let carry = cut(scan, carry, &level, length, &mut rows);
        let before = tree_of(&init, carry);
        let structure = Structure::of(&before);
        let (carry, given) = f(before, row);
        let (after, gives) = (leaves(&carry), given.rows());
        let closed = level.close(&[&after[..], &gives[..]].concat())?;
        check_carry("scan", &start, &after, line)?;
        check_structure("scan", &structure, &carry, line)?;
        let results = Loop { closed, length, carry: start.len(), options: *scan }.run(&start, &rows, line)?;
        let (last, stacked) = results.split_at(after.len());
        Ok((tree_of(&init, last.to_vec()), Y::stacked(Some(&given), stacked.to_vec())))
    }

    fn fori<C>(
        scan: &Scan,
        line: Line,
        range: Range<i64>,
        init: C,
        f: impl Fn(Tensor, C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Error>
    where
        C: Carry<Active = Tensor>,
    {
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let mut numbers = Vec::new();
        if numbers.try_reserve_exact(length).is_err() {
            let why =
                format!("there is no memory for the numbers of {length} steps; `while_loop` counts them in its carry");
            return Err(error("fori", ErrorKind::Unavailable, why, line).of_memory());
        }
        numbers.extend::<Range<i64>>(range);
        let steps = Tensor::from_array(Array::new(&[length], numbers));
        let start = own_leaves(&init);
        let level = ArrayLevel::open("fori", Reading::Step);
        let carry = inputs(&level, &start);
        let step = level.input(&steps, &Mapped::Slice(0));
        let mut rows = vec![steps];
        let carry = cut(scan, carry, &level, length, &mut rows);
        let before = tree_of(&init, carry);
        let structure = Structure::of(&before);
        let carry = f(step, before);
        let after = leaves(&carry);
        let closed = level.close(&after)?;
        check_carry("fori", &start, &after, line)?;
        check_structure("fori", &structure, &carry, line)?;
        let recorded = Loop { closed, length, carry: start.len(), options: *scan };
        Ok(tree_of(&init, recorded.run(&start, &rows, line)?))
    }

    fn map<X, Y>(map: &Map, line: Line, xs: X, f: impl Fn(X::Row) -> Y) -> Result<Y::Stacked, Error>
    where
        X: Rows<Tensor>,
        Y: StepRows<Tensor>,
    {
        let rows = all_rows(&xs);
        let length = xs.count().map_err(|why| misfit_of("map", why, &rows, line))?;
        let level = ArrayLevel::open("map", Reading::Step);
        let mut sliced = rows.iter();
        let given = f(xs.row(&mut || level.input(sliced.next().expect("one per leaf"), &Mapped::Slice(0))));
        let closed = level.close(&given.rows())?;
        let results = match map.batch.filter(|&batch| batch > 1 && length > 0) {
            Some(batch) => batches::run(closed, &rows, (length, batch), line)?,
            None => Loop { closed, length, carry: 0, options: Scan::new() }.run(&[], &rows, line)?,
        };
        Ok(Y::stacked(Some(&given), results))
    }

    fn while_loop<C>(
        bounds: &While,
        line: Line,
        init: C,
        condition: impl Fn(C::Vars) -> Tensor,
        body: impl Fn(C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Error>
    where
        C: Carry<Active = Tensor>,
    {
        let start = own_leaves(&init);
        let open = || ArrayLevel::open("while_loop", Reading::Step);
        let level = open();
        let goes_on = condition(init.vars(&mut |leaf| level.input(&leaf.into(), &Mapped::Whole)));
        let asked = level.close(std::slice::from_ref(&goes_on))?;
        if *goes_on.ty() != Type::new(DType::Bool, &[]) {
            let why = "the condition has to be a single truth value, bool[]; reduce it with `all` or `any`".to_owned();
            return Err(error("while_loop", ErrorKind::Misfit, why, line).of([goes_on.ty()]));
        }
        let level = open();
        let before = init.vars(&mut |leaf| level.input(&leaf.into(), &Mapped::Whole));
        let structure = Structure::of(&before);
        let carry = body(before);
        let after = leaves(&carry);
        let step = level.close(&after)?;
        check_carry("while_loop", &start, &after, line)?;
        check_structure("while_loop", &structure, &carry, line)?;
        let (programs, captures) = branches::with_all_captures(vec![asked, step]);
        let first = |program: &Program| captures_first(program, start.len());
        let bounds = primitives::Bounds { limit: bounds.limit, snapshots: bounds.snapshots };
        let op = primitives::While::new(first(&programs[0]), first(&programs[1]), bounds);
        let operands: Vec<&Tensor> = captures.iter().chain(&start).collect();
        let results = graph::apply(op, &operands).map_err(|error| error.at(Some(line)))?;
        Ok(tree_of(&init, results))
    }

    fn prefixes<X>(line: Line, xs: X, f: impl Fn(X::Row, X::Row) -> X::Row) -> Result<X::Prefixes, Error>
    where
        X: Rows<Tensor>,
    {
        prefixes::run(line, &xs, f)
    }

    fn cond<T, O>(
        line: Line,
        condition: Tensor,
        x: T,
        yes: impl FnOnce(T::Vars) -> O,
        no: impl FnOnce(T::Vars) -> O,
    ) -> Result<O::Grad, Error>
    where
        T: Carry<Active = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        branches::cond(line, &condition, x, yes, no)
    }

    fn switch<T, O>(line: Line, index: Tensor, x: T, branches: &[&dyn Fn(T::Vars) -> O]) -> Result<O::Grad, Error>
    where
        T: Carry<Active = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        branches::switch(line, &index, x, branches)
    }
}

fn error(name: &str, kind: ErrorKind, why: String, line: Line) -> Error {
    Error::new(kind, name, why).at(Some(line))
}

fn misfit_of(name: &str, why: String, arrays: &[Tensor], line: Line) -> Error {
    error(name, ErrorKind::Misfit, why, line).of(arrays.iter().map(Tensor::ty))
}

/// The leaves of a tree, in order.
fn own_leaves<C: Carry<Active = Tensor>>(tree: &C) -> Vec<Tensor> {
    let mut leaves = Vec::with_capacity(tree.size());
    tree.for_each_leaf(&mut |leaf| leaves.push(leaf.into()));
    leaves
}

/// The arrays that are stepped over.
fn all_rows<X: Rows<Tensor>>(xs: &X) -> Vec<Tensor> {
    let mut rows = Vec::new();
    xs.visit(0, &mut |leaf| rows.push(leaf));
    rows
}

/// The tree of what is carried, with these leaves.
fn tree_of<C: Carry<Active = Tensor>>(init: &C, results: Vec<Tensor>) -> C::Vars {
    let mut results = results.into_iter();
    init.vars(&mut |_| results.next().expect("one per leaf"))
}

/// The inputs of a step that stand for what is carried.
#[track_caller]
fn inputs(level: &ArrayLevel, start: &[Tensor]) -> Vec<Tensor> {
    start.iter().map(|leaf| level.input(leaf, &Mapped::Whole)).collect()
}

/// The same, constants where derivatives are cut: one more row says where.
#[track_caller]
fn cut(scan: &Scan, carry: Vec<Tensor>, level: &ArrayLevel, length: usize, rows: &mut Vec<Tensor>) -> Vec<Tensor> {
    if scan.truncated.is_none() {
        return carry;
    }
    let is_cut = |row: usize| scan.is_cut(if scan.reverse { length - 1 - row } else { row });
    let cuts = Tensor::from_array(Array::new(&[length], (0..length).map(is_cut).collect::<Vec<bool>>()));
    let cut = level.input(&cuts, &Mapped::Slice(0));
    rows.push(cuts);
    let mut all = Vec::with_capacity(carry.len());
    for own in carry {
        all.push(if own.dtype().is_float() { cut.where_(own.detach(), &own) } else { own });
    }
    all
}

/// A recorded step: it takes the carry, a row of each array and what it captured.
struct Loop {
    closed: Closed,
    length: usize,
    carry: usize,
    options: Scan,
}

impl Loop {
    #[track_caller]
    fn run(self, start: &[Tensor], rows: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        let Loop { closed, length, carry, options } = self;
        let body = captures_first(&closed.program, closed.leaves);
        let scan =
            primitives::Scan::new(body, length, carry, rows.len()).reversed(options.reverse).kept_every(options.every);
        let operands: Vec<&Tensor> = closed.captures.iter().chain(start).chain(rows).collect();
        graph::apply(scan, &operands).map_err(|error| error.at(Some(line)))
    }
}

/// A recorded step with what it captured as its first inputs.
fn captures_first(program: &Program, leaves: usize) -> Program {
    let mut b = Builder::new();
    let (own, captured) = program.input_types().split_at(leaves);
    let captures: Vec<Value> = captured.iter().map(|ty| b.input("", ty.clone())).collect();
    let mut args: Vec<Value> = own.iter().map(|ty| b.input("", ty.clone())).collect();
    args.extend(captures);
    let outs = inline(&mut b, program, &args);
    choices_in_place(b.finish(&outs))
}

/// That a step gives a carry of the structure that it took: with other static fields, say, the next step would be another one.
fn check_structure(name: &str, before: &Structure, after: &impl Tree, line: Line) -> Result<(), Error> {
    if before.compared() == Structure::of(after).compared() {
        return Ok(());
    }
    Err(error(name, ErrorKind::Misfit, "the carry changes its structure in a step".to_owned(), line))
}

/// That the carry comes out of a step as it went in.
fn check_carry(name: &str, before: &[Tensor], after: &[Tensor], line: Line) -> Result<(), Error> {
    let list = |leaves: &[Tensor]| leaves.iter().map(|leaf| leaf.ty().to_string()).collect::<Vec<_>>().join(", ");
    let differs = before.iter().zip(after).position(|(before, after)| before.ty() != after.ty());
    let why = match differs {
        None if before.len() == after.len() => return Ok(()),
        None => format!("the carry is ({}) before a step, and ({}) after it", list(before), list(after)),
        Some(k) => format!(
            "leaf {k} of the carry is {} before a step, and {} after it: the start has to have the type that a step gives",
            before[k].ty(),
            after[k].ty()
        ),
    };
    Err(error(name, ErrorKind::Misfit, why, line))
}
