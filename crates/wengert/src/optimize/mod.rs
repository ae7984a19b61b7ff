//! Program to Program with the same values, cheaper.
//!
//! A pass is a function from Program to Program; [`PASSES`] lists them in order, and [`optimize`] runs the list until
//! nothing changes any more. In debug builds every pass is followed by [`Program::verify`], so that a broken pass is
//! named. Passes see the Programs inside an equation as Programs of their own: nothing is moved in or out, and a
//! [`Recompute`](crate::primitives::Recompute) stays where it is.
//!
//! Rewrites that may change an answer are off unless they are allowed: see [`Class`] and the table [`rules::RULES`].
//!
//! With `passes` in the environment variable `WENGERT_LOG`, every pass that changes something prints its name, its
//! time, the number of equations before and after, and the Program to the standard error.

#[cfg(feature = "engine")]
mod chain;
mod fold;
mod indices;
#[cfg(feature = "engine")]
pub(crate) mod limited;
mod place;
mod rolled;
pub mod rules;
mod segment;
mod short;
#[cfg(feature = "engine")]
mod strips;
mod unseen;

pub(crate) use place::choices_in_place;
pub(crate) use rolled::rolled;

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::program::{Program, cse, dce, everywhere};

/// How much a rewrite may change an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The same bits for every operand; one NaN is as good as another. Always on.
    Exact,
    /// The same but for the sign of zero: `x + 0 = x`.
    SignOfZero,
    /// Equal in exact arithmetic, with other roundings: `(x * c) * d = x * (c * d)`.
    Reassociating,
    /// Wrong where an operand is NaN or infinite: `x * 0 = 0`.
    UnsafeNonFinite,
}

/// What the optimiser may do.
///
/// ```
/// use wengert::Program;
/// use wengert::optimize::{Class, Config, optimize};
/// let text = "program(v0: f64[]) { v1: f64[] = constant[value=0.0f64]; v2: f64[] = add v0 v1; return v2 }";
/// let program: Program = text.parse()?;
/// assert_eq!(optimize(&program, &Config::default()).count(), 2, "-0 + 0 is 0");
/// assert_eq!(optimize(&program, &Config::default().allow(Class::SignOfZero)).count(), 0);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    allowed: BTreeSet<Class>,
}

impl Config {
    /// With one more class of rewrites; exact ones are always on.
    #[must_use]
    pub fn allow(mut self, class: Class) -> Self {
        self.allowed.insert(class);
        self
    }

    /// Whether rewrites of this class are on.
    pub fn allows(&self, class: Class) -> bool {
        class == Class::Exact || self.allowed.contains(&class)
    }
}

/// A pass by its name.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name in logs and messages.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What it does to the equations of one Program, not to the Programs inside.
    own: fn(Program, &Config) -> Program,
}

/// Every pass, in the order in which they run.
pub const PASSES: [Pass; 6] = [
    Pass { name: "rewrite", about: "applies the table of rewrites, such as x * 1 = x", own: rules::rewrite },
    Pass { name: "fold", about: "computes what does not depend on the inputs", own: fold::fold },
    Pass { name: "masks", about: "takes what is known of masks made of indices", own: indices::known_masks },
    Pass { name: "unseen", about: "drops choices that no result sees", own: unseen::drop_unseen },
    Pass { name: "cse", about: "computes equal equations once", own: |program, _| cse(program) },
    Pass { name: "dce", about: "drops equations that no result needs", own: |program, _| dce(program) },
];

/// One round rarely leaves anything to do; the bound is for cases nobody has thought of.
const MAX_ROUNDS: usize = 8;

impl Pass {
    /// The Program after this pass, and after it in the Programs inside.
    pub fn run(&self, program: &Program, config: &Config) -> Program {
        self.applied(program.clone(), config)
    }

    fn applied(&self, program: Program, config: &Config) -> Program {
        let before = (cfg!(debug_assertions) || *LOGS).then(|| program.clone());
        let start = Instant::now();
        let after = everywhere(program, &|program| (self.own)(program, config));
        let time = start.elapsed();
        if let Some(before) = before {
            self.check(&before, &after);
            if *LOGS {
                log(self, time, &before, &after);
            }
        }
        after
    }

    fn check(&self, before: &Program, after: &Program) {
        if let Err(why) = after.verify() {
            panic!("the pass `{}` broke a program: {why}\nbefore:\n{before}\nafter:\n{after}", self.name);
        }
        let signature = |program: &Program| (program.input_types().to_vec(), program.output_types());
        assert!(
            signature(before) == signature(after),
            "the pass `{}` changed the inputs or outputs of\n{before}\nto\n{after}",
            self.name
        );
    }
}

/// The Program after every pass, until nothing changes.
pub fn optimize(program: &Program, config: &Config) -> Program {
    optimized(program.clone(), config)
}

/// As [`optimize`].
pub(crate) fn optimized(mut program: Program, config: &Config) -> Program {
    // Long programs are large: there is one of them, and what a round began with is known by its hash.
    let mut hash = program.structural_hash();
    for _ in 0..MAX_ROUNDS {
        for pass in &PASSES {
            program = pass.applied(program, config);
        }
        let before = std::mem::replace(&mut hash, program.structural_hash());
        if before == hash {
            break;
        }
    }
    program
}

/// What a run is made of: written out, and after every pass.
pub(crate) fn ready(program: &Program) -> Program {
    let program = optimized(short::write_all_out(program.clone()), &Config::default());
    #[cfg(feature = "engine")]
    let program = strips::in_strips(program);
    match segment::is_asked(&program) {
        true => optimized(segment::segmented(&program, segment::Cuts::Asked), &Config::default()),
        false => program,
    }
}

impl Program {
    /// The same values with less work; only rewrites that keep every bit are applied.
    ///
    /// ```
    /// use wengert::Program;
    /// let text = "program(v0: f64[2]) {
    ///   v1: f64[2] = sin v0
    ///   v2: f64[2] = neg v1
    ///   v3: f64[2] = sin v0
    ///   v4: f64[2] = sub v3 v2
    ///   return v4
    /// }";
    /// let program = text.parse::<Program>()?.optimize();
    /// assert_eq!(program.to_string(), "program(v0: f64[2]) {
    ///   v1: f64[2] = sin v0
    ///   v2: f64[2] = add v1 v1
    ///   return v2
    /// }");
    /// # Ok::<(), wengert::Error>(())
    /// ```
    #[must_use]
    pub fn optimize(&self) -> Program {
        optimize(self, &Config::default())
    }
}

/// Whether passes are to be printed.
static LOGS: LazyLock<bool> = LazyLock::new(|| logs("passes"));

/// Whether the environment variable `WENGERT_LOG` has this word.
pub(crate) fn logs(word: &str) -> bool {
    std::env::var("WENGERT_LOG").is_ok_and(|log| log.split(',').any(|own| own.trim() == word))
}

#[expect(clippy::print_stderr, reason = "the user asks for it with WENGERT_LOG")]
fn log(pass: &Pass, time: Duration, before: &Program, after: &Program) {
    if before == after {
        eprintln!("{}: nothing to do, {time:?}", pass.name);
    } else {
        eprintln!("{}: {} to {} equations, {time:?}\n{after}", pass.name, before.count(), after.count());
    }
}

#[cfg(all(test, feature = "text"))]
mod tests;
