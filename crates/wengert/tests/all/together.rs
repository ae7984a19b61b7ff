//! Values with their derivatives: each driver that gives several things gives what the drivers of one thing give, from one run and
//! from no more operations.

use std::cell::Cell;

use wengert::prelude::*;

fn f([x, y, z]: [Var; 3]) -> (Var, [Var; 2]) {
    let w = (x * y).sin() + z / x;
    // An output that is an input, and one that depends on nothing.
    (w.exp() * y, [z, lift(2.5)])
}

fn loss(x: [Var; 3]) -> Var {
    let (a, [b, c]) = f(x);
    a * b + (a - c).square() * x[0]
}

const POINTS: [[f64; 3]; 3] = [[0.7, -1.2, 0.4], [1.5, 0.3, -2.0], [-0.6, 0.9, 1.1]];
const V: [f64; 3] = [0.3, -1.0, 0.8];

#[test]
fn numbers_agree_with_the_drivers_of_one_thing() {
    let (functions, losses) = (record(POINTS[0], f), record(POINTS[0], loss));
    // A recorded function sweeps at the first call, and is code from the second on.
    for x in POINTS {
        let (y, j) = (record(x, f).value(x), jacobian(x, f));
        assert_eq!(value_and_jacobian(x, f), (y, j));
        assert_eq!(functions.value_and_jacobian(x), (functions.value(x), functions.jacobian(x)));
        assert_eq!(value_and_jvp(x, V, f), jvp(x, V, f));
        assert_eq!(functions.value_and_jvp(x, V), functions.jvp(x, V));
        let ct = (0.5, [-1.0, 2.0]);
        assert_eq!(functions.value_and_vjp(x, ct), (functions.value(x), functions.vjp(x, ct)));

        let (v, g) = value_and_grad(x, loss);
        let wants = (v, g, hessian(x, loss));
        assert_eq!(value_grad_and_hessian(x, loss), wants);
        assert_eq!(value_grad_and_hvp(x, V, loss), (v, g, hvp(x, V, loss)));
        let (v, g) = losses.value_and_grad(x);
        assert_eq!(losses.value_grad_and_hessian(x), (v, g, losses.hessian(x)));
        assert_eq!(losses.value_grad_and_hvp(x, V), (v, g, losses.hvp(x, V)));
    }
}

/// At variables of an outer driver, which differentiates all that comes out; free and recorded.
#[test]
fn numbers_nest() {
    let losses = record(POINTS[0], loss);
    let weigh = |v: Var, g: [Var; 3], h: [[Var; 3]; 3]| {
        let rows =
            h.iter().enumerate().map(|(k, row)| row[0] * 0.5 + row[1] * f64::from(k as u8) - row[2]).sum::<Var>();
        v * 0.7 + g[0] - g[1] * 2.0 + g[2] * v + rows
    };
    for x in POINTS {
        let apart = grad(x, |x| weigh(losses.value(x), grad(x, loss), hessian(x, loss)));
        let free = grad(x, |x| {
            let (v, g, h) = value_grad_and_hessian(x, loss);
            weigh(v, g, h)
        });
        let recorded = grad(x, |x| {
            let (v, g, h) = losses.value_grad_and_hessian(x);
            weigh(v, g, h)
        });
        let product = |x: [Var; 3]| {
            let (v, g, hv) = value_grad_and_hvp(x, V.map(lift), loss);
            weigh(v, g, [hv; 3])
        };
        let products = |x: [Var; 3]| weigh(losses.value(x), grad(x, loss), [hvp(x, V.map(lift), loss); 3]);
        near(&free, &apart);
        near(&recorded, &apart);
        near(&grad(x, product), &grad(x, products));
        let squares = |(y, [z, w]): (Var, [Var; 2]), (a, [b, _]): (Var, [Var; 2])| y * a + (z - b) * w;
        let column = |x: [Var; 3]| {
            let (y, (row, rows)) = value_and_jacobian(x, f);
            squares(y, (row[1], [rows[0][2], rows[1][0]]))
        };
        let by_product = |x: [Var; 3]| {
            let y = jvp(x, [0.0, 1.0, 0.0].map(lift), f);
            squares(y.0, (y.1.0, [lift(1.0), lift(0.0)]))
        };
        near(&grad(x, column), &grad(x, by_product));
    }
}

fn near(got: &[f64; 3], want: &[f64; 3]) {
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{got:?} instead of {want:?}");
    }
}

/// A plain number that depends on an outer variable is refused, as of other drivers; the derivative alone need not.
#[test]
fn a_value_that_depends_on_an_outer_variable_is_refused() {
    assert_eq!(grad(2.0, |c| c * jacobian(3.0, |y| [y * y + c])[0]), 6.0);
    let taken = std::panic::catch_unwind(|| grad(2.0, |c| c * value_and_jacobian(3.0, |y| [y * y + c]).1[0]));
    let message = *taken.unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("is a plain f64, but it depends on a Var"), "{message}");
}

#[test]
fn a_flipped_guard_and_shapes_of_nothing() {
    let branch = |[x, y]: [Var; 2]| if x > y { x * x * y } else { y.exp() };
    let recorded = record([2.0, 1.0], branch);
    for x in [[2.0, 1.0], [1.0, 2.0], [3.0, 1.0], [0.0, 0.5]] {
        let (v, g) = value_and_grad(x, branch);
        assert_eq!(recorded.value_grad_and_hessian(x), (v, g, hessian(x, branch)));
        assert_eq!(recorded.value_and_jacobian(x), (v, g));
    }
    assert_eq!(recorded.recordings(), 2);
    let none: [f64; 0] = [];
    assert_eq!(value_grad_and_hessian(none, |_| lift(3.0)), (3.0, [], []));
    assert_eq!(value_and_jacobian(2.0, |_| [(); 0].map(|()| lift(0.0))), ([], []));
    assert_eq!(value_and_jacobian(none, |_| [lift(1.0), lift(2.0)]), ([1.0, 2.0], [[], []]));
    let f = record(none, |_| (lift(4.0), lift(5.0)));
    assert_eq!(f.value_and_jacobian_many(&[none; 3]), [((4.0, 5.0), ([], [])); 3]);
}

#[test]
#[should_panic(expected = "`value_grad_and_hvp`: the vector has 2 numbers where 3 are needed")]
fn a_vector_of_another_size_is_refused() {
    value_grad_and_hvp(POINTS[0], [1.0, 2.0], loss);
}

#[test]
fn the_function_runs_once() {
    let runs = Cell::new(0);
    let count = |x: [Var; 3]| {
        runs.set(runs.get() + 1);
        loss(x)
    };
    value_grad_and_hessian(POINTS[0], count);
    value_grad_and_hvp(POINTS[0], V, count);
    value_and_jacobian(POINTS[0], |x| [count(x)]);
    assert_eq!(runs.get(), 3);
}

/// A recorded function holds nothing of the point, whether that was moved or lent; so it can leave the place where that lives.
#[test]
fn a_function_is_recorded_at_a_reference() {
    type Point = (Vec<f64>, [f64; 2]);
    fn recorded() -> wengert::Recorded<Point, Var, impl Fn(<Point as Tree>::Vars) -> Var> {
        let point = (vec![1.0, 2.0, 3.0], [0.5, 0.25]);
        record(&point, |(x, [a, b])| x.iter().map(|&x| a * x * x).sum::<Var>() * b)
    }
    let f = recorded();
    let at = (vec![2.0, 0.0, 1.0], [3.0, 2.0]);
    assert_eq!(f.value(&at), 30.0);
    assert_eq!(f.grad(at), (vec![24.0, 0.0, 12.0], [10.0, 15.0]));
    let slice: &[f64] = &[1.0, 2.0];
    assert_eq!(record(slice, |x| x[0] * x[1]).grad(vec![3.0, 4.0]), [4.0, 3.0]);
}

mod tensors {
    use std::collections::HashMap;

    use wengert::prelude::*;
    use wengert::{DType, Program, to_program};

    fn x() -> Tensor {
        Tensor::from([[0.1, -0.4, 0.3], [0.7, 0.2, -0.5]])
    }

    fn f(x: &Tensor) -> Tensor {
        (x * x.sum_over(0)).sin().slice(0) + x.exp().slice(1)
    }

    fn loss(x: Tensor) -> Tensor {
        (f(&x) * x.square().slice(1)).sum() / (x.square().sum() + 1.0)
    }

    fn same(what: &str, got: &Tensor, want: &Tensor) {
        assert_eq!(got.ty(), want.ty(), "{what}");
        for (got, want) in got.to_vec().iter().zip(want.to_vec()) {
            assert!((got - want).abs() <= 1e-14 * want.abs().max(1.0), "{what}: {got} instead of {want}");
        }
    }

    #[test]
    fn one_tensor_gives_tensors() {
        for dtype in [DType::F64, DType::F32] {
            let x = x().convert(dtype);
            let v = x.cos();
            let f = |x: Tensor| f(&x);
            let j: Tensor = jacobian(&x, f);
            assert_eq!((j.shape(), j.dtype()), (&[3, 2, 3][..], dtype));
            let (y, together) = value_and_jacobian(&x, f);
            same("value", &y, &f(x.clone()));
            same("jacobian", &together, &j);
            let h: Tensor = hessian(&x, loss);
            assert_eq!((h.shape(), h.dtype()), (&[2, 3, 2, 3][..], dtype));
            let (value, gradient) = value_and_grad(&x, loss);
            let all = value_grad_and_hessian(&x, loss);
            let products = value_grad_and_hvp(&x, &v, loss);
            for (got, got_again, want) in [(&all.0, &products.0, &value), (&all.1, &products.1, &gradient)] {
                same("lower orders", got, want);
                same("lower orders", got_again, want);
            }
            same("hessian", &all.2, &h);
            same("product", &products.2, &hvp(&x, &v, loss));
            assert_eq!(value_and_jvp(&x, &v, f).1.to_vec(), jvp(&x, &v, f).1.to_vec());
            // A gradient by a Jacobian: one tensor again, and the Hessian.
            same("jacobian of the gradient", &jacobian(&x, |x| grad(&x, loss)), &h);
        }
    }

    #[test]
    fn several_give_blocks() {
        let (a, b) = (x(), Tensor::from(0.5));
        let g = |(a, b): (Tensor, Tensor)| (f(&(&a * &b)), a.sum() * b);
        let (y, j) = value_and_jacobian((&a, &b), g);
        let want = g((a.clone(), b.clone()));
        same("first", &y.0, &want.0);
        same("second", &y.1, &want.1);
        assert_eq!(j.dense().to_vec(), jacobian((&a, &b), g).dense().to_vec());
        assert_eq!(j.block(0, 0).shape(), [3, 2, 3]);
        // A point of several and a result of one, a point of one and a result of several, and lists of one.
        assert_eq!(jacobian((&a, &b), |p| g(p).1).count(), (1, 2));
        assert_eq!(jacobian(&a, |a| [a.sum(), a.max()]).count(), (2, 1));
        assert_eq!(jacobian([&a], |[a]| a.sum()).count(), (1, 1));
        assert_eq!(jacobian(&a, |a| (a.sum(),)).count(), (1, 1));
        let (value, gradient, h) = value_grad_and_hessian(vec![&a, &b], |p| loss(&p[0] * &p[1]));
        let (want, slopes) = value_and_grad(vec![&a, &b], |p| loss(&p[0] * &p[1]));
        same("value", &value, &want);
        gradient.iter().zip(&slopes).for_each(|(got, want)| same("gradient", got, want));
        assert_eq!(h.dense().to_vec(), hessian(vec![&a, &b], |p| loss(&p[0] * &p[1])).dense().to_vec());
    }

    #[test]
    fn they_nest_and_map_and_compile() {
        let g = |x: &Tensor| {
            let (v, g, h) = value_grad_and_hessian(x, loss);
            v * g.square().sum() + h.sin().sum()
        };
        let apart = |x: &Tensor| loss(x.clone()) * grad(x, loss).square().sum() + hessian(x, loss).sin().sum();
        same("gradient", &grad(&x(), |x| g(&x)), &grad(&x(), |x| apart(&x)));
        let many = Tensor::stack(&[&x(), &(x() * 2.0)], 0);
        let (y, j) = vmap(&many, |x| value_and_jacobian(&x, |x| f(&x)));
        let compiled = compile(|x: Tensor| value_and_jacobian(&x, |x| f(&x)));
        for k in 0..2 {
            let (want, slopes) = value_and_jacobian(&many.slice(k), |x| f(&x));
            same("mapped", &y.slice(k), &want);
            same("mapped", &j.slice(k), &slopes);
            let (y, j) = compiled.call(many.slice(k));
            same("compiled", &y, &want);
            same("compiled", &j, &slopes);
        }
    }

    /// Functions and how often each is computed, after optimisation.
    fn counts(program: &Program) -> HashMap<String, usize> {
        let mut counts = HashMap::new();
        for eqn in program.optimize().eqns() {
            if ["sin", "cos", "exp", "mul", "div", "tanh"].contains(&&*eqn.op.name()) {
                *counts.entry(eqn.op.name().into_owned()).or_default() += 1;
            }
        }
        counts
    }

    #[test]
    fn a_value_costs_no_second_sweep() {
        let f = |x: Tensor| x.exp() * x.tanh();
        let alone = counts(&to_program(x(), |x| jacobian(&x, f)).0);
        let together = counts(&to_program(x(), |x| value_and_jacobian(&x, f)).0);
        // The value is one product of what the derivative computes anyway.
        assert_eq!((alone["exp"], alone["tanh"]), (1, 1));
        assert_eq!((together["exp"], together["tanh"]), (1, 1));
        assert!(together["mul"] <= alone["mul"] + 1, "{together:?} and {alone:?}");
        let loss = |x: Tensor| f(x).sum();
        let alone = counts(&to_program(x(), |x| hessian(&x, loss)).0);
        let together = counts(&to_program(x(), |x| value_grad_and_hessian(&x, loss)).0);
        assert_eq!((together["exp"], together["tanh"]), (alone["exp"], alone["tanh"]));
        // The value, and the sum of two products that is the gradient.
        assert!(together["mul"] <= alone["mul"] + 4, "{together:?} and {alone:?}");
    }
}
