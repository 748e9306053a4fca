//! The namespace moves to the other side and back, and each time controllers continue where they stopped.

use std::collections::BTreeMap;

use pivot_lab::assets::{CLUSTER_API, CLUSTER_API_NEWEST, CLUSTER_API_SILENT, KUBERNETES};
use pivot_lab::observer::{Side, check};
use pivot_lab::{Dump, Observer, Rules, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::state::dangling;

use super::witness;
use super::world::{NAMESPACE, World, conditions};

/// Two Clusters, one of them by a class.
pub(crate) const OBJECTS: &str = include_str!("world.yaml");

/// The same without a class, for releases that don't know v1beta2 yet.
const OLDER_OBJECTS: &str = include_str!("world-1.8.yaml");

/// Of the lab's releases, unless `PIVOT_CLUSTER_API` and `PIVOT_KUBERNETES` name others (`1.30.14`, or `1.30.14:1.36.3` for another
/// in the target): `cargo xtask matrix` runs it with each.
// proves: D19, I2, I11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_continue_where_they_stopped_there_and_back() {
    let version = release("PIVOT_CLUSTER_API", CLUSTER_API);
    let kubernetes = release("PIVOT_KUBERNETES", KUBERNETES);
    let (source, target) = kubernetes.split_once(':').unwrap_or((kubernetes, kubernetes));
    let mut world = World::start_on(version, [source, target]).await.unwrap();
    let is_older = version.starts_with("1.8.") || version.starts_with("1.10.");
    let (objects, machines) = if is_older { (OLDER_OBJECTS, 3) } else { (OBJECTS, 5) };
    world.fill(objects, machines).await.unwrap();

    go(&mut world, Side::Source).await;
    // Only controllers that recognise every object create one more Machine, with all its objects.
    world.scale(Side::Target, 3).await.unwrap();
    world.until_machines(Side::Target, machines + 1).await.unwrap();

    go(&mut world, Side::Target).await;
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
    // Only controllers that find their finalizers and owners delete Machines with all their objects.
    world.scale(Side::Source, 1).await.unwrap();
    world.until_machines(Side::Source, machines - 1).await.unwrap();
    assert_eq!(world.torn_down().unwrap().len(), 2);
    assert_eq!(world.nodes().await.unwrap().len(), machines - 1);
}

/// The release that the environment names.
fn release(variable: &str, default: &'static str) -> &'static str {
    // For the rest of the process: there is one of each.
    std::env::var(variable).map_or(default, |named| String::leak(named))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newest_controllers_continue_where_they_stopped() {
    let mut world = World::start(CLUSTER_API_NEWEST).await.unwrap();
    world.fill(OBJECTS, 5).await.unwrap();
    go(&mut world, Side::Source).await;
    world.scale(Side::Target, 3).await.unwrap();
    world.until_machines(Side::Target, 6).await.unwrap();
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
}

/// Controllers that never report a pause must give the same evidence in the target.
// proves: I11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_that_report_no_pause_continue_where_they_stopped() {
    let mut world = World::start(CLUSTER_API_SILENT).await.unwrap();
    world.fill(OLDER_OBJECTS, 3).await.unwrap();
    go(&mut world, Side::Source).await;
    world.scale(Side::Target, 3).await.unwrap();
    world.until_machines(Side::Target, 4).await.unwrap();
    assert_eq!(world.torn_down().unwrap(), Vec::<String>::new());
}

/// Moves the namespace from one side to the other, and checks everything that was observed meanwhile.
pub(crate) async fn go(world: &mut World, from: Side) {
    let before = world.until_quiet(from).await.unwrap();
    let nodes = world.nodes().await.unwrap();
    let (source, target) = (world.server(from), world.server(from.other()));
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let host = Host::between(source.kubeconfig(), target.kubeconfig()).with_controllers();
    let flags = ["move", "-n", NAMESPACE, "--timeout", "5m", "--pause-timeout", "3m"];
    let report = host.run(&flags).await.unwrap().done().unwrap();
    // The target's controllers get time for mistakes.
    let after = world.until_quiet(from.other()).await.unwrap();

    let log = observer.finish_log().await.unwrap();
    let back = witness::finalizers_back(&log);
    say(format_args!("from the {from}: {}, finalizers came back {back} times", report["phases"]));
    assert_eq!(
        check(&log, &Rules::new().target_at_work()).iter().map(ToString::to_string).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    assert_eq!(witness::complaints(&log, witness::speaking(world.version)), Vec::<String>::new());

    let left = world.server(from).dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(left.keys().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(truths(&after, world.version), truths(&before, world.version));
    assert_eq!(world.nodes().await.unwrap(), nodes);
}

/// What controllers report about each object, including that it is not paused.
pub(crate) fn truths(dump: &Dump, version: &str) -> BTreeMap<String, Vec<String>> {
    // Reported when a KubeadmConfig's data are made, and never again.
    let once = |kind: &str| version == CLUSTER_API_SILENT && kind == "CertificatesAvailable";
    let of = |object| {
        let all = conditions(object).into_iter().filter(|(kind, _)| !once(kind));
        all.map(|(kind, status)| format!("{kind}={status}")).collect()
    };
    dump.iter().map(|(key, object)| (key.to_string(), of(object))).collect()
}
