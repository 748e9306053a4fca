//! `pivot-host plugin test`: the calls of scenes, whose answers must be the expected ones.

use std::path::Path;
use std::sync::Arc;

use pivot_core::messages::safe_text::to_line;
use pivot_core::plugins::expectations::{Difference, find_answer_differences};
use pivot_core::plugins::hooks::Hook;
use pivot_engine::Exit;
use pivot_places::STDIN;
use pivot_runtime::Plugin;
use serde_json::{Value, json};

use super::hook_calls::{Question, ask_plugin, error_answer, find_patch_defect};
use super::junit::{JunitCase, JunitResult, junit_report};
use super::refused;
use super::run_hook::read_grants;
use super::runtime::start_trial_runtime;
use super::scene_file::{SceneCall, SceneFile, find_object};
use super::scene_plugin::TriedPlugin;
use crate::args::{OutputFormat, PluginTestArgs};
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// The longest value in a line of differences.
const MAX_VALUE_BYTES: usize = 300;

/// A call that was made.
struct CallResult {
    scene: String,
    call: String,
    hook: Hook,
    differences: Vec<Difference>,
}

pub(super) async fn run(typed: &PluginTestArgs, output: &Output) -> Result<()> {
    let PluginTestArgs { file, scenes, config, update, backtrace } = typed;
    let mut files = Vec::new();
    for path in scenes {
        files.extend(SceneFile::read_all(path)?);
    }
    for scene in &files {
        check_is_complete(scene, *update)?;
    }
    let grants = config.as_deref().map(read_grants).transpose()?;
    let tried = TriedPlugin::load(start_trial_runtime(*backtrace)?, file, grants)
        .await
        .map_err(|error| (Exit::Plugin, refused::plugin_refusal_lines(&error, file).collect()))?;
    let mut tested = Vec::new();
    for scene in &mut files {
        let name = scene.path.display().to_string();
        let answers = match tried.for_scene(scene).await {
            Ok(plugin) => answer_calls(&plugin, scene).await,
            // Else a mistyped field would replace all answers.
            Err(refused) if *update => {
                let why = format!("scene {name} was not updated: {}", refused.message);
                return Err((Exit::Plugin, why.into()));
            }
            Err(refused) => vec![error_answer(refused.code, &refused.message); scene.calls.len()],
        };
        let mut is_changed = false;
        for (call, answer) in scene.calls.iter_mut().zip(answers) {
            let expected = call.expect.clone();
            let differences =
                expected.as_ref().map(|expected| find_answer_differences(call.hook, expected, &answer));
            if *update && differences.as_ref().is_none_or(|differences| !differences.is_empty()) {
                call.expect = Some(answer);
                is_changed = true;
            }
            let differences = differences.unwrap_or_default();
            tested.push(CallResult {
                scene: name.clone(),
                call: call.to_string(),
                hook: call.hook,
                differences,
            });
        }
        if is_changed {
            let written = scene.write_calls();
            written
                .map_err(|why| (Exit::Unexpected, format!("scene {name} was not updated: {why}").into()))?;
            output.say(format!("{name}: updated"));
        }
    }
    let differing = if *update { 0 } else { tested.iter().filter(|one| !one.differences.is_empty()).count() };
    show_tested(&tried.plugin, file, &tested, *update, output);
    if differing > 0 {
        let why = format!("{differing} of {} calls differ from their scenes", tested.len());
        return Err((Exit::Refused, why.into()));
    }
    Ok(())
}

/// Refuses a scene without calls, and without `update` a call without an expected answer.
fn check_is_complete(scene: &SceneFile, update: bool) -> Result<()> {
    let refusal = |why: String| Err((Exit::Usage, format!("scene {}: {why}", scene.path.display()).into()));
    if scene.has_no_version {
        return refusal(
            "it has no apiVersion and kind, so it has objects for `plugin check` alone".to_owned(),
        );
    }
    if update && scene.path == Path::new(STDIN) {
        return refusal("--update can't write standard input; name a file".to_owned());
    }
    if scene.calls.is_empty() {
        return refusal("it has no `calls`; write at least one".to_owned());
    }
    match scene.calls.iter().position(|call| call.expect.is_none()) {
        Some(index) if !update => refusal(format!(
            "calls[{index}] has no `expect`; write it, or set --update to write the plugin's answer"
        )),
        _ => Ok(()),
    }
}

/// Makes the calls of a scene.
async fn answer_calls(plugin: &Plugin, scene: &SceneFile) -> Vec<Value> {
    let mut answers = Vec::new();
    for call in &scene.calls {
        answers.push(answer_call(plugin, scene, call).await);
    }
    answers
}

/// Makes a call as a move does, which refuses a patch out of bounds and a hook that repeats a patch.
async fn answer_call(plugin: &Plugin, scene: &SceneFile, call: &SceneCall) -> Value {
    let lists = Arc::clone(&scene.scene);
    let object = call.object.as_deref().and_then(|name| find_object(call.hook, name, &lists));
    let question = match (call.point, object) {
        (Some(point), _) => Question::Check(point),
        (None, Some(object)) => Question::Object(call.hook, object),
        (None, None) => return error_answer("no-object", "the scene has no such object"),
    };
    let is_called = plugin.description().hooks.contains(&call.hook)
        && object.is_none_or(|object| plugin.has_hook_for(call.hook, &object.kind.group_kind));
    if !is_called {
        return error_answer("not-called", "a move doesn't call this hook of the plugin for this object");
    }
    let answer = match ask_plugin(plugin, question, &lists).await {
        Ok(answer) => answer,
        Err(error) => return error_answer(&error.code, &error.message),
    };
    if let Some(object) = object {
        match find_patch_defect(plugin, call.hook, object, &lists, &answer).await {
            Ok(None) => {}
            Ok(Some(defect)) => return error_answer(&defect.code, &defect.message),
            Err(error) => return error_answer(&error.code, &error.message),
        }
    }
    json!(answer)
}

fn show_tested(plugin: &Plugin, file: &Path, tested: &[CallResult], update: bool, output: &Output) {
    let name = &plugin.description().name;
    if output.settings().format == OutputFormat::Junit {
        let cases = tested.iter().map(|one| JunitCase {
            class: one.scene.clone(),
            name: one.call.clone(),
            result: if update || one.differences.is_empty() {
                JunitResult::Passed(String::new())
            } else {
                let lines: Vec<_> = one.differences.iter().map(difference_line).collect();
                JunitResult::Failed { code: "differs".to_owned(), message: lines.join("\n") }
            },
        });
        return output.own(&junit_report(name, &cases.collect::<Vec<_>>()));
    }
    let calls = tested.iter().map(|one| {
        let differences = one
            .differences
            .iter()
            .map(|one| json!({"path": one.path, "expected": one.expected, "actual": one.actual}));
        let differences: Vec<Value> = differences.collect();
        json!({"scene": one.scene, "call": one.call, "hook": one.hook, "differences": differences})
    });
    let content = json!({
        "file": file, "sha256": plugin.file_digest(), "name": name, "version": plugin.description().version,
        "updated": update, "calls": calls.collect::<Vec<_>>(),
    });
    output.result(&Document::new("PluginTest", content), || {
        let mut text = Text::default();
        for one in tested.iter().filter(|one| !one.differences.is_empty()) {
            text.add_line(format!("{}: {}", one.scene, one.call));
            one.differences.iter().for_each(|one| text.add_line(format!("  {}", difference_line(one))));
        }
        if text == Text::default() {
            text.add_line(format!("{name}: {} calls answered as expected", tested.len()));
        }
        text
    });
}

pub(super) fn difference_line(difference: &Difference) -> String {
    let Difference { path, expected, actual } = difference;
    let show = |value: &Option<Value>| {
        value.as_ref().map_or("nothing".to_owned(), |value| to_line(&value.to_string(), MAX_VALUE_BYTES))
    };
    let path = if path.is_empty() { "the answer" } else { path };
    format!("{path}: expected {}, got {}", show(expected), show(actual))
}
