//! Tokens to the tree.
//!
//! The grammar is written with winnow over the tokens. The parts where input decides how far
//! things go (chains of operators, signs in front, towers of powers) are loops over explicit
//! stacks; only parentheses, calls and braces recurse, and [`MAX_DEPTH`] bounds these.
//!
//! Messages name the farthest token that could not be used and everything that could have stood
//! there, as collected by [`State::expect`].

use winnow::combinator::separated;
use winnow::error::{EmptyError, ErrMode};
use winnow::prelude::*;
use winnow::stream::{Stateful, Stream, TokenSlice};

use super::ast::{Arm, Ast, ExpressionKind, Infix, NodeId, PREFIX_STRENGTH, Prefix, Statement, Subscript};
use super::diagnostic::Diagnostic;
use super::span::Span;
use super::token::{Kind, Token, tokens};

/// The deepest nesting of parentheses, calls and braces.
///
/// A level takes less than a kilobyte of stack in a release build and a few in a debug build, so
/// this stays far below the smallest stacks in use (the tests run it in 512 KiB).
pub(crate) const MAX_DEPTH: usize = 256;

type Tokens<'t> = Stateful<TokenSlice<'t, Token<'t>>, State>;
type Parsed<T> = Result<T, ErrMode<EmptyError>>;

/// What the parser builds and remembers.
#[derive(Debug, Default)]
struct State {
    ast: Ast,
    /// Places of the parentheses and braces that are open here.
    open: Vec<Span>,
    /// The farthest place where something else was expected, in bytes, and what.
    farthest: u32,
    expected: Vec<&'static str>,
    /// What was open at that place.
    open_at_farthest: Option<Span>,
    /// A mistake that has a message of its own.
    mistake: Option<Box<Diagnostic>>,
}

impl State {
    /// Remembers that `what` could have stood at `token`.
    fn expect(&mut self, token: &Token<'_>, what: &'static str) {
        if token.span.start > self.farthest || self.expected.is_empty() {
            self.farthest = token.span.start;
            self.expected.clear();
        }
        if token.span.start == self.farthest {
            self.open_at_farthest = self.open.last().copied();
            if !self.expected.contains(&what) {
                self.expected.push(what);
            }
        }
    }

    /// Stops with a message of its own.
    fn stop<T>(&mut self, message: Diagnostic) -> Parsed<T> {
        self.mistake.get_or_insert_with(|| Box::new(message));
        Err(ErrMode::Cut(EmptyError))
    }
}

/// The tree of `source`, or the first mistake in it.
pub(crate) fn parse(source: &str) -> Result<Ast, Box<Diagnostic>> {
    let tokens = tokens(source).map_err(Box::new)?;
    let mut input = Tokens { input: TokenSlice::new(&tokens), state: State::default() };
    match program(&mut input) {
        Ok(body) => {
            input.state.ast.body = body;
            Ok(input.state.ast)
        }
        Err(_) => Err(message(&tokens, input.state)),
    }
}

/// The message for where the parser stopped.
fn message(tokens: &[Token<'_>], state: State) -> Box<Diagnostic> {
    if let Some(mistake) = state.mistake {
        return mistake;
    }
    let at = tokens.partition_point(|token| token.span.start < state.farthest);
    let Some(found) = tokens.get(at.min(tokens.len() - 1)) else {
        return Box::new(Diagnostic::new(Span::default(), "the program is empty"));
    };
    let list = one_of_these(&state.expected);
    let mut message =
        Diagnostic::new(found.span, format!("expected {list}, found {found}")).label(format!("expected {list}"));
    if (state.expected.contains(&"`)`") || state.expected.contains(&"`]`"))
        && let Some(open) = state.open_at_farthest
    {
        message = message.context(open, "opened here");
    }
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    if let Some(help) = advice(before, found, &state.expected) {
        message = message.help(help);
    }
    Box::new(message)
}

/// What to do about some frequent mistakes.
fn advice(before: Option<&Token<'_>>, found: &Token<'_>, expected: &[&str]) -> Option<String> {
    let operand = |token: &Token<'_>| matches!(token.kind, Kind::Number(_) | Kind::Name);
    match (before.map(|token| token.kind), found.kind) {
        (Some(Kind::Sign("=")), Kind::Sign("=")) => None,
        (_, Kind::Sign("=")) if expected.contains(&"an operator") => {
            Some("`==` compares; `=` assigns to a name, at the start of a statement".into())
        }
        (Some(Kind::Sign("*")), Kind::Sign("*")) => Some("powers are written `x^2` or `x**2`".into()),
        (Some(_), Kind::Name | Kind::Number(_) | Kind::Sign("("))
            if expected.contains(&"an operator") && before.is_some_and(operand) =>
        {
            Some("a product needs its sign: `2 * x`".into())
        }
        (_, Kind::Sign(":")) => {
            Some("write `=` to assign; `:` is a range of places in an array, as in `x[1:3]`".into())
        }
        (Some(Kind::Sign("[")), Kind::Sign("]")) => Some("an array needs an element".into()),
        (_, Kind::Newline) if expected.contains(&"an expression") => {
            Some("a line end finishes a statement; parentheses let it go on".into())
        }
        (_, Kind::Sign("+")) if expected.contains(&"an expression") => {
            Some("there is no `+` in front of an operand; leave it out".into())
        }
        _ => None,
    }
}

/// `a`, `a or b`, `a, b or c`.
fn one_of_these(items: &[&str]) -> String {
    match items {
        [] => "something else".into(),
        [only] => (*only).into(),
        [rest @ .., last] => format!("{} or {last}", rest.join(", ")),
    }
}

/// The next token, not taken.
fn peek<'t>(input: &Tokens<'t>) -> Token<'t> {
    let end = || Token { kind: Kind::End, text: "", span: Span::default() };
    input.input.peek_token().copied().unwrap_or_else(end)
}

/// Takes a token of this kind; `what` names it in messages.
fn token<'t>(kind: Kind, what: &'static str) -> impl FnMut(&mut Tokens<'t>) -> Parsed<Token<'t>> {
    move |input| {
        let next = peek(input);
        if next.kind == kind {
            input.next_token();
            return Ok(next);
        }
        input.state.expect(&next, what);
        Err(ErrMode::Backtrack(EmptyError))
    }
}

/// Takes `kind` if it comes next; its absence is not reported.
fn takes(input: &mut Tokens<'_>, kind: Kind) -> bool {
    let found = peek(input).kind == kind;
    if found {
        input.next_token();
    }
    found
}

/// Turns "did not match" into "must match".
fn must<T>(parsed: Parsed<T>) -> Parsed<T> {
    parsed.map_err(ErrMode::cut)
}

fn program(input: &mut Tokens<'_>) -> Parsed<Vec<Statement>> {
    let body = statements(input)?;
    let next = peek(input);
    input.state.expect(&next, "a statement");
    must(token(Kind::End, "the end of the input")(input))?;
    Ok(body)
}

/// Statements up to `}` or the end.
fn statements(input: &mut Tokens<'_>) -> Parsed<Vec<Statement>> {
    let mut found = Vec::new();
    loop {
        while takes(input, Kind::Newline) || takes(input, Kind::Sign(";")) {}
        let next = peek(input);
        if matches!(next.kind, Kind::End | Kind::Sign("}")) {
            return Ok(found);
        }
        let statement = statement(input)?;
        let block = matches!(statement, Statement::If { .. });
        found.push(statement);
        let next = peek(input);
        match next.kind {
            Kind::Newline | Kind::Sign(";" | "}") | Kind::End => {}
            // `if c { a = 1 } b = 2`: the brace already ends the statement.
            _ if block => {}
            _ => {
                input.state.expect(&next, "the end of the statement");
                return Err(ErrMode::Cut(EmptyError));
            }
        }
    }
}

fn statement(input: &mut Tokens<'_>) -> Parsed<Statement> {
    let next = peek(input);
    match next.kind {
        Kind::If => if_statement(input),
        Kind::Input => {
            input.next_token();
            let names: Vec<Token<'_>> = must(separated(1.., token(Kind::Name, "a name"), comma).parse_next(input))?;
            let intern = |name: &Token<'_>| (input.state.ast.intern(name.text), name.span);
            Ok(Statement::Input(names.iter().map(intern).collect()))
        }
        Kind::Return => {
            input.next_token();
            let values = must(expressions(input))?;
            Ok(Statement::Return { span: next.span, values })
        }
        Kind::Let => {
            input.next_token();
            let target = must(token(Kind::Name, "a name")(input))?;
            must(token(Kind::Sign("="), "`=`")(input))?;
            assignment(input, &target)
        }
        Kind::Name if second(input) == Some(Kind::Sign("=")) => {
            input.next_token();
            input.next_token();
            assignment(input, &next)
        }
        _ => {
            let start = input.state.expected.len();
            let values = expressions(input).inspect_err(|_| {
                // Nothing fits at the start of a statement: say so in a word.
                if start == 0 && input.state.farthest == next.span.start {
                    input.state.expected = vec!["a statement", "an expression"];
                }
            });
            Ok(Statement::Bare { values: must(values)? })
        }
    }
}

/// The kind of the token behind the next one.
fn second(input: &Tokens<'_>) -> Option<Kind> {
    let mut ahead = input.input;
    ahead.next_token();
    ahead.peek_token().map(|token| token.kind)
}

fn assignment(input: &mut Tokens<'_>, target: &Token<'_>) -> Parsed<Statement> {
    let value = must(expression(input))?;
    let symbol = input.state.ast.intern(target.text);
    Ok(Statement::Assign { target: symbol, target_span: target.span, value })
}

fn comma(input: &mut Tokens<'_>) -> Parsed<()> {
    token(Kind::Sign(","), "`,`")(input).map(|_| ())
}

/// One expression or several, with commas between.
fn expressions(input: &mut Tokens<'_>) -> Parsed<Vec<NodeId>> {
    let mut found = vec![expression(input)?];
    while takes(input, Kind::Sign(",")) {
        found.push(must(expression(input))?);
    }
    let next = peek(input);
    input.state.expect(&next, "`,`");
    Ok(found)
}

fn if_statement(input: &mut Tokens<'_>) -> Parsed<Statement> {
    let mut arms = Vec::new();
    loop {
        must(token(Kind::If, "`if`")(input))?;
        let condition = must(expression(input))?;
        let block = braces(input)?;
        arms.push(Arm { condition, block });
        if !else_follows(input) {
            return Ok(Statement::If { arms, otherwise: None });
        }
        if peek(input).kind != Kind::If {
            let next = peek(input);
            input.state.expect(&next, "`if`");
            let otherwise = Some(braces(input)?);
            return Ok(Statement::If { arms, otherwise });
        }
    }
}

/// Takes `else` and line ends before it; takes nothing if there is no `else`.
fn else_follows(input: &mut Tokens<'_>) -> bool {
    let start = input.checkpoint();
    while takes(input, Kind::Newline) {}
    let found = takes(input, Kind::Else);
    if !found {
        input.reset(&start);
    }
    found
}

fn braces(input: &mut Tokens<'_>) -> Parsed<Vec<Statement>> {
    while takes(input, Kind::Newline) {}
    let open = must(token(Kind::Sign("{"), "`{`")(input))?;
    enter(input, open.span)?;
    let body = statements(input)?;
    must(token(Kind::Sign("}"), "`}`")(input))?;
    input.state.open.pop();
    Ok(body)
}

/// Goes one level deeper, or stops with a message.
fn enter(input: &mut Tokens<'_>, open: Span) -> Parsed<()> {
    if input.state.open.len() < MAX_DEPTH {
        input.state.open.push(open);
        return Ok(());
    }
    input.state.stop(
        Diagnostic::new(open, format!("nested more than {MAX_DEPTH} levels deep"))
            .label("one level too many")
            .help("name an inner part with an assignment and use the name"),
    )
}

/// An expression: operators and operands in turn, reduced by strength on two stacks
/// (E. W. Dijkstra's shunting yard, 1961).
fn expression(input: &mut Tokens<'_>) -> Parsed<NodeId> {
    let mut operands = vec![tower(input)?];
    let mut operators: Vec<(Infix, Span)> = Vec::new();
    loop {
        let next = peek(input);
        let Some(operator) = infix(next.kind) else {
            input.state.expect(&next, "an operator");
            break;
        };
        while let Some(&(top, span)) = operators.last() {
            if top.is_comparison() && operator.is_comparison() {
                return input.state.stop(
                    Diagnostic::new(next.span, "comparisons do not chain")
                        .context(span, "the first comparison")
                        .help("write `a < b && b < c`"),
                );
            }
            if top.strength() < operator.strength() {
                break;
            }
            operators.pop();
            reduce(&mut input.state.ast, &mut operands, top);
        }
        input.next_token();
        operators.push((operator, next.span));
        operands.push(must(tower(input))?);
    }
    while let Some((operator, _)) = operators.pop() {
        reduce(&mut input.state.ast, &mut operands, operator);
    }
    operands.pop().ok_or(ErrMode::Cut(EmptyError))
}

/// Replaces the two topmost operands by `operator` applied to them.
fn reduce(ast: &mut Ast, operands: &mut Vec<NodeId>, operator: Infix) {
    if let (Some(y), Some(x)) = (operands.pop(), operands.pop()) {
        operands.push(infix_node(ast, operator, x, y));
    }
}

fn infix_node(ast: &mut Ast, operator: Infix, x: NodeId, y: NodeId) -> NodeId {
    let span = ast.expression(x).outer.to(ast.expression(y).outer);
    ast.push(ExpressionKind::Infix(operator, x, y), span)
}

/// The operator that a token is, other than a power.
fn infix(kind: Kind) -> Option<Infix> {
    let Kind::Sign(sign) = kind else { return None };
    let found = Infix::ALL.iter().copied().find(|operator| operator.text() == sign)?;
    (found.strength() < PREFIX_STRENGTH).then_some(found)
}

/// Operands joined by `^`, each with signs in front: `-x^-y^2` is `-(x^(-(y^2)))`.
fn tower(input: &mut Tokens<'_>) -> Parsed<NodeId> {
    let mut floors: Vec<(Vec<(Prefix, Span)>, NodeId)> = Vec::new();
    loop {
        let mut signs = Vec::new();
        let base = loop {
            let next = peek(input);
            let prefix = match next.kind {
                Kind::Sign("-") => Prefix::Neg,
                Kind::Sign("!") => Prefix::Not,
                _ if floors.is_empty() && signs.is_empty() => break primary(input)?,
                _ => break must(primary(input))?,
            };
            input.next_token();
            signs.push((prefix, next.span));
        };
        floors.push((signs, base));
        if !takes(input, Kind::Sign("^")) {
            break;
        }
    }
    let ast = &mut input.state.ast;
    let mut value: Option<NodeId> = None;
    for (signs, base) in floors.into_iter().rev() {
        let mut node = value.map_or(base, |power| infix_node(ast, Infix::Pow, base, power));
        for (prefix, span) in signs.into_iter().rev() {
            let span = span.to(ast.expression(node).outer);
            node = ast.push(ExpressionKind::Prefix(prefix, node), span);
        }
        value = Some(node);
    }
    value.ok_or(ErrMode::Cut(EmptyError))
}

/// An operand with what stands behind it: `[0, 1:3]` and `.T`, any number of times.
fn primary(input: &mut Tokens<'_>) -> Parsed<NodeId> {
    let mut operand = bare(input)?;
    for count in 0.. {
        let next = peek(input);
        if count == MAX_DEPTH && matches!(next.kind, Kind::Sign("[" | ".T")) {
            return input.state.stop(
                Diagnostic::new(next.span, format!("more than {MAX_DEPTH} parts of parts"))
                    .help("name an inner part with an assignment and use the name"),
            );
        }
        let start = input.state.ast.expression(operand).outer;
        let (kind, end) = match next.kind {
            Kind::Sign("[") => {
                let (subscripts, end) = subscripts(input)?;
                (ExpressionKind::Part { array: operand, subscripts }, end)
            }
            Kind::Sign(".T") => {
                input.next_token();
                (ExpressionKind::Transposed(operand), next.span)
            }
            _ => return Ok(operand),
        };
        operand = input.state.ast.push(kind, start.to(end));
    }
    Ok(operand)
}

/// `[0, 1:3, :]`, and where it ends.
fn subscripts(input: &mut Tokens<'_>) -> Parsed<(Vec<Subscript>, Span)> {
    let open = must(token(Kind::Sign("["), "`[`")(input))?;
    enter(input, open.span)?;
    let mut found = Vec::new();
    loop {
        let start = index(input)?;
        let is_range = takes(input, Kind::Sign(":"));
        found.push(match (start, is_range) {
            (start, true) => Subscript::Range(start, index(input)?),
            (Some(place), false) => Subscript::At(place),
            (None, false) => {
                let next = peek(input);
                return input.state.stop(
                    Diagnostic::new(next.span, format!("expected a place in the array, found {next}"))
                        .context(open.span, "opened here")
                        .help("places are whole numbers from 0 on, or from the end as `-1`; `1:3` is a range, `:` all"),
                );
            }
        });
        if !takes(input, Kind::Sign(",")) {
            break;
        }
    }
    let close = must(token(Kind::Sign("]"), "`]`")(input))?;
    input.state.open.pop();
    Ok((found, close.span))
}

/// A whole number with a sign, if one comes next.
fn index(input: &mut Tokens<'_>) -> Parsed<Option<i64>> {
    let start = input.checkpoint();
    let is_negative = takes(input, Kind::Sign("-"));
    let next = peek(input);
    let Kind::Number(value) = next.kind else {
        input.reset(&start);
        return Ok(None);
    };
    input.next_token();
    if value.fract() != 0.0 || value > 1e9 {
        return input
            .state
            .stop(Diagnostic::new(next.span, "a place in an array is a whole number").label("not a place"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 1e9")]
    let place = value as i64;
    Ok(Some(if is_negative { -place } else { place }))
}

/// A number, a name, a call, an array or an expression in parentheses.
fn bare(input: &mut Tokens<'_>) -> Parsed<NodeId> {
    let next = peek(input);
    match next.kind {
        Kind::Number(value) => {
            input.next_token();
            Ok(input.state.ast.push(ExpressionKind::Number(value), next.span))
        }
        Kind::Name if second(input) == Some(Kind::Sign("(")) => {
            input.next_token();
            call(input, &next)
        }
        Kind::Name => {
            input.next_token();
            let symbol = input.state.ast.intern(next.text);
            Ok(input.state.ast.push(ExpressionKind::Name(symbol), next.span))
        }
        Kind::Sign("(") => {
            input.next_token();
            enter(input, next.span)?;
            let inner = must(expression(input))?;
            let close = must(token(Kind::Sign(")"), "`)`")(input))?;
            input.state.open.pop();
            input.state.ast.enclose(inner, next.span.to(close.span));
            Ok(inner)
        }
        Kind::Sign("[") => {
            input.next_token();
            enter(input, next.span)?;
            let elements = must(expressions(input))?;
            let close = must(token(Kind::Sign("]"), "`]`")(input))?;
            input.state.open.pop();
            Ok(input.state.ast.push(ExpressionKind::Array(elements), next.span.to(close.span)))
        }
        _ => {
            input.state.expect(&next, "an expression");
            Err(ErrMode::Backtrack(EmptyError))
        }
    }
}

/// The arguments of a call; an empty list is parsed, so that the checker can name the arguments.
fn call(input: &mut Tokens<'_>, name: &Token<'_>) -> Parsed<NodeId> {
    let open = must(token(Kind::Sign("("), "`(`")(input))?;
    enter(input, open.span)?;
    let empty = peek(input).kind == Kind::Sign(")");
    let arguments = if empty { Vec::new() } else { must(expressions(input))? };
    let close = must(token(Kind::Sign(")"), "`)`")(input))?;
    input.state.open.pop();
    let symbol = input.state.ast.intern(name.text);
    let kind = ExpressionKind::Call { name: symbol, name_span: name.span, arguments };
    Ok(input.state.ast.push(kind, name.span.to(close.span)))
}
