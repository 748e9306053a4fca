//! Asking plugins for patches, and checking the answers against their bounds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use pivot_core::messages::grouping::remove_names;
use pivot_core::messages::refusal::some_of;
use pivot_core::objects::merge;
use pivot_core::plugins::hooks::{Description, Finding, Hook, PluginFinding, Point, Severity};
use pivot_core::{Key, Object};
use pivot_places::PlaceError;
use serde_json::{Value, json};

use crate::base::events::{Awaited, Event};
use crate::base::job::Job;
use crate::base::options::DryRun;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::bounds;
use crate::base::plugins::hooks::{HookError, Hooks, Services};
use crate::base::plugins::view::PluginView;
use crate::base::requests::reports::Reports;

/// Time between a "wait" and the next call of the checks.
const CHECK_INTERVAL: std::time::Duration = std::time::Duration::from_secs(2);
/// Maximum number of different notes and warnings that one plugin can report at one point of the move.
const MAX_TEXTS: usize = 50;
/// Maximum number of notes and warnings in total, because the same text may be about many objects.
const MAX_FINDINGS: usize = 2_000;

/// The changes that plugins want to make to an object.
pub(crate) struct WantedPatch {
    pub(crate) patch: Value,
    pub(crate) by: PatchAuthors,
}

impl WantedPatch {
    /// The fields that it changes, as printed: of a Secret none is named.
    pub(crate) fn fields(&self, object: &Object) -> Vec<String> {
        let paths = pivot_bounds::patch_leaves(&self.patch).into_iter().map(|(path, _)| path);
        match object.kind.group_kind.is_secret() {
            true => Vec::new(),
            false => self.by.fields(paths.map(|path| bounds::describe_path(&path, false)).collect()),
        }
    }
}

/// The plugins whose patches are in an object: if a server refuses it, they are the ones to fix.
pub(crate) struct PatchAuthors {
    names: String,
    secret_data: bool,
}

impl PatchAuthors {
    pub(crate) fn new(plugins: &[&Description]) -> Self {
        let names: BTreeSet<&str> = plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        let names: Vec<String> = names.into_iter().map(|name| format!("plugin {name}")).collect();
        Self { names: some_of(&names, 8), secret_data: plugins.iter().any(|plugin| plugin.secret_data) }
    }

    /// A server's answer about their patches. It may quote them: if a plugin sees the data of Secrets, the text is withheld.
    pub(crate) fn answer(&self, error: PlaceError) -> PlaceError {
        let words =
            || "its message is withheld: it may quote a plugin that reads the data of Secrets".to_owned();
        match error {
            error if !self.secret_data => error,
            PlaceError::NotFound(_) => PlaceError::NotFound(words()),
            PlaceError::AlreadyExists(_) => PlaceError::AlreadyExists(words()),
            PlaceError::Conflict(_) => PlaceError::Conflict(words()),
            PlaceError::Forbidden(_) => PlaceError::Forbidden(words()),
            PlaceError::Unauthorized(_) => PlaceError::Unauthorized(words()),
            PlaceError::Untrusted(_) => PlaceError::Untrusted(words()),
            PlaceError::Invalid(_) => PlaceError::Invalid(words()),
            PlaceError::Expired(_) => PlaceError::Expired(words()),
            PlaceError::Unavailable(_) => PlaceError::Unavailable(words()),
            PlaceError::Unreadable(_) => PlaceError::Unreadable(words()),
            error @ (PlaceError::TooManyRequests { .. } | PlaceError::Unsupported(..)) => error,
        }
    }

    /// The fields of their patches, as printed.
    pub(crate) fn fields(&self, fields: Vec<String>) -> Vec<String> {
        if self.secret_data { vec![bounds::describe_path("", true)] } else { fields }
    }
}

impl fmt::Display for PatchAuthors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names)
    }
}

/// The changes that all plugins together want to make to an object in one hook.
pub(crate) async fn ask_for_patch(
    plugins: &[Arc<dyn Hooks>],
    hook: Hook,
    object: &Object,
    created: Option<&Object>,
) -> Result<Option<WantedPatch>, Failure> {
    let mut all = json!({});
    let mut by: BTreeMap<String, &Description> = BTreeMap::new();
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
        if let Some(message) = bounds::describe_violation(description, hook, &patch) {
            return Err(refuse(HookError { code: "out-of-bounds".into(), message }));
        }
        for path in merge::paths(&patch) {
            if let Some((there, other)) = by.iter().find(|(there, _)| paths_overlap(there, &path)) {
                let there = bounds::describe_path(there, description.secret_data || other.secret_data);
                let message = format!("it and plugin {} both change {there}", other.name);
                return Err(refuse(HookError { code: "clash".into(), message }));
            }
            theirs.push(path);
        }
        by.extend(theirs.drain(..).map(|path| (path, description)));
        join_patches(&mut all, patch);
    }
    let by: Vec<&Description> = by.into_values().collect();
    Ok((!by.is_empty()).then(|| WantedPatch { patch: all, by: PatchAuthors::new(&by) }))
}

/// The changes that plugins want to make to the copy of a source object.
pub(crate) async fn ask_to_adapt(
    job: &Job,
    plugins: &[Arc<dyn Hooks>],
    object: &Object,
) -> Result<Option<WantedPatch>, Failure> {
    let kind = &object.kind.group_kind;
    if !plugins.iter().any(|plugin| plugin.changes(Hook::Adapt, kind))
        || job.unchanged_by_plugins.contains(object)
    {
        return Ok(None);
    }
    let wanted = ask_for_patch(plugins, Hook::Adapt, object, None).await?;
    if wanted.is_none() {
        job.unchanged_by_plugins.insert(object);
    }
    Ok(wanted)
}

/// Returns true if one path equals the other, or is below it.
fn paths_overlap(one: &str, other: &str) -> bool {
    let below =
        |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    below(one, other) || below(other, one)
}

/// Merges two patches of different paths. Not [`merge::apply_patch`], which would drop the nulls.
pub(crate) fn join_patches(all: &mut Value, patch: Value) {
    match (all, patch) {
        (Value::Object(all), Value::Object(patch)) => {
            for (key, value) in patch {
                match all.get_mut(&key) {
                    Some(there) => join_patches(there, value),
                    None => drop(all.insert(key, value)),
                }
            }
        }
        (all, patch) => *all = patch,
    }
}

/// Calls every plugin's checks until none says "wait". Warnings go to the watcher; "stop" ends the move.
pub(crate) async fn wait_for_checks(job: &Job, view: &PluginView, point: Point) -> Result<(), Failure> {
    let deadline = job.parking.deadline(job.options.check_timeout);
    let mut reported: BTreeMap<&str, Reported> = BTreeMap::new();
    let services = job.services.for_move(view);
    let mut waits = ask_all(job, view, &services, point, &mut reported).await?;
    if waits.is_empty() {
        return Ok(());
    }
    // A plan reports the findings for which a move would wait, and does not wait.
    if job.options.dry_run != DryRun::Off {
        let mut reported: BTreeMap<&str, Reported> = BTreeMap::new();
        for PluginFinding { plugin, finding } in &waits {
            let message = format!("a move would wait: {}", finding.message);
            let finding = Finding { severity: Severity::Warn, message, ..finding.clone() };
            report_once(job, reported.entry(plugin).or_default(), plugin, &finding);
        }
        return Ok(());
    }
    let reports = Reports::default();
    while !waits.is_empty() {
        let queued = job.parking.queue_time();
        let wait = async {
            while !waits.is_empty() {
                let awaited: Vec<Awaited> =
                    waits.iter().map(|found| Awaited::for_plugin(&found.plugin, &found.finding)).collect();
                let left = deadline.time_left();
                if left.is_zero() {
                    return Err(Failure::TimedOut(awaited));
                }
                reports.report(&*job.watcher, awaited, deadline.end());
                tokio::select! {
                    () = tokio::time::sleep(CHECK_INTERVAL.min(left)) => {}
                    halt = job.halter.wait() => return Err(Failure::Halted(halt)),
                }
                waits = ask_all(job, view, &services, point, &mut reported).await?;
            }
            Ok(())
        };
        job.parking.wait_for_others(&job.halter, wait).await?;
        if job.parking.queue_time() > queued {
            // The answers may be out of date: the run has waited until it may work again.
            waits = ask_all(job, view, &services, point, &mut reported).await?;
        }
    }
    Ok(())
}

/// Calls every plugin's checks once, before a pause. Returns the findings for which a move would wait or stop.
pub(crate) async fn find_obstacles(job: &Job, view: &PluginView) -> Result<Vec<PluginFinding>, Failure> {
    let services = job.services.for_move(view);
    let found = call_checks(job, view, &services, Point::BeforePause, &mut BTreeMap::new()).await?;
    Ok([found.waits, found.stops].concat())
}

/// The findings for which a move waits or stops.
struct Obstacles {
    waits: Vec<PluginFinding>,
    stops: Vec<PluginFinding>,
}

/// Calls every plugin's checks once. Returns the findings that say "wait".
async fn ask_all<'a>(
    job: &'a Job,
    view: &PluginView,
    services: &Arc<dyn Services>,
    point: Point,
    reported: &mut BTreeMap<&'a str, Reported>,
) -> Result<Vec<PluginFinding>, Failure> {
    let Obstacles { waits, stops } = call_checks(job, view, services, point, reported).await?;
    if stops.is_empty() {
        return Ok(waits);
    }
    stops.iter().for_each(|found| job.report(Event::finding(&found.plugin, &found.finding)));
    Err(Failure::Gate(stops))
}

/// Calls every plugin's checks once, and reports notes and warnings.
async fn call_checks<'a>(
    job: &'a Job,
    view: &PluginView,
    services: &Arc<dyn Services>,
    point: Point,
    reported: &mut BTreeMap<&'a str, Reported>,
) -> Result<Obstacles, Failure> {
    let (mut waits, mut stops) = (Vec::new(), Vec::new());
    for plugin in &job.plugins {
        let description = plugin.describe();
        if !description.hooks.contains(&Hook::Check) {
            continue;
        }
        let name = &description.name;
        let findings = plugin
            .check(point, &view.for_plugin(&job.options.scope.namespace_map, &**plugin), services.clone())
            .await
            .map_err(|error| Failure::Hook {
                plugin: name.clone(),
                hook: Hook::Check,
                object: None,
                error,
            })?;
        for finding in findings {
            match finding.severity {
                Severity::Note | Severity::Warn => {
                    report_once(job, reported.entry(name).or_default(), name, &finding)
                }
                Severity::Wait => waits.push(PluginFinding { plugin: name.clone(), finding }),
                Severity::Stop => stops.push(PluginFinding { plugin: name.clone(), finding }),
            }
        }
    }
    Ok(Obstacles { waits, stops })
}

/// Findings that were reported: their text without the object, and each with its object.
#[derive(Default)]
struct Reported {
    different: BTreeSet<String>,
    all: BTreeSet<(String, Option<Key>)>,
    cut: bool,
}

/// Reports a note or a warning: once per object, however often the gate calls the checks, and only up to a limit.
fn report_once(job: &Job, reported: &mut Reported, plugin: &str, finding: &Finding) {
    let Finding { message, object, .. } = finding;
    if reported.cut || !reported.all.insert((message.clone(), object.clone())) {
        return;
    }
    reported
        .different
        .insert(object.as_ref().map_or(message.clone(), |object| remove_names(message, object)));
    let (different, all) = (reported.different.len() > MAX_TEXTS, reported.all.len() > MAX_FINDINGS);
    if different || all {
        reported.cut = true;
        let most = if different { MAX_TEXTS } else { MAX_FINDINGS };
        let text = format!("plugin {plugin} has reported {most} findings; the rest is not shown");
        job.report(Event::warning("findings-cut", text));
    } else {
        job.report(Event::finding(plugin, finding));
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use pivot_core::{GroupKind, Kind, KindLabels};

    use super::*;

    #[test]
    fn path_overlaps_itself_parents_and_children() {
        for (one, other) in [("/status", "/status"), ("/status", "/status/a"), ("/status/a/b", "/status/a")] {
            assert!(paths_overlap(one, other), "{one} {other}");
        }
        assert!(!paths_overlap("/status/a", "/status/ab") && !paths_overlap("/status/a", "/status/b"));
    }

    /// Adapts every object in the same way.
    struct Adapts(Description, Value);

    #[async_trait]
    impl Hooks for Adapts {
        fn describe(&self) -> &Description {
            &self.0
        }

        async fn adapt(&self, _object: &Object) -> Result<Option<Value>, HookError> {
            Ok(Some(self.1.clone()))
        }
    }

    fn adapts(name: &str, secret_data: bool, patch: Value) -> Arc<dyn Hooks> {
        let description = Description {
            name: name.into(),
            kinds: vec![GroupKind::new("", "ConfigMap")],
            hooks: vec![Hook::Adapt],
            secret_data,
            ..Description::default()
        };
        Arc::new(Adapts(description, patch))
    }

    async fn asked(plugins: &[Arc<dyn Hooks>]) -> Result<Option<WantedPatch>, Failure> {
        let kind = Kind {
            group_kind: GroupKind::new("", "ConfigMap"),
            version: "v1".into(),
            plural: "configmaps".into(),
            namespaced: true,
            status_subresource: false,
            served: vec!["v1".into()],
            labels: KindLabels::default(),
        };
        let body = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u"}});
        let object = Object::from_value(Arc::new(kind), &body).unwrap();
        ask_for_patch(plugins, Hook::Adapt, &object, None).await
    }

    async fn refusal(plugins: &[Arc<dyn Hooks>]) -> String {
        asked(plugins).await.err().unwrap().to_string()
    }

    #[tokio::test]
    async fn plugin_conflict_is_one_line() {
        let patch = json!({"data": {"hunter2\nerror: gone": "x"}});
        let told = refusal(&[adapts("a", false, patch.clone()), adapts("b", false, patch)]).await;
        assert!(told.contains("both change /data/hunter2 error: gone"), "{told}");
    }

    // proves: I8, T6
    #[tokio::test]
    async fn patches_of_secret_readers_are_not_quoted() {
        let patch = json!({"data": {"hunter2": "x"}});
        for (one, other) in [(true, false), (false, true)] {
            let told = refusal(&[adapts("a", one, patch.clone()), adapts("b", other, patch.clone())]).await;
            assert!(told.contains("plugin b failed in adapt for ConfigMap n/a"), "{told}");
            assert!(told.contains("it and plugin a both change") && !told.contains("hunter2"), "{told}");
        }
        let refused = || PlaceError::Invalid("data: Invalid value: \"hunter2\"".into());
        let fields = || vec!["data.hunter2".to_owned()];
        for secret_data in [true, false] {
            let by = asked(&[adapts("a", secret_data, patch.clone())]).await.unwrap().unwrap().by;
            assert_eq!(by.to_string(), "plugin a");
            let told = format!("{} {:?}", by.answer(refused()), by.fields(fields()));
            assert_eq!(told.matches("hunter2").count(), if secret_data { 0 } else { 2 }, "{told}");
        }
    }
}
