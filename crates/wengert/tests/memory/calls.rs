//! Calls that allocate their results and nothing else.

use wengert::Compile;
use wengert::prelude::*;
use wengert::sparsity::SparseRecorded;

use crate::numbers;

#[test]
fn a_gradient_allocates_nothing_in_steady_state() {
    let point: [f64; 50] = std::array::from_fn(|k| 0.01 * k as f64);
    let f = |x: [Var; 50]| {
        let mut y = x[0];
        for k in 0..4000 {
            y = (y * x[k % 50] + 0.3).sin() + 2.0 * x[(k + 7) % 50] / (1.0 + y * y);
        }
        y
    };
    // The first call grows the list.
    let first = value_and_grad(point, f);
    assert!(first.1.iter().all(|partial| partial.is_finite()));
    let mut second = None;
    let counted = allocation_counter::measure(|| second = Some(value_and_grad(point, f)));
    assert_eq!(counted.count_total, 0, "{} bytes", counted.bytes_total);
    assert_eq!(second, Some(first));
}

#[derive(Tree, Clone)]
struct Model {
    layers: Vec<Layer>,
}

#[derive(Tree, Clone)]
struct Layer {
    w: Tensor,
    b: Tensor,
}

/// The loss of a model, and the model after a step of descent.
fn train(model: &Model, x: &Tensor, y: &Tensor) -> (Tensor, Model) {
    let (loss, gradient) = value_and_grad(model, |model| {
        let h = model.layers.iter().fold(x.clone(), |h, layer| (h.matmul(&layer.w) + &layer.b).relu());
        (h - y).square().mean()
    });
    (loss, model - 0.1 * gradient)
}

#[test]
fn a_call_allocates_its_results_and_nothing_else() {
    let (x, y) = (numbers(&[7, 5], 3), numbers(&[7, 2], 4));
    let step = Compile::new().threads(1).function(|(m, x, y): (Model, Tensor, Tensor)| train(&m, &x, &y));
    let layer = |from, to| Layer { w: numbers(&[from, to], 1), b: numbers(&[to], 2) };
    let m = Model { layers: vec![layer(5, 6), layer(6, 2)] };
    let large = Compile::new().threads(1).function(|x: Tensor| x + 1.0);
    let z = numbers(&[1 << 18], 5);
    for _ in 0..3 {
        step.call((&m, &x, &y));
        large.call(&z);
    }
    // Of each result: the elements, their shared owner, the lengths of its axes. Of the model: its list of layers. The loss
    // has no axes.
    let counted = allocation_counter::measure(|| drop(step.call((&m, &x, &y))));
    assert_eq!(counted.count_total, 4 * 3 + 1 + 2, "{counted:?}");
    // A large one is written where the last one lay: the lengths of its axes remain.
    let counted = allocation_counter::measure(|| drop(large.call(&z)));
    assert_eq!(counted.count_total, 1, "{counted:?}");
}

#[test]
fn an_evaluation_by_elimination_allocates_nothing() {
    let f = record([0.5; 4], |[x, y, z, w]| (x * y).sin() * z + Real::select(w.less(x), w * w, x * w));
    let hessian = SparseRecorded::hessian(&f, &[0.5; 4]).unwrap();
    let mut values = vec![0.0; hessian.pattern().nnz()];
    hessian.evaluate(&[0.1; 4], &mut values).unwrap();
    let counted = allocation_counter::measure(|| hessian.evaluate(&[0.2; 4], &mut values).unwrap());
    assert_eq!(counted.count_total, 0);
}
