//! Letting go of what plugins held, one object at a time.
//!
//! One at a time because what is let go of starts to act: a mistake then shows on one host, not on all of them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pivot_core::hooks::{Finding, Hook, Settlement};
use pivot_core::record::Phase;
use pivot_core::release::{Entry, Quiet, ReleaseList};
use pivot_core::{Key, Kind, Object, Side, names};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::events::{Awaited, Event, Verb};
use crate::job::Job;
use crate::outcome::failure::Failure;
use crate::phases::pausing;
use crate::plugins::bounds;
use crate::plugins::calls::Authors;
use crate::plugins::hooks::{HookError, Hooks, Services};
use crate::plugins::scene::Scene;

const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long each object is waited for once one was waited for in vain.
const AFTER_TIMEOUT: Duration = Duration::from_secs(20);
/// A patch that was applied, asked again, must give nothing: the third time in a row is an error.
const SAME_PATCHES: usize = 3;
/// How often in a row a plugin may take too long, or wait in vain. A thousand objects need not each wait for as long; and
/// where three were let go of and did not come up, the next would not either.
const IN_VAIN: usize = 3;
/// More patches than any object needs: one that counts its calls never gives the same twice.
const MOST_PATCHES: usize = 20;

/// Whether there is anything to settle.
pub(crate) fn any(job: &Job, list: &ReleaseList) -> bool {
    list.entries.iter().any(|entry| settles(entry, &settlers(job, entry)))
}

/// The plugins that settle an object.
fn settlers<'a>(job: &'a Job, entry: &Entry) -> Vec<&'a dyn Hooks> {
    let plugins = job.plugins.iter().map(|plugin| &**plugin);
    plugins.filter(|plugin| plugin.changes(Hook::Settle, &entry.key.group_kind)).collect()
}

fn settles(entry: &Entry, settlers: &[&dyn Hooks]) -> bool {
    !entry.used && (!settlers.is_empty() || entry.quiet == Quiet::Held)
}

/// Settles every object that a plugin settles or holds. What can't be let go of is named in the end.
pub(crate) async fn all(job: &Job, list: &ReleaseList) -> Result<(), Failure> {
    let mut stuck = Vec::new();
    let mut patience = Patience { each: job.options.gate_timeout, vain: BTreeMap::new() };
    let services = job.services.within(&Scene::of_list(list));
    // Owners before dependents: the order of creation.
    for entry in list.entries.iter().rev() {
        job.safe_point()?;
        let settlers = settlers(job, entry);
        if !settles(entry, &settlers) {
            continue;
        }
        if let Some(name) = patience.ended(&settlers) {
            stuck.push(format!(
                "{}: plugin {name} is not asked any more: it took too long, or waited in vain, {IN_VAIN} times in a row",
                entry.key
            ));
            continue;
        }
        match one(job, entry, &settlers, &services, &mut patience).await {
            Ok(()) => job.tell_object(Phase::Settled, Verb::Settled, &entry.key, Side::Target),
            Err(Failure::Halted(halt)) => return Err(Failure::Halted(halt)),
            Err(failure) => stuck.push(format!("{}: {failure}", entry.key)),
        }
    }
    if stuck.is_empty() { Ok(()) } else { Err(Failure::Unsettled(stuck)) }
}

/// How long plugins are waited for.
struct Patience {
    /// For each object.
    each: Duration,
    /// How often in a row each of them took all of it.
    vain: BTreeMap<String, usize>,
}

impl Patience {
    /// The plugin of which enough was seen.
    fn ended<'a>(&self, plugins: &[&'a dyn Hooks]) -> Option<&'a str> {
        let names = plugins.iter().map(|plugin| plugin.describe().name.as_str());
        names.into_iter().find(|name| self.vain.get(*name).is_some_and(|times| *times >= IN_VAIN))
    }

    fn heed<T>(&mut self, plugin: &str, result: &Result<T, Failure>) {
        match result {
            Ok(_) => drop(self.vain.remove(plugin)),
            Err(Failure::TimedOut(_)) => {
                // Two hundred hosts that all wait for the same thing need not each wait for as long.
                self.each = self.each.min(AFTER_TIMEOUT);
                *self.vain.entry(plugin.to_owned()).or_default() += 1;
            }
            Err(Failure::Hook { error, .. }) if error.code == "timeout" => {
                *self.vain.entry(plugin.to_owned()).or_default() += 1;
            }
            Err(_) => {}
        }
    }
}

async fn one(
    job: &Job,
    entry: &Entry,
    settlers: &[&dyn Hooks],
    services: &Arc<dyn Services>,
    patience: &mut Patience,
) -> Result<(), Failure> {
    let kind = job.kind(Side::Target, &entry.key.group_kind)?;
    // As the last plugin that had nothing more to change saw it: it need not be read again.
    let mut seen = None;
    for plugin in settlers {
        let settled = with_plugin(job, &entry.key, *plugin, services, patience.each).await;
        patience.heed(&plugin.describe().name, &settled);
        seen = settled?;
    }
    let seen = match seen {
        Some(object) => Some(object),
        None => job.target.get(kind, &entry.key).await?,
    };
    let Some(object) = seen else { return Ok(()) };
    pausing::take_back(&job.target, kind, &entry.key, &job.move_id, Some(&object)).await?;
    forget(job, kind, &object).await
}

/// Settles an object with one plugin; gives it as it was when the plugin had nothing more to change.
async fn with_plugin(
    job: &Job,
    key: &Key,
    plugin: &dyn Hooks,
    services: &Arc<dyn Services>,
    patience: Duration,
) -> Result<Option<Object>, Failure> {
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let name = &plugin.describe().name;
    let refuse = |error| Failure::Hook {
        plugin: name.clone(),
        hook: Hook::Settle,
        object: Some(Box::new(key.clone())),
        error,
    };
    let deadline = Instant::now() + patience;
    let mut patches: BTreeMap<String, usize> = BTreeMap::new();
    loop {
        let Some(object) = job.target.get(kind, key).await? else { return Ok(None) };
        match plugin.settle(&object, services.clone()).await.map_err(refuse)? {
            Settlement::Done => return Ok(Some(object)),
            Settlement::Stop(finding) => return Err(Failure::Gate(vec![(name.clone(), finding)])),
            Settlement::Wait(finding) => wait(job, name, &finding, deadline).await?,
            Settlement::Patch(patch) => {
                if let Some(message) = bounds::violation(plugin.describe(), Hook::Settle, &patch) {
                    return Err(refuse(HookError { code: "out-of-bounds".into(), message }));
                }
                let times = patches.entry(patch.to_string()).or_default();
                *times += 1;
                if *times >= SAME_PATCHES {
                    let message = "it gives the same patch again and again".to_owned();
                    return Err(refuse(HookError { code: "not-idempotent".into(), message }));
                }
                if patches.values().sum::<usize>() > MOST_PATCHES {
                    let message = format!("its patches have no end: it gave {MOST_PATCHES}");
                    return Err(refuse(HookError { code: "not-idempotent".into(), message }));
                }
                let result = job.target.patch(kind, key, &patch).await;
                let by = Authors::of(&[plugin.describe()]);
                let doing = || format!("settling, with a patch of {by},");
                result.map_err(|error| job.target.failed(doing(), Some(key), by.answer(error)))?;
            }
        }
    }
}

async fn wait(job: &Job, plugin: &str, finding: &Finding, deadline: Instant) -> Result<(), Failure> {
    let awaited = Awaited::plugin(plugin, finding);
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Failure::TimedOut(vec![awaited.to_string()]));
    }
    job.tell(Event::waiting(vec![awaited], left.as_secs()));
    tokio::select! {
        () = tokio::time::sleep(ASK_AGAIN.min(left)) => Ok(()),
        halt = job.halter.wait() => Err(Failure::Halted(halt)),
    }
}

/// Removes what plugins remembered on an object.
async fn forget(job: &Job, kind: &Arc<Kind>, object: &Object) -> Result<(), Failure> {
    let theirs = |name: &str| {
        let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
        job.plugins.iter().any(|plugin| prefix == names::memory_prefix(&plugin.describe().name))
    };
    let nulls: serde_json::Map<String, Value> = object
        .meta
        .annotations
        .keys()
        .filter(|name| theirs(name))
        .map(|name| (name.clone(), Value::Null))
        .collect();
    if nulls.is_empty() {
        return Ok(());
    }
    let (key, patch) = (object.key(), json!({"metadata": {"annotations": nulls}}));
    match job.target.patch(kind, &key, &patch).await {
        Ok(_) | Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.target.failed("tidying up", Some(&key), error)),
    }
}
