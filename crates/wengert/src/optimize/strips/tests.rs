//! Programs in strips against the same Programs whole, by the definitions of their operations: with few lanes, so that strips
//! have two or three, and a rest.

use super::super::short::write_all_out;
use super::super::{Config, optimized};
use super::Lanes;
use super::emit::emitted;
use super::group::{Group, Place};
use crate::array::{Array, DType};
use crate::control::{Scan, fori, scan};
use crate::functional::{checkpoint, to_program, vmap};
use crate::prelude::*;
use crate::primitives::Op;
use crate::program::Program;
use crate::tensor::Tensor;

/// The lanes of all functions here.
const COUNT: usize = 7;

fn lanes(shape: &[usize], phase: f64) -> Tensor {
    let count = shape.iter().product::<usize>();
    Tensor::from_array(Array::new(shape, (0..count).map(|i| (i as f64 * 0.7 + phase).sin()).collect::<Vec<f64>>()))
}

/// The Program as it is before its loops are taken in strips.
fn written_out(program: &Program) -> Program {
    optimized(write_all_out(program.clone()), &Config::default())
}

fn loops(program: &Program) -> usize {
    program.eqns().iter().filter(|eqn| matches!(eqn.op, Op::Scan(_))).count()
}

/// The Program in strips of this length; `None` if nothing is taken in strips.
fn in_strips(program: &Program, strip: usize) -> Option<Program> {
    let group = Group::of(program, Lanes { count: COUNT, strip })?;
    let strips = emitted(program, &group).expect("a group has a form in strips");
    strips.verify().expect("it is a Program");
    Some(strips)
}

/// That no loop of a Program is left outside of the one over strips of this length.
#[track_caller]
fn check_all_inside(program: &Program, strips: &Program, strip: usize) {
    let of_rest = if COUNT.is_multiple_of(strip) { 0 } else { loops(program) };
    assert_eq!(loops(strips) - of_rest, 1, "{strips}");
}

/// Value and gradient of a function, whole and in strips.
#[track_caller]
fn check<const N: usize>(what: &str, at: &[Tensor; N], f: impl Fn([Tensor; N]) -> Tensor) {
    let (program, captures) = to_program(at, |at: [Tensor; N]| value_and_grad(&at, &f));
    let program = written_out(&program);
    let inputs: Vec<Array> = at.iter().chain(&captures).map(Tensor::to_array).collect();
    for strip in [1, 2, 3, COUNT] {
        let strips = agrees(what, &program, &inputs, strip);
        check_all_inside(&program, &strips, strip);
    }
}

/// A Program in strips, whose results are those of the whole.
#[track_caller]
fn agrees(what: &str, program: &Program, inputs: &[Array], strip: usize) -> Program {
    let wanted = program.run_reference(inputs).unwrap();
    let strips = in_strips(program, strip).unwrap_or_else(|| panic!("{what} is not taken in strips:\n{program}"));
    let got = strips.run_reference(inputs).unwrap_or_else(|error| panic!("{what}: {error}\n{strips}"));
    for (got, wanted) in got.iter().zip(&wanted) {
        assert_eq!((got.shape(), got.dtype()), (wanted.shape(), wanted.dtype()), "{what}");
        let tolerance = if got.dtype() == DType::F32 { 1e-5 } else { 1e-12 };
        for (got, wanted) in got.to_f64().into_iter().zip(wanted.to_f64()) {
            let near = (got - wanted).abs() <= tolerance * wanted.abs().max(1.0);
            assert!(near, "{what} in strips of {strip}: {got} instead of {wanted}\n{strips}");
        }
    }
    strips
}

#[test]
fn paths_of_a_simulation() {
    let z = lanes(&[5, COUNT], 0.3);
    let at = [Tensor::from(1.1), Tensor::from(0.2)];
    check("an average over paths", &at, |[price, width]| {
        let step = |(s, sum): (Tensor, Tensor), z: Tensor| {
            let s = s * (&width * z - width.square() * 0.5).exp();
            ((s.clone(), sum + s), ())
        };
        let start = (price.broadcast_to(&[COUNT]), Tensor::zeros(&[COUNT]));
        let ((_, sum), ()) = scan(start, &z, step);
        (-&width).exp() * (sum - 4.0).maximum(0.0).mean()
    });
}

#[test]
fn states_with_other_axes() {
    let (x, w) = (lanes(&[4, 2, COUNT], 0.1), lanes(&[3, 2], 0.5));
    let at = [lanes(&[COUNT, 3], 0.9), w];
    check("lanes in the middle and in front", &at, |[start, w]| {
        let step = |c: Tensor, x: Tensor| {
            let y = c.matmul(&w) + x.t();
            let c = (y.matmul(&w.t()) * 0.3).tanh() + &c * 0.5;
            (c.clone(), y.square().sum_over(1))
        };
        let (last, all) = scan(&start, &x, step);
        last.square().sum() + (all.t() * 0.1).exp().sum() * 2.0
    });
}

#[test]
fn results_with_lanes_are_put_together() {
    let at = [lanes(&[COUNT], 0.2), lanes(&[4, COUNT], 0.7), lanes(&[2, COUNT, 2], 0.4)];
    check("gradients with lanes", &at, |[start, x, y]| {
        let step = |(c, d): (Tensor, Tensor), x: Tensor| {
            let c = (c * 0.9 + x.sin()) * &start;
            let d = d * c.reshape(&[1, COUNT as isize, 1]);
            ((c, d.clone()), d.sum_over([0, 2]))
        };
        let ((c, d), all) = Scan::new().reverse().run((&start, &y), &x, step);
        c.sum() + d.square().mean() + all.cos().sum()
    });
}

#[test]
fn sums_over_lanes_that_are_carried() {
    // A sum that begins with a number and decays, of what all lanes have; and a time, which all strips know.
    let at = [lanes(&[COUNT], 0.2), Tensor::from(0.7)];
    check("a sum with a start", &at, |[start, a]| {
        let (_, sum, time) = fori(0..4, (&start, &a, Tensor::from(0.5)), |_, (c, sum, time)| {
            let c = (c * &a + &time).sin();
            (c.clone(), sum * 0.9 + c.sum(), time + 0.25)
        });
        sum * time
    });
}

#[test]
fn a_carried_sum_times_what_may_be_infinite_stays_whole() {
    // Other strips than the first begin with a 0 that nobody wrote.
    let taken = |f: &dyn Fn([Tensor; 2]) -> Tensor, factor: f64| {
        let (program, captures) = to_program(&[lanes(&[COUNT], 0.2), Tensor::from(factor)], |at: [Tensor; 2]| f(at));
        let program = written_out(&program);
        let inputs: Vec<Array> =
            [lanes(&[COUNT], 0.2), Tensor::from(factor)].iter().chain(&captures).map(Tensor::to_array).collect();
        let strips = in_strips(&program, 2);
        if let Some(strips) = &strips {
            let [got, wanted] = [strips, &program].map(|program| program.run_reference(&inputs).unwrap()[0].to_f64());
            let same = |(got, wanted): (&f64, &f64)| got == wanted || (got - wanted).abs() < 1e-12 * wanted.abs();
            assert!(got.iter().zip(&wanted).all(same), "{got:?} instead of {wanted:?}\n{strips}");
        }
        strips.is_some()
    };
    let by = |factor: fn(&Tensor, &Tensor) -> Tensor| {
        move |[start, a]: [Tensor; 2]| {
            fori(0..4, (&start, Tensor::from(5.0)), |_, (c, sum)| {
                let c = c.sin();
                (c.clone(), factor(&sum, &a) + c.sum())
            })
            .1
        }
    };
    assert!(!taken(&by(|sum, a| sum * a), f64::INFINITY));
    assert!(!taken(&by(|sum, a| sum / a), 0.0));
    assert!(!taken(&by(|sum, _| sum * 1e200), 1.0));
    assert!(!taken(&by(|sum, _| sum * -f64::INFINITY), 1.0));
    assert!(!taken(&by(|sum, _| sum / 0.5), 1.0));
    assert!(taken(&by(|sum, _| sum * -1.0), 1.0));
    assert!(taken(&by(|sum, _| -sum * 0.5), 1.0));
    assert!(taken(&by(|sum, _| sum / 2.0), 1.0));
}

#[test]
fn loops_in_loops_and_steps_that_are_computed_again() {
    let at = [lanes(&[COUNT], 0.2), Tensor::from(0.7)];
    let inner = |c: Tensor, a: &Tensor| fori(0..3, c, |i, c| &c + (a * i.to_f64()).cos() * 0.1 * &c);
    check("a loop in a loop", &at, |[start, a]| fori(0..2, &start, |_, c| inner(c, &a).sin()).sum());
    check("a step that is computed again", &at, |[start, a]| {
        fori(0..3, &start, |_, c| checkpoint((&c, &a), |(c, a)| (c * a).sin() * 1.1)).square().sum()
    });
    check("a loop that is computed again", &at, |[start, a]| {
        checkpoint((&start, &a), |(start, a)| fori(0..3, &start, |_, c| (c * &a).sin() * 1.1)).square().sum()
    });
}

#[test]
fn second_derivatives_and_loops_under_vmap() {
    let at = [lanes(&[COUNT], 0.2), lanes(&[3], 0.7)];
    let f = |[start, a]: [Tensor; 2]| fori(0..3, &start, |_, c| (c * a.sum() + a.square().sum()).sin()).sum();
    let (program, captures) = to_program(&at, |at: [Tensor; 2]| {
        let curved = |[x, a]: [Tensor; 2]| grad(&[x, a], f)[0].square().sum();
        grad(&at, curved)
    });
    let inputs: Vec<Array> = at.iter().chain(&captures).map(Tensor::to_array).collect();
    agrees("a gradient of a gradient", &written_out(&program), &inputs, 3);
    check("every lane an example", &at, |[start, a]| {
        vmap(&start, |c| fori(0..3, &c, |_, c| (c * &a).sin().sum())).square().mean()
    });
}

#[test]
fn what_mixes_lanes_stays_whole() {
    let mixing = |f: &dyn Fn(Tensor) -> Tensor| {
        let (program, _) = to_program(lanes(&[COUNT], 0.1), |x: Tensor| value_and_grad(&x, f));
        let program = written_out(&program);
        Group::of(&program, Lanes { count: COUNT, strip: 2 }).map(|group| {
            group
                .places
                .iter()
                .zip(program.eqns())
                .filter(|(at, eqn)| **at == Place::Inside && matches!(eqn.op, Op::Scan(_)))
                .count()
        })
    };
    let neighbours = |x: Tensor| fori(0..3, &x, |_, c| (c.roll(1, 0) * &c).sin()).sum();
    assert_eq!(mixing(&neighbours), None);
    let sums = |x: Tensor| fori(0..3, &x, |_, c| (&c - c.mean()).sin()).sum();
    assert_eq!(mixing(&sums), None);
    let matrix = |x: Tensor| {
        let w = lanes(&[COUNT, COUNT], 0.3);
        fori(0..3, &x, |_, c| w.matmul(&c).tanh()).sum()
    };
    assert_eq!(mixing(&matrix), None);
    // A running sum counts over steps, which are as many as lanes.
    let steps = |x: Tensor| scan(Tensor::from(0.0), &x, |c, x| ((c + x).sin(), ())).0;
    assert_eq!(mixing(&steps), None);
}

#[test]
fn what_needs_a_sum_over_all_lanes_stands_behind() {
    let at = lanes(&[COUNT], 0.1);
    let f = |x: Tensor| {
        let c = fori(0..3, &x, |_, c| (c * 1.1).sin());
        // The second loop begins when the mean of the first one is known.
        fori(0..2, &c - c.mean(), |_, c| (c * 1.2).cos()).sum()
    };
    let (program, captures) = to_program(&at, |x| value_and_grad(&x, f));
    let program = written_out(&program);
    let inputs: Vec<Array> = [&at].into_iter().chain(&captures).map(Tensor::to_array).collect();
    let strips = agrees("two loops", &program, &inputs, 3);
    assert!(loops(&strips) > 2, "{strips}");
}

#[test]
fn numbers_of_other_types_have_lanes() {
    let at = lanes(&[COUNT], 0.2).to_f32();
    let (program, captures) = to_program(&at, |x: Tensor| {
        let k = Tensor::from_array(Array::new(&[COUNT], (0..COUNT as i64).collect::<Vec<i64>>()));
        let (c, count) = fori(0..4, (&x, &k), |i, (c, k)| {
            let odd = (&k + &i).eq(2);
            (odd.where_(&c * 0.5, (&c * 1.5).sin()), k + 1)
        });
        (c.sum(), count.sum(), count.max())
    });
    // The largest of all lanes needs them together.
    let program = written_out(&program);
    let inputs: Vec<Array> = [&at].into_iter().chain(&captures).map(Tensor::to_array).collect();
    agrees("lanes of other types", &program, &inputs, 2);
}
