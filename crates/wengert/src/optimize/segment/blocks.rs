//! Loops as loops over blocks.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::ends::rows_between;
use super::{Cuts, Made, readers, scan_of, segmented};
use crate::array::Type;
use crate::primitives::{Concat, Reshape, Scan};
use crate::program::{Builder, Program, Value};

/// Shorter loops are not cut.
const SHORTEST: usize = 4;

/// The Program with loops cut into blocks, where one reads what another one stacks.
pub(super) fn in_blocks(program: Program, cuts: Cuts) -> Program {
    let plan = Plan::of(&program, cuts);
    if plan.lengths.is_empty() {
        return program;
    }
    let mut made = Made::of(&program);
    let mut kept: HashMap<usize, Kept> = HashMap::new();
    for (k, eqn) in program.eqns().iter().enumerate() {
        made.b.line = eqn.line;
        if let Some(&steps) = plan.lengths.get(&k) {
            let results = Cut { program: &program, plan: &plan, steps, cuts }.emit(&mut made, &mut kept, k);
            made.extend(results.into_iter());
        } else {
            let args = made.values(&eqn.args);
            let results = made.b.ops(eqn.op.clone(), &args);
            made.extend(results.into_iter().map(Some));
        }
    }
    made.finish(&program)
}

/// Which loops are cut, and what is not kept.
struct Plan {
    /// Stacks that only loops read, row by row.
    passing: Vec<bool>,
    /// For each loop that is cut: how many steps a block has.
    lengths: BTreeMap<usize, usize>,
}

impl Plan {
    fn of(program: &Program, cuts: Cuts) -> Plan {
        let readers = readers(program);
        let mut passing = vec![false; program.types.len()];
        // Loops that hang together: each points to an earlier one, or to itself.
        let mut group: BTreeMap<usize, usize> = BTreeMap::new();
        for k in 0..program.eqns().len() {
            let Some(scan) = scan_of(program, k).filter(|scan| scan.length >= SHORTEST) else { continue };
            if cuts == Cuts::Asked && scan.every.is_none() {
                continue;
            }
            for out in program.eqns()[k].outs().skip(scan.carry) {
                let reads_rows = |&(reader, operand): &(usize, usize)| {
                    let other = scan_of(program, reader);
                    other.is_some_and(|other| other.length == scan.length && other.roles()[2].contains(&operand))
                };
                let reading = &readers[out.index()];
                if reading.is_empty() || !reading.iter().all(reads_rows) {
                    continue;
                }
                passing[out.index()] = true;
                for &(reader, _) in reading {
                    join(&mut group, k, reader);
                }
            }
        }
        let mut lengths = BTreeMap::new();
        let roots: BTreeSet<usize> = group.keys().map(|&k| root(&group, k)).collect();
        for first in roots {
            let members: Vec<usize> = group.keys().copied().filter(|&k| root(&group, k) == first).collect();
            match steps_of_block(program, &passing, &members, cuts) {
                Some(steps) => lengths.extend(members.into_iter().map(|k| (k, steps))),
                None => {
                    members.iter().flat_map(|&k| program.eqns()[k].outs()).for_each(|out| passing[out.index()] = false)
                }
            }
        }
        Plan { passing, lengths }
    }
}

fn root(group: &BTreeMap<usize, usize>, mut k: usize) -> usize {
    while group[&k] != k {
        k = group[&k];
    }
    k
}

fn join(group: &mut BTreeMap<usize, usize>, one: usize, other: usize) {
    group.entry(one).or_insert(one);
    group.entry(other).or_insert(other);
    let (one, other) = (root(group, one), root(group, other));
    group.insert(one.max(other), one.min(other));
}

/// How many steps a block of these loops has; `None` if they are not cut.
fn steps_of_block(program: &Program, passing: &[bool], members: &[usize], cuts: Cuts) -> Option<usize> {
    let scans = || members.iter().filter_map(|&k| Some((k, scan_of(program, k)?)));
    let length = scans().next()?.1.length;
    let levels = match cuts {
        Cuts::Asked => {
            let steps = scans().filter_map(|(_, scan)| scan.every).min()?;
            return (steps < length).then_some(steps.max(1));
        }
        Cuts::Levels(0) => return None,
        Cuts::Levels(levels) => levels,
    };
    // Bytes of a carry, and of the residuals of a step.
    let (mut carry, mut residuals) = (0usize, 0usize);
    for (k, scan) in scans() {
        let eqn = &program.eqns()[k];
        let needed: Vec<bool> = eqn.outs().map(|out| passing[out.index()]).collect();
        if !needed.contains(&true) {
            continue;
        }
        let row = |out: Value| program.types[out.index()].bytes() / length;
        residuals = eqn.outs().filter(|out| passing[out.index()]).map(row).fold(residuals, usize::saturating_add);
        let types = scan.narrowed_carry(&needed);
        carry = types.iter().map(Type::bytes).fold(carry, usize::saturating_add);
    }
    let (carry, residuals) = (carry.max(1) as f64, residuals as f64);
    // Of each level as many as of every other: n = q^(levels + 1) carry / residuals.
    let ratio = (length as f64 * residuals / carry).powf(1.0 / (levels as f64 + 1.0));
    let steps = near_divisor(length, (length as f64 / ratio).round().clamp(1.0, length as f64) as usize);
    let blocks = length.div_ceil(steps) as f64;
    let least = if levels == 1 { steps as f64 * residuals } else { 0.0 };
    (steps > 1 && steps < length && blocks * carry + least < 0.9 * length as f64 * residuals).then_some(steps)
}

/// A divisor of the length that is not far from a number of steps, or that number.
fn near_divisor(length: usize, steps: usize) -> usize {
    let near = |other: &usize| length.is_multiple_of(*other);
    let (low, high) = ((steps * 3).div_ceil(4).max(1), (steps * 4 / 3).min(length));
    let divisors = (low..=high).filter(near);
    divisors.min_by_key(|other| other.abs_diff(steps)).unwrap_or(steps)
}

/// What is left of a loop for those that compute its stacks again.
struct Kept {
    /// Its carry at the beginning of every block, stacked.
    beginnings: Vec<Value>,
    /// Its carry where the rows begin that are no whole block.
    rest: Vec<Value>,
}

/// The loops that a block consists of, the last of which is wanted; and what they take from outside, in order.
struct Block<'a> {
    program: &'a Program,
    passing: &'a [bool],
    loops: Vec<usize>,
    invariants: Vec<Value>,
    rows: Vec<Value>,
}

impl<'a> Block<'a> {
    fn of(program: &'a Program, passing: &'a [bool], wanted: usize) -> Self {
        let mut definitions: HashMap<usize, usize> = HashMap::new();
        for (k, eqn) in program.eqns().iter().enumerate().take(wanted) {
            eqn.outs().filter(|out| passing[out.index()]).for_each(|out| {
                definitions.insert(out.index(), k);
            });
        }
        let mut loops = BTreeSet::from([wanted]);
        let mut open = vec![wanted];
        while let Some(k) = open.pop() {
            let sources = program.eqns()[k].args.iter().filter_map(|arg| definitions.get(&arg.index()));
            for &source in sources {
                if loops.insert(source) {
                    open.push(source);
                }
            }
        }
        let mut block =
            Block { program, passing, loops: loops.into_iter().collect(), invariants: Vec::new(), rows: Vec::new() };
        for &k in &block.loops {
            let [invariants, _, rows] = scan_of(program, k).expect("a loop").roles();
            let args = &program.eqns()[k].args;
            let add = |list: &mut Vec<Value>, value: Value| {
                if !list.contains(&value) {
                    list.push(value);
                }
            };
            args[invariants].iter().for_each(|&arg| add(&mut block.invariants, arg));
            let rows = args[rows].iter().filter(|arg| !passing[arg.index()]);
            rows.for_each(|&arg| add(&mut block.rows, arg));
        }
        block
    }

    /// This number of steps of every loop, from the carries given for each; the results of the last.
    fn run(
        &self,
        b: &mut Builder,
        steps: usize,
        invariants: &[Value],
        rows: &[Value],
        carries: &[Vec<Value>],
    ) -> Vec<Value> {
        let mut given: HashMap<Value, Value> = self.rows.iter().copied().zip(rows.iter().copied()).collect();
        let fixed: HashMap<Value, Value> = self.invariants.iter().copied().zip(invariants.iter().copied()).collect();
        let mut results = Vec::new();
        for (&k, carry) in self.loops.iter().zip(carries) {
            let eqn = &self.program.eqns()[k];
            let scan = scan_of(self.program, k).expect("a loop");
            let [invariants, _, rows] = scan.roles();
            let mut operands: Vec<Value> = eqn.args[invariants].iter().map(|arg| fixed[arg]).collect();
            operands.extend(carry);
            operands.extend(eqn.args[rows].iter().map(|arg| given[arg]));
            b.line = eqn.line;
            results = b.ops(Scan { length: steps, every: None, ..scan.clone() }, &operands);
            let stacked = eqn.outs().zip(&results).skip(scan.carry);
            given.extend(stacked.filter(|(out, _)| self.passing[out.index()]).map(|(out, &result)| (out, result)));
        }
        results
    }
}

/// A loop that is cut.
struct Cut<'a> {
    program: &'a Program,
    plan: &'a Plan,
    steps: usize,
    cuts: Cuts,
}

impl Cut<'_> {
    /// Appends the loop of an equation in blocks; its results, without those that are not kept.
    fn emit(&self, made: &mut Made, kept: &mut HashMap<usize, Kept>, k: usize) -> Vec<Option<Value>> {
        let scan = scan_of(self.program, k).expect("a loop");
        let eqn = &self.program.eqns()[k];
        let block = Block::of(self.program, &self.plan.passing, k);
        let (blocks, whole) = (scan.length / self.steps, scan.length / self.steps * self.steps);
        let invariants = made.values(&block.invariants);
        let rows = made.values(&block.rows);
        let [_, carry, _] = scan.roles();
        let start = made.values(&eqn.args[carry]);
        let sources = &block.loops[..block.loops.len() - 1];
        let rest = |b: &mut Builder, carry: &[Value], kept: &HashMap<usize, Kept>| {
            let rows: Vec<Value> = rows.iter().map(|&array| rows_between(b, array, whole..scan.length)).collect();
            let mut carries: Vec<Vec<Value>> = sources.iter().map(|source| kept[source].rest.clone()).collect();
            carries.push(carry.to_vec());
            block.run(b, scan.length - whole, &invariants, &rows, &carries)
        };
        let over_blocks = |b: &mut Builder, carry: &[Value], kept: &HashMap<usize, Kept>| {
            let in_rows: Vec<Value> = rows.iter().map(|&array| blocks_of(b, array, blocks, self.steps)).collect();
            let mut operands = [&invariants[..], carry, &in_rows].concat();
            operands.extend(sources.iter().flat_map(|source| &kept[source].beginnings));
            let beginnings: Vec<usize> = sources.iter().map(|source| kept[source].beginnings.len()).collect();
            let types: Vec<Type> = operands.iter().map(|&value| b.ty(value).clone()).collect();
            let body = self.body(&block, scan, &types, &beginnings);
            let outer = Scan::new(body, blocks, scan.carry, operands.len() - invariants.len() - carry.len());
            b.ops(outer.reversed(scan.reverse), &operands)
        };
        let b = &mut made.b;
        let remains = whole < scan.length;
        let (mut inner, mut last, at_rest): (Vec<Value>, Option<Vec<Value>>, Vec<Value>);
        let end: Vec<Value>;
        if scan.reverse {
            last = remains.then(|| rest(b, &start, kept));
            let begin = last.as_ref().map_or(start.clone(), |last| last[..scan.carry].to_vec());
            inner = over_blocks(b, &begin, kept);
            (end, at_rest) = (inner[..scan.carry].to_vec(), start);
        } else {
            inner = over_blocks(b, &start, kept);
            at_rest = inner[..scan.carry].to_vec();
            last = remains.then(|| rest(b, &at_rest, kept));
            end = last.as_ref().map_or(at_rest.clone(), |last| last[..scan.carry].to_vec());
        }
        let mut stacked = inner.split_off(scan.carry);
        let outs = eqn.outs().count() - scan.carry;
        let beginnings = stacked.split_off(outs);
        let mut results: Vec<Option<Value>> = end.into_iter().map(Some).collect();
        for (place, (out, inner)) in eqn.outs().skip(scan.carry).zip(stacked).enumerate() {
            let value = (!self.plan.passing[out.index()]).then(|| {
                let shape = b.shape(inner);
                let shape = [&[whole], &shape[2..]].concat();
                let joined = b.op(Reshape::new(&shape), &[inner]);
                match &mut last {
                    Some(last) => b.op(Concat { axis: 0 }, &[joined, last[scan.carry + place]]),
                    None => joined,
                }
            });
            results.push(value);
        }
        kept.insert(k, Kept { beginnings, rest: at_rest });
        results
    }

    /// What a block does: the loops in it, then its carry at the beginning. It takes operands of these types; of those of other
    /// loops' beginnings there are so many.
    fn body(&self, block: &Block<'_>, scan: &Scan, types: &[Type], beginnings: &[usize]) -> Program {
        let mut b = Builder::new();
        let fixed = block.invariants.len() + scan.carry;
        let of_step =
            |(k, ty): (usize, &Type)| if k < fixed { ty.clone() } else { ty.with_shape(ty.shape[1..].to_vec()) };
        let inputs: Vec<Value> = types
            .iter()
            .enumerate()
            .map(of_step)
            .collect::<Vec<Type>>()
            .into_iter()
            .map(|ty| b.input("", ty))
            .collect();
        let (invariants, others) = inputs.split_at(block.invariants.len());
        let (carry, others) = others.split_at(scan.carry);
        let (rows, mut others) = others.split_at(block.rows.len());
        let mut carries: Vec<Vec<Value>> = Vec::with_capacity(block.loops.len());
        for &count in beginnings {
            let (own, next) = others.split_at(count);
            carries.push(own.to_vec());
            others = next;
        }
        carries.push(carry.to_vec());
        let mut results = block.run(&mut b, self.steps, invariants, rows, &carries);
        results.extend(carry);
        let body = crate::program::dce(b.finish(&results));
        match self.cuts {
            Cuts::Levels(levels) if levels > 1 => segmented(&body, Cuts::Levels(levels - 1)),
            _ => body,
        }
    }
}

/// The first rows of an array, by blocks.
fn blocks_of(b: &mut Builder, array: Value, blocks: usize, steps: usize) -> Value {
    let array = rows_between(b, array, 0..blocks * steps);
    let shape = [&[blocks, steps], &b.shape(array)[1..]].concat();
    b.op(Reshape::new(&shape), &[array])
}
