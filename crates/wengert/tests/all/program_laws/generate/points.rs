//! Random uses of the operations that fail where something does not hold: a condition, a linear system, a point that is known by
//! an equation. What they are asked here holds at every point.

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{Broadcast, Ensure, Implicit, Krylov, LinearMethod, Literal, Op, Reverse, Scan, Solve};
use wengert::{Builder, DType, Program, Type, Value};

use super::{Generator, Item};

impl Generator {
    pub(super) fn conditional(&mut self, family: &str) -> Option<Vec<Item>> {
        if family == "ensure" {
            let x = self.pick(|_| true)?;
            let count = self.pick_of(DType::I64)?;
            let holds = self.one(Compare::Eq, &[&count, &count])?;
            return self.emit(Ensure::new("it", "is {}, {}"), &[&x, &holds, &holds, &count]);
        }
        let right = self.pick_float()?;
        let ty = right.array.ty().clone();
        let other = self.pick(|_| true)?;
        let factor = self.coerced(&other, &ty)?;
        if family == "system" {
            let system = Solve::new(system(&ty), self.method(&ty), "system");
            let system = Solve { checked: self.random.below(2) == 0, ..system };
            return self.emit(system, &[&factor, &right]);
        }
        let start = self.full(0.0, &ty)?;
        let point = Implicit::new(solver(&ty), equation(&ty), self.method(&ty), "point");
        self.emit(point, &[&start, &factor, &right])
    }

    fn method(&mut self, ty: &Type) -> LinearMethod {
        let krylov = [Krylov::Gmres { restart: 4 }, Krylov::BiCgStab][self.random.below(2)];
        let tolerance = if ty.dtype == DType::F32 { 1e-6 } else { 1e-14 };
        LinearMethod { krylov, tolerance: Literal::F64(tolerance), limit: 100 }
    }
}

fn op(b: &mut Builder, op: impl Into<Op>, args: &[Value]) -> Value {
    b.emit(op, args).expect("the operands fit")[0]
}

/// The elements in the opposite order, in every axis.
fn turned(b: &mut Builder, x: Value, ty: &Type) -> Value {
    let axes: Vec<usize> = (0..ty.rank()).collect();
    op(b, Reverse::new(&axes), &[x])
}

fn times(b: &mut Builder, number: f64, x: Value, ty: &Type) -> Value {
    let number = op(b, Literal::of(number, ty.dtype), &[]);
    let number = op(b, Broadcast::new(&ty.shape, &[]), &[number]);
    op(b, Binary::Mul, &[number, x])
}

/// `6 x + sin(w) reverse(x)`
fn system(ty: &Type) -> Program {
    let mut b = Builder::new();
    let (w, x) = (b.input("", ty.clone()), b.input("", ty.clone()));
    let sine = op(&mut b, Unary::Sin, &[w]);
    let turned = turned(&mut b, x, ty);
    let turned = op(&mut b, Binary::Mul, &[sine, turned]);
    let scaled = times(&mut b, 6.0, x, ty);
    let sum = op(&mut b, Binary::Add, &[scaled, turned]);
    b.finish(&[sum])
}

/// `sin(w reverse(y)) / 16`, for `w` of 4 at most.
fn pushed(b: &mut Builder, w: Value, y: Value, ty: &Type) -> Value {
    let turned = turned(b, y, ty);
    let product = op(b, Binary::Mul, &[w, turned]);
    let sine = op(b, Unary::Sin, &[product]);
    times(b, 1.0 / 16.0, sine, ty)
}

/// `y + sin(w reverse(y)) / 16 - c`
fn equation(ty: &Type) -> Program {
    let mut b = Builder::new();
    let [y, w, c] = [(); 3].map(|()| b.input("", ty.clone()));
    let pushed = pushed(&mut b, w, y, ty);
    let sum = op(&mut b, Binary::Add, &[y, pushed]);
    let residual = op(&mut b, Binary::Sub, &[sum, c]);
    b.finish(&[residual])
}

/// `y = c - sin(w reverse(y)) / 16`, 30 times: a step makes the distance to the point a quarter, or less.
fn solver(ty: &Type) -> Program {
    let mut b = Builder::new();
    let [w, c, y] = [(); 3].map(|()| b.input("", ty.clone()));
    let pushed = pushed(&mut b, w, y, ty);
    let next = op(&mut b, Binary::Sub, &[c, pushed]);
    let steps = Scan::new(b.finish(&[next]), 30, 1, 0);
    let mut b = Builder::new();
    let [start, w, c] = [(); 3].map(|()| b.input("", ty.clone()));
    let y = op(&mut b, steps, &[w, c, start]);
    b.finish(&[y])
}
