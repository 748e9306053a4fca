//! The shipped grants.

use std::collections::BTreeSet;

use pivot_sdk::{Exported, Plugin};

use crate::Metal3Hosts;

#[test]
fn declared_permissions_are_exactly_those_needed() {
    let about = Metal3Hosts::about();
    let mut asked: BTreeSet<String> = about
        .changes
        .iter()
        .map(|change| {
            let side = change.hook.changed_side().unwrap().as_str();
            format!(
                "{{ hook = \"{}\", kind = \"{}\", side = \"{side}\" }},",
                change.hook.as_str(),
                change.kind
            )
        })
        .collect();
    asked.extend(
        about
            .reads
            .iter()
            .map(|read| format!("{{ side = \"{}\", kind = \"{}\" }},", read.side.as_str(), read.kind)),
    );
    let file = include_str!("../../../plugins.toml");
    let section = file.split("[plugins.metal3-hosts]\n").nth(1).unwrap().split("[plugins.").next().unwrap();
    let granted: BTreeSet<String> =
        section.lines().map(|line| line.trim().to_owned()).filter(|line| line.starts_with('{')).collect();
    assert_eq!(asked, granted);
    let hooks: Vec<String> = Metal3Hosts::HOOKS.iter().map(|hook| format!("\"{}\"", hook.as_str())).collect();
    assert!(section.contains(&format!("hooks = [{}]", hooks.join(", "))));
}
