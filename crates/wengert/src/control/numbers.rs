//! Loops and branches over numbers: a loop is a block on the tape, a branch is the function that is called.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use super::{Branch, Carry, Control, Fault, Map, Rows, Run, Scan, StepRows, While, fault};
use crate::straight::step_code;
use crate::tape::Var;
use crate::tape::block::{Labels, Rows as Numbers, Step, Steps, take_steps};
use crate::tape::recording::Line;
use crate::tree::{Structure, Tree, leaves};

/// What is said of a function that combines two rows to one of another structure.
pub(super) const OTHER_ROW: &str = "it combines two rows to one of another structure";

impl Control for Var {
    type Truth = bool;
    type Index = Branch;
}

impl Run for Var {
    fn scan<C, X, Y>(
        scan: &Scan,
        line: Line,
        init: C,
        xs: X,
        f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y),
    ) -> Result<(C::Vars, Y::Stacked), Fault>
    where
        C: Carry<Active = Var>,
        X: Rows<Var>,
        Y: StepRows<Var>,
    {
        let taking = Taking { name: "scan", line, init: &init };
        let (count, rows) = taking.rows(&xs, scan.reverse)?;
        let all = Given::default();
        let steps = taking.steps_of(scan, count, rows);
        let (carry, given) = taking.take(steps, |carry, row| {
            let mut row = row.iter().copied();
            let (carry, y) = f(carry, xs.row(&mut || row.next().expect("as many as the row has")));
            Some((carry, all.take(y)))
        })?;
        let given = if scan.reverse { reversed(given, count) } else { given };
        Ok((carry, all.stacked(&taking, given)?))
    }

    fn fori<C>(
        scan: &Scan,
        line: Line,
        range: Range<i64>,
        init: C,
        f: impl Fn(Var, C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Fault>
    where
        C: Carry<Active = Var>,
    {
        let taking = Taking { name: "fori", line, init: &init };
        let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let steps = taking.steps_of(scan, count, Numbers::Counted(range.start));
        Ok(taking.take(steps, |carry, row| Some((f(row[0], carry), Vec::new())))?.0)
    }

    fn map<X, Y>(_: &Map, line: Line, xs: X, f: impl Fn(X::Row) -> Y) -> Result<Y::Stacked, Fault>
    where
        X: Rows<Var>,
        Y: StepRows<Var>,
    {
        let nothing: [Var; 0] = [];
        let taking = Taking { name: "map", line, init: &nothing };
        let (count, rows) = taking.rows(&xs, false)?;
        let all = Given::default();
        let (_, given) = taking.take(taking.steps(Some(count), None, rows), |carry, row| {
            let mut row = row.iter().copied();
            let y = f(xs.row(&mut || row.next().expect("as many as the row has")));
            Some((carry, all.take(y)))
        })?;
        all.stacked(&taking, given)
    }

    fn while_loop<C>(
        bounds: &While,
        line: Line,
        init: C,
        condition: impl Fn(C::Vars) -> bool,
        body: impl Fn(C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Fault>
    where
        C: Carry<Active = Var>,
    {
        let taking = Taking { name: "while_loop", line, init: &init };
        let (limit, snapshots) = (bounds.limit, bounds.snapshots.map(|carries| carries.max(1)));
        let steps = Steps { limit, snapshots, ..taking.steps(None, None, Numbers::None) };
        let numbers = |carry: &C::Vars| leaves(carry);
        let (carry, _) = taking.take(steps, |carry, _| {
            let own = numbers(&carry);
            condition(carry).then(|| (body(taking.rebuilt(&own)), Vec::new()))
        })?;
        Ok(carry)
    }

    fn prefixes<X>(line: Line, xs: X, f: impl Fn(X::Row, X::Row) -> X::Row) -> Result<X::Prefixes, Fault>
    where
        X: Rows<Var>,
    {
        let nothing: [Var; 0] = [];
        let taking = Taking { name: "associative_scan", line, init: &nothing };
        let (count, rows) = taking.rows(&xs, false)?;
        let Numbers::Each(width, mut numbers) = rows else { unreachable!("rows are numbers") };
        if count < 2 {
            return Ok(xs.prefixes(numbers));
        }
        // The first row is what is carried at first.
        let rest = numbers.split_off(width);
        let first = numbers.clone();
        let steps = taking.steps(Some(count - 1), None, Numbers::Each(width, rest));
        let row_of = |numbers: &[Var]| {
            let mut numbers = numbers.iter().copied();
            xs.row(&mut || numbers.next().expect("as many as the row has"))
        };
        let structure = Structure::of(&row_of(&first)).compared();
        let changed = Cell::new(false);
        let (_, given) = taking.take_flat(Steps { start: first, ..steps }, |carry, row| {
            let combined = f(row_of(carry), row_of(row));
            changed.set(changed.get() | (Structure::of(&combined).compared() != structure));
            let combined = leaves(&combined);
            Some((combined.clone(), combined))
        })?;
        if changed.get() {
            return Err(fault("associative_scan", OTHER_ROW.to_owned(), line));
        }
        numbers.extend(given);
        Ok(xs.prefixes(numbers))
    }

    fn cond<T, O>(
        _: Line,
        condition: bool,
        x: T,
        yes: impl FnOnce(T::Vars) -> O,
        no: impl FnOnce(T::Vars) -> O,
    ) -> Result<O::Grad, Fault>
    where
        T: Carry<Active = Var>,
        O: Tree<Leaf = Var>,
    {
        let x = x.vars(&mut Into::into);
        Ok(same(&if condition { yes(x) } else { no(x) }))
    }

    fn switch<T, O>(
        line: Line,
        Branch(index): Branch,
        x: T,
        branches: &[&dyn Fn(T::Vars) -> O],
    ) -> Result<O::Grad, Fault>
    where
        T: Carry<Active = Var>,
        O: Tree<Leaf = Var>,
    {
        let number = index.value;
        // A comparison, so that what is recorded holds for this place alone.
        let place = (0..branches.len()).find(|&place| place as f64 == number).filter(|&place| index == place as f64);
        let Some(place) = place else {
            let why = match branches.len() {
                0 => "there is no branch to choose".to_owned(),
                count => format!("the index is {number}, and there are branches 0 to {}", count - 1),
            };
            return Err(fault("switch", why, line));
        };
        Ok(same(&branches[place](x.vars(&mut Into::into))))
    }
}

/// The same tree as a result.
fn same<O: Tree<Leaf = Var>>(output: &O) -> O::Grad {
    let mut own = leaves(output).into_iter();
    output.grad(&mut || own.next().expect("one per leaf"))
}

/// What steps give beside the carry: the first of them, which says how all are put together.
struct Given<Y> {
    first: RefCell<Option<(Y, Option<u64>)>>,
    differ: Cell<bool>,
}

impl<Y> Default for Given<Y> {
    fn default() -> Self {
        Given { first: RefCell::new(None), differ: Cell::new(false) }
    }
}

impl<Y: StepRows<Var>> Given<Y> {
    /// The numbers of one step.
    fn take(&self, y: Y) -> Vec<Var> {
        let (numbers, structure) = (y.rows(), y.structure());
        let mut first = self.first.borrow_mut();
        let (_, first) = first.get_or_insert((y, structure));
        self.differ.set(self.differ.get() | (*first != structure));
        numbers
    }

    /// Those of all steps together.
    fn stacked<C>(self, taking: &Taking<'_, C>, numbers: Vec<Var>) -> Result<Y::Stacked, Fault> {
        if self.differ.get() {
            let why = "a step gives a result of another structure than the first".to_owned();
            return Err(fault(taking.name, why, taking.line));
        }
        let first = self.first.into_inner();
        Ok(Y::stacked(first.as_ref().map(|(first, _)| first), numbers))
    }
}

/// The rows in reverse.
fn reversed(numbers: Vec<Var>, count: usize) -> Vec<Var> {
    match numbers.len().checked_div(count) {
        Some(width) if width > 0 => numbers.chunks(width).rev().flatten().copied().collect(),
        _ => numbers,
    }
}

/// A loop that is about to run.
struct Taking<'a, C> {
    name: &'static str,
    line: Line,
    init: &'a C,
}

impl<C: Carry<Active = Var>> Taking<'_, C> {
    fn steps(&self, count: Option<usize>, every: Option<usize>, rows: Numbers<Var>) -> Steps<Var> {
        let mut start = Vec::with_capacity(self.init.size());
        self.init.for_each_leaf(&mut |leaf| start.push(leaf.into()));
        Steps {
            line: self.line,
            count,
            limit: None,
            snapshots: None,
            start,
            label: 0,
            rows,
            labels: Labels::Same(0),
            every: every.unwrap_or(1),
            checked: true,
            make_code: step_code,
        }
    }

    fn steps_of(&self, scan: &Scan, count: usize, rows: Numbers<Var>) -> Steps<Var> {
        let steps = self.steps(Some(count), scan.every, rows);
        match scan.truncated {
            Some(_) => Steps { labels: Labels::Each((0..count).map(|t| scan.is_cut(t).into()).collect()), ..steps },
            None => steps,
        }
    }

    /// How many rows there are, and their numbers.
    fn rows<X: Rows<Var>>(&self, xs: &X, reverse: bool) -> Result<(usize, Numbers<Var>), Fault> {
        let count = xs.count().map_err(|why| fault(self.name, why, self.line))?;
        let (mut numbers, mut width) = (Vec::new(), 0);
        let structure = if count > 0 { xs.structure(0) } else { None };
        for t in 0..count {
            let before = numbers.len();
            xs.visit(if reverse { count - 1 - t } else { t }, &mut |number| numbers.push(number));
            let own = numbers.len() - before;
            if t == 0 {
                width = own;
                numbers.reserve(width * (count - 1));
            } else if own != width {
                let why = format!("a row has {own} numbers, and another one {width}");
                return Err(fault(self.name, why, self.line));
            }
            if xs.structure(t) != structure {
                // A step is a function of the numbers of a row, whatever else is in it.
                let why = format!(
                    "row {t} has another structure than row 0 (fields without leaves, options, lengths of lists), and a step \
                     is recorded for one; loop over such rows with `for`"
                );
                return Err(fault(self.name, why, self.line));
            }
        }
        Ok((count, Numbers::Each(width, numbers)))
    }

    fn rebuilt(&self, numbers: &[Var]) -> C::Vars {
        let mut numbers = numbers.iter().copied();
        self.init.vars(&mut |_| numbers.next().expect("as many as the carry has"))
    }

    /// Takes the steps; a step that gives nothing ends the loop. The last carry, and what the steps gave beside it.
    #[track_caller]
    fn take(
        &self,
        steps: Steps<Var>,
        step: impl Fn(C::Vars, &[Var]) -> Option<(C::Vars, Vec<Var>)>,
    ) -> Result<(C::Vars, Vec<Var>), Fault> {
        let structure = Structure::of(&self.rebuilt(&steps.start)).compared();
        let changed = Cell::new(false);
        let (carry, given) = self.take_flat(steps, |carry, row| {
            let (after, given) = step(self.rebuilt(carry), row)?;
            let own = leaves(&after);
            if own.len() == carry.len() && Structure::of(&after).compared() != structure {
                // There is nothing that a further step could be asked with.
                changed.set(true);
                return None;
            }
            Some((own, given))
        })?;
        match changed.get() {
            true => Err(fault(self.name, "the carry changes its structure in a step".to_owned(), self.line)),
            false => Ok((self.rebuilt(&carry), given)),
        }
    }

    /// The same over a list of numbers.
    #[track_caller]
    fn take_flat(
        &self,
        steps: Steps<Var>,
        step: impl Fn(&[Var], &[Var]) -> Option<(Vec<Var>, Vec<Var>)>,
    ) -> Result<(Vec<Var>, Vec<Var>), Fault> {
        let (size, limit) = (steps.start.len(), steps.limit);
        let mut gives = None;
        let mut wrong = None;
        let taken = take_steps(steps, &mut |key, carry, row| {
            // The label of a row says whether the carry is a constant.
            let cut: Vec<Var>;
            let carry = match key.row {
                0 => carry,
                _ => {
                    cut = carry.iter().map(|number| number.detach()).collect();
                    &cut
                }
            };
            let Some((after, given)) = step(carry, row) else {
                return Some(Step { carry: carry.to_vec(), gives: Vec::new(), after: 0, given: 0, ends: true });
            };
            let (own, first) = (given.len(), *gives.get_or_insert(given.len()));
            if after.len() != size {
                let own = after.len();
                wrong.get_or_insert(format!("the carry has {size} numbers before a step, and {own} after it"));
                return None;
            }
            if own != first {
                wrong.get_or_insert(format!("a step gives {own} numbers, and another one {first}"));
                return None;
            }
            Some(Step { carry: after, gives: given, after: 0, given: 0, ends: false })
        });
        match (taken, wrong, limit) {
            (Ok(taken), None, Some(limit)) if !taken.ended => {
                let why = format!("the loop has not ended after {limit} steps, which is its limit");
                Err(fault(self.name, why, self.line))
            }
            (Ok(taken), None, _) => Ok((taken.carry, taken.gives)),
            (_, Some(why), _) => Err(fault(self.name, why, self.line)),
            (Err(_), None, _) => unreachable!("a step of a user has a path everywhere"),
        }
    }
}
