//! Checks, before the commit, that providers run whose controllers give no sign on paused copies: a Deployment must be available.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::future::join_all;
use pivot_core::checks::provider_deployments::ProviderDeployment;
use pivot_core::copies::signs::kinds_without_sign::KindsWithoutSign;
use pivot_core::messages::refusal::some_of;
use pivot_core::{Key, Object, Side};
use pivot_places::PlaceError;

use crate::base::events::{Awaited, Event};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::wait::{self, WantedObjects};
use crate::check::target_providers;

/// Most providers that a note names.
const MAX_NAMED: usize = 3;

/// Waits until the Deployments of the providers of these kinds are available. Providers without any that the user can read are not judged:
/// their controllers may run as other processes.
pub(crate) async fn wait_for_deployments(
    job: &Job,
    kinds: KindsWithoutSign,
    timeout: Duration,
) -> Result<(), Failure> {
    if kinds.objects.is_empty() {
        return Ok(());
    }
    let (providers, deployments) = tokio::try_join!(
        target_providers::read_providers_of_kinds(job),
        target_providers::find_deployments(job)
    )?;
    let grouped = kinds.group_by_provider(&providers);
    let (judged, unknown): (Vec<_>, Vec<_>) =
        grouped.iter().partition(|(provider, _)| deployments.contains_key(*provider));
    if !unknown.is_empty() {
        let unknown: Vec<&String> = unknown.into_iter().map(|(provider, _)| provider).collect();
        let text = format!(
            "controllers of {} give no sign on paused copies, and no Deployment of these providers can be read: nothing shows before the \
             commit that they run in the target",
            some_of(&unknown, MAX_NAMED)
        );
        job.report(Event::note("provider-unseen", text));
    }
    let waits = judged.iter().filter_map(|(provider, _)| {
        Some(wait_until_available(job, provider, deployments.get(*provider)?, timeout))
    });
    let results = join_all(waits).await;
    let mut missing = Vec::new();
    for ((provider, objects), result) in judged.iter().zip(results) {
        if !result? {
            let what = format!("not all Deployments of {provider} are available");
            let names = objects.iter().map(|object| job.target.own_name(object));
            missing.extend(names.map(|name| Awaited::for_object(&name, Side::Target, &what)));
        }
    }
    if !missing.is_empty() {
        return Err(Failure::NotSeen(missing));
    }
    if !judged.is_empty() {
        let names: Vec<&String> = judged.into_iter().map(|(provider, _)| provider).collect();
        let text = format!(
            "controllers of {} give no sign on paused copies, but their Deployments are available in the target",
            some_of(&names, MAX_NAMED)
        );
        job.report(Event::note("provider-available", text));
    }
    Ok(())
}

/// Waits until these Deployments of a provider are available. Returns false if one isn't in time.
async fn wait_until_available(
    job: &Job,
    provider: &str,
    deployments: &BTreeSet<Key>,
    timeout: Duration,
) -> Result<bool, Failure> {
    let lacks = |object: &Object| {
        let deployment =
            ProviderDeployment::from_object(object).map_err(|error| Failure::Object(Side::Target, error))?;
        Ok((!deployment.runs(provider)).then(|| "no Pod of it is available".to_owned()))
    };
    let kind = job.core_kind(Side::Target, "apps", "Deployment")?.clone();
    // Each is needed: Azure's provider has one for its own controllers and one for Azure Service Operator.
    let each = deployments.iter().map(|deployment| [deployment.clone()].into());
    let wanted = [(kind.clone(), WantedObjects::one_of_each(each))].into();
    let waits = (&job.halter, &job.parking);
    match wait::wait_for_objects(&job.target, wanted, &lacks, timeout, waits, &*job.watcher).await {
        // A user with permission to list Deployments, and not to watch them, gets no later state.
        Err(Failure::TimedOut(_) | Failure::Place { error: PlaceError::Forbidden(_), .. }) => {
            return Ok(false);
        }
        result => result?,
    }
    // The wait ends for a Deployment that is deleted, too.
    for deployment in deployments {
        match job.target.get(&kind, deployment).await? {
            Some(found) if lacks(&found)?.is_none() => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}
