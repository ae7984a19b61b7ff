//! How much memory a program may take: what the system says is left, so that it ends with a message instead of being
//! killed.

use std::fs;

/// Bytes that are available without swapping, if the system says how many; else all that an address can name.
///
/// Linux tells what is free or can be freed, and where the process runs in a group with a limit (a container), that.
pub(crate) fn available() -> usize {
    let file = |path: &str| fs::read_to_string(path).ok();
    let free = file("/proc/meminfo").and_then(|text| of_meminfo(&text));
    let number = |path: &str| file(path)?.trim().parse::<usize>().ok();
    let rest = |limit: &str, used: &str| Some(number(limit)?.saturating_sub(number(used)?));
    let group = rest("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
    let older = rest("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes");
    [free, group, older].into_iter().flatten().min().unwrap_or(usize::MAX)
}

/// The line of `/proc/meminfo` that begins with `MemAvailable:`, in kibibytes.
fn of_meminfo(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::{available, of_meminfo};

    #[test]
    fn the_system_says_how_much_there_is() {
        let text = "MemTotal:       24163228 kB\nMemFree:        19001232 kB\nMemAvailable:   22263120 kB\n";
        assert_eq!(of_meminfo(text), Some(22_263_120 * 1024));
        assert_eq!(of_meminfo("MemAvailable: many kB"), None);
        assert_eq!(of_meminfo(""), None);
        assert!(available() > 1 << 20);
    }
}
