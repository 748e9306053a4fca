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
use super::plugins::{KEPT, enable_plugins};
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
    let left = expected(&providers, |_| true);
    let stays = expected(&providers, |copied| !copied);
    let journey = Journey { pair: &pair, cases: &cases, before: &before, plugins: None };
    journey.go_there_and_back(&left, &stays).await;
    say(format_args!("there and back after {:?}", start.elapsed()));

    state::restore_status(&pair.source, &before).await.unwrap();
    let plugins = enable_plugins().await;
    let journey = Journey { plugins: plugins.path().to_str(), ..journey };
    let kept = KEPT.iter().filter(|(namespace, _)| cases.iter().any(|case| case.namespace == *namespace));
    let shared = LEFT.iter().filter(|(provider, ..)| providers.has(provider));
    let left = shared.map(|(_, name, _)| *name).chain(kept.map(|(_, name)| *name));
    journey.go_there_and_back(&left.map(ToOwned::to_owned).collect(), &BTreeSet::new()).await;
    say(format_args!("there and back with plugins after {:?}", start.elapsed()));

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
        Some([name, cells[3], cells[4]].map(ToOwned::to_owned))
    });
    let is_kept = |name: &str| KEPT.iter().any(|(_, kept)| *kept == name);
    let own: BTreeSet<&str> = CASES.iter().flat_map(|case| case.stays).copied().collect();
    let moved = KEPT.iter().map(|(_, name)| *name).filter(|name| !own.contains(name));
    let shared =
        LEFT.iter().map(|(_, name, copied)| [*name, if *copied { "copied" } else { "stays" }, "copied"]);
    let own = own.iter().map(|name| [*name, "stays", if is_kept(name) { "copied" } else { "moves" }]);
    let expected = shared.chain(own).chain(moved.map(|name| [name, "moves", "copied"]));
    let expected: BTreeSet<[String; 3]> = expected.map(|row| row.map(ToOwned::to_owned)).collect();
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

/// Moves of all clusters to the target and back.
struct Journey<'a> {
    pair: &'a Pair,
    cases: &'a [&'a Case],
    /// The source at first.
    before: &'a Dump,
    /// Directory of the plugins that take part.
    plugins: Option<&'a str>,
}

impl Journey<'_> {
    /// Checks that a move leaves these objects in the source, and takes all but those that stay.
    async fn go_there_and_back(&self, left: &BTreeSet<String>, stays: &BTreeSet<String>) {
        let Self { pair: Pair { source, target, .. }, before, .. } = *self;
        self.move_all(&self.host(source, target)).await;
        assert_left(source, left, "pivot-host").await;
        let taken = before.clone().into_iter().filter(|(key, _)| !stays.contains(&key.to_string())).collect();
        same(&taken, &all(target).await);
        state::restore_status(target, &taken).await.unwrap();
        self.move_all(&self.host(target, source)).await;
        same(before, &all(source).await);
    }

    fn host(&self, from: &Server, to: &Server) -> Host {
        let flags = self.plugins.map(|plugins| ["--plugins", plugins]);
        Host::between(from.kubeconfig(), to.kubeconfig()).with(flags.as_ref().map_or(&[], |flags| &flags[..]))
    }

    /// Moves each cluster. Without plugins, a move leaves behind some of what the cluster needs.
    async fn move_all(&self, host: &Host) {
        let one = async |case: &Case| {
            let needs = case.stays.iter().chain(case.needs).filter(|_| self.plugins.is_none());
            let kinds: BTreeSet<&str> = needs.filter_map(|name| name.split(' ').next()).collect();
            let accepted: Vec<String> =
                kinds.iter().map(|kind| format!("--accept=dangling={kind}")).collect();
            let words = ["move", "-n", case.namespace].into_iter().chain(accepted.iter().map(String::as_str));
            host.run(&words.collect::<Vec<_>>()).await?.done().map(drop)
        };
        let moves = stream::iter(self.cases).map(|case| one(case));
        moves.buffer_unordered(CONCURRENT).try_collect::<()>().await.unwrap();
    }
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
