//! [`Error`]: what a user can cause with arrays and Programs.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::{LazyLock, PoisonError, RwLock};

use crate::array::Type;

pub(crate) use crate::tape::recording::Line;

/// What kind of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Shapes, element types, ranks, axes or options that do not fit.
    Misfit,
    /// An index out of range, or another value that only running shows to be wrong.
    Run,
    /// A value that is not known yet, or no longer; or memory that is missing or not allowed.
    Unavailable,
    /// A number that a derivative flows through, and that would be missing from it: see
    /// [`Tensor::to_array`](crate::Tensor::to_array).
    Active,
    /// A derivative or batched form that does not exist.
    Unsupported,
    /// Text or a file that cannot be read.
    Parse,
}

/// A mistake in the use of arrays or Programs. The message names the operation, the types of its
/// operands as the user wrote them, and the user's line.
///
/// ```
/// use wengert::prelude::*;
/// let (a, b) = (Tensor::zeros(&[3, 4]), Tensor::zeros(&[5]));
/// let error = a.try_add(&b).unwrap_err();
/// assert!(error.to_string().starts_with("`add` of f64[3,4] and f64[5] at "));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    operation: String,
    operands: Vec<Type>,
    why: String,
    line: Option<Line>,
    lacks_memory: bool,
    enough: Option<usize>,
}

/// Why operands do not fit an operation: a sentence without its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit(pub String);

impl<T: Into<String>> From<T> for Misfit {
    fn from(why: T) -> Self {
        Misfit(why.into())
    }
}

/// The reason alone: an operation that is several equations names itself.
impl From<Error> for Misfit {
    fn from(error: Error) -> Self {
        Misfit(error.0.why)
    }
}

/// Returns a [`Misfit`] with a formatted message.
macro_rules! misfit {
    ($($text:tt)*) => { return Err($crate::error::Misfit(format!($($text)*))) };
}
pub(crate) use misfit;

impl Error {
    pub(crate) fn new(kind: ErrorKind, operation: &str, why: impl Into<String>) -> Self {
        let operation = operation.to_owned();
        let (operands, why) = (Vec::new(), why.into());
        Error(Box::new(Inner { kind, operation, operands, why, line: None, lacks_memory: false, enough: None }))
    }

    /// With the types of the operands.
    pub(crate) fn of<'a>(mut self, operands: impl IntoIterator<Item = &'a Type>) -> Self {
        self.0.operands = operands.into_iter().cloned().collect();
        self
    }

    /// As an error of the operation that the user called, if that is another one.
    pub(crate) fn named<'a>(mut self, operation: &str, operands: impl IntoIterator<Item = &'a Type>) -> Self {
        self.0.operation = operation.to_owned();
        self.of(operands)
    }

    /// With the user's line, unless it has one.
    pub(crate) fn at(mut self, line: Option<Line>) -> Self {
        self.0.line = self.0.line.or(line);
        self
    }

    /// That of an operation of this name which ran, as an error of the function that the user called at the line, if that is
    /// another one. An error with a name of its own keeps it.
    pub(crate) fn of_call(mut self, operation: &str, line: Option<Line>) -> Self {
        let calls = CALLS.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(Call { name: Some(name), operands }) = line.and_then(|line| calls.get(line)) {
            let inner = &mut *self.0;
            if inner.operation == operation || inner.operation == *name && inner.operands.is_empty() {
                inner.operation.clone_from(name);
                inner.operands = operands.clone().unwrap_or_default();
            }
        }
        self.at(line)
    }

    /// As one that is about memory.
    pub(crate) fn of_memory(mut self) -> Self {
        self.0.lacks_memory = true;
        self
    }

    /// As one that is about memory, where this many bytes would be enough.
    #[cfg(feature = "engine")]
    pub(crate) fn of_too_few_bytes(mut self, enough: usize) -> Self {
        self.0.enough = Some(enough);
        self.of_memory()
    }

    /// How many bytes would be enough, if it says that a limit of memory allows too few: the least limit with which there is a
    /// plan.
    ///
    /// ```
    /// use wengert::{Compile, Tensor};
    /// let with = |bytes| Compile::new().memory(bytes).function(|x: Tensor| x.exp().sum());
    /// let x = Tensor::zeros(&[1000]);
    /// let least = with(1).try_call(&x).unwrap_err().enough_bytes().expect("a limit was set");
    /// assert!(with(least).try_call(&x).is_ok() && with(least - 1).try_call(&x).is_err());
    /// ```
    pub fn enough_bytes(&self) -> Option<usize> {
        self.0.enough
    }

    /// Whether it says that memory is missing: there is not enough of it, more is not allowed, or no memory can hold the
    /// size.
    pub fn lacks_memory(&self) -> bool {
        self.0.lacks_memory
    }

    /// What kind of mistake it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The name of the operation.
    pub fn operation(&self) -> &str {
        &self.0.operation
    }

    /// The user's line, if it is known.
    pub fn line(&self) -> Option<&'static Location<'static>> {
        self.0.line
    }

    /// Panics with the message, for the forms that do not return a `Result`.
    #[track_caller]
    #[cold]
    pub(crate) fn raise(self) -> ! {
        panic!("{self}")
    }
}

/// What was called at a line.
#[derive(Debug)]
struct Call {
    /// The function; none if it was one and then another, as in the expansion of a macro.
    name: Option<String>,
    /// The types of its operands, if they were always the same.
    operands: Option<Vec<Type>>,
}

/// The calls that became equations by more than their own operation, by their lines: a few for each of the program's lines.
/// An equation knows the line alone, which is there once for each call that is written.
static CALLS: LazyLock<RwLock<HashMap<Location<'static>, Call>>> = LazyLock::new(RwLock::default);

/// Notes that a function was called at a line, for errors that show only when its equations run.
pub(crate) fn note_call<'a>(line: Line, name: &str, operands: impl Iterator<Item = &'a Type> + Clone) {
    let is_same = |call: &Call| {
        call.name.as_ref().is_none_or(|own| own == name)
            && call.operands.as_ref().is_none_or(|own| own.iter().eq(operands.clone()))
    };
    if CALLS.read().unwrap_or_else(PoisonError::into_inner).get(line).is_some_and(is_same) {
        return;
    }
    let mut calls = CALLS.write().unwrap_or_else(PoisonError::into_inner);
    let call = calls
        .entry(*line)
        .or_insert_with(|| Call { name: Some(name.to_owned()), operands: Some(operands.clone().cloned().collect()) });
    call.name.take_if(|own| own != name);
    call.operands.take_if(|own| !own.iter().eq(operands));
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { operation, operands, why, line, .. } = &*self.0;
        write!(f, "`{operation}`")?;
        for (k, operand) in operands.iter().enumerate() {
            let link = match k {
                0 => " of ",
                k if k + 1 == operands.len() => " and ",
                _ => ", ",
            };
            write!(f, "{link}{operand}")?;
        }
        if let Some(line) = line {
            write!(f, " at {line}")?;
        }
        write!(f, ": {why}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// The value, or a panic with the message at the caller's line.
pub(crate) trait OrRaise<T> {
    #[track_caller]
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self) -> T {
        match self {
            Ok(value) => value,
            Err(error) => error.raise(),
        }
    }
}
