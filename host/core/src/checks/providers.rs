//! Checks whether the target runs the providers that the moved objects need.
//!
//! Like the peer: every provider of the source must be in the target, in the same version or a newer one, in any namespace.
//! Beyond the peer: it must also watch the namespaces that move, because otherwise nothing there would be reconciled.

use std::collections::BTreeSet;

use semver::Version;
use serde::Deserialize;

use crate::checks::provider_deployments::ProviderDeployment;
use crate::messages::refusal::Refusal;
use crate::messages::remedy::{Installation, Remedy};
use crate::messages::shell::Kubectl;
use crate::{Object, ObjectError, Side};

/// One entry of clusterctl's provider inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The provider's name: `metal3`.
    pub name: String,
    /// Type of the provider: `InfrastructureProvider`.
    pub kind_of: String,
    /// Version, as the inventory has it.
    pub version: String,
    /// The namespace it runs in.
    pub namespace: String,
    /// The one namespace it watches; none if it watches all.
    pub(crate) watched_namespace: Option<String>,
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

    /// Returns true if this is the infrastructure provider of a name.
    pub(crate) fn is_infrastructure_provider(&self, name: &str) -> bool {
        self.kind_of == "InfrastructureProvider" && self.name == name
    }

    fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.kind_of == other.kind_of
    }

    fn label(&self) -> String {
        format!("{} {}", self.kind_of, self.name)
    }

    /// Parses the version, with or without a leading v.
    fn parse_version(&self) -> Option<Version> {
        let text = self.version.trim();
        Version::parse(text.strip_prefix('v').unwrap_or(text)).ok()
    }

    fn watches(&self, namespace: &str) -> bool {
        self.watched_namespace.as_deref().is_none_or(|watched| watched == namespace)
    }

    /// Returns the provider as its Deployments are labelled.
    pub fn deployment_label(&self) -> Option<String> {
        let prefix = match self.kind_of.as_str() {
            "CoreProvider" => "",
            "BootstrapProvider" => "bootstrap-",
            "ControlPlaneProvider" => "control-plane-",
            "InfrastructureProvider" => "infrastructure-",
            "IPAMProvider" => "ipam-",
            "RuntimeExtensionProvider" => "runtime-extension-",
            "AddonProvider" => "addon-",
            _ => return None,
        };
        Some(format!("{prefix}{}", self.name))
    }

    /// Returns true if controllers of the provider run.
    fn is_deployed(&self, deployments: &[ProviderDeployment]) -> bool {
        let label = self.deployment_label();
        label.is_some_and(|label| deployments.iter().any(|deployment| deployment.runs(&label)))
    }

    fn installation(&self) -> Installation {
        Installation { kind_of: self.kind_of.clone(), name: self.name.clone(), version: self.version.clone() }
    }
}

/// Compares the providers of both sides; `namespaces` are those that move. A provider with a Deployment in the target is installed
/// there, and its flags say which namespaces it watches.
pub fn check_providers(
    source: &[Provider],
    target: &[Provider],
    deployments: &[ProviderDeployment],
    namespaces: &BTreeSet<String>,
) -> Vec<Refusal> {
    source.iter().flat_map(|provider| check_provider(provider, target, deployments, namespaces)).collect()
}

/// Returns the labels of the source's providers that run in the target although its inventory doesn't have them.
pub fn find_unlisted(
    source: &[Provider],
    target: &[Provider],
    deployments: &[ProviderDeployment],
) -> Vec<String> {
    let is_listed = |provider: &Provider| target.iter().any(|other| provider.is_same(other));
    let unlisted = source.iter().filter(|provider| !is_listed(provider) && provider.is_deployed(deployments));
    unlisted.map(Provider::label).collect()
}

fn check_provider(
    provider: &Provider,
    target: &[Provider],
    deployments: &[ProviderDeployment],
    namespaces: &BTreeSet<String>,
) -> Vec<Refusal> {
    let label = provider.label();
    let is_deployed = provider.is_deployed(deployments);
    let label_of_deployments = provider.deployment_label().unwrap_or_default();
    let mut judged =
        deployments.iter().filter(|deployment| deployment.shows_limits_of(&label_of_deployments));
    let is_judged = judged.next().is_some();
    let Some(needed) = provider.parse_version() else {
        return vec![unreadable_version(Side::Source, provider)];
    };
    let matching: Vec<&Provider> = target.iter().filter(|other| provider.is_same(other)).collect();
    if matching.is_empty() && is_deployed {
        return Vec::new();
    }
    if matching.is_empty() {
        return vec![Refusal::target(
            "provider-missing",
            format!("{label} {} is not installed in the target", provider.version),
            Remedy::InstallProvider(provider.installation()),
        )];
    }
    let mut refusals = Vec::new();
    let mut newest: Option<(Version, &Provider)> = None;
    for other in &matching {
        match other.parse_version() {
            None => refusals.push(unreadable_version(Side::Target, other)),
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
            Remedy::UpgradeProvider(provider.installation()),
        ));
    }
    for namespace in namespaces.iter().filter(|namespace| !is_judged && provider.watches(namespace)) {
        if !matching.iter().any(|other| other.watches(namespace)) {
            let watched: Vec<&str> =
                matching.iter().filter_map(|other| other.watched_namespace.as_deref()).collect();
            refusals.push(Refusal::target(
                "provider-not-watching",
                format!(
                    "{label} in the target watches only namespace {}, not {namespace}",
                    watched.join(", ")
                ),
                Remedy::WatchAllNamespaces,
            ));
        }
    }
    refusals
}

fn unreadable_version(side: Side, provider: &Provider) -> Refusal {
    let message = format!("{} has version {:?}, which is not a version", provider.label(), provider.version);
    let words = ["get", "providers.clusterctl.cluster.x-k8s.io", "-n", &provider.namespace, "-o", "wide"];
    let remedies = vec![Remedy::kubectl("repair it: ", Kubectl::new(side, words), "")];
    Refusal { code: "provider-version-unreadable", side, object: None, others: Vec::new(), message, remedies }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::objects::names::LABEL_PROVIDER;
    use crate::testing::kind;

    /// `capi v1.2.3`, or `capi v1.2.3 only-this-namespace`.
    fn provider(text: &str) -> Provider {
        let mut words = text.split(' ').map(str::to_owned);
        let name = words.next().unwrap();
        Provider {
            namespace: format!("{name}-system"),
            name,
            kind_of: "InfrastructureProvider".into(),
            version: words.next().unwrap(),
            watched_namespace: words.next(),
        }
    }

    fn codes(source: &[&str], target: &[&str]) -> Vec<&'static str> {
        let read = |texts: &[&str]| texts.iter().map(|text| provider(text)).collect::<Vec<_>>();
        let namespaces = BTreeSet::from(["a".to_owned(), "b".to_owned()]);
        let refusals = check_providers(&read(source), &read(target), &[], &namespaces);
        refusals.into_iter().map(|refusal| refusal.code).collect()
    }

    #[test]
    fn the_target_has_each_provider_in_the_same_version_or_a_newer_one() {
        for (source, target, expected) in [
            (&["p v1.2.3"][..], &["p v1.2.3"][..], &[][..]),
            (&["p v1.2.3"], &["p 1.3.0"], &[]),
            (&["p v1.2.3"], &["p v1.2.3+build"], &[]),
            (&["p v1.9.0"], &["p v1.10.0"], &[]),
            (&["p v1.2.3"], &["p v1.2.2"], &["provider-older"]),
            (&["p v1.2.3"], &["p v1.2.3-rc.1"], &["provider-older"]),
            (&["p v1.2.3"], &[], &["provider-missing"]),
            (&["p v1.2.3"], &["q v1.2.3"], &["provider-missing"]),
            (&["p main"], &["p v1.2.3"], &["provider-version-unreadable"]),
            (&["p v1.2.3"], &["p main"], &["provider-version-unreadable"]),
            (&["p v1.2.3"], &["p v1.0.0", "p v1.2.4"], &[]),
            (&["p v1.2.3", "q v1.0.0"], &["p v1.0.0"], &["provider-older", "provider-missing"]),
            (&[], &["extra v1.0.0"], &[]),
        ] {
            assert_eq!(codes(source, target), expected, "{source:?} to {target:?}");
        }
    }

    #[test]
    fn the_target_watches_the_moved_namespaces_that_the_source_watched() {
        for (source, target, count) in [
            ("p v1.0.0", &["p v1.0.0 a"][..], 1),
            ("p v1.0.0", &["p v1.0.0 other"], 2),
            ("p v1.0.0", &["p v1.0.0 a", "p v1.0.0 b"], 0),
            ("p v1.0.0 a", &["p v1.0.0 a"], 0),
            ("p v1.0.0 a", &["p v1.0.0"], 0),
        ] {
            assert_eq!(
                codes(&[source], target),
                vec!["provider-not-watching"; count],
                "{source} to {target:?}"
            );
        }
    }

    #[test]
    fn a_type_tells_providers_of_one_name_apart() {
        let source = provider("kubeadm v1.0.0");
        let target = Provider { kind_of: "BootstrapProvider".into(), ..source.clone() };
        let refusals = check_providers(&[source], &[target], &[], &BTreeSet::new());
        assert_eq!(refusals[0].code, "provider-missing");
        let installation = Installation {
            kind_of: "InfrastructureProvider".into(),
            name: "kubeadm".into(),
            version: "v1.0.0".into(),
        };
        assert_eq!(refusals[0].remedies, [Remedy::InstallProvider(installation)]);
    }

    #[test]
    fn deployed_providers_need_no_inventory() {
        let namespaces = BTreeSet::from(["a".to_owned()]);
        let source = [provider("p v1.2.3")];
        for (label, target, expected, unlisted) in [
            ("infrastructure-p", &[][..], &[][..], 1),
            ("infrastructure-p", &[provider("p v1.2.3 b")], &[], 0),
            ("infrastructure-p", &[provider("p v1.2.2")], &["provider-older"], 0),
            ("bootstrap-p", &[], &["provider-missing"], 0),
            ("p", &[], &["provider-missing"], 0),
        ] {
            let body = json!({"metadata": {"name": "d", "labels": {LABEL_PROVIDER: label}},
                "spec": {"template": {"spec": {"containers": [{"name": "manager"}]}}}, "status": {"availableReplicas": 1}});
            let deployment = Object::from_value(kind("Deployment"), &body).unwrap();
            let deployments = [ProviderDeployment::from_object(&deployment).unwrap()];
            let found = check_providers(&source, target, &deployments, &namespaces);
            let codes: Vec<_> = found.iter().map(|refusal| refusal.code).collect();
            assert_eq!(codes, expected, "{label} {target:?}");
            assert_eq!(find_unlisted(&source, target, &deployments).len(), unlisted, "{label} {target:?}");
        }
    }

    #[test]
    fn a_provider_object_is_read() {
        let body = json!({
            "metadata": {"name": "infrastructure-metal3", "namespace": "capm3-system"},
            "providerName": "metal3", "type": "InfrastructureProvider", "version": "v1.14.0", "watchedNamespace": "",
        });
        let object = Object::from_value(kind("Provider"), &body).unwrap();
        let expected = Provider {
            name: "metal3".into(),
            kind_of: "InfrastructureProvider".into(),
            version: "v1.14.0".into(),
            namespace: "capm3-system".into(),
            watched_namespace: None,
        };
        assert_eq!(Provider::from_object(&object).unwrap(), expected);
    }
}
