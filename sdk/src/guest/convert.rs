//! Converts the contract's types to the author's and back.

use super::bindings::{
    describe::exports::pivot::provider::describe, describe::pivot::provider::types,
    relate::exports::pivot::provider::relate,
};
use crate::{About, Error, Finding, Key, Kind, Namespace, Relation};

pub(super) fn error(error: Error) -> types::Error {
    types::Error { code: error.code.into_owned(), message: error.message }
}

pub(super) fn error_from(error: types::Error) -> Error {
    Error { code: error.code.into(), message: error.message }
}

pub(super) fn kind(kind: Kind) -> types::GroupKind {
    types::GroupKind { group: kind.group.into_owned(), kind: kind.kind.into_owned() }
}

pub(super) fn key(key: types::ObjectKey) -> Key {
    let types::ObjectKey { group, kind, namespace, name } = key;
    Key { kind: Kind::from_parts(group, kind), namespace, name }
}

fn key_to(key: Key) -> types::ObjectKey {
    let Key { kind: Kind { group, kind }, namespace, name } = key;
    types::ObjectKey { group: group.into_owned(), kind: kind.into_owned(), namespace, name }
}

pub(super) fn namespace(namespace: types::Namespace) -> Namespace {
    let types::Namespace { source, target } = namespace;
    Namespace { source, target }
}

pub(super) fn finding(finding: Finding) -> types::Finding {
    let Finding { severity, code, message, objects, remedy } = finding;
    types::Finding {
        severity: severity.as_str().to_owned(),
        code: code.into_owned(),
        message,
        objects: objects.into_iter().map(key_to).collect(),
        remedy,
    }
}

pub(super) fn relation(relation: Relation) -> relate::Relation {
    match relation {
        Relation::Link(key) => relate::Relation::Link(key_to(key)),
        Relation::Need(key) => relate::Relation::Need(key_to(key)),
        Relation::Leave(reason) => relate::Relation::Leave(reason),
        Relation::Keep(reason) => relate::Relation::Keep(reason),
    }
}

pub(super) fn about(about: About) -> describe::Description {
    let About { name, version, summary, kinds, reach, changes, reads, probes, secret_data, extra } = about;
    let reached = |reach: crate::Reach| describe::Reach {
        kind: kind(reach.kind),
        namespace: reach.namespace,
        delete: reach.delete,
    };
    let change = |change: crate::Change| describe::Change {
        hook: change.hook.as_str().to_owned(),
        // A change always has a hook with a side.
        side: change.hook.side().map_or("", |side| side.as_str()).to_owned(),
        kind: kind(change.kind),
    };
    let read = |read: crate::Read| describe::Read {
        kind: kind(read.kind),
        side: read.side.as_str().to_owned(),
        namespace: read.namespace,
    };
    describe::Description {
        name,
        version,
        summary,
        kinds: kinds.into_iter().map(kind).collect(),
        reach: reach.into_iter().map(reached).collect(),
        changes: changes.into_iter().map(change).collect(),
        reads: reads.into_iter().map(read).collect(),
        probes,
        secret_data,
        extra,
    }
}
