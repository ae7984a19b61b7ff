//! Tests of what is private here.

use crate::Program;
use wengert_kernels::pattern::Pattern;

use super::*;

fn reads_back(pattern: &Pattern, text: &str) {
    assert_eq!(written(pattern), text);
    let (rows, cols, count) = (pattern.rows(), pattern.cols(), pattern.nnz());
    let line = format!("sparse_product[rows={rows}, cols={cols}, offsets={text:?}, transpose=false]");
    let program =
        format!("program(v0: f64[{count}], v1: f64[{cols},1]) {{ v2: f64[{rows},1] = {line} v0 v1; return v2 }}");
    let read: Program = program.parse().unwrap_or_else(|why| panic!("{why}\n{program}"));
    let again: Program = read.to_string().parse().unwrap();
    assert!(read.to_string().contains(text) && again == read, "{read}");
}

#[test]
fn patterns_are_written_and_read() {
    let check = |rows, cols, entries: &[(usize, usize)], text: &str| {
        reads_back(&Pattern::from_entries(rows, cols, entries.iter().copied()).unwrap(), text);
    };
    check(0, 3, &[], "");
    check(1, 0, &[], "");
    check(3, 2, &[(1, 0)], "; -1; ");
    check(2, 5, &[(0, 0), (0, 1), (0, 3), (1, 0), (1, 1), (1, 2), (1, 3)], "0 1 3; -1..2");
    let bands =
        (0..100_000usize).flat_map(|row| (row.saturating_sub(1)..(row + 2).min(100_000)).map(move |col| (row, col)));
    reads_back(&Pattern::from_entries(100_000, 100_000, bands).unwrap(), "0 1; -1..1 *99998; -1 0");
}

#[test]
fn texts_that_are_no_pattern_are_refused() {
    let check = |rows: &str, cols: &str, offsets: &str, part: &str| {
        let program = format!(
            "program(v0: f64[1]) {{ v1: i64[1] = sparse_unit[rows={rows}, cols={cols}, offsets={offsets:?}]; return v1 }}"
        );
        let why = program.parse::<Program>().unwrap_err().to_string();
        assert!(why.contains(part), "{part} is not in: {why}");
    };
    check("2", "2", "0", "has 1 rows, and the option `rows` is 2");
    check("1", "2", "0; 0", "more than 1 rows");
    check("2", "2", "0 0 *2", "column 0 stands behind column 0");
    check("1", "1", "-1", "the offset -1 in row 0");
    check("1", "1", "2", "there are 1 columns");
    check("1", "1", "1..0", "\"1..0\" where an offset");
    check("1", "1", "0 *0", "\"*0\" where");
    check("1", "1", "0 *1 1", "behind a number of rows");
    check("1", "1", "x", "\"x\" where");
    check("99999999999", "1", "0 *99999999999", "134217728 rows and entries at most");
    check("67108864", "4294967296", "0..4294967295 *67108864", "more than 67108864 entries, and");
    check("-1", "1", "", "cannot be -1");
}
