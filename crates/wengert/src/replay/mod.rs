//! Running a recorded path at new points: one at a time, or eight at a time on SIMD lanes.

mod layout;
mod many;
mod single;

pub(crate) use many::derive_many;

use wengert_kernels::{Work, dispatch};

use self::layout::{Layout, Target};
use self::single::Single;
use crate::dual::Dual;
use crate::lanes::{Lanes, WIDTH};
use crate::real::Real;
use crate::tape::record::Side;
use crate::tape::sweep::{self, Cotangent, Factor, Visit, visit_all_edges, visit_hot_edges};
use crate::tape::trace::{Flipped, Trace};
use crate::tree::Tree;

/// One way through a recorded function.
pub(crate) struct Path<O> {
    pub(crate) trace: Trace,
    /// The result of the run that was recorded, for its shape.
    pub(crate) output: O,
    /// How to run it; none if it depends on an outer recording or selects.
    pub(crate) layout: Option<Layout>,
}

impl<O> Path<O> {
    pub(crate) fn new(trace: Trace, output: O) -> Self {
        let plain = trace.captures.is_empty() && !trace.selects;
        let layout = plain.then(|| Layout::new(&trace));
        Path { trace, output, layout }
    }
}

/// Whether the gradient of the first output is wanted besides the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Value,
    Gradient,
}

/// The numbers of one point after a run.
pub(crate) struct Results<'a> {
    /// The values of the outputs.
    pub(crate) outputs: &'a [f64],
    /// The partial derivatives of the first output by the inputs; not valid if not asked for.
    pub(crate) partials: &'a [f64],
}

/// Buffers of a recorded function, kept between runs.
#[derive(Default)]
pub(crate) struct Scratch {
    single: Single,
    /// A point that has no layout, or needs care.
    careful: Buffers<f64>,
    lanes: Buffers<Lanes<WIDTH>>,
    /// Values and adjoints with a tangent: the second order.
    duals: Buffers<Dual<Lanes<WIDTH>>>,
    /// Outputs and partials of the points of a group.
    rows: Rows,
}

/// Values and adjoints in their places.
struct Buffers<R> {
    values: Vec<R>,
    adjoints: Vec<R>,
}

impl<R> Default for Buffers<R> {
    fn default() -> Self {
        Buffers { values: Vec::new(), adjoints: Vec::new() }
    }
}

impl<R: Real> Buffers<R> {
    /// Makes room for a path that has a layout.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn fit(&mut self, values: usize, adjoints: usize) {
        self.values.resize(values, R::constant(0.0));
        if self.adjoints.len() != adjoints {
            self.adjoints.clear();
            self.adjoints.resize(adjoints, R::constant(0.0));
        }
    }

    /// Computes all values from those of the inputs, in the places of the layout.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn evaluate(&mut self, trace: &Trace, layout: &Layout) -> Result<(), Flipped> {
        let values = &mut self.values[..];
        for step in &layout.forward {
            let expected = f64::from(step.expected);
            values[step.result as usize] =
                sweep::evaluate(step.record, step.record, &trace.constants, values, expected).ok_or(Flipped)?;
        }
        Ok(())
    }

    /// Computes the adjoints of the inputs from the values. All adjoints are zero before, and all
    /// but those of the inputs after.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sweep(&mut self, trace: &Trace, layout: &Layout) {
        let (values, adjoints) = (&self.values[..], &mut self.adjoints[..]);
        adjoints[..trace.inputs].fill(R::constant(0.0));
        let Some(seed) = layout.seed else { return };
        adjoints[seed as usize] = R::constant(1.0);
        for step in &layout.backward {
            let (record, result) = (step.record, step.result as usize);
            let from = step.adjoint as usize;
            let mut deposit = Deposit { adjoints, from, to: step.to };
            let y = || values[result];
            if !visit_hot_edges(record, &trace.constants, values, y, &mut deposit) {
                visit_all_edges(record, &trace.constants, values, y, &mut deposit);
            }
            // The place is free now, and a free place holds zero: adding always is faster than
            // asking whether this is the first contribution.
            adjoints[from] = R::constant(0.0);
        }
    }

    /// Runs a path, with or without a layout. Afterwards the values of the outputs and, if asked
    /// for, the adjoints of the inputs can be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(&mut self, way: Way<'_>, ask: Ask, fill: impl FnOnce(&mut [R])) -> Result<(), Flipped> {
        let trace = way.trace;
        if let Some(layout) = way.layout {
            self.fit(layout.values, layout.adjoints);
            fill(&mut self.values[..trace.inputs]);
            self.evaluate(trace, layout)?;
            if ask == Ask::Gradient {
                self.sweep(trace, layout);
            }
        } else {
            let mut inputs = vec![R::constant(0.0); trace.inputs];
            fill(&mut inputs);
            self.values = trace.evaluate(&inputs, |capture| R::constant(capture.value))?;
            if ask == Ask::Gradient {
                self.adjoints = trace.pull_back(&self.values, &[Some(R::constant(1.0))]);
            }
        }
        Ok(())
    }

    /// The value of output `k` after a run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn output(&self, way: Way<'_>, k: usize) -> R {
        match way.layout {
            Some(layout) => match layout.outputs[k] {
                Some(place) => self.values[place as usize],
                None => way.trace.output(k, &self.values),
            },
            None => way.trace.output(k, &self.values),
        }
    }
}

/// Adds the parts of one adjoint to those it flows to.
struct Deposit<'a, R> {
    adjoints: &'a mut [R],
    from: usize,
    to: [Target; 2],
}

impl<R: Real> Visit<R> for Deposit<'_, R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn edge(&mut self, side: Side, factor: Factor<R>) {
        if let Some(place) = self.to[side as usize].place() {
            // The adjoint is read here, not once before: eight lanes that live across the branches
            // of the match are spilled to the stack and reloaded in pieces.
            let part = self.adjoints[self.from].times(factor);
            self.adjoints[place] += part;
        }
    }
}

/// A path without its result, whose type belongs to the user's function.
#[derive(Clone, Copy)]
struct Way<'a> {
    trace: &'a Trace,
    layout: Option<&'a Layout>,
}

impl<O> Path<O> {
    fn way(&self) -> Way<'_> {
        Way { trace: &self.trace, layout: self.layout.as_ref() }
    }
}

/// Runs the path at one point; `None` if a guard came out differently.
pub(crate) fn run<O, G>(
    path: &Path<O>,
    scratch: &mut Scratch,
    point: &[f64],
    ask: Ask,
    take: impl FnOnce(&Results<'_>) -> G,
) -> Option<G> {
    Some(take(&run_single(path.way(), scratch, point, ask).ok()?))
}

/// The part of [`run`] that is compiled once, and not for every user's function.
fn run_single<'a>(way: Way<'_>, scratch: &'a mut Scratch, point: &[f64], ask: Ask) -> Result<Results<'a>, Flipped> {
    if let Some(layout) = way.layout
        && scratch.single.run(way.trace, layout, point, ask)?
    {
        return Ok(Results { outputs: &scratch.single.outputs, partials: &scratch.single.partials });
    }
    let (buffers, rows) = (&mut scratch.careful, &mut scratch.rows);
    buffers.run(way, ask, |inputs| inputs.copy_from_slice(point))?;
    rows.outputs.clear();
    rows.outputs.extend((0..way.trace.outputs.len()).map(|k| buffers.output(way, k)));
    let partials = buffers.adjoints.get(..way.trace.inputs).unwrap_or_default();
    Ok(Results { outputs: &rows.outputs, partials })
}

/// Runs the path at many points, eight at a time, and hands the results of every point to `visit`
/// in order; `None` for the points of a group in which a guard came out differently.
pub(crate) fn run_many<X: Tree<Leaf = f64>, O>(
    path: &Path<O>,
    scratch: &mut Scratch,
    points: &[X],
    ask: Ask,
    mut visit: impl FnMut(&X, Option<Results<'_>>),
) {
    run_groups(Groups {
        way: path.way(),
        buffers: &mut scratch.lanes,
        rows: &mut scratch.rows,
        count: points.len(),
        ask,
        fill: &mut |start, inputs| fill(inputs, &points[start..points.len().min(start + WIDTH)]),
        visit: &mut |k, results| visit(&points[k], results),
    });
}

/// The part of [`run_many`] that is compiled once, and not for every user's function.
fn run_groups(groups: Groups<'_>) {
    dispatch(groups);
}

/// The work of [`run_many`], compiled once per instruction set.
struct Groups<'a> {
    way: Way<'a>,
    buffers: &'a mut Buffers<Lanes<WIDTH>>,
    rows: &'a mut Rows,
    count: usize,
    ask: Ask,
    /// Writes the group of points from this one on.
    fill: &'a mut dyn FnMut(usize, &mut [Lanes<WIDTH>]),
    /// Takes the results of this point.
    visit: &'a mut dyn FnMut(usize, Option<Results<'_>>),
}

impl Work for Groups<'_> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Groups { way, buffers, rows, count, ask, fill, visit } = self;
        let (inputs, outputs) = (way.trace.inputs, way.trace.outputs.len());
        for start in (0..count).step_by(WIDTH) {
            let group = start..count.min(start + WIDTH);
            if buffers.run(way, ask, |inputs| fill(start, inputs)).is_err() {
                group.for_each(|point| visit(point, None));
                continue;
            }
            transpose(outputs, |k| buffers.output(way, k), &mut rows.outputs);
            let asked = if ask == Ask::Gradient { inputs } else { 0 };
            transpose(asked, |k| buffers.adjoints[k], &mut rows.partials);
            for (lane, point) in group.enumerate() {
                let outputs = &rows.outputs[lane * outputs..(lane + 1) * outputs];
                let partials = &rows.partials[lane * asked..(lane + 1) * asked];
                visit(point, Some(Results { outputs, partials }));
            }
        }
    }
}

/// Results of up to eight points, a row per point.
#[derive(Default)]
struct Rows {
    outputs: Vec<f64>,
    partials: Vec<f64>,
}

/// The leaves of up to eight points, a point per lane; lanes without a point repeat the last one.
#[cfg_attr(not(debug_assertions), inline(always))]
fn fill<X: Tree<Leaf = f64>>(inputs: &mut [Lanes<WIDTH>], group: &[X]) {
    for lane in 0..WIDTH {
        let mut places = inputs.iter_mut();
        group[lane.min(group.len() - 1)].for_each_leaf(&mut |leaf| {
            if let Some(place) = places.next() {
                place.0[lane] = leaf;
            }
        });
    }
}

/// Writes the columns that `column` gives as rows.
#[cfg_attr(not(debug_assertions), inline(always))]
fn transpose(size: usize, column: impl Fn(usize) -> Lanes<WIDTH>, rows: &mut Vec<f64>) {
    rows.resize(WIDTH * size, 0.0);
    for k in 0..size {
        let column = column(k);
        for lane in 0..WIDTH {
            rows[lane * size + k] = column.0[lane];
        }
    }
}
