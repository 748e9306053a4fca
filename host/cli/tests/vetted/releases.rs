//! A vendor's release: a bundle without a lock, and its entry in a catalogue.

use serde_json::{Value, json};

use crate::schemas;
use crate::site::{Site, err, json};

const PAGE: &str = include_str!("../../../../docs/publishing-plugins.md");
const BUNDLE: [&str; 6] = ["plugin", "bundle", "plugins", "--out", "release.tar", "-o"];

/// A vendor whose component is signed, with the public key next to it.
fn vendor() -> Site {
    let site = Site::new();
    site.key("acme");
    site.guest("older", "plugins/older.wasm");
    std::fs::copy(site.path("acme.pub"), site.path("plugins/acme.pub")).unwrap();
    let sign = ["plugin", "sign", "plugins/older.wasm", "--claim", "released", "--key", "acme.pem"];
    let signed = json(&site.host(0, &[&sign[..], &["-o", "json"]].concat()));
    assert_eq!(signed["key"], site.fingerprint("acme"));
    site
}

fn bundle(site: &Site, code: i32) -> std::process::Output {
    site.host(code, &[&BUNDLE[..], &["json"]].concat())
}

#[test]
fn release_is_bundled_without_a_lock() {
    let site = vendor();
    let made = json(&bundle(&site, 0));
    assert_eq!(made["files"], json!(["acme.pub", "older.wasm", "older.wasm.intoto.jsonl"]));
    let plugin = &made["plugins"][0];
    assert_eq!((&plugin["name"], &plugin["file"]), (&json!("older"), &json!("older.wasm")));
    assert_eq!(plugin["keys"], json!([site.fingerprint("acme")]));
    assert!(plugin["grants"].as_str().unwrap().contains("\n[plugins.older]\n"), "{plugin}");
    let item = json!({"reference": "example.com/a:1", "digest": made["digest"], "plugins": made["plugins"]});
    schemas::check(&json!({"apiVersion": made["apiVersion"], "kind": "PluginCatalog", "items": [item]}));

    let imported = json(&site.host(0, &["plugin", "import", "release.tar", "there", "-o", "json"]));
    assert_eq!(imported["disabled"], json!(["older 0.1.0"]));
    assert!(site.read("there/plugins.lock").contains("from-bundle = \"sha256:"));
}

#[test]
fn release_needs_the_vendors_signature() {
    let refused = |site: &Site| {
        let said = err(&bundle(site, 6));
        assert!(
            said.contains("plugins/older.wasm: no key of plugins signed this file as `released`"),
            "{said}"
        );
        assert!(!site.path("release.tar").exists());
    };
    let site = vendor();
    site.guest("steady", "plugins/older.wasm");
    refused(&site);
    let site = vendor();
    site.key("mallory");
    std::fs::copy(site.path("mallory.pub"), site.path("plugins/acme.pub")).unwrap();
    refused(&site);
    let site = vendor();
    std::fs::remove_file(site.path("plugins/older.wasm.intoto.jsonl")).unwrap();
    let vetted = ["plugin", "sign", "plugins/older.wasm", "--claim", "vetted", "--key", "acme.pem"];
    site.host(0, &vetted);
    refused(&site);
}

#[test]
fn sites_directory_still_needs_a_lock() {
    let site = vendor();
    site.write("plugins/plugins.toml", "");
    let said = err(&bundle(&site, 6));
    assert!(said.contains("is not in plugins.lock"), "{said}");
}

#[test]
fn catalogue_of_the_page_matches_its_schema() {
    let (_, example) = PAGE.split_once("```json\n").unwrap();
    let (example, _) = example.split_once("```\n").unwrap();
    schemas::check(&serde_json::from_str::<Value>(example).unwrap());
}
