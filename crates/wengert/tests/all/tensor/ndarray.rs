//! Arrays of ndarray as tensors and back.

use ndarray::{Array1, Array2, ArrayD, array, s};
use wengert::Tensor;

#[test]
fn arrays_become_tensors_and_come_back() {
    let a = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let x = Tensor::from(&a);
    assert_eq!((x.shape(), x.to_vec()), (&[2, 3][..], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    assert_eq!(Tensor::from(&a.t()).to_vec(), x.t().to_vec());
    assert_eq!(Tensor::from(a.clone().reversed_axes()).to_vec(), x.t().to_vec());
    assert_eq!(Tensor::from(&a.slice(s![.., 1..])).to_vec(), x.slice((.., 1..)).to_vec());
    assert_eq!(Tensor::from(a.clone().slice_move(s![1.., ..])).to_vec(), [4.0, 5.0, 6.0]);
    assert_eq!(Tensor::from(a.clone().slice_move(s![..1, ..])).to_vec(), [1.0, 2.0, 3.0]);
    assert_eq!(Array2::<f64>::try_from(x.clone()).unwrap(), a);
    assert_eq!(x.to_ndarray::<f64>(), a.into_dyn());
    assert!(Tensor::from(array![true]).to_ndarray::<bool>()[0]);
    let wrong = Array1::<f64>::try_from(x.clone()).unwrap_err().to_string();
    assert!(wrong.contains("it has 2 axes, and the array 1") && wrong.contains(file!()), "{wrong}");
    assert!(x.try_to_ndarray::<f32>().is_err());
}

#[test]
fn nothing_is_copied_where_nothing_has_to_be() {
    let a = Array1::from_elem(100, 1.0);
    let address = a.as_ptr();
    let x = Tensor::from(a);
    let a = ArrayD::<f64>::try_from(x).unwrap();
    assert_eq!(a.as_ptr(), address);
}
