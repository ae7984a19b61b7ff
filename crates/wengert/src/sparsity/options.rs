//! [`SparseOptions`]: what a user can say about a sparse derivative.

#[cfg(feature = "arrays")]
use std::borrow::Cow;
use std::sync::Arc;

use super::{Method, Order, Pattern};

/// Options of a sparse derivative; from [`Sparse::options`](super::Sparse::options).
///
/// ```
/// use wengert::Tensor;
/// use wengert::sparsity::{Method, Sparse};
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let hessian = Sparse::options().lower().method(Method::Star).hessian(|x: Tensor| x.square().sum().square(), &x)?;
/// assert_eq!(hessian.pattern().entries().count(), 6);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SparseOptions {
    pub(super) pattern: Option<Arc<Pattern>>,
    pub(super) check: bool,
    pub(super) local: bool,
    pub(super) method: Option<Method>,
    pub(super) order: Option<Order>,
    pub(super) memory: Option<usize>,
    pub(super) lower: bool,
    pub(super) rows: Option<Vec<usize>>,
    pub(super) columns: Option<Vec<usize>>,
}

impl SparseOptions {
    /// A pattern of one's own instead of the one that is found. Entries that it lacks are taken to be 0: if they are not,
    /// values of others are wrong, which [`SparseOptions::check`] finds before and
    /// [`Sparse::verify`](super::Sparse::verify) at a point.
    pub fn pattern(mut self, pattern: impl Into<Arc<Pattern>>) -> Self {
        self.pattern = Some(pattern.into());
        self
    }

    /// Whether a given pattern is compared with the one that is found: an entry that it lacks is an error, which names it.
    pub fn check(mut self, check: bool) -> Self {
        self.check = check;
        self
    }

    /// The pattern of the point alone: masks, indices and conditions have their values there, so that entries which a choice
    /// leaves out are not in it, and there are fewer colours. It holds where these values are the same, which
    /// [`Sparse::evaluate`](super::Sparse::evaluate) checks: elsewhere it is an error, and
    /// [`Sparse::at`](super::Sparse::at) prepares the derivative for the other point. To check it, what decides is computed
    /// operation by operation at every point, without a plan; a function in which nothing decides has nothing to check.
    ///
    /// A number that happens to be zero is no choice, nor are `maximum` and `relu`, which reach both sides: the entry stays. A
    /// recorded function of numbers has the pattern of its path in any case.
    pub fn local(mut self) -> Self {
        self.local = true;
        self
    }

    /// The way to compute it, which is otherwise the one that takes the fewest operations.
    pub fn method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self
    }

    /// In which order vertices are coloured.
    pub fn order(mut self, order: Order) -> Self {
        self.order = Some(order);
        self
    }

    /// Bytes that products with colours may take at a time; more colours are computed one part after the other.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Of a Hessian, the entries on and below the diagonal alone.
    pub fn lower(mut self) -> Self {
        self.lower = true;
        self
    }

    /// These rows alone, in any order. The matrix keeps its size, and its other rows are empty.
    pub fn rows(mut self, rows: impl IntoIterator<Item = usize>) -> Self {
        self.rows = Some(rows.into_iter().collect());
        self
    }

    /// These columns alone, in any order. The matrix keeps its size, and its other columns are empty.
    pub fn columns(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.columns = Some(columns.into_iter().collect());
        self
    }

    /// A pattern that was found, in the place of the one that holds everywhere.
    #[cfg(feature = "arrays")]
    pub(super) fn with_found(mut self, pattern: Pattern) -> Self {
        self.check = false;
        self.pattern(pattern)
    }

    pub(super) fn the_order(&self) -> Order {
        self.order.unwrap_or(Order::Best)
    }

    /// Whether some rows or columns of the matrix are not wanted.
    pub(super) fn leaves_lines_out(&self) -> bool {
        self.rows.is_some() || self.columns.is_some()
    }

    /// Whether some entries of the matrix are not wanted.
    pub(super) fn is_part(&self) -> bool {
        self.lower || self.leaves_lines_out()
    }

    /// The entries of a pattern in the rows and columns that are wanted, on both sides of the diagonal: what stands in the
    /// products from which wanted entries are read.
    ///
    /// # Errors
    /// A row or column that the pattern does not have.
    #[cfg(feature = "arrays")]
    pub(super) fn in_wanted_lines<'a>(&self, pattern: &'a Pattern) -> Result<Cow<'a, Pattern>, String> {
        match self.leaves_lines_out() {
            true => SparseOptions { lower: false, ..self.clone() }.wanted(pattern).map(Cow::Owned),
            false => Ok(Cow::Borrowed(pattern)),
        }
    }

    /// The entries of a pattern that are wanted.
    ///
    /// # Errors
    /// A row or column that the pattern does not have.
    pub(super) fn wanted(&self, pattern: &Pattern) -> Result<Pattern, String> {
        let rows = marks("row", self.rows.as_deref(), pattern.rows())?;
        let columns = marks("column", self.columns.as_deref(), pattern.cols())?;
        let mut starts = vec![0];
        let mut kept: Vec<u32> = Vec::new();
        for (row, wanted) in rows.iter().enumerate() {
            if *wanted {
                let own = pattern.row(row).iter().filter(|&&col| columns[col as usize]);
                kept.extend(own.filter(|&&col| !self.lower || col as usize <= row));
            }
            starts.push(kept.len());
        }
        Pattern::from_rows(pattern.cols(), starts, kept).map_err(|why| why.to_string())
    }
}

fn marks(what: &str, wanted: Option<&[usize]>, count: usize) -> Result<Vec<bool>, String> {
    let Some(wanted) = wanted else { return Ok(vec![true; count]) };
    let mut marks = vec![false; count];
    for &number in wanted {
        *marks.get_mut(number).ok_or_else(|| format!("{what} {number} is wanted, and there are {count}"))? = true;
    }
    Ok(marks)
}
