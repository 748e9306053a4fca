//! Plugins that would bring along what nobody asked for, and how far they get.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::names;
use pivot_core::plugins::hooks::{Description, Finding, Hook, Point, Relation};
use pivot_core::plugins::reach::Reach;
use pivot_core::request::scope::Namespaces;
use pivot_core::{GroupKind, Key, Kind, KindLabels, Object, Side};
use pivot_engine::hooks::{HookError, Hooks, MoveContext, Services};
use pivot_engine::{Exit, Failure, Stop};
use pivot_memory::MemoryPlace;
use pivot_runtime::Query;
use serde_json::{Value, json};

use crate::run;
use crate::stage::{CLUSTERS, INFRA, Stage, body, is_record, key, kind, picture};

const RBAC: &str = "rbac.authorization.k8s.io";
const PROVIDERS: &str = "capm3-system";

/// Claims for its Cluster whatever it is shown, and needs what it can name.
struct Claims {
    description: Description,
    needs: Vec<Key>,
    shown: Mutex<Vec<String>>,
    read: Mutex<Vec<Result<usize, String>>>,
}

impl Claims {
    fn new(reach: Vec<Reach>, needs: Vec<Key>) -> Arc<Self> {
        let kind = |group: &str, kind: &str| GroupKind::new(group, kind);
        let description = Description {
            name: "claims".into(),
            version: "1.0.0".into(),
            digest: "d".into(),
            vouched_by: vec![],
            granted: vec![],
            kinds: vec![
                kind("", "Secret"),
                kind("", "Namespace"),
                kind(RBAC, "ClusterRoleBinding"),
                kind(CLUSTERS, "Machine"),
            ],
            reach,
            hooks: vec![Hook::Relate, Hook::Check],
            secret_data: false,
        };
        Arc::new(Self { description, needs, shown: Mutex::default(), read: Mutex::default() })
    }
}

#[async_trait]
impl Hooks for Claims {
    fn describe(&self) -> &Description {
        &self.description
    }

    async fn relate(&self, object: &Object) -> Result<Vec<Relation>, HookError> {
        let name = object.key();
        self.shown.lock().unwrap().push(name.to_string());
        let needs = self.needs.iter().filter(|_| name.name == "m0").cloned().map(Relation::Need);
        let alone = ["pull", "hanging", "owned"].contains(&name.name.as_str());
        let claimed = (!alone).then(|| Relation::Link(key(CLUSTERS, "Cluster", "c")));
        Ok(needs.chain(claimed).collect())
    }

    async fn check(
        &self,
        _: Point,
        _: &MoveContext,
        services: Arc<dyn Services>,
    ) -> Result<Vec<Finding>, HookError> {
        let query = Query {
            side: Side::Source,
            kind: GroupKind::new("", "Secret"),
            namespace: Some(PROVIDERS.into()),
            name: None,
            confined: true,
        };
        let read = services.read("claims", query).await;
        self.read.lock().unwrap().push(read.map(|objects| objects.len()).map_err(|error| error.code));
        Ok(Vec::new())
    }
}

fn elsewhere(kind: &str, name: &str) -> Key {
    Key::new(GroupKind::new("", kind), Some(PROVIDERS), name)
}

fn binding() -> Key {
    Key::new(GroupKind::new(RBAC, "ClusterRoleBinding"), None, "admins")
}

fn reach(kind: GroupKind, namespace: &str, delete: bool) -> Reach {
    Reach { kind, namespace: namespace.into(), delete }
}

fn secrets(delete: bool) -> Reach {
    reach(GroupKind::new("", "Secret"), PROVIDERS, delete)
}

fn add_kinds(place: &MemoryPlace) {
    for (group, name, plural, namespaced) in [
        (RBAC, "ClusterRoleBinding", "clusterrolebindings", false),
        ("clusterctl.cluster.x-k8s.io", "Provider", "providers", true),
        ("example.org", "Note", "notes", true),
    ] {
        place.add_kind(Kind {
            group_kind: GroupKind::new(group, name),
            version: "v1".into(),
            plural: plural.into(),
            namespaced,
            status_subresource: false,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        });
    }
}

fn of(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "uid": format!("{kind}-{name}")}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// A cluster in `ns`, and beside it what is nobody's business: credentials of a provider, who may do what.
fn stage(claims: &Arc<Claims>) -> Stage {
    let mut stage = Stage::new();
    for place in [&stage.source, &stage.target] {
        add_kinds(place);
        place.add_namespace(PROVIDERS);
    }
    let mut provider =
        of("clusterctl.cluster.x-k8s.io/v1", "Provider", Some(PROVIDERS), "infrastructure-metal3");
    for (field, value) in
        [("providerName", "metal3"), ("type", "InfrastructureProvider"), ("version", "v1.0.0")]
    {
        provider[field] = json!(value);
    }
    stage.target.insert(provider.clone()).unwrap();
    stage.source.insert(provider).unwrap();
    for name in ["creds", "webhook"] {
        let mut secret = of("v1", "Secret", Some(PROVIDERS), name);
        secret["data"] = json!({"k": "eA=="});
        stage.source.insert(secret).unwrap();
    }
    stage.source.insert(of(&format!("{RBAC}/v1"), "ClusterRoleBinding", None, "admins")).unwrap();
    stage.plugins = vec![claims.clone()];
    stage
}

/// What a stopped run refused: each object, with the remedies.
fn refused(stop: &Stop) -> Vec<String> {
    let pivot_engine::Failure::Refused(refusals) = &stop.failure else { panic!("{stop}") };
    assert!(refusals.iter().all(|refusal| refusal.code == "plugin-reach"), "{refusals:?}");
    refusals.iter().filter_map(|refusal| refusal.object.as_ref()).map(Key::to_string).collect()
}

// proves: I12, T10
#[tokio::test(start_paused = true)]
async fn a_plugin_with_only_relate_brings_nothing_from_outside_the_scope() {
    let named = vec![elsewhere("Secret", "creds"), elsewhere("Secret", "unknown"), binding()];
    for scope in [Namespaces::One("ns".into()), Namespaces::All] {
        let claims = Claims::new(Vec::new(), named.clone());
        let mut stage = stage(&claims);
        stage.options.scope.namespaces = scope.clone();
        let before = picture(&stage.source);
        let stop = run::start(stage.setup()).await.unwrap_err();
        assert_eq!(stop.exit, Exit::Refused, "{stop}");
        assert!(stop.to_string().contains("plugin claims says that Machine ns/m0 needs"), "{stop}");
        let mut expected =
            vec!["ClusterRoleBinding admins", "Secret capm3-system/creds", "Secret capm3-system/unknown"];
        // With all namespaces it is shown what is in them, and claims that.
        if scope == Namespaces::All {
            expected.push("Secret capm3-system/webhook");
        }
        let mut found = refused(&stop);
        found.sort();
        assert_eq!(found, expected);
        assert_eq!(picture(&stage.source), before);
        assert!(picture(&stage.target).keys().all(|key| key.starts_with("Provider")), "{scope:?}");
        let shown = claims.shown.lock().unwrap().join(", ");
        assert!(!shown.contains("ClusterRoleBinding") && !shown.contains("Namespace "), "{shown}");
        assert_eq!(shown.contains(PROVIDERS), scope == Namespaces::All, "{shown}");
    }
}

// proves: I12
#[tokio::test(start_paused = true)]
async fn objects_within_a_plugins_reach_are_copied_and_kept() {
    for scope in [Namespaces::One("ns".into()), Namespaces::All] {
        let bindings = reach(binding().group_kind, "*", true);
        let claims = Claims::new(vec![secrets(false), bindings], vec![elsewhere("Secret", "creds")]);
        let mut stage = stage(&claims);
        stage.options.scope.namespaces = scope.clone();
        run::start(stage.setup()).await.unwrap();
        for key in [elsewhere("Secret", "creds"), elsewhere("Secret", "webhook"), binding()] {
            assert!(stage.target.body(&key).is_some(), "{key}");
            let kept = stage.source.body(&key).unwrap_or_else(|| panic!("{key} is gone"));
            assert!(kept["metadata"].get("annotations").is_none(), "{kept}");
        }
        assert!(stage.source.body(&key(CLUSTERS, "Cluster", "c")).is_none());
        // What was brought lets no plugin read the rest of its namespace, before the commit and after.
        let read = claims.read.lock().unwrap();
        assert_eq!(read.len(), 4);
        assert!(read.iter().all(|answer| *answer == Err("denied".into())), "{scope:?}: {read:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn objects_within_a_plugins_reach_are_deleted_if_that_was_granted() {
    let claims = Claims::new(vec![secrets(true)], vec![elsewhere("Secret", "creds")]);
    let stage = stage(&claims);
    run::start(stage.setup()).await.unwrap();
    for name in ["creds", "webhook"] {
        assert!(stage.target.body(&elsewhere("Secret", name)).is_some(), "{name}");
        assert!(stage.source.body(&elsewhere("Secret", name)).is_none(), "{name}");
    }
    assert!(stage.source.body(&binding()).is_some() && stage.target.body(&binding()).is_none());
}

/// Nobody listed the kind where it was brought from: it was read in one other namespace only.
// proves: I12
#[tokio::test(start_paused = true)]
async fn what_depends_on_something_brought_is_not_garbage_collected() {
    let claims = Claims::new(vec![secrets(true)], vec![elsewhere("Secret", "creds")]);
    let stage = stage(&claims);
    stage.source.insert(body("", "ConfigMap", "mine", None)).unwrap();
    for (api_version, kind) in [("v1", "ConfigMap"), ("example.org/v1", "Note")] {
        let mut below = of(api_version, kind, Some(PROVIDERS), "below");
        below["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "Secret", "name": "creds", "uid": "Secret-creds"}]);
        stage.source.insert(below).unwrap();
    }
    let stop = run::start(stage.setup()).await.unwrap_err();
    assert_eq!(stop.exit, Exit::Refused, "{stop}");
    for name in ["ConfigMap capm3-system/below", "Note capm3-system/below"] {
        assert!(stop.to_string().contains(name), "{name}: {stop}");
    }
}

/// An object of a provider that a plugin brings along for its Cluster, and deletes.
fn brings_a_host() -> Stage {
    let host = GroupKind::new(INFRA, "Host");
    let mut claims = Claims::new(vec![reach(host.clone(), PROVIDERS, true)], Vec::new());
    Arc::get_mut(&mut claims).unwrap().description.kinds.push(host);
    let stage = stage(&claims);
    let mut host = of(&format!("{INFRA}/v1beta2"), "Host", Some(PROVIDERS), "h");
    host["status"] = json!({"ready": true});
    stage.source.insert(host).unwrap();
    stage
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_also_waits_for_objects_brought_from_elsewhere() {
    let mut stage = brings_a_host();
    stage.options.accept.remove(Risk::TakeoverUnchecked);
    for command in ["start", "resume"] {
        let run = async |setup| match command {
            "start" => run::start(setup).await,
            _ => run::resume(setup).await,
        };
        let stop = run(stage.setup()).await.unwrap_err();
        assert!(matches!(stop.failure, Failure::NotTakenOver(_)), "{command}: {stop}");
        assert!(stop.to_string().contains("Host capm3-system/h"), "{command}: {stop}");
    }
    let host = Key::new(GroupKind::new(INFRA, "Host"), Some(PROVIDERS), "h");
    assert!(stage.source.body(&host).is_some());
    stage.options.accept.insert(Risk::TakeoverUnchecked);
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.source.body(&host).is_none() && stage.target.body(&host).is_some());
}

/// Users of the namespace from which something is brought write what they like on the rest of it.
// proves: I12
#[tokio::test(start_paused = true)]
async fn objects_beside_what_a_plugin_brought_have_no_effect() {
    let stage = brings_a_host();
    let mut hanging = of(&format!("{INFRA}/v1beta2"), "Host", Some(PROVIDERS), "hanging");
    hanging["metadata"]["labels"] = json!({names::LABEL_MOVE: "", names::LABEL_MOVE_HIERARCHY: ""});
    hanging["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    hanging["metadata"]["finalizers"] = json!(["example.com/hangs"]);
    let mut owned = of(&format!("{INFRA}/v1beta2"), "Host", Some(PROVIDERS), "owned");
    owned["metadata"]["ownerReferences"] = json!([{"apiVersion": format!("{CLUSTERS}/v1beta2"), "kind": "Cluster",
        "name": "c", "uid": "Cluster-c"}]);
    for host in [hanging, owned] {
        stage.source.insert(host).unwrap();
    }
    // The plugin has nothing to do with them.
    let report = run::start(stage.setup()).await.unwrap();
    assert_eq!(report.done.moved[&GroupKind::new(INFRA, "Host")], 1);
}

/// A plugin that reaches classes elsewhere takes nothing from the Clusters that use them.
#[tokio::test(start_paused = true)]
async fn a_class_within_reach_is_still_copied_with_its_templates() {
    let classes = reach(GroupKind::new(CLUSTERS, "ClusterClass"), PROVIDERS, false);
    let stage = stage(&Claims::new(vec![classes], Vec::new()));
    let template =
        json!({"apiVersion": format!("{INFRA}/v1beta2"), "kind": "InfraTemplate", "name": "shared"});
    let mut class = of(&format!("{CLUSTERS}/v1beta2"), "ClusterClass", Some(PROVIDERS), "shared");
    class["spec"] = json!({"infrastructure": {"templateRef": template}});
    stage.source.insert(class).unwrap();
    stage.source.insert(of(&format!("{INFRA}/v1beta2"), "InfraTemplate", Some(PROVIDERS), "shared")).unwrap();
    let cluster = key(CLUSTERS, "Cluster", "c");
    let used = json!({"name": "shared", "namespace": PROVIDERS});
    stage.source.edit(&cluster, |b| b["spec"]["topology"]["classRef"] = used).unwrap();
    run::start(stage.setup()).await.unwrap();
    let template = Key::new(GroupKind::new(INFRA, "InfraTemplate"), Some(PROVIDERS), "shared");
    assert!(stage.target.body(&template).is_some());
}

/// A Secret of a cluster-scoped identity lies in its provider's namespace.
#[tokio::test(start_paused = true)]
async fn an_identitys_dependents_do_not_open_their_namespaces_to_reads() {
    let claims = Claims::new(vec![secrets(false)], Vec::new());
    let mut stage = stage(&claims);
    stage.options.scope.namespaces = Namespaces::All;
    let labels = KindLabels { discover: true, hierarchy: true, ..KindLabels::default() };
    for place in [&stage.source, &stage.target] {
        place.add_kind(kind(INFRA, "Identity", "identities", labels));
    }
    stage.source.insert(of(&format!("{INFRA}/v1beta2"), "Identity", None, "id")).unwrap();
    let owner = json!([{"apiVersion": format!("{INFRA}/v1beta2"), "kind": "Identity", "name": "id", "uid": "Identity-id"}]);
    stage.source.edit(&elsewhere("Secret", "creds"), |b| b["metadata"]["ownerReferences"] = owner).unwrap();
    // Half of the answers are those of another run.
    let stop =
        stage.dies(|verb, key| verb == "patch" && is_record(key, "target"), |verb, _| verb == "patch").await;
    assert_eq!(stop.exit, Exit::PastCommit, "{stop}");
    run::resume(stage.setup()).await.unwrap();
    assert!(stage.target.body(&elsewhere("Secret", "creds")).is_some());
    let read = claims.read.lock().unwrap();
    assert!(read.len() >= 4 && read.iter().all(|answer| *answer == Err("denied".into())), "{read:?}");
}
