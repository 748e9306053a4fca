//! Finds guards that no move needs any more ([`pivot_core::records::guard`]).

use pivot_core::messages::shell::Kubectl;
use pivot_core::records::guard::{POLICY_GROUP, POLICY_KINDS, move_of_guard, removal_command};
use pivot_core::{GroupKind, Side};

use crate::base::events::Event;
use crate::base::setup::Setup;
use crate::drive::open::Opened;

/// Warns of guards of moves that are not under way. A move writes its record before its guard.
pub(crate) async fn warn_of_left_guards(setup: &Setup, opened: &Opened, is_under_way: impl Fn(&str) -> bool) {
    let [(policy, _), _] = POLICY_KINDS;
    for side in [Side::Source, Side::Target] {
        let Some(kind) = opened.kinds.get(side).get(&GroupKind::new(POLICY_GROUP, policy)) else { continue };
        let handle = opened.sides.get(side);
        if !handle.end_kind.is_cluster() {
            continue;
        }
        // Most users have no permission for policies, and most clusters no guard.
        let policies = handle.list_meta(kind, None).await.unwrap_or_else(|failure| {
            tracing::debug!(%failure, "guards are not known");
            Vec::new()
        });
        for id in policies.iter().filter_map(|meta| move_of_guard(&meta.name)).filter(|id| !is_under_way(id))
        {
            let flags = setup.options.kubectl_flags.get(side).clone();
            let command = Kubectl { flags, ..removal_command(side, id) };
            let text = format!(
                "the {side} has a guard of move {id}, but no record of that move; unless another cluster has one, remove the guard: {command}"
            );
            setup.watcher.event(Event::warning("guard-left", text));
        }
    }
}
