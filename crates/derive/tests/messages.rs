//! What `#[derive(Tree)]` says about items that cannot be trees, and where it points.

#[test]
fn mistakes_are_named_where_they_are() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
}
