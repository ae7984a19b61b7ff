"""The losses of the rows of `linalg.json` in PyTorch, each of the inputs of `linalg.py`."""

import torch


def definite(u):
    """A symmetric positive definite matrix of any one whose eigenvalues are small."""
    return u + u.mT + 4.0 * torch.eye(u.shape[-1], dtype=u.dtype)


def solves(parameters):
    u, b = parameters
    return torch.cholesky_solve(b, torch.linalg.cholesky(definite(u))).square().mean()


def svds(x, weights, scale):
    u, s, vt = torch.linalg.svd(x, full_matrices=False)
    return ((u @ vt) * weights).mean() + (s * scale).mean()


def dets(u, weights):
    return (torch.linalg.det(u + torch.eye(u.shape[-1], dtype=u.dtype)) * weights).mean()


def logdet(parameters, weights):
    u, b = parameters
    a = u + 3.0 * torch.eye(u.shape[0], dtype=u.dtype)
    # One factorisation for both.
    lu, pivots = torch.linalg.lu_factor(a)
    solved = torch.linalg.lu_solve(lu, pivots, b[:, None])[:, 0]
    return lu.diagonal().abs().log().sum() + (solved * weights).mean()


def qr(x, vector, weights):
    q, r = torch.linalg.qr(x)
    return ((vector @ q).square() * weights).mean() + r.square().mean()


def eigh(u, scale, vector, weights):
    values, vectors = torch.linalg.eigh(u + u.mT)
    return (values * scale).mean() + ((vector @ vectors).square() * weights).mean()


def expm(x):
    return torch.linalg.matrix_exp(x).square().mean()


def process(logarithms, distances, y):
    height, width, noise = torch.exp(logarithms)
    covariance = height * torch.exp(-0.5 / (width * width) * distances) + noise * torch.eye(len(y), dtype=y.dtype)
    factor = torch.linalg.cholesky(covariance)
    z = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
    return 0.5 * z.square().sum() + factor.diagonal().log().sum()


def product(operands):
    a, b = operands
    c = a @ b
    return (c.real.square() + c.imag.square()).mean()


def product_by_three(operands):
    # Neither system takes three real products.
    return product(operands)


LOSSES = {f.__name__: f for f in (solves, svds, dets, logdet, qr, eigh, expm, process, product, product_by_three)}
