//! Moves there and back with the managers of each release of Cluster API on each release of Kubernetes.
//!
//! Pairs of releases move from the older to the newer one.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::executables::{build_test, build_tested_pivot_host};
use crate::shell::{must, say};

const CLUSTER_API: [&str; 5] = ["1.8.4", "1.10.10", "1.12.8", "1.13.5", "1.14.2"];
const KUBERNETES: [&str; 3] = ["1.30.14", "1.33.13", "1.36.3"];
/// From an old management cluster to a new one.
const BETWEEN: &str = "1.30.14:1.36.3";

/// From an older release of Cluster API to a newer one: three lines to the newest two, and each line to the next.
const PAIRS: [&str; 12] = [
    "1.9.6:1.13.5",
    "1.9.6:1.14.2",
    "1.10.10:1.13.5",
    "1.10.10:1.14.2",
    "1.11.7:1.13.5",
    "1.11.7:1.14.2",
    "1.8.4:1.9.6",
    "1.9.6:1.10.10",
    "1.10.10:1.11.7",
    "1.11.7:1.12.8",
    "1.12.8:1.13.5",
    "1.13.5:1.14.2",
];
/// The pairs that also go from an old release of Kubernetes to a new one.
const PAIRS_BETWEEN: [&str; 2] = ["1.10.10:1.14.2", "1.13.5:1.14.2"];

/// The word that selects all pairs of releases.
const ALL_PAIRS: &str = "pairs";

fn list_pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let newest = PAIRS.into_iter().zip(std::iter::repeat(KUBERNETES[2]));
    newest.chain(PAIRS_BETWEEN.into_iter().zip(std::iter::repeat(BETWEEN)))
}

/// `cargo xtask matrix [pairs | CLUSTER_API/KUBERNETES …]`: these, or all.
pub(crate) fn run(typed: &[&str]) -> Result<()> {
    let same =
        CLUSTER_API.iter().flat_map(|capi| KUBERNETES.iter().chain([&BETWEEN]).map(move |k8s| (*capi, *k8s)));
    let chosen: Vec<(&str, &str)> = if typed.is_empty() {
        same.chain(list_pairs()).collect()
    } else if typed == [ALL_PAIRS] {
        list_pairs().collect()
    } else {
        let Some(chosen) = typed.iter().map(|pair| pair.split_once('/')).collect() else {
            bail!(
                "cargo xtask matrix [{ALL_PAIRS} | CLUSTER_API/KUBERNETES …], such as 1.10.10/1.33.13, 1.13.5/{BETWEEN} or \
                 1.10.10:1.14.2/1.36.3"
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
        let name = match cluster_api.contains(':') {
            true => "newer_controllers_continue_with_older_objects",
            false => "controllers_continue_where_they_stopped_there_and_back",
        };
        test.arg(name).env("PIVOT_HOST_BIN", &program);
        let result = must(test.env("PIVOT_CLUSTER_API", cluster_api).env("PIVOT_KUBERNETES", kubernetes));
        results.push((cluster_api, kubernetes, result.is_ok(), begun.elapsed()));
    }
    say("");
    for (cluster_api, kubernetes, passed, took) in &results {
        let result = if *passed { "passed" } else { "FAILED" };
        say(&format!(
            "Cluster API {cluster_api:14} Kubernetes {kubernetes:15} {result} {:>6.1}s",
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
        let pair = format!("{}:{}", of("CLUSTER_API_OLDER"), of("CLUSTER_API_NEWEST"));
        assert!(PAIRS.contains(&&*pair), "{pair}");
    }

    #[test]
    fn the_page_has_a_row_for_each_pair() {
        let page = include_str!("../../docs/versions.md");
        for (pair, kubernetes) in list_pairs() {
            let (source, target) = pair.split_once(':').unwrap();
            let kubernetes = kubernetes.replace(':', " to ");
            let row = format!("\n| {source} | {target} | {kubernetes} | ");
            assert!(page.contains(&row), "{row}");
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
