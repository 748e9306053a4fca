//! The contract of a place that is an API server, or stands for one: in memory here, over a link in `host/link`.
//! `tests/scenarios` has the checks of [`behaviour`] for a real one.

#[cfg(test)]
mod behaviour;
#[cfg(test)]
mod checks;

#[cfg(test)]
mod memory {
    use std::sync::Arc;

    use pivot_memory::MemoryPlace;
    use pivot_places::Place;

    async fn itself(server: &MemoryPlace) -> Arc<dyn Place> {
        Arc::new(server.clone())
    }

    crate::checks::contract!(itself);
}
