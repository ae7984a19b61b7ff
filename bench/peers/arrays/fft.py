"""Inputs of the rows of `fft.json`: Fourier transforms."""

from data import uniform


def spectrum(s, dtype):
    """Rows of real numbers; weights of the frequencies."""
    n = s["length"]
    return uniform((s["rows"], n), 5000, dtype), uniform((n // 2 + 1,), 5001, dtype)


def filtered(s, dtype):
    """A factor for each frequency; rows of real numbers."""
    n = s["length"]
    return uniform((n // 2 + 1,), 5010, dtype), uniform((s["rows"], n), 5011, dtype)


def plane(s, dtype):
    """Complex numbers in a plane; weights of the frequencies."""
    shape = (s["rows"], s["columns"])
    return uniform(shape, 5020, dtype) + 1j * uniform(shape, 5021, dtype), uniform(shape, 5022, dtype)


def line(s, dtype):
    """Rows of complex numbers; weights of the frequencies."""
    shape = (s["rows"], s["length"])
    return uniform(shape, 5030, dtype) + 1j * uniform(shape, 5031, dtype), uniform(shape[1:], 5032, dtype)
