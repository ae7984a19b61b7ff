//! A case as calls: ours, and the same by hand.

use std::cell::RefCell;
use std::hint::black_box;
use std::rc::Rc;

use wengert::Tensor;
use wengert_gradbench::problems::{ba, files, gmm, hand, lstm};

use super::references::Record;
use crate::hand as by_hand;

/// A system's way to do a case.
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) objective: Call,
    pub(super) derivative: Call,
}

/// Something that is computed again and again.
pub(super) struct Call {
    /// Computes it.
    pub(super) run: Box<dyn Fn()>,
    /// Computes it and gives its numbers, in the order of the references.
    pub(super) flat: Box<dyn Fn() -> Vec<f64>>,
}

/// Our name, and that of the derivatives by hand.
pub(super) const OURS: &str = "wengert";
pub(super) const BY_HAND: &str = "by hand";

/// Ours on this many threads, and the derivatives by hand, which have one.
pub(super) fn systems(record: &Record, threads: usize) -> Result<Vec<System>, String> {
    let read = |error: files::FileError| error.to_string();
    Ok(match (record.kind.as_str(), &record.model) {
        ("gmm", _) => of_gmm(files::read_gmm(&record.data).map_err(read)?, threads),
        ("ba", _) => of_ba(files::read_ba(&record.data).map_err(read)?, threads),
        ("lstm", _) => of_lstm(files::read_lstm(&record.data).map_err(read)?, threads),
        (_, Some(model)) => of_hand(files::read_hand(model, &record.data, record.complicated).map_err(read)?, threads),
        (kind, None) => return Err(format!("{}: a case of kind `{kind}` has no model", record.name)),
    })
}

impl Call {
    fn new<T: 'static>(f: impl Fn() -> T + 'static, flat: impl Fn(T) -> Vec<f64> + 'static) -> Self {
        let f = Rc::new(f);
        let again = f.clone();
        Call { run: Box::new(move || drop(black_box(again()))), flat: Box::new(move || flat(f())) }
    }

    /// What is written to a buffer of this many numbers, with the scratch of all calls.
    fn written<S: 'static>(scratch: &Rc<RefCell<S>>, length: usize, f: impl Fn(&mut S, &mut [f64]) + 'static) -> Self {
        let (scratch, buffer) = (scratch.clone(), Rc::new(RefCell::new(vec![0.0; length])));
        let result = buffer.clone();
        let run = move || f(&mut scratch.borrow_mut(), black_box(&mut buffer.borrow_mut()));
        Call::new(run, move |()| result.borrow().clone())
    }
}

/// A pair of calls of one compiled problem.
fn ours(objective: Call, derivative: Call) -> System {
    System { name: OURS, objective, derivative }
}

fn manual(objective: Call, derivative: Call) -> System {
    System { name: BY_HAND, objective, derivative }
}

fn of_gmm(data: gmm::Data, threads: usize) -> Vec<System> {
    let (compiled, p) = (Rc::new(gmm::Compiled::new(&data, threads)), data.parameters());
    let (again, q) = (compiled.clone(), p.clone());
    let ours = ours(
        Call::new(move || compiled.objective(&p), |value| vec![value]),
        Call::new(move || again.gradient(&q), |g| gmm::in_order(&g)),
    );
    let (data, scratch) = (Rc::new(data), Rc::default());
    let again = data.clone();
    let length = data.alpha.len() + data.mu.len() + data.q.len() + data.l.len();
    let manual = manual(
        Call::written(&scratch, 1, move |scratch, value| value[0] = by_hand::gmm::objective(&data, scratch)),
        Call::written(&scratch, length, move |scratch, gradient| {
            by_hand::gmm::gradient(&again, scratch, gradient);
        }),
    );
    vec![ours, manual]
}

fn of_ba(data: ba::Data, threads: usize) -> Vec<System> {
    let (compiled, p) = (Rc::new(ba::Compiled::new(&data, threads)), data.parameters());
    let (again, q) = (compiled.clone(), p.clone());
    let ours = ours(
        Call::new(move || compiled.objective(&p), |(pairs, of_weights)| [pairs.to_vec(), of_weights.to_vec()].concat()),
        Call::new(move || again.jacobian(&q), |values: Tensor| values.to_vec()),
    );
    let (data, scratch) = (Rc::new(data), Rc::new(RefCell::new(())));
    let (again, p) = (data.clone(), data.p);
    let manual = manual(
        Call::written(&scratch, 3 * p, move |(), errors| by_hand::ba::objective(&data, errors)),
        Call::written(&scratch, 31 * p, move |(), values| by_hand::ba::jacobian(&again, values)),
    );
    vec![ours, manual]
}

fn of_lstm(data: lstm::Data, threads: usize) -> Vec<System> {
    let (compiled, p) = (Rc::new(lstm::Compiled::new(&data, threads)), data.parameters());
    let (again, q) = (compiled.clone(), p.clone());
    let ours = ours(
        Call::new(move || compiled.objective(&p), |value| vec![value]),
        Call::new(move || again.gradient(&q), |g| lstm::in_order(&g)),
    );
    let (data, scratch) = (Rc::new(data), Rc::default());
    let again = data.clone();
    let length = data.main.len() + data.extra.len();
    let manual = manual(
        Call::written(&scratch, 1, move |scratch, value| value[0] = by_hand::lstm::objective(&data, scratch)),
        Call::written(&scratch, length, move |scratch, gradient| {
            by_hand::lstm::gradient(&again, scratch, gradient);
        }),
    );
    vec![ours, manual]
}

fn of_hand(data: hand::Data, threads: usize) -> Vec<System> {
    let (compiled, point) = (Rc::new(hand::Compiled::new(&data, threads)), (data.theta, data.places()));
    let (again, other) = (compiled.clone(), point.clone());
    let ours = ours(
        Call::new(
            move || compiled.objective(&point.0, &point.1).expect("no limit of memory is set"),
            |distances| distances.to_vec(),
        ),
        Call::new(
            move || again.jacobian(&other.0, &other.1).expect("no limit of memory is set"),
            |columns| columns.to_vec(),
        ),
    );
    let (data, scratch) = (Rc::new(data), Rc::default());
    let again = data.clone();
    let rows = 3 * data.points.len();
    let columns = hand::POSE + if data.us.is_some() { 2 } else { 0 };
    let manual = manual(
        Call::written(&scratch, rows, move |scratch, distances| {
            by_hand::tracking::objective(&data, scratch, distances);
        }),
        Call::written(&scratch, rows * columns, move |scratch, columns| {
            by_hand::tracking::jacobian(&again, scratch, columns);
        }),
    );
    vec![ours, manual]
}
