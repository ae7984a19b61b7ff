//! Fusion: which equations become one region.
//!
//! Equations are taken in order. One that works element by element joins the region of its operands, or of what reads the
//! same, if the elements it needs are those of its own place, and if no step in between would have to run in the middle of
//! the region. The values of a region are *full*, one element per place, or one per *row* of `cols` places.

use smallvec::smallvec;

use super::{Indices, Set};

use super::blocks::is_blocks;
use super::flatten::{Flat, spans};
use super::lanes::Item;
use super::precedence::Precedence;
use super::takes::is_take;
use super::view::View;
use super::work::count;
use crate::array::Type;
use crate::ops::Unary;
use crate::primitives::{Form, Op, Reduce};
use crate::program::{Args, Value};

/// A step of the plan, before it is placed: a region or a single operation.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    /// The equations, in the order of the Program: each comes after what it needs.
    pub(super) eqns: Indices,
    /// `None` if it is a single operation that does not fuse, or a part of lanes.
    pub(super) space: Option<Extent>,
    /// The stored values that it reads, if it is a region.
    reads: Args,
    /// What is computed again in it stands behind this equation: so does all of it.
    since: usize,
}

/// How the elements of a region are arranged, as far as its equations determine it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// The number of elements of a full value.
    pub(super) count: usize,
    /// The length of a row, if there are values of one element per row, or sums over rows.
    pub(super) cols: Option<usize>,
    /// The number of groups, if there are reductions over rows.
    pub(super) groups: Option<usize>,
}

/// The role of a computed value in its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// An element per place.
    Full,
    /// An element per row.
    Row,
    /// Reduced over rows: known when the region has ended.
    Total,
}

/// The regions and single operations, and where each value is computed.
#[derive(Debug)]
pub(super) struct Clusters {
    /// Steps; those that were merged into others are empty.
    pub(super) list: Vec<Cluster>,
    /// For each stored value that is no input: its step.
    pub(super) home: Vec<Option<usize>>,
    /// For each value that a region computes: what it is there.
    pub(super) roles: Vec<Role>,
    /// Values that a region computes again for itself.
    clones: Set<(usize, Value)>,
    /// Which steps have to run before which.
    precedence: Precedence,
}

impl Clusters {
    /// Whether a step computes a value itself, there or again.
    pub(super) fn holds(&self, step: usize, value: Value) -> bool {
        self.home[value.index()] == Some(step) || self.clones.contains(&(step, value))
    }

    /// How many stored values a region reads.
    pub(super) fn read_count(&self, step: usize) -> usize {
        self.list[step].reads.len()
    }

    /// Adds an equation with the value `value` to another region.
    pub(super) fn clone_into(&mut self, step: usize, k: usize, value: Value, reads: impl Iterator<Item = Value>) {
        if self.clones.insert((step, value)) {
            let own = &mut self.list[step];
            let place = own.eqns.partition_point(|&eqn| eqn < k);
            own.eqns.insert(place, k);
            let new: Args = reads.filter(|base| !own.reads.contains(base)).collect();
            own.reads.extend(new);
        }
    }

    /// Makes a kernel of what only copies, where no region has taken it in.
    pub(super) fn copy_alone(&mut self, flat: &Flat) {
        for cluster in &mut self.list {
            if let &[k] = &cluster.eqns[..]
                && copies(flat, k)
            {
                cluster.space = None;
            }
        }
    }

    /// The steps that each step needs directly; which has to run before which is forgotten with that.
    pub(super) fn take_needs(&mut self) -> Vec<Indices> {
        let mut precedence = std::mem::take(&mut self.precedence);
        (0..self.list.len()).map(|step| precedence.needs(step)).collect()
    }
}

/// How an equation reads an operand.
enum Link {
    /// A number.
    Literal,
    /// The element of the same place of a stored value.
    Same(Value),
    /// The element of the row of a stored value with one per row.
    Spread(Value, usize),
    /// Anything else: the value must be in memory.
    Far(Value),
}

/// Rows of at most this many elements are joined inside a chunk.
const MAX_COLS: usize = 4096;
/// Sums over rows of at most this many columns are kept beside a chunk.
const MAX_TOTAL_COLS: usize = 8192;
/// How many equations a region has at most, and how many values it reads.
pub(super) const MAX_EQNS: usize = 200;
pub(super) const MAX_READS: usize = 48;

/// How many of the newest readers of a value are searched for one that is recorded already.
const MOST_READERS: usize = 64;

/// The shape of a fused equation on its own.
struct Shape {
    /// Its elements, or its operand's if it is a reduction.
    count: usize,
    /// If it is a reduction: elements before, in and after the reduced axes.
    reduced: Option<[usize; 3]>,
}

/// Whether a reduction of neighbouring axes can be part of a region.
pub(super) fn reduces_in_region(reduce: &Reduce, operand: &Type) -> bool {
    let [_, _, after] = spans(reduce, operand);
    operand.size() > 0 && after <= MAX_TOTAL_COLS
}

/// Whether an operation can be part of a region.
pub(super) fn fuses(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    match flat.program.form(eqn) {
        Form::Elementwise => !transposes(flat, k),
        Form::Reduction => match &eqn.op {
            Op::Reduce(reduce) => reduces_in_region(reduce, flat.program.ty(eqn.args[0])),
            _ => false,
        },
        Form::Number | Form::View | Form::ElementwiseKernel | Form::Kernel | Form::Planned | Form::Inlined => false,
    }
}

/// Whether an equation is a value of a region that takes its elements from other positions than their own: its operands must
/// be in memory before the region runs.
pub(super) fn reads_elsewhere(flat: &Flat, k: usize) -> bool {
    is_blocks(flat, k) || is_take(flat, k)
}

/// Whether such an equation on its own is better a kernel, which copies larger pieces than the chunks of a region.
fn copies(flat: &Flat, k: usize) -> bool {
    matches!(flat.program.eqns()[k].op, Op::Concat(_) | Op::Gather(_)) && reads_elsewhere(flat, k)
}

/// Whether an equation only copies a view, which is faster by blocks than row by row.
pub(super) fn transposes(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    matches!(eqn.op, Op::Unary(Unary::Detach))
        && flat.literals[eqn.args[0].index()].is_none()
        && flat.views[eqn.args[0].index()].is_crossed()
}

/// Whether an equation computes anything: views and numbers do not.
pub(super) fn computes(flat: &Flat, k: usize) -> bool {
    let eqn = &flat.program.eqns()[k];
    let value = eqn.first.index();
    flat.views[value].base == eqn.first && flat.literals[value].is_none()
}

/// Groups the equations, in the order of these items; a part of lanes is already a step.
pub(super) fn cluster(flat: &Flat, items: &[Item]) -> Clusters {
    let values = flat.views.len();
    let mut c = Clusterer {
        flat,
        clusters: Clusters {
            list: Vec::with_capacity(items.len()),
            home: vec![None; values],
            roles: vec![Role::Full; values],
            clones: Set::default(),
            precedence: Precedence::with_room(items.len()),
        },
        readers: vec![Indices::new(); values],
    };
    for item in items {
        match item {
            Item::Part(part) => c.step(&part.eqns),
            Item::One(k) if fuses(flat, *k) || reads_elsewhere(flat, *k) => c.fuse(*k),
            Item::One(k) => c.step(&[*k]),
        }
    }
    c.clusters.copy_alone(flat);
    c.clusters
}

struct Clusterer<'a> {
    flat: &'a Flat,
    clusters: Clusters,
    /// For each value: the regions that read it.
    readers: Vec<Indices>,
}

impl Clusterer<'_> {
    /// How equation `k` of this many elements reads an operand.
    fn link(&self, k: usize, arg: Value, count: usize) -> Link {
        let flat = self.flat;
        if flat.literals[arg.index()].is_some() {
            return Link::Literal;
        }
        let view = &flat.views[arg.index()];
        if reads_elsewhere(flat, k) {
            return Link::Far(view.base);
        }
        let base = flat.program.ty(view.base).size();
        if view.is_in_order() && base == count {
            return Link::Same(view.base);
        }
        match view.spread(base) {
            Some(cols) if cols > 1 => Link::Spread(view.base, cols),
            _ => Link::Far(view.base),
        }
    }

    fn shape(&self, k: usize) -> Shape {
        let eqn = &self.flat.program.eqns()[k];
        match &eqn.op {
            Op::Reduce(reduce) => {
                let ty = self.flat.program.ty(eqn.args[0]);
                Shape { count: ty.size(), reduced: Some(spans(reduce, ty)) }
            }
            _ => Shape { count: self.flat.program.ty(eqn.first).size(), reduced: None },
        }
    }

    /// The steps whose results an equation needs.
    fn needs(&self, k: usize) -> Vec<usize> {
        let eqn = &self.flat.program.eqns()[k];
        let bases = eqn.args.iter().filter(|arg| self.flat.literals[arg.index()].is_none());
        bases.filter_map(|arg| self.clusters.home[self.flat.views[arg.index()].base.index()]).collect()
    }

    /// Makes a step of equations, which nothing joins later.
    fn step(&mut self, eqns: &[usize]) {
        let step = self.push(Cluster { eqns: eqns.into(), space: None, reads: Args::new(), since: 0 });
        let outs = eqns.iter().flat_map(|&k| self.flat.program.eqns()[k].outs());
        outs.for_each(|out| self.clusters.home[out.index()] = Some(step));
        let mut needs: Vec<usize> = eqns.iter().flat_map(|&k| self.needs(k)).collect();
        needs.sort_unstable();
        needs.dedup();
        self.link_needs(step, &needs);
    }

    fn push(&mut self, cluster: Cluster) -> usize {
        self.clusters.list.push(cluster);
        self.clusters.precedence.push()
    }

    /// Records that a step needs these, which come before it.
    fn link_needs(&mut self, step: usize, needs: &[usize]) {
        for &need in needs.iter().filter(|&&need| need != step) {
            self.clusters.precedence.link(need, step);
        }
    }

    fn fuse(&mut self, k: usize) {
        let flat = self.flat;
        let eqn = &flat.program.eqns()[k];
        let shape = self.shape(k);
        let links: Vec<Link> = eqn.args.iter().map(|&arg| self.link(k, arg, shape.count)).collect();
        let mut candidates: Vec<usize> = Vec::new();
        let mut offer = |step: usize| {
            if !candidates.contains(&step) {
                candidates.push(step);
            }
        };
        for link in &links {
            if let Link::Same(base) | Link::Spread(base, _) = link {
                self.clusters.home[base.index()].into_iter().for_each(&mut offer);
            }
        }
        // What is read elsewhere waits for the region that computes with it: in another region it would be stored.
        for link in links.iter().filter(|_| !reads_elsewhere(flat, k)) {
            if let Link::Same(base) | Link::Far(base) = link {
                self.readers[base.index()].iter().copied().rev().take(4).for_each(&mut offer);
            }
        }
        let mut joined: Option<usize> = None;
        count(candidates.len());
        for step in candidates {
            if self.clusters.list[step].eqns.is_empty() {
                continue;
            }
            match joined {
                None => {
                    if self.join(k, &shape, &links, step) {
                        joined = Some(step);
                    }
                }
                Some(own) => self.merge(own, step),
            }
        }
        let step = joined.unwrap_or_else(|| self.found(k, &shape));
        for link in &links {
            if let Link::Same(base) | Link::Spread(base, _) | Link::Far(base) = link {
                let readers = &mut self.readers[base.index()];
                if !readers.iter().rev().take(MOST_READERS).any(|&reader| reader == step) {
                    readers.push(step);
                }
            }
        }
    }

    /// A region of its own for an equation.
    fn found(&mut self, k: usize, shape: &Shape) -> usize {
        let free = Extent { count: shape.count, cols: None, groups: None };
        let (space, role) = placed(&free, shape).expect("an equation fits a region of its own");
        let since = self.flat.since[k];
        let step = self.push(Cluster { eqns: smallvec![k], space: Some(space), reads: Args::new(), since });
        self.settle(k, step, role);
        step
    }

    fn settle(&mut self, k: usize, step: usize, role: Role) {
        let out = self.flat.program.eqns()[k].first.index();
        self.clusters.home[out] = Some(step);
        self.clusters.roles[out] = role;
        let flat = self.flat;
        for arg in flat.program.eqns()[k].args.iter().filter(|arg| flat.literals[arg.index()].is_none()) {
            let base = flat.views[arg.index()].base;
            let outside = self.clusters.home[base.index()] != Some(step);
            let reads = &mut self.clusters.list[step].reads;
            if outside && !reads.contains(&base) {
                reads.push(base);
            }
        }
        let needs = self.needs(k);
        self.link_needs(step, &needs);
    }

    /// Adds an equation to a region if possible.
    fn join(&mut self, k: usize, shape: &Shape, links: &[Link], step: usize) -> bool {
        let own = &self.clusters.list[step];
        let Some(extent) = own.space else { return false };
        if own.eqns.len() >= MAX_EQNS || own.reads.len() + links.len() > MAX_READS {
            return false;
        }
        let since = own.since.max(self.flat.since[k]);
        if !at_once([own.eqns[0], k], since) {
            return false;
        }
        // The columns by which the region would be widened, its values becoming values of rows.
        let promoted = links.iter().find_map(|link| match link {
            Link::Spread(base, cols) if self.clusters.home[base.index()] == Some(step) => Some(*cols),
            _ => None,
        });
        let mut target = extent;
        let mut promotes = false;
        if let Some(cols) = promoted
            && extent.cols.is_none()
            && extent.groups.is_none()
            && extent.count * cols == shape.count
            && cols <= MAX_COLS
        {
            target = Extent { count: shape.count, cols: Some(cols), groups: None };
            promotes = true;
        }
        let Some((space, role)) = placed(&target, shape) else { return false };
        // The role that the operands must have.
        let reads_rows = shape.count != space.count;
        let role_of = |base: &Value| match self.clusters.roles[base.index()] {
            Role::Full if promotes => Role::Row,
            role => role,
        };
        for link in links {
            let (base, fits) = match link {
                Link::Literal => continue,
                Link::Same(base) => (base, role_of(base) == if reads_rows { Role::Row } else { Role::Full }),
                Link::Spread(base, cols) => {
                    (base, !reads_rows && role_of(base) == Role::Row && space.cols == Some(*cols))
                }
                Link::Far(base) => (base, false),
            };
            match self.clusters.home[base.index()] {
                Some(home) if home == step && !fits => return false,
                Some(_) | None => {}
            }
        }
        // A step in between would have to run both after this region and before it.
        for home in self.needs(k).into_iter().filter(|&home| home != step) {
            if !self.clusters.precedence.put_before(home, step) {
                return false;
            }
        }
        if promotes {
            let eqns = self.clusters.list[step].eqns.clone();
            for k in eqns {
                let out = self.flat.program.eqns()[k].first.index();
                if self.clusters.roles[out] == Role::Full {
                    self.clusters.roles[out] = Role::Row;
                }
            }
        }
        let own = &mut self.clusters.list[step];
        own.space = Some(space);
        own.since = since;
        // Where parts of lanes are steps, equations do not come in the order of the Program.
        let place = own.eqns.partition_point(|&eqn| eqn < k);
        own.eqns.insert(place, k);
        self.settle(k, step, role);
        true
    }

    /// Merges two regions if possible.
    fn merge(&mut self, one: usize, two: usize) {
        if one == two {
            return;
        }
        let (a, b) = (&self.clusters.list[one], &self.clusters.list[two]);
        let (Some(x), Some(y)) = (a.space, b.space) else { return };
        let too_large = a.eqns.len() + b.eqns.len() > MAX_EQNS || a.reads.len() + b.reads.len() > MAX_READS;
        let since = a.since.max(b.since);
        if too_large || !at_once([a.eqns[0], b.eqns[0]], since) {
            return;
        }
        let Some(space) = united(&x, &y) else { return };
        let fits = self.links_fit(one, two, &space) && self.links_fit(two, one, &space);
        if !fits || !self.clusters.precedence.merge(one, two) {
            return;
        }
        let none = Cluster { eqns: Indices::new(), space: None, reads: Args::new(), since: 0 };
        let Cluster { eqns, reads, .. } = std::mem::replace(&mut self.clusters.list[two], none);
        for &k in &eqns {
            self.clusters.home[self.flat.program.eqns()[k].first.index()] = Some(one);
        }
        let own = &mut self.clusters.list[one];
        own.space = Some(space);
        own.since = since;
        own.eqns.extend(eqns);
        own.eqns.sort_unstable();
        own.reads.extend(reads);
        own.reads.sort_unstable();
        own.reads.dedup();
    }

    /// Whether what the equations of `reader` take from `other` could be taken inside one region.
    fn links_fit(&self, reader: usize, other: usize, space: &Extent) -> bool {
        count(self.clusters.list[reader].eqns.len());
        self.clusters.list[reader].eqns.iter().all(|&k| {
            let eqn = &self.flat.program.eqns()[k];
            let shape = self.shape(k);
            let reads_rows = shape.count != space.count;
            eqn.args.iter().all(|&arg| {
                let view = &self.flat.views[arg.index()];
                if self.flat.literals[arg.index()].is_some() || self.clusters.home[view.base.index()] != Some(other) {
                    return true;
                }
                match self.link(k, arg, shape.count) {
                    Link::Literal => true,
                    Link::Same(base) => {
                        self.clusters.roles[base.index()] == if reads_rows { Role::Row } else { Role::Full }
                    }
                    Link::Spread(base, cols) => {
                        !reads_rows && self.clusters.roles[base.index()] == Role::Row && space.cols == Some(cols)
                    }
                    Link::Far(_) => false,
                }
            })
        })
    }
}

/// Whether equations may run as one, of which the first ones are these: what is computed again does not run with what stands
/// before its region, where its results would only be kept.
fn at_once(first: [usize; 2], since: usize) -> bool {
    first[0].min(first[1]) >= since
}

/// The extent of two regions in one; full values have to stay full, rows rows.
fn united(x: &Extent, y: &Extent) -> Option<Extent> {
    fn same<T: PartialEq>(x: Option<T>, y: Option<T>) -> Option<Option<T>> {
        match (x, y) {
            (Some(x), Some(y)) => (x == y).then_some(Some(x)),
            (x, y) => Some(x.or(y)),
        }
    }
    let united = Extent { count: x.count, cols: same(x.cols, y.cols)?, groups: same(x.groups, y.groups)? };
    (x.count == y.count && divides(&united)).then_some(united)
}

/// Whether groups consist of whole rows.
fn divides(extent: &Extent) -> bool {
    extent.count.is_multiple_of(extent.cols.unwrap_or(1) * extent.groups.unwrap_or(1))
}

/// The extent of a region with one more equation, and the role of its result there; `None` if it does not fit.
fn placed(extent: &Extent, shape: &Shape) -> Option<(Extent, Role)> {
    let full = shape.count == extent.count;
    let row = extent.cols.is_some_and(|cols| shape.count * cols == extent.count);
    let with = |cols: Option<usize>, groups: Option<usize>| {
        let fits = |old: Option<usize>, new: Option<usize>| old.is_none() || new.is_none() || old == new;
        if !fits(extent.cols, cols) || !fits(extent.groups, groups) {
            return None;
        }
        let wider = Extent { count: extent.count, cols: extent.cols.or(cols), groups: extent.groups.or(groups) };
        divides(&wider).then_some(wider)
    };
    match shape.reduced {
        None if full => Some((*extent, Role::Full)),
        None if row => Some((*extent, Role::Row)),
        None => None,
        // Along rows: inside a chunk.
        Some([_, inside, 1])
            if full && inside > 1 && inside <= MAX_COLS && extent.cols.is_none_or(|cols| cols == inside) =>
        {
            Some((with(Some(inside), None)?, Role::Row))
        }
        // Whole groups to one number each.
        Some([before, _, 1]) if full || row => Some((with(None, Some(before))?, Role::Total)),
        // Rows of each group to one row.
        Some([before, _, after]) if full => Some((with(Some(after), Some(before))?, Role::Total)),
        Some(_) => None,
    }
}

/// The length that rows of a region may have for its loads' sake: that of a load that is the same in every row.
pub(super) fn natural_cols<'v>(extent: &Extent, loads: impl Iterator<Item = &'v View>) -> usize {
    if let Some(cols) = extent.cols {
        return cols;
    }
    let fits = |cols: &usize| *cols <= 1024 && extent.count.is_multiple_of(cols * extent.groups.unwrap_or(1));
    loads.filter_map(View::repeated).find(fits).unwrap_or(1)
}
