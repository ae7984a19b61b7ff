//! From a function and options to what runs: the pattern, the way, and the plan.

use std::borrow::Cow;
use std::sync::Arc;

use super::super::arrays::{ArrayEvaluator, Reading, Run, Source, coloured, sides};
use super::super::gather::{Coloured, Gathering};
use super::super::options::SparseOptions;
use super::super::prepared::Kind;
use super::super::{Colouring, Method, NO_COLOUR, Order, Partition, Pattern};
use super::{Choice, Work, best};
use crate::array::Array;
use crate::error::{Error, ErrorKind};
use crate::transform::{CompressedProgram, Side, Wanted};

/// What was prepared.
#[derive(Debug)]
pub(in super::super) struct Prepared {
    pub(in super::super) method: Method,
    pub(in super::super) evaluator: ArrayEvaluator,
    /// The colouring that is used, if one is.
    pub(in super::super) colouring: Option<Colouring>,
    pub(in super::super) why: String,
}

/// How many layers are carried without knowing how many entries a row has.
const MOST_LAYERS: usize = 64;
/// Bytes that products with colours may take if nothing else is said.
const MEMORY: usize = 1 << 30;

/// Finds the pattern, chooses a way, and plans it.
///
/// # Errors
/// If options do not fit, the forced way is not possible, or an operation has no derivative.
pub(in super::super) fn prepare(kind: Kind, source: &Source, options: &SparseOptions) -> Result<Prepared, Error> {
    check_options(kind, source, options)?;
    let direct = match options.method {
        None | Some(Method::Direct) => direct(source)?,
        Some(_) => None,
    };
    if let Some((side, made)) = direct {
        return layered(kind, source, options, side, made);
    }
    if options.method == Some(Method::Direct) {
        let why =
            "it adds up more numbers than a row may have entries one by one, or mixes them: choose another method";
        return Err(unsupported(kind, source, why));
    }
    if let (Some(given), true) = (&options.pattern, options.check) {
        compare(kind, source, given, &source.pattern()?)?;
    }
    let whole = whole(source, options)?;
    let is_forced = options.method.is_some();
    let (method, why) = match options.method {
        Some(method) => (method, "because it was asked for".to_owned()),
        None => {
            let choices = choices(source, &whole, kind, options)?;
            let best = best(&choices).ok_or_else(|| unsupported(kind, source, "there is no way"))?;
            (best.method, format!("because it takes the fewest operations, {}", best.work.operations))
        }
    };
    // Colours that were asked for are used from the seeds on, where everything could go without.
    let from_seeds = is_forced && direct_is_possible(source)?;
    by_colours(kind, source, options, &whole, (method, why, from_seeds))
}

/// The pattern of the whole matrix, given or found.
pub(in super::super) fn whole(source: &Source, options: &SparseOptions) -> Result<Arc<Pattern>, Error> {
    match &options.pattern {
        Some(given) => Ok(given.clone()),
        None => source.pattern().map(Arc::new),
    }
}

fn unsupported(kind: Kind, source: &Source, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, kind.driver(), why).at(Some(source.line))
}

/// That rows, columns, triangle and pattern fit the matrix.
fn check_options(kind: Kind, source: &Source, options: &SparseOptions) -> Result<(), Error> {
    let (rows, cols) = source.shape();
    let misfit = |why: String| Err(source.error(kind.driver(), why));
    if options.lower && !kind.is_symmetric() {
        return misfit("only the triangle below the diagonal is wanted, and a Jacobian has both".to_owned());
    }
    if cols as u64 >= u64::from(u32::MAX) || rows as u64 >= u64::from(u32::MAX) {
        return misfit(format!("a matrix of {rows} x {cols}: there may be fewer than 2^32 - 1 rows and columns"));
    }
    if let Some(pattern) = options.pattern.as_ref().filter(|own| (own.rows(), own.cols()) != (rows, cols)) {
        let (own_rows, own_cols) = (pattern.rows(), pattern.cols());
        return misfit(format!("the given pattern is of {own_rows} x {own_cols}, and the matrix of {rows} x {cols}"));
    }
    match options.method {
        Some(Method::EdgePushing) => {
            Err(unsupported(kind, source, "edge pushing is for recorded functions of numbers; tensors have colours"))
        }
        Some(method) if method.is_mirrored() && !kind.is_symmetric() => {
            let why = format!("{method} colourings are for symmetric matrices");
            Err(unsupported(kind, source, &why))
        }
        Some(method) if method.is_mirrored() && options.leaves_lines_out() => {
            let why =
                format!("{method} colourings are for whole matrices or a triangle, and rows or columns are given");
            Err(unsupported(kind, source, &why))
        }
        _ => Ok(()),
    }
}

/// The Program whose parts are layers alone, forwards or else backwards.
fn direct(source: &Source) -> Result<Option<(Side, CompressedProgram)>, Error> {
    for side in [Side::Columns, Side::Rows] {
        if let Some(made) = source.compressed(Wanted { side, colours: None, most: MOST_LAYERS })? {
            return Ok(Some((side, made)));
        }
    }
    Ok(None)
}

fn direct_is_possible(source: &Source) -> Result<bool, Error> {
    Ok(direct(source)?.is_some())
}

/// What runs without colours.
fn layered(
    kind: Kind,
    source: &Source,
    options: &SparseOptions,
    side: Side,
    made: CompressedProgram,
) -> Result<Prepared, Error> {
    let (pattern, gathering) = of_layers(kind, source, options, side, &made)?;
    let layers = made.parts.len();
    let run = Run::new(source, (&pattern, side), made, Reading::Layers(gathering))?;
    Ok(Prepared {
        method: Method::Direct,
        evaluator: ArrayEvaluator { runs: vec![run], pattern },
        colouring: None,
        why: format!("because every number can be followed to its seeds: {layers} vectors hold all entries"),
    })
}

/// The pattern of what consists of layers, and where its entries stand.
fn of_layers(
    kind: Kind,
    source: &Source,
    options: &SparseOptions,
    side: Side,
    made: &CompressedProgram,
) -> Result<(Arc<Pattern>, Gathering), Error> {
    let (rows, cols) = source.shape();
    let gathered = |why: String| source.error(kind.driver(), why);
    let found = match side {
        Side::Columns => Gathering::of_layers(rows, cols, made).map_err(gathered)?,
        Side::Rows => {
            let (pattern, _) = Gathering::of_layers(cols, rows, made).map_err(gathered)?;
            let pattern = pattern.transposed();
            let gathering = Gathering::of_parts(&pattern, side, made, None, |_, _| {}).map_err(gathered)?;
            (pattern, gathering)
        }
    };
    if let (Some(given), true) = (&options.pattern, options.check) {
        compare(kind, source, given, &found.0)?;
    }
    // An entry of a Hessian whose mirror image is structurally zero is zero.
    let mirrored = kind.is_symmetric().then(|| found.0.transposed()).filter(|mirrored| *mirrored != found.0);
    let (found, is_whole) = match mirrored {
        Some(mirrored) => ((found.0.intersection(&mirrored), found.1), false),
        None => (found, !options.is_part()),
    };
    match (&options.pattern, is_whole) {
        (None, true) => Ok((Arc::new(found.0), found.1)),
        (given, _) => {
            let whole = given.as_deref().unwrap_or(&found.0);
            let pattern = options.wanted(whole).map_err(gathered)?;
            let gathering = Gathering::of_parts(&pattern, side, made, None, |_, _| {}).map_err(gathered)?;
            Ok((Arc::new(pattern), gathering))
        }
    }
}

/// What runs by products with colours.
fn by_colours(
    kind: Kind,
    source: &Source,
    options: &SparseOptions,
    whole: &Pattern,
    (method, why, from_seeds): (Method, String, bool),
) -> Result<Prepared, Error> {
    let gathered = |why: String| source.error(kind.driver(), why);
    let pattern = options.wanted(whole).map_err(gathered)?;
    // Colours of a symmetric matrix are those of the whole. Others keep apart what meets in the rows or columns that are
    // read, entries above the diagonal that are not wanted among it.
    let lines = options.in_wanted_lines(whole).map_err(gathered)?;
    let coloured_pattern = if method.is_mirrored() { whole } else { &*lines };
    let colouring = colouring(method, coloured_pattern, options.the_order()).map_err(gathered)?;
    let recovery = match method.is_mirrored() && options.lower {
        true => colouring.recovery_of_lower(whole),
        false => colouring.recovery(coloured_pattern),
    };
    let recovery = recovery.map_err(|why| gathered(why.to_string()))?;
    let sources: Cow<'_, [u32]> = match options.lower && !method.is_mirrored() {
        true => {
            let all = coloured_pattern.entries().zip(recovery.sources());
            all.filter(|((row, col), _)| col <= row).map(|(_, &source)| source).collect()
        }
        false => Cow::Borrowed(recovery.sources()),
    };
    debug_assert_eq!(sources.len(), pattern.nnz(), "a source for each entry");
    let [columns, rows] = sides(&sources, &colouring, &pattern);
    let mut runs: Vec<Run> = Vec::new();
    let column_seeds = seeds(colouring.column_colours(), &coloured_pattern.transposed());
    let row_seeds = seeds(colouring.row_colours(), coloured_pattern);
    for (side, of, count, sources) in [
        (Side::Columns, &column_seeds, colouring.column_count(), &columns),
        (Side::Rows, &row_seeds, colouring.row_count(), &rows),
    ] {
        if count == 0 && !(side == Side::Columns && colouring.count() == 0) {
            continue;
        }
        let most = if from_seeds || method == Method::Acyclic { 0 } else { count };
        let at_a_time = at_a_time(source, side, of, count, most, options.memory.unwrap_or(MEMORY))?;
        let wanted = Wanted { side, colours: Some(coloured(of, at_a_time)), most };
        let made = source.compressed(wanted)?.expect("there are colours");
        let reading = Reading::Coloured { sources, colours: count, at_a_time, whole: runs.is_empty() };
        runs.push(Run::new(source, (&pattern, side), made, reading)?);
    }
    if let Some(last) = runs.last_mut() {
        last.subtract(recovery.subtractions());
    }
    let evaluator = ArrayEvaluator { runs, pattern: Arc::new(pattern) };
    Ok(Prepared { method, evaluator, colouring: Some(colouring), why })
}

/// The entries of a matrix as parts of one Program.
#[derive(Debug)]
pub(in super::super) struct Entries {
    pub(in super::super) pattern: Arc<Pattern>,
    pub(in super::super) made: CompressedProgram,
    pub(in super::super) gathering: Gathering,
    /// The numbers of the colours, if there are any.
    pub(in super::super) numbers: Option<Array>,
}

/// The entries by layers, or by products with the fewer of the colours of columns and rows, all at a time.
///
/// # Errors
/// If an operation has no derivative, or the products have more than 2^32 numbers.
pub(in super::super) fn entries(kind: Kind, source: &Source) -> Result<Entries, Error> {
    let options = SparseOptions::default();
    check_options(kind, source, &options)?;
    let gathered = |why: String| source.error(kind.driver(), why);
    if let Some((side, made)) = direct(source)? {
        let (pattern, gathering) = of_layers(kind, source, &options, side, &made)?;
        return Ok(Entries { pattern, made, gathering, numbers: None });
    }
    let pattern = source.pattern()?;
    let order = options.the_order();
    let (columns, rows) = (Colouring::columns(&pattern, order), Colouring::rows(&pattern, order));
    let (side, colouring) = if columns.count() <= rows.count() { (Side::Columns, columns) } else { (Side::Rows, rows) };
    let of = match side {
        Side::Columns => seeds(colouring.column_colours(), &pattern.transposed()),
        Side::Rows => seeds(colouring.row_colours(), &pattern),
    };
    let count = colouring.count().max(1);
    let made = source.compressed(Wanted { side, colours: Some(coloured(&of, count)), most: count })?;
    let made = made.expect("there are colours");
    let recovery = colouring.recovery(&pattern).map_err(|why| gathered(why.to_string()))?;
    let of_colours = Coloured { sources: recovery.sources(), first: 0, count, whole: true };
    let gathering = Gathering::of_parts(&pattern, side, &made, Some(of_colours), |_, _| {}).map_err(gathered)?;
    let numbers = Array::new(&[count], (0..count).map(|colour| colour as f64).collect());
    Ok(Entries { pattern: Arc::new(pattern), made, gathering, numbers: Some(numbers) })
}

/// The colours of seeds: of those alone that have entries, because the others may have some that are not wanted.
fn seeds(colours: &[u32], by_vertex: &Pattern) -> Vec<u32> {
    // A side without colours has no list of them.
    let of = |vertex: usize| colours.get(vertex).copied().filter(|_| !by_vertex.row(vertex).is_empty());
    (0..by_vertex.rows()).map(|vertex| of(vertex).unwrap_or(NO_COLOUR)).collect()
}

/// The colours of a way.
fn colouring(method: Method, pattern: &Pattern, order: Order) -> Result<Colouring, String> {
    let text = |why: super::super::ColouringError| why.to_string();
    match method {
        Method::Columns => Ok(Colouring::columns(pattern, order)),
        Method::Rows => Ok(Colouring::rows(pattern, order)),
        Method::Bidirectional => Ok(Colouring::bidirectional(pattern, order)),
        Method::Star => Colouring::star(pattern, order).map_err(text),
        Method::Acyclic => Colouring::acyclic(pattern, order).map_err(text),
        Method::Dense if pattern.cols() <= pattern.rows() => {
            let own = (0..pattern.cols() as u32).collect();
            Colouring::new(Partition::Columns, own, Vec::new()).map_err(text)
        }
        Method::Dense => {
            let own = (0..pattern.rows() as u32).collect();
            Colouring::new(Partition::Rows, Vec::new(), own).map_err(text)
        }
        Method::Direct | Method::EdgePushing => unreachable!("they have no colours"),
    }
}

/// How many colours are computed at a time.
fn at_a_time(
    source: &Source,
    side: Side,
    of: &[u32],
    count: usize,
    most: usize,
    memory: usize,
) -> Result<usize, Error> {
    if count <= 1 {
        return Ok(1);
    }
    let one = source.compressed(Wanted { side, colours: Some(coloured(of, 1)), most })?.expect("there are colours");
    let bytes = Work::of(&one.program).bytes.max(1);
    Ok(((memory as u64 / bytes) as usize).clamp(1, count))
}

/// That a given pattern has every entry of the one that was found.
fn compare(kind: Kind, source: &Source, given: &Pattern, found: &Pattern) -> Result<(), Error> {
    match found.entries().find(|&(row, col)| !given.contains(row, col)) {
        Some((row, col)) => {
            let why = format!("the given pattern lacks the entry ({row}, {col}): row {row} depends on column {col}");
            Err(source.error(kind.driver(), why))
        }
        None => Ok(()),
    }
}

/// The ways to compute what is wanted of a matrix of this pattern, with what each is predicted to take.
pub(in super::super) fn choices(
    source: &Source,
    pattern: &Pattern,
    kind: Kind,
    options: &SparseOptions,
) -> Result<Vec<Choice>, Error> {
    let active: Vec<bool> = (0..source.program.input_types().len()).map(|k| k < source.active).collect();
    let parts = source.program.linearize(&active)?;
    let marks: Vec<bool> = (0..parts.linear.input_types().len()).map(|k| k >= parts.residuals).collect();
    let back = parts.linear.transpose(&marks)?;
    let (primal, linear, back) = (Work::of(&parts.primal), Work::of(&parts.linear), Work::of(&back));
    let (rows, cols) = source.shape();
    let mut choices = vec![
        Choice::of(Method::Dense, cols, primal.and(cols, linear), "forward: a product for each column"),
        Choice::of(Method::Dense, rows, primal.and(rows, back), "reverse: a product for each row"),
    ];
    if rows < cols {
        choices.swap(0, 1);
    }
    // Which of the two `Dense` means is the one of fewer products.
    choices[1].possible = false;
    choices[1].note.push_str(", more of them than above");
    let order = options.the_order();
    let lines = options.in_wanted_lines(pattern).map_err(|why| source.error(kind.driver(), why))?;
    let ways: &[Method] = match kind.is_symmetric() {
        true => &[Method::Star, Method::Acyclic, Method::Columns, Method::Rows, Method::Bidirectional],
        false => &[Method::Columns, Method::Rows, Method::Bidirectional],
    };
    for &method in ways {
        if method.is_mirrored() && options.leaves_lines_out() {
            choices.push(Choice::impossible(method, "for whole matrices or a triangle"));
            continue;
        }
        match colouring(method, &lines, order) {
            Ok(colouring) => {
                let passes = colouring.count();
                let work = primal.and(colouring.column_count(), linear).and(colouring.row_count(), back);
                let mut choice = Choice::of(method, passes, work, "");
                if method == Method::Acyclic {
                    choice.possible = options.method == Some(Method::Acyclic);
                    choice.note =
                        format!("{passes} products; only if asked for, because substitution adds up rounding errors");
                }
                choices.push(choice);
            }
            Err(why) => choices.push(Choice::impossible(method, &why)),
        }
    }
    match direct(source)? {
        Some((_, made)) => choices.push(Choice::of(Method::Direct, 0, Work::of(&made.program), "without colours")),
        None => choices.push(Choice::impossible(Method::Direct, "numbers are added up along long axes, or mixed")),
    }
    choices.push(Choice::impossible(Method::EdgePushing, "for recorded functions of numbers"));
    Ok(choices)
}
