//! [`ForeignRule`]: a function that is plain Rust on plain arrays, with a derivative beside it.

use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::{Checked, RegisteredRule, check_samples, compare, error, program};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Line};
use crate::primitives::{Code, Foreign, ForeignDerivative, Many, Op, PlainCode, real};
use crate::tensor::Tensor;
use crate::transform::linear::check_linear;

/// What plain code gives: one array, several, or a `Result` of these, whose error ends the run with its text. So it is of the
/// types that `shapes` gives.
pub trait ForeignResults<T> {
    /// The results, or why there are none.
    ///
    /// # Errors
    /// What the code says.
    fn results(self) -> Result<Vec<T>, String>;
}

macro_rules! results {
    ($one:ty) => {
        impl ForeignResults<$one> for $one {
            fn results(self) -> Result<Vec<$one>, String> {
                Ok(vec![self])
            }
        }
        impl ForeignResults<$one> for Vec<$one> {
            fn results(self) -> Result<Vec<$one>, String> {
                Ok(self)
            }
        }
        impl<R: ForeignResults<$one>, E: fmt::Display> ForeignResults<$one> for Result<R, E> {
            fn results(self) -> Result<Vec<$one>, String> {
                self.map_err(|why| why.to_string())?.results()
            }
        }
    };
}
results!(Array);
results!(Type);

/// The types of the results for types of the operands.
type Shapes = Rc<dyn Fn(&[Type]) -> Result<Vec<Type>, String>>;

/// A derivative as tensor operations: from operands, results and directions.
type OnTensors = Rc<dyn Fn(&[Tensor], &[Tensor], &[Tensor]) -> Vec<Tensor>>;

/// A derivative as plain code, from the same.
type OnArrays = Arc<dyn Fn(&[Array], &[Array], &[Array]) -> Result<Vec<Array>, String> + Send + Sync>;

/// A function of tensors that is plain code, which no transformation looks into: a solver, a table, a simulation.
/// [`CustomRule::foreign`](crate::CustomRule::foreign) makes one.
///
/// Its derivative is given beside it, from the operands `x`, the results `y` and directions: as tensor operations
/// ([`jvp`](Self::jvp) or [`vjp`](Self::vjp)), from which every other mode and order and `vmap` follow, or as plain code
/// ([`foreign_jvp`](Self::foreign_jvp), [`foreign_vjp`](Self::foreign_vjp)), of the first order and for the modes that are given.
///
/// The code has to give the same results for the same operands, whenever and on whatever thread it is called: two equal calls are
/// one, and what is not needed is not called. A call that panics, fails, gives other types than were said, or NaN where no operand
/// has one, is an error that names the rule, the operands and the line. Integers and truth values may be operands and results;
/// they have no derivatives.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::{Array, CustomRule};
///
/// // y with y^3 + y = x, by Newton's method in plain Rust; dy/dx = 1 / (3 y^2 + 1)
/// fn solve(x: f64) -> f64 {
///     (0..50).fold(0.0, |y: f64, _| y - (y * y * y + y - x) / (3.0 * y * y + 1.0))
/// }
/// let root = CustomRule::foreign(
///     "root",
///     |x| x[0].clone(),
///     |x| Array::new(x[0].shape(), x[0].to_f64().into_iter().map(solve).collect::<Vec<f64>>()),
/// )
/// .vjp(|_, y, ct| vec![&ct[0] / (3.0 * y[0].square() + 1.0)])
/// .elementwise()
/// .register(&[&[Tensor::from([0.3, 2.0])]])?;
///
/// let x = Tensor::from([2.0, 10.0]); // the roots are 1 and 2
/// let (value, g) = value_and_grad(&x, |x| root.call(&[&x])[0].sum());
/// assert!((value.item() - 3.0).abs() < 1e-14);
/// assert!((g.to_vec()[0] - 1.0 / 4.0).abs() < 1e-14);
/// // y'' = -6 y / (3 y^2 + 1)^3: the derivative is tensor operations, so that there is a second one
/// let h = hessian(&x, |x| root.call(&[&x])[0].sum());
/// assert!((h.to_vec()[0] + 6.0 / 64.0).abs() < 1e-14);
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// With a derivative that is plain code too, and one example after the other under `vmap`:
///
/// ```
/// use wengert::prelude::*;
/// use wengert::{Array, CustomRule, DType, Type};
///
/// let energy = |x: &[f64]| x.iter().map(|x| x * x / 2.0).sum::<f64>();
/// let rule = CustomRule::foreign(
///     "energy",
///     |x| Type::new(DType::F64, &x[0].shape[..0]),
///     move |x| Array::scalar(energy(x[0].elements().unwrap())),
/// )
/// .foreign_vjp(|x, _, ct| {
///     let ct = ct[0].to_f64()[0];
///     Array::new(x[0].shape(), x[0].to_f64().iter().map(|x| ct * x).collect::<Vec<f64>>())
/// })
/// .one_by_one()
/// .register(&[&[Tensor::from([1.0, -2.0])]])?;
/// let many = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let slopes = vmap(&many, |x| grad(&x, |x| rule.call(&[&x])[0].square()));
/// assert_eq!(slopes.to_vec(), [5.0, 10.0, 75.0, 100.0]);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone)]
pub struct ForeignRule {
    name: String,
    shapes: Shapes,
    value: PlainCode,
    jvp: Option<OnTensors>,
    vjp: Option<OnTensors>,
    plain_jvp: Option<OnArrays>,
    plain_vjp: Option<OnArrays>,
    many: Many,
    is_elementwise: bool,
    is_surrogate: bool,
}

impl fmt::Debug for ForeignRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignRule").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ForeignRule {
    pub(super) fn new<S: ForeignResults<Type>, V: ForeignResults<Array>>(
        name: &str,
        shapes: impl Fn(&[Type]) -> S + 'static,
        value: impl Fn(&[Array]) -> V + Send + Sync + 'static,
    ) -> Self {
        ForeignRule {
            name: name.to_owned(),
            shapes: Rc::new(move |types| shapes(types).results()),
            value: Arc::new(move |x| value(x).results()),
            jvp: None,
            vjp: None,
            plain_jvp: None,
            plain_vjp: None,
            many: Many::Refused,
            is_elementwise: false,
            is_surrogate: false,
        }
    }

    /// The tangent map as tensor operations: `jvp(x, y, x_dot)` gives a tangent for every real result, from one for every real
    /// operand, in which it is linear. It may call rules, this one excepted.
    #[must_use]
    pub fn jvp(mut self, jvp: impl Fn(&[Tensor], &[Tensor], &[Tensor]) -> Vec<Tensor> + 'static) -> Self {
        self.jvp = Some(Rc::new(jvp));
        self
    }

    /// The pullback as tensor operations: `vjp(x, y, ct)` gives a cotangent for every real operand, from one for every real
    /// result, in which it is linear. It may call rules, this one excepted.
    #[must_use]
    pub fn vjp(mut self, vjp: impl Fn(&[Tensor], &[Tensor], &[Tensor]) -> Vec<Tensor> + 'static) -> Self {
        self.vjp = Some(Rc::new(vjp));
        self
    }

    /// The tangent map as plain code: as [`jvp`](Self::jvp), on arrays. It serves forward mode of the first order; for reverse
    /// mode give [`foreign_vjp`](Self::foreign_vjp) too.
    #[must_use]
    pub fn foreign_jvp<V: ForeignResults<Array>>(
        mut self,
        jvp: impl Fn(&[Array], &[Array], &[Array]) -> V + Send + Sync + 'static,
    ) -> Self {
        self.plain_jvp = Some(Arc::new(move |x, y, x_dot| jvp(x, y, x_dot).results()));
        self
    }

    /// The pullback as plain code: as [`vjp`](Self::vjp), on arrays. It serves reverse mode of the first order; for forward
    /// mode give [`foreign_jvp`](Self::foreign_jvp) too.
    #[must_use]
    pub fn foreign_vjp<V: ForeignResults<Array>>(
        mut self,
        vjp: impl Fn(&[Array], &[Array], &[Array]) -> V + Send + Sync + 'static,
    ) -> Self {
        self.plain_vjp = Some(Arc::new(move |x, y, ct| vjp(x, y, ct).results()));
        self
    }

    /// Allows `vmap`, by a call for each example, on the threads of the drivers. Else `vmap` is an error.
    #[must_use]
    pub fn one_by_one(mut self) -> Self {
        self.many = Many::OneByOne;
        self
    }

    /// Allows `vmap`, by code for all examples at once: operands and results have one more axis in front, as long as there are
    /// examples. It is compared with the value when the rule is registered. Derivatives that are plain code are called for one
    /// example after the other.
    #[must_use]
    pub fn together<V: ForeignResults<Array>>(mut self, value: impl Fn(&[Array]) -> V + Send + Sync + 'static) -> Self {
        self.many = Many::Together(Arc::new(move |x| value(x).results()));
        self
    }

    /// States that operands and results have one shape, and that each element of a result depends on the elements of the
    /// operands at its place alone: patterns of derivatives are then diagonal instead of full. It is checked when the rule is
    /// registered.
    #[must_use]
    pub fn elementwise(mut self) -> Self {
        self.is_elementwise = true;
        self
    }

    /// With a derivative that is another one than the value's, on purpose: it is not compared with differences, and the status
    /// of a gradient through it says so.
    #[must_use]
    pub fn surrogate(mut self) -> Self {
        self.is_surrogate = true;
        self
    }

    /// Checks the rule at sample operands: one set of them or more, of which one has elements in every operand and in the
    /// results if there is a derivative to compare. The value is called around them, as differences ask for it.
    ///
    /// # Errors
    /// If there is no such set; if the code fails there, gives other types than were said, or other results for the same
    /// operands; if a derivative does not fit, is not linear, is given twice, disagrees with differences of the value (unless it
    /// is a surrogate), or two are not transposes of one another; if code for many examples disagrees with that for one.
    #[track_caller]
    pub fn register(self, samples: &[&[Tensor]]) -> Result<RegisteredRule, Error> {
        let line = Location::caller();
        check_samples(&self.name, samples, line)?;
        let tensors = usize::from(self.jvp.is_some()) + usize::from(self.vjp.is_some());
        let plain = self.plain_jvp.is_some() || self.plain_vjp.is_some();
        if tensors > 1 || (tensors > 0 && plain) {
            let why = "its derivative is given twice: `jvp` or `vjp` gives every mode, and is enough";
            return Err(error(&self.name, why.to_owned(), line));
        }
        let name = self.name.clone();
        let mut compared = self.is_surrogate || (tensors == 0 && !plain);
        let registered = RegisteredRule::new(Checked::Foreign(self), samples);
        for sample in samples {
            let types: Vec<Type> = sample.iter().map(|x| x.ty().clone()).collect();
            let Op::Foreign(op) = registered.operation(&types, line)? else { continue };
            let point: Vec<Array> = sample.iter().map(Tensor::to_array).collect();
            check(&op, &point).map_err(|why| error(&name, why, line))?;
            compared |= types.iter().all(|ty| ty.size() > 0) && op.code.outputs.iter().any(|ty| ty.size() > 0);
        }
        if compared { Ok(registered) } else { Err(error(&name, compare::NOTHING.to_owned(), line)) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The operation at operands of these types.
    pub(super) fn operation(&self, types: &[Type], line: Line) -> Result<Foreign, Error> {
        let outputs = (self.shapes)(types).map_err(|why| {
            let why = format!("it takes no such operands: {why}");
            Error::new(ErrorKind::Misfit, &self.name, why).of(types).at(Some(line))
        })?;
        if self.is_elementwise
            && let Some(ty) = types.iter().chain(&outputs).find(|ty| ty.shape != types[0].shape)
        {
            let why = format!("it is said to work element by element, and one of its operands and results is {ty}");
            return Err(Error::new(ErrorKind::Misfit, &self.name, why).of(types).at(Some(line)));
        }
        let mut code = Code::new(&self.name, types.to_vec(), outputs, Arc::clone(&self.value));
        code.derivative = self.derivative(&code, line)?;
        code.many = self.many.clone();
        code.is_elementwise = self.is_elementwise;
        code.is_surrogate = self.is_surrogate;
        Ok(Foreign::new(Arc::new(code)))
    }

    fn derivative(&self, code: &Code, line: Line) -> Result<ForeignDerivative, Error> {
        let (inputs, outputs) = (&code.inputs, &code.outputs);
        let (given, word, directions, wanted): (_, _, Vec<Type>, Vec<&Type>) = match (&self.jvp, &self.vjp) {
            (Some(jvp), _) => (jvp, "jvp", real(inputs).cloned().collect(), real(outputs).collect()),
            (_, Some(vjp)) => (vjp, "vjp", real(outputs).cloned().collect(), real(inputs).collect()),
            (None, None) => return Ok(self.plain_derivative(inputs.len(), outputs.len())),
        };
        let (x, y) = (inputs.len(), inputs.len() + outputs.len());
        let types = [&inputs[..], &outputs[..], &directions].concat();
        let function = |values: &[Tensor]| given(&values[..x], &values[x..y], &values[y..]);
        let derivative = program(&self.name, &function, &types, line)?;
        let own = derivative.output_types();
        if own.iter().collect::<Vec<&Type>>() != wanted {
            let list = |types: &[&Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
            let own: Vec<&Type> = own.iter().collect();
            let why = format!("its {word} has to give ({}), and gives ({})", list(&wanted), list(&own));
            return Err(error(&self.name, why, line));
        }
        let marked: Vec<bool> = (0..types.len()).map(|k| k >= y).collect();
        check_linear(&derivative, &marked)
            .map_err(|why| error(&self.name, format!("its {word} has to be linear in its directions: {why}"), line))?;
        let derivative = Arc::new(derivative);
        Ok(if word == "jvp" { ForeignDerivative::Jvp(derivative) } else { ForeignDerivative::Vjp(derivative) })
    }

    fn plain_derivative(&self, inputs: usize, outputs: usize) -> ForeignDerivative {
        let on_all = |code: &OnArrays| -> PlainCode {
            let code = Arc::clone(code);
            Arc::new(move |values| {
                let (x, rest) = values.split_at(inputs);
                let (y, directions) = rest.split_at(outputs);
                code(x, y, directions)
            })
        };
        let (jvp, vjp) = (self.plain_jvp.as_ref().map(on_all), self.plain_vjp.as_ref().map(on_all));
        if jvp.is_none() && vjp.is_none() { ForeignDerivative::None } else { ForeignDerivative::Plain { jvp, vjp } }
    }
}

/// Checks a rule at a point.
fn check(op: &Foreign, point: &[Array]) -> Result<(), String> {
    let all = Op::from(op.clone());
    compare::repeats(&all, point)?;
    if op.code.is_elementwise {
        compare::elementwise(&all, point)?;
    }
    if let Many::Together(_) = op.code.many {
        compare::together(&all, &Foreign { lanes: vec![2], ..op.clone() }.into(), point)?;
    }
    if op.code.is_surrogate {
        return Ok(());
    }
    match &op.code.derivative {
        ForeignDerivative::None => Ok(()),
        ForeignDerivative::Jvp(_) | ForeignDerivative::Vjp(_) => compare::forwards(&all, point),
        ForeignDerivative::Plain { jvp, vjp } => {
            if jvp.is_some() {
                compare::forwards(&all, point)?;
            }
            if vjp.is_some() {
                compare::backwards(&all, point)?;
            }
            if jvp.is_some() && vjp.is_some() { compare::transposes(&all, point) } else { Ok(()) }
        }
    }
}
