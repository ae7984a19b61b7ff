//! The planner's costs, measured on this machine beside those in the code, and what the plans of the workloads would be
//! with them.
//!
//! A time is the least of many rounds on one thread. Regions are run as plans run them; the constants are slopes: over the
//! number of instructions, of loads, of stores or of elements, so that what is common to both ends cancels.

use std::fmt::Write;
use std::time::Instant;

use wengert::Array;
use wengert::plan::{Costs, Options, Plan, StepKind};
use wengert::{Compile, Program};
use wengert_kernels::Pool;
use wengert_kernels::arena::Arena;
use wengert_kernels::product::{Accumulate, Operand, Target, products};
use wengert_kernels::region::{
    Binary, Granularity, Instr, Kind, Op, Parts, Pattern, Region, Slice, SliceMut, Slot, Space, Transfer,
};

use crate::workloads;

/// Rounds of a measurement, of which the quickest counts.
const ROUNDS: usize = 40;
/// How long a round takes at least, in seconds.
const ROUND: f64 = 5e-4;
/// Points of a part mapped over lanes.
const POINTS: usize = 4096;

/// Prints the costs and what follows from them.
pub(crate) fn run() -> Result<String, String> {
    let [operation, start] = instructions(48, [64, 256]);
    let [near, _] = instructions(4, [64, 1024]);
    let element = element()?;
    let of_element = element + operation;
    let measured = Costs {
        operation,
        start,
        load: moved(true)?,
        store: moved(false)?,
        element,
        spread: spread()?,
        step: step()?,
        product: product(3, of_element),
    };
    let code = Costs::REFERENCE;
    let mut text = String::from("nanoseconds of one thread          in the code  measured here  ratio\n");
    for (name, of) in FIELDS {
        line(&mut text, name, of(&code), of(&measured));
    }
    line(&mut text, "operation, slots in the first cache", code.operation, near);
    line(&mut text, "product of 3 by 3 and a vector", code.product, product(1, of_element));
    text.push_str("\nplans of the workloads on one thread, as they are and with the times measured here: steps (regions, of them on\n");
    text.push_str(
        "lanes; products; kernels), and the milliseconds of the regions that either set of times predicts\n\n",
    );
    let _ = writeln!(text, "{:8} {:>24}  {:>24}  {:>9} {:>9}", "", "in the code", "measured here", "", "");
    let mut changed = Vec::new();
    for (workload, programs) in workloads::programs() {
        let plans = |costs: &Costs| -> Result<Vec<Plan>, String> {
            let plan =
                |program: &Program| Plan::with_costs(&program.written_out().optimize(), &Options::default(), costs);
            programs.iter().map(plan).collect::<Result<_, _>>().map_err(|error| error.to_string())
        };
        let (before, after) = (plans(&code)?, plans(&measured)?);
        let (was, is) = (shape(&before), shape(&after));
        let _ = writeln!(
            text,
            "{workload:8} {was:>24}  {:>24}  {:9.3} {:9.3}",
            if was == is { "the same" } else { &is },
            predicted(&before, &code),
            predicted(&after, &measured)
        );
        if was != is {
            changed.push(workload);
        }
    }
    let _ = match changed.is_empty() {
        true => writeln!(text, "\nNo plan would be another one."),
        false => writeln!(text, "\nOther plans: {}.", changed.join(", ")),
    };
    Ok(text)
}

type Field = (&'static str, fn(&Costs) -> f64);

const FIELDS: [Field; 8] = [
    ("operation, slots in the second cache", |costs| costs.operation),
    ("start of an instruction", |costs| costs.start),
    ("load from every row", |costs| costs.load),
    ("store to every row", |costs| costs.store),
    ("element to memory and back", |costs| costs.element),
    ("element read once more", |costs| costs.spread),
    ("step", |costs| costs.step),
    ("product of 3 by 3 matrices", |costs| costs.product),
];

fn line(text: &mut String, name: &str, code: f64, measured: f64) {
    let _ = writeln!(text, "{name:36} {code:9.3} {measured:14.3} {:6.2}", measured / code);
}

/// The steps of some plans: regions (lanes among them), products, kernels.
fn shape(plans: &[Plan]) -> String {
    let [mut regions, mut lanes, mut products, mut kernels] = [0; 4];
    for plan in plans {
        let summary = plan.summary();
        regions += summary.regions;
        products += summary.products;
        kernels += summary.kernels;
        lanes += plan.lane_count();
    }
    format!("{} ({regions}, {lanes}; {products}; {kernels})", regions + products + kernels)
}

/// The milliseconds that the regions of some plans take by these costs: operations, 16 bytes moved as an element to memory
/// and back, and a constant for each. (Functions such as `exp` count as one operation.)
fn predicted(plans: &[Plan], costs: &Costs) -> f64 {
    let of_step = |step: &wengert::plan::StepInfo| match step.kind {
        StepKind::Region => {
            costs.step + costs.operation * step.operations as f64 + costs.element * step.bytes() as f64 / 16.0
        }
        _ => 0.0,
    };
    plans.iter().flat_map(|plan| plan.step_infos()).map(|step| of_step(&step)).sum::<f64>() / 1e6
}

// ---- measuring ----------------------------------------------------------------------------------------------------

/// The nanoseconds of a call: the least over rounds of many calls.
fn least(mut call: impl FnMut()) -> f64 {
    let timed = |calls: usize, call: &mut dyn FnMut()| {
        let begun = Instant::now();
        (0..calls).for_each(|_| call());
        begun.elapsed().as_secs_f64()
    };
    let mut calls = 1;
    while timed(calls, &mut call) < ROUND {
        calls *= 2;
    }
    (0..ROUNDS).map(|_| timed(calls, &mut call) / calls as f64 * 1e9).fold(f64::INFINITY, f64::min)
}

/// A region of `rows` rows of one number, in `f64`: what it reads and writes, and its instructions.
struct Walk {
    rows: usize,
    slots: usize,
    loads: Vec<Pattern>,
    stores: Vec<Pattern>,
    code: Vec<Instr>,
}

impl Walk {
    /// The nanoseconds of a run, in which every load reads the one input and every store writes the one output.
    fn time(self) -> Result<f64, String> {
        let transfer = |pattern| Transfer { operand: 0, kind: Kind::F64, level: Granularity::Full, pattern };
        let ends = |patterns: &[Pattern]| patterns.iter().map(Pattern::end).max().unwrap_or(0);
        let (x, mut y) = (vec![1.0; ends(&self.loads)], vec![0.0; ends(&self.stores)]);
        let region = Region::new(Parts {
            space: Space { groups: 1, rows: self.rows, cols: 1 },
            slots: vec![Slot { kind: Kind::F64, level: Granularity::Full }; self.slots],
            directs: Vec::new(),
            constants: Vec::new(),
            repeated: Vec::new(),
            loads: self.loads.into_iter().map(transfer).collect(),
            blocks: Vec::new(),
            takes: Vec::new(),
            stores: self.stores.into_iter().map(transfer).collect(),
            accumulators: Vec::new(),
            code: self.code,
            inputs: 1,
            outputs: 1,
        })
        .map_err(|why| format!("a region to measure is invalid: {why}"))?;
        let pool = Pool::new(1);
        let mut arena = Arena::new(region.scratch(1)).map_err(|error| error.to_string())?;
        Ok(least(|| {
            let (inputs, mut outputs) = ([Slice::F64(&x)], [SliceMut::F64(&mut y)]);
            region.run(&inputs, &mut outputs, arena.as_lines_mut(), &pool).expect("arithmetic does not panic");
        }))
    }
}

fn instruction(op: Op, a: usize, b: usize, out: usize) -> Instr {
    Instr { op, a: a as u16, b: b as u16, c: 0, out: out as u16 }
}

/// The nanoseconds of an addition for one element, and of starting one: from regions of one chunk of few and of many rows.
fn instructions(slots: usize, rows: [usize; 2]) -> [f64; 2] {
    let of = |rows: usize, count: usize| {
        let mut code: Vec<Instr> = (0..slots).map(|slot| instruction(Op::Load(0), 0, 0, slot)).collect();
        code.extend((0..count).map(|k| {
            let out = k % slots;
            instruction(Op::Binary(Binary::Add, Kind::F64), (out + 1) % slots, (out + 2) % slots, out)
        }));
        code.push(instruction(Op::Store(0), 0, 0, 0));
        let pattern = Pattern::contiguous(rows);
        Walk { rows, slots, loads: vec![pattern.clone()], stores: vec![pattern], code }.time()
    };
    let slope = |rows: usize| match (of(rows, 200), of(rows, 1000)) {
        (Ok(few), Ok(many)) => (many - few) / 800.0,
        _ => f64::NAN,
    };
    let [short, long] = rows.map(slope);
    let operation = (long - short) / (rows[1] - rows[0]) as f64;
    [operation, short - operation * rows[0] as f64]
}

/// The nanoseconds of loading, or storing, one element of every row of 32, over [`POINTS`] rows.
fn moved(loads: bool) -> Result<f64, String> {
    const WIDE: usize = 32;
    let column = |k: usize| Pattern::new(k, &[POINTS], &[WIDE as isize]).expect("it is inside");
    let of = |count: usize| {
        let (from, to) = if loads { (count, 1) } else { (1, count) };
        let mut code: Vec<Instr> = (0..from).map(|k| instruction(Op::Load(k as u16), 0, 0, k)).collect();
        code.extend((0..to).map(|k| instruction(Op::Store(k as u16), 0, 0, 0)));
        let columns = |count: usize| (0..count).map(column).collect();
        Walk { rows: POINTS, slots: WIDE, loads: columns(from), stores: columns(to), code }.time()
    };
    Ok((of(WIDE)? - of(1)?) / ((WIDE - 1) * POINTS) as f64)
}

/// Elements of an intermediate value: twelve numbers of each point.
const ELEMENTS: usize = 12 * POINTS;

/// The nanoseconds of two additions on elements that are `read` so in between, with memory between them or without.
fn additions(read: &Pattern, count: usize) -> Result<f64, String> {
    let add = |k: usize| instruction(Op::Binary(Binary::Add, Kind::F64), k, k, k + 1);
    let whole = Pattern::contiguous(ELEMENTS);
    let mut code = vec![instruction(Op::Load(0), 0, 0, 0)];
    code.extend((0..count).map(add));
    code.push(instruction(Op::Store(0), count, 0, 0));
    Walk { rows: ELEMENTS, slots: count + 1, loads: vec![read.clone()], stores: vec![whole], code }.time()
}

/// The nanoseconds of an element that one region writes and the next one reads in another order, beside one region.
fn element() -> Result<f64, String> {
    let whole = Pattern::contiguous(ELEMENTS);
    let turned = Pattern::new(0, &[POINTS, 4, 3], &[12, 1, 4]).expect("it is inside");
    Ok((additions(&whole, 1)? + additions(&turned, 1)? - additions(&whole, 2)?) / ELEMENTS as f64)
}

/// The nanoseconds of reading an element of memory in one more place: four times each, beside once.
fn spread() -> Result<f64, String> {
    let four = Pattern::new(0, &[POINTS, 3, 4], &[3, 1, 0]).expect("it is inside");
    let direct = additions(&Pattern::new(0, &[ELEMENTS], &[0]).expect("it is inside"), 1)?;
    Ok((additions(&four, 1)? - direct) / ELEMENTS as f64)
}

/// The nanoseconds of a step on few elements: running sums, one after the other.
fn step() -> Result<f64, String> {
    let of = |count: usize| {
        let mut text = "program(v0: f64[4]) {\n".to_owned();
        for k in 1..=count {
            let _ = writeln!(text, "v{k}: f64[4] = cumsum[axis=0, reverse=false] v{}", k - 1);
        }
        let _ = write!(text, "return v{count}\n}}");
        let program: Program = text.parse().map_err(|error: wengert::Error| error.to_string())?;
        let compiled = Compile::new().threads(1).program(&program).map_err(|error| error.to_string())?;
        let x = [Array::new(&[4], vec![1e-3; 4])];
        Ok::<f64, String>(least(|| drop(compiled.run(&x).expect("sums do not fail"))))
    };
    Ok((of(257)? - of(1)?) / 256.0)
}

/// The nanoseconds of a product of 3 by 3 matrices and as many columns in a batch, less those of its elements.
fn product(columns: usize, of_element: f64) -> f64 {
    let size = 3 * columns;
    let (a, b) = (vec![1.0; 9 * POINTS], vec![0.5; size * POINTS]);
    let mut c = vec![0.0; size * POINTS];
    let wide = columns as isize;
    let pool = Pool::new(1);
    let time = least(|| {
        products(
            &[POINTS],
            [3, 3, columns],
            Operand::new(&a, [3, 1]).batched(&[9]),
            Operand::new(&b, [wide, 1]).batched(&[size as isize]),
            Target::new(&mut c, [columns, 1]).batched(&[size]),
            Accumulate::Overwrite,
            &pool,
        );
    });
    time / POINTS as f64 - size as f64 * of_element
}
