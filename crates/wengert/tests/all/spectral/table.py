"""Makes table.txt: random losses of eigenvalues and singular values, with gradients and Hessian-vector products.

Usage: python table.py > table.txt  (needs mpmath; takes some minutes)

A line has sections between semicolons: `symmetric n n` or `singular m n`, and the largest order of derivatives that exists; the
matrix; a direction; three terms t1, t2, t3 of the loss t1 t2 + sin(t3); its value; its gradient; and its Hessian times the
direction ("-" where there is none). Matrices are row-major and exact: their numbers are what f64 holds. Results have 17
digits.

Nothing here knows how derivatives of matrix functions are found: losses are evaluated by their definition, from
eigenvalues and eigenvectors with 150 digits, and differentiated by central differences with steps of 10^-40, whose error is
below 10^-60. Eigenvalues repeat exactly in the first lines: the matrices are made of dyadic reflections, without rounding.
"""

import random
import sys

import mpmath
from mpmath import mp, mpf

mp.dps = 150
STEP = mpf(10) ** -40
ZERO = mpf(10) ** -30  # Less is a singular value of 0 that the step has moved.

FUNCTIONS = {
    "exp": mpmath.exp,
    "sin": mpmath.sin,
    "tanh": mpmath.tanh,
    "sqrt": mpmath.sqrt,
    "ln": mpmath.log,
    "recip": lambda x: 1 / x,
    "cube": lambda x: x**3,
    "square": lambda x: x * x,
    "cosh": mpmath.cosh,
    "atan": mpmath.atan,
    "one": lambda x: mpf(1),
    "identity": lambda x: x,
}
SMOOTH = ["exp", "sin", "tanh", "cube", "atan"]
POSITIVE = ["sqrt", "ln", "recip"]
ODD = ["sin", "tanh", "cube", "atan"]
EVEN = ["square", "cosh"]


def eighth(rng):
    """A multiple of 1/8 in [-1, 1]."""
    return mpf(rng.randint(-8, 8)) / 8


def some(rng, m, n):
    return mp.matrix([[eighth(rng) for _ in range(n)] for _ in range(m)])


def orthogonal(rng, n):
    """A product of reflections whose vectors have a length of 2 or 4: its numbers are dyadic."""
    q = mp.eye(n)
    for _ in range(3):
        v = mp.matrix(n, 1)
        if n >= 4:
            for k in rng.sample(range(n), 4):
                v[k] = rng.choice([-1, 1])
            q = q * (mp.eye(n) - v * v.T / 2)
        order = list(range(n))
        rng.shuffle(order)
        q = mp.matrix([[q[i, order[j]] * (-1 if j == 0 else 1) for j in range(n)] for i in range(n)])
    return q


def exact(a):
    """That f64 holds every number."""
    for x in a:
        assert mpf(float(x)) == x, x
    return a


def rounded(a):
    return mp.matrix([[mpf(float(a[i, j])) for j in range(a.cols)] for i in range(a.rows)])


def inner(x, y):
    return sum(a * b for a, b in zip(x, y))


class Symmetric:
    """Terms of the eigenvalues, increasing, and vectors of (A + A^T)/2."""

    def __init__(self, a):
        self.n = a.rows
        values, self.v = mp.eigsy((a + a.T) / 2)
        self.values = list(values)

    def function(self, h, part):
        d = mp.diag([h(x) if part(k) else mpf(0) for k, x in enumerate(self.values)])
        return self.v * d * self.v.T

    def term(self, term):
        kind, *rest = term
        if kind == "map":
            return inner(rest[1], self.function(FUNCTIONS[rest[0]], lambda k: True))
        if kind == "projector":
            start, end, c = rest
            return inner(c, self.function(FUNCTIONS["one"], lambda k: start <= k < end))
        if kind == "sum":
            return sum(self.values[rest[0] : rest[1]])
        if kind == "trace":
            return sum(FUNCTIONS[rest[0]](x) for x in self.values)
        if kind == "values":
            return sum(FUNCTIONS[rest[0]](x) for x in self.values)
        if kind == "vectors":
            k, c = rest
            return sum(c[i] * self.v[i, k] for i in range(self.n)) ** 2
        raise ValueError(kind)


class Singular:
    """The same of singular values, from the eigenvalues of [[0, A], [A^T, 0]]."""

    def __init__(self, a):
        self.m, self.n = m, n = a.rows, a.cols
        j = mp.matrix(m + n)
        for i in range(m):
            for k in range(n):
                j[i, m + k] = j[m + k, i] = a[i, k]
        values, self.w = mp.eigsy(j)
        self.values = list(values)
        self.sigma = [abs(x) for x in self.values[::-1][: min(m, n)]]
        self.a = a

    def function(self, h, part, odd):
        """An odd function, of the values with these numbers."""
        size, count = self.m + self.n, min(self.m, self.n)

        def value(k, x):
            number = min(k, size - 1 - k)
            if number >= count or not part(number):
                return h(x) if odd and part(0) and part(count - 1) else mpf(0)
            if odd:
                return h(x)
            return mpf(0) if abs(x) < ZERO else mpmath.sign(x) * h(abs(x))

        d = mp.diag([value(k, x) for k, x in enumerate(self.values)])
        return (self.w * d * self.w.T)[: self.m, self.m :]

    def term(self, term):
        kind, *rest = term
        whole = lambda k: True
        if kind == "map":
            return inner(rest[1], self.function(FUNCTIONS[rest[0]], whole, rest[0] in ODD))
        if kind == "projector":
            start, end, left, right = rest
            w = self.function(FUNCTIONS["one"], lambda k: start <= k < end, False)
            return inner(left, w * w.T) + inner(right, w.T * w)
        if kind == "sum":
            return sum(self.sigma[rest[0] : rest[1]])
        if kind in ("trace", "values"):
            return sum(FUNCTIONS[rest[0]](x) for x in self.sigma)
        if kind == "low_rank":
            k, c = rest
            return inner(c, self.function(FUNCTIONS["identity"], lambda i: i < k, False))
        if kind == "polar":
            u = self.function(FUNCTIONS["one"], whole, False)
            return inner(rest[0], u) + inner(rest[1], u.T * self.a)
        if kind == "pinv":
            return inner(rest[0], self.function(FUNCTIONS["recip"], whole, False).T)
        if kind == "nuclear":
            return sum(self.sigma)
        if kind == "vectors":
            k, cu, cv = rest
            w = self.function(FUNCTIONS["one"], lambda i: i == k, False)
            return inner(cu, w * cv)
        raise ValueError(kind)


def loss(spectrum, a, terms):
    s = spectrum(a)
    t = [s.term(term) for term in terms]
    return t[0] * t[1] + mpmath.sin(t[2])


def derivatives(spectrum, a, e, terms, order):
    """The gradient, and the Hessian times e."""
    symmetric = spectrum is Symmetric
    gradient, hessian = mp.matrix(a.rows, a.cols), mp.matrix(a.rows, a.cols)
    for i in range(a.rows):
        for j in range(a.cols):
            if symmetric and j < i:
                gradient[i, j], hessian[i, j] = gradient[j, i], hessian[j, i]
                continue
            d = mp.matrix(a.rows, a.cols)
            d[i, j] = STEP
            at = lambda x, y: loss(spectrum, a + x * d + y * STEP * e, terms)
            gradient[i, j] = (at(1, 0) - at(-1, 0)) / (2 * STEP)
            if order > 1:
                hessian[i, j] = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * STEP * STEP)
    return gradient, hessian


def text(x):
    if isinstance(x, (int, str)):
        return str(x)
    if isinstance(x, mp.matrix):
        return " ".join(text(y) for y in x)
    return repr(float(x))


def write(spectrum, a, e, terms, order):
    value = loss(spectrum, a, terms)
    gradient, hessian = derivatives(spectrum, a, e, terms, order)
    name = "symmetric" if spectrum is Symmetric else "singular"
    sections = [f"{name} {a.rows} {a.cols} {order}", text(a), text(e)]
    sections += [" ".join(text(x) for x in term) for term in terms]
    sections += [text(value), text(gradient), text(hessian) if order > 1 else "-"]
    print(" ; ".join(sections), flush=True)


def clusters(rng, count):
    """The lengths of runs of equal values, at least one of two or more."""
    while True:
        runs, left = [], count
        while left:
            runs.append(rng.randint(1, left))
            left -= runs[-1]
        if max(runs) > 1 or count == 1:
            return runs


def borders(runs):
    ends = [0]
    for run in runs:
        ends.append(ends[-1] + run)
    return ends


def range_of(rng, runs):
    return sorted(rng.sample(borders(runs), 2))


def symmetric_line(rng):
    n = rng.choice([2, 3, 3, 4, 4, 5, 5, 6])
    runs = clusters(rng, n)
    positive = rng.random() < 0.5
    levels = sorted(rng.sample(range(1 if positive else -6, 10), len(runs)))
    values = [mpf(x) / 4 for x, run in zip(levels, runs) for _ in range(run)]
    if n == 3:
        # A multiple of the identity and of v v^T: no dyadic reflection mixes three axes.
        runs, v = [2, 1], mp.matrix([rng.choice([-2, -1, 1, 2]) for _ in range(3)])
        a = exact(mpf(rng.randint(1 if positive else -6, 6)) / 4 * mp.eye(3) + v * v.T / 4)
    else:
        q = orthogonal(rng, n)
        a = exact(q * mp.diag(values) * q.T)
    kinds = ["map", "map", "projector", "sum", "trace", "values", "vectors"]
    terms = []
    while len(terms) < 3:
        kind = rng.choice(kinds)
        h = rng.choice(SMOOTH + POSITIVE if positive else SMOOTH)
        alone = [k for k, run in zip(borders(runs), runs) if run == 1]
        if kind == "map":
            terms.append([kind, h, some(rng, n, n)])
        elif kind == "projector":
            terms.append([kind, *range_of(rng, runs), some(rng, n, n)])
        elif kind == "sum":
            terms.append([kind, *range_of(rng, runs)])
        elif kind in ("trace", "values"):
            terms.append([kind, h])
        elif alone:
            terms.append([kind, rng.choice(alone), some(rng, n, 1)])
    order = 1 if any(term[0] == "values" for term in terms) else 2
    write(Symmetric, a, some(rng, n, n), terms, order)


def singular_line(rng):
    m, n = rng.choice([(2, 2), (4, 2), (4, 3), (2, 4), (4, 4), (4, 4), (5, 4), (4, 5), (1, 4)])
    count = min(m, n)
    runs = clusters(rng, count)
    deficient = rng.random() < 0.3
    levels = sorted(rng.sample(range(1, 12), len(runs)), reverse=True)
    if deficient:
        levels[-1] = 0
    values = [mpf(x) / 4 for x, run in zip(levels, runs) for _ in range(run)]
    s = mp.matrix(m, n)
    for k, x in enumerate(values):
        s[k, k] = x
    a = exact(orthogonal(rng, m) * s * orthogonal(rng, n).T)
    # A range that is apart from 0.
    own = borders(runs)[: -1 if deficient else None]
    kinds = ["map", "map", "trace"]
    if len(own) > 1:
        kinds += ["projector", "sum", "low_rank", "vectors"]
    if not deficient:
        kinds += ["polar", "pinv", "nuclear", "values", "map"]
    terms = []
    while len(terms) < 3:
        kind = rng.choice(kinds)
        alone = [k for k, run in zip(own, runs) if run == 1 and (levels[own.index(k)] > 0)]
        if kind == "map":
            h = rng.choice(ODD if deficient else ODD + ["exp", "sqrt", "square"])
            terms.append([kind, h, some(rng, m, n)])
        elif kind in ("projector", "sum", "low_rank"):
            start, end = sorted(rng.sample(own, 2))
            if kind == "projector":
                terms.append([kind, start, end, some(rng, m, m), some(rng, n, n)])
            elif kind == "sum":
                terms.append([kind, start, end])
            else:
                terms.append([kind, end, some(rng, m, n)])
        elif kind == "trace":
            terms.append([kind, rng.choice(EVEN if deficient else EVEN + ["exp", "sqrt", "ln"])])
        elif kind == "values":
            terms.append([kind, rng.choice(["exp", "square", "sqrt"])])
        elif kind == "polar":
            terms.append([kind, some(rng, m, n), some(rng, n, n)])
        elif kind == "pinv":
            terms.append([kind, some(rng, n, m)])
        elif kind == "nuclear":
            terms.append([kind])
        elif alone:
            terms.append([kind, rng.choice(alone), some(rng, m, 1), some(rng, n, 1)])
    order = 1 if any(term[0] == "values" for term in terms) else 2
    write(Singular, a, some(rng, m, n), terms, order)


def near_lines(rng):
    """Values that are nearly equal: what does not need the gap between them."""
    for exponent in range(3, 15):
        gap = mpf(10) ** -exponent
        q = orthogonal(rng, 4)
        a = rounded(q * mp.diag([mpf(3) / 4, mpf(3) / 4 + gap, mpf(2), mpf(2) + 3 * gap]) * q.T)
        terms = [["map", rng.choice(SMOOTH + POSITIVE), some(rng, 4, 4)], ["projector", 0, 2, some(rng, 4, 4)], ["sum", 0, 2]]
        write(Symmetric, a, some(rng, 4, 4), terms, 2)
        s = mp.matrix(4, 3)
        s[0, 0], s[1, 1], s[2, 2] = mpf(2) + gap, mpf(2), gap
        a = rounded(orthogonal(rng, 4) * s * orthogonal(rng, 3).T)
        terms = [["map", rng.choice(ODD), some(rng, 4, 3)], ["low_rank", 2, some(rng, 4, 3)], ["trace", rng.choice(EVEN)]]
        write(Singular, a, some(rng, 4, 3), terms, 2)


if __name__ == "__main__":
    rng = random.Random(16)
    for _ in range(100):
        symmetric_line(rng)
    for _ in range(100):
        singular_line(rng)
    near_lines(rng)
