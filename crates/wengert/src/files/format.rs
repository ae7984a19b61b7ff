//! The formats of files: how arrays with names are written and read in each.

use std::io::{BufWriter, Cursor, Seek, Write};
use std::path::Path;

use super::Problem;
use crate::array::Array;
#[cfg(feature = "npy")]
use crate::array::scan_npz;
use crate::array::stored::Visit;
#[cfg(feature = "safetensors")]
use crate::array::stored::{Stored, StoredKind, little_endian};
#[cfg(feature = "safetensors")]
use crate::array::{DType, Type};
use crate::error::ErrorKind;

/// A format of files that hold arrays by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// NumPy's archive of arrays, `.npz`.
    #[cfg(feature = "npy")]
    Npz,
    /// The format of Hugging Face, `.safetensors`, which PyTorch, JAX, candle and others read.
    #[cfg(feature = "safetensors")]
    Safetensors,
}

/// Where a file is read from.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    File(&'a Path),
    Bytes(&'a [u8]),
}

impl Format {
    /// The format that the ending of a name says.
    pub(super) fn of_path(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(|ending| ending.to_str()) {
            #[cfg(feature = "npy")]
            Some("npz") => Ok(Format::Npz),
            #[cfg(not(feature = "npy"))]
            Some("npz") => Err("files `.npz` need the feature `npy`".to_owned()),
            #[cfg(feature = "safetensors")]
            Some("safetensors") => Ok(Format::Safetensors),
            #[cfg(not(feature = "safetensors"))]
            Some("safetensors") => Err("files `.safetensors` need the feature `safetensors`".to_owned()),
            _ => Err("the name has to end in `.npz` or `.safetensors`, which says the format".to_owned()),
        }
    }

    /// Why an array cannot have a name.
    pub(super) fn refuses(self, name: &str) -> Option<String> {
        let is_reserved = match self {
            #[cfg(feature = "npy")]
            Format::Npz => false,
            #[cfg(feature = "safetensors")]
            Format::Safetensors => name == "__metadata__",
        };
        is_reserved.then(|| format!("a leaf cannot be called `{name}` in a `.safetensors` file"))
    }

    /// Writes arrays beside the place of a file, and then puts them there.
    pub(super) fn write_file(self, path: &Path, entries: &[(String, Array)]) -> Result<(), String> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |what: &str, error: &dyn std::fmt::Display| format!("{}: {what}: {error}", path.display());
        let mut options = tempfile::Builder::new();
        options.prefix(".unfinished-");
        // As a file that is made in the ordinary way; the user's mask takes away from it.
        #[cfg(unix)]
        options.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = options.tempfile_in(folder).map_err(|error| failed("it cannot be made", &error))?;
        let mut writer = BufWriter::new(file.as_file_mut());
        self.write(&mut writer, entries).map_err(|why| failed("it cannot be written", &why))?;
        let flushed = writer.flush();
        drop(writer);
        flushed.and_then(|()| file.as_file().sync_all()).map_err(|error| failed("it cannot be written", &error))?;
        file.persist(path).map(drop).map_err(|error| failed("it cannot be put in its place", &error.error))
    }

    pub(super) fn to_bytes(self, entries: &[(String, Array)]) -> Result<Vec<u8>, String> {
        let mut bytes = Cursor::new(Vec::new());
        self.write(&mut bytes, entries)?;
        Ok(bytes.into_inner())
    }

    fn write(self, writer: &mut (impl Write + Seek), entries: &[(String, Array)]) -> Result<(), String> {
        match self {
            #[cfg(feature = "npy")]
            Format::Npz => {
                let arrays = entries.iter().map(|(name, array)| (&name[..], array));
                Array::write_npz(writer, arrays).map_err(|error| error.to_string())
            }
            #[cfg(feature = "safetensors")]
            Format::Safetensors => write_safetensors(writer, entries),
        }
    }

    /// Visits the arrays in a file with their names.
    pub(super) fn scan(self, source: Source<'_>, visit: &mut Visit<'_>) -> Result<(), Problem> {
        match self {
            #[cfg(feature = "npy")]
            Format::Npz => {
                match source {
                    Source::File(path) => {
                        let file = std::fs::File::open(path);
                        let file = file.map_err(|error| Problem(ErrorKind::Run, error.to_string()))?;
                        scan_npz(std::io::BufReader::new(file), visit)?;
                    }
                    Source::Bytes(bytes) => scan_npz(Cursor::new(bytes), visit)?,
                }
                Ok(())
            }
            #[cfg(feature = "safetensors")]
            Format::Safetensors => match source {
                Source::File(path) => {
                    let bytes = std::fs::read(path);
                    let bytes = bytes.map_err(|error| Problem(ErrorKind::Run, error.to_string()))?;
                    scan_safetensors(&bytes, visit)
                }
                Source::Bytes(bytes) => scan_safetensors(bytes, visit),
            },
        }
    }
}

// ---- safetensors --------------------------------------------------------------------------------

#[cfg(feature = "safetensors")]
fn write_safetensors(writer: &mut impl Write, entries: &[(String, Array)]) -> Result<(), String> {
    use safetensors::tensor::{Dtype, TensorView, serialize};
    let dtype = |dtype: DType| match dtype {
        DType::Bool => Dtype::BOOL,
        DType::I64 => Dtype::I64,
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
    };
    let bytes: Vec<Vec<u8>> = entries.iter().map(|(_, array)| little_endian(array.data())).collect();
    let views = entries.iter().zip(&bytes).map(|((name, array), bytes)| {
        Ok((name, TensorView::new(dtype(array.dtype()), array.shape().to_vec(), bytes)?))
    });
    let views: Result<Vec<_>, safetensors::SafeTensorError> = views.collect();
    let file = views.and_then(|views| serialize(views, None)).map_err(|error| error.to_string())?;
    writer.write_all(&file).map_err(|error| error.to_string())
}

/// Visits the arrays, by name. The library has checked that their places in the file neither overlap nor leave it.
#[cfg(feature = "safetensors")]
fn scan_safetensors(bytes: &[u8], visit: &mut Visit<'_>) -> Result<(), Problem> {
    let file = safetensors::SafeTensors::deserialize(bytes)
        .map_err(|error| format!("it is not a `.safetensors` file: {error}"))?;
    let mut entries = file.tensors();
    entries.sort_by(|(x, _), (y, _)| x.cmp(y));
    for (name, view) in entries {
        let kind = stored_kind(view.dtype());
        let kind = kind.ok_or_else(|| {
            let why = "are not read; convert them to bool, an integer of at most 63 bits or a float of at most 64";
            format!("`{name}`: elements of the type {} {why}", view.dtype())
        })?;
        let stored = Stored { kind, big_endian: false };
        let ty = Type::new(stored.dtype(), view.shape());
        let read = &mut || Ok(Array::from_data(ty.shape.clone(), stored.decode(view.data())));
        visit(&name, &ty, read)?;
    }
    Ok(())
}

#[cfg(feature = "safetensors")]
fn stored_kind(dtype: safetensors::Dtype) -> Option<StoredKind> {
    use safetensors::Dtype;
    Some(match dtype {
        Dtype::BOOL => StoredKind::Bool,
        Dtype::I8 => StoredKind::Integer(1, true),
        Dtype::I16 => StoredKind::Integer(2, true),
        Dtype::I32 => StoredKind::Integer(4, true),
        Dtype::I64 => StoredKind::Integer(8, true),
        Dtype::U8 => StoredKind::Integer(1, false),
        Dtype::U16 => StoredKind::Integer(2, false),
        Dtype::U32 => StoredKind::Integer(4, false),
        Dtype::F16 => StoredKind::Half,
        Dtype::BF16 => StoredKind::Brain,
        Dtype::F32 => StoredKind::F32,
        Dtype::F64 => StoredKind::F64,
        // 64 bits without a sign, complex numbers, and those of 8 bits and less.
        _ => return None,
    })
}
