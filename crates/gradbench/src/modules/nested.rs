//! `particle` and `saddle`: derivatives inside of derivatives of numbers. Forward mode in forward mode is duals over duals.

use serde::Deserialize;

use super::input::read;
use super::{Failure, Measured, Output, measure};
use crate::problems::descent::{Order, particle, saddle};

#[derive(Deserialize)]
struct Particle {
    w: f64,
}

#[derive(Deserialize)]
struct Saddle {
    start: [f64; 2],
}

pub(super) fn evaluate_particle(function: &str, input: &str) -> Result<Measured, Failure> {
    let (Particle { w }, runs) = read(input)?;
    let order = order(function);
    measure(&runs, || Ok(()), |()| particle(order, w).map_err(Failure::new), Output::Number)
}

pub(super) fn evaluate_saddle(function: &str, input: &str) -> Result<Measured, Failure> {
    let (Saddle { start }, runs) = read(input)?;
    let order = order(function);
    let output = |found: [f64; 4]| Output::Numbers(found.to_vec());
    measure(&runs, || Ok(()), |()| saddle(order, start).map_err(Failure::new), output)
}

/// The fastest form of each order of modes.
fn order(function: &str) -> Order {
    match function {
        "rr" => Order::ReverseOverReverse,
        "rf" => Order::ReverseOverDuals,
        "fr" => Order::JvpOverReverse,
        _ => Order::DualsOverDuals,
    }
}
