//! What the derivatives of the workloads cost, counted: operations, bytes, steps, memory, allocations.
//!
//! Counts do not change from run to run, so that a change that makes a derivative dearer is seen when it is
//! made. Nor do they depend on the machine: scratch, which depends on its vectors, and the matrix library's own memory, which
//! depends on its caches, are listed apart. The table is `docs/counts.md`; a test compares every number, and
//! `cargo xtask bless` writes it anew.

use std::fmt::Write;

use wengert::profile::{Profile, collect};

use super::case::{Case, Setup, Way};
use super::{ALL, CHAIN, Workload};
use crate::growth::{Growth, forget_peak};

/// Calls before those that are counted: what they record is planned, and their memory is there.
const WARM: usize = 2;
/// Calls of which the one with the fewest allocations counts: a table may grow in one of them.
const COUNTED: usize = 3;

/// What one call of a workload's derivative costs, all its plans together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Different plans.
    plans: usize,
    /// Steps by kind: regions, products of matrices, kernels.
    regions: usize,
    products: usize,
    kernels: usize,
    operations: usize,
    moved: usize,
    /// Bytes of the values in the largest arena.
    arena: usize,
    /// The most that values and results take.
    peak: usize,
    /// The largest scratch, and memory of the matrix library: they depend on the processor's level and caches.
    beside: [usize; 2],
}

impl Counts {
    /// The costs of these plans, each as often as it ran.
    fn of(profiles: &[Profile]) -> Self {
        let mut counts = Counts { plans: profiles.len(), ..Counts::default() };
        for Profile { summary, runs, .. } in profiles {
            let runs = *runs as usize;
            counts.regions += runs * summary.regions;
            counts.products += runs * summary.products;
            counts.kernels += runs * summary.kernels;
            counts.operations += runs * summary.operations;
            counts.moved += runs * summary.moved;
            let values = summary.arena - summary.scratch;
            counts.arena = counts.arena.max(values);
            counts.peak = counts.peak.max(values + summary.results);
            let [scratch, library] = counts.beside;
            counts.beside = [scratch.max(summary.scratch), library.max(summary.library)];
        }
        counts
    }
}

/// The counts of one call.
pub(super) fn counts(case: &mut Case) -> Counts {
    let ((), profiles) = collect(|| (case.derivative)());
    Counts::of(&profiles)
}

/// The predicted peak of W8 beside the memory that the process takes: an error where the system does not tell it.
///
/// The resident memory is that before the derivative is first called, with the inputs, and the largest one while it
/// runs again.
pub(crate) fn memory(chain: usize, threads: usize) -> Result<String, String> {
    wengert::set_threads(threads);
    let workload = ALL.iter().find(|workload| workload.name == "W8").ok_or("there is no W8")?;
    let mut case = workload.prepare(&Setup { chain, way: Way::Compiled, programs: None });
    let growth = Growth::begin()?;
    let Counts { peak, beside: [scratch, library], .. } = counts(&mut case);
    let predicted = (peak + scratch + library) as f64 / (1 << 20) as f64;
    (case.derivative)();
    forget_peak();
    (case.derivative)();
    let (before, more) = (growth.before(), growth.mb());
    let after = before + more;
    Ok(format!(
        "W8 with {chain} numbers, {threads} threads: predicted peak {predicted:.1} MiB; resident before {before:.1}, \
         at most {after:.1}, so {more:.1} MiB more ({:+.1}% of what was predicted)",
        100.0 * (more - predicted) / predicted
    ))
}

/// The page of all workloads, and what depends on the machine; allocations are counted by tests only.
pub(crate) fn page() -> String {
    let (page, beside) = table(|_| None);
    format!(
        "{page}\nBeside the peak, on this machine, in bytes: scratch, and the matrix library's own memory\n{beside}"
    )
}

/// The page with the table of all workloads in Markdown, and a line for each with the memory that depends on the machine.
/// `allocated` gives the allocations of a call, if they are counted.
fn table(allocated: impl Fn(&mut Case) -> Option<u64>) -> (String, String) {
    let (mut text, mut beside) = (HEAD.to_owned(), String::new());
    for workload in &ALL {
        // Scratch and peak depend on the number of threads; another test may have set one.
        wengert::set_threads(1);
        let mut case = workload.prepare(&Setup { chain: CHAIN, way: Way::Compiled, programs: None });
        let counts = counts(&mut case);
        let _ = writeln!(text, "{}", row(workload, &counts, &allocations(workload, &mut case, &allocated)));
        let [scratch, library] = counts.beside;
        let _ = writeln!(beside, "{:7} {scratch:11} {library:11}", workload.key());
    }
    (text, beside)
}

/// The allocations of a call in the steady state, of the workloads that are quick enough to be called often.
fn allocations(workload: &Workload, case: &mut Case, allocated: impl Fn(&mut Case) -> Option<u64>) -> String {
    if !["W2", "W7b"].contains(&&*workload.name) {
        return "-".to_owned();
    }
    (0..WARM).for_each(|_| (case.derivative)());
    (0..COUNTED).filter_map(|_| allocated(case)).min().map_or("-".to_owned(), |least| least.to_string())
}

fn row(workload: &Workload, counts: &Counts, allocations: &str) -> String {
    let Counts { plans, regions, products, kernels, operations, moved, arena, peak, beside: _ } = counts;
    format!(
        "| {:7} | {plans:5} | {regions:7} | {products:8} | {kernels:7} | {operations:12} | {moved:12} | {arena:11} \
         | {peak:11} | {allocations:>11} |",
        workload.key()
    )
}

const HEAD: &str = "\
# Counts

What one derivative of every workload costs, on one thread: `cargo xtask bless` writes this page, and a test compares
it. `W8` has 16,777,216 numbers. A call may be several plans; steps, operations and bytes are those of all of them.
Operations are those on elements; bytes are what steps read and write, wherever it lies; the arena is that of the values
between steps, and the peak these and the results, of the largest plan, in bytes, without inputs. Scratch depends on the
processor's vectors, and what the matrix library packs its operands into on its caches: `cargo xtask bench counts` prints
both. Allocations are those of a call when everything is planned, counted where calls are quick.

| | plans | regions | products | kernels | operations | bytes moved | arena | peak | allocations |
|---|---|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use expect_test::expect_file;

    use super::*;

    #[test]
    fn derivatives_cost_what_the_page_says() {
        let allocated = |case: &mut Case| Some(allocation_counter::measure(|| (case.derivative)()).count_total);
        expect_file!["../../../docs/counts.md"].assert_eq(&table(allocated).0);
    }

    #[test]
    fn runs_are_counted_each() {
        let run = || (wengert::Tensor::from([1.0, 2.0]) + 1.0).exp().to_vec();
        let ((), once) = collect(|| drop(run()));
        let ((), thrice) = collect(|| (0..3).for_each(|_| drop(run())));
        let (once, thrice) = (Counts::of(&once), Counts::of(&thrice));
        assert!(once.operations > 0 && thrice.operations == 3 * once.operations, "{once:?} {thrice:?}");
        assert_eq!((thrice.plans, thrice.peak), (once.plans, once.peak));
    }

    #[test]
    fn plans_and_profiles_are_logged_where_it_is_asked_for() {
        // This program again, with one test: what it runs is logged when its thread ends.
        let test = "workloads::counts::tests::runs_are_counted_each";
        let log = |words: &str| {
            let program = std::env::current_exe().expect("a test is a program");
            let mut command = std::process::Command::new(program);
            command.args(["--exact", test, "--nocapture"]).env("WENGERT_LOG", words);
            let output = command.output().expect("it can be started");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        };
        let plans = log("plan");
        assert!(plans.contains("step   kind") && plans.contains("peak  "), "{plans}");
        assert!(!plans.contains("limits of the machine"), "{plans}");
        let profiles = log("profile");
        // Once in the first collection, three times in the second.
        assert!(profiles.contains("; 4 runs, ") && profiles.contains("limits of the machine"), "{profiles}");
        assert!(!profiles.contains("predicted, without"), "{profiles}");
        let without = log("");
        assert!(!without.contains("plan: "), "{without}");
    }
}
