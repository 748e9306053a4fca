//! The plugins of a move, loaded while its two sides are opened and read: compiling them takes longer than most of what the
//! servers are asked meanwhile.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::{self, BoxFuture, Shared};
use pivot_engine::{Hooks, Plugins};

use super::{read, switched_off};
use crate::args::With;
use crate::output::Text;

/// The plugins of a move.
#[derive(Default)]
struct Found {
    /// Those that take part.
    called: Vec<Arc<dyn Hooks>>,
    /// Those that are there and not enabled, each with its version.
    disabled: Vec<String>,
}

/// Plugins that are being loaded.
pub(crate) struct Loading(Shared<BoxFuture<'static, Result<Arc<Found>, Text>>>);

impl Loading {
    /// Begins to load those of the directory that is named; none where none is.
    pub(crate) fn begin(with: &With) -> Self {
        let Some(directory) = with.plugins.clone() else { return Self::none() };
        let unlocked = with.unlocked;
        let task = tokio::spawn(async move {
            let loaded = read(&directory, unlocked).await?;
            let called = loaded.plugins.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Hooks>);
            Ok(Arc::new(Found { called: called.collect(), disabled: switched_off(&loaded.disabled) }))
        });
        let panicked = "the task that loads plugins panicked; this is a bug in pivot-host, please report it";
        Self(task.map(|ended| ended.unwrap_or_else(|_| Err(panicked.into()))).boxed().shared())
    }

    pub(crate) fn none() -> Self {
        Self(future::ready(Ok(Arc::default())).boxed().shared())
    }

    /// Those that take part, for the engine to wait for; those that don't are told once they are known.
    pub(crate) fn called(&self, tell: impl FnOnce(&[String]) + Send + 'static) -> Plugins {
        let loading = self.0.clone();
        Plugins::loading(async move {
            let found = loading.await.ok()?;
            tell(&found.disabled);
            Some(found.called.clone())
        })
    }

    /// Those that are there and take no part, each with its version, as far as that is known.
    pub(crate) fn disabled(&self) -> Vec<String> {
        let found = self.0.peek().and_then(|loaded| loaded.as_ref().ok());
        found.map(|found| found.disabled.clone()).unwrap_or_default()
    }

    /// Everything that is wrong with them, if anything is.
    pub(crate) async fn refused(&self) -> Option<Text> {
        self.0.clone().await.err()
    }
}
