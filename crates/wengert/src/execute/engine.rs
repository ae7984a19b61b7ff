//! The engine: runs plans.

use std::sync::Arc;

use smallvec::SmallVec;
use wengert_kernels::arena::{Arena, Carver, Line as Lines, Plain, bools_as_bytes, typed, typed_mut, zeros};
use wengert_kernels::pool::{Panicked, Pool};
use wengert_kernels::product::{Accumulate, Operand as Matrix, Product as Number, Target, products, symmetric};
use wengert_kernels::region::{Failed, Kind, Region, Slice, SliceMut};

use super::columns::Records;
use super::control;
use crate::array::{Array, DType, Data, Type, for_data};
use crate::error::{Error, ErrorKind, Misfit};
use crate::plan::kernel::{KernelCall, bytes};
use crate::plan::{
    Home, Lookup, MatrixProduct, Operation, OutputSource, Plan, PlanOutput, Step, StepOperand, StepWork,
};
use crate::primitives::{Choice, OutOfBounds};

/// Operands of a step, without the heap for the usual number of them.
type Few<T> = SmallVec<[T; 24]>;

/// The results of a plan, likewise.
type Many<T> = SmallVec<[T; 64]>;

/// Called for every step that ran, with its number and time.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&Step, std::time::Duration);

/// The results of a run.
pub(crate) type Results = SmallVec<[Array; 24]>;

/// Memory that a plan runs in; see [`Plan::memory`].
#[derive(Debug)]
pub(crate) struct Memory {
    arena: Arena,
    /// The inputs of the run that begins; none between runs.
    inputs: Vec<Option<Data>>,
    /// For each result: the large ones that were given out. When their holders have dropped one, it is written again:
    /// the pages of fresh memory cost as much as computing. Two, because a loop holds one while it makes the next.
    kept: Vec<[Option<Data>; 2]>,
}

/// The bytes from which a result is kept to be written again.
const LARGE: usize = 1 << 20;

impl Memory {
    /// The list of the inputs, which is empty: to be filled before [`Plan::run`].
    pub(crate) fn inputs(&mut self) -> &mut Vec<Option<Data>> {
        // What a run that failed while it was filled left behind.
        self.inputs.clear();
        &mut self.inputs
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let size = |data: &Data| for_data!(data, elements => size_of_val(&elements[..]));
        self.arena.len() + self.kept.iter().flatten().flatten().map(size).sum::<usize>()
    }

    /// A large result of before that nobody holds any more.
    fn again(&mut self, result: usize) -> Option<Data> {
        self.kept[result].iter_mut().find_map(|place| place.take_if(is_unique))
    }

    /// Remembers a large result.
    fn keep(&mut self, result: usize, data: &Data) {
        let places = &mut self.kept[result];
        if places[0].is_some() {
            places.swap(0, 1);
        }
        places[0] = Some(data.clone());
    }
}

/// Whether nobody else holds the elements.
fn is_unique(data: &mut Data) -> bool {
    for_data!(data, elements => Arc::get_mut(elements).is_some())
}

impl Plan {
    /// Memory for one run at a time.
    ///
    /// # Errors
    /// If there is not as much.
    pub(crate) fn memory(&self) -> Result<Memory, Error> {
        let arena = Arena::new(self.arena_bytes());
        let arena = arena.map_err(|why| Error::new(ErrorKind::Unavailable, "plan", why.to_string()).of_memory())?;
        let inputs = Vec::with_capacity(self.input_types().len());
        Ok(Memory { arena, inputs, kept: vec![[None, None]; self.outputs().len()] })
    }

    /// The results at these inputs: simple and slow to enter, because the memory and the threads are made for this call.
    ///
    /// ```
    /// use wengert::plan::{Options, Plan};
    /// use wengert::{Array, Program};
    /// let program: Program = "program(v0: f64[2]) { v1: f64[2] = square v0; return v1 }".parse()?;
    /// let plan = Plan::new(&program, &Options::default())?;
    /// let results = plan.eval(&[Array::new(&[2], vec![3.0, -0.5])])?;
    /// assert_eq!(results[0].to_f64(), [9.0, 0.25]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the inputs do not fit, there is no memory, an operation fails on its values, or a thread panicked.
    pub fn eval(&self, inputs: &[Array]) -> Result<Vec<Array>, Error> {
        let mut memory = self.memory()?;
        self.fill(&mut memory, inputs)?;
        Ok(self.run(&mut memory, &Pool::new(self.options().threads), None)?.into_vec())
    }

    /// Puts inputs into the memory, for the next run.
    ///
    /// # Errors
    /// If they do not have the types of the plan's.
    pub(crate) fn fill(&self, memory: &mut Memory, inputs: &[Array]) -> Result<(), Error> {
        let error = |why: String| Error::new(ErrorKind::Misfit, "run", why).of(inputs.iter().map(Array::ty));
        let wanted = self.input_types();
        if wanted.len() != inputs.len() {
            return Err(error(format!("the program takes {} inputs, and got {}", wanted.len(), inputs.len())));
        }
        if let Some(k) = wanted.iter().zip(inputs).position(|(wanted, input)| wanted != input.ty()) {
            return Err(error(format!("input {k} has to be {}, and is {}", wanted[k], inputs[k].ty())));
        }
        memory.inputs().extend(inputs.iter().map(|input| Some(input.data().clone())));
        Ok(())
    }

    /// The results at the inputs of the memory, which have the types of the plan's.
    ///
    /// # Errors
    /// If an operation fails on its values, there is no memory for a result, or a thread panicked.
    pub(crate) fn run(
        &self,
        memory: &mut Memory,
        pool: &Pool,
        observer: Option<Observer<'_>>,
    ) -> Result<Results, Error> {
        let mut inputs = std::mem::take(&mut memory.inputs);
        let results = self.run_at(&mut inputs, memory, pool, observer);
        inputs.clear();
        memory.inputs = inputs;
        results
    }

    fn run_at(
        &self,
        inputs: &mut [Option<Data>],
        memory: &mut Memory,
        pool: &Pool,
        observer: Option<Observer<'_>>,
    ) -> Result<Results, Error> {
        let mut written: Many<Elements> = SmallVec::new();
        for (k, output) in self.outputs().iter().enumerate() {
            written.push(match output.source {
                OutputSource::Fresh => match memory.again(k) {
                    Some(data) => Elements::Numbers(data),
                    None => Elements::new(&output.ty)?,
                },
                OutputSource::Donated(k) => Elements::owned(inputs[k].take().expect("an input is given away once")),
                OutputSource::Input(_) | OutputSource::Again(_) => Elements::U8(Vec::new()),
            });
        }
        {
            // Results by their numbers; those that are not written by a step are never asked for.
            let mut results: Many<SliceMut<'_>> = written.iter_mut().map(Elements::slice).collect();
            run(self, PlanInputs::Data(inputs), &mut results, memory.arena.as_lines_mut(), pool, observer)?;
        }
        let mut arrays = Results::new();
        for (k, (PlanOutput { ty, source }, elements)) in self.outputs().iter().zip(written).enumerate() {
            let data = match *source {
                OutputSource::Fresh | OutputSource::Donated(_) => elements.data(),
                OutputSource::Input(k) => inputs[k].clone().expect("an input that is a result is not given away"),
                OutputSource::Again(k) => arrays[k].data().clone(),
            };
            if *source == OutputSource::Fresh && bytes(ty) >= LARGE && ty.dtype != DType::Bool {
                memory.keep(k, &data);
            }
            arrays.push(Array::from_data(ty.shape.clone(), data));
        }
        Ok(arrays)
    }
}

/// The elements of a result while it is computed; truth values as bytes.
enum Elements {
    U8(Vec<u8>),
    /// Numbers that nobody else holds.
    Numbers(Data),
}

impl Elements {
    fn new(ty: &Type) -> Result<Self, Error> {
        fn room<T: Plain + Default>(ty: &Type) -> Result<Vec<T>, Error> {
            zeros(ty.size()).ok_or_else(|| {
                let why = format!("there is no memory for the result {ty}");
                Error::new(ErrorKind::Unavailable, "run", why).of_memory()
            })
        }
        Ok(match ty.dtype {
            DType::Bool => Elements::U8(room(ty)?),
            DType::I64 => Elements::Numbers(Data::I64(Arc::new(room(ty)?))),
            DType::F32 => Elements::Numbers(Data::F32(Arc::new(room(ty)?))),
            DType::F64 => Elements::Numbers(Data::F64(Arc::new(room(ty)?))),
        })
    }

    /// The elements of an input that is given away; a copy if somebody else holds them.
    fn owned(mut data: Data) -> Self {
        for_data!(&mut data, elements => {
            Arc::make_mut(elements);
        });
        Elements::Numbers(data)
    }

    fn slice(&mut self) -> SliceMut<'_> {
        const UNIQUE: &str = "a result that is computed has no other holder";
        match self {
            Elements::U8(x) => SliceMut::U8(x),
            Elements::Numbers(Data::I64(x)) => SliceMut::I64(Arc::get_mut(x).expect(UNIQUE)),
            Elements::Numbers(Data::F32(x)) => SliceMut::F32(Arc::get_mut(x).expect(UNIQUE)),
            Elements::Numbers(Data::F64(x)) => SliceMut::F64(Arc::get_mut(x).expect(UNIQUE)),
            Elements::Numbers(Data::Bool(_)) => unreachable!("truth values are computed as bytes"),
        }
    }

    fn data(self) -> Data {
        match self {
            Elements::U8(x) => Data::Bool(Arc::new(x.into_iter().map(|x| x != 0).collect())),
            Elements::Numbers(data) => data,
        }
    }
}

/// Where the inputs of a plan lie.
#[derive(Clone, Copy)]
pub(super) enum PlanInputs<'a> {
    /// Those of the run.
    Data(&'a [Option<Data>]),
    /// Those of a branch: operands of the step that holds it.
    Slices(&'a [Slice<'a>]),
}

impl<'a> PlanInputs<'a> {
    #[inline(always)]
    fn get(self, k: usize) -> Slice<'a> {
        match self {
            PlanInputs::Data(inputs) => {
                match inputs[k].as_ref().expect("an input that is given away is read as a result") {
                    Data::Bool(x) => Slice::U8(bools_as_bytes(x)),
                    Data::I64(x) => Slice::I64(x),
                    Data::F32(x) => Slice::F32(x),
                    Data::F64(x) => Slice::F64(x),
                }
            }
            PlanInputs::Slices(slices) => slices[k],
        }
    }
}

/// Runs every step.
pub(super) fn run(
    plan: &Plan,
    inputs: PlanInputs<'_>,
    results: &mut [SliceMut<'_>],
    arena: &mut [Lines],
    pool: &Pool,
    mut observer: Option<Observer<'_>>,
) -> Result<(), Error> {
    let mut records = Records::new();
    for step in plan.steps() {
        let start = observer.is_some().then(std::time::Instant::now);
        run_step(plan, step, inputs, results, arena, (pool, &mut records))?;
        if let (Some(observer), Some(start)) = (observer.as_mut(), start) {
            observer(step, start.elapsed());
        }
    }
    Ok(())
}

fn run_step(
    plan: &Plan,
    step: &Step,
    inputs: PlanInputs<'_>,
    results: &mut [SliceMut<'_>],
    arena: &mut [Lines],
    (pool, records): (&Pool, &mut Records),
) -> Result<(), Error> {
    // Filled where they are: moving them would take longer than a small step.
    let (mut reads, mut writes): (Few<Slice<'_>>, Few<SliceMut<'_>>) = (SmallVec::new(), SmallVec::new());
    let scratch = operands(plan, step, inputs, results, arena, (&mut reads, &mut writes));
    match &step.work {
        StepWork::Region(region) => region.run(&reads, &mut writes, scratch, pool).map_err(|why| match why {
            Failed::Panicked(why) => panicked(step, why),
            Failed::Missing(number) => missing(step, (region, number), &reads),
        }),
        StepWork::Product(product) => {
            multiply(product, &reads, &mut writes, pool);
            Ok(())
        }
        StepWork::Kernel(kernel, operation) => {
            let start = step.writes.first().map_or(0, |operand| operand.start);
            let call = KernelCall { args: &reads, outs: &mut writes, workspace: scratch, pool, start };
            kernel.run(call).map_err(|why| {
                let Operation { op, types } = &**operation;
                op.failure(why, &types.iter().collect::<Vec<&Type>>()).of_call(&op.name(), step.line())
            })
        }
        StepWork::Cond(plans) => {
            let place = match reads[0] {
                Slice::U8(&[choice, ..]) => Ok(usize::from(choice == 0)),
                Slice::I64(&[index, ..]) => Choice::place(index, plans.len()),
                _ => unreachable!("a truth value or an index chooses"),
            };
            let place = place.map_err(|Misfit(why)| Error::new(ErrorKind::Run, "switch", why).at(step.line()))?;
            run(&plans[place], PlanInputs::Slices(&reads[1..]), &mut writes, scratch, pool, None)
        }
        StepWork::Scan(plan) => control::scan(plan, &reads, &mut writes, scratch, pool),
        StepWork::While(plan) => {
            control::repeat(plan, &reads, &mut writes, scratch, (pool, records)).map_err(|error| error.at(step.line()))
        }
        StepWork::Unwind(plan) => {
            control::unwind(plan, &reads, &mut writes, scratch, (pool, records)).map_err(|error| error.at(step.line()))
        }
    }
}

fn panicked(step: &Step, why: Panicked) -> Error {
    let name = step.provenance.names.first().map_or("region", |name| &**name);
    Error::new(ErrorKind::Run, name, format!("a thread panicked: {}", why.message)).at(step.line())
}

/// The error of a lookup in a region, by its number: that of the first index that has no row.
#[cold]
fn missing(step: &Step, (region, number): (&Region, usize), reads: &[Slice<'_>]) -> Error {
    let (parts, Lookup { operation, line }) = (region.parts(), &step.provenance.lookups[number]);
    let (take, Operation { op, types }) = (&parts.takes[number], operation);
    let Slice::I64(indices) = reads[usize::from(take.indices)] else { unreachable!("indices are integers") };
    let count = take.rows(&parts.space).expect("a region has whole rows");
    let indices = indices[take.first..][..count].iter();
    let why = indices.filter_map(|&index| OutOfBounds::Error.resolve(index, take.count).err()).next();
    let why = why.expect("the region found an index without a row");
    op.failure(why, &types.iter().collect::<Vec<&Type>>()).of_call(&op.name(), *line)
}

/// Cuts what the step uses out of the arena and the results, and that into its operands. Gives the scratch.
fn operands<'a>(
    plan: &Plan,
    step: &Step,
    inputs: PlanInputs<'a>,
    results: &'a mut [SliceMut<'_>],
    arena: &'a mut [Lines],
    (reads, writes): (&mut Few<Slice<'a>>, &mut Few<SliceMut<'a>>),
) -> &'a mut [Lines] {
    let mut carver = Carver::new(arena);
    let mut cuts: Few<Cut<'a>> = SmallVec::new();
    for access in &step.arena {
        let lines = carver.take(access.range.clone());
        cuts.push(if access.written { Cut::Write(lines) } else { Cut::Read(lines) });
    }
    let (values, _) = plan.arena_lines();
    let scratch = carver.take(values..values + step.scratch);
    let mut given: Few<Given<'a>> = SmallVec::new();
    let (mut rest, mut passed) = (results, 0);
    for access in &step.results {
        let (_, after) = rest.split_at_mut(access.range.start - passed);
        let (result, after) = after.split_first_mut().expect("a result of the plan");
        (rest, passed) = (after, access.range.end);
        given.push(if access.written { Given::Write(result.reborrow(), 0) } else { Given::Read(result.read()) });
    }
    for operand in &step.reads {
        let whole = match operand.home {
            Home::Input(k) => inputs.get(k),
            Home::Arena(k) => match cuts.get(k) {
                Some(Cut::Read(lines)) => cast(lines, operand),
                // What has no elements has no lines.
                _ => cast(&[], operand),
            },
            Home::Result(k) => match given[k] {
                Given::Read(result) => result,
                Given::Write(..) | Given::Taken => unreachable!("what a step writes is not read"),
            },
            Home::Part(..) => unreachable!("a part of a result is only written"),
            Home::InPlace(k) => Slice::Output(k),
        };
        if operand.length == operand.count {
            reads.push(whole);
        } else {
            reads.push(whole.range(operand.start..operand.start + operand.length));
        }
    }
    for operand in &step.writes {
        writes.push(match operand.home {
            Home::Input(_) | Home::InPlace(_) => unreachable!("inputs are not written"),
            Home::Arena(k) => match cuts.get_mut(k).map(|cut| std::mem::replace(cut, Cut::Read(&[]))) {
                Some(Cut::Write(lines)) => cast_mut(lines, operand.kind, operand.count),
                _ => cast_mut(&mut [], operand.kind, operand.count),
            },
            Home::Result(k) => match std::mem::replace(&mut given[k], Given::Taken) {
                Given::Write(result, 0) => result,
                Given::Write(..) | Given::Read(_) | Given::Taken => unreachable!("a result is written once"),
            },
            // Parts of one result stand in their order.
            Home::Part(k, first) => match std::mem::replace(&mut given[k], Given::Taken) {
                Given::Write(rest, passed) => {
                    let (part, rest) = rest.split_at(first - passed).1.split_at(operand.count);
                    given[k] = Given::Write(rest, first + operand.count);
                    part
                }
                Given::Read(_) | Given::Taken => unreachable!("a part of a result that the step writes"),
            },
        });
    }
    scratch
}

/// A range of the arena that a step uses.
enum Cut<'a> {
    Read(&'a [Lines]),
    Write(&'a mut [Lines]),
}

/// A result that a step uses.
enum Given<'a> {
    Read(Slice<'a>),
    /// From this element on; what is before that has been taken.
    Write(SliceMut<'a>, usize),
    /// An operand has it.
    Taken,
}

// Inlined, as whatever gives a slice here: one that came back through memory would be read there before it is written.
#[inline(always)]
fn cast<'a>(lines: &'a [Lines], operand: &StepOperand) -> Slice<'a> {
    match operand.kind {
        Kind::U8 => Slice::U8(typed(lines, operand.count)),
        Kind::I64 => Slice::I64(typed(lines, operand.count)),
        Kind::F32 => Slice::F32(typed(lines, operand.count)),
        Kind::F64 => Slice::F64(typed(lines, operand.count)),
    }
}

/// The elements of a kind, as many as asked for, that lie in these lines.
#[inline(always)]
pub(super) fn cast_mut(lines: &mut [Lines], kind: Kind, count: usize) -> SliceMut<'_> {
    match kind {
        Kind::U8 => SliceMut::U8(typed_mut(lines, count)),
        Kind::I64 => SliceMut::I64(typed_mut(lines, count)),
        Kind::F32 => SliceMut::F32(typed_mut(lines, count)),
        Kind::F64 => SliceMut::F64(typed_mut(lines, count)),
    }
}

fn multiply(product: &MatrixProduct, reads: &[Slice<'_>], writes: &mut [SliceMut<'_>], pool: &Pool) {
    fn run<T: Number>(product: &MatrixProduct, left: &[T], right: &[T], out: &mut [T], pool: &Pool) {
        let (l, r) = (&product.left, &product.right);
        // An operand without elements has none after its offset either.
        let left = Matrix::new(left.get(l.0..).unwrap_or_default(), l.1).batched(&l.2);
        let right = Matrix::new(right.get(r.0..).unwrap_or_default(), r.1).batched(&r.2);
        let out = Target::new(out, product.out.0).batched(&product.out.1);
        let [rows, inner, _] = product.dims;
        match product.symmetric {
            true => symmetric(&product.batch, [rows, inner], left, right, out, pool),
            false => {
                let accumulate = if product.adds { Accumulate::Add } else { Accumulate::Overwrite };
                products(&product.batch, product.dims, left, right, out, accumulate, pool);
            }
        }
    }
    // What it is added to lies there, or is copied there.
    if let Some(&start) = reads.get(2).filter(|start| !matches!(start, Slice::Output(_))) {
        writes[0].copy_from(start);
    }
    match (reads[0], reads[1], &mut writes[0]) {
        (Slice::F32(x), Slice::F32(y), SliceMut::F32(out)) => run(product, x, y, out, pool),
        (Slice::F64(x), Slice::F64(y), SliceMut::F64(out)) => run(product, x, y, out, pool),
        (Slice::I64(x), Slice::I64(y), SliceMut::I64(out)) => run(product, x, y, out, pool),
        _ => unreachable!("a contraction of one type of numbers"),
    }
}
