//! Linear systems whose map is a Program.

use std::borrow::Cow;
use std::sync::Arc;

use super::krylov::{Krylov, LinearMethod, System};
use super::{check_inputs, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Compare, Logic, Unary};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangent, Einsum, Ensure, Family, Form, Literal, MaskedCotangents, Op, Operand, OperandSet,
    Primitive, Sample, WithTangents,
};
use crate::program::{Builder, Program, Value};
use crate::transform::linear::check_linear;
use crate::transform::{jvp, vmap};

/// The unknowns `x` of `A(w) x = b`, where a Program computes `A(w) x` of `w` and `x`. The operands are `w` and `b`.
///
/// The system is solved by an iterative method, whose steps are never differentiated: the tangent is the solution of
/// `A x_dot = b_dot - A_dot x`, the transpose in `b` that with the transposed Program. What has not converged is an error.
///
/// Under [`vmap`](crate::vmap) every lane is a system of its own and is left alone when it is solved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Solve {
    /// The map, linear in its last inputs, which are as many as its results and of their types.
    pub map: Arc<Program>,
    /// The lengths of the first axes of the unknowns, along which there are systems of their own.
    pub lanes: Vec<usize>,
    /// Whether the first operand says which lanes count: in the others the unknowns are 0.
    pub masked: bool,
    /// Whether tangents are only there with the solution: where there is none, they are an error too. Not for systems that are
    /// themselves parts of linear maps.
    pub checked: bool,
    /// How it is solved.
    pub method: LinearMethod,
    /// The operation that errors name.
    pub name: String,
}

impl Solve {
    /// The system of this map, without lanes.
    pub fn new(map: Program, method: LinearMethod, name: &str) -> Self {
        Solve { map: Arc::new(map), lanes: Vec::new(), masked: false, checked: false, method, name: name.to_owned() }
    }

    /// How many operands there are before the right-hand sides.
    fn known(&self) -> usize {
        self.map.input_types().len().saturating_sub(self.map.outputs().len())
    }

    /// Which operands are the right-hand sides.
    fn marks(&self) -> Vec<bool> {
        (0..self.map.input_types().len()).map(|k| k >= self.known()).collect()
    }

    fn with_tangents(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let outs = b.ops(self.clone(), args);
        let known = self.known();
        let mut dots = vec![None; outs.len()];
        if tangents[..known].iter().any(Option::is_some) {
            let point = [&args[..known], &outs[..]].concat();
            let mut moving = tangents[..known].to_vec();
            moving.resize(point.len(), None);
            (_, dots) = jvp::jvp(b, &self.map, &point, &moving).map_err(inside)?;
        }
        let mut right: Vec<Option<Value>> = Vec::with_capacity(outs.len());
        for (k, dot) in dots.into_iter().enumerate() {
            right.push(match (tangents[known + k], dot) {
                (Some(right), Some(dot)) => Some(b.sub(right, dot)),
                (None, Some(dot)) => Some(b.neg(dot)),
                (right, None) => right,
            });
        }
        if right.iter().all(Option::is_none) {
            return Ok((outs, right));
        }
        if self.checked {
            only_with(b, &outs, self.lanes.len(), &self.name, &mut right);
        }
        let dots = self.solved(b, &args[..known], &right);
        Ok((outs, dots.into_iter().map(Some).collect()))
    }

    /// The unknowns for other right-hand sides, zeros where there is none.
    fn solved(&self, b: &mut Builder, known: &[Value], right: &[Option<Value>]) -> Vec<Value> {
        let types = self.map.output_types();
        let mut operands = known.to_vec();
        for (right, ty) in right.iter().zip(&types) {
            operands.push(right.unwrap_or_else(|| b.full(0.0, ty)));
        }
        b.ops(Solve { checked: false, ..self.clone() }, &operands)
    }

    /// Whether a lane has a cotangent that counts, if not all have: `None` if one counts everywhere.
    fn mask_of_lanes(&self, b: &mut Builder, cts: &[Option<Cotangent>]) -> Option<Value> {
        let masks: Vec<Value> = cts.iter().flatten().map(|ct| ct.mask).collect::<Option<_>>()?;
        let mut all = None;
        for mask in masks {
            let axes: Vec<usize> = (self.lanes.len()..b.shape(mask).len()).collect();
            let mask = b.any(mask, &axes);
            all = Some(all.map_or(mask, |all| b.op(Logic::Or, &[all, mask])));
        }
        all
    }

    fn transposed(&self, b: &mut Builder, cts: &[Option<Cotangent>], operands: &[Operand]) -> MaskedCotangents {
        let known = self.known();
        if operands[..known].iter().any(Operand::is_linear) {
            misfit!("the map depends on what is transposed");
        }
        let map = self.map.transpose(&self.marks()).map_err(inside)?;
        let transposed = Solve { map: Arc::new(map), ..self.clone() };
        let args: Vec<Value> = operands[..known].iter().map(Operand::known).collect();
        let right: Vec<Option<Value>> = cts.iter().map(|ct| ct.map(|ct| ct.value)).collect();
        let pulled = transposed.solved(b, &args, &right);
        let lanes = self.mask_of_lanes(b, cts);
        let mut all = vec![None; known];
        for (operand, value) in operands[known..].iter().zip(pulled) {
            let mask = lanes.map(|lanes| spread_lanes(b, lanes, value));
            all.push(operand.is_linear().then_some(Cotangent { value, mask }));
        }
        Ok(all)
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
        let known = self.known();
        let mut flags = batched.to_vec();
        flags[known..].fill(true);
        if self.masked {
            flags[0] = true;
        }
        let mut operands = args.to_vec();
        for k in (0..args.len()).filter(|&k| flags[k] && !batched[k]) {
            operands[k] = b.repeat_in_front(args[k], length);
        }
        let lanes = [&[length], &self.lanes[..]].concat();
        let Some(mask) = mask else {
            let map = Arc::new(self.map.vmap(&flags, length).map_err(inside)?);
            let outs = b.ops(Solve { map, lanes, ..self.clone() }, &operands);
            return Ok(outs.into_iter().map(|out| (out, true)).collect());
        };
        let mut all = b.spread(mask, &lanes, &(1..lanes.len()).collect::<Vec<usize>>());
        if self.masked {
            all = b.op(Logic::And, &[all, operands[0]]);
        }
        let map = Arc::new(guarded(&self.map, &flags, length, Some(b.ty(all).clone()))?);
        let operands = [&[all, mask], &operands[..]].concat();
        let outs = b.ops(Solve { map, lanes, masked: true, ..self.clone() }, &operands);
        Ok(outs.into_iter().map(|out| (out, true)).collect())
    }
}

/// A Program with one more axis, of whose lanes those of a mask count. It takes which lanes count in all, if there is such a type,
/// which it ignores, the mask, then its operands.
pub(in crate::primitives) fn guarded(
    program: &Program,
    batched: &[bool],
    length: usize,
    all: Option<Type>,
) -> Result<Program, Misfit> {
    let mut b = Builder::new();
    if let Some(all) = all {
        b.input("", all);
    }
    let mask = b.input("", Type::new(DType::Bool, &[length]));
    let args = vmap::batched_inputs(&mut b, program, batched, length);
    let outs = vmap::vmap_guarded(&mut b, program, &args, batched, length, mask).map_err(inside)?;
    let outs: Vec<Value> =
        outs.into_iter().map(|(out, has)| if has { out } else { b.repeat_in_front(out, length) }).collect();
    Ok(b.finish(&outs))
}

/// Tangents that are not computed without a point: where it is not found, there is no derivative, also where its number is not
/// asked for.
pub(super) fn only_with(b: &mut Builder, point: &[Value], lanes: usize, name: &str, tangents: &mut [Option<Value>]) {
    let mut holds = None;
    for &part in point {
        let axes: Vec<usize> = (lanes..b.shape(part).len()).collect();
        let unordered = b.op(Compare::Unordered, &[part, part]);
        let unordered = b.any(unordered, &axes);
        let own = b.op(Logic::Not, &[unordered]);
        holds = Some(holds.map_or(own, |all| b.op(Logic::And, &[all, own])));
    }
    let Some(holds) = holds else { return };
    let ensure = Ensure::new(name, "the point is not a number");
    for tangent in tangents.iter_mut().flatten() {
        *tangent = b.op(ensure.clone(), &[*tangent, holds]);
    }
}

/// What each lane has, for every element of a value with lanes.
fn spread_lanes(b: &mut Builder, lanes: Value, of: Value) -> Value {
    let shape = b.shape(of).to_vec();
    let axes: Vec<usize> = (b.shape(lanes).len()..shape.len()).collect();
    b.spread(lanes, &shape, &axes)
}

/// A value where its lane counts, and 0 elsewhere. Of a right-hand side: the solution there is 0, whatever the map.
pub(super) fn counted(b: &mut Builder, lanes: Value, value: Value) -> Value {
    let (mask, zeros) = (spread_lanes(b, lanes, value), b.zeros_like(value));
    b.select(mask, value, zeros)
}

/// Checks the first axes of unknowns, and the operand that says which lanes count.
pub(super) fn check_lanes(lanes: &[usize], masked: bool, unknowns: &[Type], args: &[&Type]) -> Result<(), Misfit> {
    if unknowns.is_empty() {
        misfit!("there are no unknowns");
    }
    if let Some(ty) = unknowns.iter().find(|ty| !ty.dtype.is_float()) {
        misfit!("an unknown is {ty}, and has to be real");
    }
    if let Some(ty) = unknowns.iter().find(|ty| !ty.shape.starts_with(lanes)) {
        misfit!("an unknown is {ty}, and its first axes have to be {lanes:?}");
    }
    let mask = Type::new(DType::Bool, lanes);
    match args.first() {
        Some(ty) if masked && **ty != mask => misfit!("which lanes count is {ty}, and has to be {mask}"),
        None if masked => misfit!("it needs an operand that says which lanes count"),
        _ => Ok(()),
    }
}

impl Primitive for Solve {
    fn name(&self) -> Cow<'static, str> {
        "solve".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (takes, gives) = (self.map.input_types(), self.map.output_types());
        let unknowns = &takes[self.known()..];
        if unknowns != gives {
            let list = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
            misfit!("the map takes ({}) to ({}), and has to give what it takes", list(unknowns), list(&gives));
        }
        check_lanes(&self.lanes, self.masked, &gives, args)?;
        check_inputs(&self.map, args)?;
        check_linear(&self.map, &self.marks()).map_err(|why| Misfit(format!("the map is not linear: {why}")))?;
        Ok(gives)
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        run(&self.expansion(), args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Inlined
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("unknowns may be apart from each other")
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        vec![(self.known()..args).collect()]
    }
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        Some(self.with_tangents(b, args, tangents))
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(self.transposed(b, cts, operands))
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
    fn expansion(&self) -> Cow<'_, Program> {
        Cow::Owned(System::new(self).solver())
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.map]
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [map] = <[_; 1]>::try_from(programs).expect("one Program");
        Solve { map, ..self.clone() }.into()
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("map", &self.map).with("name", self.name.clone());
        let attributes = attributes.with("checked", self.checked);
        lanes_and_method(attributes, &self.lanes, self.masked, self.method)
    }
}

/// With the options that say how a system is solved.
pub(super) fn lanes_and_method(to: Attributes, lanes: &[usize], masked: bool, method: LinearMethod) -> Attributes {
    let to = to.with("lanes", lanes).with("masked", masked);
    let to = match method.krylov {
        Krylov::ConjugateGradients => to.with("by", "cg"),
        Krylov::Gmres { restart } => to.with("by", "gmres").with("restart", restart),
        Krylov::BiCgStab => to.with("by", "bicgstab"),
    };
    to.with("tolerance", method.tolerance).with("limit", method.limit)
}

/// The same, read back.
#[cfg(feature = "text")]
pub(super) fn read_lanes_and_method(fields: &mut Fields) -> Result<(Vec<usize>, bool, LinearMethod), Misfit> {
    let (lanes, masked) = (fields.integers("lanes")?, fields.flag("masked")?);
    let by = fields.one_of("by", &[("cg", 0), ("gmres", 1), ("bicgstab", 2)])?;
    let krylov = match by {
        0 => Krylov::ConjugateGradients,
        1 => Krylov::Gmres { restart: fields.integer("restart")? },
        _ => Krylov::BiCgStab,
    };
    let (tolerance, limit) = (fields.literal("tolerance")?, fields.integer("limit")?);
    Ok((lanes, masked, LinearMethod { krylov, tolerance, limit }))
}

impl Family for Solve {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "solve").then(|| {
            let (map, name) = (fields.program("map")?, fields.word("name")?);
            let checked = fields.flag("checked")?;
            let (lanes, masked, method) = read_lanes_and_method(fields)?;
            Ok(Solve { map, lanes, masked, checked, method, name })
        })
    }
    fn samples() -> Vec<Sample> {
        let by = |krylov| LinearMethod { krylov, tolerance: Literal::F64(1e-14), limit: 40 };
        let [cg, gmres, short, stab] =
            [Krylov::ConjugateGradients, Krylov::Gmres { restart: 5 }, Krylov::Gmres { restart: 2 }, Krylov::BiCgStab]
                .map(by);
        let single = LinearMethod { tolerance: Literal::F64(1e-6), ..gmres };
        let matrix = |shape: &[usize]| numbers(1, shape);
        let mut samples = vec![
            Sample::new(Solve::new(shifted(DType::F64, 3), gmres, "solve"), &[matrix(&[3, 3]), numbers(2, &[3])]),
            Sample::new(Solve::new(shifted(DType::F64, 3), short, "solve"), &[matrix(&[3, 3]), numbers(3, &[3])]),
            Sample::new(Solve::new(shifted(DType::F64, 2), stab, "solve"), &[matrix(&[2, 2]), numbers(4, &[2])]),
            Sample::new(Solve::new(gram(3), cg, "solve"), &[matrix(&[3, 3]), numbers(5, &[3])]),
            Sample::new(
                Solve::new(shifted(DType::F32, 2), single, "solve"),
                &[numbers_f32(6, &[2, 2]), numbers_f32(7, &[2])],
            ),
            Sample::new(Solve::new(coupled(), gmres, "solve"), &[numbers(8, &[2]), numbers(9, &[2]), numbers(10, &[])]),
        ];
        // Lanes, of which one does not count.
        let map = guarded(&shifted(DType::F64, 2), &[false, true], 3, Some(Type::new(DType::Bool, &[3])));
        let map = Arc::new(map.expect("it has lanes"));
        let masked =
            Solve { map, lanes: vec![3], masked: true, checked: false, method: gmres, name: "solve".to_owned() };
        let count = Array::new(&[3], vec![true, false, true]);
        samples.push(Sample::new(masked, &[count.clone(), count, matrix(&[2, 2]), numbers(11, &[3, 2])]));
        samples
    }
}

/// `6 x + sin(w) x` for a matrix `w`.
fn shifted(dtype: DType, length: usize) -> Program {
    let mut b = Builder::new();
    let (w, x) = (b.input("", Type::new(dtype, &[length, length])), b.input("", Type::new(dtype, &[length])));
    let w = b.op(Unary::Sin, &[w]);
    let turned = b.op(Einsum::new("ij,j->i").expect("a product"), &[w, x]);
    let six = b.full(6.0, &Type::new(dtype, &[length]));
    let scaled = b.mul(six, x);
    let sum = b.add(scaled, turned);
    b.finish(&[sum])
}

/// `6 x + wᵀ w x` for a matrix `w`.
fn gram(length: usize) -> Program {
    let mut b = Builder::new();
    let ty = |shape: &[usize]| Type::new(DType::F64, shape);
    let (w, x) = (b.input("", ty(&[length, length])), b.input("", ty(&[length])));
    let image = b.op(Einsum::new("ij,j->i").expect("a product"), &[w, x]);
    let back = b.op(Einsum::new("ij,i->j").expect("a product"), &[w, image]);
    let six = b.full(6.0, &ty(&[length]));
    let scaled = b.mul(six, x);
    let sum = b.add(scaled, back);
    b.finish(&[sum])
}

/// `4 x + w y` and `w . x + 5 y` for a vector `x` and a number `y`.
fn coupled() -> Program {
    let mut b = Builder::new();
    let ty = |shape: &[usize]| Type::new(DType::F64, shape);
    let (w, x, y) = (b.input("", ty(&[2])), b.input("", ty(&[2])), b.input("", ty(&[])));
    let four = b.full(4.0, &ty(&[2]));
    let scaled = b.mul(four, x);
    let repeated = b.broadcast_scalar(y, &[2]);
    let other = b.mul(w, repeated);
    let first = b.add(scaled, other);
    let products = b.mul(w, x);
    let product = b.sum(products, &[0]);
    let five = b.full(5.0, &ty(&[]));
    let scaled = b.mul(five, y);
    let second = b.add(product, scaled);
    b.finish(&[first, second])
}
