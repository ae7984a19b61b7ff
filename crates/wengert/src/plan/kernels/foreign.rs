//! A user's own code.

use std::sync::Mutex;

use super::defined::{copied, write};
use super::{Allocated, Kernel, KernelCall};
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::plan::kernel::bytes;
use crate::primitives::{Examples, Foreign};

/// Calls the code on copies of its operands, for many examples on all threads. What the code allocates is its own; the copies are
/// counted.
#[derive(Clone, Debug)]
pub(super) struct ForeignKernel {
    op: Foreign,
    args: Vec<Type>,
    results: usize,
}

impl ForeignKernel {
    pub(super) fn new(op: &Foreign, args: &[&Type], outs: &[Type]) -> Self {
        let results = outs.iter().map(bytes).sum();
        ForeignKernel { op: op.clone(), args: args.iter().map(|&ty| ty.clone()).collect(), results }
    }
}

/// The operations that code of which nothing is known is taken to need, of each number: as many as a few functions.
const OPERATIONS: usize = 100;

impl Kernel for ForeignKernel {
    fn name(&self) -> String {
        "foreign".to_owned()
    }
    fn allocated(&self, _: usize) -> Allocated {
        let operands: usize = self.args.iter().map(bytes).sum();
        // The arrays, and those of the examples one by one.
        Allocated::by_definition(2 * (operands + self.results))
    }
    fn operations(&self) -> usize {
        OPERATIONS * (self.args.iter().map(Type::size).sum::<usize>() + self.results / size_of::<f64>() + 1)
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let args: Vec<Array> = call.args.iter().zip(&self.args).map(|(arg, ty)| copied(arg, ty)).collect();
        let args: Vec<&Array> = args.iter().collect();
        let examples = Examples::of(&self.op, &args);
        let results = match examples.together() {
            Some(results) => results?,
            None => {
                let places: Vec<Mutex<Result<Option<Vec<Array>>, Misfit>>> =
                    (0..examples.count()).map(|_| Mutex::new(Ok(None))).collect();
                let one = |k: usize, _: usize| {
                    let result = examples.call(k);
                    if let Ok(mut place) = places[k].lock() {
                        *place = result;
                    }
                };
                // What the code says when it panics is caught where it is called.
                call.pool
                    .run(places.len(), &one)
                    .map_err(|why| Misfit(format!("a thread panicked: {}", why.message)))?;
                let taken = |place: Mutex<_>| place.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                examples.joined(places.into_iter().map(taken).collect::<Result<_, Misfit>>()?)
            }
        };
        write(&results, call.outs);
        Ok(())
    }
}
