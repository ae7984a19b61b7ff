//! NumPy's files: what is written is read back, what NumPy writes is read, and no file makes the reader panic or
//! allocate what is not there.

use std::io::Cursor;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wengert::{Array, Error, ErrorKind};

/// A file with this header and these bytes.
fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(elements);
    file
}

fn header(descr: &str, fortran: bool, shape: &str) -> String {
    let order = if fortran { "True" } else { "False" };
    format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

fn read(descr: &str, shape: &str, elements: &[u8]) -> Result<Array, Error> {
    Array::read_npy(&file(&header(descr, false, shape), elements)[..])
}

fn arrays() -> Vec<Array> {
    vec![
        Array::new(&[2, 3], vec![1.5, -0.0, f64::NAN, f64::INFINITY, 5e-324, -1e308]),
        Array::new(&[3], vec![0.1f32, f32::NEG_INFINITY, -0.0]),
        Array::new(&[1, 2], vec![i64::MIN, i64::MAX]),
        Array::new(&[4], vec![true, false, false, true]),
        Array::scalar(2.5),
        Array::new(&[2, 0, 3], Vec::<f64>::new()),
    ]
}

fn npy(array: &Array) -> Vec<u8> {
    let mut file = Vec::new();
    array.write_npy(&mut file).expect("memory takes it");
    file
}

fn npz(arrays: &[(&str, &Array)]) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    Array::write_npz(&mut file, arrays.iter().copied()).expect("memory takes it");
    file.into_inner()
}

#[test]
fn what_is_written_is_read_back() {
    for array in arrays() {
        let file = npy(&array);
        assert!(Array::read_npy(&file[..]).unwrap().same_bits(&array));
        let data = file.len() - array.size() * array.dtype().size();
        assert_eq!(data % 64, 0, "the elements are aligned");
    }
    let arrays = arrays();
    let named: Vec<(&str, &Array)> = ["x", "w.1", "größe", "a/b", "v0", ""].into_iter().zip(&arrays).collect();
    let back = Array::read_npz(Cursor::new(npz(&named))).unwrap();
    assert_eq!(back.len(), named.len());
    for ((name, array), (own, original)) in back.iter().zip(&named) {
        assert!(name == own && array.same_bits(original), "{name}");
    }
}

/// The bytes that NumPy 2 writes for `np.save(file, np.array([[1., 2.]]))`.
#[test]
fn the_bytes_are_those_of_numpy() {
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }";
    let padded = format!("{text:<117}\n");
    let elements: Vec<u8> = [1f64, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(npy(&Array::new(&[1, 2], vec![1.0, 2.0])), file(&padded, &elements));
    for (array, shape) in [(Array::scalar(1.0), "()"), (Array::new(&[2], vec![1.0, 2.0]), "(2,)")] {
        let file = String::from_utf8_lossy(&npy(&array)).into_owned();
        assert!(file.contains(&format!("'shape': {shape}, }}")), "{file}");
    }
}

#[test]
fn other_element_types_become_ours() {
    let whole =
        |descr: &str, elements: &[u8]| read(descr, "(2,)", elements).unwrap().elements::<i64>().unwrap().to_vec();
    assert_eq!(whole("|i1", &[255, 1]), [-1, 1]);
    assert_eq!(whole("|u1", &[255, 1]), [255, 1]);
    assert_eq!(whole("<i2", &[0, 128, 1, 0]), [-32768, 1]);
    assert_eq!(whole(">u2", &[128, 0, 0, 1]), [32768, 1]);
    assert_eq!(whole("<i4", &[254, 255, 255, 255, 1, 0, 0, 0]), [-2, 1]);
    assert_eq!(whole(">u4", &[255, 255, 255, 255, 0, 0, 0, 1]), [4_294_967_295, 1]);
    let half = read("<f2", "(7,)", &[0, 60, 0, 192, 1, 0, 255, 123, 0, 252, 0, 126, 0, 128]).unwrap();
    let half = half.elements::<f32>().unwrap();
    assert_eq!(half[..5], [1.0, -2.0, 2f32.powi(-24), 65504.0, f32::NEG_INFINITY]);
    assert!(half[5].is_nan() && half[6].to_bits() == (-0.0f32).to_bits());
    let big = read(">f8", "(1,)", &1.5f64.to_be_bytes()).unwrap();
    assert_eq!(big.elements::<f64>().unwrap(), [1.5]);
    for descr in ["<c16", "<u8", "|S3", "<U3", "|O", "<f16", "<M8[ns]", "é8", ""] {
        let error = read(descr, "(1,)", &[0; 64]).unwrap_err();
        assert!(error.to_string().contains(&format!("elements of NumPy's type {descr:?} are not read")), "{error}");
    }
}

#[test]
fn the_order_of_fortran_is_understood() {
    let elements = [1u8, 4, 2, 5, 3, 6];
    let array = Array::read_npy(&file(&header("|u1", true, "(2, 3)"), &elements)[..]).unwrap();
    assert_eq!((array.shape(), array.elements::<i64>().unwrap()), (&[2, 3][..], &[1, 2, 3, 4, 5, 6][..]));
}

#[test]
fn sizes_that_are_not_there_are_refused_before_memory_is_taken() {
    for (shape, part) in [
        ("(1000000000,)", "its header says f64[1000000000], which takes 8000000000 bytes, and only 16 follow"),
        ("(1000000, 100000000)", "only 16 follow"),
        ("(4294967296, 4294967296)", "does not fit in memory"),
        ("(18446744073709551615, 0)", "does not fit in memory"),
        ("(18446744073709551616,)", "not the dictionary"),
        ("(3,)", "which takes 24 bytes, and only 16 follow"),
    ] {
        let error = read("<f8", shape, &[0; 16]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parse);
        assert!(error.to_string().contains(part), "{error}");
    }
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    long.extend(u32::MAX.to_le_bytes());
    let error = Array::read_npy(&long[..]).unwrap_err();
    assert!(error.to_string().contains("its header is 4294967295 bytes long"), "{error}");
}

#[test]
fn malformed_headers_are_refused() {
    for text in [
        "",
        "{}",
        "{'descr': '<f8'}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (), 'more': ()}",
        "((((((((((((((((((",
    ] {
        let error = Array::read_npy(&file(text, &[0; 8])[..]).unwrap_err();
        assert!(error.to_string().contains("not the dictionary that NumPy writes"), "{error}");
    }
    assert!(Array::read_npy(&b"PK\x03\x04aaaaaaaa"[..]).unwrap_err().to_string().contains("does not begin as one"));
    assert!(Array::read_npz(Cursor::new(b"no archive")).is_err());
}

#[test]
fn archives_name_the_entry_that_is_wrong() {
    let array = Array::scalar(1.0);
    let mut twice = Cursor::new(Vec::new());
    assert!(Array::write_npz(&mut twice, [("x", &array), ("x", &array)]).is_err());
    let mut file = npz(&[("first", &array), ("second", &array)]);
    // The second entry's magic word is damaged; its checksum then is too.
    let place = file.windows(6).rposition(|window| window == b"\x93NUMPY").expect("there are two");
    file[place] = 0;
    let error = Array::read_npz(Cursor::new(file)).unwrap_err().to_string();
    assert!(error.contains("second.npy"), "{error}");
    // A number that is damaged is read as one that was never written: the checksum tells. So does what follows a number.
    let mut file = npz(&[("x", &Array::new(&[3], vec![1.0, 2.0, 3.0]))]);
    let place = file.windows(8).position(|window| window == 2f64.to_le_bytes()).expect("it is stored");
    file[place + 6] ^= 0x10;
    let error = Array::read_npz(Cursor::new(file)).unwrap_err().to_string();
    assert!(error.contains("x.npy") && error.contains("checksum"), "{error}");
    let mut longer = npz(&[("x", &Array::new(&[3], vec![1.0, 2.0, 3.0]))]);
    let place = longer.windows(3).position(|window| window == b"(3,").expect("the shape is stored");
    longer[place + 1] = b'2';
    let error = Array::read_npz(Cursor::new(longer)).unwrap_err().to_string();
    assert!(error.contains("x.npy") && error.contains("more follows"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn no_damage_makes_it_panic(
        which in 0usize..6, archive: bool, cut in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let arrays = arrays();
        let mut file = if archive { npz(&[("x", &arrays[which]), ("y", &arrays[0])]) } else { npy(&arrays[which]) };
        for (place, byte) in damage {
            let place = place.index(file.len());
            file[place] = byte;
        }
        if cut.index(2) == 0 {
            file.truncate(cut.index(file.len()));
        }
        let _ = Array::read_npy(&file[..]);
        let _ = Array::read_npz(Cursor::new(file));
    }

    #[test]
    fn no_header_makes_it_panic(text in "[{}()\\[\\]':, a-z0-9<>|TFL\\\\\"\n]{0,80}") {
        let _ = Array::read_npy(&file(&text, &[0; 8])[..]);
    }

    #[test]
    fn no_shape_makes_it_panic(
        shape in prop::collection::vec(any::<u64>(), 0..4), few in prop::collection::vec(0u64..4, 0..4),
    ) {
        for shape in [shape, few] {
            let text: String = shape.iter().map(|length| format!("{length},")).collect();
            for fortran in [false, true] {
                let _ = Array::read_npy(&file(&header("<f8", fortran, &format!("({text})")), &[0; 512])[..]);
            }
        }
    }
}
