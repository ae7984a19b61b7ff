//! Name and options in the text form to the operation: the inverse of [`Primitive::name`](super::Primitive::name) and
//! [`Primitive::attributes`](super::Primitive::attributes). A test reads back every sample of every family.

use std::sync::Arc;

use super::{
    ArgReduce, ArgSort, Attribute, Broadcast, Call, Concat, Cond, Conv, Convert, Cumulative, Custom, DynamicSlice,
    DynamicUpdate, Einsum, Extreme, Gather, Iota, Literal, Logic, Op, OutOfBounds, Pad, Permute, Primitive, RandomBits,
    RandomKind, Recompute, Recurrence, Reduce, Reducer, Reshape, Reverse, Rule, Running, Scatter, Select, Slice,
    Update, WindowArg, Write,
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
            "gather" => gather(fields)?.into(),
            "scatter_add" => scatter(fields, Write::Add)?.into(),
            "scatter_set" => scatter(fields, Write::Set)?.into(),
            "dynamic_slice" => DynamicSlice { sizes: fields.integers("sizes")? }.into(),
            "update_add" => update(fields, Write::Add)?.into(),
            "update_set" => update(fields, Write::Set)?.into(),
            "dynamic_update" => DynamicUpdate.into(),
            "argsort" => argsort(fields)?.into(),
            "random_bits" => random_bits(fields)?.into(),
            "einsum" => Einsum::new(&fields.word("spec")?)?.into(),
            "conv" => conv(fields)?.into(),
            "window_argmax" => window(fields, Extreme::Max)?.into(),
            "window_argmin" => window(fields, Extreme::Min)?.into(),
            "recurrence" => Recurrence { axis: fields.integer("axis")?, reverse: fields.flag("reverse")? }.into(),
            "call" => Call { program: fields.program("program")? }.into(),
            "recompute" => Recompute { program: fields.program("program")? }.into(),
            "cond" => {
                let (yes, no) = (fields.program("yes")?, fields.program("no")?);
                Cond { yes, no, joint: fields.has("joint") && fields.flag("joint")? }.into()
            }
            "custom" => custom(fields)?.into(),
            _ => return Ok(None),
        }))
    };
    build().transpose()
}

fn out_of_bounds(fields: &mut Fields) -> Result<OutOfBounds, Misfit> {
    let modes = [("error", OutOfBounds::Error), ("clamp", OutOfBounds::Clamp), ("fill", OutOfBounds::Fill)];
    fields.one_of("mode", &modes)
}

fn gather(fields: &mut Fields) -> Result<Gather, Misfit> {
    let (batch, axes) = (fields.integer("batch")?, fields.integers("axes")?);
    Ok(Gather { batch, axes, mode: out_of_bounds(fields)? })
}

fn scatter(fields: &mut Fields, write: Write) -> Result<Scatter, Misfit> {
    let (batch, axes) = (fields.integer("batch")?, fields.integers("axes")?);
    Ok(Scatter { batch, axes, mode: out_of_bounds(fields)?, write })
}

fn argsort(fields: &mut Fields) -> Result<ArgSort, Misfit> {
    let all = ArgSort::new(fields.integer("axis")?, fields.flag("descending")?);
    Ok(if fields.has("count") { all.first(fields.integer("count")?) } else { all })
}

fn update(fields: &mut Fields, write: Write) -> Result<Update, Misfit> {
    Ok(Update { start: fields.integers("start")?, stride: fields.integers("stride")?, write })
}

fn random_bits(fields: &mut Fields) -> Result<RandomBits, Misfit> {
    let kinds = [
        ("bits", RandomKind::Bits),
        ("f32", RandomKind::Uniform(DType::F32)),
        ("f64", RandomKind::Uniform(DType::F64)),
    ];
    Ok(RandomBits { shape: fields.integers("shape")?, kind: fields.one_of("kind", &kinds)? })
}

/// Amounts before and after, for each axis.
fn pairs<T: TryFrom<i128>>(fields: &mut Fields) -> Result<Vec<(T, T)>, Misfit> {
    Ok(fields.lists("padding")?.into_iter().map(|[low, high]| (low, high)).collect())
}

fn conv(fields: &mut Fields) -> Result<Conv, Misfit> {
    Ok(Conv {
        stride: fields.integers("stride")?,
        padding: pairs(fields)?,
        input_dilation: fields.integers("input_dilation")?,
        kernel_dilation: fields.integers("kernel_dilation")?,
        groups: fields.integer("groups")?,
        batch_groups: fields.integer("batch_groups")?,
    })
}

fn window(fields: &mut Fields, extreme: Extreme) -> Result<WindowArg, Misfit> {
    let (window, stride) = (fields.integers("window")?, fields.integers("stride")?);
    Ok(WindowArg { extreme, window, stride, padding: pairs(fields)? })
}

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
            Unary::Erfcx(_) => fields.integer("n").map(Unary::Erfcx),
            Unary::LogNormalCdf(_) => fields.integer("n").map(Unary::LogNormalCdf),
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
