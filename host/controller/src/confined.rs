//! The controller's own cluster as a side of a Pivot's move. The move changes only the Pivot's namespace and its own records and
//! leases, whatever the other side says. Reads are not confined.
//!
//! The author of a Pivot may control the other side, including its API server. So nothing that it reports about its objects, its
//! kinds and moves under way is trusted. The controller's account has roles in the namespaces of other Pivots, so each write is
//! checked here, just before it is sent to the server. Checks before the move explain refusals better (`Options::confined`).

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::objects::kind::is_kubernetes_group;
use pivot_core::objects::names::{SECRETS_OF_ONE_CLUSTER, STATE};
use pivot_core::records::record::{
    ENTRY, ROLLBACK_SUMMARY, SUMMARY, is_move_of, move_of_piece, record_name, record_namespace_manifest,
};
use pivot_core::records::route::EndKind;
use pivot_core::request::mapping::NamespaceMap;
use pivot_core::request::scope::Namespaces;
use pivot_core::{Key, Kind, Object, Side, Uid};
use pivot_places::{
    Access, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing, Opening, Patch, Place,
    PlaceError, Preconditions, Result, ServicePath, Throttled,
};
use serde::Deserialize;
use serde_json::Value;

pub(crate) struct Confined {
    pub(crate) place: Arc<dyn Place>,
    /// The cluster's role in the move.
    pub(crate) side: Side,
    /// The Pivot's namespace.
    pub(crate) namespace: String,
    /// Namespace of leases and records of moves.
    pub(crate) record_namespace: String,
    /// The Pivot, as records name it.
    pub(crate) operator: String,
    /// The Pivot's UID, in which ids of its moves end.
    pub(crate) uid: Uid,
}

/// A request that would change something.
#[derive(Clone, Copy)]
enum Write<'a> {
    Create(&'a Value),
    Patch(&'a Value),
    Delete,
}

impl Write<'_> {
    fn verb(self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Patch(_) => "patch",
            Self::Delete => "delete",
        }
    }
}

/// The author and the scope of a record.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordAuthor {
    /// Records of format 4 call it `by`.
    #[serde(default, alias = "by")]
    started_by: String,
    #[serde(default)]
    scope: Option<MovedNamespaces>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MovedNamespaces {
    namespaces: Namespaces,
    #[serde(default)]
    namespace_map: NamespaceMap,
}

impl MovedNamespaces {
    /// Returns the namespaces by their names on a side.
    fn names_on(self, side: Side) -> Namespaces {
        match side {
            Side::Source => self.namespaces,
            Side::Target => self.namespaces.in_target(&self.namespace_map),
        }
    }
}

impl Confined {
    /// Refuses a request about an object that isn't the Pivot's, with the kind as this cluster serves it.
    async fn check_write(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        name: &str,
        write: Write<'_>,
    ) -> Result<()> {
        let namespace = namespace.filter(|_| kind.namespaced);
        let (group, of) = (&*kind.group_kind.group, &*kind.group_kind.kind);
        let kept = namespace == Some(&*self.record_namespace) && name.starts_with(STATE);
        let own_namespace = namespace == Some(&*self.namespace);
        let refused = match (group, of) {
            ("coordination.k8s.io", "Lease") if kept => !self.is_own_lease(name, write),
            ("", "ConfigMap") if kept => !self.is_own_record(kind, name, write).await?,
            // The first move of all creates it.
            ("", "Namespace") if self.is_record_namespace(write) => false,
            // Nothing is moved into a source.
            _ if self.side == Side::Source && matches!(write, Write::Create(_)) => true,
            ("", "Secret") if own_namespace => return self.check_type(kind, name, write),
            ("", "ConfigMap") => !own_namespace,
            // Roles, workloads, quotas: with the permissions of the controller, their author would get more than their own.
            _ if own_namespace && is_kubernetes_group(group) => {
                let key = Key::new(kind.group_kind.clone(), namespace, name);
                return Err(PlaceError::Forbidden(format!(
                    "a Pivot brings and changes nothing of Kubernetes itself in the controller's cluster but Secrets and ConfigMaps: \
                     {} {key}",
                    write.verb()
                )));
            }
            _ => !own_namespace,
        };
        if !refused {
            return Ok(());
        }
        let key = Key::new(kind.group_kind.clone(), namespace, name);
        Err(PlaceError::Forbidden(format!(
            "a Pivot of namespace {} changes nothing outside of it in the controller's cluster: {} {key}",
            self.namespace,
            write.verb()
        )))
    }

    /// Refuses Secrets that this cluster would fill in with a credential, or take as one.
    fn check_type(&self, kind: &Arc<Kind>, name: &str, write: Write<'_>) -> Result<()> {
        let Write::Create(body) = write else { return Ok(()) };
        let of = body.get("type").and_then(Value::as_str).unwrap_or_default();
        if !SECRETS_OF_ONE_CLUSTER.contains(&of) {
            return Ok(());
        }
        let key = Key::new(kind.group_kind.clone(), Some(&self.namespace), name);
        Err(PlaceError::Forbidden(format!(
            "a Secret of type {of} is good in one cluster only, and a Pivot brings none into the controller's: create {key}"
        )))
    }

    /// Returns true if the write creates the namespace of records, as every run creates it.
    fn is_record_namespace(&self, write: Write<'_>) -> bool {
        matches!(write, Write::Create(body) if *body == record_namespace_manifest(&self.record_namespace))
    }

    /// Returns true for a lease that a move out of the Pivot's namespace takes. A move into the cluster takes leases only in its
    /// source.
    fn is_own_lease(&self, name: &str, write: Write<'_>) -> bool {
        let of = name.strip_prefix(STATE).unwrap_or_default();
        let freed = |body: &Value| body.pointer("/spec/holderIdentity").is_some_and(|holder| *holder == "");
        self.side == Side::Source
            && match of {
                // The lease of a dead run for all namespaces is released.
                "" => matches!(write, Write::Patch(body) if freed(body)),
                of => of.strip_prefix(".ns.") == Some(&*self.namespace) || of.starts_with("-probe-"),
            }
    }

    /// Returns true if it is a record, or a piece of a release list, of a move of this Pivot, or out of its namespace. Other
    /// users can know the id of a move, and a source can claim that it is this Pivot's. So nothing is created for an id that
    /// doesn't end in the Pivot's UID.
    async fn is_own_record(&self, kind: &Arc<Kind>, name: &str, write: Write<'_>) -> Result<bool> {
        let of_record = name.strip_prefix(&record_name(self.side, ""));
        let Some(id) = of_record.or_else(|| move_of_piece(name)) else { return Ok(false) };
        let key = Key::new(kind.group_kind.clone(), Some(&self.record_namespace), record_name(self.side, id));
        Ok(match (self.place.get(kind, &key).await?, write) {
            (Some(record), write) => self.is_own(&record.value().unwrap_or_default(), write),
            (None, Write::Create(body)) if of_record.is_some() => {
                is_move_of(id, &self.uid) && self.is_own(body, write)
            }
            (None, _) if of_record.is_some() => true,
            // The commit writes a release list before its record. The list of a handed-over source is next to the source's
            // record.
            (None, _) => self.side == Side::Target && is_move_of(id, &self.uid),
        })
    }

    /// Returns true for the record of a move of this Pivot. Before the move begins, a dry run asks whether that can be created.
    fn is_name_of_own_record(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> bool {
        let id = name.strip_prefix(&record_name(self.side, ""));
        kind.group_kind.is("", "ConfigMap")
            && namespace == Some(&*self.record_namespace)
            && id.is_some_and(|id| is_move_of(id, &self.uid))
    }

    fn is_own(&self, record: &Value, write: Write<'_>) -> bool {
        let text = |entry| record.get("data").and_then(|data| data.get(entry)).and_then(Value::as_str);
        let read = |text| serde_json::from_str::<RecordAuthor>(text).ok();
        let own = Namespaces::One(self.namespace.clone());
        match (text(ENTRY), text(SUMMARY).or_else(|| text(ROLLBACK_SUMMARY))) {
            // A record that can't be read may belong to another move.
            (Some(text), _) => read(text).is_some_and(|record| match self.side {
                Side::Source => record.scope.is_some_and(|scope| scope.names_on(self.side) == own),
                Side::Target => record.started_by == self.operator,
            }),
            // Each move that ends, or is rolled back, removes the oldest summaries of its namespace.
            (None, Some(text)) => read(text).is_some_and(|summary| match write {
                Write::Delete => summary.scope.is_some_and(|scope| scope.names_on(self.side) == own),
                Write::Create(_) | Write::Patch(_) => summary.started_by == self.operator,
            }),
            (None, None) => false,
        }
    }
}

fn metadata_field<'a>(body: &'a Value, field: &str) -> Option<&'a str> {
    body.get("metadata")?.get(field)?.as_str()
}

#[async_trait]
impl Place for Confined {
    fn label(&self) -> &str {
        self.place.label()
    }

    fn kubeconfig_and_context(&self) -> Option<&str> {
        self.place.kubeconfig_and_context()
    }

    fn end_kind(&self) -> EndKind {
        self.place.end_kind()
    }

    fn capabilities(&self) -> Capabilities {
        self.place.capabilities()
    }

    fn throttled_requests(&self) -> Throttled {
        self.place.throttled_requests()
    }

    async fn identify(&self) -> Result<Identity> {
        self.place.identify().await
    }

    fn vouches_for_kinds(&self) -> bool {
        self.place.vouches_for_kinds()
    }

    async fn kinds(&self) -> Result<Vec<Arc<Kind>>> {
        self.place.kinds().await
    }

    async fn list(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<Listing> {
        self.place.list(kind, namespace).await
    }

    async fn list_labelled(&self, kind: &Arc<Kind>, namespace: &str, label: &str) -> Result<Listing> {
        self.place.list_labelled(kind, namespace, label).await
    }

    async fn list_meta(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.place.list_meta(kind, namespace).await
    }

    async fn list_identities(&self, kind: &Arc<Kind>, namespace: Option<&str>) -> Result<MetaListing> {
        self.place.list_identities(kind, namespace).await
    }

    async fn get(&self, kind: &Arc<Kind>, key: &Key) -> Result<Option<Object>> {
        self.place.get(kind, key).await
    }

    async fn create(&self, kind: &Arc<Kind>, body: &Value, change: Change) -> Result<Object> {
        let (namespace, name) =
            (metadata_field(body, "namespace"), metadata_field(body, "name").unwrap_or_default());
        // Objects outside of namespaces are refused by the checks that run with these dry runs.
        let is_asked = match change {
            Change::Real => false,
            Change::DryRun => !kind.namespaced || self.is_name_of_own_record(kind, namespace, name),
        };
        if !is_asked {
            self.check_write(kind, namespace, name, Write::Create(body)).await?;
        }
        self.place.create(kind, body, change).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.check_write(kind, key.namespace.as_deref(), &key.name, Write::Patch(&patch.body)).await?;
        self.place.patch(kind, key, patch).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.check_write(kind, key.namespace.as_deref(), &key.name, Write::Delete).await?;
        self.place.delete(kind, key, preconditions).await
    }

    async fn watch(
        &self,
        kind: &Arc<Kind>,
        namespace: Option<&str>,
        resource_version: &str,
    ) -> Result<BoxStream<'static, Result<Event>>> {
        self.place.watch(kind, namespace, resource_version).await
    }

    async fn learn(&self, kinds: &[Arc<Kind>]) -> Result<()> {
        self.place.learn(kinds).await
    }

    async fn open(&self, opening: &Opening) -> Result<()> {
        self.place.open(opening).await
    }

    async fn close(&self, closing: &Closing) -> Result<()> {
        self.place.close(closing).await
    }

    async fn proxy_get(&self, service: &ServicePath, limit: usize) -> Result<(u16, Vec<u8>)> {
        self.place.proxy_get(service, limit).await
    }

    async fn find_denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.place.find_denied(asked).await
    }

    fn used_permissions(&self) -> BTreeSet<Access> {
        self.place.used_permissions()
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::{GroupKind, KindLabels};
    use pivot_memory::MemoryPlace;
    use pivot_places::{Subresource, builtin_kinds};
    use serde_json::json;

    use super::*;

    fn kind(group: &str, name: &str) -> Arc<Kind> {
        let builtin = builtin_kinds().into_iter().find(|kind| kind.group_kind.is(group, name));
        Arc::new(builtin.unwrap_or_else(|| Kind {
            group_kind: GroupKind::new(group, name),
            version: "v1beta2".into(),
            plural: format!("{}s", name.to_lowercase()),
            namespaced: name != "Identity",
            status_subresource: true,
            served: vec!["v1beta2".into()],
            labels: KindLabels::default(),
        }))
    }

    fn confined(place: MemoryPlace, side: Side) -> Confined {
        Confined {
            place: Arc::new(place),
            side,
            namespace: "shop".into(),
            record_namespace: "pivot-host-records".into(),
            operator: "us".into(),
            uid: Uid("pivot".into()),
        }
    }

    /// A cluster with records of moves of this Pivot, of others, of none, and of an administrator.
    fn home() -> MemoryPlace {
        let place = MemoryPlace::new("home");
        for there in ["shop", "bank", "pivot-host-records"] {
            place.add_namespace(there);
        }
        let of = |namespace: &str| json!({"namespaces": {"one": namespace}});
        let mapped = |from: &str, to: &str| json!({"namespaces": {"one": from}, "namespaceMap": {from: to}});
        for (id, entry, text) in [
            ("ours", ENTRY, json!({"startedBy": "us", "scope": of("shop")}).to_string()),
            ("admins", ENTRY, json!({"startedBy": "admin", "scope": of("shop")}).to_string()),
            ("theirs", ENTRY, json!({"startedBy": "them", "scope": of("bank")}).to_string()),
            ("handed", ENTRY, json!({"startedBy": "them", "scope": of("bank")}).to_string()),
            ("alls", ENTRY, json!({"startedBy": "them", "scope": {"namespaces": "all"}}).to_string()),
            ("odd", ENTRY, "no record".to_owned()),
            ("ended", SUMMARY, json!({"startedBy": "them", "scope": of("shop")}).to_string()),
            ("done", SUMMARY, json!({"startedBy": "us", "scope": of("shop")}).to_string()),
            ("mapped", SUMMARY, json!({"startedBy": "them", "scope": mapped("default", "shop")}).to_string()),
            (
                "mapped-theirs",
                SUMMARY,
                json!({"startedBy": "them", "scope": mapped("shop", "bank")}).to_string(),
            ),
            ("undone", ROLLBACK_SUMMARY, json!({"startedBy": "them", "scope": of("shop")}).to_string()),
            ("ended-theirs", SUMMARY, json!({"startedBy": "them", "scope": of("bank")}).to_string()),
            (
                "undone-theirs",
                ROLLBACK_SUMMARY,
                json!({"startedBy": "them", "scope": of("bank")}).to_string(),
            ),
        ] {
            let sides: &[Side] = if id == "handed" { &[Side::Source] } else { &[Side::Source, Side::Target] };
            for &side in sides {
                let name = record_name(side, id);
                place
                    .insert(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {entry: text},
                        "metadata": {"name": name, "namespace": "pivot-host-records", "uid": name}}))
                    .unwrap();
            }
        }
        place
    }

    /// Returns which of create, patch and delete reached the place behind.
    async fn written(side: Side, kind: &Arc<Kind>, namespace: Option<&str>, name: &str) -> [bool; 3] {
        let key = Key::new(kind.group_kind.clone(), namespace, name);
        let mut body = json!({"metadata": {"name": name, "uid": "u"}});
        if let Some(namespace) = namespace {
            body["metadata"]["namespace"] = json!(namespace);
        }
        if name.starts_with("pivot-host-source") || name.starts_with("pivot-host-target") {
            let record = json!({"startedBy": "us", "scope": {"namespaces": {"one": "shop"}}});
            body["data"] = json!({ENTRY: record.to_string()});
        }
        let mut seen = Vec::new();
        for verb in ["create", "patch", "delete"] {
            let place = home();
            place.add_kind(Kind::clone(kind));
            if verb != "create" && place.body(&key).is_none() {
                place.insert(Object::from_value(kind.clone(), &body).unwrap().value().unwrap()).unwrap();
            }
            let confined = confined(place, side);
            let patch = Patch {
                body: json!({"metadata": {"labels": {"a": "b"}}}),
                subresource: Subresource::None,
                change: Change::Real,
            };
            let answer = match verb {
                "create" => confined.create(kind, &body, Change::Real).await.map(drop),
                "patch" => confined.patch(kind, &key, &patch).await.map(drop),
                _ => confined.delete(kind, &key, &Preconditions::default()).await,
            };
            seen.push(match answer {
                Ok(()) | Err(PlaceError::AlreadyExists(_)) => true,
                Err(PlaceError::Forbidden(why)) if why.contains("controller's") => false,
                Err(other) => panic!("{verb} {key}: {other}"),
            });
        }
        seen.try_into().unwrap()
    }

    const CAPI: &str = "cluster.x-k8s.io";
    const LEASES: &str = "coordination.k8s.io";
    const ALL: [bool; 3] = [true; 3];
    const NONE: [bool; 3] = [false; 3];

    // proves: T44
    #[tokio::test]
    async fn moves_in_change_only_their_own_namespace() {
        for (group, of, namespace, name, seen) in [
            (CAPI, "Machine", Some("shop"), "m", ALL),
            ("", "Secret", Some("shop"), "s", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-new-pivot", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-new-pivot-0", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-ours", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-ours-0", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-done", ALL),
            // The oldest summaries of the namespace are removed.
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-ended", [false, false, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-undone", [false, false, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-mapped", [false, false, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-mapped-theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-ended-theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-undone-theirs", NONE),
            (CAPI, "Machine", Some("bank"), "m", NONE),
            ("", "Secret", Some("bank"), "s", NONE),
            ("", "Secret", Some("pivot-host-records"), "pivot-host-target-ours", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "coredns", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-admins", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-theirs-0", NONE),
            // The list of a source that is handed over in files.
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-handed-0", NONE),
            // Another's move that this cluster has no record of yet.
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-chosen", [false, true, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-chosen-0", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-odd", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-ours", NONE),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host.ns.shop", NONE),
            (CAPI, "Identity", None, "shop", NONE),
        ] {
            assert_eq!(written(Side::Target, &kind(group, of), namespace, name).await, seen, "{of} {name}");
        }
    }

    // proves: T141
    #[tokio::test]
    async fn moves_out_change_only_their_own_namespace() {
        for (group, of, namespace, name, seen) in [
            // Nothing is moved into a source.
            (CAPI, "Machine", Some("shop"), "m", [false, true, true]),
            ("", "Secret", Some("shop"), "s", [false, true, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-new-pivot", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-chosen", [false, true, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-ours", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-admins", ALL),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-undone", [false, false, true]),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-undone-theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-mapped", NONE),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host.ns.shop", ALL),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host-probe-1", ALL),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host.ns.bank", NONE),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host.cluster", NONE),
            (LEASES, "Lease", Some("pivot-host-records"), "pivot-host", NONE),
            (LEASES, "Lease", Some("pivot-host-records"), "kube-scheduler", NONE),
            (CAPI, "Cluster", Some("bank"), "theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-target-ours", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-theirs", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-source-alls", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-theirs-0", NONE),
            ("", "ConfigMap", Some("pivot-host-records"), "pivot-host-release-new-0", NONE),
            (CAPI, "Identity", None, "shop", NONE),
        ] {
            assert_eq!(written(Side::Source, &kind(group, of), namespace, name).await, seen, "{of} {name}");
        }
        let lease = kind(LEASES, "Lease");
        let place = home();
        place
            .insert(json!({"apiVersion": lease.api_version(), "kind": "Lease",
                "metadata": {"name": "pivot-host", "namespace": "pivot-host-records"}}))
            .unwrap();
        let key = Key::new(lease.group_kind.clone(), Some("pivot-host-records"), "pivot-host");
        let body = json!({"spec": {"holderIdentity": ""}});
        let free = Patch { body, subresource: Subresource::None, change: Change::Real };
        confined(place, Side::Source).patch(&lease, &key, &free).await.unwrap();
    }

    // proves: T142
    #[tokio::test]
    async fn roles_workloads_and_credentials_are_refused() {
        for (group, of) in [
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("apps", "Deployment"),
            ("networking.k8s.io", "NetworkPolicy"),
            ("", "Pod"),
            ("", "ServiceAccount"),
            (LEASES, "Lease"),
        ] {
            assert_eq!(written(Side::Target, &kind(group, of), Some("shop"), "x").await, NONE, "{of}");
        }
        let secret = |of: &str| json!({"type": of, "metadata": {"name": "s", "namespace": "shop"}});
        for of in SECRETS_OF_ONE_CLUSTER {
            let place = confined(home(), Side::Target);
            for change in [Change::Real, Change::DryRun] {
                let refused = place.create(&kind("", "Secret"), &secret(of), change).await.unwrap_err();
                assert!(matches!(refused, PlaceError::Forbidden(_)), "{of}: {refused}");
            }
        }
        let place = confined(home(), Side::Target);
        place.create(&kind("", "Secret"), &secret("Opaque"), Change::Real).await.unwrap();
    }

    /// A source that says that a kind is in namespaces: where the object lands, this cluster's definition says.
    #[tokio::test]
    async fn namespace_makes_no_cluster_scoped_object_allowed() {
        let confined = confined(MemoryPlace::new("home"), Side::Target);
        let body = json!({"metadata": {"name": "evil", "namespace": "shop"}});
        let refused = confined.create(&kind(CAPI, "Identity"), &body, Change::Real).await.unwrap_err();
        assert!(matches!(refused, PlaceError::Forbidden(_)), "{refused}");
    }

    /// Leases and records are there, and its controllers are waited for, as in any cluster.
    #[test]
    fn confined_clusters_are_clusters() {
        for side in [Side::Source, Side::Target] {
            assert_eq!(confined(home(), side).end_kind(), EndKind::Cluster, "{side}");
        }
    }
}
