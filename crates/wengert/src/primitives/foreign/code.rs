//! The code of a foreign function: what is called, and what is known of it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::array::{Array, Type};
use crate::program::Program;

/// A function of plain arrays, or why it failed.
pub(crate) type PlainCode = Arc<dyn Fn(&[Array]) -> Result<Vec<Array>, String> + Send + Sync>;

/// A foreign function for operands of fixed types.
pub(crate) struct Code {
    /// Two functions are the same if this number is.
    id: u64,
    /// Its name in messages.
    pub(crate) name: String,
    /// The types of its operands.
    pub(crate) inputs: Vec<Type>,
    /// The types of its results.
    pub(crate) outputs: Vec<Type>,
    /// The function.
    pub(crate) value: PlainCode,
    /// Its derivative.
    pub(crate) derivative: ForeignDerivative,
    /// What is done for many examples.
    pub(crate) many: Many,
    /// Whether an element of a result depends on the elements of the operands at the same place alone.
    pub(crate) is_elementwise: bool,
    /// Whether the derivative is another one than that of the value on purpose.
    pub(crate) is_surrogate: bool,
}

/// The derivative of a foreign function.
pub(crate) enum ForeignDerivative {
    /// It has none.
    None,
    /// Tensor operations: takes operands, results and a tangent of each real operand; gives one of each real result.
    Jvp(Arc<Program>),
    /// Tensor operations: takes operands, results and a cotangent of each real result; gives one of each real operand.
    Vjp(Arc<Program>),
    /// Plain code of the same operands and results, either or both.
    Plain { jvp: Option<PlainCode>, vjp: Option<PlainCode> },
}

/// What is done for many examples.
#[derive(Clone)]
pub(crate) enum Many {
    /// It is refused.
    Refused,
    /// The function is called for one after the other.
    OneByOne,
    /// This function takes operands with one more axis in front, of any length. Derivatives that are plain code are called for
    /// one example after the other.
    Together(PlainCode),
}

impl Many {
    pub(crate) fn is_refused(&self) -> bool {
        matches!(self, Many::Refused)
    }
}

impl Code {
    /// A number that no other code has.
    pub(crate) fn next_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// A function that has no derivative and takes one example at a time.
    pub(crate) fn new(name: &str, inputs: Vec<Type>, outputs: Vec<Type>, value: PlainCode) -> Self {
        Code {
            id: Code::next_id(),
            name: name.to_owned(),
            inputs,
            outputs,
            value,
            derivative: ForeignDerivative::None,
            many: Many::Refused,
            is_elementwise: false,
            is_surrogate: false,
        }
    }

    pub(crate) fn lacks_derivative(&self) -> String {
        format!(
            "`{}` is plain code and has no derivative: give it one with `jvp` or `vjp` (tensor operations), or `foreign_jvp` and \
             `foreign_vjp` (plain code); or cut it off with `detach`",
            self.name
        )
    }

    pub(crate) fn lacks_second_derivative(&self) -> String {
        format!(
            "the derivative of `{}` is plain code, which has no derivative of its own: for second order give it as tensor \
             operations (`jvp` or `vjp`), which may call a rule of their own",
            self.name
        )
    }

    pub(crate) fn lacks_many(&self) -> String {
        format!(
            "`{}` is plain code for one example at a time: allow a loop over the examples with `one_by_one`, or give code for \
             many at once with `together`",
            self.name
        )
    }

    pub(crate) fn lacks_jvp(&self) -> String {
        format!(
            "forward mode asks for the tangents of `{}`, which has a `foreign_vjp` alone: give it a `foreign_jvp` too, or its \
             derivative as tensor operations",
            self.name
        )
    }

    pub(crate) fn lacks_vjp(&self) -> String {
        format!(
            "reverse mode asks for the cotangents of `{}`, which has a `foreign_jvp` alone: give it a `foreign_vjp` too, or its \
             derivative as tensor operations",
            self.name
        )
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Code").field("name", &self.name).field("id", &self.id).finish_non_exhaustive()
    }
}

impl PartialEq for Code {
    fn eq(&self, other: &Code) -> bool {
        self.id == other.id
    }
}

impl Eq for Code {}

impl Hash for Code {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}
