//! Checks, before the pause, whether providers run that the target's inventory lists.

use std::collections::{BTreeMap, BTreeSet};

use crate::checks::provider_deployments::{ProviderDeployment, RunningProviders};
use crate::checks::providers::Provider;
use crate::messages::refusal::{Refusal, some_of};
use crate::messages::remedy::Remedy;
use crate::messages::risk::{AcceptedRisks, Risk};
use crate::messages::shell::Kubectl;
use crate::objects::names::LABEL_PROVIDER;
use crate::plan::Plan;
use crate::{GroupKind, Side};

/// Most namespaces that a message names.
const MAX_NAMED: usize = 3;

/// Refuses a move while no Deployment of a moved kind's provider is available. Only Deployments in the namespace that the inventory
/// names are counted. A provider without any there may run as another process.
pub fn check_stopped_providers(
    running: &RunningProviders,
    listed: &[Provider],
    plan: &Plan,
    accept: &AcceptedRisks,
) -> Vec<Refusal> {
    let mut stopped: BTreeMap<&str, BTreeSet<GroupKind>> = BTreeMap::new();
    for step in plan.steps.iter().filter(|step| step.treatment().can_be_paused()) {
        let kind = &step.key.group_kind;
        if let Some(provider) = running.provider_of(kind)
            && !accept.contains_kind(Risk::Unseen, kind)
            && is_stopped(provider, &running.deployments, listed)
        {
            stopped.entry(provider).or_default().insert(kind.clone());
        }
    }
    let refusals = stopped.into_iter().map(|(provider, kinds)| {
        let namespaces: Vec<&String> = namespaces_of(provider, listed).collect();
        let message = format!(
            "{provider} doesn't run in namespace {} of the target, where clusterctl's inventory lists it: no Deployment of it is available there",
            some_of(&namespaces, MAX_NAMED)
        );
        let selector = format!("{LABEL_PROVIDER}={provider}");
        let look = Kubectl::new(Side::Target, ["get", "deployments,pods", "-A", "-l", &selector]);
        let remedy = Remedy::kubectl(
            "start it, wait until it has started, or correct the inventory if it runs elsewhere: ",
            look,
            "",
        );
        Refusal::target("provider-stopped", message, remedy).with_remedy(Remedy::AcceptUnseen { kinds })
    });
    refusals.collect()
}

/// Returns the namespaces in which the inventory lists a provider.
fn namespaces_of<'a>(label: &'a str, listed: &'a [Provider]) -> impl Iterator<Item = &'a String> {
    let entries = listed.iter().filter(move |it| it.deployment_label().as_deref() == Some(label));
    entries.map(|it| &it.namespace)
}

/// Returns true if the inventory lists the provider, and each of its Deployments there is unavailable.
fn is_stopped(label: &str, deployments: &[ProviderDeployment], listed: &[Provider]) -> bool {
    let is_home = |deployment: &&ProviderDeployment| {
        deployment.provider == label
            && namespaces_of(label, listed).any(|namespace| Some(namespace) == deployment.home.as_ref())
    };
    let mut at_home = deployments.iter().filter(is_home).peekable();
    at_home.peek().is_some() && at_home.all(|deployment| !deployment.is_available)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Object;
    use crate::testing::{Case, kind};

    fn deployment(namespace: &str, is_available: bool) -> ProviderDeployment {
        let body = json!({
            "metadata": {"name": "d", "namespace": namespace, "labels": {LABEL_PROVIDER: "cluster-api"}},
            "spec": {"template": {"spec": {"containers": []}}}, "status": {"availableReplicas": u32::from(is_available)},
        });
        ProviderDeployment::from_object(&Object::from_value(kind("Deployment"), &body).unwrap()).unwrap()
    }

    fn listed(namespace: &str) -> Provider {
        let body = json!({"metadata": {"name": "cluster-api", "namespace": namespace},
            "providerName": "cluster-api", "type": "CoreProvider", "version": "v1.13.2"});
        Provider::from_object(&Object::from_value(kind("Provider"), &body).unwrap()).unwrap()
    }

    #[test]
    fn only_listed_providers_must_run() {
        let case = Case::new("Cluster ns/c");
        let (stopped, runs) = (("capi", false), ("capi", true));
        for (deployments, expected) in [
            (&[][..], false),
            (&[runs], false),
            (&[stopped], true),
            (&[stopped, stopped], true),
            (&[stopped, runs], false),
            // Anyone who can create a Deployment can label it.
            (&[stopped, ("other", true)], true),
            (&[runs, ("other", false)], false),
            (&[("other", false)], false),
        ] {
            let deployments = deployments.iter().map(|(namespace, runs)| deployment(namespace, *runs));
            let running =
                RunningProviders { deployments: deployments.collect(), ..RunningProviders::default() };
            let codes = |listed: &[Provider], accept: &AcceptedRisks| -> Vec<&str> {
                let found = check_stopped_providers(&running, listed, &case.plan(), accept);
                found.iter().map(|refusal| refusal.code).collect()
            };
            let nothing = AcceptedRisks::default();
            let found = codes(&[listed("capi")], &nothing);
            assert_eq!(found == ["provider-stopped"], expected, "{:?}: {found:?}", running.deployments);
            assert!(codes(&[], &nothing).is_empty());
            let mut accepted = AcceptedRisks::default();
            accepted.insert_kind(Risk::Unseen, kind("Cluster").group_kind.clone());
            assert!(codes(&[listed("capi")], &accepted).is_empty());
        }
    }
}
