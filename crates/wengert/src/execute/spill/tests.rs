//! Snapshots in files, and files that fail: full, cut and changed ones, directories that are none.

use std::cell::Cell;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use wengert_kernels::region::{Slice, SliceMut};

use super::{BUFFER, Spill, read_record, write_record};
use crate::prelude::*;
use crate::{Compile, Error, While};

// ---- files that fail ------------------------------------------------------------------------------

thread_local! {
    /// What happens to the files of loops that this thread runs.
    static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    /// How many files it has made, and the largest number of bytes that one had.
    static MADE: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// After this many bytes there is no more room.
    Full(u64),
    /// Before the first byte is read, the last ones are cut off.
    Cut(u64),
    /// Before the first byte is read, the one at this place is changed.
    Changed(u64),
}

/// A file that fails as the thread says.
#[derive(Debug)]
pub(super) struct Faulty {
    file: File,
    is_read: bool,
}

pub(super) fn file_in(directory: &Path) -> io::Result<Faulty> {
    let file = tempfile::tempfile_in(directory)?;
    let (count, most) = MADE.get();
    MADE.set((count + 1, most));
    Ok(Faulty { file, is_read: false })
}

impl Write for Faulty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.file.stream_position()? + bytes.len() as u64;
        if let Some(Fault::Full(most)) = FAULT.get()
            && end > most
        {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let (count, most) = MADE.get();
        MADE.set((count, most.max(end)));
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Read for Faulty {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if !std::mem::replace(&mut self.is_read, true) {
            let place = self.file.stream_position()?;
            match FAULT.get() {
                Some(Fault::Cut(count)) => self.file.set_len(self.file.metadata()?.len() - count)?,
                Some(Fault::Changed(at)) => {
                    let mut byte = [0];
                    self.file.seek(SeekFrom::Start(at))?;
                    self.file.read_exact(&mut byte)?;
                    self.file.seek(SeekFrom::Start(at))?;
                    self.file.write_all(&[byte[0] ^ 1])?;
                }
                Some(Fault::Full(_)) | None => {}
            }
            self.file.seek(SeekFrom::Start(place))?;
        }
        self.file.read(bytes)
    }
}

impl Seek for Faulty {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

// ---- records --------------------------------------------------------------------------------------

/// A carry with every kind of element.
type Parts = (Vec<u8>, Vec<i64>, Vec<f32>, Vec<f64>);

/// Every kind of element, with bits that arithmetic would not keep.
fn parts() -> Parts {
    let nan = f64::from_bits(0x7ff0_0000_0000_1234);
    let many = (0..5000).map(|k| f64::from(k).sqrt()).collect::<Vec<f64>>();
    (vec![1, 0, 1], vec![i64::MIN, -1, 7], vec![-0.0, f32::NAN, 1e-40], [vec![nan, -0.0], many].concat())
}

fn size((a, b, c, d): &Parts) -> u64 {
    (size_of_val(&a[..]) + size_of_val(&b[..]) + size_of_val(&c[..]) + size_of_val(&d[..])) as u64
}

fn record(step: u64) -> Vec<u8> {
    let all = parts();
    let mut bytes = Vec::new();
    let slices = [Slice::U8(&all.0), Slice::I64(&all.1), Slice::F32(&all.2), Slice::F64(&all.3)];
    write_record(&mut bytes, step, size(&all), slices.into_iter()).expect("memory takes all");
    bytes
}

/// Reads a record of step 5.
fn read(bytes: &[u8]) -> io::Result<Parts> {
    let all = parts();
    let size = size(&all);
    let mut got = (vec![0; 3], vec![0; 3], vec![0.0; 3], vec![0.0; all.3.len()]);
    let slices =
        [SliceMut::U8(&mut got.0), SliceMut::I64(&mut got.1), SliceMut::F32(&mut got.2), SliceMut::F64(&mut got.3)];
    read_record(&mut &bytes[..], 5, size, slices.into_iter())?;
    Ok(got)
}

#[test]
fn a_record_comes_back_to_the_bit() {
    let (wanted, got) = (parts(), read(&record(5)).expect("it is whole"));
    assert!(record(5).len() > 2 * BUFFER, "more than a buffer or two");
    assert_eq!((&got.0, &got.1), (&wanted.0, &wanted.1));
    assert!(got.2.iter().zip(&wanted.2).all(|(got, wanted)| got.to_bits() == wanted.to_bits()));
    assert!(got.3.iter().zip(&wanted.3).all(|(got, wanted)| got.to_bits() == wanted.to_bits()));
}

#[test]
fn every_changed_bit_and_every_cut_is_found() {
    let whole = record(5);
    // Head, parts, the places around the ends of the buffer, and the checksum.
    let places = (0..200).chain(BUFFER - 12..BUFFER + 12).chain(2 * BUFFER - 9..2 * BUFFER + 9);
    for place in places.chain(whole.len() - 40..whole.len()) {
        let mut bytes = whole.clone();
        bytes[place] ^= 1 << (place % 8);
        assert_eq!(read(&bytes).expect_err("it was changed").kind(), io::ErrorKind::InvalidData, "{place}");
        assert_eq!(read(&whole[..place]).expect_err("it was cut").kind(), io::ErrorKind::UnexpectedEof, "{place}");
    }
    assert!(read(&record(6)).is_err(), "the record of another step");
}

#[test]
fn records_of_every_length_around_a_buffer_come_back() {
    for length in (0..40).chain(BUFFER - 40..BUFFER + 40).chain(2 * BUFFER - 24..2 * BUFFER + 4) {
        let wanted: Vec<u8> = (0..length).map(|k| (k * 7 % 251) as u8).collect();
        let (mut bytes, mut got) = (Vec::new(), vec![0; length]);
        write_record(&mut bytes, 3, length as u64, [Slice::U8(&wanted)].into_iter()).expect("memory takes all");
        assert_eq!(bytes.len(), length + 20);
        read_record(&mut &bytes[..], 3, length as u64, [SliceMut::U8(&mut got)].into_iter()).expect("it is whole");
        assert_eq!(got, wanted);
    }
}

/// The system's own full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let mut full = OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let written = write_record(&mut full, 0, 8, [Slice::F64(&[1.0])].into_iter());
    assert_eq!(written.expect_err("it is full").kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_panic_leaves_no_file_behind() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut spill = Spill::new(directory.path().into(), 8);
        spill.write(3, 4, [Slice::F64(&[1.0])].into_iter()).expect("there is room");
        panic!("in the middle");
    }));
    assert!(panicked.is_err());
    assert_eq!(left(directory.path()), 0);
}

/// How many files there are.
fn left(directory: &Path) -> usize {
    directory.read_dir().expect("it is there").count()
}

// ---- loops ----------------------------------------------------------------------------------------

/// Carries of 8,008 bytes for 300 steps, in memory for about ten.
const LIMIT: usize = 200_000;
const SIZE: u64 = 8_008;

fn gradient(loops: While, x: &Tensor) -> Tensor {
    grad(x, |x| {
        let start = (Tensor::from(0i64), x.clone());
        let step = |(n, c): (Tensor, Tensor)| (n + 1i64, (&c * &x).sin() + 0.5);
        loops.run(start, |(n, c)| n.lt(300i64).and(c.sum().gt(1e-3)), step).1.sum()
    })
}

fn point() -> Tensor {
    Tensor::linspace(0.2, 0.9, 1000)
}

/// The gradient with the files of this directory, how many were made, and how many bytes the largest had.
fn spilled(loops: While, directory: &Path, fault: Option<Fault>) -> Result<(Vec<f64>, usize, u64), Error> {
    FAULT.set(fault);
    MADE.set((0, 0));
    let compile = Compile::new().threads(1).memory(LIMIT).spill(directory);
    let f = compile.function(move |x: Tensor| gradient(loops, &x));
    let peak = f.plan(point()).expect("it fits").peak_bytes();
    assert!(peak <= LIMIT && peak + 2 * SIZE as usize > LIMIT, "{peak} bytes");
    let result = f.try_call(point());
    FAULT.set(None);
    let (files, most) = MADE.get();
    result.map(|gradient| (gradient.to_vec(), files, most))
}

#[test]
fn a_loop_that_spills_has_the_same_bits() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let wanted = gradient(While::new(), &point()).to_vec();
    let (got, files, most) = spilled(While::new(), directory.path(), None).expect("there is room");
    assert_eq!(got, wanted);
    assert_eq!(files, 1);
    let (record, kept) = (SIZE + 20, most / (SIZE + 20));
    assert!(most.is_multiple_of(record) && (270..299).contains(&kept), "{kept} of 299 carries are in the file");
    assert_eq!(left(directory.path()), 0);
}

/// `While::snapshots` bounds how many are kept, in memory and in the file together.
#[test]
fn a_bound_of_snapshots_holds_for_the_file_too() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let wanted = gradient(While::new(), &point()).to_vec();
    let (got, files, most) = spilled(While::new().snapshots(60), directory.path(), None).expect("there is room");
    assert_eq!((got, files), (wanted.clone(), 1));
    let kept = most / (SIZE + 20);
    assert!((30..60).contains(&kept), "{kept} of 60 carries are in the file");
    // As many as there is room for need no file.
    let f = Compile::new().threads(1).memory(LIMIT).spill(directory.path());
    MADE.set((0, 0));
    assert_eq!(f.function(|x: Tensor| gradient(While::new().snapshots(5), &x)).call(point()).to_vec(), wanted);
    assert_eq!(MADE.get().0, 0);
}

/// Without a limit of memory there is nothing that does not fit.
#[test]
fn without_a_limit_nothing_is_written() {
    MADE.set((0, 0));
    let f = Compile::new().spill("/nowhere").function(|x: Tensor| gradient(While::new(), &x));
    assert_eq!(f.call(point()).to_vec(), gradient(While::new(), &point()).to_vec());
    assert_eq!(MADE.get().0, 0);
}

/// That a run fails, at a line of this file, for this reason, and leaves nothing.
#[track_caller]
fn check_fails(directory: &Path, fault: Option<Fault>, why: &[&str]) {
    let error = spilled(While::new(), directory, fault).expect_err("that is no gradient");
    let text = error.to_string();
    assert!(error.line().is_some_and(|line| line.file().ends_with("spill/tests.rs")), "{text}");
    assert!(why.iter().all(|why| text.contains(why)), "{text}");
    assert!(!directory.is_dir() || directory.starts_with("/proc") || left(directory) == 0, "something was left");
}

#[test]
fn what_goes_wrong_with_a_file_is_an_error_with_the_line() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let path = directory.path();
    let not_written = "no snapshot can be written to";
    check_fails(path, Some(Fault::Full(0)), &[not_written, "no storage space"]);
    check_fails(path, Some(Fault::Full(100_000)), &[not_written, "no storage space"]);
    check_fails(path, Some(Fault::Cut(1)), &["cannot be read back", "has been cut"]);
    check_fails(path, Some(Fault::Cut(1_000_000)), &["cannot be read back", "has been cut"]);
    // In the parts, and in the head, of the record that is read last.
    check_fails(path, Some(Fault::Changed(5_000)), &["cannot be read back", "checksum"]);
    check_fails(path, Some(Fault::Changed(3)), &["cannot be read back", "its step"]);
    check_fails(&path.join("missing"), None, &[not_written, "missing"]);
    let file = path.join("file");
    File::create(&file).expect("there is room");
    check_fails(&file, None, &[not_written]);
}

/// Nobody may write there, whoever runs the tests.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    check_fails(Path::new("/proc"), None, &["no snapshot can be written to /proc"]);
}

/// A call that failed has no effect on the next one.
#[test]
fn a_call_after_one_that_failed_is_right() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let f = Compile::new().threads(1).memory(LIMIT).spill(directory.path());
    let f = f.function(|x: Tensor| gradient(While::new(), &x));
    FAULT.set(Some(Fault::Full(50_000)));
    assert!(f.try_call(point()).is_err());
    FAULT.set(None);
    assert_eq!(f.call(point()).to_vec(), gradient(While::new(), &point()).to_vec());
}

/// A loop inside of another one has a file for each of its runs, one after the other.
#[test]
fn loops_inside_of_loops_spill_too() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let nested = |x: &Tensor| {
        grad(x, |x| {
            let inner = |c: Tensor| {
                let start = (Tensor::from(0i64), c);
                while_loop(start, |(n, _)| n.lt(40i64), |(n, c)| (n + 1i64, (c * &x).sin() + 0.5)).1
            };
            fori(0..3, x.clone(), |_, c| inner(c)).sum()
        })
    };
    MADE.set((0, 0));
    let f = Compile::new().threads(1).memory(LIMIT).spill(directory.path()).function(move |x: Tensor| nested(&x));
    assert_eq!(f.call(point()).to_vec(), nested(&point()).to_vec());
    assert_eq!(MADE.get().0, 3);
    assert_eq!(left(directory.path()), 0);
}

/// Carries of every type, in the second order, where a loop backwards is itself differentiated; and of many examples at once.
#[test]
fn second_derivatives_and_batches_spill_too() {
    let directory = tempfile::tempdir().expect("there is a directory for such files");
    let rough = |x: &Tensor| {
        let start = (Tensor::from(0i64), Tensor::from(true), x.to_f32(), x.clone());
        let step = |(n, even, single, c): (Tensor, Tensor, Tensor, Tensor)| {
            let single = (&single * 0.9).sin();
            let c = (&c * x).sin() + even.where_(single.to_f64(), &c * 0.5);
            (n + 1i64, even.not(), single, c)
        };
        while_loop(start, |(n, _, _, c)| n.lt(120i64).and(c.sum().gt(-1e3)), step).3.sum()
    };
    let second = |x: Tensor| {
        let direction = x.cos();
        let (slope, bend) = jvp(&x, &direction, |x| grad(&x, |x| rough(&x)));
        (slope, bend, grad(&x, |x| (grad(&x, |x| rough(&x)) * &direction).sum()))
    };
    let batches = |x: Tensor| vmap(x.reshape(&[4, -1]), |x| grad(&x, |x| rough(&x)));
    let x = Tensor::linspace(0.2, 0.9, 1000);
    MADE.set((0, 0));
    let spilling = || Compile::new().threads(1).memory(400_000).spill(directory.path());
    let (got, wanted) = (spilling().function(second).call(&x), second(x.clone()));
    assert!(MADE.get().0 > 0, "nothing was spilled");
    assert_eq!([got.0, got.1, got.2].map(|x| x.to_vec()), [wanted.0, wanted.1, wanted.2].map(|x| x.to_vec()));
    MADE.set((0, 0));
    assert_eq!(spilling().function(batches).call(&x).to_vec(), batches(x.clone()).to_vec());
    assert_eq!(MADE.get().0, 1);
    assert_eq!(left(directory.path()), 0);
}
