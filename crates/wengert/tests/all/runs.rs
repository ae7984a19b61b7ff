//! What users run goes through the engine: alone in its process, because steps of the reference are counted for all of it.

use wengert::prelude::*;
use wengert::{Array, Compile, Program, compile, plans_made, reference_steps};

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

#[test]
fn rows_of_arrays_are_taken_without_a_plan() {
    alone("runs::rows_of_arrays_are_taken_without_a_plan", || {
        let x = Tensor::linspace(0.0, 1.0, 3000 * 4).reshape(&[3000, 4]);
        let before = plans_made();
        let mut last = Tensor::zeros(&[4]);
        for t in 0..3000 {
            last = x.slice(t);
            let [start, end] = [t, (t + 5).min(3000)];
            assert_eq!(x.slice((start..end, 1..3)).shape(), [end - start, 2]);
        }
        assert_eq!(x.reshape(&[4, 3000]).shape(), [4, 3000]);
        assert_eq!(plans_made(), before);
        assert_eq!(last.to_vec(), x.to_vec()[2999 * 4..]);
        // Small and large ones, in every form, are what the engine makes of them.
        let forms: [fn(&Tensor) -> Tensor; 8] = [
            |x| x.slice((2..5, ..)),
            |x| x.slice((.., 3)),
            |x| x.slice((5..2000, 1..3)),
            |x| x.slice((.., 1..4)).t(),
            |x| x.slice(7).expand_dims(0),
            |x| x.slice((4..8, ..)).flip(1).t(),
            |x| x.t().slice((1, 10..20)),
            |x| x.reshape(&[40, 300]).slice((3..5, 2..7)),
        ];
        for (k, form) in forms.into_iter().enumerate() {
            let (at_once, planned) = (form(&x), compile(move |x: Tensor| form(&x) + 0.0).call(&x));
            assert_eq!((at_once.shape(), at_once.to_vec()), (planned.shape(), planned.to_vec()), "form {k}");
        }
    });
}
