//! Running a recorded path at new points: one at a time, or eight at a time on SIMD lanes.

use wengert_kernels::{Work, dispatch};

use crate::lanes::{Lanes, WIDTH};
use crate::real::Real;
use crate::tape::sweep::{self, Cotangent, visit_edges};
use crate::tape::trace::{Flipped, Trace};
use crate::tree::Tree;

/// One way through a recorded function.
pub(crate) struct Path<O> {
    pub(crate) trace: Trace,
    /// The result of the run that was recorded, for its shape.
    pub(crate) output: O,
    /// The records that a derivative of the first output flows through.
    pub(crate) live: Vec<bool>,
}

/// Whether the gradient of the first output is wanted besides the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    Value,
    Gradient,
}

/// Reads the numbers of one point after a run.
pub(crate) struct Reader<'a> {
    /// The value of output `k`.
    pub(crate) output: &'a dyn Fn(usize) -> f64,
    /// The partial derivative of the first output by input `k`.
    pub(crate) partial: &'a dyn Fn(usize) -> f64,
}

/// Buffers of a recorded function, kept between runs.
#[derive(Default)]
pub(crate) struct Scratch {
    single: Buffers<f64>,
    lanes: Buffers<Lanes<WIDTH>>,
}

/// Values and adjoints of all records and captures; the adjoints, but for those of the inputs,
/// are zero between runs.
#[derive(Default)]
struct Buffers<R> {
    values: Vec<R>,
    adjoints: Vec<R>,
}

impl<R: Real> Buffers<R> {
    #[inline(always)]
    fn fit(&mut self, trace: &Trace) {
        let size = trace.values.len();
        if self.values.len() != size {
            self.values.resize(size, R::constant(0.0));
            self.adjoints.clear();
            self.adjoints.resize(size, R::constant(0.0));
        }
    }

    /// Computes all values from those of the inputs.
    #[inline(always)]
    fn evaluate(&mut self, trace: &Trace) -> Result<(), Flipped> {
        let values = &mut self.values[..];
        for i in trace.inputs..trace.records.len() {
            let before = trace.records[i.saturating_sub(1)];
            values[i] = sweep::evaluate(trace.records[i], before, &trace.constants, values, trace.values[i])
                .ok_or(Flipped)?;
        }
        Ok(())
    }

    /// Computes the adjoints of the inputs from the values.
    #[inline(always)]
    fn sweep<O>(&mut self, path: &Path<O>) {
        let trace = &path.trace;
        let (values, adjoints) = (&self.values[..], &mut self.adjoints[..]);
        adjoints[..trace.inputs].fill(R::constant(0.0));
        let Some(from) = trace.output_node(0) else { return };
        if trace.selects {
            let swept = trace.pull_back(values, &[Some(R::constant(1.0))]);
            adjoints[..trace.inputs].copy_from_slice(&swept[..trace.inputs]);
            return;
        }
        adjoints[from] = R::constant(1.0);
        for i in (trace.inputs..=from).rev() {
            if !path.live[i] {
                continue;
            }
            let ct = std::mem::replace(&mut adjoints[i], R::constant(0.0));
            visit_edges(trace.records[i], &trace.constants, values, i, |k, factor| {
                adjoints[k] += ct.times(factor);
            });
        }
    }
}

/// Runs the path at one point; `None` if a guard came out differently.
pub(crate) fn run<O, G>(
    path: &Path<O>,
    scratch: &mut Scratch,
    point: &[f64],
    ask: Ask,
    take: impl FnOnce(&Reader<'_>) -> G,
) -> Option<G> {
    let buffers = &mut scratch.single;
    buffers.fit(&path.trace);
    buffers.values[..path.trace.inputs].copy_from_slice(point);
    buffers.evaluate(&path.trace).ok()?;
    if ask == Ask::Gradient {
        buffers.sweep(path);
    }
    Some(take(&Reader {
        output: &|k| path.trace.output(k, &buffers.values),
        partial: &|k| buffers.adjoints[k],
    }))
}

/// Runs the path at many points, eight at a time; `None` for the points of a group in which a
/// guard came out differently.
pub(crate) fn run_many<X: Tree<Scalar = f64>, O, G>(
    path: &Path<O>,
    scratch: &mut Scratch,
    points: &[X],
    ask: Ask,
    take: impl Fn(&X, &Reader<'_>) -> G,
) -> Vec<Option<G>> {
    dispatch(Groups { path, buffers: &mut scratch.lanes, points, ask, take })
}

/// The work of [`run_many`], compiled once per instruction set.
struct Groups<'a, X, O, F> {
    path: &'a Path<O>,
    buffers: &'a mut Buffers<Lanes<WIDTH>>,
    points: &'a [X],
    ask: Ask,
    take: F,
}

impl<X, O, G, F> Work for Groups<'_, X, O, F>
where
    X: Tree<Scalar = f64>,
    F: Fn(&X, &Reader<'_>) -> G,
{
    type Output = Vec<Option<G>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Groups { path, buffers, points, ask, take } = self;
        let trace = &path.trace;
        buffers.fit(trace);
        let mut results = Vec::with_capacity(points.len());
        for group in points.chunks(WIDTH) {
            fill(&mut buffers.values[..trace.inputs], group);
            if buffers.evaluate(trace).is_err() {
                results.extend(group.iter().map(|_| None));
                continue;
            }
            if ask == Ask::Gradient {
                buffers.sweep(path);
            }
            results.extend(group.iter().enumerate().map(|(lane, point)| {
                Some(take(
                    point,
                    &Reader {
                        output: &|k| trace.output(k, &buffers.values).0[lane],
                        partial: &|k| buffers.adjoints[k].0[lane],
                    },
                ))
            }));
        }
        results
    }
}

/// The leaves of up to eight points, a point per lane; lanes without a point repeat the last one.
fn fill<X: Tree<Scalar = f64>>(inputs: &mut [Lanes<WIDTH>], group: &[X]) {
    for lane in 0..WIDTH {
        let mut k = 0;
        group[lane.min(group.len() - 1)].for_each_leaf(&mut |leaf| {
            inputs[k].0[lane] = leaf;
            k += 1;
        });
    }
}
