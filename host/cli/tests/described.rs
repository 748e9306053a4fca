//! `describe cluster` as users run it, on the example that lies in the repository.
//!
//! What it shows beside clusterctl is tested in `tests/scenarios`.

#[cfg(test)]
mod schemas;

#[cfg(test)]
mod example {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::Value;
    use tempfile::TempDir;

    use crate::schemas;

    fn example() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metal3").canonicalize().unwrap()
    }

    fn host(arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // Nothing of the machine that runs the tests counts.
        command.env_clear().current_dir(std::env::temp_dir());
        command.args(arguments).output().unwrap()
    }

    fn code(output: &Output) -> i32 {
        output.status.code().unwrap()
    }

    fn out(output: &Output) -> String {
        String::from_utf8(output.stdout.clone()).unwrap()
    }

    fn err(output: &Output) -> String {
        String::from_utf8(output.stderr.clone()).unwrap()
    }

    fn json(output: &Output) -> Value {
        let document =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)));
        schemas::check(&document);
        document
    }

    /// SINCE depends on when the test runs.
    fn without_times(text: &str) -> String {
        let (head, _) = text.split_once('\n').unwrap();
        let at = |name: &str| head.find(name).unwrap();
        let (since, message) = (at("SINCE"), at("MESSAGE"));
        let cut = |line: &str| -> String {
            let chars: Vec<char> = line.chars().collect();
            let part = |range: std::ops::Range<usize>| -> String {
                chars.iter().take(range.end).skip(range.start).collect()
            };
            format!("{}…  {}", part(0..since), part(message..chars.len())).trim_end().to_owned()
        };
        text.lines().map(cut).collect::<Vec<_>>().join("\n") + "\n"
    }

    #[test]
    fn a_cluster_of_the_example_is_described() {
        let example = example();
        let described = |more: &[&str]| {
            let line = ["describe", "cluster", "edge", "--from-directory", example.to_str().unwrap()];
            host(&[&line[..], more].concat())
        };
        let usual = described(&[]);
        assert_eq!((code(&usual), err(&usual)), (0, String::new()));
        expect_test::expect_file!["./describe-edge.txt"].assert_eq(&without_times(&out(&usual)));
        let flags =
            ["--grouping=false", "--echo", "--show-machinesets", "--show-templates", "--show-resourcesets"];
        let all = described(&[&flags[..], &["--show-conditions", "all+"]].concat());
        assert_eq!((code(&all), err(&all)), (0, String::new()));
        expect_test::expect_file!["./describe-edge-all.txt"].assert_eq(&without_times(&out(&all)));
        for more in [&[][..], &flags] {
            let document =
                json(&described(&[more, &["--show-conditions", "Machine", "-o", "json"]].concat()));
            let name = &document["cluster"]["object"]["name"];
            assert_eq!((&document["kind"], name), (&"Describe".into(), &"edge".into()));
        }
        let unmatched = described(&["--show-conditions", "Machin"]);
        assert!(
            code(&unmatched) == 0 && err(&unmatched).contains("--show-conditions Machin;"),
            "{}",
            err(&unmatched)
        );
    }

    #[test]
    fn missing_example_cluster_lists_the_others() {
        let example = example();
        let described = |name: &str, more: &[&str]| {
            let line = ["describe", "cluster", name, "--from-directory", example.to_str().unwrap()];
            host(&[&line[..], more].concat())
        };
        for (name, more) in [("other", &[][..]), ("tenant", &["-n", "metal3"]), ("classy/edge", &[])] {
            let output = described(name, more);
            assert_eq!(code(&output), 7, "{}", err(&output));
            for there in ["Cluster classy/tenant", "Cluster metal3/edge"] {
                assert!(err(&output).contains(there), "{}", err(&output));
            }
        }
        let document = json(&described("other", &["-o", "json"]));
        assert_eq!((&document["kind"], &document["exitCode"]), (&"Error".into(), &7.into()));
        let typed = host(&["describe", "cluster", "edge", "--from-directory", "/nowhere", "-o", "json"]);
        assert_eq!((code(&typed), &json(&typed)["exitCode"]), (3, &3.into()));
        // In one namespace each, and in neither alone.
        let dir = TempDir::new().unwrap();
        for namespace in ["a", "b"] {
            let cluster = format!(
                "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: c, namespace: {namespace}}}}}"
            );
            fs::write(dir.path().join(format!("{namespace}.yaml")), cluster).unwrap();
        }
        let twice = |name: &str| {
            host(&["describe", "cluster", name, "--from-directory", dir.path().to_str().unwrap()])
        };
        assert_eq!(code(&twice("c")), 3);
        assert!(err(&twice("c")).contains("  - Cluster a/c\n  - Cluster b/c\n"), "{}", err(&twice("c")));
        assert_eq!(code(&twice("b/c")), 0);
        // Written so, it has nothing to say, and what says nothing is empty.
        assert_eq!(out(&twice("b/c")).lines().nth(1), Some("Cluster b/c"));
    }
}
