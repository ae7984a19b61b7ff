//! Sparse derivatives of functions of tensors: recorded, compressed, planned once, and then only run.

use std::sync::Arc;

use super::gather::{Coloured, Gathering};
use super::{Colouring, Pattern};
use crate::array::{Array, DType, Data, Type};
use crate::error::{Error, ErrorKind, Line};
use crate::execute::{Prepared, Settings};
use crate::program::{Program, with_outputs};
use crate::tensor::Tensor;
use crate::tensor::graph::Closed;
use crate::transform::{self, Colours, CompressedProgram, Side, Wanted};

/// A function of tensors whose matrix is wanted: the Program of what is differentiated, and what it captured.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) program: Program,
    /// If that is the gradient of a function, the function.
    objective: Option<Program>,
    /// How many inputs are differentiated by; behind them come weights, then what was captured.
    pub(super) active: usize,
    /// How many are given at each point: those that are differentiated by, and weights.
    pub(super) given: usize,
    /// What was captured, where it is numbers.
    captures: Vec<Option<Array>>,
    pub(super) line: Line,
}

impl Source {
    /// Of a closed recording whose first leaves are differentiated by.
    ///
    /// # Errors
    /// If it captured a variable of a driver under way.
    pub(super) fn new(name: &str, closed: &Closed, active: usize, line: Line) -> Result<Self, Error> {
        if let Some(capture) = closed.captures.iter().find(|capture| capture.known().is_none()) {
            let why = "the function captured a Tensor of a recording under way, and a prepared object is only numbers: \
                       inside another driver call `sparse_jacobian` or `sparse_hessian` themselves";
            return Err(Error::new(ErrorKind::Unavailable, name, why).of([capture.ty()]).at(Some(line)));
        }
        Ok(Source::recorded(closed, active, line))
    }

    /// The same, of which values of a recording under way may be captured.
    pub(super) fn recorded(closed: &Closed, active: usize, line: Line) -> Self {
        let captures = closed.captures.iter().map(|capture| capture.known().cloned()).collect();
        Source { program: (*closed.program).clone(), objective: None, active, given: closed.leaves, captures, line }
    }

    /// Of a Program whose first inputs are differentiated by; the others are these.
    pub(super) fn of_program(program: &Program, captures: &[Array], line: Line) -> Self {
        let active = program.input_types().len() - captures.len();
        let captures = captures.iter().cloned().map(Some).collect();
        Source { program: program.clone(), objective: None, active, given: active, captures, line }
    }

    /// The numbers that were captured.
    pub(super) fn captured(&self) -> impl Iterator<Item = &Array> {
        self.captures.iter().flatten()
    }

    /// Rows and columns of the Jacobian.
    pub(super) fn shape(&self) -> (usize, usize) {
        let size = |types: &[Type]| types.iter().map(Type::size).sum::<usize>();
        (size(&self.program.output_types()), size(&self.program.input_types()[..self.active]))
    }

    /// The function, if what is differentiated is its gradient.
    pub(super) fn objective(&self) -> Option<&Program> {
        self.objective.as_ref()
    }

    /// The same, wanted at another line of the user's.
    pub(super) fn at_line(self, line: Line) -> Self {
        Source { line, ..self }
    }

    /// Which inputs are differentiated by.
    pub(super) fn marks(&self) -> Vec<bool> {
        (0..self.given + self.captures.len()).map(|k| k < self.active).collect()
    }

    /// The numbers of those inputs that are the same at every point.
    pub(super) fn constants(&self) -> Vec<Option<Array>> {
        std::iter::repeat_n(None, self.given).chain(self.captures.iter().cloned()).collect()
    }

    /// The pattern of the matrix, valid at every point: what was captured is the same at all.
    pub(super) fn pattern(&self) -> Result<Pattern, Error> {
        let constants = self.constants();
        let pattern = match &self.objective {
            Some(objective) => transform::pattern::hessian_pattern(objective, self.active, &constants),
            None => transform::pattern::patterns(&self.program, &self.marks(), &constants)
                .and_then(|patterns| patterns.to_patterns(&self.program))
                .map(|blocks| Pattern::stacked(&blocks, self.shape().1)),
        };
        pattern.map_err(|error| error.at(Some(self.line)))
    }

    /// Takes the gradient in the place of the function, whose Hessian is wanted.
    ///
    /// # Errors
    /// If an operation has no derivative.
    pub(super) fn differentiated(self) -> Result<Self, Error> {
        let gradient = transform::gradient_of(&self.program, self.active);
        let program = gradient.map_err(|error| error.at(Some(self.line)))?;
        Ok(Source { program, objective: Some(self.program), ..self })
    }

    pub(super) fn error(&self, name: &str, why: impl Into<String>) -> Error {
        Error::new(ErrorKind::Misfit, name, why).at(Some(self.line))
    }

    /// The Program that computes what is wanted; `None` if it needs colours and there are none.
    pub(super) fn compressed(&self, wanted: Wanted<'_>) -> Result<Option<CompressedProgram>, Error> {
        transform::sparse(&self.program, self.active, &self.constants(), wanted)
            .map_err(|error| error.at(Some(self.line)))
    }
}

/// A Program that computes parts of a matrix, planned.
#[derive(Debug)]
pub(super) struct Run {
    /// What changes from point to point.
    prepared: Option<Prepared>,
    /// The operands behind the point and the weights.
    operands: Vec<Data>,
    /// Where the colours of a run stand among them.
    numbers: Option<usize>,
    /// The results that are the same at every point; `None` for those that are computed.
    constants: Vec<Option<Data>>,
    /// The colours of each run, and where its entries stand.
    runs: Vec<(Option<Data>, Gathering)>,
    /// Pairs of entries, one after the other: the second is subtracted from the first.
    subtractions: Vec<[u32; 2]>,
}

/// How a matrix is read from what a Program computes.
pub(super) enum Reading<'a> {
    /// Where each entry stands, known already.
    Layers(Gathering),
    /// From products with the colours of one side, computed a few at a time.
    Coloured { sources: &'a [u32], colours: usize, at_a_time: usize, whole: bool },
}

impl Run {
    /// Plans the Program.
    pub(super) fn new(
        source: &Source,
        (pattern, side): (&Pattern, Side),
        made: CompressedProgram,
        reading: Reading<'_>,
    ) -> Result<Self, Error> {
        let gathered = |why: String| source.error("sparse", why);
        let (numbers, runs) = match reading {
            Reading::Layers(gathering) => (None, vec![(None, gathering)]),
            Reading::Coloured { sources, colours, at_a_time, whole } => {
                let mut runs = Vec::new();
                for first in (0..colours.max(1)).step_by(at_a_time.max(1)) {
                    let coloured = Coloured { sources, first, count: at_a_time, whole: whole && first == 0 };
                    let gathering =
                        Gathering::of_parts(pattern, side, &made, Some(coloured), |_, _| {}).map_err(gathered)?;
                    let own: Vec<f64> = (first..first + at_a_time).map(|colour| colour as f64).collect();
                    runs.push((Some(Array::new(&[at_a_time], own).data().clone()), gathering));
                }
                (Some(source.captures.len()), runs)
            }
        };
        let data = |array: &Array| array.data().clone();
        let mut operands: Vec<Data> = source.captures.iter().flatten().map(data).collect();
        operands.extend(runs[0].0.clone());
        operands.extend(made.tables.iter().map(data));
        let varies = varying(&made.program, source.given, numbers.map(|place| source.given + place));
        let constants = constants(&made.program, &varies, source, &operands)?;
        let prepared = match varies.contains(&true) {
            true => {
                let settings = Settings::of(None, None)?;
                let program = with_outputs(&made.program, &varies);
                Some(Prepared::new(&program, &settings, &[]).map_err(|error| error.at(Some(source.line)))?)
            }
            false => None,
        };
        Ok(Run { prepared, operands, numbers, constants, runs, subtractions: Vec::new() })
    }

    /// Notes what is subtracted when all entries are written.
    pub(super) fn subtract(&mut self, pairs: &[[u32; 2]]) {
        self.subtractions = pairs.to_vec();
    }

    /// Writes the entries at a point.
    fn evaluate(&self, point: &[Data], values: &mut [f64]) -> Result<(), Error> {
        for (colours, gathering) in &self.runs {
            let results = match &self.prepared {
                Some(prepared) => prepared.run(|list| {
                    list.extend(point.iter().cloned().map(Some));
                    list.extend(self.operands.iter().cloned().map(Some));
                    if let (Some(place), Some(colours)) = (self.numbers, colours) {
                        list[point.len() + place] = Some(colours.clone());
                    }
                })?,
                None => Default::default(),
            };
            let mut results = results.iter().map(Array::data);
            let computed = |part: &'_ Option<Data>| part.is_none();
            debug_assert_eq!(self.constants.iter().filter(|part| computed(part)).count(), results.len());
            let parts: Vec<&Data> = self
                .constants
                .iter()
                .map(|part| part.as_ref().unwrap_or_else(|| results.next().expect("one for each that is computed")))
                .collect();
            gathering.apply(&parts, values);
        }
        for &[from, what] in &self.subtractions {
            values[from as usize] -= values[what as usize];
        }
        Ok(())
    }
}

/// Which results depend on what is given at each point, or on the colours of the run.
fn varying(program: &Program, given: usize, numbers: Option<usize>) -> Vec<bool> {
    let mut varies = vec![false; program.types.len()];
    varies[..given].fill(true);
    if let Some(numbers) = numbers {
        varies[numbers] = true;
    }
    for eqn in program.eqns() {
        if eqn.args.iter().any(|arg| varies[arg.index()]) {
            eqn.outs().for_each(|out| varies[out.index()] = true);
        }
    }
    program.outputs().iter().map(|output| varies[output.index()]).collect()
}

/// The results that do not vary.
fn constants(
    program: &Program,
    varies: &[bool],
    source: &Source,
    operands: &[Data],
) -> Result<Vec<Option<Data>>, Error> {
    let fixed: Vec<bool> = varies.iter().map(|varies| !varies).collect();
    let mut results = Vec::new();
    if fixed.contains(&true) {
        let program = with_outputs(program, &fixed);
        let prepared = Prepared::new(&program, &Settings::of(None, None)?, &[])?;
        // Nothing reads the point.
        let given = std::iter::repeat_n(None, source.given);
        let run = prepared.run(|list| list.extend(given.chain(operands.iter().cloned().map(Some))));
        results.extend(run.map_err(|error| error.at(Some(source.line)))?.iter().map(|result| result.data().clone()));
    }
    let mut results = results.into_iter();
    Ok(varies.iter().map(|varies| if *varies { None } else { results.next() }).collect())
}

/// The sources of entries in products with columns and with rows; `u32::MAX` where the other side has the entry.
pub(super) fn sides(sources: &[u32], colouring: &Colouring, pattern: &Pattern) -> [Vec<u32>; 2] {
    let columns = (colouring.column_count() * pattern.rows()) as u32;
    let own = |source: &u32| if *source < columns { *source } else { u32::MAX };
    let other = |source: &u32| source.checked_sub(columns).unwrap_or(u32::MAX);
    [sources.iter().map(own).collect(), sources.iter().map(other).collect()]
}

/// The colours of one side, and how many of them are computed at a time.
pub(super) fn coloured(of: &[u32], at_a_time: usize) -> Colours<'_> {
    Colours { of, count: at_a_time }
}

/// The point's leaves as the Program takes them.
///
/// # Errors
/// If they are not numbers of the types that the function was recorded with.
pub(super) fn given(name: &str, what: &str, types: &[Type], leaves: &[Tensor], line: Line) -> Result<Vec<Data>, Error> {
    let misfit = |why: String| Error::new(ErrorKind::Misfit, name, why).at(Some(line));
    if types.len() != leaves.len() {
        return Err(misfit(format!("the {what} has {} leaves where {} are needed", leaves.len(), types.len())));
    }
    let mut data = Vec::with_capacity(leaves.len());
    for (k, (leaf, ty)) in leaves.iter().zip(types).enumerate() {
        if leaf.ty() != ty {
            return Err(misfit(format!("leaf {k} of the {what} is {}, and has to be {ty}", leaf.ty())));
        }
        let Some(array) = leaf.known() else {
            let why = "the point is a variable of a driver under way, and a prepared object gives numbers: inside \
                       another driver call `sparse_jacobian` or `sparse_hessian` themselves";
            return Err(Error::new(ErrorKind::Unavailable, name, why).of([leaf.ty()]).at(Some(line)));
        };
        data.push(array.data().clone());
    }
    Ok(data)
}

/// Numbers as an array of this type.
pub(super) fn as_type(numbers: &[f64], ty: &Type) -> Array {
    match ty.dtype {
        DType::F32 => Array::new(&ty.shape, numbers.iter().map(|&number| number as f32).collect()),
        _ => Array::new(&ty.shape, numbers.to_vec()),
    }
}

/// What a prepared object of tensors runs.
#[derive(Debug)]
pub(super) struct ArrayEvaluator {
    pub(super) runs: Vec<Run>,
    pub(super) pattern: Arc<Pattern>,
}

impl ArrayEvaluator {
    /// Writes the values at a point.
    pub(super) fn evaluate(&self, point: &[Data], values: &mut [f64]) -> Result<(), Error> {
        for run in &self.runs {
            run.evaluate(point, values)?;
        }
        Ok(())
    }
}
