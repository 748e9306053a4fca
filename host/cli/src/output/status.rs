//! The state of moves, for people.

use std::collections::BTreeMap;

use pivot_core::messages::grouping::{format_number, format_objects, plural_kind};
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::safe_text;
use pivot_core::records::record::{FinishAlone, Finished, Phase, Record, RolledBackMove};
use pivot_core::{GroupKind, Key, Side};
use pivot_engine::{LeaseStatus, Leftover, MoveStatus, OneSidedMove, Situation, Status, WaitingCopies};

use super::lines;
use super::lines::count_text;
use super::remedies;
use super::text::Text;

/// Most objects without a copy that are named.
const MAX_NAMED: usize = 10;
/// Most characters that are printed of a text in a record.
const SHOWN: usize = 200;

/// The state of moves. `next` are whole commands, for each move.
pub(crate) fn status_text(status: &Status, (source, target): (&str, &str), next: &[Vec<String>]) -> Text {
    let mut text = Text::default();
    if status.moves.is_empty() {
        no_moves_lines(status, source, target).into_iter().for_each(|line| text.add_line(line));
    }
    for (index, (one, next)) in status.moves.iter().zip(next).enumerate() {
        if index > 0 {
            text.gap();
        }
        text.append(of_move(status, one, (source, target), next));
    }
    text.append(last_moves(&status.finished));
    text.append(last_rollbacks(&status.rolled_back));
    if let Some(left) = &status.left {
        text.gap();
        text.append(leftover_text(left, source));
    }
    text
}

/// Describes objects of one kind: `3 Machines`, or with the names of at most `most`.
fn describe_kind(keys: &[&Key], most: usize) -> String {
    match keys {
        [first, _, ..] if most == 0 => {
            format!("{} {}", format_number(keys.len()), plural_kind(&first.group_kind.kind))
        }
        [only] if most == 0 => format!("1 {}", only.group_kind.kind),
        keys => format_objects(keys, most),
    }
}

/// An object whose kind the context names.
fn object_path(key: &Key) -> String {
    key.namespace.iter().map(|namespace| format!("{namespace}/")).chain([key.name.clone()]).collect()
}

/// Returns whether the source can be deleted, or the loss that its deletion would cause.
fn leftover_text(left: &Leftover, source: &str) -> Text {
    let Leftover {
        may_be_deleted,
        only_here,
        with_finalizers,
        on_both,
        provider_secrets,
        beside_moved,
        unread,
    } = left;
    let both = match on_both {
        0 => "no objects of Cluster API are left in it".to_owned(),
        number => {
            format!(
                "the target has copies of the {} of Cluster API that are left in it",
                count_text(*number, "object")
            )
        }
    };
    if *may_be_deleted {
        return Text::from(format!("The source, {source}, may be deleted: {both}."));
    }
    let mut text = Text::from(format!("The source, {source}, should not be deleted yet:"));
    let mut kinds: BTreeMap<&GroupKind, Vec<&Key>> = BTreeMap::new();
    for key in only_here {
        kinds.entry(&key.group_kind).or_default().push(key);
    }
    if !kinds.is_empty() {
        let most = if only_here.len() <= MAX_NAMED { MAX_NAMED } else { 0 };
        let counted: Vec<String> = kinds.values().map(|keys| describe_kind(keys, most)).collect();
        let verb = if only_here.len() == 1 { "has" } else { "have" };
        text.add_line(format!(
            "  {} {verb} no copy in the target: {}",
            count_text(only_here.len(), "object"),
            counted.join("; ")
        ));
    }
    if *with_finalizers > 0 {
        text.add_line(format!(
            "  {} of these have finalizers: their machines or networks would be left without a controller",
            format_number(*with_finalizers)
        ));
    }
    if !provider_secrets.is_empty() {
        let names: Vec<String> = provider_secrets.iter().map(object_path).collect();
        text.add_line(format!(
            "  Secrets in providers' namespaces, none of which are in the target: {}",
            some_of(&names, 3)
        ));
    }
    if !beside_moved.is_empty() {
        text.add_line(format!(
            "  not in the target, and moved objects may refer to it: {}",
            format_objects(&beside_moved.iter().collect::<Vec<_>>(), 3)
        ));
    }
    if !unread.is_empty() {
        text.add_line(format!(
            "  not checked, because you don't have permission to list them: {}",
            some_of(&unread.iter().collect::<Vec<_>>(), 8)
        ));
    }
    text
}

fn no_moves_lines(status: &Status, source: &str, target: &str) -> Vec<String> {
    match (&status.missing, &status.silent) {
        (Some(missing), _) => {
            let given = if *missing == Side::Source { target } else { source };
            let copies = status.waiting_copies.iter().map(|copies| describe_waiting(copies, given));
            let mut lines: Vec<String> = copies.collect();
            if lines.is_empty() {
                lines.push(format!(
                    "No move is under way out of {given}, and none into it is committed: a move that is not has its record in its source."
                ));
            }
            if let Some(why) = &status.unread_copies {
                lines.push(format!(
                    "It is not known whether {given} has paused copies of such a move: its Clusters could not be listed ({why})."
                ));
            }
            lines
        }
        (None, silent) => vec![no_move_text(silent.as_ref(), source, target)],
    }
}

/// Copies whose move is known to its source alone.
fn describe_waiting(copies: &WaitingCopies, given: &str) -> String {
    let WaitingCopies { move_id, clusters } = copies;
    let clusters = format_objects(&clusters.iter().collect::<Vec<_>>(), 3);
    format!(
        "{given} has paused copies of move {move_id}, of which it has no record: {clusters}. If the move is under way, its source has the \
         record: name that cluster with --kubeconfig, and this one with --to-kubeconfig."
    )
}

fn no_move_text(silent: Option<&(Side, String)>, source: &str, target: &str) -> String {
    match silent {
        None => format!("No move is under way from {source} to {target}."),
        Some((Side::Target, why)) => {
            format!("No move is under way from {source}. The target, {target}, does not answer: {why}.")
        }
        Some((Side::Source, why)) => format!(
            "{target} knows of no committed move into it. The source, {source}, does not answer: {why}; a move that is under way is not committed; its progress can be seen once the source answers."
        ),
    }
}

fn of_move(status: &Status, one: &MoveStatus, (source, target): (&str, &str), next: &[String]) -> Text {
    let MoveStatus { record, .. } = one;
    let plugins: Vec<String> =
        record.plugins.iter().map(|pin| format!("{} {}", pin.name, pin.version)).collect();
    let plugins = plugins.join(", ");
    let sides = match one.missing {
        None => format!("from {source} to {target}"),
        Some(Side::Target) => format!("out of {source} (no target given)"),
        Some(Side::Source) => format!("into {target} (no source given)"),
    };
    let mut text = Text::default();
    text.strong("Move:", format!("{}, {sides}", record.move_id));
    text.gap();
    let silent = status.silent.as_ref().map(|(side, _)| *side);
    for (name, value) in [
        ("phase", phase_text(one)),
        // Whether the target is a directory makes no difference to it.
        ("state", Situation::from_status(one, silent, false).state()),
        ("what", record.scope.to_string()),
        ("started", started_text(record)),
        ("plugins", plugins),
        ("lease", lease_text(status, &record.move_id)),
    ] {
        // The locks are in the source.
        if name == "lease" && one.missing == Some(Side::Source) || value.is_empty() {
            continue;
        }
        text.add_line(format!("  {name:8} {value}"));
    }
    if let Some(plan) = &record.plan_checksum {
        let needs = if record.phase.is_committed() { "" } else { "; resume needs its file, with --plan" };
        text.add_line(format!("  {:8} the saved one with checksum {plan}{needs}", "plan"));
    }
    if let Some(note) = status_note(status, one) {
        text.add_line(format!("  {:8} {note}", "note"));
    }
    for (index, line) in next.iter().enumerate() {
        text.add_line(format!("  {:8} {line}", if index == 0 { "next" } else { "or" }));
    }
    text
}

fn phase_text(one: &MoveStatus) -> String {
    let MoveStatus { decides, record, one_sided, .. } = one;
    let phase = record.phase;
    match (phase.is_committed(), decides) {
        _ if matches!(
            one_sided,
            Some(
                OneSidedMove::LastCopyInSource
                    | OneSidedMove::PartTakenOver { .. }
                    | OneSidedMove::LastCopyInTarget
                    | OneSidedMove::SourceReplaced(_)
            )
        ) =>
        {
            format!("{phase} (by the record in the {decides}; the other side has none)")
        }
        _ if one.has_ended => "ended (by its summary in the target; neither side has a record)".to_owned(),
        _ if one.orphaned && one_sided.is_none() => {
            format!("{phase} (roll back only; by the record in the {decides})")
        }
        // The target may have a record, which is further.
        _ if one_sided.is_some() => format!("{phase} (by the record in the {decides})"),
        (true, Side::Source) => {
            format!("{phase} or later (resume only; the record in the target decides and was not read)")
        }
        (true, Side::Target)
            if record.finish_alone == Some(FinishAlone::Allowed) && phase < Phase::Settled =>
        {
            format!(
                "{phase} (resume only; sealed: while its source is away, an agent may finish it in the target)"
            )
        }
        (true, Side::Target) if record.finish_alone == Some(FinishAlone::Done) && phase < Phase::Settled => {
            format!(
                "{phase} (resume only; an agent finished it in the target while its source was away: the copies run, and the source's objects are left to be deleted)"
            )
        }
        (true, Side::Target) => format!("{phase} (resume only)"),
        (false, _) if record.is_being_rolled_back() => {
            format!(
                "{phase} (handed over{}, and being canceled: don't load the files)",
                handover_text(record)
            )
        }
        (false, _) if record.handed_over().is_some() => {
            format!(
                "{phase} (handed over{}: the source stays paused until the handover is finished)",
                handover_text(record)
            )
        }
        (false, _) => format!("{phase} (resume or roll back)"),
    }
}

/// Returns the directory and the time of a handover.
fn handover_text(record: &Record) -> String {
    let shown = |text: &str| safe_text::to_line(text, SHOWN);
    record
        .handover
        .as_ref()
        .map(|handover| format!(" in {} on {}", shown(&handover.directory), shown(&handover.written_at)))
        .unwrap_or_default()
}

/// Moves under way, found while a plan is made. `next` are whole commands, for each move.
pub(crate) fn under_way(moves: &[MoveStatus], next: &[Vec<String>]) -> Text {
    let mut text = Text::default();
    if moves.is_empty() {
        return text;
    }
    text.gap();
    text.add_line("Moves under way:");
    for (one, next) in moves.iter().zip(next) {
        let record = &one.record;
        let direction = match one.missing {
            Some(Side::Target) => " out of this cluster",
            Some(Side::Source) => " into this cluster",
            None => "",
        };
        text.add_line(format!("  move {}{direction}, {}, {}", record.move_id, record.scope, phase_text(one)));
        text.add_line(format!("    started  {}", started_text(record)));
        if let Some(note) = one_sided(one) {
            text.add_line(format!("    note     {note}"));
        }
        for (index, line) in next.iter().enumerate() {
            text.add_line(format!("    {:8} {line}", if index == 0 { "next" } else { "or" }));
        }
    }
    text
}

/// Returns lines about one move under way, without commands.
pub(super) fn one_under_way(one: &MoveStatus) -> Vec<String> {
    let record = &one.record;
    let said = format!("Move {}, {}, {}", record.move_id, record.scope, phase_text(one));
    [said, format!("Started {}", started_text(record))].into_iter().chain(one_sided(one)).collect()
}

fn started_text(record: &Record) -> String {
    if record.started_by.is_empty() {
        record.started_at.clone()
    } else {
        format!("{} by {}", record.started_at, record.started_by)
    }
}

/// The holder of the move's locks.
fn lease_text(status: &Status, move_id: &str) -> String {
    let leases = status.leases.iter().filter(|lease| lease.move_id.as_deref() == Some(move_id));
    let held: Vec<String> = leases.filter(|lease| !lease.holder.is_empty()).map(describe_lease).collect();
    if held.is_empty() { "no run is working on this move".to_owned() } else { some_of(&held, 3) }
}

fn describe_lease(lease: &LeaseStatus) -> String {
    let LeaseStatus { name, holder, renewed_seconds_ago, .. } = lease;
    match renewed_seconds_ago {
        Some(seconds) if lease.is_alive() => {
            format!(
                "{name} held by {holder}, a run that is at work (renewed {seconds} s ago by its clock): wait until it ends"
            )
        }
        Some(seconds) => {
            format!(
                "{name} held by {holder}, a run that renewed it last {seconds} s ago by its clock: unless the clocks differ, it is dead"
            )
        }
        None => format!("{name} held by {holder}"),
    }
}

/// Returns a note that users need before they run a next command.
fn status_note(status: &Status, one: &MoveStatus) -> Option<String> {
    if let Some(note) = one_sided(one) {
        return Some(note);
    }
    let (side, why) = status.silent.as_ref()?;
    let way = match (side, one.record.phase.is_committed()) {
        (Side::Target, _) if one.record.handed_over().is_some() => {
            "once it does, it shows whether it imported this; until then the source must stay paused"
        }
        (Side::Target, true) => {
            "resume when it does; if it is lost for good, what is left of the source is the last copy"
        }
        _ => "resume when it does; only if it is lost for good:",
    };
    Some(format!("the {side} does not answer ({why}); {way}"))
}

/// Returns a note that follows from the move and the given sides.
fn one_sided(one: &MoveStatus) -> Option<String> {
    let note = match one.missing {
        Some(Side::Target) if one.record.is_being_rolled_back() => {
            "to ask the target too, name it with --to-kubeconfig"
        }
        Some(Side::Target) if one.record.handed_over().is_some() => {
            "once it is imported, name the cluster that imported it: `handover finish --to-kubeconfig`; only if none did:"
        }
        Some(Side::Target) if one.record.into_directory => {
            "it copies into a directory: name that too (--to-directory) to see the next commands"
        }
        Some(Side::Target) => {
            "name its target too (--to-kubeconfig, --to-kubeconfig-context) to see the next commands"
        }
        Some(Side::Source) if one.record.is_of_files() => note_without_files(one.record.phase),
        Some(Side::Source) => {
            "name this cluster with --to-kubeconfig and its source with --kubeconfig to see the next commands"
        }
        None if one.elsewhere && one.record.phase.is_committed() => {
            "this is not the target of the move: name the right one. If that is lost, first make sure that no other management cluster, this one included, runs these Clusters. Only then restore it from a backup of its etcd of after the commit. Until then keep the source, paused as it is"
        }
        None if one.elsewhere => "this is not the target of the move: name the right one",
        None if one.one_sided.is_some() => {
            return one.one_sided.as_ref().map(|lost| describe_one_sided(lost, &one.record.move_id));
        }
        None if one.orphaned => {
            "it was rolled back while the target could not be reached; a rollback removes the rest there"
        }
        None => return None,
    };
    Some(note.to_owned())
}

/// Returns the note about a move of files that the user did not name.
fn note_without_files(phase: Phase) -> &'static str {
    match phase {
        Phase::Checked | Phase::Paused => {
            "name this cluster with --to-kubeconfig and the files with --from-directory to see the next commands; without them, `rollback --without-source`"
        }
        Phase::Copied | Phase::Ready => {
            "name this cluster with --to-kubeconfig and the files with --from-directory to see the next commands. If the files are lost, the copies may be the last: keep them, paused. Only with another copy of the backup, remove them with `rollback --without-source`, and begin again"
        }
        Phase::Committed | Phase::Live | Phase::Released | Phase::Settled => {
            "name this cluster with --to-kubeconfig and the files with --from-directory to see the next commands; without them, `resume --without-source`"
        }
    }
}

/// Describes a move that one side has no record of, and the way out.
fn describe_one_sided(lost: &OneSidedMove, move_id: &str) -> String {
    let shown = lost.describe(move_id);
    match lost {
        OneSidedMove::TakenOver(_)
        | OneSidedMove::PausedAgain(_)
        | OneSidedMove::PartTakenOver { .. }
        | OneSidedMove::ClosedInPart(_) => shown,
        OneSidedMove::SourceWentBack { is_recorded: true, .. } => {
            format!("{shown}: {}", remedies::remedy_text(&Remedy::PauseSource))
        }
        OneSidedMove::SourceWentBack { awake: clusters, .. }
        | OneSidedMove::ClaimedByTarget { clusters, .. } => match clusters.first() {
            Some(cluster) => {
                let remedy = Remedy::NameClusterToPause { cluster: cluster.clone() };
                format!("{shown}; {}", remedies::remedy_text(&remedy))
            }
            None => shown,
        },
        OneSidedMove::SourceOutOfDate(_) => format!(
            "{shown}. To delete them from the source, this compares each object with what was copied, and each Cluster with its copy, \
             and refuses if one differs:"
        ),
        OneSidedMove::SourceReplaced(_) => {
            format!("{shown}; no command goes on until it is known which side runs these Clusters")
        }
        OneSidedMove::ClosedInTarget { proof: Some(_) } => {
            format!("{shown}. To end the move, and leave the source as it is:")
        }
        OneSidedMove::LastCopyInSource | OneSidedMove::ClosedInTarget { proof: None } => {
            format!(
                "{shown}; keep it, paused as it is. Only if nothing of the move runs in the target, restore that from a backup of after the commit"
            )
        }
        OneSidedMove::LastCopyInTarget => format!(
            "{shown}; keep them. Only if no other management cluster runs these Clusters, this takes the copies as they are:"
        ),
    }
}

/// Most finished moves that are shown. Imports of files are remembered longer.
const LAST_MOVES: usize = 10;

fn last_moves(finished: &[Finished]) -> Text {
    let mut text = Text::default();
    if finished.is_empty() {
        return text;
    }
    let rows = finished.iter().take(LAST_MOVES).map(|one| {
        let Finished {
            ended_at, started_by, moved, kept, scope, source_label, target_label, move_id, ..
        } = one;
        let by = if started_by.is_empty() { "-" } else { started_by };
        vec![
            ended_at.clone(),
            moved.to_string(),
            kept.to_string(),
            by.to_owned(),
            scope.as_ref().map_or("-".to_owned(), ToString::to_string),
            source_label.clone(),
            target_label.clone(),
            move_id.clone(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let head = ["ENDED", "MOVED", "KEPT", "BY", "SCOPE", "FROM", "TO", "MOVE"];
    text.gap();
    text.add_line("The last moves:");
    text.gap();
    text.append(lines::format_columns(&head, &rows));
    let risky: Vec<&Finished> =
        finished.iter().take(LAST_MOVES).filter(|one| !one.accepted.is_empty()).collect();
    if !risky.is_empty() {
        text.gap();
    }
    for Finished { move_id, accepted, .. } in risky {
        text.add_line(format!("  Risks accepted in move {move_id}: {}", accepted.join(", ")));
    }
    if let Some(more @ 1..) = finished.len().checked_sub(LAST_MOVES) {
        text.add_line(format!("and {more} before them (`status -o json` has all)"));
    }
    text
}

fn last_rollbacks(rolled_back: &[RolledBackMove]) -> Text {
    let mut text = Text::default();
    if rolled_back.is_empty() {
        return text;
    }
    let rows = rolled_back.iter().take(LAST_MOVES).map(|one| {
        let RolledBackMove {
            ended_at, started_by, phase, scope, source_label, target_label, move_id, ..
        } = one;
        let by = if started_by.is_empty() { "-" } else { started_by };
        vec![
            ended_at.clone(),
            phase.to_string(),
            by.to_owned(),
            scope.to_string(),
            source_label.clone(),
            target_label.clone(),
            move_id.clone(),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    text.gap();
    text.add_line("The last moves that were rolled back:");
    text.gap();
    text.append(lines::format_columns(&["ENDED", "PHASE", "BY", "SCOPE", "FROM", "TO", "MOVE"], &rows));
    text
}
