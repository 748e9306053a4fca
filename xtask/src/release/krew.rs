//! The archives and the manifest with which krew, the plugin manager of kubectl, installs the program. krew refuses archives with
//! symbolic links, so it gets its own: the program, its licences and the plugins.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::archive::{Archive, DOCUMENTS, LICENCES, PLUGINS};
use super::files::{VERSION, copy, put, sha256, tar_command};
use super::place::copy_folder;
use crate::shell::{must, target};

/// Name of the manifest. krew requires the name of the plugin.
pub(super) const MANIFEST: &str = "pivot.yaml";
/// Its license in the archive, as krew's guidelines ask.
const PARTS: [&str; 4] = ["LICENSE", LICENCES, "pivot-host", "plugins"];

/// Writes an archive for each architecture, and the manifest. Returns the names of the files. `url` is the folder with the published
/// files.
pub(super) fn write(url: &str, archives: &[Archive], out: &Path) -> Result<Vec<String>> {
    let (mut files, mut platforms) = (Vec::new(), Vec::new());
    for archive in archives {
        let file = write_archive(archive, out)?;
        platforms.push(platform(url, &archive.architecture, &file, &sha256(&out.join(&file))?));
        files.push(file);
    }
    put(&out.join(MANIFEST), &manifest(platforms)?)?;
    files.push(MANIFEST.to_owned());
    Ok(files)
}

fn write_archive(archive: &Archive, out: &Path) -> Result<String> {
    let Archive { tree, architecture, compression, .. } = archive;
    let folder = target()?.join("release-krew").join(architecture);
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    for document in ["LICENSE", LICENCES] {
        copy(&tree.join(DOCUMENTS).join(document), &folder.join(document))?;
    }
    copy(&tree.join("bin/pivot-host"), &folder.join("pivot-host"))?;
    copy_folder(&tree.join(PLUGINS), &folder.join("plugins"))?;
    let file = format!("kubectl-pivot-{VERSION}-linux-{architecture}.tar.gz");
    let mut tar = tar_command(&out.join(&file))?;
    tar.arg(format!("--use-compress-program={compression}")).arg("--directory").arg(&folder).args(PARTS);
    must(&mut tar)?;
    Ok(file)
}

fn platform(url: &str, architecture: &str, file: &str, sha256: &str) -> Value {
    json!({
        "selector": {"matchLabels": {"os": "linux", "arch": architecture}},
        "uri": format!("{url}/{file}"),
        "sha256": sha256,
        "files": [{"from": "*", "to": "."}],
        "bin": "pivot-host",
    })
}

/// Returns the manifest, as JSON, which is also YAML.
fn manifest(platforms: Vec<Value>) -> Result<String> {
    let document = json!({
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "pivot"},
        "spec": {
            "version": format!("v{VERSION}"),
            "shortDescription": "Move Cluster API objects between clusters",
            "description": "Moves Cluster API objects to another management cluster, into the cluster they describe, or into a\n\
                directory. Prints a plan first, can resume and roll back, and verifies before it deletes.\n",
            "caveats": "Plugins, with their grants and lock, are in $KREW_ROOT/store/pivot/vVERSION/plugins (by default\n\
                ~/.krew/store/...): pass that folder as --plugins.\n".replace("VERSION", VERSION),
            "platforms": platforms,
        },
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}
