//! The checks of a case as an array program: values, and every derivative it stores, by every
//! driver that gives it, at points of tensors.

use wengert::{Tensor, checkpoint, compile, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp, vmap};

use super::{ArrayArgs, Results, element_type, tensor};
use crate::array::Trouble;
use crate::attrs::Attrs;
use crate::check::{Want, input_names};
use crate::compare::{compare, compare_shaped};
use crate::load::{Case, Dtype, Stored};

/// The function of a case, with everything bound that is not differentiated.
pub(crate) struct Bound<'c> {
    family: &'c str,
    case: &'c Case,
    expected: &'c [Stored],
    inputs: Vec<Tensor>,
    within: Within,
}

/// Where the function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// In the function that a driver gets.
    Driver,
    /// In a region that is computed again for its reverse.
    Checkpoint,
    /// In a compiled function.
    Compiled,
    /// For two examples at once, of which the first one counts; the other is three quarters of the point.
    Examples,
}

impl<'c> Bound<'c> {
    /// The function of the case, which is to give arrays like `expected`.
    pub(crate) fn new(family: &'c str, case: &'c Case, expected: &'c [Stored]) -> Self {
        Bound { family, case, expected, inputs: case.inputs.iter().map(tensor).collect(), within: Within::Driver }
    }

    /// The differentiated inputs.
    pub(crate) fn point(&self) -> Vec<Tensor> {
        self.case.diff.iter().map(|&index| self.inputs[index].clone()).collect()
    }

    /// Runs the function at `x`.
    pub(crate) fn call(&self, x: &[Tensor]) -> Results {
        let known = |x: Vec<Tensor>| self.call_here(&x).expect("it ran over plain numbers before");
        Ok(match self.within {
            Within::Driver => return self.call_here(x),
            Within::Checkpoint => checkpoint(x, known),
            Within::Compiled => compile(known).call(x),
            Within::Examples => {
                let others = self.point().into_iter().map(|x| if x.dtype().is_float() { x * 0.75 } else { x });
                let pairs: Vec<Tensor> = x.iter().zip(others).map(|(x, y)| Tensor::stack(&[x, &y], 0)).collect();
                vmap(pairs, known).iter().map(|y| y.slice(0)).collect()
            }
        })
    }

    fn call_here(&self, x: &[Tensor]) -> Results {
        let mut inputs = self.inputs.clone();
        for (&index, x) in self.case.diff.iter().zip(x) {
            inputs[index] = x.clone();
        }
        let args = ArrayArgs {
            inputs,
            attrs: Attrs(&self.case.attrs),
            constants: &self.case.constants,
            expected: self.expected,
            program: self.case.program.as_ref(),
        };
        super::call(self.family, &self.case.function, &args)
    }

    /// The real outputs at `x`.
    ///
    /// # Panics
    /// If the function cannot be computed: a case is run over plain numbers first, which tells.
    pub(crate) fn reals(&self, x: &[Tensor]) -> Vec<Tensor> {
        let outputs = self.call(x).expect("it ran over plain numbers before");
        outputs.into_iter().filter(|output| output.dtype().is_float()).collect()
    }
}

/// Whether the case holds as an array program: called by the drivers, and for loops and branches also in what is around them.
pub(crate) fn check(family: &str, case: &Case, wants: &[Want]) -> Result<(), Trouble> {
    let mut bound = Bound::new(family, case, &case.outputs);
    check_bound(&bound, case, wants)?;
    if matches!(family, "control" | "applications") {
        for within in [Within::Checkpoint, Within::Compiled, Within::Examples] {
            bound.within = within;
            check_bound(&bound, case, wants).map_err(|trouble| match trouble {
                Trouble::Misfit(why) => Trouble::Misfit(format!("in {within:?}: {why}")),
                unsupported => unsupported,
            })?;
        }
    }
    Ok(())
}

fn check_bound(bound: &Bound, case: &Case, wants: &[Want]) -> Result<(), Trouble> {
    let outputs = bound.call(&bound.point())?;
    for want in wants {
        compare_outputs("array", &outputs, &want.outputs, case)?;
    }
    let dtypes = outputs.iter().zip(&case.outputs).all(|(got, want)| got.dtype() == element_type(want.dtype));
    if !dtypes {
        return Err(Trouble::Misfit("an output has another element type".to_owned()));
    }
    forward(bound, case, wants)?;
    backward(bound, case, wants)?;
    second_order(bound, case)?;
    Ok(named_derivatives(bound, case)?)
}

/// Compares outputs with the stored ones: shapes and numbers.
pub(crate) fn compare_outputs(how: &str, outputs: &[Tensor], want: &[Stored], case: &Case) -> Result<(), String> {
    if outputs.len() != want.len() {
        return Err(format!("{how}: {} outputs instead of {}", outputs.len(), want.len()));
    }
    for (k, (output, want)) in outputs.iter().zip(want).enumerate() {
        let exact = Case { rtol: 0.0, atol: 0.0, ..case.clone() };
        let case = if output.dtype().is_float() { case } else { &exact };
        near(&format!("{how}: output {k}"), output, want, case)?;
    }
    Ok(())
}

/// Compares one array.
pub(crate) fn near(what: &str, got: &Tensor, want: &Stored, case: &Case) -> Result<(), String> {
    compare_shaped(what, (got.shape(), &got.to_vec()), (&want.shape, &want.data), case.rtol, case.atol)
}

/// Compares arrays one after the other, whose element types have to be those of `like`.
fn compare_arrays(
    what: &str,
    got: &[Tensor],
    want: &[Option<Stored>],
    like: &[Stored],
    case: &Case,
) -> Result<(), String> {
    let wanted: Vec<(&Stored, Dtype)> =
        want.iter().zip(like).filter_map(|(want, like)| Some((want.as_ref()?, like.dtype))).collect();
    if got.len() != wanted.len() {
        return Err(format!("{what} has {} arrays instead of {}", got.len(), wanted.len()));
    }
    for (k, (got, (want, dtype))) in got.iter().zip(wanted).enumerate() {
        if got.dtype() != element_type(dtype) {
            return Err(format!("{what} {k} has elements of type {} instead of {dtype:?}", got.dtype()));
        }
        near(&format!("{what} {k}"), got, want, case)?;
    }
    Ok(())
}

/// The directions that exist, with the element types of what they belong to.
fn directions(arrays: &[Option<Stored>], like: &[Stored]) -> Vec<Tensor> {
    let typed = |(array, like): (&Option<Stored>, &Stored)| {
        array.as_ref().map(|array| tensor(&Stored { dtype: like.dtype, ..array.clone() }))
    };
    arrays.iter().zip(like).filter_map(typed).collect()
}

/// All numbers one after the other.
fn flat(arrays: &[Tensor]) -> Vec<f64> {
    arrays.iter().flat_map(Tensor::to_vec).collect()
}

/// Numbers one after the other as arrays of these shapes and types.
fn unflat(numbers: &[f64], like: &[Tensor]) -> Vec<Tensor> {
    let mut rest = numbers;
    let mut piece = |like: &Tensor| {
        let (own, others) = rest.split_at(like.size());
        rest = others;
        Tensor::from_vec(like.shape(), own.to_vec()).convert(like.dtype())
    };
    like.iter().map(&mut piece).collect()
}

/// The jvp.
fn forward(bound: &Bound, case: &Case, wants: &[Want]) -> Result<(), String> {
    let Some(tangents) = &case.tangents else { return Ok(()) };
    if case.jvp.is_none() {
        return Ok(());
    }
    let (point, tangent) = (bound.point(), directions(tangents, &case.inputs));
    let (values, products) = jvp(point, tangent, |x: Vec<Tensor>| bound.reals(&x));
    for want in wants {
        let reals: Vec<Option<Stored>> =
            want.outputs.iter().map(|output| output.dtype.is_real().then(|| output.clone())).collect();
        compare_arrays("array jvp: value", &values, &reals, &case.outputs, case)?;
        if let Some(want) = &want.jvp {
            compare_arrays("array jvp", &products, want, &case.outputs, case)?;
            if case.vjp.is_none() {
                let pulled = jvp_by_pullback(bound, &values, case);
                compare_arrays("array jvp by pullback", &pulled, want, &case.outputs, case)?;
            }
        }
    }
    Ok(())
}

/// The jvp of a case that stores no vjp, as one product with the tangents for every unit cotangent.
fn jvp_by_pullback(bound: &Bound, values: &[Tensor], case: &Case) -> Vec<Tensor> {
    let tangent = flat(&directions(case.tangents.as_deref().unwrap_or_default(), &case.inputs));
    let (_, pullback) = vjp(bound.point(), |x: Vec<Tensor>| bound.reals(&x));
    let count: usize = values.iter().map(Tensor::size).sum();
    let product = |k: usize| {
        let unit: Vec<f64> = (0..count).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
        let row = flat(&pullback.pull(unflat(&unit, values)));
        row.iter().zip(&tangent).map(|(slope, x_dot)| slope * x_dot).sum()
    };
    unflat(&(0..count).map(product).collect::<Vec<f64>>(), values)
}

/// The vjp: by the driver, from the Jacobian, and for one number as the output by `grad` and
/// `value_and_grad`.
fn backward(bound: &Bound, case: &Case, wants: &[Want]) -> Result<(), String> {
    let Some(cotangents) = &case.cotangents else { return Ok(()) };
    if case.vjp.is_none() {
        return Ok(());
    }
    let (point, cotangent) = (bound.point(), directions(cotangents, &case.outputs));
    let (values, pullback) = vjp(&point, |x: Vec<Tensor>| bound.reals(&x));
    let mut ways = vec![("array vjp", pullback.pull(&cotangent))];
    let dtypes: Vec<_> = point.iter().chain(&cotangent).map(Tensor::dtype).collect();
    if dtypes.windows(2).all(|pair| pair[0] == pair[1]) {
        let jacobian = jacobian(&point, |x: Vec<Tensor>| bound.reals(&x)).dense().to_vec();
        let product = transposed_product(&jacobian, &flat(&cotangent), flat(&point).len());
        ways.push(("array jacobian: vjp", unflat(&product, &point)));
    }
    if let [factor] = &cotangent[..]
        && factor.rank() == 0
    {
        let scalar = |x: Vec<Tensor>| bound.reals(&x).remove(0);
        let scaled = |gradient: Vec<Tensor>| gradient.iter().map(|slope| slope * factor).collect();
        ways.push(("array grad", scaled(grad(&point, scalar))));
        let (value, gradient) = value_and_grad(&point, scalar);
        if value.to_vec() != values[0].to_vec() && !value.item().is_nan() {
            return Err("array value_and_grad gives another value than vjp".to_owned());
        }
        ways.push(("array value_and_grad", scaled(gradient)));
    }
    for (way, products) in ways {
        for want in wants.iter().filter_map(|want| want.vjp.as_ref()) {
            compare_arrays(way, &products, want, &case.inputs, case)?;
        }
    }
    Ok(())
}

/// `J' c`; rows with a zero in `c` do not count, whatever they hold.
fn transposed_product(jacobian: &[f64], c: &[f64], width: usize) -> Vec<f64> {
    let terms = |j: usize| (0..c.len()).filter(|&i| c[i] != 0.0).map(move |i| jacobian[i * width + j] * c[i]);
    (0..width).map(|j| terms(j).sum()).collect()
}

/// The Hessian times the tangents: by the driver, forward over backward, backward over forward,
/// from the whole Hessian; and `gradient` and `hessian` where the case has them.
fn second_order(bound: &Bound, case: &Case) -> Result<(), String> {
    let point = bound.point();
    let value = |x: Vec<Tensor>| bound.reals(&x).remove(0);
    if let (Some(tangents), Some(want)) = (&case.tangents, &case.hvp) {
        let tangent = directions(tangents, &case.inputs);
        let near = |how: &str, got: Vec<Tensor>| compare_arrays(how, &got, want, &case.inputs, case);
        near("array hvp", hvp(&point, &tangent, value))?;
        near("array jvp of grad: hvp", jvp(&point, &tangent, |x: Vec<Tensor>| grad(x, value)).1)?;
        near("array grad of jvp: hvp", grad(&point, |x: Vec<Tensor>| jvp(x, &tangent, value).1))?;
        let direction = flat(&tangent);
        let product = transposed_product(&hessian(&point, value).dense().to_vec(), &direction, direction.len());
        near("array hessian: hvp", unflat(&product, &point))?;
    }
    gradient_and_hessian(case, &point, value)
}

/// `gradient` and `hessian`, where the case has them, of a scalar function.
pub(crate) fn gradient_and_hessian(
    case: &Case,
    point: &[Tensor],
    f: impl Fn(Vec<Tensor>) -> Tensor,
) -> Result<(), String> {
    if let Some(want) = case.array_if_any("gradient")? {
        let gradient = flat(&grad(point, &f));
        compare("array grad", &gradient, &want.data, case.rtol, case.atol)?;
    }
    if let Some(want) = case.array_if_any("hessian")? {
        near("array hessian", &hessian(point, &f).dense(), &want, case)?;
        let blocks = jacobian(point, |x: Vec<Tensor>| grad(x, &f));
        near("array jacobian of grad: hessian", &blocks.dense(), &want, case)?;
    }
    Ok(())
}

/// `jacobian_NAME`, and `vjp_NAME` of `cotangent`.
fn named_derivatives(bound: &Bound, case: &Case) -> Result<(), String> {
    let (names, point) = (input_names(&case.function), bound.point());
    for (k, name) in names.iter().enumerate() {
        if let Some(want) = case.array_if_any(&format!("jacobian_{name}"))? {
            let of_one =
                |x: &Tensor| bound.reals(&[&point[..k], std::slice::from_ref(x), &point[k + 1..]].concat()).remove(0);
            let got = jacobian(&point[k], |x| of_one(&x));
            near(&format!("array jacobian_{name}"), &got, &want, case)?;
        }
        if let Some(want) = case.array_if_any(&format!("vjp_{name}"))? {
            let (_, pullback) = vjp(&point, |x: Vec<Tensor>| bound.reals(&x));
            let pulled = pullback.pull(vec![tensor(&case.array("cotangent")?)]);
            near(&format!("array vjp_{name}"), &pulled[k], &want, case)?;
        }
    }
    Ok(())
}
