//! What kernels cost, and the sizes from which another way of computing pays.
//!
//! Every constant that a kernel or a planner decides by stands here with its unit, and how it was found. Unless another
//! machine is named, that is the reference machine: an AMD EPYC (Zen 5), 2 cores at 3.7 GHz, AVX-512, caches of 32 KiB and
//! 1 MiB a core and 32 MiB shared, one thread, November 2026. `cargo xtask calibrate` measures them again on the machine it
//! runs on and prints both.
//!
//! The sizes here change no bit of a result: sums are divided by the number of their elements alone.

// ---- the time of regions: nanoseconds of one thread ---------------------------------------------------------------
//
// These four were fitted together to the times of whole mapped programs (W9, W11) on 22 November 2026, where operations are
// also functions, and loads and stores find their lines in a cache. "Alone" is what `cargo xtask calibrate` found on the 23rd
// for the loop alone, in four runs beside other programs. No plan of the workloads would change with those figures.

/// Nanoseconds of one operation on one element of `f64`.
///
/// Alone, an addition takes 0.08 to 0.12, on slots in the first-level cache (0.09 to 0.14) as on slots in the second.
pub const OPERATION: f64 = 0.17;
/// Nanoseconds of loading one element from every row of a wider array into a slot. Alone 0.66 to 0.82.
pub const LOAD: f64 = 0.4;
/// Nanoseconds of storing one element of every row of a wider array from a slot. Alone 0.68 to 0.75.
pub const STORE: f64 = 0.6;
/// Nanoseconds of starting one instruction on a chunk, whatever its length. Alone 9 to 14.
pub const START: f64 = 5.0;

// ---- the sizes of regions -----------------------------------------------------------------------------------------

/// Bytes of slots that a chunk may take: a part of a small second-level cache, whose vectors arrive as fast as they are
/// computed with.
///
/// Measured on 22 November 2026: 96 KiB and 4,096 elements instead of 24 KiB and 1,024 took W8 from 94 to 85 ms, because a
/// quarter of the chunks starts a quarter of the instructions.
pub const CHUNK_BYTES: usize = 96 << 10;
/// The same where no instruction takes longer than reading its operands: the first-level cache.
///
/// Measured on 23 November 2026: second differences took 0.74 of their time, in a plane 0.79; where functions are computed
/// up to a third more.
pub const QUICK_BYTES: usize = 32 << 10;
/// The least elements of a chunk of [`QUICK_BYTES`]: with fewer, starting instructions takes longer than is gained.
/// Measured with [`QUICK_BYTES`].
pub const QUICK_ELEMENTS: usize = 512;
/// The least and the largest number of elements of a chunk, if rows allow: below, the cost of starting instructions shows;
/// above, nothing is gained. Measured with [`CHUNK_BYTES`].
pub const CHUNK_ELEMENTS: (usize, usize) = (64, 4096);
/// The least number of elements times instructions of a part of a region: some 5 microseconds, which is what it takes
/// another thread to begin. Chosen on 21 November 2026 from the time to enter a run of the pool (`examples/pool.rs`).
pub const PART_WORK: usize = 1 << 15;
/// The largest number of parts of a region: several for each thread of a large machine. Chosen, not measured.
pub const MAX_PARTS: usize = 64;
/// The largest number of parts where neighbours share leaves of sums, whose elements have to be kept. Chosen, not measured.
pub const SHARING_PARTS: usize = 16;

// ---- straight-line code at many points ----------------------------------------------------------------------------

/// Bytes of the places of a block of points: a part of a small second-level cache. Chosen on 23 November 2026 (Zen 4), not
/// measured against others.
pub const BLOCK_BYTES: usize = 256 << 10;
/// The most bytes that the blocks of all threads may take; with more, one thread takes all blocks. Chosen, not measured.
pub const BLOCKS_BYTES: usize = 512 << 20;
/// The least and the largest number of points of a block: a vector of the widest instructions, and as many as make
/// decoding an instruction cheap.
pub const BLOCK_POINTS: (usize, usize) = (8, 256);
/// The least number of points times instructions of what a thread takes: some 5 microseconds. As [`PART_WORK`].
pub const BLOCK_WORK: usize = 1 << 15;

// ---- products of matrices: multiply-adds, unless said otherwise ---------------------------------------------------

/// The multiply-adds from which a product is worth several threads: about 5 microseconds of one. As [`PART_WORK`].
pub const PRODUCT_PAYS: usize = 1 << 19;
/// The multiply-adds of a group of small products, or of the smallest tile: half of [`PRODUCT_PAYS`].
pub const PRODUCT_GRAIN: usize = 1 << 18;
/// The largest number of tiles of one result. Every tile packs its part of both operands again, so
/// more than [`PRODUCT_FEW`] are made only of sides that are long enough for it not to matter.
pub const PRODUCT_TILES: usize = 64;
/// The tiles that are worth some packing, and those of a thread. Measured on 28 November 2026, Intel Xeon with AVX-512: with 16 tiles of
/// 128 by 128 for one thread, packing was a sixth of the time of a product 512 by 512 by 512.
pub const PRODUCT_FEW: usize = 16;
/// See [`PRODUCT_FEW`].
pub const PRODUCT_EACH: usize = 2;
/// The shortest side of a tile that is cut from a longer one, for few tiles and for many, in rows or columns.
pub const PRODUCT_SIDE: [usize; 2] = [96, 256];
/// The shortest side of the first cut, into two: a second thread is worth more than its packing.
pub const PRODUCT_HALF: usize = 64;
/// The shortest side where nothing is packed. Measured on 22 November 2026: W6 in double precision took a fifth less on two
/// threads than with [`PRODUCT_HALF`].
pub const PRODUCT_BLOCK: usize = 32;
/// The rows from which half of a symmetric result is computed, by the library and in blocks: below, narrow panels take what
/// is saved. Measured on 22 November 2026 with the Hessian of W7.
pub const PRODUCT_HALVED: [usize; 2] = [96, 64];
/// How many panels of rows half of a symmetric result is divided into: `1/2 + 1/(2 PRODUCT_PANELS)` of the work is left.
pub const PRODUCT_PANELS: usize = 8;
/// The largest product in blocks of registers whose right operand is read in place and has at most 256 columns.
///
/// Measured on 21 November 2026: blocks are as fast as the library up to 1000 by 64 by 64, and twice as fast at 8 by 8 by 8,
/// where the library's start counts.
pub const BLOCKS_NARROW: usize = 1 << 22;
/// The same with longer rows, which fall into few sets of the cache.
pub const BLOCKS_WIDE: usize = 1 << 18;
/// The same where the right operand has to be gathered: the library gathers better from 20 by 20 by 20 on.
pub const BLOCKS_GATHERED: usize = 1 << 13;
