//! [`Sparse`]: a sparse derivative that is prepared once and evaluated at many points.

mod local;

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

use super::arrays::{self, ArrayEvaluator, Source, given};
use super::options::SparseOptions;
use super::{Colouring, Method, Pattern, planner, verify};
use crate::array::{Array, Data, Type};
use crate::drive::{FrozenLeaf, Inputs, check_leaves, record_with, try_record_loss_with};
use crate::error::{Error, ErrorKind, Line};
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph::{Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::transform::pattern::Decisions;
use crate::tree::{Paths, Tree, leaves};

/// A sparse Jacobian or Hessian of a function, prepared: recorded, its pattern found, compressed, planned.
///
/// Columns are the numbers of the point, leaf after leaf in row-major order, and rows those of the results, likewise; a
/// Hessian has the point's numbers as rows too. The pattern is that of the function, not of a point, unless that is asked for
/// ([`SparseOptions::local`]): an entry that happens to be zero somewhere stays in it. What an evaluation computes is the values
/// of these entries, row by row.
///
/// ```
/// use wengert::Tensor;
/// use wengert::sparsity::Sparse;
/// // Differences of neighbours, squared: three columns in two rows.
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// let f = |x: Tensor| (x.slice(1..3) - x.slice(0..2)).square();
/// let jacobian = Sparse::jacobian(f, &x)?;
/// assert_eq!((jacobian.pattern().row(0), jacobian.pattern().row(1)), (&[0, 1][..], &[1, 2][..]));
/// let mut values = [0.0; 4];
/// jacobian.evaluate(&x, &mut values)?;
/// assert_eq!(values, [-2.0, 2.0, -4.0, 4.0]);
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// What the function captures is read when it is prepared; what changes from point to point is a leaf of the point. Branches
/// and loops of Rust are those of that run, as with [`compile`](crate::compile).
pub struct Sparse {
    kind: Kind,
    source: Source,
    pattern: Arc<Pattern>,
    method: Method,
    /// The colouring that is used, or, where none is needed, the one that would be.
    colouring: OnceLock<Colouring>,
    options: SparseOptions,
    evaluator: ArrayEvaluator,
    factors: Factors,
    /// What the pattern rests on, if it is that of a point.
    decisions: Option<Decisions>,
    why: String,
}

/// Which matrix is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Jacobian,
    Hessian,
    Lagrangian,
}

impl Kind {
    pub(super) fn is_symmetric(self) -> bool {
        self != Kind::Jacobian
    }

    pub(super) fn driver(self) -> &'static str {
        match self {
            Kind::Jacobian => "sparse_jacobian",
            Kind::Hessian => "sparse_hessian",
            Kind::Lagrangian => "sparse_hessian_of_lagrangian",
        }
    }
}

impl Sparse {
    /// The Jacobian of a function: an entry for each number of its results and each number of the point that it depends on.
    ///
    /// # Errors
    /// As [`SparseOptions::jacobian`].
    #[track_caller]
    pub fn jacobian<T, O>(f: impl FnOnce(T::Vars) -> O, x: &T) -> Result<Sparse, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        Sparse::options().jacobian(f, x)
    }

    /// The Hessian of a scalar function, both triangles.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::sparsity::Sparse;
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// let hessian = Sparse::hessian(|x: Tensor| (x.slice(0..2) * x.slice(1..3)).sum(), &x)?;
    /// assert_eq!(hessian.pattern().entries().collect::<Vec<_>>(), [(0, 1), (1, 0), (1, 2), (2, 1)]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`SparseOptions::hessian`].
    #[track_caller]
    pub fn hessian<T: Tree<Leaf = Tensor>>(f: impl FnOnce(T::Vars) -> Tensor, x: &T) -> Result<Sparse, Error> {
        Sparse::options().hessian(f, x)
    }

    /// The Hessian of the Lagrangian `sigma f + Σ lambda_k c_k` of a function that gives an objective and constraints; see
    /// [`Sparse::evaluate_lagrangian`].
    ///
    /// # Errors
    /// As [`SparseOptions::hessian_of_lagrangian`].
    #[track_caller]
    pub fn hessian_of_lagrangian<T, O>(f: impl FnOnce(T::Vars) -> (Tensor, O), x: &T) -> Result<Sparse, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        Sparse::options().hessian_of_lagrangian(f, x)
    }

    /// Options: a pattern of one's own, a forced method, rows, columns or one triangle alone, memory.
    pub fn options() -> SparseOptions {
        SparseOptions::default()
    }

    /// Which entries there are.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// How the values are computed.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The colours that the matrix needs, of columns, rows or both. Where the values are computed without colours
    /// ([`Method::Direct`]) they are found when this is first asked.
    pub fn colouring(&self) -> &Colouring {
        self.colouring.get_or_init(|| match self.kind.is_symmetric() {
            true => Colouring::star(&self.pattern, self.options.the_order())
                .unwrap_or_else(|_| Colouring::columns(&self.pattern, self.options.the_order())),
            false => Colouring::columns(&self.pattern, self.options.the_order()),
        })
    }

    /// How many colours there are: products that an evaluation by colours takes.
    pub fn colours(&self) -> usize {
        self.colouring().count()
    }

    /// The ways to compute this matrix with what each is predicted to take, and why one was chosen.
    pub fn explain(&self) -> String {
        let (rows, cols, nnz) = (self.pattern.rows(), self.pattern.cols(), self.pattern.nnz());
        let of_point = if self.decisions.is_some() { ", those of a point" } else { "" };
        let title = format!("{} of {rows} x {cols}, {nnz} entries{of_point}", self.kind.driver());
        let whole = planner::whole(&self.source, &self.options);
        match whole.and_then(|whole| planner::choices(&self.source, &whole, self.kind, &self.options)) {
            Ok(choices) => planner::table(&title, &choices, self.method, &self.why),
            Err(why) => format!("{title}\ntaken: {}, {}\n(the other ways: {why})\n", self.method, self.why),
        }
    }

    /// Writes the values of the entries at a point, row by row.
    ///
    /// It allocates what a call of a compiled function does: results below a mebibyte. Numbers in single precision are
    /// widened.
    ///
    /// # Errors
    /// If the point has leaves of other types than the one that this was prepared with, `values` does not have as many
    /// numbers as the pattern entries, an operation fails on its values, the pattern is that of a point and does not hold at
    /// this one, or this is the Hessian of a Lagrangian.
    #[track_caller]
    pub fn evaluate<T: Tree<Leaf = Tensor>>(&self, x: &T, values: &mut [f64]) -> Result<(), Error> {
        let line = Location::caller();
        if self.kind == Kind::Lagrangian {
            let why = "the Hessian of a Lagrangian needs its factors: call `evaluate_lagrangian`";
            return Err(Error::new(ErrorKind::Misfit, "evaluate", why).at(Some(line)));
        }
        let point = given("evaluate", "point", self.types(), &leaves(x), line)?;
        self.written(&point, values, line)
    }

    /// The values at several points, one after the other in `values`.
    ///
    /// # Errors
    /// As [`Sparse::evaluate`].
    #[track_caller]
    pub fn evaluate_many<T: Tree<Leaf = Tensor>>(&self, points: &[T], values: &mut [f64]) -> Result<(), Error> {
        let line = Location::caller();
        let (nnz, wanted) = (self.pattern.nnz(), self.pattern.nnz() * points.len());
        if values.len() != wanted {
            let why = format!("there are {} values for {} points of {nnz} entries", values.len(), points.len());
            return Err(Error::new(ErrorKind::Misfit, "evaluate_many", why).at(Some(line)));
        }
        for (k, x) in points.iter().enumerate() {
            let point = given("evaluate_many", &format!("point {k}"), self.types(), &leaves(x), line)?;
            self.written(&point, &mut values[k * nnz..(k + 1) * nnz], line)?;
        }
        Ok(())
    }

    /// Writes the values of the Hessian of `sigma f + Σ lambda_k c_k` at a point; `lambda` has a number for each number of
    /// the constraints, leaf after leaf. This is the order and the form in which interior point methods ask (Wächter and Biegler,
    /// 2006).
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::sparsity::Sparse;
    /// let x = Tensor::from([1.0, 2.0]);
    /// let hessian = Sparse::hessian_of_lagrangian(|x: Tensor| (x.square().sum(), x.clone() * &x * &x), &x)?;
    /// let mut values = [0.0; 2];
    /// hessian.evaluate_lagrangian(&x, 0.5, &[1.0, 10.0], &mut values)?;
    /// assert_eq!(values, [7.0, 121.0]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Sparse::evaluate`]; if `lambda` has another length than there are constraints, or this is not the Hessian of a
    /// Lagrangian.
    #[track_caller]
    pub fn evaluate_lagrangian<T: Tree<Leaf = Tensor>>(
        &self,
        x: &T,
        sigma: f64,
        lambda: &[f64],
        values: &mut [f64],
    ) -> Result<(), Error> {
        const NAME: &str = "evaluate_lagrangian";
        let line = Location::caller();
        let misfit = |why: String| Err(Error::new(ErrorKind::Misfit, NAME, why).at(Some(line)));
        if self.kind != Kind::Lagrangian {
            return misfit("this was prepared without factors: `Sparse::hessian_of_lagrangian` has some".to_owned());
        }
        let mut point = given(NAME, "point", &self.types()[..self.source.active], &leaves(x), line)?;
        let factors = self.factors.numbers(sigma, lambda, NAME, line)?;
        point.extend(factors.iter().map(|factor| factor.data().clone()));
        self.written(&point, values, line)
    }

    /// Compares the matrix at a point with one product of the Jacobian with a random vector, forwards: an entry that a given
    /// pattern lacks shows in its row, unless it is 0 there. Of a lower triangle without some rows or columns the last row is
    /// compared, or the rows below the last column: what stands in the others above the diagonal is not known.
    ///
    /// # Errors
    /// As [`Sparse::evaluate`], and if a row differs by more than rounding: the first of them is named.
    #[track_caller]
    pub fn verify<T: Tree<Leaf = Tensor>>(&self, x: &T) -> Result<(), Error> {
        let line = Location::caller();
        let mut values = vec![0.0; self.pattern.nnz()];
        self.evaluate(x, &mut values)?;
        verify::product(&self.source, (&self.pattern, &values), &self.options, &leaves(x), line)
    }

    fn types(&self) -> &[Type] {
        &self.source.program.input_types()[..self.source.given]
    }

    fn written(&self, point: &[Data], values: &mut [f64], line: Line) -> Result<(), Error> {
        if values.len() != self.pattern.nnz() {
            let why = format!("there are {} values for {} entries", values.len(), self.pattern.nnz());
            return Err(Error::new(ErrorKind::Misfit, "evaluate", why).at(Some(line)));
        }
        let evaluated = self.check_holds(point).and_then(|()| self.evaluator.evaluate(point, values));
        evaluated.map_err(|error| error.at(Some(line)))
    }
}

/// `Sparse(Jacobian, Pattern(…), direct)`.
impl fmt::Debug for Sparse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sparse({:?}, {:?}, {})", self.kind, self.pattern, self.method)
    }
}

impl SparseOptions {
    /// As [`Sparse::jacobian`], with these options.
    ///
    /// # Errors
    /// If a leaf of the point is not real, an operation has no derivative, the function captured a variable of a driver
    /// under way, a given pattern or row does not fit, the forced method is not possible, or there is not enough memory.
    #[track_caller]
    pub fn jacobian<T, O>(self, f: impl FnOnce(T::Vars) -> O, x: &T) -> Result<Sparse, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        check_leaves("sparse_jacobian", line, &leaves(x), &|| Paths::of(x))?;
        let (_, point, closed) = record_with(FrozenLeaf::Severed, "sparse_jacobian", x, f, |output| leaves(output));
        let source = Source::new("sparse_jacobian", &closed, point.len(), line)?;
        prepare(Kind::Jacobian, source, Factors::default(), self, Some(&point))
    }

    /// As [`Sparse::hessian`], with these options.
    ///
    /// # Errors
    /// As [`SparseOptions::jacobian`], and if the function does not give a single real number.
    #[track_caller]
    pub fn hessian<T: Tree<Leaf = Tensor>>(self, f: impl FnOnce(T::Vars) -> Tensor, x: &T) -> Result<Sparse, Error> {
        let line = Location::caller();
        let (point, closed) = try_record_loss_with(FrozenLeaf::Severed, "sparse_hessian", x, f)?;
        let source = Source::new("sparse_hessian", &closed, point.len(), line)?.differentiated()?;
        prepare(Kind::Hessian, source, Factors::default(), self, Some(&point))
    }

    /// As [`Sparse::hessian_of_lagrangian`], with these options.
    ///
    /// # Errors
    /// As [`SparseOptions::hessian`].
    #[track_caller]
    pub fn hessian_of_lagrangian<T, O>(self, f: impl FnOnce(T::Vars) -> (Tensor, O), x: &T) -> Result<Sparse, Error>
    where
        T: Tree<Leaf = Tensor>,
        O: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        let (closed, factors) = lagrangian(x, f, line)?;
        let source = Source::new(Kind::Lagrangian.driver(), &closed, x.size(), line)?.differentiated()?;
        prepare(Kind::Lagrangian, source, factors, self, Some(&leaves(x)))
    }

    /// The Jacobian of a Program by its first inputs; the others have these numbers at every point.
    ///
    /// ```
    /// use wengert::sparsity::Sparse;
    /// use wengert::{Array, Program, Tensor};
    /// let program: Program = "program(v0: f64[2], v1: f64[2]) { v2: f64[2] = mul v0 v1; return v2 }".parse()?;
    /// let sparse = Sparse::options().program(&program, &[Array::new(&[2], vec![3.0, 4.0])])?;
    /// let mut values = [0.0; 2];
    /// sparse.evaluate(&Tensor::from([1.0, 1.0]), &mut values)?;
    /// assert_eq!(values, [3.0, 4.0]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Sparse::jacobian`]; if the Program has fewer inputs than there are numbers, or others than theirs at the end; or if
    /// the pattern of a point is wanted, because there is none.
    #[track_caller]
    pub fn program(self, program: &Program, others: &[Array]) -> Result<Sparse, Error> {
        let line = Location::caller();
        let misfit = |why: String| Err(Error::new(ErrorKind::Misfit, "sparse_jacobian", why).at(Some(line)));
        let types = program.input_types();
        let Some(active) = types.len().checked_sub(others.len()) else {
            return misfit(format!("the Program has {} inputs, and {} are given", types.len(), others.len()));
        };
        if let Some((k, other)) = others.iter().enumerate().find(|(k, other)| *other.ty() != types[active + k]) {
            return misfit(format!("input {} is {}, and has to be {}", active + k, other.ty(), types[active + k]));
        }
        if let Some(k) = types[..active].iter().position(|ty| !ty.dtype.is_float()) {
            return misfit(format!("input {k} is {}, and there is no derivative by it: give it a value", types[k]));
        }
        prepare(Kind::Jacobian, Source::of_program(program, others, line), Factors::default(), self, None)
    }
}

/// The factors of an objective and of constraints, one for each of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Factors {
    types: Vec<Type>,
}

impl Factors {
    /// How many there are besides that of the objective.
    fn multipliers(&self) -> usize {
        self.types.iter().skip(1).map(Type::size).sum()
    }

    /// The factors as arrays of the types of what they multiply.
    ///
    /// # Errors
    /// If there is not one for each constraint.
    pub(super) fn numbers(&self, sigma: f64, lambda: &[f64], name: &str, line: Line) -> Result<Vec<Array>, Error> {
        if lambda.len() != self.multipliers() {
            let why = format!("there are {} factors for {} constraints", lambda.len(), self.multipliers());
            return Err(Error::new(ErrorKind::Misfit, name, why).at(Some(line)));
        }
        let all: Vec<f64> = std::iter::once(sigma).chain(lambda.iter().copied()).collect();
        let mut rest = &all[..];
        let own = |ty: &Type| {
            let (own, others) = rest.split_at(ty.size());
            rest = others;
            arrays::as_type(own, ty)
        };
        Ok(self.types.iter().map(own).collect())
    }
}

/// The Lagrangian of what a function gives, recorded: its leaves are those of the point, and the factors.
pub(super) fn lagrangian<T, O>(
    x: &T,
    f: impl FnOnce(T::Vars) -> (Tensor, O),
    line: Line,
) -> Result<(Closed, Factors), Error>
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let name = Kind::Lagrangian.driver();
    let misfit = |why: &str, ty: &Type| Err(Error::new(ErrorKind::Misfit, name, why).of([ty]).at(Some(line)));
    check_leaves(name, line, &leaves(x), &|| Paths::of(x))?;
    let level = ArrayLevel::open_at(name, Reading::Allowed, line);
    let mut inputs = Inputs::of(&level, x, FrozenLeaf::Severed);
    let (objective, constraints) = f(x.vars(&mut |leaf| inputs.next(leaf)));
    let terms: Vec<Tensor> = std::iter::once(objective).chain(leaves(&constraints)).collect();
    if let Some(term) = terms.iter().find(|term| !term.dtype().is_float()) {
        return misfit("the objective and the constraints have to be real", term.ty());
    }
    if !terms[0].shape().is_empty() {
        return misfit("the objective has to be a single number: reduce it with `sum` or `mean`", terms[0].ty());
    }
    let types: Vec<Type> = terms.iter().map(|term| term.ty().clone()).collect();
    let factor = |ty: &Type| level.input(&Tensor::from_array(Array::zeros(ty)), &Mapped::Whole);
    let factors: Vec<Tensor> = types.iter().map(factor).collect();
    let dtype = terms[0].dtype();
    let weighted = terms.iter().zip(&factors).map(|(term, factor)| (term * factor).sum().convert(dtype));
    let sum = weighted.reduce(|sum, term| sum + term).expect("the objective is one");
    Ok((level.close(&[sum])?, Factors { types }))
}

/// Finds the pattern, chooses a way, and plans it.
fn prepare(
    kind: Kind,
    source: Source,
    factors: Factors,
    options: SparseOptions,
    point: Option<&[Tensor]>,
) -> Result<Sparse, Error> {
    let local = of_point(kind, &source, &options, point)?;
    let prepared = match &local {
        Some((pattern, _)) => planner::prepare(kind, &source, &options.clone().with_found(pattern.clone()))?,
        None => planner::prepare(kind, &source, &options)?,
    };
    let colouring = OnceLock::new();
    if let Some(own) = prepared.colouring {
        colouring.get_or_init(|| own);
    }
    Ok(Sparse {
        kind,
        source,
        pattern: prepared.evaluator.pattern.clone(),
        method: prepared.method,
        colouring,
        options,
        evaluator: prepared.evaluator,
        factors,
        decisions: local.map(|(_, decisions)| decisions),
        why: prepared.why,
    })
}

/// The pattern of a point and what it rests on, if that is asked for.
fn of_point(
    kind: Kind,
    source: &Source,
    options: &SparseOptions,
    point: Option<&[Tensor]>,
) -> Result<Option<(Pattern, Decisions)>, Error> {
    match (options.local, &options.pattern, point) {
        (false, ..) => Ok(None),
        (true, Some(_), _) => {
            Err(source
                .error(kind.driver(), "a pattern is given, and that of a point is wanted: it is one or the other"))
        }
        (true, None, None) => {
            Err(source.error(kind.driver(), "the pattern of a point is wanted, and a Program is prepared without one"))
        }
        (true, None, Some(point)) => local::pattern(source, point).map(Some),
    }
}
