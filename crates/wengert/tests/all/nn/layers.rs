//! Layers as structs: values against the functions they are made of, derivatives by every parameter, initial values, messages.

use wengert::nn::*;
use wengert::prelude::*;
use wengert::{ConvOptions, DType, Key, Paths};

use super::support::{check_derivatives, close, points};

/// The layer with parameters without a pattern.
fn filled<L: Tree<Leaf = Tensor, Grad = L>>(layer: &L) -> L {
    let mut seed = 40;
    layer.map_leaves(|path, leaf| {
        seed += 1;
        // A variance is positive.
        if path == "variance" { points(seed, leaf.shape()).square() + 0.5 } else { points(seed, leaf.shape()) }
    })
}

/// All derivatives of a layer, by its parameters and its input.
fn check<L: Tree<Leaf = Tensor, Grad = L, Vars = L>>(layer: &L, x: &Tensor, apply: impl Fn(&L, &Tensor) -> Tensor) {
    let mut point: Vec<Tensor> = layer.named_leaves().into_iter().map(|(_, leaf)| leaf).collect();
    point.push(x.clone());
    let (last, layer) = (point.len() - 1, layer.clone_by_leaves());
    check_derivatives(&point, |p| {
        let mut leaves = p.iter().cloned();
        apply(&layer.map_leaves(|_, _| leaves.next().unwrap()), &p[last])
    });
}

/// A copy, of a tree that need not be `Clone`.
trait CloneByLeaves: Tree {
    fn clone_by_leaves(&self) -> Self::Grad {
        self.map_leaves(|_, leaf| leaf)
    }
}
impl<T: Tree> CloneByLeaves for T {}

#[test]
fn linear_and_embedding() {
    let (layer, x) = (filled(&Linear::new(4, 3, &Key::new(1))), points(1, &[2, 5, 4]));
    let bias = layer.bias.clone().unwrap();
    close(&layer.apply(&x).to_vec(), &(x.matmul(&layer.weight) + &bias).to_vec(), 8.0);
    check(&layer, &x, |layer, x| layer.apply(x).tanh());
    let bare = layer.clone().without_bias();
    assert_eq!(bare.apply(&x).to_vec(), x.matmul(&layer.weight).to_vec());
    assert_eq!(
        Paths::of(&layer).iter().chain(Paths::of(&bare).iter()).collect::<Vec<_>>(),
        ["weight", "bias", "weight"]
    );
    let single = layer.map_leaves(|_, leaf| leaf.to_f32());
    assert_eq!(single.apply(&x.to_f32()).dtype(), DType::F32);
    let table = Embedding::new(5, 3, &Key::new(2));
    let symbols = Tensor::from([4i64, 0, 4]);
    assert_eq!(table.apply(&symbols).to_vec(), table.table.embedding(&symbols).to_vec());
}

#[test]
fn convolutions_have_a_bias_for_each_channel() {
    let options = ConvOptions { padding: [(1, 0)], groups: 2, ..ConvOptions::default() };
    let (layer, x) = (filled(&Conv1d::new(4, 6, [2], options, &Key::new(1))), points(1, &[3, 4, 5]));
    assert_eq!(layer.weight.shape(), [6, 2, 2]);
    let (plain, y) = (x.conv1d(&layer.weight, &options).to_vec(), layer.apply(&x).to_vec());
    let bias = layer.bias.clone().unwrap().to_vec();
    let want: Vec<f64> = plain.iter().enumerate().map(|(k, y)| y + bias[k / 5 % 6]).collect();
    assert_eq!(y, want);
    check(&layer, &x, |layer, x| layer.apply(x).sin());
    let (layer, x) =
        (filled(&Conv2d::new(2, 3, [2, 2], ConvOptions::default(), &Key::new(1))), points(1, &[1, 2, 3, 4]));
    let difference = layer.apply(&x) - layer.clone().without_bias().apply(&x);
    close(&difference.slice((0, .., 1, 2)).to_vec(), &layer.bias.clone().unwrap().to_vec(), 16.0);
    check(&layer, &x, |layer, x| layer.apply(x).sin());
}

#[test]
fn norms_are_those_of_their_formulas() {
    let x = points(1, &[3, 4, 5]);
    let norm = filled(&LayerNorm::new(5));
    assert_eq!(norm.apply(&x).to_vec(), x.layer_norm(&norm.gain, &norm.bias, 1e-5).to_vec());
    let norm = filled(&RmsNorm::new(5));
    assert_eq!(norm.apply(&x).to_vec(), x.rms_norm(&norm.gain, 1e-6).to_vec());
    let norm = filled(&GroupNorm::new(4, 2));
    let (gain, bias, xs) = (norm.gain.to_vec(), norm.bias.to_vec(), x.to_vec());
    let of_group = |start: usize| {
        let group = &xs[start..start + 10];
        let mean = group.iter().sum::<f64>() / 10.0;
        let variance = group.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 10.0;
        group.iter().map(move |x| (x - mean) / (variance + 1e-5).sqrt()).collect::<Vec<_>>()
    };
    let normal = (0..6).flat_map(|group| of_group(10 * group));
    let want: Vec<f64> = normal.enumerate().map(|(k, x)| gain[k / 5 % 4] * x + bias[k / 5 % 4]).collect();
    close(&norm.apply(&x).to_vec(), &want, 32.0);
    check(&norm, &x, |norm, x| norm.apply(x));
    let flat = norm.apply(&points(2, &[3, 4]));
    assert_eq!(flat.shape(), [3, 4]);
}

#[test]
fn batch_norm_trains_by_the_batch_and_judges_by_what_it_has_seen() {
    let (norm, x) = (filled(&BatchNorm::new(4)), points(1, &[3, 4, 5]));
    let channel = |c: usize| (0..15).map(|k| x.slice((k / 5, c as isize, k % 5)).item()).collect::<Vec<f64>>();
    let (y, [mean, variance]) = norm.train(&x);
    for c in 0..4isize {
        let xs = channel(c as usize);
        let at = |values: &Tensor| values.slice(c).item();
        let center = xs.iter().sum::<f64>() / 15.0;
        let squares = xs.iter().map(|x| (x - center).powi(2)).sum::<f64>();
        close(&[at(&mean)], &[0.9 * at(&norm.mean) + 0.1 * center], 16.0);
        close(&[at(&variance)], &[0.9 * at(&norm.variance) + 0.1 * squares / 14.0], 16.0);
        let want = |x: f64, center: f64, variance: f64| {
            at(&norm.gain) * (x - center) / (variance + 1e-5).sqrt() + at(&norm.bias)
        };
        close(&[y.slice((2, c, 3)).item()], &[want(xs[13], center, squares / 15.0)], 64.0);
        close(&[norm.apply(&x).slice((2, c, 3)).item()], &[want(xs[13], at(&norm.mean), at(&norm.variance))], 64.0);
    }
    check(&norm, &x, |norm, x| norm.apply(x));
    check(&norm, &x, |norm, x| norm.train(x).0 * (1.0 + norm.mean.sum() + norm.variance.sum()));
    let paths = Paths::of(&norm);
    assert_eq!((0..4).map(|k| paths.is_frozen(k)).collect::<Vec<_>>(), [false, false, true, true]);
    assert_eq!(norm.updated([mean.clone(), variance]).mean.to_vec(), mean.to_vec());
}

#[test]
fn heads_are_attention_side_by_side() {
    let layer = filled(&MultiHeadAttention::new(6, 2, &Key::new(1)));
    let (x, memory) = (points(1, &[2, 3, 6]), points(2, &[2, 4, 6]));
    let head = |h: isize| {
        let part = |x: &Tensor| x.slice((.., .., 3 * h..3 * h + 3));
        let [q, k, v] = [layer.query.apply(&x), layer.key.apply(&memory), layer.value.apply(&memory)];
        attention(&part(&q), &part(&k), &part(&v), Visible::All)
    };
    let want = layer.output.apply(&Tensor::concat(&[&head(0), &head(1)], -1));
    close(&layer.attend(&x, &memory, Visible::All).to_vec(), &want.to_vec(), 32.0);
    let see =
        Tensor::from([true, false, true, true, true, true, false, true, true, false, false, true]).reshape(&[3, 4]);
    let masks = Tensor::stack(&[&see, &see], 0);
    let [one, two] = [&see, &masks].map(|mask| layer.attend(&x, &memory, Visible::Where(mask)).to_vec());
    assert_eq!(one, two);
    // A sequence alone is that of the batch.
    let alone = layer.apply(&x.slice(1), Visible::Causal);
    close(&alone.to_vec(), &layer.apply(&x, Visible::Causal).slice(1).to_vec(), 32.0);
    check(&layer, &x, |layer, x| layer.apply(x, Visible::Causal));
}

#[test]
fn initial_values_have_their_variance_and_follow_their_key() {
    let key = Key::new(3);
    let cases = [
        (Init::Zeros, 0.0),
        (Init::Normal(0.5), 0.25),
        (Init::Uniform(3.0), 3.0),
        (Init::LeCun, 1.0 / 80.0),
        (Init::He, 1.0 / 40.0),
        (Init::Glorot, 2.0 / 280.0),
        (Init::GlorotUniform, 2.0 / 280.0),
    ];
    for (init, variance) in cases {
        let w = init.draw(&key, &[80, 200], [80, 200]);
        let got = w.square().mean().item();
        // Five standard deviations of the mean of 16,000 squares, sqrt(2 / 16000) each of a normal one.
        assert!(
            (got - variance).abs() <= 5.0 * variance * (2.0 / 16000.0f64).sqrt(),
            "{init:?}: {got} is not {variance}"
        );
        assert!(w.mean().abs().item() <= 5.0 * (variance / 16000.0).sqrt(), "{init:?}");
        assert_eq!(w.to_vec(), init.draw(&key, &[80, 200], [80, 200]).to_vec());
    }
    assert!(Init::Uniform(3.0).draw(&key, &[1000], [1, 1]).abs().max().item() <= 3.0);
    assert_eq!(Linear::new(0, 2, &key).apply(&Tensor::zeros(&[3, 0])).to_vec(), [0.0; 6]);
}

#[test]
fn what_does_not_fit_is_named() {
    let key = Key::new(1);
    let check = |run: &dyn Fn() -> Tensor, wanted: &[&str]| {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("it does not fit");
        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(wanted.iter().all(|wanted| text.contains(wanted)), "{text}");
    };
    check(
        &|| Linear::new(4, 3, &key).apply(&Tensor::zeros(&[2, 5])),
        &["`linear` of f64[2,5], f64[4,3]", "layers.rs:"],
    );
    check(&|| GroupNorm::new(4, 3).gain, &["`GroupNorm::new`: 3 groups do not divide 4 channels"]);
    check(
        &|| GroupNorm::new(4, 2).apply(&Tensor::zeros(&[4])),
        &["`GroupNorm` of f64[4]", "with 4 channels", "layers.rs:"],
    );
    check(&|| BatchNorm::new(4).apply(&Tensor::zeros(&[2, 3])), &["`BatchNorm` of f64[2,3]", "with 4 channels"]);
    check(&|| MultiHeadAttention::new(6, 4, &key).query.weight, &["4 heads do not divide a width of 6"]);
    let options = ConvOptions { groups: 3, ..ConvOptions::default() };
    check(&|| Conv1d::new(4, 6, [2], options, &key).weight, &["3 groups do not divide 4 inputs and 6 outputs"]);
}
