//! With all rules kept, every reachable state is visited, and no promise is broken.

use pivot_model::properties::{ALWAYS, BACKS_OFF, KEPT_OUT, MOVED, ROLLED_BACK, STALE_TAKEN};
use pivot_model::{Config, Faults, Handover, Scope};
use stateright::{Checker, Model};

use crate::{NO_FAULTS, trace};

const ALL_OF_IT: &[&str] = &[MOVED, ROLLED_BACK, BACKS_OFF, KEPT_OUT, STALE_TAKEN];
/// If the first requested lock is claimed, nothing is held that could be released.
const ALL_BUT_CLAIMS: &[&str] = &[MOVED, ROLLED_BACK, BACKS_OFF, STALE_TAKEN];
const BOTH_WAYS: &[&str] = &[MOVED, ROLLED_BACK];

/// Explores everything, if it is set and not empty.
const LANDING: &str = "PIVOT_HOST_LANDING";
/// States that are explored otherwise, as by `cargo test`: those with the fewest steps.
const FEW: usize = 100_000;

/// Explores exhaustively. That nothing is left to visit follows from the promises that hold: the checker ends early only when it
/// has something to report for each property.
fn explore(config: Config) {
    let builder = Handover::new(config).checker().threads(2);
    let is_brief = std::env::var_os(LANDING).is_none_or(|value| value.is_empty());
    let builder = if is_brief { builder.target_state_count(FEW) } else { builder };
    let checker = builder.spawn_bfs().join();
    println!("{} states, {} steps at most", checker.unique_state_count(), checker.max_depth());
    let is_cut = is_brief && checker.state_count() >= FEW;
    assert!(is_cut || checker.is_done());
    let found = checker.discoveries();
    for (name, _) in ALWAYS {
        if let Some(path) = found.get(name) {
            panic!("{name}\n{}\n{:#?}", trace(path.clone()), path.last_state());
        }
    }
    for name in config.shows.iter().filter(|_| !is_cut) {
        assert!(found.contains_key(name), "not possible: {name}");
    }
}

// proves: I10
#[test]
fn the_same_move_again_beside_runs_that_die() {
    let faults = Faults { crashes: 2, ..NO_FAULTS };
    explore(Config::new(Scope::BOTH, Scope::BOTH).with(faults).showing(ALL_BUT_CLAIMS));
}

#[test]
fn the_same_move_again_while_an_answer_is_lost() {
    let faults = Faults { crashes: 1, answers: 1, ..NO_FAULTS };
    explore(Config::new(Scope::BOTH, Scope::BOTH).with(faults).showing(ALL_BUT_CLAIMS));
}

#[test]
fn the_same_move_again_while_a_user_edits() {
    let faults = Faults { crashes: 1, edits: 1, ..NO_FAULTS };
    explore(Config::new(Scope::BOTH, Scope::BOTH).with(faults).showing(ALL_BUT_CLAIMS));
}

#[test]
fn the_same_move_again_while_a_side_is_lost() {
    let faults = Faults { crashes: 1, source: true, target: true, ..NO_FAULTS };
    explore(Config::new(Scope::BOTH, Scope::BOTH).with(faults).showing(ALL_BUT_CLAIMS));
}

// proves: T125
#[test]
fn the_same_move_again_takes_over_from_a_run_that_lives() {
    let faults = Faults { take_overs: 1, ..NO_FAULTS };
    explore(Config::new(Scope::BOTH, Scope::BOTH).with(faults).showing(BOTH_WAYS));
}

// proves: T123
#[test]
fn two_moves_share_a_namespace() {
    let config = Config::new(Scope::BOTH, Scope::HOST).showing(ALL_OF_IT);
    explore(config.with(Faults { crashes: 2, ..NO_FAULTS }));
    explore(config.with(Faults { crashes: 1, answers: 1, edits: 1, ..NO_FAULTS }));
    explore(config.with(Faults { crashes: 1, take_overs: 1, ..NO_FAULTS }));
}

#[test]
fn two_moves_find_each_others_namespace_late() {
    let config = Config::new(Scope::CLUSTER_THEN_HOST, Scope::HOST_THEN_CLUSTER).showing(ALL_BUT_CLAIMS);
    explore(config.with(Faults { crashes: 2, answers: 1, ..NO_FAULTS }));
    explore(config.with(Faults { crashes: 1, source: true, target: true, ..NO_FAULTS }));
}

// proves: T123
#[test]
fn a_move_of_everything_meets_a_move_of_one_namespace() {
    let config = Config::new(Scope::ALL, Scope::CLUSTER).showing(ALL_OF_IT);
    explore(config.with(Faults { crashes: 2, ..NO_FAULTS }));
    explore(config.with(Faults { crashes: 1, answers: 1, ..NO_FAULTS }));
    explore(config.with(Faults { crashes: 1, take_overs: 1, ..NO_FAULTS }));
}

// proves: I11
#[test]
fn a_target_without_controllers_is_rolled_back() {
    let config = Config::new(Scope::BOTH, Scope::BOTH).showing(&[ROLLED_BACK]);
    let faults = Faults { crashes: 1, answers: 1, ..NO_FAULTS };
    explore(Config { has_controllers: false, ..config.with(faults) });
}

#[test]
fn a_cluster_is_named_twice() {
    let config = Config::new(Scope::BOTH, Scope::HOST).showing(BOTH_WAYS);
    explore(Config { to_itself: true, ..config.with(Faults { crashes: 1, ..NO_FAULTS }) });
}
