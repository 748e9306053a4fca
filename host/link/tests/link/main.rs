//! Links: the contract of places, the time that a distance takes, and certificates.

#[cfg(test)]
mod alone;
#[cfg(test)]
#[path = "../../../places/tests/contract/behaviour.rs"]
mod behaviour;
#[cfg(test)]
mod called;
#[cfg(test)]
#[path = "../../../places/tests/contract/checks.rs"]
mod checks;
#[cfg(test)]
mod clock;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod distance;
#[cfg(test)]
mod enrolled;
#[cfg(test)]
mod return_offers;
#[cfg(test)]
mod stranger;
#[cfg(test)]
mod tls_files;
#[cfg(test)]
mod vanished;
