"""The array workloads in PyTorch: `--system torch` runs eagerly, `--system torch-compile` through torch.compile."""

import os

from measure import Case, norm, report, start

KEY, ASKED = start()

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
import torch.utils.checkpoint  # noqa: E402
from torch import func  # noqa: E402

import data  # noqa: E402
import tables  # noqa: E402
import torch_batches  # noqa: E402
import torch_fft  # noqa: E402
import torch_indexing  # noqa: E402
import torch_linalg  # noqa: E402

torch.set_num_threads(ASKED.threads)
COMPILED = ASKED.system == "torch-compile"


def built(function):
    """The function, compiled if that is asked for."""
    return torch.compile(function, fullgraph=True, dynamic=False) if COMPILED else function


def leaves(tree):
    match tree:
        case torch.Tensor():
            return [tree]
        case dict():
            return [leaf for value in tree.values() for leaf in leaves(value)]
        case _:
            return [leaf for value in tree for leaf in leaves(value)]


def norm_of(tree):
    return norm([leaf.detach().resolve_conj().numpy() for leaf in leaves(tree)])


def tensor(a):
    return torch.from_numpy(np.ascontiguousarray(a)).clone()


def tensors(tree):
    """The system's arrays of a tree of NumPy's."""
    match tree:
        case np.ndarray():
            return tensor(tree)
        case dict():
            return {name: tensors(value) for name, value in tree.items()}
        case _:
            return [tensors(value) for value in tree]


def without_gradient(function, *arguments):
    """A call that records nothing."""

    def call():
        with torch.no_grad():
            return function(*arguments)

    return call


def backward_of(loss, parameters, *rest):
    """A call that gives value and gradient through the autograd of tensors, for a loss that may be compiled."""
    wanted = leaves(parameters)
    for leaf in wanted:
        leaf.requires_grad_()
    loss = built(loss)

    def call():
        value = loss(parameters, *rest)
        return value, torch.autograd.grad(value, wanted)

    return call


def transformed(loss, parameters, *rest):
    """A call that gives value and gradient through function transforms, compiled as a whole if at all."""
    both = built(func.grad_and_value(loss))

    def call():
        gradient, value = both(parameters, *rest)
        return value, gradient

    return call


def value_and_gradient(loss, parameters, *rest, way=backward_of):
    """The case of a loss: value and gradient with respect to its first argument."""
    primal = without_gradient(built(loss), parameters, *rest)
    derivative = way(loss, parameters, *rest)

    def check():
        value, gradient = derivative()
        return value.item(), norm_of(gradient)

    return Case(primal, derivative, check)


def derivative_of(primal, derivative, *inputs):
    """The case of any derivative: numbers of a primal that is no loss are squared and added up."""
    primal = without_gradient(built(primal), *inputs)
    derivative = without_gradient(built(derivative), *inputs)
    return Case(primal, derivative, lambda: (number_of(primal()), norm_of(derivative())))


def number_of(value):
    return value.item() if value.dim() == 0 else value.double().square().sum().item()


def of_row(row):
    """The case of a row of a table."""
    inputs = tensors(tables.inputs(row))
    if row["kind"] in torch_batches.DERIVATIVES:
        return derivative_of(*torch_batches.DERIVATIVES[row["kind"]], *inputs)
    losses = {**torch_batches.LOSSES, **torch_linalg.LOSSES, **torch_fft.LOSSES}
    return value_and_gradient(losses[row["kind"]] if row["kind"] in losses else torch_indexing.loss(row), *inputs)


# ---- W1, W2: a step of training ----


def perceptron_loss(parameters, x, y):
    h = x
    for k in range(0, len(parameters) - 2, 2):
        h = torch.relu(torch.addmm(parameters[k + 1], h, parameters[k]))
    return F.cross_entropy(torch.addmm(parameters[-1], h, parameters[-2]), y)


def perceptron(sizes, count, seed):
    parameters, x, y = tensors(data.perceptron(sizes, count, seed))
    own = [p.clone() for p in parameters]
    if COMPILED:

        def step(parameters, x, y):
            gradient, value = func.grad_and_value(perceptron_loss)(parameters, x, y)
            for p, g in zip(parameters, gradient):
                p.sub_(g, alpha=0.01)
            return value

        compiled = built(step)

        def derivative():
            with torch.no_grad():
                return compiled(own, x, y)

    else:
        both = backward_of(perceptron_loss, own, x, y)

        def derivative():
            value, gradient = both()
            with torch.no_grad():
                torch._foreach_add_(own, gradient, alpha=-0.01)
            return value

    case = value_and_gradient(perceptron_loss, parameters, x, y)
    return Case(case.primal, derivative, case.check)


# ---- W3 ----


def cnn_loss(parameters, x, y):
    k1, c1, k2, c2, w3, b3, w4, b4 = parameters
    h = torch.relu(F.conv2d(x, k1, c1))
    h = F.max_pool2d(torch.relu(F.conv2d(h, k2, c2)), 2)
    h = h.permute(0, 2, 3, 1).reshape(h.shape[0], -1)
    h = torch.relu(torch.addmm(b3, h, w3))
    return F.cross_entropy(torch.addmm(b4, h, w4), y)


def cnn():
    parameters, x, y = tensors(data.cnn())
    # The layout that the convolutions of processors prefer; kernels as (out, in, height, width).
    for k in (0, 2):
        parameters[k] = parameters[k].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    x = x.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return value_and_gradient(cnn_loss, parameters, x, y)


# ---- W4 ----


def gpt_loss(p, text, target):
    def norm(h, gain, shift):
        return F.layer_norm(h, (128,), gain, shift, 1e-5)

    def dense(h, w, b):
        return torch.addmm(b, h.reshape(-1, w.shape[0]), w).view(*h.shape[:-1], -1)

    batch, tokens = text.shape
    h = F.embedding(text, p["embedding"]) + p["positions"]
    for b in p["blocks"]:
        u = dense(norm(h, b["gains"][0], b["shifts"][0]), b["qkv"], b["qkv_bias"])
        q, k, v = u.view(batch, tokens, 3, 4, 32).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        h = h + dense(a.transpose(1, 2).reshape(batch, tokens, 128), b["out"], b["out_bias"])
        u = dense(norm(h, b["gains"][1], b["shifts"][1]), b["up"], b["up_bias"])
        h = h + dense(F.gelu(u, approximate="tanh"), b["down"], b["down_bias"])
    logits = norm(h, p["gain"], p["shift"]).reshape(-1, 128) @ p["head"]
    return F.cross_entropy(logits, target.reshape(-1))


# ---- W5 ----


def lstm_loss(parameters, x, y):
    wx, wh, b = parameters
    inputs = x @ wx + b
    h = c = torch.zeros_like(x[0])
    states = []
    for given in inputs:
        i, f, g, o = torch.chunk(given + h @ wh, 4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        states.append(h)
    return (torch.stack(states) - y).square().mean()


# ---- W6 ----


def burgers_loss(parameters, t, x):
    def field(t, x):
        h = torch.stack([t, x], 1)
        for k in range(0, len(parameters) - 2, 2):
            h = torch.tanh(h @ parameters[k] + parameters[k + 1])
        return (h @ parameters[-2] + parameters[-1])[:, 0]

    # Points do not meet, so that a direction of ones is the derivative at each.
    one = torch.ones_like(t)
    _, u_t = func.jvp(lambda t: field(t, x), (t,), (one,))
    (u, u_x), (_, u_xx) = func.jvp(lambda x: func.jvp(lambda x: field(t, x), (x,), (one,)), (x,), (one,))
    residual = u_t + u * u_x - (0.01 / torch.pi) * u_xx
    at_start = field(torch.zeros_like(t), x) + torch.sin(torch.pi * x)
    return residual.square().mean() + at_start.square().mean()


# ---- W7 ----


def logistic_loss(w, x, y):
    # softplus(-z) is -logsigmoid(z), whose second derivative is the faster one here.
    return -F.logsigmoid(y * (x @ w)).mean() + 0.0005 * w.square().sum()


def logistic_hessian():
    w, x, y, _ = tensors(data.logistic())
    # Reverse over reverse: several times faster here than func.hessian, which is jacfwd(jacrev(f)).
    derivative = without_gradient(built(func.jacrev(func.jacrev(logistic_loss))), w, x, y)
    primal = without_gradient(built(logistic_loss), w, x, y)
    return Case(primal, derivative, lambda: (primal().item(), norm_of(derivative())))


def logistic_product():
    w, x, y, v = tensors(data.logistic())
    if COMPILED:

        def slope(w, v, x, y):
            return func.grad(logistic_loss)(w, x, y) @ v

        derivative = without_gradient(built(func.grad(slope)), w, v, x, y)
    else:
        point = w.clone().requires_grad_()

        def derivative():
            (gradient,) = torch.autograd.grad(logistic_loss(point, x, y), point, create_graph=True)
            return torch.autograd.grad(gradient, point, v)[0]

    def check():
        hv = derivative()
        return torch.dot(v, hv).item(), norm_of(hv)

    return Case(without_gradient(built(logistic_loss), w, x, y), derivative, check)


# ---- W8 ----


def chain_loss(x):
    y = 0.5 * x + 0.1
    a = torch.tanh(y)
    b = torch.exp(-(a * a))
    c = torch.log(1.0 + b * b)
    e = c * y + a
    s = 1.0 / (1.0 + torch.exp(-e))
    g = torch.sqrt(s * s + 0.25)
    return (g * torch.tanh(e)).mean()


# ---- W9 ----


def mixture_loss(parameters, x, constant, rows, columns):
    alpha, mu, icf = parameters
    (n, d), k = x.shape, mu.shape[0]
    logs, lower = icf[:, :d], icf[:, d:]
    q = torch.exp(logs)
    factors = torch.diag_embed(q).index_put((torch.arange(k)[:, None], rows, columns), lower)
    centred = x - mu[:, None]
    scaled = torch.bmm(centred, factors.transpose(1, 2))
    terms = (alpha + logs.sum(1))[:, None] - 0.5 * scaled.square().sum(2)
    fit = torch.logsumexp(terms, 0).sum() - n * torch.logsumexp(alpha, 0)
    return fit + 0.5 * (q.square().sum() + lower.square().sum()) + constant


def mixture():
    parameters, x, constant = data.mixture()
    rows, columns = (tensor(places) for places in data.lower_places(64))
    constant = torch.tensor(constant, dtype=torch.float64)
    return value_and_gradient(mixture_loss, tensors(parameters), tensor(x), constant, rows, columns)


# ---- W10 ----


def greeks_loss(parameters, normals):
    price, volatility, rate = parameters
    dt = 1.0 / 64
    drift, width = (rate - volatility * volatility / 2) * dt, volatility * dt**0.5
    s = price.expand(normals.shape[1])
    total = torch.zeros_like(s)
    for z in normals:
        s = s * torch.exp(drift + width * z)
        total = total + s
    return torch.exp(-rate) * torch.clamp(total / 64 - 100.0, min=0.0).mean()


# ---- W11 ----


def hand(q):
    """Twelve numbers from six angles and six lengths: rows of a product of matrices, without its constant last row."""
    m = [[1.0 if row == column else 0.0 for column in range(4)] for row in range(3)]
    for j in range(6):
        theta, length, d = q[..., j], q[..., 6 + j], data.ARM_OFFSETS[j]
        c, s = torch.cos(theta), torch.sin(theta)
        ca, sa = float(np.cos(data.ARM_TWISTS[j])), float(np.sin(data.ARM_TWISTS[j]))
        joint = [[c, -s * ca, s * sa, length * c], [s, c * ca, -c * sa, length * s], [0.0, sa, ca, d]]
        m = [
            [
                row[0] * joint[0][k] + row[1] * joint[1][k] + row[2] * joint[2][k] + (row[3] if k == 3 else 0.0)
                for k in range(4)
            ]
            for row in m
        ]
    return torch.stack([m[0][3], m[1][3], m[2][3], *m[0][:3], *m[1][:3], *m[2][:3]], -1)


def arm():
    q = tensor(data.arm())
    # Reverse mode is as fast as forward mode here, and torch.compile takes only this one.
    primal = without_gradient(built(hand), q)
    derivative = without_gradient(built(func.vmap(func.jacrev(hand))), q)
    return Case(primal, derivative, lambda: (primal().square().sum().item(), norm_of(derivative())))


# ---- W12 ----


def heat_steps(u, count):
    for _ in range(count):
        wide = F.pad(u, (1, 1, 1, 1))
        neighbours = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
        u = u + 0.2 * (neighbours - 4.0 * u) - 0.05 * u**3
    return u


def heat_loss(u, target):
    return 0.5 * (heat_steps(u, 500) - target).square().mean()


def heat_loss_in_blocks(u, target):
    for _ in range(20):
        u = torch.utils.checkpoint.checkpoint(heat_steps, u, 25, use_reentrant=False)
    return 0.5 * (u - target).square().mean()


def case(key):
    match key:
        case "W1:f32":
            return perceptron((784, 512, 512, 10), 128, 100)
        case "W2:f32":
            return perceptron((64, 64, 10), 32, 200)
        case "W3:f32":
            return cnn()
        case "W4:f32":
            return value_and_gradient(gpt_loss, *tensors(data.gpt()))
        case "W5:f32":
            return value_and_gradient(lstm_loss, *tensors(data.lstm()))
        case "W6:f32" | "W6:f64":
            dtype = np.float32 if key.endswith("f32") else np.float64
            return value_and_gradient(burgers_loss, *tensors(data.burgers(dtype)), way=transformed)
        case "W7a:f64":
            return logistic_hessian()
        case "W7b:f64":
            return logistic_product()
        case "W8:f32":
            return value_and_gradient(chain_loss, tensor(data.uniform((ASKED.size,), 800, np.float32, 2.0)))
        case "W9:f64":
            return mixture()
        case "W10:f64":
            return value_and_gradient(greeks_loss, *tensors(data.greeks()))
        case "W11:f64":
            return arm()
        case "W12a:f64":
            return value_and_gradient(heat_loss, *tensors(data.heat()))
        case "W12b:f64":
            return value_and_gradient(heat_loss_in_blocks, *tensors(data.heat()))
        case _:
            return of_row(tables.ROWS[key])


report(KEY, ASKED, case(KEY))
