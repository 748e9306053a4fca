//! Documents and events, each with all fields, match the schemas in `docs/schemas`.

use pivot_core::Uid;
use pivot_core::messages::remedy::Remedy;
use pivot_core::messages::risk::Risk;
use pivot_core::objects::selector::Part;
use pivot_core::plugins::hooks::{Finding, Hook, PluginFinding};
use pivot_core::request::manifest_object::Added;
use pivot_core::request::scope::{ClusterName, Namespaces, Scope};
use pivot_engine::{Exit, Failure, Report, RolledBack, Status, Stop};
use serde_json::{Value, json};

use super::results::{awaited, broken, held, stop};
use super::schemas;
use super::status::{full_status, handed_over, leftover, one};
use super::*;

fn check(document: &impl Serialize) {
    schemas::check(&serde_json::to_value(document).unwrap());
}

/// A plan with every reason that exists.
fn many_reasons() -> Plan {
    let mut plan = Plan { refusals: refusals(), ..small_plan() };
    let (some, plugin, reason) = (|| capi("Cluster", "edge"), || "hosts".to_owned(), || "why".to_owned());
    let kept = [
        KeepReason::Global,
        KeepReason::BelowGlobal { root: some() },
        KeepReason::SharedClass { class: some(), used_by: None },
        KeepReason::SharedClass { class: some(), used_by: Some(some()) },
        KeepReason::Needed { by: some() },
        KeepReason::AlsoCopied,
        KeepReason::Shared { by: some() },
        KeepReason::AddedByPlugin { plugin: plugin() },
        KeepReason::Plugin { name: plugin(), reason: reason() },
    ];
    plan.steps.extend(kept.map(|kept| Step { fate: Fate::Keep(kept), ..step(some(), &[]) }));
    let whys = [
        Why::Below(some()),
        Why::Labelled,
        Why::AlsoCopied,
        Why::Referred(some()),
        Why::Needed { by: some(), plugin: plugin() },
        Why::AddedByPlugin { plugin: plugin(), with: some() },
    ];
    let added = Why::FromManifest { file: "bom.yaml".into() };
    plan.steps.push(Step { fate: Fate::FromManifest, why: added, ..step(some(), &[]) });
    plan.steps.extend(whys.map(|why| Step { why, ..step(some(), &[]) }));
    let stays = [
        StayReason::OtherNamespace,
        StayReason::NotBelow,
        StayReason::Excluded,
        StayReason::NotNamed,
        StayReason::OfOtherCluster { cluster: some() },
        StayReason::OwnerStays { owner: some() },
        StayReason::OwnerMovesAlone { owner: some() },
        StayReason::OwnerNotRead { owner: some() },
        StayReason::Left { plugin: plugin(), reason: reason() },
        StayReason::BelowLeft { owner: some(), plugin: plugin() },
    ];
    plan.stays.extend(stays.map(|reason| Stay { key: some(), reason }));
    plan.notes.push(Note { code: "n".into(), object: Some(some()), message: "m".into() });
    plan
}

#[test]
fn plans_and_diagnoses_match_their_schemas() {
    let next = [vec!["pivot-host resume".to_owned()]];
    let moves = [one(Phase::Copied, Side::Source)];
    let mut reported = Reported::default();
    events().iter().for_each(|event| reported.keep_event(event));
    for scope in [Namespaces::All, Namespaces::One("ns".into())] {
        let mut scope = Scope::new(scope);
        scope.accept.insert_kind(Risk::OwnerDropped, GroupKind::new("g", "K"));
        scope.clusters.insert(ClusterName::new("ns", "edge"));
        scope.also_copy.insert(Part::of_kind(GroupKind::new("", "Secret")));
        scope.from_manifests.insert(Added { object: capi("Cluster", "edge"), uid: Uid("added-1".into()) });
        scope
            .exclude
            .extend([Part::of_kind(GroupKind::new("g", "K")), Part::of_object(&capi("Machine", "m"))]);
        check(&PlanDocument::new(&many_reasons(), "a", "b", &scope, &reported, (&moves, &next)));
        let many = many_reasons();
        for other in [None, Some("b")] {
            let document = DiagnosisDocument::new(&many, ("a", other), &scope, &reported, (&moves, &next));
            check(&document.with_disabled_plugins(&["gate".to_owned()]));
        }
    }
}

#[test]
fn reports_name_their_command() {
    let titles = [
        ("move", "a move"),
        ("resume", "a move"),
        ("rollback", "a rollback"),
        ("handover start", "a handover"),
        ("handover finish", "a handover"),
        ("handover cancel", "canceling a handover"),
    ];
    let stopped =
        ErrorDocument::outside_engine(Exit::Refused, &"no".into(), "nothing is changed", Vec::new());
    let ending = Ending {
        outcome: "Stopped",
        code: 3,
        move_id: None,
        result: serde_json::to_value(stopped).unwrap(),
        files: false,
        message: Vec::new(),
        refusals: Vec::new(),
    };
    for (command, title) in titles {
        let report = Recorder::begin().build_report(command, "jane", false, &ending);
        let report: Value = serde_json::from_str(&report).unwrap();
        schemas::check(&report);
        assert_eq!(report["command"], command);
        let page = Recorder::begin().build_report(command, "jane", true, &ending);
        assert!(page.contains(&format!("\"Report of {title}\"")), "{command}");
    }
}

#[test]
fn results_match_their_schemas() {
    let mut report = Report {
        move_id: "1".into(),
        done: Default::default(),
        times: vec![(Phase::Checked, std::time::Duration::from_millis(1))],
    };
    report.done.moved.insert(GroupKind::new("", "Secret"), 1);
    report.done.added.insert(GroupKind::new("", "ConfigMap"), 1);
    report.done.unverified.insert(GroupKind::new("g", "K"));
    check(&ReportDocument::done("Moved", &report, SIDES));
    let mut reported = Reported::default();
    events().iter().for_each(|event| reported.keep_event(event));
    check(&ReportDocument::done("HandedOver", &report, SIDES).with_reported(&reported));
    check(&ReportDocument::rolled_back(&RolledBack { unpaused: 1, removed: 2 }, SIDES));
    let status = full_status();
    let next: Vec<Vec<String>> = status.moves.iter().map(|_| vec!["pivot-host resume".to_owned()]).collect();
    check(&StatusDocument::new(&status, SIDES, &next));
    let waiting = Status { moves: vec![handed_over()], ..Status::default() };
    check(&StatusDocument::new(&waiting, SIDES, &next));
    let done = Status { moves: Vec::new(), left: Some(leftover(false)), ..full_status() };
    check(&StatusDocument::new(&done, SIDES, &[]));
    let silent = Status { silent: Some((Side::Target, "no route to 10.0.0.1".into())), ..status };
    let document = StatusDocument::new(&silent, SIDES, &next);
    check(&document);
    let document = serde_json::to_value(&document).unwrap();
    assert_eq!(
        (&document["silent"], &document["silentBecause"]),
        (&"target".into(), &"no route to 10.0.0.1".into())
    );
}

#[test]
fn errors_match_their_schema() {
    let finding = Finding {
        severity: Severity::Stop,
        code: "c".into(),
        message: "m".into(),
        object: Some(capi("Cluster", "edge")),
        remedy: String::new(),
    };
    let key = || capi("Cluster", "edge");
    let every = [
        Remedy::kubectl(
            "look: ",
            pivot_core::messages::shell::Kubectl::object(Side::Source, "get", &key(), &[]),
            "",
        ),
        Remedy::DropOwners { kinds: [GroupKind::new("g", "K")].into() },
        Remedy::ReachServer,
    ];
    let refused = refusals().into_iter().map(|refusal| Refusal {
        remedies: every.to_vec(),
        others: vec![key()],
        ..refusal
    });
    for failure in [
        Failure::Refused(refused.collect()),
        Failure::Gate(vec![PluginFinding { plugin: "hosts".into(), finding }]),
        Failure::Unsettled(vec![held("a", "it broke")]),
        Failure::TimedOut(vec![awaited(Some(capi("Machine", "m")))]),
        Failure::NotSeen(vec![awaited(None)]),
        Failure::NotTakenOver(vec![awaited(None)]),
        broken(Hook::Check),
        Failure::NoMove,
        Failure::NoCluster { named: "ns/d".into(), there: vec![key()] },
        Failure::SeveralClusters(vec![key(), capi("Cluster", "other")]),
    ] {
        let stop = Stop { exit: pivot_engine::Exit::PastCommit, ..stop(failure) };
        check(&error_document(&stop, vec!["pivot-host resume".into()]));
    }
    check(&ErrorDocument::outside_engine(pivot_engine::Exit::Usage, &Text::from("m"), "s", Vec::new()));
}

#[test]
fn schemas_have_every_phase() {
    for phase in Phase::ALL {
        check(&error_document(&Stop { phase: Some(phase), ..stop(Failure::NoMove) }, Vec::new()));
        schemas::check(
            &json!({"event": "phase-begun", "phase": phase, "objects": 1, "time": "", "level": "info",
            "message": ""}),
        );
    }
}

#[test]
fn events_match_their_schema() {
    let docs = include_str!("../../../../../docs/events.md");
    let examples: Vec<Value> = docs
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    // One of each variant: the engine's tests ensure that.
    assert!(examples.len() > 10, "{}", examples.len());
    examples.iter().for_each(schemas::check);
    let (output, _, err) = output(0, LogFormat::Json);
    output.fail("words");
    schemas::check(&serde_json::from_str(&err.text()).unwrap());
}

#[test]
fn documentation_links_each_schema() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut expected: Vec<String> = files
        .map(|file| {
            let schema: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let (kind, name) = (schema["title"].as_str().unwrap(), file.file_name().unwrap());
            format!("| [{kind}](schemas/{})", name.display())
        })
        .collect();
    expected.sort_by(|one, other| one.split(']').next().cmp(&other.split(']').next()));
    let docs = include_str!("../../../../../docs/documents.md");
    let links: Vec<&str> =
        docs.lines().filter_map(|row| row.strip_suffix(" |")?.split(" | ").next()).collect();
    assert_eq!(links[1..], expected);
}
