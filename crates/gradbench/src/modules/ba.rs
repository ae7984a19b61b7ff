//! `ba`: errors of reprojection of bundle adjustment, and their sparse Jacobian.
//!
//! The pattern of the Jacobian, its row starts and columns, is part of the preparation and kept; a run computes the values.

use serde::Deserialize;
use wengert::Tensor;

use super::input::read;
use super::{Failure, Measured, Output, Settings, measure};
use crate::problems::ba::{CAMERA, Data, Parameters, errors, jacobian_values, pattern};

#[derive(Deserialize)]
struct Input {
    n: usize,
    m: usize,
    p: usize,
    cam: [f64; CAMERA],
    x: [f64; 3],
    w: f64,
    feat: [f64; 2],
}

/// The largest public problem has nine million observations.
const MOST: usize = 1 << 25;

/// The entries of which the answer has the first ones: those of the first observation.
const SHOWN: usize = 30;

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { n, m, p, cam, x, w, feat }, runs) = read(input)?;
    if ![n, m, p].iter().all(|size| (1..=MOST).contains(size)) {
        return Err(Failure::new(format!("n = {n}, m = {m}, p = {p}: each is from 1 to {MOST}")));
    }
    let data = Data::replicated([n, m, p], &cam, &x, w, feat);
    let (point, seen) = (data.parameters(), data.observations());
    let compiled = settings.compile();
    if function == "objective" {
        let f = compiled.function(|at: Parameters| errors(&at, &seen));
        let output = |(errors, weights): (Tensor, Tensor)| {
            let first = errors.slice(..2isize).to_vec();
            let fields = |name, first, count| Output::Fields(vec![(name, first), ("repeated", Output::Integer(count))]);
            let (first, weight) = (Output::Numbers(first), Output::Number(weights.slice(0isize).item()));
            Output::Fields(vec![
                ("reproj_error", fields("elements", first, p as u64)),
                ("w_err", fields("element", weight, p as u64)),
            ])
        };
        measure(&runs, || Ok(f.plan(&point).map(|_| ())?), |()| Ok(f.try_call(&point)?), output)
    } else {
        let f = compiled.function(|at: Parameters| jacobian_values(&at, &seen));
        let prepare = || f.plan(&point).map(|_| pattern(&data));
        let run = |(starts, columns): &mut (Vec<usize>, Vec<usize>)| Ok(Cut::new(starts, columns, f.try_call(&point)?));
        measure(&runs, || Ok(prepare()?), run, Cut::output)
    }
}

/// What the answer has of the Jacobian: the first entries of each of its three arrays and the last one.
struct Cut {
    starts: Vec<u64>,
    columns: Vec<u64>,
    values: Tensor,
}

impl Cut {
    fn new(starts: &[usize], columns: &[usize], values: Tensor) -> Self {
        let cut = |list: &[usize]| {
            let shown = list.iter().take(SHOWN).chain(list.last());
            shown.map(|&k| k as u64).collect()
        };
        Cut { starts: cut(starts), columns: cut(columns), values }
    }

    fn output(self) -> Output {
        let mut values = self.values.slice(..SHOWN as isize).to_vec();
        values.push(self.values.slice(-1isize).item());
        Output::Fields(vec![
            ("rows", Output::Integers(self.starts)),
            ("cols", Output::Integers(self.columns)),
            ("vals", Output::Numbers(values)),
        ])
    }
}
