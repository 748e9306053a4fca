//! Unpauses the objects that plugins hold. The first ones go slowly, because unpaused objects start to act.
//!
//! The first wave has one object, or one of each group that a plugin distinguishes ([`names::SETTLE_GROUP`]). Later waves have
//! two, four and more, up to a limit, each when the previous one is done. So a mistake shows on one host and not on all of
//! them:
//!
//! - A plugin's *stop* ends the settling: the current wave is finished, and no other object is unpaused.
//! - Any other failure leaves that object held, and the next wave has one object again. A plugin that fails for three objects
//!   in a row is not called again.
//!
//! Groups are read from annotations of the copies, where plugins keep their notes. So the engine needs no knowledge of
//! providers, the record needs no new field, and a run that resumes finds the same groups.

mod waits;
mod waves;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join_all;
use pivot_core::discovery::inventory::Inventory;
use pivot_core::objects::{names, pause};
use pivot_core::plugins::hooks::{Finding, Hook, PluginFinding, Settlement};
use pivot_core::records::record::Phase;
use pivot_core::records::release::{Entry, Pausing, ReleaseList};
use pivot_core::{GroupKind, Key, Kind, Meta, Object, Side};
use pivot_places::PlaceError;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::act::unpausing;
use crate::base::events::{Awaited, Event, Verb};
use crate::base::job::Job;
use crate::base::outcome::failure::{Failure, HeldObject};
use crate::base::plugins::bounds;
use crate::base::plugins::calls::PatchAuthors;
use crate::base::plugins::hooks::{HookError, Hooks, Services};
use crate::base::plugins::view::PluginView;
use crate::base::requests::listing;
use crate::base::requests::side_by_side::LISTS;

use waits::Waits;
use waves::WaveSize;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout for each object after one timed out: hundreds of hosts may all wait for one condition.
const SHORT_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of equal patches that count as an error: after its patch was applied, a plugin must return nothing.
const MAX_SAME_PATCHES: usize = 3;
/// Number of objects in a row for which a plugin may fail or time out. The next would fail, too.
const MAX_FAILURES: usize = 3;
/// More patches than any object needs: a plugin that counts its calls never returns the same patch twice.
const MAX_PATCHES: usize = 20;

/// Returns the number of objects to settle.
pub(crate) fn count_held(job: &Job, list: &ReleaseList) -> usize {
    list.entries.iter().filter(|entry| should_settle(job, entry)).count()
}

/// Returns true if a plugin settles or holds the object.
pub(crate) fn should_settle(job: &Job, entry: &Entry) -> bool {
    !entry.used
        && (entry.pausing == Pausing::Held || settling_plugins(job, &entry.key.group_kind).next().is_some())
}

/// Settles every object that a plugin settles or holds. Fails at the end with a list of the objects that stay held.
pub(crate) async fn settle_all(job: &Job, list: &ReleaseList, commit: &Commit<'_>) -> Result<(), Failure> {
    let levels = waves::split_into_levels(list, |entry| should_settle(job, entry));
    job.safe_point()?;
    let mut settling = Settling {
        job,
        commit,
        services: job.services.for_move(&PluginView::from_list(list)),
        copies: read_copies(job, &levels).await?,
        patience: job.options.check_timeout,
        in_a_row: BTreeMap::new(),
        stopped: None,
        stuck: Vec::new(),
    };
    for level in levels {
        settling.settle_level(level).await?;
    }
    if settling.stuck.is_empty() { Ok(()) } else { Err(Failure::Unsettled(settling.stuck)) }
}

/// Returns the plugins that settle a kind.
fn settling_plugins<'a>(job: &'a Job, kind: &GroupKind) -> impl Iterator<Item = &'a dyn Hooks> {
    let plugins = job.plugins.iter().map(|plugin| &**plugin);
    plugins.filter(move |plugin| plugin.changes(Hook::Settle, kind))
}

/// Reads the copies before anything is unpaused. A single object needs no list.
async fn read_copies(job: &Job, levels: &[Vec<&Entry>]) -> Result<BTreeMap<Key, Meta>, Failure> {
    let mut places: BTreeMap<(&GroupKind, Option<&str>), usize> = BTreeMap::new();
    for entry in levels.iter().flatten() {
        *places.entry((&entry.key.group_kind, entry.key.namespace.as_deref())).or_default() += 1;
    }
    let wanted = places.into_iter().filter(|(_, count)| *count > 1).filter_map(|((kind, namespace), _)| {
        Some((job.kinds.target.get(kind)?.clone(), namespace.map(str::to_owned)))
    });
    let listed = listing::list_metas(&job.target, LISTS, wanted.collect()).await?;
    let metas = listed.into_iter().flat_map(|((kind, _), listed)| {
        listed.into_known().into_iter().map(move |meta| (listing::key_of_meta(&kind, &meta), meta))
    });
    Ok(metas.collect())
}

/// The time of the commit, and the source's objects: a copy may have their managed fields.
pub(crate) struct Commit<'a> {
    /// Time by the target's clock; `None` if the target has no record of it.
    pub(crate) at: Option<&'a str>,
    /// Objects of the source that this run has seen.
    pub(crate) source: Option<&'a Inventory>,
}

impl Commit<'_> {
    /// Returns true if another program has written to a copy since the commit.
    fn was_written(&self, copy: &Object) -> bool {
        let source = self.source.and_then(|known| known.get_by_key(&copy.key()));
        let since = self.at.or(copy.meta.creation_timestamp.as_deref()).unwrap_or_default();
        copy.meta.is_written_by_others(since, source.map(|source| &source.meta))
    }
}

/// Settling under way.
struct Settling<'a> {
    job: &'a Job,
    commit: &'a Commit<'a>,
    services: Arc<dyn Services>,
    copies: BTreeMap<Key, Meta>,
    /// The timeout for each object.
    patience: Duration,
    /// Number of objects in a row for which each plugin failed. Failures that no plugin caused are under `None`.
    in_a_row: BTreeMap<Option<String>, usize>,
    /// The object for which a plugin returned *stop*.
    stopped: Option<Key>,
    /// The objects that stay held, with the reasons.
    stuck: Vec<HeldObject>,
}

/// The reason for an object that stays held.
struct Stuck {
    /// The plugin that failed, if one did.
    plugin: Option<String>,
    failure: Failure,
}

impl From<Failure> for Stuck {
    fn from(failure: Failure) -> Self {
        Self { plugin: None, failure }
    }
}

impl Settling<'_> {
    /// Settles objects that don't own each other.
    async fn settle_level(&mut self, mut queue: Vec<&Entry>) -> Result<(), Failure> {
        // Objects that an earlier run settled prove nothing about the others.
        queue.sort_by_key(|entry| {
            self.copies.get(&entry.key).is_some_and(|meta| !is_unsettled(self.job, meta))
        });
        let groups = waves::move_firsts_to_front(&mut queue, |entry| self.find_group(entry));
        let (mut pace, mut size) = WaveSize::new(self.job.options.unpause_batch, groups);
        let mut queue = queue.into_iter();
        loop {
            let mut wave = Vec::new();
            while wave.len() < size {
                let Some(entry) = queue.next() else { break };
                match self.reason_to_stop(entry) {
                    None => wave.push(entry),
                    Some(why) => self.leave_held(entry, &why),
                }
            }
            if wave.is_empty() {
                return Ok(());
            }
            self.job.safe_point()?;
            size = self.settle_wave(&wave, &mut pace).await?;
        }
    }

    /// Settles the objects of a wave concurrently. Returns the size of the next wave.
    async fn settle_wave(&mut self, wave: &[&Entry], pace: &mut WaveSize) -> Result<usize, Failure> {
        let waits = Waits::new();
        let context = SettleContext {
            job: self.job,
            commit: self.commit,
            services: &self.services,
            patience: self.patience,
            waits: &waits,
        };
        let parking = &self.job.parking;
        let work = wave.iter().map(|entry| {
            let work = settle_one(&context, entry);
            async move {
                let outcome = work.await;
                parking.end_part();
                outcome
            }
            .boxed()
        });
        let (mut failed, mut released, mut halted) = (false, false, None);
        parking.begin_parts(wave.len());
        for (entry, outcome) in wave.iter().zip(join_all(work).await) {
            match outcome {
                Ok(acted) => {
                    released |= acted;
                    self.note_outcome(entry, None);
                }
                Err(Stuck { failure: Failure::Halted(halt), .. }) => halted = Some(halt),
                Err(Stuck { plugin, failure }) => {
                    failed = true;
                    match &failure {
                        Failure::Gate(_) => self.stopped = Some(self.job.target.own_name(&entry.key)),
                        Failure::TimedOut(_) => self.patience = self.patience.min(SHORT_TIMEOUT),
                        _ => {}
                    }
                    self.note_outcome(entry, Some(plugin));
                    self.record_held(entry, join_lines(&failure));
                }
            }
        }
        halted.map_or_else(|| Ok(pace.next(failed, released)), |halt| Err(Failure::Halted(halt)))
    }

    /// Counts a failure for the plugin that failed, if one did. For plugins that succeeded before it, the count starts again at
    /// zero.
    fn note_outcome(&mut self, entry: &Entry, failed: Option<Option<String>>) {
        let names = settling_plugins(self.job, &entry.key.group_kind)
            .map(|plugin| Some(plugin.describe().name.clone()));
        for name in names.chain([None]) {
            if failed.as_ref() == Some(&name) {
                *self.in_a_row.entry(name).or_default() += 1;
                return;
            }
            self.in_a_row.remove(&name);
        }
    }

    /// Returns the reason if no more objects can be unpaused.
    fn reason_to_stop(&self, entry: &Entry) -> Option<String> {
        if let Some(stopped) = &self.stopped {
            return Some(format!(
                "still held: nothing more was released after a plugin said stop for {stopped}"
            ));
        }
        let names = settling_plugins(self.job, &entry.key.group_kind)
            .map(|plugin| Some(plugin.describe().name.clone()));
        let mut names = names.chain([None]);
        let failing = names.find(|name| self.in_a_row.get(name).is_some_and(|times| *times >= MAX_FAILURES));
        failing.map(|name| match name {
            Some(name) => format!(
                "plugin {name} is no longer asked: it failed or timed out for {MAX_FAILURES} objects in a row"
            ),
            None => format!("still held: {MAX_FAILURES} objects in a row could not be released"),
        })
    }

    fn record_held(&mut self, entry: &Entry, why: String) {
        self.stuck.push(HeldObject { object: self.job.target.own_name(&entry.key), why });
    }

    /// Lists an object as left held, unless an earlier run has settled it.
    fn leave_held(&mut self, entry: &Entry, why: &str) {
        if self.copies.get(&entry.key).is_none_or(|meta| is_unsettled(self.job, meta)) {
            self.record_held(entry, why.to_owned());
        }
    }

    /// Returns the group of an object. Objects of a kind are in one group if each plugin remembers the same group for them.
    fn find_group<'e>(&self, entry: &'e Entry) -> (&'e GroupKind, Vec<Option<String>>) {
        let meta = self.copies.get(&entry.key);
        let groups = self.job.plugins.iter().map(|plugin| {
            let name = format!("{}/{}", names::memory_prefix(&plugin.describe().name), names::SETTLE_GROUP);
            meta.and_then(|meta| meta.annotations.get(&name).cloned())
        });
        (&entry.key.group_kind, groups.collect())
    }
}

/// Returns the failure as a reason in one line.
fn join_lines(failure: &Failure) -> String {
    let lines = failure.lines(true).lines;
    let line = lines.iter().map(|line| line.trim_start().trim_start_matches("- "));
    line.collect::<Vec<_>>().join(" ")
}

/// The inputs for settling the objects of a wave.
struct SettleContext<'a> {
    job: &'a Job,
    commit: &'a Commit<'a>,
    services: &'a Arc<dyn Services>,
    /// The timeout for each object.
    patience: Duration,
    waits: &'a Waits,
}

/// Settles one object. Returns whether anything was changed.
async fn settle_one(context: &SettleContext<'_>, entry: &Entry) -> Result<bool, Stuck> {
    let job = context.job;
    let kind = job.kind(Side::Target, &entry.key.group_kind)?;
    let mut acted = false;
    // The object as the last plugin without further changes saw it, which saves another read.
    let mut seen = None;
    for plugin in settling_plugins(job, &entry.key.group_kind) {
        let settled = settle_with_plugin(context, &entry.key, plugin, &mut acted).await;
        context.waits.end_wait(&entry.key);
        seen = settled.map_err(|failure| Stuck { plugin: Some(plugin.describe().name.clone()), failure })?;
    }
    let seen = match seen {
        Some(object) => Some(object),
        None => job.target.get(kind, &entry.key).await?,
    };
    if let Some(object) = seen {
        acted |= is_unsettled(job, &object.meta);
        unpausing::undo(&job.target, kind, &entry.key, &job.move_id, Some(&object)).await?;
        remove_plugin_annotations(job, kind, &object).await?;
    }
    job.report_object(Phase::Settled, Verb::UnpausedHeld, &entry.key, Side::Target);
    Ok(acted)
}

/// Settles an object with one plugin. Returns the object in the state in which the plugin had no more changes.
async fn settle_with_plugin(
    context: &SettleContext<'_>,
    key: &Key,
    plugin: &dyn Hooks,
    acted: &mut bool,
) -> Result<Option<Object>, Failure> {
    let SettleContext { job, commit, services, patience, .. } = context;
    let kind = job.kind(Side::Target, &key.group_kind)?;
    let name = &plugin.describe().name;
    let refuse = |error| Failure::Hook {
        plugin: name.clone(),
        hook: Hook::Settle,
        object: Some(Box::new(key.clone())),
        error,
    };
    let deadline = job.parking.deadline(*patience);
    let mut patches: BTreeMap<String, usize> = BTreeMap::new();
    let ask = async || {
        let Some(object) = job.target.get(kind, key).await? else { return Ok(None) };
        let written = commit.was_written(&object);
        let answer = plugin.settle(&object, written, Arc::clone(services)).await.map_err(refuse)?;
        Ok::<_, Failure>(Some((object, answer)))
    };
    loop {
        let Some((object, answer)) = ask().await? else { return Ok(None) };
        *acted |= answer != Settlement::Done;
        match answer {
            Settlement::Done => return Ok(Some(object)),
            Settlement::Stop(finding) => {
                // Reported now, because the rest of its wave may take minutes.
                job.report(Event::finding(name, &add_called_object(finding.clone(), key)));
                let object = finding.object.clone().filter(|object| object != key);
                let finding = Finding { object, ..finding };
                return Err(Failure::Gate(vec![PluginFinding { plugin: name.clone(), finding }]));
            }
            Settlement::Wait(mut finding) => {
                let wait = async {
                    loop {
                        wait_for_poll(context, name, finding, key, deadline.end()).await?;
                        match ask().await? {
                            Some((_, Settlement::Wait(again))) => finding = again,
                            answer => return Ok(answer),
                        }
                    }
                };
                let answer = job.parking.wait_for_others(&job.halter, wait).await?;
                // Any other answer may be out of date, because the run may have been parked.
                if let ended @ (None | Some((_, Settlement::Done))) = answer {
                    return Ok(ended.map(|(object, _)| object));
                }
            }
            Settlement::Patch(patch) => {
                if let Some(message) = bounds::describe_violation(plugin.describe(), Hook::Settle, &patch) {
                    return Err(refuse(HookError { code: "out-of-bounds".into(), message }));
                }
                let times = patches.entry(patch.to_string()).or_default();
                *times += 1;
                if *times >= MAX_SAME_PATCHES {
                    let message = "it keeps returning the same patch".to_owned();
                    return Err(refuse(HookError { code: "not-idempotent".into(), message }));
                }
                if patches.values().sum::<usize>() > MAX_PATCHES {
                    let message = format!("it returned too many patches: {MAX_PATCHES}");
                    return Err(refuse(HookError { code: "not-idempotent".into(), message }));
                }
                let result = job.target.patch(kind, key, &patch).await;
                let by = PatchAuthors::new(&[plugin.describe()]);
                result.map_err(|error| {
                    let doing = format!("settling, with a patch of {by},");
                    job.target.request_failure(doing, Some(key), by.answer(error))
                })?;
            }
        }
    }
}

/// Adds the object of the call to a finding that names none.
fn add_called_object(finding: Finding, key: &Key) -> Finding {
    Finding { object: finding.object.or_else(|| Some(key.clone())), ..finding }
}

async fn wait_for_poll(
    context: &SettleContext<'_>,
    plugin: &str,
    finding: Finding,
    key: &Key,
    deadline: Instant,
) -> Result<(), Failure> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        // The report already says which object is held.
        let object = finding.object.clone().filter(|object| object != key);
        return Err(Failure::TimedOut(vec![Awaited::for_plugin(plugin, &Finding { object, ..finding })]));
    }
    let awaited = Awaited::for_plugin(plugin, &add_called_object(finding, key));
    context.waits.begin_wait(&*context.job.watcher, key, awaited, deadline);
    tokio::select! {
        () = tokio::time::sleep(POLL_INTERVAL.min(left)) => Ok(()),
        halt = context.job.halter.wait() => Err(Failure::Halted(halt)),
    }
}

/// Returns the names of the annotations in which plugins keep notes.
fn plugin_annotations<'a>(job: &'a Job, meta: &'a Meta) -> impl Iterator<Item = &'a String> {
    meta.annotations.keys().filter(|name| {
        let prefix = name.split_once('/').map_or("", |(prefix, _)| prefix);
        job.plugins.iter().any(|plugin| prefix == names::memory_prefix(&plugin.describe().name))
    })
}

/// Returns true if the object is not settled yet: it has the annotation that undoes a pause, or notes of a plugin.
fn is_unsettled(job: &Job, meta: &Meta) -> bool {
    pause::is_ours(meta, &job.move_id) || plugin_annotations(job, meta).next().is_some()
}

/// Removes plugins' notes from an object.
async fn remove_plugin_annotations(job: &Job, kind: &Arc<Kind>, object: &Object) -> Result<(), Failure> {
    let nulls: serde_json::Map<String, Value> =
        plugin_annotations(job, &object.meta).map(|name| (name.clone(), Value::Null)).collect();
    if nulls.is_empty() {
        return Ok(());
    }
    let (key, patch) = (object.key(), json!({"metadata": {"annotations": nulls}}));
    match job.target.patch(kind, &key, &patch).await {
        Ok(_) | Err(PlaceError::NotFound(_)) => Ok(()),
        Err(error) => Err(job.target.request_failure("tidying up", Some(&key), error)),
    }
}
