//! The attributes of a case: constants of its operation, by name.

use serde_json::Value;

use crate::array::Trouble;
use crate::load::{Object, naturals, real};

/// The attributes of a case, or of a node of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attrs<'c>(pub(crate) &'c Object);

impl<'c> Attrs<'c> {
    fn get(self, name: &str) -> Result<&'c Value, Trouble> {
        self.given(name).ok_or_else(|| Trouble::Misfit(format!("`attrs` lacks `{name}`")))
    }

    /// The value under a key, unless there is none or null.
    pub(crate) fn given(self, name: &str) -> Option<&'c Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// The real number under a key; also one that is written as a text.
    pub(crate) fn number(self, name: &str) -> Result<f64, Trouble> {
        let value = self.get(name)?;
        match value.as_str().and_then(|text| text.parse().ok()) {
            Some(number) => Ok(number),
            None => real(value).map_err(|error| Trouble::Misfit(format!("`attrs.{name}`: {error}"))),
        }
    }

    /// The count under a key.
    pub(crate) fn count(self, name: &str) -> Result<usize, Trouble> {
        count(self.get(name)?).ok_or_else(|| not(name, "a count"))
    }

    /// The counts under a key.
    pub(crate) fn counts(self, name: &str) -> Result<Vec<usize>, Trouble> {
        naturals(self.get(name)?).map_err(|error| Trouble::Misfit(format!("`attrs.{name}`: {error}")))
    }

    /// The integer under a key, as the number of an axis; `default` if there is none.
    pub(crate) fn whole(self, name: &str, default: Option<isize>) -> Result<isize, Trouble> {
        match (self.given(name), default) {
            (None, Some(default)) => Ok(default),
            (None, None) => self.get(name).map(|_| 0),
            (Some(value), _) => whole(value).ok_or_else(|| not(name, "an integer")),
        }
    }

    /// The integers under a key, as the numbers of axes; one that stands alone is a list of one.
    pub(crate) fn wholes(self, name: &str) -> Result<Vec<isize>, Trouble> {
        if let Some(single) = whole(self.get(name)?) {
            return Ok(vec![single]);
        }
        let items = self.get(name)?.as_array().ok_or_else(|| not(name, "a list"))?;
        items.iter().map(|value| whole(value).ok_or_else(|| not(name, "a list of integers"))).collect()
    }

    /// The truth value under a key; false if there is none.
    pub(crate) fn flag(self, name: &str) -> Result<bool, Trouble> {
        match self.given(name) {
            None => Ok(false),
            Some(value) => value.as_bool().ok_or_else(|| not(name, "a truth value")),
        }
    }

    /// The lists of integers under a key, each of this length.
    pub(crate) fn tuples<const N: usize>(self, name: &str) -> Result<Vec<[i64; N]>, Trouble> {
        let tuple = |value: &Value| -> Option<[i64; N]> {
            let numbers: Option<Vec<i64>> = value.as_array()?.iter().map(Value::as_i64).collect();
            numbers?.try_into().ok()
        };
        let items = self.get(name)?.as_array().ok_or_else(|| not(name, "a list"))?;
        let items = items.iter().map(tuple).collect::<Option<Vec<_>>>();
        items.ok_or_else(|| not(name, &format!("a list of lists of {N} integers")))
    }

    /// The axes under a key, where null stands for none; negative ones count from the end.
    pub(crate) fn maybe_axes(self, name: &str, ranks: &[usize]) -> Result<Vec<Option<usize>>, Trouble> {
        let items = self.get(name)?.as_array().ok_or_else(|| not(name, "a list"))?;
        if items.len() != ranks.len() {
            return Err(Trouble::Misfit(format!("`attrs.{name}` has {} axes for {} arrays", items.len(), ranks.len())));
        }
        let axis = |(value, &rank): (&Value, &usize)| match whole(value) {
            None if value.is_null() => Some(None),
            None => None,
            Some(axis) if axis < 0 => usize::try_from(axis.checked_add_unsigned(rank)?).ok().map(Some),
            Some(axis) => usize::try_from(axis).ok().map(Some),
        };
        items.iter().zip(ranks).map(|item| axis(item).ok_or_else(|| not(name, "a list of axes"))).collect()
    }

    /// The count or the counts under a key.
    pub(crate) fn one_or_more(self, name: &str) -> Result<Vec<usize>, Trouble> {
        if self.get(name)?.is_array() { self.counts(name) } else { self.count(name).map(|count| vec![count]) }
    }
}

fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|count| usize::try_from(count).ok())
}

fn whole(value: &Value) -> Option<isize> {
    value.as_i64().and_then(|whole| isize::try_from(whole).ok())
}

fn not(name: &str, what: &str) -> Trouble {
    Trouble::Misfit(format!("`attrs.{name}` is not {what}"))
}
