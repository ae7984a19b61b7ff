//! Reads the data files of ADBench. What a file claims is not believed: nothing is allocated that is not in the file, but
//! for the copies of a replicated bundle adjustment, whose number is limited.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::SplitAsciiWhitespace;

use super::{ba, gmm, hand, lstm};

/// What is wrong with a file, and in which line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    file: PathBuf,
    /// From 1; none if the file cannot be read at all.
    line: Option<usize>,
    why: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        write!(f, " {}", self.why)
    }
}

impl std::error::Error for FileError {}

/// Most cameras, points and observations of a bundle adjustment, which a file may claim without giving them.
/// The largest public problem has 9.1 million observations.
pub const MOST_REPLICATED: usize = 1 << 25;

/// Most bones of a hand: a vertex has a weight for each.
pub const MOST_BONES: usize = 1024;

/// A mixture of Gaussians.
///
/// `d k n`, then `alpha`, `mu`, `icf` (each row first the logarithms of the diagonal, then the triangle below) and `x`, then
/// `gamma m`.
///
/// # Errors
/// If the file cannot be read, a number is missing, too much, not finite or not of its range.
pub fn read_gmm(file: &Path) -> Result<gmm::Data, FileError> {
    parse_gmm(&mut Words::new(file, &text(file)?))
}

/// A bundle adjustment, replicated or in the general form.
///
/// `n m p`; then either one camera (11 numbers), one point (3), one weight and one feature (2), of which all are copies;
/// or `n` rows of 11, `m` rows of 3, and `p` rows `camera point weight feature_x feature_y`. A file is of the first form if
/// its lines are: a weight stands alone in its line, and the second form has no such line.
///
/// # Errors
/// As [`read_gmm`], and if there are more than [`MOST_REPLICATED`] of anything.
pub fn read_ba(file: &Path) -> Result<ba::Data, FileError> {
    let text = text(file)?;
    let lines = text.lines().map(|line| line.split_ascii_whitespace().count()).filter(|&words| words > 0);
    let replicated = lines.take(5).eq([3, ba::CAMERA, 3, 1, 2]);
    parse_ba(&mut Words::new(file, &text), replicated)
}

/// A network of LSTM layers: `l c b`, then `2 l` rows of `4 b`, 3 of `b`, `2 l` of `b`, and the sequence, `c` of `b`.
///
/// # Errors
/// As [`read_gmm`], and if the sequence has fewer than two rows.
pub fn read_lstm(file: &Path) -> Result<lstm::Data, FileError> {
    parse_lstm(&mut Words::new(file, &text(file)?))
}

/// A hand: the folder of its model with `bones.txt`, `vertices.txt` and `triangles.txt`, and the file of a case.
///
/// The case: `N 26`, `N` lines `correspondence x y z`; if complicated, `N` lines `u1 u2`; then 26 numbers.
///
/// # Errors
/// As [`read_gmm`], and if an index names no bone, vertex or triangle.
pub fn read_hand(model: &Path, case: &Path, complicated: bool) -> Result<hand::Data, FileError> {
    let model = read_model(model)?;
    parse_hand(&mut Words::new(case, &text(case)?), model, complicated)
}

/// The model of a hand, from a folder; see [`read_hand`].
///
/// # Errors
/// As [`read_hand`].
pub fn read_model(folder: &Path) -> Result<hand::Model, FileError> {
    let [bones, vertices, triangles] = ["bones.txt", "vertices.txt", "triangles.txt"].map(|name| folder.join(name));
    let mut model = hand::Model {
        parents: Vec::new(),
        base_relatives: Vec::new(),
        inverse_base_absolutes: Vec::new(),
        vertices: Vec::new(),
        weights: Vec::new(),
        triangles: Vec::new(),
    };
    for mut line in Fields::lines(&bones, &text(&bones)?) {
        parse_bone(&mut line, &mut model)?;
    }
    let count = model.parents.len();
    if count < hand::MOVED {
        let why = format!("a hand has {} bones at least, here are {count}", hand::MOVED);
        return Err(FileError { file: bones, line: None, why });
    }
    for mut line in Fields::lines(&vertices, &text(&vertices)?) {
        parse_vertex(&mut line, &mut model)?;
    }
    for mut line in Fields::lines(&triangles, &text(&triangles)?) {
        let count = model.vertices.len();
        let triangle = [line.index("a vertex", count)?, line.index("a vertex", count)?, line.index("a vertex", count)?];
        line.end()?;
        model.triangles.push(triangle);
    }
    Ok(model)
}

// ---- the files ------------------------------------------------------------------------------------

fn parse_gmm(words: &mut Words<'_>) -> Result<gmm::Data, FileError> {
    let d = words.count("d, the length of a sample")?;
    let k = words.count("k, the number of components")?;
    let n = words.count("n, the number of samples")?;
    let alpha = words.numbers(&[k], "alpha")?;
    let mu = words.numbers(&[k, d], "mu")?;
    let below = words.product(&[d, d - 1])? / 2;
    let (mut q, mut l) = (Vec::new(), Vec::new());
    for _ in 0..k {
        q.extend(words.numbers(&[d], "q")?);
        l.extend(words.numbers(&[below], "l")?);
    }
    let x = words.numbers(&[n, d], "x")?;
    let gamma = words.number("gamma")?;
    if gamma <= 0.0 {
        return Err(words.fail(format!("gamma has to be above zero, not {gamma}")));
    }
    let m: i64 = words.integer("m, an integer")?;
    // Far beyond any use, and exact as a number.
    if !(0..1 << 32).contains(&m) {
        return Err(words.fail(format!("m has to be from 0 to 2^32 - 1, not {m}")));
    }
    words.end()?;
    Ok(gmm::Data { d, k, n, alpha, mu, q, l, x, gamma, m })
}

fn parse_ba(words: &mut Words<'_>, replicated: bool) -> Result<ba::Data, FileError> {
    let mut limited = |what: &str| {
        let count = words.count(what)?;
        match count <= MOST_REPLICATED {
            true => Ok(count),
            false => Err(words.fail(format!("{what}: {MOST_REPLICATED} at most, not {count}"))),
        }
    };
    let n = limited("n, the number of cameras")?;
    let m = limited("m, the number of points")?;
    let p = limited("p, the number of observations")?;
    if replicated {
        let camera = words.array("a camera")?;
        let point = words.array("a point")?;
        let weight = words.number("a weight")?;
        let feature = words.array("a feature")?;
        words.end()?;
        return Ok(ba::Data::replicated([n, m, p], &camera, &point, weight, feature));
    }
    let cameras = words.numbers(&[n, ba::CAMERA], "cameras")?;
    let points = words.numbers(&[m, 3], "points")?;
    let mut data = ba::Data { n, m, p, cameras, points, ..ba::Data::default() };
    for _ in 0..p {
        data.camera_of.push(words.index("a camera", n)?);
        data.point_of.push(words.index("a point", m)?);
        data.weights.push(words.number("a weight")?);
        data.features.extend(words.array::<2>("a feature")?);
    }
    words.end()?;
    Ok(data)
}

fn parse_lstm(words: &mut Words<'_>) -> Result<lstm::Data, FileError> {
    let l = words.count("l, the number of layers")?;
    let c = words.count("c, the length of the sequence")?;
    let b = words.count("b, the length of a row")?;
    if c < 2 {
        return Err(words.fail("the sequence needs two rows: each is predicted from the one before".to_owned()));
    }
    let main = words.numbers(&[l, 2, 4, b], "the main parameters")?;
    let extra = words.numbers(&[3, b], "the extra parameters")?;
    let state = words.numbers(&[l, 2, b], "the state")?;
    let sequence = words.numbers(&[c, b], "the sequence")?;
    words.end()?;
    Ok(lstm::Data { l, c, b, main, extra, state, sequence })
}

fn parse_hand(words: &mut Words<'_>, model: hand::Model, complicated: bool) -> Result<hand::Data, FileError> {
    let count = words.count("N, the number of points")?;
    let parameters = words.count("26, the number of parameters")?;
    if parameters != hand::POSE {
        return Err(words.fail(format!("a pose has {} parameters, not {parameters}", hand::POSE)));
    }
    let (what, targets) = match complicated {
        true => ("a triangle", model.triangles.len()),
        false => ("a vertex", model.vertices.len()),
    };
    let (mut correspondences, mut points) = (Vec::new(), Vec::new());
    for _ in 0..count {
        correspondences.push(words.index(what, targets)?);
        points.push(words.array("a point")?);
    }
    let us = match complicated {
        true => Some((0..count).map(|_| words.array("a place in a triangle")).collect::<Result<_, _>>()?),
        false => None,
    };
    let theta = words.array("theta")?;
    words.end()?;
    Ok(hand::Data { model, correspondences, points, us, theta })
}

/// `name:parent:16 numbers:16 numbers`.
fn parse_bone(line: &mut Fields<'_>, model: &mut hand::Model) -> Result<(), FileError> {
    let known = model.parents.len();
    if known == MOST_BONES {
        return Err(line.fail(format!("a hand has {MOST_BONES} bones at most")));
    }
    line.next("the name of a bone")?;
    let parent: i64 = line.integer("the parent of a bone")?;
    let before = usize::try_from(parent).ok().filter(|&parent| parent < known);
    if parent != -1 && before.is_none() {
        return Err(line.fail(format!("the parent of bone {known} has to be -1 or a bone before it, not {parent}")));
    }
    model.parents.push(before);
    model.base_relatives.push(line.array("the relative transform of a bone")?);
    model.inverse_base_absolutes.push(line.array("the inverse transform of a bone")?);
    line.end()
}

/// `x:y:z:5 numbers:count`, then as many pairs of a bone and its weight.
fn parse_vertex(line: &mut Fields<'_>, model: &mut hand::Model) -> Result<(), FileError> {
    let [x, y, z] = line.array("a vertex")?;
    for _ in 0..5 {
        line.next("a number that nothing reads")?;
    }
    let count: usize = line.integer("the number of weights")?;
    let bones = model.parents.len();
    if count > bones {
        return Err(line.fail(format!("{count} weights for {bones} bones")));
    }
    let mut weights = Vec::new();
    for _ in 0..count {
        weights.push((line.index("a bone", bones)?, line.number("the weight of a bone")?));
    }
    line.end()?;
    model.vertices.push([x, y, z, 1.0]);
    model.weights.push(weights);
    Ok(())
}

// ---- words ----------------------------------------------------------------------------------------

fn text(file: &Path) -> Result<String, FileError> {
    std::fs::read_to_string(file).map_err(|error| FileError {
        file: file.to_owned(),
        line: None,
        why: format!("cannot be read: {error}"),
    })
}

/// One number after the other, from wherever they stand.
trait Source {
    /// The next word, or an error that says what was expected.
    fn next(&mut self, what: &str) -> Result<&str, FileError>;
    /// An error at the word that was read last.
    fn fail(&self, why: String) -> FileError;
    /// An error unless everything was read.
    fn end(&mut self) -> Result<(), FileError>;

    fn integer<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, FileError> {
        let word = self.next(what)?;
        let shown = shown(word);
        word.parse().map_err(|_| self.fail(format!("expected {what}, found `{shown}`")))
    }

    /// A number that is finite.
    fn number(&mut self, what: &str) -> Result<f64, FileError> {
        let word = self.next(what)?;
        let shown = shown(word);
        let number = word.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.fail(format!("expected {what}, a finite number, found `{shown}`")))
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[f64; N], FileError> {
        let mut numbers = [0.0; N];
        for number in &mut numbers {
            *number = self.number(what)?;
        }
        Ok(numbers)
    }

    /// An index of one of `count`.
    fn index(&mut self, what: &str, count: usize) -> Result<usize, FileError> {
        let index: usize = self.integer(&format!("the index of {what}"))?;
        match index < count {
            true => Ok(index),
            false => Err(self.fail(format!("the index of {what} has to be below {count}, not {index}"))),
        }
    }

    /// A number of things, one at least.
    fn count(&mut self, what: &str) -> Result<usize, FileError> {
        let count: usize = self.integer(what)?;
        match count {
            0 => Err(self.fail(format!("{what}: one at least, not 0"))),
            _ => Ok(count),
        }
    }

    /// The product of sizes.
    fn product(&self, sizes: &[usize]) -> Result<usize, FileError> {
        let product = sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        product.ok_or_else(|| self.fail(format!("sizes {sizes:?} are more than there is memory for")))
    }

    /// An array of these sizes; read number by number, so that no more is allocated than there is in the file.
    fn numbers(&mut self, sizes: &[usize], what: &str) -> Result<Vec<f64>, FileError> {
        let count = self.product(sizes)?;
        let mut numbers = Vec::new();
        for k in 0..count {
            let number = self.number(what);
            numbers.push(number.map_err(|mut error| {
                error.why = format!("{} (number {} of the {count} of {what})", error.why, k + 1);
                error
            })?);
        }
        Ok(numbers)
    }
}

/// The start of a word, for a message.
fn shown(word: &str) -> String {
    let mut shown: String = word.chars().take(40).collect();
    if shown.len() < word.len() {
        shown.push('…');
    }
    shown
}

/// Words between white space, over all lines of a file.
struct Words<'a> {
    file: &'a Path,
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    /// Of the line that is read, from 1.
    line: usize,
    words: SplitAsciiWhitespace<'a>,
}

impl<'a> Words<'a> {
    fn new(file: &'a Path, text: &'a str) -> Self {
        Words { file, lines: text.lines().enumerate(), line: 1, words: "".split_ascii_whitespace() }
    }

    fn advance(&mut self) -> Option<&'a str> {
        loop {
            if let Some(word) = self.words.next() {
                return Some(word);
            }
            let (number, line) = self.lines.next()?;
            self.line = number + 1;
            self.words = line.split_ascii_whitespace();
        }
    }
}

impl Source for Words<'_> {
    fn next(&mut self, what: &str) -> Result<&str, FileError> {
        self.advance().ok_or_else(|| self.fail(format!("the file ends where {what} was expected")))
    }

    fn fail(&self, why: String) -> FileError {
        FileError { file: self.file.to_owned(), line: Some(self.line), why }
    }

    fn end(&mut self) -> Result<(), FileError> {
        match self.advance() {
            None => Ok(()),
            Some(word) => Err(self.fail(format!("expected the end of the file, found `{}`", shown(word)))),
        }
    }
}

/// Fields between colons, of one line.
struct Fields<'a> {
    file: &'a Path,
    line: usize,
    fields: std::str::Split<'a, char>,
}

impl<'a> Fields<'a> {
    /// The lines of a file that are not empty.
    fn lines(file: &'a Path, text: &'a str) -> impl Iterator<Item = Fields<'a>> {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.map(move |(k, line)| Fields { file, line: k + 1, fields: line.trim().split(':') })
    }
}

impl Source for Fields<'_> {
    fn next(&mut self, what: &str) -> Result<&str, FileError> {
        match self.fields.next() {
            Some(field) => Ok(field.trim()),
            None => Err(self.fail(format!("the line ends where {what} was expected"))),
        }
    }

    fn fail(&self, why: String) -> FileError {
        FileError { file: self.file.to_owned(), line: Some(self.line), why }
    }

    fn end(&mut self) -> Result<(), FileError> {
        match self.fields.next() {
            None => Ok(()),
            Some(field) => Err(self.fail(format!("expected the end of the line, found `{}`", shown(field)))),
        }
    }
}
