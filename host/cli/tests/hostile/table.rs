//! The families, each as a test; and what came of them, as a table.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::case::Case;
use crate::opened::{Outcome, opened};
use crate::{components, directories, kubeconfigs, manifests, records, trust};

type Family = (&'static str, fn() -> Vec<Case>);

const FAMILIES: [Family; 6] = [
    ("components", components::cases),
    ("trust", trust::cases),
    ("directories", directories::cases),
    ("manifests", manifests::cases),
    ("kubeconfigs", kubeconfigs::cases),
    ("records", records::cases),
];

// proves: T1
#[test]
fn hostile_components_are_refused_quickly() {
    held(FAMILIES[0]);
}

// proves: T19
#[test]
fn invalid_trust_file_error_has_position() {
    held(FAMILIES[1]);
}

// proves: T76
#[test]
fn directories_are_refused_before_anything_is_changed() {
    held(FAMILIES[2]);
}

// proves: T79
#[test]
fn invalid_manifests_are_not_believed() {
    held(FAMILIES[3]);
}

// proves: T91, T113
#[test]
fn kubeconfigs_are_refused_without_their_credentials() {
    held(FAMILIES[4]);
}

// proves: T101, T105, T106
#[test]
fn servers_answers_and_records_are_bounded() {
    held(FAMILIES[5]);
}

fn held((family, cases): Family) {
    let only = std::env::var("CASE").unwrap_or_default();
    let mut cases: Vec<Case> = cases().into_iter().filter(|case| case.name.contains(&only)).collect();
    // Cases that wait begin first, and the others run meanwhile.
    cases.sort_by_key(|case| Reverse(case.time));
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = opened(case);
            outcomes.lock().unwrap().push((case, outcome));
        }
    };
    thread::scope(|scope| (0..2).for_each(|_| _ = scope.spawn(work)));
    let mut outcomes = outcomes.into_inner().unwrap();
    outcomes.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    let table = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hostile").join(format!("{family}.tsv"));
    fs::create_dir_all(table.parent().unwrap()).unwrap();
    fs::write(&table, text(&outcomes)).unwrap();
    let longest = outcomes.iter().map(|(_, outcome)| outcome.took).max().unwrap_or_default();
    let peak = outcomes.iter().map(|(_, outcome)| outcome.peak).max().unwrap_or_default();
    let words = outcomes.iter().map(|(_, outcome)| outcome.words).max().unwrap_or_default();
    println!(
        "{family}: {} cases; at most {}, {} MiB, {words} bytes of words: {}",
        outcomes.len(),
        seconds(longest),
        peak >> 10,
        table.display()
    );
    let wrong: Vec<String> = outcomes
        .iter()
        .filter(|(_, outcome)| !outcome.faults.is_empty())
        .map(|(case, Outcome { faults, .. })| format!("{}: {}", case.name, faults.join("\n    ")))
        .collect();
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), outcomes.len(), wrong.join("\n"));
}

fn text(outcomes: &[(&Case, Outcome)]) -> String {
    let mut text = "case\tcommand\texit\tright\ttook\tbound\tMiB\tbound\tbytes said\tbound\n".to_owned();
    for (case, Outcome { end, took, peak, words, .. }) in outcomes {
        let Case { name, line, codes, time, memory, words: most, .. } = case;
        let line: Vec<_> = line.iter().map(|word| word.display().to_string()).collect();
        let _ = writeln!(
            text,
            "{}\t{:?}\t{end}\t{codes:?}\t{}\t{}\t{}\t{}\t{words}\t{most}",
            name.escape_debug(),
            line.join(" "),
            seconds(*took),
            seconds(*time),
            peak >> 10,
            memory >> 10
        );
    }
    text
}

fn seconds(time: Duration) -> String {
    format!("{:.2}s", time.as_secs_f64())
}
