//! Which kinds there are: aggregated discovery and the labels of their definitions, three requests in all.
//!
//! The labels come from a metadata-only list of CustomResourceDefinitions; the definitions themselves are
//! megabytes of schema.

use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;

use pivot_core::{GroupKind, Kind, KindLabels, names};
use serde::Deserialize;

use super::list;
use super::transport::{Ask, METADATA, Transport};
use crate::place::{PlaceError, Result};

/// Newest first; a server older than 1.30 answers in the second.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[derive(Deserialize)]
struct Discovery {
    kind: String,
    items: Option<Vec<Group>>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Named,
    versions: Option<Vec<Version>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
    #[serde(default)]
    freshness: String,
    resources: Option<Vec<Resource>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    resource: String,
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    verbs: Option<Vec<String>>,
    subresources: Option<Vec<Subresource>>,
}

#[derive(Deserialize)]
struct ResponseKind {
    kind: String,
}

#[derive(Deserialize)]
struct Subresource {
    subresource: String,
}

/// Every listable kind, ordered by group and kind.
pub(super) async fn all(transport: &Transport) -> Result<Vec<Arc<Kind>>> {
    let (core, named, labels) =
        futures::join!(discover(transport, "/api"), discover(transport, "/apis"), labels(transport));
    let labels = match labels {
        Ok(labels) => Some(labels),
        // In a target nobody needs them; a source is refused for it where they are missed.
        Err(PlaceError::Forbidden(reason)) => {
            tracing::debug!(reason, "definitions may not be listed");
            None
        }
        Err(error) => return Err(error),
    };
    Ok(merge(core?.into_iter().chain(named?), labels.as_ref()))
}

async fn discover(transport: &Transport, path: &str) -> Result<Vec<Group>> {
    let about = format!("discover {path}");
    let ask = Ask::get(path.to_owned(), about.clone()).accept(AGGREGATED);
    let body = transport.call(ask).await?;
    let discovery: Discovery = list::parse(&body, &about)?;
    if discovery.kind != "APIGroupDiscoveryList" {
        return Err(PlaceError::Unreadable(format!(
            "{about}: the API server has no aggregated discovery (Kubernetes 1.27 and later do)"
        )));
    }
    Ok(discovery.items.unwrap_or_default())
}

/// Labels of the definitions, by `plural.group`.
async fn labels(transport: &Transport) -> Result<BTreeMap<String, KindLabels>> {
    let about = "list CustomResourceDefinitions";
    let list = list::all(transport, DEFINITIONS, METADATA, about).await?;
    let mut out = BTreeMap::new();
    for raw in &list.items {
        let meta = list::meta(raw, about)?;
        let labels = KindLabels {
            discover: meta.labelled(names::LABEL_DISCOVER),
            moves: meta.labelled(names::LABEL_MOVE),
            hierarchy: meta.labelled(names::LABEL_MOVE_HIERARCHY),
            unread: false,
        };
        out.insert(meta.name, labels);
    }
    Ok(out)
}

/// One kind per group and kind, at the first version the group serves it in: groups list their preferred
/// version first.
fn merge(
    groups: impl Iterator<Item = Group>,
    labels: Option<&BTreeMap<String, KindLabels>>,
) -> Vec<Arc<Kind>> {
    let mut kinds = BTreeMap::new();
    for Group { metadata: Named { name: group }, versions } in groups {
        for Version { version, freshness, resources } in versions.into_iter().flatten() {
            if freshness == "Stale" {
                tracing::warn!(group, version, "this API's server does not answer: its kinds may be missing");
            }
            for resource in resources.into_iter().flatten() {
                add(&mut kinds, &group, &version, resource, labels);
            }
        }
    }
    kinds.into_values().map(Arc::new).collect()
}

fn add(
    kinds: &mut BTreeMap<GroupKind, Kind>,
    group: &str,
    version: &str,
    resource: Resource,
    labels: Option<&BTreeMap<String, KindLabels>>,
) {
    let Resource { resource: plural, response_kind, scope, verbs, subresources } = resource;
    let Some(ResponseKind { kind }) = response_kind else { return };
    if !verbs.into_iter().flatten().any(|verb| verb == "list") {
        return;
    }
    match kinds.entry(GroupKind::new(group, kind)) {
        Entry::Vacant(entry) => {
            let labels = match labels {
                Some(labels) => labels.get(&format!("{plural}.{group}")).copied().unwrap_or_default(),
                None => KindLabels { unread: true, ..KindLabels::default() },
            };
            let group_kind = entry.key().clone();
            entry.insert(Kind {
                group_kind,
                version: version.to_owned(),
                namespaced: scope == "Namespaced",
                status_subresource: subresources.into_iter().flatten().any(|s| s.subresource == "status"),
                served: vec![version.to_owned()],
                labels,
                plural,
            });
        }
        Entry::Occupied(mut entry) => {
            let known = entry.get_mut();
            if known.plural == plural && !known.served.iter().any(|served| served == version) {
                known.served.push(version.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_taken_at_the_groups_favourite_version() {
        let groups = r#"[{"metadata": {"name": "g.io"}, "versions": [
          {"version": "v2", "resources": [
            {"resource": "as", "responseKind": {"kind": "A"}, "scope": "Namespaced", "verbs": ["list"],
             "subresources": [{"subresource": "status"}, {"subresource": "scale"}]}]},
          {"version": "v1", "resources": [
            {"resource": "as", "responseKind": {"kind": "A"}, "scope": "Namespaced", "verbs": ["list"]},
            {"resource": "bs", "responseKind": {"kind": "B"}, "scope": "Cluster", "verbs": ["get", "list"]},
            {"resource": "reviews", "responseKind": {"kind": "Review"}, "verbs": ["create"]},
            {"resource": "odd", "responseKind": null}]}]}]"#;
        let groups: Vec<Group> = serde_json::from_str(groups).unwrap();
        let moves = KindLabels { moves: true, ..KindLabels::default() };
        let kinds = merge(groups.into_iter(), Some(&BTreeMap::from([("bs.g.io".to_owned(), moves)])));
        let [a, b] = kinds.as_slice() else { panic!("{kinds:?}") };
        assert_eq!(
            (a.version.as_str(), a.served.as_slice()),
            ("v2", ["v2".to_owned(), "v1".to_owned()].as_slice())
        );
        assert!(a.status_subresource && a.namespaced && !a.labels.moves);
        assert_eq!((b.version.as_str(), b.plural.as_str()), ("v1", "bs"));
        assert!(!b.status_subresource && !b.namespaced && b.labels.moves);
    }

    #[test]
    fn labels_that_may_not_be_read_are_not_taken_for_none() {
        let groups = r#"[{"metadata": {"name": "g.io"}, "versions": [{"version": "v1", "resources": [
            {"resource": "as", "responseKind": {"kind": "A"}, "scope": "Namespaced", "verbs": ["list"]}]}]}]"#;
        let groups: Vec<Group> = serde_json::from_str(groups).unwrap();
        let kinds = merge(groups.into_iter(), None);
        assert!(kinds.iter().all(|kind| kind.labels.unread && !kind.labels.discover));
    }
}
