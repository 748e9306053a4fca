//! `pivot-host plugin check`: conformance of a component, for its vendor's CI.
//!
//! Hooks are called as a move calls them, on generated objects and on the vendor's scenes: twice each, in a plan and in a move.
//! `pivot_core::plugins::conformance` has the rules for the answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pivot_core::objects::merge;
use pivot_core::plugins::conformance::{
    Defect, find_denied_question, find_failure, find_idle_kinds, find_invalid_code, find_needless_reach,
    find_removed_pause, find_rounded_integer, find_secret_data, find_stale_generation,
    find_unchecked_configuration, find_unsteady_answer,
};
use pivot_core::plugins::hooks::{Hook, Point, Relation, Settlement};
use pivot_core::{Key, Object};
use pivot_engine::Exit;
use pivot_runtime::{Plugin, RunContext, RunKind, Scene};
use serde_json::{Value, json};

use super::hook_calls::{Answer, Question, apply_patch, ask_plugin, created_copy, find_patch_defect};
use super::run_hook::{read_grants, read_objects};
use super::runtime::start_trial_runtime;
use super::sample_objects::{MARKS, generate_objects};
use super::scene_file::SceneFile;
use super::scene_plugin::TriedPlugin;
use crate::args::PluginCheckArgs;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// The most patches of one object until it is settled.
const MAX_SETTLE_PATCHES: usize = 20;

pub(super) async fn run(typed: &PluginCheckArgs, output: &Output) -> Result<()> {
    let PluginCheckArgs { file, scenes, objects, config, backtrace } = typed;
    let scenes = scenes.as_deref().map(SceneFile::read_all).transpose()?.unwrap_or_default();
    let objects = objects.as_deref().map(read_objects).transpose()?.unwrap_or_default();
    let grants = config.as_deref().map(read_grants).transpose()?;
    let mut checker = Checker::default();
    let loaded = TriedPlugin::load(start_trial_runtime(*backtrace)?, file, grants).await;
    match &loaded {
        Ok(tried) => checker.check_plugin(tried, &scenes, objects).await,
        Err(error) => {
            checker.add_finding(Some(Defect::stop(
                error.code(),
                error.to_string(),
                "a move refuses the plugin",
            )));
        }
    }
    let Checker { found, calls, .. } = &checker;
    let plugin = loaded.as_ref().ok().map(|tried| &tried.plugin);
    let names: Vec<&String> = scenes.iter().map(|scene| &scene.name).collect();
    let content = json!({
        "file": file, "sha256": plugin.map(Plugin::file_digest), "name": plugin.map(|one| &one.description().name),
        "version": plugin.map(|one| &one.description().version), "scenes": names, "calls": calls, "findings": found,
    });
    output.result(&Document::new("PluginCheck", content), || {
        let mut text: Text = found.iter().map(finding_line).collect();
        if let (Some(plugin), []) = (plugin, found.as_slice()) {
            let name = &plugin.description().name;
            text.add_line(format!("{name}: no findings in {calls} calls, {} scenes", names.len()));
        }
        text
    });
    match found.len() {
        0 => Ok(()),
        1 => Err((Exit::Refused, "1 finding".into())),
        many => Err((Exit::Refused, format!("{many} findings").into())),
    }
}

fn finding_line(defect: &Defect) -> String {
    let Defect { code, severity, hook, object, message, help } = defect;
    let severity = format!("{severity:?}").to_lowercase();
    let hook = hook.map(|hook| format!("{hook}: ")).unwrap_or_default();
    let object = object.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
    format!("{severity} {code}: {hook}{object}{message}; {help}")
}

/// The findings so far, and facts from answers that later rules need.
#[derive(Default)]
struct Checker {
    found: Vec<Defect>,
    calls: u32,
    reads_config: bool,
    /// Annotations that the plugin's hold sets.
    pauses: BTreeSet<String>,
    /// Both objects of each relation in the vendor's scenes.
    related: Vec<(Key, Key)>,
}

/// An object of the source, and the patches of `hold` and `adapt`.
type SourceState = (Value, Vec<Value>);

impl Checker {
    async fn check_plugin(&mut self, tried: &TriedPlugin, scenes: &[SceneFile], objects: Vec<Object>) {
        let plugin = &tried.plugin;
        let changed = plugin.declaration().changes.iter().map(|change| &change.kind);
        self.add_finding(find_idle_kinds(plugin.description(), changed));
        let (scene, pauses) = generate_objects(plugin).await;
        self.pauses = pauses;
        self.check_scene(plugin, scene).await;
        self.related.clear();
        self.check_configuration(plugin).await;
        if !objects.is_empty() {
            self.check_scene(plugin, Scene { source: objects, ..Scene::default() }).await;
        }
        for file in scenes {
            match tried.for_scene(file).await {
                Ok(plugin) => self.check_scene(&plugin, Scene::clone(&file.scene)).await,
                Err(refused) => {
                    let help = "correct the grants or the configuration in the scene";
                    self.add_finding(Some(Defect::stop(refused.code, refused.message, help)));
                }
            }
        }
        if !scenes.is_empty() {
            self.add_finding(find_needless_reach(&plugin.description().reach, &self.related));
        }
    }

    /// Checks that a misspelt field of the configuration is refused.
    async fn check_configuration(&mut self, plugin: &Plugin) {
        let mut config = serde_json::from_str(&plugin.grants().config).unwrap_or_else(|_| json!({}));
        merge::apply_patch(&mut config, &json!({"pivot-host-unknown-field": true}));
        if let Ok(lenient) = plugin.with_config(&config).await {
            let reads_config = self.reads_config || lenient.take_used().reads_config;
            self.add_finding(find_unchecked_configuration(reads_config));
        }
    }

    /// Takes the objects of a scene through a move.
    async fn check_scene(&mut self, plugin: &Plugin, scene: Scene) {
        let run = |kind| plugin.for_run(RunContext { kind, marks: &MARKS, ..RunContext::default() });
        let both = [run(RunKind::Plan), run(RunKind::Move)];
        let mut scene = Arc::new(scene);
        self.ask_twice(&both, Question::Check(Point::BeforePause), &scene).await;
        let (mut source, mut target) = (Vec::new(), scene.target.clone());
        let mut before: BTreeMap<Key, SourceState> = BTreeMap::new();
        for object in &scene.source {
            if let Some(Answer::Relations(all)) =
                self.ask_twice(&both, Question::Object(Hook::Relate, object), &scene).await
            {
                self.related
                    .extend(all.iter().filter_map(related_key).map(|key| (object.key(), key.clone())));
            }
            let (held, hold) = self.ask_for_patch(&both, Hook::Hold, object, &scene).await;
            let (adapted, adapt) = self.ask_for_patch(&both, Hook::Adapt, &held, &scene).await;
            let value = object.value().unwrap_or_default();
            before.insert(object.key(), (value, hold.into_iter().chain(adapt).collect()));
            source.push(held);
            if !scene.target.iter().any(|there| there.key() == object.key()) {
                target.push(created_copy(&adapted, &scene));
            }
        }
        scene = Arc::new(Scene { source: source.clone(), ..Scene::clone(&scene) });
        self.ask_twice(&both, Question::Check(Point::AfterPause), &scene).await;
        scene = Arc::new(Scene { source: source.clone(), target, ..Scene::clone(&scene) });
        let mut target = scene.target.clone();
        for object in &scene.source {
            if let Some(copy) = target.iter_mut().find(|copy| copy.key() == object.key())
                && let (_, Some(patch)) = self.ask_for_patch(&both, Hook::Restore, object, &scene).await
            {
                *copy = apply_patch(copy, &patch).unwrap_or_else(|| copy.clone());
            }
        }
        scene = Arc::new(Scene { source, target, ..Scene::clone(&scene) });
        self.ask_twice(&both, Question::Check(Point::BeforeCommit), &scene).await;
        self.ask_twice(&both, Question::Check(Point::AfterResume), &scene).await;
        for copy in &scene.target {
            self.settle_copy(&both, copy.clone(), before.get(&copy.key()), &scene).await;
        }
    }

    /// Asks a hook for a patch, and returns the object with it.
    async fn ask_for_patch(
        &mut self,
        both: &[Plugin; 2],
        hook: Hook,
        object: &Object,
        scene: &Arc<Scene>,
    ) -> (Object, Option<Value>) {
        match self.ask_twice(both, Question::Object(hook, object), scene).await {
            Some(Answer::Patch(Some(patch))) => {
                (apply_patch(object, &patch).unwrap_or_else(|| object.clone()), Some(patch))
            }
            _ => (object.clone(), None),
        }
    }

    /// Settles a copy as far as the plugin patches it.
    async fn settle_copy(
        &mut self,
        both: &[Plugin; 2],
        mut copy: Object,
        before: Option<&SourceState>,
        scene: &Arc<Scene>,
    ) {
        for _ in 0..MAX_SETTLE_PATCHES {
            let answer = self.ask_twice(both, Question::Object(Hook::Settle, &copy), scene).await;
            let Some(Answer::Settlement(Settlement::Patch(patch))) = answer else { return };
            if let Some((source, changes)) = before {
                let removed = find_removed_pause(source, changes, &patch, &self.pauses);
                self.add_finding(removed.map(|defect| defect.with_call(Hook::Settle, Some(copy.key()))));
            }
            let Some(patched) = apply_patch(&copy, &patch) else { return };
            copy = patched;
        }
    }

    /// Calls a hook in a plan and in a move, and returns an answer in which no rule finds a defect. Answers of `check` and
    /// `settle` may depend on the run.
    async fn ask_twice(
        &mut self,
        both: &[Plugin; 2],
        question: Question<'_>,
        scene: &Arc<Scene>,
    ) -> Option<Answer> {
        let (hook, object) = match question {
            Question::Check(_) => (Hook::Check, None),
            Question::Object(hook, object) => (hook, Some(object)),
        };
        let [planned, moving] = both;
        let first = if matches!(hook, Hook::Check | Hook::Settle) { moving } else { planned };
        let answer = ask_plugin(first, question, scene).await;
        let mut found = Vec::new();
        if answer.is_ok() {
            let again = ask_plugin(moving, question, scene).await;
            found.extend(find_unsteady_answer(&answer, &again));
        }
        match (&answer, object) {
            (Err(error), _) => found.extend(find_failure(&error.code, &error.message)),
            (Ok(answer), object) => {
                found.extend(find_answer_defects(answer, hook, object, scene));
                if let Some(object) = object.filter(|_| found.is_empty()) {
                    match find_patch_defect(moving, hook, object, scene, answer).await {
                        Ok(defect) => found.extend(defect),
                        Err(error) => found.extend(find_failure(&error.code, &error.message)),
                    }
                }
            }
        }
        for used in both.each_ref().map(Plugin::take_used) {
            self.calls += used.calls;
            self.reads_config |= used.reads_config;
            found.extend(used.denied.iter().map(|why| find_denied_question(why)));
            found.extend(find_secret_data(used.has_mark));
        }
        let is_clean = found.is_empty();
        let key = object.map(Object::key);
        found.into_iter().for_each(|defect| self.add_finding(Some(defect.with_call(hook, key.clone()))));
        answer.ok().filter(|_| is_clean)
    }

    /// Adds a finding. One that differs only in the object is left out.
    fn add_finding(&mut self, defect: Option<Defect>) {
        let is_same = |one: &Defect, other: &Defect| {
            (&one.code, one.hook, &one.message) == (&other.code, other.hook, &other.message)
        };
        let new = defect.filter(|defect| !self.found.iter().any(|other| is_same(defect, other)));
        self.found.extend(new);
    }
}

/// The other object of a relation.
fn related_key(relation: &Relation) -> Option<&Key> {
    match relation {
        Relation::Link(key) | Relation::Need(key) | Relation::Share(key) => Some(key),
        Relation::Leave(_) | Relation::Keep(_) => None,
    }
}

/// Finds defects in an answer alone.
fn find_answer_defects(answer: &Answer, hook: Hook, object: Option<&Object>, scene: &Scene) -> Vec<Defect> {
    match (answer, object) {
        (Answer::Findings(all), _) => find_invalid_code(all.iter()).into_iter().collect(),
        (Answer::Settlement(Settlement::Wait(found) | Settlement::Stop(found)), _) => {
            find_invalid_code([found].into_iter()).into_iter().collect()
        }
        (Answer::Patch(Some(patch)), Some(object)) => {
            let value = |object: &Object| object.value().unwrap_or_default();
            let stale = (hook == Hook::Restore)
                .then(|| find_stale_generation(&value(&created_copy(object, scene)), patch));
            find_rounded_integer(&value(object), patch).into_iter().chain(stale.flatten()).collect()
        }
        _ => Vec::new(),
    }
}
