//! `wengert run`: the values of an array program, and the gradient of one that gives a single number.

use std::fmt::{Display, LowerExp, Write};
use std::fs::File;
use std::io::{BufReader, Cursor};
use std::path::Path;

use wengert::{Array, Compile, CompiledProgram, Data, Program, Type};

use crate::failure::Failure;
use crate::flags::Run;
use crate::memory;
use crate::output;
use crate::show::read_program;
use crate::source;

/// The most elements of an array that are printed.
const SHOWN: usize = 1000;

/// Runs the command.
pub(crate) fn run(flags: &Run, color: anstream::ColorChoice) -> Result<(), Failure> {
    let source = source::read_file(&flags.program)?;
    let program = read_program(&source)?;
    let names = input_names(&program);
    let active = if flags.grad { active(&program, &names, &flags.wrt)? } else { Vec::new() };
    let inputs = inputs(&program, &names, flags.at.as_deref())?;
    let failed = |error: wengert::Error| Failure::library(&source.name, &error);
    let results = if flags.grad {
        let one = one_like(&program.output_types()[0]);
        let gradient = compiled(&program.vjp(&active).map_err(failed)?).map_err(failed)?;
        let values = gradient.run(&[inputs, vec![one]].concat()).map_err(failed)?;
        let names = names.iter().zip(&active).filter(|(_, active)| **active).map(|(name, _)| format!("grad_{name}"));
        std::iter::once("out0".to_owned()).chain(names).zip(values).collect()
    } else {
        let values = compiled(&program).and_then(|program| program.run(&inputs)).map_err(failed)?;
        values.into_iter().enumerate().map(|(k, value)| (format!("out{k}"), value)).collect::<Vec<(String, Array)>>()
    };
    match &flags.out {
        None => output::write(&results.iter().map(|(name, value)| shown(name, value)).collect::<String>(), None, color),
        Some(path) => {
            let mut file = Cursor::new(Vec::new());
            let arrays = results.iter().map(|(name, value)| (name.as_str(), value));
            let written = Array::write_npz(&mut file, arrays);
            written.map_err(|error| Failure::File(format!("cannot write `{}`: {error}", path.display())))?;
            output::write_bytes(&file.into_inner(), path)
        }
    }
}

/// The program's plan, in the memory that is left.
fn compiled(program: &Program) -> Result<CompiledProgram, wengert::Error> {
    Compile::new().memory(memory::available()).program(program)
}

/// What the inputs are called in files and flags: by their names, or by number where there is none or two are the same.
pub(crate) fn input_names(program: &Program) -> Vec<String> {
    let names = program.input_names();
    let unique = |name: &String| !name.is_empty() && names.iter().filter(|other| *other == name).count() == 1;
    let name = |(name, value): (&String, wengert::Value)| if unique(name) { name.clone() } else { value.to_string() };
    names.iter().zip(program.inputs()).map(name).collect()
}

/// The inputs in the order of the program.
pub(crate) fn inputs(program: &Program, names: &[String], file: Option<&Path>) -> Result<Vec<Array>, Failure> {
    let needed = |name: &str, ty: &Type| format!("`{name}` ({ty} in the program)");
    let Some(path) = file else {
        return match names.first() {
            None => Ok(Vec::new()),
            Some(name) => Err(Failure::Usage(format!(
                "there is no value for {}; `--at FILE.npz` gives the inputs",
                needed(name, &program.input_types()[0])
            ))),
        };
    };
    let shown = path.display();
    let opened = File::open(path).map_err(|error| Failure::File(format!("cannot read `{shown}`: {error}")))?;
    let arrays = Array::read_npz(BufReader::new(opened))
        .map_err(|error| Failure::File(format!("cannot read `{shown}`: {error}")))?;
    let find = |(name, ty): (&String, &Type)| match arrays.iter().find(|(own, _)| own == name) {
        None => {
            let has: Vec<String> = arrays.iter().map(|(own, _)| format!("`{own}`")).collect();
            let has = if has.is_empty() { "no arrays".to_owned() } else { has.join(", ") };
            Err(Failure::Usage(format!("there is no array {} in `{shown}`, which has {has}", needed(name, ty))))
        }
        Some((_, array)) if array.ty() != ty => {
            Err(Failure::Usage(format!("the array {} is {} in `{shown}`", needed(name, ty), array.ty())))
        }
        Some((_, array)) => Ok(array.clone()),
    };
    names.iter().zip(program.input_types()).map(find).collect()
}

/// Which inputs the gradient is asked for.
pub(crate) fn active(program: &Program, names: &[String], wrt: &[String]) -> Result<Vec<bool>, Failure> {
    let outputs = program.output_types();
    let single = matches!(&outputs[..], [ty] if ty.dtype.is_float() && ty.shape.is_empty());
    if !single {
        let outputs: Vec<String> = outputs.iter().map(Type::to_string).collect();
        let why = "--grad needs a program whose only result is a single real number, f32[] or f64[]";
        return Err(Failure::Usage(format!("{why}; this one gives ({})", outputs.join(", "))));
    }
    let types = program.input_types();
    if wrt.is_empty() {
        return Ok(types.iter().map(|ty| ty.dtype.is_float()).collect());
    }
    let mut active = vec![false; names.len()];
    for name in wrt {
        let input = program.inputs().zip(names).position(|(value, own)| own == name || value.to_string() == *name);
        let Some(k) = input else {
            let inputs = names.join(", ");
            return Err(Failure::Usage(format!("--wrt names `{name}`, which is no input; the inputs are {inputs}")));
        };
        if !types[k].dtype.is_float() {
            return Err(Failure::Usage(format!("--wrt names `{name}`, which is {}: it has no derivative", types[k])));
        }
        active[k] = true;
    }
    Ok(active)
}

/// The cotangent of a single result.
pub(crate) fn one_like(ty: &Type) -> Array {
    if ty.dtype == wengert::DType::F32 { Array::scalar(1f32) } else { Array::scalar(1.0) }
}

/// An array with its name and type, and as many of its elements as can be read.
fn shown(name: &str, array: &Array) -> String {
    if array.size() > SHOWN {
        return format!("{name}: {}, {} elements; --out writes them to a file\n", array.ty(), array.size());
    }
    if array.size() == 0 {
        // As nested brackets there might be millions of them.
        return format!("{name}: {}, no elements\n", array.ty());
    }
    let elements: Vec<String> = match array.data() {
        Data::Bool(x) => words(x),
        Data::I64(x) => words(x),
        Data::F32(x) => x.iter().map(|&x| real(x, f64::from(x))).collect(),
        Data::F64(x) => x.iter().map(|&x| real(x, x)).collect(),
    };
    let mut text = format!("{name}: {} = ", array.ty());
    nested(&mut text, &elements, array.shape());
    text.push('\n');
    text
}

fn words<T: Display>(elements: &[T]) -> Vec<String> {
    elements.iter().map(ToString::to_string).collect()
}

/// The shortest digits of a number's own precision; with an exponent if there would be many zeros.
fn real<T: Display + LowerExp>(x: T, value: f64) -> String {
    let plain = value == 0.0 || !value.is_finite() || (1e-5..1e16).contains(&value.abs());
    if plain { x.to_string() } else { format!("{x:e}") }
}

/// Elements in brackets, one pair for each axis.
fn nested(text: &mut String, elements: &[String], shape: &[usize]) {
    let [length, inner @ ..] = shape else {
        let _ = write!(text, "{}", elements[0]);
        return;
    };
    let width: usize = inner.iter().product();
    text.push('[');
    for k in 0..*length {
        text.push_str(if k == 0 { "" } else { ", " });
        nested(text, &elements[k * width..(k + 1) * width], inner);
    }
    text.push(']');
}
