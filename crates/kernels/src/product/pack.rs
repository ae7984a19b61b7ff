//! Packing: lines of an operand, rows of the left one or columns of the right one, into panels as wide as a kernel takes.
//!
//! In a panel the numbers of all lines at one place of the sum are beside each other, and then those at the next place. Lines
//! that the last panel lacks are zeros.

use super::number::Number;
use crate::arena::{LINE, Line};
use crate::dispatch::{Work, dispatch_only};
use crate::transpose::panel;

/// How many places of the sum are copied for all panels before the next ones: rows that lie a page apart fall into the same
/// set of the first cache, which holds at least eight.
const ROWS: usize = 8;

/// Lines of an operand, and where their panels go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pack<T> {
    /// The first number of the first line.
    pub(super) start: *const T,
    /// How far it is to the next line, and along the sum.
    pub(super) strides: [isize; 2],
    pub(super) lines: usize,
    pub(super) depth: usize,
    pub(super) out: *mut T,
}

impl<T: Number> Pack<T> {
    /// Writes the panels, of `WIDTH` lines, with the instructions of `LEVEL`.
    ///
    /// The maker has seen that all numbers of the lines can be read, and that whole panels can be written at `out`.
    pub(super) fn run<const WIDTH: usize, const LEVEL: u8>(self) {
        dispatch_only::<LEVEL, _>(Panels::<T, WIDTH, LEVEL>(self));
    }
}

struct Panels<T, const WIDTH: usize, const LEVEL: u8>(Pack<T>);

impl<T: Number, const WIDTH: usize, const LEVEL: u8> Work for Panels<T, WIDTH, LEVEL> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Pack { lines, depth, strides, .. } = self.0;
        match strides {
            [1, _] => {
                for first in (0..depth).step_by(ROWS) {
                    for line in (0..lines).step_by(WIDTH) {
                        self.copy(line, first..depth.min(first + ROWS));
                    }
                }
            }
            // Not `for_each`: what closures do there is not compiled with the instructions of the level.
            _ => {
                for line in (0..lines).step_by(WIDTH) {
                    self.transpose(line);
                }
            }
        }
    }
}

impl<T: Number, const WIDTH: usize, const LEVEL: u8> Panels<T, WIDTH, LEVEL> {
    /// Where a number of a line is read, and written.
    #[inline(always)]
    fn places(&self, line: usize, q: usize) -> (*const T, *mut T) {
        let Pack { start, strides: [to_line, along], depth, out, .. } = self.0;
        let from = (line as isize).wrapping_mul(to_line).wrapping_add((q as isize).wrapping_mul(along));
        let to = line / WIDTH * WIDTH * depth + q * WIDTH + line % WIDTH;
        (start.wrapping_offset(from), out.wrapping_add(to))
    }

    /// Writes some places of the panel whose first line is `line`, where lines are beside each other.
    #[inline(always)]
    fn copy(&self, line: usize, places: std::ops::Range<usize>) {
        let count = WIDTH.min(self.0.lines - line);
        for q in places {
            let (from, to) = self.places(line, q);
            // SAFETY: the maker says that these lines can be read and whole panels written, at `q` below the depth. Test
            // `panels_are_lines_side_by_side`.
            unsafe {
                if count == WIDTH {
                    // An array as a whole goes by way of the stack.
                    match WIDTH * size_of::<T>() {
                        bytes if bytes.is_multiple_of(LINE) => copy_by::<Line>(from.cast(), to.cast(), bytes),
                        bytes if bytes.is_multiple_of(16) => copy_by::<u128>(from.cast(), to.cast(), bytes),
                        bytes => copy_by::<u64>(from.cast(), to.cast(), bytes),
                    }
                } else {
                    std::ptr::copy_nonoverlapping(from, to, count);
                    for l in count..WIDTH {
                        to.add(l).write(T::default());
                    }
                }
            }
        }
    }

    /// Writes the panel whose first line is `line`, wherever its numbers lie.
    #[inline(always)]
    fn transpose(&self, line: usize) {
        let Pack { lines, depth, strides: [to_line, along], .. } = self.0;
        let count = WIDTH.min(lines - line);
        let (from, to) = self.places(line, 0);
        if along == 1 {
            // SAFETY: as above; the level is the one that this function is compiled for. Test as above.
            unsafe { panel::<T, LEVEL>([depth, count], from, to_line, to, WIDTH) };
        } else {
            for q in 0..depth {
                for l in 0..count {
                    let (from, to) = self.places(line + l, q);
                    // SAFETY: as above.
                    unsafe { to.write(from.read()) };
                }
            }
        }
        for q in 0..depth {
            for l in count..WIDTH {
                // SAFETY: as above.
                unsafe { to.add(q * WIDTH + l).write(T::default()) };
            }
        }
    }
}

/// Copies `bytes` bytes, a multiple of the size of `P`, as values of this type.
///
/// # Safety
/// They can be read and written, and are not the same.
#[inline(always)]
unsafe fn copy_by<P: Copy>(from: *const P, to: *mut P, bytes: usize) {
    for k in 0..bytes / size_of::<P>() {
        // SAFETY: the caller's promise; alignment is not asked for. Test `panels_are_lines_side_by_side`.
        unsafe { to.add(k).write_unaligned(from.add(k).read_unaligned()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Level;

    fn check<const WIDTH: usize, const LEVEL: u8>(lines: usize, depth: usize) {
        if LEVEL > crate::machine_level() as u8 {
            return;
        }
        let (l, d) = (lines as isize, depth as isize);
        for [to_line, along] in
            [[1, l], [1, l + 3], [d, 1], [d + 3, 1], [2, 2 * l + 1], [0, 1], [1, 0], [-d, 1], [1, -l]]
        {
            let ends = [(l - 1) * to_line, (d - 1) * along];
            let first = -ends.iter().map(|end| end.min(&0)).sum::<isize>();
            let count = first + ends.iter().map(|end| end.max(&0)).sum::<isize>() + 1;
            let x: Vec<f64> = (0..count).map(|k| (k + 1) as f64).collect();
            let whole = lines.next_multiple_of(WIDTH) * depth;
            let mut out = vec![-1.0; whole + 1];
            let start = x[first.cast_unsigned()..].as_ptr();
            Pack { start, strides: [to_line, along], lines, depth, out: out.as_mut_ptr() }.run::<WIDTH, LEVEL>();
            for (at, &found) in out[..whole].iter().enumerate() {
                let (panel, q, l) = (at / (WIDTH * depth), at / WIDTH % depth, at % WIDTH);
                let line = panel * WIDTH + l;
                let from = first + line as isize * to_line + q as isize * along;
                let wanted = if line < lines { x[from.cast_unsigned()] } else { 0.0 };
                assert_eq!(found, wanted, "{lines} lines by {to_line}, {depth} by {along}: {line} {q}");
            }
            assert_eq!(out[whole], -1.0, "nothing is written behind the panels");
        }
    }

    #[test]
    fn panels_are_lines_side_by_side() {
        for lines in [1, 4, 5, 6, 13, 32, 70] {
            for depth in [1, 3, 8, 17, 64] {
                check::<4, { Level::Baseline as u8 }>(lines, depth);
                check::<12, { Level::Avx2 as u8 }>(lines, depth);
                check::<6, { Level::Avx512 as u8 }>(lines, depth);
                check::<32, { Level::Avx512 as u8 }>(lines, depth);
            }
        }
    }
}
