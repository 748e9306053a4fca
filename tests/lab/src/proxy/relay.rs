//! A wire: carries connections byte by byte, whatever is said on them, takes the time of a distance, and breaks on request.
//!
//! [`FaultProxy`](super::FaultProxy) fails requests, which it has to be able to read. Between an agent and its controller there is
//! TLS of their own, so what can fail there is the wire. It counts TLS records, because nothing smaller means anything to either
//! end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::link::Connection;
use super::lock::lock;
use crate::{Server, kubeconfig};

/// How many pieces are on their way at most, in each direction of a connection.
const ON_ITS_WAY: usize = 1024;
const PIECE: usize = 64 << 10;
/// A record's type, version and length.
const HEAD: usize = 5;

/// How a wire breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Nothing arrives any more, on new connections neither, and nobody is told. What was sent arrives when it heals.
    Silence,
    /// Connections are reset, and so are new ones until it heals.
    Reset,
    /// Connections end, as if the other side had nothing more to say. New ones pass.
    Cut,
}

/// A wire to an address; closes all its connections on drop.
pub struct Relay {
    address: SocketAddr,
    wire: Arc<Wire>,
    // Aborted when dropped.
    _task: JoinSet<()>,
}

#[derive(Default)]
struct Wire {
    round_trip: AtomicU64,
    /// Bytes a second; none: no limit.
    bandwidth: AtomicU64,
    connections: AtomicU64,
    records: AtomicU64,
    armed: Mutex<Option<(u64, Break)>>,
    now: watch::Sender<Now>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Now {
    broken: Option<Break>,
    /// Counts how often it broke, so that a connection notices what is over already.
    breaks: u64,
    /// Counts how often all connections were ended.
    ends: u64,
}

impl Relay {
    /// A wire to `to`, whole and without length.
    pub async fn start(to: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let wire = Arc::new(Wire::default());
        let mut task = JoinSet::new();
        task.spawn(accept(listener, to, wire.clone()));
        Ok(Self { address, wire, _task: task })
    }

    /// A wire to a server, and a kubeconfig in the server's directory that leads through it.
    pub async fn to_server(server: &Server) -> Result<(Self, PathBuf)> {
        let address = server.url().trim_start_matches("https://").replace("localhost", "127.0.0.1");
        let relay = Self::start(address.parse().with_context(|| format!("no address: {address}"))?).await?;
        let direct = server.kubeconfig();
        let text = std::fs::read_to_string(direct).with_context(|| format!("read {}", direct.display()))?;
        let text = text.replace(server.url(), &format!("https://{}", relay.address()));
        let name = format!("relay-{}", relay.address().port());
        Ok((relay, kubeconfig::write(server.dir(), &name, text.as_bytes())?))
    }

    /// Where it begins.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A byte takes half of this in either direction; a connection takes all of it to be made.
    pub fn delay(&self, round_trip: Duration) {
        let micros = u64::try_from(round_trip.as_micros()).unwrap_or(u64::MAX);
        self.wire.round_trip.store(micros, Ordering::Relaxed);
    }

    /// So many bytes a second pass in each direction of each connection.
    pub fn bandwidth(&self, bytes: u64) {
        self.wire.bandwidth.store(bytes, Ordering::Relaxed);
    }

    /// Number of connections that were made to the relay.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.wire.connections.load(Ordering::SeqCst)
    }

    /// How many TLS records have arrived, in both directions.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.wire.records.load(Ordering::SeqCst)
    }

    /// Breaks it now.
    pub fn sever(&self, how: Break) {
        self.wire.sever(how);
    }

    /// Breaks it when so many more records have arrived.
    pub fn sever_after(&self, records: u64, how: Break) {
        *lock(&self.wire.armed) = Some((self.records() + records, how));
    }

    /// Waits until it has broken once more than `times`.
    pub async fn severed(&self, times: u64) {
        // The sender lives as long as this does.
        drop(self.wire.now.subscribe().wait_for(|now| now.breaks > times).await);
    }

    /// Makes it whole.
    pub fn heal(&self) {
        self.wire.now.send_modify(|now| now.broken = None);
    }
}

impl Wire {
    fn sever(&self, how: Break) {
        self.now.send_modify(|now| {
            now.breaks += 1;
            now.ends += u64::from(how != Break::Silence);
            now.broken = Some(how).filter(|how| *how != Break::Cut);
        });
    }

    /// A record has arrived. Whether the wire breaks behind it.
    fn arrived(&self) -> bool {
        let records = self.records.fetch_add(1, Ordering::SeqCst) + 1;
        let due = lock(&self.armed).take_if(|(at, _)| *at <= records);
        if let Some((_, how)) = due {
            self.sever(how);
        }
        due.is_some()
    }

    fn round_trip(&self) -> Duration {
        Duration::from_micros(self.round_trip.load(Ordering::Relaxed))
    }

    /// How long so many bytes take to be sent.
    fn sending(&self, bytes: usize) -> Duration {
        match self.bandwidth.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            bandwidth => Duration::from_secs_f64(bytes as f64 / bandwidth as f64),
        }
    }
}

async fn accept(listener: TcpListener, to: SocketAddr, wire: Arc<Wire>) {
    let mut connections = JoinSet::new();
    loop {
        // An error here is the caller's: it disconnected before it was served.
        let Ok((stream, _)) = listener.accept().await else { continue };
        while connections.try_join_next().is_some() {}
        wire.connections.fetch_add(1, Ordering::SeqCst);
        connections.spawn(between(Connection::new(stream), to, wire.clone()));
    }
}

/// Carries a connection until it ends, or is ended.
async fn between(near: Connection, to: SocketAddr, wire: Arc<Wire>) {
    let mut now = wire.now.subscribe();
    let (broken, ends) = {
        let now = now.borrow();
        (now.broken, now.ends)
    };
    if broken == Some(Break::Reset) {
        return near.reset();
    }
    let carried = async {
        sleep(wire.round_trip()).await;
        whole(&wire).await;
        match TcpStream::connect(to).await {
            Ok(far) => Some(Connection::new(far)),
            Err(_) => None,
        }
    };
    let ended = async { now.wait_for(|now| now.ends != ends).await.ok().and_then(|now| now.broken) };
    tokio::pin!(ended);
    let far = tokio::select! {
        far = carried => far,
        _ = &mut ended => None,
    };
    let Some(far) = far else { return near.reset() };
    let resetters = [near.resetter(), far.resetter()];
    let ((near_reads, near_writes), (far_reads, far_writes)) = (split(near), split(far));
    let both = async {
        tokio::join!(carry(near_reads, far_writes, &wire), carry(far_reads, near_writes, &wire));
    };
    // Pinned here, so that the connections are still open when it is decided how they end.
    tokio::pin!(both);
    tokio::select! {
        () = &mut both => {}
        broken = ended => if broken == Some(Break::Reset) {
            resetters.iter().for_each(super::link::Resetter::arm);
        },
    }
}

/// Waits while nothing passes.
async fn whole(wire: &Wire) {
    // The sender lives as long as this does.
    drop(wire.now.subscribe().wait_for(|now| now.broken != Some(Break::Silence)).await);
}

async fn carry(mut from: ReadHalf<Connection>, mut to: WriteHalf<Connection>, wire: &Wire) {
    let (send, mut on_its_way) = mpsc::channel::<(Instant, Vec<u8>)>(ON_ITS_WAY);
    let reads = async move {
        let (mut buffer, mut sent) = (vec![0; PIECE], Instant::now());
        while let Ok(length @ 1..) = from.read(&mut buffer).await {
            let piece = buffer.get(..length).unwrap_or_default().to_vec();
            sent = sent.max(Instant::now()) + wire.sending(length);
            if send.send((sent + wire.round_trip() / 2, piece)).await.is_err() {
                return;
            }
        }
    };
    let writes = async {
        let mut records = Records::default();
        while let Some((arrives, piece)) = on_its_way.recv().await {
            sleep_until(arrives).await;
            let mut rest = piece.as_slice();
            while !rest.is_empty() {
                whole(wire).await;
                let (part, after) = records.next(rest);
                rest = after;
                if to.write_all(part).await.is_err() {
                    return;
                }
                if records.complete() && wire.arrived() {
                    // Whoever ends connections gets a turn before the next byte.
                    tokio::task::yield_now().await;
                }
            }
        }
        // The other side may have gone already.
        let _ = to.shutdown().await;
    };
    tokio::join!(reads, writes);
}

/// Where records begin and end in a stream of bytes.
#[derive(Default)]
struct Records {
    head: Vec<u8>,
    /// How much of the record's content is still to come, once its head is there.
    left: Option<usize>,
}

impl Records {
    /// The bytes up to the end of the record, or all of them, and the rest.
    fn next<'a>(&mut self, bytes: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        if self.complete() {
            *self = Self::default();
        }
        let mut taken = 0;
        if self.left.is_none() {
            taken = bytes.len().min(HEAD - self.head.len());
            self.head.extend_from_slice(bytes.get(..taken).unwrap_or_default());
            if let [_, _, _, high, low] = self.head[..] {
                self.left = Some(usize::from(u16::from_be_bytes([high, low])));
            }
        }
        if let Some(left) = &mut self.left {
            let content = (bytes.len() - taken).min(*left);
            *left -= content;
            taken += content;
        }
        bytes.split_at_checked(taken).unwrap_or((bytes, &[]))
    }

    /// Whether a record has just ended.
    fn complete(&self) -> bool {
        self.left == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn record(size: u16, with: u8) -> Vec<u8> {
        let mut record = vec![23, 3, 3];
        record.extend(size.to_be_bytes());
        record.resize(HEAD + usize::from(size), with);
        record
    }

    /// Returns what it gets.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let (mut reads, mut writes) = stream.split();
                    drop(tokio::io::copy(&mut reads, &mut writes).await);
                });
            }
        });
        address
    }

    async fn relay() -> (Relay, TcpStream) {
        let relay = Relay::start(echo().await).await.unwrap();
        let stream = TcpStream::connect(relay.address()).await.unwrap();
        (relay, stream)
    }

    async fn comes_back(stream: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
        stream.write_all(bytes).await?;
        let mut back = vec![0; bytes.len()];
        stream.read_exact(&mut back).await?;
        assert!(back == bytes);
        Ok(())
    }

    #[test]
    fn records_are_found_however_the_bytes_are_cut() {
        let bytes = [record(3, 1), record(0, 2), record(700, 3)].concat();
        for size in 1..bytes.len() {
            let (mut records, mut ends, mut at) = (Records::default(), Vec::new(), 0);
            for piece in bytes.chunks(size) {
                let mut rest = piece;
                while !rest.is_empty() {
                    let (part, after) = records.next(rest);
                    at += part.len();
                    rest = after;
                    if records.complete() {
                        ends.push(at);
                    }
                }
            }
            assert_eq!(ends, [8, 13, 718], "in pieces of {size}");
        }
    }

    #[tokio::test]
    async fn bytes_take_the_time_of_the_distance_and_of_the_bandwidth() {
        let (relay, mut stream) = relay().await;
        comes_back(&mut stream, &record(10, 1)).await.unwrap();
        relay.delay(Duration::from_millis(100));
        let begun = Instant::now();
        comes_back(&mut stream, &record(10, 1)).await.unwrap();
        assert!((100..1_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        let begun = Instant::now();
        comes_back(&mut TcpStream::connect(relay.address()).await.unwrap(), b"x").await.unwrap();
        assert!((200..1_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        relay.delay(Duration::ZERO);
        relay.bandwidth(100_000);
        let begun = Instant::now();
        comes_back(&mut stream, &record(20_000, 1)).await.unwrap();
        assert!((200..2_000).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn it_is_reset_after_the_record_that_was_named_until_it_heals() {
        let (relay, mut stream) = relay().await;
        // Each passes twice.
        relay.sever_after(4, Break::Reset);
        comes_back(&mut stream, &record(10, 1)).await.unwrap();
        assert_eq!(relay.records(), 2);
        stream.write_all(&record(10, 2)).await.unwrap();
        relay.severed(0).await;
        assert_eq!(relay.records(), 4);
        let mut back = Vec::new();
        let error = stream.read_to_end(&mut back).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        let mut next = TcpStream::connect(relay.address()).await.unwrap();
        assert!(comes_back(&mut next, b"x").await.is_err());
        relay.heal();
        comes_back(&mut TcpStream::connect(relay.address()).await.unwrap(), b"x").await.unwrap();
    }

    #[tokio::test]
    async fn in_silence_nothing_arrives_and_nobody_is_told_until_it_heals() {
        let (relay, mut stream) = relay().await;
        comes_back(&mut stream, &record(10, 1)).await.unwrap();
        relay.sever(Break::Silence);
        let mut next = TcpStream::connect(relay.address()).await.unwrap();
        for stream in [&mut stream, &mut next] {
            let waited = tokio::time::timeout(Duration::from_millis(200), comes_back(stream, b"late")).await;
            assert!(waited.is_err());
        }
        relay.heal();
        for mut stream in [stream, next] {
            let mut late = [0; 4];
            stream.read_exact(&mut late).await.unwrap();
            assert_eq!(&late, b"late");
        }
    }

    #[tokio::test]
    async fn a_cut_connection_ends_and_the_next_one_passes() {
        let (relay, mut stream) = relay().await;
        relay.sever_after(1, Break::Cut);
        stream.write_all(&record(10, 1)).await.unwrap();
        relay.severed(0).await;
        assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        comes_back(&mut TcpStream::connect(relay.address()).await.unwrap(), b"x").await.unwrap();
    }
}
