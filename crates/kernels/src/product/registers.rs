//! Vectors that stay in registers.
//!
//! A loop over arrays is vectorised well by the compiler, except where some of the arrays
//! have to stay in registers over many rounds, as the sums of a block do: whether that happens
//! depends on how large the rest of the function is, and the difference is a factor of five. So here, and
//! only here, the vectors are named.

use super::number::Number;

/// Prefetches the cache line at an address, which need not be valid.
#[inline(always)]
pub(super) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads nothing that the program sees, and ignores addresses that cannot be read; it is in the
    // baseline. Test `rows_that_lie_far_apart`.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Some numbers that are computed with at once.
///
/// # Safety
///
/// An implementation is `LANES` numbers without padding, in order, and any bytes are a value of it.
/// The functions may be called only where the instruction set of the type is present, which
/// [`dispatch_at`](crate::dispatch_at) sees to.
pub(super) unsafe trait Vector: Copy {
    /// The type of a lane.
    type Number: Number;
    /// How many lanes there are.
    const LANES: usize;
    /// `x` in every lane.
    unsafe fn splat(x: Self::Number) -> Self;
    /// The numbers from `place` on, which need not be aligned.
    unsafe fn read(place: *const Self::Number) -> Self;
    /// The `count` numbers from `place` on, fewer than there are lanes; the other lanes are 0, and nothing is read for them.
    unsafe fn read_some(place: *const Self::Number, count: usize) -> Self;
    /// Writes the numbers from `place` on.
    unsafe fn write(self, place: *mut Self::Number);
    /// `self * factor + term`.
    unsafe fn times_plus(self, factor: Self, term: Self) -> Self;
    /// `self + other`.
    unsafe fn plus(self, other: Self) -> Self;
    /// The sum of the lanes: the upper half added to the lower one, until one is left.
    unsafe fn tree(self) -> Self::Number;
}

/// An array that the compiler vectorises, for what the others do not cover. `FUSED` as in
/// [`Number::times_plus`].
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct LaneArray<T, const LANES: usize, const FUSED: bool>([T; LANES]);

// SAFETY: a transparent array of numbers, every one of which any bytes are a value of; safe code.
// Tests `blocks_agree_with_the_triple_loop` and `products_agree_with_the_triple_loop`.
unsafe impl<T: Number, const LANES: usize, const FUSED: bool> Vector for LaneArray<T, LANES, FUSED> {
    type Number = T;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        LaneArray([x; LANES])
    }

    #[inline(always)]
    unsafe fn read(place: *const T) -> Self {
        // SAFETY: the caller says that this many numbers can be read there. Tests as above.
        LaneArray(unsafe { place.cast::<[T; LANES]>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn read_some(place: *const T, count: usize) -> Self {
        let mut lanes = [T::default(); LANES];
        for (k, lane) in lanes.iter_mut().enumerate().take(count) {
            // SAFETY: the caller says that this many numbers can be read there. Test `dots_agree_with_the_definition`.
            *lane = unsafe { place.add(k).read() };
        }
        LaneArray(lanes)
    }

    #[inline(always)]
    unsafe fn write(self, place: *mut T) {
        // SAFETY: the caller says that this many numbers can be written there. Tests as above.
        unsafe { place.cast::<[T; LANES]>().write_unaligned(self.0) };
    }

    #[inline(always)]
    unsafe fn times_plus(mut self, factor: Self, term: Self) -> Self {
        for ((x, y), z) in self.0.iter_mut().zip(&factor.0).zip(&term.0) {
            *x = x.times_plus::<FUSED>(*y, *z);
        }
        self
    }

    #[inline(always)]
    unsafe fn plus(mut self, other: Self) -> Self {
        for (x, y) in self.0.iter_mut().zip(&other.0) {
            *x = x.plus(*y);
        }
        self
    }

    #[inline(always)]
    unsafe fn tree(mut self) -> T {
        let mut width = LANES / 2;
        while width > 0 {
            for l in 0..width {
                self.0[l] = self.0[l].plus(self.0[l + width]);
            }
            width /= 2;
        }
        self.0[0]
    }
}

/// Reads the first `count` numbers. A bit for each lane says which they are.
#[cfg(target_arch = "x86_64")]
macro_rules! by_bits {
    ($load:ident, $place:expr, $count:expr,) => {
        x86_64::$load(((1u32 << $count) - 1) as _, $place)
    };
}

/// The same where the sign of an integer in each lane says which: a window into a list of -1 and, behind them, 0 that begins
/// `count` before the first 0.
#[cfg(target_arch = "x86_64")]
macro_rules! by_signs {
    ($load:ident, $place:expr, $count:expr, $lanes:literal, $integer:ty, $read:ident, $register:ident) => {{
        const SIGNS: [$integer; 2 * $lanes] = {
            let mut signs = [0; 2 * $lanes];
            let mut lane = 0;
            while lane < $lanes {
                signs[lane] = -1;
                lane += 1;
            }
            signs
        };
        let window = SIGNS[$lanes - $count..][..$lanes].as_ptr();
        x86_64::$load($place, x86_64::$read(window.cast::<x86_64::$register>()))
    }};
}

/// Implements [`Vector`] by six instructions, a mask, and an expression for the sum of the lanes.
#[cfg(target_arch = "x86_64")]
macro_rules! vectors {
    ($($vector:ident of $number:ident: $splat:ident $read:ident $write:ident $times_plus:ident $plus:ident, $some:ident $mask:ident($($with:tt)*), |$x:ident| $tree:expr;)*) => {$(
        // SAFETY: the type is a register full of numbers. Each function is one instruction or two, and is
        // called where that exists, as the trait demands. Tests `blocks_agree_with_the_triple_loop`
        // and `products_agree_with_the_triple_loop`, at every level.
        unsafe impl Vector for x86_64::$vector {
            type Number = $number;
            const LANES: usize = size_of::<x86_64::$vector>() / size_of::<$number>();

            #[inline(always)]
            unsafe fn splat(x: $number) -> Self {
                // SAFETY: as said above, of the instruction.
                unsafe { x86_64::$splat(x) }
            }

            #[inline(always)]
            unsafe fn read(place: *const $number) -> Self {
                // SAFETY: as said above, and the caller says that this many numbers can be read there.
                unsafe { x86_64::$read(place) }
            }

            #[inline(always)]
            unsafe fn read_some(place: *const $number, count: usize) -> Self {
                // SAFETY: as said above; the instruction touches no memory of lanes that are masked. Test
                // `dots_agree_with_the_definition`.
                unsafe { $mask!($some, place, count, $($with)*) }
            }

            #[inline(always)]
            unsafe fn write(self, place: *mut $number) {
                // SAFETY: as said above, and the caller says that this many can be written there.
                unsafe { x86_64::$write(place, self) };
            }

            #[inline(always)]
            unsafe fn times_plus(self, factor: Self, term: Self) -> Self {
                // SAFETY: as said above, of the instruction.
                unsafe { x86_64::$times_plus(self, factor, term) }
            }

            #[inline(always)]
            unsafe fn plus(self, other: Self) -> Self {
                // SAFETY: as said above, of the instruction.
                unsafe { x86_64::$plus(self, other) }
            }

            #[inline(always)]
            unsafe fn tree(self) -> $number {
                let $x = self;
                // SAFETY: as said above, of the instructions; half of a register has those of a lower level.
                unsafe { $tree }
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64;

#[cfg(target_arch = "x86_64")]
vectors! {
    __m128 of f32: _mm_set1_ps _mm_loadu_ps _mm_storeu_ps _mm_fmadd_ps _mm_add_ps, _mm_maskload_ps by_signs(4, i32, _mm_loadu_si128, __m128i), |x| {
        let x = x86_64::_mm_add_ps(x, x86_64::_mm_movehl_ps(x, x));
        x86_64::_mm_cvtss_f32(x86_64::_mm_add_ss(x, x86_64::_mm_movehdup_ps(x)))
    };
    __m256 of f32: _mm256_set1_ps _mm256_loadu_ps _mm256_storeu_ps _mm256_fmadd_ps _mm256_add_ps, _mm256_maskload_ps by_signs(8, i32, _mm256_loadu_si256, __m256i),
        |x| x86_64::_mm_add_ps(x86_64::_mm256_castps256_ps128(x), x86_64::_mm256_extractf128_ps::<1>(x)).tree();
    __m512 of f32: _mm512_set1_ps _mm512_loadu_ps _mm512_storeu_ps _mm512_fmadd_ps _mm512_add_ps, _mm512_maskz_loadu_ps by_bits(), |x| {
        let upper = x86_64::_mm256_castpd_ps(x86_64::_mm512_extractf64x4_pd::<1>(x86_64::_mm512_castps_pd(x)));
        x86_64::_mm256_add_ps(x86_64::_mm512_castps512_ps256(x), upper).tree()
    };
    __m128d of f64: _mm_set1_pd _mm_loadu_pd _mm_storeu_pd _mm_fmadd_pd _mm_add_pd, _mm_maskload_pd by_signs(2, i64, _mm_loadu_si128, __m128i), |x| x86_64::_mm_cvtsd_f64(x86_64::_mm_add_sd(x, x86_64::_mm_unpackhi_pd(x, x)));
    __m256d of f64: _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_fmadd_pd _mm256_add_pd, _mm256_maskload_pd by_signs(4, i64, _mm256_loadu_si256, __m256i),
        |x| x86_64::_mm_add_pd(x86_64::_mm256_castpd256_pd128(x), x86_64::_mm256_extractf128_pd::<1>(x)).tree();
    __m512d of f64: _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_fmadd_pd _mm512_add_pd, _mm512_maskz_loadu_pd by_bits(),
        |x| x86_64::_mm256_add_pd(x86_64::_mm512_castpd512_pd256(x), x86_64::_mm512_extractf64x4_pd::<1>(x)).tree();
}
