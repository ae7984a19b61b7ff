//! Tests of what is private here.

use super::*;

#[test]
fn steps_have_the_paths_that_were_given() {
    for most in [1_u64, 2, 3, 4, 5, 16, 17, 64, 256] {
        let mut state = most;
        let mut paths = Vec::new();
        let mut sequence = PathSequence::of(most as usize % 3 * 100);
        for step in 0..1000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            // The highest come late: numbers that are there are given more bits.
            let path = ((state >> 33) % most.min(1 + step / 20)) as u8;
            paths.push(path);
            sequence.push(path);
            assert_eq!((sequence.len(), sequence.at(step as usize)), (paths.len(), usize::from(path)));
        }
        assert!(sequence.range(0..1000).eq(paths.iter().map(|&path| usize::from(path))), "{most} paths");
        assert_eq!((sequence.get(999), sequence.get(1000)), (Some(usize::from(paths[999])), None));
    }
}

#[test]
fn few_paths_take_few_bytes() {
    let bytes = |paths: usize| {
        let mut sequence = PathSequence::of(6400);
        (0..6400).for_each(|step| sequence.push((step % paths) as u8));
        sequence.bytes()
    };
    assert_eq!([1, 2, 3, 4, 5, 16, 17, 64].map(bytes), [0, 800, 1600, 1600, 3200, 3200, 6400, 6400]);
}
