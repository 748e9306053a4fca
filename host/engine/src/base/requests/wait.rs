//! Waiting by watch for objects to reach a state: no polling, and no requests for single objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::try_join_all;
use pivot_core::{Key, Kind, Object};
use pivot_places::{Event, PlaceError};
use tokio::time::Instant;

use crate::base::events::{Awaited, Watcher};
use crate::base::outcome::failure::Failure;
use crate::base::requests::halt::Halter;
use crate::base::requests::parking::Parking;
use crate::base::requests::reports::Reports;
use crate::base::requests::side::Handle;

/// Time between two checks for a due report.
const REPORT_CHECK: Duration = Duration::from_secs(1);
/// Time between the end of a watch, or one that the server refused as expired, and the next list.
const RELIST_DELAY: Duration = Duration::from_millis(200);

/// The objects of one kind to wait for.
#[derive(Clone, Debug)]
pub(crate) struct WantedObjects {
    pub(crate) keys: BTreeSet<Key>,
    pub(crate) enough: Enough,
}

/// Number of objects that must be in the wanted state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    Each,
    One,
}

impl WantedObjects {
    /// Waits for each of these objects.
    pub(crate) fn all_of(keys: BTreeSet<Key>) -> Self {
        Self { keys, enough: Enough::Each }
    }

    fn is_satisfied(&self, open: usize, there: usize) -> bool {
        match self.enough {
            Enough::Each => open == 0,
            Enough::One => open < there || there == 0,
        }
    }
}

/// Describes the state that an object lacks; `None` if it is in the wanted state.
pub(crate) type Lacks<'a> = dyn Fn(&Object) -> Result<Option<String>, Failure> + Send + Sync + 'a;

/// Waits until no object of the given keys lacks anything or, if one is enough, until one doesn't. An object that is gone lacks
/// nothing; whether it is allowed to be gone is for the caller to check.
pub(crate) async fn wait_for_objects(
    handle: &Handle,
    wanted: BTreeMap<Arc<Kind>, WantedObjects>,
    lacks: &Lacks<'_>,
    timeout: Duration,
    (halter, parking): (&Halter, &Parking),
    watcher: &dyn Watcher,
) -> Result<(), Failure> {
    let missing: Mutex<BTreeMap<Key, String>> = Mutex::default();
    let awaited = || -> Vec<Awaited> {
        let missing = missing.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = missing.iter();
        objects.map(|(key, what)| Awaited::for_object(&handle.own_name(key), handle.side, what)).collect()
    };
    let deadline = Instant::now() + timeout;
    let kinds =
        wanted.iter().map(|(kind, wanted)| wait_for_objects_of_kind(handle, kind, wanted, lacks, &missing));
    let reports = Reports::quiet_at_first();
    let tell = async {
        loop {
            tokio::time::sleep(REPORT_CHECK).await;
            reports.report(watcher, awaited(), deadline);
        }
    };
    let wait = async {
        tokio::select! {
            result = try_join_all(kinds) => result.map(drop),
            halt = halter.wait() => Err(Failure::Halted(halt)),
            () = tokio::time::sleep(timeout) => Err(Failure::TimedOut(awaited())),
            () = tell => Ok(()),
        }
    };
    parking.wait_for_others(halter, wait).await
}

async fn wait_for_objects_of_kind(
    handle: &Handle,
    kind: &Arc<Kind>,
    wanted: &WantedObjects,
    lacks: &Lacks<'_>,
    missing: &Mutex<BTreeMap<Key, String>>,
) -> Result<(), Failure> {
    let keys = &wanted.keys;
    let namespace = common_namespace(keys);
    let lock = || missing.lock().unwrap_or_else(PoisonError::into_inner);
    // If one is enough, one is named.
    let note = |key: Key, what: String| {
        let mut missing = lock();
        match wanted.enough {
            Enough::Each => drop(missing.insert(key, what)),
            Enough::One if missing.keys().any(|named| keys.contains(named) && *named != key) => {}
            Enough::One => drop(missing.insert(key, format!("{what}, nor another of its kind"))),
        }
    };
    loop {
        let listing = handle.list(kind, namespace).await?;
        let mut open = BTreeSet::new();
        let mut there = 0;
        lock().retain(|key, _| !keys.contains(key));
        for object in listing.objects.iter().filter(|object| keys.contains(&object.key())) {
            there += 1;
            if let Some(what) = lacks(object)? {
                note(object.key(), what);
                open.insert(object.key());
            }
        }
        if wanted.is_satisfied(open.len(), there) {
            lock().retain(|key, _| !keys.contains(key));
            return Ok(());
        }
        let watch = handle.retry(|| handle.place.watch(kind, namespace, &listing.resource_version)).await;
        let mut events = match watch {
            Ok(events) => events,
            Err(PlaceError::Expired(_)) => {
                tokio::time::sleep(RELIST_DELAY).await;
                continue;
            }
            Err(error) => {
                return Err(handle.request_failure(format!("watching {}", kind.plural), None, error));
            }
        };
        // A watch that ends or fails is restarted with a list, so no event is missed in between.
        while let Some(Ok(event)) = events.next().await {
            let (object, what) = match event {
                Event::Applied(object) if keys.contains(&object.key()) => {
                    let what = lacks(&object)?;
                    (object, what)
                }
                Event::Deleted(object) if keys.contains(&object.key()) => {
                    there = there.saturating_sub(1);
                    (object, None)
                }
                Event::Applied(_) | Event::Deleted(_) => continue,
            };
            match what {
                Some(what) => {
                    note(object.key(), what);
                    open.insert(object.key());
                }
                None => {
                    lock().remove(&object.key());
                    open.remove(&object.key());
                }
            }
            if wanted.is_satisfied(open.len(), there) {
                lock().retain(|key, _| !keys.contains(key));
                return Ok(());
            }
        }
        tokio::time::sleep(RELIST_DELAY).await;
    }
}

/// The namespace that all keys share, if they do.
fn common_namespace(keys: &BTreeSet<Key>) -> Option<&str> {
    let mut namespaces = keys.iter().map(|key| key.namespace.as_deref());
    let first = namespaces.next().flatten();
    if namespaces.all(|namespace| namespace == first) { first } else { None }
}
