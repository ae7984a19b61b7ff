//! A Program cut into stages at its peak.

use std::ops::Range;

use crate::array::Type;
use crate::primitives::{Form, Op};
use crate::program::{Eqn, Program, Value};

/// Stages are joined until there are at most this many: the dynamic program takes the third power of it.
const MOST: usize = 120;

/// What stands before the peak, in stages; and what stands after it, by the stage it belongs to.
#[derive(Debug)]
pub(super) struct Stages {
    /// The equations of each stage.
    pub(super) eqns: Vec<Range<usize>>,
    /// What each stage takes from earlier ones: stored values that it, or one behind it before the peak, reads.
    pub(super) operands: Vec<Vec<Value>>,
    /// Its values that late equations of it, or of earlier stages, read; and results of the Program.
    pub(super) residuals: Vec<Vec<Value>>,
    /// The late equations of each stage, which stand after the peak: all they read before the peak are values of this stage and
    /// later ones, and operands of this stage.
    pub(super) late: Vec<Vec<usize>>,
    /// Equations after the peak that belong to no stage.
    pub(super) rest: Vec<usize>,
    pub(super) sizes: Sizes,
}

/// What stages take: all that is needed to decide what each of them does.
#[derive(Clone, Debug, Default)]
pub(super) struct Sizes {
    /// Bytes of what is kept of a stage with its residuals, its results for the next one among them.
    pub(super) kept: Vec<usize>,
    /// Bytes of the operands, but for what most stages take: that is there anyway.
    pub(super) taken: Vec<usize>,
    /// The most bytes of values after the peak that are needed at once while the late equations of this stage run.
    pub(super) after: Vec<usize>,
    /// What running a stage costs.
    pub(super) work: Vec<f64>,
}

impl Stages {
    /// `None` if there are too few.
    pub(super) fn of(program: &Program) -> Option<Stages> {
        let facts = Facts::of(program);
        let turn = facts.peak()?;
        let cuts = facts.cuts(turn);
        if cuts.len() < 3 {
            return None;
        }
        Some(facts.stages(turn, &cuts))
    }

    pub(super) fn len(&self) -> usize {
        self.eqns.len()
    }
}

/// What is known of the values of a Program.
struct Facts<'a> {
    program: &'a Program,
    /// The value whose memory each one is: its own, or that of what it is a view of.
    roots: Vec<Value>,
    /// Whether it is no result of an equation that takes time or memory: an input, a literal, a view of one.
    is_free: Vec<bool>,
    /// Whether it is a result of the Program, which has memory of its own for the whole run.
    is_result: Vec<bool>,
    /// Where each value is made, and read last; by memory.
    made: Vec<usize>,
    last: Vec<usize>,
}

impl<'a> Facts<'a> {
    fn of(program: &'a Program) -> Self {
        let count = program.types.len();
        let mut roots: Vec<Value> = (0..count as u32).map(Value).collect();
        let mut is_free = vec![true; count];
        let mut made = vec![0; count];
        let mut last = vec![0; count];
        for (k, eqn) in program.eqns().iter().enumerate() {
            let view = is_view(program, eqn);
            for out in eqn.outs() {
                is_free[out.index()] = match view {
                    true => is_free[eqn.args[0].index()],
                    false => eqn.args.is_empty(),
                };
                made[out.index()] = k;
                if view {
                    roots[out.index()] = roots[eqn.args[0].index()];
                }
            }
            eqn.args.iter().for_each(|arg| last[roots[arg.index()].index()] = k);
        }
        let end = program.eqns().len();
        program.outputs().iter().for_each(|output| last[roots[output.index()].index()] = end);
        let is_result = results(program);
        Facts { program, roots, is_free, is_result, made, last }
    }

    /// Bytes that a value takes, beside those of the results.
    fn bytes(&self, value: Value) -> usize {
        if self.is_result[value.index()] {
            return 0;
        }
        let ty: &Type = &self.program.types[value.index()];
        ty.size().saturating_mul(ty.dtype.size())
    }

    /// The values that have memory of their own, of an equation.
    fn stored(&self, k: usize) -> impl Iterator<Item = Value> + '_ {
        let own = |out: &Value| !self.is_free[out.index()] && self.roots[out.index()] == *out;
        self.program.eqns()[k].outs().filter(own)
    }

    /// The equation at which most bytes are alive.
    fn peak(&self) -> Option<usize> {
        let count = self.program.eqns().len();
        let mut ends: Vec<usize> = vec![0; count + 1];
        let (mut alive, mut most, mut place) = (0usize, 0usize, None);
        for k in 0..count {
            for out in self.stored(k).filter(|out| self.last[out.index()] > k) {
                alive = alive.saturating_add(self.bytes(out));
                let end = &mut ends[self.last[out.index()]];
                *end = end.saturating_add(self.bytes(out));
            }
            if alive > most {
                (most, place) = (alive, Some(k + 1));
            }
            alive = alive.saturating_sub(ends[k]);
        }
        place.filter(|&place| place < count)
    }

    /// For each value: the last equation before the turn that reads it.
    fn last_before(&self, turn: usize) -> Vec<usize> {
        let mut last = vec![0; self.roots.len()];
        for (k, eqn) in self.program.eqns()[..turn].iter().enumerate() {
            eqn.args.iter().for_each(|arg| last[self.roots[arg.index()].index()] = k);
        }
        last
    }

    /// Ends of stages before the turn: where fewest bytes go on.
    fn cuts(&self, turn: usize) -> Vec<usize> {
        let last = self.last_before(turn);
        // Bytes that go on behind each equation.
        let mut alive = 0usize;
        let mut ends = vec![0usize; turn];
        let mut on = Vec::with_capacity(turn);
        for k in 0..turn {
            for out in self.stored(k).filter(|out| last[out.index()] > k) {
                alive = alive.saturating_add(self.bytes(out));
                let end = &mut ends[last[out.index()]];
                *end = end.saturating_add(self.bytes(out));
            }
            alive = alive.saturating_sub(ends[k]);
            on.push(alive);
        }
        let mut cuts: Vec<usize> = Vec::new();
        // The end of every valley, before it goes up again.
        let mut falling = true;
        for k in 0..turn.saturating_sub(1) {
            if on[k + 1] > on[k] {
                if falling && on[k] > 0 {
                    cuts.push(k + 1);
                }
                falling = false;
            } else if on[k + 1] < on[k] {
                falling = true;
            }
        }
        cuts.push(turn);
        self.joined(cuts)
    }

    /// Fewer of them, of about the same work.
    fn joined(&self, cuts: Vec<usize>) -> Vec<usize> {
        if cuts.len() <= MOST {
            return cuts;
        }
        let end = *cuts.last().expect("there are more");
        let mut until = Vec::with_capacity(end + 1);
        until.push(0.0);
        (0..end).for_each(|k| until.push(until[k] + work(self.program, &self.program.eqns()[k])));
        let each = until[end] / MOST as f64;
        let mut joined: Vec<usize> = Vec::with_capacity(MOST);
        let mut before = 0.0;
        for cut in cuts {
            if cut == end || until[cut] - before >= each {
                before = until[cut];
                joined.push(cut);
            }
        }
        joined
    }

    fn stages(&self, turn: usize, cuts: &[usize]) -> Stages {
        let eqns: Vec<Range<usize>> = cuts.iter().scan(0, |from, &to| Some(std::mem::replace(from, to)..to)).collect();
        let count = eqns.len();
        let stage_of = |k: usize| eqns.partition_point(|range| range.end <= k);
        let last = self.last_before(turn);
        // Up to which stage each value before the peak is at hand: it is an operand of all that stand before its last reader.
        let mut at_hand: Vec<Option<usize>> = vec![None; self.roots.len()];
        let mut operands = vec![Vec::new(); count];
        for k in 0..turn {
            for out in self.program.eqns()[k].outs().filter(|out| !self.is_free[out.index()]) {
                let root = self.roots[out.index()];
                let (own, until) = (stage_of(self.made[root.index()]), stage_of(last[root.index()]));
                at_hand[out.index()] = Some(own.max(until));
                if root == out {
                    (own + 1..=until).for_each(|later| operands[later].push(out));
                }
            }
        }
        let (late, rest) = self.late(turn, count, at_hand);
        let residuals = self.residuals(turn, &late, &rest, stage_of, count);
        let sizes = self.sizes(turn, &eqns, &operands, &residuals, &late);
        Stages { eqns, operands, residuals, late, rest, sizes }
    }

    /// The late equations: each belongs to the latest stage at which all it reads is at hand; what reads nothing from before
    /// the peak belongs to the latest stage that reads it.
    fn late(&self, turn: usize, count: usize, mut stage: Vec<Option<usize>>) -> (Vec<Vec<usize>>, Vec<usize>) {
        let eqns = self.program.eqns();
        for eqn in &eqns[turn..] {
            let earliest = eqn.args.iter().filter_map(|arg| stage[arg.index()]).min();
            eqn.outs().for_each(|out| stage[out.index()] = earliest);
        }
        let mut of: Vec<Option<usize>> =
            eqns[turn..].iter().map(|eqn| eqn.outs().next().and_then(|out| stage[out.index()])).collect();
        let mut wanted: Vec<Option<usize>> = vec![None; self.roots.len()];
        for (k, eqn) in eqns[turn..].iter().enumerate().rev() {
            of[k] = of[k].or_else(|| eqn.outs().filter_map(|out| wanted[out.index()]).max());
            for arg in &eqn.args {
                wanted[arg.index()] = wanted[arg.index()].max(of[k]);
            }
        }
        let mut late = vec![Vec::new(); count];
        let mut rest = Vec::new();
        for (k, of) in of.into_iter().enumerate() {
            match of {
                Some(number) => late[number].push(turn + k),
                None => rest.push(turn + k),
            }
        }
        (late, rest)
    }

    /// The values of each stage that are read when its late equations run, or afterwards.
    fn residuals(
        &self,
        turn: usize,
        late: &[Vec<usize>],
        rest: &[usize],
        stage_of: impl Fn(usize) -> usize,
        count: usize,
    ) -> Vec<Vec<Value>> {
        let mut residuals = vec![Vec::new(); count];
        let mut note = |value: Value, reader: usize| {
            let root = self.roots[value.index()];
            let made = self.made[root.index()];
            if !self.is_free[root.index()] && made < turn && reader <= stage_of(made) {
                residuals[stage_of(made)].push(root);
            }
        };
        for (number, late) in late.iter().enumerate() {
            late.iter().flat_map(|&k| &self.program.eqns()[k].args).for_each(|&arg| note(arg, number));
        }
        rest.iter().flat_map(|&k| &self.program.eqns()[k].args).for_each(|&arg| note(arg, 0));
        self.program.outputs().iter().for_each(|&output| note(output, 0));
        for own in &mut residuals {
            own.sort_unstable();
            own.dedup();
        }
        residuals
    }

    fn sizes(
        &self,
        turn: usize,
        eqns: &[Range<usize>],
        operands: &[Vec<Value>],
        residuals: &[Vec<Value>],
        late: &[Vec<usize>],
    ) -> Sizes {
        let count = eqns.len();
        let bytes = |values: &[Value]| values.iter().fold(0usize, |sum, &v| sum.saturating_add(self.bytes(v)));
        let kept = (0..count).map(|number| {
            let own = |value: &Value| eqns[number].contains(&self.made[value.index()]);
            let next = operands.get(number + 1).into_iter().flatten().copied().filter(own);
            let mut all: Vec<Value> = residuals[number].iter().copied().chain(next).collect();
            all.sort_unstable();
            all.dedup();
            bytes(&all)
        });
        let mut takers = vec![0; self.roots.len()];
        operands.iter().flatten().for_each(|value| takers[value.index()] += 1);
        let passing = |values: &Vec<Value>| {
            let few = values.iter().copied().filter(|value| takers[value.index()] <= count / 2);
            bytes(&few.collect::<Vec<Value>>())
        };
        let costs = eqns.iter().map(|range| range.clone().map(|k| work(self.program, &self.program.eqns()[k])).sum());
        Sizes {
            kept: kept.collect(),
            taken: operands.iter().map(passing).collect(),
            after: self.after(turn, late),
            work: costs.collect(),
        }
    }

    /// The most bytes of values made after the peak that are alive at once, while the equations of each stage run.
    fn after(&self, turn: usize, late: &[Vec<usize>]) -> Vec<usize> {
        let order: Vec<usize> = late.iter().rev().flatten().copied().collect();
        let mut place = vec![usize::MAX; self.program.eqns().len()];
        order.iter().enumerate().for_each(|(place_of, &k)| place[k] = place_of);
        // By memory: the last place that reads it.
        let mut last = vec![0; self.roots.len()];
        for (at, &k) in order.iter().enumerate() {
            for arg in &self.program.eqns()[k].args {
                last[self.roots[arg.index()].index()] = at;
            }
        }
        for output in self.program.outputs() {
            last[self.roots[output.index()].index()] = order.len();
        }
        let mut ends = vec![0usize; order.len() + 1];
        let (mut alive, mut at) = (0usize, 0);
        let mut after = vec![0; late.len()];
        for number in (0..late.len()).rev() {
            after[number] = alive;
            for &k in &late[number] {
                for out in self.stored(k).filter(|out| self.made[out.index()] >= turn && last[out.index()] > at) {
                    alive = alive.saturating_add(self.bytes(out));
                    ends[last[out.index()]] = ends[last[out.index()]].saturating_add(self.bytes(out));
                }
                after[number] = after[number].max(alive);
                alive = alive.saturating_sub(ends[at]);
                at += 1;
            }
        }
        after
    }
}

/// For each value, whether it is a result of the Program.
pub(super) fn results(program: &Program) -> Vec<bool> {
    let mut is_result = vec![false; program.types.len()];
    program.outputs().iter().for_each(|output| is_result[output.index()] = true);
    is_result
}

/// Whether the results of an equation are read where an operand lies.
pub(super) fn is_view(program: &Program, eqn: &Eqn) -> bool {
    !eqn.args.is_empty() && program.form(eqn) == Form::View
}

/// What an equation costs, in operations on elements.
fn work(program: &Program, eqn: &Eqn) -> f64 {
    let size = |value: Value| program.types[value.index()].size() as f64;
    let most = eqn.args.iter().copied().chain(eqn.outs()).map(size).fold(0.0, f64::max);
    match &eqn.op {
        Op::Einsum(einsum) => {
            let lengths = |labels: &[u8], value: Value| {
                let shape = &program.types[value.index()].shape;
                labels.iter().copied().zip(shape.iter().copied()).collect::<Vec<(u8, usize)>>()
            };
            let mut all = lengths(einsum.lhs(), eqn.args[0]);
            all.extend(
                lengths(einsum.rhs(), eqn.args[1]).into_iter().filter(|(label, _)| !einsum.lhs().contains(label)),
            );
            all.iter().map(|&(_, length)| length as f64).product()
        }
        Op::Conv(_) => most * (program.types[eqn.args[1].index()].size() as f64).max(1.0),
        op => {
            let times = match op {
                Op::Scan(scan) => scan.length as f64,
                // Nobody knows how many steps it takes.
                Op::While(_) | Op::Unwind(_) => 100.0,
                _ => 1.0,
            };
            let inside: f64 =
                op.programs().iter().map(|inner| inner.eqns().iter().map(|eqn| work(inner, eqn)).sum::<f64>()).sum();
            match program.form(eqn) {
                Form::View | Form::Number => 0.0,
                _ => most + times * inside,
            }
        }
    }
}
