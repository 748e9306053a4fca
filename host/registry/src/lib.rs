//! Bundles of plugins in an OCI registry.
//!
//! A registry only carries: what it hands out is held against digests here and, by whoever imports it, against the trust file. So
//! a registry that lies can refuse service, and nothing else. What it can't do, either:
//!
//! - make this program wait for ever or fill its memory: each answer has a limit in bytes, known before it is asked for, and in time;
//! - learn credentials of another host, or a password over a line that others can read;
//! - send this program somewhere else, but for a blob, over TLS, without credentials, at most three times.
//!
//! | module | is |
//! |---|---|
//! | [`RegistryReference`] | a place in a registry, as people type it |
//! | `client` | push and pull |
//! | `session` | requests, with a token once the registry wants one; redirects |
//! | `login` | credentials, challenges, tokens |
//! | `connection` | one request over one connection |
//!
//! `oci-client` was rejected: it brings a second HTTP client and thirty crates, reads manifests of any size, and follows redirects
//! by that client's rules, from TLS to none, too.

mod client;
mod connection;
mod error;
mod login;
mod reference;
mod session;

pub use client::{Pushed, Registry};
pub use error::RegistryError;
pub use reference::RegistryReference;

#[cfg(test)]
mod tests;
