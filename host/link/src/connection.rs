//! Settings that both ends of a link share for its connection.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

/// Most bytes in flight: at 200 ms, 4 MiB a stream are 20 MB/s.
pub(crate) const STREAM_WINDOW: u32 = 4 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 32 << 20;
/// A connection that is silent for this long is tested, and given up if there is no answer for the other.
pub(crate) const TEST_AFTER: Duration = Duration::from_secs(5);
pub(crate) const GIVE_UP: Duration = Duration::from_secs(10);

/// The transport of a link.
pub trait Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<C: AsyncRead + AsyncWrite + Unpin + Send + 'static> Connection for C {}
