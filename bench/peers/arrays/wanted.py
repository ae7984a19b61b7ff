"""Writes the wanted numbers of `indexing.json`: JAX in double precision, of the inputs as the row's type rounds them.

`python wanted.py` computes all rows, `python wanted.py NAME…` those of these names.
"""

import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import indexing  # noqa: E402
import jax_indexing  # noqa: E402
from measure import norm  # noqa: E402

jax.config.update("jax_enable_x64", True)


def doubled(tree):
    """Real numbers in double precision, indices as they are."""
    return jax.tree.map(lambda a: jnp.asarray(a, np.float64 if a.dtype.kind == "f" else a.dtype), tree)


def wanted(row):
    parameters, *rest = doubled(indexing.inputs(row))
    value, gradient = jax.jit(jax.value_and_grad(jax_indexing.loss(row)))(parameters, *rest)
    return [float(value), norm([np.asarray(leaf) for leaf in jax.tree.leaves(gradient)])]


def main():
    rows = list(indexing.ROWS.values())
    for row in rows:
        if not sys.argv[1:] or row["name"] in sys.argv[1:]:
            row["wanted"] = wanted(row)
            print(row["name"], row["dtype"], row["wanted"])
    with open(indexing.FILE, "w") as file:
        file.write("[\n" + ",\n".join("  " + json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
