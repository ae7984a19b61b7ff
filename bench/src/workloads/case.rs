//! A workload on prepared data: what is called again and again, and what is checked.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use wengert::prelude::*;
use wengert::{Program, TreeMath, compile, value_and_grad};

/// What a workload may be told when its data are made.
pub(super) struct Setup {
    /// Numbers in the chain of elementwise functions, W8.
    pub(super) chain: usize,
    /// How derivatives are called.
    pub(super) way: Way,
    /// Takes the Programs of the functions that are called, if it is there.
    pub(super) programs: Option<Rc<RefCell<Vec<Program>>>>,
}

/// How a derivative is called again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// As a compiled function: traced once.
    Compiled,
    /// As the user's function: recorded at every call, and its plan found by the hash of what was recorded.
    Recorded,
}

impl Setup {
    /// A function of tensors in the way that is asked for.
    pub(super) fn function<T, O>(&self, f: impl Fn(T) -> O + 'static) -> Box<dyn Fn(&T) -> O>
    where
        T: Tree<Leaf = Tensor, Vars = T, Grad = T> + Clone + 'static,
        for<'a> &'a T: Tree<Leaf = Tensor, Vars = T, Grad = T>,
        O: Tree<Leaf = Tensor, Grad = O> + 'static,
    {
        match (&self.programs, self.way) {
            (Some(programs), _) => {
                let programs = Rc::clone(programs);
                Box::new(move |x| {
                    programs.borrow_mut().push(wengert::to_program(x, &f).0);
                    f(x.clone())
                })
            }
            (None, Way::Compiled) => {
                let compiled = compile(f);
                Box::new(move |x| compiled.call(x))
            }
            (None, Way::Recorded) => Box::new(move |x| f(x.clone())),
        }
    }
}

/// A workload on prepared data. A call returns when its result is computed.
pub(super) struct Case {
    /// The loss alone, or what the workload calls its primal.
    pub(super) primal: Box<dyn FnMut()>,
    /// What is timed: value and gradient, a step of training, a Hessian, a Jacobian.
    pub(super) derivative: Box<dyn FnMut()>,
    /// The value and the Euclidean norm of the derivative, at the initial point.
    pub(super) check: Box<dyn FnMut() -> [f64; 2]>,
}

impl Case {
    /// A case of two functions, whose results `check` makes a pair of.
    pub(super) fn new<P: 'static, D: 'static>(
        primal: impl Fn() -> P + 'static,
        derivative: impl Fn() -> D + 'static,
        check: impl Fn(&P, &D) -> [f64; 2] + 'static,
    ) -> Self {
        let (primal, derivative) = (Rc::new(primal), Rc::new(derivative));
        let checked = {
            let (primal, derivative) = (Rc::clone(&primal), Rc::clone(&derivative));
            move || check(&primal(), &derivative())
        };
        Case {
            primal: Box::new(move || drop(black_box(primal()))),
            derivative: Box::new(move || drop(black_box(derivative()))),
            check: Box::new(checked),
        }
    }
}

/// The case of a loss: its value and gradient at the parameters.
pub(super) fn value_and_gradient<T>(setup: &Setup, parameters: T, loss: impl Fn(T) -> Tensor + Clone + 'static) -> Case
where
    T: TreeMath<Leaf = Tensor, Vars = T, Grad = T> + Clone + 'static,
    for<'a> &'a T: Tree<Leaf = Tensor, Vars = T, Grad = T>,
{
    let primal = {
        let (parameters, loss) = (parameters.clone(), compile(loss.clone()));
        move || loss.call(&parameters)
    };
    let both = setup.function(move |parameters: T| value_and_grad(&parameters, &loss));
    let derivative = move || both(&parameters);
    Case::new(primal, derivative, |_, (value, gradient)| [value.item(), gradient.norm().item()])
}
