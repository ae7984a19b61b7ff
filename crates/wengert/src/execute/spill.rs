//! Snapshots of a loop that do not fit in memory: records of one file in a directory that the user has named.
//!
//! A record is the number of the step before which the carry was so, how many bytes it has, its parts one after the other,
//! and a checksum of all of that (CRC-32). Records have one length; each lies at its place. What is read is checked before
//! anything is computed from it: a file that was cut or changed behind our back is an error, never a wrong derivative.
//!
//! The file is made by `tempfile`: on Linux it never has a name, on other Unix systems it is created exclusively under a random
//! name that is removed before anything is written, and Windows removes it with its last handle. So nothing is left behind
//! by an error or a panic, nor by a process that is killed.

#[cfg(not(test))]
use std::fs::File as Medium;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use crc32fast::Hasher;
#[cfg(not(test))]
use tempfile::tempfile_in as file_in;
#[cfg(test)]
use tests::{Faulty as Medium, file_in};
use wengert_kernels::region::{Slice, SliceMut};

use crate::error::{Error, ErrorKind};

/// Bytes that are written or read at a time; they lie on the stack, so that the predicted peak stays right.
const BUFFER: usize = 1 << 14;
/// Bytes of a record before its parts, and after them.
const HEAD: usize = 16;
const SUM: usize = 4;

/// The snapshots of one run of a loop that lie in a file, which is made for the first of them.
#[derive(Debug)]
pub(super) struct Spill {
    directory: Arc<Path>,
    /// Bytes of a carry.
    size: u64,
    file: Option<Medium>,
}

impl Spill {
    /// For carries of this many bytes.
    pub(super) fn new(directory: Arc<Path>, size: usize) -> Self {
        Spill { directory, size: size as u64, file: None }
    }

    /// Writes the carry before a step, of these parts, in the place of this number.
    ///
    /// # Errors
    /// If there can be no file, or it takes no more.
    pub(super) fn write<'a>(
        &mut self,
        place: usize,
        step: usize,
        parts: impl Iterator<Item = Slice<'a>>,
    ) -> Result<(), Error> {
        let start = start_of(place, self.size);
        self.try_write(start, step as u64, parts)
            .map_err(|why| self.error(format!("no snapshot can be written to {}: {why}", self.directory.display())))
    }

    /// Reads the carry before a step back into these parts.
    ///
    /// # Errors
    /// If it cannot be read, or is not what was written.
    pub(super) fn read<'a>(
        &mut self,
        place: usize,
        step: usize,
        parts: impl Iterator<Item = SliceMut<'a>>,
    ) -> Result<(), Error> {
        let start = start_of(place, self.size);
        let file = self.file.as_mut().expect("what is read was written");
        let read = file.seek(SeekFrom::Start(start)).and_then(|_| read_record(file, step as u64, self.size, parts));
        read.map_err(|why| {
            let why = match why.kind() {
                io::ErrorKind::UnexpectedEof => "the file has been cut".to_owned(),
                _ => why.to_string(),
            };
            let directory = self.directory.display();
            self.error(format!("the snapshot before step {step} cannot be read back from {directory}: {why}"))
        })
    }

    fn try_write<'a>(&mut self, start: u64, step: u64, parts: impl Iterator<Item = Slice<'a>>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(file_in(&self.directory)?),
        };
        file.seek(SeekFrom::Start(start))?;
        write_record(file, step, self.size, parts)
    }

    fn error(&self, why: String) -> Error {
        Error::new(ErrorKind::Unavailable, "unwind", why)
    }
}

/// Where a record begins. A file that is longer than files can be is refused by the system.
fn start_of(place: usize, size: u64) -> u64 {
    (place as u64).saturating_mul(size.saturating_add((HEAD + SUM) as u64)).min(i64::MAX as u64)
}

// ---- records --------------------------------------------------------------------------------------

/// Calls `$each` with the bytes of every element.
macro_rules! for_bytes {
    ($numbers:expr, $each:expr) => {
        $numbers.iter().try_for_each(|number| $each(&number.to_ne_bytes()))
    };
}

/// Sets every element to what `$each` gives for as many bytes.
macro_rules! from_bytes {
    ($numbers:expr, $of:ty, $reader:expr) => {
        for number in $numbers {
            *number = <$of>::from_ne_bytes($reader.take()?);
        }
    };
}

fn write_record<'a>(
    file: &mut impl Write,
    step: u64,
    size: u64,
    parts: impl Iterator<Item = Slice<'a>>,
) -> io::Result<()> {
    let mut writer = Writer { file, buffer: [0; BUFFER], filled: 0, sum: Hasher::new() };
    writer.put(&step.to_le_bytes())?;
    writer.put(&size.to_le_bytes())?;
    for part in parts {
        match part {
            Slice::U8(x) => x.chunks(BUFFER).try_for_each(|bytes| writer.put(bytes))?,
            Slice::I64(x) => for_bytes!(x, |bytes| writer.put(bytes))?,
            Slice::F32(x) => for_bytes!(x, |bytes| writer.put(bytes))?,
            Slice::F64(x) => for_bytes!(x, |bytes| writer.put(bytes))?,
            Slice::Output(_) => unreachable!("a carry is not read where it is written"),
        }
    }
    writer.finish()
}

fn read_record<'a>(
    file: &mut impl Read,
    step: u64,
    size: u64,
    parts: impl Iterator<Item = SliceMut<'a>>,
) -> io::Result<()> {
    let left = (HEAD + SUM) as u64 + size;
    let mut reader = Reader { file, buffer: [0; BUFFER], start: 0, end: 0, left, sum: Hasher::new() };
    if [reader.take()?, reader.take()?].map(u64::from_le_bytes) != [step, size] {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "its step and its length are not what was written"));
    }
    for part in parts {
        match part {
            SliceMut::U8(x) => from_bytes!(x.iter_mut(), u8, reader),
            SliceMut::I64(x) => from_bytes!(x.iter_mut(), i64, reader),
            SliceMut::F32(x) => from_bytes!(x.iter_mut(), f32, reader),
            SliceMut::F64(x) => from_bytes!(x.iter_mut(), f64, reader),
        }
    }
    reader.finish()
}

/// Writes a record, a buffer at a time: small ones are one call of the system.
struct Writer<'a, F> {
    file: &'a mut F,
    buffer: [u8; BUFFER],
    filled: usize,
    /// Of what has left the buffer.
    sum: Hasher,
}

impl<F: Write> Writer<'_, F> {
    /// No more bytes than the buffer has.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.filled + bytes.len() > BUFFER {
            self.sum.update(&self.buffer[..self.filled]);
            self.file.write_all(&self.buffer[..self.filled])?;
            self.filled = 0;
        }
        self.buffer[self.filled..self.filled + bytes.len()].copy_from_slice(bytes);
        self.filled += bytes.len();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        let mut sum = self.sum.clone();
        sum.update(&self.buffer[..self.filled]);
        self.put(&sum.finalize().to_le_bytes())?;
        self.file.write_all(&self.buffer[..self.filled])
    }
}

/// Reads a record likewise.
struct Reader<'a, F> {
    file: &'a mut F,
    buffer: [u8; BUFFER],
    /// What was read and not taken yet.
    start: usize,
    end: usize,
    /// Bytes of the record that were not read yet, the checksum among them.
    left: u64,
    /// Of what was read.
    sum: Hasher,
}

impl<F: Read> Reader<'_, F> {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        if self.end - self.start < N {
            self.refill()?;
        }
        let bytes = self.buffer[self.start..].first_chunk().expect("a refill brings more bytes than an element has");
        self.start += N;
        Ok(*bytes)
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let more = (BUFFER - self.end).min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = &mut self.buffer[self.end..self.end + more];
        self.file.read_exact(read)?;
        self.left -= more as u64;
        // The checksum is not part of itself.
        let outside = (SUM as u64).saturating_sub(self.left) as usize;
        self.sum.update(&read[..more.saturating_sub(outside)]);
        self.end += more;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        let wanted = u32::from_le_bytes(self.take()?);
        if self.sum.finalize() == wanted {
            return Ok(());
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "its checksum is not that of what was written"))
    }
}

#[cfg(test)]
mod tests;
