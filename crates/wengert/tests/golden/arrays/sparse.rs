//! The family `sparse` as array programs: derivatives, and patterns found from the Program alone.

use std::collections::BTreeSet;

use wengert::sparsity::Pattern;
use wengert::{Array, Tensor, hessian, jacobian, to_program};

use super::check::{self, Bound};
use super::{ArrayArgs, Results, misfit, one, unsupported};
use crate::array::Trouble;
use crate::check::Want;
use crate::compare::compare_shaped;
use crate::load::Case;
use crate::sparse::{Kind, Wanted};

/// Values and derivatives as of any family; the dense matrix; the pattern that holds everywhere and the one at the point.
pub(crate) fn check(case: &Case, wants: &[Want]) -> Result<(), Trouble> {
    let bound = Bound::new("sparse", case, &case.outputs);
    check::check("sparse", case, wants)?;
    let (wanted, point) = (Wanted::of(case)?, bound.point());
    let f = |x: Vec<Tensor>| bound.reals(&x).remove(0);
    let dense = match wanted.kind {
        Kind::Jacobian => jacobian(&point, f).dense(),
        Kind::Hessian => hessian(&point, f).dense(),
    };
    let shape = wanted.shape;
    compare_shaped("array matrix", (&shape, &dense.to_vec()), (&shape, &wanted.dense()), case.rtol, case.atol)?;
    let (program, captures) = to_program(point.clone(), f);
    let arrays = |tensors: &[Tensor]| -> Vec<Array> {
        tensors.iter().map(|tensor| Array::new(tensor.shape(), tensor.to_vec())).collect()
    };
    let active: Vec<bool> = (0..point.len() + captures.len()).map(|k| k < point.len()).collect();
    let text = |error: wengert::Error| Trouble::Misfit(error.to_string());
    match wanted.kind {
        Kind::Jacobian => {
            let patterns = program.jacobian_pattern(&active).map_err(text)?;
            same_entries("the pattern", &patterns[0], &wanted)?;
            let at = [arrays(&point), arrays(&captures)].concat();
            let patterns = program.jacobian_pattern_at(&active, &at).map_err(text)?;
            same_entries("the pattern at the point", &patterns[0], &wanted)?;
        }
        Kind::Hessian => {
            let pattern = program.hessian_pattern(point.len()).map_err(text)?;
            same_entries("the Hessian's pattern", &pattern, &wanted)?;
        }
    }
    Ok(())
}

/// A pattern has the entries given and no others: none of these functions chooses.
fn same_entries(what: &str, pattern: &Pattern, wanted: &Wanted) -> Result<(), String> {
    let (found, given): (BTreeSet<_>, BTreeSet<_>) = (pattern.entries().collect(), wanted.entries().collect());
    if let Some(entry) = given.difference(&found).next() {
        return Err(format!("{what} lacks {entry:?}"));
    }
    match found.difference(&given).next() {
        Some(entry) => Err(format!("{what} has {entry:?}, which is zero")),
        None => Ok(()),
    }
}

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let [x] = args.all()?;
    if x.rank() != 1 || x.size() == 0 {
        return misfit("it takes a vector");
    }
    match function {
        "broyden_tridiagonal" => one((3.0 - 2.0 * x) * x - shifted(x, 1) - 2.0 * shifted(x, -1) + 1.0),
        "broyden_banded" => one(broyden_banded(x)),
        "arrow" => one(arrow(x)),
        "laplacian2d_nonlinear" => one(laplacian(x)?),
        "brusselator2d" => one(brusselator(x)?),
        "block_diagonal" => one(blocks(x)?),
        "diff_square_rect" => one((x.slice(1..) - x.slice(..-1)).square()),
        "burgers1d" => one(burgers(x)),
        "maxpool_like" => one(pairs(x)?),
        "with_zero_rows" => one(zero_rows(x)?),
        "chained_rosenbrock" => {
            let (first, second) = (x.slice(..-1), x.slice(1..));
            one(((second - first.square()).square() * 100.0 + (1.0 - first).square()).sum())
        }
        "arrow_scalar" => one(x.powi(4).sum() + x.slice(0) * x.slice(1..).sin().sum()),
        "grid_energy" => one(grid_energy(x)?),
        "separable" => {
            let i = Tensor::from((1..=x.size()).map(|i| i as f64).collect::<Vec<f64>>());
            one((x.exp() + i * x.powi(3)).sum())
        }
        _ => unsupported(function),
    }
}

/// The elements moved along a vector, zeros behind them: `y_i = x_(i - by)`.
fn shifted(x: &Tensor, by: i64) -> Tensor {
    x.pad(&[(by, -by, 0)], 0.0)
}

fn broyden_banded(x: &Tensor) -> Tensor {
    let terms = x * (1.0 + x);
    let neighbours = [-1, 1, 2, 3, 4, 5].map(|by| shifted(&terms, by)).into_iter().reduce(|sum, term| sum + term);
    x * (2.0 + 5.0 * x.square()) + 1.0 - neighbours.expect("there are six")
}

fn arrow(x: &Tensor) -> Tensor {
    let (first, rest) = (x.slice(0), x.slice(1..));
    Tensor::concat(&[&x.square().sum().reshape(&[1]), &(first * &rest + rest.sin())], 0)
}

/// The side of a square grid with this number of places.
fn side(count: usize) -> Result<usize, Trouble> {
    let m = count.isqrt();
    if m * m == count { Ok(m) } else { misfit(format!("{count} places are no square grid")) }
}

#[expect(clippy::reversed_empty_ranges, reason = "a negative end counts from the end of the axis")]
fn laplacian(u: &Tensor) -> Result<Tensor, Trouble> {
    let m = side(u.size())?;
    let around = u.reshape(&[m as isize, -1]).pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
    let inner = around.slice((1..-1, 1..-1));
    let neighbours = around.slice((..-2, 1..-1))
        + around.slice((2.., 1..-1))
        + around.slice((1..-1, ..-2))
        + around.slice((1..-1, 2..));
    Ok((neighbours - 4.0 * &inner + inner.exp()).reshape(&[-1]))
}

fn brusselator(x: &Tensor) -> Result<Tensor, Trouble> {
    let m = side(x.size() / 2)?;
    if x.size() != 2 * m * m {
        return misfit("the two states differ in length");
    }
    let state = x.reshape(&[2, m as isize, -1]);
    let (u, v) = (state.slice(0), state.slice(1));
    let diffused = |w: &Tensor| {
        let neighbours = w.roll(1, 0) + w.roll(-1, 0) + w.roll(1, 1) + w.roll(-1, 1);
        (neighbours - 4.0 * w) * (0.1 * (m as f64 - 1.0).powi(2))
    };
    let reaction = u.square() * &v;
    let u_dot = 1.0 + &reaction - 4.4 * &u + diffused(&u);
    let v_dot = 3.4 * &u - &reaction + diffused(&v);
    Ok(Tensor::stack(&[&u_dot, &v_dot], 0).reshape(&[-1]))
}

fn blocks(x: &Tensor) -> Result<Tensor, Trouble> {
    if !x.size().is_multiple_of(3) {
        return misfit("blocks have three elements");
    }
    let rows = x.reshape(&[-1, 3]);
    let [a, b, c] = [0, 1, 2].map(|k| rows.slice((.., k)));
    Ok(Tensor::stack(&[&(&a * &b), &(&b * &c).sin(), &(&a + c.square())], 1).reshape(&[-1]))
}

fn burgers(u: &Tensor) -> Tensor {
    let (h, nu) = (1.0 / u.size() as f64, 0.01);
    let (next, before) = (u.roll(-1, 0), u.roll(1, 0));
    -u * (&next - &before) / (2.0 * h) + (next - 2.0 * u + before) * (nu / (h * h))
}

fn pairs(x: &Tensor) -> Result<Tensor, Trouble> {
    if !x.size().is_multiple_of(2) {
        return misfit("pairs have two elements");
    }
    let rows = x.reshape(&[-1, 2]);
    let [even, odd] = [0, 1].map(|k| rows.slice((.., k)));
    Ok(even.exp() + odd * even)
}

fn zero_rows(x: &Tensor) -> Result<Tensor, Trouble> {
    if x.size() < 4 {
        return misfit("it takes four elements or more");
    }
    let products = [x.slice(0).square(), Tensor::from(3.0), x.slice(2) * x.slice(3), Tensor::from(0.0)];
    Ok(super::vector(&products))
}

fn grid_energy(x: &Tensor) -> Result<Tensor, Trouble> {
    let m = side(x.size())?;
    let u = x.reshape(&[m as isize, -1]);
    let across = u.slice((.., 1..)) - u.slice((.., ..-1));
    let down = u.slice((1.., ..)) - u.slice((..-1, ..));
    let energy = |difference: Tensor| (1.0 + difference.square()).sqrt().sum();
    Ok(energy(across) + energy(down))
}
