//! stub
use crate::math;
use std::ops::*;
/// stub
#[allow(missing_docs)]
pub trait Float: Copy + PartialOrd + PartialEq + Default + Add<Output=Self> + Sub<Output=Self> + Mul<Output=Self> + Div<Output=Self> + Neg<Output=Self> + Send + Sync + std::fmt::Debug + 'static {
 fn from_f64(x: f64) -> Self; fn to_f64(self) -> f64;
 #[inline(always)] fn exp(self) -> Self { Self::from_f64(math::exp([self.to_f64()])[0]) }
 #[inline(always)] fn exp2(self) -> Self { Self::from_f64(math::exp2([self.to_f64()])[0]) }
 #[inline(always)] fn expm1(self) -> Self { Self::from_f64(math::expm1([self.to_f64()])[0]) }
 #[inline(always)] fn ln(self) -> Self { Self::from_f64(math::ln([self.to_f64()])[0]) }
 #[inline(always)] fn log2(self) -> Self { Self::from_f64(math::log2([self.to_f64()])[0]) }
 #[inline(always)] fn log10(self) -> Self { Self::from_f64(math::log10([self.to_f64()])[0]) }
 #[inline(always)] fn log1p(self) -> Self { Self::from_f64(math::log1p([self.to_f64()])[0]) }
 #[inline(always)] fn sin(self) -> Self { Self::from_f64(math::sin([self.to_f64()])[0]) }
 #[inline(always)] fn cos(self) -> Self { Self::from_f64(math::cos([self.to_f64()])[0]) }
 #[inline(always)] fn tan(self) -> Self { Self::from_f64(math::tan([self.to_f64()])[0]) }
 #[inline(always)] fn asin(self) -> Self { Self::from_f64(math::asin([self.to_f64()])[0]) }
 #[inline(always)] fn acos(self) -> Self { Self::from_f64(math::acos([self.to_f64()])[0]) }
 #[inline(always)] fn atan(self) -> Self { Self::from_f64(math::atan([self.to_f64()])[0]) }
 #[inline(always)] fn sinh(self) -> Self { Self::from_f64(math::sinh([self.to_f64()])[0]) }
 #[inline(always)] fn cosh(self) -> Self { Self::from_f64(math::cosh([self.to_f64()])[0]) }
 #[inline(always)] fn tanh(self) -> Self { Self::from_f64(math::tanh([self.to_f64()])[0]) }
 #[inline(always)] fn sigmoid(self) -> Self { Self::from_f64(math::sigmoid([self.to_f64()])[0]) }
 #[inline(always)] fn softplus(self) -> Self { Self::from_f64(math::softplus([self.to_f64()])[0]) }
 #[inline(always)] fn erf(self) -> Self { Self::from_f64(math::erf([self.to_f64()])[0]) }
 #[inline(always)] fn erfc(self) -> Self { Self::from_f64(math::erfc([self.to_f64()])[0]) }
 #[inline(always)] fn sqrt(self) -> Self { Self::from_f64(math::sqrt([self.to_f64()])[0]) }
 #[inline(always)] fn cbrt(self) -> Self { Self::from_f64(math::cbrt([self.to_f64()])[0]) }
 #[inline(always)] fn abs(self) -> Self { Self::from_f64(self.to_f64().abs()) }
 #[inline(always)] fn sign(self) -> Self { Self::from_f64({let x=self.to_f64(); if x>0.0 {1.0} else if x<0.0 {-1.0} else {x}}) }
 #[inline(always)] fn rsqrt(self) -> Self { Self::from_f64(1.0/math::sqrt([self.to_f64()])[0]) }
 #[inline(always)] fn sech2(self) -> Self { Self::from_f64({let c=math::cosh([self.to_f64()])[0]; 1.0/(c*c)}) }
 #[inline(always)] fn asinh(self) -> Self { Self::from_f64(self.to_f64().asinh()) }
 #[inline(always)] fn acosh(self) -> Self { Self::from_f64(self.to_f64().acosh()) }
 #[inline(always)] fn atanh(self) -> Self { Self::from_f64(self.to_f64().atanh()) }
 #[inline(always)] fn relu(self) -> Self { Self::from_f64({let x=self.to_f64(); if x > 0.0 || x.is_nan() {x} else {0.0}}) }
 #[inline(always)] fn gelu_erf(self) -> Self { Self::from_f64({let x=self.to_f64(); 0.5*x*math::erfc([-x*std::f64::consts::FRAC_1_SQRT_2])[0]}) }
 #[inline(always)] fn gelu_tanh(self) -> Self { Self::from_f64({let x=self.to_f64(); 0.5*x*(1.0+math::tanh([(2.0/std::f64::consts::PI).sqrt()*(x+0.044715*x*x*x)])[0])}) }
 #[inline(always)] fn silu(self) -> Self { Self::from_f64({let x=self.to_f64(); x*math::sigmoid([x])[0]}) }
 #[inline(always)] fn floor(self) -> Self { Self::from_f64(self.to_f64().floor()) }
 #[inline(always)] fn ceil(self) -> Self { Self::from_f64(self.to_f64().ceil()) }
 #[inline(always)] fn round(self) -> Self { Self::from_f64(self.to_f64().round_ties_even()) }
 #[inline(always)] fn trunc(self) -> Self { Self::from_f64(self.to_f64().trunc()) }
 #[inline(always)] fn pow(self, y: Self) -> Self { Self::from_f64(math::pow([self.to_f64()],[y.to_f64()])[0]) }
 #[inline(always)] fn atan2(self, y: Self) -> Self { Self::from_f64(math::atan2([self.to_f64()],[y.to_f64()])[0]) }
 #[inline(always)] fn hypot(self, y: Self) -> Self { Self::from_f64(math::hypot([self.to_f64()],[y.to_f64()])[0]) }
 #[inline(always)] fn max(self, y: Self) -> Self { Self::from_f64({let (x,y)=(self.to_f64(),y.to_f64()); if x>y {x} else if y>x {y} else if x==y {if x.is_sign_positive() {x} else {y}} else {f64::NAN}}) }
 #[inline(always)] fn min(self, y: Self) -> Self { Self::from_f64({let (x,y)=(self.to_f64(),y.to_f64()); if x<y {x} else if y<x {y} else if x==y {if x.is_sign_negative() {x} else {y}} else {f64::NAN}}) }
 #[inline(always)] fn copysign(self, y: Self) -> Self { Self::from_f64(self.to_f64().copysign(y.to_f64())) }
 #[inline(always)] fn logaddexp(self, y: Self) -> Self { Self::from_f64({let (x,y)=(self.to_f64(),y.to_f64()); let m=f64::max(x,y); m+math::log1p([math::exp([-(x-y).abs()])[0]])[0]}) }
 #[inline(always)] fn xlogy(self, y: Self) -> Self { Self::from_f64({let (x,y)=(self.to_f64(),y.to_f64()); if x==0.0 && !y.is_nan() {0.0} else {x*math::ln([y])[0]}}) }
}
impl Float for f64 { #[inline(always)] fn from_f64(x: f64) -> f64 { x } #[inline(always)] fn to_f64(self) -> f64 { self } }
impl Float for f32 { #[inline(always)] fn from_f64(x: f64) -> f32 { x as f32 } #[inline(always)] fn to_f64(self) -> f64 { f64::from(self) } }
