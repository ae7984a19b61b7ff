//! A golden case as a function of the numbers that are differentiated.

use wengert::Real;

use crate::array::{Args, Array, Operand, Outputs, Trouble};
use crate::functions;
use crate::load::{Case, Stored};

/// The function of a case, with everything bound that is not differentiated.
pub(crate) struct Bound<'c> {
    family: &'c str,
    case: &'c Case,
    expected: Vec<Stored>,
}

impl<'c> Bound<'c> {
    /// The function of the case, which is to give arrays like `expected`.
    pub(crate) fn new(family: &'c str, case: &'c Case, expected: Vec<Stored>) -> Self {
        Bound { family, case, expected }
    }

    /// The differentiated inputs, one after the other.
    pub(crate) fn point(&self) -> Vec<f64> {
        self.case.diff.iter().flat_map(|&index| self.case.inputs[index].data.iter().copied()).collect()
    }

    /// Where the numbers of input `index` begin in the point, and how many they are.
    pub(crate) fn place(&self, index: usize) -> Option<(usize, usize)> {
        let before = self.case.diff.iter().take_while(|&&other| other != index);
        let start = before.map(|&other| self.case.inputs[other].data.len()).sum();
        self.case.diff.contains(&index).then(|| (start, self.case.inputs[index].data.len()))
    }

    /// Runs the function over a carrier at `x`.
    pub(crate) fn call<R: Real>(&self, x: &[R]) -> Outputs<R> {
        functions::call(self.family, &self.case.function, &self.args(x)?)
    }

    /// Runs the function over a carrier in single precision at `x`.
    pub(crate) fn call_single<R: Real>(&self, x: &[R]) -> Outputs<R> {
        functions::call_single(self.family, &self.case.function, &self.args(x)?)
    }

    fn args<R: Real>(&self, x: &[R]) -> Result<Args<'_, R>, Trouble> {
        let mut rest = x.iter().copied();
        let operand = |(index, stored): (usize, &Stored)| -> Result<Operand<R>, Trouble> {
            if !stored.dtype.is_real() {
                let data = stored.data.iter().map(|&value| value as i64).collect();
                return Ok(Operand::Whole(Array::new(&stored.shape, data)));
            }
            if !self.case.diff.contains(&index) {
                let data = stored.data.iter().map(|&value| R::constant(value)).collect();
                return Ok(Operand::Real(Array::new(&stored.shape, data)));
            }
            let data: Vec<R> = rest.by_ref().take(stored.data.len()).collect();
            if data.len() < stored.data.len() {
                return Err(Trouble::Misfit(format!("{} numbers are too few", x.len())));
            }
            Ok(Operand::Real(Array::new(&stored.shape, data)))
        };
        Ok(Args {
            inputs: self.case.inputs.iter().enumerate().map(operand).collect::<Result<_, _>>()?,
            attrs: &self.case.attrs,
            constants: &self.case.constants,
            expected: &self.expected,
            program: self.case.program.as_ref(),
        })
    }

    /// The numbers of the real outputs at `x`, one after the other.
    ///
    /// # Panics
    /// If the function cannot be computed: a case is run over plain numbers first, which tells.
    pub(crate) fn leaves<R: Real>(&self, x: &[R]) -> Vec<R> {
        leaves(self.call(x).expect("it ran over plain numbers before"))
    }

    /// As [`Bound::leaves`], in single precision.
    pub(crate) fn leaves_single<R: Real>(&self, x: &[R]) -> Vec<R> {
        leaves(self.call_single(x).expect("it ran over plain numbers before"))
    }
}

/// The numbers of the real arrays, one after the other.
pub(crate) fn leaves<R>(outputs: Vec<Operand<R>>) -> Vec<R> {
    outputs
        .into_iter()
        .flat_map(|output| match output {
            Operand::Real(array) => array.data,
            Operand::Whole(_) => Vec::new(),
        })
        .collect()
}
