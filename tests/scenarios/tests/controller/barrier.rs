//! A barrier in the network: requests wait at it until a controller has died.

use std::collections::BTreeSet;
use std::time::Duration;

use pivot_lab::proxy::{Fault, Moment};
use pivot_scenarios::host::Run;
use tokio::sync::watch;
use tokio::time::timeout;

const LIMIT: Duration = Duration::from_secs(60);

/// Holds the requests of several moves, so that one death interrupts all of them.
pub(crate) struct Barrier {
    held: watch::Sender<BTreeSet<String>>,
    open: watch::Sender<bool>,
}

/// Removes the name of a request that does not wait any longer.
struct Place(watch::Sender<BTreeSet<String>>, String);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.send_if_modified(|held| held.remove(&self.1));
    }
}

impl Barrier {
    pub(crate) fn new() -> Self {
        Self { held: watch::Sender::default(), open: watch::Sender::default() }
    }

    /// Lets a request wait here under this name.
    pub(crate) fn hold(&self, moment: Moment, name: &str) -> Fault {
        let (held, name, mut open) = (self.held.clone(), name.to_owned(), self.open.subscribe());
        Fault::action(moment, async move {
            held.send_if_modified(|held| held.insert(name.clone()));
            let _place = Place(held, name);
            // An error means that the test is over.
            let _ = open.wait_for(|open| *open).await;
        })
    }

    /// Waits until the request of this name waits.
    pub(crate) async fn until_held(&self, name: &str, running: &Run) {
        let mut held = self.held.subscribe();
        let waited = timeout(LIMIT, held.wait_for(|held| held.contains(name))).await;
        assert!(waited.is_ok(), "{name}: its request never came:\n{}", running.said());
    }

    /// Whether the request of this name waits.
    pub(crate) fn is_held(&self, name: &str) -> bool {
        self.held.borrow().contains(name)
    }

    /// Panics unless exactly these requests still wait.
    pub(crate) fn assert_held(&self, names: &[&str]) {
        let held = self.held.borrow();
        assert!(held.iter().eq(names), "{held:?} wait");
    }

    /// Lets all of them pass.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }
}
