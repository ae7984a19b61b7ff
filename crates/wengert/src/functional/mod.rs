//! Functions of tensors to functions of tensors: `vmap`, `checkpoint`, and the Program of a function.

use std::panic::Location;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::primitives::Recompute;
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::derived::{Transformation, apply};
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Tree, leaves};

fn error(name: &str, kind: ErrorKind, why: String, line: Line) -> Error {
    Error::new(kind, name, why).at(Some(line))
}

/// The tree of a result with these leaves.
fn tree<O: Tree<Leaf = Tensor>>(output: &O, results: Vec<Tensor>) -> O::Grad {
    let mut results = results.into_iter();
    output.grad(&mut || results.next().expect("one per leaf"))
}

// ---- vmap ---------------------------------------------------------------------------------------

/// Maps a function over axis 0 of every leaf of the point, and stacks the results along axis 0.
///
/// The function is recorded once, for one example; every operation in it is then the one with one
/// more axis. It may call drivers and capture anything; captured values are the same for every
/// example. [`Vmap`] maps other axes, or some leaves only.
///
/// ```
/// use wengert::prelude::*;
/// let w = Tensor::from([1.0, -2.0]);
/// let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// // the gradient of (w . x)^2 in w, for every x
/// let g = vmap(&xs, |x| grad(&w, |w| (w * &x).sum().square()));
/// assert_eq!(g.shape(), [3, 2]);
/// assert_eq!(g.to_vec(), [-6.0, -12.0, -30.0, -40.0, -70.0, -84.0]);
/// ```
///
/// # Panics
/// If the leaves differ in the length of axis 0, or the function reads a number or uses an operation
/// that has no batched form.
#[doc(alias("batched", "vectorize"))]
#[track_caller]
pub fn vmap<T, O>(x: T, f: impl FnOnce(T::Vars) -> O) -> O::Grad
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    Vmap::new().run(x, f)
}

/// [`vmap`] over chosen axes: JAX's `in_axes`, `out_axes` and `axis_size`.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Vmap;
/// let a = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let x = Tensor::from([1.0, 10.0]);
/// // the dot product of every column of a with x
/// let y = Vmap::new().inputs(&[Some(1), None]).run((&a, &x), |(a, x)| (&a * &x).sum());
/// assert_eq!(y.to_vec(), [41.0, 52.0, 63.0]);
/// // the columns scaled, beside each other again, and what the scale was, once
/// let (scaled, scale) = Vmap::new()
///     .inputs(&[Some(1), None])
///     .outputs(&[Some(1), None])
///     .run((&a, &x), |(a, x)| (a * x.sum(), x.sum()));
/// assert_eq!(scaled.shape(), [2, 3]);
/// assert_eq!((scale.shape().len(), scale.item()), (0, 11.0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Vmap {
    inputs: Option<Vec<MappedAxis>>,
    outputs: Option<Vec<MappedAxis>>,
    length: Option<usize>,
}

/// An axis that [`Vmap`] maps, or where it puts the new one; or none. A number, counted from the end where it is negative, or an
/// `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MappedAxis(Option<isize>);

macro_rules! mapped_axis {
    ($($ty:ty, $axis:ident => $made:expr;)*) => { $(
        impl From<$ty> for MappedAxis {
            fn from($axis: $ty) -> Self {
                MappedAxis($made)
            }
        }
    )* };
}
// An axis too large to be one stays so.
mapped_axis! {
    usize, axis => Some(isize::try_from(axis).unwrap_or(isize::MAX));
    isize, axis => Some(axis);
    i32, axis => Some(axis as isize);
    Option<usize>, axis => axis.map(|axis| isize::try_from(axis).unwrap_or(isize::MAX));
}

impl MappedAxis {
    /// The axis among this many, if there is to be one. An axis that does not exist is none of `rank`.
    fn among(self, rank: usize) -> Option<usize> {
        let axis = self.0?;
        Some(if axis < 0 { rank.checked_sub(axis.unsigned_abs()).unwrap_or(usize::MAX) } else { axis.unsigned_abs() })
    }
}

/// What the function of a [`Vmap`] is recorded for.
struct Examples {
    point: Vec<Tensor>,
    axes: Vec<Option<usize>>,
    length: usize,
    line: Line,
}

impl Vmap {
    /// Axis 0 of everything.
    pub fn new() -> Self {
        Vmap::default()
    }

    /// The axis to map for each leaf of the point, in order; `None` for a leaf that is the same in every example. One axis counts
    /// for all leaves.
    ///
    /// What is the same in every example may also be captured by the function: of a model of many leaves and its inputs, only the
    /// inputs need be the point.
    #[must_use]
    pub fn inputs<A: Into<MappedAxis> + Copy>(mut self, axes: &[A]) -> Self {
        self.inputs = Some(axes.iter().map(|&axis| axis.into()).collect());
        self
    }

    /// The place of the new axis in each leaf of the result, in order; one place counts for all. `None` for a leaf that does not
    /// depend on the example: it comes out once, without the axis. If it does depend, that is an error.
    #[must_use]
    pub fn outputs<A: Into<MappedAxis> + Copy>(mut self, axes: &[A]) -> Self {
        self.outputs = Some(axes.iter().map(|&axis| axis.into()).collect());
        self
    }

    /// How many examples there are. The mapped axes have to be as long; where no leaf is mapped, it is what says so.
    ///
    /// ```
    /// use wengert::{Tensor, Vmap};
    /// let x = Tensor::from([1.0, 2.0]);
    /// let rows = Vmap::new().length(3).inputs(&[None]).run(&x, |x| x * 2.0);
    /// assert_eq!(rows.shape(), [3, 2]);
    /// ```
    #[must_use]
    pub fn length(mut self, length: usize) -> Self {
        self.length = Some(length);
        self
    }

    /// Maps the function.
    ///
    /// # Panics
    /// As [`Vmap::try_run`] gives errors.
    #[track_caller]
    pub fn run<T, O>(&self, x: T, f: impl FnOnce(T::Vars) -> O) -> O::Grad
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        self.try_run(x, f).or_raise()
    }

    /// Maps the function.
    ///
    /// # Errors
    /// If an axis does not exist, mapped axes differ in length, no leaf is mapped and there is no [`Vmap::length`], a result that
    /// is to have no axis depends on the example, or an operation of the function has no batched form.
    #[track_caller]
    pub fn try_run<T, O>(&self, x: T, f: impl FnOnce(T::Vars) -> O) -> Result<O::Grad, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        // What does not depend on the types of trees is compiled once.
        let (examples, level, inputs) = self.opened(leaves(&x))?;
        let mut inputs = inputs.into_iter();
        let output = f(x.vars(&mut |_| inputs.next().expect("one per leaf")));
        Ok(tree(&output, self.closed(examples, level, &leaves(&output))?))
    }

    /// A level for one example, and its inputs.
    #[track_caller]
    fn opened(&self, point: Vec<Tensor>) -> Result<(Examples, ArrayLevel, Vec<Tensor>), Error> {
        let line = Location::caller();
        let (axes, length) = self.mapped(&point, line)?;
        let level = ArrayLevel::open("vmap", Reading::Lanes);
        let input =
            |(leaf, axis): (&Tensor, &Option<usize>)| level.input(leaf, &axis.map_or(Mapped::Whole, Mapped::Slice));
        let inputs = point.iter().zip(&axes).map(input).collect();
        Ok((Examples { point, axes, length, line }, level, inputs))
    }

    /// The results for all examples.
    #[track_caller]
    fn closed(&self, examples: Examples, level: ArrayLevel, results: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let Examples { point, axes, length, line } = examples;
        let closed = level.close(results)?;
        let places = self.places(&closed, line)?;
        let what = Transformation::Mapped { axes, length, places };
        apply("vmap", what, &closed, &point, &[])
    }

    /// The mapped axis of each leaf, and their length.
    fn mapped(&self, point: &[Tensor], line: Line) -> Result<(Vec<Option<usize>>, usize), Error> {
        let fail = |why: String| error("vmap", ErrorKind::Misfit, why, line).of(point.iter().map(Tensor::ty));
        let given = match self.inputs.as_deref() {
            None => vec![MappedAxis(Some(0)); point.len()],
            Some([one]) => vec![*one; point.len()],
            Some(all) => all.to_vec(),
        };
        if given.len() != point.len() {
            return Err(fail(format!("{} axes are given for a point with {} leaves", given.len(), point.len())));
        }
        let axes: Vec<Option<usize>> =
            given.iter().zip(point).map(|(axis, leaf)| axis.among(leaf.shape().len())).collect();
        let mut length: Option<(usize, usize)> = None;
        for (k, (axis, leaf)) in axes.iter().zip(point).enumerate() {
            let Some(axis) = *axis else { continue };
            let Some(&own) = leaf.shape().get(axis) else {
                return Err(fail(format!("leaf {k} has no axis {}", given[k].0.unwrap_or_default())));
            };
            match (length, self.length) {
                (None, Some(wanted)) if wanted != own => {
                    let why = format!("the mapped axis of leaf {k} is {own} long, and `length` says {wanted}");
                    return Err(fail(why));
                }
                (None, _) => length = Some((k, own)),
                (Some((_, first)), _) if first == own => {}
                (Some((other, first)), _) => {
                    let why = format!("the mapped axes of leaf {other} and leaf {k} are {first} and {own} long");
                    return Err(fail(why));
                }
            }
        }
        match length.map(|(_, length)| length).or(self.length) {
            Some(length) => Ok((axes, length)),
            None => Err(fail("no leaf of the point is mapped; `length` says how many examples there are".to_owned())),
        }
    }

    /// The place of the new axis in each output.
    fn places(&self, closed: &Closed, line: Line) -> Result<Vec<Option<usize>>, Error> {
        let types = closed.program.output_types();
        let fail = |why: String| error("vmap", ErrorKind::Misfit, why, line);
        let given = match self.outputs.as_deref() {
            None | Some([]) => vec![MappedAxis(Some(0)); types.len()],
            Some([one]) => vec![*one; types.len()],
            Some(all) if all.len() == types.len() => all.to_vec(),
            Some(all) => {
                return Err(fail(format!("{} places are given for a result with {} leaves", all.len(), types.len())));
            }
        };
        let places: Vec<Option<usize>> =
            given.iter().zip(&types).map(|(place, ty)| place.among(ty.rank() + 1)).collect();
        match places.iter().zip(&types).position(|(place, ty)| place.is_some_and(|place| place > ty.rank())) {
            Some(k) => {
                let place = given[k].0.unwrap_or_default();
                Err(fail(format!("leaf {k} of the result, {}, has no place {place} for a new axis", types[k])))
            }
            None => Ok(places),
        }
    }
}

// ---- checkpoint ---------------------------------------------------------------------------------

/// `f(x)`, whose intermediate values are not kept for the backward pass but computed again there:
/// less memory for at most one more forward pass. It never changes a number. May nest.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([0.5, 1.0]);
/// let layer = |x: Tensor| x.sin().exp();
/// let plain = grad(&x, |x| layer(x).sum());
/// let saving = grad(&x, |x| checkpoint(&x, layer).sum());
/// assert_eq!(plain.to_vec(), saving.to_vec());
/// ```
///
/// Source of the method: A. Griewank, *Achieving logarithmic growth of temporal and spatial
/// complexity in reverse automatic differentiation* (1992).
#[doc(alias = "remat")]
#[track_caller]
pub fn checkpoint<T, O>(x: T, f: impl FnOnce(T::Vars) -> O) -> O::Grad
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let level = ArrayLevel::open("checkpoint", Reading::Around);
    let output = f(x.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
    let closed = level.close(&leaves(&output)).or_raise();
    let point = leaves(&x);
    let operands: Vec<&Tensor> = point.iter().chain(&closed.captures).collect();
    tree(&output, graph::apply(Recompute::new(Arc::unwrap_or_clone(closed.program)), &operands).or_raise())
}

// ---- the Program of a function ------------------------------------------------------------------

/// The Program of a function of tensors, recorded at the types of a point, and the tensors that it
/// captured: the values of the inputs after the leaves.
///
/// ```
/// use wengert::prelude::*;
/// let scale = Tensor::from([1.0, 2.0]);
/// let (program, captures) = wengert::to_program(&Tensor::from([3.0, 4.0]), |x| (x * &scale).sum());
/// assert_eq!(program.eqns().len(), 2);
/// assert_eq!(captures[0].to_vec(), [1.0, 2.0]);
/// ```
///
/// # Panics
/// If the function reads a number: it is recorded without its point.
#[doc(alias("make_jaxpr", "trace"))]
#[track_caller]
pub fn to_program<T, O>(x: T, f: impl FnOnce(T::Vars) -> O) -> (Program, Vec<Tensor>)
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let level = ArrayLevel::open("to_program", Reading::Symbolic);
    let output = f(x.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
    let closed = level.close(&leaves(&output)).or_raise();
    (Arc::unwrap_or_clone(closed.program), closed.captures)
}
