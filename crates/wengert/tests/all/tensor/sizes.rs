//! Sizes, axes and positions of any integer; lists of tensors; padding, splitting and einsum as NumPy has them.

use wengert::prelude::*;
use wengert::{DType, Error, step};

/// `0, 1, 2, …` in a shape.
fn numbered(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..count).map(|k| k as f64).collect::<Vec<f64>>())
}

/// The same shape and elements.
fn same(what: &str, got: &Tensor, want: &Tensor) {
    assert_eq!((got.shape(), got.to_vec()), (want.shape(), want.to_vec()), "{what}");
}

#[test]
fn every_integer_is_a_size_an_axis_and_a_position() {
    let x = numbered(&[2, 3, 4]);
    let (n, last) = (x.shape()[1], x.rank() - 1);
    for (what, y) in [
        ("literal", x.sum_over(2)),
        ("from the end", x.sum_over(-1)),
        ("usize", x.sum_over(last)),
        ("isize", x.sum_over(-1isize)),
        ("i64", x.sum_over(2i64)),
        ("u32", x.sum_over(2u32)),
        ("array", x.sum_over([last])),
        ("slice", x.sum_over(&[2usize, 0][..1])),
        ("vector", x.sum_over(vec![last])),
        ("tuple", x.sum_over((last,))),
    ] {
        same(what, &y, &Tensor::stack([x.slice(0).sum_over(1), x.slice(1).sum_over(1)], 0));
    }
    for (what, y) in [
        ("literals", x.reshape([6, 4])),
        ("reference", x.reshape(&[-1, 4])),
        ("usize", x.reshape([2 * n, 4])),
        ("tuple of types", x.reshape((2 * n, -1isize))),
        ("vector", x.reshape(&vec![6usize, 4])),
        ("part of a shape", x.reshape([&[6], &x.shape()[2..]].concat())),
        ("another's shape", x.reshape(Tensor::zeros(&[6, 4]).shape())),
        ("reference to one", x.reshape(&Tensor::zeros(&[6, 4]).shape())),
    ] {
        assert_eq!((y.shape(), y.to_vec()), (&[6, 4][..], x.to_vec()), "{what}");
    }
    assert_eq!((x.reshape(24).shape(), x.sum().reshape(()).rank()), (&[24][..], 0));
    let rows = x.shape()[0];
    same("a position", &x.slice(rows - 1), &x.slice(-1));
    same("ranges", &x.slice((..rows, 1..n, step(..4i64, 2))), &x.slice((.., 1.., step(.., 2isize))));
    same("inclusive", &x.slice((0..=rows - 1, ..=n - 2)), &x.slice((.., ..-1)));
    same("permutation", &x.permute((last, 0, 1usize)), &x.move_axis(last, 0));
    same("swap", &x.swap_axes(0usize, -1), &x.t());
    same("stretched", &x.slice(0).broadcast_to(x.shape()), &Tensor::stack(vec![x.slice(0); rows], 0usize));
    same("rolled", &x.roll(n, last), &x.roll(-1, 2));
    same("new axis", &x.expand_dims(x.rank()), &x.expand_dims(-1));
    same("sorted", &x.sort(last), &x.cummax(-1));
    same("softmax", &x.softmax(last), &x.softmax(-1));
    same("tiles", &x.tile(vec![1usize; 3]), &x);
    assert_eq!(x.argmax(last).to_vec(), [3.0; 6]);
    // Inside a recording too, and through the derivative.
    let g = grad(&x, |x| x.reshape((x.shape()[0], -1)).slice((x.shape()[0] - 1, ..n)).square().sum());
    assert_eq!(g.sum().item(), 2.0 * (12.0 + 13.0 + 14.0));
}

#[test]
fn tensors_are_joined_from_vectors_arrays_and_iterators() {
    let parts: Vec<Tensor> = (0..3).map(|k| Tensor::full(&[2], k as f64)).collect();
    let want = Tensor::from([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]);
    let [a, b, c] = [&parts[0], &parts[1], &parts[2]];
    for (what, y) in [
        ("vector", Tensor::stack(parts.clone(), 0)),
        ("reference to a vector", Tensor::stack(&parts, 0)),
        ("slice", Tensor::stack(&parts[..], 0)),
        ("references", Tensor::stack(&[a, b, c], 0)),
        ("array of values", Tensor::stack([a.clone(), b.clone(), c.clone()], 0)),
        ("iterator", Tensor::stack(parts.iter(), 0)),
        ("iterator of values", Tensor::stack((0..3).map(|k| Tensor::full(&[2], k as f64)), 0)),
        ("pieces", Tensor::concat(parts.iter().map(|part| part.expand_dims(0)), 0)),
        ("einsum", Tensor::einsum("i,j->ij", [&Tensor::from([0.0, 1.0, 2.0]), &Tensor::ones(&[2])])),
        ("einsum of values", Tensor::einsum("i,j->ij", vec![Tensor::from([0.0, 1.0, 2.0]), Tensor::ones(&[2])])),
    ] {
        same(what, &y, &want);
    }
    let layers = want.unstack(0);
    assert_eq!(layers.len(), 3);
    same("unstacked", &layers[2], c);
    let columns = numbered(&[2, 3, 4]).unstack(-1);
    assert_eq!((columns.len(), columns[1].to_vec()), (4, vec![1.0, 5.0, 9.0, 13.0, 17.0, 21.0]));
    assert!(numbered(&[0, 2]).unstack(0).is_empty());
    let slope = grad(&want, |x| {
        x.unstack(1).iter().enumerate().map(|(k, x)| (x * k).sum()).fold(Tensor::from(0.0), |a, b| a + b)
    });
    assert_eq!(slope.to_vec(), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
    let z = Complex::new(a.clone(), b.clone());
    assert_eq!(Complex::stack(vec![z.clone(), z.clone()], 0).im.to_vec(), [1.0; 4]);
    assert_eq!(Complex::concat([&z, &z], 0usize).re.to_vec(), [0.0; 4]);
    let nested = Tensor::from(vec![vec![1.0, 2.0], vec![3.0, 4.0]]);
    for other in [Tensor::from(vec![[1.0, 2.0], [3.0, 4.0]]), Tensor::from([vec![1.0, 2.0], vec![3.0, 4.0]])] {
        same("rows", &other, &nested);
    }
    assert_eq!(Tensor::from([[[1.0, 2.0]], [[3.0, 4.0]]]).shape(), [2, 1, 2]);
    assert_eq!(Tensor::from(vec![[[1.0, 2.0, 3.0]; 2]; 4]).shape(), [4, 2, 3]);
}

#[test]
fn padding_splitting_and_squeezing_are_those_of_numpy() {
    let x = numbered(&[2, 2]);
    let each = x.pad(&[(1, 0, 0), (1, 0, 0)], 7.0);
    for (what, y) in [
        ("pairs", x.pad([(1, 0), (1, 0)], 7.0)),
        ("slice of pairs", x.pad(&[(1usize, 0usize); 2][..], 7.0)),
        ("vector of pairs", x.pad(vec![(1i64, 0usize); 2], 7.0)),
        ("one pair", x.pad((1, 0), 7.0)),
        ("one triple", x.pad((1, 0, 0), 7.0)),
    ] {
        same(what, &y, &each);
    }
    assert_eq!(each.to_vec(), [7.0, 7.0, 7.0, 7.0, 0.0, 1.0, 7.0, 2.0, 3.0]);
    same("all sides", &x.pad(1, 0.0), &x.pad([(1, 1), (1, 1)], 0.0));
    same("taken away", &x.pad(-1, 0.0), &Tensor::zeros(&[0, 0]));
    let x = numbered(&[2, 6]);
    for (what, parts) in
        [("number", x.split(3, 1)), ("lengths", x.split([2, 2, 2], -1)), ("usize", x.split(x.size() / 4, 1))]
    {
        assert_eq!(parts.len(), 3, "{what}");
        assert_eq!(parts[1].to_vec(), [2.0, 3.0, 8.0, 9.0], "{what}");
    }
    assert_eq!(numbered(&[0]).split(2, 0).iter().map(Tensor::size).sum::<usize>(), 0);
    let x = numbered(&[1, 3, 1, 1]);
    for (what, y, shape) in [
        ("all", x.squeeze(..), &[3][..]),
        ("one", x.squeeze(0), &[3, 1, 1]),
        ("from the end", x.squeeze(-1), &[1, 3, 1]),
        ("several", x.squeeze([0, -1]), &[3, 1]),
        ("nothing to do", numbered(&[2, 3]).squeeze(..), &[2, 3]),
    ] {
        assert_eq!(y.shape(), shape, "{what}");
    }
    let (x, y) = (numbered(&[2, 3, 4]), numbered(&[3, 4, 5]));
    same("two axes", &x.tensordot_by(&y, 2), &Tensor::einsum("ijk,jkl->il", [&x, &y]));
    let y = y.move_axis(1, 0);
    same("one axis", &x.tensordot_by(&y, 1), &Tensor::einsum("ijk,kal->ijal", [&x, &y]));
    same("none", &x.tensordot_by(&y, 0), &x.outer(&y));
}

#[test]
fn dots_in_einsum_stand_for_axes_that_are_stretched() {
    let (x, y) = (numbered(&[5, 1, 2, 3]), numbered(&[4, 3, 2]));
    let (v, square) = (numbered(&[3]), numbered(&[4, 3, 3]));
    for (what, got, want) in [
        ("matrices", Tensor::einsum("...ij,...jk->...ik", [&x, &y]), x.matmul(&y)),
        ("without an arrow", Tensor::einsum("...ij,...jk", [&x, &y]), x.matmul(&y)),
        ("one operand alone", Tensor::einsum("...ij,j->...i", [&x, &v]), x.matmul(&v)),
        ("at the end", Tensor::einsum("ij...,j->i...", [&y, &v]), Tensor::einsum("ijk,j->ik", [&y, &v])),
        ("in the middle", Tensor::einsum("i...j->j...i", [&x]), x.permute([3, 1, 2, 0])),
        ("elements", Tensor::einsum("...,...->...", [&x, &v]), &x * &v),
        ("a diagonal", Tensor::einsum("...ii->...i", [&square]), square.diagonal(0)),
        ("no axes left", Tensor::einsum("...i,...i->...", [&v, &v]), v.dot(&v)),
        ("in the result alone", Tensor::einsum("i->...i", [&v]), v.clone()),
        (
            "three",
            Tensor::einsum("...ij,...jk,k->...i", [&x, &y, &numbered(&[2])]),
            x.matmul(&y).matmul(&numbered(&[2])),
        ),
    ] {
        same(what, &got, &want);
    }
    // The cotangent of a stretched axis is summed, as that of `matmul`.
    let by = |f: fn(&Tensor, &Tensor) -> Tensor| grad((&x, &y), move |(x, y)| f(&x, &y).square().sum());
    let (dots, products) = (by(|x, y| Tensor::einsum("...ij,...jk->...ik", [x, y])), by(|x, y| x.matmul(y)));
    same("cotangent of the first", &dots.0, &products.0);
    same("cotangent of the second", &dots.1, &products.1);
    let mapped = vmap(&x, |x| Tensor::einsum("...ij,...jk->...ik", [&x, &y]));
    same("mapped", &mapped, &x.matmul(&y));
    let tangent = jvp((&x, &y), (&x.cos(), &y.sin()), |(x, y)| Tensor::einsum("...ij,...jk->...ik", [&x, &y])).1;
    same("tangent", &tangent, &(x.cos().matmul(&y) + x.matmul(&y.sin())));
}

#[test]
fn numbers_of_any_type_stand_beside_tensors() {
    let (x, single) = (Tensor::from([1.0, -2.0]), Tensor::from([1.0f32, -2.0]));
    let n = x.shape()[0];
    for (what, y) in [
        ("f64", &x * 2.0),
        ("f32", &x * 2.0f32),
        ("literal", &x * 2),
        ("i64", &x * 2i64),
        ("usize", &x * n),
        ("left", 2.0 * &x),
        ("left integer", 2 * &x),
        ("method", x.mul(2.0f32)),
    ] {
        same(what, &y, &Tensor::from([2.0, -4.0]));
    }
    // The type of a literal is known early enough for a method on the result.
    assert_eq!(((2.0 * &x).abs() + (&x - 1).abs() + (&x / 0.5).abs()).to_vec(), [4.0, 11.0]);
    for y in [&single * 2.0, &single * 2.0f32, 2.0 * &single, &single + 1, &single / n] {
        assert_eq!(y.dtype(), DType::F32);
    }
    let whole = Tensor::from([7i64, -7]);
    assert_eq!((&whole % 4).to_vec(), [3.0, -3.0]);
    assert!(whole.try_mul(0.5f32).is_err() && whole.try_add(usize::MAX).is_err());
    assert!(single.try_add(16_777_217).is_err() && x.try_add(usize::MAX).is_err());
    let mut y = x.clone();
    y *= 2.0f32;
    y -= &x;
    y += n;
    assert_eq!(y.to_vec(), [3.0, 0.0]);
    for (what, mask, want) in [
        ("gt", x.gt(0), [1.0, 0.0]),
        ("ge", x.ge(-2.0f32), [1.0, 1.0]),
        ("lt", x.lt(n), [1.0, 1.0]),
        ("le", x.le(single.to_f64()), [1.0, 1.0]),
        ("eq", x.eq(1.0), [1.0, 0.0]),
        ("ne", x.ne(f64::NAN), [1.0, 1.0]),
    ] {
        assert_eq!((mask.dtype(), mask.to_vec()), (DType::Bool, want.to_vec()), "{what}");
    }
    let g = grad(&x, |x| x.gt(0).where_(x.square(), x.sum() * 3).sum());
    assert_eq!(g.to_vec(), [5.0, 3.0]);
}

#[test]
fn lists_of_numbers_that_memory_cannot_hold_are_refused() {
    for (result, name) in [
        (Tensor::try_arange(0.0, 1e18, 1.0), "`arange` at "),
        (Tensor::try_linspace(0.0, 1.0, 1 << 58), "`linspace` at "),
    ] {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(name) && error.contains("there is no memory for the result f64["), "{error}");
    }
}

/// What is refused says the operation, the types, this file, and the reason.
#[test]
fn wrong_sizes_are_refused_by_name() {
    let (x, y) = (numbered(&[2, 3]), numbered(&[4, 3]));
    let ours = format!(" at {}", file!());
    let one = |parts: Result<Vec<Tensor>, Error>| parts.map(|mut parts| parts.remove(0));
    for (result, named, why) in [
        (x.try_reshape([-1, -1]), "`reshape` of f64[2,3]", "more than one length of the shape [-1, -1] is -1"),
        (x.try_reshape([4, -1]), "`reshape` of f64[2,3]", "[4, -1] 6 elements"),
        (x.try_reshape((3usize, -2)), "`reshape` of f64[2,3]", "a length of [3, -2] is negative"),
        (x.try_reshape(usize::MAX), "`reshape` of f64[2,3]", "has too many elements, the operand 6"),
        (x.try_broadcast_to([-1, 3]), "`broadcast_to` of f64[2,3]", "a length of [-1, 3] is negative"),
        (x.try_sum_over(2usize), "`sum_over` of f64[2,3]", "no axis 2 among 2: axes are 0 to 1 or -2 to -1"),
        (x.try_softmax(-3), "`softmax` of f64[2,3]", "no axis -3"),
        (x.try_permute([0]), "`permute` of f64[2,3]", "[0] does not name each of the 2 axes once"),
        (x.try_slice((2usize, ..)), "`slice` of f64[2,3]", "position 2 is out of range for axis 0, which is 2 long"),
        (x.try_squeeze(1), "`squeeze` of f64[2,3]", "axis 1 is 3 long"),
        (x.try_squeeze([0, 0]), "`squeeze` of f64[2,3]", "axis 0 is named twice"),
        (one(x.try_split(2, 1)), "`split` of f64[2,3]", "axis 1 is 3 long, and 2 equal parts do not divide it"),
        (one(x.try_split(0, 1)), "`split` of f64[2,3]", "no splitting into 0 parts"),
        (one(x.try_split(-1, 1)), "`split` of f64[2,3]", "no splitting into -1 parts"),
        (one(x.try_split([1usize, 1], 1)), "`split` of f64[2,3]", "[1, 1] do not add up to axis 1, which is 3 long"),
        (one(x.try_unstack(2)), "`unstack` of f64[2,3]", "no axis 2"),
        (x.try_pad([(1, 1)], 0.0), "`pad` of f64[2,3]", "amounts"),
        (x.try_pad(-2, 0.0), "`pad` of f64[2,3]", "axis 0, 2 long, cannot be padded by -2 and -2"),
        (x.try_pad((0, 0, -1), 0.0), "`pad` of f64[2,3]", "negative numbers of elements between"),
        (x.try_pad(isize::MAX, 0.0), "`pad` of f64[2,3]", "does not fit in memory"),
        (x.try_repeat(-1, 0), "`repeat` of f64[2,3]", "the count -1 is negative"),
        (x.try_tensordot_by(&y, 1), "`tensordot_by` of f64[2,3] and f64[4,3]", "axis 1 of the first is 3 long, axis 0"),
        (x.try_tensordot_by(&y, 3), "`tensordot_by` of f64[2,3] and f64[4,3]", "operand 0 has 2 axes, and 3 are to be"),
        (Tensor::try_stack([&x, &y], 0), "`stack` of f64[2,3] and f64[4,3]", "the types differ"),
        (Tensor::try_concat(Vec::<Tensor>::new(), 0), "`concat`", "at least one tensor"),
        (Tensor::try_einsum("...i,...i->i", [&x, &x]), "`einsum` of f64[2,3] and f64[2,3]", "the result lacks `...`"),
        (
            Tensor::try_einsum("...i,...i", [&x, &y]),
            "`einsum` of f64[2,3] and f64[4,3]",
            "under `...` the shapes do not",
        ),
        (Tensor::try_einsum("...ijk", [&x]), "`einsum` of f64[2,3]", "operand 0 has 2 axes, and 3 labels beside `...`"),
        (Tensor::try_einsum("..ij", [&x]), "`einsum` of f64[2,3]", "`.` in `..ij` is no label"),
        (Tensor::try_einsum("...i...", [&x]), "`einsum` of f64[2,3]", "`...` occurs twice"),
    ] {
        let text = result.expect_err(named).to_string();
        assert!(text.starts_with(named) && text.contains(&ours) && text.contains(why), "{named}, {why}: {text}");
    }
}
