//! Runs commands as on another processor: `cargo xtask machine NAME COMMAND…`, and the step `machines` of CI.
//!
//! What depends on the processor is read in two places. The level of the instructions is ours, and `WENGERT_LEVEL` lowers it.
//! The sizes of the caches are read by the library of matrix products alone, from Linux's `/sys`, for the blocks and the
//! packing of its products; it has no setting for them. So the system is made to report others: the command runs in a name
//! space of its own (`unshare`), in which a folder of ours lies where the processors are described.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Failure;
use crate::run::run;
use crate::workspace::root;

/// Where Linux describes the processors.
const PROCESSORS: &str = "/sys/devices/system/cpu";
/// What else stands there and is asked for: which processors there are.
const COPIED: [&str; 4] = ["online", "possible", "present", "kernel_max"];

/// A processor as it is reported.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    /// The value of `WENGERT_LEVEL`; empty for the best.
    level: &'static str,
    /// First, second and third cache; none of a size of 0.
    caches: [Cache; 3],
    /// Whether they are unlike those of the machines that tests run on anyway.
    pub(crate) has_other_caches: bool,
}

struct Cache {
    kib: usize,
    ways: usize,
}

const fn cache(kib: usize, ways: usize) -> Cache {
    Cache { kib, ways }
}

/// Caches smaller than those of any processor that is sold today, usual ones, and larger ones; every level once.
pub(crate) const MACHINES: [Machine; 3] = [
    Machine {
        name: "small",
        level: "baseline",
        caches: [cache(16, 4), cache(128, 4), cache(0, 0)],
        has_other_caches: true,
    },
    Machine {
        name: "medium",
        level: "avx2",
        caches: [cache(48, 12), cache(256, 8), cache(12 << 10, 12)],
        has_other_caches: false,
    },
    Machine {
        name: "large",
        level: "",
        caches: [cache(128, 16), cache(16 << 10, 16), cache(256 << 10, 16)],
        has_other_caches: true,
    },
];

impl Machine {
    /// The machine of that name.
    fn named(name: &str) -> Result<&'static Self, Failure> {
        MACHINES.iter().find(|machine| machine.name == name).ok_or_else(|| {
            let names: Vec<&str> = MACHINES.iter().map(|machine| machine.name).collect();
            format!("there is no machine `{name}`, but {}", names.join(", "))
        })
    }

    /// Whether it has another level of instructions than this machine, and not only other caches.
    pub(crate) fn has_own_level(&self) -> bool {
        !self.level.is_empty()
    }

    /// What it is, in a line.
    pub(crate) fn described(&self) -> String {
        let mut text =
            format!("{}: level {}", self.name, if self.level.is_empty() { "of the machine" } else { self.level });
        for (cache, number) in self.caches.iter().zip(1..).filter(|(cache, _)| cache.kib > 0) {
            let _ = write!(text, ", L{number} {} KiB in {} ways", cache.kib, cache.ways);
        }
        text
    }

    /// The command as on this machine. Where the system cannot report other caches (it is not Linux, or forbids name
    /// spaces), it says so and changes only the level.
    pub(crate) fn command(&self, command: &Command) -> Result<Command, Failure> {
        let mut other = if can_report() {
            let folder = self.folder().map_err(|error| format!("cannot describe a processor: {error}"))?;
            let mut other = Command::new("unshare");
            let script = format!("mount --bind \"$0\" {PROCESSORS} && exec \"$@\"");
            other.args(["--map-root-user", "--mount", "sh", "-c", &script]).arg(folder).arg(command.get_program());
            other
        } else {
            println!("this system does not let us report other caches (`unshare` of Linux); only the level is another");
            Command::new(command.get_program())
        };
        other.args(command.get_args()).current_dir(root());
        for (name, value) in command.get_envs() {
            value.map(|value| other.env(name, value));
        }
        if !self.level.is_empty() {
            other.env("WENGERT_LEVEL", self.level);
        }
        Ok(other)
    }

    /// Writes the description of the processors, in the words of Linux.
    fn folder(&self) -> std::io::Result<PathBuf> {
        let folder = root().join("target").join("machines").join(self.name);
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        for processor in 0..processors {
            for (cache, level) in self.caches.iter().zip(1..).filter(|(cache, _)| cache.kib > 0) {
                let folder = folder.join(format!("cpu{processor}/cache/index{level}"));
                fs::create_dir_all(&folder)?;
                let kind = if level == 1 { "Data" } else { "Unified" };
                fs::write(folder.join("type"), format!("{kind}\n"))?;
                fs::write(folder.join("level"), format!("{level}\n"))?;
                fs::write(folder.join("size"), format!("{}K\n", cache.kib))?;
                fs::write(folder.join("ways_of_associativity"), format!("{}\n", cache.ways))?;
                fs::write(folder.join("coherency_line_size"), "64\n")?;
                fs::write(folder.join("shared_cpu_list"), format!("{processor}\n"))?;
            }
        }
        for name in COPIED {
            // Not every kernel has all of them.
            if let Ok(text) = fs::read(format!("{PROCESSORS}/{name}")) {
                fs::write(folder.join(name), text)?;
            }
        }
        Ok(folder)
    }
}

/// Whether a command can be run in a name space of its own.
fn can_report() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "mount", "--bind", PROCESSORS, PROCESSORS]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// `cargo xtask machine NAME COMMAND…`.
pub(crate) fn machine(name: &str, command: &[&str]) -> Result<(), Failure> {
    let machine = Machine::named(name)?;
    let (program, arguments) = command.split_first().ok_or("say what to run, as in `machine small cargo test`")?;
    println!("{}", machine.described());
    run(&mut machine.command(Command::new(program).args(arguments))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::output;

    #[test]
    fn a_machine_has_its_level_and_its_caches() {
        for machine in &MACHINES {
            let size = format!("{PROCESSORS}/cpu0/cache/index2/size");
            let mut script = Command::new("sh");
            script.args(["-c", &format!("echo \"$WENGERT_LEVEL$OTHER\"; cat {size} || true")]).env("OTHER", "!");
            let printed = output(&mut machine.command(&script).expect("it is described")).expect("it runs");
            let lines: Vec<&str> = printed.lines().collect();
            assert_eq!(lines[0], format!("{}!", machine.level));
            if can_report() {
                assert_eq!(lines[1], format!("{}K", machine.caches[1].kib));
            }
        }
    }

    #[test]
    fn a_machine_that_is_not_there_is_an_error() {
        assert!(machine("huge", &["true"]).unwrap_err().contains("small, medium, large"));
        assert!(machine("small", &[]).is_err());
        assert!(MACHINES[0].described().contains("level baseline, L1 16 KiB in 4 ways, L2 128 KiB"));
    }
}
