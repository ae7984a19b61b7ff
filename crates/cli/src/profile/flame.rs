//! A profile as a flame graph (Gregg 2016, "The flame graph"): the plan on top, below it the user's lines, or the
//! operations where there are none, below these the steps. The width of a box is its time.
//!
//! It is drawn here because three rows of boxes need no library, and the existing one has a licence that asks for more than
//! keeping its own text.

use std::fmt::Write;

use wengert::plan::StepKind;
use wengert::profile::{Profile, StepTime};

use crate::render::escape;

/// The width of the drawing, and of what surrounds the boxes.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
/// The height of a row, with the gap below.
const ROW: f64 = 22.0;
/// Where the rows begin: below the title.
const TOP: f64 = 48.0;
/// The width of a letter; the font is monospaced.
const LETTER: f64 = 7.3;
/// Boxes that are narrower cannot be seen.
const LEAST: f64 = 0.3;

/// Steps under one name, longest first.
struct Group<'a> {
    name: String,
    seconds: f64,
    steps: Vec<(usize, &'a StepTime)>,
}

/// The drawing as a file of its own.
pub(super) fn svg(profile: &Profile) -> String {
    let runs = profile.runs.max(1) as f64;
    let total = profile.time.as_secs_f64() / runs;
    let height = TOP + 3.0 * ROW + 40.0;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let title = format!("{} a run, {} runs", shown(total), profile.runs);
    let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"20\" font-size=\"15\">{}</text>", escape(&title));
    let _ = writeln!(text, "<text x=\"{MARGIN}\" y=\"38\" fill=\"#555555\">{}</text>", escape(&profile.plan));
    let scale = if total > 0.0 { (WIDTH - 2.0 * MARGIN) / total } else { 0.0 };
    let mut draw = |depth: usize, start: f64, seconds: f64, fill: &str, name: &str, more: &str| {
        let about = format!("{name}: {}, {:.1}%{more}", shown(seconds), 100.0 * seconds / total);
        let place = [MARGIN + start * scale, TOP + depth as f64 * ROW, seconds * scale];
        rectangle(&mut text, place, fill, name, &about);
    };
    draw(0, 0.0, total, "#d9d9d9", "plan", "");
    let mut start = 0.0;
    for group in groups(profile, runs) {
        draw(1, start, group.seconds, "#f2c879", &group.name, "");
        let mut inner = start;
        for (k, step) in &group.steps {
            let seconds = step.time.as_secs_f64() / runs;
            let info = &step.info;
            let name = format!("{k} {} {}", info.kind, info.what);
            draw(2, inner, seconds, color(info.kind), &name, &format!("; {}", info.size));
            inner += seconds;
        }
        start += group.seconds;
    }
    draw(1, start, profile.outside().as_secs_f64() / runs, "#eeeeee", "outside of steps", "");
    legend(&mut text, TOP + 3.0 * ROW + 20.0);
    text.push_str("</svg>\n");
    text
}

/// The steps by the first of the user's lines, or by what they do.
fn groups<'a>(profile: &'a Profile, runs: f64) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for (k, step) in profile.steps.iter().enumerate() {
        let name = step.info.lines.first().unwrap_or(&step.info.what);
        let seconds = step.time.as_secs_f64() / runs;
        match groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => {
                group.seconds += seconds;
                group.steps.push((k, step));
            }
            None => groups.push(Group { name: name.clone(), seconds, steps: vec![(k, step)] }),
        }
    }
    groups.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    groups.iter_mut().for_each(|group| group.steps.sort_by_key(|step| std::cmp::Reverse(step.1.time)));
    groups
}

fn color(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Region => "#8fc1e3",
        StepKind::Product => "#e39b8f",
        StepKind::Kernel => "#a9d39e",
        StepKind::Cond => "#c9aee0",
        StepKind::Loop => "#e0d28a",
    }
}

/// A box with as much of its name as fits; all of it is shown where the pointer rests.
fn rectangle(text: &mut String, [x, y, width]: [f64; 3], fill: &str, name: &str, about: &str) {
    if width < LEAST {
        return;
    }
    let _ = write!(
        text,
        "<g><title>{}</title><rect x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{fill}\" \
         stroke=\"#ffffff\" stroke-width=\"0.6\" rx=\"2\"/>",
        escape(about),
        ROW - 2.0
    );
    let letters = ((width - 8.0) / LETTER).max(0.0) as usize;
    let fits = name.chars().count() <= letters;
    if fits || letters >= 4 {
        let start: String =
            if fits { name.to_owned() } else { name.chars().take(letters - 1).chain(['…']).collect() };
        let _ = write!(text, "<text x=\"{:.2}\" y=\"{:.1}\">{}</text>", x + 4.0, y + 14.0, escape(&start));
    }
    text.push_str("</g>\n");
}

fn legend(text: &mut String, y: f64) {
    let kinds = [StepKind::Region, StepKind::Product, StepKind::Kernel, StepKind::Cond, StepKind::Loop];
    for (k, kind) in kinds.into_iter().enumerate() {
        let x = MARGIN + 100.0 * k as f64;
        let _ = writeln!(
            text,
            "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{y}\">{kind}</text>",
            y - 10.0,
            color(kind),
            x + 18.0
        );
    }
}

/// Seconds with three digits.
fn shown(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} us", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use wengert::plan::{Options, Plan};
    use wengert::{Array, Program};

    use super::*;

    /// A profile of two regions around a product, with these microseconds.
    fn profile(times: [u64; 3]) -> Profile {
        let text = "program(v0: f64[4,4]) {
            v1: f64[4,4] = exp v0
            v2: f64[4,4] = einsum[spec=\"ab,bc->ac\"] v1 v1
            v3: f64[4,4] = sin v2
            return v3
        }";
        let plan = Plan::new(&text.parse::<Program>().unwrap(), &Options::default()).unwrap();
        let mut profile = plan.profile(&[Array::new(&[4, 4], vec![0.5; 16])], Duration::ZERO).unwrap();
        for (step, time) in profile.steps.iter_mut().zip(times) {
            step.time = Duration::from_micros(time);
        }
        profile.time = Duration::from_micros(times.iter().sum());
        profile.runs = 1;
        profile
    }

    #[test]
    fn widths_are_times() {
        let svg = svg(&profile([100, 300, 200]));
        let at = |name: &str| {
            let line = svg.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{name} in {svg}"));
            let number = |key: &str| {
                let rest = line.split(&format!(" {key}=\"")).nth(1).unwrap();
                rest.split('"').next().unwrap().parse::<f64>().unwrap()
            };
            (number("x"), number("width"))
        };
        let width = WIDTH - 2.0 * MARGIN;
        assert_eq!(at("<title>plan"), (MARGIN, width));
        // The longest first; steps below their groups.
        let wanted = [("1 product", 0.0, 0.5), ("2 region", 0.5, 1.0 / 3.0), ("0 region", 5.0 / 6.0, 1.0 / 6.0)];
        for (name, start, part) in wanted {
            let (x, own) = at(&format!("<title>{name}"));
            assert!(
                (x - MARGIN - start * width).abs() < 0.01 && (own - part * width).abs() < 0.01,
                "{name}: {x} {own}"
            );
        }
        assert!(!svg.contains("<title>outside"), "nothing is outside of the steps");
    }

    #[test]
    fn a_profile_without_time_can_be_drawn() {
        let svg = svg(&profile([0, 0, 0]));
        assert!(!svg.contains("NaN\"") && svg.ends_with("</svg>\n"));
    }
}
