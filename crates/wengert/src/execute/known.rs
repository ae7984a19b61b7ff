//! Programs that were made of others before, with the plans that they run by.
//!
//! A driver in a loop records the same Program every time. What is made of it, and its plan, is found by what was
//! recorded: by types, operations and wiring, and by the user's lines, because errors name them. Arrays that the function
//! captured are operands, so that the same function finds its plan at new data; plain numbers become operands when they are
//! seen to vary (`numbers.rs`).

use std::any::Any;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use smallvec::SmallVec;

use super::cache::{Bounded, Weight};
use super::moved::{moved, moved_by};
use super::numbers::{self, Numbers};
use super::{Prepared, Settings};
use crate::array::{Array, Type};
use crate::error::{Error, Line};
use crate::hash::FastHasher;
use crate::primitives::{Literal, Op};
use crate::program::{Builder, Program};

/// What a Program is made for: any value that tells one purpose from another.
pub(crate) trait Purpose: Any + Debug + Send + Sync {
    /// Whether another purpose is this one.
    fn is(&self, other: &dyn Purpose) -> bool;
    /// Feeds the purpose to a hasher.
    fn feed(&self, hasher: &mut FastHasher);
    /// A copy to be kept.
    fn kept(&self) -> Arc<dyn Purpose>;
}

impl<T: Any + Clone + Debug + Eq + Hash + Send + Sync> Purpose for T {
    fn is(&self, other: &dyn Purpose) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<T>() == Some(self)
    }
    fn feed(&self, hasher: &mut FastHasher) {
        self.hash(hasher);
    }
    fn kept(&self) -> Arc<dyn Purpose> {
        Arc::new(self.clone())
    }
}

/// The purpose of a Program that is run as it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Itself;

/// A Program that was made, its second part if it has one, and the plan of the first.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) program: Program,
    pub(crate) back: Option<Arc<Program>>,
    /// Bytes that its plan may take.
    memory: Option<usize>,
    prepared: Mutex<Option<Arc<Prepared>>>,
}

impl Made {
    /// A Program without a plan.
    pub(crate) fn new(program: Program) -> Self {
        Made { program, back: None, memory: None, prepared: Mutex::new(None) }
    }

    /// With a second part.
    pub(crate) fn with_back(self, back: Program) -> Self {
        Made { back: Some(Arc::new(back)), ..self }
    }

    /// With a limit of bytes for its plan.
    pub(crate) fn within(self, bytes: usize) -> Self {
        Made { memory: Some(bytes), ..self }
    }

    /// The plan, for the threads that are set now.
    fn prepared(&self) -> Result<Arc<Prepared>, Error> {
        let settings = Settings::of(None, self.memory)?;
        let mut place = locked(&self.prepared);
        if let Some(prepared) = place.as_ref().filter(|prepared| prepared.is_made_for(&settings)) {
            return Ok(prepared.clone());
        }
        let prepared = Arc::new(Prepared::new(&self.program, &settings, &[])?);
        *place = Some(prepared.clone());
        Ok(prepared)
    }

    /// The results at these inputs.
    ///
    /// # Errors
    /// If there is not enough memory, or an operation fails on its values.
    pub(crate) fn run<'a>(&self, inputs: impl Iterator<Item = &'a Array>) -> Result<super::Results, Error> {
        self.prepared()?.run(|list| list.extend(inputs.map(|input| Some(input.data().clone()))))
    }
}

/// What was made of a recorded Program, with the numbers of the recording that are operands of it.
#[derive(Clone, Debug)]
pub(crate) struct BoundProgram {
    pub(crate) made: Arc<Made>,
    /// Their places are behind the inputs of what was recorded.
    pub(crate) numbers: Vec<Literal>,
}

impl BoundProgram {
    /// The results at these inputs of what was recorded, and further ones.
    ///
    /// # Errors
    /// As [`Made::run`].
    pub(crate) fn run<'a>(
        &self,
        inputs: impl Iterator<Item = &'a Array>,
        more: impl Iterator<Item = &'a Array>,
    ) -> Result<super::Results, Error> {
        self.made.prepared()?.run(|list| {
            list.extend(inputs.map(|input| Some(input.data().clone())));
            list.extend(self.numbers.iter().map(|&number| Some(numbers::array(number).data().clone())));
            list.extend(more.map(|input| Some(input.data().clone())));
        })
    }
}

/// Which numbers of a recording are operands of what is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NumberOperands {
    /// Those that were seen to vary: the others fold. For what runs at once.
    Varying,
    /// All that can be: what is recorded in turn has one form, and the recording around finds out what varies.
    All,
}

/// What is found, with the key that it was found by.
#[derive(Clone, Debug)]
struct Found {
    key: Arc<ProgramKey>,
    made: Arc<Made>,
}

#[derive(Debug)]
enum ProgramKey {
    Derived {
        purpose: Arc<dyn Purpose>,
        source: Arc<Program>,
        which: NumberOperands,
        numbers: Numbers,
        operands: Vec<bool>,
    },
    Single {
        op: Op,
        types: Vec<Type>,
    },
}

impl Weight for Found {
    fn bytes(&self) -> usize {
        // One that is being planned has no memory yet, and is not waited for.
        let prepared = self.made.prepared.try_lock().ok();
        let plan = prepared.and_then(|prepared| prepared.as_ref().map(|prepared| prepared.bytes())).unwrap_or(0);
        plan + BYTES_OF_EQUATION * self.made.program.eqns.len()
    }
}

/// What an equation takes in its Program and plan, roughly.
const BYTES_OF_EQUATION: usize = 1 << 10;
/// How many Programs of drivers are kept, and of single operations and what consists of a few.
const MOST: [usize; 2] = [256, 1024];
/// Bytes that the memory of their plans may take.
const MOST_BYTES: [usize; 2] = [512 << 20, 128 << 20];

type Cache = LazyLock<Mutex<Bounded<Found>>>;
static DERIVED: Cache = LazyLock::new(|| Mutex::new(Bounded::new(MOST[0], MOST_BYTES[0])));
static SINGLE: Cache = LazyLock::new(|| Mutex::new(Bounded::new(MOST[1], MOST_BYTES[1])));

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What a panicking thread leaves is whole: every change under these locks is one call.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `make` makes of a recorded Program for a purpose, or what it made before. `make` is given the Program with the
/// numbers that are operands as inputs behind its own. The recording itself is kept, not a copy.
pub(crate) fn made(
    purpose: &impl Purpose,
    source: &Arc<Program>,
    which: NumberOperands,
    make: impl FnOnce(&Program) -> Result<Made, Error>,
) -> Result<BoundProgram, Error> {
    made_in(&DERIVED, (purpose, which), source, || source.clone(), make)
}

/// A Program that is run as it is.
pub(crate) fn made_itself(source: &Program, which: NumberOperands) -> Result<BoundProgram, Error> {
    made_in(&DERIVED, (&Itself, which), source, || Arc::new(source.clone()), itself)
}

fn made_in(
    cache: &Cache,
    (purpose, which): (&dyn Purpose, NumberOperands),
    source: &Program,
    kept: impl FnOnce() -> Arc<Program>,
    make: impl FnOnce(&Program) -> Result<Made, Error>,
) -> Result<BoundProgram, Error> {
    let mut hasher = FastHasher::default();
    purpose.feed(&mut hasher);
    which.hash(&mut hasher);
    numbers::hash_structure(source, &mut hasher);
    let hash = hasher.finish();
    let own = Numbers::of(source);
    // Whether it was made of a Program that differs in numbers alone, of those that may differ.
    let fits = |found: &Found, may: &mut dyn FnMut(&[bool], usize) -> bool| match &*found.key {
        ProgramKey::Derived { purpose: its, source: program, which: its_which, operands, .. } => {
            *its_which == which
                && its.is(purpose)
                && numbers::is_same(program, source, &mut |place| may(operands, place))
                && program.has_lines_of(source)
        }
        ProgramKey::Single { .. } => false,
    };
    let found = locked(cache).find(hash, |found| {
        let ProgramKey::Derived { numbers, operands, .. } = &*found.key else { return false };
        own.are_equal_where(numbers) && own.may_be(operands) && fits(found, &mut |operands, place| operands[place])
    });
    if let Some(Found { key, made }) = found {
        let ProgramKey::Derived { operands, .. } = &*key else { unreachable!("it was compared") };
        return Ok(BoundProgram { made, numbers: own.values(operands) });
    }
    let wanted = match which {
        NumberOperands::All => numbers::movable(source),
        NumberOperands::Varying => {
            let sibling = locked(cache).find(hash, |found| fits(found, &mut |_, _| true));
            match sibling.map(|sibling| varying(&sibling.key, source)) {
                Some(varying) => both(&varying, &numbers::movable(source)),
                None => vec![false; own.count()],
            }
        }
    };
    let operands = own.operands(&wanted);
    // Nothing is locked meanwhile: it takes a long time, and may call drivers.
    let made = Arc::new(match operands.contains(&true) {
        true => make(&numbers::with_inputs(source, &own, &operands))?,
        false => make(source)?,
    });
    let bound = BoundProgram { made: made.clone(), numbers: own.values(&operands) };
    let key = ProgramKey::Derived { purpose: purpose.kept(), source: kept(), which, numbers: own, operands };
    locked(cache).keep(hash, Found { key: Arc::new(key), made });
    Ok(bound)
}

/// The numbers in which a Program differs from one of the same structure, and those that differed before.
fn varying(sibling: &ProgramKey, source: &Program) -> Vec<bool> {
    let ProgramKey::Derived { source: program, operands, .. } = sibling else { unreachable!("it was compared") };
    let mut varying = operands.clone();
    numbers::is_same(program, source, &mut |place| {
        varying[place] = true;
        true
    });
    varying
}

fn both(x: &[bool], y: &[bool]) -> Vec<bool> {
    x.iter().zip(y).map(|(x, y)| *x && *y).collect()
}

/// A Program as it is.
fn itself(program: &Program) -> Result<Made, Error> {
    Ok(Made::new(program.clone()))
}

/// The results of a Program, whose plan is kept.
///
/// # Errors
/// If there is not enough memory, or an operation fails on its values.
pub(crate) fn apply<'a>(program: &Program, inputs: impl Iterator<Item = &'a Array>) -> Result<super::Results, Error> {
    made_itself(program, NumberOperands::Varying)?.run(inputs, std::iter::empty())
}

/// The results of a Program that one call of the user's made, whose equations have no lines, so that other calls of the
/// same function find its plan.
///
/// # Errors
/// If there is not enough memory, or an operation fails on its values.
pub(crate) fn apply_composite<'a>(
    program: &Program,
    inputs: impl Iterator<Item = &'a Array> + Clone,
    line: Line,
) -> Result<super::Results, Error> {
    if let Some(results) = moved(program, inputs.clone()) {
        return Ok(results);
    }
    let kept = || Arc::new(program.clone());
    let bound = made_in(&SINGLE, (&Itself, NumberOperands::Varying), program, kept, itself)?;
    bound.run(inputs, std::iter::empty()).map_err(|error| error.at(Some(line)))
}

/// The results of one operation, whose plan is kept. Its operands were checked.
///
/// # Errors
/// If there is not enough memory, or the operation fails on the values.
pub(crate) fn apply_single<'a, I>(op: &Op, inputs: I, line: Line) -> Result<super::Results, Error>
where
    I: Iterator<Item = &'a Array> + Clone,
{
    let types: SmallVec<[&Type; 4]> = inputs.clone().map(Array::ty).collect();
    if let Some(results) = moved_by(op, &types, inputs.clone()) {
        return Ok(results);
    }
    let mut hasher = FastHasher::default();
    op.hash(&mut hasher);
    inputs.clone().for_each(|input| input.ty().hash(&mut hasher));
    let hash = hasher.finish();
    // Lines inside the Programs of an operation count as in `made`; its own is that of this call.
    let lines = |other: &Op| op.programs().iter().zip(other.programs()).all(|(own, other)| own.has_lines_of(other));
    let fits = |found: &Found| match &*found.key {
        ProgramKey::Single { op: own, types } => {
            own == op && types.iter().eq(inputs.clone().map(Array::ty)) && lines(own)
        }
        ProgramKey::Derived { .. } => false,
    };
    let found = locked(&SINGLE).find(hash, fits);
    let made = match found {
        Some(found) => found.made,
        None => {
            let types: Vec<Type> = types.iter().map(|&ty| ty.clone()).collect();
            let mut b = Builder::new();
            let args: Vec<_> = types.iter().map(|ty| b.input("", ty.clone())).collect();
            let outs = b.emit(op.clone(), &args)?;
            let made = Arc::new(Made::new(b.finish(&outs)));
            let key = Arc::new(ProgramKey::Single { op: op.clone(), types });
            locked(&SINGLE).keep(hash, Found { key, made: made.clone() });
            made
        }
    };
    made.run(inputs).map_err(|error| error.at(Some(line)))
}
