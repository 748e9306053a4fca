//! The project that `pivot-host plugin new` writes.
//!
//! The project includes the SDK and the contract in `.pivot-sdk`: a vendor needs neither this repository nor a registry that has
//! the crate, and the plugin keeps the version that it was built against. To use another version, replace that folder.

use std::fmt;

/// Texts by their paths, with slashes.
type Files = &'static [(&'static str, &'static str)];

/// The SDK in Rust, by the paths in the repository.
const RUST_SDK: Files = &include!(concat!(env!("OUT_DIR"), "/rust_sdk.rs"));
/// The SDK in Go, with the bindings of the contract.
const GO_SDK: Files = &include!(concat!(env!("OUT_DIR"), "/go_sdk.rs"));

/// The files of a project in Rust. Cargo would not look past a Cargo.toml of that name.
const RUST_PROJECT: Files = &[
    ("Cargo.toml", include_str!("../project/Cargo.toml.in")),
    ("README.md", include_str!("../project/README.md")),
    (".gitignore", include_str!("../project/gitignore")),
    ("src/lib.rs", include_str!("../project/src/lib.rs")),
    ("example/objects.yaml", include_str!("../project/example/objects.yaml")),
];

/// The files of a project in Go.
const GO_PROJECT: Files = &[
    ("go.mod", include_str!("../go/project/go.mod.in")),
    ("README.md", include_str!("../go/project/README.md")),
    (".gitignore", include_str!("../go/project/gitignore")),
    ("main.go", include_str!("../go/project/main.go")),
    ("example/objects.yaml", include_str!("../project/example/objects.yaml")),
];

/// The SDK in JavaScript.
const JAVASCRIPT_SDK: Files = &[("pivot.js", include_str!("../javascript/sdk/pivot.js"))];

/// The files of a project in JavaScript. Its compiler wants the contract next to the world.
const JAVASCRIPT_PROJECT: Files = &[
    ("package.json", include_str!("../javascript/project/package.json.in")),
    ("README.md", include_str!("../javascript/project/README.md")),
    (".gitignore", include_str!("../javascript/project/gitignore")),
    ("main.js", include_str!("../javascript/project/main.js")),
    ("wit/world.wit", include_str!("../javascript/project/wit/world.wit")),
    ("wit/deps/provider.wit", include_str!("../../../wit/provider.wit")),
    ("example/objects.yaml", include_str!("../project/example/objects.yaml")),
];

/// The language of a project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    #[default]
    Rust,
    /// Go, with the stock toolchain.
    Go,
    /// JavaScript, with QuickJS.
    JavaScript,
}

/// The error for a name that a project can't have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadName(String);

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` can't be a plugin's name: write lower-case words joined by dashes, like `my-hosts`",
            self.0
        )
    }
}

impl std::error::Error for BadName {}

/// Returns the files of a new plugin: their paths below its folder, with slashes, and their contents.
///
/// # Errors
/// If the name can't be a plugin's.
pub fn project_files(name: &str, language: Language) -> Result<Vec<(String, String)>, BadName> {
    if !is_valid_name(name) {
        return Err(BadName(name.to_owned()));
    }
    let fill = |text: &str| text.replace("{{name}}", name).replace("{{file}}", &name.replace('-', "_"));
    let (project, sdk) = match language {
        Language::Rust => (RUST_PROJECT, RUST_SDK),
        Language::Go => (GO_PROJECT, GO_SDK),
        Language::JavaScript => (JAVASCRIPT_PROJECT, JAVASCRIPT_SDK),
    };
    let project = project.iter().map(|(path, text)| ((*path).to_owned(), fill(text)));
    let sdk = sdk.iter().map(|(path, text)| (format!(".pivot-sdk/{path}"), (*text).to_owned()));
    Ok(project.chain(sdk).collect())
}

/// Returns true if a name follows the host's rule for plugins and Cargo's for packages: not a keyword or the name of a crate that
/// the project depends on.
fn is_valid_name(name: &str) -> bool {
    let word =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.split('-').all(word)
        && !["core", "std", "alloc", "test", "self", "super", "crate", "serde", "pivot-bounds", "pivot-sdk"]
            .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn project_contains_sdk_and_contract() {
        let files = project_files("my-hosts", Language::Rust).unwrap();
        let text = |wanted: &str| text_of(&files, wanted);
        assert!(text("Cargo.toml").contains("name = \"my-hosts\""));
        assert!(text("README.md").contains("release/my_hosts.wasm"));
        assert!(text("src/lib.rs").contains("pivot_sdk::export!"));
        assert!(text(".pivot-sdk/sdk/src/plugin.rs").contains("pub trait Plugin"));
        assert!(text(".pivot-sdk/sdk/bounds/src/lib.rs").contains("pub fn find_violation"));
        assert_eq!(text(".pivot-sdk/wit/provider.wit"), include_str!("../../../wit/provider.wit"));
        check_filled(&files);
    }

    #[test]
    fn go_project_contains_bindings_of_each_hook() {
        let files = project_files("my-hosts", Language::Go).unwrap();
        let text = |wanted: &str| text_of(&files, wanted);
        assert!(text("go.mod").starts_with("module my-hosts\n"));
        for hook in ["describe", "configure", "relate", "check", "hold", "adapt", "restore", "settle"] {
            let bindings = text(&format!(".pivot-sdk/{hook}/bindings.go"));
            for contained in [
                format!("\npackage {hook}\n"),
                format!("//go:wasmexport pivot:provider/{hook}@0.1.0#"),
                "answer(".to_owned(),
            ] {
                assert!(bindings.contains(&contained), "{hook}: {contained}");
            }
            assert!(!bindings.contains(&format!("export_pivot_provider_{hook}.")), "{hook}");
        }
        assert!(text(".pivot-sdk/pivot_provider_config/wit_bindings.go").contains("//go:wasmimport"));
        assert_eq!(text(".pivot-sdk/wit/provider.wit"), include_str!("../../../wit/provider.wit"));
        check_filled(&files);
    }

    #[test]
    fn javascript_project_contains_contract_and_helpers() {
        let files = project_files("my-hosts", Language::JavaScript).unwrap();
        assert!(text_of(&files, "package.json").contains("--output my-hosts.wasm"));
        assert!(text_of(&files, ".pivot-sdk/pivot.js").contains("export const handle"));
        assert_eq!(text_of(&files, "wit/deps/provider.wit"), include_str!("../../../wit/provider.wit"));
        check_filled(&files);
    }

    fn text_of<'a>(files: &'a [(String, String)], wanted: &str) -> &'a str {
        files.iter().find(|(path, _)| path == wanted).map(|(_, text)| text.as_str()).expect(wanted)
    }

    fn check_filled(files: &[(String, String)]) {
        for (path, text) in files.iter().filter(|(path, _)| !path.starts_with(".pivot-sdk/")) {
            assert!(
                !text.contains("{{name}}") && !text.contains("{{file}}"),
                "{path} has something left to fill in"
            );
        }
    }

    #[test]
    fn names_must_suit_host_and_cargo() {
        for bad in
            ["", "My", "a_b", "a--b", "-a", "a-", "1a", "../x", "a b", "test", "pivot-sdk", &"a".repeat(64)]
        {
            assert_eq!(project_files(bad, Language::Rust), Err(BadName(bad.to_owned())));
        }
        assert!(project_files("a1-b", Language::Go).is_ok());
    }
}
