//! The family `programs`: random straight-line programs, node by node.

use wengert::{DType, Tensor};

use super::elementwise::{binary, unary};
use super::reduce::{along_axis, reduction};
use super::vmap::mapped;
use super::{ArrayArgs, Results, misfit, number, unsupported};
use crate::array::Trouble;
use crate::attrs::Attrs;
use crate::load::Object;
use crate::program::{Node, Program};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let Some(program) = args.program else { return misfit("`attrs.program` is missing") };
    match function {
        "scalar_program" | "array_program" => run(program, &args.inputs),
        "array_program_vmap" => mapped(args, &[0], |x| run(program, x)),
        other => unsupported(other),
    }
}

/// Constants have the element type of the inputs.
fn run(program: &Program, inputs: &[Tensor]) -> Results {
    let dtype = inputs.iter().map(Tensor::dtype).find(|dtype| dtype.is_float()).unwrap_or(DType::F64);
    let mut values: Vec<Tensor> = Vec::with_capacity(program.nodes.len());
    for (k, node) in program.nodes.iter().enumerate() {
        let value = match node {
            Node::Input(index) => inputs[*index].clone(),
            Node::Constant(value) => number(*value).convert(dtype),
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

/// An operation on earlier nodes: one of the additions of this family, or a function of the families
/// `binary`, `unary`, `reduce` and `shape`, whose first result counts.
fn apply(op: &str, args: &[&Tensor], attrs: Attrs) -> Result<Tensor, Trouble> {
    match (op, args) {
        ("softmax" | "log_softmax", [x]) => along_axis(op, x, attrs),
        ("take", [x]) => {
            let indices = attrs.wholes("indices")?.into_iter().map(|index| index as i64).collect::<Vec<i64>>();
            Ok(x.take(&Tensor::from(indices), attrs.whole("axis", None)?))
        }
        ("matmul", [x, y]) => Ok(x.matmul(y)),
        (op, [x, y]) => binary(op, x, y).map_or_else(|| of_families(op, args, attrs), Ok),
        (op, [x]) => match reduction(op, x, attrs)? {
            Some(result) => Ok(result),
            None => unary(op, x).map_or_else(|| of_families(op, args, attrs), Ok),
        },
        _ => of_families(op, args, attrs),
    }
}

/// The first result of the function with this name in the first family that has it.
fn of_families(op: &str, args: &[&Tensor], attrs: Attrs) -> Result<Tensor, Trouble> {
    let inputs = args.iter().map(|&arg| arg.clone()).collect();
    let args = ArrayArgs { inputs, attrs, constants: &Object::new(), expected: &[], program: None };
    for family in ["shape", "reduce", "binary"] {
        match super::call(family, op, &args) {
            Err(Trouble::Unsupported(_)) => {}
            results => {
                let first = results?.into_iter().next();
                return first.map_or_else(|| misfit("it has no result"), Ok);
            }
        }
    }
    unsupported(op)
}
