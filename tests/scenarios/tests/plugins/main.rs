//! Whole moves with components: hostile ones, which get nowhere, and the bundled ones, which make a move wait.
//!
//! The runtime's own tests show what a call can't do; here it is shown what that means for a move: one clear error, the exit
//! code that is documented, and both sides as they were.

#[cfg(test)]
mod hooks;
#[cfg(test)]
mod ironic;
#[cfg(test)]
mod load;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod stage;
#[cfg(test)]
mod together;
#[cfg(test)]
mod waits;
