//! The source goes back.

use pivot_lab::Revision;
use pivot_lab::observer::Side;

use super::*;

const TAKEN_OVER: &str = "the target has taken over, the source is out of date";
/// Of a move that has ended, only the target has anything.
const CLAIMED: &str =
    "only the target says that it has taken over; if it has, the source is out of date, and runs";
const RUNS_ON_BOTH: &str = "the target has taken over, the source is out of date, and runs";

const PART_RELEASED: &str =
    "the target runs; part of the source is deleted, the rest of it is paused by this move";

const SCENES: [Scene; 10] = [
    Scene {
        namespace: "row-3",
        before: Some(Step::StopBeforeRelease),
        lost: Some(Step::End),
        // No controller writes to the copies.
        state: PART_TAKEN_OVER,
        refusal: Some("no complete copy that runs"),
        then: Some(Step::AcceptInVain),
    },
    Scene {
        namespace: "row-4a",
        before: None,
        lost: Some(Step::Die(HALF_COMMITTED)),
        state: "the source is authoritative and was unpaused; the target may hold copies, paused",
        refusal: None,
        then: Some(Step::RollBack),
    },
    Scene {
        namespace: "row-5-forward",
        before: Some(Step::Die(COPIED)),
        lost: Some(Step::Die(BEFORE_UNPAUSE)),
        state: HALF_COPIED,
        refusal: None,
        then: Some(Step::End),
    },
    Scene {
        namespace: "row-5-back",
        before: Some(Step::Die(COPIED)),
        lost: Some(Step::Die(BEFORE_UNPAUSE)),
        state: HALF_COPIED,
        refusal: None,
        then: Some(Step::RollBack),
    },
    Scene {
        namespace: "row-6-unmoved",
        before: None,
        lost: Some(Step::StopBeforeRelease),
        state: RUNS_ON_BOTH,
        refusal: Some("may be managed twice"),
        then: Some(Step::PauseSource),
    },
    Scene {
        namespace: "row-6-paused",
        before: Some(Step::Die(PAUSED)),
        lost: Some(Step::StopBeforeRelease),
        state: TAKEN_OVER,
        refusal: Some("what the source has is out of date"),
        then: Some(Step::DeleteFromSource),
    },
    Scene {
        namespace: "row-6-copied",
        before: Some(Step::Die(PART_COPIED)),
        lost: Some(Step::Die(PART_DELETED)),
        state: TAKEN_OVER,
        refusal: Some("what the source has is out of date"),
        then: Some(Step::DeleteFromSource),
    },
    Scene {
        namespace: "row-6-ended",
        before: Some(Step::Die(PART_COPIED)),
        lost: Some(Step::End),
        state: TAKEN_OVER,
        refusal: Some("what the source has is out of date"),
        then: Some(Step::AcceptInVain),
    },
    Scene {
        namespace: "row-6-forgotten",
        before: None,
        lost: Some(Step::End),
        state: CLAIMED,
        refusal: Some("may be managed twice"),
        then: Some(Step::PauseSource),
    },
    Scene {
        namespace: "whole-again",
        before: Some(Step::Die(COMMITTED)),
        lost: Some(Step::Die(PART_DELETED)),
        state: PART_RELEASED,
        refusal: None,
        then: Some(Step::End),
    },
];

// proves: I14, T162, T164, T165, T166, T169
#[tokio::test(flavor = "multi_thread")]
async fn restored_source_costs_no_running_copy() {
    for revision in revisions(Revision::Ahead) {
        let moves = play(&SCENES, Side::Source, revision).await;
        moves.advice.ensure_recorded("source", &SCENES);
    }
}
