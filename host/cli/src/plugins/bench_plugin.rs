//! `pivot-host plugin bench`: size, start and calls of a component, and their share of its limits.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pivot_core::Object;
use pivot_core::plugins::hooks::{Hook, Point};
use pivot_engine::Exit;
use pivot_runtime::{Plugin, RunContext, RunKind, Runtime, Scene};
use serde::Serialize;
use serde_json::json;

use super::hook_calls::{Question, ask_plugin};
use super::refused;
use super::run_hook::{read_grants, read_objects};
use super::runtime::start_runtime;
use super::sample_objects::generate_objects;
use crate::args::PluginBenchArgs;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// Instances for the time of one.
const INSTANCES: usize = 100;
/// Time after which a hook is called no more.
const MAX_HOOK_TIME: Duration = Duration::from_secs(30);
/// Percent of a limit above which a call is worth a warning.
const MAX_SHARE: u64 = 50;

/// The measurements of one hook.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookCost {
    hook: Hook,
    calls: usize,
    calls_per_second: u64,
    median_us: u64,
    p99_us: u64,
    max_us: u64,
    /// Bytes of linear memory, the peak of a single call.
    peak_memory: usize,
    /// Percent of `limits.time` that the slowest call took.
    time_share: u64,
    /// Percent of `limits.memory` that the largest call took.
    memory_share: u64,
    /// Calls that failed; their times count.
    failed: usize,
    /// The first error.
    error: Option<String>,
}

pub(super) async fn run(typed: &PluginBenchArgs, output: &Output) -> Result<()> {
    let PluginBenchArgs { file, objects, calls, config } = typed;
    let objects = objects.as_deref().map(read_objects).transpose()?;
    let grants = config.as_deref().map(read_grants).transpose()?;
    // Within limits first: the measured compilation has none.
    load(&start_runtime()?, file, grants.as_deref()).await?;
    let begun = Instant::now();
    let plugin = load(&Runtime::new(), file, grants.as_deref()).await?;
    let compile_time = begun.elapsed();
    let size = std::fs::metadata(file).map_err(|error| {
        (Exit::Unexpected, format!("reading the size of {}: {error}", file.display()).into())
    })?;
    let instance_time = time_instance(&plugin).await?;
    let scene = match objects {
        Some(source) => Scene { source, ..Scene::default() },
        None => generate_objects(&plugin).await.0,
    };
    let scene = Arc::new(scene);
    let mut costs = Vec::new();
    for hook in Hook::ALL.into_iter().filter(|hook| plugin.description().hooks.contains(hook)) {
        costs.extend(measure_hook(&plugin, hook, &scene, *calls).await);
    }
    if costs.is_empty() {
        let name = &plugin.description().name;
        let why =
            format!("no hook of {name} is called for these objects: name a file with objects of its kinds");
        return Err((Exit::Usage, why.into()));
    }
    let content = json!({
        "file": file, "sha256": plugin.file_digest(), "name": plugin.description().name,
        "version": plugin.description().version, "size": size.len(), "compileMs": to_micros(compile_time) / 1_000,
        "instantiateUs": to_micros(instance_time), "hooks": costs,
    });
    output.result(&Document::new("PluginBench", content), || {
        let mut text = Text::from(format!(
            "{} {}: {} KiB, compiled in {} ms, instantiated in {} µs",
            plugin.description().name,
            plugin.description().version,
            size.len() >> 10,
            to_micros(compile_time) / 1_000,
            to_micros(instance_time)
        ));
        text.add_line(
            "hook       calls  calls/s  median µs     p99 µs     max µs  memory KiB  of limits: time  memory",
        );
        costs.iter().for_each(|cost| text.add_line(cost_line(cost)));
        text
    });
    costs.iter().for_each(|cost| warn_of_cost(cost, output));
    Ok(())
}

async fn load(runtime: &Runtime, file: &Path, grants: Option<&str>) -> Result<Plugin> {
    let loaded = runtime.try_out(file, grants).await;
    loaded.map_err(|error| (Exit::Plugin, refused::plugin_refusal_lines(&error, file).collect()))
}

/// Returns the median time of an instance.
async fn time_instance(plugin: &Plugin) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..INSTANCES {
        let begun = Instant::now();
        plugin.instantiate().await.map_err(|error| (Exit::Plugin, error.to_string().into()))?;
        times.push(begun.elapsed());
    }
    times.sort();
    Ok(quantile(&times, 50))
}

/// Calls a hook on its objects in turn, at most so many times. None if a move calls it for none of them.
async fn measure_hook(plugin: &Plugin, hook: Hook, scene: &Arc<Scene>, calls: usize) -> Option<HookCost> {
    let is_called = |object: &&Object| plugin.has_hook_for(hook, &object.kind.group_kind);
    let questions: Vec<Question<'_>> = match hook {
        Hook::Check => Point::ALL.map(Question::Check).into(),
        _ => scene.source.iter().filter(is_called).map(|object| Question::Object(hook, object)).collect(),
    };
    if questions.is_empty() {
        return None;
    }
    // As in a move: a run has a time for all its calls together.
    let plugin = plugin.for_run(RunContext { kind: RunKind::Move, ..RunContext::default() });
    let (mut times, mut failed, mut error) = (Vec::new(), 0, None);
    let begun = Instant::now();
    for question in questions.iter().cycle().take(calls) {
        let asked = Instant::now();
        let answer = ask_plugin(&plugin, *question, scene).await;
        times.push(asked.elapsed());
        if let Err(why) = answer {
            failed += 1;
            error.get_or_insert(why.to_string());
        }
        if begun.elapsed() > MAX_HOOK_TIME {
            break;
        }
    }
    let spent = begun.elapsed();
    times.sort();
    let (used, limits) = (plugin.take_used(), plugin.grants().limits);
    let slowest = quantile(&times, 100);
    Some(HookCost {
        hook,
        calls: times.len(),
        calls_per_second: (times.len() as u64 * 1_000_000).checked_div(to_micros(spent)).unwrap_or_default(),
        median_us: to_micros(quantile(&times, 50)),
        p99_us: to_micros(quantile(&times, 99)),
        max_us: to_micros(slowest),
        peak_memory: used.peak_memory,
        time_share: percent(to_micros(slowest), to_micros(limits.time)),
        memory_share: percent(used.peak_memory as u64, limits.memory as u64),
        failed,
        error,
    })
}

/// Returns the time that so many percent of sorted times don't exceed.
fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or_default()
}

fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn cost_line(cost: &HookCost) -> String {
    let HookCost { hook, calls, calls_per_second, median_us, p99_us, max_us, .. } = cost;
    let HookCost { peak_memory, time_share, memory_share, .. } = cost;
    format!(
        "{:<9} {calls:>6} {calls_per_second:>8} {median_us:>10} {p99_us:>10} {max_us:>10} {:>11} {time_share:>14} % {memory_share:>5} %",
        hook.to_string(),
        peak_memory >> 10,
    )
}

fn warn_of_cost(cost: &HookCost, output: &Output) {
    let HookCost { hook, calls, time_share, memory_share, failed, error, .. } = cost;
    for (share, limit) in [(time_share, "time"), (memory_share, "memory")] {
        if *share > MAX_SHARE {
            output.warn(format!(
                "{hook}: a call used {share} % of limits.{limit}; larger objects may exceed it: raise it in plugins.toml"
            ));
        }
    }
    if let Some(error) = error {
        output.warn(format!("{hook}: {failed} of {calls} calls failed; the first: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_taken_from_the_times() {
        let times: Vec<Duration> = (1..=200).map(Duration::from_micros).collect();
        let all = [0, 50, 99, 100].map(|percent| to_micros(quantile(&times, percent)));
        assert_eq!(all, [1, 100, 198, 200]);
        assert_eq!(quantile(&[], 50), Duration::ZERO);
        assert_eq!((percent(3, 4), percent(1, 0)), (75, 0));
    }
}
