//! Which function of a spectrum, on which part of it.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::spectral_frame::{Frame, SpectralKind};
use super::spectral_series::{Differences, check_function};
use super::spectral_units::Units;
use crate::array::{DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Attributes, Literal};
use crate::program::{Builder, Program};

/// On which values a function counts; on the others it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpectralPart {
    /// All of them. Of singular values, the function has to be odd.
    All,
    /// Those with these numbers, in their order. It must not cut a cluster, and singular values must not be 0.
    Range {
        /// The first.
        start: usize,
        /// The one behind the last.
        end: usize,
    },
    /// All singular values, which must not be 0.
    Positive,
    /// The singular values that are not 0.
    Rank,
}

/// What becomes of a function that is infinite at a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Infinite {
    /// There is no such matrix.
    Refused,
    /// A sum is infinite too.
    Told,
}

/// A function of the values of a spectrum: a derivative of a Program of one number, on a part of them.
///
/// Of a singular value it is continued to negative numbers as an odd function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpectralFunction {
    /// The function, from f64[] to f64[], made of functions of numbers.
    pub program: Arc<Program>,
    /// Which derivative of it.
    pub derivative: usize,
    /// Where it counts.
    pub part: SpectralPart,
}

impl SpectralFunction {
    /// A function itself.
    pub fn new(program: Program, part: SpectralPart) -> Self {
        SpectralFunction { program: Arc::new(program), derivative: 0, part }
    }

    /// Its derivative.
    pub(super) fn differentiated(&self) -> Self {
        SpectralFunction { derivative: self.derivative + 1, ..self.clone() }
    }

    pub(super) fn check(&self, spectrum: SpectralKind, values: usize) -> Result<(), Misfit> {
        check_function(&self.program)?;
        match self.part {
            SpectralPart::All => Ok(()),
            SpectralPart::Range { start, end } if start <= end && end <= values => Ok(()),
            SpectralPart::Range { start, end } => {
                misfit!("there are {values} {}s, and no range {start}..{end} of them", spectrum.value())
            }
            SpectralPart::Positive | SpectralPart::Rank if spectrum == SpectralKind::Singular => Ok(()),
            SpectralPart::Positive | SpectralPart::Rank => {
                misfit!("eigenvalues may be negative: their part is all or a range")
            }
        }
    }

    /// Which values it counts on.
    ///
    /// # Errors
    /// If that does not determine the matrix function: a range that cuts a cluster, values that are 0.
    pub(super) fn counts(&self, frame: &Frame, order: usize) -> Result<Vec<bool>, Misfit> {
        match self.part {
            SpectralPart::All => {
                if frame.spectrum == SpectralKind::Singular {
                    self.check_odd(frame)?;
                }
                Ok(vec![true; frame.count()])
            }
            SpectralPart::Range { start, end } => {
                check_borders(frame, &(start..end))?;
                Ok((0..frame.count()).map(|k| (start..end).contains(&k)).collect())
            }
            SpectralPart::Positive => {
                // The value at 0 is no question if it is 0.
                let h = Differences::new(&self.program, self.derivative);
                if order > 0 || h.value(0.0) != 0.0 {
                    check_positive(frame, &(0..frame.count()))?;
                }
                Ok(vec![true; frame.count()])
            }
            SpectralPart::Rank => Ok(frame.values.iter().map(|&value| value > frame.tolerance()).collect()),
        }
    }

    /// A frame as the function reads it, and nothing else: an eigenvalue that is below 0 by rounding alone counts as 0, where
    /// the function has a value at 0 and none below.
    ///
    /// # Errors
    /// If the function, or its derivative of this order, is not finite at a value that counts.
    pub(super) fn defined<'a>(
        &self,
        h: &Differences,
        frame: &'a Frame,
        counts: &[bool],
        (order, infinite): (usize, Infinite),
    ) -> Result<Cow<'a, Frame>, Misfit> {
        let mut read = Cow::Borrowed(frame);
        let rounding = frame.rows[0] as f64 * frame.unit * frame.norm();
        let is_defined = |x: f64| match infinite {
            Infinite::Refused => h.value(x).is_finite(),
            Infinite::Told => !h.value(x).is_nan(),
        };
        let units = Units::of_values(&frame.values, order);
        let scaled = (units.of_matrix() != 1.0)
            .then(|| Differences::new(&self.program, self.derivative).in_unit(units.of_matrix()));
        let in_units = scaled.as_ref().unwrap_or(h);
        for (k, _) in counts.iter().enumerate().filter(|(_, counts)| **counts) {
            let value = frame.values[k];
            let is_rounding = value < 0.0 && value >= -rounding && !is_defined(value) && h.value(0.0).is_finite();
            let point = if is_rounding { 0.0 } else { value };
            if is_rounding {
                read.to_mut().values[k] = point;
            }
            let own =
                if is_defined(point) { in_units.at(&vec![units.point(point); order + 1]) } else { h.value(point) };
            if !is_defined(point) || order > 0 && !own.is_finite() {
                let what = match self.derivative + order {
                    0 => "the function".to_owned(),
                    1 => "the derivative of the function".to_owned(),
                    order => format!("the derivative of order {order} of the function"),
                };
                misfit!("{what} is {own} at the {} {k}, which is {value:.6e}", frame.spectrum.value());
            }
        }
        Ok(read)
    }

    /// That the continuation to negative numbers is that of the formula.
    fn check_odd(&self, frame: &Frame) -> Result<(), Misfit> {
        let h = Differences::new(&self.program, self.derivative);
        let both: Vec<[f64; 2]> = frame.values.iter().map(|&x| [h.value(x), h.value(-x)]).collect();
        let largest = both.iter().flatten().fold(0.0f64, |largest, y| largest.max(y.abs()));
        match both.iter().position(|[y, mirrored]| (y + mirrored).abs() > 1e-10 * largest) {
            None => Ok(()),
            Some(k) => misfit!(
                "the function is not odd: it is {:e} at the singular value {:e} and {:e} at its negative, and has to be the \
                 negative there",
                both[k][0],
                frame.values[k],
                both[k][1]
            ),
        }
    }

    pub(super) fn with_attributes(&self, attributes: Attributes) -> Attributes {
        let word = match self.part {
            SpectralPart::All => "all",
            SpectralPart::Range { .. } => "range",
            SpectralPart::Positive => "positive",
            SpectralPart::Rank => "rank",
        };
        let all = attributes.with("function", &self.program).with("derivative", self.derivative).with("part", word);
        match self.part {
            SpectralPart::Range { start, end } => all.with("range", &[start, end][..]),
            SpectralPart::All | SpectralPart::Positive | SpectralPart::Rank => all,
        }
    }

    #[cfg(feature = "text")]
    pub(super) fn read(fields: &mut Fields) -> Result<Self, Misfit> {
        let (program, derivative) = (fields.program("function")?, fields.integer("derivative")?);
        let none = SpectralPart::Range { start: 0, end: 0 };
        let words = [
            ("all", SpectralPart::All),
            ("range", none),
            ("positive", SpectralPart::Positive),
            ("rank", SpectralPart::Rank),
        ];
        let part = match fields.one_of("part", &words)? {
            SpectralPart::Range { .. } => match fields.integers("range")?[..] {
                [start, end] => SpectralPart::Range { start, end },
                _ => misfit!("the option `range` has to be two integers"),
            },
            part => part,
        };
        Ok(SpectralFunction { program, derivative, part })
    }
}

/// That the values at both ends of a range, and those beside them, are apart.
fn check_borders(frame: &Frame, range: &Range<usize>) -> Result<(), Misfit> {
    if range.is_empty() {
        return Ok(());
    }
    for border in [range.start, range.end] {
        if border > 0 && border < frame.count() {
            let gap = (frame.values[border] - frame.values[border - 1]).abs();
            if gap.is_nan() || gap <= frame.tolerance() {
                let clusters = frame.clusters();
                let cluster = clusters.iter().find(|cluster| cluster.contains(&border)).cloned().unwrap_or(0..0);
                misfit!(
                    "the range {}..{} cuts a cluster: the {}s {} and {} are {:.6e} and {:.6e}, and their gap {gap:.1e} is not \
                     above {:.1e} (8 roundings of the norm for each row), so what belongs to one of them alone is not \
                     determined; the `projector`, the `sum` and the `map` of the whole cluster {}..{} are",
                    range.start,
                    range.end,
                    frame.spectrum.value(),
                    border - 1,
                    border,
                    frame.values[border - 1],
                    frame.values[border],
                    frame.tolerance(),
                    cluster.start,
                    cluster.end
                );
            }
        }
    }
    if frame.spectrum == SpectralKind::Singular { check_positive(frame, range) } else { Ok(()) }
}

/// That singular values are not 0.
fn check_positive(frame: &Frame, range: &Range<usize>) -> Result<(), Misfit> {
    match range.clone().find(|&k| frame.values[k].is_nan() || frame.values[k] <= frame.tolerance()) {
        None => Ok(()),
        Some(k) => misfit!(
            "the singular value {k} is {:.1e}, which is not above {:.1e} (8 roundings of the norm for each row) and counts as \
             0: its vectors belong to no direction of the matrix, and nothing that needs them is determined",
            frame.values[k],
            frame.tolerance()
        ),
    }
}

/// Functions that much is made of.
impl SpectralFunction {
    /// Whether a function that passed [`check_function`] is odd and has no jump at 0: as far as pairs of numbers between 1e-3
    /// and 1e3 show. Every run compares again at the values that it has.
    pub(crate) fn is_odd(program: &Program, derivative: usize) -> bool {
        let h = Differences::new(program, derivative);
        h.value(0.0) == 0.0
            && h.value(1e-200).abs() < 1e-20
            && (-9..=9).all(|k| {
                let x = 10f64.powf(f64::from(k) / 3.0) * 1.037;
                let (y, mirrored) = (h.value(x), h.value(-x));
                y == -mirrored || (y + mirrored).abs() <= 1e-12 * y.abs()
            })
    }

    /// That a Program is a function of one number.
    pub(crate) fn check_program(program: &Program) -> Result<(), Misfit> {
        check_function(program)
    }

    fn written(
        part: SpectralPart,
        f: impl FnOnce(&mut Builder, crate::program::Value) -> crate::program::Value,
    ) -> Self {
        let mut b = Builder::new();
        let x = b.input("x", Type::new(DType::F64, &[]));
        let y = f(&mut b, x);
        SpectralFunction::new(b.finish(&[y]), part)
    }

    /// `1`
    pub(crate) fn one(part: SpectralPart) -> Self {
        SpectralFunction::written(part, |b, _| b.op(Literal::F64(1.0), &[]))
    }

    /// `x`
    pub(crate) fn identity(part: SpectralPart) -> Self {
        SpectralFunction::written(part, |_, x| x)
    }

    /// A function of one argument.
    pub(crate) fn of(op: Unary, part: SpectralPart) -> Self {
        SpectralFunction::written(part, |b, x| b.op(op, &[x]))
    }
}
