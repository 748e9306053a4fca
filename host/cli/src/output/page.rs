//! A plan, or the report of a move, as one HTML file that needs nothing else.
//!
//! Style and script are in `page/page.html`, built by `cargo xtask page` and committed. Here it gets its content, as JSON in an
//! element that no browser executes. Text from others is made harmless three times: hidden characters are shown, as on a
//! terminal; the JSON has no character that could end its element; and the script makes text of it, never markup. The file's policy allows
//! its own script and style and no request at all.

use pivot_core::plan::Plan;
use pivot_core::records::saved_plan::SavedPlan;
use pivot_core::request::scope::Scope;
use pivot_engine::MoveStatus;
use serde::Serialize;
use serde_json::Value;

use super::happened::ReportedRisk;
use super::move_report::MoveReport;
use super::reported::Reported;
use super::saved::{SavedVerdict, describe_plugins, judge_saved_plan};
use super::verdict::PlanVerdict;
use super::{status, text};
pub(super) use cards::Cards;
use content::{Content, UnderWay};

mod cards;
mod content;

const PAGE: &str = include_str!("page/page.html");
const PLACE: &str = "{{DATA}}";

/// Facts of a plan's page about the whole plan.
pub(crate) struct PlanPage<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) sides: (&'a str, &'a str),
    pub(crate) scope: &'a Scope,
    /// True if a side is a directory. Then the copied objects stay in the source.
    pub(crate) files: bool,
    /// The time for which the source's Clusters are paused, if they are.
    pub(crate) pause: Option<&'static str>,
    /// The judgement, which the terminal shows too.
    pub(crate) verdict: &'a PlanVerdict,
    /// The moves under way, and the commands that can be typed next about each.
    pub(crate) moves: &'a [MoveStatus],
    pub(crate) next: &'a [Vec<String>],
    /// The command that makes the plan again, once its problems are solved and it has a target.
    pub(crate) again: String,
    /// Accepted risks, warnings and findings.
    pub(crate) reported: &'a Reported,
    /// Reason, line by line, if planning ended early.
    pub(crate) failed: &'a [String],
    /// When the plan was made.
    pub(crate) now: String,
}

impl PlanPage<'_> {
    /// The file.
    pub(crate) fn html(&self) -> String {
        let PlanVerdict { sign, text, command } = self.verdict;
        let facts = vec![
            ("What", self.scope.to_string()),
            ("Planned", self.now.clone()),
            ("By", concat!("pivot-host ", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        let verdict = Judged { sign, text: text.clone() };
        let (source, target) = self.sides;
        let again = (command.is_none() && *sign != "none").then(|| self.again.clone());
        let next = command.iter().cloned().collect();
        let pause = self.pause;
        let (title, advice) = ("Plan of a move", None);
        let head = Head { title, verdict, source, target, facts, next, again, advice, pause };
        let moves = self.moves.iter().zip(self.next);
        let moves = moves.map(|(one, next)| UnderWay { lines: status::one_under_way(one), next }).collect();
        let notes = self.plan.notes.iter().map(|note| (note.code.as_ref(), note.object.as_ref()));
        let plan = Some(Content::from_plan(self.plan, notes, moves));
        let Self { files, reported, failed: message, .. } = *self;
        let cards = Cards::from_run(&self.plan.refusals, &self.plan.notes, reported);
        fill_template(&Shown {
            head,
            files,
            plan,
            accepted: reported.accepted_risks(),
            cards,
            report: None,
            message,
        })
    }
}

/// The page of a move that ended, or stopped. A plan is part of it if the run made one.
pub(super) fn of_report(
    report: &MoveReport<'_>,
    plan: Option<&Plan>,
    cards: Cards,
    message: &[String],
) -> String {
    let (sign, text) = report.verdict();
    let facts = vec![
        ("Move", report.move_id.unwrap_or_default().to_owned()),
        ("Command", report.command.to_owned()),
        ("By", report.by.to_owned()),
        ("Began", report.began.clone()),
        ("Ended", report.ended.clone()),
        ("Written by", format!("pivot-host {}", report.version)),
    ];
    let (source, target) = (report.source, report.target);
    let verdict = Judged { sign, text };
    let notes = report.notes.iter().map(|note| note.code_and_object());
    // The next commands after a stop are part of the result.
    let head = Head {
        title: report.title(),
        verdict,
        source,
        target,
        facts,
        next: Vec::new(),
        again: None,
        advice: report.advice(),
        pause: None,
    };
    fill_template(&Shown {
        head,
        files: report.files,
        plan: plan.map(|plan| Content::from_plan(plan, notes, Vec::new())),
        // The report has them.
        accepted: Vec::new(),
        cards,
        report: Some(report),
        message,
    })
}

/// The page of a saved plan; `file` is its name.
pub(crate) fn saved_plan_page(plan: &SavedPlan, file: &str) -> String {
    let SavedPlan { source, target, decisions, .. } = plan;
    let SavedVerdict { sign, text, accepted, pause, command, advice } = judge_saved_plan(plan, file);
    let facts = vec![
        ("What", decisions.scope.to_string()),
        ("Planned", plan.made_at.clone()),
        ("By", format!("{}, with pivot-host {}", plan.made_by, plan.written_by)),
        ("Plugins", describe_plugins(plan)),
        ("File", file.to_owned()),
        ("Checksum", plan.checksum().to_owned()),
    ];
    let files = source.files.is_some() || target.as_ref().is_some_and(|target| target.files.is_some());
    let next = command.into_iter().collect();
    let (source, target) = (source.label.as_str(), target.as_ref().map_or("", |target| &target.label));
    let verdict = Judged { sign, text };
    let head = Head {
        title: "Saved plan of a move",
        verdict,
        source,
        target,
        facts,
        next,
        again: None,
        advice,
        pause,
    };
    fill_template(&Shown {
        head,
        files,
        plan: Some(Content::from_saved_plan(plan)),
        accepted,
        cards: Cards::from_saved_plan(plan),
        report: None,
        message: &[],
    })
}

/// The page with its data. It is a file of ours with text of others in it.
fn fill_template(shown: &Shown<'_>) -> String {
    let mut data = serde_json::to_value(shown).unwrap_or_default();
    escape_texts(&mut data);
    let json = data.to_string();
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // All of them can only be in strings.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => safe.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => safe.push(c),
        }
    }
    PAGE.replacen(PLACE, &safe, 1)
}

/// Shows hidden characters in all texts, line breaks among them.
fn escape_texts(value: &mut Value) {
    match value {
        Value::String(words) => *words = text::one_line(words),
        Value::Array(items) => items.iter_mut().for_each(escape_texts),
        Value::Object(fields) => {
            let taken = std::mem::take(fields);
            fields.extend(taken.into_iter().map(|(name, mut field)| {
                escape_texts(&mut field);
                (text::one_line(&name), field)
            }));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    head: Head<'a>,
    files: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<Content<'a>>,
    /// Risks that the user of a plan accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    accepted: Vec<ReportedRisk>,
    cards: Cards,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a MoveReport<'a>>,
    /// Failure, line by line.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    message: &'a [String],
}

#[derive(Serialize)]
struct Head<'a> {
    title: &'static str,
    verdict: Judged,
    source: &'a str,
    target: &'a str,
    facts: Vec<(&'static str, String)>,
    /// Commands that carry out the plan.
    next: Vec<String>,
    /// The command that makes the plan again, if it can't be carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    again: Option<String>,
    /// The advice after a run that ended, if no command follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<&'static str>,
    /// The time for which the source's Clusters will be paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pause: Option<&'static str>,
}

/// Judgement of a plan or a move.
#[derive(Serialize)]
struct Judged {
    /// `good`, `bad`, `warn` or `none`.
    sign: &'static str,
    text: String,
}
