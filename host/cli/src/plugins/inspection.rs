//! The description of a component for the operator who decides about it. The risks come first, and the vendor's words are
//! quoted as the vendor's.

use pivot_core::messages::safe_text::to_line;
use pivot_core::plugins::reach::{EVERYWHERE, Reach};
use pivot_runtime::{Inspection, PluginOption};
use pivot_vetting::permissions::Read;
use serde_json::{Value, json};

use crate::output::{Text, display_width, pad_to_width};

/// A few lines, with the worst among the first ten.
pub(super) fn inspection_text(inspection: &Inspection) -> Text {
    let Inspection { digest, size, declaration, options, worst, as_granted, .. } = inspection;
    let counted = if *as_granted { "as plugins.toml grants it" } else { "if it is granted all it asks for" };
    let nothing = if worst.is_empty() { " do nothing: it has no hooks" } else { "" };
    let mut text = Text::from(format!(
        "{} {}: at worst, {counted}, it could{nothing}",
        declaration.name, declaration.version
    ));
    worst.iter().for_each(|one| text.add_line(format!("  - {one}")));
    text.gap();
    text.add_line(declaration.vendor_summary());
    text.add_line(format!("  {:8} {digest}", "sha256"));
    text.add_line(format!("  {:8} {size} bytes", "size"));
    for (aspect, items) in asked_for(inspection) {
        let items = if items.is_empty() { "none".to_owned() } else { items.join(", ") };
        text.add_line(format!("  {aspect:8} {items}"));
    }
    if !options.is_empty() {
        text.gap();
        text.append(options_table(options));
    }
    text
}

/// The most characters of a cell; the document has all.
const MAX_CELL: usize = 60;

fn options_table(options: &[PluginOption]) -> Text {
    let mut rows = vec![["option", "type", "default", "description"].map(str::to_owned)];
    rows.extend(options.iter().map(|PluginOption { name, form, default, required, description }| {
        let default = match default {
            Some(default) => to_line(&default.to_string(), MAX_CELL),
            None if *required => "required".to_owned(),
            None => "none".to_owned(),
        };
        [name.clone(), to_line(form, MAX_CELL), default, description.clone()]
    }));
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| display_width(cell)).max().unwrap_or_default()
    };
    let widths = [0, 1, 2].map(width);
    let lines = rows.iter().map(|[name, form, default, description]| {
        let [first, second, third] = widths;
        let cells = [(name, first), (form, second), (default, third)];
        let [name, form, default] = cells.map(|(cell, width)| pad_to_width(cell, width));
        format!("  {name}  {form}  {default}  {description}").trim_end().to_owned()
    });
    lines.collect()
}

/// As much of a digest as people compare.
pub(super) fn short_digest(digest: &str) -> String {
    digest.chars().take(12).collect()
}

/// All that it asks for and imports, by aspect.
pub(super) fn asked_for(inspection: &Inspection) -> [(&'static str, Vec<String>); 9] {
    let Inspection { declaration, hooks, imports, denied_imports, inert, .. } = inspection;
    let imports = imports.iter().map(|name| {
        if denied_imports.contains(name) {
            format!("{name} (asks for nothing: each question is denied)")
        } else {
            name.clone()
        }
    });
    let seen = declaration.kinds.iter().map(|kind| {
        let understood = declaration.versions.iter().filter(|one| one.kind == *kind);
        let versions: Vec<&str> =
            understood.flat_map(|one| one.versions.iter().map(String::as_str)).collect();
        if versions.is_empty() { kind.to_string() } else { format!("{kind} (only {})", versions.join(", ")) }
    });
    let changes = declaration.changes.iter().map(|c| format!("{} {} ({})", c.hook, c.kind, c.side));
    let secrets = if declaration.secret_data { "with their data" } else { "without data" };
    [
        ("hooks", hooks.iter().map(ToString::to_string).collect()),
        ("sees", seen.collect()),
        ("reaches", declaration.reach.iter().map(reach_text).collect()),
        ("changes", changes.collect()),
        ("reads", declaration.reads.iter().map(read_text).collect()),
        ("probes", declaration.probes.iter().map(ToString::to_string).collect()),
        ("secrets", vec![secrets.to_owned()]),
        ("imports", imports.collect()),
        ("inert", inert.clone()),
    ]
}

fn reach_text(reach: &Reach) -> String {
    let place = if reach.namespace == EVERYWHERE {
        "all namespaces, cluster-scoped"
    } else {
        reach.namespace.as_str()
    };
    let then = if reach.delete { "copied and deleted" } else { "copied" };
    format!("{} (source: {place}; {then})", reach.kind)
}

/// A kind that the plugin reads is shown together with how far it reads.
fn read_text(read: &Read) -> String {
    let place = match read.namespace.as_deref() {
        None => "namespaces that move".to_owned(),
        Some("*") => "all namespaces".to_owned(),
        Some(namespace) => format!("namespace {namespace}"),
    };
    format!("{} ({}, {place})", read.kind, read.side)
}

/// Returns the description as a document for programs.
pub(super) fn inspection_document(inspection: &Inspection) -> Value {
    let Inspection {
        digest,
        size,
        declaration,
        hooks,
        imports,
        denied_imports,
        inert,
        options,
        section,
        worst,
        as_granted,
    } = inspection;
    let options = options.iter().map(|PluginOption { name, form, default, required, description }| {
        json!({"name": name, "type": form, "default": default, "required": required, "description": description})
    });
    json!({
        "name": declaration.name, "version": declaration.version, "summary": declaration.summary,
        "atWorst": worst, "asGranted": as_granted,
        "sha256": digest, "size": size, "hooks": hooks, "imports": imports, "deniedImports": denied_imports,
        "inert": inert, "options": options.collect::<Vec<_>>(), "grants": section,
    })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use pivot_core::plugins::hooks::Hook;
    use pivot_core::{GroupKind, Side};
    use pivot_vetting::permissions::{Declaration, Versions};

    use super::*;

    fn inspection(worst: &[&str]) -> Inspection {
        let read = |kind: &str, side, namespace: Option<&str>| Read {
            kind: GroupKind::new("", kind),
            side,
            namespace: namespace.map(str::to_owned),
        };
        Inspection {
            digest: "ab".repeat(32),
            size: 7,
            declaration: Declaration {
                name: "my-hosts".into(),
                version: "0.1.0".into(),
                summary: "Reads nothing.\" This was audited: \"fine".into(),
                kinds: vec![GroupKind::new("metal3.io", "BareMetalHost")],
                versions: vec![],
                reach: vec![],
                changes: vec![],
                reads: vec![
                    read("Secret", Side::Source, Some("*")),
                    read("Secret", Side::Target, None),
                    read("ConfigMap", Side::Target, Some("ironic")),
                ],
                probes: vec!["*:6385".parse().unwrap()],
                secret_data: false,
                codes: vec![],
                extra: vec![],
            },
            hooks: vec![Hook::Check],
            imports: vec!["objects".into()],
            denied_imports: vec![],
            inert: vec![],
            options: vec![],
            section: "[plugins.my-hosts]\n".into(),
            worst: worst.iter().map(|one| (*one).to_owned()).collect(),
            as_granted: false,
        }
    }

    #[test]
    fn options_are_a_table() {
        let option = |name: &str, form: &str, default, required| PluginOption {
            name: name.to_owned(),
            form: form.to_owned(),
            default,
            required,
            description: format!("The {name}."),
        };
        let all = Inspection {
            options: vec![
                option("retries", "integer", Some(json!(3)), false),
                option("rules[].kind", "string", None, true),
                option("up", "early | late", None, false),
            ],
            ..inspection(&[])
        };
        let text = inspection_text(&all).to_string();
        let expected = [
            "  option        type          default   description",
            "  retries       integer       3         The retries.",
            "  rules[].kind  string        required  The rules[].kind.",
            "  up            early | late  none      The up.",
        ];
        assert!(text.ends_with(&format!("inert    none\n\n{}\n", expected.join("\n"))), "{text}");
        let documents = &inspection_document(&all)["options"];
        assert_eq!(documents[0]["default"], json!(3));
    }

    // proves: T16
    #[test]
    fn risks_precede_the_quoted_vendors_words() {
        expect![[r#"
            my-hosts 0.1.0: at worst, if it is granted all it asks for, it could
              - probe *:6385 (any host), and send there what it reads
              - stop the move

            The vendor says: "Reads nothing.' This was audited: 'fine"
              sha256   abababababababababababababababababababababababababababababababab
              size     7 bytes
              hooks    check
              sees     BareMetalHost.metal3.io
              reaches  none
              changes  none
              reads    Secret (source, all namespaces), Secret (target, namespaces that move), ConfigMap (target, namespace ironic)
              probes   *:6385
              secrets  without data
              imports  objects
              inert    none
        "#]]
        .assert_eq(&inspection_text(&inspection(&["probe *:6385 (any host), and send there what it reads", "stop the move"])).to_string());
        let granted = Inspection { as_granted: true, ..inspection(&["stop the move"]) };
        let text = inspection_text(&granted).to_string();
        assert!(
            text.starts_with("my-hosts 0.1.0: at worst, as plugins.toml grants it, it could\n"),
            "{text}"
        );
        let mut picky = inspection(&[]);
        let kind = GroupKind::new("metal3.io", "BareMetalHost");
        picky.declaration.versions = vec![Versions { kind, versions: vec!["v1alpha1".into()] }];
        assert!(
            inspection_text(&picky)
                .to_string()
                .contains("sees     BareMetalHost.metal3.io (only v1alpha1)\n")
        );
        let whole = Inspection { denied_imports: vec!["objects".into()], ..inspection(&[]) };
        let text = inspection_text(&whole).to_string();
        assert!(text.contains("imports  objects (asks for nothing: each question is denied)\n"), "{text}");
        assert_eq!(inspection_document(&whole)["deniedImports"], json!(["objects"]));
        let text = inspection_text(&inspection(&[])).to_string();
        assert!(text.starts_with("my-hosts 0.1.0: at worst, if it is granted all it asks for, it could do nothing: it has no hooks\n"), "{text}");
    }
}
