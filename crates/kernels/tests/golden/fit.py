"""Prints the constants of `src/math` and `src/float/wide` and writes the table of golden values.

Run `python3 fit.py` (needs mpmath). Every polynomial is the interpolant at Chebyshev
nodes, computed with 200 bits and rounded coefficient by coefficient; `error` is the
largest absolute error sampled after rounding, to be compared with 2^-53 times what the
caller still multiplies the polynomial with.
"""

import os
import random

from mpmath import (acos, acosh, asin, asinh, atan, atanh, atan2, cbrt, chebyfit, cos, cosh, erf, erfc, erfinv, exp,
                    expm1, floor, hypot, linspace, log, log1p, mp, mpf, nstr, pi, polyval, sin,
                    sinh, sqrt, tan, tanh)

mp.prec = 200


def polynomial(name, function, limit, low, high, degree):
    """Prints the fit; `limit` is the value at zero, where the formula divides by zero."""
    guarded = lambda z: function(z) if abs(z) > mpf(10) ** -20 else mpf(limit)
    coefficients = [float(c) for c in chebyfit(guarded, [low, high], degree + 1)[::-1]]
    rounded = [mpf(c) for c in reversed(coefficients)]
    points = linspace(mpf(low), mpf(high), 500)
    error = max(abs(polyval(rounded, z) - guarded(z)) for z in points if abs(z) > mpf(10) ** -20)
    print(f"// {name} on [{nstr(mpf(low), 6)}, {nstr(mpf(high), 6)}], error {nstr(error, 2)}")
    print(f"const {name}: [f64; {degree + 1}] = [")
    for c in coefficients:
        print(f"    {c!r},")
    print("];")


def parts(name, value, widths):
    """Prints `value` as a sum of numbers of the given widths in bits; the last has 53."""
    rest = mpf(value)
    for index, width in enumerate(list(widths) + [53]):
        scale = mpf(2) ** (width - 1 - floor(log(abs(rest), 2)))
        part = (floor if width < 53 else mp.nint)(rest * scale) / scale
        print(f"const {name}_{index}: f64 = {float(part)!r};")
        rest -= part


def constants():
    parts("LN_2", log(2), [32])
    parts("LOG10_2", log(2, 10), [32])
    parts("LOG2_E", 1 / log(2), [53])
    parts("LOG10_E", log(exp(1), 10), [53])
    parts("LN_2_FULL", log(2), [53])
    parts("PI_2", pi / 2, [36, 36, 36])
    parts("PI_2_PAIR", pi / 2, [53])
    parts("TWO_THIRDS", mpf(2) / 3, [53])
    polynomial("EXP", lambda r: (expm1(r) - r) / r**2, 0.5, -mpf("0.34662"), mpf("0.34662"), 10)
    polynomial("SINH", lambda z: (sinh(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6, 0, 1, 7)
    atanh2 = lambda s: log((1 + s) / (1 - s)) / s
    polynomial("LN", lambda z: (atanh2(sqrt(z)) - 2) / z, mpf(2) / 3, 0, mpf("0.02945"), 7)
    polynomial("LN_TAIL", lambda z: ((atanh2(sqrt(z)) - 2) / z - mpf(2) / 3) / z, mpf(2) / 5,
               0, mpf("0.02945"), 7)
    polynomial("SIN", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6, 0, mpf("0.6175"), 6)
    polynomial("COS", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24, 0, mpf("0.6175"), 5)
    polynomial("ATAN", lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3, 0, mpf("0.1717"), 10)
    polynomial("ASIN", lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6, 0, mpf("0.25"), 12)
    polynomial("ERF", lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1, 0, mpf("0.5625"), 10)

    def scaled_erfc(t):
        x = 4 * (1 + t) / (1 - t)
        return exp(x * x) * erfc(x) * (x + 4)

    def t_of(x):
        return (mpf(x) - 4) / (mpf(x) + 4)

    polynomial("ERFC", scaled_erfc, scaled_erfc(0), t_of("0.75"), t_of("27.3"), 20)
    polynomial("ERFC_SLOPE", lambda t: mp.diff(scaled_erfc, t), mp.diff(scaled_erfc, 0),
               t_of("0.75"), t_of("27.3"), 3)

    def inverse(w):
        """`erfinv(a) / a` with `w = -ln(1 - a^2)`."""
        a = sqrt(-expm1(-w)) if w > mpf(10) ** -30 else mpf(10) ** -20
        return erfinv(a) / a

    def inverse_of_root(s):
        rest = exp(-s * s)
        return mp.findroot(lambda y: erfc(y) * (1 + sqrt(1 - rest)) / rest - 1, s * mpf("0.95"))

    half = mpf("2.5")
    polynomial("INVERSE", lambda t: inverse(t + half), inverse(half), -half, half, 10)
    low, high = sqrt(mpf(5)), mpf("6.1")
    centre, half = (low + high) / 2, (high - low) / 2
    polynomial("INVERSE_TAIL", lambda t: inverse_of_root(t + centre), inverse_of_root(centre), -half, half, 10)
    print(f"const INVERSE_CENTRE: f64 = {float(centre)!r};")
    polynomial("CBRT", cbrt, 0, sqrt(mpf("0.5")), sqrt(mpf(2)), 3)
    parts("CBRT_2", cbrt(2), [53])


def wide_constants():
    """The polynomials of `src/float/wide`: 29 bits and more, for results of 24."""
    half = mpf("0.5001")
    polynomial("EXP2", lambda f: mpf(2) ** f, 1, -half, half, 6)
    polynomial("EXP2_M1", lambda f: expm1(f * log(2)) / f, log(2), -half, half, 6)
    polynomial("LN", lambda f: (log1p(f) - f) / f**2, -0.5, sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1, 9)
    polynomial("LOG1P", lambda e: log1p(e) / e, 1, 0, 1, 10)
    atanh2 = lambda s: log((1 + s) / (1 - s)) / s
    polynomial("ARTANH", lambda z: (atanh2(sqrt(z)) - 2) / z, mpf(2) / 3, 0, mpf("0.02945"), 4)
    polynomial("SIN_PI", lambda z: sin(pi * sqrt(z)) / sqrt(z), pi, 0, mpf("0.25002"), 5)
    polynomial("SIN", lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 6, 0, mpf("0.617"), 3)
    polynomial("COS", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2, mpf(1) / 24, 0, mpf("0.617"), 3)
    parts("FRAC_1_PI", 1 / pi, [29])
    polynomial("ATAN", lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, -mpf(1) / 3, 0, 1, 11)
    polynomial("ASIN", lambda z: (asin(sqrt(z)) / sqrt(z) - 1) / z, mpf(1) / 6, 0, mpf("0.25"), 6)
    centre = mpf("7.85")
    shifted_erf = lambda t: erf(sqrt(t + centre)) / sqrt(t + centre)
    polynomial("ERF", shifted_erf, shifted_erf(0), mpf(10) ** -30 - centre, centre, 17)

    def scaled_erfc(t):
        x = 3 * (1 + t) / (1 - t)
        return exp(x * x) * erfc(x)

    polynomial("ERFC", scaled_erfc, scaled_erfc(0), -1, mpf("7.2") / mpf("13.2"), 11)


def log_spaced(low, high, count):
    """Random numbers with the logarithm uniform between the bounds."""
    return [float(exp(random.uniform(float(log(low)), float(log(high))))) for _ in range(count)]


def both_signs(points):
    return [p * random.choice([-1, 1]) for p in points]


def next_to_quarter_turns():
    """The numbers next to multiples of pi/2, where the reduction loses most."""
    return [float(k * pi / 2) for k in (1, 2, 3, 11, 355, 710, 51819, 83443)]


def sample(function):
    """Arguments for one function: ordinary ones, tiny ones, and the ends of its range."""
    uniform = lambda low, high, count: [random.uniform(low, high) for _ in range(count)]
    exponential = uniform(-1, 1, 6) + uniform(-745, 709, 10) + both_signs(log_spaced(1e-300, 1, 4))
    positive = uniform(0.5, 2, 6) + log_spaced("1e-320", "1e308", 8) + [5e-324, 1 + 2**-52, 1 - 2**-53]
    angle = uniform(-4, 4, 6) + uniform(-1e5, 1e5, 4) + both_signs(log_spaced(1e-300, 1, 4))
    unit = uniform(-1, 1, 10) + both_signs(log_spaced(1e-300, 1, 4)) + [0.5, 1 - 2**-53, 2**-53 - 1]
    table = {
        "exp": exponential + [709.78, -708.4, -745.1],
        "exp2": uniform(-1, 1, 6) + uniform(-1074, 1023.9, 10),
        "expm1": uniform(-1, 1, 8) + uniform(-39, 709, 8) + both_signs(log_spaced(1e-300, 1, 4)),
        "sinh": exponential[:6] + uniform(-710, 710, 6) + both_signs(log_spaced(1e-300, 1, 4)),
        "cosh": exponential[:6] + uniform(-710, 710, 6),
        "tanh": uniform(-3, 3, 10) + both_signs(log_spaced(1e-300, 20, 6)),
        "sigmoid": uniform(-5, 5, 8) + uniform(-745, 40, 8),
        "softplus": uniform(-5, 5, 8) + uniform(-745, 40, 8),
        "ln": positive,
        "log2": positive,
        "log10": positive,
        "log1p": uniform(-1, 2, 8) + both_signs(log_spaced(1e-300, 1, 4)) + log_spaced(1, "1e308", 4),
        "sin": angle + next_to_quarter_turns(),
        "cos": angle + next_to_quarter_turns(),
        "tan": angle + next_to_quarter_turns(),
        "atan": uniform(-4, 4, 8) + both_signs(log_spaced(1e-300, 1e300, 8)),
        "asin": unit,
        "acos": unit,
        "sqrt": positive,
        "cbrt": both_signs(positive),
        "erf": uniform(-2, 2, 8) + both_signs(log_spaced(1e-300, 5, 6)),
        "asinh": uniform(-3, 3, 8) + both_signs(log_spaced(1e-300, 1e300, 8)),
        "acosh": uniform(1, 3, 8) + log_spaced(1, 1e300, 6) + [1 + 2**-52, 1 + 2**-40],
        "atanh": unit,
        "silu": uniform(-5, 5, 8) + uniform(-750, 40, 8),
        "gelu_erf": uniform(-3, 3, 8) + uniform(-38, 8, 8),
        "gelu_tanh": uniform(-3, 3, 8) + uniform(-21.5, 8, 8),
        # Not around the zero, where relative errors mean nothing.
        "gelu_tanh_slope": [-21.3, -17.7, -13.1, -9.9, -6.3, -4.1, -2.7, -2.1, -0.29, 0.01, 0.7, 1.3, 2.9, 5.3, 8.1],
        "sech2": uniform(-3, 3, 8) + uniform(-372, 372, 8),
        # No random ones, so that those of the other functions stay as they are.
        "erfinv": [x * (-1) ** k for k, x in enumerate([
            1e-300, 3e-155, 7e-17, 2e-9, 1e-4, 0.01, 0.1, 0.3, 0.49, 0.5, 0.51, 0.6, 0.711, 0.712, 0.9, 0.9966, 0.9967, 0.99999,
            1 - 2**-40, 1 - 2**-53])],
        "erfc": uniform(-6, 27.2, 12) + uniform(-1, 1, 4) + [0.5, 26.5, 27.2],
    }
    return [(x,) for x in table[function]]


def pairs(function):
    if function == "pow":
        ordinary = [(random.uniform(0.1, 10), random.uniform(-20, 20)) for _ in range(10)]
        return ordinary + [(1 + random.uniform(-1e-9, 1e-9), random.uniform(-1e11, 1e11)) for _ in range(6)]
    if function == "logaddexp":
        return [(random.uniform(1, 700), random.uniform(-700, 700)) for _ in range(12)]
    if function == "xlogy":
        return [(random.uniform(-9, 9), p) for p in log_spaced("1e-300", "1e300", 12)]
    both = [(random.uniform(-3, 3), random.uniform(-3, 3)) for _ in range(10)]
    wide = lambda: random.choice(both_signs(log_spaced("1e-300", "1e300", 1)))
    return both + [(wide(), wide()) for _ in range(8)]


def gelu_tanh_slope(x):
    scale, cubic = 2 * sqrt(2 / pi), mpf("0.044715")
    w = scale * (x + cubic * x**3)
    return (1 + x * scale * (1 + 3 * cubic * x**2) / (1 + exp(w))) / (1 + exp(-w))


FUNCTIONS = {
    "exp": exp, "exp2": lambda x: mpf(2)**x, "expm1": expm1, "sinh": sinh, "cosh": cosh, "tanh": tanh,
    "sigmoid": lambda x: 1 / (1 + exp(-x)), "softplus": lambda x: log1p(exp(x)),
    "ln": log, "log2": lambda x: log(x, 2), "log10": lambda x: log(x, 10), "log1p": log1p,
    "sin": sin, "cos": cos, "tan": tan, "atan": atan, "asin": asin, "acos": acos,
    "sqrt": sqrt, "cbrt": lambda x: mp.sign(x) * cbrt(abs(x)), "erf": erf, "erfc": erfc,
    "pow": lambda x, y: x**y, "atan2": atan2, "hypot": hypot,
    "asinh": asinh, "acosh": acosh, "atanh": atanh, "silu": lambda x: x / (1 + exp(-x)),
    "gelu_erf": lambda x: x * erfc(-x / sqrt(2)) / 2,
    "gelu_tanh": lambda x: x / (1 + exp(-2 * sqrt(2 / pi) * (x + mpf("0.044715") * x**3))),
    "sech2": lambda x: cosh(x)**-2,
    "logaddexp": lambda x, y: log(exp(x) + exp(y)), "xlogy": lambda x, y: x * log(y),
    "gelu_tanh_slope": gelu_tanh_slope, "erfinv": erfinv,
}

BINARY = ("pow", "atan2", "hypot", "logaddexp", "xlogy")


def golden(path):
    """One line per value: name, arguments, and `hi + lo` times a power of two, all exact."""
    random.seed(1)
    mp.prec = 1600  # enough for every cancellation between 1e-300 and one
    lines = ["# Written by fit.py with mpmath: name, arguments, hi, lo, exponent of two."]
    for name, function in FUNCTIONS.items():
        for x in pairs(name) if name in BINARY else sample(name):
            value = function(*map(mpf, x))
            exponent = int(floor(log(abs(value), 2)))
            scaled = value / mpf(2) ** exponent
            hi = float(scaled)
            numbers = " ".join(repr(v) for v in (*x, hi, float(scaled - hi)))
            lines.append(f"{name} {numbers} {exponent}")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


def main():
    constants()
    wide_constants()
    golden(os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.txt"))


if __name__ == "__main__":
    main()
