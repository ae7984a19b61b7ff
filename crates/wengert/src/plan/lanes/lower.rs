//! Scalar operations to a region: what is computed in one loop, in which order, and in which slots.

use super::super::Map;

use wengert_kernels::cost::{CHUNK_BYTES, CHUNK_ELEMENTS};
use wengert_kernels::region::{
    self as kernels, Direct, Instr, Kind, Level, Pair, Parts, Pattern, Place, Slot, Space, Transfer,
};

use super::super::cost::Costs;
use super::super::finish::DIRECT;
use super::super::flatten::Flat;
use super::super::instruction::instruction;
use super::super::kernel::kind;
use super::super::region::{Lowered, bits};
use super::graph::{Func, Graph, Node, Scalar};
use crate::ops::{Binary, Unary};
use crate::primitives::{Convert, Op};
use crate::program::Value;

/// A value that the region writes, with its elements in one lane.
pub(super) struct Target<'a> {
    pub(super) value: Value,
    /// How many elements lie between two points.
    pub(super) inner: usize,
    pub(super) elements: &'a [Node],
}

/// What one instruction does.
#[derive(Clone, Copy, Debug)]
enum Step {
    Plain,
    Pair(Pair, [Node; 3]),
}

/// The operations that are needed, with two at once where one is the only user of the other.
pub(super) struct Code<'a> {
    graph: &'a Graph,
    /// For each operation that is an instruction of its own: what it does.
    steps: Vec<Option<Step>>,
    /// The order of the instructions, and of the loads they need.
    order: Vec<Node>,
    /// How many slots that order needs at a time.
    slots: usize,
    stores: usize,
    reads: Vec<Value>,
}

/// A lower bound of [`Code::estimate`] for this many stored elements of a point, if half of the scalar operations are
/// merged with equal ones.
pub(super) fn least(costs: &Costs, count: usize, stores: usize, scalars: usize) -> f64 {
    let started = costs.start * (stores + scalars / 2) as f64 * count.div_ceil(CHUNK_ELEMENTS.1) as f64;
    count as f64 * (costs.operation * (scalars / 2) as f64 + costs.store * stores as f64) + started
}

impl<'a> Code<'a> {
    pub(super) fn new(graph: &'a Graph, targets: &[Target<'_>]) -> Self {
        let roots: Vec<Node> = targets.iter().flat_map(|target| target.elements.iter().copied()).collect();
        let steps = steps(graph, &roots);
        let mut code =
            Code { graph, steps, order: Vec::new(), slots: usize::MAX, stores: roots.len(), reads: Vec::new() };
        for order in orders(targets) {
            let order = code.schedule(&order);
            let slots = code.pressure(&order, &roots);
            if slots < code.slots {
                (code.order, code.slots) = (order, slots);
            }
        }
        for k in 0..graph.len() {
            if let (Some(_), Func::Load(value, ..)) = (code.steps[k], graph.get(Node(k as u32)).func)
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
        let operations =
            self.order.iter().filter(|node| !matches!(self.graph.get(**node).func, Func::Load(..))).count();
        let loads = self.order.len() - operations;
        // Chunks are no shorter than this many points; with many slots they no longer stay in the cache, and every
        // instruction has to be started for few points.
        let chunk = (CHUNK_BYTES / (8 * self.slots).max(1)).clamp(CHUNK_ELEMENTS.0, CHUNK_ELEMENTS.1).min(count.max(1));
        let far = if 8 * self.slots * chunk > 2 * CHUNK_BYTES { 2.0 } else { 1.0 };
        let started = costs.start * (self.order.len() + self.stores) as f64 * count.div_ceil(chunk) as f64;
        let moved = costs.operation * operations as f64 + costs.load * loads as f64 + costs.store * self.stores as f64;
        count as f64 * far * moved + started + costs.step
    }

    /// The operands that an instruction reads.
    fn operands(&self, node: Node) -> Vec<Node> {
        match self.steps[node.index()] {
            Some(Step::Pair(_, args)) => args.to_vec(),
            _ => self.graph.get(node).operands().to_vec(),
        }
    }

    /// An order that computes what is needed for one root before it goes on to the next; of two operands first the one
    /// that needs more.
    fn schedule(&self, roots: &[Node]) -> Vec<Node> {
        let mut height = vec![0u32; self.graph.len()];
        for k in 0..self.graph.len() {
            if self.steps[k].is_some() {
                let mut needs: Vec<u32> = self.operands(Node(k as u32)).iter().map(|arg| height[arg.index()]).collect();
                needs.sort_unstable_by(|a, b| b.cmp(a));
                height[k] = needs.iter().enumerate().map(|(n, need)| need + n as u32).max().unwrap_or(1).max(1);
            }
        }
        let mut done = vec![false; self.graph.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(Node, bool)> = Vec::new();
        for &root in roots {
            stack.push((root, false));
            while let Some((node, ready)) = stack.pop() {
                if done[node.index()] || matches!(self.graph.get(node).func, Func::Number(_)) {
                    continue;
                }
                if ready {
                    done[node.index()] = true;
                    order.push(node);
                    continue;
                }
                stack.push((node, true));
                let mut operands = self.operands(node);
                // The last one pushed comes first.
                operands.sort_by_key(|arg| height[arg.index()]);
                stack.extend(operands.into_iter().map(|arg| (arg, false)));
            }
        }
        order
    }

    /// The last place in the order that reads each operation.
    fn last(&self, order: &[Node], roots: &[Node]) -> Vec<usize> {
        let mut last = vec![0; self.graph.len()];
        let mut at = vec![0; self.graph.len()];
        for (k, &node) in order.iter().enumerate() {
            at[node.index()] = k;
            last[node.index()] = k;
            self.operands(node).iter().for_each(|arg| last[arg.index()] = k);
        }
        // A root is stored where it is computed.
        roots.iter().for_each(|root| last[root.index()] = last[root.index()].max(at[root.index()]));
        last
    }

    /// How many values are alive at the same time.
    fn pressure(&self, order: &[Node], roots: &[Node]) -> usize {
        let last = self.last(order, roots);
        let (mut alive, mut most) = (0usize, 0usize);
        for (k, &node) in order.iter().enumerate() {
            alive += 1;
            most = most.max(alive);
            let mut gone: Vec<Node> = self.operands(node);
            gone.push(node);
            gone.sort_unstable();
            gone.dedup();
            let is_slot = |arg: &Node| !matches!(self.graph.get(*arg).func, Func::Number(_));
            alive -= gone.iter().filter(|arg| is_slot(arg) && last[arg.index()] == k).count();
        }
        most
    }

    /// The region for this many points; `None` if a pattern does not fit.
    pub(super) fn lower(&self, flat: &Flat, count: usize, targets: &[Target<'_>]) -> Option<Lowered> {
        let writes: Vec<Value> = targets.iter().map(|target| target.value).collect();
        let roots: Vec<Node> = targets.iter().flat_map(|target| target.elements.iter().copied()).collect();
        let mut homes: Map<Node, Vec<(u16, usize, usize)>> = Map::default();
        for (k, target) in targets.iter().enumerate() {
            for (e, &node) in target.elements.iter().enumerate() {
                let start = e / target.inner * target.inner * count + e % target.inner;
                homes.entry(node).or_default().push((k as u16, start, target.inner));
            }
        }
        let last = self.last(&self.order, &roots);
        let parts = Parts {
            space: Space { groups: 1, rows: count, cols: 1 },
            slots: Vec::new(),
            directs: Vec::new(),
            constants: Vec::new(),
            repeated: Vec::new(),
            loads: Vec::new(),
            blocks: Vec::new(),
            stores: Vec::new(),
            accumulators: Vec::new(),
            code: Vec::new(),
            inputs: self.reads.len(),
            outputs: writes.len(),
        };
        let mut lowering =
            Lowering { code: self, count, parts, places: Map::default(), free: Map::default(), last, homes };
        for (k, &node) in self.order.iter().enumerate() {
            lowering.node(k, node)?;
        }
        // Numbers are stored like anything else.
        let mut numbers: Vec<Node> = lowering.homes.keys().copied().collect();
        numbers.sort_unstable();
        for node in numbers {
            let place = lowering.place(node);
            lowering.store(node, place)?;
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

/// The instructions: which operations are needed, and which are computed together with their only user.
fn steps(graph: &Graph, roots: &[Node]) -> Vec<Option<Step>> {
    let mut uses = vec![0u32; graph.len()];
    roots.iter().for_each(|root| uses[root.index()] += 2);
    for k in (0..graph.len()).rev() {
        if uses[k] > 0 {
            graph.get(Node(k as u32)).operands().iter().for_each(|arg| uses[arg.index()] += 1);
        }
    }
    let mut absorbed = vec![false; graph.len()];
    let mut steps = vec![None; graph.len()];
    for k in (0..graph.len()).rev() {
        if uses[k] == 0 || absorbed[k] {
            continue;
        }
        let scalar = graph.get(Node(k as u32));
        let single = |node: Node, op: Binary| -> Option<&Scalar> {
            let inner = graph.get(node);
            (uses[node.index()] == 1 && inner.func == Func::Binary(op)).then_some(inner)
        };
        let pair = pair(scalar, single);
        steps[k] = Some(match pair {
            Some((pair, args, inner)) => {
                absorbed[inner.index()] = true;
                Step::Pair(pair, args)
            }
            None => Step::Plain,
        });
    }
    steps
}

/// The operation together with one that is only its operand: which pair, its operands, and the operation inside.
fn pair<'g>(scalar: &Scalar, single: impl Fn(Node, Binary) -> Option<&'g Scalar>) -> Option<(Pair, [Node; 3], Node)> {
    if !scalar.dtype.is_float() {
        return None;
    }
    let Func::Binary(op) = scalar.func else { return None };
    let [x, y, _] = scalar.args;
    if x == y {
        return None;
    }
    let with = |pair: Pair, inner: Node, found: &Scalar, other: Node| {
        Some((pair, [found.args[0], found.args[1], other], inner))
    };
    let sides = [(y, x), (x, y)];
    match op {
        Binary::Add => {
            for (pair, inner) in [(Pair::MulAdd, Binary::Mul), (Pair::AddAdd, Binary::Add)] {
                for (node, other) in sides {
                    if let Some(found) = single(node, inner) {
                        return with(pair, node, found, other);
                    }
                }
            }
            None
        }
        Binary::Sub => {
            if let Some(found) = single(y, Binary::Mul) {
                return with(Pair::SubMul, y, found, x);
            }
            single(x, Binary::Mul).and_then(|found| with(Pair::MulSub, x, found, y))
        }
        Binary::Mul => {
            let inner = [(Pair::AddMul, Binary::Add), (Pair::SubTimes, Binary::Sub), (Pair::MulMul, Binary::Mul)];
            for (pair, inner) in inner {
                for (node, other) in sides {
                    if let Some(found) = single(node, inner) {
                        return with(pair, node, found, other);
                    }
                }
            }
            None
        }
        _ => None,
    }
}

struct Lowering<'a> {
    code: &'a Code<'a>,
    count: usize,
    parts: Parts,
    /// Where operations are now.
    places: Map<Node, u16>,
    /// Slots that are free, by width.
    free: Map<usize, Vec<u16>>,
    last: Vec<usize>,
    /// Where operations are stored: the output, the first element, and the step from lane to lane.
    homes: Map<Node, Vec<(u16, usize, usize)>>,
}

impl Lowering<'_> {
    fn new_slot(&mut self, kind: Kind) -> u16 {
        self.parts.slots.push(Slot { kind, level: Level::Full });
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
        self.parts.directs.push(Direct { place, kind, level: Level::Full, offset });
        DIRECT + (self.parts.directs.len() - 1) as u16
    }

    /// The place of an operation that is computed, or of a number.
    fn place(&mut self, node: Node) -> u16 {
        if let Some(&place) = self.places.get(&node) {
            return place;
        }
        let Func::Number(literal) = self.code.graph.get(node).func else {
            unreachable!("an operation is computed before it is used")
        };
        let slot = self.new_slot(kind(literal.dtype()));
        self.parts.constants.push((slot, bits(literal)));
        self.places.insert(node, slot);
        slot
    }

    fn node(&mut self, at: usize, node: Node) -> Option<()> {
        let scalar = self.code.graph.get(node);
        let own = kind(scalar.dtype);
        let operands = self.code.operands(node);
        let mut places = [0u16; 3];
        for (place, &arg) in places.iter_mut().zip(&operands) {
            *place = self.place(arg);
        }
        let place = match scalar.func {
            Func::Load(value, start, stride) => self.load(value, start, stride, own)?,
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
            if self.last[arg.index()] <= at && !matches!(self.code.graph.get(arg).func, Func::Number(_)) {
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
            && let Some(k) = homes.iter().position(|&(_, _, stride)| stride == 1)
            && homes.len() == 1
        {
            let (output, start, _) = homes.swap_remove(k);
            return self.direct(Place::Output(output), own, start);
        }
        self.slot(own)
    }

    fn release(&mut self, node: Node) {
        let Some(place) = self.places.remove(&node) else { return };
        if place < DIRECT && !self.parts.repeated.iter().any(|&(slot, _)| slot == place) {
            let width = self.parts.slots[usize::from(place)].kind.size();
            self.free.entry(width).or_default().push(place);
        }
    }

    fn load(&mut self, value: Value, start: usize, stride: isize, own: Kind) -> Option<u16> {
        let operand = self.code.reads.iter().position(|&read| read == value).expect("an operand") as u16;
        if stride == 1 {
            return Some(self.direct(Place::Input(operand), own, start));
        }
        let pattern = Pattern::new(start, &[self.count], &[stride])?;
        self.parts.loads.push(Transfer { operand, kind: own, level: Level::Full, pattern });
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

    /// Stores an operation wherever it is a result.
    fn store(&mut self, node: Node, place: u16) -> Option<()> {
        let own = kind(self.code.graph.get(node).dtype);
        for (operand, start, stride) in self.homes.remove(&node).unwrap_or_default() {
            let pattern = Pattern::new(start, &[self.count], &[stride.cast_signed()])?;
            self.parts.stores.push(Transfer { operand, kind: own, level: Level::Full, pattern });
            let store = (self.parts.stores.len() - 1) as u16;
            self.parts.code.push(Instr { op: kernels::Op::Store(store), a: place, b: 0, c: 0, out: 0 });
        }
        Some(())
    }

    fn op(&self, node: Node, scalar: &Scalar) -> kernels::Op {
        let op: Op = match (self.code.steps[node.index()], scalar.func) {
            (Some(Step::Pair(pair, _)), _) => return kernels::Op::Pair(pair, kind(scalar.dtype)),
            (_, Func::Select) => return kernels::Op::Select(kind(scalar.dtype)),
            (_, Func::Unary(op)) => op.into(),
            (_, Func::Binary(Binary::Mul)) if scalar.args[0] == scalar.args[1] && scalar.dtype.is_float() => {
                Unary::Square.into()
            }
            (_, Func::Binary(op)) => op.into(),
            (_, Func::Compare(op)) => op.into(),
            (_, Func::Logic(op)) => op.into(),
            (_, Func::Convert(to)) => Convert(to).into(),
            (_, Func::Number(_) | Func::Load(..)) => unreachable!("numbers and loads are no instructions"),
        };
        instruction(&op, scalar.from)
    }
}
