//! The planner's cost model: what steps take, and the sizes from which another way of computing pays.
//!
//! Times are those of one thread in nanoseconds; what a region of the kernels takes is said in [`wengert_kernels::cost`],
//! where the reference machine is described too. `cargo xtask calibrate` measures every time again on the machine it runs
//! on, and says what the plans of the workloads would be with the times measured.

use wengert_kernels::cost as kernels;

/// The times by which a plan chooses between lanes and regions of its own for every step: nanoseconds of one thread.
///
/// ```
/// use wengert::Program;
/// use wengert::plan::{Costs, Options, Plan};
/// let text = "program(v0: f64[8]) { v1: f64[8] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
/// let program: Program = text.parse()?;
/// let slow = Costs { step: 1e5, ..Costs::REFERENCE };
/// let plan = Plan::with_costs(&program, &Options::default(), &slow)?;
/// assert_eq!(plan.step_count(), 1);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// One operation on one element, in a fused region or on lanes.
    pub operation: f64,
    /// Loading one element of each point into lanes.
    pub load: f64,
    /// Storing one element of each point from lanes.
    pub store: f64,
    /// Starting one instruction on a chunk.
    pub start: f64,
    /// Writing an element of an intermediate value to memory and reading it again.
    pub element: f64,
    /// Reading such an element once more, where it is broadcast.
    pub spread: f64,
    /// Running a step, besides its elements.
    pub step: f64,
    /// A product of small matrices in a batch, besides its elements: finding the matrices, and starting.
    pub product: f64,
}

impl Costs {
    /// Those of the reference machine, which every plan is made by unless it is given others.
    pub const REFERENCE: Costs = Costs {
        operation: kernels::OPERATION,
        load: kernels::LOAD,
        store: kernels::STORE,
        start: kernels::START,
        // Fitted with those of the kernels on 22 November 2026, to mapped programs planned with and without lanes. Alone,
        // measured on the 23rd, an element that is read in another order takes 1.6 to 2.8.
        element: 1.0,
        // Fitted on 23 November 2026 to the sum over a middle axis with its gradient, which lanes had been taken for. Alone
        // 0.6 to 1.3.
        spread: 0.3,
        // Fitted with `element`. Alone, a step on four numbers takes 0.12 to 0.15 microseconds; the fit holds what a step
        // leaves in no cache for the next one.
        step: 1000.0,
        // Fitted on 22 November 2026 to batches of small products. Alone, a product of 3 by 3 matrices takes 75 to 101
        // besides its elements.
        product: 15.0,
    };
}

impl Default for Costs {
    fn default() -> Self {
        Costs::REFERENCE
    }
}

// ---- the sizes of kernels -----------------------------------------------------------------------------------------

/// The least number of elements of a part of a kernel where threads share the work: fewer are done before another thread
/// wakes up. Chosen on 21 November 2026 with [`wengert_kernels::cost::PART_WORK`], which counts instructions too: a kernel
/// takes about two of them for an element, so its parts take as long.
pub(super) const GRAIN: usize = 1 << 14;

// ---- the forms of convolution: multiplications, unless said otherwise -----------------------------------------
//
// Fitted on 21 November 2026 to the times of both forms on the layers of W3 and on random shapes.

/// One number of a panel of the kernel, where output channels are the lanes.
pub(super) const PANEL: usize = 36;
/// One number of the result, where output channels are the lanes.
pub(super) const CHANNEL_STORE: usize = 64;
/// One number of the result, where neighbouring places are the lanes: in steps of its tile.
pub(super) const PLACE_STORE_STEPS: usize = 12;
/// One number of the sums where taps are the lanes: they begin with zeros, and the lanes of each are added up. Chosen on
/// 27 November 2026 with that form, not fitted.
pub(super) const TAP_STORE: usize = 4;
/// One number of a copy of x with zeros around, in any form.
pub(super) const PLANE_COPY: usize = 4;
/// The least number of multiplications of a part of a convolution.
pub(super) const CONV_PART: usize = 1 << 18;
/// The least number of parts worth having where places are the lanes: results are divided, which costs nothing.
pub(super) const PLACE_PARTS: usize = 32;
/// The same where output channels are the lanes: sums are divided, and each part needs memory for its own. It decides the
/// order of these sums and so their bits.
pub(super) const CHANNEL_PARTS: usize = 16;

// ---- rematerialisation: additions of one element ------------------------------------------------------------------
//
// Ratios of the kernels' speeds in the caches on 22 November 2026 (`crates/kernels/examples/speed.rs`).

/// An addition, multiplication, comparison or choice.
pub(super) const CHEAP: usize = 1;
/// A division, or a square root.
pub(super) const DIVISION: usize = 4;
/// A function such as `exp`.
pub(super) const FUNCTION: usize = 8;
