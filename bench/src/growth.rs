//! How much memory a measurement takes, of that of the whole process.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};

/// Bytes of the smallest pages that systems have.
const PAGE: u64 = 4096;

/// By how much this process grows, at most, from a moment on.
///
/// All of the program is in memory then: pages of it that are run for the first time are not growth.
pub(crate) struct Growth {
    /// MiB held in that moment.
    before: f64,
}

impl Growth {
    /// From now on; an error where the system does not tell how much memory a process takes.
    pub(crate) fn begin() -> Result<Growth, String> {
        let told = |_| "this system does not tell how much memory a process takes".to_owned();
        load_program().map_err(told)?;
        forget_peak();
        let before = peak_mb().ok_or(()).map_err(told)?;
        Ok(Growth { before })
    }

    /// Mebibytes held when it began.
    pub(crate) fn before(&self) -> f64 {
        self.before
    }

    /// Mebibytes more than when it began, at most, since then.
    pub(crate) fn mb(&self) -> f64 {
        peak_mb().map_or(f64::NAN, |peak| peak - self.before)
    }

    /// The same in bytes.
    pub(crate) fn bytes(&self) -> f64 {
        self.mb() * f64::from(1 << 20)
    }
}

/// Reads a byte of every page that this process has of files, such as the program itself, through its own addresses.
fn load_program() -> Result<(), ()> {
    let maps = fs::read_to_string("/proc/self/maps").map_err(|_| ())?;
    let mut memory = File::open("/proc/self/mem").map_err(|_| ())?;
    for [first, end] in maps.lines().filter_map(file_pages) {
        for page in (first..end).step_by(PAGE as usize) {
            // What lies behind the end of a file is not there, and takes no memory.
            let _ = memory.seek(SeekFrom::Start(page)).and_then(|_| memory.read(&mut [0]));
        }
    }
    Ok(())
}

/// The addresses of a line of the table of pages, if they are readable and a file's.
fn file_pages(line: &str) -> Option<[u64; 2]> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights) = (words.next()?, words.next()?);
    let path = words.nth(3)?;
    let (first, end) = range.split_once('-')?;
    let [first, end] = [first, end].map(|address| u64::from_str_radix(address, 16).ok());
    (rights.starts_with('r') && path.starts_with('/')).then_some([first?, end?])
}

/// Starts the peak of memory again from what is held now. Where the system has no such thing, the peak is that of the
/// whole process.
pub(crate) fn forget_peak() {
    // 5 is the number that Linux gives to "the peak of resident memory".
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The largest resident memory of this process in MiB, where the system tells it.
pub(crate) fn peak_mb() -> Option<f64> {
    peak_in(&fs::read_to_string("/proc/self/status").ok()?)
}

/// The peak in what Linux says of a process.
fn peak_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn the_peak_is_read_in_mib() {
        assert_eq!(peak_in("Name:\tx\nVmHWM:\t    2560 kB\nVmRSS:\t 1 kB\n"), Some(2.5));
        assert_eq!(peak_in("Name:\tx\n"), None);
    }

    #[test]
    fn pages_of_files_are_found() {
        let line = "5581c0a00000-5581c0a02000 r-xp 00001000 08:01 1234   /usr/bin/with blanks";
        assert_eq!(file_pages(line), Some([0x5581_c0a0_0000, 0x5581_c0a0_2000]));
        assert_eq!(file_pages("7ffd0000-7ffd1000 rw-p 00000000 00:00 0   [stack]"), None);
        assert_eq!(file_pages("7ffd0000-7ffd1000 rw-p 00000000 00:00 0"), None);
        assert_eq!(file_pages("7ffd0000-7ffd1000 ---p 00000000 08:01 1234   /usr/lib/some.so"), None);
        assert_eq!(file_pages("not a table"), None);
    }

    #[test]
    fn growth_is_what_is_written_to() {
        let growth = match Growth::begin() {
            Err(_) if cfg!(not(target_os = "linux")) => return,
            growth => growth.expect("Linux tells how much memory a process takes"),
        };
        let size = 64 << 20;
        let written = black_box(vec![1u8; size]);
        // Other tests of this process may grow it too, or give memory back.
        let grown = growth.bytes();
        assert!(grown >= size as f64 * 0.5, "{grown} bytes for {size}");
        assert!(growth.before() > 1.0 && black_box(written).len() == size);
    }
}
