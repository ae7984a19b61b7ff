//! Two hundred random losses against values with 150 digits, and against differences.

use wengert::{Tensor, grad, hvp, jvp, value_and_grad};

use super::{Loss, Term, inner, largest, matrix, near};
use crate::support::caught::caught;

/// A line of the table: see `table.py`.
struct Row {
    loss: Loss,
    a: Tensor,
    direction: Tensor,
    value: f64,
    gradient: Vec<f64>,
    hessian: Option<Vec<f64>>,
}

fn rows() -> Vec<(&'static str, Row)> {
    let numbers =
        |text: &str| -> Vec<f64> { text.split_whitespace().map(|word| word.parse().expect("a number")).collect() };
    let parse = |line: &'static str| {
        let sections: Vec<&str> = line.split(" ; ").collect();
        let head: Vec<&str> = sections[0].split_whitespace().collect();
        let [m, n] = [1, 2].map(|k| head[k].parse().expect("an integer"));
        let row = Row {
            loss: Loss {
                symmetric: head[0] == "symmetric",
                terms: sections[3..6].iter().map(|text| Term::of(text)).collect(),
            },
            a: matrix(m, n, &numbers(sections[1])),
            direction: matrix(m, n, &numbers(sections[2])),
            value: numbers(sections[6])[0],
            gradient: numbers(sections[7]),
            hessian: (sections[8] != "-").then(|| numbers(sections[8])),
        };
        (line, row)
    };
    include_str!("table.txt").lines().map(parse).collect()
}

/// Runs a check over all lines; failures are collected.
fn over_rows(check: impl Fn(&Row) -> Result<(), String>) {
    let rows = rows();
    assert!(rows.len() >= 224, "the table has {} lines", rows.len());
    let failed = rows.iter().filter_map(|(line, row)| {
        let checked = caught("the loss", || check(row)).and_then(|checked| checked);
        checked.err().map(|why| format!("{why}\n    {}\n", &line[..line.len().min(300)]))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{} of {} lines fail:\n{}", failed.len(), rows.len(), failed.join(""));
}

/// Relative to the largest number of an array: what the terms of a loss lose, each of a few roundings of products of matrices.
const DIGITS: f64 = 1e-12;

#[test]
fn values_and_gradients_have_twelve_digits() {
    over_rows(|row| {
        let (value, gradient) = value_and_grad(&row.a, |a| row.loss.at(&a));
        near("the value", &[value.item()], &[row.value], DIGITS * row.value.abs().max(1.0))?;
        near("the gradient", &gradient.to_vec(), &row.gradient, DIGITS * largest(&row.gradient).max(1.0))
    });
}

#[test]
fn forward_mode_has_twelve_digits_too() {
    over_rows(|row| {
        let Ok((_, slope)) = caught("forward mode", || jvp(&row.a, &row.direction, |a| row.loss.at(&a))) else {
            // Values that move apart are refused one by one; whatever else is asked for is not.
            assert!(row.hessian.is_none(), "nothing asks for single values");
            return Ok(());
        };
        let wanted = inner(&row.gradient, &row.direction.to_vec());
        near("the slope", &[slope.item()], &[wanted], DIGITS * largest(&row.gradient).max(1.0) * 4.0)
    });
}

#[test]
fn second_derivatives_have_twelve_digits_in_both_ways() {
    over_rows(|row| {
        let Some(wanted) = &row.hessian else { return Ok(()) };
        let within = DIGITS * largest(wanted).max(1.0);
        let forward = hvp(&row.a, &row.direction, |a| row.loss.at(&a));
        near("forward over reverse", &forward.to_vec(), wanted, within)?;
        let reverse = grad(&row.a, |a| (grad(&a, |a| row.loss.at(&a)) * &row.direction).sum());
        near("reverse over reverse", &reverse.to_vec(), wanted, within)
    });
}

#[test]
fn derivatives_agree_with_differences() {
    let step = 1e-3;
    over_rows(|row| {
        // Order 4; nearly equal values make the losses no less smooth.
        let at = |t: f64| row.loss.at(&(&row.a + &row.direction * t)).item();
        let slope = (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        let gradient = grad(&row.a, |a| row.loss.at(&a)).to_vec();
        let within = 1e-6 * largest(&gradient).max(1.0);
        near("the slope", &[inner(&gradient, &row.direction.to_vec())], &[slope], within)
    });
}

#[test]
fn third_derivatives_agree_with_differences_of_second_ones() {
    let step = 1e-3;
    over_rows(|row| {
        // At order 3 the sum over eigenvectors takes time with the fourth power of their number.
        if row.hessian.is_none() || row.a.shape().iter().sum::<usize>() > 8 {
            return Ok(());
        }
        let curvature = |a: &Tensor| (hvp(a, &row.direction, |a| row.loss.at(&a)) * &row.direction).sum();
        let at = |t: f64| curvature(&(&row.a + &row.direction * t)).item();
        let wanted = (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        let third = grad(&row.a, |a| curvature(&a)).to_vec();
        let got = inner(&third, &row.direction.to_vec());
        near("the third derivative", &[got], &[wanted], 1e-6 * largest(&third).max(1.0))
    });
}
