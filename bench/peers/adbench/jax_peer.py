"""ADBench's problems in JAX: objective and derivative are jitted functions, each in the forms that were tried."""

import os
from functools import partial

import measure

ASKED = measure.start(["jax"])
os.environ["XLA_FLAGS"] = (
    f"--xla_cpu_multi_thread_eigen={'true' if ASKED.threads > 1 else 'false'} "
    f"intra_op_parallelism_threads={ASKED.threads} inter_op_parallelism_threads={ASKED.threads}"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.scipy.special import logsumexp  # noqa: E402
from math import lgamma, log, pi  # noqa: E402

import problems  # noqa: E402

jax.config.update("jax_enable_x64", True)


def form(objective, derivative, *inputs, flat=None):
    """Calls that wait for their results; inputs are arguments, not constants of the compiled function."""
    inputs = jax.tree.map(jnp.array, inputs)
    objective, derivative = jax.jit(objective), jax.jit(derivative)

    def flattened(tree):
        return np.concatenate([np.ravel(np.asarray(leaf)) for leaf in jax.tree.leaves(tree)])

    def calls(function):
        return lambda: jax.block_until_ready(function(*inputs))

    return calls(objective), calls(derivative), flat or flattened


# ---- gmm ------------------------------------------------------------------------------------------


def gmm(data):
    d, k, n = data.d, data.k, data.n
    columns, rows = np.triu_indices(d, 1)
    freedom = d + data.m + 1
    norm = freedom * d * (log(data.gamma) - 0.5 * log(2)) - (
        0.25 * d * (d - 1) * log(pi) + sum(lgamma(freedom / 2 + (1 - j) / 2) for j in range(1, d + 1))
    )
    constant = -n * d / 2 * log(2 * pi) + k * norm

    def factors(icf):
        q = jnp.exp(icf[:, :d])
        lower = jnp.zeros((k, d, d)).at[:, rows, columns].set(icf[:, d:])
        return q, lower + jax.vmap(jnp.diag)(q)

    def posterior(p, distances, q):
        alpha, _, icf = p
        sums = icf[:, :d].sum(1)
        terms = alpha + sums - 0.5 * distances
        fit = logsumexp(terms, axis=1).sum() - n * logsumexp(alpha)
        spread = (q * q).sum() + (icf[:, d:] ** 2).sum()
        return fit + data.m * sums.sum() - 0.5 * data.gamma**2 * spread + constant

    def by_differences(p, x):
        q, factor = factors(p[2])
        turned = jnp.einsum("kji,nki->nkj", factor, x[:, None] - p[1])
        return posterior(p, (turned**2).sum(2), q)

    def by_product(p, x):
        q, factor = factors(p[2])
        turned = (x @ factor.reshape(k * d, d).T).reshape(n, k, d) - jnp.einsum("kji,ki->kj", factor, p[1])
        return posterior(p, (turned**2).sum(2), q)

    def by_components(p, x):
        q, factor = factors(p[2])
        turned = jnp.einsum("kji,ni->knj", factor, x) - jnp.einsum("kji,ki->kj", factor, p[1])[:, None]
        return posterior(p, (turned**2).sum(2).T, q)

    def by_scan(p, x):
        q, factor = factors(p[2])
        distance = lambda pair: ((x @ pair[0].T - pair[0] @ pair[1]) ** 2).sum(1)
        return posterior(p, jax.lax.map(distance, (factor, p[1])).T, q)

    def by_rows(width):
        # As ours is: a column for each sample with a one before it, the rows of the factors in groups.
        def by_groups(p, x):
            q, factor = factors(p[2])
            distances = 0.0
            for begin, end in problems.groups(d, width):
                part = factor[:, begin:end, :end]
                means = jnp.einsum("kji,ki->kj", part, p[1][:, :end])
                maps = jnp.concatenate([-means[..., None], part], 2).reshape(-1, end + 1)
                turned = (maps @ x[: end + 1]).reshape(k, end - begin, n)
                distances += (turned**2).sum(1)
            return posterior(p, distances.T, q)

        return by_groups

    p = (data.alpha, data.mu, data.icf)
    objectives = {
        "differences": by_differences,
        "one product": by_product,
        "products by component": by_components,
        "components in turn": by_scan,
    }
    made = {name: form(objective, jax.grad(objective), p, data.x) for name, objective in objectives.items()}
    samples = np.concatenate([np.ones((1, n)), data.x.T])
    for width in (8, 16, d):
        made[f"groups of {width} rows"] = form(by_rows(width), jax.grad(by_rows(width)), p, samples)
    return made


# ---- ba -------------------------------------------------------------------------------------------


def ba(data):
    def rotated(r, x):
        square = r @ r
        turns = square != 0
        angle = jnp.sqrt(jnp.where(turns, square, 1.0))
        axis = r / angle
        sin, cos = jnp.sin(angle), jnp.cos(angle)
        far = x * cos + jnp.cross(axis, x) * sin + axis * (axis @ x) * (1 - cos)
        return jnp.where(turns, far, x + jnp.cross(r, x))

    def reprojection(z, feature):
        x = rotated(z[:3], z[11:14] - z[3:6])
        place = x[:2] / x[2]
        rho = place @ place
        return z[14] * (z[6] * (1 + z[9] * rho + z[10] * rho * rho) * place + z[7:9] - feature)

    def depends_on(p, cameras, points):
        return jnp.concatenate([p[0][cameras], p[1][points], p[2][:, None]], 1)

    def errors(p, features, cameras, points):
        pairs = jax.vmap(reprojection)(depends_on(p, cameras, points), features)
        return pairs, 1 - p[2] ** 2

    def by_rows(mode, p, features, cameras, points):
        blocks = jax.vmap(mode(reprojection))(depends_on(p, cameras, points), features)
        return jnp.concatenate([blocks.ravel(), jax.vmap(jax.grad(lambda w: 1 - w**2))(p[2])])

    def by_columns(mode, p, features, cameras, points):
        """The observations as the last axis while it is computed, which is where the compiler vectorises."""
        z = depends_on(p, cameras, points)
        blocks = jax.vmap(mode(reprojection), in_axes=(1, 1), out_axes=2)(z.T, features.T)
        return jnp.concatenate([blocks.transpose(2, 0, 1).ravel(), jax.vmap(jax.grad(lambda w: 1 - w**2))(p[2])])

    p = (data.cameras, data.points, data.weights)
    rest = (data.features, data.camera_of, data.point_of)
    return {
        f"{name}, {mode.__name__}": form(errors, partial(way, mode), p, *rest)
        for name, way in {"rows": by_rows, "columns": by_columns}.items()
        for mode in (jax.jacrev, jax.jacfwd)
    }


# ---- lstm -----------------------------------------------------------------------------------------


def lstm(data):
    def total(hidden, extra, sequence):
        predicted = hidden * extra[1] + extra[2]
        norm = jnp.log(2 + jnp.exp(predicted).sum(1, keepdims=True))
        return -(sequence[1:] * (predicted - norm)).sum() / ((data.c - 1) * data.b)

    sigmoid = lambda v: 1 / (1 + jnp.exp(-v))

    def by_layers(unroll, p, state, sequence):
        main, extra = p
        given = sequence[:-1] * extra[0]
        for (weight, bias), start in zip(main, state):
            forget = sigmoid(given * weight[0] + bias[0])
            output = sigmoid(given * weight[2] + bias[2])

            def step(carry, gates, weight=weight, bias=bias):
                h, s = carry
                s = s * gates[0] + sigmoid(h * weight[1] + bias[1]) * jnp.tanh(h * weight[3] + bias[3])
                h = gates[1] * jnp.tanh(s)
                return (h, s), h

            _, given = jax.lax.scan(step, (start[0], start[1]), (forget, output), unroll=unroll)
        return total(given, extra, sequence)

    def by_steps(unroll, p, state, sequence):
        main, extra = p

        def step(carry, x):
            after = []
            given = x * extra[0]
            for (weight, bias), (h, s) in zip(main, carry):
                forget = sigmoid(given * weight[0] + bias[0])
                output = sigmoid(given * weight[2] + bias[2])
                s = s * forget + sigmoid(h * weight[1] + bias[1]) * jnp.tanh(h * weight[3] + bias[3])
                given = output * jnp.tanh(s)
                after.append((given, s))
            return after, given

        start = [(layer[0], layer[1]) for layer in state]
        _, hidden = jax.lax.scan(step, start, sequence[:-1], unroll=unroll)
        return total(hidden, extra, sequence)

    p, rest = (data.main, data.extra), (data.state, data.sequence)
    objectives = {
        f"{name}, unrolled {unroll} times": partial(way, unroll)
        for name, way in {"layer by layer": by_layers, "step by step": by_steps}.items()
        for unroll in (1, 4)
    }
    return {name: form(objective, jax.grad(objective), p, *rest) for name, objective in objectives.items()}


# ---- hand -----------------------------------------------------------------------------------------


def hand(data):
    bones = len(data.parents)
    about_x, about_z = problems.angles(bones)
    levels = problems.generations(data.parents)
    order = np.argsort(np.concatenate(levels))

    def rotation(r):
        square = r @ r
        turns = square >= 1e-8
        angle = jnp.sqrt(jnp.where(turns, square, 1.0))
        x, y, z = r / angle
        s, c = jnp.sin(angle), jnp.cos(angle)
        v = 1 - c
        matrix = jnp.array(
            [
                [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
                [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
                [x * z * v - y * s, z * y * v + x * s, z * z * v + c],
            ]
        )
        return jnp.where(turns, matrix, jnp.eye(3))

    def posed(theta, base, inverse, skin):
        angles = jnp.concatenate([theta, jnp.zeros(1)])
        x, z = angles[about_x, None], angles[about_z, None]
        sx, cx, sz, cz = jnp.sin(x), jnp.cos(x), jnp.sin(z), jnp.cos(z)
        b = [base[:, :, c] for c in range(4)]
        across = b[1] * cz - b[0] * sz
        relative = jnp.stack([b[0] * cz + b[1] * sz, across * cx + b[2] * sx, b[2] * cx - across * sx, b[3]], 2)
        absolute = []
        for depth, level in enumerate(levels):
            own = relative[np.array(level)]
            if depth > 0:
                before = np.array([levels[depth - 1].index(data.parents[bone]) for bone in level])
                own = absolute[-1][before] @ own
            absolute.append(own)
        transforms = (jnp.concatenate(absolute)[order] @ inverse)[:, :3]
        turned = jnp.einsum("ri,bic->bcr", rotation(theta[:3]), transforms).reshape(4 * bones, 3)
        return skin @ turned + theta[3:6]

    def distances(theta, us, points, *rig):
        vertices = posed(theta, *rig)
        if data.corners is None:
            return points - vertices
        a, b, c = (vertices[rows] for rows in data.corners)
        u1, u2 = us[:, :1], us[:, 1:]
        return points - (u1 * a + u2 * b + (1 - u1 - u2) * c)

    def jacobian(by_pose, theta, us, *rest):
        pose = by_pose(lambda theta: distances(theta, us, *rest), theta)
        if data.corners is None:
            return pose
        along = lambda direction: jax.jvp(
            lambda us: distances(theta, us, *rest), (us,), (jnp.broadcast_to(direction, us.shape),)
        )[1]
        return jnp.concatenate([jax.vmap(along)(jnp.eye(2)), pose])

    def by_directions(f, theta):
        return jax.vmap(lambda direction: jax.jvp(f, (theta,), (direction,))[1])(jnp.eye(26))

    def by_jacfwd(f, theta):
        return jax.jacfwd(f)(theta).transpose(2, 0, 1)

    inputs = (data.theta, data.us, data.points, data.base, data.inverse, data.skin)
    ways = {"directions": by_directions, "jacfwd": by_jacfwd}
    return {name: form(distances, partial(jacobian, way), *inputs) for name, way in ways.items()}


RECORD = problems.cases(ASKED.dir)[ASKED.only]
measure.report(ASKED, {"gmm": gmm, "ba": ba, "lstm": lstm, "hand": hand}[RECORD["kind"]](problems.read(ASKED.dir, RECORD)))
