//! Programs that nobody would write, and that a text may hold all the same: they are answered, in time and memory that fit the text.

use std::fmt::Write;

use wengert::primitives::{Pad, Reduce, Reducer};
use wengert::{Array, Builder, DType, Program, Type};

fn refusal(text: &str) -> String {
    text.parse::<Program>().unwrap_err().to_string()
}

#[test]
fn long_chains_of_constants_are_differentiated() {
    let count = 100_000;
    let mut text = String::from("program(v0: f64[]) {\n v1: f64[] = constant[value=2.0f64]\n");
    for k in 2..count {
        writeln!(text, " v{k}: f64[] = broadcast[shape=[], axes=[]] v{}", k - 1).unwrap();
    }
    writeln!(text, " v{count}: f64[] = mul v0 v{}\n return v{count} }}", count - 1).unwrap();
    let program: Program = text.parse().unwrap();
    let inputs = [Array::scalar(3.0), Array::scalar(1.0)];
    let pulled = program.vjp(&[true]).unwrap().run_reference(&inputs).unwrap();
    assert_eq!(pulled.last().unwrap().to_f64(), [2.0]);
}

/// A body in `depth` Programs, each of which `open` begins and `close` ends.
fn nested(depth: usize, open: &str, innermost: &str, close: &str) -> String {
    format!("{}{innermost}{}", open.repeat(depth), close.repeat(depth))
}

#[test]
fn deep_programs_are_read_in_time() {
    // A map that is not linear, for a reason that stands at the bottom: each level above it was asked twice.
    let map = nested(
        60,
        "program(v0: f64[3]) { v1: f64[3] = call[program=",
        "program(v0: f64[3]) { v1: f64[3] = sin v0; return v1 }",
        "] v0; return v1 }",
    );
    let text = format!(
        "program(v0: f64[3]) {{ v1: f64[3] = solve[map={map}, name=solve, checked=true, lanes=[], masked=false, by=cg, \
         tolerance=1e-10f64, limit=10] v0; return v1 }}"
    );
    let error = refusal(&text);
    assert!(error.contains("not linear"), "{error}");
}

#[test]
fn deep_loops_and_branches_have_derivatives_in_time() {
    let loops = nested(
        24,
        "program(v0: f64[]) { v1: f64[] = scan[body=",
        "program(v0: f64[]) { v1: f64[] = sin v0; return v1 }",
        ", length=1, carry=1, rows=0, reverse=false] v0; return v1 }",
    );
    let branches = nested(
        24,
        "program(v0: f64[]) { v1: bool[] = constant[value=true]; v2: f64[] = cond[yes=program(v0: f64[]) {
            v1: f64[] = cos v0; return v1 }, no=",
        "program(v0: f64[]) { v1: f64[] = sin v0; return v1 }",
        "] v1 v0; return v2 }",
    );
    for text in [&loops, &branches] {
        let program: Program = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.jvp(&[true]).unwrap().output_types().len(), 2);
    }
    // Each step reads what all have, whose cotangent is a sum over the steps of all loops.
    let sums = nested(
        24,
        "program(v0: f64[], v1: f64[]) { v2: f64[] = scan[body=",
        "program(v0: f64[], v1: f64[]) { v2: f64[] = add v0 v1; return v2 }",
        ", length=2, carry=1, rows=0, reverse=false] v0 v1; return v2 }",
    );
    let program: Program = sums.parse().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.transpose(&[true, true]).unwrap().output_types().len(), 2);
}

#[test]
fn patterns_of_a_text_have_room_together() {
    let product = |k: usize, rows: usize| {
        format!(
            " v{k}: f64[{rows},0] = sparse_product[rows={rows}, cols=1, offsets=\"*{rows}\", transpose=false] v0 v1\n"
        )
    };
    let text = |rows: &[usize]| {
        let products: String = rows.iter().enumerate().map(|(k, &rows)| product(k + 2, rows)).collect();
        format!("program(v0: f64[0], v1: f64[1,0]) {{\n{products} return v2 }}")
    };
    let error = refusal(&text(&[10, (1 << 27) - 5]));
    assert!(error.contains("the patterns of a text have"), "{error}");
    // The same one is there once.
    assert!(text(&[1 << 20; 200]).parse::<Program>().is_ok());
}

#[test]
fn places_beside_an_array_are_bounded() {
    let text = |low: i64, high: i64| {
        format!(
            "program(v0: f64[4], v1: f64[]) {{ v2: f64[3] = pad[low=[{low}], high=[{high}], interior=[0]] v0 v1
             return v2 }}"
        )
    };
    let error = refusal(&text(i64::MIN, i64::MAX));
    assert!(error.contains("cannot be padded"), "{error}");
    let program: Program = text(-3, 2).parse().unwrap();
    assert!(program.vjp(&[true, true]).is_ok());
    let mut b = Builder::new();
    let (x, v) = (b.input("", Type::new(DType::F64, &[4])), b.input("", Type::new(DType::F64, &[])));
    assert!(b.emit(Pad::new(&[i64::MIN], &[i64::MAX]), &[x, v]).is_err());
}

#[test]
fn axes_in_another_order_are_those_axes() {
    for name in ["sum", "prod", "max_over", "min_over"] {
        let [sorted, turned] = ["[0,1]", "[1,0]"].map(|axes| {
            let text = format!("program(v0: f64[2,2,3]) {{ v1: f64[3] = {name}[axes={axes}] v0; return v1 }}");
            text.parse::<Program>().unwrap()
        });
        let patterns = [&sorted, &turned].map(|program| program.jacobian_pattern(&[true]).unwrap());
        assert_eq!(patterns[0], patterns[1], "{name}");
        assert_eq!(patterns[1][0].row(1), [1, 4, 7, 10], "{name}");
    }
    let mut b = Builder::new();
    let x = b.input("", Type::new(DType::F64, &[2, 2, 3]));
    let error = b.emit(Reduce { reducer: Reducer::Sum, axes: vec![1, 0] }, &[x]).unwrap_err().to_string();
    assert!(error.contains("not increasing"), "{error}");
    assert!(b.emit(Reduce::new(Reducer::Sum, &[1, 0]), &[x]).is_ok());
}
