//! Looks for MachineDrainRules that stay and that the target doesn't have.

use std::collections::BTreeSet;

use pivot_core::Key;
use pivot_core::checks::drain_rules::{describe_missing_rules, find_staying_rules};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;
use crate::base::requests::listing::{self, Listed};
use crate::base::requests::side_by_side::EMPTY_LISTS;
use crate::read::snapshot::Snapshot;

/// Warns of rules that stay. Lists the target's rules only if there are any.
pub(crate) async fn warn_of_staying_rules(job: &Job, snapshot: &Snapshot) -> Result<Option<Event>, Failure> {
    let mut rules = find_staying_rules(&snapshot.plan);
    let Some(first) = rules.first().filter(|_| job.route.target_runs()) else { return Ok(None) };
    let kind = job.kinds.target.get(&first.group_kind);
    let namespaces: BTreeSet<String> = rules.iter().filter_map(|rule| rule.namespace.clone()).collect();
    let wanted = listing::collections_in(kind, &namespaces);
    for ((kind, _), listed) in listing::list_identities(&job.target, EMPTY_LISTS, wanted).await? {
        if matches!(listed, Listed::Forbidden(_)) {
            let text = "pivot-host can't list MachineDrainRules of the target, so it doesn't know whether those that stay are there";
            return Ok(Some(Event::note("drain-rules-unreadable", text)));
        }
        for meta in listed.into_known() {
            rules.remove(&Key::new(kind.group_kind.clone(), meta.namespace.as_deref(), meta.name));
        }
    }
    let missing = (!rules.is_empty()).then(|| describe_missing_rules(&rules));
    Ok(missing.map(|text| Event::warning("drain-rules-stay", text)))
}
