//! A vendor's and an operator's way, from an empty folder to a move: only the program, cargo and one target are at hand.

#[cfg(test)]
mod schemas;

#[cfg(test)]
mod vendor {
    mod languages;
    mod providers;

    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};
    use std::{env, fs};

    use serde_json::Value;
    use tempfile::TempDir;

    use crate::schemas;

    const TARGET: &str = "wasm32-wasip2";

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    /// Where it is built: kept, so that a second run costs seconds.
    fn target() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("vendor")
    }

    /// The cache of npm: kept, so that a second run needs no network.
    fn npm_cache() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm")
    }

    struct Folder {
        dir: TempDir,
    }

    impl Folder {
        fn path(&self, below: &str) -> PathBuf {
            self.dir.path().join(below)
        }

        /// The program, and the code it ended with.
        fn host(&self, code: i32, arguments: &[&str]) -> Output {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
            command.env_clear().current_dir(self.dir.path()).args(arguments);
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{}", out(&output), err(&output));
            output
        }

        /// A line as somebody types it, below the folder; it has to succeed.
        fn typed(&self, below: &str, line: &str) -> String {
            let mut command = Command::new("sh");
            for (name, _) in env::vars_os() {
                // Set by the cargo that runs the test, for its own work.
                let cargos =
                    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_TARGET_DIR", "RUSTC_WRAPPER", "CARGO"];
                let name = name.to_string_lossy();
                if cargos.contains(&&*name) || name.starts_with("PIVOT_HOST_") || name == "KUBECONFIG" {
                    command.env_remove(&*name);
                }
            }
            let program = Path::new(env!("CARGO_BIN_EXE_pivot-host")).parent().unwrap().to_owned();
            let path = env::var_os("PATH").unwrap();
            let path = env::join_paths([program].into_iter().chain(env::split_paths(&path))).unwrap();
            let output =
                command.env("PATH", path).current_dir(self.path(below)).args(["-ec", line]).output().unwrap();
            assert!(output.status.success(), "{line}: {}{}", out(&output), err(&output));
            out(&output)
        }

        /// Makes the component, with the target that the documents name; where rustup can't have it, with another compiler.
        fn build(&self, project: &str) {
            let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
            if installed.is_ok_and(|list| out(&list).lines().any(|line| line.trim() == TARGET)) {
                self.typed(project, BUILD);
                return;
            }
            let built = pivot_guests::build_guests(&self.path(project), &[], &self.path("built")).unwrap();
            let release = self.path(project).join("target").join(TARGET).join("release");
            fs::create_dir_all(&release).unwrap();
            fs::copy(built.first().unwrap(), release.join(project.replace('-', "_") + ".wasm")).unwrap();
        }
    }

    /// The lines that a document tells to type, without what it says of them.
    fn lines(document: &str) -> Vec<String> {
        let mut shell = false;
        let mut lines = Vec::new();
        for line in document.lines() {
            match line.strip_prefix("```") {
                Some(language) => shell = language == "sh",
                None if shell => lines.push(line.split("  #").next().unwrap().trim().to_owned()),
                None => {}
            }
        }
        lines
    }

    /// What `plugin run` shows, without time and memory.
    fn answers(run: &str) -> Vec<String> {
        run.lines().map(|line| line.split("  (").next().unwrap().to_owned()).collect()
    }

    fn out(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn err(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn json(output: &Output) -> Value {
        let document =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)));
        schemas::check(&document);
        document
    }

    /// The example's namespace `metal3`, with the label on a ConfigMap that would move.
    fn world(folder: &Folder) {
        fs::create_dir(folder.path("world")).unwrap();
        let example = repository().join("examples/metal3");
        for entry in fs::read_dir(&example).unwrap().chain(fs::read_dir(example.join("crds")).unwrap()) {
            let file = entry.unwrap();
            if file.file_type().unwrap().is_file() {
                let text = fs::read_to_string(file.path()).unwrap();
                let labelled = "  name: calico-manifests\n  labels: {example.com/stays: ''}\n";
                let text = text.replacen("  name: calico-manifests\n", labelled, 1);
                fs::write(folder.path("world").join(file.file_name()), text).unwrap();
            }
        }
    }

    /// One test, because each step stands on the one before.
    #[test]
    fn from_an_empty_folder_to_a_move() {
        let folder = Folder { dir: TempDir::new().unwrap() };
        first_ten_minutes(&folder);
        trials(&folder);
        second_hook(&folder);
        operator(&folder);
        moves(&folder);
    }

    /// What docs/plugin-authors.md says to type, and the project's README after it.
    fn first_ten_minutes(folder: &Folder) {
        let text = fs::read_to_string(repository().join("docs/plugin-authors.md")).unwrap();
        let (_, text) = text.split_once("\n## The first ten minutes\n").unwrap();
        let (text, _) = text.split_once("\n## ").unwrap();
        let lines_to_type = lines(text);
        let (new, rest) = lines_to_type.split_first().unwrap();
        folder.typed("", new);
        assert_eq!(lines(&fs::read_to_string(folder.path("my-hosts/README.md")).unwrap()), rest);
        folder.host(3, &["plugin", "new", "my-hosts"]);
        // The versions that the bundled plugins are built with, so that the test is the same tomorrow.
        fs::copy(repository().join("plugins/Cargo.lock"), folder.path("my-hosts/Cargo.lock")).unwrap();
        fs::create_dir_all(target()).unwrap();
        std::os::unix::fs::symlink(target(), folder.path("my-hosts/target")).unwrap();

        let mut said = BTreeMap::new();
        for line in rest {
            if line == BUILD {
                folder.build("my-hosts")
            } else {
                drop(said.insert(verb(line), folder.typed("my-hosts", line)))
            }
        }
        let says = |verb: &str, text: &str| {
            let said = said.get(verb).unwrap_or_else(|| panic!("no `{verb}` in {:?}", said.keys()));
            assert!(said.contains(text), "no {text:?} in what `{verb}` says:\n{said}");
        };
        says("plugin inspect", "  sees     ConfigMap\n");
        // The card of a project that nobody has worked on yet doesn't claim to do what the template does.
        let card = "The vendor says: \"my-hosts: its author hasn't said yet what it does\"\n";
        for verb in ["plugin inspect", "plugin add"] {
            says(verb, "my-hosts 0.1.0: at worst, ");
            says(verb, &format!("\n{card}  sha256 "));
            says(verb, &format!("review it:\n\n# {card}"));
            says(verb, "\n[plugins.my-hosts]\nhooks = [\"relate\"]\n");
        }
        let worst = "\n  - leave ConfigMap out of the move, and add objects of the moving namespaces to it\n";
        says("plugin inspect", worst);
        assert_eq!(answers(&said["plugin run"]), RELATED);
        assert!(said["plugin verify"].contains("  my-hosts 0.1.0\n"));
        says("plan", "Plan: 1 object,");
        says("plan", "  1 ConfigMap\n");
        says("plan", "it is labelled example.com/stays");
    }

    /// What a line of the documents does: `cargo test`, `plugin run`, `plan`.
    fn verb(line: &str) -> String {
        let words: Vec<_> = line.split(' ').filter(|word| *word != "pivot-host").collect();
        if words[0] == "plan" { "plan".to_owned() } else { words[..2].join(" ") }
    }

    /// `plugin run`, with all that can be said to it.
    fn trials(folder: &Folder) {
        let ran = json(&run(folder, 0, &["--hook", "relate", "-o", "json"]));
        assert_eq!((&ran["kind"], &ran["hook"]), (&"PluginRun".into(), &"relate".into()));
        // A kind that it does not see is not shown to it.
        assert_eq!(ran["calls"].as_array().unwrap().len(), 2);
        let call = &ran["calls"][0];
        assert_eq!(call["answer"][0]["leave"], "it is labelled example.com/stays");
        assert!(call["timeUs"].as_u64() > Some(0) && call["peakMemory"].as_u64() > Some(0), "{call}");
        let no_hook = err(&run(folder, 2, &["--hook", "hold"]));
        assert!(no_hook.contains("my-hosts has no hook hold; it has relate"), "{no_hook}");
        assert!(err(&run(folder, 2, &["--hook", "halt"])).contains("there are relate, check, hold"));
        let with = folder.path("trial.toml");
        fs::write(
            &with,
            "[plugins.my-hosts]\nhooks = ['relate']\nkinds = ['ConfigMap']\nconfig = { lable = 'x' }\n",
        )
        .unwrap();
        let failed = err(&run(folder, 6, &["--hook", "relate", "--config", with.to_str().unwrap()]));
        let why = "the check of its [plugins.my-hosts.config] in plugins.toml failed: configuration: lable: unknown field";
        assert!(failed.contains(why), "{failed}");
    }

    fn run(folder: &Folder, code: i32, more: &[&str]) -> Output {
        fs::write(folder.path("objects.yaml"), OBJECTS).unwrap();
        let line = ["plugin", "run", COMPONENT, "--objects", "objects.yaml"];
        folder.host(code, &[&line[..], more].concat())
    }

    /// The plugin asks for more than its section grants; and what it says stops a move.
    fn second_hook(folder: &Folder) {
        let source = folder.path("my-hosts/src/lib.rs");
        let first = fs::read_to_string(&source).unwrap();
        let second = first
            .replace(".sees(CONFIG_MAP)", ".settles(CONFIG_MAP).reads(Side::Source, CONFIG_MAP)")
            .replace("    fn relate(", &format!("{SECOND}\n    fn relate("))
            .replace("hooks = [relate]", "hooks = [relate, check, settle]");
        fs::write(&source, second).unwrap();
        folder.build("my-hosts");

        let stopped = run(folder, 3, &["--hook", "check", "-v"]);
        assert!(err(&stopped).contains("checking for example.com/stays"), "{}", err(&stopped));
        assert!(out(&stopped).contains("  stop full: no room; make some\n"), "{}", out(&stopped));
        assert!(err(&stopped).contains("the only call would have stopped a move"), "{}", err(&stopped));
        let waits = out(&run(folder, 0, &["--hook", "check", "--point", "after-pause"]));
        assert!(waits.contains("  wait soon: not yet\n"), "{waits}");
        let stopped = run(folder, 3, &["--hook", "settle"]);
        assert_eq!(
            answers(&out(&stopped))[1..],
            ["  stop stuck: it is stuck", "settle ConfigMap default/other", "  done"]
        );
        assert!(err(&stopped).contains("1 of 2 calls would have stopped a move"), "{}", err(&stopped));

        fs::copy(folder.path(COMPONENT), folder.path("my-hosts/plugins/my_hosts.wasm")).unwrap();
        let missing = [
            "the hook check",
            "the hook settle",
            "to change ConfigMap of the target in settle",
            "to read ConfigMap of the source in the namespaces that move",
        ];
        let (file, grants) = ("my-hosts/plugins/my_hosts.wasm", folder.path("my-hosts/plugins/plugins.toml"));
        let kept = fs::read_to_string(&grants).unwrap();
        // The name is enabled for the file that was there before.
        let lock = folder.path("my-hosts/plugins/plugins.lock");
        let digests = fs::read_to_string(&lock).unwrap();
        let refused = err(&folder.host(6, &["plugin", "add", file]));
        let (_, command) = refused.trim_end().trim_end_matches('`').rsplit_once('`').unwrap();
        assert_eq!(command, format!("pivot-host plugin add --grant {file}"));
        assert_eq!(fs::read_to_string(&lock).unwrap(), digests);
        let locked = folder.typed("", command);
        assert!(locked.contains("\nlocked as it is now, in place of version 0.1.0 (sha256 "), "{locked}");
        assert_eq!(fs::read_to_string(&grants).unwrap(), kept);
        let lacks: String = missing.map(|grant| format!("  - {grant}\n")).concat();
        assert!(
            locked.contains(&format!("A move refuses the plugin until that section also grants:\n{lacks}\n")),
            "{locked}"
        );

        let refused = err(&folder.host(6, &["plugin", "verify", "my-hosts/plugins"]));
        assert!(
            refused
                .contains(&format!("[plugins.my-hosts], lacks\n{lacks}`pivot-host plugin inspect {file}`")),
            "{refused}"
        );
        let refused = json(&folder.host(6, &["plugin", "verify", "my-hosts/plugins", "-o", "json"]));
        assert_eq!(refused["faults"][0]["missing"], Value::from(missing.to_vec()));

        // What both print is what has to be written.
        let inspected = out(&folder.host(0, &["plugin", "inspect", file]));
        let (_, section) = inspected.split_once("review it:\n\n").unwrap();
        assert!(locked.ends_with(section), "{locked}");
        fs::write(&grants, section).unwrap();
        folder.host(0, &["plugin", "verify", "my-hosts/plugins"]);
        let locked = out(&folder.host(0, &["plugin", "add", file]));
        assert!(locked.ends_with("grants what it asks for and was not changed\n"), "{locked}");

        fs::write(&source, first).unwrap();
        folder.build("my-hosts");
    }

    /// A directory in which everything is wrong, and then nothing.
    fn operator(folder: &Folder) {
        fs::create_dir(folder.path("plugins")).unwrap();
        fs::copy(folder.path(COMPONENT), folder.path("plugins/my-hosts.wasm")).unwrap();
        fs::write(folder.path("plugins/broken.wasm"), b"\0asm\x01\0\0\0").unwrap();
        let refused = folder.host(6, &["plugin", "verify", "plugins", "-o", "json"]);
        assert_eq!(json(&refused)["faults"].as_array().unwrap().len(), 2);
        assert!(err(&refused).contains("pivot-host plugin add plugins/my-hosts.wasm"), "{}", err(&refused));
        let module = folder.host(6, &["plugin", "add", "plugins/broken.wasm"]);
        assert!(err(&module).contains("--target wasm32-wasip2"), "{}", err(&module));
        fs::remove_file(folder.path("plugins/broken.wasm")).unwrap();
        locked_and_switched_off(folder);
        let grants = folder.path("plugins/plugins.toml");
        let reviewed = fs::read_to_string(&grants).unwrap().replace("enabled = false", "enabled = true");
        fs::write(&grants, reviewed).unwrap();
        let verified = out(&folder.host(0, &["plugin", "verify", "plugins"]));
        assert!(verified.contains("in this order:\n  my-hosts 0.1.0\n"), "{verified}");
        let inspected = json(&folder.host(0, &["plugin", "inspect", "plugins/my-hosts.wasm", "-o", "json"]));
        assert_eq!(inspected["asGranted"], true);
    }

    /// AdmitOptions a file grants nothing, and whoever looks is told.
    fn locked_and_switched_off(folder: &Folder) {
        let locked = out(&folder.host(0, &["plugin", "add", "plugins/my-hosts.wasm"]));
        assert!(
            locked.contains("grants nothing of it until you write `enabled = true`; review it:"),
            "{locked}"
        );
        assert!(locked.contains("\n[plugins.my-hosts]\nenabled = false # "), "{locked}");
        // Nor does it the second time.
        for more in [&[][..], &["--grant"]] {
            let line = [&["plugin", "add", "plugins/my-hosts.wasm"], more].concat();
            let again = out(&folder.host(0, &line));
            assert!(again.ends_with("no move calls it until you write `enabled = true`\n"), "{again}");
            let again = json(&folder.host(0, &[&line[..], &["-o", "json"]].concat()));
            assert_eq!((&again["enabled"], &again["asGranted"]), (&false.into(), &false.into()));
            assert_eq!(again["atWorst"].as_array().unwrap().len(), 3, "{again}");
        }
        let verified = out(&folder.host(0, &["plugin", "verify", "plugins"]));
        let none = "  no plugin: there is no component, or none is enabled\n";
        let named = "Not called, because plugins.toml doesn't enable them:\n  my-hosts 0.1.0\n";
        let nobody = "no trust file: plugins need no signature\n";
        assert!(verified.ends_with(&[none, nobody, named].concat()), "{verified}");
        assert!(out(&folder.host(0, &["plugin", "list", "plugins"])).ends_with(named));
        for verb in
            [&["plugin", "verify", "plugins", "-o", "json"][..], &["plugin", "list", "plugins", "-o", "json"]]
        {
            assert_eq!(json(&folder.host(0, verb))["disabled"], serde_json::json!(["my-hosts 0.1.0"]));
        }
        // It is not called.
        let config_map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site, namespace: default, labels: \
                          {example.com/stays: '', clusterctl.cluster.x-k8s.io/move: ''}}\n";
        fs::create_dir(folder.path("small")).unwrap();
        fs::write(folder.path("small/objects.yaml"), config_map).unwrap();
        let said = "plugin my-hosts 0.1.0 takes no part: plugins.toml doesn't enable it";
        let from = ["--from-directory", "small", "--plugins", "plugins"];
        let planned = out(&folder.host(0, &[&["plan"], &from[..]].concat()));
        assert!(planned.contains(said) && planned.contains("Plan: 1 object,"), "{planned}");
        let plan = json(&folder.host(0, &[&["plan", "-o", "json"], &from[..]].concat()));
        assert_eq!(
            (&plan["notes"][0]["code"], &plan["notes"][0]["message"]),
            (&"plugin-disabled".into(), &said.into())
        );
        let moved = folder.host(0, &[&["move", "--to-directory", "first", "-o", "json"], &from[..]].concat());
        assert!(err(&moved).contains(&format!("note: {said}\n")), "{}", err(&moved));
        assert_eq!(json(&moved)["disabledPlugins"], serde_json::json!(["my-hosts 0.1.0"]));
        let empty = ["move", "--to-directory", "second", "-n", "nowhere", "-o", "json"];
        let stopped = folder.host(7, &[&empty, &from[..]].concat());
        assert_eq!(json(&stopped)["disabledPlugins"], serde_json::json!(["my-hosts 0.1.0"]));
        let logged = folder.host(0, &[&["plan", "--log-format", "json"], &from[..]].concat());
        assert!(err(&logged).contains("\"code\":\"plugin-disabled\""), "{}", err(&logged));
    }

    /// What the plugin says counts.
    fn moves(folder: &Folder) {
        world(folder);
        let line = ["move", "--from-directory", "world", "-n", "metal3", "--plugins", "plugins"];
        let moved = folder.host(0, &[&line[..], &["--to-directory", "copy"]].concat());
        assert!(out(&moved).contains("Copied"), "{}", out(&moved));
        let plan = json(&folder.host(0, &[&["plan"], &line[1..], &["-o", "json"]].concat()));
        let stays = plan["stays"].as_array().unwrap();
        let left = stays.iter().find(|stay| stay.to_string().contains("calico-manifests")).unwrap();
        assert!(left.to_string().contains("it is labelled example.com/stays"), "{left}");
        let copied = |name: &str| {
            let mut files = fs::read_dir(folder.path("copy")).unwrap();
            files.any(|file| file.unwrap().file_name().to_string_lossy().contains(name))
        };
        assert!(copied("rack1-u01") && !copied("calico-manifests"));
        // Another file is not what was admitted.
        let mut bytes = fs::read(folder.path(COMPONENT)).unwrap();
        bytes.extend_from_slice(b"\x00\x03\x01xx");
        fs::write(folder.path("plugins/my-hosts.wasm"), bytes).unwrap();
        let refused = folder.host(6, &[&line[..], &["--to-directory", "again"]].concat());
        assert!(err(&refused).contains("has changed since it was admitted"), "{}", err(&refused));
        assert!(!folder.path("again").exists());
    }

    /// The template's answers about its example.
    const RELATED: [&str; 4] = [
        "relate ConfigMap default/site",
        "  leave: it is labelled example.com/stays",
        "relate ConfigMap default/other",
        "  nothing",
    ];

    const BUILD: &str = "cargo build --release --target wasm32-wasip2";
    const COMPONENT: &str = "my-hosts/target/wasm32-wasip2/release/my_hosts.wasm";

    const OBJECTS: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: site, namespace: default, labels: {example.com/stays: "true"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: default}
---
apiVersion: v1
kind: Secret
metadata: {name: x, namespace: default}
"#;

    const SECOND: &str = r#"
    fn check(&self, point: Point, _: &Move) -> Result<Vec<Finding>> {
        // Of the prelude.
        debug!("checking for {}", self.label);
        Ok(match point {
            Point::BeforePause => vec![Finding::stop("full", "no room").with_remedy("make some")],
            Point::AfterPause => vec![Finding::wait("soon", "not yet")],
            _ => vec![],
        })
    }

    fn settle(&self, object: &Object) -> Result<Settlement> {
        Ok(match object.label(&self.label) {
            Some(_) => Settlement::stop(Problem::new("stuck", "it is stuck")),
            None => Settlement::Done,
        })
    }
"#;
}
