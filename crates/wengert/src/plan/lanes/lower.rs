//! Scalar operations to a region: what is computed in one loop, in which order, and in which slots.

use super::super::{LINE, Map};

use wengert_kernels::cost::{CHUNK_BYTES, CHUNK_ELEMENTS};
use wengert_kernels::region::{
    self as kernels, Direct, Granularity, Instr, Kind, Parts, Pattern, Place, Slot, Space, TOGETHER, Transfer,
};

use super::super::cost::Costs;
use super::super::finish::DIRECT;
use super::super::flatten::Flat;
use super::super::instruction;
use super::super::region::Lowered;
use super::scalars::Load;
use crate::ops::{Binary, Unary};
use crate::program::Value;
use crate::straight::instruction::compare;
use crate::straight::list::{Func, List, Node, Scalar};
use crate::straight::order::Needed;
use crate::straight::pairs::{Step, steps};

/// A value that the region writes, with its elements in one lane.
pub(super) struct Target<'a> {
    pub(super) value: Value,
    /// How many elements lie between two points.
    pub(super) inner: usize,
    pub(super) elements: &'a [Node],
}

/// The operations that are needed, with two at once where one is the only user of the other.
pub(super) struct Code<'a> {
    list: &'a List,
    loads: &'a [Load],
    /// For each operation that is an instruction of its own: what it does.
    steps: Vec<Option<Step>>,
    /// The order of the instructions, and of the loads they need.
    order: Vec<Node>,
    /// How many slots that order needs at a time.
    slots: usize,
    stores: usize,
    reads: Vec<Value>,
}

/// How many times as long a load takes from wide rows: measured on 25 November 2026 (Intel Xeon with AVX-512), where a region
/// that loads from rows of 12 to 60 numbers took three times what was estimated.
const WIDE: f64 = 3.0;

/// A lower bound of [`Code::estimate`] for this many stored elements of a point, if half of the scalar operations are
/// merged with equal ones.
pub(super) fn least(costs: &Costs, count: usize, stores: usize, scalars: usize) -> f64 {
    let started = costs.start * (stores + scalars / 2) as f64 * count.div_ceil(CHUNK_ELEMENTS.1) as f64;
    count as f64 * (costs.operation * (scalars / 2) as f64 + costs.store * stores as f64) + started
}

impl<'a> Code<'a> {
    pub(super) fn new(list: &'a List, loads: &'a [Load], targets: &[Target<'_>]) -> Self {
        let roots: Vec<Node> = targets.iter().flat_map(|target| target.elements.iter().copied()).collect();
        let steps = steps(list, &roots);
        let mut code =
            Code { list, loads, steps, order: Vec::new(), slots: usize::MAX, stores: roots.len(), reads: Vec::new() };
        for order in orders(targets) {
            let order = code.needed().schedule(&order);
            let slots = code.needed().pressure(&order, &roots);
            if slots < code.slots {
                (code.order, code.slots) = (order, slots);
            }
        }
        for k in 0..list.len() {
            if let (Some(_), Func::Input(number)) = (code.steps[k], list.get(Node(k as u32)).func)
                && let (value, ..) = loads[number as usize]
                && !code.reads.contains(&value)
            {
                code.reads.push(value);
            }
        }
        code
    }

    /// How many arrays are read.
    pub(super) fn reads(&self) -> usize {
        self.reads.len()
    }

    /// The time for this many points on one thread, in nanoseconds.
    pub(super) fn estimate(&self, costs: &Costs, count: usize) -> f64 {
        let operations = self.order.iter().filter(|node| !matches!(self.list.get(**node).func, Func::Input(_))).count();
        let loads = self.order.len() - operations;
        // Chunks are no shorter than this many points; with many slots they no longer stay in the cache, and every
        // instruction has to be started for few points.
        let chunk = (CHUNK_BYTES / (8 * self.slots).max(1)).clamp(CHUNK_ELEMENTS.0, CHUNK_ELEMENTS.1).min(count.max(1));
        let far = if 8 * self.slots * chunk > 2 * CHUNK_BYTES { 2.0 } else { 1.0 };
        let started = costs.start * (self.order.len() + self.stores) as f64 * count.div_ceil(chunk) as f64;
        // Elements that lie a line apart or more are read from lines that other elements of the same row need too. Where those of
        // all points of a chunk do not stay in the second cache, every element is a line from the next one.
        let wide = if self.wide() * chunk > 8 * CHUNK_BYTES { WIDE } else { 1.0 };
        let moved =
            costs.operation * operations as f64 + wide * costs.load * loads as f64 + costs.store * self.stores as f64;
        count as f64 * far * moved + started + costs.step
    }

    /// Bytes of the rows, one of each array that is read, whose elements at neighbouring points lie a line apart or more.
    fn wide(&self) -> usize {
        let mut rows: Vec<(Value, usize)> = Vec::new();
        for node in &self.order {
            if let Func::Input(number) = self.list.get(*node).func {
                let (value, _, stride) = self.loads[number as usize];
                let bytes = 8 * stride.unsigned_abs();
                if bytes >= LINE && !rows.contains(&(value, bytes)) {
                    rows.push((value, bytes));
                }
            }
        }
        rows.iter().map(|(_, bytes)| bytes).sum()
    }

    fn needed(&self) -> Needed<'_> {
        let is_given = |scalar: &Scalar| matches!(scalar.func, Func::Number(_));
        Needed { list: self.list, steps: &self.steps, is_given }
    }

    /// The operands that an instruction reads.
    fn operands(&self, node: Node) -> &[Node] {
        self.needed().operands(node)
    }

    /// The region for this many points; `None` if a pattern does not fit.
    pub(super) fn lower(&self, flat: &Flat, count: usize, targets: &[Target<'_>]) -> Option<Lowered> {
        let writes: Vec<Value> = targets.iter().map(|target| target.value).collect();
        let roots: Vec<Node> = targets.iter().flat_map(|target| target.elements.iter().copied()).collect();
        let mut homes: Map<Node, Vec<Home>> = Map::default();
        let mut missing: Map<Columns, usize> = Map::default();
        for (k, target) in targets.iter().enumerate() {
            for (e, &node) in target.elements.iter().enumerate() {
                let (row, column) = (e / target.inner * target.inner * count, e % target.inner);
                let columns = Columns { output: k as u16, first: row + column / TOGETHER * TOGETHER };
                homes.entry(node).or_default().push(Home { columns, start: row + column, stride: target.inner });
                *missing.entry(columns).or_default() += 1;
            }
        }
        let last = self.needed().last(&self.order, &roots);
        let parts = Parts {
            space: Space { groups: 1, rows: count, cols: 1 },
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
            inputs: self.reads.len(),
            outputs: writes.len(),
        };
        let mut lowering = Lowering {
            code: self,
            count,
            parts,
            places: Map::default(),
            free: Map::default(),
            last,
            homes,
            missing,
            ready: Map::default(),
            waiting: Map::default(),
        };
        // Numbers are stored like anything else, and are there from the start.
        let is_number = |node: &&Node| matches!(self.list.get(**node).func, Func::Number(_));
        let mut numbers: Vec<Node> = lowering.homes.keys().filter(is_number).copied().collect();
        numbers.sort_unstable();
        for node in numbers {
            let place = lowering.place(node);
            lowering.store(node, place)?;
        }
        for (k, &node) in self.order.iter().enumerate() {
            lowering.node(k, node)?;
        }
        let parts = lowering.parts;
        debug_assert!(writes.iter().all(|value| flat.program.ty(*value).size() >= count), "every value has lanes");
        Some(Lowered { parts, reads: self.reads.clone(), writes })
    }
}

/// The elements of the results in orders that may need few slots: as they lie, and with the last axes slowest.
fn orders(targets: &[Target<'_>]) -> Vec<Vec<Node>> {
    let natural: Vec<Node> = targets.iter().flat_map(|target| target.elements.iter().copied()).collect();
    let mut orders = vec![natural];
    let longest = targets.iter().map(|target| target.elements.len()).max().unwrap_or(0);
    for width in 2..=longest / 2 {
        if longest % width != 0 || width > 64 {
            continue;
        }
        let turned = targets.iter().flat_map(|target| {
            let steps = if target.elements.len() % width == 0 { width } else { 1 };
            (0..steps).flat_map(move |first| target.elements.iter().skip(first).step_by(steps).copied())
        });
        orders.push(turned.collect());
    }
    // As the Program has them.
    let mut early = orders[0].clone();
    early.sort_unstable();
    orders.push(early);
    orders
}

/// Neighbouring columns of a table, as many as a region stores together: the output, and where the first of them begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Columns {
    output: u16,
    first: usize,
}

/// Where an operation is stored: in which columns, the first element, and the step from lane to lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Home {
    columns: Columns,
    start: usize,
    stride: usize,
}

/// The most operations that wait to be stored: they hold their slots meanwhile.
const MOST_WAITING: usize = 32;

struct Lowering<'a> {
    code: &'a Code<'a>,
    count: usize,
    parts: Parts,
    /// Where operations are now.
    places: Map<Node, u16>,
    /// Slots that are free, by width.
    free: Map<usize, Vec<u16>>,
    last: Vec<usize>,
    /// Where operations that are not computed yet will be stored.
    homes: Map<Node, Vec<Home>>,
    /// How many of neighbouring columns are not computed yet.
    missing: Map<Columns, usize>,
    /// Those that are computed and wait for the others, at least one of each.
    ready: Map<Columns, Vec<(Home, Node, u16)>>,
    /// Operations that wait: how many stores are pending, and the slot to give back after the last, once nothing else reads it.
    waiting: Map<Node, (usize, Option<u16>)>,
}

impl Lowering<'_> {
    fn new_slot(&mut self, kind: Kind) -> u16 {
        self.parts.slots.push(Slot { kind, level: Granularity::Full });
        let slot = (self.parts.slots.len() - 1) as u16;
        assert!(slot < DIRECT, "a part has fewer slots than operations");
        slot
    }

    fn slot(&mut self, kind: Kind) -> u16 {
        match self.free.get_mut(&kind.size()).and_then(Vec::pop) {
            Some(slot) => slot,
            None => self.new_slot(kind),
        }
    }

    fn direct(&mut self, place: Place, kind: Kind, offset: usize) -> u16 {
        self.parts.directs.push(Direct { place, kind, level: Granularity::Full, offset });
        DIRECT + (self.parts.directs.len() - 1) as u16
    }

    /// The place of an operation that is computed, or of a number.
    fn place(&mut self, node: Node) -> u16 {
        if let Some(&place) = self.places.get(&node) {
            return place;
        }
        let scalar = self.code.list.get(node);
        let Func::Number(bits) = scalar.func else { unreachable!("an operation is computed before it is used") };
        let slot = self.new_slot(scalar.kind);
        self.parts.constants.push((slot, bits));
        self.places.insert(node, slot);
        slot
    }

    fn node(&mut self, at: usize, node: Node) -> Option<()> {
        let scalar = self.code.list.get(node);
        let own = scalar.kind;
        let operands = self.code.operands(node).to_vec();
        let mut places = [0u16; 3];
        for (place, &arg) in places.iter_mut().zip(&operands) {
            *place = self.place(arg);
        }
        let place = match scalar.func {
            Func::Input(number) => self.load(self.code.loads[number as usize], own)?,
            _ => {
                let op = self.op(node, scalar);
                let place = self.target(at, node, own);
                let [a, b, c] = places;
                self.parts.code.push(Instr { op, a, b, c, out: place });
                place
            }
        };
        self.places.insert(node, place);
        self.store(node, place)?;
        for arg in operands.into_iter().chain([node]) {
            if self.last[arg.index()] <= at && !matches!(self.code.list.get(arg).func, Func::Number(_)) {
                self.release(arg);
            }
        }
        Some(())
    }

    /// Where an instruction writes: into the result itself, if its elements follow each other there and nothing reads
    /// them.
    fn target(&mut self, at: usize, node: Node, own: Kind) -> u16 {
        if self.last[node.index()] <= at
            && let Some(homes) = self.homes.get_mut(&node)
            && let [Home { columns, start, stride: 1 }] = homes[..]
        {
            homes.clear();
            return self.direct(Place::Output(columns.output), own, start);
        }
        self.slot(own)
    }

    fn release(&mut self, node: Node) {
        let Some(place) = self.places.remove(&node) else { return };
        match self.waiting.get_mut(&node) {
            Some((_, slot)) => *slot = Some(place),
            None => self.give_back(place),
        }
    }

    fn give_back(&mut self, place: u16) {
        if place < DIRECT && !self.parts.repeated.iter().any(|&(slot, _)| slot == place) {
            let width = self.parts.slots[usize::from(place)].kind.size();
            self.free.entry(width).or_default().push(place);
        }
    }

    fn load(&mut self, (value, start, stride): Load, own: Kind) -> Option<u16> {
        let operand = self.code.reads.iter().position(|&read| read == value).expect("an operand") as u16;
        if stride == 1 {
            return Some(self.direct(Place::Input(operand), own, start));
        }
        let pattern = Pattern::new(start, &[self.count], &[stride])?;
        self.parts.loads.push(Transfer { operand, kind: own, level: Granularity::Full, pattern });
        let load = (self.parts.loads.len() - 1) as u16;
        if stride == 0 {
            let slot = self.new_slot(own);
            self.parts.repeated.push((slot, load));
            return Some(slot);
        }
        let slot = self.slot(own);
        self.parts.code.push(Instr { op: kernels::Op::Load(load), a: 0, b: 0, c: 0, out: slot });
        Some(slot)
    }

    /// Stores an operation wherever it is a result: neighbouring columns together, once all of them are there.
    fn store(&mut self, node: Node, place: u16) -> Option<()> {
        for home in self.homes.remove(&node).unwrap_or_default() {
            self.ready.entry(home.columns).or_default().push((home, node, place));
            self.waiting.entry(node).or_default().0 += 1;
            let missing = self.missing.get_mut(&home.columns).expect("every home has been counted");
            *missing -= 1;
            if *missing == 0 {
                self.store_columns(home.columns)?;
            }
        }
        while self.waiting.len() > MOST_WAITING {
            let most = self.ready.iter().max_by_key(|(columns, ready)| (ready.len(), **columns));
            let (&columns, _) = most.expect("what waits is in columns");
            self.store_columns(columns)?;
        }
        Some(())
    }

    /// Stores what is ready of neighbouring columns.
    fn store_columns(&mut self, columns: Columns) -> Option<()> {
        let mut ready = self.ready.remove(&columns)?;
        ready.sort_unstable();
        for (Home { start, stride, .. }, node, place) in ready {
            let own = self.code.list.get(node).kind;
            let pattern = Pattern::new(start, &[self.count], &[stride.cast_signed()])?;
            self.parts.stores.push(Transfer { operand: columns.output, kind: own, level: Granularity::Full, pattern });
            let store = (self.parts.stores.len() - 1) as u16;
            self.parts.code.push(Instr { op: kernels::Op::Store(store), a: place, b: 0, c: 0, out: 0 });
            let (times, _) = self.waiting.get_mut(&node)?;
            *times -= 1;
            if *times == 0
                && let Some((_, Some(slot))) = self.waiting.remove(&node)
            {
                self.give_back(slot);
            }
        }
        Some(())
    }

    fn op(&self, node: Node, scalar: &Scalar) -> kernels::Op {
        match (self.code.steps[node.index()], scalar.func) {
            (Some(Step::Pair(pair, _)), _) => kernels::Op::Pair(pair, scalar.kind),
            (_, Func::Select) => kernels::Op::Select(scalar.kind),
            (_, Func::Fused) => kernels::Op::Pair(kernels::Pair::Fused, scalar.kind),
            (_, Func::Unary(op)) => instruction::unary(op, scalar.from),
            (_, Func::Binary(Binary::Mul)) if scalar.args[0] == scalar.args[1] && scalar.kind.is_float() => {
                instruction::unary(Unary::Square, scalar.from)
            }
            (_, Func::Binary(op)) => instruction::binary(op, scalar.from),
            (_, Func::Compare(op)) => kernels::Op::Compare(compare(op), scalar.from),
            (_, Func::Logic(op)) => instruction::logic(op),
            (_, Func::Convert(to)) => kernels::Op::Convert(scalar.from, to),
            (_, Func::Number(_) | Func::Input(_)) => unreachable!("numbers and loads are no instructions"),
        }
    }
}
