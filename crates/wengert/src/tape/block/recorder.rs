//! A loop over `Var`: every way through its step is recorded once, and the steps run on what was recorded.

use std::sync::Arc;

use super::compare::{Recording, difference};
use super::runner::{ByCode, PathRunner, StepInputs};
use super::sequence::PathSequence;
use super::steps::{self, Body, Rows};
use super::thin::{self, Keeping, LoopSize};
use super::{Block, Key, Loop, Path, PlainRows, Source, Steps, Structure, Taken, kept};
use crate::tape::recording::{Mode, Scope, innermost_mode, keeping, note_loop, place_of, push_block};
use crate::tape::trace::{Flipped, Trace};
use crate::tape::{Var, lift};

/// How many steps are recorded as they are before a block begins: a short loop is cheaper so.
const FEW: usize = 4;

/// How many paths a loop may have. The steps of one that has more are recorded as they are, from there on.
const PATHS: usize = 64;

/// How many wrong paths may be tried for every step, beside some at the beginning. A loop that changes its path more often is
/// recorded as it is: that takes no longer.
const TRIES: usize = 4;
const FIRST_TRIES: usize = 1000;

/// As [`steps::take_steps`], over variables.
#[track_caller]
pub(super) fn take_steps(steps: Steps<Var>, body: &mut Body<'_, Var>) -> Result<Taken<Var>, Flipped> {
    let all = steps.most();
    // A recorded function and a diagnosis see every operation; without a recording all numbers are constants.
    let few = match innermost_mode() {
        Some(Mode::Once) => FEW,
        Some(Mode::Step) if all > FEW => 0,
        None | Some(Mode::Step | Mode::Replay | Mode::Diagnose) => all,
    };
    if all <= few {
        return steps::run(&steps, 0..all, body);
    }
    let mut taken = steps::run(&steps, 0..few, body)?;
    if taken.ended {
        return Ok(taken);
    }
    let mut recorder = Recorder::new(&steps, few, &taken);
    let done = recorder.run(body)?;
    let (rest, next) = (recorder.finish(), few + done.steps);
    join(&mut taken, rest);
    if done.full {
        // Too many paths: the rest is recorded as it is.
        let steps = Steps { start: taken.carry.clone(), label: taken.label, ..steps };
        join(&mut taken, steps::run(&steps, next..all, body)?);
    }
    Ok(taken)
}

/// Appends what further steps came to.
fn join(taken: &mut Taken<Var>, rest: Taken<Var>) {
    taken.carry = rest.carry;
    taken.label = rest.label;
    taken.gives.extend(rest.gives);
    taken.given.extend(rest.given);
    taken.ended = rest.ended;
}

/// How far the steps came.
struct Done {
    steps: usize,
    /// Whether the loop has more paths than are kept.
    full: bool,
}

struct Recorder<'a> {
    steps: &'a Steps<Var>,
    /// The number of the first step.
    first: usize,
    start: Vec<Var>,
    label: u32,
    paths: Vec<Arc<Path>>,
    runners: Vec<ByCode>,
    /// How often each path was taken.
    visits: Vec<usize>,
    /// The paths, the latest used first.
    order: Vec<u8>,
    /// How often a path was tried that is not taken.
    tries: usize,
    captures: Vec<Var>,
    capture_values: Vec<f64>,
    sequence: PathSequence,
    carries: Vec<f64>,
    /// How many steps there will be, if that is known.
    count: Option<usize>,
    /// Of how many steps one keeps its carry; more and more where the number of carries is limited.
    every: usize,
    /// The most carries.
    most: Option<usize>,
    /// What it was told to keep, if the recording has a limit of memory.
    keeping: Option<Keeping>,
    carry: Vec<f64>,
    gives: Vec<f64>,
    given: Vec<u32>,
}

impl<'a> Recorder<'a> {
    fn new(steps: &'a Steps<Var>, first: usize, taken: &Taken<Var>) -> Self {
        let keeping = keeping(taken.carry.len(), steps.every);
        let every = keeping.map_or(steps.every, |keeping| keeping.every);
        let most = [steps.snapshots, keeping.and_then(|keeping| keeping.most)].into_iter().flatten().min();
        let count = steps.count.map(|count| count - first).or(keeping.and_then(|keeping| keeping.count));
        Recorder {
            steps,
            first,
            start: taken.carry.clone(),
            label: taken.label,
            paths: Vec::new(),
            runners: Vec::new(),
            visits: Vec::new(),
            order: Vec::new(),
            tries: 0,
            captures: Vec::new(),
            capture_values: Vec::new(),
            sequence: PathSequence::of(count.unwrap_or(0)),
            carries: Vec::new(),
            count,
            every,
            most,
            keeping,
            carry: taken.carry.iter().map(|x| x.value).collect(),
            gives: Vec::new(),
            given: Vec::new(),
        }
    }

    /// How many steps were taken, without the answer that ended the loop.
    fn count(&self) -> usize {
        let last = self.sequence.len().checked_sub(1).and_then(|step| self.sequence.get(step));
        let ended = last.is_some_and(|path| self.paths[path].structure.ends);
        self.sequence.len() - usize::from(ended)
    }

    #[track_caller]
    fn run(&mut self, body: &mut Body<'_, Var>) -> Result<Done, Flipped> {
        let mut row = Vec::new();
        let mut plain = Vec::new();
        let mut next = Vec::new();
        for t in 0..self.steps.most() - self.first {
            self.steps.rows.row(self.first + t, &mut row);
            plain.clear();
            plain.extend(row.iter().map(|x| x.value));
            let key = Key { carry: self.label, row: self.steps.labels.of(self.first + t) };
            next.clear();
            let number = match self.known(key, &plain, &mut next) {
                Some(number) => {
                    self.check(number, key, &plain, body);
                    number
                }
                None if self.paths.len() >= PATHS => return Ok(Done { steps: t, full: true }),
                None if self.tries > FIRST_TRIES + TRIES * t => return Ok(Done { steps: t, full: true }),
                None => {
                    let (trace, structure) = self.record(key, &plain, body)?;
                    for k in 0..trace.outputs.len() {
                        let value = trace.output(k, &trace.values);
                        if k < self.carry.len() { next.push(value) } else { self.gives.push(value) }
                    }
                    self.add(trace, structure)
                }
            };
            let structure = self.paths[usize::from(number)].structure;
            if !structure.ends && self.steps.limit == Some(self.first + t) {
                break;
            }
            self.sequence.push(number);
            if structure.ends {
                break;
            }
            self.keep(t);
            if self.paths[usize::from(number)].trace.outputs.len() > self.carry.len() {
                self.given.push(structure.given);
            }
            self.label = structure.after;
            std::mem::swap(&mut self.carry, &mut next);
        }
        Ok(Done { steps: self.count(), full: false })
    }

    /// Keeps the carry before a step, if it is one of those that are kept.
    fn keep(&mut self, t: usize) {
        let size = self.carry.len();
        if size == 0 || !t.is_multiple_of(self.every) {
            return;
        }
        if let (true, Some(count)) = (self.carries.is_empty(), self.count) {
            let kept = count.div_ceil(self.every).min(self.most.unwrap_or(usize::MAX));
            self.carries.reserve_exact(kept * size);
        }
        if self.most.is_some_and(|most| self.carries.len() >= most * size) {
            // Every second one of those so far.
            let half = (self.carries.len() / size).div_ceil(2);
            (1..half).for_each(|k| self.carries.copy_within(2 * k * size..(2 * k + 1) * size, k * size));
            self.carries.truncate(half * size);
            self.every *= 2;
            return self.keep(t);
        }
        if let (Some(most), true) = (self.most, self.carries.len() == self.carries.capacity()) {
            // As a list grows, but not beyond what is allowed.
            self.carries.reserve_exact(self.carries.len().max(8 * size).min(most * size - self.carries.len()));
        }
        self.carries.extend_from_slice(&self.carry);
    }

    /// Takes a step on a path that is known; gives its number.
    fn known(&mut self, key: Key, row: &[f64], next: &mut Vec<f64>) -> Option<u8> {
        let size = self.carry.len();
        for place in 0..self.order.len() {
            let number = usize::from(self.order[place]);
            let path = &self.paths[number];
            if path.structure.before != key {
                continue;
            }
            let inputs = StepInputs { carry: &self.carry, row, captures: &self.capture_values };
            let gives = &mut self.gives;
            let run = self.runners[number].forward(path, self.steps.make_code, inputs, |outputs| {
                next.extend_from_slice(&outputs[..size]);
                gives.extend_from_slice(&outputs[size..]);
            });
            if run.is_some() {
                self.order[..=place].rotate_right(1);
                return Some(number as u8);
            }
            self.tries += 1;
        }
        None
    }

    /// Runs the step on variables of a level of its own.
    #[track_caller]
    fn record(&self, key: Key, row: &[f64], body: &mut Body<'_, Var>) -> Result<(Trace, Structure), Flipped> {
        let scope = Scope::open_at(Mode::Step, self.steps.line);
        let mut inputs = scope.inputs();
        let carry: Vec<Var> = self.carry.iter().map(|&x| inputs.input(x)).collect();
        let row: Vec<Var> = row.iter().map(|&x| inputs.input(x)).collect();
        inputs.end();
        let step = body(key, &carry, &row).ok_or(Flipped)?;
        let mut outputs = step.carry;
        outputs.extend(step.gives);
        let trace = scope.extract(&outputs);
        Ok((trace, Structure { before: key, after: step.after, given: step.given, ends: step.ends }))
    }

    /// A new path.
    fn add(&mut self, trace: Trace, structure: Structure) -> u8 {
        let (trace, captured) = trace.closed();
        let captures = captured.into_iter().map(|var| self.capture(var)).collect();
        self.order.insert(0, self.paths.len() as u8);
        self.paths.push(kept::path(trace, captures, structure));
        self.runners.push(ByCode::default());
        self.visits.push(1);
        (self.paths.len() - 1) as u8
    }

    /// The number of a captured variable.
    fn capture(&mut self, var: Var) -> u32 {
        let place = self.captures.iter().position(|known| known.tag == var.tag).unwrap_or_else(|| {
            self.captures.push(var);
            self.capture_values.push(var.value);
            self.captures.len() - 1
        });
        place as u32
    }

    /// That a path is still what a user's step does: it is recorded again at its second, third, fourth, eighth, … use. A step that
    /// reads what changes from call to call is found so, unless it changes seldom.
    #[track_caller]
    fn check(&mut self, number: u8, key: Key, row: &[f64], body: &mut Body<'_, Var>) {
        let visits = &mut self.visits[usize::from(number)];
        *visits += 1;
        if !self.steps.checked || (*visits > 4 && !visits.is_power_of_two()) {
            return;
        }
        let Ok((again, structure)) = self.record(key, row, body) else { return };
        let path = &self.paths[usize::from(number)];
        let inputs = self.carry.len() + row.len();
        let tags = |vars: &mut dyn Iterator<Item = Var>| vars.map(|var| var.tag).collect();
        let captures = tags(&mut path.captures.iter().map(|&capture| self.captures[capture as usize]));
        let known = Recording { trace: &path.trace, captures, inputs };
        let again = Recording { trace: &again, captures: tags(&mut again.captures.iter().copied()), inputs };
        let difference = match difference(&known, &again) {
            None if structure == path.structure => return,
            None => "ends the loop when it runs again".to_owned(),
            Some(difference) => difference,
        };
        changed(self.steps.line, &difference);
    }

    /// Leaves the block on the list; gives its results.
    fn finish(self) -> Taken<Var> {
        let count = self.count();
        let (steps, first) = (self.steps, self.first);
        let source = |var: &Var| Source { value: var.value, node: place_of(*var, "loop", steps.line) };
        let mut sources: Vec<Source> = self.start.iter().chain(&self.captures).map(source).collect();
        let mut varies = sources.iter().any(|source| source.place().is_some());
        let rows = match &steps.rows {
            Rows::None => PlainRows::Elsewhere,
            Rows::Counted(from) => PlainRows::Counted(from + first as i64),
            Rows::Each(width, numbers) => {
                let own: &[Var] = &numbers[first * width..(first + count) * width];
                match own.iter().all(|number| number.tag == 0) {
                    true => PlainRows::Numbers(own.iter().map(|number| number.value).collect()),
                    false => {
                        varies = true;
                        sources.extend(own.iter().map(source));
                        PlainRows::Elsewhere
                    }
                }
            }
        };
        let (label, given) = (self.label, self.given);
        let ended = self.sequence.len() > count;
        let taken = |carry: Vec<Var>, gives: Vec<Var>| Taken { carry, label, gives, given, ended };
        if !varies {
            let constants = |numbers: &[f64]| numbers.iter().map(|&number| lift(number)).collect();
            return taken(constants(&self.carry), constants(&self.gives));
        }
        let body = Loop {
            line: steps.line,
            carry: self.carry.len(),
            row: steps.rows.width(),
            gives: self.gives.len().checked_div(count).unwrap_or(0),
            captures: self.captures.len(),
            count,
            rows,
            paths: self.paths,
            sequence: self.sequence,
            carries: self.carries,
            every: self.every,
            make_code: steps.make_code,
        };
        let block = Block { sources, body: Arc::new(body) };
        if let Some(keeping) = self.keeping {
            note_loop(keeping.number, LoopSize::of(&block, thin::asked(count, steps.every, steps.snapshots)));
        }
        let mut results = push_block(block, &[&self.carry[..], &self.gives].concat());
        let gives = results.split_off(self.carry.len());
        taken(results, gives)
    }
}

#[cold]
#[track_caller]
fn changed(line: crate::tape::recording::Line, difference: &str) -> ! {
    panic!(
        "the step of the loop at {line} {difference}: a step is recorded once for each way through it, so it has to be a \
         function of the carry, the row and captured variables alone; pass numbers that change from step to step as rows of \
         `scan`, and those that depend on earlier steps in the carry"
    )
}
