//! The real cosign, in both directions, where there is no network and nobody has used it before.

use std::fs;
use std::path::{Path, PathBuf};

use pivot_lab::assets;
use pivot_scenarios::folder::Folder;

const TRUST: &str =
    "[signers.alice]\nkeys = ['alice.pub']\n[[require]]\nclaim = 'vetted'\nfrom = ['alice']\n";
const TYPE: &str = "https://pivot-host.io/plugin/v1";

async fn cosign() -> PathBuf {
    assets().await.unwrap().cosign().await.unwrap()
}

fn folder() -> Folder {
    let folder = Folder::new().unwrap().with("COSIGN_PASSWORD", "").alone();
    fs::create_dir(folder.path("plugins")).unwrap();
    fs::copy(pivot_guests::guest("older").unwrap(), folder.path("plugins/older.wasm")).unwrap();
    fs::write(folder.path("trust.toml"), TRUST).unwrap();
    folder
}

fn openssl(folder: &Folder, words: &[&str]) {
    folder.run(Path::new("openssl"), 0, words).unwrap();
}

/// Keys of openssl, as `alice.pem` and `alice.pub`.
fn keys(folder: &Folder, options: &[&str]) {
    openssl(folder, &[&["genpkey", "-out", "alice.pem"], options].concat());
    openssl(folder, &["pkey", "-in", "alice.pem", "-pubout", "-out", "alice.pub"]);
}

const P256: [&str; 4] = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"];
const LOCK: [&str; 6] = ["plugin", "add", "--grant", "plugins/older.wasm", "--trust", "trust.toml"];

#[tokio::test]
async fn a_statement_that_cosign_signs_admits_a_plugin() {
    let folder = signed_by_cosign(&cosign().await, &P256);
    folder.host(0, &LOCK).unwrap();
    folder.host(0, &["plugin", "verify", "plugins", "--trust", "trust.toml"]).unwrap();
    let kept = std::env::var_os("PIVOT_KEEP_SAMPLE").map(PathBuf::from);
    if let Some(kept) = kept {
        fs::copy(folder.path("b.json"), kept.join("cosign-3.1.3.json")).unwrap();
        fs::copy(folder.path("alice.pub"), kept.join("cosign-3.1.3.pub")).unwrap();
    }
}

/// cosign signs the digest with such a key (Ed25519ph). What is read here is a signature of the message itself.
#[tokio::test]
async fn what_cosign_signs_with_an_ed25519_key_counts_as_signed_by_nobody() {
    let folder = signed_by_cosign(&cosign().await, &["-algorithm", "ED25519"]);
    let (_, stderr) = folder.host(6, &LOCK).unwrap();
    assert!(stderr.contains("signed by: none; missing: 1 of alice; ignored: line 1"), "{stderr}");
}

fn signed_by_cosign(cosign: &Path, options: &[&str]) -> Folder {
    let folder = folder();
    keys(&folder, options);
    folder
        .run(cosign, 0, &["import-key-pair", "--key", "alice.pem", "--output-key-prefix", "cosign"])
        .unwrap();
    let only = ["plugin", "sign", "plugins/older.wasm", "--claim", "vetted", "--statement-only"];
    let (statement, _) = folder.host(0, &only).unwrap();
    fs::write(folder.path("s.json"), statement).unwrap();
    let attest = [
        "attest-blob",
        "--statement",
        "s.json",
        "--key",
        "cosign.key",
        "--use-signing-config=false",
        "--tlog-upload=false",
        "--bundle",
        "b.json",
        "--yes",
    ];
    folder.run(cosign, 0, &attest).unwrap();
    let attach = ["plugin", "sign", "plugins/older.wasm", "--claim", "vetted", "--attach", "b.json"];
    folder.host(0, &attach).unwrap();
    folder
}

#[tokio::test]
async fn cosign_verifies_what_was_signed_here_and_nothing_else() {
    let cosign = cosign().await;
    for options in [&P256[..], &["-algorithm", "ED25519"]] {
        let folder = folder();
        keys(&folder, options);
        let sign = ["plugin", "sign", "plugins/older.wasm", "--claim", "vetted", "--key", "alice.pem"];
        folder.host(0, &sign).unwrap();
        let line = fs::read_to_string(folder.path("plugins/older.wasm.intoto.jsonl")).unwrap();
        fs::write(folder.path("b.json"), line).unwrap();
        let verify = |code, file: &str| {
            let words = [
                "verify-blob-attestation",
                "--key",
                "alice.pub",
                "--insecure-ignore-tlog",
                "--type",
                TYPE,
                "--bundle",
                "b.json",
                file,
            ];
            folder.run(&cosign, code, &words)
        };
        verify(0, "plugins/older.wasm").unwrap();
        fs::copy(pivot_guests::guest("steady").unwrap(), folder.path("steady.wasm")).unwrap();
        verify(1, "steady.wasm").unwrap();
    }
}
