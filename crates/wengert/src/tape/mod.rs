//! The scalar Wengert list: recorded while a function runs, swept backwards over any carrier.
//!
//! - [`Var`] is the scalar that records; `record.rs` packs one operation into 64 bits.
//! - `recording/` holds the list of this thread while it grows, in levels, one per driver call.
//! - `trace.rs` takes a finished level off the list, as a value of its own.
//! - `block/` holds loops: one entry of the list, whatever their steps do.
//! - `cotangent.rs` has the factors of a list's edges and what they are multiplied with.
//! - `sweep.rs` runs a list forward and backward; each rule is asked from [`crate::ops`].

pub(crate) mod block;
pub(crate) mod cotangent;
pub(crate) mod record;
pub(crate) mod recording;
pub(crate) mod sweep;
pub(crate) mod trace;
mod var;

pub use recording::{TapeSize, release_memory};
pub(crate) use var::runs_again;
pub use var::{Cond, Var, lift};
