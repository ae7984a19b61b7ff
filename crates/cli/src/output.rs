//! Where results go: a file that is written as a whole, or the standard output.

use std::io::{self, Write};
use std::path::Path;

use anstream::{AutoStream, ColorChoice};

use crate::failure::Failure;

/// Writes `text` to the file, or to the standard output if there is none.
///
/// A file is written beside its place and then renamed into it, so that there is never a part of
/// it; it keeps the permissions of the file it replaces. A reader that goes away, as in
/// `wengert … | head`, is no failure.
pub(crate) fn write(text: &str, file: Option<&Path>, color: ColorChoice) -> Result<(), Failure> {
    let Some(path) = file else {
        let mut stdout = AutoStream::new(io::stdout().lock(), color);
        let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
        return match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(Failure::File(format!("cannot write the standard output: {error}"))),
            Ok(()) => Ok(()),
        };
    };
    let plain = anstream::adapter::strip_str(text).to_string();
    write_bytes(plain.as_bytes(), path)
}

/// Writes the bytes to the file as a whole.
pub(crate) fn write_bytes(bytes: &[u8], path: &Path) -> Result<(), Failure> {
    replace(path, bytes).map_err(|error| Failure::File(format!("cannot write `{}`: {error}", path.display())))
}

/// Puts a file with these contents at `path`.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    // A link stays a link: what it points at is replaced.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let existing = target.metadata().ok();
    if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
        // A device or a pipe, such as /dev/null, cannot be replaced; there is nothing to keep whole.
        return std::fs::OpenOptions::new().write(true).open(&target)?.write_all(contents);
    }
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".wengert-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What the umask leaves of this, as for any new file.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    let mut temporary = builder.tempfile_in(folder)?;
    temporary.write_all(contents)?;
    if let Some(metadata) = existing {
        temporary.as_file().set_permissions(metadata.permissions())?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Shows a failure on the standard error.
pub(crate) fn complain(failure: &Failure, color: ColorChoice) {
    let mut stderr = AutoStream::new(io::stderr().lock(), color);
    // If even this cannot be written, the exit code still says so.
    let _ = writeln!(stderr, "{failure}");
}
