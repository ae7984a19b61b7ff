//! [`Plan`]: how a sparse derivative of a path is computed.

use std::sync::{Arc, Mutex, PoisonError};

use super::products::{CHUNK, Products};
use crate::algorithm::{Algorithm, Base};
use crate::lanes::Lanes;
use crate::scalar::{Computation, Scalar};
use crate::sparsity::edge::{Elimination, Kept, Plain, TooMany, Wanted, Weight, Work};
use crate::sparsity::matrix::Csr;
use crate::sparsity::{Method, Order, trace};
use crate::tape::recording::Line;
use crate::tape::trace::{Flipped, Trace};
use wengert_kernels::pattern::Pattern;

/// Which sparse derivative is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Jacobian,
    /// That of the first output.
    Hessian,
    /// The Hessian of a weighted sum of all outputs.
    Lagrangian,
}

impl Kind {
    pub(super) fn driver(self) -> &'static str {
        match self {
            Kind::Jacobian => "sparse_jacobian",
            Kind::Hessian => "sparse_hessian",
            Kind::Lagrangian => "sparse_hessian_of_lagrangian",
        }
    }

    pub(super) fn is_symmetric(self) -> bool {
        self != Kind::Jacobian
    }

    /// The outputs that it is a derivative of.
    fn outputs(self, trace: &Trace) -> Vec<bool> {
        (0..trace.outputs.len()).map(|output| output == 0 || self != Kind::Hessian).collect()
    }

    fn wanted(self, outputs: &[bool]) -> Wanted<'_> {
        if self.is_symmetric() { Wanted::Hessian(outputs) } else { Wanted::Jacobian(outputs) }
    }
}

/// How a sparse derivative of a path is computed.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) kind: Kind,
    /// The entries that are computed.
    pub(super) pattern: Arc<Pattern>,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Elimination(Eliminated),
    Products(Products),
}

/// What an evaluation is predicted to take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Multiplications and additions, about.
    pub(super) operations: usize,
    pub(super) bytes: usize,
    pub(super) sweeps: usize,
}

/// The elimination of all records.
#[derive(Debug)]
struct Eliminated {
    list: Elimination,
    /// The place of each entry.
    places: Vec<u32>,
    /// Memory of earlier runs over plain numbers, one for each that was under way at the same time.
    idle: Mutex<Vec<Memory>>,
}

/// The memory of a run over plain numbers, with masks where the recording has selections.
#[derive(Debug)]
enum Memory {
    Plain(Work<f64, Plain<f64>>),
    Kept(Work<f64, Kept<f64>>),
}

/// How many points are evaluated together.
const LANES: usize = 8;

/// Words beyond which the list of an elimination is too long to be tried: half a gibibyte.
const WORDS: usize = 1 << 27;

impl Plan {
    /// The plan for all entries that takes the fewest operations. Elimination is tried first: where its list is shorter than one
    /// sweep with colours takes, nothing is coloured.
    pub(super) fn new(trace: &Trace, kind: Kind) -> Result<Plan, TooMany> {
        let eliminated = Plan::eliminated(trace, kind, limit(trace, kind));
        if let Ok(plan) = eliminated.as_ref()
            && plan.cost(trace).operations <= sweeps(trace, kind, 1)
        {
            return eliminated;
        }
        let ways: &[Method] = match kind {
            Kind::Jacobian => &[Method::Columns, Method::Rows],
            Kind::Hessian | Kind::Lagrangian => &[Method::Star],
        };
        let pattern = match &eliminated {
            Ok(plan) => Arc::clone(&plan.pattern),
            Err(TooMany) => Arc::new(detected(trace, kind)?),
        };
        let mut best = eliminated.ok();
        for &way in ways {
            let products = Products::new(kind, &pattern, way, Order::default())?;
            let plan = Plan { kind, pattern: Arc::clone(&pattern), way: Way::Products(products) };
            if best.as_ref().is_none_or(|best| plan.cost(trace).operations < best.cost(trace).operations) {
                best = Some(plan);
            }
        }
        best.ok_or(TooMany)
    }

    /// The plan that was asked for.
    pub(super) fn by(trace: &Trace, kind: Kind, method: Method, order: Order) -> Result<Plan, TooMany> {
        match method {
            Method::Direct | Method::EdgePushing => Plan::eliminated(trace, kind, usize::MAX),
            method => {
                let pattern = detected(trace, kind)?;
                let products = Products::new(kind, &pattern, method, order)?;
                Ok(Plan { kind, pattern: Arc::new(pattern), way: Way::Products(products) })
            }
        }
    }

    pub(super) fn eliminated(trace: &Trace, kind: Kind, limit: usize) -> Result<Plan, TooMany> {
        let (list, pattern, places) = Elimination::new(trace, kind.wanted(&kind.outputs(trace)), limit)?;
        let way = Way::Elimination(Eliminated { list, places, idle: Mutex::default() });
        Ok(Plan { kind, pattern: Arc::new(pattern), way })
    }

    /// The same derivative, of which other entries are wanted. Entries that it does not have are 0.
    pub(super) fn with_entries(self, wanted: &Arc<Pattern>) -> Plan {
        if self.pattern == *wanted {
            return Plan { pattern: Arc::clone(wanted), ..self };
        }
        let numbers = numbers_of(&self.pattern, wanted);
        let way = match self.way {
            Way::Elimination(eliminated) => Way::Elimination(eliminated.with_entries(&numbers)),
            Way::Products(products) => Way::Products(products.with_entries(numbers)),
        };
        Plan { kind: self.kind, pattern: Arc::clone(wanted), way }
    }

    pub(super) fn method(&self) -> Method {
        match &self.way {
            Way::Elimination(_) if self.kind.is_symmetric() => Method::EdgePushing,
            Way::Elimination(_) => Method::Direct,
            Way::Products(products) => products.method(),
        }
    }

    pub(super) fn cost(&self, trace: &Trace) -> Cost {
        match &self.way {
            Way::Elimination(eliminated) => {
                let list = &eliminated.list;
                Cost { operations: trace.records.len() + list.operations(), bytes: list.bytes(trace), sweeps: 1 }
            }
            Way::Products(products) => Cost {
                operations: sweeps(trace, self.kind, products.sweeps()),
                bytes: products.bytes(trace),
                sweeps: products.sweeps(),
            },
        }
    }

    /// The matrix at a point.
    pub(super) fn matrix<S: Scalar>(
        &self,
        trace: &Trace,
        line: Line,
        point: &[S],
        weights: &[S],
    ) -> Result<Csr<S>, Flipped> {
        let values = match S::as_plain(point).zip(S::as_plain(weights)) {
            Some((point, weights)) if trace.captures.is_empty() => {
                let mut values = vec![0.0; self.pattern.nnz()];
                self.evaluate(trace, point, weights, &mut values)?;
                values.into_iter().map(S::from_plain).collect()
            }
            _ => S::replay_by(trace, line, point, weights, self.computation())?,
        };
        Ok(Csr::new(Arc::clone(&self.pattern), values).expect("a value for every entry"))
    }

    /// Itself as what is called on a recording. Not inlined: it would be compiled with its callers, in the crates of users.
    #[inline(never)]
    fn computation(&self) -> &dyn Computation {
        self
    }

    /// The entries at a point of plain numbers, of a recording without captures. An elimination that has run before does not
    /// allocate.
    pub(super) fn evaluate(
        &self,
        trace: &Trace,
        point: &[f64],
        weights: &[f64],
        values: &mut [f64],
    ) -> Result<(), Flipped> {
        match &self.way {
            Way::Elimination(eliminated) => eliminated.evaluate(trace, point, weights, values),
            Way::Products(products) => {
                let all = trace.evaluate(point, |capture| capture.value)?;
                values.copy_from_slice(&products.run(trace, &all, weights));
                Ok(())
            }
        }
    }

    /// The entries at [`LANES`] points, which are rows, one after the other; `false` if a guard comes out differently at one
    /// of them, or there is no way that takes them together.
    pub(super) fn evaluate_lanes(&self, trace: &Trace, points: &[f64], weights: &[f64], values: &mut [f64]) -> bool {
        let Way::Elimination(eliminated) = &self.way else { return false };
        let inputs: Vec<Lanes<LANES>> =
            (0..trace.inputs).map(|input| Lanes(std::array::from_fn(|k| points[k * trace.inputs + input]))).collect();
        let weights: Vec<Lanes<LANES>> = weights.iter().map(|&weight| Lanes([weight; LANES])).collect();
        let Ok(all) = trace.evaluate(&inputs, |capture| Lanes([capture.value; LANES])) else { return false };
        let nnz = eliminated.places.len();
        let mut put = |entry: usize, lanes: Lanes<LANES>| {
            lanes.0.iter().enumerate().for_each(|(k, &value)| values[k * nnz + entry] = value);
        };
        if trace.selects {
            let mut work = Work::<_, Kept<Lanes<LANES>>>::new(&eliminated.list, all);
            eliminated.list.run(trace, &weights, &mut work);
            eliminated.list.entries(&eliminated.places, &work).enumerate().for_each(|(entry, lanes)| put(entry, lanes));
        } else {
            let mut work = Work::<_, Plain<Lanes<LANES>>>::new(&eliminated.list, all);
            eliminated.list.run(trace, &weights, &mut work);
            eliminated.list.entries(&eliminated.places, &work).enumerate().for_each(|(entry, lanes)| put(entry, lanes));
        }
        true
    }

    /// How many points [`Plan::evaluate_lanes`] takes, if it is worth it: not where their numbers no longer fit a cache.
    pub(super) fn lanes(&self, trace: &Trace) -> Option<usize> {
        let small = trace.values.len() <= 1 << 16;
        (small && trace.captures.is_empty() && matches!(self.way, Way::Elimination(_))).then_some(LANES)
    }
}

/// The entries, given the weights of the outputs.
impl Algorithm for Plan {
    #[track_caller]
    fn run<B: Base>(&self, trace: &Trace, values: &[B], weights: &[B]) -> Vec<B> {
        match &self.way {
            Way::Elimination(eliminated) => {
                let mut work = Work::<B, Kept<B>>::new(&eliminated.list, values.to_vec());
                eliminated.list.run(trace, weights, &mut work);
                eliminated.list.entries(&eliminated.places, &work).collect()
            }
            Way::Products(products) => products.run(trace, values, weights),
        }
    }
}

impl Eliminated {
    /// With other entries, by their numbers among these; [`ABSENT`] for what is 0.
    fn with_entries(self, numbers: &[u32]) -> Eliminated {
        let place = |&number: &u32| if number == ABSENT { self.list.nowhere() } else { self.places[number as usize] };
        let places = numbers.iter().map(place).collect();
        Eliminated { places, ..self }
    }

    fn evaluate(&self, trace: &Trace, point: &[f64], weights: &[f64], values: &mut [f64]) -> Result<(), Flipped> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut memory = kept.unwrap_or_else(|| {
            if trace.selects {
                Memory::Kept(Work::new(&self.list, trace.values.clone()))
            } else {
                Memory::Plain(Work::new(&self.list, trace.values.clone()))
            }
        });
        let done = match &mut memory {
            Memory::Plain(work) => self.evaluate_in(work, trace, point, weights, values),
            Memory::Kept(work) => self.evaluate_in(work, trace, point, weights, values),
        };
        idle().push(memory);
        done
    }

    fn evaluate_in<W: Weight<f64>>(
        &self,
        work: &mut Work<f64, W>,
        trace: &Trace,
        point: &[f64],
        weights: &[f64],
        values: &mut [f64],
    ) -> Result<(), Flipped> {
        work.move_to(trace, point)?;
        self.list.run(trace, weights, work);
        self.list.entries(&self.places, work).zip(values).for_each(|(entry, value)| *value = entry);
        Ok(())
    }
}

/// An entry that a derivative does not have.
pub(super) const ABSENT: u32 = u32::MAX;

/// The number of each wanted entry among those of a pattern; [`ABSENT`] if it is not there.
fn numbers_of(pattern: &Pattern, wanted: &Pattern) -> Vec<u32> {
    let mut numbers = Vec::with_capacity(wanted.nnz());
    for row in 0..wanted.rows() {
        let (start, own) = (pattern.starts()[row], pattern.row(row));
        numbers.extend(wanted.row(row).iter().map(|col| match own.binary_search(col) {
            Ok(at) => (start + at) as u32,
            Err(_) => ABSENT,
        }));
    }
    numbers
}

/// The pattern of a path by index sets.
pub(super) fn detected(trace: &Trace, kind: Kind) -> Result<Pattern, TooMany> {
    match kind {
        Kind::Jacobian => trace::jacobian_pattern(trace),
        Kind::Hessian | Kind::Lagrangian => trace::hessian_pattern(trace, &kind.outputs(trace)),
    }
}

/// The operations of sweeps with a chunk of products each, beside the values: a tangent or an adjoint of every record, of a
/// Hessian duals forwards and backwards.
fn sweeps(trace: &Trace, kind: Kind, sweeps: usize) -> usize {
    let each = if kind.is_symmetric() { 6 } else { 2 };
    trace.records.len().saturating_mul(1 + each * CHUNK * sweeps)
}

/// The most words that the list of an elimination is worth: a matrix without zeros is computed by a product for each column,
/// which no list need be longer than.
pub(super) fn limit(trace: &Trace, kind: Kind) -> usize {
    let sweeps = match kind {
        Kind::Jacobian => trace.inputs.min(trace.outputs.len()),
        Kind::Hessian | Kind::Lagrangian => 4 * trace.inputs,
    };
    (4 * trace.records.len()).saturating_mul(sweeps + 4).clamp(1 << 20, WORDS.max(64 * trace.records.len()))
}
