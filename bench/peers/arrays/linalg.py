"""Inputs of the rows of `linalg.json`: factorisations, functions of matrices, complex products.

What is differentiated by is any matrix: the programs make it symmetric or positive definite, so that every system is asked
for the same derivative, whichever half it reads.
"""

import numpy as np

from data import uniform


def square(shape, seed, dtype):
    """Matrices whose eigenvalues do not grow with their size."""
    return uniform(shape, seed, dtype, shape[-1] ** -0.5)


def solves(s, dtype):
    """Matrices and right-hand sides, many of both."""
    n = s["side"]
    return [square((s["count"], n, n), 4000, dtype), uniform((s["count"], n, 1), 4001, dtype)],


def svds(s, dtype):
    """Matrices; weights of their orthogonal factors, and of their singular values."""
    n = s["side"]
    x = uniform((s["count"], n, n), 4010, dtype)
    return x, uniform((s["count"], n, n), 4011, dtype), uniform((s["count"], n), 4012, dtype)


def dets(s, dtype):
    """Matrices; weights of their determinants."""
    n = s["side"]
    return square((s["count"], n, n), 4090, dtype), uniform((s["count"],), 4091, dtype)


def logdet(s, dtype):
    """A matrix and a right-hand side; weights of the solution."""
    n = s["side"]
    return [square((n, n), 4020, dtype), uniform((n,), 4021, dtype)], uniform((n,), 4022, dtype)


def qr(s, dtype):
    """A tall matrix; a vector, and weights of its components."""
    m, n = s["rows"], s["columns"]
    return uniform((m, n), 4030, dtype), uniform((m,), 4031, dtype), uniform((n,), 4032, dtype)


def eigh(s, dtype):
    """A matrix; weights of its eigenvalues; a vector, and weights of its components."""
    n = s["side"]
    return square((n, n), 4040, dtype), *[uniform((n,), 4041 + k, dtype) for k in range(3)]


def expm(s, dtype):
    """A matrix."""
    return uniform((s["side"], s["side"]), 4050, dtype, 2.0 * s["side"] ** -0.5)


def process(s, dtype):
    """Logarithms of height, width and noise; squares of distances; observations."""
    x = uniform((s["points"], s["inputs"]), 4060, dtype)
    distances = sum(np.square(x[:, None, k] - x[None, :, k]) for k in range(s["inputs"]))
    return uniform((3,), 4061, dtype, 0.5), distances, uniform((s["points"],), 4062, dtype)


def product(s, dtype):
    """Two complex matrices."""
    n = s["side"]
    parts = [uniform((n, n), 4070 + k, dtype, n**-0.5) for k in range(4)]
    return [parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]],


def product_by_three(s, dtype):
    """The same; by how many real products is up to each system."""
    return product(s, dtype)
