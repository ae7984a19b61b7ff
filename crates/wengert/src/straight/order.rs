//! In which order operations run, and how many values that keeps alive at a time.

use super::list::{List, Node, Scalar};
use super::pairs::Step;

/// The operations that are needed, with what each of their instructions does, and which of them are there from the start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needed<'a> {
    pub(crate) list: &'a List,
    pub(crate) steps: &'a [Option<Step>],
    pub(crate) is_given: fn(&Scalar) -> bool,
}

impl<'a> Needed<'a> {
    /// The operands that the instruction of an operation reads.
    pub(crate) fn operands(&self, node: Node) -> &'a [Node] {
        self.steps[node.index()].as_ref().unwrap_or(&Step::Plain).operands(self.list, node)
    }

    fn is_given(&self, node: Node) -> bool {
        (self.is_given)(self.list.get(node))
    }

    /// The order in which the operations were written.
    pub(crate) fn natural(&self) -> Vec<Node> {
        let nodes = (0..self.list.len()).map(|k| Node(k as u32));
        nodes.filter(|&node| self.steps[node.index()].is_some() && !self.is_given(node)).collect()
    }

    /// An order that computes what is needed for one root before it goes on to the next; of two operands first the one
    /// that needs more (Sethi and Ullman, 1970).
    pub(crate) fn schedule(&self, roots: &[Node]) -> Vec<Node> {
        let height = self.heights();
        let mut done = vec![false; self.list.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(Node, bool)> = Vec::new();
        for &root in roots {
            stack.push((root, false));
            while let Some((node, ready)) = stack.pop() {
                if done[node.index()] || self.is_given(node) {
                    continue;
                }
                if ready {
                    done[node.index()] = true;
                    order.push(node);
                    continue;
                }
                stack.push((node, true));
                let first = stack.len();
                stack.extend(self.operands(node).iter().map(|&arg| (arg, false)));
                // The last one pushed comes first.
                stack[first..].sort_by_key(|(arg, _)| height[arg.index()]);
            }
        }
        order
    }

    /// How many values each operation needs at a time, if none is shared.
    fn heights(&self) -> Vec<u32> {
        let mut height = vec![0u32; self.list.len()];
        for k in 0..self.list.len() {
            if self.steps[k].is_some() {
                let mut needs = [0; 3];
                let operands = self.operands(Node(k as u32));
                needs.iter_mut().zip(operands).for_each(|(need, arg)| *need = height[arg.index()]);
                let needs = &mut needs[..operands.len()];
                needs.sort_unstable_by(|a, b| b.cmp(a));
                height[k] = needs.iter().enumerate().map(|(n, need)| need + n as u32).max().unwrap_or(1).max(1);
            }
        }
        height
    }

    /// The last time in the order at which each operation is read. A root is read when it is computed.
    pub(crate) fn last(&self, order: &[Node], roots: &[Node]) -> Vec<usize> {
        let mut last = vec![0; self.list.len()];
        let mut at = vec![0; self.list.len()];
        for (k, &node) in order.iter().enumerate() {
            at[node.index()] = k;
            last[node.index()] = k;
            self.operands(node).iter().for_each(|arg| last[arg.index()] = k);
        }
        roots.iter().for_each(|root| last[root.index()] = last[root.index()].max(at[root.index()]));
        last
    }

    /// How many values are alive at the same time.
    pub(crate) fn pressure(&self, order: &[Node], roots: &[Node]) -> usize {
        let last = self.last(order, roots);
        let (mut alive, mut most) = (0usize, 0usize);
        for (k, &node) in order.iter().enumerate() {
            alive += 1;
            most = most.max(alive);
            let operands = self.operands(node);
            for (n, arg) in operands.iter().chain([&node]).enumerate() {
                let repeated = operands[..n.min(operands.len())].contains(arg);
                alive -= usize::from(!repeated && !self.is_given(*arg) && last[arg.index()] == k);
            }
        }
        most
    }
}
