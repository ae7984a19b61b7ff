//! [`Init`]: how the weights of layers begin.

use crate::tensor::{Key, Tensor};

/// Initial values of a layer's weights, drawn by a key.
///
/// Each weight of a layer is summed over `inputs` numbers forwards, and over `outputs` numbers backwards. A variance of
/// `1 / inputs` leaves the size of what goes through a linear layer as it is.
///
/// ```
/// use wengert::{Key, nn::Init};
/// let w = Init::He.draw(&Key::new(1), &[50, 200], [50, 200]);
/// assert_eq!(w.shape(), [50, 200]);
/// assert!((w.square().mean().item() - 2.0 / 50.0).abs() < 0.002);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// All 0.
    Zeros,
    /// Normal, with this standard deviation.
    Normal(f64),
    /// Uniform in `[-bound, bound)`.
    Uniform(f64),
    /// Normal, variance `1 / inputs` (Y. LeCun, L. Bottou, G. Orr, K.-R. Müller, *Efficient backprop*, 1998): before `tanh`, or
    /// nothing.
    LeCun,
    /// Normal, variance `2 / inputs` (K. He, X. Zhang, S. Ren, J. Sun, *Delving deep into rectifiers*, 2015): before `relu`, which
    /// halves it.
    He,
    /// Normal, variance `2 / (inputs + outputs)` (X. Glorot, Y. Bengio, *Understanding the difficulty of training deep
    /// feedforward neural networks*, 2010).
    Glorot,
    /// As [`Init::Glorot`], uniform in `sqrt(6 / (inputs + outputs))` around 0.
    GlorotUniform,
}

impl Init {
    /// Weights of this shape, in double precision, for a layer that sums over `[inputs, outputs]` numbers.
    ///
    /// ```
    /// use wengert::{Key, nn::Init};
    /// let w = Init::Uniform(0.5).draw(&Key::new(1), &[3, 2], [3, 2]);
    /// assert!(w.to_vec().iter().all(|w| (-0.5..0.5).contains(w)));
    /// ```
    ///
    /// # Panics
    /// If the shape does not fit in memory.
    #[doc(alias("kaiming_normal", "xavier_normal", "xavier_uniform", "variance_scaling"))]
    #[track_caller]
    pub fn draw(self, key: &Key, shape: &[usize], [inputs, outputs]: [usize; 2]) -> Tensor {
        let normal = |variance: f64| key.normal(shape) * variance.sqrt();
        let uniform = |bound: f64| (key.uniform(shape) * 2.0 - 1.0) * bound;
        // A layer without inputs has no weights, whatever their variance.
        let (inputs, both) = (inputs.max(1) as f64, (inputs + outputs).max(1) as f64);
        match self {
            Init::Zeros => Tensor::zeros(shape),
            Init::Normal(deviation) => key.normal(shape) * deviation,
            Init::Uniform(bound) => uniform(bound),
            Init::LeCun => normal(1.0 / inputs),
            Init::He => normal(2.0 / inputs),
            Init::Glorot => normal(2.0 / both),
            Init::GlorotUniform => uniform((6.0 / both).sqrt()),
        }
    }
}
