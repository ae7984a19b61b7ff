//! [`Structure`]: what a tree is besides its leaves and its type.

use std::any::type_name;
use std::hash::{Hash, Hasher};

use super::{Paths, Tree, check_size};
use crate::hash::FastHasher;

/// What distinguishes trees of one type besides their leaves: lengths of lists, and values of fields that are not
/// differentiated. A compiled function that was traced for one structure is traced again for another.
///
/// [`Tree`](super::Tree) is implemented for your type by `#[derive(Tree)]`, which notes every field. An implementation
/// by hand notes the lengths of what it holds; one that notes nothing is opaque. Of fields that are not differentiated those are
/// compared whose type is [`Hash`], or real numbers in lists, options, boxes, pairs and triples: derive `Hash` for others, or what
/// was recorded for one value is taken for another. A compiled function with a field that cannot be compared is traced at every
/// call.
///
/// ```
/// use wengert::{Structure, Tensor};
/// let of = |tree: &Vec<Vec<Tensor>>| Structure::of(tree).known();
/// let x = Tensor::from(1.0);
/// assert_eq!(of(&vec![vec![x.clone()], vec![]]), of(&vec![vec![&x + 1.0], vec![]]));
/// assert_ne!(of(&vec![vec![x.clone()], vec![]]), of(&vec![vec![], vec![x]]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Structure {
    hasher: FastHasher,
    /// Of what decides where the leaves are alone: lengths, keys and the like, and no fields without leaves.
    places: FastHasher,
    /// Whether it is not known where the leaves are.
    is_opaque: bool,
    /// Whether a field without leaves cannot be compared.
    hides: bool,
}

impl Structure {
    /// The structure of a tree.
    pub fn of<T: Tree + ?Sized>(tree: &T) -> Self {
        let mut structure = Structure::default();
        tree.structure(&mut structure);
        structure
    }

    /// Notes a length or another number.
    pub fn number(&mut self, number: usize) {
        self.hasher.write_usize(number);
        self.places.write_usize(number);
    }

    /// Notes a value.
    pub fn value(&mut self, value: &(impl Hash + ?Sized)) {
        value.hash(&mut self.hasher);
        value.hash(&mut self.places);
    }

    /// Notes that there is something that cannot be compared: such a tree is equal to none.
    pub fn opaque(&mut self) {
        self.is_opaque = true;
    }

    /// A number of 64 bits that trees of the same structure have, and others have not but by a chance of one in 2^64;
    /// `None` if something in it cannot be compared.
    pub fn known(&self) -> Option<u64> {
        (!self.is_opaque && !self.hides).then(|| self.hasher.finish())
    }

    /// Notes the value of a field without leaves.
    fn fixed(&mut self, value: &(impl Hash + ?Sized)) {
        value.hash(&mut self.hasher);
    }

    /// As [`known`](Structure::known), where a field that cannot be compared is passed over.
    pub(crate) fn compared(&self) -> Option<u64> {
        (!self.is_opaque).then(|| self.hasher.finish())
    }

    /// Whether it is known to be another one. A field that cannot be compared is passed over.
    pub(crate) fn differs(&self, other: &Structure) -> bool {
        self.compared().zip(other.compared()).is_some_and(|(own, other)| own != other)
    }

    /// A number that trees have whose leaves are in the same places; `None` if these are not known.
    pub(crate) fn places(&self) -> Option<u64> {
        (!self.is_opaque).then(|| self.places.finish())
    }

    /// Whether its leaves are known to be in other places.
    fn has_other_places(&self, other: &Structure) -> bool {
        self.places().zip(other.places()).is_some_and(|(own, other)| own != other)
    }
}

/// Whether two trees are of one type but for their leaves, so that their structures may be compared. The names of types are,
/// because a type that borrows has no `TypeId`.
pub(crate) fn is_one_type<A: Tree + ?Sized, B: Tree + ?Sized>() -> bool {
    // Gradients of trees with other leaves differ, and structs of tensors are all lists with their leaves taken out.
    let has_same_leaves = type_name::<A::Leaf>() == type_name::<B::Leaf>();
    is_alike::<A, B>() && (!has_same_leaves || type_name::<A::Grad>() == type_name::<B::Grad>())
}

/// Whether two trees are of one type with their leaves taken out, frozen or not.
pub(crate) fn is_alike<A: Tree + ?Sized, B: Tree + ?Sized>() -> bool {
    type_name::<A::Each<()>>() == type_name::<B::Each<()>>()
}

/// Panics if a direction has not the leaves of the point: as many, and, if it is of the point's type, in the same places. What
/// else it holds does not count.
#[track_caller]
pub(crate) fn check_direction<T: Tree + ?Sized, V: Tree + ?Sized>(driver: &str, what: &str, point: &T, direction: &V) {
    check_size::<T::Leaf>(driver, what, point.size(), direction.size());
    if is_one_type::<T, V>() && Structure::of(point).has_other_places(&Structure::of(direction)) {
        let [wanted, got] = [Paths::of(point), Paths::of(direction)];
        match wanted.iter().zip(got.iter()).find(|(wanted, got)| wanted != got) {
            Some((wanted, got)) => panic!("`{driver}`: the {what} has the leaf `{got}` where `{wanted}` is needed"),
            None => panic!("`{driver}`: the {what} has as many leaves as the point, and another shape"),
        }
    }
}

/// A field of a derived tree that has no leaves.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, T: ?Sized>(pub &'a T);

/// A field whose type is [`Hash`].
pub trait NotedByHash {
    /// Notes its value.
    fn note(&self, structure: &mut Structure);
}

impl<T: Hash + ?Sized> NotedByHash for &&Field<'_, T> {
    fn note(&self, structure: &mut Structure) {
        structure.fixed(self.0);
    }
}

/// A field of real numbers: equal if their bits are.
pub trait NotedByNumber {
    /// Notes its value.
    fn note(&self, structure: &mut Structure);
}

/// Numbers that are noted by their bits.
trait Bits {
    fn bits(&self, structure: &mut Structure);
}

impl Bits for f64 {
    fn bits(&self, structure: &mut Structure) {
        structure.fixed(&self.to_bits());
    }
}

impl Bits for f32 {
    fn bits(&self, structure: &mut Structure) {
        structure.fixed(&self.to_bits());
    }
}

impl<T: Bits> Bits for Option<T> {
    fn bits(&self, structure: &mut Structure) {
        structure.fixed(&self.is_some());
        self.iter().for_each(|number| number.bits(structure));
    }
}

impl<T: Bits> Bits for [T] {
    fn bits(&self, structure: &mut Structure) {
        structure.fixed(&self.len());
        self.iter().for_each(|number| number.bits(structure));
    }
}

impl<T: Bits, const N: usize> Bits for [T; N] {
    fn bits(&self, structure: &mut Structure) {
        self[..].bits(structure);
    }
}

impl<T: Bits> Bits for Vec<T> {
    fn bits(&self, structure: &mut Structure) {
        self[..].bits(structure);
    }
}

impl<T: Bits + ?Sized> Bits for &T {
    fn bits(&self, structure: &mut Structure) {
        (**self).bits(structure);
    }
}

impl<T: Bits + ?Sized> Bits for Box<T> {
    fn bits(&self, structure: &mut Structure) {
        (**self).bits(structure);
    }
}

impl<A: Bits, B: Bits> Bits for (A, B) {
    fn bits(&self, structure: &mut Structure) {
        self.0.bits(structure);
        self.1.bits(structure);
    }
}

impl<A: Bits, B: Bits, C: Bits> Bits for (A, B, C) {
    fn bits(&self, structure: &mut Structure) {
        self.0.bits(structure);
        self.1.bits(structure);
        self.2.bits(structure);
    }
}

impl<T: Bits + ?Sized> NotedByNumber for &Field<'_, T> {
    fn note(&self, structure: &mut Structure) {
        self.0.bits(structure);
    }
}

/// Any other field: it cannot be compared.
pub trait NotedNever {
    /// Notes that.
    fn note(&self, structure: &mut Structure);
}

impl<T: ?Sized> NotedNever for Field<'_, T> {
    fn note(&self, structure: &mut Structure) {
        structure.hides = true;
    }
}

#[cfg(test)]
mod tests;
