//! Lines of a pair of arrays, interleaved as complex numbers, and back.
//!
//! An array has its real parts in one slice and its imaginary parts in another, and the entries of a line may lie far apart;
//! libraries of transforms want a line in one piece, with both parts side by side. Blocks of four entries of four lines, or of
//! eight in single precision, are exchanged in registers.

use crate::{Float, Level, Work, dispatch_at, level};

/// Entries of a line in a block: a cache line of complex numbers of double precision.
pub(crate) const ENTRIES: usize = 4;

/// Some lines of an array that lie side by side, of which each has `entries` from the start on, `inner` elements apart.
#[derive(Clone, Copy)]
pub(crate) struct Lines<P> {
    /// The first entry of the first line, real and imaginary.
    pub(crate) parts: [P; 2],
    pub(crate) inner: usize,
    pub(crate) entries: usize,
    pub(crate) count: usize,
}

/// Packs lines into complex ones that are `apart` numbers apart, real and imaginary parts times a factor.
///
/// # Safety
/// All entries of the lines can be read, and nobody writes them meanwhile.
pub(crate) unsafe fn interleave<T: Float>(
    lines: Lines<*const T>,
    factors: [T; 2],
    packed: &mut [[T; 2]],
    apart: usize,
) {
    // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
    unsafe { interleave_at(level(), lines, factors, packed, apart) }
}

/// As [`interleave`], at a level that a test chooses.
///
/// # Safety
/// As for [`interleave`].
unsafe fn interleave_at<T: Float>(
    level: Level,
    lines: Lines<*const T>,
    factors: [T; 2],
    packed: &mut [[T; 2]],
    apart: usize,
) {
    check(&lines, packed.len(), apart);
    dispatch_at(level, Interleave { lines, factors, packed, apart, blocks: blocks::<T>(level) });
}

/// Writes complex lines that are `apart` numbers apart as lines of an array, real and imaginary parts times a factor.
///
/// # Safety
/// All entries of the lines can be written, and nobody else reads or writes them meanwhile.
pub(crate) unsafe fn deinterleave<T: Float>(packed: &[[T; 2]], apart: usize, lines: Lines<*mut T>, factors: [T; 2]) {
    // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
    unsafe { deinterleave_at(level(), packed, apart, lines, factors) }
}

/// As [`deinterleave`], at a level that a test chooses.
///
/// # Safety
/// As for [`deinterleave`].
unsafe fn deinterleave_at<T: Float>(
    level: Level,
    packed: &[[T; 2]],
    apart: usize,
    lines: Lines<*mut T>,
    factors: [T; 2],
) {
    check(&lines, packed.len(), apart);
    dispatch_at(level, Deinterleave { lines, packed, apart, factors, blocks: blocks::<T>(level) });
}

/// Panics if the packed lines reach beyond their numbers.
fn check<P>(lines: &Lines<P>, numbers: usize, apart: usize) {
    let end = if lines.count == 0 { 0 } else { (lines.count - 1) * apart + lines.entries };
    assert!(end <= numbers, "{} lines of {} by {apart} in {numbers}", lines.count, lines.entries);
}

/// The lines of a block, where the machine has vectors for them.
fn blocks<T>(level: Level) -> usize {
    let vectors = cfg!(target_arch = "x86_64") && level.min(crate::machine_level()) >= Level::Avx2;
    if vectors { 32 / size_of::<T>() } else { 0 }
}

/// The first lines that are whole blocks; the first entries likewise.
fn whole<P>(lines: &Lines<P>, blocks: usize) -> [usize; 2] {
    let groups = lines.count.checked_div(blocks);
    groups.map_or([0, 0], |groups| [groups * blocks, lines.entries / ENTRIES * ENTRIES])
}

/// Calls for every entry of the lines that is in no block.
#[inline(always)]
fn rest<P>(lines: &Lines<P>, [count, entries]: [usize; 2], mut f: impl FnMut(usize, usize)) {
    for entry in 0..lines.entries {
        let first = if entry < entries { count } else { 0 };
        (first..lines.count).for_each(|line| f(entry, line));
    }
}

struct Interleave<'a, T> {
    lines: Lines<*const T>,
    factors: [T; 2],
    packed: &'a mut [[T; 2]],
    apart: usize,
    blocks: usize,
}

impl<T: Float> Work for Interleave<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Interleave { lines, factors, packed, apart, blocks } = self;
        let ([re, im], [of_re, of_im]) = (lines.parts, factors);
        if lines.inner == 1 && lines.count == 1 {
            // SAFETY: the caller of `interleave` says that the entries can be read. Test `interleaved_lines_are_those_of_the_array`.
            let [re, im] = [re, im].map(|part| unsafe { std::slice::from_raw_parts(part, lines.entries) });
            for ((number, &re), &im) in packed[..lines.entries].iter_mut().zip(re).zip(im) {
                *number = [re * of_re, im * of_im];
            }
            return;
        }
        let [count, entries] = whole(&lines, blocks);
        for entry in (0..entries).step_by(ENTRIES) {
            for line in (0..count).step_by(blocks.max(1)) {
                let from = [re, im].map(|part| part.wrapping_add(entry * lines.inner + line));
                let to = packed.as_mut_ptr().wrapping_add(line * apart + entry);
                // SAFETY: a block of entries and lines is among those that the caller of `interleave` promises, and among the
                // numbers that `check` has seen; there are blocks where there are vectors. Test as above.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    let factors = factors.map(Float::to_f64);
                    match size_of::<T>() {
                        4 => x86_64::interleave_single(
                            from.map(<*const T>::cast),
                            lines.inner,
                            factors,
                            to.cast(),
                            apart,
                        ),
                        _ => x86_64::interleave_double(
                            from.map(<*const T>::cast),
                            lines.inner,
                            factors,
                            to.cast(),
                            apart,
                        ),
                    }
                }
                #[cfg(not(target_arch = "x86_64"))]
                unreachable!("there are blocks where there are vectors: {from:?} {to:?}");
            }
        }
        rest(&lines, [count, entries], |entry, line| {
            let place = entry * lines.inner + line;
            // SAFETY: the entry is one of those that the caller of `interleave` promises. Test as above.
            packed[line * apart + entry] = unsafe { [*re.add(place) * of_re, *im.add(place) * of_im] };
        });
    }
}

struct Deinterleave<'a, T> {
    lines: Lines<*mut T>,
    packed: &'a [[T; 2]],
    apart: usize,
    factors: [T; 2],
    blocks: usize,
}

impl<T: Float> Work for Deinterleave<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Deinterleave { lines, packed, apart, factors, blocks } = self;
        let ([re, im], [of_re, of_im]) = (lines.parts, factors);
        if lines.inner == 1 && lines.count == 1 {
            // SAFETY: the caller of `deinterleave` says that the entries can be written, and by nobody else; the two parts are
            // different arrays. Test `interleaved_lines_are_those_of_the_array`.
            let [re, im] = [re, im].map(|part| unsafe { std::slice::from_raw_parts_mut(part, lines.entries) });
            for ((number, re), im) in packed[..lines.entries].iter().zip(re).zip(im) {
                (*re, *im) = (number[0] * of_re, number[1] * of_im);
            }
            return;
        }
        let [count, entries] = whole(&lines, blocks);
        for entry in (0..entries).step_by(ENTRIES) {
            for line in (0..count).step_by(blocks.max(1)) {
                let from = packed.as_ptr().wrapping_add(line * apart + entry);
                let to = [re, im].map(|part| part.wrapping_add(entry * lines.inner + line));
                // SAFETY: as for `Interleave`. Test as above.
                #[cfg(target_arch = "x86_64")]
                unsafe {
                    let factors = factors.map(Float::to_f64);
                    match size_of::<T>() {
                        4 => x86_64::deinterleave_single(
                            from.cast(),
                            apart,
                            to.map(<*mut T>::cast),
                            lines.inner,
                            factors,
                        ),
                        _ => x86_64::deinterleave_double(
                            from.cast(),
                            apart,
                            to.map(<*mut T>::cast),
                            lines.inner,
                            factors,
                        ),
                    }
                }
                #[cfg(not(target_arch = "x86_64"))]
                unreachable!("there are blocks where there are vectors: {from:?} {to:?}");
            }
        }
        rest(&lines, [count, entries], |entry, line| {
            let (place, number) = (entry * lines.inner + line, packed[line * apart + entry]);
            // SAFETY: the entry is one of those that the caller of `deinterleave` promises. Test as above.
            unsafe {
                *re.add(place) = number[0] * of_re;
                *im.add(place) = number[1] * of_im;
            }
        });
    }
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m256, __m256d, _mm256_castpd_ps, _mm256_castps_pd, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_mul_pd,
        _mm256_mul_ps, _mm256_permute2f128_pd, _mm256_set1_pd, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_storeu_pd,
        _mm256_storeu_ps, _mm256_unpackhi_pd, _mm256_unpackhi_ps, _mm256_unpacklo_pd, _mm256_unpacklo_ps,
    };

    use super::ENTRIES;

    /// Four entries of four lines, in double precision.
    ///
    /// # Safety
    /// AVX2 is there; four numbers can be read at `entry * inner` of both parts, and four complex ones written at `line * apart`.
    #[inline(always)]
    pub(super) unsafe fn interleave_double(
        [re, im]: [*const f64; 2],
        inner: usize,
        factors: [f64; 2],
        to: *mut f64,
        apart: usize,
    ) {
        // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
        unsafe {
            let [of_re, of_im] = factors.map(|factor| _mm256_set1_pd(factor));
            let pairs: [[__m256d; 2]; ENTRIES] = std::array::from_fn(|entry| {
                let (re, im) = (re.wrapping_add(entry * inner), im.wrapping_add(entry * inner));
                let (re, im) = (_mm256_mul_pd(_mm256_loadu_pd(re), of_re), _mm256_mul_pd(_mm256_loadu_pd(im), of_im));
                // Of the lines 0 and 2, and 1 and 3.
                [_mm256_unpacklo_pd(re, im), _mm256_unpackhi_pd(re, im)]
            });
            for (half, [x, y]) in [[pairs[0], pairs[1]], [pairs[2], pairs[3]]].into_iter().enumerate() {
                for (odd, (x, y)) in x.into_iter().zip(y).enumerate() {
                    let to = to.wrapping_add(2 * odd * apart + 4 * half);
                    _mm256_storeu_pd(to, _mm256_permute2f128_pd::<0x20>(x, y));
                    _mm256_storeu_pd(to.wrapping_add(4 * apart), _mm256_permute2f128_pd::<0x31>(x, y));
                }
            }
        }
    }

    /// Back.
    ///
    /// # Safety
    /// AVX2 is there; four complex numbers can be read at `line * apart`, and four numbers written at `entry * inner` of both
    /// parts.
    #[inline(always)]
    pub(super) unsafe fn deinterleave_double(
        from: *const f64,
        apart: usize,
        [re, im]: [*mut f64; 2],
        inner: usize,
        factors: [f64; 2],
    ) {
        // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
        unsafe {
            let [of_re, of_im] = factors.map(|factor| _mm256_set1_pd(factor));
            for half in 0..ENTRIES / 2 {
                let lines: [__m256d; 4] =
                    std::array::from_fn(|line| _mm256_loadu_pd(from.wrapping_add(2 * line * apart + 4 * half)));
                // Of the lines 0 and 2, and 1 and 3; one entry, and the next one.
                let first = [0, 1].map(|k| _mm256_permute2f128_pd::<0x20>(lines[k], lines[k + 2]));
                let second = [0, 1].map(|k| _mm256_permute2f128_pd::<0x31>(lines[k], lines[k + 2]));
                for (k, [x, y]) in [first, second].into_iter().enumerate() {
                    let place = (2 * half + k) * inner;
                    let (x, y) = (_mm256_unpacklo_pd(x, y), _mm256_unpackhi_pd(x, y));
                    _mm256_storeu_pd(re.wrapping_add(place), _mm256_mul_pd(x, of_re));
                    _mm256_storeu_pd(im.wrapping_add(place), _mm256_mul_pd(y, of_im));
                }
            }
        }
    }

    /// Four entries of eight lines, in single precision: a complex number is moved as one of eight bytes.
    ///
    /// # Safety
    /// AVX2 is there; eight numbers can be read at `entry * inner` of both parts, and four complex ones written at
    /// `line * apart`.
    #[inline(always)]
    pub(super) unsafe fn interleave_single(
        [re, im]: [*const f32; 2],
        inner: usize,
        factors: [f64; 2],
        to: *mut f32,
        apart: usize,
    ) {
        // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
        unsafe {
            let [of_re, of_im] = factors.map(|factor| _mm256_set1_ps(factor as f32));
            let pairs: [[__m256d; 2]; ENTRIES] = std::array::from_fn(|entry| {
                let (re, im) = (re.wrapping_add(entry * inner), im.wrapping_add(entry * inner));
                let (re, im) = (_mm256_mul_ps(_mm256_loadu_ps(re), of_re), _mm256_mul_ps(_mm256_loadu_ps(im), of_im));
                // Of the lines 0, 1, 4 and 5, and of the others.
                [_mm256_unpacklo_ps(re, im), _mm256_unpackhi_ps(re, im)].map(|x| _mm256_castps_pd(x))
            });
            for (group, of) in [0, 1].map(|group| pairs.map(|pair| pair[group])).into_iter().enumerate() {
                let even = [_mm256_unpacklo_pd(of[0], of[1]), _mm256_unpacklo_pd(of[2], of[3])];
                let odd = [_mm256_unpackhi_pd(of[0], of[1]), _mm256_unpackhi_pd(of[2], of[3])];
                for (k, [x, y]) in [even, odd].into_iter().enumerate() {
                    let to = to.wrapping_add(2 * (2 * group + k) * apart);
                    let lower = _mm256_permute2f128_pd::<0x20>(x, y);
                    let upper = _mm256_permute2f128_pd::<0x31>(x, y);
                    _mm256_storeu_ps(to, _mm256_castpd_ps(lower));
                    _mm256_storeu_ps(to.wrapping_add(8 * apart), _mm256_castpd_ps(upper));
                }
            }
        }
    }

    /// Back.
    ///
    /// # Safety
    /// AVX2 is there; four complex numbers can be read at `line * apart`, and eight numbers written at `entry * inner` of both
    /// parts.
    #[inline(always)]
    pub(super) unsafe fn deinterleave_single(
        from: *const f32,
        apart: usize,
        [re, im]: [*mut f32; 2],
        inner: usize,
        factors: [f64; 2],
    ) {
        // SAFETY: the caller's promise. Test `interleaved_lines_are_those_of_the_array`.
        unsafe {
            let [of_re, of_im] = factors.map(|factor| _mm256_set1_ps(factor as f32));
            let lines: [__m256d; 8] =
                std::array::from_fn(|line| _mm256_castps_pd(_mm256_loadu_ps(from.wrapping_add(2 * line * apart))));
            // Entries of the lines 0, 1, 4 and 5, and of the others, as `interleave_single` makes them.
            let groups: [[__m256; ENTRIES]; 2] = std::array::from_fn(|group| {
                let of = |k: usize| [lines[2 * group + k], lines[2 * group + k + 4]];
                let ([a, c], [b, d]) = (of(0), of(1));
                let first = [_mm256_permute2f128_pd::<0x20>(a, c), _mm256_permute2f128_pd::<0x20>(b, d)];
                let last = [_mm256_permute2f128_pd::<0x31>(a, c), _mm256_permute2f128_pd::<0x31>(b, d)];
                let entries = [
                    _mm256_unpacklo_pd(first[0], first[1]),
                    _mm256_unpackhi_pd(first[0], first[1]),
                    _mm256_unpacklo_pd(last[0], last[1]),
                    _mm256_unpackhi_pd(last[0], last[1]),
                ];
                entries.map(|x| _mm256_castpd_ps(x))
            });
            for (entry, (x, y)) in groups[0].into_iter().zip(groups[1]).enumerate() {
                let (x, y) = (_mm256_shuffle_ps::<0b10_00_10_00>(x, y), _mm256_shuffle_ps::<0b11_01_11_01>(x, y));
                _mm256_storeu_ps(re.wrapping_add(entry * inner), _mm256_mul_ps(x, of_re));
                _mm256_storeu_ps(im.wrapping_add(entry * inner), _mm256_mul_ps(y, of_im));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packs and unpacks some lines of an array, and compares every number, also those between.
    fn check<T: Float>(level: Level, [entries, count, gap]: [usize; 3]) {
        let (inner, apart) = (count + gap, entries + gap);
        // One line whose entries lie side by side.
        let inner = if gap == 0 && count == 1 { 1 } else { inner };
        let of = |k: usize| T::from_f64(k as f64 - 40.5);
        let parts: [Vec<T>; 2] = [0, 1].map(|part| (0..entries * inner).map(|k| of(2 * k + part)).collect());
        let outside = [of(7), of(8)];
        let mut packed = vec![outside; count * apart];
        let lines = |parts| Lines { parts, inner, entries, count };
        let from = [0, 1].map(|part| parts[part].as_ptr());
        // SAFETY: the arrays have all entries of the lines.
        unsafe { interleave_at(level, lines(from), [of(42), of(38)], &mut packed, apart) };
        for (place, number) in packed.iter().enumerate() {
            let (line, entry) = (place / apart, place % apart);
            let at = entry * inner + line;
            let wanted = if entry < entries { [parts[0][at] * of(42), parts[1][at] * of(38)] } else { outside };
            assert_eq!(*number, wanted, "{level:?}: {count} lines of {entries}, {gap} apart, {line} {entry}");
        }
        let mut back = parts.clone().map(|part| vec![of(9); part.len()]);
        let Lines { inner, .. } = lines(from);
        let [re, im] = &mut back;
        let to = Lines { parts: [re.as_mut_ptr(), im.as_mut_ptr()], inner, entries, count };
        // SAFETY: as above, and nobody else has them.
        unsafe { deinterleave_at(level, &packed, apart, to, [of(44), of(39)]) };
        for (part, (own, factors)) in back.iter().zip(parts.iter().zip([[of(42), of(44)], [of(38), of(39)]])) {
            for (at, (&x, &own)) in part.iter().zip(own).enumerate() {
                let wanted = if at % inner < count { own * factors[0] * factors[1] } else { of(9) };
                assert_eq!(x, wanted, "{level:?}: {count} lines of {entries}, {gap} apart, back at {at}");
            }
        }
    }

    #[test]
    fn interleaved_lines_are_those_of_the_array() {
        let counts = [1, 3, 4, 5, 8, 9, 16, 23];
        for (level, count) in Level::ALL.into_iter().flat_map(|level| counts.map(|count| (level, count))) {
            for (entries, gap) in [1, 3, 4, 7, 8, 18].into_iter().flat_map(|entries| [0, 3].map(|gap| (entries, gap))) {
                check::<f64>(level, [entries, count, gap]);
                check::<f32>(level, [entries, count, gap]);
            }
        }
    }
}
