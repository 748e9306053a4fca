//! The stages, in order.

use std::fmt;
use std::process::Command;

use anyhow::Result;

use super::tally::{Tally, counted};
use crate::shell::{built_test, cargo, must, root, say, target, tested_pivot_host};
use crate::{deny, interop, page, release, structure};

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Fmt,
    Structure,
    Deny,
    Clippy,
    Docs,
    Unit,
    Plugins,
    Page,
    Release,
    Lab,
    Scenarios,
    Providers,
    Metal3,
}

/// The test binaries of the scenarios, except those that are stages of their own.
const SCENARIOS: [&str; 5] = ["scenarios", "managers", "with_plugins", "vetting", "controller"];
const PROVIDERS: &str = "providers";
const METAL3: &str = "metal3";
const LAB: &str = "lab";

impl Stage {
    pub(super) const ALL: [Self; 13] = [
        Self::Fmt,
        Self::Structure,
        Self::Deny,
        Self::Clippy,
        Self::Docs,
        Self::Unit,
        Self::Plugins,
        Self::Page,
        Self::Release,
        Self::Lab,
        Self::Providers,
        Self::Scenarios,
        Self::Metal3,
    ];

    /// What it does, for people who wait for it.
    pub(super) fn what(self) -> &'static str {
        match self {
            Self::Fmt => "is everything formatted?",
            Self::Structure => {
                "does a file import in a circle, pivot-core offer what nobody uses, a library name a flag, a page what is not there, or is a weakness of clusterctl untested?"
            }
            Self::Deny => {
                "may every dependency come into the program? (the first time it builds cargo-deny, into ~/.cache/pivot-host)"
            }
            Self::Clippy => "what does the linter say? (any warning is an error)",
            Self::Docs => "does the documentation build, with links that lead somewhere?",
            Self::Unit => "tests that need no server",
            Self::Plugins => "the bundled plugins' own tests, natively",
            Self::Page => "is the page of plans what its sources give, and does it work in a browser?",
            Self::Release => {
                "does what a release has work where there is nothing else? (with the program that the tests run)"
            }
            Self::Lab => {
                "tests of the lab: real API servers. The first time it builds etcd, kube-apiserver, controllers and \
                 clusterctl from Go modules (about 10 minutes) into ~/.cache/pivot-host, and reuses them from then on"
            }
            Self::Scenarios => "whole moves between real API servers, seen from outside the program",
            Self::Providers => {
                "clusters of real providers moved there and back, with CRDs and templates from $PIVOT_HOST_PROVIDERS or \
                 ../shared/providers (--without-providers leaves it out)"
            }
            Self::Metal3 => {
                "hosts moved with the real Metal3 operators, from $PIVOT_HOST_METAL3 or ../shared/metal3, else built with Go \
                 (--without-metal3 leaves it out)"
            }
        }
    }

    /// Whether it runs servers, which are built with Go if they are missing.
    pub(super) fn needs_servers(self) -> bool {
        matches!(self, Self::Lab | Self::Scenarios | Self::Providers | Self::Metal3)
    }

    pub(super) fn run(self, tally: &mut Tally) -> Result<()> {
        match self {
            Self::Fmt => everywhere(&["fmt", "--all", "--check"]),
            Self::Structure => structure::run(&root()?, &mut say),
            Self::Deny => deny::run(),
            Self::Clippy => {
                // Those that start servers don't count as targets of the tests, unless they are named.
                let named = [LAB, PROVIDERS, METAL3, interop::TEST].into_iter().chain(SCENARIOS);
                let (lint, deny) = (["clippy", "--workspace"], ["--", "--deny", "warnings"]);
                everywhere(&[&lint[..], &["--all-targets"], &deny].concat())?;
                // With the libraries, for the features that everything was just checked with.
                must(cargo(&lint)?.arg("--lib").args(named.flat_map(|name| ["--test", name])).args(deny))?;
                // What a site builds that wants no code for registries.
                let bare = ["clippy", "--package", "pivot-host", "--no-default-features"];
                must(cargo(&bare)?.args(deny))
            }
            Self::Docs => {
                must(cargo(&["doc", "--workspace", "--no-deps"])?.env("RUSTDOCFLAGS", "--deny warnings"))
            }
            Self::Unit => counted(&mut cargo(&["test", "--workspace", "--no-fail-fast"])?, tally),
            Self::Plugins => {
                counted(&mut beside("plugins", &["test", "--workspace", "--no-fail-fast"])?, tally)
            }
            Self::Page => page::check(),
            Self::Release => release::of_tested(),
            Self::Lab => counted(&mut built_test(LAB)?, tally),
            Self::Scenarios => scenarios(&SCENARIOS, tally),
            Self::Providers => scenarios(&[PROVIDERS], tally),
            Self::Metal3 => scenarios(&[METAL3], tally),
        }
    }
}

/// The workspaces beside the main one: those that are built for wasm32 and can be built and tested natively, and the one that
/// generates components.
const BESIDE: [&str; 3] = ["plugins", "tests/guests", "tests/fuzz"];

/// The same for all workspaces.
fn everywhere(arguments: &[&str]) -> Result<()> {
    must(&mut cargo(arguments)?)?;
    BESIDE.iter().try_for_each(|workspace| must(&mut beside(workspace, arguments)?))
}

/// A cargo for a workspace beside the main one; they share what they have built.
fn beside(workspace: &str, arguments: &[&str]) -> Result<Command> {
    let mut command = cargo(arguments)?;
    command.current_dir(root()?.join(workspace)).env("CARGO_TARGET_DIR", target()?.join("beside"));
    Ok(command)
}

/// Runs some of the test binaries that move with the real program.
fn scenarios(binaries: &[&str], tally: &mut Tally) -> Result<()> {
    let program = tested_pivot_host()?;
    let tests = binaries.iter().map(|name| built_test(name)).collect::<Result<Vec<_>>>()?;
    let mut ended = Ok(());
    for mut test in tests {
        // All run, whichever fails.
        ended = ended.and(counted(test.env("PIVOT_HOST_BIN", &program), tally));
    }
    ended
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fmt => "fmt",
            Self::Structure => "structure",
            Self::Deny => "deny",
            Self::Clippy => "clippy",
            Self::Docs => "docs",
            Self::Unit => "unit",
            Self::Plugins => "plugins",
            Self::Page => "page",
            Self::Release => "release",
            Self::Lab => "lab",
            Self::Scenarios => "scenarios",
            Self::Providers => "providers",
            Self::Metal3 => "metal3",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_test_binary_of_the_scenarios_belongs_to_a_stage() {
        let manifest = include_str!("../../../tests/scenarios/Cargo.toml");
        let tests = manifest.split("[[test]]").skip(1);
        let names = tests.filter_map(|test| test.split("name = \"").nth(1)?.split('"').next());
        assert_eq!(names.collect::<Vec<_>>(), [&SCENARIOS[..], &[METAL3, PROVIDERS, interop::TEST]].concat());
    }
}
