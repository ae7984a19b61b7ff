//! A point that is known by an equation.

use std::borrow::Cow;
use std::sync::Arc;

use super::krylov::{Krylov, LinearMethod};
use super::solve::lanes_and_method;
#[cfg(feature = "text")]
use super::solve::read_lanes_and_method;
use super::solve::{Solve, check_lanes, counted, guarded, only_with};
use super::{check_inputs, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Logic, Unary};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Einsum, Family, Form, Literal, Op, OperandSet, Primitive, Sample, WithTangents,
};
use crate::program::{Builder, Program, Value, inline, same_inputs};
use crate::transform::jvp;
use crate::transform::linearize::linearize;

/// The point `y` with `F(y, c) = 0` that a solver finds: its operands are where it starts, and `c`.
///
/// The derivative is that of the implicit function theorem, whatever the solver does: `F_y y_dot = -F_c c_dot`, a [`Solve`]
/// with the linearisation of `F` in `y`, in every order, because `y` is differentiated in it too. The start has none.
/// That `F(y, c)` is 0, as far as it has to be, is what the solver makes sure of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Implicit {
    /// Takes all operands; gives the point.
    pub solver: Arc<Program>,
    /// Takes the point and the operands behind the start; gives a residual for every part of the point, of its type.
    pub equation: Arc<Program>,
    /// The lengths of the first axes of the point, along which there are equations of their own.
    pub lanes: Vec<usize>,
    /// Whether the first operand behind the start says which lanes count: in the others the point is 0.
    pub masked: bool,
    /// How the linear systems of the derivatives are solved.
    pub method: LinearMethod,
    /// The operation that errors name.
    pub name: String,
}

impl Implicit {
    /// With this solver and equation, without lanes.
    pub fn new(solver: Program, equation: Program, method: LinearMethod, name: &str) -> Self {
        let (solver, equation) = (Arc::new(solver), Arc::new(equation));
        Implicit { solver, equation, lanes: Vec::new(), masked: false, method, name: name.to_owned() }
    }

    /// How many operands the equation does not take.
    fn start(&self) -> usize {
        let taken = self.equation.input_types().len() - self.equation.outputs().len();
        self.solver.input_types().len() - taken
    }

    fn with_tangents(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let outs = b.ops(self.clone(), args);
        let start = self.start();
        if tangents[start..].iter().all(Option::is_none) {
            let none = vec![None; outs.len()];
            return Ok((outs, none));
        }
        let point = [&outs[..], &args[start..]].concat();
        let moving: Vec<Option<Value>> =
            std::iter::repeat_n(None, outs.len()).chain(tangents[start..].iter().copied()).collect();
        let (_, mut dots) = jvp::jvp(b, &self.equation, &point, &moving).map_err(inside)?;
        if dots.iter().all(Option::is_none) {
            let none = vec![None; outs.len()];
            return Ok((outs, none));
        }
        only_with(b, &outs, self.lanes.len(), &self.name, &mut dots);
        let mask = self.masked.then(|| args[start]);
        let (map, mut operands) = linearised(b, &self.equation, &point, mask)?;
        for (dot, ty) in dots.into_iter().zip(self.equation.output_types()) {
            operands.push(match dot {
                Some(dot) => b.neg(dot),
                None => b.full(0.0, &ty),
            });
        }
        let solve = Solve {
            map: Arc::new(map),
            lanes: self.lanes.clone(),
            masked: self.masked,
            checked: false,
            method: self.method,
            name: self.name.clone(),
        };
        let dots = b.ops(solve, &operands);
        Ok((outs, dots.into_iter().map(Some).collect()))
    }

    /// The operation with one more axis of lanes; those of `mask` count, if there is one.
    fn with_lanes(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Option<Value>,
    ) -> Batched {
        let start = self.start();
        let mut flags = batched.to_vec();
        if self.masked {
            flags[start] = true;
        }
        let mut operands = args.to_vec();
        for k in (0..args.len()).filter(|&k| flags[k] && !batched[k]) {
            operands[k] = b.repeat_in_front(args[k], length);
        }
        let lanes = [&[length], &self.lanes[..]].concat();
        let of_equation: Vec<bool> =
            std::iter::repeat_n(true, self.equation.outputs().len()).chain(flags[start..].iter().copied()).collect();
        let Some(mask) = mask else {
            let solver = Arc::new(self.solver.vmap(&flags, length).map_err(inside)?);
            let equation = Arc::new(self.equation.vmap(&of_equation, length).map_err(inside)?);
            let outs = b.ops(Implicit { solver, equation, lanes, ..self.clone() }, &operands);
            return Ok(outs.into_iter().map(|out| (out, true)).collect());
        };
        let mut all = b.spread(mask, &lanes, &(1..lanes.len()).collect::<Vec<usize>>());
        if self.masked {
            all = b.op(Logic::And, &[all, operands[start]]);
        }
        let ty = b.ty(all).clone();
        // Which lanes count, and the mask, stand between the start, or the point, and the other operands.
        let moved = |program: &Program, flags: &[bool], first: usize| -> Result<Arc<Program>, Misfit> {
            let guarded = guarded(program, flags, length, Some(ty.clone()))?;
            let mut order: Vec<usize> = (2..first + 2).collect();
            order.extend([0, 1]);
            order.extend(first + 2..guarded.input_types().len());
            Ok(Arc::new(with_inputs_at(&guarded, &order)))
        };
        let solver = moved(&self.solver, &flags, start)?;
        let solver = where_counted(&solver, start);
        let equation = moved(&self.equation, &of_equation, self.equation.outputs().len())?;
        let operands = [&operands[..start], &[all, mask], &operands[start..]].concat();
        let outs = b.ops(Implicit { solver, equation, lanes, masked: true, ..self.clone() }, &operands);
        Ok(outs.into_iter().map(|out| (out, true)).collect())
    }
}

/// The linearisation of an equation in its point, the first of these values: a Program of operands, which are values too, and
/// of unknowns. Which lanes count is the first operand, if it is asked for.
pub(crate) fn linearised(
    b: &mut Builder,
    equation: &Program,
    point: &[Value],
    mask: Option<Value>,
) -> Result<(Program, Vec<Value>), Misfit> {
    let types = equation.output_types();
    let unknowns: Vec<bool> = (0..point.len()).map(|k| k < types.len()).collect();
    let (_, linear) = linearize(b, equation, point, &unknowns).map_err(inside)?;
    let operands: Vec<Value> = mask.into_iter().chain(linear.residuals.iter().copied()).collect();
    let mut map = Builder::new();
    if let Some(mask) = mask {
        map.input("", b.ty(mask).clone());
    }
    let inputs = same_inputs(&mut map, &linear.program);
    let mut images = inline(&mut map, &linear.program, &inputs).into_iter();
    let mut all = Vec::with_capacity(types.len());
    for (has, ty) in linear.outputs.iter().zip(&types) {
        all.push(if *has { images.next().expect("one for each") } else { map.full(0.0, ty) });
    }
    Ok((map.finish(&all), operands))
}

/// A solver whose point is 0 where the lane does not count, as the input at a place says.
fn where_counted(solver: &Program, place: usize) -> Arc<Program> {
    let mut b = Builder::new();
    let inputs = same_inputs(&mut b, solver);
    let point = inline(&mut b, solver, &inputs);
    let point: Vec<Value> = point.into_iter().map(|part| counted(&mut b, inputs[place], part)).collect();
    Arc::new(b.finish(&point))
}

/// The Program with its inputs in another order: that at each place is the one of this number.
fn with_inputs_at(program: &Program, order: &[usize]) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<Value> = order.iter().map(|&k| b.input("", program.input_types()[k].clone())).collect();
    let mut args = inputs.clone();
    order.iter().zip(&inputs).for_each(|(&k, &input)| args[k] = input);
    let outs = inline(&mut b, program, &args);
    b.finish(&outs)
}

impl Primitive for Implicit {
    fn name(&self) -> Cow<'static, str> {
        "implicit".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let list = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
        let (takes, residuals) = (self.equation.input_types(), self.equation.output_types());
        let point = self.solver.output_types();
        if !takes.starts_with(&point) || residuals != point {
            let (takes, gives) = (list(takes), list(&residuals));
            misfit!(
                "the equation takes ({takes}) to ({gives}), and has to take the point ({}) to its types",
                list(&point)
            );
        }
        let behind = &takes[point.len()..];
        if !self.solver.input_types().ends_with(behind) {
            let all = list(self.solver.input_types());
            misfit!("the solver takes ({all}), and has to take last what the equation does, ({})", list(behind));
        }
        check_inputs(&self.solver, args)?;
        check_lanes(&self.lanes, self.masked, &point, &args[self.start()..])?;
        Ok(point)
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        run(&self.solver, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Inlined
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("unknowns may be apart from each other")
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        Some(self.with_tangents(b, args, tangents))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        self.with_lanes(b, args, batched, length, None)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(self.with_lanes(b, args, batched, length, Some(mask)))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.solver, &self.equation]
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [solver, equation] = <[_; 2]>::try_from(programs).expect("a solver and an equation");
        Implicit { solver, equation, ..self.clone() }.into()
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("solver", &self.solver).with("equation", &self.equation);
        lanes_and_method(attributes.with("name", self.name.clone()), &self.lanes, self.masked, self.method)
    }
}

impl Family for Implicit {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "implicit").then(|| {
            let (solver, equation) = (fields.program("solver")?, fields.program("equation")?);
            let name = fields.word("name")?;
            let (lanes, masked, method) = read_lanes_and_method(fields)?;
            Ok(Implicit { solver, equation, lanes, masked, method, name })
        })
    }
    fn samples() -> Vec<Sample> {
        let method = LinearMethod { krylov: Krylov::Gmres { restart: 5 }, tolerance: Literal::F64(1e-14), limit: 40 };
        let of = |length: usize| Implicit::new(contracted(length), residual(length), method, "implicit");
        let mut samples: Vec<Sample> = [1, 3]
            .map(|length| {
                let start = Array::new(&[length], vec![0.0; length]);
                Sample::new(of(length), &[start, numbers(1, &[length, length]), numbers(2, &[length])])
            })
            .into();
        // Lanes, of which one does not count.
        let flags = [true, false, true];
        let all = Type::new(DType::Bool, &[2]);
        let place = |program: &Program, flags: &[bool]| {
            with_inputs_at(&guarded(program, flags, 2, Some(all.clone())).expect("it has lanes"), &[2, 0, 1, 3, 4])
        };
        let lanes = Implicit {
            solver: where_counted(&place(&contracted(2), &flags), 1),
            equation: Arc::new(place(&residual(2), &flags)),
            lanes: vec![2],
            masked: true,
            ..of(2)
        };
        let count = Array::new(&[2], vec![false, true]);
        let start = Array::new(&[2, 2], vec![0.0; 4]);
        samples.push(Sample::new(lanes, &[start, count.clone(), count, numbers(3, &[2, 2]), numbers(4, &[2, 2])]));
        samples
    }
}

/// `y + sin(w y) / 32 - c`
fn residual(length: usize) -> Program {
    let mut b = Builder::new();
    let vector = || Type::new(DType::F64, &[length]);
    let y = b.input("", vector());
    let w = b.input("", Type::new(DType::F64, &[length, length]));
    let c = b.input("", vector());
    let pushed = pushed(&mut b, w, y);
    let sum = b.add(y, pushed);
    let residual = b.sub(sum, c);
    b.finish(&[residual])
}

/// `sin(w y) / 32`
fn pushed(b: &mut Builder, w: Value, y: Value) -> Value {
    let turned = b.op(Einsum::new("ij,j->i").expect("a product"), &[w, y]);
    let sine = b.op(Unary::Sin, &[turned]);
    let ty = b.ty(sine).clone();
    let part = b.full(1.0 / 32.0, &ty);
    b.mul(part, sine)
}

/// `y = c - sin(w y) / 32`, 80 times from the start on: a step makes the distance to the point half of what it was, or less.
fn contracted(length: usize) -> Program {
    let mut b = Builder::new();
    let vector = || Type::new(DType::F64, &[length]);
    let w = b.input("", Type::new(DType::F64, &[length, length]));
    let (c, y) = (b.input("", vector()), b.input("", vector()));
    let pushed = pushed(&mut b, w, y);
    let next = b.sub(c, pushed);
    let step = super::Scan::new(b.finish(&[next]), 80, 1, 0);
    let mut b = Builder::new();
    let start = b.input("", vector());
    let w = b.input("", Type::new(DType::F64, &[length, length]));
    let c = b.input("", vector());
    let y = b.ops(step, &[w, c, start]);
    b.finish(&y)
}
