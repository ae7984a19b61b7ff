//! The family `control`: loops and branches over scalars, as ordinary Rust and by `wengert::loops`.

use std::f64::consts::TAU;

use wengert::{Real, lit, loops};

use super::algebra::{add, logsumexp, map, matvec, sum_squares};
use super::unsupported;
use crate::array::{Args, Array, Operand, Outputs, Trouble, number, one, several};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "rnn" | "rnn_loss" | "rnn_checkpoint" | "rnn_reverse" | "lstm" => recurrent(function, args),
        "scan_cumulative"
        | "scan_no_xs"
        | "scan_linear_recurrence"
        | "scan_int_counter"
        | "nested_scan"
        | "nested_scan_checkpoint"
        | "cond_in_scan"
        | "horner_scan"
        | "ema_scan" => scan(function, args),
        "scan_closure" | "matrix_scan" => iterated_map(function, args),
        "while_newton_sqrt" | "while_doubling" | "while_vector" | "fori_loop" => looping(function, args),
        "cond" | "cond_nested" | "cond_unused_nan_branch" | "switch" | "scan_in_cond" => branching(function, args),
        "hmm_forward" => hmm_forward(args),
        "kalman_loglik" => kalman_loglik(args),
        other => unsupported(other),
    }
}

fn recurrent<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    if function == "lstm" {
        return lstm(args);
    }
    let (w, u, b, h0, x) = (args.matrix(0)?, args.matrix(1)?, args.vector(2)?, args.vector(3)?, args.matrix(4)?);
    let step = |h: &[R], x: &[R]| map(&add(&add(&matvec(w, h), &matvec(u, x)), b), R::tanh);
    let steps = x.height();
    let mut order: Vec<usize> = (0..steps).collect();
    if function == "rnn_reverse" {
        order.reverse();
    }
    let mut h = h0.to_vec();
    let mut all = Array::new(&[steps, h.len()], vec![R::constant(0.0); steps * h.len()]);
    for t in order {
        h = step(&h, x.row(t));
        all.data[t * h.len()..(t + 1) * h.len()].copy_from_slice(&h);
    }
    match function {
        "rnn_loss" => number(sum_squares(&all.data) / all.data.len() as f64 + h.iter().map(|h| h.sin()).sum::<R>()),
        "rnn_checkpoint" => number(sum_squares(&all.data)),
        _ => several([Array::vector(h), all]),
    }
}

fn lstm<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (w, u, b) = (args.matrix(0)?, args.matrix(1)?, args.vector(2)?);
    let (mut h, mut c, x) = (args.vector(3)?.to_vec(), args.vector(4)?.to_vec(), args.matrix(5)?);
    let size = h.len();
    let mut all = Vec::new();
    for x in x.rows() {
        let z = add(&add(&matvec(w, &h), &matvec(u, x)), b);
        for k in 0..size {
            let [input, forget, cell, output] = [0, 1, 2, 3].map(|gate| z[gate * size + k]);
            c[k] = forget.sigmoid() * c[k] + input.sigmoid() * cell.tanh();
            h[k] = output.sigmoid() * c[k].tanh();
        }
        all.extend_from_slice(&h);
    }
    several([Array::vector(h), Array::vector(c), Array::new(&[x.height(), size], all)])
}

/// Loops that carry one scalar.
fn scan<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "scan_cumulative" => {
            let (c, seen) = loops::scan(args.scalar(0)?, args.vector(1)?, |c, x| (c * x + c.sin(), c * c));
            several([Array::scalar(c), Array::vector(seen)])
        }
        "scan_no_xs" => {
            let (x, a) = (args.scalar(0)?, args.scalar(1)?);
            let rows = vec![R::constant(0.0); args.count("length")?];
            let (x, seen) = loops::scan(x, &rows, |x, _| (a * x * (lit(1.0) - x), x));
            several([Array::scalar(x), Array::vector(seen)])
        }
        "scan_linear_recurrence" => {
            let rows: Vec<[R; 2]> = args.vector(0)?.iter().zip(args.vector(1)?).map(|(&a, &b)| [a, b]).collect();
            let (h, seen) = loops::scan(args.scalar(2)?, &rows, |h, [a, b]| (a * h + b, a * h + b));
            several([Array::scalar(h), Array::vector(seen)])
        }
        "scan_int_counter" => {
            let x = args.scalar(0)?;
            let start = (R::constant(1.0), R::constant(0.0));
            let step = |(t, sum): (R, R), weight: R| ((t + 1.0, sum + weight * t * x), ());
            number(loops::scan(start, args.vector(1)?, step).0.1)
        }
        "nested_scan" | "nested_scan_checkpoint" => {
            let rows: Vec<Vec<R>> = args.matrix(1)?.rows().map(<[R]>::to_vec).collect();
            let step = |c: R, x: R| if function == "nested_scan" { c.cos() + c * x * 0.5 } else { c.sin() + c * x };
            let (c, seen) = loops::scan(args.scalar(0)?, &rows, |c, row: Vec<R>| {
                (loops::scan(c, &row, |c, x| (step(c, x), ())).0, c)
            });
            if function == "nested_scan" { several([Array::scalar(c), Array::vector(seen)]) } else { number(c) }
        }
        "cond_in_scan" => {
            let (c, seen) = loops::scan(args.scalar(0)?, args.vector(1)?, |c, x| {
                let c = if x > 0.0 { c * x.cos() } else { c + x * x };
                (c, c)
            });
            several([Array::scalar(c), Array::vector(seen)])
        }
        "horner_scan" => {
            let x = args.scalar(0)?;
            number(loops::scan(R::constant(0.0), args.vector(1)?, |p, c| (p * x + c, ())).0)
        }
        "ema_scan" => {
            let (x, a) = (args.matrix(0)?, args.scalar(1)?);
            let rows: Vec<Vec<R>> = x.rows().map(<[R]>::to_vec).collect();
            let (_, seen) = loops::scan(vec![R::constant(0.0); x.shape[1]], &rows, |m: Vec<R>, row: Vec<R>| {
                let m: Vec<R> = m.iter().zip(&row).map(|(&m, &x)| (lit(1.0) - a) * m + a * x).collect();
                (m.clone(), m)
            });
            one(Array::new(&x.shape, seen.concat()))
        }
        other => unsupported(other),
    }
}

/// `v <- tanh(W v)` and `v <- M v / |M v|`.
fn iterated_map<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    let w = args.matrix(0)?;
    let step = |v: Vec<R>| {
        let v = matvec(w, &v);
        if function == "scan_closure" {
            map(&v, R::tanh)
        } else {
            let norm = sum_squares(&v).sqrt();
            map(&v, |v| v / norm)
        }
    };
    let length = args.count("length")? as i64;
    one(Array::vector(loops::fori(0..length, args.vector(1)?.to_vec(), |_, v| step(v))))
}

/// Loops whose trip count depends on the data, but for `fori_loop`.
fn looping<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "while_newton_sqrt" => {
            let a = args.scalar(0)?;
            number(loops::while_loop(a, |s| (s * s - a).abs() > 1e-10, |s| (s + a / s) * 0.5))
        }
        "while_doubling" => {
            let x = args.scalar(0)?;
            let (mut y, mut n) = (x, 0);
            while y < 100.0 {
                y *= x;
                n += 1;
            }
            Ok(vec![Array::scalar(y).into(), Operand::Whole(Array::scalar(n))])
        }
        "while_vector" => {
            let (y, k) = (args.vector(0)?.to_vec(), args.scalar(1)?);
            let y = loops::while_loop(y, |y| sum_squares(&y) > 1.0, |y| map(&y, |y| k * y));
            one(Array::vector(y))
        }
        "fori_loop" => {
            let (x, n) = (args.vector(0)?.to_vec(), args.count("n")? as i64);
            one(Array::vector(loops::fori(0..n, x, |i, x| map(&x, |x| x * (x + i).sin()))))
        }
        other => unsupported(other),
    }
}

fn branching<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "cond" => {
            let (x, y) = (args.scalar(0)?, args.scalar(1)?);
            number(if x > 0.0 { x.sin() * y } else { x * x + y.exp() })
        }
        "cond_nested" => {
            let x = args.scalar(0)?;
            number(if x > 1.0 {
                x.ln()
            } else if x < -1.0 {
                -(x * x)
            } else {
                x - 1.0
            })
        }
        "cond_unused_nan_branch" => {
            let x = args.scalar(0)?;
            number(if x > 0.0 { x.sqrt() } else { x * 3.0 })
        }
        "switch" => {
            // Indices outside of 0..3 mean the nearest branch.
            let index = args.integers(0)?.data.first().map(|index| (*index).clamp(0, 2));
            one(args.array(1)?.map(|x| match index {
                Some(0) => x.sin(),
                Some(1) => x.powi(3),
                _ => (-x).exp(),
            }))
        }
        "scan_in_cond" => {
            let (p, w) = (args.integers(0)?.data.first().is_some_and(|&p| p != 0), args.vector(2)?);
            let step = |x: Vec<R>| x.iter().zip(w).map(|(&x, &w)| (w * x).tanh()).collect();
            one(Array::vector((0..if p { 3 } else { 0 }).fold(args.vector(1)?.to_vec(), |x, _| step(x))))
        }
        other => unsupported(other),
    }
}

/// `a_t[j] = logsumexp_i(a_{t-1}[i] + lA[i,j]) + lB[t,j]`, and the logsumexp of the last.
fn hmm_forward<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (log_prior, transitions, emissions) = (args.vector(0)?, args.matrix(1)?.transposed(), args.matrix(2)?);
    let mut rows = emissions.rows();
    let Some(first) = rows.next() else {
        return Err(Trouble::Misfit("there is no observation".to_owned()));
    };
    let step = |a: Vec<R>, b: &[R]| -> Vec<R> {
        transitions.rows().zip(b).map(|(into, &b)| logsumexp(&add(&a, into)) + b).collect()
    };
    number(logsumexp(&rows.fold(add(log_prior, first), step)))
}

fn kalman_loglik<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (a, q, r) = (args.scalar(0)?, args.scalar(1)?, args.scalar(2)?);
    let start = [R::constant(0.0), R::constant(1.0), R::constant(0.0)];
    let ([_, _, loglik], _) = loops::scan(start, args.vector(3)?, |[m, p, loglik], y| {
        let (m, p) = (a * m, a * a * p + q);
        let s = p + r;
        let gain = p / s;
        let loglik = loglik - ((s * TAU).ln() + (y - m).powi(2) / s) * 0.5;
        ([m + gain * (y - m), (lit(1.0) - gain) * p, loglik], ())
    });
    number(loglik)
}
