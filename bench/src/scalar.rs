//! The scalar benchmark: six functions, ours and the other systems in turn, in one run.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;
use wengert::{Recorded, TapeSize, Var, record, value_and_grad};

use crate::formulas::{LABEL, Workload};
use crate::hand;
use crate::many;
use crate::numbers::{Replayed, cross_entropy};
use crate::peers::Peers;

/// What is asked for on the command line.
pub(crate) struct Options {
    json: bool,
    peers: bool,
    rounds: usize,
    workloads: Vec<Workload>,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { json: false, peers: true, rounds: 5, workloads: Workload::ALL.to_vec() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--no-peers" => options.peers = false,
                "--rounds" => {
                    let text = value()?;
                    options.rounds = text
                        .parse()
                        .ok()
                        .filter(|&rounds| rounds > 0)
                        .ok_or(format!("--rounds takes a number from 1, not `{text}`"))?;
                }
                "--only" => {
                    options.workloads = value()?
                        .split(',')
                        .map(|letter| Workload::from_letter(letter).ok_or(format!("no workload is called `{letter}`")))
                        .collect::<Result<_, _>>()?;
                }
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(options)
    }
}

/// Points of a batched replay.
const POINTS: usize = 1024;
/// The time of one block.
const BLOCK: Duration = Duration::from_millis(120);

/// Milliseconds of one call: the median over samples of this block.
fn block(mut call: impl FnMut()) -> f64 {
    call();
    let begin = Instant::now();
    call();
    let once = begin.elapsed().max(Duration::from_nanos(1));
    // Short calls are timed several at a time, so that reading the clock does not count.
    let calls = (50_000 / once.as_nanos()).max(1) as u32;
    let mut samples = Vec::new();
    let begin = Instant::now();
    while begin.elapsed() < BLOCK || samples.len() < 3 {
        let begin = Instant::now();
        (0..calls).for_each(|_| call());
        samples.push(begin.elapsed().as_secs_f64() * 1e3 / f64::from(calls));
    }
    median(&mut samples)
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

type Function = Box<dyn Fn(Vec<Var>) -> Var>;

/// Ours on one workload.
struct Ours {
    workload: Workload,
    x: Vec<f64>,
    constants: Vec<f64>,
    recorded: Recorded<Vec<f64>, Var, Function>,
    points: Vec<Vec<f64>>,
    size: TapeSize,
}

impl Ours {
    fn prepare(workload: Workload) -> Result<Self, String> {
        let (x, constants) = (workload.inputs(), workload.constants());
        let data = constants.clone();
        let function: Function = match workload {
            Workload::CrossEntropy => Box::new(|x| cross_entropy(&x, LABEL)),
            _ => Box::new(move |x| {
                let x: Vec<Replayed> = x.into_iter().map(Replayed).collect();
                workload.evaluate(&x, &data).0
            }),
        };
        let recorded = record(x.clone(), function);
        // As many points as fit a budget of memory: the results alone are points times inputs.
        let points = (0..POINTS.min((1 << 24) / x.len()).max(8))
            .map(|k| x.iter().map(|x| x * (1.0 + 1e-4 * (k as f64 / POINTS as f64))).collect())
            .collect();
        let size = wengert::tape_size(&x[..], |x| workload.evaluate(&x, &constants));
        let ours = Ours { workload, x, constants, recorded, points, size };
        ours.check()?;
        Ok(ours)
    }

    fn gradient(&self) -> (f64, Vec<f64>) {
        value_and_grad(&self.x[..], |x| self.workload.evaluate(&x, &self.constants))
    }

    /// Every way to the gradient agrees with the one written by hand.
    fn check(&self) -> Result<(), String> {
        let letter = self.workload.letter();
        let mut wanted = vec![0.0; self.x.len()];
        hand::gradient(self.workload, &self.x, &self.constants, &mut wanted, &mut Vec::new());
        let largest = wanted.iter().fold(0.0f64, |largest, g| largest.max(g.abs()));
        let agrees = |got: &[f64], what: &str| {
            let worst = got
                .iter()
                .zip(&wanted)
                .map(|(got, wanted)| (got - wanted).abs() / wanted.abs().max(1e-3 * largest))
                .fold(0.0, f64::max);
            if worst < 1e-9 { Ok(()) } else { Err(format!("({letter}) {what}: a gradient is off by {worst:e}")) }
        };
        agrees(&self.gradient().1, "record+reverse")?;
        agrees(&self.recorded.grad(&self.x), "replay+reverse")?;
        for lane in self.recorded.grad_many(&[&self.x; 11]) {
            agrees(&lane, "lanes")?;
        }
        Ok(())
    }

    /// Milliseconds of a gradient among the first 50 and the last 50 of 1,000 in a row.
    fn repeated(&self) -> [f64; 2] {
        let mut samples: Vec<f64> = (0..1000)
            .map(|_| {
                let begin = Instant::now();
                black_box(self.gradient());
                begin.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        let last = median(&mut samples[950..].to_vec());
        [median(&mut samples[..50]), last]
    }

    /// One block of every mode, in milliseconds: the gradient of one point.
    fn measure(&self) -> [(&'static str, f64); 3] {
        let single = block(|| {
            black_box(self.gradient());
        });
        let replay = block(|| {
            black_box(self.recorded.grad(black_box(&self.x)));
        });
        let lanes = block(|| {
            self.recorded.for_each_grad(black_box(&self.points), |_, value, gradient| {
                black_box((value, gradient));
            });
        });
        [
            ("record+reverse", single),
            ("replay+reverse", replay),
            ("replay+reverse on lanes", lanes / self.points.len() as f64),
        ]
    }
}

/// The times of one system in one mode over the rounds.
#[derive(Default)]
struct Times {
    gradient: Vec<f64>,
    primal: Vec<f64>,
}

/// Runs the benchmark and prints it.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    // Every mode has one thread: the ratios are those of the work.
    wengert::set_threads(1);
    let mut peers = if options.peers { Some(Peers::start()?) } else { None };
    let mut ratios = Vec::new();
    if !options.json {
        println!(
            "{:2} {:24} {:24} {:>10} {:>11} {:>8} {:>8} {:>8}",
            "", "system", "mode", "primal ms", "gradient ms", "ns/op", "/record", "bytes/op"
        );
    }
    for &workload in &options.workloads {
        let ours = Ours::prepare(workload)?;
        let times = measure(&ours, peers.as_mut(), options.rounds)?;
        let ratio = report(&ours, times, options.json);
        if !options.json {
            let [first, last] = ours.repeated();
            println!("({}) repeated 1,000 times: {first:.4} ms at first, {last:.4} ms at last", workload.letter());
        }
        ratios.extend(ratio);
    }
    if !options.json && !ratios.is_empty() {
        let mean = (ratios.iter().map(|ratio| f64::ln(*ratio)).sum::<f64>() / ratios.len() as f64).exp();
        println!("record+reverse over the best peer's: geometric mean {mean:.3}");
    }
    if !options.json {
        print!("{}", many::table());
    }
    Ok(())
}

/// Ours and the peers in turn, `rounds` times.
fn measure(
    ours: &Ours,
    mut peers: Option<&mut Peers>,
    rounds: usize,
) -> Result<BTreeMap<(String, String), Times>, String> {
    let mut times: BTreeMap<(String, String), Times> = BTreeMap::new();
    let letter = ours.workload.letter().to_string();
    let systems: Vec<String> = peers
        .as_ref()
        .map(|peers| peers.pairs.iter().filter(|(workload, _)| *workload == letter).map(|(_, s)| s.clone()).collect())
        .unwrap_or_default();
    for _ in 0..rounds {
        let primal = block(|| {
            black_box(ours.workload.evaluate(black_box(&ours.x[..]), &ours.constants));
        });
        for (mode, gradient) in ours.measure() {
            let times = times.entry(("wengert".to_owned(), mode.to_owned())).or_default();
            times.gradient.push(gradient);
            times.primal.push(primal);
        }
        if let Some(peers) = peers.as_deref_mut() {
            for system in &systems {
                let line = peers.measure(&letter, system)?;
                let (Some(mode), Some(gradient), Some(primal)) =
                    (line["mode"].as_str(), line["gradient_ms"].as_f64(), line["primal_ms"].as_f64())
                else {
                    continue;
                };
                let times = times.entry((system.clone(), mode.to_owned())).or_default();
                times.gradient.push(gradient);
                times.primal.push(primal);
            }
        }
    }
    Ok(times)
}

/// Prints the medians; gives our record+reverse over the best peer's.
fn report(ours: &Ours, times: BTreeMap<(String, String), Times>, as_json: bool) -> Option<f64> {
    let operations = ours.workload.operations() as f64;
    let mut rows: Vec<(String, String, f64, f64)> = times
        .into_iter()
        .map(|((system, mode), mut times)| (system, mode, median(&mut times.primal), median(&mut times.gradient)))
        .collect();
    rows.sort_by(|x, y| (x.0 != "wengert").cmp(&(y.0 != "wengert")).then(x.3.total_cmp(&y.3)));
    let own = rows.iter().find(|row| row.0 == "wengert" && row.1 == "record+reverse")?.3;
    let best = rows
        .iter()
        .filter(|row| row.0 != "wengert" && row.1 == "record+reverse")
        .map(|row| row.3)
        .min_by(f64::total_cmp);
    for (system, mode, primal, gradient) in rows {
        let bytes = (system == "wengert").then(|| ours.size.bytes as f64 / operations);
        let ns = gradient * 1e6 / operations;
        if as_json {
            let line = json!({
                "suite": "scalar", "workload": ours.workload.letter().to_string(), "system": system,
                "mode": mode, "primal_ms": primal, "gradient_ms": gradient, "ns_per_op": ns,
                "bytes_per_op": bytes,
                "bytes_per_record": bytes.map(|_| ours.size.bytes as f64 / ours.size.records as f64),
            });
            println!("{line}");
        } else {
            let letter = ours.workload.letter();
            let bytes = bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{bytes:.1}"));
            println!(
                "({letter}) {system:23} {mode:24} {primal:10.4} {gradient:11.4} {ns:8.2} {:8.2} {bytes:>8}",
                gradient / own
            );
        }
    }
    best.map(|best| own / best)
}
