//! `wengert profile`: an array program run again and again, and where its time goes.

mod flame;

use serde_json::{Value, json};
use wengert::plan::{Options, Plan};
use wengert::profile::{Limits, Profile};
use wengert::{Array, DType, Program, Type};

use crate::failure::Failure;
use crate::flags::{self, ProfileFormat};
use crate::memory;
use crate::output;
use crate::run::{active, input_names, inputs, one_like};
use crate::show::read_program;
use crate::source;

/// Runs the command.
pub(crate) fn run(flags: &flags::Profile, color: anstream::ColorChoice) -> Result<(), Failure> {
    let source = source::read_file(&flags.program)?;
    let failed = |error: wengert::Error| Failure::library(&source.name, &error);
    let program = read_program(&source)?;
    let names = input_names(&program);
    let mut values = match &flags.at {
        Some(file) => inputs(&program, &names, Some(file))?,
        None => program.input_types().iter().zip(1..).map(|(ty, seed)| random(ty, seed)).collect::<Result<_, _>>()?,
    };
    let program = if flags.grad { gradient(&program, &names, &mut values, failed)? } else { program };
    let options = Options { threads: flags.threads, memory: Some(memory::available()) };
    let plan = Plan::new(&program.written_out().optimize(), &options).map_err(failed)?;
    let profile = plan.profile(&values, flags.seconds).map_err(failed)?;
    let limits = Limits::get(flags.threads);
    let origin = match &flags.at {
        Some(file) => format!("from {}", file.display()),
        None => "random numbers in [-1, 1), the same ones in every run; integers are 0".to_owned(),
    };
    if let Some(path) = &flags.svg {
        output::write_bytes(flame::svg(&profile).as_bytes(), path)?;
    }
    let text = match flags.format {
        ProfileFormat::Text => format!("inputs: {origin}\n{}\n{}", profile.table(&limits), profile.summary),
        ProfileFormat::Json => format!("{:#}\n", report(&profile, &limits, &origin)),
    };
    output::write(&text, None, color)
}

/// The program that gives the value and the gradient in every real input; the inputs get its cotangent.
fn gradient(
    program: &Program,
    names: &[String],
    values: &mut Vec<Array>,
    failed: impl Fn(wengert::Error) -> Failure,
) -> Result<Program, Failure> {
    let active = active(program, names, &[])?;
    values.push(one_like(&program.output_types()[0]));
    program.vjp(&active).map_err(failed)
}

/// The same numbers for the same seed: those of SplitMix64 (Steele, Lea and Flood 2014).
fn random(ty: &Type, seed: u64) -> Result<Array, Failure> {
    let mut state = seed << 32;
    let mut unit = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * (-53f64).exp2()
    };
    // Asked for first: an input that does not fit is an error, not the end of the process.
    let bytes = ty.size().saturating_mul(ty.dtype.size());
    let room = bytes <= memory::available() && Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    if !room {
        return Err(Failure::Memory(format!("there is no memory for an input {ty}")));
    }
    let count = 0..ty.size();
    Ok(match ty.dtype {
        DType::Bool => Array::new(&ty.shape, count.map(|_| unit() < 0.5).collect::<Vec<bool>>()),
        DType::I64 => Array::zeros(ty),
        DType::F32 => Array::new(&ty.shape, count.map(|_| (2.0 * unit() - 1.0) as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(&ty.shape, count.map(|_| 2.0 * unit() - 1.0).collect::<Vec<f64>>()),
    })
}

/// The profile for other programs: seconds and bytes.
fn report(profile: &Profile, limits: &Limits, origin: &str) -> Value {
    let steps: Vec<Value> = profile.steps.iter().enumerate().map(|(k, step)| {
        let info = &step.info;
        json!({
            "step": k, "kind": info.kind.to_string(), "what": info.what, "size": info.size, "elements": info.elements,
            "operations": info.operations, "read": info.read, "written": info.written, "scratch": info.scratch,
            "parts": info.parts, "lines": info.lines, "seconds": step.time.as_secs_f64(),
        })
    }).collect();
    let summary = &profile.summary;
    json!({
        "inputs": origin, "threads": profile.threads, "runs": profile.runs, "seconds": profile.time.as_secs_f64(),
        "outside_of_steps": profile.outside().as_secs_f64(), "steps": steps,
        "limits": {
            "bandwidth": limits.bandwidth, "peak_f32": limits.peak_f32, "peak_f64": limits.peak_f64,
        },
        "plan": {
            "regions": summary.regions, "products": summary.products, "kernels": summary.kernels,
            "conds": summary.conds, "operations": summary.operations, "moved": summary.moved,
            "values": summary.values, "arena": summary.arena, "scratch": summary.scratch,
            "library": summary.library, "results": summary.results, "peak": summary.peak,
        },
    })
}
