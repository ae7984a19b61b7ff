//! The Program that computes stages again.

use std::ops::Range;

use super::stages::{Stages, is_view, results};
use super::table::Act;
use crate::primitives::Recompute;
use crate::program::{Args, Builder, Eqn, Program, Value, dce, same_inputs};

/// The Program that runs its stages as a schedule says.
pub(super) fn emitted(program: &Program, stages: &Stages, schedule: &[Act]) -> Program {
    let mut b = Builder::new();
    let mut now: Vec<Option<Value>> = same_inputs(&mut b, program).into_iter().map(Some).collect();
    now.resize(program.types.len(), None);
    let mut makers = vec![None; program.types.len()];
    for (k, eqn) in program.eqns().iter().enumerate() {
        eqn.outs().for_each(|out| makers[out.index()] = Some(k));
    }
    let (is_result, ran) = (results(program), vec![false; stages.len()]);
    let mut emit = Emit { program, stages, b, now, makers, is_result, ran };
    schedule.iter().for_each(|&act| emit.act(act));
    stages.rest.iter().for_each(|&k| emit.eqn(k));
    let outputs: Vec<Value> = program.outputs().iter().map(|&output| emit.value(output)).collect();
    dce(emit.b.finish(&outputs))
}

struct Emit<'a> {
    program: &'a Program,
    stages: &'a Stages,
    b: Builder,
    /// Each value as it was computed last; not of views, which are made where they are read.
    now: Vec<Option<Value>>,
    /// The equation of each value.
    makers: Vec<Option<usize>>,
    /// Which values are results: once computed they stay.
    is_result: Vec<bool>,
    /// Which stages have run.
    ran: Vec<bool>,
}

impl Emit<'_> {
    fn act(&mut self, act: Act) {
        match act {
            Act::Keep(stage) => {
                let next = self.stages.operands.get(stage + 1).into_iter().flatten();
                let wanted = self.stages.residuals[stage].iter().chain(next).copied().collect();
                self.forwards(stage, stage, wanted);
            }
            Act::Pass { first, behind } => self.forwards(first, behind - 1, self.stages.operands[behind].clone()),
            Act::Late(stage) => self.stages.late[stage].iter().for_each(|&k| self.eqn(k)),
        }
    }

    /// Runs stages: the first time as they stand, and again as a region that gives what is wanted.
    fn forwards(&mut self, first: usize, last: usize, wanted: Vec<Value>) {
        let range = self.stages.eqns[first].start..self.stages.eqns[last].end;
        if std::mem::replace(&mut self.ran[first], true) {
            return self.again(range, wanted);
        }
        self.ran[first..=last].fill(true);
        range.for_each(|k| self.eqn(k));
    }

    /// An equation as it stands; a view is made where it is read.
    fn eqn(&mut self, k: usize) {
        let eqn = &self.program.eqns()[k];
        if is_made_where_read(self.program, eqn) {
            return;
        }
        let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
        self.b.line = eqn.line;
        let results = self.b.ops(eqn.op.clone(), &args);
        eqn.outs().zip(results).for_each(|(out, result)| self.now[out.index()] = Some(result));
    }

    /// A value as it is now.
    fn value(&mut self, value: Value) -> Value {
        let maker = self.makers[value.index()].map(|k| &self.program.eqns()[k]);
        match maker.filter(|eqn| is_made_where_read(self.program, eqn)) {
            None => self.now[value.index()].expect("what is read is made"),
            Some(eqn) => {
                let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
                self.b.line = eqn.line;
                made_of(&mut self.b, eqn, &args, value)
            }
        }
    }

    /// Whether a value stays, once computed.
    fn is_there(&self, value: Value) -> bool {
        self.is_result[value.index()] && self.now[value.index()].is_some()
    }

    /// Runs the equations of a range again, as far as they are needed for these values.
    fn again(&mut self, range: Range<usize>, mut wanted: Vec<Value>) {
        wanted.retain(|value| self.makers[value.index()].is_some_and(|k| range.contains(&k)) && !self.is_there(*value));
        wanted.sort_unstable();
        wanted.dedup();
        if wanted.is_empty() {
            return;
        }
        let mut region =
            Region { emit: self, range: range.clone(), b: Builder::new(), made: Vec::new(), operands: Vec::new() };
        region.made.resize(region.emit.program.types.len(), None);
        for k in region.needed(&wanted) {
            region.eqn(k);
        }
        let outputs: Vec<Value> = wanted.iter().map(|&out| region.value(out)).collect();
        let Region { b, operands, .. } = region;
        let inner = b.finish(&outputs);
        let operands: Vec<Value> = operands.into_iter().map(|value| self.value(value)).collect();
        let results = self.b.ops(Recompute::new(inner), &operands);
        wanted.iter().zip(results).for_each(|(out, result)| self.now[out.index()] = Some(result));
    }
}

/// Equations that run again, on operands from outside.
struct Region<'a, 'b> {
    emit: &'a Emit<'b>,
    range: Range<usize>,
    b: Builder,
    made: Vec<Option<Value>>,
    operands: Vec<Value>,
}

impl Region<'_, '_> {
    /// The equations of the range that these values take, in order.
    fn needed(&self, wanted: &[Value]) -> Vec<usize> {
        let eqns = self.emit.program.eqns();
        let mut marked = vec![false; self.range.len()];
        let mut open: Vec<Value> = wanted.to_vec();
        while let Some(value) = open.pop() {
            if self.emit.is_there(value) {
                continue;
            }
            let Some(k) = self.emit.makers[value.index()].filter(|k| self.range.contains(k)) else {
                // What a view shows may be of the range, or not.
                let view = self.emit.makers[value.index()].map(|k| &eqns[k]);
                open.extend(
                    view.filter(|eqn| is_made_where_read(self.emit.program, eqn)).iter().flat_map(|eqn| &eqn.args),
                );
                continue;
            };
            if !std::mem::replace(&mut marked[k - self.range.start], true) {
                open.extend(&eqns[k].args);
            }
        }
        self.range.clone().filter(|&k| marked[k - self.range.start]).collect()
    }

    fn eqn(&mut self, k: usize) {
        let eqn = &self.emit.program.eqns()[k];
        let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
        self.b.line = eqn.line;
        let results = self.b.ops(eqn.op.clone(), &args);
        eqn.outs().zip(results).for_each(|(out, result)| self.made[out.index()] = Some(result));
    }

    fn value(&mut self, value: Value) -> Value {
        if let Some(made) = self.made[value.index()] {
            return made;
        }
        let program = self.emit.program;
        let maker = self.emit.makers[value.index()].map(|k| &program.eqns()[k]);
        let made = match maker.filter(|eqn| is_made_where_read(program, eqn)) {
            None => {
                self.operands.push(value);
                self.b.input("", program.types[value.index()].clone())
            }
            Some(eqn) => {
                let args: Args = eqn.args.iter().map(|&arg| self.value(arg)).collect();
                made_of(&mut self.b, eqn, &args, value)
            }
        };
        self.made[value.index()] = Some(made);
        made
    }
}

/// One of the results of an equation, which is made again: a Program without operands may have several.
fn made_of(b: &mut Builder, eqn: &Eqn, args: &[Value], value: Value) -> Value {
    b.ops(eqn.op.clone(), args)[value.index() - eqn.first.index()]
}

/// Whether an equation is made where it is read: a view, or what depends on nothing, such as a literal.
fn is_made_where_read(program: &Program, eqn: &Eqn) -> bool {
    eqn.args.is_empty() || is_view(program, eqn)
}
