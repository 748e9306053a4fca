//! A large move needs no more requests and time per object than a small one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pivot_engine::run;
use pivot_memory::{Fault, MemoryPlace};
use pivot_places::PlaceError;
use pivot_worlds::World;

use crate::generated::stage;
use crate::stage::picture;

/// Kinds of objects in namespaces, some of them.
const IN_NAMESPACES: [&str; 4] = ["Secret", "ConfigMap", "Machine", "MachineSet"];
/// Enough that anything quadratic takes minutes.
const OBJECTS: usize = 5_000;

type Counts = Arc<Mutex<BTreeMap<String, usize>>>;

/// Counts the calls of each verb from now on.
fn count_requests(place: &MemoryPlace) -> Counts {
    let counts = Counts::default();
    let counted = counts.clone();
    place.on_call(move |verb, _| {
        *counted.lock().unwrap().entry(verb.to_owned()).or_default() += 1;
        None
    });
    counts
}

/// Time that this thread has been running on a processor: other programs don't change it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn five_thousand_objects_move_in_seconds() {
    let world = World { objects: pivot_worlds::many(OBJECTS), ..World::of_sound(1) };
    let stage = stage(&world);
    let (source, target) = (count_requests(&stage.source), count_requests(&stage.target));
    let begun = processor_time();
    let report = run::start(stage.setup()).await.unwrap();
    let time = processor_time() - begun;
    let moved: usize = report.done.moved.values().sum();
    let (source, target) = (source.lock().unwrap(), target.lock().unwrap());
    assert!(moved > OBJECTS * 9 / 10, "{moved}");
    assert!(time < Duration::from_secs(10), "{time:?}");
    let reads = |counts: &BTreeMap<String, usize>| -> usize {
        ["list", "list-meta"].iter().filter_map(|verb| counts.get(*verb)).sum()
    };
    assert!(reads(&source) + reads(&target) < 1_000, "{source:?} {target:?}");
}

/// The user has permission in the namespaces that move, and not for lists of all namespaces.
#[tokio::test(start_paused = true)]
async fn namespaces_are_listed_one_by_one_without_permission_for_all() {
    let world = World { objects: pivot_worlds::many(1_000), ..World::of_sound(1) };
    let (straight, limited) = (stage(&world), stage(&world));
    run::start(straight.setup()).await.unwrap();
    let denied = Arc::new(AtomicUsize::new(0));
    for place in [&limited.source, &limited.target] {
        let denied = denied.clone();
        place.on_call(move |verb, key| {
            let is_of_all = verb == "list-meta"
                && key.namespace.is_none()
                && IN_NAMESPACES.contains(&&*key.group_kind.kind);
            is_of_all.then(|| {
                denied.fetch_add(1, Ordering::SeqCst);
                Fault::Before(PlaceError::Forbidden("not in all namespaces".into()))
            })
        });
    }
    run::start(limited.setup()).await.unwrap();
    assert!(denied.load(Ordering::SeqCst) > 3, "{denied:?}");
    assert_eq!(picture(&limited.source), picture(&straight.source));
    assert_eq!(picture(&limited.target), picture(&straight.target));
}
