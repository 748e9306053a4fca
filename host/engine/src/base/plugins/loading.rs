//! The plugins of a command, which may still be loading: they are compiled while both sides are opened and read.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use pivot_runtime::ServedKinds;

use crate::base::outcome::failure::Failure;
use crate::base::plugins::hooks::Hooks;

/// The plugins, in their order, once loaded; `None` if they were refused. The caller that loads them knows why.
type Loaded = Option<Arc<[Arc<dyn Hooks>]>>;

/// Plugins that are loaded, or are being loaded.
#[derive(Clone)]
pub struct Plugins {
    loading: Shared<BoxFuture<'static, Loaded>>,
    served: ServedKinds,
}

impl Plugins {
    /// Plugins from this future. It is first polled while both sides are opened; work that must start earlier needs a task of its
    /// own.
    pub fn from_future(load: impl Future<Output = Option<Vec<Arc<dyn Hooks>>>> + Send + 'static) -> Self {
        let loading = load.map(|loaded| loaded.map(Arc::from)).boxed().shared();
        Self { loading, served: ServedKinds::default() }
    }

    /// Plugins whose future waits for the kinds that both sides serve.
    pub fn with_served_kinds(self, served: ServedKinds) -> Self {
        Self { served, ..self }
    }

    /// The kinds that the plugins may wait for.
    pub(crate) fn served_kinds(&self) -> &ServedKinds {
        &self.served
    }

    /// Waits until they are loaded, or are refused.
    pub(crate) async fn wait_until_loaded(&self) -> Result<Arc<[Arc<dyn Hooks>]>, Failure> {
        self.loading.clone().await.ok_or(Failure::PluginsRefused)
    }
}

impl From<Vec<Arc<dyn Hooks>>> for Plugins {
    fn from(plugins: Vec<Arc<dyn Hooks>>) -> Self {
        Self::from_future(std::future::ready(Some(plugins)))
    }
}

impl Default for Plugins {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names =
            self.loading.peek().and_then(Option::as_ref).map(|plugins| {
                plugins.iter().map(|plugin| plugin.describe().name.clone()).collect::<Vec<_>>()
            });
        f.debug_tuple("Plugins").field(&names).finish()
    }
}
