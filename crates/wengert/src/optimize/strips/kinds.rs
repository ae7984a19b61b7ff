//! How the values of a Program lie across lanes.

use super::Lanes;
use crate::array::Type;
use crate::ops::Binary;
use crate::primitives::{Along, Literal, Op, Scan};
use crate::program::{Eqn, Program, Value};

/// What a strip has of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All of it: it does not depend on the lanes.
    Same,
    /// The part of its lanes, which lie along this axis.
    Lane(usize),
    /// A summand: the value is the sum over all strips.
    Partial,
}

/// How the inputs and outputs of a step lie across lanes.
pub(super) struct LoopKinds {
    pub(super) inputs: Vec<Kind>,
    outputs: Vec<Kind>,
}

impl LoopKinds {
    /// Of the operands of the loop: a sum over lanes that is carried begins with a number that all strips know.
    pub(super) fn operands(&self, scan: &Scan) -> Vec<Kind> {
        let [_, carry, rows] = scan.roles();
        let of = |(k, &kind): (usize, &Kind)| match kind {
            Kind::Partial if carry.contains(&k) => Kind::Same,
            Kind::Lane(axis) if rows.contains(&k) => Kind::Lane(axis + 1),
            kind => kind,
        };
        self.inputs.iter().enumerate().map(of).collect()
    }

    /// Of the results of the loop.
    pub(super) fn results(&self, scan: &Scan) -> Vec<Kind> {
        let of = |(k, &kind): (usize, &Kind)| match kind {
            Kind::Lane(axis) if k >= scan.carry => Kind::Lane(axis + 1),
            kind => kind,
        };
        self.outputs.iter().enumerate().map(of).collect()
    }
}

impl Lanes {
    /// The axis that is as long as there are lanes; `None` if there are several, as there may be none.
    fn axis(self, ty: &Type) -> Option<Option<usize>> {
        let mut axes = (0..ty.rank()).filter(|&axis| ty.shape[axis] == self.count);
        let axis = axes.next();
        axes.next().is_none().then_some(axis)
    }

    /// What strips have of a value that nothing is known of: its lanes, if it has an axis of that length.
    pub(super) fn guess(self, ty: &Type) -> Option<Kind> {
        Some(self.axis(ty)?.map_or(Kind::Same, Kind::Lane))
    }

    /// The type of what a strip has.
    pub(super) fn narrowed(self, ty: &Type, kind: Kind) -> Type {
        let mut ty = ty.clone();
        if let Kind::Lane(axis) = kind {
            ty.shape[axis] = self.strip;
        }
        ty
    }

    /// Of all values of a Program that stands in a group, given its inputs; `None` if lanes do not stay apart.
    pub(super) fn kinds(self, program: &Program, inputs: &[Kind]) -> Option<Vec<Kind>> {
        self.flow(program, inputs).ok()
    }

    /// The same, or the equation at which it ends.
    fn flow<'a>(self, program: &'a Program, inputs: &[Kind]) -> Result<Vec<Kind>, (&'a Eqn, Vec<Kind>)> {
        let mut kinds = inputs.to_vec();
        // What all strips but one begin with 0 for.
        let mut begun: Vec<bool> = inputs.iter().map(|&kind| kind == Kind::Partial).collect();
        for eqn in program.eqns() {
            let args: Vec<Kind> = eqn.args.iter().map(|arg| kinds[arg.index()]).collect();
            let carried: Vec<usize> = (0..args.len()).filter(|&k| begun[eqn.args[k].index()]).collect();
            let begins = begins_with_zero(program, eqn, &args, self) && !may_grow(program, eqn, &carried);
            let Some(results) = self.results(program, eqn, &args).filter(|_| begins) else {
                return Err((eqn, args));
            };
            begun.extend(results.iter().map(|&kind| kind == Kind::Partial && !carried.is_empty()));
            kinds.extend(results);
        }
        Ok(kinds)
    }

    /// Of the results of an equation, given all operands.
    pub(super) fn results(self, program: &Program, eqn: &Eqn, args: &[Kind]) -> Option<Vec<Kind>> {
        match &eqn.op {
            Op::Scan(scan) => {
                let known: Vec<Option<Kind>> = args.iter().copied().map(Some).collect();
                Some(self.around(scan, &known)?.results(scan))
            }
            Op::Call(_) | Op::Recompute(_) => {
                let inner = eqn.op.programs()[0];
                let kinds = self.kinds(inner, args)?;
                Some(inner.outputs().iter().map(|output| kinds[output.index()]).collect())
            }
            _ if args.iter().all(|&kind| kind == Kind::Same) => {
                Some(eqn.outs().map(|out| self.of_what_all_have(program, eqn, out)).collect())
            }
            _ if eqn.outs().len() == 1 => Some(vec![self.result(program, eqn, args)?]),
            _ => None,
        }
    }

    /// A result of what all strips have: an axis that is new has lanes.
    fn of_what_all_have(self, program: &Program, eqn: &Eqn, out: Value) -> Kind {
        let is_new = |axis: usize| matches!(&eqn.op, Op::Broadcast(broadcast) if !broadcast.axes.contains(&axis));
        match self.axis(program.ty(out)) {
            Some(Some(axis)) if is_new(axis) => Kind::Lane(axis),
            _ => Kind::Same,
        }
    }

    /// The only result of an equation that is no loop and has a part of an operand.
    fn result(self, program: &Program, eqn: &Eqn, args: &[Kind]) -> Option<Kind> {
        if args.contains(&Kind::Partial) {
            // A linear function of a sum is the sum of what it gives for the summands.
            let partial: Vec<usize> = (0..args.len()).filter(|&k| args[k] == Kind::Partial).collect();
            let rest = args.iter().all(|kind| !matches!(kind, Kind::Lane(_)));
            let is_linear = eqn.op.primitive().linear_in(args.len()).contains(&partial);
            // What repeats a sum is done once, with the whole.
            let size = |value: Value| program.ty(value).size();
            let grows = size(eqn.first) > partial.iter().map(|&k| size(eqn.args[k])).max().unwrap_or(0);
            return (rest && is_linear && !grows).then_some(Kind::Partial);
        }
        self.ways(program, eqn, args.iter().copied().map(Some)).find_map(|(kind, needed)| {
            let fits = needed.iter().zip(args).all(|(needed, own)| needed == own);
            fits.then_some(kind)
        })
    }

    /// What an equation may give a strip, with the operands that it needs, given some operands; one of them is a part.
    pub(super) fn ways<'a>(
        self,
        program: &'a Program,
        eqn: &'a Eqn,
        args: impl Iterator<Item = Option<Kind>> + Clone + 'a,
    ) -> impl Iterator<Item = (Kind, Vec<Kind>)> + 'a {
        let lane = args.enumerate().find_map(|(k, kind)| match kind {
            Some(Kind::Lane(axis)) => Some((k, axis)),
            _ => None,
        });
        let out = program.ty(eqn.first);
        let axes = (0..out.rank()).filter(move |&axis| out.shape[axis] == self.count);
        let apart = axes.filter_map(move |axis| {
            let along = self.along(program, eqn, axis)?;
            let takes = lane.is_none_or(|(k, own)| along[k] == Kind::Lane(own));
            takes.then_some((Kind::Lane(axis), along))
        });
        let sum = lane
            .and_then(|(k, axis)| eqn.op.primitive().sums_over(k, axis))
            .map(|along| (Kind::Partial, of_axes(along)));
        apart.chain(sum)
    }

    /// The operands of an equation whose result has its lanes along this axis.
    pub(super) fn along(self, program: &Program, eqn: &Eqn, axis: usize) -> Option<Vec<Kind>> {
        let types: Vec<&Type> = eqn.args.iter().map(|&arg| program.ty(arg)).collect();
        let along = of_axes(eqn.op.primitive().along(axis, &types)?);
        let has_lanes = |(kind, ty): (&Kind, &&Type)| match *kind {
            Kind::Lane(axis) => ty.shape[axis] == self.count,
            _ => true,
        };
        along.iter().zip(&types).all(has_lanes).then_some(along)
    }

    /// Of the inputs and outputs of a step, given some operands of the loop.
    pub(super) fn around(self, scan: &Scan, known: &[Option<Kind>]) -> Option<LoopKinds> {
        let [_, carry, rows] = scan.roles();
        let mut inputs = Vec::with_capacity(known.len());
        for (k, (&known, ty)) in known.iter().zip(scan.body.input_types()).enumerate() {
            inputs.push(match known {
                Some(Kind::Lane(axis)) if rows.contains(&k) => Kind::Lane(axis.checked_sub(1)?),
                Some(Kind::Partial) if !carry.contains(&k) => return None,
                Some(kind) => kind,
                None => self.guess(ty)?,
            });
        }
        loop {
            let kinds = match self.flow(&scan.body, &inputs) {
                Ok(kinds) => kinds,
                Err((eqn, args)) => {
                    // What a sum over lanes is added to is such a sum, too.
                    let sum =
                        added_to(&scan.body, eqn, &args).filter(|k| carry.contains(k) && inputs[*k] == Kind::Same)?;
                    inputs[sum] = Kind::Partial;
                    continue;
                }
            };
            let outputs: Vec<Kind> = scan.body.outputs().iter().map(|output| kinds[output.index()]).collect();
            return (inputs[carry.clone()] == outputs[..scan.carry]).then_some(LoopKinds { inputs, outputs });
        }
    }
}

/// The input that a sum over lanes is added to by an equation, directly or times something.
fn added_to(program: &Program, eqn: &Eqn, args: &[Kind]) -> Option<usize> {
    let other = (0..args.len()).find(|&k| args[k] == Kind::Same).filter(|_| args.contains(&Kind::Partial))?;
    let mut value = eqn.args[other];
    while value.index() >= program.input_types().len() {
        let maker = program.eqns().iter().find(|eqn| eqn.outs().any(|out| out == value))?;
        let factors = maker.op.primitive().linear_in(maker.args.len());
        let single = factors.iter().find_map(|set| if let [k] = set[..] { Some(maker.args[k]) } else { None });
        value = single?;
    }
    Some(value.index())
}

fn of_axes(along: Along) -> Vec<Kind> {
    along.into_iter().map(|axis| axis.map_or(Kind::Same, Kind::Lane)).collect()
}

/// Whether the sums over lanes that an inner loop carries begin with sums, or with 0.
fn begins_with_zero(program: &Program, eqn: &Eqn, args: &[Kind], lanes: Lanes) -> bool {
    let Op::Scan(scan) = &eqn.op else { return true };
    let known: Vec<Option<Kind>> = args.iter().copied().map(Some).collect();
    let Some(around) = lanes.around(scan, &known) else { return false };
    let [_, carry, _] = scan.roles();
    carry.into_iter().all(|k| {
        let begins = around.inputs[k] == Kind::Partial && args[k] == Kind::Same;
        !begins || is_zero(program, eqn.args[k])
    })
}

/// Whether an operation may make more of these sums, which are carried and which all strips but one begin with 0 for. A factor that
/// is infinite would make NaN of that 0, which is nobody's; one of more than 1 may let strips overflow that cancel in the sum.
fn may_grow(program: &Program, eqn: &Eqn, carried: &[usize]) -> bool {
    let factor = |k: usize| number(program, eqn.args[k]).map_or(f64::INFINITY, |literal| literal.to_f64().abs());
    match (&eqn.op, carried) {
        (_, []) => false,
        (op, _) if !op.primitive().multiplies() || !op.programs().is_empty() => false,
        (Op::Binary(Binary::Mul), &[k]) => factor(1 - k).total_cmp(&1.0).is_gt(),
        (Op::Binary(Binary::Div), [0]) => !(1.0..f64::INFINITY).contains(&factor(1)),
        _ => true,
    }
}

/// Whether a value is 0 everywhere, and says so.
pub(super) fn is_zero(program: &Program, value: Value) -> bool {
    number(program, value).is_some_and(Literal::is_zero)
}

/// The number that a value says to be everywhere.
fn number(program: &Program, value: Value) -> Option<Literal> {
    match program.eqns().iter().find(|eqn| eqn.outs().any(|out| out == value))? {
        Eqn { op: Op::Literal(literal), .. } => Some(*literal),
        Eqn { op: Op::Broadcast(_), args, .. } => number(program, args[0]),
        _ => None,
    }
}
