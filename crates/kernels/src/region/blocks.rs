//! Values assembled from blocks: an array inside a wider one of zeros, or arrays side by side.
//!
//! The elements of a value are an array in row-major order. A block takes its elements from memory, with any strides;
//! what no block covers is one number. So padding and joining need no memory of their own: an array that is
//! shifted by a place, or turned around a torus, is read where it lies.

use super::{Granularity, Kind, Pattern};

/// A box of the elements, and where they lie in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// The number of the input.
    pub operand: u16,
    /// The index of its first element along each axis.
    pub low: Vec<usize>,
    /// Its lengths.
    pub lengths: Vec<usize>,
    /// The position of its first element in memory.
    pub offset: usize,
    /// The distance in memory of neighbours along each axis: 0 for a broadcast one, negative for a reversed one.
    pub strides: Vec<isize>,
}

impl Block {
    fn pattern(&self) -> Option<Pattern> {
        Pattern::new(self.offset, &self.lengths, &self.strides)
    }

    /// Whether two have an element in common.
    fn meets(&self, other: &Block) -> bool {
        (0..self.low.len()).all(|axis| {
            self.low[axis] < other.low[axis] + other.lengths[axis]
                && other.low[axis] < self.low[axis] + self.lengths[axis]
        })
    }
}

/// A value assembled from blocks in memory; what no block covers is one number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Blocks {
    kind: Kind,
    level: Granularity,
    /// Lengths of the axes; neighbours that every block continues are one. There is at least one.
    shape: Vec<usize>,
    /// The bits of the number everywhere else, if anything is left uncovered.
    fill: Option<u64>,
    /// They have an element each and none in common.
    blocks: Vec<Block>,
    /// For each block: how many elements its operand must have.
    ends: Vec<usize>,
}

impl Blocks {
    /// The largest number of axes, after joining.
    pub const MAX_AXES: usize = 8;
    /// The largest number of blocks: each is looked at for every run of elements.
    pub const MAX_BLOCKS: usize = 8;

    /// A value of this shape. The number `fill`, by its bits, is where no block is.
    ///
    /// `None` if blocks have other axes, no elements, elements in common or outside of the value, if they do not cover it and
    /// there is no number, if there are too many axes or blocks, or if a position in memory is negative or overflows.
    pub fn new(kind: Kind, level: Granularity, shape: &[usize], fill: Option<u64>, blocks: Vec<Block>) -> Option<Self> {
        let count = shape.iter().try_fold(1usize, |count, &length| count.checked_mul(length))?;
        if blocks.len() > Self::MAX_BLOCKS || count == 0 {
            return None;
        }
        let (mut covered, mut ends) = (0usize, Vec::with_capacity(blocks.len()));
        for (k, block) in blocks.iter().enumerate() {
            if [block.low.len(), block.lengths.len(), block.strides.len()] != [shape.len(); 3] {
                return None;
            }
            let inside = |axis: usize| {
                let end = block.low[axis].checked_add(block.lengths[axis]);
                block.lengths[axis] > 0 && end.is_some_and(|end| end <= shape[axis])
            };
            if !(0..shape.len()).all(inside) || blocks[..k].iter().any(|other| other.meets(block)) {
                return None;
            }
            // The end of the positions tells whether all of them are valid pointer offsets.
            let end = block.pattern()?.end();
            isize::try_from(end).ok()?;
            ends.push(end);
            covered += block.lengths.iter().product::<usize>();
        }
        if fill.is_none() && covered < count {
            return None;
        }
        let mut made =
            Blocks { kind, level, shape: shape.to_vec(), fill: fill.filter(|_| covered < count), blocks, ends };
        made.join_axes();
        (made.shape.len() <= Self::MAX_AXES).then_some(made)
    }

    /// Merges neighbouring axes where every block has all of the inner one and it continues the outer one.
    fn join_axes(&mut self) {
        for outer in (0..self.shape.len().saturating_sub(1)).rev() {
            let inner = outer + 1;
            let length = self.shape[inner];
            let continues = |block: &Block| {
                block.lengths[inner] == length
                    && (block.lengths[outer] == 1
                        || length == 1
                        || Some(block.strides[outer]) == block.strides[inner].checked_mul(length.cast_signed()))
            };
            if !self.blocks.iter().all(continues) {
                continue;
            }
            self.shape[outer] *= length;
            self.shape.remove(inner);
            for block in &mut self.blocks {
                block.low[outer] *= length;
                block.lengths[outer] *= length;
                block.low.remove(inner);
                block.lengths.remove(inner);
                let stride = block.strides.remove(inner);
                if length > 1 {
                    block.strides[outer] = stride;
                }
            }
        }
        if self.shape.is_empty() {
            self.shape.push(1);
            for block in &mut self.blocks {
                block.low.push(0);
                block.lengths.push(1);
                block.strides.push(0);
            }
        }
    }

    /// The elements.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Which elements there are.
    pub fn level(&self) -> Granularity {
        self.level
    }

    /// How many elements there are.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// The lengths of the axes, where neighbours that all blocks continue are one.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bits of the number where no block is; `None` if blocks cover everything.
    pub fn fill(&self) -> Option<u64> {
        self.fill
    }

    /// The blocks, with the axes of [`Blocks::shape`].
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// For each block its operand, and how many elements that must have.
    pub(super) fn needs(&self) -> impl Iterator<Item = (u16, usize)> + '_ {
        self.blocks.iter().zip(&self.ends).map(|(block, &end)| (block.operand, end))
    }

    /// For each block its operand, and the lowest position that is read of it.
    pub fn lowest(&self) -> impl Iterator<Item = (u16, usize)> + '_ {
        let lowest = |block: &Block| block.pattern().and_then(|pattern| pattern.lowest()).unwrap_or(0);
        self.blocks.iter().map(move |block| (block.operand, lowest(block)))
    }

    /// The same elements where the memory of each operand begins later, by the number of elements in `starts`.
    ///
    /// # Panics
    /// If an element lies before the beginning.
    pub fn begin_at(&mut self, starts: &[usize]) {
        let is_after = |(operand, lowest): (u16, usize)| starts[usize::from(operand)] <= lowest;
        assert!(self.lowest().all(is_after), "an element lies before the beginning");
        for (block, end) in self.blocks.iter_mut().zip(&mut self.ends) {
            let start = starts[usize::from(block.operand)];
            block.offset -= start;
            *end -= start;
        }
    }

    /// Copies elements `start..start + count` to `to`.
    ///
    /// # Safety
    /// Of each block, `inputs` has the operand, valid for reads of the elements that it needs ([`Blocks::needs`]), of this
    /// width; `to` is valid for writes of `count` elements and overlaps none of them; `start + count` is at most
    /// [`Blocks::count`].
    #[inline(always)]
    pub(super) unsafe fn gather(&self, inputs: &[*mut u8], to: *mut u8, start: usize, count: usize) {
        // SAFETY: the caller's promise; elements of one width are copied alike.
        unsafe {
            match self.kind.size() {
                1 => self.gather_as(inputs, to, start, count, self.fill.map(|bits| bits as u8)),
                4 => self.gather_as(inputs, to.cast(), start, count, self.fill.map(|bits| bits as u32)),
                _ => self.gather_as(inputs, to.cast(), start, count, self.fill),
            }
        }
    }

    /// Where elements `start..start + count` lie one after the other in memory, if they do: the operand, and the position of the
    /// first.
    #[inline(always)]
    pub(super) fn lies(&self, start: usize, count: usize) -> Option<(u16, usize)> {
        let (outer, plane) = self.shape.split_at(self.shape.len().saturating_sub(2));
        let (size, cols) = (plane.iter().product::<usize>(), plane[plane.len() - 1]);
        let (number, first) = (start / size, start % size);
        let (row, col) = (first / cols, first % cols);
        if col + count > cols {
            return None;
        }
        self.blocks.iter().find_map(|block| {
            let (rows, row_stride) = block.rows(plane.len());
            let axis = block.low.len() - 1;
            let begins = block.low[axis];
            let inside = rows.contains(&row) && begins <= col && col + count <= begins + block.lengths[axis];
            if !inside || block.strides[axis] != 1 {
                return None;
            }
            let position = block.plane(outer, number)?;
            let step = (row - rows.start).cast_signed() * row_stride + (col - begins).cast_signed();
            Some((block.operand, (position + step).cast_unsigned()))
        })
    }

    /// As [`Blocks::gather`], plane by plane; a plane is the last two axes.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    unsafe fn gather_as<T: Copy>(&self, inputs: &[*mut u8], to: *mut T, start: usize, count: usize, fill: Option<T>) {
        let (outer, plane) = self.shape.split_at(self.shape.len().saturating_sub(2));
        let size: usize = plane.iter().product();
        // What one block leaves uncovered is filled around it; several may be filled over.
        let around = fill.filter(|_| self.blocks.len() == 1);
        if let Some(fill) = fill.filter(|_| around.is_none()) {
            // SAFETY: `to` is valid for `count` elements: the caller's promise.
            unsafe { std::slice::from_raw_parts_mut(to, count).fill(fill) };
        }
        let mut done = 0;
        while done < count {
            let (number, first) = ((start + done) / size, (start + done) % size);
            let run = (size - first).min(count - done);
            for block in &self.blocks {
                // SAFETY: the elements `first..first + run` of the plane go to `to + done`, which is valid for them; the
                // block's positions are below the end that its operand was checked against (`Blocks::new`).
                unsafe {
                    match (block.plane(outer, number), around) {
                        (Some(position), _) => {
                            let from = inputs[usize::from(block.operand)].cast_const().cast::<T>();
                            block.copy(from, position, plane, to.add(done), first..first + run, around);
                        }
                        (None, Some(fill)) => std::slice::from_raw_parts_mut(to.add(done), run).fill(fill),
                        (None, None) => {}
                    }
                }
            }
            done += run;
        }
    }
}

impl Block {
    /// The position in memory of the block's first element in the plane with this number; `None` if it has no
    /// element there.
    #[inline(always)]
    fn plane(&self, outer: &[usize], mut number: usize) -> Option<isize> {
        let mut position = self.offset.cast_signed();
        for (axis, &length) in outer.iter().enumerate().rev() {
            let inside = (number % length).checked_sub(self.low[axis]).filter(|&k| k < self.lengths[axis])?;
            position += inside.cast_signed() * self.strides[axis];
            number /= length;
        }
        Some(position)
    }

    /// The rows of a plane of this many axes that the block has, and their distance in memory.
    #[inline(always)]
    fn rows(&self, axes: usize) -> (std::ops::Range<usize>, isize) {
        match self.low.len().checked_sub(2).filter(|_| axes == 2) {
            Some(axis) => (self.low[axis]..self.low[axis] + self.lengths[axis], self.strides[axis]),
            None => (0..1, 0),
        }
    }

    /// Copies the block's share of a range of a plane, in which its first element lies at `position`. The number `around`, if
    /// there is one, is written where the range has elements outside of the block.
    ///
    /// # Safety
    /// `from` is valid for reads of the positions of the block, `to` for writes of as many elements as the range has, and
    /// they do not overlap.
    #[inline(always)]
    unsafe fn copy<T: Copy>(
        &self,
        from: *const T,
        position: isize,
        plane: &[usize],
        to: *mut T,
        range: std::ops::Range<usize>,
        around: Option<T>,
    ) {
        let cols = plane[plane.len() - 1];
        let axis = self.low.len() - 1;
        let (rows, row_stride) = self.rows(plane.len());
        let (low, high, stride) = (self.low[axis], self.low[axis] + self.lengths[axis], self.strides[axis]);
        let (first, last) = (range.start / cols, range.end.div_ceil(cols));
        let mut filled = range.start;
        for row in rows.start.max(first)..rows.end.min(last) {
            // The first and the last row may be only partly in the range.
            let begin = low.max(range.start.saturating_sub(row * cols));
            let end = high.min(range.end - row * cols);
            if begin >= end {
                continue;
            }
            let step = (row - rows.start).cast_signed() * row_stride + (begin - low).cast_signed() * stride;
            let (begins, ends) = (row * cols + begin, row * cols + end);
            // SAFETY: row and columns are inside of the block and of the range: the caller's promise. What lies before was not
            // written yet, and is inside of the range.
            unsafe {
                if let Some(fill) = around {
                    std::slice::from_raw_parts_mut(to.add(filled - range.start), begins - filled).fill(fill);
                }
                run(from.offset(position + step), stride, to.add(begins - range.start), end - begin);
            }
            filled = ends;
        }
        if let Some(fill) = around {
            // SAFETY: as above; these are the last elements of the range.
            unsafe { std::slice::from_raw_parts_mut(to.add(filled - range.start), range.end - filled).fill(fill) };
        }
    }
}

/// The longest run for which a loop is quicker than a call that copies.
const SHORT: usize = 4;

/// Copies elements that have one stride.
///
/// # Safety
/// `from` is valid for reads of `count` elements with this stride, `to` for writes of `count` elements; they do not overlap.
#[inline(always)]
unsafe fn run<T: Copy>(from: *const T, stride: isize, to: *mut T, count: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match stride {
            1 if count > SHORT => std::ptr::copy_nonoverlapping(from, to, count),
            0 => std::slice::from_raw_parts_mut(to, count).fill(*from),
            _ => (0..count).for_each(|k| *to.add(k) = *from.offset(k.cast_signed() * stride)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(operand: u16, low: &[usize], lengths: &[usize], offset: usize, strides: &[isize]) -> Block {
        Block { operand, low: low.to_vec(), lengths: lengths.to_vec(), offset, strides: strides.to_vec() }
    }

    /// The elements by definition.
    fn wanted(shape: &[usize], fill: f64, blocks: &[Block], inputs: &[Vec<f64>]) -> Vec<f64> {
        let count: usize = shape.iter().product();
        let element = |k: usize| {
            let mut rest = k;
            let mut index = vec![0; shape.len()];
            for axis in (0..shape.len()).rev() {
                index[axis] = rest % shape[axis];
                rest /= shape[axis];
            }
            let inside = |block: &&Block| {
                (0..shape.len()).all(|a| (block.low[a]..block.low[a] + block.lengths[a]).contains(&index[a]))
            };
            blocks.iter().find(inside).map_or(fill, |block| {
                let moved = (0..shape.len()).map(|a| (index[a] - block.low[a]).cast_signed() * block.strides[a]);
                inputs[usize::from(block.operand)][(block.offset.cast_signed() + moved.sum::<isize>()).cast_unsigned()]
            })
        };
        (0..count).map(element).collect()
    }

    #[test]
    fn elements_are_where_the_definition_says() {
        let cases: Vec<(Vec<usize>, Vec<Block>)> = vec![
            // Padded on every side; turned around the last axis, around the first, around both.
            (vec![5, 6], vec![block(0, &[1, 2], &[3, 3], 0, &[3, 1])]),
            (vec![4, 6], vec![block(0, &[0, 0], &[4, 2], 4, &[6, 1]), block(0, &[0, 2], &[4, 4], 0, &[6, 1])]),
            (vec![4, 6], vec![block(0, &[0, 0], &[1, 6], 18, &[6, 1]), block(0, &[1, 0], &[3, 6], 0, &[6, 1])]),
            (
                vec![3, 4],
                vec![
                    block(0, &[0, 0], &[1, 1], 11, &[4, 1]),
                    block(0, &[0, 1], &[1, 3], 8, &[4, 1]),
                    block(0, &[1, 0], &[2, 1], 3, &[4, 1]),
                    block(0, &[1, 1], &[2, 3], 0, &[4, 1]),
                ],
            ),
            // Broadcast, reversed, far apart, of two operands, with gaps between.
            (vec![2, 3, 4], vec![block(1, &[0, 1, 0], &[2, 1, 4], 3, &[0, 5, -1])]),
            (vec![2, 9], vec![block(0, &[0, 1], &[2, 3], 1, &[7, 2]), block(1, &[1, 5], &[1, 3], 4, &[0, 0])]),
            (vec![7], vec![block(0, &[3], &[2], 1, &[3]), block(1, &[0], &[2], 6, &[-2])]),
            // A number everywhere, and a single element.
            (vec![3, 2], vec![]),
            (vec![], vec![block(0, &[], &[], 5, &[])]),
            (vec![1, 1, 2], vec![block(0, &[0, 0, 0], &[1, 1, 1], 5, &[9, -3, 4])]),
        ];
        let inputs: Vec<Vec<f64>> = (1..3).map(|k| (0..40).map(|x| f64::from(x * k) + 0.5).collect()).collect();
        let pointers: Vec<*mut u8> = inputs.iter().map(|x| x.as_ptr().cast_mut().cast()).collect();
        let mut where_they_lie = 0;
        for (shape, blocks) in cases {
            let fill = Some((-7.0f64).to_bits());
            let made =
                Blocks::new(Kind::F64, Granularity::Full, &shape, fill, blocks.clone()).expect("it is well made");
            let wanted = wanted(&shape, -7.0, &blocks, &inputs);
            assert_eq!(made.count(), wanted.len());
            assert_eq!(made.fill().is_some(), wanted.contains(&-7.0), "{shape:?}");
            for start in 0..wanted.len() {
                for count in 0..=wanted.len() - start {
                    let mut got = vec![f64::NAN; count];
                    // SAFETY: the inputs are longer than every end, and `got` has `count` elements.
                    unsafe { made.gather(&pointers, got.as_mut_ptr().cast(), start, count) };
                    assert_eq!(got, wanted[start..start + count], "{shape:?} {blocks:?} {start} {count}");
                    if let Some((operand, position)) = made.lies(start, count).filter(|_| count > 0) {
                        let lies = &inputs[usize::from(operand)][position..position + count];
                        assert_eq!(lies, &wanted[start..start + count], "{shape:?} {blocks:?} {start} {count}");
                        where_they_lie += count;
                    }
                }
            }
            // Where the operands begin later.
            let mut later = made.clone();
            let starts: Vec<usize> = (0..2)
                .map(|input| made.lowest().filter(|&(k, _)| k == input).map(|(_, low)| low).min().unwrap_or(0))
                .collect();
            later.begin_at(&starts);
            let moved: Vec<*mut u8> =
                inputs.iter().zip(&starts).map(|(x, &s)| x[s..].as_ptr().cast_mut().cast()).collect();
            let mut got = vec![f64::NAN; wanted.len()];
            // SAFETY: as above.
            unsafe { later.gather(&moved, got.as_mut_ptr().cast(), 0, wanted.len()) };
            assert_eq!(got, wanted);
        }
        assert!(where_they_lie > 100, "{where_they_lie} elements lie one after the other");
    }

    #[test]
    fn axes_that_every_block_continues_are_one() {
        let rows =
            [block(0, &[0, 0, 0], &[1, 6, 2], 36, &[12, 2, 1]), block(0, &[1, 0, 0], &[3, 6, 2], 0, &[12, 2, 1])];
        let made = Blocks::new(Kind::F32, Granularity::Full, &[4, 6, 2], None, rows.to_vec()).unwrap();
        assert_eq!(made.shape(), [48]);
        let padded = Blocks::new(Kind::F32, Granularity::Row, &[4, 6, 2], Some(0), vec![rows[1].clone()]).unwrap();
        assert_eq!((padded.shape(), padded.blocks()[0].low[0], padded.blocks()[0].lengths[0]), (&[48][..], 12, 36));
        let columns = vec![block(0, &[0, 1, 0], &[4, 5, 2], 0, &[12, 2, 1])];
        assert_eq!(Blocks::new(Kind::F32, Granularity::Full, &[4, 6, 2], Some(0), columns).unwrap().shape(), [4, 12]);
    }

    #[test]
    fn what_is_not_well_made_is_refused() {
        let new =
            |shape: &[usize], fill, blocks| Blocks::new(Kind::U8, Granularity::Full, shape, fill, blocks).is_some();
        let own = block(0, &[1], &[2], 0, &[1]);
        assert!(new(&[4], Some(1), vec![own.clone()]));
        assert!(!new(&[4], None, vec![own.clone()]), "elements that nobody writes");
        assert!(!new(&[2], Some(1), vec![own.clone()]), "outside");
        assert!(!new(&[4, 1], Some(1), vec![own.clone()]), "other axes");
        assert!(!new(&[0], Some(1), vec![]), "no elements");
        assert!(!new(&[4], Some(1), vec![block(0, &[1], &[0], 0, &[1])]), "an empty block");
        assert!(!new(&[4], Some(1), vec![own.clone(), block(1, &[2], &[2], 0, &[1])]), "in common");
        assert!(!new(&[4], Some(1), vec![block(0, &[1], &[2], 0, &[-1])]), "before the memory");
        assert!(!new(&[4], Some(1), vec![block(0, &[1], &[2], usize::MAX - 1, &[1])]), "too far");
        assert!(!new(&[4], Some(1), vec![block(0, &[usize::MAX], &[2], 0, &[1])]), "an index that overflows");
        assert!(!new(&[usize::MAX, 2], Some(1), vec![]), "too many elements");
        let single = |k: usize| block(0, &[k], &[1], 0, &[1]);
        assert!(!new(&[9], Some(1), (0..9).map(single).collect()), "too many blocks");
        let corner = block(0, &[0; 9], &[1; 9], 0, &[1; 9]);
        assert!(!new(&[2; 9], Some(1), vec![corner]), "too many axes");
    }
}
