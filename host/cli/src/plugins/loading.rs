//! Loads the plugins of a move while its source is read: compiling them takes longer than most of the requests to servers made
//! meanwhile. Plugins that no object of the two sides concerns are idle, and aren't compiled.

use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{self, BoxFuture, Shared};
use pivot_core::plan::Note;
use pivot_core::plugins::hooks::Description;
use pivot_core::records::record::Pin;
use pivot_engine::{Hooks, Plugins};
use pivot_runtime::{Loaded, ServedKinds};

use super::load_directory;
use super::notes::{by_others, switched_off};
use super::recording::{CallRecorder, RecordingFile};
use crate::args::PluginArgs;
use crate::output::Text;

/// The plugins of a move.
#[derive(Default)]
struct LoadedPlugins {
    /// The plugins that take part, the idle ones after the others.
    called: Vec<Arc<dyn Hooks>>,
    /// The plugins that are installed but not enabled, each with its version.
    disabled: Vec<String>,
    /// Notes for the user: the disabled and the idle plugins, and the files that other users may write.
    notes: Vec<Note>,
}

/// A plugin that isn't called.
struct IdlePlugin(Description);

impl Hooks for IdlePlugin {
    fn describe(&self) -> &Description {
        &self.0
    }
}

/// Plugins that are still loading.
pub(crate) struct Loading {
    loaded: Shared<BoxFuture<'static, Result<Arc<LoadedPlugins>, Text>>>,
    /// The plugins wait for these.
    served: ServedKinds,
}

impl Loading {
    /// Starts loading the plugins of the given directory; without one there are none.
    pub(crate) fn begin(with: &PluginArgs) -> Self {
        Self::begin_recorded(with, None)
    }

    /// Starts loading the plugins, whose calls are recorded if there is a file for them.
    pub(crate) fn begin_recorded(with: &PluginArgs, recording: Option<Arc<RecordingFile>>) -> Self {
        let Some(directory) = with.plugins.clone() else { return Self::without_plugins() };
        let (with, served) = (with.clone(), ServedKinds::default());
        let awaited = served.clone();
        let task = tokio::spawn(async move {
            let Loaded { plugins, idle, disabled, open_to_others } =
                load_directory(&directory, &with, Some(awaited)).await?;
            let called = plugins.into_iter().map(|plugin| {
                let has_config = plugin.grants().config != "{}";
                (Arc::new(plugin) as Arc<dyn Hooks>, has_config)
            });
            let mut called: Vec<_> = match recording {
                Some(file) => CallRecorder::record_all(called.collect(), &file),
                None => called.map(|(plugin, _)| plugin).collect(),
            };
            let disabled = switched_off(&disabled);
            let open = (!open_to_others.is_empty()).then(|| open_note(&directory, &open_to_others));
            let notes = disabled.iter().map(|name| switched_off_note(name));
            let notes = notes.chain(idle_note(&idle)).chain(open).collect();
            called.extend(idle.into_iter().map(|idle| Arc::new(IdlePlugin(idle)) as Arc<dyn Hooks>));
            Ok(Arc::new(LoadedPlugins { called, disabled, notes }))
        });
        let panicked = "the task that loads plugins panicked; this is a bug in pivot-host, please report it";
        let loaded = task.map(|ended| ended.unwrap_or_else(|_| Err(panicked.into()))).boxed().shared();
        Self { loaded, served }
    }

    /// Starts loading all plugins, whatever the sides of a move serve.
    pub(crate) fn begin_all(with: &PluginArgs) -> Self {
        let loading = Self::begin(with);
        loading.served.give_up();
        loading
    }

    pub(crate) fn without_plugins() -> Self {
        let loaded = future::ready(Ok(Arc::default())).boxed().shared();
        Self { loaded, served: ServedKinds::default() }
    }

    /// Returns the plugins that take part, for the engine to wait for. Once they are loaded, `report` gets notes about the other
    /// plugins and the directory.
    pub(crate) fn participating(&self, report: impl FnOnce(&[Note]) + Send + 'static) -> Plugins {
        let loading = self.loaded.clone();
        let load = async move {
            let found = loading.await.ok()?;
            report(&found.notes);
            Some(found.called.clone())
        };
        Plugins::from_future(load).with_served_kinds(self.served.clone())
    }

    /// The plugins that take part, for a plan that is saved.
    pub(crate) async fn pins(&self) -> Vec<Pin> {
        let loaded = self.wait().await;
        loaded.iter().flat_map(|loaded| &loaded.called).map(|plugin| Pin::from(plugin.describe())).collect()
    }

    /// The plugins that are installed but take no part, each with its version, as far as known yet.
    pub(crate) fn disabled_plugins(&self) -> Vec<String> {
        let found = self.loaded.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.disabled.clone()).unwrap_or_default()
    }

    /// Returns the notes about disabled plugins and the plugins' directory, as far as known yet.
    pub(crate) fn notes(&self) -> Vec<Note> {
        let found = self.loaded.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.notes.clone()).unwrap_or_default()
    }

    /// All problems with the plugins, if there are any.
    pub(crate) async fn wait_for_refusal(&self) -> Option<Text> {
        self.wait().await.err()
    }

    /// Returns the plugins that take part, or all problems with them.
    pub(crate) async fn wait_for_plugins(&self) -> Result<Vec<Arc<dyn Hooks>>, Text> {
        self.wait().await.map(|loaded| loaded.called.clone())
    }

    /// Waits for all plugins, also if no sides were opened.
    async fn wait(&self) -> Result<Arc<LoadedPlugins>, Text> {
        self.served.give_up();
        self.loaded.clone().await
    }
}

/// A plugin that is installed but takes no part.
fn switched_off_note(name: &str) -> Note {
    let message = format!("plugin {name} takes no part: plugins.toml doesn't enable it");
    Note { code: "plugin-disabled".into(), object: None, message }
}

/// Enabled plugins that aren't called.
fn idle_note(idle: &[Description]) -> Option<Note> {
    let names: Vec<_> = idle.iter().map(|plugin| plugin.name.as_str()).collect();
    let message =
        format!("plugins that aren't called, since neither side serves their kinds: {}", names.join(", "));
    (!idle.is_empty()).then(|| Note { code: "plugins-idle".into(), object: None, message })
}

fn open_note(directory: &Path, open: &[String]) -> Note {
    let message = format!("{}: {}", directory.display(), by_others(open));
    Note { code: "open-to-others".into(), object: None, message }
}
