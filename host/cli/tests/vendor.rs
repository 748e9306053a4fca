//! A vendor's and an operator's way, from an empty folder to a move: only the program, cargo and one target are at hand.

#[cfg(test)]
mod vendor {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::Value;
    use tempfile::TempDir;

    const TARGET: &str = "wasm32-wasip2";

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
    }

    /// Where it is built: kept, so that a second run costs seconds.
    fn target() -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("vendor")
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

        fn cargo(&self, arguments: &[&str]) {
            let mut command = Command::new("cargo");
            // Set by the cargo that runs the test, for its own work.
            for name in ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "RUSTC_WRAPPER", "CARGO"] {
                command.env_remove(name);
            }
            command.env("CARGO_TARGET_DIR", target()).current_dir(self.path("my-hosts")).args(arguments);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{arguments:?}: {}{}", out(&output), err(&output));
        }

        /// The component, with the target that the README names; where rustup can't have it, with another compiler.
        fn component(&self) -> PathBuf {
            let installed = Command::new("rustup").args(["target", "list", "--installed"]).output();
            if installed.is_ok_and(|list| out(&list).lines().any(|line| line.trim() == TARGET)) {
                self.cargo(&["build", "--release", "--target", TARGET]);
                return target().join(TARGET).join("release/my_hosts.wasm");
            }
            let built = pivot_guests::build_guests(&self.path("my-hosts"), &[], &self.path("built")).unwrap();
            built.into_iter().next().unwrap()
        }
    }

    fn out(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn err(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    fn json(output: &Output) -> Value {
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", out(output)))
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

        // The vendor.
        folder.host(0, &["plugin", "new", "my-hosts"]);
        folder.host(3, &["plugin", "new", "my-hosts"]);
        // The versions that the bundled plugins are built with, so that the test is the same tomorrow.
        fs::copy(repository().join("plugins/Cargo.lock"), folder.path("my-hosts/Cargo.lock")).unwrap();
        folder.cargo(&["test"]);
        let component = folder.component();
        let objects = folder.path("objects.yaml");
        fs::write(&objects, OBJECTS).unwrap();
        let run = |code: i32, more: &[&str]| {
            let line = ["plugin", "run", component.to_str().unwrap(), "--objects", objects.to_str().unwrap()];
            folder.host(code, &[&line[..], more].concat())
        };
        let ran = run(0, &["--hook", "relate"]);
        let lines: Vec<String> =
            out(&ran).lines().map(|l| l.split("  (").next().unwrap().to_owned()).collect();
        let stays = ["relate ConfigMap default/site", "  leave: it is labelled example.com/stays"];
        assert_eq!(lines, [&stays[..], &["relate ConfigMap default/other", "  nothing"]].concat());
        let document = json(&run(0, &["--hook", "relate", "-o", "json"]));
        assert_eq!((&document["kind"], &document["hook"]), (&"PluginRun".into(), &"relate".into()));
        let call = &document["calls"][0];
        assert_eq!(call["answer"][0]["leave"], "it is labelled example.com/stays");
        assert!(call["timeUs"].as_u64() > Some(0) && call["peakMemory"].as_u64() > Some(0), "{call}");
        assert!(err(&run(2, &["--hook", "hold"])).contains("my-hosts has no hook hold; it has relate"));
        assert!(err(&run(2, &["--hook", "halt"])).contains("there is relate, check, hold"));
        let with = folder.path("trial.toml");
        fs::write(&with, "[plugins.my-hosts]\nhooks = ['relate']\nconfig = { lable = 'x' }\n").unwrap();
        let failed = run(3, &["--hook", "relate", "--config", with.to_str().unwrap()]);
        assert!(
            out(&failed).contains("FAILED: ") && out(&failed).contains("unknown field `lable`"),
            "{}",
            out(&failed)
        );

        // The operator.
        fs::create_dir(folder.path("plugins")).unwrap();
        fs::copy(&component, folder.path("plugins/my-hosts.wasm")).unwrap();
        let inspected = out(&folder.host(0, &["plugin", "inspect", "plugins/my-hosts.wasm"]));
        assert!(inspected.contains("  sees     ConfigMap\n"), "{inspected}");
        fs::write(folder.path("plugins/broken.wasm"), b"\0asm\x01\0\0\0").unwrap();
        let refused = folder.host(6, &["plugin", "verify", "plugins", "-o", "json"]);
        assert_eq!(json(&refused)["faults"].as_array().unwrap().len(), 2);
        assert!(err(&refused).contains("pivot-host plugin lock plugins/my-hosts.wasm"), "{}", err(&refused));
        let module = folder.host(6, &["plugin", "lock", "plugins/broken.wasm"]);
        assert!(err(&module).contains("--target wasm32-wasip2"), "{}", err(&module));
        fs::remove_file(folder.path("plugins/broken.wasm")).unwrap();
        folder.host(0, &["plugin", "lock", "plugins/my-hosts.wasm"]);
        assert!(out(&folder.host(0, &["plugin", "verify", "plugins"])).ends_with("  my-hosts 0.1.0\n"));

        // The move: what the plugin says counts.
        world(&folder);
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
        let mut bytes = fs::read(&component).unwrap();
        bytes.extend_from_slice(b"\x00\x03\x01xx");
        fs::write(folder.path("plugins/my-hosts.wasm"), bytes).unwrap();
        let refused = folder.host(6, &[&line[..], &["--to-directory", "again"]].concat());
        assert!(err(&refused).contains("has changed since it was admitted"), "{}", err(&refused));
        assert!(!folder.path("again").exists());
    }

    const OBJECTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: site\n  namespace: default\n  labels:\n    \
                           example.com/stays: \"true\"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other, \
                           namespace: default}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: default}\n";
}
