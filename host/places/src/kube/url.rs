//! Paths and queries of the Kubernetes API.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use pivot_core::objects::names::FIELD_MANAGER;
use pivot_core::{Key, Kind};
use serde_json::Value;

use crate::place::{Change, PlaceError, Result, ServicePath};

/// Characters that need no escape in a path segment or a query value.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes one path segment or query value.
pub(super) fn escape_segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// Returns the path of a kind's collection: in one namespace, or in all.
pub(super) fn collection_path(kind: &Kind, namespace: Option<&str>) -> String {
    let group = &kind.group_kind.group;
    let mut path =
        if group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", escape_segment(group)) };
    path.push('/');
    path.push_str(&escape_segment(&kind.version));
    if let (true, Some(namespace)) = (kind.namespaced, namespace) {
        path.push_str("/namespaces/");
        path.push_str(&escape_segment(namespace));
    }
    path.push('/');
    path.push_str(&escape_segment(&kind.plural));
    path
}

/// Returns the path of an object.
pub(super) fn object_path(kind: &Kind, key: &Key) -> Result<String> {
    // An empty segment would name the collection: deleting one object would become deleting all.
    if key.name.is_empty() {
        return Err(PlaceError::Invalid(format!("{} without a name", kind.group_kind)));
    }
    let namespace = resolve_namespace(kind, key.namespace.as_deref())?;
    Ok(format!("{}/{}", collection_path(kind, namespace), escape_segment(&key.name)))
}

/// Returns the path where an object is created.
pub(super) fn creation_path(kind: &Kind, body: &Value) -> Result<String> {
    let namespace = body.pointer("/metadata/namespace").and_then(Value::as_str);
    Ok(collection_path(kind, resolve_namespace(kind, namespace)?))
}

/// Returns the query of a write.
pub(super) fn write_query(change: Change) -> String {
    let dry_run = match change {
        Change::Real => "",
        Change::DryRun => "&dryRun=All",
    };
    format!("?fieldManager={FIELD_MANAGER}&fieldValidation=Strict{dry_run}")
}

/// Returns the path of a service behind the server. The path must not lead out of the service: `..`, in any encoding, would turn
/// a request to the service into one to the API server, with our credentials.
pub(super) fn service_path(service: &ServicePath) -> Result<String> {
    let ServicePath { namespace, service, port, path } = service;
    let (before, query) = path.split_once('?').unwrap_or((path, ""));
    let mut clean = String::new();
    for segment in before.split('/').filter(|segment| !segment.is_empty()) {
        let plain = percent_decode_str(segment).decode_utf8_lossy();
        if plain.contains(['/', '\\', '%']) || plain.chars().all(|c| c == '.') {
            return Err(PlaceError::Invalid(format!("{path:?} is not a plain path of a service")));
        }
        clean.push('/');
        clean.push_str(&escape_segment(&plain));
    }
    if before.ends_with('/') {
        clean.push('/');
    }
    let (namespace, name) = (escape_segment(namespace), escape_segment(service));
    let mut url =
        format!("/api/v1/namespaces/{namespace}/services/{name}:{}/proxy{clean}", escape_segment(port));
    if !query.is_empty() {
        url.push('?');
        url.push_str(&query.replace('#', ""));
    }
    Ok(url)
}

fn resolve_namespace<'a>(kind: &Kind, namespace: Option<&'a str>) -> Result<Option<&'a str>> {
    match namespace.filter(|namespace| !namespace.is_empty()) {
        None if kind.namespaced => {
            Err(PlaceError::Invalid(format!("{} without a namespace", kind.group_kind)))
        }
        _ if !kind.namespaced => Ok(None),
        namespace => Ok(namespace),
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::GroupKind;

    use super::*;
    use crate::testing::kind;

    // proves: T7
    #[test]
    fn service_paths_stay_within_the_service() {
        let at = |namespace: &str, port: &str, path: &str| ServicePath {
            namespace: namespace.to_owned(),
            service: "s".to_owned(),
            port: port.to_owned(),
            path: path.to_owned(),
        };
        let ask = |path| service_path(&at("n", "6385", path));
        assert_eq!(
            ask("/v1/drivers?a=b").unwrap(),
            "/api/v1/namespaces/n/services/s:6385/proxy/v1/drivers?a=b"
        );
        assert_eq!(ask("").unwrap(), "/api/v1/namespaces/n/services/s:6385/proxy");
        for path in ["/../../secrets", "v1/%2e%2e/x", "/a/..%2f..", "/a/%252e%252e/b", "/.", "/a\\..\\b"] {
            assert!(ask(path).is_err(), "{path}");
        }
        let name = at("../kube-system", "1", "");
        assert!(service_path(&name).unwrap().starts_with("/api/v1/namespaces/..%2Fkube-system/services/"));
    }

    #[test]
    fn paths_follow_group_scope_and_namespace() {
        let machine = kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", true);
        assert_eq!(collection_path(&machine, None), "/apis/cluster.x-k8s.io/v1beta2/machines");
        let key = Key::new(machine.group_kind.clone(), Some("a"), "m%/0");
        assert_eq!(
            object_path(&machine, &key).unwrap(),
            "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines/m%25%2F0"
        );
        let namespace = kind("", "v1", "Namespace", "namespaces", false);
        let key = Key::new(GroupKind::new("", "Namespace"), Some("ignored"), "a");
        assert_eq!(object_path(&namespace, &key).unwrap(), "/api/v1/namespaces/a");
    }

    // proves: T107
    #[test]
    fn object_paths_never_name_a_collection() {
        let machine = kind("cluster.x-k8s.io", "v1beta2", "Machine", "machines", true);
        for (namespace, name) in [(Some("a"), ""), (None, "m"), (Some(""), "m")] {
            let key = Key::new(machine.group_kind.clone(), namespace, name);
            assert!(matches!(object_path(&machine, &key), Err(PlaceError::Invalid(_))), "{key:?}");
        }
    }
}
