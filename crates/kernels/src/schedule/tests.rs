//! Schedules run by the referee, and their counts against formulas, tables and exhaustive search.

use std::sync::Arc;

use super::binomial::{advances, reach, split};
use super::levels::Tables;
use super::mixed::Table;
use super::search::{Machine, least_time};
use super::simulate::Referee;
use super::*;

/// Lengths and numbers of slots up to which every schedule is run.
const STEPS: usize = 200;
const SLOTS: usize = 20;

const NO_DISK: Disk = Disk { slots: Some(0), write: 0, read: 0 };

/// Runs the actions and compares what they take with what is predicted: the same work, and no more places.
fn check(steps: usize, room: usize, predicted: Cost, actions: impl IntoIterator<Item = Action>) -> Cost {
    let mut referee = Referee::new(steps, room);
    let done = referee.run(actions).and_then(|()| referee.finish());
    let done = done.unwrap_or_else(|why| panic!("{steps} steps, predicted {predicted:?}: {why}"));
    let work = |cost: Cost| (cost.advances, cost.writes, cost.reads);
    assert_eq!(work(done), work(predicted), "{steps} steps");
    let places = |cost: Cost| [cost.slots, cost.rows, cost.disk];
    let within = places(done).into_iter().zip(places(predicted)).all(|(done, predicted)| done <= predicted);
    assert!(within, "{steps} steps: {done:?} takes more places than {predicted:?}");
    done
}

fn check_scheme(scheme: Scheme, steps: usize) -> Cost {
    let schedule = Schedule::new(scheme, steps);
    let room = if let Scheme::Mixed { room, .. } = scheme { room } else { 1 };
    check(steps, room, schedule.cost(), schedule.actions())
}

fn check_division<D: walk::Division>(division: D, steps: usize, room: usize) -> Cost {
    check(steps, room, cost(&division), Walk::new(division))
}

/// One scheme of each kind, and more of some.
fn schemes() -> Vec<Scheme> {
    let disk = Disk { slots: None, write: 2000, read: 1000 };
    let small = Disk { slots: Some(2), ..disk };
    vec![
        Scheme::Stored,
        Scheme::Every { every: 7, keep: Keep::Residuals },
        Scheme::Every { every: 7, keep: Keep::Carries },
        Scheme::Recursive,
        Scheme::Binomial { slots: 0 },
        Scheme::Binomial { slots: 5 },
        Scheme::Mixed { slots: 0, room: 1 },
        Scheme::Mixed { slots: 6, room: 2 },
        Scheme::Levels { slots: 0, disk: NO_DISK },
        Scheme::Levels { slots: 3, disk: small },
        Scheme::Levels { slots: 0, disk },
    ]
}

/// The actions as text.
fn listing(actions: impl IntoIterator<Item = Action>) -> String {
    actions.into_iter().map(|action| action.to_string()).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_loop_without_steps_runs_nothing() {
    for scheme in schemes() {
        let schedule = Schedule::new(scheme, 0);
        assert_eq!(listing(schedule.actions()), "", "{scheme:?}");
        assert_eq!(schedule.cost(), Cost::default(), "{scheme:?}");
        assert_eq!(schedule.cost().recomputation(0), 0.0);
    }
    assert_eq!(listing(Online::new(3).finish().actions()), "");
    assert_eq!(Online::cost(3, 0), Cost::default());
}

#[test]
fn the_actions_of_short_loops() {
    let check = |scheme, steps, expected: &str| {
        check_scheme(scheme, steps);
        assert_eq!(listing(Schedule::new(scheme, steps).actions()), expected, "{scheme:?}");
    };
    check(Scheme::Binomial { slots: 0 }, 1, "reverse 0");
    check(Scheme::Stored, 2, "record 0 in r0, record 1 in r1, pull 1 from r1, pull 0 from r0");
    check(
        Scheme::Binomial { slots: 0 },
        3,
        "advance 0..2, reverse 2, restore 0 from initial, advance 0..1, reverse 1, restore 0 from initial, reverse 0",
    );
    check(
        Scheme::Every { every: 2, keep: Keep::Residuals },
        3,
        "advance 0..2, store 2 in m0, record 2 in r0, pull 2 from r0, free m0, restore 0 from initial, \
         record 0 in r0, record 1 in r1, pull 1 from r1, pull 0 from r0",
    );
    check(
        Scheme::Mixed { slots: 1, room: 1 },
        3,
        "advance 0..1, record 1 in m0, reverse 2, pull 1 from m0, restore 0 from initial, reverse 0",
    );
    check(
        Scheme::Levels { slots: 0, disk: Disk { slots: Some(1), write: 0, read: 0 } },
        3,
        "advance 0..1, store 1 in d0, advance 1..2, reverse 2, restore 1 from d0, free d0, reverse 1, \
         restore 0 from initial, reverse 0",
    );
}

#[test]
fn simple_schemes_take_exactly_what_is_predicted() {
    let check = |scheme, steps| {
        let done = check_scheme(scheme, steps);
        assert_eq!(done, Schedule::new(scheme, steps).cost(), "{steps} steps, {scheme:?}");
        done
    };
    for steps in 1..=STEPS {
        assert_eq!(check(Scheme::Stored, steps), Cost { rows: steps, ..Cost::default() });
        let halves = check(Scheme::Recursive, steps);
        let logarithm = (steps as f64).log2();
        assert!(halves.slots < (logarithm.ceil() as usize).max(1), "{steps} steps: {halves:?}");
        assert!(halves.advances as f64 <= steps as f64 * logarithm / 2.0 + 1e-9, "{steps} steps: {halves:?}");
        for every in (1..=SLOTS).chain([STEPS - 1, STEPS, STEPS + 1]) {
            let segments = steps.div_ceil(every);
            let residuals = check(Scheme::Every { every, keep: Keep::Residuals }, steps);
            assert!(residuals.advances < steps as u64 && residuals.slots < segments && residuals.rows <= every);
            let carries = check(Scheme::Every { every, keep: Keep::Carries }, steps);
            assert!(carries.advances < 2 * steps as u64 && carries.slots <= segments + every - 2);
        }
        check(Scheme::Every { every: 0, keep: Keep::Carries }, steps);
    }
}

/// `t(l, s)` by its recursion, for all lengths up to `STEPS`, by `s` from 1.
fn fewest_advances() -> Vec<Vec<u64>> {
    let mut fewest: Vec<Vec<u64>> = vec![(0..=STEPS as u64).map(|l| l * l.saturating_sub(1) / 2).collect()];
    for s in 1..=SLOTS {
        let mut row = vec![0, 0];
        for l in 2..=STEPS {
            row.extend((1..l).map(|k| k as u64 + fewest[s - 1][l - k] + row[k]).min());
        }
        fewest.push(row);
    }
    fewest
}

#[test]
fn binomial_advances_as_often_as_the_formula_says() {
    for (slots, row) in fewest_advances().iter().enumerate() {
        for (steps, &fewest) in row.iter().enumerate() {
            assert_eq!(advances(steps, slots + 1), fewest, "{steps} steps, {slots} slots");
            let done = check_scheme(Scheme::Binomial { slots }, steps);
            assert_eq!(done.advances, fewest, "{steps} steps, {slots} slots");
            assert!(done.slots <= slots);
        }
    }
}

#[test]
fn no_step_is_advanced_more_than_the_repetition() {
    for (slots, steps) in [(0, 9), (1, 60), (2, 84), (2, 85), (5, 200), (20, 200)] {
        let mut times = vec![0; steps];
        for action in Schedule::new(Scheme::Binomial { slots }, steps).actions() {
            if let Action::Advance { from, to } = action {
                times[from..to].iter_mut().for_each(|times| *times += 1);
            }
        }
        let repetition = (0..).find(|&r| reach(slots + 1, r) >= steps as u64);
        assert_eq!(times.into_iter().max(), repetition, "{steps} steps, {slots} slots");
    }
}

#[test]
fn large_numbers_saturate() {
    assert_eq!(reach(3, 4), 35);
    assert_eq!(reach(0, 9), 1);
    assert_eq!(reach(33, 33), 7_219_428_434_016_265_740, "the largest of its kind in 64 bits");
    assert_eq!(reach(34, 34), u64::MAX);
    assert_eq!(reach(usize::MAX, 2), u64::MAX);
    assert_eq!(advances(1 << 40, 1), u64::MAX);
    assert_eq!(advances(1 << 32, 1), (1 << 31) * ((1 << 32) - 1));
    // C(23, 3) = 1771 steps take three advances each, but for those that a snapshot saves: C(23, 2).
    assert_eq!(advances(1771, 20), 3 * 1771 - 253);
    assert_eq!(split(1771, 20), 231);
    let cost = Schedule::new(Scheme::Binomial { slots: usize::MAX - 1 }, 10).cost();
    assert_eq!((cost.advances, cost.slots), (9, 8));
    for (room, advances) in [(3, 0), (usize::MAX, 9)] {
        let cost = Schedule::new(Scheme::Mixed { slots: usize::MAX, room }, 10).cost();
        assert_eq!(cost.advances, advances, "room {room}");
    }
    let disk = Disk { slots: Some(usize::MAX), write: u64::MAX, read: u64::MAX };
    assert_eq!(Schedule::new(Scheme::Levels { slots: usize::MAX - 1, disk }, 10).cost().advances, 9);
    assert_eq!(disk.time(&Cost { reads: 2, ..Cost::default() }), u64::MAX);
}

#[test]
fn mixed_agrees_with_its_table_and_is_never_worse_than_binomial() {
    for room in [1, 2, 3, 7] {
        let table = Arc::new(Table::new(STEPS, SLOTS, room));
        for slots in 0..=SLOTS {
            for steps in 0..=STEPS {
                let done = check_division(Mixed::with(Arc::clone(&table), steps, slots), steps, room);
                let binomial = advances(steps, slots + 1);
                assert!(done.slots <= slots && done.advances <= binomial, "{steps} steps, {slots} slots, room {room}");
                let fits = steps <= slots / room + 1;
                assert_eq!(done.advances == 0, fits, "{steps} steps, {slots} slots, room {room}");
                if room > slots {
                    assert_eq!(done.advances, binomial, "{steps} steps, {slots} slots, room {room}");
                }
            }
        }
    }
}

/// The counts of Maddison 2024 by their recursion, for all lengths up to `STEPS`, by the number of units from 1. They
/// include the run of each step for its residuals, which take one unit, and know no initial carry at hand: `m(n, s) = n`
/// up to `s + 1` steps, `m(n, 1) = n (n + 1) / 2 - 1`.
fn published_counts() -> Vec<Vec<u64>> {
    let one = (0..=STEPS as u64).map(|n| if n <= 2 { n } else { n * (n + 1) / 2 - 1 });
    let mut counts: Vec<Vec<u64>> = vec![one.collect()];
    for s in 2..=SLOTS {
        let fewer = &counts[s - 2];
        let mut row: Vec<u64> = Vec::new();
        for n in 0..=STEPS {
            let restart = |m: usize| m as u64 + row[m] + fewer[n - m];
            let least = || (2..n).map(restart).chain([1 + fewer[n - 1]]).min().expect("residuals can be kept");
            row.push(if n <= s + 1 { n as u64 } else { least() });
        }
        counts.push(row);
    }
    counts
}

#[test]
fn mixed_tables_agree_with_the_published_recursion() {
    let table = Table::new(STEPS, SLOTS, 1);
    for (row, s) in published_counts().iter().zip(1..) {
        for (n, &count) in row.iter().enumerate() {
            assert_eq!(table.advances(n, s) + n as u64, count, "{n} steps, {s} units");
        }
    }
}

/// With the initial carry at hand, the counts of a schedule follow from those of its parts: residuals or a carry of one
/// of the steps are the first that is kept.
#[test]
fn mixed_schedules_advance_as_often_as_the_published_recursion_says() {
    let table = Arc::new(Table::new(STEPS, SLOTS, 1));
    for (row, slots) in published_counts().iter().zip(1..) {
        let mut fewest = vec![0, 0];
        for steps in 2..=STEPS {
            let kept_first = |k: usize| k as u64 + row[steps - k] - (steps - k) as u64 + fewest.get(k).unwrap_or(&0);
            fewest.extend((0..steps).map(kept_first).min());
            let done = check_division(Mixed::with(Arc::clone(&table), steps, slots), steps, 1);
            assert_eq!(done.advances, fewest[steps], "{steps} steps, {slots} slots");
        }
    }
}

#[test]
fn no_actions_reverse_short_loops_with_fewer_advances() {
    for room in 1..=3u32 {
        for slots in 0..=4u32 {
            for steps in 1..=7 {
                let scheme = Scheme::Mixed { slots: slots as usize, room: room as usize };
                let least = least_time(steps, Machine { slots, room: Some(room), disk: NO_DISK });
                assert_eq!(1000 * check_scheme(scheme, steps).advances, least, "{steps} steps, {scheme:?}");
            }
        }
    }
    for slots in 0..=3u32 {
        for steps in 1..=8 {
            let scheme = Scheme::Binomial { slots: slots as usize };
            let least = least_time(steps, Machine { slots, room: None, disk: NO_DISK });
            assert_eq!(1000 * check_scheme(scheme, steps).advances, least, "{steps} steps, {scheme:?}");
        }
    }
}

#[test]
fn no_actions_reverse_short_loops_with_a_disk_in_less_time() {
    for (write, read) in [(0, 0), (1000, 1000), (500, 2000), (3000, 250), (5000, 5000)] {
        for on_disk in [Some(1), Some(2), None] {
            for slots in 0..=2u32 {
                for steps in 1..=6 {
                    let disk = Disk { slots: on_disk, write, read };
                    let least = least_time(steps, Machine { slots, room: None, disk });
                    let done = check_scheme(Scheme::Levels { slots: slots as usize, disk }, steps);
                    assert_eq!(disk.time(&done), least, "{steps} steps, {slots} slots, {disk:?}");
                }
            }
        }
    }
}

#[test]
fn levels_agree_with_their_tables() {
    for (write, read) in [(0, 0), (2000, 1000), (500, 7000), (u64::MAX, 1)] {
        for bound in [Some(0), Some(1), Some(4), None] {
            let disk = Disk { slots: bound, write, read };
            let tables = Arc::new(Tables::new(STEPS, 1, SLOTS, disk));
            // All lengths for two of the disks.
            let stride = if write == 2000 && bound != Some(0) && bound != Some(1) { 1 } else { 13 };
            for slots in 0..=SLOTS {
                for steps in (slots % stride..=STEPS).step_by(stride) {
                    let levels = Levels::with(Arc::clone(&tables), steps, slots, bound.unwrap_or(steps));
                    let promised = levels.time();
                    let done = check_division(levels, steps, 1);
                    let context = format!("{steps} steps, {slots} slots, {disk:?}: {done:?}");
                    assert_eq!(disk.time(&done), promised, "{context}");
                    assert!(done.slots <= slots && bound.is_none_or(|bound| done.disk <= bound), "{context}");
                    let plain = |slots| 1000 * advances(steps, slots + 1);
                    assert!(promised <= plain(slots), "{context}");
                    match (bound, write) {
                        (Some(0), _) | (_, u64::MAX) => assert_eq!(promised, plain(slots), "{context}"),
                        (Some(more), 0) => assert_eq!(promised, plain(slots + more), "{context}"),
                        (None, 0) => assert_eq!(promised, plain(steps), "{context}"),
                        _ => {}
                    }
                }
            }
        }
    }
}

#[test]
fn more_room_takes_no_more_time() {
    let time = |slots, bound, steps| {
        let disk = Disk { slots: bound, write: 3000, read: 1500 };
        disk.time(&check_scheme(Scheme::Levels { slots, disk }, steps))
    };
    for steps in [1, 2, 17, 60] {
        for slots in 0..6 {
            for bound in 0..6 {
                let here = time(slots, Some(bound), steps);
                assert!(time(slots + 1, Some(bound), steps) <= here);
                assert!(time(slots, Some(bound + 1), steps) <= here);
                assert!(time(slots, None, steps) <= here);
            }
        }
    }
}

/// Tables too small for the loop: the schedules are still possible, not worse than without tables, and not better than
/// with large ones.
#[test]
fn loops_longer_than_the_tables() {
    for steps in (1..=STEPS).step_by(9) {
        for slots in 0..=6 {
            let binomial = advances(steps, slots + 1);
            let exact = check_scheme(Scheme::Mixed { slots, room: 2 }, steps).advances;
            let cut = check_division(Mixed::with(Arc::new(Table::new(11, slots, 2)), steps, slots), steps, 2).advances;
            assert!(exact <= cut && cut <= binomial, "{steps} steps, {slots} slots: {exact} {cut} {binomial}");
            for (bound, block) in [(None, 2), (Some(3), 5), (Some(1), 30), (None, 19)] {
                let disk = Disk { slots: bound, write: 2000, read: 3000 };
                let exact = disk.time(&check_scheme(Scheme::Levels { slots, disk }, steps));
                let tables = Arc::new(Tables::new(steps.div_ceil(block), block, slots, disk));
                let levels = Levels::with(tables, steps, slots, bound.unwrap_or(steps));
                let promised = levels.time();
                let done = disk.time(&check_division(levels, steps, 1));
                let context = format!("{steps} steps, {slots} slots, {disk:?}, {block}: {exact} {done} {promised}");
                assert!(exact <= done && done <= promised, "{context}");
                assert!(steps % block != 0 || done == promised, "{context}");
            }
        }
    }
    for (slots, room, steps) in [(9, 3, 9000), (5000, 3, 2000), (70_000, 3, 20_000)] {
        let done = check_scheme(Scheme::Mixed { slots, room }, steps);
        assert!(done.advances < advances(steps, slots + 1), "{done:?}");
    }
}

#[test]
fn long_loops_with_a_disk_take_less_time_than_without() {
    for (slots, bound, steps) in [(4, 8, 9000), (4, 900, 9000), (300, 90, 3000)] {
        let disk = Disk { slots: Some(bound), write: 2000, read: 2000 };
        let done = check_scheme(Scheme::Levels { slots, disk }, steps);
        assert!(done.disk <= bound && done.slots <= slots, "{done:?}");
        let plain = 1000 * advances(steps, slots + 1);
        let context = format!("{steps} steps, {slots} slots, {disk:?}: {done:?}, without disk {plain}");
        assert!(if slots < 300 { disk.time(&done) < plain } else { disk.time(&done) <= plain }, "{context}");
    }
    let times = [Some(8), Some(90), Some(900), Some(8999), None].map(|bound| {
        let disk = Disk { slots: bound, write: 2000, read: 2000 };
        disk.time(&Schedule::new(Scheme::Levels { slots: 4, disk }, 9000).cost())
    });
    assert!(times[..4].is_sorted_by(|less, more| less > more), "{times:?}");
    assert_eq!(times[3], times[4]);
}

#[test]
fn a_slot_on_disk_for_every_block_is_enough() {
    let disk = Disk { slots: None, write: 0, read: 0 };
    for steps in 1..=40 {
        for bound in 0..steps {
            for slots in 0..=1 {
                let done = check_division(Levels::unbounded(steps, slots, disk, Some(bound)), steps, 1);
                assert!(done.disk <= bound, "{steps} steps, {slots} slots, bound {bound}: {done:?}");
            }
        }
    }
}

/// Sections of loops that are longer than the tables cost at most the time of a step more than the best schedule.
#[test]
fn sections_are_almost_optimal() {
    for (write, read) in [(0, 0), (2000, 1000), (500, 3000), (9000, 500), (u64::MAX, 1)] {
        let disk = Disk { slots: None, write, read };
        for slots in 0..=6 {
            let exact = Arc::new(Tables::new(STEPS, 1, slots, disk));
            let short = Arc::new(Tables::new(60, 1, slots, disk));
            for steps in (1..=STEPS).step_by(7).chain(55..70) {
                let exact = Levels::with(Arc::clone(&exact), steps, slots, steps).time();
                let levels = Levels::with(Arc::clone(&short), steps, slots, steps);
                let promised = levels.time();
                let done = disk.time(&check_division(levels, steps, 1));
                let context =
                    format!("{steps} steps, {slots} slots, {disk:?}: {done}, promised {promised}, best {exact}");
                assert!(done == promised && exact <= done && done <= exact + 1000, "{context}");
            }
        }
    }
}

#[test]
fn a_million_steps_are_planned_in_little_memory() {
    let steps = 1_000_000;
    for scheme in schemes().into_iter().filter(|scheme| !matches!(scheme, Scheme::Levels { .. })) {
        let schedule = Schedule::new(scheme, steps);
        assert_eq!(schedule.actions().take(1000).count(), 1000);
        assert!(schedule.cost().recomputation(steps) <= steps as f64 / 2.0);
    }
    let disk = Disk { slots: None, write: 2000, read: 2000 };
    let schedule = Schedule::new(Scheme::Levels { slots: 10, disk }, steps);
    assert_eq!(schedule.actions().take(1000).count(), 1000);
    assert!(schedule.cost().recomputation(steps) < 2.0, "a snapshot on disk every eleven steps");
    let mut walk = Walk::new(Binomial::new(100_000, 30));
    let mut most = 0;
    while walk.next().is_some() {
        most = most.max(walk.waiting());
    }
    assert!(most <= 30 + 4, "{most} items");
    let online = (0..20_000).fold(Online::new(300), |mut online, _| {
        online.step().for_each(drop);
        online
    });
    let mut walk = Walk::new(online.finish());
    let most = std::iter::from_fn(|| walk.next().map(|_| walk.waiting())).max().expect("it has actions");
    assert!(most <= 300 + 8, "{most} parts wait, for which `Online::bytes` has room");
    let mut walk = Walk::new(Every::new(100_000, 300, Keep::Carries));
    assert!(std::iter::from_fn(|| walk.next().map(|_| walk.waiting())).all(|waiting| waiting <= 4));
}

/// Runs a loop that ends after `steps` and reverses it.
fn check_online(slots: usize, steps: usize) {
    let mut online = Online::new(slots);
    let mut referee = Referee::new(steps, 1);
    for step in 0..steps {
        let actions: Vec<Action> = online.step().collect();
        assert_eq!(actions.last(), Some(&Action::Advance { from: step, to: step + 1 }));
        referee.run(actions).unwrap_or_else(|why| panic!("{steps} steps, {slots} slots: {why}"));
    }
    let back: Reversal = online.finish();
    let cost = back.cost();
    let done = referee.run(back.actions()).and_then(|()| referee.finish());
    let done = done.unwrap_or_else(|why| panic!("{steps} steps, {slots} slots: {why}"));
    assert_eq!(done.advances, cost.advances + steps as u64, "{steps} steps, {slots} slots");
    let predicted = Online::cost(slots, steps);
    assert_eq!(done.advances, predicted.advances, "{steps} steps, {slots} slots");
    assert!(done.slots <= predicted.slots && predicted.slots <= slots, "{steps} steps, {slots} slots: {done:?}");
}

#[test]
fn online_loops_are_reversed_in_their_slots() {
    for slots in 0..=64 {
        (0..=24).chain((25 + slots..=2000).step_by(181)).for_each(|steps| check_online(slots, steps));
    }
}

#[test]
fn online_runs_little_more_than_offline() {
    for slots in 0..=64 {
        let mut online = Online::new(slots);
        let mut ratios = Vec::new();
        for steps in 1..=2000 {
            assert!(online.step().count() <= 3);
            let runs = online.clone().finish().cost().advances + 2 * steps as u64;
            let offline = advances(steps, slots + 1) + steps as u64;
            let context = format!("{steps} steps, {slots} slots: {runs}, offline {offline}");
            assert!(runs <= offline + steps as u64 && 2 * runs <= 3 * offline + 1, "{context}");
            assert!(steps < 12 || 3 * runs <= 4 * offline, "{context}");
            ratios.push(runs as f64 / offline as f64);
        }
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        assert!(mean < 1.07, "{slots} slots: {mean}");
    }
}

#[test]
fn no_step_of_an_online_loop_is_advanced_much_more_often_than_another() {
    for slots in 0..=64 {
        let mut online = Online::new(slots);
        for steps in 1..=1000 {
            online.step().for_each(drop);
            if steps % 17 != slots % 17 {
                continue;
            }
            let mut times = vec![1; steps];
            for action in online.clone().finish().actions() {
                if let Action::Advance { from, to } = action {
                    times[from..to].iter_mut().for_each(|times| *times += 1);
                }
            }
            let repetition = (0..).find(|&r| reach(slots + 1, r) >= steps as u64).expect("some number is enough");
            assert!(times.iter().all(|&times| times <= repetition + 1), "{steps} steps, {slots} slots");
        }
    }
}
