//! Finds guards that no move needs any more ([`pivot_core::records::guard`]).

use pivot_core::messages::shell::Kubectl;
use pivot_core::records::guard::{POLICY_GROUP, POLICY_KINDS, move_of_guard, removal_command, side_of_guard};
use pivot_core::{GroupKind, Side};

use crate::base::events::Event;
use crate::base::setup::Setup;
use crate::drive::open::Opened;

/// A guard that a cluster has.
pub(crate) struct SeenGuard {
    move_id: String,
    /// The role in which the cluster was read.
    pub(crate) read_as: Side,
    /// The role of the cluster in the move.
    pub(crate) put_up_as: Side,
}

/// Lists the guards of the opened clusters. Moves are read later: a move writes its record before its guard.
pub(crate) async fn list_guards(opened: &Opened) -> Vec<SeenGuard> {
    let [(policy, _), _] = POLICY_KINDS;
    let mut guards = Vec::new();
    for read_as in [Side::Source, Side::Target] {
        let handle = opened.sides.get(read_as);
        let kind = opened.kinds.get(read_as).get(&GroupKind::new(POLICY_GROUP, policy));
        let Some(kind) = kind.filter(|_| handle.end_kind.is_cluster()) else { continue };
        // Most users have no permission for policies, and most clusters no guard.
        let policies = handle.list_meta(kind, None).await.unwrap_or_else(|failure| {
            tracing::debug!(%failure, "guards are not known");
            Vec::new()
        });
        guards.extend(policies.iter().filter_map(|meta| {
            let move_id = move_of_guard(&meta.name)?.to_owned();
            Some(SeenGuard { move_id, read_as, put_up_as: side_of_guard(&meta.labels) })
        }));
    }
    guards
}

/// Reports guards of moves that are not under way. Until the commit, only the source has a record of a move.
pub(crate) fn report_left_guards(setup: &Setup, guards: &[SeenGuard], is_under_way: impl Fn(&str) -> bool) {
    for SeenGuard { move_id, read_as, put_up_as } in
        guards.iter().filter(|guard| !is_under_way(&guard.move_id))
    {
        setup.watcher.event(match put_up_as {
            Side::Source => {
                let flags = setup.options.kubectl_flags.get(*read_as).clone();
                let command = Kubectl { flags, ..removal_command(*read_as, move_id) };
                let text = format!(
                    "the {read_as} has a guard of move {move_id} out of it, but no record of that move in the namespace of records that was read; if no other namespace has one, remove the guard: {command}"
                );
                Event::warning("guard-left", text)
            }
            Side::Target => Event::note(
                "guard-left",
                format!(
                    "the {read_as} has a guard of move {move_id} into it, but no record of that move; see the status of its source"
                ),
            ),
        });
    }
}
