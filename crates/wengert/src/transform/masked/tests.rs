//! Masks through contractions, against counting and against operands that are not finite.

use super::*;
use crate::array::Array;
use crate::primitives::samples;

const INF: f64 = f64::INFINITY;

/// Truth values: one that is true, none, or some without a pattern.
fn marks(seed: usize, shape: &[usize]) -> Array {
    let size = shape.iter().product::<usize>();
    let mark = |k: usize| match seed {
        0 => false,
        1 => (k * k + 3 * k) % 5 < 2,
        _ => k == (5 * seed + 1) % size,
    };
    Array::new(shape, (0..size).map(mark).collect::<Vec<bool>>())
}

#[test]
fn marks_without_sums_are_those_that_counting_gives() {
    let mut compared = 0;
    for sample in samples() {
        if !matches!(sample.op, Op::Einsum(_) | Op::Conv(_)) {
            continue;
        }
        let types = [0, 1].map(|k| sample.args[k].ty().with_dtype(DType::F64));
        let out = sample.op.infer(&[&types[0], &types[1]]).unwrap().swap_remove(0);
        for (operand, seed) in (0..2).flat_map(|operand| (0..6).map(move |seed| (operand, seed))) {
            let mut b = Builder::new();
            let mask = b.input("", out.with_dtype(DType::Bool));
            let by_rule = met(&mut b, &sample.op, mask, operand, &types).unwrap();
            let count = b.convert(mask, DType::F64);
            let by_count = match ways(&mut b, &sample.op, count, operand, &types, None).unwrap() {
                Some(count) => is_positive(&mut b, count),
                None => b.full(0.0, &types[operand].with_dtype(DType::Bool)),
            };
            let got = b.finish(&[by_rule, by_count]).run_reference(&[marks(seed, &out.shape)]).unwrap();
            assert_eq!(got[0].to_f64(), got[1].to_f64(), "{:?}, operand {operand}, marks {seed}", sample.op);
            compared += 1;
        }
    }
    assert!(compared > 200, "{compared}");
}

fn parse(text: &str) -> Program {
    text.parse().unwrap()
}

/// The equations of a kind on the way that is taken where everything is finite.
fn count(program: &Program, name: &str) -> usize {
    let inside = |op: &Op| match op {
        Op::Cond(cond) => count(&cond.branches[0], name),
        other => other.programs().iter().map(|program| count(program, name)).sum(),
    };
    program.eqns().iter().map(|eqn| usize::from(eqn.op.name() == name) + inside(&eqn.op)).sum()
}

/// `sum of select(m, x w, 0)^2`
const MASKED: &str = "program(v0: f64[2,3], v1: f64[3,2], v2: bool[2,2]) {
  v3: f64[2,2] = einsum[spec=\"ij,jk->ik\"] v0 v1
  v4: f64[] = constant[value=0.0f64]
  v5: f64[2,2] = broadcast[shape=[2,2], axes=[]] v4
  v6: f64[2,2] = select v2 v3 v5
  v7: f64[2,2] = mul v6 v6
  v8: f64[] = sum[axes=[0,1]] v7
  return v8
}";

#[test]
fn a_masked_contraction_is_pulled_back_once() {
    let active = [true, true, false];
    let vjp = parse(MASKED).vjp(&active).unwrap();
    assert_eq!(count(&vjp.optimize(), "einsum"), 3, "the product and its two transposes");
    // Forward over reverse: tangents of the product (2) and of either transpose (2 and 2).
    let hvp = vjp.jvp(&[true, true, false, false]).unwrap().optimize();
    assert_eq!(count(&hvp, "einsum"), 9, "{hvp}");
    assert_eq!(count(&hvp, "cond"), 2, "either gives its value and its tangent");
}

#[test]
fn what_is_not_finite_is_left_out_where_nothing_counts() {
    let vjp = parse(MASKED).vjp(&[true, true, false]).unwrap().optimize();
    let x = Array::new(&[2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (mask, one) = (Array::new(&[2, 2], vec![true, false, false, false]), Array::scalar(1.0));
    let pull = |w: Vec<f64>| {
        let w = Array::new(&[3, 2], w);
        let out = vjp.run_reference(&[x.clone(), w, mask.clone(), one.clone()]).unwrap();
        (out[1].to_f64(), out[2].to_f64())
    };
    // The second column of w meets only what is masked.
    let finite = pull(vec![1.0, 0.0, -1.0, 0.0, 2.0, 0.0]);
    assert_eq!(finite.0, [10.0, -10.0, 20.0, 0.0, 0.0, 0.0]);
    assert_eq!(finite.1, [10.0, 0.0, 20.0, 0.0, 30.0, 0.0]);
    assert_eq!(pull(vec![1.0, INF, -1.0, f64::NAN, 2.0, -INF]), finite);
    // An infinity in the first column meets the cotangent that counts, and one that does not.
    let met = pull(vec![-INF, 0.0, -1.0, 0.0, 2.0, 0.0]);
    assert_eq!((met.0[0], &met.0[3..]), (INF, &[0.0; 3][..]), "the second row of x has no part in it");
}

#[test]
fn lanes_stay_one_of_two() {
    let vjp = parse(MASKED).vjp(&[true, true, false]).unwrap();
    let lanes = vjp.vmap(&[true, true, false, false], 2).unwrap().optimize();
    assert_eq!((count(&lanes, "einsum"), count(&lanes, "cond")), (3, 2), "{lanes}");
    let x = Array::new(&[2, 2, 3], (0..12).map(f64::from).collect::<Vec<f64>>());
    // In the first lane an infinity meets what is masked, in the second one what counts too.
    let w = Array::new(&[2, 3, 2], vec![1.0, INF, 2.0, 0.0, 3.0, 0.0, -INF, 0.0, 2.0, 0.5, 3.0, 0.0]);
    let (mask, one) = (Array::new(&[2, 2], vec![true, false, false, false]), Array::scalar(1.0));
    let together = lanes.run_reference(&[x.clone(), w.clone(), mask.clone(), one.clone()]).unwrap();
    for lane in 0..2 {
        let part = |array: &Array, shape: &[usize]| {
            let size = shape.iter().product::<usize>();
            Array::new(shape, array.to_f64()[lane * size..(lane + 1) * size].to_vec())
        };
        let alone = vjp.run_reference(&[part(&x, &[2, 3]), part(&w, &[3, 2]), mask.clone(), one.clone()]).unwrap();
        for (together, alone) in together.iter().zip(&alone) {
            assert_eq!(part(together, alone.shape()).to_f64(), alone.to_f64());
        }
    }
}

#[test]
fn smooth_functions_make_no_masks() {
    let one = |name: &str| parse(&format!("program(v0: f64[3]) {{ v1: f64[3] = {name} v0; return v1 }}"));
    for name in ["tanh", "sech2", "sigmoid", "softplus", "silu", "gelu_erf", "gelu_tanh"] {
        assert_eq!(count(&one(name).vjp(&[true]).unwrap().optimize(), "select"), 0, "{name}");
    }
    let mut tanh = one("tanh");
    for order in 1..=3 {
        tanh = tanh.jvp(&vec![true; tanh.input_types().len()]).unwrap().optimize();
        let simple = ["tanh", "sech2", "mul", "add", "neg", "constant", "broadcast"];
        let other = tanh.eqns().iter().find(|eqn| !simple.contains(&&*eqn.op.name()));
        assert!(other.is_none(), "order {order}: {tanh}");
    }
}

#[test]
fn equal_equations_are_pulled_back_once() {
    let product = "einsum[spec=\"ij,jk->ik\"]";
    let twice = parse(&format!(
        "program(v0: f64[2,2], v1: f64[2,2]) {{
           v2: f64[2,2] = {product} v0 v1; v3: f64[2,2] = {product} v0 v1
           v4: f64[2,2] = sin v2; v5: f64[2,2] = mul v3 v4; return v5 }}"
    ));
    assert_eq!(count(&twice.vjp(&[true, true]).unwrap(), "einsum"), 3);
}
