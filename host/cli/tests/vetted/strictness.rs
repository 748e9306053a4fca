//! What others may write, and plugins that are switched off.

use serde_json::json;

use crate::site::{Site, err, json, out};

/// As it should be, whatever mask the tests run with.
fn site() -> Site {
    let site = Site::new();
    site.guest("older", "plugins/older.wasm");
    site.host(0, &["plugin", "add", "--grant", "plugins/older.wasm"]);
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

// proves: T21
#[test]
fn writable_files_warn_or_are_refused() {
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
        let line = format!("warning: others may write what decides which plugins run: {named}; `chmod go-w`");
        assert!(warned.contains(&line), "{warned}");
        let listed = json(&site.host(0, &["plugin", "list", "plugins", "-o", "json"]));
        assert_eq!(listed["openToOthers"], json!([named]));
        let refused = json(&site.host(6, &["plugin", "verify", "--strict", "plugins", "-o", "json"]));
        assert_eq!(refused["faults"][0]["code"], "open-to-others", "{refused:#}");
        site.mode(file, bits & 0o755);
    }
}

// proves: T20
#[test]
fn strict_move_refuses_disabled_plugins() {
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
    for line in
        [&plan[..], &["move", "--from-directory", "world", "--to-directory", "copy", "--plugins", "plugins"]]
    {
        let refused = site.host(6, &[line, &["--strict"]].concat());
        let said = err(&refused);
        assert!(said.contains("plugin older 0.1.0 (older.wasm, sha256 "), "{said}");
        assert!(said.contains("is there and not enabled; a strict run refuses that."), "{said}");
        assert!(said.contains("may be written by others: the directory;"), "{said}");
    }
    assert!(!site.path("copy").exists());
}
