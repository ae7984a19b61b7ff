//! [`Method`]: the ways to compute a sparse derivative.

use std::fmt;

/// A way to compute a sparse Jacobian or Hessian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// Entry by entry, without colours: each number's seeds are followed through the function, which only moves numbers,
    /// works element by element, and adds a few. Of a recorded function of numbers: its records are eliminated one by one, the last
    /// one first (Griewank and Walther, 2008, chapter 9).
    Direct,
    /// Products with colours of columns, forwards.
    Columns,
    /// Products with colours of rows, backwards.
    Rows,
    /// Products with colours of columns and with colours of rows.
    Bidirectional,
    /// Of a symmetric matrix: products with a star colouring of its columns.
    Star,
    /// Of a symmetric matrix: products with an acyclic colouring, whose entries follow by substitution.
    Acyclic,
    /// Of a recorded function of numbers: all second partials are pushed backwards through its list (Gower and Mello, 2012).
    EdgePushing,
    /// A product for each column, or each row.
    Dense,
}

impl Method {
    /// Whether it takes an entry from its mirror image, and so has colours for whole symmetric matrices alone.
    #[cfg(feature = "arrays")]
    pub(super) const fn is_mirrored(self) -> bool {
        matches!(self, Method::Star | Method::Acyclic)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Method::Direct => "direct",
            Method::Columns => "columns",
            Method::Rows => "rows",
            Method::Bidirectional => "bidirectional",
            Method::Star => "star",
            Method::Acyclic => "acyclic",
            Method::EdgePushing => "edge pushing",
            Method::Dense => "dense",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
