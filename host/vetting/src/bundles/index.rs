//! Finds the bundle in the blobs of a layout: which of the listed manifests belongs to a bundle, and whether every blob belongs
//! to a listed manifest.
//!
//! Tools rewrite an index: they drop the components' manifests, rename what is listed, leave out artifact types. So the manifests
//! themselves decide, and a field of the index that isn't known here is ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use crate::bundles::archive::{self, ArchiveLimits, LayoutFiles};
use crate::bundles::bundle::Bundle;
use crate::bundles::contents::Contents;
use crate::bundles::document::{self, Descriptor, DocumentError};
use crate::bundles::error::BundleError;
use crate::bundles::oci;

type Blobs = BTreeMap<String, Vec<u8>>;

impl Bundle {
    /// Reads a tar that [`Bundle::write_tar`] wrote, or that another tool made from such a tar.
    pub fn read_tar(from: impl Read) -> Result<Self, BundleError> {
        find_bundle(archive::read_layout(from, &ArchiveLimits::default())?)
    }
}

/// The bundle in a layout.
fn find_bundle(files: LayoutFiles) -> Result<Bundle, BundleError> {
    check_layout_version(&files.layout).map_err(BundleError::in_document("oci-layout"))?;
    let listed =
        list_manifests(&files.index, &files.blobs).map_err(BundleError::in_document("index.json"))?;
    let mut known = BTreeSet::from_iter(listed.keys().cloned());
    let mut ours = Vec::new();
    for (digest, bytes) in &listed {
        let other = ManifestOutline::parse(bytes).map_err(BundleError::in_document(digest))?;
        known.extend(other.refers_to);
        if other.artifact_type.as_deref() == Some(oci::ARTIFACT) {
            ours.push(*bytes);
        }
    }
    let refused = BundleError::in_document("index.json");
    let contents = match ours.as_slice() {
        [] => return Err(refused(DocumentError::NoBundle)),
        [ours] => Contents::parse(ours)?,
        more => return Err(refused(DocumentError::Bundles(more.len()))),
    };
    if let Some(stray) = files.blobs.keys().find(|digest| !known.contains(*digest)) {
        return Err(refused(DocumentError::Stray(stray.clone())));
    }
    if !files.blobs.contains_key(oci::EMPTY_DIGEST) {
        return Err(refused(DocumentError::Missing(oci::EMPTY_DIGEST.to_owned())));
    }
    contents.assemble_bundle(files.blobs)
}

/// Reads the file that says that it is a layout.
fn check_layout_version(bytes: &[u8]) -> Result<(), DocumentError> {
    let found = document::parse(bytes)?.take_text("imageLayoutVersion")?;
    if found == "1.0.0" { Ok(()) } else { Err(DocumentError::Version("imageLayoutVersion", "1.0.0")) }
}

/// The manifests that an index lists, by digest: a tool may list one under several names.
fn list_manifests<'b>(index: &[u8], blobs: &'b Blobs) -> Result<BTreeMap<String, &'b [u8]>, DocumentError> {
    let mut fields = document::parse(index)?;
    document::check_version(&mut fields)?;
    // Older tools leave it out.
    if let Some(found) = fields.take_text_if_present("mediaType")? {
        document::check_media_type(fields.field_path("mediaType"), &found, oci::INDEX)?;
    }
    let mut listed = BTreeMap::new();
    for mut entry in fields.take_objects("manifests")? {
        let Descriptor { media_type, digest, size } = Descriptor::take_from(&mut entry)?;
        if matches!(
            media_type.as_str(),
            oci::INDEX | "application/vnd.docker.distribution.manifest.list.v2+json"
        ) {
            return Err(DocumentError::NestedIndex(digest));
        }
        document::check_media_type(entry.field_path("mediaType"), &media_type, oci::MANIFEST)?;
        let bytes = blobs.get(&digest).ok_or_else(|| DocumentError::Missing(digest.clone()))?;
        if bytes.len() as u64 != size {
            return Err(DocumentError::WrongSize { what: digest, size: bytes.len() as u64, listed: size });
        }
        listed.insert(digest, bytes.as_slice());
    }
    Ok(listed)
}

/// As much of a manifest as says whose it is and which blobs belong to it.
struct ManifestOutline {
    artifact_type: Option<String>,
    refers_to: Vec<String>,
}

impl ManifestOutline {
    fn parse(bytes: &[u8]) -> Result<Self, DocumentError> {
        let mut fields = document::parse(bytes)?;
        let artifact_type = fields.take_text_if_present("artifactType")?;
        let mut refers_to = vec![Descriptor::take_from(&mut fields.take_object("config")?)?.digest];
        for mut layer in fields.take_objects("layers")? {
            refers_to.push(Descriptor::take_from(&mut layer)?.digest);
        }
        Ok(Self { artifact_type, refers_to })
    }
}
