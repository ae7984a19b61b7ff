//! What the random Programs found once, as the smallest Programs that show it.

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{Cond, Convert, Custom, Recompute, Rule};
use wengert::{Array, Builder, DType, Program, Type, Value};

use super::rebuild::with_outputs;

/// `x -> sin(x^2) if x > 0 else 1`, with a derivative given by its own pullback. The branch that does
/// not depend on x gives the pullback masks, which are not linear in the cotangent and are needed to
/// transpose it.
#[test]
fn a_pullback_with_a_branch_that_gives_nothing_transposes() -> Result<(), wengert::Error> {
    let scalar = Type::new(DType::F64, &[]);
    let branch = |active: bool| -> Result<Program, wengert::Error> {
        let mut b = Builder::new();
        let x = b.input("x", Type::new(DType::F64, &[]));
        let y = if active { b.emit(Unary::Sin, &[x])?[0] } else { b.full(1.0, &Type::new(DType::F64, &[])) };
        Ok(b.finish(&[y]))
    };
    let mut b = Builder::new();
    let x = b.input("x", scalar.clone());
    let zero = b.full(0.0, &scalar);
    let condition = b.emit(Compare::Gt, &[x, zero])?[0];
    // The product's pullback uses the mask.
    let square = b.emit(Binary::Mul, &[x, x])?[0];
    let y = b.emit(Cond::new(branch(true)?, branch(false)?), &[condition, square])?;
    let value = b.finish(&y);
    let vjp = value.vjp(&[true])?;
    let rule = Rule::Vjp(with_outputs(&vjp, &vjp.outputs()[1..], std::slice::from_ref(&scalar), 1).into());
    let custom = Custom { name: "half_sine".to_owned(), value: value.into(), rule, surrogate: false };
    let mut b = Builder::new();
    let x: Value = b.input("x", scalar);
    let y = b.emit(custom, &[x])?;
    let program = b.finish(&y);
    for (x, slope) in [(0.5, 0.25f64.cos()), (-0.5, 0.0)] {
        let args = [Array::scalar(x), Array::scalar(2.0)];
        let tangent = program.jvp(&[true])?.run_reference(&args)?[1].to_f64()[0];
        let cotangent = program.vjp(&[true])?.run_reference(&args)?[1].to_f64()[0];
        assert_eq!((tangent, cotangent), (2.0 * slope, 2.0 * slope), "at {x}");
    }
    Ok(())
}

/// `x -> c(x) + k c(x)` with the conversion c to single precision written twice. Where the two are one, their cotangents
/// 1 and k meet in single precision, where the sum is rounded; so they have to be one inside a recomputed region too.
#[test]
fn equal_conversions_are_one_in_a_recomputed_region_too() -> Result<(), wengert::Error> {
    let (double, single) = (Type::new(DType::F64, &[]), Type::new(DType::F32, &[]));
    let mut b = Builder::new();
    let x = b.input("x", double.clone());
    let convert = Convert(DType::F32);
    let (one, two) = (b.emit(convert, &[x])?[0], b.emit(convert, &[x])?[0]);
    let small = b.full(1.5 * 2.0f64.powi(-24), &single);
    let product = b.emit(Binary::Mul, &[two, small])?[0];
    let y = b.emit(Binary::Add, &[one, product])?[0];
    let plain = b.finish(&[y]);
    let mut b = Builder::new();
    let x = b.input("x", double);
    let y = b.emit(Recompute::new(plain.clone()), &[x])?;
    let region = b.finish(&y);
    let args = [Array::scalar(0.5), Array::new(&[], vec![1.0f32])];
    for program in [plain, region] {
        let slope = program.vjp(&[true])?.run_reference(&args)?[1].to_f64()[0];
        assert_eq!(slope, 1.0 + f64::from(f32::EPSILON), "of\n{program}");
    }
    Ok(())
}
