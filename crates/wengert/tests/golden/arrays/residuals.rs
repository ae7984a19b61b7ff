//! The family `mgh_hessian`: the residuals of least-squares test functions, as vectors.
//!
//! Source of the functions: J. J. Moré, B. S. Garbow and K. E. Hillstrom, *Testing unconstrained
//! optimization software* (1981).

use std::f64::consts::TAU;

use wengert::Tensor;

use super::{ArrayArgs, Results, elements, misfit, number, one, unsupported, vector};
use crate::array::Trouble;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let [x] = args.all()?;
    one(match function {
        "rosenbrock" | "freudenstein_roth" | "powell_badly_scaled" | "beale" => of_two(function, &sized(x)?),
        "helical_valley" | "box3d" => of_three(function, &sized(x)?),
        "powell_singular" | "wood" | "brown_dennis" => of_four(function, &sized(x)?),
        "bard" | "gaussian" | "kowalik_osborne" | "osborne1" => fit(function, x, args)?,
        _ => match of_any(function, x, args) {
            Some(residuals) => residuals,
            None => return unsupported(function),
        },
    })
}

fn of_two(function: &str, [x, y]: &[Tensor; 2]) -> Tensor {
    match function {
        "rosenbrock" => vector(&[(y - x * x) * 10.0, 1.0 - x]),
        "freudenstein_roth" => vector(&[x + ((5.0 - y) * y - 2.0) * y - 13.0, x + ((y + 1.0) * y - 14.0) * y - 29.0]),
        "powell_badly_scaled" => vector(&[x * y * 1e4 - 1.0, (-x).exp() + (-y).exp() - 1.0001]),
        "beale" => {
            let powers = vector(&[y.clone(), y.square(), y.powi(3)]);
            Tensor::from([1.5, 2.25, 2.625]) - x * (1.0 - powers)
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_three(function: &str, [x, y, z]: &[Tensor; 3]) -> Tensor {
    match function {
        "helical_valley" => {
            let theta = (y / x).atan() / TAU + x.lt(0.0).where_(0.5, 0.0);
            vector(&[(z - theta * 10.0) * 10.0, ((x * x + y * y).sqrt() - 1.0) * 10.0, z.clone()])
        }
        "box3d" => {
            let t = numbered(10) * 0.1;
            (-(x * &t)).exp() - (-(y * &t)).exp() - z * ((-&t).exp() - (&t * -10.0).exp())
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_four(function: &str, [a, b, c, d]: &[Tensor; 4]) -> Tensor {
    match function {
        "powell_singular" => {
            vector(&[a + b * 10.0, (c - d) * 5f64.sqrt(), (b - c * 2.0).square(), (a - d).square() * 10f64.sqrt()])
        }
        "wood" => vector(&[
            (b - a * a) * 10.0,
            1.0 - a,
            (d - c * c) * 90f64.sqrt(),
            1.0 - c,
            (b + d - 2.0) * 10f64.sqrt(),
            (b - d) / 10f64.sqrt(),
        ]),
        "brown_dennis" => {
            let t = numbered(20) / 5.0;
            (a + b * &t - t.exp()).square() + (c + d * t.sin() - t.cos()).square()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

/// Fits to measured data, which the file holds as constants.
fn fit(function: &str, x: &Tensor, args: &ArrayArgs) -> Result<Tensor, Trouble> {
    let y = args.constant("y")?;
    let i = numbered(y.size());
    Ok(match function {
        "bard" => {
            let [a, b, c] = &sized(x)?;
            let v = 16.0 - &i;
            let w = i.minimum(&v);
            y - (a + i / (b * v + c * w))
        }
        "gaussian" => {
            let [a, b, c] = &sized(x)?;
            let t = (8.0 - i) / 2.0;
            a * (b * (t - c).square() * -0.5).exp() - y
        }
        "kowalik_osborne" => {
            let [a, b, c, d] = &sized(x)?;
            let u = &args.constant("u")?;
            y - a * (b * u + u * u) / (c * u + u * u + d)
        }
        "osborne1" => {
            let [a, b, c, d, e] = &sized(x)?;
            let t = &((i - 1.0) * 10.0);
            y - (a + b * (-(d * t)).exp() + c * (-(e * t)).exp())
        }
        other => unreachable!("{other} is not in the list of `call`"),
    })
}

/// Functions of as many variables as there are; the number at the end of a name is that of the
/// stored cases.
fn of_any(function: &str, x: &Tensor, args: &ArrayArgs) -> Option<Tensor> {
    let n = x.size();
    let i = numbered(n);
    Some(match function.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "extended_rosenbrock" => {
            let pairs = x.reshape(&[-1, 2]).t();
            let (a, b) = (&pairs.slice(0), pairs.slice(1));
            Tensor::stack(&[&((b - a * a) * 10.0), &(1.0 - a)], 1).flatten()
        }
        "penalty1_" => joined(&((x - 1.0) * 1e-5f64.sqrt()), &[x.square().sum() - 0.25]),
        "variably_dimensioned" => {
            let s = ((x - 1.0) * i).sum();
            joined(&(x - 1.0), &[s.clone(), s.square()])
        }
        "trigonometric" => n as f64 - x.cos().sum() + (1.0 - x.cos()) * i - x.sin(),
        "brown_almost_linear" => {
            let linear = x.slice(..-1) + x.sum() - (n as f64 + 1.0);
            joined(&linear, &[x.prod() - 1.0])
        }
        "discrete_boundary_value" => {
            let h = 1.0 / (n as f64 + 1.0);
            x * 2.0 - before(x) - after(x) + (x + i * h + 1.0).powi(3) * (0.5 * h * h)
        }
        "broyden_tridiagonal" => (x * -2.0 + 3.0) * x - before(x) - after(x) * 2.0 + 1.0,
        "linear_full_rank3x" => {
            let m = *args.expected.first()?.shape.first()?;
            x.pad(&[(0, m as i64 - n as i64, 0)], 0.0) + (x.sum() * (-2.0 / m as f64) - 1.0)
        }
        "chebyquad" => chebyquad(x),
        _ => return None,
    })
}

/// `1, 2, …, n`
fn numbered(n: usize) -> Tensor {
    Tensor::iota(n).to_f64() + 1.0
}

/// A vector and single numbers after it.
fn joined(x: &Tensor, more: &[Tensor]) -> Tensor {
    Tensor::concat(&[x, &vector(more)], 0)
}

/// Every element's left neighbour; 0 before the first.
fn before(x: &Tensor) -> Tensor {
    x.pad(&[(1, -1, 0)], 0.0)
}

/// Every element's right neighbour; 0 after the last.
fn after(x: &Tensor) -> Tensor {
    x.pad(&[(-1, 1, 0)], 0.0)
}

/// The means of `T_i(2x-1)` minus their integrals over `[0, 1]`; `T_{i+1} = 2 t T_i - T_{i-1}`.
fn chebyquad(x: &Tensor) -> Tensor {
    let t = &(x * 2.0 - 1.0);
    let (mut low, mut high) = (t * 0.0 + 1.0, t.clone());
    let mut residuals = Vec::new();
    for i in 1..=x.size() {
        let integral = if i % 2 == 1 { 0.0 } else { -1.0 / ((i * i) as f64 - 1.0) };
        residuals.push(high.mean() - number(integral));
        let next = t * &high * 2.0 - low;
        (low, high) = (high, next);
    }
    vector(&residuals)
}

fn sized<const N: usize>(x: &Tensor) -> Result<[Tensor; N], Trouble> {
    let found = elements(x);
    found.try_into().or_else(|found: Vec<Tensor>| misfit(format!("{} variables instead of {N}", found.len())))
}
