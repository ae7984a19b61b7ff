//! What evaluations of growing sizes cost, in counts that do not depend on the machine.

use allocation_counter::measure;
use serde_json::json;

use super::{Random, output};

/// The most bytes that an evaluation holds at a time.
fn peak(module: &str, function: &str, input: serde_json::Value) -> u64 {
    measure(|| drop(output(module, function, input))).bytes_max
}

#[test]
fn the_memory_of_det_does_not_grow_with_its_products() {
    let mut random = Random(17);
    let mut peak = |function: &str, ell: usize| {
        let input = json!({"A": random.numbers(ell * ell), "ell": ell});
        peak("det", function, input)
    };
    for function in ["primal", "gradient"] {
        // 9 and 90 minors of eight rows: ten times the products.
        let (nine, ten) = (peak(function, 9), peak(function, 10));
        assert!(ten < nine + nine / 10, "{function}: {nine} bytes with nine rows, {ten} with ten");
        assert!(ten < 32 << 20, "{function}: {ten} bytes");
    }
}

#[test]
fn the_memory_of_ode_grows_at_most_with_its_steps() {
    let mut random = Random(19);
    let x = random.numbers(500);
    let peaks = [100, 200, 400].map(|s| peak("ode", "gradient", json!({"x": x, "s": s})));
    let [first, second] = [peaks[1] - peaks[0], peaks[2] - peaks[1]];
    assert!(second <= 2 * first + first / 10, "{peaks:?}");
    let primal = [100, 400].map(|s| peak("ode", "primal", json!({"x": x, "s": s})));
    assert!(primal[1] < primal[0] + primal[0] / 10, "the steps of the function keep nothing: {primal:?}");
}
