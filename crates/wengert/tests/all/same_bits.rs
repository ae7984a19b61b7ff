//! The bits of results do not tell how they were computed: with what memory, on how many threads, whether arguments were
//! given away, or what was computed twice.

use wengert::prelude::*;
use wengert::{Array, Compile, checkpoint};

/// Numbers that no sum is exact of.
fn numbers(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 30) as f64 - 1.0
    };
    let count = shape.iter().product();
    Tensor::from_array(Array::new(shape, (0..count).map(|_| next()).collect::<Vec<f64>>()))
}

fn bits(x: &Tensor) -> Vec<u64> {
    x.to_vec().into_iter().map(f64::to_bits).collect()
}

/// A random function of two matrices: products, transposed or not, sums along axes, softmax, chains.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// The function: `x`, `w` and every intermediate value are `[n, n]`.
    ///
    /// All layers are one checkpoint, if there is one: with several, what meets in `w` is added up in another order, because
    /// a layer's contributions are one.
    fn function(self, x: &Tensor, w: &Tensor, checkpointed: bool) -> Tensor {
        let layers = move |(x, w): (Tensor, Tensor)| self.layers(x, &w);
        let y = if checkpointed { checkpoint((x, w), layers) } else { layers((x.clone(), w.clone())) };
        y.square().mean()
    }

    fn layers(mut self, mut y: Tensor, w: &Tensor) -> Tensor {
        for _ in 0..3 + self.below(3) {
            y = match self.below(9) {
                0 => y.matmul(w).tanh(),
                1 => y.t().matmul(w).sin(),
                2 => w.matmul(&y.t()) * 0.1,
                3 => y.softmax(-1).matmul(w),
                4 => (&y - y.mean_keep(0)) * (y.square().sum_keep(1) + 1.0).rsqrt(),
                5 => &y * w.sum_keep(0) + y.sum_keep(1),
                6 => y.matmul(&w.sum_keep(1)) * &y * 0.01,
                7 => y.t().tanh().t() + w.square(),
                _ => y.exp().log1p() * w,
            };
        }
        y
    }
}

/// Value and gradients with `options`.
fn gradients(random: Random, options: Compile, x: &Tensor, w: &Tensor, checkpointed: bool) -> Vec<Vec<u64>> {
    let f = options.function(move |(x, w): (Tensor, Tensor)| {
        value_and_grad((&x, &w), |(x, w)| random.function(&x, &w, checkpointed))
    });
    let (value, (x_bar, w_bar)) = f.call((x, w));
    [value, x_bar, w_bar].iter().map(bits).collect()
}

#[test]
fn memory_threads_and_checkpoints_do_not_change_a_bit() {
    // About the thresholds between the ways of products, and one large enough for several parts of everything.
    for (k, n) in [4, 19, 20, 21, 63, 64, 97, 128, 136, 161, 257].into_iter().enumerate() {
        let rounds = if n > 200 { 1 } else { 4 };
        for round in 0..rounds {
            let random = Random(1000 * k as u64 + round);
            let (x, w) = (numbers(&[n, n], random.0 + 1), numbers(&[n, n], random.0 + 2) * 0.3);
            let expected = gradients(random, Compile::new(), &x, &w, false);
            for threads in [2, 3] {
                let found = gradients(random, Compile::new().threads(threads), &x, &w, false);
                assert!(found == expected, "{random:?} of {n}: {threads} threads");
            }
            let found = gradients(random, Compile::new(), &x, &w, true);
            assert!(found == expected, "{random:?} of {n}: with checkpoints");
            // Limits below what is fastest: what is left out is computed again, and copied less.
            let f = Compile::new().function(move |(x, w): (Tensor, Tensor)| {
                value_and_grad((&x, &w), |(x, w)| random.function(&x, &w, false))
            });
            let peak = f.plan((&x, &w)).expect("a plan").peak_bytes();
            for part in [95, 85, 75, 60] {
                let f = Compile::new().memory(peak / 100 * part).function(move |(x, w): (Tensor, Tensor)| {
                    value_and_grad((&x, &w), |(x, w)| random.function(&x, &w, false))
                });
                let Ok((value, (x_bar, w_bar))) = f.try_call((&x, &w)) else { break };
                let found: Vec<Vec<u64>> = [value, x_bar, w_bar].iter().map(bits).collect();
                assert!(found == expected, "{random:?} of {n}: {part} hundredths of {peak} bytes");
            }
        }
    }
}

#[test]
fn giving_arguments_away_does_not_change_a_bit() {
    let f = Compile::new()
        .function(|(x, w): (Tensor, Tensor)| value_and_grad((&x, &w), |(x, w)| (x.sin().expand_dims(-1) * w).sum()));
    for n in [1, 100, 1683, 20_001] {
        let (x, w) = (numbers(&[n], 1), numbers(&[n, 3], 2));
        let (value, (x_bar, w_bar)) = f.call((&x, &w));
        let (given, (x_given, w_given)) = f.call_donating((&x + 0.0, &w + 0.0));
        assert_eq!(bits(&given), bits(&value), "{n}");
        assert_eq!((bits(&x_given), bits(&w_given)), (bits(&x_bar), bits(&w_bar)), "{n}");
    }
    for seed in 0..12 {
        let random = Random(77 + seed);
        let n = [20, 45, 100][seed as usize % 3];
        let (x, w) = (numbers(&[n, n], seed + 1), numbers(&[n, n], seed + 2) * 0.3);
        let step = Compile::new().function(move |(x, w): (Tensor, Tensor)| {
            let (value, (x_bar, w_bar)) = value_and_grad((&x, &w), |(x, w)| random.function(&x, &w, false));
            (value, x - x_bar * 0.1, w - w_bar * 0.1)
        });
        let (value, x_next, w_next) = step.call((&x, &w));
        let (given, x_given, w_given) = step.call_donating((&x + 0.0, &w + 0.0));
        assert_eq!(bits(&given), bits(&value), "{random:?}");
        assert!(bits(&x_given) == bits(&x_next) && bits(&w_given) == bits(&w_next), "{random:?}");
    }
}

/// What depends on nothing is made again wherever it is read: of two masks each reader needs its own.
#[test]
fn masks_that_are_computed_again_are_those_of_their_readers() {
    let loss = |b: &Tensor, a: &Tensor| {
        let p = a.sin().take_along_axis(&a.argsort(0), 0);
        let q = b.square().log1p().trapz(0.3, 1);
        let r = b.triu(0) + b.tril(-1);
        let s = b.square().xlog1py(b.softplus().square()).tanh();
        p.sin().sum() + q.sin().sum() + (r * 0.468).sin().sum() * 0.25 + (s * -0.27).sin().sum() * 0.25
    };
    let f = move |(b, a): (Tensor, Tensor)| value_and_grad((b, a), move |(b, a)| loss(&b, &a));
    let (b, a) = (numbers(&[5, 3], 1), numbers(&[1], 2));
    let (value, (b_bar, a_bar)) = Compile::new().function(f).call((&b, &a));
    let mut fitted = 0;
    for limit in (3000..6000).step_by(50) {
        let Ok((own, (b_own, a_own))) = Compile::new().threads(1).memory(limit).function(f).try_call((&b, &a)) else {
            continue;
        };
        assert_eq!(bits(&own), bits(&value), "within {limit} bytes");
        assert_eq!((bits(&b_own), bits(&a_own)), (bits(&b_bar), bits(&a_bar)), "within {limit} bytes");
        fitted += 1;
    }
    assert!(fitted > 10, "only {fitted} limits were enough");
}

#[test]
fn layers_that_are_computed_again_do_not_change_a_bit() {
    for n in [128, 136] {
        let (x, v, w) = (numbers(&[n, n], 1), numbers(&[n, n], 2) * 0.1, numbers(&[n, n], 3) * 0.1);
        let with = |checkpointed: bool| {
            let f = Compile::new().function(move |(x, v, w): (Tensor, Tensor, Tensor)| {
                value_and_grad((&x, &v, &w), |(x, v, w)| {
                    let layer = |(x, w): (Tensor, Tensor)| x.matmul(&w).tanh();
                    let apply = |x: &Tensor, w: &Tensor| match checkpointed {
                        true => checkpoint((x, w), layer),
                        false => layer((x.clone(), w.clone())),
                    };
                    apply(&apply(&x, &v), &w).square().sum()
                })
            });
            let (value, (x_bar, v_bar, w_bar)) = f.call((&x, &v, &w));
            [value, x_bar, v_bar, w_bar].iter().map(bits).collect::<Vec<_>>()
        };
        assert!(with(true) == with(false), "{n}");
    }
}

#[test]
fn products_of_a_batch_have_the_bits_of_each() {
    for (count, width) in [(16, 2), (16, 3), (16, 10), (3, 33), (40, 9)] {
        let (x, y) = (numbers(&[50, 70], 1), numbers(&[count, 70, width], 2));
        let all = Tensor::einsum("nd,kdh->knh", &[&x, &y]);
        let turned = Tensor::einsum("nd,kdh->nhk", &[&x, &y]);
        for k in 0..count as isize {
            let own = x.matmul(&y.slice(k));
            assert_eq!(bits(&all.slice(k)), bits(&own), "{count} by {width}");
            assert_eq!(bits(&turned.slice((.., .., k))), bits(&own), "{count} by {width}");
        }
    }
}
