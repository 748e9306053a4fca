//! Who vouches for plugins.

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
    site.host(0, &["plugin", "add", "--grant", COMPONENT]);
    site.write("trust.toml", TRUST);
    vetted(&site, "alice.pem");
    vetted(&site, "bob.pem");
    site
}

fn vetted(site: &Site, key: &str) {
    site.host(0, &["plugin", "sign", COMPONENT, "--claim", "vetted", "--key", key, "--reviewer", "R. E."]);
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

// proves: T23
#[test]
fn plugin_needs_two_of_three_signers() {
    let site = site();
    let told = "  older 0.1.0  vetted by alice, vetted by bob\ntrust: trust.toml: 1 rule about plugins\n";
    assert!(verified(&site).ends_with(told), "{}", verified(&site));
    let trusting = ["plugin", "verify", "plugins", "--trust", "trust.toml", "-o", "json"];
    let said = json(&site.host(0, &trusting));
    assert_eq!(said["trust"], json!({"files": ["trust.toml"], "rules": 1}));
    assert_eq!(said["vouchedBy"], json!({"older": ["vetted by alice", "vetted by bob"]}));
    let list = ["plugin", "list", "plugins", "--trust", "trust.toml"];
    let listed = out(&site.host(0, &list));
    assert!(listed.contains("  vetted by alice, vetted by bob\n"), "{listed}");
    let listed = json(&site.host(0, &[&list[..], &["-o", "json"]].concat()));
    assert_eq!(listed["items"][0]["vouchedBy"][0]["signer"], "alice");
    assert_eq!(listed["items"][0]["description"]["vouchedBy"], json!(["vetted by alice", "vetted by bob"]));
    // Without the file nobody has to.
    for line in [&["plugin", "verify", "plugins"][..], &["plugin", "list", "plugins"]] {
        let said = out(&site.host(0, line));
        assert!(said.ends_with("\nno trust file: plugins need no signature\n"), "{said}");
        assert!(json(&site.host(0, &[line, &["-o", "json"]].concat()))["trust"].is_null());
    }

    let both = lines(&site);
    site.write(STATEMENTS, &format!("{}\n", both[0]));
    assert_eq!(refused(&site), ["unsigned"]);
    let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
    let why = "is not trusted: `vetted` is required from 2 of alice, bob, carol; signed by: alice; missing: 1 of bob, carol";
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

/// Neither a list of unlocked plugins nor a grant waives a rule.
// proves: T23
#[test]
fn move_and_admission_obey_trust_file() {
    let site = site();
    site.world();
    let plan = ["plan", "--from-directory", "world", "--plugins", "plugins", "--trust", "trust.toml"];
    let lock = ["plugin", "add", "--grant", COMPONENT, "--trust", "trust.toml"];
    site.host(0, &[&plan[..], &["--out", "plan.json"]].concat());
    let saved: Value = serde_json::from_str(&site.read("plan.json")).unwrap();
    assert_eq!(saved["plugins"][0]["vouchedBy"], json!(["vetted by alice", "vetted by bob"]));
    assert_eq!(saved["plugins"][0]["granted"], json!(["hook relate", "sees Secret"]));
    site.host(0, &lock);
    let both = lines(&site);
    site.write(STATEMENTS, &format!("{}\n", both[1]));
    let unlocked = ["plugin", "list", "plugins", "--allow-unlocked", "--trust", "trust.toml"];
    for line in [&plan[..], &unlocked, &lock] {
        let said = err(&site.host(6, line));
        assert!(said.contains("missing: 1 of alice, carol"), "{said}");
    }
}

/// It is refused before anything of it is compiled: what could not even be parsed is refused for its signatures.
// proves: T23
#[test]
fn changed_bytes_are_refused_before_compilation() {
    let site = site();
    let (component, statements) = (std::fs::read(site.path(COMPONENT)).unwrap(), site.read(STATEMENTS));
    std::fs::write(site.path(COMPONENT), b"\0asm no component").unwrap();
    let unlocked = ["plugin", "list", "plugins", "--allow-unlocked", "--trust", "trust.toml"];
    let said = err(&site.host(6, &unlocked));
    assert!(said.contains("is not trusted: ") && said.contains("line 1: about another component"), "{said}");
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
// proves: T24
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
fn other_tools_matching_signature_is_attached() {
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
        let said =
            err(&site.host(2, &["plugin", "sign", COMPONENT, "--claim", claim, "--attach", "other.json"]));
        assert!(said.contains(why), "{said}");
    }
    let checked = ["--attach", "bundle.json", "--checked", "report.json"];
    site.host(2, &[&["plugin", "sign", COMPONENT, "--claim", "vetted"], &checked[..]].concat());
    site.guest("steady", "other.wasm");
    let said =
        err(&site.host(2, &["plugin", "sign", "other.wasm", "--claim", "vetted", "--attach", "bundle.json"]));
    assert!(said.contains("it is about another file; nothing was written"), "{said}");
    assert!(!site.path("other.wasm.intoto.jsonl").exists());
}

/// Who signs sees what, whoever else is signing, and whatever other tools have written there.
#[test]
fn signature_is_appended_and_names_its_subject() {
    let site = site();
    let digest = json(&site.host(0, &["plugin", "inspect", COMPONENT, "-o", "json"]))["sha256"].clone();
    let before = format!("{{\"of\": \"another tool\"}} \n{}", site.read(STATEMENTS));
    site.write(STATEMENTS, &before);
    let sign = ["plugin", "sign", COMPONENT, "--claim", "released", "--key", "carol.pem"];
    let new = format!("{STATEMENTS}.new");
    site.write(&new, "");
    let said = err(&site.host(2, &sign));
    assert!(said.contains("if none is, remove it and sign again; nothing was written"), "{said}");
    std::fs::remove_file(site.path(&new)).unwrap();
    let said = out(&site.host(0, &sign));
    let (digest, key) = (digest.as_str().unwrap(), site.fingerprint("carol"));
    let what = format!("signed: `released`, of sha256 {digest}\nkey: {key}\n");
    assert!(said.contains("has 3 statements\n") && said.ends_with(&what), "{said}");
    assert!(site.read(STATEMENTS).starts_with(&before) && !site.path(&new).exists());
    verified(&site);
}

/// A revoked key counts nowhere; one that expired admits nothing new, and what was admitted goes on.
// proves: T25
#[test]
fn revoked_key_stops_loading_expired_stops_admission() {
    let site = site();
    let lock = ["plugin", "add", "--grant", COMPONENT, "--trust", "trust.toml"];
    site.write("trust.toml", &TRUST.replace("[signers.bob]", "admits-until = 2026-01-01\n[signers.bob]"));
    verified(&site);
    let said = err(&site.host(6, &lock));
    assert!(said.contains("line 1: alice admits until 2026-01-01"), "{said}");
    // Without a lock nothing was admitted before.
    let list = ["plugin", "list", "plugins", "--trust", "trust.toml"];
    site.host(0, &list);
    let said = err(&site.host(6, &[&list[..], &["--allow-unlocked"]].concat()));
    assert!(said.contains("line 1: alice admits until 2026-01-01"), "{said}");

    let listed = ["plugin", "list", "plugins", "--trust", "trust.toml", "-o", "json"];
    let key = json(&site.host(0, &listed))["items"][0]["vouchedBy"][1]["key"].as_str().unwrap().to_owned();
    site.write("trust.toml", &format!("{TRUST}[[revoked]]\nkey = '{key}'\nwhy = 'stolen laptop'\n"));
    assert_eq!(refused(&site), ["unsigned"]);
    let said = err(&site.host(6, &["plugin", "verify", "plugins", "--trust", "trust.toml"]));
    assert!(said.contains("line 2: key of bob revoked: stolen laptop"), "{said}");
    let digest = json(&site.host(0, &["plugin", "inspect", COMPONENT, "-o", "json"]))["sha256"].clone();
    let digest = digest.as_str().unwrap();
    site.write("trust.toml", &format!("{TRUST}[[revoked]]\ncomponent = 'sha256:{digest}'\nwhy = 'a hole'\n"));
    assert_eq!(refused(&site), ["revoked"]);
}

/// Whoever may write where it lies may put another one there.
#[test]
fn replaceable_trust_file_warns_or_is_refused() {
    let site = site();
    std::fs::create_dir(site.path("keys")).unwrap();
    std::fs::rename(site.path("carol.pub"), site.path("keys/carol.pub")).unwrap();
    let trust = TRUST.replace("carol.pub", "keys/carol.pub");
    site.write("trust.toml", &trust);
    let lock = ["plugin", "add", COMPONENT, "--trust", "trust.toml"];
    let verify = ["plugin", "verify", "plugins", "--trust", "trust.toml"];
    assert!(!err(&site.host(0, &lock)).contains("others may write"));
    site.mode("keys", 0o1777);
    assert!(!out(&site.host(0, &verify)).contains("others may write"));
    site.mode("keys", 0o777);
    let open = format!("others may write what decides which plugins run: {}", site.real("keys").display());
    let (locked, verified) = (err(&site.host(0, &lock)), out(&site.host(0, &verify)));
    assert!(locked.contains(&open) && verified.contains(&open), "{locked}{verified}");
    site.write("trust.toml", &format!("strict = true\n{trust}"));
    for line in [lock, verify] {
        let said = err(&site.host(6, &line));
        assert!(said.contains(&site.real("keys").display().to_string()), "{said}");
    }
}

#[test]
fn unintended_trust_file_is_refused() {
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
