//! Checks the target's providers.

use pivot_core::checks::providers::{Provider, check_providers};
use pivot_core::messages::refusal::Refusal;
use pivot_core::objects::names;
use pivot_core::{GroupKind, Side};
use pivot_places::PlaceError;

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::read::snapshot::Snapshot;

pub(crate) async fn check_target_providers(
    job: &Job,
    snapshot: &Snapshot,
    source: &[Provider],
) -> Result<Vec<Refusal>, Failure> {
    let Some(kind) = job.kinds.target.get(&GroupKind::new(names::GROUP_CLUSTERCTL, "Provider")) else {
        return Ok(compare_providers(job, source, &[], snapshot));
    };
    let listing = match job.target.list(kind, None).await {
        Ok(listing) => listing,
        Err(Failure::Place { error: PlaceError::Forbidden(why), .. }) => {
            job.report(Event::warning(
                "providers-unreadable",
                format!("the target's providers can't be listed, so they are not checked: {why}"),
            ));
            return Ok(Vec::new());
        }
        Err(failure) => return Err(failure),
    };
    let mut providers = Vec::new();
    for object in &listing.objects {
        providers.push(Provider::from_object(object).map_err(|error| Failure::Object(Side::Target, error))?);
    }
    Ok(compare_providers(job, source, &providers, snapshot))
}

fn compare_providers(
    job: &Job,
    source: &[Provider],
    target: &[Provider],
    snapshot: &Snapshot,
) -> Vec<Refusal> {
    if job.route.target_runs() {
        // Providers don't have to work where objects are only copied.
        let steps = snapshot.plan.steps.iter().filter(|step| step.treatment().can_be_paused());
        check_providers(source, target, &steps.filter_map(|step| step.key.namespace.clone()).collect())
    } else {
        Vec::new()
    }
}
