//! Elements as bytes in files: what formats have in common.

use super::{Array, DType, Data, Element, Type};
use crate::error::Error;

/// What is done with an entry of a file of several arrays: it gets the name and the type, and what reads the elements.
pub(crate) type Visit<'a> = dyn FnMut(&str, &Type, &mut dyn FnMut() -> Result<Array, Error>) -> Result<(), Error> + 'a;

/// How elements are stored: the kind, the bytes of one, and their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub(crate) kind: StoredKind,
    pub(crate) big_endian: bool,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "safetensors"), expect(dead_code, reason = "NumPy has no such numbers"))]
pub(crate) enum StoredKind {
    Bool,
    /// Bytes, and whether there is a sign.
    Integer(usize, bool),
    /// 16 bits, 5 of them the exponent.
    Half,
    /// 16 bits, the upper ones of an `F32`.
    Brain,
    F32,
    F64,
}

impl Stored {
    /// The element type that takes them, exactly.
    pub(crate) fn dtype(self) -> DType {
        match self.kind {
            StoredKind::Bool => DType::Bool,
            StoredKind::Integer(..) => DType::I64,
            StoredKind::Half | StoredKind::Brain | StoredKind::F32 => DType::F32,
            StoredKind::F64 => DType::F64,
        }
    }

    /// Bytes of one element.
    pub(crate) fn width(self) -> usize {
        match self.kind {
            StoredKind::Bool => 1,
            StoredKind::Integer(width, _) => width,
            StoredKind::Half | StoredKind::Brain => 2,
            StoredKind::F32 => 4,
            StoredKind::F64 => 8,
        }
    }

    /// The elements; what is left over of the bytes is not read.
    pub(crate) fn decode(self, bytes: &[u8]) -> Data {
        // The bits of each element, with zeros above.
        let bits = bytes.chunks_exact(self.width()).map(|element| {
            let join = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
            if self.big_endian { element.iter().fold(0, join) } else { element.iter().rev().fold(0, join) }
        });
        match self.kind {
            StoredKind::Bool => bool::wrap(bits.map(|bits| bits != 0).collect()),
            StoredKind::Integer(width, signed) => {
                let above = 64 - 8 * width as u32;
                let extend = |bits: u64| (bits << above).cast_signed() >> above;
                i64::wrap(bits.map(|bits| if signed { extend(bits) } else { bits.cast_signed() }).collect())
            }
            StoredKind::Half => f32::wrap(bits.map(|bits| half(bits as u16)).collect()),
            StoredKind::Brain => f32::wrap(bits.map(|bits| f32::from_bits((bits as u32) << 16)).collect()),
            StoredKind::F32 => f32::wrap(bits.map(|bits| f32::from_bits(bits as u32)).collect()),
            StoredKind::F64 => f64::wrap(bits.map(f64::from_bits).collect()),
        }
    }
}

/// A number in half precision: sign, 5 bits of exponent, 10 of fraction.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2f32.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

/// The bytes of elements as this library writes them.
pub(crate) fn little_endian(data: &Data) -> Vec<u8> {
    match data {
        Data::Bool(x) => x.iter().map(|&x| u8::from(x)).collect(),
        Data::I64(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Data::F32(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Data::F64(x) => x.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}
