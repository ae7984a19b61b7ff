//! Plans of Programs as people write them: the same bits for any number of threads, the same numbers on any instruction
//! set, and errors instead of the end of the process where memory is missing.

use std::process::Command;

use wengert::nn::{Visible, attention};
use wengert::ops::Unary;
use wengert::plan::{Options, Plan};
use wengert::prelude::*;
use wengert::primitives::{Broadcast, Cumulative, Literal, Permute, Reduce, Reducer, Running};
use wengert::{Array, Builder, ConvOptions, DType, ErrorKind, Program, Type, reference_steps, to_program};

use crate::support::Random;
use crate::support::engine::{Operands, check_engine};
use crate::support::process::alone;

fn tensor(random: &mut Random, shape: &[usize]) -> Tensor {
    Tensor::from_array(random.directions(&Type::new(DType::F64, shape)))
}

/// A loss of parameters: its Program and that of its gradient, with numbers for both.
fn with_gradient<const N: usize>(
    name: &'static str,
    parameters: [Tensor; N],
    loss: impl FnOnce(&[Tensor; N]) -> Tensor,
) -> [(&'static str, Program, Vec<Array>); 2] {
    let mut args: Vec<Array> = parameters.iter().map(Tensor::to_array).collect();
    let (program, captures) = to_program(parameters, |parameters| loss(&parameters));
    args.extend(captures.iter().map(Tensor::to_array));
    let active: Vec<bool> = (0..args.len()).map(|k| k < N).collect();
    let gradient = program.vjp(&active).expect("it has a derivative");
    let mut seeded = args.clone();
    seeded.push(Array::new(&[], vec![1.0]));
    [(name, program.optimize(), args), (name, gradient.optimize(), seeded)]
}

/// Small forms of what people compute.
fn workloads() -> Vec<(&'static str, Program, Vec<Array>)> {
    let mut random = Random::new(5);
    let mut all = Vec::new();
    let x = tensor(&mut random, &[96, 24]);
    let y = tensor(&mut random, &[96, 10]);
    let shapes: [&[usize]; 4] = [&[24, 40], &[40], &[40, 10], &[10]];
    all.extend(with_gradient("mlp", shapes.map(|shape| tensor(&mut random, shape)), |[w1, b1, w2, b2]| {
        let hidden = (x.matmul(w1) + b1).tanh();
        (hidden.matmul(w2) + b2).mse(&y)
    }));
    let images = tensor(&mut random, &[4, 3, 12, 12]);
    let shapes: [&[usize]; 2] = [&[8, 3, 3, 3], &[4, 8, 3, 3]];
    all.extend(with_gradient("convolutions", shapes.map(|shape| tensor(&mut random, shape)), |[k1, k2]| {
        let once = images.conv2d(k1, &ConvOptions::default()).relu();
        once.conv2d(k2, &ConvOptions::default()).square().mean()
    }));
    let shapes: [&[usize]; 3] = [&[2, 40, 16], &[2, 40, 16], &[2, 40, 8]];
    all.extend(with_gradient("attention", shapes.map(|shape| tensor(&mut random, shape)), |[q, k, v]| {
        attention(q, k, v, Visible::Causal).square().sum()
    }));
    let shapes: [&[usize]; 3] = [&[300, 48], &[48], &[48]];
    all.extend(with_gradient("layer norm", shapes.map(|shape| tensor(&mut random, shape)), |[x, gain, bias]| {
        x.layer_norm(gain, bias, 1e-5).sin().sum()
    }));
    let points = tensor(&mut random, &[500, 1, 3]);
    let shapes: [&[usize]; 2] = [&[7, 3], &[7]];
    all.extend(with_gradient("mixture", shapes.map(|shape| tensor(&mut random, shape)), |[means, weights]| {
        let distances = (&points - means).square().sum_over(2);
        (weights - distances * 0.5).exp().sum_over(1).ln().sum()
    }));
    let shapes: [&[usize]; 1] = [&[60_000]];
    all.extend(with_gradient("a long vector", shapes.map(|shape| tensor(&mut random, shape)), |[x]| {
        let x = x.sin() * x.exp();
        (x.square().sum() + 1.0).sqrt()
    }));
    all
}

fn plan(program: &Program, threads: usize) -> Plan {
    Plan::new(program, &Options { threads, ..Options::default() }).expect("without a limit")
}

#[test]
fn threads_and_repetition_do_not_change_the_bits() {
    for (name, program, args) in workloads() {
        let alone = plan(&program, 1).eval(&args).expect("it runs");
        for threads in [1, 2, 3, 7] {
            let plan = plan(&program, threads);
            for _ in 0..3 {
                let results = plan.eval(&args).expect("it runs");
                let same = alone.iter().zip(&results).all(|(x, y)| x.same_bits(y));
                assert!(same, "{name} with {threads} threads\n{program}");
            }
        }
    }
}

#[test]
fn workloads_agree_with_the_reference() {
    for (name, program, args) in workloads() {
        check_engine(&program, &args, 2, Operands::Tame).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
}

/// The results of the workloads, to ten digits: products are fused where the instruction set allows, others not.
fn digits() -> String {
    let mut text = String::new();
    for (name, program, args) in workloads() {
        let results = plan(&program, 2).eval(&args).expect("it runs");
        let sums: Vec<String> = results
            .iter()
            .map(|result| format!("{:.9e}", result.to_f64().iter().map(|x| x.abs()).sum::<f64>()))
            .collect();
        text += &format!("{name}: {}; ", sums.join(" "));
    }
    text
}

#[test]
#[expect(clippy::print_stdout, reason = "another test reads the output")]
fn reports_the_digits() {
    println!("digits: <{}>", digits());
}

#[test]
fn a_machine_without_wide_vectors_gives_the_same_digits() {
    let program = std::env::current_exe().expect("the test knows its own path");
    for level in ["baseline", "avx2"] {
        let output = Command::new(&program)
            .args(["--exact", "engine::reports_the_digits", "--nocapture"])
            .env("WENGERT_LEVEL", level)
            .output()
            .expect("the test starts itself");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("<{}>", digits())), "{level}: {text} instead of {}", digits());
    }
}

#[test]
fn regions_and_products_do_not_ask_the_reference_executor() {
    // The count is that of a process, and other tests ask the reference executor.
    alone("engine::regions_and_products_do_not_ask_the_reference_executor", || {
        let before = reference_steps();
        let program: Program = "program(v0: f64[8]) { v1: f64[8] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }"
            .parse()
            .expect("a program");
        plan(&program, 2).eval(&[Array::new(&[8], vec![0.5; 8])]).expect("it runs");
        assert_eq!(reference_steps(), before);
    });
}

// ---- memory --------------------------------------------------------------------------------------

/// `sum of the running sums of exp(x)` over a repeated number, and the exponentials as well if wanted.
fn long(count: usize, results: usize) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, &[]));
    let mut outputs = Vec::new();
    for _ in 0..results {
        let many = b.emit(Broadcast::new(&[count], &[]), &[x]).expect("one axis")[0];
        outputs.push(b.emit(Unary::Exp, &[many]).expect("a function")[0]);
    }
    if results == 0 {
        let many = b.emit(Broadcast::new(&[count], &[]), &[x]).expect("one axis")[0];
        let exp = b.emit(Unary::Exp, &[many]).expect("a function")[0];
        let running = b.emit(Cumulative::new(Running::Sum, 0, false), &[exp]).expect("one axis")[0];
        outputs.push(b.emit(Reduce::new(Reducer::Sum, &[0]), &[running]).expect("one axis")[0]);
    }
    b.finish(&outputs)
}

#[test]
fn large_arrays_are_planned_without_being_made() {
    let text = "program(v0: f32[2147483648]) { v1: f32[2147483648] = exp v0; v2: f32[] = sum[axes=[0]] v1; \
                v3: f32[2147483648] = neg v1; return v2 v3 }";
    let program: Program = text.parse().expect("a program");
    let plan = plan(&program, 2);
    assert_eq!(plan.result_bytes(), 4 * (1 << 31) + 4);
    let rest = plan.peak_bytes() - plan.result_bytes();
    assert!(rest < 1 << 20, "{rest} bytes beside the results");
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let x = [Array::new(&[], vec![0.5])];
    for (count, results) in [(1 << 45, 1), (1 << 45, 0), (1 << 59, 1), (1 << 59, 0), (1 << 59, 9), (1 << 59, 4)] {
        let plan = plan(&long(count, results), 2);
        assert!(plan.peak_bytes() >= count.saturating_mul(8).saturating_mul(results.max(1)), "{count} {results}");
        let error = plan.eval(&x).expect_err("no machine has as much");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    let error = "program(v0: f64[1152921504606846976]) { return v0 }".parse::<Program>().expect_err("too large");
    assert!(error.lacks_memory(), "{error}");
    // By every way to run.
    let program = long(1 << 45, 1);
    let compiled = program.compile().expect("a plan takes no memory");
    for error in [program.run(&x).expect_err("no memory"), compiled.run(&x).expect_err("no memory")] {
        assert!(error.kind() == ErrorKind::Unavailable && error.lacks_memory(), "{error}");
    }
    assert!(Tensor::try_zeros(&[1 << 45]).expect_err("no memory").lacks_memory());
    assert!(!Tensor::zeros(&[2]).try_add(Tensor::zeros(&[3])).expect_err("a misfit").lacks_memory());
}

#[test]
fn programs_run_on_the_engine() {
    for (name, program, args) in workloads() {
        let compiled = program.compile().expect("it can be planned");
        let (once, again) = (program.run(&args).expect("it runs"), compiled.run(&args).expect("it runs"));
        assert!(once.iter().zip(&again).all(|(x, y)| x.same_bits(y)), "{name}");
        let wanted = program.run_reference(&args).expect("it runs");
        for (x, y) in once.iter().zip(&wanted) {
            let (x, y) = (x.to_f64(), y.to_f64());
            let scale = y.iter().fold(1.0, |scale: f64, y| scale.max(y.abs()));
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() <= 1e-5 * scale), "{name}");
        }
    }
    let program: Program = "program(v0: f64[2]) { v1: f64[2] = exp v0; return v1 }".parse().unwrap();
    let misfit = [Array::new(&[3], vec![1.0; 3])];
    for error in [program.run(&misfit).unwrap_err(), program.compile().unwrap().run(&misfit).unwrap_err()] {
        assert_eq!((error.kind(), error.operation()), (ErrorKind::Misfit, "run"));
    }
}

#[test]
fn a_budget_that_is_too_small_names_one_that_would_do() {
    for (name, program, args) in workloads() {
        let with = |memory| Plan::new(&program, &Options { threads: 2, memory: Some(memory) });
        let error = with(100).expect_err("a hundred bytes");
        let text = error.to_string();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{name}: {text}");
        let least =
            text.split(" would do").next().and_then(|text| text.split(' ').next_back()).map(str::parse::<usize>);
        let least = least.and_then(Result::ok).unwrap_or_else(|| panic!("{name}: {text}"));
        assert!(with(least - 1).is_err(), "{name}: {text}");
        let plan = with(least).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(plan.peak_bytes() <= least);
        plan.eval(&args).expect("it runs");
    }
}

#[test]
fn a_budget_decides_what_is_computed_again() {
    // The exponentials are needed after their sum is known: they are stored, or computed twice.
    let count = 400_000;
    let text = format!(
        "program(v0: f64[{count}]) {{ v1: f64[{count}] = exp v0; v2: f64[] = sum[axes=[0]] v1; \
         v3: f64[{count}] = broadcast[shape=[{count}], axes=[]] v2; v4: f64[{count}] = div v1 v3; \
         v5: f64[{count}] = sin v4; v6: f64[] = sum[axes=[0]] v5; return v6 }}"
    );
    let program: Program = text.parse().expect("a program");
    let with = |memory| Plan::new(&program, &Options { threads: 2, memory }).expect("it can be planned");
    let (fastest, frugal) = (with(None), with(Some(8 * count)));
    assert!(fastest.peak_bytes() > 8 * count, "{} bytes", fastest.peak_bytes());
    assert!(frugal.peak_bytes() < count, "{} bytes", frugal.peak_bytes());
    let args = [Array::new(&[count], (0..count).map(|k| (k % 97) as f64 / 50.0).collect::<Vec<f64>>())];
    let [one, two] = [fastest, frugal].map(|plan| plan.eval(&args).expect("it runs").swap_remove(0));
    assert!(one.same_bits(&two), "{one:?} and {two:?}");
}

#[test]
fn operands_that_do_not_fit_are_refused() {
    let plan = plan(&long(10, 1), 1);
    for args in [vec![], vec![Array::new(&[1], vec![0.5])], vec![Array::new(&[], vec![0.5f32])]] {
        let error = plan.eval(&args).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::Misfit, "{error}");
    }
}

// ---- shapes --------------------------------------------------------------------------------------

#[test]
fn arrays_of_many_axes_are_planned() {
    for rank in [16, 17, 18, 19] {
        let mut b = Builder::new();
        let shape = vec![2; rank];
        let x = b.input("x", Type::new(DType::F32, &shape));
        let order: Vec<usize> = (0..rank).rev().collect();
        let turned = b.emit(Permute::new(&order), &[x]).expect("an order")[0];
        let sine = b.emit(Unary::Square, &[turned]).expect("a function")[0];
        let product = b.emit(wengert::ops::Binary::Mul, &[sine, x]).expect("one shape")[0];
        let program = b.finish(&[product, turned]);
        let args = [Array::new(&shape, (0..1 << rank).map(|k| k as f32 / 1e3).collect::<Vec<f32>>())];
        check_engine(&program, &args, 2, Operands::Tame).unwrap_or_else(|why| panic!("rank {rank}: {:.300}", why));
    }
}

#[test]
fn long_rows_of_views_are_added_up() {
    for (rows, cols) in [(3, 9000), (40, 8193), (2, 8192)] {
        let mut b = Builder::new();
        let x = b.input("x", Type::new(DType::F64, &[cols, rows]));
        let turned = b.emit(Permute::new(&[1, 0]), &[x]).expect("an order")[0];
        let half = b.emit(Literal::of(0.5, DType::F64), &[]).expect("a number")[0];
        let halves = b.emit(Broadcast::new(&[rows, cols], &[]), &[half]).expect("axes")[0];
        let reduce = |reducer| Reduce::new(reducer, &[0]);
        let outputs = [turned, halves].map(|value| {
            [Reducer::Sum, Reducer::Max].map(|reducer| b.emit(reduce(reducer), &[value]).expect("an axis")[0])
        });
        let program = b.finish(&outputs.concat());
        let args = [Array::new(&[cols, rows], (0..rows * cols).map(|k| (k % 1001) as f64).collect::<Vec<f64>>())];
        let got = plan(&program, 2).eval(&args).expect("it runs");
        let wanted = program.run_reference(&args).expect("it runs");
        assert!(got.iter().zip(&wanted).all(|(got, wanted)| got.same_bits(wanted)), "{rows} rows of {cols}");
    }
}

#[test]
fn sums_of_nothing_are_zero_whatever_the_other_operand_holds() {
    let text = "program(v0: f64[2,0], v1: f64[1,2]) { v2: f64[2,1] = einsum[spec=\"ij,kl->ik\"] v0 v1; return v2 }";
    let program: Program = text.parse().expect("a program");
    let args = [Array::new(&[2, 0], Vec::<f64>::new()), Array::new(&[1, 2], vec![f64::NAN, f64::INFINITY])];
    assert_eq!(plan(&program, 1).eval(&args).expect("it runs")[0].to_f64(), [0.0, 0.0]);
}

#[test]
fn the_first_of_cheap_values_is_not_taken_for_one_of_a_row() {
    // The conversion is cheap enough to be done again where its first element is used, on as many places as it has.
    let text = "program(v0: i64[2]) { v1: f64[2] = convert[to=f64] v0; \
                v2: f64[1] = slice[start=[0], limit=[1], stride=[1]] v1; v3: f64[] = sum[axes=[0]] v2; v4: f64[] = tanh v3; \
                v5: f64[2] = broadcast[shape=[2], axes=[]] v4; return v5 }";
    let program: Program = text.parse().expect("a program");
    check_engine(&program, &[Array::new(&[2], vec![1i64, 7])], 1, Operands::Tame).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn convolutions_read_views_where_they_lie() {
    let texts = [
        // Later images, every second channel, rows from the second one on.
        "program(v0: f64[3,4,5,2], v1: f64[2,2,2,2]) {
            v2: f64[2,2,4,2] = slice[start=[1,1,1,0], limit=[3,4,5,2], stride=[1,2,1,1]] v0
            v3: f64[2,2,3,1] = conv[OPTIONS] v2 v1
            return v3
        }",
        // No channels: a sum of nothing, from behind the end on.
        "program(v0: f64[1,2,3,2], v1: f64[2,0,1,1]) {
            v2: f64[1,0,2,2] = slice[start=[0,2,1,0], limit=[1,2,3,2], stride=[1,1,1,1]] v0
            v3: f64[1,2,2,2] = conv[OPTIONS] v2 v1
            return v3
        }",
    ];
    let options =
        "stride=[1,1], padding=[[0,0],[0,0]], input_dilation=[1,1], kernel_dilation=[1,1], groups=1, batch_groups=1";
    for text in texts.map(|text| text.replace("OPTIONS", options)) {
        let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
        let types = program.input_types().iter();
        let numbers = |ty: &Type| (0..ty.size()).map(|k| (k * 7 % 11) as f64 - 5.0).collect::<Vec<f64>>();
        let args: Vec<Array> = types.map(|ty| Array::new(&ty.shape, numbers(ty))).collect();
        check_engine(&program, &args, 2, Operands::Tame).unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn numbers_and_inputs_may_be_results() {
    let texts = [
        "program(v0: i64[3]) { return v0 v0 }",
        "program(v0: bool[2]) { v1: bool[1,2] = reshape[shape=[1,2]] v0; return v1 v0 }",
        "program() { v0: i64[] = constant[value=3i64]; return v0 v0 }",
        "program() { v0: bool[] = constant[value=true]; return v0 }",
    ];
    for text in texts {
        let Ok(program) = text.parse::<Program>() else { panic!("{text}") };
        let args: Vec<Array> = program.input_types().iter().map(Array::zeros).collect();
        check_engine(&program, &args, 1, Operands::Tame).unwrap_or_else(|why| panic!("{why}"));
    }
}
