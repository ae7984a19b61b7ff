//! The one table of the functions of the language.
//!
//! A line here gives a function its name, its number of arguments and its help text. Error
//! messages, `--help` and the evaluator read this table and no other.

/// One line of the table: enum variant, name in the language, arguments, help.
macro_rules! functions {
    ($($variant:ident $name:literal ($($argument:ident),+) $help:literal;)+) => {
        /// A function of the language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum Function {
            $(#[doc = $help] $variant,)+
        }

        impl Function {
            /// Every function, in the order of the table.
            pub(crate) const ALL: &[Self] = &[$(Self::$variant),+];

            /// The name that programs use.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The names of the arguments, for messages.
            pub(crate) fn arguments(self) -> &'static [&'static str] {
                match self { $(Self::$variant => &[$(stringify!($argument)),+],)+ }
            }

            /// One line about it.
            pub(crate) fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)+ }
            }
        }
    };
}

functions! {
    Neg "neg" (x) "-x";
    Abs "abs" (x) "absolute value; derivative 0 at 0";
    Sign "sign" (x) "-1, 0 or 1; derivative 0";
    Square "square" (x) "x * x";
    Sqrt "sqrt" (x) "square root";
    Rsqrt "rsqrt" (x) "1 / sqrt(x)";
    Cbrt "cbrt" (x) "cube root";
    Recip "recip" (x) "1 / x";
    Exp "exp" (x) "e^x";
    Exp2 "exp2" (x) "2^x";
    Expm1 "expm1" (x) "e^x - 1, accurate near 0";
    Ln "ln" (x) "natural logarithm";
    Log "log" (x) "natural logarithm, the same as ln";
    Log2 "log2" (x) "logarithm to base 2";
    Log10 "log10" (x) "logarithm to base 10";
    Log1p "log1p" (x) "ln(1 + x), accurate near 0";
    Sin "sin" (x) "sine, x in radians";
    Cos "cos" (x) "cosine, x in radians";
    Tan "tan" (x) "tangent, x in radians";
    Asin "asin" (x) "inverse sine";
    Acos "acos" (x) "inverse cosine";
    Atan "atan" (x) "inverse tangent";
    Sinh "sinh" (x) "hyperbolic sine";
    Cosh "cosh" (x) "hyperbolic cosine";
    Tanh "tanh" (x) "hyperbolic tangent";
    Asinh "asinh" (x) "inverse hyperbolic sine";
    Acosh "acosh" (x) "inverse hyperbolic cosine";
    Atanh "atanh" (x) "inverse hyperbolic tangent";
    Sigmoid "sigmoid" (x) "1 / (1 + e^-x)";
    Softplus "softplus" (x) "ln(1 + e^x)";
    Relu "relu" (x) "x above 0, else 0; derivative 0 at 0";
    Gelu "gelu" (x) "x times the normal distribution function at x";
    GeluErf "gelu_erf" (x) "the same as gelu";
    GeluTanh "gelu_tanh" (x) "the approximation of gelu by tanh";
    Silu "silu" (x) "x * sigmoid(x)";
    Erf "erf" (x) "error function";
    Erfc "erfc" (x) "1 - erf(x), accurate for large x";
    Erfcx "erfcx" (x) "e^(x^2) * erfc(x), for large x";
    Erfinv "erfinv" (x) "inverse of erf";
    NormalPdf "normal_pdf" (x) "density of the normal distribution";
    NormalCdf "normal_cdf" (x) "distribution function of the normal distribution";
    LogNormalCdf "log_normal_cdf" (x) "ln(normal_cdf(x)), also where that underflows";
    NormalQuantile "normal_quantile" (p) "inverse of normal_cdf";
    NormalQuantileOfLog "normal_quantile_of_log" (l) "normal_quantile(e^l), also where e^l underflows";
    Lgamma "lgamma" (x) "ln |gamma(x)|";
    Digamma "digamma" (x) "derivative of lgamma";
    Floor "floor" (x) "largest integer not above x; derivative 0";
    Ceil "ceil" (x) "smallest integer not below x; derivative 0";
    Round "round" (x) "nearest integer, halves to even; derivative 0";
    Trunc "trunc" (x) "integer part; derivative 0";
    Sinc "sinc" (x) "sin(pi x) / (pi x), and 1 at 0";
    Pow "pow" (x, y) "x^y";
    Atan2 "atan2" (y, x) "angle of the point (x, y)";
    Hypot "hypot" (x, y) "sqrt(x^2 + y^2)";
    Max "max" (x, y) "the larger; equal arguments share the derivative";
    Min "min" (x, y) "the smaller; equal arguments share the derivative";
    Copysign "copysign" (x, y) "|x| with the sign of y";
    Logaddexp "logaddexp" (x, y) "ln(e^x + e^y)";
    Xlogy "xlogy" (x, y) "x * ln(y), and 0 where x is 0";
    Xlog1py "xlog1py" (x, y) "x * ln(1 + y), and 0 where x is 0";
    Betaln "betaln" (x, y) "logarithm of the beta function";
    Rem "rem" (x, y) "remainder of x / y with the sign of x, the same as x % y";
    Select "select" (condition, a, b) "a where the condition holds, else b; both are computed";
    Clamp "clamp" (x, lo, hi) "x limited to lo..hi; derivative 1 strictly inside";
    Fma "fma" (a, b, c) "a * b + c";
    Detach "detach" (x) "x as a constant: no derivative flows through it";
}

impl Function {
    /// The function called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// The functions that someone who wrote `name` may have meant: the nearest one.
    pub(crate) fn nearest(name: &str) -> Option<Self> {
        let other_names = [
            ("arcsin", Self::Asin),
            ("arccos", Self::Acos),
            ("arctan", Self::Atan),
            ("tg", Self::Tan),
            ("lg", Self::Log10),
            ("inv", Self::Recip),
            ("mod", Self::Rem),
            ("fmod", Self::Rem),
            ("where", Self::Select),
            ("power", Self::Pow),
            ("swish", Self::Silu),
            ("expit", Self::Sigmoid),
            ("logistic", Self::Sigmoid),
            ("gammaln", Self::Lgamma),
            ("loggamma", Self::Lgamma),
            ("psi", Self::Digamma),
            ("ndtr", Self::NormalCdf),
            ("log_ndtr", Self::LogNormalCdf),
            ("ndtri", Self::NormalQuantile),
            ("probit", Self::NormalQuantile),
            ("ndtri_exp", Self::NormalQuantileOfLog),
            ("lbeta", Self::Betaln),
            ("stop_gradient", Self::Detach),
        ];
        let lower = name.to_lowercase();
        let exact = Self::named(&lower);
        let other = other_names.iter().find(|(other, _)| *other == lower).map(|&(_, f)| f);
        exact.or(other).or_else(|| nearest_of(&lower, Self::ALL.iter().map(|f| (f.name(), *f))))
    }

    /// The call as it is written, such as `atan2(y, x)`.
    pub(crate) fn signature(self) -> String {
        format!("{}({})", self.name(), self.arguments().join(", "))
    }
}

/// The candidate whose name is nearest to `name`, if one is near enough to suggest.
///
/// Near enough is at most a third of the letters changed, or one name beginning with the other
/// (at least three letters).
pub(crate) fn nearest_of<'a, T>(name: &str, candidates: impl Iterator<Item = (&'a str, T)>) -> Option<T> {
    let letters = name.chars().count();
    // The distance is quadratic in the length; nobody meant a function by a name of this length.
    if letters > 40 {
        return None;
    }
    candidates
        .filter_map(|(candidate, item)| {
            let shorter = letters.min(candidate.chars().count());
            let begins = name.starts_with(candidate) || candidate.starts_with(name);
            let distance = strsim::damerau_levenshtein(name, candidate);
            let near = distance <= letters.div_ceil(3) && letters > 1;
            ((begins && shorter >= 3) || near).then_some((distance, item))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, item)| item)
}
