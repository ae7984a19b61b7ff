//! What a branch keeps for its derivative.

use crate::array::Array;
use crate::primitives::{Op, Wiring};
use crate::program::Program;

/// A function of a condition, x and y with an exponential in one branch and a sine of a product in the other.
const BRANCHES: &str = "program(v0: bool[], v1: f64[3], v2: f64[3]) {
    v3: f64[3] = cond[yes=program(v0: f64[3], v1: f64[3]) {
        v2: f64[3] = exp v0; v3: f64[3] = mul v2 v1; v4: f64[3] = sin v3; return v4
    }, no=program(v0: f64[3], v1: f64[3]) {
        v2: f64[3] = mul v0 v1; v3: f64[3] = sin v2; return v3
    }] v0 v1 v2
    return v3
}";

/// How often an operation occurs, in the Programs inside too.
fn count(program: &Program, name: &str) -> usize {
    let own = |op: &Op| usize::from(op.name() == name);
    let inside = |op: &Op| op.programs().into_iter().map(|inner| count(inner, name)).sum::<usize>();
    program.eqns().iter().map(|eqn| own(&eqn.op) + inside(&eqn.op)).sum()
}

fn inputs(condition: bool) -> Vec<Array> {
    let (x, y) = (vec![0.3, -0.7, 1.1], vec![0.9, 0.2, -1.4]);
    vec![Array::scalar(condition), Array::new(&[3], x), Array::new(&[3], y)]
}

#[test]
fn a_branch_runs_once_and_keeps_its_residuals() {
    let program: Program = BRANCHES.parse().unwrap();
    let active = [false, true, true];
    let parts = program.linearize(&active).unwrap();
    // The exponential and both sines are in the primal part, and nothing of them in the linear one.
    assert_eq!((count(&parts.primal, "exp"), count(&parts.primal, "sin")), (1, 2));
    assert_eq!(["exp", "sin", "cos"].map(|name| count(&parts.linear, name)), [0; 3], "{}", parts.linear);
    // exp(x) and cos(exp(x) y) in one branch, cos(x y) in the other, which takes a slot of the first. x and y are passed on.
    let slots = parts.residual_bytes() - (1 + 2 * 24);
    assert_eq!(slots, 2 * 24, "{}", parts.primal);
    let pullback = program.vjp(&active).unwrap().optimize();
    assert_eq!(count(&pullback, "exp"), 1, "{pullback}");
}

#[test]
fn derivatives_of_the_branch_that_is_taken_are_those_of_its_program() {
    let program: Program = BRANCHES.parse().unwrap();
    let Op::Cond(cond) = &program.eqns()[0].op else { panic!("a cond") };
    let ct = Array::new(&[3], vec![1.0, -2.0, 0.5]);
    for (condition, branch) in [(true, &cond.branches[0]), (false, &cond.branches[1])] {
        let args = inputs(condition);
        // Of first order, and of the gradient along x.
        let (whole, alone) = (program.vjp(&[false, true, true]).unwrap(), branch.vjp(&[true, true]).unwrap());
        let run = |program: &Program, args: &[Array]| {
            let args: Vec<Array> = args.iter().chain([&ct]).cloned().collect();
            let results: Vec<Vec<f64>> = program.run(&args).unwrap().iter().map(Array::to_f64).collect();
            results
        };
        assert_eq!(run(&whole, &args), run(&alone, &args[1..]));
        let second = |program: &Program, x: usize, inputs: usize| {
            let marks: Vec<bool> = (0..inputs).map(|k| k == x).collect();
            program.jvp(&marks).unwrap()
        };
        assert_eq!(
            run(&second(&whole, 1, 4), &[&args[..], std::slice::from_ref(&ct)].concat()),
            run(&second(&alone, 0, 3), &[&args[1..], std::slice::from_ref(&ct)].concat())
        );
    }
}

#[test]
fn operations_with_programs_say_how_they_are_connected() {
    for sample in crate::primitives::samples() {
        let programs = sample.op.programs();
        let Wiring::OneOf { first } = sample.op.wiring() else { continue };
        assert!(!programs.is_empty(), "{:?}", sample.op);
        for program in &programs {
            assert_eq!(program.input_types().len() + first, sample.args.len(), "{:?}", sample.op);
        }
        let same = sample.op.with_programs(programs.into_iter().cloned().collect());
        assert_eq!(same, sample.op);
    }
}
