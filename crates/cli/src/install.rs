//! `wengert completions` and `wengert man`: what shells and manuals want, made from the flags.

use std::path::Path;

use clap::CommandFactory;

use crate::failure::Failure;
use crate::flags::{Completions, Flags, Man};
use crate::output;

/// Prints the script that completes the command's words in a shell.
pub(crate) fn completions(flags: &Completions) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Flags::command(), "wengert", &mut script);
    written(&script)
}

/// Prints the manual page of the command, or writes it and those of its subcommands to a folder.
pub(crate) fn man(flags: &Man) -> Result<(), Failure> {
    let mut command = Flags::command();
    // Gives the subcommands their full names, and the flags that all have.
    command.build();
    let Some(folder) = &flags.folder else {
        return written(&page(&command)?);
    };
    if !folder.is_dir() {
        return Err(Failure::File(format!("there is no folder `{}`", folder.display())));
    }
    write(&command, folder)?;
    let mut subcommands = command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help");
    subcommands.try_for_each(|subcommand| write(subcommand, folder))
}

/// Writes a page under its own name, such as `wengert-grad.1`.
fn write(command: &clap::Command, folder: &Path) -> Result<(), Failure> {
    let name = clap_mangen::Man::new(command.clone()).get_filename();
    output::write_bytes(&page(command)?, &folder.join(name))
}

/// A page in the language of manuals, roff.
fn page(command: &clap::Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(|error| Failure::File(format!("cannot write the manual page: {error}")))?;
    Ok(page)
}

fn written(bytes: &[u8]) -> Result<(), Failure> {
    // Both are made of our own texts.
    output::write(&String::from_utf8_lossy(bytes), None, anstream::ColorChoice::Never)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_names_the_flags_of_its_command() {
        let mut command = Flags::command();
        command.build();
        for subcommand in command.get_subcommands() {
            let text = page(&subcommand.clone()).expect("a page can be made");
            let text = String::from_utf8(text).expect("it is text").replace('\\', "");
            for flag in subcommand.get_arguments().filter_map(clap::Arg::get_long) {
                assert!(text.contains(&format!("--{flag}")), "{}: {flag}", subcommand.get_name());
            }
        }
    }
}
