//! The list of all parts for programs (a software bill of materials), in the form of CycloneDX 1.6.
//!
//! A few lines of our own: the usual tool lists what cargo could link for any system and feature, and knows nothing of plugins, the
//! page's libraries and the standard library.

use serde_json::{Value, json};

use super::part::{Part, Parts};

/// What is described: the program in its archive, or a plugin beside it.
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    /// When its sources were committed.
    pub(super) time: &'a str,
    /// The digest of the program itself, or of the component.
    pub(super) sha256: &'a str,
}

/// The document.
pub(super) fn document(parts: &Parts, about: &About<'_>) -> String {
    let program = format!("pkg:generic/{}@{}", about.name, about.version);
    let components: Vec<Value> =
        parts.iter().filter(|(url, _)| **url != program).map(|(url, part)| component(url, part)).collect();
    let dependencies: Vec<Value> =
        parts.iter().map(|(url, part)| json!({"ref": url, "dependsOn": part.uses})).collect();
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": about.time,
            "component": {
                "type": "application",
                "bom-ref": program,
                "name": about.name,
                "version": about.version,
                "purl": program,
                "licenses": [{"expression": "Apache-2.0"}],
                "hashes": [{"alg": "SHA-256", "content": about.sha256}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    format!("{document:#}\n")
}

fn component(url: &str, part: &Part) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": url,
        "name": part.name,
        "version": part.version,
        "purl": url,
        "licenses": [{"expression": part.licence}],
    });
    if let (Some((algorithm, digest)), Some(fields)) = (&part.digest, component.as_object_mut()) {
        fields.insert("hashes".to_owned(), json!([{"alg": algorithm, "content": digest}]));
    }
    component
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_part_is_listed_with_its_licence_digest_and_uses() {
        let part = |name: &str, version: &str, uses: &[&str]| Part {
            name: name.into(),
            version: version.into(),
            licence: "MIT".into(),
            uses: uses.iter().map(|url| (*url).to_owned()).collect::<BTreeSet<_>>(),
            ..Part::default()
        };
        let with_digest =
            |digest: &str, part: Part| Part { digest: Some(("SHA-256", digest.to_owned())), ..part };
        let parts = Parts::from([
            ("pkg:generic/pivot-host@1.0.0".to_owned(), part("pivot-host", "1.0.0", &["pkg:cargo/a@2.0.0"])),
            ("pkg:cargo/a@2.0.0".to_owned(), with_digest("00ff", part("a", "2.0.0", &[]))),
        ]);
        let about =
            About { name: "pivot-host", version: "1.0.0", time: "2026-01-02T03:04:05Z", sha256: "abcd" };
        let document: Value = serde_json::from_str(&document(&parts, &about)).unwrap();
        assert_eq!(
            document["metadata"]["component"]["hashes"],
            json!([{"alg": "SHA-256", "content": "abcd"}])
        );
        assert_eq!(document["metadata"]["timestamp"], "2026-01-02T03:04:05Z");
        let expected = json!([{
            "type": "library", "bom-ref": "pkg:cargo/a@2.0.0", "name": "a", "version": "2.0.0", "purl": "pkg:cargo/a@2.0.0",
            "licenses": [{"expression": "MIT"}], "hashes": [{"alg": "SHA-256", "content": "00ff"}],
        }]);
        assert_eq!(document["components"], expected);
        let expected = json!([
            {"ref": "pkg:cargo/a@2.0.0", "dependsOn": []},
            {"ref": "pkg:generic/pivot-host@1.0.0", "dependsOn": ["pkg:cargo/a@2.0.0"]},
        ]);
        assert_eq!(document["dependencies"], expected);
    }
}
