//! What gradients of factorisations and transforms take: no more memory than their plan says, and not much less; and on any
//! number of threads the same bits.

use allocation_counter::measure;
use wengert::linalg::{Side, Triangle, TriangularSolve, riccati, spectral};
use wengert::prelude::*;
use wengert::signal::{Convolved, fft, fft_convolve, irfft, rfft, rfft2};
use wengert::{Compile, Compiled};

use crate::numbers;

type Point = Vec<Tensor>;
type Loss = fn(&[Tensor]) -> Tensor;
type Case = (&'static str, Point, Loss);

/// A matrix with a large diagonal.
fn dominant(seed: u64, n: usize) -> Tensor {
    numbers(&[n, n], seed) + Tensor::eye(n) * (n as f64)
}

/// A matrix whose last row is its first one.
fn singular(seed: u64, n: usize) -> Tensor {
    let x = numbers(&[n - 1, n], seed);
    Tensor::concat([&x, &x.slice(..1)], 0)
}

/// A symmetric positive definite matrix.
fn positive(seed: u64, n: usize) -> Tensor {
    let x = numbers(&[n, n], seed);
    x.matmul(&x.t()) + Tensor::eye(n)
}

/// A batch of symmetric positive definite matrices.
fn batch(count: usize, n: usize) -> Tensor {
    let x = numbers(&[count, n, n], 5);
    x.matmul(&x.swap_axes(-2, -1)) + Tensor::eye(n)
}

fn of(name: &'static str, point: Point, loss: Loss) -> Case {
    (name, point, loss)
}

/// Losses, and where their gradients are taken: those whose work is in our own kernels and products. Sizes are on both sides of
/// those at which factorisations are cut into blocks.
fn own() -> Vec<Case> {
    vec![
        of("logdet_spd 256", vec![positive(1, 256)], |x| x[0].logdet_spd()),
        of("cholesky 300", vec![positive(2, 300)], |x| (x[0].cholesky() * 0.1).sin().sum()),
        of("cholesky 600", vec![positive(2, 600)], |x| x[0].cholesky().square().sum()),
        of("solve_spd 256", vec![positive(3, 256), numbers(&[256, 8], 4)], |x| x[0].solve_spd(&x[1]).square().sum()),
        of("solve 256", vec![dominant(5, 256), numbers(&[256], 6)], |x| x[0].solve(&x[1]).square().sum()),
        of("solve 400, many", vec![dominant(5, 400), numbers(&[400, 100], 6)], |x| x[0].solve(&x[1]).square().sum()),
        of("lu 384", vec![dominant(7, 384)], |x| {
            let (l, u, _) = x[0].lu();
            l.sin().sum() + u.cos().sum()
        }),
        of("inv 200", vec![dominant(8, 200)], |x| x[0].inv().sin().sum()),
        of("slogdet 256", vec![dominant(9, 256)], |x| x[0].slogdet().1),
        of("triangular 320", vec![dominant(11, 320), numbers(&[320, 40], 12)], |x| {
            x[0].solve_triangular(&x[1], TriangularSolve::new(Side::Left, Triangle::Upper)).square().sum()
        }),
        of("expm 64", vec![numbers(&[64, 64], 20)], |x| x[0].expm().square().sum().ln()),
        of("batch of cholesky and solve 6", vec![batch(1024, 6), numbers(&[1024, 6, 1], 23)], |x| {
            x[0].solve_spd(&x[1]).square().sum()
        }),
        of("batch of cholesky 40", vec![batch(24, 40)], |x| x[0].cholesky().sin().sum()),
        of("batch of solve 20", vec![batch(40, 20), numbers(&[40, 20, 2], 24)], |x| x[0].solve(&x[1]).square().sum()),
        of("rfft 64 x 4096", vec![numbers(&[64, 4096], 27)], |x| rfft(&x[0]).norm_sqr().log1p().sum()),
        of("rfft2 200 x 256", vec![numbers(&[200, 256], 28)], |x| rfft2(&x[0]).norm_sqr().log1p().sum()),
        of("fft 10007", vec![numbers(&[10007], 29), numbers(&[10007], 30)], |x| {
            fft(Complex::new(x[0].clone(), x[1].clone())).norm_sqr().log1p().sum()
        }),
        of("irfft 40 x 1025", vec![numbers(&[40, 1025], 31)], |x| {
            irfft(Complex::new(x[0].clone(), x[0].sin()), 2048).sin().sum()
        }),
        of("fft_convolve 5000", vec![numbers(&[5000], 32), numbers(&[700], 33)], |x| {
            fft_convolve(&x[0], &x[1], Convolved::Full).sin().sum()
        }),
    ]
}

/// Those whose work is in a library that keeps memory of its own, and in definitions that allocate: both are predicted.
fn others() -> Vec<Case> {
    vec![
        of("det 64", vec![singular(10, 64)], |x| x[0].det() * 1e-9),
        of("det 20 of rank 1", vec![numbers(&[20, 1], 10).matmul(&numbers(&[1, 20], 11))], |x| x[0].det()),
        of("qr 500 x 200", vec![numbers(&[500, 200], 13)], |x| {
            let (q, r) = x[0].qr();
            q.sin().sum() + r.cos().sum()
        }),
        of("qr 260", vec![numbers(&[260, 260], 13)], |x| x[0].qr().1.square().sin().sum()),
        of("lstsq 400 x 60", vec![numbers(&[400, 60], 14), numbers(&[400], 15)], |x| x[0].lstsq(&x[1]).square().sum()),
        of("eigh 256", vec![positive(16, 256)], |x| x[0].eigvalsh().square().sum()),
        of("eigh 120, vectors", vec![positive(17, 120)], |x| x[0].eigh().1.square().slice((.., 3)).sin().sum()),
        of("spectral 128", vec![positive(18, 128)], |x| spectral(&x[0]).map(|v| v.ln()).square().sum()),
        of("svd 260 x 120", vec![numbers(&[260, 120], 19)], |x| x[0].singular_values().sin().sum()),
        of("riccati 12", vec![numbers(&[12, 12], 21), numbers(&[12, 3], 22)], |x| {
            riccati(&x[0], &x[1], &Tensor::eye(12), &Tensor::eye(3)).square().sum()
        }),
        of("schur 40", vec![numbers(&[40, 40], 23)], |x| x[0].schur().0.sin().sum()),
        of("batch of svd 3", vec![numbers(&[1024, 3, 3], 25)], |x| x[0].singular_values().sin().sum()),
        of("batch of svd 16", vec![numbers(&[40, 16, 12], 25)], |x| x[0].svd().0.square().sin().sum()),
        of("batch of eigh 4", vec![batch(600, 4)], |x| x[0].eigh().1.square().sin().sum()),
        of("batch of eigh 24", vec![batch(30, 24)], |x| x[0].eigvalsh().sin().sum()),
        of("batch of qr 30", vec![numbers(&[30, 30, 30], 26)], |x| x[0].qr().0.sin().sum()),
    ]
}

type Known = Compiled<Point, (Tensor, Point), Box<dyn Fn(Point) -> (Tensor, Point) + Sync>>;

fn gradient(loss: Loss, options: Compile) -> Known {
    options.function(Box::new(move |x: Point| value_and_grad(&x, |x| loss(&x))))
}

fn bits((value, gradient): &(Tensor, Point)) -> Vec<u64> {
    [value].into_iter().chain(gradient).flat_map(Tensor::to_vec).map(f64::to_bits).collect()
}

#[test]
fn plans_know_the_memory_that_gradients_take() {
    let mut wrong = String::new();
    for (name, point, loss) in own().into_iter().chain(others()) {
        let f = gradient(loss, Compile::new().threads(1));
        let plan = f.plan(&point).unwrap();
        let (predicted, lists) = (plan.peak_bytes() as u64, plan.call_bytes() as u64);
        // A thread of its own has nothing of what threads keep, as the library of matrix products does.
        let run = || measure(|| drop(f.call(&point))).bytes_max;
        let measured = std::thread::scope(|scope| scope.spawn(run).join().expect("no call panics"));
        if !(predicted - predicted / 10 - lists..=predicted).contains(&measured) {
            wrong += &format!("{name}: {predicted} bytes predicted, {measured} measured\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is predicted of the cofactors holds for every matrix: one that is well conditioned has its inverse in less.
#[test]
fn the_gradient_of_a_determinant_takes_no_more_than_any_matrix() {
    let f = gradient(|x| x[0].det() * 1e-9, Compile::new().threads(1));
    let point = vec![numbers(&[64, 64], 10)];
    let predicted = f.plan(&point).unwrap().peak_bytes() as u64;
    let run = || measure(|| drop(f.call(&point))).bytes_max;
    let measured = std::thread::scope(|scope| scope.spawn(run).join().expect("no call panics"));
    assert!((predicted / 2..=predicted).contains(&measured), "{predicted} predicted, {measured} measured");
}

#[test]
fn threads_do_not_change_a_bit_of_a_gradient() {
    for (name, point, loss) in own().into_iter().chain(others()) {
        let on = |threads: usize| bits(&gradient(loss, Compile::new().threads(threads)).call(&point));
        let wanted = on(1);
        assert!(wanted.iter().all(|&x| f64::from_bits(x).is_finite()), "{name}");
        for threads in [2, 7] {
            assert!(on(threads) == wanted, "{name}: other bits on {threads} threads");
        }
    }
}
