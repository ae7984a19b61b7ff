//! The vector loops behind the instructions. Everything is inlined into the copy for an instruction set.

use super::code::{Binary, Call1, Call2, Compare, Kind, Pair, Unary};
use super::pattern::for_kind;
use crate::float::Float;

/// `out = f(x)`
///
/// # Safety
/// `x` and `out` are valid for `n` elements, for reading and for writing, and `out` overlaps nothing.
#[inline(always)]
unsafe fn map<T: Copy, U>(x: *const u8, out: *mut u8, n: usize, f: impl Fn(T) -> U) {
    // SAFETY: the caller's promise; `Region::run` and the checks of `Region::new` keep it.
    let (x, out) = unsafe { (std::slice::from_raw_parts(x.cast::<T>(), n), std::slice::from_raw_parts_mut(out.cast::<U>(), n)) };
    for (out, &x) in out.iter_mut().zip(x) {
        *out = f(x);
    }
}

/// `out = f(x, y)`
///
/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn map2<T: Copy, U>(x: *const u8, y: *const u8, out: *mut u8, n: usize, f: impl Fn(T, T) -> U) {
    // SAFETY: the caller's promise.
    let (x, y, out) = unsafe {
        let slice = |p: *const u8| std::slice::from_raw_parts(p.cast::<T>(), n);
        (slice(x), slice(y), std::slice::from_raw_parts_mut(out.cast::<U>(), n))
    };
    for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
        *out = f(x, y);
    }
}

/// `out = f(x, y, z)`
///
/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn map3<T: Copy>(places: [*const u8; 3], out: *mut u8, n: usize, f: impl Fn(T, T, T) -> T) {
    // SAFETY: the caller's promise.
    let ([x, y, z], out) = unsafe {
        let slice = |p: *const u8| std::slice::from_raw_parts(p.cast::<T>(), n);
        (places.map(slice), std::slice::from_raw_parts_mut(out.cast::<T>(), n))
    };
    for (((out, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
        *out = f(x, y, z);
    }
}

/// A function of one argument.
///
/// # Safety
/// As [`map`]; the kind knows the function.
#[inline(always)]
pub(super) unsafe fn unary(f: Unary, kind: Kind, x: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise, for every call below.
    unsafe {
        match kind {
            Kind::F32 => unary_float::<f32>(f, x, out, n),
            Kind::F64 => unary_float::<f64>(f, x, out, n),
            Kind::I64 => match f {
                Unary::Neg => map(x, out, n, i64::wrapping_neg),
                Unary::Abs => map(x, out, n, i64::wrapping_abs),
                Unary::Sign => map(x, out, n, i64::signum),
                Unary::Square => map(x, out, n, |x: i64| x.wrapping_mul(x)),
                _ => map(x, out, n, |x: i64| x),
            },
            Kind::U8 => match f {
                Unary::Not => map(x, out, n, |x: u8| x ^ 1),
                _ => map(x, out, n, |x: u8| x),
            },
        }
    }
}

/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn unary_float<T: Float>(f: Unary, x: *const u8, out: *mut u8, n: usize) {
    macro_rules! table {
        ($( $name:ident => $function:expr, )*) => {
            match f { $( Unary::$name => unsafe { map(x, out, n, $function) }, )* }
        };
    }
    // SAFETY (of the table's calls): the caller's promise.
    table! {
        Copy => |x: T| x,
        Not => |x: T| x,
        Neg => |x: T| -x,
        Abs => |x: T| x.abs(),
        Sign => |x: T| x.sign(),
        Square => |x: T| x * x,
        Sqrt => |x: T| x.sqrt(),
        Rsqrt => |x: T| x.rsqrt(),
        Cbrt => |x: T| x.cbrt(),
        Recip => |x: T| T::from_f64(1.0) / x,
        Exp => |x: T| x.exp(),
        Exp2 => |x: T| x.exp2(),
        Expm1 => |x: T| x.expm1(),
        Ln => |x: T| x.ln(),
        Log2 => |x: T| x.log2(),
        Log10 => |x: T| x.log10(),
        Log1p => |x: T| x.log1p(),
        Sin => |x: T| x.sin(),
        Cos => |x: T| x.cos(),
        Tan => |x: T| x.tan(),
        Asin => |x: T| x.asin(),
        Acos => |x: T| x.acos(),
        Atan => |x: T| x.atan(),
        Sinh => |x: T| x.sinh(),
        Cosh => |x: T| x.cosh(),
        Tanh => |x: T| x.tanh(),
        Sech2 => |x: T| x.sech2(),
        Asinh => |x: T| x.asinh(),
        Acosh => |x: T| x.acosh(),
        Atanh => |x: T| x.atanh(),
        Sigmoid => |x: T| x.sigmoid(),
        Softplus => |x: T| x.softplus(),
        Relu => |x: T| x.relu(),
        GeluErf => |x: T| x.gelu_erf(),
        GeluTanh => |x: T| x.gelu_tanh(),
        Silu => |x: T| x.silu(),
        Erf => |x: T| x.erf(),
        Erfc => |x: T| x.erfc(),
        Floor => |x: T| x.floor(),
        Ceil => |x: T| x.ceil(),
        Round => |x: T| x.round(),
        Trunc => |x: T| x.trunc(),
    }
}

/// A function of two arguments.
///
/// # Safety
/// As [`map`]; the kind knows the function.
#[inline(always)]
pub(super) unsafe fn binary(f: Binary, kind: Kind, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise, for every call below.
    unsafe {
        match kind {
            Kind::F32 => binary_float::<f32>(f, x, y, out, n),
            Kind::F64 => binary_float::<f64>(f, x, y, out, n),
            Kind::I64 => match f {
                Binary::Sub => map2(x, y, out, n, i64::wrapping_sub),
                Binary::Mul => map2(x, y, out, n, i64::wrapping_mul),
                Binary::Max => map2(x, y, out, n, |x: i64, y: i64| x.max(y)),
                Binary::Min => map2(x, y, out, n, |x: i64, y: i64| x.min(y)),
                _ => map2(x, y, out, n, i64::wrapping_add),
            },
            Kind::U8 => match f {
                Binary::And => map2(x, y, out, n, |x: u8, y: u8| x & y),
                Binary::Or => map2(x, y, out, n, |x: u8, y: u8| x | y),
                _ => map2(x, y, out, n, |x: u8, y: u8| x ^ y),
            },
        }
    }
}

/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn binary_float<T: Float>(f: Binary, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise, for every call below.
    unsafe {
        match f {
            Binary::Sub => map2(x, y, out, n, |x: T, y: T| x - y),
            Binary::Mul => map2(x, y, out, n, |x: T, y: T| x * y),
            Binary::Div => map2(x, y, out, n, |x: T, y: T| x / y),
            Binary::Max => map2(x, y, out, n, |x: T, y: T| Float::max(x, y)),
            Binary::Min => map2(x, y, out, n, |x: T, y: T| Float::min(x, y)),
            Binary::Pow => map2(x, y, out, n, |x: T, y: T| x.pow(y)),
            Binary::Atan2 => map2(x, y, out, n, |x: T, y: T| x.atan2(y)),
            Binary::Hypot => map2(x, y, out, n, |x: T, y: T| x.hypot(y)),
            Binary::Copysign => map2(x, y, out, n, |x: T, y: T| x.copysign(y)),
            Binary::Logaddexp => map2(x, y, out, n, |x: T, y: T| x.logaddexp(y)),
            Binary::Xlogy => map2(x, y, out, n, |x: T, y: T| x.xlogy(y)),
            Binary::Add | Binary::And | Binary::Or | Binary::Xor => map2(x, y, out, n, |x: T, y: T| x + y),
        }
    }
}

/// A comparison.
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub(super) unsafe fn compare(f: Compare, kind: Kind, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise, for every call below.
    for_kind!(kind, T => unsafe {
        match f {
            Compare::Eq => map2(x, y, out, n, |x: T, y: T| u8::from(x == y)),
            Compare::Ne => map2(x, y, out, n, |x: T, y: T| u8::from(x != y)),
            Compare::Lt => map2(x, y, out, n, |x: T, y: T| u8::from(x < y)),
            Compare::Le => map2(x, y, out, n, |x: T, y: T| u8::from(x <= y)),
            Compare::Gt => map2(x, y, out, n, |x: T, y: T| u8::from(x > y)),
            Compare::Ge => map2(x, y, out, n, |x: T, y: T| u8::from(x >= y)),
            Compare::Unordered => map2(x, y, out, n, |x: T, y: T| u8::from(unequal(x, x) | unequal(y, y))),
        }
    });
}

/// Whether two elements differ; a NaN differs from itself.
#[inline(always)]
fn unequal<T: PartialEq>(x: T, y: T) -> bool {
    x != y
}

/// `out = mask ? x : y`
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub(super) unsafe fn select(kind: Kind, mask: *const u8, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    for_kind!(kind, T => unsafe {
        let mask = std::slice::from_raw_parts(mask, n);
        let (x, y) = (std::slice::from_raw_parts(x.cast::<T>(), n), std::slice::from_raw_parts(y.cast::<T>(), n));
        let out = std::slice::from_raw_parts_mut(out.cast::<T>(), n);
        for (((out, &mask), &x), &y) in out.iter_mut().zip(mask).zip(x).zip(y) {
            *out = if mask != 0 { x } else { y };
        }
    });
}

/// Another kind: numbers as Rust's `as` (towards zero, saturating, NaN to 0), truth values as 0 and 1, numbers other than 0 as
/// true.
///
/// # Safety
/// As [`map`].
#[inline(always)]
pub(super) unsafe fn convert(from: Kind, to: Kind, x: *const u8, out: *mut u8, n: usize) {
    use Kind::{F32, F64, I64, U8};
    // SAFETY: the caller's promise, for every call below.
    unsafe {
        match (from, to) {
            (U8, U8) => map(x, out, n, |x: u8| x),
            (I64, I64) => map(x, out, n, |x: i64| x),
            (F32, F32) => map(x, out, n, |x: f32| x),
            (F64, F64) => map(x, out, n, |x: f64| x),
            (U8, I64) => map(x, out, n, |x: u8| i64::from(x)),
            (U8, F32) => map(x, out, n, |x: u8| f32::from(x)),
            (U8, F64) => map(x, out, n, |x: u8| f64::from(x)),
            (I64, U8) => map(x, out, n, |x: i64| u8::from(x != 0)),
            (I64, F32) => map(x, out, n, |x: i64| x as f32),
            (I64, F64) => map(x, out, n, |x: i64| x as f64),
            (F32, U8) => map(x, out, n, |x: f32| u8::from(x != 0.0)),
            (F32, I64) => map(x, out, n, |x: f32| x as i64),
            (F32, F64) => map(x, out, n, |x: f32| f64::from(x)),
            (F64, U8) => map(x, out, n, |x: f64| u8::from(x != 0.0)),
            (F64, I64) => map(x, out, n, |x: f64| x as i64),
            (F64, F32) => map(x, out, n, |x: f64| x as f32),
        }
    }
}

/// Two operations at once.
///
/// # Safety
/// As [`map`]; the kind is one of real numbers.
#[inline(always)]
pub(super) unsafe fn pair(f: Pair, kind: Kind, places: [*const u8; 3], out: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::F32 => pair_float::<f32>(f, places, out, n),
            _ => pair_float::<f64>(f, places, out, n),
        }
    }
}

/// # Safety
/// As [`map`].
#[inline(always)]
unsafe fn pair_float<T: Float>(f: Pair, places: [*const u8; 3], out: *mut u8, n: usize) {
    // SAFETY: the caller's promise, for every call below.
    unsafe {
        match f {
            Pair::MulAdd => map3(places, out, n, |a: T, b: T, c: T| a * b + c),
            Pair::MulSub => map3(places, out, n, |a: T, b: T, c: T| a * b - c),
            Pair::SubMul => map3(places, out, n, |a: T, b: T, c: T| c - a * b),
            Pair::AddMul => map3(places, out, n, |a: T, b: T, c: T| (a + b) * c),
            Pair::SubTimes => map3(places, out, n, |a: T, b: T, c: T| (a - b) * c),
            Pair::MulMul => map3(places, out, n, |a: T, b: T, c: T| a * b * c),
            Pair::AddAdd => map3(places, out, n, |a: T, b: T, c: T| a + b + c),
        }
    }
}

/// A function called once per element, in double precision.
///
/// # Safety
/// As [`map`]; the kind is one of real numbers.
#[inline(always)]
pub(super) unsafe fn call1(f: Call1, number: u64, kind: Kind, x: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::F32 => map(x, out, n, |x: f32| f(number, f64::from(x)) as f32),
            _ => map(x, out, n, |x: f64| f(number, x)),
        }
    }
}

/// A function of two numbers called once per element, in double precision.
///
/// # Safety
/// As [`map`]; the kind is one of real numbers.
#[inline(always)]
pub(super) unsafe fn call2(f: Call2, number: u64, kind: Kind, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::F32 => map2(x, y, out, n, |x: f32, y: f32| f(number, f64::from(x), f64::from(y)) as f32),
            _ => map2(x, y, out, n, |x: f64, y: f64| f(number, x, y)),
        }
    }
}

/// Each row's element repeated along its columns.
///
/// # Safety
/// `x` is valid for `rows` elements, `out` for `rows * cols`, and they do not overlap.
#[inline(always)]
pub(super) unsafe fn spread(kind: Kind, x: *const u8, out: *mut u8, rows: usize, cols: usize) {
    // SAFETY: the caller's promise.
    for_kind!(kind, T => unsafe {
        let x = std::slice::from_raw_parts(x.cast::<T>(), rows);
        let out = std::slice::from_raw_parts_mut(out.cast::<T>(), rows * cols);
        for (row, &x) in out.chunks_exact_mut(cols).zip(x) {
            row.fill(x);
        }
    });
}
