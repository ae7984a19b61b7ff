//! The numeric phase: one pass over the list of an elimination, over any carrier.

use super::{Elimination, NONE, Operands, TWICE, Words, bends_in};
use crate::dual::Dual;
use crate::ops::{Binary, Unary};
use crate::real::{Called, Mask, Real};
use crate::tape::cotangent::{Cotangent, Factor};
use crate::tape::record::{Form, Op, Record, Side};
use crate::tape::sweep::{self, visit_edges_apart};
use crate::tape::trace::{Flipped, Trace};

/// A number that flows back: an adjoint or an edge, which may be structurally zero.
pub(in crate::sparsity) trait Weight<R: Real>: Copy {
    /// Structurally zero.
    fn nothing() -> Self;
    fn of(number: R) -> Self;
    #[track_caller]
    fn plus(self, other: Self) -> Self;
    #[track_caller]
    fn times(self, factor: Factor<R>) -> Self;
    #[track_caller]
    fn masked(self, mask: R::Mask) -> Self;
    /// The number; 0 if there is none.
    fn number(self) -> R;
}

/// A number alone, for lists without selections: what flows there flows at every point.
#[derive(Clone, Copy, Debug)]
pub(in crate::sparsity) struct Plain<R>(R);

impl<R: Real> Weight<R> for Plain<R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn nothing() -> Self {
        Plain(R::constant(0.0))
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn of(number: R) -> Self {
        Plain(number)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn plus(self, other: Self) -> Self {
        Plain(self.0 + other.0)
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn times(self, factor: Factor<R>) -> Self {
        Plain(Cotangent::<R>::times(self.0, factor))
    }
    fn masked(self, _: R::Mask) -> Self {
        unreachable!("a list with selections keeps masks")
    }
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn number(self) -> R {
        self.0
    }
}

/// A number and where it counts; everywhere if there is no mask. What is structurally zero is never multiplied: the branch
/// that a selection does not take may be infinite.
#[derive(Clone, Copy, Debug)]
pub(in crate::sparsity) struct Kept<R: Real>(Option<(R, Option<R::Mask>)>);

impl<R: Real> Weight<R> for Kept<R> {
    fn nothing() -> Self {
        Kept(None)
    }
    fn of(number: R) -> Self {
        Kept(Some((number, None)))
    }
    #[track_caller]
    fn plus(self, other: Self) -> Self {
        Kept(match (self.0, other.0) {
            (Some((x, own)), Some((y, more))) => Some((x + y, own.zip(more).map(|(own, more)| own | more))),
            (one, other) => one.or(other),
        })
    }
    #[track_caller]
    fn times(self, factor: Factor<R>) -> Self {
        Kept(self.0.map(|(x, mask)| {
            let x = Cotangent::<R>::times(x, factor);
            (mask.map_or(x, |mask| R::select(mask, x, R::constant(0.0))), mask)
        }))
    }
    #[track_caller]
    fn masked(self, mask: R::Mask) -> Self {
        Kept(self.0.and_then(|(x, own)| {
            let here = own.map_or(mask, |own| own & mask);
            match here.known() {
                Some(false) => None,
                Some(true) => Some((x, None)),
                None => Some((R::select(here, x, R::constant(0.0)), Some(here))),
            }
        }))
    }
    fn number(self) -> R {
        self.0.map_or(R::constant(0.0), |(x, _)| x)
    }
}

/// The memory of a run.
#[derive(Debug)]
pub(in crate::sparsity) struct Work<R, W> {
    /// The values of all records and captures.
    values: Vec<R>,
    /// Whether they are those of the point that stands among them.
    valid: bool,
    /// Of Hessians. Between runs those of records that derivatives flow through are nothing.
    adjoints: Vec<W>,
    /// Between runs all but the results are nothing.
    edges: Vec<W>,
}

impl<R: Real, W: Weight<R>> Work<R, W> {
    /// With these values of all records and captures.
    pub(in crate::sparsity) fn new(plan: &Elimination, values: Vec<R>) -> Self {
        let adjoints = if plan.is_hessian() { values.len() } else { 0 };
        Work { values, valid: true, adjoints: vec![W::nothing(); adjoints], edges: vec![W::nothing(); plan.places + 1] }
    }
}

impl<W: Weight<f64>> Work<f64, W> {
    /// Computes the values at another point, unless they are those of this one.
    pub(in crate::sparsity) fn move_to(&mut self, trace: &Trace, point: &[f64]) -> Result<(), Flipped> {
        let same = |(x, y): (&f64, &f64)| x.to_bits() == y.to_bits();
        if self.valid && self.values[..trace.inputs].iter().zip(point).all(same) {
            return Ok(());
        }
        self.values[..trace.inputs].copy_from_slice(point);
        // A guard that comes out differently leaves values of two points.
        self.valid = false;
        trace.evaluate_in_place(&mut self.values)?;
        self.valid = true;
        Ok(())
    }
}

impl Elimination {
    /// Computes all entries from the values in `work`; of a Hessian that of the sum of the outputs, each with its weight.
    #[track_caller]
    pub(in crate::sparsity) fn run<R: Real, W: Weight<R>>(&self, trace: &Trace, weights: &[R], work: &mut Work<R, W>) {
        self.results.iter().for_each(|&place| work.edges[place as usize] = W::nothing());
        if self.is_hessian() {
            self.triangle(trace, weights, work);
        } else {
            self.rows(trace, work);
        }
    }

    /// What a run has left at these places.
    pub(in crate::sparsity) fn entries<'a, R: Real, W: Weight<R>>(
        &self,
        places: &'a [u32],
        work: &'a Work<R, W>,
    ) -> impl Iterator<Item = R> + use<'a, R, W> {
        places.iter().map(|&place| work.edges[place as usize].number())
    }

    /// A Jacobian: the records with edges, and nothing else.
    #[track_caller]
    fn rows<R: Real, W: Weight<R>>(&self, trace: &Trace, work: &mut Work<R, W>) {
        let Work { values, edges, .. } = work;
        for seed in self.outputs.iter().filter(|seed| seed.place != NONE) {
            edges[seed.place as usize] = W::of(R::constant(1.0));
        }
        let mut at = 0;
        while at < self.words.len() {
            let i = self.words[at] as usize;
            let partials = Partials::of(trace, values, i);
            at = self.push(trace, values, edges, at, &partials, W::nothing());
        }
    }

    /// A Hessian: the adjoints of all records, and the edges on the way.
    #[track_caller]
    fn triangle<R: Real, W: Weight<R>>(&self, trace: &Trace, weights: &[R], work: &mut Work<R, W>) {
        let Work { values, adjoints, edges, .. } = work;
        adjoints[..trace.inputs].fill(W::nothing());
        for seed in &self.outputs {
            let adjoint = &mut adjoints[seed.node as usize];
            *adjoint = adjoint.plus(W::of(weights[seed.output as usize]));
        }
        let mut at = 0;
        for &(from, to) in self.runs.iter().flatten() {
            for i in (from as usize..to as usize).rev() {
                let ct = std::mem::replace(&mut adjoints[i], W::nothing());
                let record = trace.records[i];
                if self.words.get(at) != Some(&(i as u32)) && record.code() != SELECT {
                    visit_edges_apart(record, &trace.constants, values, i, |side, factor| {
                        let adjoint = &mut adjoints[record.operand(side)];
                        *adjoint = adjoint.plus(ct.times(factor));
                    });
                    continue;
                }
                let partials = Partials::of(trace, values, i);
                if let Some(part) = partials.a {
                    let adjoint = &mut adjoints[record.a()];
                    *adjoint = adjoint.plus(part.of(ct));
                }
                if let Some(part) = partials.b {
                    let adjoint = &mut adjoints[record.b()];
                    *adjoint = adjoint.plus(part.of(ct));
                }
                if self.words.get(at) == Some(&(i as u32)) {
                    at = self.push(trace, values, edges, at, &partials, ct);
                }
            }
        }
    }

    /// Passes the edges of a record to its operands, whose words begin at `at`; gives where the next begin.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn push<R: Real, W: Weight<R>>(
        &self,
        trace: &Trace,
        values: &[R],
        edges: &mut [W],
        mut at: usize,
        partials: &Partials<R>,
        ct: W,
    ) -> usize {
        let words = &self.words[..];
        let (i, header) = (words[at] as usize, words[at + 1]);
        let operands = Operands::ALL[(header & Words::KIND) as usize];
        at += 2;
        let mut itself = W::nothing();
        if header & Words::ITSELF != 0 {
            itself = std::mem::replace(&mut edges[words[at] as usize], W::nothing());
            at += 1;
        }
        if header & (Words::ITSELF | Words::BENDS) != 0 {
            let pairs = operands.pairs();
            let targets = &words[at..at + pairs];
            at += pairs;
            if header & Words::ITSELF != 0 {
                square(edges, targets, operands, partials, itself);
            }
            if header & Words::BENDS != 0 {
                bend(trace, values, i, edges, targets, operands, ct);
            }
        }
        let others = (header >> Words::OTHERS) as usize;
        let add = |edges: &mut [W], target: u32, part: W| {
            let part = if target & TWICE != 0 { part.plus(part) } else { part };
            let edge = &mut edges[(target & !TWICE) as usize];
            *edge = edge.plus(part);
        };
        match operands {
            Operands::Both => {
                let (a, b) = (partials.at_a(), partials.at_b());
                for own in words[at..at + 3 * others].chunks_exact(3) {
                    let edge = std::mem::replace(&mut edges[own[0] as usize], W::nothing());
                    add(edges, own[1], a.of(edge));
                    add(edges, own[2], b.of(edge));
                }
                at + 3 * others
            }
            Operands::OnlyA | Operands::OnlyB | Operands::Same => {
                for own in words[at..at + 2 * others].chunks_exact(2) {
                    let edge = std::mem::replace(&mut edges[own[0] as usize], W::nothing());
                    add(edges, own[1], partials.single(operands, edge));
                }
                at + 2 * others
            }
        }
    }
}

/// Adds the part of an edge of a record to itself to those between its operands.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn square<R: Real, W: Weight<R>>(
    edges: &mut [W],
    targets: &[u32],
    operands: Operands,
    partials: &Partials<R>,
    itself: W,
) {
    let mut add = |target: u32, part: W| {
        if target != NONE {
            let edge = &mut edges[target as usize];
            *edge = edge.plus(part);
        }
    };
    if operands == Operands::Both {
        let (a, b) = (partials.at_a(), partials.at_b());
        let by_a = a.of(itself);
        add(targets[0], a.of(by_a));
        add(targets[1], b.of(by_a));
        add(targets[2], b.of(b.of(itself)));
    } else {
        let once = partials.single(operands, itself);
        add(targets[0], partials.single(operands, once));
    }
}

/// Adds the second derivatives of a record, times its adjoint, to the edges between its operands.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn bend<R: Real, W: Weight<R>>(
    trace: &Trace,
    values: &[R],
    i: usize,
    edges: &mut [W],
    targets: &[u32],
    operands: Operands,
    ct: W,
) {
    let record = trace.records[i];
    let mut add = |target: u32, part: W| {
        let edge = &mut edges[target as usize];
        *edge = edge.plus(part);
    };
    let code = record.code();
    if code == MUL && operands == Operands::Both {
        return add(targets[1], ct);
    }
    if code == SQUARE || code == MUL {
        return add(targets[0], ct.times(Factor::Constant(2.0)));
    }
    let seconds = seconds(record, &trace.constants, values, i);
    let there = bends_in(record, operands);
    for k in (0..3).filter(|&k| there[k]) {
        let part = ct.times(Factor::Times(seconds[k]));
        match operands {
            Operands::Both => add(targets[k], part),
            Operands::Same if k == 1 => add(targets[0], part.plus(part)),
            Operands::OnlyA | Operands::OnlyB | Operands::Same => add(targets[0], part),
        }
    }
}

const MUL: u8 = Op::Binary(Binary::Mul, Form::Both).encode().0;
const SQUARE: u8 = Op::Unary(Unary::Square).encode().0;
const SELECT: u8 = Op::Select.encode().0;

/// The second derivatives of a record by its operands: by `a` twice, by both, by `b` twice. The rules of first derivatives
/// are differentiated by duals, whose operations are calls: the rules of all operations over the tangents of eight points are
/// long.
#[track_caller]
fn seconds<R: Real>(record: Record, constants: &[f64], values: &[R], i: usize) -> [R; 3] {
    let zero = R::constant(0.0);
    let (a, b, z) = (record.a(), record.b(), Called(values[i]));
    match record.op() {
        Op::Unary(op) => {
            let x = values[a];
            let y = Dual::new(values[i], op.partial(Called(x), z).0);
            [op.partial(Called(Dual::variable(x)), Called(y)).0.tangent(), zero, zero]
        }
        Op::Binary(op, Form::Both) => {
            let (x, y) = (values[a], values[b]);
            let (by_x, by_y) = op.partials(Called(x), Called(y), z);
            let z = Dual::with_tangents(values[i], [by_x.0, by_y.0]);
            let (x, y) = (Dual::<R, 2>::seed(x, 0), Dual::<R, 2>::seed(y, 1));
            let (by_x, by_y) = op.partials(Called(x), Called(y), Called(z));
            [by_x.0.tangents()[0], by_x.0.tangents()[1], by_y.0.tangents()[1]]
        }
        Op::Binary(op, Form::Right) => {
            let (x, y) = (values[a], R::constant(constants[b]));
            let z = Dual::new(values[i], op.partial_x(Called(x), Called(y), z).0);
            [op.partial_x(Called(Dual::variable(x)), Called(Dual::lift(y)), Called(z)).0.tangent(), zero, zero]
        }
        Op::Binary(op, Form::Left) => {
            let (x, y) = (R::constant(constants[b]), values[a]);
            let z = Dual::new(values[i], op.partial_y(Called(x), Called(y), z).0);
            [op.partial_y(Called(Dual::lift(x)), Called(Dual::variable(y)), Called(z)).0.tangent(), zero, zero]
        }
        other => unreachable!("{} has no second derivatives", other.name()),
    }
}

/// How a record depends on its operands.
struct Partials<R: Real> {
    a: Option<Part<R>>,
    b: Option<Part<R>>,
}

/// How it depends on one.
#[derive(Clone, Copy)]
enum Part<R: Real> {
    Factor(Factor<R>),
    /// It is the operand where this holds.
    Where(R::Mask),
}

impl<R: Real> Part<R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn of<W: Weight<R>>(self, weight: W) -> W {
        match self {
            Part::Factor(factor) => weight.times(factor),
            Part::Where(mask) => weight.masked(mask),
        }
    }
}

impl<R: Real> Partials<R> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn of(trace: &Trace, values: &[R], i: usize) -> Self {
        let record = trace.records[i];
        if record.code() == SELECT {
            let chosen = sweep::mask(values[trace.records[i - 1].a()]);
            return Partials { a: Some(Part::Where(chosen)), b: Some(Part::Where(!chosen)) };
        }
        let mut partials = Partials { a: None, b: None };
        visit_edges_apart(record, &trace.constants, values, i, |side, factor| match side {
            Side::A => partials.a = Some(Part::Factor(factor)),
            Side::B => partials.b = Some(Part::Factor(factor)),
        });
        partials
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at_a(&self) -> Part<R> {
        self.a.expect("a derivative flows to the first operand")
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at_b(&self) -> Part<R> {
        self.b.expect("a derivative flows to the second operand")
    }

    /// The part of a weight that goes to the only operand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn single<W: Weight<R>>(&self, operands: Operands, weight: W) -> W {
        match operands {
            Operands::OnlyA => self.at_a().of(weight),
            Operands::OnlyB => self.at_b().of(weight),
            Operands::Both | Operands::Same => self.at_a().of(weight).plus(self.at_b().of(weight)),
        }
    }
}
