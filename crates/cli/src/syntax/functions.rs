//! The one table of the functions of the language.
//!
//! The functions of one and two numbers are those of the library, under its names and with the lines that it has about
//! them; what the language has beside them is [`OWN`]. Error messages, `--help` and the evaluator read this table and no
//! other.

use wengert::ops::{About, Binary, Unary};

use crate::program::Meaning;

/// A function of the language.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Function {
    name: &'static str,
    about: About,
    meaning: Meaning,
}

const fn own(name: &'static str, arguments: &'static [&'static str], line: &'static str, meaning: Meaning) -> Function {
    Function { name, about: About { arguments, line }, meaning }
}

/// What the library does not have under such a name, each behind the function that it is listed after.
const OWN: &[(&str, Function)] = &[
    ("ln", own("log", &["x"], "natural logarithm, the same as ln", Meaning::Unary(Unary::Ln))),
    ("relu", own("gelu", &["x"], "x times the normal distribution function at x", Meaning::Unary(Unary::GeluErf))),
    ("erfc", own("erfcx", &["x"], "e^(x^2) * erfc(x), for large x", Meaning::Unary(Unary::Erfcx(0)))),
    (
        "normal_cdf",
        own(
            "log_normal_cdf",
            &["x"],
            "ln(normal_cdf(x)), also where that underflows",
            Meaning::Unary(Unary::LogNormalCdf(0)),
        ),
    ),
    ("trunc", own("sinc", &["x"], "sin(pi x) / (pi x), and 1 at 0", Meaning::Unary(Unary::Sinc(0)))),
    (
        "rem",
        own(
            "select",
            &["condition", "a", "b"],
            "a where the condition holds, else b; both are computed",
            Meaning::Select,
        ),
    ),
    ("rem", own("clamp", &["x", "lo", "hi"], "x limited to lo..hi; derivative 1 strictly inside", Meaning::Clamp)),
    ("rem", own("fma", &["a", "b", "c"], "a * b + c", Meaning::MulAdd)),
];

/// A function of arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArrayFunction {
    /// Its name. Another thing of the program may have it too.
    pub(crate) name: &'static str,
    /// Its arguments; the last one may be left out where it is an axis.
    pub(crate) arguments: &'static [&'static str],
    /// A line about it.
    pub(crate) line: &'static str,
    /// How it is computed.
    pub(crate) meaning: OfArrays,
}

/// How a function of arrays is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum OfArrays {
    /// Over all elements, or along an axis.
    Reduction(Reduction),
    /// `x · y`
    Dot,
    /// `x_i y_j`
    Outer,
    /// The axes in the opposite order.
    Transpose,
    /// The sum of the diagonal.
    Trace,
    /// The determinant.
    Det,
    /// The inverse.
    Inv,
    /// The solution of a linear system.
    Solve,
}

/// What becomes of many numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reduction {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
    /// Their product.
    Prod,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// The square root of the sum of their squares.
    Norm,
    /// The sum of their absolute values.
    Norm1,
    /// The largest absolute value.
    NormInf,
}

const fn of_arrays(
    name: &'static str,
    arguments: &'static [&'static str],
    line: &'static str,
    meaning: OfArrays,
) -> ArrayFunction {
    ArrayFunction { name, arguments, line, meaning }
}

const fn reduction(name: &'static str, line: &'static str, reduction: Reduction) -> ArrayFunction {
    of_arrays(name, &["x", "axis"], line, OfArrays::Reduction(reduction))
}

/// The functions of arrays. Those of numbers take arrays too, element by element.
const OF_ARRAYS: &[ArrayFunction] = &[
    reduction("sum", "sum of the elements; along an axis if one is given", Reduction::Sum),
    reduction("mean", "their mean", Reduction::Mean),
    reduction("prod", "their product", Reduction::Prod),
    reduction("max", "the largest of all elements; equal ones share the derivative", Reduction::Max),
    reduction("min", "the smallest of all elements; equal ones share the derivative", Reduction::Min),
    reduction("norm", "square root of the sum of squares; derivative 0 at 0", Reduction::Norm),
    reduction("norm1", "sum of the absolute values", Reduction::Norm1),
    reduction("norm_inf", "largest absolute value", Reduction::NormInf),
    of_arrays("dot", &["x", "y"], "sum of the products of two vectors, the same as x @ y", OfArrays::Dot),
    of_arrays("outer", &["x", "y"], "matrix of the products of two vectors", OfArrays::Outer),
    of_arrays("transpose", &["a"], "the axes in the opposite order, the same as a.T", OfArrays::Transpose),
    of_arrays("trace", &["a"], "sum of the diagonal of a matrix", OfArrays::Trace),
    of_arrays("det", &["a"], "determinant, of at most 6 rows", OfArrays::Det),
    of_arrays("inv", &["a"], "inverse, of at most 6 rows", OfArrays::Inv),
    of_arrays("solve", &["a", "b"], "the x with a @ x = b, of at most 6 rows", OfArrays::Solve),
];

impl ArrayFunction {
    /// Every one, in the order in which they are listed.
    pub(crate) fn all() -> &'static [Self] {
        OF_ARRAYS
    }

    /// The function called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        OF_ARRAYS.iter().find(|function| function.name == name).copied()
    }

    /// The call as it is written.
    pub(crate) fn signature(self) -> String {
        match self.meaning {
            // With two arguments these are the functions of two numbers, element by element.
            OfArrays::Reduction(Reduction::Max | Reduction::Min) => format!("{}(x)", self.name),
            OfArrays::Reduction(_) => format!("{0}(x), {0}(x, axis)", self.name),
            _ => format!("{}({})", self.name, self.arguments.join(", ")),
        }
    }
}

/// Names that people know from elsewhere, and ours.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("tg", "tan"),
    ("lg", "log10"),
    ("inv", "recip"),
    ("mod", "rem"),
    ("fmod", "rem"),
    ("where", "select"),
    ("power", "pow"),
    ("swish", "silu"),
    ("expit", "sigmoid"),
    ("logistic", "sigmoid"),
    ("gammaln", "lgamma"),
    ("loggamma", "lgamma"),
    ("psi", "digamma"),
    ("ndtr", "normal_cdf"),
    ("log_ndtr", "log_normal_cdf"),
    ("ndtri", "normal_quantile"),
    ("probit", "normal_quantile"),
    ("ndtri_exp", "normal_quantile_of_log"),
    ("lbeta", "betaln"),
    ("stop_gradient", "detach"),
];

/// The functions of the library that people call by name.
fn of_the_library() -> impl Iterator<Item = Function> {
    let function = |name, about: Option<About>, meaning| about.map(|about| Function { name, about, meaning });
    let unary = Unary::ALL.iter().filter_map(move |op| function(op.name(), op.about(), Meaning::Unary(*op)));
    unary.chain(Binary::ALL.iter().filter_map(move |op| function(op.name(), op.about(), Meaning::Binary(*op))))
}

impl Function {
    /// Every function, in the order in which they are listed.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        of_the_library().flat_map(|function| {
            let behind = OWN.iter().filter(move |(before, _)| *before == function.name).map(|(_, own)| *own);
            std::iter::once(function).chain(behind)
        })
    }

    /// The name that programs use.
    pub(crate) fn name(self) -> &'static str {
        self.name
    }

    /// The names of the arguments, for messages.
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        self.about.arguments
    }

    /// One line about it.
    pub(crate) fn help(self) -> &'static str {
        self.about.line
    }

    /// How it is computed.
    pub(crate) fn meaning(self) -> Meaning {
        self.meaning
    }

    /// The function called `name`.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::all().find(|function| function.name == name)
    }

    /// The functions that someone who wrote `name` may have meant: the nearest one.
    pub(crate) fn nearest(name: &str) -> Option<Self> {
        let lower = name.to_lowercase();
        let other = || OTHER_NAMES.iter().find(|(other, _)| *other == lower).and_then(|(_, ours)| Self::named(ours));
        let near = || nearest_of(&lower, Self::all().map(|function| (function.name, function)));
        Self::named(&lower).or_else(other).or_else(near)
    }

    /// The call as it is written, such as `atan2(y, x)`.
    pub(crate) fn signature(self) -> String {
        format!("{}({})", self.name, self.arguments().join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_to_one_function() {
        let names: std::collections::HashSet<_> = Function::all().map(Function::name).collect();
        assert_eq!(names.len(), Function::all().count());
        assert!(OWN.iter().all(|(before, own)| names.contains(before) && names.contains(own.name)));
        assert!(OTHER_NAMES.iter().all(|(other, ours)| names.contains(ours) && !names.contains(other)));
    }

    #[test]
    fn the_arguments_are_those_that_the_meaning_takes() {
        for function in Function::all() {
            let takes = match function.meaning {
                Meaning::Unary(_) => 1,
                Meaning::Binary(_) => 2,
                Meaning::Select | Meaning::Clamp | Meaning::MulAdd => 3,
            };
            assert_eq!(function.arguments().len(), takes, "{}", function.name);
        }
    }
}
