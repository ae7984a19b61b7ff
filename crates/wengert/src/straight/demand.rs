//! Choices that nothing sees: where an operation is read under a condition only, choices by that condition are decided.
//!
//! The derivative of a choice masks every product with a factor that may be infinite in the branch not taken, so that one product
//! after the other goes through a choice by the same condition. Of two such choices in a row the inner one is read only where the
//! outer one takes it: backwards over the list, each operation gets the conditions under which it is read (its *demand*, as in
//! strictness analysis), and an operation is computed as it is needed there. Its value elsewhere is never read. And operations
//! on two choices by one condition are one choice: `(m ? x : 0) + (m ? y : 0) = m ? x + y : 0`.
//!
//! Results keep every bit; one NaN is as good as another.

use super::list::{Func, List, Node};
use crate::ops::{Binary, Logic, Unary};

/// What conditions are made of.
pub(crate) trait Conditions {
    /// A condition by its number.
    type Condition: Copy + PartialEq;

    /// The logical function that a condition is, with its operands.
    fn made_of(&self, condition: Self::Condition) -> Option<(Logic, &[Self::Condition])>;
}

impl Conditions for List {
    type Condition = Node;

    fn made_of(&self, condition: Node) -> Option<(Logic, &[Node])> {
        let scalar = self.get(condition);
        match scalar.func {
            Func::Logic(op) => Some((op, scalar.operands())),
            _ => None,
        }
    }
}

/// Conditions that hold together wherever something is read. With more than a few the others are forgotten, which is the
/// weaker statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand<T> {
    known: [Option<(T, bool)>; 3],
}

impl<T: Copy + PartialEq> Demand<T> {
    /// It is read everywhere.
    pub(crate) const ALWAYS: Demand<T> = Demand { known: [None; 3] };

    fn says(&self, condition: T) -> Option<bool> {
        self.known.iter().flatten().find(|(known, _)| *known == condition).map(|&(_, holds)| holds)
    }

    /// Whether a condition holds here, if that follows: if it is known, or its opposite is.
    pub(crate) fn decides(&self, conditions: &impl Conditions<Condition = T>, condition: T) -> Option<bool> {
        self.says(condition).or_else(|| match conditions.made_of(condition) {
            Some((Logic::Not, args)) => self.says(args[0]).map(|holds| !holds),
            _ => None,
        })
    }

    /// The same where a condition also holds, or does not; and so what it is made of, as far as there is room.
    #[must_use]
    pub(crate) fn and(mut self, conditions: &impl Conditions<Condition = T>, condition: T, holds: bool) -> Self {
        if self.says(condition).is_some() {
            return self;
        }
        // Where there is no room for a condition there is none for its parts: this ends, whatever conditions share.
        let Some(free) = self.known.iter_mut().find(|known| known.is_none()) else { return self };
        *free = Some((condition, holds));
        let (args, holds) = match conditions.made_of(condition) {
            Some((Logic::Not, args)) => (args, !holds),
            Some((Logic::And, args)) if holds => (args, true),
            Some((Logic::Or, args)) if !holds => (args, false),
            _ => return self,
        };
        args.iter().fold(self, |all, &arg| all.and(conditions, arg, holds))
    }

    /// What holds in both of two places.
    #[must_use]
    pub(crate) fn or(mut self, other: &Self) -> Self {
        for known in &mut self.known {
            *known = known.filter(|&(condition, holds)| other.says(condition) == Some(holds));
        }
        self
    }
}

/// The list without choices that its results do not see, and where the operations of the old one are in it; `None` if there are no
/// choices.
pub(crate) fn demanded(list: &List, roots: &[Node]) -> Option<(List, Vec<Node>)> {
    let is_choice = |k: usize| list.get(Node(k as u32)).func == Func::Select;
    if !(0..list.len()).any(is_choice) {
        return None;
    }
    let Demands { demands, uses } = Demands::of(list, roots);
    let mut after = List::default();
    let mut places = vec![Node(0); list.len()];
    for k in 0..list.len() {
        if let Some(demand) = demands[k] {
            places[k] = rewritten(list, Node(k as u32), &demand, &uses, &mut after, &places);
        }
    }
    Some((after, places))
}

/// For every operation: where it is read, if anywhere, and how often.
struct Demands {
    demands: Vec<Option<Demand<Node>>>,
    uses: Vec<u32>,
}

impl Demands {
    fn of(list: &List, roots: &[Node]) -> Demands {
        let mut all = Demands { demands: vec![None; list.len()], uses: vec![0; list.len()] };
        roots.iter().for_each(|&root| all.read(root, Demand::ALWAYS));
        for k in (0..list.len()).rev() {
            let Some(own) = all.demands[k] else { continue };
            let scalar = list.get(Node(k as u32));
            let operands = scalar.operands();
            match scalar.func {
                Func::Select => {
                    let [mask, x, y] = scalar.args;
                    match own.decides(list, mask) {
                        Some(holds) => all.read(if holds { x } else { y }, own),
                        None => {
                            all.read(mask, own);
                            all.read(x, own.and(list, mask, true));
                            all.read(y, own.and(list, mask, false));
                        }
                    }
                }
                func => {
                    let demand = if passes(func) && scalar.from.is_float() { own } else { Demand::ALWAYS };
                    operands.iter().for_each(|&arg| all.read(arg, demand));
                }
            }
        }
        all
    }

    fn read(&mut self, node: Node, demand: Demand<Node>) {
        let known = &mut self.demands[node.index()];
        *known = Some(known.map_or(demand, |known| known.or(&demand)));
        self.uses[node.index()] += 1;
    }
}

/// Whether an operation takes the same time whatever its operands are, subnormal numbers apart. Functions may not: a choice in front
/// of them keeps away what they take long for.
fn passes(func: Func) -> bool {
    match func {
        Func::Unary(op) => unary_passes(op),
        Func::Binary(op) => binary_passes(op),
        #[cfg(feature = "engine")]
        Func::Fused => true,
        Func::Compare(_) => true,
        _ => false,
    }
}

/// As [`passes`], of a function of one operand.
pub(crate) fn unary_passes(op: Unary) -> bool {
    matches!(op, Unary::Neg | Unary::Abs | Unary::Square | Unary::Sqrt | Unary::Recip)
}

/// As [`passes`], of a function of two operands.
pub(crate) fn binary_passes(op: Binary) -> bool {
    matches!(op, Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Max | Binary::Min)
}

/// Adds an operation to a list, as it is needed there.
fn rewritten(list: &List, node: Node, demand: &Demand<Node>, uses: &[u32], after: &mut List, places: &[Node]) -> Node {
    let scalar = list.get(node);
    let [a, b, c] = scalar.args.map(|arg| places[arg.index()]);
    match scalar.func {
        Func::Number(bits) => after.number(bits, scalar.kind),
        Func::Input(number) => after.input(number, scalar.kind),
        Func::Unary(op) => after.unary(op, a),
        Func::Binary(op) => {
            let alone = scalar.operands().iter().all(|&arg| is_read_once(list, arg, uses));
            match alone.then(|| joined(op, a, b, after)).flatten() {
                Some(choice) => choice,
                None => after.binary(op, a, b),
            }
        }
        Func::Compare(op) => after.compare(op, a, b),
        Func::Logic(op) => after.logic(op, &[a, b, c][..usize::from(scalar.count)]),
        Func::Select => match demand.decides(list, scalar.args[0]) {
            Some(true) => b,
            Some(false) => c,
            None => after.select(a, b, c),
        },
        #[cfg(feature = "engine")]
        Func::Fused => after.fused(a, b, c),
        Func::Convert(to) => after.convert(to, a),
    }
}

/// Whether an operation is read once, and what it changes the sign of too.
fn is_read_once(list: &List, node: Node, uses: &[u32]) -> bool {
    let scalar = list.get(node);
    let inner = scalar.func == Func::Unary(Unary::Neg);
    uses[node.index()] == 1 && (!inner || uses[scalar.args[0].index()] == 1)
}

/// An operation on two choices by the same condition as one choice: two operations and a choice instead of an operation and two
/// choices, and a side of two numbers is computed here.
fn joined(op: Binary, x: Node, y: Node, list: &mut List) -> Option<Node> {
    if x == y || !matches!(op, Binary::Add | Binary::Sub | Binary::Mul) {
        return None;
    }
    // The condition of a choice, its two sides, and whether their sign changes.
    let choice = |node: Node| {
        let inner = list.negated(node);
        let scalar = list.get(inner.unwrap_or(node));
        let [mask, holds, fails] = scalar.args;
        (scalar.func == Func::Select && scalar.kind.is_float()).then_some((mask, [holds, fails], inner.is_some()))
    };
    let ((mask, left, minus_left), (other, right, minus_right)) = (choice(x)?, choice(y)?);
    if mask != other {
        return None;
    }
    let signed = |list: &mut List, node: Node, minus: bool| if minus { list.unary(Unary::Neg, node) } else { node };
    let [holds, fails] = [0, 1].map(|side| {
        let (x, y) = (signed(list, left[side], minus_left), signed(list, right[side], minus_right));
        list.binary(op, x, y)
    });
    Some(list.select(mask, holds, fails))
}

#[cfg(test)]
mod tests;
