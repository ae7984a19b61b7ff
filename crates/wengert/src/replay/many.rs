//! Derivatives with a direction or of several sweeps at many points, eight at a time on SIMD lanes: products with the
//! Jacobian and its transpose, the Jacobian, the Hessian and products with it.
//!
//! Each is the algorithm of one point ([`crate::algorithm`]) over [`Lanes`], sweep by sweep: the numbers of a lane are
//! those of its point. A matrix takes a sweep for each column or row where one point takes eight in one sweep: eight
//! lanes of eight cotangents are half a kilobyte for every operation, and one more copy of every rule in the library.

use wengert_kernels::{Work, dispatch};

use super::{Ask, Buffers, Path, Scratch, Way, transpose};
use crate::dual::Dual;
use crate::lanes::{Lanes, WIDTH};
use crate::real::Real;
use crate::tape::trace::{Flipped, Trace};
use crate::task::Task;
use crate::tree::Tree;

type Column = Lanes<WIDTH>;

/// Runs `task` at many points, eight at a time, and hands the number of every point to `visit`, in order, with the results
/// that the task has there; `None` for the points of a group in which a guard came out differently, or a direction
/// does not have as many numbers as this path takes. There is a direction for every point, or none at all.
pub(crate) fn derive_many<X: Tree<Leaf = f64>, V: Tree<Leaf = f64>, O>(
    path: &Path<O>,
    scratch: &mut Scratch,
    points: &[X],
    directions: &[V],
    task: &Task,
    visit: &mut dyn FnMut(usize, Option<&[f64]>),
) {
    let Some(sweeps) = Sweeps::of(task, &path.trace) else {
        (0..points.len()).for_each(|point| visit(point, None));
        return;
    };
    run_groups(Groups {
        way: path.way(),
        sweeps,
        duals: &mut scratch.duals,
        rows: &mut scratch.rows.outputs,
        count: points.len(),
        fill: &mut |start, inputs| fill(inputs, group_of(points, start)),
        direct: &mut |start, columns| fill(columns, group_of(directions, start)),
        visit,
    });
}

/// The part of [`derive_many`] that is compiled once, and not for every user's function.
fn run_groups(groups: Groups<'_>) {
    dispatch(groups);
}

/// The points from `start` on that share a group.
fn group_of<X>(points: &[X], start: usize) -> &[X] {
    &points[start.min(points.len())..points.len().min(start + WIDTH)]
}

/// The leaves of up to eight trees, a tree per lane; lanes without a tree repeat the last one. False if a tree has another
/// number of leaves.
fn fill<X: Tree<Leaf = f64>>(columns: &mut [Column], group: &[X]) -> bool {
    if group.is_empty() || group.iter().any(|tree| tree.size() != columns.len()) {
        return columns.is_empty();
    }
    super::fill(columns, group);
    true
}

/// What a task sweeps over, and where its results go.
#[derive(Clone, Copy)]
struct Sweeps {
    kind: Sweep,
    /// How many sweeps there are, one for each unit vector; `None`: one sweep, along the direction.
    units: Option<usize>,
    /// Numbers of the direction.
    direction: usize,
    /// Whether the values of the outputs come first.
    values: bool,
    /// How many numbers a sweep gives.
    size: usize,
    /// Whether a sweep gives a column of the matrix; else it gives a row.
    columns: bool,
}

/// What a sweep gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sweep {
    /// The tangents of the outputs.
    Forward,
    /// The cotangents of the inputs.
    Backward,
    /// The tangents of the gradient.
    Second,
}

impl Sweeps {
    /// None for the tasks that have one sweep of their own, or none on lanes.
    fn of(task: &Task, trace: &Trace) -> Option<Self> {
        let (inputs, outputs) = (trace.inputs, trace.outputs.len());
        let product =
            |kind, direction, size, values| Sweeps { kind, units: None, direction, values, size, columns: false };
        let matrix = |kind, units, size, columns| Sweeps {
            kind,
            units: Some(units),
            direction: 0,
            values: false,
            size,
            columns,
        };
        Some(match task {
            Task::Jvp => product(Sweep::Forward, inputs, outputs, true),
            Task::Vjp => product(Sweep::Backward, outputs, inputs, false),
            Task::Hvp => product(Sweep::Second, inputs, inputs, false),
            Task::Jacobian if inputs <= outputs => matrix(Sweep::Forward, inputs, outputs, true),
            Task::Jacobian => matrix(Sweep::Backward, outputs, inputs, false),
            Task::Hessian => matrix(Sweep::Second, inputs, inputs, true),
            Task::Value | Task::Gradient | Task::ValueAndGradient | Task::Taylor { .. } => return None,
        })
    }

    fn count(self) -> usize {
        self.units.unwrap_or(1)
    }

    /// How many results come before those of the sweeps.
    fn before(self, trace: &Trace) -> usize {
        if self.values { trace.outputs.len() } else { 0 }
    }

    /// The place of number `k` of sweep `sweep` after that.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place(self, sweep: usize, k: usize) -> usize {
        if self.columns { k * self.count() + sweep } else { sweep * self.size + k }
    }

    /// What `sweep` starts from, of number `k` of the direction or unit vector; none is structurally zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn seed(self, sweep: usize, k: usize, direction: &[Column]) -> Option<Column> {
        match self.units {
            Some(_) => (k == sweep).then_some(Lanes([1.0; WIDTH])),
            None => Some(direction[k]),
        }
    }
}

/// The work of [`derive_many`], compiled once per instruction set.
struct Groups<'a> {
    way: Way<'a>,
    sweeps: Sweeps,
    duals: &'a mut Buffers<Dual<Column>>,
    rows: &'a mut Vec<f64>,
    count: usize,
    /// Writes the group of points from this one on; false if one has another size.
    fill: &'a mut dyn FnMut(usize, &mut [Column]) -> bool,
    /// Writes the directions of that group.
    direct: &'a mut dyn FnMut(usize, &mut [Column]) -> bool,
    /// Takes the results of this point.
    visit: &'a mut dyn FnMut(usize, Option<&[f64]>),
}

impl Work for Groups<'_> {
    type Output = ();

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run(self) {
        let Groups { way, sweeps, duals, rows, count, fill, direct, visit } = self;
        let zero = Lanes([0.0; WIDTH]);
        let mut point = vec![zero; way.trace.inputs];
        let mut direction = vec![zero; sweeps.direction];
        let size = sweeps.before(way.trace) + sweeps.count() * sweeps.size;
        let mut results = vec![zero; size];
        for start in (0..count).step_by(WIDTH) {
            let fits = fill(start, &mut point) && direct(start, &mut direction);
            let computed = fits
                && match sweeps.kind {
                    Sweep::Forward | Sweep::Backward => {
                        first_order(way.trace, sweeps, &point, &direction, &mut results)
                    }
                    Sweep::Second => second_order(way, sweeps, duals, &point, &direction, &mut results),
                }
                .is_ok();
            if computed {
                transpose(size, |k| results[k], rows);
            }
            for (lane, point) in (start..count.min(start + WIDTH)).enumerate() {
                visit(point, computed.then(|| &rows[lane * size..(lane + 1) * size]));
            }
        }
    }
}

/// The values if they are asked for, then the sweeps, forward or backward.
#[cfg_attr(not(debug_assertions), inline(always))]
fn first_order(
    trace: &Trace,
    sweeps: Sweeps,
    point: &[Column],
    direction: &[Column],
    results: &mut [Column],
) -> Result<(), Flipped> {
    let values = trace.evaluate(point, |capture| Lanes::constant(capture.value))?;
    let (before, results) = results.split_at_mut(sweeps.before(trace));
    before.iter_mut().enumerate().for_each(|(k, result)| *result = trace.output(k, &values));
    for sweep in 0..sweeps.count() {
        let seeds =
            |count: usize| -> Vec<Option<Column>> { (0..count).map(|k| sweeps.seed(sweep, k, direction)).collect() };
        if sweeps.kind == Sweep::Forward {
            let tangents = trace.push_forward(&values, &seeds(trace.inputs));
            for k in 0..sweeps.size {
                let tangent = trace.output_node(k).and_then(|node| tangents[node]);
                results[sweeps.place(sweep, k)] = tangent.unwrap_or_default();
            }
        } else {
            let cotangents = trace.pull_back(&values, &seeds(trace.outputs.len()));
            for k in 0..sweeps.size {
                results[sweeps.place(sweep, k)] = cotangents[k];
            }
        }
    }
    Ok(())
}

/// The gradient over duals, a sweep for every direction.
#[cfg_attr(not(debug_assertions), inline(always))]
fn second_order(
    way: Way<'_>,
    sweeps: Sweeps,
    duals: &mut Buffers<Dual<Column>>,
    point: &[Column],
    direction: &[Column],
    results: &mut [Column],
) -> Result<(), Flipped> {
    for sweep in 0..sweeps.count() {
        duals.run(way, Ask::Gradient, |inputs| {
            for (k, (input, &x)) in inputs.iter_mut().zip(point).enumerate() {
                *input = sweeps.seed(sweep, k, direction).map_or(Dual::lift(x), |tangent| Dual::new(x, tangent));
            }
        })?;
        for k in 0..sweeps.size {
            results[sweeps.place(sweep, k)] = duals.adjoints[k].tangent();
        }
    }
    Ok(())
}
