//! Text about the plugins of a release: where they are, and how to enable one.

use std::path::Path;

use pivot_core::GroupKind;
use pivot_core::checks::fitting_plugins::find_handling_plugin;
use pivot_core::messages::shell::quote;

/// Plugins that a release enables, so that naming their directory is enough.
const ENABLED_PLUGINS: [&str; 2] = ["metal3-hosts", "metal3-endpoints"];

/// The plugins of a release that is unpacked as its instructions say.
const USUAL_DIRECTORY: &str = "/usr/local/share/pivot-host/plugins";

/// Directory for a copy of the plugins of a release: an upgrade replaces the original.
const SITE_DIRECTORY: &str = "site-plugins";

/// Names the plugin of a release that handles a kind, and where it is.
pub(super) fn handling_plugin_text(kind: &GroupKind) -> String {
    let Some(plugin) = find_handling_plugin(kind) else { return String::new() };
    format!(" ({plugin}, which a release has: --plugins {})", quote(&find_directory()))
}

/// Returns the commands that enable a plugin of a release, in a run with plugins from this directory.
pub(super) fn enabling_text(plugin: &str, directory: Option<&str>) -> String {
    let bundled = find_directory();
    if directory.is_none() && ENABLED_PLUGINS.contains(&plugin) {
        return format!("let plugin {plugin} handle such objects: pass --plugins {}", quote(&bundled));
    }
    let component = format!("{plugin}.wasm");
    // An upgrade would replace a changed original.
    let named = directory.filter(|directory| Path::new(directory) != Path::new(&bundled));
    let last = if named.is_some() { String::new() } else { format!(", and pass --plugins {SITE_DIRECTORY}") };
    let site_copy = || Path::new(SITE_DIRECTORY).is_dir().then_some(SITE_DIRECTORY);
    let (first, directory) = match named.or_else(site_copy) {
        Some(directory) if Path::new(directory).join(&component).is_file() => (String::new(), directory),
        Some(directory) => {
            let add = format!(
                "`cp {} {}`, `pivot-host plugin add {}`, ",
                quote(&format!("{bundled}/{component}")),
                quote(directory),
                quote(&format!("{directory}/{component}"))
            );
            (add, directory)
        }
        None => (
            format!("`cp -r {} {SITE_DIRECTORY}`, whose other plugins take part, too; ", quote(&bundled)),
            SITE_DIRECTORY,
        ),
    };
    let grants = quote(&format!("{directory}/plugins.toml"));
    format!(
        "let plugin {plugin} handle such objects: {first}review its section in {grants}, and write `enabled = true` there, as \
         `sed -i '/^\\[plugins\\.{plugin}\\]/,/^\\[/s/^enabled = false/enabled = true/' {grants}` does{last}"
    )
}

/// Returns the directory of the plugins of a release: next to this program if it is unpacked elsewhere than usual.
fn find_directory() -> String {
    let program = std::env::current_exe().ok();
    let beside = program.and_then(|path| Some(path.parent()?.parent()?.join("share/pivot-host/plugins")));
    let beside = beside.filter(|path| path.is_dir()).map(|path| path.display().to_string());
    beside.unwrap_or_else(|| USUAL_DIRECTORY.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SED: &str = r"`sed -i '/^\[plugins\.aws\]/,/^\[/s/^enabled = false/enabled = true/'";

    #[test]
    fn runs_without_plugins_copy_the_bundled_ones() {
        let expected = format!(
            "let plugin aws handle such objects: `cp -r {USUAL_DIRECTORY} site-plugins`, whose other plugins take part, too; \
             review its section in site-plugins/plugins.toml, and write `enabled = true` there, as {SED} site-plugins/plugins.toml` \
             does, and pass --plugins site-plugins"
        );
        assert_eq!(enabling_text("aws", None), expected);
        assert_eq!(enabling_text("aws", Some(USUAL_DIRECTORY)), expected, "an upgrade replaces the original");
    }

    #[test]
    fn plugins_that_releases_enable_need_a_directory() {
        let expected =
            format!("let plugin metal3-endpoints handle such objects: pass --plugins {USUAL_DIRECTORY}");
        assert_eq!(enabling_text("metal3-endpoints", None), expected);
    }

    #[test]
    fn plugins_of_the_runs_directory_are_enabled_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let added =
            format!("`cp {USUAL_DIRECTORY}/aws.wasm {path}`, `pivot-host plugin add {path}/aws.wasm`, ");
        let text = |first: &str| {
            format!(
                "let plugin aws handle such objects: {first}review its section in {path}/plugins.toml, and write \
                 `enabled = true` there, as {SED} {path}/plugins.toml` does"
            )
        };
        assert_eq!(enabling_text("aws", Some(path)), text(&added));
        std::fs::write(directory.path().join("aws.wasm"), "").unwrap();
        assert_eq!(enabling_text("aws", Some(path)), text(""));
    }

    /// The command of each of these texts, with the plugins.toml that a release has.
    #[test]
    fn command_enables_only_that_plugin() {
        let directory = tempfile::tempdir().unwrap();
        let grants = directory.path().join("plugins.toml");
        let bundled = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins/plugins.toml");
        let enabled = |file: &str| {
            let table: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
            let sections = table["plugins"].as_table().unwrap().iter();
            let is_enabled =
                |section: &toml::Value| section.get("enabled").is_none_or(|it| it.as_bool() == Some(true));
            sections.filter(|(_, it)| is_enabled(it)).map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let before = enabled(bundled);
        assert!(ENABLED_PLUGINS.iter().all(|plugin| before.contains(&(*plugin).to_owned())), "{before:?}");
        for plugin in ["aws", "azure", "gcp", "helm-addon", "ipam-in-cluster", "openstack", "vsphere"] {
            assert!(!before.contains(&plugin.to_owned()), "{plugin}");
            std::fs::copy(bundled, &grants).unwrap();
            let text = enabling_text(plugin, directory.path().to_str());
            let command = text.split('`').find(|part| part.starts_with("sed ")).unwrap();
            assert!(std::process::Command::new("sh").args(["-c", command]).status().unwrap().success());
            let mut after = enabled(grants.to_str().unwrap());
            after.retain(|name| !before.contains(name));
            assert_eq!(after, [plugin]);
        }
    }
}
