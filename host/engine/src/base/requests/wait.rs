//! Waiting by watch for objects to reach a state: no polling, and no requests for single objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use pivot_core::{Key, Kind, Object};
use pivot_places::{Event, PlaceError};
use tokio::time::Instant;

use crate::base::events::{Awaited, Watcher};
use crate::base::outcome::failure::Failure;
use crate::base::requests::halt::Halter;
use crate::base::requests::listing::select_namespaces;
use crate::base::requests::parking::Parking;
use crate::base::requests::reports::{REPORT_CHECK, Reports};
use crate::base::requests::side::Handle;

/// Time between the end of a watch, or one that the server refused as expired, and the next list.
const RELIST_DELAY: Duration = Duration::from_millis(200);

/// The objects of one kind to wait for: one of each set.
#[derive(Clone, Debug, Default)]
pub(crate) struct WantedObjects {
    sets: Vec<BTreeSet<Key>>,
}

impl WantedObjects {
    /// Waits for each of these objects.
    pub(crate) fn all_of(keys: impl IntoIterator<Item = Key>) -> Self {
        Self::one_of_each(keys.into_iter().map(|key| BTreeSet::from([key])))
    }

    /// Waits for one object of each of these sets.
    pub(crate) fn one_of_each(sets: impl IntoIterator<Item = BTreeSet<Key>>) -> Self {
        Self { sets: sets.into_iter().collect() }
    }
}

/// Progress of the objects of one kind.
struct Progress<'a> {
    sets: Vec<SetProgress<'a>>,
    /// The sets that contain an object.
    sets_of: BTreeMap<&'a Key, Vec<usize>>,
    /// Existing objects, with what each lacks.
    seen: BTreeMap<&'a Key, Option<String>>,
    /// Number of open sets.
    open: usize,
}

/// Progress of one set. While some of its objects exist, and all of these lack something, the set is open.
struct SetProgress<'a> {
    keys: &'a BTreeSet<Key>,
    existing: usize,
    lacking: usize,
}

impl SetProgress<'_> {
    fn is_open(&self) -> bool {
        self.existing > 0 && self.lacking == self.existing
    }
}

impl<'a> Progress<'a> {
    fn new(wanted: &'a WantedObjects) -> Self {
        let sets = wanted.sets.iter().map(|keys| SetProgress { keys, existing: 0, lacking: 0 }).collect();
        let mut sets_of: BTreeMap<&Key, Vec<usize>> = BTreeMap::new();
        for (index, set) in wanted.sets.iter().enumerate() {
            set.iter().for_each(|key| sets_of.entry(key).or_default().push(index));
        }
        Self { sets, sets_of, seen: BTreeMap::new(), open: 0 }
    }

    /// Replaces everything that was seen.
    fn replace(&mut self, seen: BTreeMap<Key, Option<String>>) {
        let gone: Vec<&Key> = self.seen.keys().filter(|key| !seen.contains_key(**key)).copied().collect();
        gone.into_iter().for_each(|key| self.update(key, None));
        seen.into_iter().for_each(|(key, lacks)| self.update(&key, Some(lacks)));
    }

    /// Notes an object that exists, with what it lacks, or that is gone.
    fn update(&mut self, key: &Key, now: Option<Option<String>>) {
        let Some(key) = self.find(key) else { return };
        let is_lacking = |lacks: &Option<Option<String>>| lacks.as_ref().is_some_and(Option::is_some);
        let (exists, lacks) = (now.is_some(), is_lacking(&now));
        let before = match now {
            Some(lacks) => self.seen.insert(key, lacks),
            None => self.seen.remove(key),
        };
        for &index in self.sets_of.get(key).into_iter().flatten() {
            let Some(set) = self.sets.get_mut(index) else { continue };
            let was_open = usize::from(set.is_open());
            set.existing = set.existing + usize::from(exists) - usize::from(before.is_some());
            set.lacking = set.lacking + usize::from(lacks) - usize::from(is_lacking(&before));
            self.open = self.open + usize::from(set.is_open()) - was_open;
        }
    }

    fn find(&self, key: &Key) -> Option<&'a Key> {
        self.sets_of.get_key_value(key).map(|(key, _)| *key)
    }

    /// Names an object of each open set, with what it lacks.
    fn missing(&self) -> BTreeMap<&'a Key, String> {
        let named = self.sets.iter().filter(|set| set.is_open()).filter_map(|set| {
            let (key, lacks) = set.keys.iter().find_map(|key| self.seen.get_key_value(key))?;
            let lacks = lacks.clone()?;
            Some((*key, if set.keys.len() > 1 { format!("{lacks}, nor another of its kind") } else { lacks }))
        });
        named.collect()
    }
}

/// Describes the state that an object lacks; `None` if it is in the wanted state.
pub(crate) type Lacks<'a> = dyn Fn(&Object) -> Result<Option<String>, Failure> + Send + Sync + 'a;

/// Waits until an object of each set lacks nothing. An object that is gone lacks nothing; whether it is allowed to be gone is for
/// the caller to check.
pub(crate) async fn wait_for_objects(
    handle: &Handle,
    wanted: BTreeMap<Arc<Kind>, WantedObjects>,
    lacks: &Lacks<'_>,
    timeout: Duration,
    (halter, parking): (&Halter, &Parking),
    watcher: &dyn Watcher,
) -> Result<(), Failure> {
    let progress: Vec<(&Arc<Kind>, Mutex<Progress<'_>>)> =
        wanted.iter().map(|(kind, wanted)| (kind, Mutex::new(Progress::new(wanted)))).collect();
    let awaited = || -> Vec<Awaited> {
        let mut all = BTreeMap::new();
        progress.iter().for_each(|(_, progress)| all.extend(lock(progress).missing()));
        all.iter().map(|(key, what)| Awaited::for_object(&handle.own_name(key), handle.side, what)).collect()
    };
    let deadline = Instant::now() + timeout;
    let kinds =
        progress.iter().map(|(kind, progress)| wait_for_objects_of_kind(handle, kind, progress, lacks));
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

fn lock<'a, 'b>(progress: &'a Mutex<Progress<'b>>) -> MutexGuard<'a, Progress<'b>> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn wait_for_objects_of_kind(
    handle: &Handle,
    kind: &Arc<Kind>,
    progress: &Mutex<Progress<'_>>,
    lacks: &Lacks<'_>,
) -> Result<(), Failure> {
    let namespaces = select_namespaces(lock(progress).sets_of.keys().copied());
    let is_wanted = |key: &Key| lock(progress).find(key).is_some();
    loop {
        let (mut seen, mut versions) = (BTreeMap::new(), Vec::new());
        for &namespace in &namespaces {
            let listing = handle.list(kind, namespace).await?;
            for object in listing.objects.iter().filter(|object| is_wanted(&object.key())) {
                seen.insert(object.key(), lacks(object)?);
            }
            // The wait may last minutes: it keeps no list of whole objects.
            versions.push((namespace, listing.resource_version));
        }
        lock(progress).replace(seen);
        if lock(progress).open == 0 {
            return Ok(());
        }
        let watches = versions
            .iter()
            .map(|(namespace, version)| handle.retry(|| handle.place.watch(kind, *namespace, version)));
        // None shows that a watch ended.
        let until_end = |events: BoxStream<'static, _>| events.map(Some).chain(stream::iter([None]));
        let mut events = match try_join_all(watches).await {
            Ok(watches) => stream::select_all(watches.into_iter().map(until_end)),
            Err(PlaceError::Expired(_)) => {
                tokio::time::sleep(RELIST_DELAY).await;
                continue;
            }
            Err(error) => {
                return Err(handle.request_failure(format!("watching {}", kind.plural), None, error));
            }
        };
        // A watch that ends or fails is restarted with a list, so no event is missed in between.
        while let Some(Some(Ok(event))) = events.next().await {
            match event {
                Event::Applied(object) if is_wanted(&object.key()) => {
                    let now = lacks(&object)?;
                    lock(progress).update(&object.key(), Some(now));
                }
                Event::Applied(_) => continue,
                Event::Deleted(object) => lock(progress).update(&object.key(), None),
            }
            if lock(progress).open == 0 {
                return Ok(());
            }
        }
        tokio::time::sleep(RELIST_DELAY).await;
    }
}
