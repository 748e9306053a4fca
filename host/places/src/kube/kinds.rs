//! The kinds of a server: aggregated discovery and the labels of their definitions, three requests in total.
//!
//! The labels come from a metadata-only list of CustomResourceDefinitions; the definitions themselves are
//! megabytes of schema.

use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;

use pivot_core::objects::names;
use pivot_core::request::validate::find_definition_error;
use pivot_core::{GroupKind, Kind, KindLabels};
use serde::Deserialize;

use super::list;
use super::transport::{KubeRequest, METADATA, Transport};
use crate::place::{PlaceError, Result};

/// Newest first; servers older than 1.30 answer in the second format.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
/// Most kinds, times versions, of a server; a busy management cluster has about three hundred. Each is listed in each namespace
/// that moves.
const MAX_RESOURCES: usize = 10_000;
/// Odd kinds that are logged one by one.
const MAX_LOGGED_KINDS: usize = 5;
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

/// Returns every listable kind, ordered by group and kind.
pub(super) async fn discover_kinds(transport: &Transport) -> Result<Vec<Arc<Kind>>> {
    let (core, named, labels) = futures::join!(
        discover_groups(transport, "/api"),
        discover_groups(transport, "/apis"),
        read_definition_labels(transport)
    );
    let labels = match labels {
        Ok(labels) => Some(labels),
        // A target doesn't need them; a source is refused for it if they turn out to be needed.
        Err(PlaceError::Forbidden(reason)) => {
            tracing::debug!(reason, "CustomResourceDefinitions can't be listed");
            None
        }
        Err(error) => return Err(error),
    };
    merge_groups(core?.into_iter().chain(named?), labels.as_ref())
}

async fn discover_groups(transport: &Transport, path: &str) -> Result<Vec<Group>> {
    let about = format!("discover {path}");
    let ask = KubeRequest::get(path.to_owned(), about.clone()).with_accept(AGGREGATED);
    let body = transport.call(ask).await?;
    let discovery: Discovery = list::parse_json(&body, &about)?;
    if discovery.kind != "APIGroupDiscoveryList" {
        return Err(PlaceError::Unreadable(format!(
            "{about}: the API server has no aggregated discovery (Kubernetes 1.27 and later do)"
        )));
    }
    Ok(discovery.items.unwrap_or_default())
}

/// Reads the labels of the definitions, by `plural.group`.
async fn read_definition_labels(transport: &Transport) -> Result<BTreeMap<String, KindLabels>> {
    let about = "list CustomResourceDefinitions";
    let list =
        list::list_all(transport, DEFINITIONS, METADATA, about, &|raw| list::parse_meta(&raw, about)).await?;
    let mut out = BTreeMap::new();
    for meta in list.items {
        let labels = KindLabels {
            discover: meta.has_label(names::LABEL_DISCOVER),
            moves: meta.has_label(names::LABEL_MOVE),
            hierarchy: meta.has_label(names::LABEL_MOVE_HIERARCHY),
            unread: false,
        };
        out.insert(meta.name, labels);
    }
    Ok(out)
}

/// Returns one entry per group and kind, at the first version in which the group serves it: groups list their preferred version
/// first.
fn merge_groups(
    groups: impl Iterator<Item = Group>,
    labels: Option<&BTreeMap<String, KindLabels>>,
) -> Result<Vec<Arc<Kind>>> {
    let mut kinds = BTreeMap::new();
    let mut read = 0;
    for Group { metadata: Named { name: group }, versions } in groups {
        for Version { version, freshness, resources } in versions.into_iter().flatten() {
            if freshness == "Stale" {
                tracing::warn!(group, version, "this API's server does not answer: its kinds may be missing");
            }
            for resource in resources.into_iter().flatten() {
                read += 1;
                if read > MAX_RESOURCES {
                    return Err(PlaceError::Unreadable(format!(
                        "discovery: more than {MAX_RESOURCES} resources"
                    )));
                }
                add_resource(&mut kinds, &group, &version, resource, labels);
            }
        }
    }
    let (usable, odd): (Vec<Kind>, Vec<Kind>) =
        kinds.into_values().partition(|kind| find_definition_error(kind).is_none());
    // An aggregated server may return any name; used in a request, an odd one would lead elsewhere in the API.
    for odd in odd.iter().filter_map(find_definition_error).take(MAX_LOGGED_KINDS) {
        tracing::warn!(odd, "the API server serves what can't be a kind; it is left out");
    }
    if let Some(more) = odd.len().checked_sub(MAX_LOGGED_KINDS).filter(|more| *more > 0) {
        tracing::warn!(more, "the API server serves more of what can't be kinds; they are left out");
    }
    Ok(usable.into_iter().map(Arc::new).collect())
}

fn add_resource(
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
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn kinds_have_the_preferred_version() {
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
        let kinds =
            merge_groups(groups.into_iter(), Some(&BTreeMap::from([("bs.g.io".to_owned(), moves)]))).unwrap();
        let [a, b] = kinds.as_slice() else { panic!("{kinds:?}") };
        assert_eq!(
            (a.version.as_str(), a.served.as_slice()),
            ("v2", ["v2".to_owned(), "v1".to_owned()].as_slice())
        );
        assert!(a.status_subresource && a.namespaced && !a.labels.moves);
        assert_eq!((b.version.as_str(), b.plural.as_str()), ("v1", "bs"));
        assert!(!b.status_subresource && !b.namespaced && b.labels.moves);
    }

    fn serving(kinds: impl Iterator<Item = (String, &'static str)>) -> Vec<Group> {
        let resource =
            |(kind, plural)| json!({"resource": plural, "responseKind": {"kind": kind}, "verbs": ["list"]});
        let resources: Vec<Value> = kinds.map(resource).collect();
        let version = json!({"version": "v1", "resources": resources});
        serde_json::from_value(json!([{"metadata": {"name": "g.io"}, "versions": [version]}])).unwrap()
    }

    // proves: T105
    #[test]
    fn endless_kinds_are_refused() {
        let many = |count: usize| serving((0..count).map(|n| (format!("K{n}"), "ks")));
        assert_eq!(merge_groups(many(10_000).into_iter(), None).unwrap().len(), 10_000);
        assert!(matches!(merge_groups(many(10_001).into_iter(), None), Err(PlaceError::Unreadable(_))));
        // One kind, in that many versions.
        let same = serving((0..100_000).map(|_| ("K".to_owned(), "ks")));
        assert!(merge_groups(same.into_iter(), None).is_err());
    }

    // proves: T107
    #[test]
    fn kinds_with_odd_names_are_left_out() {
        let odd = [("../x", "xs"), ("X", "../secrets"), ("Y", ".."), ("a\0b", "as"), ("Good", "goods")];
        let kinds = merge_groups(
            serving(odd.into_iter().map(|(kind, plural)| (kind.to_owned(), plural))).into_iter(),
            None,
        );
        let kinds: Vec<String> = kinds.unwrap().iter().map(|kind| kind.group_kind.to_string()).collect();
        assert_eq!(kinds, ["Good.g.io"]);
    }

    #[test]
    fn unreadable_labels_differ_from_missing_ones() {
        let groups = r#"[{"metadata": {"name": "g.io"}, "versions": [{"version": "v1", "resources": [
            {"resource": "as", "responseKind": {"kind": "A"}, "scope": "Namespaced", "verbs": ["list"]}]}]}]"#;
        let groups: Vec<Group> = serde_json::from_str(groups).unwrap();
        let kinds = merge_groups(groups.into_iter(), None).unwrap();
        assert!(kinds.iter().all(|kind| kind.labels.unread && !kind.labels.discover));
    }
}
