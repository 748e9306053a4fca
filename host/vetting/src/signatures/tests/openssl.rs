//! Tests with keys and signatures of `openssl`: others make the keys that this crate reads, and check what it signs. A landing
//! fails without `openssl`; plain `cargo test`, which needs no other program, leaves them out then.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::signatures::envelope::{Envelope, IN_TOTO, pre_authentication_encoding};
use crate::signatures::key::{Algorithm, KeyError, PrivateKey, PublicKey};
use crate::signatures::statement::Claim;
use crate::signatures::tests::sample::statement;

const P256: &[&str] = &["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const ED25519: &[&str] = &["-algorithm", "ED25519"];

/// Requires `openssl`, if it is set and not empty.
const LANDING: &str = "PIVOT_HOST_LANDING";

struct Openssl(TempDir);

impl Openssl {
    /// Returns None on a machine without `openssl`, unless a landing is tested.
    fn find() -> Option<Self> {
        let is_required = std::env::var_os(LANDING).is_some_and(|value| !value.is_empty());
        if !is_required && Command::new("openssl").arg("version").output().is_err() {
            println!("not run: there is no openssl");
            return None;
        }
        Some(Self(tempfile::tempdir().unwrap()))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn tried(&self, args: &[&str]) -> Output {
        Command::new("openssl").args(args).current_dir(self.0.path()).output().expect("openssl is needed")
    }

    fn run(&self, args: &[&str]) {
        let output = self.tried(args);
        assert!(output.status.success(), "openssl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A key as `k.pem`, with `k.pub`.
    fn key(&self, kind: &[&str]) -> (PrivateKey, PublicKey) {
        self.run(&[&["genpkey", "-out", "k.pem"], kind].concat());
        self.run(&["pkey", "-in", "k.pem", "-pubout", "-out", "k.pub"]);
        (
            PrivateKey::from_pem(&self.text("k.pem")).unwrap(),
            PublicKey::from_pem(&self.text("k.pub")).unwrap(),
        )
    }

    fn sign(&self, algorithm: Algorithm, message: &[u8]) -> Vec<u8> {
        fs::write(self.path("m"), message).unwrap();
        match algorithm {
            Algorithm::P256 => self.run(&["dgst", "-sha256", "-sign", "k.pem", "-out", "s", "m"]),
            Algorithm::Ed25519 => {
                self.run(&["pkeyutl", "-sign", "-inkey", "k.pem", "-rawin", "-in", "m", "-out", "s"]);
            }
        }
        fs::read(self.path("s")).unwrap()
    }

    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        fs::write(self.path("m"), message).unwrap();
        fs::write(self.path("s"), signature).unwrap();
        let args: &[&str] = match algorithm {
            Algorithm::P256 => &["dgst", "-sha256", "-verify", "k.pub", "-signature", "s", "m"],
            Algorithm::Ed25519 => {
                &["pkeyutl", "-verify", "-pubin", "-inkey", "k.pub", "-rawin", "-in", "m", "-sigfile", "s"]
            }
        };
        self.tried(args).status.success()
    }
}

#[test]
fn keys_and_signatures_work_with_openssl() {
    for (algorithm, kind) in [(Algorithm::P256, P256), (Algorithm::Ed25519, ED25519)] {
        let Some(openssl) = Openssl::find() else { return };
        let (private, public) = openssl.key(kind);
        assert_eq!(private.public_key(), public);
        assert_eq!(public.algorithm(), algorithm);
        assert_eq!(public.to_pem(), openssl.text("k.pub"));

        let text = statement(Claim::Vetted, "hosts", &"a".repeat(64)).to_payload();
        let message = pre_authentication_encoding(IN_TOTO, text.as_bytes());
        assert!(public.verify(&message, &openssl.sign(algorithm, &message)));
        let ours = private.sign(&message).unwrap();
        assert!(openssl.verifies(algorithm, &message, &ours));
        assert!(!openssl.verifies(algorithm, &[&message[..], b" "].concat(), &ours));
        assert!(!public.verify(b"other", &ours));
    }
}

#[test]
fn bare_envelope_of_openssl_is_verified() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    for (algorithm, kind) in [(Algorithm::P256, P256), (Algorithm::Ed25519, ED25519)] {
        let Some(openssl) = Openssl::find() else { return };
        let (_, public) = openssl.key(kind);
        let text = statement(Claim::Vetted, "hosts", &"a".repeat(64)).to_payload();
        let signature = openssl.sign(algorithm, &pre_authentication_encoding(IN_TOTO, text.as_bytes()));
        for alphabet in [&STANDARD, &URL_SAFE] {
            let (payload, sig) = (alphabet.encode(&text), alphabet.encode(&signature));
            let line = format!(
                r#"{{"payloadType":"{IN_TOTO}","payload":"{payload}","signatures":[{{"keyid":"x","sig":"{sig}"}}]}}"#
            );
            let envelope = Envelope::parse(&line).unwrap();
            let verified = envelope.verified_by([&public]).unwrap();
            assert_eq!((verified.payload(), verified.keys()), (text.as_bytes(), &[&public][..]));
        }
    }
}

#[test]
fn fingerprint_is_the_ders_digest() {
    let Some(openssl) = Openssl::find() else { return };
    let (_, public) = openssl.key(P256);
    openssl.run(&["pkey", "-pubin", "-in", "k.pub", "-outform", "DER", "-out", "k.der"]);
    let output = openssl.tried(&["dgst", "-sha256", "-r", "k.der"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(public.fingerprint(), format!("sha256:{}", &printed[..64]));
}

#[test]
fn unsupported_keys_are_refused_by_name() {
    for (kind, name) in [
        (&["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"][..], "RSA"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "ECDSA P-384"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"], "ECDSA P-521"),
        (&["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"], "ECDSA secp256k1"),
        (&["-algorithm", "ED448"], "Ed448"),
        (&["-algorithm", "X25519"], "X25519, which can't sign"),
    ] {
        let Some(openssl) = Openssl::find() else { return };
        openssl.run(&[&["genpkey", "-out", "k.pem"], kind].concat());
        openssl.run(&["pkey", "-in", "k.pem", "-pubout", "-out", "k.pub"]);
        let refused = KeyError::Algorithm(name);
        assert_eq!(PublicKey::from_pem(&openssl.text("k.pub")).unwrap_err(), refused);
        assert_eq!(PrivateKey::from_pem(&openssl.text("k.pem")).unwrap_err(), refused);
    }
}

#[test]
fn unsupported_private_key_forms_get_advice() {
    let Some(openssl) = Openssl::find() else { return };
    openssl.key(P256);
    openssl.run(&["pkcs8", "-topk8", "-in", "k.pem", "-out", "locked.pem", "-passout", "pass:hunter2"]);
    openssl.run(&["ec", "-in", "k.pem", "-out", "old.pem"]);
    openssl.run(&["ec", "-in", "k.pem", "-aes128", "-passout", "pass:hunter2", "-out", "old-locked.pem"]);
    openssl.run(&["req", "-x509", "-new", "-key", "k.pem", "-subj", "/CN=a", "-out", "cert.pem"]);
    openssl.run(&["ec", "-in", "k.pem", "-pubout", "-conv_form", "compressed", "-out", "short.pub"]);
    openssl.run(&["ec", "-in", "k.pem", "-param_enc", "explicit", "-pubout", "-out", "explicit.pub"]);
    for (file, said) in [
        (
            "locked.pem",
            "an encrypted key, not an unencrypted private key (`PRIVATE KEY`, PKCS#8); convert it with",
        ),
        (
            "old.pem",
            "in the older format of EC keys, not an unencrypted private key (`PRIVATE KEY`, PKCS#8); convert it with",
        ),
        ("old-locked.pem", "an encrypted key"),
        ("cert.pem", "a certificate"),
        ("k.pub", "a public key, not"),
    ] {
        let error = PrivateKey::from_pem(&openssl.text(file)).unwrap_err();
        assert!(error.to_string().contains(said), "{file}: {error}");
    }
    for (file, said) in [
        ("k.pem", "a private key, not a public key (`PUBLIC KEY`); keep it secret"),
        ("old.pem", "a private key"),
        ("cert.pem", "`openssl x509 -pubkey -noout` prints the key that is in it"),
        ("short.pub", "damaged"),
        ("explicit.pub", "unknown algorithm"),
    ] {
        let error = PublicKey::from_pem(&openssl.text(file)).unwrap_err();
        assert!(error.to_string().contains(said), "{file}: {error}");
    }
    let converted = openssl.tried(&["pkcs8", "-topk8", "-nocrypt", "-in", "old.pem"]).stdout;
    assert!(PrivateKey::from_pem(&String::from_utf8(converted).unwrap()).is_ok());
}

#[test]
fn nothing_of_a_private_key_is_printed() {
    for kind in [P256, ED25519] {
        let Some(openssl) = Openssl::find() else { return };
        let (private, public) = openssl.key(kind);
        let printed = format!("{private:?}");
        assert_eq!(printed, format!("PrivateKey(of {public:?})"));
        let pem = openssl.text("k.pem");
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        // Each file that is nearly a key, and what is printed about it.
        for broken in [
            pem.replace("PRIVATE KEY", "EC PRIVATE KEY"),
            pem.replace("PRIVATE KEY", &format!("{} KEY", &body[..20])),
            pem.replace(&body[..8], "!!!!!!!!"),
            pem.replacen('M', "A", 1),
            pem.lines().take(2).collect(),
            format!("{pem}{pem}"),
            format!("{pem}x"),
            format!("{}\n{pem}", &body[..20]),
        ] {
            for error in
                [PrivateKey::from_pem(&broken).unwrap_err(), PublicKey::from_pem(&broken).unwrap_err()]
            {
                let printed = format!("{error} {error:?}");
                assert!(
                    !printed.as_bytes().windows(8).any(|part| body.contains(str::from_utf8(part).unwrap())),
                    "{printed}"
                );
            }
        }
    }
}
