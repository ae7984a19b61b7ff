//! Equal regions and kernels are one: steps that do the same to other parts of arrays share their instructions.
//!
//! A loop over the rows of an array is a list of steps that differ only in where a row begins. So the step says where the
//! elements that a region reads, or a kernel writes, begin; the region or kernel itself is made once, and stays in the
//! cache.

use std::sync::Arc;

use wengert_kernels::region::{Blocks, Invalid, Parts, Place, Region};

use super::finish::finish;
use super::kernel::Kernel;
use super::{Map, Operation, Provenance, Set, kernels};
use crate::array::Type;
use crate::primitives::Op;

/// The regions and kernels of a plan, by what they are made of, and the provenance of its steps.
#[derive(Debug, Default)]
pub(super) struct Shared {
    regions: Map<Parts, Arc<Region>>,
    kernels: Map<Operation, (Arc<dyn Kernel>, Arc<Operation>)>,
    provenance: Set<Arc<Provenance>>,
}

impl Shared {
    /// The region of these parts, and for each of its inputs the position that it counts from.
    ///
    /// # Errors
    /// As [`finish`].
    pub(super) fn region(&mut self, mut parts: Parts) -> Result<(Arc<Region>, Vec<usize>), Invalid> {
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

    /// The provenance of a step; equal ones are shared.
    pub(super) fn provenance(&mut self, provenance: Provenance) -> Arc<Provenance> {
        if let Some(known) = self.provenance.get(&provenance) {
            return known.clone();
        }
        let provenance = Arc::new(provenance);
        self.provenance.insert(provenance.clone());
        provenance
    }
}

/// The first position that is read of each input.
fn starts(parts: &Parts) -> Vec<usize> {
    let mut starts: Vec<Option<usize>> = vec![None; parts.inputs];
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
}

#[cfg(all(test, feature = "text"))]
mod tests {
    use std::collections::HashSet;
    use std::fmt::Write;

    use super::*;
    use crate::array::{Array, Type};
    use crate::plan::{Options, Plan, Step, StepWork};
    use crate::program::Program;

    /// Running sums of the products of a matrix's rows with what came before. A running sum is a kernel, so that each
    /// product is a region of its own.
    fn rows(reversed: bool) -> Program {
        let mut text = "program(v0: f64[10,40], v1: f64[40]) {\n".to_owned();
        let mut last = 1;
        let mut next = 2;
        for k in 0..10 {
            let mut line = |ty: &str, op: &str, args: &[usize]| {
                let args: Vec<String> = args.iter().map(|arg| format!("v{arg}")).collect();
                let _ = writeln!(text, "  v{next}: f64[{ty}] = {op} {}", args.join(" "));
                next += 1;
                next - 1
            };
            let row = line("1,40", &format!("slice[start=[{k},0], limit=[{},40], stride=[1,1]]", k + 1), &[0]);
            let mut row = line("40", "reshape[shape=[40]]", &[row]);
            if reversed {
                row = line("40", "reverse[axes=[0]]", &[row]);
            }
            let product = line("40", "mul", &[row, last]);
            last = line("40", "cumsum[axis=0, reverse=false]", &[product]);
        }
        let _ = write!(text, "  return v{last}\n}}");
        text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"))
    }

    /// How many regions there are, and how many different ones.
    fn regions(plan: &Plan) -> (usize, usize) {
        let all = plan.steps().iter().filter_map(|step| match &step.work {
            StepWork::Region(region) => Some(Arc::as_ptr(region)),
            _ => None,
        });
        let all: Vec<*const Region> = all.collect();
        (all.len(), all.iter().collect::<HashSet<_>>().len())
    }

    #[test]
    fn rows_share_a_region() {
        for reversed in [false, true] {
            let program = rows(reversed);
            let plan = Plan::new(&program, &Options::default()).expect("without a limit");
            assert_eq!(regions(&plan), (10, 1), "reversed: {reversed}");
            let numbers = |ty: &Type| (0..ty.size()).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>();
            let inputs: Vec<Array> =
                program.input_types().iter().map(|ty| Array::new(&ty.shape, numbers(ty))).collect();
            let (found, wanted) = (program.run(&inputs).unwrap(), program.run_reference(&inputs).unwrap());
            assert_eq!(found[0].to_f64(), wanted[0].to_f64());
        }
    }

    #[test]
    fn additions_to_rows_share_a_kernel() {
        // Too few columns for lanes.
        let rows = 12;
        let mut text = format!("program(v0: f64[{rows},40], v1: f64[1,40]) {{\n");
        let _ = writeln!(text, "  v2: f64[{rows},40] = cumsum[axis=0, reverse=false] v0;");
        for k in 0..rows {
            let (before, after) = (2 + k, 3 + k);
            let _ =
                writeln!(text, "  v{after}: f64[{rows},40] = update_add[start=[{k},0], stride=[1,1]] v{before} v1;");
        }
        let _ = writeln!(text, "  return v{}\n}}", 2 + rows);
        let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
        let plan = Plan::new(&program, &Options::default()).expect("without a limit");
        let kernels: Vec<_> = plan.steps().iter().filter(|step| step.provenance.names[0] == "update_add").collect();
        let different = |of: fn(&Step) -> *const u8| kernels.iter().map(|step| of(step)).collect::<HashSet<_>>().len();
        let kernel = |step: &Step| match &step.work {
            StepWork::Kernel(kernel, _) => Arc::as_ptr(kernel).cast::<u8>(),
            work => panic!("{work:?}"),
        };
        assert_eq!((kernels.len(), different(kernel)), (rows, 1));
        assert_eq!(different(|step| Arc::as_ptr(&step.provenance).cast()), 1);
        let numbers = |ty: &Type| (0..ty.size()).map(|k| (k as f64 * 0.37).sin()).collect::<Vec<f64>>();
        let inputs: Vec<Array> = program.input_types().iter().map(|ty| Array::new(&ty.shape, numbers(ty))).collect();
        let (found, wanted) = (program.run(&inputs).unwrap(), program.run_reference(&inputs).unwrap());
        assert_eq!(found[0].to_f64(), wanted[0].to_f64());
    }
}
