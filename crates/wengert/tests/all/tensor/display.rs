//! Printing.

use wengert::Tensor;

#[test]
fn numbers_stand_in_columns() {
    assert_eq!(Tensor::from([1.0, 2.0]).to_string(), "[1.0 2.0]");
    assert_eq!(Tensor::from(2.5).to_string(), "2.5");
    assert_eq!(Tensor::from([[1i64, -20], [300, 4]]).to_string(), "[[  1 -20]\n [300   4]]");
    assert_eq!(Tensor::from([true, false]).to_string(), "[ true false]");
    assert_eq!(Tensor::from([1.0 / 3.0, 1.0]).to_string(), "[0.33333333 1.00000000]");
    assert_eq!(Tensor::from([1e-10, 1.5]).to_string(), "[1.0e-10   1.5e0]");
    assert_eq!(Tensor::from([f64::NAN, f64::INFINITY, 1.0]).to_string(), "[nan inf 1.0]");
    assert_eq!(Tensor::from([0.1f32]).to_string(), "[0.1]");
    assert_eq!(Tensor::ones(&[2, 1, 2]).to_string(), "[[[1.0 1.0]]\n\n [[1.0 1.0]]]");
    assert_eq!(Tensor::zeros(&[0, 3]).to_string(), "[]");
}

#[test]
fn debug_shows_the_element_type_where_it_is_not_seen() {
    assert_eq!(format!("{:?}", Tensor::from([1.0, 2.0])), "Tensor([1.0, 2.0])");
    assert_eq!(format!("{:?}", Tensor::from([1f32, 2.0])), "Tensor([1.0, 2.0], f32)");
    assert_eq!(format!("{:?}", Tensor::from([[1i64], [2]])), "Tensor([[1],\n        [2]])");
    assert_eq!(format!("{:?}", Tensor::zeros(&[0, 3])), "Tensor([], shape [0, 3])");
}

#[test]
fn what_is_large_is_summarised() {
    let text = Tensor::arange(0.0, 2000.0, 1.0).to_string();
    assert_eq!(text, "[   0.0    1.0    2.0 ... 1997.0 1998.0 1999.0]");
    let text = Tensor::zeros(&[100, 100]).to_string();
    assert_eq!(text.lines().count(), 7);
    assert_eq!(text.lines().next(), Some("[[0.0 0.0 0.0 ... 0.0 0.0 0.0]"));
}
