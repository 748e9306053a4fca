//! Ports for servers that need to know theirs before they can bind it.
//!
//! A port that the kernel assigns on request may become an outgoing connection's a moment later, and the server then exits with
//! "address already in use". So ports are taken from below that range, and each process starts searching at another place.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

/// Where to search: above well-known ports, below those that Linux uses for outgoing connections (from 32768).
const FIRST: u32 = 15_000;
const COUNT: u32 = 17_000;
/// How far apart two processes that are started one after the other begin; coprime to the count.
const APART: u32 = 199;

/// Two ports that are currently free.
pub(crate) fn free_ports() -> Result<(u16, u16)> {
    Ok((free_port()?, free_port()?))
}

/// A port that is currently free.
pub(crate) fn free_port() -> Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let begin = std::process::id().wrapping_mul(APART) % COUNT;
    for _ in 0..COUNT {
        let number = FIRST + (begin + TAKEN.fetch_add(1, Ordering::Relaxed) % COUNT) % COUNT;
        let port = u16::try_from(number)?;
        // Some servers listen on loopback, webhook servers on all addresses.
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {FIRST} to {} is free", FIRST + COUNT - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ports_are_free_different_and_not_the_kernels_to_give() {
        // A process that another test is just starting has a copy of the socket until its program begins.
        let hold = |_| TcpListener::bind(("127.0.0.1", free_port().unwrap())).ok();
        let held = (0..10).find_map(hold).unwrap();
        let ports: BTreeSet<u16> = (0..50).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 50);
        assert!(!ports.contains(&held.local_addr().unwrap().port()));
        assert!(ports.iter().all(|port| (FIRST..FIRST + COUNT).contains(&u32::from(*port))));
    }
}
