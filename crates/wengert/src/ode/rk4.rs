//! The classical Runge-Kutta method of order 4, with steps of equal length.

use std::cell::RefCell;

use super::{Slope, joined};
use crate::control::{Scan, fori};
use crate::error::Error;
use crate::implicit::plus;
use crate::tensor::Tensor;

/// The states at all times, with this many steps between every two.
pub(super) fn solve(slope: &Slope<'_>, y0: &[Tensor], times: &Tensor, steps: usize) -> Result<Vec<Tensor>, Error> {
    let y0 = slope.finite(y0, &times.slice(0))?;
    let rows = (times.slice(..-1), times.slice(1..));
    let failed = RefCell::new(None);
    let (_, rest) = Scan::new().try_run(y0.clone(), rows, |y, (from, to)| {
        let length = (&to - &from) / steps as f64;
        let stepped =
            |k: &Tensor, y: Vec<Tensor>| step(slope, &y, &(&from + k * &length), &length).map_err(|why| (why, y));
        let one = |k: &Tensor, y: Vec<Tensor>| {
            stepped(k, y).unwrap_or_else(|(why, y)| {
                failed.replace(Some(why));
                y
            })
        };
        let y =
            if steps == 1 { one(&Tensor::from(0.0), y) } else { fori(0..steps as i64, y, |k, y| one(&k.to_f64(), y)) };
        let y = slope.finite(&y, &to).unwrap_or_else(|why| {
            failed.replace(Some(why));
            y
        });
        (y.clone(), y)
    })?;
    failed.into_inner().map_or_else(|| Ok(joined(&y0, rest)), Err)
}

fn step(slope: &Slope<'_>, y: &[Tensor], t: &Tensor, length: &Tensor) -> Result<Vec<Tensor>, Error> {
    let (half, sixth) = (length * 0.5, length / 6.0);
    let middle = t + &half;
    let k1 = slope.at(t, y)?;
    let k2 = slope.at(&middle, &plus(y, &half, &k1))?;
    let k3 = slope.at(&middle, &plus(y, &half, &k2))?;
    let k4 = slope.at(&(t + length), &plus(y, length, &k3))?;
    let outer: Vec<Tensor> = k1.iter().zip(&k4).map(|(k1, k4)| k1 + k4).collect();
    let inner: Vec<Tensor> = k2.iter().zip(&k3).map(|(k2, k3)| k2 + k3).collect();
    Ok(plus(&plus(y, &sixth, &outer), &(sixth.clone() * 2.0), &inner))
}
