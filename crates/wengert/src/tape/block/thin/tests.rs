//! Tests of what is private here.

use super::*;

fn own(count: usize, carry: usize, asked: usize) -> LoopSize {
    LoopSize { count, carry, asked, every: asked, besides: count, sweep: 100 }
}

#[test]
fn the_least_is_accepted_and_a_byte_less_is_not() {
    for loops in [vec![own(10_000, 2, 1)], vec![own(1000, 3, 1), own(70, 50, 4), own(0, 5, 1)], vec![own(5, 0, 1)]] {
        let least = thinned(1000, &loops, 0).expect_err("nothing fits into nothing");
        assert!(thinned(1000, &loops, least).is_ok() && thinned(1000, &loops, least - 1) == Err(least), "{loops:?}");
        let most = peak(1000, &loops, 0);
        let all: Vec<usize> = loops.iter().map(|own| own.asked).collect();
        assert_eq!(thinned(1000, &loops, most), Ok(all), "everything is kept where it fits");
        for limit in (least..most).step_by(((most - least) / 50).max(1)) {
            let every = thinned(1000, &loops, limit).expect("more than the least");
            let bytes = |(own, &every): (&LoopSize, &usize)| own.carries(every).0 + own.besides;
            let again = loops.iter().zip(&every).map(|(own, &every)| own.carries(every).1 + own.sweep).max();
            let sum: usize = loops.iter().zip(&every).map(bytes).sum();
            assert!(1000 + sum + again.unwrap_or(0) <= limit, "{limit}: {every:?}");
        }
    }
}

#[test]
fn the_least_is_about_two_square_roots() {
    let steps = 1_000_000;
    let least = thinned(0, &[LoopSize { besides: 0, sweep: 0, ..own(steps, 1, 1) }], 0).expect_err("it is none");
    assert!((2 * 8 * 1000..2 * 8 * 1002).contains(&least), "{least}");
}

#[test]
fn what_snapshots_come_to_is_known() {
    assert_eq!([asked(100, 1, None), asked(100, 1, Some(100)), asked(100, 1, Some(99))], [1, 1, 2]);
    assert_eq!([asked(100, 3, Some(10)), asked(1, 1, Some(0)), asked(0, 1, Some(1))], [12, 1, 1]);
}
