//! Elementwise functions of one argument: everything about them.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10};

use wengert_kernels::region as kernels;

use super::parts::{bounded, mish_slope, sech2, sign, silu_slope, step};
use super::{Domain, Reads};
use crate::number::Float;
use crate::real::Real;
use wengert_kernels::special;

/// The list of these functions: what is made for every one of them is made from it. Hands it to the macro `$then`, behind
/// `$first`. An entry has its doc comment, its name, and in brackets how people call it, if they do: the method of numbers
/// and tensors, its twin that gives an error instead of a panic, and behind the colon, for the command line, its arguments
/// and a line about it; then an example, an argument and the value there, and its names in other libraries.
macro_rules! unary_list {
    ([$($then:tt)+] [$($first:tt)*]) => { $($then)+! { $($first)*
        /// Elementwise functions of one argument.
        ///
        /// NaN gives NaN in every one of them. Where a derivative is not given in words it is the
        /// textbook one; kinks and edges are in the [table of conventions](crate::ops).
        pub enum Unary (Code) {
            /// `-x`
            Neg = "neg" [(x) "-x"],
            /// `|x|`; derivative `sign(x)`, 0 at 0.
            Abs = "abs" [abs, try_abs: (x) "absolute value; derivative 0 at 0", -2.5 => 2.5, as "absolute" "fabs"],
            /// -1, 0 or 1; derivative 0 everywhere.
            Sign = "sign" [sign, try_sign: (x) "-1, 0 or 1; derivative 0", -2.5 => -1.0, as "signum" "sgn"],
            /// `x^2`
            Square = "square" [square, try_square: (x) "x * x", 1.5 => 2.25, as "sqr"],
            /// Square root; NaN below zero, derivative `inf` at zero.
            Sqrt = "sqrt" [sqrt, try_sqrt: (x) "square root", 6.25 => 2.5],
            /// `1/sqrt(x)`; NaN below zero, `inf` at zero with derivative `-inf`.
            Rsqrt = "rsqrt" [rsqrt, try_rsqrt: (x) "1 / sqrt(x)", 6.25 => 0.4, as "inversesqrt"],
            /// Real cube root, also of negative numbers; derivative `inf` at zero.
            Cbrt = "cbrt" [cbrt, try_cbrt: (x) "cube root", -27.0 => -3.0],
            /// `1/(3 cbrt(x)^2)`, the derivative of `cbrt`; `inf` at 0.
            CbrtSlope = "cbrt_slope",
            /// `1/x`; `±inf` at `±0`, derivative `-inf` there.
            Recip = "recip" [recip, try_recip: (x) "1 / x", 4.0 => 0.25, as "reciprocal"],
            /// `e^x`
            Exp = "exp" [exp, try_exp: (x) "e^x", 1.0 => 2.718282],
            /// `2^x`
            Exp2 = "exp2" [exp2, try_exp2: (x) "2^x", 3.0 => 8.0],
            /// `e^x - 1`, accurate near 0.
            Expm1 = "expm1" [expm1, try_expm1: (x) "e^x - 1, accurate near 0", 0.5 => 0.648721, as "exp_m1"],
            /// Natural logarithm; NaN below zero, `-inf` at zero.
            Ln = "ln" [ln, try_ln: (x) "natural logarithm", 2.0 => 0.693147, as "log"],
            /// Logarithm to base 2; NaN below zero, `-inf` at zero.
            Log2 = "log2" [log2, try_log2: (x) "logarithm to base 2", 8.0 => 3.0],
            /// Logarithm to base 10; NaN below zero, `-inf` at zero.
            Log10 = "log10" [log10, try_log10: (x) "logarithm to base 10", 1000.0 => 3.0],
            /// `ln(1+x)`, accurate near 0; NaN below -1, `-inf` at -1.
            Log1p = "log1p" [log1p, try_log1p: (x) "ln(1 + x), accurate near 0", 0.5 => 0.405465, as "ln_1p"],
            /// Sine of an angle in radians; NaN at `±inf`.
            Sin = "sin" [sin, try_sin: (x) "sine, x in radians", 0.5 => 0.479426],
            /// Cosine of an angle in radians; NaN at `±inf`.
            Cos = "cos" [cos, try_cos: (x) "cosine, x in radians", 0.5 => 0.877583],
            /// Tangent of an angle in radians; NaN at `±inf`.
            Tan = "tan" [tan, try_tan: (x) "tangent, x in radians", 0.5 => 0.546302],
            /// Inverse sine, in `[-pi/2, pi/2]`; NaN outside `[-1, 1]`, derivative `inf` at ±1.
            Asin = "asin" [asin, try_asin: (x) "inverse sine", 0.5 => 0.523599, as "arcsin"],
            /// Inverse cosine, in `[0, pi]`; NaN outside `[-1, 1]`, derivative `-inf` at ±1.
            Acos = "acos" [acos, try_acos: (x) "inverse cosine", 0.5 => 1.047198, as "arccos"],
            /// Inverse tangent, in `[-pi/2, pi/2]`.
            Atan = "atan" [atan, try_atan: (x) "inverse tangent", 1.0 => 0.785398, as "arctan"],
            /// `1/(1+x^2)`, the derivative of `atan`; 0 from about 1e154 on, with derivative 0.
            AtanSlope = "atan_slope",
            /// `1 - x^2` as `(1-x)(1+x)`, which keeps its digits at ±1; derivative `-2x`.
            OneMinusSquare = "one_minus_square",
            /// Hyperbolic sine.
            Sinh = "sinh" [sinh, try_sinh: (x) "hyperbolic sine", 0.5 => 0.521095],
            /// Hyperbolic cosine.
            Cosh = "cosh" [cosh, try_cosh: (x) "hyperbolic cosine", 0.5 => 1.127626],
            /// Hyperbolic tangent; its derivative does not cancel in the tails.
            Tanh = "tanh" [tanh, try_tanh: (x) "hyperbolic tangent", 0.5 => 0.462117],
            /// `1/cosh(x)^2 = 1 - tanh(x)^2`, the derivative of `tanh`; does not cancel in the tails.
            Sech2 = "sech2" [sech2],
            /// Inverse hyperbolic sine.
            Asinh = "asinh" [asinh, try_asinh: (x) "inverse hyperbolic sine", 0.5 => 0.481212, as "arcsinh"],
            /// Inverse hyperbolic cosine; NaN below 1, derivative `inf` at 1.
            Acosh = "acosh" [acosh, try_acosh: (x) "inverse hyperbolic cosine", 1.5 => 0.962424, as "arccosh"],
            /// Inverse hyperbolic tangent; `±inf` at ±1, NaN outside.
            Atanh = "atanh" [atanh, try_atanh: (x) "inverse hyperbolic tangent", 0.5 => 0.549306, as "arctanh"],
            /// `1/(1+e^-x)`, accurate in both tails.
            Sigmoid = "sigmoid" [sigmoid, try_sigmoid: (x) "1 / (1 + e^-x)", 0.5 => 0.622459, as "expit" "logistic"],
            /// `sigmoid(x) sigmoid(-x)`, the derivative of `sigmoid`; its own keeps its digits at 0 and in both tails.
            SigmoidSlope = "sigmoid_slope",
            /// `ln(1+e^x)`, without overflow.
            Softplus = "softplus" [softplus, try_softplus: (x) "ln(1 + e^x)", 0.5 => 0.974077, as "log1pexp"],
            /// `x/(1+|x|)`, ±1 at `±inf`; derivative `1/(1+|x|)^2`. The second derivative jumps at 0 and is 0 there.
            Softsign = "softsign" [softsign, try_softsign: (x) "x / (1 + |x|)", -1.0 => -0.5, as "soft_sign"],
            /// `max(x, 0)`; derivative 0 at 0.
            Relu = "relu" [relu, try_relu: (x) "x above 0, else 0; derivative 0 at 0", -2.5 => 0.0, as "ReLU"],
            /// `x Phi(x) = x/2 erfc(-x/sqrt 2)` (Hendrycks and Gimpel, 2016).
            GeluErf = "gelu_erf" [gelu_erf, try_gelu_erf: (x) "the same as gelu", 0.5 => 0.345731, as "gelu" "GELU"],
            /// `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`, the approximation
            /// of `gelu_erf` in the same paper.
            GeluTanh = "gelu_tanh" [
                gelu_tanh, try_gelu_tanh: (x) "the approximation of gelu by tanh",
                0.5 => 0.345714, as "gelu_approximate"
            ],
            /// The derivative of `gelu_tanh`; does not cancel in the tails.
            GeluTanhSlope = "gelu_tanh_slope" [gelu_tanh_slope],
            /// `x sigmoid(x)`
            Silu = "silu" [silu, try_silu: (x) "x * sigmoid(x)", 0.5 => 0.31123, as "swish" "SiLU"],
            /// The derivative of `silu`, `sigmoid(x) (1 + x sigmoid(-x))`.
            SiluSlope = "silu_slope",
            /// `x tanh(softplus(x))` (Misra, 2019); about `x e^x` far left.
            Mish = "mish" [mish, try_mish: (x) "x * tanh(softplus(x))", 0.5 => 0.375245, as "Mish"],
            /// `ln(p/(1-p))`, the inverse of `sigmoid`, accurate at 0 and 1/2; `∓inf` at 0 and 1, NaN outside.
            Logit = "logit" [
                logit, try_logit: (p) "ln(p / (1 - p)), the inverse of sigmoid",
                0.75 => 1.098612, as "log_odds" "inverse_sigmoid"
            ],
            /// `1/(p(1-p))`, the derivative of `logit`.
            LogitSlope = "logit_slope",
            /// `-x ln(x)`, the entropy of a probability; 0 at 0 with derivative `inf`, `-inf` below with derivative NaN.
            Entr = "entr" [entr, try_entr: (x) "-x * ln(x), and 0 at 0", 0.5 => 0.346574, as "entropy"],
            /// Error function `2/sqrt(pi) ∫_0^x e^(-t^2) dt`.
            Erf = "erf" [erf, try_erf: (x) "error function", 0.5 => 0.5205],
            /// `2/sqrt(pi) e^(-x^2)`, the derivative of `erf`; 0 far out, with derivative 0.
            ErfSlope = "erf_slope",
            /// `1 - erf(x)`, accurate in the right tail.
            Erfc = "erfc" [erfc, try_erfc: (x) "1 - erf(x), accurate for large x", 0.5 => 0.4795],
            /// The density of the normal distribution, `e^(-x^2/2) / sqrt(2 pi)`.
            NormalPdf = "normal_pdf" [
                normal_pdf, try_normal_pdf: (x) "density of the normal distribution",
                0.5 => 0.352065, as "gaussian_pdf"
            ],
            /// The distribution function of the normal distribution, `∫_-inf^x normal_pdf`, accurate in the left tail.
            NormalCdf = "normal_cdf" [
                normal_cdf, try_normal_cdf: (x) "distribution function of the normal distribution",
                0.5 => 0.691462, as "ndtr" "gaussian_cdf"
            ],
            /// The quantile of the normal distribution, the inverse of `normal_cdf`; `∓inf` at 0 and 1, NaN outside.
            NormalQuantile = "normal_quantile" [
                normal_quantile, try_normal_quantile: (p) "inverse of normal_cdf",
                0.75 => 0.67449, as "ndtri" "ppf" "probit"
            ],
            /// The derivative of `normal_quantile`, `1 / normal_pdf(normal_quantile(x))`.
            NormalQuantileSlope = "normal_quantile_slope",
            /// `normal_quantile(e^x)`, also where `e^x` underflows or rounds to 1; `∓inf` at `-inf` and 0, NaN above 0.
            NormalQuantileOfLog = "normal_quantile_of_log" [
                normal_quantile_of_log, try_normal_quantile_of_log:
                (l) "normal_quantile(e^l), also where e^l underflows", -1.0 => -0.337475, as "ndtri_exp"
            ],
            /// The derivative of `normal_quantile_of_log`.
            NormalQuantileOfLogSlope = "normal_quantile_of_log_slope",
            /// Inverse of `erf`; `±inf` at ±1, NaN outside.
            Erfinv = "erfinv" [erfinv, try_erfinv: (x) "inverse of erf", 0.5 => 0.476936, as "erf_inv"],
            /// `ln |Gamma(x)|`; `inf` at 0, -1, -2, …
            Lgamma = "lgamma" [lgamma, try_lgamma: (x) "ln |gamma(x)|", 4.0 => 1.791759, as "gammaln" "ln_gamma"],
            /// Derivative of `lgamma`; NaN at -1, -2, …, `∓inf` at `±0`.
            Digamma = "digamma" [digamma, try_digamma: (x) "derivative of lgamma", 1.0 => -0.577216, as "psi"],
            /// Largest integer not above x; derivative 0.
            Floor = "floor" [floor, try_floor: (x) "largest integer not above x; derivative 0", -1.5 => -2.0],
            /// Smallest integer not below x; derivative 0.
            Ceil = "ceil" [ceil, try_ceil: (x) "smallest integer not below x; derivative 0", -1.5 => -1.0],
            /// Nearest integer, halves to even; derivative 0.
            Round = "round" [
                round, try_round: (x) "nearest integer, halves to even; derivative 0",
                2.5 => 2.0, as "rint" "round_ties_even"
            ],
            /// Integer part, towards zero; derivative 0.
            Trunc = "trunc" [trunc, try_trunc: (x) "integer part; derivative 0", -1.5 => -1.0, as "fix"],
            /// `x` itself, with derivative 0 on purpose: the derivative is severed here, and the status of a gradient reports
            /// it. Its number may be taken out of a function that is differentiated.
            Detach = "detach" [
                detach, try_detach: (x) "x as a constant: no derivative flows through it",
                1.5 => 1.5, as "stop_gradient"
            ],
            /// `x^n` for a constant integer n; `x^0` is 1 with derivative 0, also at 0.
            Powi(n: i32 = 3) = "powi",
            /// n-th derivative of digamma, `(-1)^(n+1) n! sum_k (x+k)^-(n+1)`.
            Polygamma(n: u32 = 1) = "polygamma",
            /// n-th derivative of `sinc(x) = sin(pi x)/(pi x)`; `sinc(0) = 1`.
            Sinc(n: u32 = 0) = "sinc",
            /// n-th derivative of `erfcx(x) = e^(x^2) erfc(x)`, the scaled complementary error function; `inf` below -26.6.
            Erfcx(n: u32 = 0) = "erfcx",
            /// n-th derivative of the logarithm of `normal_cdf`; about `-x^2/2` far left. Right to all digits up to order 3.
            LogNormalCdf(n: u32 = 0) = "log_normal_cdf",
        }
    } };
}
pub(crate) use unary_list;

unary_list! { [super::family] [] }
unary_list! { [super::facts::called] [] }

impl Unary {
    /// `self(x)` for a plain number (or lanes of them).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn eval<F: Float>(self, x: F) -> F {
        match self {
            Self::Neg => -x,
            Self::Abs => x.map(f64::abs),
            Self::Sign => x.map(sign),
            Self::Square => x * x,
            Self::Sqrt => x.sqrt(),
            Self::Rsqrt => F::from_f64(1.0) / x.sqrt(),
            Self::Cbrt => x.cbrt(),
            Self::CbrtSlope => x.map(|x| (x.cbrt() * x.cbrt() * 3.0).recip()),
            Self::Recip => F::from_f64(1.0) / x,
            Self::Exp => x.exp(),
            Self::Exp2 => x.exp2(),
            Self::Expm1 => x.expm1(),
            Self::Ln => x.ln(),
            Self::Log2 => x.log2(),
            Self::Log10 => x.log10(),
            Self::Log1p => x.log1p(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::Tan => x.tan(),
            Self::Asin => x.asin(),
            Self::Acos => x.acos(),
            Self::Atan => x.atan(),
            Self::AtanSlope => F::from_f64(1.0) / (x * x + F::from_f64(1.0)),
            Self::OneMinusSquare => (F::from_f64(1.0) - x) * (x + F::from_f64(1.0)),
            Self::Sinh => x.sinh(),
            Self::Cosh => x.cosh(),
            Self::Tanh => x.tanh(),
            Self::Sech2 => sech2(x),
            Self::Asinh => x.map(libm::asinh),
            // Far left of 1 the rounded formula gives numbers.
            Self::Acosh => x.map(|x| if x < 1.0 { f64::NAN } else { libm::acosh(x) }),
            Self::Atanh => x.map(libm::atanh),
            Self::Sigmoid => x.sigmoid(),
            Self::SigmoidSlope => sech2(x * F::from_f64(0.5)) * F::from_f64(0.25),
            Self::Softplus => x.softplus(),
            Self::Softsign => x.map(|x| if x.is_infinite() { x.signum() } else { x / (1.0 + x.abs()) }),
            Self::Relu => x.map(|x| if x > 0.0 || x.is_nan() { x } else { 0.0 }),
            Self::GeluErf => x.map(special::gelu_erf),
            Self::GeluTanh => x.map(special::gelu_tanh),
            Self::GeluTanhSlope => x.map(special::gelu_tanh_slope),
            Self::Silu => x.map(special::silu),
            Self::SiluSlope => x.map(silu_slope),
            Self::Mish => x.map(special::mish),
            Self::Logit => x.map(special::logit),
            Self::LogitSlope => F::from_f64(1.0) / (x * (F::from_f64(1.0) - x)),
            Self::Entr => x.map(special::entr),
            Self::Erf => x.erf(),
            Self::ErfSlope => (-(x * x)).exp() * F::from_f64(FRAC_2_SQRT_PI),
            Self::Erfc => x.erfc(),
            Self::NormalPdf => x.map(special::normal_pdf),
            Self::NormalCdf => x.map(special::normal_cdf),
            Self::NormalQuantile => x.map(special::normal_quantile),
            Self::NormalQuantileSlope => x.map(special::normal_quantile_slope),
            Self::NormalQuantileOfLog => x.map(special::normal_quantile_of_log),
            Self::NormalQuantileOfLogSlope => x.map(special::normal_quantile_of_log_slope),
            Self::Erfinv => x.map(special::erfinv),
            Self::Lgamma => x.map(special::lgamma),
            Self::Digamma => x.map(special::digamma),
            Self::Floor => x.map(f64::floor),
            Self::Ceil => x.map(f64::ceil),
            Self::Round => x.map(f64::round_ties_even),
            Self::Trunc => x.map(f64::trunc),
            Self::Detach => x,
            Self::Powi(n) => x.map(|x| super::whole_power(x, n)),
            Self::Polygamma(n) => x.map(|x| special::polygamma(n, x)),
            Self::Sinc(n) => x.map(|x| special::sinc_derivative(n, x)),
            Self::Erfcx(n) => x.map(|x| special::erfcx_derivative(n, x)),
            Self::LogNormalCdf(n) => x.map(|x| special::log_normal_cdf(n, x)),
        }
    }

    /// `dy/dx` where `y = self(x)`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn partial<R: Real>(self, x: R, y: R) -> R {
        match self {
            Self::Neg => R::constant(-1.0),
            Self::Abs => x.sign(),
            Self::Sign | Self::Floor | Self::Ceil | Self::Round | Self::Trunc | Self::Detach => R::constant(0.0),
            Self::Square => x * 2.0,
            Self::Sqrt => (y * 2.0).recip(),
            Self::Rsqrt => y / x * -0.5,
            Self::Cbrt if R::PLAIN => (y * y * 3.0).recip(),
            Self::Cbrt => x.unary(Self::CbrtSlope),
            // Not by the rules of its parts, whose second derivatives have infinite terms of both signs.
            Self::CbrtSlope => y / x * (-2.0 / 3.0),
            Self::Recip => -(y * y),
            Self::Exp => y,
            Self::Exp2 => y * LN_2,
            // Not y + 1, which cancels for x far below zero.
            Self::Expm1 => x.exp(),
            Self::Ln => x.recip(),
            Self::Log2 => (x * LN_2).recip(),
            Self::Log10 => (x * LN_10).recip(),
            Self::Log1p => (x + 1.0).recip(),
            Self::Sin => x.cos(),
            Self::Cos => -x.sin(),
            Self::Tan => y * y + 1.0,
            Self::Asin => Self::OneMinusSquare.slope(x).rsqrt(),
            Self::Acos => -Self::OneMinusSquare.slope(x).rsqrt(),
            Self::Atan => Self::AtanSlope.slope(x),
            // Through y, because x^2 overflows from 1e154 on.
            Self::AtanSlope => x * y * y * -2.0,
            Self::OneMinusSquare => x * -2.0,
            Self::Sinh => x.cosh(),
            Self::Cosh => x.sinh(),
            Self::Tanh => x.sech2_beside_tanh(y),
            Self::Sech2 => x.tanh() * y * -2.0,
            // hypot, because x^2 overflows from 1e154 on.
            Self::Asinh => x.hypot(R::constant(1.0)).recip(),
            Self::Acosh => (x - 1.0).rsqrt() * (x + 1.0).rsqrt(),
            Self::Atanh => Self::OneMinusSquare.slope(x).recip(),
            Self::Sigmoid => Self::SigmoidSlope.slope(x),
            // sigmoid(-x) - sigmoid(x), which cancels near 0.
            Self::SigmoidSlope => -(y * (x * 0.5).tanh()),
            Self::Softplus => x.sigmoid(),
            Self::Softsign => (x.abs() + 1.0).recip().square(),
            Self::Relu => step(x),
            Self::GeluErf => {
                let x = bounded(x, 40.0);
                let phi = (x * x * -0.5).exp() * (0.25 * std::f64::consts::SQRT_2 * FRAC_2_SQRT_PI);
                (x * -std::f64::consts::FRAC_1_SQRT_2).erfc() * 0.5 + x * phi
            }
            Self::GeluTanh => x.unary(Self::GeluTanhSlope),
            Self::GeluTanhSlope => {
                // y = s + x w' s t with w = C (x + 0.044715 x^3), s = sigmoid(w), t = sigmoid(-w); s' = w' s t, t' = -s'.
                const C: f64 = std::f64::consts::SQRT_2 * FRAC_2_SQRT_PI;
                let x = bounded(x, 40.0);
                let square = x * x;
                let w = x * (square * 0.044715 + 1.0) * C;
                let (first, second) = ((square * (3.0 * 0.044715) + 1.0) * C, x * (6.0 * 0.044715 * C));
                // t - s = -tanh(w/2), which cancels near 0.
                Self::SigmoidSlope.slope(w) * (first * 2.0 + x * second - x * (first * first) * (w * 0.5).tanh())
            }
            Self::Silu => Self::SiluSlope.slope(x),
            Self::SiluSlope => {
                let x = bounded(x, 800.0);
                Self::SigmoidSlope.slope(x) * (-(x * (x * 0.5).tanh()) + 2.0)
            }
            Self::Mish => mish_slope(x),
            Self::Logit => Self::LogitSlope.slope(x),
            // Not by the rule of the product, whose terms cancel at 1/2.
            Self::LogitSlope => (x * 2.0 - 1.0) * y * y,
            Self::Entr => -(x.ln() + 1.0),
            Self::Erf => Self::ErfSlope.slope(x),
            Self::Erfc => -Self::ErfSlope.slope(x),
            // Through y: where x^2 overflows it is 0, and 0 times the derivative of x^2 would be NaN. So would be 0 times 2x.
            Self::ErfSlope => bounded(x, 30.0) * y * -2.0,
            Self::NormalPdf => -(bounded(x, 40.0) * y),
            Self::NormalCdf => x.normal_pdf(),
            Self::NormalQuantile => x.unary(Self::NormalQuantileSlope),
            Self::NormalQuantileSlope => x.normal_quantile() * y * y,
            Self::NormalQuantileOfLog => x.unary(Self::NormalQuantileOfLogSlope),
            Self::NormalQuantileOfLogSlope => {
                // y^2 (q + h) at the quantile q, with h = 1/y; on the left q + h = -h'/h, and far right h is nothing beside q.
                let q = x.normal_quantile_of_log();
                let h = q.unary(Self::LogNormalCdf(1));
                let left = || -(q.unary(Self::LogNormalCdf(2)) / h);
                let right = || R::branch(q.less(R::constant(9.0)), || q + h, || q);
                y * y * R::branch(q.less(R::constant(0.0)), left, right)
            }
            Self::Erfinv => (y * y).exp() * (1.0 / FRAC_2_SQRT_PI),
            Self::Lgamma => x.digamma(),
            Self::Digamma => x.unary(Self::Polygamma(1)),
            // Of orders that nobody reaches the next one is the same.
            Self::Polygamma(n) => x.unary(Self::Polygamma(n.saturating_add(1))),
            Self::Sinc(n) => x.unary(Self::Sinc(n.saturating_add(1))),
            Self::Erfcx(n) => x.unary(Self::Erfcx(n.saturating_add(1))),
            Self::LogNormalCdf(n) => x.unary(Self::LogNormalCdf(n.saturating_add(1))),
            Self::Powi(0) => R::constant(0.0),
            Self::Powi(1) => R::constant(1.0),
            Self::Powi(2) => x * 2.0,
            // There is no smaller power.
            Self::Powi(i32::MIN) => x.powi(i32::MIN) / x * f64::from(i32::MIN),
            Self::Powi(n) => x.powi(n - 1) * f64::from(n),
        }
    }

    /// What a function that exists for the sake of its own derivative is in plain arithmetic; `None` for any other.
    ///
    /// A derivative that loses digits, or meets `0 * inf`, when its formula is differentiated is a function of its own with
    /// a rule of its own. Where nothing is differentiated any more, this formula is as good, and shares more with what is
    /// around it: plain numbers compute it in place of the function, and Programs are rewritten so before they are planned
    /// ([`Program::written_out`](crate::Program::written_out)).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn written_out<R: Real>(self, x: R) -> Option<R> {
        Some(match self {
            Self::AtanSlope => (x * x + 1.0).recip(),
            Self::OneMinusSquare => (-x + 1.0) * (x + 1.0),
            Self::CbrtSlope => {
                let y = x.cbrt();
                (y * y * 3.0).recip()
            }
            // sigmoid(x) sigmoid(-x) by one exponential instead of two.
            Self::SigmoidSlope => (x * 0.5).sech2() * 0.25,
            Self::SiluSlope => silu_slope(x),
            Self::LogitSlope => (x * (-x + 1.0)).recip(),
            Self::ErfSlope => (-(x * x)).exp() * FRAC_2_SQRT_PI,
            _ => return None,
        })
    }

    /// `self(x)` as a factor: written out over plain numbers, else one operation.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slope<R: Real>(self, x: R) -> R {
        let plain = if R::PLAIN { self.written_out(x) } else { None };
        plain.unwrap_or_else(|| x.unary(self))
    }

    /// Whether the derivative is structurally zero: nothing flows back, not even `0 * inf`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_flat(self) -> bool {
        matches!(self, Self::Sign | Self::Floor | Self::Ceil | Self::Round | Self::Trunc | Self::Detach | Self::Powi(0))
    }

    /// The sets of operands in which it is linear.
    pub const fn linear_in(self) -> &'static [&'static [usize]] {
        if matches!(self, Self::Neg) { &[&[0]] } else { &[] }
    }

    /// Whether the second derivative is more than structurally zero: it is zero where the function is linear, or linear on
    /// both sides of a kink.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub const fn is_nonlinear(self) -> bool {
        !self.is_flat() && !matches!(self, Self::Neg | Self::Abs | Self::Relu | Self::Powi(1))
    }

    /// What [`Unary::partial`] reads, over whichever carrier.
    pub const fn reads(self) -> Reads {
        match self {
            Self::Neg | Self::Sign | Self::Floor | Self::Ceil | Self::Round | Self::Trunc | Self::Detach => {
                Reads::NOTHING
            }
            Self::Powi(0 | 1) => Reads::NOTHING,
            Self::Sqrt | Self::Recip | Self::Exp | Self::Exp2 | Self::Tan | Self::Erfinv => Reads::RESULT,
            Self::Rsqrt | Self::Cbrt | Self::CbrtSlope | Self::AtanSlope | Self::Tanh | Self::Sech2 => Reads::BOTH,
            Self::SigmoidSlope | Self::LogitSlope | Self::ErfSlope | Self::NormalPdf => Reads::BOTH,
            Self::NormalQuantileSlope | Self::NormalQuantileOfLogSlope => Reads::BOTH,
            Self::Abs | Self::Square | Self::Expm1 | Self::Ln | Self::Log2 | Self::Log10 | Self::Log1p => Reads::X,
            Self::Sin | Self::Cos | Self::Asin | Self::Acos | Self::Atan | Self::OneMinusSquare => Reads::X,
            Self::Sinh | Self::Cosh | Self::Asinh | Self::Acosh | Self::Atanh | Self::Softplus | Self::Relu => Reads::X,
            Self::Sigmoid | Self::Softsign | Self::Mish | Self::Logit | Self::Entr => Reads::X,
            Self::GeluErf | Self::GeluTanh | Self::GeluTanhSlope | Self::Silu | Self::SiluSlope => Reads::X,
            Self::Erf | Self::Erfc | Self::NormalCdf | Self::NormalQuantile | Self::NormalQuantileOfLog => Reads::X,
            Self::Lgamma | Self::Digamma | Self::Polygamma(_) | Self::Sinc(_) | Self::Powi(_) => Reads::X,
            Self::Erfcx(_) | Self::LogNormalCdf(_) => Reads::X,
        }
    }

    /// How many times the value is rounded: not at all where it is exact, once where it is the number nearest to the exact
    /// one; `None` of a function that is right to a few units in the last place.
    pub const fn roundings(self) -> Option<u32> {
        match self {
            Self::Neg | Self::Abs | Self::Relu | Self::Detach => Some(0),
            Self::Square | Self::Sqrt | Self::Recip => Some(1),
            flat if flat.is_flat() => Some(0),
            _ => None,
        }
    }

    /// The same function of integers, which wrap around; `None` if it takes real numbers only.
    pub fn of_integers(self) -> Option<fn(i64) -> i64> {
        match self {
            Self::Neg => Some(i64::wrapping_neg),
            Self::Abs => Some(i64::wrapping_abs),
            Self::Sign => Some(i64::signum),
            Self::Square => Some(|x| x.wrapping_mul(x)),
            Self::Detach => Some(|x| x),
            _ => None,
        }
    }

    /// The number that the member carries: an exponent, the order of a derivative.
    pub const fn number(self) -> Option<i64> {
        match self {
            Self::Powi(n) => Some(n as i64),
            Self::Polygamma(n) | Self::Sinc(n) | Self::Erfcx(n) | Self::LogNormalCdf(n) => Some(n as i64),
            _ => None,
        }
    }

    /// The vector kernel that computes it; `None` if [`Unary::eval`] is called for every element.
    pub(crate) fn kernel(self) -> Option<kernels::Unary> {
        use kernels::Unary as To;
        Some(match self {
            Self::Neg => To::Neg,
            Self::Abs => To::Abs,
            Self::Sign => To::Sign,
            Self::Square => To::Square,
            Self::Sqrt => To::Sqrt,
            Self::Rsqrt => To::Rsqrt,
            Self::Cbrt => To::Cbrt,
            Self::Recip => To::Recip,
            Self::Exp => To::Exp,
            Self::Exp2 => To::Exp2,
            Self::Expm1 => To::Expm1,
            Self::Ln => To::Ln,
            Self::Log2 => To::Log2,
            Self::Log10 => To::Log10,
            Self::Log1p => To::Log1p,
            Self::Sin => To::Sin,
            Self::Cos => To::Cos,
            Self::Tan => To::Tan,
            Self::Asin => To::Asin,
            Self::Acos => To::Acos,
            Self::Atan => To::Atan,
            Self::Sinh => To::Sinh,
            Self::Cosh => To::Cosh,
            Self::Tanh => To::Tanh,
            Self::Sech2 => To::Sech2,
            Self::Asinh => To::Asinh,
            Self::Acosh => To::Acosh,
            Self::Atanh => To::Atanh,
            Self::Sigmoid => To::Sigmoid,
            Self::Softplus => To::Softplus,
            Self::Relu => To::Relu,
            Self::GeluErf => To::GeluErf,
            Self::GeluTanh => To::GeluTanh,
            Self::GeluTanhSlope => To::GeluTanhSlope,
            Self::Silu => To::Silu,
            Self::Erf => To::Erf,
            Self::Erfc => To::Erfc,
            Self::Erfinv => To::Erfinv,
            Self::Floor => To::Floor,
            Self::Ceil => To::Ceil,
            Self::Round => To::Round,
            Self::Trunc => To::Trunc,
            Self::Detach => To::Copy,
            // Those with a slope in their name are written out before: they come here only in a Program that is planned as
            // it is. Powers by integers are an instruction of their own.
            Self::AtanSlope | Self::OneMinusSquare | Self::CbrtSlope | Self::SigmoidSlope | Self::SiluSlope => {
                return None;
            }
            Self::ErfSlope | Self::NormalQuantileSlope | Self::NormalQuantileOfLogSlope => return None,
            Self::Mish | Self::Logit | Self::LogitSlope | Self::Entr => return None,
            Self::NormalPdf | Self::NormalCdf | Self::NormalQuantile | Self::NormalQuantileOfLog => return None,
            Self::Lgamma | Self::Digamma | Self::Polygamma(_) | Self::Sinc(_) => return None,
            Self::Erfcx(_) | Self::LogNormalCdf(_) | Self::Softsign | Self::Powi(_) => return None,
        })
    }

    /// Where it is well behaved, and where it is not.
    pub const fn domain(self) -> Domain<1> {
        let (inside, edges): (_, &[[f64; 1]]) = match self {
            Self::Sqrt | Self::Rsqrt | Self::Ln | Self::Log2 | Self::Log10 | Self::Entr => {
                (Some([1.0, 3.0]), &[[0.0], [-1.0]])
            }
            Self::Logit | Self::LogitSlope => (Some([0.1, 0.9]), &[[0.0], [1.0]]),
            Self::Cbrt | Self::CbrtSlope | Self::Recip => (Some([1.0, 3.0]), &[[0.0]]),
            Self::Log1p => (Some([-0.75, 0.75]), &[[-1.0], [-2.0]]),
            Self::Asin | Self::Acos | Self::Atanh | Self::Erfinv => (Some([-0.75, 0.75]), &[[1.0], [-1.0], [2.0]]),
            Self::Acosh => (Some([1.5, 3.5]), &[[1.0], [0.0]]),
            Self::Lgamma | Self::Digamma | Self::Polygamma(_) => (Some([1.5, 3.5]), &[[0.0], [-1.0], [-2.0]]),
            Self::Powi(..0) => (Some([1.0, 3.0]), &[[0.0]]),
            Self::Powi(_) | Self::Tan | Self::Sinc(_) => (Some([-1.0, 1.0]), &[]),
            Self::Exp | Self::Exp2 | Self::Expm1 | Self::Sinh | Self::Cosh => (None, &[[4096.0]]),
            Self::NormalPdf | Self::NormalCdf | Self::LogNormalCdf(_) => (Some([-2.0, 2.0]), &[]),
            Self::Erfcx(_) => (Some([-2.0, 2.0]), &[[-4096.0]]),
            Self::NormalQuantile | Self::NormalQuantileSlope => (Some([0.1, 0.9]), &[[0.0], [1.0], [2.0]]),
            Self::NormalQuantileOfLog | Self::NormalQuantileOfLogSlope => (Some([-2.5, -0.5]), &[[0.0], [1.0]]),
            Self::Neg | Self::Abs | Self::Sign | Self::Square | Self::Relu | Self::Detach => (None, &[]),
            Self::Floor | Self::Ceil | Self::Round | Self::Trunc => (None, &[]),
            Self::Sin | Self::Cos | Self::Atan | Self::AtanSlope | Self::OneMinusSquare => (None, &[]),
            Self::Tanh | Self::Sech2 | Self::Asinh | Self::Sigmoid | Self::SigmoidSlope | Self::Softplus => (None, &[]),
            Self::GeluErf | Self::GeluTanh | Self::GeluTanhSlope | Self::Silu | Self::SiluSlope => (None, &[]),
            Self::Erf | Self::ErfSlope | Self::Erfc | Self::Softsign | Self::Mish => (None, &[]),
        };
        Domain { inside: [inside], edges }
    }

    /// Points inside the domain and away from kinks, for the rule tests.
    pub const fn samples(self) -> &'static [f64] {
        match self {
            Self::Neg | Self::Square | Self::Sin | Self::Cos | Self::Atan | Self::Asinh | Self::Detach => {
                &[-2.3, -0.4, 0.0, 0.7, 3.1]
            }
            Self::AtanSlope | Self::OneMinusSquare => &[-2.3, -0.4, 0.0, 0.7, 3.1],
            Self::Exp | Self::Exp2 | Self::Expm1 | Self::Sinh | Self::Cosh => &[-2.3, -0.4, 0.0, 0.7, 3.1],
            Self::Sigmoid | Self::SigmoidSlope | Self::Softplus => &[-2.3, -0.4, 0.0, 0.7, 1.9],
            Self::Silu | Self::SiluSlope | Self::Mish | Self::Tanh | Self::Sech2 => &[-2.3, -0.4, 0.0, 0.7, 1.9],
            Self::GeluErf | Self::GeluTanh | Self::GeluTanhSlope | Self::Erf | Self::ErfSlope | Self::Erfc => {
                &[-1.3, -0.4, 0.0, 0.7, 1.6]
            }
            Self::Abs | Self::Sign | Self::Relu | Self::Softsign => &[-2.3, -0.4, 0.7, 3.1],
            Self::Floor | Self::Ceil | Self::Round | Self::Trunc => &[-2.3, -0.4, 0.7, 3.2],
            Self::Sqrt | Self::Rsqrt | Self::Ln | Self::Log2 | Self::Log10 | Self::Entr => &[0.1, 0.7, 1.0, 3.0],
            Self::Cbrt | Self::CbrtSlope | Self::Recip => &[-2.1, -0.6, 0.4, 3.0],
            Self::Log1p => &[-0.6, 0.0, 0.4, 3.0],
            Self::Tan => &[-1.2, -0.4, 0.0, 0.9],
            Self::Asin | Self::Acos | Self::Atanh | Self::Erfinv => &[-0.8, -0.3, 0.0, 0.6],
            Self::Acosh => &[1.2, 1.9, 4.0],
            Self::Lgamma | Self::Digamma | Self::Polygamma(_) => &[-1.6, 0.4, 1.5, 3.3, 11.0],
            Self::Powi(_) => &[-1.7, -0.6, 0.8, 2.2],
            Self::Sinc(_) => &[-1.4, 0.0, 0.3, 2.6],
            Self::NormalPdf | Self::NormalCdf | Self::Erfcx(_) | Self::LogNormalCdf(_) => &[-1.9, -0.4, 0.0, 0.7, 1.6],
            Self::NormalQuantile | Self::NormalQuantileSlope | Self::Logit | Self::LogitSlope => &[0.1, 0.4, 0.6, 0.8],
            Self::NormalQuantileOfLog | Self::NormalQuantileOfLogSlope => &[-3.0, -1.0, -0.5, -0.2],
        }
    }
}
