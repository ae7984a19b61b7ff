//! Lowering of a Program to what the planner works on: calls inlined, every kernel's operands whole.
//!
//! Calls, recomputed regions and custom operations become their equations. Reductions over axes that are apart become
//! reductions of neighbours; contractions lose the labels that only one operand has, and those that contract nothing, or
//! a matrix with a vector, become products and sums of elements, which fuse. Where an operation needs an operand in
//! memory and gets a view of one, a copy is made explicit.

mod outside;

use super::Map;

use super::blocks::pads;
use super::cluster::reduces_in_region;
use super::kernels::Planes;
use super::product::{gathered, matrices};
use super::view::View;
use crate::array::Type;
use crate::ops::{Binary, Unary};
use crate::primitives::{Broadcast, Concat, Einsum, Form, Literal, Op, Permute, Reduce, Reducer, Reshape};
use crate::program::{Args, Builder, Drained, Program, Value};

/// The flattened Program and what is known of its values.
#[derive(Debug)]
pub(super) struct Flat {
    pub(super) program: Program,
    /// For each value: the stored value it is a view of; itself if it is computed.
    pub(super) views: Vec<View>,
    /// For each value: the number that all its elements are, if one is known.
    pub(super) literals: Vec<Option<Literal>>,
    /// For each equation of a region that is computed again: the first one of that region. With equations before it, which run
    /// when it is not wanted yet, it is not to be joined.
    pub(super) since: Vec<usize>,
    /// For each value: whether an equation changes a part of it, where it lies if nothing reads it any more.
    pub(super) changed: Vec<bool>,
    /// For each value: whether it is in memory all the time, as inputs are that are not given away.
    pub(super) stays: Vec<bool>,
}

impl Flat {
    /// The Program alone: what is known of its values is given back.
    pub(super) fn into_program(self) -> Program {
        self.program
    }
}

/// How many operands of a concatenation are joined at once: a step names each of them.
const MAX_JOINED: usize = 32;

struct Flattener {
    b: Builder,
    views: Vec<View>,
    literals: Vec<Option<Literal>>,
    since: Vec<usize>,
    /// Where the region begins that is computed again and is being flattened.
    region: usize,
    how: Flattening,
    /// What has been copied already.
    copies: Map<View, Value>,
}

/// How a Program is flattened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flattening {
    /// Whether every output is a computed value of its own.
    pub(super) written: bool,
    /// Whether equal copies are made once.
    pub(super) keeps_copies: bool,
    /// Whether operands that products would gather are copied first: worth it for what many products read.
    pub(super) copies_gathered: bool,
}

/// Flattens a Program.
pub(super) fn flatten(program: Program, how: Flattening) -> Flat {
    // Mostly as many equations, or a few more for copies: lists that double would take up to twice the memory.
    let more = |count: usize| count + count / 8;
    let (eqns, values) = (more(program.eqns().len()), more(program.types.len()));
    let (b, copies) = (Builder::with_room(eqns, values), Map::default());
    let (views, literals, since) = (Vec::with_capacity(values), Vec::with_capacity(values), Vec::with_capacity(eqns));
    let mut f = Flattener { b, views, literals, since, region: 0, how, copies };
    let mut args = Vec::with_capacity(program.input_types().len());
    for (ty, name) in program.input_types().iter().zip(program.input_names()) {
        args.push(f.b.input(name, ty.clone()));
        f.note();
    }
    let outputs = f.inline(program, &args);
    // An output that is a stored value in order needs no copy, whatever its shape.
    let mut bases: Vec<Value> = Vec::with_capacity(outputs.len());
    for output in outputs {
        let mut base = f.in_order(output);
        base = f.views[base.index()].base;
        if how.written && (base.index() < args.len() || bases.contains(&base)) {
            base = f.op(Unary::Detach, &[base]);
        }
        bases.push(base);
    }
    let Flattener { b, views, literals, since, .. } = f;
    let program = b.finish(&bases);
    let mut changed = vec![false; views.len()];
    for eqn in program.eqns().iter().filter(|eqn| overwrites(&eqn.op)) {
        changed[views[eqn.args[0].index()].base.index()] = true;
    }
    let stays = (0..views.len()).map(|value| value < args.len()).collect();
    Flat { program, views, literals, since, changed, stays }
}

impl Flattener {
    /// Remembers what the newest values are.
    fn note(&mut self) {
        let Flattener { b, views, literals, since, region, .. } = self;
        since.resize(b.eqns().len(), *region);
        while views.len() < b.len() {
            let value = Value(views.len() as u32);
            let made_of = b.definition(value).and_then(|eqn| Some((&eqn.op, *eqn.args.first()?)));
            let view = made_of.and_then(|(op, arg)| views[arg.index()].of(op));
            let literal = match (b.definition(value).map(|eqn| &eqn.op), made_of) {
                (Some(Op::Literal(literal)), _) => Some(*literal),
                (_, Some((op, arg))) if b.form(op, &[arg]) == Form::View => literals[arg.index()],
                _ => None,
            };
            views.push(view.unwrap_or_else(|| View::whole(value, b.shape(value))));
            literals.push(literal);
        }
    }

    fn ops(&mut self, op: impl Into<Op>, args: &[Value]) -> Vec<Value> {
        let outs = self.b.ops(op, args);
        self.note();
        outs
    }

    fn op(&mut self, op: impl Into<Op>, args: &[Value]) -> Value {
        self.ops(op, args)[0]
    }

    /// The elements of a value in memory of their own.
    fn copy(&mut self, value: Value) -> Value {
        let view = self.views[value.index()].clone();
        if self.literals[value.index()].is_some() || !self.how.keeps_copies {
            return self.op(Unary::Detach, &[value]);
        }
        if let Some(&copy) = self.copies.get(&view) {
            return copy;
        }
        let copy = self.op(Unary::Detach, &[value]);
        self.copies.insert(view, copy);
        copy
    }

    /// Whether a value is one number everywhere.
    fn is_number(&self, value: Value) -> bool {
        self.literals[value.index()].is_some()
    }

    /// The value in row-major order: a view that is in order will do.
    fn in_order(&mut self, value: Value) -> Value {
        let view = &self.views[value.index()];
        let base = self.b.ty(view.base).size();
        let fits = view.is_in_order() && view.count() == base && self.literals[value.index()].is_none();
        if fits { value } else { self.copy(value) }
    }

    /// The value as elements that follow each other.
    fn followed(&mut self, value: Value) -> Value {
        let fits = self.views[value.index()].is_window() && self.literals[value.index()].is_none();
        if fits { value } else { self.copy(value) }
    }

    fn inline(&mut self, program: Program, args: &[Value]) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::with_capacity(program.types.len());
        values.extend(args);
        let line = self.b.line;
        let mut parts = SmallParts::of(&program);
        let Program { eqns, outputs, .. } = program;
        for (k, eqn) in Drained::new(eqns).enumerate() {
            if overwrites(&eqn.op) {
                parts.keep(self, k, values[eqn.args[0].index()], &mut values);
            }
            let args: Args = eqn.args.iter().map(|&arg| values[arg.index()]).collect();
            self.b.line = eqn.line.or(line);
            let outs = eqn.outs();
            values.extend(self.eqn(eqn.op, &args));
            parts.note(self, outs, &values);
        }
        self.b.line = line;
        outputs.iter().map(|&output| values[output.index()]).collect()
    }

    fn eqn(&mut self, op: Op, args: &[Value]) -> Vec<Value> {
        match &op {
            Op::Reduce(reduce) => return vec![self.reduce(reduce, args[0])],
            Op::Einsum(einsum) => return vec![self.einsum(einsum, args[0], args[1])],
            Op::Concat(concat) => return vec![self.concat(*concat, args)],
            Op::Reshape(_) if self.views[args[0].index()].of(&op).is_none() => {
                let copy = self.copy(args[0]);
                return self.ops(op, &[copy]);
            }
            Op::Conv(_) => return self.conv(op, args),
            Op::Scatter(_) | Op::ScatterReduce(_) => return self.scatter(op, args),
            Op::Pad(pad) if pads(pad, self.b.shape(args[0]), [args[0], args[1]].map(|arg| self.is_number(arg))) => {
                return self.ops(op, args);
            }
            _ => {}
        }
        match self.b.form(&op, args) {
            Form::Inlined => {
                let region = self.region;
                if matches!(op, Op::Recompute(_)) {
                    self.region = self.b.eqns().len();
                }
                let results = self.inline(op.expansion().into_owned(), args);
                self.region = region;
                results
            }
            // Operands are read where they lie.
            Form::Number | Form::View | Form::Elementwise => self.ops(op, args),
            // A part of an array whose elements follow each other is read where it lies.
            Form::Planned => {
                let args: Vec<Value> = args.iter().map(|&arg| self.followed(arg)).collect();
                if let Op::Scan(scan) = &op
                    && self.how.keeps_copies
                    && let Some((scan, args)) = self.outside(scan, &args)
                {
                    return self.ops(scan, &args);
                }
                self.ops(op, &args)
            }
            // Operands are whole.
            Form::ElementwiseKernel | Form::Kernel | Form::Reduction => {
                let args: Vec<Value> = args.iter().map(|&arg| self.in_order(arg)).collect();
                self.ops(op, &args)
            }
        }
    }

    /// A convolution: the planes of its operands are whole.
    fn conv(&mut self, op: Op, args: &[Value]) -> Vec<Value> {
        let whole = |f: &Self, arg: Value| !f.is_number(arg) && Planes::of(&f.views[arg.index()]).is_some();
        let args: Vec<Value> = args.iter().map(|&arg| if whole(self, arg) { arg } else { self.copy(arg) }).collect();
        self.ops(op, &args)
    }

    /// A scatter: an array that is one number everywhere is written by the step itself.
    fn scatter(&mut self, op: Op, args: &[Value]) -> Vec<Value> {
        let into = if self.is_number(args[0]) { args[0] } else { self.in_order(args[0]) };
        let args = [into, self.in_order(args[1]), self.in_order(args[2])];
        self.ops(op, &args)
    }

    fn concat(&mut self, op: Concat, args: &[Value]) -> Value {
        if args.len() > MAX_JOINED {
            let parts: Vec<Value> = args.chunks(MAX_JOINED).map(|part| self.concat(op, part)).collect();
            return self.concat(op, &parts);
        }
        // Views are read where they lie; of a number there is nothing to read.
        let in_memory = |f: &mut Self, arg: Value| if f.literals[arg.index()].is_some() { f.copy(arg) } else { arg };
        let args: Vec<Value> = args.iter().map(|&arg| in_memory(self, arg)).collect();
        self.op(op, &args)
    }

    /// A reduction, one run of neighbouring axes at a time, the last run first.
    fn reduce(&mut self, op: &Reduce, x: Value) -> Value {
        let shape = self.b.shape(x).to_vec();
        let long: Vec<usize> = (0..shape.len()).filter(|&axis| shape[axis] != 1).collect();
        let marks: Vec<bool> = long.iter().map(|axis| op.axes.contains(axis)).collect();
        let Some(last) = marks.iter().rposition(|&mark| mark) else {
            // One element each: only axes of length 1 disappear.
            let kept: Vec<usize> = (0..shape.len()).filter(|axis| !op.axes.contains(axis)).map(|a| shape[a]).collect();
            return if kept.len() == shape.len() { x } else { self.op(Reshape::new(&kept), &[x]) };
        };
        let first = marks[..last].iter().rposition(|&mark| !mark).map_or(0, |k| k + 1);
        let run: Vec<usize> = (long[first]..=long[last]).filter(|axis| op.axes.contains(axis)).collect();
        let rest: Vec<usize> = op.axes.iter().copied().filter(|axis| !run.contains(axis)).collect();
        let one_run = Reduce { reducer: op.reducer, axes: run.clone() };
        // A kernel of its own reads whole operands.
        let x = if reduces_in_region(&one_run, self.b.ty(x)) { x } else { self.in_order(x) };
        let once = self.op(one_run, &[x]);
        if rest.is_empty() {
            return once;
        }
        let renumbered: Vec<usize> =
            rest.iter().map(|&axis| axis - run.iter().filter(|&&gone| gone < axis).count()).collect();
        self.reduce(&Reduce { reducer: op.reducer, axes: renumbered }, once)
    }

    /// A contraction without the labels of one operand alone; as products of elements where that is as fast.
    fn einsum(&mut self, op: &Einsum, x: Value, y: Value) -> Value {
        if self.b.ty(x).size() == 0 || self.b.ty(y).size() == 0 {
            return self.empty_sum(op, x, y);
        }
        let (x, lhs) = self.without_lone(x, op.lhs(), |label| op.rhs().contains(&label) || op.out().contains(&label));
        let (y, rhs) = self.without_lone(y, op.rhs(), |label| op.lhs().contains(&label) || op.out().contains(&label));
        let length = |b: &Builder, label: u8| {
            let find = |labels: &[u8], value| Some(b.shape(value)[labels.iter().position(|&own| own == label)?]);
            find(&lhs, x).or_else(|| find(&rhs, y)).unwrap_or(1)
        };
        let inner: Vec<u8> = lhs.iter().copied().filter(|l| rhs.contains(l) && !op.out().contains(l)).collect();
        let alone = |own: &[u8], other: &[u8]| own.iter().any(|l| !other.contains(l) && length(&self.b, *l) > 1);
        let matrices = alone(&lhs, &rhs) && alone(&rhs, &lhs);
        let contracted = inner.iter().any(|&label| length(&self.b, label) != 1);
        if matrices && contracted {
            let spec = Einsum::from_labels(&lhs, &rhs, op.out()).expect("the labels of a contraction, fewer");
            return self.product(spec, [x, y]);
        }
        // The elements' product over all labels, in the order that the longer operand has; then the sum.
        let (first, second) = if self.b.ty(x).size() >= self.b.ty(y).size() { (&lhs, &rhs) } else { (&rhs, &lhs) };
        let mut labels: Vec<u8> = if inner.is_empty() { op.out().to_vec() } else { first.clone() };
        labels.extend(second.iter().filter(|label| !first.contains(label) && !inner.is_empty()));
        let shape: Vec<usize> = labels.iter().map(|&label| length(&self.b, label)).collect();
        let (x, y) = (self.aligned(x, &lhs, &labels, &shape), self.aligned(y, &rhs, &labels, &shape));
        let product = self.op(Binary::Mul, &[x, y]);
        if inner.is_empty() {
            return product;
        }
        let axes: Vec<usize> = (0..labels.len()).filter(|&axis| inner.contains(&labels[axis])).collect();
        let sum = self.reduce(&Reduce { reducer: Reducer::Sum, axes }, product);
        let kept: Vec<u8> = labels.into_iter().filter(|label| !inner.contains(label)).collect();
        let order: Vec<usize> =
            op.out().iter().map(|label| kept.iter().position(|own| own == label).expect("a kept label")).collect();
        if order.is_sorted() { sum } else { self.op(Permute { order }, &[sum]) }
    }

    /// A contraction that adds up nothing: zeros, whatever the other operand holds.
    fn empty_sum(&mut self, op: &Einsum, x: Value, y: Value) -> Value {
        let labels = op.lhs().iter().zip(self.b.shape(x)).chain(op.rhs().iter().zip(self.b.shape(y)));
        let lengths: Vec<(u8, usize)> = labels.map(|(&label, &length)| (label, length)).collect();
        let length = |label: &u8| lengths.iter().find(|(own, _)| own == label).map_or(1, |&(_, length)| length);
        let shape: Vec<usize> = op.out().iter().map(length).collect();
        let zero = self.op(Literal::of(0.0, self.b.dtype(x)), &[]);
        self.op(Broadcast::new(&shape, &[]), &[zero])
    }

    /// A product of matrices, whose operands are copied where strides cannot say it.
    fn product(&mut self, mut op: Einsum, mut args: [Value; 2]) -> Value {
        for (k, arg) in args.iter_mut().enumerate() {
            let view = &self.views[arg.index()];
            if self.literals[arg.index()].is_some() || view.strides.iter().any(|&stride| stride < 0) {
                *arg = self.copy(*arg);
            }
            debug_assert!(self.views[arg.index()].strides.iter().all(|&s| s >= 0), "operand {k} goes forwards");
        }
        while let Err(k) = matrices(&op, args.map(|arg| &self.views[arg.index()]), Value(0)) {
            let (own, other) = if k == 0 { (op.lhs(), op.rhs()) } else { (op.rhs(), op.lhs()) };
            let is_inner = |label: &u8| other.contains(label) && !op.out().contains(label);
            let mut labels: Vec<u8> = own.iter().copied().filter(|label| !is_inner(label)).collect();
            // In the order of the left one, however operands lie: products are added up in it.
            labels.extend(op.lhs().iter().filter(|label| op.rhs().contains(label) && !op.out().contains(label)));
            op = self.relaid(&op, &mut args, k, &labels);
        }
        if self.how.copies_gathered
            && let Some((k, labels)) = gathered(&op, args.map(|arg| &self.views[arg.index()]))
        {
            op = self.relaid(&op, &mut args, k, &labels);
        }
        self.op(op, &args)
    }

    /// The contraction with an operand copied, its labels in this order.
    fn relaid(&mut self, op: &Einsum, args: &mut [Value; 2], k: usize, labels: &[u8]) -> Einsum {
        let own = if k == 0 { op.lhs() } else { op.rhs() };
        let place = |label: &u8| own.iter().position(|l| l == label).expect("an own label");
        let order: Vec<usize> = labels.iter().map(place).collect();
        let turned = self.op(Permute { order }, &[args[k]]);
        args[k] = self.copy(turned);
        let (lhs, rhs) = if k == 0 { (labels, op.rhs()) } else { (op.lhs(), labels) };
        Einsum::from_labels(lhs, rhs, op.out()).expect("the same labels in another order")
    }

    /// The operand with what only it has summed.
    fn without_lone(&mut self, x: Value, labels: &[u8], is_shared: impl Fn(u8) -> bool) -> (Value, Vec<u8>) {
        let axes: Vec<usize> = (0..labels.len()).filter(|&axis| !is_shared(labels[axis])).collect();
        if axes.is_empty() {
            return (x, labels.to_vec());
        }
        let sum = self.reduce(&Reduce { reducer: Reducer::Sum, axes }, x);
        (sum, labels.iter().copied().filter(|&label| is_shared(label)).collect())
    }

    /// The operand with an axis for each label, in their order.
    fn aligned(&mut self, x: Value, own: &[u8], labels: &[u8], shape: &[usize]) -> Value {
        let places: Vec<usize> = (0..labels.len()).filter(|&k| own.contains(&labels[k])).collect();
        let order: Vec<usize> =
            places.iter().map(|&k| own.iter().position(|o| *o == labels[k]).expect("an own label")).collect();
        let x = if order.is_sorted() { x } else { self.op(Permute { order }, &[x]) };
        if places.len() == labels.len() { x } else { self.op(Broadcast::new(shape, &places), &[x]) }
    }
}

/// Small parts of arrays: they are copied before their array is overwritten, so that what reads them later does not keep it
/// from being overwritten in place.
struct SmallParts {
    /// For each value of the Program: the last equation that reads it.
    last: Vec<usize>,
    /// The views of each stored value that are small, as values of the Program.
    views: Map<Value, Vec<Value>>,
}

impl SmallParts {
    /// How many times larger than its part an array must be.
    const SMALL: usize = 4;

    fn of(program: &Program) -> Self {
        if !program.eqns().iter().any(|eqn| overwrites(&eqn.op)) {
            return SmallParts { last: Vec::new(), views: Map::default() };
        }
        let mut last = vec![0; program.types.len()];
        for (k, eqn) in program.eqns().iter().enumerate() {
            eqn.args.iter().for_each(|arg| last[arg.index()] = k);
        }
        program.outputs().iter().for_each(|output| last[output.index()] = usize::MAX);
        SmallParts { last, views: Map::default() }
    }

    /// Remembers new values of the Program that are small views.
    fn note(&mut self, f: &Flattener, new: impl Iterator<Item = Value>, values: &[Value]) {
        for value in new.filter(|_| !self.last.is_empty()) {
            let view = &f.views[values[value.index()].index()];
            if view.base != values[value.index()] && Self::SMALL * view.count() <= f.b.ty(view.base).size() {
                self.views.entry(view.base).or_default().push(value);
            }
        }
    }

    /// Copies the small views of an array that equations after this one read.
    fn keep(&mut self, f: &mut Flattener, k: usize, x: Value, values: &mut [Value]) {
        for view in self.views.remove(&f.views[x.index()].base).unwrap_or_default() {
            if self.last[view.index()] > k && f.literals[values[view.index()].index()].is_none() {
                values[view.index()] = f.copy(values[view.index()]);
            }
        }
    }
}

/// Whether an operation can have its result where its first operand lies, of which it changes a part.
pub(super) fn overwrites(op: &Op) -> bool {
    matches!(op, Op::Update(_) | Op::DynamicUpdate(_) | Op::Scatter(_))
}

/// The runs of a reduction of neighbouring axes: how many elements before, in and after it.
pub(super) fn spans(op: &Reduce, ty: &Type) -> [usize; 3] {
    let (Some(&first), Some(&last)) = (op.axes.first(), op.axes.last()) else { return [ty.size(), 1, 1] };
    let product = |range: &[usize]| range.iter().product::<usize>();
    [product(&ty.shape[..first]), product(&ty.shape[first..=last]), product(&ty.shape[last + 1..])]
}
