//! The risks of a plugin, in at most nine sentences for the person who decides about it. Only this module turns declarations,
//! imports and grants into consequences.
//!
//! It is an upper bound. It doesn't consider which hook sees what: an operator who grants both the data of Secrets and changes of
//! ConfigMaps should read that the one could end up in the other, however unlikely the way. The worst comes first, and a long
//! list names its most dangerous kinds.

use std::collections::BTreeSet;

use pivot_core::messages::refusal::some_of;
use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Side};

use crate::permissions::gates::intersect_reads;
use crate::permissions::{Change, Declaration, Grants, Pattern, Read, permitted_kinds, permitted_reach};

/// Most kinds or endpoints that a sentence names.
const NAMED: usize = 8;

/// The powers of a plugin: those that it asked for, that its binary can use, and that were granted.
struct Powers<'a> {
    hooks: &'a [Hook],
    kinds: Vec<GroupKind>,
    reach: Vec<Reach>,
    changes: &'a [Change],
    reads: Vec<Read>,
    probes: Vec<Pattern>,
    secret_data: bool,
    imports: &'a [String],
}

/// Returns the risks of a plugin, each as a continuation of "it could". Without grants, they are the risks if everything were
/// granted.
pub fn summarize_risks(
    declared: &Declaration,
    hooks: &[Hook],
    imports: &[String],
    grants: Option<&Grants>,
) -> Vec<String> {
    let (kinds, reach) = match grants {
        None => (declared.kinds.clone(), declared.reach.clone()),
        Some(grants) => (permitted_kinds(declared, grants), permitted_reach(declared, grants)),
    };
    let (reads, probes) = match grants {
        None => (declared.reads.clone(), declared.probes.clone()),
        Some(grants) => (
            all_pairs(&grants.reads, &declared.reads).filter_map(|(a, b)| intersect_reads(a, b)).collect(),
            all_pairs(&grants.probes, &declared.probes).filter_map(|(a, b)| a.intersect(b)).collect(),
        ),
    };
    let powers = Powers {
        hooks,
        kinds,
        reach,
        // Granted as widely as declared, or not at all.
        changes: &declared.changes,
        reads,
        probes,
        secret_data: declared.secret_data && grants.is_none_or(|grants| grants.secret_data),
        imports,
    };
    let rules: [fn(&Powers<'_>) -> Option<String>; 9] = [
        secret_data_risk,
        adapt_risk,
        hold_risk,
        restore_risk,
        probe_risk,
        wide_read_risk,
        narrow_read_risk,
        relate_risk,
        stop_risk,
    ];
    rules.iter().filter_map(|rule| rule(&powers)).collect()
}

fn all_pairs<'a, T>(some: &'a [T], others: &'a [T]) -> impl Iterator<Item = (&'a T, &'a T)> {
    some.iter().flat_map(move |one| others.iter().map(move |other| (one, other)))
}

impl Powers<'_> {
    fn changes_of_hooks(&self, hooks: &[Hook]) -> Vec<&Change> {
        self.changes.iter().filter(|change| hooks.contains(&change.hook)).collect()
    }

    /// Returns an addition to the text if the binary can't use a declared interface.
    fn unless_imported(&self, interface: &str) -> String {
        if self.imports.iter().any(|import| import == interface) {
            return String::new();
        }
        format!(" (this file can't: it doesn't import `{interface}`)")
    }

    /// Kinds that are read and, for Secrets, how much of them.
    fn describe_reads<'k>(&self, all: impl Iterator<Item = &'k GroupKind> + Clone) -> String {
        let depth = match (all.clone().any(|kind| kind.covers(&secret_kind())), self.secret_data) {
            (false, _) => "",
            (true, true) => " (of Secrets the data, too)",
            (true, false) => " (of Secrets names and keys, no values)",
        };
        format!("{}{depth}", list_kinds(all))
    }

    /// Describes the Secrets that the plugin sees, if any.
    fn secrets_seen(&self) -> Option<String> {
        let secret = secret_kind();
        let reads: Vec<&Read> = self.reads.iter().filter(|read| read.kind.covers(&secret)).collect();
        let reached: Vec<&Reach> = self.reach.iter().filter(|reach| reach.kind.covers(&secret)).collect();
        let all = reads.iter().filter(|read| reads_everywhere(read)).map(|read| read.side);
        let brought = reached.iter().filter(|reach| reach.namespace == EVERYWHERE).map(|_| Side::Source);
        let everywhere: Vec<Side> = all.chain(brought).collect();
        if !everywhere.is_empty() {
            return Some(format!("any Secret in {}", list_sides(everywhere)));
        }
        let mut seen = Vec::new();
        if self.kinds.iter().any(|kind| kind.covers(&secret)) || reads.iter().any(|r| r.namespace.is_none()) {
            seen.push("any Secret in the namespaces that move".to_owned());
        }
        let read = reads.iter().filter_map(|read| read.namespace.as_deref());
        let named: BTreeSet<&str> =
            read.chain(reached.iter().map(|reach| reach.namespace.as_str())).collect();
        if !named.is_empty() {
            seen.push(format!("any Secret in {}", list_namespaces(&named)));
        }
        (!seen.is_empty()).then(|| seen.join(" and "))
    }
}

fn secret_data_risk(powers: &Powers<'_>) -> Option<String> {
    let seen = powers.secret_data.then(|| powers.secrets_seen())??;
    // Permission to read one Secret implies permission to read the other.
    let into: Vec<&Change> = powers.changes.iter().filter(|change| !change.kind.is_secret()).collect();
    if into.is_empty() {
        return Some(format!(
            "read the data of {seen}, and pass on a little of it by the codes it reports and the decisions it makes"
        ));
    }
    let (kinds, sides) = list_kinds_and_sides(&into);
    Some(format!(
        "copy the data of {seen} into {kinds} in {sides}, where others than readers of Secrets see it"
    ))
}

fn adapt_risk(powers: &Powers<'_>) -> Option<String> {
    let changes = non_empty(powers.changes_of_hooks(&[Hook::Adapt]))?;
    let credentials = if changes.iter().any(|c| c.kind.covers(&secret_kind())) {
        ", credentials in Secrets included"
    } else {
        ""
    };
    Some(format!(
        "rewrite what is created in the target: any field of {}{credentials}",
        list_kinds_and_sides(&changes).0
    ))
}

fn hold_risk(powers: &Powers<'_>) -> Option<String> {
    let changes = non_empty(powers.changes_of_hooks(&[Hook::Hold, Hook::Settle]))?;
    let (kinds, sides) = list_kinds_and_sides(&changes);
    // The host undoes what only `hold` changes.
    let keep = if changes.iter().any(|change| change.hook == Hook::Settle) { "keep" } else { "pause" };
    let paused = if keep == "keep" { " paused" } else { "" };
    Some(format!(
        "{keep} {kinds}{paused}, and write labels and annotations that controllers obey, in {sides}"
    ))
}

fn restore_risk(powers: &Powers<'_>) -> Option<String> {
    let changes = non_empty(powers.changes_of_hooks(&[Hook::Restore]))?;
    Some(format!("make controllers of the target believe any status of {}", list_kinds_and_sides(&changes).0))
}

fn probe_risk(powers: &Powers<'_>) -> Option<String> {
    let mut probes = non_empty(powers.probes.iter().collect())?;
    probes.sort_by_key(|probe| (!probe.is_any_host(), probe.to_string()));
    let any = if probes.iter().any(|probe| probe.is_any_host()) { " (any host)" } else { "" };
    let sends = if powers.reads.is_empty() { "" } else { ", and send there what it reads" };
    Some(format!("probe {}{any}{sends}{}", some_of(&probes, NAMED), powers.unless_imported("endpoints")))
}

fn wide_read_risk(powers: &Powers<'_>) -> Option<String> {
    let reads = non_empty(powers.reads.iter().filter(|read| reads_everywhere(read)).collect())?;
    Some(format!(
        "read {} in every namespace of {}{}",
        powers.describe_reads(reads.iter().map(|read| &read.kind)),
        list_sides(reads.iter().map(|read| read.side)),
        powers.unless_imported("objects")
    ))
}

fn narrow_read_risk(powers: &Powers<'_>) -> Option<String> {
    let moving: Vec<&Read> = powers.reads.iter().filter(|read| read.namespace.is_none()).collect();
    let named: Vec<&Read> =
        powers.reads.iter().filter(|read| read.namespace.is_some() && !reads_everywhere(read)).collect();
    let mut parts = Vec::new();
    if !moving.is_empty() || !powers.kinds.is_empty() {
        let seen = powers.kinds.iter().chain(moving.iter().map(|read| &read.kind));
        parts.push(format!("{} in the namespaces that move", powers.describe_reads(seen)));
    }
    if !named.is_empty() {
        let places: BTreeSet<&str> = named.iter().filter_map(|read| read.namespace.as_deref()).collect();
        parts.push(format!(
            "{} in {} of {}{}",
            powers.describe_reads(named.iter().map(|read| &read.kind)),
            list_namespaces(&places),
            list_sides(named.iter().map(|read| read.side)),
            powers.unless_imported("objects")
        ));
    }
    (!parts.is_empty()).then(|| format!("read {}", parts.join("; ")))
}

fn relate_risk(powers: &Powers<'_>) -> Option<String> {
    let seen = non_empty(powers.kinds.iter().filter(|_| powers.hooks.contains(&Hook::Relate)).collect())?;
    let mut text = format!(
        "leave {} out of the move, and add objects of the moving namespaces to it",
        list_kinds(seen.into_iter())
    );
    let beyond: Vec<String> = powers.reach.iter().map(describe_reach).collect();
    if !beyond.is_empty() {
        text.push_str(&format!("; and from elsewhere {}", some_of(&beyond, NAMED)));
    }
    Some(text)
}

/// Describes the objects that a reach adds to the move, and their fate.
fn describe_reach(reach: &Reach) -> String {
    let kind = list_kinds(std::iter::once(&reach.kind));
    let place = match reach.namespace.as_str() {
        EVERYWHERE => "every namespace and outside of any".to_owned(),
        one => format!("namespace {one}"),
    };
    let then = if reach.delete { "copied and deleted from the source" } else { "copied" };
    format!("{kind} of {place} ({then})")
}

fn stop_risk(powers: &Powers<'_>) -> Option<String> {
    let waits = powers.hooks.iter().any(|hook| matches!(hook, Hook::Check | Hook::Settle));
    let how =
        if waits { "stop the move, or make it wait until it times out" } else { "stop the move by failing" };
    (!powers.hooks.is_empty()).then(|| how.to_owned())
}

fn non_empty<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

fn secret_kind() -> GroupKind {
    GroupKind::new("", "Secret")
}

/// Returns true if a read covers every namespace, and cluster-scoped objects.
fn reads_everywhere(read: &Read) -> bool {
    read.namespace.as_deref() == Some("*")
}

fn list_namespaces(names: &BTreeSet<&str>) -> String {
    let names: Vec<&&str> = names.iter().collect();
    format!("namespace{} {}", if names.len() == 1 { "" } else { "s" }, some_of(&names, NAMED))
}

/// The kinds and sides of changes.
fn list_kinds_and_sides(changes: &[&Change]) -> (String, String) {
    (
        list_kinds(changes.iter().map(|change| &change.kind)),
        list_sides(changes.iter().map(|change| change.side)),
    )
}

fn list_sides(all: impl IntoIterator<Item = Side>) -> String {
    let all: BTreeSet<String> = all.into_iter().map(|side| format!("the {side}")).collect();
    some_of(&all.into_iter().collect::<Vec<_>>(), 2)
}

/// Kinds, the most dangerous first.
fn list_kinds<'a>(all: impl Iterator<Item = &'a GroupKind>) -> String {
    let all: BTreeSet<(u8, &GroupKind)> = all.map(|kind| (harmlessness(kind), kind)).collect();
    let words = all.into_iter().map(|(_, kind)| match (kind.kind.as_str(), kind.group.as_str()) {
        ("*", "") => "every core kind (Secret, ConfigMap, …)".to_owned(),
        ("*", group) => format!("every kind of {group}"),
        _ => kind.to_string(),
    });
    some_of(&words.collect::<Vec<_>>(), NAMED)
}

/// The less harm a kind's objects can do, the higher.
fn harmlessness(kind: &GroupKind) -> u8 {
    match (kind.kind.as_str(), kind.group.as_str()) {
        ("*", "") => 0,
        ("Secret", "") => 1,
        (_, "rbac.authorization.k8s.io" | "admissionregistration.k8s.io" | "apiextensions.k8s.io") => 2,
        ("*", _) => 3,
        (_, "") => 4,
        _ => 5,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::permissions::{OperatorFile, side_of};

    const NOTHING: &[String] = &[];

    fn declaration() -> Declaration {
        Declaration {
            name: "p".into(),
            version: "1.0.0".into(),
            summary: "Harmless.".into(),
            kinds: vec![],
            versions: vec![],
            reach: vec![],
            changes: vec![],
            reads: vec![],
            probes: vec![],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }

    fn kind(text: &str) -> GroupKind {
        text.parse().unwrap()
    }

    fn change(hook: Hook, of: &str) -> Change {
        Change { hook, kind: kind(of), side: side_of(hook).unwrap() }
    }

    fn read(side: Side, of: &str, namespace: Option<&str>) -> Read {
        Read { kind: kind(of), side, namespace: namespace.map(str::to_owned) }
    }

    /// All interfaces are imported.
    fn could(declared: &Declaration, hooks: &[Hook], grants: Option<&str>) -> Vec<String> {
        let imports = ["objects".to_owned(), "endpoints".to_owned()];
        let file = grants.map(|text| OperatorFile::parse(&format!("[plugins.p]\n{text}")).unwrap());
        summarize_risks(declared, hooks, &imports, file.as_ref().map(|file| &file.plugins["p"]))
    }

    fn is(said: Vec<String>, expected: Expect) {
        assert!(said.len() <= 9, "{said:#?}");
        expected.assert_eq(&said.join("\n"));
    }

    // proves: T16
    #[test]
    fn secret_data_may_reach_changed_objects() {
        let declared = Declaration {
            secret_data: true,
            kinds: vec![kind("ConfigMap")],
            changes: vec![change(Hook::Adapt, "ConfigMap")],
            reads: vec![read(Side::Source, "Secret", Some("*"))],
            ..declaration()
        };
        let hooks = [Hook::Check, Hook::Adapt];
        is(
            could(&declared, &hooks, None),
            expect![[r#"
                copy the data of any Secret in the source into ConfigMap in the target, where others than readers of Secrets see it
                rewrite what is created in the target: any field of ConfigMap
                read Secret (of Secrets the data, too) in every namespace of the source
                read ConfigMap in the namespaces that move
                stop the move, or make it wait until it times out"#]],
        );
        // Grants may narrow it; a plugin that wants more than it is granted is not called at all.
        let narrow = "secret-data = true\nkinds = ['ConfigMap']\nreads = [{ side = 'source', kind = 'Secret', namespace = 'boot' }]";
        let said = could(&declared, &hooks, Some(narrow));
        assert!(
            said[0].starts_with("copy the data of any Secret in namespace boot into ConfigMap"),
            "{said:#?}"
        );
        assert!(said.contains(
            &"read ConfigMap in the namespaces that move; Secret (of Secrets the data, too) in namespace boot of the source".into()
        ));
        let without =
            could(&declared, &hooks, Some("reads = [{ side = 'source', kind = '*', namespace = '*' }]"));
        assert!(
            without.contains(
                &"read Secret (of Secrets names and keys, no values) in every namespace of the source".into()
            ),
            "{without:#?}"
        );
        assert!(!without.concat().contains("copy the data"), "{without:#?}");
    }

    #[test]
    fn wildcard_hides_no_secret_or_configmap() {
        let declared = Declaration {
            secret_data: true,
            kinds: vec![kind("*")],
            changes: vec![change(Hook::Adapt, "*"), change(Hook::Hold, "*")],
            ..declaration()
        };
        is(
            could(&declared, &[Hook::Adapt, Hook::Hold], None),
            expect![[r#"
                copy the data of any Secret in the namespaces that move into every core kind (Secret, ConfigMap, …) in the source and the target, where others than readers of Secrets see it
                rewrite what is created in the target: any field of every core kind (Secret, ConfigMap, …), credentials in Secrets included
                pause every core kind (Secret, ConfigMap, …), and write labels and annotations that controllers obey, in the source
                read every core kind (Secret, ConfigMap, …) (of Secrets the data, too) in the namespaces that move
                stop the move by failing"#]],
        );
    }

    #[test]
    fn secret_data_without_anywhere_to_write_it() {
        let declared = Declaration {
            secret_data: true,
            kinds: vec![kind("Secret")],
            changes: vec![change(Hook::Adapt, "Secret")],
            ..declaration()
        };
        is(
            could(&declared, &[Hook::Adapt], None),
            expect![[r#"
                read the data of any Secret in the namespaces that move, and pass on a little of it by the codes it reports and the decisions it makes
                rewrite what is created in the target: any field of Secret, credentials in Secrets included
                read Secret (of Secrets the data, too) in the namespaces that move
                stop the move by failing"#]],
        );
        // It sees no Secrets.
        let blind = Declaration { secret_data: true, kinds: vec![kind("ConfigMap")], ..declaration() };
        assert!(!could(&blind, &[Hook::Relate], None).concat().contains("Secret"));
    }

    #[test]
    fn everything_at_once_is_nine_sentences() {
        let hosts = "BareMetalHost.metal3.io";
        let declared = Declaration {
            secret_data: true,
            kinds: vec![kind(hosts)],
            versions: vec![],
            reach: vec![Reach { kind: kind("Secret"), namespace: "x".into(), delete: true }],
            changes: Hook::ALL[2..].iter().map(|hook| change(*hook, hosts)).collect(),
            reads: vec![
                read(Side::Target, "Secret", Some("*")),
                read(Side::Source, "*.metal3.io", Some("*")),
                read(Side::Source, "ConfigMap", Some("ironic")),
                read(Side::Source, "Machine.cluster.x-k8s.io", None),
            ],
            probes: vec!["172.22.0.2:6385".parse().unwrap(), "*:443".parse().unwrap()],
            ..declaration()
        };
        let said = could(&declared, &Hook::ALL, None);
        assert_eq!(said.len(), 9);
        is(
            said,
            expect![[r#"
                copy the data of any Secret in the target into BareMetalHost.metal3.io in the source and the target, where others than readers of Secrets see it
                rewrite what is created in the target: any field of BareMetalHost.metal3.io
                keep BareMetalHost.metal3.io paused, and write labels and annotations that controllers obey, in the source and the target
                make controllers of the target believe any status of BareMetalHost.metal3.io
                probe *:443 and 172.22.0.2:6385 (any host), and send there what it reads
                read Secret and every kind of metal3.io (of Secrets the data, too) in every namespace of the source and the target
                read Machine.cluster.x-k8s.io and BareMetalHost.metal3.io in the namespaces that move; ConfigMap in namespace ironic of the source
                leave BareMetalHost.metal3.io out of the move, and add objects of the moving namespaces to it; and from elsewhere Secret of namespace x (copied and deleted from the source)
                stop the move, or make it wait until it times out"#]],
        );
        let grants = "kinds = ['BareMetalHost.metal3.io']\nreads = []\nprobes = ['172.22.0.0/16:*']";
        is(
            could(&declared, &Hook::ALL, Some(grants)),
            expect![[r#"
                rewrite what is created in the target: any field of BareMetalHost.metal3.io
                keep BareMetalHost.metal3.io paused, and write labels and annotations that controllers obey, in the source and the target
                make controllers of the target believe any status of BareMetalHost.metal3.io
                probe 172.22.0.0/16:443 and 172.22.0.2:6385
                read BareMetalHost.metal3.io in the namespaces that move
                leave BareMetalHost.metal3.io out of the move, and add objects of the moving namespaces to it
                stop the move, or make it wait until it times out"#]],
        );
    }

    #[test]
    fn powers_without_imports_are_marked() {
        let declared = Declaration {
            reads: vec![read(Side::Target, "Node", Some("*"))],
            probes: vec!["10.0.0.1:80".parse().unwrap()],
            ..declaration()
        };
        is(
            summarize_risks(&declared, &[Hook::Check], NOTHING, None),
            expect![[r#"
                probe 10.0.0.1:80, and send there what it reads (this file can't: it doesn't import `endpoints`)
                read Node in every namespace of the target (this file can't: it doesn't import `objects`)
                stop the move, or make it wait until it times out"#]],
        );
        assert_eq!(summarize_risks(&declaration(), &[], NOTHING, None), [""; 0]);
    }

    #[test]
    fn long_list_names_the_dangerous_kinds() {
        let many = ('A'..='Z').map(|letter| kind(&format!("{letter}.example.io")));
        let worst_of_all = ["Secret", "ClusterRoleBinding.rbac.authorization.k8s.io", "ConfigMap"];
        let declared = Declaration { kinds: many.chain(worst_of_all.map(kind)).collect(), ..declaration() };
        let said = could(&declared, &[Hook::Relate], None);
        let named = "Secret, ClusterRoleBinding.rbac.authorization.k8s.io, ConfigMap, A.example.io, B.example.io, \
                     C.example.io, D.example.io, E.example.io and 21 more";
        assert_eq!(
            said[1],
            format!("leave {named} out of the move, and add objects of the moving namespaces to it")
        );
    }
}
