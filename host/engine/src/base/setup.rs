//! The inputs of a command.

use std::sync::Arc;

use crate::base::events::Watcher;
use crate::base::options::Options;
use crate::base::outcome::failure::Failure;
use crate::base::plugins::hooks::Hooks;
use crate::base::plugins::loading::Plugins;
use crate::base::requests::halt::Halter;
use crate::base::requests::parking::Parking;
use crate::base::requests::side::Sides;
use crate::base::workload_clusters::WorkloadClusters;

/// The inputs of a command.
#[derive(Clone)]
pub struct Setup {
    /// The two places.
    pub sides: Sides,
    /// The user's decisions.
    pub options: Options,
    /// The plugins, in their order; they may still be loading.
    pub plugins: Plugins,
    /// Receives the events.
    pub watcher: Arc<dyn Watcher>,
    /// Lets callers ask for a stop.
    pub halter: Halter,
    /// Lets callers have other runs work while this one waits.
    pub parking: Parking,
    /// Connects to workload clusters. A restore and a recovery compare their nodes with the Clusters. Other moves don't use it. Without it,
    /// no Cluster is compared.
    pub workload_clusters: Option<Arc<dyn WorkloadClusters>>,
}

impl Setup {
    /// Ends if the plugins are refused.
    pub(crate) async fn wait_for_refusal(&self) -> Failure {
        match self.until_loaded_or_halted().await {
            Ok(_) => std::future::pending().await,
            Err(failure) => failure,
        }
    }

    /// The plugins, as soon as they are loaded. If no sides were opened, all are.
    pub(crate) async fn wait_for_plugins(&self) -> Result<Arc<[Arc<dyn Hooks>]>, Failure> {
        self.plugins.served_kinds().give_up();
        self.until_loaded_or_halted().await
    }

    async fn until_loaded_or_halted(&self) -> Result<Arc<[Arc<dyn Hooks>]>, Failure> {
        tokio::select! {
            loaded = self.plugins.wait_until_loaded() => loaded,
            halt = self.halter.wait() => Err(Failure::Halted(halt)),
        }
    }
}
