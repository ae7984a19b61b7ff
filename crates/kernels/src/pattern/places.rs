//! [`Places`]: where the elements of an array come from, as lines of places at equal distances.

use super::runs::{Runs, Span, merge};

/// For each element of a result the place of an element of an operand, or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    lines: Vec<Line>,
    count: usize,
}

/// Elements beside each other, whose places are `place, place + step, …`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    count: u32,
    step: i64,
    place: Option<u32>,
}

impl Line {
    fn at(self, k: usize) -> i64 {
        self.place.map_or(-1, |place| i64::from(place) + self.step * k as i64)
    }
}

impl Places {
    /// These places in this order.
    pub fn of(places: impl IntoIterator<Item = Option<usize>>) -> Places {
        let mut lines = Places::default();
        places.into_iter().for_each(|place| lines.push(1, place, 0));
        lines
    }

    /// `offset + sum_k index_k strides_k` for every multi-index of a shape.
    pub fn strided(shape: &[usize], strides: &[isize], offset: usize) -> Places {
        let mut lines = Places::default();
        let Some((&inner, outer)) = shape.split_last() else {
            lines.push(1, Some(offset), 0);
            return lines;
        };
        let step = strides[outer.len()] as i64;
        let count: usize = outer.iter().product();
        let mut index = vec![0; outer.len()];
        let mut place = offset.cast_signed();
        for _ in 0..count {
            lines.push(inner, Some(place.cast_unsigned()), step);
            for axis in (0..outer.len()).rev() {
                index[axis] += 1;
                place += strides[axis];
                if index[axis] < outer[axis] {
                    break;
                }
                place -= strides[axis] * outer[axis].cast_signed();
                index[axis] = 0;
            }
        }
        lines
    }

    /// How many elements the result has.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether each element comes from the operand's at the same place.
    pub fn is_identity(&self) -> bool {
        match &self.lines[..] {
            [] => true,
            [line] => line.place == Some(0) && (line.step == 1 || line.count == 1),
            _ => false,
        }
    }

    /// Appends elements whose places have this distance.
    fn push(&mut self, count: usize, place: Option<usize>, step: i64) {
        if count == 0 {
            return;
        }
        self.count += count;
        let place = place.map(|place| place as u32);
        let step = if count == 1 || place.is_none() { 0 } else { step };
        if let Some(last) = self.lines.last_mut()
            && last.place.is_some() == place.is_some()
        {
            let own = if last.count == 1 { place.map_or(0, |place| i64::from(place) - last.at(0)) } else { last.step };
            let follows = place.is_none_or(|place| last.at(0) + own * i64::from(last.count) == i64::from(place));
            if follows && (count == 1 || step == own) {
                last.step = own;
                last.count += count as u32;
                return;
            }
        }
        self.lines.push(Line { count: count as u32, step, place });
    }

    /// The rows of a pattern at these places; none of an element without a place.
    pub(super) fn pick(&self, source: &Runs) -> Runs {
        let mut picked = Runs::with_room(self.lines.len(), self.lines.len());
        let mut spans = Vec::new();
        let mut near = 0;
        for &line in &self.lines {
            if line.place.is_none() {
                picked.push(line.count as usize, &[]);
                continue;
            }
            segments(line, source, &mut near, |run, row, count| {
                let moved = translated(source, run, row, line.step);
                merge(moved, std::iter::empty(), count, &mut spans);
                picked.push(count, &spans);
            });
        }
        picked
    }

    /// Adds the columns of the rows at these places to a list of intervals, not sorted.
    pub(super) fn collect(&self, source: &Runs, intervals: &mut Vec<(u32, u32)>) {
        let mut near = 0;
        for &line in self.lines.iter().filter(|line| line.place.is_some()) {
            segments(line, source, &mut near, |run, row, count| {
                translated(source, run, row, line.step).for_each(|span| swept(span, count, intervals));
            });
        }
    }
}

/// Calls `visit(run, row, count)` for every part of a line whose places are in one run of a pattern: its first place is `row`.
fn segments(line: Line, source: &Runs, near: &mut usize, mut visit: impl FnMut(usize, usize, usize)) {
    let mut done = 0;
    while done < line.count as usize {
        let row = line.at(done) as usize;
        *near = source.find(row, *near);
        let bounds = source.bounds(*near);
        let room = match line.step {
            0 => usize::MAX,
            step if step > 0 => (bounds.end - row).div_ceil(step as usize),
            step => (row - bounds.start) / step.unsigned_abs() as usize + 1,
        };
        let count = room.min(line.count as usize - done);
        visit(*near, row, count);
        done += count;
    }
}

/// The spans of a run at one of its rows, moving as those of every `step`-th row do.
fn translated(source: &Runs, run: usize, row: usize, step: i64) -> impl Iterator<Item = Span> + Clone + '_ {
    let before = row - source.bounds(run).start;
    source.spans(run).iter().map(move |span| Span { step: span.step * step, ..span.moved(before) })
}

/// All columns that a moving span meets.
fn swept(span: Span, rows: usize, intervals: &mut Vec<(u32, u32)>) {
    let last = span.moved(rows - 1).first;
    if span.step.unsigned_abs() <= u64::from(span.width) {
        return intervals.push((span.first.min(last), span.first.max(last) + span.width));
    }
    intervals.extend((0..rows).map(|row| span.moved(row).first).map(|first| (first, first + span.width)));
}

#[cfg(test)]
mod tests;
