//! Checks the target's providers: their inventory, and the Deployments that run them.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::FutureExt;
use pivot_core::checks::provider_deployments::{ProviderDeployment, RunningProviders, check_deployments};
use pivot_core::checks::providers::{Provider, check_providers, find_unlisted};
use pivot_core::checks::stopped_providers::check_stopped_providers;
use pivot_core::messages::refusal::{Refusal, some_of};
use pivot_core::objects::names::{GROUP_CLUSTERCTL, LABEL_PROVIDER};
use pivot_core::plugins::hooks::Hook;
use pivot_core::{GroupKind, Key, Meta, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::{self, OBJECTS, Work};
use crate::read::snapshot::Snapshot;

/// Checks the providers of a target that takes over; `target` is its inventory.
pub(crate) async fn check_target_providers(
    job: &Job,
    snapshot: &Snapshot,
    target: Option<&[Provider]>,
) -> Result<Vec<Refusal>, Failure> {
    // Providers don't have to work where objects are only copied.
    if !job.route.target_runs() {
        return Ok(Vec::new());
    }
    let running = read_running(job).await?;
    let Snapshot { plan, inventory: objects, providers: source, .. } = snapshot;
    let steps = || plan.steps.iter().filter(|step| step.treatment().can_be_paused());
    let kinds = steps().map(|step| &step.key.group_kind);
    let is_adapted = |kind: &&GroupKind| job.plugins.iter().any(|plugin| plugin.changes(Hook::Adapt, kind));
    let adapted = kinds.filter(is_adapted).cloned().collect();
    let mut refusals =
        check_deployments(&running, plan, objects, &job.options.scope, &job.options.accept, &adapted);
    if let Some(target) = target {
        let namespaces = steps().filter_map(|step| step.key.namespace.clone()).collect();
        refusals.extend(check_providers(source, target, &running.deployments, &namespaces));
        refusals.extend(check_stopped_providers(&running, target, plan, &job.options.accept));
        let unlisted = find_unlisted(source, target, &running.deployments);
        if !unlisted.is_empty() {
            let text = format!(
                "clusterctl's inventory in the target doesn't list {}, so the version is not compared",
                some_of(&unlisted, 3)
            );
            job.report(Event::warning("provider-version-unknown", text));
        }
    }
    Ok(refusals)
}

/// Reads the inventory of a target that takes over; none if the user can't list it.
pub(crate) async fn read_inventory(job: &Job) -> Result<Option<Vec<Provider>>, Failure> {
    if !job.route.target_runs() {
        return Ok(None);
    }
    let Some(kind) = job.kinds.target.get(&GroupKind::new(GROUP_CLUSTERCTL, "Provider")) else {
        return Ok(Some(Vec::new()));
    };
    let listing = match job.target.list(kind, None).await {
        Ok(listing) => listing,
        Err(Failure::Place { error: PlaceError::Forbidden(why), .. }) => {
            job.report(Event::warning(
                "providers-unreadable",
                format!("the target's providers can't be listed, so they are not checked: {why}"),
            ));
            return Ok(None);
        }
        Err(failure) => return Err(failure),
    };
    let read = |object| Provider::from_object(object).map_err(|error| Failure::Object(Side::Target, error));
    listing.objects.iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// Reads the Deployments of providers, and the providers of all kinds if one of these must be judged.
async fn read_running(job: &Job) -> Result<RunningProviders, Failure> {
    let deployments = match list_deployments(job).await {
        Ok(deployments) => deployments,
        Err(Failure::Place { error: PlaceError::Forbidden(why), .. }) => {
            let text =
                format!("the target's provider Deployments can't be read, so they are not checked: {why}");
            job.report(Event::warning("providers-unreadable", text));
            Vec::new()
        }
        Err(failure) => return Err(failure),
    };
    let read = |object: &Object| {
        ProviderDeployment::from_object(object).map_err(|error| Failure::Object(Side::Target, error))
    };
    let deployments: Vec<_> = deployments.iter().map(read).collect::<Result<_, _>>()?;
    let mut running = RunningProviders { deployments, ..RunningProviders::default() };
    if running.deployments.iter().any(ProviderDeployment::needs_kinds) {
        running.kinds = read_providers_of_kinds(job).await?;
    }
    Ok(running)
}

/// Reads the providers of all kinds, as the labels of the definitions name them; none if the user can't list these.
pub(crate) async fn read_providers_of_kinds(job: &Job) -> Result<BTreeMap<GroupKind, String>, Failure> {
    let definition = job.core_kind(Side::Target, "apiextensions.k8s.io", "CustomResourceDefinition");
    let Ok(definition) = definition else { return Ok(BTreeMap::new()) };
    let definitions = match job.target.list_meta(definition, None).await {
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Vec::new(),
        metas => metas?,
    };
    let mut providers = BTreeMap::new();
    for kind in job.kinds.target.values() {
        let name = format!("{}.{}", kind.plural, kind.group_kind.group);
        let definition = definitions.iter().find(|definition| definition.name == name);
        if let Some(provider) = definition.and_then(|definition| definition.labels.get(LABEL_PROVIDER)) {
            providers.insert(kind.group_kind.clone(), provider.clone());
        }
    }
    Ok(providers)
}

/// Finds the Deployments of each provider, by their labels; none if the user can't list them.
pub(crate) async fn find_deployments(job: &Job) -> Result<BTreeMap<String, BTreeSet<Key>>, Failure> {
    let metas = match list_deployment_metas(job).await {
        Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => Vec::new(),
        metas => metas?,
    };
    let inventory = read_inventory(job).await?.unwrap_or_default();
    let mut found: BTreeMap<String, BTreeSet<Key>> = BTreeMap::new();
    for (key, meta) in metas {
        let provider = meta.labels.get(LABEL_PROVIDER).cloned().unwrap_or_default();
        found.entry(provider).or_default().insert(key);
    }
    for (provider, deployments) in &mut found {
        // Anyone who can create a Deployment can label it, but not in the namespace of a provider.
        let is_listed = |deployment: &&Key| {
            inventory.iter().any(|it| {
                it.deployment_label().as_ref() == Some(provider)
                    && deployment.namespace.as_ref() == Some(&it.namespace)
            })
        };
        let listed: BTreeSet<Key> = deployments.iter().filter(is_listed).cloned().collect();
        // The inventory may be older than the Deployments.
        if !listed.is_empty() {
            *deployments = listed;
        }
    }
    Ok(found)
}

/// Reads the Deployments with the label of a provider. Others are not read whole.
async fn list_deployments(job: &Job) -> Result<Vec<Object>, Failure> {
    let Ok(kind) = job.core_kind(Side::Target, "apps", "Deployment") else { return Ok(Vec::new()) };
    let labelled = list_deployment_metas(job).await?.into_iter();
    let reads = labelled.map(|(key, _)| -> Work<'_, Option<Object>> {
        async move { job.target.get(kind, &key).await }.boxed()
    });
    Ok(side_by_side::try_all(OBJECTS, reads.collect()).await?.into_iter().flatten().collect())
}

/// Lists the metadata of the Deployments with the label of a provider.
async fn list_deployment_metas(job: &Job) -> Result<Vec<(Key, Meta)>, Failure> {
    let Ok(kind) = job.core_kind(Side::Target, "apps", "Deployment") else { return Ok(Vec::new()) };
    let metas = job.target.list_meta(kind, None).await?;
    let labelled = metas.into_iter().filter(|meta| meta.has_label(LABEL_PROVIDER));
    Ok(labelled.map(|meta| (listing::key_of_meta(kind, &meta), meta)).collect())
}
