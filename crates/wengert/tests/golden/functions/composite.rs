//! The family `composite`: worked examples and small models.

use std::f64::consts::{E, PI, SQRT_2, TAU};

use wengert::{Real, lit};

use super::algebra::{
    add, affine, cholesky, dot, forward_substitution, logsumexp, map, matmul, matvec, mean, softmax, sum_squares,
};
use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, number, one};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "poly_sin" | "fan_out" | "sigmoid_decomposed" | "exp_chain" | "x_pow_x" | "repeated_variable" => {
            number(of_one(function, args.scalar(0)?))
        }
        "mul_sin" | "ln_mul_sin" | "griewank_walther_5" | "two_var_trig" | "himmelblau" => {
            number(of_two(function, args.scalar(0)?, args.scalar(1)?))
        }
        "unused_input" => {
            args.scalar(1)?;
            number(args.scalar(0)?.sin())
        }
        "constant_output" => number(R::constant(3.0)),
        "vector_function" | "spherical_to_cartesian" | "robot_arm" | "bezier_cubic" => curve(function, args),
        "speelpenning" | "ackley" | "rastrigin" | "griewank" => number(landscape(function, args.vector(0)?)),
        "linear_layer" => one(affine(args.matrix(2)?, args.matrix(0)?, args.vector(1)?)),
        "relu_layer" => one(affine(args.matrix(2)?, args.matrix(0)?, args.vector(1)?).map(R::relu)),
        "mse_linear" => {
            let prediction = affine(args.matrix(2)?, args.matrix(0)?, args.vector(1)?);
            number(mean_square(&prediction, args.matrix(3)?))
        }
        "softmax_cross_entropy" => number(cross_entropy(args.matrix(0)?, args, 1)?),
        "binary_cross_entropy_logits" => {
            let terms = args.vector(0)?.iter().zip(args.vector(1)?).map(|(&z, &y)| z.softplus() - y * z);
            number(mean(&terms.collect::<Vec<R>>()))
        }
        "mlp_loss" => {
            let hidden = affine(args.matrix(0)?, args.matrix(2)?, args.vector(3)?).map(R::tanh);
            let hidden = affine(&hidden, args.matrix(4)?, args.vector(5)?).map(R::tanh);
            let output = affine(&hidden, args.matrix(6)?, args.vector(7)?);
            let target = Array::new(&output.shape, fitting(args.array(1)?, output.data.len())?);
            number(mean_square(&output, &target))
        }
        "mlp_classifier" => {
            let hidden = affine(args.matrix(0)?, args.matrix(2)?, args.vector(3)?).map(R::relu);
            number(cross_entropy(&affine(&hidden, args.matrix(4)?, args.vector(5)?), args, 1)?)
        }
        "f32_mlp" => call_single(function, args),
        "chain8_checkpoint" => {
            let (w, b) = (args.matrix(1)?, args.vector(2)?);
            let step = |x: Vec<R>| add(&map(&add(&matvec(w, &x), b), R::tanh), &map(&x, |x| x / 2.0));
            number(sum_squares(&(0..8).fold(args.vector(0)?.to_vec(), |x, _| step(x))))
        }
        "chain8_distinct" => chain_distinct(args),
        "attention" => {
            let (q, k, v) = (args.matrix(0)?, args.matrix(1)?, args.matrix(2)?);
            one(attention(q, k, v, (q.shape[1] as f64).sqrt(), |_, _| true))
        }
        "causal_attention" => {
            let x = args.matrix(0)?;
            let (q, k, v) = (args.matrix(1)?, args.matrix(2)?, args.matrix(3)?);
            one(attention(&matmul(x, q), &matmul(x, k), &matmul(x, v), SQRT_2, |i, j| j <= i))
        }
        "embedding_bag" => embedding_bag(args),
        "logistic_regression_l2" => {
            let w = args.vector(0)?;
            let margins = matvec(args.matrix(1)?, w).into_iter().zip(args.vector(2)?);
            let losses: Vec<R> = margins.map(|(xw, &y)| (-(y * xw)).softplus()).collect();
            number(mean(&losses) + sum_squares(w) * 0.05)
        }
        "helmholtz_energy" => number(helmholtz(args.vector(0)?, args.matrix(1)?, args.vector(2)?)),
        "lennard_jones" => number(lennard_jones(args.matrix(0)?)),
        "gaussian_mixture_nll" => {
            number(mixture_nll(args.vector(0)?, args.matrix(1)?, args.matrix(2)?, args.matrix(3)?))
        }
        "gp_marginal_likelihood" => number(gp_marginal_likelihood(args.vector(0)?, args.vector(1)?, args.vector(2)?)),
        other => unsupported(other),
    }
}

/// The functions whose cases are in single precision.
pub(super) fn call_single<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    if function != "f32_mlp" {
        return unsupported(&format!("{function} in single precision"));
    }
    let output = affine(args.matrix(0)?, args.matrix(1)?, args.vector(2)?);
    number(output.data.iter().map(|x| x.tanh()).sum())
}

fn of_one<R: Real>(function: &str, x: R) -> R {
    match function {
        "poly_sin" => (x * x + 1.0) * x.sin(),
        "fan_out" => {
            let a = x * x;
            a + a.sin()
        }
        "sigmoid_decomposed" => lit(1.0) / ((-x).exp() + 1.0),
        "exp_chain" => x.cos().sin().exp(),
        "x_pow_x" => x.pow(x),
        "repeated_variable" => x * x * x + x / (x + x),
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_two<R: Real>(function: &str, x: R, y: R) -> R {
    match function {
        "mul_sin" => x * y + x.sin(),
        "ln_mul_sin" => x.ln() + x * y - y.sin(),
        "griewank_walther_5" => {
            let quotient = x / y;
            let power = y.exp();
            (quotient.sin() + quotient - power) * (quotient - power)
        }
        "two_var_trig" => x * x * y + (x * y).cos() / (y * y + 1.0),
        "himmelblau" => (x * x + y - 11.0).powi(2) + (x + y * y - 7.0).powi(2),
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn curve<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    let point = match function {
        "vector_function" => {
            let &[x, y] = args.vector(0)? else { return misfit("two numbers are needed") };
            vec![x * y, x.sin(), y * y]
        }
        "spherical_to_cartesian" => {
            let &[r, theta, phi] = args.vector(0)? else { return misfit("three numbers are needed") };
            vec![r * theta.sin() * phi.cos(), r * theta.sin() * phi.sin(), r * theta.cos()]
        }
        "robot_arm" => {
            let mut angle = R::constant(0.0);
            let mut end = vec![R::constant(0.0); 2];
            for (&q, &length) in args.vector(0)?.iter().zip(args.vector(1)?) {
                angle += q;
                end[0] += length * angle.cos();
                end[1] += length * angle.sin();
            }
            end
        }
        "bezier_cubic" => {
            let (control, t) = (args.matrix(0)?, args.scalar(1)?);
            let s = lit(1.0) - t;
            let weights = [s * s * s, s * s * t * 3.0, s * t * t * 3.0, t * t * t];
            control.transposed().rows().map(|coordinate| dot(coordinate, &weights)).collect()
        }
        other => unreachable!("{other} is not in the list of `call`"),
    };
    one(Array::vector(point))
}

/// Test functions of global optimisation.
fn landscape<R: Real>(function: &str, x: &[R]) -> R {
    let n = x.len() as f64;
    match function {
        "speelpenning" => x.iter().copied().product(),
        "ackley" => {
            let spread = mean(&map(x, |x| x * x)).sqrt() * -0.2;
            let waves = mean(&map(x, |x| (x * TAU).cos()));
            spread.exp() * -20.0 - waves.exp() + 20.0 + E
        }
        "rastrigin" => x.iter().map(|&x| x * x - (x * TAU).cos() * 10.0).sum::<R>() + 10.0 * n,
        "griewank" => {
            let waves: R = x.iter().enumerate().map(|(i, &x)| (x / ((i + 1) as f64).sqrt()).cos()).product();
            sum_squares(x) / 4000.0 - waves + 1.0
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn mean_square<R: Real>(x: &Array<R>, y: &Array<R>) -> R {
    assert_eq!(x.shape, y.shape, "a mean square difference");
    mean(&x.data.iter().zip(&y.data).map(|(&x, &y)| (x - y).powi(2)).collect::<Vec<R>>())
}

/// The mean over the rows of `-log_softmax(row)[label]`, with the labels in input `k`.
fn cross_entropy<R: Real>(logits: &Array<R>, args: &Args<R>, k: usize) -> Result<R, Trouble> {
    let labels = &args.integers(k)?.data;
    let losses = logits.rows().zip(labels).map(|(row, &label)| {
        let label = usize::try_from(label).ok().filter(|&label| label < row.len());
        label.map(|label| logsumexp(row) - row[label])
    });
    match losses.collect::<Option<Vec<R>>>() {
        Some(losses) if losses.len() == labels.len() => Ok(mean(&losses)),
        _ => misfit("the labels do not fit the logits"),
    }
}

fn chain_distinct<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (mut x, layers) = (args.vector(0)?.to_vec(), args.array(1)?);
    let &[count, height, width] = &layers.shape[..] else { return misfit("a stack of matrices is needed") };
    for k in 0..count {
        let w = Array::new(&[height, width], layers.row(k).to_vec());
        x = add(&map(&matvec(&w, &x), R::sin), &x);
    }
    number(x.into_iter().sum())
}

/// `softmax(q k' / scale) v`, where row `i` sees only the columns `j` that are `visible`: the
/// weight of the others is `exp(-inf) = 0`.
fn attention<R: Real>(
    q: &Array<R>,
    k: &Array<R>,
    v: &Array<R>,
    scale: f64,
    visible: impl Fn(usize, usize) -> bool,
) -> Array<R> {
    let columns = v.transposed();
    let rows = q.rows().enumerate().flat_map(|(i, q)| {
        let score = |(j, k)| if visible(i, j) { dot(q, k) / scale } else { R::constant(f64::NEG_INFINITY) };
        let weights = softmax(&k.rows().enumerate().map(score).collect::<Vec<R>>());
        columns.rows().map(move |column| dot(&weights, column)).collect::<Vec<R>>()
    });
    Array::new(&[q.height(), v.shape[1]], rows.collect())
}

fn embedding_bag<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (embeddings, w) = (args.matrix(0)?, args.vector(1)?);
    let mut total = vec![R::constant(0.0); embeddings.shape[1]];
    for &token in &args.integers(2)?.data {
        match usize::try_from(token) {
            Ok(token) if token < embeddings.height() => total = add(&total, embeddings.row(token)),
            _ => return misfit("a token lies outside of the table"),
        }
    }
    number(dot(&map(&total, R::tanh), w))
}

fn helmholtz<R: Real>(x: &[R], a: &Array<R>, b: &[R]) -> R {
    let bx = dot(b, x);
    let ideal: R = x.iter().map(|&x| x * (x / (lit(1.0) - bx)).ln()).sum();
    let quotient = (bx * (1.0 + SQRT_2) + 1.0) / (bx * (1.0 - SQRT_2) + 1.0);
    ideal - dot(x, &matvec(a, x)) / (bx * 8f64.sqrt()) * quotient.ln()
}

fn lennard_jones<R: Real>(atoms: &Array<R>) -> R {
    let mut energy = R::constant(0.0);
    for i in 0..atoms.height() {
        for j in 0..i {
            let square: R = atoms.row(i).iter().zip(atoms.row(j)).map(|(&x, &y)| (x - y).powi(2)).sum();
            let power = square.powi(-3);
            energy += (power * power - power) * 4.0;
        }
    }
    energy
}

/// `-sum_n ln sum_k softmax(logits)_k N(x_n; mu_k, diag exp(2 ls_k))`
fn mixture_nll<R: Real>(logits: &[R], mu: &Array<R>, log_sigma: &Array<R>, points: &Array<R>) -> R {
    let normaliser = logsumexp(logits);
    let log_density = |x: &[R], k: usize| {
        let coordinates = x.iter().zip(mu.row(k)).zip(log_sigma.row(k));
        let terms = coordinates
            .map(|((&x, &mu), &log_sigma)| ((x - mu) / log_sigma.exp()).powi(2) * -0.5 - log_sigma - 0.5 * TAU.ln());
        logits[k] - normaliser + terms.sum::<R>()
    };
    -points.rows().map(|x| logsumexp(&(0..logits.len()).map(|k| log_density(x, k)).collect::<Vec<R>>())).sum::<R>()
}

/// `(y' K^-1 y + ln det K + n ln 2 pi) / 2` by Cholesky's factorisation of `K`.
fn gp_marginal_likelihood<R: Real>(x: &[R], y: &[R], t: &[R]) -> R {
    let n = x.len();
    let kernel = Array::from_fn(&[n, n], |index| {
        let (i, j) = (index[0], index[1]);
        let square = (x[i] - x[j]).powi(2) * (t[1] * -2.0).exp();
        let value = (t[0] * 2.0).exp() * (square * -0.5).exp();
        if i == j { value + (t[2] * 2.0).exp() } else { value }
    });
    let l = cholesky(&kernel);
    let half_log_det: R = (0..n).map(|i| l.at(&[i, i]).ln()).sum();
    sum_squares(&forward_substitution(&l, y)) * 0.5 + half_log_det + 0.5 * n as f64 * (2.0 * PI).ln()
}

/// The numbers of an array that must have this many.
fn fitting<R: Real>(array: &Array<R>, count: usize) -> Result<Vec<R>, Trouble> {
    if array.data.len() == count { Ok(array.data.clone()) } else { misfit("the target does not fit the output") }
}

fn misfit<T>(why: &str) -> Result<T, Trouble> {
    Err(Trouble::Misfit(why.to_owned()))
}
