//! Values for names: `x1=2,x2=5e-1`, as in `--at` and `--jvp`.

use std::collections::HashMap;

use crate::check::Shapes;
use crate::failure::Failure;
use crate::program::{Part, Program};
use crate::report::{cut, nested};
use crate::syntax::functions::nearest_of;

/// A number, or an array with its shape and its elements in reading order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    shape: Option<Vec<usize>>,
    elements: Vec<f64>,
}

/// The shapes of the arrays in `texts`; none where these cannot be read and hold no bracket, so that what is wrong with the
/// program is said first.
pub(crate) fn shapes(flag: &str, texts: &[String]) -> Result<Shapes, Failure> {
    match pairs(flag, texts) {
        Ok(pairs) => Ok(pairs.into_iter().filter_map(|(name, given)| Some((name, given.shape?))).collect()),
        Err(failure) if texts.iter().any(|text| text.contains('[')) => Err(failure),
        Err(_) => Ok(Shapes::new()),
    }
}

/// The values that `texts` give to the inputs of `program`, in the order of the inputs.
///
/// Every input needs one value, of its shape; `flag` is the flag that messages speak of. Numbers are written
/// as in programs, with an optional sign, or `inf`, `-inf`, `nan`; arrays in brackets.
pub(crate) fn values(program: &Program, flag: &str, texts: &[String]) -> Result<Vec<f64>, Failure> {
    let parts = &program.input_parts;
    let places: HashMap<&str, usize> =
        parts.iter().enumerate().map(|(index, part)| (part.name.as_str(), index)).collect();
    let mut found: Vec<Option<Vec<f64>>> = vec![None; parts.len()];
    for (name, given) in pairs(flag, texts)? {
        let Some(&index) = places.get(name.as_str()) else {
            return Err(unknown(program, flag, &name));
        };
        if given.shape != parts[index].shape {
            let called = |shape: &Option<Vec<usize>>| match shape {
                None => "a number".to_owned(),
                Some(shape) => format!("an array of shape {shape:?}"),
            };
            let (is, given) = (called(&parts[index].shape), called(&given.shape));
            return Err(Failure::Usage(format!("`{flag}` gives `{name}` {given}, and `{name}` is {is} in `--at`")));
        }
        if found[index].replace(given.elements).is_some() {
            return Err(Failure::Usage(format!("`{flag}` gives `{name}` two values")));
        }
    }
    let missing = parts.iter().zip(&found).filter(|(_, value)| value.is_none());
    let missing: Vec<String> = missing.map(|(part, _)| format!("`{}`", part.name)).collect();
    if missing.is_empty() {
        return Ok(found.into_iter().flatten().flatten().collect());
    }
    let example = |part: &Part| match &part.shape {
        None => format!("{}=1", part.name),
        Some(shape) => format!("{}={}", part.name, nested(shape, &vec!["1".to_owned(); part.count()])),
    };
    let example: Vec<String> = parts.iter().map(example).collect();
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
    let names: Vec<String> = program.input_parts.iter().map(|part| part.name.clone()).collect();
    if crate::check::is_constant(name) && !program.variables.iter().any(|known| known == name) {
        return Failure::Usage(format!(
            "`{flag}` names `{name}`, which is a constant; declare `input {name}` to use it as an input"
        ));
    }
    let listed = match &names[..] {
        [] => "the program has no inputs".to_owned(),
        _ => format!("the inputs are {}", some_of(&names, ", ")),
    };
    let near = nearest_of(name, names.iter().map(|known| (known.as_str(), known)));
    let meant = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Failure::Usage(format!("`{flag}` names `{name}`, but {listed}{meant}"))
}

/// The pairs of name and value in `texts`.
fn pairs(flag: &str, texts: &[String]) -> Result<Vec<(String, Given)>, Failure> {
    let mut found = Vec::new();
    for piece in texts.iter().flat_map(|text| pieces(text)) {
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
        let given = match value.strip_prefix('[') {
            None => Given { shape: None, elements: vec![number(flag, name, value)?] },
            Some(_) => array(flag, name, value)?,
        };
        found.push((name.to_owned(), given));
    }
    Ok(found)
}

/// The pieces between commas that are in no brackets.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut open = 0_i64;
    text.split(move |c: char| {
        open += i64::from(c == '[') - i64::from(c == ']');
        c == ',' && open <= 0
    })
}

fn number(flag: &str, name: &str, value: &str) -> Result<f64, Failure> {
    let Ok(number) = value.parse::<f64>() else {
        return Err(Failure::Usage(format!("`{flag}`: the value of `{name}` is `{value}`, which is not a number")));
    };
    if number.is_infinite() && value.contains(|c: char| c.is_ascii_digit()) {
        return Err(Failure::Usage(format!("`{flag}`: the value of `{name}` is too large; write `inf` for infinity")));
    }
    Ok(number)
}

/// The most elements of an array, and the deepest brackets.
const MOST_ELEMENTS: usize = 10_000;
const MOST_AXES: usize = 8;

/// An array in brackets: `[1, 2]`, `[[1, 2], [3, 4]]`. The length of an axis is that of its first row; all others must
/// have it too.
fn array(flag: &str, name: &str, value: &str) -> Result<Given, Failure> {
    let wrong = |what: &str| Err(Failure::Usage(format!("`{flag}`: the value of `{name}`, `{}`, {what}", cut(value))));
    let mut elements = Vec::new();
    // The length of each axis, where a bracket of it has closed, and of the brackets that are open.
    let mut shape: Vec<Option<usize>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut depth = None;
    let mut rest = value;
    // Whether an element or a bracket may come: not behind an element before its comma.
    let mut expects = true;
    while let Some(first) = rest.chars().next() {
        if open.is_empty() && !expects {
            return wrong("goes on behind its last bracket");
        }
        let length = match first {
            '[' if expects => {
                if open.len() == MOST_AXES {
                    return wrong(&format!("has more than {MOST_AXES} axes"));
                }
                open.push(0);
                if shape.len() < open.len() {
                    shape.push(None);
                }
                1
            }
            ']' if !expects => {
                let Some(length) = open.pop() else { return wrong("has a bracket too many") };
                if *shape[open.len()].get_or_insert(length) != length {
                    return wrong("has rows of different lengths");
                }
                if let Some(outer) = open.last_mut() {
                    *outer += 1;
                }
                1
            }
            ',' if !expects => {
                expects = true;
                rest = &rest[1..];
                continue;
            }
            c if c.is_whitespace() => {
                rest = &rest[c.len_utf8()..];
                continue;
            }
            _ if expects && !open.is_empty() => {
                let end = rest.find([',', '[', ']']).unwrap_or(rest.len());
                if rest[..end].trim().is_empty() {
                    return wrong("has a place without a number");
                }
                elements.push(number(flag, name, rest[..end].trim())?);
                if *depth.get_or_insert(open.len()) != open.len() {
                    return wrong("has numbers beside arrays");
                }
                if elements.len() > MOST_ELEMENTS {
                    return wrong(&format!("has more than {MOST_ELEMENTS} elements; `wengert run` takes large arrays"));
                }
                if let Some(last) = open.last_mut() {
                    *last += 1;
                }
                end
            }
            _ => return wrong("is no array, as `[1, 2]` or `[[1, 2], [3, 4]]`"),
        };
        expects = first == '[';
        rest = &rest[length..];
    }
    if !open.is_empty() || elements.is_empty() {
        return wrong("has a bracket that is not closed");
    }
    let shape: Vec<usize> = shape.into_iter().flatten().collect();
    if depth != Some(shape.len()) || shape.iter().product::<usize>() != elements.len() {
        return wrong("has numbers beside arrays");
    }
    Ok(Given { shape: Some(shape), elements })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_with_their_shapes() {
        let read = |text: &str| pairs("--at", &[text.to_owned()]);
        let given =
            |shape: &[usize], elements: &[f64]| Given { shape: Some(shape.to_vec()), elements: elements.to_vec() };
        let found = read("x=[1, 2,3e-1],A = [[1,-2],[ 3 ,inf]],y=5").expect("it can be read");
        assert_eq!(found[0], ("x".to_owned(), given(&[3], &[1.0, 2.0, 0.3])));
        assert_eq!(found[1], ("A".to_owned(), given(&[2, 2], &[1.0, -2.0, 3.0, f64::INFINITY])));
        assert_eq!(found[2], ("y".to_owned(), Given { shape: None, elements: vec![5.0] }));
        assert_eq!(read("x=[[[7]]]").expect("it can be read")[0].1, given(&[1, 1, 1], &[7.0]));
        for (text, part) in [
            ("x=[]", "without a number"),
            ("x=[1,]", "without a number"),
            ("x=[,1]", "without a number"),
            ("x=[1 2]", "`1 2`, which is not a number"),
            ("x=[1,a]", "`a`, which is not a number"),
            ("x=[1,1e999]", "too large"),
            ("x=[[1,2],[3]]", "different lengths"),
            ("x=[1,[2]]", "beside arrays"),
            ("x=[[1],2]", "beside arrays"),
            ("x=[1", "not closed"),
            ("x=[1]]", "goes on"),
            ("x=[1]2", "goes on"),
            ("x=[1][2]", "goes on"),
            ("x=[[[[[[[[[1]]]]]]]]]", "more than 8 axes"),
        ] {
            let message = read(text).expect_err(text).to_string();
            assert!(message.contains(part), "{text}: {message}");
        }
        let many = format!("x=[{}1]", "1,".repeat(MOST_ELEMENTS));
        assert!(read(&many).expect_err("it is too long").to_string().contains("elements"));
    }
}
