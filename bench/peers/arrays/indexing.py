"""Inputs of the rows of `indexing.json`: programs that gather, scatter, pick and slide."""

import numpy as np

from data import labels, uniform, unsigned


def rows(count, width):
    """The shape of this many rows; a vector if rows are single numbers."""
    return (count,) if width == 1 else (count, width)


def graph(s, dtype):
    """States, weights of messages and of states; where edges begin and end."""
    n, e, d = s["nodes"], s["edges"], s["width"]
    parameters = [
        uniform((n, d), 2000, dtype),
        uniform((2 * d, d), 2001, dtype, (1.5 / d) ** 0.5),
        uniform((d, d), 2002, dtype, (3.0 / d) ** 0.5),
    ]
    return parameters, labels((e,), 2003, n), labels((e,), 2004, n)


def weighted(s, dtype):
    """States and weights of edges; where edges begin and end."""
    n, e, d = s["nodes"], s["edges"], s["width"]
    parameters = [uniform((n, d), 2010, dtype), uniform((e, 1), 2011, dtype)]
    return parameters, labels((e,), 2012, n), labels((e,), 2013, n)


def segment(s, dtype):
    """Rows, and the segment of each."""
    segments = labels((s["rows"],), 2021, s["segments"])
    return uniform(rows(s["rows"], s["width"]), 2020, dtype), np.sort(segments) if s["sorted"] else segments


peaks = segment


def gather(s, dtype):
    """The rows from which is taken, which, and weights of what is taken."""
    x = uniform(rows(s["length"], s["width"]), 2030, dtype)
    return x, labels((s["count"],), 2031, s["length"]), unsigned(rows(s["count"], s["width"]), 2032, dtype)


def embedding(s, dtype):
    """The table of words and the last layer; texts, labels."""
    parameters = [uniform((s["words"], s["width"]), 2040, dtype), uniform((s["width"], 10), 2041, dtype)]
    return parameters, labels((s["texts"], s["length"]), 2042, s["words"]), labels((s["texts"],), 2043, 10)


def top(s, dtype):
    """Rows, and a weight for each rank."""
    return uniform((s["rows"], s["length"]), 2050, dtype), unsigned((s["k"],), 2051, dtype)


def depthwise(s, dtype):
    """Images and kernels as [n, channels, height, width]."""
    image, kernel = (s["images"], s["channels"], s["size"], s["size"]), (s["channels"], 1, 3, 3)
    return [uniform(image, 2060, dtype), uniform(kernel, 2061, dtype)]


def pool(s, dtype):
    """Images as [n, channels, height, width]."""
    return uniform((s["images"], s["channels"], s["size"], s["size"]), 2070, dtype)


average = pool


def middle(s, dtype):
    """An array of three axes."""
    return unsigned((s["outer"], s["length"], s["inner"]), 2080, dtype)


logs = middle
