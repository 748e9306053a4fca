//! Plans as text, and their risks.

use super::*;

#[test]
fn plan_shows_order_and_remaining_objects() {
    let plan = Plan { refusals: refusals(), ..small_plan() };
    check(
        Document::<PlanDocument<'_>>::text(
            &plan,
            &Reported::default(),
            SIDES,
            &NamespaceMap::default(),
            (false, false),
        ),
        &expect![[r#"
            Plan: 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod

              CLUSTER  OBJECTS  HOSTS  PROBLEMS  KINDS
              ns/edge  3        0      1         1 Secret, 1 Cluster, 1 Machine
              (none)   2        0      0         1 ClusterClass, 1 Identity
              (--tree shows each object, below its owner)

            Copied, and kept in the source too (1):
              ClusterClass ns/standard: ClusterClass ns/standard is used by Cluster ns/other, which stays

            Stays in the source (3):
              Secret ns/pull: not linked with any Cluster
              ConfigMap ns/rack: not linked with any Cluster
              Thing ns/t: kind Thing.g.io is not labelled for move

            Worth knowing:
              - two classes share a template

            Problems (2):
              - source: Cluster ns/edge is paused
                unpause it, or --accept already-paused
              - target: kind Machine.cluster.x-k8s.io is not served
                install Cluster API
        "#]],
    );
}

#[test]
fn plan_shows_the_new_names_of_namespaces() {
    let added = Why::FromManifest { file: "bom.yaml".into() };
    let bom = step(key("", "ConfigMap", Some("ns"), "bom"), &[]);
    let plan = Plan { steps: vec![Step { fate: Fate::FromManifest, why: added, ..bom }], ..Plan::default() };
    let map: NamespaceMap = serde_json::from_str(r#"{"ns":"site-7"}"#).unwrap();
    let text = Document::<PlanDocument<'_>>::text(&plan, &Reported::default(), SIDES, &map, (false, false))
        .message();
    assert!(text.contains("\n  Namespaces get other names in the target: ns as site-7\n"), "{text}");
    assert!(text.contains("  ConfigMap site-7/bom: from bom.yaml"), "{text}");
}

#[test]
fn plan_tree_has_each_object() {
    check(
        Document::<PlanDocument<'_>>::text(
            &small_plan(),
            &Reported::default(),
            SIDES,
            &NamespaceMap::default(),
            (true, false),
        ),
        &expect![[r#"
            Plan: 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod

              CLUSTER  OBJECTS  HOSTS  PROBLEMS  KINDS
              ns/edge  3        0      0         1 Secret, 1 Cluster, 1 Machine
              (none)   2        0      0         1 ClusterClass, 1 Identity

            Cluster ns/edge, with 3 objects:
              Cluster ns/edge
                Machine ns/edge-1
                  Secret ns/edge-1  (without its owner Node n)

            Of no Cluster, 2 objects:
              ClusterClass ns/standard  (kept in the source too: ClusterClass ns/standard is used by Cluster ns/other, which stays)
              Identity global

            Stays in the source (3):
              Secret ns/pull: not linked with any Cluster
              ConfigMap ns/rack: not linked with any Cluster
              Thing ns/t: kind Thing.g.io is not labelled for move

            Worth knowing:
              - two classes share a template
        "#]],
    );
}

#[test]
fn a_diagnosis_ends_with_its_verdict() {
    let text = diagnosis_text(&small_plan(), "kind-boot", &Reported::default(), false);
    check(
        text,
        &expect![[r#"
        Checked: kind-boot, 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too

          CLUSTER  OBJECTS  HOSTS  PROBLEMS  KINDS
          ns/edge  3        0      0         1 Secret, 1 Cluster, 1 Machine
          (none)   2        0      0         1 ClusterClass, 1 Identity

        Stays in the source (3):
          Secret ns/pull: not linked with any Cluster
          ConfigMap ns/rack: not linked with any Cluster
          Thing ns/t: kind Thing.g.io is not labelled for move

        Worth knowing:
          - two classes share a template

        No problems. A plan checks the target, too.
    "#]],
    );
    let refused = Plan { refusals: refusals(), ..small_plan() };
    let text = diagnosis_text(&refused, "kind-boot", &Reported::default(), false).message();
    let verdict = ": a move would be refused. Solve what is listed, then check again.";
    assert!(text.ends_with(verdict), "{text}");
}

#[test]
fn notes_of_one_code_are_counted() {
    let note = |n: usize| Note { code: "many".into(), object: None, message: format!("note {n}") };
    let rare = Note { code: "rare".into(), object: None, message: "the one that matters".into() };
    let plan = Plan { notes: (0..1000).map(note).chain([rare]).collect(), ..small_plan() };
    let shown = super::plan::note_lines(&plan, false);
    assert_eq!(shown.len(), 12);
    assert!(shown.contains(&"the one that matters".to_owned()));
    assert_eq!(shown[11], "and 990 more like it (many); -v shows them");
    assert_eq!(super::plan::note_lines(&plan, true).len(), 1001);
}

#[test]
fn verbose_plan_names_staying_objects() {
    let plan = Plan { steps: Vec::new(), notes: Vec::new(), ..small_plan() };
    check(
        Document::<PlanDocument<'_>>::text(
            &plan,
            &Reported::default(),
            SIDES,
            &NamespaceMap::default(),
            (true, true),
        ),
        &expect![[r#"
        Plan: 0 objects, from kind-boot to prod

        Stays in the source (3):
          Secret ns/pull: not linked with any Cluster
          ConfigMap ns/rack: not linked with any Cluster
          Thing ns/t: kind Thing.g.io is not labelled for move
    "#]],
    );
}

/// An approver reads the plan, and not what was printed while it was made.
#[test]
fn plan_shows_risks_warnings_and_stops() {
    let (progress, err) = progress_of_plan(OutputFormat::Text);
    events().into_iter().for_each(|event| progress.event(event));
    progress.end();
    let shown = err.text();
    assert!(!shown.contains("accepted:") && !shown.contains("no ready node"), "not twice: {shown}");
    let reported = progress.reported_so_far();
    let text = Document::<PlanDocument<'_>>::text(
        &small_plan(),
        &reported,
        SIDES,
        &NamespaceMap::default(),
        (false, false),
    )
    .message();
    let (_, end) = text.split_once("two classes share a template\n").unwrap();
    check(
        end,
        &expect![[r#"

            Risks accepted (2):
              - objects of these kinds are garbage-collected with their owners in the source (dependents-lost: Secret)
              - the target's controllers don't have to show that they took over (takeover-unchecked)

            Warnings (2):
              - plugin readiness: Cluster ns/edge: it is not ready; wait for it
              - the target has no ready node

            Problems (1):
              - plugin readiness: Cluster ns/edge: it is not ready; wait for it"#]],
    );
    assert!(text.contains("  ns/edge  3        0      1         1 Secret"), "a stop is a blocker: {text}");
    let scope = pivot_core::request::scope::Scope::new(pivot_core::request::scope::Namespaces::All);
    let plan = small_plan();
    let document = PlanDocument::new(&plan, SIDES.0, SIDES.1, &scope, &reported, (&[], &[]));
    let document = serde_json::to_value(document).unwrap();
    assert_eq!(document["accepted"][0]["code"], "dependents-lost");
    assert_eq!(document["warnings"][0]["code"], "no-ready-node");
    assert_eq!(document["findings"][2]["severity"], "stop");
}

/// Notes of the plan are events, too.
#[test]
fn plan_shows_notes_of_checks() {
    let (progress, err) = progress_of_plan(OutputFormat::Text);
    let note = |code: &str| Event::Note {
        code: code.into(),
        object: None,
        text: format!("of {code}"),
        remedies: Vec::new(),
    };
    ["template-stays", "namespaces-mapped", "references-unreadable"]
        .iter()
        .for_each(|code| progress.event(note(code)));
    let remedies = vec![Remedy::EnablePlugin { plugin: "metal3-hosts".into(), directory: None }];
    let (code, text) = ("plugin-fits".into(), "of plugin-fits".into());
    progress.event(Event::Note { code, object: None, text, remedies });
    progress.end();
    assert_eq!(err.text(), "");
    let reported = progress.reported_so_far();
    let plan = Plan { notes: reported.notes(), ..small_plan() };
    let text = super::plan::findings_text(&plan, &reported, false).message();
    let (_, notes) = text.split_once("Worth knowing:\n").unwrap();
    assert_eq!(
        notes,
        "  - of template-stays\n  - of references-unreadable\n  - of plugin-fits; let plugin metal3-hosts handle such \
         objects: pass --plugins /usr/local/share/pivot-host/plugins"
    );
}

#[test]
fn warnings_end_with_their_remedies() {
    let mut reported = Reported::default();
    let remedies = vec!["copy it".into(), "drop it".into()];
    reported.keep_event(&Event::Warning {
        code: "w".into(),
        object: None,
        text: "it stays".into(),
        remedies,
    });
    let text = reported.to_text(false).message();
    assert!(text.ends_with("  - it stays; copy it, or drop it"), "{text}");
    assert_eq!(reported.warnings()[0].remedy, "copy it, or drop it");
}

#[test]
fn risks_are_printed_where_no_plan_is() {
    let (progress, err) = progress_of_plan(OutputFormat::Text);
    events().into_iter().for_each(|event| progress.event(event));
    progress.show_reported();
    let shown = err.text();
    for line in
        ["accepted: the target's controllers don't have to show", "warning: the target has no ready node"]
    {
        assert_eq!(shown.matches(line).count(), 1, "{shown}");
    }
    let (progress, err) = progress_of_plan(OutputFormat::Json);
    events().into_iter().for_each(|event| progress.event(event));
    progress.end();
    assert!(err.text().contains("warning: the target has no ready node"), "{}", err.text());
}

#[test]
fn resulting_plan_is_not_shown_twice() {
    let (output, _, err) = output(0, LogFormat::Text);
    let progress = Progress::new(output, SIDES, PlanUse::Result);
    for event in [planned(), note("it is in the plan"), finding(Severity::Note)] {
        progress.event(event);
    }
    progress.end();
    assert_eq!(err.text(), "note: plugin readiness: Cluster ns/edge: it is not ready; wait for it\n");
    assert_eq!(progress.plan().map(|plan| plan.steps.len()), Some(5));
}
