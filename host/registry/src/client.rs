//! Pushes a bundle, and pulls one.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Method, header};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use pivot_vetting::bundles::{Bundle, BundleError, Contents, Layer};
use pivot_vetting::digest::prefixed_sha256;

use crate::connection::Timeouts;
use crate::error::RegistryError;
use crate::reference::RegistryReference;
use crate::session::{ApiRequest, SMALL, Session};

/// The only kind of manifest that a bundle has.
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The largest manifest.
const MOST: u64 = 1 << 20;
const BLOB: &str = "application/octet-stream";

/// The result of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The bundle, by its digest.
    pub reference: String,
    /// The components, each by its own manifest's digest, for tools that pull a single one.
    pub components: Vec<(String, String)>,
    /// Number of blobs that were sent. The registry had the others.
    pub sent: usize,
}

/// A place in a registry.
pub struct Registry {
    reference: RegistryReference,
    plain: bool,
    timeouts: Timeouts,
}

impl Registry {
    /// `plain`: without TLS.
    pub fn new(reference: RegistryReference, plain: bool) -> Self {
        Self { reference, plain, timeouts: Timeouts::default() }
    }

    #[cfg(test)]
    pub(crate) fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// Pushes a bundle: blobs first, then the components' manifests, and the bundle's own manifest last. So a tag never leads
    /// to missing content.
    pub async fn push(&self, bundle: &Bundle) -> Result<Pushed, RegistryError> {
        let tag = self.reference.tag_to_write()?.to_owned();
        let mut session = Session::new(self.reference.clone(), self.plain, true, self.timeouts)?;
        let layout = bundle.layout();
        let mut sent = 0;
        for blob in &layout.blobs {
            sent += usize::from(push_blob(&mut session, blob.digest, blob.bytes).await?);
        }
        let mut components = Vec::new();
        for manifest in &layout.components {
            push_manifest(&mut session, manifest.digest, manifest.bytes).await?;
            components.push((manifest.name.to_owned(), manifest.digest.to_owned()));
        }
        push_manifest(&mut session, &tag, layout.bundle.bytes).await?;
        let reference = format!("{}@{}", self.reference, layout.bundle.digest);
        Ok(Pushed { reference, components, sent })
    }

    /// Pulls a bundle. No part of the bundle is used before all of it has arrived and matches its digests.
    pub async fn pull(&self) -> Result<Bundle, RegistryError> {
        let reference = &self.reference;
        let no = |why: BundleError| RegistryError::Bundle(reference.to_string(), why);
        let mut session = Session::new(reference.clone(), self.plain, false, self.timeouts)?;
        let address = session.address_below(&format!("manifests/{}", reference.digest_or_tag()));
        let request = ApiRequest {
            accept: MANIFEST,
            most: MOST,
            ..ApiRequest::new(Method::GET, address, "get the bundle")
        };
        let manifest = session.send_logged_in(request, &[200]).await?.body;
        if let Some(digest) = &reference.digest {
            check_digest(&session, digest, &manifest)?;
        }
        let contents = Contents::parse(&manifest).map_err(no)?;
        let mut blobs = BTreeMap::new();
        for layer in contents.layers() {
            if !blobs.contains_key(&layer.digest) {
                blobs.insert(layer.digest.clone(), pull_blob(&mut session, layer).await?);
            }
        }
        contents.into_bundle(blobs).map_err(no)
    }
}

async fn pull_blob(session: &mut Session, layer: &Layer) -> Result<Vec<u8>, RegistryError> {
    let address = session.address_below(&format!("blobs/{}", layer.digest));
    let request = ApiRequest {
        // A refusal may be longer than the file.
        most: layer.size.max(SMALL),
        may_redirect: true,
        ..ApiRequest::new(Method::GET, address, "get a file of the bundle")
    };
    let body = session.send_logged_in(request, &[200]).await?.body;
    check_digest(session, &layer.digest, &body)?;
    Ok(body.into())
}

fn check_digest(session: &Session, digest: &str, bytes: &[u8]) -> Result<(), RegistryError> {
    if prefixed_sha256(bytes) == digest {
        Ok(())
    } else {
        Err(session.bad_answer(format!("other bytes than {digest}")))
    }
}

/// Sends a blob that isn't there yet. Returns whether it did.
async fn push_blob(session: &mut Session, digest: &str, bytes: &[u8]) -> Result<bool, RegistryError> {
    let address = session.address_below(&format!("blobs/{digest}"));
    let there = session
        .send_logged_in(ApiRequest::new(Method::HEAD, address, "look for a blob"), &[200, 404])
        .await?;
    if there.status == 200 {
        return Ok(false);
    }
    let address = session.address_below("blobs/uploads/");
    let from = session.parse_uri(&address)?;
    let begun =
        session.send_logged_in(ApiRequest::new(Method::POST, address, "begin an upload"), &[202]).await?;
    let to = begun.header(header::LOCATION).ok_or_else(|| session.bad_answer("an upload to nowhere"))?;
    let to = session.resolve_location(&from, to)?;
    let join = if to.query().is_some() { '&' } else { '?' };
    let address = format!("{to}{join}digest={}", utf8_percent_encode(digest, NON_ALPHANUMERIC));
    let request = ApiRequest::new(Method::PUT, address, "take a blob")
        .with_content(BLOB, Bytes::copy_from_slice(bytes));
    session.send_logged_in(request, &[201]).await?;
    Ok(true)
}

async fn push_manifest(session: &mut Session, to: &str, bytes: &[u8]) -> Result<(), RegistryError> {
    let address = session.address_below(&format!("manifests/{to}"));
    let request = ApiRequest::new(Method::PUT, address, "take a manifest")
        .with_content(MANIFEST, Bytes::copy_from_slice(bytes));
    session.send_logged_in(request, &[201]).await.map(drop)
}
