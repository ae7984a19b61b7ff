//! Known factors behind a mask: what multiplies a cotangent that does not count leaves no trace, in any order, be it
//! infinite, or finite with an infinite slope; and what multiplies one that counts does.

use wengert::ops::{Binary, Unary};
use wengert::primitives::{Conv, Einsum, Literal, Op, Recurrence, Reduce, Reducer, Reshape, Select};
use wengert::{Array, Builder, DType, Error, Program, Type, Value};

use super::edges::derivatives;
use crate::support::{Random, compare, flat};

/// How the two operands meet, both of which are differentiated.
#[derive(Clone, Copy, Debug)]
enum Via {
    Einsum,
    Conv,
    /// The first one as factors, forwards or backwards.
    Recurrence(bool),
    /// The first one as terms.
    Terms,
}

const ROWS: usize = 2;
const COLUMNS: usize = 4;

/// `f(x)` with `w` by some operation, of which a row or its end is not taken, squared; x as it is, or harmless where marked.
fn program(f: Unary, via: Via, safe: f64, harmless: bool) -> Result<Program, Error> {
    let mut b = Builder::new();
    let ty = Type::new(DType::F64, &[ROWS, COLUMNS]);
    let mut x = b.input("x", ty.clone());
    let w = b.input("w", ty.clone());
    let at_edge = b.input("at_edge", ty.with_dtype(DType::Bool));
    let taken = b.input("taken", ty.with_dtype(DType::Bool));
    if harmless {
        let safe = b.full(safe, &ty);
        x = b.emit(Select, &[at_edge, safe, x])?[0];
    }
    let y = b.emit(f, &[x])?[0];
    let one = |b: &mut Builder, op: Op, args: &[Value]| -> Result<Value, Error> { Ok(b.emit(op, args)?[0]) };
    let (met, taken) = match via {
        Via::Einsum => {
            let spec = Einsum::new("ij,ij->i").unwrap_or_else(|why| panic!("{}", why.0));
            // A row counts if its first element does.
            let first = wengert::primitives::Slice::new(&[0, 0], &[ROWS, 1], &[1, 1]);
            let first = one(&mut b, first.into(), &[taken])?;
            (one(&mut b, spec.into(), &[y, w])?, one(&mut b, Reshape::new(&[ROWS]).into(), &[first])?)
        }
        Via::Conv => {
            let signal = one(&mut b, Reshape::new(&[ROWS, 1, COLUMNS]).into(), &[y])?;
            let kernel = wengert::primitives::Slice::new(&[1, 0], &[2, 1], &[1, 1]);
            let kernel = one(&mut b, kernel.into(), &[w])?;
            let kernel = one(&mut b, Reshape::new(&[1, 1, 1]).into(), &[kernel])?;
            let result = one(&mut b, Conv::new(1).into(), &[signal, kernel])?;
            (one(&mut b, Reshape::new(&[ROWS, COLUMNS]).into(), &[result])?, taken)
        }
        Via::Recurrence(reverse) => (one(&mut b, Recurrence { axis: 1, reverse }.into(), &[y, w])?, taken),
        Via::Terms => (one(&mut b, Recurrence { axis: 1, reverse: false }.into(), &[w, y])?, taken),
    };
    let zero = b.full(0.0, &b.ty(met).clone());
    let chosen = one(&mut b, Select.into(), &[taken, met, zero])?;
    let square = one(&mut b, Binary::Mul.into(), &[chosen, chosen])?;
    let axes: Vec<usize> = (0..b.ty(square).rank()).collect();
    let sum = one(&mut b, Reduce::new(Reducer::Sum, &axes).into(), &[square])?;
    Ok(b.finish(&[sum]))
}

#[test]
fn a_factor_that_meets_nothing_that_counts_has_no_derivative_of_any_order() -> Result<(), Error> {
    let edges = [(Unary::Sqrt, 0.0), (Unary::Cbrt, 0.0), (Unary::Ln, 0.0), (Unary::Recip, 0.0), (Unary::Asin, 1.0)];
    let mut compared = 0;
    for (f, edge) in edges {
        for via in [Via::Einsum, Via::Conv, Via::Recurrence(false), Via::Recurrence(true), Via::Terms] {
            let (edgy, harmless) = (program(f, via, 0.5, false)?, program(f, via, 0.5, true)?);
            // The first row is not taken, or the end of each in the order of the recurrence.
            let rows: Vec<bool> = (0..ROWS * COLUMNS).map(|k| k >= COLUMNS).collect();
            let ends: Vec<bool> =
                (0..ROWS * COLUMNS).map(|k| (k % COLUMNS < 2) != matches!(via, Via::Recurrence(true))).collect();
            let whole = matches!(via, Via::Einsum);
            for taken in if whole { vec![rows] } else { vec![rows, ends] } {
                let at_edge: Vec<bool> = taken.iter().enumerate().map(|(k, taken)| !taken && k % 3 != 2).collect();
                let x = (0..ROWS * COLUMNS).map(|k| if at_edge[k] { edge } else { 0.3 + 0.05 * k as f64 });
                let shape = [ROWS, COLUMNS];
                let marks = |marks: &[bool]| Array::new(&shape, marks.to_vec());
                let pairs = derivatives(&edgy)?.into_iter().zip(derivatives(&harmless)?);
                let x = Array::new(&shape, x.collect::<Vec<f64>>());
                for ((mode, edgy), (_, harmless)) in pairs {
                    let mut random = Random::new(5);
                    let w = random.directions(&Type::new(DType::F64, &shape));
                    let mut args = vec![x.clone(), w, marks(&at_edge), marks(&taken)];
                    args.extend(edgy.input_types()[args.len()..].iter().map(|ty| random.directions(ty)));
                    let (got, wanted) = (flat(&edgy.run(&args)?), flat(&harmless.run(&args)?));
                    assert!(wanted.iter().all(|x| x.is_finite()), "{f:?} {via:?} {mode}");
                    compare(mode, &got, &wanted, |k| 1e-12 * wanted[k].abs().max(1.0))
                        .unwrap_or_else(|why| panic!("{f:?} {via:?} of {taken:?}: {why}"));
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 5 * (4 * 2 + 1) * 6);
    Ok(())
}

/// What flows back into the terms of `y(t) = a(t) y(t-1) + b(t)`, of which some results count: by the definition.
fn pulled(a: &[f64], counts: &[bool], ct: &[f64], reverse: bool) -> Vec<f64> {
    let order: Vec<usize> = if reverse { (0..a.len()).collect() } else { (0..a.len()).rev().collect() };
    let (mut result, mut later) = (vec![0.0; a.len()], None);
    for t in order {
        let own = counts[t].then_some(ct[t]);
        let sum = match (own, later) {
            (Some(own), Some(later)) => Some(own + later),
            (own, later) => own.or(later),
        };
        result[t] = sum.unwrap_or(0.0);
        later = sum.map(|sum: f64| a[t] * sum);
    }
    result
}

#[test]
fn an_infinite_factor_counts_where_a_cotangent_that_counts_meets_it() -> Result<(), Error> {
    let mut infinite = [0, 0];
    for (length, reverse) in (1..7).flat_map(|length| [false, true].map(|reverse| (length, reverse))) {
        let mut b = Builder::new();
        let ty = Type::new(DType::F64, &[length]);
        let (a, terms) = (b.input("a", ty.clone()), b.input("b", ty.clone()));
        let counts = b.input("counts", ty.with_dtype(DType::Bool));
        let y = b.emit(Recurrence { axis: 0, reverse }, &[a, terms])?[0];
        let zero = b.emit(Literal::F64(0.0), &[])?[0];
        let zeros = b.emit(wengert::primitives::Broadcast::new(&[length], &[]), &[zero])?[0];
        let chosen = b.emit(Select, &[counts, y, zeros])?[0];
        let vjp = b.finish(&[chosen]).vjp(&[false, true, false])?;
        let numbers = |start: f64| (0..length).map(|k| start - 0.75 * k as f64).collect::<Vec<f64>>();
        let (terms, ct) = (numbers(0.5), numbers(2.0));
        for (pattern, place, factor) in (0..1 << length).flat_map(|pattern| {
            (0..length).flat_map(move |place| [f64::INFINITY, f64::NEG_INFINITY, 1.5].map(|x| (pattern, place, x)))
        }) {
            let counts: Vec<bool> = (0..length).map(|k| pattern >> k & 1 == 1).collect();
            let mut a = numbers(1.25);
            a[place] = factor;
            let wanted = pulled(&a, &counts, &ct, reverse);
            let args = [a, terms.clone()].map(|numbers| Array::new(&[length], numbers));
            let [a, terms] = args;
            let args = [a, terms, Array::new(&[length], counts.clone()), Array::new(&[length], ct.clone())];
            for program in [&vjp, &vjp.optimize()] {
                let got = program.run(&args)?[1].to_f64();
                assert_eq!(got, wanted, "{counts:?} with {factor} at {place}, reverse {reverse}\n{program}");
            }
            infinite[usize::from(wanted.iter().any(|x| x.is_infinite()))] += usize::from(factor.is_infinite());
        }
    }
    assert!(infinite[0] > 100 && infinite[1] > 100, "{infinite:?}");
    Ok(())
}
