//! Tests of what is private here.

use std::collections::HashSet;
use std::fmt::Write;

use super::*;
use crate::array::{Array, Type};
use crate::plan::{Options, Plan, Step, StepWork};
use crate::program::Program;

/// Running sums of the products of a matrix's rows with what came before. A running sum is a kernel, so that each
/// product is a region of its own.
fn rows(reversed: bool) -> Program {
    let mut text = "program(v0: f64[10,40], v1: f64[40]) {\n".to_owned();
    let mut last = 1;
    let mut next = 2;
    for k in 0..10 {
        let mut line = |ty: &str, op: &str, args: &[usize]| {
            let args: Vec<String> = args.iter().map(|arg| format!("v{arg}")).collect();
            let _ = writeln!(text, "  v{next}: f64[{ty}] = {op} {}", args.join(" "));
            next += 1;
            next - 1
        };
        let row = line("1,40", &format!("slice[start=[{k},0], limit=[{},40], stride=[1,1]]", k + 1), &[0]);
        let mut row = line("40", "reshape[shape=[40]]", &[row]);
        if reversed {
            row = line("40", "reverse[axes=[0]]", &[row]);
        }
        let product = line("40", "mul", &[row, last]);
        last = line("40", "cumsum[axis=0, reverse=false]", &[product]);
    }
    let _ = write!(text, "  return v{last}\n}}");
    text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"))
}

/// How many regions there are, and how many different ones.
fn regions(plan: &Plan) -> (usize, usize) {
    let all = plan.steps().iter().filter_map(|step| match &step.work {
        StepWork::Region(region) => Some(Arc::as_ptr(region)),
        _ => None,
    });
    let all: Vec<*const Region> = all.collect();
    (all.len(), all.iter().collect::<HashSet<_>>().len())
}

#[test]
fn rows_share_a_region() {
    for reversed in [false, true] {
        let program = rows(reversed);
        let plan = Plan::new(&program, &Options::default()).expect("without a limit");
        assert_eq!(regions(&plan), (10, 1), "reversed: {reversed}");
        let numbers = |ty: &Type| (0..ty.size()).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>();
        let inputs: Vec<Array> = program.input_types().iter().map(|ty| Array::new(&ty.shape, numbers(ty))).collect();
        let (found, wanted) = (program.run(&inputs).unwrap(), program.run_reference(&inputs).unwrap());
        assert_eq!(found[0].to_f64(), wanted[0].to_f64());
    }
}

#[test]
fn additions_to_rows_share_a_kernel() {
    // Too few columns for lanes.
    let rows = 12;
    let mut text = format!("program(v0: f64[{rows},40], v1: f64[1,40]) {{\n");
    let _ = writeln!(text, "  v2: f64[{rows},40] = cumsum[axis=0, reverse=false] v0;");
    for k in 0..rows {
        let (before, after) = (2 + k, 3 + k);
        let _ = writeln!(text, "  v{after}: f64[{rows},40] = update_add[start=[{k},0], stride=[1,1]] v{before} v1;");
    }
    let _ = writeln!(text, "  return v{}\n}}", 2 + rows);
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let plan = Plan::new(&program, &Options::default()).expect("without a limit");
    let kernels: Vec<_> = plan.steps().iter().filter(|step| step.provenance.names[0] == "update_add").collect();
    let different = |of: fn(&Step) -> *const u8| kernels.iter().map(|step| of(step)).collect::<HashSet<_>>().len();
    let kernel = |step: &Step| match &step.work {
        StepWork::Kernel(kernel, _) => Arc::as_ptr(kernel).cast::<u8>(),
        work => panic!("{work:?}"),
    };
    assert_eq!((kernels.len(), different(kernel)), (rows, 1));
    assert_eq!(different(|step| Arc::as_ptr(&step.provenance).cast()), 1);
    let numbers = |ty: &Type| (0..ty.size()).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>();
    let inputs: Vec<Array> = program.input_types().iter().map(|ty| Array::new(&ty.shape, numbers(ty))).collect();
    let (found, wanted) = (program.run(&inputs).unwrap(), program.run_reference(&inputs).unwrap());
    assert_eq!(found[0].to_f64(), wanted[0].to_f64());
}
