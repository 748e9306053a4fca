//! Carries out `Pivot` resources: moves that a cluster describes, run by a controller in it.
//!
//! The engine does each move, as it does for somebody at a terminal; this crate decides only when to run it, and shows how far it
//! is. It keeps nothing that the records on the two sides don't have, so a controller can die at any moment.
//!
//! It is written against [`pivot_places::Place`], for the Pivots themselves too: list, watch and patch are there, with their
//! errors, and what is tested in memory is what runs. kube-runtime isn't used: it works with kube's own client only, its
//! `Config::concurrency` limits reconciliations for all namespaces together, and it has no Lease.
//!
//! | room | what is in it |
//! |---|---|
//! | [`Controller`] | the loop: who is next, and when; `shared`: what it is told |
//! | `turns` | how many attempts are at work, and who is next |
//! | `attempt` | one attempt at one Pivot |
//! | `decide` | what the records call for: pure |
//! | `resource`, `status`, `reason` | what a Pivot asks for, and what it shows |
//! | `clusters` | the way to the two clusters |
//! | `home`, `follow` | the cluster that Pivots live in: writing and reading |
//! | `leader` | which of several controllers works |
//! | `view`, `wording`, `metrics`, `serve` | for people, and for Prometheus |
//! | [`pivot_definition()`], [`controller_manifests()`] | what is installed |

mod attempt;
mod clusters;
mod confined;
mod controller;
mod decide;
mod definition;
mod follow;
mod home;
mod leader;
mod manifests;
mod metrics;
mod reason;
mod resource;
mod serve;
mod shared;
mod status;
mod turns;
mod view;
mod wording;

pub use clusters::{KubeOpener, Opener};
pub use controller::Controller;
pub use definition::pivot_definition;
pub use manifests::{
    AcceptedAgents, AgentCredentials, AgentInstallation, Installation, agent_manifests, controller_manifests,
};
pub use metrics::Metrics;
pub use resource::{GROUP, KubeconfigSecret, MoveOptions, PivotSource, PivotTarget, Spec, VERSION};
pub use serve::Server;
pub use shared::Settings;
pub use wording::describe_stop;
