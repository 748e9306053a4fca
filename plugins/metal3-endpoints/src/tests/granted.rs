//! The shipped grants.

use std::collections::BTreeSet;

use pivot_sdk::Plugin;

use crate::Metal3Endpoints;

#[test]
fn declared_permissions_are_exactly_those_needed() {
    let reads = Metal3Endpoints::about().reads;
    let asked: BTreeSet<String> = reads
        .iter()
        .map(|read| {
            let namespace = read.namespace.as_deref().unwrap();
            format!(
                "{{ side = \"{}\", kind = \"{}\", namespace = \"{namespace}\" }},",
                read.side.as_str(),
                read.kind
            )
        })
        .collect();
    let file = include_str!("../../../plugins.toml");
    let section =
        file.split("[plugins.metal3-endpoints]\n").nth(1).unwrap().split("[plugins.").next().unwrap();
    let granted: BTreeSet<String> =
        section.lines().map(|line| line.trim().to_owned()).filter(|line| line.starts_with('{')).collect();
    assert_eq!(asked, granted);
    assert!(section.contains("hooks = [\"check\"]"));
}
