//! What the random Programs found once, as the smallest Programs that show it.

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{Cond, Convert, Custom, Recompute, Rule};
use wengert::sparsity::{Method, Sparse};
use wengert::{Array, Builder, DType, Program, Tensor, Type, Value};

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

/// A user's operation with two operands, of which one is not differentiated, and results that a transform joins: what its rule
/// makes of the missing tangent is zero, and no offset to the other one.
#[test]
fn a_rule_gives_no_tangent_where_it_gets_none() -> Result<(), Box<dyn std::error::Error>> {
    const VALUE: &str = "value=program(v0: f64[2], v1: f64[2]) {
        v2: f64[2] = sin v0
        v3: f64[2] = exp v1
        return v2 v3
    }";
    const RULES: [&str; 2] = [
        "jvp=program(v0: f64[2], v1: f64[2], v2: f64[2], v3: f64[2]) {
            v4: f64[2] = cos v0
            v5: f64[2] = mul v4 v2
            v6: f64[2] = exp v1
            v7: f64[2] = mul v6 v3
            return v5 v7
        }",
        "vjp=program(v0: f64[2], v1: f64[2], v2: f64[2], v3: f64[2], v4: f64[2], v5: f64[2]) {
            v6: f64[2] = cos v0
            v7: f64[2] = mul v6 v4
            v8: f64[2] = mul v3 v5
            return v7 v8
        }",
    ];
    let (x, y) = ([0.3, -0.8], [0.5, 0.2]);
    // The transform of two numbers is their sum and their difference, of the pair element by element.
    let wanted = |slopes: [f64; 2]| [slopes[0], slopes[1], slopes[0], -slopes[1]];
    for rule in RULES {
        // First with respect to the operand whose result is the real part, then to the other one.
        for (operands, part) in [("v0 v1", 0), ("v1 v0", 1)] {
            let text = format!(
                "program(v0: f64[2], v1: f64[2]) {{
                    v2: f64[2], v3: f64[2] = custom[name=pair, rule=exact, {VALUE}, {rule}] {operands}
                    v4: f64[2], v5: f64[2] = fft[axes=[0], lengths=[2], counts=[2], inverse=false, scale=one] v2 v3
                    return v4 v5
                }}"
            );
            let program: Program = text.parse()?;
            let (point, other) = if part == 0 { (x, y) } else { (y, x) };
            let slopes = if part == 0 { point.map(f64::cos) } else { point.map(f64::exp) };
            let mut dense = [0.0; 8];
            dense[4 * part..][..4].copy_from_slice(&wanted(slopes));
            for method in [Method::Columns, Method::Rows, Method::Dense] {
                let sparse = Sparse::options().method(method).program(&program, &[Array::new(&[2], other.to_vec())])?;
                let mut values = vec![f64::NAN; sparse.pattern().nnz()];
                sparse.evaluate(&[Tensor::from(point)], &mut values)?;
                let mut found = [0.0; 8];
                sparse.pattern().entries().zip(values).for_each(|((row, col), value)| found[2 * row + col] = value);
                let near = found.iter().zip(dense).all(|(found, wanted)| (found - wanted).abs() < 1e-15);
                assert!(near, "{method} of {text}: {found:?} and not {dense:?}");
            }
        }
    }
    Ok(())
}

/// Products of updates that are none, at places that there are not: the derivative is that of what stays.
#[test]
fn no_updates_have_no_derivative_where_no_place_exists() -> Result<(), wengert::Error> {
    for include in [true, false] {
        let text = format!(
            "program(v0: f64[0,2], v1: f64[1,0]) {{
                v2: i64[] = constant[value=0i64]
                v3: i64[1,1] = broadcast[shape=[1,1], axes=[]] v2
                v4: f64[0,0] = slice[start=[0,0], limit=[0,0], stride=[1,1]] v0
                v5: f64[0,0] = scatter_mul[batch=0, axes=[0], mode=clamp, include={include}] v4 v3 v1
                v6: f64[] = sum[axes=[0,1]] v5
                return v6
            }}"
        );
        let program: Program = text.parse()?;
        let args = [Array::new(&[0, 2], Vec::<f64>::new()), Array::new(&[1, 0], Vec::<f64>::new())];
        let pulled = program.vjp(&[true, true])?.run(&[&args[..], &[Array::scalar(1.0)]].concat())?;
        assert_eq!([pulled[1].shape(), pulled[2].shape()], [&[0, 2][..], &[1, 0]]);
    }
    Ok(())
}

/// A window without elements that begins behind the end of its array, which has none either, as the operand of a branch.
#[test]
fn a_window_without_elements_is_an_operand() -> Result<(), wengert::Error> {
    let text = "program(v0: f64[2,0,2], v1: bool[]) {
        v2: f64[1,0,1] = slice[start=[0,0,1], limit=[1,0,2], stride=[2,1,1]] v0
        v3: f64[0,1] = reshape[shape=[0,1]] v2
        v4: f64[] = cond[yes=program(v0: f64[0,1]) {
            v1: f64[] = sum[axes=[0,1]] v0
            return v1
        }, no=program(v0: f64[0,1]) {
            v1: f64[] = prod[axes=[0,1]] v0
            return v1
        }] v1 v3
        return v4
    }";
    let program: Program = text.parse()?;
    for (yes, wanted) in [(true, 0.0), (false, 1.0)] {
        let args = [Array::new(&[2, 0, 2], Vec::<f64>::new()), Array::scalar(yes)];
        assert_eq!(program.run(&args)?[0].to_f64(), [wanted]);
    }
    Ok(())
}

/// A step whose product is moved in front of the loop, and whose rows and carry have other shapes than the values they are
/// stored as.
#[test]
fn a_step_of_which_something_is_moved_keeps_the_shapes_of_its_results() -> Result<(), wengert::Error> {
    let text = "program(v0: f64[12,12], v1: f64[2,6], v2: f64[3,2,6]) {
        v3: f64[2,6], v4: f64[3,3,4] = scan[body=program(v0: f64[12,12], v1: f64[2,6], v2: f64[2,6]) {
            v3: f64[12,12] = einsum[spec=\"ab,bc->ac\"] v0 v0
            v4: f64[12] = reshape[shape=[12]] v1
            v5: f64[12] = einsum[spec=\"ab,b->a\"] v3 v4
            v6: f64[12] = sin v5
            v7: f64[2,6] = reshape[shape=[2,6]] v6
            v8: f64[12] = reshape[shape=[12]] v2
            v9: f64[12] = mul v8 v6
            v10: f64[3,4] = reshape[shape=[3,4]] v9
            return v7 v10
        }, length=3, carry=1, rows=1, reverse=false] v0 v1 v2
        v5: f64[3,4,3] = permute[order=[1,2,0]] v4
        v6: f64[6,2] = permute[order=[1,0]] v3
        return v5 v6
    }";
    let program: Program = text.parse()?;
    let numbers = |count: usize| (0..count).map(|k| ((k * 37 % 101) as f64 - 50.0) / 100.0).collect::<Vec<f64>>();
    let args = [(144, &[12, 12][..]), (12, &[2, 6]), (36, &[3, 2, 6])];
    let args = args.map(|(count, shape)| Array::new(shape, numbers(count)));
    for program in [program.vjp(&[true, true, true])?, program] {
        let cotangents = [(36, &[3, 4, 3][..]), (12, &[6, 2])].map(|(count, shape)| Array::new(shape, numbers(count)));
        let args = [&args[..], &cotangents].concat();
        let args = &args[..program.input_types().len()];
        let (got, wanted) = (program.run(args)?, program.run_reference(args)?);
        for (got, wanted) in got.iter().zip(&wanted) {
            assert_eq!(got.shape(), wanted.shape());
            let near = got.to_f64().iter().zip(wanted.to_f64()).all(|(got, wanted)| (got - wanted).abs() < 1e-12);
            assert!(near, "{got:?} and not {wanted:?}");
        }
    }
    Ok(())
}

/// A step over numbers, and one over short rows, in which something is reduced and contracted that has no elements.
#[test]
fn a_step_joins_no_elements() -> Result<(), wengert::Error> {
    for [shape, longer] in [["", "3"], ["5", "3,5"]] {
        let text = format!(
            "program(v0: f64[{shape}], v1: f64[{longer}]) {{
                v2: f64[{shape}], v3: f64[{longer}] = scan[body=program(v0: f64[{shape}], v1: f64[{shape}]) {{
                    v2: f64[{shape}] = sin v0
                    v3: f64[{shape}] = call[program=program(v0: f64[{shape}]) {{
                        v1: f64[] = constant[value=2.0f64]
                        v2: f64[0] = broadcast[shape=[0], axes=[]] v1
                        v3: f64[] = sum[axes=[0]] v2
                        v4: f64[] = prod[axes=[0]] v2
                        v5: f64[] = einsum[spec=\"a,a->\"] v2 v2
                        v6: f64[] = add v3 v4
                        v7: f64[] = add v6 v5
                        v8: f64[{shape}] = broadcast[shape=[{shape}], axes=[]] v7
                        v9: f64[{shape}] = mul v0 v8
                        return v9
                    }}] v2
                    v4: f64[{shape}] = mul v3 v1
                    return v4 v3
                }}, length=3, carry=1, rows=1, reverse=false] v0 v1
                return v2 v3
            }}"
        );
        let program: Program = text.parse()?;
        let types = program.input_types();
        let numbers = |ty: &Type| Array::new(&ty.shape, (1..=ty.size()).map(|k| 0.3 * k as f64).collect::<Vec<f64>>());
        let args: Vec<Array> = types.iter().map(numbers).collect();
        let (got, wanted) = (program.run(&args)?, program.run_reference(&args)?);
        for (got, wanted) in got.iter().zip(&wanted) {
            let near = got.to_f64().iter().zip(wanted.to_f64()).all(|(got, wanted)| (got - wanted).abs() < 1e-15);
            assert!(near && got.shape() == wanted.shape(), "{got:?} and not {wanted:?}");
        }
    }
    Ok(())
}
