//! A run that did not finish: the failure, the state of both sides, and the next commands.

use std::collections::BTreeMap;

use pivot_core::messages::grouping::{MAX_LISTED_NAMES, format_number, format_objects};
use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::shell::quote;
use pivot_core::records::saved_plan::Files;
use pivot_core::{Both, GroupKind, Key};
use pivot_engine::{Failure, Lines, Stop};

use super::text::Text;
use super::{Output, remedies};

/// Most refusals that are listed.
const REFUSALS: usize = 20;

/// Part of the result that was already printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlreadyShown {
    /// Nothing.
    Nothing,
    /// The refusals, as part of the plan.
    Refusals,
    /// The plan, without the failure.
    Plan,
}

/// Remedies and next commands of a stop.
#[derive(Clone, Debug)]
pub(crate) struct Advice {
    pub(super) remedies: Vec<Remedy>,
    /// Whole commands.
    pub(super) next: Vec<String>,
}

impl Advice {
    /// `flags` name the kubeconfig and the context of each side for kubectl.
    pub(crate) fn new(stop: &Stop, flags: &Both<Vec<String>>, next: Vec<String>) -> Self {
        Self { remedies: remedies::of_stop(stop, flags), next }
    }
}

/// The refusals of a failure, if it has any.
pub(crate) fn refusals_of(failure: &Failure) -> &[Refusal] {
    match failure {
        Failure::Refused(refusals) => refusals,
        _ => &[],
    }
}

/// Stand for the kubeconfigs of readers who run kubectl elsewhere: without any, a command would run against whichever cluster their
/// kubectl uses.
const PLACEHOLDERS: Both<&str> = Both { source: "SOURCE.kubeconfig", target: "TARGET.kubeconfig" };

/// As the flags of pivot-host that name both.
const BOTH_SIDES: &str = "--kubeconfig SOURCE.kubeconfig --to-kubeconfig TARGET.kubeconfig";

/// Returns flags of kubectl for readers who replace the names of the files.
pub(crate) fn placeholder_flags() -> Both<Vec<String>> {
    let flags = |file: &str| vec!["--kubeconfig".to_owned(), file.to_owned()];
    Both::new(flags(PLACEHOLDERS.source), flags(PLACEHOLDERS.target))
}

/// Returns the command that carries out a saved plan, for readers who replace the names of the files. `files` are the sides that are
/// directories.
pub(super) fn saved_plan_command(file: &str, is_handover: bool, files: &Both<Option<Files>>) -> String {
    let source = match files.source {
        None => "--kubeconfig SOURCE.kubeconfig",
        Some(Files::Plain) => "--from-directory SOURCE",
        Some(Files::Encrypted) => "--from-directory SOURCE --identity KEY.txt",
    };
    let (flag, key) = match files.target {
        None => ("--to-kubeconfig TARGET.kubeconfig", ""),
        Some(Files::Plain) => ("--to-directory TARGET", ""),
        Some(Files::Encrypted) => ("--to-directory TARGET", " --encrypt-to RECIPIENTS.txt"),
    };
    let (verb, target) = if is_handover { ("handover start", "TARGET") } else { ("move", flag) };
    format!("pivot-host {verb} {source} {target}{key} --plan {}", quote(file))
}

/// Returns the reason of a stop and its remedies, for readers of a status.
pub(crate) fn explain_stop(stop: &Stop) -> Text {
    let mut text = failure_text(stop, false, "");
    text.append(refusal_lines(refusals_of(&stop.failure), false));
    let remedies = remedies::of_stop(stop, &placeholder_flags());
    let remedies: Vec<String> = remedies.iter().map(remedies::pivot_remedy_text).collect();
    if !remedies.is_empty() {
        text.add_line(format!("fix: {}", remedies.join("; or ")));
    }
    text
}

/// Returns the failure, line by line, with each object.
pub(crate) fn failure_lines(stop: &Stop) -> Vec<String> {
    failure_text(stop, true, "").message().lines().map(str::to_owned).collect()
}

/// Points to the rest of a shortened list. A document has all of it.
const ALL: &str = "; -v shows them";

/// Returns the failure in words, with the command to continue; refusals are only counted here and listed separately. With `all`, each
/// object is named; otherwise `way` says where to find the rest.
pub(super) fn failure_text(stop: &Stop, all: bool, way: &str) -> Text {
    let text = |Lines { lines, more }: Lines| {
        let mut text: Text = lines.into_iter().collect();
        if more > 0 {
            text.add_line(format!("  and {} more{way}", format_number(more)));
        }
        text
    };
    match &stop.failure {
        Failure::Refused(refusals) => Text::from(match Refusal::group_similar(refusals).len() {
            1 => "refused, for 1 reason".to_owned(),
            several => format!("refused, for {several} reasons"),
        }),
        Failure::Several(_) => {
            let mut found = stop.failure.lines(all);
            if let Some(head) = found.lines.first_mut() {
                *head = "several moves are under way; name one of them by its ID:".to_owned();
            }
            text(found)
        }
        Failure::OtherEnd { into_directory, .. } => {
            let flag = if *into_directory { "--to-directory" } else { "--to-kubeconfig" };
            Text::from(format!("{stop}: name that with {flag}, or roll it back first"))
        }
        Failure::BegunByOther { move_id, phase, .. } => {
            let rollback = match phase.is_committed() {
                true => String::new(),
                false => format!(" or `pivot-host rollback {move_id} {BOTH_SIDES}`"),
            };
            Text::from(format!(
                "{stop}: its author continues it, if that Pivot still exists; otherwise an administrator, at a terminal, with `pivot-host \
                 resume {move_id} {BOTH_SIDES}`{rollback}"
            ))
        }
        Failure::Inputs(why) => Text::from(format!(
            "{why}; resume with the files that it was begun with (--with-manifest, --plan), or roll back, which needs none"
        )),
        Failure::Plugins { remedy, .. } => Text::from(format!("{stop}; {}", remedies::remedy_text(remedy))),
        failure => text(failure.lines(all)),
    }
}

/// Returns each problem with its remedies; several objects with the same problem share a line. With `all`, each of them is named.
pub(super) fn refusal_lines(refusals: &[Refusal], all: bool) -> Text {
    let (most, names) = if all { (usize::MAX, usize::MAX) } else { (REFUSALS, MAX_LISTED_NAMES) };
    let groups = Refusal::group_similar(refusals);
    let mut text = Text::default();
    for group in groups.iter().take(most) {
        let Refusal { code: _, side, object, others: meant, message, remedies } = group.first;
        text.add_line(format!("  - {side}: {message}"));
        if all && !meant.is_empty() {
            let mut kinds: BTreeMap<&GroupKind, Vec<&Key>> = BTreeMap::new();
            object.iter().chain(meant).for_each(|key| kinds.entry(&key.group_kind).or_default().push(key));
            for meant in kinds.values() {
                text.add_line(format!("    {}", format_objects(meant, usize::MAX)));
            }
        }
        let others = group.others();
        if !others.is_empty() {
            text.add_line(format!("    likewise {}", more_objects(&others, names)));
        }
        if !remedies.is_empty() {
            text.add_line(format!("    {}", remedies::remedies_sentence(remedies)));
        }
    }
    if let Some(left @ 1..) = groups.len().checked_sub(most) {
        text.add_line(format!("  and {} more{ALL}", format_number(left)));
    }
    text
}

/// `149 more Clusters: ns/b, ns/c, ns/d, … and 146 more`.
fn more_objects(others: &[&Key], names: usize) -> String {
    let counted = format_objects(others, names);
    match counted.split_once(' ') {
        Some((number, rest)) if others.len() > 1 => format!("{number} more {rest}"),
        _ => counted,
    }
}

impl Output {
    /// Reports a stop to people.
    pub(crate) fn report_stop(&self, stop: &Stop, shown: AlreadyShown, advice: &Advice) {
        let all = self.settings.verbose > 0;
        let mut text = failure_text(stop, all, ALL);
        if shown != AlreadyShown::Refusals {
            text.append(refusal_lines(refusals_of(&stop.failure), all));
        }
        self.fail(text);
        self.alternatives("fix: ", advice.remedies.iter().map(remedies::remedy_text));
        self.state(&stop.state, &advice.next);
    }

    /// Prints the state of both sides, and the next commands.
    pub(crate) fn state(&self, state: &str, next: &[String]) {
        self.say(format!("state: {state}"));
        self.alternatives("next:", next.iter().cloned());
    }

    /// Prints one line for each alternative.
    fn alternatives(&self, head: &str, ways: impl Iterator<Item = String>) {
        for (index, way) in ways.enumerate() {
            let word = if index == 0 { head } else { "   or" };
            self.say(format!("{word}  {way}"));
        }
    }
}
