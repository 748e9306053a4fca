//! A management cluster in a few lines of text, for tests.
//!
//! One object per line: `Kind ns/name`, then its owners after `<`, then other properties after `!`. Its UID is `Kind:ns/name`; an
//! owner without a line of its own was not read.
//!
//! ```text
//! Cluster ns/foo ! class=ns/quick
//! Machine ns/m < MachineSet ns/ms, Cluster ns/foo ! deleting
//! Secret ns/creds ! move
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::discovery::inventory::Inventory;
use crate::messages::refusal::Refusal;
use crate::messages::risk::Risk;
use crate::objects::names;
use crate::objects::selector::{Part, contains_object};
use crate::plan::{Fate, Plan};
use crate::planner::add_to_plan::add_to_plan;
use crate::planner::make_plan;
use crate::plugins::reach::{Reach, is_looked_for};
use crate::plugins::relations::{Link, Need, Relations, Said};
use crate::request::manifest_object::Addition;
use crate::request::scope::{ClusterName, Namespaces, Scope};
use crate::{GroupKind, Key, Kind, KindLabels, Object, Uid};

/// The kind with this name. A name that is not in this table is an infrastructure provider's kind: listed, but not moved on its
/// own.
pub(crate) fn kind(name: &str) -> Arc<Kind> {
    let listed = KindLabels { discover: true, ..KindLabels::default() };
    let moves = KindLabels { moves: true, ..listed };
    let hierarchy = KindLabels { hierarchy: true, ..listed };
    let (group, namespaced, labels) = match name {
        "Secret" | "ConfigMap" | "Event" | "Pod" => ("", true, KindLabels::default()),
        "Cluster" | "ClusterClass" | "Machine" | "MachineSet" | "MachineDeployment" | "MachineDrainRule" => {
            (names::GROUP_CLUSTER, true, listed)
        }
        "ExtensionConfig" => ("runtime.cluster.x-k8s.io", false, listed),
        "ClusterResourceSet" | "ClusterResourceSetBinding" => (names::GROUP_ADDONS, true, listed),
        "BareMetalHost" => ("metal3.io", true, KindLabels::default()),
        "Widget" => ("example.com", true, KindLabels::default()),
        // Of a provider whose group isn't one of Cluster API's.
        "Rack" => ("example.com", true, listed),
        "IPAddress" => ("ipam.cluster.x-k8s.io", true, listed),
        "Pool" => ("ipam.cluster.x-k8s.io", true, hierarchy),
        "External" => ("external.cluster.x-k8s.io", true, moves),
        "GlobalExternal" => ("external.cluster.x-k8s.io", false, moves),
        "Identity" => ("infrastructure.cluster.x-k8s.io", false, hierarchy),
        "Node" => ("", false, KindLabels::default()),
        "GlobalConfig" => ("infrastructure.cluster.x-k8s.io", false, listed),
        _ => ("infrastructure.cluster.x-k8s.io", true, listed),
    };
    let version = if group.is_empty() { "v1" } else { "v1beta2" };
    Arc::new(Kind {
        group_kind: GroupKind::new(group, name),
        version: version.into(),
        plural: format!("{}s", name.to_lowercase()),
        namespaced,
        status_subresource: true,
        served: vec![version.into()],
        labels,
    })
}

/// The key of `Kind ns/name` or `Kind name`.
pub(crate) fn key(text: &str) -> Key {
    let (name, rest) = text.trim().split_once(' ').unwrap_or_else(|| panic!("no name in {text:?}"));
    let (namespace, object) = match rest.split_once('/') {
        Some((namespace, object)) => (Some(namespace), object),
        None => (None, rest),
    };
    Key::new(kind(name).group_kind.clone(), namespace, object)
}

/// The objects of a text.
pub(crate) fn objects(text: &str) -> Vec<Object> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).map(object).collect()
}

fn object(line: &str) -> Object {
    let (rest, words) = line.split_once(" ! ").unwrap_or((line, ""));
    let (name, owners) = rest.split_once(" < ").unwrap_or((rest, ""));
    let key = key(name);
    let kind = kind(&key.group_kind.kind);
    let owners: Vec<Value> = owners.split(',').map(str::trim).filter(|o| !o.is_empty()).map(owner).collect();
    let mut body = json!({"metadata": {"name": key.name, "uid": uid(name), "resourceVersion": "1"}});
    if let Some(namespace) = &key.namespace {
        body["metadata"]["namespace"] = json!(namespace);
    }
    if !owners.is_empty() {
        body["metadata"]["ownerReferences"] = json!(owners);
    }
    for word in words.split_whitespace() {
        describe(&mut body, word);
    }
    Object::from_value(kind, &body).unwrap()
}

fn owner(text: &str) -> Value {
    let key = key(text);
    let version = kind(&key.group_kind.kind).version.clone();
    let group = &key.group_kind.group;
    let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
    json!({"apiVersion": api_version, "kind": key.group_kind.kind, "name": key.name, "uid": uid(text)})
}

fn describe(body: &mut Value, word: &str) {
    let (word, value) = word.split_once('=').unwrap_or((word, ""));
    match word {
        "move" => body["metadata"]["labels"][names::LABEL_MOVE] = json!(""),
        "hierarchy" => body["metadata"]["labels"][names::LABEL_MOVE_HIERARCHY] = json!("false"),
        "deleting" => body["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
        "status" => body["status"] = json!({"ready": true}),
        "broken" => body["spec"] = json!("a string, not a map"),
        "cluster" => body["spec"]["clusterName"] = json!(value),
        "of" => body["metadata"]["labels"][names::LABEL_CLUSTER] = json!(value),
        "text" => body["spec"]["text"] = json!(value),
        "label" => {
            let (key, value) = value.split_once(':').unwrap();
            body["metadata"]["labels"][key] = json!(value);
        }
        "type" => body["type"] = json!(value),
        "ref" => {
            let (kind, name) = value.split_once('/').unwrap();
            body["spec"]["ref"] = json!({"kind": kind, "name": name});
        }
        "class" => {
            let (namespace, name) = value.split_once('/').unwrap_or(("", value));
            body["spec"]["topology"]["classRef"] = json!({"namespace": namespace, "name": name});
        }
        "template" => {
            let (kind, name) = value.split_once('/').unwrap();
            let (namespace, name) = name.split_once('/').unwrap_or(("", name));
            let group = &self::kind(kind).group_kind.group;
            body["spec"]["infrastructure"]["templateRef"] = json!({"apiVersion": format!("{group}/v1beta2"), "kind": kind, "namespace": namespace, "name": name});
        }
        _ => panic!("what is {word:?}?"),
    }
}

/// A move of the objects in a text.
pub(crate) struct Case {
    pub(crate) inventory: Inventory,
    pub(crate) scope: Scope,
    pub(crate) relations: Relations,
    elsewhere: Vec<Object>,
}

impl Case {
    /// Everything moves.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            inventory: Inventory::new(objects(text)),
            scope: Scope::new(Namespaces::All),
            relations: Relations::default(),
            elsewhere: Vec::new(),
        }
    }

    /// Only one namespace moves.
    pub(crate) fn namespace(mut self, namespace: &str) -> Self {
        self.scope.namespaces = Namespaces::One(namespace.into());
        self
    }

    /// Only these Clusters move.
    pub(crate) fn clusters(mut self, names: &[&str]) -> Self {
        let names = names.iter().map(|name| name.split_once('/').unwrap());
        self.scope.clusters = names.map(|(namespace, name)| ClusterName::new(namespace, name)).collect();
        self
    }

    /// `--accept owner-dropped`.
    pub(crate) fn drop_owner(mut self, name: &str) -> Self {
        self.scope.accept.insert_kind(Risk::OwnerDropped, kind(name).group_kind.clone());
        self
    }

    /// `--exclude`: kinds, or objects.
    pub(crate) fn exclude(mut self, texts: &[&str]) -> Self {
        self.scope.exclude.extend(texts.iter().map(|text| part(text)));
        self
    }

    /// `--also-copy`: kinds, or objects.
    pub(crate) fn carry(mut self, texts: &[&str]) -> Self {
        self.scope.also_copy.extend(texts.iter().map(|text| part(text)));
        self
    }

    /// `--accept shared`.
    pub(crate) fn accept_shared(mut self, name: &str) -> Self {
        self.scope.accept.insert_kind(Risk::Shared, kind(name).group_kind.clone());
        self
    }

    /// Clusters of other namespaces.
    pub(crate) fn elsewhere(mut self, text: &str) -> Self {
        self.elsewhere = objects(text);
        self
    }

    /// A plugin links an object with another.
    pub(crate) fn link(mut self, object: &str, to: &str) -> Self {
        self.relations.links.push(Link { object: uid(object), to: key(to), plugin: "p".into() });
        self
    }

    /// A plugin says that an object needs another.
    pub(crate) fn need(mut self, object: &str, what: &str) -> Self {
        self.relations.needs.push(Need { object: uid(object), what: key(what), plugin: "p".into() });
        self
    }

    /// A plugin leaves an object.
    pub(crate) fn leave(mut self, object: &str) -> Self {
        self.relations.leaves.insert(uid(object), said());
        self
    }

    /// A plugin keeps an object.
    pub(crate) fn keep(mut self, object: &str) -> Self {
        self.relations.keeps.insert(uid(object), said());
        self
    }

    /// A plugin reaches a kind in a namespace.
    pub(crate) fn reach(mut self, name: &str, namespace: &str, delete: bool) -> Self {
        let reach = Reach { kind: kind(name).group_kind.clone(), namespace: namespace.into(), delete };
        self.relations.reaches.entry("p".into()).or_default().push(reach);
        self
    }

    /// The plan.
    pub(crate) fn plan(&self) -> Plan {
        let plan = make_plan(&self.read(), &self.scope, &self.relations, &self.elsewhere);
        assert_sound(&plan, &self.inventory);
        plan
    }

    /// The same with what the user adds, and the inventory of both, where the target serves these kinds.
    pub(crate) fn plan_with(&self, additions: &[Addition], kinds: &[&str]) -> (Plan, Inventory) {
        let mut plan = self.plan();
        let served =
            kinds.iter().map(|name| kind(name)).map(|kind| (kind.group_kind.clone(), kind)).collect();
        let inventory = add_to_plan(&mut plan, self.read(), additions, &self.scope, &served);
        (plan, inventory)
    }

    /// The inventory as discovery makes it: objects elsewhere that a plugin reaches, and what is
    /// read only to be carried along, are marked as read only for that.
    fn read(&self) -> Inventory {
        let reached = |object: &Object| {
            let namespace = object.meta.namespace.as_deref();
            let mut reaches = self.relations.reaches.values().flatten();
            let looked_for = is_looked_for(&object.kind, namespace, &self.scope);
            let carried = contains_object(&self.scope.also_copy, object);
            !looked_for && (carried || reaches.any(|reach| reach.covers(&object.kind.group_kind, namespace)))
                || carried && !object.kind.is_always_read()
        };
        let (reached, looked_for) = self.inventory.objects().iter().cloned().partition(reached);
        Inventory::with_reached(looked_for, reached)
    }

    /// Compares the plan as text with the expected one.
    pub(crate) fn check(&self, expected: expect_test::Expect) {
        expected.assert_eq(&render(&self.plan()));
    }
}

fn uid(text: &str) -> Uid {
    Uid(text.trim().replace(' ', ":"))
}

/// `Kind`, `Kind ns/name` or `Kind name`.
fn part(text: &str) -> Part {
    if text.contains(' ') {
        Part::of_object(&key(text))
    } else {
        Part::of_kind(kind(text).group_kind.clone())
    }
}

fn said() -> Said {
    Said { plugin: "p".into(), reason: "because".into() }
}

/// What holds for every plan: each object once, in steps or in stays; owners before dependents.
fn assert_sound(plan: &Plan, inventory: &Inventory) {
    let steps: BTreeSet<&Key> = plan.steps.iter().map(|step| &step.key).collect();
    let stays: BTreeSet<&Key> = plan.stays.iter().map(|stay| &stay.key).collect();
    assert!(steps.is_disjoint(&stays));
    assert_eq!(steps.len() + stays.len(), inventory.objects().len());
    assert_eq!(plan.steps.len() + plan.stays.len(), inventory.objects().len());
    for (at, step) in plan.steps.iter().enumerate() {
        assert!(step.after.iter().all(|before| *before < at), "{} comes too early", step.key);
    }
}

/// A refusal's remedies as tests compare them: words as they are, others in the form for programs.
pub(crate) fn remedies(refusal: &Refusal) -> String {
    let shown = refusal
        .remedies
        .iter()
        .map(|remedy| remedy.by_hand().unwrap_or_else(|| serde_json::to_string(remedy).unwrap()));
    shown.collect::<Vec<_>>().join(" | ")
}

/// A plan in the form that tests compare.
pub(crate) fn render(plan: &Plan) -> String {
    let mut out = String::new();
    for step in &plan.steps {
        let what = match &step.fate {
            Fate::Move => format!("move {} ({})", step.key, step.why),
            Fate::FromManifest => format!("add {} ({})", step.key, step.why),
            Fate::Keep(reason) => format!("keep {} ({}; {reason})", step.key, step.why),
        };
        out.push_str(&what);
        let after: Vec<String> =
            step.after.iter().map(|&before| plan.steps[before].key.to_string()).collect();
        if !after.is_empty() {
            out.push_str(&format!(" after {}", after.join(", ")));
        }
        for owner in &step.dropped_owners {
            out.push_str(&format!(" without {} {}", owner.kind, owner.name));
        }
        out.push('\n');
    }
    for stay in &plan.stays {
        out.push_str(&format!("stay {stay}\n"));
    }
    for refusal in &plan.refusals {
        out.push_str(&format!("refuse {}: {}\n  -> {}\n", refusal.code, refusal.message, remedies(refusal)));
    }
    for note in &plan.notes {
        let object = note.object.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        out.push_str(&format!("note {}{object}: {}\n", note.code, note.message));
    }
    out
}
