//! Trees in files: what is written is read, what does not fit is named, and no file makes the reader panic.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use safetensors::tensor::{Dtype, TensorView};
use wengert::files::{Format, Load, contents, load, save, to_bytes};
use wengert::optim::{AdamW, Sgd};
use wengert::prelude::*;
use wengert::{Array, ErrorKind, Key, freeze};

const FORMATS: [Format; 2] = [Format::Npz, Format::Safetensors];

#[derive(Tree, Clone, Debug)]
struct Layer {
    weight: Tensor,
    bias: Option<Tensor>,
    #[tree(frozen)]
    mask: Tensor,
}

#[derive(Tree, Clone, Debug)]
struct Run {
    layers: Vec<Layer>,
    optimiser: AdamW<Tensor>,
    key: Key,
    epoch: Tensor,
}

fn layers(fill: f64) -> Vec<Layer> {
    let single = Tensor::from([0.1f32, -0.0, f32::INFINITY]);
    vec![
        Layer { weight: Tensor::full(&[2, 3], fill), bias: Some(single), mask: Tensor::from([true, false]) },
        Layer { weight: Tensor::from([fill, f64::NAN]), bias: None, mask: Tensor::from([i64::MIN]) },
    ]
}

fn start() -> Run {
    let layers = layers(0.0);
    let optimiser = AdamW::new(0.1).decay_of(|path| path.ends_with("bias"), 0.0).init(&layers);
    Run { layers, optimiser, key: Key::new(0), epoch: Tensor::from(0i64) }
}

/// A path in a folder of this test's own.
fn place(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("files");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn same(x: &impl Tree<Leaf = Tensor>, y: &impl Tree<Leaf = Tensor>) {
    let (x, y) = (x.named_leaves(), y.named_leaves());
    assert_eq!(x.len(), y.len());
    for ((path, x), (other, y)) in x.iter().zip(&y) {
        assert!(path == other && x.to_array().same_bits(&y.to_array()), "{path}: {x:?}, {other}: {y:?}");
    }
}

#[test]
fn what_is_written_is_read_with_every_bit_and_training_goes_on() {
    for name in ["run.npz", "run.safetensors"] {
        let mut run = start();
        run.layers = layers(0.5);
        let slope = run.layers.iter().map(|layer| layer.map_leaves(|_, leaf| leaf)).collect::<Vec<_>>();
        run.layers = run.optimiser.step(run.layers, &slope);
        (run.key, run.epoch) = (Key::new(u64::MAX), Tensor::from(7i64));
        save(place(name), &run).unwrap();
        let mut again = load(place(name), &start()).unwrap();
        same(&again, &run);
        assert_eq!((again.optimiser.steps(), again.epoch.item()), (1, 7.0));
        let stepped = again.optimiser.step(again.layers, &slope);
        same(&stepped, &run.optimiser.step(run.layers, &slope));
        let found = contents(place(name)).unwrap();
        assert!(found.iter().any(|(path, ty)| path == "optimiser.second.0.weight" && ty.to_string() == "f64[2,3]"));
        assert!(!found.iter().any(|(path, _)| path == "optimiser.second.0.mask"), "a frozen leaf is remembered");
    }
    // No unfinished file is left.
    let left =
        std::fs::read_dir(place("")).unwrap().any(|file| file.unwrap().file_name().to_string_lossy().starts_with('.'));
    assert!(!left);
}

#[test]
fn numbers_maps_and_single_leaves_have_names() {
    let tree = (1.5, BTreeMap::from([("a", [2.0]), ("b", [-0.0])]), freeze([3.0, 4.0], |path| path == "0"));
    let zero = (0.0, BTreeMap::from([("a", [0.0]), ("b", [0.0])]), freeze([0.0, 0.0], |path| path == "0"));
    for format in FORMATS {
        let bytes = to_bytes(format, &tree).unwrap();
        let (x, y, z) = Load::new().from_bytes(format, &bytes, &zero).unwrap();
        assert_eq!((x, y["a"], y["b"][0].to_bits(), z.thaw()), (1.5, [2.0], (-0.0f64).to_bits(), [3.0, 4.0]));
        let bytes = to_bytes(format, &2.5).unwrap();
        assert_eq!(Load::new().from_bytes(format, &bytes, &0.0).unwrap(), 2.5);
    }
    let names = Array::read_npz(std::io::Cursor::new(to_bytes(Format::Npz, &tree).unwrap())).unwrap();
    assert_eq!(names.iter().map(|(name, _)| &name[..]).collect::<Vec<_>>(), ["0", "1.a.0", "1.b.0", "2.0", "2.1"]);
    let error = to_bytes(Format::Npz, &twice()).unwrap_err();
    assert!(error.to_string().contains("two leaves of the tree have the name `a.b.c`"), "{error}");
    let error = to_bytes(Format::Safetensors, &BTreeMap::from([("__metadata__", 1.0)])).unwrap_err();
    assert!(error.to_string().contains("cannot be called `__metadata__` in a `.safetensors` file"), "{error}");
}

/// A tree two of whose leaves have one path.
fn twice() -> BTreeMap<&'static str, BTreeMap<&'static str, f64>> {
    BTreeMap::from([("a", BTreeMap::from([("b.c", 1.0)])), ("a.b", BTreeMap::from([("c", 2.0)]))])
}

/// The error of loading the first tree's file for the second.
#[track_caller]
fn misfit(options: &Load, written: &impl Tree<Leaf = Tensor>, like: &impl Tree<Leaf = Tensor>) -> String {
    let errors = FORMATS.map(|format| {
        let bytes = to_bytes(format, written).unwrap();
        let error = options.from_bytes(format, &bytes, like).err().expect("it does not fit");
        assert_eq!(error.kind(), ErrorKind::Misfit);
        let text = error.to_string();
        assert!(text.contains("`load` at crates/wengert/tests/all/files.rs:"), "{text}");
        text.split_once("tree: ").unwrap_or(("", &text)).1.to_owned()
    });
    assert_eq!(errors[0], errors[1]);
    errors[0].clone()
}

#[test]
fn everything_that_does_not_fit_is_named_at_once() {
    let (x, y) = (Tensor::zeros(&[2]), Tensor::zeros(&[2, 1]));
    let strict = Load::new();
    let error = misfit(&strict, &(&x, [&x], &y), &(&x, vec![&x, &x], &x));
    assert_eq!(error, "missing `1.1`; `2` is f64[2,1] in the file and f64[2] in the tree");
    assert_eq!(misfit(&strict, &[&x, &y, &y], &[&x]), "not in the tree: `1`, `2`");
    assert_eq!(misfit(&strict, &[x.to_f32()], &[&x]), "`0` is f32[2] in the file and f64[2] in the tree");
    assert_eq!(
        misfit(&Load::new().convert(), &[x.to_i64()], &[&x]),
        "`0` is i64[2] in the file and f64[2] in the tree"
    );
    assert_eq!(
        misfit(&Load::new().convert(), &[y.to_f32()], &[&x]),
        "`0` is f32[2,1] in the file and f64[2] in the tree"
    );
    assert_eq!(misfit(&Load::new().allow_missing(), &[&x, &y], &[&x]), "not in the tree: `1`");
    assert_eq!(misfit(&Load::new().allow_extra(), &[&x], &[&x, &x]), "missing `1`");
    let error = misfit(&Load::new().only(|path| path == "head"), &[&x], &[&x]);
    assert!(error.ends_with("`only` picks none of the leaves `0`"), "{error}");
    let error = misfit(&Load::new().rename(|_| "w".to_owned()), &[&x], &[&x, &x]);
    assert!(error.ends_with("two leaves of the tree have the name `w`"), "{error}");
    // An optimiser that has made steps, for one that has not seen a point.
    let one = [x.clone()];
    let error = misfit(&strict, &Sgd::new(0.1).init(&one), &Sgd::<Tensor>::new(0.1));
    assert_eq!(error, "not in the tree: `velocity.0`");
}

#[test]
fn parts_are_loaded_by_choice() {
    let (one, two) = (Tensor::ones(&[2]), Tensor::full(&[2], 2.0));
    for format in FORMATS {
        let bytes = to_bytes(format, &(&one, [two.to_f32()])).unwrap();
        let like = (Tensor::zeros(&[2]), vec![Tensor::zeros(&[2]), Tensor::full(&[1], 5.0)]);
        let (x, y) = Load::new().allow_missing().convert().from_bytes(format, &bytes, &like).unwrap();
        assert_eq!((x.to_vec(), y[0].to_vec(), y[1].to_vec()), (vec![1.0; 2], vec![2.0; 2], vec![5.0]));
        assert_eq!(y[0].dtype(), wengert::DType::F64);
        let (x, y) = Load::new().only(|path| path == "0").from_bytes(format, &bytes, &like).unwrap();
        assert_eq!((x.to_vec(), y[0].to_vec()), (vec![1.0; 2], vec![0.0; 2]));
        let [x] = Load::new()
            .rename(|path| format!("1.{path}"))
            .allow_extra()
            .from_bytes(format, &bytes, &[two.to_f32()])
            .unwrap();
        assert_eq!(x.to_vec(), [2.0, 2.0]);
    }
    // f64 to f32 rounds to the nearest.
    let bytes = to_bytes(Format::Npz, &Tensor::from([0.1, 1e300])).unwrap();
    let x = Load::new().convert().from_bytes(Format::Npz, &bytes, &Tensor::from([0f32, 0.0])).unwrap();
    assert_eq!(x.to_vec(), [f64::from(0.1f32), f64::INFINITY]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let check = |path: &str, kind: ErrorKind, why: &str| {
        let error = load(place(path), &1.0).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(why) && error.to_string().contains(path), "{error}");
    };
    check("model.bin", ErrorKind::Parse, "the name has to end in `.npz` or `.safetensors`");
    check("nowhere.npz", ErrorKind::Run, "");
    check("nowhere.safetensors", ErrorKind::Run, "");
    std::fs::write(place("text.npz"), "hello").unwrap();
    std::fs::write(place("text.safetensors"), "hello").unwrap();
    check("text.npz", ErrorKind::Parse, "text.npz: it is no .npz file: ");
    check("text.safetensors", ErrorKind::Parse, "it is not a `.safetensors` file: header too small");
    let error = save(place("no/such/folder.npz"), &1.0).unwrap_err();
    assert!(error.kind() == ErrorKind::Run && error.to_string().contains("folder.npz: it cannot be made"), "{error}");
    // What was there stays when the tree cannot be written.
    save(place("kept.npz"), &1.0).unwrap();
    assert!(save(place("kept.npz"), &twice()).is_err());
    assert_eq!(load(place("kept.npz"), &0.0).unwrap(), 1.0);
    let value = grad(2.0, |x| {
        let tensor = Tensor::from(x);
        let error = save(place("active.npz"), &tensor).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Active, "{error}");
        x
    });
    assert!(value == 1.0 && !place("active.npz").exists());
}

/// A file of format safetensors with one array.
fn foreign(dtype: Dtype, shape: &[usize], bytes: &[u8]) -> Vec<u8> {
    safetensors::serialize([("w", TensorView::new(dtype, shape.to_vec(), bytes).unwrap())], None).unwrap()
}

#[test]
fn numbers_of_other_programs_are_widened_exactly_or_refused() {
    let read = |dtype, bytes: &[u8], like: &Tensor| {
        let file = foreign(dtype, &[2], bytes);
        Load::new()
            .from_bytes(Format::Safetensors, &file, &BTreeMap::from([("w", like.clone())]))
            .map(|x| x["w"].to_vec())
    };
    let (single, integer) = (Tensor::from([0f32; 2]), Tensor::from([0i64; 2]));
    assert_eq!(read(Dtype::BF16, &[0x80, 0x3f, 0xc0, 0xbf], &single).unwrap(), [1.0, -1.5]);
    assert_eq!(read(Dtype::F16, &[0x00, 0x3c, 0x01, 0x80], &single).unwrap(), [1.0, -(2f64.powi(-24))]);
    assert_eq!(read(Dtype::I8, &[0xff, 0x7f], &integer).unwrap(), [-1.0, 127.0]);
    assert_eq!(read(Dtype::U16, &[0xff, 0xff, 0, 1], &integer).unwrap(), [65535.0, 256.0]);
    assert_eq!(read(Dtype::I32, &[0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 0], &integer).unwrap(), [-2.0, 1.0]);
    for (dtype, width) in [(Dtype::U64, 8), (Dtype::F8_E4M3, 1)] {
        let error = read(dtype, &vec![0; 2 * width], &integer).unwrap_err().to_string();
        assert!(error.contains("`w`: elements of the type") && error.contains("are not read"), "{error}");
    }
}

#[test]
fn no_file_makes_the_reader_panic_or_take_memory_that_is_not_there() {
    // An archive that claims a terabyte is refused by its type before anything is read.
    let mut bomb = b"\x93NUMPY\x01\x00".to_vec();
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n";
    bomb.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bomb.extend(header.as_bytes());
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive.start_file("arr_0.npy", zip::write::SimpleFileOptions::default()).unwrap();
    std::io::Write::write_all(&mut archive, &bomb).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    let error = Load::new().from_bytes(Format::Npz, &bytes, &Tensor::zeros(&[3])).unwrap_err().to_string();
    assert!(error.contains("`arr_0` is f64[1000000,1000000] in the file and f64[3] in the tree"), "{error}");
    let like = (Tensor::zeros(&[2, 3]), [1.0, 2.0].map(Tensor::from));
    let files = FORMATS.map(|format| to_bytes(format, &like).unwrap());
    let config = ProptestConfig {
        cases: 300,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(5),
        ..ProptestConfig::default()
    };
    let changes = (any::<bool>(), 0..4usize, any::<u64>(), any::<u8>());
    proptest!(config, |((which, kind, place, byte) in changes)| {
        let k = usize::from(which);
        let mut file = files[k].clone();
        let place = (place % file.len() as u64) as usize;
        match kind {
            0 => file.truncate(place),
            1 => file[place] = byte,
            2 => file.insert(place, byte),
            _ => { file.remove(place); }
        }
        // Whatever it is, it is an answer.
        if let Ok((x, _)) = Load::new().from_bytes(FORMATS[k], &file, &like) {
            prop_assert_eq!(x.shape(), [2, 3]);
        }
    });
}
