//! The lab: real servers for tests.
//!
//! A move is a promise about two Kubernetes API servers, their controllers and a network that fails. Fakes agree with their
//! authors, so everything here is real: etcd, kube-apiserver, the garbage collector, Cluster API's own managers. The lab adds a
//! proxy that breaks the network on request, and an observer that watches both sides from outside the program under test and
//! reports which promise was broken, and when.
//!
//! | module | content |
//! |---|---|
//! | [`mod@assets`] | the binaries, built once from Go modules and cached |
//! | [`server`] | a [`Server`] and a [`Pair`] of them |
//! | [`audit`] | who asked the server for what, and how often |
//! | [`proxy`] | a network that fails on request |
//! | [`managers`] | Cluster API's own managers |
//! | [`metal3`] | Metal3's own operators |
//! | [`observer`] | a witness that reports which promise was broken |
//! | [`kinds`] | names for objects that are valid on both sides |
//! | [`recording`] | answers of other programs, kept in the cache |
//! | [`registry`] | an OCI registry, behind TLS and a password |
//! | [`pki`] | certificates, including expired ones and those of users with few permissions |
//! | [`process`] | child processes that never outlive the test |
//! | [`kubeconfig`] | kubeconfigs for tools |
//! | [`webhooks`] | webhooks of managers that run as plain processes |
//!
//! A lab that cannot start is a failed test, never a skipped one.

pub mod assets;
pub mod audit;
pub mod kinds;
pub mod kubeconfig;
pub mod managers;
pub mod metal3;
pub mod observer;
pub mod pki;
mod ports;
pub mod process;
pub mod proxy;
pub mod recording;
pub mod registry;
pub mod server;
pub mod webhooks;

pub use assets::{Assets, assets};
pub use audit::Audit;
pub use kinds::{Kind, ObjectKey};
pub use managers::{Manager, ManagerOptions, Managers};
pub use metal3::{Metal3Operators, Operator};
pub use observer::{Observer, Rules};
pub use proxy::{FaultProxy, Relay};
pub use recording::Recording;
pub use registry::Registry;
pub use server::{Backup, Crds, Dump, Pair, Revision, Server, normalise, parse};
pub use webhooks::{ScriptedWebhook, WebhookEndpoint};

use std::fmt::Display;
use std::io::Write;

/// Prints what the lab is doing, for the person who waits.
///
/// Bypasses the test harness's capture on purpose: the first run builds for minutes, and silence looks like a hang.
pub fn say(message: impl Display) {
    // If stderr is closed, nobody is reading.
    let _ = writeln!(std::io::stderr().lock(), "lab: {message}");
}
