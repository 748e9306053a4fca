//! All messages in one file, so that a change of wording can be reviewed: how runs fail, what state they leave, what to do about it.
//!
//! Each list is made by a function that matches on every variant, so that a new one doesn't compile until it is here.

use std::fmt::Write as _;

use expect_test::expect_file;
use pivot_core::Both;
use pivot_core::messages::remedy::{Installation, Remedy};
use pivot_core::messages::risk::Risk;
use pivot_core::messages::shell::Kubectl;
use pivot_core::objects::selector::Part;
use pivot_core::plugins::hooks::{Finding, Hook, PluginFinding};
use pivot_core::records::record::{Handover, Phase, Record};
use pivot_engine::{
    AdviceReason, Failure, Halt, HeldObject, HookError, KnownFiles, KnownSides, Next, OneRecord,
    OneSidedMove, PausedCluster, Situation,
};
use pivot_places::PlaceError;

use super::status::one;
use super::*;
use crate::explain;
use crate::output::remedies;
use crate::output::stop::{failure_text, refusal_lines, refusals_of};

#[test]
fn messages_are_as_in_the_file() {
    let mut all = String::new();
    for (head, lines) in [
        ("The state of a move, and the commands that make sense next", situations()),
        ("Moves that only one side has a record of", one_records()),
        ("Failures", failures()),
        ("Remedies", remedies()),
        ("Accepted dangers", risks()),
    ] {
        writeln!(all, "# {head}\n\n{lines}").unwrap();
    }
    all.truncate(all.trim_end().len() + 1);
    expect_file!["messages.txt"].assert_eq(&all);
}

/// Kinds of moves with different messages.
fn kinds() -> [(&'static str, Record); 5] {
    let clusters = || one(Phase::Copied, Side::Source).record;
    let files = Record { source: Some(Uid("directory-0".into())), ..clusters() };
    let handover = |withdrawn| {
        let contents = Some(Uid("directory-1".into()));
        Some(Handover { files: contents, rollback_begun: withdrawn, ..Handover::default() })
    };
    [
        ("between clusters", clusters()),
        ("recovered", Record { earlier_copy_keys: vec!["key".into()], ..clusters() }),
        ("from files", files),
        ("handed over in files", Record { handover: handover(false), ..clusters() }),
        ("handed over, and being rolled back", Record { handover: handover(true), ..clusters() }),
    ]
}

/// Returns each reason with which people are told something, once.
fn reasons() -> Vec<AdviceReason<'static>> {
    let mut reasons = vec![AdviceReason::Asked];
    while let Some(last) = reasons.last() {
        reasons.push(match last {
            AdviceReason::Asked => AdviceReason::Declined,
            AdviceReason::Declined => AdviceReason::WrongCommand,
            AdviceReason::WrongCommand => AdviceReason::MayBeImported,
            AdviceReason::MayBeImported => AdviceReason::NotImportedThere,
            AdviceReason::NotImportedThere => AdviceReason::Stopped,
            AdviceReason::Stopped => AdviceReason::LeftPaused(Side::Source),
            AdviceReason::LeftPaused(Side::Source) => AdviceReason::LeftPaused(Side::Target),
            AdviceReason::LeftPaused(Side::Target) => AdviceReason::LeaseLost,
            AdviceReason::LeaseLost => AdviceReason::Undecided,
            AdviceReason::Undecided => AdviceReason::Undone,
            AdviceReason::Undone => AdviceReason::NotUndone("forbidden: no"),
            AdviceReason::NotUndone(_) => break,
        });
    }
    reasons
}

/// Knowledge of a command about the sides and the files.
const KNOWN: [(KnownSides, KnownFiles); 10] = [
    (KnownSides::Both, KnownFiles::Named),
    (KnownSides::IntoDirectory, KnownFiles::Named),
    (KnownSides::NotGiven(Side::Source), KnownFiles::Named),
    (KnownSides::NotGiven(Side::Target), KnownFiles::Named),
    (KnownSides::Silent(Side::Source), KnownFiles::Named),
    (KnownSides::Silent(Side::Target), KnownFiles::Named),
    (KnownSides::OtherTarget, KnownFiles::Named),
    (KnownSides::Both, KnownFiles::OtherInputs),
    (KnownSides::Both, KnownFiles::Unread { rolls_back: false }),
    (KnownSides::Both, KnownFiles::Unread { rolls_back: true }),
];

fn situations() -> String {
    let mut all = String::new();
    for (kind, record) in kinds() {
        let mut written = String::new();
        for why in reasons() {
            let known = if why == AdviceReason::Asked { &KNOWN[..] } else { &KNOWN[..2] };
            for &(sides, files) in known {
                let told = Phase::ALL.map(|phase| {
                    let record = &Record { phase, ..record.clone() };
                    let (one_sided, not_imported) = (None, false);
                    let recovered = record.is_recovered();
                    let now =
                        Situation { record, phase, sides, one_sided, recovered, files, not_imported, why };
                    (phase, now.state(), words(now.next()))
                });
                let states = by_phase(told.iter().map(|(phase, state, _)| (*phase, state)));
                if states != written {
                    writeln!(all, "## {kind}: {why:?}\n\n{states}").unwrap();
                    written = states;
                }
                let next = by_phase(told.iter().map(|(phase, _, next)| (*phase, next)));
                writeln!(all, "{sides:?}, {files:?}\n{next}").unwrap();
            }
        }
    }
    all
}

/// A line for each text, with its phases.
fn by_phase<'a>(all: impl Iterator<Item = (Phase, &'a String)>) -> String {
    let all: Vec<_> = all.collect();
    let mut lines = String::new();
    for same in all.chunk_by(|a, b| a.1 == b.1) {
        let phases: Vec<String> = same.iter().map(|(phase, _)| phase.to_string()).collect();
        writeln!(lines, "  {}: {}", phases.join(", "), same[0].1).unwrap();
    }
    lines
}

fn words(next: &[Next]) -> String {
    let words: Vec<String> = next.iter().map(|next| format!("{next:?}")).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join(", ") }
}

fn lost() -> [OneSidedMove; 15] {
    let taken_over = OneSidedMove::TakenOver("the target says that move 1234 ended at noon".into());
    // Doesn't compile if there is another.
    match taken_over {
        OneSidedMove::TakenOver(_)
        | OneSidedMove::SourceOutOfDate(_)
        | OneSidedMove::PausedAgain(_)
        | OneSidedMove::SourceWentBack { .. }
        | OneSidedMove::ClaimedByTarget { .. }
        | OneSidedMove::LastCopyInSource
        | OneSidedMove::PartTakenOver { .. }
        | OneSidedMove::ClosedInTarget { .. }
        | OneSidedMove::ClosedInPart(_)
        | OneSidedMove::LastCopyInTarget
        | OneSidedMove::SourceReplaced(_) => {}
    }
    let went_back = |is_recorded| OneSidedMove::SourceWentBack {
        proof: "the target says that move 1234 ended at noon".into(),
        awake: vec![capi("Cluster", "edge")],
        is_recorded,
    };
    let claimed = OneSidedMove::ClaimedByTarget {
        claim: "the target says that move 1234 ended at noon".into(),
        clusters: vec![capi("Cluster", "edge")],
    };
    let paused_again = OneSidedMove::PausedAgain(
        "Cluster edge, a copy of move 1234, was unpaused and paused again, or not".into(),
    );
    let (in_source, in_target) = (OneSidedMove::LastCopyInSource, OneSidedMove::LastCopyInTarget);
    let part = OneSidedMove::PartTakenOver {
        proof: "Cluster lab, a copy of move 1234, runs in the target".into(),
        without: vec![capi("Cluster", "edge")],
        unmarked: Vec::new(),
    };
    let unmarked = |without| OneSidedMove::PartTakenOver {
        proof: "Cluster lab, a copy of move 1234, runs in the target".into(),
        without,
        unmarked: vec![capi("Cluster", "far")],
    };
    let (unmarked, part_unmarked) = (unmarked(Vec::new()), unmarked(vec![capi("Cluster", "edge")]));
    let closed = |is_proven: bool| OneSidedMove::ClosedInTarget {
        proof: is_proven.then(|| "Cluster edge, a copy of move 1234, runs in the target".into()),
    };
    let closed_in_part =
        OneSidedMove::ClosedInPart("Cluster edge, a copy of move 1234, runs in the target".into());
    let replaced = OneSidedMove::SourceReplaced(vec![capi("Cluster", "edge")]);
    let out_of_date = OneSidedMove::SourceOutOfDate("the target says that move 1234 is Released".into());
    [
        taken_over,
        out_of_date,
        paused_again,
        went_back(true),
        went_back(false),
        claimed,
        part,
        unmarked,
        part_unmarked,
        in_source,
        closed(true),
        closed(false),
        closed_in_part,
        in_target,
        replaced,
    ]
}

fn one_records() -> String {
    let mut all = String::new();
    let lost = lost();
    for one_sided in lost.iter().map(OneRecord::Lost).chain([OneRecord::RolledBack]) {
        let record = &one(Phase::Committed, Side::Source).record;
        let now = Situation {
            record,
            phase: record.phase,
            sides: KnownSides::Both,
            one_sided: Some(one_sided),
            recovered: false,
            files: KnownFiles::Named,
            not_imported: false,
            why: AdviceReason::Asked,
        };
        writeln!(all, "{one_sided:?}: {}\n  next: {}", now.state(), words(now.next())).unwrap();
    }
    all
}

/// Failures, each kind at least once, as a command reports it.
fn failures() -> String {
    let machine = || capi("Machine", "m-0");
    let awaited = || Awaited {
        object: Some(machine()),
        side: Some(Side::Target),
        plugin: None,
        what: "Ready is False".into(),
        remedy: "look at its controller".into(),
    };
    let refusal = |name: &str| Refusal {
        code: "some-code",
        side: Side::Target,
        object: Some(capi("Machine", name)),
        others: Vec::new(),
        message: "Machine is not provisioned".into(),
        remedies: vec![Remedy::MoveUnprovisioned],
    };
    let finding = Finding {
        severity: Severity::Stop,
        code: "no-ip".into(),
        message: "the endpoint does not answer".into(),
        object: Some(machine()),
        remedy: "start it".into(),
    };
    let hook = |object: Option<Key>| Failure::Hook {
        plugin: "metal3".into(),
        hook: Hook::Check,
        object: object.map(Box::new),
        error: HookError { code: "no".into(), message: "it says no".into() },
    };
    let place = |object: Option<Key>| Failure::Place {
        side: Side::Source,
        doing: "reading".into(),
        object: object.map(Box::new),
        error: PlaceError::Forbidden("not for jane".into()),
    };
    let differing_cluster = |can_be_named, can_be_dropped| PausedCluster {
        cluster: capi("Cluster", "edge"),
        reasons: vec!["no node has the provider ID of Machine ns/m".into(), "another".into()],
        can_be_named,
        can_be_dropped,
    };
    let equal_cluster = || PausedCluster { reasons: Vec::new(), ..differing_cluster(true, false) };
    let lost = lost().map(|one_sided| Failure::OneSidedMove { move_id: "1234".into(), one_sided });
    let all: Vec<Failure> = [
        Failure::Refused(vec![refusal("m-0")]),
        Failure::Refused(vec![refusal("m-0"), refusal("m-1")]),
        Failure::Empty("no Cluster is in namespace ns".into()),
        Failure::NoMove,
        Failure::Several(vec!["1234 (namespace ns, Copied)".into()]),
        Failure::NoCluster { named: "ns/edge".into(), there: vec![] },
        Failure::NoCluster { named: "ns/edge".into(), there: vec![capi("Cluster", "edge-1")] },
        Failure::SeveralClusters(vec![capi("Cluster", "edge")]),
        place(None),
        place(Some(machine())),
        Failure::Place {
            side: Side::Source,
            doing: "releasing".into(),
            object: Some(Box::new(machine())),
            error: PlaceError::Forbidden(
                "admission webhook \"v.example.io\" denied the request: it is used".into(),
            ),
        },
        Failure::Place {
            side: Side::Target,
            doing: "asking about".into(),
            object: Some(Box::new(machine())),
            error: PlaceError::Unavailable(
                "Internal error occurred: failed calling webhook \"v.example.io\": connection refused".into(),
            ),
        },
        Failure::Unreachable {
            side: Side::Target,
            place: "https://10.0.0.1:6443".into(),
            named_in: Some("target.kubeconfig".into()),
            why: "connection refused".into(),
        },
        Failure::TimedOut(vec![awaited()]),
        Failure::Gate(vec![PluginFinding { plugin: "metal3".into(), finding }]),
        hook(None),
        hook(Some(machine())),
        Failure::Lost { object: machine(), fields: vec!["spec.version".into()] },
        Failure::Changed { object: machine(), fields: vec!["spec.version".into()] },
        Failure::Halted(Halt::Signal(2)),
        Failure::Halted(Halt::LeaseLost("it was not renewed for 10 seconds".into())),
        Failure::Declined("move 1234 is past the point of no return".into()),
        begun_by_other(Phase::Copied),
        begun_by_other(Phase::Live),
        Failure::OtherEnd { move_id: "1234".into(), into_directory: true },
        Failure::OtherEnd { move_id: "1234".into(), into_directory: false },
        Failure::Inputs("move 1234 was begun with other files".into()),
        Failure::Imported("move 1234 was imported".into()),
        Failure::MayBeImported { move_id: "1234".into() },
        Failure::Orphan("1234".into()),
        Failure::Undecided(Box::new(place(None))),
        Failure::Record("its format is newer".into()),
        Failure::PluginsRefused,
        Failure::Plugins {
            move_id: "1234".into(),
            begun: "metal3 0.3.1".into(),
            remedy: Box::new(Remedy::AcceptPluginChange),
        },
        Failure::NotSeen(vec![awaited()]),
        Failure::NotTakenOver(vec![awaited()]),
        Failure::StoppedBeforeRelease,
        Failure::SourcePaused {
            proof: "the target says that move 1234 ended at noon".into(),
            clusters: vec![capi("Cluster", "edge")],
        },
        Failure::LeftPaused {
            side: Side::Source,
            clusters: vec![differing_cluster(true, false), differing_cluster(false, false), equal_cluster()],
            compared: true,
        },
        Failure::LeftPaused { side: Side::Target, clusters: vec![equal_cluster()], compared: false },
        Failure::RestoreDiffers(vec![differing_cluster(true, true), differing_cluster(false, false)]),
        Failure::UndoLost { clusters: vec![capi("Cluster", "edge")] },
        Failure::Unsettled(vec![HeldObject { object: machine(), why: "it keeps changing".into() }]),
        Failure::Bug("no step 7".into()),
    ]
    .into_iter()
    .chain(lost)
    .collect();
    let mut text = String::new();
    for failure in all {
        let name = name(&failure);
        let stop = stop(failure);
        let mut lines = failure_text(&stop, false, "");
        lines.append(refusal_lines(refusals_of(&stop.failure), false));
        writeln!(text, "{name}: {}", lines.message().trim_end()).unwrap();
        let flags =
            ["source", "target"].map(|side| vec!["--kubeconfig".into(), format!("{side}.kubeconfig")]);
        let [source, target] = flags;
        for remedy in remedies::of_stop(&stop, &Both::new(source, target)) {
            writeln!(text, "  fix: {}", remedies::remedy_text(&remedy)).unwrap();
        }
    }
    text
}

fn begun_by_other(phase: Phase) -> Failure {
    let author = "Pivot shop/into-prod (UID 0-1-2)".into();
    Failure::BegunByOther { move_id: "1234".into(), phase, author }
}

/// A stop past the commit, from which there is most to be done.
fn stop(failure: Failure) -> pivot_engine::Stop {
    pivot_engine::Stop { exit: pivot_engine::Exit::PastCommit, ..results::stop(failure) }
}

fn name(failure: &Failure) -> &'static str {
    match failure {
        Failure::Refused(_) => "Refused",
        Failure::Empty(_) => "Empty",
        Failure::NoMove => "NoMove",
        Failure::Several(_) => "Several",
        Failure::NoCluster { .. } => "NoCluster",
        Failure::SeveralClusters(_) => "SeveralClusters",
        Failure::Place { .. } => "Place",
        Failure::Unreachable { .. } => "Unreachable",
        Failure::Object(..) => "Object",
        Failure::TimedOut(_) => "TimedOut",
        Failure::Gate(_) => "Gate",
        Failure::Hook { .. } => "Hook",
        Failure::Lost { .. } => "Lost",
        Failure::Changed { .. } => "Changed",
        Failure::Halted(_) => "Halted",
        Failure::Declined(_) => "Declined",
        Failure::BegunByOther { .. } => "BegunByOther",
        Failure::OtherEnd { .. } => "OtherEnd",
        Failure::Inputs(_) => "Inputs",
        Failure::Imported(_) => "Imported",
        Failure::MayBeImported { .. } => "MayBeImported",
        Failure::OneSidedMove { .. } => "OneSidedMove",
        Failure::Orphan(_) => "Orphan",
        Failure::Undecided(_) => "Undecided",
        Failure::Record(_) => "Record",
        Failure::PluginsRefused => "PluginsRefused",
        Failure::Plugins { .. } => "Plugins",
        Failure::NotSeen(_) => "NotSeen",
        Failure::NotTakenOver(_) => "NotTakenOver",
        Failure::StoppedBeforeRelease => "StoppedBeforeRelease",
        Failure::LeftPaused { .. } => "LeftPaused",
        Failure::RestoreDiffers(_) => "RestoreDiffers",
        Failure::SourcePaused { .. } => "SourcePaused",
        Failure::UndoLost { .. } => "UndoLost",
        Failure::Unsettled(_) => "Unsettled",
        Failure::Bug(_) => "Bug",
    }
}

/// One remedy of each kind, in the order of the type.
fn remedies() -> String {
    let cluster = || capi("Cluster", "edge");
    let kind = || GroupKind::new("cluster.x-k8s.io", "Machine");
    let plugin = || "metal3".to_owned();
    let provider = || Installation {
        kind_of: "InfrastructureProvider".into(),
        name: "metal3".into(),
        version: "v1.11.0".into(),
    };
    let parts = || [Part::of_object(&cluster())].into();
    let mut text = String::new();
    let mut last = Some(Remedy::ByHand { what: "look at the log".into() });
    while let Some(remedy) = last {
        let word = serde_json::to_value(&remedy).unwrap();
        writeln!(text, "{}: {}", word["remedy"].as_str().unwrap_or_default(), remedies::remedy_text(&remedy))
            .unwrap();
        last = match remedy {
            Remedy::ByHand { .. } => {
                let command = Kubectl::object(Side::Target, "get", &cluster(), &["-o", "yaml"]);
                Some(Remedy::kubectl("look at it: ", command, ""))
            }
            Remedy::Kubectl { .. } => Some(Remedy::GrantRights { side: Side::Target }),
            Remedy::GrantRights { .. } => Some(Remedy::NameOtherUser { side: Side::Target }),
            Remedy::NameOtherUser { .. } => Some(Remedy::InstallProvider(provider())),
            Remedy::InstallProvider(_) => Some(Remedy::UpgradeProvider(provider())),
            Remedy::UpgradeProvider(_) => Some(Remedy::WatchAllNamespaces),
            Remedy::WatchAllNamespaces => Some(Remedy::EndOtherMove),
            Remedy::EndOtherMove => Some(Remedy::WaitForOtherRun),
            Remedy::WaitForOtherRun => Some(Remedy::ReachServer),
            Remedy::ReachServer => Some(Remedy::NameOtherTarget),
            Remedy::NameOtherTarget => Some(Remedy::NameRecordNamespace),
            Remedy::NameRecordNamespace => Some(Remedy::DropOwners { kinds: [kind()].into() }),
            Remedy::DropOwners { .. } => Some(Remedy::DropOneOwner { kinds: [kind()].into() }),
            Remedy::DropOneOwner { .. } => Some(Remedy::AcceptLoss { kind: kind() }),
            Remedy::AcceptLoss { .. } => Some(Remedy::AcceptUnverified { kind: kind() }),
            Remedy::AcceptUnverified { .. } => Some(Remedy::AddPlugin { kind: kind() }),
            Remedy::AddPlugin { .. } => Some(Remedy::EnablePlugin { plugin: "aws".into(), directory: None }),
            Remedy::EnablePlugin { .. } => Some(Remedy::MoveWithoutPlugin { kind: kind() }),
            Remedy::MoveWithoutPlugin { .. } => Some(Remedy::NameCluster { cluster: cluster() }),
            Remedy::NameCluster { .. } => Some(Remedy::AcceptShared { kind: kind() }),
            Remedy::AcceptShared { .. } => Some(Remedy::AcceptOldNamespace { kind: kind() }),
            Remedy::AcceptOldNamespace { .. } => Some(Remedy::AlsoCopy { part: Part::of_object(&cluster()) }),
            Remedy::AlsoCopy { .. } => Some(Remedy::AcceptDangling { kind: kind() }),
            Remedy::AcceptDangling { .. } => Some(Remedy::AcceptGitops { kind: kind() }),
            Remedy::AcceptGitops { .. } => Some(Remedy::MapNamespace { namespace: "ns".into() }),
            Remedy::MapNamespace { .. } => Some(Remedy::ExcludeToo { objects: [cluster()].into() }),
            Remedy::ExcludeToo { .. } => Some(Remedy::ExcludeInstead { parts: parts() }),
            Remedy::ExcludeInstead { .. } => Some(Remedy::LeaveOutExclude { parts: parts() }),
            Remedy::LeaveOutExclude { .. } => Some(Remedy::LeaveOutCarry { parts: parts() }),
            Remedy::LeaveOutCarry { .. } => Some(Remedy::NameOtherClusters),
            Remedy::NameOtherClusters => Some(Remedy::MovePaused),
            Remedy::MovePaused => Some(Remedy::MoveUnprovisioned),
            Remedy::MoveUnprovisioned => Some(Remedy::SourceIsOff),
            Remedy::SourceIsOff => Some(Remedy::UseExisting),
            Remedy::UseExisting => Some(Remedy::ResumeWithoutSource),
            Remedy::ResumeWithoutSource => Some(Remedy::RestoreTarget),
            Remedy::RestoreTarget => Some(Remedy::RecoverSource),
            Remedy::RecoverSource => Some(Remedy::RollBackLostUndo),
            Remedy::RollBackLostUndo => Some(Remedy::PauseSource),
            Remedy::PauseSource => Some(Remedy::NameClusterToPause { cluster: cluster() }),
            Remedy::NameClusterToPause { .. } => Some(Remedy::SwitchOffSource),
            Remedy::SwitchOffSource => Some(Remedy::ExplainMissingCopies),
            Remedy::ExplainMissingCopies => Some(Remedy::NameComparedCluster { cluster: Some(cluster()) }),
            Remedy::NameComparedCluster { .. } => Some(Remedy::DropLostWorkers { cluster: cluster() }),
            Remedy::DropLostWorkers { .. } => Some(Remedy::NameClusterToUnpause { cluster: cluster() }),
            Remedy::NameClusterToUnpause { .. } => Some(Remedy::NotImported),
            Remedy::NotImported => {
                Some(Remedy::AcceptChanged { kinds: [kind(), GroupKind::new("", "Secret")].into() })
            }
            Remedy::AcceptChanged { .. } => Some(Remedy::AcceptUnseen { kinds: [kind()].into() }),
            Remedy::AcceptUnseen { .. } => Some(Remedy::ResumeUnverified),
            Remedy::ResumeUnverified => Some(Remedy::ResumeAgain),
            Remedy::ResumeAgain => Some(Remedy::AcceptPluginChange),
            Remedy::AcceptPluginChange => Some(Remedy::StartFinishingAgent),
            Remedy::StartFinishingAgent => Some(Remedy::WaitForLink),
            Remedy::WaitForLink => Some(Remedy::Fix { plugin: plugin() }),
            Remedy::Fix { .. } => {
                Some(Remedy::GrantReach { plugin: plugin(), kind: kind(), namespace: Some("ns".into()) })
            }
            Remedy::GrantReach { .. } => Some(Remedy::SwitchOff { plugin: plugin() }),
            Remedy::SwitchOff { .. } => Some(Remedy::LetCheckPass { plugin: plugin() }),
            Remedy::LetCheckPass { .. } => Some(Remedy::RollBackThenFix { plugin: plugin() }),
            Remedy::RollBackThenFix { .. } => Some(Remedy::RollBackThenSwitchOff { plugin: plugin() }),
            Remedy::RollBackThenSwitchOff { .. } => Some(Remedy::FixThenAcceptChange { plugin: None }),
            Remedy::FixThenAcceptChange { plugin: None } => {
                Some(Remedy::FixThenAcceptChange { plugin: Some(plugin()) })
            }
            Remedy::FixThenAcceptChange { .. } => Some(Remedy::ResolveThenResume),
            Remedy::ResolveThenResume => {
                Some(Remedy::SwitchOffThenAcceptChange { plugins: vec![plugin(), "endpoints".into()] })
            }
            Remedy::SwitchOffThenAcceptChange { .. } => None,
        };
    }
    text
}

fn risks() -> String {
    let mut text = String::new();
    for risk in Risk::ALL {
        write!(text, "{}", explain::explain_risk(risk)).unwrap();
    }
    text
}
