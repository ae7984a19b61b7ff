"""The programs of the rows of `batches.json` in PyTorch.

A kind is a loss, or what is computed, its primal, with what is timed, each of the inputs of `batches.py`.
"""

import torch
from torch import func

# ---- many derivatives at once ----


def network_loss(weights, x, y):
    w, u = weights
    return (torch.tanh(x @ w) @ u - y).square().mean()


def products(weights, vectors, x, y):
    def gradient(*weights):
        return func.grad(network_loss)(weights, x, y)

    # Reverse over reverse: forward mode over reverse is not compiled, and no faster.
    _, pull = func.vjp(gradient, *weights)
    return func.vmap(lambda *vector: pull(vector))(*vectors)


def layers(x, w, u):
    return torch.tanh(torch.tanh(x @ w) @ u)


def ring(x):
    return (torch.roll(x, -1) - torch.roll(x, 2)) * torch.roll(x, 1) - x + 8.0


def valley(x):
    left, right = x[:-1], x[1:]
    return (100.0 * (right - left.square()).square() + (1.0 - left).square()).sum()


def at_points(function):
    """The values at points, and their Jacobians."""
    primal = lambda points, *rest: func.vmap(lambda x: function(x, *rest))(points)
    return primal, lambda points, *rest: func.vmap(func.jacrev(lambda x: function(x, *rest)))(points)


DERIVATIVES = {
    "directions": (lambda weights, vectors, x, y: network_loss(weights, x, y), products),
    "network": at_points(layers),
    "lorenz": at_points(ring),
    # Reverse over reverse: the compiler does not take forward mode.
    "rosenbrock": (valley, func.jacrev(func.grad(valley))),
}

# ---- losses ----


def second(u):
    middle = u[1:-1]
    return (u[2:] - 2.0 * middle + u[:-2] - middle.square()).square().mean()


def laplace(u):
    middle = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return (around - 4.0 * middle - middle.square()).square().mean()


def upwind(u):
    slope = u[:, 1:] - u[:, :-1]
    return (u[:, 1:] * slope).square().mean() + (u[:, ::2] * u[:, 1::2]).square().mean()


def three(operands):
    return torch.linalg.multi_dot(operands).square().mean()


def bilinear(operands):
    x, w, y = operands
    # One product with all of the weights, then one for each point.
    xw = (x @ w.permute(1, 0, 2).reshape(x.shape[1], -1)).reshape(x.shape[0], w.shape[0], -1)
    return torch.bmm(xw, y[:, :, None]).square().mean()


def four(operands):
    # From the left: no order has fewer products.
    return torch.einsum("ijk,ia,jb,kc->abc", *operands).square().mean()


def heads(weights, x):
    q, k, v = [x @ w for w in weights]
    return (torch.tanh(q) * torch.sigmoid(k) + v.square()).mean()


LOSSES = {
    "second": second,
    "laplace": laplace,
    "upwind": upwind,
    "three": three,
    "bilinear": bilinear,
    "four": four,
    "heads": heads,
}
