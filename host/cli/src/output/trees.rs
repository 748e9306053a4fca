//! The objects of a plan as trees: for each Cluster, its objects below their owners.

use std::collections::BTreeMap;

use pivot_core::Key;

use super::lines::count_text;
use super::text::Text;

/// An object in a tree.
pub(super) struct TreeRow<'a> {
    pub(super) key: &'a Key,
    pub(super) cluster: Option<&'a Key>,
    /// The indices of rows, all smaller, whose objects must exist first. The latest is the nearest owner.
    pub(super) after: &'a [usize],
    /// Remarks behind the name; empty if there are none.
    pub(super) remarks: String,
}

/// Draws a tree for each Cluster, by name, then the objects without a Cluster. `rows` are in the order of creation.
pub(super) fn draw_trees(rows: &[TreeRow<'_>]) -> Text {
    let mut clusters: BTreeMap<Option<&Key>, BTreeMap<Option<usize>, Vec<usize>>> = BTreeMap::new();
    for (index, row) in rows.iter().enumerate() {
        let is_beside =
            |before: &&usize| rows.get(**before).is_some_and(|owner| owner.cluster == row.cluster);
        let owner = row.after.iter().filter(is_beside).max().copied();
        clusters.entry(row.cluster).or_default().entry(owner).or_default().push(index);
    }
    let mut text = Text::default();
    let none = clusters.remove(&None);
    for (cluster, below) in clusters.into_iter().chain(none.map(|below| (None, below))) {
        text.gap();
        let count = count_text(below.values().map(Vec::len).sum(), "object");
        text.add_line(match cluster {
            Some(cluster) => format!("{cluster}, with {count}:"),
            None => format!("Of no Cluster, {count}:"),
        });
        draw_tree(&mut text, rows, &below);
    }
    text
}

/// Draws depth first, without recursion: a chain of owners can be long.
fn draw_tree(text: &mut Text, rows: &[TreeRow<'_>], below: &BTreeMap<Option<usize>, Vec<usize>>) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    let push = |open: &mut Vec<(usize, usize)>, parent: Option<usize>, depth: usize| {
        open.extend(below.get(&parent).into_iter().flatten().rev().map(|index| (*index, depth)));
    };
    push(&mut open, None, 1);
    while let Some((index, depth)) = open.pop() {
        let Some(row) = rows.get(index) else { continue };
        let remarks = if row.remarks.is_empty() { String::new() } else { format!("  ({})", row.remarks) };
        text.add_line(format!("{}{}{remarks}", "  ".repeat(depth), row.key));
        push(&mut open, Some(index), depth + 1);
    }
}
