//! [`SharedPattern`]: the pattern of a sparse operand, shared by all operations on it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::matching::{Unmatched, matched};
use crate::error::{Misfit, misfit};
use crate::hash::FastHasher;
use wengert_kernels::pattern::Pattern;

/// A pattern that operations share: cheap to copy, equal if the entries are, with what is found out about it only once.
///
/// It is made of a [`Pattern`], of which `&pattern` is copied and `pattern` and `Arc<Pattern>` are not.
///
/// ```
/// use std::sync::Arc;
/// use wengert::primitives::SharedPattern;
/// use wengert::sparsity::Pattern;
/// let pattern = Arc::new(Pattern::diagonal(3));
/// let shared = SharedPattern::from(&pattern);
/// assert_eq!(shared, SharedPattern::from(Pattern::diagonal(3)));
/// assert_eq!(shared.nnz(), 3);
/// ```
#[derive(Clone)]
pub struct SharedPattern(Arc<Kept>);

struct Kept {
    pattern: Arc<Pattern>,
    hash: u64,
    by_columns: OnceLock<ByColumns>,
    /// For each row an entry, no two of them in one column.
    transversal: OnceLock<Result<Vec<usize>, Misfit>>,
    /// For each entry the one on the other side of the diagonal.
    mirrored: OnceLock<Result<(), Misfit>>,
}

/// The entries of a pattern column by column.
pub(crate) struct ByColumns {
    /// The transposed pattern.
    pub(crate) pattern: Pattern,
    /// For each entry in this order its number row by row.
    pub(crate) entries: Vec<usize>,
}

impl SharedPattern {
    /// The pattern itself.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.0.pattern
    }

    /// The entries column by column.
    pub(crate) fn by_columns(&self) -> &ByColumns {
        self.0.by_columns.get_or_init(|| ByColumns::of(&self.0.pattern))
    }

    /// The order of a square matrix that can be regular: for some numbers of the entries it is.
    pub(super) fn check_regular(&self) -> Result<usize, Misfit> {
        let order = self.check_square()?;
        self.transversal().map(|_| order)
    }

    /// The order of a square matrix that can be symmetric and positive definite: each entry has its counterpart, and the
    /// diagonal is there.
    pub(super) fn check_symmetric(&self) -> Result<usize, Misfit> {
        let order = self.check_square()?;
        self.0.mirrored.get_or_init(|| self.mirrored()).clone().map(|()| order)
    }

    /// For each row an entry, no two of them in one column.
    pub(crate) fn transversal(&self) -> Result<&[usize], Misfit> {
        match self.0.transversal.get_or_init(|| matched(&self.0.pattern).map_err(|why| singular(self, &why))) {
            Ok(entries) => Ok(entries),
            Err(why) => Err(why.clone()),
        }
    }

    fn check_square(&self) -> Result<usize, Misfit> {
        if self.rows() != self.cols() {
            misfit!("the matrix is {} by {}, and has to be square", self.rows(), self.cols());
        }
        Ok(self.rows())
    }

    fn mirrored(&self) -> Result<(), Misfit> {
        for row in 0..self.rows() {
            if !self.contains(row, row) {
                misfit!(
                    "the entry ({row}, {row}) is not in the pattern, and a positive definite matrix needs its diagonal"
                );
            }
            if let Some(&col) = self.row(row).iter().find(|&&col| !self.contains(col as usize, row)) {
                misfit!(
                    "the pattern is not symmetric: it has the entry ({row}, {col}) and not ({col}, {row}); both triangles \
                     of a positive definite matrix are needed"
                );
            }
        }
        Ok(())
    }
}

impl ByColumns {
    fn of(pattern: &Pattern) -> Self {
        let transposed = pattern.transposed();
        let mut next = transposed.starts().to_vec();
        let mut entries = vec![0; pattern.nnz()];
        for (entry, &col) in pattern.columns().iter().enumerate() {
            let place = &mut next[col as usize];
            entries[*place] = entry;
            *place += 1;
        }
        ByColumns { pattern: transposed, entries }
    }
}

/// What is said of a pattern in which rows have too few columns.
fn singular(pattern: &Pattern, why: &Unmatched) -> Misfit {
    if let Some(row) = (0..pattern.rows()).find(|&row| pattern.row(row).is_empty()) {
        return Misfit(format!("the matrix is singular whatever its values are: row {row} has no entries"));
    }
    let mut empty = vec![true; pattern.cols()];
    pattern.columns().iter().for_each(|&col| empty[col as usize] = false);
    if let Some(col) = empty.iter().position(|&empty| empty) {
        return Misfit(format!("the matrix is singular whatever its values are: column {col} has no entries"));
    }
    let (count, columns) = (why.rows.len(), why.columns);
    let named: Vec<String> = why.rows.iter().take(8).map(ToString::to_string).collect();
    let more = if count > named.len() { ", …" } else { "" };
    let rows = named.join(", ") + more;
    Misfit(format!(
        "the matrix is singular whatever its values are: {count} rows ({rows}) have their entries in {columns} columns"
    ))
}

impl Deref for SharedPattern {
    type Target = Pattern;

    fn deref(&self) -> &Pattern {
        &self.0.pattern
    }
}

impl PartialEq for SharedPattern {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (&self.0, &other.0);
        Arc::ptr_eq(one, other)
            || one.hash == other.hash && (Arc::ptr_eq(&one.pattern, &other.pattern) || one.pattern == other.pattern)
    }
}

impl Eq for SharedPattern {}

impl Hash for SharedPattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

/// As of [`Pattern`]: the sizes alone.
impl fmt::Debug for SharedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0.pattern, f)
    }
}

impl From<Arc<Pattern>> for SharedPattern {
    fn from(pattern: Arc<Pattern>) -> Self {
        let mut hasher = FastHasher::default();
        pattern.hash(&mut hasher);
        let hash = hasher.finish();
        let (by_columns, transversal, mirrored) = Default::default();
        SharedPattern(Arc::new(Kept { pattern, hash, by_columns, transversal, mirrored }))
    }
}

impl From<&Arc<Pattern>> for SharedPattern {
    fn from(pattern: &Arc<Pattern>) -> Self {
        Arc::clone(pattern).into()
    }
}

impl From<Pattern> for SharedPattern {
    fn from(pattern: Pattern) -> Self {
        Arc::new(pattern).into()
    }
}

impl From<&Pattern> for SharedPattern {
    fn from(pattern: &Pattern) -> Self {
        pattern.clone().into()
    }
}

impl From<&SharedPattern> for SharedPattern {
    fn from(pattern: &SharedPattern) -> Self {
        pattern.clone()
    }
}

#[cfg(test)]
mod tests;
