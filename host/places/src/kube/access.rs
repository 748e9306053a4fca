//! The permission that a request needs, as the API server's authorizer reads it from method and path.

use std::borrow::Cow;

use http::Method;
use percent_encoding::percent_decode_str;

use crate::place::Access;

/// Parts of a namespace's path that are its own, and no resource in it.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];
/// Group of questions that every user may ask, about their own permissions.
const ABOUT_ONESELF: &str = "authorization.k8s.io";

/// Returns the permission that a request needs; none for discovery, and for questions about oneself: every authenticated user has
/// those (`system:discovery`, `system:basic-user`).
pub(super) fn needed_access(method: &Method, path_and_query: &str) -> Option<Access> {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let mut parts: Vec<Cow<'_, str>> =
        path.trim_matches('/').split('/').map(|part| percent_decode_str(part).decode_utf8_lossy()).collect();
    let group = match parts.first().map(Cow::as_ref) {
        Some("api") => String::new(),
        Some("apis") if parts.len() > 2 => parts.remove(1).into_owned(),
        _ => return None,
    };
    let mut rest = parts.get(2..)?;
    let mut namespace = None;
    if let [first, name, more @ ..] = rest
        && first == "namespaces"
    {
        // A namespace is in itself: a role in it may let a user read it.
        namespace = Some(name.clone().into_owned());
        if more.first().is_some_and(|part| !OF_NAMESPACES.contains(&part.as_ref())) {
            rest = more;
        }
    }
    let resource = rest.first()?.clone().into_owned();
    let named = rest.len() > 1;
    let watches = query.split('&').any(|part| matches!(part, "watch=true" | "watch=1"));
    let verb = match (method.as_str(), named) {
        ("GET", true) => "get",
        ("GET", false) if watches => "watch",
        ("GET", false) => "list",
        ("POST", _) => "create",
        ("PUT", _) => "update",
        ("PATCH", _) => "patch",
        ("DELETE", true) => "delete",
        ("DELETE", false) => "deletecollection",
        _ => return None,
    };
    let subresource = rest.get(2).map_or(Cow::Borrowed(""), |part| Cow::Owned(part.clone().into_owned()));
    (group != ABOUT_ONESELF).then(|| Access { verb: verb.into(), group, resource, subresource, namespace })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_the_permission_of_their_path() {
        for (method, path, expected) in [
            ("GET", "/api/v1/nodes", Some("list nodes in the whole cluster")),
            ("GET", "/api/v1/namespaces?limit=500", Some("list namespaces in the whole cluster")),
            ("GET", "/api/v1/namespaces/kube-system", Some("get namespaces in namespace kube-system")),
            ("PATCH", "/api/v1/namespaces/a/status", Some("patch namespaces/status in namespace a")),
            ("GET", "/api/v1/namespaces/a/secrets/s%2Fx", Some("get secrets in namespace a")),
            (
                "GET",
                "/apis/cluster.x-k8s.io/v1beta2/namespaces/a/machines?watch=1&resourceVersion=7",
                Some("watch machines.cluster.x-k8s.io in namespace a"),
            ),
            (
                "GET",
                "/apis/cluster.x-k8s.io/v1beta2/machines",
                Some("list machines.cluster.x-k8s.io in the whole cluster"),
            ),
            (
                "PATCH",
                "/apis/metal3.io/v1alpha1/namespaces/a/baremetalhosts/h/status?fieldManager=x",
                Some("patch baremetalhosts.metal3.io/status in namespace a"),
            ),
            (
                "POST",
                "/apis/metal3.io/v1alpha1/namespaces/a/baremetalhosts?dryRun=All",
                Some("create baremetalhosts.metal3.io in namespace a"),
            ),
            ("DELETE", "/api/v1/namespaces/a", Some("delete namespaces in namespace a")),
            (
                "GET",
                "/api/v1/namespaces/a/services/s:80/proxy/v1/x",
                Some("get services/proxy in namespace a"),
            ),
            ("GET", "/apis", None),
            ("GET", "/api", None),
            ("GET", "/apis/metal3.io", None),
            ("GET", "/version", None),
            ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", None),
        ] {
            let method: Method = method.parse().unwrap();
            let found = needed_access(&method, path).map(|access| access.to_string());
            assert_eq!(found.as_deref(), expected, "{method} {path}");
        }
    }
}
