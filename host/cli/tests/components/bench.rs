//! `plugin bench`: measurements of each hook, and warnings near the limits.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::{err, host};
use crate::schemas;

#[test]
fn bench_measures_each_hook_on_objects() {
    let (component, dir) = (pivot_guests::guest("faulty").unwrap(), TempDir::new().unwrap());
    let file = dir.path().join("objects.json");
    let object =
        json!({"apiVersion": "test.io/v2", "kind": "Host", "metadata": {"name": "h", "namespace": "lab"}});
    fs::write(&file, object.to_string()).unwrap();
    let objects = ["--objects", file.to_str().unwrap()];
    for flags in [&objects[..], &[]] {
        let words = ["plugin", "bench", component.to_str().unwrap(), "--calls", "20", "-o", "json"];
        let output = host(&[&words, flags].concat()).output().unwrap();
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", err(&output)));
        schemas::check(&document);
        assert_eq!(output.status.code(), Some(0), "{document:#}");
        assert_eq!(err(&output), "");
        assert_eq!(document["size"], fs::metadata(&component).unwrap().len());
        let hooks = document["hooks"].as_array().unwrap();
        let names: Vec<&str> = hooks.iter().map(|cost| cost["hook"].as_str().unwrap()).collect();
        assert_eq!(names, ["relate", "check", "hold", "adapt", "restore", "settle"]);
        for cost in hooks {
            let [median, p99, max] =
                ["medianUs", "p99Us", "maxUs"].map(|field| cost[field].as_u64().unwrap());
            assert!(median > 0 && median <= p99 && p99 <= max, "{cost}");
            assert!(cost["calls"] == 20 && cost["peakMemory"].as_u64() > Some(0), "{cost}");
        }
    }
}

#[test]
fn bench_warns_near_limits_and_of_failures() {
    let (component, dir) = (pivot_guests::guest("faulty").unwrap(), TempDir::new().unwrap());
    let component = component.to_str().unwrap();
    let inspected = host(&["plugin", "inspect", component]).output().unwrap();
    let inspected = String::from_utf8(inspected.stdout).unwrap();
    let section = inspected.split_once("review it:\n\n").unwrap().1;
    let config = dir.path().join("plugins.toml");
    let limits = "config = { defect = 'no-status' }\nlimits = { memory = '1500KiB' }";
    fs::write(&config, format!("{section}\n{limits}\n")).unwrap();
    let words = ["plugin", "bench", component, "--calls", "10", "--config", config.to_str().unwrap()];
    let output = host(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let told = err(&output);
    assert!(told.contains("hold: a call used ") && told.contains(" % of limits.memory"), "{told}");
    assert!(told.contains("hold: 4 of 10 calls failed; the first: "), "{told}");
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.starts_with("faulty 0.1.0: ") && table.contains("\nhold          10 "), "{table}");
}
