//! A user's own rules: [`CustomRule`] gives a function of tensors another way to be differentiated.

mod compare;
mod foreign;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::primitives::{Custom, Op, Primitive, Rule};
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::transform::linear::check_linear;
pub use foreign::{ForeignResults, ForeignRule};

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

    /// A function that is plain Rust on plain arrays: a solver, a table, a simulation. See [`ForeignRule`].
    ///
    /// `shapes` gives the types of the results from those of the operands, `value` the results; either may give a `Result`,
    /// whose error ends the run.
    pub fn foreign<S: ForeignResults<Type>, V: ForeignResults<Array>>(
        name: &str,
        shapes: impl Fn(&[Type]) -> S + 'static,
        value: impl Fn(&[Array]) -> V + Send + Sync + 'static,
    ) -> ForeignRule {
        ForeignRule::new(name, shapes, value)
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
        check_samples(&self.name, samples, line)?;
        let (name, surrogate) = (self.name.clone(), self.surrogate);
        let mut compared = surrogate;
        let registered = RegisteredRule::new(Checked::Tensors(self), samples);
        for sample in samples {
            let types: Vec<Type> = sample.iter().map(|x| x.ty().clone()).collect();
            let op = registered.operation(&types, line)?;
            if !surrogate {
                let point: Vec<Array> = sample.iter().map(Tensor::to_array).collect();
                compare::forwards(&op, &point).map_err(|why| error(&name, why, line))?;
                let results =
                    op.infer(&types.iter().collect::<Vec<&Type>>()).map_err(|why| error(&name, why.0, line))?;
                compared |= types.iter().all(|ty| ty.size() > 0) && results.iter().any(|ty| ty.size() > 0);
            }
        }
        if compared {
            return Ok(registered);
        }
        Err(error(&name, compare::NOTHING.to_owned(), line))
    }

    fn operation(&self, types: &[Type], line: Line) -> Result<Custom, Error> {
        let fail = |why: String| error(&self.name, why, line);
        let value = program(&self.name, &*self.value, types, line)?;
        let outputs = value.output_types();
        if let Some(ty) = types.iter().chain(&outputs).find(|ty| !ty.dtype.is_float()) {
            return Err(fail(format!("its operands and results have to be real, and one is {ty}")));
        }
        let (function, operands): (&Function, Vec<Type>) = match &self.given {
            Given::Jvp(jvp) => (jvp, [types, types].concat()),
            Given::Vjp(vjp) => (vjp, [types, &outputs[..], &outputs[..]].concat()),
        };
        let derivative = program(&self.name, &**function, &operands, line)?;
        let (first, word, what) = match &self.given {
            Given::Jvp(_) => (types.len(), "jvp", "tangent"),
            Given::Vjp(_) => (types.len() + outputs.len(), "vjp", "cotangent"),
        };
        let marked: Vec<bool> = (0..operands.len()).map(|k| k >= first).collect();
        check_linear(&derivative, &marked)
            .map_err(|why| fail(format!("its {word} has to be linear in the {what}: {why}")))?;
        let derivative = Arc::new(derivative);
        let op = Custom {
            name: self.name.clone(),
            value: Arc::new(value),
            rule: match &self.given {
                Given::Jvp(_) => Rule::Jvp(derivative),
                Given::Vjp(_) => Rule::Vjp(derivative),
            },
            surrogate: self.surrogate,
        };
        let refs: Vec<&Type> = types.iter().collect();
        op.infer(&refs).map_err(|why| fail(why.0))?;
        Ok(op)
    }
}

/// A rule that was checked: see [`CustomRule`].
#[derive(Clone, Debug)]
pub struct RegisteredRule {
    rule: Checked,
    /// How many operands the samples have that it was checked at.
    counts: BTreeSet<usize>,
    /// The operation for operands of these types.
    operations: Rc<RefCell<OperationsByTypes>>,
}

/// What a registered rule is made of.
#[derive(Clone, Debug)]
enum Checked {
    /// Tensor operations with a derivative of their own.
    Tensors(CustomRule),
    /// Plain code.
    Foreign(ForeignRule),
}

/// Operations with the types of the operands they were made for, the one that was asked for last at the end.
type OperationsByTypes = Vec<(Vec<Type>, Op)>;

/// For how many types of operands a rule keeps its operations.
const KEPT: usize = 64;

impl RegisteredRule {
    fn new(rule: Checked, samples: &[&[Tensor]]) -> Self {
        let counts = samples.iter().map(|sample| sample.len()).collect();
        RegisteredRule { rule, counts, operations: Rc::new(RefCell::new(Vec::new())) }
    }

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
    /// If there are more or fewer operands than in every sample that the rule was checked at; if it does not hold at operands
    /// of these types; of plain code that runs now, if it fails.
    #[track_caller]
    pub fn try_call(&self, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
        let types: Vec<Type> = operands.iter().map(|operand| operand.ty().clone()).collect();
        let op = self.operation(&types, Location::caller())?;
        graph::apply(op, operands)
    }

    fn operation(&self, types: &[Type], line: Line) -> Result<Op, Error> {
        if let Some(op) = self.known(types) {
            return Ok(op);
        }
        self.check_count(types, line)?;
        let op = match &self.rule {
            Checked::Tensors(rule) => Op::from(rule.operation(types, line)?),
            Checked::Foreign(rule) => Op::from(rule.operation(types, line)?),
        };
        let mut operations = self.operations.borrow_mut();
        if operations.len() == KEPT {
            operations.remove(0);
        }
        operations.push((types.to_vec(), op.clone()));
        Ok(op)
    }

    /// The operation for operands of these types, if it is kept.
    fn known(&self, types: &[Type]) -> Option<Op> {
        let mut operations = self.operations.borrow_mut();
        let place = operations.iter().rposition(|(own, _)| own == types)?;
        operations[place..].rotate_left(1);
        operations.last().map(|(_, op)| op.clone())
    }

    /// The user's functions index their operands, and were seen to do so with as many as a sample has.
    fn check_count(&self, types: &[Type], line: Line) -> Result<(), Error> {
        if self.counts.contains(&types.len()) {
            return Ok(());
        }
        let counts: Vec<String> = self.counts.iter().map(usize::to_string).collect();
        let why = format!("it was checked with {} operands, and is called with {}", counts.join(" or "), types.len());
        let name = match &self.rule {
            Checked::Tensors(rule) => &rule.name,
            Checked::Foreign(rule) => rule.name(),
        };
        Err(Error::new(ErrorKind::Misfit, name, why).of(types).at(Some(line)))
    }
}

fn error(name: &str, why: String, line: Line) -> Error {
    Error::new(ErrorKind::Unsupported, name, why).at(Some(line))
}

/// That there are samples, and operands in each.
fn check_samples(name: &str, samples: &[&[Tensor]], line: Line) -> Result<(), Error> {
    if samples.is_empty() {
        return Err(error(name, "a rule is checked at sample operands, and there are none".to_owned(), line));
    }
    match samples.iter().position(|sample| sample.is_empty()) {
        Some(none) => {
            let why = format!("sample {none} has no operands: there is nothing to differentiate by");
            Err(error(name, why, line))
        }
        None => Ok(()),
    }
}

/// The Program of a function at operands of these types, for the rule of this name.
fn program(
    name: &str,
    function: &dyn Fn(&[Tensor]) -> Vec<Tensor>,
    types: &[Type],
    line: Line,
) -> Result<Program, Error> {
    let level = ArrayLevel::open("custom rule", Reading::Symbolic);
    let inputs: Vec<Tensor> =
        types.iter().map(|ty| level.input(&Tensor::from_array(Array::zeros(ty)), &Mapped::Whole)).collect();
    let outputs = function(&inputs);
    let closed = level.close(&outputs)?;
    if closed.captures.is_empty() {
        return Ok(Arc::unwrap_or_clone(closed.program));
    }
    let types: Vec<String> = closed.captures.iter().map(|capture| capture.ty().to_string()).collect();
    let why = format!("it captures {}; pass tensors as operands, so that the rule covers them", types.join(", "));
    Err(error(name, why, line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::grad;

    #[test]
    fn a_rule_keeps_operations_for_few_shapes() {
        let rule = CustomRule::vjp("double", |x| vec![&x[0] * 2.0], |_, _, ct| vec![&ct[0] * 2.0]);
        let rule = rule.register(&[&[Tensor::ones(&[1])]]).unwrap();
        for round in 0..2 {
            for size in 1..=3 * KEPT {
                // What is used again and again stays.
                for size in [1, size] {
                    let slope = grad(Tensor::ones(&[size]), |x| rule.call(&[&x])[0].sum());
                    assert_eq!(slope.to_vec(), vec![2.0; size], "round {round}");
                }
                assert!(rule.operations.borrow().len() <= KEPT);
                assert!(rule.known(&[Tensor::ones(&[1]).ty().clone()]).is_some());
            }
        }
    }
}
