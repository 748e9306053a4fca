//! The target's definitions (CRDs) of the kinds that move.
//!
//! The host checks that a kind exists and is served. The labels on its definition decide more: Cluster API finds a provider's
//! objects only by the labels that name the contract, and the next move includes only objects whose kinds are labelled for it.

use std::collections::BTreeSet;

use pivot_sdk::objects::{self, Query};
use pivot_sdk::{Finding, Kind, Move, Object, Result, Side};

use crate::report::Report;
use crate::settings::Area;
use crate::{providers, status};

/// A definition.
pub(crate) const DEFINITION: Kind = Kind::new("apiextensions.k8s.io", "CustomResourceDefinition");
/// Labels for moves, as the host reads them.
const FOR_MOVES: [&str; 3] = [
    "clusterctl.cluster.x-k8s.io",
    "clusterctl.cluster.x-k8s.io/move",
    "clusterctl.cluster.x-k8s.io/move-hierarchy",
];
/// The prefix of labels that name a contract: `cluster.x-k8s.io/v1beta1: v1alpha1_v1beta1`.
const CONTRACT: &str = "cluster.x-k8s.io/v1";
/// A definition may be half a megabyte: don't keep all in memory at once.
const MAX_KINDS_PER_READ: usize = 4;

/// Compares the target's definitions with the source's.
pub(crate) fn check_definitions(moving: &Move, report: &mut Report<'_>) -> Result<()> {
    let kinds: BTreeSet<&Kind> = moving.objects.iter().map(|key| &key.kind).collect();
    let kinds: Vec<&Kind> = kinds.into_iter().collect();
    for some in kinds.chunks(MAX_KINDS_PER_READ) {
        let mut queries = Vec::new();
        for kind in some {
            for side in Side::BOTH {
                queries.extend(definition_names(kind).map(|name| {
                    Query::for_object(side, &DEFINITION.cluster_scoped_key(name)).in_all_namespaces()
                }));
            }
        }
        let mut found = Vec::new();
        for (query, answer) in queries.iter().zip(objects::read_all(&queries)) {
            let objects =
                providers::report_if_unreadable(answer, Area::Definitions, query.side, &DEFINITION, report)?;
            found.extend(objects.into_iter().map(|object| (query.side, object)));
        }
        for kind in some {
            let of = |side| {
                let defines = |object: &Object| {
                    object.text("/spec/group") == Some(&*kind.group)
                        && object.text("/spec/names/kind") == Some(&*kind.kind)
                };
                found.iter().find(|(at, object)| *at == side && defines(object)).map(|(_, object)| object)
            };
            if let Some(target) = of(Side::Target) {
                check_definition(kind, of(Side::Source), target, report);
            }
        }
    }
    Ok(())
}

fn check_definition(kind: &Kind, source: Option<&Object>, target: &Object, report: &mut Report<'_>) {
    let mut add = |finding: Finding| report.add_finding(Area::Definitions, finding.on_object(target));
    if target.is_being_deleted() {
        let message = format!("the target is removing its definition of {kind}, with all objects");
        add(Finding::stop("crd-being-deleted", message)
            .with_remedy("find out who removes it, and install its provider again"));
        return;
    }
    if status::condition_status(target, "Established") == "False" {
        let message = format!("the target does not serve {kind} yet");
        let finding = Finding::wait("crd-not-established", message).with_remedy(status::SEE_CONDITIONS);
        add(status::with_describe_command(finding, Side::Target, target));
    }
    let Some(source) = source else { return };
    let contract = |object: &Object| object.labels().any(|(label, _)| label.starts_with(CONTRACT));
    if contract(source) && !contract(target) {
        let message = format!(
            "the target's definition of {kind} names no contract, so that Cluster API would not find its objects there"
        );
        let remedy = "install the provider there with clusterctl, or put the labels `cluster.x-k8s.io/v1…` of the source's \
                      definition on it";
        add(Finding::stop("crd-without-contract", message).with_remedy(remedy));
    }
    let missing: Vec<&str> = FOR_MOVES
        .into_iter()
        .filter(|label| source.label(label).is_some() && target.label(label).is_none())
        .collect();
    if !missing.is_empty() {
        let message = format!(
            "the target's definition of {kind} is not labelled for moves as the source's is: {}",
            missing.join(", ")
        );
        let words = ["label", "crd", target.name()].into_iter().map(str::to_owned);
        let labels = missing.iter().map(|label| format!("{label}="));
        add(Finding::warn("crd-not-labelled", message)
            .with_remedy("else the next move leaves such objects behind")
            .with_kubectl(Side::Target, words.chain(labels)));
    }
}

/// Returns possible names of a kind's definition: Cluster API requires regular plurals, and the other forms are as common.
fn definition_names(kind: &Kind) -> impl Iterator<Item = String> {
    let one = kind.kind.to_lowercase();
    let es = one.ends_with(['s', 'x']) || one.ends_with("ch") || one.ends_with("sh");
    let mut plurals = vec![if es { format!("{one}es") } else { format!("{one}s") }];
    plurals.extend(one.strip_suffix('y').map(|stem| format!("{stem}ies")));
    // Kinds that are plural already: Data, Settings.
    plurals.push(one);
    let group = kind.group.clone();
    plurals.into_iter().map(move |plural| format!("{plural}.{group}"))
}
