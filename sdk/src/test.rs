//! A host for tests: plugins are tested natively, with `cargo test` and nothing else.
//!
//! [`Harness`] calls hooks as the host does and holds their answers against the same rules: each hook is asked twice
//! and has to answer the same; a patch is applied and the hook asked again, and then has to be content; nothing
//! is touched that the hook may not touch; nothing is read, probed or changed that [`About`](crate::About) does not
//! declare. A rule broken is a failed test that says which and what to do.
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
//!         Ok(waits.map(|h| Finding::wait("not-ready", "not ready").on(h).remedy("wait")).collect())
//!     }
//!     fn hold(&self, host: &Object) -> Result<Patch> {
//!         Ok(host.patch().annotation("example.io/paused", ""))
//!     }
//! }
//! pivot_sdk::export!(Hosts, hooks = [check, hold]);
//!
//! let host = json!({
//!     "apiVersion": "example.io/v1", "kind": "Host",
//!     "metadata": {"name": "a", "namespace": "n"}, "status": {"state": "busy"},
//! });
//! let mut harness = Harness::<Hosts>::new();
//! harness.source(host.clone());
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
mod declared;
pub(crate) mod fake;
mod journey;
mod pattern;
mod said;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use serde_json::Value;

pub use journey::Journey;

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
    /// Where the host would refuse the plugin for what it says about itself.
    pub fn new() -> Self {
        let about = P::about();
        declared::check(&about, P::HOOKS);
        Self { fake: Fake::new(about), plugin: PhantomData }
    }

    /// The plugin's section of `plugins.toml`, as JSON.
    pub fn config(&mut self, config: Value) -> &mut Self {
        self.fake.config = config;
        self
    }

    /// Puts an object into the source, or replaces it.
    pub fn source(&mut self, object: impl Into<Object>) -> &mut Self {
        self.put(Side::Source, object)
    }

    /// Puts an object into the target, or replaces it.
    pub fn target(&mut self, object: impl Into<Object>) -> &mut Self {
        self.put(Side::Target, object)
    }

    /// Puts an object into a side, or replaces it.
    ///
    /// # Panics
    /// Where it has no `apiVersion`, `kind` or name.
    pub fn put(&mut self, side: Side, object: impl Into<Object>) -> &mut Self {
        let object = object.into();
        fake::assert_named(&object);
        self.fake.objects.insert((side, object.key()), object);
        self
    }

    /// Takes an object away.
    pub fn remove(&mut self, side: Side, key: &Key) -> &mut Self {
        self.fake.objects.remove(&(side, key.clone()));
        self
    }

    /// The namespaces that move. Where a test does not say: all in which the source has objects.
    pub fn namespaces<'a>(&mut self, namespaces: impl IntoIterator<Item = &'a str>) -> &mut Self {
        self.fake.namespaces = Some(namespaces.into_iter().map(str::to_owned).collect());
        self
    }

    /// The objects that move. Where a test does not say: all of the plugin's kinds that the source has in the namespaces
    /// that move.
    pub fn moving<'a>(&mut self, keys: impl IntoIterator<Item = &'a Key>) -> &mut Self {
        self.fake.moving = Some(keys.into_iter().cloned().collect());
        self
    }

    /// What an endpoint answers from now on: where it is probed as this probe does. One that a test says nothing about is
    /// unreachable.
    pub fn endpoint(&mut self, probe: &Probe, answer: Result<Answer>) -> &mut Self {
        self.fake.endpoints.insert(fake::place(probe), answer);
        self
    }

    /// An HTTP endpoint's status and body from now on.
    pub fn answers(&mut self, url: &str, status: u16, body: impl Into<String>) -> &mut Self {
        self.endpoint(&Probe::get(url), Ok(Answer { status, body: body.into(), took_ms: 0 }))
    }

    /// Reads of a kind fail with this error from now on: an operator who granted less, a server that is away.
    pub fn fails(&mut self, side: Side, kind: &Kind, error: crate::Error) -> &mut Self {
        self.fake.failing.push((side, kind.clone(), error));
        self
    }

    /// What the plugin logged in the last call.
    pub fn log(&self) -> &[(Level, String)] {
        &self.fake.log
    }

    /// An object of a side, as it is now.
    pub fn get(&self, side: Side, key: &Key) -> Option<&Object> {
        self.fake.objects.get(&(side, key.clone()))
    }
}

/// The codes of findings, in their order.
pub fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| &*finding.code).collect()
}
