//! Functions of tensors to functions of tensors: `vmap`, `checkpoint`, and the Program of a function.

use std::panic::Location;

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

/// [`vmap`] over chosen axes.
///
/// ```
/// use wengert::prelude::*;
/// let a = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let x = Tensor::from([1.0, 10.0]);
/// // the dot product of every column of a with x
/// let y = wengert::Vmap::new().inputs(&[Some(1), None]).run((&a, &x), |(a, x)| (&a * &x).sum());
/// assert_eq!(y.to_vec(), [41.0, 52.0, 63.0]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Vmap {
    inputs: Option<Vec<Option<usize>>>,
    outputs: Vec<usize>,
}

impl Vmap {
    /// Axis 0 of everything.
    pub fn new() -> Self {
        Vmap::default()
    }

    /// The axis to map for each leaf of the point; `None` for a leaf that is the same in every
    /// example.
    #[must_use]
    pub fn inputs(mut self, axes: &[Option<usize>]) -> Self {
        self.inputs = Some(axes.to_vec());
        self
    }

    /// The place of the new axis in each leaf of the result; one place counts for all.
    #[must_use]
    pub fn outputs(mut self, axes: &[usize]) -> Self {
        self.outputs = axes.to_vec();
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
    /// If an axis does not exist, mapped axes differ in length, no leaf is mapped, or an operation of
    /// the function has no batched form.
    #[track_caller]
    pub fn try_run<T, O>(&self, x: T, f: impl FnOnce(T::Vars) -> O) -> Result<O::Grad, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        let point = leaves(&x);
        let (axes, length) = self.mapped(&point, line)?;
        let level = ArrayLevel::open("vmap", Reading::Lanes);
        let mut mapped = axes.iter().map(|axis| axis.map_or(Mapped::Whole, Mapped::Slice));
        let output = f(x.vars(&mut |leaf| level.input(&leaf, &mapped.next().expect("one per leaf"))));
        let closed = level.close(&leaves(&output))?;
        let places = self.places(&closed, line)?;
        let what = Transformation::Mapped { axes, length, places };
        Ok(tree(&output, apply("vmap", what, &closed, &point, &[])?))
    }

    /// The mapped axis of each leaf, and their length.
    fn mapped(&self, point: &[Tensor], line: Line) -> Result<(Vec<Option<usize>>, usize), Error> {
        let fail = |why: String| error("vmap", ErrorKind::Misfit, why, line).of(point.iter().map(Tensor::ty));
        let axes = self.inputs.clone().unwrap_or_else(|| vec![Some(0); point.len()]);
        if axes.len() != point.len() {
            return Err(fail(format!("{} axes are given for a point with {} leaves", axes.len(), point.len())));
        }
        let mut length: Option<(usize, usize)> = None;
        for (k, (axis, leaf)) in axes.iter().zip(point).enumerate() {
            let Some(axis) = *axis else { continue };
            let Some(&own) = leaf.shape().get(axis) else {
                return Err(fail(format!("leaf {k} has no axis {axis}")));
            };
            match length {
                None => length = Some((k, own)),
                Some((_, first)) if first == own => {}
                Some((other, first)) => {
                    let why = format!("the mapped axes of leaf {other} and leaf {k} are {first} and {own} long");
                    return Err(fail(why));
                }
            }
        }
        match length {
            Some((_, length)) => Ok((axes, length)),
            None => Err(fail("no leaf of the point is mapped".to_owned())),
        }
    }

    /// The place of the new axis in each output.
    fn places(&self, closed: &Closed, line: Line) -> Result<Vec<usize>, Error> {
        let types = closed.program.output_types();
        let fail = |why: String| error("vmap", ErrorKind::Misfit, why, line);
        let places = match self.outputs[..] {
            [] => vec![0; types.len()],
            [place] => vec![place; types.len()],
            _ if self.outputs.len() == types.len() => self.outputs.clone(),
            _ => {
                let count = self.outputs.len();
                return Err(fail(format!("{count} places are given for a result with {} leaves", types.len())));
            }
        };
        match places.iter().zip(&types).position(|(&place, ty)| place > ty.rank()) {
            Some(k) => {
                let why = format!("leaf {k} of the result, {}, has no place {} for a new axis", types[k], places[k]);
                Err(fail(why))
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
    tree(&output, graph::apply(Recompute::new(closed.program), &operands).or_raise())
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
    (closed.program, closed.captures)
}
