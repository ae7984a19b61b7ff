//! Lanes: the same scalar program at many points.
//!
//! A function of small arrays that is mapped over a long axis is, point by point, a program of scalars: which element
//! meets which is known when planning, and views, concatenations, paddings and permutations are bookkeeping. A *part* of
//! the Program whose values all have such an axis becomes one region whose rows are the points: every instruction works on one element of
//! each array, for a chunk of points at a time. Equal operations are computed once; dead ones are dropped.
//!
//! A part is chosen where this is cheaper than regions and kernels of its own for every concatenation, sum and
//! contraction, by the estimate in [`Estimate`].

mod lower;
pub(super) mod rows;
pub(super) mod scalars;

use super::Map;

use super::blocks::is_blocks;
use super::cluster::{computes, fuses};
use super::cost::Costs;
use super::flatten::Flat;
use super::region::Lowered;
use super::view::View;
use super::work::count;
use crate::array::Strided;
use crate::ops::Unary;
use crate::primitives::Op;
use crate::program::Value;
use scalars::Scalars;

/// The least number of points for which a part is worth it: a chunk of them fills the vector instructions.
const MIN_LANES: usize = 64;
/// The most elements per point of a value of a part.
const MAX_ELEMENTS: usize = 1024;
/// The most scalar operations that an equation, and a part, stand for.
const MAX_OPERATIONS: usize = 16384;
/// The most arrays that a region reads and writes.
const MAX_OPERANDS: usize = 64;

/// Which axis of a value is that of the points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    axis: usize,
    /// How many points.
    count: usize,
    /// How many elements lie between two points.
    inner: usize,
}

/// Equations that become one region.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) eqns: Vec<usize>,
    pub(super) lowered: Lowered,
}

/// The equations that compute something, in an order in which every part is one step.
#[derive(Debug)]
pub(super) enum Item {
    One(usize),
    Part(Box<Part>),
}

impl Item {
    /// A part's first equation and its region.
    pub(super) fn part(self) -> Option<(usize, Lowered)> {
        match self {
            Item::One(_) => None,
            Item::Part(part) => Some((part.eqns[0], part.lowered)),
        }
    }
}

/// Finds the parts of a Program.
pub(super) fn items(flat: &Flat, costs: &Costs) -> Vec<Item> {
    let mut finder = Finder::new(flat, costs);
    let computing: Vec<usize> = (0..flat.program.eqns().len()).filter(|&k| computes(flat, k)).collect();
    computing.iter().for_each(|&k| finder.place(k));
    let mut parts: Vec<(usize, Part)> = finder.parts();
    if parts.is_empty() {
        return computing.into_iter().map(Item::One).collect();
    }
    // What a part needs from outside lies on its level or below; what needs a part lies above.
    let mut taken = vec![false; flat.program.eqns().len()];
    parts.iter().flat_map(|(_, part)| &part.eqns).for_each(|&k| taken[k] = true);
    let mut keyed: Vec<((usize, bool, usize), Item)> = Vec::new();
    for k in computing {
        if !taken[k] {
            keyed.push(((finder.depth[k], finder.lane_of(k).is_some(), k), Item::One(k)));
        }
    }
    for (depth, part) in parts.drain(..) {
        keyed.push(((depth, true, part.eqns[0]), Item::Part(Box::new(part))));
    }
    keyed.sort_by_key(|(key, _)| *key);
    keyed.into_iter().map(|(_, item)| item).collect()
}

/// Whether an equation moves elements from point to point.
fn moves(flat: &Flat, k: usize, lane: &Lane) -> bool {
    let eqn = &flat.program.eqns()[k];
    match &eqn.op {
        Op::Concat(op) => op.axis == lane.axis,
        Op::Pad(op) => (op.low[lane.axis], op.high[lane.axis], op.interior[lane.axis]) != (0, 0, 0),
        // Every point's elements are its own.
        Op::Update(op) => {
            let points = flat.program.ty(eqn.args[1]).shape[lane.axis];
            (op.start[lane.axis], op.stride[lane.axis], points) != (0, 1, lane.count)
        }
        _ => false,
    }
}

/// Whether this axis of a view is that of the points of its base, in order, and all elements of a point are that point's.
fn is_along(view: &View, axis: usize, own: Lane) -> bool {
    if view.shape[axis] != own.count || view.strides[axis] != own.inner.cast_signed() {
        return false;
    }
    let others = |list: &[isize]| -> Vec<isize> {
        list.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, &x)| x).collect()
    };
    let lengths: Vec<usize> = view.shape.iter().enumerate().filter(|(k, _)| *k != axis).map(|(_, &x)| x).collect();
    Strided::new(&lengths, &others(&view.strides), view.offset).all(|at| (at / own.inner).is_multiple_of(own.count))
}

/// Which axis of an operand is that of the points, if `axis` is the result's; `None` if the operand is the same at
/// every point.
fn arg_axis(op: &Op, number: usize, axis: usize) -> Option<usize> {
    match op {
        Op::Pad(_) if number == 1 => None,
        Op::Reduce(reduce) => (0..).filter(|own| !reduce.axes.contains(own)).nth(axis),
        Op::Einsum(einsum) => {
            let labels = if number == 0 { einsum.lhs() } else { einsum.rhs() };
            labels.iter().position(|label| *label == einsum.out()[axis])
        }
        _ => Some(axis),
    }
}

struct Finder<'a> {
    flat: &'a Flat,
    costs: &'a Costs,
    /// For each value that an equation of lanes computes.
    lanes: Vec<Option<Lane>>,
    /// The equation that computes each value.
    made: Vec<Option<usize>>,
    /// For each equation: on how many levels of parts it stands.
    depth: Vec<usize>,
    /// Equations of lanes that belong together: each names another one, the first names itself.
    joined: Vec<usize>,
}

impl<'a> Finder<'a> {
    fn new(flat: &'a Flat, costs: &'a Costs) -> Self {
        let (values, eqns) = (flat.views.len(), flat.program.eqns().len());
        Finder {
            flat,
            costs,
            lanes: vec![None; values],
            made: vec![None; values],
            depth: vec![0; eqns],
            joined: (0..eqns).collect(),
        }
    }

    fn lane_of(&self, k: usize) -> Option<Lane> {
        self.lanes[self.flat.program.eqns()[k].first.index()]
    }

    /// The first of the equations that belong together with one.
    fn root(&mut self, mut k: usize) -> usize {
        while self.joined[k] != k {
            self.joined[k] = self.joined[self.joined[k]];
            k = self.joined[k];
        }
        k
    }

    /// The stored values that an equation reads.
    fn bases(&self, k: usize) -> impl Iterator<Item = Value> {
        let flat = self.flat;
        let args = flat.program.eqns()[k].args.iter().filter(|arg| flat.literals[arg.index()].is_none());
        args.map(|arg| flat.views[arg.index()].base)
    }

    /// Decides what an equation is.
    fn place(&mut self, k: usize) {
        let eqn = &self.flat.program.eqns()[k];
        let lane = self.lane(k);
        let mut depth = 0;
        for base in self.bases(k).collect::<Vec<Value>>() {
            let Some(maker) = self.made[base.index()] else { continue };
            let above = match (self.lanes[base.index()], lane) {
                (None, _) => 0,
                (Some(own), Some(lane)) if own.count == lane.count => 0,
                (Some(_), _) => 1,
            };
            depth = depth.max(self.depth[maker] + above);
        }
        self.depth[k] = depth;
        if let Some(lane) = lane {
            self.lanes[eqn.first.index()] = Some(lane);
            for base in self.bases(k).collect::<Vec<Value>>() {
                if let (Some(maker), Some(own)) = (self.made[base.index()], self.lanes[base.index()])
                    && self.depth[maker] == depth
                    && own.count == lane.count
                {
                    let (one, two) = (self.root(maker), self.root(k));
                    self.joined[one.max(two)] = one.min(two);
                }
            }
        }
        for out in eqn.outs() {
            self.made[out.index()] = Some(k);
        }
    }

    /// The points of an equation, if it can be part of lanes.
    fn lane(&self, k: usize) -> Option<Lane> {
        let eqn = &self.flat.program.eqns()[k];
        match &eqn.op {
            Op::Concat(_) | Op::Pad(_) | Op::Update(_) | Op::Einsum(_) | Op::Unary(Unary::Detach) => {}
            _ if fuses(self.flat, k) => {}
            _ => return None,
        }
        let shape = &self.flat.program.ty(eqn.first).shape;
        let mut axes: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] >= MIN_LANES).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(shape[axis]));
        let lane = |axis: usize| Lane { axis, count: shape[axis], inner: shape[axis + 1..].iter().product() };
        axes.into_iter().map(lane).find(|lane| self.fits(k, lane))
    }

    fn fits(&self, k: usize, lane: &Lane) -> bool {
        let flat = self.flat;
        let eqn = &flat.program.eqns()[k];
        let size = flat.program.ty(eqn.first).size() / lane.count;
        if moves(flat, k, lane) || size == 0 || size > MAX_ELEMENTS {
            return false;
        }
        let terms = match &eqn.op {
            Op::Einsum(op) => {
                let lengths = op.lhs().iter().zip(&flat.program.ty(eqn.args[0]).shape);
                let inner = |(label, length): (&u8, &usize)| if op.out().contains(label) { 1 } else { *length };
                size * lengths.map(inner).product::<usize>()
            }
            _ => size,
        };
        terms > 0 && terms <= MAX_OPERATIONS / 4 && (0..eqn.args.len()).all(|n| self.operand_fits(k, n, lane))
    }

    /// Whether the elements of an operand are those of the same point.
    fn operand_fits(&self, k: usize, n: usize, lane: &Lane) -> bool {
        let flat = self.flat;
        let eqn = &flat.program.eqns()[k];
        let view: &View = &flat.views[eqn.args[n].index()];
        let axis = arg_axis(&eqn.op, n, lane.axis);
        let size = view.count() / axis.map_or(1, |_| lane.count);
        if size > MAX_ELEMENTS {
            return false;
        }
        if flat.literals[eqn.args[n].index()].is_some() {
            return true;
        }
        let Some(own) = self.lanes[view.base.index()] else { return true };
        // Another axis of points: that value is read from memory, which only another part can see to.
        axis.is_some_and(|axis| own.count != lane.count || is_along(view, axis, own))
    }

    /// The parts that are worth it, with their levels.
    fn parts(&mut self) -> Vec<(usize, Part)> {
        let mut groups: Map<usize, Vec<usize>> = Map::default();
        for k in 0..self.depth.len() {
            // Each names the first one from here on.
            self.joined[k] = self.root(k);
            if self.made[self.flat.program.eqns()[k].first.index()] == Some(k) && self.lane_of(k).is_some() {
                groups.entry(self.joined[k]).or_default().push(k);
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
        groups.sort_unstable();
        let needed = self.needed();
        let mut taken = vec![false; self.depth.len()];
        let mut parts = Vec::new();
        for eqns in groups {
            if let Some(part) = self.part(eqns, &needed, &taken) {
                part.eqns.iter().for_each(|&k| taken[k] = true);
                parts.push((self.depth[part.eqns[0]], part));
            }
        }
        parts
    }

    /// The part of these equations, if it is worth it beside those that have been `taken`.
    fn part(&self, eqns: Vec<usize>, needed: &[bool], taken: &[bool]) -> Option<Part> {
        let flat = self.flat;
        count(eqns.len());
        let estimate = Estimate::of(self, &eqns);
        if estimate.breaks == 0 || estimate.scalars > 4 * MAX_OPERATIONS {
            return None;
        }
        let values = eqns.iter().map(|&k| flat.program.eqns()[k].first);
        let stored: Vec<Value> = values.filter(|value| needed[value.index()]).collect();
        if stored.len() > MAX_OPERANDS {
            return None;
        }
        let count = self.lane_of(eqns[0])?.count;
        let stores = stored.iter().map(|&value| flat.program.ty(value).size() / count).sum();
        // The list of scalars is expensive: it is not made for nothing.
        if estimate.fused < lower::least(self.costs, count, stores, estimate.scalars) {
            return None;
        }
        let mut scalars = Scalars::new(flat, Some(&self.lanes));
        for &k in &eqns {
            scalars.eqn(k);
            if scalars.list.len() > MAX_OPERATIONS {
                return None;
            }
        }
        scalars.keep(&stored);
        let targets: Vec<lower::Target> = stored
            .iter()
            .map(|&value| {
                let lane = self.lanes[value.index()].expect("a value of the part");
                lower::Target { value, inner: lane.inner, elements: &scalars.elements[&value] }
            })
            .collect();
        let code = lower::Code::new(&scalars.list, &scalars.loads, &targets);
        let cost = code.estimate(self.costs, count) + self.cut(&eqns, taken);
        if code.reads() > MAX_OPERANDS || estimate.fused < cost {
            return None;
        }
        Some(Part { eqns, lowered: code.lower(flat, count, &targets)? })
    }

    /// The time for values that are in memory only because a part reads them: regions would compute them where they are used.
    fn cut(&self, eqns: &[usize], taken: &[bool]) -> f64 {
        let flat = self.flat;
        let (mut cut, mut time): (Map<Value, ()>, f64) = (Map::default(), 0.0);
        for base in eqns.iter().flat_map(|&k| self.bases(k)) {
            count(1);
            let fused =
                |k: usize| eqns.binary_search(&k).is_err() && !taken[k] && (fuses(flat, k) || is_blocks(flat, k));
            if self.made[base.index()].is_some_and(fused) && cut.insert(base, ()).is_none() {
                time += self.costs.element * flat.program.ty(base).size() as f64;
            }
        }
        time
    }

    /// For each value: whether it is a result, or others need it than the equations that belong together with its own.
    fn needed(&self) -> Vec<bool> {
        let flat = self.flat;
        let mut needed = vec![false; flat.views.len()];
        flat.program.outputs().iter().for_each(|output| needed[output.index()] = true);
        for k in (0..flat.program.eqns().len()).filter(|&k| computes(flat, k)) {
            count(1);
            for base in self.bases(k) {
                let own = self.made[base.index()].is_some_and(|maker| self.joined[maker] == self.joined[k]);
                needed[base.index()] |= !own;
            }
        }
        needed
    }
}

/// What computing a part without lanes would cost, in nanoseconds of one thread.
struct Estimate {
    /// As regions, kernels and products.
    fused: f64,
    /// How many intermediate values would have to be in memory.
    breaks: usize,
    /// Elements per point, over all equations.
    scalars: usize,
}

impl Estimate {
    fn of(finder: &Finder<'_>, eqns: &[usize]) -> Self {
        let (flat, costs) = (finder.flat, finder.costs);
        let mut estimate = Estimate { fused: costs.step, breaks: 0, scalars: 0 };
        let mut written: Map<Value, ()> = Map::default();
        for &k in eqns {
            let eqn = &flat.program.eqns()[k];
            let size = flat.program.ty(eqn.first).size();
            let lane = finder.lane_of(k).expect("an equation of the part");
            estimate.scalars += size / lane.count;
            estimate.fused += costs.operation * size as f64;
            // What is put together of blocks is read where it lies, if that is in memory.
            let blocks = is_blocks(flat, k);
            let whole = !blocks && matches!(eqn.op, Op::Concat(_) | Op::Pad(_) | Op::Update(_) | Op::Einsum(_));
            let far = |arg: &&Value| {
                let view = &flat.views[arg.index()];
                // The result of another part is in memory in any case.
                let made = finder.made[view.base.index()].is_some_and(|maker| eqns.binary_search(&maker).is_ok());
                let own = made && flat.literals[arg.index()].is_none();
                let elsewhere = !matches!(eqn.op, Op::Reduce(_))
                    && !view.is_in_order()
                    && view.spread(flat.program.ty(view.base).size()).is_none();
                own && (blocks || elsewhere)
            };
            let reads: Vec<Value> = eqn.args.iter().filter(far).map(|arg| flat.views[arg.index()].base).collect();
            // A value is written once, whatever number of equations read it; and less of a broadcast array is in memory than is
            // read.
            let mut again = !whole;
            let mut moved = if reads.is_empty() { costs.element * size as f64 } else { 0.0 };
            for &base in &reads {
                let is_written = written.insert(base, ()).is_some();
                let least = if is_written { 0 } else { flat.program.ty(base).size().min(size) };
                moved += costs.element * least as f64 + costs.spread * (size - least) as f64;
                again &= is_written;
            }
            if whole || !reads.is_empty() {
                let products = if matches!(eqn.op, Op::Einsum(_)) { lane.count as f64 } else { 0.0 };
                let step = if again { 0.0 } else { costs.step };
                estimate.breaks += 1;
                estimate.fused += costs.product * products + step + moved;
            }
        }
        estimate
    }
}
