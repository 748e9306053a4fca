//! The program as users run it, on the example that lies in the repository.
//!
//! What it does between API servers is tested in `tests/scenarios`.

#[cfg(test)]
#[path = "binary/encryption.rs"]
mod encryption;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod saved;
#[cfg(test)]
mod schemas;
#[cfg(test)]
#[path = "binary/servers.rs"]
mod servers;

#[cfg(test)]
#[path = "binary/tutorial.rs"]
mod tutorial;
#[cfg(test)]
mod typed;

#[cfg(test)]
mod example {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::Value;
    use tempfile::TempDir;

    use crate::schemas;

    pub(crate) fn example() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metal3").canonicalize().unwrap()
    }

    pub(crate) fn host(arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // Nothing of the machine that runs the tests counts.
        command.env_clear().current_dir(std::env::temp_dir());
        command.args(arguments).output().unwrap()
    }

    /// A verb about the example.
    pub(crate) fn of_example(verb: &str, arguments: &[&str]) -> Output {
        let example = example();
        host(&[&[verb, "--from-directory", example.to_str().unwrap()], arguments].concat())
    }

    pub(crate) fn code(output: &Output) -> i32 {
        output.status.code().unwrap()
    }

    pub(crate) fn out(output: &Output) -> String {
        String::from_utf8(output.stdout.clone()).unwrap().replace(example().to_str().unwrap(), "EXAMPLE")
    }

    pub(crate) fn err(output: &Output) -> String {
        String::from_utf8(output.stderr.clone()).unwrap()
    }

    pub(crate) fn json(output: &Output) -> Value {
        let document =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)));
        schemas::check(&document);
        document
    }

    #[test]
    fn the_plan_of_the_example() {
        let output = of_example("plan", &["-n", "classy"]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        expect_test::expect_file!["./plan-classy.txt"].assert_eq(&out(&output));
        let output = of_example("plan", &["-n", "classy", "--tree"]);
        expect_test::expect_file!["./plan-classy-tree.txt"].assert_eq(&out(&output));
    }

    /// The example, with a Cluster that somebody paused.
    pub(crate) fn paused() -> TempDir {
        let dir = TempDir::new().unwrap();
        for entry in fs::read_dir(example()).unwrap().chain(fs::read_dir(example().join("crds")).unwrap()) {
            let file = entry.unwrap();
            if file.file_type().unwrap().is_file() {
                let text = fs::read_to_string(file.path()).unwrap();
                let text = text.replacen("kind: Cluster\nmetadata:\n", PAUSED, 1);
                fs::write(dir.path().join(file.file_name()), text).unwrap();
            }
        }
        dir
    }

    const PAUSED: &str = "kind: Cluster\nmetadata:\n  annotations: {cluster.x-k8s.io/paused: ''}\n";

    // proves: D32, T79, T84
    #[test]
    fn a_directory_is_verified_without_a_cluster() {
        let dir = TempDir::new().unwrap();
        let copy = dir.path().join("copy");
        let to = copy.to_str().unwrap();
        assert_eq!(code(&of_example("move", &["--to-directory", to])), 0);
        let verify = |flags: &[&str]| host(&[&["verify", to][..], flags].concat());
        let whole = verify(&["-o", "json"]);
        schemas::check(&json(&whole));
        assert_eq!(
            (code(&whole), &json(&whole)["asWritten"], &json(&whole)["objects"]),
            (0, &true.into(), &121.into())
        );
        assert!(out(&verify(&[])).starts_with("Verified: directory "), "{}", out(&verify(&[])));

        let names = || fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().path());
        let named = |kind: &str| names().find(|path| path.to_string_lossy().contains(kind)).unwrap();
        fs::set_permissions(named("/Secret_"), fs::Permissions::from_mode(0o644)).unwrap();
        let exposed = verify(&[]);
        assert!(
            code(&exposed) == 0 && err(&exposed).contains("others can read the data of Secrets"),
            "{}",
            err(&exposed)
        );

        // Somebody edits a Machine, and adds a note.
        let machine = named("/Machine.");
        let text = fs::read_to_string(&machine).unwrap();
        fs::write(&machine, format!("{text} ")).unwrap();
        fs::write(
            copy.join("note.yaml"),
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: note, namespace: x}}",
        )
        .unwrap();
        let altered = verify(&["-o", "json"]);
        schemas::check(&json(&altered));
        let one = |field: &str| json(&altered)[field].as_array().unwrap().len();
        assert_eq!((code(&altered), one("changed"), one("added"), one("exposed")), (3, 1, 1, 1));
        assert!(
            err(&altered).contains("changed: Machine.") && err(&altered).contains("added: note.yaml"),
            "{}",
            err(&altered)
        );

        fs::remove_file(machine).unwrap();
        // Each defect is listed at once.
        let broken = named("/MachineDeployment.");
        fs::write(&broken, "{").unwrap();
        fs::write(copy.join("other.yaml"), "[").unwrap();
        let short = verify(&[]);
        let shown = err(&short);
        assert_eq!(code(&short), 3);
        for line in ["missing: Machine.", "changed: MachineDeployment.", "added: note.yaml and other.yaml"] {
            assert!(shown.contains(line), "no {line:?} in {shown}");
        }
        assert_eq!(shown.matches("unreadable: ").count(), 2, "{shown}");
        let short = json(&verify(&["-o", "json"]));
        schemas::check(&short);
        assert_eq!((&short["kinds"], &short["asWritten"]), (&Value::Null, &false.into()));
        // What somebody wrote by hand is readable, and nobody knows whether that is all.
        let by_hand = host(&["verify", example().to_str().unwrap(), "-o", "json"]);
        assert_eq!((code(&by_hand), &json(&by_hand)["asWritten"]), (3, &Value::Null));
    }

    #[test]
    fn a_refused_plan_is_still_shown() {
        let source = paused();
        let line = ["plan", "--from-directory", source.path().to_str().unwrap(), "-n", "metal3"];
        let output = host(&line);
        assert_eq!(code(&output), 3);
        assert!(out(&output).contains("Problems (1):"), "{}", out(&output));
        assert!(out(&output).contains("--accept already-paused"), "{}", out(&output));
        assert!(err(&output).contains("state: nothing is changed on either side"), "{}", err(&output));
        let output = host(&[&line[..], &["-o", "json"]].concat());
        let document = json(&output);
        assert_eq!(code(&output), 3);
        assert_eq!((&document["kind"], document["refusals"].as_array().unwrap().len()), (&"Plan".into(), 1));
        let accepted = host(&[&line[..], &["--accept", "already-paused"]].concat());
        assert_eq!(code(&accepted), 0);
        assert!(!out(&accepted).contains("not needed"), "{}", out(&accepted));
    }

    #[test]
    fn plans_are_written_where_reports_are() {
        let dir = TempDir::new().unwrap();
        for (name, begins) in [("plan.json", "{"), ("plan.html", "<!")] {
            let file = dir.path().join(name);
            let planned = of_example("plan", &["--report", file.to_str().unwrap()]);
            assert_eq!(code(&planned), 0, "{}", err(&planned));
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.to_lowercase().starts_with(begins), "{name}: {text:.100}");
        }
        let report: Value =
            serde_json::from_slice(&std::fs::read(dir.path().join("plan.json")).unwrap()).unwrap();
        assert_eq!(report, json(&of_example("plan", &["-o", "json"])));
    }

    #[test]
    fn a_plan_that_stops_writes_its_report() {
        let dir = TempDir::new().unwrap();
        for (name, begins) in [("plan.json", "{"), ("plan.html", "<!")] {
            let file = dir.path().join(name);
            let stopped = host(&["plan", "--from-directory", "/nope", "--report", file.to_str().unwrap()]);
            assert_eq!(code(&stopped), 3, "{}", err(&stopped));
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.to_lowercase().starts_with(begins) && text.contains("/nope"), "{name}: {text:.100}");
        }
        let report: Value =
            serde_json::from_slice(&std::fs::read(dir.path().join("plan.json")).unwrap()).unwrap();
        assert_eq!(report, json(&host(&["plan", "--from-directory", "/nope", "-o", "json"])));
    }

    #[test]
    fn commands_without_their_subcommand_print_help() {
        for words in [&[][..], &["plugin"], &["generate"], &["handover"]] {
            let output = host(words);
            assert_eq!((code(&output), out(&output).as_str()), (2, ""), "{words:?}");
            let help = err(&output);
            assert!(!help.contains("error:") && help.contains("Usage: pivot-host"), "{words:?}: {help}");
        }
    }

    #[test]
    fn accepted_risks_that_nothing_has_are_reported() {
        let source = paused();
        let line = ["plan", "--from-directory", source.path().to_str().unwrap(), "-n", "metal3"];
        let accepted = ["--accept", "already-paused", "--accept", "owner-dropped=Secret"];
        let output = host(&[&line[..], &accepted].concat());
        assert_eq!(code(&output), 0, "{}", err(&output));
        assert!(out(&output).contains("not needed: owner-dropped=Secret"), "{}", out(&output));
        for several in ["owner-dropped", "owner-dropped=*", "owner-dropped=Secret,ConfigMap"] {
            let refused = host(&[&line[..], &["--accept", several]].concat());
            assert_eq!(code(&refused), 2);
            assert!(
                err(&refused).contains("write owner-dropped=KIND.group for each kind"),
                "{}",
                err(&refused)
            );
        }
    }

    #[test]
    fn move_into_directory_can_be_planned() {
        let dir = TempDir::new().unwrap();
        let copy = dir.path().join("copy");
        let to = copy.to_str().unwrap();
        let moved = of_example("move", &["--to-directory", to, "-o", "json"]);
        assert_eq!(code(&moved), 0, "{}", err(&moved));
        let report = json(&moved);
        assert_eq!((&report["kind"], &report["outcome"]), (&"Report".into(), &"Copied".into()));
        assert_eq!(report["kept"]["Machine.cluster.x-k8s.io"], 7);
        assert!(report["phases"][0]["milliseconds"].is_u64(), "{report}");
        assert!(err(&moved).contains("Copied:    121 objects in "), "{}", err(&moved));
        assert!(err(&moved).lines().count() < 20, "{}", err(&moved));

        let files: Vec<_> = fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap()).collect();
        assert_eq!(files.len(), 122, "121 objects and a manifest");
        for file in files {
            assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.path());
        }
        let manifest: Value = serde_json::from_slice(&fs::read(copy.join("manifest.json")).unwrap()).unwrap();
        schemas::check(&manifest);
        assert_eq!((&manifest["moveId"], &manifest["handover"]), (&report["moveId"], &false.into()));

        // What was written is a source as good as the first.
        let again = host(&["plan", "--from-directory", to, "-o", "json"]);
        assert_eq!(code(&again), 0, "{}", err(&again));
        assert_eq!(json(&again)["summary"]["objects"], 121);

        // Nothing in it is overwritten.
        for flags in [&["--to-directory", to][..], &["--to-directory", to, "--accept", "unprovisioned"]] {
            let second = of_example("move", flags);
            assert_eq!(code(&second), 3);
            assert!(err(&second).contains("belongs to move"), "{}", err(&second));
        }
        assert_eq!(code(&host(&["plan", "--from-directory", to])), 0, "it is as complete as before");
    }

    /// clusterctl writes all of them, and pauses the source's Clusters.
    // proves: W2
    #[test]
    fn w2_a_dry_run_writes_no_file() {
        let dir = TempDir::new().unwrap();
        let dry =
            of_example("move", &["--to-directory", dir.path().to_str().unwrap(), "--dry-run", "-o", "json"]);
        let document = json(&dry);
        assert_eq!(
            (code(&dry), &document["kind"], &document["summary"]["objects"]),
            (0, &"Plan".into(), &121.into())
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn events_are_available_as_json_lines() {
        let dir = TempDir::new().unwrap();
        let to = dir.path().join("copy");
        let flags = ["--to-directory", to.to_str().unwrap(), "--log-format", "json"];
        let moved = of_example("move", &flags);
        assert_eq!(code(&moved), 0, "{}", err(&moved));
        let lines: Vec<Value> = err(&moved).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for line in &lines {
            schemas::check(line);
            let has = |field: &str| line[field].is_string();
            assert!(has("time") && has("level") && has("event") && has("message"), "{line}");
        }
        let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
        assert_eq!(of("planned")[0]["objects"], 121);
        let created = |line: &&&Value| line["verb"] == "created" && line["side"] == "target";
        assert_eq!(of("object").iter().filter(created).count(), 121);
        assert_eq!(
            of("phase-done").iter().map(|line| &line["phase"]).collect::<Vec<_>>(),
            ["Checked", "Copied"]
        );

        // Another move, into what is now this one's.
        let stopped = of_example("move", &[flags.as_slice(), &["--accept", "unprovisioned"]].concat());
        assert_eq!(code(&stopped), 3);
        let last: Value = serde_json::from_str(err(&stopped).lines().last().unwrap()).unwrap();
        assert_eq!((&last["event"], &last["level"]), (&"message".into(), &"info".into()), "{last}");
    }

    #[test]
    fn a_refused_move_leaves_the_directory_free() {
        let dir = TempDir::new().unwrap();
        let source = paused();
        let (from, to) = (source.path().to_str().unwrap(), dir.path().to_str().unwrap());
        for _ in 0..2 {
            let refused = host(&["move", "--from-directory", from, "--to-directory", to, "-o", "json"]);
            let document = json(&refused);
            assert_eq!((code(&refused), &document["kind"]), (3, &"Error".into()));
            assert_eq!((&document["exitCode"], &document["reason"]), (&3.into(), &"Refused".into()));
            assert_eq!(document["refusals"][0]["object"]["kind"], "Cluster");
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn empty_move_has_its_exit_code() {
        let dir = TempDir::new().unwrap();
        let arguments = ["-n", "nobody", "--to-directory", dir.path().to_str().unwrap()];
        assert_eq!(code(&of_example("move", &arguments)), 7);
        let document = json(&of_example("move", &[&arguments[..], &["-o", "json"]].concat()));
        assert_eq!((&document["exitCode"], &document["reason"]), (&7.into(), &"Empty".into()));
        assert_eq!(code(&of_example("plan", &["-n", "nobody"])), 7);
    }

    #[test]
    fn an_invalid_command_line_exits_with_2() {
        for line in [
            &["move"][..],
            &["fly"],
            &["move", "--nope"],
            &["move", "--from-directory", "d", "--kubeconfig", "k", "--to-kubeconfig", "k"],
            &["status", "--from-directory", "d"],
            &["resume", "--from-directory", "d", "--to-directory", "e"],
        ] {
            let output = host(line);
            assert_eq!((code(&output), out(&output).as_str()), (2, ""), "{line:?}");
        }
    }

    #[test]
    fn the_environment_stands_in_for_flags() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.env_clear().arg("plan").env("PIVOT_HOST_FROM_DIRECTORY", example());
        command.env("PIVOT_HOST_OUTPUT", "yaml");
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{}", err(&output));
        assert!(
            out(&output).starts_with("apiVersion: pivot-host.io/v1alpha1\nkind: Plan\n"),
            "{}",
            out(&output)
        );
    }

    #[test]
    fn mistyped_variables_are_reported() {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.env_clear().args(["plan", "--from-directory"]).arg(example());
        command.env("PIVOT_HOST_OUTPT", "yaml").env("PIVOT_HOST_BIN", "elsewhere");
        let output = command.output().unwrap();
        let said = err(&output);
        let named = said.lines().filter(|line| line.contains("PIVOT_HOST_")).collect::<Vec<_>>();
        let expected = "warning: PIVOT_HOST_OUTPT sets no flag (did you mean PIVOT_HOST_OUTPUT?)";
        assert_eq!((code(&output), named), (0, vec![expected]), "{said}");
    }

    #[test]
    fn colors_follow_the_environment() {
        let is_colored = |variables: &[(&str, &str)]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
            command.env_clear().envs(variables.iter().copied());
            let output = command.args(["plan", "--from-directory", "/nope"]).output().unwrap();
            assert_eq!(code(&output), 3);
            err(&output).contains("\u{1b}[")
        };
        assert!(!is_colored(&[]) && is_colored(&[("CLICOLOR_FORCE", "1")]));
        assert!(!is_colored(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
        // Another command's flag has no effect.
        assert!(!is_colored(&[("PIVOT_HOST_COLOR", "always")]));
    }

    /// A variable may be left over from another command.
    #[test]
    fn no_variable_accepts_a_risk() {
        let run = |variables: &[(&str, &str)], arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
            command.env_clear().args(arguments).arg("--from-directory").arg(example());
            let output = command.envs(variables.iter().copied()).output().unwrap();
            out(&output) + &err(&output)
        };
        let risks = [("PIVOT_HOST_ACCEPT", "takeover-unchecked"), ("PIVOT_HOST_BREAK_LEASE", "true")];
        let said = run(&risks, &["plan", "-v"]);
        assert!(!said.contains("accepted"), "{said}");
        let typed = run(&[], &["plan", "-v", "--accept", "takeover-unchecked"]);
        assert!(typed.contains("accepted") && typed.contains("(takeover-unchecked)"), "{typed}");
    }

    #[test]
    fn closed_output_is_not_an_error() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.args(["plan", "--from-directory"]).arg(example()).stdout(writer);
        let output = command.output().unwrap();
        assert_eq!(code(&output), 0, "{}", err(&output));
    }

    #[test]
    fn completions_and_versions_are_printed() {
        for shell in ["zsh", "fish"] {
            let script = out(&host(&["completion", shell]));
            for name in ["pivot-host", "kubectl-pivot", "clusterctl-pivot"] {
                assert!(script.contains(name), "{shell}: {name}");
            }
        }
        assert_eq!(out(&host(&["version"])), format!("pivot-host {}\n", env!("CARGO_PKG_VERSION")));
        assert_eq!(json(&host(&["version", "-o", "json"]))["version"], env!("CARGO_PKG_VERSION"));
    }
}
