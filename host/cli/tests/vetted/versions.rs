//! A new version of a plugin, beside the one that is admitted.

use expect_test::expect;

use crate::site::{Site, err, json, out};

// proves: T15
#[test]
fn new_version_is_compared_with_admitted_one() {
    let site = Site::new();
    site.guest("steady", "plugins/steady.wasm");
    site.guest("liar", "new.wasm");
    let nothing = site.host(6, &["plugin", "diff", "plugins", "new.wasm"]);
    assert!(err(&nothing).contains("plugins.lock in plugins has no plugin steady"), "{}", err(&nothing));
    site.host(0, &["plugin", "add", "--grant", "plugins/steady.wasm"]);
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
          imports  - context
          imports  - objects
          imports  - endpoints
          imports  - config
          imports  - log
        granted all it asks for, the newer one could at worst, and the older one could not:
          - read Secret (of Secrets names and keys, no values) in the namespaces that move
          - leave Secret out of the move, and add objects of the moving namespaces to it
          - stop the move by failing
        the older one could, and the newer one can not:
          - rewrite what is created in the target: any field of Host.test.io
          - keep Host.test.io paused, and write labels and annotations that controllers obey, in the source and the target
          - make controllers of the target believe any status of Host.test.io
          - probe *:6385 (any host), and send there what it reads
          - read Host.test.io in the namespaces that move; Secret (of Secrets names and keys, no values) in namespace ironic of the source
          - leave Host.test.io out of the move, and add objects of the moving namespaces to it
          - stop the move, or make it wait until it times out
        plugins.toml in plugins, below [plugins.steady], lacks what it asks for; a move refuses it until you grant it:
          - to see Secret (kinds)
        plugins.toml in plugins, below [plugins.steady], grants more than it asks for. Remove this, or a later version gets it without review:
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
    "#]].assert_eq(&site.without_digests(&out(&site.host(10, &line))));
    let said = json(&site.host(10, &["plugin", "diff", "plugins", "new.wasm", "-o", "json"]));
    assert_eq!(said["grants"]["missing"].as_array().unwrap().len(), 1, "{said:#}");
    // Two files are compared without anybody's grants.
    let files = json(&site.host(10, &["plugin", "diff", "plugins/steady.wasm", "new.wasm", "-o", "json"]));
    assert_eq!((&files["changes"], &files["grants"]), (&said["changes"], &serde_json::Value::Null));

    // Written over the old one, the old one is known by the lock alone.
    site.guest("liar", "plugins/steady.wasm");
    expect![[r#"
        steady 0.1.0 -> steady 0.1.0
        the version is the same, and the file is not
          sha256 …
          size …
        requests of the admitted component can't be compared: its file is not there any more
        plugins.toml in plugins, below [plugins.steady], lacks what it asks for; a move refuses it until you grant it:
          - to see Secret (kinds)
        plugins.toml in plugins, below [plugins.steady], grants more than it asks for. Remove this, or a later version gets it without review:
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
        &site.without_digests(&out(&site.host(10, &["plugin", "diff", "plugins", "new.wasm"]))),
    );
    let locked = out(&site.host(0, &["plugin", "add", "--grant", "plugins/steady.wasm"]));
    assert!(locked.contains("locked as it is now, in place of version 0.1.0 (sha256 "), "{locked}");
    let named = "the section grants more than it asks for. Remove this, or a later version gets it without review:\n  - the hook check\n";
    assert!(locked.contains(named), "{locked}");
}
