//! What lies between two ends: each byte arrives later, in order, and none is lost.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Carries bytes between two connections, each after half of a round trip.
pub(crate) fn between(one: TcpStream, other: TcpStream, round_trip: Duration) {
    let ((one_reads, one_writes), (other_reads, other_writes)) = (one.into_split(), other.into_split());
    tokio::spawn(carry(one_reads, other_writes, round_trip / 2));
    tokio::spawn(carry(other_reads, one_writes, round_trip / 2));
}

async fn carry(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay: Duration) {
    let (send, mut on_its_way) = mpsc::unbounded_channel::<(Instant, Vec<u8>)>();
    tokio::spawn(async move {
        while let Some((arrives, bytes)) = on_its_way.recv().await {
            sleep_until(arrives).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
    });
    let mut buffer = vec![0; 64 << 10];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let bytes = buffer.get(..length).unwrap_or_default().to_vec();
        if send.send((Instant::now() + delay, bytes)).is_err() {
            return;
        }
    }
}
