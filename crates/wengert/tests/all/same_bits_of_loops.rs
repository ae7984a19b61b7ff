//! The bits of loops over a few numbers, which run as straight-line code where nothing is in the way, are those of the same steps as
//! steps of a plan: with an integer carried beside, within a limit of memory, and one step after the other.

use wengert::prelude::*;
use wengert::{Array, Compile, scan, while_loop};

/// Numbers between -1 and 1, and the choices of a random step.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn numbers(&mut self, shape: &[usize]) -> Tensor {
        let count = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|_| self.below(1 << 30) as f64 / f64::from(1 << 29) - 1.0).collect();
        Tensor::from_array(Array::new(shape, numbers))
    }

    /// A step over `h` and `w`, `[n]` and `[n, n]` with `2 <= n <= 7`, to numbers of moderate size.
    fn step(mut self, h: &Tensor, w: &Tensor) -> Tensor {
        let n = h.shape()[0];
        let mut y = h.clone();
        for _ in 0..1 + self.below(3) {
            y = match self.below(14) {
                0 => w.matmul(&y).tanh(),
                // Products of matrices, of a matrix by its own transpose, and by columns.
                1 => w.matmul(&(w * &y)).sum_over(0),
                2 => w.matmul(&w.t()).matmul(&y) * 0.3,
                3 => (w.t().matmul(w) * &y).sum_over(1) * 0.3,
                4 => Tensor::einsum("ij,kj->ki", &[w, &(w * &y)]).matmul(&y) * 0.5,
                // Sums of more than 16 terms, in a row and across.
                5 => (y.expand_dims(0) * y.expand_dims(1) + w).reshape(&[n * n]).sum() * &y * 0.2,
                6 => y.broadcast_to(&[64 / n, n]).sum_over(0) * 0.01 + &y,
                7 => {
                    (y.broadcast_to(&[64 / n, n]) * Tensor::linspace(0.1, 0.7, 64 / n).expand_dims(1)).sum_over(0)
                        * 0.02
                }
                8 => y.sin() + y.cos() * 0.3,
                9 => y.square().exp().log1p().recip() + y.powi(5) * 0.1,
                10 => (y.square() + 0.1).ln() * 0.3 + y.sigmoid(),
                11 => y.atan2(&(y.square() + 0.5)) + y.erf(),
                12 => (y.square() + 0.1).pow(&(y.tanh() + 1.5)),
                _ => (&y / w.square().sum().sqrt()).softplus() - 0.3,
            };
        }
        y
    }
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_vec().into_iter().map(f64::to_bits).collect()
}

const STEPS: usize = 40;

/// What a loop carries in the end and the states on the way, added up.
fn scanned(random: Random, (h, w): (Tensor, Tensor)) -> Tensor {
    let (last, course) = scan(&h, Tensor::zeros(&[STEPS]), |h, _| {
        let next = random.step(&h, &w);
        (next.clone(), next)
    });
    last.sum() + course.square().sum()
}

/// The same with an integer that is carried beside, so that steps are those of a plan.
fn beside(random: Random, (h, w): (Tensor, Tensor)) -> Tensor {
    let start = Tensor::from(3i64);
    let ((last, count), course) = scan((&h, &start), Tensor::zeros(&[STEPS]), |(h, count), _| {
        let next = random.step(&h, &w);
        ((next.clone(), count + 1), next)
    });
    // It counts, or it would not be carried.
    last.sum() + course.square().sum() + count.to_f64() * 0.0
}

/// A loop that ends after as many steps.
fn ended(random: Random, (h, w): (Tensor, Tensor)) -> Tensor {
    while_loop((&h, Tensor::from(0.0)), |(_, k)| k.lt(STEPS as f64), |(h, k)| (random.step(&h, &w), k + 1.0)).0.sum()
}

fn gradients(
    compile: Compile,
    f: impl Fn((Tensor, Tensor)) -> Tensor + Clone + 'static,
    x: &[Tensor; 2],
) -> Option<Vec<Vec<u64>>> {
    let f = compile.function(move |(h, w): (Tensor, Tensor)| value_and_grad((h, w), f.clone()));
    let (value, (h_bar, w_bar)) = f.try_call((&x[0], &x[1])).ok()?;
    Some([value, h_bar, w_bar].iter().map(bits).collect())
}

#[test]
fn what_is_carried_beside_does_not_change_a_bit() {
    for seed in 0..60 {
        let mut random = Random(seed);
        let n = 2 + random.below(6) as usize;
        let x = [random.numbers(&[n]), random.numbers(&[n, n])];
        let alone = gradients(Compile::new(), move |x| scanned(random, x), &x).expect("it fits");
        let found = gradients(Compile::new(), move |x| beside(random, x), &x).expect("it fits");
        assert!(found == alone, "{random:?} of {n}: {found:x?} beside an integer, {alone:x?} without");
    }
}

#[test]
fn steps_in_a_loop_have_the_bits_of_steps_alone() {
    for seed in 100..140 {
        let mut random = Random(seed);
        let n = 2 + random.below(6) as usize;
        let (h, w) = (random.numbers(&[n]), random.numbers(&[n, n]));
        let step = Compile::new().function(move |(h, w): (Tensor, Tensor)| random.step(&h, &w));
        let (_, course) = scan(&h, Tensor::zeros(&[STEPS]), |h, _| {
            let next = random.step(&h, &w);
            (next.clone(), next)
        });
        let mut state = h;
        for k in 0..STEPS as isize {
            state = step.call((&state, &w));
            assert_eq!(bits(&course.slice(k)), bits(&state), "{random:?} of {n}: step {k}");
        }
    }
}

#[test]
fn limits_of_memory_do_not_change_a_bit_of_a_loop() {
    for seed in 200..230 {
        let mut random = Random(seed);
        let n = 2 + random.below(6) as usize;
        let x = [random.numbers(&[n]), random.numbers(&[n, n])];
        let within = |f: fn(Random, (Tensor, Tensor)) -> Tensor| {
            let free = gradients(Compile::new(), move |x| f(random, x), &x).expect("it fits");
            let mut fitted = 0;
            for kibibytes in [4, 8, 16, 32, 64] {
                let compile = Compile::new().threads(1).memory(kibibytes << 10);
                let Some(found) = gradients(compile, move |x| f(random, x), &x) else { continue };
                assert!(
                    found == free,
                    "{random:?} of {n}: within {kibibytes} KiB {found:x?}, {free:x?} without a limit"
                );
                fitted += 1;
            }
            assert!(fitted > 0, "{random:?} of {n}: no limit was enough");
        };
        within(scanned);
        within(ended);
    }
}
