"""How a workload is timed: the first call, then the median and minimum of calls on prepared data, then the loss alone.

Every measurement has a process of its own, so that its peak of memory is its own: a script asked for several starts
itself once for each.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np

import data
import tables

# What every system gives, by the name on the command line.
WANTED = {**data.WANTED, **tables.WANTED}


@dataclass
class Case:
    """A workload on prepared data. A call returns when its result is computed."""

    # The loss alone, or what the workload calls its primal.
    primal: Callable[[], Any]
    # What is timed: value and gradient, a training step, a Hessian, a Jacobian.
    derivative: Callable[[], Any]
    # The value and the norm of the derivative at the initial point.
    check: Callable[[], tuple]


def options(systems):
    """The command line of a system's script."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(WANTED), help="workloads, as W1,W6 or W6:f32, or kinds, as gather")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long calls are repeated, at least five times")
    parser.add_argument("--system", choices=systems, default=systems[0])
    parser.add_argument("--size", type=int, default=1 << 24, help="numbers in W8; its check holds for the default")
    return parser.parse_args()


def names_of(key):
    """What a key is called: W7 names W7a and W7b, a kind all its rows, a table all of its."""
    name = key.split(":")[0]
    row = tables.ROWS.get(key)
    return [key, name, *([row["kind"], tables.table_of(row)] if row else [name.rstrip("ab")])]


def named(names):
    """The keys of a list like W1,W6:f32."""
    keys = []
    for name in names.split(","):
        found = [key for key in WANTED if name in names_of(key)]
        if not found:
            sys.exit(f"no workload is called `{name}`")
        keys += found
    return keys


def limit_threads(threads):
    """Limits the process to as many processors as threads; before the system is imported, whose pools ask for them."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(threads)
    processors = sorted(os.sched_getaffinity(0))
    if threads < len(processors):
        os.sched_setaffinity(0, processors[-threads:])


def keep_memory():
    """Starts the process again with an allocator that keeps freed memory, unless it has been."""
    wanted = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
    if any(os.environ.get(name) != value for name, value in wanted.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})


def start():
    """Reads the command line; does not return if there are several measurements: each is a process then."""
    systems = {"jax_peer.py": ["jax"], "torch_peer.py": ["torch", "torch-compile"]}[os.path.basename(sys.argv[0])]
    asked = options(systems)
    keys = named(asked.only)
    if len(keys) == 1:
        if (asked.system, keys[0]) == ("torch", "W8:f32"):
            # Eager operations allocate 64 MiB each: fresh from the system every time, they take five times as long.
            keep_memory()
        limit_threads(asked.threads)
        return keys[0], asked
    failed = 0
    for key in keys:
        command = [sys.executable, *sys.argv, "--only", key]
        failed += subprocess.run(command).returncode != 0
    sys.exit(1 if failed else 0)


def timed(call, seconds):
    """The seconds of calls after one that warms up."""
    call()
    times = []
    begin = time.perf_counter()
    while len(times) < 5 or time.perf_counter() - begin < seconds:
        before = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - before)
        del result
    return times


def forget_peak():
    """Starts the peak of memory again from what is held now: it is that of repeated calls."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak_mb():
    """The largest resident memory of the process, in MiB."""
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024.0


def norm(arrays):
    """The Euclidean norm of all numbers of NumPy arrays, summed in double precision."""
    return float(np.sqrt(sum(float(np.sum(np.square(np.abs(a), dtype=np.float64))) for a in arrays)))


def report(key, asked, case):
    """Measures a case and prints its line of JSON; ends the process if its numbers are off."""
    workload, dtype = key.split(":")
    begin = time.perf_counter()
    case.derivative()
    compile_s = time.perf_counter() - begin
    check = [float(number) for number in case.check()]
    *wanted, tolerance = WANTED[key]
    whole = workload != "W8" or asked.size == 1 << 24
    if whole and not all(abs(got - want) <= tolerance * abs(want) for got, want in zip(check, wanted)):
        sys.exit(f"{asked.system} {key}: {check} is not {wanted}")
    case.derivative()
    forget_peak()
    times = timed(case.derivative, asked.seconds)
    peak = peak_mb()
    primal = timed(case.primal, asked.seconds)
    line = {
        "system": asked.system,
        "workload": workload,
        "dtype": dtype,
        "threads": asked.threads,
        "compile_s": compile_s,
        "median_s": float(np.median(times)),
        "min_s": min(times),
        "primal_s": float(np.median(primal)),
        "reps": len(times),
        "peak_rss_mb": peak,
        "check": check,
    }
    print(json.dumps(line), flush=True)
