//! The text form: printing and parsing are inverse to one another, files give the values that they say, and no text
//! makes the parser panic.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;
use wengert::ops::Unary;
use wengert::primitives::{Call, Fft, FftKind, FftScale, Literal, samples};
use wengert::{Array, Builder, DType, Error, ErrorKind, Program, Type};

fn parse(text: &str) -> Result<Program, Error> {
    text.parse()
}

/// Prints and parses; both the Program and its text come back.
fn round_trip(program: &Program) {
    let text = program.to_string();
    let back = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(back.to_string(), text);
    assert_eq!(back, *program, "{text}");
    assert_eq!(back.structural_hash(), program.structural_hash());
}

/// One equation with these operands.
fn program_of(op: impl Into<wengert::primitives::Op>, types: &[Type]) -> Program {
    let mut b = Builder::new();
    let args: Vec<_> = types.iter().map(|ty| b.input("", ty.clone())).collect();
    let outs = b.emit(op, &args).expect("the sample fits");
    b.finish(&outs)
}

fn files() -> Vec<(PathBuf, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "prog"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("a text"))).collect()
}

#[test]
fn every_operation_is_read_back() {
    for sample in samples() {
        let types: Vec<Type> = sample.args.iter().map(|arg| arg.ty().clone()).collect();
        let program = program_of(sample.op.clone(), &types);
        round_trip(&program);
        assert_eq!(parse(&program.to_string()).unwrap().eqns()[0].op, sample.op);
    }
}

/// Derivatives and batched forms of every operation: nested regions, masks, many equations.
#[test]
fn transformed_programs_are_read_back() {
    for sample in samples() {
        let types: Vec<Type> = sample.args.iter().map(|arg| arg.ty().clone()).collect();
        let program = program_of(sample.op.clone(), &types);
        let active: Vec<bool> = types.iter().map(|ty| ty.dtype.is_float()).collect();
        program.jvp(&active).iter().for_each(round_trip);
        program.vjp(&active).iter().for_each(round_trip);
        program.vmap(&vec![true; types.len()], 2).iter().for_each(round_trip);
    }
}

#[test]
fn numbers_are_read_back_to_the_bit() {
    let doubles = [0.0, -0.0, 0.1, 1e300, -5e-324, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY];
    let single = [0.0f32, -0.0, 0.1, 1e30, -1e-45, f32::MAX, 16_777_216.0, f32::INFINITY, f32::NEG_INFINITY];
    let literals = doubles.map(Literal::F64).into_iter().chain(single.map(Literal::F32));
    let nans = [Literal::F64(f64::NAN), Literal::F64(-f64::NAN), Literal::F32(f32::NAN), Literal::F32(-f32::NAN)];
    let whole = [Literal::I64(i64::MIN), Literal::I64(i64::MAX), Literal::Bool(true), Literal::Bool(false)];
    for literal in literals.chain(nans).chain(whole) {
        round_trip(&program_of(literal, &[]));
    }
}

#[test]
fn names_of_inputs_are_read_back() {
    let mut b = Builder::new();
    let names = ["w1", "", "a \"quoted\" \\ name", "line\nend\t\0 \r", "größe → ∞", "\u{1}\u{200b}'", "# no comment"];
    let inputs: Vec<_> = names.iter().map(|name| b.input(name, Type::new(DType::F64, &[]))).collect();
    let program = b.finish(&inputs);
    round_trip(&program);
    assert_eq!(parse(&program.to_string()).unwrap().input_names(), names);
}

#[test]
fn blanks_comments_and_numbering_are_free() {
    let free = "# first\nprogram (v7:f64[2 , 1],v10:\nf64[])# the head\n{;;\n\n v3 :f64[]=sum[axes=[0,\n 1 ] ]v7;
        v0: f64[] = add v3 v10 # the end\n\n return v0 v7 }\n# done";
    let program = parse(free).unwrap();
    let expected = "program(v0: f64[2,1], v1: f64[]) {\n  v2: f64[] = sum[axes=[0,1]] v0\n  v3: f64[] = add v2 v1\n  \
                    return v3 v0\n}";
    assert_eq!(program.to_string(), expected);
}

#[test]
fn programs_inside_are_indented() {
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, &[]));
    let y = b.emit(Unary::Sin, &[x]).unwrap();
    let inner = b.finish(&y);
    let outer = program_of(
        Call::new(program_of(Call::new(inner), &[Type::new(DType::F64, &[])])),
        &[Type::new(DType::F64, &[])],
    );
    let expected = "program(v0: f64[]) {
  v1: f64[] = call[program=program(v0: f64[]) {
    v1: f64[] = call[program=program(v0 \"x\": f64[]) {
      v1: f64[] = sin v0
      return v1
    }] v0
    return v1
  }] v0
  return v1
}";
    assert_eq!(outer.to_string(), expected);
    round_trip(&outer);
}

/// The messages, with the place and what is expected and found.
#[test]
fn mistakes_are_named_with_their_place() {
    let in_body = |line: &str| format!("program(v0: f64[2], v1: i64[]) {{\n  {line}\n  return v0\n}}");
    let cases = [
        (String::new(), "line 1, column 1: expected `program`, found the end of the text"),
        ("program(v0: f64)".into(), "line 1, column 16: expected `[`, found `)`"),
        (
            "program(v0: f65[])".into(),
            "line 1, column 13: expected a type: bool, i64, f32 or f64 with a shape, found `f65`",
        ),
        ("program(v0: f64[-1])".into(), "line 1, column 17: `-1` is not the length of an axis"),
        (
            "program(v0: f64[4294967296,4294967296])".into(),
            "line 1, column 13: f64[4294967296,4294967296] does not fit in memory",
        ),
        ("program(v0: f64[], v0: f64[])".into(), "line 1, column 20: v0 is defined twice"),
        (in_body("v2: f64[2] = sinn v0"), "line 2, column 16: there is no operation `sinn`"),
        (in_body("v2: f64[2] = sin v9"), "line 2, column 20: there is no value v9 before this place"),
        (in_body("v2: f64[3] = sin v0"), "line 2, column 3: `v2` is said to be f64[3], and is f64[2]"),
        (in_body("v2: f64[2], v3: f64[2] = sin v0"), "line 2, column 3: `sin` has 1 results, and the equation 2"),
        (
            in_body("v2: f64[2] = add v0 v1"),
            "line 2, column 16: `add` of f64[2] and i64[]: the element types differ; convert one of them first",
        ),
        (in_body("v2: f64[] = sum v0"), "line 2, column 15: `sum`: it needs the option `axes`"),
        (
            in_body("v2: f64[] = sum[axes=0] v0"),
            "line 2, column 15: `sum`: the option `axes` is 0, and has to be a list of integers",
        ),
        (in_body("v2: f64[] = sum[axes=[-1]] v0"), "line 2, column 15: `sum`: the option `axes` cannot be -1"),
        (in_body("v2: f64[] = sum[axes=[0], axis=0] v0"), "line 2, column 15: `sum`: it has no option `axis`"),
        (in_body("v2: f64[] = sum[axes=[0], axes=[0]] v0"), "line 2, column 29: the option `axes` is given twice"),
        (
            in_body("v2: f64[] = constant[value=1.5]"),
            "line 2, column 30: `1.5` needs its type behind it, as in `1.5f64`",
        ),
        (in_body("v2: f32[] = constant[value=1e39f32]"), "line 2, column 30: `1e39` is not a number that fits f32"),
        (
            in_body("v2: i64[4] = iota[length=99999999999999999999999999999999999999999]"),
            "line 2, column 28: `9999999999999999999999999999999999999999…` is not an integer that fits",
        ),
        (
            in_body("v2: f64[2] = sin v0 v3: f64[2] = sin v0"),
            "line 2, column 23: there is no value v3 before this place",
        ),
        (
            in_body("v2: f64[2] = log_normal_cdf[n=100000] v0"),
            "line 2, column 16: `log_normal_cdf`: the order 100000 of the derivative is more than 256",
        ),
        (in_body("v2: f64[2] = sin v0 +"), "line 2, column 23: `+` means nothing here"),
        (in_body("v2: f64[2] = sin \"v0"), "line 2, column 20: these quotes are not closed on their line"),
        ("program() { return } x".into(), "line 1, column 22: expected the end of the text, found `x`"),
        (
            "program(v0 \"\\q\": f64[]) { return }".into(),
            "line 1, column 13: there is no such escape; there are \\\\ \\\" \\n \\t \\r \\0 \\u{…}",
        ),
    ];
    for (text, message) in cases {
        let error = parse(&text).expect_err(&text);
        assert_eq!(error.kind(), ErrorKind::Parse);
        assert_eq!(error.to_string(), format!("`parse`: {message}"), "{text}");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| {
        let open = "program() { = call[program=".repeat(depth);
        format!("{open}program() {{ return }}{}", "]; return }".repeat(depth))
    };
    round_trip(&parse(&nested(64)).unwrap());
    for depth in [65, 100_000] {
        let error = parse(&nested(depth)).unwrap_err();
        assert!(error.to_string().ends_with("programs are nested more than 64 deep"), "{error}");
    }
    let brackets = format!("program() {{ v0: f64[] = sum[axes={}", "[".repeat(100_000));
    assert!(parse(&brackets).is_err());
}

#[test]
fn a_transform_for_which_there_is_no_memory_is_refused() {
    let complex = |n: usize| Fft {
        axes: vec![0],
        lengths: vec![n],
        counts: vec![4],
        kind: FftKind::Complex,
        inverse: false,
        scale: FftScale::One,
    };
    let text = program_of(complex(8), &[Type::new(DType::F64, &[4]), Type::new(DType::F64, &[4])]).to_string();
    let long = text.replace("lengths=[8]", "lengths=[1125899906842624]");
    assert_ne!(text, long);
    let error = parse(&long).expect_err(&long).to_string();
    assert!(error.contains("no memory") && error.contains("length 1125899906842624 along axis 0"), "{error}");
}

/// Every file is read back, and where it says so, has these values: each `# at` line gives the elements of one input,
/// each `# expect` line those of one output.
#[test]
fn files_are_read_back_and_give_their_values() {
    let files = files();
    assert!(files.len() >= 10, "the folder has {} files", files.len());
    for (path, text) in files {
        let name = path.display();
        let program = parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        round_trip(&program);
        let numbers = |mark: &str| -> Vec<Vec<f64>> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(mark));
            let numbers = |line: &str| line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
            lines.map(numbers).collect()
        };
        let (inputs, expected) = (numbers("# at"), numbers("# expect"));
        if expected.is_empty() {
            continue;
        }
        assert_eq!(inputs.len(), program.input_types().len(), "{name}: one `# at` line for each input");
        let inputs: Vec<Array> = inputs.iter().zip(program.input_types()).map(|(x, ty)| array(x, ty)).collect();
        let found = program.run_reference(&inputs).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(found.len(), expected.len(), "{name}: one `# expect` line for each output");
        for (found, expected) in found.iter().zip(&expected) {
            assert!(found.same_bits(&array(expected, found.ty())), "{name}: {found:?} instead of {expected:?}");
        }
    }
}

/// Numbers as elements of a type.
fn array(x: &[f64], ty: &Type) -> Array {
    match ty.dtype {
        DType::Bool => Array::new(&ty.shape, x.iter().map(|&x| x != 0.0).collect::<Vec<bool>>()),
        DType::I64 => Array::new(&ty.shape, x.iter().map(|&x| x as i64).collect::<Vec<i64>>()),
        DType::F32 => Array::new(&ty.shape, x.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(&ty.shape, x.to_vec()),
    }
}

/// Text that is valid, to be damaged: the files and all samples.
fn valid() -> Vec<String> {
    let samples = samples().into_iter().map(|sample| {
        let types: Vec<Type> = sample.args.iter().map(|arg| arg.ty().clone()).collect();
        program_of(sample.op, &types).to_string()
    });
    files().into_iter().map(|(_, text)| text).chain(samples).collect()
}

#[test]
fn text_cut_at_any_byte_is_a_message() {
    for text in &*VALID {
        let text = text.trim_end();
        for (end, _) in text.char_indices() {
            if let Ok(program) = parse(&text[..end]) {
                round_trip(&program);
            }
        }
    }
}

static VALID: LazyLock<Vec<String>> = LazyLock::new(valid);

/// What damage puts in the place of something else.
const PIECES: [&str; 24] = [
    "",
    " ",
    "\n",
    ";",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "\"",
    "#",
    "-",
    "0",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775808",
    "v0",
    "v1",
    "1.5f64",
    "true",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}") {
        let _ = parse(&text);
    }

    /// Tokens in any order get further than characters.
    #[test]
    fn no_tokens_make_it_panic(words in prop::collection::vec(prop::sample::select(vec![
        "program", "(", ")", "{", "}", "[", "]", ",", ":", ";", "=", "v0", "v1", "v2", "f64", "i64", "return", "\n",
        "program(v0: f64[2]) {", "v1: f64[2] = sin v0", "sum", "axes", "slice", "1", "0", "2.5", "-1", "inf", "\"x\"",
    ]), 0..40)) {
        let _ = parse(&words.join(" "));
    }

    /// Programs with some tokens replaced: what is still read is read back.
    #[test]
    fn damaged_programs_are_refused_or_read_back(
        which in any::<Index>(), damage in prop::collection::vec((any::<Index>(), any::<Index>()), 1..4),
    ) {
        let mut text = which.get(&VALID).clone();
        for (place, piece) in damage {
            let ends: Vec<usize> = text.match_indices(|c: char| !c.is_ascii_alphanumeric()).map(|(at, _)| at).collect();
            let (start, end) = match place.index(ends.len() + 1) {
                0 => (0, ends.first().copied().unwrap_or(text.len())),
                k => (ends[k - 1] + 1, ends.get(k).copied().unwrap_or(text.len())),
            };
            let (start, end) = (start.min(end), end);
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, PIECES[piece.index(PIECES.len())]);
            }
        }
        if let Ok(program) = parse(&text) {
            round_trip(&program);
        }
    }
}

#[test]
fn gaps_and_steps_next_to_the_largest_integer_are_refused_or_harmless() {
    let padded = |between: &str| {
        let text = "program(v0: f64[1]) { v1: f64[] = constant[value=1.0f64]; \
                    v2: f64[1] = pad[low=[0], high=[0], interior=[N]] v0 v1; return v2 }";
        text.replace('N', between).parse::<Program>()
    };
    assert!(padded("7").is_ok());
    let why = padded("18446744073709551615").unwrap_err().to_string();
    assert!(why.contains("18446744073709551615 places between its elements"), "{why}");
    // One element is there at any step, forwards and backwards.
    let text = "program(v0: f64[4,3]) { v1: f64[1,3] = slice[start=[3,0], limit=[4,3], stride=[9223372036854775807,1]] v0; return v1 }";
    let program: Program = text.parse().unwrap();
    let x = Array::new(&[4, 3], (0..12).map(f64::from).collect::<Vec<f64>>());
    assert_eq!(program.run(std::slice::from_ref(&x)).unwrap()[0].to_f64(), [9.0, 10.0, 11.0]);
    let pulled = program.vjp(&[true]).unwrap().run(&[x, Array::new(&[1, 3], vec![1.0, 2.0, 3.0])]).unwrap();
    assert_eq!(pulled[1].to_f64(), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0]);
}
