//! `cond` and `switch` over tensors: all branches are recorded, one is run.

use super::{error, own_leaves};
use crate::array::{DType, Type};
use crate::control::Carry;
use crate::error::{Error, ErrorKind, Line, Misfit};
use crate::primitives::{Choice, Cond};
use crate::program::{Builder, Program, Value, inline};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Structure, Tree, leaves};

/// What is said of branches whose results have the same leaves, and differ in what is around them.
const OTHER_STRUCTURE: &str = "the branches give results of other structures (fields without leaves, options, lengths of lists), and \
                               have to agree";

/// See [`crate::cond`].
#[track_caller]
pub(super) fn cond<T, O>(
    line: Line,
    condition: &Tensor,
    x: T,
    yes: impl FnOnce(T::Vars) -> O,
    no: impl FnOnce(T::Vars) -> O,
) -> Result<O::Grad, Error>
where
    T: Carry<Active = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    if *condition.ty() != Type::new(DType::Bool, &[]) {
        let why = "the condition has to be a single truth value, bool[]; reduce it with `all` or `any`".to_owned();
        return Err(error("cond", ErrorKind::Misfit, why, line).of([condition.ty()]));
    }
    if let Some(known) = condition.known().filter(|_| !graph::in_branch()) {
        let vars = x.vars(&mut Into::into);
        let output = if known.known::<bool>()[0] { yes(vars) } else { no(vars) };
        return Ok(tree(&output, leaves(&output)));
    }
    let (output, yes) = branch("cond", &x, yes)?;
    let (other, no) = branch("cond", &x, no)?;
    let (yes_types, no_types) = (yes.program.output_types(), no.program.output_types());
    if output.size() != other.size() || yes_types != no_types {
        let (yes, no) = (list(&yes_types), list(&no_types));
        let why = format!("the branches give ({yes}) and ({no}), and have to agree");
        return Err(error("cond", ErrorKind::Misfit, why, line));
    }
    if Structure::of(&output).compared() != Structure::of(&other).compared() {
        return Err(error("cond", ErrorKind::Misfit, OTHER_STRUCTURE.to_owned(), line));
    }
    let (programs, captures) = with_all_captures(vec![yes, no]);
    let [yes, no] = <[Program; 2]>::try_from(programs).expect("two branches");
    apply(Cond::new(yes, no), condition, &x, &captures, &output)
}
/// See [`crate::switch`].
#[track_caller]
pub(super) fn switch<T, O>(
    line: Line,
    index: &Tensor,
    x: T,
    branches: &[&dyn Fn(T::Vars) -> O],
) -> Result<O::Grad, Error>
where
    T: Carry<Active = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let misfit = |why: String| error("switch", ErrorKind::Misfit, why, line);
    if *index.ty() != Type::new(DType::I64, &[]) {
        let why = "the index has to be a single integer, i64[]; `to_i64` makes one of a number".to_owned();
        return Err(misfit(why).of([index.ty()]));
    }
    if branches.is_empty() {
        return Err(misfit("there is no branch to choose".to_owned()));
    }
    if let Some(known) = index.known().filter(|_| !graph::in_branch()) {
        let place = Choice::place(known.known::<i64>()[0], branches.len());
        let place = place.map_err(|Misfit(why)| error("switch", ErrorKind::Run, why, line))?;
        let output = branches[place](x.vars(&mut Into::into));
        return Ok(tree(&output, leaves(&output)));
    }
    let recorded: Result<Vec<(O, Closed)>, Error> = branches.iter().map(|f| branch("switch", &x, f)).collect();
    let (outputs, closed): (Vec<O>, Vec<Closed>) = recorded?.into_iter().unzip();
    let first = closed[0].program.output_types();
    for (k, (output, other)) in outputs.iter().zip(&closed).enumerate() {
        let types = other.program.output_types();
        if output.size() != outputs[0].size() || types != first {
            let (first, types) = (list(&first), list(&types));
            return Err(misfit(format!(
                "branch 0 gives ({first}), and branch {k} gives ({types}): they have to agree"
            )));
        }
        if Structure::of(output).compared() != Structure::of(&outputs[0]).compared() {
            return Err(misfit(OTHER_STRUCTURE.to_owned()));
        }
    }
    let (programs, captures) = with_all_captures(closed);
    apply(Cond::by_index(programs), index, &x, &captures, &outputs[0])
}
/// The tree of a result with these leaves.
fn tree<O: Tree<Leaf = Tensor>>(output: &O, results: Vec<Tensor>) -> O::Grad {
    let mut results = results.into_iter();
    output.grad(&mut || results.next().expect("one per leaf"))
}

fn list(types: &[Type]) -> String {
    types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ")
}

/// The results of the branch that is chosen.
#[track_caller]
fn apply<T, O>(cond: Cond, choice: &Tensor, x: &T, captures: &[Tensor], output: &O) -> Result<O::Grad, Error>
where
    T: Carry<Active = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let point = own_leaves(x);
    let operands: Vec<&Tensor> = std::iter::once(choice).chain(&point).chain(captures).collect();
    Ok(tree(output, graph::apply(cond, &operands)?))
}

#[track_caller]
fn branch<T: Carry<Active = Tensor>, O: Tree<Leaf = Tensor>>(
    name: &'static str,
    x: &T,
    f: impl FnOnce(T::Vars) -> O,
) -> Result<(O, Closed), Error> {
    let level = ArrayLevel::open(name, Reading::Branch);
    let output = f(x.vars(&mut |leaf| level.input(&leaf.into(), &Mapped::Whole)));
    let closed = level.close(&leaves(&output))?;
    Ok((output, closed))
}

/// The Programs with the captures of all of them as additional inputs.
pub(super) fn with_all_captures(branches: Vec<Closed>) -> (Vec<Program>, Vec<Tensor>) {
    let mut captures: Vec<Tensor> = Vec::new();
    let mut place = |capture: &Tensor| {
        captures.iter().position(|other| graph::is_same(other, capture)).unwrap_or_else(|| {
            captures.push(capture.clone());
            captures.len() - 1
        })
    };
    let places: Vec<Vec<usize>> =
        branches.iter().map(|closed| closed.captures.iter().map(&mut place).collect()).collect();
    let widened = branches.into_iter().zip(places).map(|(closed, places)| {
        let mut b = Builder::new();
        let types = &closed.program.input_types()[..closed.leaves];
        let mut args: Vec<Value> = types.iter().map(|ty| b.input("", ty.clone())).collect();
        let all: Vec<Value> = captures.iter().map(|capture| b.input("", capture.ty().clone())).collect();
        args.extend(places.iter().map(|&place| all[place]));
        let outs = inline(&mut b, &closed.program, &args);
        b.finish(&outs)
    });
    (widened.collect(), captures)
}
