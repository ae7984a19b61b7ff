//! The family `shape`: structural, indexing, scatter, cumulative and sorting operations.

use wengert::primitives::OutOfBounds;
use wengert::{DType, Place, Tensor};

use super::{ArrayArgs, Results, misfit, one, unsupported};
use crate::array::Trouble;
use crate::attrs::Attrs;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let attrs = args.attrs;
    match function {
        "concat" | "stack" => {
            let (inputs, axis) = (args.inputs.iter().collect::<Vec<_>>(), attrs.whole("axis", Some(0))?);
            one(if function == "concat" { Tensor::concat(&inputs, axis) } else { Tensor::stack(&inputs, axis) })
        }
        "take"
        | "take_along_axis"
        | "gather_nd"
        | "scatter_add"
        | "scatter_set"
        | "segment_sum"
        | "dynamic_slice"
        | "dynamic_update_slice" => indexed(function, args),
        "where" | "select_n" | "stop_gradient" => chosen(function, args),
        "sort" | "argsort_gather" | "top_k" | "median" | "argmax_value" => ordered(function, args),
        "pad" => {
            let (x, config) = (args.first()?, attrs.tuples::<3>("config")?);
            let amounts =
                config.into_iter().map(|[low, high, interior]| Some((low, high, usize::try_from(interior).ok()?)));
            let Some(amounts) = amounts.collect::<Option<Vec<_>>>() else { return misfit("a negative interior") };
            one(match args.inputs.get(1) {
                Some(value) => x.pad(&amounts, value),
                None => x.pad(&amounts, if attrs.given("value").is_some() { attrs.number("value")? } else { 0.0 }),
            })
        }
        name => match moved(name, args.first()?, attrs)? {
            Some(result) => one(result),
            None => one(running(name, args.first()?, attrs)?),
        },
    }
}

/// Operations of one operand that put the elements elsewhere.
fn moved(function: &str, x: &Tensor, attrs: Attrs) -> Result<Option<Tensor>, Trouble> {
    let offset = || attrs.whole("offset", Some(0));
    Ok(Some(match function {
        "reshape" => reshaped(x, attrs)?,
        "transpose" => x.permute(&attrs.wholes("perm")?),
        "broadcast_to" => x.broadcast_to(&attrs.counts("shape")?),
        "slice" => sliced(x, attrs)?,
        "reverse" | "flip" => x.flip(attrs.wholes("axes")?),
        "roll" => rolled(x, attrs)?,
        "diagonal" => x.diagonal(offset()?),
        "diag_embed" => x.diag_embed(offset()?),
        "triu" => x.triu(offset()?),
        "tril" => x.tril(offset()?),
        "tile" => tiled(x, attrs.counts("reps")?),
        "repeat" => x.repeat(attrs.count("n")?, attrs.whole("axis", Some(0))?),
        "swapaxes" => match attrs.wholes("axes")?[..] {
            [first, second] => x.swap_axes(first, second),
            _ => return misfit("`attrs.axes` does not name two axes"),
        },
        "moveaxis" => x.move_axis(attrs.whole("from", None)?, attrs.whole("to", None)?),
        "outer_difference" => x.expand_dims(1) - x,
        "convert_f32_roundtrip" => x.to_f32().to_f64() * 2.0,
        _ => return Ok(None),
    }))
}

/// Moved along one axis, or along several by as many shifts.
fn rolled(x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    let shifts = attrs.wholes("shift")?;
    let axes = if attrs.given("axis").is_some() { attrs.wholes("axis")? } else { vec![0] };
    if shifts.len() != axes.len() {
        return misfit("`attrs.shift` and `attrs.axis` have different lengths");
    }
    Ok(shifts.into_iter().zip(axes).fold(x.clone(), |x, (shift, axis)| x.roll(shift, axis)))
}

/// Repeated along each axis; the shorter of shape and counts is filled with 1 in front.
fn tiled(x: &Tensor, mut counts: Vec<usize>) -> Tensor {
    let mut x = x.clone();
    while x.rank() < counts.len() {
        x = x.expand_dims(0);
    }
    while counts.len() < x.rank() {
        counts.insert(0, 1);
    }
    x.tile(&counts)
}

/// Running reductions along an axis.
fn running(function: &str, x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    let (axis, reverse) = (attrs.whole("axis", Some(0))?, attrs.flag("reverse")?);
    Ok(match (function, reverse) {
        ("cumsum", false) => x.cumsum(axis),
        ("cumsum", true) => x.cumsum_reversed(axis),
        ("cumprod", false) => x.cumprod(axis),
        ("cumprod", true) => x.cumprod_reversed(axis),
        ("cumlogsumexp", false) => x.cumlogsumexp(axis),
        ("cumlogsumexp", true) => x.cumlogsumexp_reversed(axis),
        ("cummax", false) => x.cummax(axis),
        ("cummax", true) => x.cummax_reversed(axis),
        ("cummin", false) => x.cummin(axis),
        ("cummin", true) => x.cummin_reversed(axis),
        (other, _) => return unsupported(other),
    })
}

fn reshaped(x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    Ok(x.reshape(&attrs.wholes("new_shape")?))
}

fn sliced(x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    let (start, limit) = (attrs.wholes("start")?, attrs.wholes("limit")?);
    let stride = if attrs.given("stride").is_some() { attrs.wholes("stride")? } else { vec![1; start.len()] };
    if [&start, &limit, &stride].iter().any(|list| list.len() != x.rank()) {
        return misfit("the slice has another rank than its operand");
    }
    let place = |k: usize| Place::Range { start: start[k], end: Some(limit[k]), step: stride[k] };
    Ok(x.slice(&(0..x.rank()).map(place).collect::<Vec<_>>()[..]))
}

/// The block of this size at a start, which may be a single number.
pub(super) fn blocks(x: &Tensor, start: &Tensor, size: &[usize]) -> Tensor {
    x.dynamic_slice(&start.flatten(), size)
}

/// Elements at computed positions.
fn indexed(function: &str, args: &ArrayArgs) -> Results {
    let attrs = args.attrs;
    let axis = || attrs.whole("axis", Some(0));
    one(match function {
        "take" => {
            let [x, indices] = args.all()?;
            x.take(indices, axis()?)
        }
        "take_along_axis" => {
            let [x, indices] = args.all()?;
            x.take_along_axis(indices, axis()?)
        }
        "gather_nd" => {
            let [x, indices] = args.all()?;
            x.gather_nd(indices, OutOfBounds::Error)
        }
        "scatter_add" => {
            let [x, indices, updates] = args.all()?;
            x.scatter_add(indices, updates, axis()?)
        }
        "scatter_set" => {
            let [x, indices, updates] = args.all()?;
            x.scatter_set(indices, updates, axis()?)
        }
        "segment_sum" => {
            let [x, segments] = args.all()?;
            x.segment_sum(segments, attrs.count("num_segments")?)
        }
        "dynamic_slice" => {
            let [x, start] = args.all()?;
            blocks(x, start, &attrs.counts("size")?)
        }
        "dynamic_update_slice" => {
            let [x, update, start] = args.all()?;
            x.dynamic_update_slice(update, &start.flatten())
        }
        other => unreachable!("{other} is not in the list of `call`"),
    })
}

/// Choices, and what no derivative passes.
fn chosen(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "where" => {
            let [mask, x, y] = args.all()?;
            mask.convert(DType::Bool).where_(x, y)
        }
        "select_n" => args.first()?.convert(DType::I64).select_n(&args.inputs[1..].iter().collect::<Vec<_>>()),
        _ => {
            let [x, y] = args.all()?;
            x * y.detach() + x.sin().detach()
        }
    })
}

/// Order along an axis.
fn ordered(function: &str, args: &ArrayArgs) -> Results {
    let (x, attrs) = (args.first()?, args.attrs);
    match function {
        "sort" => one(x.sort(attrs.whole("axis", Some(-1))?)),
        "argsort_gather" => {
            let ([x, y], axis) = (args.all()?, attrs.whole("axis", Some(-1))?);
            let order = x.argsort(axis);
            Ok(vec![y.take_along_axis(&order, axis), order])
        }
        "top_k" => {
            let (values, places) = x.top_k(attrs.count("k")?, -1);
            Ok(vec![values, places])
        }
        "median" => one(match attrs.given("axis") {
            Some(_) => x.median(attrs.whole("axis", None)?),
            None => x.flatten().median(0),
        }),
        _ => {
            let x = x.flatten();
            let place = x.argmax(0);
            Ok(vec![x.take(&place, 0), place])
        }
    }
}
