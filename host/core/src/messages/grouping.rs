//! Findings about many objects in one line: `6 Machines: ns/m0, ns/m1, ns/m2, … and 3 more`.
//!
//! A wait, a finding and a refusal are each about one object, and 150 of them may be alike. If their texts differ only in the
//! name of the object, people see one group. Documents list every object.

use std::collections::{BTreeMap, BTreeSet};

use crate::{GroupKind, Key};

/// Maximum number of names in a line for people.
pub const MAX_LISTED_NAMES: usize = 3;

/// Items with the same text about objects of one kind.
#[derive(Clone, Debug)]
pub struct Group<'a, T> {
    /// First item of the group.
    pub first: &'a T,
    /// All items.
    pub items: Vec<&'a T>,
    /// Object of the first item.
    object: Option<&'a Key>,
    /// Objects of all items, each once.
    pub objects: BTreeSet<&'a Key>,
}

/// Groups items with the same text. `about` returns the object and text of each item. Groups are in order of first appearance.
pub fn group_items<'a, T>(
    items: impl IntoIterator<Item = &'a T>,
    about: impl Fn(&'a T) -> (Option<&'a Key>, Vec<String>),
) -> Vec<Group<'a, T>> {
    let mut seen: BTreeMap<(Option<&GroupKind>, Vec<String>), usize> = BTreeMap::new();
    let mut groups: Vec<Group<'a, T>> = Vec::new();
    for item in items {
        let (object, mut words) = about(item);
        if let Some(object) = object {
            words.iter_mut().for_each(|words| *words = remove_names(words, object));
        }
        let same = (object.map(|object| &object.group_kind), words);
        let at = *seen.entry(same).or_insert_with(|| {
            groups.push(Group { first: item, items: Vec::new(), object, objects: BTreeSet::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(at) {
            group.items.push(item);
            group.objects.extend(object);
        }
    }
    groups
}

impl<T> Group<'_, T> {
    /// Returns `what` in a line that names the objects, or the first `most` of them.
    pub fn line(&self, what: &str, most: usize) -> String {
        let Some(first) = self.object else { return what.to_owned() };
        let others = self.others();
        match (contains_name(what, first), others.is_empty()) {
            (true, true) => what.to_owned(),
            (true, false) => format!("{what} (also {})", format_objects(&others, most)),
            (false, true) => format!("{first}: {what}"),
            (false, false) => {
                let all: Vec<&Key> = self.objects.iter().copied().collect();
                format!("{what} ({})", format_objects(&all, most))
            }
        }
    }

    /// Returns all objects except that of the first item.
    pub fn others(&self) -> Vec<&Key> {
        self.objects.iter().copied().filter(|object| Some(*object) != self.object).collect()
    }
}

/// Formats objects of one kind: `Machine ns/m`, `2 Machines: ns/m0, ns/m1`, or the first `most` names and the number of the
/// others.
pub fn format_objects(objects: &[&Key], most: usize) -> String {
    let [first, _, ..] = objects else {
        return objects.first().map(ToString::to_string).unwrap_or_default();
    };
    // Another name takes no more room than "and 1 more".
    let shown = if objects.len() <= most.saturating_add(1) { objects.len() } else { most };
    let names: Vec<String> = objects.iter().take(shown).map(|key| namespaced_name(key)).collect();
    let more = match objects.len() - shown {
        0 => String::new(),
        more => format!(", … and {} more", format_number(more)),
    };
    let (number, kind) = (format_number(objects.len()), plural_kind(&first.group_kind.kind));
    format!("{number} {kind}: {}{more}", names.join(", "))
}

/// Returns the plural of a kind: `Machines`, `ClusterClasses`, `Policies`.
pub fn plural_kind(kind: &str) -> String {
    let consonant = |c: char| !"aeiou".contains(c.to_ascii_lowercase());
    match kind.strip_suffix('y') {
        Some(stem) if stem.ends_with(consonant) => format!("{stem}ies"),
        _ if kind.ends_with("Data") => kind.to_owned(),
        _ if ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

/// Formats a number for people: `1,032`.
pub fn format_number(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn namespaced_name(key: &Key) -> String {
    match &key.namespace {
        Some(namespace) => format!("{namespace}/{}", key.name),
        None => key.name.clone(),
    }
}

/// Returns true for a character that occurs in names, or in a name with its namespace.
fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || "-._/".contains(c)
}

fn contains_name(words: &str, object: &Key) -> bool {
    let name = namespaced_name(object);
    words.split(|c| !is_name_char(c)).any(|word| word == name)
}

/// Replaces its object's name in a text, along with its namespace if that belongs to the name, as in `ns/name` or in a command
/// (`-n ns`). A namespace alone stays: the same statement about another namespace is another fact.
pub fn remove_names(words: &str, object: &Key) -> String {
    let full = namespaced_name(object);
    let mut out = String::with_capacity(words.len());
    let mut of_flag = false;
    for part in words.split_inclusive(|c| !is_name_char(c)) {
        let word = part.trim_end_matches(|c| !is_name_char(c));
        let end = part.get(word.len()..).unwrap_or_default();
        let in_command = of_flag && Some(word) == object.namespace.as_deref();
        let own = word == full || word == object.name || in_command;
        of_flag = word.starts_with('-');
        out.push_str(if own && !word.is_empty() { "…" } else { word });
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(name: &str) -> Key {
        Key::new(GroupKind::new("cluster.x-k8s.io", "Machine"), Some("ns"), name)
    }

    fn lines(said: &[(Option<Key>, &str)], most: usize) -> Vec<String> {
        let groups = group_items(said, |(object, what)| (object.as_ref(), vec![(*what).to_owned()]));
        groups.iter().map(|group| group.line(group.first.1, most)).collect()
    }

    #[test]
    fn one_line_names_many_objects() {
        let of = |count: usize| -> Vec<(Option<Key>, &str)> {
            (0..count).map(|n| (Some(machine(&format!("c1-m{n}"))), "not paused yet")).collect()
        };
        assert_eq!(lines(&of(1), 2), ["Machine ns/c1-m0: not paused yet"]);
        assert_eq!(lines(&of(3), 2), ["not paused yet (3 Machines: ns/c1-m0, ns/c1-m1, ns/c1-m2)"]);
        assert_eq!(lines(&of(6), 2), ["not paused yet (6 Machines: ns/c1-m0, ns/c1-m1, … and 4 more)"]);
        let thousands = lines(&of(1_500), MAX_LISTED_NAMES);
        assert_eq!(thousands.len(), 1);
        assert!(thousands[0].starts_with("not paused yet (1,500 Machines: "), "{thousands:?}");
        assert!(thousands[0].ends_with(", … and 1,497 more)"), "{thousands:?}");
        assert_eq!(lines(&of(6), usize::MAX)[0].matches("ns/c1-m").count(), 6);
    }

    #[test]
    fn messages_that_differ_by_name_are_grouped() {
        let cluster = |name: &str| Key::new(GroupKind::new("g", "Cluster"), Some("ns"), name);
        let said = [
            (Some(machine("a")), "Machine ns/a has no node; `kubectl get -n ns machine.g a`"),
            (Some(machine("b")), "Machine ns/b has no node; `kubectl get -n ns machine.g b`"),
            (Some(machine("b")), "Machine ns/b has no node; `kubectl get -n ns machine.g b`"),
            (Some(machine("c")), "Machine ns/c has no disk"),
            (Some(cluster("a")), "it has no node"),
            (Some(machine("d")), "namespace ns has no d"),
            (Some(Key { namespace: Some("other".into()), ..machine("e") }), "namespace other has no e"),
            (None, "rain"),
            (None, "rain"),
        ];
        assert_eq!(
            lines(&said, MAX_LISTED_NAMES),
            [
                "Machine ns/a has no node; `kubectl get -n ns machine.g a` (also Machine ns/b)",
                "Machine ns/c has no disk",
                "Cluster ns/a: it has no node",
                "Machine ns/d: namespace ns has no d",
                "Machine other/e: namespace other has no e",
                "rain",
            ]
        );
    }

    #[test]
    fn names_are_replaced_as_whole_words() {
        let object = Key::new(GroupKind::new("", "Node"), None, "a");
        assert_eq!(remove_names("a cat and a/b, a: a", &object), "… cat and a/b, …: …");
        assert_eq!(
            lines(&[(Some(object.clone()), "it has no cat")], MAX_LISTED_NAMES),
            ["Node a: it has no cat"]
        );
        assert_eq!(lines(&[(Some(object), "node a: rain")], MAX_LISTED_NAMES), ["node a: rain"]);
    }

    #[test]
    fn numbers_have_commas_and_kinds_plurals() {
        assert_eq!([0, 999, 1_000, 1_032_007].map(format_number), ["0", "999", "1,000", "1,032,007"]);
        let kinds =
            ["Machine", "ClusterClass", "Policy", "Proxy", "HardwareData", "Gateway"].map(plural_kind);
        assert_eq!(kinds, ["Machines", "ClusterClasses", "Policies", "Proxies", "HardwareData", "Gateways"]);
    }
}
