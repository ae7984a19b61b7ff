//! [`ArrayLevel`]: the recording of one function of tensors.

use std::panic::Location;

use super::Tensor;
use super::graph::{self, Closed, Reading};
use crate::error::{Error, Line};
use crate::tape::recording::{Mode, Scope};

/// A recording of a function of tensors, which stays open.
pub(crate) struct ArrayLevel {
    driver: &'static str,
    scope: Scope,
    line: Line,
}

/// How a leaf of a point becomes an input.
pub(crate) enum Mapped {
    /// As it is.
    Whole,
    /// Without this axis.
    Slice(usize),
}

impl ArrayLevel {
    /// Opens a level.
    #[track_caller]
    pub(crate) fn open(driver: &'static str, reading: Reading) -> Self {
        let scope = Scope::open(Mode::Once);
        graph::open(scope.generation(), reading, None);
        ArrayLevel { driver, scope, line: Location::caller() }
    }

    /// Opens a level for a function of our own that a user has asked for at this line, which is that of all it records. What
    /// was recorded of the user's functions before keeps its lines.
    pub(crate) fn open_at(driver: &'static str, reading: Reading, line: Line) -> Self {
        let scope = Scope::open(Mode::Once);
        graph::open(scope.generation(), reading, Some(line));
        ArrayLevel { driver, scope, line }
    }

    /// An input for a leaf of the point.
    pub(crate) fn input(&self, leaf: &Tensor, mapped: &Mapped) -> Tensor {
        let mut ty = leaf.ty().clone();
        let point = match mapped {
            Mapped::Whole => Some(leaf.clone()),
            Mapped::Slice(axis) => {
                ty.shape.remove(*axis);
                None
            }
        };
        graph::with_graph(self.scope.generation(), |graph| graph.leaf("", ty, point))
    }

    /// Ends the level: its Program and captures.
    pub(crate) fn close(self, outputs: &[Tensor]) -> Result<Closed, Error> {
        graph::close(self.scope.generation(), outputs, self.driver, self.line)
    }
}

impl Drop for ArrayLevel {
    fn drop(&mut self) {
        // After a panic in the user's function; else it was taken.
        graph::take(self.scope.generation());
    }
}
