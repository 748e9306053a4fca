//! The dangers that a run's options accept.

use std::collections::BTreeSet;

use pivot_core::GroupKind;
use pivot_core::scope::Scope;

use super::{Danger, Event};
use crate::options::Options;

/// One event for each danger.
pub(crate) fn accepted(options: &Options) -> Vec<Event> {
    let Scope {
        format: _,
        namespaces: _,
        clusters: _,
        exclude: _,
        carry: _,
        added: _,
        drop_owners,
        accept_loss,
        without_plugin_for,
        accept_shared,
        namespace_map: _,
        accept_old_namespace,
        move_paused,
        accept_unprovisioned,
        source_is_off,
    } = &options.scope;
    let of_kinds = [
        (Danger::OwnersDropped, drop_owners),
        (Danger::DependentsLost, accept_loss),
        (Danger::NoPlugin, without_plugin_for),
        (Danger::PoolsShared, accept_shared),
        (Danger::OldNamespaces, accept_old_namespace),
        (Danger::KindsUnverified, &options.accept_unverified),
        (Danger::CopiesChanged, &options.accept_changed),
    ];
    let plain = [
        (Danger::AlreadyPaused, *move_paused),
        (Danger::NotProvisioned, *accept_unprovisioned),
        (Danger::SourceMayLiveOn, *source_is_off),
        (Danger::ExistingDiffers, options.use_existing),
        (Danger::PauseUnconfirmed, options.assume_paused),
        (Danger::TargetUnconfirmed, options.no_wait),
        (Danger::LeaseTakenOver, options.take_over),
        (Danger::PluginsChanged, options.accept_plugin_change),
        (Danger::SourceGone, options.source_gone),
        (Danger::TargetGone, options.target_gone),
        (Danger::WorldChanged, options.world_changed),
        (Danger::NotImported, options.not_imported),
    ];
    let event = |danger, kinds: &BTreeSet<GroupKind>| Event::Accepted {
        danger,
        kinds: kinds.iter().cloned().collect(),
    };
    let of_kinds = of_kinds.into_iter().filter(|(_, kinds)| !kinds.is_empty());
    let plain = plain.into_iter().filter(|(_, accepted)| *accepted);
    of_kinds
        .map(|(danger, kinds)| event(danger, kinds))
        .chain(plain.map(|(danger, _)| event(danger, &BTreeSet::new())))
        .collect()
}

/// The same in words, for the summary that a move leaves behind: `dependents-lost Machine.cluster.x-k8s.io`.
pub fn accepted_in_words(options: &Options) -> Vec<String> {
    let words = |event| {
        let Event::Accepted { danger, kinds } = event else { return None };
        let danger = serde_json::to_value(danger).ok()?.as_str()?.to_owned();
        let kinds = kinds.iter().map(|kind| format!(" {kind}"));
        Some(std::iter::once(danger).chain(kinds).collect())
    };
    accepted(options).into_iter().filter_map(words).collect()
}
