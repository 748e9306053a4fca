//! Writes and removes the guard of a move ([`pivot_core::records::guard`]).

use std::collections::BTreeSet;
use std::time::Duration;

use pivot_core::checks::providers::Provider;
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::shell::Kubectl;
use pivot_core::records::guard::{
    CommittedContent, MAX_SCALED, POLICY_GROUP, POLICY_KINDS, binding_manifest, guard_name, policy_manifest,
    probe_manifest, refusal_text, removal_command,
};
use pivot_core::records::release::ReleaseList;
use pivot_core::{GroupKind, Key, Side};
use pivot_places::{Change, PlaceError, Preconditions};
use tokio::time::{Instant, sleep};

use crate::base::events::Event;
use crate::base::job::Job;
use crate::base::outcome::failure::Failure;

/// Longest wait for a server to apply the policies.
const MAX_POLICY_WAIT: Duration = Duration::from_secs(15);
const PROBE_PAUSE: Duration = Duration::from_millis(250);
/// A namespace that each cluster has, and in which no Clusters are. So no move gives it another name.
const COMMON_NAMESPACE: &str = "kube-public";

/// Puts a guard up on both sides, and waits until it is in force. If several API servers share an address, one answers for all.
pub(crate) async fn create_and_await(job: &Job, kinds: &BTreeSet<GroupKind>) -> Result<(), Failure> {
    // If one fails, the other still ends: a create that is under way could come after the removal.
    let (source, target) = tokio::join!(
        create_and_await_on(job, Side::Source, kinds),
        create_and_await_on(job, Side::Target, kinds)
    );
    source.and(target)
}

async fn create_and_await_on(job: &Job, side: Side, kinds: &BTreeSet<GroupKind>) -> Result<(), Failure> {
    let handle = job.handle(side);
    let manifests = [policy_manifest(side, &job.move_id, kinds, None), binding_manifest(side, &job.move_id)];
    for ((kind, _), manifest) in POLICY_KINDS.into_iter().zip(manifests) {
        let (served, key) = (job.core_kind(side, POLICY_GROUP, kind)?, key_of(job, kind));
        let written = match handle.create(served, &manifest, Change::Real).await {
            // An earlier run of this move created it, for the kinds that it had read.
            Err(PlaceError::AlreadyExists(_)) => handle.patch(served, &key, &manifest).await,
            answer => answer,
        };
        written.map_err(|error| handle.request_failure("writing", Some(&key), error))?;
    }
    let (config_maps, deadline) = (job.core_kind(side, "", "ConfigMap")?, Instant::now() + MAX_POLICY_WAIT);
    let mut namespace = job.options.record_namespace.as_str();
    let refusal = refusal_text(&job.move_id);
    loop {
        job.safe_point()?;
        let probe = probe_manifest(&job.move_id, namespace);
        match handle.create(config_maps, &probe, Change::DryRun).await {
            // The move may still be refused, so it creates no namespace yet.
            Err(PlaceError::NotFound(_)) if namespace != COMMON_NAMESPACE => namespace = COMMON_NAMESPACE,
            Err(PlaceError::Forbidden(text) | PlaceError::Invalid(text)) if text.contains(&refusal) => {
                return Ok(());
            }
            // Before the policy is applied, a webhook or a quota may refuse the request.
            Ok(_) | Err(PlaceError::Forbidden(_) | PlaceError::Invalid(_)) if Instant::now() < deadline => {
                sleep(PROBE_PAUSE).await;
            }
            Ok(_) => {
                let seconds = MAX_POLICY_WAIT.as_secs();
                let message =
                    format!("the API server didn't apply the policy of the guard within {seconds} seconds");
                return Err(refuse_without_effect(side, message));
            }
            Err(PlaceError::Forbidden(text) | PlaceError::Invalid(text)) => {
                let message =
                    format!("nothing shows that the guard is in force, because a dry run failed ({text})");
                return Err(refuse_without_effect(side, message));
            }
            Err(error) => return Err(handle.request_failure("looking for the guard's effect", None, error)),
        }
    }
}

fn refuse_without_effect(side: Side, message: String) -> Failure {
    Failure::from_refusal(Refusal {
        code: "guard-without-effect",
        side,
        object: None,
        others: Vec::new(),
        message,
        remedies: vec![
            "find out why (dry runs fail if a webhook doesn't support them), or move without a guard".into(),
        ],
    })
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
    let content = CommittedContent::new(list, namespaces);
    let patch = policy_manifest(Side::Source, &job.move_id, kinds, Some(&content));
    let text = match job.source.patch(kind, &key_of(job, policy), &patch).await {
        Err(error) => format!("the guard in the source doesn't refuse changes of spec and scaling: {error}"),
        Ok(_) if !content.is_whole => {
            format!(
                "the guard in the source covers the scaling of only {MAX_SCALED} of the objects that move"
            )
        }
        Ok(_) => return,
    };
    job.report(Event::warning("guard-incomplete", text));
}

/// Removes the guard of a move that ends, if there is one. A guard that is left covers nothing any more.
pub(crate) async fn remove(job: &Job) {
    tokio::join!(remove_on(job, Side::Source, false), remove_on(job, Side::Target, false));
}

/// Removes the guard of a move that is recovered, if there is one. Users may correct Clusters that stay paused on either side. A target
/// that was restored may have the guard again.
pub(crate) async fn remove_for_recovery(job: &Job) {
    tokio::join!(remove_on(job, Side::Source, true), remove_on(job, Side::Target, true));
}

/// Removes the guard on one side, if there is one. A failure is only reported. If a guard that is left is `in_the_way`, missing
/// permissions are reported, too.
async fn remove_on(job: &Job, side: Side, in_the_way: bool) {
    let handle = job.handle(side);
    let may_be_there = job.may_have_guard && handle.end_kind.is_cluster();
    for (kind, _) in POLICY_KINDS.into_iter().rev().filter(|_| may_be_there) {
        let Ok(served) = job.core_kind(side, POLICY_GROUP, kind) else { continue };
        match handle.delete(served, &key_of(job, kind), Preconditions::default()).await {
            Ok(()) | Err(PlaceError::NotFound(_)) => {}
            // Most moves have no guard, and most users no permission to remove one.
            Err(PlaceError::Forbidden(_)) if !job.options.guard && !in_the_way => return,
            Err(error) => {
                let flags = job.options.kubectl_flags.get(side).clone();
                let command = Kubectl { flags, ..removal_command(side, &job.move_id) };
                let text = format!(
                    "if the {side} has a guard of this move, it is left ({error}); to remove it: {command}"
                );
                job.report(Event::warning("guard-left", text));
                return;
            }
        }
    }
}

fn key_of(job: &Job, kind: &str) -> Key {
    Key::new(GroupKind::new(POLICY_GROUP, kind), None, guard_name(&job.move_id))
}
