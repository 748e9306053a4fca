//! Loads the plugins of a move while its two sides are opened and read: compiling them takes longer than most of the requests to
//! servers made meanwhile.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{self, BoxFuture, Shared};
use pivot_core::plan::Note;
use pivot_core::records::record::Pin;
use pivot_engine::{Hooks, Plugins};
use pivot_runtime::Loaded;

use super::load_directory;
use super::notes::{by_others, switched_off};
use super::recording::{CallRecorder, RecordingFile};
use crate::args::PluginArgs;
use crate::output::Text;

/// The plugins of a move.
#[derive(Default)]
struct LoadedPlugins {
    /// The plugins that take part.
    called: Vec<Arc<dyn Hooks>>,
    /// The plugins that are installed but not enabled, each with its version.
    disabled: Vec<String>,
    /// Notes for the user: the disabled plugins, and the files that other users may write.
    notes: Vec<Note>,
}

/// Plugins that are still loading.
pub(crate) struct Loading(Shared<BoxFuture<'static, Result<Arc<LoadedPlugins>, Text>>>);

impl Loading {
    /// Starts loading the plugins of the given directory; without one there are none.
    pub(crate) fn begin(with: &PluginArgs) -> Self {
        Self::begin_recorded(with, None)
    }

    /// Starts loading the plugins, whose calls are recorded if there is a file for them.
    pub(crate) fn begin_recorded(with: &PluginArgs, recording: Option<Arc<RecordingFile>>) -> Self {
        let Some(directory) = with.plugins.clone() else { return Self::without_plugins() };
        let with = with.clone();
        let task = tokio::spawn(async move {
            let Loaded { plugins, disabled, open_to_others } = load_directory(&directory, &with).await?;
            let called = plugins.into_iter().map(|plugin| {
                let has_config = plugin.grants().config != "{}";
                (Arc::new(plugin) as Arc<dyn Hooks>, has_config)
            });
            let called = match recording {
                Some(file) => CallRecorder::record_all(called.collect(), &file),
                None => called.map(|(plugin, _)| plugin).collect(),
            };
            let disabled = switched_off(&disabled);
            let open = (!open_to_others.is_empty()).then(|| open_note(&directory, &open_to_others));
            let notes = disabled.iter().map(|name| switched_off_note(name)).chain(open).collect();
            Ok(Arc::new(LoadedPlugins { called, disabled, notes }))
        });
        let panicked = "the task that loads plugins panicked; this is a bug in pivot-host, please report it";
        Self(task.map(|ended| ended.unwrap_or_else(|_| Err(panicked.into()))).boxed().shared())
    }

    pub(crate) fn without_plugins() -> Self {
        Self(future::ready(Ok(Arc::default())).boxed().shared())
    }

    /// Returns the plugins that take part, for the engine to wait for. Once they are loaded, `report` gets notes about the other
    /// plugins and the directory.
    pub(crate) fn participating(&self, report: impl FnOnce(&[Note]) + Send + 'static) -> Plugins {
        let loading = self.0.clone();
        Plugins::from_future(async move {
            let found = loading.await.ok()?;
            report(&found.notes);
            Some(found.called.clone())
        })
    }

    /// The plugins that take part, for a plan that is saved.
    pub(crate) async fn pins(&self) -> Vec<Pin> {
        let loaded = self.0.clone().await;
        loaded.iter().flat_map(|loaded| &loaded.called).map(|plugin| Pin::from(plugin.describe())).collect()
    }

    /// The plugins that are installed but take no part, each with its version, as far as known yet.
    pub(crate) fn disabled_plugins(&self) -> Vec<String> {
        let found = self.0.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.disabled.clone()).unwrap_or_default()
    }

    /// Returns the notes about disabled plugins and the plugins' directory, as far as known yet.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let found = self.0.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.notes.clone()).unwrap_or_default()
    }

    /// All problems with the plugins, if there are any.
    pub(crate) async fn wait_for_refusal(&self) -> Option<Text> {
        self.0.clone().await.err()
    }
}

/// A plugin that is installed but takes no part.
fn switched_off_note(name: &str) -> Note {
    let message = format!("plugin {name} takes no part: plugins.toml doesn't enable it");
    Note { code: "plugin-disabled".into(), object: None, message }
}

fn open_note(directory: &Path, open: &[String]) -> Note {
    let message = format!("{}: {}", directory.display(), by_others(open));
    Note { code: "open-to-others".into(), object: None, message }
}
