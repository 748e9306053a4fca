//! The namespace moves to the other side and back, and each time controllers continue where they stopped.

use std::collections::BTreeMap;
use std::path::Path;

use pivot_lab::assets::{CLUSTER_API_NEWEST, CLUSTER_API_SILENT, KUBERNETES};
use pivot_lab::observer::{Side, check};
use pivot_lab::{Dump, Observer, Rules, say};
use pivot_scenarios::host::Host;
use pivot_scenarios::sampling::sample;
use pivot_scenarios::state::dangling;

use super::witness;
use super::world::{NAMESPACE, World, conditions};

/// Two Clusters, one of them by a class.
pub(crate) const OBJECTS: &str = include_str!("world.yaml");

/// The same without a class, for releases that don't know v1beta2 yet.
pub(crate) const OLDER_OBJECTS: &str = include_str!("world-1.8.yaml");

/// With the release of Cluster API that `PIVOT_CLUSTER_API` names, or with releases before and after the lab's own: the last whose
/// controllers don't report a pause, which must give the same evidence in the target, and the newest. `PIVOT_KUBERNETES` names the
/// servers' release (`1.30.14`, or `1.30.14:1.36.3` for another one in the target). `cargo xtask matrix` runs each combination.
// proves: D19, I2, I11
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn controllers_continue_where_they_stopped_there_and_back() {
    let kubernetes = read_pair("PIVOT_KUBERNETES", [KUBERNETES; 2]);
    let releases = match read_variable("PIVOT_CLUSTER_API") {
        Some(version) => vec![version],
        None => sample("other releases of Cluster API", [CLUSTER_API_SILENT, CLUSTER_API_NEWEST], 1).unwrap(),
    };
    for version in releases {
        let mut world = World::start_on([version; 2], kubernetes).await.unwrap();
        let (objects, machines) = objects_for(version);
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
}

/// The objects that fill a source with a release of Cluster API, and their Machines.
pub(crate) fn objects_for(version: &str) -> (&'static str, usize) {
    let is_older = ["1.8.", "1.9.", "1.10."].iter().any(|line| version.starts_with(line));
    if is_older { (OLDER_OBJECTS, 3) } else { (OBJECTS, 5) }
}

/// The source's and the target's release that an environment variable names: `A:B`, or `A` for both.
pub(crate) fn read_pair(variable: &str, default: [&'static str; 2]) -> [&'static str; 2] {
    let Some(value) = read_variable(variable) else { return default };
    let (source, target) = value.split_once(':').unwrap_or((value, value));
    [source, target]
}

/// The value of an environment variable.
fn read_variable(variable: &str) -> Option<&'static str> {
    // For the rest of the process: there is one of each.
    std::env::var(variable).ok().map(|named| &*String::leak(named))
}

/// Moves the namespace from one side to the other, and checks everything that was observed meanwhile.
pub(crate) async fn go(world: &mut World, from: Side) {
    let source = world.server(from).kubeconfig().to_owned();
    go_through(world, from, &source).await;
}

/// Moves the namespace with another kubeconfig for the source.
pub(crate) async fn go_through(world: &mut World, from: Side, kubeconfig: &Path) {
    let before = world.until_quiet(from).await.unwrap();
    let nodes = world.nodes().await.unwrap();
    let (source, target) = (world.server(from), world.server(from.other()));
    let observer = Observer::start(source, target, &[NAMESPACE]).await.unwrap();
    let host = Host::between(kubeconfig, target.kubeconfig()).with_controllers();
    let flags = ["move", "-n", NAMESPACE, "--takeover-timeout", "5m", "--pause-timeout", "3m"];
    let report = host.run(&flags).await.unwrap().done().unwrap();
    // The target's controllers get time for mistakes.
    let (version, wanted) = (world.version(from), truths(&before, world.version(from)));
    let after = world.until(from.other(), |dump| truths(dump, version) == wanted).await.unwrap();

    let log = observer.finish_log().await.unwrap();
    let back = witness::finalizers_back(&log);
    say(format_args!("from the {from}: {}, finalizers came back {back} times", report["phases"]));
    assert_eq!(
        check(&log, &Rules::new().target_at_work()).iter().map(ToString::to_string).collect::<Vec<_>>(),
        Vec::<String>::new()
    );
    assert_eq!(witness::complaints(&log, witness::speaking(version)), Vec::<String>::new());

    let left = world.server(from).dump(&[NAMESPACE]).await.unwrap();
    assert_eq!(left.keys().map(ToString::to_string).collect::<Vec<_>>(), Vec::<String>::new());
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    assert_eq!(dangling(&after), Vec::<String>::new());
    assert_eq!(truths(&after, version), wanted);
    assert_eq!(world.nodes().await.unwrap(), nodes);
}

/// What controllers report about each object, including that it is not paused.
pub(crate) fn truths(dump: &Dump, version: &str) -> BTreeMap<String, Vec<String>> {
    // Reported when a KubeadmConfig's data are made, and never again.
    let once = |kind: &str| version == CLUSTER_API_SILENT && kind == "CertificatesAvailable";
    // A MachineHealthCheck reports that a Machine is healthy long after the Machine itself does.
    let late = |kind: &str, status: &str| (kind, status) == ("HealthCheckSucceeded", "True");
    let of = |object| {
        let all = conditions(object).into_iter().filter(|(kind, status)| !once(kind) && !late(kind, status));
        all.map(|(kind, status)| format!("{kind}={status}")).collect()
    };
    dump.iter().map(|(key, object)| (key.to_string(), of(object))).collect()
}
