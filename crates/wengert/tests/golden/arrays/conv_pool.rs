//! The family `conv_pool`: convolutions and pooling.

use wengert::{ConvOptions, Pool};

use super::{ArrayArgs, Results, misfit, one, unsupported};
use crate::array::Trouble;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "conv1d" | "conv2d" | "conv3d" => convolve(function, args),
        "conv_bias_relu_mean" => {
            let [x, w, bias] = args.all()?;
            let image = x.conv2d(w, &ConvOptions::default());
            one((image + bias.expand_dims(-1).expand_dims(-1)).relu().mean())
        }
        "conv_tanh_conv" => {
            let [x, v, w] = args.all()?;
            let hidden = x.conv1d(v, &ConvOptions { padding: [(1, 1)], ..ConvOptions::default() }).tanh();
            one(hidden.conv1d(w, &ConvOptions { stride: [2], ..ConvOptions::default() }).square().sum())
        }
        "max_pool" | "min_pool" | "avg_pool" | "sum_pool" => match args.attrs.counts("window")?.len() {
            1 => pooled::<1>(function, args),
            2 => pooled::<2>(function, args),
            3 => pooled::<3>(function, args),
            rank => misfit(format!("there is no pooling over {rank} axes")),
        },
        "global_avg_pool" => {
            let x = args.first()?;
            let axes: Vec<isize> = (2..x.rank() as isize).collect();
            one(x.mean_over(axes))
        }
        other => unsupported(other),
    }
}

fn convolve(function: &str, args: &ArrayArgs) -> Results {
    let [x, w] = args.all()?;
    one(match function {
        "conv1d" => x.conv1d(w, &options(args)?),
        "conv2d" => x.conv2d(w, &options(args)?),
        _ => x.conv3d(w, &options(args)?),
    })
}

/// As many numbers as there are axes.
fn sized<T, const N: usize>(name: &str, items: Vec<T>) -> Result<[T; N], Trouble> {
    items.try_into().or_else(|_| misfit(format!("`attrs.{name}` does not have {N} entries")))
}

/// The options of a convolution; those that are not given have their usual values.
fn options<const N: usize>(args: &ArrayArgs) -> Result<ConvOptions<N>, Trouble> {
    let attrs = args.attrs;
    let mut options = ConvOptions::default();
    if attrs.given("stride").is_some() {
        options.stride = sized("stride", attrs.counts("stride")?)?;
    }
    if attrs.given("padding").is_some() {
        options.padding = sized("padding", attrs.tuples::<2>("padding")?)?.map(|[low, high]| (low, high));
    }
    if attrs.given("kernel_dilation").is_some() {
        options.dilation = sized("kernel_dilation", attrs.counts("kernel_dilation")?)?;
    }
    if attrs.given("input_dilation").is_some() {
        options.input_dilation = sized("input_dilation", attrs.counts("input_dilation")?)?;
    }
    if attrs.given("groups").is_some() {
        options.groups = attrs.count("groups")?;
    }
    Ok(options)
}

fn pooled<const N: usize>(function: &str, args: &ArrayArgs) -> Results {
    let ([x], attrs) = (args.all()?, args.attrs);
    let mut pool = Pool::<N>::new(sized("window", attrs.counts("window")?)?);
    if attrs.given("stride").is_some() {
        pool.stride = sized("stride", attrs.counts("stride")?)?;
    }
    if attrs.given("padding").is_some() {
        let padding: [[i64; 2]; N] = sized("padding", attrs.tuples::<2>("padding")?)?;
        for (own, [low, high]) in pool.padding.iter_mut().zip(padding) {
            *own = match (usize::try_from(low), usize::try_from(high)) {
                (Ok(low), Ok(high)) => (low, high),
                _ => return misfit("a window cannot be padded by a negative count"),
            };
        }
    }
    one(match function {
        "max_pool" => x.max_pool(&pool),
        "min_pool" => x.min_pool(&pool),
        "sum_pool" => x.sum_pool(&pool),
        _ => x.avg_pool(&pool),
    })
}
