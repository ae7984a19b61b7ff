//! The library `gemm`: its kernels that multiply in registers, bounded by the level.
//!
//! The library's own entry chooses the best instructions of the machine, and packs both operands anew for each thread and call.
//! So we take the kernels, whose instructions are in their names, and [pack](super::pack) and [divide](super::packed) ourselves;
//! it has none for the baseline of x86-64 that are faster than [blocks](super::blocks).
//!
//! They compute columns of the transposed result, of which one is a row of ours: where they say left we say right.

use super::DEPTH;
use super::number::{MatrixViewMut, Number};
use super::pack::Pack;
use crate::Level;
use gemm_common::cache::CACHE_INFO;
use gemm_common::microkernel::MicroKernelFn;

/// The kernels of a type at a level, for all results up to a block of registers.
pub struct Kernels<T: 'static> {
    /// Numbers of a vector.
    pub(super) lanes: usize,
    /// Rows of a block, and so of a panel of the left operand.
    pub(super) rows: usize,
    /// Columns of a block, and so of a panel of the right operand: whole vectors.
    pub(super) columns: usize,
    /// The factor of a product.
    one: T,
    /// By vectors in a row, then by rows.
    table: &'static [MicroKernelFn<T>],
    /// Writes panels of the left operand, and of the right one.
    pub(super) pack: [fn(Pack<T>); 2],
}

/// A panel of an operand: where it begins, and how far it is from one line to the next and along the sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel<T> {
    pub(super) start: *const T,
    pub(super) strides: [isize; 2],
}

impl<T: Number> Kernels<T> {
    /// How many columns of the right operand stay in the second cache, packed, while rows of the left one pass: whole panels
    /// that take half of it.
    pub(super) fn stripe(&self) -> usize {
        (CACHE_INFO[1].cache_bytes / 2 / (DEPTH * size_of::<T>() * self.columns)).max(1) * self.columns
    }

    /// The first `rows` and `columns` of `c`, of a block at most, become the product of two panels, or that is added to them.
    ///
    /// # Safety
    /// `left` has `rows` lines and `right` whole vectors of them that hold `columns`, all of `depth` numbers, which can be read;
    /// the elements of `c` are there, and nobody else touches them.
    #[inline]
    pub(super) unsafe fn multiply(
        &self,
        [rows, depth, columns]: [usize; 3],
        left: Panel<T>,
        right: Panel<T>,
        c: MatrixViewMut<T>,
        add: bool,
    ) {
        let kernel = self.table[(columns.div_ceil(self.lanes) - 1) * self.rows + rows - 1];
        let keeps = u8::from(add);
        let [[to_row, along_left], [_, along_right]] = [left.strides, right.strides];
        // SAFETY: the caller's promise; the kernel is one of a level that the machine has, for these numbers of vectors and
        // rows. It takes the factor of `c`, which it reads only for a status of 2, that of the product, what `c` is to hold
        // (1: what it holds and the product), three flags of conjugation, and an address that it does not read. Test
        // `packed_products_agree_with_the_triple_loop`.
        unsafe {
            kernel(
                columns,
                rows,
                depth,
                c.start,
                right.start,
                left.start,
                c.strides[0],
                c.strides[1],
                along_right,
                along_left,
                to_row,
                self.one,
                self.one,
                keeps,
                false,
                false,
                false,
                std::ptr::null(),
            );
        }
    }
}

/// The kernels for a type, by level.
macro_rules! kernels {
    ($name:ident, $float:ident, $library:ident) => {
        pub(super) fn $name(level: Level) -> Option<Kernels<$float>> {
            /// The kernels of one instruction set, whose vectors have `$bytes` bytes.
            macro_rules! of {
                ($set:ident, $bytes:literal, $level:ident) => {{
                    use $library::microkernel::$set::$float::{MR_DIV_N, NR, UKR};
                    static TABLE: [[MicroKernelFn<$float>; NR]; MR_DIV_N] = UKR;
                    const LANES: usize = $bytes / size_of::<$float>();
                    const COLUMNS: usize = MR_DIV_N * LANES;
                    const LEVEL: u8 = Level::$level as u8;
                    Some(Kernels {
                        lanes: LANES,
                        rows: NR,
                        columns: COLUMNS,
                        one: 1.0,
                        table: TABLE.as_flattened(),
                        pack: [Pack::run::<NR, LEVEL>, Pack::run::<COLUMNS, LEVEL>],
                    })
                }};
            }
            #[cfg(target_arch = "x86_64")]
            return match level.min(crate::machine_level()) {
                Level::Avx512 => of!(avx512f, 64, Avx512),
                Level::Avx2 => of!(fma, 32, Avx2),
                // The library has scalar code only.
                Level::Baseline => None,
            };
            #[cfg(target_arch = "aarch64")]
            return {
                let _ = level;
                of!(neon, 16, Baseline)
            };
            #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
            return {
                let _ = level;
                None
            };
        }
    };
}

kernels!(of_f32, f32, gemm_f32);
kernels!(of_f64, f64, gemm_f64);
