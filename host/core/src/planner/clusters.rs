//! The Cluster under which a plan shows each object: the Cluster that it belongs to, or else the Cluster that its label names.
//! Hosts belong to no Cluster. Their label names the Cluster that uses them.

use std::collections::BTreeMap;

use crate::Key;
use crate::discovery::implicit_links::is_cluster;
use crate::discovery::inventory::Inventory;
use crate::objects::names::LABEL_CLUSTER;
use crate::plan::{Step, Why};

/// Sets the Cluster of each step that has one.
pub(super) fn set_clusters(steps: &mut [Step], inventory: &Inventory) {
    let clusters = steps.iter().filter(|step| is_cluster(&step.key.group_kind));
    let by_name: BTreeMap<(Option<&str>, &str), &Key> =
        clusters.map(|step| ((step.key.namespace.as_deref(), step.key.name.as_str()), &step.key)).collect();
    let mut of: Vec<Option<&Key>> = Vec::with_capacity(steps.len());
    let mut by_key: BTreeMap<&Key, Option<&Key>> = BTreeMap::new();
    for step in &*steps {
        let own = || is_cluster(&step.key.group_kind).then_some(&step.key);
        let above = || step.after.iter().find_map(|before| of.get(*before).copied().flatten());
        let labelled = || {
            let name = inventory.get(step.object)?.meta.labels.get(LABEL_CLUSTER)?;
            by_name.get(&(step.key.namespace.as_deref(), name.as_str())).copied()
        };
        let cluster = own().or_else(above).or_else(labelled);
        of.push(cluster);
        by_key.insert(&step.key, cluster);
    }
    // An object may come before the one that needs it.
    let needed = |step: &Step| match &step.why {
        Why::Below(other) | Why::Needed { by: other, .. } | Why::AddedByPlugin { with: other, .. } => {
            by_key.get(other).copied().flatten()
        }
        // Others may refer to it as well.
        Why::Root | Why::Labelled | Why::AlsoCopied | Why::FromManifest { .. } | Why::Referred(_) => None,
    };
    let of: Vec<Option<Key>> =
        steps.iter().zip(of).map(|(step, cluster)| cluster.or_else(|| needed(step)).cloned()).collect();
    for (step, cluster) in steps.iter_mut().zip(of) {
        step.cluster = cluster;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Case;

    #[test]
    fn objects_are_shown_with_their_cluster() {
        let plan = Case::new(
            "ClusterClass ns/quick
             Cluster ns/foo ! class=ns/quick
             Machine ns/m < Cluster ns/foo
             InfraMachine ns/m < Machine ns/m
             Pool ns/host ! of=foo
             Secret ns/bmc < Pool ns/host
             Pool ns/spare ! of=gone
             Pool other/host ! of=foo",
        )
        .plan();
        let mut shown: Vec<String> = plan
            .steps
            .iter()
            .map(|step| {
                format!("{}: {}", step.key, step.cluster.as_ref().map_or("-", |key| key.name.as_str()))
            })
            .collect();
        shown.sort();
        assert_eq!(
            shown,
            [
                "Cluster ns/foo: foo",
                "ClusterClass ns/quick: -",
                "InfraMachine ns/m: foo",
                "Machine ns/m: foo",
                "Pool ns/host: foo",
                "Pool ns/spare: -",
                "Pool other/host: -",
                "Secret ns/bmc: foo",
            ]
        );
    }
}
