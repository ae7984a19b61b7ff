//! The family `unary_higher` as array programs: derivatives of rising order at several points.

use wengert::{Tensor, grad, jvp};

use super::check::near;
use super::elementwise::unary;
use super::tensor;
use crate::array::Trouble;
use crate::load::{Case, Stored};

/// The derivative of this order of a function of every element, backward over backward.
pub(super) fn backward(order: usize, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
    if order == 0 { f(x) } else { grad(x, |x| backward(order - 1, &x, f).sum()) }
}

/// The derivative of this order of a function of every element, forward over forward.
pub(super) fn forward(order: usize, x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
    if order == 0 { f(x) } else { jvp(x, Tensor::ones_of(x.dtype(), x.shape()), |x| forward(order - 1, &x, f)).1 }
}

pub(crate) fn check(case: &Case, wants: &[Vec<Stored>]) -> Result<(), Trouble> {
    let name = case.function.as_str();
    let [input] = &case.inputs[..] else {
        return Err(Trouble::Misfit(format!("{} inputs instead of one", case.inputs.len())));
    };
    let x = tensor(input);
    if unary(name, &x).is_none() {
        return Err(Trouble::Unsupported(name.to_owned()));
    }
    let f = |x: &Tensor| unary(name, x).expect("the name was found before");
    let highest = wants.iter().map(Vec::len).max().unwrap_or(0);
    for order in 0..highest {
        for (way, got) in
            [("array grad of grad", backward(order, &x, &f)), ("array jvp of jvp", forward(order, &x, &f))]
        {
            for want in wants.iter().filter_map(|want| want.get(order)) {
                near(&format!("{way}: order {order}"), &got, want, case)?;
            }
        }
    }
    Ok(())
}
