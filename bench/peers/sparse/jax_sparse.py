"""Sparse Jacobians by coloured products in JAX, written by hand: the functions of `bench/src/sparse/arrays.rs`.

JAX finds no patterns: the five colours of a five-point stencil, (i + 2 j) mod 5, are written here, and so is which product
holds which entry. Times are medians of calls that were compiled before.

    python jax_sparse.py
"""

import os
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def around(u):
    return jnp.pad(u, 1)


def laplacian(u):
    a = around(u)
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4.0 * u + jnp.exp(u)


def diffusion(u):
    a = around(u)

    def flux(near):
        return (1.0 + 0.5 * (near * near + u * u)) * (near - u)

    return flux(a[:-2, 1:-1]) + flux(a[2:, 1:-1]) + flux(a[1:-1, :-2]) + flux(a[1:-1, 2:])


def wave(*shape):
    return jnp.asarray(0.5 + 0.3 * np.sin(np.arange(np.prod(shape)) * 0.37)).reshape(shape)


def coloured(f, n):
    """The entries of the Jacobian, row by row: five products, and for every entry where it stands in them."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    colour = (i + 2 * j) % 5
    seeds = jnp.asarray(np.stack([(colour == k).astype(np.float64) for k in range(5)]))
    sources = []
    for di, dj in [(-1, 0), (0, -1), (0, 0), (0, 1), (1, 0)]:
        inside = (i + di >= 0) & (i + di < n) & (j + dj >= 0) & (j + dj < n)
        place = (((i + di) + 2 * (j + dj)) % 5) * n * n + i * n + j
        sources.append(np.where(inside, place, -1))
    sources = np.stack(sources, axis=-1).reshape(-1)
    sources = jnp.asarray(sources[sources >= 0])

    @jax.jit
    def values(u):
        products = jax.vmap(lambda seed: jax.jvp(f, (u,), (seed,))[1])(seeds)
        return products.reshape(-1)[sources]

    return values


def median(f, x, calls=9):
    f(x).block_until_ready()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        f(x).block_until_ready()
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times)[len(times) // 2]


def main():
    for name, f in [("laplacian", laplacian), ("diffusion", diffusion)]:
        for n in [100, 1000]:
            u = wave(n, n)
            value = median(jax.jit(f), u)
            values = coloured(f, n)
            time_of = median(values, u)
            print(f"{name} {n}: f {value:.3f} ms, coloured products {time_of:.3f} ms, {values(u).shape[0]} entries")
    u = wave(40, 40)
    dense = jax.jit(jax.jacfwd(lambda u: laplacian(u).reshape(-1)))
    print(f"laplacian 40: dense {median(dense, u):.3f} ms, coloured products {median(coloured(laplacian, 40), u):.3f} ms")


if __name__ == "__main__":
    main()
