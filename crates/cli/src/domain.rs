//! Where functions are defined: the words for a value that is not finite.
//!
//! A number outside a domain is no mistake of the program: floating-point arithmetic goes on with NaN or an infinity, and so do
//! the derivatives. But what the reader wants to know is where it began, and why.

use wengert::ops::{Binary, Unary};

use crate::eval::{Entry, Evaluation, Operation};
use crate::report::Number;

/// Why the value of an entry is not finite though those of its operands are: the function, where it is defined, and what it
/// was given. Nothing if it has no edge there, as where a number overflows.
pub(crate) fn note(run: &Evaluation<f64>, entry: &Entry<f64>) -> Option<String> {
    let (function, arguments, domain) = words(entry.operation)?;
    let operands = &entry.operands[..entry.operation.arity()];
    let values: Vec<f64> = operands.iter().map(|operand| run.value(*operand)).collect();
    let at_infinity = matches!(entry.operation, Operation::Unary(Unary::Sin | Unary::Cos | Unary::Tan));
    let begins_here = values.iter().all(|value| value.is_finite() || at_infinity && value.is_infinite());
    if entry.value.is_finite() || !begins_here {
        return None;
    }
    let given = arguments.iter().zip(values).map(|(name, value)| format!("{name} is {}", Number(value).exact()));
    let given = given.collect::<Vec<_>>().join(" and ");
    Some(format!("{function} is defined where {domain}, and {given} here"))
}

/// A function as it is written, its arguments, and where it is defined; nothing if that is everywhere.
fn words(operation: Operation) -> Option<(String, &'static [&'static str], &'static str)> {
    let call = |name: &str, arguments: &[&str]| format!("{name}({})", arguments.join(", "));
    match operation {
        Operation::Unary(Unary::Powi(n)) if n < 0 => Some((format!("x^{n}"), &["x"], "x is not 0")),
        Operation::Unary(op) => {
            let about = op.about();
            let arguments = about.map_or(&["x"][..], |about| about.arguments);
            Some((call(op.name(), arguments), arguments, of_one(op)?))
        }
        Operation::Binary(op) => {
            let arguments = op.about().map_or(&["x", "y"][..], |about| about.arguments);
            let written = match op {
                Binary::Div => "x / y".to_owned(),
                Binary::Rem => "x % y".to_owned(),
                Binary::Pow => "x^y".to_owned(),
                _ => call(op.name(), arguments),
            };
            Some((written, arguments, of_two(op)?))
        }
        Operation::Input(_) | Operation::Clamp | Operation::MulAdd | Operation::Select(_) => None,
    }
}

fn of_one(op: Unary) -> Option<&'static str> {
    Some(match op {
        Unary::Sqrt | Unary::Entr => "x >= 0",
        Unary::Rsqrt | Unary::Ln | Unary::Log2 | Unary::Log10 => "x > 0",
        Unary::Log1p => "x > -1",
        Unary::Recip => "x is not 0",
        Unary::Sin | Unary::Cos | Unary::Tan => "x is finite",
        Unary::Asin | Unary::Acos => "-1 <= x <= 1",
        Unary::Acosh => "x >= 1",
        Unary::Atanh | Unary::Erfinv => "-1 < x < 1",
        Unary::NormalQuantile | Unary::Logit => "0 < p < 1",
        Unary::NormalQuantileOfLog => "l < 0",
        Unary::Lgamma | Unary::Digamma | Unary::Polygamma(_) => "x is none of 0, -1, -2, …",
        _ => return None,
    })
}

fn of_two(op: Binary) -> Option<&'static str> {
    Some(match op {
        Binary::Div | Binary::Rem => "y is not 0",
        Binary::Pow => "x > 0, x is 0 and y >= 0, or x < 0 and y is whole",
        Binary::Xlogy => "y > 0, or x and y are 0",
        Binary::Xlog1py => "y > -1, or x is 0 and y is -1",
        Binary::Betaln => "x > 0 and y > 0",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grad::report_at;
    use crate::program::Meaning;
    use crate::syntax::functions::Function;

    /// At these numbers nothing overflows: what is not finite lies outside a domain or on its edge.
    const NUMBERS: [f64; 15] = [-3.0, -2.5, -2.0, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0];

    #[test]
    fn every_function_that_ends_somewhere_says_where() {
        for function in Function::all() {
            let name = function.name();
            let is_finite = match function.meaning() {
                Meaning::Unary(op) => NUMBERS.iter().all(|x| op.eval(*x).is_finite()),
                Meaning::Binary(op) => NUMBERS.iter().all(|x| NUMBERS.iter().all(|y| op.eval(*x, *y).is_finite())),
                Meaning::Select | Meaning::Clamp | Meaning::MulAdd => true,
            };
            let operation = match function.meaning() {
                Meaning::Unary(op) => Operation::Unary(op),
                Meaning::Binary(op) => Operation::Binary(op),
                _ => continue,
            };
            assert!(is_finite || words(operation).is_some(), "{name} needs its domain in `of_one` or `of_two`");
        }
    }

    #[test]
    fn the_first_value_that_is_not_finite_is_explained() {
        let notes = |program: &str, at: &str| report_at(program, &[at]).notes;
        assert_eq!(
            notes("a = ln(x)\n2*a", "x=-1"),
            ["line 1: `a = ln(x)` is NaN: ln(x) is defined where x > 0, and x is -1 here"]
        );
        assert_eq!(
            notes("ln(-1) + x", "x=1")[0],
            "line 1: `v1 = ln(-1)` is NaN: ln(x) is defined where x > 0, and x is -1 here"
        );
        assert_eq!(
            notes("1/x", "x=0")[0],
            "line 1: `v1 = 1 / x` is inf: x / y is defined where y is not 0, and x is 1 and y is 0 here"
        );
        assert_eq!(notes("x^0.5", "x=-4").len(), 1);
        assert_eq!(notes("x^-2", "x=0").len(), 1);
        assert_eq!(notes("sin(x)", "x=inf").len(), 1);
        // Overflow, NaN that was given, and a side that is masked.
        assert!(notes("exp(x) + ln(y)", "x=1000,y=nan").is_empty());
        assert!(notes("select(x > 0, ln(x), x)", "x=2").is_empty());
        assert_eq!(notes("sqrt(x) + acos(x) + atanh(x)", "x=2").len(), 2);
    }
}
