//! Layers as structs: [`Linear`], [`Conv`], [`Embedding`].

use super::Init;
use crate::tensor::{ConvOptions, Key, Tensor};
use wengert_derive::Tree;

/// An affine map of the last axis, `x weight + bias`.
///
/// The weights lie as (inputs, outputs), as in JAX; PyTorch's are (outputs, inputs).
///
/// ```
/// use wengert::nn::Linear;
/// use wengert::prelude::*;
/// use wengert::Key;
/// let layer = Linear::new(3, 2, &Key::new(1));
/// let x = Tensor::ones(&[5, 3]);
/// assert_eq!(layer.apply(&x).shape(), [5, 2]);
/// // The gradient is a layer, too.
/// let slope = grad(&layer, |layer| layer.apply(&x).sum());
/// assert_eq!(slope.bias.unwrap().to_vec(), [5.0, 5.0]);
/// ```
#[doc(alias("Dense", "nn.Linear"))]
#[derive(Clone, Debug, Tree)]
pub struct Linear {
    /// (inputs, outputs)
    pub weight: Tensor,
    /// (outputs)
    pub bias: Option<Tensor>,
}

impl Linear {
    /// Weights by [`Init::LeCun`], bias 0.
    ///
    /// ```
    /// use wengert::{Key, nn::Linear};
    /// let layer = Linear::new(3, 2, &Key::new(1));
    /// assert_eq!((layer.weight.shape(), layer.bias.unwrap().to_vec()), (&[3, 2][..], vec![0.0; 2]));
    /// ```
    ///
    /// # Panics
    /// If the weights do not fit in memory.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, key: &Key) -> Self {
        Linear::with_init(inputs, outputs, Init::LeCun, key)
    }

    /// With other initial weights.
    ///
    /// ```
    /// use wengert::Key;
    /// use wengert::nn::{Init, Linear};
    /// assert_eq!(Linear::with_init(2, 2, Init::Zeros, &Key::new(1)).weight.to_vec(), [0.0; 4]);
    /// ```
    ///
    /// # Panics
    /// If the weights do not fit in memory.
    #[track_caller]
    pub fn with_init(inputs: usize, outputs: usize, init: Init, key: &Key) -> Self {
        let weight = init.draw(key, &[inputs, outputs], [inputs, outputs]);
        Linear { weight, bias: Some(Tensor::zeros(&[outputs])) }
    }

    /// Without its bias.
    ///
    /// ```
    /// use wengert::Key;
    /// use wengert::nn::Linear;
    /// use wengert::prelude::*;
    /// assert_eq!(Linear::new(2, 2, &Key::new(1)).without_bias().named_leaves().len(), 1);
    /// ```
    #[must_use]
    pub fn without_bias(self) -> Self {
        Linear { bias: None, ..self }
    }

    /// The map of every line along the last axis.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::Linear;
    /// let layer = Linear { weight: Tensor::from([[1.0, 0.0], [2.0, -1.0]]), bias: Some(Tensor::from([0.5, 0.0])) };
    /// assert_eq!(layer.apply(&Tensor::from([3.0, 4.0])).to_vec(), [11.5, -4.0]);
    /// ```
    ///
    /// # Panics
    /// If the last axis does not have as many numbers as there are inputs, or another element type than the weights.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Tensor {
        match &self.bias {
            Some(bias) => x.linear(&self.weight, bias),
            None => x.matmul(&self.weight),
        }
    }
}

/// A convolution over N axes with a bias for each channel of its result: [`Conv1d`], [`Conv2d`].
///
/// ```
/// use wengert::nn::Conv2d;
/// use wengert::prelude::*;
/// use wengert::{ConvOptions, Key};
/// // From 3 channels to 8 by windows of 3 by 3; with a margin of 1 the images keep their size.
/// let options = ConvOptions { padding: [(1, 1); 2], ..ConvOptions::default() };
/// let layer = Conv2d::new(3, 8, [3, 3], options, &Key::new(1));
/// assert_eq!(layer.apply(&Tensor::ones(&[10, 3, 6, 5])).shape(), [10, 8, 6, 5]);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct Conv<const N: usize> {
    /// (outputs, inputs / groups, the window)
    pub weight: Tensor,
    /// (outputs)
    pub bias: Option<Tensor>,
    /// How the window moves.
    #[tree(static)]
    pub options: ConvOptions<N>,
}

/// A convolution over one axis, of (batch, inputs, length).
pub type Conv1d = Conv<1>;
/// A convolution over two axes, of (batch, inputs, height, width).
pub type Conv2d = Conv<2>;

impl<const N: usize> Conv<N> {
    /// From `inputs` to `outputs` channels; weights by [`Init::He`], bias 0.
    ///
    /// ```
    /// use wengert::nn::Conv1d;
    /// use wengert::{ConvOptions, Key};
    /// let layer = Conv1d::new(4, 6, [3], ConvOptions { groups: 2, ..ConvOptions::default() }, &Key::new(1));
    /// assert_eq!(layer.weight.shape(), [6, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// If the groups do not divide the inputs, or the weights do not fit in memory.
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, window: [usize; N], options: ConvOptions<N>, key: &Key) -> Self {
        Conv::with_init(inputs, outputs, window, options, Init::He, key)
    }

    /// With other initial weights.
    ///
    /// ```
    /// use wengert::nn::{Conv1d, Init};
    /// use wengert::{ConvOptions, Key};
    /// let layer = Conv1d::with_init(2, 4, [3], ConvOptions::default(), Init::Zeros, &Key::new(1));
    /// assert_eq!(layer.weight.shape(), [4, 2, 3]);
    /// ```
    ///
    /// # Panics
    /// As [`Conv::new`].
    #[track_caller]
    pub fn with_init(
        inputs: usize,
        outputs: usize,
        window: [usize; N],
        options: ConvOptions<N>,
        init: Init,
        key: &Key,
    ) -> Self {
        let groups = options.groups;
        assert!(
            groups > 0 && inputs.is_multiple_of(groups) && outputs.is_multiple_of(groups),
            "`Conv`: {groups} groups do not divide {inputs} inputs and {outputs} outputs"
        );
        let (shape, places) = ([&[outputs, inputs / groups], &window[..]].concat(), window.iter().product::<usize>());
        let weight = init.draw(key, &shape, [inputs / groups * places, outputs / groups * places]);
        Conv { weight, bias: Some(Tensor::zeros(&[outputs])), options }
    }

    /// Without its bias.
    ///
    /// ```
    /// use wengert::nn::Conv1d;
    /// use wengert::prelude::*;
    /// use wengert::{ConvOptions, Key};
    /// let layer = Conv1d::new(2, 4, [3], ConvOptions::default(), &Key::new(1)).without_bias();
    /// assert_eq!(layer.named_leaves().len(), 1);
    /// ```
    #[must_use]
    pub fn without_bias(self) -> Self {
        Conv { bias: None, ..self }
    }

    /// The result of a convolution with the bias of each channel.
    #[track_caller]
    fn biased(&self, y: Tensor) -> Tensor {
        match &self.bias {
            Some(bias) => y + bias.reshape(&[&[-1], &[1; N][..]].concat()),
            None => y,
        }
    }
}

macro_rules! apply {
    ($count:literal, $method:ident, $shape:literal) => {
        impl Conv<$count> {
            #[doc = concat!("The convolution of ", $shape, "; see [`Tensor::", stringify!($method), "`].")]
            ///
            /// ```
            /// use wengert::{ConvOptions, Key, Tensor, nn::Conv};
            #[doc = concat!("let layer = Conv::new(2, 3, [1; ", $count, "], ConvOptions::default(), &Key::new(1));")]
            #[doc = concat!("let lengths = [&[5, 2], &[4; ", $count, "][..]].concat();")]
            /// assert_eq!(layer.apply(&Tensor::ones(&lengths)).shape()[..2], [5, 3]);
            /// ```
            ///
            /// # Panics
            /// If the input does not have these axes, as many channels as there are inputs, and the weights' element type.
            #[track_caller]
            pub fn apply(&self, x: &Tensor) -> Tensor {
                self.biased(x.$method(&self.weight, &self.options))
            }
        }
    };
}
apply!(1, conv1d, "(batch, inputs, length)");
apply!(2, conv2d, "(batch, inputs, height, width)");
apply!(3, conv3d, "(batch, inputs, depth, height, width)");

/// A table with a row of numbers for each of several symbols.
///
/// ```
/// use wengert::nn::Embedding;
/// use wengert::prelude::*;
/// use wengert::Key;
/// let layer = Embedding::new(100, 16, &Key::new(1));
/// assert_eq!(layer.apply(&Tensor::from([[3i64, 5, 7], [0, 0, 99]])).shape(), [2, 3, 16]);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct Embedding {
    /// (symbols, width)
    pub table: Tensor,
}

impl Embedding {
    /// Normal, variance `1 / width`, so that a row has a length of about 1.
    ///
    /// ```
    /// use wengert::{Key, nn::Embedding};
    /// assert_eq!(Embedding::new(100, 16, &Key::new(1)).table.shape(), [100, 16]);
    /// ```
    ///
    /// # Panics
    /// If the table does not fit in memory.
    #[track_caller]
    pub fn new(symbols: usize, width: usize, key: &Key) -> Self {
        Embedding { table: Init::LeCun.draw(key, &[symbols, width], [width, symbols]) }
    }

    /// The rows of these symbols, `i64` in any shape.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::Embedding;
    /// let layer = Embedding { table: Tensor::from([[1.0, 2.0], [3.0, 4.0]]) };
    /// assert_eq!(layer.apply(&Tensor::from([1i64, 0])).to_vec(), [3.0, 4.0, 1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// If they are not `i64`, or one has no row.
    #[track_caller]
    pub fn apply(&self, symbols: &Tensor) -> Tensor {
        self.table.embedding(symbols)
    }
}
