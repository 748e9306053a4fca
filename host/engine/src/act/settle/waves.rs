//! Splits the objects to settle into waves.

use std::collections::BTreeSet;

use pivot_core::records::release::{Entry, ReleaseList};

/// Returns the wanted entries in levels. No entry owns another one of its level. Owners are in an earlier level than their
/// dependents, even if the objects between them aren't wanted.
pub(super) fn split_into_levels(list: &ReleaseList, wanted: impl Fn(&Entry) -> bool) -> Vec<Vec<&Entry>> {
    let mut depths = vec![0; list.entries.len()];
    let mut levels: Vec<Vec<&Entry>> = Vec::new();
    // Owners come after their dependents in the list.
    for (index, entry) in list.entries.iter().enumerate().rev() {
        let depth = depths.get(index).copied().unwrap_or_default();
        let is_wanted = wanted(entry);
        for dependent in &entry.after {
            if let Some(below) = depths.get_mut(*dependent) {
                *below = (*below).max(depth + usize::from(is_wanted));
            }
        }
        if is_wanted {
            levels.resize_with(levels.len().max(depth + 1), Vec::new);
            levels.get_mut(depth).into_iter().for_each(|level| level.push(entry));
        }
    }
    levels
}

/// Moves the first item of each group to the front. Returns the number of groups.
pub(super) fn move_firsts_to_front<T, G: Ord>(items: &mut Vec<T>, group: impl Fn(&T) -> G) -> usize {
    let mut seen = BTreeSet::new();
    let (first, rest): (Vec<T>, Vec<T>) = items.drain(..).partition(|item| seen.insert(group(item)));
    items.extend(first);
    items.extend(rest);
    seen.len()
}

/// Number of objects in a wave: one at first, then twice as many each time, up to a limit.
#[derive(Debug)]
pub(super) struct WaveSize {
    limit: usize,
    size: usize,
}

impl WaveSize {
    /// Starts with one object of each group.
    pub(super) fn new(limit: usize, groups: usize) -> (Self, usize) {
        let limit = limit.max(1);
        (Self { limit, size: 1 }, groups.clamp(1, limit))
    }

    /// Returns the size of the next wave. A wave without any change proves nothing.
    pub(super) fn next(&mut self, failed: bool, released: bool) -> usize {
        self.size = match (failed, released) {
            (true, _) => 1,
            (false, true) => (self.size * 2).min(self.limit),
            (false, false) => self.size,
        };
        self.size
    }
}

#[cfg(test)]
mod tests {
    use pivot_core::records::release::{Pausing, ReleaseFate, ReleaseKind};
    use pivot_core::{GroupKind, Key, Uid};

    use super::*;

    /// Builds a list, dependents first. Each entry has the positions of its dependents.
    fn list(entries: &[(&str, &[usize])]) -> ReleaseList {
        let kind = std::sync::Arc::new(ReleaseKind {
            group_kind: GroupKind::new("x.io", "Host"),
            version: "v1".into(),
            plural: "hosts".into(),
        });
        let entry = |(name, after): &(&str, &[usize])| Entry {
            key: Key::new(kind.group_kind.clone(), Some("n"), *name),
            kind: kind.clone(),
            uid: Uid(format!("uid-{name}")),
            resource_version: "1".into(),
            fate: ReleaseFate::Delete,
            digest: None,
            with_status: false,
            pausing: Pausing::Held,
            used: false,
            brought: false,
            elsewhere: false,
            last: false,
            no_finalizers: false,
            after: after.to_vec(),
        };
        ReleaseList { entries: entries.iter().map(entry).collect() }
    }

    fn names(levels: &[Vec<&Entry>]) -> Vec<String> {
        let names =
            |level: &Vec<&Entry>| level.iter().map(|entry| entry.key.name.clone()).collect::<Vec<_>>();
        levels.iter().map(|level| names(level).join(" ")).collect()
    }

    #[test]
    fn owners_come_before_their_dependents() {
        let list = list(&[("leaf", &[]), ("plain", &[0]), ("alone", &[]), ("owner", &[1]), ("top", &[3, 0])]);
        assert_eq!(names(&split_into_levels(&list, |_| true)), ["top alone", "owner", "plain", "leaf"]);
        assert_eq!(
            names(&split_into_levels(&list, |entry| entry.key.name != "plain" && entry.key.name != "top")),
            ["owner alone", "leaf"]
        );
        assert_eq!(names(&split_into_levels(&list, |_| false)), [""; 0]);
    }

    #[test]
    fn each_group_has_one_item_in_front() {
        let mut items = vec!["a1", "a2", "b1", "a3", "c1", "b2"];
        assert_eq!(move_firsts_to_front(&mut items, |item| item.chars().next()), 3);
        assert_eq!(items, ["a1", "b1", "c1", "a2", "a3", "b2"]);
        assert_eq!(move_firsts_to_front(&mut Vec::<&str>::new(), |item| *item), 0);
    }

    #[test]
    fn waves_double_and_restart_after_a_failure() {
        let (mut pace, first) = WaveSize::new(6, 3);
        assert_eq!(first, 3);
        let well = [(false, true); 4].map(|(failed, released)| pace.next(failed, released));
        assert_eq!(well, [2, 4, 6, 6]);
        assert_eq!(pace.next(false, false), 6, "nothing was left to do");
        assert_eq!(pace.next(true, true), 1);
        assert_eq!(pace.next(false, false), 1);
        assert_eq!(pace.next(false, true), 2);
        assert_eq!(WaveSize::new(2, 9).1, 2, "no wave is larger than the limit");
    }
}
