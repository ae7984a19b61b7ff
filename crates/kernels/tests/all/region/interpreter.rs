//! The meaning of a region, one element after the other, without chunks, parts or threads.

use wengert_kernels::Float;
use wengert_kernels::region::{
    Binary, Block, Call1, Call2, Compare, Granularity, Instr, Join, Kind, Op, Pair, Parts, Pattern, Place, Unary, Width,
};

use super::numbers::{bits, number};

/// What a region gives for each output: bits, and for those of accumulators how far a real number may be off.
pub(crate) struct Wanted {
    pub(crate) bits: Vec<Option<u64>>,
    pub(crate) allowed: Vec<f64>,
}

/// The position of element `k` of a pattern.
pub(crate) fn position(pattern: &Pattern, mut k: usize) -> usize {
    let mut at = pattern.offset().cast_signed();
    for &(length, stride) in pattern.dims().iter().rev() {
        at += (k % length).cast_signed() * stride;
        k /= length;
    }
    at.cast_unsigned()
}

/// The outputs of a region at inputs given by their bits.
pub(crate) fn interpret(parts: &Parts, inputs: &[Vec<u64>], lengths: &[usize]) -> Vec<Wanted> {
    let mut run = Run {
        parts,
        inputs,
        slots: parts.slots.iter().map(|slot| vec![0; parts.space.count(slot.level)]).collect(),
        outputs: lengths
            .iter()
            .map(|&length| Wanted { bits: vec![None; length], allowed: vec![0.0; length] })
            .collect(),
        joined: vec![Vec::new(); parts.accumulators.len()],
    };
    for &(slot, bits) in &parts.constants {
        run.slots[usize::from(slot)].fill(bits);
    }
    for &(slot, load) in &parts.repeated {
        run.slots[usize::from(slot)] = run.load(load);
    }
    parts.code.iter().for_each(|instr| run.step(instr));
    run.finish();
    run.outputs
}

struct Run<'a> {
    parts: &'a Parts,
    inputs: &'a [Vec<u64>],
    slots: Vec<Vec<u64>>,
    outputs: Vec<Wanted>,
    /// What each accumulator is given, instruction by instruction.
    joined: Vec<Vec<Vec<u64>>>,
}

impl Run<'_> {
    fn load(&self, k: u16) -> Vec<u64> {
        let load = &self.parts.loads[usize::from(k)];
        let from = &self.inputs[usize::from(load.operand)];
        (0..load.pattern.count()).map(|k| from[position(&load.pattern, k)]).collect()
    }

    fn blocks(&self, k: u16) -> Vec<u64> {
        let blocks = &self.parts.blocks[usize::from(k)];
        let shape = blocks.shape();
        let element = |mut k: usize| {
            let mut index = vec![0; shape.len()];
            for (index, length) in index.iter_mut().zip(shape).rev() {
                *index = k % length;
                k /= length;
            }
            // The distance from the first element of a block, if it is in there.
            let inside = |block: &Block| {
                let axes = index.iter().zip(&block.low).zip(block.lengths.iter().zip(&block.strides));
                let steps = axes.map(|((&at, &low), (&length, &stride))| {
                    (low..low + length).contains(&at).then(|| (at - low).cast_signed() * stride)
                });
                steps.sum::<Option<isize>>()
            };
            let found = blocks.blocks().iter().find_map(|block| Some((block, inside(block)?)));
            found.map_or_else(
                || blocks.fill().expect("the blocks are everywhere"),
                |(block, step)| self.inputs[usize::from(block.operand)][block.offset.checked_add_signed(step).unwrap()],
            )
        };
        (0..blocks.count()).map(element).collect()
    }

    fn take(&self, k: u16) -> Vec<u64> {
        let take = &self.parts.takes[usize::from(k)];
        let array = &self.inputs[usize::from(take.array)][take.offset..][..take.count * take.size];
        let indices = &self.inputs[usize::from(take.indices)][take.first..];
        let element = |k: usize| {
            let index = i128::from(indices[k / take.size].cast_signed());
            let inside = (0..take.count as i128).contains(&index);
            if inside { array[index as usize * take.size + k % take.size] } else { 0 }
        };
        (0..self.parts.space.count(take.level)).map(element).collect()
    }

    fn place(&self, place: u16) -> Vec<u64> {
        let k = usize::from(place);
        if k < self.slots.len() {
            return self.slots[k].clone();
        }
        let direct = &self.parts.directs[k - self.slots.len()];
        let Place::Input(input) = direct.place else { panic!("outputs are not read") };
        let count = self.parts.space.count(direct.level);
        self.inputs[usize::from(input)][direct.offset..direct.offset + count].to_vec()
    }

    fn write(&mut self, place: u16, elements: Vec<u64>) {
        let k = usize::from(place);
        if k < self.slots.len() {
            self.slots[k] = elements;
            return;
        }
        let direct = &self.parts.directs[k - self.slots.len()];
        let Place::Output(output) = direct.place else { panic!("inputs are not written") };
        for (k, x) in elements.into_iter().enumerate() {
            self.outputs[usize::from(output)].bits[direct.offset + k] = Some(x);
        }
    }

    fn step(&mut self, instr: &Instr) {
        let Instr { op, a, b, c, out } = *instr;
        let cols = self.parts.space.cols;
        let map = |x: Vec<u64>, f: &dyn Fn(u64) -> u64| x.into_iter().map(f).collect::<Vec<u64>>();
        let zip = |x: Vec<u64>, y: Vec<u64>, f: &dyn Fn(u64, u64) -> u64| -> Vec<u64> {
            x.into_iter().zip(y).map(|(x, y)| f(x, y)).collect()
        };
        let elements = match op {
            Op::Unary(f, kind) => map(self.place(a), &|x| unary(f, kind, x)),
            Op::Power(n, kind) => map(self.place(a), &|x| match kind {
                Kind::F32 => u64::from(Float::powi(f32::from_bits(x as u32), n).to_bits()),
                _ => Float::powi(f64::from_bits(x), n).to_bits(),
            }),
            Op::Twin(f, kind) => {
                let [first, second] = f.functions().map(|f| map(self.place(a), &|x| unary(f, kind, x)));
                self.write(b, second);
                first
            }
            Op::Call1(Call1(f), n, kind) => map(self.place(a), &|x| bits(kind, f(n, number(kind, x)))),
            Op::Convert(from, to) => map(self.place(a), &|x| convert(from, to, x)),
            Op::Binary(f, kind) => zip(self.place(a), self.place(b), &|x, y| binary(f, kind, x, y)),
            Op::Call2(Call2(f), n, kind) => {
                zip(self.place(a), self.place(b), &|x, y| bits(kind, f(n, number(kind, x), number(kind, y))))
            }
            Op::Compare(f, kind) => zip(self.place(a), self.place(b), &|x, y| u64::from(compare(f, kind, x, y))),
            Op::Select(_) => {
                let (mask, x, y) = (self.place(a), self.place(b), self.place(c));
                (0..mask.len()).map(|k| if mask[k] == 1 { x[k] } else { y[k] }).collect()
            }
            Op::Pair(f, kind) => {
                let (x, y, z) = (self.place(a), self.place(b), self.place(c));
                (0..x.len()).map(|k| pair(f, kind, [x[k], y[k], z[k]])).collect()
            }
            Op::Spread(_) => self.place(a).into_iter().flat_map(|x| std::iter::repeat_n(x, cols)).collect(),
            Op::JoinCols(join, kind) => self.place(a).chunks(cols).map(|row| joined_bits(join, kind, row).0).collect(),
            Op::Dot(kind) => {
                let products = zip(self.place(a), self.place(b), &|x, y| binary(Binary::Mul, kind, x, y));
                products.chunks(cols).map(|row| joined_bits(Join::Sum, kind, row).0).collect()
            }
            Op::Load(k) => self.load(k),
            Op::Blocks(k) => self.blocks(k),
            Op::Take(k) => self.take(k),
            Op::Store(k) => {
                let (store, x) = (&self.parts.stores[usize::from(k)], self.place(a));
                for (k, x) in x.into_iter().enumerate() {
                    self.outputs[usize::from(store.operand)].bits[position(&store.pattern, k)] = Some(x);
                }
                return;
            }
            Op::Accumulate(k) => {
                let x = self.place(a);
                return self.joined[usize::from(k)].push(x);
            }
            Op::AccumulateProduct(k) => {
                let (x, y) = (self.place(a), self.place(b));
                let each = y.len() / x.len();
                let kind = self.parts.accumulators[usize::from(k)].kind;
                let products = y.iter().enumerate().map(|(k, &y)| binary(Binary::Mul, kind, x[k / each], y)).collect();
                return self.joined[usize::from(k)].push(products);
            }
        };
        self.write(out, elements);
    }

    /// Joins what the accumulators were given, for each group and perhaps column.
    fn finish(&mut self) {
        let space = self.parts.space;
        for (acc, given) in self.parts.accumulators.iter().zip(&self.joined) {
            let per_row = if acc.level == Granularity::Full { space.cols } else { 1 };
            let width = if acc.width == Width::Cols { space.cols } else { 1 };
            for result in 0..space.groups * width {
                let (group, column) = (result / width, result % width);
                let rows = space.rows * per_row;
                let whole = given.iter().flat_map(|x| &x[group * rows..(group + 1) * rows]);
                let own = |(k, _): &(usize, &u64)| acc.width == Width::One || k % per_row == column;
                let elements: Vec<u64> = whole.enumerate().filter(own).map(|(_, &x)| x).collect();
                let (value, allowed) = joined_bits(acc.join, acc.kind, &elements);
                let output = &mut self.outputs[usize::from(acc.output)];
                (output.bits[result], output.allowed[result]) = (Some(value), allowed);
            }
        }
    }
}

/// Elements joined in order, and how far another order may be off.
fn joined_bits(join: Join, kind: Kind, elements: &[u64]) -> (u64, f64) {
    if kind == Kind::I64 {
        return (whole_joined(join, elements), 0.0);
    }
    let (value, allowed) = joined(join, kind, elements);
    (bits(kind, value), allowed)
}

/// Real numbers and truth values, in double precision.
fn joined(join: Join, kind: Kind, elements: &[u64]) -> (f64, f64) {
    let numbers: Vec<f64> = elements.iter().map(|&x| number(kind, x)).collect();
    let unit = if kind == Kind::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let tiny = if kind == Kind::F32 { 1e-44 } else { 5e-323 };
    let n = numbers.len() as f64 + 2.0;
    match join {
        Join::Sum => {
            let size: f64 = numbers.iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
            let most = if kind == Kind::F32 { f64::from(f32::MAX) } else { f64::MAX };
            let allowed = match numbers.iter().all(|x| x.is_finite()) {
                // Where absolute values overflow, the order decides.
                _ if size > most => f64::INFINITY,
                true => n * (unit * size + tiny),
                false => 0.0,
            };
            (numbers.iter().sum(), allowed)
        }
        Join::Prod => {
            // Overflow and underflow on the way depend on the order: only products of ordinary size are compared.
            let product: f64 = numbers.iter().product();
            let size: f64 = numbers.iter().filter(|x| **x != 0.0).map(|x| x.abs().log2().abs()).sum();
            let reach = if kind == Kind::F32 { 120.0 } else { 1000.0 };
            (product, if size < reach { n * unit * product.abs() } else { f64::INFINITY })
        }
        Join::Max => (numbers.iter().fold(f64::NEG_INFINITY, |x, &y| Float::max(x, y)), 0.0),
        Join::Min => (numbers.iter().fold(f64::INFINITY, |x, &y| Float::min(x, y)), 0.0),
        Join::All => (f64::from(u8::from(numbers.iter().all(|&x| x != 0.0))), 0.0),
        Join::Any => (f64::from(u8::from(numbers.iter().any(|&x| x != 0.0))), 0.0),
    }
}

fn whole_joined(join: Join, elements: &[u64]) -> u64 {
    let whole = elements.iter().map(|x| x.cast_signed());
    let value = match join {
        Join::Sum | Join::Any => whole.fold(0i64, i64::wrapping_add),
        Join::Prod | Join::All => whole.fold(1i64, i64::wrapping_mul),
        Join::Max => whole.fold(i64::MIN, i64::max),
        Join::Min => whole.fold(i64::MAX, i64::min),
    };
    value.cast_unsigned()
}

fn unary(f: Unary, kind: Kind, x: u64) -> u64 {
    match kind {
        Kind::U8 => {
            if f == Unary::Not {
                1 - x
            } else {
                x
            }
        }
        Kind::I64 => {
            let x = x.cast_signed();
            match f {
                Unary::Neg => x.wrapping_neg(),
                Unary::Abs => x.wrapping_abs(),
                Unary::Sign => x.signum(),
                Unary::Square => x.wrapping_mul(x),
                _ => x,
            }
            .cast_unsigned()
        }
        Kind::F32 => u64::from(function(f, f32::from_bits(x as u32)).to_bits()),
        Kind::F64 => function(f, f64::from_bits(x)).to_bits(),
    }
}

fn function<T: Float>(f: Unary, x: T) -> T {
    match f {
        Unary::Copy | Unary::Not => x,
        Unary::Neg => -x,
        Unary::Abs => x.abs(),
        Unary::Sign => x.sign(),
        Unary::Square => x * x,
        Unary::Sqrt => x.sqrt(),
        Unary::Rsqrt => x.rsqrt(),
        Unary::Cbrt => x.cbrt(),
        Unary::Recip => T::from_f64(1.0) / x,
        Unary::Exp => x.exp(),
        Unary::Exp2 => x.exp2(),
        Unary::Expm1 => x.expm1(),
        Unary::Ln => x.ln(),
        Unary::Log2 => x.log2(),
        Unary::Log10 => x.log10(),
        Unary::Log1p => x.log1p(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tan => x.tan(),
        Unary::Asin => x.asin(),
        Unary::Acos => x.acos(),
        Unary::Atan => x.atan(),
        Unary::Sinh => x.sinh(),
        Unary::Cosh => x.cosh(),
        Unary::Tanh => x.tanh(),
        Unary::Sech2 => x.sech2(),
        Unary::Asinh => x.asinh(),
        Unary::Acosh => x.acosh(),
        Unary::Atanh => x.atanh(),
        Unary::Sigmoid => x.sigmoid(),
        Unary::Softplus => x.softplus(),
        Unary::Relu => x.relu(),
        Unary::GeluErf => x.gelu_erf(),
        Unary::GeluTanh => x.gelu_tanh(),
        Unary::GeluTanhSlope => x.gelu_tanh_slope(),
        Unary::Silu => x.silu(),
        Unary::Erf => x.erf(),
        Unary::Erfc => x.erfc(),
        Unary::Erfinv => x.erfinv(),
        Unary::Floor => x.floor(),
        Unary::Ceil => x.ceil(),
        Unary::Round => x.round(),
        Unary::Trunc => x.trunc(),
    }
}

fn binary(f: Binary, kind: Kind, x: u64, y: u64) -> u64 {
    match kind {
        Kind::U8 => match f {
            Binary::And => x & y,
            Binary::Or => x | y,
            _ => x ^ y,
        },
        Kind::I64 => {
            let (x, y) = (x.cast_signed(), y.cast_signed());
            match f {
                Binary::Sub => x.wrapping_sub(y),
                Binary::Mul => x.wrapping_mul(y),
                Binary::Max => x.max(y),
                Binary::Min => x.min(y),
                _ => x.wrapping_add(y),
            }
            .cast_unsigned()
        }
        Kind::F32 => u64::from(function_of_two(f, f32::from_bits(x as u32), f32::from_bits(y as u32)).to_bits()),
        Kind::F64 => function_of_two(f, f64::from_bits(x), f64::from_bits(y)).to_bits(),
    }
}

fn function_of_two<T: Float>(f: Binary, x: T, y: T) -> T {
    match f {
        Binary::Add | Binary::And | Binary::Or | Binary::Xor => x + y,
        Binary::Sub => x - y,
        Binary::Mul => x * y,
        Binary::Div => x / y,
        Binary::Max => Float::max(x, y),
        Binary::Min => Float::min(x, y),
        Binary::Pow => x.pow(y),
        Binary::Atan2 => x.atan2(y),
        Binary::Hypot => x.hypot(y),
        Binary::Copysign => x.copysign(y),
        Binary::Logaddexp => x.logaddexp(y),
        Binary::Xlogy => x.xlogy(y),
    }
}

fn compare(f: Compare, kind: Kind, x: u64, y: u64) -> bool {
    fn of<T: PartialOrd>(f: Compare, x: T, y: T) -> bool {
        match f {
            Compare::Eq => x == y,
            Compare::Ne => x != y,
            Compare::Lt => x < y,
            Compare::Le => x <= y,
            Compare::Gt => x > y,
            Compare::Ge => x >= y,
            Compare::Unordered => x.partial_cmp(&y).is_none(),
        }
    }
    if kind == Kind::I64 { of(f, x.cast_signed(), y.cast_signed()) } else { of(f, number(kind, x), number(kind, y)) }
}

fn convert(from: Kind, to: Kind, x: u64) -> u64 {
    match (from, to) {
        (Kind::I64, Kind::I64) => x,
        (Kind::I64, Kind::F32) => u64::from((x.cast_signed() as f32).to_bits()),
        (_, Kind::U8) => u64::from(number(from, x) != 0.0),
        _ => bits(to, number(from, x)),
    }
}

fn pair(f: Pair, kind: Kind, [x, y, z]: [u64; 3]) -> u64 {
    let two = |f, x, y| binary(f, kind, x, y);
    match f {
        Pair::MulAdd => two(Binary::Add, two(Binary::Mul, x, y), z),
        Pair::MulSub => two(Binary::Sub, two(Binary::Mul, x, y), z),
        Pair::SubMul => two(Binary::Sub, z, two(Binary::Mul, x, y)),
        Pair::AddMul => two(Binary::Mul, two(Binary::Add, x, y), z),
        Pair::SubTimes => two(Binary::Mul, two(Binary::Sub, x, y), z),
        Pair::MulMul => two(Binary::Mul, two(Binary::Mul, x, y), z),
        Pair::AddAdd => two(Binary::Add, two(Binary::Add, x, y), z),
        Pair::Fused => {
            unreachable!("its bits depend on the level; `sums_of_products_are_rounded_as_products_are` has it")
        }
    }
}
