"""The losses of the rows of `indexing.json` in PyTorch, each of what it is differentiated by and the rest."""

from functools import partial

import torch
import torch.nn.functional as F


def taken(x, indices):
    """The rows at indices: of single numbers by `index_select`, of longer ones as an embedding, which is faster."""
    return x.index_select(0, indices) if x.dim() == 1 else F.embedding(indices, x)


def added(rows, places, count):
    """The sums of the rows of each place."""
    return rows.new_zeros((count, *rows.shape[1:])).index_add(0, places, rows)


def graph(parameters, sources, targets):
    h, w, u = parameters
    messages = torch.tanh(torch.cat([taken(h, sources), taken(h, targets)], 1) @ w)
    return torch.tanh(torch.addmm(added(messages, targets, h.shape[0]), h, u)).square().mean()


def weighted(parameters, sources, targets):
    h, weights = parameters
    return torch.tanh(h + added(taken(h, sources) * weights, targets, h.shape[0])).square().mean()


def segment(s, x, segments):
    return added(x, segments, s["segments"]).square().mean()


def peaks(s, x, segments):
    places = segments.reshape(-1, *[1] * (x.dim() - 1)).expand_as(x)
    nothing = x.new_zeros((s["segments"], *x.shape[1:]))
    return nothing.scatter_reduce(0, places, x, "amax", include_self=False).square().mean()


def gather(x, indices, weights):
    return (taken(x, indices).square() * weights).mean()


def embedding(parameters, texts, y):
    words, last = parameters
    return F.cross_entropy(F.embedding(texts, words).mean(1) @ last, y)


def top(x, weights):
    return (torch.topk(x, weights.shape[0])[0] * weights).sum()


def depthwise(parameters):
    x, k = parameters
    return F.conv2d(x, k, padding=1, groups=x.shape[1]).square().mean()


def pool(s, x):
    return F.max_pool2d(x, 3, s["stride"]).square().mean()


def average(s, x):
    return F.avg_pool2d(x, 3, s["stride"]).square().mean()


def middle(x):
    return x.sum(1).square().mean()


def logs(x):
    return x.square().sum(1).log1p().mean()


def loss(row):
    """The loss of a row; sizes that are part of the program come first."""
    function = globals()[row["kind"]]
    return partial(function, row["sizes"]) if row["kind"] in ("segment", "peaks", "pool", "average") else function
