//! Plugins on the command line: loading them for a move, and what can be done with them outside one.

mod refused;
mod runtime;
mod trial;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pivot_engine::{Exit, Hooks};
use pivot_runtime::{Admission, Inspection, LoadOptions, Plugin};
use serde_json::{Value, json};

use crate::args::{PluginVerb, With};
use crate::exit::{self, Result};
use crate::output::{Document, Output, Text};
use runtime::runtime;

/// The plugins of a move; none where no directory is named. An error is everything that is wrong with them.
pub(crate) async fn load(with: &With) -> Result<Vec<Arc<dyn Hooks>>, Text> {
    let Some(directory) = &with.plugins else { return Ok(Vec::new()) };
    let plugins = read(directory, with.unlocked).await?;
    Ok(plugins.into_iter().map(|plugin| Arc::new(plugin) as Arc<dyn Hooks>).collect())
}

async fn read(directory: &Path, unlocked: bool) -> Result<Vec<Plugin>, Text> {
    let options = LoadOptions { unlocked };
    let loaded = runtime().map_err(|(_, why)| why)?.load(directory, options).await;
    loaded.map_err(|errors| refused::told(directory, &errors))
}

/// `pivot-host plugin …`.
pub(crate) async fn run(verb: &PluginVerb, program: &str, output: &Output) -> u8 {
    let result = match verb {
        PluginVerb::New { name } => new(name, program, output),
        PluginVerb::Inspect { file } => inspect(file, output).await,
        PluginVerb::List { with } => list(with, output).await,
        PluginVerb::Lock { file } => lock(file, output).await,
        PluginVerb::Verify { directory } => verify(directory, output).await,
        PluginVerb::Run(trial) => trial::run(trial, output).await,
        // Done before there are threads.
        PluginVerb::TryCompile { .. } => Ok(()),
    };
    match result {
        Ok(()) => exit::DONE,
        Err((code, message)) => {
            output.fail(message);
            exit::code(code)
        }
    }
}

fn new(name: &str, program: &str, output: &Output) -> Result<()> {
    let files = pivot_sdk_template::files(name).map_err(|error| (Exit::Usage, error.to_string().into()))?;
    let folder = PathBuf::from(name);
    if folder.exists() {
        return Err((Exit::Refused, format!("{name} is there already; nothing is written").into()));
    }
    for (path, text) in files {
        let path = folder.join(path);
        let written =
            path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| (Exit::Unexpected, format!("writing {}: {error}", path.display()).into()))?;
    }
    let text = || {
        Text::from_iter([
            format!("{name}/ is written. Next:"),
            format!("  cd {name}"),
            "  cargo test".to_owned(),
            "  cargo build --release --target wasm32-wasip2".to_owned(),
            format!(
                "  {program} plugin inspect target/wasm32-wasip2/release/{}.wasm",
                name.replace('-', "_")
            ),
        ])
    };
    output.result(text, &Document::new("Plugin", json!({"name": name, "folder": name})));
    Ok(())
}

async fn inspect(file: &Path, output: &Output) -> Result<()> {
    let inspection =
        runtime()?.inspect(file).await.map_err(|error| (Exit::Plugin, error.to_string().into()))?;
    let text = || {
        let mut text = facts(&inspection);
        text.gap();
        text.line("a section of plugins.toml that grants it all; review it:");
        text.gap();
        text.append(Text::ours(&inspection.section));
        text
    };
    output.result(text, &Document::new("Plugin", document(&inspection)));
    Ok(())
}

async fn lock(file: &Path, output: &Output) -> Result<()> {
    let admission = runtime()?.admit(file).await.map_err(|error| (Exit::Plugin, error.to_string().into()))?;
    let Admission { inspection, granted, missing } = &admission;
    let text = || {
        let mut text = facts(inspection);
        text.line("locked as it is now");
        let section = match granted {
            Some(section) => {
                text.line("plugins.toml grants what it asks for; review it:");
                section
            }
            None if missing.is_empty() => {
                text.line(
                    "plugins.toml has a section for it already, which grants what it asks for and stays as it is",
                );
                return text;
            }
            None => {
                text.line(
                    "plugins.toml has a section for it already, which stays as it is; a move refuses it for what that \
                     lacks:",
                );
                refused::lines(missing).for_each(|line| text.line(line));
                text.gap();
                text.line("a section that grants it all; review it:");
                &inspection.section
            }
        };
        text.gap();
        text.append(Text::ours(section));
        text
    };
    let mut content = document(inspection);
    if let Some(fields) = content.as_object_mut() {
        fields.insert("missing".to_owned(), json!(missing));
    }
    output.result(text, &Document::new("Plugin", content));
    Ok(())
}

async fn list(with: &With, output: &Output) -> Result<()> {
    let Some(directory) = &with.plugins else {
        return Err((Exit::Usage, "name the directory: --plugins DIR".into()));
    };
    let plugins = read(directory, with.unlocked).await.map_err(|error| (Exit::Plugin, error))?;
    let line = |plugin: &Plugin| {
        let description = plugin.description();
        let hooks: Vec<String> = description.hooks.iter().map(ToString::to_string).collect();
        let digest: String = plugin.file_digest().chars().take(12).collect();
        format!("{}  {}  {digest}  {}", description.name, description.version, hooks.join(","))
    };
    let text = || plugins.iter().map(line).collect::<Text>();
    let items: Vec<Value> = plugins
        .iter()
        .map(|plugin| json!({"description": plugin.description(), "sha256": plugin.file_digest()}))
        .collect();
    output.result(text, &Document::new("PluginList", json!({"items": items})));
    Ok(())
}

/// As a move loads them, and what was looked at; a fault is worth a line each and exit 6.
async fn verify(directory: &Path, output: &Output) -> Result<()> {
    let plugins = match runtime()?.load(directory, LoadOptions::default()).await {
        Ok(plugins) => plugins,
        Err(errors) => {
            let faults: Vec<Value> = errors.iter().map(refused::fault).collect();
            let document = Document::new("PluginVerification", json!({"admitted": false, "faults": faults}));
            output.result(Text::default, &document);
            return Err((Exit::Plugin, refused::told(directory, &errors)));
        }
    };
    let names: Vec<String> = plugins
        .iter()
        .map(|plugin| format!("{} {}", plugin.description().name, plugin.description().version))
        .collect();
    let text = || {
        let mut text = Text::from(format!(
            "{}: digests, imports, descriptions and grants agree. A move calls, in this order:",
            directory.display()
        ));
        names.iter().for_each(|name| text.line(format!("  {name}")));
        if names.is_empty() {
            text.line("  none: no component is there, or none is enabled");
        }
        text
    };
    let document =
        Document::new("PluginVerification", json!({"admitted": true, "plugins": names, "faults": []}));
    output.result(text, &document);
    Ok(())
}

/// What it is and asks for, in a few lines.
fn facts(inspection: &Inspection) -> Text {
    let Inspection { digest, size, declaration, hooks, imports, inert, section: _ } = inspection;
    let list = |items: &[String]| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let hooks: Vec<String> = hooks.iter().map(ToString::to_string).collect();
    let kinds: Vec<String> = declaration.kinds.iter().map(ToString::to_string).collect();
    let changes: Vec<String> =
        declaration.changes.iter().map(|c| format!("{} {} ({})", c.hook, c.kind, c.side)).collect();
    let reads: Vec<String> = declaration.reads.iter().map(|r| format!("{} ({})", r.kind, r.side)).collect();
    let probes: Vec<String> = declaration.probes.iter().map(ToString::to_string).collect();
    let secrets = if declaration.secret_data { "with their data" } else { "without data" };
    let mut text =
        Text::from(format!("{} {}: {}", declaration.name, declaration.version, declaration.summary));
    for (name, value) in [
        ("sha256", digest.clone()),
        ("size", format!("{size} bytes")),
        ("hooks", list(&hooks)),
        ("sees", list(&kinds)),
        ("changes", list(&changes)),
        ("reads", list(&reads)),
        ("probes", list(&probes)),
        ("secrets", secrets.to_owned()),
        ("imports", list(imports)),
        ("inert", list(inert)),
    ] {
        text.line(format!("  {name:8} {value}"));
    }
    text
}

fn document(inspection: &Inspection) -> Value {
    let Inspection { digest, size, declaration, hooks, imports, inert, section } = inspection;
    json!({
        "name": declaration.name, "version": declaration.version, "summary": declaration.summary,
        "sha256": digest, "size": size, "hooks": hooks, "imports": imports, "inert": inert, "grants": section,
    })
}
