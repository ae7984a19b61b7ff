//! Layout assignment ("turning"): chains of elementwise operations on transposed arrays are computed in the layout of these.
//!
//! Values are stored row-major; to read one in another order takes strides. A chain whose operands lie in
//! another order than its result would gather them element by element. If products of matrices alone read the chain, which
//! take any strides, it is computed transposed instead: operands are read as they lie, and the products read a view.

use super::Set;

use super::cluster::{computes, fuses};
use super::flatten::Flat;
use super::product::matrices;
use super::view::View;
use crate::primitives::{Op, Permute};
use crate::program::{Args, Builder, Program, Value, same_inputs};

/// The Program with chains turned; `None` if there is none to turn.
pub(super) fn turned(flat: &Flat) -> Option<Program> {
    let crossed = |view: &View| is_full(view) && view.is_crossed();
    let reads = |k: usize| flat.program.eqns()[k].args.iter().any(|arg| crossed(&flat.views[arg.index()]));
    let count = flat.program.eqns().len();
    if !(0..count).any(|k| is_elementwise(flat, k) && reads(k)) {
        return None;
    }
    let orders = Chains::new(flat).orders();
    orders.iter().any(Option::is_some).then(|| rebuilt(flat, &orders))
}

fn is_elementwise(flat: &Flat, k: usize) -> bool {
    fuses(flat, k) && computes(flat, k) && !matches!(flat.program.eqns()[k].op, Op::Reduce(_))
}

/// Whether no element of the base is read twice because of a broadcast.
fn is_full(view: &View) -> bool {
    view.shape.iter().zip(&view.strides).all(|(&length, &stride)| length == 1 || stride != 0)
}

/// The axes of a view from the one with the longest steps to the one with the shortest; those of length 1 first.
fn order(view: &View) -> Vec<usize> {
    let mut order: Vec<usize> = (0..view.shape.len()).collect();
    let key = |axis: &usize| if view.shape[*axis] == 1 { usize::MAX } else { view.strides[*axis].unsigned_abs() };
    order.sort_by_key(|axis| std::cmp::Reverse(key(axis)));
    order
}

/// The orders of the axes that the parts of a chain ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    /// Every operand is a number or broadcast.
    Any,
    /// Those of the operands that are whole.
    Order(Vec<usize>),
    /// It stays as it is.
    Stays,
}

impl Wish {
    fn and(self, other: Wish) -> Wish {
        match (self, other) {
            (Wish::Any, wish) | (wish, Wish::Any) => wish,
            (one, two) if one == two => one,
            _ => Wish::Stays,
        }
    }
}

/// Elementwise equations that read each other's results, of one shape.
struct Chains<'a> {
    flat: &'a Flat,
    /// For each equation: an earlier one of its chain, or itself if it is the first.
    earlier: Vec<Option<usize>>,
    /// For each value: the equation that makes it.
    maker: Vec<Option<usize>>,
}

impl<'a> Chains<'a> {
    fn new(flat: &'a Flat) -> Self {
        let eqns = flat.program.eqns();
        let mut chains = Chains { flat, earlier: vec![None; eqns.len()], maker: vec![None; flat.views.len()] };
        for (k, eqn) in eqns.iter().enumerate() {
            eqn.outs().for_each(|out| chains.maker[out.index()] = Some(k));
            if !is_elementwise(flat, k) {
                continue;
            }
            chains.earlier[k] = Some(k);
            for &arg in &eqn.args {
                if let Some(other) = chains.inside(arg) {
                    let (one, two) = (chains.find(other), chains.find(k));
                    chains.earlier[one.max(two)] = Some(one.min(two));
                }
            }
        }
        // From the first on, each names the first of its chain.
        for k in 0..eqns.len() {
            if let Some(earlier) = chains.earlier[k] {
                chains.earlier[k] = chains.earlier[earlier];
            }
        }
        chains
    }

    /// The first equation of the chain of one that is elementwise.
    fn root(&self, mut k: usize) -> usize {
        while let Some(earlier) = self.earlier[k].filter(|&earlier| earlier != k) {
            k = earlier;
        }
        k
    }

    /// As [`Chains::root`]; the way there is shorter the next time.
    fn find(&mut self, mut k: usize) -> usize {
        while let Some(earlier) = self.earlier[k].filter(|&earlier| earlier != k) {
            self.earlier[k] = self.earlier[earlier];
            k = earlier;
        }
        k
    }

    /// The elementwise equation that makes a value.
    fn inside(&self, value: Value) -> Option<usize> {
        self.maker[value.index()].filter(|&k| self.earlier[k].is_some())
    }

    /// For each equation of a chain that is to be turned: the order of its axes.
    fn orders(&self) -> Vec<Option<Vec<usize>>> {
        let eqns = self.flat.program.eqns();
        let mut wishes = vec![Wish::Any; eqns.len()];
        let mut ask = |k: usize, wish: Wish| {
            let root = self.root(k);
            let own = std::mem::replace(&mut wishes[root], Wish::Stays);
            wishes[root] = own.and(wish);
        };
        for k in (0..eqns.len()).filter(|&k| self.earlier[k].is_some()) {
            for &arg in &eqns[k].args {
                ask(k, self.operand(arg));
            }
        }
        for &output in self.flat.program.outputs() {
            if let Some(k) = self.inside(output) {
                ask(k, Wish::Stays);
            }
        }
        for (reader, eqn) in eqns.iter().enumerate() {
            for &arg in &eqn.args {
                let base = self.flat.views[arg.index()].base;
                let Some(k) = self.inside(base) else { continue };
                let reads_whole = arg == base && (self.earlier[reader].is_some() || matches!(eqn.op, Op::Einsum(_)));
                if computes(self.flat, reader) && !reads_whole {
                    ask(k, Wish::Stays);
                }
            }
        }
        let found = |k: usize| match &wishes[self.root(k)] {
            Wish::Order(order) if !order.is_sorted() => Some(order.clone()),
            _ => None,
        };
        let mut orders: Vec<Option<Vec<usize>>> =
            (0..eqns.len()).map(|k| self.earlier[k].and_then(|_| found(k))).collect();
        self.keep_products(&mut orders);
        orders
    }

    /// The order that an operand from outside of the chain asks for.
    fn operand(&self, arg: Value) -> Wish {
        let view = &self.flat.views[arg.index()];
        if self.inside(arg).is_some() || self.flat.literals[arg.index()].is_some() || !is_full(view) {
            return Wish::Any;
        }
        if view.is_crossed() { Wish::Order(order(view)) } else { Wish::Stays }
    }

    /// Leaves out chains whose turned results would make a product slower: by a copy, or by more and smaller matrices.
    fn keep_products(&self, orders: &mut [Option<Vec<usize>>]) {
        let flat = self.flat;
        // The first equations of the chains that are left out.
        let mut kept: Set<usize> = Set::default();
        for eqn in flat.program.eqns() {
            let Op::Einsum(op) = &eqn.op else { continue };
            let own = [0, 1].map(|n| self.maker[flat.views[eqn.args[n].index()].base.index()]);
            let turns = |k: &usize| !kept.contains(&self.root(*k));
            let order = |n: usize| own[n].filter(turns).and_then(|k| orders[k].as_ref());
            if order(0).is_none() && order(1).is_none() {
                continue;
            }
            let now = [0, 1].map(|n| flat.views[eqn.args[n].index()].clone());
            let then = [0, 1].map(|n| order(n).map_or_else(|| now[n].clone(), |order| laid(&now[n], order)));
            let batch = |views: &[View; 2]| Some(matrices(op, [&views[0], &views[1]], eqn.first).ok()?.batch.len());
            if batch(&then).is_none_or(|count| batch(&now).is_some_and(|now| count > now)) {
                kept.extend(own.into_iter().flatten().map(|k| self.root(k)));
            }
        }
        if !kept.is_empty() {
            let stays = |k: usize| self.earlier[k].is_some() && kept.contains(&self.root(k));
            (0..orders.len()).filter(|&k| stays(k)).for_each(|k| orders[k] = None);
        }
    }
}

/// The view of a stored value as it would be if its axes lay in this order.
fn laid(whole: &View, order: &[usize]) -> View {
    let shape: Vec<usize> = order.iter().map(|&axis| whole.shape[axis]).collect();
    let stored = View::whole(whole.base, &shape);
    stored.of(&Permute { order: inverse(order) }.into()).expect("a permutation is a view")
}

fn inverse(order: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(k, &axis)| inverse[axis] = k);
    inverse
}

/// The Program with the equations of these orders computed in them.
fn rebuilt(flat: &Flat, orders: &[Option<Vec<usize>>]) -> Program {
    let mut b = Builder::new();
    let mut values = same_inputs(&mut b, &flat.program);
    // For each value of a turned chain: as it is computed.
    let mut stored: Vec<Option<Value>> = vec![None; flat.views.len()];
    for (eqn, order) in flat.program.eqns().iter().zip(orders) {
        b.line = eqn.line;
        let Some(order) = order else {
            let args: Args = eqn.args.iter().map(|arg| values[arg.index()]).collect();
            values.extend(b.ops(eqn.op.clone(), &args));
            continue;
        };
        let turn = |b: &mut Builder, arg: &Value| match stored[arg.index()] {
            Some(value) => value,
            None => b.op(Permute { order: order.clone() }, &[values[arg.index()]]),
        };
        let args: Args = eqn.args.iter().map(|arg| turn(&mut b, arg)).collect();
        let value = b.op(eqn.op.clone(), &args);
        stored[eqn.first.index()] = Some(value);
        values.push(b.op(Permute { order: inverse(order) }, &[value]));
    }
    let outputs: Vec<Value> = flat.program.outputs().iter().map(|output| values[output.index()]).collect();
    b.finish(&outputs)
}
