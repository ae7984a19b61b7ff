//! The rewrite table. Each rule carries its equation, its class and an example, which a test rewrites and runs.
//!
//! To add one: an entry in [`RULES`]. Its function sees an operation and its operands, which are already rewritten,
//! and says what the result is instead.

use super::{Class, Config};
use crate::ops::{Binary, Unary};
use crate::primitives::{
    Broadcast, Call, Convert, Literal, Logic, Op, Permute, Reduce, Reducer, Reshape, Reverse, Select, Slice,
};
use crate::program::{Builder, Program, Value, rebuild};

/// What takes the place of an equation.
#[derive(Clone, Debug)]
enum Became {
    /// A value that exists; the equation has one result.
    Value(Value),
    /// Another equation, which may be rewritten in its turn.
    Equation(Op, Vec<Value>),
}

/// A rewrite.
#[derive(Clone, Copy, Debug)]
pub struct Rewrite {
    /// What is replaced by what.
    pub equation: &'static str,
    /// Whether it may change an answer.
    pub class: Class,
    /// Equations in which it applies to the last. Operands: `v0`, `v1` real, `v2` truth values, `v3` integers, all
    /// `[144]`; the same in `[12,12]`: `v4` real; constants as wide as `v0`: `v10` to `v15` are 1, 0, -0, -1, 4, 3,
    /// `v16` and `v17` true and false, `v18` the integer 0, and `v19` the single truth value true.
    pub example: &'static str,
    rewrite: fn(&mut Builder, &Op, &[Value]) -> Option<Became>,
}

/// The Program with every rule of an allowed class applied, wherever it applies.
pub(super) fn rewrite(program: Program, config: &Config) -> Program {
    let rules: Vec<&Rewrite> = RULES.iter().filter(|rule| config.allows(rule.class)).collect();
    rewrite_with(program, &rules)
}

pub(super) fn rewrite_with(program: Program, rules: &[&Rewrite]) -> Program {
    let apply = |b: &mut Builder, op: &Op, args: &[Value]| rules.iter().find_map(|rule| (rule.rewrite)(b, op, args));
    rebuild(program, |b, op, args, types| {
        let mut became = match apply(b, &op, args) {
            None => return b.again(op, args, types),
            Some(became) => became,
        };
        // Every rule leaves less behind than it found, so that this ends.
        loop {
            match became {
                Became::Value(value) => return Some(value),
                Became::Equation(op, args) => match apply(b, &op, &args) {
                    None => return b.again(op, &args, types),
                    Some(next) => became = next,
                },
            }
        }
    })
}

// ---- what rules ask -----------------------------------------------------------------------------

fn same(value: Value) -> Option<Became> {
    Some(Became::Value(value))
}

fn becomes(op: impl Into<Op>, args: &[Value]) -> Option<Became> {
    Some(Became::Equation(op.into(), args.to_vec()))
}

/// Whether the value is this number everywhere: for real numbers to the bit, so that -0 is not 0.
fn is(b: &Builder, value: Value, number: f64) -> bool {
    b.repeated(value).is_some_and(|literal| match literal {
        Literal::Bool(_) => false,
        Literal::I64(x) => x as f64 == number && number.to_bits() != (-0.0f64).to_bits(),
        Literal::F32(x) => f64::from(x).to_bits() == number.to_bits(),
        Literal::F64(x) => x.to_bits() == number.to_bits(),
    })
}

/// Whether the value is the number with which adding changes nothing: -0 for real numbers, 0 for integers.
fn adds_nothing(b: &Builder, value: Value) -> bool {
    is(b, value, if b.dtype(value).is_float() { -0.0 } else { 0.0 })
}

fn truth(b: &Builder, value: Value) -> Option<bool> {
    match b.repeated(value)? {
        Literal::Bool(x) => Some(x),
        Literal::I64(_) | Literal::F32(_) | Literal::F64(_) => None,
    }
}

/// The operand of the negation that a value is.
fn negated(b: &Builder, value: Value) -> Option<Value> {
    match b.defined_by(value)? {
        (Op::Unary(Unary::Neg), args) => Some(args[0]),
        _ => None,
    }
}

fn inverted(b: &Builder, value: Value) -> Option<Value> {
    match b.defined_by(value)? {
        (Op::Logic(Logic::Not), args) => Some(args[0]),
        _ => None,
    }
}

fn binary<'a>(op: &Op, wanted: Binary, args: &'a [Value]) -> Option<(&'a Value, &'a Value)> {
    if *op == Op::Binary(wanted) { Some((&args[0], &args[1])) } else { None }
}

fn logic<'a>(op: &Op, wanted: Logic, args: &'a [Value]) -> Option<(&'a Value, &'a Value)> {
    if *op == Op::Logic(wanted) { Some((&args[0], &args[1])) } else { None }
}

fn unary(op: &Op, wanted: Unary, args: &[Value]) -> Option<Value> {
    (*op == Op::Unary(wanted)).then(|| args[0])
}

/// The first of two operands for which `is` holds, and the other one.
fn either(x: Value, y: Value, is: impl Fn(Value) -> bool) -> Option<(Value, Value)> {
    if is(x) { Some((x, y)) } else { is(y).then_some((y, x)) }
}

/// `x` and the constant `c` of `x op c` or `c op x`, for a function that commutes.
fn with_constant(b: &Builder, op: Binary, value: Value) -> Option<(Value, Value)> {
    match b.defined_by(value)? {
        (Op::Binary(own), args) if *own == op => {
            either(args[0], args[1], |arg| b.repeated(arg).is_some()).map(|(c, x)| (x, c))
        }
        _ => None,
    }
}

/// `(x op c) op d = x op (c op d)`
fn joined(b: &mut Builder, op: Binary, args: &[Value]) -> Option<Became> {
    let (d, inner) = either(args[0], args[1], |arg| b.repeated(arg).is_some())?;
    let (x, c) = with_constant(b, op, inner)?;
    if b.repeated(x).is_some() {
        return None;
    }
    let constant = b.op(op, &[c, d]);
    becomes(op, &[x, constant])
}

// ---- the table ----------------------------------------------------------------------------------

macro_rules! rules {
    ($( $class:ident $equation:literal, $example:literal, $rewrite:expr; )*) => {
        &[$( Rewrite { equation: $equation, class: Class::$class, example: $example, rewrite: $rewrite }, )*]
    };
}

/// Every rule; the first that applies is taken.
pub const RULES: &[Rewrite] = rules! {
    // Arithmetic.
    Exact "x * 1 = x", "v20: f64[144] = mul v0 v10", |b, op, args| {
        let (x, y) = binary(op, Binary::Mul, args)?;
        either(*x, *y, |arg| is(b, arg, 1.0)).and_then(|(_, x)| same(x))
    };
    Exact "x * -1 = -x", "v20: f64[144] = mul v13 v0", |b, op, args| {
        let (x, y) = binary(op, Binary::Mul, args)?;
        either(*x, *y, |arg| is(b, arg, -1.0)).and_then(|(_, x)| becomes(Unary::Neg, &[x]))
    };
    Exact "x / 1 = x", "v20: f64[144] = div v0 v10", |b, op, args| {
        let (x, y) = binary(op, Binary::Div, args)?;
        if is(b, *y, 1.0) { same(*x) } else { None }
    };
    Exact "x / 2^k = x * 2^-k", "v20: f64[144] = div v0 v14", |b, op, args| {
        let (x, y) = binary(op, Binary::Div, args)?;
        let inverse = power_of_two_inverse(b.repeated(*y)?)?;
        let ty = b.ty(*y).clone();
        let inverse = b.full(inverse, &ty);
        becomes(Binary::Mul, &[*x, inverse])
    };
    Exact "-(-x) = x", "v20: f64[144] = neg v0; v21: f64[144] = neg v20", |b, op, args| {
        negated(b, unary(op, Unary::Neg, args)?).and_then(same)
    };
    Exact "x - 0 = x", "v20: f64[144] = sub v0 v11", |b, op, args| {
        let (x, y) = binary(op, Binary::Sub, args)?;
        if is(b, *y, 0.0) { same(*x) } else { None }
    };
    Exact "x + -0 = x", "v20: f64[144] = add v12 v0", |b, op, args| {
        let (x, y) = binary(op, Binary::Add, args)?;
        either(*x, *y, |arg| adds_nothing(b, arg)).and_then(|(_, x)| same(x))
    };
    Exact "x - -y = x + y", "v20: f64[144] = neg v1; v21: f64[144] = sub v0 v20", |b, op, args| {
        let (x, y) = binary(op, Binary::Sub, args)?;
        becomes(Binary::Add, &[*x, negated(b, *y)?])
    };
    Exact "x + -y = x - y", "v20: f64[144] = neg v1; v21: f64[144] = add v20 v0", |b, op, args| {
        let (x, y) = binary(op, Binary::Add, args)?;
        let (y, x) = either(*x, *y, |arg| negated(b, arg).is_some())?;
        becomes(Binary::Sub, &[x, negated(b, y)?])
    };
    Exact "-x * -y = x * y", "v20: f64[144] = neg v0; v21: f64[144] = neg v1; v22: f64[144] = mul v20 v21",
    |b, op, args| {
        let (x, y) = binary(op, Binary::Mul, args)?;
        becomes(Binary::Mul, &[negated(b, *x)?, negated(b, *y)?])
    };
    Exact "-x / -y = x / y", "v20: f64[144] = neg v0; v21: f64[144] = neg v1; v22: f64[144] = div v20 v21",
    |b, op, args| {
        let (x, y) = binary(op, Binary::Div, args)?;
        becomes(Binary::Div, &[negated(b, *x)?, negated(b, *y)?])
    };
    Exact "x * 0 = 0 for integers", "v20: i64[144] = mul v3 v18", |b, op, args| {
        let (x, y) = binary(op, Binary::Mul, args)?;
        let (zero, _) = either(*x, *y, |arg| !b.dtype(arg).is_float() && is(b, arg, 0.0))?;
        same(zero)
    };
    Exact "max(x, x) = x", "v20: f64[144] = max v0 v0", |_, op, args| {
        let (x, y) = binary(op, Binary::Max, args).or(binary(op, Binary::Min, args))?;
        if x == y { same(*x) } else { None }
    };
    Exact "|-x| = |x|", "v20: f64[144] = neg v0; v21: f64[144] = abs v20", |b, op, args| {
        becomes(Unary::Abs, &[negated(b, unary(op, Unary::Abs, args)?)?])
    };
    Exact "(-x)^2 = x^2", "v20: f64[144] = neg v0; v21: f64[144] = square v20", |b, op, args| {
        becomes(Unary::Square, &[negated(b, unary(op, Unary::Square, args)?)?])
    };
    Exact "x^1 = x", "v20: f64[144] = powi[n=1] v0", |_, op, args| unary(op, Unary::Powi(1), args).and_then(same);

    // Truth values and choices.
    Exact "not(not m) = m", "v20: bool[144] = not v2; v21: bool[144] = not v20", |b, op, args| {
        if *op == Op::Logic(Logic::Not) { inverted(b, args[0]).and_then(same) } else { None }
    };
    Exact "m and true = m, m and false = false", "v20: bool[144] = and v17 v2", |b, op, args| {
        let (x, y) = logic(op, Logic::And, args)?;
        let (known, other) = either(*x, *y, |arg| truth(b, arg).is_some())?;
        same(if truth(b, known)? { other } else { known })
    };
    Exact "m or false = m, m or true = true", "v20: bool[144] = or v17 v2", |b, op, args| {
        let (x, y) = logic(op, Logic::Or, args)?;
        let (known, other) = either(*x, *y, |arg| truth(b, arg).is_some())?;
        same(if truth(b, known)? { known } else { other })
    };
    Exact "m xor false = m, m xor true = not m", "v20: bool[144] = xor v2 v16", |b, op, args| {
        let (x, y) = logic(op, Logic::Xor, args)?;
        let (known, other) = either(*x, *y, |arg| truth(b, arg).is_some())?;
        if truth(b, known)? { becomes(Logic::Not, &[other]) } else { same(other) }
    };
    Exact "m and m = m, m or m = m", "v20: bool[144] = and v2 v2", |_, op, args| {
        let (x, y) = logic(op, Logic::And, args).or(logic(op, Logic::Or, args))?;
        if x == y { same(*x) } else { None }
    };
    Exact "select(true, x, y) = x, select(false, x, y) = y", "v20: f64[144] = select v17 v0 v1", |b, op, args| {
        let Op::Select(_) = op else { return None };
        same(if truth(b, args[0])? { args[1] } else { args[2] })
    };
    Exact "select(m, x, x) = x", "v20: f64[144] = select v2 v0 v0", |_, op, args| match op {
        Op::Select(_) if args[1] == args[2] => same(args[1]),
        _ => None,
    };
    Exact "select(not m, x, y) = select(m, y, x)", "v20: bool[144] = not v2; v21: f64[144] = select v20 v0 v1",
    |b, op, args| {
        let Op::Select(_) = op else { return None };
        becomes(Select, &[inverted(b, args[0])?, args[2], args[1]])
    };
    Exact "cond(true, f, g) = call(f), cond(false, f, g) = call(g)",
    "v20: f64[144] = cond[yes=program(v0: f64[144]) { v1: f64[144] = abs v0; return v1 },
     no=program(v0: f64[144]) { return v0 }] v19 v0",
    |b, op, args| {
        let Op::Cond(cond) = op else { return None };
        let place = match b.defined_by(args[0]) {
            Some((Op::Literal(Literal::I64(index)), _)) => usize::try_from(*index).ok()?,
            _ => usize::from(!truth(b, args[0])?),
        };
        becomes(Call { program: cond.branches.get(place)?.clone() }, &args[1..])
    };

    Exact "select(m, select(m, x, y), z) = select(m, x, z)",
    "v20: f64[144] = select v2 v0 v1; v21: f64[144] = select v2 v20 v10", |b, op, args| {
        let Op::Select(_) = op else { return None };
        let inner = |value: Value, place: usize| match b.defined_by(value) {
            Some((Op::Select(_), inner)) if inner[0] == args[0] => Some(inner[place]),
            _ => None,
        };
        match (inner(args[1], 1), inner(args[2], 2)) {
            (None, None) => None,
            (yes, no) => becomes(Select, &[args[0], yes.unwrap_or(args[1]), no.unwrap_or(args[2])]),
        }
    };
    Exact "select(m, x * c, 0) = x * c where x = select(m, y, 0) and c > 0, likewise x / c",
    "v20: f64[144] = select v2 v0 v11; v21: f64[144] = div v20 v15; v22: f64[144] = select v2 v21 v11",
    |b, op, args| {
        let (Op::Select(_), (Op::Binary(binary), factors)) = (op, b.defined_by(*args.get(1)?)?) else { return None };
        let (x, c) = match binary {
            Binary::Mul => either(factors[0], factors[1], |c| is_positive(b, c)).map(|(c, x)| (x, c))?,
            Binary::Div => (factors[0], factors[1]),
            _ => return None,
        };
        let (Op::Select(_), inner) = b.defined_by(x)? else { return None };
        let zero = is(b, inner[2], 0.0) && is(b, args[2], 0.0);
        if zero && inner[0] == args[0] && is_positive(b, c) { same(args[1]) } else { None }
    };
    Exact "all of true = true, any of false = false", "v20: bool[] = all[axes=[0]] v16", |b, op, args| {
        let Op::Reduce(reduce) = op else { return None };
        let neutral = match reduce.reducer {
            Reducer::All => truth(b, args[0])?,
            Reducer::Any => !truth(b, args[0])?,
            Reducer::Sum | Reducer::Prod | Reducer::Max | Reducer::Min => return None,
        };
        let kept = b.shape(args[0]).iter().enumerate().filter(|(axis, _)| !reduce.axes.contains(axis));
        let ty = b.ty(args[0]).with_shape(kept.map(|(_, &length)| length).collect());
        let value = reduce.reducer == Reducer::All;
        if neutral { same(b.full(f64::from(u8::from(value)), &ty)) } else { None }
    };

    // Elements that move.
    Exact "f(broadcast x, broadcast y, c) = broadcast f(x, y, c)",
    "v20: f64[2,144] = broadcast[shape=[2,144], axes=[1]] v0; v21: f64[2,144] = sqrt v20", before_broadcast;
    Exact "any(broadcast x) = broadcast(any x), likewise all, max and min",
    "v20: bool[2,144] = broadcast[shape=[2,144], axes=[1]] v2; v21: bool[2] = any[axes=[1]] v20;
     v22: bool[144] = any[axes=[0]] v20; v23: bool[2,144] = broadcast[shape=[2,144], axes=[1]] v22;
     v24: bool[] = all[axes=[0,1]] v23", extreme_of_broadcast;
    Exact "permute(broadcast x) = broadcast(permute x)",
    "v20: f64[2,12,12] = broadcast[shape=[2,12,12], axes=[1,2]] v4; v21: f64[12,2,12] = permute[order=[2,0,1]] v20",
    |b, op, args| {
        let (Op::Permute(permute), (Op::Broadcast(broadcast), x)) = (op, b.defined_by(*args.first()?)?) else {
            return None;
        };
        let x = x[0];
        let place = |axis: usize| permute.order.iter().position(|&own| own == axis).expect("a permutation");
        let mut kept: Vec<(usize, usize)> =
            broadcast.axes.iter().enumerate().map(|(k, &axis)| (place(axis), k)).collect();
        kept.sort_unstable();
        let (axes, order): (Vec<usize>, Vec<usize>) = kept.into_iter().unzip();
        let shape: Vec<usize> = permute.order.iter().map(|&axis| broadcast.shape[axis]).collect();
        let x = b.permute(x, &order);
        becomes(Broadcast::new(&shape, &axes), &[x])
    };
    Exact "reshape to the same shape = x", "v20: f64[144] = reshape[shape=[144]] v0", |b, op, args| match op {
        Op::Reshape(reshape) if b.shape(args[0]) == reshape.shape => same(args[0]),
        _ => None,
    };
    Exact "reshape(reshape x) = reshape x",
    "v20: f64[2,72] = reshape[shape=[2,72]] v0; v21: f64[72,2] = reshape[shape=[72,2]] v20", |b, op, args| {
        let (Op::Reshape(outer), (Op::Reshape(_), inner)) = (op, b.defined_by(*args.first()?)?) else { return None };
        becomes(Reshape::new(&outer.shape), inner)
    };
    Exact "permute in order = x", "v20: f64[12,12] = permute[order=[0,1]] v4", |_, op, args| match op {
        Op::Permute(permute) if permute.order.is_sorted() => same(args[0]),
        _ => None,
    };
    Exact "permute(permute x) = permute x",
    "v20: f64[2,6,12] = reshape[shape=[2,6,12]] v0; v21: f64[6,12,2] = permute[order=[1,2,0]] v20;
     v22: f64[2,6,12] = permute[order=[2,0,1]] v21", |b, op, args| {
        let (Op::Permute(outer), (Op::Permute(inner), x)) = (op, b.defined_by(*args.first()?)?) else { return None };
        let order: Vec<usize> = outer.order.iter().map(|&axis| inner.order[axis]).collect();
        becomes(Permute { order }, x)
    };
    Exact "broadcast without new axes = x", "v20: f64[144] = broadcast[shape=[144], axes=[0]] v0",
    |_, op, args| match op {
        Op::Broadcast(broadcast) if broadcast.shape.len() == broadcast.axes.len() => same(args[0]),
        _ => None,
    };
    Exact "broadcast(broadcast x) = broadcast x",
    "v20: f64[2,144] = broadcast[shape=[2,144], axes=[1]] v0;
     v21: f64[2,3,144] = broadcast[shape=[2,3,144], axes=[0,2]] v20", |b, op, args| {
        let Op::Broadcast(outer) = op else { return None };
        let (Op::Broadcast(inner), x) = b.defined_by(args[0])? else { return None };
        let axes: Vec<usize> = inner.axes.iter().map(|&axis| outer.axes[axis]).collect();
        becomes(Broadcast::new(&outer.shape, &axes), x)
    };
    Exact "reverse of axes of length 1 or none = x", "v20: f64[12,12] = reverse[axes=[]] v4", |b, op, args| match op {
        Op::Reverse(reverse) if reverse.axes.iter().all(|&axis| b.shape(args[0])[axis] <= 1) => same(args[0]),
        _ => None,
    };
    Exact "reverse(reverse x): axes in both stay",
    "v20: f64[12,12] = reverse[axes=[0,1]] v4; v21: f64[12,12] = reverse[axes=[1]] v20", |b, op, args| {
        let (Op::Reverse(outer), (Op::Reverse(inner), x)) = (op, b.defined_by(*args.first()?)?) else { return None };
        let axes = |own: &Reverse, other: &Reverse| -> Vec<usize> {
            own.axes.iter().copied().filter(|axis| !other.axes.contains(axis)).collect()
        };
        let mut axes = [axes(inner, outer), axes(outer, inner)].concat();
        axes.sort_unstable();
        becomes(Reverse { axes }, x)
    };
    Exact "slice of everything = x", "v20: f64[144] = slice[start=[0], limit=[144], stride=[1]] v0",
    |b, op, args| match op {
        Op::Slice(slice) if slice.limit == b.shape(args[0])
            && slice.start.iter().all(|&start| start == 0)
            && slice.stride.iter().all(|&stride| stride == 1) => same(args[0]),
        _ => None,
    };
    Exact "slice(slice x) = slice x",
    "v20: f64[47] = slice[start=[2], limit=[142], stride=[3]] v0;
     v21: f64[22] = slice[start=[1], limit=[44], stride=[2]] v20", |b, op, args| {
        let (Op::Slice(outer), (Op::Slice(inner), x)) = (op, b.defined_by(*args.first()?)?) else { return None };
        becomes(slice_of_slice(inner, outer)?, x)
    };
    Exact "pad by nothing = x", "v19: f64[] = constant[value=1.0f64];
     v20: f64[144] = pad[low=[0], high=[0], interior=[0]] v0 v19", |_, op, args| match op {
        Op::Pad(pad) if pad.low.iter().chain(&pad.high).all(|&n| n == 0) && pad.interior.iter().all(|&n| n == 0) => {
            same(args[0])
        }
        _ => None,
    };
    Exact "concat of one = x", "v20: f64[144] = concat[axis=0] v0", |_, op, args| match (op, args) {
        (Op::Concat(_), [x]) => same(*x),
        _ => None,
    };
    Exact "convert to the same type = x", "v20: f64[144] = convert[to=f64] v0", |b, op, args| match op {
        Op::Convert(Convert(to)) if *to == b.dtype(args[0]) => same(args[0]),
        _ => None,
    };
    Exact "convert and back = x where nothing is lost",
    "v20: f64[144] = convert[to=f64] v2; v21: bool[144] = convert[to=bool] v20", |b, op, args| {
        use crate::array::DType::{Bool, F32, F64, I64};
        let (Op::Convert(Convert(to)), (Op::Convert(Convert(through)), x)) = (op, b.defined_by(*args.first()?)?) else {
            return None;
        };
        let kept = matches!((*to, *through), (Bool, I64 | F32 | F64) | (F32, F64));
        if kept && b.dtype(x[0]) == *to { same(x[0]) } else { None }
    };

    // What may change an answer.
    SignOfZero "x + 0 = x", "v20: f64[144] = add v0 v11", |b, op, args| {
        let (x, y) = binary(op, Binary::Add, args)?;
        either(*x, *y, |arg| is(b, arg, 0.0)).and_then(|(_, x)| same(x))
    };
    SignOfZero "x - -0 = x", "v20: f64[144] = sub v0 v12", |b, op, args| {
        let (x, y) = binary(op, Binary::Sub, args)?;
        if is(b, *y, -0.0) { same(*x) } else { None }
    };
    SignOfZero "0 - x = -x", "v20: f64[144] = sub v11 v0", |b, op, args| {
        let (x, y) = binary(op, Binary::Sub, args)?;
        if is(b, *x, 0.0) { becomes(Unary::Neg, &[*y]) } else { None }
    };
    SignOfZero "sum over no axes = x", "v20: f64[144] = sum[axes=[]] v0", |_, op, args| match op {
        Op::Reduce(reduce) if reduce.reducer == Reducer::Sum && reduce.axes.is_empty() => same(args[0]),
        _ => None,
    };
    UnsafeNonFinite "x * 0 = 0", "v20: f64[144] = mul v0 v11", |b, op, args| {
        let (x, y) = binary(op, Binary::Mul, args)?;
        either(*x, *y, |arg| is(b, arg, 0.0) || is(b, arg, -0.0)).and_then(|(zero, _)| same(zero))
    };
    UnsafeNonFinite "x - x = 0", "v20: f64[144] = sub v0 v0", |b, op, args| {
        let (x, y) = binary(op, Binary::Sub, args)?;
        if x == y { same(b.zeros_like(*x)) } else { None }
    };
    Reassociating "(x * c) * d = x * (c * d)", "v20: f64[144] = mul v0 v15; v21: f64[144] = mul v20 v15",
    |b, op, args| {
        binary(op, Binary::Mul, args)?;
        joined(b, Binary::Mul, args)
    };
    Reassociating "(x + c) + d = x + (c + d)", "v20: f64[144] = add v0 v10; v21: f64[144] = add v13 v20",
    |b, op, args| {
        binary(op, Binary::Add, args)?;
        joined(b, Binary::Add, args)
    };
    Reassociating "x / c = x * (1 / c)", "v20: f64[144] = div v0 v15", |b, op, args| {
        let (x, c) = binary(op, Binary::Div, args)?;
        b.repeated(*c).filter(|c| c.dtype().is_float())?;
        let inverse = b.op(Unary::Recip, &[*c]);
        becomes(Binary::Mul, &[*x, inverse])
    };
};

/// `1/c` of a power of two whose reciprocal has the full precision too: then the product rounds as the quotient does.
fn power_of_two_inverse(c: Literal) -> Option<f64> {
    let (c, least) = match c {
        Literal::F64(c) => (c, f64::MIN_POSITIVE),
        Literal::F32(c) => (f64::from(c), f64::from(f32::MIN_POSITIVE)),
        Literal::Bool(_) | Literal::I64(_) => return None,
    };
    let mantissa = c.to_bits() & ((1 << 52) - 1);
    let inverse = 1.0 / c;
    let normal = |x: f64| x.is_finite() && x.abs() >= least && x.abs() <= 1.0 / least;
    (mantissa == 0 && c.abs() != 1.0 && normal(c) && normal(inverse)).then_some(inverse)
}

/// Whether every element is one positive number that is neither 0 nor infinite.
fn is_positive(b: &Builder, value: Value) -> bool {
    match b.repeated(value) {
        Some(Literal::F64(c)) => c > 0.0 && c.is_finite(),
        Some(Literal::F32(c)) => c > 0.0 && c.is_finite(),
        Some(Literal::Bool(_) | Literal::I64(_)) | None => false,
    }
}

/// An elementwise function of numbers that repeat in the same way is computed once for each.
fn before_broadcast(b: &mut Builder, op: &Op, args: &[Value]) -> Option<Became> {
    if !b.form(op, args).is_elementwise() {
        return None;
    }
    // The first operand that is not one number says how they repeat.
    let leader = args.iter().find(|&&arg| b.repeated(arg).is_none())?;
    let (Op::Broadcast(broadcast), source) = b.defined_by(*leader)? else { return None };
    let shape = b.shape(source[0]).to_vec();
    // Without elements nothing would be computed, and nothing could fail.
    if shape.len() == broadcast.shape.len() || broadcast.shape.contains(&0) {
        return None;
    }
    let broadcast = broadcast.clone();
    let mut operands = Vec::with_capacity(args.len());
    for &arg in args {
        operands.push(match (b.repeated(arg), b.defined_by(arg)) {
            (Some(literal), _) => Err(literal),
            (None, Some((Op::Broadcast(own), source))) if *own == broadcast => Ok(source[0]),
            _ => return None,
        });
    }
    let operands = operands.into_iter().map(|operand| match operand {
        Ok(value) => value,
        Err(literal) => {
            let scalar = b.op(literal, &[]);
            b.broadcast_scalar(scalar, &shape)
        }
    });
    let operands: Vec<Value> = operands.collect();
    let result = b.op(op.clone(), &operands);
    becomes(broadcast, &[result])
}

/// What is chosen among numbers that repeat does not depend on how often they do.
fn extreme_of_broadcast(b: &mut Builder, op: &Op, args: &[Value]) -> Option<Became> {
    let (Op::Reduce(reduce), (Op::Broadcast(broadcast), x)) = (op, b.defined_by(*args.first()?)?) else {
        return None;
    };
    if matches!(reduce.reducer, Reducer::Sum | Reducer::Prod) || broadcast.shape.contains(&0) {
        return None;
    }
    let kept: Vec<usize> = (0..broadcast.shape.len()).filter(|axis| !reduce.axes.contains(axis)).collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| broadcast.shape[axis]).collect();
    let inner: Vec<usize> = (0..broadcast.axes.len()).filter(|&k| reduce.axes.contains(&broadcast.axes[k])).collect();
    let axes: Vec<usize> = broadcast.axes.iter().filter_map(|axis| kept.iter().position(|own| own == axis)).collect();
    let x = x[0];
    let x = if inner.is_empty() { x } else { b.op(Reduce::new(reduce.reducer, &inner), &[x]) };
    becomes(Broadcast::new(&shape, &axes), &[x])
}

/// The elements of a slice of a slice that has some.
fn slice_of_slice(inner: &Slice, outer: &Slice) -> Option<Slice> {
    let rank = outer.start.len();
    let (mut start, mut limit, mut stride) =
        (Vec::with_capacity(rank), Vec::with_capacity(rank), Vec::with_capacity(rank));
    for axis in 0..rank {
        let count = (outer.limit[axis] - outer.start[axis]).div_ceil(outer.stride[axis]);
        let first = inner.start[axis] + outer.start[axis].checked_mul(inner.stride[axis])?;
        let step = inner.stride[axis].checked_mul(outer.stride[axis])?;
        start.push(first);
        limit.push(first + count.checked_sub(1)?.checked_mul(step)? + 1);
        stride.push(step);
    }
    Some(Slice::new(&start, &limit, &stride))
}
