//! The rows of the Wengert list of a run: names in single-assignment form, texts and partials.

use std::collections::{HashMap, HashSet};

use wengert::ops::{Binary, Unary};

use crate::domain;
use crate::eval::{Entry, Evaluation, Operand, Operation};
use crate::grouped::Units;
use crate::partials::partials;
use crate::program::{Node, Part, Program, Variable};
use crate::report::{Number, Output, Row, RowKind, RowOperand, Value, cut};
use crate::source::Source;
use crate::syntax::span::Span;

/// The rows of `run`, without adjoints and tangents.
pub(crate) fn rows(program: &Program, source: &Source, run: &Evaluation<f64>) -> Vec<Row> {
    let names = names(program, run);
    let lines = Lines::new(&source.text);
    let mut rows = Vec::with_capacity(run.entries.len());
    for (entry, name) in run.entries.iter().zip(&names) {
        let words = Words { program, source, names: &names };
        let operands = words.operands(entry);
        let chosen = chosen(run, entry);
        let edges = entry.operands[..entry.operation.arity()]
            .iter()
            .zip(&operands)
            .zip(partials(run, entry, chosen))
            .enumerate();
        let edges = edges.map(|(side, ((operand, name), partial))| RowOperand {
            row: row_of(*operand),
            name: name.clone(),
            partial: partial.map(Number),
            plain: is_plain(entry.operation, side),
            flows: false,
        });
        let input = matches!(entry.operation, Operation::Input(_));
        rows.push(Row {
            name: name.clone(),
            kind: if input { RowKind::Input } else { RowKind::Operation },
            operation: symbol(entry),
            text: words.text(entry, &operands),
            operands: edges.collect(),
            value: Value::from(entry.value),
            adjoint: None,
            tangent: None,
            line: entry.node.map(|node| lines.line(program.node(node).span)),
            output: false,
        });
    }
    for output in &run.outputs {
        if let Some(row) = row_of(*output) {
            rows[row].output = true;
        }
    }
    mark_flow(run, &mut rows);
    rows
}

/// What there is to say about the values of the list: where one lies outside the domain of its function.
pub(crate) fn notes(run: &Evaluation<f64>, rows: &[Row]) -> Vec<String> {
    run.entries.iter().zip(rows).filter_map(|(entry, row)| note(run, entry, row)).collect()
}

/// What there is to say about the value of an entry, which is shown in this row.
pub(crate) fn note(run: &Evaluation<f64>, entry: &Entry<f64>, row: &Row) -> Option<String> {
    let why = domain::note(run, entry)?;
    let line = row.line.map_or(String::new(), |line| format!("line {line}: "));
    Some(format!("{line}`{} = {}` is {}: {why}", row.name, row.text, Number(entry.value).exact()))
}

/// Marks the operands along which adjoints flow, from the outputs backwards.
fn mark_flow(run: &Evaluation<f64>, rows: &mut [Row]) {
    let mut reached: Vec<bool> = rows.iter().map(|row| row.output).collect();
    for (index, row) in rows.iter_mut().enumerate().rev() {
        let masked = match chosen(run, &run.entries[index]) {
            Some(true) => Some(1),
            Some(false) => Some(0),
            None => None,
        };
        for (side, edge) in row.operands.iter_mut().enumerate() {
            edge.flows = reached[index] && edge.row.is_some() && masked != Some(side);
            if let (true, Some(from)) = (edge.flows, edge.row) {
                reached[from] = true;
            }
        }
    }
}

/// The outputs of `run`.
pub(crate) fn outputs(program: &Program, source: &Source, run: &Evaluation<f64>) -> Vec<Output> {
    let output = |(operand, node): (&Operand, &Node)| Output {
        text: on_one_line(&source.text, program.node(*node).span),
        value: Value::from(run.value(*operand)),
        row: row_of(*operand),
    };
    run.outputs.iter().zip(&program.outputs).map(output).collect()
}

/// The outputs in short, one by one.
pub(crate) fn output_labels(program: &Program, source: &Source) -> Vec<String> {
    let label = |part: &Part| part.labels(&cut(&on_one_line(&source.text, part.span)));
    program.output_parts.iter().flat_map(label).collect()
}

pub(crate) fn row_of(operand: Operand) -> Option<usize> {
    match operand {
        Operand::Entry(index) => Some(index),
        Operand::Constant(_) => None,
    }
}

/// Whether the derivative in this operand is 1 by the operation alone.
fn is_plain(operation: Operation, side: usize) -> bool {
    match operation {
        Operation::Binary(Binary::Add) => true,
        Operation::Binary(Binary::Sub) => side == 0,
        _ => false,
    }
}

/// Whether the condition of a `select` held: then its value is that of the first operand.
fn chosen(run: &Evaluation<f64>, entry: &Entry<f64>) -> Option<bool> {
    match entry.operation {
        Operation::Select(condition) => Some(run.mask(condition)),
        _ => None,
    }
}

/// The start of every line, to find lines fast in long programs.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(index, _)| index).collect())
    }

    pub(crate) fn line(&self, span: Span) -> usize {
        self.0.partition_point(|newline| *newline < span.start as usize) + 1
    }
}

/// The source of a span on one line.
pub(crate) fn on_one_line(text: &str, span: Span) -> String {
    let words: Vec<&str> = text[span.range()].split_whitespace().collect();
    words.join(" ")
}

/// A name for each entry: an input's own, the version of the variable it was first assigned to,
/// or `v` and its number among the operations.
fn names(program: &Program, run: &Evaluation<f64>) -> Vec<String> {
    let versions = Versions::new(program, run);
    let letter = versions.letter();
    let mut names: Vec<Option<String>> = vec![None; run.entries.len()];
    let mut count: HashMap<Variable, usize> = HashMap::new();
    for (index, name) in names.iter_mut().take(program.inputs).enumerate() {
        let variable = Variable(u32::try_from(index).unwrap_or(u32::MAX));
        *name = Some(versions.name(variable, 0));
        count.insert(variable, 1);
    }
    for (variable, operand) in &run.assignments {
        let version = count.entry(*variable).or_default();
        if let Operand::Entry(index) = operand {
            names[*index].get_or_insert_with(|| versions.name(*variable, *version));
        }
        *version += 1;
    }
    if program.has_arrays() {
        return Units::new(program, run).names(names, &letter);
    }
    let numbered = |(index, name): (usize, Option<String>)| {
        name.unwrap_or_else(|| format!("{letter}{}", index + 1 - program.inputs))
    };
    names.into_iter().enumerate().map(numbered).collect()
}

/// How the versions of each variable are called in a run.
struct Versions<'p> {
    program: &'p Program,
    /// What stands between the name of each variable and the number of a version; none for a
    /// variable with one version, which needs no number.
    joints: Vec<Option<String>>,
    taken: HashSet<&'p str>,
}

impl<'p> Versions<'p> {
    fn new(program: &'p Program, run: &Evaluation<f64>) -> Self {
        let mut counts = vec![0_usize; program.variables.len()];
        counts[..program.inputs].fill(1);
        for (variable, _) in &run.assignments {
            counts[variable.0 as usize] += 1;
        }
        let taken: HashSet<&str> = program.variables.iter().map(String::as_str).collect();
        let joint = |(base, count): (&String, usize)| {
            let mut joint = String::new();
            while (0..count).any(|k| taken.contains(format!("{base}{joint}{k}").as_str())) {
                joint.push('_');
            }
            (count > 1).then_some(joint)
        };
        let joints = program.variables.iter().zip(counts).map(joint).collect();
        Self { program, joints, taken }
    }

    /// `a` if the variable has one version, else `a0`, `a1`, …; with an underscore between if
    /// the program has such a name itself.
    fn name(&self, variable: Variable, version: usize) -> String {
        let base = &self.program.variables[variable.0 as usize];
        match &self.joints[variable.0 as usize] {
            // The number of an array stands before the place of its element.
            Some(joint) => match base.find('[') {
                Some(end) => format!("{}{joint}{version}{}", &base[..end], &base[end..]),
                None => format!("{base}{joint}{version}"),
            },
            None => base.clone(),
        }
    }

    /// The letters of nameless entries: `v`, or others if the program has names like `v1` or `v`.
    fn letter(&self) -> String {
        let mut letter = "v".to_owned();
        let clashes = |letter: &str| {
            self.taken.iter().any(|name| {
                let rest = name.strip_prefix(letter);
                rest.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '_'))
            })
        };
        for other in ["w", "u", "t"] {
            if clashes(&letter) {
                other.clone_into(&mut letter);
            }
        }
        while clashes(&letter) {
            letter.push('v');
        }
        letter
    }
}

/// How entries are written.
struct Words<'a> {
    program: &'a Program,
    source: &'a Source,
    names: &'a [String],
}

impl Words<'_> {
    fn operands(&self, entry: &Entry<f64>) -> Vec<String> {
        let word = |operand: &Operand| match operand {
            Operand::Constant(value) => Number(*value).exact(),
            Operand::Entry(index) => self.names[*index].clone(),
        };
        entry.operands[..entry.operation.arity()].iter().map(word).collect()
    }

    /// The operation with its operands, as the language would write it.
    fn text(&self, entry: &Entry<f64>, operands: &[String]) -> String {
        let call = |name: &str| format!("{name}({})", operands.join(", "));
        // A number with a sign needs parentheses beside an operator.
        let side = |index: usize| {
            let word: &String = &operands[index];
            if word.starts_with('-') { format!("({word})") } else { word.clone() }
        };
        match entry.operation {
            Operation::Input(_) => "input".to_owned(),
            Operation::Unary(Unary::Neg) => format!("-{}", side(0)),
            Operation::Unary(Unary::Square) => format!("{}^2", side(0)),
            Operation::Unary(Unary::Powi(n)) => format!("{}^{n}", side(0)),
            Operation::Binary(Binary::Pow) => format!("{}^{}", side(0), side(1)),
            Operation::Unary(op) => call(op.name()),
            Operation::Binary(op) => match infix(op) {
                Some(sign) => format!("{} {sign} {}", side(0), side(1)),
                None => call(op.name()),
            },
            Operation::Clamp => call("clamp"),
            Operation::MulAdd => call("fma"),
            Operation::Select(condition) => {
                let condition = cut(&on_one_line(&self.source.text, self.program.node(condition).span));
                format!("select({condition}, {})", operands.join(", "))
            }
        }
    }
}

/// The operation alone.
fn symbol(entry: &Entry<f64>) -> String {
    match entry.operation {
        Operation::Input(_) => "input".to_owned(),
        Operation::Unary(Unary::Neg) => "-".to_owned(),
        Operation::Unary(Unary::Square) => "^2".to_owned(),
        Operation::Unary(Unary::Powi(n)) => format!("^{n}"),
        Operation::Unary(op) => op.name().to_owned(),
        Operation::Binary(Binary::Pow) => "^".to_owned(),
        Operation::Binary(op) => infix(op).unwrap_or(op.name()).to_owned(),
        Operation::Clamp => "clamp".to_owned(),
        Operation::MulAdd => "fma".to_owned(),
        Operation::Select(_) => "select".to_owned(),
    }
}

/// The sign between the operands, if the operation has one.
fn infix(op: Binary) -> Option<&'static str> {
    match op {
        Binary::Add => Some("+"),
        Binary::Sub => Some("-"),
        Binary::Mul => Some("*"),
        Binary::Div => Some("/"),
        Binary::Rem => Some("%"),
        _ => None,
    }
}
