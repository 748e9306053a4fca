//! `pivot-host plugin replay`: the calls of a recorded move, made to another version of a plugin without a cluster.

mod reader;
mod recorded_services;
mod report;

use std::collections::BTreeSet;
use std::sync::Arc;

use pivot_core::Both;
use pivot_core::messages::safe_text::to_line;
use pivot_core::plugins::expectations::find_answer_differences;
use pivot_core::plugins::hooks::{Description, Hook};
use pivot_engine::Exit;
use pivot_runtime::{CallError, MoveContext, Plugin, RunContext};
use serde_json::{Value, json};

use super::hook_calls::{Answer, error_answer};
use super::recording::SecretCarriers;
use super::recording::format::{MovingNamespace, RecordedCall, RecordedPlugin, RecordedView, RecordingEntry};
use super::recording::redaction::{Redaction, has_withheld_patch};
use super::refused;
use super::run_hook::read_grants;
use super::runtime::start_trial_runtime;
use super::sample_objects::build_object;
use super::scene_plugin::TriedPlugin;
use crate::args::ReplayArgs;
use crate::exit::Result;
use crate::output::Output;
use reader::RecordingReader;
use recorded_services::RecordedServices;
use report::{CallDifference, Replay};

/// The most other plugins of a recording that an error lists.
const MAX_LISTED_PLUGINS: usize = 20;
/// The longest name of another plugin in an error, in bytes.
const MAX_NAME_BYTES: usize = 100;

pub(super) async fn run(typed: &ReplayArgs, output: &Output) -> Result<()> {
    let ReplayArgs { recording, file, plugin, config, backtrace } = typed;
    let refusal = |why: String| (Exit::Usage, format!("recording {}: {why}", recording.display()).into());
    let mut entries = RecordingReader::open(recording).map_err(refusal)?;
    let grants = config.as_deref().map(read_grants).transpose()?;
    let has_grants = grants.is_some();
    let tried = TriedPlugin::load(start_trial_runtime(*backtrace)?, file, grants)
        .await
        .map_err(|error| (Exit::Plugin, refused::plugin_refusal_lines(&error, file).collect()))?;
    let name = plugin.as_deref().unwrap_or(&tried.plugin.description().name);
    let mut replay = Replay::new(output.settings().format);
    let mut others = BTreeSet::new();
    let mut running: Option<Plugin> = None;
    while let Some((line, entry)) = entries.next_entry().map_err(refusal)? {
        match entry {
            RecordingEntry::Plugin(recorded) if recorded.name == name => {
                if recorded.has_config && !has_grants {
                    let why = format!(
                        "plugin {name} had a configuration, which is not in the recording: pass its plugins.toml with --config"
                    );
                    return Err(refusal(why));
                }
                running = Some(tried.plugin.for_run(run_context(&recorded)));
                replay.add_recorded(recorded);
            }
            RecordingEntry::Plugin(RecordedPlugin { name, .. }) => {
                if others.len() < MAX_LISTED_PLUGINS {
                    others.insert(to_line(&name, MAX_NAME_BYTES));
                }
            }
            RecordingEntry::Call(mut call) if call.plugin == name => {
                let Some(plugin) = &running else {
                    return Err(refusal(format!("line {line}: no earlier line is about plugin {name}")));
                };
                let services = RecordedServices::new(std::mem::take(&mut call.questions));
                replay.add(line, &call, judge_call(plugin, &call, services).await);
            }
            RecordingEntry::Omitted(omitted) if omitted.plugin == name => replay.omitted += 1,
            RecordingEntry::Call(_) | RecordingEntry::Omitted(_) => {}
        }
    }
    replay.is_complete = entries.is_complete();
    if running.is_none() {
        let others: Vec<String> = others.into_iter().collect();
        let others = if others.is_empty() { "no plugin".to_owned() } else { others.join(", ") };
        return Err(refusal(format!("it has no calls of plugin {name}; it has calls of {others}")));
    }
    replay.show((recording.as_path(), file.as_path()), &tried.plugin, output);
    if replay.differing > 0 {
        let why = format!("{} of {} calls differ from the recording", replay.differing, replay.calls);
        return Err((Exit::Refused, why.into()));
    }
    Ok(())
}

fn run_context(recorded: &RecordedPlugin) -> RunContext {
    let kubectl = &recorded.kubectl;
    RunContext {
        kind: recorded.run,
        move_id: recorded.move_id.clone(),
        namespace_map: recorded.namespace_map.clone(),
        kubectl: Both::new(kubectl.source.clone(), kubectl.target.clone()),
        ..RunContext::default()
    }
}

/// Makes a call, and compares its answer with the recorded one.
async fn judge_call(plugin: &Plugin, call: &RecordedCall, services: RecordedServices) -> CallDifference {
    let services = Arc::new(services);
    let object = call.source.as_ref().or(call.copy.as_ref()).and_then(build_object);
    let is_called = plugin.description().hooks.contains(&call.hook)
        && object.as_ref().is_none_or(|object| plugin.has_hook_for(call.hook, &object.kind.group_kind));
    let answer = if is_called {
        match ask_recorded(plugin, call, services.clone()).await {
            Ok(Some(answer)) => {
                let description = plugin.description();
                // The plugin may have other grants than in the move.
                let secret_data = description.secret_data || has_withheld_patch(&call.expect);
                let described = Description { secret_data, ..description.clone() };
                let redaction = Redaction { plugin: &described, carriers: &SecretCarriers::default() };
                json!(redaction.redact_answer(answer, object.as_ref()).value)
            }
            Ok(None) => error_answer("unreadable", "the recording has no readable object for this call"),
            Err(error) => error_answer(&error.code, &error.message),
        }
    } else {
        error_answer("not-called", "a move doesn't call this hook of the plugin for this object")
    };
    let differences = find_answer_differences(call.hook, &call.expect, &answer);
    let unrecorded = services.take_unrecorded();
    let is_same = differences.is_empty() && unrecorded.is_empty();
    let is_unjudged = if is_same { call.redacted.answer } else { call.redacted.input };
    CallDifference { differences, unrecorded, is_unjudged }
}

/// Calls a hook as the move did. None: the recording lacks an object.
async fn ask_recorded(
    plugin: &Plugin,
    call: &RecordedCall,
    services: Arc<RecordedServices>,
) -> std::result::Result<Option<Answer>, CallError> {
    let build = |body: &Option<Value>| body.as_ref().and_then(build_object);
    let (source, copy) = (build(&call.source), build(&call.copy));
    let answer = match (call.hook, source, copy) {
        (Hook::Check, ..) => {
            let (Some(point), Some(view)) = (call.point, &call.moving) else { return Ok(None) };
            Answer::Findings(plugin.check(point, &move_context(view), services).await?)
        }
        (Hook::Relate, Some(source), _) => Answer::Relations(plugin.relate(&source).await?),
        (Hook::Hold, Some(source), _) => Answer::Patch(plugin.hold(&source).await?),
        (Hook::Adapt, Some(source), _) => Answer::Patch(plugin.adapt(&source).await?),
        (Hook::Restore, Some(source), Some(copy)) => Answer::Patch(plugin.restore(&source, &copy).await?),
        (Hook::Settle, _, Some(copy)) => {
            Answer::Settlement(plugin.settle(&copy, call.written_since_commit, services).await?)
        }
        _ => return Ok(None),
    };
    Ok(Some(answer))
}

fn move_context(view: &RecordedView) -> MoveContext {
    let namespaces = view.namespaces.iter();
    let namespaces = namespaces.map(|MovingNamespace { source, target }| (source.clone(), target.clone()));
    MoveContext { namespaces: namespaces.collect(), objects: view.objects.clone() }
}
