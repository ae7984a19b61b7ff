//! Arrays: every element is a number of its own, and what computes with them is noted as one operation.
//!
//! So that everything that is made of a program holds for arrays too: derivatives of all orders, series, checks. Arrays are small
//! here; larger ones are the business of array programs.

use std::rc::Rc;

use super::{Assigned, Checked, Checker, Lowered, ValueKind};
use crate::program::{Group, Node, Op, Part, Step, Variable, Word};
use crate::syntax::ast::{ExpressionKind, Infix, NodeId, Prefix, Subscript, Symbol};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::span::Span;

/// More operations than this nobody follows, and a message is better than minutes without one.
const MOST: usize = 200_000;

/// What an expression has become.
#[derive(Clone)]
pub(super) enum Value {
    /// A number or a condition.
    One(Lowered),
    /// An array of them.
    Many(Rc<Array>),
}

/// An array of numbers or of conditions, in reading order.
#[derive(Clone)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) nodes: Rc<[Node]>,
    pub(super) kind: ValueKind,
    /// How it is written where it has no name.
    words: Vec<Word>,
    /// How deep arrays stand in arrays there.
    depth: usize,
}

/// The deepest that the text of an array is put together from those of others. Beyond, it is that of the program.
const DEEPEST: usize = 16;

impl Array {
    /// Elements picked or put together from other values, which is written so.
    fn made(shape: Vec<usize>, nodes: Vec<Node>, from: &[Value], words: Vec<Word>, span: Span) -> Value {
        let depths = from.iter().map(|value| match value {
            Value::One(_) => 0,
            Value::Many(array) => array.depth + 1,
        });
        let depth = depths.max().unwrap_or(0);
        let (words, depth) = if depth > DEEPEST { (vec![Word::Source(span)], 0) } else { (words, depth) };
        let kind = from.first().map_or(ValueKind::Number, Value::kind);
        Value::Many(Rc::new(Self { shape, nodes: nodes.into(), kind, words, depth }))
    }
}

/// A variable that holds an array: one of numbers for each element, in a row.
#[derive(Clone)]
pub(super) struct ArrayVariable {
    shape: Vec<usize>,
    pub(super) first: Variable,
}

impl Value {
    /// The number or condition, if it is one.
    pub(super) fn one(&self) -> Option<Lowered> {
        match self {
            Self::One(lowered) => Some(*lowered),
            Self::Many(_) => None,
        }
    }

    pub(super) fn shape(&self) -> &[usize] {
        match self {
            Self::One(_) => &[],
            Self::Many(array) => &array.shape,
        }
    }

    fn kind(&self) -> ValueKind {
        match self {
            Self::One(lowered) => lowered.kind,
            Self::Many(array) => array.kind,
        }
    }

    /// The elements.
    pub(super) fn nodes(&self) -> Vec<Node> {
        match self {
            Self::One(lowered) => vec![lowered.node],
            Self::Many(array) => array.nodes.to_vec(),
        }
    }

    /// How it stands in the text of an operation.
    pub(super) fn word(&self) -> Word {
        match self {
            Self::One(lowered) => Word::Number(lowered.node),
            Self::Many(array) => {
                Word::Array { nodes: array.nodes.clone(), shape: array.shape.clone(), otherwise: array.words.clone() }
            }
        }
    }

    /// The element that meets the one with this number of an array of this shape, to which this one is spread.
    fn spread(&self, shape: &[usize], number: usize) -> Lowered {
        let Self::Many(array) = self else { return self.one().unwrap_or(Lowered { node: Node(0), kind: self.kind() }) };
        let (mut rest, mut own, mut stride) = (number, 0, 1);
        let lengths = array.shape.iter().rev().map(Some).chain(std::iter::repeat(None));
        for (length, own_length) in shape.iter().rev().zip(lengths) {
            if let Some(own_length) = own_length {
                own += if *own_length == 1 { 0 } else { rest % length * stride };
                stride *= own_length;
            }
            rest /= length;
        }
        Lowered { node: array.nodes[own], kind: array.kind }
    }
}

/// How a value is called in messages.
pub(super) fn described(value: &Value) -> String {
    match value {
        Value::One(Lowered { kind: ValueKind::Number, .. }) => "a number".to_owned(),
        Value::One(_) => "a condition".to_owned(),
        Value::Many(array) => format!("an array of shape {:?}", array.shape),
    }
}

impl Checker<'_> {
    /// The value of an expression that has or makes arrays.
    pub(super) fn of_arrays(&mut self, id: NodeId, operands: &[Value], elementwise: &ElementWise) -> Checked<Value> {
        let ast = self.ast;
        let expression = ast.expression(id);
        let (span, ids) = (expression.span, expression.kind.operands());
        match &expression.kind {
            ExpressionKind::Array(elements) => self.literal(elements, operands, span),
            ExpressionKind::Part { subscripts, .. } => self.part(&operands[0], subscripts, ids[0], span),
            ExpressionKind::Transposed(_) => Ok(Self::transposed(&operands[0], span)),
            ExpressionKind::Infix(Infix::MatMul, x, y) => self.product([*x, *y], operands, span),
            ExpressionKind::Call { name, name_span, .. } => match self.array_function(*name, operands) {
                Some(function) => self.call_of_arrays(function, *name_span, operands, &ids, span),
                None => self.elementwise(id, operands, elementwise),
            },
            _ => self.elementwise(id, operands, elementwise),
        }
    }

    /// Applies an operation of numbers to every element, with the shapes spread as in NumPy.
    fn elementwise(&mut self, id: NodeId, operands: &[Value], one: &ElementWise) -> Checked<Value> {
        let ast = self.ast;
        let expression = ast.expression(id);
        let span = expression.span;
        let what = match &expression.kind {
            ExpressionKind::Infix(operator, ..) => format!("`{}`", operator.text()),
            ExpressionKind::Call { name, .. } => format!("`{}`", ast.name(*name)),
            _ => String::new(),
        };
        let shape = self.spread_shape(&what, &expression.kind.operands(), operands)?;
        let size = shape.iter().product();
        self.room(size, span)?;
        let first = self.program.nodes.len();
        let mut nodes = Vec::with_capacity(size);
        let mut kind = ValueKind::Number;
        for number in 0..size {
            let picked: Vec<Lowered> = operands.iter().map(|operand| operand.spread(&shape, number)).collect();
            let lowered = one(self, id, &picked)?;
            kind = lowered.kind;
            nodes.push(lowered.node);
        }
        if kind == ValueKind::Condition {
            let words = vec![Word::Source(span)];
            return Ok(Value::Many(Rc::new(Array { shape, nodes: nodes.into(), kind, words, depth: 0 })));
        }
        let text = |text: &str| Word::Text(text.to_owned());
        let mut words = Vec::new();
        let operation = match &expression.kind {
            ExpressionKind::Prefix(prefix, _) => {
                let sign = if *prefix == Prefix::Neg { "-" } else { "!" };
                words.extend([text(sign), operands[0].word()]);
                sign
            }
            ExpressionKind::Infix(operator, ..) => {
                let space = if *operator == Infix::Pow { "" } else { " " };
                words.extend([
                    operands[0].word(),
                    text(&format!("{space}{}{space}", operator.text())),
                    operands[1].word(),
                ]);
                operator.text()
            }
            ExpressionKind::Call { name, .. } => {
                words = called(ast.name(*name), operands);
                ast.name(*name)
            }
            _ => "",
        };
        Ok(self.group(first, shape, nodes, span, operation, words))
    }

    /// Notes what was computed from the node `first` on as one operation, and gives its value.
    pub(super) fn group(
        &mut self,
        first: usize,
        shape: Vec<usize>,
        nodes: Vec<Node>,
        span: Span,
        operation: &str,
        words: Vec<Word>,
    ) -> Value {
        let fit = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        let results: Rc<[Node]> = nodes.into();
        let nodes = (fit(first), fit(self.program.nodes.len()));
        let operation = operation.to_owned();
        self.program.groups.push(Group {
            nodes,
            results: results.clone(),
            shape: shape.clone(),
            operation,
            words,
            span,
        });
        let kind = ValueKind::Number;
        if shape.is_empty() {
            return Value::One(Lowered { node: results[0], kind });
        }
        Value::Many(Rc::new(Array { shape, nodes: results, kind, words: vec![Word::Source(span)], depth: 0 }))
    }

    /// The shape that all operands are spread to.
    fn spread_shape(&self, what: &str, ids: &[NodeId], operands: &[Value]) -> Checked<Vec<usize>> {
        let rank = operands.iter().map(|operand| operand.shape().len()).max().unwrap_or(0);
        let mut shape = vec![1; rank];
        let mut by = vec![0; rank];
        for (index, operand) in operands.iter().enumerate() {
            let own = operand.shape();
            for (axis, length) in own.iter().enumerate() {
                let axis = axis + rank - own.len();
                if shape[axis] == 1 {
                    (shape[axis], by[axis]) = (*length, index);
                } else if *length != 1 && *length != shape[axis] {
                    let help = "axes are compared from the last one; they must be equal, or one of them 1";
                    return Err(self.misfit(what, [ids[by[axis]], ids[index]], [&operands[by[axis]], operand], help));
                }
            }
        }
        Ok(shape)
    }

    /// The message for two operands whose shapes do not go together.
    pub(super) fn misfit(&self, what: &str, ids: [NodeId; 2], operands: [&Value; 2], help: &str) -> Box<Diagnostic> {
        let [x, y] = ids.map(|id| self.ast.expression(id).outer);
        let [left, right] = operands.map(|operand| format!("{:?}", operand.shape()));
        Box::new(
            Diagnostic::new(y, format!("{what}: the shapes {left} and {right} do not fit"))
                .label(format!("shape {right}"))
                .context(x, format!("shape {left}"))
                .help(help),
        )
    }

    /// Refuses what would become a list that nobody reads.
    pub(super) fn room(&self, operations: usize, span: Span) -> Checked<()> {
        if operations.saturating_add(self.program.nodes.len()) <= MOST {
            return Ok(());
        }
        Err(Box::new(
            Diagnostic::new(span, format!("these arrays take more than {MOST} operations on numbers"))
                .help("`wengert run` computes with large arrays, and so does the library"),
        ))
    }

    /// `[x, y]`
    fn literal(&mut self, ids: &[NodeId], elements: &[Value], span: Span) -> Checked<Value> {
        let mut nodes = Vec::new();
        let mut words = vec![Word::Text("[".to_owned())];
        for (index, (id, element)) in ids.iter().zip(elements).enumerate() {
            if element.kind() == ValueKind::Condition {
                let place = self.ast.expression(*id).outer;
                return Err(Box::new(
                    Diagnostic::new(place, "an array holds numbers, not conditions").label("a condition"),
                ));
            }
            if element.shape() != elements[0].shape() {
                let help = "the elements of an array are numbers, or arrays of one shape";
                return Err(self.misfit("array", [ids[0], *id], [&elements[0], element], help));
            }
            nodes.extend(element.nodes());
            if index > 0 {
                words.push(Word::Text(", ".to_owned()));
            }
            words.push(element.word());
        }
        words.push(Word::Text("]".to_owned()));
        self.room(nodes.len(), span)?;
        let shape = [&[ids.len()], elements[0].shape()].concat();
        Ok(Array::made(shape, nodes, elements, words, span))
    }

    /// `A[0, 1:3]`
    fn part(&self, value: &Value, subscripts: &[Subscript], id: NodeId, span: Span) -> Checked<Value> {
        let Value::Many(array) = value else {
            let place = self.ast.expression(id).outer;
            return Err(Box::new(
                Diagnostic::new(place, format!("{} has no elements", described(value)))
                    .label(described(value))
                    .help("an input becomes an array in `--at`, as in `x=[1,2,3]`"),
            ));
        };
        let wrong = |what: String| Box::new(Diagnostic::new(span, what).label(described(value)));
        if subscripts.len() > array.shape.len() {
            return Err(wrong(format!("{} places for {} axes", subscripts.len(), array.shape.len())));
        }
        let mut picked = vec![0];
        let mut shape = Vec::new();
        for (axis, length) in array.shape.iter().enumerate() {
            let places = places(subscripts.get(axis), *length).map_err(|why| wrong(format!("{why} on axis {axis}")))?;
            if !matches!(subscripts.get(axis), Some(Subscript::At(_))) {
                shape.push(places.len());
            }
            picked = picked.iter().flat_map(|start| places.clone().map(move |place| start * length + place)).collect();
        }
        let nodes: Vec<Node> = picked.iter().map(|index| array.nodes[*index]).collect();
        if shape.is_empty() {
            return Ok(Value::One(Lowered { node: nodes[0], kind: array.kind }));
        }
        let texts: Vec<String> = subscripts.iter().map(ToString::to_string).collect();
        let words = vec![value.word(), Word::Text(format!("[{}]", texts.join(", ")))];
        Ok(Array::made(shape, nodes, std::slice::from_ref(value), words, span))
    }

    /// The axes in the opposite order; a vector and a number stay what they are.
    pub(super) fn transposed(value: &Value, span: Span) -> Value {
        let Value::Many(array) = value else { return value.clone() };
        let shape: Vec<usize> = array.shape.iter().rev().copied().collect();
        let mut order = vec![0];
        let mut strides: Vec<(usize, usize)> = Vec::new();
        let mut stride = 1;
        for length in array.shape.iter().rev() {
            strides.push((*length, stride));
            stride *= length;
        }
        for (length, stride) in strides {
            order = order.iter().flat_map(|start| (0..length).map(move |place| start + place * stride)).collect();
        }
        let nodes: Vec<Node> = order.iter().map(|index| array.nodes[*index]).collect();
        let words = vec![value.word(), Word::Text(".T".to_owned())];
        Array::made(shape, nodes, std::slice::from_ref(value), words, span)
    }

    /// The value of a name that holds an array; nothing for any other name.
    pub(super) fn read_array(&mut self, symbol: Symbol, span: Span) -> Checked<Option<Value>> {
        let Some(variable) = self.arrays.get(&symbol).cloned() else { return Ok(None) };
        self.readable(symbol, span)?;
        let count = variable.shape.iter().product();
        self.room(count, span)?;
        let nodes: Rc<[Node]> = (0..count).map(|k| self.program.push(Op::Read(variable.element(k)), span)).collect();
        let words = vec![Word::Text(self.ast.name(symbol).to_owned())];
        let (shape, kind) = (variable.shape, ValueKind::Number);
        Ok(Some(Value::Many(Rc::new(Array { shape, nodes, kind, words, depth: 0 }))))
    }

    /// Makes the variables of an input that is an array.
    pub(super) fn declare_array(&mut self, symbol: Symbol, shape: &[usize]) -> Variable {
        let fit = |index: usize| Variable(u32::try_from(index).unwrap_or(u32::MAX));
        let variable = ArrayVariable { shape: shape.to_vec(), first: fit(self.program.variables.len()) };
        let name = self.ast.name(symbol);
        let part = Part { name: String::new(), shape: Some(shape.to_vec()), first: 0, span: Span::default() };
        for label in part.labels(name) {
            self.program.variables.push(label);
            self.states.push(Assigned::Unset);
        }
        self.arrays.insert(symbol, variable.clone());
        variable.first
    }

    /// Assigns an array to a name. A name keeps the shape that it has first.
    pub(super) fn assign_array(&mut self, target: Symbol, span: Span, array: &Array) -> Checked<()> {
        let had = match (self.arrays.get(&target), self.variables[target.0 as usize]) {
            (Some(variable), _) if variable.shape == array.shape => None,
            (Some(variable), _) => Some((format!("an array of shape {:?}", variable.shape), variable.first)),
            (None, Some(variable)) => Some(("a number".to_owned(), variable)),
            (None, None) => None,
        };
        if let Some((before, variable)) = had {
            return Err(self.other_shape(
                target,
                span,
                &before,
                &format!("an array of shape {:?}", array.shape),
                variable,
            ));
        }
        let first = match self.arrays.get(&target) {
            Some(variable) => variable.first,
            None => self.declare_array(target, &array.shape),
        };
        let variable = ArrayVariable { shape: array.shape.clone(), first };
        for (k, node) in array.nodes.iter().enumerate() {
            self.program.steps.push(Step::Assign(variable.element(k), *node));
        }
        self.set(first, Assigned::Set(span));
        Ok(())
    }

    /// The message for a name that would hold values of two shapes.
    pub(super) fn other_shape(
        &self,
        target: Symbol,
        span: Span,
        before: &str,
        now: &str,
        variable: Variable,
    ) -> Box<Diagnostic> {
        let name = self.ast.name(target);
        let message = Diagnostic::new(span, format!("`{name}` is {before} and would become {now}"))
            .help("use another name: one name holds values of one shape");
        Box::new(match self.states[variable.0 as usize] {
            Assigned::Set(first) | Assigned::Partly(first) if first != span => {
                message.context(first, before.to_owned())
            }
            _ => message,
        })
    }
}

impl ArrayVariable {
    fn element(&self, k: usize) -> Variable {
        Variable(self.first.0 + u32::try_from(k).unwrap_or(u32::MAX))
    }
}

/// An operation of numbers.
pub(super) type ElementWise = dyn Fn(&mut Checker<'_>, NodeId, &[Lowered]) -> Checked<Lowered>;

/// `name(x, y)`
pub(super) fn called(name: &str, operands: &[Value]) -> Vec<Word> {
    let mut words = vec![Word::Text(format!("{name}("))];
    for (index, operand) in operands.iter().enumerate() {
        if index > 0 {
            words.push(Word::Text(", ".to_owned()));
        }
        words.push(operand.word());
    }
    words.push(Word::Text(")".to_owned()));
    words
}

/// The places that a subscript picks of an axis, or why it cannot.
fn places(subscript: Option<&Subscript>, length: usize) -> Result<std::ops::Range<usize>, String> {
    let signed = i64::try_from(length).unwrap_or(i64::MAX);
    let from_start = |place: i64| if place < 0 { place + signed } else { place };
    let fit = |place: i64| usize::try_from(place).unwrap_or(0);
    let (start, end) = match subscript {
        None => return Ok(0..length),
        Some(Subscript::At(place)) => {
            let start = from_start(*place);
            if !(0..signed).contains(&start) {
                return Err(format!("there is no place {place} among {length}"));
            }
            (start, start + 1)
        }
        Some(Subscript::Range(start, end)) => (start.map_or(0, from_start), end.map_or(signed, from_start)),
    };
    if start < 0 || end > signed || start >= end {
        let range = subscript.map_or(String::new(), ToString::to_string);
        return Err(format!("the range {range} holds no place, or leaves the {length} that there are"));
    }
    Ok(fit(start)..fit(end))
}
