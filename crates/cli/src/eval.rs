//! Runs a program over any carrier of the library and keeps the Wengert list of the run.
//!
//! `if` runs only the branch that the values choose; `select` computes both sides. Assignments
//! cost nothing: a variable is a name for an entry of the list.

use wengert::Real;
use wengert::ops::{Binary, Unary};

use crate::program::{Node, Op, Program, Step, Variable};

/// What was computed, in order: one entry for each operation, after one for each input.
#[derive(Clone, Debug)]
pub(crate) struct Evaluation<R: Real> {
    /// What each node of the program has become.
    cells: Vec<Cell<R>>,
    /// The list.
    pub(crate) entries: Vec<Entry<R>>,
    /// The outputs.
    pub(crate) outputs: Vec<Operand>,
    /// The assignments that were made, in order.
    pub(crate) assignments: Vec<(Variable, Operand)>,
}

/// One operation of the list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<R> {
    /// What it computes.
    pub(crate) operation: Operation,
    /// The operands, as the operation takes them.
    pub(crate) operands: [Operand; 3],
    /// The result.
    pub(crate) value: R,
    /// The node of the program, or none for an input.
    pub(crate) node: Option<Node>,
}

/// The operations of the list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operation {
    /// An input.
    Input(Variable),
    /// A function of one number.
    Unary(Unary),
    /// A function of two numbers.
    Binary(Binary),
    /// The first operand limited to the second and the third.
    Clamp,
    /// The first times the second plus the third.
    MulAdd,
    /// The first where the condition holds, else the second; the node is the condition.
    Select(Node),
}

/// An operand: an earlier entry, or a number that nothing is differentiated by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Operand {
    /// A constant.
    Constant(f64),
    /// The entry with this index.
    Entry(usize),
}

impl Operation {
    /// How many operands it takes.
    pub(crate) fn arity(self) -> usize {
        match self {
            Self::Input(_) => 0,
            Self::Unary(_) => 1,
            Self::Binary(_) | Self::Select(_) => 2,
            Self::Clamp | Self::MulAdd => 3,
        }
    }
}

/// What a node has become in this run.
#[derive(Clone, Copy, Debug)]
enum Cell<R: Real> {
    /// Not computed: in a branch not taken, or not yet.
    Empty,
    Number(Operand),
    Test(bool),
    Mask(R::Mask),
}

/// Runs `program` with these values of its inputs, in order.
pub(crate) fn run<R: Real>(program: &Program, inputs: &[R]) -> Evaluation<R> {
    run_shifted(program, inputs, &[])
}

/// The same, with a number added to the result of every operation, in order, as far as `shifts`
/// goes.
///
/// The derivative of an output in a shift is the adjoint of that operation. Shifts of `-0.0`
/// change no value, not even the sign of a zero.
pub(crate) fn run_shifted<R: Real>(program: &Program, inputs: &[R], shifts: &[R]) -> Evaluation<R> {
    debug_assert_eq!(inputs.len(), program.inputs, "one value for each input");
    let mut machine = Machine::new(program, inputs, shifts);
    let mut next = 0;
    while let Some(step) = program.steps.get(next) {
        next += 1;
        match *step {
            Step::Compute(first, end) => (first..end).for_each(|node| machine.compute(Node(node))),
            Step::Assign(variable, node) => {
                let operand = machine.run.operand(node);
                machine.variables[variable.0 as usize] = operand;
                machine.run.assignments.push((variable, operand));
            }
            Step::Unless(condition, target) if !machine.run.test(condition) => next = target,
            Step::Unless(..) => {}
            Step::Jump(target) => next = target,
        }
    }
    machine.run.outputs = program.outputs.iter().map(|node| machine.run.operand(*node)).collect();
    machine.run
}

/// The values of the outputs of `program`.
pub(crate) fn outputs<R: Real>(program: &Program, inputs: &[R]) -> Vec<R> {
    let run = run(program, inputs);
    run.outputs.iter().map(|operand| run.value(*operand)).collect()
}

impl<R: Real> Evaluation<R> {
    /// The value of an operand.
    pub(crate) fn value(&self, operand: Operand) -> R {
        match operand {
            Operand::Constant(value) => R::constant(value),
            Operand::Entry(index) => self.entries[index].value,
        }
    }

    /// The outcome of a condition that a `select` of this run chose by.
    pub(crate) fn mask(&self, node: Node) -> R::Mask {
        match self.cells[node.0 as usize] {
            Cell::Mask(mask) => mask,
            _ => panic!("node {} of the program is no mask here", node.0),
        }
    }

    /// What a node that holds numbers has become; nothing if it was not computed.
    pub(crate) fn computed(&self, node: Node) -> Option<Operand> {
        match self.cells[node.0 as usize] {
            Cell::Number(operand) => Some(operand),
            _ => None,
        }
    }

    fn operand(&self, node: Node) -> Operand {
        match self.cells[node.0 as usize] {
            Cell::Number(operand) => operand,
            _ => panic!("node {} of the program is no number here", node.0),
        }
    }

    fn test(&self, node: Node) -> bool {
        match self.cells[node.0 as usize] {
            Cell::Test(outcome) => outcome,
            _ => panic!("node {} of the program is no test here", node.0),
        }
    }
}

struct Machine<'p, R: Real> {
    program: &'p Program,
    variables: Vec<Operand>,
    shifts: &'p [R],
    run: Evaluation<R>,
}

impl<'p, R: Real> Machine<'p, R> {
    fn new(program: &'p Program, inputs: &[R], shifts: &'p [R]) -> Self {
        // The checker has made sure that no variable is read before it is assigned.
        let mut variables = vec![Operand::Constant(f64::NAN); program.variables.len()];
        let mut entries = Vec::with_capacity(inputs.len() + program.nodes.len());
        for (index, (value, slot)) in inputs.iter().zip(&mut variables).enumerate() {
            *slot = Operand::Entry(index);
            let operation = Operation::Input(Variable(u32::try_from(index).unwrap_or(u32::MAX)));
            let operands = [Operand::Constant(0.0); 3];
            entries.push(Entry { operation, operands, value: *value, node: None });
        }
        let cells = vec![Cell::Empty; program.nodes.len()];
        let run = Evaluation { cells, entries, outputs: Vec::new(), assignments: Vec::new() };
        Self { program, variables, shifts, run }
    }

    fn value(&self, node: Node) -> R {
        self.run.value(self.run.operand(node))
    }

    fn compute(&mut self, node: Node) {
        let cell = match self.program.node(node).op {
            Op::Constant(value) => Cell::Number(Operand::Constant(value)),
            Op::Read(variable) => Cell::Number(self.variables[variable.0 as usize]),
            Op::Unary(op, x) => {
                let value = self.value(x).unary(op);
                self.entry(node, Operation::Unary(op), &[x], value)
            }
            Op::Binary(op, x, y) => {
                let value = self.binary(op, x, y);
                self.entry(node, Operation::Binary(op), &[x, y], value)
            }
            Op::Clamp(x, low, high) => {
                let value = self.value(x).clamp_to(self.value(low), self.value(high));
                self.entry(node, Operation::Clamp, &[x, low, high], value)
            }
            Op::MulAdd(a, b, c) => {
                let value = self.value(a).mul_add(self.value(b), self.value(c));
                self.entry(node, Operation::MulAdd, &[a, b, c], value)
            }
            Op::Select(condition, yes, no) => {
                let value = R::select(self.run.mask(condition), self.value(yes), self.value(no));
                self.entry(node, Operation::Select(condition), &[yes, no], value)
            }
            Op::Test(op, x, y) => Cell::Test(op.eval(self.value(x), self.value(y))),
            Op::Compare(op, x, y) => Cell::Mask(self.value(x).compare(self.value(y), op)),
            Op::And(x, y) => self.join(x, y, |x, y| x & y, |x, y| x & y),
            Op::Or(x, y) => self.join(x, y, |x, y| x | y, |x, y| x | y),
            Op::Not(x) => match self.run.cells[x.0 as usize] {
                Cell::Test(outcome) => Cell::Test(!outcome),
                _ => Cell::Mask(!self.run.mask(x)),
            },
        };
        self.run.cells[node.0 as usize] = cell;
    }

    /// A constant operand is passed as a number: carriers have shorter ways for these.
    fn binary(&self, op: Binary, x: Node, y: Node) -> R {
        match (self.run.operand(x), self.run.operand(y)) {
            (Operand::Constant(x), _) => R::constant_binary(x, self.value(y), op),
            (_, Operand::Constant(y)) => self.value(x).binary_constant(y, op),
            _ => self.value(x).binary(self.value(y), op),
        }
    }

    fn join(
        &self,
        x: Node,
        y: Node,
        tests: impl FnOnce(bool, bool) -> bool,
        masks: impl FnOnce(R::Mask, R::Mask) -> R::Mask,
    ) -> Cell<R> {
        match self.run.cells[x.0 as usize] {
            Cell::Test(outcome) => Cell::Test(tests(outcome, self.run.test(y))),
            _ => Cell::Mask(masks(self.run.mask(x), self.run.mask(y))),
        }
    }

    fn entry(&mut self, node: Node, operation: Operation, from: &[Node], value: R) -> Cell<R> {
        let mut operands = [Operand::Constant(0.0); 3];
        for (operand, node) in operands.iter_mut().zip(from) {
            *operand = self.run.operand(*node);
        }
        let index = self.run.entries.len();
        let value = match self.shifts.get(index - self.program.inputs) {
            Some(shift) => value + *shift,
            None => value,
        };
        self.run.entries.push(Entry { operation, operands, value, node: Some(node) });
        Cell::Number(Operand::Entry(index))
    }
}
