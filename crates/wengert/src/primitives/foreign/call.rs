//! Calling foreign code: for each example that counts, with what it gives checked.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::code::{ForeignDerivative, Many, PlainCode};
use super::{Foreign, ForeignRole};
use crate::array::{Array, Data, Type};
use crate::error::{Misfit, misfit};

impl Foreign {
    /// The results for all examples.
    pub(super) fn call(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let examples = Examples::of(self, args);
        if let Some(results) = examples.together() {
            return results;
        }
        let counted: Vec<Option<Vec<Array>>> =
            (0..examples.count()).map(|k| examples.call(k)).collect::<Result<_, Misfit>>()?;
        Ok(examples.joined(counted))
    }

    /// The code that computes what the operation gives.
    fn plain(&self) -> Result<&PlainCode, Misfit> {
        let code = &*self.code;
        match (self.role, &code.derivative) {
            (ForeignRole::Value, _) => Ok(&code.value),
            (ForeignRole::Tangent, ForeignDerivative::Plain { jvp: Some(jvp), .. }) => Ok(jvp),
            (ForeignRole::Cotangent, ForeignDerivative::Plain { vjp: Some(vjp), .. }) => Ok(vjp),
            (ForeignRole::Tangent, _) => Err(Misfit(code.lacks_jvp())),
            (ForeignRole::Cotangent, _) => Err(Misfit(code.lacks_vjp())),
        }
    }
}

/// The examples of a call.
pub(crate) struct Examples<'a> {
    op: &'a Foreign,
    /// Which examples count; all if there is nothing.
    mask: Option<&'a [bool]>,
    args: &'a [&'a Array],
    inputs: Vec<&'a Type>,
    outputs: Vec<&'a Type>,
}

impl<'a> Examples<'a> {
    /// Those of operands that have passed inference.
    pub(crate) fn of(op: &'a Foreign, args: &'a [&'a Array]) -> Self {
        let (mask, args) = if op.masked { (Some(args[0].known::<bool>()), &args[1..]) } else { (None, args) };
        let (inputs, outputs) = op.types();
        Examples { op, mask, args, inputs, outputs }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.op.lanes.iter().product()
    }

    fn counts(&self, k: usize) -> bool {
        self.mask.is_none_or(|mask| mask[k])
    }

    /// The results of an example; none if it does not count.
    pub(crate) fn call(&self, k: usize) -> Result<Option<Vec<Array>>, Misfit> {
        if !self.counts(k) {
            return Ok(None);
        }
        let row = |(array, ty): (&&Array, &&Type)| rows(array, ty, k..k + 1, &ty.shape);
        let operands: Vec<Array> = self.args.iter().zip(&self.inputs).map(row).collect();
        let results = checked(self.op.plain()?, &operands, &self.outputs);
        results.map(Some).map_err(|why| self.placed(why, k))
    }

    /// The results of all examples by one call, if there is code for that.
    pub(crate) fn together(&self) -> Option<Result<Vec<Array>, Misfit>> {
        match &self.op.code.many {
            Many::Together(code) if self.op.role == ForeignRole::Value && !self.op.lanes.is_empty() => {
                Some(self.by_one_call(code))
            }
            _ => None,
        }
    }

    fn by_one_call(&self, code: &PlainCode) -> Result<Vec<Array>, Misfit> {
        let counted: Vec<usize> = (0..self.count()).filter(|&k| self.counts(k)).collect();
        if counted.is_empty() {
            return Ok(self.joined(vec![None; self.count()]));
        }
        let shape = |ty: &Type| [&[counted.len()], &ty.shape[..]].concat();
        let picked = |(array, ty): (&&Array, &&Type)| match counted.len() == self.count() {
            true => array.reshaped(&shape(ty)),
            false => picked(array, ty, &counted, &shape(ty)),
        };
        let operands: Vec<Array> = self.args.iter().zip(&self.inputs).map(picked).collect();
        let outputs: Vec<Type> = self.outputs.iter().map(|ty| ty.with_shape(shape(ty))).collect();
        let results = checked(code, &operands, &outputs.iter().collect::<Vec<&Type>>())?;
        if counted.len() == self.count() {
            let apart = results.iter().zip(&self.outputs);
            return Ok(apart.map(|(result, ty)| result.reshaped(&self.op.with_lanes(ty).shape)).collect());
        }
        let mut all = vec![None; self.count()];
        for (place, &k) in counted.iter().enumerate() {
            let row = |(array, ty): (&Array, &&Type)| rows(array, ty, place..place + 1, &ty.shape);
            all[k] = Some(results.iter().zip(&self.outputs).map(row).collect());
        }
        Ok(self.joined(all))
    }

    /// The results of all examples, one after the other; zeros for those that do not count.
    pub(crate) fn joined(&self, examples: Vec<Option<Vec<Array>>>) -> Vec<Array> {
        let result = |k: usize| {
            let ty = self.outputs[k];
            let zeros = Array::zeros(ty);
            let parts: Vec<&Array> =
                examples.iter().map(|example| example.as_ref().map_or(&zeros, |results| &results[k])).collect();
            joined(&parts, &self.op.with_lanes(ty))
        };
        (0..self.outputs.len()).map(result).collect()
    }

    /// An error with the example that it is about.
    fn placed(&self, Misfit(why): Misfit, k: usize) -> Misfit {
        if self.op.lanes.is_empty() { Misfit(why) } else { Misfit(format!("{why} (example {k})")) }
    }
}

/// Calls code, and checks what it gives.
fn checked(function: &PlainCode, operands: &[Array], wanted: &[&Type]) -> Result<Vec<Array>, Misfit> {
    let results = match catch_unwind(AssertUnwindSafe(|| function(operands))) {
        Ok(Ok(results)) => results,
        Ok(Err(why)) => misfit!("its code failed: {why}"),
        Err(panic) => misfit!("its code panicked: {}", message(&*panic)),
    };
    let list = |types: &[&Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
    let own: Vec<&Type> = results.iter().map(Array::ty).collect();
    if own != wanted {
        misfit!("its code has to give ({}), and gives ({})", list(wanted), list(&own));
    }
    if operands.iter().any(|operand| first_nan(operand).is_some()) {
        return Ok(results);
    }
    for (k, result) in results.iter().enumerate() {
        if let Some(place) = first_nan(result) {
            misfit!("its code gives NaN where no operand is: element {place} of result {k}, {}", result.ty());
        }
    }
    Ok(results)
}

/// The first element that is not a number.
fn first_nan(array: &Array) -> Option<usize> {
    match array.data() {
        Data::F64(x) => x.iter().position(|x| x.is_nan()),
        Data::F32(x) => x.iter().position(|x| x.is_nan()),
        Data::Bool(_) | Data::I64(_) => None,
    }
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        (None, None) => "with no message".to_owned(),
    }
}

/// Some examples of an array, which are of a type, in another shape.
fn rows(array: &Array, ty: &Type, range: std::ops::Range<usize>, shape: &[usize]) -> Array {
    let places = range.start * ty.size()..range.end * ty.size();
    match array.data() {
        // The whole array: shared.
        _ if places == (0..array.size()) => array.reshaped(shape),
        Data::Bool(x) => Array::new(shape, x[places].to_vec()),
        Data::I64(x) => Array::new(shape, x[places].to_vec()),
        Data::F32(x) => Array::new(shape, x[places].to_vec()),
        Data::F64(x) => Array::new(shape, x[places].to_vec()),
    }
}

/// Examples of an array, which are of a type, one after the other.
fn picked(array: &Array, ty: &Type, examples: &[usize], shape: &[usize]) -> Array {
    fn of<T: Copy>(x: &[T], size: usize, examples: &[usize]) -> Vec<T> {
        examples.iter().flat_map(|&k| &x[k * size..(k + 1) * size]).copied().collect()
    }
    match array.data() {
        Data::Bool(x) => Array::new(shape, of(x, ty.size(), examples)),
        Data::I64(x) => Array::new(shape, of(x, ty.size(), examples)),
        Data::F32(x) => Array::new(shape, of(x, ty.size(), examples)),
        Data::F64(x) => Array::new(shape, of(x, ty.size(), examples)),
    }
}

/// Arrays one after the other, as one of this type.
fn joined(parts: &[&Array], ty: &Type) -> Array {
    use crate::array::{DType, Element};
    fn of<T: Element>(parts: &[&Array], ty: &Type) -> Array {
        if let [one] = parts {
            return one.reshaped(&ty.shape);
        }
        Array::new(&ty.shape, parts.iter().flat_map(|part| part.known::<T>()).copied().collect::<Vec<T>>())
    }
    match ty.dtype {
        DType::Bool => of::<bool>(parts, ty),
        DType::I64 => of::<i64>(parts, ty),
        DType::F32 => of::<f32>(parts, ty),
        DType::F64 => of::<f64>(parts, ty),
    }
}
