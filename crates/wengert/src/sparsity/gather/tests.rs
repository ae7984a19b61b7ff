//! Tests of what is private here.

use super::*;

/// What `visit` tells of some entries, one by one.
fn visited(sources: &Sources, entries: Range<usize>) -> Vec<(usize, u32)> {
    let mut all = Vec::new();
    sources.visit(entries, |entry, source, count| {
        assert!(count > 0);
        all.extend((0..count).map(|step| (entry + step, source + step as u32)));
    });
    all
}

#[test]
fn runs_are_the_sources_one_by_one() {
    let packing = Packing::new(&[512, 300]).unwrap();
    let run = |result: usize, places: Range<usize>| places.map(move |place| packing.pack(result, place));
    let cases: [(Vec<u32>, bool); 6] = [
        (Vec::new(), true),
        (run(0, 0..512).collect(), true),
        // The number behind the last place of a result is the first place of the next.
        (run(0, 0..512).chain(run(1, 0..300)).chain([packing.nothing()]).collect(), true),
        (run(1, 5..205).chain(run(0, 7..8)).chain(run(0, 300..500)).collect(), true),
        (run(0, 0..512).rev().collect(), false),
        ((0..512).map(|k| packing.pack(0, k * 7 % 512)).collect(), false),
    ];
    for (plain, runs) in cases {
        let sources = Sources::new(packing, plain.clone());
        assert_eq!(matches!(sources, Sources::Runs(..)), runs, "{plain:?}");
        assert_eq!(sources.len(), plain.len());
        for begin in (0..=plain.len()).step_by(37) {
            for end in (begin..=plain.len()).step_by(41).chain([plain.len()]) {
                let expected: Vec<(usize, u32)> = (begin..end).map(|entry| (entry, plain[entry])).collect();
                assert_eq!(visited(&sources, begin..end), expected, "{begin}..{end}");
            }
        }
        sources.visit(0..plain.len(), |_, source, count| {
            let (result, place) = packing.unpack(source);
            assert!(place + count <= [512, 300, 1][result], "a run stays in its result");
        });
    }
}

#[test]
fn results_of_one_number_have_runs_of_one() {
    let packing = Packing::new(&[1; 100]).unwrap();
    let sources = Sources::new(packing, (0..100).map(|result| packing.pack(result, 0)).collect());
    assert!(matches!(sources, Sources::Apart(_)));
}
