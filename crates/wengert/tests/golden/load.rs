//! Reads golden files. Whatever is wrong with one becomes a message that names the file and the
//! case; nothing about a file's contents can panic here.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::program::Program;

/// A JSON object.
pub(crate) type Object = Map<String, Value>;

/// The element type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dtype {
    F64,
    F32,
    I64,
    I32,
    Bool,
}

impl Dtype {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "f64" => Ok(Self::F64),
            "f32" => Ok(Self::F32),
            "i64" => Ok(Self::I64),
            "i32" => Ok(Self::I32),
            "bool" => Ok(Self::Bool),
            other => Err(format!("unknown dtype `{other}`")),
        }
    }

    /// Whether derivatives pass through numbers of this type.
    pub(crate) fn is_real(self) -> bool {
        matches!(self, Self::F64 | Self::F32)
    }

    /// One number of this type. Integers are kept as `f64`, so they must stay below 2^53.
    fn number(self, value: &Value) -> Result<f64, String> {
        let number = real(value)?;
        let (low, high) = match self {
            Self::F64 => return Ok(number),
            Self::F32 if !number.is_finite() || number.abs() <= f64::from(f32::MAX) => {
                return Ok(f64::from(number as f32));
            }
            Self::F32 => return Err(format!("{number} does not fit into f32")),
            Self::I64 => (-9_007_199_254_740_992.0, 9_007_199_254_740_992.0),
            Self::I32 => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Self::Bool => (0.0, 1.0),
        };
        if number.fract() == 0.0 && (low..=high).contains(&number) {
            Ok(number)
        } else {
            Err(format!("{number} is no number of dtype {self:?}"))
        }
    }
}

/// A number, or `"NaN"`, `"Infinity"`, `"-Infinity"`.
pub(crate) fn real(value: &Value) -> Result<f64, String> {
    match value {
        Value::Number(number) => number.as_f64().ok_or_else(|| format!("{number} is out of range")),
        Value::String(text) => match text.as_str() {
            "NaN" => Ok(f64::NAN),
            "Infinity" => Ok(f64::INFINITY),
            "-Infinity" => Ok(f64::NEG_INFINITY),
            other => Err(format!("`{other}` is not a number")),
        },
        other => Err(format!("{} is not a number", excerpt(other))),
    }
}

/// A stored array; `data` is row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stored {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<f64>,
}

impl Stored {
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or_else(|| format!("{} is not an array object", excerpt(value)))?;
        let dtype = Dtype::parse(text(object, "dtype")?)?;
        let shape = naturals(key(object, "shape")?).map_err(|error| format!("`shape`: {error}"))?;
        let size = element_count(&shape)?;
        let data = list(object, "data")?;
        if data.len() != size {
            return Err(format!("shape {shape:?} needs {size} numbers, `data` has {}", data.len()));
        }
        let data = data
            .iter()
            .enumerate()
            .map(|(k, value)| dtype.number(value).map_err(|error| format!("`data`[{k}]: {error}")))
            .collect::<Result<_, _>>()?;
        Ok(Stored { dtype, shape, data })
    }

    /// Whether `other` has this shape.
    fn check_shape(&self, other: &Stored) -> Result<(), String> {
        if self.shape == other.shape {
            Ok(())
        } else {
            Err(format!("its shape is {:?} instead of {:?}", other.shape, self.shape))
        }
    }
}

/// How many elements an array of this shape has.
pub(crate) fn element_count(shape: &[usize]) -> Result<usize, String> {
    // An axis of length 0 makes the array empty only if the others can be multiplied at all.
    shape
        .iter()
        .try_fold(1usize, |size, &length| size.checked_mul(length))
        .ok_or_else(|| format!("shape {shape:?} has more elements than can be counted"))
}

/// One case of a family of functions.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) function: String,
    /// Constants of the operation; empty if the case has none.
    pub(crate) attrs: Object,
    /// Constants of the function, from the head of the file; empty if it has none.
    pub(crate) constants: Object,
    pub(crate) inputs: Vec<Stored>,
    pub(crate) outputs: Vec<Stored>,
    /// The inputs that are differentiated, ascending.
    pub(crate) diff: Vec<usize>,
    pub(crate) tangents: Option<Vec<Option<Stored>>>,
    pub(crate) jvp: Option<Vec<Option<Stored>>>,
    pub(crate) cotangents: Option<Vec<Option<Stored>>>,
    pub(crate) vjp: Option<Vec<Option<Stored>>>,
    pub(crate) hvp: Option<Vec<Option<Stored>>>,
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
    pub(crate) program: Option<Program>,
    /// The whole case, every array in it checked.
    pub(crate) object: Object,
}

impl Case {
    fn parse(value: &Value, constants: &Object) -> Result<Self, String> {
        let object = value.as_object().ok_or("it is not an object")?.clone();
        check_arrays(value, "")?;
        text(&object, "name")?;
        let function = text(&object, "function")?.to_owned();
        let attrs = match object.get("attrs") {
            None | Some(Value::Null) => Object::new(),
            Some(value) => value.as_object().ok_or("`attrs` is not an object")?.clone(),
        };
        let inputs = arrays(&object, "inputs")?;
        let outputs = arrays(&object, "outputs")?;
        let diff = differentiated(&object, &inputs)?;
        let is_real: Vec<bool> = outputs.iter().map(|output| output.dtype.is_real()).collect();
        let differs: Vec<bool> = (0..inputs.len()).map(|k| diff.contains(&k)).collect();
        let tolerance = key(&object, "tol")?.as_object().ok_or("`tol` is not an object")?;
        let program = match attrs.get("program") {
            None => None,
            Some(value) => Some(Program::parse(value, inputs.len())?),
        };
        let case = Case {
            constants: constants.get(&function).and_then(Value::as_object).cloned().unwrap_or_default(),
            tangents: directions(&object, "tangents", &inputs, &differs)?,
            jvp: directions(&object, "jvp", &outputs, &is_real)?,
            cotangents: directions(&object, "cotangents", &outputs, &is_real)?,
            vjp: directions(&object, "vjp", &inputs, &differs)?,
            hvp: directions(&object, "hvp", &inputs, &differs)?,
            rtol: limit(tolerance, "rtol")?,
            atol: limit(tolerance, "atol")?,
            function,
            attrs,
            inputs,
            outputs,
            diff,
            program,
            object,
        };
        let pairs = [("jvp", "tangents"), ("hvp", "tangents"), ("vjp", "cotangents")];
        match pairs.iter().find(|(of, along)| case.object.contains_key(*of) && !case.object.contains_key(*along)) {
            None => Ok(case),
            Some((of, along)) => Err(format!("it has `{of}` but no `{along}`")),
        }
    }

    /// The array under a key beyond the usual ones.
    pub(crate) fn array(&self, name: &str) -> Result<Stored, String> {
        Stored::parse(key(&self.object, name)?).map_err(|error| format!("`{name}`: {error}"))
    }

    /// The array under a key beyond the usual ones, if the case has it.
    pub(crate) fn array_if_any(&self, name: &str) -> Result<Option<Stored>, String> {
        if self.object.contains_key(name) { self.array(name).map(Some) } else { Ok(None) }
    }

    /// The text under a key; empty if there is none.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.object.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the case is one of single precision.
    pub(crate) fn is_single(&self) -> bool {
        self.inputs.iter().any(|input| input.dtype == Dtype::F32)
            && self.inputs.iter().all(|input| input.dtype != Dtype::F64)
    }
}

/// A case of the family `conventions`: one point, and what several systems say there.
#[derive(Clone, Debug)]
pub(crate) struct ConventionCase {
    pub(crate) name: String,
    /// Every input flattened, with whether it is a scalar.
    pub(crate) inputs: Vec<(Vec<f64>, bool)>,
    /// Value and gradients of every system that gave both, flattened.
    pub(crate) systems: Vec<(Vec<f64>, Vec<f64>)>,
    /// The gradients found acceptable, flattened.
    pub(crate) accept: Vec<Vec<f64>>,
}

impl ConventionCase {
    fn parse(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("it is not an object")?;
        let inputs = list(object, "inputs")?;
        let inputs = inputs.iter().map(|input| Ok((flat(input)?, !input.is_array()))).collect::<Result<_, String>>();
        let accept = list(object, "accept")?.iter().map(flat).collect::<Result<_, _>>();
        let mut systems = Vec::new();
        for system in ["jax", "torch", "tf"] {
            let Some(Value::Object(result)) = object.get(system) else { continue };
            // A system may have raised an error instead, or may report no gradient at all.
            if let (Some(value), Some(grad)) = (result.get("value"), result.get("grad"))
                && !matches!(grad, Value::Array(grads) if grads.iter().any(Value::is_null))
            {
                let wrong = |error| format!("`{system}`: {error}");
                systems.push((flat(value).map_err(wrong)?, flat(grad).map_err(wrong)?));
            }
        }
        Ok(ConventionCase {
            name: text(object, "name")?.to_owned(),
            inputs: inputs.map_err(|error| format!("`inputs`: {error}"))?,
            accept: accept.map_err(|error| format!("`accept`: {error}"))?,
            systems,
        })
    }
}

/// The numbers of nested lists, in order.
fn flat(value: &Value) -> Result<Vec<f64>, String> {
    match value {
        Value::Array(items) => Ok(items.iter().map(flat).collect::<Result<Vec<_>, _>>()?.concat()),
        number => Ok(vec![real(number)?]),
    }
}

/// A case as far as it could be read, with its name.
pub(crate) type Read<C> = (String, Result<C, String>);

/// The cases of a file.
pub(crate) enum Cases {
    Functions(Vec<Read<Case>>),
    Conventions(Vec<Read<ConventionCase>>),
}

/// A golden file.
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) cases: Cases,
}

/// The golden files of a directory, by name.
pub(crate) fn files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let shown = directory.display();
    let entries = std::fs::read_dir(directory).map_err(|error| format!("{shown}: {error}"))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{shown}: {error}"))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() { Err(format!("{shown}: there is no .json file")) } else { Ok(files) }
}

/// Reads a golden file. The error is about the file as a whole; what is wrong with one case stands
/// in its place.
pub(crate) fn family(path: &Path) -> Result<Family, String> {
    let wrong = |error: String| format!("{}: {error}", path.display());
    let bytes = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let content = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    parse_family(content, &file).map_err(wrong)
}

fn parse_family(content: &str, file: &str) -> Result<Family, String> {
    let value: Value = serde_json::from_str(content).map_err(|error| error.to_string())?;
    let object = value.as_object().ok_or("the file is not a JSON object")?;
    let name = text(object, "family")?.to_owned();
    let cases = list(object, "cases")?;
    if cases.is_empty() {
        return Err("`cases` is empty".to_owned());
    }
    if name == "conventions" {
        let cases = read(file, cases, ConventionCase::parse);
        return Ok(Family { name, cases: Cases::Conventions(cases) });
    }
    let functions = key(object, "functions")?.as_object().ok_or("`functions` is not an object")?;
    let constants: Object =
        functions.iter().filter_map(|(name, about)| Some((name.clone(), about.get("constants")?.clone()))).collect();
    let sparse = name == "sparse";
    let cases = read(file, cases, |value| {
        let case = Case::parse(value, &constants)?;
        if !functions.contains_key(&case.function) {
            return Err(format!("`functions` does not list its function `{}`", case.function));
        }
        if sparse { check_pattern(&case).map(|()| case) } else { Ok(case) }
    });
    Ok(Family { name, cases: Cases::Functions(cases) })
}

fn read<C>(file: &str, cases: &[Value], parse: impl Fn(&Value) -> Result<C, String>) -> Vec<Read<C>> {
    let read_one = |(k, value): (usize, &Value)| {
        let name = value.get("name").and_then(Value::as_str).map_or_else(|| format!("case {k}"), str::to_owned);
        let case = parse(value).map_err(|error| format!("{file}: malformed case `{name}`: {error}"));
        (name, case)
    };
    cases.iter().enumerate().map(read_one).collect()
}

/// Checks every array anywhere in a value.
fn check_arrays(value: &Value, at: &str) -> Result<(), String> {
    match value {
        Value::Object(object) if object.contains_key("data") => {
            Stored::parse(value).map(drop).map_err(|error| format!("`{at}`: {error}"))
        }
        Value::Object(object) => object.iter().try_for_each(|(name, value)| {
            check_arrays(value, &if at.is_empty() { name.clone() } else { format!("{at}.{name}") })
        }),
        Value::Array(items) => {
            items.iter().enumerate().try_for_each(|(k, item)| check_arrays(item, &format!("{at}[{k}]")))
        }
        _ => Ok(()),
    }
}

/// A sparse case: as many rows, columns and values as it says, all inside its shape.
fn check_pattern(case: &Case) -> Result<(), String> {
    let shape = naturals(key(&case.object, "shape")?)?;
    let [height, width] = shape[..] else { return Err(format!("`shape` {shape:?} is not that of a matrix")) };
    let count = key(&case.object, "nnz")?.as_u64().ok_or("`nnz` is not a count")?;
    for (name, bound) in [("rows", Some(height)), ("cols", Some(width)), ("values", None)] {
        let array = case.array(name)?;
        if array.data.len() as u64 != count {
            return Err(format!("`{name}` has {} entries, `nnz` is {count}", array.data.len()));
        }
        let inside = |&index: &f64| bound.is_none_or(|bound| index >= 0.0 && index < bound as f64);
        if let Some(index) = array.data.iter().find(|index| !inside(index)) {
            return Err(format!("`{name}` holds {index}, outside of the shape {shape:?}"));
        }
    }
    Ok(())
}

fn differentiated(object: &Object, inputs: &[Stored]) -> Result<Vec<usize>, String> {
    let mut diff = match object.get("diff") {
        None => (0..inputs.len()).filter(|&k| inputs[k].dtype.is_real()).collect(),
        Some(value) => naturals(value).map_err(|error| format!("`diff`: {error}"))?,
    };
    diff.sort_unstable();
    diff.dedup();
    for &index in &diff {
        let input = inputs.get(index).ok_or_else(|| format!("`diff` names input {index} of {}", inputs.len()))?;
        if !input.dtype.is_real() {
            return Err(format!("input {index} of dtype {:?} cannot be differentiated", input.dtype));
        }
    }
    Ok(diff)
}

/// One array for each of `like`, of its shape; null exactly where `present` is false.
fn directions(
    object: &Object,
    name: &str,
    like: &[Stored],
    present: &[bool],
) -> Result<Option<Vec<Option<Stored>>>, String> {
    if !object.contains_key(name) {
        return Ok(None);
    }
    let values = list(object, name)?;
    if values.len() != like.len() {
        return Err(format!("`{name}` has {} arrays instead of {}", values.len(), like.len()));
    }
    let parse = |k: usize, value: &Value| match (value, present[k]) {
        (Value::Null, false) => Ok(None),
        (Value::Null, true) => Err("it is null although it is differentiated".to_owned()),
        (_, false) => Err("it should be null: nothing is differentiated there".to_owned()),
        (value, true) => {
            let array = Stored::parse(value)?;
            like[k].check_shape(&array)?;
            Ok(Some(array))
        }
    };
    let parse = |(k, value)| parse(k, value).map_err(|error| format!("`{name}`[{k}]: {error}"));
    values.iter().enumerate().map(parse).collect::<Result<_, _>>().map(Some)
}

fn arrays(object: &Object, name: &str) -> Result<Vec<Stored>, String> {
    let parse = |(k, value)| Stored::parse(value).map_err(|error| format!("`{name}`[{k}]: {error}"));
    list(object, name)?.iter().enumerate().map(parse).collect()
}

fn limit(tolerance: &Object, name: &str) -> Result<f64, String> {
    let limit = real(key(tolerance, name)?).map_err(|error| format!("`{name}`: {error}"))?;
    // Also refuses NaN, with which nothing would ever fail.
    if (0.0..1.0).contains(&limit) { Ok(limit) } else { Err(format!("`{name}` is {limit}, not a tolerance")) }
}

/// The value under a key.
pub(crate) fn key<'v>(object: &'v Object, name: &str) -> Result<&'v Value, String> {
    object.get(name).ok_or_else(|| format!("the key `{name}` is missing"))
}

/// The text under a key.
pub(crate) fn text<'v>(object: &'v Object, name: &str) -> Result<&'v str, String> {
    key(object, name)?.as_str().ok_or_else(|| format!("`{name}` is not a text"))
}

/// The list under a key.
pub(crate) fn list<'v>(object: &'v Object, name: &str) -> Result<&'v Vec<Value>, String> {
    key(object, name)?.as_array().ok_or_else(|| format!("`{name}` is not a list"))
}

/// A list of numbers from 0 on.
pub(crate) fn naturals(value: &Value) -> Result<Vec<usize>, String> {
    let natural = |value: &Value| {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("{} is not a number from 0 on", excerpt(value)))
    };
    value.as_array().ok_or("it is not a list")?.iter().map(natural).collect()
}

/// The beginning of a value, for messages.
fn excerpt(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        None => text,
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
