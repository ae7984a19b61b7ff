//! Paths of leaves, and parts that are frozen: in structs, by path, in every driver.

use std::collections::BTreeMap;

use wengert::prelude::*;
use wengert::{Complex, Const, Frozen, Grad, Paths, Status, freeze};

#[derive(Tree, Clone, Debug)]
struct Layer {
    weight: Tensor,
    bias: Option<Tensor>,
    #[tree(frozen)]
    count: Tensor,
    #[tree(static)]
    rate: f64,
}

#[derive(Tree, Clone, Debug)]
struct Model {
    layers: Vec<Layer>,
    r#type: (Tensor, Box<Tensor>),
    named: BTreeMap<String, Tensor>,
}

#[derive(Tree, Clone, Debug, PartialEq)]
struct Numbers<T = f64>(T, [T; 2], #[tree(frozen)] Vec<T>);

fn layer(bias: bool) -> Layer {
    let bias = bias.then(|| Tensor::from([0.5, 0.25]));
    Layer { weight: Tensor::from([1.0, 2.0]), bias, count: Tensor::from([3i64, 4]), rate: 0.1 }
}

fn model() -> Model {
    let named = [("b", 2.0), ("a", 1.0)].map(|(name, x)| (name.to_owned(), Tensor::from(x)));
    Model {
        layers: vec![layer(true), layer(false)],
        r#type: (Tensor::from(1.0), Tensor::from(2.0).into()),
        named: named.into(),
    }
}

#[track_caller]
fn check(tree: &(impl Tree + ?Sized), wanted: &str) {
    let paths = Paths::of(tree);
    let marked = (0..paths.len()).map(|k| format!("{}{}", if paths.is_frozen(k) { "!" } else { "" }, paths.get(k)));
    assert_eq!(marked.collect::<Vec<_>>().join(" "), wanted);
}

#[test]
fn a_leaf_is_named_by_fields_places_and_keys() {
    let of_model =
        "layers.0.weight layers.0.bias !layers.0.count layers.1.weight !layers.1.count type.0 type.1 named.a named.b";
    check(&model(), of_model);
    check(&&model(), of_model);
    check(&1.0, "");
    check(&[[1.0, 2.0], [3.0, 4.0]], "0.0 0.1 1.0 1.1");
    check(&(1.0, Some(2.0), None::<f64>, vec![3.0]), "0 1 3.0");
    check(&Numbers(1.0, [2.0, 3.0], vec![4.0]), "0 1.0 1.1 !2.0");
    check(&(Complex { re: 1.0, im: 2.0 }, Const([3.0])), "0.re 0.im !1.0");
    check(&freeze(Numbers(1.0, [2.0, 3.0], vec![4.0]), |path| path.starts_with("1.")), "0 !1.0 !1.1 !2.0");
    check(&(0, freeze((1.0, 2.0), |path| path == "1")).1, "0 !1");
}

#[test]
fn frozen_leaves_have_no_derivative_of_any_order() {
    let x = Numbers(2.0, [3.0, 5.0], vec![7.0]);
    let f = |n: Numbers<Var>| n.0.square() * n.1[0] * n.1[1] * n.2[0];
    assert_eq!(grad(&x, f), Numbers(420.0, [140.0, 84.0], vec![0.0]));
    let part = freeze(&x, |path| path == "1.1");
    let f = |n: Frozen<Numbers<Var>>| n.0.square() * n.1[0] * n.1[1] * n.2[0];
    assert_eq!(grad(&part, f).thaw(), Numbers(420.0, [140.0, 0.0], vec![0.0]));
    assert_eq!(jvp(&part, [0.0, 0.0, 1.0, 1.0], f), (420.0, 0.0));
    assert_eq!(hvp(&part, [1.0, 0.0, 1.0, 1.0], f).thaw(), Numbers(210.0, [140.0, 0.0], vec![0.0]));
    // A driver around differentiates by what is frozen inside: d/dy of 2 y y^2, by numbers and by tensors.
    let inner = |y: Var| grad(&freeze((y, y * y), |path| path == "1"), |n| n.0.square() * n.1).0;
    assert_eq!(grad(3.0, inner), 54.0);
    let inner = |y: Tensor| grad(&freeze((y.clone(), &y * &y), |path| path == "1"), |n| n.0.square() * &n.1).0.clone();
    assert_eq!(grad(&Tensor::from(3.0), inner).item(), 54.0);
    let recorded = record(&part, f);
    assert_eq!(recorded.grad(&part).thaw(), Numbers(420.0, [140.0, 0.0], vec![0.0]));
    // A recording takes other numbers there.
    let other = freeze(Numbers(2.0, [3.0, 10.0], vec![7.0]), |path| path == "1.1");
    assert_eq!(recorded.grad(&other).thaw(), Numbers(840.0, [280.0, 0.0], vec![0.0]));
    assert_eq!(recorded.hessian(&other).2[0].clone().thaw(), Numbers(0.0, [0.0, 0.0], vec![0.0]));
    let status = Grad::of(|n: Numbers<Var>| n.0 * n.2[0]).status(&x);
    assert_eq!((status.0, status.2[0]), (Status::Connected, Status::Zero));
}

#[test]
fn the_cotangent_of_a_frozen_tensor_is_never_formed() {
    let loss = |model: &Model, x: &Tensor| {
        let layer = &model.layers[0];
        (x.matmul(&layer.weight.reshape(&[2, 1])) * layer.bias.as_ref().unwrap()).sum() + layer.count.to_f64().sum()
    };
    let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    let (value, g) = value_and_grad(&model(), |m| loss(&m, &x));
    assert_eq!(value.item(), (5.0 + 11.0) * 0.75 + 7.0);
    assert_eq!(g.layers[0].weight.to_vec(), [4.0 * 0.75, 6.0 * 0.75]);
    assert_eq!((g.layers[0].count.dtype(), g.layers[0].count.to_vec()), (wengert::DType::I64, vec![0.0, 0.0]));
    let frozen = freeze(model(), |path| path == "layers.0.weight");
    let g = grad(&frozen, |m| loss(&m, &x));
    assert_eq!(
        (g.layers[0].weight.to_vec(), g.layers[0].bias.as_ref().unwrap().to_vec()),
        (vec![0.0; 2], vec![16.0; 2])
    );
    // The backward pass of the matrix product is a product in the gradient by the weight, and none when this is frozen.
    let products = |frozen: bool| {
        let (program, _) = wengert::to_program((x.clone(), model().layers[0].weight.clone()), |(x, weight)| {
            let f = |w: &Tensor| x.matmul(&w.reshape(&[2, 1])).sin().sum();
            match frozen {
                true => grad(freeze(&(weight, Tensor::from(1.0)), |path| path == "0"), |p| f(&p.0) * &p.1).thaw(),
                false => grad(&(weight, Tensor::from(1.0)), |(w, s)| f(&w) * s),
            }
        });
        program.to_string().matches("contract").count() + program.to_string().matches("einsum").count()
    };
    assert_eq!((products(false), products(true)), (2, 1));
    // Forward mode and second order, with integers among the frozen leaves.
    let ones = model()
        .map_leaves(|_, leaf| Tensor::zeros_of(leaf.dtype(), leaf.shape()) + Tensor::ones(&[]).convert(leaf.dtype()));
    let (_, slope) = jvp(&model(), &ones, |m| loss(&m, &x));
    assert_eq!(slope.item(), 16.0 * 2.0 + 10.0 * 0.75);
    let h = hvp(&model(), &ones, |m| loss(&m, &x));
    assert_eq!(h.layers[0].bias.as_ref().unwrap().to_vec(), [10.0, 10.0]);
}

#[test]
fn a_misspelt_path_is_an_error() {
    let error =
        std::panic::catch_unwind(|| freeze(Numbers(1.0, [2.0; 2], vec![3.0]), |path| path == "head")).unwrap_err();
    let error = error.downcast_ref::<String>().unwrap().clone();
    assert_eq!(error, "`freeze`: it picks none of the paths `0`, `1.0`, `1.1`, `2.0`");
    let error = std::panic::catch_unwind(|| grad(&vec![(Tensor::from(1.0), Tensor::from(1i64))], |x| x[0].0.clone()));
    let error = error.unwrap_err().downcast_ref::<String>().unwrap().clone();
    assert!(error.contains("leaf 1 of the point, `0.1`, is i64[]") && error.contains("#[tree(frozen)]"), "{error}");
}
