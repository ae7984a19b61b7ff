//! The family `control`: loops that stay loops, and branches.

use std::f64::consts::TAU;

use wengert::{Carry, Rows, Scan, Tensor, checkpoint, cond, fori, scan, switch, while_loop};

use super::{ArrayArgs, Results, one, unsupported};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "rnn" | "rnn_loss" | "rnn_checkpoint" | "rnn_reverse" => recurrent(function, args.all()?),
        "lstm" => lstm(args.all()?),
        "scan_cumulative" | "scan_no_xs" | "scan_linear_recurrence" | "cond_in_scan" | "nested_scan" => {
            with_course(function, args)
        }
        "scan_int_counter" | "nested_scan_checkpoint" | "horner_scan" | "ema_scan" => folded(function, args),
        "scan_closure" | "matrix_scan" | "fori_loop" => counted(function, args),
        "while_newton_sqrt" | "while_doubling" | "while_vector" => asking(function, args),
        "cond" | "cond_nested" | "cond_unused_nan_branch" | "switch" | "scan_in_cond" => branching(function, args),
        "hmm_forward" => hmm_forward(args.all()?),
        "kalman_loglik" => kalman_loglik(args.all()?),
        other => unsupported(other),
    }
}

/// The last carry of a scan whose steps give nothing else.
pub(super) fn fold<C, X>(init: C, xs: X, step: impl Fn(C::Vars, X::Row) -> C::Vars) -> C::Vars
where
    C: Carry<Active = Tensor>,
    X: Rows<Tensor>,
{
    scan(init, xs, |c, x| (step(c, x), ())).0
}

fn recurrent(function: &str, [w, u, b, h0, x]: [&Tensor; 5]) -> Results {
    let cell = |h: &Tensor, x: &Tensor| (w.matmul(h) + u.matmul(x) + b).tanh();
    let step = |h: Tensor, x: Tensor| {
        let h = if function == "rnn_checkpoint" { checkpoint((&h, &x), |(h, x)| cell(&h, &x)) } else { cell(&h, &x) };
        (h.clone(), h)
    };
    let time = if function == "rnn_reverse" { Scan::new().reverse() } else { Scan::new() };
    let (last, all) = time.run(h0, x, step);
    match function {
        "rnn_loss" => one(all.square().mean() + last.sin().sum()),
        "rnn_checkpoint" => one(all.square().sum()),
        _ => Ok(vec![last, all]),
    }
}

fn lstm([w, u, b, h0, c0, x]: [&Tensor; 6]) -> Results {
    let size = h0.size();
    let ((h, c), all) = scan((h0, c0), x, |(h, c), x| {
        let gates = (w.matmul(&h) + u.matmul(&x) + b).split(&[size; 4], 0);
        let [input, forget, cell, output] = &gates[..] else { unreachable!("four parts") };
        let c = forget.sigmoid() * c + input.sigmoid() * cell.tanh();
        let h = output.sigmoid() * c.tanh();
        ((h.clone(), c), h)
    });
    Ok(vec![h, c, all])
}

/// Loops that carry one number, and give one in every step.
fn with_course(function: &str, args: &ArrayArgs) -> Results {
    let (last, course) = match function {
        "scan_cumulative" => {
            let [c, xs] = args.all()?;
            scan(c, xs, |c, x| (&c * x + c.sin(), c.square()))
        }
        "scan_no_xs" => {
            let [x, a] = args.all()?;
            scan(x, Tensor::iota(args.attrs.count("length")?), |x, _| (a * &x * (1.0 - &x), x))
        }
        "scan_linear_recurrence" => {
            let [a, b, h] = args.all()?;
            scan(h, (a, b), |h, (a, b)| {
                let h = a * h + b;
                (h.clone(), h)
            })
        }
        "cond_in_scan" => {
            let [c, xs] = args.all()?;
            scan(c, xs, |c, x| {
                let c = cond(&x.gt(0.0), (&c, &x), |(c, x)| c * x.cos(), |(c, x)| c + x.square());
                (c.clone(), c)
            })
        }
        "nested_scan" => {
            let [c, rows] = args.all()?;
            scan(c, rows, |c, row| (fold(&c, row, |c, x| c.cos() + &c * x * 0.5), c))
        }
        other => return unsupported(other),
    };
    Ok(vec![last, course])
}

/// Loops over rows of which the last carry counts, or the course alone.
fn folded(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "scan_int_counter" => {
            let [x, weights] = args.all()?;
            let start = (Tensor::from(1i64), Tensor::from(0.0));
            fold(start, weights, |(t, sum), weight| (&t + 1, sum + t.to_f64() * weight * x)).1
        }
        "nested_scan_checkpoint" => {
            let [c, rows] = args.all()?;
            let step = |c: Tensor, x: Tensor| c.sin() + c * x;
            fold(c, rows, |c, row| checkpoint((c, row), |(c, row)| fold(c, row, step)))
        }
        "horner_scan" => {
            let [x, coefficients] = args.all()?;
            fold(Tensor::from(0.0), coefficients, |p, c| p * x + c)
        }
        "ema_scan" => {
            let [xs, a] = args.all()?;
            let step = |m: Tensor, x: Tensor| {
                let m = (1.0 - a) * m + a * x;
                (m.clone(), m)
            };
            scan(Tensor::zeros(&xs.shape()[1..]), xs, step).1
        }
        other => return unsupported(other),
    })
}

/// Loops of a number of steps that the case states.
fn counted(function: &str, args: &ArrayArgs) -> Results {
    if function == "fori_loop" {
        let [x] = args.all()?;
        return one(fori(0..args.attrs.count("n")? as i64, x, |i, x| &x * (&x + i.to_f64()).sin()));
    }
    let [w, v] = args.all()?;
    let step = |v: Tensor| {
        let v = w.matmul(&v);
        if function == "scan_closure" { v.tanh() } else { &v / v.square().sum().sqrt() }
    };
    one(fold(v, Tensor::iota(args.attrs.count("length")?), |v, _| step(v)))
}

/// Loops whose number of steps depends on the data.
fn asking(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "while_newton_sqrt" => {
            let [a] = args.all()?;
            one(while_loop(a, |s| (s.square() - a).abs().gt(1e-10), |s| (&s + a / &s) * 0.5))
        }
        "while_doubling" => {
            let [x] = args.all()?;
            let (y, n) = while_loop((x, Tensor::from(0i64)), |(y, _)| y.lt(100.0), |(y, n)| (y * x, n + 1));
            Ok(vec![y, n])
        }
        "while_vector" => {
            let [y, k] = args.all()?;
            one(while_loop(y, |y| y.square().sum().gt(1.0), |y| k * y))
        }
        other => unsupported(other),
    }
}

fn branching(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "cond" => {
            let [x, y] = args.all()?;
            cond(&x.gt(0.0), (x, y), |(x, y)| x.sin() * y, |(x, y)| x.square() + y.exp())
        }
        "cond_nested" => {
            let [x] = args.all()?;
            let small = |x: Tensor| cond(&x.lt(-1.0), &x, |x| -x.square(), |x| x - 1.0);
            cond(&x.gt(1.0), x, |x| x.ln(), small)
        }
        "cond_unused_nan_branch" => {
            let [x] = args.all()?;
            cond(&x.gt(0.0), x, |x| x.sqrt(), |x| x * 3.0)
        }
        "switch" => {
            let [index, x] = args.all()?;
            // One outside of the range means the nearest there.
            let index = index.lt(0).where_(0, index.gt(2).where_(2, index));
            switch(&index, x, &[&|x| x.sin(), &|x| x.powi(3), &|x| (-x).exp()])
        }
        "scan_in_cond" => {
            let [p, x, w] = args.all()?;
            cond(p, x, |x| fold(x, Tensor::iota(3), |x, _| (w * x).tanh()), |x| x)
        }
        other => return unsupported(other),
    })
}

/// `a_t[j] = logsumexp_i(a_{t-1}[i] + lA[i,j]) + lB[t,j]`, and the logsumexp of the last.
fn hmm_forward([log_prior, transitions, emissions]: [&Tensor; 3]) -> Results {
    let rest = emissions.shape()[0] - 1;
    let parts = emissions.split(&[1, rest], 0);
    let step = |a: Tensor, b: Tensor| (a.expand_dims(1) + transitions).logsumexp_over(0) + b;
    one(fold(log_prior + parts[0].squeeze(0), &parts[1], step).logsumexp())
}

fn kalman_loglik([a, q, r, ys]: [&Tensor; 4]) -> Results {
    let start = [0.0, 1.0, 0.0].map(Tensor::from);
    let [_, _, loglik] = fold(start, ys, |[m, p, loglik], y| {
        let (m, p) = (a * m, a * a * p + q);
        let s = &p + r;
        let (gain, off) = (&p / &s, y - &m);
        let term = ((&s * TAU).ln() + off.square() / s) * -0.5;
        [m + &gain * off, (1.0 - gain) * p, loglik + term]
    });
    one(loglik)
}
