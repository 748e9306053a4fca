//! Hosts moved with the real Metal3 operators at work on both sides.
//!
//! What a move must not do to a host only its operators can show: register, inspect, provision, power off or wipe it. They run
//! all the time, as in production, with machines that do not exist; a witness writes down every state that any host is ever
//! seen in. The peer moves the same rack before it, for contrast. A binary of its own, because it starts a dozen servers and
//! managers, and because the operators can't be had everywhere: `cargo xtask test --without-metal3` leaves it out.

#[cfg(test)]
mod caution;
#[cfg(test)]
mod contrast;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod world;
