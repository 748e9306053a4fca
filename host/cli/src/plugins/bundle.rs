//! `plugin bundle`: a site's directory of plugins, or a vendor's release, as one file.

use std::path::Path;

use pivot_engine::Exit;
use pivot_runtime::{LoadOptions, Loaded, PluginFiles, Runtime, list_files};
use pivot_vetting::bundles::Bundle;
use pivot_vetting::bundles::kind::{KEY, Kind};
use pivot_vetting::signatures::key::PublicKey;
use serde_json::{Value, json};

use super::{refused, release};
use crate::exit::Result;
use crate::output::{Document, Output, Text};
use crate::private_file::PrivateFile;

/// Writes a directory into a file, if the directory loads. Otherwise its bundle would not load elsewhere. A release is never loaded:
/// each of its components is inspected. With a trust file, a directory counts as a site's.
pub(super) async fn run(
    directory: &Path,
    out: &Path,
    options: LoadOptions,
    runtime: &Runtime,
    output: &Output,
) -> Result<()> {
    let bad = |why: String| (Exit::Usage, Text::from(why));
    let to = PrivateFile::reserve(out, "the bundle", [].iter()).map_err(bad)?;
    let is_release = options.trust.is_none() && release::is_release(directory);
    let mut plugins = 0;
    if !is_release {
        let loaded = runtime.load(directory, options).await;
        let Loaded { plugins: enabled, disabled, .. } =
            loaded.map_err(|errors| (Exit::Plugin, refused::directory_refusal_text(directory, &errors)))?;
        plugins = enabled.len() + disabled.len();
    }
    let PluginFiles { wanted: files, others: left } =
        list_files(directory, |name| Kind::from_name(name).is_ok())
            .map_err(|why| bad(format!("{} can't be bundled: {why}", directory.display())))?;
    for (name, content) in files.iter().filter(|(name, _)| name.ends_with(KEY)) {
        let key = std::str::from_utf8(content).ok().filter(|text| PublicKey::from_pem(text).is_ok());
        // It could be anything, and a private one would leave the site.
        key.ok_or_else(|| bad(format!("{}: {name} is no public key; remove it", directory.display())))?;
    }
    let mut described = None;
    if is_release {
        let components = release::describe_components(directory, &files, runtime).await?;
        plugins = components.len();
        described = Some(components);
    }
    let bundle = Bundle::from_files(files)
        .map_err(|why| bad(format!("{} can't be bundled: {why}", directory.display())))?;
    to.write_with(|file| bundle.write_tar(file))
        .map_err(|error| (Exit::Unexpected, Text::from(format!("writing {}: {error}", out.display()))))?;

    let digest = bundle.digest();
    let names: Vec<&String> = bundle.files().keys().collect();
    let mut content = json!({"writtenTo": out, "digest": digest, "files": names, "leftOut": left});
    if let (Value::Object(fields), Some(described)) = (&mut content, described) {
        fields.insert("plugins".to_owned(), described.into());
    }
    output.result(&Document::new("Bundle", content), || {
        let files = names.len();
        let mut text = Text::from(format!(
            "{}: {files} {}, {plugins} {}",
            out.display(),
            if files == 1 { "file" } else { "files" },
            if plugins == 1 { "plugin" } else { "plugins" }
        ));
        names.iter().for_each(|name| text.add_line(format!("  {name}")));
        if !left.is_empty() {
            text.add_line(format!("left out, because no bundle has such files: {}", left.join(", ")));
        }
        text.add_line(format!("digest: {digest}"));
        text.add_line("Tell the digest over another channel to the person who imports the bundle.");
        text
    });
    Ok(())
}
