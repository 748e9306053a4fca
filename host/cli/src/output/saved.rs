//! A saved plan for people: the answers first, then the problems, the Clusters, and everything else.

use pivot_core::Both;
use pivot_core::messages::grouping::format_number;
use pivot_core::messages::refusal::some_of;
use pivot_core::objects::names::GROUP_CLUSTER;
use pivot_core::records::saved_plan::{SavedFate, SavedPlan, SavedRefusal};
use pivot_engine::Summary;

use super::answer::{NeededObject, describe_pause, find_needed_objects};
use super::happened::ReportedRisk;
use super::lines::count_text;
use super::messages::group_notes;
use super::stop;
use super::text::Text;

pub(crate) use differences::{ComparedPlans, differences_text, list_aspect_changes};
pub(super) use lists::describe_plugins;

mod differences;
mod lists;

/// Most needed objects that the answer names.
const MAX_NEEDED_OBJECTS: usize = 3;
/// Start of the text of an answer.
const ANSWER_COLUMN: usize = 24;

/// Advice about a plan without a target.
const PLAN_WITH_TARGET: &str = "Name the target, and plan again.";

/// The judgement of a saved plan, for a terminal and for a page.
pub(super) struct SavedVerdict {
    /// `good`, `bad` or `warn`.
    pub(super) sign: &'static str,
    pub(super) text: String,
    pub(super) accepted: Vec<ReportedRisk>,
    pub(super) pause: Option<&'static str>,
    /// The command that carries the plan out.
    pub(super) command: Option<String>,
    /// The advice about a plan that no move carries out.
    pub(super) advice: Option<&'static str>,
}

/// Judges a saved plan; `file` is its name.
pub(super) fn judge_saved_plan(plan: &SavedPlan, file: &str) -> SavedVerdict {
    let SavedPlan { source, target, decisions, refusals, warnings, .. } = plan;
    let risks = decisions.scope.accept.iter().chain(decisions.accept.iter());
    let accepted: Vec<_> =
        risks.map(|(code, kinds)| ReportedRisk::new(code, kinds.iter().cloned())).collect();
    let counts = [(accepted.len(), "risk", " accepted"), (group_notes(warnings).len(), "warning", "")];
    let counts = counts.into_iter().filter(|(number, ..)| *number > 0);
    let more: Vec<String> =
        counts.map(|(number, what, more)| format!("{}{more}", count_text(number, what))).collect();
    let (sign, text) = match (refusals.len(), target) {
        (0, None) => ("warn", "A saved plan without a target, which no move carries out".to_owned()),
        (0, Some(_)) if more.is_empty() => ("good", "A saved plan without problems".to_owned()),
        (0, Some(_)) => ("warn", format!("A saved plan without problems; {}", more.join(", "))),
        _ => {
            let problems = count_text(SavedRefusal::group_similar(refusals).len(), "problem");
            ("bad", format!("A saved plan with {problems}, which no move carries out"))
        }
    };
    let target_runs = target.as_ref().is_none_or(|target| target.files.is_none());
    let command = target.as_ref().filter(|_| refusals.is_empty()).map(|target| {
        stop::saved_plan_command(file, decisions.handover, &Both::new(source.files, target.files))
    });
    let advice = target.is_none().then_some(PLAN_WITH_TARGET);
    let pause = describe_pause(source.files.is_none(), target_runs, decisions.handover);
    SavedVerdict { sign, text, accepted, pause, command, advice }
}

/// Counts the objects of a saved plan.
pub(super) fn count_objects(plan: &SavedPlan) -> Summary {
    let with_fate = |fate| plan.steps.iter().filter(|step| step.fate == fate).count();
    let of_kind =
        |kind| plan.steps.iter().filter(|step| step.object.group_kind.is(GROUP_CLUSTER, kind)).count();
    Summary {
        objects: plan.steps.len(),
        moved: with_fate(SavedFate::Move),
        kept: with_fate(SavedFate::Keep),
        from_manifests: with_fate(SavedFate::FromManifest),
        clusters: of_kind("Cluster"),
        cluster_classes: of_kind("ClusterClass"),
        stay: plan.stays.len(),
    }
}

/// Finds the objects that stay although moved objects need them.
pub(super) fn needed_by_saved_plan(plan: &SavedPlan) -> Vec<NeededObject<'_>> {
    let problems = plan.refusals.iter().map(|one| (one.code.as_str(), one.objects.iter().collect()));
    let notes = plan.notes.iter().map(|note| (note.code.as_ref(), note.object.as_ref()));
    find_needed_objects(problems, notes, &plan.steps.iter().map(|step| &step.object).collect())
}

/// A saved plan. With `tree`, each object that is copied has its own line; with `all`, each one that stays does too.
pub(crate) fn saved_plan_text(plan: &SavedPlan, file: &str, (tree, all): (bool, bool)) -> Text {
    let SavedPlan { source, target, decisions, .. } = plan;
    let to = target.as_ref().map_or("(no target)", |target| &target.label);
    let mut text = Text::default();
    text.strong("Plan:", format!("{}, from {} to {to}", decisions.scope, source.label));
    text.append(answers_text(plan, file));
    text.append(lists::problems_text(plan, all));
    text.append(lists::objects_text(plan, (tree, all)));
    text.append(lists::notes_text("Warnings", &plan.warnings, all));
    text.append(lists::notes_text("Worth knowing", &plan.notes, all));
    text.append(lists::origin_text(plan));
    text
}

/// The answers of the first screen of the plan's page, in the same order.
fn answers_text(plan: &SavedPlan, file: &str) -> Text {
    let SavedVerdict { text: verdict, accepted, pause, command, advice, .. } = judge_saved_plan(plan, file);
    let Summary { objects, kept, clusters, stay, .. } = count_objects(plan);
    let mut text = Text::default();
    text.add_line(format!("  {verdict}"));
    text.gap();
    let mut answer = |name: &str, words: String| text.row(format!("  {name:<22}{words}"), ANSWER_COLUMN);
    let kept = if kept == 0 {
        String::new()
    } else {
        format!(", {} of them kept in the source too", format_number(kept))
    };
    let is_copy =
        plan.source.files.is_some() || plan.target.as_ref().is_some_and(|target| target.files.is_some());
    let verb = if is_copy { "Copies" } else { "Moves" };
    answer(verb, format!("{}; {}{kept}", count_text(clusters, "Cluster"), count_text(objects, "object")));
    answer(
        "Stays, but is needed",
        format!("{}; {} in all", describe_needed_objects(plan), count_staying_objects(stay)),
    );
    answer("Dangerous", describe_dangers(plan));
    let risks: Vec<&str> = accepted.iter().map(|risk| risk.text.as_str()).collect();
    answer("Accepted", if risks.is_empty() { "no risks".to_owned() } else { risks.join("; ") });
    if let Some(pause) = pause.filter(|_| clusters > 0) {
        answer("Will be paused", format!("{}, {pause}", count_text(clusters, "Cluster")));
    }
    if let Some(command) = command {
        text.gap();
        text.add_line("To move:");
        text.add_line(format!("  {command}"));
    } else if let Some(first) = plan.refusals.first() {
        text.gap();
        text.add_line("Solve each problem, then plan again. The first:");
        text.add_line(format!("  {}", first.remedy));
    } else if let Some(advice) = advice {
        text.gap();
        text.add_line(advice);
    }
    text
}

fn count_staying_objects(stay: usize) -> String {
    format!("{} {}", format_number(stay), if stay == 1 { "object stays" } else { "objects stay" })
}

/// `Secret ns/pull (needed by Machine ns/m)`
fn describe_needed_objects(plan: &SavedPlan) -> String {
    let needed: Vec<String> = needed_by_saved_plan(plan)
        .into_iter()
        .map(|NeededObject { object, by, is_accepted }| match by.first() {
            _ if is_accepted => format!("{object} (accepted)"),
            Some(first) if by.len() == 1 => format!("{object} (needed by {first})"),
            Some(first) => format!("{object} (needed by {first} and {} more)", format_number(by.len() - 1)),
            None => object.to_string(),
        })
        .collect();
    if needed.is_empty() { "nothing found".to_owned() } else { some_of(&needed, MAX_NEEDED_OBJECTS) }
}

fn describe_dangers(plan: &SavedPlan) -> String {
    let problems = SavedRefusal::group_similar(&plan.refusals);
    let warnings = group_notes(&plan.warnings);
    let first_warning = warnings.first().map(|group| &group.first.message);
    let warnings = count_text(warnings.len(), "warning");
    match (problems.first(), first_warning) {
        (Some(first), _) => {
            let problems = count_text(problems.len(), "problem");
            format!("{problems}, {warnings}; first: {}", first.first.message)
        }
        (None, Some(first)) => format!("{warnings}; first: {first}"),
        (None, None) => "nothing found: no problems, no warnings".to_owned(),
    }
}
