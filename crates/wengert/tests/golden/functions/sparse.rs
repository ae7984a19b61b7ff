//! The family `sparse`: functions whose Jacobians or Hessians are mostly zero.

use wengert::Real;

use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, number, one};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    let x = args.vector(0)?;
    if x.is_empty() {
        return misfit("it takes a vector with elements");
    }
    let values = match function {
        "broyden_tridiagonal" => broyden_tridiagonal(x),
        "broyden_banded" => broyden_banded(x),
        "arrow" => arrow(x),
        "laplacian2d_nonlinear" => laplacian(x)?,
        "brusselator2d" => brusselator(x)?,
        "block_diagonal" => blocks(x)?,
        "diff_square_rect" => x.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).collect(),
        "burgers1d" => burgers(x),
        "maxpool_like" => pairs(x)?,
        "with_zero_rows" => zero_rows(x)?,
        _ => return scalar(function, x),
    };
    one(Array::vector(values))
}

/// Those whose Hessian is asked for.
fn scalar<R: Real>(function: &str, x: &[R]) -> Outputs<R> {
    number(match function {
        "chained_rosenbrock" => {
            sum(x.windows(2).map(|pair| (pair[1] - pair[0] * pair[0]).powi(2) * 100.0 + (-pair[0] + 1.0).powi(2)))
        }
        "arrow_scalar" => sum(x.iter().map(|x| x.powi(4))) + x[0] * sum(x[1..].iter().map(|x| x.sin())),
        "grid_energy" => grid_energy(x)?,
        "separable" => sum(x.iter().enumerate().map(|(i, x)| x.exp() + x.powi(3) * (i + 1) as f64)),
        _ => return unsupported(function),
    })
}

fn misfit<T>(why: &str) -> Result<T, Trouble> {
    Err(Trouble::Misfit(why.to_owned()))
}

fn sum<R: Real>(terms: impl Iterator<Item = R>) -> R {
    terms.fold(R::constant(0.0), |sum, term| sum + term)
}

fn broyden_tridiagonal<R: Real>(x: &[R]) -> Vec<R> {
    let at = |i: usize| {
        let mut f = (-(x[i] * 2.0) + 3.0) * x[i] + 1.0;
        if i > 0 {
            f -= x[i - 1];
        }
        if i + 1 < x.len() {
            f -= x[i + 1] * 2.0;
        }
        f
    };
    (0..x.len()).map(at).collect()
}

fn broyden_banded<R: Real>(x: &[R]) -> Vec<R> {
    let at = |i: usize| {
        let others = (i.saturating_sub(5)..(i + 2).min(x.len())).filter(|&j| j != i);
        x[i] * (x[i] * x[i] * 5.0 + 2.0) + 1.0 - sum(others.map(|j| x[j] * (x[j] + 1.0)))
    };
    (0..x.len()).map(at).collect()
}

fn arrow<R: Real>(x: &[R]) -> Vec<R> {
    let rest = x[1..].iter().map(|&y| x[0] * y + y.sin());
    std::iter::once(sum(x.iter().map(|&y| y * y))).chain(rest).collect()
}

/// The side of a square grid with this number of places.
fn side(count: usize) -> Result<usize, Trouble> {
    let m = count.isqrt();
    if m * m == count { Ok(m) } else { misfit("the places are no square grid") }
}

fn laplacian<R: Real>(u: &[R]) -> Result<Vec<R>, Trouble> {
    let m = side(u.len())?;
    let at = |k: usize| {
        let (i, j) = (k / m, k % m);
        let neighbours =
            [(i > 0, k.wrapping_sub(m)), (i + 1 < m, k + m), (j > 0, k.wrapping_sub(1)), (j + 1 < m, k + 1)];
        sum(neighbours.into_iter().filter(|neighbour| neighbour.0).map(|(_, k)| u[k])) - u[k] * 4.0 + u[k].exp()
    };
    Ok((0..m * m).map(at).collect())
}

fn brusselator<R: Real>(x: &[R]) -> Result<Vec<R>, Trouble> {
    let m = side(x.len() / 2)?;
    if x.len() != 2 * m * m {
        return misfit("the two states differ in length");
    }
    let (u, v) = x.split_at(m * m);
    let diffused = |w: &[R], k: usize| {
        let (i, j) = (k / m, k % m);
        let (up, down, left, right) = ((i + m - 1) % m, (i + 1) % m, (j + m - 1) % m, (j + 1) % m);
        let neighbours = [up * m + j, down * m + j, i * m + left, i * m + right];
        (sum(neighbours.into_iter().map(|k| w[k])) - w[k] * 4.0) * (0.1 * (m as f64 - 1.0).powi(2))
    };
    let reaction = |k: usize| u[k] * u[k] * v[k];
    let u_dot = (0..m * m).map(|k| reaction(k) + 1.0 - u[k] * 4.4 + diffused(u, k));
    let v_dot = (0..m * m).map(|k| u[k] * 3.4 - reaction(k) + diffused(v, k));
    Ok(u_dot.chain(v_dot).collect())
}

fn blocks<R: Real>(x: &[R]) -> Result<Vec<R>, Trouble> {
    if !x.len().is_multiple_of(3) {
        return misfit("blocks have three elements");
    }
    let of = |block: &[R]| [block[0] * block[1], (block[1] * block[2]).sin(), block[0] + block[2] * block[2]];
    Ok(x.chunks(3).flat_map(of).collect())
}

fn burgers<R: Real>(u: &[R]) -> Vec<R> {
    let (n, nu) = (u.len(), 0.01);
    let h = 1.0 / n as f64;
    let at = |i: usize| {
        let (next, before) = (u[(i + 1) % n], u[(i + n - 1) % n]);
        -(u[i] * (next - before)) / (2.0 * h) + (next - u[i] * 2.0 + before) * (nu / (h * h))
    };
    (0..n).map(at).collect()
}

fn pairs<R: Real>(x: &[R]) -> Result<Vec<R>, Trouble> {
    if !x.len().is_multiple_of(2) {
        return misfit("pairs have two elements");
    }
    Ok(x.chunks(2).map(|pair| pair[0].exp() + pair[1] * pair[0]).collect())
}

fn zero_rows<R: Real>(x: &[R]) -> Result<Vec<R>, Trouble> {
    if x.len() < 4 {
        return misfit("it takes four elements or more");
    }
    Ok(vec![x[0] * x[0], R::constant(3.0), x[2] * x[3], R::constant(0.0)])
}

fn grid_energy<R: Real>(x: &[R]) -> Result<R, Trouble> {
    let m = side(x.len())?;
    let bond = |a: usize, b: usize| ((x[a] - x[b]).powi(2) + 1.0).sqrt();
    let across = (0..m * m).filter(|k| k % m + 1 < m).map(|k| bond(k, k + 1));
    let down = (0..m * m).filter(|k| k / m + 1 < m).map(|k| bond(k, k + m));
    Ok(sum(across.chain(down)))
}
