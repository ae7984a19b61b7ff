//! What the golden comparison may leave out: a list in the repository, and failures for all that differs from it.

use std::collections::BTreeMap;

/// The failures of a family of which this many cases of these functions are unsupported, by the lines `family: function
/// (cases)` of a list: one for every function that is not in the list or has another number of cases there, and for every
/// one that only the list has.
pub(crate) fn misfits(family: &str, missing: &BTreeMap<String, usize>, list: &str) -> Vec<(String, String)> {
    let entry = |line: &str| {
        let (function, cases) = line.strip_prefix(family)?.strip_prefix(": ")?.rsplit_once(" (")?;
        Some((function.to_owned(), cases.strip_suffix(')')?.parse().ok()?))
    };
    let listed: BTreeMap<String, usize> = list.lines().filter_map(entry).collect();
    let names = missing.keys().chain(listed.keys().filter(|name| !missing.contains_key(*name)));
    let counts = names.map(|name| (name, missing.get(name).unwrap_or(&0), listed.get(name).unwrap_or(&0)));
    let differing = counts.filter(|(_, missing, listed)| missing != listed);
    let why = |missing, listed| format!("{missing} cases are unsupported, and `golden/unsupported.txt` has {listed}");
    differing.map(|(name, missing, listed)| (name.clone(), why(missing, listed))).collect()
}
