//! Writes and removes the guard of a move ([`pivot_core::records::guard`]).

use std::collections::BTreeSet;
use std::time::Duration;

use pivot_core::checks::providers::Provider;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::shell::Kubectl;
use pivot_core::records::guard::{
    CommittedContent, POLICY_GROUP, POLICY_KINDS, binding_manifest, guard_name, policy_manifest,
    probe_manifest, refusal_text, removal_command,
};
use pivot_core::records::release::ReleaseList;
use pivot_core::{GroupKind, Key, Side};
use pivot_places::{Change, PlaceError, Preconditions};
use tokio::time::{Instant, sleep};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;

/// Longest wait for a server to apply the policies. Servers need about a second.
const PATIENCE: Duration = Duration::from_secs(15);
const ASK_EVERY: Duration = Duration::from_millis(250);

/// Puts a guard up on both sides, and waits until it is in force. Of several API servers behind one address, one answers for all.
pub(crate) async fn put_up(job: &Job, kinds: &BTreeSet<GroupKind>) -> Result<(), Failure> {
    // If one fails, the other still ends: a create that is under way could come after the removal.
    let (source, target) =
        tokio::join!(put_up_on(job, Side::Source, kinds), put_up_on(job, Side::Target, kinds));
    source.and(target)
}

async fn put_up_on(job: &Job, side: Side, kinds: &BTreeSet<GroupKind>) -> Result<(), Failure> {
    let handle = job.handle(side);
    let manifests = [policy_manifest(&job.move_id, kinds, None), binding_manifest(&job.move_id)];
    for ((kind, _), manifest) in POLICY_KINDS.into_iter().zip(manifests) {
        match handle.create(job.core_kind(side, POLICY_GROUP, kind)?, &manifest, Change::Real).await {
            // An earlier run of this move may have created it.
            Ok(_) | Err(PlaceError::AlreadyExists(_)) => {}
            Err(error) => {
                return Err(handle.request_failure("creating", Some(&key_of(job, kind)), error));
            }
        }
    }
    let (records, deadline) = (job.records(side)?, Instant::now() + PATIENCE);
    let probe = probe_manifest(&job.move_id, &job.options.record_namespace);
    let refusal = refusal_text(&job.move_id);
    loop {
        job.safe_point()?;
        match records.try_create(&probe).await? {
            Err(PlaceError::Forbidden(text) | PlaceError::Invalid(text)) if text.contains(&refusal) => {
                return Ok(());
            }
            Ok(_) if Instant::now() < deadline => sleep(ASK_EVERY).await,
            Ok(_) => return Err(Failure::from_refusal(refuse_without_effect(side))),
            Err(error) => return Err(handle.request_failure("looking for the guard's effect", None, error)),
        }
    }
}

fn refuse_without_effect(side: Side) -> Refusal {
    let seconds = PATIENCE.as_secs();
    Refusal {
        code: "guard-without-effect",
        side,
        object: None,
        others: Vec::new(),
        message: format!("the API server didn't apply the policy of the guard within {seconds} seconds"),
        remedies: vec!["find out why it applies no new policies, or move without a guard".into()],
    }
}

/// Extends the source's guard to the content of committed objects.
pub(crate) async fn cover_content(
    job: &Job,
    kinds: &BTreeSet<GroupKind>,
    list: &ReleaseList,
    providers: &[Provider],
) {
    let [(policy, _), _] = POLICY_KINDS;
    let (true, Ok(kind)) = (job.options.guard, job.core_kind(Side::Source, POLICY_GROUP, policy)) else {
        return;
    };
    let namespaces = providers.iter().map(|provider| provider.namespace.as_str()).collect();
    let patch = policy_manifest(&job.move_id, kinds, Some(&CommittedContent::new(list, namespaces)));
    if let Err(error) = job.source.patch(kind, &key_of(job, policy), &patch).await {
        let text = format!("the guard in the source doesn't refuse changes of content: {error}");
        job.report(Event::warning("guard-incomplete", text));
    }
}

/// Removes the guard of the move, if there is one.
pub(crate) async fn remove(job: &Job) {
    if job.may_have_guard {
        tokio::join!(remove_on(job, Side::Source), remove_on(job, Side::Target));
    }
}

/// A guard that is left covers nothing any more, so a failure is only reported.
async fn remove_on(job: &Job, side: Side) {
    let handle = job.handle(side);
    for (kind, _) in POLICY_KINDS.into_iter().rev().filter(|_| handle.end_kind.is_cluster()) {
        let Ok(served) = job.core_kind(side, POLICY_GROUP, kind) else { continue };
        match handle.delete(served, &key_of(job, kind), Preconditions::default()).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => {}
            // Most moves have no guard, and most users no permission to remove one.
            Err(PlaceError::Forbidden(_)) if !job.options.guard => return,
            Err(error) => {
                let flags = job.options.kubectl_flags.get(side).clone();
                let command = Kubectl { flags, ..removal_command(side, &job.move_id) };
                let text = format!("the guard in the {side} is left ({error}); to remove it: {command}");
                job.report(Event::warning("guard-left", text));
                return;
            }
        }
    }
}

fn key_of(job: &Job, kind: &str) -> Key {
    Key::new(GroupKind::new(POLICY_GROUP, kind), None, guard_name(&job.move_id))
}
