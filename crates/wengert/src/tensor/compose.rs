//! What operations of several equations are made of: one name and line for errors, broadcasting,
//! axes counted from either end.

use std::panic::Location;

use super::{Tensor, graph};
use crate::array::{Type, element_count};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::primitives::{Broadcast, Op};
use crate::program::{Builder, Value};

/// An operation of the user's that is several equations, with several results: its errors have its
/// name, the operands as the user wrote them, and the caller's line.
#[track_caller]
pub(crate) fn compose_all(
    name: &str,
    operands: &[&Tensor],
    f: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>, Misfit>,
) -> Result<Vec<Tensor>, Error> {
    let mut f = Some(f);
    composed(name, operands, &mut |b, args| f.take().expect("it is called once")(b, args))
}

/// As [`compose_all`], whose function is called once: compiled once instead of for each of the hundreds of operations.
#[track_caller]
fn composed(name: &str, operands: &[&Tensor], f: &mut graph::Equations<'_, Misfit>) -> Result<Vec<Tensor>, Error> {
    let line = Location::caller();
    let error = |why: Misfit| Error::new(ErrorKind::Misfit, name, why.0);
    let results = graph::build(name, operands, |b, args| f(b, args).map_err(error));
    results.map_err(|error| error.named(name, operands.iter().map(|operand| operand.ty())).at(Some(line)))
}

/// As [`compose_all`], with one result.
#[track_caller]
pub(crate) fn compose(
    name: &str,
    operands: &[&Tensor],
    f: impl FnOnce(&mut Builder, &[Value]) -> Result<Value, Misfit>,
) -> Result<Tensor, Error> {
    Ok(compose_all(name, operands, |b, args| Ok(vec![f(b, args)?]))?.remove(0))
}

/// An operation of the user's that is one equation on the operands as they are.
#[track_caller]
pub(crate) fn single(name: &str, op: impl Into<Op>, operands: &[&Tensor]) -> Result<Tensor, Error> {
    let line = Location::caller();
    match graph::apply(op, operands) {
        Ok(mut results) => Ok(results.remove(0)),
        Err(error) => Err(error.named(name, operands.iter().map(|operand| operand.ty())).at(Some(line))),
    }
}

/// What a function of the user's got from another function that it is made of: errors have its own name, the operands as the
/// user wrote them, and the caller's line.
#[track_caller]
pub(crate) fn as_of<T>(name: &str, operands: &[&Tensor], result: Result<T, Error>) -> Result<T, Error> {
    let line = Location::caller();
    result.map_err(|error| error.named(name, operands.iter().map(|operand| operand.ty())).at(Some(line)))
}

/// The error of an operation that was refused before any equation was made.
#[track_caller]
pub(crate) fn refuse<T>(name: &str, operands: &[&Tensor], why: impl Into<Misfit>) -> Result<T, Error> {
    let error = Error::new(ErrorKind::Misfit, name, why.into().0);
    Err(error.of(operands.iter().map(|operand| operand.ty())).at(Some(Location::caller())))
}

/// The panicking twins of `try_` methods: a table of signatures with their documentation, so that each method is written
/// once. A table that starts with `trait TryName: "family";` declares that trait too, of the `try_` methods; associated
/// functions that belong to it follow in braces.
macro_rules! or_raise {
    (trait $trait:ident: $family:literal; $($table:tt)*) => {
        $crate::tensor::compose::or_raise! { $($table)* }
        $crate::tensor::compose::or_raise! { @declare $trait $family {} $($table)* }
    };
    (trait $trait:ident: $family:literal { $($more:tt)* } $($table:tt)*) => {
        $crate::tensor::compose::or_raise! { $($table)* }
        $crate::tensor::compose::or_raise! { @declare $trait $family { $($more)* } $($table)* }
    };
    (@declare $trait:ident $family:literal { $($more:tt)* }
        $( $(#[$about:meta])* fn $name:ident = $twin:ident ($($arg:ident : $ty:ty),* $(,)?) $(-> $out:ty)?; )*
    ) => {
        $crate::tensor::compose::twins! { $trait: $family;
            $($more)*
            $(
                #[doc = concat!("As [`Tensor::", stringify!($name), "`](crate::Tensor::", stringify!($name), "), with an error instead of a panic.")]
                ///
                /// # Errors
                /// Where that panics.
                fn $twin(&self $(, $arg: $ty)*)
                    -> Result<$crate::tensor::compose::or_raise!(@out $($out)?), $crate::error::Error>;
            )*
        }
    };
    ($( $(#[$about:meta])* fn $name:ident = $twin:ident ($($arg:ident : $ty:ty),* $(,)?) $(-> $out:ty)?; )*) => {
        impl $crate::tensor::Tensor { $(
            $(#[$about])*
            ///
            /// # Panics
            #[doc = concat!("If the operands do not fit; [`Tensor::", stringify!($twin), "`] returns the error instead.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> $crate::tensor::compose::or_raise!(@out $($out)?) {
                $crate::error::OrRaise::or_raise(self.$twin($($arg),*))
            }
        )* }
    };
    (@out) => { $crate::tensor::Tensor };
    (@out $out:ty) => { $out };
}
pub(crate) use or_raise;

/// The trait of a family of `try_` methods; see [`fallible`](crate::fallible).
macro_rules! twins {
    ($trait:ident: $family:literal; $($methods:tt)*) => {
        #[doc = concat!("`try_` methods: ", $family, ".")]
        ///
        /// Of [`Tensor`](crate::Tensor); with an error instead of a panic, as [`fallible`](crate::fallible) says.
        pub trait $trait: Sized {
            $($methods)*
        }
    };
}
pub(crate) use twins;

/// The number of an axis, which may be counted from the end by negative numbers.
pub(crate) fn axis_of(axis: isize, rank: usize) -> Result<usize, Misfit> {
    let from_start = if axis < 0 { axis.checked_add_unsigned(rank) } else { Some(axis) };
    match from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank) {
        Some(axis) => Ok(axis),
        None if rank == 0 => misfit!("there is no axis {axis}: the operand is a single number"),
        None => misfit!("there is no axis {axis} among {rank}: axes are 0 to {} or -{rank} to -1", rank - 1),
    }
}

/// The numbers of several axes, which must differ.
pub(crate) fn axes_of(axes: &[isize], rank: usize) -> Result<Vec<usize>, Misfit> {
    let mut found = Vec::with_capacity(axes.len());
    for &axis in axes {
        let axis = axis_of(axis, rank)?;
        if found.contains(&axis) {
            misfit!("axis {axis} is named twice");
        }
        found.push(axis);
    }
    Ok(found)
}

/// The shape that both shapes stretch to: aligned at their ends, axes of length 1 take the other's
/// length.
pub(crate) fn joint_shape(x: &[usize], y: &[usize]) -> Result<Vec<usize>, Misfit> {
    let rank = x.len().max(y.len());
    let length = |shape: &[usize], axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
    let mut shape = Vec::with_capacity(rank);
    for axis in 0..rank {
        match (length(x, axis), length(y, axis)) {
            (x, y) if x == y || y == 1 => shape.push(x),
            (1, y) => shape.push(y),
            (x, y) => misfit!(
                "the shapes do not broadcast: the axis {} from the end is {x} long in one and {y} in the other; \
                 lengths have to be equal or 1",
                rank - axis
            ),
        }
    }
    check_count(&shape)?;
    Ok(shape)
}

/// That a shape fits in memory.
pub(crate) fn check_count(shape: &[usize]) -> Result<(), Misfit> {
    match element_count(shape) {
        Some(_) => Ok(()),
        None => misfit!("the shape {shape:?} does not fit in memory"),
    }
}

/// Whether a shape stretches to another.
pub(crate) fn check_stretch(from: &[usize], to: &[usize]) -> Result<(), Misfit> {
    match joint_shape(from, to)? {
        joint if joint == to => Ok(()),
        _ => misfit!("the shape {from:?} does not stretch to {to:?}"),
    }
}

/// `x` stretched to a shape, as [`check_stretch`] allows it: axes of length 1 are taken away and
/// then repeated.
pub(crate) fn stretch(b: &mut Builder, x: Value, shape: &[usize]) -> Value {
    let from = b.shape(x).to_vec();
    if from == shape {
        return x;
    }
    let new = shape.len() - from.len();
    let stays = |&axis: &usize| from[axis] == shape[axis + new];
    let kept: Vec<usize> = (0..from.len()).filter(stays).collect();
    let lengths: Vec<usize> = kept.iter().map(|&axis| from[axis]).collect();
    let places: Vec<usize> = kept.iter().map(|axis| axis + new).collect();
    let narrow = b.reshape(x, &lengths);
    b.op(Broadcast::new(shape, &places), &[narrow])
}

/// Both values in the shape that they stretch to.
pub(crate) fn together(b: &mut Builder, x: Value, y: Value) -> Result<(Value, Value), Misfit> {
    let shape = joint_shape(b.shape(x), b.shape(y))?;
    Ok((stretch(b, x, &shape), stretch(b, y, &shape)))
}

/// Removes axes of length 1, or puts them back, in a type.
pub(crate) fn with_axes_of_one(ty: &Type, axes: &[usize]) -> Vec<usize> {
    (0..ty.rank()).map(|axis| if axes.contains(&axis) { 1 } else { ty.shape[axis] }).collect()
}
