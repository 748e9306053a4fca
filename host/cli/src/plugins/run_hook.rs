//! `pivot-host plugin run`: one hook on objects from a file.
//!
//! Vendors see the behaviour of a move: the same sandbox, the same host functions, the same bounds. A patch is applied and the
//! hook called again, because a move gives up on a plugin that always wants another patch.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pivot_core::Object;
use pivot_core::plugins::hooks::{Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_engine::Exit;
use pivot_places::{STDIN, objects_of_file};
use pivot_runtime::probe::Here;
use pivot_runtime::{Plugin, Scene, Used};
use serde_json::{Value, json};

use super::hook_calls::{Answer, Question, ask_plugin, find_patch_defect};
use super::refused;
use super::runtime::start_trial_runtime;
use super::scene_file::SceneFile;
use super::scene_plugin::TriedPlugin;
use crate::args::Trial;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// The result of one call.
struct Call {
    about: Option<Object>,
    answer: std::result::Result<Answer, String>,
    used: Used,
}

impl Call {
    /// Returns true if a move would stop here, because the call failed or the plugin stops the move. A plugin that waits is
    /// called again.
    fn stops(&self) -> bool {
        match &self.answer {
            Ok(Answer::Findings(all)) => all.iter().any(|found| found.severity == Severity::Stop),
            Ok(Answer::Settlement(settlement)) => matches!(settlement, Settlement::Stop(_)),
            Ok(Answer::Relations(_) | Answer::Patch(_)) => false,
            Err(_) => true,
        }
    }
}

pub(super) async fn run(trial: &Trial, output: &Output) -> Result<()> {
    let Trial { file, hook, objects, target_objects, scene: scene_path, point, config, backtrace } = trial;
    let hook = parse_word(Hook::ALL, hook, "--hook")?;
    let point = Point::ALL.into_iter().find(|one| one.as_str() == point).ok_or_else(|| {
        (
            Exit::Usage,
            format!("--point {point:?}: there is {}", Point::ALL.map(Point::as_str).join(", ")).into(),
        )
    })?;
    let scene_file = scene_path.as_deref().map(SceneFile::read).transpose()?;
    let stdin = Some(Path::new(STDIN));
    if objects.as_deref() == stdin && target_objects.as_deref() == stdin {
        let why = "--objects and --target-objects can't both be standard input: name a file for either";
        return Err((Exit::Usage, why.into()));
    }
    let scene = match &scene_file {
        Some(scene) => Scene::clone(&scene.scene),
        None => {
            let read = |file: &Option<PathBuf>| file.as_deref().map(read_objects).transpose();
            let (source, target) = (read(objects)?, read(target_objects)?);
            Scene {
                source: source.unwrap_or_default(),
                target: target.unwrap_or_default(),
                here: Here::new().ok(),
                ..Scene::default()
            }
        }
    };
    let grants = config.as_deref().map(read_grants).transpose()?;
    let tried = TriedPlugin::load(start_trial_runtime(*backtrace)?, file, grants)
        .await
        .map_err(|error| (Exit::Plugin, refused::plugin_refusal_lines(&error, file).collect()))?;
    let plugin = match &scene_file {
        Some(scene) => {
            tried.for_scene(scene).await.map_err(|refused| (Exit::Plugin, refused.message.into()))?
        }
        None => tried.plugin,
    };
    let objects = scene_path.as_ref().or(objects.as_ref()).map_or(file.as_path(), PathBuf::as_path);
    let description = plugin.description();
    if !description.hooks.contains(&hook) {
        let hooks: Vec<String> = description.hooks.iter().map(ToString::to_string).collect();
        let why = format!("{} has no hook {hook}; it has {}", description.name, hooks.join(", "));
        return Err((Exit::Usage, why.into()));
    }
    let calls = if hook == Hook::Check {
        vec![call_check(&plugin, point, scene).await]
    } else {
        call_for_each(&plugin, hook, scene, objects).await?
    };
    show_calls(&plugin, hook, &calls, output);
    let stopping = calls.iter().filter(|call| call.stops()).count();
    if stopping > 0 {
        return Err((
            Exit::Refused,
            match calls.len() {
                1 => "the only call would have stopped a move".into(),
                calls => format!("{stopping} of {calls} calls would have stopped a move").into(),
            },
        ));
    }
    Ok(())
}

/// Reads a plugins.toml outside of a directory of plugins.
pub(super) fn read_grants(file: &Path) -> Result<String> {
    std::fs::read_to_string(file)
        .map_err(|error| (Exit::Usage, format!("--config {}: {error}", file.display()).into()))
}

fn parse_word<T: ToString + Copy, const N: usize>(all: [T; N], typed: &str, flag: &str) -> Result<T> {
    let known = all.into_iter().find(|one| one.to_string() == typed);
    known.ok_or_else(|| {
        (
            Exit::Usage,
            format!("{flag}: there is no {typed:?}; there are {}", all.map(|one| one.to_string()).join(", "))
                .into(),
        )
    })
}

pub(super) fn read_objects(file: &Path) -> Result<Vec<Object>> {
    objects_of_file(file).map_err(|error| (Exit::Usage, error.to_string().into()))
}

async fn call_check(plugin: &Plugin, point: Point, scene: Scene) -> Call {
    let answer = ask_plugin(plugin, Question::Check(point), &Arc::new(scene)).await;
    Call { about: None, answer: answer.map_err(|error| error.to_string()), used: plugin.take_used() }
}

/// Calls the hook for each object that a move would pass to it.
async fn call_for_each(plugin: &Plugin, hook: Hook, scene: Scene, file: &Path) -> Result<Vec<Call>> {
    let scene = Arc::new(scene);
    let settles = hook == Hook::Settle && !scene.target.is_empty();
    let among = if settles { &scene.target } else { &scene.source };
    let mut calls = Vec::new();
    for object in among.iter().filter(|object| plugin.has_hook_for(hook, &object.kind.group_kind)) {
        let asked = ask_plugin(plugin, Question::Object(hook, object), &scene).await;
        let used = plugin.take_used();
        let answer = match asked {
            Ok(answer) => match find_patch_defect(plugin, hook, object, &scene, &answer).await {
                Ok(defect) => defect.map_or(Ok(answer), |defect| Err(defect.message)),
                Err(error) => Err(format!("asked again after its patch was applied: {error}")),
            },
            Err(error) => Err(error.to_string()),
        };
        plugin.take_used();
        calls.push(Call { about: Some(object.clone()), answer, used });
    }
    if calls.is_empty() {
        let kinds: Vec<String> = plugin.description().kinds.iter().map(ToString::to_string).collect();
        let why = format!(
            "{} has no object for {hook} of {}; that hook is called for {}",
            file.display(),
            plugin.description().name,
            kinds.join(", ")
        );
        return Err((Exit::Usage, why.into()));
    }
    Ok(calls)
}

fn show_calls(plugin: &Plugin, hook: Hook, calls: &[Call], output: &Output) {
    let documents = calls.iter().map(|call| {
        let Call { about, answer, used } = call;
        let (answer, error) = match answer {
            Ok(answer) => (json!(answer), None),
            Err(error) => (Value::Null, Some(error)),
        };
        let object = about.as_ref().map(Object::key);
        let (time, memory) = (to_micros(used.time), used.peak_memory);
        json!({"object": object, "answer": answer, "error": error, "timeUs": time, "peakMemory": memory})
    });
    let content = json!({
        "name": plugin.description().name, "version": plugin.description().version, "hook": hook,
        "calls": documents.collect::<Vec<_>>(),
    });
    output.result(&Document::new("PluginRun", content), || {
        let mut all = Text::default();
        calls.iter().for_each(|call| all.append(call_text(hook, call)));
        all
    });
}

fn call_text(hook: Hook, call: &Call) -> Text {
    let Call { about, answer, used } = call;
    let about = about.as_ref().map(|object| format!(" {}", object.key())).unwrap_or_default();
    let mut text =
        Text::from(format!("{hook}{about}  ({} µs, {} KiB)", to_micros(used.time), used.peak_memory >> 10));
    let lines = answer.as_ref().map_or_else(|error| vec![format!("FAILED: {error}")], answer_lines);
    lines.iter().for_each(|line| text.add_line(format!("  {line}")));
    text
}

pub(super) fn answer_lines(answer: &Answer) -> Vec<String> {
    match answer {
        Answer::Relations(all) if all.is_empty() => vec!["nothing".to_owned()],
        Answer::Relations(all) => all.iter().map(relation_line).collect(),
        Answer::Findings(all) if all.is_empty() => vec!["no problems found".to_owned()],
        Answer::Findings(all) => all.iter().map(finding_line).collect(),
        Answer::Patch(None) => vec!["no change".to_owned()],
        Answer::Patch(Some(patch)) | Answer::Settlement(Settlement::Patch(patch)) => {
            vec![format!("patch {patch}")]
        }
        Answer::Settlement(Settlement::Done) => vec!["done".to_owned()],
        Answer::Settlement(Settlement::Wait(found) | Settlement::Stop(found)) => vec![finding_line(found)],
    }
}

fn relation_line(relation: &Relation) -> String {
    match relation {
        Relation::Link(key) => format!("link: belongs to {key}"),
        Relation::Need(key) => format!("need: {key} must move too"),
        Relation::Share(key) => format!("share: {key} must be copied too, and is kept in the source"),
        Relation::Leave(why) => format!("leave: {why}"),
        Relation::Keep(why) => format!("keep: {why}"),
    }
}

fn finding_line(finding: &Finding) -> String {
    let Finding { severity, code, message, object, remedy } = finding;
    let severity = format!("{severity:?}").to_lowercase();
    let object = object.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
    let remedy = if remedy.is_empty() { String::new() } else { format!("; {remedy}") };
    format!("{severity} {code}: {object}{message}{remedy}")
}

fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
