//! One way through a recorded function: its recording, and the code for what has been asked of it more than once.

use std::any::Any;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::batches::{blocks, matrices};
use crate::scalar::Scalar;
use crate::straight::Straight;
use crate::tape::recording::Line;
use crate::tape::trace::Trace;
use crate::task::Task;

/// The most sweeps times records for which a matrix is one list. Larger ones are computed by sweeps.
const MATRIX: usize = 1 << 20;

/// A way through a recorded function, with the result of the run that was recorded, for its shape.
pub(crate) struct Path<O> {
    way: Way,
    pub(super) output: O,
    /// Paths of one function are numbered as they are made.
    pub(super) number: usize,
}

/// A way through a recorded function: what does not depend on the type of its result, and is compiled once.
pub(crate) struct Way {
    pub(crate) trace: Trace,
    kept: [Kept; Task::KINDS],
    /// What other modules have made of the recording, one of each type.
    more: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

/// The code of a task.
#[derive(Default)]
struct Kept {
    /// Whether it was asked for: the code is made the second time. Making it takes as long as many runs.
    asked: AtomicBool,
    code: OnceLock<Straight>,
}

impl<O> Path<O> {
    pub(super) fn new(trace: Trace, output: O, number: usize) -> Self {
        Path { way: Way::new(trace), output, number }
    }
}

impl<O> Deref for Path<O> {
    type Target = Way;

    fn deref(&self) -> &Way {
        &self.way
    }
}

impl Way {
    fn new(trace: Trace) -> Self {
        Way { trace, kept: std::array::from_fn(|_| Kept::default()), more: Mutex::default() }
    }

    /// What `make` makes of the recording, the first time; it is kept as long as the path.
    pub(crate) fn keep<K: Any + Send + Sync>(&self, make: impl FnOnce(&Trace) -> K) -> Arc<K> {
        let more = || self.more.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |kept: &Arc<dyn Any + Send + Sync>| Arc::clone(kept).downcast::<K>().ok();
        if let Some(found) = more().iter().find_map(find) {
            return found;
        }
        // Made without the lock, for it may take long: of two that were made at a time one is kept.
        let made = Arc::new(make(&self.trace));
        let mut more = more();
        if let Some(found) = more.iter().find_map(find) {
            return found;
        }
        more.push(Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }

    /// Whether it is asked of numbers alone, and not of variables of an outer recording too.
    pub(crate) fn is_closed(&self) -> bool {
        self.trace.captures.is_empty()
    }

    /// The code of a task that is asked for at this number of points, if there is to be one.
    pub(super) fn straight(&self, task: &Task, points: usize) -> Option<&Straight> {
        let kept = &self.kept[task.kind()];
        if let Some(code) = kept.code.get() {
            return Some(code);
        }
        let again = kept.asked.swap(true, Ordering::Relaxed) || points > 1;
        if !again || !self.is_closed() || self.sweeps(task).saturating_mul(self.trace.records.len()) > MATRIX {
            return None;
        }
        Some(kept.code.get_or_init(|| Straight::new(&self.trace, task)))
    }

    /// How many sweeps a matrix takes; 0 for what is no matrix.
    fn sweeps(&self, task: &Task) -> usize {
        match task {
            Task::Jacobian | Task::ValueAndJacobian => self.trace.inputs.min(self.trace.outputs.len()),
            Task::Hessian | Task::ValueGradientAndHessian => self.trace.inputs,
            Task::Value | Task::Gradient | Task::ValueAndGradient => 0,
            Task::Jvp | Task::Vjp | Task::ValueAndVjp | Task::Hvp | Task::ValueGradientAndHvp => 0,
            Task::Taylor { .. } => 0,
        }
    }

    /// Hands what a task gives at each of `count` points to `visit`, in order; `None` where a guard comes out differently, or
    /// where it has to be computed with care. `fill` writes a point and its direction, and is false if they do not fit.
    pub(super) fn ask_many(
        &self,
        task: &Task,
        count: usize,
        fill: &mut dyn FnMut(usize, &mut [f64]) -> bool,
        visit: &mut dyn FnMut(usize, Option<&[f64]>),
    ) {
        match (self.straight(task, count), self.sweeps(task)) {
            (Some(straight), _) => blocks(straight, count, fill, visit),
            (None, 0) => (0..count).for_each(|point| visit(point, None)),
            (None, _) => matrices(self, task, count, fill, visit),
        }
    }

    /// Hands what a task gives at a point to `take`; `None`, and nothing, if a guard comes out differently there.
    #[track_caller]
    pub(crate) fn ask<S: Scalar>(
        &self,
        line: Line,
        point: &[S],
        direction: &[S],
        task: &Task,
        take: &mut dyn FnMut(&mut Numbers<'_, S>),
    ) -> Option<()> {
        let plain = S::as_plain(point).zip(S::as_plain(direction));
        if let Some((numbers, direction)) = plain
            && let Some(straight) = self.straight(task, 1)
        {
            let joined;
            let inputs = match direction.is_empty() {
                true => numbers,
                false => {
                    joined = [numbers, direction].concat();
                    &joined
                }
            };
            return straight.run_one(inputs, |results| take(&mut Numbers::Plain(results.iter())));
        }
        let results = S::replay(&self.trace, line, point, direction, task).ok()?;
        take(&mut Numbers::Own(results.into_iter()));
        Some(())
    }
}

/// The numbers that a task gives, one after the other.
pub(crate) enum Numbers<'a, S> {
    Plain(std::slice::Iter<'a, f64>),
    Own(std::vec::IntoIter<S>),
}

impl<S: Scalar> Numbers<'_, S> {
    /// The next one; a task gives as many as its driver takes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn next(&mut self) -> S {
        match self {
            Numbers::Plain(numbers) => S::from_plain(*numbers.next().expect("as many as the driver takes")),
            Numbers::Own(numbers) => numbers.next().expect("as many as the driver takes"),
        }
    }
}

impl Numbers<'_, f64> {
    /// All that are left.
    pub(super) fn as_slice(&self) -> &[f64] {
        match self {
            Numbers::Plain(numbers) => numbers.as_slice(),
            Numbers::Own(numbers) => numbers.as_slice(),
        }
    }
}
