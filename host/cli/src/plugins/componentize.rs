//! `plugin componentize`: a core module as a component.

use std::fs;
use std::path::Path;

use pivot_componentize::{WorldSource, componentize};
use pivot_engine::Exit;
use pivot_places::read_regular_file;
use serde_json::json;

use crate::args::Componentize;
use crate::exit::Result;
use crate::output::{Document, Output, Text};

/// Writes the component of a module.
pub(super) fn run(typed: &Componentize, program: &str, output: &Output) -> Result<()> {
    let Componentize { file, out, wit, world } = typed;
    let to_failure = |path: &Path, error: std::io::Error| {
        (Exit::Usage, Text::from(format!("{}: {error}", path.display())))
    };
    let module = read_regular_file(file).map_err(|error| to_failure(file, error))?;
    let source = wit.as_deref().map(|wit| WorldSource { wit, world: world.as_deref() });
    let component = componentize(&module, source).map_err(|why| {
        (Exit::Plugin, Text::from(format!("{} can't become a component: {why}", file.display())))
    })?;
    fs::write(out, &component).map_err(|error| to_failure(out, error))?;
    let content = json!({"writtenTo": out, "size": component.len()});
    output.result(&Document::new("Component", content), || {
        Text::from_iter([
            format!("{} was written. Next:", out.display()),
            format!("  {program} plugin inspect {}", out.display()),
        ])
    });
    Ok(())
}
