//! Transforms against the sum that defines them, for every kind of length.

use std::f64::consts::TAU;

use wengert_kernels::arena::Arena;
use wengert_kernels::fourier::{Kind, Number, Plan, Transform, Weights};
use wengert_kernels::{Float, Pool};

const KINDS: [Kind; 5] = [
    Kind::Complex,
    Kind::RealToHalf(Weights::Plain),
    Kind::RealToHalf(Weights::Doubled),
    Kind::HalfToReal(Weights::Plain),
    Kind::HalfToReal(Weights::Doubled),
];

fn noise<T: Number>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        <T as Float>::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Whether an entry of half a spectrum is its own conjugate.
fn is_single(transform: &Transform, k: usize) -> bool {
    k == 0 || 2 * k == transform.n
}

/// Sine and cosine of each multiple of `2 pi / n`, in the direction of the transform.
fn roots(transform: &Transform) -> Vec<(f64, f64)> {
    let angle = |k: usize| TAU * k as f64 / transform.n as f64;
    (0..transform.n).map(|k| if transform.inverse { angle(k).sin_cos() } else { (-angle(k)).sin_cos() }).collect()
}

/// The sum, in double precision, for one entry of one line.
fn entry(transform: &Transform, roots: &[(f64, f64)], x: &[[f64; 2]], k: usize) -> [f64; 2] {
    let mut sum = [0.0; 2];
    for (j, &[re, im]) in x.iter().enumerate() {
        let single = is_single(transform, j);
        let (re, im) = match transform.kind {
            Kind::Complex => (re, im),
            Kind::RealToHalf(_) => (re, 0.0),
            Kind::HalfToReal(_) if single => (re, 0.0),
            Kind::HalfToReal(Weights::Plain) => (re, im),
            // Its conjugate stands for another entry, which has the conjugate factor.
            Kind::HalfToReal(Weights::Doubled) => (2.0 * re, 2.0 * im),
        };
        let (sin, cos) = roots[(j * k) % transform.n];
        sum = [sum[0] + re * cos - im * sin, sum[1] + re * sin + im * cos];
    }
    let twice = transform.kind == Kind::RealToHalf(Weights::Doubled) && !is_single(transform, k);
    sum.map(|x| x * transform.scale * if twice { 2.0 } else { 1.0 })
}

fn check<T: Number>(epsilon: f64) {
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 11, 14, 16, 30, 31, 37, 48, 64, 97, 100, 101, 128, 210, 243, 256, 490, 512, 1000]
    {
        for kind in KINDS {
            for (inverse, scale) in [(false, 1.0), (true, 1.0 / n as f64)] {
                // Longest where the sums are short.
                let shapes = [[1, 1], [3, 1], [17, 1], [2, 5], [1, 37], [3, 16], [0, 3], [40, 2], [1, 150]];
                for [outer, inner] in shapes.into_iter().filter(|[outer, inner]| n * outer * inner <= 10_000) {
                    for cut in [0, 1] {
                        let whole = Transform { n, taken: n, given: n, kind, inverse, scale };
                        let [taken, given] = whole.limits().map(|limit| limit - cut * limit / 3);
                        compare::<T>(Transform { taken, given, ..whole }, [outer, inner], epsilon);
                    }
                }
            }
        }
    }
}

fn compare<T: Number>(transform: Transform, [outer, inner]: [usize; 2], epsilon: f64) {
    let Transform { n, taken, given, kind, .. } = transform;
    let plan = Plan::<T>::new(transform, [outer, inner]);
    let [size, results] = [taken, given].map(|length| outer * length * inner);
    let mut x = [noise::<T>(size, 1), noise::<T>(size, 2)];
    if matches!(kind, Kind::HalfToReal(_)) {
        // What is ignored may be anything.
        for (place, x) in x[1].iter_mut().enumerate() {
            if is_single(&transform, place / inner % taken) {
                *x = <T as Float>::from_f64(f64::NAN);
            }
        }
    }
    let mut y = [vec![<T as Float>::from_f64(f64::NAN); results], vec![T::default(); results]];
    let pool = Pool::new(2);
    let mut arena = Arena::new(plan.workspace(2)).unwrap();
    let [re, im] = &mut y;
    plan.run([&x[0], &x[1]], [re, im], arena.as_lines_mut(), &pool);
    let root = |x: f64| (x * (n as f64).sqrt()).max(x);
    let tolerance = 8.0 * epsilon * ((n as f64).log2() + 1.0) * root(transform.scale) * 2.0;
    let roots = roots(&transform);
    for line in 0..outer * inner {
        let (row, column) = (line / inner, line % inner);
        let entries: Vec<[f64; 2]> =
            (0..taken).map(|j| [0, 1].map(|part| x[part][(row * taken + j) * inner + column].to_f64())).collect();
        for k in 0..given {
            let want = entry(&transform, &roots, &entries, k);
            let place = (row * given + k) * inner + column;
            for part in 0..if matches!(kind, Kind::HalfToReal(_)) { 1 } else { 2 } {
                let got = y[part][place].to_f64();
                let error = (got - want[part]).abs();
                assert!(error <= tolerance, "{transform:?} {outer} {inner}: {got} instead of {want:?}");
            }
        }
    }
    if kind == Kind::Complex && taken == given {
        let [mut re, mut im] = x;
        plan.run_in_place([&mut re, &mut im], arena.as_lines_mut(), &pool);
        assert!(re == y[0] && im == y[1], "in place");
    }
}

#[test]
fn transforms_agree_with_the_sum() {
    check::<f64>(f64::EPSILON);
    check::<f32>(f32::EPSILON.into());
}

/// Lengths with large prime factors, forwards and back.
#[test]
fn a_transform_and_its_inverse_are_the_identity() {
    for n in [1009, 10_007, 2 * 5003, 65_537, 100_000] {
        let whole = Transform { n, taken: n, given: n, kind: Kind::Complex, inverse: false, scale: 1.0 };
        let back = Transform { inverse: true, scale: 1.0 / n as f64, ..whole };
        let pool = Pool::new(1);
        let x = [noise::<f64>(n, 3), noise::<f64>(n, 4)];
        let [mut re, mut im] = x.clone();
        for transform in [whole, back] {
            let plan = Plan::<f64>::new(transform, [1, 1]);
            let mut arena = Arena::new(plan.workspace(1)).unwrap();
            plan.run_in_place([&mut re, &mut im], arena.as_lines_mut(), &pool);
        }
        let tolerance = 16.0 * f64::EPSILON * (n as f64).log2();
        assert!(re.iter().chain(&im).zip(x.iter().flatten()).all(|(y, x)| (y - x).abs() <= tolerance), "{n}");
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    for (n, outer, inner) in [(64, 500, 1), (60, 3, 333), (1009, 40, 1)] {
        let whole = Transform { n, taken: n, given: n, kind: Kind::Complex, inverse: false, scale: 0.5 };
        for kind in KINDS {
            let [taken, given] = Transform { kind, ..whole }.limits();
            let plan = Plan::<f32>::new(Transform { kind, taken, given, ..whole }, [outer, inner]);
            let [size, results] = [taken, given].map(|length| outer * length * inner);
            let x = [noise::<f32>(size, 5), noise::<f32>(size, 6)];
            let run = |threads: usize| {
                let mut y = [vec![0.0; results], vec![0.0; results]];
                let mut arena = Arena::new(plan.workspace(threads)).unwrap();
                let [re, im] = &mut y;
                plan.run([&x[0], &x[1]], [re, im], arena.as_lines_mut(), &Pool::new(threads));
                y
            };
            let one = run(1);
            assert!(run(2) == one && run(7) == one, "{kind:?} {n}");
        }
    }
}

/// Lines have the same bits after one another and beside each other, whatever stands beside them, if they fill vectors.
#[test]
fn lines_have_the_same_bits_wherever_they_lie() {
    const LINES: usize = 37;
    for n in [2, 8, 12, 64, 105, 210, 512] {
        for (kind, inverse) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
            if kind != Kind::Complex && n % 2 == 1 {
                continue;
            }
            let whole = Transform { n, taken: n, given: n, kind, inverse, scale: 0.3 };
            let [taken, given] = whole.limits();
            let transform = Transform { taken, given, ..whole };
            let x = [noise::<f64>(LINES * taken, 7), noise::<f64>(LINES * taken, 8)];
            // Entry by entry of all lines, `inner` of them beside each other.
            let lay = |x: &[f64], length: usize, inner: usize, back: bool| {
                let mut y = vec![0.0; x.len()];
                for (line, k) in (0..LINES).flat_map(|line| (0..length).map(move |k| (line, k))) {
                    let [one, other] = [line * length + k, (line / inner * length + k) * inner + line % inner];
                    if back { y[one] = x[other] } else { y[other] = x[one] }
                }
                y
            };
            let run = |inner: usize| {
                let x = [0, 1].map(|part| lay(&x[part], taken, inner, false));
                let mut y = [vec![0.0; LINES * given], vec![0.0; LINES * given]];
                let plan = Plan::<f64>::new(transform, [LINES / inner, inner]);
                let mut arena = Arena::new(plan.workspace(2)).unwrap();
                let [re, im] = &mut y;
                plan.run([&x[0], &x[1]], [re, im], arena.as_lines_mut(), &Pool::new(2));
                y.map(|part| lay(&part, given, inner, true))
            };
            assert!(run(1) == run(LINES), "{transform:?}");
        }
    }
}

/// Entries that are infinite or not numbers stay in their line.
#[test]
fn lines_do_not_see_each_other() {
    for (outer, inner) in [(20, 1), (2, 10), (1, 20), (10, 2)] {
        for kind in KINDS {
            let whole = Transform { n: 24, taken: 24, given: 24, kind, inverse: false, scale: 1.0 };
            let [taken, given] = whole.limits();
            let plan = Plan::<f64>::new(Transform { taken, given, ..whole }, [outer, inner]);
            let mut arena = Arena::new(plan.workspace(1)).unwrap();
            let mut run = |bad: Option<usize>| {
                let mut x = [noise::<f64>(outer * taken * inner, 9), noise::<f64>(outer * taken * inner, 10)];
                if let Some(line) = bad {
                    x[0][(line / inner * taken + 5) * inner + line % inner] = f64::NAN;
                }
                let mut y = [0, 1].map(|_| vec![0.0; outer * given * inner]);
                let [re, im] = &mut y;
                plan.run([&x[0], &x[1]], [re, im], arena.as_lines_mut(), &Pool::new(1));
                y
            };
            let clean = run(None);
            for bad in [0, 7, 19] {
                let seen = run(Some(bad));
                for line in 0..outer * inner {
                    let at = |k: usize| (line / inner * given + k) * inner + line % inner;
                    let same =
                        (0..given).all(|k| seen[0][at(k)] == clean[0][at(k)] && seen[1][at(k)] == clean[1][at(k)]);
                    assert!(same == (line != bad), "{kind:?} {outer} {inner}: {line} with {bad}");
                }
            }
        }
    }
}
