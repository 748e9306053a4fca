//! What others wrote, in what the program prints: nothing of it begins a line, drives a terminal or hides.
//!
//! Sources of words times words that try something. Each runs the program and looks at every byte of both streams.

#[cfg(test)]
mod foreign {
    use std::ffi::OsString;
    use std::fs;
    use std::os::unix::ffi::OsStringExt;
    use std::path::Path;
    use std::process::{Command, Output};

    use serde_json::{Value, json};
    use tempfile::TempDir;

    /// Words that try something, and whether they are longer than an argument or a file's name can be.
    fn words() -> Vec<(&'static str, String)> {
        vec![
            ("lines", "x\nerror: FORGED\nnext:  FORGED\nwarning: FORGED".into()),
            ("returns", "x\r\nerror: FORGED\rnext:  FORGED\u{b}FORGED\u{c}FORGED".into()),
            ("escapes", "x\u{1b}[2J\u{1b}[1;31mFORGED\u{1b}]0;FORGED\u{7}\u{1b}[1A".into()),
            ("c1", "x\u{9b}2JFORGED\u{85}error: FORGED\u{90}FORGED\u{9c}\u{7f}".into()),
            (
                "bidi",
                "x\u{202e}FORGED\u{2066}FORGED\u{2069}\u{200f}\u{61c}\u{2028}error: FORGED\u{2029}".into(),
            ),
            ("invisible", INVISIBLE.into()),
            ("long", "x FORGED\nerror: FORGED ".repeat(4_000)),
        ]
    }

    const INVISIBLE: &str = "xFORGED\u{ad}\u{34f}\u{115f}\u{180e}\u{200b}\u{3164}\u{ffa0}\u{fff9}\u{feff}\u{fe0f}\u{e0041}\u{e0001}y";

    /// Where words come from: what lies in the folder and is typed to see them, or nothing where they can't stand there.
    type Source = fn(&Path, &str) -> Option<Vec<OsString>>;

    const SOURCES: &[(&str, Source)] = &[
        ("a probe pattern", |dir, words| grants(dir, &format!("[plugins.p]\nprobes = [{}]", toml(words)))),
        ("a hook in plugins.toml", |dir, words| {
            grants(dir, &format!("[plugins.p]\nhooks = [{}]", toml(words)))
        }),
        ("a key in plugins.toml", |dir, words| grants(dir, &format!("[plugins.p]\n{} = 1", toml(words)))),
        ("a limit in plugins.toml", |dir, words| grants(dir, &format!("[limits]\ntime = {}", toml(words)))),
        ("a side in plugins.toml", |dir, words| {
            grants(dir, &format!("[plugins.p]\nreads = [{{ kind = 'A.b', side = {} }}]", toml(words)))
        }),
        ("a kind in plugins.toml", |dir, words| {
            grants(dir, &format!("[plugins.p]\nreads = [{{ kind = {}, side = 'source' }}]", toml(words)))
        }),
        ("a kind that is shown", |dir, words| {
            grants(dir, &format!("[plugins.p]\nkinds = [{}]", toml(words)))
        }),
        ("a namespace of a reach", |dir, words| {
            let reach = "kind = 'A.b', side = 'source'";
            grants(dir, &format!("[plugins.p]\nreach = [{{ {reach}, namespace = {} }}]", toml(words)))
        }),
        ("a namespace in plugins.toml", |dir, words| {
            let read = "kind = 'A.b', side = 'source'";
            grants(dir, &format!("[plugins.p]\nreads = [{{ {read}, namespace = {} }}]", toml(words)))
        }),
        ("a plugin's name in plugins.toml", |dir, words| grants(dir, &format!("[plugins.{}]", toml(words)))),
        ("the order in plugins.toml", |dir, words| grants(dir, &format!("order = [{}]", toml(words)))),
        ("a name in plugins.lock", |dir, words| lock(dir, &entry("name", words))),
        ("a version in plugins.lock", |dir, words| lock(dir, &entry("version", words))),
        ("a digest in plugins.lock", |dir, words| lock(dir, &entry("sha256", words))),
        ("a size in plugins.lock", |dir, words| lock(dir, &entry("size", words))),
        ("a key in plugins.lock", |dir, words| lock(dir, &format!("[[plugin]]\n{} = 1", toml(words)))),
        ("a component's import", |dir, words| component(dir, &import(&format!("url=<{words}>")))),
        ("a core module's import", |dir, words| component(dir, &core_import(words))),
        ("a component's options", |dir, words| {
            let schema = json!({"type": "object", words: 1}).to_string();
            let content = [sized(b"pivot-host:configuration-schema"), schema.into_bytes()].concat();
            // Larger schemas are refused unread.
            (content.len() < 64 << 10).then(|| component(dir, &section(0, &content))).flatten()
        }),
        ("a component's file", |dir, words| {
            let file = named(dir, words, ".wasm", b"\0asm")?;
            Some(vec!["plugin".into(), "inspect".into(), file])
        }),
        ("a file in the plugin directory", |dir, words| {
            named(dir, words, ".wasm", b"\0asm")?;
            Some(verify(dir))
        }),
        ("an object's name in a plan", |dir, words| plan(dir, &cluster(words), &["-A"])),
        ("an object's name in a document", |dir, words| plan(dir, &cluster(words), &["-A", "-o", "json"])),
        ("an object's name in YAML", |dir, words| plan(dir, &cluster(words), &["-A", "-o", "yaml"])),
        ("an object's name in JSON lines", |dir, words| {
            let to = ["--to-directory", "copy", "--log-format", "json"];
            Some([verb("move", dir, &cluster(words))?, to.map(OsString::from).into()].concat())
        }),
        ("an object's namespace", |dir, words| {
            let mut cluster = cluster("a");
            cluster["metadata"]["namespace"] = words.into();
            plan(dir, &cluster, &["-A"])
        }),
        ("a condition's message in a description", |dir, words| describe(dir, &said("message", words), &[])),
        ("a condition's reason in a description", |dir, words| describe(dir, &said("reason", words), &[])),
        ("a condition's type in a description", |dir, words| {
            describe(dir, &said("type", words), &["--show-conditions", "all"])
        }),
        ("a condition in a document", |dir, words| {
            describe(dir, &said("message", words), &["--show-conditions", "all", "-o", "json"])
        }),
        ("what a Cluster refers to", |dir, words| {
            let mut cluster = cluster("a");
            cluster["spec"] =
                json!({"infrastructureRef": {"apiGroup": "g.io", "kind": words, "name": words}});
            describe(dir, &cluster, &[])
        }),
        ("a Cluster that was typed", |_, words| typed(&["describe", "cluster"], words)),
        ("a filter that was typed", |_, words| {
            typed(&["describe", "cluster", "a", "--show-conditions"], &words.replace(',', ""))
        }),
        ("an owner's kind", |dir, words| plan(dir, &owned(words, "a"), &["-A"])),
        ("an owner's name", |dir, words| plan(dir, &owned("Machine", words), &["-A"])),
        ("a file in a directory", |dir, words| {
            named(dir, words, ".yaml", b"{")?;
            Some(vec!["plan".into(), "--from-directory".into(), ".".into()])
        }),
        ("a file beside those of a move, in a log line", |dir, words| beside_a_move(dir, words, "text")),
        ("a file beside those of a move, in a log of JSON", |dir, words| beside_a_move(dir, words, "json")),
        ("a directory", |_, words| typed(&["plan", "--from-directory"], words)),
        ("contexts of a kubeconfig", |dir, words| {
            kubeconfig(dir, &json!({"contexts": [{"name": words}]}), &["--context", "b"])
        }),
        ("the context of a kubeconfig", |dir, words| {
            kubeconfig(dir, &json!({"current-context": words, "contexts": [{"name": "a"}]}), &[])
        }),
        ("a user of a kubeconfig", |dir, words| {
            let context = json!({"name": "a", "context": {"cluster": "c", "user": words}});
            kubeconfig(dir, &json!({"current-context": "a", "contexts": [context], "users": []}), &[])
        }),
        ("a kubeconfig's path", |_, words| typed(&["plan", "--kubeconfig"], words)),
        ("a context that was typed", |dir, words| {
            let all =
                [kubeconfig(dir, &json!({"contexts": [{"name": "a"}]}), &["--context"])?, typed(&[], words)?];
            Some(all.concat())
        }),
        ("a command", |_, words| typed(&[], words)),
        ("a flag", |_, words| typed(&["move"], &format!("--{words}"))),
        ("a flag of a plugin's command", |_, words| typed(&["plugin", "inspect"], &format!("--{words}"))),
        ("a flag's value", |_, words| typed(&["move", "-o"], words)),
        ("an argument too many", |_, words| typed(&["version"], words)),
        ("a time", |_, words| {
            typed(&["move", "--from-directory", ".", "--to-directory", "c", "--takeover-timeout"], words)
        }),
        ("a risk that was typed", |_, words| typed(&["plan", "--accept"], words)),
        ("a kind that was typed", |_, words| typed(&["plan", "--exclude"], words)),
        ("a hook that was typed", |_, words| {
            typed(&["plugin", "run", "a", "--objects", "b", "--hook"], words)
        }),
        ("a plugin's new name", |_, words| typed(&["plugin", "new"], words)),
        ("a namespace that was typed", |dir, words| {
            Some([verb("plan", dir, &cluster("a"))?, typed(&["-n"], words)?].concat())
        }),
    ];

    // proves: T13, T94
    #[test]
    fn foreign_text_is_escaped_everywhere() {
        let mut wrong = Vec::new();
        let mut cases = 0;
        for (source, of) in SOURCES {
            for (sort, words) in words() {
                let dir = TempDir::new().unwrap();
                let Some(line) = of(dir.path(), &words) else { continue };
                cases += 1;
                let faults = faults(&host(dir.path(), &line));
                wrong.extend(faults.into_iter().map(|fault| format!("{source}, {sort}: {fault}")));
            }
        }
        assert!(wrong.is_empty(), "{} of {cases} cases:\n{}", wrong.len(), wrong.join("\n"));
        assert!(cases > 200, "{cases} cases");
    }

    // proves: T132
    #[test]
    fn a_variable_of_the_environment_forges_nothing() {
        for (sort, words) in words().into_iter().filter(|(_, words)| words.len() < 1_000) {
            let dir = TempDir::new().unwrap();
            let mut command = command(dir.path(), &["plan".into()]);
            let output = command.env("PIVOT_HOST_OUTPUT", &words).output().unwrap();
            assert_eq!(faults(&output), [""; 0], "{sort}");
        }
    }

    #[test]
    fn documents_keep_the_text_that_they_escape() {
        for format in ["json", "yaml"] {
            for (sort, words) in words().into_iter().filter(|(sort, _)| *sort != "long") {
                let dir = TempDir::new().unwrap();
                // A name that can't be an object's is refused when it is read; a folder may have any.
                let folder = dir.path().join(&words);
                fs::create_dir(&folder).unwrap();
                let mut line = plan(&folder, &cluster("a"), &["-A", "-o", format]).unwrap();
                line[2] = folder.join("from").into();
                let output = host(dir.path(), &line);
                assert!(output.status.success(), "{sort}: {output:?}");
                let text = String::from_utf8(output.stdout).unwrap();
                let document: Value = match format {
                    "json" => serde_json::from_str(&text).unwrap(),
                    _ => serde_saphyr::from_str(&text).unwrap(),
                };
                assert!(
                    document["source"].as_str().is_some_and(|it| it.contains(&words)),
                    "{sort} as {format}: {text}"
                );
            }
        }
    }

    /// What is wrong with what was printed.
    fn faults(output: &Output) -> Vec<String> {
        let mut faults = Vec::new();
        let mut seen = false;
        for (stream, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            let Ok(text) = std::str::from_utf8(bytes) else {
                faults.push(format!("{stream} is not UTF-8"));
                continue;
            };
            seen |= text.contains("FORGED");
            // Ours.
            let text = ["0", "1", "31", "32", "33", "36", "90"]
                .iter()
                .fold(text.to_owned(), |text, style| text.replace(&format!("\u{1b}[{style}m"), ""));
            if let Some(c) = text.chars().find(|c| *c != '\n' && is_hidden(*c)) {
                faults.push(format!("{stream} has {c:?}"));
            }
            let forged = |line: &&str| {
                ["error:", "next:", "warning:"]
                    .iter()
                    .any(|head| line.trim_start().starts_with(&format!("{head} FORGED")))
                    || line.trim_start().starts_with("next:  FORGED")
            };
            if let Some(line) = text.lines().find(forged) {
                faults.push(format!("{stream} has the line {line:?}"));
            }
            let document = text.starts_with(['{', 'a']);
            if let Some(line) = text.lines().find(|line| !document && line.chars().count() > 2_200) {
                faults.push(format!("{stream} has a line of {} characters", line.chars().count()));
            }
            if stream == "stderr" && !document && text.len() > 25_000 {
                faults.push(format!("stderr has {} bytes", text.len()));
            }
        }
        if !seen {
            faults.push(format!("the words are not in it: {output:?}"));
        }
        faults
    }

    /// Written apart from the program's own rule.
    fn is_hidden(c: char) -> bool {
        c.is_control()
            || matches!(
                c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180b}'..='\u{180f}'
            )
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}')
            || matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
            || matches!(c, '\u{e0000}'..='\u{e0fff}')
    }

    fn command(dir: &Path, line: &[OsString]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pivot-host"));
        // As on a terminal: elsewhere escape sequences are taken out of everything.
        command.env_clear().env("CLICOLOR_FORCE", "1").current_dir(dir).args(line);
        command
    }

    fn host(dir: &Path, line: &[OsString]) -> Output {
        command(dir, line).output().unwrap()
    }

    fn typed(before: &[&str], words: &str) -> Option<Vec<OsString>> {
        let line = before.iter().map(OsString::from).chain([OsString::from(words)]).collect();
        (words.len() < 1_000).then_some(line)
    }

    /// A string of TOML is one of JSON, but for characters that TOML wants escaped and JSON doesn't.
    fn toml(words: &str) -> String {
        json!(words).to_string().replace('\u{7f}', "\\u007f")
    }

    fn verify(dir: &Path) -> Vec<OsString> {
        vec!["plugin".into(), "verify".into(), dir.into()]
    }

    fn grants(dir: &Path, text: &str) -> Option<Vec<OsString>> {
        fs::write(dir.join("plugins.lock"), "format = 1\n").unwrap();
        fs::write(dir.join("plugins.toml"), text).unwrap();
        Some(verify(dir))
    }

    fn entry(field: &str, words: &str) -> String {
        let digest = format!("'{}'", "ab".repeat(32));
        let fields = [("name", "'p'"), ("version", "'1.0.0'"), ("sha256", &digest), ("size", "1")];
        let line = |(name, value): (&str, &str)| {
            let value = if name == field { toml(words) } else { value.to_owned() };
            format!("{name} = {value}\n")
        };
        format!("[[plugin]]\n{}", fields.map(line).concat())
    }

    fn lock(dir: &Path, text: &str) -> Option<Vec<OsString>> {
        fs::write(dir.join("plugins.lock"), format!("format = 1\n{text}")).unwrap();
        Some(verify(dir))
    }

    /// A file whose name is the words, as far as a name can be them.
    fn named(dir: &Path, words: &str, ending: &str, bytes: &[u8]) -> Option<OsString> {
        let file = OsString::from_vec([words.as_bytes(), ending.as_bytes()].concat());
        (words.len() < 200).then(|| fs::write(dir.join(&file), bytes).unwrap())?;
        Some(file)
    }

    fn component(dir: &Path, sections: &[u8]) -> Option<Vec<OsString>> {
        fs::write(dir.join("p.wasm"), [b"\0asm\x0d\0\x01\0", sections].concat()).unwrap();
        Some(vec!["plugin".into(), "inspect".into(), "p.wasm".into()])
    }

    /// A number as WebAssembly writes it.
    fn leb(mut number: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number > 0x7f {
            bytes.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    fn sized(bytes: &[u8]) -> Vec<u8> {
        [leb(bytes.len()), bytes.to_vec()].concat()
    }

    fn section(id: u8, content: &[u8]) -> Vec<u8> {
        [vec![id], sized(content)].concat()
    }

    /// A component that imports a resource of that name.
    fn import(name: &str) -> Vec<u8> {
        section(10, &[&[1, 0][..], &sized(name.as_bytes()), &[3, 1]].concat())
    }

    /// A component with a core module that imports a function of a module of that name, instantiated without it.
    fn core_import(name: &str) -> Vec<u8> {
        let types = section(1, &[1, 0x60, 0, 0]);
        let imports = section(2, &[&[1][..], &sized(name.as_bytes()), &sized(b"f"), &[0, 0]].concat());
        let module = [b"\0asm\x01\0\0\0".to_vec(), types, imports].concat();
        [section(1, &module), section(2, &[1, 0, 0, 0])].concat()
    }

    fn cluster(name: &str) -> Value {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster",
               "metadata": {"name": name, "namespace": "ns", "uid": "u"},
               "status": {"infrastructureReady": true, "controlPlaneReady": true,
                          "conditions": [{"type": "ControlPlaneInitialized", "status": "True"}]}})
    }

    /// A Cluster with an owner that isn't there.
    fn owned(kind: &str, name: &str) -> Value {
        let mut cluster = cluster("a");
        cluster["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "name": name, "uid": "gone"}]);
        cluster
    }

    /// A command about a directory with one object, and with what serves a Cluster.
    fn verb(verb: &str, dir: &Path, object: &Value) -> Option<Vec<OsString>> {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/metal3/crds");
        let from = dir.join("from");
        fs::create_dir(&from).unwrap();
        for entry in fs::read_dir(example).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), from.join(entry.file_name())).unwrap();
        }
        fs::write(from.join("object.json"), object.to_string()).unwrap();
        Some([verb, "--from-directory", "from"].map(OsString::from).to_vec())
    }

    fn plan(dir: &Path, object: &Value, flags: &[&str]) -> Option<Vec<OsString>> {
        Some([verb("plan", dir, object)?, flags.iter().map(OsString::from).collect()].concat())
    }

    fn describe(dir: &Path, object: &Value, flags: &[&str]) -> Option<Vec<OsString>> {
        let from = verb("describe", dir, object)?.split_off(1);
        let line = ["describe", "cluster", "a"].map(OsString::from).into_iter().chain(from);
        Some(line.chain(flags.iter().map(OsString::from)).collect())
    }

    /// A Cluster that says so in a field of its condition.
    fn said(field: &str, words: &str) -> Value {
        let mut cluster = cluster("a");
        let mut condition = json!({"type": "Ready", "status": "False", "reason": "No"});
        condition[field] = words.into();
        cluster["status"]["conditions"] = json!([condition]);
        cluster
    }

    /// A plan of a directory that a move wrote, with one file more.
    fn beside_a_move(dir: &Path, words: &str, log: &str) -> Option<Vec<OsString>> {
        if words.len() > 200 {
            return None;
        }
        let to = ["--to-directory", "copy"].map(OsString::from);
        let moved = host(dir, &[verb("move", dir, &cluster("a"))?, to.into()].concat());
        assert!(moved.status.success(), "{moved:?}");
        let other =
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b", "namespace": "ns"}});
        named(&dir.join("copy"), words, ".json", other.to_string().as_bytes())?;
        Some(["plan", "--from-directory", "copy", "--log-format", log].map(OsString::from).into())
    }

    fn kubeconfig(dir: &Path, content: &Value, flags: &[&str]) -> Option<Vec<OsString>> {
        // In YAML controls are escaped.
        let escaped =
            |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
        let text: String = content.to_string().chars().map(escaped).collect();
        fs::write(dir.join("config"), text).unwrap();
        let line = ["plan", "--kubeconfig", "config"].iter().chain(flags);
        Some(line.map(OsString::from).collect())
    }
}
