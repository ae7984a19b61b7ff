//! What belongs to arrays, shown together: one row for an operation on arrays, one value for an array.
//!
//! The program computes with single numbers. Here the rows of a run that come from one operation on arrays, or from one input,
//! become one: a *unit*. The others stay rows of their own.

use crate::eval::{Evaluation, Operand};
use crate::list::{Lines, on_one_line, row_of};
use crate::program::{Group, Part, Program, Word, place};
use crate::report::{Named, Number, Output, Report, Row, RowKind, RowOperand, Value};
use crate::source::Source;

/// The units of a run.
pub(crate) struct Units<'p> {
    program: &'p Program,
    run: &'p Evaluation<f64>,
    units: Vec<Unit<'p>>,
    /// The unit that each entry of the list belongs to.
    of_entry: Vec<Option<usize>>,
}

/// Entries that are shown as one.
struct Unit<'p> {
    /// The operation; none for an input.
    group: Option<&'p Group>,
    shape: &'p [usize],
    /// The first of its entries and the last one.
    first: usize,
    last: usize,
    results: Vec<Operand>,
}

impl<'p> Units<'p> {
    /// The units of this run: of the branches that were taken.
    pub(crate) fn new(program: &'p Program, run: &'p Evaluation<f64>) -> Self {
        let mut units = Vec::new();
        for part in &program.input_parts {
            if let Some(shape) = &part.shape {
                let entries = part.first..part.first + part.count();
                let (first, last) = (entries.start, entries.end - 1);
                units.push(Unit { group: None, shape, first, last, results: entries.map(Operand::Entry).collect() });
            }
        }
        // Entries stand in the order of their nodes: there are no loops.
        let node_of = |entry: &crate::eval::Entry<f64>| entry.node.map_or(0, |node| node.0);
        let computed = &run.entries[program.inputs..];
        for group in &program.groups {
            let start = computed.partition_point(|entry| node_of(entry) < group.nodes.0);
            let end = computed.partition_point(|entry| node_of(entry) < group.nodes.1);
            let results: Option<Vec<Operand>> = group.results.iter().map(|node| run.computed(*node)).collect();
            if let (true, Some(results)) = (start < end, results) {
                let (first, last) = (program.inputs + start, program.inputs + end - 1);
                units.push(Unit { group: Some(group), shape: &group.shape, first, last, results });
            }
        }
        let mut of_entry = vec![None; run.entries.len()];
        for (index, unit) in units.iter().enumerate() {
            of_entry[unit.first..=unit.last].fill(Some(index));
        }
        Self { program, run, units, of_entry }
    }

    /// A name for each entry, given those that variables give: the results of a unit have its name and their places.
    pub(crate) fn names(&self, known: Vec<Option<String>>, letter: &str) -> Vec<String> {
        let mut names: Vec<String> = vec![String::new(); known.len()];
        let mut count = 0;
        for (index, own) in known.iter().enumerate() {
            let unit = self.of_entry[index].map(|unit| &self.units[unit]);
            match unit {
                // The name is made at the last of its entries.
                Some(unit) if index != unit.last => {}
                Some(unit) => {
                    count += usize::from(unit.group.is_some());
                    let name = self.name(unit, &known).unwrap_or_else(|| format!("{letter}{count}"));
                    names[unit.first..=unit.last].fill(name.clone());
                    for (k, result) in unit.results.iter().enumerate() {
                        if let (Operand::Entry(entry), false) = (result, unit.shape.is_empty()) {
                            names[*entry] = format!("{name}{}", place(unit.shape, k));
                        }
                    }
                }
                None => {
                    count += usize::from(index >= self.program.inputs);
                    names[index] = own.clone().unwrap_or_else(|| format!("{letter}{count}"));
                }
            }
        }
        names
    }

    /// The name of the variable whose elements the results are, in order.
    fn name(&self, unit: &Unit<'_>, known: &[Option<String>]) -> Option<String> {
        let of = |operand: &Operand| row_of(*operand).and_then(|entry| known[entry].as_deref());
        let first = of(unit.results.first()?)?;
        if unit.shape.is_empty() {
            return Some(first.to_owned());
        }
        let name = first.strip_suffix(&place(unit.shape, 0))?;
        let is_whole =
            unit.results.iter().enumerate().all(|(k, result)| {
                of(result).is_none_or(|other| other.strip_prefix(name) == Some(&place(unit.shape, k)))
            });
        is_whole.then(|| name.to_owned())
    }

    /// The text of an operation on arrays.
    fn text(&self, words: &[Word], rows: &[Row], source: &Source) -> String {
        words.iter().map(|word| self.word(word, rows, source)).collect()
    }

    fn word(&self, word: &Word, rows: &[Row], source: &Source) -> String {
        match word {
            Word::Text(text) => text.clone(),
            Word::Source(span) => on_one_line(&source.text, *span),
            Word::Number(node) => match self.run.computed(*node) {
                Some(Operand::Entry(entry)) => rows[entry].name.clone(),
                Some(Operand::Constant(value)) if value.is_sign_negative() => format!("({})", Number(value).exact()),
                Some(Operand::Constant(value)) => Number(value).exact(),
                None => on_one_line(&source.text, self.program.node(*node).span),
            },
            Word::Array { nodes, shape, otherwise } => {
                let operands: Option<Vec<Operand>> = nodes.iter().map(|node| self.run.computed(*node)).collect();
                let Some(operands) = operands else { return self.text(otherwise, rows, source) };
                let unit = operands.iter().find_map(|operand| self.of_entry[row_of(*operand)?]);
                if let Some(unit) = unit.map(|unit| &self.units[unit])
                    && unit.results == operands
                    && unit.shape == shape
                {
                    let name = &rows[unit.last].name;
                    return name.split('[').next().unwrap_or(name).to_owned();
                }
                let constant = |operand: &Operand| match operand {
                    Operand::Constant(value) => Some(*value),
                    Operand::Entry(_) => None,
                };
                let constants: Option<Vec<f64>> = operands.iter().map(constant).collect();
                match constants {
                    Some(values) => Value::of(Some(shape), &values).exact(),
                    None => self.text(otherwise, rows, source),
                }
            }
        }
    }
}

/// Shows what belongs to an array together, in all parts of the report but its matrices, whose rows and columns are single
/// numbers.
pub(crate) fn fold(report: &mut Report, program: &Program, source: &Source, run: &Evaluation<f64>) {
    let units = Units::new(program, run);
    let single = std::mem::take(&mut report.list);
    let (list, shown_at) = folded(&units, &single, source);
    report.notes = Vec::new();
    for (entry, row) in run.entries.iter().zip(shown_at.iter().map(|at| &list[*at])) {
        if let Some(note) = crate::list::note(run, entry, row).filter(|note| report.notes.last() != Some(note)) {
            report.notes.push(note);
        }
    }
    report.list = list;
    report.inputs = named(&report.inputs, &program.input_parts);
    report.gradient = report.gradient.as_ref().map(|gradient| named(gradient, &program.input_parts));
    if let Some(directional) = &mut report.directional {
        directional.direction = named(&directional.direction, &program.input_parts);
        directional.derivatives = values(&directional.derivatives, &program.output_parts);
    }
    if let Some(series) = &mut report.series {
        series.direction = named(&series.direction, &program.input_parts);
    }
    let found: Vec<Value> = report.outputs.iter().map(|output| output.value.clone()).collect();
    let output = |(part, value): (&Part, Value)| {
        let rows = report.outputs[part.first..part.first + part.count()].iter().map(|output| output.row);
        let mut rows: Vec<Option<usize>> = rows.map(|row| row.map(|row| shown_at[row])).collect();
        rows.dedup();
        let row = if let [row] = rows[..] { row } else { None };
        Output { text: on_one_line(&source.text, part.span), value, row }
    };
    report.outputs = program.output_parts.iter().zip(values(&found, &program.output_parts)).map(output).collect();
}

/// The values of parts, from the values of their elements.
fn values(single: &[Value], parts: &[Part]) -> Vec<Value> {
    let value = |part: &Part| {
        let elements: Vec<f64> =
            single[part.first..part.first + part.count()].iter().map(|value| value.elements()[0].0).collect();
        Value::of(part.shape.as_deref(), &elements)
    };
    parts.iter().map(value).collect()
}

fn named(single: &[Named], parts: &[Part]) -> Vec<Named> {
    let single: Vec<Value> = single.iter().map(|named| named.value.clone()).collect();
    let named = |(part, value): (&Part, Value)| Named { name: part.name.clone(), value };
    parts.iter().zip(values(&single, parts)).map(named).collect()
}

/// The rows that are shown, and for each single row the one that it is shown in.
fn folded(units: &Units<'_>, single: &[Row], source: &Source) -> (Vec<Row>, Vec<usize>) {
    let lines = Lines::new(&source.text);
    let mut list: Vec<Row> = Vec::new();
    // Until a unit is shown nothing outside of it reads its rows.
    let mut shown_at = vec![0; single.len()];
    for (index, row) in single.iter().enumerate() {
        let Some(unit) = units.of_entry[index].map(|unit| &units.units[unit]) else {
            let mut row = row.clone();
            for operand in &mut row.operands {
                operand.row = operand.row.map(|from| shown_at[from]);
            }
            shown_at[index] = list.len();
            list.push(row);
            continue;
        };
        if index != unit.last {
            continue;
        }
        let inside = unit.first..=unit.last;
        let mut operands: Vec<RowOperand> = Vec::new();
        for operand in single[inside.clone()].iter().flat_map(|row| &row.operands) {
            let Some(from) = operand.row.filter(|from| !inside.contains(from)) else { continue };
            let from = shown_at[from];
            match operands.iter_mut().find(|known| known.row == Some(from)) {
                Some(known) => known.flows |= operand.flows,
                None => {
                    let name = list[from].name.clone();
                    let flows = operand.flows;
                    operands.push(RowOperand { row: Some(from), name, partial: None, plain: true, flows });
                }
            }
        }
        shown_at[inside.clone()].fill(list.len());
        let shape = (!unit.shape.is_empty()).then_some(unit.shape);
        let of = |number: &dyn Fn(&Row) -> Option<f64>| {
            let numbers = unit.results.iter().map(|result| match result {
                Operand::Constant(_) => Some(0.0),
                Operand::Entry(entry) => number(&single[*entry]),
            });
            numbers.collect::<Option<Vec<f64>>>().map(|numbers| Value::of(shape, &numbers))
        };
        let primal: Vec<f64> = unit.results.iter().map(|result| units.run.value(*result)).collect();
        let name = single[unit.last].name.split('[').next().unwrap_or_default().to_owned();
        let number = |value: &Option<Value>| value.as_ref().map(|value| value.elements()[0].0);
        list.push(Row {
            name,
            kind: if unit.group.is_some() { RowKind::Operation } else { RowKind::Input },
            operation: unit.group.map_or("input".to_owned(), |group| group.operation.clone()),
            text: unit.group.map_or("input".to_owned(), |group| units.text(&group.words, single, source)),
            operands,
            value: Value::of(shape, &primal),
            adjoint: of(&|row| number(&row.adjoint)),
            tangent: of(&|row| number(&row.tangent)),
            line: unit.group.map(|group| lines.line(group.span)),
            output: single[inside].iter().any(|row| row.output),
        });
    }
    (list, shown_at)
}
