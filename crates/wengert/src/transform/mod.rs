//! Program to Program: the tangent program, its linear part, the transpose, one more axis.
//!
//! Every transformation asks the operations' rules and appends to a [`Builder`]; the forms that
//! take a builder are used by the operations that hold Programs and by the drivers.

pub(crate) mod again;
mod beside;
mod blocks;
mod compress;
mod derive;
pub(crate) mod given;
mod jacobian;
pub(crate) mod jvp;
pub(crate) mod linear;
pub(crate) mod linearize;
pub(crate) mod masked;
pub(crate) mod partial;
pub(crate) mod pattern;
mod sum;
pub(crate) mod transpose;
pub(crate) mod vmap;

pub(crate) use compress::{Colours, CompressedPart, CompressedProgram, Side, Wanted, gradient_of, sparse};
pub(crate) use derive::{derive, mapped, pullback};
pub(crate) use jacobian::{NO_SEED, SeedTable};
pub(crate) use sum::in_one_of;
pub(crate) use transpose::mask_out;

use std::panic::Location;

use crate::error::{Error, ErrorKind};
use crate::program::{Builder, Program, Value, dce, same_inputs};

/// A program in two parts: see [`Program::linearize`].
#[derive(Clone, Debug)]
pub struct Linearized {
    /// Takes the inputs; gives the outputs, then the residuals.
    pub primal: Program,
    /// Takes the residuals, then the tangents; gives the tangents of the outputs that have one.
    pub linear: Program,
    /// How many inputs of the linear part are residuals.
    pub residuals: usize,
}

impl Linearized {
    /// How many bytes have to be kept between the two parts.
    pub fn residual_bytes(&self) -> usize {
        let types = &self.linear.input_types()[..self.residuals];
        types.iter().map(|ty| ty.size() * ty.dtype.size()).sum()
    }
}

/// That there is one mark for each input: what a caller says of inputs.
#[track_caller]
pub(crate) fn check_marks(program: &Program, method: &str, marks: &[bool]) -> Result<(), Error> {
    let inputs = program.input_types();
    if marks.len() == inputs.len() {
        return Ok(());
    }
    let why = format!("the program takes {} inputs, and there are marks for {}", inputs.len(), marks.len());
    Err(Error::new(ErrorKind::Misfit, method, why).of(inputs).at(Some(Location::caller())))
}

impl Program {
    /// The tangent program: takes the inputs, then a tangent for each input marked `active`; gives
    /// the outputs, then the tangents of the outputs, zeros where structurally zero.
    ///
    /// ```
    /// use wengert::{Array, Program};
    /// let square: Program = "program(v0: f64[]) { v1: f64[] = mul v0 v0; return v1 }".parse()?;
    /// let (x, x_dot) = (Array::scalar(3.0), Array::scalar(1.0));
    /// let out = square.jvp(&[true])?.run(&[x, x_dot])?;
    /// assert_eq!((out[0].to_f64(), out[1].to_f64()), (vec![9.0], vec![6.0]));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an operation has no derivative where one is needed; if `active` does not have one entry per input.
    #[track_caller]
    pub fn jvp(&self, active: &[bool]) -> Result<Program, Error> {
        check_marks(self, "jvp", active)?;
        let mut b = Builder::new();
        let args = same_inputs(&mut b, self);
        let tangents = jvp::tangent_inputs(&mut b, self, active);
        let (mut outs, tangents) = jvp::jvp(&mut b, self, &args, &tangents)?;
        for k in 0..tangents.len() {
            let tangent = tangents[k].unwrap_or_else(|| b.zeros_like(outs[k]));
            outs.push(tangent);
        }
        Ok(b.finish(&outs))
    }

    /// The pullback with the values: takes the inputs, then a cotangent for each output with real
    /// elements; gives the outputs, then the cotangents of the inputs marked `active`, zeros where
    /// structurally zero.
    ///
    /// # Errors
    /// If an operation has no derivative where one is needed; if `active` does not have one entry per input.
    #[track_caller]
    pub fn vjp(&self, active: &[bool]) -> Result<Program, Error> {
        check_marks(self, "vjp", active)?;
        let mut b = Builder::new();
        let args = same_inputs(&mut b, self);
        let cotangents: Vec<Option<Value>> =
            self.output_types().into_iter().map(|ty| ty.dtype.is_float().then(|| b.input("", ty))).collect();
        let (mut outs, linear) = linearize::linearize(&mut b, self, &args, active)?;
        let pulled = linear.pull(&mut b, &cotangents)?;
        for (k, ct) in pulled.into_iter().enumerate() {
            if active[k] {
                outs.push(ct.unwrap_or_else(|| b.zeros_like(args[k])));
            }
        }
        Ok(b.finish(&outs))
    }

    /// The program in two parts at a point: the primal part gives the outputs and the residuals, the
    /// linear part takes the residuals and a tangent for each input marked `active`.
    ///
    /// ```
    /// use wengert::Program;
    /// let p: Program = "program(v0: f64[3]) { v1: f64[3] = sin v0; v2: f64[3] = exp v1; return v2 }".parse()?;
    /// let parts = p.linearize(&[true])?;
    /// // the residuals are cos(v0) and exp(v1)
    /// assert_eq!(parts.residual_bytes(), 2 * 3 * 8);
    /// assert_eq!(parts.linear.eqns().len(), 2);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an operation has no derivative where one is needed; if `active` does not have one entry per input.
    #[track_caller]
    pub fn linearize(&self, active: &[bool]) -> Result<Linearized, Error> {
        check_marks(self, "linearize", active)?;
        let mut b = Builder::new();
        let args = same_inputs(&mut b, self);
        let (outs, linear) = linearize::linearize(&mut b, self, &args, active)?;
        let primal = b.finish(&[&outs[..], &linear.residuals[..]].concat());
        Ok(Linearized { primal: dce(primal), residuals: linear.residuals.len(), linear: linear.program })
    }

    /// The transpose of a program that is linear in the inputs marked: takes the other inputs, then a
    /// cotangent for each output; gives a cotangent for each marked input, zeros where structurally
    /// zero.
    ///
    /// # Errors
    /// If the program is not linear in them; if `linear` does not have one entry per input.
    #[track_caller]
    pub fn transpose(&self, linear: &[bool]) -> Result<Program, Error> {
        check_marks(self, "transpose", linear)?;
        linear::check_linear(self, linear).map_err(|why| Error::new(ErrorKind::Unsupported, "transpose", why))?;
        let mut b = Builder::new();
        let types = self.input_types().iter().zip(linear);
        let args: Vec<Option<Value>> = types.map(|(ty, &linear)| (!linear).then(|| b.input("", ty.clone()))).collect();
        let cotangents: Vec<Option<Value>> = self.output_types().into_iter().map(|ty| Some(b.input("", ty))).collect();
        let pulled = transpose::transpose(&mut b, self, &args, &cotangents)?;
        let wanted = (0..linear.len()).filter(|&k| linear[k]);
        let results: Vec<Value> = wanted.map(|k| pulled[k].unwrap_or_else(|| b.full(0.0, &self.types[k]))).collect();
        Ok(dce(b.finish(&results)))
    }

    /// The program with one more axis: on the inputs marked, in front, of this length; on every
    /// output, in front.
    ///
    /// # Errors
    /// If an operation has no batched form; if `batched` does not have one entry per input.
    #[track_caller]
    pub fn vmap(&self, batched: &[bool], length: usize) -> Result<Program, Error> {
        check_marks(self, "vmap", batched)?;
        let mut b = Builder::new();
        let args: Vec<Value> = vmap::batched_inputs(&mut b, self, batched, length);
        let outs = vmap::vmap(&mut b, self, &args, batched, length)?;
        let outs: Vec<Value> =
            outs.into_iter().map(|(out, batched)| if batched { out } else { b.repeat_in_front(out, length) }).collect();
        Ok(b.finish(&outs))
    }
}
