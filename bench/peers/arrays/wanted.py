"""Writes the wanted numbers of the tables: JAX in double precision, of the inputs as the row's type rounds them.

`python wanted.py` computes all rows, `python wanted.py NAME…` those of these names.
"""

import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import jax_batches  # noqa: E402
import jax_fft  # noqa: E402
import jax_indexing  # noqa: E402
import jax_linalg  # noqa: E402
import tables  # noqa: E402
from measure import norm  # noqa: E402

jax.config.update("jax_enable_x64", True)


def doubled(tree):
    """Real and complex numbers in double precision, indices as they are."""
    types = {"f": np.float64, "c": np.complex128}
    return jax.tree.map(lambda a: jnp.asarray(a, types.get(a.dtype.kind, a.dtype)), tree)


def wanted(row):
    inputs = doubled(tables.inputs(row))
    kind, losses = row["kind"], {**jax_batches.LOSSES, **jax_linalg.LOSSES, **jax_fft.LOSSES}
    if kind in jax_batches.DERIVATIVES:
        value, derivative = [jax.jit(function)(*inputs) for function in jax_batches.DERIVATIVES[kind]]
    else:
        loss = losses[kind] if kind in losses else jax_indexing.loss(row)
        value, derivative = jax.jit(jax.value_and_grad(loss))(*inputs)
    number = float(value) if value.ndim == 0 else float(jnp.sum(jnp.square(value)))
    return [number, norm([np.asarray(leaf) for leaf in jax.tree.leaves(derivative)])]


def main():
    for table, rows in tables.TABLES.items():
        for row in rows.values():
            if not sys.argv[1:] or row["name"] in sys.argv[1:]:
                row["wanted"] = wanted(row)
                print(row["name"], row["dtype"], row["wanted"])
        with open(tables.file_of(table), "w") as file:
            file.write("[\n" + ",\n".join("  " + json.dumps(row) for row in rows.values()) + "\n]\n")


if __name__ == "__main__":
    main()
