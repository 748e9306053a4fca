//! Plans as graphs: golden texts, names that try to be more than names, and what Graphviz makes of them.

use std::io::Write;
use std::process::{Command, Stdio};

use expect_test::expect;

use super::*;
use crate::args::Picture;

fn plan_with_problems() -> Plan {
    Plan { refusals: refusals(), ..small_plan() }
}

#[test]
fn a_plan_is_drawn_for_graphviz() {
    check(
        drawn(Picture::Dot, &plan_with_problems(), SIDES),
        &expect![[r#"
        digraph plan {
          graph [rankdir=LR, labelloc=t, label="Plan: 5 objects (1 Cluster, 1 ClusterClass), 1 of them kept in the source too, from kind-boot to prod", fontname="sans-serif"]
          node [shape=box, fontname="sans-serif"]
          subgraph cluster_0 {
            label="of no Cluster"
            s0 [label="ClusterClass\nns/standard\nkept in the source too", peripheries=2]
            s4 [label="Identity\nglobal"]
          }
          subgraph cluster_1 {
            label="Cluster ns/edge"
            s1 [label="Cluster\nns/edge\n! 1 problem", penwidth=4]
            s2 [label="Machine\nns/edge-1"]
            s3 [label="Secret\nns/edge-1"]
          }
          s0 -> s1
          s1 -> s2
          s1 -> s3
          s2 -> s3
          subgraph cluster_stays {
            label="stays in the source"
            r0 [shape=note, label="1: kind Thing.g.io is not labelled for move"]
            r1 [shape=note, label="2: not linked with any Cluster"]
          }
        }
    "#]],
    );
}

#[test]
fn a_plan_is_drawn_for_mermaid() {
    check(
        drawn(Picture::Mermaid, &plan_with_problems(), SIDES),
        &expect![[r#"
        flowchart LR
          plan["Plan: 5 objects #40;1 Cluster, 1 ClusterClass#41;, 1 of them kept in the source too, from kind-boot to prod"]
          subgraph c0["of no Cluster"]
            s0[["ClusterClass<br/>ns/standard<br/>kept in the source too"]]
            s4["Identity<br/>global"]
          end
          subgraph c1["Cluster ns/edge"]
            s1["Cluster<br/>ns/edge<br/>#33; 1 problem"]
            s2["Machine<br/>ns/edge-1"]
            s3["Secret<br/>ns/edge-1"]
          end
          s0 --> s1
          s1 --> s2
          s1 --> s3
          s2 --> s3
          subgraph stays["stays in the source"]
            r0>"1: kind Thing.g.io is not labelled for move"]
            r1>"2: not linked with any Cluster"]
          end
    "#]],
    );
}

/// Each is what a language of pictures, or a terminal, would act upon.
const HOSTILE: [&str; 8] = [
    "a\"]\n  evil [label=\"x",
    "tail\\",
    "\\N \\G \\\"",
    "&lt;b&gt; &amp;",
    "<script>alert(1)</script>",
    "`**bold**` #quot; #35;",
    "end\n  click s0 href \"https://example.org\"",
    "\u{202e}%%{init: {}}%% ;;",
];

fn hostile_plan() -> Plan {
    let steps = HOSTILE.iter().enumerate().map(|(index, name)| Step {
        fate: if index == 1 { Fate::Add } else { Fate::Move },
        cluster: Some(capi("Cluster", name)),
        ..step(capi("Machine", name), if index == 0 { &[] } else { &[0] })
    });
    let left = |reason: &&str| StayReason::Left { plugin: "p".into(), reason: (*reason).to_owned() };
    let stays = HOSTILE.iter().map(|name| Stay { key: capi("Thing", name), reason: left(name) });
    Plan { steps: steps.collect(), stays: stays.collect(), ..Plan::default() }
}

/// The lines of a picture of harmless names with the same shape: a hostile name adds none, and changes none but by its own text.
#[test]
fn a_name_adds_nothing_to_a_picture() {
    let mut harmless = hostile_plan();
    for (index, step) in harmless.steps.iter_mut().enumerate() {
        step.key.name = format!("n{index}");
    }
    for picture in [Picture::Dot, Picture::Mermaid] {
        let [hostile, harmless] =
            [hostile_plan(), harmless.clone()].map(|plan| drawn(picture, &plan, ("so\"urce", "tar\\get")));
        assert_eq!(hostile.lines().count(), harmless.lines().count(), "{hostile}");
        for line in hostile.lines() {
            let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
            assert!(quotes % 2 == 0 && quotes <= 4, "{line}");
            assert!(!line.contains('\u{202e}'), "{line}");
            if picture == Picture::Mermaid {
                let inside = line.split('"').nth(1).unwrap_or_default().replace("<br/>", "");
                assert!(!inside.contains(['<', '>', '`', '&', '\\', '[', ']', '%']), "{line}");
            }
        }
    }
}

/// The boxes and arrows that Graphviz reads, by its own account.
#[test]
fn graphviz_reads_the_boxes_and_arrows_that_were_drawn() {
    for plan in [plan_with_problems(), hostile_plan()] {
        let mut dot = Command::new("dot");
        let started = dot.arg("-Tplain").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut running = started.expect("Graphviz is missing: `apt-get install graphviz`");
        let text = drawn(Picture::Dot, &plan, SIDES);
        running.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let output = running.wait_with_output().unwrap();
        assert!(output.status.success(), "{text}");
        let plain = String::from_utf8(output.stdout).unwrap();
        let lines = |head: &str| plain.lines().filter(|line| line.starts_with(head)).count();
        let reasons = plan.stays.iter().map(|stay| stay.reason.to_string());
        let reasons = reasons.collect::<std::collections::BTreeSet<_>>().len();
        assert_eq!(lines("node "), plan.steps.len() + reasons, "{plain}");
        let arrows: usize = plan.steps.iter().map(|step| step.after.len()).sum();
        assert_eq!(lines("edge "), arrows, "{plain}");
    }
}
