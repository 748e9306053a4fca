//! Shared code for the JSON documents of a layout: their size, their text, and their descriptors.

pub(crate) mod error;

use pivot_core::messages::safe_text::escape_line;

use crate::digest::is_sha256;
use crate::fields::Fields;
use crate::json::{self, NAME};

pub use self::error::{DocumentError, SIZE};

/// Parses a document, which is an object.
pub(crate) fn parse(bytes: &[u8]) -> Result<Fields, DocumentError> {
    if bytes.len() > SIZE {
        return Err(DocumentError::Size(bytes.len()));
    }
    let text = str::from_utf8(bytes).map_err(|_| DocumentError::NotText)?;
    Ok(Fields::from_value(json::parse(text)?)?)
}

/// Takes the version that manifests and indexes have.
pub(crate) fn check_version(fields: &mut Fields) -> Result<(), DocumentError> {
    if fields.take_number("schemaVersion")? == 2 {
        Ok(())
    } else {
        Err(DocumentError::Version("schemaVersion", "2"))
    }
}

/// Compares a media type with the expected one.
pub(crate) fn check_media_type(path: String, found: &str, wanted: &'static str) -> Result<(), DocumentError> {
    if found == wanted {
        Ok(())
    } else {
        Err(DocumentError::MediaType(path, escape_line(found, NAME), wanted))
    }
}

/// A reference to a blob.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) media_type: String,
    /// `sha256:` and 64 digits.
    pub(crate) digest: String,
    pub(crate) size: u64,
}

impl Descriptor {
    /// Takes the three fields that every descriptor has and leaves the others.
    pub(crate) fn take_from(fields: &mut Fields) -> Result<Self, DocumentError> {
        let digest = fields.take_text("digest")?;
        match digest.strip_prefix("sha256:") {
            Some(hex) if is_sha256(hex) => {}
            Some(_) => return Err(DocumentError::Digest(fields.field_path("digest"))),
            // `SHA256:` too: an algorithm has one spelling.
            None if digest.contains(':') => {
                return Err(DocumentError::Algorithm(fields.field_path("digest")));
            }
            None => return Err(DocumentError::Digest(fields.field_path("digest"))),
        }
        Ok(Self { media_type: fields.take_text("mediaType")?, digest, size: fields.take_number("size")? })
    }
}
