//! Runs steps of loops whose length is not known: by their plan, or as code that is called with the same operands.

use smallvec::{SmallVec, smallvec};
use wengert_kernels::arena::{Carver, Line as Lines, typed_mut};
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Slice, SliceMut};

use super::carried::CarriedStep;
use super::engine::{PlanInputs, run};
use super::{rows, single};
use crate::error::Error;
use crate::plan::{CalledStep, IntegerStep, Integers, Plan, StepCode};

/// A step of a loop.
pub(super) enum LoopStep<'a> {
    Plan(&'a Plan),
    Code(Called<'a>),
}

impl<'a> LoopStep<'a> {
    /// The step, ready for these invariants, which are the first operands.
    pub(super) fn new<'m: 'a>(
        plan: &'a Plan,
        code: &'a Option<CalledStep>,
        carver: &mut Carver<'m>,
        operands: &[Slice<'_>],
    ) -> Self {
        match code {
            Some(step) => LoopStep::Code(Called::new(step, carver.take(step.lines.clone()), operands)),
            None => LoopStep::Plan(plan),
        }
    }

    /// The step with its carry in the memory of its code, if that is over a few numbers.
    pub(super) fn carried(&mut self, starts: &[Slice<'_>]) -> Option<CarriedStep<'_, 'a>> {
        let LoopStep::Code(called) = self else { return None };
        match &called.step.code {
            StepCode::Numbers(numbers) => Some(CarriedStep::new(numbers, called, starts)),
            StepCode::Rows(_) => None,
        }
    }

    /// Runs the step once. Of an operand that a result takes the place of nothing is given: it is where the result will be.
    pub(super) fn run(
        &mut self,
        inputs: &[Slice<'_>],
        outputs: &mut [SliceMut<'_>],
        arena: &mut [Lines],
        pool: &Pool,
    ) -> Result<(), Error> {
        match self {
            LoopStep::Plan(plan) => run(plan, PlanInputs::Slices(inputs), outputs, arena, pool, None),
            LoopStep::Code(called) => {
                called.run(inputs, outputs);
                Ok(())
            }
        }
    }
}

/// A step as code, with its memory.
pub(super) struct Called<'a> {
    pub(super) step: &'a CalledStep,
    pub(super) memory: &'a mut [f64],
    pub(super) registers: SmallVec<[i64; 16]>,
}

/// What code is fed.
enum Fed<'a> {
    Elements(Slice<'a>),
    /// What a register holds.
    Number(f64),
}

/// What a step is called with.
struct Operands<'a> {
    inputs: &'a [Slice<'a>],
    outputs: &'a [SliceMut<'a>],
    /// The first input that lies where an output does if it is empty.
    carry: usize,
}

impl Operands<'_> {
    fn get(&self, k: usize) -> Slice<'_> {
        match self.inputs[k] {
            // No operand of code is empty.
            Slice::U8([]) => self.outputs[k - self.carry].read(),
            input => input,
        }
    }
}

/// Computes what a step does with integers, whose operands are in their registers.
fn compute(integers: &Integers, registers: &mut [i64]) {
    for step in &integers.steps {
        match *step {
            IntegerStep::Of1(to, f, x) => registers[to] = f(registers[x]),
            IntegerStep::Of2(to, f, [x, y]) => registers[to] = f(registers[x], registers[y]),
        }
    }
}

impl<'a> Called<'a> {
    /// Computes what the step does with integers, whose operands are in their registers.
    pub(super) fn compute(&mut self) {
        compute(&self.step.integers, &mut self.registers);
    }

    fn new(step: &'a CalledStep, lines: &'a mut [Lines], operands: &[Slice<'_>]) -> Self {
        let mut registers: SmallVec<[i64; 16]> = smallvec![0; step.integers.registers];
        step.integers.numbers.iter().for_each(|&(register, number)| registers[register] = number);
        for &(register, operand) in step.integers.operands.iter().filter(|(_, operand)| *operand < step.invariants) {
            registers[register] = single::integer(operands[operand]);
        }
        let memory = match &step.code {
            StepCode::Numbers(numbers) => {
                let memory = typed_mut::<f64>(lines, numbers.code.memory());
                single::begin(memory, numbers, operands);
                memory
            }
            StepCode::Rows(steps) => {
                let memory = typed_mut::<f64>(lines, steps.code.rows_memory(steps.width));
                rows::begin(memory, steps, operands);
                memory
            }
        };
        Called { step, memory, registers }
    }

    fn run(&mut self, inputs: &[Slice<'_>], outputs: &mut [SliceMut<'_>]) {
        let Called { step, memory, registers } = self;
        let CalledStep { integers, invariants, operands: count, results, .. } = step;
        let operands = Operands { inputs, outputs, carry: step.carry };
        for &(register, operand) in &integers.operands {
            registers[register] = single::integer(operands.get(operand));
        }
        compute(integers, registers);
        // What changes from step to step are rows of operands to the code.
        let operand = |k: usize| match k + invariants {
            k if k < *count => Fed::Elements(operands.get(k)),
            k => Fed::Number(registers[integers.read[k - count]] as f64),
        };
        match &step.code {
            StepCode::Numbers(numbers) => {
                for feed in &numbers.rows {
                    memory[feed.place] = match operand(feed.operand) {
                        Fed::Elements(x) => single::number(x, feed.element),
                        Fed::Number(number) => number,
                    };
                }
                let valid = numbers.code.again(memory);
                debug_assert!(valid, "there are no guards in a step");
                for (&(result, size), &first) in results.iter().zip(&numbers.outputs) {
                    single::store(&memory[first..first + size], &mut outputs[result], 0);
                }
            }
            StepCode::Rows(steps) => {
                for feed in &steps.rows {
                    match operand(feed.operand) {
                        Fed::Elements(x) => rows::fill(memory, x, 0, feed, steps),
                        Fed::Number(number) => rows::row_mut(memory, feed.place, steps.width).fill(number),
                    }
                }
                steps.code.again_rows(memory, steps.width);
                for (&(result, _), stored) in results.iter().zip(&steps.outputs) {
                    stored.iter().for_each(|stored| rows::put(memory, stored, steps, &mut outputs[result], 0));
                }
            }
        }
        for &(result, register) in &integers.results {
            single::store_integer(registers[register], &mut outputs[result]);
        }
    }
}
