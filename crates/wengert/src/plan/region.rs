//! A cluster of equations to a region of the kernels: instructions, slots, loads and stores.

use super::{Map, Set};

use wengert_kernels::region::{
    self as kernels, Accumulator, Direct, Granularity, Instr, Join, Kind, Parts, Place, Slot, Space, Transfer, Width,
};

use super::blocks::blocks;
use super::cluster::{Clusters, Role, natural_cols, reads_elsewhere};
use super::finish::DIRECT;
use super::flatten::{Flat, spans};
use super::instruction::instruction;
use super::kernel::kind;
use super::pairs::{How, Joined, Reader, pairs};
use super::takes::take;
use super::view::View;
use crate::primitives::{Literal, Op, Reducer};
use crate::program::Value;

/// What a region consists of, and the values it reads and writes, by operand number.
#[derive(Debug)]
pub(super) struct Lowered {
    pub(super) parts: Parts,
    pub(super) reads: Vec<Value>,
    pub(super) writes: Vec<Value>,
}

/// Whether a value is stored for other steps or the caller, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Storage {
    /// It is not.
    None,
    /// In memory of its own.
    Own,
    /// Where an input lies, if the region reads that first: through a slot, so that no instruction writes what it reads.
    InPlace,
}

/// Lowers a cluster; `stored` says which values are stored.
pub(super) fn lower(flat: &Flat, clusters: &Clusters, step: usize, stored: impl Fn(Value) -> Storage) -> Lowered {
    let cluster = &clusters.list[step];
    let extent = cluster.space.expect("a cluster that fuses has elements");
    let joined = joined(flat, clusters, step, &stored);
    let mut lowering = RegionLowering::new(flat, clusters, step, extent, joined);
    for (at, &k) in cluster.eqns.iter().enumerate() {
        if !lowering.is_inside(k) {
            lowering.eqn(at, k, &stored);
        }
    }
    let RegionLowering { parts, reads, writes, directs, .. } = lowering;
    let parts = Parts { inputs: reads.len(), outputs: writes.len(), directs, ..parts };
    Lowered { parts, reads, writes }
}

/// The equations of a region that are computed together with the one that uses them.
fn joined(flat: &Flat, clusters: &Clusters, step: usize, stored: &impl Fn(Value) -> Storage) -> Map<usize, Joined> {
    let eqns = &clusters.list[step].eqns;
    // How often each value is used, and what its last user is to the region.
    let mut uses: Map<Value, (usize, Role)> = Map::default();
    for &k in eqns {
        let eqn = &flat.program.eqns()[k];
        for arg in eqn.args.iter().filter(|arg| flat.literals[arg.index()].is_none()) {
            let entry = uses.entry(flat.views[arg.index()].base).or_insert((0, Role::Full));
            *entry = (entry.0 + 1, clusters.roles[eqn.first.index()]);
        }
    }
    let reader = |value: Value| match uses.get(&value) {
        Some(&(1, role)) if stored(value) == Storage::None => {
            if role == clusters.roles[value.index()] {
                Reader::Same
            } else {
                Reader::Other
            }
        }
        _ => Reader::Many,
    };
    pairs(flat, eqns, reader)
}

/// Where an operand of an instruction comes from.
#[derive(Clone, PartialEq, Eq, Hash)]
enum OperandSource {
    /// A value that the region computes.
    Own(Value),
    /// The row's element of such a value, at every column.
    Spread(Value),
    /// Elements from memory, at a level.
    Memory(View, bool),
    /// A number, by its bits, at a level.
    Number(Kind, u64, bool),
}

struct RegionLowering<'a> {
    flat: &'a Flat,
    clusters: &'a Clusters,
    step: usize,
    /// Equations that take another one in.
    joined: Map<usize, Joined>,
    /// Equations that are taken in by another one.
    inside: Set<usize>,
    parts: Parts,
    reads: Vec<Value>,
    writes: Vec<Value>,
    /// The last equation, by its place in the cluster, that uses each source.
    last: Map<OperandSource, usize>,
    /// Where sources are now.
    places: Map<OperandSource, u16>,
    /// Slots that are free, by level and width.
    free: Map<(bool, usize), Vec<u16>>,
    /// Slots that are never given back: constants and repeated loads.
    fixed: Vec<u16>,
    /// Directs refer to places after the slots: numbered from here until all slots are known.
    directs: Vec<Direct>,
}

fn is_full(role: Role) -> bool {
    role == Role::Full
}

impl<'a> RegionLowering<'a> {
    fn new(
        flat: &'a Flat,
        clusters: &'a Clusters,
        step: usize,
        extent: super::cluster::Extent,
        joined: Map<usize, Joined>,
    ) -> Self {
        let cluster = &clusters.list[step];
        let in_place = cluster.eqns.iter().filter(|&&k| !reads_elsewhere(flat, k));
        let loads = in_place.flat_map(|&k| &flat.program.eqns()[k].args).map(|arg| &flat.views[arg.index()]);
        let cols = natural_cols(&extent, loads);
        let groups = extent.groups.unwrap_or(1);
        let space = Space { groups, rows: extent.count / (cols * groups), cols };
        let parts = Parts {
            space,
            slots: Vec::new(),
            directs: Vec::new(),
            constants: Vec::new(),
            repeated: Vec::new(),
            loads: Vec::new(),
            blocks: Vec::new(),
            takes: Vec::new(),
            stores: Vec::new(),
            accumulators: Vec::new(),
            code: Vec::new(),
            inputs: 0,
            outputs: 0,
        };
        let mut lowering = RegionLowering {
            flat,
            clusters,
            step,
            inside: joined.values().map(|joined| joined.inner).collect(),
            joined,
            parts,
            reads: Vec::new(),
            writes: Vec::new(),
            last: Map::default(),
            places: Map::default(),
            free: Map::default(),
            fixed: Vec::new(),
            directs: Vec::new(),
        };
        for (at, &k) in cluster.eqns.iter().enumerate() {
            if lowering.is_inside(k) {
                continue;
            }
            for source in lowering.sources(k) {
                if let OperandSource::Spread(value) = &source {
                    lowering.last.insert(OperandSource::Own(*value), at);
                }
                lowering.last.insert(source, at);
            }
        }
        lowering
    }

    fn own(&self, value: Value) -> bool {
        self.clusters.holds(self.step, value)
    }

    /// Whether an equation works on full values.
    fn works_full(&self, k: usize) -> bool {
        let eqn = &self.flat.program.eqns()[k];
        match &eqn.op {
            Op::Reduce(_) => self.flat.program.ty(eqn.args[0]).size() == self.parts.space.count(Granularity::Full),
            _ => is_full(self.clusters.roles[eqn.first.index()]),
        }
    }

    /// Whether an equation is computed together with the one that uses it.
    fn is_inside(&self, k: usize) -> bool {
        self.inside.contains(&k)
    }

    /// The operands of an equation's instruction.
    fn sources(&self, k: usize) -> Vec<OperandSource> {
        let Some(joined) = self.joined.get(&k) else { return self.own_sources(k) };
        let mut sources = joined.operands(&self.own_sources(joined.inner), &self.own_sources(k));
        if self.sums_by_column(k) {
            // A factor that is the row's is taken as it is, as the first operand.
            if let OperandSource::Spread(_) = sources[1] {
                sources.swap(0, 1);
            }
            if let OperandSource::Spread(value) = sources[0] {
                sources[0] = OperandSource::Own(value);
            }
        }
        sources
    }

    /// Whether an equation has a sum for each column.
    fn sums_by_column(&self, k: usize) -> bool {
        let eqn = &self.flat.program.eqns()[k];
        let total = self.clusters.roles[eqn.first.index()] == Role::Total;
        match &eqn.op {
            Op::Reduce(reduce) => total && spans(reduce, self.flat.program.ty(eqn.args[0]))[2] > 1,
            _ => false,
        }
    }

    /// The operands of an equation.
    fn own_sources(&self, k: usize) -> Vec<OperandSource> {
        let eqn = &self.flat.program.eqns()[k];
        if reads_elsewhere(self.flat, k) {
            return Vec::new();
        }
        let full = self.works_full(k);
        let source = |&arg: &Value| {
            let ty = self.flat.program.ty(arg);
            if let Some(literal) = self.flat.literals[arg.index()] {
                return OperandSource::Number(kind(ty.dtype), bits(literal), full);
            }
            let view = &self.flat.views[arg.index()];
            if self.own(view.base) {
                let row = full && self.clusters.roles[view.base.index()] == Role::Row;
                return if row { OperandSource::Spread(view.base) } else { OperandSource::Own(view.base) };
            }
            OperandSource::Memory(view.clone(), full)
        };
        eqn.args.iter().map(source).collect()
    }

    fn level(full: bool) -> Granularity {
        if full { Granularity::Full } else { Granularity::Row }
    }

    fn slot(&mut self, kind: Kind, full: bool) -> u16 {
        if let Some(slot) = self.free.get_mut(&(full, kind.size())).and_then(Vec::pop) {
            return slot;
        }
        self.parts.slots.push(Slot { kind, level: Self::level(full) });
        let slot = (self.parts.slots.len() - 1) as u16;
        assert!(slot < DIRECT, "a region has fewer slots than equations");
        slot
    }

    fn release(&mut self, place: u16) {
        if place < DIRECT && !self.fixed.contains(&place) {
            let Slot { kind, level } = self.parts.slots[usize::from(place)];
            self.free.entry((level == Granularity::Full, kind.size())).or_default().push(place);
        }
    }

    fn read(&mut self, value: Value) -> u16 {
        let found = self.reads.iter().position(|&own| own == value);
        found.unwrap_or_else(|| {
            self.reads.push(value);
            self.reads.len() - 1
        }) as u16
    }

    fn write(&mut self, value: Value) -> u16 {
        self.writes.push(value);
        (self.writes.len() - 1) as u16
    }

    fn push(&mut self, op: kernels::Op, operands: [u16; 3], out: u16) {
        let [a, b, c] = operands;
        self.parts.code.push(Instr { op, a, b, c, out });
    }

    /// The place of an operand, made if there is none yet.
    fn place(&mut self, source: &OperandSource) -> u16 {
        if let Some(&place) = self.places.get(source) {
            return place;
        }
        let place = match source {
            OperandSource::Own(value) => unreachable!("{value} is computed before it is used"),
            OperandSource::Spread(value) => {
                let kind = kind(self.flat.program.ty(*value).dtype);
                let from = self.place(&OperandSource::Own(*value));
                let slot = self.slot(kind, true);
                self.push(kernels::Op::Spread(kind), [from, 0, 0], slot);
                slot
            }
            OperandSource::Number(kind, bits, full) => {
                let (kind, bits) = (*kind, *bits);
                self.parts.slots.push(Slot { kind, level: Self::level(*full) });
                let slot = (self.parts.slots.len() - 1) as u16;
                self.parts.constants.push((slot, bits));
                self.fixed.push(slot);
                slot
            }
            OperandSource::Memory(view, full) => self.memory(view, *full),
        };
        self.places.insert(source.clone(), place);
        place
    }

    fn memory(&mut self, view: &View, full: bool) -> u16 {
        let kind = kind(self.flat.program.ty(view.base).dtype);
        let operand = self.read(view.base);
        let pattern = view.pattern().expect("kernels walk the axes of every view");
        let level = Self::level(full);
        if pattern.is_contiguous() && pattern.count() > 1 {
            self.directs.push(Direct { place: Place::Input(operand), kind, level, offset: pattern.offset() });
            return DIRECT + (self.directs.len() - 1) as u16;
        }
        let repeats = full && self.parts.space.rows > 1 && repeats(view, self.parts.space.cols);
        self.parts.loads.push(Transfer { operand, kind, level, pattern });
        let load = (self.parts.loads.len() - 1) as u16;
        if repeats {
            self.parts.slots.push(Slot { kind, level });
            let slot = (self.parts.slots.len() - 1) as u16;
            self.parts.repeated.push((slot, load));
            self.fixed.push(slot);
            return slot;
        }
        let slot = self.slot(kind, full);
        self.push(kernels::Op::Load(load), [0; 3], slot);
        slot
    }

    /// The instruction that puts a value together of blocks.
    fn blocks(&mut self, k: usize, full: bool) -> kernels::Op {
        let blocks = blocks(self.flat, k, Self::level(full), |value| self.read(value));
        self.parts.blocks.push(blocks);
        kernels::Op::Blocks((self.parts.blocks.len() - 1) as u16)
    }

    /// The instruction that looks up rows.
    fn take(&mut self, k: usize, full: bool) -> kernels::Op {
        let take = take(self.flat, k, Self::level(full), |value| self.read(value));
        self.parts.takes.push(take);
        kernels::Op::Take((self.parts.takes.len() - 1) as u16)
    }

    fn eqn(&mut self, at: usize, k: usize, stored: &impl Fn(Value) -> Storage) {
        let sources = self.sources(k);
        let mut places = [0u16; 3];
        for (place, source) in places.iter_mut().zip(&sources) {
            *place = self.place(source);
        }
        let eqn = &self.flat.program.eqns()[k];
        let out = eqn.first;
        let role = self.clusters.roles[out.index()];
        if role == Role::Total {
            self.total(k, places, stored(out) != Storage::None);
        } else {
            let is_last = sources.first().is_some_and(|source| self.last.get(source) == Some(&at));
            self.computed(at, k, (places, is_last), is_full(role), stored(out));
        }
        // Whatever is not used again gives its slot back.
        let mut done: Vec<OperandSource> = sources;
        done.extend(done.clone().into_iter().filter_map(|source| match source {
            OperandSource::Spread(value) => Some(OperandSource::Own(value)),
            _ => None,
        }));
        done.push(OperandSource::Own(out));
        for source in done {
            if self.last.get(&source).is_none_or(|&last| last <= at)
                && let Some(place) = self.places.remove(&source)
            {
                self.release(place);
            }
        }
    }

    /// An element per place or row, of operands at these places; `is_last` says that the first one is not used after.
    fn computed(&mut self, at: usize, k: usize, (places, is_last): ([u16; 3], bool), full: bool, stored: Storage) {
        let eqn = &self.flat.program.eqns()[k];
        let (out, result) = (eqn.first, kind(self.flat.program.ty(eqn.first).dtype));
        let operand = self.flat.program.ty(eqn.args[0]).dtype;
        let op = match &eqn.op {
            _ if let Some(joined) = self.joined.get(&k) => match joined.how {
                How::Pair(pair, _) => kernels::Op::Pair(pair, result),
                How::Dot => kernels::Op::Dot(result),
            },
            Op::Select(_) => kernels::Op::Select(result),
            Op::Pad(_) | Op::Concat(_) => self.blocks(k, full),
            Op::Gather(_) => self.take(k, full),
            Op::Reduce(reduce) => kernels::Op::JoinCols(join(reduce.reducer), kind(operand)),
            op => instruction(op, operand),
        };
        let level = Self::level(full);
        let used = self.last.get(&OperandSource::Own(out)).is_some_and(|&last| last > at);
        if stored == Storage::Own && !used && self.parts.space.count(level) > 1 {
            let operand = self.write(out);
            self.directs.push(Direct { place: Place::Output(operand), kind: result, level, offset: 0 });
            let place = DIRECT + (self.directs.len() - 1) as u16;
            match (op, self.parts.code.last()) {
                // What is only copied is loaded to where it is stored.
                (
                    kernels::Op::Unary(kernels::Unary::Copy, _),
                    Some(&Instr { op: load @ kernels::Op::Load(_), out, .. }),
                ) if out == places[0] && is_last => {
                    self.parts.code.pop();
                    self.push(load, [0; 3], place);
                }
                _ => self.push(op, places, place),
            }
            return;
        }
        let slot = self.slot(result, full);
        self.push(op, places, slot);
        self.places.insert(OperandSource::Own(out), slot);
        if stored != Storage::None {
            let operand = self.write(out);
            let pattern = kernels::Pattern::contiguous(self.parts.space.count(level));
            self.parts.stores.push(Transfer { operand, kind: result, level, pattern });
            let store = (self.parts.stores.len() - 1) as u16;
            self.push(kernels::Op::Store(store), [slot, 0, 0], 0);
        }
    }

    /// A reduction over rows or groups.
    fn total(&mut self, k: usize, places: [u16; 3], stored: bool) {
        if !stored {
            return;
        }
        let eqn = &self.flat.program.eqns()[k];
        let Op::Reduce(reduce) = &eqn.op else { unreachable!("only reductions have totals") };
        let ty = self.flat.program.ty(eqn.args[0]);
        let full = ty.size() == self.parts.space.count(Granularity::Full);
        let [_, _, after] = spans(reduce, ty);
        let width = if after == 1 { Width::One } else { Width::Cols };
        let output = self.write(eqn.first);
        self.parts.accumulators.push(Accumulator {
            kind: kind(ty.dtype),
            join: join(reduce.reducer),
            level: Self::level(full),
            width,
            output,
        });
        let number = (self.parts.accumulators.len() - 1) as u16;
        match self.joined.contains_key(&k) {
            true => self.push(kernels::Op::AccumulateProduct(number), places, 0),
            false => self.push(kernels::Op::Accumulate(number), places, 0),
        }
    }
}

/// Whether every row of this many columns reads the same elements.
fn repeats(view: &View, cols: usize) -> bool {
    view.repeated().is_some_and(|length| length == cols) || view.strides.iter().all(|&stride| stride == 0)
}

/// The bits of a number in its own type.
pub(super) fn bits(literal: Literal) -> u64 {
    match literal {
        Literal::Bool(x) => u64::from(x),
        Literal::I64(x) => x.cast_unsigned(),
        Literal::F32(x) => u64::from(x.to_bits()),
        Literal::F64(x) => x.to_bits(),
    }
}

fn join(reducer: Reducer) -> Join {
    match reducer {
        Reducer::Sum => Join::Sum,
        Reducer::Prod => Join::Prod,
        Reducer::Max => Join::Max,
        Reducer::Min => Join::Min,
        Reducer::All => Join::All,
        Reducer::Any => Join::Any,
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
