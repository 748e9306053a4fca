//! Signatures of a release: of its checksums, and of a statement about how its files were built. cosign verifies both without network,
//! openssl verifies the first one. The key is a P-256 key.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::files::{VERSION, put, sha256};
use super::sums::SUMS;
use crate::shell::{root, said, shown};

/// Signature of the checksums, as openssl writes it.
const SIGNATURE: &str = "SHA256SUMS.sig";
/// The same signature in a bundle of Sigstore.
const SIGNATURE_BUNDLE: &str = "SHA256SUMS.sigstore.json";
/// Provenance of all files, in a bundle of Sigstore.
const PROVENANCE: &str = "provenance.sigstore.json";

const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";
const STATEMENT: &str = "application/vnd.in-toto+json";
const BUILD_TYPE: &str = "https://pivot-host.io/release/v1";
/// The owner of the key built the files: no service vouches for it.
const BUILDER: &str = "https://pivot-host.io/release/holder-of-the-key";

/// Signs the checksums and the provenance of files of a folder, and returns the names of the files that it writes.
pub(super) fn write(folder: &Path, files: &[String], key: &Path) -> Result<[String; 3]> {
    let sums = std::fs::read(folder.join(SUMS)).context("read the checksums")?;
    let signature = sign(key, &sums)?;
    std::fs::write(folder.join(SIGNATURE), &signature).context("write the signature")?;
    let material = json!({"publicKey": {"hint": key_hint(key)?}});
    let digest = openssl(&["dgst", "-sha256", "-binary"], &[], &sums)?;
    let signed = json!({
        "mediaType": BUNDLE,
        "verificationMaterial": material,
        "messageSignature": {
            "messageDigest": {"algorithm": "SHA2_256", "digest": base64(&digest)?},
            "signature": base64(&signature)?,
        },
    });
    put(&folder.join(SIGNATURE_BUNDLE), &format!("{signed}\n"))?;
    let statement = provenance(folder, files)?.to_string();
    let envelope = json!({
        "payload": base64(statement.as_bytes())?,
        "payloadType": STATEMENT,
        "signatures": [{"sig": base64(&sign(key, &signed_bytes(&statement))?)?}],
    });
    let signed = json!({"mediaType": BUNDLE, "verificationMaterial": material, "dsseEnvelope": envelope});
    put(&folder.join(PROVENANCE), &format!("{signed}\n"))?;
    Ok([SIGNATURE, SIGNATURE_BUNDLE, PROVENANCE].map(str::to_owned))
}

/// Returns the bytes that the signature of a DSSE envelope is about.
fn signed_bytes(statement: &str) -> Vec<u8> {
    format!("DSSEv1 {} {STATEMENT} {} {statement}", STATEMENT.len(), statement.len()).into_bytes()
}

/// Returns a statement of SLSA 1.0 about the files: the commit, and what fixes all dependencies.
fn provenance(folder: &Path, files: &[String]) -> Result<Value> {
    let subjects = files.iter().map(String::as_str).chain([SUMS]);
    let subjects = subjects
        .map(|name| Ok(json!({"name": name, "digest": {"sha256": sha256(&folder.join(name))?}})))
        .collect::<Result<Vec<Value>>>()?;
    let root = root()?;
    let mut materials = vec![json!({"name": "pivot-host", "digest": {"gitCommit": head()?}})];
    for lock in ["Cargo.lock", "plugins/Cargo.lock"] {
        materials.push(json!({"name": lock, "digest": {"sha256": sha256(&root.join(lock))?}}));
    }
    let compiler = said(Command::new("rustc").arg("--version"))?;
    Ok(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {"command": "cargo xtask release", "version": VERSION},
                "internalParameters": {"compiler": compiler.trim()},
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": BUILDER}},
        },
    }))
}

/// Returns the commit that the provenance names. Fails if the work tree has changes.
pub(super) fn committed_head() -> Result<String> {
    let mut changed = Command::new("git");
    changed.args(["status", "--porcelain"]).current_dir(root()?);
    let changed = said(&mut changed)?;
    if !changed.is_empty() {
        bail!("the work tree has changes that no commit has, so nothing is signed:\n{changed}");
    }
    head()
}

fn head() -> Result<String> {
    let commit = said(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()?))?;
    Ok(commit.trim().to_owned())
}

fn sign(key: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    openssl(&["dgst", "-sha256", "-sign"], &[key], bytes)
}

/// Returns the digest of the public key, by which readers find the key. They believe only keys that they have.
fn key_hint(key: &Path) -> Result<String> {
    let public = openssl(&["pkey", "-pubout", "-outform", "DER", "-in"], &[key], &[])?;
    base64(&openssl(&["dgst", "-sha256", "-binary"], &[], &public)?)
}

fn base64(bytes: &[u8]) -> Result<String> {
    let text = openssl(&["base64", "-A"], &[], bytes)?;
    String::from_utf8(text).context("base64 is text")
}

fn openssl(words: &[&str], files: &[&Path], input: &[u8]) -> Result<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(words).args(files).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let shown = shown(&command);
    let mut child = command.spawn().with_context(|| format!("start `{shown}`"))?;
    // Small enough for the pipe.
    child.stdin.take().context("openssl has an input")?.write_all(input)?;
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("`{shown}` failed ({}):\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes_sign_types_and_lengths() {
        assert_eq!(signed_bytes("{}"), b"DSSEv1 28 application/vnd.in-toto+json 2 {}");
    }
}
