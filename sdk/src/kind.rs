//! The names of kinds and objects, identical on both sides.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, de};

/// A group and kind. `*` as kind means every kind of the group.
///
/// A kind has no version: declare the versions that you understand with [`About::understands`](crate::About::understands).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Kind, in CamelCase.
    pub kind: Cow<'static, str>,
}

impl Kind {
    /// A kind known when the plugin is written.
    pub const fn new(group: &'static str, kind: &'static str) -> Self {
        Self { group: Cow::Borrowed(group), kind: Cow::Borrowed(kind) }
    }

    /// A kind of the core group.
    pub const fn core(kind: &'static str) -> Self {
        Self::new("", kind)
    }

    /// A kind known only when the plugin runs: from its configuration, from a reference.
    pub fn from_parts(group: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: Cow::Owned(group.into()), kind: Cow::Owned(kind.into()) }
    }

    /// The kind of an `apiVersion` and a `kind`.
    pub fn from_api_version(api_version: &str, kind: impl Into<String>) -> Self {
        Self::from_parts(api_version.rsplit_once('/').map_or("", |(group, _)| group), kind)
    }

    /// Returns true if this kind is the other, or means every kind of its group.
    pub fn matches(&self, other: &Self) -> bool {
        self.group == other.group && (self.kind == "*" || self.kind == other.kind)
    }

    /// Returns the key of the object of this kind with a name in a namespace.
    pub fn key_in(&self, namespace: impl Into<String>, name: impl Into<String>) -> Key {
        Key { kind: self.clone(), namespace: Some(namespace.into()), name: name.into() }
    }

    /// Returns the key of the cluster-scoped object of this kind with a name.
    pub fn cluster_scoped_key(&self, name: impl Into<String>) -> Key {
        Key { kind: self.clone(), namespace: None, name: name.into() }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

/// In the form that is displayed and written in `plugins.toml`: `Secret`, `Cluster.cluster.x-k8s.io`, `*.metal3.io`.
impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (kind, group) = text.split_once('.').unwrap_or((&text, ""));
        let fine = kind == "*"
            || (kind.starts_with(|c: char| c.is_ascii_uppercase())
                && kind.chars().all(|c| c.is_ascii_alphanumeric()));
        if fine {
            return Ok(Self::from_parts(group, kind));
        }
        Err(de::Error::custom(format_args!(
            "`{text}` isn't a kind; write Kind.group: `Cluster.cluster.x-k8s.io`"
        )))
    }
}

/// The name of one object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Kind of the object.
    pub kind: Kind,
    /// Namespace; none for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.kind)?;
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl From<&Self> for Key {
    fn from(key: &Self) -> Self {
        key.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_version_gives_the_group() {
        assert_eq!(Kind::from_api_version("v1", "Secret"), Kind::core("Secret"));
        assert_eq!(
            Kind::from_api_version("metal3.io/v1alpha1", "BareMetalHost"),
            Kind::new("metal3.io", "BareMetalHost")
        );
    }

    #[test]
    fn keys_display_kind_namespace_and_name() {
        let kind = Kind::new("metal3.io", "BareMetalHost");
        assert_eq!(kind.key_in("metal3", "n0").to_string(), "BareMetalHost.metal3.io metal3/n0");
        assert_eq!(Kind::core("Namespace").cluster_scoped_key("a").to_string(), "Namespace a");
    }

    #[test]
    fn displayed_kinds_parse_again() {
        let read = |text: &str| serde_json::from_value::<Kind>(serde_json::Value::from(text));
        for kind in
            [Kind::core("Secret"), Kind::new("metal3.io", "BareMetalHost"), Kind::new("metal3.io", "*")]
        {
            assert_eq!(read(&kind.to_string()).unwrap(), kind);
        }
        for bad in ["", "secrets", "cluster.x-k8s.io", "cluster.x-k8s.io/v1beta1/Cluster", "Clu ster.x"] {
            let error = read(bad).unwrap_err().to_string();
            assert!(error.contains("isn't a kind; write Kind.group"), "{error}");
        }
    }

    #[test]
    fn star_matches_only_its_group() {
        assert!(Kind::new("metal3.io", "*").matches(&Kind::new("metal3.io", "DataImage")));
        assert!(!Kind::new("", "*").matches(&Kind::new("metal3.io", "DataImage")));
    }
}
