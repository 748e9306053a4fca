//! The project's own commands: `cargo xtask book`, `demo`, `interop`, `language`, `links`, `plugins`, `test`, `bench`, `fuzz`, `matrix`, `mutate`, `page`, `pages`, `pictures`, `release`. One file per command.
//!
//! Not a Makefile, because the tools that build the project are already there.

mod bench;
mod book;
mod debian;
mod demo;
mod deny;
mod executables;
mod fuzz;
mod interop;
mod links;
mod matrix;
mod metal3;
mod mutate;
mod nightly;
mod page;
mod pictures;
mod plugins;
mod providers;
mod release;
mod shell;
mod structure;
mod test;
mod tracked;

use std::process::ExitCode;

use anyhow::{Result, bail};

use shell::say;

const USAGE: &str = "\
The project's own commands

Usage: cargo xtask <COMMAND>

Commands:
  demo                  Plan and move the example management cluster into a directory, with the
                        bundled plugins; needs no cluster
  plugins               Build the bundled plugins into plugins/dist, granted and locked
  test [STAGE ...]      Check everything: fmt, structure, deny, clippy, docs, unit, plugins,
                        reproducible, page, release, lab, vetting, providers, with_plugins,
                        scenarios, controller, managers, metal3; or these stages. A stage whose
                        inputs have not changed since it passed on this machine is not run again
       --without STAGE  Leave a stage out
       --require-all    Fail if a stage, or a part of one, can't run here
       --fresh          Run stages again whose inputs have not changed
  bench [--quick]       Measure pivot-host beside clusterctl. Without --quick, move up to 100,000 objects
                        (80 minutes, 16 GB of memory), and write docs/benchmarks.md
  bench --large         Print what moving 20,000 objects takes, memory included
  bench --huge          Print what moving 20,000 and 100,000 objects takes. Fail if time or memory
                        grows too much. The servers need much memory.
  bench planning        Measure how long planning takes, and write docs/benchmarks-planning.md
  bench plugins [--quick]
                        Measure what plugins cost; without --quick, write docs/benchmarks-plugins.md
  fuzz [MUTATED GENERATED]
                        Open components that nobody wrote: 100000 mutated and 1000
                        generated ones (hours), or so many
  interop               Have the real cosign and wkg take what is made here, and the other way
                        round (minutes to build them, once)
  links                 Kill agents and controllers at every request over agents' links, and let
                        links of ten children break for half an hour (an hour and a half)
  links distance        Measure moves over a link beside straight ones, at the same distance, and
                        write docs/benchmarks-links.md
  matrix [pairs | CLUSTER_API/KUBERNETES ...]
                        Move with the managers of each release on each release of
                        Kubernetes (half an hour, once they are built), or these
  nightly [PART ...] [--minutes N]
                        Run in full what a landing samples, or these parts of it, and write the
                        results into docs/reliability.md (hours)
  mutate [COUNT | FILE] Change one line at a time in a copy of the work tree, and see that a test
                        notices: all of tests/mutations, some by date, or those of a file
  book                  Render the pages as a book into target/book
  page                  Build the page of `plan -o html` and of reports, with npm
  language              Lower the numbers in xtask/language.txt to the findings that are left
  pages                 Write into the tables of pages which tests prove what
  pictures              Draw docs/pictures: what plan, move and status print
  release [--out DIR] [--url URL] [--key FILE] [--also arm64]
                        Build a release, and with `--also` one for arm64: archives with the static
                        program, completions, manual, book, plugins, charts, licences and a list of its
                        parts; the image; checksums; with the URL of these files a manifest for
                        krew, with a key signatures. Then try them (needs root)
  help                  Print this
";

fn main() -> ExitCode {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    match run(&typed.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(typed: &[&str]) -> Result<()> {
    match typed {
        ["demo"] => demo::run(),
        ["plugins"] => plugins::run(),
        ["test", rest @ ..] => test::run(rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["fuzz"] => fuzz::run("100000", "1000"),
        ["fuzz", mutated, generated] => fuzz::run(mutated, generated),
        ["interop"] => interop::run(),
        ["links", rest @ ..] => links::run(rest),
        ["matrix", rest @ ..] => matrix::run(rest),
        ["nightly", rest @ ..] => nightly::run(rest),
        ["mutate", rest @ ..] => mutate::run(rest),
        ["book"] => book::run(),
        ["page"] => page::run(),
        ["language"] => structure::lower_accepted_language(&shell::root()?),
        ["pages"] => structure::write_pages(&shell::root()?),
        ["pictures"] => pictures::run(),
        ["release", rest @ ..] => release::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            say(USAGE);
            Ok(())
        }
        other => bail!("{:?} is not known here; `cargo xtask help` says what is", other.join(" ")),
    }
}
