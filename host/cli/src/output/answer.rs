//! The answers that the first screen of a page and the first lines of a saved plan have in common: which objects stay although moved
//! objects need them, and how long the source is paused.

use std::collections::BTreeSet;

use pivot_core::Key;
use pivot_core::checks::dangling::{ACCEPTED_DANGLING, WOULD_DANGLE};

/// An object that stays although moved objects need it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NeededObject<'a> {
    pub(super) object: &'a Key,
    /// The moved objects that need it; none if the user accepted that it stays.
    pub(super) by: BTreeSet<&'a Key>,
    pub(super) is_accepted: bool,
}

/// Finds the needed objects among problems, and among notes, each with its code and objects. `copied` are the objects that move.
pub(super) fn find_needed_objects<'a>(
    problems: impl IntoIterator<Item = (&'a str, Vec<&'a Key>)>,
    notes: impl IntoIterator<Item = (&'a str, Option<&'a Key>)>,
    copied: &BTreeSet<&Key>,
) -> Vec<NeededObject<'a>> {
    let dangling = problems.into_iter().filter(|(code, _)| *code == WOULD_DANGLE);
    let refused = dangling.filter_map(|(_, objects)| {
        let (object, users) = objects.split_first()?;
        let by = users.iter().copied().filter(|user| copied.contains(user)).collect();
        Some(NeededObject { object, by, is_accepted: false })
    });
    let accepted = notes.into_iter().filter(|(code, _)| *code == ACCEPTED_DANGLING);
    let accepted = accepted.filter_map(|(_, object)| {
        Some(NeededObject { object: object?, by: BTreeSet::new(), is_accepted: true })
    });
    refused.chain(accepted).collect()
}

/// Describes how long a move pauses the Clusters of its source. None if the source is a directory, where nothing runs.
pub(crate) fn describe_pause(source_runs: bool, target_runs: bool, handover: bool) -> Option<&'static str> {
    let words = match (target_runs, handover) {
        (true, _) => "from before the copy until the target takes over; the report has the time",
        (false, false) => "while they are copied, and unpaused afterwards; the report has the time",
        (false, true) => "from before the copy until the handover is finished or canceled",
    };
    source_runs.then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, name: &str) -> Key {
        Key::new(pivot_core::GroupKind::new("", kind), Some("ns"), name)
    }

    #[test]
    fn needed_object_names_its_moved_users() {
        let (secret, machine, identity) = (key("Secret", "s"), key("Machine", "m"), key("Identity", "i"));
        let copied = BTreeSet::from([&machine]);
        let problems =
            [("would-dangle", vec![&secret, &identity, &machine]), ("foreign", vec![&identity, &machine])];
        let notes = [("dangling-accepted", Some(&identity)), ("retired", Some(&machine))];
        let expected = [
            NeededObject { object: &secret, by: BTreeSet::from([&machine]), is_accepted: false },
            NeededObject { object: &identity, by: BTreeSet::new(), is_accepted: true },
        ];
        assert_eq!(find_needed_objects(problems, notes, &copied), expected);
    }

    #[test]
    fn only_a_running_source_is_paused() {
        assert_eq!(describe_pause(false, true, false), None);
        let texts = [(true, false), (false, false), (false, true)]
            .map(|(runs, handover)| describe_pause(true, runs, handover));
        assert!(texts[0].unwrap().contains("takes over"), "{texts:?}");
        assert!(texts[1].unwrap().contains("unpaused afterwards"), "{texts:?}");
        assert!(texts[2].unwrap().contains("handover"), "{texts:?}");
    }
}
