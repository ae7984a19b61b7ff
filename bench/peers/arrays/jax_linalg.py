"""The losses of the rows of `linalg.json` in JAX, each of the inputs of `linalg.py`."""

import jax
import jax.numpy as jnp
from jax.scipy import linalg


def definite(u):
    """A symmetric positive definite matrix of any one whose eigenvalues are small."""
    return u + jnp.swapaxes(u, -1, -2) + 4.0 * jnp.eye(u.shape[-1], dtype=u.dtype)


def solves(parameters):
    u, b = parameters
    return jnp.mean(jnp.square(linalg.cho_solve((jnp.linalg.cholesky(definite(u)), True), b)))


def svds(x, weights, scale):
    u, s, vt = jnp.linalg.svd(x, full_matrices=False)
    return jnp.mean((u @ vt) * weights) + jnp.mean(s * scale)


def dets(u, weights):
    return jnp.mean(jnp.linalg.det(u + jnp.eye(u.shape[-1], dtype=u.dtype)) * weights)


def logdet(parameters, weights):
    u, b = parameters
    a = u + 3.0 * jnp.eye(u.shape[0], dtype=u.dtype)
    # One factorisation for both.
    lu, pivots = linalg.lu_factor(a)
    log = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(lu))))
    return log + jnp.mean(linalg.lu_solve((lu, pivots), b) * weights)


def qr(x, vector, weights):
    q, r = jnp.linalg.qr(x)
    return jnp.mean(jnp.square(vector @ q) * weights) + jnp.mean(jnp.square(r))


def eigh(u, scale, vector, weights):
    values, vectors = jnp.linalg.eigh(u + u.T)
    return jnp.mean(values * scale) + jnp.mean(jnp.square(vector @ vectors) * weights)


def expm(x):
    return jnp.mean(jnp.square(linalg.expm(x)))


def process(logarithms, distances, y):
    height, width, noise = jnp.exp(logarithms)
    covariance = height * jnp.exp(-0.5 / (width * width) * distances) + noise * jnp.eye(len(y), dtype=y.dtype)
    factor = jnp.linalg.cholesky(covariance)
    z = linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * jnp.sum(jnp.square(z)) + jnp.sum(jnp.log(jnp.diagonal(factor)))


def product(operands):
    a, b = operands
    c = a @ b
    return jnp.mean(jnp.square(c.real) + jnp.square(c.imag))


def product_by_three(operands):
    # Neither system takes three real products.
    return product(operands)


LOSSES = {f.__name__: f for f in (solves, svds, dets, logdet, qr, eigh, expm, process, product, product_by_three)}
