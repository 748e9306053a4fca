//! A source that is handed over in files: with the rules kept no promise is broken, and each broken rule is found.

use pivot_model::files::{AS_COPIED, BACK, FileRules, Files, KEPT, ONCE, RELEASED};
use stateright::{Checker, Model};

/// The properties for which the checker has something to show: broken promises, and ends that are possible.
fn found(rules: FileRules) -> Vec<&'static str> {
    let checker = Files(rules).checker().spawn_bfs().join();
    let mut found: Vec<_> = checker.discoveries().into_keys().collect();
    found.sort_unstable();
    found
}

#[test]
fn a_source_that_is_handed_over_in_files() {
    assert_eq!(found(FileRules::KEPT), [RELEASED, BACK]);
}

#[test]
fn a_handover_that_is_released_without_its_import() {
    assert!(found(FileRules { asks_for_import: false, ..FileRules::KEPT }).contains(&KEPT));
}

#[test]
fn a_handover_that_deletes_what_was_not_copied() {
    assert!(found(FileRules { deletes_what_was_copied: false, ..FileRules::KEPT }).contains(&AS_COPIED));
}

#[test]
fn a_handover_that_is_rolled_back_after_its_import() {
    assert!(found(FileRules { asks_before_rollback: false, ..FileRules::KEPT }).contains(&ONCE));
}

#[test]
fn a_rollback_of_a_handover_that_dies_before_its_record_knows() {
    assert!(found(FileRules { withdraws_first: false, ..FileRules::KEPT }).contains(&ONCE));
}

#[test]
fn files_that_are_complete_before_the_record_knows() {
    assert!(found(FileRules { records_before_closing: false, ..FileRules::KEPT }).contains(&ONCE));
}
