//! Generates the Go bindings of the contract.
//!
//! Each hook has its own package, so that a component exports the hooks whose packages the plugin imports, and no others.

use std::collections::BTreeMap;
use std::io::{Error, Result};

use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;
use wit_bindgen_go::{Format, Opts};

/// The interfaces that plugins export, and the function of each in the bindings.
const EXPORTS: [(&str, &str); 8] = [
    ("describe", "Plugin"),
    ("configure", "Check"),
    ("relate", "Relations"),
    ("check", "Findings"),
    ("hold", "Patch"),
    ("adapt", "Patch"),
    ("restore", "Status"),
    ("settle", "Next"),
];
const MODULE: &str = "pivot-host.io/sdk";

/// Returns the files by their paths in the SDK's module.
pub(crate) fn generate_bindings(contract: &str) -> Result<BTreeMap<String, String>> {
    let mut all = BTreeMap::new();
    for (interface, function) in EXPORTS {
        let imports = if interface == "describe" { "include pivot:provider/plugin@0.1.0;" } else { "" };
        let world = format!("{imports} export pivot:provider/{interface}@0.1.0;");
        let files = generate_world(contract, &world).map_err(|error| Error::other(format!("{error:#}")))?;
        for (path, content) in files.iter() {
            let text = String::from_utf8_lossy(content);
            let package = format!("export_pivot_provider_{interface}");
            match path {
                // The package of the hook itself, in which `answer` is written by hand.
                "wit_exports/wit_exports.go" => all.insert(
                    format!("{interface}/bindings.go"),
                    text.replace("package wit_exports", &format!("package {interface}"))
                        .replace(&format!("\"{MODULE}/{package}\""), "")
                        .replace(&format!("{package}.{function}("), "answer("),
                ),
                path => all.insert(path.to_owned(), text.into_owned()),
            };
        }
    }
    Ok(all)
}

fn generate_world(contract: &str, items: &str) -> anyhow::Result<Files> {
    let mut resolve = Resolve::default();
    resolve.push_str("provider.wit", contract)?;
    let package = resolve.push_str("go.wit", &format!("package pivot:go; world go {{ {items} }}"))?;
    let world = resolve.select_world(&[package], None)?;
    let mut files = Files::default();
    // Not formatted: the result must not depend on a gofmt of this machine.
    let options = Opts { format: Format::False, pkg_name: Some(MODULE.to_owned()), ..Opts::default() };
    options.build().generate(&mut resolve, world, &mut files)?;
    Ok(files)
}
