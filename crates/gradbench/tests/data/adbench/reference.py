"""Makes this folder: small cases of ADBench's layout, and their references by complex steps.

NumPy alone, the formulas written out number by number, and no automatic differentiation: with f analytic,
f'(x) = Im f(x + ih) / h to the last digits for h = 1e-200 (Squire and Trapp, 1998).

    python3 reference.py
"""

import json
import os
from math import lgamma

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
STEP = 1e-200
random = np.random.default_rng(20)


def path(*parts):
    return os.path.join(HERE, *parts)


def save(name, array):
    with open(path("ref", name), "wb") as file:
        np.lib.format.write_array(file, np.ascontiguousarray(array, dtype="<f8"), version=(1, 0))
    return f"ref/{name}"


def row(numbers):
    return " ".join(repr(float(number)) for number in np.ravel(numbers))


def derivative(f, x):
    """The Jacobian of f at a flat x: a row for every result."""
    columns = []
    for k in range(len(x)):
        z = np.array(x, dtype=complex)
        z[k] += 1j * STEP
        columns.append(np.imag(np.ravel(f(z))) / STEP)
    return np.array(columns).T


# ---- gmm ------------------------------------------------------------------------------------------


def gmm(name, d, k, n, gamma, m):
    below = d * (d - 1) // 2
    alpha, mu = random.normal(size=k), random.uniform(size=(k, d))
    icf, x = 0.5 * random.normal(size=(k, d + below)), random.normal(size=(n, d))
    with open(path("gmm", f"{name}.txt"), "w") as file:
        print(d, k, n, file=file)
        for numbers in (alpha, *mu, *icf, *x):
            print(row(numbers), file=file)
        print(gamma, m, file=file)

    def logsumexp(v):
        top = max(v, key=lambda z: z.real)
        return top + np.log(sum(np.exp(z - top) for z in v))

    def posterior(z):
        alpha, mu = z[:k], z[k : k + k * d].reshape(k, d)
        icf = z[k + k * d :].reshape(k, d + below)
        factors = []
        for c in range(k):
            factor, place = np.diag(np.exp(icf[c, :d])), d
            for i in range(d):
                for j in range(i + 1, d):
                    factor[j, i] = icf[c, place]
                    place += 1
            factors.append(factor)
        sums = [icf[c, :d].sum() for c in range(k)]
        total = -n * d / 2 * np.log(2 * np.pi) - n * logsumexp(list(alpha))
        for i in range(n):
            terms = []
            for c in range(k):
                v = factors[c] @ (x[i] - mu[c])
                terms.append(alpha[c] + sums[c] - 0.5 * (v * v).sum())
            total += logsumexp(terms)
        freedom = d + m + 1
        multivariate = d * (d - 1) / 4 * np.log(np.pi) + sum(lgamma(freedom / 2 + (1 - j) / 2) for j in range(1, d + 1))
        constant = freedom * d * (np.log(gamma) - 0.5 * np.log(2)) - multivariate
        for c in range(k):
            spread = np.exp(2 * icf[c, :d]).sum() + (icf[c, d:] ** 2).sum()
            total += constant - gamma**2 / 2 * spread + m * sums[c]
        return total

    z = np.concatenate([alpha, mu.ravel(), icf.ravel()])
    record = scalar(name, posterior, z)
    return {"name": name, "kind": "gmm", "data": f"gmm/{name}.txt", **record}


def scalar(name, f, z):
    jacobian = derivative(f, z).ravel()
    return {
        "f_len": 1,
        "j_len": len(z),
        "objective": float(np.real(f(z.astype(complex)))),
        "ref_J": save(f"{name}.J.npy", jacobian),
    }


# ---- ba -------------------------------------------------------------------------------------------


def reprojection(z, feature):
    r, centre, f, principal, k1, k2 = z[:3], z[3:6], z[6], z[7:9], z[9], z[10]
    x, weight = z[11:14] - centre, z[14]
    square = r @ r
    # The branch is that of the real point; its formula is analytic around it.
    if np.any(np.real(r) != 0):
        angle = np.sqrt(square)
        a = r / angle
        x = x * np.cos(angle) + np.cross(a, x) * np.sin(angle) + a * (a @ x) * (1 - np.cos(angle))
    else:
        x = x + np.cross(r, x)
    p = x[:2] / x[2]
    rho = p @ p
    return weight * (f * (1 + k1 * rho + k2 * rho**2) * p + principal - feature)


def ba(name, n, m, p, replicated):
    cameras = np.concatenate(
        [
            random.normal(size=(n, 3)),
            5 + random.normal(size=(n, 3)),
            10 + random.normal(size=(n, 1)),
            random.normal(size=(n, 2)),
            0.1 * random.normal(size=(n, 2)),
        ],
        axis=1,
    )
    points, weights, features = random.normal(size=(m, 3)), random.uniform(size=p), random.normal(size=(p, 2))
    camera_of, point_of = random.integers(n, size=p), random.integers(m, size=p)
    if replicated:
        cameras[:], points[:], weights[:], features[:] = cameras[0], points[0], weights[0], features[0]
        camera_of, point_of = np.arange(p) % n, np.arange(p) % m
    else:
        # One camera does not turn at all: the other branch of the rotation.
        cameras[1, :3] = 0.0
        camera_of[:3] = [1, 0, 1]
    with open(path("ba", f"{name}.txt"), "w") as file:
        print(n, m, p, file=file)
        if replicated:
            for numbers in (cameras[0], points[0], weights[0], features[0]):
                print(row(numbers), file=file)
        else:
            for numbers in (*cameras, *points):
                print(row(numbers), file=file)
            for i in range(p):
                print(camera_of[i], point_of[i], row([weights[i], *features[i]]), file=file)
    errors, values = [], []
    for i in range(p):
        z = np.concatenate([cameras[camera_of[i]], points[point_of[i]], [weights[i]]])
        errors.extend(np.real(reprojection(z.astype(complex), features[i])))
        values.extend(derivative(lambda z: reprojection(z, features[i]), z).ravel())
    errors.extend(1 - weights**2)
    values.extend(-2 * weights)
    record = {"name": name, "kind": "ba", "data": f"ba/{name}.txt", "f_len": 3 * p, "j_len": 31 * p}
    if replicated:
        record |= {
            "replicated": True,
            "residual_block": errors[:2],
            "w_err": errors[-1],
            "jac_row_u": values[:15],
            "jac_row_v": values[15:30],
            "jac_w_err": values[-1],
        }
    else:
        record |= {"ref_F": save(f"{name}.F.npy", errors), "ref_J": save(f"{name}.J.npy", values)}
    return record


# ---- lstm -----------------------------------------------------------------------------------------


def lstm(name, l, c, b):
    main, extra = random.normal(size=(2 * l, 4 * b)), random.normal(size=(3, b))
    state, sequence = random.normal(size=(2 * l, b)), random.integers(2, size=(c, b)).astype(float)
    with open(path("lstm", f"{name}.txt"), "w") as file:
        print(l, c, b, file=file)
        for block in (main, extra, state, sequence):
            print(file=file)
            for numbers in block:
                print(row(numbers), file=file)

    def loss(z):
        main, extra = z[: 8 * l * b].reshape(2 * l, 4 * b), z[8 * l * b :].reshape(3, b)
        sigma = lambda v: 1 / (1 + np.exp(-v))
        h = [state[2 * i].astype(complex) for i in range(l)]
        s = [state[2 * i + 1].astype(complex) for i in range(l)]
        total = 0
        for t in range(c - 1):
            given = sequence[t] * extra[0]
            for i in range(l):
                wf, wi, wo, wc = main[2 * i].reshape(4, b)
                bf, bi, bo, bc = main[2 * i + 1].reshape(4, b)
                f, taken = sigma(given * wf + bf), sigma(h[i] * wi + bi)
                o, g = sigma(given * wo + bo), np.tanh(h[i] * wc + bc)
                s[i] = s[i] * f + taken * g
                h[i] = o * np.tanh(s[i])
                given = h[i]
            predicted = given * extra[1] + extra[2]
            total += (sequence[t + 1] * (predicted - np.log(2 + np.exp(predicted).sum()))).sum()
        return -total / ((c - 1) * b)

    record = scalar(name, loss, np.concatenate([main.ravel(), extra.ravel()]))
    return {"name": name, "kind": "lstm", "data": f"lstm/{name}.txt", **record}


# ---- hand -----------------------------------------------------------------------------------------


def turn(r):
    square = np.sqrt(r @ r)
    if np.real(square) < 1e-4:
        return np.eye(3)
    x, y, z = r / square
    s, c = np.sin(square), np.cos(square)
    return np.array(
        [
            [x * x + (1 - x * x) * c, x * y * (1 - c) - z * s, x * z * (1 - c) + y * s],
            [x * y * (1 - c) + z * s, y * y + (1 - y * y) * c, y * z * (1 - c) - x * s],
            [x * z * (1 - c) - y * s, z * y * (1 - c) + x * s, z * z + (1 - z * z) * c],
        ]
    )


def model(bones, vertices, triangles):
    """A random hand; its last bones hang on any before them."""
    parents = [-1] + [0 if k % 4 == 1 else k - 1 for k in range(1, 21)]
    parents += [int(random.integers(-1, k)) for k in range(21, bones)]
    transforms = []
    for _ in range(2 * bones):
        transform = np.eye(4)
        transform[:3, :3] = turn(random.normal(size=3))
        transform[:3, 3] = 0.1 * random.normal(size=3)
        transforms.append(transform)
    base, inverse = transforms[:bones], transforms[bones:]
    with open(path("hand", "model", "bones.txt"), "w") as file:
        for k in range(bones):
            numbers = [*np.ravel(base[k]), *np.ravel(inverse[k])]
            print(f"bone{k}:{parents[k]}:" + ":".join(repr(float(number)) for number in numbers), file=file)
    places, weights = random.normal(size=(vertices, 3)), np.zeros((vertices, bones))
    with open(path("hand", "model", "vertices.txt"), "w") as file:
        for k in range(vertices):
            count = int(random.integers(1, 5))
            chosen = random.choice(bones, size=count, replace=False)
            weights[k, chosen] = random.uniform(size=count)
            pairs = ":".join(f"{bone}:{float(weights[k, bone])!r}" for bone in chosen)
            print(":".join(map(repr, places[k].tolist())) + f":0.0:0.0:1.0:0.0:0.0:{count}:{pairs}", file=file)
    corners = np.array([random.choice(vertices, size=3, replace=False) for _ in range(triangles)])
    with open(path("hand", "model", "triangles.txt"), "w") as file:
        for triangle in corners:
            print(":".join(map(str, triangle)), file=file)
    return parents, base, inverse, places, weights, corners


def hand(name, hand, count, complicated):
    parents, base, inverse, places, weights, corners = hand
    chosen = random.integers(len(corners) if complicated else len(places), size=count)
    points, us = random.normal(size=(count, 3)), random.uniform(size=(count, 2))
    theta = random.normal(size=26)
    with open(path("hand", f"{name}.txt"), "w") as file:
        print(count, 26, file=file)
        for k in range(count):
            print(chosen[k], row(points[k]), file=file)
        if complicated:
            for numbers in us:
                print(row(numbers), file=file)
        for number in theta:
            print(repr(float(number)), file=file)

    def posed(theta):
        angles = np.zeros((len(parents), 3), dtype=complex)
        for finger in range(5):
            t, bone = theta[6 + 4 * finger : 10 + 4 * finger], 1 + 4 * finger
            angles[bone + 1, 0], angles[bone + 1, 2] = t[0], t[1]
            angles[bone + 2, 0], angles[bone + 3, 0] = t[2], t[3]
        absolute = []
        for k, parent in enumerate(parents):
            (sx, sy, sz), (cx, cy, cz) = np.sin(angles[k]), np.cos(angles[k])
            rx = np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
            ry = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
            rz = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
            own = np.eye(4, dtype=complex)
            own[:3, :3] = rz @ ry @ rx
            relative = base[k] @ own
            absolute.append(relative if parent < 0 else absolute[parent] @ relative)
        transforms = [place @ back for place, back in zip(absolute, inverse)]
        whole = turn(theta[:3])
        posed = []
        for place, weight in zip(places, weights):
            v = sum(w * (transform @ [*place, 1.0])[:3] for w, transform in zip(weight, transforms) if w != 0)
            posed.append(whole @ v + theta[3:6])
        return np.array(posed)

    def distances(z):
        vertices = posed(z[:26])
        if not complicated:
            return points - vertices[chosen]
        u = z[26:].reshape(count, 2)
        a, b, c = (vertices[corners[chosen, k]] for k in range(3))
        return points - (u[:, :1] * a + u[:, 1:] * b + (1 - u[:, :1] - u[:, 1:]) * c)

    z = np.concatenate([theta, us.ravel() if complicated else []])
    full = derivative(distances, z)
    jacobian = full[:, :26]
    if complicated:
        by_place = np.array([full[r, 26 + 2 * (r // 3) : 28 + 2 * (r // 3)] for r in range(3 * count)])
        jacobian = np.concatenate([by_place, jacobian], axis=1)
    return {
        "name": name,
        "kind": "hand",
        "data": f"hand/{name}.txt",
        "model": "hand/model",
        "complicated": complicated,
        "f_len": 3 * count,
        "j_len": jacobian.size,
        "jac_shape": list(jacobian.shape),
        "ref_F": save(f"{name}.F.npy", np.real(distances(z.astype(complex))).ravel()),
        "ref_J": save(f"{name}.J.npy", jacobian),
    }


def main():
    rig = model(bones=24, vertices=40, triangles=12)
    records = [
        gmm("gmm_d3_K2", d=3, k=2, n=7, gamma=0.7, m=3),
        gmm("gmm_d1_K3", d=1, k=3, n=5, gamma=1.5, m=0),
        gmm("gmm_d6_K1", d=6, k=1, n=4, gamma=2.0, m=1),
        ba("ba_general", n=4, m=5, p=13, replicated=False),
        ba("ba_replicated", n=3, m=4, p=9, replicated=True),
        lstm("lstm_l3_c6", l=3, c=6, b=5),
        lstm("lstm_l1_c2", l=1, c=2, b=3),
        hand("hand_simple", rig, 11, complicated=False),
        hand("hand_complicated", rig, 14, complicated=True),
    ]
    with open(path("index.json"), "w") as file:
        json.dump(records, file, indent=1)
        print(file=file)


main()
