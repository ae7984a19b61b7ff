//! Random valid regions with their operands.

use wengert_kernels::region::{
    Accumulator, Binary, Block, Blocks, Call1, Call2, Compare, Direct, Granularity, Instr, Join, Kind, Op, Pair, Parts,
    Pattern, Place, Slot, Space, Take, Transfer, Twin, Unary, Width,
};

use super::interpreter::position;
use super::numbers::{Elements, Random, bits};

/// A region with what it reads, and what its outputs hold before.
pub(crate) struct Case {
    pub(crate) parts: Parts,
    pub(crate) inputs: Vec<Elements>,
    pub(crate) outputs: Vec<Elements>,
}

/// An empty region over a space.
pub(crate) fn empty(groups: usize, rows: usize, cols: usize) -> Parts {
    Parts {
        space: Space { groups, rows, cols },
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
    }
}

const KINDS: [Kind; 5] = [Kind::U8, Kind::I64, Kind::F32, Kind::F64, Kind::F32];
const LEVELS: [Granularity; 3] = [Granularity::Full, Granularity::Full, Granularity::Row];
/// Places of what is used where it lies, until the number of slots is known.
const DIRECT: u16 = 0x8000;

const UNARY: [Unary; 42] = [
    Unary::Copy,
    Unary::Neg,
    Unary::Abs,
    Unary::Sign,
    Unary::Square,
    Unary::Sqrt,
    Unary::Rsqrt,
    Unary::Cbrt,
    Unary::Recip,
    Unary::Exp,
    Unary::Exp2,
    Unary::Expm1,
    Unary::Ln,
    Unary::Log2,
    Unary::Log10,
    Unary::Log1p,
    Unary::Sin,
    Unary::Cos,
    Unary::Tan,
    Unary::Asin,
    Unary::Acos,
    Unary::Atan,
    Unary::Sinh,
    Unary::Cosh,
    Unary::Tanh,
    Unary::Sech2,
    Unary::Asinh,
    Unary::Acosh,
    Unary::Atanh,
    Unary::Sigmoid,
    Unary::Softplus,
    Unary::Relu,
    Unary::GeluErf,
    Unary::GeluTanh,
    Unary::GeluTanhSlope,
    Unary::Silu,
    Unary::Erf,
    Unary::Erfc,
    Unary::Erfinv,
    Unary::Floor,
    Unary::Round,
    Unary::Trunc,
];
const BINARY: [Binary; 12] = [
    Binary::Add,
    Binary::Sub,
    Binary::Mul,
    Binary::Max,
    Binary::Min,
    Binary::Div,
    Binary::Pow,
    Binary::Atan2,
    Binary::Hypot,
    Binary::Copysign,
    Binary::Logaddexp,
    Binary::Xlogy,
];
const COMPARE: [Compare; 7] =
    [Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Unordered];
const PAIR: [Pair; 7] =
    [Pair::MulAdd, Pair::MulSub, Pair::SubMul, Pair::AddMul, Pair::SubTimes, Pair::MulMul, Pair::AddAdd];

/// Functions that are called for each element.
fn shifted(number: u64, x: f64) -> f64 {
    x + number as f64
}
fn remainder(number: u64, x: f64, y: f64) -> f64 {
    x.rem_euclid(y.abs() + number as f64)
}

/// A value that can be read.
#[derive(Clone, Copy, PartialEq)]
struct Live {
    place: u16,
    kind: Kind,
    level: Granularity,
}

struct Generator {
    random: Random,
    parts: Parts,
    live: Vec<Live>,
    fixed: Vec<u16>,
    /// For each input and output: its kind, and how many elements it needs.
    inputs: Vec<(Kind, usize)>,
    /// Inputs with indices: of how many rows, and whether all have to be there.
    indices: Vec<(usize, usize, bool)>,
    outputs: Vec<(Kind, usize)>,
}

/// The region of a seed; large ones have several parts.
pub(crate) fn generate(seed: u64, large: bool) -> Case {
    let mut random = Random(seed);
    let cols = random.pick(&[1, 1, 2, 3, 7, 16, 33, 64, 100, 1100]);
    let groups = random.pick(&[1, 1, 2, 3, 5, 70]);
    let most = if large { 40_000 } else { 1500 };
    let rows = 1 + random.below((most / (cols * groups)).max(1));
    let parts = empty(groups, if large { rows.max(most / (cols * groups) / 2).max(1) } else { rows }, cols);
    let mut g = Generator {
        random,
        parts,
        live: Vec::new(),
        fixed: Vec::new(),
        inputs: Vec::new(),
        indices: Vec::new(),
        outputs: Vec::new(),
    };
    for _ in 0..2 + g.random.below(3) {
        let (kind, level) = (g.random.pick(&KINDS), g.random.pick(&LEVELS));
        g.source(kind, level);
    }
    for _ in 0..3 + g.random.below(14) {
        g.instr();
    }
    for _ in 0..1 + g.random.below(4) {
        g.result();
    }
    g.finish()
}

impl Generator {
    fn push(&mut self, op: Op, [a, b, c]: [u16; 3], out: u16) {
        self.parts.code.push(Instr { op, a, b, c, out });
    }

    /// An input of this kind with enough elements: a new one, or one that exists.
    fn input(&mut self, kind: Kind, end: usize) -> u16 {
        let old = self.inputs.iter().position(|(own, _)| *own == kind).filter(|_| self.random.0.is_multiple_of(2));
        let k = old.unwrap_or_else(|| {
            self.inputs.push((kind, 0));
            self.inputs.len() - 1
        });
        self.inputs[k].1 = self.inputs[k].1.max(end);
        k as u16
    }

    fn output(&mut self, kind: Kind, end: usize) -> u16 {
        self.outputs.push((kind, end));
        (self.outputs.len() - 1) as u16
    }

    /// A slot: a new one, or one whose value is given up.
    fn slot(&mut self, kind: Kind, level: Granularity, operands: &[u16]) -> u16 {
        let fits = |k: usize, slot: &Slot| {
            let k = k as u16;
            slot.level == level && slot.kind.size() >= kind.size() && !self.fixed.contains(&k) && !operands.contains(&k)
        };
        let old: Vec<usize> =
            self.parts.slots.iter().enumerate().filter(|(k, slot)| fits(*k, slot)).map(|(k, _)| k).collect();
        if old.len() > 3 {
            let k = old[self.random.below(old.len())] as u16;
            self.live.retain(|live| live.place != k);
            return k;
        }
        let wider = if self.random.below(4) == 0 { Kind::F64 } else { kind };
        self.parts.slots.push(Slot { kind: wider, level });
        (self.parts.slots.len() - 1) as u16
    }

    /// Where elements of a level lie: any order of axes, gaps, reversed or, in loads, broadcast ones.
    fn pattern(&mut self, level: Granularity, load: bool) -> Pattern {
        let Space { groups, rows, cols } = self.parts.space;
        let lengths = if level == Granularity::Full { vec![groups, rows, cols] } else { vec![groups, rows] };
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        if self.random.below(2) == 0 {
            let (x, y) = (self.random.below(order.len()), self.random.below(order.len()));
            order.swap(x, y);
        }
        let mut strides = vec![0isize; lengths.len()];
        let mut stride = 1 + self.random.below(5) / 4;
        let mut offset = self.random.below(4) / 2;
        for &axis in order.iter().rev() {
            let broadcast = load && self.random.below(4) == 0;
            let reversed = self.random.below(4) == 0;
            strides[axis] = match (broadcast, reversed) {
                (true, _) => 0,
                (false, false) => stride.cast_signed(),
                (false, true) => {
                    offset += stride * (lengths[axis] - 1);
                    -stride.cast_signed()
                }
            };
            stride = stride * lengths[axis] + self.random.below(5) / 4;
        }
        Pattern::new(offset, &lengths, &strides).expect("positions are small")
    }

    /// One block inside of numbers, or two or three side by side along an axis, with gaps between them or without.
    fn blocks(&mut self, kind: Kind, level: Granularity) -> Blocks {
        let Space { groups, rows, cols } = self.parts.space;
        let shape = if level == Granularity::Full { vec![groups, rows, cols] } else { vec![groups, rows] };
        let (axis, gaps) = (self.random.below(shape.len()), self.random.below(2) == 0);
        let mut blocks = Vec::new();
        let mut at = if gaps { self.random.below(shape[axis]) } else { 0 };
        while at < shape[axis] && blocks.len() < 3 {
            let last = !gaps && blocks.len() == 2;
            let length = if last { shape[axis] - at } else { 1 + self.random.below(shape[axis] - at) };
            let (mut low, mut lengths) = (vec![0; shape.len()], shape.clone());
            (low[axis], lengths[axis]) = (at, length);
            if gaps {
                let other = self.random.below(shape.len());
                if other != axis {
                    low[other] = self.random.below(shape[other]);
                    lengths[other] = 1 + self.random.below(shape[other] - low[other]);
                }
            }
            blocks.push(self.block(kind, low, lengths));
            at += length + if gaps { self.random.below(3) } else { 0 };
        }
        let number = self.random.number();
        let fill = if gaps { Some(bits(kind, number)) } else { None };
        Blocks::new(kind, level, &shape, fill, blocks).expect("blocks side by side")
    }

    /// A box with its elements in an input, its axes in any order, broadcast, reversed or with gaps.
    fn block(&mut self, kind: Kind, low: Vec<usize>, lengths: Vec<usize>) -> Block {
        let mut order: Vec<usize> = (0..lengths.len()).collect();
        let (x, y) = (self.random.below(order.len()), self.random.below(order.len()));
        order.swap(x, y);
        let (mut strides, mut stride, mut offset) = (vec![0isize; lengths.len()], 1, self.random.below(3));
        for &axis in order.iter().rev() {
            strides[axis] = match self.random.below(5) {
                0 => 0,
                1 => {
                    offset += stride * (lengths[axis] - 1);
                    -stride.cast_signed()
                }
                _ => stride.cast_signed(),
            };
            stride = stride * lengths[axis] + self.random.below(5) / 4;
        }
        let end = Pattern::new(offset, &lengths, &strides).expect("positions are small").end();
        Block { operand: self.input(kind, end), low, lengths, offset, strides }
    }

    /// Rows of an array at indices, of which some have no row unless they must.
    fn take(&mut self, kind: Kind, level: Granularity) -> Take {
        let elements = self.parts.space.count(level);
        let sizes: Vec<usize> = (1..=40).chain([100, 1100]).filter(|size| elements.is_multiple_of(*size)).collect();
        let (size, count) = (self.random.pick(&sizes), self.random.pick(&[1, 2, 5, 40]));
        let (offset, first) = (self.random.below(3), self.random.below(3));
        let (array, must) = (self.input(kind, offset + count * size), self.random.below(2) == 0);
        let indices = self.inputs.len() as u16;
        self.inputs.push((Kind::I64, first + elements / size));
        self.indices.push((usize::from(indices), count, must));
        Take { array, offset, count, size, indices, first, kind, level, must }
    }

    /// A value from outside: a constant, a load, a repeated one, blocks, a lookup, or memory where it lies.
    fn source(&mut self, kind: Kind, level: Granularity) -> u16 {
        let count = self.parts.space.count(level);
        let place = match self.random.below(8) {
            0 => {
                // A number fills a slot of its own width.
                self.parts.slots.push(Slot { kind, level });
                let slot = (self.parts.slots.len() - 1) as u16;
                let number = self.random.number();
                self.parts.constants.push((slot, bits(kind, number)));
                self.fixed.push(slot);
                slot
            }
            1 if level == Granularity::Full => {
                let Space { groups, rows, cols } = self.parts.space;
                let stride = self.random.pick(&[1, 2, 0, -1]);
                let offset = if stride < 0 { cols } else { 1 };
                let pattern = Pattern::new(offset, &[groups * rows, cols], &[0, stride]).expect("positions are small");
                let operand = self.input(kind, pattern.end());
                self.parts.slots.push(Slot { kind: self.random.pick(&[kind, Kind::F64]), level });
                let slot = (self.parts.slots.len() - 1) as u16;
                self.parts.loads.push(Transfer { operand, kind, level, pattern });
                self.parts.repeated.push((slot, (self.parts.loads.len() - 1) as u16));
                self.fixed.push(slot);
                slot
            }
            2 | 3 => {
                let offset = self.random.below(3);
                let operand = self.input(kind, offset + count);
                self.parts.directs.push(Direct { place: Place::Input(operand), kind, level, offset });
                DIRECT + (self.parts.directs.len() - 1) as u16
            }
            4 => {
                let blocks = self.blocks(kind, level);
                let slot = self.slot(kind, level, &[]);
                self.parts.blocks.push(blocks);
                self.push(Op::Blocks((self.parts.blocks.len() - 1) as u16), [0; 3], slot);
                slot
            }
            5 => {
                let take = self.take(kind, level);
                let slot = self.slot(kind, level, &[]);
                self.parts.takes.push(take);
                self.push(Op::Take((self.parts.takes.len() - 1) as u16), [0; 3], slot);
                slot
            }
            n => {
                let pattern = if n == 6 { Pattern::contiguous(count) } else { self.pattern(level, true) };
                let operand = self.input(kind, pattern.end());
                let slot = self.slot(kind, level, &[]);
                self.parts.loads.push(Transfer { operand, kind, level, pattern });
                self.push(Op::Load((self.parts.loads.len() - 1) as u16), [0; 3], slot);
                slot
            }
        };
        self.live.push(Live { place, kind, level });
        place
    }

    /// A readable place of a kind and level.
    fn read(&mut self, kind: Kind, level: Granularity) -> u16 {
        let fitting: Vec<u16> =
            self.live.iter().filter(|live| live.kind == kind && live.level == level).map(|live| live.place).collect();
        if fitting.is_empty() || self.random.below(6) == 0 {
            return self.source(kind, level);
        }
        fitting[self.random.below(fitting.len()).max(self.random.below(fitting.len()))]
    }

    /// Three readable places; reading the later ones may load into slots, but not into those of the earlier ones.
    fn operands(&mut self, kinds: [Kind; 3], level: Granularity) -> [u16; 3] {
        loop {
            let places = kinds.map(|kind| self.read(kind, level));
            let alive = |place: u16, kind: Kind| self.live.contains(&Live { place, kind, level });
            if places.iter().zip(kinds).all(|(&place, kind)| alive(place, kind)) {
                return places;
            }
        }
    }

    fn compute(&mut self, op: Op, operands: [u16; 3], kind: Kind, level: Granularity) {
        let slot = self.slot(kind, level, &operands);
        self.push(op, operands, slot);
        self.live.push(Live { place: slot, kind, level });
    }

    fn instr(&mut self) {
        let (kind, level) = (self.random.pick(&KINDS), self.random.pick(&LEVELS));
        let float = if kind.is_float() { kind } else { Kind::F64 };
        match self.random.below(11) {
            0..=2 => {
                let f = match kind {
                    Kind::U8 => self.random.pick(&[Unary::Copy, Unary::Not]),
                    Kind::I64 => self.random.pick(&UNARY[..5]),
                    Kind::F32 | Kind::F64 => self.random.pick(&UNARY),
                };
                let operands = self.operands([kind; 3], level);
                self.compute(Op::Unary(f, kind), operands, kind, level);
            }
            3 | 4 => {
                let f = match kind {
                    Kind::U8 => self.random.pick(&[Binary::And, Binary::Or, Binary::Xor]),
                    Kind::I64 => self.random.pick(&BINARY[..5]),
                    Kind::F32 | Kind::F64 => self.random.pick(&BINARY),
                };
                let operands = self.operands([kind; 3], level);
                self.compute(Op::Binary(f, kind), operands, kind, level);
            }
            5 => {
                let operands = self.operands([kind; 3], level);
                let f = self.random.pick(&COMPARE);
                self.compute(Op::Compare(f, kind), operands, Kind::U8, level);
            }
            6 => {
                let operands = self.operands([Kind::U8, kind, kind], level);
                self.compute(Op::Select(kind), operands, kind, level);
            }
            7 => {
                let to = self.random.pick(&KINDS);
                let operands = self.operands([kind; 3], level);
                self.compute(Op::Convert(kind, to), operands, to, level);
            }
            8 => {
                let operands = self.operands([float; 3], level);
                if self.random.below(4) == 0 {
                    let twin = self.random.pick(&Twin::ALL);
                    let first = self.slot(float, level, &operands);
                    let second = self.slot(float, level, &[operands[0], first]);
                    self.push(Op::Twin(twin, float), [operands[0], second, 0], first);
                    return self.live.extend([first, second].map(|place| Live { place, kind: float, level }));
                }
                let op = match self.random.below(4) {
                    0 => Op::Power(self.random.pick(&[-2, 0, 1, 3]), float),
                    1 => Op::Call1(Call1(shifted), 3, float),
                    2 => Op::Call2(Call2(remainder), 1, float),
                    _ => Op::Pair(self.random.pick(&PAIR), float),
                };
                self.compute(op, operands, float, level);
            }
            9 => {
                let operands = self.operands([kind; 3], Granularity::Row);
                self.compute(Op::Spread(kind), operands, kind, Granularity::Full);
            }
            _ => {
                // Sums of rows have a bound, and what is computed from them none: they go to results only.
                let join = match kind {
                    Kind::U8 => self.random.pick(&[Join::All, Join::Any]),
                    Kind::I64 => self.random.pick(&[Join::Sum, Join::Prod, Join::Max, Join::Min]),
                    Kind::F32 | Kind::F64 => self.random.pick(&[Join::Max, Join::Min]),
                };
                let operands = self.operands([kind; 3], Granularity::Full);
                self.compute(Op::JoinCols(join, kind), operands, kind, Granularity::Row);
            }
        }
    }

    fn result(&mut self) {
        let live = self.live[self.random.below(self.live.len())];
        let Live { place, kind, level } = live;
        let count = self.parts.space.count(level);
        match self.random.below(4) {
            0 => {
                let (offset, output) = (self.random.below(3), self.outputs.len() as u16);
                self.output(kind, offset + count);
                self.parts.directs.push(Direct { place: Place::Output(output), kind, level, offset });
                let direct = DIRECT + (self.parts.directs.len() - 1) as u16;
                self.push(Op::Unary(Unary::Copy, kind), [place, 0, 0], direct);
            }
            1 if self.random.below(2) == 0 => self.columns(live),
            1 | 2 => {
                let plain = self.random.below(2) == 0;
                let pattern = if plain { Pattern::contiguous(count) } else { self.pattern(level, false) };
                let operand = self.output(kind, pattern.end());
                self.parts.stores.push(Transfer { operand, kind, level, pattern });
                self.push(Op::Store((self.parts.stores.len() - 1) as u16), [place, 0, 0], 0);
            }
            _ => {
                let join = match kind {
                    Kind::U8 => self.random.pick(&[Join::All, Join::Any]),
                    _ => self.random.pick(&[Join::Sum, Join::Sum, Join::Prod, Join::Max, Join::Min]),
                };
                let width =
                    if level == Granularity::Full { self.random.pick(&[Width::One, Width::Cols]) } else { Width::One };
                let Space { groups, cols, .. } = self.parts.space;
                let output = self.output(kind, groups * if width == Width::Cols { cols } else { 1 });
                self.parts.accumulators.push(Accumulator { kind, join, level, width, output });
                let k = (self.parts.accumulators.len() - 1) as u16;
                if join == Join::Sum && kind.is_float() && self.random.below(2) == 0 {
                    // With the row's element in every column, if there is one.
                    let own = if width == Width::Cols { self.random.pick(&LEVELS) } else { level };
                    let other = self.operands([kind; 3], own)[0];
                    self.push(Op::AccumulateProduct(k), [other, place, 0], 0);
                } else {
                    self.push(Op::Accumulate(k), [place, 0, 0], 0);
                }
            }
        }
    }

    /// Values as columns of a table, most of them in the order in which they lie.
    fn columns(&mut self, Live { kind, level, .. }: Live) {
        let like = self.live.iter().filter(|other| (other.kind, other.level) == (kind, level));
        let like: Vec<u16> = like.map(|other| other.place).collect();
        let (count, width) = (self.parts.space.count(level), 2 + self.random.below(9));
        let (stride, offset) = (width + self.random.below(3), self.random.below(3));
        let mut columns: Vec<usize> = (0..width).collect();
        if self.random.below(3) == 0 {
            columns.swap(self.random.below(width), self.random.below(width));
        }
        let operand = self.output(kind, offset + (count - 1) * stride + width);
        for column in columns {
            let pattern = Pattern::new(offset + column, &[count], &[stride.cast_signed()]).expect("it is small");
            self.parts.stores.push(Transfer { operand, kind, level, pattern });
            let place = like[self.random.below(like.len())];
            self.push(Op::Store((self.parts.stores.len() - 1) as u16), [place, 0, 0], 0);
        }
    }

    fn finish(mut self) -> Case {
        let slots = self.parts.slots.len() as u16;
        let place = |place: u16| if place >= DIRECT { place - DIRECT + slots } else { place };
        for Instr { a, b, c, out, .. } in &mut self.parts.code {
            (*a, *b, *c, *out) = (place(*a), place(*b), place(*c), place(*out));
        }
        (self.parts.inputs, self.parts.outputs) = (self.inputs.len(), self.outputs.len());
        let mut random = self.random;
        let mut memory = |(kind, end): &(Kind, usize)| {
            let elements: Vec<u64> = (0..end + random.below(3)).map(|_| bits(*kind, random.number())).collect();
            Elements::new(*kind, &elements)
        };
        let mut inputs: Vec<Elements> = self.inputs.iter().map(&mut memory).collect();
        let outputs = self.outputs.iter().map(&mut memory).collect();
        for &(input, count, must) in &self.indices {
            let Elements::I64(indices) = &mut inputs[input] else { unreachable!("indices are integers") };
            for index in indices {
                let outside = [-1, count as i64, i64::MIN, i64::MAX, (count as i64) << 32];
                let own = random.below(count) as i64;
                *index = if must || random.below(8) > 0 { own } else { random.pick(&outside) };
            }
        }
        Case { parts: self.parts, inputs, outputs }
    }
}

/// The largest position of a pattern, by looking at each.
pub(crate) fn last(pattern: &Pattern) -> usize {
    (0..pattern.count()).map(|k| position(pattern, k)).max().map_or(0, |k| k + 1)
}
