//! Status of a gradient, hunting for NaN, listings: with the user's lines.

use wengert::prelude::*;
use wengert::{Grad, Operand, Pass, Status, find_nonfinite, listing};

#[test]
fn a_status_says_what_a_derivative_leaves_out() {
    let f = |[a, b, c, d, e]: [Var; 5]| {
        let taken = c.detach().value();
        a * b.detach() + taken * a + d.floor() + if e > 0.0 { a } else { -a }
    };
    let [a, b, c, d, e] = Grad::of(f).status([1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!([a, d, e], [Status::Connected, Status::Zero, Status::Zero]);
    let Status::Severed(cut) = b else { panic!("{b}") };
    assert_eq!((cut.by, cut.at.line()), ("detach", 10));
    let Status::Severed(cut) = c else { panic!("{c}") };
    assert_eq!((cut.by, cut.at.line()), ("detach", 9));
    let error = Grad::of(f).deny_severed().at([1.0, 2.0, 3.0, 4.0, 5.0]).expect_err("severed");
    assert!(error.to_string().contains("severed by `detach` at crates/wengert/tests/all/diagnose.rs:10"), "{error}");
    let wengert::GradError::Severed(severed) = error else { panic!("{error}") };
    assert_eq!(severed.input, 1);
}

#[test]
fn a_detached_value_that_is_not_used_severs_nothing() {
    let f = |[x, y]: [Var; 2]| {
        let _unused = y.detach() * 2.0;
        x * y
    };
    assert_eq!(Grad::of(f).status([1.0, 2.0]), [Status::Connected; 2]);
    assert_eq!(Grad::of(f).deny_severed().at([1.0, 2.0]), Ok((2.0, [2.0, 1.0])));
}

#[test]
fn the_first_operation_that_is_not_finite_is_named() {
    let found = find_nonfinite([0.0, 1.0], |[x, y]| {
        let a = x.ln();
        a * y
    })
    .expect("ln 0");
    assert_eq!((found.pass, found.operation, found.at.line()), (Pass::Forward, "ln", line!() - 4));
    assert_eq!((found.operands, found.result), (vec![0.0], f64::NEG_INFINITY));

    let found = find_nonfinite(0.0, |x| {
        let square = x * x;
        square.sqrt()
    })
    .expect("inf at the root, then 0 * inf");
    assert_eq!((found.pass, found.operation, found.at.line()), (Pass::Backward, "sqrt", line!() - 3));

    let found = find_nonfinite(0.0, |x| 1.0 / x).expect("1/0");
    assert_eq!((found.pass, found.operation, &found.operands[..]), (Pass::Forward, "div", &[1.0, 0.0][..]));
    assert!(found.to_string().starts_with("div(1, 0) at crates/wengert/tests/all/diagnose.rs:"), "{found}");

    assert_eq!(find_nonfinite([1.0, 2.0], |[x, y]| x * y), None);
    let input = find_nonfinite([f64::NAN, 2.0], |[x, y]| x * y).expect("the input itself");
    assert_eq!(input.operation, "input");
}

#[test]
fn what_does_no_harm_is_not_named() {
    // An infinity on the way to a finite value and a finite gradient, and a branch that is not taken.
    let softmax = |[x, y]: [Var; 2]| (x + (y + (lift(0.0).ln() - y).exp()).ln()).exp();
    assert_eq!(find_nonfinite([1.0, 2.0], softmax), None);
    let chosen =
        |[x, y]: [Var; 2]| Real::select(lift(0.0).less(x), x.sqrt(), y) + Real::select(lift(0.0).less(x), x.ln(), y);
    assert_eq!(find_nonfinite([0.0, 2.0], chosen), None);
    assert_eq!(find_nonfinite([-1.0, 2.0], chosen), None);
    // The branch that is taken is named, not the selection, nor what the other branch holds.
    let chosen = |x: Var| Real::select(lift(0.0).less(x), (x - 1.0).ln(), x.sqrt() * 0.0 + x.ln());
    let found = find_nonfinite(0.0, chosen).expect("ln 0");
    assert_eq!((found.pass, found.operation, found.operands), (Pass::Forward, "ln", vec![0.0]));
    let found = find_nonfinite(1.0, chosen).expect("ln 0");
    assert_eq!((found.operation, found.at.line(), found.result), ("ln", line!() - 4, f64::NEG_INFINITY));
    // A finite value with a gradient that is not: the step that passes back what is not finite.
    let found = find_nonfinite(0.0, |x| x.ln().exp()).expect("0 / 0");
    assert_eq!((found.pass, found.operation), (Pass::Backward, "ln"));

    let x = Tensor::from([4.0, 0.0]);
    assert_eq!(find_nonfinite(&x, |x| (&x + x.detach().ln().exp()).sum()), None);
    let chosen = |x: Tensor| x.gt(0.0).where_((&x - 1.0).square(), x.ln()).sum();
    let found = find_nonfinite(&x, chosen).expect("ln 0");
    assert_eq!((found.pass, found.operation, found.element), (Pass::Forward, "ln", Some(1)));
    let found = find_nonfinite(&x, |x| x.ln().exp().sum()).expect("0 / 0");
    assert_eq!((found.pass, found.operation, found.element), (Pass::Backward, "ln", Some(1)));
    // Infinite constants are meant, the library's own and the user's; what goes wrong beside them is named.
    let found = find_nonfinite(&x, |x| (x.norm() * 0.0).ln() + x.logsumexp()).expect("ln 0");
    assert_eq!((found.pass, found.operation, found.operands), (Pass::Forward, "ln", vec![0.0]));
    let kept = |x: Tensor| x.gt(1.0).where_(&x, f64::NEG_INFINITY).logsumexp() + (&x - 1.0).sqrt().sum();
    let found = find_nonfinite(&x, kept).expect("the root of -1");
    assert_eq!((found.pass, found.operation, found.operands), (Pass::Forward, "sqrt", vec![-1.0]));
    assert_eq!(find_nonfinite(&x, |x| x.gt(1.0).where_(&x, f64::NEG_INFINITY).logsumexp()), None);
}

#[test]
fn what_drivers_and_records_compute_stands_at_their_calls() {
    let f = record(1.0, |x| (x * x).sqrt());
    let found = find_nonfinite(0.0, |x| f.value(x) + 1.0).expect("0 * inf");
    assert_eq!((found.pass, found.operation), (Pass::Backward, "sqrt"));
    assert!(found.at.file().ends_with("diagnose.rs") && found.at.line() == line!() - 2, "{found}");
    let found = find_nonfinite(0.0, |x| f.grad(x)).expect("0 / 0");
    assert!(found.at.file().ends_with("diagnose.rs") && found.at.line() == line!() - 1, "{found}");
    let found = find_nonfinite(0.0, |x| grad(x, |x| x.sqrt())).expect("1 / 0");
    assert!(found.at.file().ends_with("diagnose.rs") && found.at.line() == line!() - 1, "{found}");
    let found = find_nonfinite(0.0, |x| hessian(x, |x| x.powf(1.5))).expect("1 / 0");
    assert!(found.at.file().ends_with("diagnose.rs") && found.at.line() == line!() - 1, "{found}");
    // Every entry of a list has a line of this file.
    let list = listing([2.0, 3.0], |[x, y]| f.jvp(x, y).1 + jvp([x, y], [y, x], |[x, y]| (x * y).sin()).1);
    assert!(list.entries.iter().all(|entry| entry.at.file().ends_with("diagnose.rs")), "{list:?}");
}

#[test]
fn a_listing_shows_operations_values_and_adjoints() {
    let list = listing([2.0, 4.0], |[x, y]| 3.0 - x.powi(3) / y * 2.0);
    let shown: Vec<_> = list.entries.iter().map(|e| (e.operation, e.value, e.adjoint)).collect();
    assert_eq!(shown[2], ("powi", 8.0, -0.5));
    assert_eq!(list.entries[2].number, Some(3));
    assert_eq!(list.entries[4].operands, [Operand::Node(3), Operand::Constant(2.0)]);
    assert_eq!(list.entries[5].operands, [Operand::Constant(3.0), Operand::Node(4)]);
    assert_eq!(list.outputs, [Operand::Node(5)]);
    assert_eq!(list.entries[0].adjoint, -6.0);
}

#[test]
fn long_diagnostic_runs_keep_every_line() {
    let list = listing(1.0, |x| (0..5000).fold(x, |y, _| y * 0.999 + x));
    assert_eq!(list.entries.len(), 10_001);
    assert!(list.entries[1..].iter().all(|entry| entry.at.line() == list.entries[1].at.line()));
    assert_eq!(listing(1.0, |x| x * x).entries.len(), 2);
}

/// A cut inside of a loop or a branch counts for what flows through it to a result that is used, and for nothing else.
#[test]
fn a_cut_in_a_loop_counts_for_what_flows_through_it() {
    let x = Tensor::from([0.3, 0.5]);
    let both = |x: Tensor| scan(&x, &x, |c: Tensor, row| (c.detach() * &row, row));
    let rows = Grad::of(|x: Tensor| both(x).1.sum());
    assert_eq!(rows.status(&x), Status::Connected);
    assert_eq!(rows.deny_severed().at(&x).unwrap().1.to_vec(), [1.0, 1.0]);
    assert!(matches!(Grad::of(|x: Tensor| both(x).0.sum()).status(&x), Status::Severed(cut) if cut.by == "detach"));
    let two = |x: Tensor, y: Tensor| fori(0..3, (x, y), |_, (a, b)| (a.sin(), b.detach() + 1.0));
    let (by_x, by_y) = Grad::of(|(x, y)| two(x, y).0.sum()).status((&x, &x));
    assert_eq!((by_x, by_y), (Status::Connected, Status::Zero));
    let (by_x, by_y) = Grad::of(|(x, y)| two(x, y).1.sum()).status((&x, &x));
    assert!(matches!((by_x, by_y), (Status::Zero, Status::Severed(_))), "{by_x} {by_y}");
    // By way of the other part of the carry.
    let crossed =
        |x: Tensor, y: Tensor| while_loop((x, y), |(a, _)| a.sum().lt(9.0), |(a, b)| (&a + &b.detach(), a + b));
    let (by_x, by_y) = Grad::of(|(x, y)| crossed(x, y).0.sum()).status((&x, &x));
    assert!(matches!((by_x, by_y), (Status::Severed(_), Status::Severed(_))), "{by_x} {by_y}");
    let branch = |x: Tensor, y: Tensor| cond(x.sum().gt(0.0), (&x, &y), |(x, y)| x * y.detach(), |(x, _)| x);
    let (by_x, by_y) = Grad::of(|(x, y)| branch(x, y).sum()).status((&x, &x));
    assert!(matches!((by_x, by_y), (Status::Connected, Status::Severed(_))), "{by_x} {by_y}");
}

#[test]
fn the_status_of_tensors_names_what_cut_them() {
    let (x, y, z) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]), Tensor::from([5.0, 6.0]));
    let loss = |(x, y, z): (Tensor, Tensor, Tensor)| (&x * &x + y.detach() * &x + z.floor()).sum();
    let gradient = Grad::of(loss);
    let (sx, sy, sz) = gradient.status((&x, &y, &z));
    assert_eq!((sx, sz), (Status::Connected, Status::Zero));
    assert!(matches!(sy, Status::Severed(cut) if cut.by == "detach" && cut.at.file().ends_with("diagnose.rs")));
    let error = gradient.deny_severed().at((&x, &y, &z)).unwrap_err();
    let wengert::GradError::Severed(severed) = error else { panic!("{error}") };
    assert_eq!(severed.input, 1);
    let line = line!() + 1;
    let taken = Grad::of(|x: Tensor| &x.sum() * x.detach().sum().item());
    assert!(matches!(taken.status(&x), Status::Severed(cut) if cut.by == "detach" && cut.at.line() == line));
    assert!(taken.deny_severed().at(&x).is_err());
    // What steers, and what only steps, severs nothing.
    let steered = Grad::of(|x: Tensor| if x.sum().gt(0.0).test() { x.sum() * x.floor().sum().item() } else { x.sum() });
    assert_eq!(steered.status(&x), Status::Connected);
    let cast = Grad::of(|x: Tensor| x.to_i64().to_f64().sum()).status(&x);
    assert!(matches!(cast, Status::Severed(cut) if cut.by == "convert"));
}

#[test]
fn nonfinite_numbers_of_tensors_are_found() {
    let x = Tensor::from([4.0, 0.0]);
    let found = find_nonfinite(&x, |x| x.ln().sum()).expect("ln 0");
    assert_eq!((found.pass, found.operation, found.element), (Pass::Forward, "ln", Some(1)));
    assert_eq!(found.operands, [0.0]);
    let found = find_nonfinite(&x, |x| x.sqrt().sum()).expect("1/0");
    assert_eq!((found.pass, found.operation, found.element), (Pass::Backward, "sqrt", Some(1)));
    assert!(find_nonfinite(&x, |x| (x + 1.0).sqrt().sum()).is_none());
    // What a branch not taken holds does no harm.
    let masked = |x: Tensor| x.gt(0.0).where_(x.sqrt(), 0.0).sum();
    assert!(find_nonfinite(&x, masked).is_none());
}

/// The operation inside of a loop, a branch or a region, with its own line.
#[test]
fn nonfinite_numbers_inside_of_loops_and_branches_are_found() {
    let x = Tensor::from([0.0, 1.0]);
    let at_here = |found: &wengert::NonFinite| assert!(found.at.file().ends_with("diagnose.rs"), "{found}");
    let line = line!() + 2;
    let looped = |x: Tensor| {
        let y = fori(0..10, x, |_, c| (&c * &c).sqrt());
        y.sum()
    };
    let found = find_nonfinite(&x, looped).unwrap();
    assert_eq!((found.pass, found.operation, found.at.line()), (Pass::Backward, "sqrt", line), "{found}");
    let line = line!() + 1;
    let found = find_nonfinite(&x, |x: Tensor| checkpoint(&x, |x| (1.0 / x).sum())).unwrap();
    assert_eq!((found.pass, found.operation, found.at.line()), (Pass::Forward, "div", line), "{found}");
    assert_eq!(found.operands, [1.0, 0.0]);
    let branch = |x: Tensor| cond(x.sum().gt(0.0), &x, |x| (1.0 / x).sum(), |x| x.sum());
    let found = find_nonfinite(&x, branch).unwrap();
    assert_eq!((found.pass, found.operation), (Pass::Forward, "div"), "{found}");
    at_here(&found);
    let overflows = |x: Tensor| {
        let (_, y) = while_loop((Tensor::from(0i64), x + 1e100), |(t, _)| t.lt(4i64), |(t, y)| (t + 1i64, &y * &y));
        y.sum()
    };
    let found = find_nonfinite(&x, overflows).unwrap();
    assert_eq!((found.pass, found.operation), (Pass::Forward, "mul"), "{found}");
    at_here(&found);
    // In a loop in a loop, backwards; and an infinity that is meant.
    let far = Tensor::from(f64::INFINITY);
    let nested = |x: Tensor| {
        let inner = |c: Tensor| fori(0..2, c, |_, c| c.minimum(&far).abs().powf(0.5));
        fori(0..2, x, |_, c| inner(c)).sum()
    };
    let found = find_nonfinite(&x, nested).unwrap();
    assert_eq!((found.pass, found.operation), (Pass::Backward, "pow"), "{found}");
    assert!(find_nonfinite(&(x + 1.0), nested).is_none());
}
