//! Terms: what depends on one seed for each of its numbers, wherever these seeds are.
//!
//! Bands (`bands.rs`) say by a distance which seeds these are, layers (`layers.rs`) by a table. What works number by number
//! does the same with both: it multiplies the factors, and terms that reach the same seeds meet.

use crate::array::Type;
use crate::ops::{Binary, Unary};
use crate::primitives::Op;
use crate::program::{Builder, Value};

/// Which seeds the numbers of a term depend on.
pub(super) trait Place: Clone + PartialEq {
    /// Brings the places of a value's terms into their order, each once.
    fn arrange(places: &mut Vec<Self>);
}

/// What depends on one seed for each number, by the factors `scale`, all of which are 1 if there is none. Where there is no
/// such seed it is nothing, whatever stands there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Term<P> {
    pub(super) place: P,
    pub(super) scale: Option<Value>,
}

/// An operand of an operation that works number by number.
#[derive(Clone, Debug)]
pub(super) enum TermOperand<P> {
    Terms(Vec<Term<P>>),
    Known(Value),
    Zero,
}

/// The terms of a result of this type, of an operation that works number by number and is linear in its terms.
pub(super) fn elementwise<P: Place>(
    b: &mut Builder,
    op: &Op,
    operands: &[TermOperand<P>],
    ty: &Type,
) -> Option<Vec<Term<P>>> {
    use TermOperand::{Known, Terms};
    Some(match (op, operands) {
        (Op::Unary(Unary::Neg), [Terms(terms)]) => mapped(terms, |scale| Some(negated(b, scale, ty))),
        (Op::Binary(Binary::Mul), [Terms(terms), Known(factor)] | [Known(factor), Terms(terms)]) => {
            mapped(terms, |scale| Some(scale.map_or(*factor, |scale| b.mul(scale, *factor))))
        }
        (Op::Binary(Binary::Div), [Terms(terms), Known(divisor)]) => mapped(terms, |scale| {
            let scale = numbers(b, scale, ty);
            Some(b.div(scale, *divisor))
        }),
        (Op::Binary(op @ (Binary::Add | Binary::Sub)), [x, y]) => {
            let (x, y) = (summand(b, x)?, summand(b, y)?);
            union(&x, &y, |one, two| match (one, two) {
                (Some(x), Some(y)) => {
                    let (x, y) = (numbers(b, x, ty), numbers(b, y, ty));
                    Some(b.op(*op, &[x, y]))
                }
                (None, Some(y)) if *op == Binary::Sub => Some(negated(b, y, ty)),
                (Some(scale), None) | (None, Some(scale)) => scale,
                (None, None) => None,
            })
        }
        (Op::Select(_), [Known(mask), yes, no]) => {
            // A known branch of a linear select is a zero.
            let branch = |branch: &TermOperand<P>| match branch {
                Terms(terms) => terms.clone(),
                Known(_) | TermOperand::Zero => Vec::new(),
            };
            let numbers = |b: &mut Builder, scale: Option<Option<Value>>| match scale {
                Some(scale) => numbers(b, scale, ty),
                None => b.full(0.0, ty),
            };
            union(&branch(yes), &branch(no), |yes, no| {
                let (yes, no) = (numbers(b, yes), numbers(b, no));
                Some(b.select(*mask, yes, no))
            })
        }
        (Op::Convert(op), [Terms(terms)]) => mapped(terms, |scale| Some(b.convert(scale?, op.0))),
        _ => return None,
    })
}

/// The same places with other factors.
pub(super) fn mapped<P: Place>(terms: &[Term<P>], mut f: impl FnMut(Option<Value>) -> Option<Value>) -> Vec<Term<P>> {
    terms.iter().map(|term| Term { place: term.place.clone(), scale: f(term.scale) }).collect()
}

/// The factors of a term as a value.
pub(super) fn numbers(b: &mut Builder, scale: Option<Value>, ty: &Type) -> Value {
    scale.unwrap_or_else(|| b.full(1.0, ty))
}

/// The terms that either of two operands has, with what `f` makes of their factors.
pub(super) fn union<P: Place>(
    x: &[Term<P>],
    y: &[Term<P>],
    mut f: impl FnMut(Option<Option<Value>>, Option<Option<Value>>) -> Option<Value>,
) -> Vec<Term<P>> {
    let mut places: Vec<P> = x.iter().chain(y).map(|term| term.place.clone()).collect();
    P::arrange(&mut places);
    let of = |terms: &[Term<P>], place: &P| terms.iter().find(|term| term.place == *place).map(|term| term.scale);
    let joined = |place: P| {
        let scale = f(of(x, &place), of(y, &place));
        Term { place, scale }
    };
    places.into_iter().map(joined).collect()
}

fn negated(b: &mut Builder, scale: Option<Value>, ty: &Type) -> Value {
    match scale {
        Some(scale) => b.neg(scale),
        None => b.full(-1.0, ty),
    }
}

/// The terms of a summand.
fn summand<P: Place>(b: &Builder, operand: &TermOperand<P>) -> Option<Vec<Term<P>>> {
    match operand {
        TermOperand::Terms(terms) => Some(terms.clone()),
        TermOperand::Zero => Some(Vec::new()),
        TermOperand::Known(value) if b.is_zero(*value) => Some(Vec::new()),
        TermOperand::Known(_) => None,
    }
}
