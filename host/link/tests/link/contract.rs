//! The contract of places, over a link.

use std::sync::Arc;

use pivot_link::{Guard, LinkPlace, Role, serve};
use pivot_memory::MemoryPlace;
use pivot_places::Place;
use tokio::io::duplex;

async fn linked(server: &MemoryPlace) -> Arc<dyn Place> {
    let (near, far) = duplex(64 << 10);
    let server: Arc<dyn Place> = Arc::new(server.clone());
    let guard = Guard {
        namespaces: None,
        record_namespace: "pivot-host-records".into(),
        role: Role::Target,
        keep_answering: true,
    };
    tokio::spawn(async move { drop(serve(far, server, guard).await) });
    let (place, alive) = LinkPlace::connect(near).await.unwrap();
    tokio::spawn(alive);
    place
}

crate::checks::contract!(linked);
