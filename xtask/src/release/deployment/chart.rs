//! The charts. A template is what the program prints with expressions of Helm as values of its flags. Where flags exclude each other, the
//! program prints each variant, and objects that differ between variants become branches.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::super::files::{VERSION, put};
use super::manifests::{print_manifests, split_documents};
use super::template::{quote_values, replace_below, replace_once, wrap_item, wrap_key, wrap_lines};
use crate::shell::root;

/// Sources of the parts that aren't made from manifests, one folder a chart.
const SOURCES: &str = "packaging/charts";
const PARTS: [&str; 4] = ["Chart.yaml", "values.yaml", "values.schema.json", "templates/NOTES.txt"];

const NAMESPACE: &str = "{{ $.Release.Namespace }}";
const ITEM: &str = "{{ . }}";
const IMAGE: &str = "{{ $.Values.image }}";
const CLAIM: &str = "{{ $.Values.plugins.claim }}";
const TRUST: &str = "{{ $.Values.trust.configMap }}";
/// The program reads these, so that they are values instead of expressions.
const ALSO_COPY: &str = "Secret/placeholder/*:placeholder=a";
const CALL: &str = "placeholder.invalid:1";
const ALONE_AFTER: &str = "77s";
/// The namespace of leases and records. It outlives a chart, as records do.
const RECORDS: &str = "pivot-host-records";
const RECORDS_NAMESPACE: &str = "{{- if $.Values.records.createNamespace }}
---
apiVersion: v1
kind: Namespace
metadata:
  annotations:
    helm.sh/resource-policy: keep
  name: pivot-host-records
{{- end }}
";

pub(super) fn write_controller(program: &Path, folder: &Path) -> Result<()> {
    let common = ["controller", "--image", IMAGE, "--namespace", NAMESPACE, "--also-copy", ALSO_COPY];
    let common =
        [&common[..], &["--plugins-claim", CLAIM, "--trust-config-map", TRUST, "--pod-monitor"]].concat();
    let returns = ["--accept-returns", ITEM];
    let print = |agents: &[&str]| print_manifests(program, &[&common[..], agents].concat());
    let invited = print(&[&["--agents-host", ITEM], &returns[..]].concat())?;
    let other = print(&[&["--agents-secret", "{{ $.Values.agents.secret }}"], &returns[..]].concat())?;
    let branches = [
        ("if $.Values.agents.hosts", invited),
        ("else if $.Values.agents.secret", other),
        ("else", print(&[])?),
    ];
    let mut resources = Vec::new();
    let edit = |document: String| {
        let text = match kind_of(&document) {
            "CustomResourceDefinition" => {
                let kept = "metadata:\n  annotations:\n    helm.sh/resource-policy: keep\n";
                replace_once(&document, "\nmetadata:\n", &format!("\n{kept}"))?
            }
            "PodMonitor" => wrap_document(&document, "if $.Values.podMonitor.create"),
            "Deployment" => {
                let (text, defaults) = edit_deployment(&document)?;
                resources = defaults;
                edit_controller(&text)?
            }
            _ if document.contains(&format!("\n  namespace: \"{ITEM}\"\n")) => {
                wrap_document(&document, "range $.Values.acceptReturns")
            }
            _ => document,
        };
        Ok(text)
    };
    let text = join_branches(branches, edit)?;
    let checks = "{{- if and $.Values.agents.hosts $.Values.agents.secret }}
{{- fail \"agents.hosts and agents.secret exclude each other\" }}
{{- end }}
{{- if and $.Values.acceptReturns (not (or $.Values.agents.hosts $.Values.agents.secret)) }}
{{- fail \"acceptReturns needs agents.hosts or agents.secret\" }}
{{- end }}
";
    write_chart(folder, &format!("{checks}{text}"), &resources)
}

/// Takes the arguments and mounts of the controller from the values.
fn edit_controller(deployment: &str) -> Result<String> {
    let text = replace_once(deployment, "\n  replicas: 2\n", "\n  replicas: {{ $.Values.replicas }}\n")?;
    let mut text = replace_once(&text, ALSO_COPY, &format!("\"{ITEM}\""))?;
    for (flag, values) in [
        ("--also-copy", "$.Values.alsoCopy"),
        ("--agents-host", "$.Values.agents.hosts"),
        ("--accept-returns", "$.Values.acceptReturns"),
    ] {
        // Only some branches have the flags about agents.
        if text.contains(&format!("- {flag}\n")) {
            text = repeat_flag(&text, flag, values)?;
        }
    }
    mount(&text)
}

/// Repeats a flag for each value of a list.
fn repeat_flag(text: &str, flag: &str, values: &str) -> Result<String> {
    wrap_lines(text, &[&format!("- {flag}"), &format!("- \"{ITEM}\"")], &format!("range {values}"))
}

pub(super) fn write_agent(program: &Path, folder: &Path) -> Result<()> {
    let common = ["agent", "--image", IMAGE, "--namespace", NAMESPACE, "--call", CALL];
    let common = [&common[..], &["--allow-namespace", ITEM, "--keep-answering"]].concat();
    let target = ["--allow-return", "--finish-alone-after", ALONE_AFTER, "--plugins", "/plugins"];
    let mounts = ["--plugins-claim", CLAIM, "--trust-config-map", TRUST];
    let print = |secret: [&str; 2], role: &[&[&str]]| {
        print_manifests(program, &[&common[..], &secret, &role.concat()].concat())
    };
    let (invited, other) =
        (["--invitation", "{{ $.Values.invitation }}"], ["--secret", "{{ $.Values.secret }}"]);
    let (source, target): (&[&[&str]], &[&[&str]]) = (&[&["--role", "source"]], &[&target, &mounts]);
    let branches = [
        ("if and (eq $.Values.role \"source\") $.Values.invitation", print(invited, source)?),
        ("else if eq $.Values.role \"source\"", print(other, source)?),
        ("else if $.Values.invitation", print(invited, target)?),
        ("else", print(other, target)?),
    ];
    let mut resources = Vec::new();
    let edit = |document: String| match kind_of(&document) {
        "Deployment" => {
            let (text, defaults) = edit_deployment(&document)?;
            resources = defaults;
            edit_agent(&text)
        }
        // The permission for leases, which only some agents need.
        "Role" if document.contains(RECORDS) && document.contains("\n  - leases\n") => {
            let rule = "- apiGroups:\n  - coordination.k8s.io\n";
            let text = replace_once(&document, rule, &format!("{{{{- if {NEEDS_LEASES} }}}}\n{rule}"))?;
            Ok(format!("{text}{{{{- end }}}}\n"))
        }
        _ => Ok(document),
    };
    let text = join_branches(branches, edit)?;
    let checks =
        "{{- if and (eq $.Values.role \"source\") (or $.Values.allowReturn $.Values.finishAloneAfter) }}
{{- fail \"allowReturn and finishAloneAfter are for agents with the role target\" }}
{{- end }}
{{- if and (or $.Values.plugins.claim $.Values.trust.configMap) (not $.Values.finishAloneAfter) }}
{{- fail \"plugins.claim and trust.configMap need finishAloneAfter: other agents have no plugins\" }}
{{- end }}
";
    write_chart(folder, &format!("{checks}{text}"), &resources)
}

/// Takes the arguments and mounts of an agent from the values.
fn edit_agent(deployment: &str) -> Result<String> {
    let text = replace_once(deployment, CALL, "\"{{ $.Values.call }}\"")?;
    let text = repeat_flag(&text, "--allow-namespace", "$.Values.allowNamespaces")?;
    let text = wrap_lines(&text, &["- --keep-answering"], "if $.Values.keepAnswering")?;
    if text.contains("- source\n") {
        return Ok(text);
    }
    let text = wrap_lines(&text, &["- --allow-return"], "if $.Values.allowReturn")?;
    let after = format!("- {ALONE_AFTER}");
    let lines = ["- --finish-alone-after", &after, "- --plugins", "- /plugins"];
    let text = wrap_lines(&text, &lines, "if $.Values.finishAloneAfter")?;
    mount(&replace_once(&text, ALONE_AFTER, "\"{{ $.Values.finishAloneAfter }}\"")?)
}

const NEEDS_LEASES: &str = "or (eq $.Values.role \"source\") $.Values.allowReturn $.Values.finishAloneAfter";

fn write_chart(folder: &Path, template: &str, resources: &[String]) -> Result<()> {
    if !template.contains(&format!("\n  namespace: {RECORDS}\n")) {
        bail!("no object of a chart is in the namespace {RECORDS}");
    }
    put(&folder.join("templates/manifests.yaml"), &format!("{template}{RECORDS_NAMESPACE}"))?;
    let name = folder.file_name().context("a chart has a name")?;
    for part in PARTS {
        let source = root()?.join(SOURCES).join(name).join(part);
        let text = fs::read_to_string(&source).with_context(|| format!("read {}", source.display()))?;
        let defaults: Vec<&str> = resources.iter().map(|line| line.get(8..).unwrap_or_default()).collect();
        put(
            &folder.join(part),
            &text.replace("@VERSION@", VERSION).replace("@RESOURCES@", &defaults.join("\n")),
        )?;
    }
    Ok(())
}

/// Edits all objects of all branches. Objects that are the same in each become common ones. The namespace is Helm's to create.
fn join_branches<const N: usize>(
    branches: [(&str, String); N],
    mut edit: impl FnMut(String) -> Result<String>,
) -> Result<String> {
    let mut edited: Vec<(&str, Vec<String>)> = Vec::new();
    for (action, text) in branches {
        let documents =
            split_documents(&text).into_iter().filter(|document| kind_of(document) != "Namespace");
        edited.push((action, documents.map(&mut edit).collect::<Result<_>>()?));
    }
    let is_common = |document: &String| edited.iter().all(|(_, documents)| documents.contains(document));
    let Some((_, first)) = edited.first() else { bail!("a chart has no branch") };
    let mut text: String = first.iter().filter(|document| is_common(document)).cloned().collect();
    for (action, documents) in &edited {
        text += &format!("{{{{- {action} }}}}\n");
        text.extend(documents.iter().filter(|document| !is_common(document)).cloned());
    }
    Ok(quote_values(&format!("{text}{{{{- end }}}}\n")))
}

fn kind_of(document: &str) -> &str {
    document.lines().find_map(|line| line.strip_prefix("kind: ")).unwrap_or_default()
}

fn wrap_document(document: &str, action: &str) -> String {
    format!("{{{{- {action} }}}}\n{document}{{{{- end }}}}\n")
}

/// Takes resources and secrets for the image from the values. Returns the resources that the program prints, too.
fn edit_deployment(document: &str) -> Result<(String, Vec<String>)> {
    let (text, resources) =
        replace_below(document, "resources", "{{- toYaml $.Values.resources | nindent 10 }}")?;
    let account = "      serviceAccountName:";
    let secrets = "      {{- with $.Values.imagePullSecrets }}\n      imagePullSecrets: {{- toYaml . | nindent 8 }}\n      {{- end }}\n";
    Ok((replace_once(&text, account, &format!("{secrets}{account}"))?, resources))
}

/// Mounts plugins and the trust file only if the values name them.
fn mount(text: &str) -> Result<String> {
    let trust = ["- --trust", "- /etc/pivot-host/trust.toml"];
    let mut text = wrap_lines(text, &trust, "if $.Values.trust.configMap")?;
    for key in ["volumeMounts", "volumes"] {
        for (name, value) in [("plugins", "$.Values.plugins.claim"), ("trust", "$.Values.trust.configMap")] {
            text = wrap_item(&text, key, &format!("name: {name}"), &format!("if {value}"))?;
        }
        if !text.contains("name: tls\n") {
            text = wrap_key(&text, key, "if or $.Values.plugins.claim $.Values.trust.configMap")?;
        }
    }
    Ok(text)
}
