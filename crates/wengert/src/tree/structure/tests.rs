//! Tests of what is private here.

use super::*;

fn known(note: impl Fn(&mut Structure)) -> Option<u64> {
    let mut structure = Structure::default();
    note(&mut structure);
    structure.known()
}

#[test]
#[expect(clippy::needless_borrow, reason = "the derive writes every reference, so that the field's type chooses")]
fn a_field_is_noted_by_the_first_way_that_its_type_has() {
    #[derive(Clone, Copy)]
    struct Other;
    let (word, number, numbers, other) = ("relu", 0.5f64, vec![0.5f32], Other);
    let by_hash = known(|to| (&&&Field(&word)).note(to));
    assert_eq!(by_hash, known(|to| to.value("relu")));
    assert_ne!(by_hash, known(|to| to.value("tanh")));
    assert_eq!(known(|to| (&&&Field(&number)).note(to)), known(|to| to.value(&0.5f64.to_bits())));
    assert!(known(|to| (&&&Field(&numbers)).note(to)).is_some());
    assert_ne!(known(|to| (&&&Field(&0.0)).note(to)), known(|to| (&&&Field(&-0.0)).note(to)));
    assert_eq!(known(|to| (&&&Field(&other)).note(to)), None);
}
