//! Runs a list: forward to values, forward to tangents, backward to adjoints, over any carrier.
//!
//! Every sweep asks [`visit_edges`] for the factors by which a record's result depends on its
//! operands, and that asks the rule in [`crate::ops`]: no derivative is written here.

use super::cotangent::{Cotangent, Factor};
use super::record::{Form, Op, Record, Side};
use crate::ops::{Binary, Compare, Unary};
use crate::real::{Called, Mask, Real};

/// The codes of the commonest operations. They are looked at first, straight from the record:
/// taking the operation apart for the full match costs a second jump, which is a nanosecond a
/// record where arithmetic is all there is.
mod hot {
    use super::{Binary, Form, Op, Unary};

    const fn binary(op: Binary, form: Form) -> u8 {
        Op::Binary(op, form).encode().0
    }
    const fn unary(op: Unary) -> u8 {
        Op::Unary(op).encode().0
    }
    pub(super) const ADD: u8 = binary(Binary::Add, Form::Both);
    pub(super) const SUB: u8 = binary(Binary::Sub, Form::Both);
    pub(super) const MUL: u8 = binary(Binary::Mul, Form::Both);
    pub(super) const DIV: u8 = binary(Binary::Div, Form::Both);
    pub(super) const ADD_RIGHT: u8 = binary(Binary::Add, Form::Right);
    pub(super) const ADD_LEFT: u8 = binary(Binary::Add, Form::Left);
    pub(super) const SUB_RIGHT: u8 = binary(Binary::Sub, Form::Right);
    pub(super) const SUB_LEFT: u8 = binary(Binary::Sub, Form::Left);
    pub(super) const MUL_RIGHT: u8 = binary(Binary::Mul, Form::Right);
    pub(super) const MUL_LEFT: u8 = binary(Binary::Mul, Form::Left);
    pub(super) const DIV_RIGHT: u8 = binary(Binary::Div, Form::Right);
    pub(super) const DIV_LEFT: u8 = binary(Binary::Div, Form::Left);
    pub(super) const NEG: u8 = unary(Unary::Neg);
    pub(super) const SQUARE: u8 = unary(Unary::Square);
    pub(super) const EXP: u8 = unary(Unary::Exp);
    pub(super) const LN: u8 = unary(Unary::Ln);
    pub(super) const SQRT: u8 = unary(Unary::Sqrt);
    pub(super) const RECIP: u8 = unary(Unary::Recip);
    pub(super) const COPY: u8 = Op::Copy.encode().0;
}

/// Takes the edges of a record: an operand's side and the factor by which the result depends on it.
/// Any closure does; where every nanosecond counts it is a struct, because its method can be
/// `inline(always)` and a closure that is called in many branches is not inlined.
pub(crate) trait Visit<R> {
    #[track_caller]
    fn edge(&mut self, side: Side, factor: Factor<R>);
}

impl<R, F: FnMut(Side, Factor<R>)> Visit<R> for F {
    #[cfg_attr(not(debug_assertions), inline(always))]
    #[track_caller]
    fn edge(&mut self, side: Side, factor: Factor<R>) {
        self(side, factor);
    }
}

/// Numbers by their places on a list.
pub(crate) trait Lookup<R> {
    fn at(&self, place: usize) -> R;
}

impl<R: Copy> Lookup<R> for [R] {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self, place: usize) -> R {
        self[place]
    }
}

/// Numbers by their places, with operations that are calls.
struct Calls<'a, V: ?Sized>(&'a V);

impl<R, V: Lookup<R> + ?Sized> Lookup<Called<R>> for Calls<'_, V> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn at(&self, place: usize) -> Called<R> {
        Called(self.0.at(place))
    }
}

/// Hands the operands of record `i` that its result depends on to `edge`, with their factors.
/// A structurally zero derivative is not an edge. A selection is two edges, masked elsewhere.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn visit_edges<R: Real>(
    record: Record,
    constants: &[f64],
    values: &[R],
    i: usize,
    mut edge: impl FnMut(Side, Factor<R>),
) {
    if R::RULES_APART {
        visit_edges_apart(record, constants, values, i, edge);
    } else if !visit_hot_edges(record, constants, values, || values[i], &mut edge) {
        visit_all_edges(record, constants, values, || values[i], &mut edge);
    }
}

/// [`visit_edges`] that calls the rules of all but the commonest operations.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn visit_edges_apart<R: Real>(
    record: Record,
    constants: &[f64],
    values: &[R],
    i: usize,
    mut edge: impl FnMut(Side, Factor<R>),
) {
    if !visit_hot_edges(record, constants, values, || values[i], &mut edge) {
        edges_apart(record, constants, values, i).into_iter().flatten().for_each(|(side, factor)| edge(side, factor));
    }
}

/// Whether operations of these numbers are too long to be inlined into the rules: those that are recorded, and those of more than a
/// number and its tangent.
const fn is_long<R: Real>() -> bool {
    R::Mask::SYMBOLIC || size_of::<R>() > 3 * size_of::<f64>()
}

/// The edges of a record: at most one for each operand.
type Edges<R> = [Option<(Side, Factor<R>)>; 2];

/// [`visit_all_edges`] of the record whose value has this place, compiled once for a type of numbers: see
/// [`Carrier::RULES_APART`](crate::real::Carrier::RULES_APART).
#[inline(never)]
#[track_caller]
pub(crate) fn edges_apart<R: Real>(
    record: Record,
    constants: &(impl Lookup<f64> + ?Sized),
    values: &(impl Lookup<R> + ?Sized),
    place: usize,
) -> Edges<R> {
    let mut edges = [None; 2];
    if is_long::<R>() {
        let values = Calls(values);
        visit_all_edges(
            record,
            constants,
            &values,
            || values.at(place),
            &mut |side: Side, factor: Factor<Called<R>>| {
                edges[side as usize] = Some((side, factor.inside()));
            },
        );
    } else {
        visit_all_edges(record, constants, values, || values.at(place), &mut |side: Side, factor: Factor<R>| {
            edges[side as usize] = Some((side, factor));
        });
    }
    edges
}

/// As [`visit_edges`] for the commonest operations; false for the others. `y` gives the value of the record.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn visit_hot_edges<R: Real>(
    record: Record,
    constants: &(impl Lookup<f64> + ?Sized),
    values: &(impl Lookup<R> + ?Sized),
    y: impl Fn() -> R,
    edge: &mut impl Visit<R>,
) -> bool {
    let (a, b) = (record.a(), record.b());
    match record.code() {
        hot::ADD => {
            edge.edge(Side::A, Factor::One);
            edge.edge(Side::B, Factor::One);
        }
        hot::SUB => {
            edge.edge(Side::A, Factor::One);
            edge.edge(Side::B, Factor::MinusOne);
        }
        hot::MUL => {
            edge.edge(Side::A, Factor::Times(values.at(b)));
            edge.edge(Side::B, Factor::Times(values.at(a)));
        }
        hot::DIV => {
            let (by_x, by_y) = Binary::Div.partials(values.at(a), values.at(b), y());
            edge.edge(Side::A, Factor::Times(by_x));
            edge.edge(Side::B, Factor::Times(by_y));
        }
        hot::ADD_RIGHT | hot::ADD_LEFT | hot::SUB_RIGHT | hot::COPY => edge.edge(Side::A, Factor::One),
        hot::SUB_LEFT | hot::NEG => edge.edge(Side::A, Factor::MinusOne),
        hot::MUL_RIGHT | hot::MUL_LEFT => edge.edge(Side::A, Factor::Constant(constants.at(b))),
        hot::SQUARE => edge.edge(Side::A, Factor::Times(Unary::Square.partial(values.at(a), y()))),
        hot::EXP => edge.edge(Side::A, Factor::Times(Unary::Exp.partial(values.at(a), y()))),
        hot::DIV_RIGHT => edge.edge(Side::A, Factor::Over(constants.at(b))),
        hot::DIV_LEFT => {
            let partial = Binary::Div.partial_y(R::constant(constants.at(b)), values.at(a), y());
            edge.edge(Side::A, Factor::Times(partial));
        }
        hot::LN => edge.edge(Side::A, Factor::Times(Unary::Ln.partial(values.at(a), y()))),
        hot::SQRT => edge.edge(Side::A, Factor::Times(Unary::Sqrt.partial(values.at(a), y()))),
        hot::RECIP => edge.edge(Side::A, Factor::Times(Unary::Recip.partial(values.at(a), y()))),
        _ => return false,
    }
    true
}

/// Whether the result of one of the commonest operations depends on its second operand too; `None` for the others.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn hot_uses_both(record: Record) -> Option<bool> {
    match record.code() {
        hot::ADD | hot::SUB | hot::MUL | hot::DIV => Some(true),
        hot::ADD_RIGHT | hot::ADD_LEFT | hot::SUB_RIGHT | hot::SUB_LEFT | hot::MUL_RIGHT | hot::MUL_LEFT => Some(false),
        hot::DIV_RIGHT | hot::DIV_LEFT | hot::NEG | hot::SQUARE | hot::EXP | hot::LN | hot::SQRT => Some(false),
        hot::RECIP | hot::COPY => Some(false),
        _ => None,
    }
}

/// [`visit_edges`] for every operation: the definition.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn visit_all_edges<R: Real>(
    record: Record,
    constants: &(impl Lookup<f64> + ?Sized),
    values: &(impl Lookup<R> + ?Sized),
    y: impl Fn() -> R,
    edge: &mut impl Visit<R>,
) {
    let (a, b) = (record.a(), record.b());
    match record.op() {
        Op::Binary(Binary::Add, Form::Both) => {
            edge.edge(Side::A, Factor::One);
            edge.edge(Side::B, Factor::One);
        }
        Op::Binary(Binary::Sub, Form::Both) => {
            edge.edge(Side::A, Factor::One);
            edge.edge(Side::B, Factor::MinusOne);
        }
        Op::Binary(Binary::Mul, Form::Both) => {
            edge.edge(Side::A, Factor::Times(values.at(b)));
            edge.edge(Side::B, Factor::Times(values.at(a)));
        }
        Op::Binary(Binary::Add, Form::Right | Form::Left)
        | Op::Binary(Binary::Sub | Binary::Rem, Form::Right)
        | Op::Copy => edge.edge(Side::A, Factor::One),
        Op::Binary(Binary::Sub, Form::Left) | Op::Unary(Unary::Neg) => edge.edge(Side::A, Factor::MinusOne),
        Op::Binary(Binary::Mul, Form::Right | Form::Left) => edge.edge(Side::A, Factor::Constant(constants.at(b))),
        Op::Binary(Binary::Div, Form::Right) => edge.edge(Side::A, Factor::Over(constants.at(b))),
        Op::Binary(op, Form::Both) => {
            if op.is_flat_in_y() {
                edge.edge(Side::A, Factor::Times(op.partial_x(values.at(a), values.at(b), y())));
            } else {
                let (by_x, by_y) = op.partials(values.at(a), values.at(b), y());
                edge.edge(Side::A, Factor::Times(by_x));
                edge.edge(Side::B, Factor::Times(by_y));
            }
        }
        Op::Binary(op, Form::Right) => {
            let partial = op.partial_x(values.at(a), R::constant(constants.at(b)), y());
            edge.edge(Side::A, Factor::Times(partial));
        }
        Op::Binary(op, Form::Left) => {
            if !op.is_flat_in_y() {
                let partial = op.partial_y(R::constant(constants.at(b)), values.at(a), y());
                edge.edge(Side::A, Factor::Times(partial));
            }
        }
        Op::Unary(op) => {
            if !op.is_flat() {
                edge.edge(Side::A, Factor::Times(op.partial(values.at(a), y())));
            }
        }
        Op::Select => {
            edge.edge(Side::A, Factor::One);
            edge.edge(Side::B, Factor::One);
        }
        Op::Input
        | Op::Constant
        | Op::Guard(..)
        | Op::Condition(..)
        | Op::Not
        | Op::And
        | Op::Or
        | Op::Choose
        | Op::Taken
        | Op::Loop
        | Op::Result
        | Op::LoopEnd => {}
    }
}

/// The value of a record; `None` if it is a guard that came out differently from `expected`.
/// `before` is the record before it, which announces the condition of a selection.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn evaluate<R: Real>(
    record: Record,
    before: Record,
    constants: &[f64],
    values: &[R],
    expected: f64,
) -> Option<R> {
    let (a, b) = (record.a(), record.b());
    match record.code() {
        hot::ADD => return Some(values[a] + values[b]),
        hot::SUB => return Some(values[a] - values[b]),
        hot::MUL => return Some(values[a] * values[b]),
        hot::ADD_RIGHT => return Some(values[a] + constants[b]),
        hot::SUB_RIGHT => return Some(values[a] - constants[b]),
        hot::MUL_RIGHT => return Some(values[a] * constants[b]),
        _ => {}
    }
    if R::RULES_APART {
        evaluate_apart(record, before, constants, values, expected)
    } else {
        evaluate_here(record, before, constants, values, expected)
    }
}

/// [`evaluate`] of every operation, compiled once for a type of numbers.
#[inline(never)]
#[track_caller]
fn evaluate_apart<R: Real>(
    record: Record,
    before: Record,
    constants: &[f64],
    values: &[R],
    expected: f64,
) -> Option<R> {
    if is_long::<R>() {
        evaluate_here(record, before, constants, &Calls(values), expected).map(|Called(value)| value)
    } else {
        evaluate_here(record, before, constants, values, expected)
    }
}

/// [`evaluate`] for every operation: the definition.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn evaluate_here<R: Real>(
    record: Record,
    before: Record,
    constants: &[f64],
    values: &(impl Lookup<R> + ?Sized),
    expected: f64,
) -> Option<R> {
    let (a, b) = (record.a(), record.b());
    Some(match record.op() {
        Op::Binary(op, Form::Both) => values.at(a).binary(values.at(b), op),
        Op::Binary(op, Form::Right) => values.at(a).binary_constant(constants[b], op),
        Op::Binary(op, Form::Left) => R::constant_binary(constants[b], values.at(a), op),
        Op::Unary(op) => values.at(a).unary(op),
        Op::Guard(op, form) => {
            let outcome = match form {
                Form::Both => values.at(a).decide(values.at(b), op),
                Form::Right => values.at(a).decide(R::constant(constants[b]), op),
                Form::Left => R::constant(constants[b]).decide(values.at(a), op),
            }?;
            if outcome != (expected == 1.0) {
                return None;
            }
            R::constant(expected)
        }
        Op::Condition(op, form) => number(compare(op, form, (a, b), constants, values)),
        Op::Not => number(!mask(values.at(a))),
        Op::And => number(mask(values.at(a)) & mask(values.at(b))),
        Op::Or => number(mask(values.at(a)) | mask(values.at(b))),
        Op::Copy | Op::Choose | Op::Taken => values.at(a),
        Op::Select => R::select(mask(values.at(before.a())), values.at(a), values.at(b)),
        Op::Constant => R::constant(constants[b]),
        Op::Input => values.at(a),
        Op::Loop | Op::Result | Op::LoopEnd => unreachable!("a trace computes its loops as a whole"),
    })
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn compare<R: Real>(
    op: Compare,
    form: Form,
    (a, b): (usize, usize),
    constants: &[f64],
    values: &(impl Lookup<R> + ?Sized),
) -> R::Mask {
    match form {
        Form::Both => values.at(a).compare(values.at(b), op),
        Form::Right => values.at(a).compare(R::constant(constants[b]), op),
        Form::Left => R::constant(constants[b]).compare(values.at(a), op),
    }
}

/// A condition as it stands among the values: 1 or 0.
fn number<R: Real>(mask: R::Mask) -> R {
    R::select(mask, R::constant(1.0), R::constant(0.0))
}

/// A condition taken from the values.
pub(crate) fn mask<R: Real>(condition: R) -> R::Mask {
    condition.equal(R::constant(1.0))
}

/// The gradient of record `from` by the inputs, which are the first records: plain numbers, in
/// place, as fast as can be.
///
/// `adjoints` holds -0.0 everywhere between calls. -0.0 is the neutral element of addition, and
/// marks what was not reached: nothing flows back from there. A reached adjoint may come out as
/// -0.0 too; passing nothing on is then right as long as the derivatives are finite. Where they
/// are not, the sweep gives up with `None`, all adjoints are -0.0 again, and the caller takes the
/// careful way. No selection is reached: a function that runs once records the chosen branch, and those of a function recorded
/// inside of it, which stay on the list, lead to nothing outside.
#[inline(never)]
pub(crate) fn gradient(
    records: &[Record],
    constants: &[f64],
    values: &[f64],
    adjoints: &mut [f64],
    from: usize,
    inputs: usize,
) -> Option<()> {
    if inputs == 0 {
        return Some(());
    }
    adjoints[from] = 1.0;
    let swept = sweep_down(&records[..=from], constants, &values[..=from], &mut adjoints[..=from], inputs);
    if swept.is_none() {
        adjoints.fill(-0.0);
    }
    swept
}

/// The loop of [`gradient`]. The adjoint of the record before is kept in a register: where each operation uses the one
/// before, the way through memory would be half of the time. Operands stand before their record, and all slices are as
/// long as the records: then only operands are checked, and one check of an operand serves its value and its adjoint.
#[cfg_attr(not(debug_assertions), inline(always))]
fn sweep_down(
    records: &[Record],
    constants: &[f64],
    values: &[f64],
    adjoints: &mut [f64],
    inputs: usize,
) -> Option<()> {
    let count = records.len();
    let (values, adjoints) = (&values[..count], &mut adjoints[..count]);
    let mut next = *adjoints.last()?;
    for i in (inputs.max(1)..count).rev() {
        let (record, ct, before) = (records[i], next, i - 1);
        adjoints[i] = -0.0;
        next = adjoints[before];
        if ct.to_bits() == (-0.0f64).to_bits() {
            if !has_constant_factors(record) && needs_care(record, constants, values, i) {
                return None;
            }
            continue;
        }
        let mut descent = Descent { record, ct, next: &mut next, before, rest: &mut adjoints[..before] };
        if !visit_hot_edges(record, constants, &values[..i], || values[i], &mut descent) {
            adjoints[before] = next;
            pass_on(record, constants, values, i, ct, &mut adjoints[..i]);
            next = adjoints[before];
        }
    }
    // The last input, or the output if it is an input.
    adjoints[inputs.min(count) - 1] = next;
    Some(())
}

/// Adds the parts of one adjoint to those below it.
struct Descent<'a> {
    record: Record,
    ct: f64,
    /// The adjoint of the record before.
    next: &'a mut f64,
    /// Where the record before stands.
    before: usize,
    /// The adjoints below that.
    rest: &'a mut [f64],
}

impl Visit<f64> for Descent<'_> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn edge(&mut self, side: Side, factor: Factor<f64>) {
        let (k, part) = (self.record.operand(side), self.ct.times(factor));
        if k == self.before {
            *self.next += part;
        } else {
            self.rest[k] += part;
        }
    }
}

/// Passes on the adjoint of a record that is not among the commonest. Not inlined: the many
/// branches would make the loop keep its variables in memory.
#[inline(never)]
fn pass_on(record: Record, constants: &[f64], values: &[f64], i: usize, ct: f64, rest: &mut [f64]) {
    debug_assert!(record.op() != Op::Select, "a selection needs masks");
    visit_all_edges(record, constants, values, || values[i], &mut |side: Side, factor: Factor<f64>| {
        rest[record.operand(side)] += ct.times(factor);
    });
}

/// Whether the result depends on its operands by one and minus one alone.
#[cfg_attr(not(debug_assertions), inline(always))]
fn has_constant_factors(record: Record) -> bool {
    matches!(
        record.code(),
        hot::ADD | hot::SUB | hot::ADD_RIGHT | hot::ADD_LEFT | hot::SUB_RIGHT | hot::SUB_LEFT | hot::NEG | hot::COPY
    )
}

/// Whether it matters if an adjoint of -0.0 was reached or not. Often asked: most records of a nested level lead to nothing outside
/// of it.
#[inline(never)]
fn needs_care(record: Record, constants: &[f64], values: &[f64], i: usize) -> bool {
    let mut finite = true;
    visit_edges(record, constants, values, i, |_, factor| finite &= factor.number().is_finite());
    !finite
}
