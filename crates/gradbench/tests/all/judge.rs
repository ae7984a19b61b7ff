//! The rule by which GradBench judges an answer.

use serde_json::Value;

/// The tolerance of the public evals.
pub(crate) const LOOSE: f64 = 1e-4;

/// Compares an output with a reference: objects have the same keys, arrays the same length, numbers `a` and `b` agree when
/// `|a - b| / max(1, |a| + |b|)` is at most the tolerance, everything else is equal.
pub(crate) fn judge(output: &Value, reference: &Value, tolerance: f64) -> Result<(), String> {
    match (output, reference) {
        (Value::Object(ours), Value::Object(theirs)) => {
            if !ours.keys().eq(theirs.keys()) {
                return Err(format!("keys {:?} instead of {:?}", ours.keys(), theirs.keys()));
            }
            let compare =
                |(name, theirs)| judge(&ours[name], theirs, tolerance).map_err(|why| format!("{name}: {why}"));
            theirs.iter().try_for_each(compare)
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            if ours.len() != theirs.len() {
                return Err(format!("{} elements instead of {}", ours.len(), theirs.len()));
            }
            let mut pairs = ours.iter().zip(theirs).enumerate();
            pairs.try_for_each(|(k, (ours, theirs))| {
                judge(ours, theirs, tolerance).map_err(|why| format!("[{k}]: {why}"))
            })
        }
        (Value::Number(ours), Value::Number(theirs)) => {
            let (a, b) = (ours.as_f64().unwrap_or(f64::NAN), theirs.as_f64().unwrap_or(f64::NAN));
            let off = (a - b).abs() / (a.abs() + b.abs()).max(1.0);
            if off <= tolerance { Ok(()) } else { Err(format!("{a} instead of {b}")) }
        }
        _ if output == reference => Ok(()),
        _ => Err(format!("{output} instead of {reference}")),
    }
}

#[test]
fn the_judge_refuses_what_is_wrong() {
    let check = |ours: &str, theirs: &str| {
        judge(&serde_json::from_str(ours).unwrap(), &serde_json::from_str(theirs).unwrap(), LOOSE)
    };
    for (ours, theirs) in [
        ("1", "1.0"),
        ("1.00009", "1"),
        ("0", "0.00009"),
        ("1e6", "1000099"),
        (r#"{"a": [1, [2]], "b": 3}"#, r#"{"b": 3, "a": [1, [2.0]]}"#),
    ] {
        assert_eq!(check(ours, theirs), Ok(()), "{ours} {theirs}");
    }
    for (ours, theirs) in [
        ("1.0003", "1"),
        ("0", "0.00011"),
        ("null", "1"),
        ("[1]", "1"),
        ("[1]", "[1, 2]"),
        ("[1, 2, 3]", "[1, 2]"),
        (r#"{"a": 1}"#, r#"{"a": 1, "b": 2}"#),
        (r#"{"a": 1, "b": 2}"#, r#"{"a": 1}"#),
        (r#"{"a": [1, [2.1]]}"#, r#"{"a": [1, [2]]}"#),
        (r#""x""#, r#""y""#),
    ] {
        assert!(check(ours, theirs).is_err(), "{ours} {theirs}");
    }
}
