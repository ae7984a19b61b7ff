//! The family `programs`: random straight-line programs, node by node.

use serde_json::Value;
use wengert::Real;

use super::algebra::matmul;
use super::elementwise::{binary, unary};
use super::reduce::{along_axis, axis, on_lines, over_axes, reduction};
use super::unsupported;
use crate::array::{Args, Array, Operand, Outputs, Trouble, broadcast_shape};
use crate::load::{Object, naturals};
use crate::program::{Node, Program};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    let Some(program) = args.program else {
        return Err(Trouble::Misfit("`attrs.program` is missing".to_owned()));
    };
    let inputs = (0..args.inputs.len()).map(|k| args.array(k)).collect::<Result<Vec<_>, _>>()?;
    let results = match function {
        "scalar_program" | "array_program" => run(program, &inputs)?,
        "array_program_vmap" => mapped(program, &inputs, args.attrs)?,
        other => return unsupported(other),
    };
    Ok(results.into_iter().map(Operand::Real).collect())
}

fn run<R: Real>(program: &Program, inputs: &[&Array<R>]) -> Result<Vec<Array<R>>, Trouble> {
    let mut values: Vec<Array<R>> = Vec::with_capacity(program.nodes.len());
    for (k, node) in program.nodes.iter().enumerate() {
        let value = match node {
            Node::Input(index) => inputs[*index].clone(),
            Node::Constant(value) => Array::scalar(R::constant(*value)),
            Node::Apply { op, args, attrs } => {
                let args: Vec<&Array<R>> = args.iter().map(|&arg| &values[arg]).collect();
                apply(op, &args, attrs).map_err(|trouble| match trouble {
                    Trouble::Misfit(why) => Trouble::Misfit(format!("node {k}, `{op}`: {why}")),
                    unsupported => unsupported,
                })?
            }
        };
        values.push(value);
    }
    Ok(program.outputs.iter().map(|&output| values[output].clone()).collect())
}

/// The program for every slice of the mapped inputs along their axis 0; the results stacked.
fn mapped<R: Real>(program: &Program, inputs: &[&Array<R>], attrs: &Object) -> Result<Vec<Array<R>>, Trouble> {
    let axes = attrs.get("in_axes").and_then(Value::as_array).filter(|axes| axes.len() == inputs.len());
    let axes = axes.ok_or_else(|| misfit("`in_axes` does not fit the inputs"))?;
    if axes.iter().any(|axis| !axis.is_null() && axis.as_u64() != Some(0)) {
        return Err(misfit("only axis 0 can be mapped"));
    }
    let lengths = inputs.iter().zip(axes).filter(|(_, axis)| !axis.is_null());
    let lengths: Vec<usize> = lengths.map(|(input, _)| input.shape.first().copied().unwrap_or(0)).collect();
    let count = match lengths.first() {
        Some(&count) if count > 0 && lengths.iter().all(|&length| length == count) => count,
        _ => return Err(misfit("the mapped axes have no common length")),
    };
    let slice = |input: &Array<R>, k: usize| Array::new(&input.shape[1..], input.row(k).to_vec());
    let mut stacked: Vec<Array<R>> = Vec::new();
    for k in 0..count {
        let own: Vec<Array<R>> = inputs
            .iter()
            .zip(axes)
            .map(|(&input, axis)| if axis.is_null() { input.clone() } else { slice(input, k) })
            .collect();
        for (position, result) in run(program, &own.iter().collect::<Vec<_>>())?.into_iter().enumerate() {
            match stacked.get_mut(position) {
                Some(array) => array.data.extend(result.data),
                None => stacked.push(Array { shape: [&[count], &result.shape[..]].concat(), data: result.data }),
            }
        }
    }
    Ok(stacked)
}

fn apply<R: Real>(op: &str, args: &[&Array<R>], attrs: &Object) -> Result<Array<R>, Trouble> {
    match args {
        [x] => apply_one(op, x, attrs),
        [x, y] => apply_two(op, x, y, attrs),
        _ => Err(misfit(&format!("it has {} operands", args.len()))),
    }
}

fn apply_two<R: Real>(op: &str, x: &Array<R>, y: &Array<R>, attrs: &Object) -> Result<Array<R>, Trouble> {
    match op {
        "matmul" => match (&x.shape[..], &y.shape[..]) {
            ([_, inner], [height, _]) if inner == height => Ok(matmul(x, y)),
            shapes => Err(misfit(&format!("shapes {shapes:?} cannot be multiplied"))),
        },
        "concat" => {
            let axis = axis(attrs.get("axis").unwrap_or(&Value::Null), x.shape.len())?;
            let fits = |k: usize| k == axis || x.shape[k] == y.shape[k];
            if x.shape.len() != y.shape.len() || !(0..x.shape.len()).all(fits) {
                return Err(misfit(&format!("shapes {:?} and {:?} cannot be joined", x.shape, y.shape)));
            }
            let mut shape = x.shape.clone();
            shape[axis] += y.shape[axis];
            Ok(Array::from_fn(&shape, |index| {
                let mut own = index.to_vec();
                if own[axis] < x.shape[axis] {
                    return x.at(&own);
                }
                own[axis] -= x.shape[axis];
                y.at(&own)
            }))
        }
        op => {
            if binary(op, R::constant(0.5), R::constant(0.5)).is_none() {
                return unsupported(op);
            }
            let f = |x, y| binary(op, x, y).expect("the name was found before");
            let shape = broadcast_shape(&[&x.shape, &y.shape])?;
            Ok(Array::from_fn(&shape, |index| f(x.broadcast_at(index), y.broadcast_at(index))))
        }
    }
}

fn apply_one<R: Real>(op: &str, x: &Array<R>, attrs: &Object) -> Result<Array<R>, Trouble> {
    let rank = x.shape.len();
    match op {
        "softmax" | "log_softmax" => along_axis(x, attrs, op),
        "cumsum" => on_lines(x, axis(attrs.get("axis").unwrap_or(&Value::Null), rank)?, running_sums),
        "reverse" => {
            let axes = attrs.get("axes").and_then(Value::as_array).ok_or_else(|| misfit("`axes` is missing"))?;
            let axes = axes.iter().map(|value| axis(value, rank)).collect::<Result<Vec<_>, _>>()?;
            let from = |(k, &i): (usize, &usize)| if axes.contains(&k) { x.shape[k] - 1 - i } else { i };
            Ok(Array::from_fn(&x.shape, |index| x.at(&index.iter().enumerate().map(from).collect::<Vec<_>>())))
        }
        "take" => {
            let axis = axis(attrs.get("axis").unwrap_or(&Value::Null), rank)?;
            let indices = numbers(attrs, "indices")?;
            if indices.iter().any(|&i| i >= x.shape[axis]) {
                return Err(misfit("an index lies outside of the axis"));
            }
            let mut shape = x.shape.clone();
            shape[axis] = indices.len();
            Ok(Array::from_fn(&shape, |index| {
                let mut own = index.to_vec();
                own[axis] = indices[own[axis]];
                x.at(&own)
            }))
        }
        "slice" => slice(x, attrs),
        "transpose" => {
            let perm = numbers(attrs, "perm")?;
            if perm.len() != rank || (0..rank).any(|k| !perm.contains(&k)) {
                return Err(misfit(&format!("{perm:?} is no order of {rank} axes")));
            }
            let shape: Vec<usize> = perm.iter().map(|&k| x.shape[k]).collect();
            Ok(Array::from_fn(&shape, |index| {
                let mut own = vec![0; rank];
                perm.iter().zip(index).for_each(|(&k, &i)| own[k] = i);
                x.at(&own)
            }))
        }
        "reshape" => {
            let shape = numbers(attrs, "new_shape")?;
            if crate::load::element_count(&shape) != Ok(x.data.len()) {
                return Err(misfit(&format!("{shape:?} does not have {} elements", x.data.len())));
            }
            Ok(Array::new(&shape, x.data.clone()))
        }
        "broadcast_to" => {
            let shape = numbers(attrs, "shape")?;
            if broadcast_shape(&[&x.shape, &shape])? != shape {
                return Err(misfit(&format!("shape {:?} does not become {shape:?}", x.shape)));
            }
            Ok(Array::from_fn(&shape, |index| x.broadcast_at(index)))
        }
        op => match reduction(op, attrs) {
            Some(reduce) => over_axes(x, attrs, reduce),
            None if unary(op, R::constant(0.5)).is_some() => {
                Ok(x.map(|x| unary(op, x).expect("the name was found before")))
            }
            None => unsupported(op),
        },
    }
}

fn running_sums<R: Real>(line: &[R]) -> Vec<R> {
    let mut sums: Vec<R> = Vec::with_capacity(line.len());
    for &x in line {
        sums.push(sums.last().map_or(x, |&sum| sum + x));
    }
    sums
}

fn slice<R: Real>(x: &Array<R>, attrs: &Object) -> Result<Array<R>, Trouble> {
    let (start, limit, stride) = (numbers(attrs, "start")?, numbers(attrs, "limit")?, numbers(attrs, "stride")?);
    let rank = x.shape.len();
    if [&start, &limit, &stride].iter().any(|list| list.len() != rank) {
        return Err(misfit("the slice has another rank than its operand"));
    }
    if (0..rank).any(|k| limit[k] > x.shape[k] || start[k] > limit[k] || stride[k] == 0) {
        return Err(misfit("the slice lies outside of its operand"));
    }
    let shape: Vec<usize> = (0..rank).map(|k| (limit[k] - start[k]).div_ceil(stride[k])).collect();
    let at = |(k, &i): (usize, &usize)| start[k] + i * stride[k];
    Ok(Array::from_fn(&shape, |index| x.at(&index.iter().enumerate().map(at).collect::<Vec<_>>())))
}

fn numbers(attrs: &Object, name: &str) -> Result<Vec<usize>, Trouble> {
    let value = attrs.get(name).ok_or_else(|| misfit(&format!("`{name}` is missing")))?;
    naturals(value).map_err(|error| misfit(&format!("`{name}`: {error}")))
}

fn misfit(why: &str) -> Trouble {
    Trouble::Misfit(why.to_owned())
}
