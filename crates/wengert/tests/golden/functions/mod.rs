//! The functions of the golden cases, each written once over [`Real`].

mod algebra;
mod applications;
mod complex;
mod composite;
mod control;
pub(crate) mod elementwise;
pub(crate) mod higher;
mod programs;
mod reduce;
mod residuals;
mod sparse;

use wengert::Real;

use crate::array::{Args, Outputs, Trouble};

/// The function of a family with this name.
pub(crate) fn call<R: Real>(family: &str, function: &str, args: &Args<R>) -> Outputs<R> {
    match family {
        "unary" | "unary_higher" => elementwise::unary_call(function, args),
        "binary" => elementwise::binary_call(function, args),
        "composite" => composite::call(function, args),
        "mgh_hessian" => residuals::call(function, args),
        "programs" => programs::call(function, args),
        "reduce" => reduce::call(function, args),
        "control" => control::call(function, args),
        "fft" => complex::call(function, args),
        "applications" => applications::call(function, args),
        "sparse" => sparse::call(function, args),
        _ => unsupported(function),
    }
}

/// As [`call`], of the families that have cases in single precision. (Each family over each carrier
/// costs seconds of compilation.)
pub(crate) fn call_single<R: Real>(family: &str, function: &str, args: &Args<R>) -> Outputs<R> {
    match family {
        "unary" | "unary_higher" => elementwise::unary_call(function, args),
        "binary" => elementwise::binary_call(function, args),
        "composite" => composite::call_single(function, args),
        "reduce" => reduce::call(function, args),
        _ => unsupported(&format!("{function} in single precision")),
    }
}

/// The answer where there is no function of this name.
pub(crate) fn unsupported<T>(function: &str) -> Result<T, Trouble> {
    Err(Trouble::Unsupported(function.to_owned()))
}
