//! The checks of a case: values, and every derivative it stores, by every driver that gives it.

use wengert::{Dual, F32, Real, Var, grad, hessian, hvp, jacobian, jvp, vjp};

use crate::array::{Operand, Trouble};
use crate::bound::{Bound, leaves};
use crate::compare::{compare, compare_shaped};
use crate::load::{Case, Stored, real};
use crate::{arrays, derivatives, orders, sparse, sums};

/// Whether the case holds, by scalars and by arrays where both have its function; `Misfit` says what
/// differs. Tells whether arrays were asked.
pub(crate) fn check(family: &str, case: &Case) -> Result<bool, Trouble> {
    let (scalars, arrays) = (by_scalars(family, case), by_arrays(family, case));
    match (scalars, arrays) {
        (Err(Trouble::Unsupported(_)), Err(Trouble::Unsupported(name))) => Err(Trouble::Unsupported(name)),
        (Err(misfit @ Trouble::Misfit(_)), _) | (_, Err(misfit @ Trouble::Misfit(_))) => Err(misfit),
        (_, arrays) => Ok(arrays.is_ok()),
    }
}

fn by_scalars(family: &str, case: &Case) -> Result<(), Trouble> {
    match family {
        "unary_higher" => orders::check(case),
        "higher_order" => derivatives::check(case),
        "mgh_hessian" => sums::check(case),
        "sparse" => check_function(family, case).and_then(|()| sparse::check(case)),
        _ => check_function(family, case),
    }
}

fn by_arrays(family: &str, case: &Case) -> Result<(), Trouble> {
    match family {
        "unary_higher" => arrays::orders::check(case, &orders::wanted(case)?),
        "higher_order" => arrays::higher_order::check(case),
        "mgh_hessian" => arrays::sums::check(case),
        "sparse" => arrays::sparse::check(case, &wanted(case)?),
        _ => arrays::check::check(family, case, &wanted(case)?),
    }
}

/// The stored results a case is compared with.
pub(crate) struct Want {
    pub(crate) outputs: Vec<Stored>,
    pub(crate) jvp: Option<Vec<Option<Stored>>>,
    pub(crate) vjp: Option<Vec<Option<Stored>>>,
}

/// What the case stores; and what follows from `exact`, if it has that. Where its notes say that
/// the stored results are the less accurate ones, only `exact` counts.
fn wanted(case: &Case) -> Result<Vec<Want>, Trouble> {
    let stored = Want { outputs: case.outputs.clone(), jvp: case.jvp.clone(), vjp: case.vjp.clone() };
    let Some(exact) = case.object.get("exact").and_then(|exact| exact.as_object()) else {
        return Ok(vec![stored]);
    };
    let part = |name: &str| Stored::parse(crate::load::key(exact, name)?).map_err(|error| format!("`exact`: {error}"));
    let (f, d1) = (part("f")?, part("d1")?);
    let fits = |array: &Stored| array.data.len() == f.data.len();
    if !fits(&d1) || case.inputs.len() != 1 || !case.inputs.iter().all(fits) || !case.outputs.iter().all(fits) {
        return Err(Trouble::Misfit("`exact` does not fit an elementwise function of one input".to_owned()));
    }
    let along = |directions: &Option<Vec<Option<Stored>>>| {
        let times = |array: &Stored| {
            let data = array.data.iter().zip(&d1.data).map(|(direction, d1)| direction * d1).collect();
            Stored { data, ..array.clone() }
        };
        directions.as_ref().map(|arrays| arrays.iter().map(|array| array.as_ref().map(times)).collect())
    };
    let exact = Want { outputs: vec![f.clone()], jvp: along(&case.tangents), vjp: along(&case.cotangents) };
    let less_accurate = case.text("notes").contains("compare with `exact`");
    Ok(if less_accurate { vec![exact] } else { vec![exact, stored] })
}

/// The arrays of the differentiated inputs, or of the real outputs, one after the other.
fn flat(arrays: &[Option<Stored>]) -> Vec<f64> {
    arrays.iter().flatten().flat_map(|array| array.data.iter().copied()).collect()
}

/// Compares numbers one after the other with the arrays they belong to.
fn compare_arrays(what: &str, got: &[f64], want: &[Option<Stored>], case: &Case) -> Result<(), String> {
    let mut rest = got;
    for (k, want) in want.iter().enumerate() {
        let Some(want) = want else { continue };
        let Some((own, others)) = rest.split_at_checked(want.data.len()) else {
            return Err(format!("{what} has too few numbers: {}", got.len()));
        };
        rest = others;
        compare(&format!("{what} {k}"), own, &want.data, case.rtol, case.atol)?;
    }
    if rest.is_empty() { Ok(()) } else { Err(format!("{what} has {} numbers too many", rest.len())) }
}

/// Compares outputs with the stored ones: kinds, shapes and numbers.
pub(crate) fn compare_outputs<R: Real>(
    how: &str,
    outputs: &[Operand<R>],
    want: &[Stored],
    case: &Case,
    plain: impl Fn(R) -> f64,
) -> Result<(), String> {
    if outputs.len() != want.len() {
        return Err(format!("{how}: {} outputs instead of {}", outputs.len(), want.len()));
    }
    for (k, (output, want)) in outputs.iter().zip(want).enumerate() {
        let (got, rtol, atol): (Vec<f64>, f64, f64) = match output {
            Operand::Real(array) => (array.data.iter().map(|&x| plain(x)).collect(), case.rtol, case.atol),
            Operand::Whole(array) => (array.data.iter().map(|&x| x as f64).collect(), 0.0, 0.0),
        };
        let (got, want) = ((output.shape(), &got[..]), (&want.shape[..], &want.data[..]));
        compare_shaped(&format!("{how}: output {k}"), got, want, rtol, atol)?;
    }
    Ok(())
}

fn check_function(family: &str, case: &Case) -> Result<(), Trouble> {
    let bound = Bound::new(family, case, case.outputs.clone());
    let wants = wanted(case)?;
    if case.is_single() {
        return single(&bound, case, &wants);
    }
    let outputs = bound.call::<f64>(&bound.point())?;
    for want in &wants {
        compare_outputs("f64", &outputs, &want.outputs, case, |x| x)?;
        forward(&bound, case, want)?;
        backward(&bound, case, want)?;
    }
    let value = |x: &[Var]| bound.leaves(x)[0];
    if case.hvp.is_some() || case.object.contains_key("gradient") {
        if leaves(outputs).len() != 1 {
            return Err(Trouble::Misfit("a case with a gradient or `hvp` has one number as its output".to_owned()));
        }
        second_order(&bound, case)?;
        gradient_and_hessian(case, &bound.point(), value)?;
    }
    greeks(&bound, case)?;
    Ok(named_derivatives(&bound, case)?)
}

/// The jvp: by the driver, and by a run over dual numbers.
fn forward(bound: &Bound, case: &Case, want: &Want) -> Result<(), String> {
    let (Some(tangents), Some(jvp_want)) = (&case.tangents, &want.jvp) else { return Ok(()) };
    let (point, tangent) = (bound.point(), flat(tangents));
    let reals: Vec<Option<Stored>> =
        want.outputs.iter().map(|output| output.dtype.is_real().then(|| output.clone())).collect();
    let (values, products) = jvp(point.clone(), tangent.clone(), |x: Vec<Var>| bound.leaves(&x));
    compare_arrays("jvp: value", &values, &reals, case)?;
    compare_arrays("jvp", &products, jvp_want, case)?;
    let duals: Vec<Dual> = point.iter().zip(&tangent).map(|(&x, &x_dot)| Dual::new(x, x_dot)).collect();
    let results = bound.leaves(&duals);
    let values: Vec<f64> = results.iter().map(|y| y.re()).collect();
    let products: Vec<f64> = results.iter().map(|y| y.tangent()).collect();
    compare_arrays("dual: value", &values, &reals, case)?;
    compare_arrays("dual: jvp", &products, jvp_want, case)
}

/// The vjp: by the driver, from the Jacobian, and for one number as the output by `grad`.
fn backward(bound: &Bound, case: &Case, want: &Want) -> Result<(), String> {
    let (Some(cotangents), Some(vjp_want)) = (&case.cotangents, &want.vjp) else { return Ok(()) };
    let (point, cotangent) = (bound.point(), flat(cotangents));
    let (_, pullback) = vjp(point.clone(), |x: Vec<Var>| bound.leaves(&x));
    compare_arrays("vjp", &pullback.pull(cotangent.clone()), vjp_want, case)?;
    let rows: Vec<Vec<f64>> = jacobian(point.clone(), |x: Vec<Var>| bound.leaves(&x));
    compare_arrays("jacobian: vjp", &transposed_product(&rows, &cotangent, point.len()), vjp_want, case)?;
    if let [factor] = cotangent[..] {
        let gradient = grad(point, |x: Vec<Var>| bound.leaves(&x)[0]);
        let scaled: Vec<f64> = gradient.iter().map(|slope| slope * factor).collect();
        compare_arrays("grad", &scaled, vjp_want, case)?;
    }
    Ok(())
}

/// `J' c`; rows with a zero in `c` do not count, whatever they hold.
fn transposed_product(rows: &[Vec<f64>], c: &[f64], width: usize) -> Vec<f64> {
    let terms = |j: usize| rows.iter().zip(c).filter(|(_, c)| **c != 0.0).map(move |(row, c)| row[j] * c);
    (0..width).map(|j| terms(j).sum()).collect()
}

/// The Hessian times the tangents: by the driver, forward over backward, backward over forward.
fn second_order(bound: &Bound, case: &Case) -> Result<(), String> {
    let (Some(tangents), Some(want)) = (&case.tangents, &case.hvp) else { return Ok(()) };
    let (point, tangent) = (bound.point(), flat(tangents));
    let value = |x: Vec<Var>| bound.leaves(&x)[0];
    let product = hvp(point.clone(), tangent.clone(), value);
    compare_arrays("hvp", &product, want, case)?;
    let (_, product) = jvp(point.clone(), tangent.clone(), |x: Vec<Var>| grad(x, value));
    compare_arrays("jvp of grad: hvp", &product, want, case)?;
    let constant = |tangent: &[f64]| tangent.iter().map(|&x| wengert::lift(x)).collect::<Vec<Var>>();
    let product = grad(point, |x: Vec<Var>| jvp(x, constant(&tangent), value).1);
    compare_arrays("grad of jvp: hvp", &product, want, case)
}

/// `gradient` and `hessian`, where the case has them, of a scalar function.
pub(crate) fn gradient_and_hessian(case: &Case, point: &[f64], f: impl Fn(&[Var]) -> Var) -> Result<(), String> {
    let n = point.len();
    let near = |what: &str, got: &[f64], shape: &[usize], want: &Stored| {
        compare_shaped(what, (shape, got), (&want.shape, &want.data), case.rtol, case.atol)
    };
    if let Some(want) = case.array_if_any("gradient")? {
        let gradient = grad(point.to_vec(), |x: Vec<Var>| f(&x));
        near("grad", &gradient, &[n], &want)?;
    }
    if let Some(want) = case.array_if_any("hessian")? {
        let rows = hessian(point.to_vec(), |x: Vec<Var>| f(&x));
        near("hessian", &rows.concat(), &[n, n], &want)?;
        let rows = jacobian(point.to_vec(), |x: Vec<Var>| grad(x, |x: Vec<Var>| f(&x)));
        near("jacobian of grad: hessian", &rows.concat(), &[n, n], &want)?;
    }
    Ok(())
}

/// The named sensitivities of an option's price in (S, K, r, sigma, T).
fn greeks(bound: &Bound, case: &Case) -> Result<(), String> {
    let Some(greeks) = case.object.get("greeks").and_then(|greeks| greeks.as_object()) else { return Ok(()) };
    let point = bound.point();
    if point.len() != 5 {
        return Err(format!("`greeks` needs five inputs, there are {}", point.len()));
    }
    let value = |x: Vec<Var>| bound.leaves(&x)[0];
    let (price, slope) = wengert::value_and_grad(point.clone(), value);
    let second = hessian(point, value);
    for (name, want) in greeks {
        let got = match name.as_str() {
            "price" => price,
            "delta" => slope[0],
            "rho" => slope[2],
            "vega" => slope[3],
            "theta" => -slope[4],
            "gamma" => second[0][0],
            "vanna" => second[0][3],
            "vomma" => second[3][3],
            other => return Err(format!("`greeks` names `{other}`, which nobody knows")),
        };
        let want = real(want).map_err(|error| format!("`greeks.{name}`: {error}"))?;
        compare(name, &[got], &[want], case.rtol, case.atol)?;
    }
    Ok(())
}

/// The names of the inputs of functions whose cases store derivatives in one of them.
pub(crate) fn input_names(function: &str) -> &'static [&'static str] {
    match function {
        "tanh_fixed_point" => &["W", "b"],
        "nonlinear_system_root" => &["A", "q"],
        "equality_qp" => &["Q", "c", "a", "b"],
        _ => &[],
    }
}

/// `jacobian_NAME`, and `vjp_NAME` of `cotangent`.
fn named_derivatives(bound: &Bound, case: &Case) -> Result<(), String> {
    for (index, name) in input_names(&case.function).iter().enumerate() {
        let Some((start, count)) = bound.place(index) else { continue };
        if let Some(want) = case.array_if_any(&format!("jacobian_{name}"))? {
            let rows: Vec<Vec<f64>> = jacobian(bound.point(), |x: Vec<Var>| bound.leaves(&x));
            let columns: Vec<f64> = rows.iter().flat_map(|row| row[start..start + count].to_vec()).collect();
            compare(&format!("jacobian_{name}"), &columns, &want.data, case.rtol, case.atol)?;
        }
        if let Some(want) = case.array_if_any(&format!("vjp_{name}"))? {
            let (_, pullback) = vjp(bound.point(), |x: Vec<Var>| bound.leaves(&x));
            let pulled = pullback.pull(case.array("cotangent")?.data);
            compare(&format!("vjp_{name}"), &pulled[start..start + count], &want.data, case.rtol, case.atol)?;
        }
    }
    Ok(())
}

/// A case in single precision: forward, over dual numbers of `F32`, with the vjp and the hvp from
/// the columns of the Jacobian and of the Hessian.
fn single(bound: &Bound, case: &Case, wants: &[Want]) -> Result<(), Trouble> {
    let narrow = |x: &f64| F32(*x as f32);
    let wide = |x: F32| f64::from(x.0);
    let point: Vec<F32> = bound.point().iter().map(narrow).collect();
    let outputs = bound.call_single::<F32>(&point)?;
    let along = |directions: &[F32]| -> Vec<f64> {
        let duals: Vec<Dual<F32>> = point.iter().zip(directions).map(|(&x, &x_dot)| Dual::new(x, x_dot)).collect();
        bound.leaves_single(&duals).iter().map(|y| wide(y.tangent())).collect()
    };
    let unit = |k: usize| -> Vec<F32> { (0..point.len()).map(|j| F32(f32::from(u8::from(j == k)))).collect() };
    for want in wants {
        compare_outputs("F32", &outputs, &want.outputs, case, wide)?;
        if let (Some(tangents), Some(want)) = (&case.tangents, &want.jvp) {
            let tangent: Vec<F32> = flat(tangents).iter().map(narrow).collect();
            compare_arrays("dual of F32: jvp", &along(&tangent), want, case)?;
        }
        if let (Some(cotangents), Some(want)) = (&case.cotangents, &want.vjp) {
            let cotangent = flat(cotangents);
            let product = |k: usize| along(&unit(k)).iter().zip(&cotangent).map(|(slope, c)| slope * c).sum();
            let products: Vec<f64> = (0..point.len()).map(product).collect();
            compare_arrays("dual of F32: vjp", &products, want, case)?;
        }
    }
    let (Some(tangents), Some(want)) = (&case.tangents, &case.hvp) else { return Ok(()) };
    let tangent: Vec<F32> = flat(tangents).iter().map(narrow).collect();
    let column = |k: usize| -> f64 {
        let dual = |(j, &x): (usize, &F32)| {
            let outer = if j == k { 1.0 } else { 0.0 };
            Dual::new(Dual::new(x, tangent[j]), <Dual<F32> as Real>::constant(outer))
        };
        let duals: Vec<Dual<Dual<F32>>> = point.iter().enumerate().map(dual).collect();
        wide(bound.leaves_single(&duals)[0].tangent().tangent())
    };
    let product: Vec<f64> = (0..point.len()).map(column).collect();
    Ok(compare_arrays("dual of dual of F32: hvp", &product, want, case)?)
}
