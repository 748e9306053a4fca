//! Results for programs. Each says its version and kind first, as Kubernetes objects do, so that it can change.

use std::collections::BTreeMap;
use std::time::Duration;

use pivot_core::hooks::Finding;
use pivot_core::plan::{Note, Plan, Stay, Step};
use pivot_core::record::{Finished, Phase, Record};
use pivot_core::refusal::Refusal;
use pivot_core::remedy::Remedy;
use pivot_core::scope::Scope;
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{
    Awaited, Exit, Failure, Held, Leftover, LockStatus, MoveStatus, Report, Status, Stop, Summary, Verb,
};
use serde::Serialize;

use super::remedies;
use super::stop::{failure_text, refusals};
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
    /// Plugins that were there, and took no part because nobody enabled them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    disabled_plugins: Vec<String>,
}

impl<T> Document<T> {
    pub(crate) fn new(kind: &'static str, content: T) -> Self {
        Self { api_version: API_VERSION, kind, content, disabled_plugins: Vec::new() }
    }

    /// The same of a run in which these plugins took no part.
    pub(crate) fn without(self, disabled: &[String]) -> Self {
        Self { disabled_plugins: disabled.to_vec(), ..self }
    }
}

/// A plan, and between what.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlanDocument<'a> {
    pub(crate) source: &'a str,
    pub(crate) target: &'a str,
    pub(crate) scope: &'a Scope,
    pub(crate) summary: Summary,
    pub(crate) steps: &'a [Step],
    pub(crate) stays: &'a [Stay],
    pub(crate) notes: &'a [Note],
    refusals: Vec<Refused>,
    /// The moves under way that the two sides know of.
    moves: Vec<MoveDocument<'a>>,
}

impl<'a> PlanDocument<'a> {
    /// `moves` are those under way, each with the commands that may be typed next.
    pub(crate) fn new(
        plan: &'a Plan,
        source: &'a str,
        target: &'a str,
        scope: &'a Scope,
        (moves, next): (&'a [MoveStatus], &'a [Vec<String>]),
    ) -> Document<Self> {
        let summary = Summary::from(plan);
        let Plan { steps, stays, refusals, notes, moving: _ } = plan;
        let refusals = refusals.iter().map(Refused::from).collect();
        let moves = moves.iter().zip(next).map(MoveDocument::from).collect();
        let content = Self { source, target, scope, summary, steps, stays, notes, refusals, moves };
        Document::new("Plan", content)
    }
}

/// A refusal, with its remedies in words.
#[derive(Debug, Serialize)]
struct Refused {
    code: &'static str,
    side: Side,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<Key>,
    /// All of them, where several are meant.
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
        Self { code, side, object, objects, message, remedy: remedies::sentence(&remedies) }
    }
}

/// What a move, or a rollback, did.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportDocument {
    /// `Moved`, `Copied`, `RolledBack`, `NothingToMove`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    move_id: Option<String>,
    source: String,
    target: String,
    moved: BTreeMap<String, usize>,
    kept: BTreeMap<String, usize>,
    /// Kinds that nobody saw a controller of the target take over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unverified: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    removed_from_target: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_in_source: Option<usize>,
    phases: Vec<PhaseTime>,
}

/// How long a phase took.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhaseTime {
    phase: Phase,
    milliseconds: u64,
}

fn phase_times(times: &[(Phase, Duration)]) -> Vec<PhaseTime> {
    let time = |(phase, time): &(Phase, Duration)| PhaseTime {
        phase: *phase,
        milliseconds: time.as_millis().try_into().unwrap_or(u64::MAX),
    };
    times.iter().map(time).collect()
}

/// Counts of kinds as users write them.
fn named(counts: &BTreeMap<GroupKind, usize>) -> BTreeMap<String, usize> {
    counts.iter().map(|(kind, count)| (kind.to_string(), *count)).collect()
}

impl ReportDocument {
    /// A move, or a copy into a directory, that came to its end.
    pub(crate) fn done(
        outcome: &'static str,
        report: &Report,
        (source, target): (&str, &str),
    ) -> Document<Self> {
        let Report { move_id, done, times } = report;
        let content = Self {
            outcome,
            move_id: Some(move_id.clone()),
            moved: named(&done.moved),
            kept: named(&done.kept),
            unverified: done.unverified.iter().map(ToString::to_string).collect(),
            phases: phase_times(times),
            ..Self::between(source, target)
        };
        Document::new("Report", content)
    }

    /// A move that was rolled back.
    pub(crate) fn taken_back(
        taken: &pivot_engine::TakenBack,
        (source, target): (&str, &str),
    ) -> Document<Self> {
        let content = Self {
            outcome: "RolledBack",
            removed_from_target: Some(taken.removed),
            resumed_in_source: Some(taken.resumed),
            ..Self::between(source, target)
        };
        Document::new("Report", content)
    }

    /// There was nothing to move, and that is fine.
    pub(crate) fn nothing((source, target): (&str, &str)) -> Document<Self> {
        Document::new("Report", Self { outcome: "NothingToMove", ..Self::between(source, target) })
    }

    fn between(source: &str, target: &str) -> Self {
        Self { source: source.into(), target: target.into(), ..Self::default() }
    }
}

/// Where moves stand.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    under_way: bool,
    moves: Vec<MoveDocument<'a>>,
    locks: &'a [LockStatus],
    /// The side that does not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent: Option<Side>,
    /// Why: what came instead of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    silent_because: Option<&'a str>,
    finished: &'a [Finished],
    /// What would be lost with the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<&'a Leftover>,
}

/// Where one move stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MoveDocument<'a> {
    decides: Side,
    record: &'a Record,
    /// The move goes to another target than the one given.
    elsewhere: bool,
    /// It was rolled back without its target, which has a record of it still.
    orphaned: bool,
    /// The side of the move that was not given: no command can name it.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<Side>,
    next: &'a [String],
}

impl<'a> From<(&'a MoveStatus, &'a Vec<String>)> for MoveDocument<'a> {
    fn from((one, next): (&'a MoveStatus, &'a Vec<String>)) -> Self {
        let MoveStatus { decides, record, elsewhere, orphaned, missing } = one;
        let (decides, elsewhere, orphaned, missing) = (*decides, *elsewhere, *orphaned, *missing);
        Self { decides, record, elsewhere, orphaned, missing, next }
    }
}

impl<'a> StatusDocument<'a> {
    pub(crate) fn new(
        status: &'a Status,
        (source, target): (&'a str, &'a str),
        next: &'a [Vec<String>],
    ) -> Document<Self> {
        let Status { moves, locks, silent, missing, finished, left } = status;
        let moves = moves.iter().zip(next).map(MoveDocument::from);
        let content = Self {
            source: Some(source).filter(|_| *missing != Some(Side::Source)),
            target: Some(target).filter(|_| *missing != Some(Side::Target)),
            under_way: !status.moves.is_empty(),
            moves: moves.collect(),
            locks,
            silent: silent.as_ref().map(|(side, _)| *side),
            silent_because: silent.as_ref().map(|(_, why)| why.as_str()),
            finished,
            left: left.as_ref(),
        };
        Document::new("Status", content)
    }
}

/// Why a run did not get to its end.
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
    findings: Vec<Found>,
    /// What was waited for when the time was over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    awaited: Vec<Awaited>,
    /// Objects that could not be released.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<Held>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remedies: Vec<Way>,
    next: Vec<String>,
    /// What the run did before it stopped, by verb and kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    done: BTreeMap<Verb, BTreeMap<String, usize>>,
    /// The phases that it finished.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    phases: Vec<PhaseTime>,
}

/// What a plugin's check found that stopped the move.
#[derive(Debug, Serialize)]
struct Found {
    plugin: String,
    #[serde(flatten)]
    finding: Finding,
}

/// One way out, and what it is in words.
#[derive(Debug, Serialize)]
struct Way {
    #[serde(flatten)]
    remedy: Remedy,
    text: String,
}

impl ErrorDocument {
    /// Of a stop of the engine.
    pub(crate) fn stop(stop: &Stop, next: Vec<String>) -> Document<Self> {
        let Stop { failure, phase, exit, standing, next: _, move_id: _, times, done } = stop;
        let (mut findings, mut awaited, mut held) = (Vec::new(), Vec::new(), Vec::new());
        match failure {
            Failure::Gate(found) => findings.clone_from(found),
            Failure::TimedOut(missing) | Failure::NotTakenOver(missing) => awaited.clone_from(missing),
            Failure::Unsettled(left) => held.clone_from(left),
            _ => {}
        }
        let found = |(plugin, finding): (String, Finding)| Found { plugin, finding };
        let way = |remedy: Remedy| Way { text: remedies::text(&remedy), remedy };
        let content = Self {
            exit_code: crate::exit::code(*exit),
            reason: format!("{exit:?}"),
            message: failure_text(stop, false, "").message(),
            refusals: refusals(failure).iter().map(Refused::from).collect(),
            phase: *phase,
            state: standing.clone(),
            findings: findings.into_iter().map(found).collect(),
            awaited,
            held,
            remedies: stop.remedies().into_iter().map(way).collect(),
            next,
            done: done.iter().map(|(verb, counts)| (*verb, named(counts))).collect(),
            phases: phase_times(times),
        };
        Document::new("Error", content)
    }

    /// Of what went wrong outside the engine.
    pub(crate) fn other(exit: Exit, message: &Text, state: &str) -> Document<Self> {
        let content = Self {
            exit_code: crate::exit::code(exit),
            reason: format!("{exit:?}"),
            message: message.message(),
            refusals: Vec::new(),
            phase: None,
            state: state.to_owned(),
            findings: Vec::new(),
            awaited: Vec::new(),
            held: Vec::new(),
            remedies: Vec::new(),
            next: Vec::new(),
            done: BTreeMap::new(),
            phases: Vec::new(),
        };
        Document::new("Error", content)
    }
}
