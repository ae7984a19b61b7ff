//! Operations that hold Programs: call, recomputed regions, branches, loops, a user's own rule.
//!
//! Their tangents are operations of the same kind on the tangent Programs, their transposes on the
//! transposed ones: every transformation recurses into them.

/// What `call` and `recompute` have in common, as the rest of their `impl Primitive`: they apply one Program to their
/// operands, and are of the same kind on the batched and transposed Program.
macro_rules! region_methods {
    ($region:ident) => {
        fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
            super::check_inputs(&self.program, args)?;
            Ok(self.program.output_types())
        }
        fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
            super::run(&self.program, args)
        }
        fn eval_by(
            &self,
            args: &[&Array],
            run: &mut crate::primitives::RunInside<'_>,
        ) -> Option<Result<Vec<Array>, Misfit>> {
            Some(run(&self.program, args))
        }
        fn form(&self, _: &[&Type]) -> Form {
            Form::Inlined
        }
        fn linear_in(&self, _: usize) -> Vec<OperandSet> {
            Vec::new()
        }
        fn transpose_masked(
            &self,
            b: &mut Builder,
            cts: &[Option<Cotangent>],
            operands: &[Operand],
        ) -> Option<MaskedCotangents> {
            Some(super::transpose_region(b, &self.program, cts, operands, |program| $region::new(program).into()))
        }
        fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
            let (program, flags) = super::batch_region(&self.program, batched, length)?;
            let outs = b.ops($region::new(program), args);
            Ok(outs.into_iter().zip(flags).collect())
        }
        fn batch_masked(
            &self,
            b: &mut Builder,
            args: &[Value],
            batched: &[bool],
            length: usize,
            mask: Value,
        ) -> Option<Batched> {
            Some(vmap::vmap_guarded(b, &self.program, args, batched, length, mask).map_err(super::inside))
        }
        fn programs(&self) -> Vec<&Arc<Program>> {
            vec![&self.program]
        }
        fn wiring(&self) -> Wiring {
            Wiring::OneOf { first: 0 }
        }
        fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
            let [program] = <[_; 1]>::try_from(programs).expect("one Program");
            $region { program }.into()
        }
        fn attributes(&self) -> Attributes {
            Attributes::default().with("program", &self.program)
        }
    };
}

mod call;
mod cond;
mod custom;
mod implicit;
mod krylov;
mod loops;
mod recompute;
mod repeat;
mod scan;
mod solve;
#[cfg(all(test, feature = "text"))]
mod tests;
mod unwind;

pub use call::Call;
pub use cond::{Choice, Cond};
pub use custom::{Custom, Rule};
pub use implicit::Implicit;
pub(crate) use implicit::linearised;
pub use krylov::{Krylov, LinearMethod};
pub use loops::Bounds;
pub use recompute::Recompute;
pub use repeat::While;
pub use scan::Scan;
pub use solve::Solve;
pub(super) use solve::guarded;
pub use unwind::Unwind;

use super::{Cotangent, MaskedCotangents, Op, Operand, Sample, Wiring, sample};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Unary};
use crate::program::{Builder, Program, Value, dce, same_inputs};
use crate::transform::{jvp, transpose, vmap};

/// An error of a Program inside, as the reason of the operation that holds it.
pub(super) fn inside(error: Error) -> Misfit {
    Misfit(format!("inside: {error}"))
}

/// Whether an operation inside can fail on the values it gets, or run for ever.
fn can_fail(program: &Program) -> bool {
    let endless = |op: &Op| matches!(op.wiring(), Wiring::Loop { phases, .. } if phases.len() > 1);
    let inside = |op: &Op| op.programs().iter().any(|program| can_fail(program));
    let own = |op: &Op| !op.harmless().is_empty() || op.gives_up() || endless(op);
    program.eqns().iter().any(|eqn| own(&eqn.op) || inside(&eqn.op))
}

/// The results of a Program inside, by definition.
pub(crate) fn run(program: &Program, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
    let args: Vec<Array> = args.iter().map(|&arg| arg.clone()).collect();
    program.run_reference(&args).map_err(inside)
}

/// Checks operands against the inputs of a Program.
fn check_inputs(program: &Program, args: &[&Type]) -> Result<(), Misfit> {
    let wanted = program.input_types();
    if wanted.len() != args.len() {
        misfit!("the program inside takes {} operands, and gets {}", wanted.len(), args.len());
    }
    match wanted.iter().zip(args).position(|(wanted, ty)| wanted != *ty) {
        Some(k) => misfit!("the program inside takes {} as operand {k}, and gets {}", wanted[k], args[k]),
        None => Ok(()),
    }
}

/// The tangents of a Program's outputs alone, as a Program of its inputs and their tangents, with
/// zeros for the outputs marked in `wanted` that have none; and which outputs have one.
fn tangent_program(
    program: &Program,
    active: &[bool],
    wanted: Option<&[bool]>,
) -> Result<(Program, Vec<bool>), Misfit> {
    let WithInputTangents { mut b, outs, dots } = WithInputTangents::of(program, active)?;
    let has: Vec<bool> = dots.iter().map(Option::is_some).collect();
    let wanted = wanted.unwrap_or(&has).to_vec();
    let results: Vec<Value> =
        (0..outs.len()).filter(|&k| wanted[k]).map(|k| dots[k].unwrap_or_else(|| b.zeros_like(outs[k]))).collect();
    Ok((dce(b.finish(&results)), has))
}

/// A Program with its tangents, as one that is not finished: see [`WithInputTangents::joined`].
struct WithInputTangents {
    b: Builder,
    outs: Vec<Value>,
    dots: Vec<Option<Value>>,
}

impl WithInputTangents {
    fn of(program: &Program, active: &[bool]) -> Result<Self, Misfit> {
        let mut b = Builder::new();
        let args = same_inputs(&mut b, program);
        let tangents = jvp::tangent_inputs(&mut b, program, active);
        let (outs, dots) = jvp::jvp(&mut b, program, &args, &tangents).map_err(inside)?;
        Ok(WithInputTangents { b, outs, dots })
    }

    /// The outputs, then the tangents of those marked, zeros where one has none, as a Program of its inputs and their tangents.
    fn joined(self, wanted: &[bool]) -> Program {
        let WithInputTangents { mut b, mut outs, dots } = self;
        for k in (0..wanted.len()).filter(|&k| wanted[k]) {
            let dot = dots[k].unwrap_or_else(|| b.zeros_like(outs[k]));
            outs.push(dot);
        }
        dce(b.finish(&outs))
    }
}

/// Values by position, spread over the positions that have one.
fn place(values: Vec<Value>, has: &[bool]) -> Vec<Option<Value>> {
    let mut values = values.into_iter();
    has.iter().map(|&has| if has { values.next() } else { None }).collect()
}

/// The operands of a transposed region: what is known, then the cotangents, then their masks.
struct PullbackOperands {
    args: Vec<Value>,
    /// Which cotangents there are, and whether they have a mask.
    cotangents: Vec<Option<bool>>,
}

impl PullbackOperands {
    fn new(cts: &[Option<Cotangent>], operands: &[Operand]) -> Self {
        let known = operands.iter().filter_map(|operand| match operand {
            Operand::Known(value) => Some(*value),
            Operand::Linear(_) => None,
        });
        let values = cts.iter().flatten().map(|ct| ct.value);
        let masks = cts.iter().flatten().filter_map(|ct| ct.mask);
        let cotangents = cts.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect();
        PullbackOperands { args: known.chain(values).chain(masks).collect(), cotangents }
    }

    /// The transpose of a Program inside, before its results are chosen.
    fn transpose(&self, program: &Program, operands: &[Operand]) -> Result<(Builder, Vec<Option<Cotangent>>), Misfit> {
        let mut b = Builder::new();
        let types = program.input_types();
        let args: Vec<Option<Value>> = operands
            .iter()
            .zip(types)
            .map(|(operand, ty)| (!operand.is_linear()).then(|| b.input("", ty.clone())))
            .collect();
        let outputs = program.output_types();
        let present = |k: usize| self.cotangents[k];
        let values: Vec<Option<Value>> =
            (0..outputs.len()).map(|k| present(k).map(|_| b.input("", outputs[k].clone()))).collect();
        let cts: Vec<Option<Cotangent>> = (0..outputs.len())
            .map(|k| {
                let value = values[k]?;
                let mask = (present(k) == Some(true)).then(|| b.input("", outputs[k].with_dtype(DType::Bool)));
                Some(Cotangent { value, mask })
            })
            .collect();
        let pulled = transpose::transpose_masked(&mut b, program, &args, &cts).map_err(inside)?;
        Ok((b, pulled))
    }
}

/// What each operand gets from a transposed region: nothing, a cotangent, one with a mask.
type CotangentLayout = Vec<Option<bool>>;

/// The Program whose results are the cotangents of a layout and then their masks. Where this one
/// has none, zeros that count nowhere; where it has no mask, one that is true.
fn pulled_program(
    mut b: Builder,
    pulled: &[Option<Cotangent>],
    layout: &CotangentLayout,
    operands: &[Operand],
) -> Program {
    let (mut values, mut masks) = (Vec::new(), Vec::new());
    for (k, wanted) in layout.iter().enumerate() {
        let Some(masked) = wanted else { continue };
        let ty = operands[k].ty(&b);
        values.push(pulled[k].map_or_else(|| b.full(0.0, &ty), |ct| ct.value));
        if *masked {
            let known = |b: &mut Builder, value: bool| b.full(f64::from(u8::from(value)), &ty.with_dtype(DType::Bool));
            masks.push(match pulled[k] {
                None => known(&mut b, false),
                Some(ct) => ct.mask.unwrap_or_else(|| known(&mut b, true)),
            });
        }
    }
    values.extend(masks);
    dce(b.finish(&values))
}

/// The results of a transposed region as cotangents.
fn cotangents(results: Vec<Value>, layout: &CotangentLayout) -> Vec<Option<Cotangent>> {
    let count = layout.iter().flatten().count();
    let (values, masks) = results.split_at(count);
    let (mut values, mut masks) = (values.iter().copied(), masks.iter().copied());
    let one = |masked: &Option<bool>| {
        let masked = (*masked)?;
        Some(Cotangent { value: values.next()?, mask: if masked { masks.next() } else { None } })
    };
    layout.iter().map(one).collect()
}

/// The transpose of a region as an equation of the same kind.
fn transpose_region(
    b: &mut Builder,
    program: &Program,
    cts: &[Option<Cotangent>],
    operands: &[Operand],
    op: fn(Program) -> Op,
) -> MaskedCotangents {
    let region = PullbackOperands::new(cts, operands);
    let (inner, pulled) = region.transpose(program, operands)?;
    let layout: CotangentLayout = pulled.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect();
    let transposed = pulled_program(inner, &pulled, &layout, operands);
    let results = b.ops(op(transposed), &region.args);
    Ok(cotangents(results, &layout))
}

/// The batched region, and which of its results have the axis.
fn batch_region(program: &Program, batched: &[bool], length: usize) -> Result<(Program, Vec<bool>), Misfit> {
    let mut b = Builder::new();
    let args = vmap::batched_inputs(&mut b, program, batched, length);
    let outs = vmap::vmap(&mut b, program, &args, batched, length).map_err(inside)?;
    let (outs, flags): (Vec<Value>, Vec<bool>) = outs.into_iter().unzip();
    Ok((b.finish(&outs), flags))
}

/// Samples of an operation on one Program, which `make` gives.
fn region_samples<O: Into<Op>>(make: impl Fn(Program) -> O) -> Vec<Sample> {
    let mut b = Builder::new();
    let (x, y) = (b.input("", Type::new(DType::F64, &[3])), b.input("", Type::new(DType::F64, &[3])));
    let sine = b.op(Unary::Sin, &[x]);
    let product = b.op(Binary::Mul, &[sine, y]);
    let program = b.finish(&[product, x]);
    vec![Sample::new(make(program), &[sample::numbers(1, &[3]), sample::numbers(2, &[3])])]
}
