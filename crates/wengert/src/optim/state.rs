//! What an optimiser remembers of earlier steps, and the settings of each leaf.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::{Parameter, Schedule};
use crate::error::{Error, ErrorKind, Line};
use crate::tree::{Paths, listed};

/// The settings of an optimiser: those of every leaf, and others by path.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) schedule: Schedule,
    /// Of weights, for an optimiser that has one.
    pub(super) decay: f64,
    pub(super) by_path: Vec<ByPath>,
}

/// A setting of the leaves that a function picks.
#[derive(Clone)]
pub(super) struct ByPath {
    option: &'static str,
    line: Line,
    which: Arc<dyn Fn(&str) -> bool + Send + Sync>,
    setting: Setting,
}

/// What can be set by path.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    Rate(Schedule),
    Decay(f64),
}

impl Settings {
    pub(super) fn new(rate: impl Into<Schedule>) -> Self {
        Settings { schedule: rate.into(), decay: 0.0, by_path: Vec::new() }
    }

    #[track_caller]
    pub(super) fn by_path(
        &mut self,
        option: &'static str,
        which: impl Fn(&str) -> bool + Send + Sync + 'static,
        setting: Setting,
    ) {
        self.by_path.push(ByPath { option, line: Location::caller(), which: Arc::new(which), setting });
    }

    /// The settings of every leaf.
    fn of_leaves(&self, paths: &Paths) -> Result<Arc<[LeafSettings]>, String> {
        let of_leaf = |(k, path): (usize, &str)| LeafSettings {
            path: path.to_owned(),
            moves: !paths.is_frozen(k),
            schedule: self.schedule.clone(),
            decay: self.decay,
        };
        let mut leaves: Vec<LeafSettings> = paths.iter().enumerate().map(of_leaf).collect();
        for ByPath { option, line, which, setting } in &self.by_path {
            let mut picked = leaves.iter_mut().filter(|leaf| which(&leaf.path)).peekable();
            if picked.peek().is_none() {
                drop(picked);
                return Err(format!("`{option}` at {line} picks none of the paths {}", listed(paths.iter())));
            }
            for leaf in picked {
                match setting {
                    Setting::Rate(schedule) => leaf.schedule = schedule.clone(),
                    Setting::Decay(decay) => leaf.decay = *decay,
                }
            }
        }
        Ok(leaves.into())
    }
}

impl fmt::Debug for ByPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {:?}", self.option, self.line, self.setting)
    }
}

/// The settings of one leaf of the point.
#[derive(Clone, Debug)]
pub(super) struct LeafSettings {
    path: String,
    /// Whether it moves: it is not frozen.
    moves: bool,
    schedule: Schedule,
    decay: f64,
}

/// What an optimiser remembers.
#[derive(Clone, Debug)]
pub(super) struct State<L> {
    names: &'static [&'static str],
    /// The number of steps made, as a leaf: it is saved with the others.
    steps: L,
    /// Of every leaf of the point; unknown before the first point.
    settings: Option<Arc<[LeafSettings]>>,
    /// Where the leaves of the point are: see [`Structure::places`](crate::tree::Structure).
    places: Option<u64>,
    /// Whether a builder changed the settings since.
    is_stale: bool,
    /// A list for each name, with an entry for each leaf that moves; empty before the first point.
    pub(super) lists: Vec<Vec<L>>,
}

/// What a step is given, but for its numbers.
pub(super) struct Given<'a> {
    /// Which leaves of the point are frozen.
    pub(super) frozen: Vec<bool>,
    /// Where the leaves of the point and of the gradient are.
    pub(super) places: [Option<u64>; 2],
    /// Their paths.
    pub(super) paths: &'a dyn Fn() -> [Paths; 2],
}

impl Given<'_> {
    /// The first leaf of the gradient that has another path than that of the point, and the latter.
    fn other_in_gradient(&self) -> Option<[String; 2]> {
        if self.places[0] == self.places[1] {
            return None;
        }
        let [point, gradient] = (self.paths)();
        first_other(point.iter(), gradient.iter())
    }
}

/// The first two names that differ.
fn first_other<'a>(one: impl Iterator<Item = &'a str>, other: impl Iterator<Item = &'a str>) -> Option<[String; 2]> {
    one.zip(other).find(|(one, other)| one != other).map(|(one, other)| [one.to_owned(), other.to_owned()])
}

/// A leaf that moves, in a step.
pub(super) struct Moving<'a, L> {
    pub(super) x: &'a L,
    pub(super) slope: &'a L,
    pub(super) rate: f64,
    pub(super) decay: f64,
}

/// A step that may be made.
pub(super) struct Step {
    /// The first is 0.
    pub(super) number: u64,
    settings: Arc<[LeafSettings]>,
}

impl Step {
    /// The leaves that move.
    pub(super) fn moving<'a, L>(&self, x: &'a [L], slope: &'a [L]) -> Vec<Moving<'a, L>> {
        let leaves = self.settings.iter().zip(x.iter().zip(slope)).filter(|(settings, _)| settings.moves);
        let moving = |(settings, (x, slope)): (&LeafSettings, (&'a L, &'a L))| Moving {
            x,
            slope,
            rate: settings.schedule.at(self.number),
            decay: settings.decay,
        };
        leaves.map(moving).collect()
    }

    /// Puts the leaves that moved in their places.
    pub(super) fn write<L>(&self, x: &mut [L], moved: Vec<L>) {
        let places = x.iter_mut().zip(self.settings.iter()).filter(|(_, settings)| settings.moves);
        for ((place, _), moved) in places.zip(moved) {
            *place = moved;
        }
    }
}

impl<L: Parameter> State<L> {
    pub(super) fn new(names: &'static [&'static str]) -> Self {
        let lists = vec![Vec::new(); names.len()];
        State { names, steps: L::from_count(0), settings: None, places: None, is_stale: false, lists }
    }

    /// The number of steps made.
    #[track_caller]
    pub(super) fn steps(&self, name: &str) -> Result<u64, Error> {
        let line = Location::caller();
        self.steps.count().map_err(|why| Error::new(ErrorKind::Misfit, name, why).at(Some(line)))
    }

    /// As before the first step, for points like this one.
    #[track_caller]
    pub(super) fn init(
        &mut self,
        name: &str,
        settings: &Settings,
        x: &[L],
        paths: &Paths,
        places: Option<u64>,
    ) -> Result<(), Error> {
        let line = Location::caller();
        let misfit = |why: String| Error::new(ErrorKind::Misfit, name, why).at(Some(line));
        let settings = settings.of_leaves(paths).map_err(misfit)?;
        fitting("point", &settings, x, x).map_err(misfit)?;
        *self = State { settings: Some(settings), places, ..State::new(self.names) };
        self.remember_nothing(x);
        Ok(())
    }

    /// Checks a step, and makes room for what it remembers. After an error everything is as before.
    #[track_caller]
    pub(super) fn begin(
        &mut self,
        name: &str,
        settings: &Settings,
        x: &[L],
        slope: &[L],
        given: &Given<'_>,
    ) -> Result<Step, Error> {
        let line = Location::caller();
        let misfit = |why: String| Error::new(ErrorKind::Misfit, name, why).at(Some(line));
        let is_new = self.lists.iter().all(Vec::is_empty);
        if x.len() == slope.len()
            && let Some([own, other]) = given.other_in_gradient()
        {
            return Err(misfit(format!("the gradient has the leaf `{other}` where the point has `{own}`")));
        }
        let settings = match self.kept(given, x.len()) {
            Ok(Some(kept)) => kept,
            Err(why) if !is_new => {
                let why = format!("{why}, so that what it remembers does not fit: begin again with `init`");
                return Err(misfit(why));
            }
            _ => settings.of_leaves(&(given.paths)()[0]).map_err(misfit)?,
        };
        fitting("gradient", &settings, x, slope).map_err(misfit)?;
        let moving = settings.iter().filter(|settings| settings.moves).count();
        if !is_new {
            let moving_x: Vec<L> = settings.iter().zip(x).filter(|(s, _)| s.moves).map(|(_, x)| x.clone()).collect();
            let what = "state from the step before";
            for list in &self.lists {
                let moving: Vec<&LeafSettings> = settings.iter().filter(|settings| settings.moves).collect();
                fitting_leaves(what, &moving, &moving_x, list).map_err(misfit)?;
            }
        }
        let step = Step { number: self.steps(name)?, settings: settings.clone() };
        (self.settings, self.places, self.is_stale) = (Some(settings), given.places[0], false);
        if is_new && moving > 0 {
            self.remember_nothing(x);
        }
        Ok(step)
    }

    /// The settings of the step before, if they are those of this point's leaves; none if a builder changed some, or the point has
    /// another number of leaves, which is told with what is remembered.
    ///
    /// # Errors
    /// If as many leaves are other ones, or others of them are frozen.
    fn kept(&self, given: &Given<'_>, count: usize) -> Result<Option<Arc<[LeafSettings]>>, String> {
        let Some(known) = self.settings.as_ref().filter(|known| known.len() == count) else { return Ok(None) };
        if known.iter().zip(&given.frozen).any(|(leaf, &frozen)| leaf.moves == frozen) {
            return Err("other leaves of the point are frozen than at the step before".to_owned());
        }
        if self.places != given.places[0] {
            let [point, _] = (given.paths)();
            if let Some([own, before]) = first_other(point.iter(), known.iter().map(|leaf| &leaf.path[..])) {
                return Err(format!("the point has the leaf `{own}` where that of the step before had `{before}`"));
            }
        }
        Ok((!self.is_stale).then(|| known.clone()))
    }

    /// Counts a step that was made.
    pub(super) fn end(&mut self, step: &Step) {
        self.steps = L::from_count(step.number + 1);
    }

    /// Has the settings of leaves found again at the next step.
    pub(super) fn forget_settings(&mut self) {
        self.is_stale = true;
    }

    fn remember_nothing(&mut self, x: &[L]) {
        let settings = self.settings.iter().flat_map(|settings| settings.iter());
        let zeros: Vec<L> = settings.zip(x).filter(|(settings, _)| settings.moves).map(|(_, x)| x.zero()).collect();
        self.lists = vec![zeros; self.names.len()];
    }
}

/// What makes it a tree.
impl<L> State<L> {
    pub(super) fn size(&self) -> usize {
        1 + self.lists.iter().map(Vec::len).sum::<usize>()
    }

    pub(super) fn for_each(&self, visit: &mut impl FnMut(&L)) {
        visit(&self.steps);
        self.lists.iter().flatten().for_each(visit);
    }

    pub(super) fn paths(&self, paths: &mut Paths) {
        paths.named_leaf("steps");
        for (name, list) in self.names.iter().zip(&self.lists) {
            let moving = self.settings.iter().flat_map(|settings| settings.iter()).filter(|settings| settings.moves);
            let mut named = moving.map(|settings| &settings.path[..]);
            for k in 0..list.len() {
                // Before the first point only the place is known.
                match named.next() {
                    Some("") => paths.named_leaf(name),
                    Some(path) => paths.named_leaf(&format!("{name}.{path}")),
                    None => paths.named_leaf(&format!("{name}.{k}")),
                }
            }
        }
    }

    /// The same with other leaves, made in order.
    pub(super) fn map<M>(&self, f: &mut impl FnMut(&L) -> M) -> State<M> {
        let steps = f(&self.steps);
        let lists = self.lists.iter().map(|list| list.iter().map(&mut *f).collect()).collect();
        let (settings, places, is_stale) = (self.settings.clone(), self.places, self.is_stale);
        State { names: self.names, steps, settings, places, is_stale, lists }
    }
}

/// That trees have the leaves of the point, but for those that do not move.
fn fitting<L: Parameter>(what: &str, settings: &[LeafSettings], point: &[L], other: &[L]) -> Result<(), String> {
    fitting_leaves(what, &settings.iter().collect::<Vec<_>>(), point, other)
}

fn fitting_leaves<L: Parameter>(
    what: &str,
    settings: &[&LeafSettings],
    point: &[L],
    other: &[L],
) -> Result<(), String> {
    if point.len() != other.len() {
        return Err(format!("the {what} has {} numbers or tensors where the point has {}", other.len(), point.len()));
    }
    let leaves = settings.iter().zip(point.iter().zip(other)).enumerate().filter(|(_, (settings, _))| settings.moves);
    for (k, (settings, (x, other))) in leaves {
        if let Some(why) = x.misfit(other) {
            let path = if settings.path.is_empty() { String::new() } else { format!(", `{}`,", settings.path) };
            return Err(format!("leaf {k} of the {what}{path} does not fit that of the point: {why}"));
        }
    }
    Ok(())
}
