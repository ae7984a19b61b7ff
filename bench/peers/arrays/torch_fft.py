"""The losses of the rows of `fft.json` in PyTorch, each of the inputs of `fft.py`."""

import torch


def power(y, weights):
    """The mean of the weighted squares of absolute values."""
    return ((y.real.square() + y.imag.square()) * weights).mean()


def spectrum(x, weights):
    return power(torch.fft.rfft(x), weights)


def filtered(factors, x):
    return torch.fft.irfft(torch.fft.rfft(x) * factors, x.shape[-1]).square().mean()


def plane(z, weights):
    return power(torch.fft.fft2(z), weights)


def line(z, weights):
    return power(torch.fft.fft(z), weights)


LOSSES = {f.__name__: f for f in (spectrum, filtered, plane, line)}
