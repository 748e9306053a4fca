//! With one rule broken, the checker finds which promise the rule protects.

use std::collections::BTreeSet;

use pivot_model::properties::{
    ACTIVE_ONCE, AFTER_COMMIT, ALONE, CLAIMED, COPIED, EXISTS, MOVE_AGAIN, ROLL_BACK, SEEN, TWO_SIDES,
};
use pivot_model::{Config, Faults, Handover, Rules, Scope};
use stateright::{Checker, HasDiscoveries, Model};

use crate::{NO_FAULTS, trace};

/// Explores until the promise is broken.
fn finds(promise: &'static str, config: Config) {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let checker = Handover::new(config).checker().finish_when(until).spawn_bfs().join();
    let Some(path) = checker.discovery(promise) else {
        panic!("after {} states nothing was found against: {promise}", checker.unique_state_count());
    };
    println!("{promise}\n{}", trace(path));
}

const AGAIN: Config = Config::new(Scope::BOTH, Scope::BOTH);
const SHARED: Config = Config::new(Scope::BOTH, Scope::HOST);
const LATE: Config = Config::new(Scope::CLUSTER_THEN_HOST, Scope::HOST_THEN_CLUSTER);
const ALL_AND_ONE: Config = Config::new(Scope::ALL, Scope::CLUSTER);

#[test]
fn a_source_that_commits_before_the_target() {
    let config = AGAIN.with(Faults { crashes: 1, ..NO_FAULTS });
    let rules = Rules { target_commits_first: false, ..Rules::KEPT };
    finds(MOVE_AGAIN, config.by(rules));
    finds(ROLL_BACK, config.by(rules));
}

// proves: I2, T100
#[test]
fn copies_that_are_resumed_before_the_commit() {
    let config = AGAIN.with(Faults { crashes: 1, target: true, ..NO_FAULTS });
    let rules = Rules { resume_after_commit: false, ..Rules::KEPT };
    finds(AFTER_COMMIT, config.by(rules));
    finds(ACTIVE_ONCE, config.by(rules));
}

// proves: I3
#[test]
fn objects_that_are_deleted_in_whatever_version() {
    let config = AGAIN.with(Faults { edits: 1, ..NO_FAULTS });
    finds(COPIED, config.by(Rules { delete_by_version: false, ..Rules::KEPT }));
}

#[test]
fn no_look_at_the_other_kind_of_lock() {
    finds(ALONE, ALL_AND_ONE.by(Rules { look_at_other: false, ..Rules::KEPT }));
}

#[test]
fn claims_that_nobody_honors() {
    let config = LATE.with(Faults { crashes: 1, ..NO_FAULTS });
    finds(CLAIMED, config.by(Rules { honor_claims: false, ..Rules::KEPT }));
}

// proves: T124
#[test]
fn leases_that_are_taken_from_runs_that_live() {
    finds(ALONE, SHARED.by(Rules { wait_for_fence: false, ..Rules::KEPT }));
}

#[test]
fn leases_that_are_taken_in_another_version_than_was_watched() {
    let config = SHARED.with(Faults { crashes: 1, ..NO_FAULTS });
    finds(ALONE, config.by(Rules { take_watched_version: false, ..Rules::KEPT }));
}

// proves: T115
#[test]
fn a_take_over_that_does_not_wait() {
    let config = SHARED.with(Faults { take_overs: 1, ..NO_FAULTS });
    finds(ALONE, config.by(Rules { take_over_waits: false, ..Rules::KEPT }));
}

#[test]
fn a_take_over_that_overlooks_the_others_record() {
    let config = SHARED.with(Faults { take_overs: 1, ..NO_FAULTS });
    finds(CLAIMED, config.by(Rules { refuse_overlap: false, ..Rules::KEPT }));
}

#[test]
fn a_rollback_that_forgets_the_target_last() {
    let config = AGAIN.with(Faults { crashes: 2, ..NO_FAULTS });
    finds(MOVE_AGAIN, config.by(Rules { forget_target_first: false, ..Rules::KEPT }));
}

// proves: I1
#[test]
fn a_rollback_that_forgets_a_record_that_has_moved_on() {
    let config = AGAIN.with(Faults { crashes: 1, source: true, ..NO_FAULTS });
    finds(EXISTS, config.by(Rules { forget_by_version: false, ..Rules::KEPT }));
}

// proves: I11
#[test]
fn a_commit_that_waits_for_no_sign() {
    let config = Config { has_controllers: false, ..AGAIN };
    finds(SEEN, config.by(Rules { await_signs: false, ..Rules::KEPT }));
}

// proves: I9, T111
#[test]
fn a_cluster_that_is_not_told_from_itself() {
    let config = Config { to_itself: true, ..SHARED };
    finds(TWO_SIDES, config.by(Rules { tell_apart: false, ..Rules::KEPT }));
}
