//! A plan by Cluster: how many objects of which kinds, how many hosts, how many problems.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use pivot_core::messages::grouping::{format_number, plural_kind};
use pivot_core::messages::refusal::Refusal;
use pivot_core::plan::Plan;
use pivot_core::records::saved_plan::{SavedPlan, SavedRefusal};
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
    let copied = plan.steps.iter().map(|step| (&step.key, step.cluster.as_ref()));
    let mut rows = ClusterRows::from_objects(copied);
    for group in Refusal::group_similar(&plan.refusals) {
        rows.add_problem(Refusal::objects_of_group(&group));
    }
    for group in reported.stop_groups() {
        rows.add_problem(group.objects.iter().copied());
    }
    rows.into_table(all)
}

/// Returns these rows for a saved plan.
pub(super) fn saved_cluster_rows(plan: &SavedPlan, all: bool) -> Text {
    let copied = plan.steps.iter().map(|step| (&step.object, step.cluster.as_ref()));
    let mut rows = ClusterRows::from_objects(copied);
    for group in SavedRefusal::group_similar(&plan.refusals) {
        rows.add_problem(group.items.iter().flat_map(|refusal| &refusal.objects));
    }
    rows.into_table(all)
}

/// Rows by Cluster, and the Cluster of each object.
struct ClusterRows<'a> {
    rows: BTreeMap<Option<&'a Key>, Row<'a>>,
    clusters: BTreeMap<&'a Key, Option<&'a Key>>,
}

impl<'a> ClusterRows<'a> {
    fn from_objects(copied: impl Iterator<Item = (&'a Key, Option<&'a Key>)>) -> Self {
        let clusters: BTreeMap<&Key, Option<&Key>> = copied.collect();
        let mut rows: BTreeMap<Option<&Key>, Row<'_>> = BTreeMap::new();
        for (key, cluster) in &clusters {
            *rows.entry(*cluster).or_default().kinds.entry(&key.group_kind).or_default() += 1;
        }
        Self { rows, clusters }
    }

    /// Counts a problem once for each Cluster of its objects.
    fn add_problem<'b>(&mut self, objects: impl Iterator<Item = &'b Key>) {
        let concerned: BTreeSet<Option<&Key>> =
            objects.filter_map(|key| self.clusters.get(key).copied()).collect();
        for cluster in concerned {
            self.rows.entry(cluster).or_default().problems += 1;
        }
    }

    fn into_table(mut self, all: bool) -> Text {
        let none = self.rows.remove(&None);
        let more = if all { 0 } else { self.rows.len().saturating_sub(CLUSTERS) };
        // If not all fit, those with problems come first.
        let mut named: Vec<_> = self.rows.into_iter().collect();
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
}
