//! [`SparseError`]: why a prepared sparse derivative of a recorded function has no values.

use std::fmt;

use crate::record::GuardFlipped;
use crate::tape::recording::Line;

/// Why a [`SparseRecorded`](super::SparseRecorded) could not be prepared or evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SparseError {
    /// A guard of a strict function comes out differently at this point.
    GuardFlipped(GuardFlipped),
    /// The function takes another path at this point, on which the derivative has another pattern. The prepared derivative has
    /// turned to it: ask for the pattern again, and evaluate with as many values.
    PatternChanged {
        /// What was asked, and where.
        asked: String,
        /// How many entries there were.
        before: usize,
        /// How many there are.
        now: usize,
    },
    /// A given pattern lacks an entry that the function has.
    Missing {
        /// What was asked, and where.
        asked: String,
        /// The first row that lacks an entry.
        row: usize,
        /// Its column.
        col: usize,
    },
    /// Numbers or sizes that do not fit, or a method that is not possible.
    Misfit(String),
}

impl SparseError {
    pub(super) fn misfit(driver: &str, line: Line, why: impl fmt::Display) -> Self {
        SparseError::Misfit(format!("`{driver}` at {line}: {why}"))
    }
}

impl fmt::Display for SparseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SparseError::GuardFlipped(flipped) => flipped.fmt(f),
            SparseError::PatternChanged { asked, before, now } => write!(
                f,
                "{asked}: the function takes another path at this point, on which the pattern has {now} entries where it \
                 had {before}; ask for `pattern()` again and evaluate with as many values"
            ),
            SparseError::Missing { asked, row, col } => {
                write!(f, "{asked}: the given pattern lacks the entry ({row}, {col}), which the function has")
            }
            SparseError::Misfit(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for SparseError {}

impl From<GuardFlipped> for SparseError {
    fn from(flipped: GuardFlipped) -> Self {
        SparseError::GuardFlipped(flipped)
    }
}
