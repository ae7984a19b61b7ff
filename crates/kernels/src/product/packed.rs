//! Products of large matrices: what does not lie as the kernels read it is packed, and multiplied block by block in registers.
//!
//! Of the sum, [`DEPTH`] products are taken at a time; of the rows, [`ROWS`]; and of the columns a stripe, which fits into the
//! second cache and meets all these rows (K. Goto, R. A. van de Geijn, *Anatomy of high-performance matrix multiplication*,
//! 2008). How rows and columns are divided is nothing to the bits: each element is summed by itself, in the order of the sum.
//!
//! The right operand is packed, unless few rows read it. The left one is read as it lies where its rows are contiguous: the
//! kernels take its numbers one by one, and a panel of rows stays in the first cache either way. Packing it by all threads for
//! all was slower: what another core has packed takes as long to fetch as to pack.

use super::DEPTH;
use super::library::{Kernels, Panel};
use super::number::{Number, TileTask};
use super::pack::Pack;
use crate::Level;
use crate::arena::{LINE, Line};
use std::cell::RefCell;

/// The most rows of the left operand that are packed at a time: 3 MiB in double precision. A multiple of all blocks' rows.
const ROWS: usize = 768;
/// The most panels of the right operand for which the left one is read as it lies.
const FEW_PANELS: usize = 2;
/// The most rows for which the right operand is read as it lies, if its rows are whole vectors.
const FEW_ROWS: usize = 48;

thread_local! {
    /// What this thread packs into, kept for the next product: new pages take as long as packing.
    static SLAB: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// How a task in order is divided, and what of it is packed.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// Rows, columns and products of a sum that are taken at a time.
    rows: usize,
    columns: usize,
    depth: usize,
    /// Whether each operand is packed.
    packs: [bool; 2],
}

impl Shape {
    /// Of a task with these dimensions; `along` are the distances from column to column of both operands.
    fn new<T: Number>(kernels: &Kernels<T>, [m, k, n]: [usize; 3], along: [isize; 2]) -> Shape {
        let left_in_place = along[0] == 1 || n <= FEW_PANELS * kernels.columns;
        let right_in_place = along[1] == 1 && m <= FEW_ROWS && n.is_multiple_of(kernels.lanes);
        let (rows, columns, depth) = (m.min(ROWS), n.min(kernels.stripe()), k.min(DEPTH));
        Shape { rows, columns, depth, packs: [!left_in_place, !right_in_place] }
    }

    /// Lines of memory for what is packed of the left operand and of the right one.
    fn lines<T: Number>(&self, kernels: &Kernels<T>) -> [usize; 2] {
        let sides = [self.rows.next_multiple_of(kernels.rows), self.columns.next_multiple_of(kernels.columns)];
        [0, 1].map(|of| if self.packs[of] { (sides[of] * self.depth * size_of::<T>()).div_ceil(LINE) } else { 0 })
    }
}

/// Bytes that a task in order packs into, with these distances from column to column of both operands.
pub(super) fn bytes<T: Number>(kernels: &Kernels<T>, dims: [usize; 3], along: [isize; 2]) -> usize {
    Shape::new(kernels, dims, along).lines(kernels).iter().sum::<usize>() * LINE
}

/// Runs a task in order on this thread.
pub(super) fn run<T: Number>(task: TileTask<T>, level: Level) {
    let Some(kernels) = T::kernels(level) else { return T::blocks(task, level) };
    let [m, k, n] = task.dims;
    let shape = Shape::new(&kernels, task.dims, [task.a.strides[1], task.b.strides[1]]);
    let lines = shape.lines(&kernels);
    with_slab(lines.iter().sum(), |slab| {
        let out = [slab.cast(), slab.wrapping_add(lines[0]).cast()];
        for p in (0..k).step_by(DEPTH) {
            for i in (0..m).step_by(ROWS) {
                for j in (0..n).step_by(shape.columns) {
                    let dims = [shape.rows.min(m - i), DEPTH.min(k - p), shape.columns.min(n - j)];
                    let (a, b, c) = (task.a.at(i, p), task.b.at(p, j), task.c.at(i, j));
                    let task = TileTask { dims, a, b, c, add: task.add || p > 0, ..task };
                    let block = Block { task, kernels: &kernels, packs: shape.packs, out };
                    if shape.packs[0] && j == 0 {
                        block.pack(0);
                    }
                    if shape.packs[1] {
                        block.pack(1);
                    }
                    block.multiply();
                }
            }
        }
    });
}

/// Calls `f` with `lines` lines of memory that this thread keeps.
fn with_slab(lines: usize, f: impl FnOnce(*mut Line)) {
    SLAB.with_borrow_mut(|slab| {
        if slab.len() < lines {
            // The old one is freed first.
            *slab = Vec::new();
            *slab = vec![Line([0; LINE]); lines];
        }
        f(slab.as_mut_ptr());
    });
}

/// A part of a task that is packed at once.
struct Block<'a, T: 'static> {
    task: TileTask<T>,
    kernels: &'a Kernels<T>,
    /// Whether each operand is packed, and where.
    packs: [bool; 2],
    out: [*mut T; 2],
}

impl<T: Number> Block<'_, T> {
    /// Packs an operand: 0 is the left one.
    fn pack(&self, of: usize) {
        let TileTask { dims: [rows, depth, columns], a, b, .. } = self.task;
        let (lines, operand) = if of == 0 { (rows, a) } else { (columns, b.transposed()) };
        let (start, strides) = (operand.start, operand.strides);
        self.kernels.pack[of](Pack { start, strides, lines, depth, out: self.out[of] });
    }

    /// Multiplies all rows by all columns.
    fn multiply(&self) {
        let TileTask { dims: [rows, depth, columns], c, add, .. } = self.task;
        for i in (0..rows).step_by(self.kernels.rows) {
            let left = self.panel(0, i);
            for j in (0..columns).step_by(self.kernels.columns) {
                let dims = [self.kernels.rows.min(rows - i), depth, self.kernels.columns.min(columns - j)];
                // SAFETY: the maker of the task says that its elements are there and can be read, and those of `c` be written
                // by it alone. A packed panel is whole, with zeros; of a right operand that is not packed, rows are whole
                // vectors. Tests `packed_products_agree_with_the_triple_loop` and `neither_strides_nor_ways_change_a_bit`.
                unsafe { self.kernels.multiply(dims, left, self.panel(1, j), c.at(i, j), add) };
            }
        }
    }

    /// The panel of an operand whose first line is `line`.
    fn panel(&self, of: usize, line: usize) -> Panel<T> {
        let TileTask { dims: [_, depth, _], a, b, .. } = self.task;
        if self.packs[of] {
            let width = if of == 0 { self.kernels.rows } else { self.kernels.columns };
            return Panel { start: self.out[of].wrapping_add(line * depth), strides: [1, width as isize] };
        }
        let operand = if of == 0 { a } else { b.transposed() };
        Panel { start: operand.at(line, 0).start, strides: operand.strides }
    }
}
