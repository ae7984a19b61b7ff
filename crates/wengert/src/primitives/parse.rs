//! Name and options in the text form to the operation: the inverse of [`Primitive::name`](super::Primitive::name) and
//! [`Primitive::attributes`](super::Primitive::attributes). A test reads back every sample of every family.

use std::sync::Arc;

use super::{
    ArgReduce, Attribute, Broadcast, Call, Concat, Cond, Convert, Cumulative, Custom, Extreme, Iota, Literal, Logic,
    Op, Pad, Permute, Primitive, Recompute, Recurrence, Reduce, Reducer, Reshape, Reverse, Rule, Running, Select,
    Slice,
};
use crate::array::DType;
use crate::error::{Misfit, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::program::Program;

/// The operation of this name with these options; `None` if there is none of this name.
pub(crate) fn operation(name: &str, options: Vec<(String, Attribute)>) -> Option<Result<Op, Misfit>> {
    let mut fields = Fields(options);
    let op = structured(name, &mut fields).or_else(|| elementwise(name, &mut fields))?;
    Some(op.and_then(|op| fields.finish().map(|()| op)))
}

/// The families with options of their own: one arm each.
fn structured(name: &str, fields: &mut Fields) -> Option<Result<Op, Misfit>> {
    let mut build = || -> Result<Option<Op>, Misfit> {
        Ok(Some(match name {
            "constant" => fields.literal("value")?.into(),
            "iota" => Iota { length: fields.integer("length")? }.into(),
            "select" => Select.into(),
            "convert" => Convert(fields.dtype("to")?).into(),
            "broadcast" => Broadcast { shape: fields.integers("shape")?, axes: fields.integers("axes")? }.into(),
            "reshape" => Reshape { shape: fields.integers("shape")? }.into(),
            "permute" => Permute { order: fields.integers("order")? }.into(),
            "reverse" => Reverse { axes: fields.integers("axes")? }.into(),
            "slice" => {
                let (start, limit) = (fields.integers("start")?, fields.integers("limit")?);
                Slice { start, limit, stride: fields.integers("stride")? }.into()
            }
            "pad" => {
                let (low, high) = (fields.integers("low")?, fields.integers("high")?);
                Pad { low, high, interior: fields.integers("interior")? }.into()
            }
            "concat" => Concat { axis: fields.integer("axis")? }.into(),
            "argmax" => ArgReduce { extreme: Extreme::Max, axis: fields.integer("axis")? }.into(),
            "argmin" => ArgReduce { extreme: Extreme::Min, axis: fields.integer("axis")? }.into(),
            //M "gather" => gather(fields)?.into(),
            //M "scatter_add" => scatter(fields, Write::Add)?.into(),
            //M "scatter_set" => scatter(fields, Write::Set)?.into(),
            //M "dynamic_slice" => DynamicSlice { sizes: fields.integers("sizes")? }.into(),
            //M "dynamic_update" => DynamicUpdate.into(),
            //M "argsort" => ArgSort { axis: fields.integer("axis")?, descending: fields.flag("descending")? }.into(),
            //M "random_bits" => RandomBits { shape: fields.integers("shape")?, kind: random_kind(fields)? }.into(),
            //M "einsum" => Einsum::new(&fields.word("spec")?)?.into(),
            //M "conv" => conv(fields)?.into(),
            //M "window_argmax" => window(fields, Extreme::Max)?.into(),
            //M "window_argmin" => window(fields, Extreme::Min)?.into(),
            "recurrence" => Recurrence { axis: fields.integer("axis")?, reverse: fields.flag("reverse")? }.into(),
            "call" => Call { program: fields.program("program")? }.into(),
            "recompute" => Recompute { program: fields.program("program")? }.into(),
            "cond" => Cond { yes: fields.program("yes")?, no: fields.program("no")? }.into(),
            "custom" => custom(fields)?.into(),
            _ => return Ok(None),
        }))
    };
    build().transpose()
}

//M fn gather(fields: &mut Fields) -> Result<Gather, Misfit> {
//M     let (batch, axes) = (fields.integer("batch")?, fields.integers("axes")?);
//M     use OutOfBounds::{Clamp, Error, Fill};
//M     let mode = fields.one_of("mode", &[("error", Error), ("clamp", Clamp), ("fill", Fill)])?;
//M     Ok(Gather { batch, axes, mode })
//M }
//M
//M fn scatter(fields: &mut Fields, write: Write) -> Result<Scatter, Misfit> {
//M     let Gather { batch, axes, mode } = gather(fields)?;
//M     Ok(Scatter { batch, axes, mode, write })
//M }
//M
//M fn random_kind(fields: &mut Fields) -> Result<RandomKind, Misfit> {
//M     use RandomKind::{Bits, Uniform};
//M     fields.one_of("kind", &[("bits", Bits), ("f32", Uniform(DType::F32)), ("f64", Uniform(DType::F64))])
//M }
//M
//M fn conv(fields: &mut Fields) -> Result<Conv, Misfit> {
//M     Ok(Conv {
//M         stride: fields.integers("stride")?,
//M         padding: fields.pairs("padding")?,
//M         input_dilation: fields.integers("input_dilation")?,
//M         kernel_dilation: fields.integers("kernel_dilation")?,
//M         groups: fields.integer("groups")?,
//M         batch_groups: fields.integer("batch_groups")?,
//M     })
//M }
//M
//M fn window(fields: &mut Fields, extreme: Extreme) -> Result<WindowArg, Misfit> {
//M     let (window, stride) = (fields.integers("window")?, fields.integers("stride")?);
//M     Ok(WindowArg { extreme, window, stride, padding: fields.pairs("padding")? })
//M }

fn custom(fields: &mut Fields) -> Result<Custom, Misfit> {
    let name = fields.word("name")?;
    let surrogate = fields.one_of("rule", &[("exact", false), ("surrogate", true)])?;
    let value = fields.program("value")?;
    let rule = match fields.has("jvp") {
        true => Rule::Jvp(fields.program("jvp")?),
        false => Rule::Vjp(fields.program("vjp")?),
    };
    Ok(Custom { name, value, rule, surrogate })
}

/// The families whose members have names of their own.
fn elementwise(name: &str, fields: &mut Fields) -> Option<Result<Op, Misfit>> {
    if let Some(&op) = Unary::ALL.iter().find(|op| Unary::name(**op) == name) {
        let with_number = |fields: &mut Fields| match op {
            Unary::Powi(_) => fields.integer("n").map(Unary::Powi),
            Unary::Polygamma(_) => fields.integer("n").map(Unary::Polygamma),
            Unary::Sinc(_) => fields.integer("n").map(Unary::Sinc),
            plain => Ok(plain),
        };
        return Some(with_number(fields).map(Op::from));
    }
    if let Some(&op) = Binary::ALL.iter().find(|op| Binary::name(**op) == name) {
        return Some(Ok(op.into()));
    }
    if let Some(&op) = Compare::ALL.iter().find(|op| Compare::name(**op) == name) {
        return Some(Ok(op.into()));
    }
    if let Some(op) = Logic::ALL.into_iter().find(|op| op.name() == name) {
        return Some(Ok(op.into()));
    }
    if let Some(reducer) = Reducer::ALL.into_iter().find(|&reducer| Reduce::new(reducer, &[]).name() == name) {
        return Some(fields.integers("axes").map(|axes| Reduce { reducer, axes }.into()));
    }
    let running = Running::ALL.into_iter().find(|&running| Cumulative::new(running, 0, false).name() == name)?;
    let options = fields.integer("axis").and_then(|axis| Ok((axis, fields.flag("reverse")?)));
    Some(options.map(|(axis, reverse)| Cumulative { running, axis, reverse }.into()))
}

/// The options in the text, taken one by one as a family asks for them.
struct Fields(Vec<(String, Attribute)>);

impl Fields {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(own, _)| own == name)
    }

    fn take(&mut self, name: &str) -> Result<Attribute, Misfit> {
        match self.0.iter().position(|(own, _)| own == name) {
            Some(k) => Ok(self.0.remove(k).1),
            None => misfit!("it needs the option `{name}`"),
        }
    }

    /// An integer of the type that is asked for: an axis, a count, an exponent.
    fn integer<T: TryFrom<i128>>(&mut self, name: &str) -> Result<T, Misfit> {
        match self.take(name)? {
            Attribute::Integer(value) => fit(name, value),
            other => wrong(name, "an integer", &other),
        }
    }

    fn integers<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<T>, Misfit> {
        match self.take(name)? {
            Attribute::Integers(values) => values.into_iter().map(|value| fit(name, value)).collect(),
            other => wrong(name, "a list of integers", &other),
        }
    }

    /// Whether the option is true or false.
    fn flag(&mut self, name: &str) -> Result<bool, Misfit> {
        self.one_of(name, &[("true", true), ("false", false)])
    }

    //M /// Pairs of integers, such as `[[0,1],[2,2]]`; `[]` is none.
    //M fn pairs<T: TryFrom<i128>>(&mut self, name: &str) -> Result<Vec<(T, T)>, Misfit> {
    //M     let lists = match self.take(name)? {
    //M         Attribute::Lists(lists) => lists,
    //M         Attribute::Integers(none) if none.is_empty() => Vec::new(),
    //M         other => return wrong(name, "a list of pairs of integers", &other),
    //M     };
    //M     let pair = |list: Vec<i128>| match list[..] {
    //M         [first, second] => Ok((fit(name, first)?, fit(name, second)?)),
    //M         _ => misfit!("the option `{name}` has to be a list of pairs"),
    //M     };
    //M     lists.into_iter().map(pair).collect()
    //M }

    fn word(&mut self, name: &str) -> Result<String, Misfit> {
        match self.take(name)? {
            Attribute::Word(word) => Ok(word),
            other => wrong(name, "a word", &other),
        }
    }

    /// What the word stands for among those that the option can be.
    fn one_of<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Result<T, Misfit> {
        let word = self.word(name)?;
        match words.iter().find(|(own, _)| *own == word) {
            Some(&(_, meaning)) => Ok(meaning),
            None => {
                let words: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
                misfit!("the option `{name}` is {word:?}, and has to be one of: {}", words.join(", "))
            }
        }
    }

    fn dtype(&mut self, name: &str) -> Result<DType, Misfit> {
        self.one_of(name, &DType::ALL.map(|dtype| (dtype.name(), dtype)))
    }

    fn literal(&mut self, name: &str) -> Result<Literal, Misfit> {
        match self.take(name)? {
            Attribute::Literal(literal) => Ok(literal),
            Attribute::Word(word) if word == "true" => Ok(Literal::Bool(true)),
            Attribute::Word(word) if word == "false" => Ok(Literal::Bool(false)),
            other => wrong(name, "a number with its type", &other),
        }
    }

    fn program(&mut self, name: &str) -> Result<Arc<Program>, Misfit> {
        match self.take(name)? {
            Attribute::Program(program) => Ok(program),
            other => wrong(name, "a program", &other),
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
