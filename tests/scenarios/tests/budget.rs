//! The cost of a move, counted where it arrives: in the API servers' audit logs.

use kube::api::{Patch, PatchParams};
use pivot_lab::audit::Tally;
use pivot_lab::{Audit, say};
use pivot_scenarios::host::AGENT;
use pivot_scenarios::{shape, state};
use serde_json::{Value, json};

use crate::stage::Stage;

/// 304 objects with hosts, 240 without.
const MACHINES: usize = 32;

/// The cost of one move on both servers together.
struct Cost {
    objects: usize,
    /// Objects that are paused individually, because no Cluster pauses them: once in the source, and again in the target.
    roots: usize,
    /// Objects of the core group without finalizers: they are deleted without a patch.
    bare: usize,
    mutating: usize,
    /// Checks of permissions, which the API requires to be POSTs.
    reviews: usize,
    discovery: usize,
    other: Tally,
}

impl Cost {
    fn of(audits: [Audit; 2], objects: &[Value]) -> Self {
        let requests = audits.into_iter().flat_map(|audit| audit.of(AGENT).requests).collect();
        let all = Audit { requests };
        let is_review = |resource: &str| resource.ends_with("reviews.authorization.k8s.io");
        let reviews = all.only(|request| is_review(&request.resource)).requests.len();
        let discovery = all.only(|request| request.verb == "get" && request.resource.starts_with('/'));
        let other = all.only(|request| !is_review(&request.resource)).tally();
        let kinds = ["Cluster", "Metal3DataTemplate", "BareMetalHost"];
        let roots = objects.iter().filter(|object| kinds.iter().any(|kind| object["kind"] == *kind)).count();
        let is_bare =
            |object: &&Value| object["apiVersion"] == "v1" && object["metadata"].get("finalizers").is_none();
        Self {
            objects: objects.len(),
            roots,
            bare: objects.iter().filter(is_bare).count(),
            mutating: other.mutating,
            reviews,
            discovery: discovery.requests.len(),
            other,
        }
    }

    /// The cost of the objects themselves, without restoring field ownership.
    fn budget(&self) -> usize {
        3 * self.objects - self.bare + 2 * self.roots
    }

    /// Mutating requests per object.
    fn each(&self) -> f64 {
        // A few hundred.
        f64::from(u32::try_from(self.mutating).unwrap()) / f64::from(u32::try_from(self.objects).unwrap())
    }

    fn say(&self, name: &str) {
        let Self { objects, roots, bare, mutating, reviews, discovery, other } = self;
        let each = self.each();
        say(format_args!(
            "{name}: {objects} objects, {roots} of them paused on their own, {bare} Secrets and ConfigMaps without \
             finalizers; {mutating} mutating requests, {each:.2} an object; {} reads ({discovery} of them discovery), {} dry runs, {reviews} questions about rights, {} for the \
             lease, {} for records",
            other.read, other.dry_run, other.lease, other.record
        ));
    }
}

async fn cost(stage: &Stage, name: &str, objects: Vec<Value>, namespace: &str, applied: bool) -> Cost {
    stage.pair.source.apply_values(objects.clone()).await.unwrap();
    if applied {
        apply_on_server(stage, &objects).await;
    }
    let marks = tokio::try_join!(stage.pair.source.audit_mark(), stage.pair.target.audit_mark()).unwrap();
    let words = [&["move", "-n", namespace][..], &shape::WITHOUT_PLUGIN].concat();
    stage.host.run(&words).await.unwrap().done().unwrap();
    let (source, target) =
        tokio::try_join!(stage.pair.source.audit_since(marks.0), stage.pair.target.audit_since(marks.1))
            .unwrap();
    for server in [&stage.pair.source, &stage.pair.target] {
        state::ensure_no_secret_in_records(server).await.unwrap();
    }
    let cost = Cost::of([source, target], &objects);
    cost.say(name);
    cost
}

/// Makes a server-side applier own a field of each object, as GitOps tools do.
async fn apply_on_server(stage: &Stage, objects: &[Value]) {
    let kinds = stage.pair.source.kinds().await.unwrap();
    for object in objects {
        let group = object["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
        let kind = object["kind"].as_str().unwrap();
        let kind = kinds.iter().find(|k| k.resource.kind == kind && k.resource.group == group).unwrap();
        let metadata = &object["metadata"];
        let api = kind.api(stage.pair.source.client()).constrain(metadata["namespace"].as_str().unwrap());
        let apply = json!({
            "apiVersion": kind.resource.api_version, "kind": kind.resource.kind,
            "metadata": { "name": metadata["name"], "labels": { "applied": "yes" } },
        });
        let name = metadata["name"].as_str().unwrap();
        api.patch(name, &PatchParams::apply("gitops").force(), &Patch::Apply(&apply)).await.unwrap();
    }
}

// proves: D27
#[tokio::test(flavor = "multi_thread")]
async fn a_move_takes_three_requests_an_object_two_a_secret_and_one_more_to_restore_ownership() {
    let stage = Stage::start().await;
    let of_hosts = |object: &Value| {
        object["kind"] == "BareMetalHost" || object["metadata"]["name"].as_str().unwrap().ends_with("-bmc")
    };
    let without_hosts = |namespace: &str| -> Vec<Value> {
        shape::cluster(namespace, MACHINES).into_iter().filter(|object| !of_hosts(object)).collect()
    };

    let plain = cost(&stage, "plain", without_hosts("plain"), "plain", false).await;
    assert!(plain.each() <= 2.85, "{}", plain.each());
    // The first move of all also creates the namespace of records, on each side.
    assert_eq!(plain.mutating, plain.budget() + 3, "and one for the namespace");

    let applied = cost(&stage, "applied on the server", without_hosts("applied"), "applied", true).await;
    assert!(applied.each() <= 3.85, "{}", applied.each());

    // Hosts belong to no Cluster: each is paused and resumed individually.
    let hosts = cost(&stage, "with hosts", shape::cluster("hosts", MACHINES), "hosts", false).await;
    assert_eq!(hosts.mutating, hosts.budget() + 1);

    // The part that does not grow with the number of objects.
    for cost in [&plain, &applied, &hosts] {
        assert!(cost.other.dry_run <= 24, "{}", cost.other.dry_run);
        assert!(cost.other.lease + cost.other.record <= 40, "{:?}", cost.other);
    }
}
