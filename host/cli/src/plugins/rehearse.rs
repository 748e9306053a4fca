//! `pivot-host plugin rehearse`: a whole move of objects from a file, in memory.
//!
//! The engine moves the objects between two places in memory, with the plugins that a move would load. Simulated controllers work on
//! both sides. A second move without plugins shows what the plugins changed.

mod answers;
mod controllers;
mod observer;
mod report;
mod restore;
pub(super) mod stage;
mod test_cases;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use pivot_core::objects::names::RECORD_NAMESPACE;
use pivot_core::plan::Plan;
use pivot_core::request::scope::Namespaces;
use pivot_engine::{Event, Exit, Hooks, NoWatcher, Watcher};
use pivot_places::{ClusterInFile, cluster_of_file};
use pivot_runtime::{Loaded, Plugin};

use super::junit::junit_report;
use super::notes::{by_others, switched_off};
use crate::args::{self, OutputFormat, RehearseArgs};
use crate::exit::Result;
use crate::output::{Document, Output, PlanUse, Progress};
pub(crate) use restore::{RestoreComparison, restore_into_memory};

use answers::Answers;
use observer::{CallLog, Observer};
use report::Rehearsal;
use stage::Scene;

/// Rehearses a move with the plugins of a directory.
pub(super) async fn run(
    typed: &RehearseArgs,
    directory: &Path,
    loaded: Loaded,
    output: &Arc<Output>,
) -> Result<()> {
    let RehearseArgs { with: _, objects, target_objects, answers, namespace, map_namespace } = typed;
    let scene = Scene {
        source: read_cluster(objects)?,
        target: target_objects.as_deref().map(read_cluster).transpose()?,
        namespaces: namespace.clone().map_or(Namespaces::All, Namespaces::One),
        namespace_map: args::namespace_map(map_namespace, RECORD_NAMESPACE)
            .map_err(|error| (Exit::Usage, error.0.into()))?,
    };
    let answers = Arc::new(answers.as_deref().map(Answers::read).transpose()?.unwrap_or_default());
    let Loaded { plugins, disabled, open_to_others, .. } = loaded;
    let disabled = switched_off(&disabled);
    disabled
        .iter()
        .for_each(|name| output.warn(format!("plugin {name} takes no part: plugins.toml doesn't enable it")));
    if !open_to_others.is_empty() {
        output.warn(format!("{}: {}", directory.display(), by_others(&open_to_others)));
    }
    let log = Arc::<CallLog>::default();
    let observe = |plugin: Plugin| -> Arc<dyn Hooks> {
        Arc::new(Observer { plugin: Arc::new(plugin), log: log.clone(), answers: answers.clone() })
    };
    let plugins: Vec<Arc<dyn Hooks>> = plugins.into_iter().map(observe).collect();
    let watcher = Arc::new(PlanReader {
        progress: Progress::new(output.clone(), ("source", "target"), PlanUse::Counted),
        plan: Mutex::default(),
    });
    let ended = scene.move_objects(plugins.clone(), watcher.clone(), false).await;
    watcher.progress.end();
    let bare = scene.move_objects(Vec::new(), Arc::new(NoWatcher), true).await;
    let rehearsal = Rehearsal::new(&plugins, log.take(), &answers, &ended, &bare, watcher.take_plan());
    match output.settings().format {
        OutputFormat::Junit => {
            output.own(&junit_report("pivot-host plugin rehearse", &test_cases::list_cases(&rehearsal)));
        }
        _ => output.result(&Document::new("PluginRehearsal", rehearsal.content()), || rehearsal.text()),
    }
    match ended.result {
        Ok(_) => Ok(()),
        Err(stop) => Err((stop.exit, stop.to_string().into())),
    }
}

fn read_cluster(file: &Path) -> Result<ClusterInFile> {
    cluster_of_file(file).map_err(|error| (Exit::Usage, error.to_string().into()))
}

/// Shows the progress of the move, and keeps its plan.
struct PlanReader {
    progress: Arc<Progress>,
    plan: Mutex<Option<Arc<Plan>>>,
}

impl PlanReader {
    fn take_plan(&self) -> Option<Arc<Plan>> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Watcher for PlanReader {
    fn event(&self, event: Event) {
        if let Event::Planned { plan, .. } = &event {
            *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = Some(plan.clone());
        }
        self.progress.event(event);
    }
}
