//! Straight-line code in less memory: what stands before the peak is cut into stages, of which some are computed again after it.
//!
//! At the peak of a derivative lie the residuals of everything before. The equations before it are cut at the values
//! everything flows through, such as the results of layers or of steps. A stage can keep its residuals, or nothing but what the
//! next stage takes: then it is run again when the equations after the peak first need a residual of it. Which stages do what
//! is decided for every amount of memory at once by the dynamic program for chains of different stages, with these costs and
//! sizes (Beaumont, Eyraud-Dubois, Herrmann, Joly and Shilova, *Optimal checkpointing for heterogeneous chains*, 2019):
//!
//! ```text
//! C(s, t, m) = min( run s                  + C(s + 1, t, m - residuals of s),
//!                   run s .. k - 1         + C(k, t, m - what k takes) + C(s, k - 1, m)   for every k )
//! ```
//!
//! What is run again is a [`Recompute`](crate::primitives::Recompute), so the result is an ordinary Program: its memory is what
//! the plan of a Program says, and its bits are those of the one that keeps everything. The model counts whole values, as if
//! nothing were fused; the planner asks for Programs of less and less memory and believes the plans alone.
//!
//! It is done with the equations of a derivative, not before differentiation: so it holds for gradients inside of functions,
//! for second derivatives and for Programs that were read from text.

mod emit;
mod stages;
mod table;

use crate::program::Program;

use stages::Stages;
use table::Table;

/// A Program cut at its peak, in less and less memory.
#[derive(Debug)]
pub(crate) struct Chain {
    program: Program,
    stages: Stages,
    table: Table,
}

impl Chain {
    /// Of this Program; `None` if there is nothing to cut.
    pub(crate) fn of(program: &Program) -> Option<Chain> {
        let program = super::segment::without_calls(program.clone());
        let stages = Stages::of(&program)?;
        let table = Table::of(&stages.sizes)?;
        Some(Chain { program, stages, table })
    }

    /// How many ways there are: from that of the least memory to that of the least work.
    pub(crate) fn ways(&self) -> usize {
        self.table.ways().len()
    }

    /// What the model says that a way takes, beside what all of them take.
    pub(crate) fn bytes(&self, number: usize) -> usize {
        self.table.bytes(self.table.ways()[number])
    }

    /// The Program that computes again what the way of this number does.
    pub(crate) fn way(&self, number: usize) -> Program {
        let schedule = self.table.schedule(self.table.ways()[number]);
        emit::emitted(&self.program, &self.stages, &schedule)
    }
}

#[cfg(test)]
mod tests;
