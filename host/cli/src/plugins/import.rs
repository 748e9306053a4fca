//! `plugin import`: a bundle into a directory of plugins. Everything is tried in a directory beside it, as a move would load it;
//! that takes its place, or nothing is written.
//!
//! To write components without admitting them was rejected: the directory would not load until each is admitted by hand.

use std::collections::BTreeMap;
use std::io::Error;
use std::path::Path;

use pivot_core::messages::safe_text::escape_line;
use pivot_core::messages::shell::quote;
use pivot_engine::Exit;
use pivot_places::open_regular_file;
use pivot_runtime::{Admission, AdmitOptions, Grant, LoadOptions, Loaded, Runtime, Trust};
use pivot_vetting::bundles::Bundle;
use pivot_vetting::bundles::kind::{KEY, WASM};
use pivot_vetting::permissions::{Declaration, GRANTS_FILE, LOCK_FILE};
use pivot_vetting::signatures::signature_file::{ENDING, SignatureFile};
use serde_json::{Value, json};

use super::comparison::Comparison;
use super::notes::{not_called, switched_off};
use super::staged::Staged;
use super::{inspection, refused};
use crate::args::Import;
use crate::exit::Result;
use crate::operator;
use crate::output::{Document, Output, Text, current_time};

/// The most characters of a line of grants that are shown.
const LINE: usize = 300;

/// The result of importing one component.
struct Imported {
    text: Text,
    content: Value,
}

/// Shows the changes of a bundle. Unless this is a dry run, makes them.
pub(super) async fn run(
    import: &Import,
    trust: Option<Trust>,
    options: LoadOptions,
    runtime: &Runtime,
    output: &Output,
) -> Result<()> {
    let directory = &import.directory;
    let bundle = read_expected_bundle(import)?;
    let digest = bundle.digest().to_owned();
    let io = |error: std::io::Error| {
        let text = format!("{}: {error}; nothing was written", directory.display());
        (Exit::Refused, Text::from(text))
    };
    let staged = Staged::copy_of(directory).map_err(io)?;
    let takes_grants = takes_grants(&staged, &bundle, import)?;
    let components = place_files(&staged, &bundle, takes_grants).map_err(io)?;
    let mut plugins = Vec::new();
    for file in &components {
        let how = AdmitOptions {
            grant: Grant::Section,
            trust: trust.as_ref(),
            by: &operator::user_name(),
            at: &current_time(),
            bundle: Some(&digest),
            keeps: true,
            called: Some(directory),
        };
        plugins.push(admit_component(&staged, &bundle, import, file, how, runtime).await?);
    }
    let options = LoadOptions { called: Some(directory.clone()), ..options };
    let Loaded { disabled, .. } = runtime.load(staged.path(), options).await.map_err(|errors| {
        let mut text = Text::from(format!(
            "with this bundle {} would not load; nothing was written",
            directory.display()
        ));
        text.append(refused::directory_refusal_text(directory, &errors));
        (Exit::Plugin, text)
    })?;
    if !import.dry_run {
        staged.take_place().map_err(io)?;
    }

    let disabled = switched_off(&disabled);
    let contents: Vec<&Value> = plugins.iter().map(|plugin| &plugin.content).collect();
    let content = json!({
        "bundle": digest, "written": !import.dry_run, "grantsTaken": takes_grants, "plugins": contents,
        "disabled": disabled,
    });
    output.result(&Document::new("BundleImport", content), || {
        let mut text = Text::from(format!("{}: bundle {digest}", import.bundle.display()));
        for plugin in &plugins {
            text.append(plugin.text.clone());
        }
        text.append(grants_note(&bundle, takes_grants, import));
        text.append(not_called(&disabled));
        text.add_line(import_result(import, &digest));
        text
    });
    Ok(())
}

/// The bundle, if it is the one that is expected.
fn read_expected_bundle(import: &Import) -> Result<Bundle> {
    let Import { bundle: file, digest, .. } = import;
    let bad = |why: &dyn std::fmt::Display| {
        (Exit::Refused, Text::from(format!("{}: {why}; nothing was written", file.display())))
    };
    let bundle = open_regular_file(file).map_err(|error| bad(&error))?;
    let bundle = Bundle::read_tar(std::io::BufReader::new(bundle)).map_err(|why| bad(&why))?;
    let found = bundle.digest().to_owned();
    match digest {
        Some(wanted) if *wanted != found => Err(bad(&format!("it is bundle {found}, not {wanted}"))),
        _ => Ok(bundle),
    }
}

/// Returns true if the bundle's grants become the site's. They never replace a site's grants. Grants aren't signed: only the
/// bundle's digest shows that they come from the bundle's author.
fn takes_grants(staged: &Staged, bundle: &Bundle, import: &Import) -> Result<bool> {
    let refuse =
        |why: &str| Err((Exit::Refused, Text::from(format!("--grants: {why}; nothing was written"))));
    if !import.grants {
        return Ok(false);
    }
    match (staged.path().join(GRANTS_FILE).exists(), bundle.files().contains_key(GRANTS_FILE)) {
        (true, _) => refuse("the directory has its own plugins.toml, which was not changed"),
        (_, false) => refuse("the bundle has no plugins.toml"),
        (false, true) if !import.dry_run && import.digest.is_none() => refuse(
            "it needs --digest, because plugins.toml is not signed: ask the author of the bundle for its digest; \
             with --dry-run you see what it grants",
        ),
        (false, true) => Ok(true),
    }
}

/// Puts the bundle's files there, and returns its components. The site's own decisions stay.
fn place_files(staged: &Staged, bundle: &Bundle, grants: bool) -> std::io::Result<Vec<String>> {
    let mut components = Vec::new();
    // Before anything is written: afterwards all are the bundle's.
    let own = own_statements(staged, bundle)?;
    for (name, content) in bundle.files() {
        let there = staged.read_file(name)?;
        if there.is_some() && there.as_ref() != Some(content) && name.ends_with(KEY) {
            // A trust file may name it.
            return Err(Error::other(format!("it has an own {name}, and a bundle replaces no key")));
        }
    }
    for (name, content) in bundle.files() {
        if name == LOCK_FILE || (name == GRANTS_FILE && !grants) || name.ends_with(ENDING) {
            continue;
        }
        staged.write_file(name, content)?;
        if name.ends_with(WASM) {
            components.push(name.clone());
            let beside = format!("{name}{ENDING}");
            let new = bundle.files().get(&beside).map(Vec::as_slice);
            match (own.get(name.as_str()), new) {
                (None, None) => staged.remove(&beside)?,
                (None, Some(new)) => staged.write_file(&beside, new)?,
                (Some(own), new) => {
                    staged.write_file(&beside, &merge_statements(own, new.unwrap_or_default())?)?
                }
            }
        }
    }
    Ok(components)
}

/// The statements that the site has about the bundle's components, by the bundle's names for them: the site may have another one
/// for the same file, and statements about another file that only has its name say nothing of it.
fn own_statements<'b>(staged: &Staged, bundle: &'b Bundle) -> std::io::Result<BTreeMap<&'b str, Vec<u8>>> {
    let mut own: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for file in staged.files()?.iter().filter(|file| file.ends_with(WASM)) {
        let Some(statements) = staged.read_file(&format!("{file}{ENDING}"))? else { continue };
        let there = staged.read_file(file)?;
        let components = bundle.files().iter().filter(|(name, _)| name.ends_with(WASM));
        for (name, _) in components.filter(|(_, content)| there.as_ref() == Some(*content)) {
            let before = own.remove(name.as_str()).unwrap_or_default();
            own.insert(name, merge_statements(&before, &statements)?);
        }
    }
    Ok(own)
}

/// The statements of both, which are about the same file: a site's own must not get lost.
fn merge_statements(there: &[u8], new: &[u8]) -> std::io::Result<Vec<u8>> {
    let no =
        |why: pivot_vetting::signatures::signature_file::LineError| std::io::Error::other(why.to_string());
    let mut all = SignatureFile::parse(there).map_err(no)?;
    for (_, envelope) in SignatureFile::parse(new).map_err(no)?.envelopes() {
        all.add(envelope.clone()).map_err(no)?;
    }
    Ok(all.to_text().into_bytes())
}

/// Admits one component where it is staged, and returns the changes.
async fn admit_component(
    staged: &Staged,
    bundle: &Bundle,
    import: &Import,
    file: &str,
    how: AdmitOptions<'_>,
    runtime: &Runtime,
) -> Result<Imported> {
    let path = staged.path().join(file);
    let no =
        |error: pivot_runtime::LoadError| (Exit::Plugin, Text::from(format!("{error}; nothing was written")));
    // A directory that is not there yet has admitted nothing.
    let there = if import.directory.exists() { &import.directory } else { staged.path() };
    let (newer, admitted) = runtime.inspect_for(&path, there, how.trust).await.map_err(no)?;
    let before = admitted.file.clone();
    let comparison = Comparison::with_admitted(newer, admitted, there, runtime).await?;
    if let Some(compared) = comparison.as_ref().filter(|compared| compared.goes_back() && !import.downgrade) {
        let mut text = compared.to_text();
        text.add_line("nothing was written; --downgrade goes back to an older version");
        return Err((Exit::Refused, text));
    }
    // It may have had another name.
    if let Some(before) = before.filter(|before| before != file && !bundle.files().contains_key(before)) {
        let removed = staged.remove(&before).and_then(|()| staged.remove(&format!("{before}{ENDING}")));
        removed.map_err(|error| {
            (Exit::Unexpected, Text::from(format!("{before}: {error}; nothing was written")))
        })?;
    }
    let Admission { inspection, enabled, missing, .. } = runtime.admit(&path, &how).await.map_err(no)?;
    let (change, text) = match &comparison {
        None => ("new", inspection::inspection_text(&inspection)),
        Some(same) if same.is_same() => {
            let Declaration { name, version, .. } = &inspection.declaration;
            ("none", Text::from(format!("{name} {version}: it is admitted as it is")))
        }
        Some(compared) => ("replaced", compared.to_text()),
    };
    let content = json!({
        "name": inspection.declaration.name, "version": inspection.declaration.version, "sha256": inspection.digest,
        "file": file, "change": change, "replaced": comparison.as_ref().map(Comparison::older_version),
        "enabled": enabled, "missing": missing,
    });
    Ok(Imported { text, content })
}

fn grants_note(bundle: &Bundle, taken: bool, import: &Import) -> Text {
    let Import { directory, dry_run, .. } = import;
    let Some(grants) = bundle.files().get(GRANTS_FILE) else { return Text::default() };
    if taken {
        let mut text =
            Text::from("plugins.toml, which says what each may do here, is the bundle's (--grants)");
        // To be read before it counts.
        if *dry_run {
            let grants = String::from_utf8_lossy(grants);
            let lines = grants.lines().filter(|line| !line.trim().is_empty());
            lines.for_each(|line| text.add_line(format!("  {}", escape_line(line, LINE))));
        }
        text
    } else {
        Text::from(format!(
            "the bundle's plugins.toml is left out: {} says what each may do here; a plugin that it doesn't name is admitted and \
             not enabled",
            directory.join(GRANTS_FILE).display()
        ))
    }
}

/// Result of an import or, to paste, the command without `--dry-run`, with the digest of the examined bundle.
fn import_result(import: &Import, digest: &str) -> String {
    let Import { bundle, directory, dry_run, digest: _, grants, downgrade, strict, trust } = import;
    let path = |path: &Path| quote(&path.display().to_string()).to_string();
    if !*dry_run {
        return format!("{} has it now, and loads", directory.display());
    }
    let mut line = format!(
        "nothing was written. Next: pivot-host plugin import {} {} --digest {digest}",
        path(bundle),
        path(directory)
    );
    for (typed, flag) in [(grants, " --grants"), (downgrade, " --downgrade"), (strict, " --strict")] {
        line.push_str(if *typed { flag } else { "" });
    }
    if let Some(trust) = trust {
        line.push_str(" --trust ");
        line.push_str(&path(trust));
    }
    line
}
