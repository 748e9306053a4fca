//! Checks whether the target serves the kinds of the set, in a version that both sides serve (W21: the peer finds out only after
//! pausing the source).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::discovery::inventory::Inventory;
use crate::messages::refusal::{Refusal, some_of};
use crate::plan::Plan;
use crate::{GroupKind, Key, Kind};

const UPGRADE: &str = "bring the provider to the same release on both sides: `clusterctl upgrade apply`";
const CONVERT_FILES: &str = "restore the files into a management cluster that serves this version, and move the Clusters from there into \
    this target";

/// Checks every kind of the set against the target's. Files have only the version in which they were written, because no server
/// converts them.
pub fn check_served_versions(
    plan: &Plan,
    inventory: &Inventory,
    target_kinds: &[Arc<Kind>],
    are_files: bool,
) -> Vec<Refusal> {
    let targets: BTreeMap<&GroupKind, &Kind> =
        target_kinds.iter().map(|kind| (&kind.group_kind, kind.as_ref())).collect();
    let mut seen = BTreeSet::new();
    let mut refusals = Vec::new();
    // By group: a missing provider is one problem, not one for each of its kinds.
    let mut missing: BTreeMap<&str, (&Key, Vec<&str>)> = BTreeMap::new();
    for step in &plan.steps {
        let Some(source) = inventory.get(step.object).map(|object| &object.kind) else { continue };
        // Files may have a kind in several versions.
        if !seen.insert((&source.group_kind, &source.version)) {
            continue;
        }
        let kind = &source.group_kind;
        match targets.get(kind) {
            None => missing.entry(&kind.group).or_insert((&step.key, Vec::new())).1.push(&kind.kind),
            Some(target) if common_version(source, target).is_none() => {
                let (key, ours, theirs) = (&step.key, list_versions(source), list_versions(target));
                let (have, remedy) = if are_files {
                    ("the files have", CONVERT_FILES)
                } else {
                    ("the source serves", UPGRADE)
                };
                let message = format!(
                    "{key} can't be created: {have} {kind} as {ours}, the target serves it as {theirs}"
                );
                let refusal = Refusal::target("version-not-served", message, remedy);
                refusals.push(Refusal { object: Some(key.clone()), ..refusal });
            }
            Some(_) => {}
        }
    }
    for (group, (first, kinds)) in missing {
        let kinds = some_of(&kinds, 8);
        let message = format!("{first} can't be created: the target has no {kinds} of {group}");
        let install = "install the provider that defines it in the target: `clusterctl init`";
        let refusal = Refusal::target("kind-missing", message, install);
        refusals.push(Refusal { object: Some(first.clone()), ..refusal });
    }
    refusals
}

/// The version to read in the source and write in the target: the source's preferred one if the target serves it, else the first
/// that both serve.
pub fn common_version(source: &Kind, target: &Kind) -> Option<String> {
    std::iter::once(&source.version)
        .chain(&source.served)
        .find(|version| **version == target.version || target.served.contains(version))
        .cloned()
}

fn list_versions(kind: &Kind) -> String {
    if kind.served.is_empty() { kind.version.clone() } else { kind.served.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, kind};

    fn serving(name: &str, version: &str, served: &[&str]) -> Kind {
        let served = served.iter().map(|version| (*version).to_owned()).collect();
        Kind { version: version.into(), served, ..Kind::clone(&kind(name)) }
    }

    #[test]
    fn preferred_version_of_the_source_wins() {
        let source = serving("Cluster", "v1beta2", &["v1beta2", "v1beta1", "v1alpha4"]);
        for (target, common) in [
            (serving("Cluster", "v1", &["v1", "v1beta2"]), Some("v1beta2")),
            (serving("Cluster", "v1beta1", &["v1beta1", "v1alpha4"]), Some("v1beta1")),
            (serving("Cluster", "v1beta1", &[]), Some("v1beta1")),
            (serving("Cluster", "v1", &["v1"]), None),
        ] {
            assert_eq!(common_version(&source, &target).as_deref(), common);
        }
    }

    // proves: D14, W21
    #[test]
    fn w21_missing_versions_are_refused_once() {
        let case = Case::new(
            "Cluster ns/a
             Cluster ns/b
             Machine ns/m < Cluster ns/a
             InfraMachine ns/m < Machine ns/m
             InfraCluster ns/a < Cluster ns/a
             Widget ns/stays",
        );
        let target = [kind("Cluster"), Arc::new(serving("Machine", "v2", &["v2", "v3"]))];
        let refusals = check_served_versions(&case.plan(), &case.inventory, &target, false);
        let told: Vec<String> = refusals.iter().map(Refusal::to_string).collect();
        expect_test::expect![[r#"
            target: Machine ns/m can't be created: the source serves Machine.cluster.x-k8s.io as v1beta2, the target serves it as v2, v3; bring the provider to the same release on both sides: `clusterctl upgrade apply`
            target: InfraCluster ns/a can't be created: the target has no InfraCluster and InfraMachine of infrastructure.cluster.x-k8s.io; install the provider that defines it in the target: `clusterctl init`"#]].assert_eq(&told.join("\n"));

        let files = check_served_versions(&case.plan(), &case.inventory, &target, true);
        let text = files.first().map(Refusal::to_string).unwrap();
        assert!(text.contains("the files have Machine") && text.contains("restore the files into"), "{text}");
    }
}
