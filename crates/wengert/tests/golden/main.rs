//! `cargo test -p wengert --test golden`: what `lib.rs` compares, as a command of the library's package.

use std::process::ExitCode;

fn main() -> ExitCode {
    wengert_golden::main()
}
