//! What a recorded function is asked more than once runs as straight-line code: at one point with the bits of the drivers that
//! record anew, at many points within the rounding of the vector functions.

use wengert::ops::{Binary, Unary};
use wengert::prelude::*;
use wengert::{Const, Real};

/// The bits of numbers; one NaN is as good as another, and the sign of a zero is not part of the promise.
fn bits(tree: &impl Tree<Leaf = f64>) -> Vec<u64> {
    let mut bits = Vec::new();
    tree.visit_leaves(&mut |x| bits.push(if x.is_nan() { 1 } else { (x + 0.0).to_bits() }));
    bits
}

/// Asks a recorded function several times: the first answer is a sweep, the others are code.
fn asked<T: Tree<Leaf = f64>>(what: &str, wanted: &T, ask: impl Fn() -> T) {
    for time in 0..3 {
        assert_eq!(bits(&ask()), bits(wanted), "{what}, asked {time} times before");
    }
}

/// Every driver at one point, recorded once and recorded anew.
fn agrees_with_recording_anew(what: &str, x: [f64; 2], f: impl Fn([Var; 2]) -> [Var; 2]) {
    let first = |x: [Var; 2]| f(x)[0];
    // Recorded elsewhere: nothing may be left of that point.
    let start = x.map(|x| x * 0.75 + 0.0625);
    let (both, one) = (record(start, &f), record(start, first));
    let (v, c) = ([0.5, -2.0], [1.5, 0.25]);
    asked(what, &jvp(x, v, &f), || both.jvp(x, v));
    asked(what, &vjp(x, &f).1.pull(c), || both.vjp(x, c));
    asked(what, &jacobian(x, &f), || both.jacobian(x));
    asked(what, &value_and_grad(x, first), || one.value_and_grad(x));
    asked(what, &grad(x, first), || one.grad(x));
    asked(what, &hessian(x, first), || one.hessian(x));
    asked(what, &hvp(x, v, first), || one.hvp(x, v));
}

/// The numbers of many points are those of one within rounding, some of it in the derivatives' formulas.
fn close(what: &str, many: &impl Tree<Leaf = f64>, one: &impl Tree<Leaf = f64>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    many.visit_leaves(&mut |x| left.push(*x));
    one.visit_leaves(&mut |x| right.push(*x));
    for (many, one) in left.iter().zip(&right) {
        let agree = many == one || many.is_nan() && one.is_nan() || (many - one).abs() <= 1e-11 * (1.0 + one.abs());
        assert!(agree, "{what}: {left:?} at many points, {right:?} at one");
    }
}

#[test]
fn every_function_of_one_argument() {
    let others = [0, 1, 2, 5, -2].map(Unary::Powi);
    for &op in Unary::ALL.iter().chain(&others) {
        let f = move |[x, y]: [Var; 2]| [x.unary(op) * y, y - x.unary(op)];
        let samples = op.samples().iter().map(|&x| [x, 1.25]);
        let edges = op.domain().edges.iter().map(|&[x]| [x, 1.25]);
        let points: Vec<[f64; 2]> = samples.chain(edges).collect();
        let start = points[0];
        let (both, one) = (record(start, f), record(start, move |x| f(x)[0]));
        let (jacobians, hessians) = (both.jacobian_many(&points), one.hessian_many(&points));
        for (k, &x) in points.iter().enumerate() {
            let what = format!("{op:?} at {x:?}");
            agrees_with_recording_anew(&what, x, f);
            close(&what, &jacobians[k], &jacobian(x, f));
            close(&what, &hessians[k], &hessian(x, |x| f(x)[0]));
        }
    }
}

#[test]
fn every_function_of_two_arguments() {
    for &op in Binary::ALL {
        let f = move |[x, y]: [Var; 2]| [x.binary(y, op), x.binary(y * 2.0, op) - y];
        let points: Vec<[f64; 2]> =
            op.samples().iter().map(|&(x, y)| [x, y]).chain(op.domain().edges.iter().copied()).collect();
        let recorded = record(points[0], f);
        let jacobians = recorded.jacobian_many(&points);
        for (&x, many) in points.iter().zip(&jacobians) {
            let what = format!("{op:?} at {x:?}");
            agrees_with_recording_anew(&what, x, f);
            close(&what, many, &jacobian(x, f));
        }
    }
}

/// Comparisons that steer, and selections that do not, whose branches not taken have infinite derivatives.
#[test]
fn branches_and_selections() {
    let f = |[x, y]: [Var; 2]| {
        let z = if x * y < 1.0 { x.exp() * y } else { (x + y).sin() };
        let masked = Var::select(x.less(y) & !z.less(lift(0.5)), (y - x).sqrt() * z, x * x);
        let unused = Var::select(y.less(x), masked, (x - y).sqrt() + masked);
        [masked + unused, z * unused]
    };
    for x in [[0.3, 0.9], [0.9, 0.3], [1.5, 2.5], [2.5, 1.5], [0.5, 0.5], [-1.0, 0.25], [f64::NAN, 1.0]] {
        agrees_with_recording_anew(&format!("{x:?}"), x, f);
    }
    let recorded = record([0.3, 0.9], f);
    let points: Vec<[f64; 2]> = (0..100).map(|k| [0.03 * f64::from(k), 2.0 - 0.025 * f64::from(k)]).collect();
    for (x, many) in points.iter().zip(recorded.jacobian_many(&points)) {
        close(&format!("{x:?}"), &many, &jacobian(*x, f));
    }
}

/// More inputs than a batch has numbers, and as many results.
#[test]
fn many_inputs_at_many_points() {
    let inputs = 70_000;
    let f = record(vec![1.0; inputs], |x: Vec<Var>| x.iter().map(|&x| x * x).sum::<Var>());
    let points: Vec<Vec<f64>> = (0..11).map(|k| vec![f64::from(k); inputs]).collect();
    let gradients = f.grad_many(&points);
    assert_eq!(gradients.len(), 11);
    for (k, gradient) in gradients.iter().enumerate() {
        assert!(gradient.len() == inputs && gradient.iter().all(|&g| g == 2.0 * k as f64), "{k}");
    }
}

/// A matrix of more sweeps than one list may have is made of products, and where these meet an infinite factor, of sweeps.
#[test]
fn large_matrices() {
    let inputs = 700;
    let f = |x: Vec<Var>| {
        let mut sum = x[0].sqrt();
        for pair in x.windows(2) {
            sum += pair[0] * pair[1] * pair[0];
        }
        sum
    };
    let points: Vec<Vec<f64>> = [1.0, 0.0, 0.25]
        .iter()
        .map(|&first| (0..inputs).map(|k| if k == 0 { first } else { 0.5 + 0.001 * f64::from(k) }).collect())
        .collect();
    let recorded = record(vec![1.0; inputs as usize], f);
    let hessians = recorded.hessian_many(&points);
    for (x, many) in points.iter().zip(&hessians) {
        assert_eq!(bits(many), bits(&hessian(x.clone(), f)), "at {}", x[0]);
    }
    for (x, (value, gradient, many)) in points.iter().zip(recorded.value_grad_and_hessian_many(&points)) {
        assert_eq!(bits(&(value, gradient)), bits(&value_and_grad(x.clone(), f)), "at {}", x[0]);
        assert_eq!(bits(&many), bits(&hessian(x.clone(), f)), "at {}", x[0]);
    }
    let g = |x: Vec<Var>| x.iter().map(|&y| (y - x[0]).square() * x[1]).collect::<Vec<Var>>();
    let recorded = record(vec![1.0; inputs as usize], g);
    for (x, many) in points.iter().zip(recorded.jacobian_many(&points)) {
        assert_eq!(bits(&many), bits(&jacobian(x.clone(), g)), "at {}", x[0]);
    }
    // By columns, and by rows.
    for outputs in [700, 650] {
        let g = |x: Vec<Var>| g(x)[..outputs].to_vec();
        let recorded = record(vec![1.0; inputs as usize], g);
        for (x, (values, many)) in points.iter().zip(recorded.value_and_jacobian_many(&points)) {
            assert_eq!(bits(&values), bits(&recorded.value(x)), "at {}", x[0]);
            assert_eq!(bits(&many), bits(&jacobian(x.clone(), g)), "at {}", x[0]);
        }
    }
}

#[test]
fn threads_do_not_change_the_bits() {
    let f = |[x, y]: [Var; 2]| (x * y).sin() + if x < y { x.exp() } else { y };
    let points: Vec<[f64; 2]> = (0..20_000).map(|k| [0.0001 * f64::from(k), 1.5]).collect();
    let runs: Vec<Vec<[f64; 2]>> = [1, 2, 5]
        .iter()
        .map(|&threads| {
            wengert::set_threads(threads);
            record([0.5, 1.0], f).grad_many(&points)
        })
        .collect();
    assert!(runs.iter().all(|run| bits(run) == bits(&runs[0])));
    for k in [0, 7, 14_999, 15_000, 15_001, 19_999] {
        close(&format!("point {k}"), &runs[0][k], &grad(points[k], f));
    }
}

/// A function that keeps nothing: constants, inputs and one number twice as results.
#[test]
fn results_that_are_not_computed() {
    let f = record([1.0, 2.0], |[x, y]: [Var; 2]| ([x, lift(3.0), x], [y * x, y * x]));
    for _ in 0..3 {
        assert_eq!(f.value([5.0, 2.0]), ([5.0, 3.0, 5.0], [10.0, 10.0]));
        let rows = f.jacobian([5.0, 2.0]);
        assert_eq!(rows, ([[1.0, 0.0], [0.0, 0.0], [1.0, 0.0]], [[2.0, 5.0], [2.0, 5.0]]));
    }
    assert_eq!(f.value_many(&[[5.0, 2.0]; 3])[2], ([5.0, 3.0, 5.0], [10.0, 10.0]));
}

/// Data is not differentiated by any driver, whatever its factors.
mod data {
    use super::*;

    fn f((x, Const(c)): ([Var; 2], Const<Var>)) -> Var {
        x[0] * x[1] * c + c.sqrt() * x[0].exp()
    }

    const POINT: ([f64; 2], Const<f64>) = ([0.5, 2.0], Const(0.0));

    #[test]
    fn drivers_of_numbers() {
        let (g, h) = (grad(POINT, f), hessian(POINT, f));
        assert_eq!(g, ([0.0, 0.0], Const(0.0)));
        assert_eq!(h.0[0], ([0.0, 0.0], Const(0.0)));
        assert_eq!(h.1, Const(([0.0, 0.0], Const(0.0))));
        // The derivative by c is infinite at 0: a tangent of c has no effect all the same.
        assert_eq!(jvp(POINT, ([1.0, 1.0], Const(5.0)), f), (0.0, 0.0));
        let at = ([0.5, 2.0], Const(4.0));
        let e = 0.5f64.exp();
        assert_eq!(grad(at, f), ([8.0 + 2.0 * e, 2.0], Const(0.0)));
        assert_eq!(hvp(at, ([1.0, 0.0], Const(1.0)), f), ([2.0 * e, 4.0], Const(0.0)));
    }

    #[test]
    fn recorded_functions_take_it_with_every_point() {
        let recorded = record(([1.0, 1.0], Const(1.0)), f);
        let points: Vec<_> = (0..20).map(|k| ([0.5, 2.0], Const(f64::from(k)))).collect();
        let many = recorded.grad_many(&points);
        for (point, many) in points.iter().zip(&many) {
            close("gradient", many, &grad(*point, f));
            assert_eq!(many.1, Const(0.0));
            asked("gradient", &grad(*point, f), || recorded.grad(*point));
        }
        let hessians = recorded.hessian_many(&points);
        assert!(hessians.iter().all(|h| h.1 == Const(([0.0, 0.0], Const(0.0)))));
    }

    #[test]
    fn tensors() {
        let (w, x) = (Tensor::from([1.0, 2.0]), Tensor::from([3.0, 4.0]));
        let loss = |(w, Const(x)): (Tensor, Const<Tensor>)| (&w * &x * &x).sum();
        let (gw, Const(gx)) = grad((&w, Const(&x)), |(w, c)| loss((w, c)));
        assert_eq!((gw.to_vec(), gx.to_vec()), (vec![9.0, 16.0], vec![0.0, 0.0]));
    }

    #[derive(Tree, Clone, Debug, PartialEq)]
    struct Model<R> {
        slope: R,
        measured: Const<[R; 2]>,
    }

    #[test]
    fn fields_of_structs() {
        let at = Model { slope: 2.0, measured: Const([3.0, 7.0]) };
        let residual = |m: Model<Var>| (m.slope * m.measured.0[0] - m.measured.0[1]).square();
        let wanted = Model { slope: -6.0, measured: Const([0.0, 0.0]) };
        assert_eq!(grad(at.clone(), residual), wanted);
        let recorded = record(at.clone(), residual);
        assert_eq!(recorded.grad_many(&[at.clone(), at]), [wanted.clone(), wanted]);
    }

    /// A tree by hand that says nothing about data.
    struct ByHand(f64, Const<f64>);

    impl Tree for ByHand {
        type Leaf = f64;
        type Vars = (Var, Var);
        type Grad = (f64, f64);
        type Each<U> = (U, U);
        type Form = wengert::Several;
        fn size(&self) -> usize {
            2
        }
        fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) {
            visit(self.0);
            self.1.for_each_leaf(visit);
        }
        fn vars(&self, lift: &mut impl FnMut(f64) -> Var) -> (Var, Var) {
            let x = lift(self.0);
            (x, self.1.vars(lift).0)
        }
        fn grad(&self, next: &mut impl FnMut() -> f64) -> (f64, f64) {
            (next(), next())
        }
        fn each<U>(&self, next: &mut impl FnMut() -> U) -> (U, U) {
            (next(), next())
        }
    }

    #[test]
    fn trees_by_hand() {
        assert_eq!(grad(ByHand(3.0, Const(5.0)), |(x, c)| x * x * c), (30.0, 0.0));
    }
}
