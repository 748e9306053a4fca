//! A move over a link: with the rules kept no promise is broken, and each broken rule is found.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use pivot_model::linked::promises::{
    ACTIVE_ONCE, ALONE, ALWAYS, AS_BEFORE, AS_COPIED, LAST_RESORT, MANAGES_ITSELF, MOVE_AGAIN, STANDS, WAITS,
    shown,
};
use pivot_model::linked::{Action, LinkRules, Linked, Linking, Way};
use stateright::{Checker, HasDiscoveries, Model, Path};

/// What happened, a line each.
fn steps(path: Path<Linking, Action>) -> String {
    path.into_actions().iter().fold(String::new(), |mut text, action| {
        writeln!(text, "  {action:?}").unwrap();
        text
    })
}

/// Explores exhaustively, however often runs die and links are cut.
fn explore(model: Linked) {
    let shows = shown(&model);
    let checker = model.checker().threads(2).spawn_bfs().join();
    println!("{} states, {} steps at most", checker.unique_state_count(), checker.max_depth());
    assert!(checker.is_done());
    let found = checker.discoveries();
    for (name, _) in ALWAYS {
        if let Some(path) = found.get(name) {
            panic!("{name}\n{}\n{:#?}", steps(path.clone()), path.last_state());
        }
    }
    for name in shows {
        assert!(found.contains_key(name), "not possible: {name}");
    }
}

/// Explores until the promise is broken.
fn finds(promise: &'static str, model: Linked) {
    let until = HasDiscoveries::AnyOf(BTreeSet::from([promise]));
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    let Some(path) = checker.discovery(promise) else {
        panic!("after {} states nothing was found against: {promise}", checker.unique_state_count());
    };
    println!("{promise}\n{}", steps(path));
}

fn pivot(rules: LinkRules) -> Linked {
    Linked::new(Way::Into, true).by(rules)
}

fn unpivot(rules: LinkRules) -> Linked {
    Linked::new(Way::OutOf, false).by(rules)
}

// proves: I10
#[test]
fn a_pivot_whose_child_waits_for_its_parent() {
    explore(Linked::new(Way::Into, false));
}

// proves: T71
#[test]
fn a_pivot_that_is_sealed_and_whose_child_finishes_alone() {
    explore(Linked::new(Way::Into, true));
}

// proves: I1
#[test]
fn an_unpivot() {
    explore(Linked::new(Way::OutOf, false));
}

#[test]
fn a_parent_that_commits_before_its_child() {
    let rules = LinkRules { target_commits_first: false, ..LinkRules::KEPT };
    finds(MOVE_AGAIN, pivot(rules));
    finds(MOVE_AGAIN, unpivot(rules));
}

#[test]
fn records_that_are_written_in_whatever_version() {
    let rules = LinkRules { compares_records: false, ..LinkRules::KEPT };
    finds(STANDS, pivot(rules));
    finds(ACTIVE_ONCE, unpivot(rules));
}

// proves: I3
#[test]
fn an_object_that_is_deleted_in_whatever_state() {
    let rules = LinkRules { deletes_as_copied: false, ..LinkRules::KEPT };
    finds(AS_COPIED, pivot(rules));
    finds(AS_COPIED, unpivot(rules));
}

#[test]
fn a_side_that_comes_back_and_does_not_look_at_what_runs() {
    let rules = LinkRules { looks_at_copies: false, ..LinkRules::KEPT };
    finds(STANDS, pivot(rules));
    finds(STANDS, unpivot(rules));
}

#[test]
fn a_record_in_the_target_that_is_taken_for_a_move() {
    let rules = LinkRules { refuses_orphans: false, ..LinkRules::KEPT };
    finds(ACTIVE_ONCE, pivot(rules));
    finds(ACTIVE_ONCE, unpivot(rules));
}

#[test]
fn a_run_that_stops_and_does_not_wait_for_its_answers() {
    let rules = LinkRules { waits_for_answers: false, ..LinkRules::KEPT };
    finds(AS_BEFORE, pivot(rules));
    finds(AS_BEFORE, unpivot(rules));
}

#[test]
fn what_a_dead_run_asked_over_an_old_link_and_nobody_ended() {
    let rules = LinkRules { ends_old_requests: false, ..LinkRules::KEPT };
    finds(AS_BEFORE, pivot(rules));
    finds(ALONE, pivot(rules));
    finds(AS_BEFORE, unpivot(rules));
}

// proves: I2
#[test]
fn a_seal_that_is_written_with_the_childs_record() {
    finds(ACTIVE_ONCE, pivot(LinkRules { seals_after_commit: false, ..LinkRules::KEPT }));
}

#[test]
fn copies_that_are_resumed_before_the_seal() {
    finds(WAITS, pivot(LinkRules { seals_before_resuming: false, ..LinkRules::KEPT }));
}

#[test]
fn a_child_that_finishes_alone_without_a_seal() {
    let rules = LinkRules { finishes_sealed_only: false, ..LinkRules::KEPT };
    finds(ACTIVE_ONCE, pivot(rules));
    finds(WAITS, pivot(rules));
}

#[test]
fn a_child_that_finishes_beside_its_parent() {
    finds(LAST_RESORT, pivot(LinkRules { finishes_when_away: false, ..LinkRules::KEPT }));
}

#[test]
fn a_child_that_answers_while_it_finishes() {
    finds(ALONE, pivot(LinkRules { refuses_meanwhile: false, ..LinkRules::KEPT }));
}

#[test]
fn a_child_that_resumes_and_does_not_settle() {
    finds(MANAGES_ITSELF, pivot(LinkRules { settles_alone: false, ..LinkRules::KEPT }));
}

#[test]
fn a_child_that_closes_the_move_that_it_finished() {
    finds(MOVE_AGAIN, pivot(LinkRules { leaves_open: false, ..LinkRules::KEPT }));
}
