//! The access that a request of a link asks for, as the equivalent request to an API server.

use std::borrow::Cow;

use pivot_core::{Key, Kind};
use pivot_places::{Access, Change, STAND_IN_NAMESPACE};
use serde_json::Value;

use crate::link_request::LinkRequest;

pub(crate) use pivot_core::objects::names::STATE as OURS;

/// The access that a request asks for.
pub(crate) struct RequestedAccess {
    pub(crate) access: Access,
    /// The object, if it is about one.
    pub(crate) name: Option<String>,
    /// True if the server only validates an object in place of one whose namespace doesn't exist yet.
    pub(crate) stands_in: bool,
}

/// Returns true if a request changes nothing.
pub(crate) fn is_read_only(access: &Access) -> bool {
    matches!(&*access.verb, "get" | "list" | "watch")
}

/// Returns the access that a request asks for. Returns none for a request that is not about objects of a kind.
pub(crate) fn requested_access(ask: &LinkRequest) -> Option<RequestedAccess> {
    let access_to = |verb: &'static str, kind: &Kind, namespace: Option<&str>, name: Option<&str>| {
        Some(RequestedAccess {
            access: Access {
                verb: Cow::Borrowed(verb),
                group: kind.group_kind.group.clone(),
                resource: kind.plural.clone(),
                subresource: Cow::Borrowed(""),
                // A kind that says it is in none has a path without one, whatever namespace is named.
                namespace: namespace.filter(|_| kind.namespaced).map(str::to_owned),
            },
            name: name.map(str::to_owned),
            stands_in: false,
        })
    };
    let access_to_object =
        |verb, kind, key: &Key| access_to(verb, kind, key.namespace.as_deref(), Some(&key.name));
    match ask {
        LinkRequest::List { kind, namespace }
        | LinkRequest::ListMeta { kind, namespace }
        | LinkRequest::ListIdentities { kind, namespace } => {
            access_to("list", kind, namespace.as_deref(), None)
        }
        LinkRequest::ListLabelled { kind, namespace, .. } => access_to("list", kind, Some(namespace), None),
        LinkRequest::Watch { kind, namespace, .. } => access_to("watch", kind, namespace.as_deref(), None),
        LinkRequest::Get { kind, key } => access_to_object("get", kind, key),
        LinkRequest::Patch { kind, key, .. } => access_to_object("patch", kind, key),
        LinkRequest::Delete { kind, key, .. } => access_to_object("delete", kind, key),
        LinkRequest::Create { kind, body, change } => {
            let metadata =
                |name| body.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str);
            let requested = access_to("create", kind, metadata("namespace"), metadata("name"));
            requested.map(|deed| {
                let stands_in = deed.access.namespace.as_deref() == Some(STAND_IN_NAMESPACE);
                RequestedAccess { stands_in: stands_in && *change == Change::DryRun, ..deed }
            })
        }
        LinkRequest::Hello { .. }
        | LinkRequest::Identify
        | LinkRequest::Kinds
        | LinkRequest::Learn { .. }
        | LinkRequest::Open { .. }
        | LinkRequest::Close { .. }
        | LinkRequest::ProxyGet { .. }
        | LinkRequest::Denied { .. } => None,
    }
}
