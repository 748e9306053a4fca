//! The JSON of a layout as it is written: compact, with the keys in the order of these structs, so that the same files have the
//! same digests with every version of this program.

use serde::Serialize;

use crate::bundles::component::Interface;

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// Artifact type of a bundle's manifest.
pub(crate) const ARTIFACT: &str = "application/vnd.pivot-host.plugins.v1";
/// The configuration of something that has none, and its digest.
pub(crate) const EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(crate) const EMPTY_BYTES: &[u8] = b"{}";
pub(crate) const EMPTY_DIGEST: &str =
    "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
/// The configuration of a component that is an image.
pub(crate) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
/// The file that says that it is a layout.
pub(crate) const LAYOUT: &[u8] = br#"{"imageLayoutVersion":"1.0.0"}"#;
/// The annotation with a file's name.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor<'a> {
    pub(crate) media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<&'a str>,
    pub(crate) digest: &'a str,
    pub(crate) size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) annotations: Option<Annotation<'a>>,
}

/// The only annotation of a descriptor: a file's name, or the name of a manifest in its index.
#[derive(Serialize)]
pub(crate) enum Annotation<'a> {
    #[serde(rename = "org.opencontainers.image.title")]
    Title(&'a str),
    #[serde(rename = "org.opencontainers.image.ref.name")]
    Ref(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest<'a> {
    schema_version: u8,
    media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact_type: Option<&'a str>,
    config: Descriptor<'a>,
    layers: Vec<Descriptor<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Index<'a> {
    schema_version: u8,
    media_type: &'a str,
    manifests: Vec<Descriptor<'a>>,
}

/// The configuration of a component, as the CNCF's layout for WebAssembly has it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WasmConfig<'a> {
    /// A required field. The time is constant, so that a bundle doesn't depend on the clock.
    created: &'a str,
    architecture: &'a str,
    os: &'a str,
    layer_digests: [&'a str; 1],
    component: WasmComponent<'a>,
}

#[derive(Serialize)]
struct WasmComponent<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

/// A blob as a descriptor without annotations.
pub(crate) fn descriptor<'a>(media_type: &'a str, digest: &'a str, size: usize) -> Descriptor<'a> {
    Descriptor { media_type, artifact_type: None, digest, size, annotations: None }
}

/// The manifest of a bundle.
pub(crate) fn bundle_manifest(layers: Vec<Descriptor<'_>>) -> Vec<u8> {
    let config = descriptor(EMPTY, EMPTY_DIGEST, EMPTY_BYTES.len());
    to_json(&Manifest {
        schema_version: 2,
        media_type: MANIFEST,
        artifact_type: Some(ARTIFACT),
        config,
        layers,
    })
}

/// The manifest of a component.
pub(crate) fn component_manifest(config: Descriptor<'_>, layer: Descriptor<'_>) -> Vec<u8> {
    let layers = vec![layer];
    to_json(&Manifest { schema_version: 2, media_type: MANIFEST, artifact_type: None, config, layers })
}

/// The configuration of a component.
pub(crate) fn wasm_config(digest: &str, interface: &Interface) -> Vec<u8> {
    to_json(&WasmConfig {
        created: "1970-01-01T00:00:00Z",
        architecture: "wasm",
        os: "wasip2",
        layer_digests: [digest],
        component: WasmComponent { exports: &interface.exports, imports: &interface.imports },
    })
}

/// The index of a layout.
pub(crate) fn layout_index(manifests: Vec<Descriptor<'_>>) -> Vec<u8> {
    to_json(&Index { schema_version: 2, media_type: INDEX, manifests })
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    // Structs of strings and numbers are always JSON.
    serde_json::to_vec(value).unwrap_or_default()
}
