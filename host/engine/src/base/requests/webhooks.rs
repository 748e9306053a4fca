//! Refusals of admission webhooks, which may end in a moment.

use std::time::Duration;

use pivot_places::PlaceError;
use tokio::time::{Instant, sleep};

use crate::base::requests::halt::Halter;

/// For how long a refused request is repeated.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(500);

/// Repeats a request for a while if an admission webhook refuses it. Webhooks read caches, which may still have what this run
/// just deleted.
pub(crate) async fn outlast_refusals<T, F, Fut>(halter: &Halter, request: F) -> Result<T, PlaceError>
where
    F: Fn() -> Fut,
    Fut: Future<Output = Result<T, PlaceError>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        match request().await {
            Err(error)
                if error.is_webhook_refusal() && Instant::now() < end && halter.halt_reason().is_none() =>
            {
                tracing::debug!(%error, "trying again");
                sleep(PAUSE).await;
            }
            answer => return answer,
        }
    }
}
