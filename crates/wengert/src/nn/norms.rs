//! Normalisation as structs: [`LayerNorm`], [`RmsNorm`], [`GroupNorm`], [`BatchNorm`].

use std::panic::Location;

use crate::error::{Error, ErrorKind, OrRaise};
use crate::tensor::Tensor;
use wengert_derive::Tree;

/// Mean 0 and variance 1 along the last axis, then a gain and a bias for each of its places: [`Tensor::layer_norm`].
///
/// ```
/// use wengert::nn::LayerNorm;
/// use wengert::prelude::*;
/// let y = LayerNorm::new(2).apply(&Tensor::from([[1.0, 3.0], [5.0, 5.0]]));
/// assert!((y.to_vec()[1] - 1.0).abs() < 1e-4 && y.to_vec()[2] == 0.0);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct LayerNorm {
    /// As long as the last axis.
    pub gain: Tensor,
    /// As long as the last axis.
    pub bias: Tensor,
    /// Added to the variance.
    #[tree(static)]
    pub epsilon: f64,
}

impl LayerNorm {
    /// Gain 1, bias 0, epsilon 1e-5.
    ///
    /// ```
    /// assert_eq!(wengert::nn::LayerNorm::new(3).gain.to_vec(), [1.0; 3]);
    /// ```
    ///
    /// # Panics
    /// If that does not fit in memory.
    #[track_caller]
    pub fn new(size: usize) -> Self {
        LayerNorm { gain: Tensor::ones(&[size]), bias: Tensor::zeros(&[size]), epsilon: 1e-5 }
    }

    /// The normalised tensor.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::LayerNorm;
    /// let norm = LayerNorm { epsilon: 3.0, ..LayerNorm::new(2) };
    /// assert_eq!(norm.apply(&Tensor::from([1.0, 3.0])).to_vec(), [-0.5, 0.5]);
    /// ```
    ///
    /// # Panics
    /// If the last axis does not have the size of the layer.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Tensor {
        x.layer_norm(&self.gain, &self.bias, self.epsilon)
    }
}

/// A mean square of 1 along the last axis, then a gain for each of its places: [`Tensor::rms_norm`].
///
/// ```
/// use wengert::nn::RmsNorm;
/// use wengert::prelude::*;
/// let y = RmsNorm::new(2).apply(&Tensor::from([1.0, 7.0]));
/// assert!((y.to_vec()[1] - 1.4).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct RmsNorm {
    /// As long as the last axis.
    pub gain: Tensor,
    /// Added to the mean square.
    #[tree(static)]
    pub epsilon: f64,
}

impl RmsNorm {
    /// Gain 1, epsilon 1e-6.
    ///
    /// ```
    /// assert_eq!(wengert::nn::RmsNorm::new(3).gain.to_vec(), [1.0; 3]);
    /// ```
    ///
    /// # Panics
    /// If that does not fit in memory.
    #[track_caller]
    pub fn new(size: usize) -> Self {
        RmsNorm { gain: Tensor::ones(&[size]), epsilon: 1e-6 }
    }

    /// The normalised tensor.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::RmsNorm;
    /// let norm = RmsNorm { epsilon: 0.0, ..RmsNorm::new(2) };
    /// assert!((norm.apply(&Tensor::from([3.0, 3.0])).to_vec()[0] - 1.0).abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// If the last axis does not have the size of the layer.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Tensor {
        x.rms_norm(&self.gain, self.epsilon)
    }
}

/// Mean 0 and variance 1 over all of a group of neighbouring channels, then a gain and a bias for each channel; of tensors
/// (batch, channels, …) (Y. Wu, K. He, *Group normalization*, 2018). One group is all channels together; as many groups as
/// channels is instance normalisation.
///
/// ```
/// use wengert::nn::GroupNorm;
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 3.0, 1.0, 3.0, 0.0, 0.0, 8.0, 8.0]).reshape((1, 4, 2));
/// let y = GroupNorm::new(4, 2).apply(&x);
/// for (y, want) in y.to_vec().into_iter().zip([-1.0, 1.0, -1.0, 1.0, -1.0, -1.0, 1.0, 1.0]) {
///     assert!((y - want).abs() < 1e-4);
/// }
/// ```
#[derive(Clone, Debug, Tree)]
pub struct GroupNorm {
    /// (channels)
    pub gain: Tensor,
    /// (channels)
    pub bias: Tensor,
    /// How many groups the channels are.
    #[tree(static)]
    pub groups: usize,
    /// Added to the variance.
    #[tree(static)]
    pub epsilon: f64,
}

impl GroupNorm {
    /// Gain 1, bias 0, epsilon 1e-5.
    ///
    /// ```
    /// let norm = wengert::nn::GroupNorm::new(6, 3);
    /// assert_eq!((norm.gain.shape(), norm.groups), (&[6][..], 3));
    /// ```
    ///
    /// # Panics
    /// If the groups do not divide the channels, or it does not fit in memory.
    #[track_caller]
    pub fn new(channels: usize, groups: usize) -> Self {
        assert!(
            groups > 0 && channels.is_multiple_of(groups),
            "`GroupNorm::new`: {groups} groups do not divide {channels} channels"
        );
        GroupNorm { gain: Tensor::ones(&[channels]), bias: Tensor::zeros(&[channels]), groups, epsilon: 1e-5 }
    }

    /// The normalised tensor.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::GroupNorm;
    /// let norm = GroupNorm { epsilon: 3.0, ..GroupNorm::new(2, 1) };
    /// assert_eq!(norm.apply(&Tensor::from([[1.0, 3.0]])).to_vec(), [-0.5, 0.5]);
    /// ```
    ///
    /// # Panics
    /// If the second axis does not have as many channels as the layer.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Tensor {
        let channels = self.gain.size();
        check_channels("GroupNorm", x, channels).or_raise();
        let size: usize = x.shape()[2..].iter().product::<usize>() * (channels / self.groups);
        let line = Tensor::zeros_of(x.dtype(), &[size]);
        let groups = x.reshape(&signed(&[x.shape()[0], self.groups, size]));
        let normal = groups.layer_norm(&(&line + 1.0), &line, self.epsilon).reshape(&signed(x.shape()));
        let by_channel = |parameter: &Tensor| parameter.reshape(&[&[-1], &vec![1; x.rank() - 2][..]].concat());
        normal * by_channel(&self.gain) + by_channel(&self.bias)
    }
}

/// Mean 0 and variance 1 of every channel over a batch, then a gain and a bias for each channel; of tensors
/// (batch, channels, …) (S. Ioffe, C. Szegedy, *Batch normalization*, 2015).
///
/// While it is trained it normalises by the batch, and gives running statistics along; a trained model normalises by these. They
/// are frozen leaves: saved and loaded, and left alone by optimisers. Nothing changes behind your back: what
/// [`BatchNorm::train`] gives is put in its place by [`BatchNorm::updated`].
///
/// ```
/// use wengert::nn::BatchNorm;
/// use wengert::prelude::*;
/// let norm = BatchNorm::new(2);
/// let x = Tensor::from([[1.0, 0.0], [3.0, 8.0]]);
/// let (loss, statistics, slope) = value_and_grad_aux(&norm, |norm| {
///     let (y, statistics) = norm.train(&x);
///     (y.relu().sum(), statistics)
/// });
/// assert!((loss.item() - 2.0).abs() < 1e-4);
/// assert_eq!(slope.mean.to_vec(), [0.0, 0.0]);
/// let norm = norm.updated(statistics);
/// assert_eq!(norm.mean.to_vec(), [0.1 * 2.0, 0.1 * 4.0]);
/// assert_eq!(norm.apply(&x).shape(), [2, 2]);
/// ```
#[derive(Clone, Debug, Tree)]
pub struct BatchNorm {
    /// (channels)
    pub gain: Tensor,
    /// (channels)
    pub bias: Tensor,
    /// The running mean of every channel.
    #[tree(frozen)]
    pub mean: Tensor,
    /// The running variance of every channel.
    #[tree(frozen)]
    pub variance: Tensor,
    /// The weight of a batch in the running statistics.
    #[tree(static)]
    pub momentum: f64,
    /// Added to the variance.
    #[tree(static)]
    pub epsilon: f64,
}

impl BatchNorm {
    /// Gain 1, bias 0, running mean 0 and variance 1, of which each batch replaces a tenth; epsilon 1e-5.
    ///
    /// ```
    /// let norm = wengert::nn::BatchNorm::new(2);
    /// assert_eq!((norm.mean.to_vec(), norm.variance.to_vec()), (vec![0.0; 2], vec![1.0; 2]));
    /// ```
    ///
    /// # Panics
    /// If that does not fit in memory.
    #[track_caller]
    pub fn new(channels: usize) -> Self {
        let (zeros, ones) = (Tensor::zeros(&[channels]), Tensor::ones(&[channels]));
        let (gain, bias) = (ones.clone(), zeros.clone());
        BatchNorm { gain, bias, mean: zeros, variance: ones, momentum: 0.1, epsilon: 1e-5 }
    }

    /// The tensor normalised by the running statistics: what a trained model computes.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::BatchNorm;
    /// let norm = BatchNorm { epsilon: 3.0, ..BatchNorm::new(1) };
    /// assert_eq!(norm.apply(&Tensor::from([[1.0], [4.0]])).to_vec(), [0.5, 2.0]);
    /// ```
    ///
    /// # Panics
    /// If the second axis does not have as many channels as the layer.
    #[track_caller]
    pub fn apply(&self, x: &Tensor) -> Tensor {
        let (flat, shape) = self.flat(x);
        let y = flat.batch_norm_with([&self.mean, &self.variance], &self.gain, &self.bias, self.epsilon);
        y.reshape(&shape).move_axis(-1, 1)
    }

    /// The tensor normalised by its own statistics, and the running mean and variance after it: `(1 - m) r + m b` with the
    /// momentum `m` and those of the batch, `b`, whose variance has the divisor n - 1 there. No derivative flows to them.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::BatchNorm;
    /// let norm = BatchNorm { epsilon: 0.0, momentum: 0.5, ..BatchNorm::new(1) };
    /// let (y, [mean, variance]) = norm.train(&Tensor::from([[1.0], [3.0]]));
    /// assert_eq!((y.to_vec(), mean.to_vec(), variance.to_vec()), (vec![-1.0, 1.0], vec![1.0], vec![1.5]));
    /// ```
    ///
    /// # Panics
    /// As [`BatchNorm::apply`].
    #[track_caller]
    pub fn train(&self, x: &Tensor) -> (Tensor, [Tensor; 2]) {
        let (flat, shape) = self.flat(x);
        let y = flat.batch_norm(&self.gain, &self.bias, self.epsilon);
        let count = flat.shape()[0] as f64;
        let batch = flat.detach();
        let variance = batch.var_over(0, 0) * (count / (count - 1.0).max(1.0));
        let blend = |running: &Tensor, new: Tensor| (running * (1.0 - self.momentum) + new * self.momentum).detach();
        let statistics = [blend(&self.mean, batch.mean_over(0)), blend(&self.variance, variance)];
        (y.reshape(&shape).move_axis(-1, 1), statistics)
    }

    /// The layer with these running statistics, mean and variance.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::nn::BatchNorm;
    /// let norm = BatchNorm::new(1).updated([Tensor::from([2.0]), Tensor::from([9.0])]);
    /// assert_eq!(norm.mean.to_vec(), [2.0]);
    /// ```
    #[must_use]
    pub fn updated(self, [mean, variance]: [Tensor; 2]) -> Self {
        BatchNorm { mean, variance, ..self }
    }

    /// A row for each place with a column for each channel, and the shape with the channels last.
    #[track_caller]
    fn flat(&self, x: &Tensor) -> (Tensor, Vec<isize>) {
        let channels = self.gain.size();
        check_channels("BatchNorm", x, channels).or_raise();
        let last = x.move_axis(1, -1);
        let places: usize = last.shape()[..last.rank() - 1].iter().product();
        let shape = signed(last.shape());
        (last.reshape(&signed(&[places, channels])), shape)
    }
}

/// That the second axis has this many channels.
#[track_caller]
fn check_channels(layer: &str, x: &Tensor, channels: usize) -> Result<(), Error> {
    if x.shape().get(1) == Some(&channels) {
        return Ok(());
    }
    let why = format!("it has to be (batch, channels, …) with {channels} channels");
    Err(Error::new(ErrorKind::Misfit, layer, why).of([x.ty()]).at(Some(Location::caller())))
}

/// Lengths as `reshape` takes them.
fn signed(shape: &[usize]) -> Vec<isize> {
    shape.iter().map(|length| length.cast_signed()).collect()
}
