//! Operations that hold random Programs: calls, recomputed regions, branches, a user's own.

use wengert::ops::Binary;
use wengert::primitives::{Call, Cond, Convert, Custom, Literal, Recompute, Rule};
use wengert::{Array, DType, Program, Type, Value};

use super::super::rebuild::with_outputs;
use super::{Generator, Item};

impl Generator {
    pub(super) fn region(&mut self, family: &str) -> Option<Vec<Item>> {
        if self.depth == 2 {
            return None;
        }
        let operands: Vec<Item> = (0..1 + self.random.below(3)).filter_map(|_| self.pick(|_| true)).collect();
        let arrays: Vec<Array> = operands.iter().map(|item| item.array.clone()).collect();
        let mut args: Vec<&Item> = operands.iter().collect();
        let program = self.inner(&arrays, None);
        match family {
            "call" => self.emit(Call::new(program), &args),
            "recompute" => self.emit(Recompute::new(program), &args),
            "cond" => {
                let other = self.inner(&arrays, Some(&program.output_types()));
                let condition = self.pick_of(DType::Bool)?;
                let condition = self.coerced(&condition, &Type::new(DType::Bool, &[]))?;
                args.insert(0, &condition);
                self.emit(Cond::new(program, other), &args)
            }
            "switch" => {
                let types = program.output_types();
                let others: Vec<Program> =
                    (0..self.random.below(4)).map(|_| self.inner(&arrays, Some(&types))).collect();
                let condition = self.pick_of(DType::Bool)?;
                let condition = self.coerced(&condition, &Type::new(DType::Bool, &[]))?;
                let some = self.emit(Convert(DType::I64), &[&condition])?.pop()?;
                let place = Literal::I64(self.random.below(1 + others.len()) as i64);
                let place = self.emit(place, &[])?.pop()?;
                let index = self.emit(Binary::Mul, &[&some, &place])?.pop()?;
                args.insert(0, &index);
                self.emit(Cond::by_index(std::iter::once(program).chain(others)), &args)
            }
            _ => {
                let custom = self.custom(program);
                self.emit(custom, &args)
            }
        }
    }

    /// A Program of its own, with results of these types if any are wanted.
    pub(super) fn inner(&mut self, args: &[Array], results: Option<&[Type]>) -> Program {
        let mut inner = Generator::new(self.random.next(), self.depth + 1, self.single, self.scale.clone());
        args.iter().for_each(|arg| inner.input(arg));
        for _ in 0..1 + self.random.below(4) {
            inner.step();
        }
        match results {
            None => inner.finish(),
            Some(types) => {
                let mut outputs = Vec::new();
                for ty in types {
                    let item = inner.pick(|_| true).expect("it has inputs");
                    outputs.push(inner.coerced(&item, ty).expect("a sum everywhere fits").value);
                }
                inner.b.finish(&outputs)
            }
        }
    }

    /// An operation of the user whose derivative is that of its value.
    fn custom(&mut self, value: Program) -> Custom {
        let active: Vec<bool> = value.input_types().iter().map(|ty| ty.dtype.is_float()).collect();
        let rule = if self.random.below(2) == 0 {
            let jvp = value.jvp(&active).unwrap_or_else(|error| panic!("{error}\n{value}"));
            let outputs = &jvp.outputs()[value.outputs().len()..];
            let real: Vec<Value> = outputs.iter().copied().filter(|&out| jvp.ty(out).dtype.is_float()).collect();
            Rule::Jvp(with_outputs(&jvp, &real, &[], 0).into())
        } else {
            let vjp = value.vjp(&active).unwrap_or_else(|error| panic!("{error}\n{value}"));
            let outputs = &vjp.outputs()[value.outputs().len()..];
            // The rule is told the results too.
            Rule::Vjp(with_outputs(&vjp, outputs, &value.output_types(), value.input_types().len()).into())
        };
        Custom { name: "users_own".to_owned(), value: value.into(), rule, surrogate: false }
    }
}
