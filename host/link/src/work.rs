//! The tasks of a connection. They end with their owner.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// An API server ends a request after a minute by itself.
const LONGEST: Duration = Duration::from_secs(60);

/// The running tasks of a connection.
#[derive(Clone, Default)]
pub(crate) struct RunningTasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for RunningTasks {
    fn execute(&self, work: F) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What has ended is only counted.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }
}

impl RunningTasks {
    /// Gives up all of it.
    pub(crate) async fn abort_all(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        tasks.shutdown().await;
    }

    /// Waits for all of it, as long as a server may take.
    pub(crate) async fn wait_for_all(&self) {
        let mut tasks = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout(LONGEST, all).await.is_err() {
            tracing::warn!("the cluster's server still has a write of a link that was cut");
        }
    }
}
