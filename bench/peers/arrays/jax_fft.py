"""The losses of the rows of `fft.json` in JAX, each of the inputs of `fft.py`."""

import jax.numpy as jnp


def power(y, weights):
    """The mean of the weighted squares of absolute values."""
    return jnp.mean((jnp.square(y.real) + jnp.square(y.imag)) * weights)


def spectrum(x, weights):
    return power(jnp.fft.rfft(x), weights)


def filtered(factors, x):
    return jnp.mean(jnp.square(jnp.fft.irfft(jnp.fft.rfft(x) * factors, x.shape[-1])))


def plane(z, weights):
    return power(jnp.fft.fft2(z), weights)


def line(z, weights):
    return power(jnp.fft.fft(z), weights)


LOSSES = {f.__name__: f for f in (spectrum, filtered, plane, line)}
