//! Plugins on the command line: loading them for a move, and the commands for them outside one.

mod bench_plugin;
mod bundle;
mod check_plugin;
mod comparison;
mod componentize;
mod hook_calls;
mod import;
mod inspection;
mod junit;
mod loading;
mod new;
mod notes;
mod recording;
mod refused;
#[cfg(feature = "registry")]
mod registry;
mod rehearse;
mod release;
mod replay;
mod run_hook;
mod runtime;
mod sample_objects;
mod scene_fields;
mod scene_file;
mod scene_plugin;
pub(crate) mod sign;
mod staged;
mod test_scenes;
pub(crate) mod trust;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use pivot_core::plugins::hooks::Description;
use pivot_engine::Exit;
use pivot_runtime::{Admission, AdmitOptions, Grant, LoadOptions, Loaded, Locked, Plugin, ServedKinds};
use serde_json::{Value, json};

use crate::args::{Import, PluginArgs, PluginVerb, RehearseArgs};
use crate::exit::{self, Result};
use crate::operator;
use crate::output::{Document, Output, Text, current_time};
use inspection::{inspection_document, inspection_text, short_digest};
pub(crate) use loading::Loading;
use notes::{not_called, switched_off, written_by_others};
pub(crate) use recording::RecordingFile;
pub(crate) use rehearse::{RestoreComparison, restore_into_memory};
use runtime::start_runtime;
use trust::TrustFile;

/// Loads the plugins of a directory as the flags say.
async fn load_directory(
    directory: &Path,
    with: &PluginArgs,
    served: Option<ServedKinds>,
) -> Result<Loaded, Text> {
    let (options, _) = build_load_options(false, with.strict, with.trust.as_deref())?;
    let options = LoadOptions { served, ..options };
    let loaded = start_runtime().map_err(|(_, why)| why)?.load(directory, options).await;
    loaded.map_err(|errors| refused::directory_refusal_text(directory, &errors))
}

/// Returns the options of loading plugins, and the trust file.
fn build_load_options(
    unlocked: bool,
    strict: bool,
    trust: Option<&Path>,
) -> Result<(LoadOptions, Option<TrustFile>), Text> {
    let trust = TrustFile::load(trust)?;
    // Who writes the trust file decides whether it is strict; who types can only add.
    let strict = strict || trust.as_ref().is_some_and(|trust| trust.policy.is_strict());
    // What no lock has admitted is admitted now.
    let purpose = if unlocked { TrustFile::for_admitting } else { TrustFile::for_loading };
    let options =
        LoadOptions { unlocked, strict, trust: trust.clone().map(purpose), ..LoadOptions::default() };
    Ok((options, trust))
}

/// `pivot-host plugin …`.
pub(crate) async fn run(verb: &PluginVerb, program: &str, output: &Arc<Output>) -> u8 {
    let result = match verb {
        PluginVerb::New { name, lang } => new::run(name, *lang, program, output),
        PluginVerb::Componentize(typed) => componentize::run(typed, program, output),
        PluginVerb::Inspect { file } => inspect_plugin(file, output).await,
        PluginVerb::List { directory, allow_unlocked, strict, trust } => {
            list_plugins(directory, *allow_unlocked, *strict, trust.as_deref(), output).await
        }
        PluginVerb::Add { file, grant, trust } => add_plugin(file, *grant, trust.as_deref(), output).await,
        PluginVerb::Sign { claim, checked, signing } => match start_runtime() {
            Ok(runtime) => sign::run(*claim, checked.as_deref(), signing, &runtime, output).await,
            Err(error) => Err(error),
        },
        PluginVerb::Diff { old, new } => match diff_plugins(old, new, output).await {
            Ok(code) => return code,
            Err(error) => Err(error),
        },
        PluginVerb::Verify { directory, strict, trust } => {
            verify_plugins(directory, *strict, trust.as_deref(), output).await
        }
        PluginVerb::Bundle { directory, out, trust } => {
            write_bundle(directory, out, trust.as_deref(), output).await
        }
        PluginVerb::Import(typed) => import_bundle(typed, output).await,
        #[cfg(feature = "registry")]
        PluginVerb::Push { bundle, reference, plain_http } => {
            registry::push(bundle, reference, *plain_http, output).await
        }
        #[cfg(feature = "registry")]
        PluginVerb::Pull { reference, out, plain_http } => {
            registry::pull_bundle(reference, out, *plain_http, output).await
        }
        PluginVerb::Check(typed) => check_plugin::run(typed, output).await,
        PluginVerb::Bench(typed) => bench_plugin::run(typed, output).await,
        PluginVerb::Test(typed) => test_scenes::run(typed, output).await,
        PluginVerb::Replay(typed) => replay::run(typed, output).await,
        PluginVerb::Rehearse(typed) => rehearse_move(typed, output).await,
        PluginVerb::Run(trial) => run_hook::run(trial, output).await,
        // `run.rs` has handled it before there were threads.
        PluginVerb::TryCompile { .. } => Ok(()),
    };
    match result {
        Ok(()) => exit::DONE,
        Err((code, message)) => {
            output.fail(message);
            exit::exit_code(code)
        }
    }
}

async fn inspect_plugin(file: &Path, output: &Output) -> Result<()> {
    let inspection =
        start_runtime()?.inspect(file).await.map_err(|error| (Exit::Plugin, error.to_string().into()))?;
    output.result(&Document::new("Plugin", inspection_document(&inspection)), || {
        let mut text = inspection_text(&inspection);
        text.gap();
        text.add_line("a section of plugins.toml that grants all of it; review it:");
        text.gap();
        text.append(Text::from_own_text(&inspection.section));
        text
    });
    Ok(())
}

async fn write_bundle(directory: &Path, out: &Path, trust: Option<&Path>, output: &Output) -> Result<()> {
    let (options, _) = build_load_options(false, false, trust).map_err(|why| (Exit::Plugin, why))?;
    bundle::run(directory, out, options, &start_runtime()?, output).await
}

async fn import_bundle(typed: &Import, output: &Output) -> Result<()> {
    let (options, trust) =
        build_load_options(false, typed.strict, typed.trust.as_deref()).map_err(|why| (Exit::Plugin, why))?;
    let open = trust.as_ref().map_or(Ok(None), TrustFile::open).map_err(|why| (Exit::Plugin, why))?;
    open.into_iter().for_each(|open| output.warn(open));
    import::run(typed, trust.map(TrustFile::for_admitting), options, &start_runtime()?, output).await
}

async fn rehearse_move(typed: &RehearseArgs, output: &Arc<Output>) -> Result<()> {
    let Some(directory) = &typed.with.plugins else {
        return Err((Exit::Usage, "name the directory of the plugins: --plugins DIR".into()));
    };
    let loaded = load_directory(directory, &typed.with, None).await.map_err(|why| (Exit::Plugin, why))?;
    rehearse::run(typed, directory, loaded, output).await
}

async fn diff_plugins(old: &Path, new: &Path, output: &Output) -> Result<u8> {
    comparison::run(old, new, &start_runtime()?, output).await
}

async fn add_plugin(file: &Path, grant: bool, trust: Option<&Path>, output: &Output) -> Result<()> {
    let trust = TrustFile::load(trust).map_err(|why| (Exit::Plugin, why))?;
    let open = trust.as_ref().map_or(Ok(None), TrustFile::open).map_err(|why| (Exit::Plugin, why))?;
    open.into_iter().for_each(|open| output.warn(open));
    let trust = trust.map(TrustFile::for_admitting);
    let how = AdmitOptions {
        grant: if grant { Grant::All } else { Grant::Nothing },
        trust: trust.as_ref(),
        by: &operator::user_name(),
        at: &current_time(),
        ..AdmitOptions::default()
    };
    let admitted = start_runtime()?.admit(file, &how).await;
    let admission = admitted.map_err(|error| (Exit::Plugin, error.to_string().into()))?;
    let Admission { inspection, added, enabled, missing, surplus, replaced } = &admission;
    let mut content = inspection_document(inspection);
    if let Some(fields) = content.as_object_mut() {
        fields.insert("missing".to_owned(), json!(missing));
        fields.insert("surplus".to_owned(), json!(surplus));
        fields.insert("enabled".to_owned(), json!(enabled));
        fields.insert("replaced".to_owned(), json!(replaced.as_ref().map(|locked| &locked.sha256)));
    }
    output.result(&Document::new("Plugin", content), || {
        let mut text = inspection_text(inspection);
        match replaced {
            Some(Locked { version, sha256, size: _ }) => text.add_line(format!(
                "locked as it is now, in place of version {version} (sha256 {})",
                short_digest(sha256)
            )),
            None => text.add_line("locked as it is now"),
        }
        let switched_off = "it is not enabled there, and no move calls it until you write `enabled = true`";
        let section = match added {
            Some(section) if *enabled => {
                text.add_line("plugins.toml now grants all it asks for (--grant); review it:");
                section
            }
            Some(section) => {
                text.add_line("plugins.toml now has what it asks for, and grants nothing of it until you write `enabled = true`; review it:");
                section
            }
            None if missing.is_empty() => {
                text.add_line(
                    "plugins.toml has a section for it already, which grants what it asks for and was not changed",
                );
                if !enabled {
                    text.add_line(switched_off);
                }
                text.append(comparison::unrequested_grants_text("the section", surplus));
                return text;
            }
            None => {
                text.add_line(
                    "plugins.toml has a section for it already, which was not changed. A move refuses the plugin until that \
                     section also grants:",
                );
                refused::bullet_lines(missing).for_each(|line| text.add_line(line));
                if !enabled {
                    text.add_line(switched_off);
                }
                text.append(comparison::unrequested_grants_text("the section", surplus));
                text.gap();
                text.add_line("a section that grants it all; review it:");
                &inspection.section
            }
        };
        text.gap();
        text.append(Text::from_own_text(section));
        text
    });
    Ok(())
}

async fn list_plugins(
    directory: &Path,
    allow_unlocked: bool,
    strict: bool,
    trust: Option<&Path>,
    output: &Output,
) -> Result<()> {
    let (options, trust) =
        build_load_options(allow_unlocked, strict, trust).map_err(|why| (Exit::Plugin, why))?;
    let loaded = start_runtime()?.load(directory, options).await;
    let Loaded { plugins, disabled, open_to_others, .. } =
        loaded.map_err(|errors| (Exit::Plugin, refused::directory_refusal_text(directory, &errors)))?;
    let disabled = switched_off(&disabled);
    let items = plugins.iter().map(|plugin| {
        let vouched = plugin
            .vouched_by()
            .iter()
            .map(|said| json!({"signer": said.signer, "claim": said.claim.name(), "key": said.key}));
        let vouched: Vec<Value> = vouched.collect();
        json!({"description": plugin.description(), "sha256": plugin.file_digest(), "vouchedBy": vouched})
    });
    let content = json!({
        "items": items.collect::<Vec<_>>(), "trust": trust.as_ref().map(TrustFile::document),
        "disabled": disabled, "openToOthers": open_to_others,
    });
    output.result(&Document::new("PluginList", content), || {
        let lines = plugins.iter().map(|plugin| {
            let description = plugin.description();
            let hooks: Vec<String> = description.hooks.iter().map(ToString::to_string).collect();
            let digest = short_digest(plugin.file_digest());
            let by = signers_suffix(plugin);
            format!("{}  {}  {digest}  {}{by}", description.name, description.version, hooks.join(","))
        });
        let mut text: Text = lines.collect();
        text.add_line(TrustFile::describe(trust.as_ref()));
        text.append(not_called(&disabled));
        text.append(written_by_others(&open_to_others));
        text
    });
    Ok(())
}

/// Loads plugins as a move does, and lists the checks. Each fault gets a line, and the exit code is 6.
async fn verify_plugins(directory: &Path, strict: bool, trust: Option<&Path>, output: &Output) -> Result<()> {
    let (options, trust) = build_load_options(false, strict, trust).map_err(|why| (Exit::Plugin, why))?;
    let trusting = trust.as_ref().map(TrustFile::document);
    let Loaded { plugins, disabled, open_to_others, .. } =
        match start_runtime()?.load(directory, options).await {
            Ok(loaded) => loaded,
            Err(errors) => {
                let faults: Vec<Value> = errors.iter().map(refused::fault_document).collect();
                let document = Document::new(
                    "PluginVerification",
                    json!({"admitted": false, "trust": trusting, "faults": faults}),
                );
                output.result(&document, Text::default);
                return Err((Exit::Plugin, refused::directory_refusal_text(directory, &errors)));
            }
        };
    let format_name = |plugin: &Plugin| {
        let Description { name, version, .. } = plugin.description();
        format!("{name} {version}")
    };
    let lines: Vec<String> =
        plugins.iter().map(|plugin| format!("  {}{}", format_name(plugin), signers_suffix(plugin))).collect();
    let called: Vec<String> = plugins.iter().map(format_name).collect();
    let vouched_by: BTreeMap<&str, &[String]> = plugins
        .iter()
        .map(Plugin::description)
        .map(|described| (described.name.as_str(), described.vouched_by.as_slice()))
        .collect();
    let disabled = switched_off(&disabled);
    let content = json!({
        "admitted": true, "plugins": called, "vouchedBy": vouched_by, "trust": trusting, "disabled": disabled,
        "openToOthers": open_to_others, "faults": [],
    });
    let document = Document::new("PluginVerification", content);
    output.result(&document, || {
        let mut text = Text::from(format!(
            "{}: digests, imports, descriptions and grants agree. A move calls, in this order:",
            directory.display()
        ));
        lines.iter().for_each(|line| text.add_line(line.clone()));
        if lines.is_empty() {
            text.add_line("  no plugin: there is no component, or none is enabled");
        }
        text.add_line(TrustFile::describe(trust.as_ref()));
        text.append(not_called(&disabled));
        text.append(written_by_others(&open_to_others));
        text
    });
    if plugins.is_empty() && disabled.is_empty() {
        output.warn(format!("{} has no plugins (no .wasm file)", directory.display()));
    }
    Ok(())
}

/// Returns the signers of a plugin, as the end of its line.
fn signers_suffix(plugin: &Plugin) -> String {
    match plugin.description().vouched_by.as_slice() {
        [] => String::new(),
        by => format!("  {}", by.join(", ")),
    }
}
