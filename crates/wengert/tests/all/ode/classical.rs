//! Steps of equal length: the order of the method, and its derivatives as those of the same steps by hand.

use wengert::Ode;
use wengert::prelude::*;

use crate::implicit::near;

#[test]
fn half_the_length_leaves_a_sixteenth_of_the_error() {
    let exact = (-(1.0f64.sin())).exp();
    let error = |steps: usize| {
        let y = Ode::new().rk4(steps).run(&Tensor::from(1.0), &Tensor::from([0.0, 1.0]), |t, y| -(t.cos() * y));
        y.slice(1).item() - exact
    };
    for steps in [8, 16, 32] {
        let order = (error(steps) / error(2 * steps)).log2();
        assert!((order - 4.0).abs() < 0.15, "{order} at {steps}");
    }
}

#[test]
fn it_is_the_same_as_steps_by_hand() {
    let times = [0.0, 0.5, 1.5];
    let w = Tensor::from([0.8, -0.3]);
    let field = |t: &Tensor, y: &Tensor, w: &Tensor| (w * y).sin() + t * y.roll(1, 0);
    let by_hand = |w: &Tensor| {
        let mut y = w.exp();
        let mut rows = vec![y.clone()];
        for pair in times.windows(2) {
            let h = (pair[1] - pair[0]) / 3.0;
            for k in 0..3 {
                let t = pair[0] + k as f64 * h;
                let at = |t: f64, y: &Tensor| field(&Tensor::from(t), y, w);
                let k1 = at(t, &y);
                let k2 = at(t + h / 2.0, &(&y + &k1 * (h / 2.0)));
                let k3 = at(t + h / 2.0, &(&y + &k2 * (h / 2.0)));
                let k4 = at(t + h, &(&y + &k3 * h));
                y = &y + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0);
            }
            rows.push(y.clone());
        }
        Tensor::stack(&rows.iter().collect::<Vec<&Tensor>>(), 0)
    };
    let solved = |w: &Tensor| Ode::new().rk4(3).run(w.exp(), &Tensor::from(times), |t, y| field(&t, &y, w));
    near("values", &solved(&w), &by_hand(&w), 1e-14);
    let loss = |y: Tensor| y.square().sum();
    near("gradients", &grad(&w, |w| loss(solved(&w))), &grad(&w, |w| loss(by_hand(&w))), 1e-12);
    let direction = Tensor::from([1.0, -2.0]);
    near("second", &hvp(&w, &direction, |w| loss(solved(&w))), &hvp(&w, &direction, |w| loss(by_hand(&w))), 1e-11);
}
