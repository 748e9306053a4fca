//! The diagnosis of a management cluster: what would stay, and what would prevent a move.

use pivot_core::plan::{Note, Plan, Stay};
use pivot_core::request::scope::Scope;
use pivot_engine::{MoveStatus, Summary};
use serde::Serialize;

use super::Document;
use super::clusters::cluster_rows;
use super::document::{MoveDocument, Refused};
use super::events::count_moving;
use super::happened::{ReportedFinding, ReportedRisk};
use super::lines::count_text;
use super::plan::findings_text;
use super::reported::{Reported, ReportedWarning};
use super::text::Text;
use super::verdict::count_problems;

/// The findings about one cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiagnosisDocument<'a> {
    cluster: &'a str,
    /// Another management cluster that was compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'a str>,
    scope: &'a Scope,
    summary: Summary,
    stays: &'a [Stay],
    notes: &'a [Note],
    refusals: Vec<Refused>,
    accepted: Vec<ReportedRisk>,
    warnings: Vec<ReportedWarning>,
    findings: Vec<ReportedFinding>,
    moves: Vec<MoveDocument<'a>>,
}

impl<'a> DiagnosisDocument<'a> {
    /// `moves` are the moves under way, each with the commands that the user can run next.
    pub(crate) fn new(
        plan: &'a Plan,
        (cluster, other): (&'a str, Option<&'a str>),
        scope: &'a Scope,
        reported: &Reported,
        (moves, next): (&'a [MoveStatus], &'a [Vec<String>]),
    ) -> Document<Self> {
        let moves = moves.iter().zip(next).map(|(one, next)| MoveDocument::new(one, None, next)).collect();
        let content = Self {
            cluster,
            other,
            scope,
            summary: plan.into(),
            stays: &plan.stays,
            notes: &plan.notes,
            refusals: plan.refusals.iter().map(Refused::from).collect(),
            accepted: reported.accepted_risks(),
            warnings: reported.warnings(),
            findings: reported.findings(),
            moves,
        };
        Document::new("Diagnosis", content)
    }
}

/// The text for people.
pub(crate) fn diagnosis_text(plan: &Plan, cluster: &str, reported: &Reported, all: bool) -> Text {
    let mut text = Text::default();
    text.strong("Checked:", format!("{cluster}, {}", count_moving(&plan.into())));
    text.gap();
    text.append(cluster_rows(plan, reported, all));
    text.append(findings_text(plan, reported, all));
    text.gap();
    text.add_line(match count_problems(plan, reported) {
        0 => {
            let more = reported.in_short().map(|more| format!("; {more}")).unwrap_or_default();
            format!("No problems{more}. A plan checks the target, too.")
        }
        problems => {
            format!(
                "{}: a move would be refused. Solve what is listed, then check again.",
                count_text(problems, "problem")
            )
        }
    });
    text
}
