//! Changes of a part that depend on a condition: they stay changes of the part, in every derivative.

use wengert::prelude::*;
use wengert::{compile, fori, vmap};

use super::{near, numbers, rows};

/// Which elements are changed, and which of the branches does it.
#[derive(Clone, Copy, Debug)]
enum Chosen {
    ByOne,
    ByOneOtherwise,
    ByElement,
    Always,
}

/// `p[i + 1], p[i + 2] = sin(p[i]) x, p[i] + x`, where the sum, or each of the two, is small enough.
fn filled(chosen: Chosen, count: usize, x: &Tensor) -> Tensor {
    let start = Tensor::concat(&[&x.reshape(&[1]), &(x * numbers(4, count + 1))], 0);
    fori(0..count as i64, start, |i, p| {
        let at = i.reshape(&[1]);
        let before = p.dynamic_slice(&at, &[1]);
        let next = Tensor::concat(&[&(before.sin() * x), &(before + x)], 0);
        let changed = p.dynamic_update_slice(&next, &(at + 1i64));
        let one = next.sum().lt(1.0);
        match chosen {
            Chosen::ByOne => one.where_(changed, &p),
            Chosen::ByOneOtherwise => one.where_(&p, changed),
            Chosen::ByElement => p.lt(0.2).where_(changed, &p),
            Chosen::Always => changed,
        }
    })
    .sum()
}

fn unrolled(chosen: Chosen, count: usize, x: &Tensor) -> Tensor {
    let mut p = rows(&Tensor::concat(&[&x.reshape(&[1]), &(x * numbers(4, count + 1))], 0));
    for i in 0..count {
        let next = [p[i].sin() * x, &p[i] + x];
        let small = (&next[0] + &next[1]).lt(1.0).test();
        for (k, next) in next.into_iter().enumerate() {
            let old = &mut p[i + 1 + k];
            let changes = match chosen {
                Chosen::ByOne => small,
                Chosen::ByOneOtherwise => !small,
                Chosen::ByElement => old.lt(0.2).test(),
                Chosen::Always => true,
            };
            if changes {
                *old = next;
            }
        }
    }
    super::total(p)
}

#[test]
fn a_change_that_is_chosen_has_the_derivatives_of_its_steps() {
    for chosen in [Chosen::ByOne, Chosen::ByOneOtherwise, Chosen::ByElement, Chosen::Always] {
        let xs = Tensor::from([0.3, 0.62, -0.8]);
        let gradients: Vec<Tensor> = rows(&xs).iter().map(|x| grad(x, |x| unrolled(chosen, 12, &x))).collect();
        for (x, wanted) in rows(&xs).iter().zip(&gradients) {
            near(&format!("{chosen:?}"), &filled(chosen, 12, x), &unrolled(chosen, 12, x), 64.0);
            near(&format!("{chosen:?}, gradient"), &grad(x, |x| filled(chosen, 12, &x)), wanted, 256.0);
            let second = |f: &dyn Fn(&Tensor) -> Tensor| grad(x, |x| grad(&x, |x| f(&x)).sin());
            let (looped, plain) = (second(&|x| filled(chosen, 12, x)), second(&|x| unrolled(chosen, 12, x)));
            near(&format!("{chosen:?}, second"), &looped, &plain, 1024.0);
        }
        let all = vmap(&xs, |x| grad(&x, |x| filled(chosen, 12, &x)));
        near(&format!("{chosen:?}, examples"), &all, &Tensor::stack(&gradients.iter().collect::<Vec<_>>(), 0), 256.0);
    }
}

/// An array that is not changed in place takes its memory again in every step, and a second one for the next step.
#[test]
fn a_change_that_is_chosen_is_made_in_place() {
    let peak = |chosen: Chosen| {
        let gradient = compile(move |x: Tensor| value_and_grad(&x, |x| filled(chosen, 20_000, &x)));
        gradient.plan(Tensor::from(0.5)).expect("there is no limit").peak_bytes() as f64
    };
    let plain = peak(Chosen::Always);
    for chosen in [Chosen::ByOne, Chosen::ByOneOtherwise, Chosen::ByElement] {
        // What is kept of a step is more by what it chooses.
        let more = peak(chosen) - plain;
        assert!(more < 20_000.0 * 64.0, "{chosen:?}: {more} bytes more than {plain}");
    }
}
