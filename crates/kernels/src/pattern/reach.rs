//! [`Reach`]: which elements of an operand the elements of a result depend on, and what that makes of a pattern.

use std::sync::Arc;

use super::places::Places;
use super::runs::{Runs, tidy};

/// Which elements of an operand each element of a result depends on.
///
/// It may name more than there are, never fewer. What matters is the derivative: a result that depends on an operand in steps
/// alone, as `floor`, does not depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// None.
    Nothing,
    /// The one at the same place.
    Same,
    /// One or none.
    Picked(Places),
    /// Those of a box.
    Boxes(Boxes),
    /// Along an axis, the ones at and before its place, or at and behind it.
    Preceding(Preceding),
    /// Those that are added to it: the place in the result of every element of the operand, or none.
    Added(Vec<Option<usize>>),
    /// Those that are listed.
    Listed(Lists),
    /// All.
    All,
}

/// For each element of a result some elements of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lists {
    /// Where the list of each begins, and the end of the last.
    pub starts: Vec<usize>,
    /// Elements of the operand, list by list.
    pub elements: Vec<usize>,
}

/// For each element of a result a box of elements of an operand: the place of the element
/// `k` of the box at the index `i` of the result is `sum_a i_a out_strides_a + sum_b k_b strides_b`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Where the operand's elements come from, where places are not those of the operand but of a padded one.
    pub of: Option<Places>,
    /// The shape of the result.
    pub out: Vec<usize>,
    /// How far the box moves along each axis of the result.
    pub out_strides: Vec<usize>,
    /// The shape of the box.
    pub shape: Vec<usize>,
    /// The distances of neighbours in the box.
    pub strides: Vec<usize>,
}

/// An axis among others, along which places depend on those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preceding {
    /// The elements of the axes before.
    pub before: usize,
    /// The length of the axis.
    pub length: usize,
    /// The elements of the axes behind.
    pub after: usize,
    /// Whether places depend on those behind.
    pub reverse: bool,
}

impl Reach {
    /// The pattern of a result with this number of elements, as far as it comes from an operand of this pattern.
    pub fn through(&self, source: &Arc<Runs>, rows: usize) -> Option<Arc<Runs>> {
        let made = match self {
            Reach::Nothing => return None,
            Reach::Same => return Some(Arc::clone(source)),
            Reach::Picked(places) if places.is_identity() && source.rows() == rows => return Some(Arc::clone(source)),
            Reach::Picked(places) => places.pick(source),
            Reach::Boxes(block) => block.through(source),
            Reach::Preceding(preceding) => preceding.through(source),
            Reach::Added(places) => added(places, rows).through(source),
            Reach::Listed(lists) => lists.through(source),
            Reach::All => {
                let mut intervals = Vec::new();
                Places::strided(&[source.rows()], &[1], 0).collect(source, &mut intervals);
                tidy(&mut intervals);
                Runs::constant(rows, &intervals)
            }
        };
        debug_assert_eq!(made.rows(), rows, "{self:?}");
        (!made.is_empty()).then(|| Arc::new(made))
    }
}

impl Boxes {
    fn through(&self, source: &Runs) -> Runs {
        let padded = self.of.as_ref().map(|places| places.pick(source));
        let source = padded.as_ref().unwrap_or(source);
        // Elements of the result that have the same box are computed once.
        let moving: Vec<usize> = (0..self.out.len()).filter(|&axis| self.out_strides[axis] != 0).collect();
        let out: Vec<usize> = moving.iter().map(|&axis| self.out[axis]).collect();
        let strides: Vec<isize> = moving.iter().map(|&axis| self.out_strides[axis].cast_signed()).collect();
        if self.out.contains(&0) {
            return Runs::new();
        }
        let joined = self.joined(source, &out, &strides);
        if moving.len() == self.out.len() {
            return joined;
        }
        let mut places = vec![0; self.out.len()];
        let own = crate::pattern::distances(&out);
        moving.iter().zip(own).for_each(|(&axis, stride)| places[axis] = stride.cast_signed());
        Places::strided(&self.out, &places, 0).pick(&joined)
    }

    /// The boxes' rows joined, for the axes of the result along which the box moves.
    fn joined(&self, source: &Runs, out: &[usize], out_strides: &[isize]) -> Runs {
        let (boxes, size): (usize, usize) = (out.iter().product(), self.shape.iter().product());
        let strides: Vec<isize> = self.strides.iter().map(|stride| stride.cast_signed()).collect();
        if size > boxes {
            let mut joined = Runs::with_room(boxes, boxes);
            let mut intervals = Vec::new();
            for offset in offsets(out, out_strides) {
                intervals.clear();
                Places::strided(&self.shape, &strides, offset).collect(source, &mut intervals);
                tidy(&mut intervals);
                joined.push_row(&intervals);
            }
            return joined;
        }
        // One element of all boxes at a time, joined in pairs of equal size, so that no row is copied often.
        let mut pairs: Vec<(usize, Runs)> = Vec::new();
        for offset in offsets(&self.shape, &strides) {
            let (mut level, mut runs) = (0, Places::strided(out, out_strides, offset).pick(source));
            while pairs.last().is_some_and(|(other, _)| *other == level) {
                runs = pairs.pop().expect("it was looked at").1.union(&runs);
                level += 1;
            }
            pairs.push((level, runs));
        }
        let joined = pairs.into_iter().map(|(_, runs)| runs).rev().reduce(|one, other| one.union(&other));
        joined.unwrap_or_else(|| Runs::constant(boxes, &[]))
    }
}

impl Preceding {
    fn through(self, source: &Runs) -> Runs {
        let Preceding { before, length, after, reverse } = self;
        let mut result = Runs::with_room(source.count(), source.count());
        let mut so_far: Option<Runs> = None;
        for k in 0..length {
            let place = if reverse { length - 1 - k } else { k };
            let shape = [before, after];
            let slice = Places::strided(&shape, &[(length * after).cast_signed(), 1], place * after).pick(source);
            let joined = so_far.take().map_or_else(|| slice.clone(), |so_far| so_far.union(&slice));
            result.append(&joined);
            so_far = Some(joined);
        }
        // The axis stands in front, from its beginning or from its end.
        let step = (before * after).cast_signed();
        let (step, offset) = match reverse {
            true => (-step, (length.saturating_sub(1) * before * after)),
            false => (step, 0),
        };
        Places::strided(&[before, length, after], &[after.cast_signed(), step, 1], offset).pick(&result)
    }
}

impl Lists {
    /// None yet, of this many elements.
    pub fn with_room(elements: usize) -> Self {
        let mut starts = Vec::with_capacity(elements + 1);
        starts.push(0);
        Lists { starts, elements: Vec::new() }
    }

    /// The list of the next element.
    pub fn push(&mut self, elements: impl Iterator<Item = usize>) {
        self.elements.extend(elements);
        self.starts.push(self.elements.len());
    }

    fn through(&self, source: &Runs) -> Runs {
        let rows = self.starts.len() - 1;
        let mut joined = Runs::with_room(rows, rows);
        let mut intervals = Vec::new();
        for bounds in self.starts.windows(2) {
            intervals.clear();
            let own = &self.elements[bounds[0]..bounds[1]];
            Places::of(own.iter().map(|&k| Some(k))).collect(source, &mut intervals);
            tidy(&mut intervals);
            joined.push_row(&intervals);
        }
        joined
    }
}

/// The elements that are added to each.
fn added(places: &[Option<usize>], rows: usize) -> Lists {
    let mut starts = vec![0usize; rows + 1];
    places.iter().flatten().for_each(|&place| starts[place + 1] += 1);
    (0..rows).for_each(|row| starts[row + 1] += starts[row]);
    let mut next = starts.clone();
    let mut elements = vec![0; starts[rows]];
    for (k, place) in places.iter().enumerate() {
        if let Some(place) = *place {
            elements[next[place]] = k;
            next[place] += 1;
        }
    }
    Lists { starts, elements }
}

/// `sum_k index_k strides_k` for every multi-index of a shape, in row-major order.
fn offsets(shape: &[usize], strides: &[isize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (&length, &stride) in shape.iter().zip(strides) {
        offsets =
            offsets.iter().flat_map(|&place| (0..length).map(move |k| place + k * stride.cast_unsigned())).collect();
    }
    offsets
}
