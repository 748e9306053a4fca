//! A plan by Cluster: how many objects of which kinds, how many hosts, how many problems.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::grouping::{format_number, plural_kind};
use pivot_core::plan::Plan;
use pivot_core::{GroupKind, Key};

use super::lines;
use super::reported::Reported;
use super::text::Text;

/// Most Clusters that are listed.
const CLUSTERS: usize = 40;
/// Most kinds in a row.
const KINDS: usize = 4;

/// Objects that move with one Cluster, or without any.
#[derive(Default)]
struct Row<'a> {
    kinds: BTreeMap<&'a GroupKind, usize>,
    problems: usize,
}

impl Row<'_> {
    fn cells(&self, cluster: Option<&Key>, all: bool) -> Vec<String> {
        let name = match cluster {
            Some(Key { namespace: Some(namespace), name, .. }) => format!("{namespace}/{name}"),
            Some(Key { name, .. }) => name.clone(),
            None => "(none)".to_owned(),
        };
        // This code knows no provider; by convention, kinds of hosts end in `Host`.
        let hosts = self.kinds.iter().filter(|(kind, _)| kind.kind.ends_with("Host"));
        let [objects, hosts] = [self.kinds.values().sum(), hosts.map(|(_, number)| *number).sum()];
        let numbers = [objects, hosts, self.problems].map(format_number);
        [vec![name], numbers.to_vec(), vec![self.kinds(all)]].concat()
    }

    /// `7 Machines, 7 Secrets, 3 KubeadmConfigs, 1 Cluster and 4 more kinds`
    fn kinds(&self, all: bool) -> String {
        let mut kinds: Vec<(&GroupKind, usize)> =
            self.kinds.iter().map(|(kind, number)| (*kind, *number)).collect();
        kinds.sort_by_key(|(_, number)| Reverse(*number));
        // Another kind is no longer than "and 1 more kind".
        let shown = if all || kinds.len() <= KINDS + 1 { kinds.len() } else { KINDS };
        let words = kinds.iter().take(shown).map(|(kind, number)| {
            let name = if *number == 1 { kind.kind.clone() } else { plural_kind(&kind.kind) };
            format!("{} {name}", format_number(*number))
        });
        let named = words.collect::<Vec<_>>().join(", ");
        match kinds.len() - shown {
            0 => named,
            more => format!("{named} and {more} more kinds"),
        }
    }
}

/// A row for each Cluster, by name, then one for objects without a Cluster.
pub(super) fn cluster_rows(plan: &Plan, reported: &Reported, all: bool) -> Text {
    let mut rows: BTreeMap<Option<&Key>, Row<'_>> = BTreeMap::new();
    for step in &plan.steps {
        *rows.entry(step.cluster.as_ref()).or_default().kinds.entry(&step.key.group_kind).or_default() += 1;
    }
    let of: BTreeMap<&Key, Option<&Key>> =
        plan.steps.iter().map(|step| (&step.key, step.cluster.as_ref())).collect();
    for refusal in &plan.refusals {
        let concerned: BTreeSet<Option<&Key>> =
            refusal.object.iter().chain(&refusal.others).filter_map(|key| of.get(key).copied()).collect();
        for cluster in concerned {
            rows.entry(cluster).or_default().problems += 1;
        }
    }
    for (cluster, stops) in reported.stops_by_cluster(plan) {
        rows.entry(cluster).or_default().problems += stops;
    }
    let none = rows.remove(&None);
    let more = if all { 0 } else { rows.len().saturating_sub(CLUSTERS) };
    // If not all fit, those with problems come first.
    let mut named: Vec<_> = rows.into_iter().collect();
    named.sort_by_key(|(_, row)| more > 0 && row.problems == 0);
    named.truncate(named.len() - more);
    let named = named.iter().map(|(cluster, row)| row.cells(*cluster, all));
    let rows: Vec<Vec<String>> = named.chain(none.map(|row| row.cells(None, all))).collect();
    let mut text = lines::format_columns(&["CLUSTER", "OBJECTS", "HOSTS", "PROBLEMS", "KINDS"], &rows);
    if more > 0 {
        text.add_line(format!("  and {} more Clusters; -v shows them", format_number(more)));
    }
    text
}
