//! Tests of what is private here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

#[test]
fn a_panic_inside_a_rule_leaves_nothing_behind() {
    let ty = Type::new(DType::F64, &[3]);
    let mut b = Builder::new();
    let x = b.input("x", ty.clone());
    let failed = catch_unwind(AssertUnwindSafe(|| {
        with_rule(&mut b, &ty, || -> Sym {
            let _ = Sym::Value(x).sin();
            panic!("the rule fails")
        })
    }));
    assert!(failed.is_err());
    // The builder is back, with what it held, and the next rule runs.
    let y = with_rule(&mut b, &ty, || Sym::Value(x).exp());
    let y = y.materialise(&mut b, &ty);
    assert_eq!(b.finish(&[y]).input_types(), [ty]);
}
