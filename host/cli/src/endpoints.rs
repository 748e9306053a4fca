//! The endpoints that a controller or an agent opens for metrics and probes.

use std::net::SocketAddr;
use std::sync::Arc;

use pivot_controller::{Pages, Server};
use pivot_engine::Exit;

use crate::output::Text;

/// Serves metrics and probes until that fails, and returns the reason. Announces the address. Without an address it never ends.
pub(crate) async fn serve_pages(
    address: Option<SocketAddr>,
    pages: Arc<dyn Pages>,
    announce: impl Fn(SocketAddr),
) -> (Exit, Text) {
    let Some(address) = address else { return std::future::pending().await };
    let server = match Server::bind(address, pages).await {
        Ok(server) => server,
        Err(error) => return (Exit::Refused, format!("can't listen at {address}: {error}").into()),
    };
    if let Ok(address) = server.local_address() {
        announce(address);
    }
    match server.run().await {}
}
