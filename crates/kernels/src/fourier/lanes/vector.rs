//! Vectors of the machine, of which each lane holds a number of another line.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m256d, __m512, __m512d, _mm256_add_pd, _mm256_add_ps, _mm256_fmadd_pd, _mm256_fmadd_ps, _mm256_fmsub_pd,
    _mm256_fmsub_ps, _mm256_fnmadd_pd, _mm256_fnmadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_mul_pd,
    _mm256_mul_ps, _mm256_set1_pd, _mm256_set1_ps, _mm256_storeu_pd, _mm256_storeu_ps, _mm256_sub_pd, _mm256_sub_ps,
    _mm512_add_pd, _mm512_add_ps, _mm512_fmadd_pd, _mm512_fmadd_ps, _mm512_fmsub_pd, _mm512_fmsub_ps, _mm512_fnmadd_pd,
    _mm512_fnmadd_ps, _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mul_pd, _mm512_mul_ps, _mm512_set1_pd, _mm512_set1_ps,
    _mm512_storeu_pd, _mm512_storeu_ps, _mm512_sub_pd, _mm512_sub_ps,
};
use std::array::from_fn;
use std::ops::{Add, Mul, Sub};

use crate::Float;

/// A vector. Whoever has a value has shown, where it was made, that the machine has the instructions.
pub trait Vector: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    /// What is in a lane.
    type Number: Float;
    /// How many lanes there are.
    const LANES: usize;
    /// The numbers from an address on.
    ///
    /// # Safety
    /// The machine has the instructions, and that many numbers can be read.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// Writes the numbers from an address on.
    ///
    /// # Safety
    /// That many numbers can be written.
    unsafe fn store(self, to: *mut Self::Number);
    /// The same number in every lane.
    ///
    /// # Safety
    /// The machine has the instructions.
    unsafe fn splat(x: Self::Number) -> Self;
    /// `self * factor + addend`, rounded once from AVX2 on.
    fn times_plus(self, factor: Self, addend: Self) -> Self;
    /// `self * factor - addend`, rounded once from AVX2 on.
    fn times_minus(self, factor: Self, addend: Self) -> Self;
    /// `addend - self * factor`, rounded once from AVX2 on.
    fn minus_times(self, factor: Self, addend: Self) -> Self;
}

/// The vectors of a type of numbers.
pub trait Vectors: Sized {
    /// Of 16 bytes.
    type Baseline: Vector<Number = Self>;
    /// Of 32 bytes.
    type Avx2: Vector<Number = Self>;
    /// Of 64 bytes.
    type Avx512: Vector<Number = Self>;
}

/// Numbers that the compiler puts into vectors of the baseline.
#[derive(Clone, Copy)]
pub struct Several<T, const N: usize>([T; N]);

impl<T: Float, const N: usize> Vector for Several<T, N> {
    type Number = T;
    const LANES: usize = N;
    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller's promise: N numbers can be read. Test `transforms_agree_with_the_sum`.
        Several(unsafe { from.cast::<[T; N]>().read() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: the caller's promise: N numbers can be written. Test as above.
        unsafe { to.cast::<[T; N]>().write(self.0) }
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Several([x; N])
    }
    #[inline(always)]
    fn times_plus(self, factor: Self, addend: Self) -> Self {
        self * factor + addend
    }
    #[inline(always)]
    fn times_minus(self, factor: Self, addend: Self) -> Self {
        self * factor - addend
    }
    #[inline(always)]
    fn minus_times(self, factor: Self, addend: Self) -> Self {
        addend - self * factor
    }
}

macro_rules! several {
    ($($trait:ident $method:ident $operator:tt),*) => {$(
        impl<T: Float, const N: usize> $trait for Several<T, N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Several(from_fn(|lane| self.0[lane] $operator other.0[lane]))
            }
        }
    )*};
}
several!(Add add +, Sub sub -, Mul mul *);

#[cfg(target_arch = "x86_64")]
macro_rules! vector {
    ($name:ident($wide:ident) $number:ident $lanes:literal $load:ident $store:ident $splat:ident $add:ident $sub:ident $mul:ident
     $times_plus:ident $times_minus:ident $minus_times:ident) => {
        #[derive(Clone, Copy)]
        pub struct $name($wide);

        impl Vector for $name {
            type Number = $number;
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const $number) -> Self {
                // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
                $name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $number) {
                // SAFETY: the caller's promise; the machine has the instructions, because there is a value. Test as above.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn splat(x: $number) -> Self {
                // SAFETY: the caller's promise. Test as above.
                $name(unsafe { $splat(x) })
            }
            vector!(fused $name times_plus $times_plus);
            vector!(fused $name times_minus $times_minus);
            vector!(fused $name minus_times $minus_times);
        }

        vector!(operator $name Add add $add);
        vector!(operator $name Sub sub $sub);
        vector!(operator $name Mul mul $mul);
    };
    (fused $name:ident $method:ident $instruction:ident) => {
        #[inline(always)]
        fn $method(self, factor: Self, addend: Self) -> Self {
            // SAFETY: the machine has the instructions, because there is a value. Test as above.
            $name(unsafe { $instruction(self.0, factor.0, addend.0) })
        }
    };
    (operator $name:ident $trait:ident $method:ident $instruction:ident) => {
        impl $trait for $name {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: the machine has the instructions, because there is a value. Test as above.
                $name(unsafe { $instruction(self.0, other.0) })
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector!(Double4(__m256d) f64 4 _mm256_loadu_pd _mm256_storeu_pd _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd
    _mm256_fmadd_pd _mm256_fmsub_pd _mm256_fnmadd_pd);
#[cfg(target_arch = "x86_64")]
vector!(Double8(__m512d) f64 8 _mm512_loadu_pd _mm512_storeu_pd _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd
    _mm512_fmadd_pd _mm512_fmsub_pd _mm512_fnmadd_pd);
#[cfg(target_arch = "x86_64")]
vector!(Single8(__m256) f32 8 _mm256_loadu_ps _mm256_storeu_ps _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps
    _mm256_fmadd_ps _mm256_fmsub_ps _mm256_fnmadd_ps);
#[cfg(target_arch = "x86_64")]
vector!(Single16(__m512) f32 16 _mm512_loadu_ps _mm512_storeu_ps _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps
    _mm512_fmadd_ps _mm512_fmsub_ps _mm512_fnmadd_ps);

/// The vectors of a type, of which all but the first are there on x86-64 only: no other machine has their levels.
macro_rules! vectors {
    ($number:ident $lanes:literal $half:ident $whole:ident) => {
        impl Vectors for $number {
            type Baseline = Several<$number, $lanes>;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = $half;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = $whole;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = Several<$number, $lanes>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = Several<$number, $lanes>;
        }
    };
}
vectors!(f64 2 Double4 Double8);
vectors!(f32 4 Single8 Single16);
