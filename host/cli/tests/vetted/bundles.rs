//! Bundles of plugins: from a directory into one file, and into another directory.

mod carried {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use crate::site::{Site, err, json, out};

    /// A site that has vetted two plugins, one of them signed.
    fn vetting() -> Site {
        let site = Site::new();
        site.key("alice");
        for name in ["older", "steady"] {
            let file = format!("plugins/{name}.wasm");
            site.guest(name, &file);
            site.host(0, &["plugin", "add", "--grant", &file]);
            site.host(0, &["plugin", "sign", &file, "--claim", "vetted", "--key", "alice.pem"]);
        }
        site.write("plugins/steady.md", "Read me.\n");
        site.write("plugins/notes.txt", "not for others\n");
        site.write("trust.toml", "strict = true\n[signers.alice]\nkeys = ['alice.pub']\n[[require]]\nclaim = 'vetted'\nfrom = ['alice']\n");
        bundle(&site);
        site
    }

    /// Takes all of it, grants included.
    fn take(site: &Site) {
        let digest = bundle(site);
        site.host(0, &["plugin", "import", "site.tar", "there", "--grants", "--digest", &digest]);
    }

    fn bundle(site: &Site) -> String {
        let made = json(&site.host(0, &["plugin", "bundle", "plugins", "--out", "site.tar", "-o", "json"]));
        made["digest"].as_str().unwrap().to_owned()
    }

    fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
        let Ok(entries) = fs::read_dir(directory) else { return BTreeMap::new() };
        let entry =
            |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
        entries.map(|one| entry(one.unwrap())).collect()
    }

    fn names(directory: &Path) -> Vec<String> {
        files(directory).into_keys().collect()
    }

    #[test]
    fn bundle_is_reproducible() {
        let site = vetting();
        let made = out(&site.host(0, &["plugin", "bundle", "plugins", "--out", "again.tar"]));
        assert!(made.contains("again.tar: 7 files, 2 plugins\n  older.wasm\n"), "{made}");
        assert!(made.contains("left out, because no bundle has such files: notes.txt\n"), "{made}");
        assert_eq!(fs::read(site.path("site.tar")).unwrap(), fs::read(site.path("again.tar")).unwrap());
        // What another directory makes of it is the same, too.
        take(&site);
        fs::copy(site.path("plugins/plugins.lock"), site.path("there/plugins.lock")).unwrap();
        site.host(0, &["plugin", "bundle", "there", "--out", "third.tar"]);
        assert_eq!(fs::read(site.path("site.tar")).unwrap(), fs::read(site.path("third.tar")).unwrap());
    }

    #[test]
    fn unloadable_directory_is_not_bundled() {
        let site = vetting();
        site.guest("liar", "plugins/steady.wasm");
        fs::remove_file(site.path("site.tar")).unwrap();
        let refused = err(&site.host(6, &["plugin", "bundle", "plugins", "--out", "site.tar"]));
        assert!(refused.contains("steady"), "{refused}");
        assert!(!site.path("site.tar").exists());
    }

    #[test]
    fn import_adds_what_dry_run_shows() {
        let site = vetting();
        let digest = bundle(&site);
        let look = ["plugin", "import", "site.tar", "there", "--grants", "--trust", "trust.toml"];
        let shown = out(&site.host(0, &[&look[..], &["--dry-run"]].concat()));
        let next = format!(
            "nothing was written. Next: pivot-host plugin import site.tar there --digest {digest} --grants --trust trust.toml\n"
        );
        assert!(shown.starts_with(&format!("site.tar: bundle {digest}\nolder 0.1.0: at worst, ")), "{shown}");
        assert!(shown.ends_with(&next), "{shown}");
        assert!(!site.path("there").exists() && !site.path(".there.import").exists());

        let import = [&look[..], &["--digest", &digest, "-o", "json"]].concat();
        let done = json(&site.host(0, &import));
        assert_eq!((&done["written"], &done["grantsTaken"]), (&json!(true), &json!(true)));
        let changes: Vec<&Value> =
            done["plugins"].as_array().unwrap().iter().map(|one| &one["change"]).collect();
        assert_eq!(changes, ["new", "new"]);
        assert_eq!(
            names(&site.path("there")),
            [
                "older.wasm",
                "older.wasm.intoto.jsonl",
                "plugins.lock",
                "plugins.toml",
                "steady.md",
                "steady.wasm",
                "steady.wasm.intoto.jsonl"
            ]
        );
        site.host(0, &["plugin", "verify", "there", "--strict", "--trust", "trust.toml"]);
        let lock = site.read("there/plugins.lock");
        assert_eq!(lock.matches(&format!("from-bundle = \"{digest}\"")).count(), 2, "{lock}");
        assert_eq!(lock.matches("admitted-at = \"2").count(), 2, "{lock}");
        assert!(lock.contains("admitted-by = \""), "{lock}");

        let before = files(&site.path("there"));
        let again = out(&site.host(0, &["plugin", "import", "site.tar", "there"]));
        assert!(again.contains("older 0.1.0: it is admitted as it is\n"), "{again}");
        let after = files(&site.path("there"));
        assert_eq!(before, after);
    }

    // proves: T30
    #[test]
    fn unsigned_grants_need_the_bundles_digest() {
        let site = vetting();
        let look = ["plugin", "import", "site.tar", "there", "--grants"];
        let shown = out(&site.host(0, &[&look[..], &["--dry-run"]].concat()));
        assert!(shown.contains("\n  [plugins.older]\n  hooks = [\"relate\"]\n"), "{shown}");
        let refused = err(&site.host(3, &look));
        assert!(
            refused.contains("--grants: it needs --digest, because plugins.toml is not signed"),
            "{refused}"
        );
        assert!(!site.path("there").exists());
    }

    #[test]
    fn repeated_import_keeps_the_admission() {
        let site = vetting();
        take(&site);
        let lock = site.read("there/plugins.lock");
        site.write("there/plugins.lock", &lock.replace("admitted-by = \"", "admitted-by = \"alice, not "));
        let lock = site.read("there/plugins.lock");
        site.write("plugins/steady.md", "Read me again.\n");
        // The signer admits nothing any more; that doesn't end what was admitted.
        let trust = site.read("trust.toml");
        site.write("trust.toml", &trust.replace("[[require]]", "admits-until = 2026-01-01\n[[require]]"));
        bundle(&site);
        let again = ["plugin", "import", "site.tar", "there", "--trust", "trust.toml"];
        site.host(0, &again);
        assert_eq!(site.read("there/plugins.lock"), lock);
        assert_eq!(site.read("there/steady.md"), "Read me again.\n");
        fs::remove_file(site.path("there/plugins.lock")).unwrap();
        let refused = err(&site.host(6, &again));
        assert!(refused.contains("alice admits until 2026-01-01"), "{refused}");
    }

    // proves: T31
    #[test]
    fn bundle_excludes_links_and_private_keys() {
        let site = vetting();
        let refused = || err(&site.host(2, &["plugin", "bundle", "plugins", "--out", "other.tar"]));
        fs::copy(site.path("alice.pem"), site.path("plugins/alice.pub")).unwrap();
        assert!(refused().contains("plugins: alice.pub is no public key; remove it"), "{}", refused());
        fs::remove_file(site.path("plugins/alice.pub")).unwrap();
        std::os::unix::fs::symlink("../alice.pem", site.path("plugins/LICENSE")).unwrap();
        assert!(refused().contains("LICENSE") && refused().contains("outside"), "{}", refused());
        assert!(!site.path("other.tar").exists());
    }

    #[test]
    fn uninspectable_old_version_is_replaced() {
        let site = vetting();
        fs::create_dir(site.path("there")).unwrap();
        site.write("there/older.wasm", "no component");
        let text = site.read("plugins/plugins.lock");
        let sha = |text: &str| text.lines().find(|line| line.starts_with("sha256")).unwrap().to_owned();
        let broken = pivot_vetting::digest::sha256(b"no component");
        let (_, rest) = text.split_once("[[plugin]]").unwrap();
        let (entry, _) = rest.split_once("[[plugin]]").unwrap();
        assert!(entry.contains("name = \"older\""), "{entry}");
        let entry = entry.replace(&sha(entry), &format!("sha256 = \"{broken}\""));
        site.write("there/plugins.lock", &format!("format = 1\n[[plugin]]{entry}"));
        let shown = out(&site.host(0, &["plugin", "import", "site.tar", "there", "--dry-run"]));
        assert!(shown.contains("requests of the admitted component can't be compared: "), "{shown}");
        site.host(0, &["plugin", "import", "site.tar", "there"]);
        site.host(0, &["plugin", "verify", "there"]);
    }

    // proves: T30
    #[test]
    fn import_keeps_grants_and_statements() {
        let site = vetting();
        let mine = "# mine\n[plugins.older]\nenabled = false\n";
        fs::create_dir(site.path("there")).unwrap();
        site.write("there/plugins.toml", mine);
        let refused = err(&site.host(3, &["plugin", "import", "site.tar", "there", "--grants"]));
        assert!(refused.contains("--grants: the directory has its own plugins.toml"), "{refused}");
        assert_eq!(names(&site.path("there")), ["plugins.toml"]);

        let done = json(&site.host(0, &["plugin", "import", "site.tar", "there", "-o", "json"]));
        assert_eq!(done["disabled"], json!(["older 0.1.0", "steady 0.1.0"]));
        assert!(site.read("there/plugins.toml").starts_with(mine));
        site.key("bob");
        site.host(0, &["plugin", "sign", "there/older.wasm", "--claim", "vetted", "--key", "bob.pem"]);
        site.host(0, &["plugin", "import", "site.tar", "there"]);
        assert_eq!(site.read("there/older.wasm.intoto.jsonl").lines().count(), 2);
    }

    #[test]
    fn unrelated_statements_are_not_imported() {
        let site = vetting();
        site.key("bob");
        std::fs::create_dir(site.path("there")).unwrap();
        // Calls itself steady, too.
        site.guest("liar", "there/steady.wasm");
        site.host(0, &["plugin", "sign", "there/steady.wasm", "--claim", "vetted", "--key", "bob.pem"]);
        site.host(0, &["plugin", "import", "site.tar", "there"]);
        let (theirs, ours) = ("there/steady.wasm.intoto.jsonl", "plugins/steady.wasm.intoto.jsonl");
        assert_eq!(site.read(theirs), site.read(ours));
    }

    // proves: T30
    #[test]
    fn a_bundle_replaces_no_key() {
        let site = vetting();
        fs::copy(site.path("alice.pub"), site.path("plugins/alice.pub")).unwrap();
        bundle(&site);
        std::fs::create_dir(site.path("there")).unwrap();
        site.write("there/alice.pub", "another key\n");
        let refused = err(&site.host(3, &["plugin", "import", "site.tar", "there"]));
        assert!(
            refused.contains("there: it has an own alice.pub, and a bundle replaces no key; nothing"),
            "{refused}"
        );
        assert_eq!(names(&site.path("there")), ["alice.pub"]);
        fs::copy(site.path("alice.pub"), site.path("there/alice.pub")).unwrap();
        site.host(0, &["plugin", "import", "site.tar", "there"]);
    }

    // proves: T29, T30
    #[test]
    fn untrusted_components_are_not_written() {
        let site = vetting();
        fs::remove_file(site.path("plugins/steady.wasm.intoto.jsonl")).unwrap();
        let import = |code, digest: &str| {
            let line = ["plugin", "import", "site.tar", "there", "--grants", "--trust", "trust.toml"];
            err(&site.host(code, &[&line[..], &["--digest", digest]].concat()))
        };
        let refused = import(6, &bundle(&site));
        assert!(refused.contains("steady") && refused.contains("nothing was written"), "{refused}");
        // Nobody who signed it counts at this site, either: a key in the bundle is only there to read.
        fs::copy(site.path("alice.pub"), site.path("plugins/alice.pub")).unwrap();
        site.host(0, &["plugin", "sign", "plugins/steady.wasm", "--claim", "vetted", "--key", "alice.pem"]);
        let digest = bundle(&site);
        site.key("bob");
        site.write(
            "trust.toml",
            "[signers.bob]\nkeys = ['bob.pub']\n[[require]]\nclaim = 'vetted'\nfrom = ['bob']\n",
        );
        import(6, &digest);
        assert!(!site.path("there").exists() && !site.path(".there.import").exists());
    }

    // proves: T33
    #[test]
    fn older_version_needs_downgrade_flag() {
        let site = vetting();
        take(&site);
        let newer = |version: &str| {
            site.read("there/plugins.lock").replacen(
                "version = \"0.1.0\"",
                &format!("version = \"{version}\""),
                1,
            )
        };
        // As if a newer one had been admitted.
        let lock = newer("0.2.0");
        let sha = lock.lines().find(|line| line.starts_with("sha256")).unwrap().to_owned();
        site.write("there/plugins.lock", &lock.replace(&sha, &format!("sha256 = \"{}\"", "0".repeat(64))));
        let before = files(&site.path("there"));
        let refused = err(&site.host(3, &["plugin", "import", "site.tar", "there"]));
        assert!(refused.contains("older 0.2.0 -> older 0.1.0"), "{refused}");
        assert!(
            refused.contains("nothing was written; --downgrade goes back to an older version"),
            "{refused}"
        );
        assert_eq!(files(&site.path("there")), before);
        let done =
            json(&site.host(0, &["plugin", "import", "site.tar", "there", "--downgrade", "-o", "json"]));
        assert_eq!(
            (&done["plugins"][0]["change"], &done["plugins"][0]["replaced"]),
            (&json!("replaced"), &json!("0.2.0"))
        );
    }

    #[test]
    fn renamed_component_replaces_the_admitted_one() {
        let site = vetting();
        take(&site);
        fs::rename(site.path("there/older.wasm"), site.path("there/old-name.wasm")).unwrap();
        let (before, after) = ("there/older.wasm.intoto.jsonl", "there/old-name.wasm.intoto.jsonl");
        fs::rename(site.path(before), site.path(after)).unwrap();
        // What the site has about the same file stays, by its new name.
        site.key("bob");
        site.host(0, &["plugin", "sign", "there/old-name.wasm", "--claim", "vetted", "--key", "bob.pem"]);
        site.host(0, &["plugin", "import", "site.tar", "there"]);
        assert_eq!(site.read("there/older.wasm.intoto.jsonl").lines().count(), 2);
        assert!(!site.path("there/old-name.wasm.intoto.jsonl").exists());
        assert!(!names(&site.path("there")).contains(&"old-name.wasm".to_owned()));
        site.host(0, &["plugin", "verify", "there"]);
    }

    #[test]
    fn what_would_not_load_is_not_written() {
        let site = vetting();
        fs::create_dir(site.path("there")).unwrap();
        site.guest("liar", "there/own.wasm");
        let refused = err(&site.host(6, &["plugin", "import", "site.tar", "there"]));
        assert!(
            refused.starts_with("error: with this bundle there would not load; nothing was written"),
            "{refused}"
        );
        assert!(!refused.contains(".there.import"), "{refused}");
        assert_eq!(names(&site.path("there")), ["own.wasm"]);
    }

    // proves: T29
    #[test]
    fn a_hostile_bundle_leaves_nothing_behind() {
        let site = vetting();
        let whole = fs::read(site.path("site.tar")).unwrap();
        let mut cases: Vec<(&str, Vec<u8>)> = vec![
            ("empty", Vec::new()),
            ("cut", whole[..whole.len() / 2].to_vec()),
            ("not a tar", b"hello".repeat(1000)),
        ];
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        };
        let component = whole.windows(4).position(|bytes| bytes == b"\0asm").unwrap();
        cases.push(("another component", flipped(component + 100)));
        for (name, bytes) in cases {
            fs::write(site.path("bad.tar"), bytes).unwrap();
            let refused = err(&site.host(3, &["plugin", "import", "bad.tar", "there", "--grants"]));
            assert!(
                refused.starts_with("error: bad.tar: ") && refused.contains("; nothing was written"),
                "{name}: {refused}"
            );
        }
        let other = format!("sha256:{}", "0".repeat(64));
        let refused = err(&site.host(3, &["plugin", "import", "site.tar", "there", "--digest", &other]));
        assert!(refused.contains(&format!("not {other}; nothing was written")), "{refused}");
        assert!(!site.path("there").exists() && !site.path(".there.import").exists());
        site.host(3, &["plugin", "import", "plugins", "there"]);
    }
}

/// The walk of docs/operating-plugins.md, typed where there is no network.
mod walk {
    use std::process::Command;

    use crate::site::{Site, err, out};

    const PAGE: &str = include_str!("../../../../docs/operating-plugins.md");

    /// The blocks of the section, each with what it is written in.
    fn blocks() -> Vec<(&'static str, &'static str)> {
        let (_, section) = PAGE.split_once("## To a site without network\n").unwrap();
        let (section, _) = section.split_once("\n## ").unwrap();
        let mut blocks = Vec::new();
        let mut rest = section;
        while let Some((_, after)) = rest.split_once("\n```") {
            let (language, after) = after.split_once('\n').unwrap();
            let (block, after) = after.split_once("```\n").unwrap();
            blocks.push((language, block));
            rest = after;
        }
        blocks
    }

    #[test]
    fn release_to_move_works_offline() {
        let site = Site::new();
        std::fs::remove_dir(site.path("plugins")).unwrap();
        std::fs::create_dir(site.path("release")).unwrap();
        site.guest("older", "release/my-hosts.wasm");
        site.world();
        std::fs::rename(site.path("world"), site.path("backup")).unwrap();
        let host = std::path::Path::new(env!("CARGO_BIN_EXE_pivot-host"));
        let path = format!("{}:/usr/bin:/bin", host.parent().unwrap().display());
        let (mut digest, mut typed) = (String::new(), Vec::new());
        for (language, block) in blocks() {
            if language == "toml" {
                site.write("trust.toml", block);
                continue;
            }
            assert_eq!(language, "sh");
            for line in block.lines() {
                let line = line.replace("sha256:…", &digest).replace("my-hosts\\]", "older\\]");
                let mut command = Command::new("unshare");
                command.args(["--map-root-user", "--net", "sh", "-c", &line]).current_dir(site.path(""));
                let output = command.env_clear().env("PATH", &path).output().unwrap();
                assert!(output.status.success(), "{line}: {}{}", out(&output), err(&output));
                if let Some((_, found)) = out(&output).split_once("\ndigest: ") {
                    digest = found.lines().next().unwrap_or_default().to_owned();
                }
                typed.push(line);
            }
        }
        assert_eq!(typed.iter().filter(|line| line.starts_with("pivot-host ")).count(), 10);
        let copied = std::fs::read_dir(site.path("restored")).unwrap().count();
        assert!(copied > 1, "{copied}");
        let lock = site.read("plugins/plugins.lock");
        assert!(lock.contains(&format!("from-bundle = \"{digest}\"")), "{lock}");
    }
}
