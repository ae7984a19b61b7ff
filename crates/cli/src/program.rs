//! A checked program in the form that is run: nodes in order, and steps with jumps.
//!
//! There are no loops in the language, so a node is computed at most once in a run. Operands
//! stand before the nodes that use them; branches are jumps. Nothing here nests.

use std::rc::Rc;

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
    /// The inputs as they are given and shown: those of an array together.
    pub(crate) input_parts: Vec<Part>,
    /// The outputs as they are shown.
    pub(crate) output_parts: Vec<Part>,
    /// What computes with arrays, by its nodes, in order.
    pub(crate) groups: Vec<Group>,
}

/// Inputs or outputs that belong together: the elements of an array, or a number alone.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// The name of an input; empty for an output.
    pub(crate) name: String,
    /// Where the input is first seen, or the output written.
    pub(crate) span: Span,
    /// The shape of an array.
    pub(crate) shape: Option<Vec<usize>>,
    /// The first of them.
    pub(crate) first: usize,
}

impl Part {
    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.shape.as_ref().map_or(1, |shape| shape.iter().product())
    }

    /// The names of the single ones, such as `x[0]`, of an input of this name or an output of this text.
    pub(crate) fn labels(&self, name: &str) -> Vec<String> {
        match &self.shape {
            None => vec![name.to_owned()],
            Some(shape) => {
                let is_word = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let name = if is_word { name.to_owned() } else { format!("({name})") };
                (0..self.count()).map(|k| format!("{name}{}", place(shape, k))).collect()
            }
        }
    }
}

/// The place of an element in brackets, such as `[1, 0]`, by its number in reading order.
pub(crate) fn place(shape: &[usize], mut number: usize) -> String {
    let mut places = Vec::with_capacity(shape.len());
    for length in shape.iter().rev() {
        places.push((number % length).to_string());
        number /= length;
    }
    places.reverse();
    format!("[{}]", places.join(", "))
}

/// An operation on arrays: nodes that a reader sees as one.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The first of its nodes, and the one after its last.
    pub(crate) nodes: (u32, u32),
    /// Its results.
    pub(crate) results: Rc<[Node]>,
    /// Their shape.
    pub(crate) shape: Vec<usize>,
    /// The operation alone, such as `@` or `sum`.
    pub(crate) operation: String,
    /// The operation with its operands.
    pub(crate) words: Vec<Word>,
    /// Where it is written.
    pub(crate) span: Span,
}

/// A piece of the text of an operation on arrays.
#[derive(Clone, Debug)]
pub(crate) enum Word {
    /// As it is.
    Text(String),
    /// As it is written in the program.
    Source(Span),
    /// A number, by the name that it has in the list; in parentheses if it has a sign.
    Number(Node),
    /// An array: by its name in the list if it has one, by its values if they are constants, and otherwise like this.
    Array { nodes: Rc<[Node]>, shape: Vec<usize>, otherwise: Vec<Word> },
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
    /// Whether any input, output or operation is an array.
    pub(crate) fn has_arrays(&self) -> bool {
        let is_array = |part: &Part| part.shape.is_some();
        !self.groups.is_empty() || self.input_parts.iter().chain(&self.output_parts).any(is_array)
    }

    /// The names of the inputs, in order; those of an array one by one.
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
