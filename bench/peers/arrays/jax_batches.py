"""The programs of the rows of `batches.json` in JAX.

A kind is a loss, or what is computed, its primal, with what is timed, each of the inputs of `batches.py`.
"""

import jax
import jax.numpy as jnp


# ---- many derivatives at once ----


def network_loss(weights, x, y):
    w, u = weights
    return jnp.mean(jnp.square(jnp.tanh(x @ w) @ u - y))


def products(weights, vectors, x, y):
    def product(vector):
        return jax.jvp(lambda w: jax.grad(network_loss)(w, x, y), (weights,), (vector,))[1]

    return jax.vmap(product)(vectors)


def layers(x, w, u):
    return jnp.tanh(jnp.tanh(x @ w) @ u)


def ring(x):
    return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + 8.0


def valley(x):
    left, right = x[:-1], x[1:]
    return jnp.sum(100.0 * jnp.square(right - jnp.square(left)) + jnp.square(1.0 - left))


def at_points(function, way):
    """The values at points, and their Jacobians."""
    primal = lambda points, *rest: jax.vmap(lambda x: function(x, *rest))(points)
    return primal, lambda points, *rest: jax.vmap(way(lambda x: function(x, *rest)))(points)


DERIVATIVES = {
    "directions": (lambda weights, vectors, x, y: network_loss(weights, x, y), products),
    "network": at_points(layers, jax.jacrev),
    "lorenz": at_points(ring, jax.jacfwd),
    "rosenbrock": (valley, jax.hessian(valley)),
}

# ---- losses ----


def second(u):
    middle = u[1:-1]
    return jnp.mean(jnp.square(u[2:] - 2.0 * middle + u[:-2] - jnp.square(middle)))


def laplace(u):
    middle = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return jnp.mean(jnp.square(around - 4.0 * middle - jnp.square(middle)))


def upwind(u):
    slope = u[:, 1:] - u[:, :-1]
    return jnp.mean(jnp.square(u[:, 1:] * slope)) + jnp.mean(jnp.square(u[:, ::2] * u[:, 1::2]))


def contraction(spec):
    return lambda operands: jnp.mean(jnp.square(jnp.einsum(spec, *operands, optimize="optimal")))


def heads(weights, x):
    q, k, v = [x @ w for w in weights]
    return jnp.mean(jnp.tanh(q) * jax.nn.sigmoid(k) + jnp.square(v))


LOSSES = {
    "second": second,
    "laplace": laplace,
    "upwind": upwind,
    "three": contraction("ij,jk,kl->il"),
    "bilinear": contraction("bi,kij,bj->bk"),
    "four": contraction("ijk,ia,jb,kc->abc"),
    "heads": heads,
}
