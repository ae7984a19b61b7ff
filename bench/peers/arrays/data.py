"""Inputs that any language can make, and the numbers that every system has to reproduce.

A number is a hash of a seed and a position, computed in double precision and rounded once to the workload's type.
"""

import numpy as np

MASK = 0xFFFFFFFFFFFFFFFF
# Positions hashed at once: the temporaries of a block stay in the cache.
BLOCK = 1 << 16


def unit(seed, first, count):
    """`count` numbers in [0, 1) from position `first`, exact in f64."""
    start = ((seed << 32) + first + 1) & MASK
    with np.errstate(over="ignore"):
        s = (np.uint64(start) + np.arange(count, dtype=np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        z = (s ^ (s >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)).astype(np.float64) * 2.0**-53


def array(shape, seed, dtype, of):
    """`of` numbers in [0, 1), row-major, rounded once to `dtype`."""
    size = int(np.prod(shape))
    result = np.empty(size, dtype)
    for first in range(0, size, BLOCK):
        count = min(BLOCK, size - first)
        result[first : first + count] = of(unit(seed, first, count))
    return result.reshape(shape)


def unsigned(shape, seed, dtype):
    """Numbers in [0, 1)."""
    return array(shape, seed, dtype, lambda u: u)


def uniform(shape, seed, dtype, scale=1.0, around=0.0):
    """`around` plus `scale` times numbers in [-1, 1)."""
    return array(shape, seed, dtype, lambda u: around + scale * (2.0 * u - 1.0))


def labels(shape, seed, classes):
    """Integers from 0 to `classes - 1`."""
    return array(shape, seed, np.int64, lambda u: np.floor(classes * u))


def dense(sizes, seed, dtype):
    """Weights and biases of layers in turn: weights from `seed`, biases from `seed + 10`."""
    parameters = []
    for l, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
        parameters.append(uniform((inputs, outputs), seed + l, dtype, (3.0 / inputs) ** 0.5))
        parameters.append(uniform((outputs,), seed + 10 + l, dtype, 0.1))
    return parameters


def perceptron(sizes, count, seed):
    """W1 and W2: parameters, points, labels."""
    x = unsigned((count, sizes[0]), seed, np.float32)
    return dense(sizes, seed + 10, np.float32), x, labels((count,), seed + 1, sizes[-1])


def cnn():
    """W3: kernels as [height, width, in, out], their biases, two dense layers; images with one last channel; labels."""
    f32 = np.float32
    parameters = [
        uniform((3, 3, 1, 32), 310, f32, (3.0 / 9.0) ** 0.5),
        uniform((32,), 320, f32, 0.1),
        uniform((3, 3, 32, 64), 311, f32, (3.0 / 288.0) ** 0.5),
        uniform((64,), 321, f32, 0.1),
        *dense((9216, 128, 10), 312, f32),
    ]
    return parameters, unsigned((64, 28, 28, 1), 300, f32), labels((64,), 301, 10)


def gpt():
    """W4: a dict of parameters, the input text, the target text."""
    f32 = np.float32

    def weight(inputs, outputs, seed):
        return uniform((inputs, outputs), seed, f32, (3.0 / inputs) ** 0.5)

    def block(s):
        return {
            "qkv": weight(128, 384, s),
            "out": weight(128, 128, s + 1),
            "up": weight(128, 512, s + 2),
            "down": weight(512, 128, s + 3),
            "qkv_bias": uniform((384,), s + 4, f32, 0.02),
            "out_bias": uniform((128,), s + 5, f32, 0.02),
            "up_bias": uniform((512,), s + 6, f32, 0.02),
            "down_bias": uniform((128,), s + 7, f32, 0.02),
            "gains": uniform((2, 128), s + 8, f32, 0.1, around=1.0),
            "shifts": uniform((2, 128), s + 9, f32, 0.1),
        }

    parameters = {
        "embedding": uniform((256, 128), 410, f32, 0.5),
        "positions": uniform((128, 128), 411, f32, 0.1),
        "blocks": [block(420 + 10 * l) for l in range(4)],
        "gain": uniform((128,), 480, f32, 0.1, around=1.0),
        "shift": uniform((128,), 481, f32, 0.1),
        "head": weight(128, 256, 482),
    }
    text = labels((8, 129), 400, 256)
    return parameters, np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])


def burgers(dtype):
    """W6: parameters, times, places."""
    return dense((2, 64, 64, 64, 1), 610, dtype), unsigned((1024,), 600, dtype), uniform((1024,), 601, dtype)


def logistic():
    """W7: parameters, points, signs, a direction."""
    f64 = np.float64
    y = array((2000,), 701, f64, lambda u: np.where(u < 0.5, 1.0, -1.0))
    return uniform((200,), 702, f64, 0.1), uniform((2000, 200), 700, f64), y, uniform((200,), 703, f64)


def mixture():
    """W9: the parameters (alpha, mu, icf), the points, and the constant of the loss."""
    from math import lgamma, log, pi

    f64 = np.float64
    n, d, k = 1000, 64, 50
    gammas = sum(lgamma((d + 1) / 2 + (1 - j) / 2) for j in range(1, d + 1))
    wishart = -(d + 1) * d / 2 * log(2.0) - (0.25 * d * (d - 1) * log(pi) + gammas)
    constant = -n * d / 2 * log(2.0 * pi) - k * wishart
    parameters = [uniform((k,), 900, f64), uniform((k, d), 901, f64), uniform((k, 2080), 902, f64, 0.1)]
    return parameters, uniform((n, d), 903, f64), constant


def lower_places(d):
    """Rows and columns of a strictly lower triangle, column by column."""
    columns, rows = np.triu_indices(d, 1)
    return rows, columns


ARM_OFFSETS = (0.4, 0.1, 0.1, 0.35, 0.08, 0.06)
ARM_TWISTS = (np.pi / 2, -np.pi / 3, np.pi / 4, -np.pi / 2, np.pi / 2, 0.3)


def arm():
    """W11: six angles and six lengths for each of 4,096 points."""
    f64 = np.float64
    angles, lengths = uniform((4096, 6), 1100, f64, np.pi), uniform((4096, 6), 1101, f64, 0.1, around=0.3)
    return np.concatenate([angles, lengths], axis=1)


def lstm():
    """W5: weights of inputs and of states, biases; inputs and targets over time."""
    f32 = np.float32
    scale = 128.0**-0.5
    parameters = [uniform((128, 512), 510, f32, scale), uniform((128, 512), 511, f32, scale)]
    parameters.append(uniform((512,), 512, f32, 0.1))
    return parameters, uniform((256, 16, 128), 500, f32), uniform((256, 16, 128), 501, f32, 0.5)


def greeks():
    """W10: price, volatility and rate; a normal number for every step and path."""
    size = 64 * (1 << 20)
    normals = np.empty(size)
    for first in range(0, size, BLOCK):
        u, v = unit(1000, first, BLOCK), unit(1001, first, BLOCK)
        normals[first : first + BLOCK] = np.sqrt(-2.0 * np.log(1.0 - u)) * np.cos(2.0 * np.pi * v)
    return [np.array(x) for x in (100.0, 0.2, 0.03)], normals.reshape(64, 1 << 20)


def heat():
    """W12: a field and a target."""
    f64 = np.float64
    return uniform((256, 256), 1200, f64, 0.5, around=1.0), uniform((256, 256), 1201, f64, 0.1)


# What every system gives: the value and the norm of the derivative, and how far they may be off in relation to
# themselves. The names are those on the command line; W6 is measured in both precisions.
WANTED = {
    "W1:f32": (2.339531, 1.268062, 1e-5),
    "W2:f32": (2.273801, 0.8238038, 1e-5),
    "W3:f32": (2.352916, 3.887263, 1e-5),
    "W4:f32": (6.051133, 1.644795, 1e-5),
    "W5:f32": (0.09217966, 0.003452449, 1e-5),
    "W6:f32": (0.4554196103150214, 4.645464864218287, 1e-5),
    "W6:f64": (0.4554196103150214, 4.645464864218287, 1e-10),
    "W7a:f64": (0.7190363392046594, 1.1940651061636531, 1e-10),
    "W7b:f64": (5.011914759973961, 0.6567108068786606, 1e-10),
    "W8:f32": (0.1237257, 8.37012e-05, 1e-5),
    "W9:f64": (158838.6237132799, 2034.5755363455144, 1e-10),
    "W10:f64": (5.3560867405885, 32.92869085995, 1e-10),
    "W11:f64": (16225.279209484113, 285.14838232368555, 1e-10),
    "W12a:f64": (0.009646542526516401, 1.3209991334079208e-06, 1e-10),
    "W12b:f64": (0.009646542526516401, 1.3209991334079208e-06, 1e-10),
}


def self_test():
    """The first numbers of a seed, as the other languages have them, also across a border of blocks."""
    first = [0.6499520909482093, 0.23307760467863325, 0.6703320262597976]
    assert unit(100, 0, 3).tolist() == first
    whole = unit(800, BLOCK - 2, 4)
    assert unsigned((BLOCK + 2,), 800, np.float64)[-4:].tolist() == whole.tolist()
    rows, columns = lower_places(3)
    assert list(zip(rows.tolist(), columns.tolist())) == [(1, 0), (2, 0), (2, 1)]


if __name__ == "__main__":
    self_test()
    print("3 passed, 0 failed")
