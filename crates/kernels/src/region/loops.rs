//! The vector loops behind the instructions.

use super::code::{Binary, Call1, Call2, Compare, Kind, Pair, Twin, Unary};
use super::pattern::for_kind;
use crate::dispatch::{Work, dispatch, is_fused};
use crate::float::Float;

/// Where a loop reads and writes, and how many elements there are.
#[derive(Clone, Copy)]
struct Range {
    from: [*const u8; 3],
    to: *mut u8,
    n: usize,
}

impl Range {
    /// Operand `k` as a slice.
    ///
    /// # Safety
    /// The operand is valid for reads of `n` elements of this type as long as the slice lives.
    #[inline(always)]
    unsafe fn read<'a, T>(&self, k: usize) -> &'a [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.from[k].cast(), self.n) }
    }

    /// The result as a slice.
    ///
    /// # Safety
    /// It is valid for writes of `n` elements of this type, and overlaps no operand.
    #[inline(always)]
    unsafe fn write<'a, T>(&self) -> &'a mut [T] {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.to.cast(), self.n) }
    }
}

/// Runs a loop over elements, in a copy for each instruction set. It is a macro because a large function passed as a closure
/// is not inlined, and then not vectorised; each loop has a copy of its own because one function with all loops in it takes
/// the compiler minutes.
///
/// The operands and the result must be valid for the range's elements, and the result must overlap nothing.
macro_rules! each {
    ($range:expr, |$x:ident: $from:ty| -> $to:ty { $body:expr } $(, $t:ident)?) => {{
        struct Loop$(<$t>)?(Range $(, std::marker::PhantomData<$t>)?);
        impl$(<$t: Float>)? Work for Loop$(<$t>)? {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                // SAFETY: the caller of the function around promises it.
                let (x, out) = unsafe { (self.0.read::<$from>(0), self.0.write::<$to>()) };
                for (out, &$x) in out.iter_mut().zip(x) {
                    *out = $body;
                }
            }
        }
        dispatch(Loop$(::<$t>)?($range $(, std::marker::PhantomData::<$t>)?))
    }};
    ($range:expr, |$x:ident, $y:ident: $from:ty| -> $to:ty { $body:expr } $(, $t:ident)?) => {{
        struct Loop$(<$t>)?(Range $(, std::marker::PhantomData<$t>)?);
        impl$(<$t: Float>)? Work for Loop$(<$t>)? {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                // SAFETY: the caller of the function around promises it.
                let (x, y, out) = unsafe { (self.0.read::<$from>(0), self.0.read::<$from>(1), self.0.write::<$to>()) };
                for ((out, &$x), &$y) in out.iter_mut().zip(x).zip(y) {
                    *out = $body;
                }
            }
        }
        dispatch(Loop$(::<$t>)?($range $(, std::marker::PhantomData::<$t>)?))
    }};
    ($range:expr, |$x:ident, $y:ident, $z:ident: $from:ty| -> $to:ty { $body:expr } $(, $t:ident)?) => {{
        struct Loop$(<$t>)?(Range $(, std::marker::PhantomData<$t>)?);
        impl$(<$t: Float>)? Work for Loop$(<$t>)? {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                // SAFETY: the caller of the function around promises it.
                let (x, y, z, out) = unsafe {
                    (self.0.read::<$from>(0), self.0.read::<$from>(1), self.0.read::<$from>(2), self.0.write::<$to>())
                };
                for (((out, &$x), &$y), &$z) in out.iter_mut().zip(x).zip(y).zip(z) {
                    *out = $body;
                }
            }
        }
        dispatch(Loop$(::<$t>)?($range $(, std::marker::PhantomData::<$t>)?))
    }};
}

/// A function of one argument.
///
/// # Safety
/// `x` and `out` are valid for `n` elements of the kind, for reading and for writing, `out` overlaps nothing, and the kind
/// has the function.
pub(crate) unsafe fn unary(f: Unary, kind: Kind, x: *const u8, out: *mut u8, n: usize) {
    let range = Range { from: [x; 3], to: out, n };
    match kind {
        Kind::F32 => unary_float::<f32>(f, range),
        Kind::F64 => unary_float::<f64>(f, range),
        Kind::I64 => match f {
            Unary::Neg => each!(range, |x: i64| -> i64 { x.wrapping_neg() }),
            Unary::Abs => each!(range, |x: i64| -> i64 { x.wrapping_abs() }),
            Unary::Sign => each!(range, |x: i64| -> i64 { x.signum() }),
            Unary::Square => each!(range, |x: i64| -> i64 { x.wrapping_mul(x) }),
            _ => each!(range, |x: i64| -> i64 { x }),
        },
        Kind::U8 => match f {
            Unary::Not => each!(range, |x: u8| -> u8 { x ^ 1 }),
            _ => each!(range, |x: u8| -> u8 { x }),
        },
    }
}

/// Functions of angles, whose loops look at the whole slice first.
macro_rules! angle {
    ($range:expr, $t:ident, $function:ident) => {{
        struct Loop<$t>(Range, std::marker::PhantomData<$t>);
        impl<$t: Float> Work for Loop<$t> {
            type Output = ();
            #[inline(always)]
            fn run(self) {
                // SAFETY: the caller of the function around promises it.
                let (x, out) = unsafe { (self.0.read::<$t>(0), self.0.write::<$t>()) };
                $t::$function(x, out);
            }
        }
        dispatch(Loop::<$t>($range, std::marker::PhantomData))
    }};
}

fn unary_float<T: Float>(f: Unary, range: Range) {
    match f {
        Unary::Copy | Unary::Not => each!(range, |x: T| -> T { x }, T),
        Unary::Neg => each!(range, |x: T| -> T { -x }, T),
        Unary::Abs => each!(range, |x: T| -> T { x.abs() }, T),
        Unary::Sign => each!(range, |x: T| -> T { x.sign() }, T),
        Unary::Square => each!(range, |x: T| -> T { x * x }, T),
        Unary::Sqrt => each!(range, |x: T| -> T { x.sqrt() }, T),
        Unary::Rsqrt => each!(range, |x: T| -> T { x.rsqrt() }, T),
        Unary::Recip => each!(range, |x: T| -> T { T::from_f64(1.0) / x }, T),
        Unary::Relu => each!(range, |x: T| -> T { x.relu() }, T),
        Unary::Floor => each!(range, |x: T| -> T { x.floor() }, T),
        Unary::Ceil => each!(range, |x: T| -> T { x.ceil() }, T),
        Unary::Round => each!(range, |x: T| -> T { x.round() }, T),
        Unary::Trunc => each!(range, |x: T| -> T { x.trunc() }, T),
        Unary::Cbrt => each!(range, |x: T| -> T { x.cbrt() }, T),
        Unary::Exp => each!(range, |x: T| -> T { x.exp() }, T),
        Unary::Exp2 => each!(range, |x: T| -> T { x.exp2() }, T),
        Unary::Expm1 => each!(range, |x: T| -> T { x.expm1() }, T),
        Unary::Ln => each!(range, |x: T| -> T { x.ln() }, T),
        Unary::Log2 => each!(range, |x: T| -> T { x.log2() }, T),
        Unary::Log10 => each!(range, |x: T| -> T { x.log10() }, T),
        Unary::Log1p => each!(range, |x: T| -> T { x.log1p() }, T),
        Unary::Sin => angle!(range, T, sin_slice),
        Unary::Cos => angle!(range, T, cos_slice),
        Unary::Tan => angle!(range, T, tan_slice),
        Unary::Asin => each!(range, |x: T| -> T { x.asin() }, T),
        Unary::Acos => each!(range, |x: T| -> T { x.acos() }, T),
        Unary::Atan => each!(range, |x: T| -> T { x.atan() }, T),
        Unary::Sinh => each!(range, |x: T| -> T { x.sinh() }, T),
        Unary::Cosh => each!(range, |x: T| -> T { x.cosh() }, T),
        Unary::Tanh => each!(range, |x: T| -> T { x.tanh() }, T),
        Unary::Sech2 => each!(range, |x: T| -> T { x.sech2() }, T),
        Unary::Asinh => each!(range, |x: T| -> T { x.asinh() }, T),
        Unary::Acosh => each!(range, |x: T| -> T { x.acosh() }, T),
        Unary::Atanh => each!(range, |x: T| -> T { x.atanh() }, T),
        Unary::Sigmoid => each!(range, |x: T| -> T { x.sigmoid() }, T),
        Unary::Softplus => each!(range, |x: T| -> T { x.softplus() }, T),
        Unary::GeluErf => each!(range, |x: T| -> T { x.gelu_erf() }, T),
        Unary::GeluTanh => each!(range, |x: T| -> T { x.gelu_tanh() }, T),
        Unary::GeluTanhSlope => each!(range, |x: T| -> T { x.gelu_tanh_slope() }, T),
        Unary::Silu => each!(range, |x: T| -> T { x.silu() }, T),
        Unary::Erf => each!(range, |x: T| -> T { x.erf() }, T),
        Unary::Erfc => each!(range, |x: T| -> T { x.erfc() }, T),
        Unary::Erfinv => each!(range, |x: T| -> T { x.erfinv() }, T),
    }
}

/// `x^n` for a whole number.
///
/// # Safety
/// As [`unary`]; the kind is one of real numbers.
pub(super) unsafe fn power(n: i32, kind: Kind, x: *const u8, out: *mut u8, count: usize) {
    struct Loop<T>(Range, i32, std::marker::PhantomData<T>);
    impl<T: Float> Work for Loop<T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            // SAFETY: the caller of `power` promises it.
            let (x, out) = unsafe { (self.0.read::<T>(0), self.0.write::<T>()) };
            T::powi_slice(x, self.1, out);
        }
    }
    let range = Range { from: [x; 3], to: out, n: count };
    match kind {
        Kind::F32 => dispatch(Loop::<f32>(range, n, std::marker::PhantomData)),
        _ => dispatch(Loop::<f64>(range, n, std::marker::PhantomData)),
    }
}

/// A function of two arguments.
///
/// # Safety
/// As [`unary`].
pub(crate) unsafe fn binary(f: Binary, kind: Kind, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    let range = Range { from: [x, y, y], to: out, n };
    match kind {
        Kind::F32 => binary_float::<f32>(f, range),
        Kind::F64 => binary_float::<f64>(f, range),
        Kind::I64 => match f {
            Binary::Sub => each!(range, |x, y: i64| -> i64 { x.wrapping_sub(y) }),
            Binary::Mul => each!(range, |x, y: i64| -> i64 { x.wrapping_mul(y) }),
            Binary::Max => each!(range, |x, y: i64| -> i64 { x.max(y) }),
            Binary::Min => each!(range, |x, y: i64| -> i64 { x.min(y) }),
            _ => each!(range, |x, y: i64| -> i64 { x.wrapping_add(y) }),
        },
        Kind::U8 => match f {
            Binary::And => each!(range, |x, y: u8| -> u8 { x & y }),
            Binary::Or => each!(range, |x, y: u8| -> u8 { x | y }),
            _ => each!(range, |x, y: u8| -> u8 { x ^ y }),
        },
    }
}

fn binary_float<T: Float>(f: Binary, range: Range) {
    match f {
        Binary::Sub => each!(range, |x, y: T| -> T { x - y }, T),
        Binary::Mul => each!(range, |x, y: T| -> T { x * y }, T),
        Binary::Div => each!(range, |x, y: T| -> T { x / y }, T),
        Binary::Max => each!(range, |x, y: T| -> T { Float::max(x, y) }, T),
        Binary::Min => each!(range, |x, y: T| -> T { Float::min(x, y) }, T),
        Binary::Pow => each!(range, |x, y: T| -> T { x.pow(y) }, T),
        Binary::Atan2 => each!(range, |x, y: T| -> T { x.atan2(y) }, T),
        Binary::Hypot => each!(range, |x, y: T| -> T { x.hypot(y) }, T),
        Binary::Copysign => each!(range, |x, y: T| -> T { x.copysign(y) }, T),
        Binary::Logaddexp => each!(range, |x, y: T| -> T { x.logaddexp(y) }, T),
        Binary::Xlogy => each!(range, |x, y: T| -> T { x.xlogy(y) }, T),
        Binary::Add | Binary::And | Binary::Or | Binary::Xor => each!(range, |x, y: T| -> T { x + y }, T),
    }
}

/// A comparison.
///
/// # Safety
/// As [`unary`].
pub(super) unsafe fn compare(f: Compare, kind: Kind, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    let range = Range { from: [x, y, y], to: out, n };
    for_kind!(kind, T => {
        match f {
            Compare::Eq => each!(range, |x, y: T| -> u8 { u8::from(x == y) }),
            Compare::Ne => each!(range, |x, y: T| -> u8 { u8::from(x != y) }),
            Compare::Lt => each!(range, |x, y: T| -> u8 { u8::from(x < y) }),
            Compare::Le => each!(range, |x, y: T| -> u8 { u8::from(x <= y) }),
            Compare::Gt => each!(range, |x, y: T| -> u8 { u8::from(x > y) }),
            Compare::Ge => each!(range, |x, y: T| -> u8 { u8::from(x >= y) }),
            Compare::Unordered => each!(range, |x, y: T| -> u8 { u8::from(differs(x, x) | differs(y, y)) }),
        }
    });
}

/// Whether two elements differ; a NaN differs from itself.
#[inline(always)]
fn differs<T: PartialEq>(x: T, y: T) -> bool {
    x != y
}

/// `out = mask ? x : y`
///
/// # Safety
/// As [`unary`].
pub(super) unsafe fn select(kind: Kind, mask: *const u8, x: *const u8, y: *const u8, out: *mut u8, n: usize) {
    /// With masks: the compiler would turn a choice between two loads into a gather.
    macro_rules! choose {
        ($range:expr, $bits:ident) => {{
            struct Loop(Range);
            impl Work for Loop {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    let range = self.0;
                    // SAFETY: the caller of `select` promises it.
                    let (mask, x, y, out) = unsafe {
                        (range.read::<u8>(0), range.read::<$bits>(1), range.read::<$bits>(2), range.write::<$bits>())
                    };
                    for (((out, &mask), &x), &y) in out.iter_mut().zip(mask).zip(x).zip(y) {
                        let keep = $bits::from(mask != 0).wrapping_neg();
                        *out = (x & keep) | (y & !keep);
                    }
                }
            }
            dispatch(Loop($range))
        }};
    }
    let range = Range { from: [mask, x, y], to: out, n };
    // Numbers of the same width are chosen in the same way.
    match kind.size() {
        1 => choose!(range, u8),
        4 => choose!(range, u32),
        _ => choose!(range, u64),
    }
}

/// Another kind: numbers as Rust's `as` (towards zero, saturating, NaN to 0), truth values as 0 and 1, numbers other than 0
/// as true.
///
/// # Safety
/// As [`unary`].
pub(super) unsafe fn convert(from: Kind, to: Kind, x: *const u8, out: *mut u8, n: usize) {
    use Kind::{F32, F64, I64, U8};
    let range = Range { from: [x; 3], to: out, n };
    match (from, to) {
        (U8, U8) => each!(range, |x: u8| -> u8 { x }),
        (I64, I64) => each!(range, |x: u64| -> u64 { x }),
        (F32, F32) => each!(range, |x: u32| -> u32 { x }),
        (F64, F64) => each!(range, |x: u64| -> u64 { x }),
        (U8, I64) => each!(range, |x: u8| -> i64 { i64::from(x) }),
        (U8, F32) => each!(range, |x: u8| -> f32 { f32::from(x) }),
        (U8, F64) => each!(range, |x: u8| -> f64 { f64::from(x) }),
        (I64, U8) => each!(range, |x: i64| -> u8 { u8::from(x != 0) }),
        (I64, F32) => each!(range, |x: i64| -> f32 { x as f32 }),
        (I64, F64) => each!(range, |x: i64| -> f64 { x as f64 }),
        (F32, U8) => each!(range, |x: f32| -> u8 { u8::from(x != 0.0) }),
        (F32, I64) => each!(range, |x: f32| -> i64 { x as i64 }),
        (F32, F64) => each!(range, |x: f32| -> f64 { f64::from(x) }),
        (F64, U8) => each!(range, |x: f64| -> u8 { u8::from(x != 0.0) }),
        (F64, I64) => each!(range, |x: f64| -> i64 { x as i64 }),
        (F64, F32) => each!(range, |x: f64| -> f32 { x as f32 }),
    }
}

/// Two functions of one argument at once.
///
/// # Safety
/// As [`unary`], for both results, which do not overlap; the kind is one of real numbers.
pub(crate) unsafe fn twin(f: Twin, kind: Kind, x: *const u8, outs: [*mut u8; 2], n: usize) {
    struct Loop<T>(Twin, [Range; 2], std::marker::PhantomData<T>);
    impl<T: Float> Work for Loop<T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Loop(f, [first, second], _) = self;
            // SAFETY: the caller of `twin` promises it.
            let (x, first, second) = unsafe { (first.read::<T>(0), first.write::<T>(), second.write::<T>()) };
            match f {
                Twin::TanhSech2 => {
                    for ((first, second), &x) in first.iter_mut().zip(second).zip(x) {
                        (*first, *second) = x.tanh_sech2();
                    }
                }
                Twin::SinCos => T::sin_cos_slice(x, first, second),
                Twin::GeluTanh => {
                    for ((first, second), &x) in first.iter_mut().zip(second).zip(x) {
                        (*first, *second) = x.gelu_tanh_with_slope();
                    }
                }
            }
        }
    }
    let ranges = outs.map(|to| Range { from: [x; 3], to, n });
    match kind {
        Kind::F32 => dispatch(Loop::<f32>(f, ranges, std::marker::PhantomData)),
        _ => dispatch(Loop::<f64>(f, ranges, std::marker::PhantomData)),
    }
}

/// Two operations at once.
///
/// # Safety
/// As [`unary`]; the kind is one of real numbers.
pub(super) unsafe fn pair(f: Pair, kind: Kind, from: [*const u8; 3], out: *mut u8, n: usize) {
    let range = Range { from, to: out, n };
    match kind {
        Kind::F32 => pair_float::<f32>(f, range),
        _ => pair_float::<f64>(f, range),
    }
}

fn pair_float<T: Float>(f: Pair, range: Range) {
    match f {
        Pair::MulAdd => each!(range, |a, b, c: T| -> T { a * b + c }, T),
        Pair::MulSub => each!(range, |a, b, c: T| -> T { a * b - c }, T),
        Pair::SubMul => each!(range, |a, b, c: T| -> T { c - a * b }, T),
        Pair::AddMul => each!(range, |a, b, c: T| -> T { (a + b) * c }, T),
        Pair::SubTimes => each!(range, |a, b, c: T| -> T { (a - b) * c }, T),
        Pair::MulMul => each!(range, |a, b, c: T| -> T { a * b * c }, T),
        Pair::AddAdd => each!(range, |a, b, c: T| -> T { a + b + c }, T),
        Pair::Fused if is_fused() => each!(range, |a, b, c: T| -> T { a.mul_add(b, c) }, T),
        Pair::Fused => each!(range, |a, b, c: T| -> T { a * b + c }, T),
    }
}

/// A function called once per element, in double precision.
///
/// # Safety
/// As [`unary`]; the kind is one of real numbers.
pub(super) unsafe fn call1(Call1(f): Call1, number: u64, kind: Kind, x: *const u8, out: *mut u8, n: usize) {
    let range = Range { from: [x; 3], to: out, n };
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::F32 => {
                let places = range.write::<f32>().iter_mut().zip(range.read::<f32>(0));
                places.for_each(|(out, &x)| *out = f(number, f64::from(x)) as f32);
            }
            _ => range.write().iter_mut().zip(range.read(0)).for_each(|(out, &x)| *out = f(number, x)),
        }
    }
}

/// A function of two numbers called once per element, in double precision.
///
/// # Safety
/// As [`unary`]; the kind is one of real numbers.
pub(super) unsafe fn call2(
    Call2(f): Call2,
    number: u64,
    kind: Kind,
    x: *const u8,
    y: *const u8,
    out: *mut u8,
    n: usize,
) {
    let range = Range { from: [x, y, y], to: out, n };
    // SAFETY: the caller's promise.
    unsafe {
        match kind {
            Kind::F32 => {
                let places = range.write::<f32>().iter_mut().zip(range.read::<f32>(0)).zip(range.read::<f32>(1));
                places.for_each(|((out, &x), &y)| *out = f(number, f64::from(x), f64::from(y)) as f32);
            }
            _ => {
                let places = range.write::<f64>().iter_mut().zip(range.read(0)).zip(range.read(1));
                places.for_each(|((out, &x), &y)| *out = f(number, x, y));
            }
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
        match cols {
            // Loops of constant length: many short rows would spend their time in calls.
            2 => spread_rows::<T, 2>(x, out),
            3 => spread_rows::<T, 3>(x, out),
            4 => spread_rows::<T, 4>(x, out),
            _ => {
                for (row, &x) in out.chunks_exact_mut(cols).zip(x) {
                    row.fill(x);
                }
            }
        }
    });
}

/// Each of `x`, `N` times.
#[inline(always)]
fn spread_rows<T: Copy, const N: usize>(x: &[T], out: &mut [T]) {
    for (row, &x) in out.as_chunks_mut::<N>().0.iter_mut().zip(x) {
        *row = [x; N];
    }
}
