//! A move with Cluster API's real managers running on both sides all the time: of the lab's release, and of the newest or the
//! last that reports no pause.
//!
//! A move has to survive their controllers: they put finalizers back, adopt Secrets, tear down what is deleted while it is not
//! paused, and in the target they have to recognise every object as theirs. It is a separate binary, because it starts twelve
//! servers and managers and should not share the machine with other tests. Tests start in the order of their modules' names, so the
//! longest is in the first one. Each has its own servers: a shared pair would save a minute of four, and couple what they leave behind.

#[cfg(test)]
mod child;
#[cfg(test)]
mod class;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod infra;
#[cfg(test)]
mod midway;
#[cfg(test)]
mod restore;
#[cfg(test)]
#[path = "../../../../host/cli/tests/typed/mod.rs"]
mod typed;
#[cfg(test)]
mod upgrade;
#[cfg(test)]
mod went_back;
#[cfg(test)]
mod witness;
#[cfg(test)]
mod world;
