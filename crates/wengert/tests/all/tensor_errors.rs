//! Whatever shapes, axes and numbers a `try_` method of a tensor is given, it answers with a value
//! or an error with the user's line: it never panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use wengert::fallible::*;
use wengert::primitives::{OutOfBounds, Write};
use wengert::{ConvOptions, DType, Error, Key, Place, Pool, Tensor, step};

/// Arguments of every kind.
#[derive(Clone, Debug)]
struct Case {
    x: Tensor,
    y: Tensor,
    z: Tensor,
    /// Integers, some out of range.
    indices: Tensor,
    axes: Vec<isize>,
    counts: Vec<usize>,
    places: Vec<Place>,
    amounts: Vec<(i64, i64, usize)>,
    labels: String,
    number: f64,
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0usize..5, 1 => Just(1usize)]
}

/// Mostly small numbers, sometimes such that sums and products overflow.
fn axis() -> impl Strategy<Value = isize> {
    prop_oneof![12 => -5isize..5, 1 => Just(isize::MIN), 1 => Just(isize::MAX), 1 => Just(1 << 60)]
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![12 => 0usize..5, 1 => Just(usize::MAX), 1 => Just(1usize << 60)]
}

fn tensor() -> impl Strategy<Value = Tensor> {
    (prop::collection::vec(length(), 0..4), 0usize..6).prop_map(|(shape, kind)| {
        let size: usize = shape.iter().product();
        let x: Vec<f64> = (0..size).map(|k| [0.5, -1.25, 0.0, 3.0, f64::NAN, 7.5][(k * 5 + kind) % 6]).collect();
        let x = Tensor::from_vec(&shape, x);
        match kind {
            0 => x.to_f32(),
            1 => x.to_i64(),
            2 => x.gt(0.0),
            _ => x,
        }
    })
}

fn indices() -> impl Strategy<Value = Tensor> {
    (prop::collection::vec(length(), 0..3), -3i64..4).prop_map(|(shape, low)| {
        let size: usize = shape.iter().product();
        Tensor::from_vec(&shape, (0..size as i64).map(|k| (k * 3 + low) % 5).collect::<Vec<i64>>())
    })
}

fn place() -> impl Strategy<Value = Place> {
    let range = (axis(), prop::option::of(axis()), axis());
    prop_oneof![
        axis().prop_map(Place::At),
        range.prop_map(|(start, end, by)| step(Place::Range { start, end, step: 1 }, by)),
        Just(Place::Range { start: 0, end: None, step: 1 }),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let amounts = prop::collection::vec((axis(), axis(), count()), 0..4);
    let lists = (
        prop::collection::vec(axis(), 1..4),
        prop::collection::vec(count(), 3..4),
        prop::collection::vec(place(), 0..4),
        amounts,
    );
    (tensor(), tensor(), tensor(), indices(), lists, "[ab,c>i -]{0,8}", -3.0..3.0f64).prop_map(
        |(x, y, z, indices, (axes, counts, places, amounts), labels, number)| Case {
            x,
            y,
            z,
            indices,
            axes,
            counts,
            places,
            amounts: amounts.into_iter().map(|(low, high, inside)| (low as i64, high as i64, inside)).collect(),
            labels,
            number,
        },
    )
}

/// Runs one method: its error has to name an operation and this file.
fn run<T>(name: &str, case: &Case, method: impl FnOnce() -> Result<T, Error>) {
    match catch_unwind(AssertUnwindSafe(method)) {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            let line = error.line().unwrap_or_else(|| panic!("{name}: {error} has no line"));
            assert!(line.file().ends_with("tensor_errors.rs"), "{name}: {error}");
            assert!(!error.operation().is_empty(), "{name}: {error}");
        }
        Err(_) => panic!("`{name}` panics for {case:?}"),
    }
}

/// Runs methods by their names.
macro_rules! run {
    ($case:expr; $($x:ident . $name:ident ( $($arg:expr),* );)*) => {
        $( run(stringify!($name), $case, || $x.$name($($arg),*)); )*
    };
}

fn elementwise(case: &Case) {
    let Case { x, y, z, number, .. } = case;
    let number = *number;
    run! { case;
        x.try_add(y); x.try_sub(number); x.try_mul(2); x.try_div(y); x.try_rem(y); x.try_rem(0); x.try_neg();
        x.try_pow(y); x.try_atan2(y); x.try_hypot(number); x.try_maximum(y); x.try_minimum(number);
        x.try_copysign(y); x.try_logaddexp(y); x.try_xlogy(y);
        x.try_lt(y); x.try_ge(number); x.try_eq(true); x.try_ne(3); x.try_and(y); x.try_or(true); x.try_xor(y);
        x.try_not(); x.try_is_nan(); x.try_is_finite(); x.try_where(y, z); x.try_where(number, 0);
        x.try_where(true, y); x.try_clamp(y, number); x.try_clamp(0, 1); x.try_lerp(y, z);
        x.try_abs(); x.try_sign(); x.try_square(); x.try_sqrt(); x.try_ln(); x.try_lgamma(); x.try_round();
        x.try_powi(-3); x.try_powf(number); x.try_polygamma(2); x.try_sinc(); x.try_leaky_relu(number);
        x.try_elu(); x.try_celu(number); x.try_mish(); x.try_logit(); x.try_entr(); x.try_relu6(); x.try_log_sigmoid(); x.try_detach();
    }
}

fn shapes(case: &Case) {
    let Case { x, y, axes, counts, places, amounts, .. } = case;
    let (axis, other) = (axes[0], axes[axes.len() - 1]);
    run! { case;
        x.try_reshape(axes); x.try_reshape(&[axis, -1]); x.try_flatten(); x.try_permute(axes); x.try_t();
        x.try_swap_axes(axis, other); x.try_move_axis(axis, other); x.try_broadcast_to(counts);
        x.try_expand_dims(axis); x.try_squeeze(axis); x.try_flip(axes); x.try_convert(DType::F32);
        x.try_to_f64(); x.try_to_i64(); x.try_split(counts, axis); x.try_split(&[1, 1], axis); x.try_tile(counts);
        x.try_repeat(counts[0], axis); x.try_roll(axis, other); x.try_pad(amounts, 0.5); x.try_pad(amounts, y);
        x.try_diagonal(axis); x.try_diag_embed(axis); x.try_trace(); x.try_triu(axis); x.try_tril(axis);
        x.try_slice(&places[..]); x.try_slice(axis);
    }
    run("concat", case, || Tensor::try_concat(&[x, y], axis));
    run("stack", case, || Tensor::try_stack(&[x, y], axis));
    run("meshgrid", case, || Tensor::try_meshgrid([x, y]));
    run("zeros", case, || Tensor::try_zeros(&[counts[0], counts[1]]).map(drop));
    run("full", case, || Tensor::try_full(&counts[..1], x).map(drop));
    run("arange", case, || Tensor::try_arange(case.number, axis as f64, 0.5));
    run("slice_mut", case, || {
        let mut x = x.clone();
        let mut part = x.try_slice_mut(&places[..])?;
        part.try_assign(y)
    });
    run("assign", case, || x.clone().try_slice_mut(&places[..])?.try_assign(case.number));
}

fn reductions(case: &Case) {
    let Case { x, y, axes, counts, .. } = case;
    let axis = axes[0];
    run! { case;
        x.try_sum(); x.try_sum_over(axes); x.try_sum_keep(axis); x.try_prod_over(axis); x.try_max();
        x.try_max_over(axes); x.try_min_keep(axes); x.try_mean_over(axes); x.try_var_over(counts[0], axis);
        x.try_std(1); x.try_std_keep(0, axis); x.try_logsumexp(); x.try_logsumexp_over(axes); x.try_norm();
        x.try_norm_keep(axis); x.try_all_over(axis); x.try_any_keep(axis); x.try_argmax(axis); x.try_argmin(axis);
        x.try_cumsum(axis); x.try_cumprod_reversed(axis); x.try_cummax(axis); x.try_cummin(axis);
        x.try_cumlogsumexp(axis); x.try_sort(axis); x.try_sort_descending(axis); x.try_argsort(axis);
        x.try_top_k(counts[0], axis); x.try_median(axis); x.try_quantile(case.number, axis); x.try_quantile([0.3, 1.0], axis);
        x.try_matmul(y); x.try_dot(y); x.try_outer(y); x.try_vdot(y); x.try_tensordot(y, axes, axes);
        x.try_dot_general(y, [axes, axes], [&[0], &[0]]); x.try_cross(y, axis);
    }
    run("einsum", case, || Tensor::try_einsum(&case.labels, &[x, y]));
    run("einsum", case, || Tensor::try_einsum("ab,bc->ca", &[x, y]));
    run("einsum", case, || Tensor::try_einsum("aa,ab,c", &[x, y, &case.z]));
}

fn indexing(case: &Case) {
    let Case { x, y, indices, axes, counts, .. } = case;
    let axis = axes[0];
    let mode = OutOfBounds::ALL[counts[2] % 3];
    let write = if counts[1] % 2 == 0 { Write::Add } else { Write::Set };
    run! { case;
        x.try_take(indices, axis); x.try_take_or(indices, axis, mode); x.try_take_along_axis(indices, axis);
        x.try_gather_nd(indices, mode); x.try_scatter_add(indices, y, axis); x.try_scatter_set(indices, y, axis);
        x.try_scatter_or(indices, y, axis, write, mode); x.try_scatter_nd(indices, y, write, mode);
        x.try_segment_sum(indices, counts[0]); x.try_segment_max(indices, counts[0]); x.try_bincount(counts[0]);
        x.try_scatter_max(indices, y, axis); x.try_scatter_mul(indices, y, axis); indices.try_bincount_with(x, counts[0]);
        x.try_dynamic_slice(indices, counts);
        x.try_dynamic_update_slice(y, indices); x.try_one_hot(counts[0]); indices.try_one_hot(counts[0]);
        indices.try_select_n(&[x, y]); x.try_select_n(&[]); x.try_take(y, axis);
    }
}

/// Operands that nearly fit: what random ones hardly ever do.
fn related(case: &Case) {
    let Case { x, indices, axes, counts, .. } = case;
    let axis = axes[0];
    let small: Vec<usize> = counts.iter().map(|count| count % 4).collect();
    let start = Tensor::full_of(DType::I64, &[x.rank()], small[0] as i64);
    let segments = Tensor::full_of(DType::I64, &x.shape()[..x.rank().min(1)], small[0] as i64);
    let order = x.try_argsort(axis).unwrap_or_else(|_| indices.clone());
    let taken = x.try_take_or(indices, axis, OutOfBounds::Fill).unwrap_or_else(|_| x.clone());
    let block = x.try_slice(..small[0] as isize).unwrap_or_else(|_| x.clone());
    run! { case;
        x.try_dynamic_slice(&start, block.shape()); x.try_dynamic_update_slice(&block, &start);
        x.try_segment_sum(&segments, small[1]); x.try_take_along_axis(&order, axis);
        x.try_segment_min(&segments, small[1]); x.try_segment_prod(&segments, small[1]); x.try_segment_mean(&segments, small[1]);
        x.try_scatter_min(indices, &taken, axis); x.try_scatter_mul(indices, &taken, axis);
        x.try_scatter_add(indices, &taken, axis); x.try_scatter_set(indices, &taken, axis);
        x.try_scatter_or(indices, &taken, axis, Write::Add, OutOfBounds::Clamp);
        x.try_tensordot(x, &[axis], &[axis]); x.try_dot_general(x, [&[axis], &[axis]], [&[], &[]]);
        x.try_dot_general(x, [&[], &[]], [&[axis], &[axis]]); x.try_vdot(x); x.try_matmul(&taken);
    }
    run("concat", case, || Tensor::try_concat(&[x, &block], 0));
    run("stack", case, || Tensor::try_stack(&[x, x], axis));
    let image = Tensor::ones(&[small[0], 2, small[1] + 2]);
    let kernel = Tensor::ones(&[small[2], 2, 2]);
    let options = ConvOptions {
        stride: [small[0]],
        padding: [(axis.clamp(-3, 3) as i64, 1)],
        dilation: [small[1]],
        input_dilation: [small[2]],
        groups: 1 + small[1] / 3,
    };
    let plane = image.reshape(&[small[0] as isize, 2, small[1] as isize + 2, 1]);
    let square = kernel.reshape(&[small[2] as isize, 2, 2, 1]);
    run("conv1d", case, || image.try_conv1d(&kernel, &options));
    run("conv2d", case, || plane.try_conv2d(&square, &ConvOptions::default()));
    run("key", case, || Key::try_from_words(&start));
}

fn windows(case: &Case) {
    let Case { x, y, axes, counts, amounts, .. } = case;
    let pad = amounts.first().map_or((0, 1), |&(low, high, _)| (low, high));
    let options = ConvOptions {
        stride: [counts[0]; 1],
        padding: [pad],
        dilation: [counts[1]],
        input_dilation: [counts[2]],
        groups: counts[0],
    };
    let pool = Pool { window: [counts[0]], stride: [counts[1]], padding: [(counts[2], axes[0].unsigned_abs())] };
    let plane = Pool { window: [counts[0], counts[1]], ..Pool::new([counts[1], counts[2]]) };
    run! { case;
        x.try_conv1d(y, &options); x.try_conv2d(y, &ConvOptions::default()); x.try_max_pool(&pool);
        x.try_min_pool(&plane); x.try_sum_pool(&pool); x.try_avg_pool(&plane);
    }
    let key = Key::new(3);
    run("uniform", case, || key.try_uniform_of(x.dtype(), &counts[..1]).map(drop));
    run("key", case, || Key::try_from_words(x));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_try_method_panics(case in case()) {
        elementwise(&case);
        shapes(&case);
        reductions(&case);
        indexing(&case);
        related(&case);
        windows(&case);
    }
}
