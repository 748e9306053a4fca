//! `plugin push` and `plugin pull`: a bundle in an OCI registry. Neither admits anything; that is `plugin import`.

use std::path::Path;

use pivot_core::messages::shell::quote;
use pivot_engine::Exit;
use pivot_places::open_regular_file;
use pivot_registry::{Pushed, Registry, RegistryError, RegistryReference};
use pivot_vetting::bundles::Bundle;
use serde_json::json;

use crate::exit::{self, Result};
use crate::output::{Document, Output, Text};
use crate::private_file::PrivateFile;

/// Pushes a bundle from a file.
pub(super) async fn push(file: &Path, reference: &str, plain: bool, output: &Output) -> Result<()> {
    let bad = |why: &dyn std::fmt::Display| (Exit::Refused, Text::from(format!("{}: {why}", file.display())));
    let registry = open_registry(reference, plain)?;
    let bundle = open_regular_file(file).map_err(|error| bad(&error))?;
    let bundle = Bundle::read_tar(std::io::BufReader::new(bundle)).map_err(|why| bad(&why))?;
    let Pushed { reference, components, sent } = registry.push(&bundle).await.map_err(refusal)?;
    let items: Vec<_> =
        components.iter().map(|(name, digest)| json!({"name": name, "digest": digest})).collect();
    let content =
        json!({"reference": reference, "digest": bundle.digest(), "components": items, "sent": sent});
    output.result(&Document::new("BundlePush", content), || {
        let mut text =
            Text::from(format!("{reference} has it; {sent} blobs were sent, the others were there"));
        for (name, digest) in &components {
            text.add_line(format!("  {name} alone: {digest}"));
        }
        text
    });
    Ok(())
}

/// Pulls a bundle into a file: the same bytes as those of the file that was pushed.
pub(super) async fn pull_bundle(reference: &str, out: &Path, plain: bool, output: &Output) -> Result<()> {
    let registry = open_registry(reference, plain)?;
    let to = PrivateFile::reserve(out, "the bundle", [].iter()).map_err(|why| (Exit::Usage, why.into()))?;
    let bundle = registry.pull().await.map_err(refusal)?;
    to.write_with(|file| bundle.write_tar(file))
        .map_err(|error| (Exit::Unexpected, Text::from(format!("writing {}: {error}", out.display()))))?;
    let digest = bundle.digest();
    let names: Vec<&String> = bundle.files().keys().collect();
    let content = json!({"writtenTo": out, "digest": digest, "files": names, "leftOut": []});
    output.result(&Document::new("Bundle", content), || {
        let mut text = Text::from(format!("{}: bundle {digest}, {} files", out.display(), names.len()));
        let file = quote(&out.display().to_string());
        text.add_line(format!(
            "Next, what it would change: pivot-host plugin import {file} DIR --digest {digest}"
        ));
        text
    });
    Ok(())
}

fn open_registry(reference: &str, plain: bool) -> Result<Registry> {
    let reference =
        RegistryReference::parse(reference).map_err(|why| (Exit::Usage, Text::from(why.to_string())))?;
    Ok(Registry::new(reference, plain))
}

fn refusal(error: RegistryError) -> (Exit, Text) {
    let exit = match error {
        RegistryError::Reference(..) => Exit::Usage,
        RegistryError::Unreachable { .. } | RegistryError::Slow { .. } => exit::of_server(true),
        _ => exit::of_server(false),
    };
    (exit, Text::from(format!("{error}; nothing was written here")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_registries_have_their_exit_code() {
        let host = || "registry".to_owned();
        let silent = [
            RegistryError::Unreachable { host: host(), why: "refused".to_owned() },
            RegistryError::Slow { host: host(), what: "an answer" },
        ];
        assert!(silent.into_iter().all(|error| refusal(error).0 == Exit::Unreachable));
        let error = RegistryError::Unauthorized { host: host(), what: "pull" };
        assert_eq!(refusal(error).0, Exit::Refused);
    }
}
