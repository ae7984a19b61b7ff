//! Where arrays lie in memory: what is turned, copied or halved because of it has the numbers of the definition.

use wengert::plan::{Detail, Options, Plan, StepKind};
use wengert::prelude::*;
use wengert::{Array, DType, Program, Type, to_program};

use crate::support::Random;
use crate::support::engine::{Operands, check_engine};

fn parsed(text: &str) -> Program {
    text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"))
}

fn operand(random: &mut Random, ty: &Type) -> Array {
    let size = ty.size() as i64;
    match ty.dtype {
        DType::I64 => Array::new(&ty.shape, (0..size).collect::<Vec<i64>>()),
        DType::Bool => Array::new(&ty.shape, (0..size).map(|k| k % 3 == 0).collect::<Vec<bool>>()),
        DType::F32 | DType::F64 => random.directions(ty),
    }
}

/// Operands for a Program, and the engine against the reference on them.
fn check(program: &Program) -> Vec<Array> {
    let mut random = Random::new(3);
    let args: Vec<Array> = program.input_types().iter().map(|ty| operand(&mut random, ty)).collect();
    for threads in [1, 3] {
        check_engine(program, &args, threads, Operands::Tame).unwrap_or_else(|why| panic!("{why}\n{program}"));
    }
    args
}

fn plan(program: &Program) -> Plan {
    Plan::new(program, &Options::default()).expect("without a limit")
}

fn count(plan: &Plan, kind: StepKind) -> usize {
    plan.step_infos().iter().filter(|step| step.kind == kind).count()
}

#[test]
fn transposed_copies_have_the_elements_of_the_view() {
    for text in [
        "program(v0: f32[80,50]) { v1: f32[50,80] = permute[order=[1,0]] v0; return v1 }",
        "program(v0: f64[3,70,40]) { v1: f64[3,40,70] = permute[order=[0,2,1]] v0; return v1 }",
        "program(v0: i64[3,70,40]) {
            v1: i64[40,70,3] = permute[order=[2,1,0]] v0
            v2: i64[8400] = reshape[shape=[8400]] v1
            return v2
        }",
        "program(v0: bool[90,64]) { v1: bool[64,90] = permute[order=[1,0]] v0; return v1 v1 }",
        // Every second row of a part, turned and reversed, for a kernel and as a result.
        "program(v0: f64[90,64]) {
            v1: f64[40,60] = slice[start=[10,2], limit=[90,62], stride=[2,1]] v0
            v2: f64[60,40] = permute[order=[1,0]] v1
            v3: f64[60,40] = reverse[axes=[1]] v2
            v4: f64[60,80] = concat[axis=1] v3 v2
            return v3 v4
        }",
    ] {
        check(&parsed(text));
    }
}

/// The Gram matrix of the columns of an array whose rows have weights, as a Program.
fn gram(rows: usize, cols: usize, weights: fn(&Tensor) -> Tensor) -> Program {
    let mut random = Random::new(7);
    let x = Tensor::from_array(random.directions(&Type::new(DType::F64, &[rows, cols])));
    let d = Tensor::from_array(random.directions(&Type::new(DType::F64, &[rows])));
    let (program, _) = to_program((x, d), |(x, d)| {
        let turned = x.permute(&[1, 0]);
        (turned * weights(&d)).matmul(&x)
    });
    program.optimize()
}

#[test]
fn a_weighted_gram_matrix_is_a_pass_over_its_array_and_half_a_product() {
    let program = gram(300, 120, |d| d.exp());
    let args = check(&program);
    let plan = plan(&program);
    assert_eq!((count(&plan, StepKind::Region), count(&plan, StepKind::Product)), (1, 1), "{program}");
    // The array is read where it lies, not gathered through its columns.
    let text = plan.explain(Detail::Instructions);
    assert!(!text.contains("load in0"), "{text}");
    // Half of the products, and the same numbers across the diagonal.
    let product = plan.step_infos().into_iter().find(|step| step.kind == StepKind::Product).expect("there is one");
    assert_eq!(product.operations, 2 * 300 * 120 * 121 / 2);
    let result = plan.eval(&args).expect("it runs").remove(0).to_f64();
    assert!((0..120).all(|i| (0..i).all(|j| result[i * 120 + j].to_bits() == result[j * 120 + i].to_bits())));
}

#[test]
fn products_that_only_look_symmetric_are_not_halved() {
    for text in [
        // Weights of the columns.
        "program(v0: f64[300,120], v1: f64[120]) {
            v2: f64[300,120] = broadcast[shape=[300,120], axes=[1]] v1
            v3: f64[300,120] = mul v0 v2
            v4: f64[120,120] = einsum[spec=\"ba,bc->ac\"] v3 v0
            return v4
        }",
        // Neighbouring columns of one array.
        "program(v0: f64[300,121]) {
            v1: f64[300,120] = slice[start=[0,0], limit=[300,120], stride=[1,1]] v0
            v2: f64[300,120] = slice[start=[0,1], limit=[300,121], stride=[1,1]] v0
            v3: f64[120,120] = einsum[spec=\"ba,bc->ac\"] v1 v2
            return v3
        }",
        // A matrix by itself, not by its transpose.
        "program(v0: f64[120,120]) { v1: f64[120,120] = einsum[spec=\"ab,bc->ac\"] v0 v0; return v1 }",
        // A quotient whose divisor depends on the column.
        "program(v0: f64[300,120], v1: f64[300,120]) {
            v2: f64[300,120] = div v0 v1
            v3: f64[120,120] = einsum[spec=\"ba,bc->ac\"] v2 v0
            return v3
        }",
    ] {
        let program = parsed(text);
        check(&program);
        let operations: usize = plan(&program).step_infos().iter().map(|step| step.operations).sum();
        assert!(operations >= 2 * 120 * 120 * 120, "{text}");
    }
}

#[test]
fn batches_of_symmetric_products_agree() {
    check(&parsed(
        "program(v0: f32[3,250,110], v1: f32[3,250]) {
            v2: f32[3,250,110] = broadcast[shape=[3,250,110], axes=[0,1]] v1
            v3: f32[3,250,110] = mul v2 v0
            v4: f32[3,250,110] = neg v3
            v5: f32[3,110,110] = einsum[spec=\"abc,abd->acd\"] v4 v0
            return v5
        }",
    ));
}

#[test]
fn chains_are_turned_only_for_products() {
    let body = "
        v1: f64[60,90] = permute[order=[1,0]] v0
        v2: f64[60,90] = sin v1
        v3: f64[60,90] = square v2
        v4: f64[60,60] = einsum[spec=\"ab,cb->ac\"] v3 v3";
    // Read by a product alone; a result too; added up too; beside an array that lies in order.
    let mixed = body.replace("square v2", "mul v2 v9");
    for (text, is_turned) in [
        (format!("program(v0: f64[90,60]) {{{body}\n return v4 }}"), true),
        (format!("program(v0: f64[90,60]) {{{body}\n return v4 v3 }}"), false),
        (format!("program(v0: f64[90,60]) {{{body}\n v5: f64[60] = sum[axes=[1]] v2\n return v4 v5 }}"), false),
        (format!("program(v0: f64[90,60], v9: f64[60,90]) {{{mixed}\n return v4 }}"), false),
    ] {
        let program = parsed(&text);
        check(&program);
        // A turned chain reads the array where it lies; others gather it.
        let instructions = plan(&program).explain(Detail::Instructions);
        assert_eq!(!instructions.contains("load in0"), is_turned, "{text}\n{instructions}");
    }
    // Three axes, of which the products take one as their batch.
    check(&parsed(
        "program(v0: f64[40,5,60], v1: f64[5,60,7]) {
            v2: f64[5,60,40] = permute[order=[1,2,0]] v0
            v3: f64[5,60,40] = exp v2
            v4: f64[5,40,7] = einsum[spec=\"abc,abd->acd\"] v3 v1
            return v4
        }",
    ));
}

#[test]
fn products_read_operands_that_lie_transposed() {
    for rows in [5, 512, 4096] {
        let program = parsed(&format!(
            "program(v0: f32[{rows},96], v1: f32[80,96]) {{
                v2: f32[{rows},80] = einsum[spec=\"ab,cb->ac\"] v0 v1
                return v2
            }}"
        ));
        check(&program);
        let plan = plan(&program);
        assert_eq!((plan.step_count(), count(&plan, StepKind::Product)), (1, 1), "nothing is copied");
    }
    // A vector reads a matrix in any order.
    let vector =
        parsed("program(v0: f32[96], v1: f32[80,96]) { v2: f32[80] = einsum[spec=\"b,cb->c\"] v0 v1; return v2 }");
    check(&vector);
    assert_eq!(plan(&vector).step_count(), 1);
    // With the operands exchanged, the columns of the result are those of the left one.
    check(&parsed(
        "program(v0: f32[80,96], v1: f32[512,96]) { v2: f32[512,80] = einsum[spec=\"ab,cb->ca\"] v0 v1; return v2 }",
    ));
}

#[test]
fn the_gradient_of_slices_is_joined_without_padding() {
    let program = parsed(
        "program(v0: f64[4,9]) {
            v1: f64[4,3] = slice[start=[0,0], limit=[4,3], stride=[1,1]] v0
            v2: f64[4,3] = slice[start=[0,3], limit=[4,6], stride=[1,1]] v0
            v3: f64[4,3] = slice[start=[0,6], limit=[4,9], stride=[1,1]] v0
            v4: f64[4,3] = mul v1 v2
            v5: f64[4,3] = sin v3
            v6: f64[4,3] = mul v4 v5
            v7: f64[] = sum[axes=[0,1]] v6
            return v7
        }",
    );
    let gradient = program.vjp(&[true]).expect("it has a derivative").optimize();
    let text = gradient.to_string();
    assert!(text.contains("concat") && !text.contains("pad"), "{text}");
    let x: Vec<f64> = check(&gradient)[0].to_f64();
    let args = [Array::new(&[4, 9], x.clone()), Array::new(&[], vec![1.0])];
    let found = plan(&gradient).eval(&args).expect("it runs").remove(1).to_f64();
    let wanted = |at: usize| {
        let [a, b, c] = [0, 3, 6].map(|start| x[at / 9 * 9 + start + at % 3]);
        [b * c.sin(), a * c.sin(), a * b * c.cos()][at % 9 / 3]
    };
    assert!((0..36).all(|at| (found[at] - wanted(at)).abs() < 1e-12), "{found:?}");
    // Two parts with a gap between them keep what is around.
    for (first, second) in [("[0,3], limit=[4,6]", "[0,6], limit=[4,8]"), ("[0,0], limit=[4,3]", "[0,5], limit=[4,7]")]
    {
        let program = parsed(&format!(
            "program(v0: f64[4,9]) {{
                v1: f64[4,3] = slice[start={first}, stride=[1,1]] v0
                v2: f64[4,2] = slice[start={second}, stride=[1,1]] v0
                v3: f64[4,3] = sin v1
                v4: f64[4,2] = exp v2
                v5: f64[] = sum[axes=[0,1]] v3
                v6: f64[] = sum[axes=[0,1]] v4
                v7: f64[] = mul v5 v6
                return v7
            }}"
        ));
        let gradient = program.vjp(&[true]).expect("it has a derivative").optimize();
        let args = check(&gradient);
        let found = plan(&gradient).eval(&args).expect("it runs").remove(1).to_f64();
        assert_eq!(found.iter().filter(|&&x| x == 0.0).count(), 16, "20 of 36 are read\n{gradient}");
    }
}
