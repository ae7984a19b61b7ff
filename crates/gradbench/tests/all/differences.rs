//! Derivatives of the four large problems against differences of their own values, and what can be said of them without any.
//!
//! A central difference with step `h` is off by about `h^2` times a third derivative, and by the rounding of the values over `h`.

use serde_json::{Value, json};

use super::{Random, output};

/// The number at a place of an output.
fn number(value: &Value, place: &str) -> f64 {
    value.pointer(place).and_then(Value::as_f64).unwrap_or_else(|| panic!("{place}"))
}

/// The derivative of an output by a number of the input.
fn difference(module: &str, input: &Value, of: &str, by: &str) -> f64 {
    const STEP: f64 = 1e-4;
    let at = |step: f64| {
        let mut input = input.clone();
        let x = number(&input, by) + step;
        *input.pointer_mut(by).unwrap() = json!(x);
        number(&output(module, "objective", input), of)
    };
    (at(STEP) - at(-STEP)) / (2.0 * STEP)
}

fn check(what: &str, ours: f64, difference: f64) {
    let off = (ours - difference).abs() / ours.abs().max(1.0);
    assert!(off < 1e-6, "{what}: {ours}, and by differences {difference}");
}

#[test]
fn gmm_has_the_gradient_of_its_value() {
    let mut random = Random(23);
    for (d, k, n, m, gamma) in [(1, 1, 1, 0, 1.0), (3, 2, 5, 3, 0.7), (4, 5, 9, -1, 1.5)] {
        let input = json!({
            "d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": random.rows(n, d), "alpha": random.numbers(k),
            "mu": random.rows(k, d), "q": random.rows(k, d), "l": random.rows(k, d * (d - 1) / 2),
        });
        let gradient = output("gmm", "jacobian", input.clone());
        let mut places =
            vec![format!("/alpha/{}", k - 1), format!("/mu/{}/{}", k - 1, d - 1), format!("/q/0/{}", d - 1)];
        places.extend((0..d * (d - 1) / 2).map(|place| format!("/l/{}/{place}", k - 1)));
        for place in places {
            check(&place, number(&gradient, &place), difference("gmm", &input, "", &place));
        }
    }
}

#[test]
fn lstm_has_the_gradient_of_its_value() {
    let mut random = Random(29);
    for (l, c, b) in [(1, 2, 1), (3, 5, 2), (2, 9, 14)] {
        let bits: Vec<Vec<f64>> = random.rows(c, b).iter().map(|row| row.iter().map(|x| x.round()).collect()).collect();
        let input = json!({
            "main_params": random.rows(2 * l, 4 * b), "extra_params": random.rows(3, b), "state": random.rows(2 * l, b),
            "sequence": bits,
        });
        let gradient = output("lstm", "jacobian", input.clone());
        assert_eq!(gradient.as_array().unwrap().len(), 8 * l * b + 3 * b);
        for (row, column) in [(0, 0), (0, 3 * b), (1, 4 * b - 1), (2 * l - 1, b), (2 * l - 2, 2 * b)] {
            let place = format!("/main_params/{row}/{column}");
            let ours = number(&gradient, &format!("/{}", row * 4 * b + column));
            check(&place, ours, difference("lstm", &input, "", &place));
        }
        for row in 0..3 {
            let place = format!("/extra_params/{row}/{}", b - 1);
            let ours = number(&gradient, &format!("/{}", 8 * l * b + row * b + b - 1));
            check(&place, ours, difference("lstm", &input, "", &place));
        }
    }
}

#[test]
fn ba_has_the_rows_of_its_first_observation() {
    let camera = [0.3, -0.2, 0.5, 1.0, 2.0, -3.0, 40.0, 5.0, -8.0, 0.02, 0.003];
    for (rotation, [n, m, p]) in [(camera[0], [2, 3, 7]), (0.0, [5, 4, 11])] {
        let mut camera = camera;
        (camera[0], camera[1], camera[2]) = if rotation == 0.0 { (0.0, 0.0, 0.0) } else { (rotation, -0.2, 0.5) };
        let input =
            json!({"n": n, "m": m, "p": p, "cam": camera, "x": [1.5, 0.25, 4.0], "w": 0.75, "feat": [3.0, -2.0]});
        let jacobian = output("ba", "jacobian", input.clone());
        for array in ["rows", "cols", "vals"] {
            assert_eq!(
                jacobian[array].as_array().unwrap().len(),
                if array == "rows" { (3 * p + 1).min(30) + 1 } else { 31 }
            );
        }
        assert_eq!(number(&jacobian, "/rows/2"), 30.0);
        assert_eq!(jacobian["rows"].as_array().unwrap().last().unwrap().as_u64(), Some(31 * p as u64));
        assert_eq!(number(&jacobian, "/cols/30"), (11 * n + 3 * m + p - 1) as f64);
        let inputs: Vec<String> =
            (0..11).map(|k| format!("/cam/{k}")).chain((0..3).map(|k| format!("/x/{k}"))).collect();
        for (k, by) in inputs.iter().map(String::as_str).chain(["/w"]).enumerate() {
            for row in 0..2 {
                let ours = number(&jacobian, &format!("/vals/{}", 15 * row + k));
                let of = format!("/reproj_error/elements/{row}");
                // Where the rotation is zero its formula changes: differences meet the other side.
                let off = (ours - difference("ba", &input, &of, by)).abs() / ours.abs().max(1.0);
                assert!(off < 1e-5, "{by}, row {row}: {ours}, {off}");
            }
        }
        let columns = [0, 10, 11 * n, 11 * n + 2, 11 * n + 3 * m];
        for (k, column) in [0, 10, 11, 13, 14].into_iter().zip(columns) {
            assert_eq!(number(&jacobian, &format!("/cols/{k}")), column as f64);
        }
        assert_eq!(number(&jacobian, "/vals/30"), -1.5);
    }
}

/// A hand of three bones and one triangle, seen at these places of it, or at its vertices.
pub(crate) fn hand(us: &[[f64; 2]]) -> Value {
    let matrix = |x: f64| json!([[1, 0.1 * x, 0, x], [-0.1 * x, 1, 0, 0.5], [0, 0, 1, 0.25 * x], [0, 0, 0, 1]]);
    let theta: Vec<f64> = (0..26).map(|k| 0.1 + 0.05 * f64::from(k)).collect();
    let count = if us.is_empty() { 3 } else { us.len() };
    let correspondences: Vec<usize> = if us.is_empty() { vec![2, 0, 1] } else { vec![0; count] };
    json!({
        "theta": theta, "us": us,
        "data": {
            "correspondences": correspondences,
            "points": (0..count).map(|k| [k as f64, 0.5, -0.25]).collect::<Vec<_>>(),
            "model": {
                "bone_count": 3, "bone_names": ["wrist", "first", "second"], "parents": [-1, 0, 1],
                "base_relatives": [matrix(0.5), matrix(1.0), matrix(1.5)],
                "inverse_base_absolutes": [matrix(-0.5), matrix(-1.0), matrix(-1.5)],
                "base_positions": [[1, 2, 3, 1], [2, 0, 1, 1], [0, 1, -1, 1]],
                "weights": [[0.5, 0.25, 0.25], [0, 1, 0], [0, 0.25, 0.75]],
                "triangles": [[0, 1, 2]],
                "is_mirrored": false,
            },
        },
    })
}

#[test]
fn ht_has_the_jacobian_of_its_distances() {
    let places = [[0.25, 0.5], [0.75, -0.5], [0.1, 0.2]];
    for us in [&places[..], &[]] {
        let input = hand(us);
        let jacobian = output("ht", "jacobian", input.clone());
        let by_place = if us.is_empty() { 0 } else { 2 };
        assert_eq!(jacobian.as_array().unwrap().len(), 9);
        assert!(jacobian.as_array().unwrap().iter().all(|row| row.as_array().unwrap().len() == 26 + by_place));
        for row in 0..9 {
            let ours = |column: usize| number(&jacobian, &format!("/{row}/{column}"));
            for k in 0..26 {
                let by = format!("/theta/{k}");
                check(&by, ours(by_place + k), difference("ht", &input, &format!("/{row}"), &by));
            }
            for k in 0..by_place {
                let by = format!("/us/{}/{k}", row / 3);
                check(&by, ours(k), difference("ht", &input, &format!("/{row}"), &by));
            }
        }
    }
}

#[test]
fn a_mirrored_hand_is_a_hand_with_the_other_x_before_it_is_turned() {
    let mut input = hand(&[]);
    for k in 0..3 {
        input["theta"][k] = json!(0.0);
    }
    let distances = |input: &Value| output("ht", "objective", input.clone());
    let plain = distances(&input);
    input["data"]["model"]["is_mirrored"] = json!(true);
    let mirrored = distances(&input);
    for k in 0..9 {
        let point = number(&input, &format!("/data/points/{}/{}", k / 3, k % 3));
        let moved = number(&input, &format!("/theta/{}", 3 + k % 3));
        // point - (x + moved), not turned.
        let vertex = |distances: &Value| point - moved - number(distances, &format!("/{k}"));
        let sign = if k % 3 == 0 { -1.0 } else { 1.0 };
        assert!((vertex(&mirrored) - sign * vertex(&plain)).abs() < 1e-14, "{k}");
    }
}
