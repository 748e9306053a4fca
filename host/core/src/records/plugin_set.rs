//! Sets of plugins: of a move, of a run, and of an agent.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::messages::refusal::some_of;
use crate::messages::safe_text;
use crate::plugins::hooks::Description;
use crate::records::record::{MOST_PLUGINS, Pin};

/// Bytes of each text that another party says about a plugin.
const TEXT: usize = 200;
/// Largest number of differences that are listed.
const MAX_LISTED_DIFFERENCES: usize = 8;

/// A plugin as two parties compare it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct PluginId {
    name: String,
    /// Digest of component and configuration.
    digest: String,
    /// For people: the digest covers it.
    version: String,
}

/// The plugins of one party.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PluginSet(BTreeSet<PluginId>);

impl<'a> FromIterator<&'a Pin> for PluginSet {
    fn from_iter<T: IntoIterator<Item = &'a Pin>>(pins: T) -> Self {
        let id = |Pin { name, version, digest, .. }: &Pin| PluginId {
            name: name.clone(),
            digest: digest.clone(),
            version: version.clone(),
        };
        Self(pins.into_iter().map(id).collect())
    }
}

impl<'a> FromIterator<&'a Description> for PluginSet {
    fn from_iter<T: IntoIterator<Item = &'a Description>>(plugins: T) -> Self {
        let pins: Vec<Pin> = plugins.into_iter().map(Pin::from).collect();
        pins.iter().collect()
    }
}

impl PluginSet {
    /// Returns true if both have the same plugins in the same configuration.
    pub fn matches(&self, other: &Self) -> bool {
        self.digests() == other.digests()
    }

    fn digests(&self) -> BTreeSet<(&str, &str)> {
        self.0.iter().map(|plugin| (plugin.name.as_str(), plugin.digest.as_str())).collect()
    }

    /// Describes the differences to the plugins that are expected; empty if there are none.
    pub fn describe_differences(&self, expected: &Self) -> String {
        let versions = |of: &Self, but: &Self| {
            let digests = but.digests();
            let differ = of.0.iter().filter(|plugin| !digests.contains(&(&*plugin.name, &*plugin.digest)));
            differ.map(|plugin| (plugin.name.clone(), plugin.version.clone())).collect::<BTreeMap<_, _>>()
        };
        let (surplus, missing) = (versions(self, expected), versions(expected, self));
        let names: BTreeSet<&String> = surplus.keys().chain(missing.keys()).collect();
        let differences = names.into_iter().map(|name| match (surplus.get(name), missing.get(name)) {
            (Some(is), Some(other)) if is == other => {
                format!("{name} {is} has another component or configuration")
            }
            (Some(is), Some(other)) => format!("{name} is {is} instead of {other}"),
            (Some(is), None) => format!("{name} {is} is additional"),
            (None, other) => format!("{name} {} is missing", other.map_or("", String::as_str)),
        });
        some_of(&differences.collect::<Vec<_>>(), MAX_LISTED_DIFFERENCES)
    }

    /// Describes the plugins by their names and versions.
    pub fn describe(&self) -> String {
        let names: Vec<String> =
            self.0.iter().map(|plugin| format!("{} {}", plugin.name, plugin.version)).collect();
        if names.is_empty() { "no plugins".to_owned() } else { names.join(", ") }
    }

    /// Bounds what another party says about its plugins; `None` if there are more than a move can have.
    pub fn into_bounded(self) -> Option<Self> {
        let bound = |PluginId { name, digest, version }| PluginId {
            name: safe_text::to_line(&name, TEXT),
            digest: safe_text::to_line(&digest, TEXT),
            version: safe_text::to_line(&version, TEXT),
        };
        (self.0.len() <= MOST_PLUGINS).then(|| Self(self.0.into_iter().map(bound).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(plugins: &[(&str, &str, &str)]) -> PluginSet {
        let id = |(name, version, digest): &(&str, &str, &str)| PluginId {
            name: (*name).to_owned(),
            digest: (*digest).to_owned(),
            version: (*version).to_owned(),
        };
        PluginSet(plugins.iter().map(id).collect())
    }

    #[test]
    fn differences_name_each_plugin() {
        let expected = set(&[("a", "1", "x"), ("b", "1", "y"), ("c", "1", "z"), ("d", "1", "w")]);
        let other = set(&[("a", "1", "x"), ("b", "2", "v"), ("c", "1", "u"), ("e", "3", "t")]);
        assert!(!other.matches(&expected));
        assert_eq!(
            other.describe_differences(&expected),
            "b is 2 instead of 1, c 1 has another component or configuration, d 1 is missing and e 3 is additional"
        );
        assert_eq!(
            (expected.describe(), set(&[]).describe()),
            ("a 1, b 1, c 1, d 1".into(), "no plugins".into())
        );
        // Versions count for nothing.
        let renamed = set(&[("a", "9", "x"), ("b", "1", "y"), ("c", "1", "z"), ("d", "1", "w")]);
        assert!(renamed.matches(&expected));
        assert_eq!(renamed.describe_differences(&expected), "");
    }

    #[test]
    fn claims_of_others_are_bounded() {
        let long = "x".repeat(10_000);
        let bounded = set(&[(&long, "1\u{1b}[2J", "d")]).into_bounded().unwrap();
        let shown = bounded.describe();
        assert!(shown.len() < 300 && !shown.contains('\u{1b}'), "{shown}");
        let many = |count: usize| {
            PluginSet(
                (0..count)
                    .map(|n| PluginId { name: n.to_string(), digest: String::new(), version: String::new() })
                    .collect(),
            )
        };
        assert!(many(MOST_PLUGINS).into_bounded().is_some());
        assert_eq!(many(MOST_PLUGINS + 1).into_bounded(), None);
    }
}
