//! Other sizes than those of the samples, against formulas and derivatives written by hand here.

use serde_json::{Value, json};

use super::judge::judge;
use super::{Random, output};

fn check(module: &str, function: &str, input: &Value, want: &Value, tolerance: f64) {
    let ours = output(module, function, input.clone());
    judge(&ours, want, tolerance).unwrap_or_else(|why| panic!("{module} {function}: {why}"));
}

#[test]
fn det_is_the_expansion_and_its_gradient_the_cofactors() {
    fn det(rows: &[Vec<f64>]) -> f64 {
        let minor = |j: usize| -> Vec<Vec<f64>> {
            let without = |row: &Vec<f64>| row.iter().enumerate().filter(|&(k, _)| k != j).map(|(_, &x)| x).collect();
            rows[1..].iter().map(without).collect()
        };
        match rows {
            [] => 1.0,
            [first, ..] => {
                let sign = |j: usize| if j.is_multiple_of(2) { 1.0 } else { -1.0 };
                first.iter().enumerate().map(|(j, a)| sign(j) * a * det(&minor(j))).sum()
            }
        }
    }
    let mut random = Random(3);
    for ell in 1..=9 {
        let rows = random.rows(ell, ell);
        let input = json!({"A": rows.concat(), "ell": ell});
        check("det", "primal", &input, &json!(det(&rows)), 1e-12);
        if ell <= 7 {
            let cofactor = |i: usize, j: usize| {
                let mut rest = rows.clone();
                rest.remove(i);
                for row in &mut rest {
                    row.remove(j);
                }
                if (i + j).is_multiple_of(2) { det(&rest) } else { -det(&rest) }
            };
            let want: Vec<f64> = (0..ell * ell).map(|k| cofactor(k / ell, k % ell)).collect();
            check("det", "gradient", &input, &json!(want), 1e-12);
        }
    }
    // The gradient of a size that is expanded in parts: what it says of a step in one entry, in which det is linear.
    for ell in [9, 10] {
        let rows = random.rows(ell, ell);
        let input = |rows: &[Vec<f64>]| json!({"A": rows.concat(), "ell": ell});
        let gradient = output("det", "gradient", input(&rows));
        let value = |rows: &[Vec<f64>]| output("det", "primal", input(rows)).as_f64().unwrap();
        let before = value(&rows);
        for (i, j) in [(0, 0), (0, ell - 1), (1, 3), (ell - 8, 2), (ell - 1, ell - 1)] {
            let mut changed = rows.clone();
            changed[i][j] += 1.0;
            let (step, slope) = (value(&changed) - before, gradient[i * ell + j].as_f64().unwrap());
            assert!((step - slope).abs() < 1e-11 * (1.0 + slope.abs()), "{ell} {i} {j}: {step} {slope}");
        }
    }
}

#[test]
fn kmeans_steps_to_the_means() {
    let mut random = Random(5);
    for (n, k, d) in [(1, 1, 1), (7, 2, 3), (255, 5, 2), (256, 4, 1), (300, 7, 4), (1000, 10, 8)] {
        let points = random.rows(n, d);
        let centroids = points[n - k..].to_vec();
        let square = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
        let nearest = |point: &[f64]| {
            let distances: Vec<f64> = centroids.iter().map(|centroid| square(point, centroid)).collect();
            (0..k).fold(0, |best, j| if distances[j] < distances[best] { j } else { best })
        };
        let chosen: Vec<usize> = points.iter().map(|point| nearest(point)).collect();
        let cost: f64 = points.iter().zip(&chosen).map(|(point, &j)| square(point, &centroids[j])).sum();
        let direction = |j: usize, l: usize| {
            let own: Vec<f64> = (0..n).filter(|&i| chosen[i] == j).map(|i| points[i][l]).collect();
            centroids[j][l] - own.iter().sum::<f64>() / own.len() as f64
        };
        let want: Vec<Vec<f64>> = (0..k).map(|j| (0..d).map(|l| direction(j, l)).collect()).collect();
        let input = json!({"points": points, "centroids": centroids});
        check("kmeans", "cost", &input, &json!(cost), 1e-12);
        check("kmeans", "dir", &input, &json!(want), 1e-12);
    }
}

#[test]
fn the_lowest_of_several_nearest_centroids_counts() {
    // The second point is as far from both centroids; the third has two that are the same.
    let points = json!([[0.0, 1.0], [2.0, 1.0], [9.0, 9.0]]);
    let input = json!({"points": points, "centroids": [[1.0, 1.0], [3.0, 1.0], [9.0, 8.0]]});
    check("kmeans", "cost", &input, &json!(3.0), 0.0);
    let mut centroids = vec![[1.0, 1.0], [9.0, 8.0], [2.5, 1.0]];
    let input =
        |centroids: &[[f64; 2]]| json!({"points": [[1.0, 2.0], [9.0, 9.0], [2.5, 1.0]], "centroids": centroids});
    check("kmeans", "dir", &input(&centroids), &json!([[0.0, -1.0], [0.0, -1.0], [0.0, 0.0]]), 0.0);
    centroids.swap(0, 1);
    check("kmeans", "dir", &input(&centroids), &json!([[0.0, -1.0], [0.0, -1.0], [0.0, 0.0]]), 0.0);
    // Halfway between two of them: the first one takes it.
    let input = json!({"points": [[0.0], [1.0], [2.0]], "centroids": [[0.0], [2.0]]});
    check("kmeans", "dir", &input, &json!([[-0.5], [0.0]]), 0.0);
    let input = json!({"points": [[0.0], [1.0], [2.0]], "centroids": [[2.0], [0.0]]});
    check("kmeans", "dir", &input, &json!([[0.5], [0.0]]), 0.0);
}

#[test]
fn llsq_has_the_gradient_of_least_squares() {
    let mut random = Random(7);
    for (n, m) in [(2, 1), (3, 2), (5, 9), (16, 128), (1001, 3), (512, 200)] {
        let x = random.numbers(m);
        let (mut y, mut slope) = (0.0, vec![0.0; m]);
        for i in 0..n {
            let t = -1.0 + 2.0 * i as f64 / (n - 1) as f64;
            let sign = if t > 0.0 {
                1.0
            } else if t < 0.0 {
                -1.0
            } else {
                0.0
            };
            let powers: Vec<f64> = (0..m).map(|j| t.powi(j as i32)).collect();
            let off = sign - x.iter().zip(&powers).map(|(x, power)| x * power).sum::<f64>();
            y += 0.5 * off * off;
            slope.iter_mut().zip(&powers).for_each(|(slope, power)| *slope -= off * power);
        }
        let input = json!({"x": x, "n": n});
        check("llsq", "primal", &input, &json!(y), 1e-11);
        check("llsq", "gradient", &input, &json!(slope), 1e-11);
    }
}

#[test]
fn lse_has_the_gradient_of_a_softmax_and_does_not_overflow() {
    let mut random = Random(11);
    for (n, shift) in [(1, 0.0), (3, 700.0), (1000, -800.0), (4097, 1e6)] {
        let x: Vec<f64> = random.numbers(n).iter().map(|x| x + shift).collect();
        let most = x.iter().fold(f64::NEG_INFINITY, |most, &x| most.max(x));
        let sum: f64 = x.iter().map(|x| (x - most).exp()).sum();
        let slope: Vec<f64> = x.iter().map(|x| (x - most).exp() / sum).collect();
        check("lse", "primal", &json!({ "x": x }), &json!(most + sum.ln()), 1e-13);
        check("lse", "gradient", &json!({ "x": x }), &json!(slope), 1e-13);
    }
    // The largest twice.
    check("lse", "gradient", &json!({"x": [1.0, 1.0]}), &json!([0.5, 0.5]), 1e-15);
}

#[test]
fn ode_has_the_derivative_of_its_steps() {
    /// A value with a tangent, by hand.
    type Pair = (f64, f64);
    fn slope(x: &[Pair], y: &[Pair]) -> Vec<Pair> {
        let before = |i: usize| if i == 0 { (1.0, 0.0) } else { y[i - 1] };
        let times = |(a, at): Pair, (b, bt): Pair| (a * b, at * b + a * bt);
        (0..x.len()).map(|i| times(x[i], before(i))).collect()
    }
    fn plus(y: &[Pair], k: &[Pair], h: f64) -> Vec<Pair> {
        y.iter().zip(k).map(|(y, k)| (y.0 + h * k.0, y.1 + h * k.1)).collect()
    }
    fn solve(x: &[Pair], s: usize) -> Vec<Pair> {
        let h = 2.0 / s as f64;
        let mut y = vec![(0.0, 0.0); x.len()];
        for _ in 0..s {
            let k1 = slope(x, &y);
            let k2 = slope(x, &plus(&y, &k1, h / 2.0));
            let k3 = slope(x, &plus(&y, &k2, h / 2.0));
            let k4 = slope(x, &plus(&y, &k3, h));
            for (k, weight) in [(k1, 1.0), (k2, 2.0), (k3, 2.0), (k4, 1.0)] {
                y = plus(&y, &k, h * weight / 6.0);
            }
        }
        y
    }
    let mut random = Random(13);
    for (n, s) in [(1, 1), (1, 7), (2, 3), (5, 1), (5, 2), (9, 4), (17, 4), (30, 33)] {
        // Above 1, so that no component is lost in the tolerance.
        let x: Vec<f64> = random.numbers(n).iter().map(|x| 1.0 + x).collect();
        let at =
            |k: usize| -> Vec<Pair> { x.iter().enumerate().map(|(i, &x)| (x, f64::from(u8::from(i == k)))).collect() };
        let want: Vec<f64> = solve(&at(n), s).iter().map(|y| y.0).collect();
        let tangents: Vec<f64> = (0..n).map(|k| solve(&at(k), s)[n - 1].1).collect();
        let input = json!({"x": x, "s": s});
        check("ode", "primal", &input, &json!(want), 1e-12);
        check("ode", "gradient", &input, &json!(tangents), 1e-12);
    }
}

#[test]
fn searches_have_the_numbers_of_the_benchmark_in_every_mode() {
    for order in ["rr", "ff", "fr", "rf"] {
        check("particle", order, &json!({"w": 0.0}), &json!(0.207_191_874_648_611_6), 1e-12);
        let found = output("saddle", order, json!({"start": [1.0, 1.0]}));
        for x in found.as_array().unwrap() {
            let off = x.as_f64().unwrap() / 8.246_324_826_140_356e-6 - 1.0;
            assert!(off.abs() < 1e-10, "{found}");
        }
    }
    // Other starts: the orders agree with each other.
    let [w, start] = [json!({"w": 0.1}), json!({"start": [0.5, -2.0]})];
    let (one, other) = (output("particle", "ff", w.clone()), output("saddle", "ff", start.clone()));
    for order in ["rr", "fr", "rf"] {
        check("particle", order, &w, &one, 1e-10);
        check("saddle", order, &start, &other, 1e-10);
    }
}
