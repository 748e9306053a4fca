//! The contents that a bundle's manifest lists. Names, sizes and digests are known, and checked, before anything is fetched.

use std::collections::BTreeMap;

use pivot_core::messages::safe_text::escape_line;

use crate::bundles::bundle::Bundle;
use crate::bundles::document::{self, Descriptor, DocumentError};
use crate::bundles::error::BundleError;
use crate::bundles::file_set;
use crate::bundles::kind::Kind;
use crate::bundles::oci;
use crate::digest::prefixed_sha256;
use crate::fields::Fields;
use crate::json::NAME;

/// Name of the manifest in errors.
const WHAT: &str = "the bundle's manifest";

/// The listed contents of a bundle's manifest, all of them within the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    layers: Vec<Layer>,
}

/// A file that a bundle's manifest lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The file's name.
    pub name: String,
    /// Media type of the file.
    pub media_type: &'static str,
    /// The digest of its bytes: `sha256:…`.
    pub digest: String,
    /// Size of the file in bytes.
    pub size: u64,
}

impl Contents {
    /// Reads a manifest.
    pub fn parse(manifest: &[u8]) -> Result<Self, BundleError> {
        let layers = parse_layers(manifest)?;
        let contents = Self { layers };
        let mut sizes = BTreeMap::new();
        let mut blobs = BTreeMap::new();
        for layer in &contents.layers {
            let Layer { name, digest, size, .. } = layer;
            if sizes.insert(name.as_str(), *size).is_some() {
                return Err(manifest_error(DocumentError::TitleTwice(name.clone())));
            }
            if blobs.insert(digest, *size).is_some_and(|other| other != *size) {
                return Err(manifest_error(DocumentError::TwoSizes(digest.clone())));
            }
        }
        file_set::check_files(&sizes)?;
        Ok(contents)
    }

    /// The files, in the manifest's order.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The bundle, from the blobs by digest (`sha256:…`): all that the layers name, and the empty config or not.
    pub fn into_bundle(self, blobs: BTreeMap<String, Vec<u8>>) -> Result<Bundle, BundleError> {
        let listed =
            |digest: &str| digest == oci::EMPTY_DIGEST || self.layers.iter().any(|l| l.digest == digest);
        for (digest, bytes) in &blobs {
            if !listed(digest) {
                return Err(manifest_error(DocumentError::Stray(escape_line(digest, NAME))));
            }
            if prefixed_sha256(bytes) != *digest {
                return Err(manifest_error(DocumentError::WrongBlob(digest.clone())));
            }
        }
        self.assemble_bundle(blobs)
    }

    /// The bundle, from blobs that are known to hash to their digests; there may be others.
    pub(crate) fn assemble_bundle(self, mut blobs: BTreeMap<String, Vec<u8>>) -> Result<Bundle, BundleError> {
        let mut names: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Layer { name, digest, size: listed, .. } in self.layers {
            let bytes = blobs
                .get(&digest)
                .ok_or_else(|| manifest_error(DocumentError::Missing(format!("{name} ({digest})"))))?;
            let size = bytes.len() as u64;
            if size != listed {
                return Err(manifest_error(DocumentError::WrongSize { what: name, size, listed }));
            }
            names.entry(digest).or_default().push(name);
        }
        let mut files = BTreeMap::new();
        let mut digests = BTreeMap::new();
        for (digest, names) in names {
            // Components are large: bytes are copied only where two files have the same.
            let Some((last, others)) = names.split_last() else { continue };
            let bytes = blobs.remove(&digest).unwrap_or_default();
            for name in others {
                files.insert(name.clone(), bytes.clone());
                digests.insert(name.clone(), digest.clone());
            }
            files.insert(last.clone(), bytes);
            digests.insert(last.clone(), digest);
        }
        Bundle::from_hashed_files(files, digests)
    }
}

fn manifest_error(why: DocumentError) -> BundleError {
    BundleError::in_document(WHAT)(why)
}

fn parse_layers(manifest: &[u8]) -> Result<Vec<Layer>, BundleError> {
    let mut layers = Vec::new();
    for mut fields in take_layers(manifest).map_err(manifest_error)? {
        let (descriptor, title) = take_layer(&mut fields).map_err(manifest_error)?;
        let kind = Kind::from_name(&title).map_err(|why| why.in_file(&title))?;
        let media_type = kind.media_type();
        document::check_media_type(fields.field_path("mediaType"), &descriptor.media_type, media_type)
            .map_err(manifest_error)?;
        fields.refuse_remaining().map_err(|why| manifest_error(why.into()))?;
        layers.push(Layer { name: title, media_type, digest: descriptor.digest, size: descriptor.size });
    }
    Ok(layers)
}

/// The layers of a manifest that is a bundle's.
fn take_layers(manifest: &[u8]) -> Result<Vec<Fields>, DocumentError> {
    let mut fields = document::parse(manifest)?;
    document::check_version(&mut fields)?;
    document::check_media_type(
        fields.field_path("mediaType"),
        &fields.take_text("mediaType")?,
        oci::MANIFEST,
    )?;
    let artifact = fields.take_text("artifactType")?;
    if artifact != oci::ARTIFACT {
        return Err(DocumentError::ArtifactType(escape_line(&artifact, NAME)));
    }
    check_empty_config(fields.take_object("config")?)?;
    let layers = fields.take_objects("layers")?;
    fields.take_annotation("")?;
    fields.refuse_remaining()?;
    Ok(layers)
}

/// The config, which is the empty one. It may have its two bytes inside: ORAS writes it that way.
fn check_empty_config(mut fields: Fields) -> Result<(), DocumentError> {
    let found = Descriptor::take_from(&mut fields)?;
    let inside = fields.take_text_if_present("data")?;
    fields.take_annotation("")?;
    fields.refuse_remaining()?;
    let empty = found.media_type == oci::EMPTY
        && found.digest == oci::EMPTY_DIGEST
        && found.size == oci::EMPTY_BYTES.len() as u64
        && inside.is_none_or(|data| data == "e30=");
    if empty { Ok(()) } else { Err(DocumentError::Config) }
}

/// A layer's descriptor and title.
fn take_layer(fields: &mut Fields) -> Result<(Descriptor, String), DocumentError> {
    let path = fields.field_path("");
    let path = path.trim_end_matches('.').to_owned();
    if fields.contains("urls") {
        return Err(DocumentError::Urls(path));
    }
    if fields.contains("data") {
        return Err(DocumentError::Data(path));
    }
    let descriptor = Descriptor::take_from(fields)?;
    let title = fields.take_annotation(oci::TITLE)?.ok_or(DocumentError::Untitled(path))?;
    Ok((descriptor, title))
}
