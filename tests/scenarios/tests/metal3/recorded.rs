//! The recording of a move of the rack, replayed once the servers are gone: by the plugins that were recorded, and by one with a
//! changed rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use pivot_scenarios::host::Host;
use pivot_scenarios::secrets::ensure_no_secret;
use serde_json::Value;

use super::plugins::Plugins;

const HOSTS: &str = "metal3-hosts";
/// The value of the annotation by which the plugin holds a host, and a value of the same length.
const PAUSE_VALUES: [&str; 2] = ["metal3-hosts.pivot-host.io", "metal3-hosts.pivot-host.eu"];

pub(crate) async fn recorded_move_is_replayed_without_servers(recording: &Path, plugins: &Plugins) {
    let text = fs::read_to_string(recording).unwrap();
    ensure_no_secret("the recording", &text).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let calls: Vec<&Value> = lines.iter().filter_map(|line| line.get("call")).collect();
    let hooks: BTreeSet<&str> = calls
        .iter()
        .filter(|call| call["plugin"] == HOSTS)
        .filter_map(|call| call["hook"].as_str())
        .collect();
    let all = ["adapt", "check", "hold", "relate", "restore", "settle"];
    assert_eq!(hooks, BTreeSet::from(all));
    let recorded: BTreeSet<&str> = calls.iter().filter_map(|call| call["plugin"].as_str()).collect();
    let directory = plugins.path();
    let config = format!("{directory}/plugins.toml");
    for name in recorded {
        let component = format!("{directory}/{name}.wasm");
        let replayed = replay(recording, &component, &config).await;
        let count = calls.iter().filter(|call| call["plugin"] == name).count();
        assert_eq!(
            (replayed["differing"].as_u64(), replayed["calls"].as_u64()),
            (Some(0), Some(count as u64))
        );
    }
    let changed = recording.with_file_name("changed.wasm");
    change_rule(&format!("{directory}/{HOSTS}.wasm"), &changed);
    let replayed = replay(recording, changed.to_str().unwrap(), &config).await;
    let first = &replayed["differences"][0];
    assert_eq!(first["hook"], "hold", "{replayed:#}");
    assert!(first["call"].as_str().unwrap().starts_with("hold BareMetalHost metal3/"), "{first:#}");
}

async fn replay(recording: &Path, component: &str, config: &str) -> Value {
    let words = ["plugin", "replay", recording.to_str().unwrap(), component, "--config", config];
    let ended = Host::alone().run(&words).await.unwrap();
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{}", ended.stderr))
}

/// Writes a component that holds hosts with another value.
fn change_rule(component: &str, changed: &Path) {
    let [from, to] = PAUSE_VALUES.map(str::as_bytes);
    let mut bytes = fs::read(component).unwrap();
    let places: Vec<usize> =
        (0..=bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty(), "the component has another value");
    places.iter().for_each(|at| bytes[*at..*at + to.len()].copy_from_slice(to));
    fs::write(changed, bytes).unwrap();
}
