//! The operations of a [`Program`]: a small closed set of families, closed under transposition.
//!
//! A family is a struct that implements [`Primitive`], in a file of its own: types of the results,
//! value, linearity, tangent or transpose, batched form and samples stand together. Nobody writes
//! a vjp: reverse mode is the transpose of the linearised Program.
//!
//! To add one: the struct in its family's file, and one line in the list of [`Op`] below.

mod axes;
#[cfg(test)]
mod bilinear_laws;
mod control;
mod conv;
mod cumulative;
mod custom;
mod dynamic;
mod einsum;
mod elementwise;
mod gather;
mod index;
mod literal;
#[cfg(feature = "text")]
mod parse;
pub(crate) mod random;
mod reduce;
pub(crate) mod rule;
mod sample;
mod sort;
mod text;
#[cfg(test)]
mod trials;
mod update;

use std::borrow::Cow;
use std::sync::Arc;

pub use axes::{Broadcast, Permute, Reshape, Reverse};
pub use control::{Call, Cond, Recompute};
pub use conv::{Conv, WindowArg};
pub use cumulative::{Cumulative, Recurrence, Running};
pub use custom::{Custom, Rule};
#[cfg(feature = "engine")]
pub(crate) use dynamic::clamped_start;
pub use dynamic::{DynamicSlice, DynamicUpdate};
pub use einsum::Einsum;
#[cfg(feature = "engine")]
pub(crate) use elementwise::divided_by_zero;
pub use elementwise::{Convert, Logic, Select};
pub use gather::{Gather, OutOfBounds, Scatter, Write};
pub use index::{Concat, Pad, Slice};
pub use literal::{Iota, Literal};
#[cfg(feature = "text")]
pub(crate) use parse::operation;
pub use random::{RandomBits, RandomKind};
pub use reduce::{ArgReduce, Extreme, Reduce, Reducer};
pub use sample::Sample;
pub use sort::ArgSort;
pub(crate) use text::{Attribute, Attributes};
pub use update::Update;

use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::ops::{Binary, Compare, Unary};
use crate::program::{Builder, Program, Value};

/// Operands in which the results are jointly linear, by position.
pub type OperandSet = Vec<usize>;

/// An operand of an operation that is transposed.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A value that does not depend on what the map is linear in.
    Known(Value),
    /// A value that does; only its type exists.
    Linear(Type),
}

impl Operand {
    /// The value of an operand that must be known.
    pub(crate) fn known(&self) -> Value {
        match self {
            Operand::Known(value) => *value,
            Operand::Linear(ty) => panic!("an operand of type {ty} is linear where a known one was declared"),
        }
    }

    pub(crate) fn is_linear(&self) -> bool {
        matches!(self, Operand::Linear(_))
    }

    pub(crate) fn ty(&self, b: &Builder) -> Type {
        match self {
            Operand::Known(value) => b.ty(*value).clone(),
            Operand::Linear(ty) => ty.clone(),
        }
    }
}

/// Values and tangents of the results of an operation.
pub type WithTangents = (Vec<Value>, Vec<Option<Value>>);

/// A cotangent, and where it counts: everywhere if there is no mask, else it is 0 elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Cotangent {
    /// The numbers.
    pub value: Value,
    /// Truth values of the same shape.
    pub mask: Option<Value>,
}

/// The contract of an operation.
pub trait Primitive {
    /// The name, as in the text form and in messages.
    fn name(&self) -> Cow<'static, str>;

    /// The types of the results, or why the operands do not fit.
    ///
    /// # Errors
    /// A sentence that names the axis or the option.
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit>;

    /// The definition, as plainly as possible. The operands have passed [`Primitive::infer`].
    ///
    /// # Errors
    /// What only the values show: an index out of range.
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit>;

    /// The sets of operands in which the results are jointly linear when the others are held: none,
    /// one (`[[0, 1]]` for a sum), several (`[[0], [1]]` for a product).
    fn linear_in(&self, args: usize) -> Vec<OperandSet>;

    /// The tangents of the results, `None` where structurally zero. Asked only if the operands that
    /// have a tangent are not covered by [`Primitive::linear_in`]; from that, tangents follow.
    fn jvp(
        &self,
        _b: &mut Builder,
        _args: &[Value],
        outs: &[Value],
        _tangents: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>, Misfit> {
        Ok(vec![None; outs.len()])
    }

    /// The cotangents of the operands, given those of the results. The linear operands are within
    /// one set of [`Primitive::linear_in`]; for the known ones the answer is `None`. Adding up over
    /// uses, and the masks of `select`, are the caller's.
    fn transpose(
        &self,
        _b: &mut Builder,
        _cotangents: &[Option<Value>],
        _args: &[Operand],
    ) -> Result<Vec<Option<Value>>, Misfit> {
        Err(Misfit(format!("`{}` is not linear and has no transpose", self.name())))
    }

    /// Values and tangents together, for operations that hold Programs.
    fn jvp_with_values(
        &self,
        _b: &mut Builder,
        _args: &[Value],
        _tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        None
    }

    /// The transpose with masks, for operations that hold Programs.
    fn transpose_masked(
        &self,
        _b: &mut Builder,
        _cotangents: &[Option<Cotangent>],
        _args: &[Operand],
    ) -> Option<Result<Vec<Option<Cotangent>>, Misfit>> {
        None
    }

    /// Whether the transpose works element by element: what is masked in the result's cotangent is
    /// masked in the operands'.
    fn transposes_elementwise(&self) -> bool {
        false
    }

    /// The results with one more axis, of this length and in front, on the operands that are
    /// marked, which have it in front; and whether each result has it.
    ///
    /// # Errors
    /// If there is no such form.
    fn batch(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
    ) -> Result<Vec<(Value, bool)>, Misfit>;

    /// The operands whose values can make [`Primitive::eval`] fail, each with a number at which it
    /// does not. Where a lane of `vmap` does not take the branch that the operation stands in, this
    /// number takes the operand's place.
    fn harmless(&self) -> Vec<(usize, f64)> {
        Vec::new()
    }

    /// The Programs inside.
    fn programs(&self) -> Vec<&Arc<Program>> {
        Vec::new()
    }

    /// The options in the text form, in order.
    fn attributes(&self) -> Attributes {
        Attributes::default()
    }
}

/// What a family has besides its contract.
pub(crate) trait Family: Primitive {
    /// Cases for the rule battery: every option, element type and a rank or two, inside the domain
    /// and away from kinks.
    fn samples() -> Vec<Sample>;
}

/// Makes the enum of all operations and its one dispatch.
macro_rules! operations {
    ($( $(#[$doc:meta])* $name:ident($family:ty), )*) => {
        /// An operation of a [`Program`].
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Op { $( $(#[$doc])* $name($family), )* }

        $( impl From<$family> for Op {
            fn from(op: $family) -> Op {
                Op::$name(op)
            }
        } )*

        impl Op {
            /// The operation as what all have in common.
            pub fn primitive(&self) -> &dyn Primitive {
                match self { $( Op::$name(op) => op, )* }
            }
        }

        /// The cases of every family for the rule battery.
        pub fn samples() -> Vec<Sample> {
            let mut samples = Vec::new();
            $( samples.extend(<$family as Family>::samples()); )*
            samples
        }
    };
}
operations! {
    /// A single number.
    Literal(Literal),
    /// `0, 1, 2, …`
    Iota(Iota),
    /// A function of one argument, element by element.
    Unary(Unary),
    /// A function of two arguments of one type, element by element.
    Binary(Binary),
    /// A comparison of two arguments of one type, element by element.
    Compare(Compare),
    /// A function of truth values, element by element.
    Logic(Logic),
    /// One of two values, element by element.
    Select(Select),
    /// Another element type.
    Convert(Convert),
    /// More axes, along which the elements repeat.
    Broadcast(Broadcast),
    /// The same elements in another shape.
    Reshape(Reshape),
    /// The axes in another order.
    Permute(Permute),
    /// The opposite order along axes.
    Reverse(Reverse),
    /// Every n-th element of a range along each axis.
    Slice(Slice),
    /// More elements before, after and between, or fewer.
    Pad(Pad),
    /// One after the other along an axis.
    Concat(Concat),
    /// A slice written or added to.
    Update(Update),
    /// A sum, product or extreme over axes.
    Reduce(Reduce),
    /// The position of an extreme along an axis.
    ArgReduce(ArgReduce),
    /// Running sums, products, extremes.
    Cumulative(Cumulative),
    /// `h_i = a_i h_(i-1) + b_i`
    Recurrence(Recurrence),
    /// Elements at indices.
    Gather(Gather),
    /// Elements added or written at indices.
    Scatter(Scatter),
    /// A block at a computed start.
    DynamicSlice(DynamicSlice),
    /// A block written at a computed start.
    DynamicUpdate(DynamicUpdate),
    /// Contraction of two operands by labels.
    Einsum(Einsum),
    /// Convolution.
    Conv(Conv),
    /// The position of the extreme of each window.
    WindowArg(WindowArg),
    /// The permutation that sorts.
    ArgSort(ArgSort),
    /// Random bits from a key.
    RandomBits(RandomBits),
    /// A Program as one equation.
    Call(Call),
    /// A region that is computed again in the backward pass.
    Recompute(Recompute),
    /// One of two Programs.
    Cond(Cond),
    /// A user's operation with its own derivative.
    Custom(Custom),
}

impl Primitive for Op {
    fn name(&self) -> Cow<'static, str> {
        self.primitive().name()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        self.primitive().infer(args)
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        self.primitive().eval(args)
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        self.primitive().linear_in(args)
    }
    fn jvp(
        &self,
        b: &mut Builder,
        args: &[Value],
        outs: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<Vec<Option<Value>>, Misfit> {
        self.primitive().jvp(b, args, outs, tangents)
    }
    fn transpose(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Value>],
        args: &[Operand],
    ) -> Result<Vec<Option<Value>>, Misfit> {
        self.primitive().transpose(b, cotangents, args)
    }
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        self.primitive().jvp_with_values(b, args, tangents)
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<Result<Vec<Option<Cotangent>>, Misfit>> {
        self.primitive().transpose_masked(b, cotangents, args)
    }
    fn transposes_elementwise(&self) -> bool {
        self.primitive().transposes_elementwise()
    }
    fn batch(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
    ) -> Result<Vec<(Value, bool)>, Misfit> {
        self.primitive().batch(b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        self.primitive().harmless()
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        self.primitive().programs()
    }
    fn attributes(&self) -> Attributes {
        self.primitive().attributes()
    }
}

/// Checks the number of operands.
pub(crate) fn arity(args: &[&Type], wanted: usize) -> Result<(), Misfit> {
    if args.len() == wanted {
        return Ok(());
    }
    let plural = if wanted == 1 { "" } else { "s" };
    Err(Misfit(format!("it takes {wanted} operand{plural}, and got {}", args.len())))
}

/// Checks that an axis exists.
pub(crate) fn check_axis(axis: usize, ty: &Type) -> Result<(), Misfit> {
    if axis < ty.rank() {
        return Ok(());
    }
    Err(Misfit(format!("there is no axis {axis} in {ty}, which has {} axes", ty.rank())))
}

/// Checks that axes exist and differ.
pub(crate) fn check_axes(axes: &[usize], ty: &Type) -> Result<(), Misfit> {
    for (k, &axis) in axes.iter().enumerate() {
        check_axis(axis, ty)?;
        if axes[..k].contains(&axis) {
            return Err(Misfit(format!("axis {axis} is named twice")));
        }
    }
    Ok(())
}

/// Checks that the operand has real elements.
pub(crate) fn check_float(ty: &Type) -> Result<(), Misfit> {
    if ty.dtype.is_float() {
        return Ok(());
    }
    Err(Misfit(format!("it takes real numbers (f32 or f64), not {}; convert first", ty.dtype)))
}
