//! A cluster of each provider, moved to the other side and back between real servers with the providers' own CRDs.
//!
//! Nothing but what every move changes may be different, and what a move leaves behind is exactly what docs/providers.md lists:
//! clusterctl, which selects by the same rules, leaves the same.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod controllers;
#[cfg(test)]
mod journey;
#[cfg(test)]
mod namespaces;
#[cfg(test)]
mod plugins;
#[cfg(test)]
mod templates;
