//! Expressions to nodes: a walk over an explicit stack, operands first.

use wengert::ops::{Binary, Compare, Unary};

use super::arrays::{Value, described};
use super::{Checked, Checker, Lowered, ValueKind};
use crate::program::{Meaning, Node, Op};
use crate::syntax::ast::{ExpressionKind, Infix, NodeId, Prefix, Symbol};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::functions::{ArrayFunction, Function};
use crate::syntax::span::Span;

/// What the outcome of a comparison is for.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    /// `if` branches on it.
    Branch,
    /// `select` chooses by it.
    Mask,
}

/// What is left to do.
enum Work {
    /// Lower the operands of an expression, then the expression.
    Enter(NodeId, Purpose),
    /// The operands are on the stack of results.
    Leave(NodeId, Purpose),
}

impl Checker<'_> {
    /// The value of an expression of numbers: one, or an array of them.
    pub(super) fn value(&mut self, root: NodeId) -> Checked<Value> {
        let value = self.lower(root, Purpose::Mask)?;
        match &value {
            Value::One(lowered) => self.expect(*lowered, ValueKind::Number, root).map(|_| ())?,
            Value::Many(array) if array.kind == ValueKind::Condition => {
                let node = array.nodes[0];
                self.expect(Lowered { node, kind: array.kind }, ValueKind::Number, root).map(|_| ())?;
            }
            Value::Many(_) => {}
        }
        Ok(value)
    }

    /// The only element of a value that must not be an array.
    fn single(&self, value: &Value, id: NodeId) -> Checked<Lowered> {
        value.one().ok_or_else(|| {
            let found = described(value);
            let message = Diagnostic::new(self.ast.expression(id).outer, format!("expected one number, found {found}"));
            Box::new(
                message.label(found).help("`sum(…)`, `norm(…)` or a place, as in `x[0]`, make a number of an array"),
            )
        })
    }

    /// The node of an expression that `if` branches on.
    pub(super) fn guard(&mut self, root: NodeId) -> Checked<Node> {
        let value = self.lower(root, Purpose::Branch)?;
        let lowered = self.single(&value, root)?;
        self.expect(lowered, ValueKind::Condition, root)
    }

    fn lower(&mut self, root: NodeId, purpose: Purpose) -> Checked<Value> {
        let first = self.program.nodes.len();
        let mut work = vec![Work::Enter(root, purpose)];
        let mut results: Vec<Value> = Vec::new();
        while let Some(item) = work.pop() {
            match item {
                Work::Enter(id, purpose) => {
                    work.push(Work::Leave(id, purpose));
                    let kind = &self.ast.expression(id).kind;
                    // Conditions inside a condition serve what it serves, and so does one that is a part of several;
                    // below a number that is always a `select`.
                    let inside = match kind {
                        ExpressionKind::Prefix(Prefix::Not, _)
                        | ExpressionKind::Infix(Infix::And | Infix::Or, ..)
                        | ExpressionKind::Array(_)
                        | ExpressionKind::Part { .. }
                        | ExpressionKind::Transposed(_) => purpose,
                        _ => Purpose::Mask,
                    };
                    let operands = kind.operands().into_iter().rev();
                    work.extend(operands.map(|operand| Work::Enter(operand, inside)));
                }
                Work::Leave(id, purpose) => {
                    let count = self.ast.expression(id).kind.operands().len();
                    let operands = results.split_off(results.len() - count);
                    results.push(self.leave_any(id, purpose, &operands)?);
                }
            }
        }
        self.compute_from(first);
        // The walk leaves exactly the root.
        results.pop().ok_or_else(super::empty)
    }

    /// The value of one expression over its operands.
    fn leave_any(&mut self, id: NodeId, purpose: Purpose, operands: &[Value]) -> Checked<Value> {
        let expression = self.ast.expression(id);
        let is_of_arrays = match &expression.kind {
            ExpressionKind::Name(symbol) => {
                let (symbol, span) = (*symbol, expression.span);
                if let Some(array) = self.read_array(symbol, span)? {
                    return Ok(array);
                }
                false
            }
            ExpressionKind::Array(_) | ExpressionKind::Part { .. } | ExpressionKind::Transposed(_) => true,
            ExpressionKind::Infix(operator, ..) => *operator == Infix::MatMul,
            _ => false,
        };
        let ones: Option<Vec<Lowered>> = operands.iter().map(Value::one).collect();
        match ones {
            Some(ones) if !is_of_arrays => self.leave(id, purpose, &ones).map(Value::One),
            _ => self.of_arrays(id, operands, &move |checker, id, ones| checker.leave(id, purpose, ones)),
        }
    }

    /// The node of one expression of numbers over its operands.
    fn leave(&mut self, id: NodeId, purpose: Purpose, operands: &[Lowered]) -> Checked<Lowered> {
        let ast = self.ast;
        let expression = ast.expression(id);
        let span = expression.span;
        let ids = expression.kind.operands();
        match &expression.kind {
            ExpressionKind::Number(value) => Ok(self.add(Op::Constant(*value), span)),
            ExpressionKind::Name(symbol) => self.name(*symbol, span),
            ExpressionKind::Prefix(Prefix::Neg, x) => {
                let x = self.expect(operands[0], ValueKind::Number, *x)?;
                Ok(self.add(Op::Unary(Unary::Neg, x), span))
            }
            ExpressionKind::Prefix(Prefix::Not, x) => {
                let x = self.expect(operands[0], ValueKind::Condition, *x)?;
                Ok(self.add(Op::Not(x), span))
            }
            ExpressionKind::Infix(operator, ..) => {
                let wanted = match operator {
                    Infix::And | Infix::Or => ValueKind::Condition,
                    _ => ValueKind::Number,
                };
                let x = self.expect(operands[0], wanted, ids[0])?;
                let y = self.expect(operands[1], wanted, ids[1])?;
                if matches!(operator, Infix::Div | Infix::Rem) {
                    self.refuse_literal_zero(ids[1])?;
                }
                Ok(self.add(infix(*operator, purpose, x, y), span))
            }
            ExpressionKind::Call { name, name_span, .. } => {
                let function = self.function(*name, *name_span, ids.len())?;
                self.call(function, operands, &ids, span)
            }
            // These are of arrays, whatever their operands are.
            ExpressionKind::Array(_) | ExpressionKind::Part { .. } | ExpressionKind::Transposed(_) => {
                Err(super::empty())
            }
        }
    }

    fn name(&mut self, symbol: Symbol, span: Span) -> Checked<Lowered> {
        if let Some(value) = self.roles.constant(symbol) {
            return Ok(self.add(Op::Constant(value), span));
        }
        let variable = self.readable(symbol, span)?;
        Ok(self.add(Op::Read(variable), span))
    }

    /// The function called `name`, which takes `count` arguments.
    fn function(&self, name: Symbol, span: Span, count: usize) -> Checked<Function> {
        let text = self.ast.name(name);
        let Some(function) = Function::named(text) else {
            let message = if self.variables[name.0 as usize].is_some() {
                Diagnostic::new(span, format!("`{text}` is a variable, not a function"))
                    .help(format!("a product needs its sign: `{text} * (…)`"))
            } else {
                let shown: String = text.chars().take(40).collect();
                let message = Diagnostic::new(span, format!("unknown function `{shown}`"));
                match Function::nearest(text) {
                    _ if ArrayFunction::named(text).is_some() => {
                        Diagnostic::new(span, format!("`{text}` takes an array, and this is a number"))
                            .help("arrays are written `[1, 2, 3]`; an input becomes one in `--at`, as in `x=[1,2,3]`")
                    }
                    Some(near) => message.help(format!("did you mean `{}`?", near.name())),
                    None => message.help("`wengert functions` lists the functions"),
                }
            };
            return Err(Box::new(message));
        };
        let takes = function.arguments().len();
        if takes == count {
            return Ok(function);
        }
        let plural = if takes == 1 { "" } else { "s" };
        Err(Box::new(
            Diagnostic::new(span, format!("`{text}` takes {takes} argument{plural}, got {count}")).help(format!(
                "`{}`: {}",
                function.signature(),
                function.help()
            )),
        ))
    }

    fn call(&mut self, function: Function, operands: &[Lowered], ids: &[NodeId], span: Span) -> Checked<Lowered> {
        let meaning = function.meaning();
        let mut nodes = Vec::with_capacity(ids.len());
        for (index, (operand, id)) in operands.iter().zip(ids).enumerate() {
            let condition = index == 0 && matches!(meaning, Meaning::Select);
            let wanted = if condition { ValueKind::Condition } else { ValueKind::Number };
            nodes.push(self.expect(*operand, wanted, *id)?);
        }
        // The number of arguments was checked against the same table.
        let argument = |index: usize| nodes[index];
        let op = match meaning {
            Meaning::Unary(op) => Op::Unary(op, argument(0)),
            Meaning::Binary(op) => {
                if op == Binary::Rem {
                    self.refuse_literal_zero(ids[1])?;
                }
                Op::Binary(op, argument(0), argument(1))
            }
            Meaning::Select => Op::Select(argument(0), argument(1), argument(2)),
            Meaning::Clamp => Op::Clamp(argument(0), argument(1), argument(2)),
            Meaning::MulAdd => Op::MulAdd(argument(0), argument(1), argument(2)),
        };
        Ok(self.add(op, span))
    }

    /// Adds a node. What only constants go into is a constant: computed here by the same
    /// operations, so with the same value. A value that is not finite stays a row, which says why.
    pub(super) fn add(&mut self, op: Op, span: Span) -> Lowered {
        let constant = |node| match self.program.node(node).op {
            Op::Constant(value) => Some(value),
            _ => None,
        };
        let op = match op {
            Op::Unary(unary, x) => match constant(x) {
                Some(x) if unary.eval(x).is_finite() => Op::Constant(unary.eval(x)),
                _ => op,
            },
            Op::Binary(binary, x, y) => match (constant(x), constant(y)) {
                (Some(x), Some(y)) if binary.eval(x, y).is_finite() => Op::Constant(binary.eval(x, y)),
                (None, Some(power)) if binary == Binary::Pow => constant_power(op, x, power),
                _ => op,
            },
            _ => op,
        };
        let kind = match op {
            Op::Test(..) | Op::Compare(..) | Op::And(..) | Op::Or(..) | Op::Not(_) => ValueKind::Condition,
            _ => ValueKind::Number,
        };
        Lowered { node: self.program.push(op, span), kind }
    }

    fn expect(&self, lowered: Lowered, wanted: ValueKind, id: NodeId) -> Checked<Node> {
        if lowered.kind == wanted {
            return Ok(lowered.node);
        }
        let span = self.ast.expression(id).span;
        Err(Box::new(match wanted {
            ValueKind::Number => Diagnostic::new(span, "expected a number, found a condition")
                .label("a condition")
                .help("`select(condition, 1, 0)` makes a number of a condition"),
            ValueKind::Condition => Diagnostic::new(span, "expected a condition, found a number")
                .label("a number")
                .help("compare it, as in `x != 0`; `!` and `-` bind before comparisons"),
        }))
    }

    /// Refuses `0` and `-0` as a divisor. A divisor that becomes zero is not a mistake of the
    /// program: the quotient is infinite or NaN.
    fn refuse_literal_zero(&self, divisor: NodeId) -> Checked<()> {
        let mut id = divisor;
        loop {
            match self.ast.expression(id).kind {
                ExpressionKind::Prefix(Prefix::Neg, x) => id = x,
                ExpressionKind::Number(0.0) => {
                    let span = self.ast.expression(divisor).span;
                    return Err(Box::new(Diagnostic::new(span, "division by the literal zero").label("always zero")));
                }
                _ => return Ok(()),
            }
        }
    }
}

/// A power with a constant exponent; a whole exponent has an operation of its own.
fn constant_power(op: Op, x: Node, power: f64) -> Op {
    if power == 2.0 {
        return Op::Unary(Unary::Square, x);
    }
    if power.fract() == 0.0 && power.abs() <= 1024.0 {
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 1024")]
        return Op::Unary(Unary::Powi(power as i32), x);
    }
    op
}

fn infix(operator: Infix, purpose: Purpose, x: Node, y: Node) -> Op {
    let compare = |op| match purpose {
        Purpose::Branch => Op::Test(op, x, y),
        Purpose::Mask => Op::Compare(op, x, y),
    };
    match operator {
        Infix::Or => Op::Or(x, y),
        Infix::And => Op::And(x, y),
        Infix::Less => compare(Compare::Lt),
        Infix::LessEqual => compare(Compare::Le),
        Infix::Greater => compare(Compare::Gt),
        Infix::GreaterEqual => compare(Compare::Ge),
        Infix::Equal => compare(Compare::Eq),
        Infix::NotEqual => compare(Compare::Ne),
        Infix::Add => Op::Binary(Binary::Add, x, y),
        Infix::Sub => Op::Binary(Binary::Sub, x, y),
        Infix::Mul => Op::Binary(Binary::Mul, x, y),
        Infix::Div => Op::Binary(Binary::Div, x, y),
        Infix::Rem => Op::Binary(Binary::Rem, x, y),
        // A product of numbers is refused before.
        Infix::MatMul => Op::Binary(Binary::Mul, x, y),
        Infix::Pow => Op::Binary(Binary::Pow, x, y),
    }
}
