"""The array workloads in JAX: every derivative and every loss is one jitted function of run-time arguments."""

import os

from measure import Case, norm, report, start

KEY, ASKED = start()
# One thread: no pool of Eigen's; else a pool of as many threads as the process may use processors.
os.environ["XLA_FLAGS"] = (
    f"--xla_cpu_multi_thread_eigen={'true' if ASKED.threads > 1 else 'false'} "
    f"intra_op_parallelism_threads={ASKED.threads} inter_op_parallelism_threads={ASKED.threads}"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402

import data  # noqa: E402
import jax_batches  # noqa: E402
import jax_fft  # noqa: E402
import jax_indexing  # noqa: E402
import jax_linalg  # noqa: E402
import tables  # noqa: E402

jax.config.update("jax_enable_x64", KEY.endswith("f64"))


def on_device(tree):
    """Copies of all arrays in the system's own."""
    return jax.tree.map(lambda a: jax.block_until_ready(jnp.array(a)), tree)


def norm_of(tree):
    return norm([np.asarray(leaf) for leaf in jax.tree.leaves(tree)])


def waiting(function, *arguments):
    """A call of a jitted function that returns when its result is there."""
    return lambda: jax.block_until_ready(function(*arguments))


def value_and_gradient(loss, parameters, *rest):
    """The case of a loss: value and gradient with respect to its first argument."""
    both = jax.jit(jax.value_and_grad(loss))
    derivative = waiting(both, parameters, *rest)

    def check():
        value, gradient = derivative()
        return value, norm_of(gradient)

    return Case(waiting(jax.jit(loss), parameters, *rest), derivative, check)


def derivative_of(primal, derivative, *inputs):
    """The case of any derivative: numbers of a primal that is no loss are squared and added up."""
    primal, derivative = waiting(jax.jit(primal), *inputs), waiting(jax.jit(derivative), *inputs)

    def check():
        value = primal()
        return value if value.ndim == 0 else norm_of(value) ** 2, norm_of(derivative())

    return Case(primal, derivative, check)


def of_row(row):
    """The case of a row of a table."""
    inputs = on_device(tables.inputs(row))
    if row["kind"] in jax_batches.DERIVATIVES:
        return derivative_of(*jax_batches.DERIVATIVES[row["kind"]], *inputs)
    losses = {**jax_batches.LOSSES, **jax_linalg.LOSSES, **jax_fft.LOSSES}
    return value_and_gradient(losses[row["kind"]] if row["kind"] in losses else jax_indexing.loss(row), *inputs)


def cross_entropy(z, y):
    chosen = jnp.take_along_axis(z, y[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(z, axis=-1) - chosen)


def layers(parameters):
    return zip(parameters[::2], parameters[1::2])


# ---- W1, W2: a step of training ----


def perceptron_loss(parameters, x, y):
    *hidden, last = layers(parameters)
    h = x
    for w, b in hidden:
        h = jax.nn.relu(h @ w + b)
    return cross_entropy(h @ last[0] + last[1], y)


def perceptron(sizes, count, seed):
    parameters, x, y = on_device(data.perceptron(sizes, count, seed))

    def step(parameters, x, y):
        value, gradient = jax.value_and_grad(perceptron_loss)(parameters, x, y)
        return value, [p - 0.01 * g for p, g in zip(parameters, gradient)]

    # The parameters are given away, so that they can be updated in place.
    step = jax.jit(step, donate_argnums=0)
    state = {"parameters": [jnp.array(p) for p in parameters]}

    def derivative():
        value, state["parameters"] = step(state["parameters"], x, y)
        return jax.block_until_ready((value, state["parameters"]))

    case = value_and_gradient(perceptron_loss, parameters, x, y)
    return Case(case.primal, derivative, case.check)


# ---- W3 ----


def shifted_products(h, k):
    """The convolution as a sum over its window: of one channel, faster than the general one."""
    height, width = h.shape[1] - 2, h.shape[2] - 2
    return sum(h[:, i : i + height, j : j + width] @ k[i, j] for i in range(3) for j in range(3))


def pooled(h):
    """Pooling as maxima of split axes: its gradient needs no scan of windows. Ties are at zero, behind the relu."""
    h = h.reshape(h.shape[0], 12, 2, 12, 2, 64)
    top, bottom = h[:, :, 0], h[:, :, 1]
    pairs = jnp.maximum(top, bottom)
    return jnp.maximum(pairs[:, :, :, 0], pairs[:, :, :, 1])


def cnn_loss(parameters, x, y):
    k1, c1, k2, c2, w3, b3, w4, b4 = parameters
    h = jax.nn.relu(shifted_products(x, k1) + c1)
    h = lax.conv_general_dilated(h, k2, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = pooled(jax.nn.relu(h + c2))
    h = jax.nn.relu(h.reshape(h.shape[0], -1) @ w3 + b3)
    return cross_entropy(h @ w4 + b4, y)


# ---- W4 ----


def layer_norm(h, gain, shift):
    mean = h.mean(-1, keepdims=True)
    centred = h - mean
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return centred * lax.rsqrt(variance + 1e-5) * gain + shift


def attention(qkv):
    q, k, v = jnp.moveaxis(qkv.reshape(8, 128, 3, 4, 32), (2, 3), (0, 2))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 32**0.5
    visible = jnp.tril(jnp.ones((128, 128), bool))
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bhkd->bqhd", weights, v).reshape(-1, 128)


def gpt_loss(p, text, target):
    # One axis of all positions: with two, the products of the backward pass are slower.
    h = (p["embedding"][text] + p["positions"]).reshape(-1, 128)
    for b in p["blocks"]:
        u = layer_norm(h, b["gains"][0], b["shifts"][0]) @ b["qkv"] + b["qkv_bias"]
        h = h + attention(u) @ b["out"] + b["out_bias"]
        u = layer_norm(h, b["gains"][1], b["shifts"][1]) @ b["up"] + b["up_bias"]
        h = h + jax.nn.gelu(u, approximate=True) @ b["down"] + b["down_bias"]
    return cross_entropy(layer_norm(h, p["gain"], p["shift"]) @ p["head"], target.reshape(-1))


# ---- W5 ----


def lstm_loss(parameters, x, y):
    wx, wh, b = parameters
    # The products with the inputs, which wait for nothing, are one.
    inputs = x @ wx + b

    def step(state, given):
        h, c = state
        i, f, g, o = jnp.split(given + h @ wh, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zeros = jnp.zeros(x.shape[1:], x.dtype)
    return jnp.mean(jnp.square(lax.scan(step, (zeros, zeros), inputs)[1] - y))


# ---- W6 ----


def burgers_loss(parameters, t, x):
    def field(t, x):
        *hidden, last = layers(parameters)
        h = jnp.stack([t, x], axis=1)
        for w, b in hidden:
            h = jnp.tanh(h @ w + b)
        return (h @ last[0] + last[1])[:, 0]

    # Points do not meet, so that a direction of ones is the derivative at each.
    one = jnp.ones_like(t)
    _, u_t = jax.jvp(lambda t: field(t, x), (t,), (one,))
    (u, u_x), (_, u_xx) = jax.jvp(lambda x: jax.jvp(lambda x: field(t, x), (x,), (one,)), (x,), (one,))
    residual = u_t + u * u_x - (0.01 / jnp.pi) * u_xx
    at_start = field(jnp.zeros_like(t), x) + jnp.sin(jnp.pi * x)
    return jnp.mean(jnp.square(residual)) + jnp.mean(jnp.square(at_start))


# ---- W7 ----


def logistic_loss(w, x, y):
    return jnp.mean(jax.nn.softplus(-y * (x @ w))) + 0.0005 * jnp.sum(jnp.square(w))


def logistic_hessian():
    w, x, y, _ = on_device(data.logistic())
    # jax.hessian is jacfwd(jacrev(f)).
    derivative = waiting(jax.jit(jax.hessian(logistic_loss)), w, x, y)
    primal = waiting(jax.jit(logistic_loss), w, x, y)
    return Case(primal, derivative, lambda: (primal(), norm_of(derivative())))


def logistic_product():
    w, x, y, v = on_device(data.logistic())

    def product(w, v, x, y):
        return jax.jvp(lambda w: jax.grad(logistic_loss)(w, x, y), (w,), (v,))[1]

    derivative = waiting(jax.jit(product), w, v, x, y)

    def check():
        hv = derivative()
        return jnp.vdot(v, hv), norm_of(hv)

    return Case(waiting(jax.jit(logistic_loss), w, x, y), derivative, check)


# ---- W8 ----

# Numbers of a block that stays in the cache: over the whole array at once XLA keeps intermediates in memory and takes
# three times as long.
BLOCK = 1 << 14


def chain_sum(x):
    y = 0.5 * x + 0.1
    a = jnp.tanh(y)
    b = jnp.exp(-(a * a))
    c = jnp.log(1.0 + b * b)
    e = c * y + a
    s = 1.0 / (1.0 + jnp.exp(-e))
    g = jnp.sqrt(s * s + 0.25)
    return jnp.sum(g * jnp.tanh(e))


def chain():
    x = on_device(data.uniform((ASKED.size,), 800, np.float32, 2.0))

    def both(x):
        values, gradient = lax.map(jax.value_and_grad(chain_sum), x.reshape(-1, min(BLOCK, x.size)))
        return jnp.sum(values) / x.size, (gradient / x.size).reshape(-1)

    # The loss alone is fused as it is.
    primal = waiting(jax.jit(lambda x: chain_sum(x) / x.size), x)
    derivative = waiting(jax.jit(both), x)

    def check():
        value, gradient = derivative()
        return value, norm_of(gradient)

    return Case(primal, derivative, check)


# ---- W9 ----


def mixture_loss(parameters, x, constant):
    alpha, mu, icf = parameters
    (n, d), k = x.shape, mu.shape[0]
    logs, lower = icf[:, :d], icf[:, d:]
    q = jnp.exp(logs)
    rows, columns = data.lower_places(d)
    diagonal = np.arange(d)
    factors = jnp.zeros((k, d, d)).at[:, rows, columns].set(lower).at[:, diagonal, diagonal].set(q)
    centred = x[None] - mu[:, None]
    scaled = jnp.einsum("kji,kni->knj", factors, centred)
    terms = (alpha + logs.sum(1))[:, None] - 0.5 * jnp.square(scaled).sum(2)
    fit = jax.nn.logsumexp(terms, axis=0).sum() - n * jax.nn.logsumexp(alpha)
    return fit + 0.5 * (jnp.square(q).sum() + jnp.square(lower).sum()) + constant


# ---- W10 ----


def greeks_loss(parameters, normals):
    price, volatility, rate = parameters
    dt = 1.0 / 64
    drift, width = (rate - volatility * volatility / 2) * dt, volatility * dt**0.5

    def step(state, z):
        s, total = state
        s = s * jnp.exp(drift + width * z)
        return (s, total + s), None

    start = (jnp.full(normals.shape[1], price), jnp.zeros(normals.shape[1]))
    (_, total), _ = lax.scan(step, start, normals)
    return jnp.exp(-rate) * jnp.mean(jnp.maximum(total / 64 - 100.0, 0.0))


# ---- W11 ----


def hand(q):
    """Twelve numbers from six angles and six lengths: rows of a product of matrices, without its constant last row."""
    m = [[1.0 if row == column else 0.0 for column in range(4)] for row in range(3)]
    for j in range(6):
        theta, length, d = q[j], q[6 + j], data.ARM_OFFSETS[j]
        c, s = jnp.cos(theta), jnp.sin(theta)
        ca, sa = np.cos(data.ARM_TWISTS[j]), np.sin(data.ARM_TWISTS[j])
        joint = [[c, -s * ca, s * sa, length * c], [s, c * ca, -c * sa, length * s], [0.0, sa, ca, d]]
        m = [
            [
                row[0] * joint[0][k] + row[1] * joint[1][k] + row[2] * joint[2][k] + (row[3] if k == 3 else 0.0)
                for k in range(4)
            ]
            for row in m
        ]
    return jnp.stack([m[0][3], m[1][3], m[2][3], *m[0][:3], *m[1][:3], *m[2][:3]])


def arm():
    q = on_device(data.arm())
    primal = waiting(jax.jit(jax.vmap(hand)), q)
    derivative = waiting(jax.jit(jax.vmap(jax.jacfwd(hand))), q)
    return Case(primal, derivative, lambda: (jnp.sum(jnp.square(primal())), norm_of(derivative())))


# ---- W12 ----


def heat_step(u, _):
    wide = jnp.pad(u, 1)
    neighbours = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return u + 0.2 * (neighbours - 4.0 * u) - 0.05 * u**3, None


def heat_loss(u, target):
    return 0.5 * jnp.mean(jnp.square(lax.scan(heat_step, u, length=500)[0] - target))


def heat_loss_in_blocks(u, target):
    block = jax.checkpoint(lambda u, _: lax.scan(heat_step, u, length=25))
    return 0.5 * jnp.mean(jnp.square(lax.scan(block, u, length=20)[0] - target))


def case(key):
    match key:
        case "W1:f32":
            return perceptron((784, 512, 512, 10), 128, 100)
        case "W2:f32":
            return perceptron((64, 64, 10), 32, 200)
        case "W3:f32":
            return value_and_gradient(cnn_loss, *on_device(data.cnn()))
        case "W4:f32":
            return value_and_gradient(gpt_loss, *on_device(data.gpt()))
        case "W5:f32":
            return value_and_gradient(lstm_loss, *on_device(data.lstm()))
        case "W6:f32" | "W6:f64":
            dtype = np.float32 if key.endswith("f32") else np.float64
            return value_and_gradient(burgers_loss, *on_device(data.burgers(dtype)))
        case "W7a:f64":
            return logistic_hessian()
        case "W7b:f64":
            return logistic_product()
        case "W8:f32":
            return chain()
        case "W9:f64":
            parameters, x, constant = data.mixture()
            return value_and_gradient(mixture_loss, *on_device((parameters, x)), jnp.array(constant))
        case "W10:f64":
            return value_and_gradient(greeks_loss, *on_device(data.greeks()))
        case "W11:f64":
            return arm()
        case "W12a:f64":
            return value_and_gradient(heat_loss, *on_device(data.heat()))
        case "W12b:f64":
            return value_and_gradient(heat_loss_in_blocks, *on_device(data.heat()))
        case _:
            return of_row(tables.ROWS[key])


report(KEY, ASKED, case(KEY))
