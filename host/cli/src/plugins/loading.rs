//! Loads the plugins of a move while its two sides are opened and read: compiling them takes longer than most of the requests to
//! servers made meanwhile.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{self, BoxFuture, Shared};
use pivot_core::record::Pin;
use pivot_engine::{Hooks, Plugins};

use super::{read, switched_off};
use crate::args::With;
use crate::output::Text;

/// The plugins of a move.
#[derive(Default)]
struct LoadedPlugins {
    /// The plugins that take part.
    called: Vec<Arc<dyn Hooks>>,
    /// The plugins that are installed but not enabled, each with its version.
    disabled: Vec<String>,
}

/// Plugins that are still loading.
pub(crate) struct Loading(Shared<BoxFuture<'static, Result<Arc<LoadedPlugins>, Text>>>);

impl Loading {
    /// Starts loading the plugins of the given directory; without one there are none.
    pub(crate) fn begin(with: &With) -> Self {
        let Some(directory) = with.plugins.clone() else { return Self::none() };
        let unlocked = with.unlocked;
        let task = tokio::spawn(async move {
            let loaded = read(&directory, unlocked).await?;
            let called = loaded.plugins.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Hooks>);
            Ok(Arc::new(LoadedPlugins { called: called.collect(), disabled: switched_off(&loaded.disabled) }))
        });
        let panicked = "the task that loads plugins panicked; this is a bug in pivot-host, please report it";
        Self(task.map(|ended| ended.unwrap_or_else(|_| Err(panicked.into()))).boxed().shared())
    }

    pub(crate) fn none() -> Self {
        Self(future::ready(Ok(Arc::default())).boxed().shared())
    }

    /// The plugins that take part, for the engine to wait for; the others are passed to `report_disabled` once they are known.
    pub(crate) fn called(&self, report_disabled: impl FnOnce(&[String]) + Send + 'static) -> Plugins {
        let loading = self.0.clone();
        Plugins::loading(async move {
            let found = loading.await.ok()?;
            report_disabled(&found.disabled);
            Some(found.called.clone())
        })
    }

    /// The plugins that take part, for a plan that is saved.
    pub(crate) async fn pins(&self) -> Vec<Pin> {
        let loaded = self.0.clone().await;
        loaded.iter().flat_map(|loaded| &loaded.called).map(|plugin| Pin::from(plugin.describe())).collect()
    }

    /// The plugins that are installed but take no part, each with its version, as far as known yet.
    pub(crate) fn disabled(&self) -> Vec<String> {
        let found = self.0.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.disabled.clone()).unwrap_or_default()
    }

    /// All problems with the plugins, if there are any.
    pub(crate) async fn refused(&self) -> Option<Text> {
        self.0.clone().await.err()
    }
}
