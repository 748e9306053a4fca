//! Plans that others approve.

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
// proves: T28
#[test]
fn move_needs_a_twice_approved_plan() {
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
    assert!(said.contains("signed by: alice; missing: 1 of bob"), "{said}");
    let signed =
        json(&site.host(0, &["plan", "sign", "plan.json", "--key", "bob.pem", "--note", "go", "-o", "json"]));
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
fn expired_approval_only_prevents_new_moves() {
    let site = site();
    site.write("trust.toml", &TRUST.replace("[signers.bob]", "admits-until = 2026-01-01\n[signers.bob]"));
    let said = err(&run(&site, 3, &["move", "--plan", "plan.json"]));
    assert!(said.contains("alice admits until 2026-01-01"), "{said}");
    let way =
        "have it signed with `pivot-host plan sign plan.json --key PEM`; a move under way can be rolled back";
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
fn resume_accepts_only_approved_risks() {
    let site = site();
    let more = ["--accept", "takeover-unchecked", "--accept", "unverified=Host.test.io"];
    let said = resume(&site, &more);
    assert!(
        said.contains(
            "approved without --accept unverified=Host.test.io, --accept takeover-unchecked: resume"
        ),
        "{said}"
    );
    // Where nobody has to approve, who resumes may decide more.
    site.write("trust.toml", "");
    let said = resume(&site, &more);
    assert!(!said.contains("approved"), "{said}");
}

/// A Pivot carries no plan, so whoever may write Pivots would move without approval.
// proves: T41
#[test]
fn controller_refuses_required_approvals() {
    let site = Site::new();
    site.key("alice");
    site.key("bob");
    site.write("trust.toml", TRUST);
    let said = err(&site.host(3, &["controller", "run", "--kubeconfig", "none", "--trust", "trust.toml"]));
    assert!(said.contains("the trust file requires an approved plan, and a Pivot has none"), "{said}");
}
