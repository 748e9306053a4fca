//! Directories that others wrote, and a site that says who may.

use std::fs;
use std::process::Output;

use crate::site::{Site, err, json, out};

const TRUST: &str = "[signers.alice]\nkeys = ['alice.pub']\n[signers.bob]\nkeys = ['bob.pub']\n\
                     [[require]]\nclaim = 'written'\nfrom = ['alice']\n";

/// A site with a directory that a move wrote, and a rule about directories.
fn site() -> Site {
    let site = Site::new();
    site.world();
    ["alice", "bob"].iter().for_each(|name| site.key(name));
    site.host(0, &["move", "--from-directory", "world", "--to-directory", "backup"]);
    site.write("trust.toml", TRUST);
    site
}

fn run(site: &Site, code: i32, verb: &str, from: &str) -> Output {
    let ends = ["--from-directory", from, "--to-directory", "copy", "--trust", "trust.toml"];
    site.host(code, &[&[verb], &ends[..]].concat())
}

/// Resumes a move into a cluster that isn't there: the directory is looked at first.
fn resume(site: &Site) -> String {
    let ends = ["--from-directory", "backup", "--to-kubeconfig", "none", "--trust", "trust.toml"];
    err(&site.host(3, &[&["resume"], &ends[..]].concat()))
}

// proves: T175
#[test]
fn unsigned_directories_are_not_moved_from() {
    let site = site();
    for said in [err(&run(&site, 3, "plan", "backup")), err(&run(&site, 3, "move", "backup")), resume(&site)]
    {
        assert!(
            said.contains("is not signed as the trust file requires: `written` is required from 1 of alice"),
            "{said}"
        );
        assert!(said.contains("`pivot-host sign backup --key PEM`"), "{said}");
    }
    assert!(!site.path("copy").exists());
    // Whose signature counts the trust file says.
    site.host(0, &["sign", "backup", "--key", "bob.pem"]);
    let said = err(&run(&site, 3, "move", "backup"));
    assert!(said.contains("required from 1 of alice"), "{said}");
    let said = err(&site.host(3, &["verify", "backup", "--trust", "trust.toml"]));
    assert!(said.contains("is not signed as the trust file requires"), "{said}");

    let signed = json(&site.host(0, &["sign", "backup/", "--key", "alice.pem", "-o", "json"]));
    assert_eq!(signed["statements"], 2);
    assert_eq!(signed["writtenTo"], site.real("backup.intoto.jsonl").display().to_string());
    let verified = json(&site.host(0, &["verify", "backup", "--trust", "trust.toml", "-o", "json"]));
    assert_eq!(verified["signed"], "directory backup was signed by alice, bob");
    let planned = out(&run(&site, 0, "plan", "backup"));
    assert!(planned.contains("directory backup was signed by alice, bob"), "{planned}");
    let moved = err(&run(&site, 0, "move", "backup"));
    assert!(moved.contains("directory backup was signed by alice, bob"), "{moved}");
}

/// The signature is of the manifest, which has the digest of each file.
// proves: T175
#[test]
fn signed_directories_are_as_they_were_written() {
    let site = site();
    site.host(0, &["sign", "backup", "--key", "alice.pem"]);
    let files = fs::read_dir(site.path("backup")).unwrap().map(|entry| entry.unwrap().file_name());
    let object = files.map(|name| name.into_string().unwrap()).find(|name| name != "manifest.json").unwrap();
    let (object, manifest) = (format!("backup/{object}"), "backup/manifest.json");
    let (text, listed) = (site.read(&object), site.read(manifest));
    let refused = |why: &str| {
        for verb in ["plan", "move"] {
            let said = err(&run(&site, 3, verb, "backup"));
            assert!(said.contains(why), "{said}");
        }
        assert!(!site.path("copy").exists());
    };

    site.write(&object, &text.replace("site", "evil"));
    refused("is not as a move wrote it");
    let said = err(&site.host(3, &["sign", "backup", "--key", "alice.pem"]));
    assert!(said.contains("is not as it was written"), "{said}");
    site.write(&object, &text);

    let more = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more, namespace: a}\n";
    site.write("backup/more.yaml", more);
    refused("is not as a move wrote it");
    fs::remove_file(site.path("backup/more.yaml")).unwrap();

    // Another complete directory in its place, with the signature beside it.
    site.write(manifest, &listed.replace("\"handover\": false", "\"handover\": true"));
    refused("about another directory");
    site.write(manifest, &listed);

    // What was written by hand has no manifest.
    let said = err(&run(&site, 3, "move", "world"));
    assert!(said.contains("is not as a move wrote it"), "{said}");
    run(&site, 0, "move", "backup");
}

/// A plan's approval says nothing about a directory, and the other way round.
#[test]
fn claims_count_for_their_own_topic() {
    let site = site();
    site.host(0, &["plan", "--from-directory", "backup", "--to-directory", "copy", "--out", "plan.json"]);
    site.host(0, &["plan", "sign", "plan.json", "--key", "alice.pem"]);
    fs::copy(site.path("plan.json.intoto.jsonl"), site.path("backup.intoto.jsonl")).unwrap();
    let said = err(&run(&site, 3, "move", "backup"));
    assert!(said.contains("line 1: about something else"), "{said}");
    site.write("trust.toml", &TRUST.replace("from = ['alice']", "from = ['alice']\nplugins = ['hosts']"));
    let said = err(&run(&site, 3, "move", "backup"));
    assert!(said.contains("`written` is not about plugins"), "{said}");
    // Rules about plans and plugins leave directories alone.
    site.write("trust.toml", &TRUST.replace("written", "vetted"));
    run(&site, 0, "move", "backup");
}

/// A source waits, paused, for a move that has begun.
#[test]
fn expired_signers_begin_no_move() {
    let site = site();
    site.host(0, &["sign", "backup", "--key", "alice.pem"]);
    site.write("trust.toml", &TRUST.replace("[signers.bob]", "admits-until = 2026-01-01\n[signers.bob]"));
    let said = err(&run(&site, 3, "move", "backup"));
    assert!(said.contains("alice admits until 2026-01-01"), "{said}");
    let said = resume(&site);
    assert!(!said.contains("not signed"), "{said}");
}
