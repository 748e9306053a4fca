//! Versions in which objects are stored, and which their provider is about to drop.

use serde::Deserialize;

use crate::{Object, ObjectError};

/// Returns the versions of stored objects that a definition deprecates or no longer serves. A release without such a version
/// can't read these objects.
pub fn find_outdated_versions(definition: &Object) -> Result<Vec<String>, ObjectError> {
    #[derive(Deserialize)]
    struct View {
        spec: Spec,
        #[serde(default)]
        status: Status,
    }
    #[derive(Deserialize)]
    struct Spec {
        versions: Vec<Version>,
    }
    #[derive(Deserialize)]
    struct Version {
        name: String,
        served: bool,
        #[serde(default)]
        deprecated: bool,
    }
    #[derive(Default, Deserialize)]
    #[serde(rename_all = "camelCase", default)]
    struct Status {
        stored_versions: Vec<String>,
    }
    let View { spec, status } = definition.view()?;
    let is_current = |stored: &String| {
        spec.versions.iter().any(|version| version.name == *stored && version.served && !version.deprecated)
    };
    Ok(status.stored_versions.into_iter().filter(|stored| !is_current(stored)).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::kind;

    fn outdated(versions: &[Value], stored: &Value) -> Vec<String> {
        let metadata = json!({"name": "widgets.example.com"});
        let status = json!({"storedVersions": stored});
        let body = json!({"metadata": metadata, "spec": {"versions": versions}, "status": status});
        find_outdated_versions(&Object::from_value(kind("Definition"), &body).unwrap()).unwrap()
    }

    #[test]
    fn deprecated_and_unserved_versions_are_outdated() {
        let versions = [
            json!({"name": "v1alpha4", "served": false, "storage": false, "deprecated": true}),
            json!({"name": "v1alpha5", "served": false, "storage": false}),
            json!({"name": "v1beta1", "served": true, "storage": false, "deprecated": true}),
            json!({"name": "v1beta2", "served": true, "storage": true}),
        ];
        assert_eq!(outdated(&versions, &json!(["v1beta2"])), [""; 0], "none of these is stored");
        let stored = json!(["v1alpha3", "v1alpha4", "v1alpha5", "v1beta1", "v1beta2"]);
        let expected = ["v1alpha3", "v1alpha4", "v1alpha5", "v1beta1"];
        assert_eq!(outdated(&versions, &stored), expected, "the definition has no v1alpha3");
    }
}
