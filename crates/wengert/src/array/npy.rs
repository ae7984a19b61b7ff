//! Arrays in the files of NumPy: `.npy` is one array, `.npz` a zip archive of them by name.
//!
//! An `.npy` file is a magic word, a version, the length of the header, the header (a Python dictionary in one line,
//! such as `{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }`) and the elements. Nothing that a header
//! claims is believed before the bytes are there: memory grows with what is read, and a size that overflows is
//! refused.

use std::collections::BTreeSet;
use std::io::{self, Read, Seek, Write};

use winnow::ascii::{dec_uint, multispace0};
use winnow::combinator::{alt, delimited, opt, separated, terminated};
use winnow::error::EmptyError;
use winnow::prelude::*;
use winnow::token::take_till;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::stored::{Stored, StoredKind, Visit, little_endian};
use super::{Array, DType, Strided, Type, element_count};
use crate::error::{Error, ErrorKind};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// The longest header that is read, as in NumPy.
const MAX_HEADER: usize = 10_000;

fn unreadable(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Parse, "read_npy", why)
}

fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Run, "write_npy", error.to_string())
}

impl Array {
    /// Reads an array from an `.npy` file. Smaller integers become `i64` and half precision `f32`, which is exact; both
    /// byte orders and both orders of elements are known.
    ///
    /// ```
    /// use wengert::Array;
    /// let mut file = Vec::new();
    /// Array::new(&[2], vec![1.5, -0.0]).write_npy(&mut file)?;
    /// assert_eq!(Array::read_npy(&file[..])?.elements::<f64>().unwrap(), [1.5, -0.0]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If it is no such file, it ends before the elements that it claims, or they are of another kind: complex, text,
    /// records, objects, unsigned 64-bit integers.
    pub fn read_npy(mut reader: impl Read) -> Result<Self, Error> {
        Layout::read(&mut reader)?.read_elements(reader)
    }

    /// Writes the array as an `.npy` file.
    ///
    /// # Errors
    /// If writing fails, or there are too many axes for a header that NumPy reads.
    pub fn write_npy(&self, mut writer: impl Write) -> Result<(), Error> {
        let (descr, bytes) = (descr(self.dtype()), little_endian(&self.data));
        let mut shape: String = self.shape().iter().map(|length| format!("{length}, ")).collect();
        if self.shape().len() > 1 {
            shape.truncate(shape.len() - 2);
        }
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}), }}", shape.trim_end());
        // Elements begin at a multiple of 64 bytes.
        let before = MAGIC.len() + 4;
        let padding = (before + header.len() + 1).next_multiple_of(64) - (before + header.len() + 1);
        header.extend(std::iter::repeat_n(' ', padding).chain(['\n']));
        let length = u16::try_from(header.len()).ok().filter(|&length| usize::from(length) <= MAX_HEADER);
        let length = length.ok_or_else(|| unwritable(format!("{} axes are too many", self.shape().len())))?;
        let parts: [&[u8]; 5] = [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), &bytes];
        parts.iter().try_for_each(|part| writer.write_all(part)).map_err(unwritable)
    }

    /// Reads the arrays of an `.npz` file with their names, in its order.
    ///
    /// # Errors
    /// If it is no such file, an entry cannot be read as by [`Array::read_npy`], or two have one name.
    pub fn read_npz(reader: impl Read + Seek) -> Result<Vec<(String, Self)>, Error> {
        let mut arrays = Vec::new();
        scan_npz(reader, &mut |name, _, read| {
            arrays.push((name.to_owned(), read()?));
            Ok(())
        })?;
        Ok(arrays)
    }

    /// Writes arrays with their names as an `.npz` file, without compression.
    ///
    /// # Errors
    /// If writing fails, or two arrays have one name.
    pub fn write_npz<'a>(
        writer: impl Write + Seek,
        arrays: impl IntoIterator<Item = (&'a str, &'a Self)>,
    ) -> Result<(), Error> {
        let mut archive = ZipWriter::new(writer);
        // Large files: without the mark, an entry may have at most 4 GiB.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true);
        for (name, array) in arrays {
            archive.start_file(format!("{name}.npy"), options).map_err(unwritable)?;
            array.write_npy(&mut archive)?;
        }
        archive.finish().map(drop).map_err(unwritable)
    }
}

/// Visits the entries of an `.npz` file in its order. Elements are read where they are asked for: what an entry claims to be is
/// known before memory is taken for it.
pub(crate) fn scan_npz(reader: impl Read + Seek, visit: &mut Visit<'_>) -> Result<(), Error> {
    let mut archive = ZipArchive::new(reader).map_err(|error| unreadable(format!("it is no .npz file: {error}")))?;
    let mut seen = BTreeSet::new();
    for k in 0..archive.len() {
        let entry = archive.by_index(k).map_err(|error| unreadable(format!("entry {k}: {error}")))?;
        let file = String::from_utf8_lossy(entry.name_raw()).into_owned();
        let within = |why: String| unreadable(format!("entry {file:?}: {why}"));
        let Some(name) = file.strip_suffix(".npy") else { return Err(within("it is not an .npy file".to_owned())) };
        if !seen.insert(name.to_owned()) {
            return Err(within("there are two of this name".to_owned()));
        }
        let size = entry.size();
        let mut bytes = entry.take(size);
        let layout = Layout::read(&mut bytes).map_err(|error| within(error.to_string()))?;
        let ty = layout.ty.clone();
        let read = &mut || {
            let array = layout.read_elements(&mut bytes).map_err(|error| within(error.to_string()))?;
            // The checksum is compared where the entry ends, and not before.
            match bytes.get_mut().read(&mut [0]) {
                Ok(0) => Ok(array),
                Ok(_) => Err(within(format!("more follows than its header says, which is {}", layout.ty))),
                Err(error) => Err(within(error.to_string())),
            }
        };
        visit(name, &ty, read)?;
    }
    Ok(())
}

/// How the elements of a file lie in it.
struct Layout {
    stored: Stored,
    fortran: bool,
    ty: Type,
    count: usize,
}

impl Layout {
    fn read(reader: &mut impl Read) -> Result<Self, Error> {
        let Header { descr, fortran, shape } = read_header(reader)?;
        let stored = stored(&descr)?;
        let ty = Type { dtype: stored.dtype(), shape };
        let count = element_count(&ty.shape).ok_or_else(|| unreadable(format!("{ty} does not fit in memory")))?;
        Ok(Layout { stored, fortran, ty, count })
    }

    fn read_elements(&self, reader: impl Read) -> Result<Array, Error> {
        let Layout { stored, ty, count, .. } = self;
        let need = count * stored.width();
        let mut bytes = Vec::new();
        reader.take(need as u64).read_to_end(&mut bytes).map_err(|error| unreadable(error.to_string()))?;
        if bytes.len() < need {
            let found = bytes.len();
            return Err(unreadable(format!("its header says {ty}, which takes {need} bytes, and only {found} follow")));
        }
        let data = stored.decode(&bytes);
        if !self.fortran {
            return Ok(Array::from_data(ty.shape.clone(), data));
        }
        // The first axis runs fastest: its elements are neighbours.
        let mut strides = Vec::with_capacity(ty.rank());
        let mut stride = 1isize;
        for &length in &ty.shape {
            strides.push(stride);
            stride *= length.cast_signed();
        }
        let flat = Array::from_data(vec![*count], data);
        Ok(flat.pick(&ty.shape, Strided::new(&ty.shape, &strides, 0)))
    }
}

// ---- the header ---------------------------------------------------------------------------------

struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<usize>,
}

fn read_header(reader: &mut impl Read) -> Result<Header, Error> {
    let ended = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => unreadable("it ends within its header"),
        _ => unreadable(error.to_string()),
    };
    let mut start = [0; 8];
    reader.read_exact(&mut start).map_err(ended)?;
    if start[..6] != MAGIC[..] {
        return Err(unreadable("it is not an .npy file: it does not begin as one"));
    }
    let mut length = [0; 4];
    let width = match start[6] {
        1 => 2,
        2 | 3 => 4,
        version => return Err(unreadable(format!("version {version} of the format is not known"))),
    };
    reader.read_exact(&mut length[..width]).map_err(ended)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_HEADER {
        return Err(unreadable(format!("its header is {length} bytes long; at most {MAX_HEADER} are read")));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).map_err(ended)?;
    let text = String::from_utf8(text).ok();
    let header = text.as_deref().and_then(|text| header.parse(text).ok());
    header.ok_or_else(|| unreadable("its header is not the dictionary that NumPy writes for plain arrays"))
}

/// A value in the header.
enum HeaderValue {
    Text(String),
    Truth(bool),
    Shape(Vec<usize>),
}

fn header(input: &mut &str) -> Result<Header, EmptyError> {
    let entry = (spaced(quoted), spaced(':'), spaced(alt((text, truth, shape)))).map(|(key, _, value)| (key, value));
    let entries: Vec<(&str, HeaderValue)> =
        delimited(spaced('{'), terminated(separated(0.., entry, spaced(',')), opt(spaced(','))), spaced('}'))
            .parse_next(input)?;
    let (mut descr, mut fortran, mut lengths) = (None, None, None);
    for entry in entries {
        match entry {
            ("descr", HeaderValue::Text(text)) => descr = Some(text),
            ("fortran_order", HeaderValue::Truth(truth)) => fortran = Some(truth),
            ("shape", HeaderValue::Shape(shape)) => lengths = Some(shape),
            _ => return Err(EmptyError),
        }
    }
    match (descr, fortran, lengths) {
        (Some(descr), Some(fortran), Some(shape)) => Ok(Header { descr, fortran, shape }),
        _ => Err(EmptyError),
    }
}

/// A parser between blanks.
fn spaced<'s, T>(parser: impl Parser<&'s str, T, EmptyError>) -> impl Parser<&'s str, T, EmptyError> {
    delimited(multispace0, parser, multispace0)
}

fn quoted<'s>(input: &mut &'s str) -> Result<&'s str, EmptyError> {
    let within = |quote: char| delimited(quote, take_till(0.., [quote, '\\']), quote);
    alt((within('\''), within('"'))).parse_next(input)
}

fn text(input: &mut &str) -> Result<HeaderValue, EmptyError> {
    quoted.map(|text| HeaderValue::Text(text.to_owned())).parse_next(input)
}

fn truth(input: &mut &str) -> Result<HeaderValue, EmptyError> {
    alt(("True".value(true), "False".value(false))).map(HeaderValue::Truth).parse_next(input)
}

fn shape(input: &mut &str) -> Result<HeaderValue, EmptyError> {
    // Python 2 wrote `3L`.
    let length = terminated(dec_uint::<_, u64, _>, opt('L')).try_map(usize::try_from);
    let lengths = separated(0.., spaced(length), ',');
    delimited('(', terminated(lengths, (opt(','), multispace0)), ')').map(HeaderValue::Shape).parse_next(input)
}

/// How elements of NumPy's type are stored.
fn stored(descr: &str) -> Result<Stored, Error> {
    let unknown = || {
        let why = "are not read; convert them to bool, an integer of at most 63 bits or a float of at most 64";
        unreadable(format!("elements of NumPy's type {descr:?} {why}"))
    };
    let big_endian = match descr.chars().next() {
        Some('<' | '|' | '=') => false,
        Some('>') => true,
        _ => return Err(unknown()),
    };
    let kind = match &descr[1..] {
        "b1" | "?" => StoredKind::Bool,
        "i1" => StoredKind::Integer(1, true),
        "i2" => StoredKind::Integer(2, true),
        "i4" => StoredKind::Integer(4, true),
        "i8" => StoredKind::Integer(8, true),
        "u1" => StoredKind::Integer(1, false),
        "u2" => StoredKind::Integer(2, false),
        "u4" => StoredKind::Integer(4, false),
        "f2" => StoredKind::Half,
        "f4" => StoredKind::F32,
        "f8" => StoredKind::F64,
        _ => return Err(unknown()),
    };
    Ok(Stored { kind, big_endian })
}

/// NumPy's name for the elements that [`little_endian`] writes.
fn descr(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "|b1",
        DType::I64 => "<i8",
        DType::F32 => "<f4",
        DType::F64 => "<f8",
    }
}
