//! The family `mgh_hessian`: the residuals of least-squares test functions.
//!
//! Source of the functions: J. J. Moré, B. S. Garbow and K. E. Hillstrom, *Testing unconstrained
//! optimization software* (1981).

use std::f64::consts::TAU;

use wengert::{Real, lit};

use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, one};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    let x = args.vector(0)?;
    let residuals = match function {
        "rosenbrock" | "freudenstein_roth" | "powell_badly_scaled" | "beale" => of_two(function, sized(x)?),
        "helical_valley" | "box3d" => of_three(function, sized(x)?),
        "powell_singular" | "wood" | "brown_dennis" => of_four(function, sized(x)?),
        "bard" | "gaussian" | "kowalik_osborne" | "osborne1" => fit(function, x, args)?,
        _ => match of_any(function, x, args) {
            Some(residuals) => residuals,
            None => return unsupported(function),
        },
    };
    one(Array::vector(residuals))
}

fn of_two<R: Real>(function: &str, [x, y]: [R; 2]) -> Vec<R> {
    match function {
        "rosenbrock" => vec![(y - x * x) * 10.0, lit(1.0) - x],
        "freudenstein_roth" => {
            vec![x + ((lit(5.0) - y) * y - 2.0) * y - 13.0, x + ((y + 1.0) * y - 14.0) * y - 29.0]
        }
        "powell_badly_scaled" => vec![x * y * 1e4 - 1.0, (-x).exp() + (-y).exp() - 1.0001],
        "beale" => {
            let residual = |(target, power): (f64, i32)| -(x * (lit(1.0) - y.powi(power))) + target;
            [(1.5, 1), (2.25, 2), (2.625, 3)].map(residual).to_vec()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_three<R: Real>(function: &str, [x, y, z]: [R; 3]) -> Vec<R> {
    match function {
        "helical_valley" => {
            let turn = (y / x).atan() / TAU;
            let theta = if x < 0.0 { turn + 0.5 } else { turn };
            vec![(z - theta * 10.0) * 10.0, ((x * x + y * y).sqrt() - 1.0) * 10.0, z]
        }
        "box3d" => {
            let residual = |i: i32| {
                let t = 0.1 * f64::from(i);
                (x * -t).exp() - (y * -t).exp() - z * ((-t).exp() - (-10.0 * t).exp())
            };
            (1..=10).map(residual).collect()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_four<R: Real>(function: &str, [a, b, c, d]: [R; 4]) -> Vec<R> {
    match function {
        "powell_singular" => {
            vec![a + b * 10.0, (c - d) * 5f64.sqrt(), (b - c * 2.0).powi(2), (a - d).powi(2) * 10f64.sqrt()]
        }
        "wood" => vec![
            (b - a * a) * 10.0,
            lit(1.0) - a,
            (d - c * c) * 90f64.sqrt(),
            lit(1.0) - c,
            (b + d - 2.0) * 10f64.sqrt(),
            (b - d) / 10f64.sqrt(),
        ],
        "brown_dennis" => {
            let residual = |i: i32| {
                let t = f64::from(i) / 5.0;
                (a + b * t - t.exp()).powi(2) + (c + d * t.sin() - t.cos()).powi(2)
            };
            (1..=20).map(residual).collect()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

/// Fits to measured data, which the file holds as constants.
fn fit<R: Real>(function: &str, x: &[R], args: &Args<R>) -> Result<Vec<R>, Trouble> {
    let y = args.constant("y")?;
    let numbered = y.iter().enumerate().map(|(i, &y)| (i as f64 + 1.0, y));
    Ok(match function {
        "bard" => {
            let [a, b, c] = sized(x)?;
            let residual = |(u, y): (f64, f64)| {
                let v = 16.0 - u;
                let w = u.min(v);
                -(a + R::constant(u) / (b * v + c * w)) + y
            };
            numbered.map(residual).collect()
        }
        "gaussian" => {
            let [a, b, c] = sized(x)?;
            let residual = |(i, y): (f64, f64)| {
                let t = (8.0 - i) / 2.0;
                a * (b * (-c + t).powi(2) * -0.5).exp() - y
            };
            numbered.map(residual).collect()
        }
        "kowalik_osborne" => {
            let [a, b, c, d] = sized(x)?;
            let u = args.constant("u")?;
            let residual = |(&y, &u): (&f64, &f64)| -(a * (b * u + u * u) / (c * u + u * u + d)) + y;
            y.iter().zip(&u).map(residual).collect()
        }
        "osborne1" => {
            let [a, b, c, d, e] = sized(x)?;
            let residual = |(i, y): (f64, f64)| {
                let t = 10.0 * (i - 1.0);
                -(a + b * (d * -t).exp() + c * (e * -t).exp()) + y
            };
            numbered.map(residual).collect()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    })
}

/// Functions of as many variables as there are; the number at the end of a name is that of the
/// stored cases.
fn of_any<R: Real>(function: &str, x: &[R], args: &Args<R>) -> Option<Vec<R>> {
    let n = x.len();
    let total: R = x.iter().copied().sum();
    let numbered = || x.iter().enumerate().map(|(i, &x)| (i as f64 + 1.0, x));
    Some(match function.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "extended_rosenbrock" => {
            x.chunks_exact(2).flat_map(|pair| [(pair[1] - pair[0] * pair[0]) * 10.0, -pair[0] + 1.0]).collect()
        }
        "penalty1_" => {
            let square: R = x.iter().map(|&x| x * x).sum();
            x.iter().map(|&x| (x - 1.0) * 1e-5f64.sqrt()).chain([square - 0.25]).collect()
        }
        "variably_dimensioned" => {
            let s: R = numbered().map(|(j, x)| (x - 1.0) * j).sum();
            x.iter().map(|&x| x - 1.0).chain([s, s * s]).collect()
        }
        "trigonometric" => {
            let cosines: R = x.iter().map(|x| x.cos()).sum();
            numbered().map(|(i, x)| -cosines + n as f64 + (lit(1.0) - x.cos()) * i - x.sin()).collect()
        }
        "brown_almost_linear" => {
            let product: R = x.iter().copied().product();
            let linear = x[..n - 1].iter().map(|&x| x + total - (n as f64 + 1.0));
            linear.chain([product - 1.0]).collect()
        }
        "discrete_boundary_value" => {
            let h = 1.0 / (n as f64 + 1.0);
            let residual = |i: usize| {
                let t = h * (i as f64 + 1.0);
                x[i] * 2.0 - before(x, i) - after(x, i) + (x[i] + t + 1.0).powi(3) * (0.5 * h * h)
            };
            (0..n).map(residual).collect()
        }
        "broyden_tridiagonal" => {
            let residual = |i: usize| (x[i] * -2.0 + 3.0) * x[i] - before(x, i) - after(x, i) * 2.0 + 1.0;
            (0..n).map(residual).collect()
        }
        "linear_full_rank3x" => {
            let m = args_height(args)?;
            let common = total * (-2.0 / m as f64) - 1.0;
            (0..m).map(|i| if i < n { x[i] + common } else { common }).collect()
        }
        "chebyquad" => (1..=n).map(|i| chebyquad(x, i)).collect(),
        _ => return None,
    })
}

/// How many residuals a case with free `m` lists.
fn args_height<R: Real>(args: &Args<R>) -> Option<usize> {
    args.expected.first().and_then(|residuals| residuals.shape.first().copied())
}

fn before<R: Real>(x: &[R], i: usize) -> R {
    if i == 0 { R::constant(0.0) } else { x[i - 1] }
}

fn after<R: Real>(x: &[R], i: usize) -> R {
    x.get(i + 1).copied().unwrap_or(R::constant(0.0))
}

/// The mean of `T_i(2x-1)` minus its integral over `[0, 1]`; `T_{i+1} = 2 t T_i - T_{i-1}`.
fn chebyquad<R: Real>(x: &[R], i: usize) -> R {
    let polynomial = |&x: &R| {
        let t = x * 2.0 - 1.0;
        let (mut low, mut high) = (R::constant(1.0), t);
        for _ in 1..i {
            (low, high) = (high, t * high * 2.0 - low);
        }
        high
    };
    let integral = if i % 2 == 1 { 0.0 } else { -1.0 / ((i * i) as f64 - 1.0) };
    x.iter().map(polynomial).sum::<R>() / x.len() as f64 - integral
}

fn sized<R: Real, const N: usize>(x: &[R]) -> Result<[R; N], Trouble> {
    x.try_into().map_err(|_| Trouble::Misfit(format!("{} variables instead of {N}", x.len())))
}
