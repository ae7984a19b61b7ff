//! The families `unary` and `binary`: every elementwise function of tensors, by its name.

use wengert::Tensor;

use super::{ArrayArgs, Results, misfit, one, unsupported};

/// The methods whose names are those of the functions.
macro_rules! methods {
    ($name:expr, $x:expr, $others:tt; $($method:ident)*) => {
        match $name {
            $( stringify!($method) => Some($x.$method $others), )*
            _ => None,
        }
    };
}

/// The elementwise function of one argument with this name.
pub(crate) fn unary(name: &str, x: &Tensor) -> Option<Tensor> {
    match name {
        "neg" => Some(-x),
        "log" => Some(x.ln()),
        "trigamma" => Some(x.polygamma(1)),
        name => methods!(name, x, ();
            abs sign square sqrt rsqrt cbrt recip exp exp2 expm1 ln log2 log10 log1p sin cos tan asin acos atan
            sinh cosh tanh asinh acosh atanh sigmoid softplus relu relu6 elu log_sigmoid gelu_erf gelu_tanh silu
            erf erfc erfinv lgamma digamma sinc floor ceil round trunc),
    }
}

/// The elementwise function of two arguments with this name.
pub(crate) fn binary(name: &str, x: &Tensor, y: &Tensor) -> Option<Tensor> {
    match name {
        "max" => Some(x.maximum(y)),
        "min" => Some(x.minimum(y)),
        name => methods!(name, x, (y); add sub mul div rem pow atan2 hypot copysign logaddexp xlogy),
    }
}

pub(super) fn unary_call(function: &str, args: &ArrayArgs) -> Results {
    let [x] = args.all()?;
    match unary(function, x) {
        Some(y) => one(y),
        None => unsupported(function),
    }
}

/// A function of several broadcast operands.
pub(super) fn binary_call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "integer_pow" => {
            let [x] = args.all()?;
            match i32::try_from(args.attrs.whole("n", None)?) {
                Ok(n) => one(x.powi(n)),
                Err(_) => misfit("`attrs.n` is not an exponent of `powi`"),
            }
        }
        "pow_scalar_exponent" => {
            let [x] = args.all()?;
            let rows = [0.5, 1.7, -0.3].map(|exponent| x.powf(exponent));
            one(Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0))
        }
        "clamp" => {
            let [x] = args.all()?;
            one(x.clamp(args.attrs.number("lo")?, args.attrs.number("hi")?))
        }
        "clamp3" => {
            let [low, x, high] = args.all()?;
            one(x.clamp(low, high))
        }
        "lerp" => {
            let [a, b, t] = args.all()?;
            one(a.lerp(b, t))
        }
        "fma" => {
            let [a, b, c] = args.all()?;
            one(a * b + c)
        }
        name => pairs(name, args),
    }
}

/// A function of two broadcast operands; a case with one input means it for both. Where the case
/// expects a scalar from arrays, this is `sum_i cos(i+1) op(x_i, y_i)`.
fn pairs(name: &str, args: &ArrayArgs) -> Results {
    let x = args.first()?;
    let y = if args.inputs.len() == 1 { x } else { args.all::<2>()?[1] };
    let Some(z) = binary(name, x, y) else { return unsupported(name) };
    if args.expects_scalar() && z.rank() > 0 {
        let weights: Vec<f64> = (0..z.size()).map(|i| ((i + 1) as f64).cos()).collect();
        return one((z.flatten() * Tensor::from(weights).convert(z.dtype())).sum());
    }
    one(z)
}
