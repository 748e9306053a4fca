//! The stages, in order.

use std::fmt;

use anyhow::Result;

use crate::{metal3, providers};

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
    Reproducible,
    Page,
    Release,
    Lab,
    Vetting,
    Providers,
    WithPlugins,
    Scenarios,
    Controller,
    Managers,
    Metal3,
}

/// Tests at a time where they mostly wait for servers, leases and timeouts. With six on two processors an API server did not answer
/// within the ten seconds in which a lease is renewed.
const WAITING: usize = 4;
/// Tests at a time where a test runs a dozen processes and limits how long they may take.
const CROWDED: usize = 3;

/// Stages that run at the same time. The first two wait for npm, a browser and the linker, the last two for controllers that look
/// at their objects again after some seconds; none keeps two processors busy. The stage of releases stops a move at a certain moment.
const BESIDE_ONE_ANOTHER: [&[Stage]; 2] =
    [&[Stage::Reproducible, Stage::Page], &[Stage::Managers, Stage::Metal3]];

impl Stage {
    pub(super) const ALL: [Self; 18] = [
        Self::Fmt,
        Self::Structure,
        Self::Deny,
        Self::Clippy,
        Self::Docs,
        Self::Unit,
        Self::Plugins,
        Self::Reproducible,
        Self::Page,
        Self::Release,
        Self::Lab,
        Self::Vetting,
        Self::Providers,
        Self::WithPlugins,
        Self::Scenarios,
        Self::Controller,
        Self::Managers,
        Self::Metal3,
    ];

    /// The question that the stage answers.
    pub(super) fn question(self) -> &'static str {
        match self {
            Self::Fmt => "is everything formatted?",
            Self::Structure => {
                "are there import cycles, unused public items of pivot-core, flags in texts of libraries, stale names on pages, or untested weaknesses of clusterctl?"
            }
            Self::Deny => {
                "may every dependency come into the program? (the first time it builds cargo-deny, into ~/.cache/pivot-host)"
            }
            Self::Clippy => "does the linter warn? (any warning is an error)",
            Self::Docs => {
                "do the documentation of the code and the book build, with links that lead somewhere?"
            }
            Self::Unit => "do tests that need no server pass?",
            Self::Plugins => "do the bundled plugins' own tests pass natively?",
            Self::Reproducible => "do two checkouts give the same bundled plugins, byte for byte?",
            Self::Page => {
                "do the sources of the page of plans give the committed page, and does it work in a browser?"
            }
            Self::Release => {
                "does a release work where there is nothing else? (with the program that the tests run; the first time it builds helm, \
                 cosign and others from Go modules)"
            }
            Self::Lab => {
                "does the lab work, with real API servers? The first time it builds etcd, kube-apiserver, controllers and \
                 clusterctl from Go modules (about 10 minutes) into ~/.cache/pivot-host, and reuses them from then on"
            }
            Self::Vetting => "do bundles, signatures and registries work?",
            Self::Providers => {
                "do clusters of real providers move there and back, with the providers' own CRDs?"
            }
            Self::WithPlugins => "do whole moves with plugins behave, however the plugins behave?",
            Self::Scenarios => {
                "do whole moves between real API servers behave, seen from outside the program?"
            }
            Self::Controller => {
                "does the controller move between real API servers, killed and disconnected too?"
            }
            Self::Managers => "do Cluster API's own managers continue after moves?",
            Self::Metal3 => "do the real Metal3 operators continue after moves of hosts?",
        }
    }

    /// Returns why the stage can't run here, and how to get what is missing.
    pub(super) fn missing_part(self) -> Option<String> {
        if self == Self::Metal3 { metal3::missing() } else { None }
    }

    /// Returns why a part of the stage can't run here, and how to get what is missing. The stage itself prints it, and runs the rest.
    pub(super) fn missing_data(self) -> Result<Option<String>> {
        if self != Self::Providers {
            return Ok(None);
        }
        Ok(providers::missing()?.or(metal3::missing_crds()?))
    }

    /// Whether the two stages, which follow one another, run at the same time.
    pub(super) fn runs_beside(self, other: Self) -> bool {
        BESIDE_ONE_ANOTHER.iter().any(|stages| stages.contains(&self) && stages.contains(&other))
    }

    /// Whether the stage runs servers, which are built with Go if they are missing.
    pub(super) fn needs_servers(self) -> bool {
        self == Self::Release || (self.named_test().is_some() && self != Self::Reproducible)
    }

    /// The integration test that the stage runs, and tests at a time; none for stages that run something else.
    pub(super) fn named_test(self) -> Option<(&'static str, usize)> {
        match self {
            Self::Reproducible => Some(("reproducible", CROWDED)),
            Self::Lab => Some(("lab", WAITING)),
            Self::Vetting => Some(("vetting", WAITING)),
            Self::Providers => Some(("providers", WAITING)),
            Self::WithPlugins => Some(("with_plugins", WAITING)),
            Self::Scenarios => Some(("scenarios", WAITING)),
            Self::Controller => Some(("controller", WAITING)),
            Self::Managers => Some(("managers", CROWDED)),
            Self::Metal3 => Some(("metal3", CROWDED)),
            _ => None,
        }
    }
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
            Self::Reproducible => "reproducible",
            Self::Page => "page",
            Self::Release => "release",
            Self::Lab => "lab",
            Self::Vetting => "vetting",
            Self::Providers => "providers",
            Self::WithPlugins => "with_plugins",
            Self::Scenarios => "scenarios",
            Self::Controller => "controller",
            Self::Managers => "managers",
            Self::Metal3 => "metal3",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{interop, release};

    #[test]
    fn every_server_test_belongs_to_a_stage() {
        let manifest = include_str!("../../../tests/scenarios/Cargo.toml");
        let tests = manifest.split("[[test]]").skip(1);
        let declared = tests.filter_map(|test| test.split("name = \"").nth(1)?.split('"').next());
        let staged = Stage::ALL.iter().filter_map(|stage| stage.named_test()).map(|(name, _)| name);
        assert_eq!(
            declared.chain(["lab", "reproducible"]).collect::<BTreeSet<_>>(),
            staged.chain([interop::TEST, release::TEST]).collect::<BTreeSet<_>>()
        );
    }
}
