//! The report of a move as a document, and in one sentence.

use pivot_core::Side;
use pivot_core::plan::{Note, Plan, Stay, Step};
use pivot_engine::Summary;
use serde::Serialize;
use serde_json::Value;

use super::happened::{PhaseSeen, PhaseState, Rate, ReportedFinding, ReportedRisk, Retry, Said, Wait};
use super::lines::count_text;

/// The report as a document. Times are milliseconds since the run began.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MoveReport<'a> {
    pub(super) command: &'a str,
    pub(super) outcome: &'static str,
    pub(super) exit_code: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) move_id: Option<&'a str>,
    pub(super) by: &'a str,
    pub(super) version: &'static str,
    pub(super) began: String,
    pub(super) ended: String,
    pub(super) milliseconds: u64,
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) accepted: &'a [ReportedRisk],
    pub(super) phases: &'a [PhaseSeen],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rate: Option<Rate>,
    pub(super) waits: &'a [Wait],
    pub(super) retries: &'a [Retry],
    pub(super) throttled: Vec<Throttled>,
    pub(super) findings: &'a [ReportedFinding],
    pub(super) notes: &'a [Said],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) plan: Option<Planned<'a>>,
    #[serde(skip)]
    pub(super) files: bool,
    pub(super) result: &'a Value,
}

impl MoveReport<'_> {
    pub(super) fn title(&self) -> &'static str {
        match self.command {
            "plan" => "Report of a plan",
            "rollback" => "Report of a rollback",
            "backup" => "Report of a backup",
            "handover start" | "handover finish" => "Report of a handover",
            "handover cancel" => "Report of canceling a handover",
            _ => "Report of a move",
        }
    }

    /// The number of kinds that no controller of the target was seen to take over.
    fn unverified_count(&self) -> usize {
        self.result.get("unverified").and_then(Value::as_array).map_or(0, Vec::len)
    }

    /// Returns the advice after a run that ended as requested. A run that stopped has commands instead.
    pub(super) fn advice(&self) -> Option<&'static str> {
        let advice = match self.outcome {
            "Moved" if self.unverified_count() > 0 => {
                "Check that the target's controllers took over: the move didn't wait for all of them."
            }
            "Moved" => "Nothing: the move has ended.",
            "Copied" => "Nothing: the source runs as before. Keep the directory as safe as its Secrets.",
            "HandedOver" => {
                "Load the directory into the other cluster, then finish the handover. To go back, cancel it."
            }
            "RolledBack" => "Nothing: the source runs as before. To move, make a new plan.",
            _ => return None,
        };
        (self.exit_code == 0).then_some(advice)
    }

    /// A sign and a sentence.
    pub(super) fn verdict(&self) -> (&'static str, String) {
        let (sign, text) = match self.outcome {
            "Moved" if self.unverified_count() > 0 => {
                let kinds = count_text(self.unverified_count(), "kind");
                let text = format!("Moved, without checking that the target's controllers took over {kinds}");
                return ("warn", text);
            }
            "Moved" => ("good", "Moved: the target works with the objects, the source no longer has them"),
            "Copied" => ("good", "Copied: the source is as it was"),
            "HandedOver" => {
                ("good", "Handed over in files: the source waits, paused, until they are imported")
            }
            "RolledBack" => ("good", "Rolled back: the source works with the objects, as before"),
            _ if self.exit_code == 3 => {
                let state = self.result.get("state").and_then(Value::as_str).unwrap_or_default();
                return ("bad", format!("Refused; {state}"));
            }
            _ => {
                let within = self.phases.iter().rev().find(|one| one.state == PhaseState::Stopped);
                let within = within.map(|one| format!(" in {}", one.phase)).unwrap_or_default();
                return ("bad", format!("Stopped{within}, with exit code {}", self.exit_code));
            }
        };
        (sign, text.to_owned())
    }
}

/// The plan. Its refusals are elsewhere in each document.
#[derive(Debug, Serialize)]
pub(super) struct Planned<'a> {
    summary: Summary,
    steps: &'a [Step],
    stays: &'a [Stay],
    notes: &'a [Note],
}

impl<'a> From<&'a Plan> for Planned<'a> {
    fn from(plan: &'a Plan) -> Self {
        let Plan { steps, stays, notes, refusals: _, moving: _ } = plan;
        Self { summary: plan.into(), steps, stays, notes }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Throttled {
    pub(super) side: Side,
    pub(super) requests: u64,
}
