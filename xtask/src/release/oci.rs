//! The image as a file: an OCI layout in a tar archive, with one image an architecture. No container engine is needed to write it. Its
//! bytes depend on nothing but the archives' files and the commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::archive::{Archive, CONTAINERFILE};
use super::files::{VERSION, commit_time, put, sha256, tar_command};
use super::image::Image;
use crate::shell::{must, said, say, target};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Returns the name of the file.
pub(super) fn file_name() -> String {
    format!("pivot-host-{VERSION}-image.tar")
}

/// Writes the image of these archives into a folder, and returns the name of the file.
pub(super) fn write(archives: &[Archive], out: &Path) -> Result<String> {
    let work = target()?.join("release-image");
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("remove {}", work.display()))?;
    }
    let layout = work.join("layout");
    fs::create_dir_all(layout.join("blobs/sha256"))?;
    let images: Vec<Value> =
        archives.iter().map(|archive| write_image(archive, &work, &layout)).collect::<Result<_>>()?;
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": images});
    let mut entry = put_document(&layout, INDEX, &index)?;
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("annotations".to_owned(), json!({"org.opencontainers.image.ref.name": VERSION}));
    }
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [entry]});
    put(&layout.join("index.json"), &index.to_string())?;
    put(&layout.join("oci-layout"), &json!({"imageLayoutVersion": "1.0.0"}).to_string())?;
    let name = file_name();
    say(&format!("== Writing {name}"));
    let mut tar = tar_command(&out.join(&name))?;
    must(tar.arg("--directory").arg(&layout).args(["blobs", "index.json", "oci-layout"]))?;
    Ok(name)
}

/// Writes the image of one architecture, and returns its entry in the index.
fn write_image(archive: &Archive, work: &Path, layout: &Path) -> Result<Value> {
    let Archive { tree, architecture, compression, .. } = archive;
    let image = Image::read(&tree.join(CONTAINERFILE))?;
    let (root, tar) = (work.join(architecture), work.join(format!("{architecture}.tar")));
    fs::create_dir_all(&root)?;
    image.copy(tree, &root)?;
    must(tar_command(&tar)?.arg("--directory").arg(&root).arg("."))?;
    let unpacked = format!("sha256:{}", sha256(&tar)?);
    must(Command::new("sh").args(["-c", &format!("{compression} \"$1\""), "sh"]).arg(&tar))?;
    let layer = put_blob(layout, LAYER, &tar.with_extension("tar.gz"))?;
    let config = json!({
        "created": commit_time("%Y-%m-%dT%H:%M:%SZ")?,
        "architecture": architecture,
        "os": "linux",
        "config": {"User": image.user, "WorkingDir": "/", "Entrypoint": [image.program]},
        "rootfs": {"type": "layers", "diff_ids": [unpacked]},
    });
    let config = put_document(layout, CONFIG, &config)?;
    let manifest = json!({"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer]});
    let mut entry = put_document(layout, MANIFEST, &manifest)?;
    if let Some(entry) = entry.as_object_mut() {
        entry.insert("platform".to_owned(), json!({"os": "linux", "architecture": architecture}));
    }
    Ok(entry)
}

fn put_document(layout: &Path, media_type: &str, document: &Value) -> Result<Value> {
    let file = layout.join("document");
    put(&file, &document.to_string())?;
    put_blob(layout, media_type, &file)
}

/// Moves a file to the blobs, and returns its descriptor.
fn put_blob(layout: &Path, media_type: &str, file: &Path) -> Result<Value> {
    let digest = sha256(file)?;
    let size = fs::metadata(file)?.len();
    fs::rename(file, layout.join("blobs/sha256").join(&digest))?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{digest}"), "size": size}))
}

/// An image that was read from a layout and unpacked.
pub(super) struct UnpackedImage {
    pub(super) user: String,
    pub(super) program: String,
}

/// Unpacks the image of an architecture into a root directory, as a container engine does.
pub(super) fn unpack(file: &Path, architecture: &str, root: &Path) -> Result<UnpackedImage> {
    let layout = root.with_extension("layout");
    fs::create_dir_all(&layout)?;
    must(Command::new("tar").arg("--extract").arg("--file").arg(file).arg("--directory").arg(&layout))?;
    let tagged = entry_of(&read_json(&layout.join("index.json"))?, |entry| {
        entry.pointer("/annotations/org.opencontainers.image.ref.name") == Some(&json!(VERSION))
    })?;
    let index = read_json(&blob(&layout, &tagged)?)?;
    let image =
        entry_of(&index, |entry| entry.pointer("/platform/architecture") == Some(&json!(architecture)))?;
    let manifest = read_json(&blob(&layout, &image)?)?;
    let part = |pointer| manifest.pointer(pointer).context("a manifest has a configuration and a layer");
    let config = read_json(&blob(&layout, part("/config")?)?)?;
    let layer = blob(&layout, part("/layers/0")?)?;
    let unpacked = said(Command::new("sh").args(["-c", "gzip -cd \"$1\" | sha256sum", "sh"]).arg(&layer))?;
    let text = |pointer| {
        let found = config.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        found.with_context(|| format!("the configuration has no {pointer}"))
    };
    if !text("/rootfs/diff_ids/0")?.contains(unpacked.split(' ').next().unwrap_or("-")) {
        bail!("the layer isn't the one that the configuration names");
    }
    must(
        Command::new("tar").args(["--extract", "--gzip", "--file"]).arg(&layer).arg("--directory").arg(root),
    )?;
    fs::remove_dir_all(&layout)?;
    Ok(UnpackedImage { user: text("/config/User")?, program: text("/config/Entrypoint/0")? })
}

fn entry_of(index: &Value, is_wanted: impl Fn(&&Value) -> bool) -> Result<Value> {
    let entries = index.pointer("/manifests").and_then(Value::as_array).context("an index has manifests")?;
    entries.iter().find(is_wanted).cloned().context("the index lacks an entry")
}

/// The path of a blob whose digest is right.
fn blob(layout: &Path, descriptor: &Value) -> Result<PathBuf> {
    let digest =
        descriptor.pointer("/digest").and_then(Value::as_str).context("a descriptor has a digest")?;
    let digest = digest.trim_start_matches("sha256:");
    let file = layout.join("blobs/sha256").join(digest);
    if sha256(&file)? != digest {
        bail!("{} has another digest", file.display());
    }
    Ok(file)
}

fn read_json(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("read {}", file.display()))
}
