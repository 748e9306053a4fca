//! A host for tests: plugins are tested natively, with just `cargo test`.
//!
//! [`Harness`] calls hooks as the host does and checks their answers against the same rules: each hook is called twice and must
//! answer the same; after a patch is applied, the hook must return none; a hook touches only what it may; it reads, probes and
//! changes only what [`About`](crate::About) declares. A broken rule is a failed test that names it and says what to do.
//!
//! ```
//! use pivot_sdk::{prelude::*, test::{Harness, codes}};
//! use serde_json::json;
//!
//! const HOST: Kind = Kind::new("example.io", "Host");
//!
//! #[derive(Default)]
//! struct Hosts;
//!
//! impl Plugin for Hosts {
//!     fn about() -> About {
//!         About::new("hosts", "0.1.0", "Hosts move when they are ready.").holds(HOST).reads(Side::Source, HOST)
//!     }
//!     fn check(&self, _: Point, moving: &Move) -> Result<Vec<Finding>> {
//!         let hosts = objects::get_all(Side::Source, moving.of_kind(&HOST))?;
//!         let waits = hosts.iter().flatten().filter(|host| host.text("/status/state") != Some("ready"));
//!         Ok(waits.map(|h| Finding::wait("not-ready", "not ready").on_object(h).with_remedy("wait")).collect())
//!     }
//!     fn hold(&self, host: &Object) -> Result<Patch> {
//!         Ok(host.patch().set_annotation("example.io/paused", ""))
//!     }
//! }
//! pivot_sdk::export!(Hosts, hooks = [check, hold]);
//!
//! let host = json!({
//!     "apiVersion": "example.io/v1", "kind": "Host",
//!     "metadata": {"name": "a", "namespace": "n"}, "status": {"state": "busy"},
//! });
//! let mut harness = Harness::<Hosts>::new();
//! harness.add_to_source(host.clone());
//! assert_eq!(codes(&harness.check(Point::BeforePause)?), ["not-ready"]);
//! let journey = harness.journey(host)?;
//! assert_eq!(journey.held.annotation("example.io/paused"), Some(""));
//! assert_eq!(journey.settled.annotation("example.io/paused"), None);
//! # Ok::<_, pivot_sdk::Error>(())
//! ```

#![allow(
    clippy::panic,
    clippy::print_stderr,
    reason = "a rule broken is a failed test, and what is printed there is shown with it"
)]

mod calls;
mod declaration;
pub(crate) mod fake;
mod journey;
mod messages;
mod options;
mod pattern;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use serde_json::Value;

pub use journey::Journey;

use crate::context::Provider;
use crate::endpoints::{Answer, Probe};
use crate::log::Level;
use crate::{Exported, Finding, Key, Kind, Object, Result, Side};
use fake::Fake;

/// A host with a plugin, for tests. See [the module](self).
#[derive(Debug)]
pub struct Harness<P> {
    fake: Fake,
    plugin: PhantomData<P>,
}

impl<P: Exported> Default for Harness<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Exported> Harness<P> {
    /// A host with two empty sides, on which everything that the plugin declares is granted.
    ///
    /// # Panics
    /// If the host would refuse the plugin's description.
    pub fn new() -> Self {
        let about = P::about();
        declaration::assert_valid(&about, P::HOOKS);
        Self { fake: Fake::new(about), plugin: PhantomData }
    }

    /// Sets the plugin's section of `plugins.toml`, as JSON.
    pub fn set_config(&mut self, config: Value) -> &mut Self {
        self.fake.config = config;
        self
    }

    /// Adds an object to the source, or replaces it.
    pub fn add_to_source(&mut self, object: impl Into<Object>) -> &mut Self {
        self.add_object(Side::Source, object)
    }

    /// Adds an object to the target, or replaces it.
    pub fn add_to_target(&mut self, object: impl Into<Object>) -> &mut Self {
        self.add_object(Side::Target, object)
    }

    /// Adds an object to a side, or replaces it.
    ///
    /// # Panics
    /// If it has no `apiVersion`, `kind` or name.
    pub fn add_object(&mut self, side: Side, object: impl Into<Object>) -> &mut Self {
        let object = object.into();
        fake::assert_named(&object);
        self.fake.objects.insert((side, object.key()), object);
        self
    }

    /// Removes an object.
    pub fn remove_object(&mut self, side: Side, key: &Key) -> &mut Self {
        self.fake.objects.remove(&(side, key.clone()));
        self
    }

    /// Sets the namespaces that move. Default: all in which the source has objects.
    pub fn set_namespaces<'a>(&mut self, namespaces: impl IntoIterator<Item = &'a str>) -> &mut Self {
        self.fake.namespaces = Some(namespaces.into_iter().map(str::to_owned).collect());
        self
    }

    /// Sets the objects that move. Default: all of the plugin's kinds that the source has in the namespaces that move.
    pub fn set_moving_objects<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>) -> &mut Self {
        self.fake.moving = Some(keys.into_iter().cloned().collect());
        self
    }

    /// Gives a namespace of the source another name in the target.
    pub fn map_namespace(&mut self, source: &str, target: &str) -> &mut Self {
        self.fake.namespace_map.insert(source.to_owned(), target.to_owned());
        self
    }

    /// Makes a side a directory.
    pub fn make_directory(&mut self, side: Side) -> &mut Self {
        self.fake.directories.insert(side);
        self
    }

    /// Adds a provider to a side.
    pub fn add_provider(&mut self, side: Side, provider: Provider) -> &mut Self {
        self.fake.providers.push((side, provider));
        self
    }

    /// Sets whether anything except pivot-host has written to the objects since the commit. Default: true.
    pub fn set_written_since_commit(&mut self, written: bool) -> &mut Self {
        self.fake.written_since_commit = written;
        self
    }

    /// Sets the answer of an endpoint, for probes equal to this one. An endpoint without an answer is unreachable.
    pub fn set_answer(&mut self, probe: &Probe, answer: Result<Answer>) -> &mut Self {
        self.fake.endpoints.insert(fake::endpoint_key(probe), answer);
        self
    }

    /// Sets the status and body of an HTTP endpoint.
    pub fn set_http_answer(&mut self, url: &str, status: u16, body: impl Into<String>) -> &mut Self {
        self.set_answer(&Probe::get(url), Ok(Answer { status, body: body.into(), took_ms: 0 }))
    }

    /// Makes reads of a kind fail with this error: an operator who granted less, an unreachable server.
    pub fn fail_reads(&mut self, side: Side, kind: &Kind, error: crate::Error) -> &mut Self {
        self.fake.failing.push((side, kind.clone(), error));
        self
    }

    /// Returns the lines that the plugin logged in the last call.
    pub fn logged_lines(&self) -> &[(Level, String)] {
        &self.fake.log
    }

    /// The current state of an object on a side.
    pub fn get(&self, side: Side, key: &Key) -> Option<&Object> {
        self.fake.objects.get(&(side, key.clone()))
    }
}

/// The codes of findings, in their order.
pub fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| &*finding.code).collect()
}
