//! A bundle: the files of a plugin directory, and their blobs and manifests in a layout.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::bundles::component::Interface;
use crate::bundles::document;
use crate::bundles::error::BundleError;
use crate::bundles::file_set;
use crate::bundles::kind::{FileError, Kind, TOTAL, WHOLE, component_name};
use crate::bundles::oci::{self, Annotation, Descriptor};
use crate::bundles::tar_writer::TarWriter;
use crate::digest::prefixed_sha256;

/// The files of a plugin directory, checked, with everything that a layout says about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    files: BTreeMap<String, Vec<u8>>,
    /// The digests of the files, by name.
    digests: BTreeMap<String, String>,
    manifest: Vec<u8>,
    digest: String,
    components: Vec<Component>,
}

/// A component as an image of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Component {
    name: String,
    config: Vec<u8>,
    config_digest: String,
    manifest: Vec<u8>,
    digest: String,
}

/// A bundle as a registry holds it. The order is that of pushing: blobs, manifests of components, the bundle's manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout<'b> {
    /// Everything except manifests, each blob once, in the order of the digests. Two files with the same bytes are one blob.
    pub blobs: Vec<Blob<'b>>,
    /// The components' own manifests, by name. Two components with the same bytes have the same manifest.
    pub components: Vec<ImageManifest<'b>>,
    /// The bundle's manifest, which is called `bundle`.
    pub bundle: ImageManifest<'b>,
}

/// Some bytes that a manifest refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob<'b> {
    /// Media type of the bytes.
    pub media_type: &'static str,
    /// `sha256:…`
    pub digest: &'b str,
    /// The bytes.
    pub bytes: &'b [u8],
}

/// An image manifest (`application/vnd.oci.image.manifest.v1+json`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageManifest<'b> {
    /// Name in the index: the component's name, or `bundle`.
    pub name: &'b str,
    /// `sha256:…`
    pub digest: &'b str,
    /// The manifest's bytes.
    pub bytes: &'b [u8],
}

impl Bundle {
    /// Checks files by name.
    pub fn from_files(files: BTreeMap<String, Vec<u8>>) -> Result<Self, BundleError> {
        // The sizes come first: hashing takes long.
        check_names_and_sizes(&files)?;
        let digests = files.iter().map(|(name, bytes)| (name.clone(), prefixed_sha256(bytes))).collect();
        Self::from_hashed_files(files, digests)
    }

    /// Checks files that have been hashed already.
    pub(crate) fn from_hashed_files(
        files: BTreeMap<String, Vec<u8>>,
        digests: BTreeMap<String, String>,
    ) -> Result<Self, BundleError> {
        check_names_and_sizes(&files)?;
        let mut layers = Vec::new();
        let mut components = Vec::new();
        for ((name, bytes), digest) in files.iter().zip(digests.values()) {
            let kind = Kind::from_name(name).map_err(|why| why.in_file(name))?;
            let annotations = Some(Annotation::Title(name));
            layers
                .push(Descriptor { annotations, ..oci::descriptor(kind.media_type(), digest, bytes.len()) });
            if kind == Kind::Component {
                components.push(Component::from_file(name, bytes, digest).map_err(|why| why.in_file(name))?);
            }
        }
        let manifest = oci::bundle_manifest(layers);
        let digest = prefixed_sha256(&manifest);
        let bundle = Self { files, digests, manifest, digest, components };
        // What a tar would have in all. Reading it is limited to as much.
        let layout = bundle.layout();
        let blobs = layout.blobs.iter().map(|blob| blob.bytes.len());
        let manifests = layout.manifests_by_digest().into_values().map(<[u8]>::len);
        if blobs.chain(manifests).sum::<usize>() as u64 > TOTAL {
            Err(BundleError::Total)
        } else {
            Ok(bundle)
        }
    }

    /// The files, by name.
    pub fn files(&self) -> &BTreeMap<String, Vec<u8>> {
        &self.files
    }

    /// Returns the files by name, without the derived data.
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }

    /// The digest of the bundle's manifest as this program writes it, and so of every name and byte: `sha256:…`.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the bundle's blobs and manifests.
    pub fn layout(&self) -> Layout<'_> {
        let empty = (oci::EMPTY_DIGEST, oci::EMPTY, oci::EMPTY_BYTES);
        let configs = self.components.iter().map(|component| {
            (component.config_digest.as_str(), oci::WASM_CONFIG, component.config.as_slice())
        });
        let files = self.files.iter().zip(self.digests.values()).map(|((name, bytes), digest)| {
            // Every name has a kind, or there would be no bundle.
            let media_type = Kind::from_name(name).map_or("application/octet-stream", Kind::media_type);
            (digest.as_str(), media_type, bytes.as_slice())
        });
        let mut blobs = BTreeMap::new();
        for (digest, media_type, bytes) in files.chain(configs).chain([empty]) {
            blobs.entry(digest).or_insert(Blob { media_type, digest, bytes });
        }
        Layout {
            blobs: blobs.into_values().collect(),
            components: self.components.iter().map(Component::as_manifest).collect(),
            bundle: ImageManifest { name: WHOLE, digest: &self.digest, bytes: &self.manifest },
        }
    }

    /// Writes the tar, which has the same bytes whenever the files have.
    pub fn write_tar(&self, to: impl Write) -> io::Result<()> {
        let layout = self.layout();
        let index = layout.index_json();
        let mut blobs: BTreeMap<&str, &[u8]> = layout.manifests_by_digest();
        blobs.extend(layout.blobs.iter().map(|blob| (blob.digest, blob.bytes)));
        let mut tape = TarWriter::new(to);
        tape.write_directory("blobs/")?;
        tape.write_directory("blobs/sha256/")?;
        for (digest, bytes) in blobs {
            tape.write_file(&format!("blobs/{}", digest.replace(':', "/")), bytes)?;
        }
        tape.write_file("index.json", &index)?;
        tape.write_file("oci-layout", oci::LAYOUT)?;
        tape.finish()
    }
}

impl Layout<'_> {
    /// The manifests, each once, by digest.
    fn manifests_by_digest(&self) -> BTreeMap<&str, &[u8]> {
        let all = self.components.iter().chain([&self.bundle]);
        all.map(|manifest| (manifest.digest, manifest.bytes)).collect()
    }

    /// The index: the bundle first, so that tools that take the first take the bundle.
    fn index_json(&self) -> Vec<u8> {
        let whole = [(&self.bundle, Some(oci::ARTIFACT))];
        let all = whole.into_iter().chain(self.components.iter().map(|component| (component, None)));
        let entries = all.map(|(manifest, artifact_type)| Descriptor {
            artifact_type,
            annotations: Some(Annotation::Ref(manifest.name)),
            ..oci::descriptor(oci::MANIFEST, manifest.digest, manifest.bytes.len())
        });
        oci::layout_index(entries.collect())
    }
}

impl Component {
    fn from_file(name: &str, bytes: &[u8], digest: &str) -> Result<Self, FileError> {
        let config = oci::wasm_config(digest, &Interface::parse(bytes)?);
        if config.len() > document::SIZE {
            return Err(FileError::Names);
        }
        let config_digest = prefixed_sha256(&config);
        let manifest = oci::component_manifest(
            oci::descriptor(oci::WASM_CONFIG, &config_digest, config.len()),
            oci::descriptor(Kind::Component.media_type(), digest, bytes.len()),
        );
        let digest = prefixed_sha256(&manifest);
        Ok(Self { name: component_name(name).to_owned(), config, config_digest, manifest, digest })
    }

    fn as_manifest(&self) -> ImageManifest<'_> {
        ImageManifest { name: &self.name, digest: &self.digest, bytes: &self.manifest }
    }
}

fn check_names_and_sizes(files: &BTreeMap<String, Vec<u8>>) -> Result<(), BundleError> {
    file_set::check_files(&files.iter().map(|(name, bytes)| (name.as_str(), bytes.len() as u64)).collect())
}
