//! Converts the contract's types to the author's and back.

use super::bindings::{
    check::exports::pivot::provider::check, describe::exports::pivot::provider::describe,
    describe::pivot::provider::types, relate::exports::pivot::provider::relate,
};
use crate::{About, Error, Finding, Key, Kind, Kubectl, Problem, Relation, Severity, Side};

pub(super) fn error_to_wit(error: Error) -> types::Error {
    types::Error { code: error.code.into_owned(), message: error.message }
}

pub(super) fn error_from_wit(error: types::Error) -> Error {
    Error { code: error.code.into(), message: error.message }
}

pub(super) fn side_to_wit(side: Side) -> types::Side {
    match side {
        Side::Source => types::Side::Source,
        Side::Target => types::Side::Target,
    }
}

pub(super) fn kind_to_wit(kind: Kind) -> types::Kind {
    types::Kind { group: kind.group.into_owned(), name: kind.kind.into_owned() }
}

/// None: the namespaces that move. Some: one, `*` for all.
pub(super) fn scope_to_wit(namespace: Option<String>) -> types::Scope {
    match namespace {
        None => types::Scope::Moving,
        Some(all) if all == "*" => types::Scope::All,
        Some(one) => types::Scope::One(one),
    }
}

pub(super) fn key_from_wit(key: types::ObjectKey) -> Key {
    let types::ObjectKey { kind: types::Kind { group, name: kind }, namespace, name } = key;
    Key { kind: Kind::from_parts(group, kind), namespace, name }
}

fn key_to_wit(key: Key) -> types::ObjectKey {
    types::ObjectKey { kind: kind_to_wit(key.kind), namespace: key.namespace, name: key.name }
}

pub(super) fn finding_to_wit(finding: Finding) -> check::Finding {
    let severity = match finding.severity {
        Severity::Note => check::Severity::Note,
        Severity::Warn => check::Severity::Warn,
        Severity::Wait => check::Severity::Wait,
        Severity::Stop => check::Severity::Stop,
    };
    check::Finding { severity, problem: problem_to_wit(finding.problem) }
}

pub(super) fn problem_to_wit(problem: Problem) -> types::Problem {
    let Problem { code, message, objects, remedy, command } = problem;
    let command =
        command.map(|Kubectl { side: of, arguments }| types::Kubectl { side: side_to_wit(of), arguments });
    types::Problem {
        code: code.into_owned(),
        message,
        objects: objects.into_iter().map(key_to_wit).collect(),
        remedy,
        command,
        extra: Vec::new(),
    }
}

pub(super) fn relation_to_wit(relation: Relation) -> relate::Relation {
    match relation {
        Relation::Link(key) => relate::Relation::Link(key_to_wit(key)),
        Relation::Need(key) => relate::Relation::Need(key_to_wit(key)),
        Relation::Share(key) => relate::Relation::Share(key_to_wit(key)),
        Relation::Leave(reason) => relate::Relation::Leave(reason),
        Relation::Keep(reason) => relate::Relation::Keep(reason),
    }
}

pub(super) fn description_to_wit(about: About) -> describe::Description {
    let About {
        name,
        version,
        summary,
        kinds,
        versions,
        reach,
        changes,
        reads,
        probes,
        secret_data,
        codes,
        extra,
    } = about;
    let seen = kinds.into_iter().map(|kind| {
        let understood = versions.iter().filter(|one| one.kind == kind);
        let understood = understood.flat_map(|one| one.versions.iter().cloned()).collect();
        describe::SeenKind { kind: kind_to_wit(kind), versions: understood }
    });
    let reached = reach.into_iter().map(|reach| describe::Reach {
        kind: kind_to_wit(reach.kind),
        namespace: Some(reach.namespace).filter(|namespace| namespace != "*"),
        deletes: reach.delete,
    });
    let changes = changes.into_iter().map(|change| describe::Change {
        hook: change.hook.as_str().to_owned(),
        kind: kind_to_wit(change.kind),
    });
    let reads = reads.into_iter().map(|read| describe::Read {
        kind: kind_to_wit(read.kind),
        side: side_to_wit(read.side),
        scope: scope_to_wit(read.namespace),
    });
    describe::Description {
        name,
        version,
        summary,
        kinds: seen.collect(),
        reach: reached.collect(),
        changes: changes.collect(),
        reads: reads.collect(),
        probes,
        secret_data,
        codes,
        extra,
    }
}
