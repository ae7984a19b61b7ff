//! `#[derive(Tree)]`.
