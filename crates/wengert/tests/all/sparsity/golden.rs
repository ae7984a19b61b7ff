//! Colourings of the golden patterns: as many colours as the file says are needed, by columns and in both directions.

use std::fs;
use std::path::Path;

use serde_json::Value;
use wengert::sparsity::{Colouring, Order, Pattern};

#[test]
fn golden_patterns_get_the_fewest_colours() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/data/sparse.json");
    let file: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let indices = |array: &Value| -> Vec<usize> {
        array["data"].as_array().unwrap().iter().map(|index| index.as_u64().unwrap() as usize).collect()
    };
    let (mut jacobians, mut hessians) = (0, 0);
    for case in file["cases"].as_array().unwrap() {
        let size = |axis: usize| case["shape"][axis].as_u64().unwrap() as usize;
        let entries = indices(&case["rows"]).into_iter().zip(indices(&case["cols"]));
        let pattern = Pattern::from_entries(size(0), size(1), entries).unwrap();
        let (name, function) = (&case["name"], case["function"].as_str().unwrap());
        let columns = Colouring::columns(&pattern, Order::Best);
        columns.recovery(&pattern).unwrap();
        if let Some(fewest) = case["min_column_groups"].as_u64() {
            assert_eq!(columns.count() as u64, fewest, "{name}");
            jacobians += 1;
        }
        if case["kind"] == "hessian" {
            let star = Colouring::star(&pattern, Order::Best).unwrap();
            let acyclic = Colouring::acyclic(&pattern, Order::Best).unwrap();
            star.recovery(&pattern).unwrap();
            acyclic.recovery(&pattern).unwrap();
            assert!(acyclic.count() <= star.count() && star.count() <= columns.count(), "{name}");
            hessians += 1;
        }
        if function.starts_with("arrow") {
            let both = Colouring::bidirectional(&pattern, Order::Best);
            both.recovery(&pattern).unwrap();
            assert_eq!(both.count(), 3, "{name}");
        }
    }
    assert!(jacobians >= 20 && hessians >= 5, "{jacobians} {hessians}");
}
