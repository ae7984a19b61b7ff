//! The family `programs`: random straight-line programs, node by node.

use wengert::Tensor;

use super::elementwise::{binary, unary};
use super::reduce::{along_axis, reduction};
use super::shape::{reshaped, sliced};
use super::vmap::mapped;
use super::{ArrayArgs, Results, misfit, number, unsupported};
use crate::array::Trouble;
use crate::attrs::Attrs;
use crate::program::{Node, Program};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let Some(program) = args.program else { return misfit("`attrs.program` is missing") };
    match function {
        "scalar_program" | "array_program" => run(program, &args.inputs),
        "array_program_vmap" => mapped(args, &[0], |x| run(program, x)),
        other => unsupported(other),
    }
}

fn run(program: &Program, inputs: &[Tensor]) -> Results {
    let mut values: Vec<Tensor> = Vec::with_capacity(program.nodes.len());
    for (k, node) in program.nodes.iter().enumerate() {
        let value = match node {
            Node::Input(index) => inputs[*index].clone(),
            Node::Constant(value) => number(*value),
            Node::Apply { op, args, attrs } => {
                let args: Vec<&Tensor> = args.iter().map(|&arg| &values[arg]).collect();
                apply(op, &args, Attrs(attrs)).map_err(|trouble| match trouble {
                    Trouble::Misfit(why) => Trouble::Misfit(format!("node {k}, `{op}`: {why}")),
                    unsupported => unsupported,
                })?
            }
        };
        values.push(value);
    }
    Ok(program.outputs.iter().map(|&output| values[output].clone()).collect())
}

fn apply(op: &str, args: &[&Tensor], attrs: Attrs) -> Result<Tensor, Trouble> {
    if op == "concat" {
        return Ok(Tensor::concat(args, attrs.whole("axis", None)?));
    }
    match args {
        [x] => apply_one(op, x, attrs),
        [x, y] if op == "matmul" => Ok(x.matmul(y)),
        [x, y] => binary(op, x, y).map_or_else(|| unsupported(op), Ok),
        _ => misfit(format!("it has {} operands", args.len())),
    }
}

fn apply_one(op: &str, x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    Ok(match op {
        "softmax" | "log_softmax" => along_axis(op, x, attrs)?,
        "cumsum" => x.cumsum(attrs.whole("axis", None)?),
        "reverse" => x.flip(attrs.wholes("axes")?),
        "take" => {
            let indices = attrs.wholes("indices")?.into_iter().map(|index| index as i64).collect::<Vec<i64>>();
            x.take(&Tensor::from(indices), attrs.whole("axis", None)?)
        }
        "slice" => sliced(x, attrs)?,
        "transpose" => x.permute(&attrs.wholes("perm")?),
        "reshape" => reshaped(x, attrs)?,
        "broadcast_to" => x.broadcast_to(&attrs.counts("shape")?),
        op => match reduction(op, x, attrs)? {
            Some(result) => result,
            None => return unary(op, x).map_or_else(|| unsupported(op), Ok),
        },
    })
}
