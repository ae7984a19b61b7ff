//! `wengert grad`: the requested derivatives at a point, as a report.

use crate::check::{Shapes, check};
use crate::derivatives;
use crate::differences::{self, Verdict};
use crate::eval::{self, Evaluation, Operand};
use crate::failure::Failure;
use crate::flags::{Format, Grad};
use crate::grouped;
use crate::list;
use crate::output;
use crate::point;
use crate::program::Program;
use crate::render::{Labels, render};
use crate::report::{Check, CheckEntry, Directional, Named, Number, Report, Series, Value};
use crate::source::{self, Source};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::parse;

/// Runs the command.
pub(crate) fn run(flags: &Grad, color: anstream::ColorChoice) -> Result<(), Failure> {
    let source = source::read(&flags.program)?;
    let program = read_program(&source, &point::shapes("--at", &flags.at)?)?;
    let report = report(flags, &source, &program)?;
    let labels = if flags.labels { Labels::All } else { Labels::Telling };
    let text = render(&report, flags.format, labels)?;
    // Only the tables have colours.
    let color = if flags.format == Format::Text { color } else { anstream::ColorChoice::Never };
    output::write(&text, flags.out.as_deref(), color)?;
    match &report.check {
        Some(check) if !check.agrees => {
            let wrong = check.entries.iter().filter(|entry| !entry.agrees);
            let names: Vec<&str> = wrong.map(|entry| entry.name.as_str()).collect();
            Err(Failure::Check(format!(
                "{} of {} derivatives do not agree with differences: {}",
                names.len(),
                check.entries.len(),
                names.join(", ")
            )))
        }
        _ => Ok(()),
    }
}

/// The checked program.
fn read_program(source: &Source, shapes: &Shapes) -> Result<Program, Failure> {
    let parsed = parse(&source.text);
    if parsed.is_err() && source.may_be_path {
        return Err(Failure::File(format!("there is no file `{}`, and it is no expression either", source.text)));
    }
    parsed.and_then(|ast| check(&ast, shapes)).map_err(|message| Failure::program(source, &message))
}

/// Everything the flags ask for.
fn report(flags: &Grad, source: &Source, program: &Program) -> Result<Report, Failure> {
    let point = point::values(program, "--at", &flags.at)?;
    let single = program.outputs.len() == 1;
    if !single && flags.hessian {
        return Err(several(source, program, "a Hessian is that of one output"));
    }
    if !single && !flags.jacobian && flags.jvp.is_empty() && flags.order.is_none() {
        return Err(several(source, program, "a gradient is that of one output; `--jacobian` takes several"));
    }
    if flags.jacobian {
        limit("Jacobian", program.outputs.len(), program.inputs)?;
    }
    if flags.hessian {
        limit("Hessian", program.inputs, program.inputs)?;
    }
    let run = eval::run(program, &point);
    let rows = list::rows(program, source, &run);
    let mut report = Report {
        program: source.text.clone(),
        notes: list::notes(&run, &rows),
        input_labels: program.input_names().to_vec(),
        output_labels: list::output_labels(program, source),
        inputs: named(program, &point),
        outputs: list::outputs(program, source, &run),
        list: rows,
        ..Report::default()
    };
    if single {
        let adjoints = derivatives::adjoints(program, &point, run.entries.len() - program.inputs);
        report.gradient = Some(named(program, &adjoints));
        for (row, adjoint) in report.list.iter_mut().zip(&adjoints) {
            row.adjoint = Some(Value::from(*adjoint));
        }
    }
    if !flags.jvp.is_empty() {
        let direction = point::values(program, "--jvp", &flags.jvp)?;
        let tangents = derivatives::tangents(program, &point, &direction);
        for (row, tangent) in report.list.iter_mut().zip(&tangents) {
            row.tangent = Some(Value::from(*tangent));
        }
        report.directional = Some(directional(program, &run, &direction, &tangents));
    }
    if flags.jacobian {
        report.jacobian = Some(numbers(derivatives::jacobian_of(program, &point)));
    }
    if flags.hessian {
        report.hessian = Some(numbers(derivatives::hessian_of(program, &point)));
    }
    if let Some(order) = flags.order {
        report.series = Some(series(flags, program, &point, order)?);
    }
    if flags.check {
        report.check = Some(compare(program, &point, &report));
    }
    if program.has_arrays() {
        grouped::fold(&mut report, program, source, &run);
    }
    Ok(report)
}

/// The report on a program at a point, for tests of what is made of reports.
#[cfg(test)]
pub(crate) fn report_at(text: &str, at: &[&str]) -> Report {
    use clap::Parser;
    let mut arguments = vec!["wengert", "grad", text];
    arguments.extend(at.iter().flat_map(|values| ["--at", values]));
    let flags = crate::flags::Flags::parse_from(arguments);
    let crate::flags::Command::Grad(flags) = flags.command else { panic!("not `grad`") };
    let source = Source { name: "test".into(), text: text.into(), may_be_path: false };
    let shapes = point::shapes("--at", &flags.at).unwrap_or_default();
    let made = read_program(&source, &shapes).and_then(|program| report(&flags, &source, &program));
    made.unwrap_or_else(|failure| panic!("{failure}"))
}

/// Refuses matrices that nobody can read and that may not fit in memory.
fn limit(name: &str, rows: usize, columns: usize) -> Result<(), Failure> {
    const MOST: usize = 1_000_000;
    if rows.saturating_mul(columns) <= MOST {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "the {name} would have {rows} times {columns} entries, and at most {MOST} are computed"
    )))
}

/// The message about too many outputs, shown at the second, or at the array that they are.
fn several(source: &Source, program: &Program, why: &str) -> Failure {
    let message = match &program.output_parts[..] {
        [only] if only.shape.is_some() => {
            let shape = only.shape.as_deref().unwrap_or_default();
            Diagnostic::new(only.span, format!("the output is an array of shape {shape:?}, {} numbers", only.count()))
                .label("an array")
                .help(format!("{why}; `sum(…)` or a place, as in `x[0]`, makes one number"))
        }
        parts => {
            let span = parts.get(1).map(|part| part.span).unwrap_or_default();
            Diagnostic::new(span, format!("the program has {} outputs", parts.len()))
                .label("the second output")
                .help(why)
        }
    };
    Failure::usage(source, &message)
}

/// The numbers under the names of the inputs; there may be more numbers than inputs.
fn named(program: &Program, values: &[f64]) -> Vec<Named> {
    let pair = |(name, value): (&String, &f64)| Named { name: name.clone(), value: Value::from(*value) };
    program.input_names().iter().zip(values).map(pair).collect()
}

fn numbers(rows: Vec<Vec<f64>>) -> Vec<Vec<Number>> {
    rows.into_iter().map(|row| row.into_iter().map(Number).collect()).collect()
}

fn directional(program: &Program, run: &Evaluation<f64>, direction: &[f64], tangents: &[f64]) -> Directional {
    let derivative = |output: &Operand| match output {
        Operand::Constant(_) => Value::from(0.0),
        Operand::Entry(index) => Value::from(tangents[*index]),
    };
    Directional { direction: named(program, direction), derivatives: run.outputs.iter().map(derivative).collect() }
}

/// The derivatives of every order up to `order`.
fn series(flags: &Grad, program: &Program, point: &[f64], order: u8) -> Result<Series, Failure> {
    let direction = match (&flags.dir[..], program.inputs) {
        ([], 1) => vec![1.0],
        ([], count) => {
            return Err(Failure::Usage(format!(
                "`--order` needs a program of one input, or a direction in `--dir`; \
                 this one has {count} inputs"
            )));
        }
        (texts, _) => point::values(program, "--dir", texts)?,
    };
    let coefficients = derivatives::series_of(program, point, &direction, usize::from(order));
    let derived = coefficients.iter().map(|c| derivatives::from_coefficients(c)).collect();
    Ok(Series {
        direction: named(program, &direction),
        derivatives: numbers(derived),
        coefficients: numbers(coefficients),
    })
}

/// Compares everything that the report says with differences of values of one order less.
fn compare(program: &Program, point: &[f64], report: &Report) -> Check {
    let names = program.input_names();
    let mut entries = Vec::new();
    let moved = |input: usize, to: f64| {
        let mut moved = point.to_vec();
        moved[input] = to;
        moved
    };
    for (input, name) in names.iter().enumerate() {
        let value = |output: usize, x: f64| eval::outputs(program, &moved(input, x))[output];
        if let Some(gradient) = &report.gradient {
            let exact = gradient[input].value.elements()[0].0;
            entries.push(entry(format!("d/d{name}"), point[input], exact, |x| value(0, x)));
        }
        for (output, row) in report.jacobian.iter().flatten().enumerate() {
            let exact = row[input].0;
            let name = format!("d({})/d{name}", report.output_labels[output]);
            entries.push(entry(name, point[input], exact, |x| value(output, x)));
        }
        for (other, row) in report.hessian.iter().flatten().enumerate() {
            let name = format!("d²/d{} d{name}", names[other]);
            let slope = |x: f64| derivatives::adjoints(program, &moved(input, x), 0)[other];
            entries.push(entry(name, point[input], row[input].0, slope));
        }
    }
    if let Some(directional) = &report.directional {
        for (output, exact) in directional.derivatives.iter().enumerate() {
            let along = |t: f64| {
                let parts = point.iter().zip(&directional.direction);
                let moved: Vec<f64> = parts.map(|(x, part)| x + t * part.value.elements()[0].0).collect();
                eval::outputs(program, &moved)[output]
            };
            let name = format!("{} along --jvp", report.output_labels[output]);
            entries.push(entry(name, 0.0, exact.elements()[0].0, along));
        }
    }
    if let Some(series) = &report.series {
        compare_series(program, point, report, series, &mut entries);
    }
    Check { agrees: entries.iter().all(|entry| entry.agrees), entries }
}

/// Compares every derivative of a series with differences of the order before.
fn compare_series(program: &Program, point: &[f64], report: &Report, series: &Series, entries: &mut Vec<CheckEntry>) {
    let direction: Vec<f64> = series.direction.iter().map(|part| part.value.elements()[0].0).collect();
    for (output, derived) in series.derivatives.iter().enumerate() {
        for (order, exact) in derived.iter().enumerate().skip(1) {
            let before = |t: f64| {
                let moved = point.iter().zip(&direction).map(|(x, v)| x + t * v);
                let moved: Vec<f64> = moved.collect();
                let series = derivatives::series_of(program, &moved, &direction, order - 1);
                derivatives::from_coefficients(&series[output])[order - 1]
            };
            let name = format!("{} order {order}", report.output_labels[output]);
            entries.push(entry(name, 0.0, exact.0, before));
        }
    }
}

fn entry(name: String, x: f64, derivative: f64, f: impl Fn(f64) -> f64) -> CheckEntry {
    let (estimate, verdict) = differences::compare(x, derivative, f);
    CheckEntry {
        name,
        derivative: Number(derivative),
        difference: Number(estimate.value),
        tolerance: Number(estimate.tolerance()),
        agrees: verdict == Verdict::Agrees,
        verdict,
    }
}
