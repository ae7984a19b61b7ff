//! Tests of what is private here.

use super::smooth;

#[test]
fn lengths_are_the_next_with_small_factors() {
    let is_smooth = |n: usize| {
        let mut rest = n;
        for factor in [2, 3, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        rest == 1
    };
    for n in 1..3000 {
        let wanted = (n..).find(|&n| is_smooth(n)).expect("a power of two");
        assert_eq!(smooth(n), wanted, "{n}");
    }
}
