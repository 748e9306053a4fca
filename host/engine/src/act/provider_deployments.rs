//! Checks, before the commit, that providers run whose controllers give no sign on paused copies: their Deployments must be available.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::join_all;
use pivot_core::checks::provider_deployments::ProviderDeployment;
use pivot_core::copies::signs::kinds_without_sign::KindsWithoutSign;
use pivot_core::messages::refusal::some_of;
use pivot_core::{Key, Side};
use pivot_places::PlaceError;

use crate::base::events::{Awaited, Event};
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::reports::Reports;
use crate::check::target_providers;

/// Most providers or Deployments that a text names.
const MAX_NAMED: usize = 3;
/// Time between two looks at the Deployments.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

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
            let found: Vec<&Key> = deployments.get(*provider).into_iter().flatten().collect();
            let what =
                format!("not all Deployments of {provider} are available ({})", some_of(&found, MAX_NAMED));
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

/// Waits until all Deployments that a provider has in one namespace are available. Azure's provider has one for its own controllers and
/// one for Azure Service Operator. Returns false if they aren't in time.
async fn wait_until_available(
    job: &Job,
    provider: &str,
    deployments: &BTreeSet<Key>,
    timeout: Duration,
) -> Result<bool, Failure> {
    let (deadline, reports) = (job.parking.deadline(timeout), Reports::default());
    let wait = async {
        while !is_any_namespace_available(job, provider, deployments).await? {
            let left = deadline.time_left();
            if left.is_zero() {
                return Ok(false);
            }
            let awaited = Awaited::from_text(format!(
                "the target: the Deployments of {provider} must be available ({})",
                some_of(&deployments.iter().collect::<Vec<_>>(), MAX_NAMED)
            ));
            reports.report(&*job.watcher, vec![awaited], deadline.end());
            tokio::select! {
                () = tokio::time::sleep(CHECK_INTERVAL.min(left)) => {}
                halt = job.halter.wait() => return Err(Failure::Halted(halt)),
            }
        }
        Ok(true)
    };
    job.parking.wait_for_others(&job.halter, wait).await
}

async fn is_any_namespace_available(
    job: &Job,
    provider: &str,
    deployments: &BTreeSet<Key>,
) -> Result<bool, Failure> {
    let kind = job.core_kind(Side::Target, "apps", "Deployment")?;
    let mut namespaces: BTreeMap<Option<&str>, bool> = BTreeMap::new();
    for deployment in deployments {
        let found = match job.target.get(kind, deployment).await {
            Err(Failure::Place { error: PlaceError::Forbidden(_), .. }) => None,
            found => found?,
        };
        let read = found.as_ref().map(ProviderDeployment::from_object).transpose();
        let read = read.map_err(|error| Failure::Object(Side::Target, error))?;
        let all = namespaces.entry(deployment.namespace.as_deref()).or_insert(true);
        *all &= read.is_some_and(|read| read.runs(provider));
    }
    Ok(namespaces.into_values().any(|all| all))
}
