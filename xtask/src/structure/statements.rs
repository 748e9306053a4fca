//! Tests that pages that state the same fact agree, with each other and with the code.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::crates;
use crate::release::installed_plugins;
use crate::tracked::files_below;

/// Packages that open connections, with the words of SECURITY.md that say to what.
const CONNECTING: [(&str, &str); 5] = [
    ("host/controller", "an agent connects to its controller"),
    ("host/link", "an agent connects to its controller"),
    ("host/places", "the two sides"),
    ("host/registry", "the registry that you name"),
    ("host/runtime", "endpoints that plugins were granted to probe"),
];
/// Libraries that open connections.
const CLIENTS: [&str; 5] = ["hyper", "hyper-util", "kube", "reqwest", "tokio-rustls"];
/// Texts in which operators look for advice.
const ADVICE: [&str; 5] = [
    "docs/runbook.md",
    "docs/refusals.md",
    "docs/troubleshooting.md",
    "host/cli/src/output/tests/messages.txt",
    "host/cli/src/output/tests/texts.txt",
];

/// Returns a violation for each pair of statements that contradict each other.
fn violations(root: &Path) -> Result<Vec<String>> {
    let page = |path: &str| fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let mut violations = Vec::new();
    for path in ADVICE {
        violations.extend(unsafe_advice(&page(path)?).into_iter().map(|found| format!("{path}: {found}")));
    }
    violations.extend(unnamed_ports(&page("host/cli/src/args/service.rs")?, &page("docs/threat-model.md")?));
    violations.extend(unnamed_connections(root, &page("SECURITY.md")?)?);
    let plugins = installed_plugins();
    if !page("docs/guides/metal3.md")?.contains(&format!("cp -r {plugins} ")) {
        violations
            .push(format!("docs/guides/metal3.md doesn't copy {plugins}, where a release has the plugins"));
    }
    violations.extend(untyped_guides(root)?);
    let sizes = plugin_sizes(&page("docs/benchmarks-plugins.md")?)?;
    if !page("docs/plugin-authors.md")?.contains(&sizes) {
        violations.push(format!("docs/plugin-authors.md doesn't say that the bundled plugins have {sizes}"));
    }
    let is_released = page("wit/released.toml")?.lines().any(|line| line.trim() == "[[release]]");
    for (path, claim) in [
        ("docs/plugin-authors.md", "Nothing is released yet"),
        ("SECURITY.md", "No interface is released yet"),
    ] {
        if page(path)?.contains(claim) == is_released {
            violations.push(format!("{path}: \"{claim}\", and wit/released.toml says otherwise"));
        }
    }
    let one_release = page("docs/versions.md")?.contains("Both sides run the same release of Cluster API.");
    let guide = unwrap_lines(&page("docs/guides/cluster-to-cluster.md")?);
    if guide.contains("mixed releases of Cluster API are not in the [tested matrix](../versions.md)")
        != one_release
    {
        violations.push(
            "docs/guides/cluster-to-cluster.md and docs/versions.md differ about mixed releases".into(),
        );
    }
    Ok(violations)
}

/// Returns sentences that advise to delete, unpause or edit something by hand.
fn unsafe_advice(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for sentence in unwrap_lines(text).split(['.', '\n', ';']) {
        let words = sentence.to_lowercase();
        let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let by_hand = has(&["by hand"]) && has(&["delete", "unpause ", "remove a", "finalizer"]);
        let by_kubectl = has(&["kubectl"]) && has(&[" delete ", "\"paused\":false", "finalizers"]);
        if (by_hand || by_kubectl) && !has(&["never", "don't", "nothing", "whatever unpauses"]) {
            found.push(format!("advice that can destroy the last copy: {}", sentence.trim()));
        }
    }
    found
}

/// Returns the ports in the help of the services' flags that the threat model leaves out.
fn unnamed_ports(flags: &str, threat_model: &str) -> Vec<String> {
    let ports = flags.lines().filter_map(|line| {
        let (_, address) = line.trim().strip_prefix("///")?.rsplit_once('(')?;
        let (_, port) = address.strip_suffix(')')?.rsplit_once(':')?;
        port.parse::<u16>().ok()
    });
    ports
        .filter(|port| !threat_model.contains(&format!(":{port}")))
        .map(|port| format!("docs/threat-model.md doesn't name port {port}, at which a service listens"))
        .collect()
}

/// Returns the packages that open connections of which SECURITY.md says nothing.
fn unnamed_connections(root: &Path, security: &str) -> Result<Vec<String>> {
    let security = unwrap_lines(security);
    let mut violations = Vec::new();
    for folder in crates::below(root, &["host"])? {
        let manifest = fs::read_to_string(root.join(&folder).join("Cargo.toml"))?;
        let (product, _) = manifest.split_once("[dev-dependencies]").unwrap_or((&manifest, ""));
        let connects = product.lines().any(|line| {
            let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
            CLIENTS.contains(&name)
        });
        let package = folder.display().to_string();
        let words = CONNECTING.iter().find(|(name, _)| *name == package).map(|(_, words)| *words);
        if connects && !words.is_some_and(|words| security.contains(words)) {
            violations.push(format!("SECURITY.md doesn't say to what {package} connects"));
        }
    }
    Ok(violations)
}

/// Returns the guides whose commands no test types.
fn untyped_guides(root: &Path) -> Result<Vec<String>> {
    let files = crates::rust_files(&root.join("tests/scenarios/tests"))?;
    let tests = files.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let guides = files_below(&root.join("docs/guides"))?;
    let names = guides.iter().map(|guide| guide.display().to_string());
    let untyped = names.filter(|name| !tests.iter().any(|test| types_guide(test, name)));
    Ok(untyped.map(|name| format!("docs/guides/{name} is typed by no test")).collect())
}

/// Returns true if a test opens a guide, and ensures that all of its commands are typed.
fn types_guide(test: &str, name: &str) -> bool {
    let opens = [format!("\"{name}\""), format!("/docs/guides/{name}\"")];
    let ensures = [".ensure_all_typed()", "type_commands("];
    opens.iter().any(|words| test.contains(words)) && ensures.iter().any(|words| test.contains(words))
}

/// Returns the sizes of the bundled plugins as a page says them, from the table of the benchmark.
fn plugin_sizes(benchmark: &str) -> Result<String> {
    let (_, table) = benchmark.split_once("| component, KB |").context("no table of sizes")?;
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let size = |row: &str| -> Option<u64> {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let name = cells.next()?;
        if name.starts_with("all ") { None } else { cells.next()?.parse().ok() }
    };
    let sizes: Vec<u64> = rows.filter_map(size).collect();
    let (Some(least), Some(most)) = (sizes.iter().min(), sizes.iter().max()) else { bail!("no sizes") };
    let round = |size: u64| (size + 5) / 10 * 10;
    Ok(format!("{} to {} KB", round(*least), round(*most)))
}

/// Returns a page with each paragraph on one line.
fn unwrap_lines(page: &str) -> String {
    page.split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn pages_agree_with_each_other_and_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    assert_eq!(violations(&root).unwrap(), Vec::<String>::new());
}

#[test]
fn advice_to_delete_by_hand_is_found() {
    for bad in ["Delete it by hand.", "Unpause the\nCluster by hand", "`kubectl -n a delete cluster b`"] {
        assert_eq!(unsafe_advice(bad).len(), 1, "{bad}");
    }
    for good in ["Never delete it by hand.", "Don't unpause it by hand.", "pause it by hand", "delete DIR"] {
        assert_eq!(unsafe_advice(good), Vec::<String>::new(), "{good}");
    }
}

#[test]
fn only_opened_and_typed_guides_count() {
    for (test, expected) in [
        ("let page = \"a.md\"; guide.ensure_all_typed();", true),
        ("let page = \"../docs/guides/a.md\"; type_commands(page);", true),
        ("let page = \"a.md\"; guide.type_section(\"Move\");", false),
        ("// a.md\nlet page = \"aa.md\"; guide.ensure_all_typed();", false),
    ] {
        assert_eq!(types_guide(test, "a.md"), expected, "{test}");
    }
}

#[test]
fn each_port_is_looked_for() {
    let flags = "/// Serve here (127.0.0.1:8080)\n/// Agents (0.0.0.0:8443)\n/// Nothing (default)\n";
    assert_eq!(unnamed_ports(flags, "at :8080").len(), 1);
    assert_eq!(unnamed_ports(flags, "at :8080 and :8443"), Vec::<String>::new());
}

#[test]
fn sizes_are_those_of_the_smallest_and_largest() {
    let table = "| | component, KB | wall |\n|---|--:|--:|\n| a | 196 | 1 |\n| b | 139 | 1 |\n| all 2 | 335 | 2 |\n\n| c | 1 |\n";
    assert_eq!(plugin_sizes(table).unwrap(), "140 to 200 KB");
}
