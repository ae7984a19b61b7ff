//! Tests of what is private here.

use super::*;

#[test]
fn values_stay_where_they_are() {
    for count in [1, 3, 1000] {
        let mut blocks = Blocks::new(count);
        for value in 0..5000i64 {
            blocks.grow().expect("there is memory");
            let (before, last) = blocks.last_two();
            assert!(before.iter().all(|x| *x == value - 1) && before.len() == if value == 0 { 0 } else { count });
            last.fill(value);
        }
        assert!((0..5000i64).all(|value| blocks.read(value as usize) == vec![value; count]));
        assert!(blocks.blocks.len() > 1);
    }
}

#[test]
fn values_without_elements_take_no_memory() {
    let mut blocks = Blocks::<f64>::new(0);
    (0..10).for_each(|_| blocks.grow().expect("there is memory"));
    assert!(blocks.read(5).is_empty() && blocks.last_two().0.is_empty() && blocks.blocks.is_empty());
}

#[test]
fn what_does_not_fit_is_refused() {
    assert!(Blocks::<f64>::new(1 << 50).grow().is_none());
}
