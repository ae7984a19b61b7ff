//! Equal regions, kernels and products are one: steps that do the same to other parts of arrays share their instructions.
//!
//! A loop over the rows of an array is a list of steps that differ only in where a row begins. So the step says where the
//! elements that a region reads, or a kernel writes, begin; the region or kernel itself is made once, and stays in the
//! cache.

use std::hash::Hash;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};
use wengert_kernels::region::{Blocks, Invalid, Parts, Place, Region};

use super::finish::finish;
use super::kernel::Kernel;
use super::{Indices, Map, MatrixProduct, Operation, Provenance, Set, kernels};
use crate::array::Type;
use crate::primitives::Op;

/// The regions, kernels and products of a plan, by what they are made of, and the provenance of its steps.
#[derive(Debug, Default)]
pub(super) struct Shared {
    regions: Map<Parts, Arc<Region>>,
    kernels: Map<Operation, (Arc<dyn Kernel>, Arc<Operation>)>,
    products: Set<Arc<MatrixProduct>>,
    provenance: Set<Arc<Provenance>>,
}

impl Shared {
    /// The region of these parts, and for each of its inputs the position that it counts from.
    ///
    /// # Errors
    /// As [`finish`].
    pub(super) fn region(&mut self, mut parts: Parts) -> Result<(Arc<Region>, Indices), Invalid> {
        let starts = starts(&parts);
        begin_at(&mut parts, &starts);
        if let Some(region) = self.regions.get(&parts) {
            return Ok((region.clone(), starts));
        }
        let region = Arc::new(finish(parts.clone())?);
        self.regions.insert(parts, region.clone());
        Ok((region, starts))
    }

    /// The kernel of an operation that is planned by its types alone; where its work begins is said when it runs.
    pub(super) fn kernel(&mut self, op: &Op, args: &[&Type], results: &[Type]) -> (Arc<dyn Kernel>, Arc<Operation>) {
        let operation = Operation::new(kernels::movable(op), args);
        if let Some(known) = self.kernels.get(&operation) {
            return known.clone();
        }
        let known = (Arc::from(kernels::kernel(&operation.op, args, results)), Arc::new(operation.clone()));
        self.kernels.insert(operation, known.clone());
        known
    }

    /// A product; equal ones are shared.
    pub(super) fn product(&mut self, product: MatrixProduct) -> Arc<MatrixProduct> {
        one_of(&mut self.products, product)
    }

    /// The provenance of a step; equal ones are shared.
    pub(super) fn provenance(&mut self, provenance: Provenance) -> Arc<Provenance> {
        one_of(&mut self.provenance, provenance)
    }
}

/// What is in the set and equal to this; this, from now on in the set, if there is nothing.
fn one_of<T: Eq + Hash>(known: &mut Set<Arc<T>>, own: T) -> Arc<T> {
    if let Some(known) = known.get(&own) {
        return known.clone();
    }
    let own = Arc::new(own);
    known.insert(own.clone());
    own
}

/// The first position that is read of each input.
fn starts(parts: &Parts) -> Indices {
    let mut starts: SmallVec<[Option<usize>; 8]> = smallvec![None; parts.inputs];
    let mut note = |input: u16, at: usize| {
        let start = &mut starts[usize::from(input)];
        *start = Some(start.map_or(at, |start| start.min(at)));
    };
    for direct in &parts.directs {
        if let Place::Input(input) = direct.place {
            note(input, direct.offset);
        }
    }
    for load in &parts.loads {
        note(load.operand, load.pattern.lowest().unwrap_or(0));
    }
    parts.blocks.iter().flat_map(Blocks::lowest).for_each(|(input, at)| note(input, at));
    for take in &parts.takes {
        note(take.array, take.offset);
        note(take.indices, take.first);
    }
    starts.into_iter().map(Option::unwrap_or_default).collect()
}

/// Counts the positions of every input from there.
fn begin_at(parts: &mut Parts, starts: &[usize]) {
    for direct in &mut parts.directs {
        if let Place::Input(input) = direct.place {
            direct.offset -= starts[usize::from(input)];
        }
    }
    for load in &mut parts.loads {
        let start = starts[usize::from(load.operand)];
        if start > 0 {
            load.pattern = load.pattern.from_later(start).expect("nothing lies before the first position");
        }
    }
    parts.blocks.iter_mut().for_each(|blocks| blocks.begin_at(starts));
    for take in &mut parts.takes {
        take.offset -= starts[usize::from(take.array)];
        take.first -= starts[usize::from(take.indices)];
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
