//! Plugins and plans that somebody decides about: a new version, what others may write, who vouches.

#[cfg(test)]
mod schemas;

#[cfg(test)]
#[path = "vetted/site.rs"]
mod site;

#[cfg(test)]
#[path = "vetted/bundles.rs"]
mod bundles;

#[cfg(test)]
mod versions {
    use expect_test::expect;

    use crate::site::{Site, err, json, out};

    #[test]
    fn a_new_version_is_compared_with_the_one_that_is_admitted() {
        let site = Site::new();
        site.guest("steady", "plugins/steady.wasm");
        site.guest("liar", "new.wasm");
        let nothing = site.host(6, &["plugin", "diff", "plugins", "new.wasm"]);
        assert!(err(&nothing).contains("plugins.lock in plugins has no plugin steady"), "{}", err(&nothing));
        site.host(0, &["plugin", "lock", "--grant", "plugins/steady.wasm"]);
        let same = out(&site.host(0, &["plugin", "diff", "plugins", "plugins/steady.wasm"]));
        assert!(same.starts_with("steady 0.1.0: the same file, sha256 "), "{same}");

        let line = ["plugin", "diff", "plugins", "new.wasm"];
        expect![[r#"
            steady 0.1.0 -> steady 0.1.0
            the version is the same, and the file is not
              sha256 …
              size …
              hooks    - check
              hooks    - hold
              hooks    - adapt
              hooks    - restore
              hooks    - settle
              sees     + Secret
              sees     - Host.test.io
              changes  - hold Host.test.io (source)
              changes  - adapt Host.test.io (target)
              changes  - restore Host.test.io (target)
              changes  - settle Host.test.io (target)
              reads    - Host.test.io (target, namespaces that move)
              reads    - Secret (source, namespace ironic)
              probes   - *:6385
              imports  - objects
              imports  - endpoints
              imports  - config
              imports  - log
            granted all it asks for, the newer one could at worst, and the older one could not:
              - read Secret (of Secrets names and keys, no values) in the namespaces that move
              - leave Secret out of the move, and bring into it what they name in the namespaces that move
              - stop the move by failing
            the older one could, and the newer one can not:
              - rewrite what is created in the target: any field of Host.test.io
              - keep Host.test.io paused, and write labels and annotations that controllers obey, in the source and the target
              - make controllers of the target believe any status of Host.test.io
              - probe *:6385 (any host), and send there what it reads
              - read Host.test.io in the namespaces that move; Secret (of Secrets names and keys, no values) in namespace ironic of the source
              - leave Host.test.io out of the move, and bring into it what they name in the namespaces that move
              - stop the move, or make it wait until it times out
            plugins.toml in plugins, below [plugins.steady], lacks what it asks for; a move refuses it until you grant it:
              - to see Secret (kinds)
            plugins.toml in plugins, below [plugins.steady], grants what it doesn't ask for; remove it, or a later version has it unseen:
              - the hook check
              - the hook hold
              - the hook adapt
              - the hook restore
              - the hook settle
              - to see Host.test.io (kinds)
              - to change Host.test.io of the source in hold
              - to change Host.test.io of the target in adapt
              - to change Host.test.io of the target in restore
              - to change Host.test.io of the target in settle
              - to read Host.test.io of the target in the namespaces that move
              - to read Secret of the source in namespace ironic
              - to probe any of *:6385
        "#]].assert_eq(&site.without_digests(&out(&site.host(3, &line))));
        let said = json(&site.host(3, &["plugin", "diff", "plugins", "new.wasm", "-o", "json"]));
        assert_eq!(said["grants"]["missing"].as_array().unwrap().len(), 1, "{said:#}");
        // Two files are compared without anybody's grants.
        let files = json(&site.host(3, &["plugin", "diff", "plugins/steady.wasm", "new.wasm", "-o", "json"]));
        assert_eq!((&files["changes"], &files["grants"]), (&said["changes"], &serde_json::Value::Null));

        // Written over the old one, the old one is known by the lock alone.
        site.guest("liar", "plugins/steady.wasm");
        expect![[r#"
            steady 0.1.0 -> steady 0.1.0
            the version is the same, and the file is not
              sha256 …
              size …
            the file that was admitted is not there any more: what it asked for can't be compared
            plugins.toml in plugins, below [plugins.steady], lacks what it asks for; a move refuses it until you grant it:
              - to see Secret (kinds)
            plugins.toml in plugins, below [plugins.steady], grants what it doesn't ask for; remove it, or a later version has it unseen:
              - the hook check
              - the hook hold
              - the hook adapt
              - the hook restore
              - the hook settle
              - to see Host.test.io (kinds)
              - to change Host.test.io of the source in hold
              - to change Host.test.io of the target in adapt
              - to change Host.test.io of the target in restore
              - to change Host.test.io of the target in settle
              - to read Host.test.io of the target in the namespaces that move
              - to read Secret of the source in namespace ironic
              - to probe any of *:6385
        "#]].assert_eq(
            &site.without_digests(&out(&site.host(3, &["plugin", "diff", "plugins", "new.wasm"]))),
        );
        let locked = out(&site.host(0, &["plugin", "lock", "--grant", "plugins/steady.wasm"]));
        assert!(locked.contains("locked as it is now, in place of version 0.1.0 (sha256 "), "{locked}");
        let named = "the section grants what it doesn't ask for; remove it, or a later version has it unseen:\n  - the hook check\n";
        assert!(locked.contains(named), "{locked}");
    }
}

#[cfg(test)]
mod strictness {
    use serde_json::json;

    use crate::site::{Site, err, json, out};

    /// As it should be, whatever mask the tests run with.
    fn site() -> Site {
        let site = Site::new();
        site.guest("older", "plugins/older.wasm");
        site.host(0, &["plugin", "lock", "--grant", "plugins/older.wasm"]);
        for (file, bits) in [
            ("plugins", 0o755),
            ("plugins/older.wasm", 0o644),
            ("plugins/plugins.toml", 0o644),
            ("plugins/plugins.lock", 0o644),
        ] {
            site.mode(file, bits);
        }
        site
    }

    #[test]
    fn what_others_may_write_is_a_warning_and_in_a_strict_run_refused() {
        let site = site();
        let fine = site.host(0, &["plugin", "verify", "--strict", "plugins"]);
        assert!(!out(&fine).contains("warning"), "{}", out(&fine));
        for (file, bits, named) in [
            ("plugins", 0o777, "the directory"),
            ("plugins/older.wasm", 0o664, "older.wasm"),
            ("plugins/plugins.toml", 0o646, "plugins.toml"),
            ("plugins/plugins.lock", 0o666, "plugins.lock"),
        ] {
            site.mode(file, bits);
            let warned = out(&site.host(0, &["plugin", "verify", "plugins"]));
            let line =
                format!("warning: others may write what decides which plugins run: {named}; `chmod go-w`");
            assert!(warned.contains(&line), "{warned}");
            let listed = json(&site.host(0, &["plugin", "list", "--plugins", "plugins", "-o", "json"]));
            assert_eq!(listed["openToOthers"], json!([named]));
            let refused = json(&site.host(6, &["plugin", "verify", "--strict", "plugins", "-o", "json"]));
            assert_eq!(refused["faults"][0]["code"], "open-to-others", "{refused:#}");
            site.mode(file, bits & 0o755);
        }
    }

    #[test]
    fn a_strict_move_refuses_a_plugin_that_was_switched_off() {
        let site = site();
        let grants = std::fs::read_to_string(site.path("plugins/plugins.toml")).unwrap();
        let off = grants.replace("[plugins.older]", "[plugins.older]\nenabled = false");
        std::fs::write(site.path("plugins/plugins.toml"), off).unwrap();
        site.world();
        let plan = ["plan", "--from-directory", "world", "--plugins", "plugins"];
        site.host(0, &plan);
        site.mode("plugins", 0o775);
        let noted = json(&site.host(0, &[&plan[..], &["-o", "json"]].concat()));
        let codes: Vec<_> = noted["notes"].as_array().unwrap().iter().map(|note| &note["code"]).collect();
        assert_eq!(codes, ["plugin-disabled", "open-to-others"]);
        for line in [
            &plan[..],
            &["move", "--from-directory", "world", "--to-directory", "copy", "--plugins", "plugins"],
        ] {
            let refused = site.host(6, &[line, &["--strict"]].concat());
            let said = err(&refused);
            assert!(said.contains("plugin older 0.1.0 (older.wasm, sha256 "), "{said}");
            assert!(said.contains("is there and not enabled; a strict run refuses that."), "{said}");
            assert!(said.contains("may be written by others: the directory;"), "{said}");
        }
        assert!(!site.path("copy").exists());
    }
}

#[cfg(test)]
mod signatures {
    use serde_json::{Value, json};

    use crate::site::{Site, err, json, out};

    const COMPONENT: &str = "plugins/older.wasm";
    const STATEMENTS: &str = "plugins/older.wasm.intoto.jsonl";

    /// Two of three have to have vetted a plugin.
    const TRUST: &str = "[signers.alice]\nkeys = ['alice.pub', 'alice-2.pub']\n[signers.bob]\nkeys = ['bob.pub']\n\
                         [signers.carol]\nkeys = ['carol.pub']\n[[require]]\nclaim = 'vetted'\n\
                         from = ['alice', 'bob', 'carol']\nat-least = 2\n";

    /// Everybody's keys, of both kinds.
    fn keys(site: &Site) {
        ["alice", "bob", "carol", "mallory"].iter().for_each(|name| site.key(name));
        site.edwards_key("alice-2");
    }

    /// A site whose plugin alice and bob vetted.
    fn site() -> Site {
        let site = Site::new();
        keys(&site);
        site.guest("older", COMPONENT);
        site.host(0, &["plugin", "lock", "--grant", COMPONENT]);
        site.write("trust.toml", TRUST);
        vetted(&site, "alice.pem");
        vetted(&site, "bob.pem");
        site
    }

    fn vetted(site: &Site, key: &str) {
        site.host(
            0,
            &["plugin", "sign", COMPONENT, "--claim", "vetted", "--key", key, "--reviewer", "R. E."],
        );
    }

    fn lines(site: &Site) -> Vec<String> {
        site.read(STATEMENTS).lines().map(str::to_owned).collect()
    }

    /// The codes for which a directory is refused.
    fn refused(site: &Site) -> Vec<Value> {
        let line = ["plugin", "verify", "plugins", "--trust", "trust.toml", "-o", "json"];
        let said = json(&site.host(6, &line));
        said["faults"].as_array().unwrap().iter().map(|fault| fault["code"].clone()).collect()
    }

    fn verified(site: &Site) -> String {
        out(&site.host(0, &["plugin", "verify", "plugins", "--trust", "trust.toml"]))
    }

    #[test]
    fn two_of_three_have_to_have_vetted_a_plugin() {
        let site = site();
        let told = "  older 0.1.0  vetted by alice, vetted by bob\ntrust: trust.toml: 1 rule about plugins\n";
        assert!(verified(&site).ends_with(told), "{}", verified(&site));
        let trusting = ["plugin", "verify", "plugins", "--trust", "trust.toml", "-o", "json"];
        let said = json(&site.host(0, &trusting));
        assert_eq!(said["trust"], json!({"files": ["trust.toml"], "rules": 1}));
        assert_eq!(said["vouchedBy"], json!({"older": ["vetted by alice", "vetted by bob"]}));
        let list = ["plugin", "list", "--plugins", "plugins", "--trust", "trust.toml"];
        let listed = out(&site.host(0, &list));
        assert!(listed.contains("  vetted by alice, vetted by bob\n"), "{listed}");
        let listed = json(&site.host(0, &[&list[..], &["-o", "json"]].concat()));
        assert_eq!(listed["items"][0]["vouchedBy"][0]["signer"], "alice");
        assert_eq!(
            listed["items"][0]["description"]["vouchedBy"],
            json!(["vetted by alice", "vetted by bob"])
        );
        // Without the file nobody has to.
        for line in [&["plugin", "verify", "plugins"][..], &["plugin", "list", "--plugins", "plugins"]] {
            let said = out(&site.host(0, line));
            assert!(said.ends_with("\nno trust file: nobody has to vouch for a plugin\n"), "{said}");
            assert!(json(&site.host(0, &[line, &["-o", "json"]].concat()))["trust"].is_null());
        }

        let both = lines(&site);
        site.write(STATEMENTS, &format!("{}\n", both[0]));
        assert_eq!(refused(&site), ["unsigned"]);
        let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
        let why = "is not trusted: `vetted` is required from 2 of alice, bob, carol, and alice signed; 1 of bob, carol missing";
        assert!(said.contains(why), "{said}");
        // One signer with two keys is one signer, and a stranger is none.
        vetted(&site, "alice-2.pem");
        vetted(&site, "mallory.pem");
        assert_eq!(lines(&site).len(), 3);
        assert_eq!(refused(&site), ["unsigned"]);
        vetted(&site, "carol.pem");
        assert!(verified(&site).contains("  older 0.1.0  vetted by alice, vetted by carol\n"));
        // And is named once.
        let listed = out(&site.host(0, &list));
        assert!(listed.contains("  vetted by alice, vetted by carol\n"), "{listed}");
        std::fs::remove_file(site.path(STATEMENTS)).unwrap();
        assert_eq!(refused(&site), ["unsigned"]);
    }

    /// Nothing is looked up anywhere: no transparency log, no certificate, no list of revocations.
    #[test]
    fn signing_and_verifying_need_no_network() {
        let site = site();
        let sign = ["plugin", "sign", COMPONENT, "--claim", "released", "--key", "carol.pem"];
        site.host_alone(0, &sign);
        let verified = out(&site.host_alone(0, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
        assert!(
            verified.contains("  older 0.1.0  released by carol, vetted by alice, vetted by bob\n"),
            "{verified}"
        );
        site.write(STATEMENTS, &format!("{}\n", lines(&site)[0]));
        site.host_alone(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]);
    }

    /// Neither `--unlocked` nor a grant waives a rule.
    #[test]
    fn a_move_and_a_lock_hold_to_the_trust_file() {
        let site = site();
        site.world();
        let plan = ["plan", "--from-directory", "world", "--plugins", "plugins", "--trust", "trust.toml"];
        let lock = ["plugin", "lock", "--grant", COMPONENT, "--trust", "trust.toml"];
        site.host(0, &[&plan[..], &["--out", "plan.json"]].concat());
        let saved: Value = serde_json::from_str(&site.read("plan.json")).unwrap();
        assert_eq!(saved["plugins"][0]["vouchedBy"], json!(["vetted by alice", "vetted by bob"]));
        assert_eq!(saved["plugins"][0]["granted"], json!(["hook relate", "sees Secret"]));
        site.host(0, &lock);
        let both = lines(&site);
        site.write(STATEMENTS, &format!("{}\n", both[1]));
        for line in [&plan[..], &[&plan[..], &["--unlocked"]].concat(), &lock] {
            let said = err(&site.host(6, line));
            assert!(said.contains("1 of alice, carol missing"), "{said}");
        }
    }

    /// It is refused before anything of it is compiled: what could not even be parsed is refused for its signatures.
    #[test]
    fn another_byte_of_a_component_or_a_statement_is_refused_before_it_is_compiled() {
        let site = site();
        let (component, statements) = (std::fs::read(site.path(COMPONENT)).unwrap(), site.read(STATEMENTS));
        std::fs::write(site.path(COMPONENT), b"\0asm no component").unwrap();
        let unlocked = ["plan", "--from-directory", "world", "--plugins", "plugins", "--unlocked"];
        site.world();
        let said = err(&site.host(6, &[&unlocked[..], &["--trust", "trust.toml"]].concat()));
        assert!(
            said.contains("is not trusted: ") && said.contains("line 1: about another component"),
            "{said}"
        );
        std::fs::write(site.path(COMPONENT), &component).unwrap();
        verified(&site);

        let envelope: Value = serde_json::from_str(statements.lines().next().unwrap()).unwrap();
        let payload = envelope.pointer("/dsseEnvelope/payload").unwrap().as_str().unwrap().to_owned();
        let other = if payload.ends_with('A') { "B" } else { "A" };
        let changed = format!("{other}{}", &payload[1..]);
        site.write(STATEMENTS, &statements.replacen(&payload, &changed, 1));
        assert_eq!(refused(&site), ["unsigned"]);
        // A line that can't be read is passed by, like all that says nothing here.
        site.write(STATEMENTS, &statements.replacen("dsseEnvelope", "dsseEnvelop", 1));
        assert_eq!(refused(&site), ["unsigned"]);
        site.write(STATEMENTS, &format!("{{}}\n{statements}"));
        verified(&site);
    }

    /// What was vetted is what it says it is, or nobody vetted it.
    #[test]
    fn a_card_with_another_import_is_misdescribed() {
        let site = site();
        std::fs::remove_file(site.path(STATEMENTS)).unwrap();
        let statement =
            out(&site.host(0, &["plugin", "sign", COMPONENT, "--claim", "vetted", "--statement-only"]));
        let mut lie: Value = serde_json::from_str(&statement).unwrap();
        let imports = lie.pointer_mut("/predicate/card/imports").unwrap();
        assert!(imports.is_array());
        *imports = json!(["objects"]);
        let mut lines = String::new();
        for key in ["alice.pem", "bob.pem"] {
            site.signed_elsewhere(&lie.to_string(), key, "bundle.json");
            let attach = ["plugin", "sign", COMPONENT, "--claim", "vetted", "--attach", "bundle.json"];
            let said = err(&site.host(2, &attach));
            assert!(said.contains("its card is not what the component is: it differs in imports"), "{said}");
            // Who attached it by hand has gained nothing.
            lines.push_str(&(site.read("bundle.json") + "\n"));
        }
        site.write(STATEMENTS, &lines);
        assert_eq!(refused(&site), ["misdescribed"]);
        let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
        assert!(said.contains("is not what alice vouched for: it differs in imports"), "{said}");
    }

    #[test]
    fn what_another_tool_signed_is_attached_if_it_is_about_this_file() {
        let site = site();
        std::fs::remove_file(site.path(STATEMENTS)).unwrap();
        let only = ["plugin", "sign", COMPONENT, "--claim", "vetted", "--statement-only", "--note", "fine"];
        let statement = out(&site.host(0, &only));
        site.signed_elsewhere(&statement, "alice.pem", "bundle.json");
        site.host(0, &["plugin", "sign", COMPONENT, "--claim", "vetted", "--attach", "bundle.json"]);
        vetted(&site, "carol.pem");
        verified(&site);
        for (from, to, claim, why) in [
            ("", "", "released", "it says `vetted`, not `released`"),
            ("vnd.in-toto", "vnd.other", "vetted", "its payload is of the type `application/vnd.other+json`"),
        ] {
            site.write("other.json", &site.read("bundle.json").replace(from, to));
            let said = err(
                &site.host(2, &["plugin", "sign", COMPONENT, "--claim", claim, "--attach", "other.json"])
            );
            assert!(said.contains(why), "{said}");
        }
        let checked = ["--attach", "bundle.json", "--checked", "report.json"];
        site.host(2, &[&["plugin", "sign", COMPONENT, "--claim", "vetted"], &checked[..]].concat());
        site.guest("steady", "other.wasm");
        let said =
            err(&site
                .host(2, &["plugin", "sign", "other.wasm", "--claim", "vetted", "--attach", "bundle.json"]));
        assert!(said.contains("it is about another file; nothing was written"), "{said}");
        assert!(!site.path("other.wasm.intoto.jsonl").exists());
    }

    /// Who signs sees what, whoever else is signing, and whatever other tools have written there.
    #[test]
    fn a_signature_is_added_to_what_is_there_and_says_what_it_is_of() {
        let site = site();
        let digest = json(&site.host(0, &["plugin", "inspect", COMPONENT, "-o", "json"]))["sha256"].clone();
        let before = format!("{{\"of\": \"another tool\"}} \n{}", site.read(STATEMENTS));
        site.write(STATEMENTS, &before);
        let sign = ["plugin", "sign", COMPONENT, "--claim", "released", "--key", "carol.pem"];
        let new = format!("{STATEMENTS}.new");
        site.write(&new, "");
        let said = err(&site.host(2, &sign));
        assert!(said.contains("if nobody is, remove it and sign again; nothing was written"), "{said}");
        std::fs::remove_file(site.path(&new)).unwrap();
        let said = out(&site.host(0, &sign));
        let what = format!("what was signed: `released`, of sha256 {}\n", digest.as_str().unwrap());
        assert!(said.contains("has 3 statements\n") && said.ends_with(&what), "{said}");
        assert!(site.read(STATEMENTS).starts_with(&before) && !site.path(&new).exists());
        verified(&site);
    }

    /// A revoked key counts nowhere; one that expired admits nothing new, and what was admitted goes on.
    #[test]
    fn a_revoked_key_stops_a_load_and_an_expired_one_an_admission() {
        let site = site();
        let lock = ["plugin", "lock", "--grant", COMPONENT, "--trust", "trust.toml"];
        site.write("trust.toml", &TRUST.replace("[signers.bob]", "admits-until = 2026-01-01\n[signers.bob]"));
        verified(&site);
        let said = err(&site.host(6, &lock));
        assert!(said.contains("line 1: alice admits until 2026-01-01"), "{said}");
        // Without a lock nothing was admitted before.
        let list = ["plugin", "list", "--plugins", "plugins", "--trust", "trust.toml"];
        site.host(0, &list);
        let said = err(&site.host(6, &[&list[..], &["--unlocked"]].concat()));
        assert!(said.contains("line 1: alice admits until 2026-01-01"), "{said}");

        let listed = ["plugin", "list", "--plugins", "plugins", "--trust", "trust.toml", "-o", "json"];
        let key =
            json(&site.host(0, &listed))["items"][0]["vouchedBy"][1]["key"].as_str().unwrap().to_owned();
        site.write("trust.toml", &format!("{TRUST}[[revoked]]\nkey = '{key}'\nwhy = 'stolen laptop'\n"));
        assert_eq!(refused(&site), ["unsigned"]);
        let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
        assert!(said.contains("line 2: key of bob revoked: stolen laptop"), "{said}");
        let digest = json(&site.host(0, &["plugin", "inspect", COMPONENT, "-o", "json"]))["sha256"].clone();
        let digest = digest.as_str().unwrap();
        site.write(
            "trust.toml",
            &format!("{TRUST}[[revoked]]\ncomponent = 'sha256:{digest}'\nwhy = 'a hole'\n"),
        );
        assert_eq!(refused(&site), ["revoked"]);
    }

    /// Whoever may write where it lies may put another one there.
    #[test]
    fn a_trust_file_that_others_may_replace_is_a_warning_and_a_strict_one_is_refused() {
        let site = site();
        std::fs::create_dir(site.path("keys")).unwrap();
        std::fs::rename(site.path("carol.pub"), site.path("keys/carol.pub")).unwrap();
        let trust = TRUST.replace("carol.pub", "keys/carol.pub");
        site.write("trust.toml", &trust);
        let lock = ["plugin", "lock", COMPONENT, "--trust", "trust.toml"];
        let verify = ["plugin", "verify", "plugins", "--trust", "trust.toml"];
        assert!(!err(&site.host(0, &lock)).contains("others may write"));
        site.mode("keys", 0o1777);
        assert!(!out(&site.host(0, &verify)).contains("others may write"));
        site.mode("keys", 0o777);
        let open =
            format!("others may write what decides which plugins run: {}", site.real("keys").display());
        let (locked, verified) = (err(&site.host(0, &lock)), out(&site.host(0, &verify)));
        assert!(locked.contains(&open) && verified.contains(&open), "{locked}{verified}");
        site.write("trust.toml", &format!("strict = true\n{trust}"));
        for line in [lock, verify] {
            let said = err(&site.host(6, &line));
            assert!(said.contains(&site.real("keys").display().to_string()), "{said}");
        }
    }

    #[test]
    fn a_trust_file_that_can_not_be_meant_is_refused() {
        let site = site();
        for (from, to, why) in [
            ("at-least = 2", "at-least = 0", "at-least"),
            ("at-least = 2", "at-least = 4", "at-least"),
            ("'bob.pub'", "'alice.pub'", "alice"),
            ("'bob.pub'", "'nobody.pub'", "nobody.pub"),
            ("'bob.pub'", "'bob.pem'", "bob.pem"),
            ("claim = 'vetted'", "claim = 'wetted'", "it is none of `released`, `vetted`"),
        ] {
            site.write("trust.toml", &TRUST.replace(from, to));
            let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
            assert!(
                said.contains("the trust file trust.toml can't be used: ") && said.contains(why),
                "{to}: {said}"
            );
        }
        let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "missing.toml"]));
        assert!(said.contains("the trust file missing.toml can't be used: "), "{said}");
    }
}

#[cfg(test)]
mod approvals {
    use std::process::Output;

    use crate::site::{Site, err, json, out};

    const TRUST: &str = "[signers.alice]\nkeys = ['alice.pub']\n[signers.bob]\nkeys = ['bob.pub']\n\
                         [[require]]\nclaim = 'approved'\nfrom = ['alice', 'bob']\nat-least = 2\n";

    /// Runs a move from one folder to another.
    fn run(site: &Site, code: i32, words: &[&str]) -> Output {
        let ends = ["--from-directory", "world", "--to-directory", "copy", "--trust", "trust.toml"];
        site.host(code, &[words, &ends].concat())
    }

    /// Resumes a move into a cluster that isn't there: the plan is looked at first.
    fn resume(site: &Site, words: &[&str]) -> String {
        let ends = ["--from-directory", "world", "--to-kubeconfig", "none", "--trust", "trust.toml"];
        err(&site.host(3, &[&["resume", "--plan", "plan.json"], words, &ends].concat()))
    }

    /// A site with a plan that both approved.
    fn site() -> Site {
        let site = Site::new();
        site.world();
        ["alice", "bob"].iter().for_each(|name| site.key(name));
        site.write("trust.toml", TRUST);
        run(&site, 0, &["plan", "--out", "plan.json"]);
        for key in ["alice.pem", "bob.pem"] {
            site.host(0, &["plan", "sign", "plan.json", "--key", key]);
        }
        site
    }

    /// Four eyes: who moves needs a plan that two others approved, as it is.
    #[test]
    fn a_move_needs_a_plan_that_two_approved() {
        let site = Site::new();
        site.world();
        for name in ["alice", "bob"] {
            site.key(name);
        }
        site.write("trust.toml", TRUST);
        let run = |code: i32, words: &[&str]| run(&site, code, words);
        let said = err(&run(3, &["move"]));
        assert!(said.contains("the trust file requires a plan that was approved"), "{said}");
        assert!(said.contains("a move that has begun goes on with `resume`"), "{said}");
        run(0, &["plan", "--out", "plan.json"]);
        let said = err(&run(3, &["move", "--plan", "plan.json"]));
        assert!(
            said.contains("the plan plan.json is not approved: `approved` is required from 2 of alice, bob"),
            "{said}"
        );
        site.host(0, &["plan", "sign", "plan.json", "--key", "alice.pem"]);
        let said = err(&run(3, &["move", "--plan", "plan.json"]));
        assert!(said.contains("alice signed; 1 of bob missing"), "{said}");
        let signed = json(
            &site.host(0, &["plan", "sign", "plan.json", "--key", "bob.pem", "--note", "go", "-o", "json"]),
        );
        assert_eq!(signed["statements"], 2);
        let shown = out(&site.host(0, &["plan", "show", "plan.json"]));
        assert!(shown.contains(signed["checksum"].as_str().unwrap()), "{shown}");
        site.host(0, &["plan", "--from-directory", "world", "--out", "nowhere.json"]);
        let said = err(&site.host(0, &["plan", "sign", "nowhere.json", "--statement-only"]));
        assert!(said.contains("the plan nowhere.json has no target, and can't be carried out"), "{said}");
        // Another plan is not approved, whatever lies beside it.
        std::fs::rename(site.path("plan.json.intoto.jsonl"), site.path("kept")).unwrap();
        let world = site.read("world/objects.yaml");
        site.write("world/objects.yaml", &world.replace("name: site", "name: another"));
        run(0, &["plan", "--out", "other.json"]);
        std::fs::copy(site.path("kept"), site.path("other.json.intoto.jsonl")).unwrap();
        let said = err(&run(3, &["move", "--plan", "other.json"]));
        assert!(said.contains("line 1: about another plan"), "{said}");
        assert!(!site.path("copy").exists());
        std::fs::rename(site.path("kept"), site.path("plan.json.intoto.jsonl")).unwrap();
        site.write("world/objects.yaml", &world);
        let moved = run(0, &["move", "--plan", "plan.json", "--report", "report.json"]);
        let note = "the plan plan.json was approved by alice, bob";
        assert!(err(&moved).contains(note), "{}", err(&moved));
        assert!(site.read("report.json").contains(note), "{}", site.read("report.json"));
        assert!(out(&moved).contains("Copied"));
    }

    /// A source that is paused has to be finished or rolled back, whatever day it is.
    #[test]
    fn an_approval_that_expired_begins_no_move_and_stops_none() {
        let site = site();
        site.write("trust.toml", &TRUST.replace("[signers.bob]", "admits-until = 2026-01-01\n[signers.bob]"));
        let said = err(&run(&site, 3, &["move", "--plan", "plan.json"]));
        assert!(said.contains("alice admits until 2026-01-01"), "{said}");
        let way = "have it signed with `pivot-host plan sign plan.json --key PEM`; a move under way can be rolled back";
        assert!(said.contains(way), "{said}");
        let said = resume(&site, &[]);
        assert!(!said.contains("not approved"), "{said}");
        let key = site.fingerprint("alice");
        site.write("trust.toml", &format!("{TRUST}[[revoked]]\nkey = '{key}'\nwhy = 'stolen'\n"));
        let said = resume(&site, &[]);
        assert!(said.contains("not approved") && said.contains("key of alice revoked: stolen"), "{said}");
    }

    /// What alice and bob approved is what the report says that they did.
    #[test]
    fn a_resume_accepts_no_danger_that_the_approved_plan_does_not() {
        let site = site();
        let more = ["--no-wait", "--accept-unverified", "Host.test.io"];
        let said = resume(&site, &more);
        assert!(
            said.contains("approved without --no-wait, --accept-unverified Host.test.io: resume"),
            "{said}"
        );
        // Where nobody has to approve, who resumes may decide more.
        site.write("trust.toml", "");
        let said = resume(&site, &more);
        assert!(!said.contains("approved"), "{said}");
    }
}
