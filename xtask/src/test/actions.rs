//! The commands of each stage.

use std::process::Command;

use anyhow::Result;

use super::runner::{self, Outcome};
use super::session::Session;
use super::stages::Stage;
use crate::executables::{build_default_tests, build_tests};
use crate::shell::{cargo, must, root, target};
use crate::{book, deny, interop, page, release, structure};

/// Executables side by side, and tests at a time in each, where tests need no servers.
const SIDE_BY_SIDE: (usize, usize) = (2, 2);

/// Tests that need no servers but programs that `cargo test` does without.
const WITH_PROGRAMS: [&str; 3] = ["external_programs", "vendor", "vetted"];

/// Runs a stage, whatever its inputs are.
pub(super) fn run_stage(
    stage: Stage,
    session: &Session,
    outcome: &mut Outcome,
    print: &(dyn Fn(&str) + Sync),
) -> Result<()> {
    if let Some((name, threads)) = stage.named_test() {
        let (program, test) = (session.program()?, session.named_test(name)?);
        return runner::run_one(test, threads, program, outcome, print);
    }
    match stage {
        Stage::Fmt => {
            everywhere(&["fmt", "--all", "--check"])?;
            must(&mut beside(MEASUREMENTS, &["fmt", "--all", "--check"])?)
        }
        Stage::Structure => structure::run(&root()?, &mut |line| print(line)),
        Stage::Deny => deny::run(),
        Stage::Clippy => run_clippy(),
        // An example brings the features of tests along, as clippy does: dependencies are checked once for both.
        Stage::Docs => {
            must(
                cargo(&["doc", "--workspace", "--no-deps", "--lib", "--bins", "--examples"])?
                    .env("RUSTDOCFLAGS", "--deny warnings"),
            )?;
            book::render().map(drop)
        }
        Stage::Unit => {
            let (slots, threads) = SIDE_BY_SIDE;
            let mut tests = build_default_tests()?;
            tests.extend(build_tests(&WITH_PROGRAMS)?);
            runner::run_side_by_side(tests, slots, threads, &session.history, outcome)?;
            runner::run_cargo(&mut cargo(&["test", "--workspace", "--doc", "--quiet"])?, outcome)
        }
        Stage::Plugins => runner::run_cargo(
            &mut beside("plugins", &["test", "--workspace", "--no-fail-fast", "--quiet"])?,
            outcome,
        ),
        Stage::Page => page::check(),
        _ => release::of_tested(),
    }
}

/// Lints all workspaces, the tests that start servers, and the program without optional features.
fn run_clippy() -> Result<()> {
    // Tests that start servers don't count as targets of the tests, unless they are named.
    let servers = Stage::ALL.iter().filter_map(|stage| stage.named_test()).map(|(name, _)| name);
    let named = servers.chain([interop::TEST]).chain(WITH_PROGRAMS);
    let (lint, deny) = (["clippy", "--workspace"], ["--", "--deny", "warnings"]);
    everywhere(&[&lint[..], &["--all-targets"], &deny].concat())?;
    // With the libraries, for the features that everything was just checked with.
    must(cargo(&lint)?.arg("--lib").args(named.flat_map(|name| ["--test", name])).args(deny))?;
    // The program of a site that wants no code for registries or encryption. The example brings the features of tests along.
    let bare = ["--lib", "--bins", "--example", "directory", "--no-default-features"];
    must(cargo(&lint)?.args(bare).args(deny))
}

/// The workspaces beside the main one: those that are built for wasm32 and can be built and tested natively, and the one that
/// generates components.
const BESIDE: [&str; 3] = ["plugins", "tests/guests", "tests/fuzz"];

/// The workspace of `cargo xtask bench`, which alone builds it.
const MEASUREMENTS: &str = "tests/bench";

/// Runs a command of cargo in all workspaces that the tests build.
fn everywhere(arguments: &[&str]) -> Result<()> {
    must(&mut cargo(arguments)?)?;
    BESIDE.iter().try_for_each(|workspace| must(&mut beside(workspace, arguments)?))
}

/// A cargo for a workspace beside the main one; they share their target directory.
fn beside(workspace: &str, arguments: &[&str]) -> Result<Command> {
    let mut command = cargo(arguments)?;
    command.current_dir(root()?.join(workspace)).env("CARGO_TARGET_DIR", target()?.join("beside"));
    Ok(command)
}
