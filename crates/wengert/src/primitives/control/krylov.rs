//! Krylov methods as Programs: a linear system, known by its map, solved by loops.
//!
//! All unknowns are one vector, after the axes of the lanes, each of which is a system of its own. A cycle of a method begins
//! with the residual of the point that the cycle before has reached; that residual decides, not the one a method carries along.

mod space;

use space::{Space, and, is_finite};

use super::loops::Bounds;
use super::repeat::While;
use super::solve::{Solve, counted};
use crate::array::DType;
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::primitives::{Ensure, Literal, Reduce, Reducer, Slice};
use crate::program::{Builder, Program, Value, inline};

/// An iterative method for linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Krylov {
    /// Conjugate gradients, for symmetric positive definite maps (M. R. Hestenes, E. Stiefel, *Methods of conjugate gradients
    /// for solving linear systems*, 1952).
    ConjugateGradients,
    /// The smallest residual over a Krylov space of this dimension, again and again (Y. Saad, M. H. Schultz, *GMRES*, 1986). The
    /// basis is orthogonalised twice; the point is updated in every step (Y. Saad, K. Wu, *DQGMRES*, 1996, without truncation).
    Gmres {
        /// The dimension of the space, at most that of the system.
        restart: usize,
    },
    /// Two short recurrences (H. A. van der Vorst, *Bi-CGSTAB*, 1992).
    BiCgStab,
}

/// How a linear system is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinearMethod {
    /// The method.
    pub krylov: Krylov,
    /// What the norm of the residual may be at most, relative to that of the right-hand side.
    pub tolerance: Literal,
    /// How many steps there are at most.
    pub limit: usize,
}

impl Krylov {
    /// What to think of where it does not converge.
    fn hint(self) -> &'static str {
        match self {
            Krylov::ConjugateGradients => "conjugate gradients need a map that is symmetric and positive definite",
            Krylov::Gmres { .. } => {
                "the map may be singular; where convergence is slow, a larger `restart` or `limit` helps"
            }
            Krylov::BiCgStab => "the method may have broken down where GMRES does not",
        }
    }
}

impl LinearMethod {
    fn tolerance(&self) -> f64 {
        self.tolerance.to_f64()
    }
}

/// A linear system: its map takes some operands and then the unknowns.
pub(super) struct System<'a> {
    map: &'a Program,
    method: LinearMethod,
    /// The operation that an error names.
    name: &'a str,
    /// Whether the first operand says which lanes count.
    masked: bool,
    space: Space,
}

/// What does not change while a system is solved.
#[derive(Clone, Copy)]
struct Fixed<'a> {
    /// The operands of the map before the unknowns.
    operands: &'a [Value],
    /// What a residual may be.
    goal: Value,
    /// Which lanes are solved.
    going: Value,
}

/// Where a method is.
#[derive(Clone, Copy)]
struct Point {
    x: Value,
    residual: Value,
    /// Its norm.
    size: Value,
    /// How many steps were taken.
    steps: Value,
}

impl<'a> System<'a> {
    pub(super) fn new(solve: &'a Solve) -> Self {
        let (map, lanes, masked) = (&*solve.map, &solve.lanes[..], solve.masked);
        let types = map.output_types();
        let wide = types.iter().any(|ty| ty.dtype == DType::F64);
        let length = types.iter().map(|ty| ty.shape[lanes.len()..].iter().product::<usize>()).sum();
        let dtype = if wide { DType::F64 } else { DType::F32 };
        let space = Space { lanes: lanes.to_vec(), length, dtype, types };
        System { map, method: solve.method, name: &solve.name, masked, space }
    }

    /// Takes the operands of the map with the right-hand sides in the place of the unknowns; gives these.
    pub(super) fn solver(&self) -> Program {
        let (mut b, space) = (Builder::new(), &self.space);
        let inputs: Vec<Value> = self.map.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
        let (operands, right) = inputs.split_at(inputs.len() - space.types.len());
        if space.length == 0 {
            return b.finish(right);
        }
        let mut packed = space.pack(&mut b, right);
        if self.masked {
            packed = counted(&mut b, operands[0], packed);
        }
        // Numbers whose squares neither overflow nor vanish.
        let sizes = b.op(Unary::Abs, &[packed]);
        let largest = b.op(Reduce::new(Reducer::Max, &[space.lanes.len()]), &[sizes]);
        let (zero, one) = (b.zeros_like(largest), b.full(1.0, &space.number()));
        let is_scale = b.op(Compare::Gt, &[largest, zero]);
        let scale = b.select(is_scale, largest, one);
        let spread = space.spread(&mut b, scale);
        let right = b.div(packed, spread);
        let size = space.norm(&mut b, right);
        let finite = is_finite(&mut b, size);
        let defined = Ensure::new(self.name, "the right-hand side holds numbers that are not finite: its norm is {}");
        let right = b.op(defined, &[right, finite, size]);
        let tolerance = b.full(self.method.tolerance(), &space.number());
        let goal = b.mul(tolerance, size);
        let x = b.zeros_like(right);
        let going = b.op(Compare::Gt, &[size, goal]);
        let steps = b.op(Literal::I64(0), &[]);
        let invariants: Vec<Value> = operands.iter().copied().chain([right, goal]).collect();
        let ends = repeat(
            &mut b,
            &invariants,
            &[x, right, size, steps, going],
            |b, _, carry| self.goes_on(b, carry[4], carry[3]),
            |b, fixed, carry| {
                let (operands, [right, goal]) = fixed.split_at(fixed.len() - 2) else { unreachable!() };
                let &[x, residual, size, steps, going] = carry else { unreachable!("five parts") };
                let fixed = Fixed { operands, goal: *goal, going };
                let (x, steps) = self.cycle(b, fixed, Point { x, residual, size, steps });
                let image = self.apply(b, operands, x);
                let rest = b.sub(*right, image);
                let size_there = space.norm(b, rest);
                // A lane that is not solved has its residual, whatever its map gives.
                let residual = space.chosen(b, going, rest, residual);
                let next = b.select(going, size_there, size);
                let (better, far) = (b.op(Compare::Lt, &[next, size]), b.op(Compare::Gt, &[next, *goal]));
                let going = and(b, &[going, better, far]);
                vec![x, residual, next, steps, going]
            },
        );
        let holds = b.op(Compare::Le, &[ends[2], goal]);
        let relative = b.div(ends[2], size);
        let steps = b.broadcast_scalar(ends[3], &space.lanes);
        let spread = space.spread(&mut b, scale);
        let x = b.mul(ends[0], spread);
        let why = format!(
            "there is no solution within the tolerance: the residual is {{}} of the right-hand side after {{}} steps, and \
             may be {:e}; {}",
            self.method.tolerance(),
            self.method.krylov.hint()
        );
        let ensure = Ensure::new(self.name, &why);
        let x: Vec<Value> = space.unpack(&mut b, x);
        let x: Vec<Value> = x.iter().map(|&x| b.op(ensure.clone(), &[x, holds, relative, steps])).collect();
        b.finish(&x)
    }

    /// The map at a vector.
    fn apply(&self, b: &mut Builder, operands: &[Value], x: Value) -> Value {
        let x = self.space.unpack(b, x);
        let image = inline(b, self.map, &[operands, &x].concat());
        self.space.pack(b, &image)
    }

    /// Whether a lane is on, and a step may still be taken.
    fn goes_on(&self, b: &mut Builder, on: Value, steps: Value) -> Value {
        let axes: Vec<usize> = (0..self.space.lanes.len()).collect();
        let any = b.any(on, &axes);
        let limit = b.op(Literal::I64(i64::try_from(self.method.limit).unwrap_or(i64::MAX)), &[]);
        let may = b.op(Compare::Lt, &[steps, limit]);
        and(b, &[any, may])
    }

    /// Steps of the method from a point on, and how many there have been then.
    fn cycle(&self, b: &mut Builder, fixed: Fixed<'_>, from: Point) -> (Value, Value) {
        match self.method.krylov {
            Krylov::ConjugateGradients => self.conjugate_gradients(b, fixed, from),
            Krylov::Gmres { restart } => self.gmres(b, fixed, from, restart.clamp(1, self.space.length)),
            Krylov::BiCgStab => self.bicgstab(b, fixed, from),
        }
    }

    fn conjugate_gradients(&self, b: &mut Builder, fixed: Fixed<'_>, from: Point) -> (Value, Value) {
        let space = &self.space;
        let square = space.dot(b, from.residual, from.residual);
        let sound = b.full(1.0, &space.truth());
        let invariants: Vec<Value> = fixed.operands.iter().copied().chain([fixed.goal, fixed.going]).collect();
        let carry = [from.x, from.steps, from.size, sound, from.residual, from.residual, square];
        let ends = repeat(
            b,
            &invariants,
            &carry,
            |b, fixed, carry| {
                let on = Fixed::of(fixed).on(b, carry[2], carry[3]);
                self.goes_on(b, on, carry[1])
            },
            |b, fixed, carry| {
                let fixed = Fixed::of(fixed);
                let &[x, steps, size, sound, r, p, square] = carry else { unreachable!("seven parts") };
                let on = fixed.on(b, size, sound);
                let q = self.apply(b, fixed.operands, p);
                let curvature = space.dot(b, p, q);
                let zero = b.zeros_like(curvature);
                let positive = b.op(Compare::Gt, &[curvature, zero]);
                let moves = and(b, &[on, positive]);
                let alpha = b.div(square, curvature);
                let x = space.moved(b, moves, x, alpha, p);
                let back = b.neg(alpha);
                let r = space.moved(b, moves, r, back, q);
                let next = space.dot(b, r, r);
                let beta = b.div(next, square);
                let turned = space.plus(b, r, beta, p);
                let p = space.chosen(b, moves, turned, p);
                let sound = sound_after(b, sound, on, positive);
                let size = b.op(Unary::Sqrt, &[next]);
                vec![x, one_more(b, steps), size, sound, r, p, next]
            },
        );
        (ends[0], ends[1])
    }

    fn bicgstab(&self, b: &mut Builder, fixed: Fixed<'_>, from: Point) -> (Value, Value) {
        let space = &self.space;
        let shadow = from.residual;
        let rho = space.dot(b, shadow, shadow);
        let sound = b.full(1.0, &space.truth());
        let operands: Vec<Value> = fixed.operands.iter().copied().chain([shadow]).collect();
        let invariants: Vec<Value> = operands.iter().copied().chain([fixed.goal, fixed.going]).collect();
        let carry = [from.x, from.steps, from.size, sound, from.residual, from.residual, rho];
        let ends = repeat(
            b,
            &invariants,
            &carry,
            |b, fixed, carry| {
                let on = Fixed::of(fixed).on(b, carry[2], carry[3]);
                self.goes_on(b, on, carry[1])
            },
            |b, fixed, carry| {
                let fixed = Fixed::of(fixed);
                let (&shadow, operands) = fixed.operands.split_last().expect("the shadow is the last");
                let &[x, steps, size, sound, r, p, rho] = carry else { unreachable!("seven parts") };
                let on = fixed.on(b, size, sound);
                let v = self.apply(b, operands, p);
                let along = space.dot(b, shadow, v);
                let quotient = b.div(rho, along);
                let usable = is_finite(b, quotient);
                let moves = and(b, &[on, usable]);
                // No lane's map is asked about what is no number: something in it may refuse that.
                let zero = b.zeros_like(quotient);
                let alpha = b.select(moves, quotient, zero);
                let back = b.neg(alpha);
                let half = space.plus(b, r, back, v);
                let t = self.apply(b, operands, half);
                let scale = space.scale(b, t);
                let in_range = space.over(b, t, scale);
                let (of_t, both) = (space.dot(b, in_range, in_range), space.dot(b, in_range, half));
                let some = b.op(Compare::Gt, &[of_t, zero]);
                let quotient = b.div(both, of_t);
                let quotient = b.div(quotient, scale);
                let omega = b.select(some, quotient, zero);
                let there = space.plus(b, x, alpha, p);
                let there = space.plus(b, there, omega, half);
                let x = space.chosen(b, moves, there, x);
                let back = b.neg(omega);
                let rest = space.plus(b, half, back, t);
                let r = space.chosen(b, moves, rest, r);
                let next = space.dot(b, shadow, r);
                let (ratio, turn) = (b.div(next, rho), b.div(alpha, omega));
                let beta = b.mul(ratio, turn);
                let without = space.plus(b, p, back, v);
                let turned = space.plus(b, r, beta, without);
                let (finite, not_zero) = (is_finite(b, beta), b.op(Compare::Ne, &[next, zero]));
                let fine = and(b, &[usable, finite, not_zero]);
                let turns = and(b, &[moves, fine]);
                let p = space.chosen(b, turns, turned, p);
                let sound = sound_after(b, sound, on, fine);
                let size = space.norm(b, r);
                vec![x, one_more(b, steps), size, sound, r, p, next]
            },
        );
        (ends[0], ends[1])
    }

    fn gmres(&self, b: &mut Builder, fixed: Fixed<'_>, from: Point, restart: usize) -> (Value, Value) {
        let space = &self.space;
        let sound = b.full(1.0, &space.truth());
        let inverse = b.op(Unary::Recip, &[from.size]);
        let first = space.times(b, inverse, from.residual);
        // A lane that is not solved may have no residual. Its basis is zeros.
        let none = b.zeros_like(first);
        let first = space.chosen(b, fixed.going, first, none);
        let rows = |count: usize, length: usize| space.ty(&[count, length]);
        let basis = b.full(0.0, &rows(restart + 1, space.length));
        let zero = b.op(Literal::I64(0), &[]);
        let basis = space.with_row(b, basis, zero, first);
        let directions = b.full(0.0, &rows(restart, space.length));
        let rotations = space.identity(b, restart + 1);
        let invariants: Vec<Value> = fixed.operands.iter().copied().chain([fixed.goal, fixed.going]).collect();
        let carry = [from.x, from.steps, from.size, sound, from.size, zero, basis, directions, rotations];
        let ends = repeat(
            b,
            &invariants,
            &carry,
            |b, fixed, carry| {
                let on = Fixed::of(fixed).on(b, carry[2], carry[3]);
                let goes_on = self.goes_on(b, on, carry[1]);
                let end = b.op(Literal::I64(restart as i64), &[]);
                let in_cycle = b.op(Compare::Lt, &[carry[5], end]);
                and(b, &[goes_on, in_cycle])
            },
            |b, fixed, carry| self.arnoldi(b, Fixed::of(fixed), carry, restart),
        );
        (ends[0], ends[1])
    }

    /// One more vector of the basis. `rotations` is the product of the plane rotations that have made the projected map
    /// triangular, `gamma` the part of the residual that is left, and the directions are the basis times the inverse of the
    /// triangle.
    fn arnoldi(&self, b: &mut Builder, fixed: Fixed<'_>, carry: &[Value], restart: usize) -> Vec<Value> {
        let space = &self.space;
        let &[x, steps, size, sound, gamma, step, basis, directions, rotations] = carry else { unreachable!("nine") };
        let on = fixed.on(b, size, sound);
        let v = space.row(b, basis, step);
        let mut w = self.apply(b, fixed.operands, v);
        let mut column = None;
        for _ in 0..2 {
            let parts = space.contract(b, "yz,z->y", basis, w);
            let within = space.contract(b, "y,yz->z", parts, basis);
            w = b.sub(w, within);
            column = b.add_present(column, Some(parts));
        }
        let scale = space.scale(b, w);
        let w_in_range = space.over(b, w, scale);
        let below = space.norm(b, w_in_range);
        let below = b.mul(below, scale);
        let column = column.expect("there were two passes");
        let column = space.contract(b, "xy,y->x", rotations, column);
        let diagonal = space.entry(b, column, step);
        let length = b.op(Binary::Hypot, &[diagonal, below]);
        let zero = b.zeros_like(length);
        let fine = b.op(Compare::Gt, &[length, zero]);
        let moves = and(b, &[on, fine]);
        let (cosine, sine) = (b.div(diagonal, length), b.div(below, length));
        let after = one_more(b, step);
        let (upper, lower) = (space.row(b, rotations, step), space.row(b, rotations, after));
        let minus = b.neg(sine);
        let turned = space.times(b, cosine, upper);
        let turned = space.plus(b, turned, sine, lower);
        let other = space.times(b, cosine, lower);
        let other = space.plus(b, other, minus, upper);
        let rotations = space.with_row(b, rotations, step, turned);
        let rotations = space.with_row(b, rotations, after, other);
        let shape = b.shape(column).to_vec();
        let above = b.op(Slice::along(&shape, space.lanes.len(), 0, restart), &[column]);
        let known = space.contract(b, "y,yz->z", above, directions);
        let rest = b.sub(v, known);
        let inverse = b.op(Unary::Recip, &[length]);
        let direction = space.times(b, inverse, rest);
        let along = b.mul(cosine, gamma);
        let x = space.moved(b, moves, x, along, direction);
        let rest = b.mul(minus, gamma);
        let none = b.zeros_like(v);
        let direction = space.chosen(b, moves, direction, none);
        let directions = space.with_row(b, directions, step, direction);
        let more = b.op(Compare::Gt, &[below, zero]);
        let goes_on = and(b, &[moves, more]);
        let inverse = b.op(Unary::Recip, &[below]);
        let next = space.times(b, inverse, w);
        let next = space.chosen(b, goes_on, next, none);
        let basis = space.with_row(b, basis, after, next);
        let distance = b.op(Unary::Abs, &[rest]);
        let size = b.select(moves, distance, size);
        let sound = sound_after(b, sound, on, fine);
        vec![x, one_more(b, steps), size, sound, rest, after, basis, directions, rotations]
    }
}

impl Fixed<'_> {
    /// From the invariants of a loop.
    fn of(invariants: &[Value]) -> Fixed<'_> {
        let (operands, rest) = invariants.split_at(invariants.len() - 2);
        Fixed { operands, goal: rest[0], going: rest[1] }
    }

    /// Which lanes take another step.
    fn on(self, b: &mut Builder, size: Value, sound: Value) -> Value {
        let far = b.op(Compare::Gt, &[size, self.goal]);
        and(b, &[self.going, sound, far])
    }
}

/// The carry as long as a condition holds. Both functions take the invariants, then the carry.
fn repeat(
    b: &mut Builder,
    invariants: &[Value],
    carry: &[Value],
    condition: impl FnOnce(&mut Builder, &[Value], &[Value]) -> Value,
    step: impl FnOnce(&mut Builder, &[Value], &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let operands = [invariants, carry].concat();
    let start = || {
        let mut inner = Builder::new();
        let inputs: Vec<Value> = operands.iter().map(|&operand| inner.input("", b.ty(operand).clone())).collect();
        (inner, inputs)
    };
    let (mut inner, inputs) = start();
    let goes_on = condition(&mut inner, &inputs[..invariants.len()], &inputs[invariants.len()..]);
    let condition = inner.finish(&[goes_on]);
    let (mut inner, inputs) = start();
    let after = step(&mut inner, &inputs[..invariants.len()], &inputs[invariants.len()..]);
    let body = inner.finish(&after);
    b.ops(While::new(condition, body, Bounds::default()), &operands)
}

/// Whether a lane is sound after a step that was fine where it was taken.
fn sound_after(b: &mut Builder, sound: Value, on: Value, fine: Value) -> Value {
    let off = b.op(Logic::Not, &[on]);
    let fine = b.op(Logic::Or, &[off, fine]);
    and(b, &[sound, fine])
}

fn one_more(b: &mut Builder, count: Value) -> Value {
    let one = b.op(Literal::I64(1), &[]);
    b.add(count, one)
}
