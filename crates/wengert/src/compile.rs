//! [`compile`]: a function of tensors that is traced once and then only run.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::array::{Data, Type};
use crate::error::{Error, OrRaise};
use crate::execute::{CompiledProgram, Made, Prepared, Results, Settings};
use crate::optimize;
#[cfg(feature = "engine")]
use crate::plan::Plan;
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Structure, Tree, leaves};

/// A function of tensors that is traced at its first call and then only run: no call of `f`, no recording, no search.
///
/// `f` takes and gives trees of tensors; it may call drivers, to any depth, and [`vmap`](crate::vmap) and the like. It is
/// called once for every *signature*: element types and shapes of the leaves, lengths of lists, values of static fields. For
/// arguments of a known signature its plan runs, whatever their numbers. Arguments may be borrowed:
/// `step.call((&model, &x))` is a call of a function of `(Model, Tensor)`. The type of the closure's parameter has to be
/// written.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::compile;
///
/// #[derive(Tree, Clone)]
/// struct Line { slope: Tensor, start: Tensor }
///
/// let step = compile(|(line, x, y): (Line, Tensor, Tensor)| {
///     let (loss, g) = value_and_grad(&line, |line| (line.slope * &x + line.start - &y).square().mean());
///     (loss, line - 0.1 * g)
/// });
/// let (x, y) = (Tensor::from([0.0, 1.0, 2.0]), Tensor::from([1.0, 3.0, 5.0]));
/// let mut line = Line { slope: Tensor::from(0.0), start: Tensor::from(0.0) };
/// for _ in 0..300 {
///     (_, line) = step.call((&line, &x, &y));
/// }
/// assert!((line.slope.item() - 2.0).abs() < 1e-6 && (line.start.item() - 1.0).abs() < 1e-6);
/// assert_eq!(step.trace_count(), 1);
/// ```
///
/// # What is captured
///
/// What `f` captures (tensors, numbers, flags) is read when it is traced, once for every signature: later changes of a
/// captured value are not seen. What changes from call to call is an argument. Branches and loops of Rust are those of the
/// trace; [`cond`](crate::cond) is a branch that is decided by every run.
///
/// # Reading a number
///
/// While `f` is traced its tensors have types and no numbers. Taking a number out (`item`, `to_vec`, printing) is an error
/// that names the line: return what you want to see.
///
/// ```should_panic
/// use wengert::{Tensor, compile};
/// let f = compile(|x: Tensor| if x.sum().gt(0.0).test() { x.clone() } else { -x });
/// f.call(Tensor::from([1.0, 2.0]));
/// ```
///
/// # Calls
///
/// A compiled function is `Send` and `Sync` if `f` is, and may be called by many threads at once; each call at the same
/// time has memory of its own, which is kept for later ones. Inside a recording, at recorded arguments, a call records the
/// equations of the trace, so that compiled functions are differentiated like others.
///
/// Results of a mebibyte and more are written where an earlier result lay, as soon as nobody holds that any more: at most
/// two generations are kept. Everything else that a call allocates is its small results.
///
/// [`Compile`] has options: threads and memory.
#[doc(alias = "jit")]
pub fn compile<A, O, F: Fn(A) -> O>(f: F) -> Compiled<A, O, F> {
    Compile::new().function(f)
}

/// Options of [`compile`].
///
/// ```
/// use wengert::{Compile, Tensor};
/// let f = Compile::new().threads(1).memory(1 << 20).function(|x: Tensor| x.exp().sum());
/// assert_eq!(f.call(Tensor::from([0.0, 0.0])).item(), 2.0);
/// assert!(f.try_call(Tensor::zeros(&[1 << 10])).is_ok());
/// let g = Compile::new().memory(1 << 10).function(|x: Tensor| x.exp());
/// assert!(g.try_call(Tensor::zeros(&[1 << 10])).unwrap_err().to_string().contains("are allowed"));
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Compile {
    threads: Option<usize>,
    memory: Option<usize>,
    #[cfg(feature = "spill")]
    spill: Option<Arc<std::path::Path>>,
}

impl Compile {
    /// The threads of the drivers, and as much memory as it takes.
    pub fn new() -> Self {
        Compile::default()
    }

    /// Runs on this many threads of its own, the caller's among them. Otherwise it shares those that
    /// [`set_threads`](crate::set_threads) has set when a signature is first planned. More than 1024 are an error of the
    /// call that would start them.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads.max(1));
        self
    }

    /// Bytes that a call may take at most, its results included: a plan that needs more is an error of the call that makes
    /// it. Arguments are the caller's.
    pub fn memory(mut self, bytes: usize) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Where loops of unknown length may write what does not fit in [`Compile::memory`]. Without a limit nothing is written.
    ///
    /// For its reverse a [`while_loop`](crate::while_loop) keeps its carries, all or as many as
    /// [`While::snapshots`](crate::While::snapshots) says. Within a limit as many lie in memory as there is room for, 65,536 at
    /// most; the others go to a file in this directory instead of being computed again: that pays where a step costs more than
    /// writing and reading what it carries, about ten functions of every number. The bits are the same. Each loop that
    /// runs has a file of its own, made when the first carry has no room, and gone when the loop ends in whatever way: it has
    /// no name, or on Windows one that nobody can guess. What is read from it is checked against a checksum. A directory that
    /// is missing or may not be written, a disk that is full, and a carry that is not what was written are errors of the call.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Compile;
    /// let swing = |x: Tensor| {
    ///     grad(&x, |x| while_loop((Tensor::from(0i64), x), |(n, _)| n.lt(500i64), |(n, x)| (n + 1i64, x.sin())).1.sum())
    /// };
    /// let x = Tensor::linspace(0.5, 1.0, 1000);
    /// // room for about ten of the 500 carries of 8,008 bytes each
    /// let spilling = Compile::new().threads(1).memory(200_000).spill(std::env::temp_dir()).function(swing);
    /// assert_eq!(spilling.call(&x).to_vec(), swing(x).to_vec());
    /// ```
    ///
    /// Loops over numbers keep their carries in memory.
    #[cfg(feature = "spill")]
    pub fn spill(mut self, directory: impl AsRef<std::path::Path>) -> Self {
        self.spill = Some(directory.as_ref().into());
        self
    }

    fn settings(&self) -> Result<Settings, Error> {
        let settings = Settings::of(self.threads, self.memory)?;
        #[cfg(feature = "spill")]
        let settings = settings.spilling(self.spill.clone());
        Ok(settings)
    }

    /// A Program, planned now.
    ///
    /// ```
    /// use wengert::{Array, Compile, Program};
    /// let program: Program = "program(v0: f64[]) { v1: f64[] = square v0; return v1 }".parse()?;
    /// let square = Compile::new().threads(1).memory(1 << 20).program(&program)?;
    /// assert_eq!(square.run(&[Array::scalar(-3.0)])?[0].to_f64(), [9.0]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there cannot be as many threads, or the plan needs more memory than [`Compile::memory`] allows.
    #[track_caller]
    pub fn program(self, program: &Program) -> Result<CompiledProgram, Error> {
        let line = Location::caller();
        let settings = self.settings();
        settings.and_then(|settings| CompiledProgram::new(program, &settings)).map_err(|error| error.at(Some(line)))
    }

    /// The function; see [`compile`].
    pub fn function<A, O, F: Fn(A) -> O>(self, f: F) -> Compiled<A, O, F> {
        let settings = OnceLock::new();
        let traces = RwLock::new(Vec::new());
        Compiled { function: f, options: self, settings, traces, clock: AtomicU64::new(0), arguments: PhantomData }
    }
}

/// A compiled function; see [`compile`].
pub struct Compiled<A, O, F> {
    function: F,
    options: Compile,
    settings: OnceLock<Settings>,
    /// What was traced, in no order.
    traces: RwLock<Vec<Arc<Specialised<O>>>>,
    /// Counts calls: the trace that was not used the longest is forgotten first.
    clock: AtomicU64,
    arguments: PhantomData<fn(A)>,
}

/// How many signatures are kept.
const MOST_TRACES: usize = 64;

/// The function at a signature.
struct Specialised<O> {
    types: Vec<Type>,
    structure: Option<u64>,
    /// What the function gave: its structure is that of every result.
    output: O,
    /// Takes the leaves, then the captures.
    made: Made,
    captures: Vec<Tensor>,
    /// Plans for arguments that are kept, and for those that are given away.
    plans: [OnceLock<Prepared>; 2],
    used: AtomicU64,
}

/// What happens to the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arguments {
    Kept,
    Donated,
}

impl<A, O, F> Compiled<A, O, F>
where
    F: Fn(A) -> O,
    O: Tree<Leaf = Tensor>,
{
    /// The value of the function.
    ///
    /// # Panics
    /// As [`Compiled::try_call`] gives errors; and if the function itself panics while it is traced, which is also how it
    /// says that it reads a number or that operands do not fit.
    #[track_caller]
    pub fn call<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T) -> O::Grad {
        self.try_call(arguments).or_raise()
    }

    /// As [`Compiled::call`], with an error instead of a panic for mistakes that only running shows.
    ///
    /// # Errors
    /// If an operation fails on its values (an index out of range), or the plan needs more memory than [`Compile::memory`]
    /// allows.
    #[track_caller]
    pub fn try_call<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T) -> Result<O::Grad, Error> {
        self.run(arguments, Arguments::Kept)
    }

    /// The value of the function, whose results may be written where arguments lie: the leaves that are moved in and that
    /// nobody else holds are given away. The numbers are the same.
    ///
    /// A result takes the place of an argument of its type if it is computed from it element by element, and nothing that
    /// is computed later needs the argument: parameters that a step of training replaces. An argument that somebody else
    /// holds is copied first, so borrow what is still needed and nothing changes under anybody's hands.
    ///
    /// ```
    /// use wengert::{Tensor, compile};
    /// let step = compile(|(p, g): (Tensor, Tensor)| p - 0.5 * g);
    /// let (mut p, g) = (Tensor::from([1.0, 2.0]), Tensor::from([0.5, 0.5]));
    /// for _ in 0..4 {
    ///     p = step.call_donating((p, &g));
    /// }
    /// assert_eq!(p.to_vec(), [0.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Compiled::call`].
    #[track_caller]
    pub fn call_donating<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T) -> O::Grad {
        self.try_call_donating(arguments).or_raise()
    }

    /// As [`Compiled::call_donating`], with an error instead of a panic for mistakes that only running shows.
    ///
    /// # Errors
    /// As [`Compiled::try_call`]. The arguments are given away all the same.
    #[track_caller]
    pub fn try_call_donating<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T) -> Result<O::Grad, Error> {
        self.run(arguments, Arguments::Donated)
    }

    /// The plan for arguments like these, made if there is none yet: its steps and the memory that it takes.
    ///
    /// ```
    /// use wengert::{Tensor, compile};
    /// let f = compile(|x: Tensor| x.exp().sum());
    /// let plan = f.plan(&Tensor::zeros(&[1000]))?;
    /// assert_eq!(plan.step_count(), 1, "exp and sum are one region");
    /// assert!(plan.peak_bytes() < 100_000);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the plan needs more memory than [`Compile::memory`] allows.
    #[cfg(feature = "engine")]
    #[track_caller]
    pub fn plan<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T) -> Result<Arc<Plan>, Error> {
        let trace = self.trace(&arguments)?;
        Ok(self.prepared(&trace, Arguments::Kept)?.plan.clone())
    }

    /// For how many signatures the function is traced: at most 64, the last used ones.
    pub fn trace_count(&self) -> usize {
        self.traces.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    #[track_caller]
    fn run<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: T, given: Arguments) -> Result<O::Grad, Error> {
        let line = Location::caller();
        let trace = self.trace(&arguments)?;
        let mut is_known = trace.captures.iter().all(|capture| capture.known().is_some()) && !graph::in_branch();
        arguments.visit_leaves(&mut |leaf| is_known &= leaf.known().is_some());
        if !is_known {
            let point = leaves(&arguments);
            let operands: Vec<&Tensor> = point.iter().chain(&trace.captures).collect();
            return Ok(trace.tree(graph::apply_made("compile", &trace.made, &operands)?));
        }
        let prepared = self.prepared(&trace, given)?;
        let fill = |list: &mut Vec<Option<Data>>| {
            let mut push = |leaf: &Tensor| list.push(leaf.known().map(|array| array.data().clone()));
            arguments.visit_leaves(&mut push);
            trace.captures.iter().for_each(push);
            // The caller moved the leaf in and no longer holds it.
            drop(arguments);
        };
        let results: Results = prepared.run(fill).map_err(|error| error.at(Some(line)))?;
        Ok(trace.tree(results.into_iter().map(Tensor::from_array)))
    }

    /// The trace for arguments like these.
    #[track_caller]
    fn trace<T: Tree<Leaf = Tensor, Vars = A>>(&self, arguments: &T) -> Result<Arc<Specialised<O>>, Error> {
        let structure = Structure::of(arguments).known();
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        let fits =
            |trace: &&Arc<Specialised<O>>| structure.is_some() && trace.structure == structure && trace.fits(arguments);
        let known = self.traces.read().unwrap_or_else(PoisonError::into_inner).iter().find(fits).cloned();
        if let Some(trace) = known {
            trace.used.store(now, Ordering::Relaxed);
            return Ok(trace);
        }
        // Nothing is locked meanwhile: the function may call itself. Two threads may trace at once; both are right.
        let level = ArrayLevel::open("compile", Reading::Symbolic);
        let output = (self.function)(arguments.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
        let closed = level.close(&leaves(&output))?;
        let types = closed.program.input_types()[..closed.leaves].to_vec();
        let (made, captures) = (Made::new(Arc::unwrap_or_clone(closed.program)), closed.captures);
        let used = AtomicU64::new(now);
        let trace = Arc::new(Specialised { types, structure, output, made, captures, plans: Default::default(), used });
        let mut traces = self.traces.write().unwrap_or_else(PoisonError::into_inner);
        if structure.is_some() && !traces.iter().any(|other| fits(&other)) {
            if traces.len() == MOST_TRACES {
                let age = |trace: &Arc<Specialised<O>>| trace.used.load(Ordering::Relaxed);
                let oldest = (0..traces.len()).min_by_key(|&k| age(&traces[k]));
                oldest.map(|oldest| traces.swap_remove(oldest));
            }
            traces.push(trace.clone());
        }
        Ok(trace)
    }

    /// The plan of a trace.
    #[track_caller]
    fn prepared<'a>(&self, trace: &'a Specialised<O>, given: Arguments) -> Result<&'a Prepared, Error> {
        let line = Location::caller();
        self.planned(trace, given).map_err(|error| error.at(Some(line)))
    }

    fn planned<'a>(&self, trace: &'a Specialised<O>, given: Arguments) -> Result<&'a Prepared, Error> {
        let place = &trace.plans[given as usize];
        if let Some(prepared) = place.get() {
            return Ok(prepared);
        }
        let settings = match self.settings.get() {
            Some(settings) => settings,
            None => {
                let settings = self.options.settings()?;
                self.settings.get_or_init(|| settings)
            }
        };
        let donated = vec![given == Arguments::Donated; trace.types.len()];
        // A recording around takes the trace as it is, and finds the loops by itself.
        let loops = optimize::rolled(&trace.made.program);
        let prepared = Prepared::new(loops.as_ref().unwrap_or(&trace.made.program), settings, &donated)?;
        Ok(place.get_or_init(|| prepared))
    }
}

impl<O: Tree<Leaf = Tensor>> Specialised<O> {
    /// Whether these are its types.
    fn fits<T: Tree<Leaf = Tensor>>(&self, arguments: &T) -> bool {
        let mut types = self.types.iter();
        let mut fits = true;
        arguments.visit_leaves(&mut |leaf| fits &= types.next() == Some(leaf.ty()));
        fits && types.next().is_none()
    }

    /// The result with these leaves.
    fn tree(&self, leaves: impl IntoIterator<Item = Tensor>) -> O::Grad {
        let mut leaves = leaves.into_iter();
        self.output.grad(&mut || leaves.next().expect("one per leaf"))
    }
}

impl<A, O, F> fmt::Debug for Compiled<A, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("options", &self.options).finish_non_exhaustive()
    }
}
