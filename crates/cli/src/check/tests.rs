//! Messages of the checker, as the user sees them.

use expect_test::{Expect, expect};

use crate::check::{Shapes, check};
use crate::syntax::parse;

/// The message about `source`, without colours.
fn message(source: &str) -> String {
    let error = match parse(source).and_then(|ast| check(&ast, &Shapes::new())) {
        Ok(program) => panic!("{source:?} is accepted: {program:?}"),
        Err(error) => error,
    };
    anstream::adapter::strip_str(&error.render(source, "test")).to_string()
}

fn says(source: &str, expected: &Expect) {
    expected.assert_eq(&message(source));
}

/// The inputs of a program without mistakes.
fn inputs(source: &str) -> Vec<String> {
    match parse(source).and_then(|ast| check(&ast, &Shapes::new())) {
        Ok(program) => program.input_names().to_vec(),
        Err(_) => panic!("{}", message(source)),
    }
}

#[test]
fn inputs_come_in_the_order_of_appearance_or_declaration() {
    assert_eq!(inputs("x2 * sin(x1) + x2"), ["x2", "x1"]);
    assert_eq!(inputs("input x1, x2, y\nx2 * x1"), ["x1", "x2", "y"]);
    assert_eq!(inputs("a = x; b = a * y; a + b"), ["x", "y"]);
    assert_eq!(inputs("x = x * x\nx"), ["x"]);
    assert_eq!(inputs("y = x + 1; x = x * y; x"), ["x"]);
    assert_eq!(inputs("if x > 0 { x = -x }\nx"), ["x"]);
    assert_eq!(inputs("y = 0; if x > 0 { y = x }; y"), ["x"]);
    assert_eq!(inputs("e^x + pi"), ["x"]);
    assert_eq!(inputs("input e\ne^2"), ["e"]);
    assert_eq!(inputs("e = x; e"), ["x"]);
    assert_eq!(inputs("1 + 2"), [""; 0]);
    assert_eq!(inputs("if x > 0 { y = 1 } else if x < -1 { y = 2 } else { y = 3 }\ny"), ["x"]);
}

#[test]
fn an_empty_program_is_refused() {
    says(
        "",
        &expect![[r#"
        error: the program is empty: there is nothing to differentiate
         --> test:1:1
          |
        1 |
          | ^
          |
          = help: write an expression, such as `x^2 + 1`"#]],
    );
    says(
        "\n# nothing\n",
        &expect![[r#"
        error: the program is empty: there is nothing to differentiate
         --> test:1:1
          |
        1 |
          | ^
          |
          = help: write an expression, such as `x^2 + 1`"#]],
    );
    says(
        "a = x",
        &expect![[r#"
        error: the program has no output
         --> test:1:1
          |
        1 | a = x
          | ^^^^^ the last statement gives no value
          |
          = help: end with an expression, or with `return` and the outputs"#]],
    );
}

#[test]
fn mistakes_of_the_grammar_are_shown_in_place() {
    says(
        "x1 * (x2 +",
        &expect![[r#"
        error: expected an expression, found the end of the input
         --> test:1:11
          |
        1 | x1 * (x2 +
          |           ^ expected an expression"#]],
    );
    says(
        "a = x\nb = 2 a\nb",
        &expect![[r#"
        error: expected an operator or the end of the statement, found `a`
         --> test:2:7
          |
        2 | b = 2 a
          |       ^ expected an operator or the end of the statement
          |
          = help: a product needs its sign: `2 * x`"#]],
    );
    says(
        "a =\n3",
        &expect![[r#"
        error: expected an expression, found the end of the line
         --> test:1:4
          |
        1 | a =
          |    ^ expected an expression
          |
          = help: a line end finishes a statement; parentheses let it go on"#]],
    );
    says(
        "if x = 3 { y = 1 }",
        &expect![[r#"
        error: expected an operator or `{`, found `=`
         --> test:1:6
          |
        1 | if x = 3 { y = 1 }
          |      ^ expected an operator or `{`
          |
          = help: `==` compares; `=` assigns to a name, at the start of a statement"#]],
    );
    says(
        "(x\nreturn x",
        &expect![[r#"
        error: expected an operator or `)`, found `return`
         --> test:2:1
          |
        1 | (x
          | - opened here
        2 | return x
          | ^^^^^^ expected an operator or `)`"#]],
    );
    says(
        "x & y",
        &expect![[r#"
        error: unexpected character `&`
         --> test:1:3
          |
        1 | x & y
          |   ^
          |
          = help: write `&&`"#]],
    );
    says(
        "x ≤ 3",
        &expect![[r#"
        error: unexpected character `≤`
         --> test:1:3
          |
        1 | x ≤ 3
          |   ^
          |
          = help: write `<=`"#]],
    );
    says(
        "x + +1",
        &expect![[r#"
        error: expected an expression, found `+`
         --> test:1:5
          |
        1 | x + +1
          |     ^ expected an expression
          |
          = help: there is no `+` in front of an operand; leave it out"#]],
    );
    says(
        "0 < x < 1",
        &expect![[r#"
        error: comparisons do not chain
         --> test:1:7
          |
        1 | 0 < x < 1
          |   -   ^
          |   |
          |   the first comparison
          |
          = help: write `a < b && b < c`"#]],
    );
}

#[test]
fn names_without_a_value_are_refused() {
    says(
        "y = a + 1\na = 3\ny",
        &expect![[r#"
        error: `a` has no value yet
         --> test:1:5
          |
        1 | y = a + 1
          |     ^ read here
        2 | a = 3
          | - assigned only here
          |
          = help: if `a` is an input, say so first: `input a`"#]],
    );
    says(
        "if x > 0 { b = 1 }\nb",
        &expect![[r#"
        error: `b` may have no value here
         --> test:2:1
          |
        1 | if x > 0 { b = 1 }
          |            - assigned only in this branch
        2 | b
          | ^ read here
          |
          = help: assign `b` before the `if`, or in every branch and `else`"#]],
    );
    says(
        "if x > 0 { b = 1 } else { c = 1 }\nb + c",
        &expect![[r#"
        error: `b` may have no value here
         --> test:2:1
          |
        1 | if x > 0 { b = 1 } else { c = 1 }
          |            - assigned only in this branch
        2 | b + c
          | ^ read here
          |
          = help: assign `b` before the `if`, or in every branch and `else`"#]],
    );
    says(
        "input x1, x2\nx1 * x3",
        &expect![[r#"
        error: unknown name `x3`
         --> test:2:6
          |
        2 | x1 * x3
          |      ^^ neither assigned nor declared by `input`
          |
          = help: did you mean `x1`?"#]],
    );
    says(
        "input x, x\nx",
        &expect![[r#"
        error: the input `x` is declared twice
         --> test:1:10
          |
        1 | input x, x
          |       -  ^
          |       |
          |       declared here already"#]],
    );
    says(
        "y = x\ninput z\ny",
        &expect![[r#"
        error: `input` must come before all other statements
         --> test:2:7
          |
        2 | input z
          |       ^ declared too late"#]],
    );
}

#[test]
fn calls_are_checked_against_the_table() {
    says(
        "sine(x)",
        &expect![[r#"
        error: unknown function `sine`
         --> test:1:1
          |
        1 | sine(x)
          | ^^^^
          |
          = help: did you mean `sin`?"#]],
    );
    says(
        "atan2(x)",
        &expect![[r#"
        error: `atan2` takes 2 arguments, got 1
         --> test:1:1
          |
        1 | atan2(x)
          | ^^^^^
          |
          = help: `atan2(y, x)`: angle of the point (x, y)"#]],
    );
    says(
        "sin()",
        &expect![[r#"
        error: `sin` takes 1 argument, got 0
         --> test:1:1
          |
        1 | sin()
          | ^^^
          |
          = help: `sin(x)`: sine, x in radians"#]],
    );
    says(
        "x + frobnicate(x)",
        &expect![[r#"
        error: unknown function `frobnicate`
         --> test:1:5
          |
        1 | x + frobnicate(x)
          |     ^^^^^^^^^^
          |
          = help: `wengert functions` lists the functions"#]],
    );
    says(
        "x * x(3)",
        &expect![[r#"
        error: `x` is a variable, not a function
         --> test:1:5
          |
        1 | x * x(3)
          |     ^
          |
          = help: a product needs its sign: `x * (…)`"#]],
    );
    says(
        "sin + 1",
        &expect![[r#"
        error: `sin` is a function, not a value
         --> test:1:1
          |
        1 | sin + 1
          | ^^^
          |
          = help: call it: `sin(x)`"#]],
    );
}

#[test]
fn numbers_and_conditions_are_told_apart() {
    says(
        "(x > 0) + 1",
        &expect![[r#"
        error: expected a number, found a condition
         --> test:1:2
          |
        1 | (x > 0) + 1
          |  ^^^^^ a condition
          |
          = help: `select(condition, 1, 0)` makes a number of a condition"#]],
    );
    says(
        "if x { y = 1 } else { y = 2 }\ny",
        &expect![[r#"
        error: expected a condition, found a number
         --> test:1:4
          |
        1 | if x { y = 1 } else { y = 2 }
          |    ^ a number
          |
          = help: compare it, as in `x != 0`; `!` and `-` bind before comparisons"#]],
    );
    says(
        "select(x, 1, 2)",
        &expect![[r#"
        error: expected a condition, found a number
         --> test:1:8
          |
        1 | select(x, 1, 2)
          |        ^ a number
          |
          = help: compare it, as in `x != 0`; `!` and `-` bind before comparisons"#]],
    );
    says(
        "if !x > 0 { y = 1 } else { y = 2 }\ny",
        &expect![[r#"
        error: expected a condition, found a number
         --> test:1:5
          |
        1 | if !x > 0 { y = 1 } else { y = 2 }
          |     ^ a number
          |
          = help: compare it, as in `x != 0`; `!` and `-` bind before comparisons"#]],
    );
    says(
        "x > 0",
        &expect![[r#"
        error: expected a number, found a condition
         --> test:1:1
          |
        1 | x > 0
          | ^^^^^ a condition
          |
          = help: `select(condition, 1, 0)` makes a number of a condition"#]],
    );
    says(
        "sin(x && y)",
        &expect![[r#"
        error: expected a condition, found a number
         --> test:1:5
          |
        1 | sin(x && y)
          |     ^ a number
          |
          = help: compare it, as in `x != 0`; `!` and `-` bind before comparisons"#]],
    );
}

#[test]
fn division_by_the_literal_zero_is_refused() {
    says(
        "x / 0",
        &expect![[r#"
        error: division by the literal zero
         --> test:1:5
          |
        1 | x / 0
          |     ^ always zero"#]],
    );
    says(
        "x / -(0.0)",
        &expect![[r#"
        error: division by the literal zero
         --> test:1:5
          |
        1 | x / -(0.0)
          |     ^^^^^^ always zero"#]],
    );
    says(
        "rem(x, 0)",
        &expect![[r#"
        error: division by the literal zero
         --> test:1:8
          |
        1 | rem(x, 0)
          |        ^ always zero"#]],
    );
}

#[test]
fn outputs_stand_at_the_end() {
    says(
        "return x\ny = 1",
        &expect![[r#"
        error: `return` stands before the end of the program
         --> test:1:1
          |
        1 | return x
          | ^^^^^^ must be the last statement, outside braces
          |
          = help: assign to a name in each branch and return the name at the end"#]],
    );
    says(
        "if x > 0 { return x }\nx",
        &expect![[r#"
        error: `return` stands before the end of the program
         --> test:1:12
          |
        1 | if x > 0 { return x }
          |            ^^^^^^ must be the last statement, outside braces
          |
          = help: assign to a name in each branch and return the name at the end"#]],
    );
    says(
        "x * x\nx",
        &expect![[r#"
        error: this value is not used
         --> test:1:1
          |
        1 | x * x
          | ^^^^^ only the last statement of the program is its output
          |
          = help: assign the value to a name, or take the line out"#]],
    );
}

#[test]
fn very_long_lines_are_cut_around_the_mistake() {
    let source = format!("{}sine(x){}", "x + ".repeat(5_000), " + x".repeat(5_000));
    says(
        &source,
        &expect![[r#"
        error: unknown function `sine`
         --> test:1:20001
          |
        1 | … x + x + x + x + x + x + x + x + x + x + x + x + x + x + x + sine(x) + x + x + x + x + x + x + x + x + x + x + x + x + x + x  …
          |                                                               ^^^^
          |
          = help: did you mean `sin`?"#]],
    );
}
