//! The agent's role: the requests that a move needs in the target or in the source, and nothing else.
//!
//! In the target, a move creates objects that carry its mark. It changes only these objects, and objects that controllers have
//! made below them. In the source, a move pauses and unpauses objects, removes their finalizers, and deletes them in the state
//! that it copied. It creates none. The move's leases and records are in both.
//!
//! Only an object itself shows its mark. So the agent reads the object here, next to its server, and binds the request to the
//! object that it read. No other object of that name can take its place in between. A user who removes the mark meanwhile is
//! too late, as in a move without an agent.

use std::fmt;

use pivot_core::objects::names::{GROUP_CLUSTER, MARK};
use pivot_core::{Key, Kind, Meta, Object, Uid};
use pivot_places::{Access, Patch, Place, PlaceError, Preconditions, Result, Subresource};
use serde_json::{Map, Value, json};

use crate::link_request::LinkRequest;
use crate::requested_access::{OURS, RequestedAccess, is_read_only};

/// The role of the agent's cluster in a move, chosen by the cluster's own administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A move comes into it.
    Target,
    /// A move leaves it.
    Source,
}

/// As the flag has it.
impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "target",
            Self::Source => "source",
        })
    }
}

const UNMARKED: &str = "what a move brings carries its mark";
const CREATES: &str = "a move creates nothing in the cluster that it leaves";
const STAYS: &str =
    "a move deletes nothing outside of namespaces in the cluster that it leaves, and no namespace";
const PATCHES: &str =
    "in the cluster that it leaves a move pauses, resumes and removes finalizers, and changes nothing else";
const DELETES: &str = "a move deletes an object by its UID and in one state";
const NO_RECORD: &str = "a move keeps nothing else next to its records";

impl Role {
    fn record_prefix(self) -> String {
        format!("{OURS}-{self}-")
    }

    /// Returns true if an object with this label is a record of a move in this role. In the other role, the side that asks can
    /// write no record of such a name, but any label.
    pub(crate) fn has_record(self, label: &str, meta: &Meta) -> bool {
        meta.labels.get(label).is_some_and(|role| *role == self.to_string())
            && meta.name.starts_with(&self.record_prefix())
    }

    /// Returns why a move in this role doesn't keep such a record. A cluster with the other role refuses a move here, before
    /// anything has begun.
    pub(crate) fn record_refusal(self, deed: &RequestedAccess) -> Option<&'static str> {
        let begins_with = |prefix: &str| deed.name.as_deref().is_some_and(|name| name.starts_with(prefix));
        let is_of = |role: Self| begins_with(&role.record_prefix());
        match self {
            _ if is_read_only(&deed.access) || deed.access.resource != "configmaps" => None,
            _ if is_of(self) || begins_with(&format!("{OURS}-release-")) => None,
            Self::Target if is_of(Self::Source) => Some("this is a move out of its cluster"),
            Self::Source if is_of(Self::Target) => Some("this is a move into its cluster"),
            _ => Some(NO_RECORD),
        }
    }

    /// Returns why no move has this access to a cluster in this role, whatever else the request contains.
    pub(crate) fn access_refusal(self, access: &Access) -> Option<&'static str> {
        let namespace = (&*access.group, &*access.resource) == ("", "namespaces");
        match (self, &*access.verb) {
            (Self::Source, "create") => Some(CREATES),
            (Self::Source, "delete") if namespace || access.namespace.is_none() => Some(STAYS),
            (Self::Source, "patch") if namespace => Some(PATCHES),
            _ => None,
        }
    }

    /// Returns why no move sends this request to a cluster in this role, as far as the request itself shows.
    pub(crate) fn request_refusal(self, ask: &LinkRequest) -> Option<&'static str> {
        let why = |is_fine: bool, why| (!is_fine).then_some(why);
        match (self, ask) {
            (Self::Target, LinkRequest::Create { body, .. }) => why(is_marked(body), UNMARKED),
            (Self::Source, LinkRequest::Patch { kind, patch, .. }) => {
                why(only_pauses_or_releases(kind, patch), PATCHES)
            }
            (Self::Source, LinkRequest::Delete { preconditions, .. }) => {
                why(is_bound(preconditions), DELETES)
            }
            _ => None,
        }
    }

    /// Looks at the object that a question would change, where that decides, and binds the question to it.
    pub(crate) async fn bind_to_object(self, ask: LinkRequest, place: &dyn Place) -> Result<LinkRequest> {
        if self == Self::Source {
            return Ok(ask);
        }
        match ask {
            LinkRequest::Patch { kind, key, mut patch } => {
                let named = metadata_of(&patch.body).and_then(|metadata| metadata.get("uid")).cloned();
                let uid = find_marked_uid(place, &kind, &key, named.as_ref().and_then(Value::as_str)).await?;
                pivot_core::objects::merge::apply_patch(&mut patch.body, &json!({"metadata": {"uid": uid}}));
                Ok(LinkRequest::Patch { kind, key, patch })
            }
            LinkRequest::Delete { kind, key, preconditions } => {
                let named = preconditions.uid.as_ref().map(|uid| &*uid.0);
                let uid = Some(find_marked_uid(place, &kind, &key, named).await?);
                Ok(LinkRequest::Delete { kind, key, preconditions: Preconditions { uid, ..preconditions } })
            }
            ask => Ok(ask),
        }
    }
}

fn metadata_of(body: &Value) -> Option<&Map<String, Value>> {
    body.get("metadata")?.as_object()
}

/// Returns true if the body of a new object carries a mark.
fn is_marked(body: &Value) -> bool {
    let annotation = metadata_of(body).and_then(|metadata| metadata.get("annotations")?.get(MARK)?.as_str());
    annotation.is_some_and(|id| !id.is_empty())
}

/// Returns true if a patch only pauses and unpauses, holds, removes finalizers, and records reasons.
fn only_pauses_or_releases(kind: &Kind, patch: &Patch) -> bool {
    let Some(body) = patch.body.as_object() else { return false };
    let names_uid = || metadata_of(&patch.body).is_some_and(|all| all.contains_key("uid"));
    // A mark is no pause: with one an object would count as brought by a move.
    let named = |(name, value): (&String, &Value)| value.is_null() || (value.is_string() && name != MARK);
    let of_metadata = |(name, value): (&String, &Value)| match name.as_str() {
        "annotations" | "labels" => {
            value.is_null() || value.as_object().is_some_and(|names| names.iter().all(named))
        }
        "uid" | "resourceVersion" => value.is_string(),
        // None may be put on. What has none left is deleted next: it is one object that is meant, and not its name.
        "finalizers" => value.is_null() && names_uid(),
        // Of the kubeconfig that goes last, so that nothing else takes it along.
        "ownerReferences" => value == &json!([]) && names_uid(),
        _ => false,
    };
    let of_spec =
        |(name, value): (&String, &Value)| name == "paused" && (value.is_boolean() || value.is_null());
    // A Cluster's pause is a field of it; one that had no spec before gets none again.
    let cluster = (&*kind.group_kind.group, &*kind.plural) == (GROUP_CLUSTER, "clusters");
    let fine = body.iter().all(|(name, value)| match name.as_str() {
        "metadata" => value.as_object().is_some_and(|metadata| metadata.iter().all(of_metadata)),
        "spec" => {
            cluster && (value.is_null() || value.as_object().is_some_and(|spec| spec.iter().all(of_spec)))
        }
        _ => false,
    });
    fine && patch.subresource == Subresource::None
}

fn is_bound(preconditions: &Preconditions) -> bool {
    let Preconditions { uid, resource_version } = preconditions;
    uid.as_ref().is_some_and(|uid| !uid.0.is_empty())
        && resource_version.as_ref().is_some_and(|version| !version.is_empty())
}

/// The UID of an object that a move made, or that was made below one of those. One that isn't there, or is another than the one that
/// was named, is answered as the server would: a move goes on from that.
async fn find_marked_uid(place: &dyn Place, kind: &Kind, key: &Key, named: Option<&str>) -> Result<Uid> {
    let there = place.get(&kind.clone().into(), key).await?;
    let there = there.ok_or_else(|| PlaceError::NotFound(key.to_string()))?;
    if named.is_some_and(|named| named != there.meta.uid.0) {
        return Err(PlaceError::Conflict(format!("another object is {key} now")));
    }
    if has_mark(&there.meta) || has_marked_owner(place, &there).await? {
        return Ok(there.meta.uid);
    }
    Err(PlaceError::Forbidden(format!(
        "the agent refuses changes of {key}, which no move made: neither it nor an owner of it has the annotation {MARK}"
    )))
}

fn has_mark(meta: &Meta) -> bool {
    meta.annotations.get(MARK).is_some_and(|id| !id.is_empty())
}

/// Returns true if one of the object's owners carries a mark.
async fn has_marked_owner(place: &dyn Place, object: &Object) -> Result<bool> {
    if object.meta.owner_references.is_empty() {
        return Ok(false);
    }
    let kinds = place.kinds().await?;
    for owner in &object.meta.owner_references {
        let Some(kind) = kinds.iter().find(|kind| kind.group_kind == owner.group_kind()) else { continue };
        let namespace = object.meta.namespace.as_deref().filter(|_| kind.namespaced);
        let key = Key::new(kind.group_kind.clone(), namespace, &owner.name);
        let there = place.get(kind, &key).await?;
        if there.is_some_and(|there| there.meta.uid == owner.uid && has_mark(&there.meta)) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pivot_core::KindLabels;
    use pivot_core::objects::pause;
    use pivot_memory::MemoryPlace;
    use pivot_places::{Change, builtin_kinds};

    use super::*;

    const VERSION: &str = "cluster.x-k8s.io/v1beta2";

    fn kind(name: &str) -> Kind {
        builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name).unwrap_or_else(|| Kind {
            group_kind: pivot_core::GroupKind::new(GROUP_CLUSTER, name),
            version: "v1beta2".to_owned(),
            plural: format!("{}s", name.to_ascii_lowercase()),
            namespaced: true,
            status_subresource: true,
            served: vec!["v1beta2".to_owned()],
            labels: KindLabels::default(),
        })
    }

    fn key(kind: &Kind, name: &str) -> Key {
        Key::new(kind.group_kind.clone(), Some("shop"), name)
    }

    fn body(kind: &str, name: &str, mark: Option<&str>) -> Value {
        let mut body =
            json!({"apiVersion": VERSION, "kind": kind, "metadata": {"name": name, "namespace": "shop"}});
        if let Some(mark) = mark {
            body["metadata"]["annotations"] = json!({MARK: mark});
        }
        body
    }

    fn patch(kind: &str, name: &str, body: Value) -> LinkRequest {
        let kind = self::kind(kind);
        let patch = Patch { body, subresource: Subresource::None, change: Change::Real };
        LinkRequest::Patch { key: key(&kind, name), kind, patch }
    }

    fn delete(kind: &str, name: &str, uid: Option<&str>, version: Option<&str>) -> LinkRequest {
        let kind = self::kind(kind);
        let preconditions = Preconditions {
            uid: uid.map(|uid| Uid(uid.to_owned())),
            resource_version: version.map(str::to_owned),
        };
        LinkRequest::Delete { key: key(&kind, name), kind, preconditions }
    }

    fn create(mark: Option<&str>) -> LinkRequest {
        LinkRequest::Create { kind: kind("Machine"), body: body("Machine", "m", mark), change: Change::Real }
    }

    // proves: T54
    #[test]
    fn target_role_creates_only_marked_objects() {
        assert_eq!(Role::Target.request_refusal(&create(Some("1"))), None);
        for mark in [None, Some("")] {
            assert_eq!(Role::Target.request_refusal(&create(mark)), Some(UNMARKED), "{mark:?}");
        }
        let access = |verb: &'static str, (group, resource): (&str, &str), namespace: Option<&str>| Access {
            verb: verb.into(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            subresource: "".into(),
            namespace: namespace.map(str::to_owned),
        };
        let (machines, namespaces) = ((GROUP_CLUSTER, "machines"), ("", "namespaces"));
        let denied = |verb, kind, namespace| Role::Source.access_refusal(&access(verb, kind, namespace));
        assert_eq!(denied("create", machines, Some("shop")), Some(CREATES));
        assert_eq!(denied("create", namespaces, None), Some(CREATES));
        assert_eq!(denied("delete", namespaces, None), Some(STAYS));
        assert_eq!(denied("delete", (GROUP_CLUSTER, "identities"), None), Some(STAYS));
        assert_eq!(denied("patch", namespaces, None), Some(PATCHES));
        for verb in ["get", "list", "watch", "patch", "delete"] {
            assert_eq!(denied(verb, machines, Some("shop")), None, "{verb}");
        }
    }

    /// Objects of a target: copies, what its controllers made below them, and its own.
    fn target() -> MemoryPlace {
        let place = MemoryPlace::new("far");
        place.add_namespace("shop");
        for name in ["Machine", "MachineSet"] {
            place.add_kind(kind(name));
        }
        let owned = |name: &str, owner: &str, uid: &str| {
            let mut body = body("Machine", name, None);
            let owner = json!([{"apiVersion": VERSION, "kind": "MachineSet", "name": owner, "uid": uid}]);
            body["metadata"]["ownerReferences"] = owner;
            body
        };
        for mut body in [
            body("MachineSet", "copy", Some("1")),
            body("MachineSet", "own", None),
            body("MachineSet", "empty", Some("")),
            owned("below-copy", "copy", "copy"),
            owned("below-own", "own", "own"),
            // Of an owner that had the name before.
            owned("orphan", "copy", "former"),
        ] {
            body["metadata"]["uid"] = body["metadata"]["name"].clone();
            place.insert(body).unwrap();
        }
        place
    }

    // proves: T53
    #[tokio::test]
    async fn target_role_rejects_unmarked_objects() {
        let place = target();
        let looked = async |ask: LinkRequest| Role::Target.bind_to_object(ask, &place).await;
        for (kind, name) in [("MachineSet", "copy"), ("Machine", "below-copy")] {
            let LinkRequest::Patch { patch, .. } =
                looked(patch(kind, name, json!({"spec": {"a": 1}}))).await.unwrap()
            else {
                panic!("another question")
            };
            assert_eq!(patch.body, json!({"metadata": {"uid": name}, "spec": {"a": 1}}));
            for uid in [None, Some(name)] {
                let LinkRequest::Delete { preconditions, .. } =
                    looked(delete(kind, name, uid, Some("7"))).await.unwrap()
                else {
                    panic!("another question")
                };
                let bound = (preconditions.uid, preconditions.resource_version);
                assert_eq!(bound, (Some(Uid(name.to_owned())), Some("7".to_owned())));
            }
        }
        for (kind, name) in
            [("MachineSet", "own"), ("MachineSet", "empty"), ("Machine", "below-own"), ("Machine", "orphan")]
        {
            let marking = json!({"metadata": {"annotations": {MARK: "1"}}});
            for ask in [
                patch(kind, name, marking),
                delete(kind, name, None, None),
                delete(kind, name, Some(name), None),
            ] {
                let error = looked(ask).await.map(drop).unwrap_err();
                assert!(
                    matches!(&error, PlaceError::Forbidden(why) if why.contains(MARK)),
                    "{name}: {error}"
                );
            }
            // As its server would: the object that is meant is gone, and a move goes on.
            for ask in
                [patch(kind, name, json!({"metadata": {"uid": "u"}})), delete(kind, name, Some("u"), None)]
            {
                let error = looked(ask).await.map(drop).unwrap_err();
                assert!(matches!(error, PlaceError::Conflict(_)), "{name}: {error}");
            }
        }
        for ask in [patch("Machine", "none", json!({})), delete("Machine", "none", None, None)] {
            let error = looked(ask).await.map(drop).unwrap_err();
            assert!(matches!(error, PlaceError::NotFound(_)), "{error}");
        }
    }

    // proves: T53
    #[tokio::test]
    async fn replaced_object_is_not_changed() {
        let place = target();
        let kind = Arc::new(kind("MachineSet"));
        let key = key(&kind, "copy");
        let ask = patch("MachineSet", "copy", json!({"spec": {"a": 1}}));
        let LinkRequest::Patch { patch, .. } = Role::Target.bind_to_object(ask, &place).await.unwrap() else {
            panic!("another question")
        };
        place.remove(&key).unwrap();
        place.insert(body("MachineSet", "copy", None)).unwrap();
        let error = place.patch(&kind, &key, &patch).await.map(drop).unwrap_err();
        assert!(matches!(error, PlaceError::Conflict(_)), "{error}");
    }

    // proves: T54
    #[test]
    fn source_role_only_pauses_and_unpauses() {
        let place = MemoryPlace::new("far");
        place.add_kind(kind("Cluster"));
        let object = |spec: Option<Value>| {
            let mut body = body("Cluster", "c", None);
            if let Some(spec) = spec {
                body["spec"] = spec;
            }
            place.insert(body).unwrap()
        };
        let mut fine = vec![
            pause::poke_patch("1"),
            json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": "x", "gone": null}, "labels": {"a": "b"}}}),
            json!({"metadata": {"uid": "u", "resourceVersion": "7", "finalizers": null, "annotations": {"a": ""}}}),
            json!({"metadata": {"uid": "u", "finalizers": null}}),
            json!({"metadata": {"uid": "u", "finalizers": null, "ownerReferences": []}}),
        ];
        // What the engine sends for a Cluster, with and without a spec, to pause it and to undo that.
        for spec in [None, Some(json!({"a": 1})), Some(json!({"paused": false}))] {
            let before = object(spec);
            let change = pause::pause_patch(&before).unwrap().unwrap();
            let paused = pause::with_undo(&before.value().unwrap(), change, "1");
            let mut after = before.value().unwrap();
            pivot_core::objects::merge::apply_patch(&mut after, &paused);
            let after = place.insert(after).unwrap();
            fine.extend([paused, pause::undo_patch(&after.meta, "1").unwrap()]);
        }
        for body in fine {
            assert_eq!(Role::Source.request_refusal(&patch("Cluster", "c", body.clone())), None, "{body}");
        }
        let refused = [
            ("Cluster", json!({"spec": {"paused": true, "topology": {}}})),
            ("Cluster", json!({"spec": {"paused": "x"}})),
            ("Machine", json!({"spec": {"paused": true}})),
            ("Machine", json!({"spec": null})),
            ("Secret", json!({"data": {"a": "b"}})),
            ("Cluster", json!({"status": {}})),
            ("Cluster", json!({"metadata": {"finalizers": null}})),
            ("Cluster", json!({"metadata": {"uid": "u", "finalizers": ["a/b"]}})),
            ("Cluster", json!({"metadata": {"ownerReferences": [{"uid": "u"}]}})),
            ("Secret", json!({"metadata": {"ownerReferences": []}})),
            ("Cluster", json!({"metadata": {"managedFields": []}})),
            ("Cluster", json!({"metadata": null})),
            ("Cluster", json!({"metadata": {"labels": ["a"]}})),
            ("Cluster", json!({"metadata": {"annotations": {"a": {}}}})),
            ("Cluster", json!({"metadata": {"annotations": {MARK: "1"}}})),
            ("Cluster", json!([])),
        ];
        for (kind, body) in refused {
            assert_eq!(
                Role::Source.request_refusal(&patch(kind, "c", body.clone())),
                Some(PATCHES),
                "{kind}: {body}"
            );
        }
        let mut status = patch("Cluster", "c", json!({}));
        if let LinkRequest::Patch { patch, .. } = &mut status {
            patch.subresource = Subresource::Status;
        }
        assert_eq!(Role::Source.request_refusal(&status), Some(PATCHES));
    }

    // proves: T54
    #[test]
    fn source_role_deletes_by_uid_and_version() {
        let refuses = |uid, version| Role::Source.request_refusal(&delete("Machine", "m", uid, version));
        assert_eq!(refuses(Some("u"), Some("7")), None);
        for (uid, version) in
            [(None, None), (Some("u"), None), (None, Some("7")), (Some(""), Some("7")), (Some("u"), Some(""))]
        {
            assert_eq!(refuses(uid, version), Some(DELETES), "{uid:?} {version:?}");
        }
    }
}
