//! Connections whose other end is not identified yet.
//!
//! There is room for some. A connection that comes when there is none takes the place of the oldest one from the network that has most
//! of them. So whoever opens many displaces their own, and silence keeps nobody else out.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Room for connections of unknown ends.
#[derive(Debug)]
pub struct Newcomers {
    most: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    /// The oldest first.
    places: VecDeque<Place>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    network: IpAddr,
    /// Dropped to displace it.
    _stays: oneshot::Sender<()>,
}

/// The place of one connection, until it is dropped.
#[derive(Debug)]
pub struct Newcomer {
    number: u64,
    room: Arc<Newcomers>,
    stays: oneshot::Receiver<()>,
}

impl Newcomers {
    /// Makes room for so many.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most: most.max(1), waiting: Mutex::default() })
    }

    /// Gives a place to a connection from this address.
    pub fn admit(self: &Arc<Self>, from: IpAddr) -> Newcomer {
        let (sender, stays) = oneshot::channel();
        let mut waiting = self.lock_waiting();
        let (number, network) = (waiting.next, network_of(from));
        waiting.next += 1;
        waiting.places.push_back(Place { number, network, _stays: sender });
        if waiting.places.len() > self.most {
            waiting.displace_one();
        }
        drop(waiting);
        Newcomer { number, room: self.clone(), stays }
    }

    fn lock_waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn displace_one(&mut self) {
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        self.places.iter().for_each(|place| *counts.entry(place.network).or_default() += 1);
        let most = counts.values().max().copied();
        let oldest = self.places.iter().position(|place| counts.get(&place.network).copied() == most);
        if let Some(oldest) = oldest {
            drop(self.places.remove(oldest));
        }
    }
}

impl Newcomer {
    /// Waits until another connection has the place.
    pub async fn wait_until_displaced(&mut self) {
        // Nothing is ever sent.
        let _ = (&mut self.stays).await;
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.room.lock_waiting().places.retain(|place| place.number != self.number);
    }
}

/// The network that an address is of: who has one IPv6 address has 2^64.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn admitted(room: &Arc<Newcomers>, from: &str) -> Newcomer {
        room.admit(from.parse().unwrap())
    }

    fn is_displaced(newcomer: &mut Newcomer) -> bool {
        newcomer.wait_until_displaced().now_or_never().is_some()
    }

    #[test]
    fn who_opens_many_displaces_their_own() {
        let room = Newcomers::new(4);
        let mut other = admitted(&room, "192.0.2.1");
        let mut flood: Vec<Newcomer> = (0..100).map(|_| admitted(&room, "192.0.2.66")).collect();
        assert!(!is_displaced(&mut other));
        let stay = flood.iter_mut().map(is_displaced).filter(|displaced| !displaced).count();
        assert_eq!(stay, 3);
        assert!(!is_displaced(flood.last_mut().unwrap()), "the newest has a place");
        // One network of IPv6, under many addresses.
        let mut flood: Vec<Newcomer> = (0..100).map(|n| admitted(&room, &format!("2001:db8::{n}"))).collect();
        assert!(!is_displaced(&mut other) && !is_displaced(flood.last_mut().unwrap()));
    }

    #[test]
    fn the_oldest_goes_and_places_come_back() {
        let room = Newcomers::new(2);
        let (mut first, mut second) = (admitted(&room, "192.0.2.1"), admitted(&room, "192.0.2.2"));
        let mut third = admitted(&room, "192.0.2.3");
        assert!(is_displaced(&mut first) && !is_displaced(&mut second) && !is_displaced(&mut third));
        drop(second);
        let mut fourth = admitted(&room, "192.0.2.4");
        assert!(!is_displaced(&mut third) && !is_displaced(&mut fourth));
    }
}
