//! A list as code for the kernels: its instructions in order, and a place for every value.
//!
//! Operations run in the order in which they were written, or result by result if that keeps far fewer values alive
//! (`order.rs`). Places are handed out by liveness, as registers are (linear scan: Poletto and Sarkar, 1999): the place of a
//! value that is read for the last time is the next one to be written, while it is still in the nearest cache.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

#[cfg(feature = "engine")]
use wengert_kernels::region::Pair;
use wengert_kernels::region::{Kind, Twin};
use wengert_kernels::straight::{Code, Function, Instr, Op, Parts};

use super::demand::demanded;
use super::derive::Derived;
use super::list::{Func, List, Node, Scalar};
use super::order::Needed;
use super::pairs::{Step, steps};
use super::{Guard, instruction};
use crate::hash::FastHasher;
use crate::ops::{Binary, Logic, Unary};

type Map<K, V> = HashMap<K, V, BuildHasherDefault<FastHasher>>;

/// What code does at one time.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// Computes an operation.
    Compute(Node),
    /// Computes two functions of one operand.
    Twin(Twin, [Node; 2]),
    /// Tests the guard of this number.
    Test(usize),
}

/// No place.
const NOWHERE: u32 = u32::MAX;

struct Lowering<'a> {
    derived: &'a Derived,
    steps: Vec<Option<Step>>,
    /// The time at which each operation is read for the last time; never, or not before the end.
    last: Vec<u32>,
    /// The place of every operation that has one.
    places: Vec<u32>,
    free: Vec<u32>,
    count: u32,
    calls: Vec<Function>,
    known_calls: Map<Func, u32>,
    code: Vec<Instr>,
}

/// What is read at the end.
const END: u32 = u32::MAX;

/// The code of a list.
pub(super) fn lower(mut derived: Derived) -> Code {
    if let Some((list, places)) = demanded(&derived.list, &derived.roots()) {
        derived.list = list;
        let nodes = derived.guards.iter_mut().flat_map(|guard| [&mut guard.x, &mut guard.y]);
        nodes.chain(&mut derived.results).for_each(|node| *node = places[node.index()]);
    }
    let derived = &derived;
    let (list, roots) = (&derived.list, derived.roots());
    let steps = steps(list, &roots);
    let needed = Needed { list, steps: &steps, is_given };
    // As it was written, which reads and writes memory in order; or result by result, if that keeps far fewer values, as it
    // does where each result depends on little. Results that were written together need the same.
    let mut together = roots.clone();
    together.sort_unstable();
    let (natural, by_result) = (needed.natural(), needed.schedule(&together));
    let fewer = 2 * needed.pressure(&by_result, &roots) <= needed.pressure(&natural, &roots);
    let order = if fewer { by_result } else { natural };
    let events = events(derived, &steps, &order);
    let mut lowering = Lowering {
        last: last_reads(derived, &steps, &events),
        derived,
        steps,
        places: vec![NOWHERE; list.len()],
        free: Vec::new(),
        count: derived.inputs as u32,
        calls: Vec::new(),
        known_calls: Map::default(),
        code: Vec::with_capacity(events.len()),
    };
    let constants = lowering.given();
    let results_at = lowering.count;
    lowering.results(results_at);
    for (time, event) in events.iter().enumerate() {
        lowering.event(time as u32, *event);
    }
    lowering.copy_results(results_at);
    let parts = Parts {
        inputs: derived.inputs,
        constants,
        results_at: results_at as usize,
        results: derived.results.len(),
        places: lowering.count as usize,
        calls: lowering.calls,
        code: lowering.code,
    };
    Code::new(parts).expect("every operand stands before its operation, and every place has one value at a time")
}

/// Whether an operation is there before the code begins.
fn is_given(scalar: &Scalar) -> bool {
    matches!(scalar.func, Func::Number(_) | Func::Input(_))
}

/// What happens, in order: a guard is tested as soon as its operands are there.
fn events(derived: &Derived, steps: &[Option<Step>], order: &[Node]) -> Vec<Event> {
    let list = &derived.list;
    let mut at = vec![0; list.len()];
    order.iter().enumerate().for_each(|(k, node)| at[node.index()] = k + 1);
    let ready = |guard: &Guard| at[guard.x.index()].max(at[guard.y.index()]);
    let mut tests: Vec<(usize, usize)> = derived.guards.iter().map(ready).zip(0..).collect();
    tests.sort_unstable();
    let mut tests = tests.into_iter().peekable();
    let mut events = Vec::with_capacity(order.len() + derived.guards.len());
    let mut done = vec![false; list.len()];
    for k in 0..=order.len() {
        while let Some((_, number)) = tests.next_if(|&(ready, _)| ready <= k) {
            events.push(Event::Test(number));
        }
        let Some(&node) = order.get(k).filter(|node| !done[node.index()]) else { continue };
        let other = twin(list, node).filter(|(_, nodes)| nodes.iter().all(|node| steps[node.index()].is_some()));
        events.push(match other {
            Some((twin, nodes)) => {
                nodes.iter().for_each(|node| done[node.index()] = true);
                Event::Twin(twin, nodes)
            }
            None => Event::Compute(node),
        });
    }
    events
}

/// The two functions that are computed together, if the operation is one of them and the other one is there.
fn twin(list: &List, node: Node) -> Option<(Twin, [Node; 2])> {
    let scalar = list.get(node);
    let Func::Unary(op) = scalar.func else { return None };
    Twin::ALL.into_iter().find_map(|twin| {
        let functions = match twin {
            Twin::TanhSech2 => [Unary::Tanh, Unary::Sech2],
            Twin::SinCos => [Unary::Sin, Unary::Cos],
            Twin::GeluTanh => [Unary::GeluTanh, Unary::GeluTanhSlope],
        };
        let own = functions.iter().position(|&function| function == op)?;
        let other = list.find(Func::Unary(functions[1 - own]), scalar.kind, scalar.args[0])?;
        let mut nodes = [node, other];
        nodes.rotate_left(own);
        Some((twin, nodes))
    })
}

/// When every operation is read for the last time.
fn last_reads(derived: &Derived, steps: &[Option<Step>], events: &[Event]) -> Vec<u32> {
    let list = &derived.list;
    let mut last = vec![0; list.len()];
    for (time, event) in events.iter().enumerate() {
        let mut read = |node: Node| last[node.index()] = time as u32;
        match *event {
            Event::Compute(node) => operands(list, steps, node).iter().copied().for_each(read),
            Event::Twin(_, [node, _]) => operands(list, steps, node).iter().copied().for_each(read),
            Event::Test(number) => {
                let guard = &derived.guards[number];
                read(guard.x);
                read(guard.y);
            }
        }
    }
    for node in &derived.results {
        last[node.index()] = END;
    }
    last
}

fn operands<'a>(list: &'a List, steps: &'a [Option<Step>], node: Node) -> &'a [Node] {
    steps[node.index()].as_ref().expect("it is needed").operands(list, node)
}

impl Lowering<'_> {
    fn new_place(&mut self) -> u32 {
        self.count += 1;
        self.count - 1
    }

    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| self.new_place())
    }

    /// Hands out the places of inputs and numbers; gives the numbers.
    fn given(&mut self) -> Vec<f64> {
        let list = &self.derived.list;
        let mut constants = Vec::new();
        for k in 0..list.len() {
            match list.get(Node(k as u32)).func {
                Func::Input(number) => {
                    self.places[k] = number;
                    if self.derived.kept.get(number as usize) == Some(&true) {
                        self.last[k] = END;
                    }
                }
                Func::Number(bits) if self.steps[k].is_some() => {
                    self.places[k] = self.new_place();
                    // A number of the list is a real number, or a condition.
                    let kind = list.get(Node(k as u32)).kind;
                    constants.push(if kind == Kind::F64 { f64::from_bits(bits) } else { bits as f64 });
                    self.last[k] = END;
                }
                _ => {}
            }
        }
        constants
    }

    /// Places of the results. An operation has the place of the first result that it is.
    fn results(&mut self, first: u32) {
        for (k, &node) in self.derived.results.iter().enumerate() {
            let place = self.new_place();
            debug_assert_eq!(place, first + k as u32);
            if !is_given(self.derived.list.get(node)) && self.places[node.index()] == NOWHERE {
                self.places[node.index()] = place;
            }
        }
    }

    /// Copies what is a result twice, or is not computed.
    fn copy_results(&mut self, first: u32) {
        for (k, &node) in self.derived.results.iter().enumerate() {
            let (from, out) = (self.places[node.index()], first + k as u32);
            if from != out {
                self.code.push(Instr { op: Op::Copy, a: from, b: from, c: from, out });
            }
        }
    }

    fn event(&mut self, time: u32, event: Event) {
        let list = &self.derived.list;
        match event {
            Event::Test(number) => {
                let guard = &self.derived.guards[number];
                let (a, b) = (self.places[guard.x.index()], self.places[guard.y.index()]);
                let op = Op::Guard(instruction::compare(guard.compare), guard.expected);
                self.code.push(Instr { op, a, b, c: a, out: a });
                self.release(&[guard.x, guard.y], time);
            }
            Event::Compute(node) => {
                let (op, call) = self.op(node);
                let args: Vec<Node> = operands(list, &self.steps, node).to_vec();
                let place = |k: usize| self.places[args.get(k).unwrap_or(&args[0]).index()];
                let (a, b, c) = (place(0), place(1), call.unwrap_or(place(2)));
                let out = if op.is_in_place() {
                    self.release(&args, time);
                    self.place_of(node)
                } else {
                    let out = self.place_of(node);
                    self.release(&args, time);
                    out
                };
                self.code.push(Instr { op, a, b, c, out });
                self.release_unread(node);
            }
            Event::Twin(twin, nodes) => {
                let x = list.get(nodes[0]).args[0];
                let [first, second] = nodes.map(|node| match list.get(node).func {
                    Func::Unary(op) => op,
                    _ => unreachable!("twins are functions of one operand"),
                });
                let c = self.calls.len() as u32;
                self.calls.extend([self.function(first), self.function(second)]);
                let [out, b] = nodes.map(|node| self.place_of(node));
                self.code.push(Instr { op: Op::Twin(twin), a: self.places[x.index()], b, c, out });
                self.release(&[x], time);
                nodes.iter().for_each(|&node| self.release_unread(node));
            }
        }
    }

    /// The place of an operation that is being computed.
    fn place_of(&mut self, node: Node) -> u32 {
        if self.places[node.index()] == NOWHERE {
            self.places[node.index()] = self.take();
        }
        self.places[node.index()]
    }

    /// Gives back the places of operands that are not read again.
    fn release(&mut self, nodes: &[Node], time: u32) {
        for (k, node) in nodes.iter().enumerate() {
            if self.last[node.index()] == time && !nodes[..k].contains(node) {
                self.free.push(self.places[node.index()]);
            }
        }
    }

    /// Gives back the place of what is never read: one half of a twin that only a result needed twice.
    fn release_unread(&mut self, node: Node) {
        if self.last[node.index()] == 0 {
            self.free.push(self.places[node.index()]);
        }
    }

    /// The instruction of an operation, and the number of the function that it calls.
    fn op(&mut self, node: Node) -> (Op, Option<u32>) {
        let scalar = self.derived.list.get(node);
        if let Some(Step::Pair(pair, _)) = self.steps[node.index()] {
            return (Op::Pair(pair), None);
        }
        let plain = match scalar.func {
            Func::Unary(Unary::Neg) => Op::Neg,
            Func::Unary(Unary::Abs) => Op::Abs,
            Func::Unary(Unary::Sqrt) => Op::Sqrt,
            Func::Unary(Unary::Recip) => Op::Recip,
            Func::Binary(Binary::Add) => Op::Add,
            Func::Binary(Binary::Sub) => Op::Sub,
            Func::Binary(Binary::Mul) if scalar.args[0] == scalar.args[1] => Op::Square,
            Func::Binary(Binary::Mul) => Op::Mul,
            Func::Binary(Binary::Div) => Op::Div,
            Func::Binary(Binary::Max) => Op::Max,
            Func::Binary(Binary::Min) => Op::Min,
            Func::Compare(op) => Op::Compare(instruction::compare(op)),
            Func::Logic(Logic::And) => Op::And,
            Func::Logic(Logic::Or) => Op::Or,
            Func::Logic(Logic::Xor) => Op::Xor,
            Func::Logic(Logic::Not) => Op::Not,
            Func::Select => Op::Select,
            #[cfg(feature = "engine")]
            Func::Fused => Op::Pair(Pair::Fused),
            // A condition is the number already.
            Func::Convert(_) => Op::Copy,
            Func::Unary(op) => return self.called(scalar.func, self.function(op), op.kernel().map(Op::Unary)),
            Func::Binary(op) => {
                let call = match self.derived.of_many {
                    true => instruction::many_of_binary(op),
                    false => instruction::call_of_binary(op),
                };
                return self.called(scalar.func, call, op.kernel().map(Op::Binary));
            }
            Func::Number(_) | Func::Input(_) => unreachable!("they are given"),
        };
        (plain, None)
    }

    /// What computes a function at one point.
    fn function(&self, op: Unary) -> Function {
        match self.derived.of_many {
            true => instruction::many_of_unary(op),
            false => instruction::call_of_unary(op),
        }
    }

    fn called(&mut self, func: Func, call: Function, kernel: Option<Op>) -> (Op, Option<u32>) {
        let calls = &mut self.calls;
        let number = *self.known_calls.entry(func).or_insert_with(|| {
            calls.push(call);
            calls.len() as u32 - 1
        });
        let own = if call.arguments() == 1 { Op::Call1 } else { Op::Call2 };
        (kernel.unwrap_or(own), Some(number))
    }
}
