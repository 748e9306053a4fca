//! Moves there and back with the managers of each release of Cluster API on each release of Kubernetes.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::executables::{build_test, build_tested_pivot_host};
use crate::shell::{must, say};

const CLUSTER_API: [&str; 5] = ["1.8.4", "1.10.10", "1.12.8", "1.13.5", "1.14.2"];
const KUBERNETES: [&str; 3] = ["1.30.14", "1.33.13", "1.36.3"];
/// From an old management cluster to a new one.
const BETWEEN: &str = "1.30.14:1.36.3";

/// `cargo xtask matrix [CLUSTER_API/KUBERNETES …]`: these, or all.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let all =
        CLUSTER_API.iter().flat_map(|capi| KUBERNETES.iter().chain([&BETWEEN]).map(move |k8s| (*capi, *k8s)));
    let chosen: Vec<(&str, &str)> = if typed.is_empty() {
        all.collect()
    } else {
        let Some(chosen) = typed.iter().map(|pair| pair.split_once('/')).collect() else {
            bail!(
                "cargo xtask matrix [CLUSTER_API/KUBERNETES …], such as 1.10.10/1.33.13 or 1.13.5/{BETWEEN}"
            );
        };
        chosen
    };
    let program = build_tested_pivot_host()?;
    let mut results = Vec::new();
    for (cluster_api, kubernetes) in chosen {
        say(&format!("\n== Cluster API {cluster_api} on Kubernetes {kubernetes}"));
        let begun = Instant::now();
        let mut test = build_test("managers")?;
        test.arg("controllers_continue_where_they_stopped_there_and_back").env("PIVOT_HOST_BIN", &program);
        let result = must(test.env("PIVOT_CLUSTER_API", cluster_api).env("PIVOT_KUBERNETES", kubernetes));
        results.push((cluster_api, kubernetes, result.is_ok(), begun.elapsed()));
    }
    say("");
    for (cluster_api, kubernetes, passed, took) in &results {
        let result = if *passed { "passed" } else { "FAILED" };
        say(&format!(
            "Cluster API {cluster_api:8} Kubernetes {kubernetes:15} {result} {:>6.1}s",
            took.as_secs_f64()
        ));
    }
    if results.iter().all(|(_, _, passed, _)| *passed) { Ok(()) } else { bail!("not everything passed") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_releases_that_the_lab_runs_by_default_are_in_the_matrix() {
        let recipes = include_str!("../../tests/lab/src/assets/recipes.rs");
        let of = |name: &str| {
            let line = recipes.lines().find(|line| line.starts_with(&format!("pub const {name}: "))).unwrap();
            line.split('"').nth(1).unwrap()
        };
        assert!(KUBERNETES.contains(&of("KUBERNETES")));
        for name in ["CLUSTER_API", "CLUSTER_API_SILENT", "CLUSTER_API_NEWEST"] {
            assert!(CLUSTER_API.contains(&of(name)), "{name}");
        }
    }

    #[test]
    fn the_page_has_a_row_for_each_release() {
        let page = include_str!("../../docs/versions.md");
        let heads = format!("| Cluster API | {} |", KUBERNETES.join(" | "));
        assert!(page.contains(heads.trim_end_matches('|')), "{heads}");
        for release in CLUSTER_API {
            assert!(page.contains(&format!("\n| {release} | ")), "{release}");
        }
    }
}
