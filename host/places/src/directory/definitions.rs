//! The kinds of a directory: defined in it, built in, or guessed.
//!
//! A definition in the directory takes precedence, then the manifest of the move that wrote it. Without either, a kind is guessed
//! from its objects: the plural by Kubernetes' own rule, the scope from whether they have a namespace, the status subresource
//! from whether they have a status (Cluster API's contract requires one). Such a kind takes part in discovery as if `clusterctl
//! init` had labelled it: its objects are in the directory to be moved.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::objects::names;
use pivot_core::request::validate::{find_definition_error, find_kind_error, find_version_error, fold_case};
use pivot_core::{GroupKind, Kind, KindLabels};
use serde::Deserialize;
use serde_json::Value;

use super::documents::FileDocument;
use super::{DirectoryError, Manifest};
use crate::builtin::builtin_kinds;

#[derive(Deserialize)]
struct Definition {
    #[serde(default)]
    metadata: Labelled,
    spec: Spec,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Labelled {
    labels: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Spec {
    group: String,
    names: Names,
    scope: String,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Names {
    kind: String,
    plural: String,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    #[serde(default)]
    served: bool,
    #[serde(default)]
    subresources: Subresources,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Subresources {
    status: Option<Value>,
}

/// Returns group and kind, and the version, of a document.
pub(super) fn kind_of(document: &FileDocument) -> Result<(GroupKind, String), DirectoryError> {
    let text = |field| document.body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return Err(document.error("no apiVersion and kind"));
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let group_kind = GroupKind::new(group, kind);
    match find_kind_error(&group_kind).or_else(|| find_version_error(version)) {
        Some(odd) => Err(document.error(odd)),
        None => Ok((group_kind, version.to_owned())),
    }
}

/// Returns the kinds of these documents and of the definitions among them.
pub(super) fn collect_kinds(
    documents: &[FileDocument],
    manifest: Option<&Manifest>,
) -> Result<BTreeMap<GroupKind, Arc<Kind>>, DirectoryError> {
    let mut kinds: BTreeMap<GroupKind, Kind> =
        builtin_kinds().into_iter().map(|kind| (kind.group_kind.clone(), kind)).collect();
    for kind in manifest.into_iter().flat_map(|manifest| &manifest.kinds) {
        kinds.insert(kind.group_kind.clone(), kind.clone());
    }
    let mut used: BTreeMap<GroupKind, BTreeSet<String>> = BTreeMap::new();
    for document in documents {
        let (group_kind, version) = kind_of(document)?;
        if group_kind.is("apiextensions.k8s.io", "CustomResourceDefinition") {
            let kind = parse_definition(document)?;
            kinds.insert(kind.group_kind.clone(), kind);
        }
        used.entry(group_kind).or_default().insert(version);
    }
    let mut folds: BTreeMap<_, GroupKind> =
        kinds.keys().map(|kind| (fold_case(kind), kind.clone())).collect();
    for document in documents {
        let (group_kind, version) = kind_of(document)?;
        let other = folds.entry(fold_case(&group_kind)).or_insert_with(|| group_kind.clone());
        if *other != group_kind {
            return Err(document.error(format!("{group_kind} differs from {other} only in case")));
        }
        kinds.entry(group_kind.clone()).or_insert_with(|| guess_kind(group_kind, version, &document.body));
    }
    for (group_kind, kind) in &mut kinds {
        // Objects are read in the version that the files have: nothing converts them.
        if let Some(versions) = used.get(group_kind)
            && let (Some(version), 1) = (versions.first(), versions.len())
        {
            kind.version.clone_from(version);
        }
    }
    Ok(kinds.into_iter().map(|(group_kind, kind)| (group_kind, Arc::new(kind))).collect())
}

fn parse_definition(document: &FileDocument) -> Result<Kind, DirectoryError> {
    let Definition { metadata, spec } = Definition::deserialize(&document.body)
        .map_err(|_| document.error("not a CustomResourceDefinition of apiextensions.k8s.io/v1"))?;
    let Spec { group, names: Names { kind, plural }, scope, versions } = spec;
    let status_subresource =
        versions.iter().any(|version| version.served && version.subresources.status.is_some());
    let mut served: Vec<String> =
        versions.into_iter().filter(|version| version.served).map(|version| version.name).collect();
    served.sort_by_cached_key(|version| Reverse(version_rank(version)));
    let Some(version) = served.first().cloned() else {
        return Err(document.error("a definition that serves no version"));
    };
    let labelled = |label| metadata.labels.contains_key(label);
    let kind = Kind {
        group_kind: GroupKind::new(group, kind),
        version,
        plural,
        namespaced: scope == "Namespaced",
        status_subresource,
        served,
        labels: KindLabels {
            unread: false,
            discover: labelled(names::LABEL_DISCOVER),
            moves: labelled(names::LABEL_MOVE),
            hierarchy: labelled(names::LABEL_MOVE_HIERARCHY),
        },
    };
    match find_definition_error(&kind) {
        Some(odd) => Err(document.error(odd)),
        None => Ok(kind),
    }
}

fn guess_kind(group_kind: GroupKind, version: String, body: &Value) -> Kind {
    let builtin = !group_kind.group.contains('.') || group_kind.group.ends_with(".k8s.io");
    Kind {
        plural: guess_plural(&group_kind.kind),
        namespaced: body.pointer("/metadata/namespace").is_some_and(|namespace| namespace != ""),
        status_subresource: body.get("status").is_some(),
        served: vec![version.clone()],
        labels: KindLabels { discover: !builtin, ..KindLabels::default() },
        group_kind,
        version,
    }
}

/// Guesses a plural as Kubernetes' `UnsafeGuessKindToResource` does.
fn guess_plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if name.ends_with('s') => format!("{name}es"),
        None => format!("{name}s"),
    }
}

/// Returns the rank of a version in Kubernetes' order: stable before beta before alpha, newer before older, others last.
fn version_rank(version: &str) -> (u8, u32, u32, Reverse<String>) {
    let other = || (0, 0, 0, Reverse(version.to_owned()));
    let Some(rest) = version.strip_prefix('v') else { return other() };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(digits);
    let (stability, minor) = match (rest, rest.strip_prefix("beta"), rest.strip_prefix("alpha")) {
        ("", _, _) => (3, "0"),
        (_, Some(minor), _) => (2, minor),
        (_, _, Some(minor)) => (1, minor),
        _ => return other(),
    };
    match (major.parse(), minor.parse()) {
        (Ok(major), Ok(minor)) => (stability, major, minor, Reverse(String::new())),
        _ => other(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_the_order_of_kubernetes() {
        let mut versions =
            ["foo10", "v1beta1", "v11alpha2", "v1", "v12alpha1", "v2", "foo1", "v10", "v3beta1"].to_vec();
        versions.sort_by_cached_key(|version| Reverse(version_rank(version)));
        assert_eq!(
            versions,
            ["v10", "v2", "v1", "v3beta1", "v1beta1", "v12alpha1", "v11alpha2", "foo1", "foo10"]
        );
    }

    #[test]
    fn plurals_follow_the_usual_rule() {
        let plurals = ["Machine", "IPAddress", "Policy", "ClusterClass"].map(guess_plural);
        assert_eq!(plurals, ["machines", "ipaddresses", "policies", "clusterclasses"]);
    }
}
