//! The engine: runs plans.

use smallvec::SmallVec;
use wengert_kernels::arena::{Arena, Carver, Line as Lines, bools_as_bytes, typed, typed_mut};
use wengert_kernels::pool::{Panicked, Pool};
use wengert_kernels::product::{Accumulate, Operand as Matrix, Product as Number, Target, products};
use wengert_kernels::region::{Kind, Slice, SliceMut};

use crate::array::{Array, DType, Data, Type};
use crate::error::{Error, ErrorKind, Misfit};
use crate::plan::kernel::Call;
use crate::plan::{Home, Operand, Output, OutputSource, Plan, Product, Step, Work};
use crate::primitives::Primitive;

/// Operands of a step, without the heap for the usual number of them.
type Few<T> = SmallVec<[T; 24]>;

/// What is told about every step that ran: its number, and for how long.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(&Step, std::time::Duration);

/// Memory that a plan runs in; see [`Plan::memory`].
#[derive(Debug)]
pub(crate) struct Memory {
    arena: Arena,
}

impl Plan {
    /// Memory for one run at a time.
    ///
    /// # Errors
    /// If there is not as much.
    pub(crate) fn memory(&self) -> Result<Memory, Error> {
        let arena = Arena::new(self.arena_bytes());
        let arena = arena.map_err(|why| Error::new(ErrorKind::Unavailable, "plan", why.to_string()))?;
        Ok(Memory { arena })
    }

    /// The results at these inputs.
    ///
    /// # Errors
    /// If the inputs do not fit, an operation fails on its values, or a thread panicked.
    pub(crate) fn run(
        &self,
        inputs: &[Array],
        memory: &mut Memory,
        pool: &Pool,
        observer: Option<Observer<'_>>,
    ) -> Result<Vec<Array>, Error> {
        self.check(inputs)?;
        let mut fresh: Few<Elements> = SmallVec::new();
        for output in self.outputs().iter().filter(|output| output.source == OutputSource::Fresh) {
            fresh.push(Elements::new(&output.ty)?);
        }
        let slices: Few<Slice<'_>> = inputs.iter().map(slice).collect();
        {
            // Results by their numbers; those that are not written by a step are never asked for.
            let mut written = fresh.iter_mut();
            let mut results: Few<SliceMut<'_>> = SmallVec::new();
            for output in self.outputs() {
                results.push(match output.source {
                    OutputSource::Fresh => written.next().expect("one for each").slice(),
                    _ => SliceMut::U8(&mut []),
                });
            }
            run(self, &slices, &mut results, memory.arena.as_lines_mut(), pool, observer)?;
        }
        let mut fresh = fresh.into_iter();
        let mut arrays: Vec<Array> = Vec::with_capacity(self.outputs().len());
        for Output { ty, source } in self.outputs() {
            let data = match *source {
                OutputSource::Fresh => fresh.next().expect("one for each").data(),
                OutputSource::Input(k) => inputs[k].data().clone(),
                OutputSource::Again(k) => arrays[k].data().clone(),
            };
            arrays.push(Array::from_data(ty.shape.clone(), data));
        }
        Ok(arrays)
    }

    fn check(&self, inputs: &[Array]) -> Result<(), Error> {
        let wanted = self.input_types();
        let error = |why: String| Error::new(ErrorKind::Misfit, "run", why).of(inputs.iter().map(Array::ty));
        if wanted.len() != inputs.len() {
            return Err(error(format!("the program takes {} inputs, and got {}", wanted.len(), inputs.len())));
        }
        match wanted.iter().zip(inputs).position(|(wanted, input)| wanted != input.ty()) {
            Some(k) => Err(error(format!("input {k} has to be {}, and is {}", wanted[k], inputs[k].ty()))),
            None => Ok(()),
        }
    }
}

/// The elements of a result while it is computed; truth values as bytes.
enum Elements {
    U8(Vec<u8>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Elements {
    fn new(ty: &Type) -> Result<Self, Error> {
        fn zeros<T: Copy + Default>(ty: &Type) -> Result<Vec<T>, Error> {
            // Asked for first: a result that does not fit is an error, not the end of the process.
            let mut room: Vec<T> = Vec::new();
            let enough = room.try_reserve_exact(ty.size());
            enough.map_err(|_| {
                let why = format!("there is no memory for the result {ty}");
                Error::new(ErrorKind::Unavailable, "run", why)
            })?;
            drop(room);
            Ok(vec![T::default(); ty.size()])
        }
        Ok(match ty.dtype {
            DType::Bool => Elements::U8(zeros(ty)?),
            DType::I64 => Elements::I64(zeros(ty)?),
            DType::F32 => Elements::F32(zeros(ty)?),
            DType::F64 => Elements::F64(zeros(ty)?),
        })
    }

    fn slice(&mut self) -> SliceMut<'_> {
        match self {
            Elements::U8(x) => SliceMut::U8(x),
            Elements::I64(x) => SliceMut::I64(x),
            Elements::F32(x) => SliceMut::F32(x),
            Elements::F64(x) => SliceMut::F64(x),
        }
    }

    fn data(self) -> Data {
        match self {
            Elements::U8(x) => Data::Bool(std::sync::Arc::new(x.into_iter().map(|x| x != 0).collect())),
            Elements::I64(x) => Data::I64(std::sync::Arc::new(x)),
            Elements::F32(x) => Data::F32(std::sync::Arc::new(x)),
            Elements::F64(x) => Data::F64(std::sync::Arc::new(x)),
        }
    }
}

fn slice(array: &Array) -> Slice<'_> {
    match array.data() {
        Data::Bool(x) => Slice::U8(bools_as_bytes(x)),
        Data::I64(x) => Slice::I64(x),
        Data::F32(x) => Slice::F32(x),
        Data::F64(x) => Slice::F64(x),
    }
}

/// Runs every step.
fn run(
    plan: &Plan,
    inputs: &[Slice<'_>],
    results: &mut [SliceMut<'_>],
    arena: &mut [Lines],
    pool: &Pool,
    mut observer: Option<Observer<'_>>,
) -> Result<(), Error> {
    for step in plan.steps() {
        let start = observer.is_some().then(std::time::Instant::now);
        run_step(plan, step, inputs, results, arena, pool)?;
        if let (Some(observer), Some(start)) = (observer.as_mut(), start) {
            observer(step, start.elapsed());
        }
    }
    Ok(())
}

/// The operands of a step as slices.
struct Operands<'a> {
    reads: Few<Slice<'a>>,
    writes: Few<SliceMut<'a>>,
    scratch: &'a mut [Lines],
}

fn run_step(
    plan: &Plan,
    step: &Step,
    inputs: &[Slice<'_>],
    results: &mut [SliceMut<'_>],
    arena: &mut [Lines],
    pool: &Pool,
) -> Result<(), Error> {
    let Operands { reads, mut writes, scratch } = operands(plan, step, inputs, results, arena);
    match &step.work {
        Work::Region(region) => region.run(&reads, &mut writes, scratch, pool).map_err(|why| panicked(step, why)),
        Work::Product(product) => {
            multiply(product, &reads, &mut writes, pool);
            Ok(())
        }
        Work::Kernel(kernel, op, types) => {
            let call = Call { args: &reads, outs: &mut writes, workspace: scratch, pool };
            kernel.run(call).map_err(|Misfit(why)| {
                Error::new(ErrorKind::Run, &op.name(), why).of(types).at(step.lines.first().copied())
            })
        }
        Work::Cond(plans) => {
            let Slice::U8(&[choice, ..]) = reads[0] else { unreachable!("a condition is a truth value") };
            let chosen = &plans[usize::from(choice == 0)];
            run(chosen, &reads[1..], &mut writes, scratch, pool, None)
        }
    }
}

fn panicked(step: &Step, why: Panicked) -> Error {
    let name = step.names.first().map_or("region", String::as_str);
    Error::new(ErrorKind::Run, name, format!("a thread panicked: {}", why.message)).at(step.lines.first().copied())
}

/// Cuts the arena and the results into the step's pieces, and these into its operands.
fn operands<'a>(
    plan: &Plan,
    step: &Step,
    inputs: &[Slice<'a>],
    results: &'a mut [SliceMut<'_>],
    arena: &'a mut [Lines],
) -> Operands<'a> {
    let mut carver = Carver::new(arena);
    let mut shared: Few<&'a [Lines]> = SmallVec::new();
    let mut owned: Few<Option<&'a mut [Lines]>> = SmallVec::new();
    for piece in &step.pieces {
        let lines = carver.take(piece.range.clone());
        if piece.written {
            shared.push(&[]);
            owned.push(Some(lines));
        } else {
            shared.push(lines);
            owned.push(None);
        }
    }
    let (values, _) = plan.arena_lines();
    let scratch = carver.take(values..values + step.scratch);
    let mut shared_results: Few<Slice<'a>> = SmallVec::new();
    let mut owned_results: Few<Option<SliceMut<'a>>> = SmallVec::new();
    let (mut rest, mut passed) = (results, 0);
    for piece in &step.results {
        let (_, after) = rest.split_at_mut(piece.range.start - passed);
        let (result, after) = after.split_first_mut().expect("a result of the plan");
        (rest, passed) = (after, piece.range.end);
        if piece.written {
            shared_results.push(Slice::U8(&[]));
            owned_results.push(Some(reborrowed(result)));
        } else {
            shared_results.push(read(result));
            owned_results.push(None);
        }
    }
    let reads = step.reads.iter().map(|operand| match operand.home {
        Home::Input(k) => inputs[k],
        Home::Piece(k) => cast(shared.get(k).copied().unwrap_or_default(), operand),
        Home::Result(k) => shared_results[k],
    });
    let reads = reads.collect();
    let writes = step.writes.iter().map(|operand| match operand.home {
        Home::Input(_) => unreachable!("inputs are not written"),
        Home::Piece(k) => cast_mut(owned.get_mut(k).and_then(Option::take).unwrap_or_default(), operand),
        Home::Result(k) => owned_results[k].take().expect("a result is written once"),
    });
    Operands { reads, writes: writes.collect(), scratch }
}

fn reborrowed<'a>(result: &'a mut SliceMut<'_>) -> SliceMut<'a> {
    match result {
        SliceMut::U8(x) => SliceMut::U8(x),
        SliceMut::I64(x) => SliceMut::I64(x),
        SliceMut::F32(x) => SliceMut::F32(x),
        SliceMut::F64(x) => SliceMut::F64(x),
    }
}

fn read<'a>(result: &'a SliceMut<'_>) -> Slice<'a> {
    match result {
        SliceMut::U8(x) => Slice::U8(x),
        SliceMut::I64(x) => Slice::I64(x),
        SliceMut::F32(x) => Slice::F32(x),
        SliceMut::F64(x) => Slice::F64(x),
    }
}

fn cast<'a>(lines: &'a [Lines], operand: &Operand) -> Slice<'a> {
    match operand.kind {
        Kind::U8 => Slice::U8(typed(lines, operand.count)),
        Kind::I64 => Slice::I64(typed(lines, operand.count)),
        Kind::F32 => Slice::F32(typed(lines, operand.count)),
        Kind::F64 => Slice::F64(typed(lines, operand.count)),
    }
}

fn cast_mut<'a>(lines: &'a mut [Lines], operand: &Operand) -> SliceMut<'a> {
    match operand.kind {
        Kind::U8 => SliceMut::U8(typed_mut(lines, operand.count)),
        Kind::I64 => SliceMut::I64(typed_mut(lines, operand.count)),
        Kind::F32 => SliceMut::F32(typed_mut(lines, operand.count)),
        Kind::F64 => SliceMut::F64(typed_mut(lines, operand.count)),
    }
}

fn multiply(product: &Product, reads: &[Slice<'_>], writes: &mut [SliceMut<'_>], pool: &Pool) {
    fn run<T: Number>(product: &Product, left: &[T], right: &[T], out: &mut [T], pool: &Pool) {
        let (l, r) = (&product.left, &product.right);
        // An operand without elements has none after its offset either.
        let left = Matrix::new(left.get(l.0..).unwrap_or_default(), l.1).batched(&l.2);
        let right = Matrix::new(right.get(r.0..).unwrap_or_default(), r.1).batched(&r.2);
        let out = Target::new(out, product.out.0).batched(&product.out.1);
        products(&product.batch, product.dims, left, right, out, Accumulate::Overwrite, pool);
    }
    match (reads[0], reads[1], &mut writes[0]) {
        (Slice::F32(x), Slice::F32(y), SliceMut::F32(out)) => run(product, x, y, out, pool),
        (Slice::F64(x), Slice::F64(y), SliceMut::F64(out)) => run(product, x, y, out, pool),
        (Slice::I64(x), Slice::I64(y), SliceMut::I64(out)) => run(product, x, y, out, pool),
        _ => unreachable!("a contraction of one type of numbers"),
    }
}
