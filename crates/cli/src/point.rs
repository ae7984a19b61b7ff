//! Values for names: `x1=2,x2=5e-1`, as in `--at` and `--jvp`.

use std::collections::HashMap;

use crate::failure::Failure;
use crate::program::Program;
use crate::syntax::functions::nearest_of;

/// The values that `texts` give to the inputs of `program`, in the order of the inputs.
///
/// Every input needs one value; `flag` is the flag that messages speak of. Numbers are written
/// as in programs, with an optional sign, or `inf`, `-inf`, `nan`.
pub(crate) fn values(program: &Program, flag: &str, texts: &[String]) -> Result<Vec<f64>, Failure> {
    let names = program.input_names();
    let places: HashMap<&str, usize> = names.iter().enumerate().map(|(index, name)| (name.as_str(), index)).collect();
    let mut found: Vec<Option<f64>> = vec![None; names.len()];
    for (name, value) in pairs(flag, texts)? {
        let Some(&index) = places.get(name.as_str()) else {
            return Err(unknown(program, flag, &name));
        };
        if found[index].replace(value).is_some() {
            return Err(Failure::Usage(format!("`{flag}` gives `{name}` two values")));
        }
    }
    let missing = names.iter().zip(&found).filter(|(_, value)| value.is_none());
    let missing: Vec<String> = missing.map(|(name, _)| format!("`{name}`")).collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().collect());
    }
    let example: Vec<String> = names.iter().map(|name| format!("{name}=1")).collect();
    Err(Failure::Usage(format!(
        "no value for {}; give every input one, as in `{flag} {}`",
        some_of(&missing, ", "),
        some_of(&example, ",")
    )))
}

/// The first few of the items.
fn some_of(items: &[String], between: &str) -> String {
    const SHOWN: usize = 8;
    let cut = |item: &String| match item.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &item[..end]),
        None => item.clone(),
    };
    let mut shown: Vec<String> = items.iter().take(SHOWN).map(cut).collect();
    if items.len() > SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(between)
}

fn unknown(program: &Program, flag: &str, name: &str) -> Failure {
    let names = program.input_names();
    if crate::check::is_constant(name) && !program.variables.iter().any(|known| known == name) {
        return Failure::Usage(format!(
            "`{flag}` names `{name}`, which is a constant; declare `input {name}` to use it as an input"
        ));
    }
    let listed = match names {
        [] => "the program has no inputs".to_owned(),
        _ => format!("the inputs are {}", some_of(names, ", ")),
    };
    let near = nearest_of(name, names.iter().map(|known| (known.as_str(), known)));
    let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Failure::Usage(format!("`{flag}` names `{name}`, but {listed}{meant}"))
}

/// The pairs of name and value in `texts`.
fn pairs(flag: &str, texts: &[String]) -> Result<Vec<(String, f64)>, Failure> {
    let mut found = Vec::new();
    for piece in texts.iter().flat_map(|text| text.split(',')) {
        let piece = piece.trim();
        if piece.is_empty() {
            continue;
        }
        let Some((name, value)) = piece.split_once('=') else {
            return Err(Failure::Usage(format!("`{flag}`: expected `name=value`, found `{piece}`")));
        };
        let (name, value) = (name.trim(), value.trim());
        if !crate::syntax::is_name(name) {
            return Err(Failure::Usage(format!("`{flag}`: `{name}` is not a name")));
        }
        let Ok(number) = value.parse::<f64>() else {
            return Err(Failure::Usage(format!("`{flag}`: the value of `{name}` is `{value}`, which is not a number")));
        };
        if number.is_infinite() && value.contains(|c: char| c.is_ascii_digit()) {
            return Err(Failure::Usage(format!(
                "`{flag}`: the value of `{name}` is too large; write `inf` for infinity"
            )));
        }
        found.push((name.to_owned(), number));
    }
    Ok(found)
}
