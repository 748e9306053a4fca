//! `pivot-host plugin run`: one hook on objects from a file.
//!
//! Vendors see the behaviour of a move: the same sandbox, the same host functions, the same bounds. A patch is applied and the
//! hook called again, because a move gives up on a plugin that always wants another patch.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::Object;
use pivot_core::messages::refusal::some_of;
use pivot_core::messages::safe_text;
use pivot_core::objects::merge;
use pivot_core::plugins::hooks::{Finding, Hook, Point, Relation, Settlement, Severity};
use pivot_engine::{Exit, describe_violation};
use pivot_places::objects_of_file;
use pivot_runtime::probe::Here;
use pivot_runtime::{CallError, MoveContext, Plugin, Scene, Used};
use serde_json::{Value, json};

use super::refused;
use super::runtime::start_runtime;
use crate::args::Trial;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// The result of one call.
struct Call {
    about: Option<Object>,
    answer: std::result::Result<Answer, String>,
    used: Used,
}

enum Answer {
    Relations(Vec<Relation>),
    Findings(Vec<Finding>),
    Patch(Option<Value>),
    Settlement(Settlement),
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
    let Trial { file, hook, objects, target_objects, point, config } = trial;
    let hook = parse_word(Hook::ALL, hook, "--hook")?;
    let points = [Point::BeforePause, Point::AfterPause, Point::BeforeCommit, Point::AfterResume];
    let point = points.into_iter().find(|one| one.as_str() == point).ok_or_else(|| {
        (Exit::Usage, format!("--point {point:?}: there is {}", points.map(Point::as_str).join(", ")).into())
    })?;
    let scene = Scene {
        source: read_objects(objects)?,
        target: target_objects.as_deref().map(read_objects).transpose()?.unwrap_or_default(),
        here: Here::new().ok(),
    };
    let grants = config.as_ref().map(|file| {
        std::fs::read_to_string(file)
            .map_err(|error| (Exit::Usage, format!("--config {}: {error}", file.display()).into()))
    });
    let plugin = start_runtime()?
        .try_out(file, grants.transpose()?.as_deref())
        .await
        .map_err(|error| (Exit::Plugin, refused::plugin_refusal_lines(&error, file).collect()))?;
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

fn read_objects(file: &Path) -> Result<Vec<Object>> {
    objects_of_file(file).map_err(|error| (Exit::Usage, error.to_string().into()))
}

async fn call_check(plugin: &Plugin, point: Point, scene: Scene) -> Call {
    let wanted = scene
        .source
        .iter()
        .filter(|object| plugin.description().has_hook_for(Hook::Check, &object.kind.group_kind));
    let context =
        MoveContext { namespaces: scene.moving_namespaces(), objects: wanted.map(Object::key).collect() };
    let answer = plugin.check(point, &context, Arc::new(scene)).await;
    let answer = answer.map(Answer::Findings).map_err(|error| error.to_string());
    Call { about: None, answer, used: plugin.take_used() }
}

/// Calls the hook for each object that a move would pass to it.
async fn call_for_each(plugin: &Plugin, hook: Hook, scene: Scene, file: &Path) -> Result<Vec<Call>> {
    let scene = Arc::new(scene);
    let settles = hook == Hook::Settle && !scene.target.is_empty();
    let among = if settles { &scene.target } else { &scene.source };
    let mut calls = Vec::new();
    for object in among.iter().filter(|object| plugin.has_hook_for(hook, &object.kind.group_kind)) {
        let asked = call_hook(plugin, hook, object, &scene).await.map_err(|error| error.to_string());
        let used = plugin.take_used();
        let answer = match asked {
            Ok(answer) => check_patch(plugin, hook, object, &scene, &answer).await.map(|()| answer),
            Err(error) => Err(error),
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

async fn call_hook(
    plugin: &Plugin,
    hook: Hook,
    object: &Object,
    scene: &Arc<Scene>,
) -> std::result::Result<Answer, CallError> {
    Ok(match hook {
        Hook::Relate => Answer::Relations(plugin.relate(object).await?),
        Hook::Hold => Answer::Patch(plugin.hold(object).await?),
        Hook::Adapt => Answer::Patch(plugin.adapt(object).await?),
        Hook::Restore => Answer::Patch(plugin.restore(object, &created_copy(object, scene)).await?),
        // Objects of the target are as its controllers left them.
        Hook::Settle => {
            Answer::Settlement(plugin.settle(object, !scene.target.is_empty(), scene.clone()).await?)
        }
        Hook::Check => Answer::Findings(Vec::new()),
    })
}

/// The copy in the target; if the file has none, the object as it is right after it was created: without a status.
fn created_copy(object: &Object, scene: &Scene) -> Object {
    if let Some(there) = scene.target.iter().find(|there| there.key() == object.key()) {
        return there.clone();
    }
    apply_patch(object, &json!({"status": null})).unwrap_or_else(|| object.clone())
}

fn apply_patch(object: &Object, patch: &Value) -> Option<Object> {
    let mut value = object.value().ok()?;
    merge::apply_patch(&mut value, patch);
    Object::from_value(object.kind.clone(), &value).ok()
}

/// Fails if a patch exceeds its bounds, or if the hook returns another patch once this one is applied.
async fn check_patch(
    plugin: &Plugin,
    hook: Hook,
    object: &Object,
    scene: &Arc<Scene>,
    answer: &Answer,
) -> std::result::Result<(), String> {
    let (Answer::Patch(Some(patch)) | Answer::Settlement(Settlement::Patch(patch))) = answer else {
        return Ok(());
    };
    if let Some(message) = describe_violation(plugin.description(), hook, patch) {
        return Err(message);
    }
    let again = if hook == Hook::Restore {
        let Some(after) = apply_patch(&created_copy(object, scene), patch) else { return Ok(()) };
        plugin.restore(object, &after).await.map(Answer::Patch)
    } else {
        let Some(after) = apply_patch(object, patch) else { return Ok(()) };
        call_hook(plugin, hook, &after, scene).await
    };
    match again.map_err(|error| format!("asked again after its patch was applied: {error}"))? {
        Answer::Patch(Some(again)) => {
            let paths: Vec<String> =
                merge::paths(&again).iter().map(|path| safe_text::to_line(path, 300)).collect();
            let paths = some_of(&paths, 8);
            Err(format!("its patch was applied, and asked again it still changes {paths}"))
        }
        Answer::Settlement(Settlement::Patch(again)) if again == *patch => {
            Err("it gives the same patch again after that was applied".to_owned())
        }
        _ => Ok(()),
    }
}

fn show_calls(plugin: &Plugin, hook: Hook, calls: &[Call], output: &Output) {
    let documents = calls.iter().map(|call| {
        let Call { about, answer, used } = call;
        let (answer, error) = match answer {
            Ok(Answer::Relations(all)) => (json!(all), None),
            Ok(Answer::Findings(all)) => (json!(all), None),
            Ok(Answer::Patch(patch)) => (json!(patch), None),
            Ok(Answer::Settlement(settlement)) => (json!(settlement), None),
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
    let mut line = |words: String| text.add_line(format!("  {words}"));
    match answer {
        Ok(Answer::Relations(all)) if all.is_empty() => line("nothing".to_owned()),
        Ok(Answer::Relations(all)) => all.iter().map(relation_line).for_each(line),
        Ok(Answer::Findings(all)) if all.is_empty() => line("no problems found".to_owned()),
        Ok(Answer::Findings(all)) => all.iter().map(finding_line).for_each(line),
        Ok(Answer::Patch(None)) => line("no change".to_owned()),
        Ok(Answer::Patch(Some(patch)) | Answer::Settlement(Settlement::Patch(patch))) => {
            line(format!("patch {patch}"));
        }
        Ok(Answer::Settlement(Settlement::Done)) => line("done".to_owned()),
        Ok(Answer::Settlement(Settlement::Wait(found) | Settlement::Stop(found))) => {
            line(finding_line(found))
        }
        Err(error) => line(format!("FAILED: {error}")),
    }
    text
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
