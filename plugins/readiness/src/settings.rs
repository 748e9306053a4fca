//! The plugin's configuration.

use std::collections::{BTreeMap, BTreeSet};

use pivot_sdk::{Error, Glob, Kind, Result, Severity};
use serde::Deserialize;

use crate::groups::GROUPS;

/// An area of checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Area {
    /// The Deployments of providers.
    Providers,
    /// The definitions of the kinds that move.
    Definitions,
    /// Clusters and their control planes.
    Clusters,
    /// Machines and the objects that create them.
    Machines,
    /// Whether machines are being replaced or scaled.
    Rollouts,
    /// ClusterResourceSets.
    Addons,
    /// PackageInstalls.
    Packages,
    /// The operator's additional conditions.
    #[serde(skip)]
    Extra,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Worth knowing.
    Note,
    /// Worth a person's attention.
    Warn,
    /// Not yet.
    #[default]
    Wait,
    /// The move must not continue.
    Stop,
}

impl From<Weight> for Severity {
    fn from(weight: Weight) -> Self {
        match weight {
            Weight::Note => Self::Note,
            Weight::Warn => Self::Warn,
            Weight::Wait => Self::Wait,
            Weight::Stop => Self::Stop,
        }
    }
}

/// Conditions that must be true on objects of a kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extra {
    /// The kind.
    pub kind: Kind,
    /// The conditions' types.
    pub conditions: Vec<String>,
    /// The severity if one is not true.
    #[serde(default)]
    pub severity: Weight,
}

/// The plugin, with its configuration.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Readiness {
    /// The areas to skip.
    pub skip: BTreeSet<Area>,
    /// Severities that replace those of an area's findings.
    pub severity: BTreeMap<Area, Weight>,
    /// The namespaces of the PackageInstalls that count; all if not set.
    pub package_namespaces: Vec<Glob>,
    /// Deployments of the target that must be available, as NAMESPACE/NAME.
    pub deployments: BTreeSet<String>,
    /// Additional conditions.
    pub extra: Vec<Extra>,
}

impl Readiness {
    /// Returns true if an area is checked.
    pub(crate) fn is_checked(&self, area: Area) -> bool {
        !self.skip.contains(&area)
    }

    /// Checks what parsing can't.
    pub(crate) fn validate(&self) -> Result<()> {
        for (index, Extra { kind, conditions, .. }) in self.extra.iter().enumerate() {
            let wrong = |why: String| Err(Error::invalid(format!("configuration: extra[{index}]: {why}")));
            if !GROUPS.iter().any(|known| known.matches(kind)) {
                let known: Vec<String> = GROUPS.iter().map(Kind::to_string).collect();
                return wrong(format!("{kind} is none of the kinds that can be read: {}", known.join(", ")));
            }
            if conditions.is_empty() {
                return wrong("it names no condition; list those that must be true".into());
            }
        }
        let is_name = |name: &&String| name.split('/').filter(|part| !part.is_empty()).count() == 2;
        if let Some(name) = self.deployments.iter().find(|name| !is_name(name)) {
            return Err(Error::invalid(format!("configuration: deployments: {name} is not NAMESPACE/NAME")));
        }
        match self.severity.keys().find(|area| self.skip.contains(area)) {
            Some(area) => Err(Error::invalid(format!(
                "configuration: severity and skip both name {}; what is skipped weighs nothing",
                format!("{area:?}").to_lowercase()
            ))),
            None => Ok(()),
        }
    }
}
