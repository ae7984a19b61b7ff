//! Trees in files: parameters, the state of optimisers, keys of random numbers. Feature `npy` for `.npz`, feature `safetensors` for
//! `.safetensors`.
//!
//! Every leaf is an array under its path, `layers.0.weight` ([`Paths`]), so that a file says what is in it, and other programs
//! read it: `numpy.load`, `safetensors.torch.load_file`. A number is an array without axes; a tree that is itself a leaf is called
//! `arr_0`, as NumPy calls an array without a name. Fields that are not leaves (`#[tree(static)]`) are not in the file.
//!
//! ```
//! # #[cfg(feature = "npy")] {
//! use wengert::files::{load, save};
//! use wengert::optim::Adam;
//! use wengert::prelude::*;
//!
//! let file = std::env::temp_dir().join(format!("wengert-{}.npz", std::process::id()));
//! let (mut x, mut opt) = ([3.0, -2.0], Adam::new(0.1).init(&[3.0, -2.0]));
//! let slope = grad(x, |[x, y]| (x - 1.0).square() + 10.0 * (y - 2.0).square());
//! x = opt.step(x, &slope);
//! save(&file, &(x, &opt))?;
//!
//! // Somewhere else, later: a point and an optimiser of the same form take up the numbers.
//! let (y, again) = load(&file, &([0.0, 0.0], Adam::new(0.1).init(&[0.0, 0.0])))?;
//! assert_eq!((y, again.steps()), (x, 1));
//! # std::fs::remove_file(file).unwrap();
//! # }
//! # Ok::<(), wengert::Error>(())
//! ```
//!
//! [`load`] is strict: whatever the file lacks, has besides, or has in another shape or element type is an error that names all of
//! it. [`Load`] loads a part, or by other names. A file is believed no further than it is checked: nothing that it claims makes
//! memory be taken beyond what the tree has room for.

mod format;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::Location;
use std::path::Path;

pub use self::format::Format;
use self::format::Source;
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Line, Misfit};
use crate::leaf::Leaf;
use crate::tensor::Tensor;
use crate::tree::{Paths, Tree, leaves, listed};

/// What a leaf in a file can be: `f64` and [`Tensor`]. Sealed, as [`Leaf`] is.
pub trait StoredLeaf: Leaf {
    /// The type in a file.
    #[doc(hidden)]
    fn stored_type(&self) -> Type;
    /// The array in a file.
    #[doc(hidden)]
    #[track_caller]
    fn to_stored(&self) -> Result<Array, Error>;
    /// The leaf of an array of its type.
    #[doc(hidden)]
    fn from_stored(array: Array) -> Self;
}

impl StoredLeaf for f64 {
    fn stored_type(&self) -> Type {
        Type::new(DType::F64, &[])
    }
    fn to_stored(&self) -> Result<Array, Error> {
        Ok(Array::scalar(*self))
    }
    fn from_stored(array: Array) -> Self {
        array.to_f64()[0]
    }
}

impl StoredLeaf for Tensor {
    fn stored_type(&self) -> Type {
        self.ty().clone()
    }
    #[track_caller]
    fn to_stored(&self) -> Result<Array, Error> {
        self.try_to_array()
    }
    fn from_stored(array: Array) -> Self {
        Tensor::from_array(array)
    }
}

/// Writes a tree to a file, in the format that the name's ending says: `.npz` or `.safetensors`.
///
/// The file appears whole or not at all: it is written beside its place under another name, brought to the disk, and then takes
/// the place of a file of that name. See [the module](self) for an example.
///
/// # Errors
/// If the format is not known or its feature is off, the file cannot be written, two leaves have one path (keys of a map with
/// dots in them), or a leaf has no number that may be read, because a derivative flows to it.
#[track_caller]
pub fn save<T: Tree<Leaf: StoredLeaf> + ?Sized>(path: impl AsRef<Path>, tree: &T) -> Result<(), Error> {
    let (path, line) = (path.as_ref(), Location::caller());
    let format = Format::of_path(path).map_err(|why| failure("save", path, why, line))?;
    let entries = entries("save", format, tree, line)?;
    format.write_file(path, &entries).map_err(|why| Error::new(ErrorKind::Run, "save", why).at(Some(line)))
}

/// The bytes of the file that [`save`] would write.
///
/// ```
/// # #[cfg(feature = "npy")] {
/// use wengert::files::{Format, Load, to_bytes};
/// let bytes = to_bytes(Format::Npz, &[1.0, 2.0])?;
/// assert_eq!(Load::new().from_bytes(Format::Npz, &bytes, &[0.0, 0.0])?, [1.0, 2.0]);
/// # }
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// # Errors
/// As [`save`], but for the file.
#[track_caller]
pub fn to_bytes<T: Tree<Leaf: StoredLeaf> + ?Sized>(format: Format, tree: &T) -> Result<Vec<u8>, Error> {
    let line = Location::caller();
    let entries = entries("to_bytes", format, tree, line)?;
    format.to_bytes(&entries).map_err(|why| Error::new(ErrorKind::Run, "to_bytes", why).at(Some(line)))
}

/// The tree `like` with the leaves that [`save`] wrote to a file. Nothing may be missing, left over or of another type: see
/// [`Load`] for less than that.
///
/// ```
/// # #[cfg(feature = "npy")] {
/// use wengert::files::{load, save};
/// use wengert::prelude::*;
/// let file = std::env::temp_dir().join(format!("wengert-load-{}.npz", std::process::id()));
/// save(&file, &(Tensor::zeros(&[2]), Tensor::ones(&[3])))?;
/// let error = load(&file, &(Tensor::zeros(&[2]), [Tensor::zeros(&[4])])).unwrap_err().to_string();
/// assert!(error.contains("missing `1.0`; not in the tree: `1`"), "{error}");
/// # std::fs::remove_file(file).unwrap();
/// # }
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, is not what its name says, or does not fit the tree.
#[track_caller]
pub fn load<T: Tree<Leaf: StoredLeaf>>(path: impl AsRef<Path>, like: &T) -> Result<T::Grad, Error> {
    Load::new().file(path, like)
}

/// The names and types of the arrays in a file, in its order (`.npz`) or by name, without reading their elements.
///
/// ```
/// # #[cfg(feature = "npy")] {
/// use wengert::files::{contents, save};
/// let file = std::env::temp_dir().join(format!("wengert-contents-{}.npz", std::process::id()));
/// save(&file, &(1.0, [2.0]))?;
/// let names: Vec<String> = contents(&file)?.into_iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
/// assert_eq!(names, ["0: f64[]", "1.0: f64[]"]);
/// # std::fs::remove_file(file).unwrap();
/// # }
/// # Ok::<(), wengert::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read or is not what its name says.
#[track_caller]
pub fn contents(path: impl AsRef<Path>) -> Result<Vec<(String, Type)>, Error> {
    let (path, line) = (path.as_ref(), Location::caller());
    let format = Format::of_path(path).map_err(|why| failure("contents", path, why, line))?;
    let mut found = Vec::new();
    let scanned = format.scan(Source::File(path), &mut |name, ty, _| {
        found.push((name.to_owned(), ty.clone()));
        Ok(())
    });
    scanned.map_err(|error| failure("contents", path, error, line))?;
    Ok(found)
}

/// Something that a path decides.
type ByPath<T> = Box<dyn Fn(&str) -> T + Send + Sync>;

/// How a tree is loaded, if not as strictly as by [`load`].
///
/// Element types are those of the tree: integers of fewer bits in a file become `i64`, and half precision `f32`, both of which
/// are exact; everything else only by [`Load::convert`].
///
/// ```
/// # #[cfg(feature = "npy")] {
/// use wengert::files::{Load, save};
/// use wengert::prelude::*;
/// let file = std::env::temp_dir().join(format!("wengert-part-{}.npz", std::process::id()));
/// #[derive(Tree)]
/// struct Model {
///     base: Tensor,
///     head: Tensor,
/// }
/// save(&file, &Model { base: Tensor::from([1.0, 2.0]), head: Tensor::zeros(&[10]) })?;
///
/// // The same base below another head.
/// let fresh = Model { base: Tensor::zeros(&[2]), head: Tensor::ones(&[3]) };
/// let model = Load::new().only(|path| path.starts_with("base")).allow_extra().file(&file, &fresh)?;
/// assert_eq!((model.base.to_vec(), model.head.to_vec()), (vec![1.0, 2.0], vec![1.0; 3]));
/// # std::fs::remove_file(file).unwrap();
/// # }
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Default)]
#[must_use]
pub struct Load {
    missing: bool,
    extra: bool,
    convert: bool,
    only: Option<ByPath<bool>>,
    rename: Option<ByPath<String>>,
}

impl fmt::Debug for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Load { missing, extra, convert, only, rename } = self;
        let (only, renames) = (only.is_some(), rename.is_some());
        write!(f, "Load {{ missing: {missing}, extra: {extra}, convert: {convert}, only: {only}, rename: {renames} }}")
    }
}

impl Load {
    /// As [`load`].
    pub fn new() -> Self {
        Load::default()
    }

    /// Leaves that are not in the file keep their values.
    ///
    /// ```
    /// # #[cfg(feature = "npy")] {
    /// use wengert::files::{Format, Load, to_bytes};
    /// let bytes = to_bytes(Format::Npz, &[1.0])?;
    /// assert_eq!(Load::new().allow_missing().from_bytes(Format::Npz, &bytes, &[7.0, 8.0])?, [1.0, 8.0]);
    /// # }
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn allow_missing(mut self) -> Self {
        self.missing = true;
        self
    }

    /// Arrays of the file that are not in the tree are passed over.
    ///
    /// ```
    /// # #[cfg(feature = "npy")] {
    /// use wengert::files::{Format, Load, to_bytes};
    /// let bytes = to_bytes(Format::Npz, &[1.0, 2.0])?;
    /// assert_eq!(Load::new().allow_extra().from_bytes(Format::Npz, &bytes, &[7.0])?, [1.0]);
    /// # }
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn allow_extra(mut self) -> Self {
        self.extra = true;
        self
    }

    /// Reals of the other precision are converted to that of the tree: `f32` exactly to `f64`, `f64` to the nearest `f32`.
    /// Integers and truth values are not.
    ///
    /// ```
    /// # #[cfg(feature = "npy")] {
    /// use wengert::files::{Format, Load, to_bytes};
    /// use wengert::prelude::*;
    /// let bytes = to_bytes(Format::Npz, &Tensor::from([1.5f32, 2.5]))?;
    /// assert!(Load::new().from_bytes(Format::Npz, &bytes, &Tensor::zeros(&[2])).is_err());
    /// assert_eq!(Load::new().convert().from_bytes(Format::Npz, &bytes, &Tensor::zeros(&[2]))?.to_vec(), [1.5, 2.5]);
    /// # }
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn convert(mut self) -> Self {
        self.convert = true;
        self
    }

    /// Only the leaves whose [paths](Paths) this picks are loaded; the others keep their values. What the file has besides is
    /// still an error, unless [`Load::allow_extra`] says otherwise; what it has for the others is passed over.
    pub fn only(mut self, which: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.only = Some(Box::new(which));
        self
    }

    /// A leaf is looked for under the name that this makes of its path.
    ///
    /// ```
    /// # #[cfg(feature = "npy")] {
    /// use wengert::files::{Format, Load, to_bytes};
    /// let bytes = to_bytes(Format::Npz, &([1.0, 2.0], 3.0))?;
    /// // The part under the name `0`.
    /// let part = Load::new().rename(|path| format!("0.{path}")).allow_extra();
    /// assert_eq!(part.from_bytes(Format::Npz, &bytes, &[0.0, 0.0])?, [1.0, 2.0]);
    /// # }
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn rename(mut self, name: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.rename = Some(Box::new(name));
        self
    }

    /// The tree `like` with the leaves in a file.
    ///
    /// # Errors
    /// If the file cannot be read, is not what its name says, or does not fit the tree as far as it has to.
    #[track_caller]
    pub fn file<T: Tree<Leaf: StoredLeaf>>(&self, path: impl AsRef<Path>, like: &T) -> Result<T::Grad, Error> {
        let (path, line) = (path.as_ref(), Location::caller());
        let format = Format::of_path(path).map_err(|why| failure("load", path, why, line))?;
        let mut wanted = self.wanted(like);
        self.fill(format, Source::File(path), &mut wanted).map_err(|error| failure("load", path, error, line))?;
        Ok(filled(like, wanted))
    }

    /// As [`Load::file`], from the bytes of one.
    ///
    /// # Errors
    /// If they are not of this format, or do not fit the tree as far as they have to.
    #[track_caller]
    pub fn from_bytes<T: Tree<Leaf: StoredLeaf>>(
        &self,
        format: Format,
        bytes: &[u8],
        like: &T,
    ) -> Result<T::Grad, Error> {
        let line = Location::caller();
        let mut wanted = self.wanted(like);
        let done = self.fill(format, Source::Bytes(bytes), &mut wanted);
        done.map_err(|Problem(kind, why)| Error::new(kind, "load", why).at(Some(line)))?;
        Ok(filled(like, wanted))
    }

    /// What is looked for.
    fn wanted<T: Tree<Leaf: StoredLeaf>>(&self, like: &T) -> Vec<Wanted> {
        let mut types = Vec::with_capacity(like.size());
        like.visit_leaves(&mut |leaf| types.push(leaf.stored_type()));
        let wanted = |(path, ty): (&str, Type)| Wanted {
            name: self.rename.as_ref().map_or_else(|| name_of(path).to_owned(), |rename| rename(path)),
            is_loaded: self.only.as_ref().is_none_or(|only| only(path)),
            ty,
            found: None,
        };
        Paths::of(like).iter().zip(types).map(wanted).collect()
    }

    fn fill(&self, format: Format, source: Source<'_>, wanted: &mut [Wanted]) -> Result<(), Problem> {
        let mut places = BTreeMap::new();
        for (k, leaf) in wanted.iter().enumerate() {
            if places.insert(leaf.name.clone(), k).is_some() {
                return Err(Problem(ErrorKind::Misfit, twice(&leaf.name)));
            }
        }
        if self.only.is_some() && !wanted.iter().any(|leaf| leaf.is_loaded) {
            let names = listed(wanted.iter().map(|leaf| &leaf.name[..]));
            return Err(Problem(ErrorKind::Misfit, format!("`only` picks none of the leaves {names}")));
        }
        let (mut extra, mut misfits, mut seen) = (Vec::new(), Vec::new(), vec![false; wanted.len()]);
        format.scan(source, &mut |name, ty, read| {
            let Some(&k) = places.get(name) else {
                extra.push(name.to_owned());
                return Ok(());
            };
            let leaf = &mut wanted[k];
            seen[k] = true;
            if !leaf.is_loaded {
                return Ok(());
            }
            let converts = self.convert && leaf.ty.dtype.is_float() && ty.dtype.is_float();
            if *ty != leaf.ty && !(converts && ty.shape == leaf.ty.shape) {
                misfits.push(format!("`{name}` is {ty} in the file and {} in the tree", leaf.ty));
                return Ok(());
            }
            leaf.found = Some(converted(read()?, leaf.ty.dtype));
            Ok(())
        })?;
        let missing =
            wanted.iter().zip(seen).filter(|(leaf, seen)| leaf.is_loaded && !seen).map(|(leaf, _)| &leaf.name[..]);
        let missing: Vec<&str> = if self.missing { Vec::new() } else { missing.collect() };
        let mut problems = Vec::new();
        if !missing.is_empty() {
            problems.push(format!("missing {}", listed(missing)));
        }
        if !self.extra && !extra.is_empty() {
            problems.push(format!("not in the tree: {}", listed(extra.iter().map(|name| &name[..]))));
        }
        problems.extend(misfits);
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Problem(ErrorKind::Misfit, format!("it does not fit the tree: {}", problems.join("; ")))),
        }
    }
}

/// A leaf that is looked for in a file.
struct Wanted {
    name: String,
    ty: Type,
    is_loaded: bool,
    found: Option<Array>,
}

/// Why a file is not read or written.
struct Problem(ErrorKind, String);

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        // The operation is that of the user, not the reader's.
        Problem(error.kind(), Misfit::from(error).0)
    }
}

impl From<String> for Problem {
    fn from(why: String) -> Self {
        Problem(ErrorKind::Parse, why)
    }
}

fn failure(operation: &str, path: &Path, problem: impl Into<Problem>, line: Line) -> Error {
    let Problem(kind, why) = problem.into();
    Error::new(kind, operation, format!("{}: {why}", path.display())).at(Some(line))
}

fn twice(name: &str) -> String {
    format!("two leaves of the tree have the name `{name}`")
}

/// The name in a file of the leaf at a path.
fn name_of(path: &str) -> &str {
    if path.is_empty() { "arr_0" } else { path }
}

/// An array with real elements of this precision.
fn converted(array: Array, dtype: DType) -> Array {
    if array.dtype() == dtype {
        return array;
    }
    let numbers = array.to_f64();
    match dtype {
        DType::F32 => Array::new(array.shape(), numbers.into_iter().map(|x| x as f32).collect()),
        _ => Array::new(array.shape(), numbers),
    }
}

/// The arrays of a tree by name.
#[track_caller]
fn entries<T: Tree<Leaf: StoredLeaf> + ?Sized>(
    operation: &str,
    format: Format,
    tree: &T,
    line: Line,
) -> Result<Vec<(String, Array)>, Error> {
    let mut entries: Vec<(String, Array)> = Vec::with_capacity(tree.size());
    let mut names = std::collections::BTreeSet::new();
    for (path, leaf) in Paths::of(tree).iter().zip(leaves(tree)) {
        let name = name_of(path);
        if !names.insert(name.to_owned()) {
            return Err(Error::new(ErrorKind::Misfit, operation, twice(name)).at(Some(line)));
        }
        if let Some(why) = format.refuses(name) {
            return Err(Error::new(ErrorKind::Misfit, operation, why).at(Some(line)));
        }
        entries.push((name.to_owned(), leaf.to_stored().map_err(|error| error.at(Some(line)))?));
    }
    Ok(entries)
}

/// The tree with the arrays that were found in the places of its leaves.
fn filled<T: Tree<Leaf: StoredLeaf>>(like: &T, wanted: Vec<Wanted>) -> T::Grad {
    let mut leaves = leaves(like).into_iter().zip(wanted);
    like.grad(&mut || {
        let (leaf, wanted) = leaves.next().expect("one per leaf");
        wanted.found.map_or(leaf, T::Leaf::from_stored)
    })
}
