//! The rules of the elementwise operations, through every carrier and driver.
//!
//! One test binary, because each carrier's code for every operation is large and is compiled once
//! per binary: [`unary`], [`binary`] and their kin are the only places where it is asked for.

mod battery;
mod conventions;
mod extremes;
mod laws;
mod select;

use wengert::check::Generic;
use wengert::ops::{Binary, Unary};
use wengert::prelude::*;

/// `op(x)`
#[inline(never)]
fn unary<R: Real>(op: Unary, x: R) -> R {
    x.unary(op)
}

/// `op(x, y)`
#[inline(never)]
fn binary<R: Real>(op: Binary, x: R, y: R) -> R {
    x.binary(y, op)
}

/// `op(x, constant)`
#[inline(never)]
fn binary_constant<R: Real>(op: Binary, x: R, constant: f64) -> R {
    x.binary_constant(constant, op)
}

/// `op(constant, y)`
#[inline(never)]
fn constant_binary<R: Real>(op: Binary, constant: f64, y: R) -> R {
    R::constant_binary(constant, y, op)
}

/// An operation of one argument.
#[derive(Clone, Copy)]
struct One(Unary);

impl Generic<1> for One {
    fn call<R: Real>(&self, [x]: [R; 1]) -> R {
        unary(self.0, x)
    }
}

/// An operation of two arguments.
#[derive(Clone, Copy)]
struct Two(Binary);

impl Generic<2> for Two {
    fn call<R: Real>(&self, [x, y]: [R; 2]) -> R {
        binary(self.0, x, y)
    }
}
