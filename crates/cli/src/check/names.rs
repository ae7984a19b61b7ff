//! Which names are inputs, which are variables and which are constants.
//!
//! With `input` lines, the inputs are what they declare. Without, an input is a name that is
//! read but never assigned, or whose first assignment reads it, as in `x = x * x`: it must have
//! had a value before. Their order is that of first appearance.
//!
//! `pi` and `e` are the constants, unless the program assigns or declares them.

use std::collections::{HashMap, HashSet};

use super::Checked;
use crate::syntax::ast::{Ast, ExpressionKind, NodeId, Statement, Symbol};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::functions::Function;
use crate::syntax::span::Span;

/// The constants of the language.
pub(crate) const CONSTANTS: &[(&str, f64)] = &[("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

/// The roles of the names of a program.
#[derive(Debug, Default)]
pub(super) struct Roles {
    /// The inputs in order, and where each is first seen.
    pub(super) inputs: Vec<(Symbol, Span)>,
    assigned: HashMap<Symbol, Span>,
    constants: HashMap<Symbol, f64>,
}

impl Roles {
    /// Where the name is first assigned, in the order of the text.
    pub(super) fn first_assignment(&self, symbol: Symbol) -> Option<Span> {
        self.assigned.get(&symbol).copied()
    }

    /// The value, if the name is a constant.
    pub(super) fn constant(&self, symbol: Symbol) -> Option<f64> {
        self.constants.get(&symbol).copied()
    }
}

/// Reads and assignments in the order of the text.
enum Event {
    Read(Symbol, Span),
    Assign { target: Symbol, span: Span, reads_itself: bool },
}

/// The roles of all names of `ast`.
pub(super) fn roles(ast: &Ast) -> Checked<Roles> {
    let mut roles = Roles::default();
    let declared = declarations(ast)?;
    let mut events = Vec::new();
    collect(ast, &ast.body, &mut events);
    let mut must_be_inputs = HashSet::new();
    for event in &events {
        if let Event::Assign { target, span, reads_itself } = event
            && !roles.assigned.contains_key(target)
        {
            roles.assigned.insert(*target, *span);
            if *reads_itself {
                must_be_inputs.insert(*target);
            }
        }
    }
    let free = |symbol: &Symbol| !roles.assigned.contains_key(symbol) || must_be_inputs.contains(symbol);
    let mut inputs: Vec<(Symbol, Span)> = declared.clone();
    let mut known: HashSet<Symbol> = declared.iter().map(|(symbol, _)| *symbol).collect();
    for event in &events {
        let Event::Read(symbol, span) = event else {
            continue;
        };
        if !free(symbol) || !known.insert(*symbol) {
            continue;
        }
        let name = ast.name(*symbol);
        if let Some((_, value)) = CONSTANTS.iter().find(|(constant, _)| *constant == name) {
            roles.constants.insert(*symbol, *value);
        } else if let Some(function) = Function::named(name) {
            return Err(Box::new(
                Diagnostic::new(*span, format!("`{name}` is a function, not a value"))
                    .help(format!("call it: `{}`", function.signature())),
            ));
        } else if declared.is_empty() {
            inputs.push((*symbol, *span));
        }
    }
    roles.inputs = inputs;
    Ok(roles)
}

/// The names of the `input` lines, which must come first.
fn declarations(ast: &Ast) -> Checked<Vec<(Symbol, Span)>> {
    let mut found: Vec<(Symbol, Span)> = Vec::new();
    let mut places: HashMap<Symbol, Span> = HashMap::new();
    let mut others = false;
    for statement in &ast.body {
        let Statement::Input(names) = statement else {
            others = true;
            late_input(statement)?;
            continue;
        };
        for (symbol, span) in names {
            let name = ast.name(*symbol);
            if others {
                return Err(misplaced(*span));
            }
            if let Some(first) = places.insert(*symbol, *span) {
                return Err(Box::new(
                    Diagnostic::new(*span, format!("the input `{name}` is declared twice"))
                        .context(first, "declared here already"),
                ));
            }
            found.push((*symbol, *span));
        }
    }
    Ok(found)
}

fn misplaced(span: Span) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(span, "`input` must come before all other statements").label("declared too late"))
}

/// Refuses `input` inside braces. The depth of braces is bounded by the parser.
fn late_input(statement: &Statement) -> Checked<()> {
    match statement {
        Statement::Input(names) => Err(misplaced(names.first().map(|(_, span)| *span).unwrap_or_default())),
        Statement::If { arms, otherwise } => {
            let blocks = arms.iter().map(|arm| &arm.block).chain(otherwise);
            blocks.flatten().try_for_each(late_input)
        }
        _ => Ok(()),
    }
}

/// Lists what the statements read and assign. The depth of braces is bounded by the parser.
fn collect(ast: &Ast, body: &[Statement], events: &mut Vec<Event>) {
    for statement in body {
        match statement {
            Statement::Input(_) => {}
            Statement::Assign { target, target_span, value } => {
                let first = events.len();
                reads(ast, *value, events);
                let reads_itself =
                    events[first..].iter().any(|event| matches!(event, Event::Read(symbol, _) if symbol == target));
                events.push(Event::Assign { target: *target, span: *target_span, reads_itself });
            }
            Statement::If { arms, otherwise } => {
                for arm in arms {
                    reads(ast, arm.condition, events);
                    collect(ast, &arm.block, events);
                }
                collect(ast, otherwise.as_deref().unwrap_or_default(), events);
            }
            Statement::Return { values, .. } | Statement::Bare { values } => {
                for value in values {
                    reads(ast, *value, events);
                }
            }
        }
    }
}

/// The names in an expression, left to right.
fn reads(ast: &Ast, root: NodeId, events: &mut Vec<Event>) {
    let mut stack = vec![root];
    while let Some(id) = stack.pop() {
        let expression = ast.expression(id);
        if let ExpressionKind::Name(symbol) = expression.kind {
            events.push(Event::Read(symbol, expression.span));
        }
        stack.extend(expression.kind.operands().into_iter().rev());
    }
}
