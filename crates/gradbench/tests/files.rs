//! The loaders of ADBench's files: what is there is read as it is, and what is wrong is refused by file and line.

use std::path::{Path, PathBuf};

use wengert_gradbench::problems::files::{self, FileError};
use wengert_gradbench::problems::{ba, hand};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/adbench").join(name)
}

/// A file of this text that is gone when the test ends.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wengert-files-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Reads a text with a loader, and gives its message, which has to start with the file.
fn refused<T: std::fmt::Debug>(name: &str, text: &str, read: impl Fn(&Path) -> Result<T, FileError>) -> String {
    let file = Scratch::new(name, text);
    let message = read(&file.0).unwrap_err().to_string();
    let start = format!("{}:", file.0.display());
    message.strip_prefix(&start).unwrap_or_else(|| panic!("{message} does not start with {start}")).to_owned()
}

#[test]
fn the_small_cases_are_read() {
    let gmm = files::read_gmm(&data("gmm/gmm_d3_K2.txt")).unwrap();
    assert_eq!((gmm.d, gmm.k, gmm.n, gmm.gamma, gmm.m), (3, 2, 7, 0.7, 3));
    assert_eq!((gmm.q.len(), gmm.l.len(), gmm.x.len()), (6, 6, 21));
    let lstm = files::read_lstm(&data("lstm/lstm_l3_c6.txt")).unwrap();
    assert_eq!((lstm.l, lstm.c, lstm.b, lstm.main.len(), lstm.state.len()), (3, 6, 5, 120, 30));
    let general = files::read_ba(&data("ba/ba_general.txt")).unwrap();
    assert_eq!((general.n, general.m, general.p, &general.camera_of[..3]), (4, 5, 13, &[1, 0, 1][..]));
    let replicated = files::read_ba(&data("ba/ba_replicated.txt")).unwrap();
    assert_eq!((replicated.camera_of[4], replicated.point_of[4], replicated.cameras.len()), (1, 0, 33));
    let read = |name: &str, complicated| files::read_hand(&data("hand/model"), &data(name), complicated);
    assert_eq!(read("hand/hand_simple.txt", false).unwrap().us, None);
    assert_eq!(read("hand/hand_complicated.txt", true).unwrap().us.unwrap().len(), 14);
}

#[test]
fn the_pattern_of_a_bundle_adjustment_is_that_of_its_rows() {
    let data = files::read_ba(&data("ba/ba_general.txt")).unwrap();
    let (starts, columns) = ba::pattern(&data);
    assert_eq!((starts.len(), columns.len()), (3 * data.p + 1, 31 * data.p));
    assert_eq!((starts[0], starts[1], starts[2 * data.p], starts[3 * data.p]), (0, 15, 30 * data.p, 31 * data.p));
    for i in 0..data.p {
        let row = &columns[starts[2 * i]..starts[2 * i + 1]];
        assert_eq!(row, &columns[starts[2 * i + 1]..starts[2 * i + 2]]);
        assert!(row.is_sorted() && row[0] == 11 * data.camera_of[i]);
        assert_eq!(row[11], 11 * data.n + 3 * data.point_of[i]);
        assert_eq!([row[14]], columns[starts[2 * data.p + i]..starts[2 * data.p + i + 1]]);
        assert_eq!(row[14], 11 * data.n + 3 * data.m + i);
    }
}

#[test]
fn every_truncated_file_is_refused() {
    let text = |name: &str| std::fs::read_to_string(data(name)).unwrap();
    let model = data("hand/model");
    type Read<'a> = Box<dyn Fn(&Path) -> Result<(), FileError> + 'a>;
    let kinds: [(&str, Read<'_>); 5] = [
        ("gmm/gmm_d3_K2.txt", Box::new(|file| files::read_gmm(file).map(drop))),
        ("lstm/lstm_l1_c2.txt", Box::new(|file| files::read_lstm(file).map(drop))),
        ("ba/ba_general.txt", Box::new(|file| files::read_ba(file).map(drop))),
        ("ba/ba_replicated.txt", Box::new(|file| files::read_ba(file).map(drop))),
        ("hand/hand_complicated.txt", Box::new(|file| files::read_hand(&model, file, true).map(drop))),
    ];
    for (name, read) in &kinds {
        let text = text(name);
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        for kept in (0..words.len()).step_by(1 + words.len() / 40) {
            let message = refused("truncated", &words[..kept].join("\n"), read);
            assert!(message.contains("the file ends where"), "{name}, {kept} words: {message}");
        }
        let message = refused("longer", &format!("{text}\n7"), read);
        assert!(message.contains("expected the end of the file"), "{name}: {message}");
        // Any word may be any other.
        for (place, wrong) in
            (0..words.len()).step_by(1 + words.len() / 20).zip(["nan", "inf", "x", "-1e999", ""].iter().cycle())
        {
            let mut words = words.clone();
            words[place] = wrong;
            refused("wrong", &words.join(" "), read);
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    let gmm = |text: &str| refused("gmm", text, files::read_gmm);
    assert_eq!(gmm(""), "1: the file ends where d, the length of a sample was expected");
    assert!(gmm("2 0 5").contains("1: k, the number of components: one at least, not 0"));
    assert!(gmm("2 1 1\n0.5\n1 two").contains("3: expected mu, a finite number, found `two`"));
    assert!(gmm("1 1 1\n0\n0\n0\n0\n0 1").contains("6: gamma has to be above zero, not 0"));
    assert!(gmm("1 1 1\n0\n0\n0\n0\n1 1.5").contains("6: expected m, an integer, found `1.5`"));
    assert!(gmm("1 1 1\n0\n0\n0\n0\n1 -7").contains("m has to be from 0"));
    // Sizes that no memory holds: nothing is allocated before it is read.
    assert!(gmm("4294967296 4294967296 1\n1").contains("1: ") || gmm("4294967296 4294967296 1\n1").contains("2: "));
    assert!(gmm("1 18446744073709551615 18446744073709551615").contains("the file ends"));
    let ba = |text: &str| refused("ba", text, files::read_ba);
    let one = "1 2 3 4 5 6 7 8 9 10 11\n1 2 3\n1\n1 2";
    assert!(ba(&format!("1 1 99999999999\n{one}")).contains("p, the number of observations: 33554432 at most"));
    let cameras = "1 2 3 4 5 6 7 8 9 10 11";
    assert!(
        ba(&format!("1 1 2\n{cameras}\n1 2 3\n0 0 1 1 1\n1 0 1 1 1"))
            .contains("5: the index of a camera has to be below 1")
    );
    assert!(
        ba(&format!("1 1 2\n{cameras}\n1 2 3\n0 0 1 1 1\n0 4 1 1 1"))
            .contains("5: the index of a point has to be below 1")
    );
    assert!(refused("lstm", "1 1 1", files::read_lstm).contains("two rows"));
    let missing = files::read_gmm(Path::new("/no/such/file")).unwrap_err().to_string();
    assert!(missing.starts_with("/no/such/file: cannot be read"), "{missing}");
}

#[test]
fn a_hand_that_does_not_fit_is_refused() {
    let case = |text: &str| refused("case", text, |file| files::read_hand(&data("hand/model"), file, false).map(drop));
    assert!(case("1 25\n0 1 1 1").contains("1: a pose has 26 parameters, not 25"));
    assert!(case("1 26\n40 1 1 1").contains("2: the index of a vertex has to be below 40, not 40"));
    assert!(case("1 26\n-1 1 1 1").contains("2: expected the index of a vertex, found `-1`"));
    let folder = std::env::temp_dir().join(format!("wengert-model-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let original = |name: &str| std::fs::read_to_string(data("hand/model").join(name)).unwrap();
    let with = |name: &str, text: &str| {
        for other in ["bones.txt", "vertices.txt", "triangles.txt"] {
            std::fs::write(folder.join(other), original(other)).unwrap();
        }
        std::fs::write(folder.join(name), text).unwrap();
        files::read_model(&folder).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with("bones.txt", &original("bones.txt")), Ok(()));
    let refused = |name: &str, text: &str, wanted: &str| {
        let message = with(name, text).unwrap_err();
        assert!(message.contains(name) && message.contains(wanted), "{message}");
    };
    let bones = original("bones.txt");
    let few: Vec<&str> = bones.lines().take(hand::MOVED - 1).collect();
    refused("bones.txt", &few.join("\n"), "a hand has 21 bones at least, here are 20");
    refused(
        "bones.txt",
        &bones.replacen("bone3:2:", "bone3:3:", 1),
        "4: the parent of bone 3 has to be -1 or a bone before it",
    );
    refused("bones.txt", &bones.replacen("bone3:2:", "bone3:2:x", 1), "4: expected the relative transform of a bone");
    refused("triangles.txt", "0:1:40", "1: the index of a vertex has to be below 40");
    refused("triangles.txt", "0:1", "1: the line ends where the index of a vertex was expected");
    refused("triangles.txt", "0:1:2:3", "1: expected the end of the line, found `3`");
    refused("vertices.txt", "0:0:0:0:0:0:0:0:1:24:1", "1: the index of a bone has to be below 24");
    refused("vertices.txt", "0:0:0:0:0:0:0:0:99999999999:1:1", "1: 99999999999 weights for 24 bones");
    std::fs::remove_dir_all(&folder).unwrap();
}
