//! The families `unary` and `binary`: every elementwise function of the library, by its name.

use wengert::Real;
use wengert::ops::{Binary, Unary};

use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, broadcast_shape, number, one};

/// The operation with this name; the ones that carry a number are not named by it alone.
fn unary_op(name: &str) -> Option<Unary> {
    let plain = |op: &&Unary| !matches!(op, Unary::Powi(_) | Unary::Polygamma(_) | Unary::Sinc(_) | Unary::Detach);
    match name {
        "log" => Some(Unary::Ln),
        "digamma" => Some(Unary::Digamma),
        "trigamma" => Some(Unary::Polygamma(1)),
        "sinc" => Some(Unary::Sinc(0)),
        name => Unary::ALL.iter().filter(plain).copied().find(|op| op.name() == name),
    }
}

/// The elementwise function of one argument with this name. Not inlined, as the next: over dual
/// numbers of dual numbers they are large.
#[inline(never)]
pub(crate) fn unary<R: Real>(name: &str, x: R) -> Option<R> {
    match name {
        "relu6" => Some(x.relu6()),
        "elu" => Some(x.elu()),
        "log_sigmoid" => Some(x.log_sigmoid()),
        name => unary_op(name).map(|op| x.unary(op)),
    }
}

/// The elementwise function of two arguments with this name.
#[inline(never)]
pub(crate) fn binary<R: Real>(name: &str, x: R, y: R) -> Option<R> {
    Binary::ALL.iter().find(|op| op.name() == name).map(|&op| x.binary(y, op))
}

/// Every element of the first input through a function of one argument.
pub(super) fn unary_call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    if unary(function, R::constant(0.5)).is_none() {
        return unsupported(function);
    }
    one(args.array(0)?.map(|x| unary(function, x).expect("the name was found before")))
}

/// A function of several broadcast operands.
pub(super) fn binary_call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "integer_pow" => {
            let n = args.attr("n")?;
            if n.fract() != 0.0 || n.abs() > f64::from(i32::MAX) {
                return Err(Trouble::Misfit(format!("`attrs.n` is {n}, not an exponent of `powi`")));
            }
            one(args.array(0)?.map(|x| x.powi(n as i32)))
        }
        "pow_scalar_exponent" => {
            let x = args.array(0)?;
            let shape = [&[3], &x.shape[..]].concat();
            let rows = [0.5, 1.7, -0.3].map(|exponent| x.map(|x| x.powf(exponent)).data);
            one(Array::new(&shape, rows.concat()))
        }
        "clamp" => {
            let (low, high) = (args.attr("lo")?, args.attr("hi")?);
            one(args.array(0)?.map(|x| x.clamp_to(R::constant(low), R::constant(high))))
        }
        "clamp3" => broadcast(args, |low, x, high| x.clamp_to(low, high)),
        "lerp" => broadcast(args, |a, b, t| a.lerp(b, t)),
        "fma" => broadcast(args, |a, b, c| a.mul_add(b, c)),
        name => pairs(name, args),
    }
}

/// `f` of three broadcast operands.
fn broadcast<R: Real>(args: &Args<R>, f: impl Fn(R, R, R) -> R) -> Outputs<R> {
    let (a, b, c) = (args.array(0)?, args.array(1)?, args.array(2)?);
    let shape = broadcast_shape(&[&a.shape, &b.shape, &c.shape])?;
    one(Array::from_fn(&shape, |index| f(a.broadcast_at(index), b.broadcast_at(index), c.broadcast_at(index))))
}

/// A function of two broadcast operands; a case with one input means it for both. Where the case
/// expects a scalar from arrays, this is `sum_i cos(i+1) op(x_i, y_i)`.
fn pairs<R: Real>(name: &str, args: &Args<R>) -> Outputs<R> {
    if binary(name, R::constant(0.5), R::constant(0.5)).is_none() {
        return unsupported(name);
    }
    let op = |x, y| binary(name, x, y).expect("the name was found before");
    let x = args.array(0)?;
    let y = if args.inputs.len() == 1 { x } else { args.array(1)? };
    let shape = broadcast_shape(&[&x.shape, &y.shape])?;
    let z = Array::from_fn(&shape, |index| op(x.broadcast_at(index), y.broadcast_at(index)));
    let scalar_expected = args.expected.first().is_some_and(|expected| expected.shape.is_empty());
    if scalar_expected && !shape.is_empty() {
        return number(z.data.iter().enumerate().map(|(i, &z)| z * ((i + 1) as f64).cos()).sum());
    }
    one(z)
}
