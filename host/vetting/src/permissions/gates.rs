//! The two gates for a plugin's permissions: its declaration, and the operator's grants.

use std::collections::BTreeSet;

use pivot_core::plugins::hooks::Hook;
use pivot_core::plugins::reach::{EVERYWHERE, Reach};
use pivot_core::{GroupKind, Side};

use crate::permissions::declaration::{Change, Declaration, Read};
use crate::permissions::{Grants, Pattern};

/// Returns the requests that are not granted.
///
/// Hooks and changes must be granted as widely as they are declared: a hook that is called for half of its kinds does half of its
/// job. What is read depends on the site, which a plugin's author can't know. So kinds that are shown, a reach, a read of all
/// namespaces or of all kinds of a group, and a pattern of endpoints may be granted narrower: it is enough that some grant
/// overlaps each, and whatever is shown, brought along or answered must match both.
pub fn missing_grants(declared: &Declaration, hooks: &[Hook], grants: &Grants) -> Vec<String> {
    let mut missing = Vec::new();
    for hook in hooks.iter().filter(|hook| !grants.hooks.contains(hook)) {
        missing.push(describe_hook(*hook));
    }
    for kind in &declared.kinds {
        if !grants.kinds.iter().any(|grant| grant.narrower_of(kind).is_some()) {
            missing.push(describe_kind(kind));
        }
    }
    for reach in &declared.reach {
        if !grants.reach.iter().any(|grant| grant.meet(reach).is_some()) {
            missing.push(describe_reach(reach));
        }
    }
    for change in &declared.changes {
        if !grants.changes.iter().any(|grant| covers_change(grant, change)) {
            missing.push(describe_change(change));
        }
        // Changed objects are also shown, so these kinds can't be granted narrower.
        let part = grants.kinds.iter().any(|grant| grant.narrower_of(&change.kind).is_some());
        if part && !grants.kinds.iter().any(|grant| grant.covers(&change.kind)) {
            missing
                .push(format!("to see all of {} (kinds), which it changes in {}", change.kind, change.hook));
        }
    }
    for read in &declared.reads {
        if !grants.reads.iter().any(|grant| intersect_reads(grant, read).is_some()) {
            missing.push(describe_read(read));
        }
    }
    for probe in &declared.probes {
        if !grants.probes.iter().any(|grant| grant.intersect(probe).is_some()) {
            missing.push(describe_probe(probe));
        }
    }
    if declared.secret_data && !grants.secret_data {
        missing.push(SECRET_DATA.to_owned());
    }
    missing
}

/// Returns the grants that the plugin doesn't ask for. They have no effect today, and its next version would get them
/// unnoticed.
pub fn surplus_grants(declared: &Declaration, hooks: &[Hook], grants: &Grants) -> Vec<String> {
    let Grants { hooks: called, kinds, reach, changes, reads, probes, secret_data, .. } = grants;
    let mut more: Vec<String> =
        called.iter().filter(|hook| !hooks.contains(hook)).map(|hook| describe_hook(*hook)).collect();
    let unseen =
        kinds.iter().filter(|grant| !declared.kinds.iter().any(|kind| grant.narrower_of(kind).is_some()));
    more.extend(unseen.map(describe_kind));
    let unreached = reach.iter().filter(|grant| !declared.reach.iter().any(|one| grant.meet(one).is_some()));
    more.extend(unreached.map(describe_reach));
    let unchanged =
        changes.iter().filter(|grant| !declared.changes.iter().any(|change| covers_change(grant, change)));
    more.extend(unchanged.map(describe_change));
    let unread = reads
        .iter()
        .filter(|grant| !declared.reads.iter().any(|read| intersect_reads(grant, read).is_some()));
    more.extend(unread.map(describe_read));
    let unprobed =
        probes.iter().filter(|grant| !declared.probes.iter().any(|probe| grant.intersect(probe).is_some()));
    more.extend(unprobed.map(describe_probe));
    if *secret_data && !declared.secret_data {
        more.push(SECRET_DATA.to_owned());
    }
    more
}

const SECRET_DATA: &str = "the data of Secrets (secret-data)";

fn describe_hook(hook: Hook) -> String {
    format!("the hook {hook}")
}

fn describe_kind(kind: &GroupKind) -> String {
    format!("to see {kind} (kinds)")
}

fn describe_reach(reach: &Reach) -> String {
    let Reach { kind, namespace, delete } = reach;
    let place = if namespace == EVERYWHERE {
        "in all namespaces and outside of any".to_owned()
    } else {
        format!("in namespace {namespace}")
    };
    let then = if *delete { "copy or delete" } else { "copy" };
    format!("to relate {kind} of the source {place}, and {then} it (reach)")
}

fn describe_change(change: &Change) -> String {
    format!("to change {} of the {} in {}", change.kind, change.side, change.hook)
}

fn describe_read(read: &Read) -> String {
    format!("to read {} of the {} {}", read.kind, read.side, describe_namespace(read))
}

fn describe_probe(probe: &Pattern) -> String {
    format!("to probe any of {probe}")
}

/// Returns true if a grant covers a declared change completely.
fn covers_change(grant: &Change, change: &Change) -> bool {
    grant.hook == change.hook && grant.side == change.side && grant.kind.covers(&change.kind)
}

/// The kinds that a plugin is shown: declared and granted.
pub fn permitted_kinds(declared: &Declaration, grants: &Grants) -> Vec<GroupKind> {
    let pairs = declared
        .kinds
        .iter()
        .flat_map(|kind| grants.kinds.iter().filter_map(|grant| grant.narrower_of(kind)));
    pairs.cloned().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns the reach of the plugin's relations: declared and granted.
pub fn permitted_reach(declared: &Declaration, grants: &Grants) -> Vec<Reach> {
    let pairs = declared.reach.iter().flat_map(|one| grants.reach.iter().filter_map(|grant| grant.meet(one)));
    pairs.collect::<BTreeSet<_>>().into_iter().collect()
}

fn describe_namespace(read: &Read) -> String {
    match read.namespace.as_deref() {
        None => "in the namespaces that move".into(),
        Some("*") => "in all namespaces".into(),
        Some(namespace) => format!("in namespace {namespace}"),
    }
}

/// The intersection of both; none: empty. A read with a kind and a namespace can't be narrowed.
pub(super) fn intersect_reads(grant: &Read, declared: &Read) -> Option<Read> {
    let namespace = match (&grant.namespace, &declared.namespace) {
        (Some(all), other) | (other, Some(all)) if all == "*" => other.clone(),
        (granted, asked) if granted == asked => asked.clone(),
        _ => return None,
    };
    let kind = if grant.kind.covers(&declared.kind) {
        declared.kind.clone()
    } else if declared.kind.covers(&grant.kind) {
        grant.kind.clone()
    } else {
        return None;
    };
    (grant.side == declared.side).then_some(Read { kind, side: grant.side, namespace })
}

/// The part of a question that these reads allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// The namespaces that move. The answering side knows them.
    Moving,
    /// The namespace in the question, which was granted by name or with all others. Cluster-scoped objects are granted only
    /// with `*`, and must be asked for with it. The answering side knows which kinds are cluster-scoped.
    Asked,
}

/// Returns the part of a question about a kind in a namespace that these reads allow, or none.
pub fn permitted_extent(
    reads: &[Read],
    side: Side,
    kind: &GroupKind,
    namespace: Option<&str>,
) -> Option<Extent> {
    let fits = reads.iter().filter(|read| read.side == side && read.kind.covers(kind));
    fits.filter_map(|read| match (read.namespace.as_deref(), namespace) {
        (Some("*"), _) => Some(Extent::Asked),
        (Some(one), Some(asked)) if one == asked => Some(Extent::Asked),
        (None, asked) if asked != Some("*") => Some(Extent::Moving),
        _ => None,
    })
    .max()
}

/// Returns the imported interfaces whose questions are all denied, because the plugin declares none.
///
/// JavaScript and Python components import every interface of their world, whether they use it or not.
pub fn denied_imports(declared: &Declaration, imports: &[String]) -> Vec<String> {
    let denied = imports.iter().filter(|import| match import.as_str() {
        "objects" => declared.reads.is_empty(),
        "endpoints" => declared.probes.is_empty(),
        _ => false,
    });
    denied.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::permissions::OperatorFile;
    use crate::permissions::grants_section;

    fn declared() -> Declaration {
        let hosts = GroupKind::new("metal3.io", "BareMetalHost");
        Declaration {
            name: "p".into(),
            version: "1.0.0".into(),
            summary: "S.".into(),
            kinds: vec![hosts.clone()],
            versions: vec![],
            reach: vec![Reach { kind: GroupKind::new("", "Secret"), namespace: "*".into(), delete: true }],
            changes: vec![Change { hook: Hook::Hold, kind: hosts.clone(), side: Side::Source }],
            reads: vec![Read { kind: hosts, side: Side::Target, namespace: None }],
            probes: vec!["*:6385".parse().unwrap()],
            secret_data: false,
            codes: vec![],
            extra: vec![],
        }
    }

    fn missing(grants: &str) -> Vec<String> {
        let file = OperatorFile::parse(&format!("[plugins.p]\n{grants}")).unwrap();
        missing_grants(&declared(), &[Hook::Hold, Hook::Check], &file.plugins["p"])
    }

    // proves: T19
    #[test]
    fn anything_not_listed_is_denied() {
        assert_eq!(
            missing(""),
            [
                "the hook hold",
                "the hook check",
                "to see BareMetalHost.metal3.io (kinds)",
                "to relate Secret of the source in all namespaces and outside of any, and copy or delete it (reach)",
                "to change BareMetalHost.metal3.io of the source in hold",
                "to read BareMetalHost.metal3.io of the target in the namespaces that move",
                "to probe any of *:6385",
            ]
        );
    }

    #[test]
    fn grants_that_nothing_asks_for_are_named() {
        let more = |grants: &str| {
            let file = OperatorFile::parse(&format!("[plugins.p]\n{grants}")).unwrap();
            surplus_grants(&declared(), &[Hook::Hold, Hook::Check], &file.plugins["p"])
        };
        let text = grants_section(&declared(), &[Hook::Hold, Hook::Check], true);
        assert_eq!(more(text.split_once("[plugins.p]").unwrap().1), [""; 0]);
        // Wider or narrower than asked for is another matter.
        assert_eq!(more("kinds = ['*.metal3.io']\nprobes = ['10.0.0.1:6385']"), [""; 0]);
        assert_eq!(
            more(
                "hooks = ['hold', 'settle']
                kinds = ['Secret']
                reach = [{ side = 'source', kind = 'ConfigMap', namespace = 'x' }]
                changes = [{ hook = 'adapt', kind = 'BareMetalHost.metal3.io', side = 'target' }]
                reads = [{ side = 'source', kind = 'BareMetalHost.metal3.io' }]
                probes = ['10.0.0.1:80']
                secret-data = true"
            ),
            [
                "the hook settle",
                "to see Secret (kinds)",
                "to relate ConfigMap of the source in namespace x, and copy it (reach)",
                "to change BareMetalHost.metal3.io of the target in adapt",
                "to read BareMetalHost.metal3.io of the source in the namespaces that move",
                "to probe any of 10.0.0.1:80",
                "the data of Secrets (secret-data)",
            ]
        );
    }

    #[test]
    fn generated_section_grants_the_declaration() {
        let hooks = [Hook::Hold, Hook::Check];
        for enabled in [true, false] {
            let file = OperatorFile::parse(&grants_section(&declared(), &hooks, enabled)).unwrap();
            assert_eq!(missing_grants(&declared(), &hooks, &file.plugins["p"]), [""; 0]);
            assert_eq!(file.plugins["p"].enabled, enabled);
        }
    }

    #[test]
    fn kinds_must_be_declared_and_granted() {
        let of = |grants: &str| {
            let file = OperatorFile::parse(&format!("[plugins.p]\n{grants}")).unwrap();
            let grants = &file.plugins["p"];
            (permitted_kinds(&declared(), grants), permitted_reach(&declared(), grants))
        };
        let secrets = |namespace: &str, delete| Reach {
            kind: GroupKind::new("", "Secret"),
            namespace: namespace.into(),
            delete,
        };
        assert_eq!(of(""), (vec![], vec![]));
        let wide = "kinds = ['*.metal3.io', 'Secret']
            reach = [
                { side = 'source', kind = 'Secret', namespace = 'x', delete = true },
                { side = 'source', kind = '*', namespace = 'y' },
                { side = 'source', kind = 'Widget.example.com', namespace = '*', delete = true },
            ]";
        let hosts = GroupKind::new("metal3.io", "BareMetalHost");
        assert_eq!(of(wide), (vec![hosts], vec![secrets("x", true), secrets("y", false)]));
    }

    /// Every object of a kind that a hook changes is shown to that hook.
    #[test]
    fn changed_kinds_are_granted_as_declared() {
        let all = GroupKind::new("metal3.io", "*");
        let wide = Declaration {
            kinds: vec![all.clone()],
            changes: vec![Change { hook: Hook::Hold, kind: all, side: Side::Source }],
            reach: vec![],
            reads: vec![],
            probes: vec![],
            ..declared()
        };
        let missing = |kinds: &str| {
            let text = format!(
                "[plugins.p]\nhooks = ['hold']\nkinds = ['{kinds}']\nchanges = [{{ hook = 'hold', kind = '*.metal3.io', side = 'source' }}]\n"
            );
            missing_grants(&wide, &[Hook::Hold], &OperatorFile::parse(&text).unwrap().plugins["p"])
        };
        assert_eq!(missing("*.metal3.io"), [""; 0]);
        assert_eq!(
            missing("HardwareData.metal3.io"),
            ["to see all of *.metal3.io (kinds), which it changes in hold"]
        );
    }

    #[test]
    fn unrelated_grant_does_not_count() {
        let all = "hooks = ['hold', 'check']\nprobes = ['10.0.0.0/8:6385']\nkinds = ['*.metal3.io']
            reach = [{ side = 'source', kind = 'Secret', namespace = 'x' }]\n";
        let change =
            |kind: &str| format!("changes = [{{ hook = 'hold', kind = '{kind}', side = 'source' }}]\n");
        let read = |rest: &str| format!("reads = [{{ kind = '*.metal3.io', {rest} }}]\n");
        let fine = change("*.metal3.io");
        assert!(missing(&format!("{all}{fine}{}", read("side = 'target'"))).is_empty());
        assert!(missing(&format!("{all}{fine}{}", read("side = 'target', namespace = '*'"))).is_empty());
        for (change, read) in [
            (change("Other.metal3.io"), read("side = 'target'")),
            (fine.clone(), read("side = 'source'")),
            (fine.clone(), read("side = 'target', namespace = 'x'")),
        ] {
            assert_eq!(missing(&format!("{all}{change}{read}")).len(), 1);
        }
    }

    fn read(side: Side, kind: &str, namespace: Option<&str>) -> Read {
        let kind = GroupKind::new("metal3.io", kind);
        Read { kind, side, namespace: namespace.map(str::to_owned) }
    }

    #[test]
    fn only_wide_reads_can_be_narrowed() {
        use Side::{Source, Target};
        for (declared, grant, fine) in [
            (("*", Some("*")), ("BareMetalHost", Some("metal3")), true),
            (("*", Some("*")), ("BareMetalHost", None), true),
            (("*", None), ("BareMetalHost", None), true),
            (("*", None), ("BareMetalHost", Some("*")), true),
            (("*", None), ("*", Some("metal3")), false),
            (("HardwareData", Some("*")), ("BareMetalHost", Some("*")), false),
            (("BareMetalHost", None), ("BareMetalHost", Some("metal3")), false),
            (("BareMetalHost", Some("metal3")), ("BareMetalHost", None), false),
            (("BareMetalHost", Some("metal3")), ("*", Some("*")), true),
        ] {
            let declared = read(Target, declared.0, declared.1);
            let narrowed = intersect_reads(&read(Target, grant.0, grant.1), &declared);
            assert_eq!(narrowed.is_some(), fine, "{grant:?} {declared:?}");
            // The result is within both.
            if let Some(both) = &narrowed {
                assert_eq!(intersect_reads(&read(Target, grant.0, grant.1), both), narrowed);
                assert_eq!(intersect_reads(both, &declared), narrowed);
            }
            assert_eq!(intersect_reads(&read(Source, grant.0, grant.1), &declared), None);
        }
    }

    #[test]
    fn query_extent_follows_granted_reads() {
        let host = GroupKind::new("metal3.io", "BareMetalHost");
        let of = |reads: &[&Read], namespace| {
            let reads: Vec<Read> = reads.iter().map(|read| (*read).clone()).collect();
            permitted_extent(&reads, Side::Target, &host, namespace)
        };
        let moving = read(Side::Target, "*", None);
        let one = read(Side::Target, "BareMetalHost", Some("metal3"));
        let all = read(Side::Target, "*", Some("*"));
        assert_eq!(of(&[&moving], None), Some(Extent::Moving));
        assert_eq!(of(&[&moving], Some("x")), Some(Extent::Moving));
        assert_eq!(of(&[&moving], Some("*")), None);
        assert_eq!(of(&[&one], None), None);
        assert_eq!(of(&[&one], Some("*")), None);
        assert_eq!(of(&[&moving, &one], Some("metal3")), Some(Extent::Asked));
        assert_eq!(of(&[&all], Some("*")), Some(Extent::Asked));
        // Nothing narrower allows the question, and so none about cluster-scoped kinds.
        assert_eq!(of(&[&one, &moving], Some("*")), None);
        assert_eq!(permitted_extent(&[one], Side::Source, &host, Some("metal3")), None);
    }

    #[test]
    fn undeclared_imports_are_listed_as_denied() {
        let imports = ["objects", "endpoints", "log"].map(str::to_owned);
        assert_eq!(denied_imports(&declared(), &imports), [""; 0]);
        let nothing = Declaration { reads: vec![], probes: vec![], ..declared() };
        assert_eq!(denied_imports(&nothing, &imports), ["objects", "endpoints"]);
        assert_eq!(denied_imports(&nothing, &[]), [""; 0]);
    }
}
