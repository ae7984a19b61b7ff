//! What people type wrong, as far as the compiler cannot tell: the panic points at their line, and its message names the
//! operation and what to write instead. What the compiler can tell is in the tests of the crate of macros.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use wengert::prelude::*;
use wengert::{Array, CustomRule, Error, Lanes, Program};

use crate::support::caught::caught;

thread_local! {
    static FILE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The message of the panic, and the file that it points at.
fn panic_of(what: &str, mistake: impl FnOnce()) -> (String, String) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            FILE.set(info.location().map_or_else(String::new, |location| location.file().to_owned()));
            usual(info);
        }));
    });
    let message = caught(what, mistake).expect_err(what);
    (message, FILE.take())
}

/// A function generic over its numbers that takes one out.
fn table<R: Real>(x: R) -> R {
    x * x.value().floor()
}

/// Name, what the message has to say, and the mistake.
type Mistake<'a> = (&'a str, &'a [&'a str], &'a dyn Fn());

fn check(mistakes: &[Mistake]) {
    let mut wrong = Vec::new();
    for &(what, says, mistake) in mistakes {
        let (message, file) = panic_of(what, mistake);
        let lacks = says.iter().filter(|text| !message.contains(**text));
        wrong.extend(lacks.map(|text| format!("no `{text}` in: {message}")));
        if !file.ends_with("mistakes.rs") {
            wrong.push(format!("it points at {file}: {message}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn mistakes_with_numbers_name_the_remedy() {
    check(&[
        ("a number is taken out", &["`value` at", "mistakes.rs", "detach()"], &|| {
            grad(2.0, |x| x * x.value());
        }),
        ("a number is taken out of generic code", &["`value` at", "detach()"], &|| {
            grad(2.0, table);
        }),
        ("a number is taken out of a dual", &["`value` at", "Dual", "detach()"], &|| {
            table(Dual::variable(2.0));
        }),
        ("a variable outlives its recording", &["`mul` at", "return values from the closure"], &|| {
            let mut kept = lift(0.0);
            grad(2.0, |x| {
                kept = x;
                x
            });
            let _ = kept * kept;
        }),
        ("a function of such a variable", &["`sin` at", "return values from the closure"], &|| {
            let mut kept = lift(0.0);
            grad(2.0, |x| {
                kept = x;
                x
            });
            kept.sin();
        }),
        ("a plain inner driver", &["plain f64", "`lift`"], &|| {
            grad(2.0, |x| x * grad(3.0, |y| x * y * y));
        }),
        ("a number is frozen in a recording", &["`value` at", "compare the Var itself"], &|| {
            record(2.0, |x| x.detach().value() * x);
        }),
        ("a strict recording elsewhere", &["mistakes.rs"], &|| {
            record(2.0, |x| if x > 1.0 { x } else { -x }).strict().value(0.5);
        }),
        ("lanes disagree", &["Real::select"], &|| {
            let x = Lanes([1.0, 3.0]);
            let _ = if x < 2.0 { x } else { -x };
        }),
        ("a direction of another size", &["`jvp`", "tangent has 1 numbers where 2"], &|| {
            jvp([1.0, 2.0], [1.0], |[x, y]| x * y);
        }),
        ("a direction of more tensors", &["`jvp`", "tangent has 2 tensors where 1"], &|| {
            let x = Tensor::from([1.0, 2.0]);
            jvp(&x, (&x, &x), |x| x.square());
        }),
        ("a cotangent of fewer tensors", &["`pull`", "cotangent has 1 tensors where 2"], &|| {
            let x = Tensor::from([1.0, 2.0]);
            vjp(&x, |x| (x.square(), x.sin())).1.pull(&x);
        }),
        ("a derivative beyond the series", &["2 coefficients", "order 2"], &|| {
            Taylor::<2, f64>::variable(1.0).derivative(2);
        }),
    ]);
}

#[test]
fn mistakes_with_recorded_functions_name_the_remedy() {
    let f = record([1.0, 2.0], |[x, y]| (x * y, x - y));
    let loss = record([1.0, 2.0], |[x, y]| if x > 0.0 { x * y } else { x - y });
    let strict = record([1.0, 2.0], |[x, y]| if x > 0.0 { x * y } else { x - y }).strict();
    let lists = record((vec![1.0, 2.0], vec![3.0]), |(a, b)| a[0] * b[0]);
    let other = (vec![1.0], vec![2.0, 3.0]);
    let structure = &["a recorded function: the point has another structure", "mistakes.rs:"][..];
    check(&[
        ("a point of another size", &["point has 1 numbers where 2"], &|| _ = loss.value([1.0])),
        ("a tangent of another size", &["`jvp`", "tangent has 3 numbers where 2"], &|| _ = f.jvp([1.0, 2.0], [1.0; 3])),
        ("a cotangent of another size", &["`vjp`", "cotangent has 1 numbers where 2"], &|| _ = f.vjp([1.0, 2.0], 1.0)),
        ("the same with the value", &["`vjp`", "cotangent has 1"], &|| _ = f.value_and_vjp([1.0, 2.0], 1.0)),
        ("many points of another size", &["point has 1 numbers where 2"], &|| _ = loss.grad_many(&[[1.0]])),
        ("many strict points", &["mistakes.rs"], &|| _ = strict.grad_many(&[[1.0, 1.0], [-1.0, 1.0], [-2.0, 1.0]])),
        ("many tangents of another size", &["`jvp_many`", "tangent has 1"], &|| _ = f.jvp_many(&[[1.0; 2]], &[1.0])),
        ("many cotangents of another size", &["`vjp`", "cotangent has 3"], &|| {
            _ = f.vjp_many(&[[1.0; 2]], &[[1.0; 3]])
        }),
        ("many vectors of another size", &["`hvp_many`", "vector has 1"], &|| _ = loss.hvp_many(&[[1.0; 2]], &[1.0])),
        ("multipliers", &["`sparse_hessian_of_lagrangian`", "multipliers has 3 numbers where 1"], &|| {
            f.sparse_hessian_of_lagrangian([1.0, 2.0], 1.0, [1.0; 3]);
        }),
        ("a sparse point of another size", &["point has 1 numbers where 2"], &|| _ = loss.sparse_hessian([1.0])),
        ("lists of other lengths", structure, &|| _ = lists.value(other.clone())),
        ("many of them", structure, &|| _ = lists.grad_many(std::slice::from_ref(&other))),
        ("with a sparse matrix", structure, &|| _ = lists.sparse_jacobian(&other)),
        ("a tangent for other leaves", &["`jvp`", "tangent has the leaf `1.0` where `0.1` is needed"], &|| {
            jvp((vec![1.0, 2.0], vec![3.0]), &other, |(a, b)| a[0] * b[0]);
        }),
        ("a vector for other leaves", &["`hvp`", "vector has the leaf `1` where `0` is needed"], &|| {
            hvp((Some(1.0), None::<f64>), (None::<f64>, Some(1.0)), |(a, _)| a.expect("given").square());
        }),
    ]);
}

#[test]
fn mistakes_with_tensors_name_the_remedy() {
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let [row, counts] = [Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1_i64, 2])];
    check(&[
        ("shapes do not fit", &["`matmul`", "[2,2]", "f64[3]"], &|| _ = x.matmul(&row)),
        ("the loss is not one number", &["[2,2]", "sum"], &|| _ = grad(&x, |x| x.square())),
        ("item of several elements", &["`item`", "exactly one element"], &|| _ = x.item()),
        ("item of what is differentiated", &["`item`", "detach()"], &|| _ = grad(&x, |x| x.sum().item() * x.sum())),
        ("another number of elements", &["`reshape`", "[2,2]"], &|| _ = x.reshape((3, 2))),
        ("a fraction in integers", &["0.5"], &|| _ = &counts + 0.5),
    ]);
}

#[test]
fn wrong_numbers_of_marks_and_operands_are_errors() {
    let program: Program = "program(v0: f64[3], v1: f64[3]) { v2: f64[3] = mul v0 v1; return v2 }".parse().unwrap();
    let inputs = [Array::zeros(&program.input_types()[0]), Array::zeros(&program.input_types()[1])];
    let failed: [(&str, Option<Error>); 9] = [
        ("`jvp`", program.jvp(&[true]).err()),
        ("`vjp`", program.vjp(&[true; 3]).err()),
        ("`linearize`", program.linearize(&[]).err()),
        ("`transpose`", program.transpose(&[true]).err()),
        ("`vmap`", program.vmap(&[true; 3], 2).err()),
        ("`jacobian_pattern`", program.jacobian_pattern(&[true]).err()),
        ("`jacobian_pattern_at`", program.jacobian_pattern_at(&[true], &inputs).err()),
        ("`same_pattern_at`", program.same_pattern_at(&[true], &inputs, &inputs).err()),
        ("`hessian_pattern`", program.hessian_pattern(3).err()),
    ];
    for (method, error) in failed {
        let error = error.expect(method).to_string();
        for part in [method, "mistakes.rs:", "takes 2 inputs", "f64[3]"] {
            assert!(error.contains(part), "no {part} in: {error}");
        }
    }

    // The functions of a rule index their operands, and would panic on their own lines.
    let product = CustomRule::jvp("product", |x| vec![&x[0] * &x[1]], |x, dot| vec![&x[0] * &dot[1] + &x[1] * &dot[0]]);
    let foreign = CustomRule::foreign(
        "product",
        |x| x[1].clone(),
        |x| Array::new(x[1].shape(), x[1].to_f64().iter().zip(x[0].to_f64()).map(|(y, x)| x * y).collect::<Vec<f64>>()),
    );
    let [x, y] = [Tensor::from([2.0, 3.0]), Tensor::from([0.5, 0.7])];
    for rule in [product.register(&[&[x.clone(), y.clone()]]), foreign.register(&[&[x.clone(), y.clone()]])] {
        let rule = rule.unwrap();
        assert_eq!(rule.call(&[&x, &y])[0].to_vec(), [1.0, 3.0 * 0.7]);
        for operands in [&[&x][..], &[&x, &y, &x], &[]] {
            let error = rule.try_call(operands).expect_err("another number of operands").to_string();
            let counts = format!("checked with 2 operands, and is called with {}", operands.len());
            for part in ["`product`", "mistakes.rs:", &counts] {
                assert!(error.contains(part), "no {part} in: {error}");
            }
        }
    }
}
