use super::*;
use crate::next::tests::typed;

fn check(remedies: &[Remedy], expected: &str) {
    assert_eq!(remedies_sentence(remedies), expected);
}

#[test]
fn remedies_are_one_sentence_with_flags() {
    let kind = |name: &str| GroupKind::new("g.io", name);
    let two = || ["A", "B"].map(kind).into();
    let cluster = || Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "x");
    let look = || {
        let look = Kubectl::object(Side::Source, "get", &cluster(), &["-o", "yaml"]);
        Remedy::kubectl("find out who paused it (", look, ")")
    };
    check(&[], "");
    check(
        &["wait, and watch `x`".into(), Remedy::MoveUnprovisioned],
        "wait, and watch `x`; or move it as it is: --accept unprovisioned",
    );
    check(
        &[look(), Remedy::MovePaused],
        "find out who paused it (`kubectl get -n ns cluster.cluster.x-k8s.io x -o yaml`), or move it paused: --accept already-paused",
    );
    check(
        &[Remedy::AddPlugin { kind: kind("A") }, Remedy::MoveWithoutPlugin { kind: kind("A") }],
        "add a plugin that handles A.g.io, or accept the risk: --accept no-plugin=A.g.io",
    );
    check(
        &[Remedy::AddPlugin { kind: GroupKind::new("metal3.io", "BareMetalHost") }],
        "add a plugin that handles BareMetalHost.metal3.io (metal3-hosts, which a release has: --plugins \
         /usr/local/share/pivot-host/plugins)",
    );
    check(
        &["let its owner move too (`x`)".into(), Remedy::DropOwners { kinds: two() }],
        "let its owner move too (`x`), or copy it without that owner: --accept owner-dropped=A.g.io --accept owner-dropped=B.g.io",
    );
    check(
        &["remove one of the references (`x`)".into(), Remedy::DropOneOwner { kinds: two() }],
        "remove one of the references (`x`), or drop one owner: --accept owner-dropped=A.g.io or --accept owner-dropped=B.g.io",
    );
    check(
        &[Remedy::AcceptLoss { kind: kind("Odd Kind") }],
        "accept the loss: --accept 'dependents-lost=Odd Kind.g.io'",
    );
    check(&[Remedy::AcceptUnverified { kind: kind("A") }], "accept that: --accept unverified=A.g.io");
    check(
        &["find out who".into(), Remedy::ResumeWithoutSource],
        "find out who, or end the move and leave the source as it is: resume with --without-source",
    );
    let reach = |namespace: Option<&str>| Remedy::GrantReach {
        plugin: "p".into(),
        kind: kind("A"),
        namespace: namespace.map(str::to_owned),
    };
    check(
        &[reach(Some("ns")), Remedy::SwitchOff { plugin: "p".into() }],
        "to move it too, grant reach = [{ side = \"source\", kind = \"A.g.io\", namespace = \"ns\" }] below \
         [plugins.p] in plugins.toml (it is then copied, and deleted in the source only with delete = true); or switch plugin p \
         off (enabled = false below [plugins.p] in plugins.toml), then run this command again",
    );
    assert!(remedy_text(&reach(None)).contains("namespace = \"*\""));
    let many: BTreeSet<Key> = ["a", "b", "c", "d"].map(|name| Key::new(kind("A"), Some("ns"), name)).into();
    let few = many.iter().take(2).cloned().collect();
    check(
        &[
            Remedy::ExcludeToo { objects: few },
            Remedy::LeaveOutExclude { parts: [Part::of_kind(kind("B"))].into() },
        ],
        "exclude that too: --exclude A.g.io/ns/a --exclude A.g.io/ns/b, or leave out --exclude B.g.io",
    );
    check(
        &[Remedy::LeaveOutCarry { parts: [Part::of_kind(kind("B"))].into() }],
        "leave out --also-copy B.g.io",
    );
    check(&[Remedy::ExcludeToo { objects: many }], "exclude that too: --exclude A.g.io");
    check(
        &["make them equal".into(), Remedy::UseExisting],
        "make them equal, or use the target's object as it is: --accept existing-differs",
    );
    check(
        &["grant it".into(), Remedy::NameRecordNamespace],
        "grant it, or name a namespace where you have that permission, the same in every command: --record-namespace",
    );
}

/// One of each variant.
fn all() -> Vec<Remedy> {
    let kind = || GroupKind::new("g.io", "A");
    let plugin = || "hosts".to_owned();
    let object = Key::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("ns"), "x");
    let (cluster, another, objects) = (object.clone(), object.clone(), [object.clone()].into());
    let (other, dropped) = (object.clone(), object.clone());
    let parts: BTreeSet<Part> = [Part::of_kind(kind()), Part::of_object(&object)].into();
    let provider =
        Installation { kind_of: "CoreProvider".into(), name: "p".into(), version: "v1.0.0".into() };
    vec![
        Remedy::ByHand { what: "do it".into() },
        Remedy::kubectl("look: ", Kubectl::object(Side::Source, "get", &object, &[]), ""),
        Remedy::GrantRights { side: Side::Target },
        Remedy::NameOtherUser { side: Side::Source },
        Remedy::InstallProvider(provider.clone()),
        Remedy::UpgradeProvider(provider),
        Remedy::WatchAllNamespaces,
        Remedy::EndOtherMove,
        Remedy::WaitForOtherRun,
        Remedy::ReachServer,
        Remedy::NameOtherTarget,
        Remedy::NameRecordNamespace,
        Remedy::DropOwners { kinds: [kind()].into() },
        Remedy::DropOneOwner { kinds: [kind(), GroupKind::new("", "B")].into() },
        Remedy::AcceptLoss { kind: kind() },
        Remedy::MoveWithoutPlugin { kind: kind() },
        Remedy::MovePaused,
        Remedy::MoveUnprovisioned,
        Remedy::UseExisting,
        Remedy::ResumeAgain,
        Remedy::AcceptPluginChange,
        Remedy::Fix { plugin: plugin() },
        Remedy::SwitchOff { plugin: plugin() },
        Remedy::LetCheckPass { plugin: plugin() },
        Remedy::RollBackThenFix { plugin: plugin() },
        Remedy::RollBackThenSwitchOff { plugin: plugin() },
        Remedy::FixThenAcceptChange { plugin: None },
        Remedy::ResolveThenResume,
        Remedy::SwitchOffThenAcceptChange { plugins: vec![plugin()] },
        Remedy::AcceptUnverified { kind: kind() },
        Remedy::ResumeUnverified,
        Remedy::ResumeWithoutSource,
        Remedy::GrantReach { plugin: plugin(), kind: kind(), namespace: None },
        Remedy::SourceIsOff,
        Remedy::NameCluster { cluster },
        Remedy::AcceptShared { kind: kind() },
        Remedy::AcceptOldNamespace { kind: kind() },
        Remedy::ExcludeToo { objects },
        Remedy::LeaveOutExclude { parts: parts.clone() },
        Remedy::NameOtherClusters,
        Remedy::MapNamespace { namespace: "ns".into() },
        Remedy::NotImported,
        Remedy::AcceptChanged { kinds: [kind(), GroupKind::new("", "B")].into() },
        Remedy::LeaveOutCarry { parts: parts.clone() },
        Remedy::ExcludeInstead { parts },
        Remedy::AddPlugin { kind: GroupKind::new("metal3.io", "BareMetalHost") },
        Remedy::RestoreTarget,
        Remedy::RecoverSource,
        Remedy::NameComparedCluster { cluster: Some(object) },
        Remedy::RollBackLostUndo,
        Remedy::PauseSource,
        Remedy::NameClusterToUnpause { cluster: another },
        Remedy::SwitchOffSource,
        Remedy::ExplainMissingCopies,
        Remedy::StartFinishingAgent,
        Remedy::WaitForLink,
        Remedy::NameClusterToPause { cluster: other },
        Remedy::AlsoCopy { part: Part::of_kind(kind()) },
        Remedy::AcceptDangling { kind: kind() },
        Remedy::AcceptUnseen { kinds: [kind()].into() },
        Remedy::AcceptGitops { kind: kind() },
        Remedy::EnablePlugin { plugin: "aws".into(), directory: None },
        Remedy::DropLostWorkers { cluster: dropped },
    ]
}

/// Fails to compile when a variant is added: [`all`] needs it, too.
fn place(remedy: &Remedy) -> usize {
    match remedy {
        Remedy::ByHand { .. } => 0,
        Remedy::Kubectl { .. } => 1,
        Remedy::GrantRights { .. } => 2,
        Remedy::NameOtherUser { .. } => 3,
        Remedy::InstallProvider(_) => 4,
        Remedy::UpgradeProvider(_) => 5,
        Remedy::WatchAllNamespaces => 6,
        Remedy::EndOtherMove => 7,
        Remedy::WaitForOtherRun => 8,
        Remedy::ReachServer => 9,
        Remedy::NameOtherTarget => 10,
        Remedy::NameRecordNamespace => 11,
        Remedy::DropOwners { .. } => 12,
        Remedy::DropOneOwner { .. } => 13,
        Remedy::AcceptLoss { .. } => 14,
        Remedy::MoveWithoutPlugin { .. } => 15,
        Remedy::MovePaused => 16,
        Remedy::MoveUnprovisioned => 17,
        Remedy::UseExisting => 18,
        Remedy::ResumeAgain => 19,
        Remedy::AcceptPluginChange => 20,
        Remedy::Fix { .. } => 21,
        Remedy::SwitchOff { .. } => 22,
        Remedy::LetCheckPass { .. } => 23,
        Remedy::RollBackThenFix { .. } => 24,
        Remedy::RollBackThenSwitchOff { .. } => 25,
        Remedy::FixThenAcceptChange { .. } => 26,
        Remedy::ResolveThenResume => 27,
        Remedy::SwitchOffThenAcceptChange { .. } => 28,
        Remedy::AcceptUnverified { .. } => 29,
        Remedy::ResumeUnverified => 30,
        Remedy::ResumeWithoutSource => 31,
        Remedy::GrantReach { .. } => 32,
        Remedy::SourceIsOff => 33,
        Remedy::NameCluster { .. } => 34,
        Remedy::AcceptShared { .. } => 35,
        Remedy::AcceptOldNamespace { .. } => 36,
        Remedy::ExcludeToo { .. } => 37,
        Remedy::LeaveOutExclude { .. } => 38,
        Remedy::NameOtherClusters => 39,
        Remedy::MapNamespace { .. } => 40,
        Remedy::NotImported => 41,
        Remedy::AcceptChanged { .. } => 42,
        Remedy::LeaveOutCarry { .. } => 43,
        Remedy::ExcludeInstead { .. } => 44,
        Remedy::AddPlugin { .. } => 45,
        Remedy::RestoreTarget => 46,
        Remedy::RecoverSource => 47,
        Remedy::NameComparedCluster { .. } => 48,
        Remedy::RollBackLostUndo => 49,
        Remedy::PauseSource => 50,
        Remedy::NameClusterToUnpause { .. } => 51,
        Remedy::SwitchOffSource => 52,
        Remedy::ExplainMissingCopies => 53,
        Remedy::StartFinishingAgent => 54,
        Remedy::WaitForLink => 55,
        Remedy::NameClusterToPause { .. } => 56,
        Remedy::AlsoCopy { .. } => 57,
        Remedy::AcceptDangling { .. } => 58,
        Remedy::AcceptUnseen { .. } => 59,
        Remedy::AcceptGitops { .. } => 60,
        Remedy::EnablePlugin { .. } => 61,
        Remedy::DropLostWorkers { .. } => 62,
    }
}

/// Words of advice that can destroy the last copy of an object, or let two management clusters act on it.
const DANGEROUS_WORDS: [&str; 5] = ["by hand", "delet", "finalizer", "remov", "unpaus"];

/// Returns the dangerous words that the text of a remedy has for a good reason.
fn allowed_words(remedy: &Remedy) -> &'static [&'static str] {
    match remedy {
        // A setting of the target's controllers.
        Remedy::WatchAllNamespaces => &["remov"],
        // A deletion that others may have done.
        Remedy::ExplainMissingCopies | Remedy::NotImported | Remedy::AcceptChanged { .. } => &["delet"],
        // The reason why no command deletes.
        Remedy::SwitchOffSource => &["delet"],
        // A permission to delete, for the move alone.
        Remedy::GrantReach { .. } => &["delet"],
        // A flag: the command looks for reasons against it, and unpauses on the side that the move's record names.
        Remedy::NameComparedCluster { .. } | Remedy::NameClusterToUnpause { .. } => &["unpaus"],
        // A flag: the command removes copies of a paused Cluster, and the text ends with what it doesn't delete.
        Remedy::DropLostWorkers { .. } => &["delet", "remov"],
        // An effect of the resumed move, after the takeover.
        Remedy::SwitchOffThenAcceptChange { .. } => &["unpaus"],
        _ => &[],
    }
}

// proves: I14
#[test]
fn remedies_delete_and_unpause_nothing_by_hand() {
    for remedy in all() {
        for text in [remedy_text(&remedy), pivot_remedy_text(&remedy)] {
            let words = text.to_lowercase();
            let found: Vec<&str> = DANGEROUS_WORDS.into_iter().filter(|word| words.contains(*word)).collect();
            assert_eq!(found, allowed_words(&remedy), "{text}");
        }
    }
}

#[test]
fn flags_in_remedies_exist() {
    let mut named = 0;
    for (index, remedy) in all().iter().enumerate() {
        assert_eq!(place(remedy), index);
        let text = remedy_text(remedy);
        assert!(!text.contains("`pivot-host"), "a command lacks the flags of this run: {text}");
        // Backticks quote other programs' commands; and this remedy is about flags of controllers.
        if *remedy == Remedy::WatchAllNamespaces {
            continue;
        }
        let ours: String = text.split('`').step_by(2).collect();
        let words: Vec<String> =
            ours.split_whitespace().map(|word| word.trim_end_matches([',', ';']).to_owned()).collect();
        for (at, flag) in words.iter().enumerate().filter(|(_, word)| word.starts_with("--")) {
            let is_value =
                |next: &&String| flag == "--accept" || next.starts_with(|c: char| c.is_ascii_uppercase());
            let kind = words.get(at + 1).filter(is_value);
            let value = match (kind, flag.as_str()) {
                (Some(kind), _) => vec![kind.clone()],
                (
                    None,
                    "--record-namespace" | "--kubeconfig" | "--to-kubeconfig" | "--to-kubeconfig-context",
                ) => {
                    vec!["x".to_owned()]
                }
                (None, "--unpause" | "--drop" | "--pause") => vec!["ns/x".to_owned()],
                (None, "--plugins") => vec!["x".to_owned()],
                (None, "--cluster") => vec!["ns/x".to_owned()],
                (None, "--map-namespace") => vec!["ns=x".to_owned()],
                _ => Vec::new(),
            };
            let code = value.first().and_then(|value| value.split('=').next()).unwrap_or_default();
            let verb = match (flag.as_str(), code) {
                (_, "maybe-imported") => "handover cancel",
                (_, "copy-changed") => "handover finish",
                (_, "plugins-changed" | "world-changed")
                | ("--without-source" | "--unpause" | "--drop" | "--pause", _) => "resume",
                _ => "move",
            };
            let side = if flag == "--to-kubeconfig" { "--kubeconfig" } else { "--to-kubeconfig" };
            let verb = verb.split(' ').map(str::to_owned).collect();
            let line = [verb, vec![side.to_owned(), "b".to_owned(), flag.clone()], value].concat();
            typed(&line);
            named += 1;
        }
    }
    assert!(named >= 12, "{named}");
}

#[test]
fn clusterctl_has_flags_for_provider_types() {
    for (kind_of, flag) in [
        ("CoreProvider", "--core"),
        ("BootstrapProvider", "--bootstrap"),
        ("ControlPlaneProvider", "--control-plane"),
        ("InfrastructureProvider", "--infrastructure"),
        ("IPAMProvider", "--ipam"),
        ("RuntimeExtensionProvider", "--runtime-extension"),
        ("AddonProvider", "--addon"),
    ] {
        let expected = format!("install it in the target: `clusterctl init {flag} p:v1.0.0`");
        assert_eq!(install(kind_of, "p"), expected);
    }
}

/// A user of the source may write any name into its inventory.
// proves: T94
#[test]
fn names_of_providers_are_quoted_in_commands() {
    let expected = "install it in the target: `clusterctl init --addon 'p; touch x #:v1.0.0'`";
    assert_eq!(install("AddonProvider", "p; touch x #"), expected);
}

fn install(kind_of: &str, name: &str) -> String {
    let (name, version) = (name.to_owned(), "v1.0.0".to_owned());
    remedy_text(&Remedy::InstallProvider(Installation { kind_of: kind_of.to_owned(), name, version }))
}
