//! [`Task`]: which derivative a driver asks for, whatever was recorded.

/// What is computed from a recorded function of leaves. The gradient and the Hessian are those of the first output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Task {
    /// The outputs.
    Value,
    /// The gradient.
    Gradient,
    /// All outputs, then the gradient.
    ValueAndGradient,
    /// The outputs, then their tangents `J t`, for a tangent of each leaf.
    Jvp,
    /// The cotangents of the leaves, `Jᵀ c`, for a cotangent of each output.
    Vjp,
    /// The derivative of every output by every leaf.
    Jacobian,
    /// The derivative of the gradient by every leaf.
    Hessian,
    /// The Hessian times a vector, which has the form of the leaves.
    Hvp,
    /// The coefficients up to this order of `t -> f(x + t v)`, for a direction `v`.
    Taylor { order: usize },
}

impl Task {
    /// How many kinds of tasks there are.
    pub(crate) const KINDS: usize = 9;

    /// The number of its kind, below [`Task::KINDS`].
    pub(crate) fn kind(self) -> usize {
        match self {
            Task::Value => 0,
            Task::Gradient => 1,
            Task::ValueAndGradient => 2,
            Task::Jvp => 3,
            Task::Vjp => 4,
            Task::Jacobian => 5,
            Task::Hessian => 6,
            Task::Hvp => 7,
            Task::Taylor { .. } => 8,
        }
    }

    /// How many numbers the direction of a driver has, given the numbers of leaves and outputs.
    pub(crate) fn direction_size(self, leaves: usize, outputs: usize) -> usize {
        match self {
            Task::Jvp | Task::Hvp | Task::Taylor { .. } => leaves,
            Task::Vjp => outputs,
            Task::Value | Task::Gradient | Task::ValueAndGradient | Task::Jacobian | Task::Hessian => 0,
        }
    }
}
