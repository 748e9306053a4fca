//! The project that `pivot-host plugin new` writes.
//!
//! The project includes the SDK and the contract in `.pivot-sdk`: a vendor needs neither this repository nor a registry that has
//! the crate, and the plugin keeps the version that it was built against. To use another version, replace that folder.

use std::fmt;

/// The SDK's own files, by their paths in the repository.
const SDK: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/sdk.rs"));

/// The project's own files. Cargo would not look past a Cargo.toml of that name.
const PROJECT: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../project/Cargo.toml.in")),
    ("README.md", include_str!("../project/README.md")),
    (".gitignore", include_str!("../project/gitignore")),
    ("src/lib.rs", include_str!("../project/src/lib.rs")),
    ("example/objects.yaml", include_str!("../project/example/objects.yaml")),
];

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
pub fn project_files(name: &str) -> Result<Vec<(String, String)>, BadName> {
    if !is_valid_name(name) {
        return Err(BadName(name.to_owned()));
    }
    let fill = |text: &str| text.replace("{{name}}", name).replace("{{file}}", &name.replace('-', "_"));
    let project = PROJECT.iter().map(|(path, text)| ((*path).to_owned(), fill(text)));
    let sdk = SDK.iter().map(|(path, text)| (format!(".pivot-sdk/{path}"), (*text).to_owned()));
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
        let files = project_files("my-hosts").unwrap();
        let text = |wanted: &str| {
            files.iter().find(|(path, _)| path == wanted).map(|(_, text)| text.as_str()).expect(wanted)
        };
        assert!(text("Cargo.toml").contains("name = \"my-hosts\""));
        assert!(text("README.md").contains("release/my_hosts.wasm"));
        assert!(text("src/lib.rs").contains("pivot_sdk::export!"));
        assert!(text(".pivot-sdk/sdk/src/plugin.rs").contains("pub trait Plugin"));
        assert!(text(".pivot-sdk/sdk/bounds/src/lib.rs").contains("pub fn find_violation"));
        assert_eq!(text(".pivot-sdk/wit/provider.wit"), include_str!("../../../wit/provider.wit"));
        for (path, text) in files.iter().filter(|(path, _)| !path.starts_with('.')) {
            assert!(!text.contains("{{"), "{path} has something left to fill in");
        }
    }

    #[test]
    fn names_must_suit_host_and_cargo() {
        for bad in
            ["", "My", "a_b", "a--b", "-a", "a-", "1a", "../x", "a b", "test", "pivot-sdk", &"a".repeat(64)]
        {
            assert_eq!(project_files(bad), Err(BadName(bad.to_owned())));
        }
        assert!(project_files("a1-b").is_ok());
    }
}
