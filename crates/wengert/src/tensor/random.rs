//! Random numbers from keys: the same key gives the same numbers everywhere.

use super::Tensor;
use super::compose::{check_count, compose, compose_all, refuse};
use crate::array::DType;
use crate::error::{Error, OrRaise};
use crate::primitives::{RandomBits, RandomKind, check_float, random};
use crate::program::Builder;

/// A key of random numbers: nothing has a state, a key gives the same numbers each time it is used.
/// Draw once from a key, or split it: [`Key::split`] gives several.
///
/// ```
/// use wengert::Key;
/// let [a, b] = Key::new(7).split();
/// assert_eq!(a.normal(&[3]).to_vec(), a.normal(&[3]).to_vec());
/// assert_ne!(a.uniform(&[3]).to_vec(), b.uniform(&[3]).to_vec());
/// ```
#[derive(Clone, Debug)]
pub struct Key(Tensor);

impl Key {
    /// The key of a seed.
    ///
    /// ```
    /// use wengert::Key;
    /// assert_eq!(Key::new(7).uniform(&[2]).to_vec(), Key::new(7).uniform(&[2]).to_vec());
    /// ```
    #[doc(alias("seed", "PRNGKey", "manual_seed"))]
    pub fn new(seed: u64) -> Self {
        Key(Tensor::from([0, seed.cast_signed()]))
    }

    /// The key of these two words, an `i64[2]`: one of [`Key::words`].
    ///
    /// # Errors
    /// If it is of another type.
    #[track_caller]
    pub fn try_from_words(words: &Tensor) -> Result<Self, Error> {
        match words.dtype() == DType::I64 && words.shape() == [2] {
            true => Ok(Key(words.clone())),
            false => refuse("key", &[words], "a key is i64[2]"),
        }
    }

    /// The two words of the key, an `i64[2]`.
    ///
    /// ```
    /// use wengert::Key;
    /// let key = Key::new(7);
    /// assert_eq!(key.words().shape(), [2]);
    /// ```
    pub fn words(&self) -> &Tensor {
        &self.0
    }

    /// Several keys that have nothing to do with each other, nor with this one.
    ///
    /// ```
    /// use wengert::Key;
    /// let [first, second] = Key::new(7).split();
    /// assert_ne!(first.bits(&[1]).to_vec(), second.bits(&[1]).to_vec());
    /// ```
    ///
    /// # Panics
    /// If the recording of the key has ended.
    #[doc(alias = "split_key")]
    #[track_caller]
    pub fn split<const N: usize>(&self) -> [Key; N] {
        let keys = self.try_split_into(N).or_raise();
        let mut keys = keys.into_iter();
        std::array::from_fn(|_| keys.next().expect("as many keys as were asked for"))
    }

    /// As [`Key::split`], with a number that is computed.
    ///
    /// # Errors
    /// If they do not fit in memory, or the recording of the key has ended.
    #[track_caller]
    pub fn try_split_into(&self, count: usize) -> Result<Vec<Key>, Error> {
        let words = compose_all("split", &[&self.0], |b, args| {
            check_count(&[count, 2])?;
            let bits = b.emit(RandomBits::new(&[count, 2], RandomKind::Bits), args)?[0];
            let row = |b: &mut Builder, k: usize| {
                let row = b.op(crate::primitives::Slice::along(&[count, 2], 0, k, k + 1), &[bits]);
                b.reshape(row, &[2])
            };
            Ok((0..count).map(|k| row(b, k)).collect())
        })?;
        Ok(words.into_iter().map(Key).collect())
    }

    /// Random bits, 64 in each integer.
    ///
    /// ```
    /// use wengert::Key;
    /// assert_eq!(Key::new(7).bits(&[2, 3]).shape(), [2, 3]);
    /// ```
    ///
    /// # Panics
    /// As [`Key::try_bits`] returns an error.
    #[doc(alias = "random_bits")]
    #[track_caller]
    pub fn bits(&self, shape: &[usize]) -> Tensor {
        self.try_bits(shape).or_raise()
    }

    /// As [`Key::bits`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory.
    #[track_caller]
    pub fn try_bits(&self, shape: &[usize]) -> Result<Tensor, Error> {
        compose("bits", &[&self.0], |b, args| Ok(b.emit(RandomBits::new(shape, RandomKind::Bits), args)?[0]))
    }

    /// Numbers in `[0, 1)` in double precision, all multiples of `2^-53` equally likely.
    ///
    /// ```
    /// use wengert::Key;
    /// let x = Key::new(7).uniform(&[1000]);
    /// assert!(x.min().item() >= 0.0 && x.max().item() < 1.0 && (x.mean().item() - 0.5).abs() < 0.05);
    /// ```
    ///
    /// # Panics
    /// As [`Key::try_uniform_of`] returns an error.
    #[doc(alias = "rand")]
    #[track_caller]
    pub fn uniform(&self, shape: &[usize]) -> Tensor {
        self.try_uniform_of(DType::F64, shape).or_raise()
    }

    /// As [`Key::uniform`], of an element type, with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory or the type is not real.
    #[track_caller]
    pub fn try_uniform_of(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        compose("uniform", &[&self.0], |b, args| {
            check_count(shape)?;
            check_float(&crate::array::Type::new(dtype, shape))?;
            Ok(random::uniform(b, args[0], shape, dtype))
        })
    }

    /// Numbers of the normal distribution with mean 0 and variance 1, in double precision.
    ///
    /// ```
    /// use wengert::Key;
    /// let x = Key::new(7).normal(&[1000]);
    /// assert!(x.mean().item().abs() < 0.1 && (x.std(0).item() - 1.0).abs() < 0.1);
    /// ```
    ///
    /// # Panics
    /// As [`Key::try_normal_of`] returns an error.
    #[doc(alias("randn", "gaussian"))]
    #[track_caller]
    pub fn normal(&self, shape: &[usize]) -> Tensor {
        self.try_normal_of(DType::F64, shape).or_raise()
    }

    /// As [`Key::normal`], of an element type, with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory or the type is not real.
    #[track_caller]
    pub fn try_normal_of(&self, dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        compose("normal", &[&self.0], |b, args| {
            check_count(shape)?;
            check_float(&crate::array::Type::new(dtype, shape))?;
            Ok(random::normal(b, args[0], shape, dtype))
        })
    }
}
