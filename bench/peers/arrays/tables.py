"""The rows of `indexing.json`, `batches.json`, `linalg.json` and `fft.json`: programs of a few kinds in several sizes.

A row says its name, type, kind, sizes, the number of threads, what our time should be of the fastest peer's at most,
and the wanted numbers with their tolerance; `wanted.py` computes the numbers. A kind is a function of the table's
module, as `indexing.py`, which makes the inputs, one of `jax_….py` and `torch_….py`, and one of `bench/src/workloads/….rs`.
"""

import json
import os

import numpy as np

import batches
import fft
import indexing
import linalg

INPUTS = {"indexing": indexing, "batches": batches, "linalg": linalg, "fft": fft}


def file_of(table):
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{table}.json")


def read(table):
    with open(file_of(table)) as file:
        return {f"{row['name']}:{row['dtype']}": row for row in json.load(file)}


TABLES = {table: read(table) for table in INPUTS}
ROWS = {key: row for rows in TABLES.values() for key, row in rows.items()}

# What every system gives, as in `data.WANTED`.
WANTED = {key: (*row["wanted"], row["tolerance"]) for key, row in ROWS.items()}


def table_of(row):
    """The table that has the row."""
    return next(table for table, rows in TABLES.items() if rows.get(f"{row['name']}:{row['dtype']}") is row)


def inputs(row):
    """What a program takes: first what it is differentiated by, then the rest."""
    made = getattr(INPUTS[table_of(row)], row["kind"])(row["sizes"], {"f32": np.float32, "f64": np.float64}[row["dtype"]])
    return made if isinstance(made, tuple) else (made,)
