//! The controller's own cluster as the target of a Pivot: nothing is changed there but in the Pivot's namespace, and of records of moves
//! its own, whatever its source says. What is read is not confined.
//!
//! Who writes a Pivot may bring a source that is theirs, API server and all: what it says of its objects, of its kinds and of moves
//! under way is a stranger's word. The controller's account has roles in the namespaces of other Pivots, so each write is judged here,
//! where it would leave for the server. Checks before the move say more kindly what can't be (`Options::confined`).

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use pivot_core::names::STATE;
use pivot_core::record::{ENTRY, move_of_piece, record_name};
use pivot_core::{Key, Kind, Object, Side};
use pivot_places::{
    Access, Capabilities, Change, Closing, Event, Identity, Listing, MetaListing, Opening, Patch, Place,
    PlaceError, Preconditions, Result, ServicePath, Throttled,
};
use serde::Deserialize;
use serde_json::Value;

pub(crate) struct Confined {
    pub(crate) place: Arc<dyn Place>,
    /// The Pivot's namespace.
    pub(crate) namespace: String,
    /// Where leases and records of moves are kept.
    pub(crate) record_namespace: String,
    /// The Pivot, as records name it.
    pub(crate) operator: String,
}

/// Whose record it is, if that can be read.
#[derive(Deserialize)]
struct Author {
    #[serde(default)]
    by: String,
}

impl Confined {
    /// Whether a request about that name, of a kind as this cluster serves it, is one of the Pivot's.
    async fn check(&self, verb: &str, kind: &Arc<Kind>, namespace: Option<&str>, name: &str) -> Result<()> {
        let namespace = namespace.filter(|_| kind.namespaced);
        let kept = namespace == Some(&*self.record_namespace) && name.starts_with(STATE);
        let is_own = match (&*kind.group_kind.group, &*kind.group_kind.kind) {
            _ if namespace == Some(&*self.namespace) => true,
            ("coordination.k8s.io", "Lease") => kept,
            ("", "ConfigMap") => kept && !self.is_anothers(kind, name).await?,
            _ => false,
        };
        if is_own {
            return Ok(());
        }
        let key = Key::new(kind.group_kind.clone(), namespace, name);
        Err(PlaceError::Forbidden(format!(
            "a Pivot of namespace {} changes nothing outside of it in the controller's cluster: {verb} {key}",
            self.namespace
        )))
    }

    /// Whether it is a record, or a piece of a release list, of a move that another began: everybody can know that move's id.
    async fn is_anothers(&self, kind: &Arc<Kind>, name: &str) -> Result<bool> {
        if name.starts_with(&record_name(Side::Source, "")) {
            return Ok(true);
        }
        let record = move_of_piece(name).map_or(name.to_owned(), |id| record_name(Side::Target, id));
        let key = Key::new(kind.group_kind.clone(), Some(&self.record_namespace), &record);
        let Some(record) = self.place.get(kind, &key).await? else { return Ok(false) };
        let body = record.value().unwrap_or_default();
        // Of a move that has ended there is only a summary. What can't be read may be anybody's.
        let text = body.get("data").and_then(|data| data.get(ENTRY)).and_then(Value::as_str);
        let author = text.map(serde_json::from_str::<Author>);
        Ok(author.is_some_and(|author| author.map_or(true, |author| author.by != self.operator)))
    }
}

fn word<'a>(body: &'a Value, field: &str) -> Option<&'a str> {
    body.get("metadata")?.get(field)?.as_str()
}

#[async_trait]
impl Place for Confined {
    fn label(&self) -> &str {
        self.place.label()
    }

    fn named_in(&self) -> Option<&str> {
        self.place.named_in()
    }

    fn can(&self) -> Capabilities {
        self.place.can()
    }

    fn throttled(&self) -> Throttled {
        self.place.throttled()
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
        // What is outside of namespaces is refused by the checks, beside which the server is asked.
        if change == Change::Real || kind.namespaced {
            let name = word(body, "name").unwrap_or_default();
            self.check("create", kind, word(body, "namespace"), name).await?;
        }
        self.place.create(kind, body, change).await
    }

    async fn patch(&self, kind: &Arc<Kind>, key: &Key, patch: &Patch) -> Result<Object> {
        self.check("patch", kind, key.namespace.as_deref(), &key.name).await?;
        self.place.patch(kind, key, patch).await
    }

    async fn delete(&self, kind: &Arc<Kind>, key: &Key, preconditions: &Preconditions) -> Result<()> {
        self.check("delete", kind, key.namespace.as_deref(), &key.name).await?;
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

    async fn denied(&self, asked: &[Access]) -> Result<Vec<Access>> {
        self.place.denied(asked).await
    }

    fn used(&self) -> BTreeSet<Access> {
        self.place.used()
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::{GroupKind, KindLabels};
    use pivot_places::{MemoryPlace, Subresource, builtin_kinds};
    use serde_json::json;

    use super::*;

    fn kind(name: &str) -> Arc<Kind> {
        let builtin = builtin_kinds().into_iter().find(|kind| kind.group_kind.kind == name);
        Arc::new(builtin.unwrap_or_else(|| Kind {
            group_kind: GroupKind::new("cluster.x-k8s.io", name),
            version: "v1beta2".into(),
            plural: format!("{}s", name.to_lowercase()),
            namespaced: name != "Identity",
            status_subresource: true,
            served: vec!["v1beta2".into()],
            labels: KindLabels::default(),
        }))
    }

    /// Each of the writes, and whether the place behind saw it.
    async fn written(kind_name: &str, namespace: Option<&str>, name: &str) -> [bool; 3] {
        let kind = kind(kind_name);
        let key = Key::new(kind.group_kind.clone(), namespace, name);
        let mut body = json!({"metadata": {"name": name, "uid": "u"}});
        if let Some(namespace) = namespace {
            body["metadata"]["namespace"] = json!(namespace);
        }
        let mut seen = Vec::new();
        for verb in ["create", "patch", "delete"] {
            let place = MemoryPlace::new("home");
            place.add_kind(Kind::clone(&kind));
            for there in ["shop", "bank", "kube-system"] {
                place.add_namespace(there);
            }
            for (id, record) in [
                ("ours", json!({"by": "us"}).to_string()),
                ("theirs", json!({"by": "them"}).to_string()),
                ("odd", "no record".to_owned()),
            ] {
                place
                    .insert(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {ENTRY: record},
                        "metadata": {"name": format!("pivot-host-target-{id}"), "namespace": "kube-system", "uid": id}}))
                    .unwrap();
            }
            if verb != "create" && place.body(&key).is_none() {
                place.insert(Object::from_value(kind.clone(), &body).unwrap().value().unwrap()).unwrap();
            }
            let confined = Confined {
                place: Arc::new(place),
                namespace: "shop".into(),
                record_namespace: "kube-system".into(),
                operator: "us".into(),
            };
            let patch = Patch {
                body: json!({"metadata": {"labels": {"a": "b"}}}),
                subresource: Subresource::None,
                change: Change::Real,
            };
            let answer = match verb {
                "create" => confined.create(&kind, &body, Change::Real).await.map(drop),
                "patch" => confined.patch(&kind, &key, &patch).await.map(drop),
                _ => confined.delete(&kind, &key, &Preconditions::default()).await,
            };
            match answer {
                Ok(()) => seen.push(true),
                Err(PlaceError::AlreadyExists(_)) => seen.push(true),
                Err(PlaceError::Forbidden(why)) if why.contains("namespace shop") => seen.push(false),
                Err(other) => panic!("{verb} {key}: {other}"),
            }
        }
        seen.try_into().unwrap()
    }

    // proves: T44
    #[tokio::test]
    async fn what_is_outside_of_the_pivots_namespace_is_not_changed() {
        for (kind, namespace, name) in [
            ("Machine", Some("shop"), "m"),
            ("Secret", Some("shop"), "s"),
            ("ConfigMap", Some("kube-system"), "pivot-host-target-new"),
            ("ConfigMap", Some("kube-system"), "pivot-host-target-ours"),
            ("ConfigMap", Some("kube-system"), "pivot-host-release-ours-0"),
            ("Lease", Some("kube-system"), "pivot-host.ns.shop"),
        ] {
            assert_eq!(written(kind, namespace, name).await, [true; 3], "{kind} {name}");
        }
        for (kind, namespace, name) in [
            ("Machine", Some("bank"), "m"),
            ("Secret", Some("bank"), "s"),
            ("Secret", Some("kube-system"), "pivot-host-target-ours"),
            ("ConfigMap", Some("kube-system"), "coredns"),
            ("ConfigMap", Some("kube-system"), "pivot-host-target-theirs"),
            ("ConfigMap", Some("kube-system"), "pivot-host-release-theirs-0"),
            ("ConfigMap", Some("kube-system"), "pivot-host-target-odd"),
            ("ConfigMap", Some("kube-system"), "pivot-host-source-ours"),
            ("Identity", None, "shop"),
        ] {
            assert_eq!(written(kind, namespace, name).await, [false; 3], "{kind} {name}");
        }
    }

    /// A source that says that a kind is in namespaces: where the object lands, this cluster's definition says.
    #[tokio::test]
    async fn what_is_cluster_scoped_here_is_not_created_by_giving_it_a_namespace() {
        let confined = Confined {
            place: Arc::new(MemoryPlace::new("home")),
            namespace: "shop".into(),
            record_namespace: "kube-system".into(),
            operator: "us".into(),
        };
        let body = json!({"metadata": {"name": "evil", "namespace": "shop"}});
        let refused = confined.create(&kind("Identity"), &body, Change::Real).await.unwrap_err();
        assert!(matches!(refused, PlaceError::Forbidden(_)), "{refused}");
    }
}
