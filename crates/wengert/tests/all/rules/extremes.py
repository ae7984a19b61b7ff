"""Makes extremes.txt: derivatives of orders 1 to 3 of every elementwise function, at the extremes of its domain.

Usage: python extremes.py [NAME ...] > extremes.txt  (needs mpmath and sympy; names make only their lines)

A line is a function, its argument and three derivatives; or a function of x and y, both arguments, and the derivatives
x y xx xy yy xxx xxy xyy yyy. Everything is the shortest decimal that reads back as the nearest f64. Functions are
differentiated by sympy and evaluated with enough digits that cancellation does not matter.

Of a function of two arguments, an order is left out ("-") where one of its derivatives, or of a lower order, is out of
the range of normal numbers without being zero: no Hessian exists there in f64, and the chain rule multiplies by what is
not representable. Of a function that is the derivative of another one, such as atan_slope, order 3 is left out: it is
order 4 of that one.
"""

import sys

import sympy
from mpmath import mp, mpf
from sympy import Rational, exp, log, pi, sqrt

DIGITS = 3000  # x^6 at 1.7e308 has 1850.
mp.dps = DIGITS

X, Y = sympy.symbols("x y", real=True)
POSITIVE = [1e-300, 1e-160, 1e-20, 1e-8, 0.5, 1 - 1e-9, 1 + 1e-9, 30.0, 700.0, 1e8, 1e160, 1.7e308]
SIGNED = [0.0, -0.0] + [s * x for x in POSITIVE for s in (1, -1)]
NONZERO = SIGNED[2:]
INSIDE = [x for x in SIGNED if abs(x) < 1]  # Of (-1, 1).
NOT_NEAR_1 = [x for x in SIGNED if abs(abs(x) - 1) > 1e-8]  # Where x^2 - 1 is a derivative, its terms cancel there.
ABOVE_1 = [x for x in POSITIVE if x > 1]
PROBABILITIES = [x for x in POSITIVE if x < 1] + [0.25, 0.75, 0.999]


def to_float(value):
    """The nearest f64, with overflow to infinity."""
    value = mpf(value)
    if abs(value) > mpf("1.7976931348623158e308"):
        return float("inf") if value > 0 else float("-inf")
    if abs(value) < mpf("1e-330"):
        return 0.0
    return float(value)


# ---- functions of one argument -------------------------------------------------------------------

W = 2 * sqrt(2 / pi) * (X + Rational("0.044715") * X**3)
SILU = X / (1 + exp(-X))
SIGMOID = 1 / (1 + exp(-X))
MISH = X * (1 - 2 / ((1 + exp(X)) ** 2 + 1))
LOGIT = log(X) - log(1 - X)
GELU_TANH = X / (1 + exp(-W))

FORMULAS = {
    "neg": (-X, SIGNED),
    "square": (X**2, SIGNED),
    "sqrt": (sqrt(X), POSITIVE),
    "rsqrt": (1 / sqrt(X), POSITIVE),
    "recip": (1 / X, NONZERO),
    "exp": (exp(X), SIGNED),
    "exp2": (exp(X * log(2)), SIGNED),
    "expm1": (exp(X) - 1, SIGNED),
    "ln": (log(X), POSITIVE),
    "log2": (log(X) / log(2), POSITIVE),
    "log10": (log(X) / log(10), POSITIVE),
    "log1p": (log(1 + X), [x for x in SIGNED if x > -1]),
    "sin": (sympy.sin(X), SIGNED),
    "cos": (sympy.cos(X), SIGNED),
    "tan": (sympy.tan(X), SIGNED),
    "asin": (sympy.asin(X), INSIDE),
    "acos": (sympy.acos(X), INSIDE),
    "atan": (sympy.atan(X), SIGNED),
    "atan_slope": (1 / (1 + X**2), SIGNED),
    "one_minus_square": (1 - X**2, SIGNED),
    "sinh": (sympy.sinh(X), SIGNED),
    "cosh": (sympy.cosh(X), SIGNED),
    "tanh": (sympy.tanh(X), SIGNED),
    "sech2": (1 / sympy.cosh(X) ** 2, SIGNED),
    "asinh": (sympy.asinh(X), SIGNED),
    "acosh": (sympy.acosh(X), ABOVE_1),
    "atanh": (sympy.atanh(X), INSIDE),
    "sigmoid": (SIGMOID, SIGNED),
    "sigmoid_slope": (SIGMOID.diff(X), SIGNED),
    "softplus": (log(1 + exp(X)), SIGNED),
    "gelu_erf": (X / 2 * (1 + sympy.erf(X / sqrt(2))), SIGNED),
    "gelu_tanh": (GELU_TANH, SIGNED),
    "gelu_tanh_slope": (GELU_TANH.diff(X), SIGNED),
    "silu": (SILU, SIGNED),
    "silu_slope": (SILU.diff(X), SIGNED),
    "mish": (MISH, SIGNED),
    "logit": (LOGIT, PROBABILITIES),
    "logit_slope": (LOGIT.diff(X), PROBABILITIES),
    "entr": (-X * log(X), POSITIVE),
    "erf": (sympy.erf(X), SIGNED),
    "erf_slope": (sympy.erf(X).diff(X), SIGNED),
    "erfc": (-sympy.erf(X), SIGNED),  # But for the value.
    "sinc": (sympy.sin(pi * X) / (pi * X), NONZERO),
    "powi": (X**3, SIGNED),
}


def by_formula(formula):
    derivatives = [sympy.lambdify(X, formula.diff(X, k), "mpmath") for k in (1, 2, 3)]
    return lambda x: [f(x) for f in derivatives]


def odd(f):
    """Of an odd function on both sides of 0, given on the right."""
    return lambda x: [d * (-1 if x < 0 and k % 2 else 1) for k, d in enumerate(f(abs(x)))]


def flat(x):
    return [0, 0, 0]


def erfinv(x):
    with mp.workdps(60 + (0 if x == 0 else -int(mp.log10(abs(x))))):
        y = mp.erfinv(x) if abs(x) > mpf("1e-100") else x * mp.sqrt(mp.pi) / 2
        slope = mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        return [slope, 2 * y * slope**2, (2 + 8 * y * y) * slope**3]


def polygammas(n):
    def derivatives(x):
        with mp.workdps(400):
            return [mp.psi(n + k, x) for k in range(3)]

    return derivatives


def erfcx(x):
    """By y' = 2xy - 2/sqrt(pi) and its derivatives, with digits for what cancels; e^(x^2) has no limit here."""
    with mp.workdps(8000 if abs(x) > 1e4 else 400):
        if x > 1e4:
            # (2/sqrt pi) ∫ (-2s)^n e^(-s^2-2xs) ds term by term
            def term(n, k):
                return (-1) ** k / mp.factorial(k) * mp.factorial(n + 2 * k) / (2 * x) ** (n + 2 * k + 1)

            return [2 / mp.sqrt(mp.pi) * (-2) ** n * sum(term(n, k) for k in range(12)) for n in (1, 2, 3)]
        y = mp.exp(x * x) * mp.erfc(x)
        first = 2 * x * y - 2 / mp.sqrt(mp.pi)
        second = 2 * x * first + 2 * y
        return [first, second, 2 * x * second + 4 * first]


def normal_pdf(x):
    density = mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)
    return density, [-x * density, (x * x - 1) * density, (3 * x - x**3) * density]


def normal_cdf(x):
    density, (first, second, _) = normal_pdf(x)
    return [density, first, second]


def log_normal_cdf(x):
    if x < -1e5:  # By the series in 1/x; the next term is below 1e-60 of the first.
        a = -x
        return [a + 1 / a - 2 / a**3, -1 + 1 / a**2, 2 / a**3 - 24 / a**5]
    with mp.workdps(400):
        h = normal_pdf(x)[0] / (mp.erfc(-x / mp.sqrt(2)) / 2)
        u = x + h
        return [h, -h * u, h * (u * u - 1 + h * u)]


def quantile_of_log(logarithm):
    """Newton's method on the logarithm of the distribution function, on the side where it is not flat."""
    with mp.workdps(60):
        if logarithm > -mp.log(2):
            return -quantile_of_log(mp.log(-mp.expm1(logarithm)))
        q = -mp.sqrt(-2 * logarithm)
        if q < -1e6:  # erfc(x) is e^(-x^2) / (x sqrt pi) to enough digits.
            for _ in range(60):
                q = -mp.sqrt(-2 * (logarithm + mp.log(2 * mp.pi) / 2 + mp.log(-q) - mp.log1p(-1 / q**2)))
            return q
        for _ in range(100):
            below = mp.erfc(-q / mp.sqrt(2)) / 2
            step = (mp.log(below) - logarithm) * below / normal_pdf(q)[0]
            q -= step
            if abs(step) < mpf(10) ** -50:
                break
        return q if abs(q) > mpf(10) ** -40 else mpf(0)


def quantile(p):
    q = quantile_of_log(mp.log(p)) if p < 0.5 else -quantile_of_log(mp.log1p(-p))
    slope = 1 / normal_pdf(q)[0]
    return [slope, q * slope**2, (1 + 2 * q * q) * slope**3, (7 * q + 6 * q**3) * slope**4]


def quantile_of_logs(logarithm):
    with mp.workdps(60):
        q = quantile_of_log(logarithm)
        h, h1, h2 = log_normal_cdf(q)
        return [1 / h, -h1 / h**3, (3 * h1**2 - h * h2) / h**5]


LOGARITHMS = [x for x in SIGNED if x < 0]
TAILS = [-1e4, -1e3, -38.0, -9.0, -3.0, -1.0, 3.0, 9.0]

def softsign(x):
    """At 0, where the second derivative jumps, by a sign of 0: derivatives of higher order are 0 there."""
    sign, denominator = mp.sign(x), 1 + abs(x)
    return [1 / denominator**2, -2 * sign / denominator**3, 6 * sign**2 / denominator**4]


GAMMA = [x for x in POSITIVE if x < 1e300] + [-1e-300, -1e-160, -1e-20, -1e-8, -0.5]

OTHERS = {
    "abs": (lambda x: [mp.sign(x), 0, 0], NONZERO),
    "relu": (lambda x: [1 if x > 0 else 0, 0, 0], SIGNED),
    "softsign": (softsign, SIGNED),
    "sign": (flat, NONZERO),
    "floor": (flat, SIGNED),
    "ceil": (flat, SIGNED),
    "round": (flat, SIGNED),
    "trunc": (flat, SIGNED),
    "detach": (flat, SIGNED),
    "cbrt": (odd(by_formula(X ** Rational(1, 3))), NONZERO),
    "cbrt_slope": (lambda x: [-d for d in odd(by_formula(-X ** Rational(-2, 3) / 3))(x)] if x > 0 else
                   [d * (-1) ** (k + 1) for k, d in enumerate(by_formula(X ** Rational(-2, 3) / 3)(-x))], NONZERO),
    "erfinv": (erfinv, INSIDE),
    "lgamma": (polygammas(0), GAMMA),
    "digamma": (polygammas(1), GAMMA),
    "polygamma": (polygammas(2), GAMMA),
    "erfcx": (erfcx, SIGNED + [-26.0, -3.0, 0.3, 1.0, 3.0, 12.0]),
    "normal_pdf": (lambda x: normal_pdf(x)[1], NOT_NEAR_1),
    "normal_cdf": (normal_cdf, NOT_NEAR_1 + [-3.0, 3.0]),
    "log_normal_cdf": (log_normal_cdf, SIGNED + TAILS),
    "normal_quantile": (lambda p: quantile(p)[:3], PROBABILITIES),
    "normal_quantile_slope": (lambda p: quantile(p)[1:], PROBABILITIES),
    "normal_quantile_of_log": (quantile_of_logs, LOGARITHMS + [-0.1, -1.0, -1.4, -3.0]),
    "normal_quantile_of_log_slope": (lambda x: quantile_of_logs(x)[1:] + [0], LOGARITHMS + [-0.1, -1.0, -1.4, -3.0]),
}

# ---- functions of two arguments ------------------------------------------------------------------

ONES = [1e-300, 1e-160, 1e-8, 0.5, 30.0, 1e8, 1e160]
WITH_0 = [0.0] + ONES
ANY = WITH_0 + [-x for x in ONES[1::2]]
FACTORS = [0.0, 1e-160, 1e-8, 0.5, 1.0, 2.0, 3.0, -1.0, -2.5, 30.0]

TWO = {
    "add": (X + Y, [0.5, 1e160], [-1e-8, 1e160]),
    "sub": (X - Y, [0.5, 1e160], [-1e-8, 1e160]),
    "mul": (X * Y, [0.5, 1e-8, -30.0], ANY),
    "div": (X / Y, ANY, [y for y in ANY if y != 0]),
    "pow": (X**Y, ONES, FACTORS),
    "pow_slope": (Y * X ** (Y - 1), ONES, FACTORS),
    "pow_log": (X**Y * log(X), ONES, FACTORS),
    "atan2": (sympy.atan(X / Y), ANY, ONES),
    "hypot": (sqrt(X**2 + Y**2), ANY, ONES),
    "hypot_cos": (X / sqrt(X**2 + Y**2), ANY, ONES),
    "max": (X, [0.5, 1e160], [-1e-8, 0.0]),
    "min": (Y, [0.5, 1e160], [-1e-8, 0.0]),
    "logaddexp": (log(exp(X) + exp(Y)), [0.0, 1e-300, 1e-8, -30.0, 700.0, 1e8], [0.0, 1e-300, -1e-8, 0.5, 700.0]),
    "xlogy": (X * log(Y), ANY, ONES),
    "xlog1py": (X * log(1 + Y), ANY, WITH_0 + [-1e-8, -0.5]),
    "weighted": (X * Y, [0.5, 1e-8, -30.0], ANY),
}


def drops(count):
    """Of the difference of two polygamma functions of order n, or of betaln for n = -1."""

    def derivative(n, i, j):
        def value(x, y):
            with mp.workdps(400):
                order = n + i + j
                below = mp.psi(order, x) if j == 0 else (mp.psi(order, y) if i == 0 and n < 0 else 0)
                return below - mp.psi(order, x + y)

        return value

    return lambda: [derivative(count, i, j) for i, j in ORDERS]


SHAPES = [1e-8, 0.5, 2.5, 30.0, 1e8, 1e10]
BETAS = {
    "betaln": (drops(-1), SHAPES, SHAPES),
    "digamma_drop": (drops(0), SHAPES, SHAPES),
    "trigamma_drop": (drops(1), SHAPES, SHAPES),
}
# Orders that are asked for, where not all three are: those beyond are orders of betaln beyond three.
FEWER = {"digamma_drop": 2, "trigamma_drop": 1}

SLOPES = {"atan_slope", "cbrt_slope", "logit_slope", "erf_slope", "gelu_tanh_slope", "sech2", "sigmoid_slope", "silu_slope",
          "normal_quantile_slope", "normal_quantile_of_log_slope", "hypot_cos", "pow_slope", "pow_log"}  # fmt: skip

# The orders of the derivatives in x and y.
ORDERS = [(1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0), (2, 1), (1, 2), (0, 3)]


def ordinary(value):
    value = abs(to_float(value))
    return value == 0 or 1e-290 < value < 1e290


def row_of_two(name, functions, x, y):
    values = [f(x, y) for f in functions]
    shown, fine = [], True
    for degree, count in ((1, 2), (2, 3), (3, 4)):
        part = values[len(shown) : len(shown) + count]
        fine = fine and all(ordinary(value) for value in part) and degree <= FEWER.get(name, 2 if name in SLOPES else 3)
        shown += [repr(to_float(value)) if fine else "-" for value in part]
    return shown


if __name__ == "__main__":
    wanted = sys.argv[1:]
    tables = {name: (by_formula(formula), points) for name, (formula, points) in FORMULAS.items()} | OTHERS
    for name, (derivatives, points) in tables.items():
        if wanted and name not in wanted:
            continue
        for x in points:
            shown = [repr(to_float(d)) for d in derivatives(mpf(x))]
            print(name, repr(x), *shown[: 2 if name in SLOPES else 3], *(["-"] if name in SLOPES else []))
        sys.stdout.flush()
    for name, (formula, xs, ys) in (TWO | BETAS).items():
        if wanted and name not in wanted:
            continue
        if name in BETAS:
            functions = formula()
        else:
            functions = [sympy.lambdify((X, Y), sympy.diff(formula, X, i, Y, j), "mpmath") for i, j in ORDERS]
        for x in xs:
            for y in ys:
                row = row_of_two(name, functions, mpf(x), mpf(y))
                if any(value != "-" for value in row):
                    print(name, repr(x), repr(y), *row)
        sys.stdout.flush()
