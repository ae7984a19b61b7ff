//! A checked program in the form that is run: nodes in order, and steps with jumps.
//!
//! There are no loops in the language, so a node is computed at most once in a run. Operands
//! stand before the nodes that use them; branches are jumps. Nothing here nests.

use wengert::ops::{Binary, Compare, Unary};

use crate::syntax::span::Span;

/// Index of a node in [`Program::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(pub(crate) u32);

/// Index of a variable in [`Program::variables`]; the inputs come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Variable(pub(crate) u32);

/// A program without mistakes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// The names of the variables; the first [`Program::inputs`] of them are the inputs, in order.
    pub(crate) variables: Vec<String>,
    /// How many inputs there are.
    pub(crate) inputs: usize,
    /// What is computed.
    pub(crate) nodes: Vec<Computation>,
    /// In which order, and under which conditions.
    pub(crate) steps: Vec<Step>,
    /// The outputs, in order.
    pub(crate) outputs: Vec<Node>,
}

/// A node and the text it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Computation {
    /// What it computes.
    pub(crate) op: Op,
    /// Where it is written.
    pub(crate) span: Span,
}

/// What a node computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Op {
    /// A number.
    Constant(f64),
    /// What a variable holds now.
    Read(Variable),
    /// A function of one number.
    Unary(Unary, Node),
    /// A function of two numbers.
    Binary(Binary, Node, Node),
    /// `x` limited to `low..high`.
    Clamp(Node, Node, Node),
    /// `a * b + c`
    MulAdd(Node, Node, Node),
    /// The second where the condition holds, else the third.
    Select(Node, Node, Node),
    /// A comparison whose outcome `if` branches on.
    Test(Compare, Node, Node),
    /// A comparison whose outcome `select` uses.
    Compare(Compare, Node, Node),
    /// Both conditions.
    And(Node, Node),
    /// At least one of the conditions.
    Or(Node, Node),
    /// Not the condition.
    Not(Node),
}

/// One step of a run.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Computes the nodes from the first up to, but without, the second.
    Compute(u32, u32),
    /// The variable holds the value of the node from now on.
    Assign(Variable, Node),
    /// Goes on at the step with this index if the condition does not hold.
    Unless(Node, usize),
    /// Goes on at the step with this index.
    Jump(usize),
}

impl Program {
    /// The names of the inputs, in order.
    pub(crate) fn input_names(&self) -> &[String] {
        &self.variables[..self.inputs]
    }

    /// The node with this index.
    pub(crate) fn node(&self, node: Node) -> &Computation {
        &self.nodes[node.0 as usize]
    }

    /// Adds a node.
    pub(crate) fn push(&mut self, op: Op, span: Span) -> Node {
        let node = Node(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(Computation { op, span });
        node
    }
}

/// How a function of the language is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// By an operation of the library on one number.
    Unary(Unary),
    /// By an operation of the library on two numbers.
    Binary(Binary),
    /// By [`Op::Select`].
    Select,
    /// By [`Op::Clamp`].
    Clamp,
    /// By [`Op::MulAdd`].
    MulAdd,
}
