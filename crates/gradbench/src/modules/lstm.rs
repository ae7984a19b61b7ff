//! `lstm`: the loss of a network of LSTM layers without matrix products.

use serde::Deserialize;
use wengert::grad;

use super::input::{Matrix, read};
use super::{Failure, Measured, Output, Settings, measure};
use crate::problems::lstm::{Data, Parameters, in_order, loss};

#[derive(Deserialize)]
struct Input {
    main_params: Matrix,
    extra_params: Matrix,
    state: Matrix,
    sequence: Matrix,
}

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (input, runs) = read::<Input>(input)?;
    let data = input.checked()?;
    let (point, course) = (data.parameters(), data.course());
    let compiled = settings.compile();
    if function == "objective" {
        let f = compiled.function(|p: Parameters| loss(&p, &course));
        measure(&runs, || Ok(f.plan(&point).map(|_| ())?), |()| Ok(f.try_call(&point)?), Output::of)
    } else {
        let f = compiled.function(|p: Parameters| grad(&p, |p| loss(&p, &course)));
        let output = |g: Parameters| Output::Numbers(in_order(&g));
        measure(&runs, || Ok(f.plan(&point).map(|_| ())?), |()| Ok(f.try_call(&point)?), output)
    }
}

impl Input {
    fn checked(self) -> Result<Data, Failure> {
        let (c, b) = (self.sequence.rows, self.sequence.width);
        if c < 2 || b == 0 {
            let why = format!("sequence has {c} rows of {b} numbers: at least two rows of one are asked for");
            return Err(Failure::new(why));
        }
        let rows = self.main_params.rows;
        if rows == 0 || !rows.is_multiple_of(2) {
            return Err(Failure::new(format!("main_params has {rows} rows: two for each layer are asked for")));
        }
        self.main_params.check("main_params", rows, b.saturating_mul(4))?;
        self.extra_params.check("extra_params", 3, b)?;
        self.state.check("state", rows, b)?;
        let inputs = [self.main_params, self.extra_params, self.state, self.sequence];
        let [main, extra, state, sequence] = inputs.map(Matrix::into_numbers);
        Ok(Data { l: rows / 2, c, b, main, extra, state, sequence })
    }
}
