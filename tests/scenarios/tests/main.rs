//! Whole moves of the real program between real API servers.
//!
//! One binary, a file per topic. The program is built beforehand: `cargo build -p pivot-host`.

#[cfg(test)]
mod approved;
#[cfg(test)]
mod backup;
#[cfg(test)]
#[path = "../../../host/places/tests/contract/behaviour.rs"]
mod behaviour;
#[cfg(test)]
mod budget;
#[cfg(test)]
mod clusters;
#[cfg(test)]
mod connections;
#[cfg(test)]
mod contract;
#[cfg(test)]
mod describe;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod directories;
#[cfg(test)]
mod doctor;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod fence;
#[cfg(test)]
mod gitops;
#[cfg(test)]
mod guard;
#[cfg(test)]
mod guides;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod left_behind;
#[cfg(test)]
mod many;
#[cfg(test)]
mod mapped;
mod parts;
#[cfg(test)]
mod protected;
#[cfg(test)]
mod refusals;
#[cfg(test)]
mod restored;
#[cfg(test)]
mod rights;
#[cfg(test)]
mod roles;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod there_and_back;
#[cfg(test)]
#[path = "../../../host/cli/tests/typed/mod.rs"]
mod typed;
#[cfg(test)]
mod waits;
#[cfg(test)]
mod webhooks;
#[cfg(test)]
mod workload;
