//! Whole moves with components: hostile ones, which fail, and the bundled ones, which make a move wait.
//!
//! The runtime's own tests show what a call can't do; these show what that means for a move: one clear error, the documented exit
//! code, and both sides unchanged.

#[cfg(test)]
mod hooks;
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
