//! [`Choice`]: a way to a sparse derivative, what it is predicted to take, and the table of several.

use super::Method;

/// What a way takes: operations on numbers, and bytes of the values that it computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) operations: u64,
    pub(super) bytes: u64,
}

/// A way, and what it is predicted to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) method: Method,
    /// Products with seeds; none if there are no seeds.
    pub(super) passes: usize,
    pub(super) work: Work,
    /// What stands behind the line: why it cannot be taken, or what it rests on.
    pub(super) note: String,
    pub(super) possible: bool,
}

/// A table of the ways, with an arrow at the one that was taken.
pub(super) fn table(title: &str, choices: &[Choice], taken: Method, why: &str) -> String {
    let mut text = format!("{title}\n");
    text.push_str("   way             passes    operations         bytes\n");
    for choice in choices {
        let mark = if choice.possible && choice.method == taken { "->" } else { "  " };
        let passes = if choice.passes == 0 { "-".to_owned() } else { choice.passes.to_string() };
        let Work { operations, bytes } = choice.work;
        let line = match choice.possible {
            true => {
                format!("{mark} {:<15} {passes:>6} {operations:>13} {bytes:>13}  {}", choice.method.name(), choice.note)
            }
            false => format!("{mark} {:<15} {:>36}{}", choice.method.name(), "", choice.note),
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str("taken: ");
    text.push_str(taken.name());
    text.push_str(", ");
    text.push_str(why);
    text.push('\n');
    text
}
