//! Every format for one small program, and properties of the drawing.

use expect_test::{Expect, expect};

use super::{Labels, render};
use crate::flags::Format;
use crate::grad::report_at;
use crate::report::Report;

/// A program with versions of a variable, a branch, a masked side and a repeated operand.
fn sample() -> Report {
    report_at("a = x1 * x2\na = a * a\nb = select(x1 < 0, ln(x1), -a)\nb + x2^3", &["x1=2,x2=-0.5"])
}

fn looks(format: Format, expected: &Expect) {
    let text = render(&sample(), format, Labels::Telling).expect("it can be rendered");
    expected.assert_eq(&anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn text() {
    looks(
        Format::Text,
        &expect![[r#"
        value at x1 = 2, x2 = -0.5
          b + x2^3  -1.125

        gradient
          d/dx1  -1
          d/dx2  4.75

        Wengert list
          name  operation               value               adjoint
          x1    input                   2                   -1
          x2    input                   -0.5                4.75
          a0    x1 * x2                 -1                  2
          a1    a0 * a0                 1                   -1
          v3    ln(x1)                  0.6931471805599453  0
          v4    -a1                     -1                  1
          b     select(x1 < 0, v3, v4)  -1                  1
          v6    x2^3                    -0.125              1
          v7    b + v6                  -1.125              1
    "#]],
    );
}

#[test]
fn latex() {
    looks(
        Format::Latex,
        &expect![[r#"
        % needs \usepackage{amsmath,booktabs}
        \[
        \begin{array}{llll}
        \toprule
        \text{name} & \text{operation} & \text{value} & \text{adjoint} \\
        \midrule
        x_{1} & \text{input} & 2 & -1 \\
        x_{2} & \text{input} & -0.5 & 4.75 \\
        a_{0} & {x_{1}} \cdot  {x_{2}} & -1 & 2 \\
        a_{1} & {a_{0}} \cdot  {a_{0}} & 1 & -1 \\
        v_{3} & \operatorname{ln}({x_{1}}) & 0.6931471805599453 & 0 \\
        v_{4} & -{a_{1}} & -1 & 1 \\
        b & \operatorname{select}({x_{1}} < {0},\, {v_{3}},\, {v_{4}}) & -1 & 1 \\
        v_{6} & {x_{2}}^{3} & -0.125 & 1 \\
        v_{7} & {b} + {v_{6}} & -1.125 & 1 \\
        \bottomrule
        \end{array}
        \]
        \[
        \frac{\partial f}{\partial x_{1}} = -1,\quad
        \frac{\partial f}{\partial x_{2}} = 4.75
        \]
    "#]],
    );
}

#[test]
fn dot() {
    looks(
        Format::Dot,
        &expect![[r##"
            digraph wengert {
              rankdir=LR;
              bgcolor=white;
              node [shape=box, style="rounded,filled", fillcolor="#f6f8fa", color="#8c959f", fontname="Helvetica"];
              edge [color="#6e7781", fontname="Helvetica", fontsize=10];
              n0 [label="x1\nvalue 2\nadjoint -1", fillcolor="#ddf4ff", color="#0969da"];
              n1 [label="x2\nvalue -0.5\nadjoint 4.75", fillcolor="#ddf4ff", color="#0969da"];
              n2 [label="a0 = x1 * x2\nvalue -1\nadjoint 2"];
              n3 [label="a1 = a0 * a0\nvalue 1\nadjoint -1"];
              n4 [label="v3 = ln(x1)\nvalue 0.69315\nadjoint 0"];
              n5 [label="v4 = -a1\nvalue -1\nadjoint 1"];
              n6 [label="b = select(x1 < 0, v3, v4)\nvalue -1\nadjoint 1"];
              n7 [label="v6 = x2^3\nvalue -0.125\nadjoint 1"];
              n8 [label="v7 = b + v6\nvalue -1.125\nadjoint 1", fillcolor="#dafbe1", color="#2da44e"];
              n0 -> n2 [label="-0.5\nadjoint -1"];
              n1 -> n2 [label="2\nadjoint 4"];
              n2 -> n3 [label="-1\nadjoint 1"];
              n2 -> n3 [label="-1\nadjoint 1"];
              n0 -> n4 [label="0.5\nadjoint 0"];
              n3 -> n5 [label="-1\nadjoint -1"];
              n4 -> n6 [label="0\nadjoint 0"];
              n5 -> n6 [label="1\nadjoint 1"];
              n1 -> n7 [label="0.75\nadjoint 0.75"];
              n6 -> n8;
              n7 -> n8;
            }
        "##]],
    );
}

#[test]
fn json() {
    let report = report_at("x^2", &["x=3"]);
    let text = render(&report, Format::Json, Labels::Telling).expect("it can be rendered");
    expect![[r#"
        {
          "program": "x^2",
          "inputs": [
            {
              "name": "x",
              "value": 3.0
            }
          ],
          "outputs": [
            {
              "text": "x^2",
              "value": 9.0,
              "row": 1
            }
          ],
          "gradient": [
            {
              "name": "x",
              "value": 6.0
            }
          ],
          "list": [
            {
              "name": "x",
              "kind": "input",
              "operation": "input",
              "text": "input",
              "operands": [],
              "value": 3.0,
              "adjoint": 6.0,
              "output": false
            },
            {
              "name": "v1",
              "kind": "operation",
              "operation": "^2",
              "text": "x^2",
              "operands": [
                {
                  "row": 0,
                  "name": "x",
                  "partial": 6.0,
                  "flows": true
                }
              ],
              "value": 9.0,
              "adjoint": 1.0,
              "line": 1,
              "output": true
            }
          ]
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_drawing_shows_every_row_and_closes_every_tag() {
    let report = sample();
    let text = render(&report, Format::Svg, Labels::Telling).expect("it can be rendered");
    for row in &report.list {
        assert!(text.contains(&format!(">{}", row.name)), "{}", row.name);
        assert!(text.contains(&format!(">{}<", row.value.short())), "{}", row.name);
    }
    // Text of the program cannot become a tag.
    assert!(text.contains("select(x1 &lt; 0, v3, v4)"), "{text}");
    for tag in ["svg", "g", "text", "title", "defs", "marker"] {
        let opened = text.matches(&format!("<{tag} ")).count() + text.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, text.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

#[test]
fn a_drawing_that_no_one_can_read_is_refused() {
    let long = report_at(&format!("{}x", "x + ".repeat(600)), &["x=1"]);
    assert!(render(&long, Format::Svg, Labels::Telling).is_err());
    assert!(render(&long, Format::Dot, Labels::Telling).is_ok());
}

/// The words of a drawing, in order.
fn words(text: &str) -> Vec<&str> {
    let pieces = text.split("<text ").skip(1);
    pieces.filter_map(|piece| piece.split_once('>')?.1.split_once('<')).map(|(inside, _)| inside).collect()
}

#[test]
fn a_title_is_never_cut_and_stays_in_the_drawing() {
    let name = |k: usize| format!("quite_a_long_name_{k}");
    let sum: Vec<String> = (0..12).map(|k| format!("{}*{k}.5", name(k))).collect();
    let at: Vec<String> = (0..12).map(|k| format!("{}={k}", name(k))).collect();
    for program in [sum.join(" + "), sum.join("+"), format!("{} + 0*x", "y".repeat(300))] {
        let at = [at.join(","), format!("x=1,{}=2", "y".repeat(300))];
        let at: Vec<&str> = if program.contains("quite") { vec![&at[0]] } else { vec![&at[1]] };
        let report = report_at(&program, &at);
        let text = render(&report, Format::Svg, Labels::Telling).expect("it can be rendered");
        let width: f64 = text.split('"').nth(3).and_then(|width| width.parse().ok()).expect("a width");
        // The lines of the title are those in its size.
        let lines = text.lines().filter(|line| line.contains("font-size=\"16\"")).collect::<Vec<_>>().join("\n");
        let lines = words(&lines);
        let whole: String = lines.concat().split_whitespace().collect();
        let expected: String = text
            .split("<title>")
            .nth(1)
            .and_then(|t| t.split('<').next())
            .expect("a title")
            .split_whitespace()
            .collect();
        assert_eq!(whole, expected);
        assert!(whole.contains(&program.split_whitespace().collect::<String>()), "{whole}");
        for line in lines {
            // A letter of a bold font takes at least a third of its size, most twice that.
            assert!(6.0 * line.chars().count() as f64 <= width, "{line}");
        }
    }
}

#[test]
fn edges_of_sums_have_labels_only_if_asked_for() {
    let report = report_at("x*y + x - y", &["x=2,y=3"]);
    for format in [Format::Svg, Format::Dot] {
        let label = |number: &str| {
            if format == Format::Svg { format!("∂ {number}<") } else { format!("[label=\"{number}\\n") }
        };
        let count = |labels, number: &str| {
            render(&report, format, labels).expect("it can be rendered").matches(&label(number)).count()
        };
        // The operands of the product, the last of the difference; then also both of the sum and the first of the difference.
        let of = |labels| ["2", "3", "-1", "1"].map(|number| count(labels, number));
        assert_eq!((of(Labels::Telling), of(Labels::All)), ([1, 1, 1, 0], [1, 1, 1, 3]));
    }
}

#[test]
fn small_drawings_have_one_width() {
    let widths = ["x", "x + 1", "sin(x) * cos(x) / (1 + x)"].map(|program| {
        let text = render(&report_at(program, &["x=1"]), Format::Svg, Labels::Telling).expect("it can be rendered");
        text.split('"').nth(3).map(str::to_owned)
    });
    assert_eq!(widths, ["720"; 3].map(|width| Some(width.to_owned())));
}

#[test]
fn contributions_of_the_edges_add_up_to_the_adjoints() {
    // The adjoints come from the library's reverse sweep, the partials from its rules one by one.
    let report = report_at(
        "input x, y\na = fma(x, y, tanh(x))\nb = clamp(a, x, 3) * hypot(x, y)\nc = max(b, y) / (1 + a^2)\n\
         if c > 0 { d = c^y } else { d = -c }\nd - atan2(d, sqrt(x))",
        &["x=0.7,y=1.3"],
    );
    let mut sums = vec![0.0; report.list.len()];
    for row in report.list.iter().rev() {
        for edge in &row.operands {
            if let (Some(from), Some(flow)) = (edge.row, super::contribution(row, edge)) {
                sums[from] += flow;
            }
        }
    }
    for (row, sum) in report.list.iter().zip(sums) {
        let adjoint = row.adjoint.as_ref().map_or(f64::NAN, |adjoint| adjoint.elements()[0].0);
        let expected = if row.output { 1.0 } else { sum };
        assert!((adjoint - expected).abs() <= 1e-14 * (1.0 + adjoint.abs()), "{}: {adjoint} {sum}", row.name);
    }
}

#[test]
fn nothing_flows_into_the_side_that_was_not_chosen() {
    let report = report_at("select(x > 0, x, sqrt(x))", &["x=0.0"]);
    assert_eq!(report.gradient.as_ref().map(|g| g[0].value.elements()[0].0), Some(f64::INFINITY));
    let report = report_at("select(x >= 0, x, ln(x)^2)", &["x=0"]);
    assert_eq!(report.gradient.as_ref().map(|g| g[0].value.elements()[0].0), Some(1.0));
    let flows = report.list.iter().map(|row| row.operands.iter().map(|e| e.flows).collect());
    let flows: Vec<Vec<bool>> = flows.collect();
    assert_eq!(flows, [vec![], vec![false], vec![false], vec![true, false]]);
    for row in &report.list {
        for edge in &row.operands {
            assert!(super::contribution(row, edge).is_some_and(f64::is_finite), "{}", row.name);
        }
    }
}

#[test]
fn names_of_rows_are_all_different() {
    // Names that the rows would have are taken by the program itself.
    let report = report_at(
        "input x, x0, v1, w2\nx = x * x0\nx = x + v1\na = x; b = a; x = x * w2\nx + b * sin(x)",
        &["x=1,x0=2,v1=3,w2=4"],
    );
    let mut names: Vec<&str> = report.list.iter().map(|row| row.name.as_str()).collect();
    let shown = names.join(" ");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), report.list.len(), "{shown}");
    assert_eq!(shown, "x_0 x0 v1 w2 x_1 x_2 x_3 u4 u5 u6");
}
