//! The result of a rehearsal: decisions, changes, and hooks that no object led to.

use std::collections::BTreeMap;
use std::sync::Arc;

use pivot_core::Key;
use pivot_core::objects::merge;
use pivot_core::plan::Plan;
use pivot_core::plugins::hooks::{Hook, Point, Settlement};
use pivot_engine::{Failure, Hooks};
use serde_json::{Value, json};

use super::super::hook_calls::Answer;
use super::super::run_hook::answer_lines;
use super::answers::Answers;
use super::observer::Call;
use super::stage::Outcome;
use crate::output::Text;

const NOT_SHOWN: &str = "not shown: it may have data of Secrets";

/// A hook of a plugin, and the point of a check.
pub(super) struct HookOfPlugin {
    pub(super) plugin: String,
    pub(super) hook: Hook,
    pub(super) point: Option<Point>,
}

/// The result of a rehearsal.
pub(super) struct Rehearsal {
    pub(super) calls: Vec<Call>,
    pub(super) never_called: Vec<HookOfPlugin>,
    /// The failure that stopped the move.
    pub(super) error: Option<String>,
    /// The failure of the same move without plugins.
    bare_error: Option<String>,
    /// Patches from copies of a move without plugins to the copies; none for Secrets.
    changes: BTreeMap<Key, Option<Value>>,
    stays: Vec<(Key, String)>,
    probes: BTreeMap<String, bool>,
    copies: usize,
}

impl Rehearsal {
    pub(super) fn new(
        plugins: &[Arc<dyn Hooks>],
        mut calls: Vec<Call>,
        answers: &Answers,
        ended: &Outcome,
        bare: &Outcome,
        plan: Option<Arc<Plan>>,
    ) -> Self {
        let failure = ended.result.as_ref().err().map(|stop| &stop.failure);
        // The engine refuses a patch after the hook returned it.
        if let Some(Failure::Hook { plugin, hook, object, error }) = failure {
            let is_refused = |call: &&mut Call| {
                (&call.plugin, call.hook, call.object.as_ref()) == (plugin, *hook, object.as_deref())
            };
            calls
                .iter_mut()
                .rfind(is_refused)
                .into_iter()
                .for_each(|call| call.decision = Err(error.clone()));
        }
        let reads_secrets = plugins.iter().any(|plugin| plugin.describe().secret_data);
        let bare_error = bare.result.as_ref().err().map(ToString::to_string);
        let compare = |(key, copy): (&Key, &Value)| {
            let patch = merge::derive_patch(bare.copies.get(key).unwrap_or(&Value::Null), copy)?;
            let shown = !reads_secrets && !key.group_kind.is_secret();
            Some((key.clone(), shown.then_some(patch)))
        };
        let changes = if bare_error.is_some() {
            BTreeMap::new()
        } else {
            ended.copies.iter().filter_map(compare).collect()
        };
        let stays = plan.iter().flat_map(|plan| &plan.stays);
        Self {
            never_called: find_never_called(plugins, &calls),
            calls,
            error: failure.map(ToString::to_string),
            bare_error,
            changes,
            stays: stays.map(|stay| (stay.key.clone(), stay.reason.to_string())).collect(),
            probes: answers.questions(),
            copies: ended.copies.len(),
        }
    }

    pub(super) fn content(&self) -> Value {
        let calls = self.calls.iter().map(|call| {
            let Call { plugin, hook, point, object, decision, secret, times } = call;
            let answer = decision.as_ref().ok().map(|answer| match shows_patch(answer) && *secret {
                true => json!({ "hidden": NOT_SHOWN }),
                false => json!(answer),
            });
            let error = decision.as_ref().err().map(ToString::to_string);
            json!({
                "plugin": plugin, "hook": hook, "point": point.map(Point::as_str), "object": object,
                "answer": answer, "error": error, "times": times,
            })
        });
        let never = self.never_called.iter().map(|HookOfPlugin { plugin, hook, point }| {
            json!({"plugin": plugin, "hook": hook, "point": point.map(Point::as_str)})
        });
        let changes = self.changes.iter().map(|(key, patch)| json!({"object": key, "patch": patch}));
        let stays = self.stays.iter().map(|(key, reason)| json!({"object": key, "reason": reason}));
        let probes =
            self.probes.iter().map(|(probe, answered)| json!({"probe": probe, "answered": answered}));
        json!({
            "outcome": if self.error.is_none() { "Moved" } else { "Stopped" }, "error": self.error,
            "copies": self.copies, "calls": calls.collect::<Vec<_>>(), "neverCalled": never.collect::<Vec<_>>(),
            "changes": changes.collect::<Vec<_>>(), "errorWithoutPlugins": self.bare_error,
            "stays": stays.collect::<Vec<_>>(), "probes": probes.collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self) -> Text {
        let mut text = Text::default();
        for call in &self.calls {
            text.add_line(format!("{}: {}{}", call.plugin, call.subject(), repetition(call.times)));
            call.decision_lines().iter().for_each(|line| text.add_line(format!("  {line}")));
        }
        let changes = self.changes.iter().map(|(key, patch)| {
            format!("{key}: {}", patch.as_ref().map_or_else(|| NOT_SHOWN.to_owned(), Value::to_string))
        });
        add_list(&mut text, "Changed by plugins, compared with a move without them:", changes);
        let without = self.bare_error.iter().cloned();
        add_list(&mut text, "Not compared, because a move without plugins stops:", without);
        let stays = self.stays.iter().map(|(key, reason)| format!("{key}: {reason}"));
        add_list(&mut text, "Stay in the source:", stays);
        let unanswered =
            self.probes.iter().filter(|(_, answered)| !**answered).map(|(probe, _)| probe.clone());
        add_list(&mut text, "Probes without an answer:", unanswered);
        let never = self.never_called.iter().map(|one| format!("{}: {}", one.plugin, one.name()));
        add_list(&mut text, "Never called:", never);
        text.gap();
        match self.error {
            Some(_) => text.add_line("the move stops"),
            None => text.add_line(format!("moved: {} copies are in the target", self.copies)),
        }
        text
    }
}

impl HookOfPlugin {
    pub(super) fn name(&self) -> String {
        hook_name(self.hook, self.point)
    }
}

impl Call {
    /// Returns the hook with its point or object.
    pub(super) fn subject(&self) -> String {
        let object = self.object.as_ref().map(|key| format!(" {key}")).unwrap_or_default();
        format!("{}{object}", hook_name(self.hook, self.point))
    }

    pub(super) fn decision_lines(&self) -> Vec<String> {
        match &self.decision {
            Ok(answer) if self.secret && shows_patch(answer) => vec![format!("patch {NOT_SHOWN}")],
            Ok(answer) => answer_lines(answer),
            Err(error) => vec![format!("FAILED: {error}")],
        }
    }
}

fn shows_patch(answer: &Answer) -> bool {
    matches!(answer, Answer::Patch(Some(_)) | Answer::Settlement(Settlement::Patch(_)))
}

fn hook_name(hook: Hook, point: Option<Point>) -> String {
    point.map_or_else(|| hook.to_string(), |point| format!("{hook} {}", point.as_str()))
}

fn repetition(times: u32) -> String {
    if times > 1 { format!("  ({times} times)") } else { String::new() }
}

fn add_list(text: &mut Text, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        text.gap();
        text.add_line(title);
        lines.for_each(|line| text.add_line(format!("  {line}")));
    }
}

/// Finds hooks of the plugins, and points of their checks, that have no call.
fn find_never_called(plugins: &[Arc<dyn Hooks>], calls: &[Call]) -> Vec<HookOfPlugin> {
    let declared = plugins.iter().flat_map(|plugin| {
        let description = plugin.describe();
        description.hooks.iter().flat_map(|hook| {
            let points = Point::ALL.iter().copied().map(Some);
            let points: Vec<_> = if *hook == Hook::Check { points.collect() } else { vec![None] };
            points.into_iter().map(|point| HookOfPlugin {
                plugin: description.name.clone(),
                hook: *hook,
                point,
            })
        })
    });
    let is_called = |one: &HookOfPlugin| {
        calls.iter().any(|call| (&call.plugin, call.hook, call.point) == (&one.plugin, one.hook, one.point))
    };
    declared.filter(|one| !is_called(one)).collect()
}
