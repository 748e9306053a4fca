//! Filters that select the objects whose conditions are shown, and the conditions to show.

use super::conditions::Condition;
use crate::Key;
use crate::request::validate::find_name_error;

/// A filter for all objects, objects of one kind, or one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Text as the user typed it.
    typed: String,
    /// Kind to select. None selects all objects.
    kind: Option<String>,
    /// Name to select. None selects all objects of the kind.
    name: Option<String>,
    /// Whether only conditions that are worth a look are shown.
    only_notable: bool,
}

impl Filter {
    /// Parses `all`, `Kind` or `Kind/name`, in any case. A trailing `+` omits conditions that are well. Returns None for any
    /// other text.
    pub fn parse(typed: &str) -> Option<Self> {
        let (selected, only_notable) = typed.strip_suffix('+').map_or((typed, false), |rest| (rest, true));
        let (kind, name) =
            selected.split_once('/').map_or((selected, None), |(kind, name)| (kind, Some(name)));
        let is_kind = !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric());
        if !is_kind || name.is_some_and(|name| find_name_error(name).is_some() || name.contains('+')) {
            return None;
        }
        let all = name.is_none() && kind.eq_ignore_ascii_case("all");
        Some(Self {
            typed: typed.to_owned(),
            kind: (!all).then(|| kind.to_owned()),
            name: name.map(str::to_owned),
            only_notable,
        })
    }

    /// Returns the text as the user typed it.
    pub fn as_typed(&self) -> &str {
        &self.typed
    }

    /// Returns true if the filter selects all objects.
    pub(super) fn is_all(&self) -> bool {
        self.kind.is_none()
    }

    pub(super) fn matches_object(&self, key: &Key) -> bool {
        let pairs = [(&self.kind, &key.group_kind.kind), (&self.name, &key.name)];
        pairs.iter().all(|(typed, own)| typed.as_ref().is_none_or(|typed| typed.eq_ignore_ascii_case(own)))
    }

    /// Returns the conditions of an object that the filter shows.
    pub(super) fn select_conditions(&self, conditions: &[Condition]) -> Vec<Condition> {
        let shown = conditions.iter().filter(|condition| !self.only_notable || condition.is_notable());
        shown.cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupKind;

    #[test]
    fn filter_matches_all_kind_or_object() {
        let key = |kind: &str, name: &str| Key::new(GroupKind::new("g", kind), Some("ns"), name);
        let selected = |typed: &str| {
            let filter = Filter::parse(typed).unwrap();
            let keys = [key("Machine", "m1"), key("Machine", "m2"), key("MachineSet", "m1")];
            let names = keys.iter().filter(|key| filter.matches_object(key));
            let names: Vec<String> =
                names.map(|key| format!("{}/{}", key.group_kind.kind, key.name)).collect();
            format!("{} {}", names.join(" "), filter.only_notable)
        };
        assert_eq!(selected("all"), "Machine/m1 Machine/m2 MachineSet/m1 false");
        assert_eq!(selected("ALL+"), "Machine/m1 Machine/m2 MachineSet/m1 true");
        assert_eq!(selected("machine"), "Machine/m1 Machine/m2 false");
        assert_eq!(selected("Machine/M1+"), "Machine/m1 true");
        assert_eq!(selected("all/m1"), " false");
        for odd in
            ["", "+", " all", "Machine ", "Machine/", "/m1", "a/b/c", "all++", "Machine+/m1", "\u{1b}[1m"]
        {
            assert_eq!(Filter::parse(odd), None, "{odd:?}");
        }
    }
}
