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
