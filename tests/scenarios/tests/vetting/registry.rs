//! Bundles through a real registry, behind TLS and a password, and through another client.

use std::fs;

use pivot_lab::assets;
use pivot_lab::registry::{PASSWORD, Registry};
use pivot_scenarios::folder::Folder;

/// A directory with two plugins, and a bundle of it.
fn bundled(registry: &Registry) -> Folder {
    let folder = Folder::new()
        .unwrap()
        .with("SSL_CERT_FILE", registry.authority())
        .with("DOCKER_CONFIG", registry.logged_in(PASSWORD).unwrap());
    fs::create_dir(folder.path("plugins")).unwrap();
    for name in ["older", "steady"] {
        let file = format!("plugins/{name}.wasm");
        fs::copy(pivot_guests::guest(name).unwrap(), folder.path(&file)).unwrap();
        folder.host(0, &["plugin", "lock", "--grant", &file]).unwrap();
    }
    folder.host(0, &["plugin", "bundle", "plugins", "--out", "site.tar"]).unwrap();
    folder
}

fn bytes(folder: &Folder, file: &str) -> Vec<u8> {
    fs::read(folder.path(file)).unwrap()
}

#[tokio::test]
async fn what_is_pushed_is_pulled_byte_for_byte() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let place = format!("{}/site/plugins:v1", registry.host());
    let (pushed, _) = folder.host(0, &["plugin", "push", "site.tar", &place]).unwrap();
    assert!(pushed.starts_with(&format!("{place}@sha256:")), "{pushed}");
    assert!(pushed.contains(" has it; 7 blobs were sent, the others were there\n"), "{pushed}");
    let (again, _) = folder.host(0, &["plugin", "push", "site.tar", &place]).unwrap();
    assert!(again.contains(" has it; 0 blobs were sent"), "{again}");

    folder.host(0, &["plugin", "pull", &place, "--out", "pulled.tar"]).unwrap();
    assert!(bytes(&folder, "site.tar") == bytes(&folder, "pulled.tar"));
    let digest = pushed.split_once('@').unwrap().1.split_once(' ').unwrap().0;
    let pinned = format!("{}/site/plugins@{digest}", registry.host());
    let (said, _) = folder.host(0, &["plugin", "pull", &pinned, "--out", "pinned.tar"]).unwrap();
    assert!(said.contains(digest), "{said}");
    folder
        .host(0, &["plugin", "import", "pinned.tar", "there", "--grants", "--admit", "--digest", digest])
        .unwrap();
    folder.host(0, &["plugin", "verify", "there"]).unwrap();

    let nothing = format!("{}/site/plugins:v2", registry.host());
    let (_, said) = folder.host(3, &["plugin", "pull", &nothing, "--out", "none.tar"]).unwrap();
    assert!(
        said.contains("refused to get the bundle: HTTP 404 (MANIFEST_UNKNOWN); nothing was written here"),
        "{said}"
    );
    assert!(!folder.path("none.tar").exists());
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_authority_are_refused_and_no_password_is_shown() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let place = format!("{}/site/plugins:v1", registry.host());
    let line = ["plugin", "push", "site.tar", place.as_str(), "-vv"];
    let wrong = "wrong-horse-battery";
    let folder = folder.with("DOCKER_CONFIG", registry.logged_in(wrong).unwrap()).with("RUST_LOG", "trace");
    let (out, err) = folder.host(3, &line).unwrap();
    assert!(
        err.contains(&format!(
            "{} doesn't let you look for a blob: log in with `docker login",
            registry.host()
        )),
        "{err}"
    );
    let secret = |text: &str| {
        // As it is, and as a header has it.
        let encoded = fs::read_to_string(registry.logged_in(wrong).unwrap().join("config.json")).unwrap();
        let encoded = encoded.split("\"auth\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        text.contains(wrong) || text.contains(&encoded)
    };
    assert!(!secret(&out) && !secret(&err), "{out}{err}");

    let folder = folder.with("DOCKER_CONFIG", folder_without_login(&registry));
    let (_, err) = folder.host(3, &line).unwrap();
    assert!(err.contains("log in with `docker login"), "{err}");
    let folder = folder.with("SSL_CERT_FILE", registry.authority().with_file_name("server.key"));
    let (_, err) = folder.host(3, &line).unwrap();
    assert!(err.contains("TLS"), "{err}");
    // To a port that speaks TLS, nothing is sent without it.
    let (_, err) = folder.host(3, &[&line[..], &["--plain-http"]].concat()).unwrap();
    assert!(err.contains("HTTP 400") || err.contains("can't be reached"), "{err}");
}

fn folder_without_login(registry: &Registry) -> std::path::PathBuf {
    let empty = registry.authority().with_file_name("nobody");
    fs::create_dir_all(&empty).unwrap();
    empty
}

#[tokio::test]
async fn another_client_carries_a_bundle_between_a_file_and_a_registry() {
    let registry = Registry::start().await.unwrap();
    let folder = bundled(&registry);
    let regctl = assets().await.unwrap().regctl().await.unwrap();
    let place = format!("{}/site/plugins:v1", registry.host());
    let authority = registry.authority().display().to_string();
    folder.run(&regctl, 0, &["registry", "set", &registry.host(), "--cacert", &authority]).unwrap();
    folder.run(&regctl, 0, &["image", "import", "--name", "bundle", &place, "site.tar"]).unwrap();
    folder.host(0, &["plugin", "pull", &place, "--out", "pulled.tar"]).unwrap();
    assert!(bytes(&folder, "site.tar") == bytes(&folder, "pulled.tar"));

    // The other way, and one component by itself, as tools take it that know nothing of bundles.
    folder.host(0, &["plugin", "push", "site.tar", &format!("{}/site/ours:v1", registry.host())]).unwrap();
    let ours = format!("{}/site/ours:v1", registry.host());
    folder.run(&regctl, 0, &["image", "export", &ours, "exported.tar"]).unwrap();
    let (shown, _) = folder.host(0, &["plugin", "import", "exported.tar", "there", "--grants"]).unwrap();
    let (expected, _) = folder.host(0, &["plugin", "import", "site.tar", "there", "--grants"]).unwrap();
    assert_eq!(shown.replace("exported.tar", "site.tar"), expected);
    let (pushed, _) = folder.host(0, &["plugin", "push", "site.tar", &ours]).unwrap();
    let alone = pushed.lines().find(|line| line.contains("older alone: ")).unwrap();
    let digest = alone.split_once("alone: ").unwrap().1;
    let component = format!("{}/site/ours@{digest}", registry.host());
    fs::create_dir(folder.path("taken")).unwrap();
    folder.run(&regctl, 0, &["artifact", "get", &component, "--output", "taken"]).unwrap();
    let taken = fs::read_dir(folder.path("taken")).unwrap().next().unwrap().unwrap().path();
    assert!(fs::read(taken).unwrap() == bytes(&folder, "plugins/older.wasm"));
}
