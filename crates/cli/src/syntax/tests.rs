//! Tests of the parser and the printer: one tree for one text, and no text that breaks them.

use proptest::prelude::*;

use super::ast::{Arm, Ast, ExpressionKind, Infix, NodeId, Prefix, Statement, Subscript};
use super::parse::MAX_DEPTH;
use super::span::Span;
use super::{parse, print};

/// The text that the printer makes of the tree of `source`.
fn reprint(source: &str) -> String {
    match parse(source) {
        Ok(ast) => print::program(&ast),
        Err(error) => panic!("{source:?}: {}", error.title),
    }
}

/// The title of the first mistake in `source`.
fn mistake(source: &str) -> String {
    match parse(source) {
        Ok(ast) => panic!("{source:?} parsed as {}", print::program(&ast)),
        Err(error) => error.title,
    }
}

/// The text with a parenthesis around every operator, to show how it groups.
fn grouped(ast: &Ast, id: NodeId) -> String {
    let kind = &ast.expression(id).kind;
    let parts: Vec<String> = kind.operands().iter().map(|part| grouped(ast, *part)).collect();
    match kind {
        ExpressionKind::Prefix(prefix, _) => format!("({}{})", prefix.text(), parts[0]),
        ExpressionKind::Infix(operator, ..) => {
            format!("({} {} {})", parts[0], operator.text(), parts[1])
        }
        ExpressionKind::Call { name, .. } => format!("{}({})", ast.name(*name), parts.join(", ")),
        _ => print::expression(ast, id),
    }
}

fn groups(source: &str) -> String {
    let ast = parse(source).unwrap_or_else(|error| panic!("{source:?}: {}", error.title));
    match &ast.body[..] {
        [Statement::Bare { values }] => grouped(&ast, values[0]),
        other => panic!("not one expression: {other:?}"),
    }
}

#[test]
fn operators_group_as_documented() {
    for (source, expected) in [
        ("a - b - c", "((a - b) - c)"),
        ("a + b * c", "(a + (b * c))"),
        ("a / b * c", "((a / b) * c)"),
        ("a ^ b ^ c", "(a ^ (b ^ c))"),
        ("a ** b", "(a ^ b)"),
        ("-x^2", "(-(x ^ 2))"),
        ("2^-x^2", "(2 ^ (-(x ^ 2)))"),
        ("--x", "(-(-x))"),
        ("-x * y", "((-x) * y)"),
        ("x * -y", "(x * (-y))"),
        ("a < b && c >= d || !(e == f)", "(((a < b) && (c >= d)) || (!(e == f)))"),
        ("a || b && c", "(a || (b && c))"),
        ("a + b < c * d", "((a + b) < (c * d))"),
        ("(a + b) * c", "((a + b) * c)"),
        ("f(a, b)^2", "(f(a, b) ^ 2)"),
        ("x % 2 * 3", "((x % 2) * 3)"),
    ] {
        assert_eq!(groups(source), expected, "{source}");
    }
}

#[test]
fn numbers_are_read_to_the_nearest_double() {
    for (source, value) in [
        ("1", 1.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e-3", 1e-3),
        ("2.5E+2", 250.0),
        ("0.1", 0.1),
        ("1e-400", 0.0),
        ("179769313486231570000000000000e279", f64::MAX),
    ] {
        let ast = parse(source).unwrap_or_else(|error| panic!("{source}: {}", error.title));
        assert_eq!(ast.expressions[0].kind, ExpressionKind::Number(value), "{source}");
    }
    assert_eq!(mistake("1e999"), "this number is too large");
}

#[test]
fn statements_print_one_a_line() {
    let source = "# a comment
input x1, x2; let a = x1 * x2 // another
if x1>0&&a<=3 {b=sin(a)} else if x2 == 0 { b = 1; c = 2 }
else { b = (1
  + 2) }
return b, a+1";
    let expected = "input x1, x2
a = x1 * x2
if x1 > 0 && a <= 3 {
    b = sin(a)
} else if x2 == 0 {
    b = 1
    c = 2
} else {
    b = 1 + 2
}
return b, a + 1
";
    assert_eq!(reprint(source), expected);
    assert_eq!(reprint(expected), expected);
    assert_eq!(reprint("\u{feff}x\r\n"), "x\n");
}

#[test]
fn mistakes_name_what_was_expected() {
    for (source, expected) in [
        ("x1 +", "expected an expression, found the end of the input"),
        ("x1 * (x2 + 3", "expected an operator or `)`, found the end of the input"),
        ("2 x", "expected an operator, `,` or the end of the statement, found `x`"),
        ("sin(x", "expected an operator, `,` or `)`, found the end of the input"),
        ("f(x,)", "expected an expression, found `)`"),
        ("x)", "expected an operator, `,` or the end of the statement, found `)`"),
        ("let = 3", "expected a name, found `=`"),
        ("let a 3", "expected `=`, found a number"),
        ("a = ", "expected an expression, found the end of the input"),
        ("input 3", "expected a name, found a number"),
        ("if x > 0 y = 1", "expected an operator or `{`, found `y`"),
        ("if x > 0 { y = 1", "expected an operator or `}`, found the end of the input"),
        ("if x > 0 { y = 1 } else y", "expected `if` or `{`, found `y`"),
        ("}", "expected a statement or the end of the input, found `}`"),
        (")", "expected a statement or an expression, found `)`"),
        ("else { }", "expected a statement or an expression, found `else`"),
        ("a < b < c", "comparisons do not chain"),
        ("a $ b", "unexpected character `$`"),
        ("x[", "expected a place in the array, found the end of the input"),
        ("x[0", "expected `]`, found the end of the input"),
        ("x[1.5]", "a place in an array is a whole number"),
        ("x[i]", "expected a place in the array, found `i`"),
        ("[]", "expected an expression, found `]`"),
        ("[1, 2", "expected an operator, `,` or `]`, found the end of the input"),
        ("x.Total", "unexpected character `.`"),
        ("a & b", "unexpected character `&`"),
    ] {
        assert_eq!(mistake(source), expected, "{source}");
    }
}

/// Runs `f` on a small stack: four times less than the smallest that a platform gives a thread.
fn on_a_small_stack(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 * 1024).spawn(f);
    thread.expect("threads can be started").join().expect("the stack was enough");
}

#[test]
fn nesting_is_bounded() {
    on_a_small_stack(|| {
        let nested = |depth| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(reprint(&nested(MAX_DEPTH)), "x\n");
        assert_eq!(mistake(&nested(MAX_DEPTH + 1)), "nested more than 256 levels deep");
        assert_eq!(mistake(&nested(10_000)), "nested more than 256 levels deep");
        assert_eq!(mistake(&"sin(".repeat(10_000)), "nested more than 256 levels deep");
        assert_eq!(mistake(&"if x > 0 {".repeat(10_000)), "nested more than 256 levels deep");
        let calls = format!("{}x{}\n", "sin(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        assert_eq!(reprint(&calls), calls);
    });
}

#[test]
fn chains_may_be_long() {
    on_a_small_stack(|| {
        let sum = format!("{}x\n", "x + ".repeat(100_000));
        assert_eq!(reprint(&sum), sum);
        let tower = format!("{}x\n", "x^".repeat(100_000));
        assert_eq!(reprint(&tower), tower);
        let signs = format!("{}x\n", "-".repeat(100_000));
        assert_eq!(reprint(&signs), signs);
        assert_eq!(mistake(&"-".repeat(1 << 20)), "expected an expression, found the end of the input");
        let arms = format!("if x > 0 {{\n}}{}\n", " else if x > 0 {\n}".repeat(20_000));
        assert_eq!(reprint(&arms), arms);
    });
}

/// A tree that owns its parts, for generating and comparing.
#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Number(f64),
    Name(String),
    Prefix(Prefix, Box<Tree>),
    Infix(Infix, Box<Tree>, Box<Tree>),
    Call(String, Vec<Tree>),
    Array(Vec<Tree>),
    Part(Box<Tree>, Vec<Subscript>),
    Transposed(Box<Tree>),
}

/// A statement that owns its parts.
#[derive(Clone, Debug, PartialEq)]
enum Line {
    Input(Vec<String>),
    Assign(String, Tree),
    If(Vec<(Tree, Vec<Line>)>, Option<Vec<Line>>),
    Return(Vec<Tree>),
    Bare(Vec<Tree>),
}

fn plant(ast: &mut Ast, tree: &Tree) -> NodeId {
    let here = Span::default();
    let kind = match tree {
        Tree::Number(value) => ExpressionKind::Number(*value),
        Tree::Name(name) => ExpressionKind::Name(ast.intern(name)),
        Tree::Prefix(prefix, x) => ExpressionKind::Prefix(*prefix, plant(ast, x)),
        Tree::Infix(operator, x, y) => {
            let (x, y) = (plant(ast, x), plant(ast, y));
            ExpressionKind::Infix(*operator, x, y)
        }
        Tree::Call(name, arguments) => {
            let arguments = arguments.iter().map(|argument| plant(ast, argument)).collect();
            ExpressionKind::Call { name: ast.intern(name), name_span: here, arguments }
        }
        Tree::Array(elements) => ExpressionKind::Array(elements.iter().map(|element| plant(ast, element)).collect()),
        Tree::Part(x, subscripts) => ExpressionKind::Part { array: plant(ast, x), subscripts: subscripts.clone() },
        Tree::Transposed(x) => ExpressionKind::Transposed(plant(ast, x)),
    };
    ast.push(kind, here)
}

fn plant_lines(ast: &mut Ast, lines: &[Line]) -> Vec<Statement> {
    let here = Span::default();
    let mut statements = Vec::new();
    for line in lines {
        statements.push(match line {
            Line::Input(names) => Statement::Input(names.iter().map(|name| (ast.intern(name), here)).collect()),
            Line::Assign(name, value) => {
                let value = plant(ast, value);
                Statement::Assign { target: ast.intern(name), target_span: here, value }
            }
            Line::If(arms, otherwise) => {
                let mut planted = Vec::new();
                for (condition, block) in arms {
                    let condition = plant(ast, condition);
                    planted.push(Arm { condition, block: plant_lines(ast, block) });
                }
                let otherwise = otherwise.as_ref().map(|block| plant_lines(ast, block));
                Statement::If { arms: planted, otherwise }
            }
            Line::Return(values) => {
                let values = values.iter().map(|value| plant(ast, value)).collect();
                Statement::Return { span: here, values }
            }
            Line::Bare(values) => Statement::Bare { values: values.iter().map(|value| plant(ast, value)).collect() },
        });
    }
    statements
}

fn lift(ast: &Ast, id: NodeId) -> Tree {
    match &ast.expression(id).kind {
        ExpressionKind::Number(value) => Tree::Number(*value),
        ExpressionKind::Name(name) => Tree::Name(ast.name(*name).to_owned()),
        ExpressionKind::Prefix(prefix, x) => Tree::Prefix(*prefix, Box::new(lift(ast, *x))),
        ExpressionKind::Infix(operator, x, y) => {
            Tree::Infix(*operator, Box::new(lift(ast, *x)), Box::new(lift(ast, *y)))
        }
        ExpressionKind::Call { name, arguments, .. } => {
            Tree::Call(ast.name(*name).to_owned(), lift_all(ast, arguments))
        }
        ExpressionKind::Array(elements) => Tree::Array(lift_all(ast, elements)),
        ExpressionKind::Part { array, subscripts } => Tree::Part(Box::new(lift(ast, *array)), subscripts.clone()),
        ExpressionKind::Transposed(x) => Tree::Transposed(Box::new(lift(ast, *x))),
    }
}

fn lift_all(ast: &Ast, ids: &[NodeId]) -> Vec<Tree> {
    ids.iter().map(|id| lift(ast, *id)).collect()
}

fn lift_lines(ast: &Ast, statements: &[Statement]) -> Vec<Line> {
    let name = |symbol| ast.name(symbol).to_owned();
    let line = |statement: &Statement| match statement {
        Statement::Input(names) => Line::Input(names.iter().map(|(n, _)| name(*n)).collect()),
        Statement::Assign { target, value, .. } => Line::Assign(name(*target), lift(ast, *value)),
        Statement::If { arms, otherwise } => Line::If(
            arms.iter().map(|arm| (lift(ast, arm.condition), lift_lines(ast, &arm.block))).collect(),
            otherwise.as_ref().map(|block| lift_lines(ast, block)),
        ),
        Statement::Return { values, .. } => Line::Return(lift_all(ast, values)),
        Statement::Bare { values } => Line::Bare(lift_all(ast, values)),
    };
    statements.iter().map(line).collect()
}

fn names() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &["x", "x1", "a_b", "sin", "pow", "e", "pi", "θ", "_", "iff", "e2"];
    prop::sample::select(WORDS).prop_map(str::to_owned)
}

fn subscripts() -> impl Strategy<Value = Subscript> {
    let bound = || prop::option::of(-9_i64..10);
    prop_oneof![
        (-9_i64..10).prop_map(Subscript::At),
        (bound(), bound()).prop_map(|(start, end)| Subscript::Range(start, end)),
    ]
}

fn trees() -> impl Strategy<Value = Tree> {
    let number = prop_oneof![
        (0_u32..100).prop_map(f64::from),
        prop::num::f64::POSITIVE | prop::num::f64::NORMAL,
        prop::num::f64::SUBNORMAL,
    ];
    let leaf = prop_oneof![number.prop_map(|value: f64| Tree::Number(value.abs())), names().prop_map(Tree::Name)];
    leaf.prop_recursive(8, 60, 3, |inner| {
        let prefix = prop::sample::select(&[Prefix::Neg, Prefix::Not][..]);
        let infix = prop::sample::select(Infix::ALL);
        prop_oneof![
            1 => (prefix, inner.clone()).prop_map(|(p, x)| Tree::Prefix(p, Box::new(x))),
            3 => (infix, inner.clone(), inner.clone())
                .prop_map(|(o, x, y)| Tree::Infix(o, Box::new(x), Box::new(y))),
            1 => (names(), prop::collection::vec(inner.clone(), 0..4))
                .prop_map(|(name, arguments)| Tree::Call(name, arguments)),
            1 => prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::Array),
            1 => (inner.clone(), prop::collection::vec(subscripts(), 1..3))
                .prop_map(|(x, subscripts)| Tree::Part(Box::new(x), subscripts)),
            1 => inner.prop_map(|x| Tree::Transposed(Box::new(x))),
        ]
    })
}

fn programs() -> impl Strategy<Value = Vec<Line>> {
    let several = || prop::collection::vec(trees(), 1..3);
    let simple = prop_oneof![
        prop::collection::vec(names(), 1..3).prop_map(Line::Input),
        (names(), trees()).prop_map(|(name, value)| Line::Assign(name, value)),
        several().prop_map(Line::Return),
        several().prop_map(Line::Bare),
    ];
    let line = simple.prop_recursive(3, 12, 3, |inner| {
        let block = || prop::collection::vec(inner.clone(), 0..3);
        let arms = prop::collection::vec((trees(), block()), 1..3);
        (arms, prop::option::of(block())).prop_map(|(arms, otherwise)| Line::If(arms, otherwise))
    });
    prop::collection::vec(line, 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Printing and parsing are inverse to one another.
    #[test]
    fn parsing_what_was_printed_gives_the_tree(lines in programs()) {
        let mut ast = Ast::default();
        ast.body = plant_lines(&mut ast, &lines);
        let text = print::program(&ast);
        let parsed = parse(&text).map_err(|e| TestCaseError::fail(format!("{text}\n{}", e.title)))?;
        prop_assert_eq!(lift_lines(&parsed, &parsed.body), lines, "{}", text);
    }

    /// No text panics, and the place of every message lies in the text.
    #[test]
    fn any_text_is_parsed_or_refused(text in any::<String>()) {
        check_any(&text)?;
    }

    /// The same for texts made of the pieces of the language, which get further.
    #[test]
    fn any_tokens_are_parsed_or_refused(
        pieces in prop::collection::vec(
            prop::sample::select(&[
                "x", "y1", "sin", "(", ")", ",", "+", "-", "*", "^", "**", "/", "%", "<", "==",
                "&&", "||", "!", "=", "{", "}", "if ", "else ", "let ", "return ", "input ", ";",
                "\n", "1", ".5", "2e", "1e9", " ", "#", "//", "θ", "\r", "@", "²", "[", "]", ":", ".T", "-1",
            ][..]),
            0..30,
        )
    ) {
        check_any(&pieces.concat())?;
    }
}

fn check_any(text: &str) -> Result<(), TestCaseError> {
    match parse(text) {
        Ok(ast) => {
            let printed = print::program(&ast);
            let again = parse(&printed);
            prop_assert!(again.is_ok(), "{text:?} printed as {printed:?}");
        }
        Err(error) => {
            prop_assert!(error.span.range().end <= text.len());
            prop_assert!(text.get(error.span.range()).is_some(), "{error:?}");
            let shown = error.render(text, "test");
            prop_assert!(shown.contains("error"));
        }
    }
    Ok(())
}
