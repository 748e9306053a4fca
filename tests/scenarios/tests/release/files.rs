//! cosign and openssl verify the release without network, krew installs it, and a client of registries reads its image.

use std::fs;
use std::path::Path;

use pivot_lab::assets;
use pivot_scenarios::folder::Folder;
use serde_json::Value;

use super::{path_from, released};

/// Endings of the files that the provenance is about.
const KINDS: [&str; 4] = [".tar.gz", ".tar", ".yaml", "SHA256SUMS"];
const IGNORE_LOG: &str = "--insecure-ignore-tlog";

fn files() -> Vec<String> {
    let names =
        fs::read_dir(path_from("PIVOT_HOST_RELEASE_FILES")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let files: Vec<String> = names.filter(|name| KINDS.iter().any(|kind| name.ends_with(kind))).collect();
    assert_eq!(files.len(), 5, "{files:?}");
    files
}

#[tokio::test]
async fn release_is_verified_without_network() {
    let cosign = assets().await.unwrap().cosign().await.unwrap();
    let folder = Folder::new().unwrap().alone();
    let key = path_from("PIVOT_HOST_RELEASE_KEY").display().to_string();
    let verify = |code, command: &str, bundle: &str, words: &[&str]| {
        let bundle = released(bundle);
        let common = [command, "--key", &key, IGNORE_LOG, "--bundle", &bundle];
        folder.run(&cosign, code, &[&common[..], words].concat()).unwrap();
    };
    let (sums, other) = (released("SHA256SUMS"), folder.path("SHA256SUMS").display().to_string());
    fs::write(&other, fs::read_to_string(&sums).unwrap().replace('a', "b")).unwrap();
    verify(0, "verify-blob", "SHA256SUMS.sigstore.json", &[&sums]);
    verify(1, "verify-blob", "SHA256SUMS.sigstore.json", &[&other]);
    for file in files() {
        let file = released(&file);
        verify(
            0,
            "verify-blob-attestation",
            "provenance.sigstore.json",
            &["--type", "slsaprovenance1", &file],
        );
    }
    verify(1, "verify-blob-attestation", "provenance.sigstore.json", &["--type", "slsaprovenance1", &other]);
    let signature = released("SHA256SUMS.sig");
    let openssl = ["dgst", "-sha256", "-verify", &key, "-signature", &signature];
    folder.run(Path::new("openssl"), 0, &[&openssl[..], &[&sums]].concat()).unwrap();
    folder.run(Path::new("openssl"), 1, &[&openssl[..], &[&other]].concat()).unwrap();
}

#[tokio::test]
async fn krew_installs_the_archive_of_its_manifest() {
    let krew = assets().await.unwrap().krew().await.unwrap();
    let folder = Folder::new().unwrap().alone();
    let root = folder.path("krew");
    let folder = folder.with("KREW_ROOT", root);
    let manifest: Value = serde_json::from_str(&fs::read_to_string(released("pivot.yaml")).unwrap()).unwrap();
    let uri = manifest["spec"]["platforms"][0]["uri"].as_str().unwrap();
    let archive = released(uri.strip_prefix("https://releases.example.com/v1/").unwrap());
    let manifest = format!("--manifest={}", released("pivot.yaml"));
    folder.run(&krew, 0, &["install", &manifest, &format!("--archive={archive}")]).unwrap();
    let (help, _) = folder.run(&folder.path("krew/bin/kubectl-pivot"), 0, &["--help"]).unwrap();
    assert!(help.contains("\nUsage: kubectl pivot "), "{help}");
    let version = released_version();
    let plugins = folder.path(&format!("krew/store/pivot/{version}/plugins")).display().to_string();
    let (list, _) =
        folder.run(&folder.path("krew/bin/kubectl-pivot"), 0, &["plugin", "list", &plugins]).unwrap();
    assert!(list.contains("metal3-hosts"), "{list}");
}

fn released_version() -> String {
    let manifest: Value = serde_json::from_str(&fs::read_to_string(released("pivot.yaml")).unwrap()).unwrap();
    manifest["spec"]["version"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn registry_client_reads_the_image() {
    let regctl = assets().await.unwrap().regctl().await.unwrap();
    let folder = Folder::new().unwrap().alone();
    let image = files().into_iter().find(|name| name.ends_with("-image.tar")).unwrap();
    fs::create_dir(folder.path("layout")).unwrap();
    folder.run(Path::new("tar"), 0, &["-xf", &released(&image), "-C", "layout"]).unwrap();
    let version = released_version();
    let reference = format!("ocidir://layout:{}", version.trim_start_matches('v'));
    let words = ["image", "config", "--platform", "linux/amd64", &reference, "--format", "{{ json . }}"];
    let config: Value = serde_json::from_str(&folder.run(&regctl, 0, &words).unwrap().0).unwrap();
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(config["config"]["Entrypoint"][0], "/bin/pivot-host");
    // Copies all blobs, with their digests checked.
    folder.run(&regctl, 0, &["image", "copy", &reference, "ocidir://copied:v1"]).unwrap();
}
