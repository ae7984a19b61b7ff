//! Programs that gather, scatter, pick and slide, in the sizes of a row of `indexing.json`.

use wengert::prelude::*;
use wengert::{Array, ConvOptions, Pool};

use super::case::{Case, Setup, value_and_gradient};
use super::data::{labels, uniform, unsigned};
use super::rows::{Program, Row};

/// The program of each kind.
pub(super) const PROGRAMS: [(&str, Program); 12] = [
    ("graph", graph),
    ("weighted", weighted),
    ("segment", segment),
    ("peaks", peaks),
    ("gather", gather),
    ("embedding", embedding),
    ("top", top),
    ("depthwise", depthwise),
    ("pool", max_pool),
    ("average", average),
    ("middle", middle),
    ("logs", logs),
];

/// The shape of this many rows; a vector if rows are single numbers.
fn rows(count: usize, width: usize) -> Vec<usize> {
    if width == 1 { vec![count] } else { vec![count, width] }
}

/// A step of a graph network: messages of both ends of an edge, summed where the edge ends.
fn graph(row: &Row, setup: &Setup) -> Case {
    let [n, e, d] = ["nodes", "edges", "width"].map(|name| row.size(name));
    let dtype = row.real();
    let parameters = vec![
        uniform(dtype, &[n, d], 2000, 1.0),
        uniform(dtype, &[2 * d, d], 2001, (1.5 / d as f64).sqrt()),
        uniform(dtype, &[d, d], 2002, (3.0 / d as f64).sqrt()),
    ];
    let (sources, targets) = (labels(&[e], 2003, n), labels(&[e], 2004, n));
    value_and_gradient(setup, parameters, move |p: Vec<Tensor>| {
        let ends = Tensor::concat(&[&p[0].take(&sources, 0), &p[0].take(&targets, 0)], 1);
        let received = ends.matmul(&p[1]).tanh().segment_sum(&targets, n);
        (p[0].matmul(&p[2]) + received).tanh().square().mean()
    })
}

/// A step without products: weights of edges times states where they begin, summed where they end.
fn weighted(row: &Row, setup: &Setup) -> Case {
    let [n, e, d] = ["nodes", "edges", "width"].map(|name| row.size(name));
    let dtype = row.real();
    let parameters = vec![uniform(dtype, &[n, d], 2010, 1.0), uniform(dtype, &[e, 1], 2011, 1.0)];
    let (sources, targets) = (labels(&[e], 2012, n), labels(&[e], 2013, n));
    value_and_gradient(setup, parameters, move |p: Vec<Tensor>| {
        let received = (p[0].take(&sources, 0) * &p[1]).segment_sum(&targets, n);
        (&p[0] + received).tanh().square().mean()
    })
}

/// Sums of the rows of each segment.
fn segment(row: &Row, setup: &Setup) -> Case {
    let (x, segments, count) = segmented(row);
    value_and_gradient(setup, x, move |x: Tensor| x.segment_sum(&segments, count).square().mean())
}

/// The largest of the rows of each segment, column by column.
fn peaks(row: &Row, setup: &Setup) -> Case {
    let (x, segments, count) = segmented(row);
    value_and_gradient(setup, x, move |x: Tensor| x.segment_max(&segments, count).square().mean())
}

/// Rows, the segment of each, and how many segments there are.
fn segmented(row: &Row) -> (Tensor, Tensor, usize) {
    let count = row.size("segments");
    let x = uniform(row.real(), &rows(row.size("rows"), row.size("width")), 2020, 1.0);
    let segments = labels(&[row.size("rows")], 2021, count);
    (x, if row.size("sorted") == 1 { sorted(&segments) } else { segments }, count)
}

fn sorted(labels: &Tensor) -> Tensor {
    let mut numbers: Vec<i64> = labels.to_vec().into_iter().map(|label| label as i64).collect();
    numbers.sort_unstable();
    Tensor::from(Array::new(labels.shape(), numbers))
}

/// Rows at random indices.
fn gather(row: &Row, setup: &Setup) -> Case {
    let [length, width, count] = ["length", "width", "count"].map(|name| row.size(name));
    let x = uniform(row.real(), &rows(length, width), 2030, 1.0);
    let (indices, weights) = (labels(&[count], 2031, length), unsigned(row.real(), &rows(count, width), 2032));
    value_and_gradient(setup, x, move |x: Tensor| (x.take(&indices, 0).square() * &weights).mean())
}

/// A classifier of the means of words.
fn embedding(row: &Row, setup: &Setup) -> Case {
    let [words, width, texts, length] = ["words", "width", "texts", "length"].map(|name| row.size(name));
    let dtype = row.real();
    let parameters = vec![uniform(dtype, &[words, width], 2040, 1.0), uniform(dtype, &[width, 10], 2041, 1.0)];
    let (texts, y) = (labels(&[texts, length], 2042, words), labels(&[texts], 2043, 10));
    value_and_gradient(setup, parameters, move |p: Vec<Tensor>| {
        let z = p[0].take(&texts, 0).mean_over(1).matmul(&p[1]);
        (z.logsumexp_over(-1) - z.take_along_axis(&y.expand_dims(-1), -1).squeeze(-1)).mean()
    })
}

/// The largest of each row, weighted by their ranks.
fn top(row: &Row, setup: &Setup) -> Case {
    let k = row.size("k");
    let x = uniform(row.real(), &[row.size("rows"), row.size("length")], 2050, 1.0);
    let weights = unsigned(row.real(), &[k], 2051);
    value_and_gradient(setup, x, move |x: Tensor| (x.top_k(k, -1).0 * &weights).sum())
}

/// A convolution of every channel by itself, also by its kernels.
fn depthwise(row: &Row, setup: &Setup) -> Case {
    let [images, channels, size] = ["images", "channels", "size"].map(|name| row.size(name));
    let dtype = row.real();
    let parameters = vec![
        uniform(dtype, &[images, channels, size, size], 2060, 1.0),
        uniform(dtype, &[channels, 1, 3, 3], 2061, 1.0),
    ];
    let options = ConvOptions { padding: [(1, 1); 2], groups: channels, ..ConvOptions::default() };
    value_and_gradient(setup, parameters, move |p: Vec<Tensor>| p[0].conv2d(&p[1], &options).square().mean())
}

fn pooled(row: &Row) -> (Tensor, Pool<2>) {
    let [images, channels, size, stride] = ["images", "channels", "size", "stride"].map(|name| row.size(name));
    let x = uniform(row.real(), &[images, channels, size, size], 2070, 1.0);
    (x, Pool { stride: [stride; 2], ..Pool::new([3, 3]) })
}

/// Maxima of windows of 3 by 3.
fn max_pool(row: &Row, setup: &Setup) -> Case {
    let (x, pool) = pooled(row);
    value_and_gradient(setup, x, move |x: Tensor| x.max_pool(&pool).square().mean())
}

/// Means of windows of 3 by 3.
fn average(row: &Row, setup: &Setup) -> Case {
    let (x, pool) = pooled(row);
    value_and_gradient(setup, x, move |x: Tensor| x.avg_pool(&pool).square().mean())
}

fn three_axes(row: &Row) -> Tensor {
    unsigned(row.real(), &["outer", "length", "inner"].map(|name| row.size(name)), 2080)
}

/// Sums over the middle axis.
fn middle(row: &Row, setup: &Setup) -> Case {
    value_and_gradient(setup, three_axes(row), |x: Tensor| x.sum_over(1).square().mean())
}

/// Logarithms of sums of squares over the middle axis.
fn logs(row: &Row, setup: &Setup) -> Case {
    value_and_gradient(setup, three_axes(row), |x: Tensor| x.square().sum_over(1).log1p().mean())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wengert::DType;

    #[test]
    fn segments_are_sorted_as_integers() {
        let got = sorted(&Array::new(&[4], vec![3i64, 1, 2, 1]).into());
        assert_eq!((got.dtype(), got.to_vec()), (DType::I64, vec![1.0, 1.0, 2.0, 3.0]));
    }
}
