//! There and back.

use std::collections::BTreeSet;
use std::time::Instant;

use futures::{StreamExt, TryStreamExt, stream};
use pivot_lab::assets::CLUSTER_API;
use pivot_lab::{Crds, Dump, ObjectKey, Pair, Server, parse, say};
use pivot_scenarios::clusterctl::clusterctl;
use pivot_scenarios::host::Host;
use pivot_scenarios::sampling::sample;
use pivot_scenarios::secrets::mark_secret;
use pivot_scenarios::state::{self, carried, difference};

use super::cases::{CASES, Case, SHARED};
use super::templates::Providers;

/// Clusters that are filled or moved at the same time: each mostly waits.
const CONCURRENT: usize = 6;

/// Clusters that clusterctl moves in a landing, too.
const BY_CLUSTERCTL: usize = 4;

/// In no namespace, and in those of controllers: what each move leaves in the source, by provider, and whether it is copied to the
/// target, too.
const LEFT: [(&str, &str, bool); 13] = [
    ("aws", "AWSClusterControllerIdentity.infrastructure.cluster.x-k8s.io default", true),
    (
        "aws",
        "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io multi-tenancy-jump-identity-name-c",
        true,
    ),
    (
        "aws",
        "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io multi-tenancy-nested-identity-name-c",
        true,
    ),
    ("aws", "AWSClusterRoleIdentity.infrastructure.cluster.x-k8s.io team", true),
    ("aws", "AWSClusterStaticIdentity.infrastructure.cluster.x-k8s.io keys", true),
    ("ipam-in-cluster", "GlobalInClusterIPPool.ipam.cluster.x-k8s.io everywhere", true),
    ("openstack", "OpenStackClusterIdentity.infrastructure.cluster.x-k8s.io cloud", false),
    ("aws", "Secret capa-system/aws-keys", false),
    ("openstack", "Secret capo-system/clouds", false),
    ("vsphere", "Secret capv-system/vcenter", false),
    ("vsphere", "VSphereClusterIdentity.infrastructure.cluster.x-k8s.io vcenter", false),
    ("vsphere", "VSphereDeploymentZone.infrastructure.cluster.x-k8s.io zone-a", false),
    ("vsphere", "VSphereFailureDomain.infrastructure.cluster.x-k8s.io domain-a", false),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_of_each_provider_moves_there_and_back_and_leaves_what_is_written_down() {
    let start = Instant::now();
    let providers = Providers::find().await;
    let cases: Vec<&Case> = CASES.iter().filter(|case| case.can_run(&providers)).collect();
    let crds = Crds::cluster_api(CLUSTER_API).await.unwrap().and(providers.crds().into());
    let pair = Pair::start_with(&crds).await.unwrap();
    for (_, shared) in SHARED.iter().filter(|(provider, _)| providers.has(provider)) {
        let mut shared = parse(shared).unwrap();
        shared.iter_mut().for_each(mark_secret);
        pair.source.apply_values(shared).await.unwrap();
    }
    let fill = async |case: &Case| {
        let filled = pair.source.apply_values(case.objects(&providers)).await;
        filled.err().map(|error| format!("{}: {error:#}", case.namespace))
    };
    let filled = stream::iter(&cases).map(|case| fill(case)).buffer_unordered(CONCURRENT);
    let invalid: Vec<String> = filled.filter_map(async |invalid| invalid).collect().await;
    assert!(invalid.is_empty(), "{}", invalid.join("\n"));
    let before = all(&pair.source).await;
    say(format_args!("{} objects of {} clusters after {:?}", before.len(), cases.len(), start.elapsed()));

    let host = Host::between(pair.source.kubeconfig(), pair.target.kubeconfig());
    let plans = stream::iter(&cases).map(|case| assert_needs_named(case, &host)).buffer_unordered(CONCURRENT);
    plans.collect::<()>().await;
    move_all(&cases, &host).await;
    let there = all(&pair.target).await;
    assert_left(&pair.source, &expected(&providers, |_| true), "pivot-host").await;
    let stays = expected(&providers, |copied| !copied);
    let taken: Dump =
        before.clone().into_iter().filter(|(key, _)| !stays.contains(&key.to_string())).collect();
    same(&taken, &there);
    say(format_args!("there after {:?}", start.elapsed()));

    state::restore_status(&pair.target, &taken).await.unwrap();
    move_all(&cases, &Host::between(pair.target.kubeconfig(), pair.source.kubeconfig())).await;
    same(&before, &all(&pair.source).await);
    say(format_args!("back after {:?}", start.elapsed()));

    for server in [&pair.source, &pair.target] {
        assert_eq!(
            state::belongings(server).await.unwrap(),
            Vec::<String>::new(),
            "on the {}",
            server.name()
        );
    }

    state::restore_status(&pair.source, &before).await.unwrap();
    let (from, to) =
        (pair.source.kubeconfig().display().to_string(), pair.target.kubeconfig().display().to_string());
    let one = async |case: &Case| {
        clusterctl(&["--kubeconfig", &from, "--to-kubeconfig", &to, "--namespace", case.namespace]).await
    };
    let moved = sample("clusters that clusterctl moves", cases, BY_CLUSTERCTL).unwrap();
    let moves = stream::iter(&moved).map(|case| one(case));
    moves.buffer_unordered(CONCURRENT).try_collect::<()>().await.unwrap();
    let is_moved = |key: &&ObjectKey| moved.iter().any(|case| case.namespace == key.namespace);
    let unmoved = before.keys().filter(|key| !is_moved(key)).map(ToString::to_string);
    let stays = moved.iter().flat_map(|case| case.stays).map(ToString::to_string);
    assert_left(&pair.source, &unmoved.chain(stays).collect(), "clusterctl").await;
    say(format_args!("by clusterctl after {:?}", start.elapsed()));
}

/// The page about providers lists what stays and what is copied, and nothing else.
#[test]
fn the_page_lists_what_is_left_behind() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/providers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(2)?.strip_prefix('`')?.strip_suffix('`')?;
        Some((name.to_owned(), cells[3] == "copied"))
    });
    let own = CASES.iter().flat_map(|case| case.stays.iter().map(|name| (*name, false)));
    let shared = LEFT.iter().map(|(_, name, copied)| (*name, *copied));
    let expected: BTreeSet<(String, bool)> =
        shared.chain(own).map(|(name, copied)| (name.to_owned(), copied)).collect();
    assert_eq!(rows.collect::<BTreeSet<_>>(), expected);
}

/// A plan names what a cluster needs and no move takes along, and nothing else.
async fn assert_needs_named(case: &Case, host: &Host) {
    let ended = host.run(&["plan", "-n", case.namespace]).await.unwrap();
    let plan = ended.document().unwrap();
    let refusals = plan["refusals"].as_array().into_iter().flatten();
    let named: BTreeSet<String> = refusals
        .map(|refusal| {
            assert_eq!(refusal["code"], "would-dangle", "{refusal}");
            let text = |field: &str| refusal["object"][field].as_str().unwrap_or_default().to_owned();
            let kind = [text("kind"), text("group")].join(".");
            let name = [text("namespace"), text("name")].join("/");
            format!("{} {}", kind.trim_end_matches('.'), name.trim_start_matches('/'))
        })
        .collect();
    let expected: BTreeSet<String> = case.stays.iter().chain(case.needs).map(ToString::to_string).collect();
    assert_eq!(named, expected, "{}", case.namespace);
}

/// Moves each cluster without what it needs and no move takes along.
async fn move_all(cases: &[&Case], host: &Host) {
    let one = async |case: &Case| {
        let needs = case.stays.iter().chain(case.needs);
        let kinds: BTreeSet<&str> = needs.filter_map(|name| name.split(' ').next()).collect();
        let accepted: Vec<String> = kinds.iter().map(|kind| format!("--accept=dangling={kind}")).collect();
        let words = ["move", "-n", case.namespace].into_iter().chain(accepted.iter().map(String::as_str));
        host.run(&words.collect::<Vec<_>>()).await?.done().map(drop)
    };
    stream::iter(cases).map(|case| one(case)).buffer_unordered(CONCURRENT).try_collect::<()>().await.unwrap();
}

async fn all(server: &Server) -> Dump {
    let mut dump = server.dump(&[]).await.unwrap();
    // Neither the servers' own objects nor records of moves.
    dump.retain(|key, _| key.name != "kube-root-ca.crt" && key.namespace != "pivot-host-records");
    dump
}

/// What a program left in the source is what is written down.
async fn assert_left(source: &Server, expected: &BTreeSet<String>, program: &str) {
    let left: BTreeSet<String> = all(source).await.keys().map(ToString::to_string).collect();
    let more: Vec<_> = left.difference(expected).collect();
    let less: Vec<_> = expected.difference(&left).collect();
    assert!(more.is_empty() && less.is_empty(), "{program} leaves {more:#?}, and does not leave {less:#?}");
}

fn expected(providers: &Providers, which: impl Fn(bool) -> bool) -> BTreeSet<String> {
    let shared = LEFT.iter().filter(|(provider, _, copied)| providers.has(provider) && which(*copied));
    let shared = shared.map(|(_, name, _)| *name);
    let cases = CASES.iter().filter(|case| case.can_run(providers));
    let own = cases.flat_map(|case| case.stays.iter().copied());
    shared.chain(own).map(ToOwned::to_owned).collect()
}

/// The two states are equal except for what no move preserves.
#[track_caller]
fn same(left: &Dump, right: &Dump) {
    let (left, right) = (carried(left.clone()), carried(right.clone()));
    assert!(left == right, "{}", difference(&left, &right));
}
