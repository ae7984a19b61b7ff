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
    /// All outputs, then these cotangents.
    ValueAndVjp,
    /// The derivative of every output by every leaf.
    Jacobian,
    /// All outputs, then that.
    ValueAndJacobian,
    /// The derivative of the gradient by every leaf.
    Hessian,
    /// All outputs, then the gradient, then its derivative by every leaf.
    ValueGradientAndHessian,
    /// The Hessian times a vector, which has the form of the leaves.
    Hvp,
    /// All outputs, then the gradient, then the Hessian times a vector.
    ValueGradientAndHvp,
    /// The coefficients up to this order of `t -> f(x + t v)`, for a direction `v`.
    Taylor { order: usize },
}

/// What is given of a derivative and of what it is the derivative of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// The derivative alone.
    Derivative,
    /// The outputs, and derivatives of a lower order, before it: they come from the same sweep.
    LowerOrdersToo,
}

impl Task {
    /// How many kinds of tasks there are.
    pub(crate) const KINDS: usize = 13;

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
            Task::ValueAndVjp => 9,
            Task::ValueAndJacobian => 10,
            Task::ValueGradientAndHessian => 11,
            Task::ValueGradientAndHvp => 12,
        }
    }

    /// Whether all derivatives of several results by all leaves are asked for.
    #[cfg(feature = "arrays")]
    pub(crate) fn is_matrix(self) -> bool {
        match self {
            Task::Jacobian | Task::ValueAndJacobian | Task::Hessian | Task::ValueGradientAndHessian => true,
            Task::Value | Task::Gradient | Task::ValueAndGradient | Task::Jvp | Task::Vjp | Task::ValueAndVjp => false,
            Task::Hvp | Task::ValueGradientAndHvp | Task::Taylor { .. } => false,
        }
    }

    /// How many numbers the direction of a driver has, given the numbers of leaves and outputs.
    pub(crate) fn direction_size(self, leaves: usize, outputs: usize) -> usize {
        match self {
            Task::Jvp | Task::Hvp | Task::ValueGradientAndHvp | Task::Taylor { .. } => leaves,
            Task::Vjp | Task::ValueAndVjp => outputs,
            Task::Value | Task::Gradient | Task::ValueAndGradient => 0,
            Task::Jacobian | Task::ValueAndJacobian | Task::Hessian | Task::ValueGradientAndHessian => 0,
        }
    }

    /// How many of its numbers are no derivative, or one of a lower order than the last.
    pub(crate) fn lower_order_size(self, leaves: usize, outputs: usize) -> usize {
        match self {
            Task::ValueAndGradient | Task::Jvp | Task::ValueAndVjp | Task::ValueAndJacobian => outputs,
            Task::ValueGradientAndHessian | Task::ValueGradientAndHvp => outputs + leaves,
            Task::Value | Task::Gradient | Task::Vjp | Task::Jacobian | Task::Hessian | Task::Hvp => 0,
            Task::Taylor { .. } => 0,
        }
    }
}
