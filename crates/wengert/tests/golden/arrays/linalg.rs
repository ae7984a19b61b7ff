//! The family `linalg`: factorisations, systems, functions of matrices.

use std::f64::consts::TAU;

use wengert::Tensor;
use wengert::linalg::{Side, Triangle, TriangularSolve};

use super::{ArrayArgs, Results, one, unsupported};
use crate::array::Trouble;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "qr" => {
            let (q, r) = args.first()?.qr();
            return Ok(vec![q, r]);
        }
        "eigh" => {
            let (w, v) = args.first()?.eigh();
            return Ok(vec![w, v]);
        }
        "svd" => {
            let (u, s, vt) = args.first()?.svd();
            return Ok(vec![u, s, vt]);
        }
        "slogdet" => {
            let (sign, log) = args.first()?.slogdet();
            return Ok(vec![sign, log]);
        }
        "lu_solve_det" => {
            let [a, b] = args.all()?;
            return Ok(vec![a.solve(b), a.det()]);
        }
        _ => {}
    }
    one(match args.inputs.len() {
        1 => of_one(function, args.first()?)?,
        2 => of_two(function, args)?,
        _ => of_three(function, args)?,
    })
}

fn of_one(function: &str, a: &Tensor) -> Result<Tensor, Trouble> {
    Ok(match function {
        "cholesky" => a.cholesky(),
        "eigvalsh" => a.eigvalsh(),
        "eigh_weighted_scalar" => a.eigvalsh().dot(&Tensor::from([1.0, 2.0, -1.0])),
        "matrix_function_eigh" => {
            let (w, v) = a.eigh();
            (&v * w.exp()).matmul(&v.t())
        }
        "singular_values" => a.singular_values(),
        "nuclear_norm" => a.singular_values().sum(),
        "spectral_norm" => a.spectral_norm(),
        "inv" => a.inv(),
        "det" => a.det(),
        // The file differentiates every element on its own, and `logdet_spd` reads the symmetric part.
        "logdet_spd" => a.slogdet().1,
        "expm" => a.expm(),
        other => return unsupported(other),
    })
}

fn of_two(function: &str, args: &ArrayArgs) -> Result<Tensor, Trouble> {
    let [a, b] = args.all()?;
    Ok(match function {
        "solve" => a.solve(b),
        "triangular_solve" => {
            let triangle = if args.attrs.flag("lower")? { Triangle::Lower } else { Triangle::Upper };
            let options = TriangularSolve::new(Side::Left, triangle);
            let (transpose, unit) = (args.attrs.flag("transpose")?, args.attrs.flag("unit_diagonal")?);
            a.solve_triangular(b, TriangularSolve { transpose, unit, ..options })
        }
        "triangular_solve_right" => a.solve_triangular(b, TriangularSolve::new(Side::Right, Triangle::Lower)),
        "lstsq" => a.lstsq(b),
        "mahalanobis" => a.dot(&b.solve(a)),
        "cho_solve" => a.solve_spd(b),
        other => return unsupported(other),
    })
}

fn of_three(function: &str, args: &ArrayArgs) -> Result<Tensor, Trouble> {
    let [x, m, s] = args.all()?;
    Ok(match function {
        "mvn_logpdf" => {
            let l = s.cholesky();
            let y = l.solve_triangular(&(x - m), TriangularSolve::new(Side::Left, Triangle::Lower));
            let constant = x.size() as f64 * TAU.ln();
            -0.5 * (y.square().sum() + constant) - l.diagonal(0).ln().sum()
        }
        other => return unsupported(other),
    })
}
