//! Functions as problems of argmin's optimisers of second order.

use argmin::core::{CostFunction, Executor, Gradient, Hessian, State};
use argmin::solver::trustregion::{Steihaug, TrustRegion};
use argmin_math::ArgminDot;
use wengert::optim::argmin::{Dense, MatrixFree};
use wengert::prelude::*;

/// Rosenbrock's function in n dimensions: lowest, 0, at (1, …, 1).
fn rosenbrock(x: Vec<Var>) -> Var {
    let valley = |pair: &[Var]| 100.0 * (pair[1] - pair[0] * pair[0]).square() + (1.0 - pair[0]).square();
    x.windows(2).map(valley).sum()
}

#[test]
fn derivatives_of_a_problem() {
    let (dense, free) = (Dense::new(rosenbrock), MatrixFree::new(rosenbrock));
    let x = vec![-1.0, 2.0];
    assert_eq!(dense.cost(&x).unwrap(), 104.0);
    assert_eq!(dense.gradient(&x).unwrap(), [396.0, 200.0]);
    assert_eq!(dense.hessian(&x).unwrap(), [[402.0, 400.0], [400.0, 200.0]]);
    assert_eq!((free.cost(&x).unwrap(), free.gradient(&x).unwrap()), (104.0, vec![396.0, 200.0]));
    let curvature = free.hessian(&x).unwrap();
    assert_eq!(curvature.clone().dot(&vec![1.0, -1.0]), [2.0, 200.0]);
}

/// A cost is a number: a derivative by what it was made of would be lost.
#[test]
fn a_cost_that_depends_on_an_outer_variable_is_refused() {
    fn cost(a: Var, x: f64) -> Var {
        a * Dense::new(move |x: Vec<Var>| (x[0] - a).square()).cost(&vec![x]).unwrap()
    }
    let refused = |run: fn() -> f64| {
        let message = *std::panic::catch_unwind(run).unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("depends on"), "{message}");
    };
    refused(|| grad(2.0, |a| cost(a, 5.0)));
    refused(|| jvp(2.0, 1.0, |a| cost(a, 5.0)).1);
    refused(|| record([2.0], |[a]| cost(a, 5.0)).value([3.0]));
    // What is severed, or not used, is a number.
    let severed = |a: Var| a * Dense::new(move |x: Vec<Var>| (x[0] - a.detach()).square()).cost(&vec![5.0]).unwrap();
    assert_eq!(grad(2.0, severed), 9.0);
    assert_eq!(grad(2.0, |a| a * Dense::new(rosenbrock).cost(&vec![-1.0, 2.0]).unwrap()), 104.0);
}

#[test]
fn a_trust_region_with_the_whole_hessian_converges() {
    let solver = TrustRegion::new(Steihaug::new().with_max_iters(20));
    let run = Executor::new(Dense::new(rosenbrock), solver);
    let run = run.configure(|state| state.param(vec![-1.2, 1.0]).max_iters(60)).run().unwrap();
    let best = run.state().get_best_param().unwrap();
    assert!(best.iter().all(|x| (x - 1.0).abs() < 1e-9), "{best:?} after {} steps", run.state().get_iter());
}

#[test]
fn a_trust_region_with_products_alone_converges_in_many_dimensions() {
    let start: Vec<f64> = (0..30).map(|k| if k % 2 == 0 { -1.2 } else { 1.0 }).collect();
    let solver = TrustRegion::new(Steihaug::new().with_max_iters(60));
    let run = Executor::new(MatrixFree::new(rosenbrock), solver);
    let run = run.configure(|state| state.param(start).max_iters(500)).run().unwrap();
    let best = run.state().get_best_param().unwrap();
    let slope = grad(best, rosenbrock);
    assert!(slope.iter().all(|g| g.abs() < 1e-6), "{slope:?} at {best:?} after {} steps", run.state().get_iter());
}
