"""The losses of the rows of `indexing.json` in JAX, each of what it is differentiated by and the rest."""

from functools import partial, reduce

import jax
import jax.numpy as jnp
from jax import lax


def taken(x, indices):
    """The rows at indices that are known to exist: nothing is checked or filled."""
    return x.at[indices].get(mode="promise_in_bounds")


def graph(parameters, sources, targets):
    h, w, u = parameters
    messages = jnp.tanh(jnp.concatenate([taken(h, sources), taken(h, targets)], axis=1) @ w)
    received = jax.ops.segment_sum(messages, targets, h.shape[0], mode="promise_in_bounds")
    return jnp.mean(jnp.square(jnp.tanh(h @ u + received)))


def weighted(parameters, sources, targets):
    h, weights = parameters
    received = jax.ops.segment_sum(taken(h, sources) * weights, targets, h.shape[0], mode="promise_in_bounds")
    return jnp.mean(jnp.square(jnp.tanh(h + received)))


def segment(s, x, segments):
    sums = jax.ops.segment_sum(
        x, segments, s["segments"], indices_are_sorted=bool(s["sorted"]), mode="promise_in_bounds"
    )
    return jnp.mean(jnp.square(sums))


def peaks(s, x, segments):
    largest = jax.ops.segment_max(
        x, segments, s["segments"], indices_are_sorted=bool(s["sorted"]), mode="promise_in_bounds"
    )
    return jnp.mean(jnp.square(largest))


def gather(x, indices, weights):
    return jnp.mean(jnp.square(taken(x, indices)) * weights)


def embedding(parameters, texts, y):
    words, last = parameters
    z = jnp.mean(taken(words, texts), axis=1) @ last
    return jnp.mean(jax.nn.logsumexp(z, axis=-1) - jnp.take_along_axis(z, y[:, None], axis=-1)[:, 0])


def top(x, weights):
    return jnp.sum(lax.top_k(x, weights.shape[0])[0] * weights)


def slices(x, stride, count):
    """The nine arrays of what the places of a window see, window after window."""
    last = stride * (count - 1) + 1
    return [x[:, :, i : i + last : stride, j : j + last : stride] for i in range(3) for j in range(3)]


def depthwise(parameters):
    x, k = parameters
    padded = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    # A sum of shifted products: the general convolution takes several times as long for groups of one channel.
    seen = slices(padded, 1, x.shape[-1])
    weights = k.reshape(-1, 9).T[:, :, None, None]
    return jnp.mean(jnp.square(sum(part * w for part, w in zip(seen, weights))))


def pool(s, x):
    # Maxima of slices: the gradient of a reduced window is a scan.
    seen = slices(x, s["stride"], (s["size"] - 3) // s["stride"] + 1)
    return jnp.mean(jnp.square(reduce(jnp.maximum, seen)))


def average(s, x):
    seen = slices(x, s["stride"], (s["size"] - 3) // s["stride"] + 1)
    return jnp.mean(jnp.square(sum(seen) / 9.0))


def middle(x):
    return jnp.mean(jnp.square(jnp.sum(x, axis=1)))


def logs(x):
    return jnp.mean(jnp.log1p(jnp.sum(jnp.square(x), axis=1)))


def loss(row):
    """The loss of a row; sizes that are part of the program come first."""
    function = globals()[row["kind"]]
    return partial(function, row["sizes"]) if row["kind"] in ("segment", "peaks", "pool", "average") else function
