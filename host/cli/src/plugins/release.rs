//! A vendor's release: components that the vendor signed. It has neither grants nor a lock, because each site has its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pivot_core::messages::shell::quote;
use pivot_engine::Exit;
use pivot_runtime::Runtime;
use pivot_vetting::bundles::kind::{KEY, WASM};
use pivot_vetting::digest::sha256;
use pivot_vetting::permissions::{GRANTS_FILE, LOCK_FILE};
use pivot_vetting::signatures::envelope::IN_TOTO;
use pivot_vetting::signatures::key::PublicKey;
use pivot_vetting::signatures::signature_file::{ENDING, SignatureFile};
use pivot_vetting::signatures::statement::{Claim, Statement};
use serde_json::{Value, json};

use crate::exit::Result;
use crate::output::Text;

/// Returns true if a directory has no file of an operator.
pub(super) fn is_release(directory: &Path) -> bool {
    [GRANTS_FILE, LOCK_FILE].iter().all(|file| !directory.join(file).exists())
}

/// Describes each component for a catalogue. Fails if a component can't load, or has no signature by a key of the release.
pub(super) async fn describe_components(
    directory: &Path,
    files: &BTreeMap<String, Vec<u8>>,
    runtime: &Runtime,
) -> Result<Vec<Value>> {
    let keys = files.iter().filter(|(name, _)| name.ends_with(KEY));
    let keys = keys.filter_map(|(_, pem)| PublicKey::from_pem(std::str::from_utf8(pem).ok()?).ok());
    let keys: Vec<PublicKey> = keys.collect();
    let mut plugins = Vec::new();
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(WASM)) {
        let (file, digest) = (directory.join(name), sha256(bytes));
        let statements = files.get(&format!("{name}{ENDING}")).map_or(&[][..], Vec::as_slice);
        let signers = find_signing_keys(statements, &digest, &keys);
        if signers.is_empty() {
            let path = quote(&file.display().to_string()).to_string();
            let why = format!(
                "{path}: no key of {} signed this file as `released`. Put the public key there as NAME.pub, and run `pivot-host \
                 plugin sign {path} --claim released --key KEY.pem`. A site's directory of plugins needs {LOCK_FILE}: `pivot-host \
                 plugin add {path}`",
                directory.display()
            );
            return Err((Exit::Plugin, why.into()));
        }
        let inspection = runtime.inspect(&file).await;
        let inspection = inspection.map_err(|error| (Exit::Plugin, Text::from(error.to_string())))?;
        if inspection.digest != digest {
            let why = format!("{}: the file changed while it was read; bundle it again", file.display());
            return Err((Exit::Plugin, why.into()));
        }
        plugins.push(json!({
            "name": inspection.declaration.name, "version": inspection.declaration.version,
            "summary": inspection.declaration.summary, "file": name, "sha256": digest, "keys": signers,
            "grants": inspection.section,
        }));
    }
    Ok(plugins)
}

/// Returns the fingerprints of the keys that signed a file as released.
fn find_signing_keys(statements: &[u8], digest: &str, keys: &[PublicKey]) -> BTreeSet<String> {
    let statements = SignatureFile::parse(statements).unwrap_or_default();
    let verified = statements.envelopes().filter_map(|(_, envelope)| envelope.verified_by(keys));
    let released = verified.filter(|verified| {
        let statement = Statement::parse(verified.payload()).ok();
        let statement = statement.filter(|statement| statement.predicate().claim == Claim::Released);
        verified.payload_type() == IN_TOTO && statement.is_some_and(|statement| statement.is_about(digest))
    });
    released
        .flat_map(|verified| verified.keys().iter().map(|key| key.fingerprint()).collect::<Vec<_>>())
        .collect()
}
