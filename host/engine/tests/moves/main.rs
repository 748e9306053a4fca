//! Whole moves between two servers in memory: every failure a real server can have, at every request.

mod crash;
mod plugins;
mod refusals;
mod stage;
mod whole;
