//! The providers' plugins. With them, nothing that a cluster needs stays.

use std::path::Path;

use pivot_scenarios::host::Host;
use tempfile::TempDir;

/// Objects of the namespaces that plugins copy and keep in the source, because objects that the plugins don't see can name them.
/// Without plugins, the providers' labels move some of them.
pub(crate) const KEPT: [(&str, &str); 8] = [
    ("docker", "Secret docker/registry"),
    ("gcp", "Secret gcp/credentials"),
    ("azure", "AzureClusterIdentity.infrastructure.cluster.x-k8s.io azure/identity"),
    ("azure", "Secret azure/identity-password"),
    ("azure-aks", "AzureClusterIdentity.infrastructure.cluster.x-k8s.io azure-aks/identity"),
    ("azure-aso", "Secret azure-aso/aso-credential-secret-name"),
    ("openstack", "Secret openstack/c-cloud-config"),
    ("openstack-class", "Secret openstack-class/dev-test-cloud-config"),
];

/// The comment above their sections in plugins.toml.
const HEADING: &str = "# The providers' plugins.";

/// Returns a directory with the providers' plugins, enabled with the bundled grants.
pub(crate) async fn enable_plugins() -> TempDir {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let grants = std::fs::read_to_string(root.join("plugins/plugins.toml")).unwrap();
    let (_, grants) = grants.split_once(HEADING).unwrap();
    let grants = format!("#{}", grants.replace("enabled = false", "enabled = true"));
    let dir = tempfile::Builder::new().prefix("pivot-plugins-").tempdir().unwrap();
    let out = dir.path().to_owned();
    std::fs::write(out.join("plugins.toml"), &grants).unwrap();
    let build = move || {
        let inputs = [root.join("wit"), root.join("sdk")];
        let inputs = inputs.each_ref().map(|input| input.as_path());
        pivot_guests::build_guests(&root.join("plugins"), &inputs, &out).unwrap()
    };
    for file in tokio::task::spawn_blocking(build).await.unwrap() {
        let name = file.file_stem().unwrap().to_string_lossy();
        if grants.contains(&format!("[plugins.{name}]\n")) {
            let words = ["plugin", "add", "--grant", file.to_str().unwrap()];
            Host::alone().run_as_text(&words).await.unwrap().ends_with(0).unwrap();
        } else {
            std::fs::remove_file(file).unwrap();
        }
    }
    dir
}
