//! Numbers taken out of a function that is differentiated: an error that names the line wherever a
//! derivative would miss them, and free everywhere else.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wengert::prelude::*;
use wengert::{ErrorKind, Grad, Status, find_nonfinite, listing, to_program, vjp};

/// A function of a variable, and its name.
type Named = (&'static str, fn(Var) -> Var);
/// What is done to a tensor, and its name.
type Way<'a> = (&'a str, &'a dyn Fn(&Tensor));
/// The same with an error.
type Try<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Result<(), wengert::Error>);
/// A way to take a number out.
type Reading = fn(Var) -> f64;

/// Runs what has to panic, and gives the message.
#[track_caller]
fn refused<R>(what: &str, f: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).err().unwrap_or_else(|| panic!("{what}: the number was taken out"));
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a message")).to_owned(),
    }
}

/// Nobody needs the result.
fn ran<R>(_: R) {}

/// That the message names a method, this file's line, and the way out.
#[track_caller]
fn names(what: &str, text: &str, method: &str, line: u32) {
    let here = format!("tests/all/taken.rs:{line}:");
    assert!(text.starts_with(&format!("`{method}`")) && text.contains(&here), "{what}: {text}");
    assert!(text.contains("`detach()`"), "{what}: {text}");
}

#[test]
fn every_driver_of_scalars_refuses_the_number_of_a_variable() {
    const LINE: u32 = line!() + 2;
    // One line, so that every driver names the same.
    let f = |x: Var| x * x * (x * x).value();
    let pair = |x: Var| (f(x), x);
    let drivers: [(&str, &dyn Fn()); 18] = [
        ("grad", &|| ran(grad(2.0, f))),
        ("value_and_grad", &|| ran(value_and_grad(2.0, f))),
        ("value_and_grad_aux", &|| ran(value_and_grad_aux(2.0, pair))),
        ("jvp", &|| ran(jvp(2.0, 1.0, f))),
        ("vjp", &|| ran(vjp(2.0, f))),
        ("jacobian", &|| ran(jacobian(2.0, |x| [f(x), x]))),
        ("hessian", &|| ran(hessian(2.0, f))),
        ("hvp", &|| ran(hvp(2.0, 1.0, f))),
        ("taylor", &|| ran(taylor(2.0, 1.0, 3, f))),
        ("record", &|| ran(record(2.0, f))),
        ("Grad::at", &|| ran(Grad::of(f).at(2.0))),
        ("Grad::status", &|| ran(Grad::of(f).status(2.0))),
        ("find_nonfinite", &|| ran(find_nonfinite(2.0, f))),
        ("listing", &|| ran(listing(2.0, f))),
        ("grad in grad", &|| ran(grad(2.0, |x| grad(x, f)))),
        ("a captured variable", &|| ran(grad(2.0, |x| grad(lift(3.0), |y| y * f(x))))),
        ("a captured variable at plain numbers", &|| ran(grad(2.0, |x| x * grad(3.0, |y| y * f(x).detach())))),
        ("record in grad", &|| ran(grad(2.0, |x| record(2.0, f).value(x)))),
    ];
    for (name, driver) in drivers {
        let text = refused(name, driver);
        names(name, &text, "value", LINE);
    }
}

#[test]
fn the_message_names_the_driver_too() {
    let line = line!() + 1;
    let text = refused("grad", || grad(2.0, |x| x * x.value()));
    assert!(text.contains(&format!("differentiated at crates/wengert/tests/all/taken.rs:{line}:")), "{text}");
    // Of two, the one whose variable it is.
    let outer = line!() + 1;
    let text = refused("nested", || grad(2.0, |x| grad(lift(3.0), |y| y * x.sin().value())));
    assert!(text.contains(&format!("tests/all/taken.rs:{outer}:")), "{text}");
}

#[test]
fn a_derivative_flows_through_everything_but_steps() {
    let through: [Named; 9] = [
        ("the variable", |x| x),
        ("a chain", |x| (0..1000).fold(x, |y, _| y * 0.99 + 0.1)),
        ("a sum with a step", |x| x.floor() + x),
        ("select", |x| Real::select(x.less(lift(0.0)), x, -x)),
        ("an inner derivative", |x| grad(x, |y| y * y * y)),
        ("an inner derivative by a capture", |x| grad(lift(3.0), |y| y * y * x)),
        ("arrays", |x| (Tensor::from(x) * Tensor::from([1.0, 2.0])).sum().to_var()),
        ("arrays and back", |x| Tensor::from((Tensor::from(x) * 2.0).to_var()).to_var()),
        ("an inner derivative of arrays", |x| {
            let x = Tensor::from(x);
            grad(&Tensor::from([1.0, 2.0]), |t| (t.square() * &x).sum()).sum().to_var()
        }),
    ];
    for (name, f) in through {
        let text = refused(name, || grad(2.0, |x| x * f(x).value()));
        assert!(text.contains("`value`") && text.contains("`detach()`"), "{name}: {text}");
        let text = refused(name, || grad(2.0, |x| x * Tensor::from(f(x)).item()));
        assert!(text.contains("`item`") && text.contains("`detach()`"), "{name}: {text}");
        // Asked for, it is a constant.
        let constant = f(lift(2.0)).value();
        assert_eq!(grad(2.0, |x| x * f(x).detach().value()), constant, "{name}");
        assert_eq!(grad(2.0, |x| x * Tensor::from(f(x)).detach().item()), constant, "{name}");
        // Where arrays come back as variables there is no status.
        if !name.contains("arrays") {
            let status = Grad::of(|x: Var| x * f(x).detach().value()).status(2.0);
            assert!(matches!(status, Status::Severed(cut) if cut.by == "detach"), "{name}");
        }
    }
}

#[test]
fn constants_and_steps_are_free() {
    let free: [(&str, Reading, f64); 8] = [
        ("a constant", |_| (lift(2.0) * 3.0).value(), 6.0),
        ("a step", |x| (x * 1.4).floor().value(), 3.0),
        ("what follows a step", |x| (x.round() * 2.0 - 1.0).sqrt().value(), 3f64.sqrt()),
        ("a power of 0", |x| x.powi(0).value(), 1.0),
        ("an inner derivative of constants", |_| grad(lift(3.0), |y| y * y).value(), 6.0),
        ("an inner derivative at plain numbers", |_| grad(3.0, |y| y * y), 6.0),
        ("an array of constants", |_| Tensor::from([1.0, 2.0]).sum().to_var().value(), 3.0),
        ("an index", |x| (Tensor::from(x) - Tensor::from([5.0, 2.5])).abs().argmin(0).item(), 1.0),
    ];
    for (name, f, value) in free {
        assert_eq!(grad(2.5, |x| x * f(x)), value, "{name}");
        assert_eq!(grad(2.5, |x| x * x * grad(x, |y| y * f(y))), 5.0 * value, "{name}, nested");
        assert_eq!(Grad::of(|x: Var| x * f(x)).status(2.5), Status::Connected, "{name}");
    }
}

#[test]
fn comparing_and_printing_are_free() {
    let f = |x: Var| {
        let shown = format!("{x} {x:?}");
        assert_eq!(shown, "2.5 2.5");
        if x > 1.0 && x == x && x.partial_cmp(&3.0).is_some() { x * x } else { -x }
    };
    assert_eq!(grad(2.5, f), 5.0);
    assert_eq!(record(2.5, f).grad(2.5), 5.0);
    let f = |t: Tensor| {
        assert_eq!(t.to_string(), "[1.0 2.0]");
        assert!(format!("{t:?}").contains("f64[2]"));
        if t.sum().gt(0.0).test() && t.gt(0.0).all().test() { t.square().sum() } else { -t.sum() }
    };
    assert_eq!(grad(&Tensor::from([1.0, 2.0]), f).to_vec(), [2.0, 4.0]);
}

#[test]
fn every_driver_of_tensors_refuses_the_number_of_a_variable() {
    const LINE: u32 = line!() + 2;
    let x = || Tensor::from([1.0, 2.0]);
    let f = |t: Tensor| t.square().sum() * t.sum().item();
    let drivers: [(&str, &dyn Fn()); 15] = [
        ("grad", &|| ran(grad(&x(), f))),
        ("value_and_grad", &|| ran(value_and_grad(&x(), f))),
        ("value_and_grad_aux", &|| ran(value_and_grad_aux(&x(), |t| (f(t.clone()), t)))),
        ("jvp", &|| ran(jvp(&x(), &x(), f))),
        ("vjp", &|| ran(vjp(&x(), f))),
        ("jacobian", &|| ran(jacobian(&x(), |t| t.clone() * f(t)))),
        ("hessian", &|| ran(hessian(&x(), f))),
        ("hvp", &|| ran(hvp(&x(), &x(), f))),
        ("Grad::at", &|| ran(Grad::of(f).at(&x()))),
        ("Grad::status", &|| ran(Grad::of(f).status(&x()))),
        ("find_nonfinite", &|| ran(find_nonfinite(&x(), f))),
        ("grad in grad", &|| ran(grad(&x(), |t| grad(&t, f).sum()))),
        ("a captured variable", &|| ran(grad(&x(), |t| grad(&x(), |u| (u * f(t.clone())).sum()).sum()))),
        ("checkpoint in grad", &|| ran(grad(&x(), |t| checkpoint(&t, f)))),
        ("grad in compile", &|| ran(compile(move |_: Tensor| grad(&x(), f)).call(&x()))),
    ];
    for (name, driver) in drivers {
        let text = refused(name, driver);
        names(name, &text, "item", LINE);
    }
    // Where a tensor has no number at all, detached or not, the message says that instead.
    let numberless: [(&str, &dyn Fn()); 5] = [
        ("vmap", &|| ran(vmap(x(), |t| &t * t.detach().item()))),
        ("compile", &|| ran(compile(|t: Tensor| &t * t.detach().sum().item()).call(&x()))),
        ("grad of what is compiled", &|| {
            ran(compile(|t: Tensor| grad(&t, |t| &t.sum() * t.detach().sum().item())).call(&x()));
        }),
        ("to_program", &|| ran(to_program(x(), |t| &t * t.detach().sum().item()))),
        ("cond", &|| {
            ran(grad(&x(), |t| cond(&t.sum().gt(0.0), &t, |t| &t * t.detach().sum().item(), |t| t).sum()));
        }),
    ];
    for (name, driver) in numberless {
        let text = refused(name, driver);
        assert!(text.starts_with("`item`") && text.contains("tests/all/taken.rs") && text.contains("`cond`"), "{text}");
    }
}

#[test]
fn every_way_out_of_a_tensor_is_refused() {
    let x = Tensor::from([1.0, 2.0]);
    let ways: [Way<'_>; 3] =
        [("item", &|t| ran(t.sum().item())), ("to_vec", &|t| ran(t.to_vec())), ("to_array", &|t| ran(t.to_array()))];
    for (name, way) in ways {
        let text = refused(name, || grad(&x, |t| (way(&t), t.sum()).1));
        assert!(text.starts_with(&format!("`{name}` of f64[")), "{text}");
        grad(&x, |t| (way(&t.detach()), t.sum()).1);
    }
    let tries: [Try<'_>; 3] = [
        ("item", &|t| t.sum().try_item().map(ran)),
        ("to_array", &|t| t.try_to_array().map(ran)),
        ("to_array", &|t| t.clone().try_into_array().map(ran)),
    ];
    for (name, way) in tries {
        grad(&x, |t| {
            let error = way(&t).expect_err("a derivative flows to it");
            assert_eq!((error.kind(), error.operation()), (ErrorKind::Active, name));
            assert!(error.line().is_some_and(|line| line.file().ends_with("taken.rs")), "{error}");
            way(&t.detach()).expect("detached");
            way(&x).expect("captured numbers");
            t.sum()
        });
    }
}

#[test]
fn the_example_of_a_factor_is_right_or_refused() {
    let x = Tensor::from([1.0, 2.0]);
    assert_eq!(grad(&x, |t| t.square().sum() * t.sum()).to_vec(), [11.0, 17.0]);
    refused("a factor", || grad(&x, |t| t.square().sum() * t.sum().item()));
    let detached = Grad::of(|t: Tensor| t.square().sum() * t.detach().sum().item());
    let (_, gradient) = detached.at(&x).expect("nothing is denied");
    assert_eq!(gradient.to_vec(), [6.0, 12.0]);
    assert!(matches!(detached.status(&x), Status::Severed(cut) if cut.by == "detach"));
}

#[test]
fn checkpoints_of_constants_and_detached_parts_may_be_read() {
    let x = Tensor::from([1.0, 2.0]);
    // Outside drivers nothing is differentiated.
    assert_eq!(checkpoint(&x, |t| &t * t.sum().item()).to_vec(), [3.0, 6.0]);
    let inside = |t: Tensor| checkpoint(&t, |t| t.detach()).sum().item();
    assert_eq!(grad(&x, |t| t.sum() * inside(t)).to_vec(), [3.0, 3.0]);
}

#[test]
fn arrays_inside_a_recorded_function_keep_their_numbers() {
    // Also a detached number or a branch would be frozen for other inputs.
    let frozen: [Named; 4] = [
        ("item", |x| x * Tensor::from(x).item()),
        ("item", |x| x * Tensor::from(x).detach().item()),
        ("test", |x| if Tensor::from(x).gt(0.0).test() { x } else { -x }),
        ("value", |x| x * x.detach().value()),
    ];
    for (name, f) in frozen {
        let text = refused(name, || record(2.0, f));
        assert!(text.starts_with(&format!("`{name}`")) && text.contains("at other inputs"), "{text}");
    }
}

#[test]
fn a_variable_that_outlived_its_driver_has_no_number() {
    let mut leaked = lift(0.0);
    grad(2.0, |x| {
        leaked = x;
        x
    });
    assert!(refused("leaked", || leaked.value()).contains("whose recording has ended"));
}
