"""Makes reference.txt: points and values of the special functions, to test against.

Usage: python reference.py > reference.txt  (needs mpmath)

Each line is a function, its arguments, and its value computed with 50 or more digits and rounded to
the nearest f64; arguments and values are the shortest decimals that read back as the same f64.
The formulas here are definitions or series other than those in the Rust code wherever there is one.
The points are tails, zeros and their neighbours, poles and their neighbours, the edges between
methods, tiny and huge arguments, and a few drawn at random with a fixed seed.
"""

import math
import random

from mpmath import mp, mpf

mp.dps = 50
random.seed(20240229)


def near(x, steps=1):
    """x and its neighbouring floats."""
    points, above, below = [x], x, x
    for _ in range(steps):
        above, below = math.nextafter(above, math.inf), math.nextafter(below, -math.inf)
        points += [above, below]
    return points


def uniform(low, high, count):
    return [random.uniform(low, high) for _ in range(count)]


def signed(points):
    return points + [-x for x in points]


# --- values -------------------------------------------------------------------------------------


def erfcx(x):
    if x > 1e4:  # Asymptotic; the next term is below 1e-50 of the first.
        t = 1 / (2 * mpf(x) ** 2)
        terms, term = mpf(0), mpf(1)
        for k in range(1, 9):
            terms, term = terms + term, -term * (2 * k - 1) * t
        return terms / (x * mp.sqrt(mp.pi))
    return mp.exp(mpf(x) ** 2) * mp.erfc(x)


def erfinv(x):
    with mp.workdps(90):
        return mp.erfinv(mpf(x))


def gelu_erf(x):
    return mpf(x) / 2 * mp.erfc(-mpf(x) / mp.sqrt(2))


def gelu_tanh(x):
    y = mp.sqrt(2 / mp.pi) * (mpf(x) + mpf("0.044715") * mpf(x) ** 3)
    return mpf(x) / (1 + mp.exp(-2 * y))


def sigmoid(x):
    return 1 / (1 + mp.exp(-mpf(x)))


def softplus(x):
    return mp.log1p(mp.exp(mpf(x)))


def logaddexp(x, y):
    with mp.workdps(1000):
        return mp.log(mp.exp(mpf(x)) + mp.exp(mpf(y)))


def lgamma(x):
    with mp.workdps(110):
        if x > 0:
            return mp.loggamma(mpf(x))
        return mp.log(mp.pi / abs(mp.sinpi(mpf(x)))) - mp.loggamma(1 - mpf(x))


def polygamma(n, x):
    """For negative x by exact recurrence of the derivatives of the cotangent."""
    digits = 110 + int((n + 1) * max(0, math.log10(abs(x))))
    with mp.workdps(digits):
        z = mpf(x) if x > 0 else 1 - mpf(x)
        if n == 0:
            value = mp.digamma(z)
        else:
            value = (-1) ** (n + 1) * mp.factorial(n) * mp.zeta(n + 1, z)
        if x > 0:
            return value
        polynomial = [0, 1]  # In powers of the cotangent.
        for _ in range(n):
            slopes = [i * a for i, a in enumerate(polynomial)][1:] + [0, 0, 0]
            below = [0, 0] + slopes
            polynomial = [-(a + b) for a, b in zip(slopes, below)]
        cotangent = mp.cospi(mpf(x)) / mp.sinpi(mpf(x))
        derivative = mp.polyval(polynomial[::-1], cotangent) * mp.pi ** (n + 1)
        return (-1) ** n * value - derivative


def sinc_derivative(n, x):
    """By Leibniz's rule on sin(t) times 1/t, with digits to cover its cancellation, or at zero."""
    if x == 0:
        return mpf(0) if n % 2 else (-1) ** (n // 2) * mp.pi**n / (n + 1)
    with mp.workdps(60 + int((n + 1) * (2 + max(0, -2 * math.log10(abs(x)))))):
        t, sine, cosine = mp.pi * mpf(x), mp.sinpi(mpf(x)), mp.cospi(mpf(x))
        cycle = [sine, cosine, -sine, -cosine]
        total = mpf(0)
        for k in range(n + 1):
            power = (-1) ** k * mp.factorial(k) / t ** (k + 1)
            total += mp.binomial(n, k) * cycle[(n - k) % 4] * power
        return total * mp.pi**n


def erfcx_derivative(n, x):
    """By the recurrence upwards, with digits for what cancels."""
    with mp.workdps(400):
        below, here = erfcx(x), 2 * mpf(x) * erfcx(x) - 2 / mp.sqrt(mp.pi)
        for k in range(1, n):
            below, here = here, 2 * mpf(x) * here + 2 * k * below
        return here if n else below


def normal_pdf(x):
    return mp.exp(-mpf(x) ** 2 / 2) / mp.sqrt(2 * mp.pi)


def normal_cdf(x):
    return mp.erfc(-mpf(x) / mp.sqrt(2)) / 2


def log_normal_cdf(n, x):
    """Derivatives by Leibniz's rule from h' = -h u, u' = 1 + h', with digits for what cancels."""
    with mp.workdps(400):
        if n == 0:
            return mp.log1p(-normal_cdf(-x)) if x > 0 else mp.log(normal_cdf(x))
        h = [normal_pdf(x) / normal_cdf(x)]
        u = [x + h[0]]
        for k in range(n - 1):
            h.append(-sum(mp.binomial(k, j) * h[j] * u[k - j] for j in range(k + 1)))
            u.append(h[-1] + (1 if k == 0 else 0))
        return h[-1]


def normal_quantile_of_log(x):
    """Newton's method on the logarithm of the distribution function, on the side where it is not flat."""
    with mp.workdps(80):
        if x > -mp.log(2):
            return -normal_quantile_of_log(mp.log(-mp.expm1(mpf(x))))
        q = -mp.sqrt(-2 * mpf(x))
        for _ in range(200):
            step = (mp.log(normal_cdf(q)) - x) * normal_cdf(q) / normal_pdf(q)
            q -= step
            if abs(step) < mpf(10) ** -70:
                break
        return q


def normal_quantile_of_log_slope(x):
    with mp.workdps(80):
        q = normal_quantile_of_log(x)
        return normal_cdf(q) / normal_pdf(q)


def normal_quantile(x):
    with mp.workdps(80):
        return normal_quantile_of_log(mp.log(x)) if x < 0.5 else -normal_quantile_of_log(mp.log(1 - mpf(x)))


def normal_quantile_slope(x):
    with mp.workdps(80):
        return 1 / normal_pdf(normal_quantile(x))


def betaln(x, y):
    with mp.workdps(400):
        return mp.loggamma(mpf(x)) + mp.loggamma(mpf(y)) - mp.loggamma(mpf(x) + mpf(y))


def polygamma_drop(n, x, y):
    with mp.workdps(400):
        return mp.psi(n, mpf(x)) - mp.psi(n, mpf(x) + mpf(y))


# --- points -------------------------------------------------------------------------------------

TINY = [5e-324, 1e-310, 1e-200, 1e-20, 1e-8]

ANGLES = signed(
    TINY + [0.1, 0.25, 1 / 3, 0.5, 0.75, 1.0, 1.5, 2.0, 7.0, 1e6 + 0.1, 4503599627370495.5, 1e300]
) + near(0.5)[1:] + near(1.0)[1:] + uniform(-4, 4, 10)  # fmt: skip

ZEROS = [-2.4570247382208006, -2.7476826467274127, -3.955294284858598, -5.0082181683225935,
         -8.000024800270682, -12.000000002087676, -14.999999999999236, -17.000000000000004]  # fmt: skip
POLES = [math.nextafter(-float(n), d) for n in (1, 2, 3, 17, 18, 30) for d in (0, -math.inf)]

POSITIVE = TINY + [1e-3, 0.1, 0.5, 0.9, 1.1, 1.3, 1.9, 2.5, 5.5, 9.9, 10.0, 30.0, 1e3, 1e8, 1e15]
NEGATIVE = [-x for x in TINY] + [-1e-3, -0.25, -0.5, -0.75, -1.5, -2.3, -3.9, -10.4, -20.5, -100.7]

POINTS = {
    "sin_pi": ANGLES,
    "cos_pi": ANGLES,
    "erf": signed(TINY + [0.1, 0.5, 0.84, 0.85, 1.0, 1.25, 2.0, 2.9, 4.0, 5.5, 6.0, 30.0, 1e300])
    + uniform(-3, 3, 10),
    "erfc": signed(TINY + [0.1, 0.25, 0.84, 0.85, 1.25, 2.857, 2.858, 5.5, 6.0])
    + [3.2306751658098927, 10.0, 15.0, 20.0, 25.0, 26.5, 26.6, 27.2, 27.3, 30.0, -30.0]
    + uniform(0, 26, 10),
    "erfcx": TINY + [-1e-8, 0.5, 1.0, 2.0, 2.5929203819545847, 5.0, 11.9, 15.0, 26.0, 28.0, 1e3, 1e8]
    + near(12.0) + [1e155, 1e300, 1.7e308, -0.5, -1.0, -3.0, -10.0, -20.0, -26.0, -26.6, -26.643887]
    + [-26.65, -30.0] + uniform(-5, 12, 10),
    "erfinv": signed(TINY + [1e-5, 0.1, 0.3, 0.7, 0.9, 0.99, 0.9999, 1 - 1e-8, 1 - 1e-12, 1 - 1e-15])
    + [1 - 2**-53, 1 - 2**-52, -1 + 2**-53] + near(1e-4) + near(0.5) + uniform(-1, 1, 10),
    "gelu_erf": signed(TINY + [0.1, 0.5, 2.0, 5.0, 10.0, 30.0]) + near(-1.0) + [0.7517915, 1e3, 1e308]
    + [-15.0, -20.0, -25.0, -35.0, -37.5, -38.0, -38.5, -39.0, -45.0, -1e300] + uniform(-30, 3, 10),
    "gelu_tanh": signed(TINY + [0.1, 0.5, 2.0, 4.7, 4.8, 10.0, 20.0]) + [0.7524614, 60.0, 1e308]
    + [-5.0, -7.0, -12.0, -15.0, -21.0, -21.1, -21.4, -22.0, -30.0, -60.0] + uniform(-20, 3, 10),
    "silu": signed(TINY + [0.1, 1.0, 3.0, 10.0, 37.0, 100.0]) + [1e3, 1e308, -1.2784645, -400.0]
    + [-690.0, -699.9, -700.1, -708.0, -712.0, -740.0, -745.0, -750.0, -752.0, -800.0]
    + uniform(-600, 30, 10),
    "sigmoid": signed(TINY + [0.1, 1.0, 3.0, 10.0, 37.0, 100.0]) + [750.0, -690.0, -700.0, -708.0]
    + [-710.0, -740.0, -745.0, -750.0, -17.929378484396764] + uniform(-600, 30, 10),
    "softplus": signed(TINY + [0.1, 1.0, 3.0, 10.0, 37.0, 100.0]) + [750.0, 1e308, -690.0, -700.0]
    + [-708.0, -710.0, -740.0, -745.0, -750.0, -10.395727919377586] + uniform(-600, 30, 10),
    "logaddexp": [(0.0, 0.0), (1.0, -1.0), (-1.0, 1.0), (1e-20, 0.0), (-700.0, -710.0), (3.0, 3.0)]
    + [(-1e3, -1e3), (-745.0, 0.0), (-30.0, 5.0), (700.0, 701.0), (-800.0, 0.0), (800.0, 799.0)]
    + [(-1.2722281338124524, -0.1472911602503526), (-math.log(2), -math.log(2))]
    + [(x, y) for x, y in zip(uniform(-50, 50, 20), uniform(-50, 50, 20))],
    "xlogy": [(1.0, 1e-300), (2.0, 1.0), (-3.0, 5e-324), (1e-300, 1e-300), (1e300, 1.1), (0.5, 0.5)]
    + [(-0.7, 1.7e308), (3.0, math.nextafter(1.0, 2.0)), (3.0, math.nextafter(1.0, 0.0))]
    + [(x, y) for x, y in zip(uniform(-50, 50, 20), uniform(0, 9, 20))],
    "lgamma": POSITIVE + near(1.0) + near(2.0) + [8.64035960684045, 1e100, 2.5e305] + NEGATIVE
    + [y for x in ZEROS for y in near(x) if y != math.floor(y)] + POLES
    + [-2.0000001, -2.5, -2.999, -3.5, -11.999999999931466, -1e10 - 0.25, -4503599627370495.5],
    "digamma": POSITIVE + near(1.0) + near(2.0) + near(3.0) + near(1.4616321449683622, 3)
    + [1.4616, 1.4617, 1e100, 1.7e308] + NEGATIVE + POLES + [-0.504083008264, -1.57349847316]
    + [-3.7522842540879098, -1e6 - 0.5, -1e10 - 0.25, -4503599627370495.5],
    "polygamma": [(n, x) for n in (1, 2, 3) for x in POSITIVE + NEGATIVE[4:] + POLES[:6]]
    + [(n, x) for n in (4, 5, 8, 13, 20) for x in (1e-9, 0.3, 1.0, 4.5, 25.0, 1e5)]
    + [(n, x) for n in (4, 5, 8, 13, 20) for x in (-1e-5, -0.5, -3.25, -7.625, -40.51)]
    + [(n, x) for n in (21, 50, 100, 170) for x in (0.75, 20.0, 100.0, 250.0, -0.375, -5.515625)]
    + [(170, 1e3), (150, 0.01), (30, 1e11), (22, -0.49999999999997063), (2, -1000.5)],
    "sinc_derivative": [
        (n, x)
        for n in (0, 1, 2, 3, 4, 5, 8, 11, 12, 20)
        for x in [0.0, 1e-200, 1e-5, 0.3, -0.5, 1.0, 1.4320600673327326, -3.0, 5.25, 1e6 + 0.1]
        if x == 0 or n * -math.log10(abs(x)) < 300
    ] + [(1, 4503599627370495.5), (3, 1e300), (0, 5e-324), (0, 1e-9), (0, -4e3)],
    "xlog1py": [(1.0, 1e-300), (2.0, 1e-20), (-3.0, -5e-324), (1e-300, -1e-300), (1e300, 0.1), (0.5, -0.5)]
    + [(-0.7, 1.7e308), (3.0, math.nextafter(-1.0, 0.0))]
    + [(x, y) for x, y in zip(uniform(-50, 50, 20), uniform(-1, 9, 20))],
    "erfcx_derivative": [(n, x) for n in (1, 2, 3, 4, 7)
                         for x in [-26.0, -3.0, -0.1, 0.0, 1e-8, 0.1, 0.24, 0.26, 0.37, 0.38, 0.74, 0.76, 1.0, 3.0, 12.0, 1e3]],
    "normal_pdf": signed(TINY + [0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 38.0]) + uniform(-38, 38, 10),
    "normal_cdf": signed(TINY + [0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 37.5]) + near(-1.0) + uniform(-37, 5, 15),
    "log_normal_cdf": [(n, x) for n in (0, 1, 2, 3) for x in
                       [-1e4, -1e3, -100.0, -38.0, -12.5, -9.0, -3.0, -1.0, -0.51, -0.49, -1e-8, 0.0, 1e-8, 0.5, 3.0, 9.0, 30.0]],
    "normal_quantile": [1e-308, 1e-300, 1e-100, 1e-20, 1e-8, 0.01, 0.1, 0.4, 0.6, 0.9, 0.99, 1 - 1e-8, 1 - 2**-53]
    + near(0.25) + near(0.75) + near(0.5)[1:] + uniform(0, 1, 20),
    "normal_quantile_slope": [1e-308, 1e-300, 1e-100, 1e-20, 1e-8, 0.01, 0.1, 0.4, 0.5, 0.6, 0.9, 0.99, 1 - 1e-8, 1 - 2**-53]
    + near(0.25) + near(0.75) + uniform(0, 1, 20),
    "normal_quantile_of_log": [-1e8, -1e4, -800.0, -700.0, -30.0, -3.0, -0.69, -0.7, -0.1, -1e-8, -1e-20, -1e-100, -1e-300]
    + near(-1.4) + near(-0.28) + near(-math.log(2)) + uniform(-3, 0, 20),
    "normal_quantile_of_log_slope": [-1e8, -1e4, -800.0, -700.0, -30.0, -3.0, -0.69, -0.7, -0.1, -1e-8, -1e-20, -1e-100, -1e-300]
    + near(-1.4) + near(-0.28) + uniform(-3, 0, 20),
    "betaln": [(x, y) for x in (1e-300, 1e-8, 0.3, 1.0, 9.99, 10.0, 30.0, 1e10) for y in (2.5, 1e-8, 1.0, 10.0, 1e10)],
    "polygamma_drop": [(n, x, y) for n in (0, 1, 2) for x in (1e-8, 0.3, 2.5, 11.0, 30.0, 1e10) for y in (1e-8, 2.5, 1e10)],
    "mish": signed(TINY + [0.1, 1.0, 3.0, 10.0, 37.0, 100.0]) + [1e3, 1e308, -1.1924379, -400.0]
    + [-690.0, -699.9, -700.1, -708.0, -712.0, -740.0, -745.0, -750.0, -752.0, -800.0]
    + uniform(-600, 30, 10),
    "logit": [1e-308, 1e-300, 1e-100, 1e-20, 1e-8, 0.01, 0.1, 0.4, 0.6, 0.9, 0.99, 1 - 1e-8, 1 - 2**-53]
    + near(0.25) + near(0.75) + near(0.5)[1:] + uniform(0, 1, 20),
    "entr": TINY + [0.1, 0.3, 0.5, 0.9, 1.5, 30.0, 1e10, 1e300] + near(1.0)[1:] + uniform(0, 3, 20),
}

DEFINITIONS = {
    "sin_pi": lambda x: mp.sinpi(mpf(x)),
    "cos_pi": lambda x: mp.cospi(mpf(x)),
    "erf": lambda x: mp.erf(mpf(x)),
    "erfc": lambda x: mp.erfc(mpf(x)),
    "silu": lambda x: x * sigmoid(x),
    "mish": lambda x: x * mp.tanh(mp.log1p(mp.exp(mpf(x)))),
    "logit": lambda p: mp.log(mpf(p)) - mp.log1p(-mpf(p)),
    "entr": lambda x: -mpf(x) * mp.log(mpf(x)),
    "xlog1py": lambda x, y: mpf(x) * mp.log1p(mpf(y)),
    "xlogy": lambda x, y: mpf(x) * mp.log(mpf(y)),
    "digamma": lambda x: polygamma(0, x),
}

if __name__ == "__main__":
    for name, points in POINTS.items():
        function = DEFINITIONS.get(name) or globals()[name]
        for point in points:
            point = point if isinstance(point, tuple) else (point,)
            print(name, *point, repr(float(function(*point))))
