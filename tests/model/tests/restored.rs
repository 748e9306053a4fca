//! A side that is restored from a backup: with the rules kept no promise is broken, and each broken rule is found.

use pivot_model::restored::{
    DELETED, KEPT, LEFT_ALONE, MOVED, ONCE, ROLLED_BACK, Restorable, RestoreRules, Restored, SEEN,
};
use stateright::{Checker, Model, Path};

/// The properties for which the checker has something to show: broken promises, and what is possible.
fn find(rules: RestoreRules) -> Vec<&'static str> {
    let checker = Restored(rules).checker().spawn_bfs().join();
    assert!(checker.is_done());
    println!("{} states, {} steps at most", checker.unique_state_count(), checker.max_depth());
    let mut found = Vec::new();
    for (name, path) in checker.discoveries() {
        if [KEPT, ONCE, LEFT_ALONE].contains(&name) {
            println!("{name}\n{}", describe(path));
        }
        found.push(name);
    }
    found.sort_unstable();
    found
}

fn describe(path: Path<Restorable, pivot_model::restored::Happening>) -> String {
    path.into_actions().iter().map(|action| format!("  {action:?}\n")).collect()
}

// proves: I14, T164, T165
#[test]
fn restores_at_any_step_cost_no_object() {
    let mut possible: Vec<_> =
        SEEN.iter().map(|(name, _)| *name).chain([MOVED, ROLLED_BACK, DELETED]).collect();
    possible.sort_unstable();
    assert_eq!(find(RestoreRules::KEPT), possible);
}

#[test]
fn source_that_is_out_of_date_without_proof() {
    assert!(find(RestoreRules { demands_running_copies: false, ..RestoreRules::KEPT }).contains(&KEPT));
}

#[test]
fn rollback_that_looks_for_no_originals() {
    assert!(find(RestoreRules { looks_for_originals: false, ..RestoreRules::KEPT }).contains(&KEPT));
}

#[test]
fn rollback_that_looks_for_no_running_copies() {
    let found = find(RestoreRules { looks_for_running_copies: false, ..RestoreRules::KEPT });
    assert!(found.contains(&LEFT_ALONE), "{found:?}");
}

#[test]
fn move_that_takes_existing_copies_for_its_own() {
    let found = find(RestoreRules { refuses_existing_copies: false, ..RestoreRules::KEPT });
    assert!(found.contains(&LEFT_ALONE), "{found:?}");
}
