//! A plugin directory as one deterministic file: an OCI image layout in a tar. The same layout can be pushed to a registry.
//!
//! | module | is |
//! |---|---|
//! | [`kind`], `file_set` | which files a bundle may have, and how large they may be |
//! | [`bundle`] | the files, the digest that names them all, and what they are as blobs and manifests |
//! | [`contents`] | what a bundle's manifest lists, before any of it has been fetched |
//! | [`archive`], [`tar_writer`] | the tar, read and written |
//! | [`component`] | what a component imports and exports, for its own manifest |
//! | [`index`], [`document`] | the JSON that a layout is described in, as it is read |
//! | [`oci`] | the same JSON, as it is written |
//! | [`error`] | why a bundle is refused |
//!
//! Four things hold throughout:
//!
//! - One set of files is one sequence of bytes. No clock, no owner and no order of insertion gets into it.
//! - What a bundle is read from is hostile. Nothing is allocated for a size that is only claimed, and nothing is unpacked: a path
//!   in the tar is compared with the few that may be there, never used as one.
//! - Every blob is hashed before anything in it is believed, and the bytes that were hashed are the bytes that are used.
//! - A whole bundle or none. What reads a bundle returns all of its files, each within its limit.

pub mod archive;
pub mod bundle;
mod component;
pub mod contents;
pub mod document;
pub mod error;
mod file_set;
mod index;
pub mod kind;
mod oci;
mod tar_writer;

pub use bundle::{Blob, Bundle, ImageManifest, Layout};
pub use contents::{Contents, Layer};
pub use error::BundleError;

#[cfg(test)]
mod tests;
