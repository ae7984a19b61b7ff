//! Drivers at points of tensors: the function is recorded as a Program, transformed, and the result
//! applied to the point and to what was captured.

use std::panic::Location;

use crate::array::Type;
use crate::blocks::Blocks;
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::leaf::{Drive, Leaf};
use crate::task::Task;
use crate::tensor::Tensor;
use crate::tensor::derived::{self, Pulled};
use crate::tensor::graph::{Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Form, Paths, Tree, check_size, leaves};

fn error(driver: &str, line: Line, why: String) -> Error {
    Error::new(ErrorKind::Misfit, driver, why).at(Some(line))
}

/// That the leaves can be differentiated by, unless they are frozen. `paths` is asked if there is one that cannot.
pub(crate) fn check_leaves(
    driver: &str,
    line: Line,
    leaves: &[Tensor],
    paths: &dyn Fn() -> Paths,
) -> Result<(), Error> {
    if leaves.iter().all(|leaf| leaf.dtype().is_float()) {
        return Ok(());
    }
    let paths = paths();
    match leaves.iter().enumerate().position(|(k, leaf)| !leaf.dtype().is_float() && !paths.is_frozen(k)) {
        Some(k) => Err(error(
            driver,
            line,
            format!(
                "leaf {k} of the point{} is {}, and there is no derivative by integers or truth values: capture it \
                 in the closure, or mark its field #[tree(frozen)]",
                at_path(&paths, k),
                leaves[k].ty()
            ),
        )),
        None => Ok(()),
    }
}

/// Where a leaf of a struct is, for a message.
fn at_path(paths: &Paths, k: usize) -> String {
    match paths.get(k) {
        "" => String::new(),
        path => format!(", `{path}`,"),
    }
}

/// That the loss is a single real number.
fn check_loss(driver: &str, line: Line, loss: &Type) -> Result<(), Error> {
    if loss.shape.is_empty() && loss.dtype.is_float() {
        return Ok(());
    }
    let why = format!("the loss is {loss}, and has to be a single real number: reduce it with `sum` or `mean`");
    Err(error(driver, line, why))
}

/// What a function gets in place of a frozen leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrozenLeaf {
    /// The leaf, as if it had been captured.
    Captured,
    /// The input of the recording, severed: it is used at other points, which have other numbers there.
    Severed,
}

/// Runs `f` at `x` under a recording of its own and finishes it, for this point alone.
#[track_caller]
fn record<T: Tree<Leaf = Tensor>, O>(
    driver: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> O,
    outputs: impl FnOnce(&O) -> Vec<Tensor>,
) -> (O, Vec<Tensor>, Closed) {
    record_with(FrozenLeaf::Captured, driver, x, f, outputs)
}

/// Runs `f` at `x` under a recording of its own and finishes it. What does not depend on the types of trees is compiled once, in
/// [`opened`], [`Inputs`] and [`closed`]: users have hundreds of functions.
#[track_caller]
pub(crate) fn record_with<T: Tree<Leaf = Tensor>, O>(
    frozen: FrozenLeaf,
    driver: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> O,
    outputs: impl FnOnce(&O) -> Vec<Tensor>,
) -> (O, Vec<Tensor>, Closed) {
    let (point, level) = opened(driver, leaves(x), &|| Paths::of(x));
    let mut inputs = Inputs::of(&level, x, frozen);
    let output = f(x.vars(&mut |leaf| inputs.next(leaf)));
    let closed = closed(level, &outputs(&output));
    (output, point, closed)
}

/// The inputs of a level, one for each leaf of a point.
pub(crate) struct Inputs<'a> {
    level: &'a ArrayLevel,
    /// Which leaves are frozen; empty if none can be.
    marks: std::vec::IntoIter<bool>,
    frozen: FrozenLeaf,
}

impl<'a> Inputs<'a> {
    pub(crate) fn of<T: Tree<Leaf = Tensor>>(level: &'a ArrayLevel, x: &T, frozen: FrozenLeaf) -> Self {
        let marks = if T::HAS_DATA { Paths::frozen_leaves(x) } else { Vec::new() };
        Inputs { level, marks: marks.into_iter(), frozen }
    }

    /// What the function gets for the next leaf.
    pub(crate) fn next(&mut self, leaf: Tensor) -> Tensor {
        let input = self.level.input(&leaf, &Mapped::Whole);
        match (self.marks.next(), self.frozen) {
            (Some(true), FrozenLeaf::Captured) => leaf,
            (Some(true), FrozenLeaf::Severed) => input.severed(),
            (Some(false) | None, _) => input,
        }
    }
}

/// A level for a recording at this point, whose leaves can be differentiated by.
#[track_caller]
fn opened(driver: &'static str, point: Vec<Tensor>, paths: &dyn Fn() -> Paths) -> (Vec<Tensor>, ArrayLevel) {
    check_leaves(driver, Location::caller(), &point, paths).or_raise();
    (point, ArrayLevel::open(driver, Reading::Allowed))
}

/// The Program of a level that ends with these results.
#[track_caller]
fn closed(level: ArrayLevel, results: &[Tensor]) -> Closed {
    level.close(results).or_raise()
}

/// Records a function whose result is a loss, for this point alone.
#[track_caller]
pub(crate) fn record_loss<T: Tree<Leaf = Tensor>>(
    driver: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> Tensor,
) -> (Vec<Tensor>, Closed) {
    record_loss_with(FrozenLeaf::Captured, driver, x, f)
}

/// Records a function whose result is a loss.
#[track_caller]
pub(crate) fn record_loss_with<T: Tree<Leaf = Tensor>>(
    frozen: FrozenLeaf,
    driver: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> Tensor,
) -> (Vec<Tensor>, Closed) {
    try_record_loss_with(frozen, driver, x, f).or_raise()
}

/// As [`record_loss_with`], with an error instead of a panic.
///
/// # Errors
/// If a leaf of the point is not real, or the result is no single real number.
#[track_caller]
pub(crate) fn try_record_loss_with<T: Tree<Leaf = Tensor>>(
    frozen: FrozenLeaf,
    driver: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> Tensor,
) -> Result<(Vec<Tensor>, Closed), Error> {
    let line = Location::caller();
    check_leaves(driver, line, &leaves(x), &|| Paths::of(x))?;
    let (loss, point, closed) = record_with(frozen, driver, x, f, |loss| vec![loss.clone()]);
    check_loss(driver, line, loss.ty())?;
    Ok((point, closed))
}

/// Checks that a direction has the types of what it belongs to.
fn check_types(driver: &str, what: &str, wanted: &[Type], got: &[Tensor], line: Line) -> Result<(), Error> {
    let misfit = wanted.iter().zip(got).position(|(wanted, got)| wanted != got.ty());
    match misfit {
        Some(k) => {
            let why = format!("leaf {k} of the {what} is {}, and has to be {}", got[k].ty(), wanted[k]);
            Err(Error::new(ErrorKind::Misfit, driver, why).at(Some(line)))
        }
        None => Ok(()),
    }
}

/// The tree of a point with these leaves.
fn tree<T: Tree<Leaf = Tensor>>(x: &T, leaves: impl IntoIterator<Item = Tensor>) -> T::Grad {
    let mut leaves = leaves.into_iter();
    x.grad(&mut || leaves.next().expect("one per leaf"))
}

/// Does what a driver does with a recording, or panics with the reason why it cannot be done.
#[track_caller]
fn apply(task: Task, driver: &str, closed: &Closed, point: &[Tensor], more: &[Tensor]) -> Vec<Tensor> {
    derived::apply(driver, task, closed, point, more).or_raise()
}

/// This type for a point or result of one tensor, and blocks for several.
type Between<T, One> = <<T as Tree>::Form as Form>::Choose<One, Blocks>;

/// The derivatives of every output by every leaf, as what one tensor or several have.
fn matrix<T: Tree<Leaf = Tensor>, O: Tree<Leaf = Tensor>>(
    outputs: Vec<Type>,
    point: &[Tensor],
    blocks: Vec<Tensor>,
) -> Between<T, Between<O, Tensor>> {
    let blocks = Blocks::new(outputs, point, blocks);
    let of_one = |blocks| O::Form::choose(blocks, |blocks: Blocks| blocks.single().clone(), |blocks| blocks);
    T::Form::choose(blocks, of_one, |blocks| blocks)
}

/// The block of one leaf, or those of several; the outputs of the gradient have the types of the leaves.
fn symmetric<T: Tree<Leaf = Tensor>>(point: &[Tensor], blocks: Vec<Tensor>) -> Between<T, Tensor> {
    let types = point.iter().map(|leaf| leaf.ty().clone()).collect();
    let blocks = Blocks::new(types, point, blocks);
    T::Form::choose(blocks, |blocks| blocks.single().clone(), |blocks| blocks)
}

impl Leaf for Tensor {
    type Active = Tensor;
    type Out<O: Tree<Leaf = Tensor>> = O::Grad;
    type Jacobian<T: Tree<Leaf = Tensor>, O: Tree<Leaf = Tensor>> = Between<T, Between<O, Tensor>>;
    type Hessian<T: Tree<Leaf = Tensor>> = Between<T, Tensor>;
    type Held = Pulled;
}

impl Drive for Tensor {
    const MANY: &'static str = "tensors";

    fn severed(self) -> Self {
        self.detach()
    }

    fn value_and_grad<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Tensor) -> (Self, T::Grad) {
        let (point, closed) = record_loss("value_and_grad", x, f);
        let mut results = apply(Task::ValueAndGradient, "value_and_grad", &closed, &point, &[]).into_iter();
        let value = results.next().expect("the value comes first");
        (value, tree(x, results))
    }

    fn grad<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Tensor) -> T::Grad {
        let (point, closed) = record_loss("grad", x, f);
        tree(x, apply(Task::Gradient, "grad", &closed, &point, &[]))
    }

    fn value_and_grad_aux<T: Tree<Leaf = Self>, A: Tree<Leaf = Tensor>>(
        x: &T,
        f: impl FnOnce(T::Vars) -> (Tensor, A),
    ) -> (Self, A::Grad, T::Grad) {
        const NAME: &str = "value_and_grad_aux";
        let outputs = |(loss, aux): &(Tensor, A)| {
            let mut outputs = vec![loss.clone()];
            outputs.extend(leaves(aux));
            outputs
        };
        let ((loss, aux), point, closed) = record(NAME, x, f, outputs);
        check_loss(NAME, Location::caller(), loss.ty()).or_raise();
        let mut results = apply(Task::ValueAndGradient, NAME, &closed, &point, &[]);
        let gradient = results.split_off(1 + aux.size());
        let mut results = results.into_iter();
        let value = results.next().expect("the value comes first");
        (value, tree(&aux, results), tree(x, gradient))
    }

    fn jvp<T: Tree<Leaf = Self>, O: Tree<Leaf = Tensor>>(
        x: &T,
        tangent: &[Self],
        f: impl FnOnce(T::Vars) -> O,
    ) -> (O::Grad, O::Grad) {
        let (output, point, closed) = record("jvp", x, f, |output| leaves(output));
        let types: Vec<Type> = point.iter().map(|leaf| leaf.ty().clone()).collect();
        check_types("jvp", "tangent", &types, tangent, Location::caller()).or_raise();
        let mut results = apply(Task::Jvp, "jvp", &closed, &point, tangent);
        let tangents = results.split_off(output.size());
        (tree(&output, results), tree(&output, tangents))
    }

    fn hold<T: Tree<Leaf = Self>, O: Tree<Leaf = Tensor>>(x: &T, f: impl FnOnce(T::Vars) -> O) -> (O::Grad, Pulled) {
        let (output, point, closed) = record("vjp", x, f, |output| leaves(output));
        let (values, held) = derived::pullback("vjp", &closed, &point).or_raise();
        (tree(&output, values), held)
    }

    fn pull<T: Tree<Leaf = Self>>(x: &T, held: &Pulled, cotangent: &[Self]) -> T::Grad {
        check_size::<Self>("pull", "cotangent", held.outputs.len(), cotangent.len());
        check_types("pull", "cotangent", &held.outputs, cotangent, Location::caller()).or_raise();
        tree(x, derived::pull("pull", held, cotangent).or_raise())
    }

    fn jacobian<T: Tree<Leaf = Self>, O: Tree<Leaf = Tensor>>(
        x: &T,
        f: impl FnOnce(T::Vars) -> O,
    ) -> <Self as Leaf>::Jacobian<T, O> {
        let (_, point, closed) = record("jacobian", x, f, |output| leaves(output));
        let blocks = apply(Task::Jacobian, "jacobian", &closed, &point, &[]);
        matrix::<T, O>(closed.program.output_types(), &point, blocks)
    }

    fn value_and_jacobian<T: Tree<Leaf = Self>, O: Tree<Leaf = Tensor>>(
        x: &T,
        f: impl FnOnce(T::Vars) -> O,
    ) -> (O::Grad, <Self as Leaf>::Jacobian<T, O>) {
        const NAME: &str = "value_and_jacobian";
        let (output, point, closed) = record(NAME, x, f, |output| leaves(output));
        let mut results = apply(Task::ValueAndJacobian, NAME, &closed, &point, &[]);
        let types = closed.program.output_types();
        let blocks = results.split_off(types.len());
        (tree(&output, results), matrix::<T, O>(types, &point, blocks))
    }

    fn hessian<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Tensor) -> <Self as Leaf>::Hessian<T> {
        let (point, closed) = record_loss("hessian", x, f);
        symmetric::<T>(&point, apply(Task::Hessian, "hessian", &closed, &point, &[]))
    }

    fn value_grad_and_hessian<T: Tree<Leaf = Self>>(
        x: &T,
        f: impl FnOnce(T::Vars) -> Tensor,
    ) -> (Self, T::Grad, <Self as Leaf>::Hessian<T>) {
        const NAME: &str = "value_grad_and_hessian";
        let (point, closed) = record_loss(NAME, x, f);
        let mut results = apply(Task::ValueGradientAndHessian, NAME, &closed, &point, &[]);
        let blocks = results.split_off(1 + point.len());
        let gradient = results.split_off(1);
        let value = results.pop().expect("the value comes first");
        (value, tree(x, gradient), symmetric::<T>(&point, blocks))
    }

    fn value_grad_and_hvp<T: Tree<Leaf = Self>>(
        x: &T,
        vector: &[Self],
        f: impl FnOnce(T::Vars) -> Tensor,
    ) -> (Self, T::Grad, T::Grad) {
        const NAME: &str = "value_grad_and_hvp";
        let (point, closed) = record_loss(NAME, x, f);
        let types: Vec<Type> = point.iter().map(|leaf| leaf.ty().clone()).collect();
        check_types(NAME, "vector", &types, vector, Location::caller()).or_raise();
        let mut results = apply(Task::ValueGradientAndHvp, NAME, &closed, &point, vector);
        let product = results.split_off(1 + point.len());
        let gradient = results.split_off(1);
        let value = results.pop().expect("the value comes first");
        (value, tree(x, gradient), tree(x, product))
    }

    fn hvp<T: Tree<Leaf = Self>>(x: &T, vector: &[Self], f: impl FnOnce(T::Vars) -> Tensor) -> T::Grad {
        let (point, closed) = record_loss("hvp", x, f);
        let types: Vec<Type> = point.iter().map(|leaf| leaf.ty().clone()).collect();
        check_types("hvp", "vector", &types, vector, Location::caller()).or_raise();
        tree(x, apply(Task::Hvp, "hvp", &closed, &point, vector))
    }
}
