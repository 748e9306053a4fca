//! `plugin bundle`: a directory of plugins as one file, for a site that has no network.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pivot_bundles::Bundle;
use pivot_bundles::kind::Kind;
use pivot_engine::Exit;
use pivot_places::read_regular_file;
use pivot_runtime::{LoadOptions, Loaded, Runtime};
use serde_json::json;

use super::refused;
use crate::exit::Result;
use crate::output::{Document, Output, Text};
use crate::private_file::PrivateFile;

/// Writes a directory that loads into a file. What doesn't load here would not load there.
pub(super) async fn run(
    directory: &Path,
    out: &Path,
    options: LoadOptions,
    runtime: &Runtime,
    output: &Output,
) -> Result<()> {
    let bad = |why: String| (Exit::Usage, Text::from(why));
    let to = PrivateFile::reserve(out, "the bundle", [].iter()).map_err(bad)?;
    let loaded = runtime.load(directory, options).await;
    let Loaded { plugins, disabled, .. } =
        loaded.map_err(|errors| (Exit::Plugin, refused::text(directory, &errors)))?;
    let Found { files, left } =
        found(directory).map_err(|why| bad(format!("{}: {why}", directory.display())))?;
    let bundle =
        Bundle::of(files).map_err(|why| bad(format!("{} can't be bundled: {why}", directory.display())))?;
    to.write_with(|file| bundle.write(file))
        .map_err(|error| (Exit::Unexpected, Text::from(format!("writing {}: {error}", out.display()))))?;

    let digest = bundle.digest();
    let names: Vec<&String> = bundle.files().keys().collect();
    let text = || {
        let mut text = Text::from(format!(
            "{}: {} files, {} plugins",
            out.display(),
            names.len(),
            plugins.len() + disabled.len()
        ));
        names.iter().for_each(|name| text.line(format!("  {name}")));
        if !left.is_empty() {
            text.line(format!("left out, because no bundle has such files: {}", left.join(", ")));
        }
        text.line(format!("its digest, which who imports it should know by another way: {digest}"));
        text
    };
    let content = json!({"writtenTo": out, "digest": digest, "files": names, "leftOut": left});
    output.result(text, &Document::new("Bundle", content));
    Ok(())
}

/// What a directory has.
#[derive(Default)]
struct Found {
    /// The files that go into a bundle.
    files: BTreeMap<String, Vec<u8>>,
    /// The names of the others.
    left: Vec<String>,
}

fn found(directory: &Path) -> std::io::Result<Found> {
    let Found { mut files, mut left } = Found::default();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if Kind::of(&name).is_ok() {
            let content = read_regular_file(&path);
            files.insert(
                name,
                content.map_err(|error| std::io::Error::other(format!("{}: {error}", path.display())))?,
            );
        } else {
            left.push(name);
        }
    }
    left.sort();
    Ok(Found { files, left })
}
