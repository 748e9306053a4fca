//! Carries out `Pivot` resources: moves that a cluster describes, run by a controller in it.
//!
//! The engine does each move, as it does for a user at a terminal. This crate only decides when to run it, and shows its
//! progress. It keeps nothing that the records on the two sides don't have, so a controller can die at any moment.
//!
//! The crate is written against [`pivot_places::Place`], also for the Pivots themselves: list, watch and patch are there, with
//! their errors, and tests in memory run the same code. kube-runtime isn't used: it works with kube's own client only, its
//! `Config::concurrency` limits reconciliations for all namespaces together, and it has no Lease.
//!
//! | module | content |
//! |---|---|
//! | [`Controller`] | the loop that starts attempts; `shared`: its settings |
//! | `turns` | the limit of attempts at work, and their order |
//! | `attempt` | one attempt at one Pivot |
//! | `offered_clusters` | Pivots for Clusters that agents offer |
//! | `decide` | the action that the records call for: pure |
//! | `resource`, `status`, `reason` | the spec and the status of a Pivot |
//! | `clusters`, `confined` | opening the two clusters, and the bounds of writes to the controller's own |
//! | `home`, `follow` | the cluster that Pivots live in: writing and reading |
//! | `leader` | the election of the controller that works |
//! | `view`, `wording`, `metrics`, `serve` | messages for people, and metrics for Prometheus |
//! | [`pivot_definition()`], [`controller_manifests()`] | objects to install |

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
mod offered_clusters;
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
    AcceptedAgents, AgentCredentials, AgentInstallation, BackupInstallation, ControllerInstallation, Mounts,
    PLUGINS_PATH, agent_manifests, backup_manifests, backup_user, controller_manifests,
};
pub use metrics::Metrics;
pub use resource::{GROUP, KubeconfigSecret, MoveOptions, PivotSource, PivotTarget, Spec, VERSION};
pub use serve::{Pages, Server};
pub use shared::Settings;
pub use wording::describe_stop;
