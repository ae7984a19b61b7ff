"""The data files of ADBench, read as NumPy arrays, and the references that results are compared with."""

import json
import os
from types import SimpleNamespace

import numpy as np


def cases(folder):
    """The records of `index.json` by name."""
    with open(os.path.join(folder, "index.json")) as file:
        return {record["name"]: record for record in json.load(file)}


def read(folder, record):
    """The inputs of a case."""
    path = os.path.join(folder, record["data"])
    if record["kind"] == "hand":
        return hand(os.path.join(folder, record["model"]), path, record["complicated"])
    with open(path) as file:
        text = file.read()
    if record["kind"] == "ba":
        lines = [len(line.split()) for line in text.splitlines() if line.strip()]
        return ba(text.split(), lines[:5] == [3, 11, 3, 1, 2])
    return {"gmm": gmm, "lstm": lstm}[record["kind"]](text.split())


class Numbers:
    """Numbers taken one array after the other."""

    def __init__(self, words):
        self.numbers = np.array(words, dtype=np.float64)
        self.place = 0

    def take(self, *shape):
        count = int(np.prod(shape))
        self.place += count
        return self.numbers[self.place - count : self.place].reshape(shape).copy()


def gmm(words):
    d, k, n = (int(word) for word in words[:3])
    numbers = Numbers(words[3:])
    alpha, mu, icf, x = numbers.take(k), numbers.take(k, d), numbers.take(k, d * (d + 1) // 2), numbers.take(n, d)
    gamma, m = numbers.take(2)
    return SimpleNamespace(d=d, k=k, n=n, alpha=alpha, mu=mu, icf=icf, x=x, gamma=float(gamma), m=int(m))


def groups(d, width):
    """The rows of a triangle of `d` rows in groups of about so many, as pairs of first and end."""
    step = -(-d // max(d // width, 1))
    return [(begin, min(begin + step, d)) for begin in range(0, d, step)]


def ba(words, replicated):
    n, m, p = (int(word) for word in words[:3])
    numbers = Numbers(words[3:])
    if replicated:
        camera, point, weight, feature = numbers.take(11), numbers.take(3), numbers.take(1), numbers.take(2)
        seen = np.arange(p)
        return SimpleNamespace(
            n=n,
            m=m,
            p=p,
            cameras=np.tile(camera, (n, 1)),
            points=np.tile(point, (m, 1)),
            weights=np.tile(weight, p),
            features=np.tile(feature, (p, 1)),
            camera_of=seen % n,
            point_of=seen % m,
        )
    cameras, points, rows = numbers.take(n, 11), numbers.take(m, 3), numbers.take(p, 5)
    return SimpleNamespace(
        n=n,
        m=m,
        p=p,
        cameras=cameras,
        points=points,
        weights=rows[:, 2].copy(),
        features=rows[:, 3:].copy(),
        camera_of=rows[:, 0].astype(np.int64),
        point_of=rows[:, 1].astype(np.int64),
    )


def lstm(words):
    l, c, b = (int(word) for word in words[:3])
    numbers = Numbers(words[3:])
    main, extra = numbers.take(l, 2, 4, b), numbers.take(3, b)
    state, sequence = numbers.take(l, 2, b), numbers.take(c, b)
    return SimpleNamespace(l=l, c=c, b=b, main=main, extra=extra, state=state, sequence=sequence)


def lines(path):
    with open(path) as file:
        return [line.strip().split(":") for line in file if line.strip()]


def hand(model, path, complicated):
    """The skin has a row for every vertex that is used: weight times homogeneous coordinate, for every bone."""
    bones = lines(os.path.join(model, "bones.txt"))
    parents = [int(bone[1]) for bone in bones]
    base = np.array([bone[2:18] for bone in bones], dtype=np.float64).reshape(-1, 4, 4)
    inverse = np.array([bone[18:34] for bone in bones], dtype=np.float64).reshape(-1, 4, 4)
    vertices = lines(os.path.join(model, "vertices.txt"))
    skin = np.zeros((len(vertices), len(bones), 4))
    for row, vertex in zip(skin, vertices):
        position = np.array([*vertex[:3], 1.0], dtype=np.float64)
        for k in range(int(vertex[8])):
            row[int(vertex[9 + 2 * k])] += float(vertex[10 + 2 * k]) * position
    triangles = np.array(lines(os.path.join(model, "triangles.txt")), dtype=np.int64)
    with open(path) as file:
        words = file.read().split()
    count = int(words[0])
    numbers = Numbers(words[2:])
    rows = numbers.take(count, 4)
    us = numbers.take(count, 2) if complicated else np.zeros((0, 2))
    theta = numbers.take(26)
    chosen = rows[:, 0].astype(np.int64)
    corners = None
    if complicated:
        chosen, places = np.unique(triangles[chosen], return_inverse=True)
        corners = places.reshape(count, 3).T.copy()
    return SimpleNamespace(
        parents=parents,
        base=base,
        inverse=inverse,
        skin=skin[chosen].reshape(len(chosen), -1),
        corners=corners,
        points=rows[:, 1:].copy(),
        us=us,
        theta=theta,
    )


def angles(bones):
    """For every bone the parameters that are its angles about x and z, 26 for an angle that is zero."""
    about_x, about_z = np.full(bones, 26), np.full(bones, 26)
    for finger in range(5):
        bone = 1 + 4 * finger
        about_x[bone + 1], about_z[bone + 1] = 6 + 4 * finger, 7 + 4 * finger
        about_x[bone + 2], about_x[bone + 3] = 8 + 4 * finger, 9 + 4 * finger
    return about_x, about_z


def generations(parents):
    """The bones with as many ancestors, as lists."""
    ancestors = []
    for parent in parents:
        ancestors.append(0 if parent < 0 else ancestors[parent] + 1)
    return [[bone for bone, of in enumerate(ancestors) if of == depth] for depth in range(max(ancestors) + 1)]


def worst(folder, record, objective, derivative):
    """The largest error of a derivative, relative to the largest entry, and of the objective likewise.

    Objective and derivative are flat: the Jacobian of `ba` the values of its rows, of `hand` column by column.
    """
    return max(error(objective, wanted_objective(folder, record)), error(derivative, wanted_derivative(folder, record)))


def error(got, wanted):
    got = np.ravel(np.asarray(got))
    if got.shape != wanted.shape:
        return float("inf")
    return float(np.max(np.abs(got - wanted)) / np.max(np.abs(wanted)))


def wanted_objective(folder, record):
    if "ref_F" in record:
        return np.ravel(np.load(os.path.join(folder, record["ref_F"])))
    if record["kind"] == "ba":
        count = record["f_len"] // 3
        return np.concatenate([np.tile(record["residual_block"], count), np.full(count, record["w_err"])])
    return np.array([record["objective"]])


def wanted_derivative(folder, record):
    if "ref_J" in record:
        wanted = np.load(os.path.join(folder, record["ref_J"]))
        return np.ravel(wanted.T if record["kind"] == "hand" else wanted)
    count = record["f_len"] // 3
    block = record["jac_row_u"] + record["jac_row_v"]
    return np.concatenate([np.tile(block, count), np.full(count, record["jac_w_err"])])
