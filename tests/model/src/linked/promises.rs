//! What must always hold, and what must be possible.

use stateright::Property;

use crate::linked::rules::{Linked, Way};
use crate::linked::state::Linking;
use crate::pair::{Item, OneOfTwo};
use crate::state::{End, Phase};

/// Invariant 1.
pub const EXISTS: &str = "link, 1: each object exists on at least one side";
/// Invariant 2.
pub const ACTIVE_ONCE: &str = "link, 2: no object is active on both sides";
/// Invariant 3.
pub const AS_COPIED: &str = "link, 3: nothing is deleted in a state that was not copied";
/// Invariant 10, forward.
pub const MOVE_AGAIN: &str = "link, 10: typed again, a move ends";
/// Invariant 10, back.
pub const ROLL_BACK: &str = "link, 10: rolled back, or typed again where that is refused, a move ends";
/// Nothing follows a rollback.
pub const AS_BEFORE: &str = "link: after a rollback everything is as before";
/// What `--without-source` made, a parent that comes back leaves alone.
pub const STANDS: &str = "link: no copy that runs is removed";
/// Two engines never work in the child at the same time.
pub const ALONE: &str = "link: nothing that the cell asked takes effect while the agent finishes alone";
/// The agent is no second opinion.
pub const LAST_RESORT: &str = "link: the agent finishes alone only if the parent can't be asked";
/// Sealed, and the parent gone for good.
pub const MANAGES_ITSELF: &str = "link: with the parent gone for good, a sealed child manages itself";
/// Not sealed.
pub const WAITS: &str = "link: no copy runs in a child that is not sealed, but by a person's decision";

type Condition = fn(&Linked, &Linking) -> bool;

/// What must hold in every state.
pub const ALWAYS: [(&str, Condition); 11] = [
    (EXISTS, |_, state| {
        Item::BOTH.into_iter().all(|item| state.originals[item].is_some() || state.copies[item].is_some())
    }),
    (ACTIVE_ONCE, |_, state| {
        let original = |item: &Item| state.originals[*item].is_some_and(|original| original.active);
        let copy = |item: &Item| state.copies[*item].is_some_and(|copy| copy.active);
        !Item::BOTH.iter().any(|item| original(item) && copy(item))
    }),
    (AS_COPIED, |_, state| !state.past.lost),
    (MOVE_AGAIN, |model, state| model.ends(state, false)),
    (ROLL_BACK, |model, state| model.ends(state, true)),
    (AS_BEFORE, |_, state| state.ended != Some(End::RolledBack) || state.past.decided || is_as_before(state)),
    (STANDS, |_, state| !state.past.tore_down),
    (ALONE, |_, state| !state.past.together),
    (LAST_RESORT, |_, state| !state.past.hasty),
    (MANAGES_ITSELF, |model, state| model.manages_itself(state)),
    (WAITS, |model, state| !model.seals || model.way == Way::OutOf || waits(state)),
];

/// A move succeeds.
pub const MOVED: &str = "link: a move ends";
/// A rollback succeeds.
pub const ROLLED_BACK: &str = "link: a rollback ends";
/// The agent finishes alone, and the parent that comes back closes the move.
pub const CLOSED_LATER: &str = "link: a move that the agent finished is closed by the parent that comes back";
/// A child whose parent is gone manages itself.
pub const WITHOUT_PARENT: &str = "link: a child whose parent is gone manages itself";

fn possible(name: &'static str) -> Condition {
    match name {
        MOVED => |_, state| state.ended == Some(End::Moved) && !state.past.decided,
        ROLLED_BACK => |_, state| state.ended == Some(End::RolledBack) && !state.past.decided,
        CLOSED_LATER => |_, state| state.ended == Some(End::Moved) && state.past.alone,
        _ => |_, state| state.parent_gone && state.past.alone && state.runs(),
    }
}

/// Everything that is checked, and what this direction must be able to show.
pub fn all(model: &Linked) -> Vec<Property<Linked>> {
    let always = ALWAYS.into_iter().map(|(name, condition)| Property::always(name, condition));
    let sometimes = shown(model).iter().map(|name| Property::sometimes(name, possible(name)));
    always.chain(sometimes).collect()
}

/// What must be possible.
pub fn shown(model: &Linked) -> &'static [&'static str] {
    match (model.way, model.seals) {
        (Way::Into, true) => &[MOVED, ROLLED_BACK, CLOSED_LATER, WITHOUT_PARENT],
        _ => &[MOVED, ROLLED_BACK],
    }
}

fn is_as_before(state: &Linking) -> bool {
    let back = |item: &Item| {
        state.originals[*item].is_some_and(|original| original.active) && state.copies[*item].is_none()
    };
    state.at_source.is_none() && state.at_target.is_none() && Item::BOTH.iter().all(back)
}

fn waits(state: &Linking) -> bool {
    let running = Item::BOTH.iter().any(|item| state.copies[*item].is_some_and(|copy| copy.active));
    let sealed = state.at_target.is_some_and(|record| record.sealed || record.phase == Phase::Finished);
    !running || sealed || state.past.decided
}
