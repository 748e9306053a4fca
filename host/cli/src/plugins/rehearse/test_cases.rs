//! A rehearsal as test cases: one for each object and hook, and one for the outcome.

use super::super::junit::{JunitCase, JunitResult};
use super::report::Rehearsal;

pub(super) fn list_cases(rehearsal: &Rehearsal) -> Vec<JunitCase> {
    let Rehearsal { calls, never_called, error, .. } = rehearsal;
    // The last of several calls decides: a plugin that waited may have continued.
    let last = calls
        .iter()
        .enumerate()
        .filter(|(index, call)| !calls.iter().skip(index + 1).any(|later| later.has_subject_of(call)));
    let called = last.map(|(_, call)| JunitCase {
        class: call.plugin.clone(),
        name: call.subject(),
        result: match call.describe_failure() {
            Some((code, message)) => JunitResult::Failed { code, message },
            None => JunitResult::Passed(call.decision_lines().join("\n")),
        },
    });
    let skipped = never_called.iter().map(|one| JunitCase {
        class: one.plugin.clone(),
        name: one.name(),
        result: JunitResult::Skipped("never called"),
    });
    let outcome = JunitCase {
        class: "move".to_owned(),
        name: "outcome".to_owned(),
        result: match error {
            Some(error) => JunitResult::Failed { code: "stopped".to_owned(), message: error.clone() },
            None => JunitResult::Passed(String::new()),
        },
    };
    called.chain(skipped).chain([outcome]).collect()
}
