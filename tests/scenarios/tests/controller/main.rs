//! Moves that a controller makes, on real servers, with the permissions of its manifests and of `generate rbac`, and no others.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod alone;
#[cfg(test)]
mod barrier;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod children;
#[cfg(test)]
mod deaths;
#[cfg(test)]
mod definition;
#[cfg(test)]
mod enrolment;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod moves;
#[cfg(test)]
mod returns;
#[cfg(test)]
mod scaling;
#[cfg(test)]
mod soak;
#[cfg(test)]
mod stage;
