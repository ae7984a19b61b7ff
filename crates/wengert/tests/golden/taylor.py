"""Writes taylor.txt: Taylor coefficients of the elementwise functions to order 12.

    python3 taylor.py > taylor.txt      # needs mpmath

A line is the name of the function, its points (one or two) and the coefficients c_0 ... c_12 of
t -> f(x + t) or t -> f(x + t, y + 2 t), rounded to f64 from 60 digits. They are found by
differences with a step of 1e-60 in 1000 digits, which share nothing with power series.
"""

from mpmath import mp, mpf
import mpmath

ORDER = 12
STEP = mpf(10) ** -60
mp.dps = 1000

HALF = mpf(1) / 2


def phi(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def gelu_tanh(x):
    c = mpf("0.044715")
    return x / 2 * (1 + mpmath.tanh(mpmath.sqrt(2 / mp.pi) * (x + c * x**3)))


def sinc(x):
    return mpmath.sinc(mp.pi * x)


def cbrt(x):
    return mpmath.sign(x) * abs(x) ** (mpf(1) / 3)


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def pdf(x):
    return mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mp.pi)


def quantile(p):
    return mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1)


WIDE = [-2.3, -0.4, 0.0, 0.7, 3.1]
TAILS = [-6.5, -1.3, -0.4, 0.0, 0.7, 1.9, 4.5]
POSITIVE = [0.1, 0.7, 1.0, 3.0, 250.0]
GAMMA = [-1.6, 0.4, 1.5, 3.3, 11.0]

UNARY = {
    "neg": (lambda x: -x, WIDE),
    "abs": (abs, [-2.3, 0.7]),
    "sign": (mpmath.sign, [-2.3, 0.7]),
    "square": (lambda x: x * x, WIDE),
    "sqrt": (mpmath.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    "cbrt": (cbrt, [-2.1, -0.6, 0.4, 3.0]),
    "recip": (lambda x: 1 / x, [-2.1, -0.6, 0.4, 3.0]),
    "exp": (mpmath.exp, WIDE + [-300.0]),
    "exp2": (lambda x: mpf(2) ** x, WIDE),
    "expm1": (mpmath.expm1, WIDE + [-40.0]),
    "ln": (mpmath.log, POSITIVE),
    "log2": (lambda x: mpmath.log(x, 2), POSITIVE),
    "log10": (mpmath.log10, POSITIVE),
    "log1p": (lambda x: mpmath.log(1 + x), [-0.6, 0.0, 0.4, 3.0]),
    "sin": (mpmath.sin, WIDE),
    "cos": (mpmath.cos, WIDE),
    "tan": (mpmath.tan, [-1.2, -0.4, 0.0, 0.9]),
    "asin": (mpmath.asin, [-0.8, -0.3, 0.0, 0.6, 0.99]),
    "acos": (mpmath.acos, [-0.8, -0.3, 0.0, 0.6, 0.99]),
    "atan": (mpmath.atan, WIDE + [40.0]),
    "sinh": (mpmath.sinh, WIDE),
    "cosh": (mpmath.cosh, WIDE),
    "tanh": (mpmath.tanh, TAILS + [20.0]),
    "sech2": (lambda x: mpmath.sech(x) ** 2, TAILS),
    "asinh": (mpmath.asinh, WIDE + [40.0]),
    "acosh": (mpmath.acosh, [1.2, 1.9, 4.0]),
    "atanh": (mpmath.atanh, [-0.8, -0.3, 0.0, 0.6]),
    "sigmoid": (lambda x: 1 / (1 + mpmath.exp(-x)), TAILS + [-50.0, 30.0]),
    "softplus": (lambda x: mpmath.log(1 + mpmath.exp(x)), TAILS + [-50.0, 30.0]),
    "relu": (lambda x: x if x > 0 else mpf(0), [-2.3, -0.4, 0.7, 3.1]),
    "gelu_erf": (lambda x: x * phi(x), TAILS),
    # Not at -6.5: the exponent in the derivative is -28 there, and multiplies its rounding error.
    "gelu_tanh": (gelu_tanh, [-3.0, -1.3, -0.4, 0.0, 0.7, 1.9, 4.5]),
    "gelu_tanh_slope": (lambda x: mpmath.diff(gelu_tanh, x), [-3.0, -1.3, -0.4, 0.0, 0.7, 1.9, 4.5]),
    "silu": (lambda x: x / (1 + mpmath.exp(-x)), TAILS + [-50.0]),
    "erf": (mpmath.erf, TAILS),
    "erfc": (mpmath.erfc, TAILS + [20.0]),
    "erfinv": (mpmath.erfinv, [-0.8, -0.3, 0.0, 0.6, 0.99]),
    "lgamma": (None, GAMMA),
    "digamma": (None, GAMMA),
    "floor": (mpmath.floor, [-2.3, 0.7]),
    "ceil": (mpmath.ceil, [-2.3, 0.7]),
    "round": (mpmath.nint, [-2.3, 0.7]),
    "trunc": (lambda x: mpmath.sign(x) * mpmath.floor(abs(x)), [-2.3, 0.7]),
    "detach": (None, [0.7]),
    "powi": (lambda x: x**3, [-1.7, -0.6, 0.0, 0.8, 2.2]),
    "polygamma": (None, GAMMA),
    "sinc": (sinc, [-1.4, 0.0, 0.3, 2.6]),
    "cbrt_slope": (lambda x: 1 / (3 * cbrt(x) ** 2), [-2.1, -0.6, 0.4, 3.0]),
    "atan_slope": (lambda x: 1 / (1 + x * x), WIDE),
    "one_minus_square": (lambda x: 1 - x * x, WIDE),
    "sigmoid_slope": (lambda x: sigmoid(x) * sigmoid(-x), TAILS),
    # Not at -1.3, next to its zero.
    "silu_slope": (lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), [-6.5, -2.3, -0.4, 0.0, 0.7, 1.9, 4.5]),
    "erf_slope": (lambda x: 2 / mpmath.sqrt(mp.pi) * mpmath.exp(-x * x), TAILS),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), [-1.3, -0.4, 0.0, 0.7, 1.9, 4.5]),
    "normal_pdf": (pdf, TAILS),
    "normal_cdf": (phi, TAILS),
    "log_normal_cdf": (lambda x: mpmath.log(phi(x)), [-0.4, 0.0, 0.7, 1.9, 4.5]),
    "normal_quantile": (quantile, [0.05, 0.3, 0.5, 0.7, 0.95]),
    "normal_quantile_slope": (lambda p: 1 / pdf(quantile(p)), [0.05, 0.3, 0.5, 0.7, 0.95]),
    "normal_quantile_of_log": (lambda l: quantile(mpmath.exp(l)), [-3.0, -1.3, -0.7, -0.4]),
    "normal_quantile_of_log_slope": (lambda l: mpmath.exp(l) / pdf(quantile(mpmath.exp(l))), [-3.0, -1.3, -0.7, -0.4]),
}

# No point is nearly parallel to the direction (1, 2), where the curvature of hypot is a difference
# of numbers a hundred times its size.
EVERYWHERE = [(0.6, 1.7), (-2.2, 0.4), (1.3, -3.0), (-0.9, -0.5)]
FIRST_QUADRANT = [(0.6, 1.7), (2.2, 0.4), (1.3, 2.9)]

BINARY = {
    "add": (lambda x, y: x + y, EVERYWHERE),
    "sub": (lambda x, y: x - y, EVERYWHERE),
    "mul": (lambda x, y: x * y, EVERYWHERE),
    "div": (lambda x, y: x / y, EVERYWHERE),
    "pow": (lambda x, y: x**y, FIRST_QUADRANT),
    "atan2": (mpmath.atan2, EVERYWHERE),
    "hypot": (lambda x, y: mpmath.sqrt(x * x + y * y), EVERYWHERE),
    "max": (max, EVERYWHERE),
    "min": (min, EVERYWHERE),
    "copysign": (lambda x, y: abs(x) * mpmath.sign(y), EVERYWHERE),
    "logaddexp": (lambda x, y: mpmath.log(mpmath.exp(x) + mpmath.exp(y)), EVERYWHERE),
    "xlogy": (lambda x, y: x * mpmath.log(y), FIRST_QUADRANT),
    "pow_slope": (lambda x, y: y * x ** (y - 1), FIRST_QUADRANT),
    "pow_log": (lambda x, y: x**y * mpmath.log(x), FIRST_QUADRANT),
    "hypot_cos": (lambda x, y: x / mpmath.sqrt(x * x + y * y), EVERYWHERE),
    "xlog1py": (lambda x, y: x * mpmath.log(1 + y), FIRST_QUADRANT),
    "weighted": (lambda x, y: x * y, EVERYWHERE),
    "rem": (lambda x, y: x - y * mpmath.sign(x / y) * mpmath.floor(abs(x / y)), [(5.3, 1.7), (-5.3, 1.7), (2.2, -0.9)]),
}


def coefficients(f):
    """c_0 ... c_ORDER of f by forward differences: the k-th is k! STEP^k c_k (1 + O(STEP))."""
    values = [f(STEP * j) for j in range(ORDER + 1)]
    result = []
    for k in range(ORDER + 1):
        result.append(values[0] / (mpmath.factorial(k) * STEP**k))
        values = [after - before for before, after in zip(values, values[1:])]
    return result


def gamma_family(shift, terms):
    """Coefficients of a sum of polygamma functions of order `shift` (-1 is lgamma) by their definition: a term is its
    sign, its point, and how fast that moves."""
    mp.dps = 60
    rows = []
    for k in range(ORDER + 1):
        n = shift + k
        values = [
            sign * slope**k * (mpmath.log(abs(mpmath.gamma(x))) if n < 0 else mpmath.psi(n, x))
            for sign, x, slope in terms
        ]
        rows.append(sum(values) / mpmath.factorial(k))
    mp.dps = 1000
    return rows


def row(name, points, values):
    # An error of 1e-40 relative to the largest value is the limit of the differences.
    largest = max(abs(v) for v in values)
    values = [mpf(0) if abs(v) < largest * mpf(10) ** -40 else v for v in values]
    print(name, *points, *(repr(float(v)) for v in values))


print("# made by taylor.py: function, points, Taylor coefficients 0 to 12")
for name, (f, points) in UNARY.items():
    for point in points:
        x = mpf(point)
        if name in ("lgamma", "digamma", "polygamma"):
            row(name, [point], gamma_family({"lgamma": -1, "digamma": 0, "polygamma": 1}[name], [(1, x, 1)]))
        elif name == "detach":
            row(name, [point], [x] + [mpf(0)] * ORDER)
        else:
            row(name, [point], coefficients(lambda t: f(x + t)))
for name, (f, points) in BINARY.items():
    for a, b in points:
        x, y = mpf(a), mpf(b)
        row(name, [a, b], coefficients(lambda t: f(x + t, y + 2 * t)))
for a, b in FIRST_QUADRANT:
    x, y = mpf(a), mpf(b)
    row("betaln", [a, b], gamma_family(-1, [(1, x, 1), (1, y, 2), (-1, x + y, 3)]))
    for name, order in [("digamma_drop", 0), ("trigamma_drop", 1), ("tetragamma_drop", 2)]:
        row(name, [a, b], gamma_family(order, [(1, x, 1), (-1, x + y, 3)]))
