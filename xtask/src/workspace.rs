//! The files of the repository, as the checks read them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Failure;

/// Folders that hold no source: build outputs, and what tools keep for themselves.
const SKIPPED: &[&str] = &["target", ".git", ".venv", "__pycache__"];

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask stands in the root of the repository").to_owned()
}

/// A text file.
pub(crate) struct Source {
    /// From the root, with slashes.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The text files of the repository, sorted by path.
pub(crate) struct Workspace {
    pub(crate) files: Vec<Source>,
}

impl Workspace {
    /// Reads every text file below the root.
    pub(crate) fn load() -> Result<Self, Failure> {
        Self::read(&root())
    }

    /// Reads every text file below the root of a checkout.
    pub(crate) fn read(root: &Path) -> Result<Self, Failure> {
        let mut files = Vec::new();
        collect(root, root, &mut files).map_err(|error| format!("cannot read the repository: {error}"))?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// The text of the file at `path`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// The files whose names end so.
    pub(crate) fn ending(&self, end: &str) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(move |file| file.path.ends_with(end))
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<Source>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let name = entry.file_name();
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
            collect(root, &path, files)?;
        } else if kind.is_file() && name != ".git"
            // A file that is not text is data.
            && let Ok(text) = String::from_utf8(fs::read(&path)?)
        {
            let path = path.strip_prefix(root).expect("it was found below the root");
            let path = path.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
            files.push(Source { path, text });
        }
    }
    Ok(())
}

#[cfg(test)]
impl Workspace {
    /// A repository of these files, for tests of the checks.
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let file = |&(path, text): &(&str, &str)| Source { path: path.to_owned(), text: text.to_owned() };
        Self { files: files.iter().map(file).collect() }
    }
}
