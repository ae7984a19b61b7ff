//! Places in a sorted vector.

use super::Tensor;
use super::compose::{compose, or_raise};
use crate::array::DType;
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare, Logic};
use crate::primitives::{Gather, OutOfBounds};
use crate::program::{Builder, Value};

/// Which of the places of a number in a sorted vector that has equal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bound {
    /// In front of all that are equal: how many elements are less.
    Lower,
    /// Behind all that are equal: how many elements are less or equal.
    Upper,
}

or_raise! {
    trait TrySearch: "sorted vectors";

    /// Where each number of `x` belongs in `self`, a vector in increasing order: the place (i64) in front of which it could be
    /// inserted, from 0 to the length of the vector, by bisection.
    ///
    /// The order is that of [`Tensor::sort`], NaN last. It is not checked, and the results are meaningless otherwise. Both operands
    /// have the same type, and there is no derivative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Bound;
    /// let edges = Tensor::from([0.0, 1.0, 2.0]);
    /// let x = Tensor::from([[-0.5, 0.0], [1.5, 9.0]]);
    /// assert_eq!(edges.search_sorted(&x, Bound::Lower).to_vec(), [0.0, 0.0, 2.0, 3.0]);
    /// assert_eq!(edges.search_sorted(&x, Bound::Upper).to_vec(), [0.0, 1.0, 2.0, 3.0]);
    /// ```
    #[doc(alias("searchsorted", "bisect", "digitize", "bucketize", "lower_bound", "upper_bound"))]
    fn search_sorted = try_search_sorted(x: &Tensor, bound: Bound);
}

impl TrySearch for Tensor {
    /// As [`Tensor::search_sorted`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `self` is no vector, or the types of the elements differ or are truth values.
    #[track_caller]
    fn try_search_sorted(&self, x: &Tensor, bound: Bound) -> Result<Tensor, Error> {
        compose("search_sorted", &[self, x], |b, args| {
            let (nodes, x) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
            if nodes.rank() != 1 {
                misfit!("the sorted elements are {nodes}, and have to be a vector");
            }
            if nodes.dtype != x.dtype || nodes.dtype == DType::Bool {
                misfit!("the elements are {} and {}, and have to be numbers of one type", nodes.dtype, x.dtype);
            }
            places(b, args[0], args[1], bound)
        })
    }
}

/// See [`Tensor::search_sorted`]. Each round decides about a power of two of elements.
pub(crate) fn places(b: &mut Builder, nodes: Value, x: Value, bound: Bound) -> Result<Value, Misfit> {
    let (count, ty) = (b.shape(nodes)[0], b.ty(x).with_dtype(DType::I64));
    let constant = |b: &mut Builder, number: usize| b.full(number as f64, &ty);
    let mut place = constant(b, 0);
    if count == 0 {
        return Ok(place);
    }
    let (one, end) = (constant(b, 1), constant(b, count));
    let is_last = b.dtype(x).is_float().then(|| b.op(Compare::Unordered, &[x, x]));
    for round in (0..=count.ilog2()).rev() {
        let step = constant(b, 1 << round);
        let next = b.add(place, step);
        let inside = b.op(Binary::Min, &[next, end]);
        let before = b.sub(inside, one);
        let node = at(b, nodes, before);
        let mut passed = b.op(if bound == Bound::Upper { Compare::Le } else { Compare::Lt }, &[node, x]);
        if let Some(mut is_last) = is_last {
            if bound == Bound::Lower {
                let is_number = b.op(Compare::Eq, &[node, node]);
                is_last = b.op(Logic::And, &[is_last, is_number]);
            }
            passed = b.op(Logic::Or, &[passed, is_last]);
        }
        let exists = b.op(Compare::Le, &[next, end]);
        let passed = b.op(Logic::And, &[passed, exists]);
        place = b.select(passed, next, place);
    }
    Ok(place)
}

/// The elements of a vector at these places, which exist.
pub(crate) fn at(b: &mut Builder, vector: Value, places: Value) -> Value {
    let mut shape = b.shape(places).to_vec();
    shape.push(1);
    let places = b.reshape(places, &shape);
    b.op(Gather::new(&[0], OutOfBounds::Error), &[vector, places])
}
