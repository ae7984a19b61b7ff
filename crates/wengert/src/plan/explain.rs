//! What a plan does, as text and as numbers: a table of its steps, and what they take together.

mod instructions;
#[cfg(all(test, feature = "text"))]
mod tests;

use std::borrow::Cow;
use std::fmt::{self, Write};

use wengert_kernels::region::{Kind, Region, Space};

use super::control::step_described;
use super::{Home, LINE, MatrixProduct, Plan, Step, StepOperand, StepWork, Way, lines_of};
use crate::error::Line;

/// How much [`Plan::explain`] tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// A line or two for every step.
    Steps,
    /// The instructions of every region too.
    Instructions,
}

/// The kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StepKind {
    /// Elementwise operations, with what they are reduced to, chunk by chunk in the cache.
    Region,
    /// Products of matrices.
    Product,
    /// One operation on whole arrays.
    Kernel,
    /// One of two plans, as a truth value says.
    Cond,
    /// A plan again and again.
    Loop,
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            StepKind::Region => "region",
            StepKind::Product => "product",
            StepKind::Kernel => "kernel",
            StepKind::Cond => "cond",
            StepKind::Loop => "loop",
        })
    }
}

/// One step in words and numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepInfo {
    /// What kind of step it is.
    pub kind: StepKind,
    /// The names of its operations, in their order, each with how often it is there.
    pub what: String,
    /// What it walks: the elements' type, then groups x rows x columns of a region, rows x inner x columns of a
    /// product, the types of a kernel's operands.
    pub size: String,
    /// The type of what it computes: `f32`, `f64`, `i64` or `bool`.
    pub elements: &'static str,
    /// Operations on elements; of a condition those of its first branch.
    pub operations: usize,
    /// Bytes of the operands that it reads: each whole array once.
    pub read: usize,
    /// Bytes of the results that it writes.
    pub written: usize,
    /// Bytes of scratch.
    pub scratch: usize,
    /// How many parts it has, which threads may run at the same time; `None` where the step decides by itself.
    pub parts: Option<usize>,
    /// The user's lines behind it, each once, as `file.rs:12` with the last folder in front.
    pub lines: Vec<String>,
}

impl StepInfo {
    /// Bytes read and written.
    pub fn bytes(&self) -> usize {
        self.read + self.written
    }
}

/// What all steps of a plan take together.
///
/// Steps of both branches of a condition are counted among the kinds, but operations and bytes are those of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Summary {
    /// Fused regions.
    pub regions: usize,
    /// Products of matrices.
    pub products: usize,
    /// Operations on whole arrays.
    pub kernels: usize,
    /// Conditions.
    pub conds: usize,
    /// Loops.
    pub loops: usize,
    /// Operations on elements in one run.
    pub operations: usize,
    /// Bytes that the steps read and write in one run.
    pub moved: usize,
    /// Bytes of the values between steps, if each had memory of its own.
    pub values: usize,
    /// Bytes of the arena, scratch included.
    pub arena: usize,
    /// Bytes of scratch.
    pub scratch: usize,
    /// Bytes that the library of matrix products allocates for itself.
    pub library: usize,
    /// Bytes that the library of factorisations keeps for its own products, on all threads together.
    pub factorisations: usize,
    /// Bytes that definitions allocate while they run, and plain Rust that is called.
    pub definitions: usize,
    /// Bytes of the results that are not inputs.
    pub results: usize,
    /// Bytes of the lists of operands and results that a call makes.
    pub lists: usize,
    /// The predicted peak: arena, libraries, definitions, results and lists.
    pub peak: usize,
}

impl Plan {
    /// What the plan does, as a table for the terminal: one line for every step, its size and cost, the user's lines
    /// behind it, and what all of them take together: at the end the predicted peak, and of a plan with a limit of memory the
    /// limit and what it costs ([`Plan::recomputation`]).
    ///
    /// ```
    /// use wengert::Program;
    /// use wengert::plan::{Detail, Options, Plan};
    /// let text = "program(v0: f64[8]) { v1: f64[8] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
    /// let plan = Plan::new(&text.parse::<Program>()?, &Options::default())?;
    /// let table = plan.explain(Detail::Steps);
    /// assert!(table.starts_with("plan: 1 input, 1 result, 1 step (1 region), 1 thread\n"));
    /// assert!(table.contains("exp, sum"));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn explain(&self, detail: Detail) -> String {
        let mut text = format!("{}\n\n", self.headline());
        let heads = ["operations", "read", "written", "scratch", "parts"];
        let _ = writeln!(
            text,
            "{:<6} {:<7} {:<34} {:<21} {:>10} {:>9} {:>9} {:>9} {:>5}",
            "step", "kind", "what", "size", heads[0], heads[1], heads[2], heads[3], heads[4]
        );
        self.explain_steps("", detail, &mut text);
        text.push('\n');
        text.push_str(&self.summary().to_string());
        if let Some(limit) = self.options.memory {
            let _ = writeln!(
                text,
                "limit       {:>10}  of memory; {:.2} times the operations of the plan without one",
                bytes(limit),
                self.recomputation()
            );
        }
        text
    }

    fn explain_steps(&self, before: &str, detail: Detail, text: &mut String) {
        for (k, step) in self.steps.iter().enumerate() {
            let number = format!("{before}{k}");
            row(&number, &step.info(), text);
            notes(step, text);
            if let StepWork::Region(region) = &step.work
                && detail == Detail::Instructions
            {
                instructions::list(region, text);
            }
            for (name, plan) in step.work.plans() {
                plan.explain_steps(&format!("{number}{name}"), detail, text);
            }
        }
    }

    /// The plan in one line: inputs, results, steps by kind, threads.
    pub(crate) fn headline(&self) -> String {
        let summary = self.summary();
        let kinds = [
            counted(summary.regions, "region"),
            counted(summary.products, "product"),
            counted(summary.kernels, "kernel"),
            counted(summary.conds, "condition"),
            counted(summary.loops, "loop"),
        ];
        let kinds: Vec<String> = kinds.into_iter().filter(|kind| !kind.starts_with("0 ")).collect();
        let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
        format!(
            "plan: {}, {}, {}{kinds}, {}",
            counted(self.inputs.len(), "input"),
            counted(self.outputs.len(), "result"),
            counted(self.steps.len(), "step"),
            counted(self.options.threads, "thread"),
        )
    }

    /// What all steps take together.
    ///
    /// ```
    /// use wengert::Program;
    /// use wengert::plan::{Options, Plan};
    /// let text = "program(v0: f64[8]) { v1: f64[8] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
    /// let summary = Plan::new(&text.parse::<Program>()?, &Options::default())?.summary();
    /// assert_eq!((summary.regions, summary.operations, summary.moved), (1, 16, 72));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn summary(&self) -> Summary {
        let mut summary = Summary {
            arena: self.arena_bytes(),
            scratch: self.scratch * LINE,
            library: self.allocated.products.bytes(),
            factorisations: self.allocated.factors,
            definitions: self.allocated.definitions,
            results: self.result_bytes(),
            lists: self.call_bytes(),
            peak: self.peak_bytes(),
            ..Summary::default()
        };
        for step in &self.steps {
            step.count(&mut summary);
            summary.operations += step.operations();
            summary.moved += step.bytes();
            let between = step.writes.iter().filter(|operand| matches!(operand.home, Home::Arena(_)));
            summary.values += between.map(|operand| lines_of(size(operand)) * LINE).sum::<usize>();
        }
        summary
    }

    /// Every step in words and numbers; those inside of conditions are left out.
    pub fn step_infos(&self) -> Vec<StepInfo> {
        self.steps.iter().map(Step::info).collect()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let placed = self.arena - self.scratch;
        writeln!(f, "operations  {:>10}", amount(self.operations))?;
        writeln!(f, "moved       {:>10}  read and written by the steps", bytes(self.moved))?;
        write!(f, "arena       {:>10}  values {}, scratch {}", bytes(self.arena), bytes(placed), bytes(self.scratch))?;
        if placed > 0 && self.values > placed {
            let times = self.values as f64 / placed as f64;
            write!(f, "; {} of values share it, {times:.1} times its size", bytes(self.values))?;
        }
        writeln!(f, "\nlibrary     {:>10}  of matrix products", bytes(self.library))?;
        if self.factorisations > 0 {
            writeln!(f, "library     {:>10}  of factorisations, kept by threads", bytes(self.factorisations))?;
        }
        if self.definitions > 0 {
            writeln!(f, "definitions {:>10}  allocated while they run", bytes(self.definitions))?;
        }
        writeln!(f, "results     {:>10}", bytes(self.results))?;
        writeln!(f, "lists       {:>10}  of operands and results, made by a call", bytes(self.lists))?;
        writeln!(f, "peak        {:>10}  predicted, without the inputs", bytes(self.peak))
    }
}

impl Step {
    /// The step in words and numbers.
    pub(crate) fn info(&self) -> StepInfo {
        let sum = |operands: &[StepOperand]| operands.iter().map(size).sum();
        let elements = self.writes.first().map_or("", |operand| name(operand.kind));
        let (kind, what, size, parts) = match &self.work {
            StepWork::Region(region) => {
                let Space { groups, rows, cols } = region.parts().space;
                let size = format!("{elements} {groups}x{rows}x{cols}");
                (StepKind::Region, grouped(&self.provenance.names), size, Some(region.part_count()))
            }
            StepWork::Product(product) => {
                (StepKind::Product, grouped(&self.provenance.names), matrices(elements, product), None)
            }
            StepWork::Kernel(kernel, operation) => {
                let types = &operation.types;
                let types: Vec<String> = types.iter().map(ToString::to_string).collect();
                (StepKind::Kernel, kernel.name(), types.join(" "), None)
            }
            StepWork::Cond(plans) => {
                let sizes: Vec<String> = plans.iter().map(|plan| plan.steps.len().to_string()).collect();
                let size = format!("{} steps", sizes.join(" or "));
                (StepKind::Cond, grouped(&self.provenance.names), size, None)
            }
            StepWork::Scan(scan) => {
                let size = match &scan.code {
                    Some(code) => format!("{} times {}", scan.length, code.described()),
                    None => format!("{} times {} steps", scan.length, scan.body.steps.len()),
                };
                (StepKind::Loop, grouped(&self.provenance.names), size, None)
            }
            StepWork::While(plan) => {
                let size = format!("while: {}", plan.forwards.described());
                (StepKind::Loop, grouped(&self.provenance.names), size, None)
            }
            StepWork::Unwind(plan) => {
                let back = step_described(plan.second_code.as_ref(), &plan.second);
                let size = match &plan.way {
                    Way::Some(forwards, _) | Way::All(forwards, _) => {
                        format!("while: {}, back {back}", forwards.described())
                    }
                    Way::Before(_) => format!("back: {back}"),
                };
                (StepKind::Loop, grouped(&self.provenance.names), size, None)
            }
        };
        StepInfo {
            kind,
            what,
            size,
            elements,
            operations: self.operations(),
            read: sum(&self.reads),
            written: sum(&self.writes),
            scratch: self.scratch * LINE,
            parts,
            lines: short_lines(self),
        }
    }

    /// Adds itself, and the steps inside, to the numbers of steps.
    fn count(&self, summary: &mut Summary) {
        match &self.work {
            StepWork::Region(_) => summary.regions += 1,
            StepWork::Product(_) => summary.products += 1,
            StepWork::Kernel(..) => summary.kernels += 1,
            StepWork::Cond(_) => summary.conds += 1,
            StepWork::Scan(_) | StepWork::While(_) | StepWork::Unwind(_) => summary.loops += 1,
        }
        for (_, plan) in self.work.plans() {
            plan.steps.iter().for_each(|step| step.count(summary));
        }
    }
}

/// A line of the table.
fn row(number: &str, info: &StepInfo, text: &mut String) {
    let parts = info.parts.map_or("-".to_owned(), |parts| parts.to_string());
    let _ = writeln!(
        text,
        "{number:<6} {:<7} {:<34} {:<21} {:>10} {:>9} {:>9} {:>9} {parts:>5}",
        info.kind,
        cut(&info.what, 34),
        cut(&info.size, 21),
        amount(info.operations),
        bytes(info.read),
        bytes(info.written),
        bytes(info.scratch),
    );
}

/// The details that do not fit into the table: instructions and slots of a region, the user's lines.
fn notes(step: &Step, text: &mut String) {
    let mut words: Vec<String> = Vec::new();
    if let StepWork::Region(region) = &step.work {
        words.push(code(region));
    }
    if let StepWork::Kernel(kernel, _) = &step.work {
        words.extend(kernel.note().map(str::to_owned));
    }
    words.extend(short_lines(step));
    if !words.is_empty() {
        let _ = writeln!(text, "{:14} {}", "", list(&words, 105));
    }
}

fn code(region: &Region) -> String {
    let parts = region.parts();
    format!("{}, {}", counted(parts.code.len(), "instruction"), counted(parts.slots.len(), "slot"))
}

/// The sizes of matrices, with the batch in front.
fn matrices(elements: &str, product: &MatrixProduct) -> String {
    let [rows, inner, cols] = product.dims;
    match product.batch.iter().product::<usize>() {
        1 => format!("{elements} {rows}x{inner}x{cols}"),
        batch => format!("{elements} {batch}*({rows}x{inner}x{cols})"),
    }
}

fn size(operand: &StepOperand) -> usize {
    operand.count * operand.kind.size()
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::U8 => "bool",
        Kind::I64 => "i64",
        Kind::F32 => "f32",
        Kind::F64 => "f64",
    }
}

/// Names in the order in which they come first, with how often they come.
fn grouped(names: &[Cow<'static, str>]) -> String {
    let mut groups: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match groups.iter_mut().find(|(own, _)| own == name) {
            Some((_, count)) => *count += 1,
            None => groups.push((name, 1)),
        }
    }
    let words = groups.iter().map(|(name, count)| match count {
        1 => (*name).to_owned(),
        _ => format!("{name} x{count}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// A place in a file, with the last folder only.
pub(crate) fn short(line: Line) -> String {
    let file = line.file();
    let cut = file.rmatch_indices(['/', '\\']).nth(1).map_or(0, |(at, _)| at + 1);
    format!("{}:{}", &file[cut..], line.line())
}

/// The user's lines of a step, each once: several calls may stand in one.
fn short_lines(step: &Step) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in &step.provenance.lines {
        let line = short(line);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// As many words as fit into a width, and how many are left.
fn list(words: &[String], width: usize) -> String {
    let mut text = String::new();
    for (k, word) in words.iter().enumerate() {
        let comma = if k == 0 { "" } else { ", " };
        if k > 0 && text.chars().count() + word.chars().count() + 2 > width - 8 {
            let _ = write!(text, ", … +{}", words.len() - k);
            return text;
        }
        let _ = write!(text, "{comma}{word}");
    }
    text
}

/// The text, or its start and an ellipsis where it is longer than the width.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width - 1).collect();
    format!("{start}…")
}

/// `1 step`, `2 steps`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number with three digits and its thousands as a letter; exact below ten thousand.
pub(crate) fn amount(number: usize) -> String {
    scaled(number, 1000.0, ["", "k", "M", "G", "T"], "")
}

/// Bytes with three digits; exact below ten thousand.
pub(crate) fn bytes(number: usize) -> String {
    scaled(number, 1024.0, ["", "Ki", "Mi", "Gi", "Ti"], "B")
}

fn scaled(number: usize, base: f64, prefixes: [&str; 5], unit: &str) -> String {
    if number < 10_000 {
        return if unit.is_empty() { number.to_string() } else { format!("{number} {unit}") };
    }
    let (mut value, mut k) = (number as f64 / base, 1);
    // What would round to four digits gets the next letter.
    while value >= 999.5 && k + 1 < prefixes.len() {
        (value, k) = (value / base, k + 1);
    }
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {}{unit}", prefixes[k])
}
