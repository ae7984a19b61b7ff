//! `wengert-gradbench`: Wengert as a tool of GradBench. It reads messages from its standard input and answers on its standard
//! output, until the input ends.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use wengert_gradbench::modules::Settings;
use wengert_gradbench::protocol::Tool;

/// Wengert as a tool of GradBench: answers messages of its protocol, one on a line.
#[derive(Debug, Parser)]
#[command(version)]
struct Flags {
    /// Runs on all processors; otherwise on one thread.
    #[arg(long)]
    multithreaded: bool,
}

fn main() -> ExitCode {
    let flags = Flags::parse();
    let settings = if flags.multithreaded { Settings::default() } else { Settings::single_threaded() };
    if !flags.multithreaded {
        wengert::set_threads(1);
    }
    match Tool::new(settings).serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the answers is gone: nobody is left to tell.
        Err(_) => ExitCode::FAILURE,
    }
}
