//! What a question would do, as the request to the API server that it would become.

use std::borrow::Cow;

use pivot_core::{Key, Kind};
use pivot_places::{Access, Change, STAND_IN_NAMESPACE};
use serde_json::Value;

use crate::ask::Ask;

pub(crate) use pivot_core::names::STATE as OURS;

/// What a question would do.
pub(crate) struct Deed {
    pub(crate) access: Access,
    /// The object, if it is about one.
    pub(crate) name: Option<String>,
    /// Whether the server is only asked what it thinks of an object whose namespace doesn't exist yet.
    pub(crate) stands_in: bool,
}

/// Whether a request changes nothing.
pub(crate) fn reads(access: &Access) -> bool {
    matches!(&*access.verb, "get" | "list" | "watch")
}

/// What a question would do, if it is about objects of a kind.
pub(crate) fn deed(ask: &Ask) -> Option<Deed> {
    let deed = |verb: &'static str, kind: &Kind, namespace: Option<&str>, name: Option<&str>| {
        Some(Deed {
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
    let of = |verb, kind, key: &Key| deed(verb, kind, key.namespace.as_deref(), Some(&key.name));
    match ask {
        Ask::List { kind, namespace }
        | Ask::ListMeta { kind, namespace }
        | Ask::ListIdentities { kind, namespace } => deed("list", kind, namespace.as_deref(), None),
        Ask::ListLabelled { kind, namespace, .. } => deed("list", kind, Some(namespace), None),
        Ask::Watch { kind, namespace, .. } => deed("watch", kind, namespace.as_deref(), None),
        Ask::Get { kind, key } => of("get", kind, key),
        Ask::Patch { kind, key, .. } => of("patch", kind, key),
        Ask::Delete { kind, key, .. } => of("delete", kind, key),
        Ask::Create { kind, body, change } => {
            let metadata =
                |name| body.get("metadata").and_then(|metadata| metadata.get(name)).and_then(Value::as_str);
            let deed = deed("create", kind, metadata("namespace"), metadata("name"));
            let tried = |deed: &Deed| {
                *change == Change::DryRun && deed.access.namespace.as_deref() == Some(STAND_IN_NAMESPACE)
            };
            deed.map(|deed| Deed { stands_in: tried(&deed), ..deed })
        }
        Ask::Hello { .. }
        | Ask::Identify
        | Ask::Kinds
        | Ask::Learn { .. }
        | Ask::Open { .. }
        | Ask::Close { .. }
        | Ask::ProxyGet { .. }
        | Ask::Denied { .. } => None,
    }
}
