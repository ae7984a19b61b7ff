//! The library `gemm`, on one thread, bounded by the level.
//!
//! The library's own entry chooses the best instructions of the machine. To honour
//! [`level`](crate::level), we choose: the function below it takes the vectors as an
//! argument. At the baseline of x86-64 it has only scalar code, and is not used.
//!
//! Its kernels for small results of long rows and columns add up in another order, and are left out.
//!
//! # What it allocates
//!
//! Read in `gemm-common` 0.19, `gemm.rs`, and counted in `tests/all/product_memory.rs`: each call
//! allocates one block for the packed operands (all of the left one; of the right one, unless two panels hold all rows, as many
//! columns as the third cache is to hold) and a flag for every row panel. A left operand that lies in order, in whole vectors,
//! or that has more rows than two blocks of the second cache, is packed into a slab of its thread instead, which is as large as
//! that cache, is made even where nothing has to be packed, and stays.

use super::Workspace;
use super::number::{Packed, TileTask};
use crate::Level;
use gemm_common::cache::{CACHE_INFO, CacheInfo, kernel_params};
use gemm_common::gemm::CACHELINE_ALIGN;
use std::sync::OnceLock;

/// Whether the library has vectors at this level, and the machine caches that it can divide.
pub(super) fn exists(level: Level) -> bool {
    static SUFFICE: [OnceLock<bool>; Level::ALL.len()] = [const { OnceLock::new() }; Level::ALL.len()];
    let suffice = || {
        let blocks = [(f32::block(level), size_of::<f32>()), (f64::block(level), size_of::<f64>())];
        blocks.iter().all(|&(block, size)| suffice(&CACHE_INFO, block, size))
    };
    (level > Level::Baseline || !cfg!(target_arch = "x86_64")) && *SUFFICE[level as usize].get_or_init(suffice)
}

/// Whether the library can cut blocks for these caches, with elements of `size` bytes.
///
/// It takes as many rows as the second cache has room for beside a few columns, rounded down to blocks of registers, and
/// likewise as many columns as the third has. Where that is none, it divides by zero or does not end: with a second cache of
/// 128 KiB, as virtual machines may report. So this is what [`kernel_params`] and the start of the library's function
/// compute, for the deepest blocks.
fn suffice([first, second, third]: &[CacheInfo; 3], block: RegisterBlock, size: usize) -> bool {
    let (ways, line) = (first.associativity.max(2), first.cache_line_bytes.max(64));
    let set = line * (first.cache_bytes.max(32 << 10) / (line * ways)).max(1);
    let row = block.rows * size;
    let common = gcd(row, set);
    let used = row / common + block.columns * (set / common) * size / set;
    let depth = (set / common * (ways / used).next_power_of_two()).max(512);
    let ways = second.associativity.max(2);
    let way = second.cache_bytes / ways;
    if way == 0 || (block.columns * depth * size).div_ceil(way) >= ways {
        return false;
    }
    let of_rows = (ways - 1 - (block.columns * depth * size).div_ceil(way)).max(1);
    let rows = of_rows * second.cache_bytes / (ways * size * depth);
    let ways = third.associativity.max(2);
    let columns = (ways - 1) * third.cache_bytes / ways / (size * depth);
    rows.min(second.cache_bytes / size / 512) >= block.rows && (third.cache_bytes == 0 || columns >= block.columns)
}

fn gcd(x: usize, y: usize) -> usize {
    if y == 0 { x } else { gcd(y, x % y) }
}

/// A call of one of the library's functions, with everything in front of it and behind it; `$task`
/// is in order.
///
/// The library wants columns to be contiguous, and the rows are: it is to compute the transposed
/// result from the transposed operands, exchanged. It takes a flag for what `c` holds, the factors
/// of `c` and of the product, and three for conjugation.
macro_rules! call {
    ($task:expr, $float:ty, $function:expr, ($($before:expr)?), ($($after:expr),*)) => {{
        let TileTask { dims: [m, k, n], a, b, c, add, .. } = $task;
        let keep: $float = if add { 1.0 } else { 0.0 };
        // SAFETY: the maker of the task says that all elements of the three matrices that the
        // dimensions and strides reach are there, that those of `a` and `b` may be read, and that
        // nobody else touches those of `c`; if the function wants vectors, the value that proves
        // that the machine has them is its first argument. Test `products_agree_with_the_triple_loop`.
        unsafe {
            $function(
                $($before,)? n, m, k,
                c.start, c.strides[0], c.strides[1], add,
                b.start, b.strides[0], b.strides[1],
                a.start, a.strides[0], a.strides[1],
                keep, 1.0, false, false, false,
                $($after,)* gemm_common::Parallelism::None,
            )
        }
    }};
}

/// Defines, for a type, the call of its library and the blocks of its kernels.
#[cfg(target_arch = "x86_64")]
macro_rules! library {
    ($float:ident, $library:ident) => {
        /// The library for this type.
        pub(super) mod $float {
            use super::{RegisterBlock, TileTask};
            use crate::{Level, machine_level};
            use gemm_common::gemm::gemm_basic_generic;
            use gemm_common::simd::{MixedSimd, V3, V4};
            use $library::microkernel::{avx512f::$float as v4, fma::$float as v3};

            /// Vectors of 64 bytes, and of 32.
            const V4_LANES: usize = 64 / size_of::<$float>();
            const V3_LANES: usize = 32 / size_of::<$float>();

            /// Rows and columns, as the library names them, of its blocks of registers.
            pub(in super::super) fn block(level: Level) -> RegisterBlock {
                match level.min(machine_level()) {
                    Level::Avx512 => RegisterBlock { lanes: V4_LANES, rows: v4::MR_DIV_N * V4_LANES, columns: v4::NR },
                    _ => RegisterBlock { lanes: V3_LANES, rows: v3::MR_DIV_N * V3_LANES, columns: v3::NR },
                }
            }

            /// Runs a task in order. The level is above the baseline.
            pub(in super::super) fn run(task: TileTask<$float>, level: Level) {
                if let (Level::Avx512, Some(simd)) =
                    (level, <V4 as MixedSimd<$float, $float, $float, $float>>::try_new())
                {
                    const ROWS: usize = v4::MR_DIV_N * V4_LANES;
                    let function = gemm_basic_generic::<V4, $float, V4_LANES, ROWS, { v4::NR }, { v4::MR_DIV_N }, 0, 0>;
                    call!(task, $float, function, (simd), (|a, b, c| a * b + c, &v4::UKR, &[], false))
                } else if let Some(simd) = <V3 as MixedSimd<$float, $float, $float, $float>>::try_new() {
                    const ROWS: usize = v3::MR_DIV_N * V3_LANES;
                    let function = gemm_basic_generic::<V3, $float, V3_LANES, ROWS, { v3::NR }, { v3::MR_DIV_N }, 0, 0>;
                    call!(task, $float, function, (simd), (|a, b, c| a * b + c, &v3::UKR, &[], false))
                } else {
                    super::super::blocks::$float(task, level);
                }
            }
        }
    };
}

/// On other processors the library knows one kind of vectors, and chooses it itself.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! library {
    ($float:ident, $library:ident) => {
        /// The library for this type.
        pub(super) mod $float {
            use super::{RegisterBlock, TileTask};
            use crate::Level;

            /// The largest blocks that the library has on such processors, AArch64's.
            pub(in super::super) fn block(_level: Level) -> RegisterBlock {
                let lanes = 16 / size_of::<$float>();
                RegisterBlock { lanes, rows: 4 * lanes, columns: 4 }
            }

            /// Runs a task in order.
            pub(in super::super) fn run(task: TileTask<$float>, level: Level) {
                let [m, _, n] = task.dims;
                if task.a.strides[1] == 1 && task.b.strides[0] == 1 && m * n <= 256 {
                    return super::super::blocks::$float(task, level);
                }
                let function = $library::gemm::$float::get_gemm_fn();
                call!(task, $float, function, (), ());
            }
        }
    };
}

library!(f32, gemm_f32);
library!(f64, gemm_f64);

/// The library's blocks of registers: `rows` is a multiple of the `lanes` of a vector.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegisterBlock {
    lanes: usize,
    rows: usize,
    columns: usize,
}

/// A bound of what a task in order allocates, in bytes, for elements of `size` bytes: as if the right operand were packed where
/// there are rows enough, and the left one where that may be, given how it lies (the library's left one is our right one). Where
/// that is not known, all of it and the slab of the thread.
pub(super) fn bytes(dims: [usize; 3], lies: Option<Packed>, block: RegisterBlock, size: usize) -> Workspace {
    // The names of the library, which computes the transposed result.
    let ([n, k, m], slab) = (dims, CACHE_INFO[1].cache_bytes);
    let (depth, rows, columns) = if m <= 64 && n <= 64 {
        let depth = k.clamp(1, 512);
        (depth, slab / size / depth, n)
    } else {
        let params = kernel_params(m, n, k, block.rows, block.columns, size);
        (params.kc, params.mc, if params.nc == 0 { 128 * block.columns } else { params.nc })
    };
    // Few panels of rows read the right one as it lies. A little for the alignment of the two packed operands.
    let panels = if m > 2 * block.rows { depth * columns.next_multiple_of(block.columns) * size } else { 0 };
    let right = panels + 2 * CACHELINE_ALIGN;
    let left = depth * m.next_multiple_of(block.rows) * size;
    let rows = rows / block.rows * block.rows;
    let is_short = m <= 2 * rows;
    let is_packed = lies.map(|lies| is_short && (lies == Packed::Gathered || !m.is_multiple_of(block.lanes)));
    let packed = if is_packed.unwrap_or(is_short) { left } else { 0 };
    let kept = if is_packed == Some(true) { 0 } else { slab + CACHELINE_ALIGN };
    // A flag for each panel of rows.
    Workspace { call: right + packed + rows / block.lanes, kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caches(sizes: [(usize, usize); 3]) -> [CacheInfo; 3] {
        sizes.map(|(kib, associativity)| CacheInfo { associativity, cache_bytes: kib << 10, cache_line_bytes: 64 })
    }

    /// The blocks of every level: of single precision, then of double.
    const BLOCKS: [(RegisterBlock, usize); 4] = [
        (RegisterBlock { lanes: 16, rows: 64, columns: 6 }, 4),
        (RegisterBlock { lanes: 8, rows: 32, columns: 6 }, 8),
        (RegisterBlock { lanes: 8, rows: 24, columns: 4 }, 4),
        (RegisterBlock { lanes: 4, rows: 12, columns: 4 }, 8),
    ];

    #[test]
    fn the_library_is_asked_where_its_blocks_fit_the_caches() {
        let on = |sizes| BLOCKS.map(|(block, size)| suffice(&caches(sizes), block, size));
        // Of processors of the last fifteen years.
        for sizes in [
            [(32, 8), (256, 8), (8 << 10, 16)],
            [(32, 8), (512, 8), (32 << 10, 16)],
            [(32, 8), (1024, 8), (32 << 10, 16)],
            [(48, 12), (2048, 16), (36 << 10, 12)],
            [(128, 8), (4096, 16), (0, 0)],
        ] {
            assert_eq!(on(sizes), [true; 4], "{sizes:?}");
        }
        // Without room for the rows, or the columns, or anything.
        assert_eq!(on([(32, 8), (128, 8), (2048, 8)]), [false, false, true, true]);
        assert_eq!(on([(32, 8), (16, 8), (2048, 8)]), [false; 4]);
        assert_eq!(on([(32, 8), (0, 8), (2048, 8)]), [false; 4]);
        assert_eq!(on([(32, 8), (512, 8), (2, 8)]), [false; 4]);
        assert_eq!(on([(0, 0), (1, 1), (1, 1)]), [false; 4]);
    }

    /// What `suffice` allows neither panics in the library's choice of blocks nor gives an empty one.
    #[test]
    fn blocks_of_caches_that_suffice_are_not_empty() {
        for (block, size) in BLOCKS {
            if !suffice(&CACHE_INFO, block, size) {
                continue;
            }
            for (m, n, k) in [(65, 65, 1), (1000, 1000, 511), (100, 5000, 513), (5000, 100, 10_000), (65, 65, 100_000)]
            {
                let params = kernel_params(m, n, k, block.rows, block.columns, size);
                assert!(params.kc > 0 && params.mc >= block.rows, "{m} {n} {k}: {params:?}");
            }
        }
    }
}
