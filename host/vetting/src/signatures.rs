//! Signatures and trust for plugins and plans: keys, signed statements, and the operator's rules about them.
//!
//! Making a signature draws random bytes from the system, and so does checking that a P-256 key is a point of the curve.
//!
//! | module | is |
//! |---|---|
//! | [`key`] | public and private keys, as PEM |
//! | [`envelope`] | one signed line: a DSSE envelope, bare or in a Sigstore bundle |
//! | [`signature_file`] | the file `NAME.wasm.intoto.jsonl` |
//! | [`statement`] | what is signed: a claim about a plugin or a plan |
//! | [`card`] | what a plugin is and asks for, as its reviewers saw it |
//! | [`policy`], [`trust_file`] | the operator's signers, rules and revocations, and how they are read |
//! | [`judge`], [`untrusted`] | whether a plugin or plan meets them, and why not |
//!
//! Three things hold throughout:
//!
//! - The bytes that were verified are the bytes that are parsed. A payload is reached only through [`envelope::Verified`].
//! - Keys come from the trust file. What an envelope says about its own key is never used.
//! - Claims only add. Lines can be deleted unnoticed, so nothing that a line says can take something away.

pub mod card;
pub mod envelope;
pub mod judge;
pub mod key;
mod key_file;
mod plain_text;
pub mod policy;
pub mod signature_file;
pub mod statement;
pub mod trust_file;
pub mod untrusted;

#[cfg(test)]
mod tests;
