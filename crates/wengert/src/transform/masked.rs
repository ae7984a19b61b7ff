//! Masks through what moves, adds and contracts: the pullback of a cotangent that is a structural
//! zero in places, and the mask of what comes out.
//!
//! A number that is masked and meets an infinity or NaN of a known operand must not make NaN. Where
//! every entry of the known operand is finite, `0 * finite` is 0 and the plain contraction is
//! right; so a contraction becomes a joint `cond` on that, and the careful sequence runs only where
//! it has to.

use crate::array::{DType, Type};
use crate::error::{Error, Line};
use crate::ops::{Compare, Unary};
use crate::primitives::{Cond, Cotangent, Logic, Masks, Op, Operand, Reduce, Reducer};
use crate::program::{Builder, Eqn, Program, Value};
use crate::transform::transpose::{mask_out, transposed};

/// The transpose of an operation at masked cotangents.
pub(super) fn pull(
    b: &mut Builder,
    eqn: &Eqn,
    values: &[Option<Value>],
    masks: &[Option<Value>],
    operands: &[Operand],
) -> Result<Vec<Option<Cotangent>>, Error> {
    match (eqn.op.masks(), values, masks) {
        (Masks::Contracted, &[Some(value)], &[Some(mask)]) => {
            contracted(b, &eqn.op, Cotangent { value, mask: Some(mask) }, mask, operands)
        }
        (Masks::Moved, ..) => {
            let masks = moved(b, &eqn.op, masks, operands)?;
            let pulled = transposed(b, &eqn.op, values, operands)?.into_iter().zip(masks);
            Ok(pulled.map(|(value, mask)| value.map(|value| Cotangent { value, mask })).collect())
        }
        _ => counted(b, &eqn.op, values, masks, operands),
    }
}

/// The masks of the operands of what only moves or repeats elements, or adds them along axes: they
/// take the way of the numbers.
fn moved(b: &mut Builder, op: &Op, masks: &[Option<Value>], operands: &[Operand]) -> Result<Vec<Option<Value>>, Error> {
    let truth = |operand: &Operand| match operand {
        Operand::Known(value) => Operand::Known(*value),
        Operand::Linear(ty) => Operand::Linear(ty.with_dtype(DType::Bool)),
    };
    transposed(b, op, masks, &operands.iter().map(truth).collect::<Vec<Operand>>())
}

// ---- contractions -------------------------------------------------------------------------------

/// The transpose of a contraction of a linear operand with a known one.
fn contracted(
    b: &mut Builder,
    op: &Op,
    ct: Cotangent,
    mask: Value,
    operands: &[Operand],
) -> Result<Vec<Option<Cotangent>>, Error> {
    let (linear, factor) = if operands[0].is_linear() { (0, 1) } else { (1, 0) };
    let types = [operands[0].ty(b), operands[1].ty(b)];
    // What only meets masked numbers is left out: its own derivative may be infinite though it is
    // finite, as that of a square root at 0.
    let used = met(b, op, mask, factor, &types)?;
    let known = mask_out(b, used, operands[factor].known());
    let finite = is_finite(b, known);
    let axes: Vec<usize> = (0..types[factor].rank()).collect();
    let condition = if axes.is_empty() { finite } else { b.op(Reduce::new(Reducer::All, &axes), &[finite]) };
    let branch = Contraction { op, factor, linear, types: &types, ct: b.ty(ct.value).clone() };
    let line = b.line;
    let (Some(yes), Some(no)) =
        (branch.program(line, TransposeMethod::Plain)?, branch.program(line, TransposeMethod::Careful)?)
    else {
        return Ok(vec![None, None]);
    };
    let value = b.op(Cond::joint(yes, no), &[condition, ct.value, mask, known]);
    let reached = met(b, op, mask, linear, &types)?;
    let mut pulled = vec![None, None];
    pulled[linear] = Some(Cotangent { value, mask: Some(reached) });
    Ok(pulled)
}

/// Where an operand of a contraction meets a cotangent that counts, if the other operand is 1.
fn met(b: &mut Builder, op: &Op, mask: Value, operand: usize, types: &[Type; 2]) -> Result<Value, Error> {
    if let Some(met) = op.met(b, mask, operand, types) {
        return Ok(met);
    }
    let count = b.convert(mask, DType::F64);
    let count = ways(b, op, count, operand, types, None)?;
    match count {
        Some(count) => Ok(is_positive(b, count)),
        None => Ok(b.full(0.0, &types[operand].with_dtype(DType::Bool))),
    }
}

/// On how many ways cotangents that count reach each place of an operand, where a way is as often
/// there as the other operand says. In double precision, in which counts are exact.
fn ways(
    b: &mut Builder,
    op: &Op,
    count: Value,
    operand: usize,
    types: &[Type; 2],
    factor: Option<Value>,
) -> Result<Option<Value>, Error> {
    let double = |k: usize| types[k].with_dtype(DType::F64);
    let factor = factor.unwrap_or_else(|| b.full(1.0, &double(1 - operand)));
    let mut operands = vec![Operand::Known(factor), Operand::Known(factor)];
    operands[operand] = Operand::Linear(double(operand));
    Ok(transposed(b, op, &[Some(count)], &operands)?[operand])
}

/// The transpose of a contraction as a Program of the cotangent, its mask and the known operand.
struct Contraction<'a> {
    op: &'a Op,
    factor: usize,
    linear: usize,
    types: &'a [Type; 2],
    ct: Type,
}

/// How it is computed.
enum TransposeMethod {
    /// Right where the known operand is finite.
    Plain,
    /// Right everywhere.
    Careful,
}

impl Contraction<'_> {
    fn program(&self, line: Option<Line>, method: TransposeMethod) -> Result<Option<Program>, Error> {
        let mut b = Builder::new();
        b.line = line;
        let ct = b.input("", self.ct.clone());
        let mask = b.input("", self.ct.with_dtype(DType::Bool));
        let known = b.input("", self.types[self.factor].clone());
        let pulled = match method {
            TransposeMethod::Plain => self.transpose(&mut b, ct, known)?,
            TransposeMethod::Careful => self.careful(&mut b, ct, mask, known)?,
        };
        Ok(pulled.map(|value| b.finish(&[value])))
    }

    fn transpose(&self, b: &mut Builder, ct: Value, known: Value) -> Result<Option<Value>, Error> {
        let mut operands = vec![Operand::Known(known), Operand::Known(known)];
        operands[self.linear] = Operand::Linear(self.types[self.linear].clone());
        Ok(transposed(b, self.op, &[Some(ct)], &operands)?[self.linear])
    }

    /// Products with what is not finite are left out, unless a cotangent that
    /// counts meets one on its way to the same place.
    fn careful(&self, b: &mut Builder, ct: Value, mask: Value, known: Value) -> Result<Option<Value>, Error> {
        let Some(plain) = self.transpose(b, ct, known)? else { return Ok(None) };
        let ok = is_finite(b, known);
        let finite = mask_out(b, ok, known);
        let safe = self.transpose(b, ct, finite)?;
        let count = b.convert(mask, DType::F64);
        let all = ways(b, self.op, count, self.linear, self.types, None)?;
        let ones = b.convert(ok, DType::F64);
        let harmless = ways(b, self.op, count, self.linear, self.types, Some(ones))?;
        let (Some(safe), Some(all), Some(harmless)) = (safe, all, harmless) else { return Ok(None) };
        let meets = b.op(Compare::Gt, &[all, harmless]);
        Ok(Some(b.select(meets, plain, safe)))
    }
}

// ---- everything else ----------------------------------------------------------------------------

/// The transpose of any operation, by counting the cotangents that count: products of masked numbers
/// with an infinity or NaN of a known operand are left out unless a cotangent that counts meets one
/// on its way to the same place.
fn counted(
    b: &mut Builder,
    op: &Op,
    values: &[Option<Value>],
    masks: &[Option<Value>],
    operands: &[Operand],
) -> Result<Vec<Option<Cotangent>>, Error> {
    let is_factor = |b: &Builder, operand: &Operand| match operand {
        Operand::Known(value) => b.dtype(*value).is_float(),
        Operand::Linear(_) => false,
    };
    let plain = transposed(b, op, values, operands)?;
    // How many cotangents that count reach a place: with every factor 1.
    let reached = count_ways(b, op, masks, operands, |b, factor| {
        let ty = b.ty(factor).with_dtype(DType::F64);
        b.full(1.0, &ty)
    })?;
    let (mut safe, mut finite_ways) = (plain.clone(), vec![None; plain.len()]);
    if operands.iter().any(|operand| is_factor(b, operand)) {
        let mut finite = operands.to_vec();
        for (k, operand) in operands.iter().enumerate() {
            if let Operand::Known(value) = operand
                && is_factor(b, operand)
            {
                let ok = is_finite(b, *value);
                let used = uses(b, op, k, masks, operands, &reached)?;
                let ok = used.map_or(ok, |used| b.op(Logic::And, &[ok, used]));
                finite[k] = Operand::Known(mask_out(b, ok, *value));
            }
        }
        safe = transposed(b, op, values, &finite)?;
        finite_ways = count_ways(b, op, masks, operands, |b, factor| {
            let ok = is_finite(b, factor);
            b.convert(ok, DType::F64)
        })?;
    }
    let mut pulled = Vec::with_capacity(plain.len());
    for k in 0..plain.len() {
        pulled.push(match (plain[k], safe[k], reached[k]) {
            (Some(plain), Some(safe), Some(reached)) => {
                let value = match finite_ways[k] {
                    Some(finite_ways) => {
                        let meets = b.op(Compare::Gt, &[reached, finite_ways]);
                        b.select(meets, plain, safe)
                    }
                    None => safe,
                };
                Some(Cotangent { value, mask: Some(is_positive(b, reached)) })
            }
            _ => None,
        });
    }
    Ok(pulled)
}

/// On how many ways cotangents that count reach each place, where a way is as often there as the
/// product of its `factors`. In double precision, in which counts are exact.
fn count_ways(
    b: &mut Builder,
    op: &Op,
    masks: &[Option<Value>],
    operands: &[Operand],
    mut factors: impl FnMut(&mut Builder, Value) -> Value,
) -> Result<Vec<Option<Value>>, Error> {
    let counts: Vec<Option<Value>> = masks.iter().map(|mask| mask.map(|mask| b.convert(mask, DType::F64))).collect();
    let operands = operands.iter().map(|operand| match operand {
        Operand::Known(value) if b.dtype(*value).is_float() => Operand::Known(factors(b, *value)),
        Operand::Known(value) => Operand::Known(*value),
        Operand::Linear(ty) => Operand::Linear(ty.with_dtype(DType::F64)),
    });
    let operands: Vec<Operand> = operands.collect();
    transposed(b, op, &counts, &operands)
}

/// Where a known factor meets a cotangent that counts; `None` if that is not known. Elsewhere it is
/// left out, because its own derivative may be infinite though it is finite: that of a square root
/// at 0.
fn uses(
    b: &mut Builder,
    op: &Op,
    factor: usize,
    masks: &[Option<Value>],
    operands: &[Operand],
    reached: &[Option<Value>],
) -> Result<Option<Value>, Error> {
    if let Some(term) = op.factor_meets() {
        return Ok(reached[term].map(|reached| is_positive(b, reached)));
    }
    if !op.linear_in(operands.len()).iter().any(|set| set.contains(&factor)) {
        return Ok(None);
    }
    // The map is linear in the factor too: its transpose there counts the products.
    let counts: Vec<Option<Value>> = masks.iter().map(|mask| mask.map(|mask| b.convert(mask, DType::F64))).collect();
    let mut swapped = Vec::with_capacity(operands.len());
    for (k, operand) in operands.iter().enumerate() {
        let ty = operand.ty(b);
        swapped.push(match operand {
            _ if k == factor => Operand::Linear(ty.with_dtype(DType::F64)),
            Operand::Known(value) if !ty.dtype.is_float() => Operand::Known(*value),
            _ => Operand::Known(b.full(1.0, &ty.with_dtype(DType::F64))),
        });
    }
    let met = transposed(b, op, &counts, &swapped)?;
    Ok(met[factor].map(|met| is_positive(b, met)))
}

fn is_positive(b: &mut Builder, x: Value) -> Value {
    let zero = b.zeros_like(x);
    b.op(Compare::Gt, &[x, zero])
}

/// Where a number is neither infinite nor NaN.
fn is_finite(b: &mut Builder, x: Value) -> Value {
    let magnitude = b.op(Unary::Abs, &[x]);
    let ty = b.ty(x).clone();
    let infinity = b.full(f64::INFINITY, &ty);
    b.op(Compare::Lt, &[magnitude, infinity])
}

#[cfg(all(test, feature = "text"))]
mod tests;
