//! Blocks of a result that are written where it lies: the numbers are those of copies, whatever stands between the blocks.

use wengert::plan::{Detail, Options, Plan};
use wengert::prelude::*;
use wengert::{Array, Compile, DType, Program, Type, scan};

/// Numbers of a type that differ from place to place.
fn numbers(ty: &Type, seed: usize) -> Array {
    let of = |k: usize| ((k * 37 + seed * 11) % 101) as f64 * 0.013 - 0.6;
    let count = ty.size();
    match ty.dtype {
        DType::F64 => Array::new(&ty.shape, (0..count).map(of).collect::<Vec<f64>>()),
        DType::F32 => Array::new(&ty.shape, (0..count).map(|k| of(k) as f32).collect::<Vec<f32>>()),
        DType::I64 => Array::new(&ty.shape, (0..count).map(|k| (k * 7 + seed) as i64 % 23).collect::<Vec<i64>>()),
        DType::Bool => Array::new(&ty.shape, (0..count).map(|k| (k + seed).is_multiple_of(3)).collect::<Vec<bool>>()),
    }
}

/// The engine against the definitions on one, two and three threads, twice with one memory; and what the plan says of it.
#[track_caller]
fn check(text: &str, note: Option<&str>) {
    let program: Program = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let args: Vec<Array> = program.input_types().iter().enumerate().map(|(k, ty)| numbers(ty, k)).collect();
    let expected = program.run_reference(&args).unwrap();
    for threads in [1, 2, 3] {
        let plan = Plan::new(&program, &Options { threads, ..Options::default() }).unwrap();
        let told = plan.explain(Detail::Steps);
        match note {
            Some(note) => assert!(told.contains(note), "{note}:\n{told}"),
            None => assert!(!told.contains("written in its place"), "{told}"),
        }
        for _ in 0..2 {
            let results = plan.eval(&args).unwrap();
            for (result, expected) in results.iter().zip(&expected) {
                assert_eq!(result.ty(), expected.ty());
                let apart = |(x, y): (f64, f64)| (x - y).abs() > 1e-5 * (1.0 + y.abs());
                let pairs = result.to_f64().into_iter().zip(expected.to_f64());
                assert!(!pairs.clone().any(apart), "{threads} threads: {result:?}, not {expected:?}\n{told}");
            }
        }
    }
}

const ALL: &str = "all of it is written in its place";
const REST: &str = "the rest is written in its place";

#[test]
fn what_a_product_and_a_region_compute_is_written_there() {
    let blocks = "program(v0: f64[130,70], v1: f64[70,90], v2: f64[3000]) {
        v3: f64[130,90] = einsum[spec=\"ij,jk->ik\"] v0 v1
        v4: f64[11700] = reshape[shape=[11700]] v3
        v5: f64[3000] = sin v2
        v6: f64[3000] = mul v5 v2
        v7: f64[14700] = concat[axis=0] v4 v6
        return v7
    }";
    check(blocks, Some(ALL));
    check(&blocks.replace("f64", "f32"), Some(ALL));
    // The result is read too.
    check(&blocks.replace("return v7", "v8: f64[14700] = cumsum[axis=0, reverse=false] v7\nreturn v7 v8"), Some(ALL));
    // Two blocks of one step, in its order, and in another one, in which one of them is copied.
    let both = |order: &str, note| {
        let joined = format!("v7: f64[17700] = concat[axis=0] {order}");
        check(&blocks.replace("v7: f64[14700] = concat[axis=0] v4 v6", &joined), Some(note));
    };
    both("v4 v5 v6", ALL);
    both("v5 v4 v6", ALL);
    both("v6 v5 v4", REST);
    // It is twice a result.
    check(&blocks.replace("return v7", "return v7 v7"), Some(ALL));
}

#[test]
fn what_cannot_be_written_there_is_copied() {
    let blocks = |args: &str, length: usize, results: &str| {
        format!(
            "program(v0: f64[2000], v1: f64[40,50], v2: f64[60,40]) {{
            v3: f64[60,50] = einsum[spec=\"ij,jk->ik\"] v2 v1
            v4: f64[3000] = reshape[shape=[3000]] v3
            v5: f64[2000] = cumsum[axis=0, reverse=false] v0
            v6: f64[50,40] = permute[order=[1,0]] v1
            v7: f64[2000] = reshape[shape=[2000]] v6
            v8: f64[] = constant[value=1.5f64]
            v9: f64[7] = broadcast[shape=[7], axes=[]] v8
            v10: f64[0] = slice[start=[0], limit=[0], stride=[1]] v0
            v11: f64[1999] = slice[start=[1], limit=[2000], stride=[1]] v5
            v12: f64[{length}] = concat[axis=0] {args}
            return {results}
        }}"
        )
    };
    // An input, a turned one, a number, and nothing at all.
    check(&blocks("v0 v4 v7 v9 v10 v5", 9007, "v12"), Some(REST));
    check(&blocks("v10 v4", 3000, "v12"), Some(REST));
    // A block twice, one that is a result itself, one that another step reads, a part of a value.
    check(&blocks("v4 v4 v5", 8000, "v12"), Some(REST));
    check(&blocks("v4 v5", 5000, "v12 v5"), Some(REST));
    check(&blocks("v4 v11", 4999, "v12"), Some(REST));
    check(&blocks("v5 v5", 4000, "v12"), None);
    check(&blocks("v4 v5", 5000, "v4 v5"), None);
}

#[test]
fn blocks_beside_each_other_are_copied() {
    check(
        "program(v0: f64[60,40], v1: f64[40,50], v2: f64[60,9]) {
            v3: f64[60,50] = einsum[spec=\"ij,jk->ik\"] v0 v1
            v4: f64[60,59] = concat[axis=1] v3 v2
            return v4
        }",
        None,
    );
    // One row of blocks is one after the other.
    check(
        "program(v0: f64[1,40], v1: f64[40,50], v2: f64[1,9]) {
            v3: f64[1,50] = einsum[spec=\"ij,jk->ik\"] v0 v1
            v4: f64[1,9] = cumsum[axis=1, reverse=false] v2
            v5: f64[1,59] = concat[axis=1] v3 v4
            return v5
        }",
        Some(ALL),
    );
}

#[test]
fn truth_values_and_integers_have_blocks_too() {
    check(
        "program(v0: i64[500], v1: i64[300], v2: bool[400]) {
            v3: i64[500] = cumsum[axis=0, reverse=false] v0
            v4: i64[300] = cumsum[axis=0, reverse=true] v1
            v5: i64[800] = concat[axis=0] v3 v4
            v6: bool[400] = reverse[axes=[0]] v2
            v7: i64[400] = convert[to=i64] v6
            v8: i64[400] = cumsum[axis=0, reverse=false] v7
            v9: bool[400] = convert[to=bool] v8
            v10: i64[500] = add v0 v0
            v11: bool[500] = lt v3 v10
            v12: bool[900] = concat[axis=0] v9 v11
            return v5 v12
        }",
        Some(ALL),
    );
}

#[test]
fn a_loop_carries_what_is_joined() {
    let step = |x: Tensor, w: &Tensor| {
        let (a, b) = (x.slice((..30, ..)), x.slice((30.., ..)));
        Tensor::concat(&[&b.matmul(w).tanh(), &(a.cumsum(0) * 0.01)], 0)
    };
    let loss = move |x: Tensor, w: Tensor| {
        let (last, _) = scan((x, w), Tensor::zeros(&[5]), |(x, w): (Tensor, Tensor), row: Tensor| {
            let next = step(x, &w);
            ((next, w), row)
        });
        last.0.square().sum()
    };
    let by_hand = move |mut x: Tensor, w: Tensor| {
        for _ in 0..5 {
            x = step(x, &w);
        }
        x.square().sum()
    };
    let shape = |shape: &[usize]| Tensor::from_array(numbers(&Type::new(DType::F64, shape), 5));
    let (x, w) = (shape(&[60, 40]), shape(&[40, 40]));
    for threads in [1, 2] {
        let compiled = Compile::new().threads(threads).function(move |(x, w): (Tensor, Tensor)| {
            let (by_x, by_w) = grad((&x, &w), |(x, w)| loss(x, w));
            Tensor::concat(&[&by_x.flatten(), &by_w.flatten()], 0)
        });
        let (by_x, by_w) = grad((&x, &w), |(x, w)| by_hand(x, w));
        let expected = [by_x.to_vec(), by_w.to_vec()].concat();
        for _ in 0..2 {
            let found = compiled.call((&x, &w)).to_vec();
            let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
            assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() <= 1e-12 * largest));
        }
    }
}

#[test]
fn an_input_that_is_given_away_is_not_written_over_early() {
    // The result may lie where an input does; its first block is there before the input has been read for the second.
    let x = Tensor::from_array(numbers(&Type::new(DType::F64, &[4000]), 1));
    let f = |x: Tensor| {
        let (a, b) = (x.slice(..2000), x.slice(2000..));
        Tensor::concat(&[&(b.cumsum(0) * 0.5), &(a.flip(0).cumsum(0) + x.sum())], 0)
    };
    let expected = f(x.clone()).to_vec();
    let compiled = Compile::new().function(f);
    for _ in 0..3 {
        assert_eq!(compiled.call_donating(Tensor::from_vec(&[4000], x.to_vec())).to_vec(), expected);
    }
}
