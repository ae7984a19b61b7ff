//! Derivatives inside of derivatives of numbers: GradBench's particle and saddle, in every order of modes, on one thread. The
//! functions are those of our tool for GradBench.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wengert_gradbench::problems::descent::{Order, particle, saddle};

/// For how long each function is called, at least.
const SPENT: Duration = Duration::from_millis(400);

/// What both have to find.
const PARTICLE: [f64; 1] = [0.207_191_874_648_611_6];
const SADDLE: [f64; 4] = [8.246_324_826_140_356e-6; 4];

/// Prints how long both take in every order of modes, the outer one first: `r` is `grad`, `f` is `jvp`, `d` is duals.
pub(crate) fn run() {
    type Search = fn(Order) -> Result<Vec<f64>, String>;
    let searches: [(&str, Search, &[f64]); 2] = [
        ("particle", |order| particle(order, 0.0).map(|w| vec![w]), &PARTICLE),
        ("saddle", |order| saddle(order, [1.0; 2]).map(|found| found.to_vec()), &SADDLE),
    ];
    println!("{:12}{:>8}{:>12}", "search", "modes", "ms");
    for (name, search, want) in searches {
        for order in Order::ALL {
            let found = search(order).expect("it ends from the start that GradBench states");
            let off = found.iter().zip(want).map(|(x, want)| (x / want - 1.0).abs()).fold(0.0, f64::max);
            assert!(found.len() == want.len() && off < 1e-9, "{name}: {found:?} instead of {want:?}");
            let (mut least, begin) = (Duration::MAX, Instant::now());
            while begin.elapsed() < SPENT {
                let begin = Instant::now();
                black_box(search(black_box(order))).expect("as before");
                least = least.min(begin.elapsed());
            }
            println!("{name:12}{:>8}{:>12.2}", order.name(), least.as_secs_f64() * 1e3);
        }
    }
}
