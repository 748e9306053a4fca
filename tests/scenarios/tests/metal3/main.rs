//! Hosts moved with the real Metal3 operators running on both sides.
//!
//! Only the operators can show what a move must not do to a host: register, inspect, provision, power off or wipe it. They run
//! all the time, as in production, with machines that do not exist; an observer records every state in which any host is ever
//! seen. The guide has two of the moves. In the nightly run, the peer moves the same rack for comparison. It is a separate
//! binary, because it starts a dozen servers and managers, and because the operators are not available everywhere: where they are not,
//! `cargo xtask test` reports it as not run.

#[cfg(test)]
mod caution;
#[cfg(test)]
mod companions;
#[cfg(test)]
mod contrast;
#[cfg(test)]
mod guide;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod hosts;
#[cfg(test)]
#[path = "../guides/page.rs"]
mod page;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod recorded;
#[cfg(test)]
mod site;
#[cfg(test)]
mod stations;
#[cfg(test)]
#[path = "../../../../host/cli/tests/typed/mod.rs"]
mod typed;
#[cfg(test)]
mod world;
