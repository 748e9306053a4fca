//! Events as lines: for people, and as JSON for programs. Only this module knows how an event is worded, and which flag accepts a
//! danger.

use jiff::Timestamp;
use pivot_core::discovery::implicit_links::is_cluster;
use pivot_core::messages::grouping::{Group, MAX_LISTED_NAMES, format_number, group_items};
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::risk::Risk;
use pivot_core::plugins::hooks::Severity;
use pivot_core::records::record::{Phase, Record};
use pivot_core::{GroupKind, Key};
use pivot_engine::{Awaited, Event, LeaseState, Summary, Verb};
use serde_json::{Map, Value, json};

use super::lines::count_text;
use super::remedies::remedies_sentence;

/// Most awaited objects that a line names.
const WAITS: usize = 3;

/// Attention that a line needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Info,
    Warn,
    Error,
}

impl Level {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The attention that an event needs.
pub(super) fn event_level(event: &Event) -> Level {
    match event {
        Event::Warning { .. } | Event::Retrying { .. } => Level::Warn,
        Event::Finding { severity: Severity::Note, .. } => Level::Info,
        Event::Finding { .. } => Level::Warn,
        _ => Level::Info,
    }
}

/// Returns true if people see an event. The event that stopped the move is left to the error at the end.
pub(super) fn is_shown(event: &Event, verbose: bool) -> bool {
    match event {
        Event::Finding { severity: Severity::Stop, .. } => false,
        Event::Object { .. } | Event::Throttled { .. } | Event::Lease { state: LeaseState::Acquired, .. } => {
            verbose
        }
        _ => true,
    }
}

/// The text of an event. It doesn't label a warning as such: the functions that write it do.
pub(super) fn event_line(event: &Event, (source, target): (&str, &str)) -> String {
    match event {
        Event::Reading { side } => format!("reading the {side}"),
        Event::Planned { summary, .. } => phase_line("Planned", &summary_line(summary, source, target)),
        Event::Accepted { code, kinds } => {
            format!("accepted: {}", risk_line(*code, kinds))
        }
        Event::UnderWay { status } => {
            let Record { move_id, phase, scope, .. } = &status.record;
            format!("move {move_id} ({scope}, {phase}) is under way")
        }
        Event::PhaseBegun { phase, objects } => {
            phase_line(&phase.to_string(), &doing_text(*phase, *objects, target))
        }
        Event::PhaseDone { phase, milliseconds } => {
            phase_line(&phase.to_string(), &format!("done in {:.1}s", to_seconds(*milliseconds)))
        }
        Event::Object { verb: Verb::Used, object, side, .. } => {
            format!("left {object} in the {side} as it is")
        }
        Event::Object { verb, object, side, .. } => format!("{} {object} in the {side}", done_word(*verb)),
        Event::Finding { .. } | Event::Note { .. } | Event::Warning { .. } => {
            grouped_lines([event], MAX_LISTED_NAMES).into_iter().map(|(_, line)| line).collect()
        }
        Event::Waiting { awaited, more, seconds_left } => {
            let mut lines = Awaited::lines(awaited, MAX_LISTED_NAMES);
            let rest = lines.len().saturating_sub(WAITS);
            lines.truncate(WAITS);
            let more = match (rest, more) {
                (0, 0) => String::new(),
                (0, more) => format!("; and for {} more objects", format_number(*more)),
                _ => "; and for more".to_owned(),
            };
            format!("waiting, {seconds_left}s left: {}{more}", lines.join("; "))
        }
        Event::Asking { side, place, seconds } => {
            format!("waiting for the {side}, {place}: no answer for {seconds}s")
        }
        Event::Retrying { side, error, .. } => {
            format!("the {side} does not answer ({error}); retrying")
        }
        Event::Throttled { side, requests, .. } => {
            format!("the {side} asks for fewer requests ({requests} rejected so far)")
        }
        Event::Lease { side, object, holder, state: LeaseState::Acquired, .. } => {
            format!("acquired {object} in the {side} as {holder}")
        }
        Event::Lease { side, object, holder, state: LeaseState::Waiting, seconds_left, renewed } => {
            let left = seconds_left.map(|left| format!(", {left}s left")).unwrap_or_default();
            let renewed =
                renewed.as_ref().map(|renewed| format!(", renewed last at {renewed}")).unwrap_or_default();
            format!(
                "waiting{left}: another run ({holder}) holds {object} in the {side}{renewed}; if it isn't renewed by then, that run counts as dead"
            )
        }
        Event::Lease { object, state: LeaseState::Broken, seconds_left, .. } => {
            let left = seconds_left.map(|left| format!(", {left}s left")).unwrap_or_default();
            format!("waiting{left}: the run that held {object} must notice that its lease was broken")
        }
    }
}

/// The text of an accepted risk.
pub(super) fn risk_line(code: Risk, kinds: &[GroupKind]) -> String {
    let kinds = if kinds.is_empty() { String::new() } else { format!(": {}", some_of(kinds, 8)) };
    format!("{} ({code}{kinds})", code.summary())
}

/// Groups notes, warnings and findings that say the same about objects of one kind. Terminals and pages show these groups, and count
/// them.
pub(super) fn group_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Group<'a, Event>> {
    group_items(events, |event| {
        let MessageParts { head, object, text, remedy } = message_parts(event);
        (object, vec![head, text.to_owned(), remedy])
    })
}

/// Notes, warnings and findings: one line for each group, with the names of at most `most` objects.
pub(super) fn grouped_lines<'a>(
    events: impl IntoIterator<Item = &'a Event>,
    most: usize,
) -> Vec<(&'a Event, String)> {
    let lines = group_events(events).into_iter().map(|group| {
        let MessageParts { head, text, remedy, .. } = message_parts(group.first);
        let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
        (group.first, format!("{head}{}{remedy}", group.line(text, most)))
    });
    lines.collect()
}

/// Returns the code of the event.
pub(super) fn event_code(event: &Event) -> &str {
    match event {
        Event::Finding { code, .. } | Event::Note { code, .. } | Event::Warning { code, .. } => code,
        _ => "",
    }
}

/// Remedy for a Cluster whose undo annotation is gone.
const NAME_TO_UNPAUSE: &str = "if it is to run, name it: resume with --unpause NAMESPACE/NAME";

/// Remedy for MachineDrainRules that stay.
const COPY_DRAIN_RULES: &str = "copy them, too: --also-copy MachineDrainRule.cluster.x-k8s.io";

/// The text of a note, a warning or a finding.
pub(super) struct MessageParts<'a> {
    head: String,
    object: Option<&'a Key>,
    pub(super) text: &'a str,
    pub(super) remedy: String,
}

pub(super) fn message_parts(event: &Event) -> MessageParts<'_> {
    match event {
        Event::Finding { plugin, severity, object, text, remedy, .. } => {
            let note = if *severity == Severity::Note { "note: " } else { "" };
            let (head, remedy) = (format!("{note}plugin {plugin}: "), remedy.clone());
            MessageParts { head, object: object.as_ref(), text, remedy }
        }
        Event::Note { object, text, .. } => {
            MessageParts { head: "note: ".to_owned(), object: object.as_ref(), text, remedy: String::new() }
        }
        Event::Warning { code, object, text, remedies } => {
            let is_cluster = object.as_ref().is_some_and(|key| is_cluster(&key.group_kind));
            let remedy = match code.as_str() {
                "undo-lost" if is_cluster => NAME_TO_UNPAUSE.to_owned(),
                "drain-rules-stay" => COPY_DRAIN_RULES.to_owned(),
                _ => remedies_sentence(remedies),
            };
            MessageParts { head: String::new(), object: object.as_ref(), text, remedy }
        }
        // No other event carries a text.
        _ => MessageParts { head: String::new(), object: None, text: "", remedy: String::new() },
    }
}

/// An event for programs: its fields, its time, and the message for people.
pub(super) fn event_json(event: &Event, message: &str) -> String {
    let fields = match serde_json::to_value(event) {
        Ok(Value::Object(fields)) => fields,
        // Events have string keys and plain values, all of which JSON can hold.
        _ => Map::new(),
    };
    json_line(event_level(event), fields, message)
}

/// A line that is not an engine event: the program's own message.
pub(super) fn json_words(level: Level, message: &str) -> String {
    let fields = Map::from_iter([("event".to_owned(), json!("message"))]);
    json_line(level, fields, message)
}

fn json_line(level: Level, mut fields: Map<String, Value>, message: &str) -> String {
    fields.insert("time".to_owned(), json!(Timestamp::now().to_string()));
    fields.insert("level".to_owned(), json!(level.word()));
    fields.insert("message".to_owned(), json!(message));
    Value::Object(fields).to_string()
}

/// One sentence: how many objects, how many of them Clusters and ClusterClasses, from where to where.
pub(super) fn summary_line(summary: &Summary, source: &str, target: &str) -> String {
    format!("{}, from {source} to {target}", count_moving(summary))
}

/// `120 objects (3 Clusters), 2 of them kept in the source too`
pub(super) fn count_moving(summary: &Summary) -> String {
    let Summary { objects, kept, from_manifests, clusters, cluster_classes, .. } = *summary;
    let mut of_them = Vec::new();
    for (number, what) in [(clusters, "Cluster"), (cluster_classes, "ClusterClass")] {
        if number > 0 {
            of_them.push(count_text(number, what));
        }
    }
    let of_them = if of_them.is_empty() { String::new() } else { format!(" ({})", of_them.join(", ")) };
    let kept = if kept == 0 { String::new() } else { format!(", {kept} of them kept in the source too") };
    let added = match from_manifests {
        0 => String::new(),
        some => format!(", {some} of them added"),
    };
    format!("{}{of_them}{kept}{added}", count_text(objects, "object"))
}

/// A line of the table of phases.
pub(super) fn phase_line(head: &str, text: &str) -> String {
    format!("{:<10} {text}", format!("{head}:"))
}

pub(super) fn to_seconds(milliseconds: u64) -> f64 {
    std::time::Duration::from_millis(milliseconds).as_secs_f64()
}

pub(super) fn doing_text(phase: Phase, objects: usize, target: &str) -> String {
    let (none, objects) = (objects == 0, count_text(objects, "object"));
    match phase {
        Phase::Checked => format!("checking for anything that prevents moving {objects}"),
        Phase::Paused => format!("pausing what controls {objects}"),
        Phase::Copied if target.starts_with("directory ") => format!("writing {objects} into {target}"),
        Phase::Copied => format!("creating {objects} in the target"),
        Phase::Ready => format!("waiting for the target's controllers to see {objects}"),
        Phase::Committed => format!("comparing {objects} with the source again"),
        Phase::Live => "unpausing the copies in the target".to_owned(),
        Phase::Released if none => "deleting nothing: the source is files".to_owned(),
        Phase::Released => format!("deleting {objects} from the source"),
        Phase::Settled if none => "nothing is held".to_owned(),
        Phase::Settled => format!("unpausing {objects} that plugins hold"),
    }
}

pub(super) fn done_word(verb: Verb) -> &'static str {
    match verb {
        Verb::Paused => "paused",
        Verb::Held => "held",
        Verb::Created => "created",
        Verb::Updated => "updated",
        Verb::Used => "used",
        Verb::Unpaused => "unpaused",
        Verb::Kept => "kept and unpaused",
        Verb::Deleted => "deleted",
        Verb::UnpausedHeld => "unpaused",
        Verb::Removed => "removed",
    }
}
