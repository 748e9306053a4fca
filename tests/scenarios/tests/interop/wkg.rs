//! wkg, which knows components and nothing of bundles, takes one out of a registry.

use std::fs;

use pivot_lab::assets;
use pivot_lab::registry::{PASSWORD, Registry};
use pivot_scenarios::folder::Folder;

#[tokio::test]
async fn wkg_pulls_a_component_of_a_bundle_byte_for_byte() {
    let (registry, wkg) = (Registry::start().await.unwrap(), assets().await.unwrap().wkg().await.unwrap());
    let folder = Folder::new()
        .unwrap()
        .with("SSL_CERT_FILE", registry.authority())
        .with("DOCKER_CONFIG", registry.logged_in(PASSWORD).unwrap());
    fs::create_dir(folder.path("plugins")).unwrap();
    fs::copy(pivot_guests::guest("older").unwrap(), folder.path("plugins/older.wasm")).unwrap();
    folder.host(0, &["plugin", "add", "--grant", "plugins/older.wasm"]).unwrap();
    folder.host(0, &["plugin", "bundle", "plugins", "--out", "site.tar"]).unwrap();
    let place = format!("{}/site/plugins", registry.host());
    let (pushed, _) = folder.host(0, &["plugin", "push", "site.tar", &format!("{place}:v1")]).unwrap();
    let alone = pushed.lines().find_map(|line| line.split_once("older alone: ")).unwrap().1;
    let component = format!("{place}@{alone}");
    folder.run(&wkg, 0, &["oci", "pull", &component, "--output", "taken.wasm"]).unwrap();
    let bytes = |file: &str| fs::read(folder.path(file)).unwrap();
    assert!(bytes("taken.wasm") == bytes("plugins/older.wasm"));
}
