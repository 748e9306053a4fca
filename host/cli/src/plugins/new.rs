//! `plugin new`: a project for a new plugin.

use std::fs;
use std::path::Path;

use pivot_engine::Exit;
use pivot_sdk_template::{Language, project_files};
use serde_json::json;

use crate::args::ProjectLanguage;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// Writes a project into a new folder.
pub(super) fn run(name: &str, language: ProjectLanguage, program: &str, output: &Output) -> Result<()> {
    let (language, build, component) = match language {
        ProjectLanguage::Rust => (
            Language::Rust,
            vec!["cargo test".to_owned(), "cargo build --release --target wasm32-wasip2".to_owned()],
            format!("target/wasm32-wasip2/release/{}.wasm", name.replace('-', "_")),
        ),
        ProjectLanguage::Go => (
            Language::Go,
            vec![
                "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -o core.wasm .".to_owned(),
                format!("{program} plugin componentize core.wasm --out {name}.wasm"),
            ],
            format!("{name}.wasm"),
        ),
        ProjectLanguage::JavaScript => (
            Language::JavaScript,
            vec!["npm install".to_owned(), "npm run build".to_owned()],
            format!("{name}.wasm"),
        ),
    };
    let files = project_files(name, language).map_err(|error| (Exit::Usage, error.to_string().into()))?;
    let folder = Path::new(name);
    if folder.exists() {
        return Err((Exit::Refused, format!("{name} already exists; nothing was written").into()));
    }
    for (path, text) in files {
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        written.map_err(|error| (Exit::Unexpected, format!("writing {}: {error}", path.display()).into()))?;
    }
    output.result(&Document::new("Plugin", json!({"name": name, "folder": name})), || {
        let mut text = Text::from(format!("{name}/ was created. Next:"));
        text.add_line(format!("  cd {name}"));
        build.iter().for_each(|line| text.add_line(format!("  {line}")));
        text.add_line(format!("  {program} plugin inspect {component}"));
        text
    });
    Ok(())
}
