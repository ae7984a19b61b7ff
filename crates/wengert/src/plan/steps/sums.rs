//! Products that are added to something: one step instead of two.
//!
//! The cotangent of a matrix that every step of a loop multiplies with is a sum of products, `g + aᵀ b`, and so is that of one
//! which is used twice. By themselves the product is written, read again and added: three arrays move where one has to, which takes
//! as long as a product of a few rows. In one step it is added to `g` where that lies. The bits are the same, because a product is
//! summed from zero and added at the end ([`MatrixProduct::can_add`]); so nothing depends on where this is done.

use super::super::kernel::bytes;
use super::super::{Indices, Map, MatrixProduct, StepWork};
use super::{Draft, Planner};
use crate::ops::Binary;
use crate::primitives::Op;
use crate::program::Value;

impl Planner<'_> {
    /// The steps, of which sums with a product that nobody else reads are one with it, where the sum was.
    pub(super) fn add_products(&mut self, drafts: Vec<Draft>) -> Vec<Draft> {
        let mut products: Map<Value, usize> = Map::default();
        let mut readers = vec![0usize; self.flat.views.len()];
        for (at, draft) in drafts.iter().enumerate() {
            draft.reads.iter().for_each(|value| readers[value.index()] += 1);
            if matches!(&draft.work, StepWork::Product(product) if product.can_add()) {
                products.insert(draft.writes[0], at);
            }
        }
        if products.is_empty() {
            return drafts;
        }
        let mut drafts: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
        for at in 0..drafts.len() {
            let Some(terms) = drafts[at].as_ref().and_then(|draft| self.terms(draft)) else { continue };
            let fits = |value: Value| {
                let from = *products.get(&value).filter(|_| readers[value.index()] == 1)?;
                let is_free = self.results[value.index()].is_none();
                let product = drafts[from].as_ref()?;
                let is_near = drafts[from + 1..at].iter().all(Option::is_none);
                (is_free && self.may_wait(product, value, is_near)).then_some(from)
            };
            let [x, y] = terms;
            let Some((from, other)) = fits(y).map(|from| (from, x)).or_else(|| Some((fits(x)?, y))) else { continue };
            let (product, sum) = (drafts[from].take(), drafts[at].take());
            let (product, sum) = product.zip(sum).expect("both are there");
            drafts[at] = Some(self.joined(product, sum, other));
        }
        // Where they lie: a list of its own would take as much again.
        drafts.retain(Option::is_some);
        drafts.into_iter().map(|draft| draft.expect("the others were dropped")).collect()
    }

    /// The two arrays that a step adds up, if it does nothing else.
    fn terms(&self, draft: &Draft) -> Option<[Value; 2]> {
        let (StepWork::Region(_), &[k], &[out]) = (&draft.work, &draft.eqns[..], &draft.writes[..]) else {
            return None;
        };
        let eqn = &self.flat.program.eqns()[k];
        let (Op::Binary(Binary::Add), &[x, y]) = (&eqn.op, &eqn.args[..]) else { return None };
        let count = self.flat.program.ty(out).size();
        let whole = |arg: Value| {
            let view = &self.flat.views[arg.index()];
            let is_whole = view.is_in_order() && self.flat.program.ty(view.base).size() == count;
            (self.flat.literals[arg.index()].is_none() && is_whole).then_some(view.base)
        };
        let terms = [whole(x)?, whole(y)?];
        (out == eqn.first && terms[0] != terms[1]).then_some(terms)
    }

    /// Whether a product may run later, with the sum: nothing writes over its operands until then, and it does not keep more memory
    /// than its result takes.
    fn may_wait(&self, product: &Draft, result: Value, is_near: bool) -> bool {
        let size = |value: &Value| bytes(self.flat.program.ty(*value));
        let kept: usize = product.reads.iter().map(size).sum();
        let is_given = |value: &Value| self.given.contains(&value.index());
        is_near || (kept <= size(&result) && !product.reads.iter().any(is_given))
    }

    /// The product added to an operand.
    fn joined(&mut self, product: Draft, sum: Draft, other: Value) -> Draft {
        let StepWork::Product(work) = product.work else { unreachable!("a product") };
        let work = self.shared.product(MatrixProduct { adds: true, ..MatrixProduct::clone(&work) });
        let reads = product.reads.into_iter().chain([other]).collect();
        let eqns = product.eqns.into_iter().chain(sum.eqns).collect();
        Draft {
            work: StepWork::Product(work),
            reads,
            writes: sum.writes,
            eqns,
            scratch: product.scratch,
            starts: Indices::new(),
            lengths: Indices::new(),
            ..sum
        }
    }
}
