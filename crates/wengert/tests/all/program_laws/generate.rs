//! Random Programs of every family of operations, with operands at which they are tame: every
//! argument is brought into its function's domain by construction, and what grows is folded back.

pub(crate) mod large;
mod loops;
mod points;
mod regions;
mod structured;

use std::sync::LazyLock;

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{
    ArgReduce, Broadcast, Concat, Convert, Cumulative, Extreme, Iota, Literal, Logic, Op, Pad, Permute, Recurrence,
    Reduce, Reducer, Reshape, Reverse, Running, Sample, Select, Slice, samples,
};
use wengert::{Array, Builder, DType, Program, Type, Value};

use crate::support::{Random, array};

/// The families, and how often each is wanted.
const FAMILIES: [(usize, &str); 41] = [
    (6, "unary"),
    (4, "binary"),
    (2, "compare"),
    (1, "logic"),
    (2, "select"),
    (2, "convert"),
    (1, "broadcast"),
    (1, "reshape"),
    (1, "permute"),
    (1, "reverse"),
    (1, "slice"),
    (2, "pad"),
    (2, "concat"),
    (2, "reduce"),
    (1, "arg_reduce"),
    (2, "cumulative"),
    (1, "recurrence"),
    (1, "call"),
    (1, "recompute"),
    (2, "cond"),
    (1, "switch"),
    (2, "scan"),
    (2, "while"),
    (1, "unwind"),
    (1, "custom"),
    (1, "literal"),
    (1, "iota"),
    (2, "gather"),
    (2, "scatter"),
    (1, "scatter_reduce"),
    (1, "dynamic_slice"),
    (1, "dynamic_update"),
    (2, "update"),
    (3, "einsum"),
    (3, "conv"),
    (1, "window_arg"),
    (1, "arg_sort"),
    (1, "random_bits"),
    (1, "ensure"),
    (1, "system"),
    (1, "point"),
];

/// How often one of [`SAMPLED`] is drawn.
const SAMPLED_WEIGHT: usize = 5;

/// The samples of operations whose family is not in the list: it is enough for an operation to exist.
static SAMPLED: LazyLock<Vec<Sample>> =
    LazyLock::new(|| samples().into_iter().filter(|sample| !is_listed(sample) && !has_exceptions(sample)).collect());

fn is_listed(sample: &Sample) -> bool {
    FAMILIES.iter().any(|(_, family)| family.replace('_', "") == family_of(sample))
}

/// Whether the operation, or a derivative of it, exists at some operands only. Random ones are often singular, or have values
/// that repeat, and then one form of a Program is refused where another one is not. The battery, and the tests of these
/// operations, hold their laws at operands of their own.
pub(super) fn has_exceptions(sample: &Sample) -> bool {
    // The bits of a frame are no random integers.
    let of_frames = matches!(sample.op, Op::SpectralVectors(_) | Op::SpectralBits(_));
    (sample.op.gives_up() || of_frames) && !is_listed(sample)
}

fn family_of(sample: &Sample) -> String {
    super::coverage::family(&sample.op).to_lowercase()
}

/// The families that become regions of a plan.
const FUSING: [&str; 9] =
    ["unary", "binary", "compare", "logic", "select", "convert", "broadcast", "permute", "reduce"];

/// No array of a small Program has more elements than this, so that whole Jacobians are affordable.
const LARGEST: usize = 16;
/// Multiply-adds of an operation of a large Program, so that its definition is affordable.
const WORK: usize = 400_000;

/// How large a Program's arrays are, and what it is made of.
#[derive(Clone, Debug)]
struct Scale {
    /// Elements of an array at most.
    largest: usize,
    /// The lengths of new axes.
    lengths: Vec<usize>,
    /// Whether there are only operations that become regions.
    fusing: bool,
}

/// A Program and operands for it.
pub(crate) struct Generated {
    pub(crate) program: Program,
    pub(crate) args: Vec<Array>,
}

/// The Program of a seed with this many random steps.
pub(crate) fn generate(seed: u64, steps: usize) -> Generated {
    let mut random = Random::new(seed);
    let scale = Scale { largest: LARGEST, lengths: vec![0, 1, 2, 3], fusing: false };
    let mut generator = Generator::new(random.next(), 0, seed % 2 == 1, scale);
    let mut args = Vec::new();
    let first = if random.below(4) == 0 { DType::F32 } else { DType::F64 };
    for k in 0..1 + random.below(4) {
        let dtype = generator.allowed(if k == 0 { first } else { DType::ALL[random.below(4)] });
        let ty = Type::new(dtype, &shape(&mut random));
        let arg = numbers(&mut random, &ty);
        generator.input(&arg);
        args.push(arg);
    }
    for _ in 0..steps {
        generator.step();
    }
    Generated { program: generator.finish(), args }
}

/// A shape of rank 0 to 4, with an empty axis now and then.
fn shape(random: &mut Random) -> Vec<usize> {
    let rank = [0, 1, 1, 2, 2, 3, 4][random.below(7)];
    let mut shape: Vec<usize> = (0..rank).map(|_| 1 + random.below(3)).collect();
    while shape.iter().product::<usize>() > LARGEST {
        shape.iter_mut().for_each(|length| *length = 1 + *length / 2);
    }
    if rank > 0 && random.below(12) == 0 {
        let axis = random.below(rank);
        shape[axis] = 0;
    }
    shape
}

fn numbers(random: &mut Random, ty: &Type) -> Array {
    let number = |random: &mut Random| match ty.dtype {
        DType::Bool => random.below(2) as f64,
        DType::I64 => random.below(7) as f64 - 3.0,
        DType::F32 | DType::F64 => 2.0 * random.direction(),
    };
    array(ty, &(0..ty.size()).map(|_| number(random)).collect::<Vec<f64>>())
}

/// Numbers of another type, the first ones of an array, again and again.
fn numbers_like(ty: &Type, like: &Array) -> Array {
    let numbers = like.to_f64();
    array(
        ty,
        &(0..ty.size()).map(|k| numbers.get(k % numbers.len().max(1)).copied().unwrap_or(0.5)).collect::<Vec<f64>>(),
    )
}

/// A value with its number, which decides whether it has to be folded back.
#[derive(Clone)]
struct Item {
    value: Value,
    array: Array,
}

struct Generator {
    random: Random,
    b: Builder,
    pool: Vec<Item>,
    /// How many Programs it is inside of.
    depth: usize,
    /// Whether single precision occurs; where it does, tolerances are wide.
    single: bool,
    scale: Scale,
}

impl Generator {
    fn new(seed: u64, depth: usize, single: bool, scale: Scale) -> Self {
        Generator { random: Random::new(seed), b: Builder::new(), pool: Vec::new(), depth, single, scale }
    }

    fn input(&mut self, arg: &Array) {
        let value = self.b.input("", arg.ty().clone());
        self.pool.push(Item { value, array: arg.clone() });
    }

    /// Appends an operation and computes it; `None` if the operands do not fit or the result is too
    /// large.
    fn emit(&mut self, op: impl Into<Op>, args: &[&Item]) -> Option<Vec<Item>> {
        let op = match op.into() {
            Op::Convert(Convert(dtype)) => Convert(self.allowed(dtype)).into(),
            Op::Literal(Literal::F32(x)) if !self.single => Literal::F64(f64::from(x)).into(),
            op => op,
        };
        let types: Vec<&Type> = args.iter().map(|item| item.array.ty()).collect();
        let inferred = op.infer(&types).ok()?;
        let fits = |ty: &Type| ty.size() <= self.scale.largest && ty.rank() <= 4;
        if !inferred.iter().all(fits) || large::work(&op, &types, &inferred) > WORK {
            return None;
        }
        let arrays: Vec<&Array> = args.iter().map(|item| &item.array).collect();
        let results = match op.eval(&arrays) {
            Err(_) if op.gives_up() => return None,
            results => results.unwrap_or_else(|why| panic!("`{}` of tame operands: {}", op.name(), why.0)),
        };
        if self.scale.largest > LARGEST && !results.iter().all(large::is_tame) {
            return None;
        }
        let operands: Vec<Value> = args.iter().map(|item| item.value).collect();
        let values = self.b.emit(op, &operands).unwrap_or_else(|error| panic!("inferred, but not emitted: {error}"));
        Some(values.into_iter().zip(results).map(|(value, array)| Item { value, array }).collect())
    }

    fn one(&mut self, op: impl Into<Op>, args: &[&Item]) -> Option<Item> {
        self.emit(op, args)?.pop()
    }

    /// One of the values with a property; the later ones more often.
    fn pick(&mut self, property: impl Fn(&Type) -> bool) -> Option<Item> {
        let fitting: Vec<&Item> = self.pool.iter().filter(|item| property(item.array.ty())).collect();
        if fitting.is_empty() {
            return None;
        }
        let place = self.random.below(fitting.len()).max(self.random.below(fitting.len()));
        Some(fitting[place].clone())
    }

    fn allowed(&self, dtype: DType) -> DType {
        if dtype == DType::F32 && !self.single { DType::F64 } else { dtype }
    }

    fn pick_float(&mut self) -> Option<Item> {
        let wanted = if self.random.below(3) == 0 { self.allowed(DType::F32) } else { DType::F64 };
        if let Some(item) = self.pick(|ty| ty.dtype == wanted) {
            return Some(item);
        }
        let item = self.pick(|_| true)?;
        self.one(Convert(wanted), &[&item])
    }

    /// A value of any type, converted to the element type.
    fn pick_of(&mut self, dtype: DType) -> Option<Item> {
        let dtype = self.allowed(dtype);
        if let Some(item) = self.pick(|ty| ty.dtype == dtype) {
            return Some(item);
        }
        let item = self.pick(|_| true)?;
        self.one(Convert(dtype), &[&item])
    }

    /// A number everywhere in an array of this type.
    fn full(&mut self, number: f64, ty: &Type) -> Option<Item> {
        let scalar = self.one(Literal::of(number, ty.dtype), &[])?;
        self.one(Broadcast::new(&ty.shape, &[]), &[&scalar])
    }

    /// `x` itself, or brought into an interval.
    fn inside(&mut self, interval: Option<[f64; 2]>, x: Item) -> Option<Item> {
        let Some([low, high]) = interval else { return Some(x) };
        self.within(&x, (low + high) / 2.0, (high - low) / 2.0)
    }

    /// `centre + radius sin(x)`
    fn within(&mut self, x: &Item, centre: f64, radius: f64) -> Option<Item> {
        let ty = x.array.ty().clone();
        let sine = self.one(Unary::Sin, &[x])?;
        let radius = self.full(radius, &ty)?;
        let scaled = self.one(Binary::Mul, &[&sine, &radius])?;
        if centre == 0.0 {
            return Some(scaled);
        }
        let centre = self.full(centre, &ty)?;
        self.one(Binary::Add, &[&centre, &scaled])
    }

    /// A value of this type made of another one: its sum everywhere.
    fn coerced(&mut self, item: &Item, ty: &Type) -> Option<Item> {
        if item.array.ty() == ty {
            return Some(item.clone());
        }
        let dtype = if ty.dtype.is_float() { ty.dtype } else { DType::F64 };
        let converted = self.one(Convert(dtype), &[item])?;
        let axes: Vec<usize> = (0..item.array.ty().rank()).collect();
        let sum = self.one(Reduce::new(Reducer::Sum, &axes), &[&converted])?;
        let sum = self.one(Unary::Tanh, &[&sum])?;
        let sum = if ty.dtype == dtype { sum } else { self.one(Convert(ty.dtype), &[&sum])? };
        self.one(Broadcast::new(&ty.shape, &[]), &[&sum])
    }

    /// One more operation, if there are operands for it.
    fn step(&mut self) {
        let sampled = if SAMPLED.is_empty() { 0 } else { SAMPLED_WEIGHT };
        let mut drawn = self.random.below(FAMILIES.iter().map(|(weight, _)| weight).sum::<usize>() + sampled);
        let families = FAMILIES.iter().chain(&[(SAMPLED_WEIGHT, "sampled")]);
        let family = families.into_iter().find_map(|(weight, family)| {
            let found = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            found.then_some(*family)
        });
        let mut family = family.expect("drawn below the sum of the weights");
        if self.scale.fusing && !FUSING.contains(&family) {
            family = FUSING[self.random.below(FUSING.len())];
        }
        let results = match family {
            "unary" => self.unary(),
            "binary" => self.binary(),
            "compare" | "logic" | "select" | "convert" => self.truth(family),
            "call" | "recompute" | "cond" | "switch" | "custom" => self.region(family),
            "scan" | "while" | "unwind" => self.looping(family),
            "reduce" | "arg_reduce" | "cumulative" | "recurrence" => self.along_axes(family),
            "literal" | "iota" => self.constant(family),
            "broadcast" | "reshape" | "permute" | "reverse" | "slice" | "pad" | "concat" => self.movement(family),
            "ensure" | "system" | "point" => self.conditional(family),
            "sampled" => self.sampled(),
            _ => self.structured(family),
        };
        for item in results.unwrap_or_default() {
            let largest = item.array.to_f64().into_iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            assert!(item.array.is_finite(), "{family} gives {:?}", item.array);
            let folded = match item.array.dtype() {
                DType::F32 | DType::F64 if largest > 4.0 => self.one(Unary::Sin, &[&item]),
                DType::I64 if largest > 100.0 => {
                    let seven = self.full(7.0, item.array.ty());
                    seven.and_then(|seven| self.one(Binary::Rem, &[&item, &seven]))
                }
                _ => None,
            };
            self.pool.push(folded.unwrap_or(item));
        }
    }

    // ---- families ---------------------------------------------------------------------------------

    /// An operation from its samples, with operands of their types made of values that are there.
    fn sampled(&mut self) -> Option<Vec<Item>> {
        let sample = &SAMPLED[self.random.below(SAMPLED.len())];
        let mut operands = Vec::with_capacity(sample.args.len());
        for arg in &sample.args {
            let ty = arg.ty().with_dtype(self.allowed(arg.dtype()));
            let same = self.pick(|own| own.dtype == ty.dtype && own.size() == ty.size());
            operands.push(match same {
                Some(item) => self.one(Reshape::new(&ty.shape), &[&item])?,
                None => {
                    let item = self.pick_of(ty.dtype)?;
                    self.coerced(&item, &ty)?
                }
            });
        }
        self.emit(sample.op.clone(), &operands.iter().collect::<Vec<&Item>>())
    }

    fn unary(&mut self) -> Option<Vec<Item>> {
        if self.random.below(8) == 0 {
            let dtype = if self.random.below(4) == 0 { DType::Bool } else { DType::I64 };
            let x = self.pick_of(dtype)?;
            let op: Vec<Unary> = Unary::ALL.iter().copied().filter(|op| op.of_integers().is_some()).collect();
            let op = op[self.random.below(op.len())];
            return self.emit(if x.array.dtype() == DType::Bool { Unary::Detach } else { op }, &[&x]);
        }
        let x = self.pick_float()?;
        let op = match Unary::ALL[self.random.below(Unary::ALL.len())] {
            Unary::Powi(_) => Unary::Powi(self.random.below(5) as i32),
            Unary::Polygamma(_) => Unary::Polygamma(self.random.below(2) as u32),
            Unary::Erfcx(_) => Unary::Erfcx(self.random.below(2) as u32),
            Unary::LogNormalCdf(_) => Unary::LogNormalCdf(self.random.below(2) as u32),
            Unary::Sinc(_) => Unary::Sinc(self.random.below(2) as u32),
            op => op,
        };
        let x = self.inside(op.domain().inside[0], x)?;
        self.emit(op, &[&x])
    }

    fn binary(&mut self) -> Option<Vec<Item>> {
        if self.random.below(6) == 0 {
            let (x, y) = self.pair_of(DType::I64)?;
            let op: Vec<Binary> = Binary::ALL.iter().copied().filter(|op| op.of_integers().is_some()).collect();
            let op = op[self.random.below(op.len())];
            let y = if op == Binary::Rem { self.full(3.0, y.array.ty())? } else { y };
            return self.emit(op, &[&x, &y]);
        }
        let x = self.pick_float()?;
        let (x, y) = self.pair_of(x.array.dtype())?;
        let op = Binary::ALL[self.random.below(Binary::ALL.len())];
        let [of_x, of_y] = op.domain().inside;
        let (x, y) = (self.inside(of_x, x)?, self.inside(of_y, y)?);
        self.emit(op, &[&x, &y])
    }

    /// Two values of one type.
    fn pair_of(&mut self, dtype: DType) -> Option<(Item, Item)> {
        let x = self.pick_of(dtype)?;
        let ty = x.array.ty().clone();
        if let Some(y) = self.pick(|other| *other == ty).filter(|y| y.value != x.value || self.random.below(4) == 0) {
            return Some((x, y));
        }
        let other = self.pick(|_| true)?;
        let y = self.coerced(&other, &ty)?;
        Some((x, y))
    }

    fn truth(&mut self, family: &str) -> Option<Vec<Item>> {
        let dtype = DType::ALL[self.random.below(4)];
        match family {
            "compare" => {
                let (x, y) = self.pair_of(dtype)?;
                let op = Compare::ALL[self.random.below(Compare::ALL.len())];
                self.emit(op, &[&x, &y])
            }
            "logic" => {
                let (x, y) = self.pair_of(DType::Bool)?;
                match Logic::ALL[self.random.below(4)] {
                    Logic::Not => self.emit(Logic::Not, &[&x]),
                    op => self.emit(op, &[&x, &y]),
                }
            }
            "select" => {
                let (x, y) = self.pair_of(dtype)?;
                let mask = self.pick_of(DType::Bool)?;
                let mask = self.coerced(&mask, &x.array.ty().with_dtype(DType::Bool))?;
                self.emit(Select, &[&mask, &x, &y])
            }
            _ => {
                let x = self.pick(|_| true)?;
                self.emit(Convert(dtype), &[&x])
            }
        }
    }

    fn constant(&mut self, family: &str) -> Option<Vec<Item>> {
        if family == "iota" {
            let length = self.random.below(5);
            return self.emit(Iota { length }, &[]);
        }
        let dtype = DType::ALL[self.random.below(4)];
        let number = numbers(&mut self.random, &Type::new(dtype, &[])).to_f64()[0];
        self.emit(Literal::of(number, dtype), &[])
    }

    fn movement(&mut self, family: &str) -> Option<Vec<Item>> {
        let dtype = [DType::Bool, DType::I64, DType::F32, DType::F64, DType::F64][self.random.below(5)];
        let x = self.pick_of(dtype)?;
        let shape = x.array.shape().to_vec();
        let rank = shape.len();
        match family {
            "broadcast" => {
                let new = self.random.below(rank + 1);
                let mut result = shape;
                result.insert(new, self.scale.lengths[self.random.below(self.scale.lengths.len())]);
                let axes: Vec<usize> = (0..=rank).filter(|axis| *axis != new).collect();
                self.emit(Broadcast::new(&result, &axes), &[&x])
            }
            "reshape" => {
                let count: usize = shape.iter().product();
                let mut result = match self.random.below(3) {
                    0 => vec![count],
                    1 => shape.iter().rev().copied().collect(),
                    _ => [&[1], &shape[..]].concat(),
                };
                if self.random.below(2) == 0 && count == 1 {
                    result.clear();
                }
                self.emit(Reshape::new(&result), &[&x])
            }
            "permute" => {
                let mut order: Vec<usize> = (0..rank).collect();
                (1..rank).rev().for_each(|k| order.swap(k, self.random.below(k + 1)));
                self.emit(Permute::new(&order), &[&x])
            }
            "reverse" => {
                let axes = self.some_axes(rank);
                self.emit(Reverse::new(&axes), &[&x])
            }
            "slice" => {
                let start: Vec<usize> = shape.iter().map(|&length| self.random.below(length + 1)).collect();
                let limit: Vec<usize> = shape
                    .iter()
                    .zip(&start)
                    .map(|(length, start)| start + self.random.below(length - start + 1))
                    .collect();
                let stride: Vec<usize> = shape.iter().map(|_| 1 + self.random.below(2)).collect();
                self.emit(Slice::new(&start, &limit, &stride), &[&x])
            }
            "pad" => {
                let mut amounts = |least: i64| shape.iter().map(|_| self.random.below(3) as i64 + least).collect();
                let (low, high): (Vec<i64>, Vec<i64>) = (amounts(-1), amounts(-1));
                let interior = shape.iter().map(|_| self.random.below(2)).collect();
                let fill = self.pick_of(dtype)?;
                let fill = self.coerced(&fill, &Type::new(dtype, &[]))?;
                self.emit(Pad { low, high, interior }, &[&x, &fill])
            }
            _ => {
                let axis = self.random.below(rank.max(1));
                let same = |ty: &Type| {
                    ty.dtype == dtype && ty.rank() == rank && {
                        (0..rank).all(|k| k == axis || ty.shape[k] == shape[k])
                    }
                };
                let y = self.pick(same)?;
                self.emit(Concat { axis }, &[&x, &y])
            }
        }
    }

    fn some_axes(&mut self, rank: usize) -> Vec<usize> {
        (0..rank).filter(|_| self.random.below(2) == 0).collect()
    }

    fn along_axes(&mut self, family: &str) -> Option<Vec<Item>> {
        let dtype = [DType::I64, DType::F32, DType::F64, DType::F64, DType::Bool][self.random.below(5)];
        let x = self.pick_of(dtype)?;
        let rank = x.array.ty().rank();
        let axis = self.random.below(rank.max(1));
        let reverse = self.random.below(2) == 0;
        match family {
            "reduce" => {
                let reducer = match dtype {
                    DType::Bool => [Reducer::All, Reducer::Any][self.random.below(2)],
                    _ => [Reducer::Sum, Reducer::Prod, Reducer::Max, Reducer::Min][self.random.below(4)],
                };
                let axes = self.some_axes(rank);
                self.emit(Reduce::new(reducer, &axes), &[&x])
            }
            "arg_reduce" => {
                let extreme = [Extreme::Max, Extreme::Min][self.random.below(2)];
                self.emit(ArgReduce { extreme, axis }, &[&x])
            }
            "cumulative" => {
                let running = Running::ALL[self.random.below(5)];
                self.emit(Cumulative::new(running, axis, reverse), &[&x])
            }
            _ => {
                let (x, y) = self.pair_of(dtype)?;
                let axis = self.random.below(x.array.ty().rank().max(1));
                self.emit(Recurrence { axis, reverse }, &[&x, &y])
            }
        }
    }

    /// The Program with one to three results, of which the last value is one.
    fn finish(mut self) -> Program {
        let mut outputs = vec![self.pool[self.pool.len() - 1].value];
        for _ in 0..self.random.below(3) {
            let more = self.pick(|ty| ty.dtype.is_float()).or_else(|| self.pick(|_| true));
            outputs.extend(more.map(|item| item.value));
        }
        self.b.finish(&outputs)
    }
}
