//! The tree back to text, with only the parentheses it needs. Parsing the text gives the tree.
//!
//! A walk over an explicit stack, so that long chains need no recursion.

use super::ast::{Ast, ExpressionKind, Infix, NodeId, PREFIX_STRENGTH, Statement};

/// The text of a whole program, one statement a line.
pub(crate) fn program(ast: &Ast) -> String {
    let mut text = String::new();
    statements(ast, &ast.body, 0, &mut text);
    text
}

/// The text of one expression.
pub(crate) fn expression(ast: &Ast, root: NodeId) -> String {
    let mut text = String::new();
    write_expression(ast, root, &mut text);
    text
}

/// A number as the language reads it: the shortest text that gives the same value.
pub(crate) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { format!("{value}") } else { format!("{value:?}") }
}

fn statements(ast: &Ast, body: &[Statement], indent: usize, text: &mut String) {
    for statement in body {
        text.push_str(&"    ".repeat(indent));
        match statement {
            Statement::Input(names) => {
                let names: Vec<&str> = names.iter().map(|(name, _)| ast.name(*name)).collect();
                text.push_str("input ");
                text.push_str(&names.join(", "));
            }
            Statement::Assign { target, value, .. } => {
                text.push_str(ast.name(*target));
                text.push_str(" = ");
                write_expression(ast, *value, text);
            }
            Statement::If { arms, otherwise } => {
                for (index, arm) in arms.iter().enumerate() {
                    text.push_str(if index == 0 { "if " } else { " else if " });
                    write_expression(ast, arm.condition, text);
                    block(ast, &arm.block, indent, text);
                }
                if let Some(body) = otherwise {
                    text.push_str(" else");
                    block(ast, body, indent, text);
                }
            }
            Statement::Return { values, .. } => {
                text.push_str("return ");
                list(ast, values, text);
            }
            Statement::Bare { values } => list(ast, values, text),
        }
        text.push('\n');
    }
}

fn block(ast: &Ast, body: &[Statement], indent: usize, text: &mut String) {
    text.push_str(" {\n");
    statements(ast, body, indent + 1, text);
    text.push_str(&"    ".repeat(indent));
    text.push('}');
}

fn list(ast: &Ast, values: &[NodeId], text: &mut String) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            text.push_str(", ");
        }
        write_expression(ast, *value, text);
    }
}

/// What is left to write.
enum Pending {
    /// An expression, in parentheses if it binds less tightly than this.
    Node(NodeId, u8),
    /// Fixed text.
    Text(&'static str),
    /// Text made for this place.
    Made(String),
    /// A name.
    Name(super::ast::Symbol),
}

fn write_expression(ast: &Ast, root: NodeId, text: &mut String) {
    let mut stack = vec![Pending::Node(root, 0)];
    while let Some(work) = stack.pop() {
        match work {
            Pending::Text(fixed) => text.push_str(fixed),
            Pending::Made(made) => text.push_str(&made),
            Pending::Name(symbol) => text.push_str(ast.name(symbol)),
            Pending::Node(id, least) => {
                let kind = &ast.expression(id).kind;
                let wrap = strength(kind) < least;
                if wrap {
                    stack.push(Pending::Text(")"));
                }
                push_parts(ast, kind, &mut stack);
                if wrap {
                    stack.push(Pending::Text("("));
                }
                // A number never needs parentheses, so nothing was pushed before it.
                if let ExpressionKind::Number(value) = kind {
                    text.push_str(&number(*value));
                }
            }
        }
    }
}

/// How tightly an expression holds together.
fn strength(kind: &ExpressionKind) -> u8 {
    match kind {
        ExpressionKind::Infix(operator, ..) => operator.strength(),
        ExpressionKind::Prefix(..) => PREFIX_STRENGTH,
        _ => u8::MAX,
    }
}

/// Pushes the parts of an expression, last part first.
fn push_parts(ast: &Ast, kind: &ExpressionKind, stack: &mut Vec<Pending>) {
    match kind {
        ExpressionKind::Number(_) => {}
        ExpressionKind::Name(symbol) => stack.push(Pending::Name(*symbol)),
        ExpressionKind::Prefix(prefix, x) => {
            stack.push(Pending::Node(*x, PREFIX_STRENGTH));
            stack.push(Pending::Text(prefix.text()));
        }
        ExpressionKind::Infix(operator, x, y) => {
            let own = operator.strength();
            // The side that would regroup gets parentheses at equal strength; a comparison, on
            // both sides. An exponent may carry a sign.
            let (left, right) = match operator {
                Infix::Pow => (own + 1, PREFIX_STRENGTH),
                _ if operator.is_comparison() => (own + 1, own + 1),
                _ => (own, own + 1),
            };
            stack.push(Pending::Node(*y, right));
            for piece in [" ", operator.text(), " "] {
                if *operator != Infix::Pow || piece != " " {
                    stack.push(Pending::Text(piece));
                }
            }
            stack.push(Pending::Node(*x, left));
        }
        ExpressionKind::Call { name, arguments, .. } => {
            stack.push(Pending::Text(")"));
            push_list(arguments, stack);
            stack.push(Pending::Text("("));
            stack.push(Pending::Name(*name));
        }
        ExpressionKind::Array(elements) => {
            stack.push(Pending::Text("]"));
            push_list(elements, stack);
            stack.push(Pending::Text("["));
        }
        ExpressionKind::Part { array, subscripts } => {
            let subscripts: Vec<String> = subscripts.iter().map(ToString::to_string).collect();
            stack.push(Pending::Made(format!("[{}]", subscripts.join(", "))));
            stack.push(Pending::Node(*array, u8::MAX));
        }
        ExpressionKind::Transposed(x) => {
            // `1.T` would begin with the number `1.`.
            let is_number = matches!(ast.expression(*x).kind, ExpressionKind::Number(_));
            stack.push(Pending::Text(if is_number { ").T" } else { ".T" }));
            stack.push(Pending::Node(*x, u8::MAX));
            stack.push(Pending::Text(if is_number { "(" } else { "" }));
        }
    }
}

/// Pushes expressions with commas between, last one first.
fn push_list(items: &[NodeId], stack: &mut Vec<Pending>) {
    for (index, item) in items.iter().enumerate().rev() {
        stack.push(Pending::Node(*item, 0));
        if index > 0 {
            stack.push(Pending::Text(", "));
        }
    }
}
