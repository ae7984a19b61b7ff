"""How a case is timed: every form of it once for its numbers, briefly for its time, and the fastest form at length.

A form is a pair of calls, the objective and the derivative, whose results are complete when they return. The first call of
each traces and compiles and is not counted. A form whose numbers are off ends the process.
"""

import argparse
import json
import os
import sys
import time

import numpy as np

import problems

# Of the largest entry, as for ours.
TOLERANCE = 1e-10


def start(systems):
    """Reads the command line, and binds the process before the system is imported, whose pools ask for processors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True, help="the folder with index.json")
    parser.add_argument("--only", required=True, help="the name of a case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--system", choices=systems, default=systems[0])
    asked = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(asked.threads)
    processors = sorted(os.sched_getaffinity(0))
    if asked.threads < len(processors):
        os.sched_setaffinity(0, processors[-asked.threads :])
    return asked


def timed(call, seconds, least):
    times = []
    begin = time.perf_counter()
    while len(times) < least or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - before)
        del result
    return float(np.median(times))


def report(asked, forms):
    """Measures the forms of a case, `name -> (objective, derivative, flat)`; `flat` makes NumPy arrays of their results."""
    record = problems.cases(asked.dir)[asked.only]
    begin = time.perf_counter()
    tried = {}
    for name, (objective, derivative, flat) in forms.items():
        off = problems.worst(asked.dir, record, flat(objective()), flat(derivative()))
        if not off <= TOLERANCE:
            sys.exit(f"{asked.system} {asked.only}, {name}: off by {off:.1e} of the largest entry")
        tried[name] = timed(derivative, asked.seconds / 4, 2)
    prepared = time.perf_counter() - begin
    best = min(tried, key=tried.get)
    objective, derivative, _ = forms[best]
    line = {
        "system": asked.system,
        "case": asked.only,
        "form": best,
        "derivative_s": timed(derivative, asked.seconds, 5),
        "objective_s": min(timed(form[0], asked.seconds / 2, 3) for form in forms.values()),
        "prepared_s": prepared,
        "tried": tried,
    }
    print(json.dumps(line), flush=True)
