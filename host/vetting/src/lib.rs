//! Vets plugins and plans: who signed them, what the operator grants them, and how they travel.
//!
//! Bytes in, values out: nothing here opens a file, asks for the time or talks to anyone.
//!
//! | module | is |
//! |---|---|
//! | [`signatures`] | keys, signed statements, and the rules of the trust file |
//! | [`permissions`] | admissions, grants, and what a plugin asks for |
//! | [`bundles`] | a plugin directory as one deterministic file |
//! | [`json`], [`fields`] | JSON without duplicate keys; its objects, field by field |
//! | [`digest`] | SHA-256 as text |

pub mod bundles;
pub mod digest;
pub mod fields;
pub mod json;
pub mod permissions;
pub mod signatures;

#[cfg(test)]
#[path = "../../../tests/worlds/src/mutants.rs"]
#[expect(unreachable_pub, reason = "it is public where it is at home")]
mod mutants;
