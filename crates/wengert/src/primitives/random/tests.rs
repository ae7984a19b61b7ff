//! Tests of what is private here.

use super::*;
use crate::primitives::trials::{check_vmap, moved, program_of};

fn run(op: &RandomBits, key: &Array) -> Array {
    op.eval(&[key]).expect("it draws").remove(0)
}

fn words([first, second]: [u64; 2], key: [u64; 2]) -> [u64; 2] {
    threefry([[first], [second]], key).map(|[word]| word)
}

#[test]
fn threefry_gives_the_published_words() {
    // The known answers that come with the authors' library Random123.
    let ones = [u64::MAX; 2];
    let pi = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
    let more_pi = [0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];
    assert_eq!(words([0, 0], [0, 0]), [0xc2b6_e3a8_c2c6_9865, 0x6f81_ed42_f350_084d]);
    assert_eq!(words(ones, ones), [0xe02c_b7c4_d95d_277a, 0xd066_33d0_893b_8b68]);
    assert_eq!(words(pi, more_pi), [0x263c_7d30_bb0f_0af1, 0x56be_8361_d331_1526]);
}

#[test]
fn an_element_depends_on_its_place_and_key_alone() {
    let key = Array::new(&[2], vec![3i64, -7]);
    let long = run(&RandomBits::new(&[3, 3], RandomKind::Bits), &key);
    let wanted: Vec<i64> =
        (0..9u64).map(|k| words([k / 2, 0], [3, (-7i64).cast_unsigned()])[(k % 2) as usize].cast_signed()).collect();
    assert_eq!(long.known::<i64>(), wanted);
    assert_eq!(run(&RandomBits::new(&[4], RandomKind::Bits), &key).known::<i64>(), &wanted[..4]);
    let units: Vec<f64> = wanted.iter().map(|&word| (word.cast_unsigned() >> 11) as f64 * 0.5f64.powi(53)).collect();
    let unit = RandomBits::new(&[9], RandomKind::Uniform(DType::F64));
    assert_eq!(run(&unit, &key).known::<f64>(), units);
    let units: Vec<f32> = wanted.iter().map(|&word| (word.cast_unsigned() >> 40) as f32 * 0.5f32.powi(24)).collect();
    let unit = RandomBits::new(&[9], RandomKind::Uniform(DType::F32));
    assert_eq!(run(&unit, &key).known::<f32>(), units);
}

#[test]
fn lanes_of_keys_are_draws_of_their_own() {
    for sample in RandomBits::samples() {
        let lane = |lane: usize, _: usize, key: &Array| moved(key, lane as i64);
        check_vmap(&program_of(&sample.op, &sample.args), &sample.args, &lane);
    }
}

#[test]
fn misfits_say_what_a_key_is() {
    let why = |kind, key: &Type| RandomBits::new(&[1], kind).infer(&[key]).expect_err("it does not fit").0;
    let key = Type::new(DType::I64, &[2, 3]);
    assert!(why(RandomKind::Bits, &key).starts_with("the key is i64[2,3], and has to be i64[2]"));
    assert!(why(RandomKind::Bits, &Type::new(DType::I64, &[])).starts_with("the key is i64[]"));
    let bool = RandomKind::Uniform(DType::Bool);
    assert_eq!(why(bool, &Type::new(DType::I64, &[2])), "uniform numbers are real (f32 or f64), not bool");
}

/// The Program of a distribution of one key.
fn distribution(draw: fn(&mut Builder, Value, &[usize], DType) -> Value, count: usize, dtype: DType) -> Vec<f64> {
    let mut b = Builder::new();
    let key = b.input("key", Type::new(DType::I64, &[2]));
    let drawn = draw(&mut b, key, &[count], dtype);
    let out = b.finish(&[drawn]).run_reference(&[Array::new(&[2], vec![1i64, 2])]).expect("it draws");
    assert_eq!(out[0].dtype(), dtype);
    out[0].to_f64()
}

#[test]
fn moments_are_those_of_the_distributions() {
    let count = 20_000;
    let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
    let power = |x: &[f64], n: i32| mean(&x.iter().map(|x| x.powi(n)).collect::<Vec<f64>>());
    // Five standard errors of the mean of x^n.
    let near = |found: f64, wanted: f64, variance: f64| {
        assert!((found - wanted).abs() < 5.0 * (variance / count as f64).sqrt(), "{found} is not near {wanted}");
    };
    for dtype in [DType::F32, DType::F64] {
        let u = distribution(uniform, count, dtype);
        assert!(u.iter().all(|u| (0.0..1.0).contains(u)));
        near(mean(&u), 0.5, 1.0 / 12.0);
        near(power(&u, 2), 1.0 / 3.0, 4.0 / 45.0);
        let z = distribution(normal, count, dtype);
        assert!(z.iter().all(|z| z.is_finite()));
        near(mean(&z), 0.0, 1.0);
        near(power(&z, 2), 1.0, 2.0);
        near(power(&z, 3), 0.0, 15.0);
        near(power(&z, 4), 3.0, 96.0);
    }
}

#[test]
fn the_middle_of_the_outermost_steps_is_inside() {
    for u in [0.0, unit_f64(u64::MAX)] {
        let middle = 2.0 * u - 1.0 + f64::EPSILON / 2.0;
        assert!(middle.abs() < 1.0 && Unary::Erfinv.eval(middle).is_finite(), "{middle}");
    }
    for u in [0.0, unit_f32(u64::MAX)] {
        assert!((2.0 * u - 1.0 + f32::EPSILON / 2.0).abs() < 1.0, "{u}");
    }
}
