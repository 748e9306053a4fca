//! Options that a component declares, from `plugin inspect` to `plugin verify`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{err, host};
use crate::schemas;

#[test]
fn verify_names_the_mistyped_option() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (inputs, dir) = ([root.join("wit"), root.join("sdk")], TempDir::new().unwrap());
    let built = TempDir::new().unwrap();
    let inputs = inputs.each_ref().map(|path| &**path);
    pivot_guests::build_guests(&root.join("plugins"), &inputs, built.path()).unwrap();
    let (plugin, grants) = (dir.path().join("secrets.wasm"), dir.path().join("plugins.toml"));
    fs::copy(built.path().join("secrets.wasm"), &plugin).unwrap();
    let ran = |arguments: &[&str]| {
        let output = host(arguments).output().unwrap();
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
        schemas::check(&document);
        (output.status.code(), document)
    };

    let (code, inspected) = ran(&["plugin", "inspect", "-o", "json", plugin.to_str().unwrap()]);
    let reason = inspected["options"].as_array().unwrap().iter().find(|one| one["name"] == "leave[].reason");
    let expected = json!({
        "name": "leave[].reason", "type": "string", "default": null, "required": false,
        "description": "Reason, for reports.",
    });
    assert_eq!((code, reason), (Some(0), Some(&expected)));

    assert_eq!(ran(&["plugin", "add", "--grant", "-o", "json", plugin.to_str().unwrap()]).0, Some(0));
    let added = fs::read_to_string(&grants).unwrap();
    assert!(
        added.contains("\n# [plugins.secrets.config]\n") && added.contains("\n# leave = []\n"),
        "{added}"
    );
    let verify = |config: &str| {
        fs::write(&grants, format!("{added}\n[plugins.secrets.config]\n{config}\n")).unwrap();
        ran(&["plugin", "verify", "-o", "json", dir.path().to_str().unwrap()])
    };
    let (code, verified) = verify("leaev = [{ type = 'hunter2' }]");
    let fault = &verified["faults"][0];
    assert_eq!((code, fault["code"].as_str()), (Some(6), Some("configuration")));
    let expected =
        "`leaev` is no option (did you mean leave?); `pivot-host plugin inspect` lists its options";
    assert!(fault["message"].as_str().unwrap().ends_with(expected), "{fault}");
    assert_eq!(verify("leave = [{ type = 'Opaque' }]").0, Some(0));
}
