//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Exact derivatives of a formula, with the Wengert list behind them.
#[derive(Debug, Parser)]
#[command(name = "wengert", version, about, after_help = EXIT_CODES, color = clap::ColorChoice::Auto)]
pub(crate) struct Flags {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colours: `auto` is in a terminal, unless `NO_COLOR` is set
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub(crate) color: Color,
}

/// The exit codes, below every help text.
const EXIT_CODES: &str = "\
Exit codes:
  0  all is well
  1  --check found a derivative that does not agree with differences
  2  the command line is wrong: bad flags, missing or unknown names or types in --at
  3  the program is wrong: a mistake in the grammar, an unknown name, a wrong number of arguments
  4  a file cannot be read or written: missing, not UTF-8, too large; or there is not enough memory";

/// The language in short, below the help of `grad`.
const LANGUAGE: &str = "\
Examples:
  wengert grad 'x1*x2 + sin(x1)' --at x1=2,x2=5
  wengert grad 'exp(-x^2)' --at x=0.5 --order 4
  wengert grad 'x*y^2' --at x=2,y=3 --order 3 --dir x=1,y=1
  wengert grad 'r*cos(t), r*sin(t)' --at r=1,t=0.5 --jacobian
  wengert grad model.txt --at a=1,b=-2 --check --hessian
  wengert grad 'x*y' --at x=2,y=3 --format svg --out graph.svg
  wengert grad 'sum((A @ x - b)^2)' --at 'A=[[1,2],[3,4]],x=[1,1],b=[3,7]'

A program is an expression, or statements one a line (or with `;` between):
  # a comment
  input x1, x2            optional; else the names that are read but never assigned
  a = x1 * x2             `let` in front is optional
  if a > 0 && x1 <= 3 { b = sin(a) } else { b = 0 }
  return b, a + 1         or a bare list of expressions at the end
Operators: + - * / % ^ (also **), < <= > >= == !=, && || !
Arrays: [1, x, 3], [[1, 2], [3, 4]]; A[0, 1], x[1:], x[-1], A[:, 0]; A.T, A @ x; all functions, element by element
`pi` and `e` are constants unless the program assigns them or declares them as inputs.
`wengert functions` lists the functions.";

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Value, gradient and Wengert list of a program at a point
    Grad(Box<Grad>),
    /// Values, and the gradient, of an array program
    Run(Run),
    /// An array program after each pass, or its derivatives and batched form
    Show(Show),
    /// Where the time of an array program goes, step by step, beside what the machine can do
    Profile(Profile),
    /// The functions that formulas can use
    Functions,
    /// The script that completes the words of this command in a shell
    Completions(Completions),
    /// The manual page, or a folder of all of them
    Man(Man),
}

/// Below the help of `completions`.
const COMPLETIONS: &str = "\
Examples:
  wengert completions bash > ~/.local/share/bash-completion/completions/wengert
  wengert completions zsh > \"${fpath[1]}/_wengert\"
  wengert completions fish > ~/.config/fish/completions/wengert.fish";

/// The flags of `wengert completions`.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Below the help of `man`.
const MAN: &str = "\
Examples:
  wengert man | man -l -
  wengert man --folder ~/.local/share/man/man1";

/// The flags of `wengert man`.
#[derive(Args, Debug)]
#[command(after_help = MAN)]
pub(crate) struct Man {
    /// Writes `wengert.1`, `wengert-grad.1`, … to this folder, which has to be there
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

/// The flags of `wengert grad`.
#[derive(Args, Debug)]
#[command(after_help = format!("{LANGUAGE}\n\n{EXIT_CODES}"))]
pub(crate) struct Grad {
    /// The program: an expression, the name of a file, or `-` for the standard input
    #[arg(value_name = "EXPR|FILE", allow_hyphen_values = true)]
    pub(crate) program: OsString,
    /// Values of the inputs, as in `x1=2,x2=5e-1` or `x=[1,2],A=[[1,2],[3,4]]`; `inf`, `-inf` and `nan` are numbers too
    #[arg(long, value_name = "NAMES")]
    pub(crate) at: Vec<String>,
    /// The derivatives of every output in every input
    #[arg(long)]
    pub(crate) jacobian: bool,
    /// The second derivatives of the output
    #[arg(long)]
    pub(crate) hessian: bool,
    /// The derivatives of every order up to this one: of a single input, or along `--dir`
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
    pub(crate) order: Option<u8>,
    /// The direction of `--order`, as in `x1=1,x2=0`, with the shapes of `--at`
    #[arg(long, value_name = "NAMES", requires = "order")]
    pub(crate) dir: Vec<String>,
    /// The derivative along a direction, by forward mode, as in `x1=1,x2=0`, with the shapes of `--at`
    #[arg(long, value_name = "NAMES")]
    pub(crate) jvp: Vec<String>,
    /// Compare the derivatives with differences of values
    #[arg(long)]
    pub(crate) check: bool,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Labels on all edges of a drawing (`svg`, `dot`), also on those of sums, whose derivative is always 1
    #[arg(long)]
    pub(crate) labels: bool,
    /// The file to write; it is replaced as a whole or not at all
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// The text form in short, below the help of `run`.
const RUN: &str = "\
Examples:
  wengert run layer.prog --at inputs.npz
  wengert run loss.prog --grad --at inputs.npz --out gradients.npz
  wengert run loss.prog --grad --wrt w,b --at inputs.npz

An array program is a list of equations with the types of their results:
  program(v0 \"x\": f64[3]) {
    v1: f64[3] = square v0          # one equation a line, or with `;` between
    v2: f64[] = sum[axes=[0]] v1    # options in brackets
    return v2
  }
The arrays in the file of --at have the names of the inputs, or v0, v1, … where one has none (or two have
the same). Results are called out0, out1, …, gradients grad_ and the name of the input.";

/// The flags of `wengert run`.
#[derive(Args, Debug)]
#[command(after_help = format!("{RUN}\n\n{EXIT_CODES}"))]
pub(crate) struct Run {
    /// The file with the program, or `-` for the standard input
    #[arg(value_name = "FILE")]
    pub(crate) program: OsString,
    /// The file with the inputs, as written by `numpy.savez`; not needed if there are none
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) at: Option<PathBuf>,
    /// The derivatives of the only result, a single real number, in every real input
    #[arg(long)]
    pub(crate) grad: bool,
    /// The inputs of `--grad`, as in `w,b` or `v0,v2`; all real ones if left out
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "grad")]
    pub(crate) wrt: Vec<String>,
    /// The file to write the results to; it is replaced as a whole or not at all
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) out: Option<PathBuf>,
}

/// Below the help of `show`.
const SHOW: &str = "\
Examples:
  wengert show loss.prog
  wengert show loss.prog --pass none
  wengert show loss.prog --pass cse
  wengert show loss.prog --pass vjp
  wengert show loss.prog --pass vmap --length 8
  wengert show loss.prog --plan
  wengert show loss.prog --plan=instructions --threads 2

What is shown can be read again; the comment in front tells the number of equations before and after.
--plan shows what the engine makes of the optimised program instead.";

/// The flags of `wengert show`.
#[derive(Args, Debug)]
#[command(after_help = format!("{SHOW}\n\n{EXIT_CODES}"))]
pub(crate) struct Show {
    /// The file with the program, or `-` for the standard input
    #[arg(value_name = "FILE")]
    pub(crate) program: OsString,
    /// `all` passes one after the other, `none`, a single one, or a transformation
    #[arg(long, value_enum, default_value_t = Pass::All, value_name = "NAME")]
    pub(crate) pass: Pass,
    /// The length of the new axis of `--pass vmap`
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) length: usize,
    /// The plan of the optimised program: its steps, their sizes and costs, and the memory that they take
    #[arg(
        long,
        value_enum,
        value_name = "DETAIL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "steps",
        conflicts_with_all = ["pass", "length"]
    )]
    pub(crate) plan: Option<PlanDetail>,
    /// How many threads `--plan` is made for
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads, requires = "plan")]
    pub(crate) threads: usize,
}

/// How much of a plan is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanDetail {
    /// A line or two for every step
    Steps,
    /// The instructions of fused regions too
    Instructions,
}

/// Below the help of `profile`.
const PROFILE: &str = "\
Examples:
  wengert profile loss.prog
  wengert profile loss.prog --grad --at inputs.npz --threads 2
  wengert profile loss.prog --seconds 5 --svg flame.svg
  wengert profile loss.prog --format json

Without --at the inputs are random numbers in [-1, 1), always the same ones; integers are 0, truth values random.
In the flame graph the width is the time of a run, below it the user's lines or the operations, below these the steps.";

/// The flags of `wengert profile`.
#[derive(Args, Debug)]
#[command(after_help = format!("{PROFILE}\n\n{EXIT_CODES}"))]
pub(crate) struct Profile {
    /// The file with the program, or `-` for the standard input
    #[arg(value_name = "FILE")]
    pub(crate) program: OsString,
    /// The file with the inputs, as written by `numpy.savez`; random ones if left out
    #[arg(long, value_name = "FILE.npz")]
    pub(crate) at: Option<PathBuf>,
    /// The derivatives of the only result, a single real number, in every real input
    #[arg(long)]
    pub(crate) grad: bool,
    /// How many threads run it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = threads)]
    pub(crate) threads: usize,
    /// How long it runs; once at least
    #[arg(long, value_name = "S", default_value = "1", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// A file for the flame graph; it is replaced as a whole or not at all
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) svg: Option<PathBuf>,
    /// The form of the result
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    pub(crate) format: ProfileFormat,
}

/// The forms of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProfileFormat {
    /// Tables to read
    Text,
    /// For other programs; times in seconds, memory in bytes
    Json,
}

/// A number of threads.
fn threads(text: &str) -> Result<usize, String> {
    // More would only wait for each other; a typing mistake must not start a million of them.
    let threads = text.parse().ok().filter(|threads| (1..=1024).contains(threads));
    threads.ok_or_else(|| "a number of threads is from 1 to 1024".to_owned())
}

/// A number of seconds.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or_else(|| "a number of seconds is not negative".to_owned())
}

/// What `wengert show` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pass {
    /// Every pass of the optimiser in turn, until nothing changes
    All,
    /// The program as it was read
    None,
    /// The table of rewrites, such as x * 1 = x
    Rewrite,
    /// What does not depend on the inputs
    Fold,
    /// Common subexpressions
    Cse,
    /// Equations that no result needs
    Dce,
    /// Values and their tangents, given tangents of all real inputs
    Jvp,
    /// Values and the cotangents of all real inputs, given those of the results
    Vjp,
    /// One more axis in front of every input
    Vmap,
}

/// The forms of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables to read
    Text,
    /// For other programs; NaN and infinities are strings
    Json,
    /// The graph for Graphviz
    Dot,
    /// The graph as a drawing
    Svg,
    /// The Wengert list as a table for LaTeX
    Latex,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// In a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Color {
    /// The choice in the terms of the writer.
    pub(crate) fn choice(self) -> anstream::ColorChoice {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::Always,
            Self::Never => anstream::ColorChoice::Never,
        }
    }
}
