//! `wengert`: exact derivatives of a formula on the command line.
//!
//! A program goes through these modules in turn: `source` reads it, `syntax` parses it, `check`
//! makes it a `program` that `eval` runs over numbers and over the library's variables,
//! `derivatives` asks the library, `list` and `report` put the results together, `grouped` shows what belongs to arrays
//! together, `domain` explains values that are not finite, `render` and `output` show all of it. Array programs, in the library's own text form, are the business of `run`,
//! `show` and `profile` alone.

mod check;
mod derivatives;
mod differences;
mod domain;
mod eval;
mod failure;
mod flags;
mod functions;
mod grad;
mod grouped;
mod install;
mod list;
mod memory;
mod output;
mod partials;
mod point;
mod profile;
mod program;
mod render;
mod report;
mod run;
mod show;
mod source;
mod syntax;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let flags = flags::Flags::parse();
    let color = flags.color.choice();
    let done = match &flags.command {
        flags::Command::Grad(grad) => grad::run(grad, color),
        flags::Command::Run(run) => run::run(run, color),
        flags::Command::Show(show) => show::run(show, color),
        flags::Command::Profile(profile) => profile::run(profile, color),
        flags::Command::Functions => functions::run(color),
        flags::Command::Completions(completions) => install::completions(completions),
        flags::Command::Man(man) => install::man(man),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            output::complain(&failure, color);
            ExitCode::from(failure.code())
        }
    }
}
