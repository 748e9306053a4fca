//! A reason to refuse a move.
//!
//! Checks don't stop at the first finding: each returns all its refusals, so that users can fix everything in one go. A refusal
//! says what is wrong, with which object, on which side, and carries its remedies as values.

use std::fmt;

use serde::Serialize;

use crate::messages::grouping::{Group, group_items};
use crate::messages::remedy::Remedy;
use crate::messages::risk::AcceptedRisks;
use crate::messages::shell::Kubectl;
use crate::{Key, ObjectError, Side};

/// A reason to refuse a move, in words for people and with a code for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    /// A code that is stable for programs.
    pub code: &'static str,
    /// The side it is about.
    pub side: Side,
    /// The object; the first, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Key>,
    /// The others, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Key>,
    /// Description of the problem: lower case, no final dot, no data of Secrets.
    pub message: String,
    /// The remedies: any one of them is enough, the best first.
    pub remedies: Vec<Remedy>,
}

impl Refusal {
    /// Returns a refusal about one object of the source, or about the source as a whole.
    pub fn source(
        code: &'static str,
        object: impl Into<Option<Key>>,
        message: impl Into<String>,
        remedy: impl Into<Remedy>,
    ) -> Self {
        Self {
            code,
            side: Side::Source,
            object: object.into(),
            others: Vec::new(),
            message: message.into(),
            remedies: vec![remedy.into()],
        }
    }

    /// Returns a refusal about the target as a whole.
    pub fn target(code: &'static str, message: impl Into<String>, remedy: impl Into<Remedy>) -> Self {
        Self {
            code,
            side: Side::Target,
            object: None,
            others: Vec::new(),
            message: message.into(),
            remedies: vec![remedy.into()],
        }
    }

    /// Returns true if a move can wait until the refusal goes away: Machines come up, providers are installed and
    /// started, and users suspend owners in GitOps tools.
    pub fn is_transient(&self) -> bool {
        matches!(
            self.code,
            "not-provisioned" | "provider-missing" | "provider-stopped" | "kind-missing" | "gitops-active"
        )
    }

    /// Adds objects to the refusal.
    pub(crate) fn with_others(mut self, others: impl IntoIterator<Item = Key>) -> Self {
        self.others.extend(others);
        self
    }

    /// Groups refusals that say the same about objects of one kind and have the same remedies.
    pub fn group_similar(refusals: &[Self]) -> Vec<Group<'_, Self>> {
        group_items(refusals, |refusal| {
            let Self { code, side, object, others: _, message, remedies } = refusal;
            let ways =
                remedies.iter().map(|remedy| remedy.by_hand().unwrap_or_else(|| format!("{remedy:?}")));
            let words = [(*code).to_owned(), side.to_string(), message.clone()].into_iter().chain(ways);
            (object.as_ref(), words.collect())
        })
    }

    /// Returns the objects of all refusals of a group.
    pub fn objects_of_group<'a>(group: &Group<'a, Self>) -> impl Iterator<Item = &'a Key> {
        group.items.clone().into_iter().flat_map(|refusal| refusal.object.iter().chain(&refusal.others))
    }

    /// Adds a remedy to the refusal.
    pub fn with_remedy(mut self, remedy: Remedy) -> Self {
        self.remedies.push(remedy);
        self
    }

    /// Returns the refusal of a body in the source that can't be parsed (W24: the peer panics). The error contains no part of the body.
    pub fn unreadable(object: Key, error: &ObjectError) -> Self {
        let message = format!("{object} can't be read: {error}");
        let look = Kubectl::object(Side::Source, "get", &object, &["-o", "yaml"]);
        let remedy = Remedy::kubectl("look at it with ", look, " and repair it");
        Self::source("unreadable", object, message, remedy)
    }
}

/// Returns the risks that the remedies of refusals accept.
pub fn risks_to_accept(refusals: &[Refusal]) -> AcceptedRisks {
    let mut risks = AcceptedRisks::default();
    let remedies = refusals.iter().flat_map(|refusal| &refusal.remedies);
    remedies.for_each(|remedy| risks.extend(remedy.accepted_risks()));
    risks
}

/// The problem, then the manual remedies. The programs that offer the other remedies phrase them.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.side, self.message)?;
        self.remedies.iter().filter_map(Remedy::by_hand).try_for_each(|words| write!(f, "; {words}"))
    }
}

/// Lists at most `shown` names: `a, b and 3 more`.
pub fn some_of<T: fmt::Display>(items: &[T], shown: usize) -> String {
    let mut text = String::new();
    for (i, item) in items.iter().take(shown).enumerate() {
        if i > 0 {
            text.push_str(if i + 1 == items.len() { " and " } else { ", " });
        }
        text.push_str(&item.to_string());
    }
    if items.len() > shown {
        text.push_str(&format!(" and {} more", items.len() - shown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GroupKind;
    use crate::messages::risk::Risk;

    #[test]
    fn risks_of_remedies_are_collected() {
        let (object, kind) =
            (Key::new(GroupKind::new("", "Secret"), Some("a"), "b"), GroupKind::new("g", "K"));
        let lost = Remedy::AcceptLoss { kind: kind.clone() };
        let owners = Remedy::DropOwners { kinds: [kind.clone(), GroupKind::new("g", "L")].into() };
        let refusals = [
            Refusal::source("a", object.clone(), "b", lost),
            Refusal::source("c", object.clone(), "d", owners).with_remedy(Remedy::MovePaused),
            Refusal::source("e", object, "f", "repair it"),
        ];
        let risks = risks_to_accept(&refusals);
        let found: Vec<(Risk, usize)> = risks.iter().map(|(risk, kinds)| (risk, kinds.len())).collect();
        let expected = [(Risk::OwnerDropped, 2), (Risk::DependentsLost, 1), (Risk::AlreadyPaused, 0)];
        assert_eq!(found, expected);
        assert!(risks.contains_kind(Risk::DependentsLost, &kind));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        assert_eq!(some_of(&["a"], 2), "a");
        assert_eq!(some_of(&["a", "b"], 2), "a and b");
        assert_eq!(some_of(&["a", "b", "c", "d"], 2), "a, b and 2 more");
    }
}
