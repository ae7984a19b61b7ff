//! Places in sorted vectors, against counting.

use wengert::fallible::*;
use wengert::prelude::*;
use wengert::{Array, Bound};

/// How many elements are less, or not more; NaN is more than everything, and equal to itself.
fn counted(nodes: &[f64], x: f64, bound: Bound) -> f64 {
    let is_less = |node: f64| node < x || x.is_nan() && !node.is_nan();
    let is_equal = |node: f64| node == x || x.is_nan() && node.is_nan();
    nodes.iter().filter(|&&node| is_less(node) || bound == Bound::Upper && is_equal(node)).count() as f64
}

#[test]
fn places_are_those_that_counting_finds() {
    let x: Vec<f64> =
        (0..41).map(|k| f64::from(k) * 0.25 - 5.0).chain([f64::INFINITY, -f64::INFINITY, f64::NAN]).collect();
    for count in (0..20).chain([31, 32, 33, 64, 127, 1000]) {
        // Many are equal, and the last ones are infinite or NaN.
        let mut nodes: Vec<f64> = (0..count).map(|k| ((k * 7) % (count / 2 + 1)) as f64 * 0.5 - 4.0).collect();
        nodes.sort_by(f64::total_cmp);
        for (from, special) in [(8, f64::INFINITY), (11, f64::NAN)] {
            if count > from {
                nodes[count - from / 4..].fill(special);
            }
            for bound in [Bound::Lower, Bound::Upper] {
                let wanted: Vec<f64> = x.iter().map(|&x| counted(&nodes, x, bound)).collect();
                let (sorted, tensor) = (Tensor::from(nodes.clone()), Tensor::from(x.clone()).reshape(&[4, 11]));
                let found = sorted.search_sorted(&tensor, bound);
                assert_eq!((found.shape(), found.to_vec()), (&[4, 11][..], wanted.clone()), "{count}, {bound:?}");
                assert_eq!(sorted.to_f32().search_sorted(&tensor.to_f32(), bound).to_vec(), wanted);
            }
        }
    }
    let (whole, x) = (Tensor::from([i64::MIN, -1, 3, 3, i64::MAX]), Tensor::from([i64::MIN, 3, i64::MAX]));
    assert_eq!(whole.search_sorted(&x, Bound::Lower).to_vec(), [0.0, 2.0, 4.0]);
    assert_eq!(whole.search_sorted(&x, Bound::Upper).to_vec(), [1.0, 4.0, 5.0]);
}

#[test]
fn each_example_has_its_own_vector() {
    let nodes = Tensor::from_array(Array::new(&[3, 4], (0..12).map(|k| f64::from(k * k)).collect::<Vec<f64>>()));
    let x = Tensor::from([[3.0, 4.0], [30.0, 49.0], [64.0, 200.0]]);
    let both = vmap((&nodes, &x), |(nodes, x)| nodes.search_sorted(&x, Bound::Upper));
    assert_eq!(both.to_vec(), [2.0, 3.0, 2.0, 4.0, 1.0, 4.0]);
    let same = vmap(&nodes, |nodes| nodes.search_sorted(&x, Bound::Lower));
    assert_eq!(same.shape(), [3, 3, 2]);
    assert_eq!(same.slice(1).to_vec(), [0.0, 0.0, 2.0, 3.0, 4.0, 4.0]);
    // A whole number has no derivative; what is looked up there has.
    let x = Tensor::from([0.5, 3.0, 8.0, 9.0]);
    let slope = grad(&nodes, |nodes| nodes.slice(1).take(&nodes.slice(0).search_sorted(&x, Bound::Lower), 0).sum());
    assert_eq!(slope.to_vec(), [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn what_is_no_sorted_vector_is_refused() {
    let message = |nodes: &Tensor, x: &Tensor| nodes.try_search_sorted(x, Bound::Lower).unwrap_err().to_string();
    let (vector, matrix) = (Tensor::from([1.0, 2.0]), Tensor::zeros(&[2, 2]));
    let text = message(&matrix, &vector);
    assert!(text.contains("`search_sorted` of f64[2,2] and f64[2]") && text.contains("vector"), "{text}");
    assert!(message(&vector, &vector.to_f32()).contains("f64 and f32"));
    assert!(message(&Tensor::from([true]), &Tensor::from([true])).contains("numbers of one type"));
}
