//! [`MultiHeadAttention`]: attention as a struct.

use super::{Linear, Visible, attention};
use crate::tensor::{Key, Tensor};
use wengert_derive::Tree;

/// Attention by several heads side by side: of every position a query, a key and a value, each cut into a part for each head;
/// [`attention`] in every head; and an affine map of what they give, joined (A. Vaswani and others, *Attention is all you
/// need*, 2017).
///
/// ```
/// use wengert::nn::{MultiHeadAttention, Visible};
/// use wengert::prelude::*;
/// use wengert::Key;
/// let layer = MultiHeadAttention::new(8, 2, &Key::new(1));
/// let x = Key::new(2).normal(&[3, 5, 8]);
/// let y = layer.apply(&x, Visible::Causal);
/// assert_eq!(y.shape(), [3, 5, 8]);
/// // The first position sees itself alone, whatever comes after it.
/// let y_1 = layer.apply(&x.slice((.., 0..1)), Visible::Causal);
/// assert!((y.slice((.., 0..1)) - y_1).abs().max().item() < 1e-14);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct MultiHeadAttention {
    /// Of the positions that ask.
    pub query: Linear,
    /// Of the positions that are asked.
    pub key: Linear,
    /// Of the positions that are asked.
    pub value: Linear,
    /// Of what the heads give, joined.
    pub output: Linear,
    /// How many heads there are.
    #[tree(static)]
    pub heads: usize,
}

impl MultiHeadAttention {
    /// Of vectors of this width, by this many heads; weights by [`Init::LeCun`](super::Init::LeCun), biases 0.
    ///
    /// ```
    /// use wengert::{Key, nn::MultiHeadAttention};
    /// let layer = MultiHeadAttention::new(8, 2, &Key::new(1));
    /// assert_eq!((layer.heads, layer.query.weight.shape()), (2, &[8, 8][..]));
    /// ```
    ///
    /// # Panics
    /// If the heads do not divide the width, or the weights do not fit in memory.
    #[track_caller]
    pub fn new(width: usize, heads: usize, key: &Key) -> Self {
        assert!(
            heads > 0 && width.is_multiple_of(heads),
            "`MultiHeadAttention::new`: {heads} heads do not divide a width of {width}"
        );
        let [query, key, value, output] = key.split().map(|key| Linear::new(width, width, &key));
        MultiHeadAttention { query, key, value, output, heads }
    }

    /// Attention of a sequence (…, T, width) to itself.
    ///
    /// ```
    /// use wengert::nn::{MultiHeadAttention, Visible};
    /// use wengert::{Key, Tensor};
    /// let layer = MultiHeadAttention::new(4, 2, &Key::new(1));
    /// // Equal positions get equal answers, whatever they see.
    /// let y = layer.apply(&Tensor::ones(&[3, 4]), Visible::All);
    /// assert_eq!(y.slice(0).to_vec(), y.slice(2).to_vec());
    /// ```
    ///
    /// # Panics
    /// If it has another width, or the mask does not fit.
    #[track_caller]
    pub fn apply(&self, x: &Tensor, visible: Visible<'_>) -> Tensor {
        self.attend(x, x, visible)
    }

    /// Attention of a sequence (…, T, width) to another one, (…, S, width). A mask stretches to (…, T, S), and is that of every
    /// head.
    ///
    /// ```
    /// use wengert::nn::{MultiHeadAttention, Visible};
    /// use wengert::prelude::*;
    /// use wengert::Key;
    /// let layer = MultiHeadAttention::new(8, 4, &Key::new(1));
    /// let (x, memory) = (Tensor::ones(&[3, 5, 8]), Tensor::ones(&[3, 7, 8]));
    /// assert_eq!(layer.attend(&x, &memory, Visible::All).shape(), [3, 5, 8]);
    /// ```
    ///
    /// # Panics
    /// If they have another width, or the mask does not fit.
    #[track_caller]
    pub fn attend(&self, x: &Tensor, memory: &Tensor, visible: Visible<'_>) -> Tensor {
        let queries = self.in_heads(self.query.apply(x));
        let [keys, values] = [&self.key, &self.value].map(|layer| self.in_heads(layer.apply(memory)));
        let y = match visible {
            // An axis for the heads, behind those of the batch.
            Visible::Where(mask) if mask.rank() > 2 => {
                let mut shape: Vec<isize> = mask.shape().iter().map(|length| length.cast_signed()).collect();
                shape.insert(shape.len() - 2, 1);
                attention(&queries, &keys, &values, Visible::Where(&mask.reshape(&shape)))
            }
            visible => attention(&queries, &keys, &values, visible),
        };
        // (…, heads, T, part) as (…, T, width)
        let y = y.swap_axes(-3, -2);
        let mut shape: Vec<isize> = y.shape().iter().map(|length| length.cast_signed()).collect();
        let parts = shape.split_off(shape.len() - 2);
        shape.push(parts[0] * parts[1]);
        self.output.apply(&y.reshape(&shape))
    }

    /// (…, T, width) as (…, heads, T, part).
    #[track_caller]
    fn in_heads(&self, x: Tensor) -> Tensor {
        let mut shape: Vec<isize> = x.shape().iter().map(|length| length.cast_signed()).collect();
        let width = shape.pop().unwrap_or(0);
        let heads = self.heads.cast_signed();
        shape.extend([heads, width / heads]);
        x.reshape(&shape).swap_axes(-3, -2)
    }
}
