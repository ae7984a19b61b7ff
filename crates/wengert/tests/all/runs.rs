//! What users run goes through the engine: alone in its process, because steps of the reference are counted for all of it.

use wengert::prelude::*;
use wengert::{Array, Compile, Program, reference_steps};

use crate::support::process::alone;

#[test]
fn nothing_that_users_run_is_handed_to_the_reference() {
    alone("runs::nothing_that_users_run_is_handed_to_the_reference", || {
        let text = "program(v0 \"x\": f64[4,3], v1 \"w\": f64[3,2]) {
          v2: f64[4,2] = einsum[spec=\"ab,bc->ac\"] v0 v1
          v3: f64[4,2] = tanh v2
          v4: f64[4] = sum[axes=[1]] v3
          v5: f64[4] = cumsum[axis=0, reverse=false] v4
          v6: f64[] = sum[axes=[0]] v5
          return v6 v3
        }";
        let program: Program = text.parse().expect("it is a program");
        let args = [Tensor::linspace(-1.0, 1.0, 12).reshape(&[4, 3]), Tensor::linspace(0.2, 0.9, 6).reshape(&[3, 2])];
        let args = args.map(|arg| arg.to_array());
        let before = reference_steps();
        let once = program.run(&args).expect("it runs");
        let compiled = program.compile().expect("it is planned");
        let again = compiled.run(&args).expect("it runs");
        let alone =
            Compile::new().threads(1).memory(1 << 20).program(&program).expect("it fits").run(&args).expect("it runs");
        assert_eq!(reference_steps(), before);
        assert_eq!(compiled.program().count(), 5);
        let wanted = program.run_reference(&args).expect("it runs");
        assert!(reference_steps() > before);
        for results in [&once, &again, &alone] {
            let close = |x: &Array, y: &Array| x.to_f64().iter().zip(y.to_f64()).all(|(x, y)| (x - y).abs() < 1e-14);
            assert!(results.len() == 2 && results.iter().zip(&wanted).all(|(x, y)| x.ty() == y.ty() && close(x, y)));
        }
    });
}
