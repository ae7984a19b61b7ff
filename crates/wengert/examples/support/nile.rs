//! The flow of the Nile, and its chart, as the examples on it use them.

use std::path::Path;

use plotters::prelude::*;

/// Why an example ends early.
pub type Failure = Box<dyn std::error::Error>;

/// The first year.
pub const FIRST: i32 = 1871;

/// The flow in each year from 1871 to 1970, in 10^8 cubic metres (G. W. Cobb, *The problem of the Nile*, Biometrika 65, 1978).
pub fn flows() -> Vec<f64> {
    let rows = include_str!("../../data/nile.csv").lines().skip(1);
    rows.map(|row| row[5..].parse().expect("a year of four digits, a comma and a number")).collect()
}

/// The level of the river in each of the last years, and how sure that is.
pub struct Levels {
    /// What is expected.
    pub means: Vec<f64>,
    /// The standard deviations.
    pub deviations: Vec<f64>,
}

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);
const INK: RGBColor = RGBColor(51, 51, 51);

impl Levels {
    /// Draws the flows, the levels under the given name, and two deviations around them.
    ///
    /// # Errors
    /// If the picture cannot be written.
    pub fn draw(&self, path: &Path, name: &str) -> Result<(), Failure> {
        let Self { means, deviations } = self;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let root = SVGBackend::new(path, (900, 480)).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .caption("The flow of the Nile at Aswan", ("sans-serif", 20, &INK))
            .margin(14)
            .x_label_area_size(42)
            .y_label_area_size(60)
            .build_cartesian_2d(FIRST - 1..FIRST + 101, 400.0..1400.0)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.12))
            .axis_style(INK)
            .x_desc("year")
            .y_desc("flow, 10^8 cubic metres a year")
            .x_label_formatter(&|year| year.to_string())
            .y_label_formatter(&|flow| format!("{flow:.0}"))
            .label_style(("sans-serif", 13, &INK))
            .draw()?;
        let flows = flows();
        let first = FIRST + (flows.len() - means.len()) as i32;
        let years = || first..;
        let edge = |sign: f64| years().zip(means.iter().zip(deviations).map(move |(m, d)| m + 2.0 * sign * d));
        let band: Vec<(i32, f64)> = edge(1.0).chain(edge(-1.0).collect::<Vec<_>>().into_iter().rev()).collect();
        chart
            .draw_series(LineSeries::new(years().zip(means.iter().copied()), BLUE.stroke_width(2)))?
            .label(name)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], BLUE.stroke_width(2)));
        chart
            .draw_series([Polygon::new(band, BLUE.mix(0.18).filled())])?
            .label("two deviations around it")
            .legend(|(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], BLUE.mix(0.18).filled()));
        chart
            .draw_series((FIRST..).zip(flows).map(|point| Circle::new(point, 3, ORANGE.filled())))?
            .label("measured flow")
            .legend(|(x, y)| Circle::new((x + 9, y), 3, ORANGE.filled()));
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.8))
            .label_font(("sans-serif", 14, &INK))
            .draw()?;
        root.present()?;
        Ok(())
    }
}
