//! Saved plans, and differences between two, as text.

use pivot_core::objects::selector::Part;
use pivot_core::records::record::Pin;
use pivot_core::records::saved_plan::{
    Decisions, End, Files, Made, SavedPlan, SavedRefusal, SavedStay, aspects_between, compare_plans,
    compare_stays,
};
use pivot_core::request::scope::{Namespaces, Scope};

use super::*;
use crate::next::tests::{by_a_shell, typed};

fn end(label: &str) -> End {
    End { label: label.to_owned(), identity: Some(Uid(format!("uid of {label}"))), files: None }
}

fn saved(plan: &Plan) -> SavedPlan {
    let pin = Pin {
        name: "hosts".into(),
        version: "1.0.0".into(),
        digest: "1234567890abcdef".into(),
        vouched_by: vec![],
        granted: vec![],
    };
    let made = Made {
        by: "jane".to_owned(),
        at: "2026-11-21T22:00:00Z".to_owned(),
        source: end(SIDES.0),
        target: Some(end(SIDES.1)),
        plugins: vec![pin],
    };
    let scope = Scope::new(Namespaces::One("ns".into()));
    let decisions = Decisions { scope, accept: Risk::PauseUnchecked.into(), handover: false };
    let remedies = plan.refusals.iter().map(|refusal| remedies_sentence(&refusal.remedies)).collect();
    SavedPlan::new(plan, made, decisions, remedies)
}

fn warning(message: &str) -> Note {
    Note { code: "w".into(), object: None, message: message.to_owned() }
}

#[test]
fn saved_plan_begins_with_the_answers() {
    let plan = saved(&small_plan()).with_warnings(vec![warning("the webhook of hosts isn't installed")]);
    check(
        saved_plan_text(&plan, "my plan.json", (false, false)),
        &expect![[r#"
        Plan: namespace ns, from kind-boot to prod
          A saved plan without problems; 1 risk accepted, 1 warning

          Moves                 1 Cluster; 5 objects, 1 of them kept in the source too
          Stays, but is needed  nothing found; 3 objects stay in all
          Dangerous             1 warning; first: the webhook of hosts isn't installed
          Accepted              the source's controllers don't have to acknowledge the pause (pause-unchecked)
          Will be paused        1 Cluster, from before the copy until the target takes over; the report has the time

        To move:
          pivot-host move --kubeconfig SOURCE.kubeconfig --to-kubeconfig TARGET.kubeconfig --plan 'my plan.json'

          CLUSTER  OBJECTS  HOSTS  PROBLEMS  KINDS
          ns/edge  3        0      0         1 Secret, 1 Cluster, 1 Machine
          (none)   2        0      0         1 ClusterClass, 1 Identity
          (--tree shows each object, below its owner)

        Copied, and kept in the source too (1):
          ClusterClass ns/standard: moves with everything it owns; kept: ClusterClass ns/standard is used by Cluster ns/other, which stays

        Stays in the source (3):
          Secret ns/pull: not linked with any Cluster
          ConfigMap ns/rack: not linked with any Cluster
          Thing ns/t: kind Thing.g.io is not labelled for move

        Warnings (1):
          - the webhook of hosts isn't installed

        Worth knowing (1):
          - two classes share a template

        Made 2026-11-21T22:00:00Z by jane, with pivot-host 0.1.0
          plugins: hosts 1.0.0
          checksum 387bdf419840b350fad5fc447258cdc9ebd56e0abeb44f0630cb7b01539d27b6
    "#]],
    );
    let trees = saved_plan_text(&plan, "plan.json", (true, false)).message();
    let live = Document::<PlanDocument<'_>>::text(
        &small_plan(),
        &Reported::default(),
        SIDES,
        &NamespaceMap::default(),
        (true, false),
    );
    let drawn = |text: &str| {
        text.lines().filter(|line| line.contains("edge-1")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(drawn(&trees), drawn(&live.message()));
}

#[test]
fn needed_object_is_in_the_answers() {
    let pull = key("", "Secret", Some("ns"), "pull");
    let message = "Secret ns/pull stays and isn't in the target, but is needed by Machine ns/edge-1";
    let mut dangling = Refusal::source("would-dangle", pull, message, "copy it, too");
    dangling.others = vec![capi("Machine", "edge-1")];
    let plan = saved(&Plan { refusals: vec![dangling], ..small_plan() });
    let text = saved_plan_text(&plan, "plan.json", (false, false)).message();
    for line in [
        "  A saved plan with 1 problem, which no move carries out",
        "  Stays, but is needed  Secret ns/pull (needed by Machine ns/edge-1); 3 objects stay in all",
        "  ns/edge  3        0      1         1 Secret, 1 Cluster, 1 Machine",
        "Solve each problem, then plan again. The first:\n  copy it, too",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("To move:"), "{text}");
}

#[test]
fn copy_into_files_says_that_it_pauses() {
    let mut plan = saved(&small_plan());
    plan.target = Some(End { files: Some(Files::Plain), ..end("directory copy") });
    let text = saved_plan_text(&plan, "p", (false, false)).message();
    assert!(text.contains("  Copies                1 Cluster; 5 objects"), "{text}");
    assert!(text.contains("1 Cluster, while they are copied, and unpaused afterwards"), "{text}");
}

#[test]
fn each_saved_plan_says_what_follows() {
    let sides = [None, Some(Files::Plain), Some(Files::Encrypted)];
    for (source, target) in sides.into_iter().flat_map(|source| sides.map(|target| (source, target))) {
        for handover in [false, source.is_none() && target.is_some()] {
            let mut plan = saved(&small_plan());
            plan.source.files = source;
            plan.target = Some(End { files: target, ..end("prod") });
            plan.decisions.handover = handover;
            let text = saved_plan_text(&plan, "p.json", (false, false)).message();
            let (_, command) = text.split_once("To move:\n  ").unwrap();
            let command = command.lines().next().unwrap();
            assert!(command.ends_with(" --plan p.json"), "{command}");
            drop(typed(&by_a_shell(command)));
        }
    }
    let mut without_target = saved(&small_plan());
    without_target.target = None;
    let text = saved_plan_text(&without_target, "p.json", (false, false)).message();
    assert!(text.contains("\nName the target, and plan again.\n") && !text.contains("To move:"), "{text}");
}

fn compare(old: &SavedPlan, new: &SavedPlan, all: bool) -> Text {
    let (differences, stays) = (compare_plans(old, new), compare_stays(old, new));
    let changes = list_aspect_changes(old, new, &aspects_between(old, new));
    let compared = ComparedPlans { old, new, differences: &differences, stays: &stays, changes: &changes };
    differences_text(compared, all)
}

#[test]
fn plan_diff_lists_each_difference_once() {
    let old = saved(&small_plan());
    let mut new = old.clone().with_warnings(vec![warning("the webhook of hosts isn't installed")]);
    let identity = new.steps.pop().unwrap().object;
    new.stays.push(SavedStay { object: identity, why: "excluded by the user".into() });
    new.stays.retain(|stay| stay.object.name != "rack");
    new.stays[0].why = "in a namespace that is not moved".into();
    new.steps[2].uid = Uid("another".into());
    new.plugins[0].version = "1.1.0".into();
    new.plugins[0].digest = "fedcba0987654321".into();
    new.decisions.accept = Risk::TakeoverUnchecked.into();
    new.decisions.scope.exclude = [Part::of_object(&key("infra.io", "Identity", None, "global"))].into();
    let (code, message, remedy) = ("paused".into(), "Cluster ns/edge is paused".into(), "unpause it".into());
    new.refusals.push(SavedRefusal { code, side: Side::Source, objects: vec![], message, remedy });
    check(
        compare(&old, &new, false),
        &expect![[r#"
        The plan made 2026-11-21T22:00:00Z differs from the plan made 2026-11-21T22:00:00Z:

        Objects (4):
          copied before, stays now     Identity global
          created again                Machine ns/edge-1
          stays, only in the older     ConfigMap ns/rack
          stays for another reason     Secret ns/pull

        Flags and accepted risks:
          - the source's controllers don't have to acknowledge the pause (pause-unchecked)
          + --exclude Identity.infra.io/global
          + the target's controllers don't have to show that they took over (takeover-unchecked)

        Plugins:
          - hosts 1.0.0, with its configuration 1234567890ab
          + hosts 1.1.0, with its configuration fedcba098765

        Problems, which refuse a move:
          + source: Cluster ns/edge is paused; unpause it

        Warnings:
          + the webhook of hosts isn't installed
    "#]],
    );
}

#[test]
fn plan_diff_shortens_lists() {
    let old = saved(&small_plan());
    let mut new = old.clone();
    for index in 0..30 {
        let stay = |kind: &str| key("g.io", kind, Some("ns"), &format!("n{index}"));
        new.stays.push(SavedStay { object: stay("Alpha"), why: "not linked".into() });
        new.stays.push(SavedStay { object: stay(&format!("Kind{index:02}")), why: "not linked".into() });
    }
    let text = compare(&old, &new, false).message();
    assert!(text.contains("30 Alphas: ns/n0, ns/n1, ns/n10, ns/n11, ns/n12, … and 25 more"), "{text}");
    assert!(text.ends_with("\n  and 11 more lines; -v shows them"), "{text}");
    let all = compare(&old, &new, true).message();
    assert!(all.contains("Kind29 ns/n29") && all.contains("ns/n9") && !all.contains("-v"), "{all}");
}
