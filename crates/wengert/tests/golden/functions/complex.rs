//! The family `fft` over numbers: the functions of complex numbers, element by element.

use wengert::{Complex, Real};

use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, one, several};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "complex_exp" => pair(args, |z| z.exp()),
        "complex_log" => pair(args, |z| z.ln()),
        "complex_abs" => {
            let z = numbers(args, 0)?;
            one(Array::vector(z.into_iter().map(Complex::<R>::abs).collect()))
        }
        "complex_mul_conj" => pairs(args, |z, w| z * w.conj()),
        "complex_div" => pairs(args, |z, w| z / w),
        other => unsupported(other),
    }
}

fn numbers<R: Real>(args: &Args<R>, first: usize) -> Result<Vec<Complex<R>>, Trouble> {
    let (re, im) = (args.vector(first)?, args.vector(first + 1)?);
    Ok(re.iter().zip(im).map(|(&re, &im)| Complex::new(re, im)).collect())
}

fn parts<R: Real>(z: &[Complex<R>]) -> Outputs<R> {
    several([z.iter().map(|z| z.re).collect(), z.iter().map(|z| z.im).collect()].map(Array::vector))
}

fn pair<R: Real>(args: &Args<R>, f: impl Fn(Complex<R>) -> Complex<R>) -> Outputs<R> {
    parts(&numbers(args, 0)?.into_iter().map(f).collect::<Vec<Complex<R>>>())
}

fn pairs<R: Real>(args: &Args<R>, f: impl Fn(Complex<R>, Complex<R>) -> Complex<R>) -> Outputs<R> {
    let both = numbers(args, 0)?.into_iter().zip(numbers(args, 2)?);
    parts(&both.map(|(z, w)| f(z, w)).collect::<Vec<Complex<R>>>())
}
