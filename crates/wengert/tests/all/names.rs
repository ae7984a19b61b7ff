//! Errors are those of the function that the user called: its name, the shapes as they were written, and the user's line,
//! whatever the function is made of.

use std::collections::BTreeSet;

use wengert::linalg::{
    Factor, Side, Triangle, TriangularSolve, circulant, logm, low_rank, lyapunov, lyapunov_discrete, matmul_circulant,
    matmul_toeplitz, multi_dot, nuclear_norm, pinv, polar, riccati, riccati_discrete, singular, solve_circulant,
    solve_toeplitz, spectral, sqrtm, sylvester, toeplitz,
};
use wengert::prelude::*;
use wengert::primitives::{OutOfBounds, Write};
use wengert::signal::{
    Convolved, Fourier, FourierNorm, Stft, Trigonometric, Welch, circular_convolve, dct, dst, fft, fft_convolve,
    fft_convolve_axes, fft2, fftn, fftshift, idct, idst, ifft, ifft2, ifftn, ifftshift, irfft, irfft2, irfftn,
    periodogram, rfft, rfft2, rfftn,
};
use wengert::sparsity::Pattern;
use wengert::{Bound, Compile, ConvOptions, Interpolation, Pool, sparse};

use crate::support::caught::caught;

/// What is wrong with the messages of calls that have to be refused, and which functions were called.
#[derive(Default)]
struct Table {
    wrong: String,
    called: BTreeSet<&'static str>,
}

impl Table {
    /// A call that has to be refused, as the function of this name, on operands of these types.
    #[track_caller]
    fn row<R>(&mut self, name: &'static str, types: &[&str], call: impl FnOnce() -> R) {
        let line = std::panic::Location::caller().line();
        self.called.insert(name);
        let Err(text) = caught("", call).map(drop) else {
            self.wrong += &format!("{name} (line {line}) is not refused\n");
            return;
        };
        let text = text.trim_start_matches(" panicked: ");
        let own = text.strip_prefix(&format!("`{name}` of {} at ", types.join(" and ")));
        // A call may stand some lines below its name.
        let place = own.and_then(|own| own.split_once("tests/all/names.rs:")?.1.split_once(':'));
        let at: Option<u32> = place.and_then(|(at, _)| at.parse().ok());
        if !at.is_some_and(|at| (line..line + 4).contains(&at)) {
            self.wrong += &format!("{name} (line {line}): {text}\n");
        }
    }
}

#[test]
fn linear_algebra() {
    let mut t = Table::default();
    let (wide, line, square, batch) =
        (Tensor::ones(&[2, 3]), Tensor::ones(&[3]), Tensor::eye(3), Tensor::ones(&[4, 3, 3]));
    let (two, whole) = (Tensor::eye(2), Tensor::eye(3).to_i64());
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    for (a, ty) in [(&wide, "f64[2,3]"), (&line, "f64[3]"), (&whole, "i64[3,3]")] {
        t.row("cholesky", &[ty], || a.cholesky());
        t.row("eigh", &[ty], || a.eigh());
        t.row("eigvalsh", &[ty], || a.eigvalsh());
        t.row("eig", &[ty], || a.eig());
        t.row("schur", &[ty], || a.schur());
        t.row("inv", &[ty], || a.inv());
        t.row("det", &[ty], || a.det());
        t.row("slogdet", &[ty], || a.slogdet());
        t.row("logdet_spd", &[ty], || a.logdet_spd());
        t.row("expm", &[ty], || a.expm());
        t.row("matrix_power", &[ty], || a.matrix_power(-2));
        t.row("spectral", &[ty], || spectral(a));
        t.row("sqrtm", &[ty], || sqrtm(a));
        t.row("logm", &[ty], || logm(a));
        t.row("Factor::lu", &[ty], || Factor::lu(a));
        t.row("Factor::cholesky", &[ty], || Factor::cholesky(a));
        t.row("Factor::qr", &[ty], || Factor::qr(a));
        t.row("solve", &[ty, "f64[3]"], || a.solve(&line));
        t.row("solve_spd", &[ty, "f64[3]"], || a.solve_spd(&line));
        t.row("solve_triangular", &[ty, "f64[3]"], || a.solve_triangular(&line, lower));
        t.row("lyapunov", &[ty, "f64[3,3]"], || lyapunov(a, &square));
        t.row("lyapunov_discrete", &[ty, "f64[3,3]"], || lyapunov_discrete(a, &square));
    }
    for (a, ty) in [(&line, "f64[3]"), (&whole, "i64[3,3]")] {
        t.row("lu", &[ty], || a.lu());
        t.row("qr", &[ty], || a.qr());
        t.row("svd", &[ty], || a.svd());
        t.row("singular_values", &[ty], || a.singular_values());
        t.row("spectral_norm", &[ty], || a.spectral_norm());
        t.row("cond_number", &[ty], || a.cond_number());
        t.row("matrix_rank", &[ty], || a.matrix_rank());
        t.row("frobenius_norm", &[ty], || a.frobenius_norm());
        t.row("singular", &[ty], || singular(a));
        t.row("polar", &[ty], || polar(a));
        t.row("nuclear_norm", &[ty], || nuclear_norm(a));
        t.row("low_rank", &[ty], || low_rank(a, 1));
        t.row("pinv", &[ty], || pinv(a));
        t.row("lstsq", &[ty, "f64[2]"], || a.lstsq(&Tensor::ones(&[2])));
        t.row("kron", &[ty, "f64[2,3]"], || a.kron(&wide));
    }
    t.row("low_rank", &["f64[2,3]"], || low_rank(&wide, 3));
    t.row("solve", &["f64[4,3,3]", "f64[2,3,1]"], || batch.solve(&Tensor::ones(&[2, 3, 1])));
    t.row("lstsq", &["f64[2,3]", "f64[3]"], || wide.lstsq(&line));
    t.row("kron", &["f64[2,3]", "f64[3]"], || wide.kron(&line));
    let damping = Tensor::from(1.0);
    t.row("lstsq_damped", &["f64[2,3], f64[3]", "f64[]"], || wide.lstsq_damped(&line, &damping));
    t.row("multi_dot", &["f64[2,3]", "f64[2,3]"], || multi_dot(&[&wide, &wide]));
    t.row("multi_dot", &["f64[2,3], f64[3]", "f64[3,3]"], || multi_dot(&[&wide, &line, &square]));
    t.row("multi_dot", &["f64[2,3]", "f32[3,3]"], || multi_dot(&[&wide, &square.to_f32()]));
    t.row("sylvester", &["f64[3,3], f64[2,2]", "f64[2,3]"], || sylvester(&square, &two, &wide));
    t.row("sylvester", &["f64[3,3], f64[2,3]", "f64[3,3]"], || sylvester(&square, &wide, &square));
    let types = ["f64[3,3], f64[2,3], f64[3,3]", "f64[2,2]"];
    t.row("riccati", &types, || riccati(&square, &wide, &square, &two));
    t.row("riccati_discrete", &types, || riccati_discrete(&square, &wide, &square, &two));
    t.row("toeplitz", &["f64[2,3]", "f64[3]"], || toeplitz(&wide, &line));
    t.row("circulant", &["f64[2,3]"], || circulant(&wide));
    t.row("solve_toeplitz", &["f64[3], f64[3]", "f64[2,3]"], || solve_toeplitz(&line, &line, &wide));
    t.row("matmul_toeplitz", &["f64[3], f64[3]", "f64[2,3]"], || matmul_toeplitz(&line, &line, &wide));
    t.row("solve_circulant", &["f64[3]", "f64[2,3]"], || solve_circulant(&line, &wide));
    t.row("matmul_circulant", &["f64[3]", "f64[2,3]"], || matmul_circulant(&line, &wide));
    t.row("cholesky_update", &["f64[2,3]", "f64[3]"], || wide.cholesky_update(&line));
    t.row("cholesky_downdate", &["f64[3,3]", "f64[2,3]"], || square.cholesky_downdate(&wide));
    for factor in [Factor::lu(&square), Factor::cholesky(&square), Factor::qr(&square)] {
        t.row("Factor::solve", &["f64[3,3]", "f64[2,3]"], || factor.solve(&wide));
        t.row("Factor::solve", &["f64[3,3]", "f64[]"], || factor.solve(&damping));
    }
    t.row("Factor::solve", &["f64[4,3,3]", "f64[2,3,1]"], || {
        Factor::qr(&(&batch + &square)).solve(&Tensor::ones(&[2, 3, 1]))
    });
    let (factor, other) = (Factor::cholesky(&square), Factor::lu(&square));
    t.row("Factor::update", &["f64[3,3]", "f64[2,3]"], || factor.update(&wide));
    t.row("Factor::downdate", &["f64[3,3]", "f64[2,3]"], || factor.downdate(&wide));
    t.row("Factor::update", &["f64[3,3]", "f64[3]"], || other.update(&line));
    t.row("map", &["f64[3,3]"], || spectral(&-&square).map(|x| x.ln()));
    t.row("trace", &["f64[3,3]"], || spectral(&-&square).trace(|x| x.ln()));
    let own = ["projector", "sum", "vectors"];
    let a = spectral(&square);
    t.row(own[0], &["f64[3,3]"], || a.projector(2..5));
    t.row(own[1], &["f64[3,3]"], || a.sum(2..5));
    t.row(own[2], &["f64[3,3]"], || a.vectors(2..5));
    let a = singular(&wide);
    t.row(own[0], &["f64[2,3]"], || a.projector(2..5));
    t.row(own[1], &["f64[2,3]"], || a.sum(2..5));
    t.row(own[2], &["f64[2,3]"], || a.vectors(2..5));
    assert!(t.wrong.is_empty(), "{}", t.wrong);
    complete("src/linalg", &t.called, &["values"]);
}

#[test]
fn signals() {
    let mut t = Table::default();
    let (one, x, whole) = (Tensor::from(1.0), Tensor::ones(&[2, 3]), Tensor::iota(4));
    let pair = ["f64[]", "f64[]"];
    t.row("fft", &pair, || fft(&one));
    t.row("ifft", &pair, || ifft(&one));
    t.row("fft2", &pair, || fft2(&one));
    t.row("ifft2", &pair, || ifft2(&one));
    t.row("fftn", &pair, || fftn(&one));
    t.row("ifftn", &pair, || ifftn(&one));
    t.row("rfft", &["f64[]"], || rfft(&one));
    t.row("rfft2", &["f64[]"], || rfft2(&one));
    t.row("rfftn", &["f64[]"], || rfftn(&one));
    t.row("rfft", &["i64[4]"], || rfft(&whole));
    let half = ["f64[2,3]", "f64[2,3]"];
    t.row("irfft", &half, || irfft(&x, 9));
    t.row("irfft2", &half, || irfft2(&x, [2, 9]));
    t.row("irfftn", &half, || irfftn(&x, &[2, 9]));
    t.row("fft", &half, || Fourier::new().axes([5]).fft(&x));
    t.row("irfft", &half, || Fourier::new().lengths(&[9]).irfft(&x));
    t.row("fftshift", &["f64[2,3]"], || fftshift(&x, 4));
    t.row("ifftshift", &["f64[2,3]"], || ifftshift(&x, [0, -3]));
    let norm = FourierNorm::Inverse;
    t.row("dct", &["f64[2,3]"], || dct(&x, Trigonometric::III, 2, norm));
    t.row("idct", &["i64[4]"], || idct(&whole, Trigonometric::III, 0, norm));
    t.row("dst", &["f64[]"], || dst(&one, Trigonometric::III, 0, norm));
    t.row("idst", &["f64[2,3]"], || idst(&x, Trigonometric::III, 2, norm));
    let other = Tensor::ones(&[4, 5]);
    let both = ["f64[2,3]", "f64[4,5]"];
    t.row("fft_convolve", &both, || fft_convolve(&x, &other, Convolved::Full));
    t.row("fft_convolve_axes", &both, || fft_convolve_axes(&x, &other, &[0, 7], Convolved::Full));
    t.row("circular_convolve", &both, || circular_convolve(&x, &other));
    let stft = Stft::new(4, 2);
    t.row("Stft::forward", &["f64[]"], || stft.forward(&one));
    t.row("Stft::forward", &["i64[4]"], || stft.forward(&whole));
    let spectra = Complex::new(x.clone(), x.clone());
    t.row("Stft::inverse", &half, || stft.inverse(&spectra, 60));
    t.row("Welch::power", &["f64[2,3]"], || Welch::new(8).power(&x));
    t.row("periodogram", &["f64[]"], || periodogram(&one, 1.0));
    t.row("periodogram", &["i64[4]"], || periodogram(&whole, 1.0));
    assert!(t.wrong.is_empty(), "{}", t.wrong);
    // They take numbers alone.
    complete("src/signal", &t.called, &["fftfreq", "rfftfreq"]);
}

#[test]
fn sparse_matrices() {
    let mut t = Table::default();
    let pattern = Pattern::from_entries(2, 2, [(0, 0), (1, 1)]).unwrap();
    let (values, short, x) = (Tensor::ones(&[2]), Tensor::ones(&[1]), Tensor::ones(&[3]));
    for (values, ty) in [(&values, "f64[2]"), (&short, "f64[1]")] {
        let types = [ty, "f64[3]"];
        t.row("sparse::solve", &types, || sparse::solve(&pattern, values, &x));
        t.row("sparse::solve_transposed", &types, || sparse::solve_transposed(&pattern, values, &x));
        t.row("sparse::solve_spd", &types, || sparse::solve_spd(&pattern, values, &x));
        t.row("sparse::multiply", &types, || sparse::multiply(&pattern, values, &x));
        t.row("sparse::multiply_transposed", &types, || sparse::multiply_transposed(&pattern, values, &x));
        t.row("sparse::outer", &types, || sparse::outer(&pattern, values, &x));
    }
    assert!(t.wrong.is_empty(), "{}", t.wrong);
    let called = t.called.iter().map(|name| name.trim_start_matches("sparse::")).collect();
    complete("src/sparse.rs", &called, &[]);
}

#[test]
fn methods_of_tensors() {
    let mut t = Table::default();
    let (x, y, line, one) = (Tensor::ones(&[2, 3]), Tensor::ones(&[4, 5]), Tensor::ones(&[3]), Tensor::from(1.0));
    let (whole, flags) = (Tensor::iota(3), Tensor::from([true, false]));
    let (own, both) = (["f64[2,3]"], ["f64[2,3]", "f64[4,5]"]);
    // Products.
    t.row("matmul", &both, || x.matmul(&y));
    t.row("dot", &both, || x.dot(&y));
    t.row("outer", &["f64[2,3]", "i64[3]"], || x.outer(&whole));
    t.row("vdot", &both, || x.vdot(&y));
    t.row("tensordot", &both, || x.tensordot(&y, [1], [0]));
    t.row("tensordot_by", &both, || x.tensordot_by(&y, 1));
    t.row("dot_general", &both, || x.dot_general(&y, [&[1], &[0]], [&[], &[]]));
    t.row("cross", &both, || x.cross(&y, -1));
    t.row("einsum", &both, || Tensor::einsum("ij,jk->ik", [&x, &y]));
    // Shapes.
    t.row("reshape", &own, || x.reshape((4, 2)));
    t.row("permute", &own, || x.permute((0, 0)));
    t.row("swap_axes", &own, || x.swap_axes(0, 2));
    t.row("move_axis", &own, || x.move_axis(0, 2));
    t.row("broadcast_to", &own, || x.broadcast_to((2, 4)));
    t.row("expand_dims", &own, || x.expand_dims(4));
    t.row("squeeze", &own, || x.squeeze(0));
    t.row("flip", &own, || x.flip(2));
    t.row("slice", &own, || x.slice((0, 5)));
    t.row("pad", &own, || x.pad(&[(1, 1, 0); 3], 0.0));
    // Parts.
    t.row("concat", &both, || Tensor::concat([&x, &y], 0));
    t.row("stack", &both, || Tensor::stack([&x, &y], 0));
    t.row("split", &own, || x.split(2, 1));
    t.row("unstack", &own, || x.unstack(2));
    t.row("tile", &own, || x.tile((2, -2)));
    t.row("repeat", &own, || x.repeat(2, 2));
    t.row("roll", &own, || x.roll(1, 2));
    t.row("diagonal", &["f64[3]"], || line.diagonal(0));
    t.row("trace", &["f64[3]"], || line.trace());
    t.row("diag_embed", &["f64[]"], || one.diag_embed(0));
    t.row("triu", &["f64[3]"], || line.triu(0));
    t.row("tril", &["f64[3]"], || line.tril(0));
    t.row("meshgrid", &["f64[3]", "f64[2,3]"], || Tensor::meshgrid([&line, &x]));
    // Reductions and their like.
    t.row("sum_over", &own, || x.sum_over(2));
    t.row("prod_over", &own, || x.prod_over(2));
    t.row("max_over", &own, || x.max_over(2));
    t.row("min_over", &own, || x.min_over(2));
    t.row("all_over", &["bool[2]"], || flags.all_over(2));
    t.row("any_over", &["bool[2]"], || flags.any_over(2));
    t.row("mean_over", &own, || x.mean_over(2));
    t.row("norm_over", &own, || x.norm_over(2));
    t.row("logsumexp_over", &own, || x.logsumexp_over(2));
    t.row("var_over", &own, || x.var_over(0, 2));
    t.row("std_over", &own, || x.std_over(0, 2));
    t.row("argmax", &own, || x.argmax(2));
    t.row("argmin", &own, || x.argmin(2));
    t.row("cumsum", &own, || x.cumsum(2));
    t.row("cumprod", &own, || x.cumprod(2));
    t.row("cummax", &own, || x.cummax(2));
    t.row("cummin", &own, || x.cummin(2));
    t.row("cumlogsumexp_reversed", &own, || x.cumlogsumexp_reversed(2));
    t.row("sort", &own, || x.sort(2));
    t.row("sort_descending", &own, || x.sort_descending(2));
    t.row("argsort", &own, || x.argsort(2));
    t.row("argsort_descending", &own, || x.argsort_descending(2));
    t.row("top_k", &own, || x.top_k(5, 1));
    t.row("median", &own, || x.median(2));
    t.row("search_sorted", &["f64[2,3]", "f64[4,5]"], || x.search_sorted(&y, Bound::Lower));
    t.row("quantile", &own, || x.quantile(0.5, 2));
    t.row("quantile_by", &own, || x.quantile_by(0.5, 2, Interpolation::Linear));
    // By index.
    let (out, write) = (OutOfBounds::Error, Write::Add);
    let at = ["f64[2,3]", "i64[3]"];
    t.row("take", &at, || x.take(&whole, 2));
    t.row("take_or", &at, || x.take_or(&whole, 2, out));
    t.row("take_along_axis", &at, || x.take_along_axis(&whole, 0));
    t.row("gather_nd", &at, || x.gather_nd(&whole, out));
    let new = ["f64[2,3], i64[3]", "f64[4,5]"];
    t.row("scatter_add", &new, || x.scatter_add(&whole, &y, 0));
    t.row("scatter_set", &new, || x.scatter_set(&whole, &y, 0));
    t.row("scatter_or", &new, || x.scatter_or(&whole, &y, 0, write, out));
    t.row("scatter_nd", &new, || x.scatter_nd(&whole, &y, write, out));
    t.row("scatter_max", &new, || x.scatter_max(&whole, &y, 0));
    t.row("scatter_min", &new, || x.scatter_min(&whole, &y, 0));
    t.row("scatter_mul", &new, || x.scatter_mul(&whole, &y, 0));
    t.row("dynamic_slice", &at, || x.dynamic_slice(&whole, &[1, 1]));
    t.row("dynamic_update_slice", &["f64[2,3], f64[4,5]", "i64[3]"], || x.dynamic_update_slice(&y, &whole));
    t.row("one_hot", &own, || x.one_hot(3));
    t.row("select_n", &["f64[2,3], f64[2,3]", "f64[4,5]"], || x.select_n(&[&x, &y]));
    t.row("segment_sum", &at, || x.segment_sum(&whole, 2));
    t.row("segment_mean", &at, || x.segment_mean(&whole, 2));
    t.row("segment_prod", &at, || x.segment_prod(&whole, 2));
    t.row("segment_max", &at, || x.segment_max(&whole, 2));
    t.row("segment_min", &at, || x.segment_min(&whole, 2));
    t.row("bincount", &own, || x.bincount(3));
    t.row("bincount_with", &["i64[3]", "f64[2,3]"], || whole.bincount_with(&x, 3));
    // Windows.
    t.row("conv1d", &both, || x.conv1d(&y, &ConvOptions::default()));
    t.row("conv2d", &both, || x.conv2d(&y, &ConvOptions::default()));
    t.row("conv3d", &both, || x.conv3d(&y, &ConvOptions::default()));
    t.row("max_pool", &own, || x.max_pool(&Pool::new([1, 1, 1])));
    t.row("min_pool", &own, || x.min_pool(&Pool::new([1, 1, 1])));
    t.row("sum_pool", &own, || x.sum_pool(&Pool::new([1, 1, 1])));
    t.row("avg_pool", &own, || x.avg_pool(&Pool::new([1, 1, 1])));
    // Element by element.
    t.row("add", &both, || &x + &y);
    t.row("sub", &both, || &x - &y);
    t.row("mul", &both, || &x * &y);
    t.row("div", &both, || &x / &y);
    t.row("rem", &both, || &x % &y);
    t.row("gt", &both, || x.gt(&y));
    t.row("ge", &both, || x.ge(&y));
    t.row("lt", &both, || x.lt(&y));
    t.row("le", &both, || x.le(&y));
    t.row("eq", &both, || x.eq(&y));
    t.row("ne", &both, || x.ne(&y));
    let three = Tensor::from([true, false, true]);
    t.row("and", &["bool[2]", "bool[3]"], || flags.and(&three));
    t.row("or", &["bool[2]", "bool[3]"], || flags.or(&three));
    t.row("xor", &["bool[2]", "bool[3]"], || flags.xor(&three));
    t.row("where", &["bool[2], f64[2,3]", "f64[4,5]"], || flags.where_(&x, &y));
    t.row("clamp", &["f64[2,3], f64[4,5]", "f64[]"], || x.clamp(&y, &one));
    t.row("lerp", &["f64[2,3], f64[4,5]", "f64[]"], || x.lerp(&y, &one));
    t.row("not", &own, || x.not());
    let flag = ["bool[2]"];
    t.row("powi", &flag, || flags.powi(2));
    t.row("powf", &flag, || flags.powf(2.0));
    t.row("polygamma", &flag, || flags.polygamma(2));
    t.row("sinc", &flag, || flags.sinc());
    t.row("erfcx", &flag, || flags.erfcx());
    t.row("log_normal_cdf", &flag, || flags.log_normal_cdf());
    t.row("leaky_relu", &flag, || flags.leaky_relu(0.1));
    t.row("elu", &flag, || flags.elu());
    t.row("celu", &flag, || flags.celu(1.0));
    t.row("relu6", &flag, || flags.relu6());
    t.row("log_sigmoid", &flag, || flags.log_sigmoid());
    t.row("neg", &flag, || -&flags);
    assert!(t.wrong.is_empty(), "{}", t.wrong);
    // Made from numbers, of any tensor, or read as numbers; changes of a place are tested where they are.
    let others = "t zeros zeros_of ones ones_of full full_of from_vec arange linspace eye iota is_nan is_finite flatten convert to_f32 \
                  to_f64 to_i64 to_array into_array item test from_words split_into bits uniform_of normal_of slice_mut assign \
                  where";
    complete("src/tensor", &t.called, &others.split_whitespace().collect::<Vec<&str>>());
}

#[test]
fn functions_while_they_are_recorded_and_run() {
    let (bad, singular_one) = (Tensor::from([[1.0, 0.0], [f64::NAN, 1.0]]), Tensor::ones(&[2, 2]));
    let mut t = Table::default();
    let compiled = |f: fn(&Tensor) -> Tensor, a: &Tensor| Compile::new().function(move |a: Tensor| f(&a)).call(a);
    let one = ["f64[2,2]"];
    for at_once in [true, false] {
        let run = |f: fn(&Tensor) -> Tensor, a: &Tensor| if at_once { f(a) } else { compiled(f, a) };
        t.row("sqrtm", &one, || run(|a| sqrtm(a), &bad));
        t.row("logm", &one, || run(|a| logm(a), &bad));
        t.row("polar", &one, || run(|a| polar(a).0, &bad));
        t.row("polar", &one, || run(|a| polar(a).0, &singular_one));
        t.row("pinv", &one, || run(|a| pinv(a), &bad));
        t.row("low_rank", &one, || run(|a| low_rank(a, 1), &bad));
        t.row("low_rank", &one, || run(|a| low_rank(a, 2), &singular_one));
        t.row("nuclear_norm", &one, || run(|a| nuclear_norm(a), &bad));
        t.row("spectral", &one, || run(|a| spectral(a).values(), &bad));
        t.row("singular", &one, || run(|a| singular(a).values(), &bad));
        t.row("expm", &one, || run(|a| a.expm(), &bad));
        t.row("inv", &one, || run(|a| a.inv(), &singular_one));
        t.row("matrix_power", &one, || run(|a| a.matrix_power(-1), &singular_one));
        t.row("cholesky", &one, || run(|a| a.cholesky(), &bad));
        t.row("logdet_spd", &one, || run(|a| a.logdet_spd(), &singular_one));
        t.row("slogdet", &one, || run(|a| a.slogdet().1, &bad));
        t.row("det", &one, || run(|a| a.det(), &bad));
        t.row("eigvalsh", &one, || run(|a| a.eigvalsh(), &bad));
        t.row("singular_values", &one, || run(|a| a.singular_values(), &bad));
        t.row("cond_number", &one, || run(|a| a.cond_number(), &bad));
        t.row("solve", &["f64[2,2]", "f64[2]"], || run(|a| a.solve(&a.slice(0)), &singular_one));
        t.row("lstsq", &["f64[2,2]", "f64[2]"], || run(|a| a.lstsq(&a.slice(0)), &bad));
        t.row("lyapunov", &["f64[2,2]", "f64[2,2]"], || run(|a| lyapunov(a, a), &bad));
    }
    assert!(t.wrong.is_empty(), "{}", t.wrong);
}

#[test]
fn gradients_tell_the_call_whose_equations_fail() {
    let a = Tensor::ones(&[2, 2]);
    let mut t = Table::default();
    t.row("inv", &["f64[2,2]"], || grad(&a, |a| a.inv().sum()));
    t.row("inv", &["f64[2,2]"], || vmap(Tensor::ones(&[3, 2, 2]), |a| a.inv()));
    t.row("logdet_spd", &["f64[2,2]"], || hvp(&a, &a, |a| a.logdet_spd()));
    assert!(t.wrong.is_empty(), "{}", t.wrong);
    // A line whose calls are of several shapes names the function alone.
    let of = |n: usize| caught("", || grad(Tensor::ones(&[n, n]), |a| a.inv().sum())).unwrap_err();
    assert!(of(2).contains("`inv` of f64[2,2] at "), "{}", of(2));
    assert!(of(3).contains("`inv` at "), "{}", of(3));
}

/// That every public function of a file or folder was called, but for some.
#[track_caller]
fn complete(place: &str, called: &BTreeSet<&str>, others: &[&str]) {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(place);
    let files: Vec<std::path::PathBuf> = match root.is_dir() {
        true => std::fs::read_dir(&root).unwrap().map(|file| file.unwrap().path()).collect(),
        false => vec![root],
    };
    assert!(files.iter().all(|file| file.exists()), "{place} is not there");
    let mut missing = BTreeSet::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines() {
            let line = line.trim_start();
            // `fn try_it`, `fn it = try_it`, and, of functions without a twin, `pub fn it(` with what they work on first.
            let own = match line
                .strip_prefix("pub fn ")
                .or(line.strip_prefix("fn "))
                .and_then(|rest| rest.strip_prefix("try_"))
            {
                Some(rest) => rest,
                None => match line.split_once(" = try_").filter(|_| !line.starts_with("//")) {
                    Some((_, rest)) => rest,
                    None => match line.strip_prefix("pub fn ").filter(|_| text.contains("or_raise()")) {
                        Some(rest) if !rest.contains("self") && rest.contains("Tensor") && place == "src/signal" => {
                            rest
                        }
                        _ => continue,
                    },
                },
            };
            let name = own.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            let is_called = called.iter().any(|call| {
                let call = call.rsplit("::").next().unwrap();
                call == name || call.strip_suffix("_over") == Some(name) || call.strip_suffix("_reversed") == Some(name)
            });
            if !is_called && !others.contains(&name) {
                missing.insert(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "of {place} no test calls {missing:?}");
}
