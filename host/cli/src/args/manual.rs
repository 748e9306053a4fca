//! The manual: a page for the program and one for each of its commands, of what `--help` prints.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use super::command::{ENVIRONMENT, bare, examples_of, name_subcommand};

const SECTION: &str = "man1";
/// The names by which kubectl and clusterctl call the program.
const LINKS: [&str; 2] = ["kubectl-pivot", "clusterctl-pivot"];

/// The pages: where each lies below a folder that `man -M` is given, and its text.
pub(crate) fn pages() -> io::Result<Vec<(String, String)>> {
    let mut command = all_flags(bare()).disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add(&command, None, None, &mut pages)?;
    for link in LINKS {
        pages.push((format!("{SECTION}/{link}.1"), format!(".so {SECTION}/pivot-host.1\n")));
    }
    Ok(pages)
}

/// A page has room for what `-h` leaves out.
fn all_flags(command: Command) -> Command {
    command.mut_args(|arg| arg.hide_short_help(false)).mut_subcommands(all_flags)
}

/// Adds the page of a command, which is `of` below the page `above`, and the pages of its subcommands.
fn add(
    command: &Command,
    of: Option<&str>,
    above: Option<&str>,
    pages: &mut Vec<(String, String)>,
) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let page = Man::new(command.clone())
        .source(concat!("pivot-host ", env!("CARGO_PKG_VERSION")))
        .manual("pivot-host");
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    page.render_options_section(&mut text)?;
    let commands: Vec<&Command> = command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
    if !commands.is_empty() {
        page.render_subcommands_section(&mut text)?;
    }
    further(of, above).to_writer(&mut text)?;
    pages.push((format!("{SECTION}/{}", page.get_filename()), String::from_utf8_lossy(&text).into_owned()));
    commands
        .into_iter()
        .try_for_each(|one| add(one, Some(&name_subcommand(of, one.get_name())), Some(&name), pages))
}

/// What the help texts have below the flags.
fn further(of: Option<&str>, above: Option<&str>) -> Roff {
    let mut text = Roff::new();
    let examples = examples_of(of, "pivot-host");
    if !examples.is_empty() {
        text.control("SH", ["EXAMPLES"]).control("nf", []);
        for line in examples.lines() {
            text.text([roman(line)]);
        }
        text.control("fi", []);
    }
    text.control("SH", ["ENVIRONMENT"]).text([roman(ENVIRONMENT)]);
    if let Some(above) = above {
        text.control("SH", ["SEE ALSO"]).text([roman(format!("{above}(1)"))]);
    }
    text
}
