//! `wengert show`: an array program after the passes of the optimiser, its derivatives, its batched form, its plan.

use std::fmt::Write;

use wengert::Program;
use wengert::optimize::{Config, PASSES};
use wengert::plan::{Detail, Options, Plan};

use crate::failure::Failure;
use crate::flags::{Pass, PlanDetail, Show};
use crate::output;
use crate::source::{self, Source};

/// Runs the command.
pub(crate) fn run(flags: &Show, color: anstream::ColorChoice) -> Result<(), Failure> {
    let source = source::read_file(&flags.program)?;
    let program = read_program(&source)?;
    if let Some(detail) = flags.plan {
        return output::write(&planned(&source, &program, detail, flags.threads)?, None, color);
    }
    output::write(&shown(flags, &source, &program)?, None, color)
}

/// The array program in a file.
pub(crate) fn read_program(source: &Source) -> Result<Program, Failure> {
    source.text.parse().map_err(|error| Failure::library(&source.name, &error))
}

/// The plan of the optimised program.
fn planned(source: &Source, program: &Program, detail: PlanDetail, threads: usize) -> Result<String, Failure> {
    let options = Options { threads, memory: None };
    let plan = Plan::new(&program.written_out().optimize(), &options)
        .map_err(|error| Failure::library(&source.name, &error))?;
    Ok(plan.explain(match detail {
        PlanDetail::Steps => Detail::Steps,
        PlanDetail::Instructions => Detail::Instructions,
    }))
}

fn shown(flags: &Show, source: &Source, program: &Program) -> Result<String, Failure> {
    let one = |name: &str, after: &Program| titled(name, program, after);
    let real: Vec<bool> = program.input_types().iter().map(|ty| ty.dtype.is_float()).collect();
    let transformed = match flags.pass {
        Pass::None => return Ok(format!("{program}\n")),
        Pass::All => return Ok(all(program)),
        Pass::Rewrite => return Ok(one("rewrite", &after("rewrite", program))),
        Pass::Fold => return Ok(one("fold", &after("fold", program))),
        Pass::Cse => return Ok(one("cse", &after("cse", program))),
        Pass::Dce => return Ok(one("dce", &after("dce", program))),
        Pass::Jvp => program.jvp(&real).map(|after| one("jvp", &after)),
        Pass::Vjp => program.vjp(&real).map(|after| one("vjp", &after)),
        Pass::Vmap => program.vmap(&vec![true; real.len()], flags.length).map(|after| one("vmap", &after)),
    };
    transformed.map_err(|error| Failure::library(&source.name, &error))
}

/// The program after the pass of this name.
fn after(name: &str, program: &Program) -> Program {
    PASSES
        .iter()
        .filter(|pass| pass.name == name)
        .fold(program.clone(), |program, pass| pass.run(&program, &Config::default()))
}

/// The program as it was read, and after every pass that changes it.
fn all(program: &Program) -> String {
    let mut text = format!("# as read: {} equations\n{program}\n", program.count());
    let mut program = program.clone();
    let mut changed = false;
    loop {
        let before = program.clone();
        for pass in &PASSES {
            let after = pass.run(&program, &Config::default());
            if after != program {
                changed = true;
                let _ = write!(text, "\n{}", titled(pass.name, &program, &after));
            }
            program = after;
        }
        if program == before {
            if !changed {
                text.push_str("\n# no pass changes it\n");
            }
            return text;
        }
    }
}

fn titled(name: &str, before: &Program, after: &Program) -> String {
    format!("# {name}: {} to {} equations\n{after}\n", before.count(), after.count())
}
