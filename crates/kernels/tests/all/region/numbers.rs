//! Elements of any kind, and random ones.

use wengert_kernels::region::{Kind, Slice, SliceMut};

/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast splittable pseudorandom number generators*, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number of either sign and of a size between 2^-12 and 8, or now and then a special one.
    pub(crate) fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 12] =
            [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 1e-310, 1e-42, 3e38, -1e300, 0.5];
        if self.below(24) == 0 {
            return self.pick(&SPECIAL);
        }
        let size = (1 + self.below(1 << 15)) as f64 / 4096.0;
        if self.below(2) == 0 { size } else { -size }
    }
}

/// The bits of a number in a kind.
pub(crate) fn bits(kind: Kind, x: f64) -> u64 {
    match kind {
        Kind::U8 => u64::from(x > 0.0),
        Kind::I64 => (x as i64).cast_unsigned(),
        Kind::F32 => u64::from((x as f32).to_bits()),
        Kind::F64 => x.to_bits(),
    }
}

/// The number of bits in a kind.
pub(crate) fn number(kind: Kind, bits: u64) -> f64 {
    match kind {
        Kind::U8 => bits as f64,
        Kind::I64 => bits.cast_signed() as f64,
        Kind::F32 => f64::from(f32::from_bits(bits as u32)),
        Kind::F64 => f64::from_bits(bits),
    }
}

/// Whether two elements are the same; all NaN count as one.
pub(crate) fn same(kind: Kind, x: u64, y: u64) -> bool {
    x == y || (kind.is_float() && number(kind, x).is_nan() && number(kind, y).is_nan())
}

/// Elements as memory.
#[derive(Clone, Debug)]
pub(crate) enum Elements {
    U8(Vec<u8>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    pub(crate) fn new(kind: Kind, bits: &[u64]) -> Self {
        match kind {
            Kind::U8 => Elements::U8(bits.iter().map(|&x| x as u8).collect()),
            Kind::I64 => Elements::I64(bits.iter().map(|&x| x.cast_signed()).collect()),
            Kind::F32 => Elements::F32(bits.iter().map(|&x| f32::from_bits(x as u32)).collect()),
            Kind::F64 => Elements::F64(bits.iter().map(|&x| f64::from_bits(x)).collect()),
        }
    }

    pub(crate) fn bits(&self) -> Vec<u64> {
        match self {
            Elements::U8(x) => x.iter().map(|&x| u64::from(x)).collect(),
            Elements::I64(x) => x.iter().map(|&x| x.cast_unsigned()).collect(),
            Elements::F32(x) => x.iter().map(|&x| u64::from(x.to_bits())).collect(),
            Elements::F64(x) => x.iter().map(|&x| x.to_bits()).collect(),
        }
    }

    pub(crate) fn slice(&self) -> Slice<'_> {
        match self {
            Elements::U8(x) => Slice::U8(x),
            Elements::I64(x) => Slice::I64(x),
            Elements::F32(x) => Slice::F32(x),
            Elements::F64(x) => Slice::F64(x),
        }
    }

    pub(crate) fn slice_mut(&mut self) -> SliceMut<'_> {
        match self {
            Elements::U8(x) => SliceMut::U8(x),
            Elements::I64(x) => SliceMut::I64(x),
            Elements::F32(x) => SliceMut::F32(x),
            Elements::F64(x) => SliceMut::F64(x),
        }
    }
}
