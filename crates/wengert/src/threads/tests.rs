//! Tests of what is private here.

use super::{Pool, wanted_threads};

#[test]
fn threads_are_read_from_the_environment() {
    assert_eq!(wanted_threads(Some(" 3 ")), Some(3));
    for many in ["1024", "20000", "99999999999999999999999"] {
        assert_eq!(wanted_threads(Some(many)), Some(Pool::MOST), "{many}");
    }
    for nothing in [None, Some(""), Some("0"), Some("000"), Some("-1"), Some("1e9"), Some("many")] {
        assert_eq!(wanted_threads(nothing), None, "{nothing:?}");
    }
}
