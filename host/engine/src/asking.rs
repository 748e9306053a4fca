//! Asking plugins for patches, and holding the answers against their bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::hooks::{Finding, Hook, Point, Severity};
use pivot_core::refusal::some_of;
use pivot_core::{Object, merge};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::bounds;
use crate::events::Event;
use crate::failure::Failure;
use crate::hooks::{HookError, Hooks};
use crate::job::{Job, Scene};
use crate::options::DryRun;

/// How long after a "wait" the checks are asked again.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_secs(2);
/// How many notes and warnings of one plugin are told at one point of the move: what matters drowns in more.
const TOLD: usize = 50;

/// What plugins want to change of an object.
pub(crate) struct Wanted {
    pub(crate) patch: Value,
    /// Whose patches these are: a server's refusal of it is theirs to mend.
    pub(crate) by: String,
}

/// What all plugins together want to change of an object in one hook.
pub(crate) async fn patch(
    plugins: &[Arc<dyn Hooks>],
    hook: Hook,
    object: &Object,
    created: Option<&Object>,
) -> Result<Option<Wanted>, Failure> {
    let mut all = json!({});
    let mut by: BTreeMap<String, String> = BTreeMap::new();
    let mut theirs = Vec::new();
    for plugin in plugins {
        let description = plugin.describe();
        if !plugin.changes(hook, &object.kind.group_kind) {
            continue;
        }
        let answer = match hook {
            Hook::Hold => plugin.hold(object).await,
            Hook::Adapt => plugin.adapt(object).await,
            Hook::Restore => plugin.restore(object, created.unwrap_or(object)).await,
            Hook::Relate | Hook::Check | Hook::Settle => Ok(None),
        };
        let refuse = |error| Failure::Hook {
            plugin: description.name.clone(),
            hook,
            object: Some(Box::new(object.key())),
            error,
        };
        let Some(patch) = answer.map_err(refuse)? else { continue };
        if let Some(message) = bounds::violation(&description.name, hook, &patch) {
            return Err(refuse(HookError { code: "out-of-bounds".into(), message }));
        }
        for path in merge::paths(&patch) {
            if let Some((there, other)) = by.iter().find(|(there, _)| overlap(there, &path)) {
                let message = format!("it and plugin {other} both change {there}");
                return Err(refuse(HookError { code: "clash".into(), message }));
            }
            theirs.push(path);
        }
        by.extend(theirs.drain(..).map(|path| (path, description.name.clone())));
        join(&mut all, patch);
    }
    let names: Vec<String> =
        by.values().collect::<BTreeSet<_>>().iter().map(|name| format!("plugin {name}")).collect();
    Ok((!by.is_empty()).then(|| Wanted { patch: all, by: some_of(&names, 8) }))
}

/// Whether one path is the other, or lies below it.
fn overlap(one: &str, other: &str) -> bool {
    let below =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below(one, other) || below(other, one)
}

/// Puts two patches of different paths into one. Not [`merge::apply`], which would drop the nulls.
pub(crate) fn join(all: &mut Value, patch: Value) {
    match (all, patch) {
        (Value::Object(all), Value::Object(patch)) => {
            for (key, value) in patch {
                match all.get_mut(&key) {
                    Some(there) => join(there, value),
                    None => drop(all.insert(key, value)),
                }
            }
        }
        (all, patch) => *all = patch,
    }
}

/// Asks every plugin's checks until none says "wait". Warnings go to the watcher; "stop" ends the move.
pub(crate) async fn gate(job: &Job, scene: &Scene, point: Point) -> Result<(), Failure> {
    let deadline = Instant::now() + job.options.gate_timeout;
    let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    loop {
        let mut waits: Vec<(String, Finding)> = Vec::new();
        let mut stops = Vec::new();
        for plugin in &job.plugins {
            let description = plugin.describe();
            if !description.hooks.contains(&Hook::Check) {
                continue;
            }
            let name = &description.name;
            let findings =
                plugin.check(point, &scene.for_plugin(job, &**plugin), job.services.clone()).await.map_err(
                    |error| Failure::Hook { plugin: name.clone(), hook: Hook::Check, object: None, error },
                )?;
            for finding in findings {
                match finding.severity {
                    Severity::Note | Severity::Warn => {
                        tell(job, told.entry(name).or_default(), name, &finding)
                    }
                    Severity::Wait => waits.push((name.clone(), finding)),
                    Severity::Stop => stops.push((name.clone(), finding)),
                }
            }
        }
        if !stops.is_empty() {
            return Err(Failure::Gate(stops));
        }
        if waits.is_empty() {
            return Ok(());
        }
        // A plan says what a move would wait for, and does not wait.
        if job.options.dry_run != DryRun::Off {
            let mut told: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
            for (plugin, finding) in &waits {
                let message = format!("a move would wait: {}", finding.message);
                let finding = Finding { severity: Severity::Warn, message, ..finding.clone() };
                tell(job, told.entry(plugin).or_default(), plugin, &finding);
            }
            return Ok(());
        }
        let lines: Vec<String> =
            waits.iter().map(|(plugin, f)| format!("{plugin}: {}; {}", f.message, f.remedy)).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Failure::TimedOut(lines));
        }
        job.tell(Event::Waiting { what: &lines, left: left.as_secs() });
        tokio::select! {
            () = tokio::time::sleep(ASK_AGAIN.min(left)) => {}
            halt = job.halter.wait() => return Err(Failure::Halted(halt)),
        }
    }
}

/// Tells a note or a warning: once, however often the gate is asked again, and not too many.
fn tell(job: &Job, told: &mut BTreeSet<String>, plugin: &str, finding: &Finding) {
    if told.len() > TOLD || !told.insert(finding.message.clone()) {
        return;
    }
    if told.len() > TOLD {
        job.tell(Event::Warning(&format!("{plugin}: it has said {TOLD} things; the rest is not shown")));
    } else if finding.severity == Severity::Note {
        job.tell(Event::Note(&format!("{plugin}: {}", finding.message)));
    } else {
        job.tell(Event::Warning(&format!("{plugin}: {}; {}", finding.message, finding.remedy)));
    }
}

#[cfg(test)]
mod tests {
    use super::overlap;

    #[test]
    fn a_path_overlaps_itself_and_what_is_above_and_below_it() {
        for (one, other) in [("/status", "/status"), ("/status", "/status/a"), ("/status/a/b", "/status/a")] {
            assert!(overlap(one, other), "{one} {other}");
        }
        assert!(!overlap("/status/a", "/status/ab") && !overlap("/status/a", "/status/b"));
    }
}
