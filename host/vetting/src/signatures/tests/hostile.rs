//! Forged trust input. Each case is refused with its own error.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::json::JsonError;
use crate::signatures::envelope::{Envelope, EnvelopeError, IN_TOTO, SIGNATURES, SIZE};
use crate::signatures::judge::{CHECKS, Purpose, Subject};
use crate::signatures::key::{Algorithm, PublicKey};
use crate::signatures::signature_file::{LINES, LineError, SignatureFile};
use crate::signatures::statement::{self, Claim, Statement};
use crate::signatures::tests::sample::{People, SHA, key, statement as said, vetted};
use crate::signatures::trust_file::MANY;

/// A bare envelope and a bundle that nothing is wrong with.
const BARE: &str = r#"{"payloadType":"application/vnd.in-toto+json","payload":"e30=","signatures":[{"keyid":"a","sig":"AAAA"}]}"#;
const BUNDLE: &str = r#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"publicKey":{"hint":"a"},"tlogEntries":[{"logIndex":"1"}],"timestampVerificationData":{}},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"AAAA"}]}}"#;

/// The text with one thing replaced, which has to be there.
fn with(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in {text}");
    text.replacen(from, to, 1)
}

// proves: T27
#[test]
fn hostile_lines_are_refused_with_reasons() {
    for good in [BARE, BUNDLE] {
        assert!(Envelope::parse(good).is_ok());
    }
    let material = r#""publicKey":{"hint":"a"}"#;
    let cases = [
        (BARE, "\"payload\":\"e30=\"", "\"payload\":\"e30=\",\"payload\":\"e30=\"", "`payload` twice"),
        (BARE, "\"sig\":", "\"sig\":\"BBBB\",\"sig\":", "`sig` twice"),
        (BARE, "\"keyid\"", "\"\\u0073ig\":\"\",\"keyid\"", "`sig` twice"),
        (BARE, "\"payloadType\"", "\"payloadtype\":1,\"payloadType\"", "`payloadtype` is unknown"),
        (BARE, "\"sig\"", "\"cert\":1,\"sig\"", "`signatures[0].cert` is unknown"),
        (BARE, "\"sig\"", "\"a\\nb\":1,\"sig\"", "`signatures[0].a\\nb` is unknown"),
        (BARE, "[{\"keyid\":\"a\",\"sig\":\"AAAA\"}]", "[]", "it has 0 signatures"),
        (BARE, "[{\"keyid\":\"a\",\"sig\":\"AAAA\"}]", "{}", "`signatures` is not a list"),
        (BARE, "{\"keyid\":\"a\",\"sig\":\"AAAA\"}", "[\"AAAA\"]", "`signatures[0]` is not an object"),
        (BARE, "\"keyid\":\"a\"", "\"keyid\":null", "`signatures[0].keyid` is not a string"),
        (BARE, ",\"sig\":\"AAAA\"", "", "`signatures[0].sig` is missing"),
        (BARE, "\"AAAA\"", "17", "`signatures[0].sig` is not a string"),
        (BARE, "AAAA", "AA A", "`signatures[0].sig` is not base64"),
        (BARE, "AAAA", "AAA", "`signatures[0].sig` is not base64"),
        (BARE, "AAAA", "AB==", "`signatures[0].sig` is not base64"),
        (BARE, "e30=", "e30", "`payload` is not base64"),
        (BARE, "e30=", "e30=\\n", "`payload` is not base64"),
        (BARE, "e30=", "e30=e30=", "`payload` is not base64"),
        (BARE, "e30=", "+_==", "`payload` is not base64"),
        (BARE, "\"payload\":\"e30=\",", "", "`payload` is missing"),
        (BARE, "\"payloadType\":\"application/vnd.in-toto+json\",", "", "`payloadType` is missing"),
        (BARE, "}]}", "}]} {}", "something follows it"),
        (BARE, "}]}", "}]", "it ends too early"),
        (BARE, "{\"payloadType\"", "[{\"payloadType\"", "it is not JSON"),
        (BARE, "\"e30=\"", "1e999", "a number is out of range"),
        (BARE, "\"e30=\"", "'e30='", "it can't be understood"),
        (BARE, "\"a\"", "\"\\ud800\"", "it is not JSON"),
        (BARE, "\"a\"", "\"\u{1}\"", "it is not JSON"),
        (
            BUNDLE,
            "v0.3",
            "v0.2",
            "it is a bundle of the type `application/vnd.dev.sigstore.bundle.v0.2+json`",
        ),
        (BUNDLE, "v0.3", "v0.3\\u202e", "v0.3\\u{202e}+json`"),
        (BUNDLE, "\"dsseEnvelope\":", "\"messageSignature\":{},\"dsseEnvelope\":", "a signature of a file"),
        (BUNDLE, "\"dsseEnvelope\":", "\"dsseEnvelope\":{},\"dsseEnvelope\":", "`dsseEnvelope` twice"),
        (BUNDLE, "\"dsseEnvelope\":", "\"payload\":\"\",\"dsseEnvelope\":", "`payload` is unknown"),
        (BUNDLE, "\"dsseEnvelope\"", "\"dsse\"", "`dsseEnvelope` is missing"),
        (
            BUNDLE,
            "{\"sig\":\"AAAA\"}",
            "{\"sig\":\"AAAA\"},{\"sig\":\"AAAA\"}",
            "it has 2 signatures; a bundle",
        ),
        (BUNDLE, "{\"sig\":\"AAAA\"}", "", "it has 0 signatures"),
        (BUNDLE, material, "\"key\":1", "names 0 keys or certificates"),
        (BUNDLE, material, "\"publicKey\":{},\"certificate\":{}", "names 2 keys or certificates"),
        (BUNDLE, material, "\"publicKey\":{},\"x\":1", "`verificationMaterial.x` is unknown"),
        (
            BUNDLE,
            material,
            "\"publicKey\":{\"rawBytes\":\"\"}",
            "`verificationMaterial.publicKey.rawBytes` is unknown",
        ),
        (BUNDLE, material, "\"publicKey\":[]", "`verificationMaterial.publicKey` is not an object"),
        (BUNDLE, "[{\"logIndex\":\"1\"}]", "{}", "`verificationMaterial.tlogEntries` is not a list"),
        (BUNDLE, "\"logIndex\":\"1\"", "\"x\":{\"y\":1,\"y\":2}", "`y` twice"),
        (BUNDLE, "\"timestampVerificationData\":{}", "\"timestampVerificationData\":1", "is not an object"),
    ];
    for (text, from, to, reason) in cases {
        let reason =
            reason.strip_suffix(" twice").map_or(reason.to_owned(), |key| format!("the key {key} twice"));
        let error = Envelope::parse(&with(text, from, to)).unwrap_err().to_string();
        assert!(error.contains(&reason), "{to}: {error}");
        assert!(!error.chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
    }
    let many =
        with(BARE, "\"signatures\":[", &format!("\"signatures\":[{}", "{\"sig\":\"AAAA\"},".repeat(16)));
    assert!(Envelope::parse(&many).unwrap_err().to_string().starts_with("it has 17 signatures"));
    let deep = with(BUNDLE, "\"1\"", &format!("{}{}", "[".repeat(62), "]".repeat(62)));
    assert_eq!(Envelope::parse(&deep).unwrap_err(), JsonError::Depth.into());
    let large = format!("{BARE}{}", " ".repeat(SIZE));
    assert_eq!(Envelope::parse(&large).unwrap_err(), EnvelopeError::Size(BARE.len() + SIZE));
    assert!(Envelope::parse("\u{feff}{}").is_err() && Envelope::parse("[]").is_err());
}

#[test]
fn hostile_payloads_are_refused_with_reasons() {
    let good = said(Claim::Vetted, "hosts", SHA).to_payload();
    let sha = format!("\"sha256\":\"{SHA}\"");
    let upper = sha.to_uppercase().replace("SHA256", "sha256");
    let cases = [
        ("Statement/v1", "Statement/v0.1", "it says something else"),
        ("pivot-host.io/plugin/v1", "pivot-host.io/plugin/v2", "it says something else"),
        ("\"_type\"", "\"type\"", "`_type` is missing"),
        ("\"_type\"", "\"predicate\":{},\"_type\"", "the key `predicate` twice"),
        ("\"_type\"", "\"_Type\":1,\"_type\"", "`_Type` is unknown"),
        ("\"_type\":", "\"_type\":[],\"x\":", "`_type` is not a string"),
        ("\"subject\":[", "\"subject\":[{}],\"subjects\":[", "`subject[0].name` is missing"),
        ("\"subject\":[", "\"subject\":[],\"subjects\":[", "it has 0 items"),
        ("\"subject\":[", "\"subject\":{},\"subjects\":[", "`subject` is not a list"),
        (&sha, "", "`subject[0].digest.sha256` is missing"),
        (&sha, "\"sha512\":\"aa\"", "`subject[0].digest.sha256` is missing"),
        (&sha, &format!("{sha},\"sha512\":\"aa\""), "`subject[0].digest.sha512` is unknown"),
        (&sha, &format!("{sha},{sha}"), "the key `sha256` twice"),
        (&sha, &upper, "it is no SHA-256"),
        (&sha, &sha.replace("aaaa\"", "aaa\""), "it is no SHA-256"),
        (&sha, &sha.replace("\"aaaa", "\"sha256:aaaa"), "it is no SHA-256"),
        (&sha, "\"sha256\":null", "`subject[0].digest.sha256` is not a string"),
        ("hosts.wasm", "hosts\\n.wasm", "`subject[0].name`: it has a control character"),
        ("hosts.wasm", "hosts\\u202e.wasm", "`subject[0].name`: it has a control character"),
        ("\"name\":\"hosts.wasm\"", "\"name\":\"hosts.wasm\",\"uri\":\"a\"", "`subject[0].uri` is unknown"),
        ("\"vetted\"", "\"approved\"", "it is neither `released` nor `vetted`"),
        ("\"vetted\"", "\"Vetted\"", "it is neither `released` nor `vetted`"),
        ("\"vetted\"", "[\"vetted\"]", "`predicate.claim` is not a string"),
        ("\"claim\"", "\"claims\"", "`predicate.claim` is missing"),
        ("\"claim\"", "\"claim\":\"released\",\"claim\"", "the key `claim` twice"),
        ("\"claim\"", "\"why\":\"\",\"claim\"", "`predicate.why` is unknown"),
        ("\"claim\"", "\"checked\":\"x\",\"claim\"", "`predicate.checked`: it is no SHA-256"),
        ("2026-11-23T13:00:00Z", "2026-11-23", "(RFC 3339)"),
        ("2026-11-23T13:00:00Z", "2026-13-23T13:00:00Z", "(RFC 3339)"),
        ("\"Alice\"", "\"Alice\\u001b[2J\"", "`predicate.reviewer`: it has a control character"),
        ("\"Alice\"", "\"\"", "`predicate.reviewer`: it is empty"),
        ("\"Alice\"", "null", "`predicate.reviewer` is not a string"),
        ("\"card\":{", "\"card\":[],\"cards\":{", "`predicate.card` is not an object"),
        ("\"hooks\":[]", "\"hook\":[]", "`predicate.card`: `hooks` is missing"),
        ("\"hooks\":[]", "\"hooks\":[],\"hooks\":[1]", "the key `hooks` twice"),
        ("\"hooks\":[]", "\"hooks\":[{\"a\":{\"b\":1,\"b\":1}}]", "the key `b` twice"),
        ("\"hooks\":[]", "\"hooks\":[1e300]", "a number that isn't an integer"),
        ("\"hooks\":[]", "\"hooks\":[18446744073709551616]", "a number that isn't an integer"),
        ("\"hooks\":[]", "\"hooks\":[1e999]", "a number is out of range"),
        ("\"hooks\":[]", "\"hooks\":[\"\\u200b\"]", "one that can't be seen"),
    ];
    for (from, to, reason) in cases {
        let error = Statement::parse(with(&good, from, to).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(reason), "{to}: {error}");
    }
    for (name, most) in [("reviewer", 200), ("note", 1_000)] {
        for (length, fine) in [(most, true), (most + 1, false)] {
            let plain = with(&good, ",\"reviewer\":\"Alice\"", "");
            let long = format!("\"{name}\":\"{}\",\"claim\"", "ä".repeat(length));
            let text = with(&plain, "\"claim\"", &long);
            assert_eq!(Statement::parse(text.as_bytes()).is_ok(), fine, "{name} {length}");
        }
    }
    assert_eq!(Statement::parse(b"{\"_type\":\"\xff\"}").unwrap_err().code(), "not-text");
    assert_eq!(Statement::parse(b"").unwrap_err().code(), "not-json");
    assert_eq!(Statement::parse("[".repeat(1_000).as_bytes()).unwrap_err().code(), "too-deep");
}

#[test]
fn hostile_trust_files_are_refused_with_reasons() {
    let good = "strict = false\n[signers.a]\nkeys = [\"a\"]\n[signers.b]\nkeys = [\"b\", \"/c\"]\nadmits-until = 2027-06-30\n\
                [[require]]\nclaim = \"vetted\"\nfrom = [\"a\", \"b\"]\nat-least = 2\nplugins = [\"hosts\"]\n\
                [[revoked]]\ncomponent = \"sha256:COMP\"\nwhy = \"a hole\"\n"
        .replace("COMP", SHA);
    let revoked = format!("component = \"sha256:{SHA}\"");
    assert!(People::default().trust(&good).is_ok());
    assert!(People::default().trust("").is_ok());
    let cases = [
        ("strict", "srtict", "`srtict` is unknown"),
        ("false", "\"false\"", "`strict` is not true or false"),
        ("strict = false", "strict = false\nstrict = false", "line 2, column 1: duplicate key"),
        ("[signers.b]", "[signers.a]", "duplicate key"),
        ("[signers.b]", "[signers.B]", "`signers.B`: it is not a plain word"),
        ("[signers.b]", "[signers.\"b\\n\"]", "`signers.b\\n`: it is not a plain word"),
        ("[signers.b]", "[signers.\"\u{0430}\"]", "it is not a plain word"),
        ("keys = [\"a\"]", "keys = []", "`signers.a.keys`: a signer needs a key"),
        ("keys = [\"a\"]", "keys = \"a\"", "`signers.a.keys` is not a list"),
        ("keys = [\"a\"]", "key = [\"a\"]", "`signers.a.keys` is missing"),
        ("keys = [\"a\"]", "keys = [1]", "`signers.a.keys` is not a list of strings"),
        ("keys = [\"a\"]", "keys = [\"a\"]\nexpires = 1", "`signers.a.expires` is unknown"),
        ("keys = [\"a\"]", "keys = [\"a\", \"a\"]", "is a key of signers.a already"),
        ("keys = [\"b\", \"/c\"]", "keys = [\"a\"]", "signers.b.keys: sha256:"),
        ("keys = [\"a\"]", "keys = [\"missing\"]", "signers.a.keys: missing can't be read: no such file"),
        ("keys = [\"a\"]", "keys = [\"rsa\"]", "signers.a.keys: rsa: it is a key for RSA"),
        ("keys = [\"a\"]", "keys = [\"a\\n\"]", "`signers.a.keys`: it"),
        ("2027-06-30", "2027-06-30T00:00:00Z", "`signers.b.admits-until`: it is not a day"),
        ("2027-06-30", "\"2027-02-30\"", "`signers.b.admits-until`: it is not a day"),
        ("2027-06-30", "2027", "`signers.b.admits-until` is not a string"),
        ("\"vetted\"", "\"veted\"", "`require[0].claim`: it is none of"),
        ("claim = \"vetted\"\n", "", "`require[0].claim` is missing"),
        (
            "claim = \"vetted\"",
            "claim = \"approved\"",
            "`require[0].plugins`: `approved` is not about plugins",
        ),
        ("[\"a\", \"b\"]", "[\"a\", \"c\"]", "`require[0].from`: there is no [signers.c]"),
        ("[\"a\", \"b\"]", "[\"a\", \"a\"]", "`require[0].from`: it has `a` twice"),
        ("[\"a\", \"b\"]", "[]", "`require[0].from`: it is empty"),
        ("from = [\"a\", \"b\"]\n", "", "`require[0].from` is missing"),
        ("at-least = 2", "at-least = 0", "`require[0].at-least`: it is not 1 to 2"),
        ("at-least = 2", "at-least = 3", "`require[0].at-least`: it is not 1 to 2"),
        ("at-least = 2", "at-least = -1", "`require[0].at-least`: it is not 1 to 2"),
        ("at-least = 2", "at-least = 2.0", "`require[0].at-least` is not a whole number"),
        ("at-least = 2", "at-least = nan", "`require[0].at-least` is not a whole number"),
        ("at-least = 2", "at-least = \"2\"", "`require[0].at-least`: it is not 1 to 2"),
        ("at-least = 2", "at-most = 2", "`require[0].at-most` is unknown"),
        ("at-least", "at_least", "`require[0].at_least` is unknown"),
        ("[\"hosts\"]", "[]", "`require[0].plugins`: it is empty"),
        ("[\"hosts\"]", "[\"Hosts\"]", "`require[0].plugins`: `Hosts`: it is not a plain word"),
        ("[[require]]", "[require]", "`require` is not a list"),
        ("[[require]]", "[[requires]]", "`requires` is unknown"),
        (&revoked, "", "`revoked[0].key`: exactly one of"),
        (&revoked, &format!("{revoked}\nkey = \"sha256:{SHA}\""), "exactly one of `key` and"),
        (&revoked, &format!("component = \"{SHA}\""), "`revoked[0].component`: it is not `sha256:`"),
        (&revoked, &revoked.replace("aaaa\"", "AAAA\""), "`revoked[0].component`: it is not `sha256:`"),
        (
            &revoked,
            &format!("{revoked}\nwhy = \"x\"\n[[revoked]]\n{revoked}"),
            "`revoked[1].component`: it is revoked twice",
        ),
        ("why = \"a hole\"", "", "`revoked[0].why` is missing"),
        ("why = \"a hole\"", "why = \"\"", "`revoked[0].why`: it is empty"),
        ("why = \"a hole\"", "why = 2027-06-30", "revoked[0].why`: it is a date"),
    ];
    for (from, to, reason) in cases {
        let error = People::default().trust(&with(&good, from, to)).unwrap_err().to_string();
        assert!(error.contains(reason), "{to}: {error}");
        assert!(!error.chars().any(pivot_core::messages::safe_text::is_hidden), "{error:?}");
    }
    for nested in [
        format!("{}a = 1", "a.".repeat(100_000)),
        format!("a = {}", "[".repeat(100_000)),
        format!("[{}a]", "a.".repeat(100_000)),
    ] {
        assert!(People::default().trust(&nested).is_err());
    }
    let many = "[[revoked]]\nkey = 1\nwhy = \"a\"\n".repeat(1_001);
    assert!(People::default().trust(&many).unwrap_err().to_string().contains("it has 1001 items"));
    assert!(
        People::default()
            .trust(&"#".repeat((1 << 20) + 1))
            .unwrap_err()
            .to_string()
            .contains("1048577 bytes")
    );
}

#[test]
fn files_beyond_the_limits_are_refused() {
    let lines = |count| vec![BARE; count].join("\n\n \r\n");
    assert_eq!(SignatureFile::parse(lines(LINES).as_bytes()).unwrap().envelopes().count(), LINES);
    assert_eq!(SignatureFile::parse(lines(LINES + 1).as_bytes()), Err(LineError::Lines(LINES * 3 + 1)));
    let padded = format!("{BARE}{}", " ".repeat(SIZE - BARE.len()));
    assert_eq!(
        SignatureFile::parse(padded.as_bytes()).unwrap().to_text(),
        SignatureFile::parse(BARE.as_bytes()).unwrap().to_text()
    );
    assert_eq!(SignatureFile::parse(format!("{padded} ").as_bytes()), Err(LineError::Size(SIZE + 1)));
    assert_eq!(SignatureFile::parse(b"\n\n\xff"), Err(LineError::NotText(3)));
    assert!(SignatureFile::parse(b" \n\n").unwrap().is_empty());
}

/// SLSA's provenance has such a line; it says nothing here, and others read it.
#[test]
fn unreadable_lines_are_ignored_and_kept() {
    let mut people = People::default();
    let policy =
        people.trust("[signers.a]\nkeys = [\"a\"]\n[[require]]\nclaim = \"vetted\"\nfrom = [\"a\"]").unwrap();
    let hosts = Subject::Plugin { name: Some("hosts"), sha256: SHA };
    let provenance = with(BARE, "\"sig\"", "\"cert\": 1, \"sig\"");
    let text = format!("\n {provenance}\t\r\n{{}}\n");
    let mut signed = SignatureFile::parse(text.as_bytes()).unwrap();
    assert!(!signed.is_empty() && signed.envelopes().next().is_none());
    let error = policy.judge(&hosts, &signed, Purpose::Load).unwrap_err().to_string();
    let ignored = "line 2: can't be read: `signatures[0].cert` is unknown; line 3: can't be read: `payloadType` is missing";
    assert!(error.ends_with(&format!("; ignored: {ignored}")), "{error}");
    signed.add(vetted(people.key("a"))).unwrap();
    let line = vetted(people.key("a")).line().to_owned();
    assert_eq!(signed.to_text(), format!("{}{line}\n", &text[1..]));
    let trusted = policy.judge(&hosts, &signed, Purpose::Load).unwrap();
    assert_eq!((trusted.claims.len(), trusted.ignored.len()), (1, 2));
    let full = SignatureFile::parse(vec!["{}"; LINES].join("\n").as_bytes()).unwrap();
    assert_eq!(full.clone().add(vetted(people.key("a"))), Err(LineError::Lines(LINES + 1)));
}

#[test]
fn an_added_envelope_is_there_once() {
    let (one, two) = (vetted(&key(Algorithm::P256)), vetted(&key(Algorithm::Ed25519)));
    let mut signed = SignatureFile::default();
    for envelope in [&one, &two, &one] {
        signed.add(envelope.clone()).unwrap();
    }
    assert_eq!(signed.to_text(), format!("{}\n{}\n", one.line(), two.line()));
    let again = SignatureFile::parse(signed.to_text().as_bytes()).unwrap();
    signed = again.clone();
    signed.add(one).unwrap();
    assert_eq!(signed, again);
}

#[test]
fn many_bad_lines_are_refused_unparsed() {
    // Were one of them read, the error would be about that line.
    let file = vec!["{\"payload\":{{{{"; 10_000].join("\n");
    assert_eq!(SignatureFile::parse(file.as_bytes()), Err(LineError::Lines(LINES + 1)));
}

/// Time that this thread has had a processor for: how long it waits for one is not its business.
fn processor_time() -> Duration {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(times.split(' ').next().unwrap().parse().unwrap())
}

/// One signature takes as long as its payload is long, once for each key. It is less than a second.
#[test]
fn largest_verification_takes_little_time() {
    let mut people = People::default();
    let trusting = |people: &mut People, count: usize| {
        let keys: Vec<String> = (0..count).map(|n| format!("\"k{n}\"")).collect();
        people.trust(&format!("[signers.a]\nkeys = [{}]", keys.join(","))).unwrap()
    };
    let subject = Subject::Plugin { name: None, sha256: SHA };
    let line = |size, kind| {
        let envelope = Envelope::sign(&"a".repeat(size), &key(Algorithm::Ed25519)).unwrap();
        let value: serde_json::Value = serde_json::from_str(envelope.line()).unwrap();
        let mut dsse = value["dsseEnvelope"].clone();
        dsse["payloadType"] = serde_json::Value::from(kind);
        dsse["signatures"] = vec![dsse["signatures"][0].clone(); SIGNATURES].into();
        dsse.to_string()
    };
    let policy = trusting(&mut people, CHECKS / SIGNATURES / 11);
    let largest = vec![line(statement::SIZE, IN_TOTO); 11].join("\n");
    let many = trusting(&mut people, MANY);
    let passed_by = [line(700_000, IN_TOTO), line(1_000, "text/plain")].join("\n");
    let start = processor_time();
    let signed = SignatureFile::parse(largest.as_bytes()).unwrap();
    assert_eq!(policy.judge(&subject, &signed, Purpose::Load).unwrap().ignored.len(), 11);
    let took = processor_time() - start;
    assert!(took < Duration::from_secs(4), "{took:?}");
    let start = processor_time();
    let signed = SignatureFile::parse(passed_by.as_bytes()).unwrap();
    let codes = many.judge(&subject, &signed, Purpose::Load).unwrap().ignored;
    let codes: Vec<&str> = codes.iter().map(|ignored| ignored.why.code()).collect();
    assert_eq!(codes, ["too-large", "other-payload"]);
    let took = processor_time() - start;
    assert!(took < Duration::from_secs(4), "{took:?}");
}

#[test]
fn no_flipped_byte_makes_another_payload_verify() {
    for algorithm in [Algorithm::P256, Algorithm::Ed25519] {
        let private = key(algorithm);
        let (public, line) = (private.public_key(), vetted(&private).line().to_owned());
        let original = said(Claim::Vetted, "hosts", SHA).to_payload();
        let mut verified = 0;
        for at in 0..line.len() {
            for mask in [1, 0x20, 0x80] {
                let mut bytes = line.clone().into_bytes();
                bytes[at] ^= mask;
                let Ok(file) = SignatureFile::parse(&bytes) else { continue };
                for (_, envelope) in file.envelopes() {
                    if let Some(found) = envelope.verified_by([&public]) {
                        verified += 1;
                        assert_eq!(found.payload(), original.as_bytes(), "byte {at}");
                        assert_eq!(found.payload_type(), crate::signatures::envelope::IN_TOTO, "byte {at}");
                    }
                }
            }
        }
        // The hint may be anything.
        assert!(verified > 40, "{verified}");
    }
}

#[test]
fn bundle_is_written_like_cosigns() {
    let private = key(Algorithm::P256);
    let envelope = vetted(&private);
    let value: serde_json::Value = serde_json::from_str(envelope.line()).unwrap();
    let der = private.public_key().to_der();
    assert_eq!(
        value["verificationMaterial"]["publicKey"]["hint"],
        STANDARD.encode(crate::digest::sha256_bytes(&der))
    );
    assert!(!envelope.line().contains('\n') && !envelope.line().contains("keyid"));
    let again = Envelope::parse(envelope.line()).unwrap();
    assert_eq!(again.unverified_payload(), envelope.unverified_payload());
    let keys: [PublicKey; 2] = [key(Algorithm::P256).public_key(), private.public_key()];
    assert_eq!(again.verified_by(&keys).unwrap().keys(), [&keys[1]]);
    assert!(again.verified_by(&keys[..1]).is_none());
}

#[test]
fn a_certificate_is_read_and_verifies_nothing() {
    let private = key(Algorithm::P256);
    let line = vetted(&private).line().to_owned();
    for (name, value) in
        [("certificate", "{\"rawBytes\":\"AA==\"}"), ("x509CertificateChain", "{\"certificates\":[]}")]
    {
        let start = line.find("\"publicKey\":").unwrap();
        let end = line.find("}},\"dsse").unwrap() + 1;
        let keyless = format!("{}\"{name}\":{value}{}", &line[..start], &line[end..]);
        let envelope = Envelope::parse(&keyless).unwrap();
        assert!(envelope.is_keyless() && envelope.verified_by([&private.public_key()]).is_none());
    }
}
