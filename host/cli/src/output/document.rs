//! Results for programs. Each begins with its version and kind, as Kubernetes objects do, so that it can evolve.

use std::collections::BTreeMap;
use std::time::Duration;

use pivot_core::messages::refusal::Refusal;
use pivot_core::messages::remedy::Remedy;
use pivot_core::plan::Plan;
use pivot_core::plugins::hooks::PluginFinding;
use pivot_core::records::record::{Finished, Phase, Record, RolledBackMove};
use pivot_core::request::scope::Scope;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{
    Awaited, Exit, Failure, HeldObject, LeaseStatus, Leftover, MoveStatus, Report, Situation, Status, Stop,
    Verb, WaitingCopies,
};
use serde::Serialize;

use super::happened::{ReportedFinding, ReportedRisk};
use super::move_report::Planned;
use super::remedies;
use super::reported::{Reported, ReportedWarning};
use super::stop::{Advice, failure_text, refusals_of};
use super::text::Text;

const API_VERSION: &str = "pivot-host.io/v1alpha1";

/// A document of any kind.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<T> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(flatten)]
    content: T,
    /// Plugins that were installed but took no part because they are not enabled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disabled_plugins: Vec<String>,
}

impl<T> Document<T> {
    pub(crate) fn new(kind: &'static str, content: T) -> Self {
        Self { api_version: API_VERSION, kind, content, disabled_plugins: Vec::new() }
    }

    /// Adds the plugins that took no part in the run.
    pub(crate) fn with_disabled_plugins(self, disabled: &[String]) -> Self {
        Self { disabled_plugins: disabled.to_vec(), ..self }
    }
}

/// A plan, and its two sides.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanDocument<'a> {
    pub(crate) source: &'a str,
    pub(crate) target: &'a str,
    pub(crate) scope: &'a Scope,
    #[serde(flatten)]
    planned: Planned<'a>,
    refusals: Vec<Refused>,
    /// Risks that the user accepted.
    accepted: Vec<ReportedRisk>,
    warnings: Vec<ReportedWarning>,
    findings: Vec<ReportedFinding>,
    /// The moves under way on the two sides.
    moves: Vec<MoveDocument<'a>>,
}

impl<'a> PlanDocument<'a> {
    /// `moves` are the moves under way, each with the commands that the user can run next.
    pub(crate) fn new(
        plan: &'a Plan,
        source: &'a str,
        target: &'a str,
        scope: &'a Scope,
        reported: &Reported,
        (moves, next): (&'a [MoveStatus], &'a [Vec<String>]),
    ) -> Document<Self> {
        let refusals = plan.refusals.iter().map(Refused::from).collect();
        let moves = moves.iter().zip(next).map(|(one, next)| MoveDocument::new(one, None, next)).collect();
        let content = Self {
            source,
            target,
            scope,
            planned: plan.into(),
            refusals,
            accepted: reported.accepted_risks(),
            warnings: reported.warnings(),
            findings: reported.findings(),
            moves,
        };
        Document::new("Plan", content)
    }
}

/// A refusal, with its remedies in words.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    code: &'static str,
    side: Side,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Key>,
    /// All objects, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    objects: Vec<Key>,
    message: String,
    remedy: String,
}

impl From<&Refusal> for Refused {
    fn from(refusal: &Refusal) -> Self {
        let Refusal { code, side, object, others, message, remedies } = refusal.clone();
        let several = object.iter().chain(&others).cloned();
        let objects = if others.is_empty() { Vec::new() } else { several.collect() };
        Self { code, side, object, objects, message, remedy: remedies::remedies_sentence(&remedies) }
    }
}

/// The result of a move or a rollback.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportDocument {
    /// `Moved`, `Copied`, `HandedOver`, `RolledBack`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    move_id: Option<String>,
    source: String,
    target: String,
    moved: BTreeMap<String, usize>,
    kept: BTreeMap<String, usize>,
    /// Objects that the user added, in the target only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    from_manifests: BTreeMap<String, usize>,
    /// Kinds for which no target controller was seen taking over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unverified: Vec<String>,
    /// Risks that the user accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    accepted: Vec<ReportedRisk>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<ReportedWarning>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<ReportedFinding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_from_target: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_in_source: Option<usize>,
    phases: Vec<PhaseTime>,
}

/// Duration of a phase.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhaseTime {
    phase: Phase,
    milliseconds: u64,
}

fn phase_times(times: &[(Phase, Duration)]) -> Vec<PhaseTime> {
    let times = times.iter().map(|(phase, time)| PhaseTime {
        phase: *phase,
        milliseconds: time.as_millis().try_into().unwrap_or(u64::MAX),
    });
    times.collect()
}

/// Counts by kind, in the spelling of users.
fn counts_by_name(counts: &BTreeMap<GroupKind, usize>) -> BTreeMap<String, usize> {
    counts.iter().map(|(kind, count)| (kind.to_string(), *count)).collect()
}

impl ReportDocument {
    /// A finished move, or copy into a directory.
    pub(crate) fn done(
        outcome: &'static str,
        report: &Report,
        (source, target): (&str, &str),
    ) -> Document<Self> {
        let Report { move_id, done, times } = report;
        let content = Self {
            outcome,
            move_id: Some(move_id.clone()),
            moved: counts_by_name(&done.moved),
            kept: counts_by_name(&done.kept),
            from_manifests: counts_by_name(&done.added),
            unverified: done.unverified.iter().map(ToString::to_string).collect(),
            phases: phase_times(times),
            ..Self::for_sides(source, target)
        };
        Document::new("Report", content)
    }

    /// A move that was rolled back.
    pub(crate) fn rolled_back(
        rolled_back: &pivot_engine::RolledBack,
        (source, target): (&str, &str),
    ) -> Document<Self> {
        let content = Self {
            outcome: "RolledBack",
            removed_from_target: Some(rolled_back.removed),
            resumed_in_source: Some(rolled_back.unpaused),
            ..Self::for_sides(source, target)
        };
        Document::new("Report", content)
    }

    fn for_sides(source: &str, target: &str) -> Self {
        Self { source: source.into(), target: target.into(), ..Self::default() }
    }
}

impl Document<ReportDocument> {
    /// Adds the risks that were accepted, the warnings and the findings.
    pub(crate) fn with_reported(mut self, reported: &Reported) -> Self {
        self.content.accepted = reported.accepted_risks();
        self.content.warnings = reported.warnings();
        self.content.findings = reported.findings();
        self
    }
}

/// The state of moves.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    under_way: bool,
    moves: Vec<MoveDocument<'a>>,
    leases: &'a [LeaseStatus],
    /// The side that doesn't answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<Side>,
    /// The error that came instead of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_because: Option<&'a str>,
    /// Copies of moves that only their sources have a record of.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    waiting_copies: &'a [WaitingCopies],
    /// The error of a list of Clusters, which may hide more of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread_copies: Option<&'a str>,
    finished: &'a [Finished],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    rolled_back: &'a [RolledBackMove],
    /// Objects that would be lost if the source were deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<&'a Leftover>,
}

/// The state of one move.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MoveDocument<'a> {
    decides: Side,
    record: &'a Record,
    /// The move's target is not the one given.
    elsewhere: bool,
    /// True if the move was rolled back without its target, which still has a record of it.
    orphaned: bool,
    /// The side of the move that was not given: no command can be offered that names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Side>,
    /// The state of both sides, in words.
    state: String,
    /// Verdict by the objects, if one side went back to an earlier state.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<MoveVerdict>,
    next: &'a [String],
}

/// Verdict on a move of which one side went back.
#[derive(Debug, Serialize)]
struct MoveVerdict {
    code: &'static str,
    message: String,
}

impl<'a> MoveDocument<'a> {
    /// `silent` is the side that doesn't answer, and `next` the commands that the user can run next.
    pub(super) fn new(one: &'a MoveStatus, silent: Option<Side>, next: &'a [String]) -> Self {
        let MoveStatus { decides, record, elsewhere, orphaned, missing, one_sided, .. } = one;
        let verdict = one_sided.as_ref().map(|one_sided| MoveVerdict {
            code: one_sided.code(),
            message: one_sided.describe(&record.move_id),
        });
        Self {
            decides: *decides,
            record,
            elsewhere: *elsewhere,
            orphaned: *orphaned,
            missing: *missing,
            // Whether the target is a directory makes no difference to it.
            state: Situation::from_status(one, silent, false).state(),
            verdict,
            next,
        }
    }
}

impl<'a> StatusDocument<'a> {
    pub(crate) fn new(
        status: &'a Status,
        (source, target): (&'a str, &'a str),
        next: &'a [Vec<String>],
    ) -> Document<Self> {
        let Status {
            moves,
            leases,
            silent,
            missing,
            waiting_copies,
            unread_copies,
            finished,
            rolled_back,
            left,
        } = status;
        let silent_side = silent.as_ref().map(|(side, _)| *side);
        let moves = moves.iter().zip(next).map(|(one, next)| MoveDocument::new(one, silent_side, next));
        let content = Self {
            source: Some(source).filter(|_| *missing != Some(Side::Source)),
            target: Some(target).filter(|_| *missing != Some(Side::Target)),
            under_way: !status.moves.is_empty(),
            moves: moves.collect(),
            leases,
            silent: silent_side,
            silent_because: silent.as_ref().map(|(_, why)| why.as_str()),
            waiting_copies,
            unread_copies: unread_copies.as_deref(),
            finished,
            rolled_back,
            left: left.as_ref(),
        };
        Document::new("Status", content)
    }
}

/// Failure of a run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ErrorDocument {
    exit_code: u8,
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refusals: Vec<Refused>,
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<Phase>,
    state: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    /// Findings of the checks that stopped the move.
    findings: Vec<PluginFinding>,
    /// Objects that the run was waiting for when it timed out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaited: Vec<Awaited>,
    /// Objects that could not be released.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<HeldObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remedies: Vec<Way>,
    next: Vec<String>,
    /// Changes before the stop, by verb and kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    done: BTreeMap<Verb, BTreeMap<String, usize>>,
    /// The phases that it finished.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<PhaseTime>,
}

/// One remedy, and its text.
#[derive(Debug, Serialize)]
struct Way {
    #[serde(flatten)]
    remedy: Remedy,
    text: String,
}

impl ErrorDocument {
    /// The document for a stop of the engine.
    pub(crate) fn stop(stop: &Stop, advice: Advice) -> Document<Self> {
        let Stop { failure, phase, exit, state, next: _, move_id: _, times, done } = stop;
        let (mut findings, mut awaited, mut held) = (Vec::new(), Vec::new(), Vec::new());
        match failure {
            Failure::Gate(found) => findings.clone_from(found),
            Failure::TimedOut(missing) | Failure::NotSeen(missing) | Failure::NotTakenOver(missing) => {
                awaited.clone_from(missing);
            }
            Failure::Unsettled(left) => held.clone_from(left),
            _ => {}
        }
        let ways =
            advice.remedies.into_iter().map(|remedy| Way { text: remedies::remedy_text(&remedy), remedy });
        let content = Self {
            exit_code: crate::exit::exit_code(*exit),
            reason: format!("{exit:?}"),
            message: failure_text(stop, false, "").message(),
            refusals: refusals_of(failure).iter().map(Refused::from).collect(),
            phase: *phase,
            state: state.clone(),
            findings,
            awaited,
            held,
            remedies: ways.collect(),
            next: advice.next,
            done: done.iter().map(|(verb, counts)| (*verb, counts_by_name(counts))).collect(),
            phases: phase_times(times),
        };
        Document::new("Error", content)
    }

    /// The document for a failure outside the engine.
    pub(crate) fn outside_engine(
        exit: Exit,
        message: &Text,
        state: &str,
        next: Vec<String>,
    ) -> Document<Self> {
        let content = Self {
            exit_code: crate::exit::exit_code(exit),
            reason: format!("{exit:?}"),
            message: message.message(),
            refusals: Vec::new(),
            phase: None,
            state: state.to_owned(),
            findings: Vec::new(),
            awaited: Vec::new(),
            held: Vec::new(),
            remedies: Vec::new(),
            next,
            done: BTreeMap::new(),
            phases: Vec::new(),
        };
        Document::new("Error", content)
    }
}
