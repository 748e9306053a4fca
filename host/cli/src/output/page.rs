//! A plan, or the report of a move, as one HTML file that needs nothing else.
//!
//! Style and script are in `page/page.html`, built by `cargo xtask page` and committed. Here it gets its content, as JSON in an
//! element that no browser executes. Text from others is made harmless three times: hidden characters are shown, as on a
//! terminal; the JSON has no character that could end its element; and the script makes text of it, never markup. The file's policy allows
//! its own script and style and no request at all.

use std::collections::BTreeMap;

use pivot_core::Key;
use pivot_core::messages::refusal::Refusal;
use pivot_core::plan::{Fate, Note, Plan, Stay, Step};
use pivot_core::request::scope::Scope;
use pivot_engine::{MoveStatus, Summary};
use serde::Serialize;
use serde_json::Value;

use super::happened::{ReportedFinding, ReportedRisk};
use super::move_report::MoveReport;
use super::reported::{Reported, ReportedWarning};
use super::saved::foreseen_changes;
use super::verdict::PlanVerdict;
use super::{remedies, status, text};

const PAGE: &str = include_str!("page/page.html");
const PLACE: &str = "{{DATA}}";

/// Facts of a plan's page about the whole plan.
pub(crate) struct PlanPage<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) sides: (&'a str, &'a str),
    pub(crate) scope: &'a Scope,
    /// True if a side is a directory. Then the copied objects stay in the source.
    pub(crate) files: bool,
    /// The judgement, which the terminal shows too.
    pub(crate) verdict: &'a PlanVerdict,
    /// The moves under way, and the commands that can be typed next about each.
    pub(crate) moves: &'a [MoveStatus],
    pub(crate) next: &'a [Vec<String>],
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
        let mut facts = vec![
            ("What", self.scope.to_string()),
            ("Planned", self.now.clone()),
            ("By", concat!("pivot-host ", env!("CARGO_PKG_VERSION")).to_owned()),
        ];
        facts.extend(command.iter().map(|command| ("To move", command.clone())));
        let verdict = Judged { sign, text: text.clone() };
        let (source, target) = self.sides;
        let head = Head { title: "Plan of a move", verdict, source, target, facts };
        let moves = self.moves.iter().zip(self.next);
        let moves = moves.map(|(one, next)| UnderWay { lines: status::one_under_way(one), next }).collect();
        let plan = Some(Content::from_plan(self.plan, moves));
        let Self { files, reported, failed: message, .. } = *self;
        let (accepted, findings) = (reported.accepted_risks(), reported.findings());
        let warnings = reported.warnings().into_iter().map(Said::from).collect();
        fill_template(&Shown { head, files, plan, accepted, warnings, findings, report: None, message })
    }
}

/// The page of a move that ended, or stopped. A plan is part of it if the run made one.
pub(super) fn of_report(report: &MoveReport<'_>, plan: Option<&Plan>, message: &[String]) -> String {
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
    let head = Head { title: report.title(), verdict: Judged { sign, text }, source, target, facts };
    fill_template(&Shown {
        head,
        files: report.files,
        plan: plan.map(|plan| Content::from_plan(plan, Vec::new())),
        // The report has these three.
        accepted: Vec::new(),
        warnings: Vec::new(),
        findings: Vec::new(),
        report: Some(report),
        message,
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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Said>,
    /// Findings of plugins while a plan was made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<ReportedFinding>,
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
}

/// Judgement of a plan or a move.
#[derive(Serialize)]
struct Judged {
    /// `good`, `bad`, `warn` or `none`.
    sign: &'static str,
    text: String,
}

/// The objects of a plan, with their problems and notes. Thousands of objects share few words: rows have indices of them.
#[derive(Serialize)]
struct Content<'a> {
    summary: Summary,
    words: Vec<String>,
    steps: Vec<StepRow<'a>>,
    stays: Vec<StayRow<'a>>,
    problems: Vec<Problem>,
    notes: Vec<Said>,
    moves: Vec<UnderWay<'a>>,
}

/// Kind, namespace, name, fate, why it moves, why it is kept, Cluster, objects that must exist first, UID, owners that the copy
/// will lack, the existing object of the target, and changes by plugins.
#[derive(Serialize)]
struct StepRow<'a>(
    Word,
    Word,
    &'a str,
    &'static str,
    Word,
    Word,
    Word,
    &'a [usize],
    &'a str,
    Vec<Word>,
    Vec<Word>,
);

/// Kind, namespace, name, why it stays.
#[derive(Serialize)]
struct StayRow<'a>(Word, Word, &'a str, Word);

/// Several objects with the same problem.
#[derive(Serialize)]
struct Problem {
    side: String,
    code: &'static str,
    message: String,
    objects: Vec<String>,
    remedy: String,
}

#[derive(Serialize)]
struct Said {
    code: String,
    message: String,
    objects: Vec<String>,
}

impl From<ReportedWarning> for Said {
    fn from(ReportedWarning { code, object, text, .. }: ReportedWarning) -> Self {
        Self { code, message: text, objects: object.iter().map(ToString::to_string).collect() }
    }
}

#[derive(Serialize)]
struct UnderWay<'a> {
    lines: Vec<String>,
    next: &'a [String],
}

/// An index of a word; negative: none.
type Word = i64;

#[derive(Default)]
struct Words {
    all: Vec<String>,
    index: BTreeMap<String, Word>,
}

impl Words {
    fn intern(&mut self, word: impl ToString) -> Word {
        let word = word.to_string();
        if let Some(index) = self.index.get(&word) {
            return *index;
        }
        let index = self.all.len().try_into().unwrap_or(-1);
        self.all.push(word.clone());
        self.index.insert(word, index);
        index
    }

    fn maybe(&mut self, word: Option<impl ToString>) -> Word {
        word.map_or(-1, |word| self.intern(word))
    }

    fn step<'a>(&mut self, step: &'a Step) -> StepRow<'a> {
        let Step { key, uid, after, dropped_owners, fate, why, cluster, in_target, changes, .. } = step;
        let (fate, keep) = match fate {
            Fate::Move => ("move", -1),
            Fate::Keep(reason) => ("keep", self.intern(reason)),
            Fate::FromManifest => ("add", -1),
        };
        let Key { group_kind, namespace, name } = key;
        let dropped = dropped_owners
            .iter()
            .map(|owner| self.intern(format!("{} {}", owner.kind, owner.name)))
            .collect();
        let (kind, namespace) = (self.intern(group_kind), self.maybe(namespace.as_ref()));
        let (why, cluster) = (self.intern(why), self.maybe(cluster.as_ref()));
        let foreseen = foreseen_changes(in_target.as_ref(), changes).map(|one| self.intern(one)).collect();
        StepRow(kind, namespace, name, fate, why, keep, cluster, after, &uid.0, dropped, foreseen)
    }

    fn stay<'a>(&mut self, Stay { key, reason }: &'a Stay) -> StayRow<'a> {
        let Key { group_kind, namespace, name } = key;
        StayRow(self.intern(group_kind), self.maybe(namespace.as_ref()), name, self.intern(reason))
    }
}

impl<'a> Content<'a> {
    fn from_plan(plan: &'a Plan, moves: Vec<UnderWay<'a>>) -> Self {
        let mut words = Words::default();
        let steps = plan.steps.iter().map(|step| words.step(step)).collect();
        let stays = plan.stays.iter().map(|stay| words.stay(stay)).collect();
        let problems = Refusal::group_similar(&plan.refusals).into_iter().map(|group| {
            let Refusal { code, side, object, others, message, remedies } = group.first;
            let objects: std::collections::BTreeSet<&Key> =
                object.iter().chain(others).chain(group.objects.iter().copied()).collect();
            Problem {
                side: side.to_string(),
                code,
                message: message.clone(),
                objects: objects.iter().map(ToString::to_string).collect(),
                remedy: remedies::remedies_sentence(remedies),
            }
        });
        let notes = plan.notes.iter().map(|Note { code, object, message }| Said {
            code: code.to_string(),
            message: message.clone(),
            objects: object.iter().map(ToString::to_string).collect(),
        });
        Self {
            summary: plan.into(),
            words: words.all,
            steps,
            stays,
            problems: problems.collect(),
            notes: notes.collect(),
            moves,
        }
    }
}
