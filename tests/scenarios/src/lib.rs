//! Whole moves: the real program between real API servers, judged from outside.
//!
//! Anything that memory can prove is in the engine's own tests; these need real servers: their garbage collector, their schemas,
//! their permissions, real processes that are killed, and a network that fails.
//!
//! | module | gives |
//! |---|---|
//! | [`host`] | runs of the program |
//! | [`folder`] | runs of programs in a folder that is everybody's home |
//! | [`age`] | runs of the tool whose format encrypted directories have |
//! | [`mod@clusterctl`] | runs of the peer |
//! | [`ironic`] | an endpoint that answers like Ironic |
//! | [`pivots`], [`link`] | what a controller is asked for, and the link of an agent |
//! | [`point`] | a write at which a run is killed |
//! | [`sampling`] | which of many cases a run tests |
//! | [`secrets`] | the watcher for contents of Secrets |
//! | [`shape`] | clusters to move |
//! | [`state`] | what a move must keep, and what it must not leave behind |

pub mod age;
pub mod clusterctl;
pub mod folder;
pub mod host;
pub mod ironic;
pub mod link;
pub mod pivots;
pub mod point;
pub mod sampling;
pub mod secrets;
pub mod shape;
pub mod state;
