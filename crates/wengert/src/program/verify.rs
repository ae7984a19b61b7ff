//! The invariants of a [`Program`], all of them, checked after every pass in debug builds.
//!
//! 1. Every operand is defined before it is used.
//! 2. The results of the equations are numbered in order, after the inputs, without gaps.
//! 3. The type of every result is the one its operation infers.
//! 4. Every output is defined.
//! 5. The same holds in the Programs inside.

use super::{Program, Value};
use crate::array::Type;

impl Program {
    /// Checks every invariant of the list; names the first equation that breaks one.
    ///
    /// # Errors
    /// What is broken, and where.
    pub fn verify(&self) -> Result<(), String> {
        let mut defined = self.names.len() as u32;
        for (k, eqn) in self.eqns.iter().enumerate() {
            let name = eqn.op.name();
            let broken = |why: String| Err(format!("equation {k}, `{name}`: {why}"));
            if let Some(arg) = eqn.args.iter().find(|arg| arg.0 >= defined) {
                return broken(format!("{arg} is used before it is defined"));
            }
            if eqn.results > 0 && eqn.first != Value(defined) {
                return broken(format!("its first result is {} instead of v{defined}", eqn.first));
            }
            let types: Vec<&Type> = eqn.args.iter().map(|&arg| self.ty(arg)).collect();
            let results = super::builder::infer(&eqn.op, &types).map_err(|error| format!("equation {k}: {error}"))?;
            if results.len() != eqn.results as usize {
                return broken(format!("{} results instead of {}", eqn.results, results.len()));
            }
            defined += eqn.results;
            let Some(own) = self.types.get(defined as usize - results.len()..defined as usize) else {
                return broken("its results have no types".to_owned());
            };
            if let Some((own, ty)) = own.iter().zip(&results).find(|(own, ty)| own != ty) {
                return broken(format!("a result is said to be {own}, and is {ty}"));
            }
            for inner in eqn.op.programs() {
                inner.verify().map_err(|why| format!("equation {k}, `{name}`: inside: {why}"))?;
            }
        }
        if self.types.len() != defined as usize {
            return Err(format!("{} types for {defined} values", self.types.len()));
        }
        match self.outputs.iter().find(|output| output.0 >= defined) {
            Some(output) => Err(format!("the output {output} is not defined")),
            None => Ok(()),
        }
    }
}
