//! Compiled functions: signatures, threads, memory, donation, errors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use wengert::plan::{Options, Plan};
use wengert::prelude::*;
use wengert::{Array, Compile, DType, ErrorKind, Key, compile};

#[derive(Tree, Clone)]
struct Model {
    layers: Vec<Layer>,
    #[tree(static)]
    slope: f64,
    #[tree(static)]
    name: &'static str,
}

#[derive(Tree, Clone)]
struct Layer {
    w: Tensor,
    b: Tensor,
}

fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let count: usize = shape.iter().product();
    let number = |k: usize| ((k * 37 + seed * 101) % 97) as f64 / 97.0 - 0.5;
    Tensor::from_array(Array::new(shape, (0..count).map(number).collect::<Vec<f64>>()))
}

fn model(sizes: &[usize]) -> Model {
    let layer = |k: usize| Layer { w: numbers(&[sizes[k], sizes[k + 1]], k), b: numbers(&[sizes[k + 1]], 10 + k) };
    Model { layers: (0..sizes.len() - 1).map(layer).collect(), slope: 0.25, name: "leaky" }
}

impl Model {
    fn loss(&self, x: &Tensor, y: &Tensor) -> Tensor {
        let h = self.layers.iter().fold(x.clone(), |h, layer| {
            let h = h.matmul(&layer.w) + &layer.b;
            if self.name == "leaky" { h.relu() - self.slope * (-&h).relu() } else { h.tanh() }
        });
        (h - y).square().mean()
    }
}

fn train(model: &Model, x: &Tensor, y: &Tensor) -> (Tensor, Model) {
    let (loss, g) = value_and_grad(model, |model| model.loss(x, y));
    (loss, model - 0.1 * g)
}

/// The numbers of a model.
fn flat(model: &Model) -> Vec<f64> {
    model.layers.iter().flat_map(|layer| [layer.w.to_vec(), layer.b.to_vec()]).flatten().collect()
}

fn assert_close(got: &[f64], wanted: &[f64]) {
    assert_eq!(got.len(), wanted.len());
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * (1.0 + b.abs());
    assert!(got.iter().zip(wanted).all(close), "{got:?}\n{wanted:?}");
}

fn message(panic: Box<dyn std::any::Any + Send>) -> String {
    panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap()
}

// ---- signatures ---------------------------------------------------------------------------------

#[test]
fn a_step_of_training_gives_what_it_gives_without() {
    let (x, y) = (numbers(&[7, 5], 3), numbers(&[7, 2], 4));
    let calls = AtomicUsize::new(0);
    let step = compile(|(m, x, y): (Model, Tensor, Tensor)| {
        calls.fetch_add(1, Ordering::Relaxed);
        train(&m, &x, &y)
    });
    let (mut plain, mut fast) = (model(&[5, 6, 2]), model(&[5, 6, 2]));
    for _ in 0..5 {
        let (wanted, next) = train(&plain, &x, &y);
        let (loss, m) = step.call((&fast, &x, &y));
        assert_close(&[loss.item()], &[wanted.item()]);
        assert_close(&flat(&m), &flat(&next));
        (plain, fast) = (next, m);
    }
    assert_eq!((calls.load(Ordering::Relaxed), step.trace_count()), (1, 1));
    assert_eq!((fast.slope, fast.name), (0.25, "leaky"));
}

#[test]
fn every_signature_is_traced_once() {
    let calls = AtomicUsize::new(0);
    let f = compile(|x: Tensor| {
        calls.fetch_add(1, Ordering::Relaxed);
        x.square().sum()
    });
    for _ in 0..3 {
        assert_eq!(f.call(Tensor::from([1.0, 2.0])).item(), 5.0);
        assert_eq!(f.call(Tensor::from([1.0, 2.0, 3.0])).item(), 14.0);
        assert_eq!(f.call(Tensor::from([1.0, 2.0]).convert(DType::F32)).dtype(), DType::F32);
        assert_eq!(f.call(Tensor::from([[1.0, 2.0]])).item(), 5.0);
    }
    assert_eq!((calls.load(Ordering::Relaxed), f.trace_count()), (4, 4));
}

#[test]
fn structure_and_static_fields_are_part_of_the_signature() {
    // The same leaves in other lists.
    let firsts = compile(|lists: Vec<Vec<Tensor>>| {
        lists.iter().filter_map(|list| list.first().cloned()).collect::<Vec<Tensor>>()
    });
    let [a, b, c] = [1.0, 2.0, 3.0].map(Tensor::from);
    let lists = [vec![a.clone(), b.clone()], vec![c.clone()]].to_vec();
    assert_eq!(firsts.call(&lists)[1].item(), 3.0);
    let lists = [vec![a.clone()], vec![b.clone(), c.clone()]].to_vec();
    assert_eq!(firsts.call(&lists)[1].item(), 2.0);
    // The same leaves beside other static fields.
    let (x, y) = (numbers(&[3, 2], 1), numbers(&[3, 2], 2));
    let loss = compile(|(m, x, y): (Model, Tensor, Tensor)| m.loss(&x, &y));
    let first = model(&[2, 2]);
    for (slope, name) in [(0.25, "leaky"), (0.5, "leaky"), (0.5, "tanh"), (0.25, "leaky")] {
        let other = Model { slope, name, ..first.clone() };
        assert_close(&[loss.call((&other, &x, &y)).item()], &[other.loss(&x, &y).item()]);
    }
    assert_eq!(loss.trace_count(), 3);
}

#[test]
fn what_cannot_be_compared_is_traced_again() {
    #[derive(Clone)]
    struct Opaque(f64);
    #[derive(Tree, Clone)]
    struct Scaled {
        x: Tensor,
        #[tree(static)]
        by: Opaque,
    }
    let f = compile(|s: Scaled| s.by.0 * s.x);
    for by in [2.0, 3.0] {
        assert_eq!(f.call(Scaled { x: Tensor::from(1.5), by: Opaque(by) }).item(), 1.5 * by);
    }
    assert_eq!(f.trace_count(), 0);
}

#[test]
fn signatures_are_bounded() {
    let f = compile(|x: Tensor| x.sum());
    for length in 1..200 {
        assert_eq!(f.call(Tensor::ones(&[length])).item(), length as f64);
    }
    assert_eq!(f.trace_count(), 64);
}

#[test]
fn integers_truth_values_and_passed_through_leaves() {
    let f = compile(|(x, k, keep): (Tensor, Tensor, Tensor)| {
        let chosen = x.take(&k, 0);
        (keep.where_(&chosen, 0.0), chosen.gt(1.0), x, &k + &k, keep)
    });
    let (x, k) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from_array(Array::new(&[2], vec![2i64, 0])));
    let keep = Tensor::from_array(Array::new(&[2], vec![true, false]));
    let (masked, large, same, twice, kept) = f.call((&x, &k, &keep));
    assert_eq!(masked.to_vec(), [3.0, 0.0]);
    assert_eq!((large.dtype(), large.to_vec()), (DType::Bool, vec![1.0, 0.0]));
    assert_eq!((same.to_vec(), twice.to_vec(), kept.to_vec()), (x.to_vec(), vec![4.0, 0.0], vec![1.0, 0.0]));
    let (a, ..) = f.call_donating((&x + 0.0, &k + 0, &keep));
    assert_eq!(a.to_vec(), [3.0, 0.0]);
}

#[test]
fn captures_are_taken_once() {
    let w = numbers(&[3], 1);
    let f = {
        let w = w.clone();
        compile(move |x: Tensor| (&w * x).sum())
    };
    let dot = |x: &Tensor| (&w * x).sum().item();
    for seed in 0..3 {
        let x = numbers(&[3], seed);
        assert_close(&[f.call(&x).item()], &[dot(&x)]);
    }
}

// ---- inside and around drivers ------------------------------------------------------------------

#[test]
fn drivers_nest_inside() {
    let f = compile(|(x, xs): (Tensor, Tensor)| {
        let h = hvp(&x, Tensor::ones(&[3]), |x| (x.square() * x.sin()).sum());
        let third = grad(&x, |x| grad(&x, |x| grad(x, |x| x.powi(4).sum()).sum()).sum());
        let each = vmap(&xs, |row| grad(&x, |x| (x * &row).sum().square()));
        (h, third, each)
    });
    let (x, xs) = (numbers(&[3], 1), numbers(&[2, 3], 2));
    let (h, third, each) = f.call((&x, &xs));
    assert_close(&h.to_vec(), &hvp(&x, Tensor::ones(&[3]), |x| (x.square() * x.sin()).sum()).to_vec());
    assert_close(&third.to_vec(), &(24.0 * &x).to_vec());
    assert_close(&each.to_vec(), &vmap(&xs, |row| grad(&x, |x| (x * &row).sum().square())).to_vec());
}

#[test]
fn a_call_inside_a_recording_is_differentiated() {
    let cube = compile(|x: Tensor| x.powi(3));
    let twice = compile(|x: Tensor| cube.call(cube.call(x)));
    let x = Tensor::from([0.5, 2.0]);
    assert_close(&grad(&x, |x| cube.call(x).sum()).to_vec(), &[0.75, 12.0]);
    assert_close(&grad(&x, |x| grad(x, |x| cube.call(x).sum()).sum()).to_vec(), &[3.0, 12.0]);
    assert_close(&twice.call(&x).to_vec(), &[0.5f64.powi(9), 512.0]);
    assert_close(&vmap(&x, |x| cube.call(x)).to_vec(), &[0.125, 8.0]);
    // One that captures a value of the recording around.
    let g = grad(&x, |x| {
        let scaled = compile(|y: Tensor| y * &x);
        scaled.call(Tensor::from([3.0, 4.0])).sum()
    });
    assert_eq!(g.to_vec(), [3.0, 4.0]);
}

#[test]
fn random_numbers_follow_their_key() {
    let f = compile(|x: Tensor| x + Key::new(7).uniform(&[2]));
    let x = Tensor::zeros(&[2]);
    assert_eq!(f.call(&x).to_vec(), Key::new(7).uniform(&[2]).to_vec());
}

// ---- errors -------------------------------------------------------------------------------------

#[test]
fn reading_a_number_names_the_line() {
    let ones = || Tensor::ones(&[2]);
    let outer = line!() + 1;
    let read = compile(|x: Tensor| Tensor::from(x.sum().item()));
    // In the function of a driver inside it too.
    let inner = line!() + 1;
    let read_inside = compile(|x: Tensor| grad(&x, |x| x.sum() * x.to_vec()[0]));
    let outer_panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read.call(ones())));
    let inner_panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read_inside.call(ones())));
    for (line, panic) in [(outer, outer_panic), (inner, inner_panic)] {
        let text = message(panic.unwrap_err());
        assert!(text.contains("recorded without its point") && text.contains(&format!("compile.rs:{line}:")), "{text}");
    }
}

#[test]
fn a_failing_operation_names_its_line() {
    let line = line!() + 1;
    let f = compile(|(x, k): (Tensor, Tensor)| x.take(&k, 0).sum());
    let index = |k: i64| Tensor::from_array(Array::new(&[1], vec![k]));
    let x = Tensor::from([1.0, 2.0]);
    assert_eq!(f.call((&x, index(1))).item(), 2.0);
    let error = f.try_call((&x, index(5))).unwrap_err();
    assert_eq!((error.kind(), error.line().unwrap().line()), (ErrorKind::Run, line), "{error}");
    // It is not broken by it.
    assert_eq!(f.call((&x, index(0))).item(), 1.0);
}

#[test]
fn the_line_is_that_of_this_call_though_the_plan_is_that_of_another() {
    let x = Tensor::from([1.0, 2.0]);
    let index = |k: i64| Tensor::from_array(Array::new(&[1], vec![k]));
    let line_of = |panic: Result<Tensor, Box<dyn std::any::Any + Send>>| message(panic.unwrap_err());
    let first = line!() + 1;
    let a = |k: i64| std::panic::catch_unwind(|| grad(&x, |x| x.take(&index(k), 0).sum()));
    let second = line!() + 1;
    let b = |k: i64| std::panic::catch_unwind(|| grad(&x, |x| x.take(&index(k), 0).sum()));
    assert!(a(1).is_ok() && b(1).is_ok());
    for (line, text) in [(first, line_of(a(7))), (second, line_of(b(7)))] {
        assert!(text.contains(&format!("compile.rs:{line}:")), "{line}: {text}");
    }
    // Single operations too.
    for _ in 0..2 {
        let line = line!() + 1;
        let error = x.try_take(&index(9), 0).unwrap_err();
        assert_eq!(error.line().unwrap().line(), line);
    }
}

#[test]
fn a_panic_in_the_function_leaves_nothing_behind() {
    let f = compile(|x: Tensor| {
        assert!(x.shape()[0] < 3, "too long");
        x.sum()
    });
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f.call(Tensor::ones(&[3]))));
    assert!(message(panic.unwrap_err()).contains("too long"));
    assert_eq!(f.call(Tensor::ones(&[2])).item(), 2.0);
    assert_eq!(grad(&Tensor::from(3.0), |x| x.square()).item(), 6.0);
}

#[test]
fn memory_is_a_bound() {
    let f = Compile::new().memory(100_000).function(|x: Tensor| x.exp());
    assert!(f.try_call(Tensor::zeros(&[1000])).is_ok());
    let error = f.try_call(Tensor::zeros(&[100_000])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(f.plan(Tensor::zeros(&[1000])).unwrap().peak_bytes() <= 100_000);
}

// ---- threads ------------------------------------------------------------------------------------

fn needs_send_and_sync<T: Send + Sync>(value: T) -> T {
    value
}

#[test]
fn many_threads_call_at_once() {
    let (x, y) = (numbers(&[40, 30], 3), numbers(&[40, 4], 4));
    for threads in [1, 3] {
        let step = Compile::new().threads(threads).function(|(m, x, y): (Model, Tensor, Tensor)| train(&m, &x, &y));
        let step = Arc::new(needs_send_and_sync(step));
        let start = Arc::new(Barrier::new(4));
        let runs: Vec<Vec<f64>> = std::thread::scope(|scope| {
            let run = |seed: usize| {
                let (step, start, x, y) = (step.clone(), start.clone(), &x, &y);
                scope.spawn(move || {
                    start.wait();
                    let mut m = model(&[30, 20 + seed % 2, 4]);
                    for _ in 0..50 {
                        (_, m) = step.call((m, x, y));
                    }
                    flat(&m)
                })
            };
            let running: Vec<_> = (0..4).map(run).collect();
            running.into_iter().map(|run| run.join().unwrap()).collect()
        });
        assert_eq!(runs[0], runs[2], "the same numbers to the bit");
        assert_eq!(runs[1], runs[3]);
        let mut m = model(&[30, 20, 4]);
        for _ in 0..50 {
            m = train(&m, &x, &y).1;
        }
        assert_close(&runs[0], &flat(&m));
        assert_eq!(step.trace_count(), 2);
    }
}

// ---- memory -------------------------------------------------------------------------------------

/// Where the elements of a tensor lie.
fn address(x: &Tensor) -> usize {
    x.to_array().elements::<f64>().unwrap().as_ptr().addr()
}

#[test]
fn what_is_donated_is_overwritten() {
    let step = compile(|(p, g): (Tensor, Tensor)| {
        let norm = (&p * &p).sum();
        (norm, p - 0.5 * g)
    });
    let g = numbers(&[3000], 2);
    let mut p = numbers(&[3000], 1);
    let place = address(&p);
    let mut plain = p.to_vec();
    for _ in 0..4 {
        let wanted: f64 = plain.iter().map(|x| x * x).sum();
        let norm;
        (norm, p) = step.call_donating((p, &g));
        assert!((norm.item() - wanted).abs() < 1e-9 * wanted, "it is read before it is overwritten");
        plain.iter_mut().zip(g.to_vec()).for_each(|(x, g)| *x -= 0.5 * g);
        assert_eq!(p.to_vec(), plain);
        assert_eq!(address(&p), place, "the same memory");
    }
    // Without donation it stays as it is.
    let (_, next) = step.call((&p, &g));
    assert_eq!(p.to_vec(), plain);
    assert_ne!(address(&next), place);
}

#[test]
fn what_others_hold_is_not_overwritten() {
    let step = compile(|(p, q): (Tensor, Tensor)| (&p + 1.0, q.sin() * 2.0));
    let (p, q) = (numbers(&[500], 1), numbers(&[500], 2));
    let (held, alias) = (p.clone(), q.reshape(&[500]));
    let before = (p.to_vec(), q.to_vec());
    let (a, b) = step.call_donating((p, q));
    assert_eq!((held.to_vec(), alias.to_vec()), before);
    assert_eq!(a.to_vec(), before.0.iter().map(|x| x + 1.0).collect::<Vec<f64>>());
    assert_close(&b.to_vec(), &before.1.iter().map(|x| x.sin() * 2.0).collect::<Vec<f64>>());
    // The same tensor twice; what was borrowed; what is captured.
    let x = numbers(&[500], 3);
    let before = x.to_vec();
    let (a, _) = step.call_donating((&x, &x));
    let (b, _) = step.call_donating((x.clone(), x.clone()));
    assert_eq!((a.to_vec(), x.to_vec()), (b.to_vec(), before));
}

#[test]
fn donation_of_what_is_needed_later_or_read_otherwise_gives_the_same_numbers() {
    // The matrix is read by rows for a product after the update, the vector backwards.
    let f = |(m, v, s): (Tensor, Tensor, Tensor)| {
        let next = &m * 2.0 - 1.0;
        let product = next.matmul(&m);
        let turned = &v + v.flip(0);
        (next, product, turned, &s + 1.0, s)
    };
    let step = compile(f);
    let make = || (numbers(&[20, 20], 1), numbers(&[400], 2), numbers(&[400], 3));
    let wanted = f(make());
    let got = step.call_donating(make());
    for (got, wanted) in
        [(&got.0, &wanted.0), (&got.1, &wanted.1), (&got.2, &wanted.2), (&got.3, &wanted.3), (&got.4, &wanted.4)]
    {
        assert_close(&got.to_vec(), &wanted.to_vec());
    }
}

#[test]
fn training_with_donation_gives_the_same_numbers() {
    let (x, y) = (numbers(&[40, 30], 3), numbers(&[40, 4], 4));
    let step = compile(|(m, x, y): (Model, Tensor, Tensor)| train(&m, &x, &y));
    let (mut kept, mut given) = (model(&[30, 20, 4]), model(&[30, 20, 4]));
    let place = address(&given.layers[0].w);
    for _ in 0..5 {
        let (a, b);
        (a, kept) = step.call((&kept, &x, &y));
        (b, given) = step.call_donating((given, &x, &y));
        assert_eq!((a.item(), flat(&kept)), (b.item(), flat(&given)));
    }
    assert_eq!(address(&given.layers[0].w), place);
}

#[test]
fn large_results_are_written_again() {
    let f = compile(|x: Tensor| x * 2.0);
    let x = numbers(&[1 << 18], 1);
    let first = f.call(&x);
    let place = address(&first);
    let held = f.call(&x);
    assert_ne!(address(&held), place);
    drop(first);
    let again = f.call(&(&x + 1.0));
    assert_eq!(address(&again), place);
    assert_eq!(again.to_vec()[..9], (2.0 * (&x + 1.0)).to_vec()[..9]);
    assert_eq!(held.to_vec(), (2.0 * &x).to_vec(), "what is held is not touched");
}

#[test]
fn more_threads_than_a_process_can_have_are_an_error() {
    for threads in [1025, 20_000, usize::MAX] {
        let line = line!() + 1;
        let error = wengert::try_set_threads(threads).unwrap_err();
        assert_eq!(error.line().map(|line| line.line()), Some(line));
        assert!(error.to_string().starts_with(&format!("`set_threads` at {}", file!())), "{error}");
        let compiled = Compile::new().threads(threads).function(|x: Tensor| x.exp());
        let called = compiled.try_call(Tensor::zeros(&[3])).unwrap_err();
        let (program, _) = wengert::to_program(Tensor::zeros(&[3]), |x: Tensor| x.exp());
        let planned = Plan::new(&program, &Options { threads, memory: None }).unwrap_err();
        for error in [error, called, planned] {
            assert!(error.to_string().contains(&threads.to_string()) && error.to_string().contains("1024"), "{error}");
        }
    }
    // As many as may be asked for do start, and compute the same.
    let compiled = Compile::new().threads(1024).function(|x: Tensor| x.sin().sum());
    let x = numbers(&[1 << 18], 2);
    assert_eq!(compiled.call(&x).item(), compile(|x: Tensor| x.sin().sum()).call(&x).item());
}
