//! From the tree to a program that can be run, or a message about what is wrong with it.
//!
//! Checked here: which names are inputs; that a name has a value wherever it is read; that a
//! function exists and has the right number of arguments; that numbers and conditions are not
//! mixed up; that nothing is divided by a literal zero; that there is an output.

mod arrays;
mod expression;
mod names;
mod products;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use crate::program::{Node, Part, Program, Step, Variable};
use crate::syntax::ast::{Arm, Ast, NodeId, Statement, Symbol};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::span::Span;
use arrays::{ArrayVariable, Value};
use names::Roles;

/// A result whose error is a message about the source.
pub(crate) type Checked<T> = Result<T, Box<Diagnostic>>;

/// The shapes of the inputs that are arrays, by name.
pub(crate) type Shapes = HashMap<String, Vec<usize>>;

/// The program that `ast` describes for inputs of these shapes.
pub(crate) fn check(ast: &Ast, shapes: &Shapes) -> Checked<Program> {
    let roles = names::roles(ast)?;
    let mut checker = Checker::new(ast, &roles, shapes);
    let Some((last, rest)) = ast.body.split_last() else {
        return Err(empty());
    };
    for statement in rest {
        checker.statement(statement)?;
    }
    match last {
        Statement::Return { values, .. } | Statement::Bare { values } => {
            checker.outputs(values)?;
            Ok(checker.program)
        }
        _ => {
            checker.statement(last)?;
            Err(Box::new(
                Diagnostic::new(span_of(ast, last), "the program has no output")
                    .label("the last statement gives no value")
                    .help("end with an expression, or with `return` and the outputs"),
            ))
        }
    }
}

fn empty() -> Box<Diagnostic> {
    Box::new(
        Diagnostic::new(Span::default(), "the program is empty: there is nothing to differentiate")
            .help("write an expression, such as `x^2 + 1`"),
    )
}

/// Whether a variable has a value at some place.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Assigned {
    /// On no way to this place.
    Unset,
    /// On some ways only; the place is one of the assignments.
    Partly(Span),
    /// On every way; the place is one of the assignments.
    Set(Span),
}

/// The checker and the program it has built so far.
struct Checker<'a> {
    ast: &'a Ast,
    roles: &'a Roles,
    program: Program,
    /// The variable of each name, if it has one that holds a number.
    variables: Vec<Option<Variable>>,
    /// The names that hold arrays. The state of the first element is that of all.
    arrays: HashMap<Symbol, ArrayVariable>,
    /// The state of each variable here.
    states: Vec<Assigned>,
    /// The changes of states, oldest first, so that branches can be undone at the cost of what
    /// they changed.
    trail: Vec<(Variable, Assigned)>,
}

/// What the branches of an `if` assign.
#[derive(Default)]
struct Merged {
    /// How many branches there are, with the `else` that may not be written.
    branches: usize,
    /// In how many of them each variable is surely set, and one of the places.
    assigned: HashMap<Variable, (usize, Span)>,
}

impl<'a> Checker<'a> {
    fn new(ast: &'a Ast, roles: &'a Roles, shapes: &Shapes) -> Self {
        let mut checker = Self {
            ast,
            roles,
            program: Program::default(),
            variables: vec![None; ast.names.len()],
            arrays: HashMap::new(),
            states: Vec::new(),
            trail: Vec::new(),
        };
        for (symbol, span) in &roles.inputs {
            let (name, first) = (ast.name(*symbol).to_owned(), checker.program.variables.len());
            let shape = shapes.get(&name).cloned();
            let variable = match &shape {
                Some(shape) => checker.declare_array(*symbol, shape),
                None => checker.variable(*symbol),
            };
            checker.states[variable.0 as usize] = Assigned::Set(*span);
            checker.program.input_parts.push(Part { name, shape, first, span: *span });
        }
        checker.program.inputs = checker.program.variables.len();
        checker
    }

    /// The variable called `symbol`, made on first use.
    fn variable(&mut self, symbol: Symbol) -> Variable {
        let index = symbol.0 as usize;
        if let Some(variable) = self.variables[index] {
            return variable;
        }
        let variable = Variable(u32::try_from(self.program.variables.len()).unwrap_or(u32::MAX));
        self.program.variables.push(self.ast.name(symbol).to_owned());
        self.states.push(Assigned::Unset);
        self.variables[index] = Some(variable);
        variable
    }

    fn statements(&mut self, body: &[Statement]) -> Checked<()> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    /// A statement that is not the last of the program.
    fn statement(&mut self, statement: &Statement) -> Checked<()> {
        match statement {
            Statement::Input(_) => Ok(()),
            Statement::Assign { target, target_span, value } => {
                let node = match self.value(*value)? {
                    Value::One(lowered) => lowered.node,
                    Value::Many(array) => return self.assign_array(*target, *target_span, &array),
                };
                if let Some(array) = self.arrays.get(target) {
                    let first = array.first;
                    return Err(self.other_shape(*target, *target_span, "an array", "a number", first));
                }
                let variable = self.variable(*target);
                self.program.steps.push(Step::Assign(variable, node));
                self.set(variable, Assigned::Set(*target_span));
                Ok(())
            }
            Statement::If { arms, otherwise } => self.branches(arms, otherwise.as_deref()),
            Statement::Return { span, .. } => Err(Box::new(
                Diagnostic::new(*span, "`return` stands before the end of the program")
                    .label("must be the last statement, outside braces")
                    .help("assign to a name in each branch and return the name at the end"),
            )),
            Statement::Bare { .. } => Err(Box::new(
                Diagnostic::new(span_of(self.ast, statement), "this value is not used")
                    .label("only the last statement of the program is its output")
                    .help("assign the value to a name, or take the line out"),
            )),
        }
    }

    /// `if`: the blocks one after the other, with jumps around those not taken.
    fn branches(&mut self, arms: &[Arm], otherwise: Option<&[Statement]>) -> Checked<()> {
        let mut ends = Vec::new();
        let mut merged = Merged::default();
        for arm in arms {
            let condition = self.guard(arm.condition)?;
            let unless = self.program.steps.len();
            self.program.steps.push(Step::Unless(condition, 0));
            self.branch(&arm.block, &mut merged)?;
            ends.push(self.program.steps.len());
            self.program.steps.push(Step::Jump(0));
            self.program.steps[unless] = Step::Unless(condition, self.program.steps.len());
        }
        self.branch(otherwise.unwrap_or_default(), &mut merged)?;
        let end = self.program.steps.len();
        for jump in ends {
            self.program.steps[jump] = Step::Jump(end);
        }
        for (variable, (sets, span)) in merged.assigned {
            match self.states[variable.0 as usize] {
                Assigned::Set(_) => {}
                _ if sets == merged.branches => self.set(variable, Assigned::Set(span)),
                _ => self.set(variable, Assigned::Partly(span)),
            }
        }
        Ok(())
    }

    /// One branch: what it assigns is taken back at its end and noted in `merged`.
    fn branch(&mut self, block: &[Statement], merged: &mut Merged) -> Checked<()> {
        let mark = self.trail.len();
        self.statements(block)?;
        merged.branches += 1;
        // Changes are undone from the last to the first: the last is the state at the end of the branch.
        let mut seen = HashSet::new();
        for (variable, before) in self.trail.split_off(mark).into_iter().rev() {
            let slot = &mut self.states[variable.0 as usize];
            if seen.insert(variable)
                && let Assigned::Set(span) | Assigned::Partly(span) = *slot
            {
                let (sets, _) = merged.assigned.entry(variable).or_insert((0, span));
                *sets += usize::from(matches!(slot, Assigned::Set(_)));
            }
            *slot = before;
        }
        Ok(())
    }

    /// Changes the state of a variable, and remembers what it was.
    fn set(&mut self, variable: Variable, state: Assigned) {
        let slot = &mut self.states[variable.0 as usize];
        self.trail.push((variable, std::mem::replace(slot, state)));
    }

    fn outputs(&mut self, values: &[NodeId]) -> Checked<()> {
        for value in values {
            let expression = self.ast.expression(*value);
            let (span, first) = (expression.span, self.program.outputs.len());
            let value = self.value(*value)?;
            let shape = value.one().is_none().then(|| value.shape().to_vec());
            self.program.outputs.extend(value.nodes());
            self.program.output_parts.push(Part { name: String::new(), shape, first, span });
        }
        Ok(())
    }

    /// Records that the nodes from `first` on are computed here.
    fn compute_from(&mut self, first: usize) {
        let end = self.program.nodes.len();
        let fit = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
        if first < end {
            self.program.steps.push(Step::Compute(fit(first), fit(end)));
        }
    }

    /// The variable that holds a value where `symbol` is read.
    fn readable(&mut self, symbol: Symbol, span: Span) -> Checked<Variable> {
        let name = self.ast.name(symbol).to_owned();
        let variable = match self.arrays.get(&symbol) {
            Some(array) => array.first,
            None => self.variable(symbol),
        };
        let message = match self.states[variable.0 as usize] {
            Assigned::Set(_) => return Ok(variable),
            Assigned::Partly(other) => Diagnostic::new(span, format!("`{name}` may have no value here"))
                .label("read here")
                .context(other, "assigned only in this branch")
                .help(format!("assign `{name}` before the `if`, or in every branch and `else`")),
            Assigned::Unset => match self.roles.first_assignment(symbol) {
                Some(later) => Diagnostic::new(span, format!("`{name}` has no value yet"))
                    .label("read here")
                    .context(later, "assigned only here")
                    .help(format!("if `{name}` is an input, say so first: `input {name}`")),
                None => self.undeclared(&name, span),
            },
        };
        Err(Box::new(message))
    }

    /// The message for a name that is neither assigned nor declared, beside declared inputs.
    fn undeclared(&self, name: &str, span: Span) -> Diagnostic {
        let known = self.program.variables.iter().filter(|known| *known != name && !known.contains('['));
        let near = crate::syntax::functions::nearest_of(name, known.map(|k| (k.as_str(), k)));
        let message =
            Diagnostic::new(span, format!("unknown name `{name}`")).label("neither assigned nor declared by `input`");
        match near {
            Some(near) => message.help(format!("did you mean `{near}`?")),
            None => message.help(format!("add `{name}` to the `input` line")),
        }
    }
}

/// The text of a statement, as far as expressions and names go.
fn span_of(ast: &Ast, statement: &Statement) -> Span {
    let expression = |id: &NodeId| ast.expression(*id).span;
    match statement {
        Statement::Input(names) => names.iter().map(|(_, span)| *span).reduce(Span::to).unwrap_or_default(),
        Statement::Assign { target_span, value, .. } => target_span.to(expression(value)),
        Statement::If { arms, .. } => arms.first().map(|arm| expression(&arm.condition)).unwrap_or_default(),
        Statement::Return { span, values } => values.iter().map(expression).fold(*span, Span::to),
        Statement::Bare { values } => values.iter().map(expression).reduce(Span::to).unwrap_or_default(),
    }
}

/// A lowered expression: a number or a condition.
#[derive(Clone, Copy)]
struct Lowered {
    node: Node,
    kind: ValueKind,
}

/// What kind of value an expression has.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ValueKind {
    Number,
    Condition,
}

/// Whether `name` is one of the constants, unless a program assigns or declares it.
pub(crate) fn is_constant(name: &str) -> bool {
    names::CONSTANTS.iter().any(|(constant, _)| *constant == name)
}
