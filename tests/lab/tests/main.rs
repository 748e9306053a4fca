//! The lab's own tests: a wrong lab makes every other test meaningless.
//!
//! One binary, a file per topic.

#[cfg(test)]
mod backups;
#[cfg(test)]
mod controllers;
#[cfg(test)]
mod faults;
#[cfg(test)]
mod objects;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod witness;
