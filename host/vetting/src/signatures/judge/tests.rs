//! Judgements by rules: accepted signers, purposes, and the reported reasons.

use jiff::civil::date;

use super::*;

use crate::signatures::key::Algorithm;
use crate::signatures::policy::Conflict;
use crate::signatures::tests::sample::{People, SHA, file, key, statement};

const THREE: &str = r#"
[signers.alice]
keys = ["alice"]
admits-until = 2027-06-30
[signers.bob]
keys = ["bob", "bob-2"]
[signers.carol]
keys = ["carol"]
[[require]]
claim = "vetted"
from = ["alice", "bob", "carol"]
at-least = 2
"#;
const HOSTS: Subject<'_> = Subject::Plugin { name: Some("hosts"), sha256: SHA };

fn signers(trusted: &Trusted) -> Vec<&str> {
    trusted.claims.iter().map(|claim| claim.signer.as_str()).collect()
}

#[test]
fn rule_needs_two_of_three_signers() {
    let mut people = People::default();
    let policy = people.trust(THREE).unwrap();
    let trusted = policy.judge(&HOSTS, &people.vetted(&["carol", "alice"]), Purpose::Load).unwrap();
    assert_eq!(signers(&trusted), ["carol", "alice"]);
    assert_eq!(trusted.claims[0].key, people.key("carol").public_key().fingerprint());
    assert_eq!(trusted.claims[0].card.as_ref().unwrap().name(), "hosts");
    let error = policy.judge(&HOSTS, &people.vetted(&["carol"]), Purpose::Load).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`vetted` is required from 2 of alice, bob, carol; signed by: carol; missing: 1 of alice, bob"
    );
    assert!(policy.judge(&HOSTS, &SignatureFile::default(), Purpose::Load).is_err());
}

#[test]
fn a_signer_with_two_keys_counts_once() {
    let mut people = People::default();
    let policy = people.trust(THREE).unwrap();
    for names in [&["bob", "bob-2"][..], &["bob", "bob"], &["bob", "bob-2", "bob", "bob-2"]] {
        let error = policy.judge(&HOSTS, &people.vetted(names), Purpose::Load).unwrap_err();
        assert_eq!(error.code(), "unsigned", "{names:?}");
    }
}

#[test]
fn one_envelope_can_count_for_two_signers() {
    let mut people = People::default();
    let policy = people.trust(THREE).unwrap();
    let parts: Vec<serde_json::Value> = ["alice", "bob"]
        .map(|name| {
            serde_json::from_str(crate::signatures::tests::sample::vetted(people.key(name)).line()).unwrap()
        })
        .into();
    let mut both = parts[0]["dsseEnvelope"].clone();
    both["signatures"].as_array_mut().unwrap().push(parts[1]["dsseEnvelope"]["signatures"][0].clone());
    let signed = SignatureFile::parse(both.to_string().as_bytes()).unwrap();
    assert_eq!(signers(&policy.judge(&HOSTS, &signed, Purpose::Load).unwrap()), ["alice", "bob"]);
}

#[test]
fn revoked_keys_and_components_are_refused() {
    let mut people = People::default();
    let print = people.key("alice").public_key().fingerprint();
    let text = format!("{THREE}\n[[revoked]]\nkey = \"{print}\"\nwhy = \"stolen laptop\"");
    let policy = people.trust(&text).unwrap();
    for purpose in [Purpose::Load, Purpose::Admit(date(2020, 1, 1))] {
        let error = policy.judge(&HOSTS, &people.vetted(&["alice", "bob"]), purpose).unwrap_err();
        assert!(
            error.to_string().ends_with("; ignored: line 1: key of alice revoked: stolen laptop"),
            "{error}"
        );
    }
    let text = format!("{THREE}\n[[revoked]]\ncomponent = \"sha256:{SHA}\"\nwhy = \"a hole\"");
    let policy = people.trust(&text).unwrap();
    let error = policy.judge(&HOSTS, &people.vetted(&["alice", "bob", "carol"]), Purpose::Load).unwrap_err();
    assert_eq!((error.code(), &*error.to_string()), ("revoked", "the trust file revokes it: a hole"));
}

#[test]
fn expired_signer_loads_but_admits_nothing() {
    let mut people = People::default();
    let policy = people.trust(THREE).unwrap();
    let signed = people.vetted(&["alice", "bob"]);
    assert!(policy.judge(&HOSTS, &signed, Purpose::Load).is_ok());
    assert!(policy.judge(&HOSTS, &signed, Purpose::Admit(date(2027, 6, 30))).is_ok());
    let error = policy.judge(&HOSTS, &signed, Purpose::Admit(date(2027, 7, 1))).unwrap_err();
    assert!(error.to_string().ends_with("line 1: alice admits until 2027-06-30"), "{error}");
}

#[test]
fn plugin_rule_applies_by_signed_names_too() {
    let mut people = People::default();
    let narrow = format!("{THREE}plugins = [\"hosts\"]\n");
    let policy = people.trust(&narrow).unwrap();
    let none = SignatureFile::default();
    let plugin = |name| Subject::Plugin { name, sha256: SHA };
    assert!(policy.judge(&plugin(Some("hosts")), &none, Purpose::Load).is_err());
    assert!(policy.judge(&plugin(Some("other")), &none, Purpose::Load).is_ok());
    assert!(policy.judge(&plugin(None), &none, Purpose::Load).is_ok());
    let one = people.vetted(&["alice"]);
    assert!(policy.judge(&plugin(Some("other")), &one, Purpose::Load).is_err());
    assert!(policy.judge(&plugin(None), &one, Purpose::Load).is_err());
    // A strict file leaves no plugin to nobody.
    let policy = people.trust(&format!("strict = true\n{narrow}")).unwrap();
    assert_eq!(policy.judge(&plugin(Some("other")), &none, Purpose::Load).unwrap_err().code(), "no-rule");
    assert!(policy.judge(&plugin(None), &none, Purpose::Load).is_ok());
    assert!(policy.judge(&plugin(Some("hosts")), &people.vetted(&["bob", "carol"]), Purpose::Load).is_ok());
}

#[test]
fn every_rule_needs_its_own_claim() {
    let mut people = People::default();
    let text = format!("{THREE}\n[[require]]\nclaim = \"released\"\nfrom = [\"carol\"]");
    let policy = people.trust(&text).unwrap();
    let vetted = people.vetted(&["alice", "bob", "carol"]);
    let error = policy.judge(&HOSTS, &vetted, Purpose::Load).unwrap_err().to_string();
    assert_eq!(error, "`released` is required from 1 of carol; signed by: none; missing: 1 of carol");
    let released = statement(Claim::Released, "hosts", SHA).to_payload();
    let released = Envelope::sign(&released, people.key("carol")).unwrap();
    let signed = file(vetted.envelopes().map(|(_, line)| line.clone()).chain([released]));
    assert_eq!(policy.judge(&HOSTS, &signed, Purpose::Load).unwrap().claims.len(), 4);
}

#[test]
fn ignored_lines_are_listed_with_reasons() {
    let mut people = People::default();
    let policy = people.trust(THREE).unwrap();
    let bob = people.key("bob");
    let sign = |text: &str| Envelope::sign(text, bob).unwrap();
    let mine = statement(Claim::Vetted, "hosts", SHA).to_payload();
    let signed = file([
        Envelope::sign(&mine, &key(Algorithm::P256)).unwrap(),
        sign(&statement(Claim::Vetted, "hosts", &"b".repeat(64)).to_payload()),
        sign(&statement(Claim::Approved, "plan", SHA).to_payload()),
        sign(
            r#"{"_type":"https://in-toto.io/Statement/v1","predicateType":"https://slsa.dev/provenance/v1","x":1.5}"#,
        ),
        sign(&mine.replace("vetted", "loved")),
        sign(&mine.replace("{\"_type\"", "{\"_type\":\"a\",\"_type\"")),
    ]);
    let trusted = Policy::default().judge(&HOSTS, &signed, Purpose::Load).unwrap();
    assert_eq!((trusted.claims.len(), trusted.ignored.len()), (0, 6));
    let error = policy.judge(&HOSTS, &signed, Purpose::Load).unwrap_err().to_string();
    let (_, ignored) = error.split_once("; ignored: ").unwrap();
    assert_eq!(
        ignored.split("; ").collect::<Vec<_>>(),
        [
            "line 1: signed by no key of the trust file",
            "line 2: about another component",
            "line 3: about something else",
            "line 4: it says something else (`https://slsa.dev/provenance/v1`)",
            "line 5: `predicate.claim`: it is neither `released` nor `vetted`",
            "line 6: it has the key `_type` twice in one object",
        ]
    );
}

#[test]
fn plan_needs_its_own_approvals() {
    let mut people = People::default();
    let text = format!("{THREE}\n[[require]]\nclaim = \"approved\"\nfrom = [\"carol\"]");
    let policy = people.trust(&text).unwrap();
    let plan = Subject::Plan { sha256: SHA };
    let approved = statement(Claim::Approved, "plan", SHA).to_payload();
    let signed = file([Envelope::sign(&approved, people.key("carol")).unwrap()]);
    let trusted = policy.judge(&plan, &signed, Purpose::Admit(date(2026, 11, 23))).unwrap();
    assert_eq!((trusted.claims[0].claim, &trusted.claims[0].card), (Claim::Approved, &None));
    assert!(policy.judge(&plan, &people.vetted(&["alice", "bob", "carol"]), Purpose::Load).is_err());
    // Approvals of a plan say nothing about a plugin.
    assert!(policy.judge(&HOSTS, &signed, Purpose::Load).is_err());
}

// proves: T26
#[test]
fn second_trust_file_only_adds_rules() {
    let mut people = People::default();
    let first = people.trust(THREE).unwrap();
    let weaker = "[signers.dave]\nkeys = [\"dave\"]\n[[require]]\nclaim = \"vetted\"\nfrom = [\"dave\"]";
    let both = first.clone().merge(people.trust(weaker).unwrap()).unwrap();
    for (names, enough) in [
        (&["alice", "bob"][..], false),
        (&["dave"], false),
        (&["alice", "dave"], false),
        (&["alice", "bob", "dave"], true),
    ] {
        let signed = people.vetted(names);
        assert_eq!(both.judge(&HOSTS, &signed, Purpose::Load).is_ok(), enough, "{names:?}");
    }
    assert_eq!(first.clone().merge(Policy::default()), Ok(first.clone()));
    assert_eq!(Policy::default().merge(first.clone()), Ok(first.clone()));
    assert_eq!(first.clone().merge(first.clone()), Ok(first.clone()));

    // A file with rules of its own for one plugin says nothing about the others of a strict one.
    let strict = people.trust(&format!("strict = true\n{THREE}plugins = [\"hosts\"]")).unwrap();
    let evil = people.trust(&format!("{weaker}\nplugins = [\"evil\"]")).unwrap();
    let of_evil = Subject::Plugin { name: Some("evil"), sha256: SHA };
    let says = statement(Claim::Vetted, "evil", SHA).to_payload();
    let signed = file([Envelope::sign(&says, people.key("dave")).unwrap()]);
    for joined in [strict.clone().merge(evil.clone()).unwrap(), evil.clone().merge(strict.clone()).unwrap()] {
        assert!(joined.is_strict());
        assert_eq!(joined.judge(&of_evil, &signed, Purpose::Load).unwrap_err().code(), "no-rule");
    }
    assert!(evil.judge(&of_evil, &signed, Purpose::Load).is_ok());
    assert_eq!(strict.clone().merge(strict.clone()), Ok(strict));

    let earlier =
        people.trust("[signers.bob]\nkeys = [\"bob-2\", \"bob\"]\nadmits-until = \"2026-01-01\"").unwrap();
    let joined = first.clone().merge(earlier).unwrap();
    assert_eq!(joined.signers()["bob"].admits_until, Some(date(2026, 1, 1)));
    let other = people.trust("[signers.bob]\nkeys = [\"bob\"]").unwrap();
    assert_eq!(first.clone().merge(other), Err(Conflict::Keys("bob".into())));
    let shared = people.trust("[signers.mallory]\nkeys = [\"bob\"]").unwrap();
    assert!(matches!(first.merge(shared), Err(Conflict::SharedKey { .. })));
}

#[test]
fn revocations_of_either_file_hold() {
    let mut people = People::default();
    let first = people.trust(THREE).unwrap();
    let print = people.key("bob").public_key().fingerprint();
    let revoking = people.trust(&format!("[[revoked]]\nkey = \"{print}\"\nwhy = \"lost\"")).unwrap();
    for policy in [first.clone().merge(revoking.clone()).unwrap(), revoking.merge(first).unwrap()] {
        let refused = policy.judge(&HOSTS, &people.vetted(&["alice", "bob"]), Purpose::Load).unwrap_err();
        let Untrusted::Unmet { ignored, .. } = refused else { panic!("{refused}") };
        let whose = |ignored: &IgnoredLine| matches!(&ignored.why, IgnoreReason::Revoked { signer, why } if signer == "bob" && why == "lost");
        assert!(ignored.iter().any(whose), "{ignored:?}");
        assert!(policy.judge(&HOSTS, &people.vetted(&["alice", "bob-2"]), Purpose::Load).is_ok());
    }
}

#[test]
fn too_many_signatures_are_refused() {
    let mut people = People::default();
    let keys: Vec<String> = (0..80).map(|n| format!("\"k{n}\"")).collect();
    let policy = people.trust(&format!("[signers.a]\nkeys = [{}]", keys.join(","))).unwrap();
    let sixteen = vec![r#"{"sig":"AAAA"}"#; 16].join(",");
    let line = format!(r#"{{"payloadType":"{IN_TOTO}","payload":"AAAA","signatures":[{sixteen}]}}"#);
    let signed = SignatureFile::parse(vec![line; 64].join("\n").as_bytes()).unwrap();
    let error = policy.judge(&HOSTS, &signed, Purpose::Load).unwrap_err();
    assert_eq!(error, Untrusted::TooMuch { checks: 80 * 16 * 64, most: CHECKS });
}

#[test]
fn digest_in_another_spelling_is_refused() {
    for sha256 in ["", &SHA.to_uppercase(), &format!("sha256:{SHA}")] {
        let subject = Subject::Plugin { name: Some("hosts"), sha256 };
        let judged = Policy::default().judge(&subject, &SignatureFile::default(), Purpose::Load);
        assert_eq!(judged, Err(Untrusted::Digest));
    }
}

/// A start reads the trust file, and judges each plugin twice: before it is compiled, and as what it calls itself.
#[test]
fn signatures_add_little_to_a_start() {
    let mut people = People::default();
    let names = ["one", "two", "three", "four", "five"];
    let statements: Vec<(&str, String)> = names
        .iter()
        .map(|name| {
            let mut line = |who: &str| {
                let statement = statement(Claim::Vetted, name, SHA).to_payload();
                Envelope::sign(&statement, people.key(who)).unwrap().line().to_owned() + "\n"
            };
            (*name, line("alice") + &line("bob"))
        })
        .collect();
    let mut start = || {
        let begun = std::time::Instant::now();
        let policy = people.trust(THREE).unwrap();
        for (name, text) in &statements {
            let signed = SignatureFile::parse(text.as_bytes()).unwrap();
            for name in [None, Some(*name)] {
                let trusted =
                    policy.judge(&Subject::Plugin { name, sha256: SHA }, &signed, Purpose::Load).unwrap();
                assert_eq!(signers(&trusted), ["alice", "bob"]);
            }
        }
        begun.elapsed()
    };
    // The fastest of some: how busy the machine is doesn't count.
    let fastest = (0..20).map(|_| start()).min().unwrap();
    println!("ten statements, each verified twice: {fastest:?}");
    // What is released is optimised, and takes a tenth of the time.
    let most = if cfg!(debug_assertions) { 200 } else { 20 };
    assert!(fastest < std::time::Duration::from_millis(most), "{fastest:?}");
}
