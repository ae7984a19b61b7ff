//! Tests of what is private here.

use super::super::bilinear_laws::{check_all, integers, program};
use super::*;
use crate::array::for_each_index;

/// The definition: the sum over all indices of all labels.
fn by_definition(op: &Einsum, x: &Array, y: &Array) -> Vec<f64> {
    let mut labels = op.out.clone();
    let rest = op.lhs.iter().chain(&op.rhs).copied();
    rest.for_each(|label| {
        if !labels.contains(&label) {
            labels.push(label);
        }
    });
    let lengths: Vec<usize> = labels.iter().map(|&label| op.length(label, x.shape(), y.shape())).collect();
    let strides_of = |own: &[u8], shape: &[usize]| -> Vec<usize> {
        let strides = row_major(shape);
        let stride = |label: &u8| own.iter().position(|own| own == label).map_or(0, |axis| strides[axis]);
        labels.iter().map(stride).collect()
    };
    let out_shape = &lengths[..op.out.len()];
    let mut out = vec![0.0; out_shape.iter().product()];
    let places = [(&op.lhs, x.shape()), (&op.rhs, y.shape()), (&op.out, out_shape)];
    let strides = places.map(|(labels, shape)| strides_of(labels, shape));
    let (x, y) = (x.to_f64(), y.to_f64());
    for_each_index(&lengths, |index| {
        let [x_at, y_at, at] = [0, 1, 2].map(|k| index.iter().zip(&strides[k]).map(|(i, s)| i * s).sum::<usize>());
        out[at] += x[x_at] * y[y_at];
    });
    out
}

#[test]
fn every_sample_obeys_the_laws() {
    for sample in Einsum::samples() {
        let super::super::Op::Einsum(op) = &sample.op else { unreachable!("its own samples") };
        let args: Vec<Array> = sample.args.iter().zip(3..).map(|(x, seed)| integers(seed, x.ty())).collect();
        let out = program(op.clone(), &args).run_reference(&args).unwrap();
        assert_eq!(out[0].to_f64(), by_definition(op, &args[0], &args[1]), "{}", op.spec());
        check_all(&op.spec(), op.clone(), &args);
    }
}

#[test]
fn blocks_of_long_axes_meet() {
    for (m, k, n) in [(3, 200, 600), (2, 64, 256), (1, 65, 257), (3, 130, 1)] {
        let types = [[m, k], [k, n]].map(|shape| Type::new(DType::F32, &shape));
        let [x, y] = [integers(1, &types[0]), integers(2, &types[1])];
        let op = Einsum::new("ij,jk->ki").unwrap();
        let out = op.eval(&[&x, &y]).unwrap();
        assert_eq!(out[0].to_f64(), by_definition(&op, &x, &y));
    }
}

#[test]
fn single_precision_is_rounded_once() {
    let x = Array::new(&[3], vec![1e8f32, 1.0, -1e8]);
    let ones = Array::new(&[3], vec![1f32; 3]);
    for spec in ["i,i->", "i,j->"] {
        let out = Einsum::new(spec).unwrap().eval(&[&x, &ones]).unwrap();
        assert_eq!(out[0].to_f64(), [if spec == "i,i->" { 1.0 } else { 3.0 }]);
    }
}

#[test]
fn integers_wrap_around() {
    let (x, y) = (Array::new(&[2], vec![i64::MAX, 1]), Array::new(&[2], vec![2i64, 3]));
    let out = Einsum::new("i,i->").unwrap().eval(&[&x, &y]).unwrap();
    assert_eq!(out[0].known::<i64>(), [1]);
}

#[test]
fn misfits_name_the_label() {
    let why = |spec: &str| Einsum::new(spec).unwrap_err().0;
    assert_eq!(why("ij->i"), "`ij->i` does not have the form `ij,jk->ik`");
    assert_eq!(why("ii,ij->j"), "the label `i` occurs twice in the first operand");
    assert_eq!(why("ij,jk->iki"), "the label `i` occurs twice in the result");
    assert_eq!(why("ij,jk->l"), "the label `l` of the result is in neither operand");
    assert_eq!(why("i1,jk->i"), "the labels of the first operand have to be ASCII letters, at most 52 different ones");
    let infer = |x: &Type, y: &Type| Einsum::new("ij,jk->ik").unwrap().infer(&[x, y]).unwrap_err().0;
    let (x, y) = (Type::new(DType::F64, &[2, 3]), Type::new(DType::F64, &[4, 5]));
    assert_eq!(infer(&x, &y), "the axis `j` is 3 long in one and 4 in the other");
    assert_eq!(infer(&x, &x.with_shape(vec![3])), "`ij,jk->ik` has 2 labels for 1 axes of the second operand");
    assert_eq!(infer(&x, &y.with_dtype(DType::I64)), "the element types differ; convert one of them first");
    let [p, q] = [&x, &y].map(|ty| ty.with_dtype(DType::Bool));
    assert_eq!(infer(&p, &q), "it takes numbers, not bool; convert first");
}

#[test]
fn the_labels_run_out_at_52() {
    let all: Vec<u8> = (b'a'..=b'z').chain(b'A'..=b'Z').collect();
    let op = Einsum::from_labels(&all, &[], &[]).unwrap();
    assert_eq!(op.fresh(), Err(Misfit("all 52 labels are in use".to_owned())));
    assert_eq!(Einsum::from_labels(&all[1..], b"b", b"").unwrap().fresh(), Ok(b'a'));
    let args = [Array::full(&[1; 52], 2.0), Array::scalar(3.0)];
    let error = program(op, &args).vmap(&[true, false], 2).unwrap_err();
    assert!(error.to_string().ends_with("all 52 labels are in use"), "{error}");
}
