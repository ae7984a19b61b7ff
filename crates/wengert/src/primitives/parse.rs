//! Name and options in the text form to the operation: the inverse of [`Primitive::name`](super::Primitive::name) and
//! [`Primitive::attributes`](super::Primitive::attributes). Each family reads its own; a test reads back every sample.

use std::sync::Arc;

use super::{Attribute, Literal, Op, Patterns, from_fields};
use crate::array::DType;
use crate::error::{Misfit, misfit};
use crate::program::Program;

/// The operation of this name with these options; `None` if there is none of this name. `patterns` are those of the text so far.
pub(crate) fn operation(
    name: &str,
    options: Vec<(String, Attribute)>,
    patterns: &mut Patterns,
) -> Option<Result<Op, Misfit>> {
    let mut fields = Fields(options, patterns);
    let op = from_fields(name, &mut fields)?;
    Some(op.and_then(|op| fields.finish().map(|()| op)))
}

/// The options in the text, taken one by one as a family asks for them.
pub(crate) struct Fields<'r>(Vec<(String, Attribute)>, &'r mut Patterns);

impl Fields<'_> {
    /// The patterns of the text so far.
    pub(super) fn patterns(&mut self) -> &mut Patterns {
        self.1
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    fn take(&mut self, name: &str) -> Result<Attribute, Misfit> {
        match self.0.iter().position(|(own, _)| own == name) {
            Some(k) => Ok(self.0.remove(k).1),
            None => misfit!("it needs the option `{name}`"),
        }
    }

    /// An integer of the type that is asked for: an axis, a count, an exponent.
    pub(super) fn integer<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T, Misfit> {
        match self.take(name)? {
            Attribute::Integer(value) => fit(name, value),
            other => wrong(name, "an integer", &other),
        }
    }

    pub(super) fn integers<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<T>, Misfit> {
        match self.take(name)? {
            Attribute::Integers(values) => values.into_iter().map(|value| fit(name, value)).collect(),
            other => wrong(name, "a list of integers", &other),
        }
    }

    /// Whether the option is true or false.
    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Misfit> {
        self.one_of(name, &[("true", true), ("false", false)])
    }

    /// Lists of one length each, such as `[[0,1],[2,2]]`; `[]` is none.
    fn lists<T: TryFrom<i128>, const N: usize>(&mut self, name: &str) -> Result<Vec<[T; N]>, Misfit> {
        let lists = match self.take(name)? {
            Attribute::Lists(lists) => lists,
            Attribute::Integers(none) if none.is_empty() => Vec::new(),
            other => return wrong(name, "a list of lists of integers", &other),
        };
        let one = |list: Vec<i128>| -> Result<[T; N], Misfit> {
            let list: Vec<T> = list.into_iter().map(|value| fit(name, value)).collect::<Result<_, Misfit>>()?;
            list.try_into().map_err(|_| Misfit(format!("the lists in the option `{name}` have to be {N} long")))
        };
        lists.into_iter().map(one).collect()
    }

    /// Amounts before and after, for each axis.
    pub(super) fn pairs<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<(T, T)>, Misfit> {
        Ok(self.lists(name)?.into_iter().map(|[low, high]| (low, high)).collect())
    }

    pub(super) fn word(&mut self, name: &str) -> Result<String, Misfit> {
        match self.take(name)? {
            Attribute::Word(word) => Ok(word),
            other => wrong(name, "a word", &other),
        }
    }

    /// What the word stands for among those that the option can be.
    pub(super) fn one_of<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Result<T, Misfit> {
        let word = self.word(name)?;
        match words.iter().find(|(own, _)| *own == word) {
            Some(&(_, meaning)) => Ok(meaning),
            None => {
                let words: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
                misfit!("the option `{name}` is {word:?}, and has to be one of: {}", words.join(", "))
            }
        }
    }

    pub(super) fn dtype(&mut self, name: &str) -> Result<DType, Misfit> {
        self.one_of(name, &DType::ALL.map(|dtype| (dtype.name(), dtype)))
    }

    pub(super) fn literal(&mut self, name: &str) -> Result<Literal, Misfit> {
        match self.take(name)? {
            Attribute::Literal(literal) => Ok(literal),
            Attribute::Word(word) if word == "true" => Ok(Literal::Bool(true)),
            Attribute::Word(word) if word == "false" => Ok(Literal::Bool(false)),
            other => wrong(name, "a number with its type", &other),
        }
    }

    pub(super) fn program(&mut self, name: &str) -> Result<Arc<Program>, Misfit> {
        match self.take(name)? {
            Attribute::Program(program) => Ok(program),
            other => wrong(name, "a program", &other),
        }
    }

    pub(super) fn programs(&mut self, name: &str) -> Result<Vec<Arc<Program>>, Misfit> {
        match self.take(name)? {
            Attribute::Programs(programs) => Ok(programs),
            other => wrong(name, "a list of programs", &other),
        }
    }

    /// Checks that no option is left.
    fn finish(&self) -> Result<(), Misfit> {
        match self.0.first() {
            Some((name, _)) => misfit!("it has no option `{name}`"),
            None => Ok(()),
        }
    }
}

fn fit<T: TryFrom<i128>>(name: &str, value: i128) -> Result<T, Misfit> {
    T::try_from(value).map_err(|_| Misfit(format!("the option `{name}` cannot be {value}")))
}

fn wrong<T>(name: &str, wanted: &str, found: &Attribute) -> Result<T, Misfit> {
    misfit!("the option `{name}` is {found}, and has to be {wanted}")
}
