//! A gradient with options: what it refuses, and how much memory it takes.

use std::fmt;
use std::panic::Location;

use super::{Cut, Diagnose, Status};
use crate::drive::{recorded_gradient, run_thinned};
use crate::leaf::Active;
use crate::tape::Var;
use crate::tape::block::{Thinning, thinned};
use crate::tree::Tree;

/// A gradient with options: see [`Grad::of`].
#[derive(Clone, Debug)]
pub struct Grad<F> {
    f: F,
    deny_severed: bool,
    memory: Option<usize>,
}

/// Why there is no gradient with the options that were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GradError {
    /// It would leave a part out: see [`Grad::deny_severed`].
    Severed(SeveredError),
    /// It would take more memory than it may: see [`Grad::memory`].
    Memory(MemoryError),
}

/// A requested derivative leaves a part out: see [`Grad::deny_severed`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeveredError {
    /// The number of the input, counted from 0 over the leaves.
    pub input: usize,
    /// What cut the dependence, and where.
    pub cut: Cut,
}

/// A gradient takes more memory than it may, whatever is computed again: see [`Grad::memory`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// The bytes that are allowed.
    pub limit: usize,
    /// The fewest bytes with which there is a gradient.
    pub least: usize,
    /// The user's line.
    pub at: &'static Location<'static>,
}

impl fmt::Display for GradError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GradError::Severed(error) => error.fmt(f),
            GradError::Memory(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for SeveredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SeveredError { input, cut } = self;
        write!(f, "the derivative by input {input} is severed by `{}` at {}", cut.by, cut.at)
    }
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemoryError { limit, least, at } = self;
        write!(
            f,
            "the gradient at {at} needs {least} bytes even with as much computed again as can be, and {limit} are allowed"
        )
    }
}

impl std::error::Error for GradError {}
impl std::error::Error for SeveredError {}
impl std::error::Error for MemoryError {}

impl From<SeveredError> for GradError {
    fn from(error: SeveredError) -> Self {
        GradError::Severed(error)
    }
}

impl From<MemoryError> for GradError {
    fn from(error: MemoryError) -> Self {
        GradError::Memory(error)
    }
}

impl<F> Grad<F> {
    /// The gradient of `f`, to be asked for with options.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::{Grad, Status};
    /// let loss = |[x, y, z]: [Var; 3]| x * x + y.detach() * x + 0.0 * z.floor();
    /// let gradient = Grad::of(loss);
    /// assert_eq!(gradient.at([1.0, 2.0, 3.0])?, (3.0, [4.0, 0.0, 0.0]));
    /// let [x, y, z] = gradient.status([1.0, 2.0, 3.0]);
    /// assert_eq!((x, z), (Status::Connected, Status::Zero));
    /// assert!(matches!(y, Status::Severed(cut) if cut.by == "detach"));
    /// assert!(gradient.deny_severed().at([1.0, 2.0, 3.0]).is_err());
    /// # Ok::<(), wengert::GradError>(())
    /// ```
    pub fn of(f: F) -> Self {
        Grad { f, deny_severed: false, memory: None }
    }

    /// The same, refusing a gradient that leaves a part out.
    pub fn deny_severed(mut self) -> Self {
        self.deny_severed = true;
        self
    }

    /// The same in this many bytes at most: what there is no room for is computed again, as little as there has to be. The
    /// numbers are the same to the bit, but for the sign of a zero in a gradient over numbers.
    ///
    /// Over tensors the bytes are the peak of the plan that computes value and gradient: values between steps, scratch, and
    /// results, but neither the point nor what the function captured, as with [`Compile::memory`](crate::Compile::memory). Only
    /// with the feature `engine`; inside of another driver's function nothing is planned, and so nothing is limited.
    ///
    /// Over numbers they are those of the tape, which [`tape_size`](crate::tape_size) counts, and of what its sweep holds
    /// besides: loops keep the carries of every k-th step, and the sweep runs k steps again at a time. The function runs twice
    /// where not everything can be kept: the first time shows how long its loops are. The code of a step is not counted.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::{Grad, GradError};
    /// let x = Tensor::from(vec![0.01; 1000]);
    /// let gradient = |bytes| Grad::of(|x: Tensor| (0..40).fold(x, |y, _| (&y + y.sin()).cumsum(0) * 1e-3).sum()).memory(bytes).at(&x);
    /// let Err(GradError::Memory(error)) = gradient(1) else { panic!("a byte is not enough") };
    /// let ((_, tight), (_, roomy)) = (gradient(error.least)?, gradient(1 << 20)?);
    /// assert_eq!(tight.to_vec(), roomy.to_vec());
    /// assert!(gradient(error.least - 1).is_err());
    /// # Ok::<(), GradError>(())
    /// ```
    ///
    /// # Errors
    /// [`Grad::at`] gives [`GradError::Memory`] if it takes more, which names the least number of bytes that is accepted.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// The value and the gradient at `x`.
    ///
    /// # Errors
    /// If severed derivatives are denied and there is one, or if it takes more memory than it may.
    #[track_caller]
    pub fn at<T: Tree<Leaf: Diagnose>>(&self, x: T) -> Result<(T::Leaf, T::Grad), GradError>
    where
        F: Fn(T::Vars) -> Active<T>,
    {
        if self.deny_severed {
            let statuses = T::Leaf::statuses(&x, &self.f);
            for (input, status) in statuses.into_iter().enumerate() {
                if let Status::Severed(cut) = status {
                    return Err(SeveredError { input, cut }.into());
                }
            }
        }
        match self.memory {
            Some(bytes) => Ok(T::Leaf::within(bytes, &x, &self.f)?),
            None => Ok(crate::api::value_and_grad(x, &self.f)),
        }
    }

    /// How the result depends on every input.
    #[track_caller]
    pub fn status<T: Tree<Leaf: Diagnose>>(&self, x: T) -> T::Each<Status>
    where
        F: Fn(T::Vars) -> Active<T>,
    {
        let mut statuses = T::Leaf::statuses(&x, &self.f).into_iter();
        x.each(&mut || statuses.next().expect("one per leaf"))
    }
}

/// The value and the gradient over numbers, on a tape of this many bytes.
#[track_caller]
pub(super) fn within<T: Tree<Leaf = f64>>(
    bytes: usize,
    x: &T,
    f: impl Fn(T::Vars) -> Var,
) -> Result<(f64, T::Grad), MemoryError> {
    let at = Location::caller();
    let (scope, output) = run_thinned(Thinning::within(bytes), x, &f);
    if !scope.is_outermost() {
        return Ok(recorded_gradient(scope, output, x));
    }
    let (loops, fixed) = scope.thinned();
    let every = thinned(fixed, &loops, bytes).map_err(|least| MemoryError { limit: bytes, least, at })?;
    if loops.iter().zip(&every).all(|(own, &every)| own.every == every) {
        return Ok(recorded_gradient(scope, output, x));
    }
    drop(scope);
    let (scope, output) = run_thinned(Thinning::known(&loops, every), x, &f);
    Ok(recorded_gradient(scope, output, x))
}
