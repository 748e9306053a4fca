//! Whether the target runs the providers that the moved objects need.
//!
//! As the peer: every provider of the source must be in the target, in the same version or a newer one, wherever it
//! runs. More than the peer: it must also look at the namespaces that move, else nothing there would be reconciled.

use std::collections::BTreeSet;

use semver::Version;
use serde::Deserialize;

use crate::refusal::{Refusal, Side};
use crate::{Object, ObjectError};

/// One entry of clusterctl's provider inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The provider's name: `metal3`.
    pub name: String,
    /// Its type: `InfrastructureProvider`.
    pub kind_of: String,
    /// Its version, as written.
    pub version: String,
    /// Where it runs.
    pub namespace: String,
    /// The one namespace it looks at; none if it looks at all.
    pub watched_namespace: Option<String>,
}

impl Provider {
    /// Reads a Provider object.
    pub fn from_object(object: &Object) -> Result<Self, ObjectError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[derive(Default)]
        struct View {
            provider_name: String,
            #[serde(rename = "type")]
            of: String,
            version: String,
            watched_namespace: Option<String>,
        }
        let view: View = object.view()?;
        Ok(Self {
            name: view.provider_name,
            kind_of: view.of,
            version: view.version,
            namespace: object.meta.namespace.clone().unwrap_or_default(),
            watched_namespace: view.watched_namespace.filter(|namespace| !namespace.is_empty()),
        })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.kind_of == other.kind_of
    }

    fn label(&self) -> String {
        format!("{} {}", self.kind_of, self.name)
    }

    /// The version, with or without a leading v.
    fn parsed(&self) -> Option<Version> {
        let text = self.version.trim();
        Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
    }

    fn watches(&self, namespace: &str) -> bool {
        self.watched_namespace.as_deref().is_none_or(|watched| watched == namespace)
    }

    /// How clusterctl is told to install it.
    fn install(&self) -> String {
        let flag = match self.kind_of.as_str() {
            "CoreProvider" => "--core",
            "BootstrapProvider" => "--bootstrap",
            "ControlPlaneProvider" => "--control-plane",
            "InfrastructureProvider" => "--infrastructure",
            "IPAMProvider" => "--ipam",
            "RuntimeExtensionProvider" => "--runtime-extension",
            "AddonProvider" => "--addon",
            _ => "--infrastructure",
        };
        format!("{flag} {}:{}", self.name, self.version)
    }
}

/// Compares the providers of both sides; `namespaces` are those that move.
pub fn check_providers(
    source: &[Provider],
    target: &[Provider],
    namespaces: &BTreeSet<String>,
) -> Vec<Refusal> {
    source.iter().flat_map(|provider| check(provider, target, namespaces)).collect()
}

fn check(provider: &Provider, target: &[Provider], namespaces: &BTreeSet<String>) -> Vec<Refusal> {
    let label = provider.label();
    let Some(needed) = provider.parsed() else { return vec![unreadable(Side::Source, provider)] };
    let matching: Vec<&Provider> = target.iter().filter(|other| provider.is_same(other)).collect();
    if matching.is_empty() {
        return vec![Refusal::target(
            "provider-missing",
            format!("{label} {} is not installed in the target", provider.version),
            format!("install it in the target: `clusterctl init {}`", provider.install()),
        )];
    }
    let mut refusals = Vec::new();
    let mut newest: Option<(Version, &Provider)> = None;
    for other in &matching {
        match other.parsed() {
            None => refusals.push(unreadable(Side::Target, other)),
            Some(version) if newest.as_ref().is_none_or(|(best, _)| version.cmp_precedence(best).is_gt()) => {
                newest = Some((version, other));
            }
            Some(_) => {}
        }
    }
    if let Some((version, other)) = newest
        && version.cmp_precedence(&needed).is_lt()
    {
        refusals.push(Refusal::target(
            "provider-older",
            format!(
                "{label} is {} in the target, older than {} in the source",
                other.version, provider.version
            ),
            format!("upgrade it in the target: `clusterctl upgrade apply {}`", provider.install()),
        ));
    }
    for namespace in namespaces.iter().filter(|namespace| provider.watches(namespace)) {
        if !matching.iter().any(|other| other.watches(namespace)) {
            let watched: Vec<&str> =
                matching.iter().filter_map(|other| other.watched_namespace.as_deref()).collect();
            refusals.push(Refusal::target(
                "provider-not-watching",
                format!("{label} in the target looks only at namespace {}, not at {namespace}", watched.join(", ")),
                "let its controllers watch all namespaces: remove their --namespace flag, and watchedNamespace \
                 from the Provider object",
            ));
        }
    }
    refusals
}

fn unreadable(side: Side, provider: &Provider) -> Refusal {
    let message = format!("{} has version {:?}, which is none", provider.label(), provider.version);
    let remedy = format!(
        "repair it: `kubectl get providers.clusterctl.cluster.x-k8s.io -n {} -o wide`",
        provider.namespace
    );
    Refusal { code: "provider-version-unreadable", side, object: None, message, remedy }
}

#[cfg(test)]
mod tests;
