//! The fields of a message, as far as they can be read.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Number;
use serde_json::value::RawValue;

use crate::modules::Failure;

/// A message whose fields are still text. Fields that nobody knows are skipped, however deep they are.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    /// An integer. It stands here as soon as it was read, whatever comes behind it.
    pub(super) id: Option<Number>,
    pub(super) kind: Option<&'a RawValue>,
    pub(super) eval: Option<&'a RawValue>,
    pub(super) module: Option<&'a RawValue>,
    pub(super) function: Option<&'a RawValue>,
    pub(super) input: Option<&'a RawValue>,
    of: Option<&'a RawValue>,
    valid: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    /// Reads a line.
    pub(super) fn read(&mut self, line: &'a [u8]) -> Result<(), String> {
        let mut json = serde_json::Deserializer::from_slice(line);
        let read = Fields(self).deserialize(&mut json).and_then(|()| json.end());
        read.map_err(|why| format!("the line is not a message: {why}"))
    }

    /// A field that has to be a text.
    pub(super) fn text(&self, name: &str, field: Option<&RawValue>) -> Result<String, Failure> {
        let field = field.ok_or_else(|| Failure::new(format!("the message has no `{name}`")))?;
        serde_json::from_str(field.get()).map_err(|_| Failure::new(format!("`{name}` of the message is not a text")))
    }

    /// Whether the fields of an analysis are there.
    pub(super) fn check_analysis(&self) -> Result<(), Failure> {
        let of = self.of.ok_or_else(|| Failure::new("the message has no `of`"))?;
        serde_json::from_str(of.get())
            .ok()
            .filter(is_integer)
            .ok_or_else(|| Failure::new("`of` of the message is not an integer"))?;
        let valid = self.valid.ok_or_else(|| Failure::new("the message has no `valid`"))?;
        serde_json::from_str::<bool>(valid.get())
            .map_err(|_| Failure::new("`valid` of the message is neither true nor false"))?;
        Ok(())
    }
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

/// Fills an envelope.
struct Fields<'e, 'a>(&'e mut Envelope<'a>);

impl<'a> DeserializeSeed<'a> for Fields<'_, 'a> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'a>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'a> Visitor<'a> for Fields<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
        let message = self.0;
        while let Some(key) = map.next_key::<String>()? {
            let field = match key.as_str() {
                "id" => {
                    let id: &RawValue = map.next_value()?;
                    let id = serde_json::from_str(id.get()).ok().filter(is_integer);
                    let id = id.ok_or_else(|| M::Error::custom("`id` is not an integer"))?;
                    if message.id.is_some() {
                        return Err(M::Error::custom("`id` is there twice"));
                    }
                    message.id = Some(id);
                    continue;
                }
                "kind" => &mut message.kind,
                "eval" => &mut message.eval,
                "module" => &mut message.module,
                "function" => &mut message.function,
                "input" => &mut message.input,
                "of" => &mut message.of,
                "valid" => &mut message.valid,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            if field.replace(map.next_value()?).is_some() {
                return Err(M::Error::custom(format!("`{key}` is there twice")));
            }
        }
        Ok(())
    }
}
