"""Inputs of the rows of `batches.json`: many derivatives at once, shifted views, contractions."""

from data import uniform


def directions(s, dtype):
    """The weights of two layers; directions, points, what is wanted at them."""
    n, d, h, o = s["points"], s["inputs"], s["width"], s["outputs"]
    weights = [uniform((d, h), 3002, dtype, (3.0 / d) ** 0.5), uniform((h, o), 3003, dtype, (3.0 / h) ** 0.5)]
    vectors = [uniform((s["count"], d, h), 3004, dtype), uniform((s["count"], h, o), 3005, dtype)]
    return weights, vectors, uniform((n, d), 3000, dtype), uniform((n, o), 3001, dtype)


def network(s, dtype):
    """Points, and the weights of two layers."""
    d, h = s["inputs"], s["width"]
    w = uniform((d, h), 3010, dtype, (3.0 / d) ** 0.5)
    u = uniform((h, s["outputs"]), 3011, dtype, (3.0 / h) ** 0.5)
    return uniform((s["points"], d), 3012, dtype), w, u


def lorenz(s, dtype):
    """Points."""
    return uniform((s["points"], s["inputs"]), 3020, dtype, 5.0)


def rosenbrock(s, dtype):
    """A point."""
    return uniform((s["length"],), 3030, dtype)


def second(s, dtype):
    """Values along a line."""
    return uniform((s["length"],), 3040, dtype)


def laplace(s, dtype):
    """Values in a plane."""
    return uniform((s["rows"], s["columns"]), 3050, dtype)


def upwind(s, dtype):
    """Values in a plane."""
    return uniform((s["rows"], s["columns"]), 3060, dtype)


def operands(shapes, dtype):
    """The operands of a contraction."""
    return [uniform(shape, 3070 + k, dtype) for k, shape in enumerate(shapes)]


def three(s, dtype):
    """Three matrices in a chain."""
    return operands([(s["i"], s["j"]), (s["j"], s["k"]), (s["k"], s["l"])], dtype)


def bilinear(s, dtype):
    """Two batches of vectors, and what they are multiplied by."""
    return operands([(s["b"], s["i"]), (s["k"], s["i"], s["j"]), (s["b"], s["j"])], dtype)


def four(s, dtype):
    """A tensor of three axes, and what each is multiplied by."""
    return operands([(s["i"],) * 3, *[(s["i"], s["a"])] * 3], dtype)


def heads(s, dtype):
    """Three matrices, and what they are multiplied by."""
    n, d, h = s["points"], s["inputs"], s["width"]
    return [uniform((d, h), 3081 + k, dtype, (3.0 / d) ** 0.5) for k in range(3)], uniform((n, d), 3080, dtype)
