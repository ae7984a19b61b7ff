//! Blocks written out, record by record: for what knows no loops (Taylor series, Programs). It takes the memory of all steps.

use super::runner::ByCode;
use super::{Block, PlainRows};
use crate::tape::record::{Op, Record};
use crate::tape::sweep;
use crate::tape::trace::{Output, Trace};

/// A list that grows.
#[derive(Default)]
struct Flat {
    records: Vec<Record>,
    values: Vec<f64>,
    constants: Vec<f64>,
}

impl Trace {
    /// The same recording without loops.
    pub(crate) fn unrolled(&self) -> Trace {
        let (count, inputs) = (self.records.len(), self.inputs);
        // Captures stand behind the records, and how many there will be is known at the end.
        let mut flat = Flat {
            records: self.records[..inputs].to_vec(),
            values: self.values[..inputs].to_vec(),
            constants: Vec::new(),
        };
        let captures: Vec<usize> = (0..self.captures.len()).map(|k| CAPTURE + k).collect();
        let mut places: Vec<usize> = (0..inputs).collect();
        let value = |place: usize, flat: &Flat| match place.checked_sub(CAPTURE) {
            Some(capture) => self.values[count + capture],
            None => flat.values[place],
        };
        flat.append(self, &mut places, &captures, &value);
        let more = flat.records.len();
        let place = |index: usize| index.checked_sub(CAPTURE).map_or(index, |capture| more + capture);
        let outputs = self.outputs.iter().map(|output| match output {
            Output::Node(node) if *node < count => Output::Node(place(places[*node])),
            Output::Node(node) => Output::Node(more + node - count),
            other => *other,
        });
        let mut values = flat.values;
        values.extend_from_slice(&self.values[count..]);
        Trace {
            records: flat.records.iter().map(|record| record.map_operands(place)).collect(),
            constants: flat.constants,
            values,
            captures: self.captures.clone(),
            inputs,
            outputs: outputs.collect(),
            lines: Vec::new(),
            selects: self.selects,
            blocks: Vec::new(),
        }
    }
}

impl Block {
    /// The loop written out at its recorded point: from the sources that have a place, in order, to its results.
    #[cfg(feature = "arrays")]
    pub(crate) fn unrolled(&self) -> Trace {
        let mut flat = Flat::default();
        let mut inputs = 0;
        for source in self.sources.iter().filter(|source| source.place().is_some()) {
            flat.records.push(Record::new(Op::Input.encode().0, 0, 0));
            flat.values.push(source.value);
            inputs += 1;
        }
        let mut input = 0..inputs;
        let sources: Vec<usize> = self
            .sources
            .iter()
            .map(|source| match source.place() {
                Some(_) => input.next().expect("one for each"),
                None => flat.constant(source.value),
            })
            .collect();
        let results = flat.append_block(self, &sources, &|place, flat| flat.values[place]);
        Trace {
            records: flat.records,
            constants: flat.constants,
            values: flat.values,
            captures: Vec::new(),
            inputs,
            outputs: results.into_iter().map(Output::Node).collect(),
            lines: Vec::new(),
            selects: false,
            blocks: Vec::new(),
        }
    }
}

/// Places from here on are captures, until the number of records is known.
const CAPTURE: usize = 1 << 27;

impl Flat {
    /// Appends the records of a list behind its inputs; `places` are those of its records, of the inputs at first.
    fn append(
        &mut self,
        trace: &Trace,
        places: &mut Vec<usize>,
        captures: &[usize],
        value: &dyn Fn(usize, &Flat) -> f64,
    ) {
        let count = trace.records.len();
        for i in trace.inputs..count {
            let record = trace.records[i];
            let of = |index: usize| if index < count { places[index] } else { captures[index - count] };
            let place = match record.op() {
                Op::Loop => {
                    let block = &trace.blocks[record.b()];
                    let sources: Vec<usize> = block
                        .sources
                        .iter()
                        .map(|source| source.place().map_or_else(|| self.constant(source.value), of))
                        .collect();
                    places.push(self.records.len());
                    places.extend(self.append_block(block, &sources, value));
                    continue;
                }
                Op::Result => continue,
                // A step on other numbers takes the same path, so its guards say nothing.
                Op::LoopEnd | Op::Guard(..) => self.constant(trace.values[i]),
                Op::Constant => self.constant(trace.constants[record.b()]),
                op => {
                    let moved = record.map_operands(of);
                    let moved = if op.has_constant() {
                        self.constants.push(trace.constants[record.b()]);
                        moved.with_b(self.constants.len() - 1)
                    } else {
                        moved
                    };
                    self.push(moved, op, trace.values[i], value)
                }
            };
            places.push(place);
        }
    }

    /// Appends the steps of a block; gives the places of its results.
    fn append_block(&mut self, block: &Block, sources: &[usize], value: &dyn Fn(usize, &Flat) -> f64) -> Vec<usize> {
        let body = &block.body;
        let numbers: Vec<f64> = sources.iter().map(|&place| value(place, self)).collect();
        let sequence = block.course::<_, ByCode>(&numbers, false).expect("the point is the same").sequence;
        let captures = &sources[block.captures_at()..block.rows_at()];
        let mut carry = sources[..body.carry].to_vec();
        let mut gives = Vec::new();
        for (t, number) in sequence.range(0..body.count).enumerate() {
            let path = &body.paths[number];
            let mut places = carry.clone();
            match &body.rows {
                PlainRows::Elsewhere => places.extend(&sources[block.rows_at() + t * body.row..][..body.row]),
                PlainRows::Counted(from) => places.push(self.constant((from + t as i64) as f64)),
                PlainRows::Numbers(numbers) => {
                    let own = &numbers[t * body.row..(t + 1) * body.row];
                    places.extend(own.iter().map(|&number| self.constant(number)));
                }
            }
            places.extend(path.captures.iter().map(|&capture| captures[capture as usize]));
            self.append(&path.trace, &mut places, &[], value);
            let outputs: Vec<usize> = path
                .trace
                .outputs
                .iter()
                .map(|output| match *output {
                    Output::Node(node) => places[node],
                    Output::Constant(number) => self.constant(number),
                    Output::Capture(_) => unreachable!("captures are renumbered when the trace is made"),
                })
                .collect();
            carry = outputs[..body.carry].to_vec();
            gives.extend_from_slice(&outputs[body.carry..]);
        }
        carry.extend(gives);
        carry
    }

    /// A number of its own.
    fn constant(&mut self, number: f64) -> usize {
        self.constants.push(number);
        self.records.push(Record::new(Op::Constant.encode().0, 0, self.constants.len() as u64 - 1));
        self.values.push(number);
        self.records.len() - 1
    }

    fn push(&mut self, record: Record, op: Op, recorded: f64, value: &dyn Fn(usize, &Flat) -> f64) -> usize {
        let (uses_a, uses_b) = op.operands();
        // The operation on its two operands alone.
        let mut operands = [0.0; 2];
        let mut short = record;
        if uses_a {
            operands[0] = value(record.a(), self);
        }
        if uses_b {
            operands[1] = value(record.b(), self);
        }
        let mut place = 0;
        short = short.map_operands(|_| {
            place += 1;
            place - 1
        });
        let result = match op {
            // Selections are those of a function that was recorded inside, and no output depends on them.
            Op::Select => recorded,
            _ => sweep::evaluate(short, short, &self.constants, &operands, 0.0).expect("it is no guard"),
        };
        self.records.push(record);
        self.values.push(result);
        self.records.len() - 1
    }
}
