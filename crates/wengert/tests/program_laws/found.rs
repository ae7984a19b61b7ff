//! What the random Programs found once, as the smallest Programs that show it.

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{Cond, Custom, Rule};
use wengert::{Array, Builder, DType, Program, Type, Value};

use crate::rebuild::with_outputs;

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
        let tangent = program.jvp(&[true])?.run(&args)?[1].to_f64()[0];
        let cotangent = program.vjp(&[true])?.run(&args)?[1].to_f64()[0];
        assert_eq!((tangent, cotangent), (2.0 * slope, 2.0 * slope), "at {x}");
    }
    Ok(())
}
