//! One block of memory for everything that a plan computes.
//!
//! A planner decides where each array lies before anything runs; an [`Arena`] is the memory it
//! plans for. It consists of cache lines ([`Line`]), so that every array starts on one and two arrays
//! never share one; [`typed`] and [`typed_mut`] view lines as numbers, and a [`Carver`] hands out
//! disjoint pieces.
//!
//! From two mebibytes on the block is aligned to a huge page and the system (Linux) is asked for
//! such pages: touching 64 MB for the first time costs 24 ms on small pages and 5.7 ms on huge
//! ones, and later accesses need one five-hundredth as many address translations.
//!
//! ```
//! use wengert_kernels::arena::{Arena, Carver, typed, typed_mut};
//!
//! let mut arena = Arena::new(1000)?;
//! let mut carver = Carver::new(arena.as_lines_mut());
//! let (x, y) = (carver.take(0..2), carver.take(5..6));
//! typed_mut::<f64>(x, 16).fill(1.5);
//! typed_mut::<i64>(y, 8)[7] = typed::<f64>(x, 16).iter().sum::<f64>() as i64;
//! assert_eq!(typed::<i64>(y, 8), [0, 0, 0, 0, 0, 0, 0, 24]);
//! # Ok::<(), wengert_kernels::arena::TooLarge>(())
//! ```

use std::alloc::{Layout, alloc, dealloc};
use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::LazyLock;

/// Bytes of a [`Line`], which is one of the cache.
pub(crate) const LINE: usize = size_of::<Line>();
/// Bytes of a huge page on x86-64, and on AArch64 with small pages of 4 KiB.
const HUGE: usize = 2 << 20;
/// From here on blocks are asked of the system itself, whose pages are zero and untouched: the largest threshold of glibc's
/// allocator. Below it may be memory that was used before, and zeros are written.
const MAPPED: usize = 32 << 20;

/// A cache line: 64 bytes, aligned to 64, which is also the widest vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u8; 64]);

/// There was not enough memory; no arena was made.
///
/// ```
/// use wengert_kernels::arena::{Arena, TooLarge};
/// let error = Arena::new(usize::MAX).unwrap_err();
/// assert_eq!(error, TooLarge { bytes: usize::MAX });
/// assert!(error.to_string().contains("bytes of memory"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    /// The bytes that were requested.
    pub bytes: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system does not give {} bytes of memory in one block", self.bytes)
    }
}

impl Error for TooLarge {}

/// A block of memory, allocated once; see the [module](self).
#[derive(Debug)]
pub struct Arena {
    /// Points to `count` lines, or dangles if that is 0.
    start: NonNull<Line>,
    count: usize,
}

// SAFETY: an arena owns its lines as a `Box<[Line]>` does; nothing else points to them, and `Line`
// is `Send` and `Sync`. Test `an_arena_moves_between_threads`.
unsafe impl Send for Arena {}
// SAFETY: as above; through `&Arena` the lines can only be read.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena of at least `bytes` bytes, rounded up to lines, all zero.
    ///
    /// The memory comes from the program's global allocator, and its pages are touched here: a later
    /// run is not charged for them.
    ///
    /// # Errors
    ///
    /// [`TooLarge`] if the allocator refuses. (A system that promises more than it has gives no
    /// error here or anywhere.)
    ///
    /// ```
    /// use wengert_kernels::arena::Arena;
    /// assert_eq!(Arena::new(65)?.len(), 128);
    /// assert!(Arena::new(0)?.is_empty());
    /// # Ok::<(), wengert_kernels::arena::TooLarge>(())
    /// ```
    pub fn new(bytes: usize) -> Result<Arena, TooLarge> {
        let count = bytes.div_ceil(LINE);
        if count == 0 {
            return Ok(Arena { start: NonNull::dangling(), count });
        }
        let layout = Arena::layout(count).ok_or(TooLarge { bytes })?;
        check_room_for(bytes)?;
        // SAFETY: the layout's size is not 0, since `count` is not. Test `arenas_are_zero_and_aligned`.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or(TooLarge { bytes })?;
        advise(start.as_ptr(), layout.size());
        // The advice comes before the first touch, which is why `alloc_zeroed` would not do.
        // SAFETY: the block has `layout.size()` bytes, and nobody else knows it yet. Test as above.
        unsafe { start.write_bytes(0, layout.size()) };
        Ok(Arena { start: start.cast(), count })
    }

    /// The layout of `count` lines; `None` if it is larger than memory can be.
    fn layout(count: usize) -> Option<Layout> {
        let bytes = count.checked_mul(LINE)?;
        Layout::from_size_align(bytes, if bytes >= HUGE { HUGE } else { LINE }).ok()
    }

    /// Bytes of the block, a multiple of 64.
    pub fn len(&self) -> usize {
        self.count * LINE
    }

    /// Whether there is no memory in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// All lines, to be read.
    pub fn as_lines(&self) -> &[Line] {
        // SAFETY: `start` points to `count` lines that were set in `new` (or dangles, aligned, if
        // that is 0) and that live as long as `self`; the borrow of `self` keeps writers away.
        // Test `arenas_are_zero_and_aligned`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }

    /// All lines; a [`Carver`] divides them.
    pub fn as_lines_mut(&mut self) -> &mut [Line] {
        // SAFETY: as in `as_lines`, and the exclusive borrow of `self` keeps readers away too.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        if let Some(layout) = Arena::layout(self.count).filter(|_| self.count > 0) {
            // SAFETY: `new` allocated the block with this layout, which `count` alone decides, and
            // it is freed once. Test `arenas_are_zero_and_aligned`.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

/// Numbers for which every bit pattern is a value: what an arena may hold.
///
/// Arrays of `bool` are held as `u8`, 0 or 1, because not every byte is a `bool`.
pub trait Plain: Copy + Send + Sync + 'static + sealed::Sealed {}

mod sealed {
    /// Implemented for types without padding and without invalid bit patterns, aligned to at most
    /// a line. The casts of this module rest on that.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i64 {}
    impl Sealed for u32 {}
    impl Sealed for u8 {}
    impl Sealed for usize {}
}

impl Plain for f32 {}
impl Plain for f64 {}
impl Plain for i64 {}
impl Plain for u32 {}
impl Plain for u8 {}
impl Plain for usize {}

/// Checks that the machine has this many bytes at all, free or not.
///
/// A system that promises more memory than it has kills the process when the pages are touched; a size that can never be
/// there is refused here instead. Systems other than Linux are not asked.
///
/// # Errors
///
/// [`TooLarge`] if memory and swap space together are smaller.
///
/// ```
/// use wengert_kernels::arena::{TooLarge, check_room_for};
/// assert!(check_room_for(1 << 20).is_ok());
/// assert_eq!(check_room_for(1 << 60), Err(TooLarge { bytes: 1 << 60 }));
/// ```
pub fn check_room_for(bytes: usize) -> Result<(), TooLarge> {
    static ALL: LazyLock<usize> = LazyLock::new(all_memory);
    if bytes <= (*ALL).min(isize::MAX as usize) { Ok(()) } else { Err(TooLarge { bytes }) }
}

/// The bytes of memory and swap space.
#[cfg(all(target_os = "linux", not(miri)))]
fn all_memory() -> usize {
    // SAFETY: `sysinfo` is a struct of integers, for which zeros are a value, and the call writes nothing but it. Test
    // `the_machine_has_some_memory`.
    let (asked, info) = unsafe {
        let mut info: libc::sysinfo = std::mem::zeroed();
        (libc::sysinfo(&raw mut info), info)
    };
    // The fields have the width of the machine's words.
    let all = u128::from(info.mem_unit) * (u128::from(info.totalram) + u128::from(info.totalswap));
    if asked == 0 { usize::try_from(all).unwrap_or(usize::MAX) } else { usize::MAX }
}

/// Unknown: the allocator's answer has to do.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn all_memory() -> usize {
    usize::MAX
}

/// The lines that `count` numbers of type `T` need; they may be more than there is memory.
///
/// ```
/// use wengert_kernels::arena::lines_for;
/// assert_eq!((lines_for::<f32>(16), lines_for::<f32>(17), lines_for::<u8>(0)), (1, 2, 0));
/// ```
pub const fn lines_for<T: Plain>(count: usize) -> usize {
    count.div_ceil(LINE / size_of::<T>())
}

/// The first `count` numbers that lie in `lines`.
///
/// # Panics
///
/// If `lines` is too short.
pub fn typed<T: Plain>(lines: &[Line], count: usize) -> &[T] {
    check_room::<T>(lines.len(), count);
    // SAFETY: `count` values of `T` fit into the lines, which are aligned for them; `Plain` is
    // sealed, so any bytes are values of `T`; the borrow is that of `lines`. Test `casts_keep_the_bytes`.
    unsafe { std::slice::from_raw_parts(lines.as_ptr().cast(), count) }
}

/// As [`typed`], for writing.
///
/// # Panics
///
/// If `lines` is too short.
pub fn typed_mut<T: Plain>(lines: &mut [Line], count: usize) -> &mut [T] {
    check_room::<T>(lines.len(), count);
    // SAFETY: as in `typed`; the borrow is exclusive, and whatever `T` is written is valid bytes,
    // since the types of `Plain` have no padding.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) }
}

/// Panics unless `count` values of `T` fit into `lines` lines.
#[track_caller]
fn check_room<T: Plain>(lines: usize, count: usize) {
    let needed = lines_for::<T>(count);
    assert!(needed <= lines, "{count} numbers of {} bytes need {needed} lines, and there are {lines}", size_of::<T>());
}

/// The bytes of truth values: 0 and 1.
///
/// ```
/// assert_eq!(wengert_kernels::arena::bools_as_bytes(&[true, false]), [1, 0]);
/// ```
pub fn bools_as_bytes(values: &[bool]) -> &[u8] {
    // SAFETY: a `bool` is one byte, 0 or 1, so every one is a `u8`; the borrow is that of `values`,
    // and through it nothing can be written. Test: the example above.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
}

/// Asks for huge pages under the inner part of `values` that consists of whole ones.
///
/// Worth it for a result of some mebibytes before it is first written. It is advice: where it
/// cannot be followed, nothing happens, and the values are the same in any case.
///
/// ```
/// let mut values = vec![1.0_f32; 2_000_000];
/// wengert_kernels::arena::advise_huge(&mut values);
/// assert!(values.iter().all(|x| *x == 1.0));
/// ```
pub fn advise_huge<T: Plain>(values: &mut [T]) {
    advise_inside(values.as_mut_ptr().cast(), size_of_val(values));
}

/// `count` zeros, on huge pages where they fill some; `None` if there is no memory for them.
///
/// ```
/// use wengert_kernels::arena::zeros;
/// assert_eq!(zeros::<f32>(3), Some(vec![0.0; 3]));
/// assert_eq!(zeros::<f64>(usize::MAX), None);
/// ```
pub fn zeros<T: Plain + Default>(count: usize) -> Option<Vec<T>> {
    let bytes = count.checked_mul(size_of::<T>())?;
    if bytes < HUGE {
        return Some(vec![T::default(); count]);
    }
    // Reserved first: what does not fit is an answer instead of the end of the process.
    check_room_for(bytes).ok()?;
    let mut zeros: Vec<T> = Vec::new();
    zeros.try_reserve_exact(count).ok()?;
    if bytes < MAPPED {
        // The advice comes before the first touch.
        advise_inside(zeros.as_mut_ptr().cast(), bytes);
        zeros.resize(count, T::default());
    } else {
        drop(zeros);
        zeros = vec![T::default(); count];
        advise_huge(&mut zeros);
    }
    Some(zeros)
}

/// Asks for huge pages under the whole ones among these bytes, which the caller owns.
fn advise_inside(start: *mut u8, bytes: usize) {
    let skipped = start.align_offset(HUGE);
    if let Some(inner) = bytes.checked_sub(skipped) {
        advise(start.wrapping_add(skipped), inner / HUGE * HUGE);
    }
}

/// Asks for huge pages from `start` on, which is aligned to one if `bytes` is not less.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise(start: *mut u8, bytes: usize) {
    if bytes >= HUGE {
        // SAFETY: the callers own `bytes` bytes from `start` on. This advice changes no byte, and a
        // failure (a kernel without huge pages) leaves everything as it was, so the result can be
        // ignored. Tests `arenas_are_zero_and_aligned` and `advice_changes_nothing`.
        unsafe { libc::madvise(start.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
}

/// Other systems choose their pages themselves.
#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise(_start: *mut u8, _bytes: usize) {}

/// Hands out disjoint pieces of a block in increasing order, without allocating.
///
/// ```
/// use wengert_kernels::arena::{Carver, Line};
/// let mut lines = [Line([0; 64]); 10];
/// let mut carver = Carver::new(&mut lines);
/// let (a, b) = (carver.take(1..3), carver.take(3..10));
/// assert_eq!((a.len(), b.len()), (2, 7));
/// ```
#[derive(Debug)]
pub struct Carver<'a> {
    rest: &'a mut [Line],
    /// Where `rest` begins in the block.
    position: usize,
}

impl<'a> Carver<'a> {
    /// Starts at the beginning of `lines`.
    #[inline]
    pub fn new(lines: &'a mut [Line]) -> Carver<'a> {
        Carver { rest: lines, position: 0 }
    }

    /// The lines in `range`, counted from the beginning of the block; what lies before them is passed over.
    ///
    /// # Panics
    ///
    /// If the range begins before the end of the one before, ends before it begins, or ends
    /// behind the block.
    ///
    /// ```should_panic
    /// use wengert_kernels::arena::{Carver, Line};
    /// let mut lines = [Line([0; 64]); 4];
    /// let mut carver = Carver::new(&mut lines);
    /// carver.take(0..2);
    /// carver.take(1..3); // The line 1 is already taken.
    /// ```
    #[inline]
    #[track_caller]
    pub fn take(&mut self, range: Range<usize>) -> &'a mut [Line] {
        let (position, end) = (self.position, self.position + self.rest.len());
        assert!(
            position <= range.start && range.start <= range.end && range.end <= end,
            "the lines {range:?} are not in {position}..{end}, which are left of the block"
        );
        let (_, rest) = std::mem::take(&mut self.rest).split_at_mut(range.start - position);
        let (taken, rest) = rest.split_at_mut(range.len());
        (self.rest, self.position) = (rest, range.end);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arenas_are_zero_and_aligned() {
        for bytes in [1, 63, 64, 65, 4096, HUGE - 1, HUGE, HUGE + 1, 3 * HUGE + 77] {
            let mut arena = Arena::new(bytes).unwrap();
            assert_eq!(arena.len(), bytes.next_multiple_of(64));
            let align = if arena.len() >= HUGE { HUGE } else { 64 };
            assert_eq!(arena.as_lines().as_ptr().addr() % align, 0, "{bytes}");
            assert!(arena.as_lines().iter().all(|line| *line == Line([0; 64])), "{bytes}");
            arena.as_lines_mut().fill(Line([255; 64]));
            assert!(typed::<u8>(arena.as_lines(), bytes).iter().all(|byte| *byte == 255));
        }
        let mut empty = Arena::new(0).unwrap();
        assert!(empty.is_empty() && empty.as_lines().is_empty() && empty.as_lines_mut().is_empty());
    }

    #[test]
    fn what_cannot_be_had_is_an_error() {
        for bytes in [usize::MAX, isize::MAX as usize, isize::MAX as usize - 4096, 1 << 60, 1 << 48] {
            assert_eq!(Arena::new(bytes).unwrap_err(), TooLarge { bytes });
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn the_machine_has_some_memory() {
        let all = all_memory();
        assert!((1 << 26..1 << 50).contains(&all), "{all}");
        assert!(check_room_for(all).is_ok());
        assert_eq!(check_room_for(all + 1), Err(TooLarge { bytes: all + 1 }));
        assert_eq!(Arena::new(all + 64).unwrap_err(), TooLarge { bytes: all + 64 });
    }

    #[test]
    fn an_arena_moves_between_threads() {
        let mut arena = Arena::new(256).unwrap();
        typed_mut::<i64>(arena.as_lines_mut(), 32)[31] = -7;
        let arena = std::thread::spawn(move || arena).join().unwrap();
        let arena = &arena;
        let read = || typed::<i64>(arena.as_lines(), 32)[31];
        assert_eq!(std::thread::scope(|scope| scope.spawn(read).join().unwrap()), -7);
    }

    /// Writes numbers, reads them back as bytes and as numbers.
    fn check_cast<T: Plain + PartialEq + std::fmt::Debug>(values: [T; 3], bytes: &[u8]) {
        let mut lines = [Line([0xAA; 64]); 2];
        typed_mut::<T>(&mut lines, 3).copy_from_slice(&values);
        assert_eq!(&lines[0].0[..bytes.len()], bytes);
        assert_eq!(lines[0].0[bytes.len()], 0xAA);
        assert_eq!(typed::<T>(&lines, 3), values);
        assert!(typed::<T>(&lines, 0).is_empty() && typed_mut::<T>(&mut [], 0).is_empty());
        let most = 128 / size_of::<T>();
        assert_eq!(typed::<T>(&lines, most).len(), most);
        let beyond = std::panic::catch_unwind(|| typed::<T>(&lines, most + 1).len());
        assert!(beyond.is_err());
        assert!(std::panic::catch_unwind(|| typed::<T>(&lines, usize::MAX).len()).is_err());
    }

    #[test]
    fn casts_keep_the_bytes() {
        check_cast([1.0_f32, -2.0, 0.5], &[1.0_f32, -2.0, 0.5].map(f32::to_ne_bytes).concat());
        check_cast([1.0_f64, -2.0, 0.5], &[1.0_f64, -2.0, 0.5].map(f64::to_ne_bytes).concat());
        check_cast([1_i64, -2, i64::MAX], &[1_i64, -2, i64::MAX].map(i64::to_ne_bytes).concat());
        check_cast([1_u8, 0, 255], &[1, 0, 255]);
    }

    #[test]
    fn advice_changes_nothing() {
        for count in [0, 1, HUGE / 4, HUGE / 2, HUGE + 13] {
            let mut values: Vec<f64> = (0..count).map(|i| i as f64).collect();
            advise_huge(&mut values[count.min(1)..]);
            assert!(values.iter().enumerate().all(|(i, x)| *x == i as f64));
        }
    }

    #[test]
    fn a_carver_gives_disjoint_pieces() {
        let mut arena = Arena::new(100 * 64).unwrap();
        let mut carver = Carver::new(arena.as_lines_mut());
        let ranges = [0..1, 1..1, 1..4, 10..10, 10..50, 99..100, 100..100];
        let mut pieces = ranges.clone().map(|range| carver.take(range));
        for (piece, mark) in pieces.iter_mut().zip(1..) {
            piece.fill(Line([mark; 64]));
        }
        let lines = arena.as_lines();
        for (i, line) in lines.iter().enumerate() {
            let mark = ranges.iter().position(|range| range.contains(&i)).map_or(0, |at| at as u8 + 1);
            assert_eq!(*line, Line([mark; 64]), "line {i}");
        }
    }

    #[test]
    fn a_carver_refuses_what_is_not_there() {
        for [first, second] in [[2..5, 4..6], [2..5, 0..1], [0..1, 9..11], [0..0, 11..11], [0..11, 11..12]] {
            let mut lines = [Line([0; 64]); 10];
            let taken = std::panic::catch_unwind(move || {
                let mut carver = Carver::new(&mut lines);
                carver.take(first);
                carver.take(second).len()
            });
            assert!(taken.is_err());
        }
        let mut lines = [Line([0; 64]); 10];
        #[expect(clippy::reversed_empty_ranges, reason = "it is to be refused")]
        let reversed = std::panic::catch_unwind(move || Carver::new(&mut lines).take(5..4).len());
        assert!(reversed.is_err());
    }
}
