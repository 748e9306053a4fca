//! One accepted connection, which can be reset.
//!
//! Closing a socket means "I have nothing more to send"; clients see the end of a stream. A crashed peer or a firewall sends RST
//! instead, which clients report differently and often handle worse. So tests use that.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A TCP stream that ends with RST if requested.
pub(super) struct Connection {
    stream: TcpStream,
    reset: Resetter,
}

/// Makes a connection end with a reset.
#[derive(Clone, Default)]
pub(super) struct Resetter(Arc<AtomicBool>);

impl Resetter {
    pub(super) fn arm(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        // Fails only for sockets other than TCP.
        let _ = stream.set_nodelay(true);
        Self { stream, reset: Resetter::default() }
    }

    pub(super) fn resetter(&self) -> Resetter {
        self.reset.clone()
    }

    /// Resets it now.
    pub(super) fn reset(self) {
        self.reset.arm();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.reset.0.load(Ordering::Relaxed) {
            // Whatever goes wrong here, the connection is closed.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, data)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly shutdown first would prevent the reset.
        if self.reset.0.load(Ordering::Relaxed) {
            Poll::Ready(Ok(()))
        } else {
            Pin::new(&mut self.stream).poll_shutdown(context)
        }
    }
}
