//! A user's own rules: [`CustomRule`] gives a function of tensors another way to be differentiated.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::primitives::{Custom, Rule};
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::transform::linear::check_linear;

/// A function from tensors to tensors.
type Function = Rc<dyn Fn(&[Tensor]) -> Vec<Tensor>>;

/// How the derivative was given.
#[derive(Clone)]
enum Given {
    /// From the operands and their tangents.
    Jvp(Function),
    /// From the operands, the results and their cotangents.
    Vjp(Function),
}

/// A function of tensors with a derivative of its own: a tangent map, a pullback, or partial
/// derivatives. Every other mode, order and batching follows from it.
///
/// A rule is checked when it is registered: the tangent map has to be linear in the tangents, the
/// pullback in the cotangents, and at the sample points the derivative has to agree with
/// differences of the value.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::CustomRule;
/// let softplus = CustomRule::partials("softplus", |x| x.exp().log1p(), |x, _| x.sigmoid())
///     .register(&[&[Tensor::from([-1.0, 0.0, 2.0])]])?;
/// let x = Tensor::from([800.0, 1.0]);
/// let g = grad(&x, |x| softplus.call(&[&x])[0].sum());
/// assert_eq!(g.to_vec(), [1.0, 1f64 / (1.0 + (-1f64).exp())]);
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// A derivative that is another one on purpose (straight-through, reversed) is a surrogate: it is not
/// compared with differences, and the status of a gradient through it says so.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::CustomRule;
/// let round = CustomRule::vjp("round", |x| vec![x[0].round()], |_, _, ct| vec![ct[0].clone()])
///     .surrogate()
///     .register(&[&[Tensor::from([0.3, 1.7])]])?;
/// assert_eq!(grad(&Tensor::from(1.2), |x| round.call(&[&x])[0].square()).item(), 2.0);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone)]
pub struct CustomRule {
    name: String,
    value: Function,
    given: Given,
    surrogate: bool,
}

impl fmt::Debug for CustomRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomRule")
            .field("name", &self.name)
            .field("surrogate", &self.surrogate)
            .finish_non_exhaustive()
    }
}

impl CustomRule {
    /// From the value `y = f(x)` and the tangents `J x_dot`: `jvp(x, x_dot)` gives a tangent for
    /// every result.
    pub fn jvp(
        name: &str,
        value: impl Fn(&[Tensor]) -> Vec<Tensor> + 'static,
        jvp: impl Fn(&[Tensor], &[Tensor]) -> Vec<Tensor> + 'static,
    ) -> Self {
        let jvp = move |given: &[Tensor]| {
            let (x, x_dot) = given.split_at(given.len() / 2);
            jvp(x, x_dot)
        };
        CustomRule { name: name.to_owned(), value: Rc::new(value), given: Given::Jvp(Rc::new(jvp)), surrogate: false }
    }

    /// From the value `y = f(x)` and the pullback: `vjp(x, y, ct)` gives a cotangent for every
    /// operand.
    pub fn vjp(
        name: &str,
        value: impl Fn(&[Tensor]) -> Vec<Tensor> + 'static,
        vjp: impl Fn(&[Tensor], &[Tensor], &[Tensor]) -> Vec<Tensor> + 'static,
    ) -> Self {
        let value: Function = Rc::new(value);
        let count = Rc::new(RefCell::new(0));
        let (results, counted) = (Rc::clone(&count), Rc::clone(&value));
        let value: Function = Rc::new(move |x: &[Tensor]| {
            let y = counted(x);
            *results.borrow_mut() = y.len();
            y
        });
        let vjp = move |given: &[Tensor]| {
            let results = *count.borrow();
            let (x, rest) = given.split_at(given.len() - 2 * results);
            let (y, ct) = rest.split_at(results);
            vjp(x, y, ct)
        };
        CustomRule { name: name.to_owned(), value, given: Given::Vjp(Rc::new(vjp)), surrogate: false }
    }

    /// From an elementwise function of one operand and its derivative: `partial(x, y)` is `dy/dx`.
    pub fn partials(
        name: &str,
        value: impl Fn(&Tensor) -> Tensor + 'static,
        partial: impl Fn(&Tensor, &Tensor) -> Tensor + 'static,
    ) -> Self {
        let value: Rc<dyn Fn(&Tensor) -> Tensor> = Rc::new(value);
        let again = Rc::clone(&value);
        let jvp = move |x: &[Tensor], x_dot: &[Tensor]| vec![partial(&x[0], &again(&x[0])) * &x_dot[0]];
        CustomRule::jvp(name, move |x| vec![value(&x[0])], jvp)
    }

    /// As a derivative that is another one than the value's, on purpose.
    #[must_use]
    pub fn surrogate(mut self) -> Self {
        self.surrogate = true;
        self
    }

    /// Checks the rule at sample operands: one set of them or more, of which one has elements in every operand and in
    /// the results (a surrogate, which is not compared, needs the operands only).
    ///
    /// # Errors
    /// If there is no such set; if the rule does not fit the value's operands and results, is not linear where it has to be, or
    /// (unless it is a surrogate) disagrees with differences of the value.
    #[track_caller]
    pub fn register(self, samples: &[&[Tensor]]) -> Result<RegisteredRule, Error> {
        let line = Location::caller();
        if samples.is_empty() {
            return Err(self.error("a rule is checked at sample operands, and there are none".to_owned(), line));
        }
        if let Some(none) = samples.iter().position(|sample| sample.is_empty()) {
            return Err(
                self.error(format!("sample {none} has no operands: there is nothing to differentiate by"), line)
            );
        }
        let mut compared = self.surrogate;
        let registered = RegisteredRule { rule: self, operations: Rc::new(RefCell::new(Vec::new())) };
        for sample in samples {
            let types: Vec<Type> = sample.iter().map(|x| x.ty().clone()).collect();
            let op = registered.operation(&types, line)?;
            if !registered.rule.surrogate {
                let point: Vec<Array> = sample.iter().map(Tensor::to_array).collect();
                compare(&op, &point).map_err(|why| registered.rule.error(why, line))?;
                let results = op.value.output_types();
                compared |= types.iter().all(|ty| ty.size() > 0) && results.iter().any(|ty| ty.size() > 0);
            }
        }
        if compared {
            return Ok(registered);
        }
        let why = "every sample is empty in an operand or in all results, so its derivative was compared with nothing";
        Err(registered.rule.error(why.to_owned(), line))
    }

    fn error(&self, why: String, line: Line) -> Error {
        Error::new(ErrorKind::Unsupported, &self.name, why).at(Some(line))
    }

    /// The Program of one of the functions at operands of these types.
    fn program(&self, function: &Function, types: &[Type], line: Line) -> Result<Program, Error> {
        let level = ArrayLevel::open("custom rule", Reading::Symbolic);
        let inputs: Vec<Tensor> =
            types.iter().map(|ty| level.input(&Tensor::from_array(Array::zeros(ty)), &Mapped::Whole)).collect();
        let outputs = function(&inputs);
        let closed = level.close(&outputs)?;
        if closed.captures.is_empty() {
            return Ok(closed.program);
        }
        let types: Vec<String> = closed.captures.iter().map(|capture| capture.ty().to_string()).collect();
        let why = format!("it captures {}; pass tensors as operands, so that the rule covers them", types.join(", "));
        Err(self.error(why, line))
    }
}

/// A rule that was checked: see [`CustomRule`].
#[derive(Clone, Debug)]
pub struct RegisteredRule {
    rule: CustomRule,
    /// The operation for operands of these types.
    operations: Rc<RefCell<OperationsByTypes>>,
}

/// Operations with the types of the operands they were made for.
type OperationsByTypes = Vec<(Vec<Type>, Custom)>;

impl RegisteredRule {
    /// The function's results.
    ///
    /// # Panics
    /// As [`RegisteredRule::try_call`] gives errors.
    #[track_caller]
    pub fn call(&self, operands: &[&Tensor]) -> Vec<Tensor> {
        self.try_call(operands).or_raise()
    }

    /// The function's results.
    ///
    /// # Errors
    /// If the rule does not hold at operands of these types.
    #[track_caller]
    pub fn try_call(&self, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let types: Vec<Type> = operands.iter().map(|operand| operand.ty().clone()).collect();
        let op = self.operation(&types, Location::caller())?;
        graph::apply(op, operands)
    }

    fn operation(&self, types: &[Type], line: Line) -> Result<Custom, Error> {
        if let Some((_, op)) = self.operations.borrow().iter().find(|(own, _)| own == types) {
            return Ok(op.clone());
        }
        let rule = &self.rule;
        let value = rule.program(&rule.value, types, line)?;
        let outputs = value.output_types();
        if let Some(ty) = types.iter().chain(&outputs).find(|ty| !ty.dtype.is_float()) {
            return Err(rule.error(format!("its operands and results have to be real, and one is {ty}"), line));
        }
        let (function, operands): (&Function, Vec<Type>) = match &rule.given {
            Given::Jvp(jvp) => (jvp, [types, types].concat()),
            Given::Vjp(vjp) => (vjp, [types, &outputs[..], &outputs[..]].concat()),
        };
        let program = rule.program(function, &operands, line)?;
        let (first, word, what) = match &rule.given {
            Given::Jvp(_) => (types.len(), "jvp", "tangent"),
            Given::Vjp(_) => (types.len() + outputs.len(), "vjp", "cotangent"),
        };
        let marked: Vec<bool> = (0..operands.len()).map(|k| k >= first).collect();
        check_linear(&program, &marked)
            .map_err(|why| rule.error(format!("its {word} has to be linear in the {what}: {why}"), line))?;
        let derivative = Arc::new(program);
        let op = Custom {
            name: rule.name.clone(),
            value: Arc::new(value),
            rule: match &rule.given {
                Given::Jvp(_) => Rule::Jvp(derivative),
                Given::Vjp(_) => Rule::Vjp(derivative),
            },
            surrogate: rule.surrogate,
        };
        use crate::primitives::Primitive;
        let refs: Vec<&Type> = types.iter().collect();
        op.infer(&refs).map_err(|why| rule.error(why.0, line))?;
        self.operations.borrow_mut().push((types.to_vec(), op.clone()));
        Ok(op)
    }
}

/// Compares the rule with differences of the value at a point, along two directions for every
/// operand: central differences of order 4 over a range of steps, of which the best counts.
fn compare(op: &Custom, point: &[Array]) -> Result<(), String> {
    use crate::program::Builder;
    let inside = |error: Error| format!("at the sample: {error}");
    let mut b = Builder::new();
    let inputs: Vec<_> = point.iter().map(|x| b.input("", x.ty().clone())).collect();
    let outs = b.emit(op.clone(), &inputs).map_err(inside)?;
    let program = b.finish(&outs);
    let tangent = program.jvp(&vec![true; point.len()]).map_err(inside)?;
    for operand in 0..point.len() {
        for seed in 0..2 {
            let dots: Vec<Array> = point.iter().enumerate().map(|(k, x)| direction(x, seed, k == operand)).collect();
            let results = tangent.run(&[point, &dots[..]].concat()).map_err(inside)?;
            let (_, got) = results.split_at(outs.len());
            let got: Vec<f64> = got.iter().flat_map(Array::to_f64).collect();
            let (error, scale) = difference(&program, point, &dots, &got).map_err(inside)?;
            let single = point.iter().any(|x| x.dtype() == crate::array::DType::F32);
            // Half the digits that differences of order 4 keep, relative to the largest value.
            let bound = if single { 3e-2 } else { 1e-7 } * scale.max(f64::MIN_POSITIVE);
            if error.is_nan() || error > bound {
                return Err(format!(
                    "its derivative along operand {operand} disagrees with differences of its value: by {error:.1e} \
                     where the largest is {scale:.1e}; a derivative that differs on purpose is a `surrogate`"
                ));
            }
        }
    }
    Ok(())
}

/// Numbers of mixed sign between 1/2 and 1, or zeros.
fn direction(x: &Array, seed: usize, active: bool) -> Array {
    let number = |k: usize| {
        let turn = ((k + 1) as f64).mul_add(0.618_033_988_749_895, seed as f64 * 0.37).fract();
        if active { (0.5 + turn / 2.0) * if turn < 0.5 { -1.0 } else { 1.0 } } else { 0.0 }
    };
    like(x, (0..x.size()).map(number).collect())
}

fn like(x: &Array, numbers: Vec<f64>) -> Array {
    match x.dtype() {
        crate::array::DType::F32 => Array::new(x.shape(), numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
        _ => Array::new(x.shape(), numbers),
    }
}

/// The smallest largest difference over the steps, and the size of what is compared.
fn difference(program: &Program, point: &[Array], dots: &[Array], got: &[f64]) -> Result<(f64, f64), Error> {
    let at = |t: f64| -> Result<Vec<f64>, Error> {
        let moved = point.iter().zip(dots).map(|(x, dot)| {
            let numbers = x.to_f64().iter().zip(dot.to_f64()).map(|(x, dot)| x + t * dot).collect();
            like(x, numbers)
        });
        Ok(program.run(&moved.collect::<Vec<Array>>())?.iter().flat_map(Array::to_f64).collect())
    };
    let mut best = (f64::NAN, 0.0);
    for step in (1..=10).map(|k| 0.1 * 0.3f64.powi(k)) {
        let [far_back, back, forward, far] = [at(-2.0 * step)?, at(-step)?, at(step)?, at(2.0 * step)?];
        let slope = |k: usize| (8.0 * (forward[k] - back[k]) - (far[k] - far_back[k])) / (12.0 * step);
        let error = (0..got.len())
            .map(|k| (slope(k) - got[k]).abs())
            .fold(0.0, |x: f64, y| if y.is_nan() { y } else { x.max(y) });
        let scale = (0..got.len()).map(|k| slope(k).abs().max(got[k].abs())).fold(1e-3, f64::max);
        if best.0.is_nan() || error / scale < best.0 / best.1 {
            best = (error, scale);
        }
    }
    Ok(best)
}
