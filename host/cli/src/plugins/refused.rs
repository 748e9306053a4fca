//! Problems with plugins, for people and for programs.
//!
//! The grants that an operator has to write are listed one a line, with the command that prints the text to write: nobody reads a
//! sentence of a dozen grants.

use std::path::Path;

use pivot_core::messages::shell::quote;
use pivot_runtime::{LoadError, PluginIdentity, Refused};
use serde_json::{Value, json};

use crate::output::Text;

/// All problems with the plugins of a directory.
pub(super) fn directory_refusal_text(directory: &Path, errors: &[LoadError]) -> Text {
    match errors {
        [one] => plugin_refusal_lines(one, &directory.join(&one.who.file)).collect(),
        many => {
            let mut text = Text::from(format!("{} plugins are refused:", many.len()));
            for error in many {
                for (index, line) in plugin_refusal_lines(error, &directory.join(&error.who.file)).enumerate()
                {
                    text.add_line(format!("{}{line}", if index == 0 { "  - " } else { "    " }));
                }
            }
            text
        }
    }
}

/// The problems with the plugin in a file, as lines.
pub(super) fn plugin_refusal_lines(error: &LoadError, file: &Path) -> impl Iterator<Item = String> {
    let lines = match &*error.reason {
        Refused::NotGranted { name, missing } => {
            let head = format!(
                "{}: is not granted all it asks for. plugins.toml, below [plugins.{name}], lacks",
                error.who
            );
            let file = quote(&file.display().to_string());
            let way = format!("`pivot-host plugin inspect {file}` shows a section that grants it");
            [head].into_iter().chain(bullet_lines(missing)).chain([way]).collect()
        }
        _ => vec![error.to_string()],
    };
    lines.into_iter()
}

/// One item a line.
pub(super) fn bullet_lines(items: &[String]) -> impl Iterator<Item = String> {
    items.iter().map(|item| format!("  - {item}"))
}

/// A fault for programs.
pub(super) fn fault_document(error: &LoadError) -> Value {
    let PluginIdentity { name, version, file, digest } = &*error.who;
    let missing: &[String] = match &*error.reason {
        Refused::NotGranted { missing, .. } => missing,
        _ => &[],
    };
    json!({
        "name": name, "version": version, "file": file, "sha256": digest,
        "code": error.code(), "message": Text::from(error.reason.to_string()).message(), "missing": missing,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::next::tests::{by_a_shell, typed};

    /// Runs each command that a text offers.
    fn type_commands(text: &str) -> usize {
        let commands: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        commands.iter().for_each(|line| drop(typed(&by_a_shell(line))));
        commands.len()
    }

    fn error(name: &str, reason: Refused) -> LoadError {
        let who = PluginIdentity {
            name: Some(name.to_owned()),
            file: format!("{name}.wasm"),
            ..PluginIdentity::default()
        };
        LoadError { who: Box::new(who), reason: Box::new(reason) }
    }

    #[test]
    fn missing_grants_are_listed_one_a_line() {
        let missing = vec!["the hook check".to_owned(), "to probe any of *:6385".to_owned()];
        let hosts = error("hosts", Refused::NotGranted { name: "hosts".to_owned(), missing });
        expect![[r"
            plugin hosts (hosts.wasm): is not granted all it asks for. plugins.toml, below [plugins.hosts], lacks
              - the hook check
              - to probe any of *:6385
            `pivot-host plugin inspect 'my plugins/hosts.wasm'` shows a section that grants it"]]
        .assert_eq(&directory_refusal_text(Path::new("my plugins"), std::slice::from_ref(&hosts)).message());
        assert_eq!(type_commands(&directory_refusal_text(Path::new("it's mine"), &[hosts]).message()), 1);
    }

    #[test]
    fn refusal_of_granted_name_shows_the_command() {
        let command = "pivot-host plugin add --grant 'my plugins/hosts.wasm'".to_owned();
        let named =
            |locked| Refused::NameGranted { name: "hosts".to_owned(), locked, command: command.clone() };
        let told = |locked| {
            directory_refusal_text(Path::new("my plugins"), &[error("hosts", named(locked))]).message()
        };
        let other = told(Some("ab".repeat(32)));
        expect!["plugin hosts (hosts.wasm): calls itself hosts, and plugins.toml enables [plugins.hosts] for the file that was locked as sha256 abababababab…; nothing was written. Inspect the file; if it is to have those grants, `pivot-host plugin add --grant 'my plugins/hosts.wasm'`"]
        .assert_eq(&other);
        assert!(told(None).contains("enables [plugins.hosts] for a plugin that isn't locked yet; nothing"));
        assert_eq!(type_commands(&other), 1);
    }

    #[test]
    fn all_plugin_problems_are_reported_together() {
        let missing = vec!["the hook check".to_owned()];
        let hosts = error("hosts", Refused::NotGranted { name: "hosts".to_owned(), missing });
        let gone = error("gone", Refused::Missing { by: "plugins.lock" });
        assert_eq!(
            (fault_document(&hosts)["missing"][0].as_str(), fault_document(&gone)["missing"].as_array()),
            (Some("the hook check"), Some(&vec![]))
        );
        expect![[r#"
            2 plugins are refused:
              - plugin hosts (hosts.wasm): is not granted all it asks for. plugins.toml, below [plugins.hosts], lacks
                  - the hook check
                `pivot-host plugin inspect d/hosts.wasm` shows a section that grants it
              - plugin gone (gone.wasm): is named in plugins.lock, but no file is this plugin; restore it, or remove it from plugins.lock"#]]
        .assert_eq(&directory_refusal_text(Path::new("d"), &[hosts, gone]).message());
    }
}
