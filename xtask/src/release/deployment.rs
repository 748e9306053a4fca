//! A Helm chart and a base for kustomize, for the controller and for the agent. They are made from what the program prints, so that they
//! can't differ from it.

mod chart;
mod manifests;
mod template;

use std::path::Path;

use anyhow::Result;

use super::files::{VERSION, put};
use manifests::{print_manifests, split_documents};

/// Image of the bases, whose name users replace. No registry has it.
const PLACEHOLDER_IMAGE: &str = "registry.example.com/pivot-host";

const ABOUT_BASES: &str = "# Made by the release from `pivot-host generate`. Replace the image in an overlay:
#
#   images:
#   - name: registry.example.com/pivot-host
#     newName: YOUR-REGISTRY/pivot-host
#
# Don't set `namespace` in an overlay: it would also change the namespace of roles for records.
";

/// Writes the charts and the bases into folders `charts` and `kustomize`.
pub(super) fn write(program: &Path, folder: &Path) -> Result<()> {
    let charts = folder.join("charts");
    chart::write_controller(program, &charts.join("pivot-host"))?;
    chart::write_agent(program, &charts.join("pivot-host-agent"))?;
    let image = format!("{PLACEHOLDER_IMAGE}:{VERSION}");
    let bases = folder.join("kustomize");
    let controller = print_manifests(program, &["controller", "--image", &image])?;
    write_base(&bases.join("controller"), &controller)?;
    let with_monitor = print_manifests(program, &["controller", "--image", &image, "--pod-monitor"])?;
    let monitor =
        split_documents(&with_monitor).into_iter().filter(|one| one.contains("\nkind: PodMonitor\n"));
    write_base(&bases.join("pod-monitor"), &monitor.collect::<String>())?;
    let agent = ["agent", "--image", &image, "--invitation", "pivot-host-agent-credentials"];
    let call = ["--call", "pivot.example.com:8443", "--allow-namespace", "example"];
    write_base(&bases.join("agent"), &print_manifests(program, &[&agent[..], &call].concat())?)
}

fn write_base(folder: &Path, manifests: &str) -> Result<()> {
    let base =
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- manifests.yaml\n";
    put(&folder.join("kustomization.yaml"), &format!("{ABOUT_BASES}{base}"))?;
    put(&folder.join("manifests.yaml"), manifests)
}
