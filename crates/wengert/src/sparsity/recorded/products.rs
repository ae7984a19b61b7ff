//! [`Products`]: derivatives of a path by products with colours of columns or rows.

use super::plan::{ABSENT, Kind};
use crate::algorithm::Base;
use crate::dual::Dual;
use crate::sparsity::edge::TooMany;
use crate::sparsity::{Colouring, ColouringError, Method, Order, Recovery};
use crate::tape::cotangent::Pack;
use crate::tape::trace::Trace;
use wengert_kernels::pattern::Pattern;

/// Products with seeds that are 1 at all columns, or all rows, of a colour: the compressed matrix, first those with columns,
/// `[colour][row]`, then those with rows, `[colour][column]`.
#[derive(Debug)]
pub(super) struct Products {
    kind: Kind,
    method: Method,
    /// The sizes of the matrix.
    size: (usize, usize),
    /// The colour of each column and of each row; [`NO_COLOUR`](crate::sparsity::NO_COLOUR) for one without.
    columns: Vec<u32>,
    rows: Vec<u32>,
    /// How many colours there are of each.
    counts: (usize, usize),
    recovered: Recovered,
    /// The numbers of the entries that are wanted, if these are not all; [`ABSENT`] for what is 0.
    numbers: Option<Vec<u32>>,
}

/// How entries come from the products.
#[derive(Debug)]
enum Recovered {
    Table(Recovery),
    /// Every column has a product: where the entries stand.
    Columns(Vec<usize>),
}

/// How many products go through one sweep.
pub(super) const CHUNK: usize = 8;

impl Products {
    /// By colours, or by a product for every column.
    pub(super) fn new(kind: Kind, pattern: &Pattern, method: Method, order: Order) -> Result<Self, TooMany> {
        let size = (pattern.rows(), pattern.cols());
        let of = |colouring: Result<Colouring, ColouringError>| {
            // The patterns of Hessians are symmetric: what may be wrong is the size.
            let colouring = colouring.map_err(|_| TooMany)?;
            let recovery = colouring.recovery(pattern).map_err(|_| TooMany)?;
            let columns = colouring.column_colours().to_vec();
            let rows = colouring.row_colours().to_vec();
            let counts = (colouring.column_count(), colouring.row_count());
            let recovered = Recovered::Table(recovery);
            Ok(Products { kind, method, size, columns, rows, counts, recovered, numbers: None })
        };
        match method {
            Method::Rows => of(Ok(Colouring::rows(pattern, order))),
            Method::Bidirectional => of(Ok(Colouring::bidirectional(pattern, order))),
            Method::Star => of(Colouring::star(pattern, order)),
            Method::Acyclic => of(Colouring::acyclic(pattern, order)),
            Method::Dense => Ok(Products {
                kind,
                method,
                size,
                columns: (0..size.1 as u32).collect(),
                rows: Vec::new(),
                counts: (size.1, 0),
                recovered: Recovered::Columns(pattern.entries().map(|(row, col)| col * size.0 + row).collect()),
                numbers: None,
            }),
            _ => of(Ok(Colouring::columns(pattern, order))),
        }
    }

    /// With other entries, by their numbers among these.
    pub(super) fn with_entries(self, numbers: Vec<u32>) -> Products {
        Products { numbers: Some(numbers), ..self }
    }

    pub(super) fn method(&self) -> Method {
        self.method
    }

    pub(super) fn sweeps(&self) -> usize {
        self.counts.0.div_ceil(CHUNK) + self.counts.1.div_ceil(CHUNK)
    }

    /// How many numbers the products have.
    fn compressed(&self) -> usize {
        self.counts.0 * self.size.0 + self.counts.1 * self.size.1
    }

    /// Bytes of the products, and of a sweep.
    pub(super) fn bytes(&self, trace: &Trace) -> usize {
        let each = if self.kind.is_symmetric() { size_of::<Dual<f64, CHUNK>>() * 2 } else { 8 * CHUNK };
        8 * self.compressed() + trace.values.len() * (8 + each)
    }

    /// The entries, given the values of all records and captures, and the weights of the outputs.
    #[track_caller]
    pub(super) fn run<B: Base>(&self, trace: &Trace, values: &[B], weights: &[B]) -> Vec<B> {
        let mut products = vec![B::constant(0.0); self.compressed()];
        let plain: Vec<f64> = values.iter().map(|value| value.plain()).collect();
        // A chunk has zeros that are structural for one product beside numbers of another: they must not meet what is infinite.
        match (self.kind, B::CHUNKED && trace.has_finite_partials(&plain)) {
            (Kind::Hessian | Kind::Lagrangian, _) => self.second::<B, CHUNK>(trace, values, weights, &mut products),
            (Kind::Jacobian, true) => self.first::<B, CHUNK>(trace, values, &mut products),
            (Kind::Jacobian, false) => self.first::<B, 1>(trace, values, &mut products),
        }
        let all: Vec<B> = match &self.recovered {
            Recovered::Table(recovery) => {
                let mut all = vec![B::constant(0.0); recovery.nnz()];
                recovery.apply(&products, &mut all);
                all
            }
            Recovered::Columns(places) => places.iter().map(|&place| products[place]).collect(),
        };
        let Some(numbers) = &self.numbers else { return all };
        let entry = |&number: &u32| if number == ABSENT { B::constant(0.0) } else { all[number as usize] };
        numbers.iter().map(entry).collect()
    }

    #[track_caller]
    fn first<B: Base, const K: usize>(&self, trace: &Trace, values: &[B], products: &mut [B]) {
        let (rows, cols) = self.size;
        let (forward, backward) = products.split_at_mut(self.counts.0 * rows);
        for start in (0..self.counts.0).step_by(K) {
            let tangents = trace.push_forward(values, &seeds::<B, K>(&self.columns, start));
            for row in 0..rows {
                let Some(tangent) = trace.output_node(row).and_then(|node| tangents[node]) else { continue };
                for k in 0..K.min(self.counts.0 - start) {
                    forward[(start + k) * rows + row] = tangent.0[k];
                }
            }
        }
        for start in (0..self.counts.1).step_by(K) {
            let adjoints = trace.pull_back(values, &seeds::<B, K>(&self.rows, start));
            for k in 0..K.min(self.counts.1 - start) {
                let own = &mut backward[(start + k) * cols..(start + k + 1) * cols];
                own.iter_mut().zip(&adjoints).for_each(|(number, adjoint)| *number = adjoint.0[k]);
            }
        }
    }

    /// Forward over reverse. Duals know which of their tangents are structurally zero.
    #[track_caller]
    fn second<B: Base, const K: usize>(&self, trace: &Trace, values: &[B], weights: &[B], products: &mut [B]) {
        let weights: Vec<Option<Dual<B, K>>> = weights.iter().map(|&weight| Some(Dual::lift(weight))).collect();
        for start in (0..self.counts.0).step_by(K) {
            let input = |(&x, &colour): (&B, &u32)| match (colour as usize).checked_sub(start) {
                Some(place) if place < K => Dual::<B, K>::seed(x, place),
                _ => Dual::lift(x),
            };
            let inputs: Vec<Dual<B, K>> = values[..trace.inputs].iter().zip(&self.columns).map(input).collect();
            let values = trace.evaluate(&inputs, |capture| Dual::lift(B::capture(capture)));
            let adjoints = trace.pull_back(&values.expect("the point is the same, so no guard flips"), &weights);
            for (row, adjoint) in adjoints[..trace.inputs].iter().enumerate() {
                for (k, tangent) in adjoint.tangents().into_iter().enumerate().take(self.counts.0 - start) {
                    products[(start + k) * self.size.0 + row] = tangent;
                }
            }
        }
    }
}

/// The seeds of the colours from `start` on.
fn seeds<B: Base, const K: usize>(colours: &[u32], start: usize) -> Vec<Option<Pack<B, K>>> {
    let seed = |&colour: &u32| {
        let place = (colour as usize).checked_sub(start).filter(|&place| place < K)?;
        Some(Pack(std::array::from_fn(|k| B::constant(if k == place { 1.0 } else { 0.0 }))))
    };
    colours.iter().map(seed).collect()
}
