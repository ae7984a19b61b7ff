//! Times of factorisations, on one thread and on two: the median of several runs.
//!
//! ```text
//! cargo run --release -p wengert-kernels --features linalg --example factors
//! ```

#![expect(clippy::print_stdout, reason = "it prints a table")]

use std::time::Instant;

use wengert_kernels::Pool;
use wengert_kernels::arena::{Arena, Line};
use wengert_kernels::factor::{Cholesky, CholeskyTangent, Eigh, Lu, LuTangent, Qr, Reads, Side, Solve, Svd, Triangle};

/// Numbers between -1 and 1 that look random.
fn noise(count: usize) -> Vec<f64> {
    let mut state = 1_u64;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Symmetric matrices with a large diagonal.
fn positive(n: usize, count: usize) -> Vec<f64> {
    let mut a = noise(n * n * count);
    for a in a.chunks_exact_mut(n * n) {
        for row in 0..n {
            for column in 0..row {
                a[column * n + row] = a[row * n + column];
            }
            a[row * n + row] += 2.0 * n as f64;
        }
    }
    a
}

/// The median of the times of a call, in microseconds, on one thread and on two.
fn time(name: &str, bytes: impl Fn(usize) -> usize, mut call: impl FnMut(&mut [Line], &Pool)) {
    let times = [1, 2].map(|threads| {
        let pool = Pool::new(threads);
        let mut arena = Arena::new(bytes(threads)).expect("there is memory");
        call(arena.as_lines_mut(), &pool);
        let (start, mut times) = (Instant::now(), Vec::new());
        while start.elapsed().as_secs_f64() < 0.3 || times.len() < 5 {
            let start = Instant::now();
            call(arena.as_lines_mut(), &pool);
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("{name:<34} {:>10.1} {:>10.1}", times[0], times[1]);
}

fn main() {
    println!("{:<34} {:>10} {:>10}", "microseconds", "1 thread", "2 threads");
    for (n, count) in [(6, 4096), (64, 1), (256, 1), (1000, 1), (1024, 1)] {
        let (a, mut l) = (positive(n, count), positive(n, count));
        let cholesky = Cholesky { n, count, reads: Reads::Lower };
        time(
            &format!("cholesky {count} of {n}"),
            |t| cholesky.workspace::<f64>(t),
            |w, pool| {
                l.copy_from_slice(&a);
                cholesky.run(&mut l, w, pool).expect("positive");
            },
        );
        let tangent = CholeskyTangent { n, count, transposed: true };
        let (right, mut x) = (noise(n * n * count), a.clone());
        time(
            &format!("cotangent of cholesky {count} of {n}"),
            |t| tangent.workspace::<f64>(t),
            |w, pool| {
                x.copy_from_slice(&right);
                tangent.run(&l, &mut x, w, pool).expect("not singular");
            },
        );
        for columns in [1, n] {
            let (triangle, side) = (Triangle::Lower, Side::Left);
            let solve = Solve { n, columns, count, triangle, side, transposed: false, unit: false };
            let (right, mut b) = (noise(n * columns * count), noise(n * columns * count));
            time(
                &format!("solve {count} of {n}, {columns}"),
                |t| solve.workspace::<f64>(t),
                |w, pool| {
                    b.copy_from_slice(&right);
                    solve.run(&a, &mut b, w, pool).expect("not singular");
                },
            );
        }
        let lu = Lu { rows: n, columns: n, count };
        let (mut u, mut order) = (a.clone(), vec![0; n * count]);
        time(
            &format!("lu {count} of {n}"),
            |t| lu.workspace::<f64>(t),
            |w, pool| {
                lu.run(&a, &mut l, &mut u, &mut order, w, pool).expect("finite");
            },
        );
        let tangent = LuTangent { n, count, transposed: true };
        time(
            &format!("cotangent of lu {count} of {n}"),
            |t| tangent.workspace::<f64>(t),
            |w, pool| {
                x.copy_from_slice(&right);
                tangent.run(&l, &u, &mut x, w, pool).expect("not singular");
            },
        );
    }
    for (rows, columns, count) in [(3, 3, 4096), (6, 6, 4096), (2000, 100, 1), (256, 256, 1)] {
        let (a, rank) = (noise(rows * columns * count), rows.min(columns));
        let (mut q, mut r) = (vec![0.0; rows * rank * count], vec![0.0; rank * columns * count]);
        let qr = Qr { rows, columns, count };
        time(
            &format!("qr {count} of {rows} {columns}"),
            |t| qr.workspace::<f64>(t),
            |w, pool| {
                qr.run(&a, &mut q, &mut r, w, pool).expect("finite");
            },
        );
        let svd = Svd { rows, columns, count };
        let mut values = vec![0.0; rank * count];
        time(
            &format!("svd {count} of {rows} {columns}"),
            |t| svd.workspace::<f64>(t),
            |w, pool| {
                svd.run(&a, &mut q, &mut values, &mut r, w, pool).expect("finite");
            },
        );
    }
    for (n, count) in [(3, 4096), (6, 4096), (256, 1)] {
        let (a, mut v, mut values) = (positive(n, count), positive(n, count), vec![0.0; n * count]);
        let eigh = Eigh { n, count, reads: Reads::Mean };
        time(
            &format!("eigh {count} of {n}"),
            |t| eigh.workspace::<f64>(t),
            |w, pool| {
                v.copy_from_slice(&a);
                eigh.run(&mut v, &mut values, w, pool).expect("finite");
            },
        );
    }
}
