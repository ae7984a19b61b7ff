//! The Program of every recording that is under way.
//!
//! A driver opens a level on the thread's list; the first array operation in it makes its graph, a
//! [`Builder`] with what it captured. An operation is recorded in the innermost level: operands of
//! outer levels and plain arrays become inputs of its Program, each once (closure conversion). So a
//! finished Program is closed, and whatever a driver computes from it is applied to the captures at
//! the level around, where it is recorded in turn.

mod active;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;

use self::active::Activity;
pub(crate) use self::active::is_active;
use super::Tensor;
use crate::array::{Array, Data, Type};
use crate::error::{Error, ErrorKind, Line, note_call};
use crate::execute::{self, BoundProgram, Made, NumberOperands};
use crate::primitives::Op;
use crate::program::{Builder, Program, Value, infer, inline};
use crate::tape::recording::{Mode, innermost, is_open, line_of_generation};

thread_local! {
    /// The graphs of the levels that have one, outermost first.
    static GRAPHS: RefCell<Vec<ArrayGraph>> = const { RefCell::new(Vec::new()) };
}

/// Whether the numbers of a recording exist while it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// They are computed when they are asked for; the leaves are variables of a driver.
    Allowed,
    /// They are computed when they are asked for; the leaves are values from around: inside
    /// `checkpoint`.
    Around,
    /// A value stands for many: inside `vmap`.
    Lanes,
    /// The values are those of a branch that may not be taken: inside `cond`. Nothing runs at once
    /// there, because it could fail.
    Branch,
    /// The values are those of a step of a loop, which is recorded once for all.
    Step,
    /// The point has a type only.
    Symbolic,
}

pub(crate) struct ArrayGraph {
    pub(crate) generation: u64,
    pub(crate) builder: Builder,
    reading: Reading,
    /// The user's line for what is recorded, where our own code writes the function.
    line: Option<Line>,
    /// Where each input comes from, in the order of the inputs.
    sources: Vec<(Value, InputSource)>,
    /// The input for a captured value.
    captured: HashMap<CaptureKey, Value>,
    /// Numbers computed so far.
    values: HashMap<Value, Array>,
    /// The tape of the level, as far as it was lifted: a value for every record that has one.
    pub(crate) records: Vec<Option<Value>>,
    /// Values of this level that were read back as variables, by record.
    pub(crate) externals: HashMap<usize, Tensor>,
    /// Values whose numbers were taken out.
    taken: Vec<Value>,
    /// Which values a derivative flows to.
    activity: Activity,
}

#[derive(Clone)]
enum InputSource {
    /// A leaf of the driver's point, if its numbers exist.
    Leaf(Option<Tensor>),
    /// A value of an outer recording, or numbers.
    Capture(Tensor),
}

/// What makes two captures the same.
#[derive(PartialEq, Eq, Hash)]
enum CaptureKey {
    /// The same buffer in the same shape; the capture keeps it alive, so that its address stays.
    Data(usize, Type),
    Traced(u64, Value),
}

fn key(tensor: &Tensor) -> CaptureKey {
    if let Some(traced) = tensor.as_traced() {
        return CaptureKey::Traced(traced.generation, traced.value);
    }
    let array = tensor.known().expect("a tensor is known or traced");
    let address = match array.data() {
        Data::Bool(elements) => Arc::as_ptr(elements) as usize,
        Data::I64(elements) => Arc::as_ptr(elements) as usize,
        Data::F32(elements) => Arc::as_ptr(elements) as usize,
        Data::F64(elements) => Arc::as_ptr(elements) as usize,
    };
    CaptureKey::Data(address, array.ty().clone())
}

/// Runs `f` on the graph of the level with this generation, which is under way; makes it first if
/// there is none.
pub(crate) fn with_graph<R>(generation: u64, f: impl FnOnce(&mut ArrayGraph) -> R) -> R {
    GRAPHS.with_borrow_mut(|graphs| {
        let place = graphs.iter().position(|graph| graph.generation == generation).unwrap_or_else(|| {
            // Levels that ended without their driver's help, by a panic, leave theirs behind.
            graphs.retain(|graph| is_open(graph.generation));
            let line = graphs.last().and_then(|around| around.line);
            graphs.push(ArrayGraph::new(generation, Reading::Allowed, line));
            graphs.len() - 1
        });
        f(&mut graphs[place])
    })
}

/// Takes the graph of a level that ends.
pub(crate) fn take(generation: u64) -> Option<ArrayGraph> {
    GRAPHS.with_borrow_mut(|graphs| {
        let place = graphs.iter().position(|graph| graph.generation == generation)?;
        Some(graphs.remove(place))
    })
}

impl ArrayGraph {
    fn new(generation: u64, reading: Reading, line: Option<Line>) -> Self {
        ArrayGraph {
            generation,
            builder: Builder::new(),
            reading,
            line,
            sources: Vec::new(),
            captured: HashMap::new(),
            values: HashMap::new(),
            records: Vec::new(),
            externals: HashMap::new(),
            taken: Vec::new(),
            activity: Activity::default(),
        }
    }

    /// A leaf of the point; `point` are its numbers, if they exist.
    pub(crate) fn leaf(&mut self, name: &str, ty: Type, point: Option<Tensor>) -> Tensor {
        let value = self.builder.input(name, ty.clone());
        self.sources.push((value, InputSource::Leaf(point)));
        Tensor::traced(self.generation, value, ty)
    }

    /// The operand as a value of this graph.
    pub(crate) fn operand(&mut self, tensor: &Tensor) -> Value {
        if let Some(traced) = tensor.as_traced().filter(|traced| traced.generation == self.generation) {
            return traced.value;
        }
        if let Some(&value) = self.captured.get(&key(tensor)) {
            return value;
        }
        let value = self.builder.input("", tensor.ty().clone());
        self.sources.push((value, InputSource::Capture(tensor.clone())));
        self.captured.insert(key(tensor), value);
        value
    }

    /// The Program with these outputs, and what it captured, in the order of the inputs after the
    /// leaves.
    fn finish(mut self, outputs: &[Tensor]) -> Closed {
        let outputs: Vec<Value> = outputs.iter().map(|output| self.operand(output)).collect();
        let is_leaf = |source: &InputSource| matches!(source, InputSource::Leaf(_));
        let leaves = self.sources.iter().filter(|(_, source)| is_leaf(source)).count();
        self.sources.sort_by_key(|(_, source)| !is_leaf(source));
        let order: Vec<Value> = self.sources.iter().map(|&(value, _)| value).collect();
        let captures = self.sources.into_iter().skip(leaves).map(|(_, source)| match source {
            InputSource::Leaf(_) => unreachable!("the leaves come first"),
            InputSource::Capture(tensor) => tensor,
        });
        let captures = captures.collect();
        // Values whose numbers were taken out get their new names as if they were outputs.
        let count = outputs.len();
        let named: Vec<Value> = outputs.into_iter().chain(self.taken).collect();
        let mut program = self.builder.with_inputs_in_order(&order).finish(&named);
        let taken = program.outputs.split_off(count);
        // It may stay for long, as what its derivatives are found by.
        program.shrink_to_fit();
        Closed { program: Arc::new(program), leaves, captures, taken }
    }
}

/// A finished recording: a closed Program of the leaves and of what was captured.
#[derive(Clone, Debug)]
pub(crate) struct Closed {
    /// Takes the leaves, then the captures.
    pub(crate) program: Arc<Program>,
    /// How many inputs are leaves.
    pub(crate) leaves: usize,
    /// The values of the other inputs.
    pub(crate) captures: Vec<Tensor>,
    /// Values whose numbers were taken out.
    pub(crate) taken: Vec<Value>,
}

/// Makes the graph of a level that opens. What is recorded in it, and in the levels inside, is of this line, if one is given.
pub(crate) fn open(generation: u64, reading: Reading, line: Option<Line>) {
    GRAPHS.with_borrow_mut(|graphs| {
        graphs.retain(|graph| is_open(graph.generation));
        let line = line.or(graphs.last().and_then(|around| around.line));
        graphs.push(ArrayGraph::new(generation, reading, line));
    });
}

/// Finishes the graph of a level that ends, with these outputs.
pub(crate) fn close(generation: u64, outputs: &[Tensor], name: &str, line: Line) -> Result<Closed, Error> {
    for output in outputs {
        check_alive(output, name, line)?;
    }
    let graph = take(generation).expect("the level has a graph");
    Ok(graph.finish(outputs))
}

/// That a value belongs to a recording that is under way on this thread.
fn check_alive(tensor: &Tensor, name: &str, line: Line) -> Result<(), Error> {
    match tensor.as_traced() {
        Some(traced) if !is_open(traced.generation) => {
            let why = "it uses a Tensor whose recording has ended, or that belongs to another thread: a recorded \
                       Tensor lives only inside the call that made it; return values from the closure instead of \
                       storing them outside it";
            Err(Error::new(ErrorKind::Unavailable, name, why).of([tensor.ty()]).at(Some(line)))
        }
        _ => Ok(()),
    }
}

/// The level that an operation on these operands is recorded in; `None` if it runs at once.
pub(super) fn level(operands: &[&Tensor]) -> Option<u64> {
    let (generation, _, _) = innermost()?;
    let traced = operands.iter().any(|operand| operand.known().is_none());
    (traced || in_branch()).then_some(generation)
}

/// Whether a branch of `cond` is being recorded, here or around.
pub(crate) fn in_branch() -> bool {
    GRAPHS
        .with_borrow(|graphs| graphs.iter().any(|graph| graph.reading == Reading::Branch && is_open(graph.generation)))
}

/// Whether two tensors are the same value.
pub(crate) fn is_same(x: &Tensor, y: &Tensor) -> bool {
    key(x) == key(y)
}

/// Applies an operation: at once if all operands are numbers, else recorded in the innermost level.
#[track_caller]
pub(crate) fn apply(op: impl Into<Op>, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    let (op, line) = (op.into(), Location::caller());
    match level(operands) {
        None => {
            for operand in operands {
                check_known(operand, &op, line)?;
            }
            let types: Vec<&Type> = operands.iter().map(|operand| operand.ty()).collect();
            infer(&op, &types).map_err(|error| error.at(Some(line)))?;
            let results = execute::apply_single(&op, numbers(operands), line)?;
            Ok(results.into_iter().map(Tensor::from_array).collect())
        }
        Some(generation) => {
            for operand in operands {
                check_alive(operand, &op.name(), line)?;
            }
            with_graph(generation, |graph| {
                let args: Vec<Value> = operands.iter().map(|operand| graph.operand(operand)).collect();
                graph.builder.line = graph.line.or(Some(line));
                let outs = graph.builder.emit(op, &args)?;
                Ok(outs.into_iter().map(|out| Tensor::traced(generation, out, graph.builder.ty(out).clone())).collect())
            })
        }
    }
}

fn check_known(operand: &Tensor, op: &Op, line: Line) -> Result<(), Error> {
    match operand.known() {
        Some(_) => Ok(()),
        None => check_alive(operand, &op.name(), line),
    }
}

/// Applies rules that append several equations: at once or recorded, as [`apply`].
#[track_caller]
pub(crate) fn build(
    name: &str,
    operands: &[&Tensor],
    f: impl FnOnce(&mut Builder, &[Value]) -> Result<Vec<Value>, Error>,
) -> Result<Vec<Tensor>, Error> {
    let mut f = Some(f);
    built(name, operands, &mut |b, args| f.take().expect("it is called once")(b, args))
}

/// What appends equations on operands, and gives their results.
pub(super) type Equations<'a, E> = dyn FnMut(&mut Builder, &[Value]) -> Result<Vec<Value>, E> + 'a;

/// As [`build`], whose function is called once: compiled once instead of for each of the hundreds of operations.
#[track_caller]
fn built(name: &str, operands: &[&Tensor], f: &mut Equations<'_, Error>) -> Result<Vec<Tensor>, Error> {
    let line = Location::caller();
    for operand in operands {
        check_alive(operand, name, line)?;
    }
    match level(operands) {
        None => {
            let mut b = Builder::new();
            let args: Vec<Value> = operands.iter().map(|operand| b.input("", operand.ty().clone())).collect();
            let outs = f(&mut b, &args).map_err(|error| error.at(Some(line)))?;
            let results = execute::apply_composite(&b.finish(&outs), numbers(operands), line)?;
            Ok(results.into_iter().map(Tensor::from_array).collect())
        }
        Some(generation) => with_graph(generation, |graph| {
            let args: Vec<Value> = operands.iter().map(|operand| graph.operand(operand)).collect();
            graph.builder.line = graph.line.or(Some(line));
            if graph.line.is_none() {
                note_call(line, name, operands.iter().map(|operand| operand.ty()));
            }
            let outs = f(&mut graph.builder, &args)?;
            Ok(outs.into_iter().map(|out| Tensor::traced(generation, out, graph.builder.ty(out).clone())).collect())
        }),
    }
}

/// Applies a Program to operands: at once, or by recording its equations in the innermost level.
#[track_caller]
pub(crate) fn apply_program(name: &str, program: &Program, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    if level(operands).is_some() {
        return build(name, operands, |b, args| Ok(inline(b, program, args)));
    }
    let bound = execute::made_itself(program, NumberOperands::Varying)?;
    apply_bound(name, &bound, operands, &[])
}

/// Which numbers of a recording are to be operands of what is made of it for these operands and further ones.
pub(crate) fn numbers_for(operands: &[&Tensor], more: &[&Tensor]) -> NumberOperands {
    let is_recorded = level(operands).is_some() || level(more).is_some();
    if is_recorded { NumberOperands::All } else { NumberOperands::Varying }
}

/// Applies what was made of a recording to its operands and to further ones: at once, with the plan that was kept, or
/// by recording its equations in the innermost level.
#[track_caller]
pub(crate) fn apply_bound(
    name: &str,
    bound: &BoundProgram,
    operands: &[&Tensor],
    more: &[&Tensor],
) -> Result<Vec<Tensor>, Error> {
    let all = [operands, more].concat();
    if level(&all).is_some() {
        return build(name, &all, |b, args| {
            let (own, more) = args.split_at(operands.len());
            let numbers: Vec<Value> = bound.numbers.iter().map(|&number| b.op(number, &[])).collect();
            Ok(inline(b, &bound.made.program, &[own, &numbers, more].concat()))
        });
    }
    let line = Location::caller();
    for operand in all {
        check_alive(operand, name, line)?;
    }
    let results = bound.run(numbers(operands), numbers(more)).map_err(|error| error.at(Some(line)))?;
    Ok(results.into_iter().map(Tensor::from_array).collect())
}

/// As [`apply_program`], with the plan that was kept.
#[track_caller]
pub(crate) fn apply_made(name: &str, made: &Made, operands: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    if level(operands).is_some() {
        return build(name, operands, |b, args| Ok(inline(b, &made.program, args)));
    }
    let line = Location::caller();
    for operand in operands {
        check_alive(operand, name, line)?;
    }
    run_now(made, operands, line)
}

/// The numbers of operands that have some.
fn numbers<'a>(operands: &'a [&Tensor]) -> impl Iterator<Item = &'a Array> + Clone {
    operands.iter().map(|operand| operand.known().expect("outside a recording nothing is traced"))
}

/// Runs a Program on numbers.
fn run_now(made: &Made, operands: &[&Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
    let results = made.run(numbers(operands)).map_err(|error| error.at(Some(line)))?;
    Ok(results.into_iter().map(Tensor::from_array).collect())
}

// ---- reading ------------------------------------------------------------------------------------

/// The numbers of a tensor for the user's function: what was recorded before is run for them. No
/// derivative may flow to the tensor.
#[track_caller]
pub(crate) fn read(tensor: &Tensor, name: &str) -> Result<Array, Error> {
    let line = Location::caller();
    let named = |error: Error| error.named(name, [tensor.ty()]);
    let Some(traced) = tensor.as_traced() else { return force(tensor, line) };
    check_alive(tensor, name, line)?;
    with_graph(traced.generation, |graph| graph.may_be_read(traced.value, line)).map_err(named)?;
    may_leave(tensor, name, line).map_err(named)?;
    let array = force(tensor, line).map_err(named)?;
    with_graph(traced.generation, |graph| graph.taken.push(traced.value));
    Ok(array)
}

/// That a number may leave the recording: neither would a derivative miss it, nor other inputs.
fn may_leave(tensor: &Tensor, name: &str, line: Line) -> Result<(), Error> {
    let error = |kind, why: String| Err(Error::new(kind, name, why).of([tensor.ty()]).at(Some(line)));
    if innermost().is_some_and(|(_, _, mode)| matches!(mode, Mode::Step | Mode::Replay)) {
        let why = "it takes numbers out of a recorded function or a step of a loop: at other inputs they would be wrong, also after \
                   `detach()`; choose with `where_` or `cond`";
        return error(ErrorKind::Unavailable, why.to_owned());
    }
    match active::driver_of(tensor) {
        None => Ok(()),
        Some(generation) => {
            // Where there are no numbers at all, `detach` does not help.
            check_computable(tensor, line)?;
            let driver = line_of_generation(generation).map_or(String::new(), |line| format!(" at {line}"));
            let why = format!(
                "it takes numbers out of the function that is differentiated{driver}: what is computed from them \
                 would be missing from the derivative; compute with the Tensor itself, compare it and `test()` the \
                 outcome, or say `detach()` first if that is meant"
            );
            error(ErrorKind::Active, why)
        }
    }
}

/// That the numbers exist, here and in the levels around: nothing is computed.
fn check_computable(tensor: &Tensor, line: Line) -> Result<(), Error> {
    let Some(traced) = tensor.as_traced() else { return Ok(()) };
    let needed = with_graph(traced.generation, |graph| graph.needed(traced.value, line))?;
    needed.inputs.iter().try_for_each(|(_, source)| check_computable(source, line))
}

/// As [`read`], for ourselves: any number, and it leaves no trace.
pub(crate) fn force(tensor: &Tensor, line: Line) -> Result<Array, Error> {
    let Some(traced) = tensor.as_traced() else {
        return Ok(tensor.known().expect("a tensor is known or traced").clone());
    };
    check_alive(tensor, "value", line)?;
    // What other levels hold is read first: no graph is borrowed meanwhile.
    let needed = with_graph(traced.generation, |graph| graph.needed(traced.value, line))?;
    for (input, source) in needed.inputs {
        let array = force(&source, line)?;
        with_graph(traced.generation, |graph| graph.values.insert(input, array));
    }
    if needed.eqns.is_empty() {
        return Ok(with_graph(traced.generation, |graph| graph.values[&traced.value].clone()));
    }
    // What was recorded is run as one Program, whose results are all its values: they are not computed again for the next
    // number that is read.
    let Prefix { program, inputs, outs } = with_graph(traced.generation, |graph| graph.prefix(&needed.eqns));
    let results = execute::apply(&program, inputs.iter()).map_err(|error| error.at(Some(line)))?;
    with_graph(traced.generation, |graph| {
        graph.values.extend(outs.into_iter().zip(results));
        Ok(graph.values[&traced.value].clone())
    })
}

/// Equations of a recording as a Program of their own.
struct Prefix {
    program: Program,
    inputs: Vec<Array>,
    /// The values that its results are.
    outs: Vec<Value>,
}

/// What has to be computed for a value.
struct Needed {
    inputs: Vec<(Value, Tensor)>,
    /// Equations in order.
    eqns: Vec<usize>,
}

impl ArrayGraph {
    /// That the numbers of the level exist.
    fn may_be_read(&self, value: Value, line: Line) -> Result<(), Error> {
        let refused = match self.reading {
            Reading::Allowed | Reading::Around => None,
            Reading::Lanes => Some("inside `vmap` a Tensor stands for many values"),
            Reading::Branch => Some("inside `cond` it is not decided whether this branch is taken"),
            Reading::Step => Some("a step of a loop is recorded once for all steps"),
            Reading::Symbolic => Some("the function is recorded without its point"),
        };
        if let Some(refused) = refused {
            let why = format!(
                "{refused}, so there are no numbers to read: choose with `where_` or `cond`, and return what you \
                 want to see"
            );
            return Err(Error::new(ErrorKind::Unavailable, "value", why).of([self.builder.ty(value)]).at(Some(line)));
        }
        Ok(())
    }

    fn needed(&self, value: Value, line: Line) -> Result<Needed, Error> {
        self.may_be_read(value, line)?;
        // From the value backwards, as far as numbers are not known: a loop that reads a value in every
        // step does not walk the list every time.
        let (mut inputs, mut eqns) = (Vec::new(), Vec::new());
        let (mut open, mut seen) = (vec![value], HashSet::from([value]));
        while let Some(value) = open.pop() {
            if self.values.contains_key(&value) {
                continue;
            }
            let all = self.builder.eqns();
            let after = all.partition_point(|eqn| eqn.first <= value);
            match after.checked_sub(1).filter(|&k| all[k].outs().any(|out| out == value)) {
                Some(k) => {
                    eqns.push(k);
                    open.extend(all[k].args.iter().filter(|&&arg| seen.insert(arg)));
                }
                None => {
                    match self.sources.binary_search_by_key(&value, |&(input, _)| input).map(|k| &self.sources[k].1) {
                        Ok(InputSource::Leaf(Some(tensor)) | InputSource::Capture(tensor)) => {
                            inputs.push((value, tensor.clone()))
                        }
                        _ => unreachable!("only a level whose values may not be read lacks its point"),
                    }
                }
            }
        }
        // An equation with several results may have been met more than once.
        eqns.sort_unstable();
        eqns.dedup();
        Ok(Needed { inputs, eqns })
    }

    /// These equations, on the numbers that are known.
    fn prefix(&self, eqns: &[usize]) -> Prefix {
        let mut b = Builder::new();
        let (mut inputs, mut outs) = (Vec::new(), Vec::new());
        let mut renamed: HashMap<Value, Value> = HashMap::new();
        let all = self.builder.eqns();
        for &k in eqns {
            for &arg in &all[k].args {
                // What an equation of the prefix computes is known by name, or will have been: they are in order.
                if let Some(array) = self.values.get(&arg).filter(|_| !renamed.contains_key(&arg)) {
                    inputs.push(array.clone());
                    renamed.insert(arg, b.input("", array.ty().clone()));
                }
            }
            let args: Vec<Value> = all[k].args.iter().map(|arg| renamed[arg]).collect();
            b.line = all[k].line;
            outs.extend(all[k].outs());
            renamed.extend(all[k].outs().zip(b.ops(all[k].op.clone(), &args)));
        }
        let results: Vec<Value> = outs.iter().map(|out| renamed[out]).collect();
        Prefix { program: b.finish(&results), inputs, outs }
    }

    /// The leaves of the point, where they exist.
    pub(crate) fn points(&self) -> Vec<Tensor> {
        let leaf = |(_, source): &(Value, InputSource)| match source {
            InputSource::Leaf(point) => point.clone(),
            InputSource::Capture(_) => None,
        };
        self.sources.iter().filter_map(leaf).collect()
    }

    /// Records that an input's numbers are these.
    pub(crate) fn know(&mut self, value: Value, array: Array) {
        self.values.insert(value, array);
    }
}
