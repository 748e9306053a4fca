//! The lab's own tests: a lab that is wrong makes every other test a lie.
//!
//! One binary, a file per topic.

mod objects;
mod servers;
