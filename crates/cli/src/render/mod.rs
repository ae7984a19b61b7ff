//! Reports as text, JSON, LaTeX and drawings.

mod dot;
mod json;
mod latex;
mod layout;
mod svg;
mod text;

#[cfg(test)]
mod tests;

pub(crate) use svg::escape;

use crate::failure::Failure;
use crate::flags::Format;
use crate::report::{Report, Row, RowOperand};

/// Which edges of a drawing have labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Labels {
    /// Those that say something: not the operands of a sum, whose derivative is 1 whatever the values are.
    Telling,
    /// All.
    All,
}

impl Labels {
    /// Whether the edge of this operand has one.
    fn has(self, operand: &RowOperand) -> bool {
        self == Self::All || !operand.plain
    }
}

/// The report in this form, with a line end at its end.
pub(crate) fn render(report: &Report, format: Format, labels: Labels) -> Result<String, Failure> {
    match format {
        Format::Text => Ok(text::render(report)),
        Format::Json => Ok(json::render(report)),
        Format::Dot => Ok(dot::render(report, labels)),
        Format::Latex => Ok(latex::render(report)),
        Format::Svg => svg::render(report, labels),
    }
}

/// The adjoint that flows along an operand: the row's adjoint times the partial derivative, or
/// nothing at all where `select` masks it.
fn contribution(row: &Row, edge: &RowOperand) -> Option<f64> {
    // An edge with a partial derivative leads to a row of one number.
    let product = row.adjoint.as_ref()?.elements()[0].0 * edge.partial?.0;
    Some(if edge.flows { product } else { 0.0 })
}
