"""ADBench's problems in PyTorch: eager, and compiled where its compiler takes the function."""

from functools import partial
from math import lgamma, log, pi

import measure

ASKED = measure.start(["torch"])

import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch.func import grad, jacfwd, jacrev, jvp, vmap  # noqa: E402

import problems  # noqa: E402

torch.set_default_dtype(torch.float64)
torch.set_num_threads(ASKED.threads)


def on_device(tree):
    return tuple(torch.as_tensor(array) for array in tree)


def form(objective, derivative):
    def flat(tree):
        leaves = tree if isinstance(tree, (tuple, list)) else (tree,)
        return torch.cat([leaf.detach().reshape(-1) for leaf in leaves]).numpy()

    def primal():
        with torch.no_grad():
            return objective()

    return primal, derivative, flat


def gradient(objective, parameters, *rest):
    """Reverse mode as eager PyTorch has it: a graph of this call, swept once."""
    leaves = tuple(leaf.clone().requires_grad_() for leaf in parameters)

    def derivative():
        return torch.autograd.grad(objective(leaves, *rest), leaves)

    return form(lambda: objective(parameters, *rest), derivative)


def compiled(objective, parameters, *rest):
    """Value and gradient as one function of PyTorch's compiler."""
    both = torch.compile(lambda p, *rest: grad(objective)(p, *rest), dynamic=False)
    return form(lambda: objective(parameters, *rest), lambda: both(parameters, *rest))


def works(make, *inputs):
    """A form whose first call succeeds, else none: the compiler does not take every function."""
    try:
        made = make(*inputs)
        made[0](), made[1]()
        return made
    except Exception:  # noqa: BLE001
        return None


def tried(forms):
    return {name: made for name, made in forms.items() if made is not None}


# ---- gmm ------------------------------------------------------------------------------------------


def gmm(data):
    d, k, n = data.d, data.k, data.n
    columns, rows = torch.triu_indices(d, d, 1)
    freedom = d + data.m + 1
    norm = freedom * d * (log(data.gamma) - 0.5 * log(2)) - (
        0.25 * d * (d - 1) * log(pi) + sum(lgamma(freedom / 2 + (1 - j) / 2) for j in range(1, d + 1))
    )
    constant = -n * d / 2 * log(2 * pi) + k * norm

    def factors(icf):
        q = torch.exp(icf[:, :d])
        lower = torch.zeros(k, d, d).index_put((torch.arange(k)[:, None], rows, columns), icf[:, d:])
        return q, lower + torch.diag_embed(q)

    def posterior(p, distances, q):
        alpha, _, icf = p
        sums = icf[:, :d].sum(1)
        fit = torch.logsumexp(alpha + sums - 0.5 * distances, 1).sum() - n * torch.logsumexp(alpha, 0)
        spread = (q * q).sum() + (icf[:, d:] ** 2).sum()
        return fit + data.m * sums.sum() - 0.5 * data.gamma**2 * spread + constant

    def by_product(p, x):
        q, factor = factors(p[2])
        means = torch.einsum("kji,ki->kj", factor, p[1])
        turned = (x @ factor.reshape(k * d, d).T).reshape(n, k, d) - means
        return posterior(p, (turned**2).sum(2), q)

    def by_components(p, x):
        q, factor = factors(p[2])
        means = torch.einsum("kji,ki->kj", factor, p[1])
        turned = torch.matmul(x, factor.transpose(1, 2)) - means[:, None]
        return posterior(p, (turned**2).sum(2).T, q)

    def in_turn(p, x):
        q, factor = factors(p[2])
        distances = [((x @ f.T - f @ mu) ** 2).sum(1) for f, mu in zip(factor, p[1])]
        return posterior(p, torch.stack(distances, 1), q)

    def by_groups(p, x):
        # As ours is: a column for each sample with a one before it, the rows of the factors in groups.
        q, factor = factors(p[2])
        distances = 0.0
        for begin, end in problems.groups(d, 8):
            part = factor[:, begin:end, :end]
            means = torch.einsum("kji,ki->kj", part, p[1][:, :end])
            maps = torch.cat([-means[..., None], part], 2).reshape(-1, end + 1)
            turned = (maps @ x[: end + 1]).reshape(k, end - begin, n)
            distances = distances + (turned**2).sum(1)
        return posterior(p, distances.T, q)

    p, (x,) = on_device((data.alpha, data.mu, data.icf)), on_device((data.x,))
    (samples,) = on_device((np.concatenate([np.ones((1, n)), data.x.T]),))
    forms = {"one product": by_product, "products by component": by_components, "components in turn": in_turn}
    made = {name: gradient(objective, p, x) for name, objective in forms.items()}
    made["groups of rows"] = gradient(by_groups, p, samples)
    made["groups of rows, compiled"] = works(compiled, by_groups, p, samples)
    made["one product, compiled"] = works(compiled, by_product, p, x)
    made["products by component, compiled"] = works(compiled, by_components, p, x)
    return tried(made)


# ---- ba -------------------------------------------------------------------------------------------


def ba(data):
    def reprojections(z, feature):
        """All observations; the numbers of an observation are columns."""
        r, x = z[:, :3], z[:, 11:14] - z[:, 3:6]
        square = (r * r).sum(1, keepdim=True)
        turns = square != 0
        angle = torch.sqrt(torch.where(turns, square, 1.0))
        axis = r / angle
        sin, cos = torch.sin(angle), torch.cos(angle)
        along = (axis * x).sum(1, keepdim=True)
        far = x * cos + torch.linalg.cross(axis, x) * sin + axis * along * (1 - cos)
        x = torch.where(turns, far, x + torch.linalg.cross(r, x))
        place = x[:, :2] / x[:, 2:]
        rho = (place * place).sum(1, keepdim=True)
        scale = z[:, 6:7] * (1 + z[:, 9:10] * rho + z[:, 10:11] * rho * rho)
        return z[:, 14:] * (scale * place + z[:, 7:9] - feature)

    def depends_on(p, cameras, points):
        return torch.cat([p[0][cameras], p[1][points], p[2][:, None]], 1)

    def errors(p, features, cameras, points):
        return reprojections(depends_on(p, cameras, points), features), 1 - p[2] ** 2

    def of_weights(w):
        return grad(lambda w: (1 - w**2).sum())(w)

    def eager(p, features, cameras, points):
        """An observation's errors depend on its own row alone: two reverse sweeps give all blocks."""
        z = depends_on(p, cameras, points).requires_grad_()
        pairs = reprojections(z, features).sum(0)
        rows = [torch.autograd.grad(pair, z, retain_graph=k == 0)[0] for k, pair in enumerate(pairs)]
        return torch.cat([torch.stack(rows, 1).reshape(-1), of_weights(p[2])])

    def functional(mode, p, features, cameras, points):
        one = lambda z, feature: reprojections(z[None], feature[None])[0]
        blocks = vmap(mode(one))(depends_on(p, cameras, points), features)
        return torch.cat([blocks.reshape(-1), of_weights(p[2])])

    p = on_device((data.cameras, data.points, data.weights))
    rest = on_device((data.features, data.camera_of, data.point_of))
    made = {"two sweeps": form(lambda: errors(p, *rest), lambda: eager(p, *rest))}
    for mode in (jacrev, jacfwd):
        call = torch.compile(partial(functional, mode), dynamic=False)
        made[f"{mode.__name__}, compiled"] = works(
            lambda call=call: form(lambda: errors(p, *rest), lambda: call(p, *rest))
        )
    return tried(made)


# ---- lstm -----------------------------------------------------------------------------------------


def lstm(data):
    """Layer by layer: the gates that depend on the layer below are computed for all steps at once."""

    def loss(p, state, sequence):
        main, extra = p
        given = sequence[:-1] * extra[0]
        for (weight, bias), (h, s) in zip(main, state):
            forget = torch.sigmoid(given * weight[0] + bias[0]).unbind()
            output = torch.sigmoid(given * weight[2] + bias[2]).unbind()
            hidden = []
            for f, o in zip(forget, output):
                taken = torch.sigmoid(torch.addcmul(bias[1], h, weight[1]))
                s = torch.addcmul(s * f, taken, torch.tanh(torch.addcmul(bias[3], h, weight[3])))
                h = o * torch.tanh(s)
                hidden.append(h)
            given = torch.stack(hidden)
        predicted = given * extra[1] + extra[2]
        norm = torch.log(2 + torch.exp(predicted).sum(1, keepdim=True))
        return -(sequence[1:] * (predicted - norm)).sum() / ((data.c - 1) * data.b)

    p, rest = on_device((data.main, data.extra)), on_device((data.state, data.sequence))
    return {"layer by layer": gradient(loss, p, *rest)}


# ---- hand -----------------------------------------------------------------------------------------


def hand(data):
    bones = len(data.parents)
    about_x, about_z = (torch.as_tensor(places) for places in problems.angles(bones))
    levels = problems.generations(data.parents)
    chosen = [torch.tensor(level) for level in levels]
    before = [
        torch.tensor([levels[depth - 1].index(data.parents[bone]) for bone in level]) if depth else None
        for depth, level in enumerate(levels)
    ]
    order = torch.argsort(torch.cat(chosen))
    points, base, inverse, skin = on_device((data.points, data.base, data.inverse, data.skin))
    corners = None if data.corners is None else [torch.as_tensor(rows) for rows in data.corners]

    def rotation(r):
        square = (r * r).sum()
        turns = square >= 1e-8
        angle = torch.sqrt(torch.where(turns, square, 1.0))
        x, y, z = (r / angle).unbind()
        s, c = torch.sin(angle), torch.cos(angle)
        v = 1 - c
        rows = [
            torch.stack([x * x * v + c, x * y * v - z * s, x * z * v + y * s]),
            torch.stack([x * y * v + z * s, y * y * v + c, y * z * v - x * s]),
            torch.stack([x * z * v - y * s, z * y * v + x * s, z * z * v + c]),
        ]
        return torch.where(turns, torch.stack(rows), torch.eye(3))

    def posed(theta):
        angles = torch.cat([theta, torch.zeros(1)])
        x, z = angles[about_x][:, None], angles[about_z][:, None]
        sx, cx, sz, cz = torch.sin(x), torch.cos(x), torch.sin(z), torch.cos(z)
        b = [base[:, :, c] for c in range(4)]
        across = b[1] * cz - b[0] * sz
        relative = torch.stack([b[0] * cz + b[1] * sz, across * cx + b[2] * sx, b[2] * cx - across * sx, b[3]], 2)
        absolute = []
        for level, rows in zip(chosen, before):
            own = relative[level]
            absolute.append(own if rows is None else absolute[-1][rows] @ own)
        transforms = (torch.cat(absolute)[order] @ inverse)[:, :3]
        turned = torch.einsum("ri,bic->bcr", rotation(theta[:3]), transforms).reshape(4 * bones, 3)
        return skin @ turned + theta[3:6]

    def distances(theta, us):
        vertices = posed(theta)
        if corners is None:
            return points - vertices
        a, b, c = (vertices[rows] for rows in corners)
        u1, u2 = us[:, :1], us[:, 1:]
        return points - (u1 * a + u2 * b + (1 - u1 - u2) * c)

    def columns(theta, us):
        pose = vmap(lambda direction: jvp(lambda theta: distances(theta, us), (theta,), (direction,))[1])(torch.eye(26))
        if corners is None:
            return pose
        along = lambda direction: jvp(
            lambda us: distances(theta, us), (us,), (direction.expand(us.shape),)
        )[1]
        return torch.cat([vmap(along)(torch.eye(2)), pose])

    theta, us = on_device((data.theta, data.us))
    call = torch.compile(columns, dynamic=False)
    made = {
        "directions": form(lambda: distances(theta, us), lambda: columns(theta, us)),
        "directions, compiled": works(lambda: form(lambda: distances(theta, us), lambda: call(theta, us))),
    }
    return tried(made)


RECORD = problems.cases(ASKED.dir)[ASKED.only]
measure.report(ASKED, {"gmm": gmm, "ba": ba, "lstm": lstm, "hand": hand}[RECORD["kind"]](problems.read(ASKED.dir, RECORD)))
