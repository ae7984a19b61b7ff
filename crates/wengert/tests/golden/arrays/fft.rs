//! The family `fft`: Fourier transforms, and complex functions as pairs of real arrays.

use wengert::signal::{Fourier, circular_convolve, fft2, ifft, irfft, rfft};
use wengert::{Complex, Tensor};

use super::{ArrayArgs, Results, one, unsupported};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    let pair = |z: Complex<Tensor>| Ok(vec![z.re, z.im]);
    let power = |z: Complex<Tensor>| z.norm_sqr();
    match function {
        "fft" | "fft_axis" => {
            let axis = args.attrs.whole("axis", Some(-1))?;
            pair(Fourier::new().axes(&[axis]).fft(complex(args)?))
        }
        "ifft" => pair(ifft(complex(args)?)),
        "fft2" => pair(fft2(complex(args)?)),
        "rfft" => pair(rfft(args.first()?)),
        "irfft" => one(irfft(complex(args)?, args.attrs.count("n")?)),
        "circular_convolution" => {
            let [x, y] = args.all()?;
            one(circular_convolve(x, y))
        }
        "power_spectrum_sum" => {
            let power = power(rfft(args.first()?));
            let weights = Tensor::arange(1.0, power.size() as f64 + 1.0, 1.0);
            one((power * weights).sum())
        }
        "log_power" => one(power(rfft(args.first()?)).log1p()),
        "complex_exp" => pair(complex(args)?.exp()),
        "complex_log" => pair(complex(args)?.ln()),
        "complex_abs" => one(complex(args)?.abs()),
        "complex_mul_conj" => {
            let [z, w] = two(args)?;
            pair(z * w.conj())
        }
        "complex_div" => {
            let [z, w] = two(args)?;
            pair(z / w)
        }
        other => unsupported(other),
    }
}

fn complex(args: &ArrayArgs) -> Result<Complex<Tensor>, crate::array::Trouble> {
    let [re, im] = args.all()?;
    Ok(Complex::new(re.clone(), im.clone()))
}

fn two(args: &ArrayArgs) -> Result<[Complex<Tensor>; 2], crate::array::Trouble> {
    let [a, b, c, d] = args.all()?;
    Ok([Complex::new(a.clone(), b.clone()), Complex::new(c.clone(), d.clone())])
}
