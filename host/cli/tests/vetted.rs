//! Plugins that somebody decides about: a new version of one that is admitted.

#[cfg(test)]
mod schemas;

#[cfg(test)]
#[path = "vetted/site.rs"]
mod site;

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
        expect![[r#"
             version 0.1.0 (sha256 fbc4858e3228)
            plugins.toml has a section for it already, which stays as it is; a move refuses it for what that lacks:
              - to see Secret (kinds)
            the section grants what it doesn't ask for; remove it, or a later version has it unseen:
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

            a section that grants it all; review it:

            # The vendor says: "Is who you trust."
            # What version 0.1.0 asks for. Review each line.
            [plugins.steady]
            hooks = ["relate"]
            kinds = [
                "Secret",
            ]
        "#]].assert_eq(locked.split_once("in place of").unwrap().1);
    }
}

#[cfg(test)]
mod strictness {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use crate::site::{Site, err, json, out};

    fn mode(site: &Site, file: &str, mode: u32) {
        set_permissions(site.path(file), Permissions::from_mode(mode)).unwrap();
    }

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
            mode(&site, file, bits);
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
            mode(&site, file, bits);
            let warned = out(&site.host(0, &["plugin", "verify", "plugins"]));
            let line =
                format!("warning: others may write what decides which plugins run: {named}; `chmod go-w`");
            assert!(warned.contains(&line), "{warned}");
            let listed = json(&site.host(0, &["plugin", "list", "--plugins", "plugins", "-o", "json"]));
            assert_eq!(listed["openToOthers"], json!([named]));
            let refused = json(&site.host(6, &["plugin", "verify", "--strict", "plugins", "-o", "json"]));
            assert_eq!(refused["faults"][0]["code"], "open-to-others", "{refused:#}");
            mode(&site, file, bits & 0o755);
        }
    }

    #[test]
    fn a_strict_move_refuses_a_plugin_that_was_switched_off() {
        let site = site();
        let grants = std::fs::read_to_string(site.path("plugins/plugins.toml")).unwrap();
        let off = grants.replace("[plugins.older]", "[plugins.older]\nenabled = false");
        std::fs::write(site.path("plugins/plugins.toml"), off).unwrap();
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site, namespace: a, labels: \
                   {clusterctl.cluster.x-k8s.io/move: ''}}\n";
        std::fs::create_dir(site.path("world")).unwrap();
        std::fs::write(site.path("world/objects.yaml"), map).unwrap();
        let plan = ["plan", "--from-directory", "world", "--plugins", "plugins"];
        site.host(0, &plan);
        mode(&site, "plugins", 0o775);
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
