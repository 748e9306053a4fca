//! The walk of docs/publishing-plugins.md, from a vendor's component through a real registry to a customer's directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use pivot_lab::registry::{PASSWORD, Registry};
use pivot_scenarios::folder::Folder;
use pivot_scenarios::host::binary;
use serde_json::Value;

const PAGE: &str = include_str!("../../../../docs/publishing-plugins.md");
const WORKFLOW: &str = include_str!("../../../../examples/vendor-release.yaml");
/// The registry on the page.
const EXAMPLE: &str = "registry.example.com";

/// Builds what the guide's commands build, and a bill of materials.
const CARGO: &str = r#"#!/bin/sh -e
case $1 in
build) mkdir -p target/wasm32-wasip2/release && cp built.wasm target/wasm32-wasip2/release/my_hosts.wasm ;;
cyclonedx) echo '{"bomFormat": "CycloneDX", "specVersion": "1.3"}' > my-hosts.cdx.json ;;
esac
"#;

/// The blocks of the page in a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let start = format!("```{language}\n");
    PAGE.split(&start).skip(1).map(|block| block.split("```\n").next().unwrap()).collect()
}

/// A folder of a user who is logged in, with the program on the path.
fn folder(registry: &Registry) -> Folder {
    let folder = Folder::new().unwrap();
    fs::create_dir(folder.path("bin")).unwrap();
    symlink(binary().unwrap(), folder.path("bin/pivot-host")).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path("bin").display());
    folder
        .with("PATH", path)
        .with("SSL_CERT_FILE", registry.authority())
        .with("DOCKER_CONFIG", registry.logged_in(PASSWORD).unwrap())
}

fn run_block(folder: &Folder, registry: &Registry, block: &str) -> String {
    let block = block.replace(EXAMPLE, &registry.host());
    folder.run(Path::new("/bin/sh"), 0, &["-ec", &block]).unwrap().0
}

#[tokio::test]
async fn vendors_release_reaches_a_customer() {
    let registry = Registry::start().await.unwrap();
    let (vendor, customer) = (folder(&registry), folder(&registry));
    let [key, build, release, receive, rotation] = blocks("sh").try_into().unwrap();
    fs::write(vendor.path("bin/cargo"), CARGO).unwrap();
    fs::set_permissions(vendor.path("bin/cargo"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::copy(pivot_guests::guest("older").unwrap(), vendor.path("built.wasm")).unwrap();
    for file in ["README.md", "LICENSE"] {
        fs::write(vendor.path(file), "Read me.\n").unwrap();
    }
    fs::write(vendor.path("Cargo.toml"), "[package]\nname = \"my-hosts\"\nversion = \"0.1.0\"\n").unwrap();

    let printed = run_block(&vendor, &registry, key);
    let fingerprint = printed.trim_end();
    run_block(&vendor, &registry, build);
    let said = run_block(&vendor, &registry, release);
    assert!(said.contains(&format!("\nkey: {fingerprint}\n")), "{said}");
    let catalog: Value = serde_json::from_slice(&fs::read(vendor.path("catalog.json")).unwrap()).unwrap();
    assert_eq!(catalog["items"][0]["plugins"][0]["keys"], Value::from(vec![fingerprint]));
    assert_eq!(catalog["items"][0]["reference"], format!("{}/acme/my-hosts:0.1.0", registry.host()));

    for file in ["catalog.json", "acme.pub"] {
        fs::copy(vendor.path(file), customer.path(file)).unwrap();
    }
    fs::write(customer.path("trust.toml"), blocks("toml")[0]).unwrap();
    let said = run_block(&customer, &registry, &receive.replace("my-hosts\\]", "older\\]"));
    assert!(said.contains("older 0.1.0  released by acme\n"), "{said}");
    let files = ["LICENSE", "my-hosts.cdx.json", "my-hosts.md", "my-hosts.wasm", "plugins.lock"];
    assert!(files.iter().all(|file| customer.path("plugins").join(file).exists()));

    // After the rotation each key alone is enough.
    run_block(&vendor, &registry, rotation);
    let bundle = vendor.path("my-hosts-2027.tar").display().to_string();
    for key in ["acme", "acme-2027"] {
        let public = format!("{key}.pub");
        fs::copy(vendor.path(&public), customer.path(&public)).unwrap();
        fs::write(customer.path("trust.toml"), blocks("toml")[0].replace("acme.pub", &public)).unwrap();
        customer.host(0, &["plugin", "import", &bundle, key, "--trust", "trust.toml"]).unwrap();
    }
}

#[test]
fn workflow_has_the_pages_commands() {
    for (name, block) in [("build", blocks("sh")[1]), ("release", blocks("sh")[2])] {
        let (_, step) = WORKFLOW.split_once(&format!("- name: {name}\n        run: |\n")).unwrap();
        let lines: Vec<&str> = step.lines().map_while(|line| line.strip_prefix("          ")).collect();
        assert_eq!(lines, block.lines().collect::<Vec<_>>(), "{name}");
    }
}
