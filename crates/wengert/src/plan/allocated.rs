//! Memory that steps allocate for themselves while they run, beside the arena: that of libraries, and of definitions.

use wengert_kernels::product::Workspace;

/// How many bytes steps allocate for themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocated {
    /// What products of matrices pack their operands into; threads keep it.
    pub(crate) products: Workspace,
    /// What the library of factorisations packs the operands of its own products into; threads keep it.
    pub(crate) factors: usize,
    /// What definitions and plain Rust allocate, which is freed at the end of each.
    pub(crate) definitions: usize,
}

impl From<Workspace> for Allocated {
    fn from(products: Workspace) -> Self {
        Allocated { products, ..Allocated::default() }
    }
}

impl Allocated {
    /// What a definition allocates.
    pub(crate) fn by_definition(bytes: usize) -> Self {
        Allocated { definitions: bytes, ..Allocated::default() }
    }

    /// What either of two takes, one after the other.
    #[must_use]
    pub(crate) fn max(self, other: Allocated) -> Allocated {
        Allocated {
            products: self.products.max(other.products),
            factors: self.factors.max(other.factors),
            definitions: self.definitions.max(other.definitions),
        }
    }

    /// What it takes on as many threads at the same time.
    #[must_use]
    pub(crate) fn times(self, threads: usize) -> Allocated {
        Allocated {
            products: self.products.times(threads),
            factors: self.factors.saturating_mul(threads),
            definitions: self.definitions.saturating_mul(threads),
        }
    }

    /// What is touched while a step runs: all but what the library of factorisations reserves.
    pub(crate) fn used(self) -> usize {
        self.products.bytes().saturating_add(self.definitions)
    }

    /// All of it. What is freed at the end of a step is not there twice.
    pub(crate) fn bytes(self) -> usize {
        self.used().saturating_add(self.factors)
    }
}
