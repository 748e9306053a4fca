//! Files that never end, or that grow when they are read; and signals while they are read.

#[cfg(test)]
mod reading {
    use std::fs;
    use std::io::Read;
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    /// What is refused without being read takes no time; the rest is what a busy machine takes to start a program.
    const SOON: Duration = Duration::from_secs(10);

    struct Ended {
        code: Option<i32>,
        err: String,
    }

    fn start(dir: &TempDir, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        command.env_clear().current_dir(dir.path()).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Waits, but not for ever.
    fn end(mut child: Child) -> Ended {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > SOON {
                child.kill().unwrap();
                panic!("it hangs");
            }
            rest(Duration::from_millis(10));
        };
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Ended { code: status.code(), err }
    }

    #[allow(clippy::disallowed_methods, reason = "a test without a runtime waits for processes")]
    fn rest(time: Duration) {
        std::thread::sleep(time);
    }

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    /// A directory with a cluster in it, and an empty one for plugins.
    fn place() -> TempDir {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("source")).unwrap();
        fs::create_dir(dir.path().join("plugins")).unwrap();
        let cluster =
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: c, namespace: a}\n";
        fs::write(dir.path().join("source/b.yaml"), cluster).unwrap();
        dir
    }

    const PLAN: [&str; 4] = ["plan", "-A", "--from-directory", "source"];
    const MOVE: [&str; 6] = ["move", "-A", "--from-directory", "source", "--to-directory", "target"];

    fn with<'a>(verb: &[&'a str], flags: &[&'a str]) -> Vec<&'a str> {
        [verb, flags].concat()
    }

    /// It ends soon with this code and names what is wrong, once.
    fn refused(dir: &TempDir, arguments: &[&str], code: i32, words: &[&str]) {
        let ended = end(start(dir, arguments));
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.err);
        for word in words {
            assert!(ended.err.contains(word), "{arguments:?}: {word}: {}", ended.err);
        }
        assert!(ended.err.len() < 2_000, "{}", ended.err);
        assert!(!dir.path().join("target").exists(), "{arguments:?}");
    }

    // proves: T75
    #[test]
    fn pipe_in_source_directory_is_refused() {
        for name in ["a.yaml", "c.json", "manifest.json", ".pivot-host.json", "below/x.yml"] {
            let dir = place();
            fs::create_dir(dir.path().join("source/below")).unwrap();
            pipe(&dir.path().join("source").join(name));
            refused(&dir, &PLAN, 3, &[name, "a pipe, not a regular file", "state: nothing is changed"]);
            refused(&dir, &MOVE, 3, &[name, "a pipe, not a regular file"]);
        }
    }

    // proves: T75
    #[test]
    fn special_files_in_source_are_refused() {
        let dir = place();
        let _listener = UnixListener::bind(dir.path().join("source/a.yaml")).unwrap();
        refused(&dir, &PLAN, 3, &["a.yaml", "a socket, not a regular file"]);
        for endless in ["/dev/zero", "/dev/null"] {
            let arguments = ["plan", "-A", "--from-directory", endless];
            assert_eq!(end(start(&dir, &arguments)).code, Some(3), "{endless}");
        }
    }

    const BOM: &str =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bom, namespace: a}\ndata: {images: all}\n";

    #[test]
    fn special_manifest_files_are_refused() {
        let dir = place();
        let file = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        pipe(&dir.path().join("pipe.yaml"));
        file("empty.yaml", "---\n");
        file("secret.yaml", "apiVersion: v1\nkind: Secret\ndata: {password: hunter2}\n");
        file("twice.yaml", &format!("{BOM}---\n{BOM}"));
        file("name.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\e[2J\\nstate: fine\"}\n");
        for (name, words) in [
            ("pipe.yaml", "--with-manifest: pipe.yaml: a pipe, not a regular file"),
            ("gone.yaml", "--with-manifest: gone.yaml: "),
            ("empty.yaml", "--with-manifest: empty.yaml: it has no objects"),
            ("secret.yaml", "--with-manifest: secret.yaml, document 1: no name"),
            ("twice.yaml", "ConfigMap a/bom is both in twice.yaml, document 1 and in twice.yaml, document 2"),
            ("name.yaml", "--with-manifest: name.yaml, document 1: "),
        ] {
            for verb in [&PLAN[..], &MOVE[..]] {
                refused(
                    &dir,
                    &with(verb, &["--with-manifest", name]),
                    3,
                    &[words, "state: nothing is changed"],
                );
            }
            let ended = end(start(&dir, &with(&PLAN, &["--with-manifest", name])));
            assert!(!ended.err.contains(['\u{1b}']) && !ended.err.contains("hunter2"), "{}", ended.err);
            assert!(!ended.err.contains("\nstate: fine"), "{}", ended.err);
        }
    }

    #[test]
    fn added_objects_are_planned_and_written() {
        let dir = place();
        fs::write(dir.path().join("bom.yaml"), BOM).unwrap();
        let run = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
            command.env_clear().current_dir(dir.path()).args(arguments);
            let output = command.output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{arguments:?}: {err}");
            String::from_utf8(output.stdout).unwrap()
        };
        let plan = run(&with(&PLAN, &["--with-manifest", "bom.yaml", "--accept", "unprovisioned"]));
        assert!(plan.contains("2 objects (1 Cluster), 1 of them added, from "), "{plan}");
        assert!(plan.contains("Added in the target (1):\n  ConfigMap a/bom: from bom.yaml\n"), "{plan}");
        assert!(!plan.contains("kept"), "{plan}");
        let plan = run(&with(&PLAN, &["--with-manifest", "bom.yaml", "--accept", "unprovisioned", "--tree"]));
        assert!(plan.contains("ConfigMap a/bom  (added from bom.yaml)"), "{plan}");
        let copied = run(&with(&MOVE, &["--with-manifest", "bom.yaml", "--accept", "unprovisioned"]));
        assert!(copied.starts_with("Copied: 1 object, 1 added, from "), "{copied}");
        let written = fs::read_dir(dir.path().join("target")).unwrap().map(|file| file.unwrap().path());
        let written: Vec<String> = written.filter_map(|file| fs::read_to_string(file).ok()).collect();
        let bom: Vec<&String> = written.iter().filter(|text| text.contains("\"images\"")).collect();
        assert!(bom.len() == 1 && !bom[0].contains("\"added-"), "{bom:?}");
    }

    #[test]
    fn pipe_among_plugins_is_refused() {
        for name in ["x.wasm", "plugins.toml", "plugins.lock"] {
            let dir = place();
            pipe(&dir.path().join("plugins").join(name));
            for verb in [&PLAN[..], &MOVE[..]] {
                refused(&dir, &with(verb, &["--plugins", "plugins"]), 6, &[name, "is not a file inside"]);
            }
            refused(&dir, &["plugin", "verify", "plugins"], 6, &[name]);
        }
        let dir = place();
        pipe(&dir.path().join("plugins/x.wasm"));
        refused(&dir, &["plugin", "inspect", "plugins/x.wasm"], 6, &["x.wasm", "is not a file inside"]);
    }

    #[test]
    fn verification_of_no_plugins_is_warned_about() {
        let dir = place();
        let Ended { code, err } = end(start(&dir, &["plugin", "verify", "plugins"]));
        assert_eq!((code, err.trim_end()), (Some(0), "warning: plugins has no plugins (no .wasm file)"));
    }

    #[test]
    fn pipe_as_kubeconfig_is_refused() {
        let dir = place();
        pipe(&dir.path().join("config"));
        let words = ["config: a pipe, not a regular file"];
        for verb in ["plan", "status"] {
            refused(&dir, &[verb, "--kubeconfig", "config"], 3, &words);
        }
        for verb in ["move", "resume", "rollback"] {
            refused(&dir, &[verb, "--kubeconfig", "config", "--to-kubeconfig", "config"], 3, &words);
        }
        refused(
            &dir,
            &["status", "--kubeconfig", "/dev/zero"],
            3,
            &["/dev/zero: a device, not a regular file"],
        );
    }

    /// A document whose aliases stand for 11,111 scalars, or for more than there is memory for.
    fn bomb(name: usize, depth: usize) -> String {
        let mut text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: n{name}, namespace: a}}\na0: &a0 lol\n"
        );
        for n in 1..=depth {
            let alias = format!("*a{}", n - 1);
            text += &format!("a{n}: &a{n} [{}]\n", [alias.as_str(); 10].join(", "));
        }
        text
    }

    // proves: T76
    #[test]
    fn aliases_share_one_budget() {
        let exceeded = ["expand to more than 64 MiB", "state: nothing is changed"];
        let one = place();
        fs::write(one.path().join("source/a.yaml"), bomb(0, 20)).unwrap();
        refused(&one, &PLAN, 3, &exceeded);
        refused(&one, &MOVE, 3, &exceeded);
        refused(&one, &["status", "--kubeconfig", "source/a.yaml"], 3, &exceeded[..1]);

        let documents: Vec<String> = (0..60).map(|n| bomb(n, 4)).collect();
        let text = documents.join("---\n");
        assert!(text.len() < 20_000, "{}", text.len());
        let many = place();
        fs::write(many.path().join("source/a.yaml"), text).unwrap();
        refused(&many, &PLAN, 3, &["a.yaml", exceeded[0]]);

        let files = place();
        for (n, document) in documents.iter().enumerate() {
            fs::write(files.path().join(format!("source/c{n:02}.yaml")), document).unwrap();
        }
        refused(&files, &PLAN, 3, &[".yaml: ", exceeded[0]]);
    }

    /// A directory that takes far longer to read than anybody waits.
    fn huge() -> TempDir {
        let dir = place();
        let mut document =
            String::from("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, namespace: a}\ndata:\n");
        for n in 0..100_000 {
            document += &format!("  k{n}: {{v: [{n}]}}\n");
        }
        fs::write(dir.path().join("large"), document).unwrap();
        for n in 0..100 {
            fs::hard_link(dir.path().join("large"), dir.path().join(format!("source/c{n}.yaml"))).unwrap();
        }
        dir
    }

    /// Sends a signal once the program listens to it.
    fn signal(child: &Child, name: &str, bit: u32) {
        let status = format!("/proc/{}/status", child.id());
        let listens = || {
            let status = fs::read_to_string(&status).ok()?;
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
            Some(u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (bit - 1)) != 0)
        };
        let begun = Instant::now();
        while listens() == Some(false) && begun.elapsed() < SOON {
            rest(Duration::from_millis(5));
        }
        // It goes on to what it is there for.
        rest(Duration::from_millis(300));
        let id = child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    #[test]
    fn signal_ends_reading_a_huge_directory() {
        let dir = huge();
        for verb in [&PLAN[..], &MOVE[..]] {
            for (name, bit, code) in [("-TERM", 15, 143), ("-INT", 2, 130)] {
                let child = start(&dir, verb);
                signal(&child, name, bit);
                let sent = Instant::now();
                let ended = end(child);
                assert_eq!(ended.code, Some(code), "{verb:?} {name}: {}", ended.err);
                assert!(sent.elapsed() < Duration::from_secs(5), "{verb:?} {name}: {:?}", sent.elapsed());
            }
        }
        assert!(!dir.path().join("target/.pivot-host.json").exists());
    }
}
